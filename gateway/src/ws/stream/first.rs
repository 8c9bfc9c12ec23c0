//! What a new subscriber of a perpetual channel is shown first (`perpetual-stream.md` 6).

use super::super::channel::{Moment, Snapshot, Topic};
use super::board;
use crate::dialect::fapi::stream::{self, Label, Level};
use crate::view::perpetual::market::PerpetualMarket;

/// Levels of a side in channel `orderbook`.
pub const BOOK_LEVELS: usize = 30;

fn snapshot(
    moment: &Moment<'_>,
    topic: Topic,
    frame_type: &'static str,
    write: impl FnOnce(&mut Vec<u8>, &Label, &PerpetualMarket) -> Option<()>,
) -> Option<Snapshot> {
    let market = moment.views.perpetuals().markets().get(topic.id)?;
    let mut data = Vec::new();
    write(&mut data, &Label::of(market), market)?;
    Some(Snapshot::Perpetual(frame_type, data))
}

/// A market that never had an order has an empty book.
pub fn order_book(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot(moment, topic, "orderbook", |out, label, market| {
        let book = moment.views.perpetuals().book(market.market);
        let update = book.map_or(0, |book| book.update_id());
        let [bids, asks]: [Vec<Level>; 2] = board::top(book, BOOK_LEVELS);
        stream::order_book(out, label, update, &bids, &asks, moment.now_ms);
        Some(())
    })
}

/// The rolling day.
pub fn day(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot(moment, topic, "ticker", |out, label, market| {
        stream::day(out, label, &moment.views.perpetuals().day(market, moment.now_ms), moment.now_ms);
        Some(())
    })
}

/// The running candle; none before the first trade.
pub fn candle(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot(moment, topic, "kline", |out, label, market| {
        let time_ms = moment.views.time_ns().div_euclid(1_000_000);
        let stick = board::stick(moment.views, market.market, topic.detail, time_ms, false)?;
        stream::candle(out, label, &stick, false, moment.now_ms);
        Some(())
    })
}

/// Mark, index and funding; none before the first mark.
pub fn mark(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot(moment, topic, "mark_price", |out, label, market| {
        let mean = moment.hub.mean_of(market.market);
        stream::mark(out, label, &board::mark_of(market, mean)?, moment.now_ms);
        Some(())
    })
}
