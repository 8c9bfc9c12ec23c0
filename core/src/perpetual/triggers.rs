//! What waits for a price or a time: heaps of order ids by the key at which each is due, cleaned as they are read.

use super::trailing::Trailings;
use crate::ids::{AccountId, OrderId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ids by key, smallest key first. An id that ended stays until it is met, or until those that ended outnumber the rest.
pub(crate) struct Due {
    heap: BinaryHeap<Reverse<(i64, u64)>>,
    live: usize,
}

/// Room that each list is given at start, so that a venue of usual size takes no memory later.
const ROOM: usize = 256;

impl Default for Due {
    fn default() -> Due {
        Due { heap: BinaryHeap::with_capacity(ROOM), live: 0 }
    }
}

impl Due {
    pub(crate) fn add(&mut self, key: i64, id: u64) {
        self.heap.push(Reverse((key, id)));
        self.live += 1;
    }

    /// One of them ended. `is_live` tells which still wait.
    pub(crate) fn ended(&mut self, is_live: impl Fn(i64, u64) -> bool) {
        self.live = self.live.saturating_sub(1);
        if self.heap.len() > 2 * self.live + 64 {
            self.heap.retain(|&Reverse((key, id))| is_live(key, id));
        }
    }

    /// One that was taken was still waiting.
    pub(crate) fn fired(&mut self) {
        self.live = self.live.saturating_sub(1);
    }

    /// Takes the next id whose key is not above `key`.
    pub(crate) fn take(&mut self, key: i64) -> Option<(i64, u64)> {
        let &Reverse(first) = self.heap.peek()?;
        if first.0 > key {
            return None;
        }
        self.heap.pop();
        Some(first)
    }
}

/// Untriggered orders of one market.
pub(crate) struct Triggers {
    /// By working type, then: those that fire at or above the stop, those that fire at or below it (keys negated).
    pub(crate) stops: [[Due; 2]; 2],
    /// Trailing orders, by working type.
    pub(crate) trailing: [Trailings; 2],
    /// Those that price protection held back when they were last judged, by working type.
    pub(crate) held_back: [Vec<OrderId>; 2],
}

impl Triggers {
    /// Whether no price has anything to tell anybody.
    #[inline]
    pub(crate) fn are_empty(&self) -> bool {
        self.stops.iter().flatten().all(|due| due.heap.is_empty())
            && self.trailing.iter().all(|trailing| trailing.is_empty())
            && self.held_back.iter().all(|held_back| held_back.is_empty())
    }
}

impl Default for Triggers {
    fn default() -> Triggers {
        let lists = || [(); 2].map(|()| Vec::with_capacity(ROOM));
        Triggers { stops: Default::default(), trailing: Default::default(), held_back: lists() }
    }
}

/// What is due at a time.
#[derive(Default)]
pub(crate) struct Dates {
    /// Orders by good-till date, ms.
    pub(crate) orders: Due,
    /// Countdowns: (deadline ms, account, market index or `u32::MAX` for all).
    pub(crate) countdowns: BinaryHeap<Reverse<(i64, AccountId, u32)>>,
}
