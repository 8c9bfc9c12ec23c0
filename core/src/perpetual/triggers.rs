//! What waits for a price or a time, and what is due and waits to be run. By time there are heaps of order ids, or of other numbers,
//! by the key at which each is due, cleaned as they are read and as what is in them ends; by price the trees of `stops.rs`.

use super::market::Range;
use super::order::Details;
use super::stops::{Slab, Tree};
use super::trailing::Trailings;
use crate::command::{PerpetualOrderType as Type, order_flag};
use crate::hash_seed::HashSeed;
use crate::ids::{AccountId, OrderId};
use crate::risk::perpetual::trigger::{Condition, waits_for_rise};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

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

    /// One that was taken waits on.
    pub(crate) fn put_back(&mut self, key: i64, id: u64) {
        self.heap.push(Reverse((key, id)));
    }

    /// One that was taken was still waiting.
    pub(crate) fn fired(&mut self) {
        self.live = self.live.saturating_sub(1);
    }

    /// The smallest key, be its id live or not.
    pub(crate) fn first(&self) -> Option<i64> {
        [&self.heap, &self.unclean].iter().filter_map(|heap| heap.peek()).map(|Reverse(first)| first.0).min()
    }

    /// Whether there is none, not even one that ended.
    #[cfg(test)]
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

/// Orders of one market that wait for a rise of one price, or for its fall, by key.
pub(crate) struct Stops {
    /// Those that fire when their price comes.
    plain: Tree,
    /// Those that price protection may hold back,
    protected: Tree,
    /// and does, which was told.
    held: Tree,
    /// No key of the first two is below it.
    first: i64,
}

impl Default for Stops {
    fn default() -> Stops {
        Stops { plain: Tree::default(), protected: Tree::default(), held: Tree::default(), first: i64::MAX }
    }
}

impl Stops {
    /// The tree of an order.
    fn tree(&mut self, details: &Details) -> &mut Tree {
        match (details.is(order_flag::PRICE_PROTECT), details.is_deferred) {
            (false, _) => &mut self.plain,
            (true, false) => &mut self.protected,
            (true, true) => &mut self.held,
        }
    }

    pub(crate) fn add(&mut self, slab: &mut Slab, key: i64, details: &Details) {
        slab.add(self.tree(details), key, details.id);
        self.first = self.first.min(key);
    }

    /// Takes an order out; whether it was in.
    pub(crate) fn remove(&mut self, slab: &mut Slab, key: i64, details: &Details) -> bool {
        let is_found = slab.remove(self.tree(details), key, details.id);
        if is_found && key == self.first {
            self.find_first(slab);
        }
        is_found
    }

    fn find_first(&mut self, slab: &Slab) {
        let firsts = [self.plain, self.protected].into_iter().filter_map(|tree| slab.first(tree));
        self.first = firsts.min().unwrap_or(i64::MAX);
    }

    /// Takes out all that fire where prices reach `key`.
    pub(crate) fn take(&mut self, slab: &mut Slab, key: i64) -> [Tree; 3] {
        let held = slab.split_off(&mut self.held, key);
        if self.first > key {
            return [held, Tree::default(), Tree::default()];
        }
        let taken = [held, slab.split_off(&mut self.plain, key), slab.split_off(&mut self.protected, key)];
        self.find_first(slab);
        taken
    }

    /// The same where protection holds back whom it may, who come to be among those held: they are added to `newly`.
    pub(crate) fn take_unheld(&mut self, slab: &mut Slab, key: i64, newly: &mut Vec<OrderId>) -> Tree {
        if self.first > key {
            return Tree::default();
        }
        let plain = slab.split_off(&mut self.plain, key);
        while slab.first(self.protected).is_some_and(|first| first <= key)
            && let Some((key, id)) = slab.take_first(&mut self.protected)
        {
            slab.add(&mut self.held, key, id);
            newly.push(id);
        }
        self.find_first(slab);
        plain
    }

    /// Those held back whose price `key` does not reach are so no longer: they are added to `freed`.
    pub(crate) fn free(&mut self, slab: &mut Slab, key: i64, freed: &mut Vec<OrderId>) {
        if slab.count(self.held) == 0 {
            return;
        }
        let kept = slab.split_off(&mut self.held, key);
        while let Some((key, id)) = slab.take_first(&mut self.held) {
            slab.add(&mut self.protected, key, id);
            self.first = self.first.min(key);
            freed.push(id);
        }
        self.held = kept;
    }

    fn is_empty(&self) -> bool {
        self.first == i64::MAX && self.held == Tree::default()
    }
}

/// Trees of what one price, or two, brought in one market: rising and falling stops, of each those held back, plain and protected.
const TREES: usize = 12;

/// Orders that are due since one moment, the least id first.
pub(crate) struct Batch {
    /// Batches of all markets in the order in which they came to be due.
    pub(crate) number: u64,
    trees: [Tree; TREES],
    used: usize,
    /// Trailing orders, the least id last.
    turned: Vec<OrderId>,
}

impl Batch {
    fn new(number: u64, turned: Vec<OrderId>) -> Batch {
        Batch { number, trees: [Tree::default(); TREES], used: 0, turned }
    }

    pub(crate) fn put(&mut self, tree: Tree) {
        if tree != Tree::default() {
            self.trees[self.used] = tree;
            self.used += 1;
        }
    }

    /// Adds an order with a stop price, all of them to one tree.
    pub(crate) fn join(&mut self, slab: &mut Slab, key: i64, id: OrderId) {
        self.used = 1;
        slab.add(&mut self.trees[0], key, id);
    }

    /// Adds a trailing order; [`Triggers::queue`] sorts them.
    pub(crate) fn turn(&mut self, id: OrderId) {
        self.turned.push(id);
    }

    fn trees(&self) -> &[Tree] {
        &self.trees[..self.used]
    }

    pub(crate) fn count(&self, slab: &Slab) -> u32 {
        self.trees().iter().map(|&tree| slab.count(tree)).sum::<u32>() + self.turned.len() as u32
    }

    fn least(&self, slab: &Slab) -> Option<OrderId> {
        self.trees().iter().filter_map(|&tree| slab.least(tree)).chain(self.turned.last().copied()).min()
    }

    fn take_least(&mut self, slab: &mut Slab, id: OrderId) {
        if self.turned.last() == Some(&id) {
            self.turned.pop();
        }
        for tree in &mut self.trees[..self.used] {
            if slab.least(*tree) == Some(id) {
                slab.take_least(tree);
            }
        }
    }

    fn ids(&self, slab: &Slab) -> Vec<OrderId> {
        let mut ids = self.turned.clone();
        self.trees().iter().for_each(|&tree| slab.ids(tree, &mut ids));
        ids.sort_unstable();
        ids
    }
}

/// Untriggered orders of one market.
pub(crate) struct Triggers {
    pub(crate) slab: Slab,
    /// By working type, then: those that fire at or above the stop, those that fire at or below it (keys negated).
    pub(crate) stops: [[Stops; 2]; 2],
    /// Trailing orders, by working type, then: those that nothing holds back, and those that price protection may.
    pub(crate) trailing: [[Trailings; 2]; 2],
    /// Trailing orders that price protection held back when they were last judged, by working type.
    pub(crate) held_back: [Vec<OrderId>; 2],
    /// What is due and was not run yet, in the order in which it came to be due; some of it ended.
    due: VecDeque<Batch>,
    /// How many of those are open.
    pub(crate) due_count: u32,
    /// Lists of batches that are used up.
    spare: Vec<Vec<OrderId>>,
}

impl Triggers {
    pub(crate) fn new(seed: HashSeed) -> Triggers {
        let lists = || [(); 2].map(|()| Vec::with_capacity(ROOM));
        Triggers {
            slab: Slab::new(seed),
            stops: Default::default(),
            trailing: [(); 2].map(|()| [true, false].map(Trailings::new)),
            held_back: lists(),
            due: VecDeque::with_capacity(ROOM),
            due_count: 0,
            spare: (0..16).map(|_| Vec::with_capacity(ROOM / 4)).collect(),
        }
    }

    /// Whether no price has anything to tell anybody.
    #[inline]
    pub(crate) fn are_empty(&self) -> bool {
        self.stops.iter().flatten().all(Stops::is_empty)
            && self.trailing.iter().flatten().all(Trailings::is_empty)
            && self.held_back.iter().all(|held_back| held_back.is_empty())
    }

    /// A batch to fill, which is to have a number.
    pub(crate) fn batch(&mut self, number: u64) -> Batch {
        Batch::new(number, self.spare.pop().unwrap_or_else(|| Vec::with_capacity(ROOM / 4)))
    }

    /// Has what came to be due wait to be run.
    pub(crate) fn queue(&mut self, mut batch: Batch) {
        batch.turned.sort_unstable_by_key(|&id| Reverse(id));
        let count = batch.count(&self.slab);
        self.due_count += count;
        if count > 0 { self.due.push_back(batch) } else { self.spare.push(batch.turned) }
    }

    /// Number of the batch, and id, of what is to be run next; what is not open any more is dropped on the way.
    pub(crate) fn next(&mut self, is_open: impl Fn(OrderId) -> bool) -> Option<(u64, OrderId)> {
        while let Some(batch) = self.due.front_mut() {
            match batch.least(&self.slab) {
                Some(id) if is_open(id) => return Some((batch.number, id)),
                Some(id) => batch.take_least(&mut self.slab, id),
                None => self.spare.extend(self.due.pop_front().map(|batch| batch.turned)),
            }
        }
        None
    }

    /// Takes what [`Triggers::next`] found.
    pub(crate) fn take_next(&mut self, id: OrderId) {
        if let Some(batch) = self.due.front_mut() {
            batch.take_least(&mut self.slab, id);
            self.due_count -= 1;
        }
    }

    /// Numbers and open ids of what is due.
    pub(crate) fn batches(
        &self,
        is_open: impl Fn(OrderId) -> bool,
    ) -> impl Iterator<Item = (u64, Vec<OrderId>)> {
        self.due.iter().filter_map(move |batch| {
            let mut ids = batch.ids(&self.slab);
            ids.retain(|&id| is_open(id));
            (!ids.is_empty()).then_some((batch.number, ids))
        })
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

/// What a conditional type waits for; `None` for the others.
pub(crate) fn condition(order_type: Type) -> Option<Condition> {
    match order_type {
        Type::Stop | Type::StopMarket => Some(Condition::Stop),
        Type::TakeProfit | Type::TakeProfitMarket => Some(Condition::TakeProfit),
        Type::Limit | Type::Market | Type::TrailingStopMarket | Type::Liquidation => None,
    }
}

/// Of an order that waits for a stop price: 0 where it waits for a rise, 1 for a fall, and the key by which it does.
pub(crate) fn stop_of(details: &Details) -> Option<(usize, i64)> {
    let rises = waits_for_rise(condition(details.original_type)?, details.side);
    Some(if rises { (0, details.stop_price) } else { (1, -details.stop_price) })
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
