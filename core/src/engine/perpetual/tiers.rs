//! Fee tiers as volume comes and goes (`risk.md` 9, `account.md` 3): up at once, down at midnight.

use crate::event::{VipChange, VipChanged};
use crate::ids::AccountId;
use crate::money::Money;
use crate::perpetual::State;

pub(super) const HOUR_MS: i64 = 3_600_000;

impl State {
    /// Adds a fill to an account's volume; a higher tier holds at once.
    pub(crate) fn add_volume(&mut self, account: AccountId, value: Money) {
        let record = self.accounts.get_mut(account);
        self.volumes.add_to(account, record, value);
        if record.pending != 0 || self.tiers.raises(record.tier, record.volume) {
            self.raise_tier(account);
        }
    }

    #[inline(never)]
    fn raise_tier(&mut self, account: AccountId) {
        let record = self.accounts.get_mut(account);
        let earned = self.tiers.earned(record.volume);
        if earned < record.tier {
            return;
        }
        record.pending = 0;
        if earned > record.tier {
            let from = record.tier;
            record.tier = earned;
            self.tell_tier(account, VipChange::UpgradeImmediate, (from, earned), self.now_ms);
        }
    }

    fn tell_tier(&mut self, account: AccountId, change: VipChange, (from, to): (u8, u8), effective_ms: i64) {
        let record = self.accounts.get(account);
        self.writer.emit(VipChanged {
            account,
            change: change as u8,
            from,
            to,
            reserved: 0,
            volume: record.volume,
            volume_30: record.volume_30,
            effective_ms,
        });
    }

    /// Hours that have passed: at midnight what is pending comes due, then what is too old leaves.
    pub(super) fn roll_hours(&mut self) {
        let now = self.now_ms / HOUR_MS;
        while self.volumes.hour < now {
            // Nothing happens in hours in which nothing leaves and nothing is pending.
            if self.volumes.entries.is_empty() && self.pending.is_empty() && self.next_tiers.is_none() {
                self.volumes.hour = now;
                return;
            }
            let hour = self.volumes.hour + 1;
            if hour % 24 == 0 {
                self.change_schedule(hour);
                self.apply_pending(hour);
            }
            self.volumes.hour = hour;
            let mut accounts = std::mem::take(&mut self.concerned);
            accounts.clear();
            while let Some(entry) = self.volumes.leave_14(hour) {
                self.accounts.get_mut(entry.account).volume -= entry.volume;
                accounts.push(entry.account);
            }
            while let Some(entry) = self.volumes.leave_30(hour) {
                self.accounts.get_mut(entry.account).volume_30 -= entry.volume;
            }
            accounts.sort_unstable();
            accounts.dedup();
            for &account in &accounts {
                self.judge_tier(account, hour);
            }
            self.concerned = accounts;
        }
    }

    /// The schedule that waits for this midnight takes the place of the one in force.
    fn change_schedule(&mut self, hour: i64) {
        let Some((tiers, _)) = self.next_tiers.take_if(|(_, effective_ms)| *effective_ms <= hour * HOUR_MS)
        else {
            return;
        };
        self.tiers = tiers;
        for tier in 0..self.tiers.rows().len() {
            self.tell_vip_tier(tier);
        }
        self.judge_tiers(hour);
    }

    /// Judges every account by a table that changed.
    pub(super) fn judge_tiers(&mut self, hour: i64) {
        for account in 0..self.accounts_count {
            self.judge_tier(account, hour);
        }
    }

    fn apply_pending(&mut self, hour: i64) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.sort_unstable();
        pending.dedup();
        pending.retain(|&account| {
            let record = self.accounts.get_mut(account);
            if record.pending == 0 {
                return false;
            }
            if record.pending_ms > hour * HOUR_MS {
                return true;
            }
            record.pending = 0;
            let (from, to) = (record.tier, self.tiers.earned(record.volume));
            if to < from {
                record.tier = to;
                self.tell_tier(account, VipChange::DowngradeApplied, (from, to), hour * HOUR_MS);
            }
            false
        });
        self.pending = pending;
    }

    /// At an hour's roll, and when the table changes, in an hour that the roll may not have come to: a lower tier is noted for the
    /// next midnight, once. A higher one comes with a fill.
    pub(crate) fn judge_tier(&mut self, account: AccountId, hour: i64) {
        let record = self.accounts.get_mut(account);
        let (from, to) = (record.tier, self.tiers.earned(record.volume));
        if to >= from {
            record.pending = 0;
            return;
        }
        if record.pending != 0 {
            return;
        }
        let effective_ms = (hour / 24 + 1) * 24 * HOUR_MS;
        (record.pending, record.pending_ms) = (to + 1, effective_ms);
        self.pending.push(account);
        self.tell_tier(account, VipChange::DowngradeScheduled, (from, to), effective_ms);
    }
}
