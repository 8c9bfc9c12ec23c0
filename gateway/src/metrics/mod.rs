//! What is counted, and how it is written for Prometheus. What stands on the page is put together in [`crate::operations`].
//!
//! Every figure has one thread that writes it, by a plain load and store ([`ringside_core::figures`]). What the journal, the
//! rings and the stages know of themselves is told by [`Source`]s that `boot` adds, so that nothing here knows a journal.
//! Nothing here is ever decided by a figure.

mod page;

use crate::egress::EgressFigures;
pub use page::{Kind, Page, Seconds};
use ringside_chain::figures::NodesFigures;
use ringside_commands::ingress::WorkerFigures;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

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
    /// What the running stages tell.
    pub stages: OnceLock<Source>,
    /// Of the chain's nodes.
    pub nodes: OnceLock<Arc<NodesFigures>>,
    /// When the process started.
    pub started: Instant,
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
