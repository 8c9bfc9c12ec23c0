//! Where the terms of an open order are: order id -> slot, on the perpetual side.
//!
//! As in `book/index.rs` a window of cells, one per id modulo its size, finds the orders of the recent past by address, and
//! those that outlive their cell move to a table. A cell carries what is left of its order's id, so that nothing else has to
//! be read to know whose it is.

use crate::book::pool::NONE;
use crate::book::table::Table;
use crate::hash_seed::HashSeed;
use crate::ids::OrderId;
use crate::memory::Pages;
use crate::prefetch::prefetch;

/// See the module.
pub(crate) struct OrderIndex {
    /// Upper half: the id's bits above those of the place, lower half: the slot. 0 for a free cell.
    window: Box<[u64]>,
    mask: u64,
    /// Binary logarithm of the count of cells.
    bits: u32,
    /// Orders whose cell was taken by a younger one.
    old: Table<u32>,
    len: usize,
}

impl OrderIndex {
    /// Room for about `capacity` open orders.
    pub(crate) fn new(capacity: usize, pages: Pages, seed: &HashSeed) -> OrderIndex {
        let cells = (capacity * 4).next_power_of_two().max(4096);
        OrderIndex {
            window: pages.zeroed(cells),
            mask: cells as u64 - 1,
            bits: cells.trailing_zeros(),
            old: Table::new(capacity / 4, seed),
            len: 0,
        }
    }

    /// A cell's content. Ids are counted from 1: they stay below 2^44 for ever, and whoever asks for an id that is not one
    /// compares it with the order's own.
    #[inline(always)]
    fn cell_of(&self, id: OrderId, slot: u32) -> u64 {
        (id >> self.bits) << 32 | u64::from(slot)
    }

    /// The slot of an open order.
    #[inline(always)]
    pub(crate) fn find(&self, id: OrderId) -> Option<u32> {
        let cell = self.window[(id & self.mask) as usize];
        let slot = cell as u32;
        if slot != NONE && cell == self.cell_of(id, slot) {
            return Some(slot);
        }
        self.find_old(id)
    }

    #[cold]
    #[inline(never)]
    fn find_old(&self, id: OrderId) -> Option<u32> {
        if id == OrderId::MAX { None } else { self.old.find(id) }
    }

    /// Enters an order that is not in.
    #[inline(always)]
    pub(crate) fn insert(&mut self, id: OrderId, slot: u32) {
        let place = id & self.mask;
        let cell = self.cell_of(id, slot);
        let before = std::mem::replace(&mut self.window[place as usize], cell);
        self.len += 1;
        if before as u32 != NONE {
            let older = (before >> 32) << self.bits | place;
            *self.old.entry(older) = before as u32;
        }
    }

    /// Takes an order out that is in.
    #[inline]
    pub(crate) fn remove(&mut self, id: OrderId) {
        self.len -= 1;
        let cell = &mut self.window[(id & self.mask) as usize];
        if *cell as u32 != NONE && *cell >> 32 == (id >> self.bits) & u64::from(u32::MAX) {
            *cell = 0;
        } else {
            self.old.remove(id);
        }
    }

    /// Count of orders.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Ids and slots, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (OrderId, u32)> + '_ {
        let window = (0u64..).zip(self.window.iter()).filter(|&(_, &cell)| cell as u32 != NONE);
        window.map(|(place, &cell)| ((cell >> 32) << self.bits | place, cell as u32)).chain(self.old.iter())
    }

    /// Hints that an order is asked for soon.
    #[inline(always)]
    pub(crate) fn hint(&self, id: OrderId) {
        prefetch(&self.window[(id & self.mask) as usize]);
    }

    /// The slot of an order if it is where it is looked for first, `NONE` or another's otherwise: for hints.
    #[inline(always)]
    pub(crate) fn guess(&self, id: OrderId) -> u32 {
        self.window[(id & self.mask) as usize] as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn behaves_as_a_map_of_ascending_ids() {
        let mut order_index = OrderIndex::new(0, Pages::Small, &HashSeed::default());
        let mut model = BTreeMap::new();
        let mut random = 7u64;
        for id in 1..60_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            order_index.insert(id, (id % 977 + 1) as u32);
            model.insert(id, (id % 977 + 1) as u32);
            // One in fifty stays for ever; the others end some time after.
            if id > 700 && (id - 700) % 50 != 0 {
                order_index.remove(id - 700);
                model.remove(&(id - 700));
            }
            let asked = random % (id + 10);
            assert_eq!(order_index.find(asked), model.get(&asked).copied(), "{asked} at {id}");
        }
        assert_eq!(order_index.len(), model.len());
        let mut all: Vec<_> = order_index.iter().collect();
        all.sort_unstable();
        assert_eq!(all, model.iter().map(|(&id, &slot)| (id, slot)).collect::<Vec<_>>());
        assert_eq!((order_index.find(0), order_index.find(u64::MAX)), (None, None));
        for id in model.into_keys() {
            order_index.remove(id);
        }
        assert_eq!((order_index.len(), order_index.iter().count()), (0, 0));
    }
}
