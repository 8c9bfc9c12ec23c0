//! The index price (`risk.md` 10): the weighted, clamped average of fresh sources, and what stands in for it.
//!
//! Who the sources are, and what a state of the index forbids, is decided elsewhere.

use super::units::{floor_div, floor_of, narrow};
use crate::money::{Price, Rate};

/// Most sources of a market.
pub(crate) const SOURCES_MAX: usize = 16;
/// How long the last index holds without a source, in ms.
pub(crate) const HELD_MS: u64 = 60_000;
/// After how long without a source a market halts, in ms.
pub(crate) const HALT_MS: u64 = 600_000;

/// The last value of a fresh source.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Quote {
    /// > 0
    pub(crate) price: Price,
    pub(crate) source: u32,
    /// >= 1
    pub(crate) weight: u32,
}

/// Whether a value that came at `at_ms` still counts.
#[inline]
pub(crate) const fn is_fresh(at_ms: u64, now_ms: u64, stale_ms: u64) -> bool {
    now_ms.saturating_sub(at_ms) <= stale_ms
}

/// An index and the median that its sources were clamped around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Average {
    pub(crate) median: Price,
    pub(crate) index: Price,
}

/// Of fresh quotes in any order, at most [`SOURCES_MAX`], each no further from the weighted median than `clamp` of it.
/// `None` without one.
pub(crate) fn average(quotes: &[Quote], clamp: Rate) -> Option<Average> {
    let mut sorted = [Quote::default(); SOURCES_MAX];
    let sorted = sorted.get_mut(..quotes.len())?;
    sorted.copy_from_slice(quotes);
    sorted.sort_unstable_by_key(|quote| (quote.price, quote.source));
    let total: i128 = sorted.iter().map(|quote| i128::from(quote.weight)).sum();
    if total <= 0 {
        return None;
    }
    let median = median(sorted, total)?;
    let width = floor_of(median, clamp)?;
    let (low, high) = (median.checked_sub(width)?, median.checked_add(width)?);
    if low > high {
        return None;
    }
    // At most 16 x 2^32 x 2^63.
    let sum: i128 =
        sorted.iter().map(|quote| i128::from(quote.weight) * i128::from(quote.price.clamp(low, high))).sum();
    Some(Average { median, index: narrow(floor_div(sum, total))? })
}

/// The first quote at which more than half of the weight is reached; between two, down, where it is half exactly.
fn median(sorted: &[Quote], total: i128) -> Option<Price> {
    let mut reached = 0;
    for (at, quote) in sorted.iter().enumerate() {
        reached += i128::from(quote.weight);
        if 2 * reached > total {
            return Some(quote.price);
        }
        if 2 * reached == total {
            // The other half stands behind it.
            let next = sorted.get(at + 1)?;
            return narrow(floor_div(i128::from(quote.price) + i128::from(next.price), 2));
        }
    }
    None
}

/// Where an index comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum IndexState {
    /// Enough fresh sources.
    Live = 0,
    /// A fresh source, but too few.
    Single = 1,
    /// No fresh source; the exchange's own spot market.
    Spot = 2,
    /// An administrator's price.
    Manual = 3,
    /// None of these: the last index, for a short time.
    Held = 4,
    /// None for too long: the last index.
    Stale = 5,
}

/// What there is to make an index of, at one tick.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Inputs {
    /// Of the fresh sources; none without one.
    pub(crate) average: Option<Price>,
    pub(crate) fresh_count: u32,
    /// Fresh sources that a live index needs.
    pub(crate) sources_min: u32,
    /// Of the own spot market.
    pub(crate) spot: Option<Price>,
    /// An administrator's price, from the command that sets it to the command that takes it away.
    pub(crate) manual: Option<Price>,
}

/// An index with its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// 0 until there was one.
    pub(crate) price: Price,
    pub(crate) state: IndexState,
    /// Time of the first tick that found nothing to make an index of; of no meaning while it is neither held nor stale.
    pub(crate) lost_ms: u64,
}

impl Index {
    /// Of a market that has no price yet.
    pub(crate) const fn new(now_ms: u64) -> Index {
        Index { price: 0, state: IndexState::Stale, lost_ms: now_ms }
    }

    /// At the next tick. What an administrator set counts alone; otherwise the first of the table that is there.
    pub(crate) fn next(self, inputs: &Inputs, now_ms: u64) -> Index {
        let found = if let Some(price) = inputs.manual {
            Some((price, IndexState::Manual))
        } else if let Some(price) = inputs.average {
            let is_live = inputs.fresh_count >= inputs.sources_min;
            Some((price, if is_live { IndexState::Live } else { IndexState::Single }))
        } else {
            inputs.spot.map(|price| (price, IndexState::Spot))
        };
        if let Some((price, state)) = found {
            return Index { price, state, lost_ms: now_ms };
        }
        let was_lost = matches!(self.state, IndexState::Held | IndexState::Stale);
        let lost_ms = if was_lost { self.lost_ms } else { now_ms };
        let is_held = self.price != 0 && now_ms.saturating_sub(lost_ms) <= HELD_MS;
        Index {
            price: self.price,
            state: if is_held { IndexState::Held } else { IndexState::Stale },
            lost_ms,
        }
    }

    /// Whether it has been stale for so long that the market halts.
    pub(crate) const fn is_halting(&self, now_ms: u64) -> bool {
        matches!(self.state, IndexState::Stale) && now_ms.saturating_sub(self.lost_ms) > HALT_MS
    }
}

#[cfg(test)]
mod tests {
    use super::super::mark::mark;
    use super::*;
    use crate::money::UNIT;

    fn quote(price: i64, source: u32, weight: u32) -> Quote {
        Quote { price, source, weight }
    }

    #[test]
    fn v_15_index_and_mark_of_three_sources() {
        let quotes = [quote(60_010 * UNIT, 1, 3), quote(60_000 * UNIT, 2, 2), quote(62_500 * UNIT, 3, 1)];
        assert!(!is_fresh(1_000, 11_001, 10_000), "the fourth is stale");
        assert!(is_fresh(1_000, 11_000, 10_000));
        let Average { median, index } = average(&quotes, 500_000).unwrap();
        assert_eq!(median, 60_010 * UNIT);
        assert_eq!(median + floor_of(median, 500_000).unwrap(), 6_031_005_000_000);
        assert_eq!(index, 6_005_667_500_000);
        let free = mark(index, 80 * UNIT, 400_000).unwrap();
        assert_eq!((free.price, free.is_clamped), (6_013_667_500_000, false));
        let clamped = mark(index, 400 * UNIT, 400_000).unwrap();
        assert_eq!((clamped.price, clamped.is_clamped), (6_029_690_170_000, true));
        assert_eq!(clamped.width, 24_022_670_000);
    }

    #[test]
    fn the_median_is_by_weight() {
        let of = |quotes: &[Quote]| average(quotes, 100_000_000).unwrap().median;
        assert_eq!(of(&[quote(10, 1, 1)]), 10);
        assert_eq!(of(&[quote(10, 1, 1), quote(15, 2, 1)]), 12, "half exactly: between two, down");
        assert_eq!(of(&[quote(15, 2, 1), quote(10, 1, 1), quote(20, 3, 1)]), 15);
        assert_eq!(of(&[quote(10, 1, 5), quote(15, 2, 2), quote(20, 3, 2)]), 10);
        assert_eq!(of(&[quote(10, 1, 1), quote(15, 2, 2), quote(20, 3, 1), quote(30, 4, 4)]), 25);
    }

    #[test]
    fn a_source_far_away_counts_as_near_as_allowed() {
        let near =
            average(&[quote(1_000, 1, 1), quote(1_000, 2, 1), quote(i64::MAX, 3, 1)], 1_000_000).unwrap();
        assert_eq!(near, Average { median: 1_000, index: 1_003 });
        assert_eq!(average(&[], 500_000), None);
        assert_eq!(average(&[quote(10, 1, 0)], 500_000), None);
        assert_eq!(average(&[quote(10, 1, 1); SOURCES_MAX + 1], 500_000), None);
    }

    #[test]
    fn the_index_falls_back_down_the_table() {
        let none = Inputs { sources_min: 2, ..Inputs::default() };
        let live = Inputs { average: Some(100), fresh_count: 2, ..none };
        let single = Inputs { average: Some(101), fresh_count: 1, spot: Some(90), ..none };
        let spot = Inputs { spot: Some(102), ..none };
        let manual = Inputs { manual: Some(103), ..live };
        let mut index = Index::new(0);
        let mut step = |inputs: &Inputs, now_ms: u64| {
            index = index.next(inputs, now_ms);
            (index.price, index.state, index.is_halting(now_ms))
        };
        assert_eq!(step(&none, 0), (0, IndexState::Stale, false), "nothing to hold");
        assert_eq!(step(&live, 1_000), (100, IndexState::Live, false));
        assert_eq!(step(&single, 2_000), (101, IndexState::Single, false));
        assert_eq!(step(&spot, 3_000), (102, IndexState::Spot, false));
        assert_eq!(step(&manual, 4_000), (103, IndexState::Manual, false), "sources do not end it");
        assert_eq!(step(&none, 5_000), (103, IndexState::Held, false));
        assert_eq!(step(&none, 65_000), (103, IndexState::Held, false));
        assert_eq!(step(&none, 65_001), (103, IndexState::Stale, false));
        assert_eq!(step(&none, 605_000), (103, IndexState::Stale, false));
        assert_eq!(step(&none, 605_001), (103, IndexState::Stale, true));
        assert_eq!(step(&live, 606_000), (100, IndexState::Live, false));
        assert_eq!(step(&none, 607_000), (100, IndexState::Held, false), "counted anew");
    }
}
