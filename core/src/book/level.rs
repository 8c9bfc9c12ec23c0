//! Price levels of all books: the queue of one price, and leaves of 64 neighbouring ones.

use super::pool::NONE;
use crate::memory::Pages;
use crate::money::Price;

/// Levels per leaf.
pub(crate) const FAN: u64 = 64;
/// Leaves added at a time beyond those taken at start.
const CHUNK: usize = 16;

/// One price: a queue of orders, oldest first, and the sum of what is open. Half a cache line. A level without orders
/// has neither head nor tail, total 0, and a price that means nothing.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Level {
    /// Sum of open quantities; more than an `i64` can hold.
    pub(crate) total: i128,
    pub(crate) price: Price,
    /// Oldest order.
    pub(crate) head: u32,
    /// Youngest order.
    pub(crate) tail: u32,
}

const _: () = assert!(size_of::<Level>() == 32);

impl Level {
    /// Whether no order is at this price.
    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.head == NONE
    }
}

/// Which of 64 neighbouring keys of a side have a level.
#[derive(Clone, Copy)]
pub(crate) struct Leaf {
    pub(crate) bits: u64,
    /// First key / 64; `u64::MAX` while it is free.
    pub(crate) number: u64,
}

impl Default for Leaf {
    fn default() -> Leaf {
        Leaf { bits: 0, number: u64::MAX }
    }
}

/// See the module. A level is named by a handle, leaf x 64 + place, valid while the level is not empty. Leaf 0 is never
/// handed out.
pub(crate) struct Levels {
    levels: Vec<Level>,
    leaves: Vec<Leaf>,
    free: Vec<u32>,
}

impl Levels {
    /// Memory for the levels of about `capacity` resting orders.
    pub(crate) fn new(capacity: usize, pages: Pages) -> Levels {
        let leaves = 64 + capacity / 256;
        let reserve = 4 * leaves + 4096;
        let mut levels = Levels {
            levels: pages.reserved(leaves * FAN as usize, reserve * FAN as usize),
            leaves: pages.reserved(leaves, reserve),
            free: Vec::with_capacity(reserve),
        };
        levels.free.extend((1..leaves as u32).rev());
        levels
    }

    #[inline(always)]
    pub(crate) fn get(&self, handle: u32) -> &Level {
        &self.levels[handle as usize]
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, handle: u32) -> &mut Level {
        &mut self.levels[handle as usize]
    }

    #[inline(always)]
    pub(crate) fn leaf(&self, place: u32) -> &Leaf {
        &self.leaves[place as usize]
    }

    #[inline(always)]
    pub(crate) fn leaf_mut(&mut self, place: u32) -> &mut Leaf {
        &mut self.leaves[place as usize]
    }

    /// A leaf for the keys from `number` x 64.
    pub(crate) fn take(&mut self, number: u64) -> u32 {
        let place = match self.free.pop() {
            Some(place) => place,
            None => self.grow(),
        };
        *self.leaf_mut(place) = Leaf { bits: 0, number };
        place
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let first = self.leaves.len();
        let leaves = first + CHUNK;
        assert!(leaves <= 1 << 26, "handles of levels have 32 bits");
        self.levels.resize(leaves * FAN as usize, Level::default());
        self.leaves.resize(leaves, Leaf::default());
        // Room to give every leaf back, so that giving back never allocates.
        self.free.reserve(self.leaves.len());
        self.free.extend((first as u32 + 1..self.leaves.len() as u32).rev());
        first as u32
    }

    /// Gives a leaf without levels back.
    pub(crate) fn give(&mut self, place: u32) {
        *self.leaf_mut(place) = Leaf::default();
        self.free.push(place);
    }

    /// Count of leaves in use.
    pub(crate) fn used(&self) -> usize {
        self.leaves.len() - 1 - self.free.len()
    }
}
