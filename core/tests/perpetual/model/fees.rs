//! Fees, discounts, affiliates and fee tiers (`risk.md` 9, `account.md` 3).

use super::arithmetic::{E6, E8, ceil_div, floor_div, narrow, rate_down, rate_up};
use super::{Model, Pending, Tier};
use ringside_core::event::{self, VipChange};
use ringside_core::ids::AccountId;

/// Milliseconds in an hour and in a day.
pub const HOUR_MS: i64 = 3_600_000;
pub const DAY_MS: i64 = 86_400_000;

impl Model {
    pub fn now_ms(&self) -> i64 {
        self.spot.time_ns.div_euclid(1_000_000)
    }

    /// The running hour: that of the last tick.
    pub fn running_hour(&self) -> i64 {
        self.hour.unwrap_or_else(|| self.now_ms().div_euclid(HOUR_MS))
    }

    /// The discount stack, in steps of 10^-6.
    pub fn multiplier(&self, account: AccountId) -> i128 {
        let terms = self.account(account);
        let mut entries = Vec::new();
        if terms.referral_total > 0 {
            entries.push(self.trader_bps(account));
        }
        if terms.fee_burn {
            entries.push(self.fee_burn_bps);
        }
        if self.now_ms() < terms.promo_until {
            entries.push(terms.promo);
        }
        let (mut product, mut one) = (E6, 1);
        for bps in entries {
            product *= 10_000 - bps;
            one *= 10_000;
        }
        ceil_div(product, one).max(500_000)
    }

    fn trader_bps(&self, account: AccountId) -> i128 {
        let terms = self.account(account);
        floor_div(terms.referral_total * terms.referral_share, 10_000)
    }

    /// What an account pays of a base rate; a rebate is not discounted.
    pub fn rate(&self, account: AccountId, base: i128) -> i128 {
        if base < 0 { base } else { ceil_div(base * self.multiplier(account), E6) }
    }

    pub fn tier(&self, account: AccountId) -> Tier {
        self.tiers[usize::from(self.account(account).tier).min(self.tiers.len() - 1)]
    }

    pub fn taker_rate(&self, account: AccountId) -> i128 {
        self.rate(account, self.tier(account).taker)
    }

    pub fn taker_fee(&self, account: AccountId, value: i128) -> i128 {
        rate_up(value, self.taker_rate(account))
    }

    /// Fee of a maker, below 0 a rebate, which is at most what the other side pays into the pool of fees.
    pub fn maker_fee(&self, account: AccountId, value: i128, counter_fee: i128) -> i128 {
        let base = self.tier(account).maker;
        if base < 0 {
            -rate_down(value, -base).min(counter_fee.max(0))
        } else {
            rate_up(value, self.rate(account, base))
        }
    }

    /// What of a fee goes to the trader's affiliate.
    pub fn reward(&self, account: AccountId, base: i128, value: i128, fee: i128) -> i128 {
        let terms = self.account(account);
        if base <= 0 || fee <= 0 || terms.referral_total == 0 {
            return 0;
        }
        let affiliate = terms.referral_total - self.trader_bps(account);
        floor_div(value * base * affiliate, E8 * 10_000).min(fee)
    }

    /// Volume of 14 days (0) or of 30 (1).
    pub fn volume(&self, account: AccountId, days: usize) -> i128 {
        self.account(account).volumes[days].values().sum()
    }

    /// The tier that the table gives.
    pub fn earned_tier(&self, volume: i128) -> u8 {
        self.tiers.iter().rposition(|tier| tier.volume <= volume).unwrap_or(0) as u8
    }

    fn tell_vip(&mut self, account: AccountId, change: VipChange, (from, to): (u8, u8), effective_ms: i64) {
        let (volume, volume_30) = (self.volume(account, 0), self.volume(account, 1));
        self.output.fact(event::VipChanged {
            account,
            change: change as u8,
            from,
            to,
            reserved: 0,
            volume: narrow(volume),
            volume_30: narrow(volume_30),
            effective_ms,
        });
    }

    /// Volume of a fill, and the upgrade that it may bring.
    pub(super) fn traded(&mut self, account: AccountId, value: i128) {
        let hour = self.running_hour();
        for days in 0..2 {
            if !self.account(account).volumes[days].contains_key(&hour) {
                self.traders[days].push_back((hour, account));
            }
            *self.account_mut(account).volumes[days].entry(hour).or_default() += value;
        }
        self.judge_upgrade(account);
    }

    /// A higher tier at once; the volume regained drops what is pending.
    fn judge_upgrade(&mut self, account: AccountId) {
        let (held, earned) = (self.account(account).tier, self.earned_tier(self.volume(account, 0)));
        if earned > held {
            let now = self.now_ms();
            let terms = self.account_mut(account);
            terms.tier = earned;
            terms.pending = None;
            self.tell_vip(account, VipChange::UpgradeImmediate, (held, earned), now);
        } else if earned == held {
            self.account_mut(account).pending = None;
        }
    }

    /// A lower tier is noted for the next midnight.
    pub(super) fn judge_downgrade(&mut self, account: AccountId, at_ms: i64) {
        let (held, earned) = (self.account(account).tier, self.earned_tier(self.volume(account, 0)));
        if earned >= held {
            self.account_mut(account).pending = None;
        } else if self.account(account).pending.is_none() {
            let effective_ms = (at_ms.div_euclid(DAY_MS) + 1) * DAY_MS;
            self.account_mut(account).pending = Some(Pending { from: held, to: earned, effective_ms });
            self.tell_vip(account, VipChange::DowngradeScheduled, (held, earned), effective_ms);
        }
    }

    /// Hour and day rolls (`risk.md` 9), one hour after the other, then those whom a new table judges, as far as there are units.
    pub(super) fn roll_hours(&mut self) {
        self.roll_waits = !self.roll() || !self.judge_all();
        if !self.roll_waits {
            // Nobody else's tier changes.
            for account in 0..self.accounts.len() as AccountId {
                self.judge_downgrade(account, self.now_ms());
            }
        }
    }

    fn roll(&mut self) -> bool {
        let now = self.now_ms().div_euclid(HOUR_MS);
        loop {
            if !self.leave_windows() {
                return false;
            }
            let hour = self.running_hour() + 1;
            if hour > now {
                return true;
            }
            if hour % 24 == 0 {
                self.take_schedule(hour * HOUR_MS);
                if !self.apply_pending(hour * HOUR_MS) {
                    return false;
                }
            }
            self.hour = Some(hour);
        }
    }

    /// Hours that are too old leave, those of 30 days first, each hour's as they traded. Whether there were units enough.
    fn leave_windows(&mut self) -> bool {
        let running = self.running_hour();
        for (days, hours) in [(1, 720), (0, 336)] {
            while let Some(&(hour, account)) = self.traders[days].front()
                && hour < running - hours
            {
                if !self.take_unit() {
                    return false;
                }
                self.traders[days].pop_front();
                self.account_mut(account).volumes[days].remove(&hour);
                if days == 0 {
                    self.judge_downgrade(account, running * HOUR_MS);
                }
            }
        }
        true
    }

    /// A schedule that waits for this midnight holds from it on, for those whose lower tier comes due as well.
    fn take_schedule(&mut self, midnight_ms: i64) {
        let Some((tiers, effective_ms)) = self.scheduled.clone() else { return };
        if effective_ms > midnight_ms {
            return;
        }
        self.scheduled = None;
        self.tiers = tiers;
        for tier in 0..self.tiers.len() {
            self.tell_tier(tier);
        }
        self.unjudged = Some(0);
    }

    /// Judges accounts by a new table of tiers, a unit each. Whether all are.
    pub(super) fn judge_all(&mut self) -> bool {
        while let Some(next) = self.unjudged {
            if next as usize >= self.accounts.len() {
                self.unjudged = None;
                break;
            }
            if !self.take_unit() {
                return false;
            }
            self.unjudged = Some(next + 1);
            self.judge_downgrade(next, self.now_ms());
        }
        true
    }

    /// At midnight, before the roll of the bucket: the hour before it still runs. By when it was due, then by account.
    fn apply_pending(&mut self, midnight_ms: i64) -> bool {
        let pending = |account: AccountId| self.account(account).pending.map(|pending| pending.effective_ms);
        let mut due: Vec<(i64, AccountId)> = (0..self.accounts.len() as AccountId)
            .filter_map(|account| pending(account).map(|effective_ms| (effective_ms, account)))
            .filter(|(effective_ms, _)| *effective_ms <= midnight_ms)
            .collect();
        due.sort_unstable();
        for (_, account) in due {
            if !self.take_unit() {
                return false;
            }
            let (held, earned) = (self.account(account).tier, self.earned_tier(self.volume(account, 0)));
            self.account_mut(account).pending = None;
            if earned < held {
                self.account_mut(account).tier = earned;
                self.tell_vip(account, VipChange::DowngradeApplied, (held, earned), midnight_ms);
            }
        }
        true
    }
}
