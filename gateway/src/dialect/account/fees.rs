//! The answer of fee-info (`account.md` 3).

use crate::dialect::fapi::{fees, text};
use ringside_core::event::{VipChange, VipTier, VipTierScheduled};
use ringside_core::ids::AccountId;
use ringside_views::perpetual::Perpetuals;
use serde_json::{Value, json};

/// Days of volume that a tier is earned with.
const WINDOW_DAYS: u32 = 14;

/// Fee schedule, and where an account stands in it; anonymous callers see the schedule.
pub fn info(views: &Perpetuals, account: Option<AccountId>, now_ms: i64) -> Value {
    let schedule: Vec<Value> = views.accounts().tiers().iter().map(tier).collect();
    let mut info =
        json!({ "window_days": WINDOW_DAYS, "schedule": schedule, "next_schedule": next_schedule(views) });
    if let Some(account) = account {
        info["account"] = standing(views, account, now_ms);
    }
    info
}

fn name(tier: u32) -> String {
    format!("VIP {tier}")
}

/// The schedule that waits for its midnight, or null.
pub fn next_schedule(views: &Perpetuals) -> Value {
    let next = views.configured().next_tiers();
    let row = |row: &VipTierScheduled| {
        let VipTierScheduled { tier, count, volume, maker_rate, taker_rate, .. } = *row;
        self::tier(&VipTier { tier, count, volume, maker_rate, taker_rate })
    };
    let schedule: Vec<Value> = next.iter().map(row).collect();
    next.first()
        .map_or(Value::Null, |first| json!({ "effective_at": first.effective_ms, "schedule": schedule }))
}

/// A tier as it is shown.
pub fn tier(row: &VipTier) -> Value {
    json!({
        "tier": row.tier,
        "name": name(row.tier),
        "min_volume_14d": text::micros(row.volume),
        "maker_rate": text::units8(row.maker_rate),
        "taker_rate": text::units8(row.taker_rate),
    })
}

fn standing(views: &Perpetuals, account: AccountId, now_ms: i64) -> Value {
    let (volume_14, volume_30) = views.volumes().of(account);
    let account = views.accounts().get(account);
    let tiers = views.accounts().tiers();
    let fees = fees::of(views, &account, now_ms);
    let discounts: Vec<Value> = fees
        .discounts
        .iter()
        .map(|entry| {
            json!({
                "name": entry.name,
                "bps": entry.bps,
                "active": entry.is_active,
                "expires_at": entry.expires_ms,
            })
        })
        .collect();
    let next = tiers.iter().find(|row| row.tier == account.tier + 1).map(|row| {
        json!({
            "tier": row.tier,
            "min_volume_14d": text::micros(row.volume),
            "remaining": text::micros((row.volume - volume_14).max(0)),
        })
    });
    // Volume regained drops a downgrade silently: it stands only while the account earns less than it holds.
    let earned = tiers.iter().rev().find(|row| volume_14 >= row.volume).map_or(0, |row| row.tier);
    let scheduled = account.vip.filter(|told| {
        told.change == VipChange::DowngradeScheduled as u8
            && u32::from(told.from) == account.tier
            && earned < account.tier
            && now_ms < told.effective_ms
    });
    let pending = scheduled
        .map(|told| json!({ "from_tier": told.from, "to_tier": told.to, "effective_at": told.effective_ms }));
    json!({
        "tier": account.tier,
        "tier_name": name(account.tier),
        "volume_14d": text::money(volume_14),
        "volume_30d": text::money(volume_30),
        "base_maker_rate": text::units8(fees.base_maker),
        "base_taker_rate": text::units8(fees.base_taker),
        "discounts": discounts,
        "discount_multiplier": text::units8(fees.multiplier * 100),
        "maker_rate": text::units8(fees.maker),
        "taker_rate": text::units8(fees.taker),
        "next_tier": next,
        "pending_downgrade": pending,
    })
}
