//! Which names open orders have: a multiset of hashes of account and name, open addressing, eight bytes a cell.
//!
//! It says at once that a name is free. Where it says otherwise, orders may only have the same hash: whoever must know
//! compares the names themselves.

use crate::command::ClientOrder;
use crate::hash_seed::{HashSeed, fold};
use crate::ids::AccountId;
use crate::memory::Pages;
use crate::prefetch::prefetch;

/// A cell without a name; no name's hash.
const FREE: u64 = 0;

/// See the module.
pub(crate) struct ClientOrderIds {
    cells: Vec<u64>,
    /// 64 minus the binary logarithm of the count of cells.
    shift: u32,
    len: usize,
    /// So many names there may be: two thirds of the cells.
    most: usize,
    seed: HashSeed,
}

impl ClientOrderIds {
    /// Room for the names of `capacity` orders.
    pub(crate) fn new(capacity: usize, pages: Pages, seed: HashSeed) -> ClientOrderIds {
        // A quarter of the cells at most, as long as no more are open: a second look at one is a branch that nothing foretells.
        let len = (capacity * 3).next_power_of_two().max(16);
        let mut cells = pages.reserved(0, len);
        cells.resize(len, FREE);
        ClientOrderIds { cells, shift: 64 - len.trailing_zeros(), len: 0, most: len * 2 / 3, seed }
    }

    /// Spreads account and name over 64 bits, never all zero. Three products that do not wait for each other, and one over them.
    #[inline]
    pub(crate) fn hash(&self, account: AccountId, name: &ClientOrder) -> u64 {
        let word = |at: usize| match name.get(at..).and_then(|rest| rest.first_chunk()) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => unreachable!("a name is longer"),
        };
        // The last two words overlap, which loses nothing.
        let [first, second, third, fourth, last] = [0, 8, 16, 24, 28].map(word);
        let of = self.seed.words();
        let one = fold(first ^ of[0], second ^ of[1]);
        let two = fold(third ^ of[2], fourth ^ of[3]);
        let three = fold(last ^ of[4], u64::from(account) ^ of[5]);
        fold(one ^ two ^ of[6], three ^ one.rotate_left(32)) | 1
    }

    /// Where `name` is looked for first: hashes are spread already.
    #[inline(always)]
    fn home(&self, name: u64) -> usize {
        (name >> self.shift) as usize & (self.cells.len() - 1)
    }

    /// The first cell of `name`, or the free cell where it would go.
    #[inline(always)]
    fn probe(&self, name: u64) -> usize {
        let mask = self.cells.len() - 1;
        let mut cell = self.home(name);
        while self.cells[cell] != name && self.cells[cell] != FREE {
            cell = (cell + 1) & mask;
        }
        cell
    }

    /// Whether an open order may have a name: its hash is in.
    #[inline(always)]
    pub(crate) fn may_hold(&self, name: u64) -> bool {
        self.cells[self.probe(name)] != FREE
    }

    /// Enters a name, once more where it is in.
    #[inline(always)]
    pub(crate) fn add(&mut self, name: u64) {
        debug_assert!(name != FREE);
        if self.len >= self.most {
            self.grow();
        }
        let mask = self.cells.len() - 1;
        let mut cell = self.home(name);
        while self.cells[cell] != FREE {
            cell = (cell + 1) & mask;
        }
        self.cells[cell] = name;
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = ClientOrderIds::new(self.cells.len() / 2, Pages::Small, self.seed);
        self.cells.iter().filter(|&&name| name != FREE).for_each(|&name| larger.add(name));
        *self = larger;
    }

    /// Forgets a name that is in, once. Names behind it move up, so that no probe is cut short.
    #[inline(always)]
    pub(crate) fn remove(&mut self, name: u64) {
        let mask = self.cells.len() - 1;
        let mut hole = self.probe(name);
        debug_assert!(self.cells[hole] == name);
        self.len -= 1;
        let mut cell = hole;
        loop {
            cell = (cell + 1) & mask;
            let found = self.cells[cell];
            if found == FREE {
                break;
            }
            // It may move into the hole unless its home lies cyclically behind the hole.
            if cell.wrapping_sub(self.home(found)) & mask >= cell.wrapping_sub(hole) & mask {
                self.cells[hole] = found;
                hole = cell;
            }
        }
        self.cells[hole] = FREE;
    }

    /// Hints that a name is asked for soon.
    #[inline(always)]
    pub(crate) fn hint(&self, name: u64) {
        prefetch(&self.cells[self.home(name)]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Names that meet in one place of one table do not in that of another process.
    #[test]
    fn chosen_names_are_spread_by_a_seed_that_nobody_knows() {
        let known = ClientOrderIds::new(400, Pages::Small, HashSeed::default());
        let name = |number: u32| {
            let mut name = [0; 36];
            let text = format!("order-{number}");
            name[..text.len()].copy_from_slice(text.as_bytes());
            name
        };
        let home = |names: &ClientOrderIds, number| names.home(names.hash(7, &name(number)));
        let chosen: Vec<u32> = (0..).filter(|number| home(&known, *number) < 4).take(400).collect();
        for secret in 1..=50 {
            let names = ClientOrderIds::new(400, Pages::Small, HashSeed::new(secret));
            let together = chosen.iter().filter(|number| home(&names, **number) < 4).count();
            assert!(together < 10, "{together} of {}", chosen.len());
        }
    }

    #[test]
    fn behaves_as_a_multiset_under_random_use() {
        let mut names = ClientOrderIds::new(0, Pages::Small, HashSeed::default());
        let mut model: BTreeMap<u64, u32> = BTreeMap::new();
        let mut random = 7u64;
        for _ in 0..200_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Few homes, so that names crowd; never 0.
            let name = (((random >> 33) % 300 + 1) << 55) | ((random >> 40) % 2);
            match (random >> 20) % 4 {
                0 => {
                    names.add(name);
                    *model.entry(name).or_default() += 1;
                }
                1 => {
                    let is_held = names.may_hold(name);
                    assert_eq!(is_held, model.contains_key(&name));
                    if !is_held {
                        names.add(name);
                        model.insert(name, 1);
                    }
                }
                _ => {
                    if let Some(count) = model.get_mut(&name) {
                        names.remove(name);
                        *count -= 1;
                        if *count == 0 {
                            model.remove(&name);
                        }
                    }
                }
            }
            assert_eq!(names.len, model.values().sum::<u32>() as usize);
            assert_eq!(names.may_hold(name), model.contains_key(&name));
        }
        for name in model.keys() {
            assert!(names.may_hold(*name));
        }
    }
}
