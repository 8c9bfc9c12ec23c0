//! The answer of fee-info (`account.md` 3).

use crate::fapi::fees;
use ringside_core::event::{VipChange, VipTier, VipTierScheduled};
use ringside_core::ids::AccountId;
use ringside_views::perpetual::Perpetuals;
use ringside_wire::account::own::{
    Discount, FeeInfo, FeeStanding, FeeTier, NextSchedule, NextTier, PendingDowngrade,
};
use ringside_wire::number::{Micros, Money, SignedUnits, Units};

/// Days of volume that a tier is earned with.
const WINDOW_DAYS: u32 = 14;

/// Fee schedule, and where an account stands in it; anonymous callers see the schedule.
pub fn info(views: &Perpetuals, account: Option<AccountId>, now_ms: i64) -> FeeInfo {
    FeeInfo {
        window_days: WINDOW_DAYS,
        schedule: views.accounts().tiers().iter().map(tier).collect(),
        next_schedule: next_schedule(views),
        account: account.map(|account| standing(views, account, now_ms)),
    }
}

fn name(tier: u32) -> String {
    format!("VIP {tier}")
}

/// The schedule that waits for its midnight.
pub fn next_schedule(views: &Perpetuals) -> Option<NextSchedule> {
    let next = views.configured().next_tiers();
    let row = |row: &VipTierScheduled| {
        let VipTierScheduled { tier, count, volume, maker_rate, taker_rate, .. } = *row;
        self::tier(&VipTier { tier, count, volume, maker_rate, taker_rate })
    };
    let first = next.first()?;
    Some(NextSchedule { effective_at: first.effective_ms, schedule: next.iter().map(row).collect() })
}

/// A tier as it is shown.
pub fn tier(row: &VipTier) -> FeeTier {
    FeeTier {
        tier: row.tier,
        name: name(row.tier),
        min_volume_14d: Micros(row.volume),
        maker_rate: SignedUnits(row.maker_rate),
        taker_rate: SignedUnits(row.taker_rate),
    }
}

fn standing(views: &Perpetuals, account: AccountId, now_ms: i64) -> FeeStanding {
    let (volume_14, volume_30) = views.volumes().of(account);
    let account = views.accounts().get(account);
    let tiers = views.accounts().tiers();
    let fees = fees::of(views, &account, now_ms);
    let next = tiers.iter().find(|row| row.tier == account.tier + 1);
    // Volume regained drops a downgrade silently: it stands only while the account earns less than it holds.
    let earned = tiers.iter().rev().find(|row| volume_14 >= row.volume).map_or(0, |row| row.tier);
    let scheduled = account.vip.filter(|told| {
        told.change == VipChange::DowngradeScheduled as u8
            && u32::from(told.from) == account.tier
            && earned < account.tier
            && now_ms < told.effective_ms
    });
    FeeStanding {
        tier: account.tier,
        tier_name: name(account.tier),
        volume_14d: Money(volume_14),
        volume_30d: Money(volume_30),
        base_maker_rate: SignedUnits(fees.base_maker),
        base_taker_rate: SignedUnits(fees.base_taker),
        discounts: fees.discounts.map(|entry| Discount {
            name: entry.name,
            bps: entry.bps,
            active: entry.is_active,
            expires_at: entry.expires_ms,
        }),
        discount_multiplier: Units(fees.multiplier * 100),
        maker_rate: SignedUnits(fees.maker),
        taker_rate: SignedUnits(fees.taker),
        next_tier: next.map(|row| NextTier {
            tier: row.tier,
            min_volume_14d: Micros(row.volume),
            remaining: Micros((row.volume - volume_14).max(0)),
        }),
        pending_downgrade: scheduled.map(|told| PendingDowngrade {
            from_tier: told.from.into(),
            to_tier: told.to.into(),
            effective_at: told.effective_ms,
        }),
    }
}
