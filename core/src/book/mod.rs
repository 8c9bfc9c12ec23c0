//! A market's book: two sides, the queue of each price, and the update id. It knows no accounts and no money.

pub(crate) mod directory;
pub(crate) mod grid;
pub(crate) mod index;
pub(crate) mod level;
pub(crate) mod pool;
pub(crate) mod side;
pub(crate) mod table;

use crate::command::Side as WhichSide;
use crate::hash_seed::HashSeed;
use crate::ids::OrderId;
use crate::memory::Pages;
use crate::money::{Price, Quantity};
use crate::order::Order;
use crate::prefetch::{self, Hint, prefetch};
use grid::{Step, gcd};
use index::Index;
use level::Levels;
use pool::{NONE, Pool};
use side::Side;
use std::hint::select_unpredictable;

/// Both sides, in order of their codes.
const SIDES: [WhichSide; 2] = [WhichSide::Buy, WhichSide::Sell];

/// Resting orders allocated together beyond those taken at start: 256 KiB.
const ORDERS_PER_CHUNK: usize = 4096;

/// Resting orders of all markets, where each is, and the levels they queue at.
pub(crate) struct Orders {
    pub(crate) pool: Pool<Order, ORDERS_PER_CHUNK>,
    pub(crate) index: Index,
    pub(crate) levels: Levels,
}

impl Orders {
    /// Memory for `capacity` resting orders.
    pub(crate) fn new(capacity: usize, pages: Pages, seed: &HashSeed) -> Orders {
        let index = Index::new(capacity, pages, seed);
        Orders { index, ..Orders::without_index(capacity, pages, seed) }
    }

    /// The same for a caller who finds orders in a way of its own: the index stays small, and empty.
    pub(crate) fn without_index(capacity: usize, pages: Pages, seed: &HashSeed) -> Orders {
        Orders {
            pool: Pool::new(capacity, (capacity * 4).max(1 << 20), pages),
            index: Index::new(0, pages, seed),
            levels: Levels::new(capacity, pages),
        }
    }

    /// What an order that rests has open.
    #[inline(always)]
    pub(crate) fn open(&self, slot: u32) -> Quantity {
        self.pool.get(slot).remaining
    }

    /// Whether hints about orders are worth their time: not while all orders stay in the caches by themselves.
    #[inline(always)]
    pub(crate) fn want_hints(&self) -> bool {
        self.pool.most() > prefetch::NEAR
    }

    /// Hints that an order is about to leave or change.
    #[inline]
    pub(crate) fn prefetch(&self, order: OrderId, hint: Hint) {
        let cell = self.index.cell(order);
        match hint {
            Hint::First => prefetch(cell),
            Hint::Second => prefetch(self.pool.get(*cell)),
            Hint::Third => self.prefetch_around(*cell),
        }
    }

    /// Hints that the order in a slot is about to leave or change: what is linked to it.
    #[inline(always)]
    pub(crate) fn prefetch_around(&self, slot: u32) {
        let order = self.pool.get(slot);
        for neighbour in [order.next, order.previous, order.younger, order.older] {
            prefetch(self.pool.get(neighbour));
        }
        prefetch(self.levels.get(order.level));
    }

    /// The slot of a resting order, or `NONE`.
    #[inline(always)]
    pub(crate) fn find(&self, id: OrderId) -> u32 {
        self.index.find(&self.pool, id)
    }

    /// Forgets an order that was taken out of its book.
    #[inline(always)]
    pub(crate) fn end(&mut self, id: OrderId, slot: u32) {
        self.index.remove(id, slot);
        self.pool.give(slot);
    }
}

/// See the module.
pub(crate) struct Book {
    sides: [Side; 2],
    /// Every price in the book is a multiple of it; the market's tick, or a divisor of it.
    grid: Step,
    /// Grows by one with every mutation.
    pub(crate) update: u64,
}

/// A level's new total after a mutation.
#[derive(Clone, Copy)]
pub(crate) struct Mutation {
    pub(crate) side: WhichSide,
    pub(crate) price: Price,
    pub(crate) total: i128,
    pub(crate) update: u64,
}

impl Book {
    /// An empty book for prices that are multiples of `tick`.
    pub(crate) fn new(tick: Price, seed: &HashSeed) -> Book {
        Book { sides: SIDES.map(|side| Side::new(side, seed)), grid: Step::new(tick), update: 0 }
    }

    #[inline(always)]
    pub(crate) fn side(&self, side: WhichSide) -> &Side {
        &self.sides[side as usize & 1]
    }

    #[inline(always)]
    pub(crate) fn side_mut(&mut self, side: WhichSide) -> &mut Side {
        &mut self.sides[side as usize & 1]
    }

    /// The update id of the next mutation.
    #[inline(always)]
    pub(crate) fn next_update(&self) -> u64 {
        self.update.wrapping_add(1)
    }

    /// How many steps of the grid a price on it is; no more than a number for any other.
    #[inline(always)]
    pub(crate) fn steps(&self, price: Price) -> u64 {
        self.grid.count_exact(price)
    }

    /// The key on `side` of a price on the grid.
    #[inline(always)]
    pub(crate) fn key(&self, side: WhichSide, price: Price) -> u64 {
        self.side(side).key(self.steps(price))
    }

    /// Handle of the level that a price has or would have on a side, as [`Side::hint`] says.
    #[inline(always)]
    pub(crate) fn hint(&self, levels: &Levels, side: WhichSide, price: Price) -> u32 {
        self.side(side).hint(levels, self.key(side, price))
    }

    /// Best price of a side.
    #[inline]
    pub(crate) fn best(&self, orders: &Orders, side: WhichSide) -> Option<Price> {
        self.side(side).best_price(&orders.levels)
    }

    /// Gives a new order a slot, last in the queue of its price, and enters it in the index. `key` is that of its price on
    /// its side.
    #[inline(always)]
    pub(crate) fn rest_new(&mut self, orders: &mut Orders, order: Order, key: u64) -> (u32, Mutation) {
        let (slot, mutation) = self.queue_new(orders, order, key);
        orders.index.insert(&orders.pool, order.id, slot);
        (slot, mutation)
    }

    /// The same without the index.
    #[inline(always)]
    pub(crate) fn queue_new(&mut self, orders: &mut Orders, order: Order, key: u64) -> (u32, Mutation) {
        let slot = orders.pool.take();
        (slot, self.queue(orders, slot, order, key))
    }

    /// Puts an order last in the queue of its price. The record in `slot` is complete but for its place in the book.
    #[inline(always)]
    pub(crate) fn rest(&mut self, orders: &mut Orders, slot: u32) -> Mutation {
        let order = orders.pool.get(slot);
        let key = self.key(order.traits.side(), order.price);
        self.queue_there(orders, slot, key)
    }

    /// Writes an order to its slot, last in the queue of its price. `key` is that of its price on its side.
    #[inline(always)]
    pub(crate) fn queue(&mut self, orders: &mut Orders, slot: u32, mut order: Order, key: u64) -> Mutation {
        let Orders { pool, levels, .. } = orders;
        let of = (order.traits.side(), order.price, order.remaining);
        let (level, previous, mutation) = self.join(levels, slot, of, key);
        (order.next, order.previous, order.level) = (NONE, previous, level);
        let slab = pool.slab();
        slab[slot as usize] = order;
        slab[previous as usize].next = slot;
        mutation
    }

    /// Puts an order, whose record in `slot` is complete but for its place in the book, last in the queue of its price. `key` is that
    /// of its price on its side.
    #[inline(always)]
    pub(crate) fn queue_there(&mut self, orders: &mut Orders, slot: u32, key: u64) -> Mutation {
        let Orders { pool, levels, .. } = orders;
        let slab = pool.slab();
        let order = &mut slab[slot as usize];
        let of = (order.traits.side(), order.price, order.remaining);
        let (level, previous, mutation) = self.join(levels, slot, of, key);
        (order.next, order.previous, order.level) = (NONE, previous, level);
        slab[previous as usize].next = slot;
        mutation
    }

    /// Makes an order the last of the level of its price: that level's handle, and the order before it.
    #[inline(always)]
    fn join(
        &mut self,
        levels: &mut Levels,
        slot: u32,
        (side, price, remaining): (WhichSide, Price, Quantity),
        key: u64,
    ) -> (u32, u32, Mutation) {
        let update = self.next_update();
        self.update = update;
        let (handle, level) = self.side_mut(side).enter(levels, key, price);
        let (head, tail) = (level.head, level.tail);
        level.tail = slot;
        level.head = select_unpredictable(tail == NONE, slot, head);
        // Fewer than 2^32 quantities of 63 bits.
        let total = level.total.wrapping_add(i128::from(remaining));
        level.total = total;
        (handle, tail, Mutation { side, price, total, update })
    }

    /// Takes an order out of its queue; the record stays with the caller.
    #[inline(always)]
    pub(crate) fn take_out(&mut self, orders: &mut Orders, slot: u32) -> Mutation {
        self.take_from(&mut orders.levels, orders.pool.slab(), slot)
    }

    /// Takes an order out of its queue and forgets it.
    #[inline(always)]
    pub(crate) fn end(&mut self, orders: &mut Orders, id: OrderId, slot: u32) -> Mutation {
        let Orders { pool, index, levels } = orders;
        index.remove(id, slot);
        let mut lent = pool.lend();
        let mutation = self.take_from(levels, lent.slab, slot);
        lent.give(slot);
        mutation
    }

    #[inline(always)]
    fn take_from(&mut self, levels: &mut Levels, slab: &mut [Order], slot: u32) -> Mutation {
        let update = self.next_update();
        self.update = update;
        let Order { next, previous, level: handle, remaining, price, traits, .. } = slab[slot as usize];
        let which = traits.side();
        let level = levels.get_mut(handle);
        let total = level.total.wrapping_sub(i128::from(remaining));
        level.total = total;
        let (head, tail) = (level.head, level.tail);
        level.head = select_unpredictable(previous == NONE, next, head);
        level.tail = select_unpredictable(next == NONE, previous, tail);
        slab[previous as usize].next = next;
        slab[next as usize].previous = previous;
        self.side_mut(which).leave(levels, handle, previous | next == NONE);
        Mutation { side: which, price, total, update }
    }

    /// Lowers an order's open quantity by `less`, where it stands. `less` is below what is open.
    pub(crate) fn shrink(&mut self, orders: &mut Orders, slot: u32, less: Quantity) -> Mutation {
        self.update += 1;
        let order = orders.pool.get_mut(slot);
        debug_assert!(0 < less && less < order.remaining);
        order.remaining -= less;
        order.quantity -= less;
        let which = order.traits.side();
        let (handle, price) = (order.level, order.price);
        let level = orders.levels.get_mut(handle);
        level.total -= i128::from(less);
        Mutation { side: which, price, total: level.total, update: self.update }
    }

    /// Makes `tick` fit the grid, moving every level where it does not.
    pub(crate) fn fit(&mut self, orders: &mut Orders, tick: Price) {
        let is_empty = self.sides.iter().all(|side| side.best() == side::EMPTY);
        if is_empty {
            self.grid = Step::new(tick);
        } else if tick % self.grid.value() != 0 {
            let grid = Step::new(gcd(self.grid.value(), tick));
            let update = self.update;
            let slots: Vec<u32> = SIDES.iter().flat_map(|&which| self.slots(orders, which)).collect();
            for &slot in &slots {
                self.take_out(orders, slot);
            }
            self.grid = grid;
            for slot in slots {
                self.rest(orders, slot);
            }
            self.update = update;
        }
    }

    /// Slots of a side's orders, best price first, oldest first.
    pub(crate) fn slots<'a>(&'a self, orders: &'a Orders, side: WhichSide) -> impl Iterator<Item = u32> + 'a {
        self.side(side).iter(&orders.levels).flat_map(move |level| {
            let mut next = level.head;
            std::iter::from_fn(move || {
                let slot = next;
                (slot != NONE).then(|| {
                    next = orders.pool.get(slot).next;
                    slot
                })
            })
        })
    }

    /// Totals of a side, best price first.
    pub(crate) fn depth<'a>(
        &'a self,
        orders: &'a Orders,
        side: WhichSide,
    ) -> impl Iterator<Item = (Price, i128)> + 'a {
        self.side(side).iter(&orders.levels).map(|level| (level.price, level.total))
    }

    /// Checks every level, link and total, and that `find` gives each order's slot; the counts of orders and leaves.
    pub(crate) fn check(
        &self,
        orders: &Orders,
        find: impl Fn(OrderId) -> u32,
    ) -> Result<(usize, usize), String> {
        if let (Some(bid), Some(ask)) =
            (self.best(orders, WhichSide::Buy), self.best(orders, WhichSide::Sell))
            && bid >= ask
        {
            return Err(format!("the book is crossed: bid {bid}, ask {ask}"));
        }
        let (mut count, mut leaves) = (0, 0);
        for which in SIDES {
            let (handles, found) = self.side(which).check(&orders.levels, self.grid.value())?;
            leaves += found;
            for handle in handles {
                let level = orders.levels.get(handle);
                let (mut total, mut previous, mut slot) = (0i128, NONE, level.head);
                while slot != NONE {
                    let order = orders.pool.get(slot);
                    if order.previous != previous
                        || order.level != handle
                        || order.price != level.price
                        || order.traits.side() != which
                        || order.remaining <= 0
                        || order.remaining > order.quantity
                        || find(order.id) != slot
                    {
                        return Err(format!("order {} is not as its level says", order.id));
                    }
                    total += i128::from(order.remaining);
                    count += 1;
                    (previous, slot) = (slot, order.next);
                }
                if previous != level.tail || total != level.total {
                    return Err(format!("tail or total of level {} is wrong", level.price));
                }
            }
        }
        Ok((count, leaves))
    }
}
