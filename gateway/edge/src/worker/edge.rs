//! What requests are judged by before a handler sees them.

use super::alone::Alone;
use super::approvals::Approvals;
use crate::http::limits::Limits;
use crate::http::order_rate::OrderRates;
use ringside_auth::Authenticator;
use ringside_config::Config;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use tokio_util::sync::CancellationToken;

/// What all workers share to judge requests before a handler sees them.
pub struct Edge {
    /// Who callers are.
    pub auth: Authenticator,
    /// What one operator at a time moved of the venue's own money.
    pub alone: Alone,
    /// What waits for a second operator.
    pub approvals: Approvals,
    /// Weight per address, bans.
    pub limits: Limits,
    /// Orders per account.
    pub order_rates: OrderRates,
    /// Connections open now.
    pub open: Arc<AtomicUsize>,
    /// Cancelled when the process is to stop: long-lived connections then end on their own.
    pub shutdown: CancellationToken,
}

impl Edge {
    /// The edge of a deployment.
    pub fn new(config: &Config, auth: Authenticator, shutdown: CancellationToken) -> Edge {
        Edge {
            auth,
            alone: Alone::default(),
            approvals: Approvals::default(),
            limits: Limits::new(config),
            order_rates: OrderRates::new(config),
            open: Arc::default(),
            shutdown,
        }
    }
}
