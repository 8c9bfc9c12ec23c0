//! Which scopes a moved mark may have brought below maintenance, without looking at all of them.
//!
//! Each position carries a threshold: while every mark of its scope stays on the safe side of its own threshold, the
//! scope can neither be liquidated nor be warned. A market keeps the thresholds of its positions by account, and above them the
//! largest of long and of short ones of every eight, of every eight of those, and so on. So the lowest account whose
//! threshold a mark has passed is found by going down from the top, and accounts come in ascending order, which is the
//! order that `risk.md` 12.1 asks for. Nothing is taken out by being found: whoever is not tested yet is found again, so
//! this is the queue of the scan as well.
//!
//! A threshold is an estimate on the safe side and is not state: an engine restored from a snapshot computes all of them
//! anew, and comes to the same results.

use crate::ids::AccountId;
use crate::memory::Pages;
use crate::money::Price;
use crate::prefetch::prefetch;
use std::ops::Range;

/// Keys under one pair of the level above: a cache line of them.
const FAN: usize = 8;
/// The key of an account without a threshold: no mark passes it.
const NEVER: i64 = 0;
/// Of an account that is to be tested at any mark.
const ALWAYS: i64 = i64::MAX;
/// Above keys of which none is of a short position.
const NONE: i64 = i64::MIN;

/// What of some keys a mark passes first: the largest of all, below 0 where none is of a long position, and the largest of those
/// below 0.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Pair {
    long: i64,
    short: i64,
}

impl Pair {
    const NONE: Pair = Pair { long: NONE, short: NONE };

    #[inline]
    fn of(key: i64) -> Pair {
        Pair { long: key, short: if key < 0 { key } else { NONE } }
    }

    #[inline]
    fn larger(self, other: Pair) -> Pair {
        Pair { long: self.long.max(other.long), short: self.short.max(other.short) }
    }

    #[inline]
    fn is_passed(self, mark: Price) -> bool {
        self.long > mark || self.short > mark.saturating_neg()
    }
}

/// The largest of some.
#[inline]
fn largest(pairs: impl IntoIterator<Item = Pair>) -> Pair {
    pairs.into_iter().fold(Pair::NONE, Pair::larger)
}

/// At which marks a position's scope must be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TriggerMark {
    /// There is no position, or its scope need not be looked at until something else happens.
    Never,
    /// At any mark.
    Always,
    /// Of a long position: below this mark.
    Below(Price),
    /// Of a short position: above this mark.
    Above(Price),
}

impl TriggerMark {
    /// The mark of a long position, that of a short one below 0. Marks are above 0.
    #[inline]
    fn key(self) -> i64 {
        match self {
            TriggerMark::Never => NEVER,
            TriggerMark::Always => ALWAYS,
            TriggerMark::Below(mark) => mark.max(NEVER),
            TriggerMark::Above(mark) if mark > 0 => -mark,
            TriggerMark::Above(_) => ALWAYS,
        }
    }
}

/// Keys of a market by account, and the largest of each [`FAN`] above them.
struct Tree {
    keys: Vec<i64>,
    /// From those above the keys up; the last level has [`FAN`].
    levels: Vec<Vec<Pair>>,
}

impl Tree {
    fn new(accounts: usize, pages: Pages) -> Tree {
        let mut tree = Tree { keys: pages.reserved(0, padded(accounts)), levels: Vec::new() };
        tree.fit(accounts, pages);
        tree
    }

    /// Has room for `accounts`; the levels are made anew.
    fn fit(&mut self, accounts: usize, pages: Pages) {
        let Tree { keys, levels } = self;
        keys.resize(padded(accounts).max(keys.len()), NEVER);
        levels.clear();
        let mut above: Vec<Pair> = pages.reserved(0, padded(keys.len() / FAN));
        above.extend(keys.chunks(FAN).map(|keys| largest(keys.iter().copied().map(Pair::of))));
        loop {
            above.resize(padded(above.len()), Pair::NONE);
            let mut next = pages.reserved(0, padded(above.len() / FAN));
            next.extend(above.chunks(FAN).map(|pairs| largest(pairs.iter().copied())));
            levels.push(above);
            if next.len() == 1 {
                return;
            }
            above = next;
        }
    }

    #[inline]
    fn get(&self, account: AccountId) -> i64 {
        self.keys.get(account as usize).copied().unwrap_or(NEVER)
    }

    #[inline]
    fn set(&mut self, account: AccountId, key: i64) {
        let place = account as usize;
        if place >= self.keys.len() {
            if key == NEVER {
                return;
            }
            self.fit((place + 1) * 2, Pages::Small);
        }
        if std::mem::replace(&mut self.keys[place], key) == key {
            return;
        }
        let mut place = place / FAN;
        let keys = &self.keys[place * FAN..place * FAN + FAN];
        let mut pair = largest(keys.iter().copied().map(Pair::of));
        for level in &mut self.levels {
            if std::mem::replace(&mut level[place], pair) == pair {
                return;
            }
            place /= FAN;
            pair = largest(level[place * FAN..place * FAN + FAN].iter().copied());
        }
    }

    /// The lowest account at or above `from` whose threshold a mark has passed.
    #[inline]
    fn next(&self, from: AccountId, mark: Price) -> Option<AccountId> {
        let top = self.levels.len();
        if !largest(self.levels[top - 1].iter().copied()).is_passed(mark) {
            return None;
        }
        let (mut level, mut place) = (0usize, from as usize);
        // Up until a line has something right of where we came from, then down again.
        loop {
            let end = (place / FAN + 1) * FAN;
            let found = match level.checked_sub(1) {
                None => first_passed(&self.keys, place..end, |&key| Pair::of(key).is_passed(mark)),
                Some(above) => first_passed(&self.levels[above], place..end, |pair| pair.is_passed(mark)),
            };
            match found {
                Some(at) if level == 0 => return Some(at as AccountId),
                Some(at) => (level, place) = (level - 1, at * FAN),
                None if level == top => return None,
                None => (level, place) = (level + 1, end / FAN),
            }
        }
    }
}

/// As many as whole lines hold that hold `count`.
fn padded(count: usize) -> usize {
    count.max(1).div_ceil(FAN) * FAN
}

/// The place of the first in a range, as far as there are any, of which `is_passed` holds.
#[inline]
fn first_passed<T>(all: &[T], range: Range<usize>, is_passed: impl Fn(&T) -> bool) -> Option<usize> {
    (range.start..range.end.min(all.len())).find(|&at| is_passed(&all[at]))
}

/// See the module.
#[derive(Default)]
pub(crate) struct LiquidationIndex {
    markets: Vec<Tree>,
}

impl LiquidationIndex {
    /// Adds a market, with memory for `accounts`.
    pub(crate) fn list(&mut self, accounts: usize, pages: Pages) {
        self.markets.push(Tree::new(accounts, pages));
    }

    /// Gives a position its threshold.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, account: AccountId, threshold: TriggerMark) {
        self.markets[index].set(account, threshold.key());
    }

    /// Hints that an account's threshold changes soon.
    #[inline(always)]
    pub(crate) fn hint(&self, index: usize, account: AccountId) {
        let Tree { keys, levels } = &self.markets[index];
        if let Some(key) = keys.get(account as usize) {
            prefetch(key);
        }
        let first = account as usize / FAN / FAN * FAN;
        if let Some(pairs) = levels.first().and_then(|pairs| pairs.get(first..first + FAN)) {
            // Two lines.
            prefetch(&pairs[0]);
            prefetch(&pairs[FAN / 2]);
        }
    }

    /// The lowest account at or above `from` whose threshold a mark has passed.
    #[inline]
    pub(crate) fn next(&self, index: usize, from: AccountId, mark: Price) -> Option<AccountId> {
        self.markets[index].next(from, mark)
    }

    /// Whether a mark has passed the threshold of an account.
    pub(crate) fn is_passed(&self, index: usize, account: AccountId, mark: Price) -> bool {
        Pair::of(self.markets[index].get(account)).is_passed(mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn finds_what_a_walk_over_all_finds_in_ascending_order() {
        for accounts in [1, 7, 64, 65, 600] {
            let mut bands = LiquidationIndex::default();
            bands.list(accounts, Pages::Small);
            let mut model: BTreeMap<AccountId, TriggerMark> = BTreeMap::new();
            let mut random = accounts as u64;
            let mut next = |bound: u64| {
                random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (random >> 33) % bound
            };
            for _ in 0..20_000 {
                // Past the memory taken at first, too.
                let account = next(900) as AccountId;
                let price = 1 + next(1_000) as Price;
                let threshold = match next(8) {
                    0 | 1 => TriggerMark::Never,
                    2 if next(20) == 0 => TriggerMark::Always,
                    3..=5 => TriggerMark::Below(price),
                    _ => TriggerMark::Above(price),
                };
                bands.set(0, account, threshold);
                model.insert(account, threshold);
                let mark = 1 + next(1_000) as Price;
                let passed = |threshold: &TriggerMark| match *threshold {
                    TriggerMark::Never => false,
                    TriggerMark::Always => true,
                    TriggerMark::Below(price) => mark < price,
                    TriggerMark::Above(price) => mark > price,
                };
                let from = next(950) as AccountId;
                let expected =
                    model.range(from..).find(|(_, threshold)| passed(threshold)).map(|(&account, _)| account);
                assert_eq!(bands.next(0, from, mark), expected, "{accounts} from {from} at {mark}");
                assert_eq!(bands.is_passed(0, account, mark), passed(&threshold));
            }
        }
    }
}
