//! A slab: a slot is a `u32`, freed slots are reused last in, first out.
//!
//! All records lie in one piece, so reaching one costs a comparison and an addition. Address space is reserved for many
//! times more records than memory is taken for at start; the slab grows into it by chunks, moving nothing. Only past the
//! reservation, or where it was refused, does growing move records.
//!
//! Slot 0 is never handed out. It stands for "none" in links, and it exists, so that code may store to the
//! neighbour of an end without asking whether there is one.

use crate::memory::Pages;

/// No slot.
pub(crate) const NONE: u32 = 0;

/// A record that can be chained into the free list while it is free.
pub(crate) trait Chained: Copy + Default {
    /// The field that holds the next free slot.
    fn chain(&mut self) -> &mut u32;
}

/// See the module. `CHUNK` records are added at a time.
pub(crate) struct Pool<T, const CHUNK: usize> {
    slab: Vec<T>,
    /// Head of the free list.
    free: u32,
    /// First slot that was never handed out.
    fresh: u32,
}

/// All records of a pool, by slot, where one of them is given back: their count stays known from one look at a slot to the next.
pub(crate) struct Lent<'a, T> {
    pub(crate) slab: &'a mut [T],
    free: &'a mut u32,
}

impl<T: Chained> Lent<'_, T> {
    /// See [`Pool::give`].
    #[inline(always)]
    pub(crate) fn give(&mut self, slot: u32) {
        debug_assert!(slot != NONE);
        *self.slab[slot as usize].chain() = *self.free;
        *self.free = slot;
    }
}

impl<T: Chained, const CHUNK: usize> Pool<T, CHUNK> {
    /// A pool with memory for `capacity` records and address space for `reserve`.
    pub(crate) fn new(capacity: usize, reserve: usize, pages: Pages) -> Self {
        // One more for slot 0.
        Pool { slab: pages.reserved(capacity + 1, reserve + 1), free: NONE, fresh: 1 }
    }

    /// A slot whose content is left over from its last use.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> u32 {
        let slot = self.free;
        if slot != NONE {
            self.free = *self.slab[slot as usize].chain();
            return slot;
        }
        self.take_fresh()
    }

    #[cold]
    #[inline(never)]
    fn take_fresh(&mut self) -> u32 {
        let slot = self.fresh;
        if slot as usize == self.slab.len() {
            self.slab.resize(slot as usize + CHUNK, T::default());
        }
        self.fresh = slot.checked_add(1).expect("a pool holds less than 2^32 records");
        slot
    }

    /// Gives a slot back.
    #[inline(always)]
    pub(crate) fn give(&mut self, slot: u32) {
        self.lend().give(slot);
    }

    /// The records, while nothing else is asked of the pool.
    #[inline(always)]
    pub(crate) fn lend(&mut self) -> Lent<'_, T> {
        Lent { slab: &mut self.slab, free: &mut self.free }
    }

    #[inline(always)]
    pub(crate) fn get(&self, slot: u32) -> &T {
        &self.slab[slot as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.slab[slot as usize]
    }

    /// How many records were ever in use at once.
    #[inline(always)]
    pub(crate) fn most(&self) -> u32 {
        self.fresh
    }

    /// All records, by slot.
    #[inline(always)]
    pub(crate) fn slab(&mut self) -> &mut [T] {
        &mut self.slab
    }

    /// Records in use, counted by walking the free list. `Err` where that is broken.
    pub(crate) fn count(&self) -> Result<usize, String> {
        let mut free = 0u32;
        let mut slot = self.free;
        while slot != NONE {
            free += 1;
            if free >= self.fresh || slot >= self.fresh {
                return Err(format!("the free list of a pool is broken at slot {slot}"));
            }
            let mut record = *self.get(slot);
            slot = *record.chain();
        }
        Ok((self.fresh - 1 - free) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Chained for u32 {
        fn chain(&mut self) -> &mut u32 {
            self
        }
    }

    #[test]
    fn slots_come_back_last_in_first_out_and_do_not_move() {
        for capacity in [0, 2, 30] {
            let mut pool: Pool<u32, 4> = Pool::new(capacity, 40, Pages::Small);
            let slots: Vec<u32> = (0..9).map(|_| pool.take()).collect();
            assert_eq!(slots, (1..=9).collect::<Vec<u32>>());
            let address = std::ptr::from_ref(pool.get(3));
            pool.give(3);
            pool.give(7);
            assert_eq!(pool.count(), Ok(7));
            assert_eq!((pool.take(), pool.take(), pool.take()), (7, 3, 10));
            assert_eq!(std::ptr::from_ref(pool.get(3)), address);
            assert_eq!(pool.count(), Ok(10));
        }
    }
}
