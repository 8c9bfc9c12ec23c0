//! Where a resting order is: order id -> slot.
//!
//! Ids are dense and ascending, so a window of cells, one per id modulo its size, finds the orders of the recent past by
//! address. An order that still rests when its cell is needed again moves to a table. The order's own record says
//! whether a cell means it, so a cell carries no key.

use super::pool::{NONE, Pool};
use super::table::Table;
use crate::hash_seed::HashSeed;
use crate::ids::OrderId;
use crate::memory::Pages;
use crate::order::Order;

/// See the module.
pub(crate) struct Index {
    /// Slots by id modulo their count, a power of two.
    window: Box<[u32]>,
    mask: u64,
    /// Resting orders that fell out of the window.
    old: Table<u32>,
    /// The youngest order that ever did.
    youngest_old: OrderId,
}

impl Index {
    /// An index for about `capacity` resting orders.
    pub(crate) fn new(capacity: usize, pages: Pages, seed: &HashSeed) -> Index {
        // Resting orders lie scattered among ids of orders that ended, and one that falls out of the window costs a search
        // of the table from then on: sixteen ids each, as much memory as their records take.
        let cells = (capacity * 16).next_power_of_two().max(4096);
        Index {
            window: pages.reserved(cells, cells).into_boxed_slice(),
            mask: cells as u64 - 1,
            old: Table::new(capacity / 4, seed),
            youngest_old: 0,
        }
    }

    /// The slot of an order, or `NONE`.
    #[inline(always)]
    pub(crate) fn find<const CHUNK: usize>(&self, pool: &Pool<Order, CHUNK>, id: OrderId) -> u32 {
        let slot = self.window[(id & self.mask) as usize];
        // Slot 0 is no order, whatever its record holds.
        if pool.get(slot).id == id && slot != NONE {
            return slot;
        }
        self.find_old(id)
    }

    /// An order that is not in the window has mostly ended, and cancels often come too late: that the table cannot hold it
    /// is said without a look at memory that nobody else keeps near.
    #[cold]
    #[inline(never)]
    fn find_old(&self, id: OrderId) -> u32 {
        if id > self.youngest_old { NONE } else { self.old.find(id).unwrap_or(NONE) }
    }

    /// The cell that `find` reads first.
    #[inline(always)]
    pub(crate) fn cell(&self, id: OrderId) -> &u32 {
        &self.window[(id & self.mask) as usize]
    }

    /// Enters an order. Ids must come in ascending order, but for one that was taken out before.
    #[inline(always)]
    pub(crate) fn insert<const CHUNK: usize>(&mut self, pool: &Pool<Order, CHUNK>, id: OrderId, slot: u32) {
        let cell = &mut self.window[(id & self.mask) as usize];
        let before = std::mem::replace(cell, slot);
        if before != NONE {
            self.age(pool.get(before).id, before);
        }
    }

    /// Keeps an order whose cell was taken.
    #[inline(never)]
    fn age(&mut self, id: OrderId, slot: u32) {
        self.youngest_old = self.youngest_old.max(id);
        *self.old.entry(id) = slot;
    }

    /// Takes an order out that is in.
    #[inline(always)]
    pub(crate) fn remove(&mut self, id: OrderId, slot: u32) {
        let cell = &mut self.window[(id & self.mask) as usize];
        if *cell == slot {
            *cell = NONE;
        } else {
            self.old.remove(id);
        }
    }

    /// Count of orders that are in.
    pub(crate) fn len(&self) -> usize {
        self.window.iter().filter(|&&slot| slot != NONE).count() + self.old.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_young_and_old_orders_and_forgets_ended_ones() {
        let mut pool: Pool<Order, 16> = Pool::new(0, 0, Pages::Small);
        let mut index = Index::new(0, Pages::Small, &HashSeed::default());
        let mut slots = std::collections::BTreeMap::new();
        for id in 1..60_000u64 {
            let slot = pool.take();
            pool.get_mut(slot).id = id;
            index.insert(&pool, id, slot);
            slots.insert(id, slot);
            // One in fifty rests for ever; the others end after 700.
            if id > 700 && (id - 700) % 50 != 0 {
                let ended = id - 700;
                let slot = slots.remove(&ended).unwrap();
                assert_eq!(index.find(&pool, ended), slot);
                index.remove(ended, slot);
                pool.give(slot);
                assert_eq!(index.find(&pool, ended), NONE);
            }
        }
        for (&id, &slot) in &slots {
            assert_eq!(index.find(&pool, id), slot);
        }
        assert_eq!(index.len(), slots.len());
        assert_eq!((index.find(&pool, 0), index.find(&pool, u64::MAX)), (NONE, NONE));
        for (id, slot) in slots {
            index.remove(id, slot);
            pool.give(slot);
        }
        assert_eq!((index.len(), pool.count()), (0, Ok(0)));
    }
}
