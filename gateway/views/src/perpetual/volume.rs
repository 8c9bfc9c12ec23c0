//! What accounts traded, by UTC hour: the volumes that fee tiers are earned with (`risk.md` 9, `account.md` 3).
//!
//! The engine keeps its own sums and tells them only when a tier changes; these are folded from the trades by the same rules, so
//! that they can be shown at any time. Which tier they earn is the engine's business.

use super::super::codec::{LoadError, Reader, Writer};
use ringside_core::ids::{AccountId, FEE_ACCOUNT};
use std::collections::{BTreeMap, VecDeque};

const HOUR_MS: i64 = 3_600_000;
/// Whole hours before the running one that count for a tier.
const HOURS_14_DAYS: i64 = 14 * 24;
/// Whole hours before the running one that are kept.
const HOURS_30_DAYS: i64 = 30 * 24;

/// Traded value of all accounts, micro-quote.
#[derive(Clone, Debug, Default)]
pub struct Volumes {
    /// The running hour, in hours of the UNIX epoch: that of the last tick, as the engine counts.
    hour: i64,
    /// By account: hours with trades, oldest first.
    accounts: BTreeMap<AccountId, VecDeque<(i64, i64)>>,
}

impl Volumes {
    /// Volume of an account within 14 and within 30 days, the running hour included.
    pub fn of(&self, account: AccountId) -> (i64, i64) {
        let since = |hours: i64| {
            let entries = self.accounts.get(&account).into_iter().flatten();
            entries.filter(|(hour, _)| *hour >= self.hour - hours).map(|(_, value)| value).sum()
        };
        (since(HOURS_14_DAYS), since(HOURS_30_DAYS))
    }

    /// A fill that counts.
    pub(super) fn traded(&mut self, account: AccountId, value: i64) {
        if account == FEE_ACCOUNT {
            return;
        }
        let entries = self.accounts.entry(account).or_default();
        match entries.back_mut() {
            Some((hour, sum)) if *hour == self.hour => *sum = sum.saturating_add(value),
            _ => entries.push_back((self.hour, value)),
        }
        // At most so many hours stay, however long an account trades.
        while entries.front().is_some_and(|(hour, _)| *hour < self.hour - HOURS_30_DAYS) {
            entries.pop_front();
        }
    }

    /// A tick: hours roll there and nowhere else.
    pub(super) fn tick(&mut self, time_ms: i64) {
        self.hour = self.hour.max(time_ms.div_euclid(HOUR_MS));
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.i64(self.hour);
        writer.count(self.accounts.len());
        for (account, entries) in &self.accounts {
            writer.u64((*account).into());
            writer.count(entries.len());
            for (hour, value) in entries {
                writer.i64(*hour);
                writer.i64(*value);
            }
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<Volumes, LoadError> {
        let mut volumes = Volumes { hour: reader.i64()?, ..Volumes::default() };
        for _ in 0..reader.count()? {
            let account = reader.uint("account")?;
            let mut entries = VecDeque::new();
            for _ in 0..reader.count()? {
                entries.push_back((reader.i64()?, reader.i64()?));
            }
            volumes.accounts.insert(account, entries);
        }
        Ok(volumes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hours_leave_their_windows_whole() {
        let mut volumes = Volumes::default();
        volumes.tick(1_000 * HOUR_MS + 5);
        volumes.traded(7, 100);
        volumes.traded(7, 20);
        volumes.traded(FEE_ACCOUNT, 1);
        assert_eq!((volumes.of(7), volumes.of(8), volumes.of(FEE_ACCOUNT)), ((120, 120), (0, 0), (0, 0)));
        volumes.tick(1_336 * HOUR_MS + 1);
        volumes.traded(7, 3);
        assert_eq!(volumes.of(7), (123, 123), "the 336th whole hour before the running one still counts");
        volumes.tick(1_337 * HOUR_MS);
        assert_eq!(volumes.of(7), (3, 123));
        let mut bytes = Vec::new();
        volumes.save(&mut Writer(&mut bytes));
        assert_eq!(Volumes::load(&mut Reader::new(&bytes)).unwrap().of(7), (3, 123));
        volumes.tick(1_721 * HOUR_MS);
        volumes.traded(7, 1);
        assert_eq!((volumes.of(7), volumes.accounts[&7].len()), ((1, 4), 2), "what is too old is forgotten");
    }
}
