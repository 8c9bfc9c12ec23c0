//! Figures of the chain's nodes, for people: which answer, how far they are and whether they agree. Written on the thread of the
//! chain; nothing is decided by them.

use ringside_core::figures::Counter;
use std::time::{Duration, Instant};

/// One node.
#[derive(Debug)]
pub struct NodeFigures {
    /// What it is called; no secrets in it.
    pub name: String,
    /// 1: it answered when it was last asked how far the chain is.
    pub up: Counter,
    /// The newest block that it told of.
    pub head: Counter,
    /// Questions how far the chain is that it did not answer, or not as a node of this chain.
    pub failures: Counter,
    /// 1: it is on another chain, and has no voice.
    pub is_stranger: Counter,
    /// Answers of its own that others, who are enough, contradict.
    pub dissents: Counter,
}

/// All nodes of a chain.
#[derive(Debug)]
pub struct NodesFigures {
    /// In the order of the configuration.
    pub nodes: Vec<NodeFigures>,
    /// How many must say the same.
    pub needed: usize,
    /// The newest block that so many have reached.
    pub head: Counter,
    /// How many said the same when the last block was asked for.
    pub agreeing: Counter,
    /// Turns that worked, and those that came to nothing.
    pub turns: [Counter; 2],
    /// Nanoseconds from `began` to when the head was first told.
    grown_ns: Counter,
    began: Instant,
}

impl NodesFigures {
    /// For nodes of these names.
    pub fn new(names: impl Iterator<Item = String>, needed: usize) -> NodesFigures {
        let node = |name| NodeFigures {
            name,
            up: Counter::new(),
            head: Counter::new(),
            failures: Counter::new(),
            is_stranger: Counter::new(),
            dissents: Counter::new(),
        };
        let mut nodes: Vec<NodeFigures> = Vec::new();
        for (number, name) in names.enumerate() {
            // Two at one address are told apart.
            let is_known = nodes.iter().any(|known| known.name == name);
            nodes.push(node(if is_known { format!("{name} ({})", number + 1) } else { name }));
        }
        NodesFigures {
            nodes,
            needed,
            head: Counter::new(),
            agreeing: Counter::new(),
            turns: [Counter::new(), Counter::new()],
            grown_ns: Counter::new(),
            began: Instant::now(),
        }
    }

    /// The chain is so far.
    pub(super) fn reached(&self, head: u64) {
        if head > self.head.get() {
            self.head.set(head);
            self.grown_ns.set(u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        }
    }

    /// Since the head last grew, as far as this process knows.
    pub fn head_age(&self) -> Duration {
        self.began.elapsed().saturating_sub(Duration::from_nanos(self.grown_ns.get()))
    }
}
