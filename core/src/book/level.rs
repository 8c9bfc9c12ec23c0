//! Price levels of all books: the queue of one price, and leaves of 64 neighbouring ones.

use super::pool::{NONE, Space};
use crate::money::Price;

/// Levels per leaf.
pub(crate) const FAN: u64 = 64;
/// Leaves allocated together beyond those taken at start.
const LEAVES_PER_CHUNK: usize = 16;
const LEVELS_PER_CHUNK: usize = LEAVES_PER_CHUNK * FAN as usize;

/// One price: a queue of orders, oldest first, and the sum of what is open. Half a cache line.
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
    pub(crate) const fn empty(price: Price) -> Level {
        Level { total: 0, price, head: NONE, tail: NONE }
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
    levels: Space<Level, LEVELS_PER_CHUNK>,
    leaves: Space<Leaf, LEAVES_PER_CHUNK>,
    free: Vec<u32>,
}

impl Levels {
    /// Memory for the levels of about `capacity` resting orders.
    pub(crate) fn new(capacity: usize) -> Levels {
        let leaves = 64 + capacity / 256;
        let mut levels = Levels {
            levels: Space::new(leaves * FAN as usize),
            leaves: Space::new(leaves),
            free: Vec::with_capacity(leaves),
        };
        levels.free.extend((1..leaves as u32).rev());
        levels
    }

    #[inline(always)]
    pub(crate) fn get(&self, handle: u32) -> &Level {
        self.levels.get(handle)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, handle: u32) -> &mut Level {
        self.levels.get_mut(handle)
    }

    #[inline(always)]
    pub(crate) fn leaf(&self, place: u32) -> &Leaf {
        self.leaves.get(place)
    }

    #[inline(always)]
    pub(crate) fn leaf_mut(&mut self, place: u32) -> &mut Leaf {
        self.leaves.get_mut(place)
    }

    /// A leaf for the keys from `number` x 64.
    pub(crate) fn take(&mut self, number: u64) -> u32 {
        let place = match self.free.pop() {
            Some(place) => place,
            None => self.grow(),
        };
        *self.leaves.get_mut(place) = Leaf { bits: 0, number };
        place
    }

    #[cold]
    fn grow(&mut self) -> u32 {
        let first = self.leaves.len();
        assert!(first + LEAVES_PER_CHUNK <= 1 << 26, "handles of levels have 32 bits");
        self.levels.grow();
        self.leaves.grow();
        // Room to give every leaf back, so that giving back never allocates.
        self.free.reserve(self.leaves.len());
        self.free.extend((first as u32 + 1..self.leaves.len() as u32).rev());
        first as u32
    }

    /// Gives a leaf without levels back.
    pub(crate) fn give(&mut self, place: u32) {
        *self.leaves.get_mut(place) = Leaf::default();
        self.free.push(place);
    }

    /// Count of leaves in use.
    pub(crate) fn used(&self) -> usize {
        self.leaves.len() - 1 - self.free.len()
    }
}
