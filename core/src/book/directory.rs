//! Leaves of a side by their numbers: an address for each in a stretch of prices as wide as the directory, and a bit for each
//! that has levels, so that the next one is found without a look at those that have none.

use super::level::{Leaf, Levels};

/// Leaves in it.
const CELLS: usize = 1024;
/// Words of a bit for each of its cells.
const WORDS: usize = CELLS / 64;
const _: () = assert!(WORDS == u16::BITS as usize);

/// See the module. A leaf is *in use* while it has levels.
pub(crate) struct Directory {
    /// Place of the leaf, by its number modulo the size; the leaf itself says whether it is the one.
    places: Box<[u32; CELLS]>,
    /// Which cells have a leaf.
    taken: [u64; WORDS],
    /// Which of those leaves are in use.
    in_use: [u64; WORDS],
    /// Which words of that are not 0.
    words_in_use: u16,
    /// Word in which a leaf that is not in use was found last.
    hand: usize,
}

#[inline(always)]
fn cell_of(number: u64) -> usize {
    number as usize % CELLS
}

impl Directory {
    pub(crate) fn new() -> Directory {
        Directory {
            places: Box::new([0; CELLS]),
            taken: [0; WORDS],
            in_use: [0; WORDS],
            words_in_use: 0,
            hand: 0,
        }
    }

    /// Where the leaf of a number would be: the place of some leaf, or 0.
    #[inline(always)]
    pub(crate) fn place(&self, number: u64) -> u32 {
        self.places[cell_of(number)]
    }

    /// Places of all leaves in it.
    pub(crate) fn places(&self) -> impl Iterator<Item = u32> + '_ {
        self.places.iter().copied().filter(|&place| place != 0)
    }

    /// Enters a leaf that is not in use; `false` where another has its cell.
    pub(crate) fn insert(&mut self, number: u64, place: u32) -> bool {
        let cell = cell_of(number);
        let is_free = self.places[cell] == 0;
        if is_free {
            self.places[cell] = place;
            self.taken[cell / 64] |= 1 << (cell % 64);
        }
        is_free
    }

    /// Takes a leaf out that is not in use; `false` where it is not in.
    pub(crate) fn remove(&mut self, number: u64, place: u32) -> bool {
        let cell = cell_of(number);
        let is_in = self.places[cell] == place;
        if is_in {
            self.places[cell] = 0;
            self.taken[cell / 64] &= !(1 << (cell % 64));
        }
        is_in
    }

    /// A leaf comes into use; nothing happens where it is not in.
    #[inline(always)]
    pub(crate) fn mark(&mut self, number: u64, place: u32) {
        let cell = cell_of(number);
        if self.places[cell] == place {
            self.in_use[cell / 64] |= 1 << (cell % 64);
            self.words_in_use |= 1 << (cell / 64);
        }
    }

    /// A leaf is not in use any more; nothing happens where it is not in.
    #[inline(always)]
    pub(crate) fn unmark(&mut self, number: u64, place: u32) {
        let cell = cell_of(number);
        if self.places[cell] == place {
            self.in_use[cell / 64] &= !(1 << (cell % 64));
            self.words_in_use &= !(u16::from(self.in_use[cell / 64] == 0) << (cell / 64));
        }
    }

    /// The place of some leaf that is not in use.
    pub(crate) fn any_unused(&mut self) -> Option<u32> {
        for _ in 0..WORDS {
            let unused = self.taken[self.hand] & !self.in_use[self.hand];
            if unused != 0 {
                return Some(self.places[self.hand * 64 + unused.trailing_zeros() as usize]);
            }
            self.hand = (self.hand + 1) % WORDS;
        }
        None
    }

    /// The first leaf in use behind `number`, and its place. Cells come in order of their distance from that of `number`, so
    /// the first leaf that is no further away than the directory is wide is the nearest.
    #[inline(always)]
    pub(crate) fn after(&self, levels: &Levels, number: u64) -> Option<(u32, Leaf)> {
        let first = cell_of(number);
        let mut distance = 0;
        let mut nearest: Option<(u32, Leaf)> = None;
        while let Some(cell) = self.cell_after((first + distance) % CELLS) {
            let before = distance;
            distance = cell.wrapping_sub(first + 1) % CELLS + 1;
            if distance <= before {
                break;
            }
            let place = self.places[cell];
            let leaf = *levels.leaf(place);
            if leaf.number > number {
                if leaf.number - number <= CELLS as u64 {
                    return Some((place, leaf));
                }
                if nearest.is_none_or(|(_, nearest)| leaf.number < nearest.number) {
                    nearest = Some((place, leaf));
                }
            }
        }
        nearest
    }

    /// The next cell in use behind `cell`, around the end up to `cell` itself.
    #[inline(always)]
    fn cell_after(&self, cell: usize) -> Option<usize> {
        let word = cell / 64;
        let behind = self.in_use[word] & (!1 << (cell % 64));
        if behind != 0 {
            return Some(word * 64 + behind.trailing_zeros() as usize);
        }
        if self.words_in_use == 0 {
            return None;
        }
        let next = self.words_in_use.rotate_right(word as u32 + 1).trailing_zeros() as usize;
        let word = (word + 1 + next) % WORDS;
        Some(word * 64 + self.in_use[word].trailing_zeros() as usize)
    }

    /// Checks that the bits say of every cell what its leaf says.
    pub(crate) fn check(&self, levels: &Levels) -> Result<(), String> {
        let is_set = |words: &[u64; WORDS], cell: usize| words[cell / 64] >> (cell % 64) & 1 == 1;
        let cells_agree = (0..CELLS).all(|cell| {
            let place = self.places[cell];
            is_set(&self.taken, cell) == (place != 0)
                && is_set(&self.in_use, cell) == (levels.leaf(place).bits != 0)
        });
        let words_agree =
            (0..WORDS).all(|word| (self.words_in_use >> word & 1 == 1) == (self.in_use[word] != 0));
        if cells_agree && words_agree {
            Ok(())
        } else {
            Err("cells of the directory are not marked as they are used".into())
        }
    }
}
