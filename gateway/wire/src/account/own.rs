//! What an account is told of itself: pages of its history, fees, limits, margin modes, both ledgers together, what an order would do.

use crate::futures::words::{MarginType, OrderSide};
use crate::name::Market;
use crate::number::{Amount, Fixed, Micros, Money, SignedFixed, SignedMoney, SignedUnits, Units};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Page<T> {
    pub items: Vec<T>,
    /// As used
    pub limit: usize,
    /// null at the end
    pub next_cursor: Option<String>,
    /// As used; absent in pages by cursor
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// -1 in pages by cursor
    pub total: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FeeInfo {
    /// Absent for anonymous callers
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<FeeStanding>,
    /// The schedule that waits for its midnight
    pub next_schedule: Option<NextSchedule>,
    /// Lowest tier first
    pub schedule: Vec<FeeTier>,
    pub window_days: u32,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct NextSchedule {
    /// UNIX milliseconds
    pub effective_at: i64,
    pub schedule: Vec<FeeTier>,
}

#[derive(Serialize, JsonSchema)]
pub struct FeeTier {
    /// Of the resting side; below 0 a rebate
    pub maker_rate: SignedUnits,
    /// Traded value of 14 days from which it holds
    pub min_volume_14d: Micros,
    pub name: String,
    /// Of the arriving side
    pub taker_rate: SignedUnits,
    /// From 0
    pub tier: u32,
}

#[derive(Serialize, JsonSchema)]
pub struct FeeStanding {
    pub base_maker_rate: SignedUnits,
    pub base_taker_rate: SignedUnits,
    /// Not below 0.5
    pub discount_multiplier: Units,
    /// In the order in which they multiply
    pub discounts: [Discount; 3],
    /// Effective
    pub maker_rate: SignedUnits,
    /// null at the highest
    pub next_tier: Option<NextTier>,
    pub pending_downgrade: Option<PendingDowngrade>,
    /// Effective
    pub taker_rate: SignedUnits,
    pub tier: u32,
    pub tier_name: String,
    /// The running hour and the 336 before it
    pub volume_14d: Money,
    /// The running hour and the 720 before it
    pub volume_30d: Money,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Discount {
    pub active: bool,
    pub bps: u32,
    /// UNIX milliseconds
    pub expires_at: Option<i64>,
    pub name: DiscountName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DiscountName {
    Referral,
    FeeBurn,
    Promo,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct NextTier {
    pub min_volume_14d: Micros,
    pub remaining: Micros,
    pub tier: u32,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PendingDowngrade {
    /// UNIX milliseconds
    pub effective_at: i64,
    pub from_tier: u32,
    pub to_tier: u32,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Limits {
    /// Orders in ten seconds, on each side of the venue
    pub order_rate_10s: u32,
    /// Orders in a minute at /fapi
    pub order_rate_1m: u32,
    pub perpetual: Vec<PerpetualLimits>,
    pub spot: Vec<SpotLimits>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PerpetualLimits {
    /// Untriggered ones, among those
    pub conditional_orders: i64,
    pub max_order_notional: Micros,
    /// null: what brackets allow
    pub max_position_notional: Option<Micros>,
    pub open_orders: i64,
    pub symbol: Market,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct SpotLimits {
    pub open_orders: u32,
    pub symbol: Market,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MarginModes {
    /// Of markets that are listed later
    pub margin_mode: MarginType,
    /// The mode of each market, by its name
    pub symbols: BTreeMap<String, MarginType>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MarginModeSet {
    pub margin_mode: MarginType,
    /// Changed or confirmed
    pub symbols: Vec<Market>,
}

#[derive(Serialize, JsonSchema)]
pub struct UnifiedAccount {
    pub account_id: u32,
    pub address: String,
    pub margin_mode: UnifiedMode,
    pub open_orders: usize,
    pub perpetual: UnifiedPerpetual,
    pub positions: usize,
    pub spot: Vec<UnifiedSpot>,
    pub tier: u32,
    pub total_equity: SignedFixed,
    pub update_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum UnifiedMode {
    Crossed,
    Isolated,
    Mixed,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct UnifiedPerpetual {
    pub available_balance: Money,
    pub initial_margin: Money,
    pub maint_margin: Money,
    pub margin_balance: SignedMoney,
    pub margin_ratio: SignedFixed,
    pub max_withdraw: Money,
    pub unrealized_pnl: SignedMoney,
    pub wallet_balance: SignedMoney,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct UnifiedSpot {
    pub available: Amount,
    pub frozen: Amount,
    pub token: String,
    pub usdt_value: Fixed,
}

#[derive(Serialize, JsonSchema)]
pub struct OrderPreview {
    pub available_balance: Money,
    /// Of what would fill at once
    pub avg_price: Option<Units>,
    pub fee: SignedMoney,
    pub fee_rate: SignedUnits,
    pub fill_quantity: Units,
    pub initial_margin: Money,
    pub leverage: u32,
    pub liquidation_price: Units,
    pub max_slippage: Fixed,
    pub notional: Money,
    pub open_loss: Money,
    /// Of a limit order
    pub price: Option<Units>,
    pub quantity: Units,
    pub required_margin: Money,
    pub side: OrderSide,
    pub slippage: Fixed,
    pub sufficient: bool,
    pub symbol: Market,
    pub r#type: PreviewType,
    /// The same
    pub worst_price: Option<Units>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum PreviewType {
    Limit,
    Market,
}
