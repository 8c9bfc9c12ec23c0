//! Brackets by notional (`risk.md` 7): maintenance margin, the largest exposure at a leverage, the liquidation price.

use super::position::Position;
use super::units::{PRODUCTS_PER_MICRO, ceil_div, ceil_of, floor_div, half_even_div, narrow, notional};
use crate::money::{Money, Price, Quantity, RATE_ONE, Rate};

/// Most brackets of a market.
pub const BRACKETS_MAX: usize = 16;

/// What an administrator sets of one bracket.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct BracketRow {
    /// Largest notional, included.
    pub cap: Money,
    /// Maintenance margin of the part of the notional inside this bracket.
    pub maintenance_rate: Rate,
    /// Largest leverage.
    pub leverage_max: u32,
}

/// One bracket.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Bracket {
    /// Largest notional, included.
    pub cap: Money,
    /// Maintenance margin of the part of the notional inside this bracket.
    pub maintenance_rate: Rate,
    /// What the lower rates of the brackets below save.
    pub cumulated: Money,
    /// Largest leverage.
    pub leverage_max: u32,
}

impl Bracket {
    /// What an administrator set of it.
    pub const fn as_set(&self) -> BracketRow {
        BracketRow { cap: self.cap, maintenance_rate: self.maintenance_rate, leverage_max: self.leverage_max }
    }
}

/// The brackets of a market, by rising cap: at least one, at most [`BRACKETS_MAX`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brackets {
    rows: [Bracket; BRACKETS_MAX],
    count: u32,
}

impl Brackets {
    /// Brackets of these rows. `None` unless caps rise, rates rise and stay below 1.0, leverages fall and stay above
    /// 0, and each cumulated amount is a whole number of micros.
    pub fn new(from: &[BracketRow]) -> Option<Brackets> {
        if from.is_empty() || from.len() > BRACKETS_MAX {
            return None;
        }
        let mut rows = [Bracket::default(); BRACKETS_MAX];
        let mut below = Bracket::default();
        for (index, row) in from.iter().enumerate() {
            let is_first = index == 0;
            let is_sound = row.cap > below.cap
                && row.maintenance_rate > below.maintenance_rate
                && row.maintenance_rate < RATE_ONE
                && row.leverage_max > 0
                && (is_first || row.leverage_max < below.leverage_max);
            if !is_sound {
                return None;
            }
            let saved = i128::from(below.cap) * i128::from(row.maintenance_rate - below.maintenance_rate);
            if saved % i128::from(RATE_ONE) != 0 {
                return None;
            }
            below = Bracket {
                cap: row.cap,
                maintenance_rate: row.maintenance_rate,
                cumulated: below.cumulated.checked_add(narrow(saved / i128::from(RATE_ONE))?)?,
                leverage_max: row.leverage_max,
            };
            rows[index] = below;
        }
        Some(Brackets { rows, count: from.len() as u32 })
    }

    /// By rising cap.
    #[inline]
    pub fn rows(&self) -> &[Bracket] {
        self.rows.get(..self.count as usize).unwrap_or(&self.rows)
    }

    /// The lowest bracket, which has the largest leverage.
    #[inline]
    pub const fn first(&self) -> &Bracket {
        &self.rows[0]
    }

    /// Index of the bracket of a notional; the last above its cap.
    #[inline]
    pub fn index_of(&self, notional: Money) -> usize {
        let rows = self.rows();
        let last = rows.len().saturating_sub(1);
        rows.iter().position(|row| notional <= row.cap).unwrap_or(last)
    }

    /// The bracket of a notional.
    #[inline]
    pub fn of(&self, notional: Money) -> &Bracket {
        self.rows.get(self.index_of(notional)).unwrap_or(&self.rows[0])
    }

    /// `MM` of a notional >= 0, up.
    #[inline]
    pub fn maintenance(&self, notional: Money) -> Option<Money> {
        let bracket = self.of(notional);
        ceil_of(notional, bracket.maintenance_rate)?.checked_sub(bracket.cumulated)
    }

    /// `MM` of a signed quantity at a mark.
    #[inline]
    pub fn maintenance_at(&self, quantity: Quantity, mark: Price) -> Option<Money> {
        self.maintenance(notional(quantity, mark)?)
    }

    /// The cap of the last bracket that allows `leverage`; 0 where none does.
    #[inline]
    pub fn exposure_max(&self, leverage: u32) -> Money {
        self.rows().iter().rev().find(|row| row.leverage_max >= leverage).map_or(0, |row| row.cap)
    }

    /// The mark at which equity is the maintenance margin, 0 where none above 0 is: for show, halves to even.
    ///
    /// `backing` is, for a cross position, wallet + profit not realised of the other positions - their maintenance
    /// margins; the isolated wallet for an isolated one.
    pub fn liquidation_price(&self, position: Position, backing: Money) -> Option<Price> {
        let held = i128::from(position.held()?);
        if held == 0 {
            return Some(0);
        }
        let rows = self.rows();
        for (index, row) in rows.iter().enumerate() {
            // equity - maintenance = backing - cost + cumulated + N·(d - rate) = 0, N the notional at that mark. Along
            // the line of a bracket the root lies above its cap until the bracket of the root itself is met.
            let free = i128::from(backing) - i128::from(position.cost) + i128::from(row.cumulated);
            let rate = i128::from(row.maintenance_rate);
            let (numerator, slope) = if position.quantity > 0 {
                (-free, i128::from(RATE_ONE) - rate)
            } else {
                (free, i128::from(RATE_ONE) + rate)
            };
            let scaled = numerator.checked_mul(RATE_ONE.into())?;
            if index + 1 < rows.len() && ceil_div(scaled, slope) > i128::from(row.cap) {
                continue;
            }
            if scaled <= 0 {
                return Some(0);
            }
            return narrow(half_even_div(scaled.checked_mul(PRODUCTS_PER_MICRO)?, slope.checked_mul(held)?));
        }
        None
    }
}

/// The widest mark clamp of `risk.md` 2, the least over the brackets: on whatever mark the basis can make of an index, whoever opened
/// at that index with the initial margin of its bracket's greatest leverage still has the maintenance margin. A short's notional,
/// and with it the bracket, grows with the mark; hence the next bracket's rate in the divisor. Below 0 where a bracket asks more
/// maintenance than initial margin; `None` where a number leaves its range.
pub fn widest_clamp(brackets: &Brackets) -> Option<Rate> {
    let rows = brackets.rows();
    let one = i128::from(RATE_ONE);
    let mut least = None;
    for (index, row) in rows.iter().enumerate() {
        let initial = ceil_div(row.cap.into(), row.leverage_max.into());
        let room = initial - i128::from(brackets.maintenance(row.cap)?);
        let next = rows.get(index + 1).unwrap_or(row).maintenance_rate;
        let divisor = i128::from(row.cap) * (one + i128::from(next));
        let clamp = narrow(floor_div(room.checked_mul(one * one)?, divisor))?;
        least = Some(least.map_or(clamp, |least: Rate| least.min(clamp)));
    }
    least
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::money::{MONEY_UNIT, UNIT};

    /// The shipped brackets of BTCUSDT.
    pub(crate) fn bitcoin() -> Brackets {
        Brackets::new(&rows()).unwrap()
    }

    fn rows() -> [BracketRow; 7] {
        [
            (50_000, 400_000, 125),
            (500_000, 500_000, 100),
            (1_000_000, 1_000_000, 50),
            (5_000_000, 2_500_000, 20),
            (10_000_000, 5_000_000, 10),
            (20_000_000, 10_000_000, 5),
            (50_000_000, 12_500_000, 2),
        ]
        .map(|(cap, maintenance_rate, leverage_max)| BracketRow {
            cap: cap * MONEY_UNIT,
            maintenance_rate,
            leverage_max,
        })
    }

    #[test]
    fn v_08_maintenance_margin_by_bracket_and_by_slices() {
        let brackets = bitcoin();
        let cumulated: Vec<_> = brackets.rows().iter().map(|row| row.cumulated / MONEY_UNIT).collect();
        assert_eq!(cumulated, [0, 50, 2_550, 17_550, 142_550, 642_550, 1_142_550]);
        let notional = 1_000_000 * MONEY_UNIT;
        assert_eq!(brackets.index_of(notional), 2);
        assert_eq!(brackets.maintenance(notional), Some(7_450 * MONEY_UNIT));
        assert_eq!(brackets.maintenance(notional), Some((200 + 2_250 + 5_000) * MONEY_UNIT));
        assert_eq!(brackets.index_of(notional + 1), 3);
        assert_eq!(brackets.index_of(60_000_000 * MONEY_UNIT), 6);
        assert_eq!(brackets.maintenance(0), Some(0));
    }

    #[test]
    fn v_09_the_liquidation_price_is_where_equity_is_maintenance() {
        let brackets = bitcoin();
        let long = Position { quantity: UNIT / 2, cost: 30_000 * MONEY_UNIT };
        let price = brackets.liquidation_price(long, 1_000 * MONEY_UNIT).unwrap();
        // 29,000 / 0.498 = 58,232.931726907...
        assert_eq!(price, 5_823_293_172_691);
        let unrealised = long.unrealised(price).unwrap();
        assert_eq!(unrealised, -883_534_137);
        let equity = 1_000 * MONEY_UNIT + unrealised;
        assert_eq!(equity, 116_465_863);
        assert_eq!(
            brackets.maintenance_at(long.quantity, price),
            Some(116_465_864),
            "equal but for a micro of rounding"
        );
    }

    #[test]
    fn the_liquidation_price_is_that_of_its_own_bracket() {
        let brackets = bitcoin();
        for lots in [1, 500, 7_000, 16_000, 80_000, 300_000, 700_000] {
            for direction in [1, -1] {
                let quantity = direction * lots * 100_000;
                let value = 60_000 * MONEY_UNIT / 1_000 * lots;
                let position = Position { quantity, cost: direction * value };
                for percent in [2, 10, 50, 99, 150] {
                    let backing = value / 100 * percent;
                    let price = brackets.liquidation_price(position, backing).unwrap();
                    let excess = |mark| {
                        backing + position.unrealised(mark).unwrap()
                            - brackets.maintenance_at(quantity, mark).unwrap()
                    };
                    if price == 0 {
                        assert!(direction > 0 && excess(1) >= 0, "{quantity} {percent}");
                        continue;
                    }
                    // A few steps of 10^-8 are worth less than a micro for a small position.
                    let step = (1_000_000 / lots).max(1);
                    assert!(excess(price + direction * step) >= -1, "{quantity} {percent}");
                    assert!(excess(price - direction * step) <= 1, "{quantity} {percent}");
                }
            }
        }
        assert_eq!(brackets.liquidation_price(Position::default(), MONEY_UNIT), Some(0));
    }

    #[test]
    fn the_largest_exposure_falls_with_leverage() {
        let brackets = bitcoin();
        for (leverage, cap) in [
            (125, 50_000),
            (101, 50_000),
            (100, 500_000),
            (20, 5_000_000),
            (21, 1_000_000),
            (2, 50_000_000),
            (1, 50_000_000),
        ] {
            assert_eq!(brackets.exposure_max(leverage), cap * MONEY_UNIT, "{leverage}");
        }
        assert_eq!(brackets.exposure_max(126), 0);
    }

    #[test]
    fn tables_that_make_no_sense_are_refused() {
        let change = |at: usize, change: fn(&mut BracketRow)| {
            let mut rows = rows();
            change(&mut rows[at]);
            Brackets::new(&rows)
        };
        assert_eq!(Brackets::new(&[]), None);
        assert_eq!(change(1, |row| row.cap = 50_000 * MONEY_UNIT), None);
        assert_eq!(change(1, |row| row.maintenance_rate = 400_000), None);
        assert_eq!(change(1, |row| row.leverage_max = 125), None);
        assert_eq!(change(6, |row| row.leverage_max = 0), None);
        assert_eq!(change(6, |row| row.maintenance_rate = RATE_ONE), None);
        assert_eq!(change(0, |row| row.cap += 1), None, "what it saves is no whole micro");
    }

    /// The bounds that `risk.md` 2 gives for the shipped tables.
    #[test]
    fn the_widest_clamp_is_the_least_of_all_brackets() {
        let table = |rows: &[(i64, i64, u32)]| {
            let rows: Vec<_> = rows
                .iter()
                .map(|&(cap, maintenance_rate, leverage_max)| BracketRow {
                    cap: cap * MONEY_UNIT,
                    maintenance_rate,
                    leverage_max,
                })
                .collect();
            widest_clamp(&Brackets::new(&rows).unwrap())
        };
        assert_eq!(widest_clamp(&bitcoin()), Some(398_009));
        let ether = [
            (50_000, 500_000, 100),
            (500_000, 1_000_000, 50),
            (2_000_000, 2_500_000, 20),
            (5_000_000, 5_000_000, 10),
            (10_000_000, 10_000_000, 5),
            (20_000_000, 12_500_000, 2),
        ];
        assert_eq!(table(&ether), Some(495_049));
        let sol = [
            (10_000, 1_000_000, 50),
            (100_000, 2_000_000, 25),
            (500_000, 5_000_000, 10),
            (1_000_000, 10_000_000, 5),
            (5_000_000, 12_500_000, 2),
        ];
        assert_eq!(table(&sol), Some(980_392));
        // A later bracket may bind: 20 % initial beside 19.9 % maintenance at its cap.
        assert_eq!(table(&[(1_000, 100_000, 100), (100_000, 20_000_000, 5)]), Some(165_833));
        // The one and only has its own rate in the divisor.
        assert_eq!(table(&[(50_000, 400_000, 125)]), Some(398_406));
        // More maintenance than initial margin: no clamp would do.
        assert!(table(&[(50_000, 400_000, 125), (500_000, 10_000_000, 100)]).unwrap() < 0);
    }
}
