//! How events of the engine lie on disk, those that are kept as they were told.

use super::{Wide, layouts, stored};
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

    /// Fees, affiliates, deposits.
    PoolsV1 of event::PerpetualPools { fees: i64, affiliates: i64, deposits: i64, deficit: u64 }

    /// A bracket of a market.
    BracketV1 of event::PerpetualBracket {
        market: u32, bracket: u16, count: u16, cap: i64, rate: i64, cumulated: i64, leverage: u32, reserved: u32,
    }

    /// The prices of a market.
    PriceV1 of event::PerpetualPrice {
        market: u32, index_state: u8, clamped: u8, reserved: u16, index: i64, mark: i64, basis: i64, impact_bid: i64,
        impact_ask: i64, funding_rate: i64, next_funding_ms: i64,
    }

    /// A source of an index.
    SourceV1 of event::PerpetualSource { market: u32, source: u32, weight: u32, manual: u32, price: i64 }

    /// Age from which a source is not fresh.
    SourceAgeV1 of event::PerpetualSourceAge { market: u32, source: u32, stale_ms: u32, reserved: u32 }

    /// What the engine told of a funding rate that was settled.
    ToldFundingV1 of event::FundingSettled {
        market: u32, sparse: u32, rate: i64, mark: i64, funding_ms: i64, residue: i64, positions: u64,
    }

    /// Who, from where, and on what.
    NotedV1 of event::OperatorNoted {
        operator: [u8; 16], ip: [u8; 16], subject: [u8; 20], action: u16, part: u8, proven: u8,
    }

    /// Why, and what exactly.
    ReasonV1 of event::OperatorReason { reason: [u8; 64], detail: [u8; 32] }

    /// What the engine told of a perpetual order.
    ToldOrderV1 of event::PerpetualOrder {
        order: u64, account: u32, market: u32, side: u8, order_type: u8, original_type: u8, time_in_force: u8, status: u8,
        execution: u8, expiry_reason: u8, self_trade: u8, working_type: u8, price_match: u8, flags: u16,
        callback_rate: u32, price: i64, quantity: i64, filled: i64, open: i64, value: i64, stop_price: i64,
        good_till_ms: i64, parent: u64,
    }

    /// What the engine told of a modification.
    ToldAmendmentV1 of event::PerpetualAmended {
        order: u64, account: u32, market: u32, price_before: i64, price_after: i64, quantity_before: i64,
        quantity_after: i64, count: u32, reserved: u32; lacks reference: 0
    }

    /// What the engine told of a meeting that self-trade prevention ended.
    ToldPreventedV1 of event::PreventedMatch {
        prevented: u64, taker_order: u64, maker_order: u64, price: i64, maker_quantity: i64, taker_quantity: i64,
        trade_group: i64, taker_account: u32, maker_account: u32, market: u32, mode: u8, reserved: [u8; 3],
    }

    /// A spot order as a placement with an idempotency key left it.
    SpotOrderV1 of event::Order {
        order: u64, account: u32, market: u32, side: u8, order_type: u8, time_in_force: u8, status: u8, is_new: u8,
        is_amended: u8, reject: u16, price: i64, quantity: i64, quote_quantity: Wide, filled: i64, open: i64,
    }

    /// A spot trade of a placement with an idempotency key.
    SpotTradeV1 of event::Trade {
        trade: u64, maker_order: u64, taker_order: u64, price: i64, quantity: i64, maker_fee: Wide, taker_fee: Wide,
        maker_account: u32, taker_account: u32, market: u32, taker_side: u8, maker_filled: u8, reserved: u16,
    }

    /// A release that must be impossible.
    AlarmV1 of event::ReleaseAlarm {
        vault: u16, reason: u8, reserved: [u8; 5], account: [u8; 20], reserved_2: u32, nonce: u64, value: Wide,
        tx_hash: [u8; 32], block: u64,
    }

    /// What operators say of a disputed withdrawal.
    JudgedV1 of event::WithdrawalJudged {
        withdrawal: u64, proposed_by: [u8; 16], agreed_by: [u8; 16], is_paid: u8, is_settled: u8, reserved: [u8; 6],
    }
}

stored! {
    event::VipTier as Tiers: TierV1;
    event::VipTierScheduled as NextTiers: NextTierV1;
    event::AccountLimits as Limits: LimitsV1;
    event::AccountTerms as Terms: TermsV1;
    event::VipChanged as VipChanges: VipV1;
    event::PerpetualPools as Pools: PoolsV1;
    event::PerpetualBracket as Brackets: BracketV1;
    event::PerpetualPrice as Prices: PriceV1;
    event::PerpetualSource as Sources: SourceV1;
    event::PerpetualSourceAge as SourceAges: SourceAgeV1;
    event::Order as OutcomeOrders: SpotOrderV1;
    event::Trade as OutcomeTrades: SpotTradeV1;
    event::ReleaseAlarm as Alarms: AlarmV1;
    event::WithdrawalJudged as Judged: JudgedV1;
}
