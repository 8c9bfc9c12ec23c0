//! Questions to a node over HTTP. What the bytes mean is the business of `provider.rs`.

use super::Local;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use ringside_outbound::tls::Trust;
use ringside_outbound::url::{NodeUrl, Url};
use ringside_outbound::{Outbound, OutboundFault};
use std::time::Duration;

/// Longest answer, in bytes. A block's releases are some hundred bytes each.
pub const ANSWER_LEN_MAX: usize = 4 << 20;

/// A way to ask a node.
pub trait Transport {
    /// Asks once.
    fn ask(&self, question: Bytes) -> Local<'_, Result<Bytes, OutboundFault>>;
    /// What it is called in the log; no secrets in it.
    fn name(&self) -> &str;
}

/// A node at an address.
pub struct HttpTransport {
    url: Url,
    is_encrypted: bool,
    /// `Err` says why it cannot be asked in secret.
    outbound: Result<Outbound, String>,
}

impl HttpTransport {
    /// A node that gets `patience` for each answer.
    pub fn new(node: NodeUrl, patience: Duration) -> HttpTransport {
        let trust = if node.is_encrypted { Trust::of_host() } else { Trust::nobody() };
        HttpTransport::with(node, trust, patience)
    }

    /// One that is asked where those say that it is who it is.
    pub fn with(node: NodeUrl, trust: Result<Trust, String>, patience: Duration) -> HttpTransport {
        let outbound = trust.map(|trust| Outbound::new(&trust, patience, ANSWER_LEN_MAX));
        HttpTransport { url: node.url, is_encrypted: node.is_encrypted, outbound }
    }

    async fn exchange(&self, question: Bytes) -> Result<Bytes, OutboundFault> {
        let unreachable = |error: &dyn std::fmt::Display| OutboundFault::Unreachable(error.to_string());
        let outbound = self.outbound.as_ref().map_err(|reason| unreachable(reason))?;
        let request = Request::post(self.url.text(if self.is_encrypted { "https" } else { "http" }))
            .header("content-type", "application/json")
            .body(Full::new(question))
            .map_err(|error| unreachable(&error))?;
        outbound.get(request).await
    }
}

impl Transport for HttpTransport {
    fn ask(&self, question: Bytes) -> Local<'_, Result<Bytes, OutboundFault>> {
        Box::pin(self.exchange(question))
    }

    fn name(&self) -> &str {
        &self.url.authority
    }
}
