//! Idempotency keys of the last 24 hours: who used which for what. It remembers no answer, only which command gave it.

use crate::ids::{AccountId, Sequence};
use crate::time::DAY_NS;
use std::collections::VecDeque;

/// One use of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) account: AccountId,
    pub(crate) key: u64,
    pub(crate) body: u64,
    pub(crate) sequence: Sequence,
    pub(crate) time_ns: i64,
}

/// What is known of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Not used in the last 24 hours; it is now.
    Fresh,
    /// Used with the same body, by this command.
    Replay(Sequence),
    /// Used with another body.
    Conflict,
}

/// Old uses forgotten per command that brings a key: more than it adds.
const FORGET: usize = 2;
/// A cell that names no use.
const FREE: u32 = 0;
/// Cells number uses modulo this, plus 1; fewer uses than this are remembered at a time.
const NUMBERS: u64 = u32::MAX as u64;

/// Uses in order of time, and an open-addressing table over them. Memory: 48 bytes per key of the last day; each
/// command does a bounded amount of forgetting.
pub(crate) struct Idempotency {
    uses: VecDeque<Use>,
    /// Uses forgotten so far: the number of `uses[0]`.
    forgotten: u64,
    /// Uses by hash of account and key.
    cells: Vec<u32>,
    /// Cells in use: keys, each with its latest use.
    len: usize,
}

impl Idempotency {
    /// Memory for `capacity` keys.
    pub(crate) fn new(capacity: usize) -> Idempotency {
        Idempotency {
            uses: VecDeque::with_capacity(capacity),
            forgotten: 0,
            cells: vec![FREE; (capacity * 2).next_power_of_two().max(16)],
            len: 0,
        }
    }

    fn home(&self, account: AccountId, key: u64) -> usize {
        let mixed = (key ^ u64::from(account) << 32 ^ u64::from(account)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 20) as usize & (self.cells.len() - 1)
    }

    /// How a cell names the use of a number.
    fn name(number: u64) -> u32 {
        (number % NUMBERS) as u32 + 1
    }

    /// The use that a cell names.
    fn used(&self, cell: u32) -> &Use {
        &self.uses[((u64::from(cell) - 1 + NUMBERS - self.forgotten % NUMBERS) % NUMBERS) as usize]
    }

    fn probe(&self, account: AccountId, key: u64) -> usize {
        let mask = self.cells.len() - 1;
        let mut cell = self.home(account, key);
        while self.cells[cell] != FREE {
            let found = self.used(self.cells[cell]);
            if found.key == key && found.account == account {
                break;
            }
            cell = (cell + 1) & mask;
        }
        cell
    }

    /// What is known of the key of `new`; a fresh one is remembered as `new` says.
    pub(crate) fn admit(&mut self, new: Use) -> Verdict {
        for _ in 0..FORGET {
            self.forget(new.time_ns);
        }
        let cell = self.probe(new.account, new.key);
        if self.cells[cell] != FREE {
            let found = self.used(self.cells[cell]);
            if is_live(found, new.time_ns) {
                return if found.body == new.body {
                    Verdict::Replay(found.sequence)
                } else {
                    Verdict::Conflict
                };
            }
        }
        self.remember(new);
        Verdict::Fresh
    }

    fn remember(&mut self, new: Use) {
        if (self.len + 1) * 2 > self.cells.len() {
            self.grow();
        }
        let cell = self.probe(new.account, new.key);
        self.len += usize::from(self.cells[cell] == FREE);
        self.cells[cell] = Idempotency::name(self.forgotten + self.uses.len() as u64);
        self.uses.push_back(new);
        assert!((self.uses.len() as u64) < NUMBERS, "idempotency keys of a day are numbered with 32 bits");
    }

    /// Forgets the oldest use if it is too old to matter.
    fn forget(&mut self, now_ns: i64) {
        let Some(&oldest) = self.uses.front() else { return };
        if is_live(&oldest, now_ns) {
            return;
        }
        let cell = self.probe(oldest.account, oldest.key);
        // A later use of the same key keeps its cell.
        if self.cells[cell] == Idempotency::name(self.forgotten) {
            self.clear(cell);
        }
        self.uses.pop_front();
        self.forgotten += 1;
    }

    /// Frees a cell; what is behind it moves up, so that no probe is cut short.
    fn clear(&mut self, mut hole: usize) {
        let mask = self.cells.len() - 1;
        self.len -= 1;
        let mut cell = hole;
        loop {
            cell = (cell + 1) & mask;
            if self.cells[cell] == FREE {
                break;
            }
            let found = self.used(self.cells[cell]);
            let from_home = cell.wrapping_sub(self.home(found.account, found.key)) & mask;
            if from_home >= cell.wrapping_sub(hole) & mask {
                self.cells[hole] = self.cells[cell];
                hole = cell;
            }
        }
        self.cells[hole] = FREE;
    }

    #[cold]
    fn grow(&mut self) {
        let old = std::mem::take(&mut self.cells);
        self.cells = vec![FREE; old.len() * 2];
        for number in old.into_iter().filter(|&number| number != FREE) {
            let found = *self.used(number);
            let cell = self.probe(found.account, found.key);
            self.cells[cell] = number;
        }
    }

    /// All uses still remembered, oldest first.
    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Use> + '_ {
        self.uses.iter()
    }

    /// Puts back uses in the order of `iter`.
    pub(crate) fn restore(&mut self, used: Use) {
        self.remember(used);
    }
}

fn is_live(used: &Use, now_ns: i64) -> bool {
    // Also right where a recorded time is far away: the difference does not overflow.
    now_ns.saturating_sub(used.time_ns) < DAY_NS
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn behaves_as_a_map_of_the_last_day() {
        let mut memory = Idempotency::new(0);
        let mut model: BTreeMap<(u32, u64), Use> = BTreeMap::new();
        let mut random = 5u64;
        let mut time_ns = 0;
        for sequence in 1..100_000u64 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            time_ns += (random >> 40) as i64 % (DAY_NS / 500);
            let new = Use {
                account: (random >> 20) as u32 % 3,
                key: 1 + (random >> 33) % 700,
                body: (random >> 50) % 2,
                sequence,
                time_ns,
            };
            let expected = match model.get(&(new.account, new.key)) {
                Some(old) if time_ns - old.time_ns < DAY_NS => {
                    if old.body == new.body {
                        Verdict::Replay(old.sequence)
                    } else {
                        Verdict::Conflict
                    }
                }
                _ => {
                    model.insert((new.account, new.key), new);
                    Verdict::Fresh
                }
            };
            assert_eq!(memory.admit(new), expected, "at {sequence}");
        }
        assert!(memory.uses.len() < 3_000, "{}", memory.uses.len());
    }
}
