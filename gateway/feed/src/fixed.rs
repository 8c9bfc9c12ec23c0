//! A feed that reads nothing: one price for ever, so that a market of a test or a show has an index.

use super::{FeedError, Newest};
use ringside_core::money::Price;
use std::convert::Infallible;
use std::time::Duration;

/// Tells the price again and again.
pub(super) async fn run(price: Price, every: Duration, newest: &Newest) -> Result<Infallible, FeedError> {
    let mut turns = tokio::time::interval(every);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        newest.send_replace(Some(price));
    }
}
