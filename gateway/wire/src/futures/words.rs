//! Words of the `/fapi` API (`perpetual.md` 1).

use crate::words::words;
use ringside_core::command::{
    MarginMode, PerpetualOrderType, PerpetualState, PerpetualStatus, PerpetualTimeInForce, PriceMatch,
    SelfTradePrevention, Side, WorkingType,
};

words! {
    /// Which side of the book.
    OrderSide of Side { "BUY" = Buy, "SELL" = Sell }

    /// A type. REST shows the order that the engine closes a position with as what it is in the book.
    OrderType of PerpetualOrderType {
        "LIMIT" = Limit | Liquidation,
        "MARKET" = Market,
        "STOP" = Stop,
        "STOP_MARKET" = StopMarket,
        "TAKE_PROFIT" = TakeProfit,
        "TAKE_PROFIT_MARKET" = TakeProfitMarket,
        "TRAILING_STOP_MARKET" = TrailingStopMarket,
    }

    /// A time in force.
    TimeInForce of PerpetualTimeInForce {
        "GTC" = GoodTillCancel,
        "IOC" = ImmediateOrCancel,
        "FOK" = FillOrKill,
        "GTX" = PostOnly,
        "GTD" = GoodTillDate,
    }

    /// A status.
    OrderStatus of PerpetualStatus {
        "NEW" = New,
        "PARTIALLY_FILLED" = PartiallyFilled,
        "FILLED" = Filled,
        "CANCELED" = Canceled,
        "EXPIRED" = Expired,
        "EXPIRED_IN_MATCH" = ExpiredInMatch,
    }

    /// What a conditional order watches.
    TriggerPrice of WorkingType { "CONTRACT_PRICE" = ContractPrice, "MARK_PRICE" = MarkPrice }

    /// A price taken from the book.
    MatchedPrice of PriceMatch {
        "NONE" = None,
        "OPPONENT" = Opponent,
        "OPPONENT_5" = Opponent5,
        "OPPONENT_10" = Opponent10,
        "OPPONENT_20" = Opponent20,
        "QUEUE" = Queue,
        "QUEUE_5" = Queue5,
        "QUEUE_10" = Queue10,
        "QUEUE_20" = Queue20,
    }

    /// What happens where an order meets its own account's. The second of none is spot's own, which no order here has.
    SelfTrade of SelfTradePrevention {
        "NONE" = None | RejectTaker,
        "EXPIRE_TAKER" = ExpireTaker,
        "EXPIRE_MAKER" = ExpireMaker,
        "EXPIRE_BOTH" = ExpireBoth,
    }

    /// A market's state as operators name it.
    TradingState of PerpetualState {
        "TRADING" = Trading,
        "POST_ONLY" = PostOnly,
        "REDUCE_ONLY" = ReduceOnly,
        "CANCEL_ONLY" = CancelOnly,
        "HALTED" = Halted,
        "CLOSED" = Closed,
    }

    /// A margin mode as requests have it.
    MarginType of MarginMode { "CROSSED" = Cross, "ISOLATED" = Isolated }

    /// A margin mode as positions show it.
    PositionMargin of MarginMode { "cross" = Cross, "isolated" = Isolated }
}

// The one side of positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum PositionSide {
    Both,
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
