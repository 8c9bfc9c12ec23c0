//! Trailing orders of one market and working type: every watched price is shown to all of them without looking at each.
//!
//! Prices are counted as *heights*, those of buys negated, so that the extreme of either side is the highest. Orders of one
//! side and callback rate stand in groups of one extreme, the highest first. A height above a group's extreme becomes its
//! extreme, so groups merge from the low end; and of two groups the one with the higher extreme turns first, so those that
//! turned are found from the high end. A group is a chain through the cells of one slab, so that two join in one step.
//!
//! What one order does with one price is `risk/perpetual/trigger.rs`; the tests here compare with it.

use crate::command::Side;
use crate::ids::OrderId;
use crate::money::{Price, RATE_ONE, Rate};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// No cell.
const NONE: u32 = u32::MAX;
/// Room that each list is given at start.
const ROOM: usize = 64;

/// An order in a chain.
#[derive(Clone, Copy)]
struct Cell {
    id: OrderId,
    next: u32,
}

/// Cells of all chains of both sides, and the chain of the free ones.
struct Slab {
    cells: Vec<Cell>,
    free: u32,
}

/// Orders with one extreme: the ends of their chain.
#[derive(Clone, Copy)]
struct Group {
    extreme: i64,
    head: u32,
    tail: u32,
}

/// Orders of one side with one callback rate.
struct Bucket {
    callback: Rate,
    /// Highest extreme first, no two the same.
    groups: VecDeque<Group>,
}

/// Orders of one side.
struct OfSide {
    /// Those that are not active yet, by the height that makes them so, with their callback rates.
    sleeping: BinaryHeap<Reverse<(i64, OrderId, Rate)>>,
    buckets: Vec<Bucket>,
}

/// See the module.
pub(crate) struct Trailings {
    slab: Slab,
    sides: [OfSide; 2],
    /// Orders that turned far enough and were not judged since.
    pub(crate) turned: Vec<OrderId>,
    /// Who turns far enough fires: no further price is shown to it.
    are_sure: bool,
    /// Orders that wait, and those that are still in here.
    live: usize,
    entered: usize,
}

impl Trailings {
    /// `are_sure`: nothing holds back who turned far enough.
    pub(crate) fn new(are_sure: bool) -> Trailings {
        let side = || OfSide { sleeping: BinaryHeap::with_capacity(ROOM), buckets: Vec::with_capacity(ROOM) };
        Trailings {
            slab: Slab { cells: Vec::with_capacity(ROOM), free: NONE },
            sides: [side(), side()],
            turned: Vec::with_capacity(ROOM),
            are_sure,
            live: 0,
            entered: 0,
        }
    }
}

fn height(side: Side, price: Price) -> i64 {
    match side {
        Side::Buy => price.saturating_neg(),
        Side::Sell => price,
    }
}

impl Trailings {
    /// Enters an order: its activation price, and its extreme where it is active, 0 where it is not.
    pub(crate) fn add(&mut self, side: Side, callback: Rate, activation: Price, extreme: Price, id: OrderId) {
        self.live += 1;
        self.entered += 1;
        let of_side = &mut self.sides[side as usize & 1];
        if extreme == 0 {
            of_side.sleeping.push(Reverse((height(side, activation), id, callback)));
        } else {
            of_side.bucket(callback).join(&mut self.slab, height(side, extreme), id);
        }
    }

    /// Enters an order that turned far enough before, and is sure to fire.
    pub(crate) fn add_turned(&mut self, id: OrderId) {
        self.live += 1;
        self.turned.push(id);
    }

    /// Whether [`Trailings::add_turned`] is for those that turned.
    pub(crate) fn are_sure(&self) -> bool {
        self.are_sure
    }

    /// An order ended, or fired. `is_live` tells which still wait.
    pub(crate) fn ended(&mut self, is_live: impl Fn(OrderId) -> bool) {
        self.live = self.live.saturating_sub(1);
        if self.entered <= 2 * self.live + 64 {
            return;
        }
        self.entered = 0;
        let Trailings { slab, sides, entered, .. } = self;
        for of_side in sides {
            of_side.sleeping.retain(|&Reverse((_, id, _))| is_live(id));
            *entered += of_side.sleeping.len();
            for bucket in &mut of_side.buckets {
                bucket.groups.retain_mut(|group| {
                    *entered += slab.clean(group, &is_live);
                    group.head != NONE
                });
            }
        }
    }

    /// Whether no price concerns anybody.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.entered == 0 && self.turned.is_empty()
    }

    /// Takes one watched price, in sequence. Shows the orders that stand far enough from their extremes, and some that ended; where
    /// they are not sure to fire, those that did before and still wait, too.
    pub(crate) fn follow(&mut self, price: Price, mut shows: impl FnMut(OrderId)) {
        for side in [Side::Buy, Side::Sell] {
            let now = height(side, price);
            let of_side = &mut self.sides[side as usize & 1];
            for bucket in &mut of_side.buckets {
                bucket.raise(&mut self.slab, now);
                let factor = i128::from(match side {
                    Side::Buy => RATE_ONE + bucket.callback,
                    Side::Sell => RATE_ONE - bucket.callback,
                });
                let has_turned = |group: &Group| {
                    i128::from(now) * i128::from(RATE_ONE) <= i128::from(group.extreme) * factor
                };
                if self.are_sure {
                    while let Some(group) = bucket.groups.pop_front_if(|group| has_turned(group)) {
                        self.slab.ids(group).for_each(&mut shows);
                        self.entered -= self.slab.free(group);
                    }
                } else {
                    let turned = bucket.groups.iter().take_while(|group| has_turned(group));
                    turned.for_each(|group| self.slab.ids(*group).for_each(&mut shows));
                }
            }
            while let Some(&Reverse((least, id, callback))) = of_side.sleeping.peek() {
                if now < least {
                    break;
                }
                of_side.sleeping.pop();
                of_side.bucket(callback).join(&mut self.slab, now, id);
            }
        }
    }

    /// Orders that are active, with their extremes; some ended.
    pub(crate) fn extremes(&self) -> impl Iterator<Item = (OrderId, Price)> + '_ {
        [Side::Buy, Side::Sell].into_iter().flat_map(move |side| {
            let groups = self.sides[side as usize & 1].buckets.iter().flat_map(|bucket| &bucket.groups);
            groups.flat_map(move |group| {
                // Negated twice, a price is itself.
                self.slab.ids(*group).map(move |id| (id, height(side, group.extreme)))
            })
        })
    }
}

impl OfSide {
    fn bucket(&mut self, callback: Rate) -> &mut Bucket {
        let found = self.buckets.binary_search_by_key(&callback, |bucket| bucket.callback);
        let place = found.unwrap_or_else(|place| {
            self.buckets.insert(place, Bucket { callback, groups: VecDeque::with_capacity(ROOM) });
            place
        });
        &mut self.buckets[place]
    }
}

impl Slab {
    /// A chain of one.
    fn chain(&mut self, extreme: i64, id: OrderId) -> Group {
        let cell = Cell { id, next: NONE };
        let place = self.free;
        let place = match self.cells.get_mut(place as usize) {
            Some(free) => {
                self.free = free.next;
                *free = cell;
                place
            }
            None => {
                self.cells.push(cell);
                (self.cells.len() - 1) as u32
            }
        };
        Group { extreme, head: place, tail: place }
    }

    /// Adds a chain to another.
    fn append(&mut self, group: &mut Group, more: Group) {
        self.cells[group.tail as usize].next = more.head;
        group.tail = more.tail;
    }

    fn ids(&self, group: Group) -> impl Iterator<Item = OrderId> + '_ {
        let mut place = group.head;
        std::iter::from_fn(move || {
            let cell = self.cells.get(place as usize)?;
            place = cell.next;
            Some(cell.id)
        })
    }

    /// Frees the cells of a chain; how many.
    fn free(&mut self, group: Group) -> usize {
        let (mut place, mut count) = (group.head, 0);
        while let Some(cell) = self.cells.get_mut(place as usize) {
            let next = std::mem::replace(&mut cell.next, self.free);
            (self.free, place) = (place, next);
            count += 1;
        }
        count
    }

    /// Frees the cells of orders that ended; how many are left.
    fn clean(&mut self, group: &mut Group, is_live: impl Fn(OrderId) -> bool) -> usize {
        let (mut place, mut left) = (group.head, 0);
        (group.head, group.tail) = (NONE, NONE);
        while let Some(&Cell { id, next }) = self.cells.get(place as usize) {
            if is_live(id) {
                match self.cells.get_mut(group.tail as usize) {
                    Some(last) => last.next = place,
                    None => group.head = place,
                }
                group.tail = place;
                self.cells[place as usize].next = NONE;
                left += 1;
            } else {
                self.cells[place as usize].next = self.free;
                self.free = place;
            }
            place = next;
        }
        left
    }
}

impl Bucket {
    /// Enters an order with an extreme.
    fn join(&mut self, slab: &mut Slab, extreme: i64, id: OrderId) {
        let place = self.groups.partition_point(|group| group.extreme > extreme);
        let chain = slab.chain(extreme, id);
        match self.groups.get_mut(place) {
            Some(group) if group.extreme == extreme => slab.append(group, chain),
            _ => self.groups.insert(place, chain),
        }
    }

    /// Raises every extreme below a height to it.
    fn raise(&mut self, slab: &mut Slab, now: i64) {
        let mut raised: Option<Group> = None;
        while let Some(&group) = self.groups.back()
            && group.extreme < now
        {
            self.groups.pop_back();
            match &mut raised {
                Some(raised) => slab.append(raised, group),
                None => raised = Some(Group { extreme: now, ..group }),
            }
        }
        let Some(raised) = raised else { return };
        match self.groups.back_mut() {
            Some(group) if group.extreme == now => slab.append(group, raised),
            _ => self.groups.push_back(raised),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::risk::perpetual::trigger::Trailing;
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn shows_what_a_walk_over_all_orders_shows() {
        for are_sure in [false, true] {
            shows_what_a_walk_shows(are_sure);
        }
    }

    fn shows_what_a_walk_shows(are_sure: bool) {
        let mut random = 5u64;
        let mut next = |bound: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) % bound
        };
        let mut trailings = Trailings::new(are_sure);
        let mut model: BTreeMap<OrderId, (Side, Trailing)> = BTreeMap::new();
        let (mut price, mut shown_count) = (100_000i64, 0);
        for id in 1..30_000u64 {
            match next(3) {
                0 => {
                    let side = if next(2) == 0 { Side::Buy } else { Side::Sell };
                    let ahead = 1 + next(800) as i64;
                    let activation = match (next(3), side) {
                        (0, _) => None,
                        (_, Side::Buy) => Some(price - ahead),
                        (_, Side::Sell) => Some(price + ahead),
                    };
                    let callback = 100_000 * (1 + next(12) as i64);
                    let order = Trailing::new(side, activation, callback, price).unwrap();
                    trailings.add(side, callback, order.activation, order.extreme, id);
                    model.insert(id, (side, order));
                }
                1 => {
                    // Now and then one that waits ends.
                    let from = next(id);
                    if let Some(&ended) = model.range(from..).next().map(|(id, _)| id) {
                        model.remove(&ended);
                        trailings.ended(|id| model.contains_key(&id));
                    }
                }
                _ => {
                    price = (price + next(1_201) as i64 - 600).max(1_000);
                    let mut shown = BTreeSet::new();
                    trailings.follow(price, |id| {
                        shown.insert(id);
                    });
                    shown.retain(|id| model.contains_key(id));
                    let mut expected = BTreeSet::new();
                    for (&id, (side, order)) in &mut model {
                        if order.follow(*side, price) {
                            expected.insert(id);
                        }
                    }
                    assert_eq!(shown, expected, "at {price}");
                    shown_count += shown.len();
                    // Half of them fire, where they are not sure to; price protection holds the others back.
                    for fired in shown.into_iter().filter(|id| are_sure || id % 2 == 0) {
                        model.remove(&fired);
                        trailings.ended(|id| model.contains_key(&id));
                    }
                    let mut extremes: Vec<_> =
                        trailings.extremes().filter(|(id, _)| model.contains_key(id)).collect();
                    extremes.sort_unstable();
                    let active = model.iter().filter(|(_, (_, order))| order.is_active());
                    assert!(extremes.into_iter().eq(active.map(|(&id, (_, order))| (id, order.extreme))));
                }
            }
        }
        assert!(shown_count > 1_000, "{shown_count}");
        assert!(trailings.entered <= 2 * trailings.live + 64);
    }
}
