//! What changed in a book: levels gathered over one command, or over many. Totals are absolute, so the last one counts.

use crate::dialect::fapi::stream::{Level, Updates};
use ringside_core::command::Side;
use ringside_core::event;
use ringside_core::money::Price;
use std::collections::BTreeMap;

/// Levels that changed since an event of a stream, and which mutations that were.
#[derive(Debug)]
pub(super) struct Gathered {
    updates: Updates,
    bids: BTreeMap<Price, i128>,
    asks: BTreeMap<Price, i128>,
}

impl Gathered {
    /// Nothing yet, behind this mutation.
    pub(super) fn behind(update: u64) -> Gathered {
        let updates = Updates { before: update, last: update, time_ms: 0 };
        Gathered { updates, bids: BTreeMap::new(), asks: BTreeMap::new() }
    }

    /// A level as it is after one more mutation.
    pub(super) fn put(&mut self, changed: &event::Depth, time_ms: i64) {
        self.updates.last = changed.update;
        self.updates.time_ms = time_ms;
        let is_bid = changed.side == Side::Buy as u8;
        let levels = if is_bid { &mut self.bids } else { &mut self.asks };
        levels.insert(changed.price, changed.total.get());
    }

    /// Takes out what was gathered: both sides in `levels`, best first, the bids before that place. `None` if it is nothing.
    pub(super) fn take(&mut self, levels: &mut Vec<Level>) -> Option<(Updates, usize)> {
        if self.updates.last == self.updates.before {
            return None;
        }
        let updates = self.updates;
        self.updates.before = updates.last;
        levels.extend(self.bids.iter().rev().map(|(price, total)| (*price, *total)));
        let middle = levels.len();
        levels.extend(self.asks.iter().map(|(price, total)| (*price, *total)));
        self.bids.clear();
        self.asks.clear();
        Some((updates, middle))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_total_of_a_level_counts_and_ranges_join() {
        let mut gathered = Gathered::behind(7);
        let mut levels = Vec::new();
        assert_eq!(gathered.take(&mut levels), None);
        for (update, side, price, total) in
            [(8, Side::Buy, 10, 5), (9, Side::Sell, 12, 1), (10, Side::Buy, 11, 2), (11, Side::Buy, 10, 0)]
        {
            let side = side as u8;
            let total: i128 = total;
            let depth =
                event::Depth { update, price, total: total.into(), market: 1, side, reserved: [0; 3] };
            gathered.put(&depth, 100 + price);
        }
        let updates = Updates { before: 7, last: 11, time_ms: 110 };
        assert_eq!(gathered.take(&mut levels), Some((updates, 2)));
        assert_eq!(levels, [(11, 2), (10, 0), (12, 1)]);
        assert_eq!(gathered.take(&mut levels), None);
    }
}
