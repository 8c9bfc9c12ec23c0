//! Balances, positions and configuration of an account.

use super::SymbolName;
use super::words::{MarginType, PositionMargin, PositionSide};
use crate::number::{Exact, MicrosNumber, SignedMoney, SignedUnits, SignedWhole, Units, Whole};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesBalance {
    pub account_alias: String,
    pub asset: &'static str,
    pub available_balance: SignedMoney,
    pub balance: SignedMoney,
    pub cross_un_pnl: SignedMoney,
    pub cross_wallet_balance: SignedMoney,
    pub margin_available: bool,
    pub max_withdraw_amount: SignedMoney,
    pub update_time: i64,
}

/// The first version.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesBalanceV1 {
    #[serde(flatten)]
    pub balance: FuturesBalance,
    pub withdraw_available: SignedMoney,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesAsset {
    pub asset: &'static str,
    pub available_balance: SignedMoney,
    pub cross_un_pnl: SignedMoney,
    pub cross_wallet_balance: SignedMoney,
    pub initial_margin: SignedMoney,
    pub maint_margin: SignedMoney,
    pub margin_balance: SignedMoney,
    pub max_withdraw_amount: SignedMoney,
    pub open_order_initial_margin: SignedMoney,
    pub position_initial_margin: SignedMoney,
    pub unrealized_profit: SignedMoney,
    pub update_time: i64,
    pub wallet_balance: SignedMoney,
}

/// Before version 3.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesAssetV2 {
    pub asset: &'static str,
    pub available_balance: SignedMoney,
    pub cross_un_pnl: SignedMoney,
    pub cross_wallet_balance: SignedMoney,
    pub initial_margin: SignedMoney,
    pub maint_margin: SignedMoney,
    pub margin_available: bool,
    pub margin_balance: SignedMoney,
    pub max_withdraw_amount: SignedMoney,
    pub open_order_initial_margin: SignedMoney,
    pub position_initial_margin: SignedMoney,
    pub unrealized_profit: SignedMoney,
    pub update_time: i64,
    pub wallet_balance: SignedMoney,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesAccountPosition {
    pub initial_margin: SignedMoney,
    pub isolated_margin: SignedMoney,
    pub isolated_wallet: SignedMoney,
    pub maint_margin: SignedMoney,
    pub notional: SignedMoney,
    pub position_amt: SignedUnits,
    pub position_side: PositionSide,
    pub symbol: SymbolName,
    pub unrealized_profit: SignedMoney,
    pub update_time: i64,
}

/// Before version 3.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesAccountPositionV2 {
    pub ask_notional: SignedMoney,
    pub bid_notional: SignedMoney,
    pub break_even_price: Units,
    pub entry_price: Units,
    pub initial_margin: SignedMoney,
    pub isolated: bool,
    pub isolated_wallet: SignedMoney,
    pub leverage: Whole,
    pub maint_margin: SignedMoney,
    pub max_notional: SignedWhole,
    pub notional: SignedMoney,
    pub open_order_initial_margin: SignedMoney,
    pub position_amt: SignedUnits,
    pub position_initial_margin: SignedMoney,
    pub position_side: PositionSide,
    pub symbol: SymbolName,
    pub unrealized_profit: SignedMoney,
    pub update_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesAccount {
    pub assets: [FuturesAsset; 1],
    pub available_balance: SignedMoney,
    pub max_withdraw_amount: SignedMoney,
    pub positions: Vec<FuturesAccountPosition>,
    pub total_cross_un_pnl: SignedMoney,
    pub total_cross_wallet_balance: SignedMoney,
    pub total_initial_margin: SignedMoney,
    pub total_maint_margin: SignedMoney,
    pub total_margin_balance: SignedMoney,
    pub total_open_order_initial_margin: SignedMoney,
    pub total_position_initial_margin: SignedMoney,
    pub total_unrealized_profit: SignedMoney,
    pub total_wallet_balance: SignedMoney,
}

/// Before version 3.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesAccountV2 {
    pub assets: [FuturesAssetV2; 1],
    pub available_balance: SignedMoney,
    pub can_deposit: bool,
    pub can_trade: bool,
    pub can_withdraw: bool,
    pub fee_burn: bool,
    pub fee_tier: u32,
    pub max_withdraw_amount: SignedMoney,
    pub multi_assets_margin: bool,
    pub positions: Vec<FuturesAccountPositionV2>,
    pub total_cross_un_pnl: SignedMoney,
    pub total_cross_wallet_balance: SignedMoney,
    pub total_initial_margin: SignedMoney,
    pub total_maint_margin: SignedMoney,
    pub total_margin_balance: SignedMoney,
    pub total_open_order_initial_margin: SignedMoney,
    pub total_position_initial_margin: SignedMoney,
    pub total_unrealized_profit: SignedMoney,
    pub total_wallet_balance: SignedMoney,
    pub trade_group_id: i64,
    pub update_time: i64,
}

/// Before version 3.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesPositionV2 {
    pub break_even_price: Units,
    pub entry_price: Units,
    pub is_auto_add_margin: &'static str,
    pub isolated_margin: SignedMoney,
    pub isolated_wallet: SignedMoney,
    pub leverage: Whole,
    pub liquidation_price: SignedUnits,
    #[schemars(with = "String")]
    pub margin_type: PositionMargin,
    pub mark_price: Exact,
    pub max_notional_value: SignedWhole,
    pub notional: SignedMoney,
    pub position_amt: SignedUnits,
    pub position_side: PositionSide,
    pub symbol: SymbolName,
    pub un_realized_profit: SignedMoney,
    pub update_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesPosition {
    pub adl: u8,
    pub ask_notional: SignedMoney,
    pub bid_notional: SignedMoney,
    pub break_even_price: Units,
    pub entry_price: Units,
    pub initial_margin: SignedMoney,
    pub isolated_margin: SignedMoney,
    pub isolated_wallet: SignedMoney,
    /// Of /positions/active alone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leverage: Option<Whole>,
    pub liquidation_price: SignedUnits,
    pub maint_margin: SignedMoney,
    pub margin_asset: &'static str,
    /// Of /positions/active alone
    #[serde(skip_serializing_if = "Option::is_none")]
    pub margin_type: Option<PositionMargin>,
    pub mark_price: Exact,
    pub notional: SignedMoney,
    pub open_order_initial_margin: SignedMoney,
    pub position_amt: SignedUnits,
    pub position_initial_margin: SignedMoney,
    pub position_side: PositionSide,
    pub symbol: SymbolName,
    pub un_realized_profit: SignedMoney,
    pub update_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct AccountConfig {
    pub can_deposit: bool,
    pub can_trade: bool,
    pub can_withdraw: bool,
    pub dual_side_position: bool,
    pub fee_tier: u32,
    pub multi_assets_margin: bool,
    pub trade_group_id: i64,
    pub update_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct SymbolConfig {
    pub is_auto_add_margin: bool,
    pub leverage: u32,
    #[schemars(with = "String")]
    pub margin_type: MarginType,
    pub max_notional_value: SignedWhole,
    pub symbol: SymbolName,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct CommissionRate {
    pub maker_commission_rate: SignedUnits,
    pub symbol: SymbolName,
    pub taker_commission_rate: SignedUnits,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct TradingStatus {
    pub indicators: super::market::Empty,
    pub update_time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct AdlQuantile {
    pub adl_quantile: Quantiles,
    pub symbol: SymbolName,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub struct Quantiles {
    pub both: u8,
    pub long: u8,
    pub short: u8,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct LeverageSet {
    pub leverage: u32,
    pub max_notional_value: SignedWhole,
    pub symbol: SymbolName,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct MarginTypeShown {
    #[schemars(with = "String")]
    pub margin_type: MarginType,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbol: Option<SymbolName>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct PositionMode {
    pub dual_side_position: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct AssetsMode {
    pub multi_assets_margin: bool,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct FeeBurn {
    pub fee_burn: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MarginAdjusted {
    pub amount: f64,
    pub code: i32,
    pub msg: &'static str,
    pub r#type: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesBracket {
    pub bracket: u16,
    pub cum: MicrosNumber,
    pub initial_leverage: u32,
    pub maint_margin_ratio: f64,
    pub notional_cap: MicrosNumber,
    pub notional_floor: MicrosNumber,
}

#[derive(Serialize, JsonSchema)]
pub struct FuturesBrackets {
    pub brackets: Vec<FuturesBracket>,
    pub symbol: SymbolName,
}
