//! A set of accounts, a bit each: who holds a position of a market. Walked in ascending order, as settlements are told, without
//! sorting; who enters or leaves touches a bit, where a list would move somebody else.

use crate::ids::AccountId;
use crate::memory::Pages;
use crate::prefetch::prefetch;

/// See the module.
#[derive(Default)]
pub(crate) struct AccountSet {
    words: Vec<u64>,
    count: usize,
}

impl AccountSet {
    /// Takes memory for so many accounts; it grows past it.
    pub(crate) fn reserve(&mut self, accounts: usize, pages: Pages) {
        let mut words = pages.reserved(self.words.len().max(accounts / 64 + 1), accounts / 64 + 1);
        words[..self.words.len()].copy_from_slice(&self.words);
        self.words = words;
    }

    /// How many there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.count
    }

    pub(crate) fn contains(&self, account: AccountId) -> bool {
        self.words.get(account as usize / 64).is_some_and(|word| word >> (account % 64) & 1 != 0)
    }

    /// Hints that an account is taken in or out soon.
    #[inline(always)]
    pub(crate) fn hint(&self, account: AccountId) {
        if let Some(word) = self.words.get(account as usize / 64) {
            prefetch(word);
        }
    }

    /// Takes an account in that is not in it.
    #[inline]
    pub(crate) fn insert(&mut self, account: AccountId) {
        let place = account as usize / 64;
        if place >= self.words.len() {
            self.words.resize(place * 2 + 1, 0);
        }
        debug_assert!(!self.contains(account));
        self.words[place] |= 1 << (account % 64);
        self.count += 1;
    }

    /// Takes an account out that is in it.
    #[inline]
    pub(crate) fn remove(&mut self, account: AccountId) {
        debug_assert!(self.contains(account));
        self.words[account as usize / 64] &= !(1 << (account % 64));
        self.count -= 1;
    }

    /// The lowest at or above `from`.
    pub(crate) fn next(&self, from: AccountId) -> Option<AccountId> {
        let mut place = from as usize / 64;
        let mut word = self.words.get(place)? >> (from % 64) << (from % 64);
        while word == 0 {
            place += 1;
            word = *self.words.get(place)?;
        }
        Some(place as AccountId * 64 + word.trailing_zeros())
    }

    /// All, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = AccountId> + '_ {
        self.words.iter().enumerate().flat_map(|(place, &word)| {
            let mut word = word;
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros())?;
                word &= word - 1;
                Some(place as AccountId * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_set_is_a_set() {
        let mut members = AccountSet::default();
        members.reserve(100, Pages::Small);
        let mut model = BTreeSet::new();
        let mut random = 5u64;
        for step in 0..20_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Past the memory taken at first, too.
            let account = (random >> 33) as AccountId % 900;
            assert_eq!(members.contains(account), model.contains(&account));
            assert_eq!(members.next(account), model.range(account..).next().copied());
            if !model.remove(&account) {
                model.insert(account);
                members.insert(account);
            } else {
                members.remove(account);
            }
            assert_eq!(members.len(), model.len());
            if step % 100 == 0 {
                assert!(members.iter().eq(model.iter().copied()));
            }
        }
    }
}
