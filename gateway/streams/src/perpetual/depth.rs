//! `@depth`: levels that changed, gathered over one command or over many. Totals are absolute, so the last one counts.

use super::{At, Changed, Due, Start, Stream, book};
use ringside_core::command::Side;
use ringside_core::event;
use ringside_core::money::Price;
use ringside_wire::futures::stream::DepthEvent;
use std::collections::BTreeMap;

pub(crate) fn begin(start: &Start) -> Box<dyn Stream> {
    Box::new(Diff { gathered: Gathered::behind(start.update), speed_ms: start.topic.speed().1 })
}

struct Diff {
    gathered: Gathered,
    speed_ms: i64,
}

impl Diff {
    fn speak(&mut self, at: &mut At<'_, '_>) {
        let Some(Gathered { before, last, time_ms, bids, asks }) = self.gathered.take() else { return };
        let label = at.label();
        at.tell(&DepthEvent {
            event_time: at.now_ms,
            time: time_ms,
            symbol: label.symbol(),
            first: before + 1,
            last,
            before,
            bids: book::levels(label, bids.into_iter().rev()),
            asks: book::levels(label, asks.into_iter()),
        });
    }
}

impl Stream for Diff {
    fn levels(&mut self, changed: &Changed<'_>, at: &mut At<'_, '_>) {
        changed.levels().for_each(|depth| self.gathered.put(depth, at.time_ms));
        if self.speed_ms == 0 {
            self.speak(at);
        }
    }

    fn is_timed(&self) -> bool {
        self.speed_ms > 0
    }

    fn beat(&mut self, due: &Due, at: &mut At<'_, '_>) {
        if due.has(self.speed_ms) {
            self.speak(at);
        }
    }
}

/// Levels that changed since an event of a stream, and which mutations that were.
#[derive(Debug, Default, PartialEq, Eq)]
struct Gathered {
    /// The last mutation before.
    before: u64,
    last: u64,
    /// When that was, UNIX milliseconds.
    time_ms: i64,
    bids: BTreeMap<Price, i128>,
    asks: BTreeMap<Price, i128>,
}

impl Gathered {
    /// Nothing yet, behind this mutation.
    fn behind(update: u64) -> Gathered {
        Gathered { before: update, last: update, ..Gathered::default() }
    }

    /// A level as it is after one more mutation.
    fn put(&mut self, changed: &event::Depth, time_ms: i64) {
        (self.last, self.time_ms) = (changed.update, time_ms);
        let is_bid = changed.side == Side::Buy as u8;
        let levels = if is_bid { &mut self.bids } else { &mut self.asks };
        levels.insert(changed.price, changed.total.get());
    }

    /// Takes out what was gathered; `None` if it is nothing.
    fn take(&mut self) -> Option<Gathered> {
        let next = Gathered::behind(self.last);
        (self.last != self.before).then(|| std::mem::replace(self, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_total_of_a_level_counts_and_ranges_join() {
        let mut gathered = Gathered::behind(7);
        assert_eq!(gathered.take(), None);
        for (update, side, price, total) in
            [(8, Side::Buy, 10, 5), (9, Side::Sell, 12, 1), (10, Side::Buy, 11, 2), (11, Side::Buy, 10, 0)]
        {
            let side = side as u8;
            let total: i128 = total;
            let depth =
                event::Depth { update, price, total: total.into(), market: 1, side, reserved: [0; 3] };
            gathered.put(&depth, 100 + price);
        }
        let taken = gathered.take().expect("four mutations");
        assert_eq!((taken.before, taken.last, taken.time_ms), (7, 11, 110));
        assert_eq!(taken.bids.into_iter().collect::<Vec<_>>(), [(10, 0), (11, 2)]);
        assert_eq!(taken.asks.into_iter().collect::<Vec<_>>(), [(12, 1)]);
        assert_eq!(gathered.take(), None);
    }
}
