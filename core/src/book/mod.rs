//! A market's book: two sides, the queue of each price, and the update id. It knows no accounts and no money.

pub(crate) mod grid;
pub(crate) mod index;
pub(crate) mod level;
pub(crate) mod pool;
pub(crate) mod side;
pub(crate) mod table;

use crate::command::Side as WhichSide;
use crate::ids::OrderId;
use crate::money::{Price, Quantity};
use crate::order::Order;
use grid::{Step, gcd};
use index::Index;
use pool::{NONE, Pool};
use side::Side;

/// Both sides, in order of their codes.
const SIDES: [WhichSide; 2] = [WhichSide::Buy, WhichSide::Sell];

/// Resting orders allocated together: 256 KiB.
const ORDERS_PER_CHUNK: usize = 4096;

/// Resting orders of all markets, and where each is.
pub(crate) struct Orders {
    pub(crate) pool: Pool<Order, ORDERS_PER_CHUNK>,
    pub(crate) index: Index,
}

impl Orders {
    /// Memory for `capacity` resting orders.
    pub(crate) fn new(capacity: usize) -> Orders {
        Orders { pool: Pool::new(capacity), index: Index::new(capacity) }
    }

    /// The slot of a resting order, or `NONE`.
    #[inline]
    pub(crate) fn find(&self, id: OrderId) -> u32 {
        self.index.find(id)
    }

    /// Forgets an order that was taken out of its book.
    #[inline]
    pub(crate) fn end(&mut self, slot: u32) {
        let id = self.pool.get(slot).id;
        self.index.remove(id);
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
    pub(crate) fn new(tick: Price) -> Book {
        Book { sides: SIDES.map(Side::new), grid: Step::new(tick), update: 0 }
    }

    #[inline(always)]
    pub(crate) fn side(&self, side: WhichSide) -> &Side {
        &self.sides[side as usize & 1]
    }

    #[inline(always)]
    pub(crate) fn side_mut(&mut self, side: WhichSide) -> &mut Side {
        &mut self.sides[side as usize & 1]
    }

    /// The key on `side` of a price on the grid.
    #[inline(always)]
    pub(crate) fn key(&self, side: WhichSide, price: Price) -> u64 {
        self.side(side).key(self.grid.count_exact(price))
    }

    /// Best price of a side.
    #[inline]
    pub(crate) fn best(&self, side: WhichSide) -> Option<Price> {
        self.side(side).best_price()
    }

    /// Puts an order last in the queue of its price. The record in `slot` is complete but for its place in the book.
    #[inline]
    pub(crate) fn rest(&mut self, orders: &mut Orders, slot: u32) -> Mutation {
        self.update += 1;
        let update = self.update;
        let order = *orders.pool.get(slot);
        let which = order.traits.side();
        let key = self.key(which, order.price);
        let side = self.side_mut(which);
        let handle = side.enter(key, order.price);
        let level = side.level_mut(handle);
        let tail = level.tail;
        level.tail = slot;
        level.total += i128::from(order.remaining);
        if tail == NONE {
            level.head = slot;
        }
        let total = level.total;
        orders.pool.get_mut(tail).next = slot;
        let order = orders.pool.get_mut(slot);
        order.previous = tail;
        order.next = NONE;
        order.level = handle;
        Mutation { side: which, price: order.price, total, update }
    }

    /// Takes an order out of its queue; the record stays with the caller.
    #[inline]
    pub(crate) fn take_out(&mut self, orders: &mut Orders, slot: u32) -> Mutation {
        self.update += 1;
        let update = self.update;
        let Order { next, previous, level: handle, remaining, price, traits, .. } = *orders.pool.get(slot);
        let side = self.side_mut(traits.side());
        let level = side.level_mut(handle);
        level.total -= i128::from(remaining);
        level.head = if previous == NONE { next } else { level.head };
        level.tail = if next == NONE { previous } else { level.tail };
        let total = level.total;
        let is_empty = level.head == NONE;
        orders.pool.get_mut(previous).next = next;
        orders.pool.get_mut(next).previous = previous;
        if is_empty {
            debug_assert!(total == 0);
            side.leave(handle);
        }
        Mutation { side: traits.side(), price, total, update }
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
        let level = self.side_mut(which).level_mut(handle);
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
            let mut finer = Book { grid, ..Book::new(tick) };
            for which in SIDES {
                for slot in self.slots(orders, which).collect::<Vec<u32>>() {
                    finer.rest(orders, slot);
                }
            }
            *self = finer;
            self.update = update;
        }
    }

    /// Slots of a side's orders, best price first, oldest first.
    pub(crate) fn slots<'a>(&'a self, orders: &'a Orders, side: WhichSide) -> impl Iterator<Item = u32> + 'a {
        self.side(side).iter().flat_map(move |level| {
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
    pub(crate) fn depth(&self, side: WhichSide) -> impl Iterator<Item = (Price, i128)> + '_ {
        self.side(side).iter().map(|level| (level.price, level.total))
    }

    /// Checks every level, link and total; the count of orders.
    pub(crate) fn check(&self, orders: &Orders) -> Result<usize, String> {
        if let (Some(bid), Some(ask)) = (self.best(WhichSide::Buy), self.best(WhichSide::Sell))
            && bid >= ask
        {
            return Err(format!("the book is crossed: bid {bid}, ask {ask}"));
        }
        let mut count = 0;
        for which in SIDES {
            let side = self.side(which);
            for handle in side.check(self.grid.value())? {
                let level = side.level(handle);
                let (mut total, mut previous, mut slot) = (0i128, NONE, level.head);
                while slot != NONE {
                    let order = orders.pool.get(slot);
                    if order.previous != previous
                        || order.level != handle
                        || order.price != level.price
                        || order.traits.side() != which
                        || order.remaining <= 0
                        || order.remaining > order.quantity
                        || orders.find(order.id) != slot
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
        Ok(count)
    }
}
