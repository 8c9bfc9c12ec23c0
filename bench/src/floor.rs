//! The bare floor: the least that a price-time book can do on this machine, to measure ours against.
//!
//! Orders are 16 bytes in one array indexed by their dense id, so finding one is an address; levels are an array
//! indexed by tick, queues are intrusive lists, a bitmap of two levels finds the next best price. It has no money, no
//! accounts, no events, no order types, no checks, a fixed price range and a fixed count of orders, and memory of
//! ended orders is never used again: nothing here is fit for an exchange.

use crate::op::{Op, OpKind, TakesFills};
use ringside_core::memory::Pages;
use ringside_core::prefetch::prefetch;

/// Ids must be below.
pub const ORDERS: usize = 1 << 21;
/// Levels must be below.
pub const LEVELS: usize = 1 << 16;

const ORDER_MASK: usize = ORDERS - 1;
const LEVEL_MASK: usize = LEVELS - 1;
const WORDS: usize = LEVELS / 64;
const GROUPS: usize = WORDS / 64;
/// No order. Its slot takes the stores that have no neighbour to go to, which saves their branches.
const NONE: u32 = 0;
/// Best of an empty side: behind every limit.
const EMPTY: u32 = LEVELS as u32;

/// `quantity` 0 means: not in the book.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Order {
    next: u32,
    previous: u32,
    key_and_side: u32,
    quantity: u32,
}

#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Level {
    head: u32,
    tail: u32,
    total: u64,
}

/// One side. Keys ascend from the best price outward: the level itself for sells, mirrored for buys.
#[derive(Clone)]
struct Side {
    best: u32,
    groups: [u64; GROUPS],
    words: Box<[u64; WORDS]>,
    levels: Box<[Level; LEVELS]>,
}

/// The book. Index 0 holds the buys, 1 the sells.
#[derive(Clone)]
pub struct Floor {
    sides: [Side; 2],
    orders: Box<[Order; ORDERS]>,
}

/// An array on the heap with every page touched.
fn filled<T: Copy + Default, const N: usize>(value: T) -> Box<[T; N]> {
    // On the same pages as the engine's tables.
    let mut values: Vec<T> = Pages::Huge.reserved(N, N);
    values.fill(value);
    match values.into_boxed_slice().try_into() {
        Ok(array) => array,
        Err(_) => unreachable!("the vector has N elements"),
    }
}

impl Default for Floor {
    fn default() -> Floor {
        Floor::new()
    }
}

impl Floor {
    /// An empty book, all memory taken and touched.
    pub fn new() -> Floor {
        let side = || {
            // Written first with a value that is not zero: zero pages would come untouched.
            let mut levels = filled(Level { head: 1, tail: 1, total: 1 });
            levels.fill(Level { head: NONE, tail: NONE, total: 0 });
            Side { best: EMPTY, groups: [0; GROUPS], words: filled(0), levels }
        };
        let mut orders = filled(Order { next: 1, previous: 1, key_and_side: 1, quantity: 1 });
        orders.fill(Order { next: NONE, previous: NONE, key_and_side: 0, quantity: 0 });
        Floor { sides: [side(), side()], orders }
    }

    /// Carries out one instruction; fills go to `sum`.
    #[inline(always)]
    pub fn apply<F: TakesFills>(&mut self, op: &Op, sum: &mut F) {
        match op.kind {
            OpKind::Cancel => {
                self.cancel(op.order);
            }
            OpKind::Replace if self.cancel(op.order) == 0 => {}
            kind => {
                let rests = kind != OpKind::ImmediateOrCancel;
                if op.is_buy {
                    self.enter::<true, F>(op.order, op.level, op.quantity, rests, sum);
                } else {
                    self.enter::<false, F>(op.order, op.level, op.quantity, rests, sum);
                }
            }
        }
    }

    /// Touches what `op` will need.
    #[inline(always)]
    pub fn hint(&self, op: &Op) {
        prefetch(&self.orders[op.order as usize & ORDER_MASK]);
        if op.kind != OpKind::Cancel {
            let (own, key) = if op.is_buy { (0, mirrored(op.level)) } else { (1, op.level) };
            prefetch(&self.sides[own].levels[key as usize & LEVEL_MASK]);
        }
    }

    /// Open lots of an order, 0 when it does not rest.
    pub fn open(&self, order: u32) -> u32 {
        self.orders[order as usize & ORDER_MASK].quantity
    }

    /// Best level of a side.
    pub fn best(&self, is_buy: bool) -> Option<u32> {
        let best = self.sides[usize::from(!is_buy)].best;
        (best != EMPTY).then(|| if is_buy { mirrored(best) } else { best })
    }

    /// Orders of a side, best price first, oldest first: (level, order, open lots).
    pub fn queue(&self, is_buy: bool) -> impl Iterator<Item = (u32, u32, u32)> + '_ {
        let side = &self.sides[usize::from(!is_buy)];
        let mut key = side.best;
        let mut order = if key == EMPTY { NONE } else { side.levels[key as usize].head };
        std::iter::from_fn(move || {
            if order == NONE {
                key = if key == EMPTY { EMPTY } else { side.after(key) };
                if key == EMPTY {
                    return None;
                }
                order = side.levels[key as usize].head;
            }
            let found = &self.orders[order as usize];
            let item = (if is_buy { mirrored(key) } else { key }, order, found.quantity);
            order = found.next;
            Some(item)
        })
    }

    /// Totals of a side, best price first: (level, lots).
    pub fn depth(&self, is_buy: bool) -> impl Iterator<Item = (u32, u64)> + '_ {
        let side = &self.sides[usize::from(!is_buy)];
        let mut key = side.best;
        std::iter::from_fn(move || {
            if key == EMPTY {
                return None;
            }
            let item = (if is_buy { mirrored(key) } else { key }, side.levels[key as usize].total);
            key = side.after(key);
            Some(item)
        })
    }

    #[inline(always)]
    fn enter<const BUY: bool, F: TakesFills>(
        &mut self,
        order: u32,
        level: u32,
        mut open: u32,
        rests: bool,
        sum: &mut F,
    ) {
        let (own, opposite) = if BUY { (0, 1) } else { (1, 0) };
        // The limit as a key of the opposite side, and the order's place as a key of its own.
        let (limit, key) = if BUY { (level, mirrored(level)) } else { (mirrored(level), level) };
        let makers = &mut self.sides[opposite];
        while makers.best <= limit {
            let best = makers.best;
            let price = u64::from(if BUY { best } else { mirrored(best) });
            let level = &mut makers.levels[best as usize & LEVEL_MASK];
            let mut maker = level.head;
            while maker != NONE && open != 0 {
                let resting = &mut self.orders[maker as usize & ORDER_MASK];
                let traded = open.min(resting.quantity);
                sum.fill(u64::from(maker), u64::from(order), price, u64::from(traded));
                open -= traded;
                resting.quantity -= traded;
                level.total -= u64::from(traded);
                if resting.quantity == 0 {
                    maker = resting.next;
                }
            }
            level.head = maker;
            self.orders[maker as usize & ORDER_MASK].previous = NONE;
            if maker != NONE {
                break;
            }
            level.tail = NONE;
            makers.clear(best);
            if open == 0 {
                break;
            }
        }
        if open != 0 && rests {
            let side = &mut self.sides[own];
            let level = &mut side.levels[key as usize & LEVEL_MASK];
            let tail = level.tail;
            if tail == NONE {
                level.head = order;
                let word = key as usize / 64;
                side.words[word & (WORDS - 1)] |= 1 << (key % 64);
                side.groups[(word / 64) & (GROUPS - 1)] |= 1 << (word % 64);
                side.best = side.best.min(key);
            }
            level.tail = order;
            level.total += u64::from(open);
            self.orders[tail as usize & ORDER_MASK].next = order;
            self.orders[order as usize & ORDER_MASK] =
                Order { next: NONE, previous: tail, key_and_side: key << 1 | own as u32, quantity: open };
        }
    }

    /// Takes an order out and says how much was open, 0 when it did not rest.
    #[inline(always)]
    fn cancel(&mut self, order: u32) -> u32 {
        let found = &mut self.orders[order as usize & ORDER_MASK];
        let Order { next, previous, key_and_side, quantity } = *found;
        if quantity == 0 {
            return 0;
        }
        found.quantity = 0;
        let key = key_and_side >> 1;
        let side = &mut self.sides[(key_and_side & 1) as usize];
        let level = &mut side.levels[key as usize & LEVEL_MASK];
        level.total -= u64::from(quantity);
        level.head = if previous == NONE { next } else { level.head };
        level.tail = if next == NONE { previous } else { level.tail };
        self.orders[previous as usize & ORDER_MASK].next = next;
        self.orders[next as usize & ORDER_MASK].previous = previous;
        if level.head == NONE {
            side.clear(key);
        }
        quantity
    }
}

#[inline(always)]
const fn mirrored(level: u32) -> u32 {
    LEVEL_MASK as u32 - level
}

impl Side {
    /// Marks a level empty and moves the best price on if it was the best.
    #[inline(always)]
    fn clear(&mut self, key: u32) {
        let word = (key as usize / 64) & (WORDS - 1);
        self.words[word] &= !(1 << (key % 64));
        if self.words[word] == 0 {
            self.groups[(word / 64) & (GROUPS - 1)] &= !(1 << (word % 64));
        }
        if self.best == key {
            self.best = self.after(key);
        }
    }

    /// The next occupied key behind `key`.
    #[inline(always)]
    fn after(&self, key: u32) -> u32 {
        let word = (key as usize / 64) & (WORDS - 1);
        // All bits above the key's own; none for bit 63.
        let rest = self.words[word] & (!1u64 << (key % 64));
        if rest != 0 {
            return word as u32 * 64 + rest.trailing_zeros();
        }
        let mut group = word / 64;
        let mut words = self.groups[group & (GROUPS - 1)] & (!1u64 << (word % 64));
        while words == 0 {
            group += 1;
            if group == GROUPS {
                return EMPTY;
            }
            words = self.groups[group];
        }
        let word = group * 64 + words.trailing_zeros() as usize;
        word as u32 * 64 + self.words[word & (WORDS - 1)].trailing_zeros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::{FillSum, Random};
    use std::collections::BTreeMap;

    /// An obvious slow book: (key by price, arrival) -> (order, open).
    #[derive(Default)]
    struct Naive {
        sides: [BTreeMap<(i64, u64), (u32, u32)>; 2],
        arrivals: u64,
    }

    impl Naive {
        fn cancel(&mut self, order: u32) -> bool {
            self.sides.iter_mut().any(|side| {
                let place = side.iter().find(|(_, resting)| resting.0 == order).map(|(&place, _)| place);
                place.is_some_and(|place| side.remove(&place).is_some())
            })
        }

        fn apply(&mut self, op: &Op, sum: &mut FillSum) {
            if op.kind == OpKind::Cancel || op.kind == OpKind::Replace {
                let rested = self.cancel(op.order);
                if op.kind == OpKind::Cancel || !rested {
                    return;
                }
            }
            let (own, opposite, sign) = if op.is_buy { (0, 1, -1) } else { (1, 0, 1) };
            let mut open = op.quantity;
            while open > 0 {
                let Some(mut best) = self.sides[opposite].first_entry() else { break };
                let level = best.key().0.unsigned_abs();
                if op.is_buy && level > u64::from(op.level) || !op.is_buy && level < u64::from(op.level) {
                    break;
                }
                let (maker, resting) = *best.get();
                let traded = open.min(resting);
                sum.fill(u64::from(maker), u64::from(op.order), level, u64::from(traded));
                open -= traded;
                if traded == resting {
                    best.remove();
                } else {
                    best.get_mut().1 -= traded;
                }
            }
            if open > 0 && op.kind != OpKind::ImmediateOrCancel {
                self.arrivals += 1;
                self.sides[own].insert((sign * i64::from(op.level), self.arrivals), (op.order, open));
            }
        }
    }

    #[test]
    fn equals_an_obvious_book() {
        for seed in 1..=8 {
            let (mut floor, mut naive, mut random) = (Floor::new(), Naive::default(), Random::new(seed));
            let (mut sum, mut expected) = (FillSum::default(), FillSum::default());
            // A range with empty words and groups between the levels, and both ends of the array.
            let spread = [40, 700, 9_000, LEVELS as u32][seed as usize % 4];
            let first = (LEVELS as u32 - spread) / 2;
            let mut orders = 0;
            for _ in 0..4_000 {
                let kind =
                    [OpKind::New, OpKind::New, OpKind::ImmediateOrCancel, OpKind::Cancel, OpKind::Replace]
                        [random.below(5) as usize];
                let is_entry = matches!(kind, OpKind::New | OpKind::ImmediateOrCancel);
                orders += u32::from(is_entry);
                let order = if is_entry { orders } else { 1 + random.below(orders.max(1)) };
                let op = Op {
                    order,
                    level: first + random.below(spread),
                    quantity: 1 + random.below(9),
                    kind,
                    is_buy: random.below(2) == 0,
                };
                floor.apply(&op, &mut sum);
                naive.apply(&op, &mut expected);
                assert_eq!(sum, expected, "seed {seed}, {op:?}");
            }
            assert!(sum.fills > 100, "seed {seed} made too few fills to tell");
            for (side, is_buy) in [(0, true), (1, false)] {
                let queue: Vec<_> = floor.queue(is_buy).collect();
                let obvious: Vec<_> = naive.sides[side]
                    .iter()
                    .map(|(place, &(order, open))| (place.0.unsigned_abs() as u32, order, open))
                    .collect();
                assert_eq!(queue, obvious, "seed {seed}");
                let total: u64 = floor.depth(is_buy).map(|level| level.1).sum();
                assert_eq!(total, queue.iter().map(|order| u64::from(order.2)).sum::<u64>());
            }
        }
    }
}
