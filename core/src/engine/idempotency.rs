//! Idempotency keys of the last 24 hours: who used which for what. It remembers no answer, only which command gave it.

use crate::hash_seed::HashSeed;
use crate::ids::{AccountId, Sequence};
use crate::numbered::{self, Numbered, Rows, key_of};
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
/// Uses that are kept in one piece of memory.
const CHUNK: usize = 1024;

/// Uses in order of time, and a table over them. Memory: about 42 bytes per key of the last day, given back as keys run out; each
/// command does a bounded amount of forgetting, and moves a bounded part of what there is.
pub(crate) struct Idempotency {
    uses: Uses,
    /// The latest use of each key.
    latest: Numbered,
}

/// Uses, numbered from the first that ever was.
struct Uses {
    /// All but the last are full.
    chunks: VecDeque<Vec<Row>>,
    /// Empty ones, as many as there were at first.
    spares: Vec<Vec<Row>>,
    spares_max: usize,
    /// Uses forgotten so far: the number of the oldest.
    first: u64,
    len: u64,
    /// The upper half of sequences: from which use on, and what. Few: it changes once in 4,000,000,000 commands.
    upper: VecDeque<(u64, u32)>,
}

/// A use without the upper half of its sequence.
#[derive(Clone, Copy)]
struct Row {
    key: u64,
    body: u64,
    time_ns: i64,
    account: AccountId,
    sequence: u32,
}

impl Uses {
    fn new(capacity: usize) -> Uses {
        let spares_max = capacity.div_ceil(CHUNK) + 1;
        Uses {
            chunks: VecDeque::with_capacity(spares_max),
            spares: (0..spares_max).map(|_| Vec::with_capacity(CHUNK)).collect(),
            spares_max,
            first: 0,
            len: 0,
            upper: VecDeque::with_capacity(4),
        }
    }

    fn row(&self, number: u64) -> &Row {
        // Chunks begin at whole multiples.
        let chunk = number / CHUNK as u64 - self.first / CHUNK as u64;
        &self.chunks[chunk as usize][number as usize % CHUNK]
    }

    fn get(&self, number: u64) -> Use {
        let Row { key, body, time_ns, account, sequence } = *self.row(number);
        let upper = self.upper.iter().rev().find(|(from, _)| *from <= number).map_or(0, |(_, upper)| *upper);
        Use { account, key, body, sequence: u64::from(upper) << 32 | u64::from(sequence), time_ns }
    }

    fn is_of(&self, number: u64, account: AccountId, key: u64) -> bool {
        let row = self.row(number);
        row.key == key && row.account == account
    }

    fn oldest(&self) -> Option<Use> {
        (self.len > 0).then(|| self.get(self.first))
    }

    fn push(&mut self, new: Use) {
        let (number, upper) = (self.first + self.len, (new.sequence >> 32) as u32);
        if self.upper.back().is_none_or(|(_, last)| *last != upper) {
            self.upper.push_back((number, upper));
        }
        if number.is_multiple_of(CHUNK as u64) {
            self.chunks.push_back(self.spares.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK)));
        }
        let Use { account, key, body, sequence, time_ns } = new;
        let chunk = self.chunks.back_mut().expect("there is one now");
        chunk.push(Row { key, body, time_ns, account, sequence: sequence as u32 });
        self.len += 1;
        assert!(self.len < numbered::ROWS_MAX, "idempotency keys of a day are numbered with 32 bits");
    }

    fn pop(&mut self) {
        self.first += 1;
        self.len -= 1;
        if self.first.is_multiple_of(CHUNK as u64)
            && let Some(mut chunk) = self.chunks.pop_front().filter(|_| self.spares.len() < self.spares_max)
        {
            chunk.clear();
            self.spares.push(chunk);
        }
        while self.upper.get(1).is_some_and(|(from, _)| *from <= self.first) {
            self.upper.pop_front();
        }
    }
}

impl Rows for Uses {
    fn first(&self) -> u64 {
        self.first
    }

    fn key(&self, number: u64) -> u64 {
        let row = self.row(number);
        key_of(row.account, row.key)
    }
}

impl Idempotency {
    /// Memory for `capacity` keys.
    pub(crate) fn new(capacity: usize, seed: HashSeed) -> Idempotency {
        Idempotency { uses: Uses::new(capacity), latest: Numbered::new(capacity, seed) }
    }

    /// What is known of the key of `new`; a fresh one is remembered as `new` says.
    pub(crate) fn admit(&mut self, new: Use) -> Verdict {
        let verdict = self.look_up(&new);
        if verdict == Verdict::Fresh {
            self.remember(new);
        }
        verdict
    }

    /// What is known of the key of `new`. A fresh one is to be remembered once it has been used.
    pub(crate) fn look_up(&mut self, new: &Use) -> Verdict {
        for _ in 0..FORGET {
            self.forget(new.time_ns);
        }
        let Use { account, key, .. } = *new;
        let is_it = |number| self.uses.is_of(number, account, key);
        if let Some(number) = self.latest.find(key_of(account, key), &self.uses, is_it) {
            let found = self.uses.get(number);
            if is_live(&found, new.time_ns) {
                return if found.body == new.body {
                    Verdict::Replay(found.sequence)
                } else {
                    Verdict::Conflict
                };
            }
        }
        Verdict::Fresh
    }

    /// Notes the use of a key that was fresh.
    pub(crate) fn remember(&mut self, new: Use) {
        let number = self.uses.first + self.uses.len;
        self.uses.push(new);
        let uses = &self.uses;
        let is_it = |number| uses.is_of(number, new.account, new.key);
        self.latest.put(key_of(new.account, new.key), number, uses, is_it);
    }

    /// Forgets the oldest use if it is too old to matter.
    fn forget(&mut self, now_ns: i64) {
        let Some(oldest) = self.uses.oldest().filter(|oldest| !is_live(oldest, now_ns)) else { return };
        // A later use of the same key keeps its cell.
        self.latest.remove(key_of(oldest.account, oldest.key), self.uses.first, &self.uses);
        self.uses.pop();
    }

    /// How many uses are still remembered.
    pub(crate) fn len(&self) -> usize {
        self.uses.len as usize
    }

    /// All uses still remembered, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Use> + '_ {
        (self.uses.first..self.uses.first + self.uses.len).map(|number| self.uses.get(number))
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
        let mut memory = Idempotency::new(0, HashSeed::default());
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
        assert!(memory.len() < 3_000, "{}", memory.len());
        assert!(memory.iter().is_sorted_by_key(|used| used.time_ns) && memory.iter().count() == memory.len());
    }

    /// So many that rows of several accounts meet in the table.
    #[test]
    fn accounts_that_bring_the_same_key_do_not_share_it() {
        let mut memory = Idempotency::new(0, HashSeed::default());
        let used = |account: AccountId| Use {
            account,
            key: 7,
            body: u64::from(account),
            sequence: u64::from(account),
            time_ns: 0,
        };
        for account in 1..=5_000 {
            assert_eq!(memory.admit(used(account)), Verdict::Fresh, "{account}");
        }
        for account in 1..=5_000 {
            assert_eq!(memory.admit(used(account)), Verdict::Replay(account.into()), "{account}");
        }
    }

    #[test]
    fn sequences_keep_their_upper_half() {
        let mut memory = Idempotency::new(0, HashSeed::default());
        let wide = |number: u64| (number / 7) << 32 | ((number * 0x1234_5678) & 0xffff_ffff);
        let time_ns = |number: u64| number as i64 * (DAY_NS / 3_000);
        for number in 0..9_000 {
            let new = |body| Use {
                account: 1,
                key: number + 1,
                body,
                sequence: wide(number),
                time_ns: time_ns(number),
            };
            assert_eq!(memory.admit(new(5)), Verdict::Fresh);
            assert_eq!(memory.admit(new(5)), Verdict::Replay(wide(number)));
            let oldest = number.saturating_sub(2_998);
            let old = Use { key: oldest + 1, ..new(5) };
            assert_eq!(memory.admit(old), Verdict::Replay(wide(oldest)), "{number}");
        }
        assert!(memory.iter().map(|used| used.sequence).eq((6_000..9_000).map(wide)));
        assert!(memory.uses.upper.len() < 3_000 / 7 + 3, "{}", memory.uses.upper.len());
    }

    /// What a day of keys takes, and that it is given back.
    #[test]
    fn a_key_takes_little_and_gives_it_back() {
        let mut memory = Idempotency::new(0, HashSeed::default());
        let used = |memory: &Idempotency| {
            let rows: usize =
                memory.uses.chunks.iter().map(|chunk| chunk.capacity() * size_of::<Row>()).sum();
            rows + memory.latest.memory_len()
        };
        let keys = 1_000_000;
        for number in 1..=keys {
            let new = Use {
                account: 7,
                key: HashSeed::default().hash(number),
                body: number,
                sequence: number,
                time_ns: 0,
            };
            assert_eq!(memory.admit(new), Verdict::Fresh);
        }
        let per_key = used(&memory) as f64 / keys as f64;
        assert!(per_key < 46.0, "{per_key} bytes");
        for number in 1..=keys {
            let new = Use { account: 7, key: number, body: number, sequence: keys + number, time_ns: DAY_NS };
            assert_eq!(memory.admit(new), Verdict::Fresh);
        }
        assert_eq!(memory.len(), keys as usize, "the first day is forgotten");
        assert!(used(&memory) < 50 * keys as usize, "{}", used(&memory));
    }
}
