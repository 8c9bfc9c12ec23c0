//! A feed that listens to a stream of JSON messages.

use super::connection::{Stream, connect};
use super::{FeedError, MESSAGE_LEN_MAX, Newest, PATIENCE, Place, Tell, price};
use futures_util::{SinkExt, StreamExt};
use ringside_config::feed::PricePaths;
use std::convert::Infallible;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_tungstenite::client_async_with_config;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error, Message};

/// How long a stream may go without a price before it is connected anew.
const SILENCE: Duration = Duration::from_secs(30);

/// Connects, sends what is to be sent, and tells each price that comes. Messages without a price are passed over: answers
/// to what was sent, other channels. Ends with the first thing that fails.
pub(super) async fn run(
    place: &Place<'_>,
    send: &[String],
    paths: &PricePaths,
    newest: &Newest,
    tell: Tell<'_>,
) -> Result<Infallible, FeedError> {
    let connecting = timeout(PATIENCE, connect(place)).await.map_err(|_| FeedError::Silent)?;
    match connecting? {
        Stream::Plain(stream) => listen(stream, place, send, paths, newest, tell).await,
        Stream::Encrypted(stream) => listen(*stream, place, send, paths, newest, tell).await,
    }
}

async fn listen<S: AsyncRead + AsyncWrite + Unpin>(
    stream: S,
    place: &Place<'_>,
    send: &[String],
    paths: &PricePaths,
    newest: &Newest,
    tell: Tell<'_>,
) -> Result<Infallible, FeedError> {
    let opening = async {
        let settings = WebSocketConfig::default()
            .max_message_size(Some(MESSAGE_LEN_MAX))
            .max_frame_size(Some(MESSAGE_LEN_MAX));
        // The stream is encrypted already where it is to be: of the scheme nothing depends on any more.
        let request = format!("ws://{}{}", place.url.authority, place.url.path);
        let (mut socket, _) =
            client_async_with_config(request, stream, Some(settings)).await.map_err(boxed)?;
        for text in send {
            socket.send(Message::text(text.as_str())).await.map_err(boxed)?;
        }
        Ok::<_, FeedError>(socket)
    };
    let mut socket = timeout(PATIENCE, opening).await.map_err(|_| FeedError::Silent)??;
    let mut deadline = Instant::now() + SILENCE;
    loop {
        let message = timeout_at(deadline, socket.next()).await.map_err(|_| FeedError::Silent)?;
        // Pings are answered by the socket while it is read.
        let text = match message.ok_or(FeedError::Ended)?.map_err(boxed)? {
            Message::Text(text) => text,
            Message::Close(_) => return Err(FeedError::Ended),
            _ => continue,
        };
        if let Some(price) = price::find(&text, paths) {
            tell(&text, price);
            newest.send_replace(Some(price));
            deadline = Instant::now() + SILENCE;
        }
    }
}

fn boxed(error: Error) -> FeedError {
    FeedError::WebSocket(Box::new(error))
}
