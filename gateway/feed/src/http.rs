//! A feed that asks a resource for its JSON again and again.

use super::{FeedError, MESSAGE_LEN_MAX, Newest, PATIENCE, Place, Tell, price};
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use ringside_config::feed::PricePaths;
use ringside_core::money::Price;
use ringside_outbound::Outbound;
use std::convert::Infallible;
use std::time::Duration;

/// Asks every so often; tells each price. Ends with the first thing that fails.
pub(super) async fn run(
    place: &Place<'_>,
    paths: &PricePaths,
    every: Duration,
    newest: &Newest,
    tell: Tell<'_>,
) -> Result<Infallible, FeedError> {
    let mut turns = tokio::time::interval(every);
    turns.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let outbound = Outbound::new(&place.trust()?, PATIENCE, MESSAGE_LEN_MAX);
    loop {
        turns.tick().await;
        newest.send_replace(Some(ask(&outbound, place, paths, tell).await?));
    }
}

/// Asks once.
async fn ask(
    outbound: &Outbound,
    place: &Place<'_>,
    paths: &PricePaths,
    tell: Tell<'_>,
) -> Result<Price, FeedError> {
    let request = Request::get(place.url.text(if place.is_encrypted { "https" } else { "http" }))
        .header("accept", "application/json")
        .body(Full::<Bytes>::default())
        .map_err(|error| FeedError::Body(error.to_string()))?;
    let body = outbound.get(request).await?;
    let text = std::str::from_utf8(&body).map_err(|error| FeedError::Body(error.to_string()))?;
    let price = price::find(text, paths).ok_or(FeedError::NoPrice)?;
    tell(text, price);
    Ok(price)
}
