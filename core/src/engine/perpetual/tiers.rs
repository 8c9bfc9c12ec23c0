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
        let from = record.tier;
        if earned < from {
            return;
        }
        record.tier = earned;
        self.drop_pending(account);
        if earned > from {
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

    /// Hours that have passed, then accounts that a new table judges, as far as there are units.
    pub(super) fn roll_hours(&mut self) {
        let is_rolled = self.roll_to(self.now_ms / HOUR_MS);
        self.work.rolls = !(is_rolled && self.judge_accounts());
    }

    /// Hour after hour: at midnight what is pending comes due, then what is too old leaves. Whether there were units enough.
    fn roll_to(&mut self, now: i64) -> bool {
        while self.leave() {
            if self.volumes.hour >= now {
                return true;
            }
            // Nothing happens in hours in which nothing leaves and nothing is pending.
            if self.volumes.entries.is_empty() && self.pending.is_empty() && self.next_tiers.is_none() {
                self.volumes.hour = now;
                return true;
            }
            let hour = self.volumes.hour + 1;
            if hour % 24 == 0 {
                self.change_schedule(hour);
                if !self.apply_pending(hour) {
                    return false;
                }
            }
            self.volumes.hour = hour;
        }
        false
    }

    /// What is too old for the running hour leaves, and whom it leaves is judged. Whether there were units enough.
    fn leave(&mut self) -> bool {
        let hour = self.volumes.hour;
        while let Some(entry) = self.volumes.old_30() {
            if !self.work.take() {
                return false;
            }
            self.volumes.entries.pop_front();
            self.volumes.forgotten += 1;
            self.accounts.get_mut(entry.account).volume_30 -= entry.volume;
        }
        while let Some(entry) = self.volumes.old_14() {
            if !self.work.take() {
                return false;
            }
            self.volumes.counted += 1;
            self.accounts.get_mut(entry.account).volume -= entry.volume;
            self.judge_tier(entry.account, hour);
        }
        true
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
        self.judged = 0;
    }

    /// Judges accounts by a table that changed, as far as there are units. Whether all are.
    pub(super) fn judge_accounts(&mut self) -> bool {
        while self.judged < self.accounts_count {
            if !self.work.take() {
                return false;
            }
            let account = self.judged;
            self.judged += 1;
            self.judge_tier(account, self.now_ms / HOUR_MS);
        }
        self.judged = AccountId::MAX;
        true
    }

    /// Lower tiers that come due by an hour, as far as there are units. Whether all did.
    fn apply_pending(&mut self, hour: i64) -> bool {
        let is_due = |&&(effective_ms, _): &&(i64, AccountId)| effective_ms <= hour * HOUR_MS;
        while let Some(&(_, account)) = self.pending.first().filter(is_due) {
            if !self.work.take() {
                return false;
            }
            self.drop_pending(account);
            let record = self.accounts.get_mut(account);
            let (from, to) = (record.tier, self.tiers.earned(record.volume));
            if to < from {
                record.tier = to;
                self.tell_tier(account, VipChange::DowngradeApplied, (from, to), hour * HOUR_MS);
            }
        }
        true
    }

    fn drop_pending(&mut self, account: AccountId) {
        let record = self.accounts.get_mut(account);
        if record.pending != 0 {
            record.pending = 0;
            self.pending.remove(&(record.pending_ms, account));
        }
    }

    /// At an hour's roll, and when the table changes, in an hour that the roll may not have come to: a lower tier is noted for the
    /// next midnight, once. A higher one comes with a fill.
    pub(crate) fn judge_tier(&mut self, account: AccountId, hour: i64) {
        let record = self.accounts.get_mut(account);
        let (from, to) = (record.tier, self.tiers.earned(record.volume));
        if to >= from {
            return self.drop_pending(account);
        }
        if record.pending != 0 {
            return;
        }
        let effective_ms = (hour / 24 + 1) * 24 * HOUR_MS;
        (record.pending, record.pending_ms) = (to + 1, effective_ms);
        self.pending.insert((effective_ms, account));
        self.tell_tier(account, VipChange::DowngradeScheduled, (from, to), effective_ms);
    }
}
