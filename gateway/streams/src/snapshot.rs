//! What a new subscriber of a channel is shown first (`spot.md` 11, `perpetual-stream.md` 6), copied while the views are held. What
//! perpetual markets show stands with their streams.

use super::registry::SubscriptionRegistry;
use super::topic::Topic;
use ringside_core::money::Price;
use ringside_dialect::spot::{encode, push};
use ringside_views::Views;
use ringside_views::depth::Book;
use ringside_views::kline::{SPOT_INTERVALS, SpotCandle};
use ringside_views::market::MarketRecord;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::ticker::Ticker;
use ringside_wire::write;
use serde::Serialize;

/// Levels of a side in a snapshot of the spot side.
const LEVELS: usize = 1_000;

/// Copies what a topic shows at this moment.
pub type TakeSnapshot = fn(&Moment<'_>, Topic) -> Option<Snapshot>;

/// What snapshots are taken of.
pub struct Moment<'a> {
    /// Held for reading.
    pub views: &'a Views,
    /// Knows what no view does.
    pub registry: &'a SubscriptionRegistry,
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
    Kline(SpotCandle, usize, bool),
    /// Of a perpetual market: `data`, written already.
    Perpetual(Vec<u8>),
}

impl Snapshot {
    /// `type` of the frame, given that of its channel's others.
    pub fn frame_type(&self, channel: &'static str) -> &'static str {
        match self {
            Snapshot::Depth { .. } => "spot_depth_snapshot",
            Snapshot::Ticker(_) => "spot_ticker",
            Snapshot::Kline(..) => "spot_kline_snapshot",
            Snapshot::Perpetual(_) => channel,
        }
    }

    /// `data` of the frame. `market` is the market of a spot channel.
    pub fn write(self, out: &mut Vec<u8>, market: Option<&MarketRecord>) {
        let Some(market) = market else {
            if let Snapshot::Perpetual(data) = self {
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
    let interval = usize::from(topic.detail);
    let candle = moment.views.klines().latest(topic.id, interval)?;
    let time_ms = moment.views.time_ns().div_euclid(1_000_000);
    Some(Snapshot::Kline(candle, interval, candle.is_over(SPOT_INTERVALS[interval].1, time_ms)))
}

/// Of a perpetual market, written at once.
pub(super) fn of_market<T: Serialize>(
    moment: &Moment<'_>,
    topic: Topic,
    event: impl FnOnce(&PerpetualMarket) -> Option<T>,
) -> Option<Snapshot> {
    let market = moment.views.perpetuals().markets().get(topic.id)?;
    let mut data = Vec::new();
    write(&mut data, &event(market)?);
    Some(Snapshot::Perpetual(data))
}
