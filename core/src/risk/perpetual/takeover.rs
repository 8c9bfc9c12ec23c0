//! What the insurance fund may take over, and how it gets rid of it (`risk.md` 12.4).

use super::position::Position;
use super::units::{PRODUCTS_PER_MICRO, ceil_div, ceil_to_step, floor_to_step, narrow};
use crate::command::Side;
use crate::money::{Money, Price, Quantity, RATE_ONE, Rate};

/// How many times its equity the fund may hold.
const NOTIONAL_MULTIPLE: i128 = 10;
/// How far from the mark it trades when it unwinds at a profit,
const UNWIND_RANGE: Rate = 500_000;
/// and otherwise.
const UNWIND_LOSS: Rate = 100_000;

/// The fund as it would stand after taking a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fund {
    /// Wallet and profit not realised.
    pub equity: Money,
    /// Sum over its positions.
    pub notional: Money,
}

/// Whether it may take what makes it stand so: equity not below 0, no more than ten times that in positions, and not
/// more than 30 % below `peak`, its highest equity of the last 8 hours.
pub fn may_take(after: Fund, peak: Money) -> bool {
    after.equity >= 0
        && i128::from(after.notional) <= NOTIONAL_MULTIPLE * i128::from(after.equity)
        && i128::from(after.equity) * 10 >= i128::from(peak) * 7
}

/// Minutes that [`Peak`] looks back, besides the running one.
const PEAK_MINUTES: u64 = 480;
const PEAK_SLOTS: usize = PEAK_MINUTES as usize + 1;

/// The highest equity of the last 8 hours, kept as the highest of each UTC minute: of the running minute and the 480
/// before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Peak {
    /// Highest of a minute, by minute modulo the count of slots; `Money::MIN` where none was told.
    minutes: [Money; PEAK_SLOTS],
    /// The last minute that something was told in.
    minute: u64,
    /// The largest of `minutes`: a fall asks for it once for each who is liquidated.
    highest: Money,
}

impl Peak {
    /// Nothing was told yet.
    pub(crate) const fn new() -> Peak {
        Peak { minutes: [Money::MIN; PEAK_SLOTS], minute: 0, highest: Money::MIN }
    }

    /// Tells the equity at a time, which never goes back.
    pub(crate) fn record(&mut self, now_ms: u64, equity: Money) {
        let minute = (now_ms / 60_000).max(self.minute);
        let passed = (minute - self.minute).min(PEAK_SLOTS as u64);
        for gone in 0..passed {
            if let Some(slot) = self.minutes.get_mut(Peak::slot(minute - gone)) {
                *slot = Money::MIN;
            }
        }
        self.minute = minute;
        if let Some(slot) = self.minutes.get_mut(Peak::slot(minute)) {
            *slot = (*slot).max(equity);
        }
        self.highest = if passed == 0 { self.highest.max(equity) } else { self.largest() };
    }

    /// The highest at a time; `None` where nothing was told for 8 hours.
    pub(crate) fn highest(&self, now_ms: u64) -> Option<Money> {
        if now_ms / 60_000 == self.minute {
            return Some(self.highest).filter(|&equity| equity != Money::MIN);
        }
        self.recorded(now_ms).map(|(_, equity)| equity).max()
    }

    fn largest(&self) -> Money {
        self.minutes.iter().copied().fold(Money::MIN, Money::max)
    }

    /// What it knows at a time, as (minute, highest), oldest first: what a snapshot keeps. Told again at the start of
    /// each minute, it is the same.
    pub(crate) fn recorded(&self, now_ms: u64) -> impl Iterator<Item = (u64, Money)> + '_ {
        let first = (now_ms / 60_000).saturating_sub(PEAK_MINUTES);
        let start = self.minute.saturating_sub(PEAK_MINUTES).max(first);
        (start..=self.minute).filter_map(move |minute| {
            let equity = self.minutes.get(Peak::slot(minute)).copied()?;
            (equity != Money::MIN).then_some((minute, equity))
        })
    }

    /// Money came from outside, or left: no loss and no profit.
    pub(crate) fn shift(&mut self, amount: Money) {
        for equity in self.minutes.iter_mut().filter(|equity| **equity != Money::MIN) {
            *equity = equity.saturating_add(amount).max(Money::MIN + 1);
        }
        self.highest = self.largest();
    }

    const fn slot(minute: u64) -> usize {
        (minute % PEAK_SLOTS as u64) as usize
    }
}

/// How much the fund sends per second: a tenth of what it holds, up, at least one lot; at most that, and at most a tenth
/// of what rests within reach, down.
pub(crate) fn unwind_quantity(held: Quantity, within_reach: i128, lot: Quantity) -> Option<Quantity> {
    let tenth = ceil_to_step(ceil_div(held.into(), 10), 1, lot)?.max(lot);
    let reach = narrow(within_reach.checked_div(10)?).unwrap_or(Quantity::MAX);
    Some(held.min(tenth).min(floor_to_step(reach.into(), 1, lot)?))
}

/// How far the book is looked at when the fund unwinds: the last price within half a percent of the mark.
pub(crate) fn unwind_reach(side: Side, mark: Price, tick: Price) -> Option<Price> {
    off_mark(side, mark, UNWIND_RANGE, tick)
}

/// The limit price of the order by which the fund unwinds a position: no worse than its own entry while that is on the good side of
/// the mark, nor further off than half a percent; else a tenth of a percent off. Nobody buys back from it for less what it has just
/// taken over.
pub(crate) fn unwind_price(position: Position, mark: Price, tick: Price) -> Option<Price> {
    let side = position.closing_side()?;
    let (cost, quantity) = (i128::from(position.cost) * PRODUCTS_PER_MICRO, i128::from(position.quantity));
    let worth = i128::from(mark) * quantity;
    match side {
        Side::Sell if cost <= worth => {
            Some(ceil_to_step(cost, quantity, tick)?.max(unwind_reach(side, mark, tick)?))
        }
        Side::Buy if cost <= worth => {
            Some(floor_to_step(-cost, -quantity, tick)?.min(unwind_reach(side, mark, tick)?))
        }
        _ => off_mark(side, mark, UNWIND_LOSS, tick),
    }
}

fn off_mark(side: Side, mark: Price, range: Rate, tick: Price) -> Option<Price> {
    let one = i128::from(RATE_ONE);
    match side {
        Side::Sell => ceil_to_step(i128::from(mark) * i128::from(RATE_ONE - range), one, tick),
        Side::Buy => floor_to_step(i128::from(mark) * i128::from(RATE_ONE + range), one, tick),
    }
}

/// What may leave the fund: as much as leaves its wallet at 0, its equity at its maintenance margin, and its positions within
/// [`NOTIONAL_MULTIPLE`] times that.
pub fn fund_withdrawable(wallet: Money, equity: Money, maintenance: Money, notional: Money) -> Money {
    let backing = ceil_div(notional.into(), NOTIONAL_MULTIPLE).max(maintenance.into());
    let free = (i128::from(equity) - backing).min(wallet.into()).max(0);
    free as Money
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::UNIT;

    const LOT: Quantity = 100_000;
    const TICK: Price = 10_000_000;

    #[test]
    fn the_fund_takes_within_three_bounds() {
        assert!(may_take(Fund { equity: 100, notional: 1_000 }, 142));
        assert!(!may_take(Fund { equity: 100, notional: 1_001 }, 142), "more than ten times");
        assert!(!may_take(Fund { equity: 100, notional: 1_000 }, 143), "less than 70 %");
        assert!(!may_take(Fund { equity: -1, notional: 0 }, 0));
        assert!(may_take(Fund { equity: 0, notional: 0 }, 0));
    }

    /// The highest that is kept is the largest of what is known, at every moment.
    #[test]
    fn the_peak_is_the_largest_of_what_it_knows() {
        let (mut peak, mut now, mut random) = (Peak::new(), 0, 1u64);
        for _ in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            now += [0, 1, 30_000, 60_000, 500_000, 30_000_000][(random >> 33) as usize % 6];
            match (random >> 40) % 4 {
                0 => peak.shift((random >> 50) as Money - 8_000),
                1 => {}
                _ => peak.record(now, (random >> 44) as Money - 500_000),
            }
            assert_eq!(peak.highest(now), peak.recorded(now).map(|(_, equity)| equity).max());
        }
    }

    #[test]
    fn the_peak_forgets_after_eight_hours() {
        const MINUTE: u64 = 60_000;
        let mut peak = Peak::new();
        assert_eq!(peak.highest(0), None);
        peak.record(10 * MINUTE, 500);
        peak.record(10 * MINUTE + 1, 300);
        peak.record(11 * MINUTE, 400);
        assert_eq!(peak.highest(11 * MINUTE), Some(500));
        peak.record(490 * MINUTE, 100);
        assert_eq!(peak.highest(490 * MINUTE), Some(500), "480 minutes before");
        assert_eq!(peak.highest(491 * MINUTE), Some(400), "asked later than told");
        peak.record(491 * MINUTE, 100);
        assert_eq!(peak.highest(491 * MINUTE), Some(400));
        peak.record(492 * MINUTE, -50);
        assert_eq!(peak.highest(492 * MINUTE), Some(100));
        peak.record(100_000 * MINUTE, -70);
        assert_eq!(peak.highest(100_000 * MINUTE), Some(-70));
        let mut again = Peak::new();
        for (minute, equity) in peak.recorded(100_000 * MINUTE) {
            again.record(minute * MINUTE, equity);
        }
        assert_eq!(again.highest(100_000 * MINUTE), Some(-70));
    }

    #[test]
    fn it_unwinds_by_tenths() {
        let of = |held: i64, reach: i128| {
            unwind_quantity(held * LOT, reach * i128::from(LOT), LOT).map(|quantity| quantity / LOT)
        };
        assert_eq!(of(100, 1_000), Some(10));
        assert_eq!(of(101, 1_000), Some(11));
        assert_eq!(of(101, 109), Some(10));
        assert_eq!(of(101, 9), Some(0));
        assert_eq!(of(3, 1_000), Some(1));
        assert_eq!(unwind_quantity(LOT / 2, 1 << 100, LOT), Some(LOT / 2), "less than a lot is left");
        let mark = 58_200 * UNIT + 1;
        assert_eq!(unwind_reach(Side::Sell, mark, TICK), Some(5_790_910_000_000));
        assert_eq!(unwind_reach(Side::Buy, mark, TICK), Some(5_849_100_000_000));
        let price = |lots: i64, entry_cents: i64| {
            // Of a lot of 0.001 an entry of a cent is 10 micros.
            let position = Position { quantity: lots * LOT, cost: entry_cents * 10 * lots };
            unwind_price(position, mark, TICK).map(|price| price / (UNIT / 10))
        };
        // No worse than its entry, within half a percent.
        assert_eq!(price(7, 5_810_001), Some(581_001));
        assert_eq!(price(-7, 5_830_009), Some(583_000));
        assert_eq!((price(7, 5_700_000), price(-7, 5_900_000)), (Some(579_091), Some(584_910)));
        // At a loss a tenth of a percent.
        assert_eq!((price(7, 5_830_000), price(-7, 5_810_000)), (Some(581_419), Some(582_582)));
    }

    #[test]
    fn money_leaves_while_the_fund_stands_well() {
        assert_eq!(fund_withdrawable(100, 100, 0, 0), 100);
        assert_eq!(fund_withdrawable(100, 80, 5, 0), 75);
        assert_eq!(fund_withdrawable(100, 150, 5, 501), 99);
        assert_eq!(fund_withdrawable(60, 150, 5, 501), 60, "profit that is not realised stays");
        assert_eq!(fund_withdrawable(100, 40, 50, 0), 0);
        let mut peak = Peak::new();
        peak.record(0, 500);
        peak.shift(-200);
        assert_eq!(peak.highest(0), Some(300));
    }
}
