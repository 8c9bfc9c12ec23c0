//! What the views show of a perpetual market, as streams and snapshots tell it: the best levels, the mark, a candle.

use crate::dialect::fapi::stream::{Level, Mark, Stick};
use ringside_core::ids::MarketId;
use ringside_core::money::Price;
use ringside_views::Views;
use ringside_views::depth::Book;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::series::{INTERVALS, Source};

/// Levels of a side in channel `orderbook`.
pub const BOOK_LEVELS: usize = 30;

/// The best levels of both sides.
pub fn top(book: Option<&Book>, levels: usize) -> [Vec<Level>; 2] {
    let Some(book) = book else { return [Vec::new(), Vec::new()] };
    [book.bids().take(levels).collect(), book.asks().take(levels).collect()]
}

/// The best bid and ask.
pub fn best(book: Option<&Book>) -> [Option<Level>; 2] {
    book.map_or([None; 2], |book| [book.bids().next(), book.asks().next()])
}

/// Prices of a market; `None` before the first mark.
pub fn mark_of(market: &PerpetualMarket, mean: Price) -> Option<Mark> {
    let price = market.price.as_ref()?;
    let mean = if mean == 0 { price.mark } else { mean };
    let (rate, next_ms) = (price.funding_rate, price.next_funding_ms);
    Some(Mark { mark: price.mark, mean, index: price.index, rate, next_ms })
}

/// The candle of a market that holds a time; `None` before the first trade.
pub fn stick(views: &Views, market: MarketId, interval: u16, time_ms: i64, is_closed: bool) -> Option<Stick> {
    let index = usize::from(interval);
    let (word, length) = *INTERVALS.get(index)?;
    let candle =
        views.perpetuals().series().candle_at(market, Source::Trades, index, length.open(time_ms))?;
    Some(Stick { candle, interval: word, close_ms: length.step(candle.open_ms, 1) - 1, is_closed })
}
