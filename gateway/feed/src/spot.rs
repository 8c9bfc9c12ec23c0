//! A feed that reads a spot market of this exchange: the middle of its impact prices, where they are near each other. A
//! last trade, or the best prices alone, could be moved by a single order.

use super::{FeedError, Newest};
use ringside_core::command::Side;
use ringside_core::money::{Money, Price};
use ringside_core::risk::perpetual::impact::{impact_price, spot_index};
use ringside_views::SharedViews;
use std::convert::Infallible;
use std::time::Duration;

/// Levels of a side that are looked at: readers share the views, so the look is short.
const LEVELS_MAX: usize = 1_000;

/// Looks at the book again and again; tells a price where there is one.
pub(super) async fn run(
    views: &SharedViews,
    market: &str,
    notional: Money,
    every: Duration,
    newest: &Newest,
) -> Result<Infallible, FeedError> {
    let mut turns = tokio::time::interval(every);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        if let Some(price) = price(views, market, notional) {
            newest.send_replace(Some(price));
        }
    }
}

fn price(views: &SharedViews, market: &str, notional: Money) -> Option<Price> {
    let views = views.read();
    let market = views.markets().by_symbol(market)?;
    let book = views.depth().book(market.market)?;
    let bid = impact_price(Side::Buy, book.bids().take(LEVELS_MAX), notional, market.lot);
    let ask = impact_price(Side::Sell, book.asks().take(LEVELS_MAX), notional, market.lot);
    spot_index(bid, ask)
}
