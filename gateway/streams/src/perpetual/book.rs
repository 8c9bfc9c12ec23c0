//! `@depth5` and longer, and channel `orderbook`: the best levels, also of a book that became empty, as whoever keeps the last ones must
//! lose them.

use super::{At, Changed, Due, Label, Start, Stream};
use crate::snapshot::{self, Moment, Snapshot};
use crate::topic::Topic;
use ringside_core::money::Price;
use ringside_views::depth::Book;
use ringside_wire::futures::market::Level;
use ringside_wire::futures::stream::{DepthEvent, OrderBook};

/// Levels of a side in channel `orderbook`.
const LEVELS: usize = 30;

pub(crate) fn begin_top(start: &Start) -> Box<dyn Stream> {
    let (levels, speed_ms) = (start.topic.levels(), start.topic.speed().1);
    Box::new(Top { before: start.update, speed_ms, levels })
}

pub(crate) fn begin(start: &Start) -> Box<dyn Stream> {
    Box::new(Channel { sent: start.update })
}

/// Shown to a new subscriber. A market that never had an order has an empty book.
pub(crate) fn snapshot(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot::of_market(moment, topic, |market| {
        let book = moment.views.perpetuals().book(market.market);
        Some(order_book(&Label::of(market), book.map_or(0, Book::update_id), book, moment.now_ms))
    })
}

/// Levels as events have them.
pub(super) fn levels(label: Label, levels: impl Iterator<Item = (Price, i128)>) -> Vec<Level> {
    levels.map(|(price, total)| (label.steps.price(price), label.steps.quantity(total))).collect()
}

fn order_book(label: &Label, update: u64, book: Option<&Book>, now_ms: i64) -> OrderBook {
    let [bids, asks] = top(*label, book, LEVELS);
    OrderBook { symbol: label.symbol(), last_update_id: update, bids, asks, ts: now_ms }
}

fn top(label: Label, book: Option<&Book>, count: usize) -> [Vec<Level>; 2] {
    let Some(book) = book else { return [Vec::new(), Vec::new()] };
    [levels(label, book.bids().take(count)), levels(label, book.asks().take(count))]
}

struct Top {
    /// The mutation told last.
    before: u64,
    speed_ms: i64,
    levels: usize,
}

impl Top {
    fn speak(&mut self, (last, time): (u64, i64), now_ms: i64, at: &mut At<'_, '_>) {
        let before = std::mem::replace(&mut self.before, last);
        if before == last {
            return;
        }
        let [bids, asks] = top(at.label(), at.book(), self.levels);
        let (event_time, symbol) = (now_ms, at.label().symbol());
        at.tell(&DepthEvent { event_time, time, symbol, first: before + 1, last, before, bids, asks });
    }
}

impl Stream for Top {
    fn levels(&mut self, _: &Changed<'_>, at: &mut At<'_, '_>) {
        if self.speed_ms == 0 {
            self.speak((at.book().map_or(0, Book::update_id), at.time_ms), at.time_ms, at);
        }
    }

    fn is_timed(&self) -> bool {
        self.speed_ms > 0
    }

    fn beat(&mut self, due: &Due, at: &mut At<'_, '_>) {
        if due.has(self.speed_ms) {
            self.speak((at.market.update, at.market.book_ms), at.now_ms, at);
        }
    }
}

struct Channel {
    /// The mutation told last.
    sent: u64,
}

impl Stream for Channel {
    fn is_timed(&self) -> bool {
        true
    }

    fn beat(&mut self, due: &Due, at: &mut At<'_, '_>) {
        let update = at.market.update;
        if due.has(100) && std::mem::replace(&mut self.sent, update) != update {
            at.tell(&order_book(&at.label(), update, at.book(), at.now_ms));
        }
    }
}
