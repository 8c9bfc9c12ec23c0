//! A slab that grows by chunks: records never move, a slot is a `u32`, freed slots are reused last in, first out.
//!
//! Slot 0 is never handed out. It stands for "none" in links, and it exists, so that code may store to the
//! neighbour of an end without asking whether there is one.

/// No slot.
pub(crate) const NONE: u32 = 0;

/// A record that can be chained into the free list while it is free.
pub(crate) trait Chained: Copy + Default {
    /// The field that holds the next free slot.
    fn chain(&mut self) -> &mut u32;
}

/// See the module. `CHUNK` is a power of two: records per allocation.
pub(crate) struct Pool<T, const CHUNK: usize> {
    chunks: Vec<Box<[T; CHUNK]>>,
    /// Head of the free list.
    free: u32,
    /// First slot that was never handed out.
    fresh: u32,
    /// Slots handed out and not given back.
    len: u32,
}

impl<T: Chained, const CHUNK: usize> Pool<T, CHUNK> {
    const SHIFT: u32 = CHUNK.trailing_zeros();

    /// A pool with memory for `capacity` records.
    pub(crate) fn new(capacity: usize) -> Self {
        const { assert!(CHUNK.is_power_of_two()) };
        let mut pool = Pool { chunks: Vec::new(), free: NONE, fresh: 1, len: 0 };
        for _ in 0..=capacity / CHUNK {
            pool.grow();
        }
        pool
    }

    #[cold]
    fn grow(&mut self) {
        assert!(self.chunks.len() < (1usize << 32) / CHUNK, "a pool holds at most 2^32 records");
        let chunk: Box<[T; CHUNK]> = match vec![T::default(); CHUNK].into_boxed_slice().try_into() {
            Ok(chunk) => chunk,
            Err(_) => unreachable!("the vector has CHUNK elements"),
        };
        self.chunks.push(chunk);
    }

    /// A slot whose content is left over from its last use.
    #[inline]
    pub(crate) fn take(&mut self) -> u32 {
        self.len += 1;
        let slot = self.free;
        if slot != NONE {
            self.free = *self.get_mut(slot).chain();
            return slot;
        }
        let slot = self.fresh;
        if slot as usize >> Self::SHIFT == self.chunks.len() {
            self.grow();
        }
        self.fresh += 1;
        slot
    }

    /// Gives a slot back.
    #[inline]
    pub(crate) fn give(&mut self, slot: u32) {
        debug_assert!(slot != NONE);
        self.len -= 1;
        let free = self.free;
        *self.get_mut(slot).chain() = free;
        self.free = slot;
    }

    #[inline(always)]
    pub(crate) fn get(&self, slot: u32) -> &T {
        &self.chunks[slot as usize >> Self::SHIFT][slot as usize & (CHUNK - 1)]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut T {
        &mut self.chunks[slot as usize >> Self::SHIFT][slot as usize & (CHUNK - 1)]
    }

    /// The record of a slot that may be out of range (a hint).
    #[inline]
    pub(crate) fn hint(&self, slot: u32) -> Option<&T> {
        self.chunks.get(slot as usize >> Self::SHIFT).map(|chunk| &chunk[slot as usize & (CHUNK - 1)])
    }

    /// Records in use.
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Length of the free list plus what was handed out and never given back: must equal `fresh - 1`.
    pub(crate) fn check(&self) -> Result<(), String> {
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
        if free + self.len != self.fresh - 1 {
            return Err(format!("{free} free and {} used slots of {}", self.len, self.fresh - 1));
        }
        Ok(())
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
        let mut pool: Pool<u32, 4> = Pool::new(0);
        let slots: Vec<u32> = (0..9).map(|_| pool.take()).collect();
        assert_eq!(slots, (1..=9).collect::<Vec<u32>>());
        let address = std::ptr::from_ref(pool.get(3));
        pool.give(3);
        pool.give(7);
        pool.check().unwrap();
        assert_eq!((pool.take(), pool.take(), pool.take()), (7, 3, 10));
        assert_eq!(std::ptr::from_ref(pool.get(3)), address);
        assert_eq!(pool.len(), 10);
        pool.check().unwrap();
    }
}
