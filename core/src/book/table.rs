//! An open-addressing table from `u64` keys to small values: a secret multiplier, linear probing, no tombstones.
//!
//! Its order of iteration depends on its history, so nothing that leaves the engine may be read off it in that
//! order.

use crate::hash_seed::HashSeed;

/// Marks a free cell; never a key.
const FREE: u64 = u64::MAX;

/// See the module.
pub(crate) struct Table<V> {
    cells: Vec<(u64, V)>,
    /// 64 minus the binary logarithm of the count of cells.
    shift: u32,
    len: usize,
    /// What spreads keys.
    multiplier: u64,
}

impl<V: Copy + Default> Table<V> {
    /// A table with room for `capacity` keys.
    pub(crate) fn new(capacity: usize, seed: &HashSeed) -> Self {
        Table::with_multiplier(capacity, seed.multiplier())
    }

    fn with_multiplier(capacity: usize, multiplier: u64) -> Self {
        let cells = (capacity * 2).next_power_of_two().max(16);
        Table {
            cells: vec![(FREE, V::default()); cells],
            shift: 64 - cells.trailing_zeros(),
            len: 0,
            multiplier,
        }
    }

    #[inline(always)]
    fn home(&self, key: u64) -> usize {
        (key.wrapping_mul(self.multiplier) >> self.shift) as usize
    }

    /// The cell of `key`, or the free cell where it would go.
    #[inline(always)]
    fn probe(&self, key: u64) -> usize {
        let mask = self.cells.len() - 1;
        let mut cell = self.home(key) & mask;
        loop {
            let found = self.cells[cell].0;
            if found == key || found == FREE {
                return cell;
            }
            cell = (cell + 1) & mask;
        }
    }

    /// The value of `key`.
    #[inline(always)]
    pub(crate) fn find(&self, key: u64) -> Option<V> {
        let (found, value) = self.cells[self.probe(key)];
        (found == key).then_some(value)
    }

    /// The value of `key`, made with the default where it is new.
    pub(crate) fn entry(&mut self, key: u64) -> &mut V {
        debug_assert!(key != FREE);
        let mut cell = self.probe(key);
        if self.cells[cell].0 == FREE {
            if (self.len + 1) * 2 > self.cells.len() {
                self.grow();
                cell = self.probe(key);
            }
            self.len += 1;
            self.cells[cell] = (key, V::default());
        }
        &mut self.cells[cell].1
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Table::with_multiplier(self.cells.len(), self.multiplier);
        for &(key, value) in &self.cells {
            if key != FREE {
                let cell = larger.probe(key);
                larger.cells[cell] = (key, value);
            }
        }
        larger.len = self.len;
        *self = larger;
    }

    /// Forgets `key`. Keys behind it move up, so that no probe is cut short.
    pub(crate) fn remove(&mut self, key: u64) {
        let mask = self.cells.len() - 1;
        let mut hole = self.probe(key);
        if self.cells[hole].0 == FREE {
            return;
        }
        self.len -= 1;
        let mut cell = hole;
        loop {
            cell = (cell + 1) & mask;
            let found = self.cells[cell].0;
            if found == FREE {
                break;
            }
            // It may move into the hole unless its home lies cyclically behind the hole.
            let from_home = cell.wrapping_sub(self.home(found)) & mask;
            if from_home >= cell.wrapping_sub(hole) & mask {
                self.cells[hole] = self.cells[cell];
                hole = cell;
            }
        }
        self.cells[hole].0 = FREE;
    }

    /// Count of keys.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Forgets all keys, keeping the memory.
    pub(crate) fn clear(&mut self) {
        self.cells.fill((FREE, V::default()));
        self.len = 0;
    }

    /// Keys and values, in no order that means anything.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, V)> + '_ {
        self.cells.iter().filter(|cell| cell.0 != FREE).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Cells looked at to find all keys.
    fn steps(table: &Table<u32>) -> usize {
        let mask = table.cells.len() - 1;
        let steps = |(key, _)| table.probe(key).wrapping_sub(table.home(key)) & mask;
        table.iter().map(steps).sum()
    }

    /// Keys that meet in one place of one table do not in that of another process.
    #[test]
    fn chosen_keys_are_spread_by_a_seed_that_nobody_knows() {
        const KEYS: usize = 2_000;
        let known = HashSeed::default();
        let chosen = || (1..).filter(|key: &u64| key.wrapping_mul(known.multiplier()) >> 50 == 0).take(KEYS);
        let of = |seed: &HashSeed| {
            let mut table: Table<u32> = Table::new(KEYS, seed);
            chosen().for_each(|key| *table.entry(key) = 1);
            steps(&table)
        };
        assert!(of(&known) > KEYS * KEYS / 4, "they do not meet: {}", of(&known));
        let others: Vec<usize> = (1..=50).map(|secret| of(&HashSeed::new(secret))).collect();
        assert!(others.iter().all(|steps| *steps < KEYS * 20), "{others:?}");
    }

    #[test]
    fn behaves_as_a_map_under_random_use() {
        let mut table: Table<u32> = Table::new(0, &HashSeed::default());
        let mut model = BTreeMap::new();
        let mut random = 7u64;
        for step in 0..200_000u32 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let key = (random >> 33) % 300;
            match (random >> 20) % 3 {
                0 => {
                    table.remove(key);
                    model.remove(&key);
                }
                1 => {
                    *table.entry(key) = step;
                    model.insert(key, step);
                }
                _ => assert_eq!(table.find(key), model.get(&key).copied()),
            }
            assert_eq!(table.len(), model.len());
        }
        let mut all: Vec<_> = table.iter().collect();
        all.sort_unstable();
        assert_eq!(all, model.into_iter().collect::<Vec<_>>());
    }
}
