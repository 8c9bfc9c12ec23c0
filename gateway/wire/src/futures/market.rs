//! Market data: what can be traded, books, trades, candles, prices.

use super::order::FuturesRateLimit;
use super::words::TradingState;
use super::{AssetName, SymbolName};
use crate::number::{
    Exact, Fixed, SignedExact, SignedFixed, SignedMicros, SignedMoney, SignedUnits, Units, Whole,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Empty {}

// One object where a symbol was sent, else all.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum OneOrAll<T> {
    One(T),
    All(Vec<T>),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ExchangeInfo {
    pub assets: [MarginAsset; 1],
    pub exchange_filters: Vec<Value>,
    pub futures_type: &'static str,
    pub rate_limits: [FuturesRateLimit; 3],
    pub server_time: i64,
    pub symbols: Vec<FuturesSymbol>,
    pub timezone: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct MarginAsset {
    pub asset: &'static str,
    pub auto_asset_exchange: SignedUnits,
    pub margin_available: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesSymbol {
    pub base_asset: AssetName,
    pub base_asset_precision: u32,
    pub contract_type: &'static str,
    pub delivery_date: i64,
    pub filters: [FuturesFilter; 7],
    pub liquidation_fee: Fixed,
    pub maint_margin_percent: SignedFixed,
    pub margin_asset: AssetName,
    pub market_take_bound: Fixed,
    pub max_move_order_limit: u32,
    pub max_notional: SignedMicros,
    pub onboard_date: i64,
    pub order_types: &'static [&'static str],
    pub pair: SymbolName,
    /// None
    pub permission_sets: Vec<&'static str>,
    pub price_precision: usize,
    pub quantity_precision: usize,
    pub quote_asset: AssetName,
    pub quote_precision: u32,
    pub required_margin_percent: SignedFixed,
    pub settle_plan: u32,
    pub status: &'static str,
    pub symbol: SymbolName,
    pub time_in_force: &'static [&'static str],
    /// What it takes now. POST_ONLY: timeInForce GTX alone, for half a minute after the price band has bound, or after a restart
    pub trading_state: TradingState,
    pub trigger_protect: Fixed,
    pub underlying_sub_type: Vec<Value>,
    pub underlying_type: &'static str,
}

/// Its type says which of the others are there.
#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesFilter {
    pub filter_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_price: Option<Units>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_qty: Option<Units>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_price: Option<Units>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_qty: Option<Units>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier_decimal: Option<Whole>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier_down: Option<Fixed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub multiplier_up: Option<Fixed>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notional: Option<SignedMicros>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_size: Option<Units>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_size: Option<Units>,
}

/// Price and quantity.
pub type Level = (Fixed, Fixed);

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Depth {
    #[serde(rename = "E")]
    pub event_time: i64,
    #[serde(rename = "T")]
    pub time: i64,
    pub asks: Vec<Level>,
    pub bids: Vec<Level>,
    pub last_update_id: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesTrade {
    pub id: u64,
    pub is_buyer_maker: bool,
    #[serde(rename = "isRPITrade")]
    pub is_rpi_trade: bool,
    pub price: Fixed,
    pub qty: Fixed,
    pub quote_qty: SignedFixed,
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct FuturesAggregateTrade {
    #[serde(rename = "T")]
    pub time: i64,
    #[serde(rename = "a")]
    pub aggregate: u64,
    #[serde(rename = "f")]
    pub first: u64,
    #[serde(rename = "l")]
    pub last: u64,
    #[serde(rename = "m")]
    pub is_buyer_maker: bool,
    #[serde(rename = "nq")]
    pub normal_quantity: Fixed,
    #[serde(rename = "p")]
    pub price: Fixed,
    #[serde(rename = "q")]
    pub quantity: Fixed,
}

/// Start, open, high, low, close, volume, end, value, count, the takers' volume and value, nothing.
pub type Candle<P> = (i64, P, P, P, P, Fixed, i64, Fixed, u64, Fixed, Fixed, Fixed);

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesPremiumIndex {
    pub estimated_settle_price: Exact,
    pub index_price: Exact,
    pub interest_rate: SignedExact,
    pub last_funding_rate: SignedExact,
    pub mark_price: Exact,
    pub next_funding_time: i64,
    pub symbol: SymbolName,
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct FundingBounds {
    pub adjusted_funding_rate_cap: SignedExact,
    pub adjusted_funding_rate_floor: SignedExact,
    pub disclaimer: bool,
    pub funding_interval_hours: i64,
    pub symbol: SymbolName,
    pub update_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct FundingRate {
    pub funding_rate: SignedExact,
    pub funding_time: i64,
    pub mark_price: Exact,
    pub symbol: SymbolName,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesDay {
    pub close_time: i64,
    pub count: u64,
    pub first_id: i64,
    pub high_price: Fixed,
    pub last_id: i64,
    pub last_price: Fixed,
    pub last_qty: Fixed,
    pub low_price: Fixed,
    pub open_price: Fixed,
    pub open_time: i64,
    pub price_change: SignedFixed,
    pub price_change_percent: SignedFixed,
    pub quote_volume: SignedFixed,
    pub symbol: SymbolName,
    pub volume: Fixed,
    pub weighted_avg_price: Fixed,
}

#[derive(Serialize, JsonSchema)]
pub struct FuturesLastPrice {
    pub price: Fixed,
    pub symbol: SymbolName,
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesBest {
    pub ask_price: Fixed,
    pub ask_qty: Fixed,
    pub bid_price: Fixed,
    pub bid_qty: Fixed,
    pub last_update_id: u64,
    pub symbol: SymbolName,
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct OpenInterest {
    pub open_interest: SignedFixed,
    pub symbol: SymbolName,
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct InterestSample {
    pub sum_open_interest: SignedFixed,
    pub sum_open_interest_value: SignedFixed,
    pub symbol: SymbolName,
    pub timestamp: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Constituents {
    pub constituents: Vec<Constituent>,
    pub symbol: SymbolName,
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Constituent {
    pub exchange: String,
    pub price: Units,
    pub symbol: SymbolName,
    pub weight: Fixed,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesAssetIndex {
    pub ask_buffer: Exact,
    pub ask_rate: SignedExact,
    pub auto_exchange_ask_buffer: SignedExact,
    pub auto_exchange_ask_rate: SignedExact,
    pub auto_exchange_bid_buffer: SignedExact,
    pub auto_exchange_bid_rate: SignedExact,
    pub bid_buffer: Exact,
    pub bid_rate: SignedExact,
    pub index: Exact,
    pub symbol: &'static str,
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct FuturesInsuranceFund {
    pub assets: Vec<FundBalance>,
    pub symbols: Vec<SymbolName>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct FundBalance {
    pub asset: AssetName,
    pub margin_balance: SignedMoney,
    pub update_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesAdlRisk {
    pub adl_risk: AdlRisk,
    pub symbol: SymbolName,
    pub update_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AdlRisk {
    Low,
    Medium,
    High,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct TradingSchedule {
    pub market_schedules: Schedules,
    pub update_time: i64,
}

#[derive(Default, Serialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
pub struct Schedules {
    pub cn_equity: FuturesSessions,
    pub commodity: FuturesSessions,
    pub equity: FuturesSessions,
    pub fx: FuturesSessions,
    pub hk_equity: FuturesSessions,
    pub kr_equity: FuturesSessions,
}

#[derive(Default, Serialize, JsonSchema)]
pub struct FuturesSessions {
    pub sessions: Vec<Session>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Session {
    pub end_time: i64,
    pub start_time: i64,
    pub r#type: &'static str,
}
