//! A connection to a source of the outside, in secret where its address says so.

use super::{FeedError, Place};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

/// An open one.
pub(super) enum Stream {
    Plain(TcpStream),
    Encrypted(Box<TlsStream<TcpStream>>),
}

/// Connects; where it is in secret, the other end has shown that it is the host.
pub(super) async fn connect(place: &Place<'_>) -> Result<Stream, FeedError> {
    let stream = TcpStream::connect(&place.url.authority).await.map_err(FeedError::Connect)?;
    let _ = stream.set_nodelay(true);
    if !place.is_encrypted {
        return Ok(Stream::Plain(stream));
    }
    let trust = place.trust()?;
    let stream = trust.connect(place.url.host(), stream).await.map_err(FeedError::Connect)?;
    Ok(Stream::Encrypted(Box::new(stream)))
}
