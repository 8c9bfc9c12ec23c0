//! Words of the `/fapi` API that are read, each with its refusal (`perpetual.md` 1).

use super::refusal::{self, Refusal};
use ringside_core::command::{
    PerpetualOrderType, PerpetualTimeInForce, PriceMatch, SelfTradePrevention, Side, WorkingType,
};
pub use ringside_wire::futures::words::{
    MarginType, MatchedPrice, OrderSide, OrderStatus, OrderType, PositionMargin, SelfTrade, TimeInForce,
    TradingState, TriggerPrice, symbol_status,
};

/// -1117.
pub fn parse_side(word: &str) -> Result<Side, Refusal> {
    OrderSide::read(word).ok_or(refusal::SIDE)
}

/// -1116.
pub fn parse_order_type(word: &str) -> Result<PerpetualOrderType, Refusal> {
    let word = match word {
        "STOP_LIMIT" => "STOP",
        "TAKE_PROFIT_LIMIT" => "TAKE_PROFIT",
        word => word,
    };
    OrderType::read(word).ok_or(refusal::ORDER_TYPE)
}

/// -1115.
pub fn parse_time_in_force(word: &str) -> Result<PerpetualTimeInForce, Refusal> {
    TimeInForce::read(word).ok_or(refusal::TIME_IN_FORCE)
}

/// -4031.
pub fn parse_working_type(word: &str) -> Result<WorkingType, Refusal> {
    TriggerPrice::read(word).ok_or_else(|| refusal::working_type(word))
}

/// -5037.
pub fn parse_price_match(word: &str) -> Result<PriceMatch, Refusal> {
    MatchedPrice::read(word).ok_or(refusal::PRICE_MATCH)
}

/// -5039.
pub fn parse_self_trade(word: &str) -> Result<SelfTradePrevention, Refusal> {
    SelfTrade::read(word).ok_or(refusal::SELF_TRADE)
}
