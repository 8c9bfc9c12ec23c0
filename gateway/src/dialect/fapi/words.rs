//! Words of the `/fapi` API for what the engine has numbers for (`perpetual.md` 1).

use super::refusal::{self, Refusal};
use ringside_core::command::{
    MarginMode, PerpetualOrderType, PerpetualState, PerpetualStatus, PerpetualTimeInForce, PriceMatch,
    SelfTradePrevention, Side, WorkingType,
};

/// Types as exchangeInfo lists them.
pub const ORDER_TYPES: [&str; 7] =
    ["LIMIT", "MARKET", "STOP", "STOP_MARKET", "TAKE_PROFIT", "TAKE_PROFIT_MARKET", "TRAILING_STOP_MARKET"];
/// Times in force as exchangeInfo lists them.
pub const TIMES_IN_FORCE: [&str; 5] = ["GTC", "IOC", "FOK", "GTX", "GTD"];

/// A side.
pub const fn side(side: Side) -> &'static str {
    match side {
        Side::Buy => "BUY",
        Side::Sell => "SELL",
    }
}

/// -1117.
pub fn parse_side(word: &str) -> Result<Side, Refusal> {
    match word {
        "BUY" => Ok(Side::Buy),
        "SELL" => Ok(Side::Sell),
        _ => Err(refusal::SIDE),
    }
}

/// A type.
pub const fn order_type(order_type: PerpetualOrderType) -> &'static str {
    match order_type {
        PerpetualOrderType::Limit => "LIMIT",
        PerpetualOrderType::Market => "MARKET",
        PerpetualOrderType::Stop => "STOP",
        PerpetualOrderType::TakeProfit => "TAKE_PROFIT",
        PerpetualOrderType::StopMarket => "STOP_MARKET",
        PerpetualOrderType::TakeProfitMarket => "TAKE_PROFIT_MARKET",
        PerpetualOrderType::TrailingStopMarket => "TRAILING_STOP_MARKET",
        // REST shows the order that the engine closes a position with as what it is in the book.
        PerpetualOrderType::Liquidation => "LIMIT",
    }
}

/// -1116.
pub fn parse_order_type(word: &str) -> Result<PerpetualOrderType, Refusal> {
    Ok(match word {
        "LIMIT" => PerpetualOrderType::Limit,
        "MARKET" => PerpetualOrderType::Market,
        "STOP" | "STOP_LIMIT" => PerpetualOrderType::Stop,
        "TAKE_PROFIT" | "TAKE_PROFIT_LIMIT" => PerpetualOrderType::TakeProfit,
        "STOP_MARKET" => PerpetualOrderType::StopMarket,
        "TAKE_PROFIT_MARKET" => PerpetualOrderType::TakeProfitMarket,
        "TRAILING_STOP_MARKET" => PerpetualOrderType::TrailingStopMarket,
        _ => return Err(refusal::ORDER_TYPE),
    })
}

/// A time in force.
pub const fn time_in_force(time_in_force: PerpetualTimeInForce) -> &'static str {
    match time_in_force {
        PerpetualTimeInForce::GoodTillCancel => "GTC",
        PerpetualTimeInForce::ImmediateOrCancel => "IOC",
        PerpetualTimeInForce::PostOnly => "GTX",
        PerpetualTimeInForce::FillOrKill => "FOK",
        PerpetualTimeInForce::GoodTillDate => "GTD",
    }
}

/// -1115.
pub fn parse_time_in_force(word: &str) -> Result<PerpetualTimeInForce, Refusal> {
    Ok(match word {
        "GTC" => PerpetualTimeInForce::GoodTillCancel,
        "IOC" => PerpetualTimeInForce::ImmediateOrCancel,
        "GTX" => PerpetualTimeInForce::PostOnly,
        "FOK" => PerpetualTimeInForce::FillOrKill,
        "GTD" => PerpetualTimeInForce::GoodTillDate,
        _ => return Err(refusal::TIME_IN_FORCE),
    })
}

/// A status.
pub const fn status(status: PerpetualStatus) -> &'static str {
    match status {
        PerpetualStatus::New => "NEW",
        PerpetualStatus::PartiallyFilled => "PARTIALLY_FILLED",
        PerpetualStatus::Filled => "FILLED",
        PerpetualStatus::Canceled => "CANCELED",
        PerpetualStatus::Expired => "EXPIRED",
        PerpetualStatus::ExpiredInMatch => "EXPIRED_IN_MATCH",
    }
}

/// What a conditional order watches.
pub const fn working_type(working_type: WorkingType) -> &'static str {
    match working_type {
        WorkingType::ContractPrice => "CONTRACT_PRICE",
        WorkingType::MarkPrice => "MARK_PRICE",
    }
}

/// -4031.
pub fn parse_working_type(word: &str) -> Result<WorkingType, Refusal> {
    match word {
        "CONTRACT_PRICE" => Ok(WorkingType::ContractPrice),
        "MARK_PRICE" => Ok(WorkingType::MarkPrice),
        _ => Err(refusal::working_type(word)),
    }
}

/// A price taken from the book.
pub const fn price_match(price_match: PriceMatch) -> &'static str {
    match price_match {
        PriceMatch::None => "NONE",
        PriceMatch::Opponent => "OPPONENT",
        PriceMatch::Opponent5 => "OPPONENT_5",
        PriceMatch::Opponent10 => "OPPONENT_10",
        PriceMatch::Opponent20 => "OPPONENT_20",
        PriceMatch::Queue => "QUEUE",
        PriceMatch::Queue5 => "QUEUE_5",
        PriceMatch::Queue10 => "QUEUE_10",
        PriceMatch::Queue20 => "QUEUE_20",
    }
}

/// -5037.
pub fn parse_price_match(word: &str) -> Result<PriceMatch, Refusal> {
    PriceMatch::ALL.iter().copied().find(|known| price_match(*known) == word).ok_or(refusal::PRICE_MATCH)
}

/// What happens where an order meets its own account's.
pub const fn self_trade(mode: SelfTradePrevention) -> &'static str {
    match mode {
        // Spot's own mode; no order of this side has it.
        SelfTradePrevention::None | SelfTradePrevention::RejectTaker => "NONE",
        SelfTradePrevention::ExpireTaker => "EXPIRE_TAKER",
        SelfTradePrevention::ExpireMaker => "EXPIRE_MAKER",
        SelfTradePrevention::ExpireBoth => "EXPIRE_BOTH",
    }
}

/// -5039.
pub fn parse_self_trade(word: &str) -> Result<SelfTradePrevention, Refusal> {
    Ok(match word {
        "NONE" => SelfTradePrevention::None,
        "EXPIRE_TAKER" => SelfTradePrevention::ExpireTaker,
        "EXPIRE_MAKER" => SelfTradePrevention::ExpireMaker,
        "EXPIRE_BOTH" => SelfTradePrevention::ExpireBoth,
        _ => return Err(refusal::SELF_TRADE),
    })
}

/// A state as a symbol's status (`risk.md` 16).
pub const fn symbol_status(state: PerpetualState) -> &'static str {
    match state {
        PerpetualState::Trading | PerpetualState::PostOnly => "TRADING",
        PerpetualState::ReduceOnly => "SETTLING",
        PerpetualState::CancelOnly | PerpetualState::Halted => "PENDING_TRADING",
        PerpetualState::Closed => "CLOSE",
    }
}

/// A state as operators name it.
pub const fn state(state: PerpetualState) -> &'static str {
    match state {
        PerpetualState::Trading => "TRADING",
        PerpetualState::PostOnly => "POST_ONLY",
        PerpetualState::ReduceOnly => "REDUCE_ONLY",
        PerpetualState::CancelOnly => "CANCEL_ONLY",
        PerpetualState::Halted => "HALTED",
        PerpetualState::Closed => "CLOSED",
    }
}

/// The state of an operator's word.
pub fn parse_state(word: &str) -> Option<PerpetualState> {
    PerpetualState::ALL.iter().copied().find(|known| state(*known) == word)
}

/// A margin mode as marginType.
pub const fn margin_type(mode: MarginMode) -> &'static str {
    match mode {
        MarginMode::Cross => "CROSSED",
        MarginMode::Isolated => "ISOLATED",
    }
}

/// A margin mode as positionRisk shows it.
pub const fn margin_type_small(mode: MarginMode) -> &'static str {
    match mode {
        MarginMode::Cross => "cross",
        MarginMode::Isolated => "isolated",
    }
}
