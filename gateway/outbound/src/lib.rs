//! Requests to others over HTTP: nodes of a chain, sources of prices, an exchange that a subcommand speaks to. One client of a
//! library, which keeps connections and makes them secret; here are the bounds in time and in bytes.

pub mod tls;
pub mod url;

use crate::tls::Trust;
use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{Request, StatusCode};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundFault {
    /// No connection, or it broke.
    #[error("not reached: {0}")]
    Unreachable(String),
    /// It took too long.
    #[error("no answer in time")]
    Silent,
    /// Longer than allowed, or cut.
    #[error("its answer cannot be read: {0}")]
    Body(String),
    /// An HTTP status other than 200.
    #[error("it answered with status {0}")]
    Status(u16),
}

/// Asks others; its connections are kept for the next question.
#[derive(Clone)]
pub struct Outbound {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    patience: Duration,
    len_max: usize,
}

impl Outbound {
    /// One that trusts these where it is asked to ask in secret, waits `patience` for a whole answer, and reads at most `len_max`
    /// bytes of one.
    pub fn new(trust: &Trust, patience: Duration, len_max: usize) -> Outbound {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.enforce_http(false);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(trust.client().clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(connector);
        Outbound { client: Client::builder(TokioExecutor::new()).build(connector), patience, len_max }
    }

    /// Asks once; a connection that the other end closed between two questions is no failure. Gives the answer whatever its status.
    ///
    /// Errors: all of [`OutboundFault`] but the status.
    pub async fn ask(&self, request: Request<Full<Bytes>>) -> Result<(StatusCode, Bytes), OutboundFault> {
        let asked = async {
            let response = self.client.request(request).await;
            let response = response.map_err(|error| OutboundFault::Unreachable(causes(&error)))?;
            let status = response.status();
            let body = Limited::new(response.into_body(), self.len_max).collect().await;
            let body = body.map_err(|error| OutboundFault::Body(error.to_string()))?;
            Ok((status, body.to_bytes()))
        };
        timeout(self.patience, asked).await.map_err(|_| OutboundFault::Silent)?
    }

    /// The same where only 200 will do.
    ///
    /// Errors: all of [`OutboundFault`].
    pub async fn get(&self, request: Request<Full<Bytes>>) -> Result<Bytes, OutboundFault> {
        match self.ask(request).await? {
            (StatusCode::OK, body) => Ok(body),
            (status, _) => Err(OutboundFault::Status(status.as_u16())),
        }
    }
}

/// An error and what caused it: the outermost of the library says no more than where it was.
fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
