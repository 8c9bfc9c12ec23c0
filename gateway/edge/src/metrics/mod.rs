//! What is counted, and how it is written for Prometheus. What stands on the page is put together in `gateway/src/operations`.
//!
//! Every figure has one thread that writes it, by a plain load and store ([`ringside_core::figures`]). What the journal, the
//! rings and the stages know of themselves is told by [`Source`]s that `boot` adds, so that nothing here knows a journal.
//! Nothing here is ever decided by a figure.

pub mod latency;
mod page;

use latency::Begin;
pub use page::{Kind, Page, Seconds};
use parking_lot::Mutex;
use ringside_chain::figures::NodesFigures;
use ringside_commands::ingress::WorkerFigures;
use ringside_core::figures::Histogram;
use ringside_egress::EgressFigures;
use std::sync::Arc;
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
    pub stages: Mutex<Option<Source>>,
    /// How long syncs of the journal took.
    pub syncs: Mutex<Option<Arc<Histogram>>>,
    /// Of the chain's nodes.
    pub nodes: Mutex<Option<Arc<NodesFigures>>>,
    /// When the process started.
    pub started: Instant,
    /// Where latencies are counted from.
    begin: Mutex<Begin>,
}

impl Metrics {
    /// For so many workers.
    pub fn new(workers: usize) -> Metrics {
        let started = Instant::now();
        Metrics {
            workers: (0..workers).map(|_| Arc::default()).collect(),
            feed: Arc::default(),
            egress: Arc::default(),
            stages: Mutex::new(None),
            syncs: Mutex::new(None),
            nodes: Mutex::new(None),
            started,
            begin: Begin::new(started),
        }
    }

    /// Has what is counted of the chain's nodes.
    pub fn set_nodes(&self, figures: Arc<NodesFigures>) {
        *self.nodes.lock() = Some(figures);
    }

    /// Has what the running stages tell, in the place of those before, and how long syncs of the journal take.
    pub fn set_stages(&self, source: Source, syncs: Arc<Histogram>) {
        *self.syncs.lock() = Some(syncs);
        *self.stages.lock() = Some(source);
    }
}
