//! A feed that asks a resource for its JSON again and again, over one connection that is made anew when it is gone.

use super::connection::{Stream, connect};
use super::{FeedError, MESSAGE_LEN_MAX, Newest, PATIENCE, Place, Tell, price};
use crate::config::feed::PricePaths;
use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use ringside_core::money::Price;
use std::convert::Infallible;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::timeout;

type Sender = SendRequest<Empty<Bytes>>;

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
    let mut connection = None;
    loop {
        turns.tick().await;
        let price = timeout(PATIENCE, ask(place, paths, &mut connection, tell))
            .await
            .map_err(|_| FeedError::Silent)??;
        newest.send_replace(Some(price));
    }
}

/// Asks once.
async fn ask(
    place: &Place<'_>,
    paths: &PricePaths,
    connection: &mut Option<Sender>,
    tell: Tell<'_>,
) -> Result<Price, FeedError> {
    let mut sender = match connection.take() {
        // A server may close between two requests; that is no failure.
        Some(sender) if !sender.is_closed() => sender,
        _ => open(place).await?,
    };
    let request = Request::builder()
        .uri(&place.url.path)
        .header("host", &place.url.authority)
        .header("accept", "application/json")
        .body(Empty::new())
        .map_err(|error| FeedError::Body(error.to_string()))?;
    sender.ready().await?;
    let response = sender.send_request(request).await?;
    let status = response.status();
    let body = Limited::new(response.into_body(), MESSAGE_LEN_MAX).collect().await;
    let body = body.map_err(|error| FeedError::Body(error.to_string()))?.to_bytes();
    if status != StatusCode::OK {
        return Err(FeedError::Status(status.as_u16()));
    }
    *connection = Some(sender);
    let text = std::str::from_utf8(&body).map_err(|error| FeedError::Body(error.to_string()))?;
    let price = price::find(text, paths).ok_or(FeedError::NoPrice)?;
    tell(text, price);
    Ok(price)
}

async fn open(place: &Place<'_>) -> Result<Sender, FeedError> {
    match connect(place).await? {
        Stream::Plain(stream) => shake(stream).await,
        Stream::Encrypted(stream) => shake(*stream).await,
    }
}

async fn shake<S: AsyncRead + AsyncWrite + Unpin + 'static>(stream: S) -> Result<Sender, FeedError> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // What ends it, the sender says too.
    tokio::task::spawn_local(connection);
    Ok(sender)
}
