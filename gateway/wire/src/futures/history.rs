//! What has happened to an account: fills, income, margin moved, matches that were prevented.

use super::SymbolName;
use super::words::{OrderSide, PositionSide, SelfTrade};
use crate::number::{Digits, SignedMicros, SignedMoney, Units};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesFill {
    pub buyer: bool,
    pub commission: SignedMoney,
    pub commission_asset: &'static str,
    pub id: u64,
    pub maker: bool,
    pub order_id: u64,
    pub position_side: PositionSide,
    pub price: Units,
    pub qty: Units,
    pub quote_qty: SignedMicros,
    pub realized_pnl: SignedMoney,
    pub side: OrderSide,
    pub symbol: SymbolName,
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesIncome {
    pub asset: &'static str,
    pub income: SignedMoney,
    pub income_type: &'static str,
    pub info: String,
    pub symbol: SymbolName,
    pub time: i64,
    pub trade_id: Digits,
    pub tran_id: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct MarginMoved {
    pub amount: SignedMoney,
    pub asset: &'static str,
    pub delta_type: &'static str,
    pub position_side: PositionSide,
    pub symbol: SymbolName,
    pub time: i64,
    pub r#type: u64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesPreventedMatch {
    pub maker_order_id: u64,
    /// Where the maker's order ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maker_prevented_quantity: Option<Units>,
    pub maker_symbol: SymbolName,
    pub prevented_match_id: u64,
    pub price: Units,
    pub self_trade_prevention_mode: SelfTrade,
    pub symbol: SymbolName,
    pub taker_order_id: u64,
    /// Where the taker's order ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub taker_prevented_quantity: Option<Units>,
    pub trade_group_id: i64,
    pub transact_time: i64,
}
