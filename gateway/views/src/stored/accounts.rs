//! Accounts of the perpetual side: terms, tiers, positions, pools.

use super::{layouts, stored};
use crate::perpetual::account::Holding;
use ringside_core::event;

layouts! {
    /// A fee tier.
    TierV1 of event::VipTier { tier: u32, count: u32, volume: i64, maker_rate: i64, taker_rate: i64 }

    /// A fee tier that waits for its day.
    NextTierV1 of event::VipTierScheduled {
        tier: u32, count: u32, volume: i64, maker_rate: i64, taker_rate: i64, effective_ms: i64,
    }

    /// Limits of an account's own.
    LimitsV1 of event::AccountLimits {
        account: u32, market: u32, open_orders: u32, order_rate_10s: u32, order_rate_1m: u32, reserved: u32,
        max_position_notional: i64, max_order_notional: i64,
    }

    /// Switches, referral and promotion of an account.
    TermsV1 of event::AccountTerms {
        account: u32, trading_enabled: u32, trade_group: i64, promo_until_ms: i64, fee_burn: u32,
        referral_total_bps: u32, referral_share_bps: u32, promo_bps: u32, default_mode: u32, reserved: u32,
    }

    /// The last change of an account's tier.
    VipV1 of event::VipChanged {
        account: u32, change: u8, from: u8, to: u8, reserved: u8, volume: i64, volume_30: i64, effective_ms: i64,
    }

    /// A position.
    PositionV1 of event::PerpetualPosition {
        account: u32, market: u32, quantity: i64, cost: i64, isolated_wallet: i64, open_fees: i64, realised: i64,
        leverage: u32, mode: u32,
    }

    /// What open orders of an account could open in a market.
    ExposureV1 of event::PerpetualExposure {
        account: u32, market: u32, buy_quantity: i64, buy_reference: i64, buy_open_loss: i64, buy_fee_reserve: i64,
        sell_quantity: i64, sell_reference: i64, sell_open_loss: i64, sell_fee_reserve: i64,
    }

    /// What an account has in a market.
    HoldingV1 of Holding { position: PositionV1, exposure: ExposureV1, updated_ms: i64 }

    /// Fees, affiliates, deposits.
    PoolsV1 of event::PerpetualPools { fees: i64, affiliates: i64, deposits: i64, deficit: u64 }
}

stored! {
    event::VipTier as Tiers: TierV1;
    event::VipTierScheduled as NextTiers: NextTierV1;
    event::AccountLimits as Limits: LimitsV1;
    event::AccountTerms as Terms: TermsV1;
    event::VipChanged as VipChanges: VipV1;
    Holding as Holdings: HoldingV1;
    event::PerpetualPools as Pools: PoolsV1;
}
