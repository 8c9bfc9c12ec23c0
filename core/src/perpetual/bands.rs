//! Which scopes a moved mark may have brought below maintenance, without looking at all of them.
//!
//! Each position carries a threshold: while every mark of its scope stays on the safe side of its own threshold, the
//! scope can neither be liquidated nor be warned. A market keeps the thresholds of its long and of its short positions by
//! account, and above them the largest of every eight, of every eight of those, and so on. So the lowest account whose
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

/// Keys under one key of the level above: a cache line of them.
const FAN: usize = 8;
/// The key of an account without a threshold: no mark passes it.
const NEVER: i64 = i64::MIN;

/// Keys by account, and the largest of each [`FAN`] above them.
struct Tree {
    /// From the accounts up; the last level fits in one line.
    levels: Vec<Vec<i64>>,
}

impl Tree {
    fn new(accounts: usize, pages: Pages) -> Tree {
        let mut tree = Tree { levels: Vec::new() };
        tree.fit(accounts.max(1), pages);
        tree
    }

    /// Has room for `accounts`.
    fn fit(&mut self, accounts: usize, pages: Pages) {
        let mut len = accounts;
        let mut level = 0;
        loop {
            len = len.div_ceil(FAN) * FAN;
            if level == self.levels.len() {
                let mut keys = pages.reserved(0, len);
                keys.resize(len, NEVER);
                // What is new above is the largest of what was the top.
                if let Some(below) = level.checked_sub(1).and_then(|below| self.levels.get(below)) {
                    for (place, keys_below) in below.chunks(FAN).enumerate() {
                        keys[place] = largest(keys_below);
                    }
                }
                self.levels.push(keys);
            } else if self.levels[level].len() < len {
                self.levels[level].resize(len, NEVER);
            }
            if len == FAN && level + 1 == self.levels.len() {
                return;
            }
            len = self.levels[level].len() / FAN;
            level += 1;
        }
    }

    #[inline]
    fn get(&self, account: AccountId) -> i64 {
        self.levels[0].get(account as usize).copied().unwrap_or(NEVER)
    }

    #[inline]
    fn set(&mut self, account: AccountId, key: i64) {
        let mut place = account as usize;
        if place >= self.levels[0].len() {
            if key == NEVER {
                return;
            }
            self.fit((place + 1) * 2, Pages::Small);
        }
        let mut key = key;
        for level in &mut self.levels {
            let before = std::mem::replace(&mut level[place], key);
            if before == key {
                return;
            }
            let first = place / FAN * FAN;
            key = largest(&level[first..first + FAN]);
            place /= FAN;
        }
    }

    /// The lowest account at or above `from` whose key is above `key`.
    fn next(&self, from: AccountId, key: i64) -> Option<AccountId> {
        let top = self.levels.len() - 1;
        if largest(&self.levels[top]) <= key {
            return None;
        }
        let (mut level, mut place) = (0, from as usize);
        // Up until a line has something right of where we came from, then down again.
        loop {
            let keys = &self.levels[level];
            let end = (place / FAN + 1) * FAN;
            let found = (place.min(keys.len())..end.min(keys.len())).find(|&at| keys[at] > key);
            match found {
                Some(at) if level == 0 => return Some(at as AccountId),
                Some(at) => (level, place) = (level - 1, at * FAN),
                None if level == top => return None,
                None => (level, place) = (level + 1, end / FAN),
            }
        }
    }
}

#[inline]
fn largest(keys: &[i64]) -> i64 {
    keys.iter().copied().fold(NEVER, i64::max)
}

/// Both sides of a market. Keys are such that a mark passes those above it: thresholds of long positions, negated ones of
/// short positions.
struct Market {
    longs: Tree,
    shorts: Tree,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Bands {
    markets: Vec<Market>,
}

/// At which marks a position's scope must be tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threshold {
    /// There is no position, or its scope need not be looked at until something else happens.
    Never,
    /// At any mark.
    Always,
    /// Of a long position: below this mark.
    Below(Price),
    /// Of a short position: above this mark.
    Above(Price),
}

impl Bands {
    /// Adds a market, with memory for `accounts`.
    pub(crate) fn list(&mut self, accounts: usize, pages: Pages) {
        let tree = || Tree::new(accounts, pages);
        self.markets.push(Market { longs: tree(), shorts: tree() });
    }

    /// Gives a position its threshold.
    #[inline]
    pub(crate) fn set(&mut self, index: usize, account: AccountId, threshold: Threshold) {
        let market = &mut self.markets[index];
        let (longs, shorts) = match threshold {
            Threshold::Never => (NEVER, NEVER),
            Threshold::Always => (i64::MAX, NEVER),
            Threshold::Below(mark) => (mark, NEVER),
            // Marks are above 0.
            Threshold::Above(mark) => (NEVER, mark.saturating_neg()),
        };
        market.longs.set(account, longs);
        market.shorts.set(account, shorts);
    }

    /// Hints that an account's threshold changes soon.
    #[inline(always)]
    pub(crate) fn hint(&self, index: usize, account: AccountId) {
        let market = &self.markets[index];
        for tree in [&market.longs, &market.shorts] {
            if let Some(key) = tree.levels[0].get(account as usize) {
                prefetch(key);
            }
        }
    }

    /// The lowest account at or above `from` whose threshold a mark has passed.
    #[inline]
    pub(crate) fn next(&self, index: usize, from: AccountId, mark: Price) -> Option<AccountId> {
        let market = &self.markets[index];
        let long = market.longs.next(from, mark);
        let short = market.shorts.next(from, mark.saturating_neg());
        match (long, short) {
            (Some(long), Some(short)) => Some(long.min(short)),
            (one, other) => one.or(other),
        }
    }

    /// Whether a mark has passed the threshold of an account.
    pub(crate) fn is_passed(&self, index: usize, account: AccountId, mark: Price) -> bool {
        let market = &self.markets[index];
        market.longs.get(account) > mark || market.shorts.get(account) > mark.saturating_neg()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn finds_what_a_walk_over_all_finds_in_ascending_order() {
        for accounts in [1, 7, 64, 65, 600] {
            let mut bands = Bands::default();
            bands.list(accounts, Pages::Small);
            let mut model: BTreeMap<AccountId, Threshold> = BTreeMap::new();
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
                    0 | 1 => Threshold::Never,
                    2 if next(20) == 0 => Threshold::Always,
                    3..=5 => Threshold::Below(price),
                    _ => Threshold::Above(price),
                };
                bands.set(0, account, threshold);
                model.insert(account, threshold);
                let mark = 1 + next(1_000) as Price;
                let passed = |threshold: &Threshold| match *threshold {
                    Threshold::Never => false,
                    Threshold::Always => true,
                    Threshold::Below(price) => mark < price,
                    Threshold::Above(price) => mark > price,
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
