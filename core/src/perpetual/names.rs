//! Which names open orders have: a multiset of hashes of account and name, open addressing, eight bytes a cell.
//!
//! It says at once that a name is free. Where it says otherwise, orders may only have the same hash: whoever must know
//! compares the names themselves.

use crate::memory::Pages;
use crate::prefetch::prefetch;

/// A cell without a name; no name's hash.
const FREE: u64 = 0;

/// See the module.
pub(crate) struct Names {
    cells: Vec<u64>,
    /// 64 minus the binary logarithm of the count of cells.
    shift: u32,
    len: usize,
    /// So many names there may be: two thirds of the cells.
    most: usize,
}

impl Names {
    /// Room for the names of `capacity` orders.
    pub(crate) fn new(capacity: usize, pages: Pages) -> Names {
        // A quarter of the cells at most, as long as no more are open: a second look at one is a branch that nothing foretells.
        let len = (capacity * 3).next_power_of_two().max(16);
        let mut cells = pages.reserved(0, len);
        cells.resize(len, FREE);
        Names { cells, shift: 64 - len.trailing_zeros(), len: 0, most: len * 2 / 3 }
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

    /// Where a name that no open order has would go; `None` where one may have it. To be filled before anything else changes.
    #[inline(always)]
    pub(crate) fn vacancy(&self, name: u64) -> Option<usize> {
        let cell = self.probe(name);
        (self.cells[cell] == FREE).then_some(cell)
    }

    /// Enters a name at its [`Names::vacancy`].
    #[inline(always)]
    pub(crate) fn fill(&mut self, vacancy: usize, name: u64) {
        if self.len >= self.most {
            return self.add(name);
        }
        self.len += 1;
        self.cells[vacancy] = name;
    }

    /// Enters a name, once more where it is in.
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
        let mut larger = Names::new(self.cells.len() / 2, Pages::Small);
        self.cells.iter().filter(|&&name| name != FREE).for_each(|&name| larger.add(name));
        *self = larger;
    }

    /// Forgets a name that is in, once. Names behind it move up, so that no probe is cut short.
    #[inline]
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

    #[test]
    fn behaves_as_a_multiset_under_random_use() {
        let mut names = Names::new(0, Pages::Small);
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
                    let vacancy = names.vacancy(name);
                    assert_eq!(vacancy.is_none(), model.contains_key(&name));
                    if let Some(vacancy) = vacancy {
                        names.fill(vacancy, name);
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
            assert_eq!(names.vacancy(name).is_none(), model.contains_key(&name));
        }
        for name in model.keys() {
            assert_eq!(names.vacancy(*name), None);
        }
    }
}
