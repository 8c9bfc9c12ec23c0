//! Questions to a node over HTTP: one connection, made anew when it is gone, an answer bounded in time and in bytes.
//!
//! With encryption where the address says `https`. What the bytes mean is the business of `provider.rs`.

use super::Local;
use crate::config::feed::{NodeUrl, Url};
use crate::tls::Tls;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use std::cell::RefCell;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// Longest answer, in bytes. A block's releases are some hundred bytes each.
pub const ANSWER_LEN_MAX: usize = 4 << 20;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportFault {
    /// No connection, or it broke.
    #[error("not reached: {0}")]
    Unreachable(String),
    /// It took too long.
    #[error("no answer in time")]
    Silent,
    /// Longer than [`ANSWER_LEN_MAX`], or cut.
    #[error("its answer cannot be read: {0}")]
    Body(String),
    /// An HTTP status other than 200.
    #[error("it answered with status {0}")]
    Status(u16),
}

/// A way to ask a node.
pub trait Transport {
    /// Asks once.
    fn ask(&self, question: Bytes) -> Local<'_, Result<Bytes, TransportFault>>;
    /// What it is called in the log; no secrets in it.
    fn name(&self) -> &str;
}

type Sender = SendRequest<Full<Bytes>>;

/// A node at an address. For one thread, which must run local tasks.
pub struct HttpTransport {
    url: Url,
    /// Where it is asked in secret; `Err` says why it cannot be.
    tls: Option<Result<Tls, String>>,
    patience: Duration,
    /// Not in use just now.
    idle: RefCell<Vec<Sender>>,
}

impl HttpTransport {
    /// A node that gets `patience` for each answer.
    pub fn new(node: NodeUrl, patience: Duration) -> HttpTransport {
        let NodeUrl { url, is_encrypted } = node;
        let tls = is_encrypted.then(|| Tls::of_host(url.host()));
        HttpTransport { url, tls, patience, idle: RefCell::new(Vec::new()) }
    }

    /// One that is asked in secret by these means.
    pub fn encrypted(url: Url, tls: Tls, patience: Duration) -> HttpTransport {
        HttpTransport { url, tls: Some(Ok(tls)), patience, idle: RefCell::new(Vec::new()) }
    }

    async fn exchange(&self, question: Bytes) -> Result<Bytes, TransportFault> {
        let unreachable = |error: &dyn std::fmt::Display| TransportFault::Unreachable(error.to_string());
        let mut sender = self.connect().await?;
        let request = Request::builder()
            .method(Method::POST)
            .uri(&self.url.path)
            .header("host", &self.url.authority)
            .header("content-type", "application/json")
            .body(Full::new(question))
            .map_err(|error| unreachable(&error))?;
        sender.ready().await.map_err(|error| unreachable(&error))?;
        let response = sender.send_request(request).await.map_err(|error| unreachable(&error))?;
        let status = response.status();
        let body = Limited::new(response.into_body(), ANSWER_LEN_MAX).collect().await;
        let body = body.map_err(|error| TransportFault::Body(error.to_string()))?.to_bytes();
        if status != StatusCode::OK {
            return Err(TransportFault::Status(status.as_u16()));
        }
        self.idle.borrow_mut().push(sender);
        Ok(body)
    }

    async fn connect(&self) -> Result<Sender, TransportFault> {
        let unreachable = |error: &dyn std::fmt::Display| TransportFault::Unreachable(error.to_string());
        loop {
            let idle = self.idle.borrow_mut().pop();
            match idle {
                // A node may close between two questions; that is no failure.
                Some(sender) if sender.is_closed() => {}
                Some(sender) => return Ok(sender),
                None => break,
            }
        }
        let stream = TcpStream::connect(&self.url.authority).await.map_err(|error| unreachable(&error))?;
        let _ = stream.set_nodelay(true);
        match &self.tls {
            None => shake(stream).await,
            Some(Ok(tls)) => shake(tls.connect(stream).await.map_err(|error| unreachable(&error))?).await,
            Some(Err(reason)) => Err(unreachable(reason)),
        }
    }
}

async fn shake<S: AsyncRead + AsyncWrite + Unpin + 'static>(stream: S) -> Result<Sender, TransportFault> {
    let shaken = http1::handshake(TokioIo::new(stream)).await;
    let (sender, connection) = shaken.map_err(|error| TransportFault::Unreachable(error.to_string()))?;
    // What ends it, the sender says too.
    tokio::task::spawn_local(connection);
    Ok(sender)
}

impl Transport for HttpTransport {
    fn ask(&self, question: Bytes) -> Local<'_, Result<Bytes, TransportFault>> {
        Box::pin(async move {
            timeout(self.patience, self.exchange(question)).await.map_err(|_| TransportFault::Silent)?
        })
    }

    fn name(&self) -> &str {
        &self.url.authority
    }
}
