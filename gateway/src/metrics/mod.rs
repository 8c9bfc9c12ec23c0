//! What is counted, and the page that Prometheus reads.
//!
//! Every figure has one thread that writes it, by a plain load and store ([`ringside_core::figures`]); the page is put
//! together when it is asked for, on the thread that asks. What the journal, the rings and the stages know of themselves is
//! told by [`Source`]s that `boot` adds, so that nothing here knows a journal. Nothing here is ever decided by a figure.

mod chain;
mod gateway;
mod page;
pub mod server;
mod venue;

use crate::api::Shared;
use crate::chain::figures::NodesFigures;
use crate::ingress::Phase;
pub use crate::{egress::EgressFigures, ingress::WorkerFigures};
pub use page::{Kind, Page, Seconds};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The type of the page (`text/plain` of Prometheus, version 0.0.4).
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes families of figures that somebody else owns.
pub type Source = Box<dyn Fn(&mut Page) + Send + Sync>;

/// Everything that is counted.
pub struct Metrics {
    /// By index of the worker.
    pub workers: Vec<Arc<WorkerFigures>>,
    /// Of the thread that reads price feeds.
    pub feed: Arc<WorkerFigures>,
    /// Of egress.
    pub egress: Arc<EgressFigures>,
    stages: OnceLock<Source>,
    nodes: OnceLock<Arc<NodesFigures>>,
    started: Instant,
}

impl Metrics {
    /// For so many workers.
    pub fn new(workers: usize) -> Metrics {
        Metrics {
            workers: (0..workers).map(|_| Arc::default()).collect(),
            feed: Arc::default(),
            egress: Arc::default(),
            stages: OnceLock::new(),
            nodes: OnceLock::new(),
            started: Instant::now(),
        }
    }

    /// Adds what is counted of the chain's nodes, once.
    pub fn add_nodes(&self, figures: Arc<NodesFigures>) {
        let _ = self.nodes.set(figures);
    }

    /// Adds what the running stages tell, once.
    pub fn add_stages(&self, source: Source) {
        let _ = self.stages.set(source);
    }
}

/// The page as of now.
pub fn page(shared: &Shared) -> Vec<u8> {
    let mut page = Page::default();
    let metrics = &shared.metrics;
    page.family("ringside_build_info", Kind::Gauge, "The running build; always 1");
    let engine = ringside_core::engine::ENGINE_VERSION.to_string();
    page.sample(&[("version", env!("CARGO_PKG_VERSION")), ("engine_version", &engine)], 1);
    page.gauge("ringside_up_seconds", "Since the process started", metrics.started.elapsed().as_secs());
    let phase = shared.phase.get();
    page.family("ringside_phase", Kind::Gauge, "What the engine does: 1 for the phase it is in");
    for (word, is) in
        [("restarting", Phase::Restarting), ("running", Phase::Running), ("halted", Phase::Halted)]
    {
        page.sample(&[("phase", word)], u64::from(phase == is));
    }
    gateway::write(&mut page, shared);
    if phase != Phase::Restarting {
        venue::write(&mut page, shared);
        chain::write(&mut page, shared);
    }
    if let Some(stages) = metrics.stages.get() {
        stages(&mut page);
    }
    page.into_bytes()
}

/// Whether commands are taken: what a load balancer asks before it sends anybody here.
pub fn is_ready(shared: &Shared) -> bool {
    shared.phase.get() == Phase::Running && !shared.edge.shutdown.is_cancelled()
}
