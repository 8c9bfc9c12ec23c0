//! Rows found by hash, where the rows themselves are kept elsewhere: each has a number, and numbers go up by one with each row.
//!
//! An open-addressing table of 32-bit cells, in many small parts, so that no insertion moves more than its part of it: with ten
//! million rows a part has ten thousand. It grows as rows come and shrinks as they go. It knows no row: the caller says
//! which one is meant, and what the key of another is.

use crate::hash_seed::HashSeed;
use crate::ids::AccountId;

/// Parts of the table; the uppermost bits of a hash say which.
const PARTS_LOG: u32 = 10;
/// Cells of a part at least.
const CELLS_MIN: usize = 16;
/// A cell without a row.
const FREE: u32 = 0;
/// Cells name rows by their number modulo this, plus 1; fewer rows than this stand in the table at a time.
pub const ROWS_MAX: u64 = u32::MAX as u64;

/// See the module. Memory: 6 to 13 bytes a row.
#[derive(Clone, Debug)]
pub struct Numbered {
    parts: Box<[Part]>,
    /// Cells of a part that are kept however few its rows are.
    cells_min: usize,
    seed: HashSeed,
}

#[derive(Clone, Debug)]
struct Part {
    cells: Box<[u32]>,
    /// Cells in use.
    len: usize,
}

/// The rows as the table asks for them.
pub trait Rows {
    /// Number of the oldest row that stands in the table.
    fn first(&self) -> u64;
    /// What stands for a row in the table: the same for the same row, and another for nearly all others.
    fn key(&self, number: u64) -> u64;
}

/// Key of a row that is an account's, which it names by a hash.
pub fn key_of(account: AccountId, hash: u64) -> u64 {
    hash ^ u64::from(account) << 32 ^ u64::from(account)
}

impl Numbered {
    /// Room for about `capacity` rows without taking more memory.
    pub fn new(capacity: usize, seed: HashSeed) -> Numbered {
        let cells_min = ((capacity << 2) >> PARTS_LOG).next_power_of_two().max(CELLS_MIN);
        let part = Part { cells: vec![FREE; cells_min].into(), len: 0 };
        Numbered { parts: vec![part; 1 << PARTS_LOG].into(), cells_min, seed }
    }

    /// Bytes of memory in use.
    pub fn memory_len(&self) -> usize {
        self.parts.iter().map(|part| size_of::<Part>() + size_of_val(&*part.cells)).sum()
    }

    /// The row of this key that is the one meant.
    pub fn find(&self, key: u64, rows: &impl Rows, is_meant: impl Fn(u64) -> bool) -> Option<u64> {
        let hash = self.seed.hash(key);
        let part = &self.parts[part_of(hash)];
        match part.cells[part.probe(hash, rows, is_meant)] {
            FREE => None,
            cell => Some(number_of(cell, rows.first())),
        }
    }

    /// Adds row `number`, in place of one that is the same to `is_same`; that one then does not stand in the table any more.
    pub fn put(&mut self, key: u64, number: u64, rows: &impl Rows, is_same: impl Fn(u64) -> bool) {
        let hash = self.seed.hash(key);
        let part = &mut self.parts[part_of(hash)];
        // Five cells in eight at most are in use.
        if (part.len + 1) * 8 > part.cells.len() * 5 {
            part.resize(part.cells.len() * 2, rows, &self.seed);
        }
        let cell = part.probe(hash, rows, is_same);
        part.len += usize::from(part.cells[cell] == FREE);
        part.cells[cell] = name_of(number);
    }

    /// Takes row `number` out, if it stands in the table.
    pub fn remove(&mut self, key: u64, number: u64, rows: &impl Rows) {
        let hash = self.seed.hash(key);
        let part = &mut self.parts[part_of(hash)];
        let cell = part.probe(hash, rows, |found| found == number);
        if part.cells[cell] != FREE {
            part.clear(cell, rows, &self.seed);
        }
        if part.cells.len() > self.cells_min && part.len * 8 < part.cells.len() {
            part.resize(part.cells.len() / 2, rows, &self.seed);
        }
    }
}

impl Part {
    /// The cell of the row that is meant, or the free one where it would stand.
    fn probe(&self, hash: u64, rows: &impl Rows, is_meant: impl Fn(u64) -> bool) -> usize {
        let first = rows.first();
        let mask = self.cells.len() - 1;
        let mut cell = home(hash) & mask;
        while self.cells[cell] != FREE && !is_meant(number_of(self.cells[cell], first)) {
            cell = (cell + 1) & mask;
        }
        cell
    }

    /// Frees a cell; what is behind it moves up, so that no probe is cut short.
    fn clear(&mut self, mut hole: usize, rows: &impl Rows, seed: &HashSeed) {
        let (first, mask) = (rows.first(), self.cells.len() - 1);
        self.len -= 1;
        let mut cell = hole;
        loop {
            cell = (cell + 1) & mask;
            if self.cells[cell] == FREE {
                break;
            }
            let hash = seed.hash(rows.key(number_of(self.cells[cell], first)));
            let from_home = cell.wrapping_sub(home(hash)) & mask;
            if from_home >= cell.wrapping_sub(hole) & mask {
                self.cells[hole] = self.cells[cell];
                hole = cell;
            }
        }
        self.cells[hole] = FREE;
    }

    #[cold]
    fn resize(&mut self, cells: usize, rows: &impl Rows, seed: &HashSeed) {
        let old = std::mem::replace(&mut self.cells, vec![FREE; cells].into());
        for name in old.into_iter().filter(|&name| name != FREE) {
            let hash = seed.hash(rows.key(number_of(name, rows.first())));
            let cell = self.probe(hash, rows, |_| false);
            self.cells[cell] = name;
        }
    }
}

fn part_of(hash: u64) -> usize {
    (hash >> (u64::BITS - PARTS_LOG)) as usize
}

/// Of other bits than the part.
fn home(hash: u64) -> usize {
    (hash >> 20) as usize
}

/// How a cell names a row.
fn name_of(number: u64) -> u32 {
    (number % ROWS_MAX) as u32 + 1
}

/// The row that a cell names.
fn number_of(name: u32, first: u64) -> u64 {
    first + (u64::from(name) - 1 + ROWS_MAX - first % ROWS_MAX) % ROWS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, VecDeque};

    /// Rows are keys of few values, or of one part only.
    struct Keys {
        first: u64,
        keys: VecDeque<u64>,
    }

    impl Rows for Keys {
        fn first(&self) -> u64 {
            self.first
        }

        fn key(&self, number: u64) -> u64 {
            self.keys[(number - self.first) as usize]
        }
    }

    /// Keys that meet in one place of one table do not in that of another process.
    #[test]
    fn chosen_keys_are_spread_by_a_seed_that_nobody_knows() {
        let known = HashSeed::default();
        let is_chosen = |key: &u64| known.hash(*key) >> 50 == 0;
        let rows = Keys { first: 0, keys: (0..).filter(is_chosen).take(200).collect() };
        let longest = |seed| {
            let mut table = Numbered::new(0, seed);
            for number in 0..200 {
                table.put(rows.key(number), number, &rows, |_| false);
            }
            table.parts.iter().map(|part| part.len).max()
        };
        assert_eq!(longest(known), Some(200));
        assert!((1..=50).all(|secret| longest(HashSeed::new(secret)) < Some(10)));
        assert!(longest(HashSeed::random()) < Some(10));
    }

    #[test]
    fn finds_the_newest_row_of_a_key_and_forgets_from_the_front() {
        // Numbers go through the place where cells begin again.
        for first in [0, ROWS_MAX - 2_000] {
            let mut rows = Keys { first, keys: VecDeque::new() };
            let (mut table, mut model) = (Numbered::new(0, HashSeed::default()), BTreeMap::new());
            let least = table.memory_len();
            let mut random = 7u64;
            let mut most = 0;
            for step in 0..200_000u64 {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let (key, number) = ((random >> 33) % 60_000, rows.first + rows.keys.len() as u64);
                let found = table.find(key, &rows, |number| rows.key(number) == key);
                assert_eq!(found, model.get(&key).copied(), "first {first} step {step}");
                // Comes and goes by turns.
                let is_growing = step / 50_000 % 2 == 0;
                if is_growing {
                    rows.keys.push_back(key);
                    table.put(key, number, &rows, |other| rows.key(other) == key);
                    model.insert(key, number);
                }
                if (!is_growing || step % 4 == 0) && !rows.keys.is_empty() {
                    let (oldest, key) = (rows.first, rows.keys[0]);
                    table.remove(key, oldest, &rows);
                    if model.get(&key) == Some(&oldest) {
                        model.remove(&key);
                    }
                    rows.keys.pop_front();
                    rows.first += 1;
                }
                most = most.max(table.memory_len());
            }
            assert!(rows.keys.is_empty() && most > 2 * least, "{most}");
            assert_eq!(table.memory_len(), least, "what was taken is given back");
        }
    }
}
