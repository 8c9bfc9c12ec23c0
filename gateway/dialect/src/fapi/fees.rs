//! What an account pays: the rates of its tier, the discounts on them, and what comes of both (`account.md` 3, `risk.md` 9). The
//! arithmetic is the engine's own.

use ringside_core::command::PerpetualParameter;
use ringside_core::money::Rate;
use ringside_core::risk::perpetual::fee;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::account::PerpetualAccount;
use ringside_wire::account::own::DiscountName;

/// One entry of the discount stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Discount {
    /// Name as it is shown.
    pub name: DiscountName,
    /// Basis points, where it is active.
    pub bps: u32,
    /// Whether it counts.
    pub is_active: bool,
    /// When it ends, UNIX milliseconds.
    pub expires_ms: Option<i64>,
}

/// Rates of an account. Rates are in steps of 10^-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fees {
    /// Of its tier, of the resting side.
    pub base_maker: Rate,
    /// Of its tier, of the arriving side.
    pub base_taker: Rate,
    /// In the order in which they multiply.
    pub discounts: [Discount; 3],
    /// Steps of 10^-6.
    pub multiplier: i64,
    /// What it pays as the resting side.
    pub maker: Rate,
    /// What it pays as the arriving side.
    pub taker: Rate,
}

/// Rates of an account at a time.
pub fn of(views: &Perpetuals, account: &PerpetualAccount, now_ms: i64) -> Fees {
    let terms = &account.terms;
    let referral = fee::Referral { total: terms.referral_total_bps, share: terms.referral_share_bps };
    let burn = u32::try_from(views.markets().venue(PerpetualParameter::FeeBurnBps)).unwrap_or(0);
    let discounts = [
        Discount {
            name: DiscountName::Referral,
            bps: referral.trader(),
            is_active: terms.referral_total_bps != 0,
            expires_ms: None,
        },
        Discount { name: DiscountName::FeeBurn, bps: burn, is_active: terms.fee_burn == 1, expires_ms: None },
        Discount {
            name: DiscountName::Promo,
            bps: terms.promo_bps,
            is_active: terms.promo_bps != 0 && now_ms < terms.promo_until_ms,
            expires_ms: (terms.promo_until_ms != 0).then_some(terms.promo_until_ms),
        },
    ];
    let active: Vec<u32> = discounts.iter().filter(|entry| entry.is_active).map(|entry| entry.bps).collect();
    let multiplier = fee::multiplier(&active).unwrap_or(fee::MULTIPLIER_ONE);
    let tier = views.accounts().tiers().iter().find(|tier| tier.tier == account.tier);
    let (base_maker, base_taker) = tier.map_or((0, 0), |tier| (tier.maker_rate, tier.taker_rate));
    let effective = |rate| fee::rate(rate, multiplier).unwrap_or(rate);
    let (maker, taker) = (effective(base_maker), effective(base_taker));
    Fees { base_maker, base_taker, discounts, multiplier, maker, taker }
}
