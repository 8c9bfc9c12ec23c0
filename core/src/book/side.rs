//! One side of a book: its price levels, best first.
//!
//! A price is a *key*: its count of grid steps for sells, the complement of it for buys, so the best price of
//! either side is the smallest key, and no code here asks which side it is. Levels stand in leaves of 64
//! neighbouring keys, a bit each for those in use; leaves are found by a table, and in order through nodes of
//! 64 bits, each bit a non-empty node or leaf below. Nodes and leaves exist only where orders rest, so the range
//! of prices is that of the integer and memory is bounded by the count of levels in use. A level is named by a
//! handle: leaf x 64 + place, valid while the level is not empty.

use super::level::Level;
use super::pool::NONE;
use super::table::Table;
use crate::command::Side as WhichSide;
use crate::money::Price;

/// Best key of an empty side, behind every other.
pub(crate) const EMPTY: u64 = u64::MAX;
/// Keys per leaf and children per node.
const FAN: u64 = 64;
const FAN_BITS: u32 = 6;
/// Heights of nodes are 1..=TOP; at TOP there is one node. A key has 63 bits, a leaf's number 57.
const TOP: u32 = 10;
const _: () = assert!(FAN_BITS * (TOP + 1) >= 63);
/// Leaves whose levels are allocated together.
const LEAVES_PER_CHUNK: usize = 16;
const CHUNK: usize = LEAVES_PER_CHUNK * FAN as usize;

#[derive(Clone, Copy)]
struct Leaf {
    bits: u64,
    /// First key / 64.
    number: u64,
}

/// See the module.
pub(crate) struct Side {
    /// 0 for sells, all ones of a positive `i64` for buys.
    mask: u64,
    best: u64,
    /// Handle of the best level; means nothing when the side is empty.
    best_level: u32,
    leaves: Vec<Leaf>,
    levels: Vec<Box<[Level; CHUNK]>>,
    free: Vec<u32>,
    /// Number of a leaf -> its place.
    places: Table<u32>,
    /// Height and number of a node -> bits of its children.
    nodes: Table<u64>,
}

impl Side {
    pub(crate) fn new(side: WhichSide) -> Side {
        let mask = match side {
            WhichSide::Buy => i64::MAX as u64,
            WhichSide::Sell => 0,
        };
        let mut side = Side {
            mask,
            best: EMPTY,
            best_level: 0,
            leaves: Vec::new(),
            levels: Vec::new(),
            free: Vec::new(),
            places: Table::new(64),
            nodes: Table::new(64),
        };
        side.grow();
        side
    }

    #[cold]
    fn grow(&mut self) {
        let chunk: Box<[Level; CHUNK]> = match vec![Level::empty(0); CHUNK].into_boxed_slice().try_into() {
            Ok(chunk) => chunk,
            Err(_) => unreachable!("the vector has CHUNK elements"),
        };
        let first = self.leaves.len();
        assert!(first + LEAVES_PER_CHUNK <= 1 << 26, "handles of levels have 32 bits");
        self.levels.push(chunk);
        self.leaves.resize(first + LEAVES_PER_CHUNK, Leaf { bits: 0, number: 0 });
        self.free.reserve(self.leaves.len());
        self.free.extend((first as u32..(first + LEAVES_PER_CHUNK) as u32).rev());
    }

    /// The key of a price that is `steps` grid steps.
    #[inline(always)]
    pub(crate) fn key(&self, steps: u64) -> u64 {
        steps ^ self.mask
    }

    /// The smallest key of any order.
    #[inline(always)]
    pub(crate) fn best(&self) -> u64 {
        self.best
    }

    /// Handle of the best level; only of use when `best` is not `EMPTY`.
    #[inline(always)]
    pub(crate) fn best_level(&self) -> u32 {
        self.best_level
    }

    /// Price of the best level.
    #[inline]
    pub(crate) fn best_price(&self) -> Option<Price> {
        (self.best != EMPTY).then(|| self.level(self.best_level).price)
    }

    #[inline(always)]
    pub(crate) fn level(&self, handle: u32) -> &Level {
        &self.levels[handle as usize / CHUNK][handle as usize % CHUNK]
    }

    #[inline(always)]
    pub(crate) fn level_mut(&mut self, handle: u32) -> &mut Level {
        &mut self.levels[handle as usize / CHUNK][handle as usize % CHUNK]
    }

    /// The level of a key, for a prefetch hint.
    pub(crate) fn hint(&self, key: u64) -> Option<&Level> {
        let place = self.places.find(key / FAN)?;
        Some(self.level(place * FAN as u32 + (key % FAN) as u32))
    }

    /// The level of a key, made empty where there is none. The caller puts an order into it at once.
    #[inline]
    pub(crate) fn enter(&mut self, key: u64, price: Price) -> u32 {
        let place = match self.places.find(key / FAN) {
            Some(place) => place,
            None => self.open_leaf(key / FAN),
        };
        let leaf = &mut self.leaves[place as usize];
        let bit = 1u64 << (key % FAN);
        let handle = place * FAN as u32 + (key % FAN) as u32;
        if leaf.bits & bit == 0 {
            leaf.bits |= bit;
            *self.level_mut(handle) = Level::empty(price);
            if key < self.best {
                self.best = key;
                self.best_level = handle;
            }
        }
        handle
    }

    #[cold]
    fn open_leaf(&mut self, number: u64) -> u32 {
        let place = match self.free.pop() {
            Some(place) => place,
            None => {
                self.grow();
                match self.free.pop() {
                    Some(place) => place,
                    None => unreachable!("growing makes free leaves"),
                }
            }
        };
        self.leaves[place as usize] = Leaf { bits: 0, number };
        *self.places.entry(number) = place;
        for height in 1..=TOP {
            let bits = self.nodes.entry(node(height, number));
            let was = *bits;
            *bits |= child_bit(height, number);
            if was != 0 {
                break;
            }
        }
        place
    }

    /// Takes the level out after its last order left; the best price moves on if it was the best.
    #[inline]
    pub(crate) fn leave(&mut self, handle: u32) {
        let place = handle / FAN as u32;
        let leaf = &mut self.leaves[place as usize];
        leaf.bits &= !(1u64 << (handle % FAN as u32));
        let Leaf { bits, number } = *leaf;
        let key = number * FAN + u64::from(handle % FAN as u32);
        if bits == 0 {
            self.close_leaf(place, number, key);
        } else if key == self.best {
            let bit = bits.trailing_zeros();
            self.best = number * FAN + u64::from(bit);
            self.best_level = place * FAN as u32 + bit;
        }
    }

    #[cold]
    fn close_leaf(&mut self, place: u32, number: u64, key: u64) {
        self.places.remove(number);
        self.free.push(place);
        for height in 1..=TOP {
            let bits = self.nodes.entry(node(height, number));
            *bits &= !child_bit(height, number);
            if *bits != 0 {
                break;
            }
            self.nodes.remove(node(height, number));
        }
        if key == self.best {
            match self.leaf_after(number) {
                Some((place, bits, number)) => {
                    self.best = number * FAN + u64::from(bits.trailing_zeros());
                    self.best_level = place * FAN as u32 + bits.trailing_zeros();
                }
                None => self.best = EMPTY,
            }
        }
    }

    /// The first leaf behind `number`: (place, bits, number).
    fn leaf_after(&self, number: u64) -> Option<(u32, u64, u64)> {
        for height in 1..=TOP {
            let bits = self.nodes.find(node(height, number)).unwrap_or(0);
            // Shifting in two steps keeps the shift below 64.
            let behind = bits & !(child_bit(height, number) | (child_bit(height, number) - 1));
            if behind == 0 {
                continue;
            }
            let mut below = parent(height, number) << FAN_BITS | u64::from(behind.trailing_zeros());
            for height in (1..height).rev() {
                let bits = match self.nodes.find((u64::from(height)) << 58 | below) {
                    Some(bits) => bits,
                    None => unreachable!("a node whose bit is set exists"),
                };
                below = below << FAN_BITS | u64::from(bits.trailing_zeros());
            }
            let place = match self.places.find(below) {
                Some(place) => place,
                None => unreachable!("a leaf whose bit is set exists"),
            };
            return Some((place, self.leaves[place as usize].bits, below));
        }
        None
    }

    /// Handle of the level behind that of `handle`.
    pub(crate) fn after(&self, handle: u32) -> Option<u32> {
        let Leaf { bits, number } = self.leaves[handle as usize / FAN as usize];
        let bit = 1u64 << (handle % FAN as u32);
        let behind = bits & !(bit | (bit - 1));
        if behind != 0 {
            return Some(handle / FAN as u32 * FAN as u32 + behind.trailing_zeros());
        }
        let (place, bits, _) = self.leaf_after(number)?;
        Some(place * FAN as u32 + bits.trailing_zeros())
    }

    /// Levels, best first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Level> + '_ {
        let mut next = (self.best != EMPTY).then_some(self.best_level);
        std::iter::from_fn(move || {
            let handle = next?;
            next = self.after(handle);
            Some(self.level(handle))
        })
    }

    /// Checks that table, nodes, bits, best and levels tell one story; the handles of all levels, best first.
    pub(crate) fn check(&self, grid: i64) -> Result<Vec<u32>, String> {
        let mut handles = Vec::new();
        let mut next = (self.best != EMPTY).then_some(self.best_level);
        let mut last = None;
        while let Some(handle) = next {
            let leaf = &self.leaves[handle as usize / FAN as usize];
            let key = leaf.number * FAN + u64::from(handle % FAN as u32);
            if last.is_some_and(|last| last >= key) {
                return Err(format!("levels out of order at key {key}"));
            }
            if last.is_none() && key != self.best {
                return Err(format!("best is {} but the best level's key is {key}", self.best));
            }
            last = Some(key);
            let level = self.level(handle);
            if (key ^ self.mask) as i128 * i128::from(grid) != i128::from(level.price) {
                return Err(format!("key {key} and price {} of a level differ", level.price));
            }
            if level.head == NONE || level.tail == NONE || level.total <= 0 {
                return Err(format!("level {} is empty but not taken out", level.price));
            }
            handles.push(handle);
            next = self.after(handle);
        }
        let mut levels = 0;
        for (number, place) in self.places.iter() {
            let leaf = &self.leaves[place as usize];
            if leaf.number != number || leaf.bits == 0 {
                return Err(format!("leaf {number} is wrong"));
            }
            levels += leaf.bits.count_ones() as usize;
        }
        if levels != handles.len() {
            return Err(format!("{levels} bits but {} levels", handles.len()));
        }
        if self.places.len() + self.free.len() != self.leaves.len() {
            return Err("leaves are lost".into());
        }
        let children: usize = self.nodes.iter().map(|(_, bits)| bits.count_ones() as usize).sum();
        let roots = usize::from(!handles.is_empty());
        if children + roots != self.nodes.len() + self.places.len() || self.nodes.iter().any(|(_, b)| b == 0)
        {
            return Err("summary nodes do not match the leaves".into());
        }
        Ok(handles)
    }
}

/// Number of the node of `height` above a leaf.
#[inline]
fn parent(height: u32, leaf: u64) -> u64 {
    // At TOP the shift is 60: 0 for every leaf.
    leaf >> (FAN_BITS * height)
}

/// Its key in the table of nodes.
#[inline]
fn node(height: u32, leaf: u64) -> u64 {
    u64::from(height) << 58 | parent(height, leaf)
}

/// The bit, in the node of `height`, of the child above (or, at height 1, of) a leaf.
#[inline]
fn child_bit(height: u32, leaf: u64) -> u64 {
    1 << ((leaf >> (FAN_BITS * (height - 1))) % FAN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn fill(side: &mut Side, key: u64) {
        let handle = side.enter(key, (key ^ side.mask) as i64);
        *side.level_mut(handle) = Level { total: 1, price: (key ^ side.mask) as i64, head: 1, tail: 1 };
    }

    #[test]
    fn best_and_order_agree_with_a_set_over_the_whole_range() {
        for which in [WhichSide::Buy, WhichSide::Sell] {
            let mut side = Side::new(which);
            let mut model: BTreeSet<u64> = BTreeSet::new();
            let mut random = 3u64;
            for step in 0..60_000u32 {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let width = [6, 9, 14, 62][step as usize / 500 % 4];
                let steps = 1 + ((random >> 1) >> (63 - width));
                let key = side.key(steps);
                if model.contains(&key) {
                    let handle = side.places.find(key / FAN).unwrap() * 64 + (key % FAN) as u32;
                    side.leave(handle);
                    model.remove(&key);
                } else if step % 3 != 0 || model.is_empty() {
                    fill(&mut side, key);
                    model.insert(key);
                } else {
                    let first = model.pop_first().unwrap();
                    assert_eq!(first, side.best());
                    side.leave(side.best_level());
                }
                assert_eq!(side.best(), model.first().copied().unwrap_or(EMPTY));
                if step % 500 == 0 {
                    assert_eq!(side.check(1).unwrap().len(), model.len());
                    let keys: Vec<u64> = side.iter().map(|level| side.key(level.price as u64)).collect();
                    assert_eq!(keys, model.iter().copied().collect::<Vec<_>>());
                }
            }
            while side.best() != EMPTY {
                side.leave(side.best_level());
            }
            assert_eq!((side.nodes.len(), side.places.len()), (0, 0));
            assert_eq!(side.check(1).unwrap().len(), 0);
        }
    }
}
