//! The arithmetic of a liquidation (`risk.md` 12.2, 12.3): at what value a part of a position uses its equity up, how
//! large the part is, and what the fund may take of a fill.
//!
//! Which scope is liquidated, and in which order its positions go, is decided elsewhere.

use super::bracket::Brackets;
use super::units::{
    PRODUCTS_PER_MICRO, ceil_div, ceil_of, ceil_to_step, ceil_value, floor_div, floor_to_step, floor_value,
    narrow, notional,
};
use crate::command::Side;
use crate::money::{Money, Price, Quantity, Rate};

/// A position under liquidation, within its scope, at one moment: equity and maintenance margin are of the whole scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DistressedPosition {
    /// Signed.
    pub(crate) quantity: Quantity,
    pub(crate) mark: Price,
    /// `E`.
    pub(crate) equity: Money,
    /// `T`: the sum of maintenance margins, > 0.
    pub(crate) maintenance: Money,
}

impl DistressedPosition {
    /// `VB`: what closing `part` of the quantity must bring (long) or may cost (short), so that the equity is used up in
    /// proportion to maintenance margin. The last close of a scope at this value leaves its wallet at 0.
    pub(crate) fn bankruptcy_value(&self, part: Quantity, brackets: &Brackets) -> Option<Money> {
        let share = self.share(part, brackets)?;
        if self.quantity > 0 {
            floor_value(part, self.mark)?.checked_sub(share)
        } else {
            ceil_value(part, self.mark)?.checked_add(share)
        }
    }

    /// The part of the equity that goes with `part` of the quantity, down.
    pub(crate) fn share(&self, part: Quantity, brackets: &Brackets) -> Option<Money> {
        if self.maintenance <= 0 {
            return None;
        }
        let held = self.quantity.checked_abs()?;
        let before = brackets.maintenance_at(held, self.mark)?;
        let after = brackets.maintenance_at(held.checked_sub(part)?, self.mark)?;
        let freed = before.checked_sub(after)?;
        narrow(floor_div(i128::from(self.equity) * i128::from(freed), self.maintenance.into()))
    }

    /// How much goes in this step: the least whole number of lots that brings the notional to the bracket below, and
    /// everything from the lowest one.
    pub(crate) fn step(&self, lot: Quantity, brackets: &Brackets) -> Option<Quantity> {
        let held = self.quantity.checked_abs()?;
        let Some(below) = brackets.index_of(notional(held, self.mark)?).checked_sub(1) else {
            return Some(held);
        };
        let cap = brackets.rows().get(below)?.cap;
        // Rounded up, the notional is at most the cap where the exact one is.
        let kept = floor_div(i128::from(cap) * PRODUCTS_PER_MICRO, self.mark.into());
        let part = ceil_to_step(i128::from(held).checked_sub(kept)?, 1, lot);
        // A lot may be larger than all that there is.
        Some(part.map_or(held, |part| part.min(held)))
    }
}

/// The limit price of the order that closes `part` > 0 at `bankruptcy_value` or better, on the tick that does not give
/// more away. 0 or below where a buy has nothing to pay with: it cannot be sent.
pub(crate) fn limit_price(side: Side, part: Quantity, bankruptcy_value: Money, tick: Price) -> Option<Price> {
    let products = i128::from(bankruptcy_value) * PRODUCTS_PER_MICRO;
    match side {
        Side::Sell => ceil_to_step(products, part.into(), tick),
        Side::Buy => floor_to_step(products, part.into(), tick),
    }
}

/// What a fill worth `value` brings above its bankruptcy value; below 0 where it falls short.
#[inline]
pub(crate) fn room(side: Side, value: Money, bankruptcy_value: Money) -> Option<Money> {
    match side {
        Side::Sell => value.checked_sub(bankruptcy_value),
        Side::Buy => bankruptcy_value.checked_sub(value),
    }
}

/// What the fund receives of such a fill: a rate of its value, up, but never more than its room.
#[inline]
pub(crate) fn liquidation_fee(value: Money, rate: Rate, room: Money) -> Option<Money> {
    Some(ceil_of(value, rate)?.min(room.max(0)))
}

/// Whether an account is to be liquidated: equity below maintenance margin, strictly.
#[inline]
pub(crate) const fn is_due(equity: Money, maintenance: Money) -> bool {
    equity < maintenance
}

/// `MM / E` in steps of 10^-8, up; `i64::MAX` without equity.
pub(crate) fn margin_ratio(equity: Money, maintenance: Money) -> Rate {
    if maintenance <= 0 {
        return 0;
    }
    if equity <= 0 {
        return Rate::MAX;
    }
    narrow(ceil_div(i128::from(maintenance) * 100_000_000, equity.into())).unwrap_or(Rate::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::bracket::tests::bitcoin;
    use super::super::position::Position;
    use super::super::takeover::{Fund, may_take};
    use super::super::units::value;
    use super::*;
    use crate::money::{MONEY_UNIT, UNIT};

    const TICK: Price = 10_000_000;
    const LOT: Quantity = 100_000;
    /// 0.25 %.
    const FEE: Rate = 250_000;

    /// A cross account with one position.
    struct Account {
        wallet: Money,
        position: Position,
        mark: Price,
    }

    impl Account {
        fn long(wallet: i64, lots: i64, price: i64, mark: i64) -> Account {
            let value = value(price * UNIT, lots * LOT).unwrap();
            let position = Position::default().fill(Side::Buy, lots * LOT, value).unwrap().position;
            Account { wallet: wallet * MONEY_UNIT, position, mark: mark * UNIT }
        }

        fn distress(&self) -> DistressedPosition {
            let quantity = self.position.quantity;
            DistressedPosition {
                quantity,
                mark: self.mark,
                equity: self.wallet + self.position.unrealised(self.mark).unwrap(),
                maintenance: bitcoin().maintenance_at(quantity, self.mark).unwrap(),
            }
        }

        /// Sells lots at a value for a fee.
        fn sell(&mut self, lots: i64, value: Money, fee: Money) -> Money {
            let filled = self.position.fill(Side::Sell, lots * LOT, value).unwrap();
            self.position = filled.position;
            self.wallet += filled.realised - fee;
            filled.realised
        }
    }

    /// A fill of the liquidation order: value, bankruptcy value, room and fee.
    fn fill(account: &mut Account, lots: i64, price: i64) -> [Money; 4] {
        let worth = value(price * UNIT, lots * LOT).unwrap();
        let due = account.distress().bankruptcy_value(lots * LOT, &bitcoin()).unwrap();
        let room = room(Side::Sell, worth, due).unwrap();
        let fee = liquidation_fee(worth, FEE, room).unwrap();
        account.sell(lots, worth, fee);
        [worth, due, room, fee]
    }

    #[test]
    fn v_19_a_full_liquidation_whose_rest_the_fund_takes() {
        let mut account = Account::long(1_000, 500, 60_000, 58_200);
        let start = account.distress();
        assert_eq!((start.equity, start.maintenance), (100_000_000, 116_400_000));
        assert!(is_due(start.equity, start.maintenance));
        assert_eq!(notional(start.quantity, start.mark), Some(29_100 * MONEY_UNIT));
        assert_eq!(start.step(LOT, &bitcoin()), Some(500 * LOT));
        let due = start.bankruptcy_value(500 * LOT, &bitcoin()).unwrap();
        assert_eq!(due, 29_000 * MONEY_UNIT);
        assert_eq!(limit_price(Side::Sell, 500 * LOT, due, TICK), Some(58_000 * UNIT));

        let first = fill(&mut account, 200, 58_190);
        assert_eq!(first, [11_638_000_000, 11_600_000_000, 38_000_000, 29_095_000]);
        let now = account.distress();
        assert_eq!((now.equity, now.maintenance), (68_905_000, 69_840_000));
        let second = fill(&mut account, 100, 58_050);
        assert_eq!(second, [5_805_000_000, 5_797_031_667, 7_968_333, 7_968_333]);
        let now = account.distress();
        assert_eq!((now.equity, now.maintenance), (45_936_667, 46_560_000));
        assert!(is_due(now.equity, now.maintenance));

        let rest = now.bankruptcy_value(200 * LOT, &bitcoin()).unwrap();
        assert_eq!(rest, 11_594_063_333);
        assert_eq!(account.sell(200, rest, 0), -405_936_667);
        assert_eq!((account.wallet, account.position), (0, Position::default()));

        let fund = Account {
            wallet: 50_000 * MONEY_UNIT + first[3] + second[3],
            position: Position::default().fill(Side::Buy, 200 * LOT, rest).unwrap().position,
            mark: account.mark,
        };
        assert_eq!(fund.wallet, 50_037_063_333);
        assert_eq!(fund.position, Position { quantity: 200 * LOT, cost: 11_594_063_333 });
        let after = Fund {
            equity: fund.distress().equity,
            notional: notional(fund.position.quantity, fund.mark).unwrap(),
        };
        assert_eq!(after.equity, 50_083_000_000);
        assert!(may_take(after, 50_000 * MONEY_UNIT));
    }

    #[test]
    fn v_20_a_partial_liquidation_that_cures() {
        let brackets = bitcoin();
        let mut account = Account::long(61_500, 20_000, 61_500, 59_000);
        let start = account.distress();
        assert_eq!(notional(start.quantity, start.mark), Some(1_180_000 * MONEY_UNIT));
        assert_eq!(brackets.index_of(1_180_000 * MONEY_UNIT), 3);
        assert_eq!((start.equity, start.maintenance), (11_500 * MONEY_UNIT, 11_950 * MONEY_UNIT));
        let part = start.step(LOT, &brackets).unwrap();
        assert_eq!(part, 3_051 * LOT);
        assert_eq!(brackets.maintenance_at(16_949 * LOT, start.mark), Some(7_449_910_000));
        assert_eq!(start.share(part, &brackets), Some(4_330_630_543));
        let due = start.bankruptcy_value(part, &brackets).unwrap();
        assert_eq!(due, 175_678_369_457);
        assert_eq!(limit_price(Side::Sell, part, due, TICK), Some(5_758_060_000_000));
        let filled = fill(&mut account, 3_051, 58_990);
        assert_eq!(filled, [179_978_490_000, due, 4_300_120_543, 449_946_225]);
        assert_eq!(account.wallet, 53_392_043_775);
        let end = account.distress();
        assert_eq!((end.equity, end.maintenance), (11_019_543_775, 7_449_910_000));
        assert!(!is_due(end.equity, end.maintenance));
        assert_eq!(end.quantity, 16_949 * LOT);
    }

    #[test]
    fn a_short_position_is_the_mirror() {
        let value = value(60_000 * UNIT, 500 * LOT).unwrap();
        let position = Position::default().fill(Side::Sell, 500 * LOT, value).unwrap().position;
        let account = Account { wallet: 1_000 * MONEY_UNIT, position, mark: 61_800 * UNIT };
        let distress = account.distress();
        assert_eq!(distress.equity, 100 * MONEY_UNIT);
        let due = distress.bankruptcy_value(500 * LOT, &bitcoin()).unwrap();
        assert_eq!(due, 31_000 * MONEY_UNIT);
        assert_eq!(limit_price(Side::Buy, 500 * LOT, due, TICK), Some(62_000 * UNIT));
        assert_eq!(room(Side::Buy, 30_900 * MONEY_UNIT, due), Some(100 * MONEY_UNIT));
        let filled = position.fill(Side::Buy, 500 * LOT, due).unwrap();
        assert_eq!(account.wallet + filled.realised, 0);
    }

    #[test]
    fn a_loss_beyond_the_equity_makes_the_value_worse_than_the_mark() {
        let account = Account::long(1_000, 500, 60_000, 57_000);
        let distress = account.distress();
        assert_eq!(distress.equity, -500 * MONEY_UNIT);
        let due = distress.bankruptcy_value(500 * LOT, &bitcoin()).unwrap();
        assert_eq!(due, 29_000 * MONEY_UNIT, "above the 28,500 of the mark");
        assert_eq!(limit_price(Side::Buy, LOT, -1, TICK), Some(-TICK), "not to be sent");
        assert_eq!(liquidation_fee(1_000_000, FEE, -5), Some(0));
        let nothing = DistressedPosition { maintenance: 0, ..distress };
        assert_eq!(nothing.bankruptcy_value(LOT, &bitcoin()), None);
    }

    #[test]
    fn a_step_reaches_the_cap_below_exactly() {
        let brackets = bitcoin();
        for lots in [1_001, 8_334, 16_667, 17_000, 83_334, 200_000] {
            let distress = DistressedPosition {
                quantity: -lots * LOT,
                mark: 5_999_987_654_321,
                equity: 0,
                maintenance: 1,
            };
            let before = brackets.index_of(notional(lots * LOT, distress.mark).unwrap());
            let part = distress.step(LOT, &brackets).unwrap();
            let index = |kept| brackets.index_of(notional(kept, distress.mark).unwrap());
            assert_eq!(index(lots * LOT - part), before - 1, "{lots}");
            assert_eq!(index(lots * LOT - part + LOT), before, "{lots}: one lot less does not");
        }
    }

    #[test]
    fn the_ratio_tells_how_near_it_is() {
        assert_eq!(margin_ratio(100, 80), 80_000_000);
        assert_eq!(margin_ratio(0, 80), Rate::MAX);
        assert_eq!(margin_ratio(-1, 80), Rate::MAX);
        assert_eq!(margin_ratio(0, 0), 0);
        assert!(!is_due(80, 80));
    }
}
