//! One side of a book: its price levels, best first.
//!
//! A price is a *key*: its count of grid steps for sells, the complement of it for buys, so the best price of
//! either side is the smallest key, and no code here asks which side it is. Levels stand in leaves of 64
//! neighbouring keys, a bit each for those in use. A leaf stands in a directory indexed by its number, which serves any
//! stretch of prices as wide as itself. Leaves whose cell is taken, as in a book wider than that, stand elsewhere: they are
//! found by a table, and in order through nodes of 64 bits, each bit a non-empty node or leaf below. The range of prices is
//! that of the integer.
//!
//! A leaf whose last order has left stays, unmarked: where orders come and go, it is soon wanted again. Some such leaf is
//! closed for each one opened while more than a few and twice those in use are open, so memory is bounded by the count of
//! levels in use.

use super::directory::Directory;
use super::level::{FAN, Leaf, Level, Levels};
use super::pool::NONE;
use super::table::Table;
use crate::command::Side as WhichSide;
use crate::hash_seed::HashSeed;
use crate::money::Price;
use std::hint::select_unpredictable;

/// Best key of an empty side, behind every other.
pub(crate) const EMPTY: u64 = u64::MAX;
/// Before every key.
const UNKNOWN: u64 = 0;
const FAN_BITS: u32 = FAN.trailing_zeros();
/// Heights of nodes are 1..=TOP; at TOP there is one node. A key has 63 bits, a leaf's number 57.
const TOP: u32 = 10;
const _: () = assert!(FAN_BITS * (TOP + 1) >= 63);
/// So many leaves of a side may be open beside twice those in use.
const FREELY_OPEN: usize = 16;

/// See the module. As large as a power of two, so that the one of a book's two sides is found by a shift.
#[repr(align(512))]
pub(crate) struct Side {
    /// 0 for sells, all ones of a positive `i64` for buys.
    mask: u64,
    best: u64,
    /// Handle of the best level; means nothing when the side is empty.
    best_level: u32,
    /// Key of the level behind the best, or of one that was there: no level is between. `UNKNOWN` where nothing is said.
    second: u64,
    /// Handle of that level while it is one.
    second_level: u32,
    /// Leaves that are open.
    open: usize,
    /// Those of them that have levels.
    used: usize,
    /// Those of them whose cell was free.
    directory: Directory,
    /// Leaves that are not in the directory.
    elsewhere: Table<u32>,
    /// Those in order: height and number of a node -> bits of its children.
    nodes: Table<u64>,
}

impl Side {
    pub(crate) fn new(side: WhichSide, seed: &HashSeed) -> Side {
        let mask = match side {
            WhichSide::Buy => i64::MAX as u64,
            WhichSide::Sell => 0,
        };
        Side {
            mask,
            best: EMPTY,
            best_level: 0,
            second: UNKNOWN,
            second_level: 0,
            open: 0,
            used: 0,
            directory: Directory::new(),
            elsewhere: Table::new(64, seed),
            nodes: Table::new(128, seed),
        }
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
    pub(crate) fn best_price(&self, levels: &Levels) -> Option<Price> {
        (self.best != EMPTY).then(|| levels.get(self.best_level).price)
    }

    /// The place of a leaf, 0 where there is none.
    #[inline(always)]
    fn find(&self, levels: &Levels, number: u64) -> u32 {
        let place = self.directory.place(number);
        if levels.leaf(place).number == number { place } else { self.find_elsewhere(number) }
    }

    #[inline(never)]
    fn find_elsewhere(&self, number: u64) -> u32 {
        if self.elsewhere.len() == 0 { 0 } else { self.elsewhere.find(number).unwrap_or(0) }
    }

    /// Handle of the level that a key has or would have; of one that is never used where not even its leaf exists.
    #[inline(always)]
    pub(crate) fn hint(&self, levels: &Levels, key: u64) -> u32 {
        let place = self.directory.place(key / FAN);
        select_unpredictable(levels.leaf(place).number == key / FAN, handle(place, key), 0)
    }

    /// The level of a key and its handle; the caller puts an order into it at once. Takes the same steps whether the level
    /// is new or not: nothing tells beforehand.
    #[inline(always)]
    pub(crate) fn enter<'l>(
        &mut self,
        levels: &'l mut Levels,
        key: u64,
        price: Price,
    ) -> (u32, &'l mut Level) {
        let place = self.directory.place(key / FAN);
        if levels.leaf(place).number == key / FAN {
            self.enter_at(levels, place, key, price)
        } else {
            self.enter_elsewhere(levels, key, price)
        }
    }

    /// The same for a key whose leaf is not in the directory, if it is open at all.
    #[inline(never)]
    fn enter_elsewhere<'l>(
        &mut self,
        levels: &'l mut Levels,
        key: u64,
        price: Price,
    ) -> (u32, &'l mut Level) {
        let place = match self.find_elsewhere(key / FAN) {
            0 => self.open_leaf(levels, key / FAN),
            place => place,
        };
        self.enter_at(levels, place, key, price)
    }

    /// The same for a key whose leaf is at `place`.
    #[inline(always)]
    fn enter_at<'l>(
        &mut self,
        levels: &'l mut Levels,
        place: u32,
        key: u64,
        price: Price,
    ) -> (u32, &'l mut Level) {
        let handle = handle(place, key);
        let leaf = levels.leaf_mut(place);
        if leaf.bits == 0 {
            self.used = self.used.wrapping_add(1);
            self.directory.mark(key / FAN, place);
        }
        leaf.bits |= 1u64 << (key % FAN);
        let (best, best_level) = (self.best, self.best_level);
        let is_best = key < best;
        self.best = select_unpredictable(is_best, key, best);
        self.best_level = select_unpredictable(is_best, handle, best_level);
        self.second = select_unpredictable(is_best, best, self.second);
        self.second_level = select_unpredictable(is_best, best_level, self.second_level);
        if best < key && key < self.second {
            self.second = key;
            self.second_level = handle;
        }
        let level = levels.get_mut(handle);
        level.price = price;
        (handle, level)
    }

    #[inline(never)]
    fn open_leaf(&mut self, levels: &mut Levels, number: u64) -> u32 {
        // Two for one: fewer may be open than when there were more in use.
        for _ in 0..2 {
            if self.open >= FREELY_OPEN + 2 * self.used {
                self.close_any_unused(levels);
            }
        }
        self.open += 1;
        self.close_if_unused(levels, self.directory.place(number));
        let place = levels.take(number);
        if !self.directory.insert(number, place) {
            self.open_elsewhere(number, place);
        }
        place
    }

    #[cold]
    fn open_elsewhere(&mut self, number: u64, place: u32) {
        *self.elsewhere.entry(number) = place;
        for height in 1..=TOP {
            let bits = self.nodes.entry(node(height, number));
            let was = *bits;
            *bits |= child_bit(height, number);
            if was != 0 {
                break;
            }
        }
    }

    /// Takes a level out if its last order has left it; the best price moves on if it was the best.
    #[inline(always)]
    pub(crate) fn leave(&mut self, levels: &mut Levels, handle: u32, is_empty: bool) {
        if !is_empty {
            return;
        }
        let place = handle / FAN as u32;
        let leaf = levels.leaf_mut(place);
        leaf.bits &= !(1u64 << (handle % FAN as u32));
        if leaf.bits == 0 {
            self.used = self.used.wrapping_sub(1);
            self.directory.unmark(leaf.number, place);
        }
        if handle == self.best_level {
            self.move_on(levels);
        }
    }

    /// The best level has ended. The next is mostly the one that was the best before it.
    #[inline(never)]
    fn move_on(&mut self, levels: &mut Levels) {
        let (key, handle) = (self.second, self.second_level);
        let leaf = levels.leaf(handle / FAN as u32);
        if leaf.number == key / FAN && leaf.bits >> (key % FAN) & 1 == 1 {
            self.best = key;
            self.best_level = handle;
            self.second = UNKNOWN;
        } else {
            self.search(levels);
        }
    }

    /// Finds the level behind the best, which has ended, and makes it the best.
    #[inline(never)]
    fn search(&mut self, levels: &mut Levels) {
        self.second = UNKNOWN;
        let number = self.best / FAN;
        let place = self.best_level / FAN as u32;
        let leaf = *levels.leaf(place);
        if leaf.bits != 0 {
            return self.make_best(place, leaf);
        }
        while let Some((place, leaf)) = self.leaf_after(levels, number) {
            if leaf.bits != 0 {
                return self.make_best(place, leaf);
            }
            self.close_leaf(levels, place, leaf.number);
        }
        self.best = EMPTY;
        self.best_level = 0;
    }

    /// Closes a leaf that is not in use.
    #[inline(never)]
    fn close_any_unused(&mut self, levels: &mut Levels) {
        match self.directory.any_unused() {
            Some(place) => self.close_leaf(levels, place, levels.leaf(place).number),
            None => self.close_unused_elsewhere(levels),
        }
    }

    /// Closes every leaf that is neither in the directory nor in use.
    #[cold]
    fn close_unused_elsewhere(&mut self, levels: &mut Levels) {
        let mut next = self.elsewhere.find(0).map(|_| 0).or_else(|| self.elsewhere_after(0));
        while let Some(number) = next {
            self.close_if_unused(levels, self.elsewhere.find(number).unwrap_or(0));
            next = self.elsewhere_after(number);
        }
    }

    /// Closes the leaf at `place`, if there is one, unless it is in use.
    #[inline(always)]
    fn close_if_unused(&mut self, levels: &mut Levels, place: u32) {
        let leaf = *levels.leaf(place);
        if place != 0 && leaf.bits == 0 {
            self.close_leaf(levels, place, leaf.number);
        }
    }

    #[inline(always)]
    fn make_best(&mut self, place: u32, leaf: Leaf) {
        self.best = leaf.number * FAN + u64::from(leaf.bits.trailing_zeros());
        self.best_level = handle(place, self.best);
    }

    #[inline(always)]
    fn close_leaf(&mut self, levels: &mut Levels, place: u32, number: u64) {
        self.open -= 1;
        if !self.directory.remove(number, place) {
            self.close_elsewhere(number);
        }
        levels.give(place);
    }

    #[cold]
    fn close_elsewhere(&mut self, number: u64) {
        self.elsewhere.remove(number);
        for height in 1..=TOP {
            let bits = self.nodes.entry(node(height, number));
            *bits &= !child_bit(height, number);
            if *bits != 0 {
                break;
            }
            self.nodes.remove(node(height, number));
        }
    }

    /// The first leaf behind `number` that may be in use, and its place: one that is not in the directory need not be.
    #[inline(always)]
    fn leaf_after(&self, levels: &Levels, number: u64) -> Option<(u32, Leaf)> {
        let near = self.directory.after(levels, number);
        if self.elsewhere.len() == 0 { near } else { self.nearer(levels, number, near) }
    }

    /// `near`, or the first leaf behind `number` that is not in the directory, where that is nearer.
    #[cold]
    fn nearer(&self, levels: &Levels, number: u64, near: Option<(u32, Leaf)>) -> Option<(u32, Leaf)> {
        let Some(far) = self.elsewhere_after(number) else { return near };
        if near.is_some_and(|(_, leaf)| leaf.number < far) {
            return near;
        }
        let place = self.elsewhere.find(far)?;
        Some((place, *levels.leaf(place)))
    }

    /// Number of the first leaf behind `number` that is not in the directory.
    fn elsewhere_after(&self, number: u64) -> Option<u64> {
        for height in 1..=TOP {
            let bits = self.nodes.find(node(height, number)).unwrap_or(0);
            let child = child_bit(height, number);
            let behind = bits & !(child | (child - 1));
            if behind == 0 {
                continue;
            }
            let mut below = parent(height, number) << FAN_BITS | u64::from(behind.trailing_zeros());
            for height in (1..height).rev() {
                let bits = match self.nodes.find(u64::from(height) << 58 | below) {
                    Some(bits) => bits,
                    None => unreachable!("a node whose bit is set exists"),
                };
                below = below << FAN_BITS | u64::from(bits.trailing_zeros());
            }
            return Some(below);
        }
        None
    }

    /// Handle of the level behind that of `handle`.
    pub(crate) fn after(&self, levels: &Levels, handle: u32) -> Option<u32> {
        let Leaf { bits, number } = *levels.leaf(handle / FAN as u32);
        let bit = 1u64 << (handle % FAN as u32);
        let behind = bits & !(bit | (bit - 1));
        if behind != 0 {
            return Some(handle / FAN as u32 * FAN as u32 + behind.trailing_zeros());
        }
        let (mut place, mut leaf) = self.leaf_after(levels, number)?;
        while leaf.bits == 0 {
            (place, leaf) = self.leaf_after(levels, leaf.number)?;
        }
        Some(place * FAN as u32 + leaf.bits.trailing_zeros())
    }

    /// Levels, best first.
    pub(crate) fn iter<'a>(&'a self, levels: &'a Levels) -> impl Iterator<Item = &'a Level> + 'a {
        let mut next = (self.best != EMPTY).then_some(self.best_level);
        std::iter::from_fn(move || {
            let handle = next?;
            next = self.after(levels, handle);
            Some(levels.get(handle))
        })
    }

    /// Checks that directory, table, nodes, bits, best and levels tell one story: the handles of all levels, best first,
    /// and the count of open leaves.
    pub(crate) fn check(&self, levels: &Levels, grid: i64) -> Result<(Vec<u32>, usize), String> {
        let mut handles = Vec::new();
        let mut next = (self.best != EMPTY).then_some(self.best_level);
        let (mut last, mut last_leaf, mut in_use) = (None, 0, 0);
        while let Some(handle) = next {
            let leaf = levels.leaf(handle / FAN as u32);
            let key = leaf.number * FAN + u64::from(handle % FAN as u32);
            if last.is_some_and(|last| last >= key) {
                return Err(format!("levels out of order at key {key}"));
            }
            if last.is_none() && key != self.best {
                return Err(format!("best is {} but the best level's key is {key}", self.best));
            }
            last = Some(key);
            let level = levels.get(handle);
            if (key ^ self.mask) as i128 * i128::from(grid) != i128::from(level.price) {
                return Err(format!("key {key} and price {} of a level differ", level.price));
            }
            if level.is_empty() || level.tail == NONE || level.total <= 0 {
                return Err(format!("level {} is empty but not taken out", level.price));
            }
            if handle / FAN as u32 != last_leaf {
                last_leaf = handle / FAN as u32;
                in_use += 1;
                if self.find(levels, leaf.number) != last_leaf {
                    return Err(format!("leaf {} is not found by its number", leaf.number));
                }
            }
            handles.push(handle);
            next = self.after(levels, handle);
        }
        let all = self.directory.places().chain(self.elsewhere.iter().map(|(_, place)| place));
        let (unused, used): (Vec<_>, Vec<_>) = all.partition(|&place| levels.leaf(place).bits == 0);
        if used.len() != in_use || used.len() != self.used || used.len() + unused.len() != self.open {
            return Err(format!(
                "{in_use} leaves have levels, of {} in use and {} open",
                used.len(),
                self.open
            ));
        }
        self.directory.check(levels)?;
        let children: usize = self.nodes.iter().map(|(_, bits)| bits.count_ones() as usize).sum();
        let elsewhere = self.elsewhere.len();
        let roots = usize::from(elsewhere > 0);
        if children + roots != self.nodes.len() + elsewhere || self.nodes.iter().any(|(_, bits)| bits == 0) {
            return Err("summary nodes do not match the leaves that are elsewhere".into());
        }
        Ok((handles, self.open))
    }
}

#[inline(always)]
fn handle(place: u32, key: u64) -> u32 {
    place.wrapping_mul(FAN as u32) | (key % FAN) as u32
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

    #[test]
    fn best_and_order_agree_with_a_set_over_the_whole_range() {
        for which in [WhichSide::Buy, WhichSide::Sell] {
            let mut levels = Levels::new(0, crate::memory::Pages::Small);
            let mut side = Side::new(which, &HashSeed::default());
            let mut model: BTreeSet<u64> = BTreeSet::new();
            let (mut random, mut most_used) = (3u64, 0);
            for step in 0..60_000u32 {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let width = [6, 9, 18, 62][step as usize / 500 % 4];
                let steps = 1 + ((random >> 1) >> (63 - width));
                let key = side.key(steps);
                if model.contains(&key) {
                    let place = side.find(&levels, key / FAN);
                    side.leave(&mut levels, handle(place, key), true);
                    model.remove(&key);
                } else if step % 3 != 0 || model.is_empty() {
                    let price = (key ^ side.mask) as i64;
                    let (handle, _) = side.enter(&mut levels, key, price);
                    *levels.get_mut(handle) = Level { total: 1, price, head: 1, tail: 1 };
                    model.insert(key);
                } else {
                    let first = model.pop_first().unwrap();
                    assert_eq!(first, side.best());
                    side.leave(&mut levels, side.best_level(), true);
                }
                assert_eq!(side.best(), model.first().copied().unwrap_or(EMPTY));
                most_used = most_used.max(side.used);
                assert!(side.open <= FREELY_OPEN + 2 * most_used);
                if step % 500 == 0 {
                    let (handles, leaves) = side.check(&levels, 1).unwrap();
                    assert_eq!((handles.len(), leaves), (model.len(), levels.used()));
                    let keys: Vec<u64> =
                        side.iter(&levels).map(|level| side.key(level.price as u64)).collect();
                    assert_eq!(keys, model.iter().copied().collect::<Vec<_>>());
                }
            }
            while side.best() != EMPTY {
                side.leave(&mut levels, side.best_level(), true);
            }
            assert_eq!(side.check(&levels, 1), Ok((Vec::new(), levels.used())));
            while side.open > 0 {
                side.close_any_unused(&mut levels);
            }
            assert_eq!((side.nodes.len(), levels.used()), (0, 0));
            assert_eq!(side.check(&levels, 1), Ok((Vec::new(), 0)));
        }
    }
}
