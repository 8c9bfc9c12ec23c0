//! A slab: records never move, a slot is a `u32`, freed slots are reused last in, first out.
//!
//! The records that memory was taken for at start lie in one piece, so that reaching one costs a comparison; what comes
//! past them grows by chunks, and only what lies there pays for finding its chunk.
//!
//! Slot 0 is never handed out. It stands for "none" in links, and it exists, so that code may store to the
//! neighbour of an end without asking whether there is one.

/// No slot.
pub(crate) const NONE: u32 = 0;

/// Values by a dense index: one piece made at start, then chunks.
pub(crate) struct Space<T, const CHUNK: usize> {
    base: Box<[T]>,
    more: Vec<Box<[T; CHUNK]>>,
}

impl<T: Copy + Default, const CHUNK: usize> Space<T, CHUNK> {
    /// `capacity` default values.
    pub(crate) fn new(capacity: usize) -> Self {
        const { assert!(CHUNK.is_power_of_two()) };
        Space { base: vec![T::default(); capacity].into_boxed_slice(), more: Vec::new() }
    }

    /// Count of values.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.base.len() + self.more.len() * CHUNK
    }

    /// Adds a chunk of default values.
    #[cold]
    pub(crate) fn grow(&mut self) {
        let chunk: Box<[T; CHUNK]> = match vec![T::default(); CHUNK].into_boxed_slice().try_into() {
            Ok(chunk) => chunk,
            Err(_) => unreachable!("the vector has CHUNK elements"),
        };
        self.more.push(chunk);
    }

    #[inline(always)]
    pub(crate) fn get(&self, index: u32) -> &T {
        match self.base.get(index as usize) {
            Some(value) => value,
            None => self.far(index),
        }
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, index: u32) -> &mut T {
        if (index as usize) < self.base.len() { &mut self.base[index as usize] } else { self.far_mut(index) }
    }

    #[inline(never)]
    fn far(&self, index: u32) -> &T {
        let index = index as usize - self.base.len();
        &self.more[index / CHUNK][index % CHUNK]
    }

    #[inline(never)]
    fn far_mut(&mut self, index: u32) -> &mut T {
        let index = index as usize - self.base.len();
        &mut self.more[index / CHUNK][index % CHUNK]
    }
}

/// A record that can be chained into the free list while it is free.
pub(crate) trait Chained: Copy + Default {
    /// The field that holds the next free slot.
    fn chain(&mut self) -> &mut u32;
}

/// See the module.
pub(crate) struct Pool<T, const CHUNK: usize> {
    space: Space<T, CHUNK>,
    /// Head of the free list.
    free: u32,
    /// First slot that was never handed out.
    fresh: u32,
}

impl<T: Chained, const CHUNK: usize> Pool<T, CHUNK> {
    /// A pool with memory for `capacity` records.
    pub(crate) fn new(capacity: usize) -> Self {
        // One more for slot 0.
        Pool { space: Space::new(capacity + 1), free: NONE, fresh: 1 }
    }

    /// A slot whose content is left over from its last use.
    #[inline(always)]
    pub(crate) fn take(&mut self) -> u32 {
        let slot = self.free;
        if slot != NONE {
            self.free = *self.get_mut(slot).chain();
            return slot;
        }
        self.take_fresh()
    }

    #[inline(never)]
    fn take_fresh(&mut self) -> u32 {
        let slot = self.fresh;
        if slot as usize == self.space.len() {
            self.space.grow();
        }
        self.fresh = slot.checked_add(1).expect("a pool holds less than 2^32 records");
        slot
    }

    /// Gives a slot back.
    #[inline(always)]
    pub(crate) fn give(&mut self, slot: u32) {
        debug_assert!(slot != NONE);
        let free = self.free;
        *self.get_mut(slot).chain() = free;
        self.free = slot;
    }

    #[inline(always)]
    pub(crate) fn get(&self, slot: u32) -> &T {
        self.space.get(slot)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut T {
        self.space.get_mut(slot)
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
    fn slots_come_back_last_in_first_out_and_never_move() {
        for capacity in [0, 2, 30] {
            let mut pool: Pool<u32, 4> = Pool::new(capacity);
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
