//! What a new subscriber of a channel is shown first (`spot.md` 11, `perpetual-stream.md` 6), copied while the views are held.

use super::hub::Hub;
use super::perpetual::lookup;
use super::topic::Topic;
use crate::dialect::fapi::stream::{self, Label, Level};
use crate::dialect::spot::{encode, push};
use ringside_core::money::Price;
use ringside_views::Views;
use ringside_views::depth::Book;
use ringside_views::kline::{Interval, Kline};
use ringside_views::market::MarketRecord;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::ticker::Ticker;
use ringside_wire::write;

/// Levels of a side in a snapshot of the spot side.
const LEVELS: usize = 1_000;

/// Copies what a topic shows at this moment.
pub type TakeSnapshot = fn(&Moment<'_>, Topic) -> Option<Snapshot>;

/// What snapshots are taken of.
pub struct Moment<'a> {
    /// Held for reading.
    pub views: &'a Views,
    /// Knows what no view does.
    pub hub: &'a Hub,
    /// UNIX milliseconds.
    pub now_ms: i64,
}

/// A moment's state, copied.
pub enum Snapshot {
    /// Levels, best first.
    Depth {
        /// Id of the last mutation.
        update_id: u64,
        /// Buy side.
        bids: Vec<(Price, i128)>,
        /// Sell side.
        asks: Vec<(Price, i128)>,
    },
    /// A row.
    Ticker(Ticker),
    /// The newest candle, and whether it is over.
    Kline(Kline, Interval, bool),
    /// Of a perpetual market: `type` and `data`, written already.
    Perpetual(&'static str, Vec<u8>),
}

impl Snapshot {
    /// `type` of the frame.
    pub fn frame_type(&self) -> &'static str {
        match self {
            Snapshot::Depth { .. } => "spot_depth_snapshot",
            Snapshot::Ticker(_) => "spot_ticker",
            Snapshot::Kline(..) => "spot_kline_snapshot",
            Snapshot::Perpetual(frame_type, _) => frame_type,
        }
    }

    /// `data` of the frame. `market` is the market of a spot channel.
    pub fn write(self, out: &mut Vec<u8>, market: Option<&MarketRecord>) {
        let Some(market) = market else {
            if let Snapshot::Perpetual(_, data) = self {
                *out = data;
            }
            return;
        };
        match self {
            Snapshot::Depth { update_id, bids, asks } => {
                out.reserve(256 + (bids.len() + asks.len()) * 32);
                write(out, &encode::depth(market, update_id, bids, asks));
            }
            Snapshot::Ticker(ticker) => write(out, &push::ticker(&ticker, market)),
            Snapshot::Kline(kline, interval, is_closed) => {
                write(out, &push::kline(&kline, interval, is_closed, market));
            }
            Snapshot::Perpetual(..) => {}
        }
    }
}

/// The best levels of a spot market. One that never had an order has an empty book.
pub(super) fn depth(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    let levels = |book: &Book| Snapshot::Depth {
        update_id: book.update_id(),
        bids: book.bids().take(LEVELS).collect(),
        asks: book.asks().take(LEVELS).collect(),
    };
    let empty = || Snapshot::Depth { update_id: 0, bids: Vec::new(), asks: Vec::new() };
    Some(moment.views.depth().book(topic.id).map_or_else(empty, levels))
}

/// The rolling 24 hours of a spot market.
pub(super) fn ticker(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    moment.views.tickers().get(topic.id).copied().map(Snapshot::Ticker)
}

/// The newest candle of a spot market.
pub(super) fn kline(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    let interval = topic.interval()?;
    let kline = moment.views.klines().latest(topic.id, interval)?;
    Some(Snapshot::Kline(kline, interval, kline.is_closed(interval, moment.views.time_ns())))
}

/// Of a perpetual market.
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

/// The best levels. A market that never had an order has an empty book.
pub(super) fn order_book(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot(moment, topic, "orderbook", |out, label, market| {
        let book = moment.views.perpetuals().book(market.market);
        let update = book.map_or(0, |book| book.update_id());
        let [bids, asks]: [Vec<Level>; 2] = lookup::top(book, lookup::BOOK_LEVELS);
        stream::order_book(out, label, update, &bids, &asks, moment.now_ms);
        Some(())
    })
}

/// The rolling day.
pub(super) fn day(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot(moment, topic, "ticker", |out, label, market| {
        stream::day(out, label, &moment.views.perpetuals().day(market, moment.now_ms), moment.now_ms);
        Some(())
    })
}

/// The running candle; none before the first trade.
pub(super) fn candle(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot(moment, topic, "kline", |out, label, market| {
        let time_ms = moment.views.time_ns().div_euclid(1_000_000);
        let stick = lookup::stick(moment.views, market.market, topic.detail, time_ms, false)?;
        stream::candle(out, label, &stick, false, moment.now_ms);
        Some(())
    })
}

/// Mark, index and funding; none before the first mark.
pub(super) fn mark(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot(moment, topic, "mark_price", |out, label, market| {
        let mean = moment.hub.mean_of(market.market);
        stream::mark(out, label, &lookup::mark_of(market, mean)?, moment.now_ms);
        Some(())
    })
}
