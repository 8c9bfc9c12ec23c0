//! Orders, those of the conditional-order service, and how they were modified.

use super::words::{
    MatchedPrice, OrderSide, OrderStatus, OrderType, PositionSide, SelfTrade, TimeInForce, TriggerPrice,
};
use super::{Refused, SymbolName};
use crate::number::{Digits, Micros, Name, Units, Whole};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesOrder {
    pub order_id: u64,
    pub symbol: SymbolName,
    /// Of the answer to a modification: the symbol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair: Option<SymbolName>,
    /// Of the answer to a modification: what was executed of the base.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cum_base: Option<Units>,
    pub status: OrderStatus,
    pub client_order_id: Name<36>,
    pub price: Units,
    pub avg_price: Units,
    pub orig_qty: Units,
    pub executed_qty: Units,
    pub cum_qty: Units,
    pub cum_quote: Micros,
    pub time_in_force: TimeInForce,
    pub r#type: OrderType,
    pub reduce_only: bool,
    pub close_position: bool,
    pub side: OrderSide,
    pub position_side: PositionSide,
    pub stop_price: Units,
    pub working_type: TriggerPrice,
    pub price_protect: bool,
    pub orig_type: OrderType,
    pub price_match: MatchedPrice,
    pub self_trade_prevention_mode: SelfTrade,
    pub good_till_date: GoodTill,
    pub time: i64,
    pub update_time: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activate_price: Option<Units>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub price_rate: Option<Units>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_order_id: Option<u64>,
    /// When a conditional order fired, ms; absent before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trigger_time: Option<i64>,
    /// Why it expired, as the stream tells it; absent where it did not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub er: Option<Digits>,
}

// A number for clients that want one.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum GoodTill {
    Number(i64),
    Text(Digits),
}

// What one element of a batch came to.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub enum BatchElement {
    Order(Box<FuturesOrder>),
    Refused(Refused),
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesConditionalOrder {
    #[schemars(with = "String")]
    pub activate_price: Trailing,
    pub actual_order_id: Digits,
    #[schemars(with = "String")]
    pub actual_price: Units,
    pub algo_id: u64,
    pub algo_status: &'static str,
    pub algo_type: &'static str,
    #[schemars(with = "String")]
    pub callback_rate: Trailing,
    pub client_algo_id: Name<36>,
    pub close_position: bool,
    pub create_time: i64,
    pub good_till_date: i64,
    pub iceberg_quantity: Option<&'static str>,
    pub order_type: OrderType,
    pub position_side: PositionSide,
    pub price: Units,
    pub price_match: MatchedPrice,
    pub price_protect: bool,
    pub quantity: Units,
    pub reduce_only: bool,
    pub self_trade_prevention_mode: SelfTrade,
    pub side: OrderSide,
    pub sl_price: Units,
    pub sl_trigger_price: Units,
    pub symbol: SymbolName,
    pub time_in_force: TimeInForce,
    pub tp_order_type: &'static str,
    pub tp_price: Units,
    pub tp_trigger_price: Units,
    pub trigger_price: Units,
    pub trigger_time: i64,
    pub update_time: i64,
    pub working_type: TriggerPrice,
}

/// A number of an order that trails, else the empty text.
#[derive(Clone, Copy, Debug)]
pub struct Trailing(pub Option<Units>);

impl Serialize for Trailing {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(units) => units.serialize(serializer),
            None => serializer.serialize_str(""),
        }
    }
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct ConditionalCanceled {
    pub algo_id: u64,
    pub client_algo_id: Name<36>,
    pub code: Whole,
    pub msg: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesAmendment {
    pub amendment: Amendment,
    pub amendment_id: u64,
    pub client_order_id: Name<36>,
    pub order_id: u64,
    pub pair: SymbolName,
    pub symbol: SymbolName,
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct Amendment {
    pub count: u32,
    pub orig_qty: Change,
    pub price: Change,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Change {
    pub after: Units,
    pub before: Units,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FuturesRateLimit {
    pub interval: &'static str,
    pub interval_num: u32,
    pub limit: u32,
    pub rate_limit_type: &'static str,
}
