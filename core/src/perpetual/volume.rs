//! Traded value by account and UTC hour, and the fee tiers it earns (`risk.md` 9, `account.md` 3).
//!
//! An hour in which an account traded is one entry in a queue ordered by hour, so a roll touches only what leaves a
//! window, never every account.

use super::account::HotAccount;
use crate::ids::AccountId;
use crate::memory::Pages;
use crate::money::Money;
use crate::prefetch::prefetch;
use crate::risk::perpetual::vip::{Tier, Tiers};
use std::collections::VecDeque;

/// Whole hours before the running one that V14 counts.
pub(crate) const WINDOW_14_H: i64 = 336;
/// Whole hours before the running one that V30 counts.
pub(crate) const WINDOW_30_H: i64 = 720;
/// See [`Volumes::new`].
const HOURS_WITHOUT_A_MOVE: usize = 4;

/// The table that ships.
pub(crate) fn shipped_tiers() -> Tiers {
    let rows = [
        (0, 20_000, 50_000),
        (1_000_000, 18_000, 45_000),
        (5_000_000, 15_000, 40_000),
        (20_000_000, 12_000, 35_000),
        (100_000_000, 8_000, 30_000),
        (500_000_000, 5_000, 25_000),
    ]
    .map(|(volume, maker_rate, taker_rate)| Tier {
        volume_min: volume * 1_000_000,
        maker_rate,
        taker_rate,
    });
    let Some(tiers) = Tiers::new(&rows) else { unreachable!("shipped tiers rise") };
    tiers
}

/// What an account traded in one hour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) hour: i64,
    pub(crate) account: AccountId,
    pub(crate) volume: Money,
}

/// See the module.
#[derive(Default)]
pub(crate) struct Volumes {
    /// By hour.
    pub(crate) entries: VecDeque<Entry>,
    /// Entries forgotten so far: the number of the first.
    pub(crate) forgotten: u64,
    /// Number of the first entry that V14 still counts.
    pub(crate) counted: u64,
    /// The running hour, UTC hours of the epoch.
    pub(crate) hour: i64,
}

impl Volumes {
    /// None, with address space for some hours in which all of so many accounts trade: until it is used up no entry moves.
    pub(crate) fn new(accounts: usize, pages: Pages) -> Volumes {
        let entries = pages.room(accounts.saturating_mul(HOURS_WITHOUT_A_MOVE)).into();
        Volumes { entries, ..Volumes::default() }
    }

    /// Adds a fill to what an account traded: of 30 days no more than a word holds, beyond which no tier begins.
    #[inline]
    pub(crate) fn add_to(&mut self, account: AccountId, record: &mut HotAccount, value: Money) {
        let value = record.count_traded(value);
        record.hour = self.add(account, record.hour, value);
    }

    /// Adds to the running hour of an account, whose entry is `handle` - 1 where that is of this hour; the new handle.
    #[inline(always)]
    pub(crate) fn add(&mut self, account: AccountId, handle: u64, value: Money) -> u64 {
        if let Some(place) = handle.checked_sub(1).and_then(|number| number.checked_sub(self.forgotten))
            && let Some(entry) = self.entries.get_mut(place as usize)
            && entry.hour == self.hour
            && entry.account == account
        {
            entry.volume += value;
            return handle;
        }
        self.entries.push_back(Entry { hour: self.hour, account, volume: value });
        self.forgotten + self.entries.len() as u64
    }

    /// Hints that what stands behind the handle of an account is added to soon.
    #[inline(always)]
    pub(crate) fn hint(&self, handle: u64) {
        let place = handle.wrapping_sub(1).wrapping_sub(self.forgotten);
        if let Some(entry) = self.entries.get(place as usize) {
            prefetch(entry);
        }
    }

    /// The next entry that V14 counts and is too old for it.
    pub(crate) fn old_14(&self) -> Option<Entry> {
        let entry = *self.entries.get((self.counted - self.forgotten) as usize)?;
        (entry.hour < self.hour - WINDOW_14_H).then_some(entry)
    }

    /// The first entry, where it is too old for V30. V14 left it before.
    pub(crate) fn old_30(&self) -> Option<Entry> {
        let entry = *self.entries.front()?;
        (entry.hour < self.hour - WINDOW_30_H).then_some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_stops_at_what_a_word_holds_and_leaves_as_it_came() {
        let (mut volumes, mut record) = (Volumes::default(), HotAccount::default());
        volumes.hour = 7;
        for value in [Money::MAX - 5, 4, 3] {
            volumes.add_to(1, &mut record, value);
        }
        assert_eq!((record.volume, record.volume_30), (Money::MAX, Money::MAX));
        volumes.hour = 7 + WINDOW_14_H + 1;
        assert_eq!(volumes.old_14().unwrap().volume, Money::MAX);
        assert_eq!(volumes.old_30(), None);
        volumes.hour = 7 + WINDOW_30_H + 1;
        assert_eq!(volumes.old_30().unwrap().volume, Money::MAX);
    }
}
