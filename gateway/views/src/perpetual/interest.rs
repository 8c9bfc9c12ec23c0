//! Open interest of each market, sampled every five minutes: what stands after the first tick of a step is its sample.

use super::super::log::{Key, Row};
use super::market::PerpetualMarket;
use crate::stored::{Sum, layouts, stored};
use ringside_core::ids::MarketId;

/// Milliseconds from one sample to the next.
pub const STEP_MS: i64 = 300_000;
/// 10^-8 of a price and of a quantity to a micro-quote.
const SCALE: i128 = 10_000_000_000;

/// A sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterestRecord {
    /// Start of its step, UNIX milliseconds.
    pub time_ms: i64,
    /// Sum of long positions, 10^-8 base.
    pub quantity: i128,
    /// Its value at the mark, micro-quote; 0 while there is no mark.
    pub value: i128,
    /// Market id.
    pub market: MarketId,
    /// Reserved: zero.
    pub reserved: u32,
}

impl InterestRecord {
    pub(super) fn of(market: &PerpetualMarket, time_ms: i64) -> InterestRecord {
        let mark = market.price.map_or(0, |price| i128::from(price.mark));
        InterestRecord {
            time_ms,
            quantity: market.open_interest,
            value: market.open_interest.saturating_mul(mark) / SCALE,
            market: market.market,
            reserved: 0,
        }
    }
}

/// Periods in which it is shown, and their milliseconds. A sample is of the class of the longest that begins with it. Append.
pub const PERIODS: [(&str, i64); 9] = [
    ("5m", STEP_MS),
    ("15m", 3 * STEP_MS),
    ("30m", 6 * STEP_MS),
    ("1h", 12 * STEP_MS),
    ("2h", 24 * STEP_MS),
    ("4h", 48 * STEP_MS),
    ("6h", 72 * STEP_MS),
    ("12h", 144 * STEP_MS),
    ("1d", 288 * STEP_MS),
];

/// The classes of samples that begin a period, a bit for each; `None` for a name that no period has.
pub fn classes(period: &str) -> Option<u32> {
    let (_, length) = PERIODS.iter().find(|(name, _)| *name == period)?;
    let begins = PERIODS.iter().map(|(_, of_class)| u32::from(of_class % length == 0));
    Some((0..).zip(begins).fold(0, |classes, (class, begins)| classes | begins << class))
}

impl Row for InterestRecord {
    const HAS_FACETS: bool = true;

    fn key(&self) -> Key {
        let id = u64::try_from(self.time_ms / STEP_MS).unwrap_or(0);
        Key { owner: 0, market: self.market, id, time_ms: self.time_ms, tag: 0 }
    }

    /// The class: of the longest period that begins with it.
    fn facet(&self) -> u8 {
        let begins = |(_, length): &(&str, i64)| self.time_ms % length == 0;
        PERIODS.iter().rposition(begins).unwrap_or(0) as u8
    }
}

layouts! {
    /// A sample of open interest.
    InterestV1 of InterestRecord { time_ms: i64, quantity: Sum, value: Sum, market: u32, reserved: u32 }
}

stored! {
    InterestRecord as Interest: InterestV1;
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Not every class begins all shorter periods: six hours are no multiple of four.
    #[test]
    fn a_period_has_the_samples_that_begin_it() {
        for step in 0..2 * 288 {
            let time_ms = step * STEP_MS;
            let sample = InterestRecord { time_ms, quantity: 0, value: 0, market: 0, reserved: 0 };
            for (name, length) in PERIODS {
                let classes = classes(name).expect("it is a period");
                assert_eq!(classes >> sample.facet() & 1 != 0, time_ms % length == 0, "{name} at {time_ms}");
            }
        }
    }
}
