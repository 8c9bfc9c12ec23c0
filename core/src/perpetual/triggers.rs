//! What waits for a price or a time: heaps of order ids, or of other numbers, by the key at which each is due, cleaned as they
//! are read and as what is in them ends.

use super::market::Range;
use super::trailing::Trailings;
use crate::command::WorkingType;
use crate::ids::{AccountId, OrderId};
use crate::money::Price;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Ids by key, smallest key first. An id that ended stays until it is met, or until those that ended outnumber the rest: then
/// all are gone through, some with each that ends, so that no command has to look at every one.
pub(crate) struct Due {
    heap: BinaryHeap<Reverse<(i64, u64)>>,
    /// Those that are still to be gone through, if that goes on.
    unclean: BinaryHeap<Reverse<(i64, u64)>>,
    live: usize,
}

/// Room that each list is given at start, so that a venue of usual size takes no memory later.
const ROOM: usize = 256;
/// Ids gone through with each that ends: all of them before as many ended again.
const CLEANED: usize = 4;

impl Default for Due {
    fn default() -> Due {
        let heap = || BinaryHeap::with_capacity(ROOM);
        Due { heap: heap(), unclean: heap(), live: 0 }
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
        if self.unclean.is_empty() && self.heap.len() > 2 * self.live + 64 {
            std::mem::swap(&mut self.heap, &mut self.unclean);
        }
        for _ in 0..CLEANED {
            let Some(Reverse((key, id))) = self.unclean.pop() else { return };
            if is_live(key, id) {
                self.heap.push(Reverse((key, id)));
            }
        }
    }

    /// One that was taken was still waiting.
    pub(crate) fn fired(&mut self) {
        self.live = self.live.saturating_sub(1);
    }

    /// The smallest key, be its id live or not.
    pub(crate) fn first(&self) -> Option<i64> {
        [&self.heap, &self.unclean].iter().filter_map(|heap| heap.peek()).map(|Reverse(first)| first.0).min()
    }

    /// Whether there is none, live or not, whose key is not above `key`.
    fn is_after(&self, key: i64) -> bool {
        [&self.heap, &self.unclean].iter().all(|heap| heap.peek().is_none_or(|&Reverse(first)| first.0 > key))
    }

    /// Whether there is none, not even one that ended.
    fn is_empty(&self) -> bool {
        self.heap.is_empty() && self.unclean.is_empty()
    }

    /// Takes the next id whose key is not above `key`.
    pub(crate) fn take(&mut self, key: i64) -> Option<(i64, u64)> {
        let first = self.heap.peek().map(|&Reverse(first)| first);
        let unclean = self.unclean.peek().map(|&Reverse(first)| first);
        let next = first.into_iter().chain(unclean).min().filter(|next| next.0 <= key)?;
        if Some(next) == first {
            self.heap.pop();
        } else {
            self.unclean.pop();
        }
        Some(next)
    }
}

/// An attached order that began to watch within the command: prices from before are none of its.
#[derive(Clone, Copy)]
pub(crate) struct Fresh {
    pub(crate) order: OrderId,
    pub(crate) market: usize,
    /// Prices by working type since.
    pub(crate) seen: [Range; 2],
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
        self.stops.iter().flatten().all(Due::is_empty)
            && self.trailing.iter().all(|trailing| trailing.is_empty())
            && self.held_back.iter().all(|held_back| held_back.is_empty())
    }

    /// Whether trades between two prices have nothing to tell anybody.
    #[inline]
    pub(crate) fn stay_quiet(&self, low: Price, high: Price) -> bool {
        let working = WorkingType::ContractPrice as usize;
        let [rising, falling] = &self.stops[working];
        rising.is_after(high)
            && falling.is_after(-low)
            && self.trailing[working].is_empty()
            && self.held_back[working].is_empty()
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
    /// Countdowns by deadline, ms: numbers of [`countdown`].
    pub(crate) countdowns: Due,
}

/// The number of the countdown of an account in a market, by index, or in all: `u32::MAX`.
pub(crate) fn countdown(account: AccountId, market: u32) -> u64 {
    u64::from(account) << 32 | u64::from(market)
}

/// Account and market of a [`countdown`].
pub(crate) fn counted(number: u64) -> (AccountId, u32) {
    ((number >> 32) as AccountId, number as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn gives_who_is_due_in_order_however_many_ended() {
        let (mut due, mut model) = (Due::default(), BTreeSet::new());
        let mut random = 7u64;
        let mut next = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        let mut most = 0;
        for id in 1..200_000u64 {
            let key = next(1 << 20) as i64;
            due.add(key, id);
            model.insert((key, id));
            // Some stay, most end soon; now and then some are due.
            while model.len() > 1_000 {
                let from = (next(1 << 20) as i64, 0);
                let Some(&ended) = model.range(from..).next() else { continue };
                model.remove(&ended);
                due.ended(|key, id| model.contains(&(key, id)));
            }
            if next(5_000) == 0 {
                let key = next(1 << 18) as i64;
                while let Some(taken) = due.take(key) {
                    if model.remove(&taken) {
                        assert!(model.first().is_none_or(|first| *first > taken), "{taken:?} before another");
                        due.fired();
                    }
                }
                assert!(model.first().is_none_or(|first| first.0 > key), "someone due was left");
            }
            most = most.max(due.heap.len() + due.unclean.len());
            assert_eq!(due.live, model.len());
        }
        assert!(most < 5_000, "{most} are kept of 1,000");
        while let Some(taken) = due.take(i64::MAX) {
            model.remove(&taken);
        }
        assert!(model.is_empty() && due.is_empty());
    }
}
