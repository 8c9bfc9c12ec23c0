//! How long commands and requests took, by stage, since the start or since an operator had the counts begin anew. One set of numbers:
//! the page of figures, `/latency.hgrm`, `/latency.json` and what the page at `/` shows are made of it.

use super::Metrics;
use parking_lot::Mutex;
use ringside_core::figures::{Counts, Histogram};
use std::sync::Arc;
use std::time::Instant;

/// Where time is spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// From a request's head to its answer: placements, cancels and changes of orders.
    Order,
    /// The same of all other requests.
    Other,
    /// In the input ring.
    Ring,
    /// From the stamp of a followed command until its events are at egress.
    Matcher,
    /// From there until the journal has passed it.
    Journal,
    /// From there until it is in the views and its reply on the way.
    Egress,
    /// From handing a command over to its reply: the four before.
    Engine,
    /// Syncs of the journal.
    Sync,
}

impl Stage {
    /// All of them, in the order of the type.
    pub const ALL: [Stage; 8] = [
        Stage::Order,
        Stage::Other,
        Stage::Ring,
        Stage::Matcher,
        Stage::Journal,
        Stage::Egress,
        Stage::Engine,
        Stage::Sync,
    ];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Stage::Order => "order",
            Stage::Other => "other",
            Stage::Ring => "ring",
            Stage::Matcher => "matcher",
            Stage::Journal => "journal",
            Stage::Egress => "egress",
            Stage::Engine => "engine",
            Stage::Sync => "sync",
        }
    }

    /// The stage of a name.
    pub fn of_name(name: &str) -> Option<Stage> {
        Stage::ALL.into_iter().find(|stage| stage.name() == name)
    }
}

/// Where the counts that people ask for begin. Prometheus is given all of them: its counters never go back.
#[derive(Debug)]
pub(super) struct Begin {
    at: Instant,
    /// By stage; empty at the start.
    counts: [Counts; Stage::ALL.len()],
}

impl Begin {
    pub(super) fn new(at: Instant) -> Mutex<Begin> {
        Mutex::new(Begin { at, counts: Default::default() })
    }
}

impl Metrics {
    /// All that a stage has counted since the process started.
    pub fn counts(&self, stage: Stage) -> Counts {
        let workers = || self.workers.iter().map(Arc::as_ref);
        let senders = || workers().chain([self.feed.as_ref()]);
        let egress: &Histogram = match stage {
            Stage::Order => return Counts::of(workers().map(|figures| &figures.orders)),
            Stage::Other => return Counts::of(workers().map(|figures| &figures.others)),
            Stage::Ring => return Counts::of(senders().map(|figures| &figures.ring)),
            Stage::Engine => return Counts::of(senders().map(|figures| &figures.engine)),
            Stage::Sync => return Counts::of(self.syncs.lock().as_deref()),
            Stage::Matcher => &self.egress.matching,
            Stage::Journal => &self.egress.journal,
            Stage::Egress => &self.egress.showing,
        };
        Counts::of([egress])
    }

    /// What a stage has counted since [`Metrics::latencies_begin`].
    pub fn latencies(&self, stage: Stage) -> Counts {
        self.counts(stage).since(&self.begin.lock().counts[stage as usize])
    }

    /// When those counts began.
    pub fn latencies_since(&self) -> Instant {
        self.begin.lock().at
    }

    /// Has them begin anew now.
    pub fn latencies_begin(&self) {
        let counts = Stage::ALL.map(|stage| self.counts(stage));
        *self.begin.lock() = Begin { at: Instant::now(), counts };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_stages() {
        for (at, stage) in Stage::ALL.into_iter().enumerate() {
            assert_eq!((Stage::of_name(stage.name()), stage as usize), (Some(stage), at));
        }
        assert_eq!(Stage::of_name("orders"), None);
    }

    #[test]
    fn counts_begin_anew_and_those_of_prometheus_go_on() {
        let metrics = Metrics::new(2);
        for (worker, ns) in [(0, 1_000), (1, 2_000)] {
            metrics.workers[worker].orders.record(ns);
        }
        metrics.latencies_begin();
        metrics.workers[0].orders.record(5_000_000);
        assert_eq!(metrics.counts(Stage::Order).count(), 3);
        assert_eq!(metrics.latencies(Stage::Order).count(), 1);
        assert_eq!(metrics.latencies(Stage::Engine).count(), 0);
        let max = ringside_hgrm::of_cells(metrics.latencies(Stage::Order).cells()).max();
        assert!((5_000_000..5_040_000).contains(&max), "{max}");
    }
}
