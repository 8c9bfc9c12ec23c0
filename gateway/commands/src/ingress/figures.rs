//! Figures of a thread that sends commands: each set belongs to one thread.

use super::engine_state::Unavailable;
use ringside_core::figures::{Counter, Histogram};
use ringside_wire::refusal::Dialect;
use std::time::Duration;

/// What one thread that sends commands counts.
#[derive(Debug, Default)]
pub struct WorkerFigures {
    /// Answers by dialect and by the hundred of their status.
    pub answers: [[Counter; 6]; Dialect::ALL.len()],
    /// Answers that a limit gave: 429, and 418 of those that went on.
    pub limited: [Counter; 2],
    /// From a request's head to its answer: placements, cancels and changes of orders.
    pub orders: Histogram,
    /// The same of all other requests.
    pub others: Histogram,
    /// From handing a command over to its stamp: the time in the input ring.
    pub ring: Histogram,
    /// From handing a command over to its reply.
    pub engine: Histogram,
    /// Commands not handed over, by [`Unavailable`].
    pub unavailable: [Counter; Unavailable::ALL.len()],
    /// Times its loop went round, whether or not anything came: it is alive.
    pub heartbeats: Counter,
}

impl WorkerFigures {
    /// Counts an answer.
    pub fn answered(&self, dialect: Dialect, status: u16, is_order: bool, took: Duration) {
        self.answers[dialect as usize][usize::from(status / 100).min(5)].add(1);
        match status {
            429 => self.limited[0].add(1),
            418 => self.limited[1].add(1),
            _ => {}
        }
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        if is_order { self.orders.record(ns) } else { self.others.record(ns) }
    }
}
