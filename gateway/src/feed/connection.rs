//! A connection to a source of the outside, in secret where its address says so.

use super::{FeedError, Place};
use crate::tls::Tls;
use std::io;
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
    let host = place.url.host();
    let tls = match place.authorities {
        Some(file) => Tls::of_host_and(host, file),
        None => Tls::of_host(host),
    };
    let tls = tls.map_err(|reason| FeedError::Connect(io::Error::other(reason)))?;
    Ok(Stream::Encrypted(Box::new(tls.connect(stream).await.map_err(FeedError::Connect)?)))
}
