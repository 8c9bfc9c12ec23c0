//! Refusals of the `/fapi` dialect: HTTP status, code and text, each stated once (`perpetual.md` 4).
//!
//! What the edge refuses before a handler sees the request is spelled in `wire/src/fault.rs`.

use http::StatusCode;
use ringside_core::command::PerpetualState;
use ringside_wire::refusal::Error;
use std::borrow::Cow;

/// One refusal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// Below zero.
    pub code: i32,
    /// The text, exactly.
    pub msg: Cow<'static, str>,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Error::fapi(status, refusal.code.min(-1), refusal.msg)
    }
}

const fn refusal(code: i32, msg: &'static str) -> Refusal {
    Refusal { status: 400, code, msg: Cow::Borrowed(msg) }
}

fn text(code: i32, msg: String) -> Refusal {
    Refusal { status: 400, code, msg: Cow::Owned(msg) }
}

macro_rules! refusals {
    ($($(#[$doc:meta])* $name:ident = ($code:literal, $msg:literal);)*) => {
        $($(#[$doc])* pub const $name: Refusal = refusal($code, $msg);)*
    };
}

refusals! {
    /// An order and its options do not go together.
    UNSUPPORTED_COMBINATION = (-1014, "Unsupported order combination.");
    /// `startTime` > `endTime`.
    START_AFTER_END = (-1023, "Start time is greater than end time.");
    /// More decimals than 8, or than the tick has.
    PRECISION = (-1111, "Precision is over the maximum defined for this asset.");
    /// No such time in force, or not for this type.
    TIME_IN_FORCE = (-1115, "Invalid timeInForce.");
    /// No such type.
    ORDER_TYPE = (-1116, "Invalid orderType.");
    /// No such side, or another one than the order's.
    SIDE = (-1117, "Invalid side.");
    /// No such interval.
    INTERVAL = (-1120, "Invalid interval.");
    /// No such symbol.
    SYMBOL = (-1121, "Invalid symbol.");
    /// No active key.
    LISTEN_KEY = (-1125, "This listenKey does not exist.");
    /// Optional parameters that exclude each other.
    COMBINATION = (-1128, "Combination of optional parameters invalid.");
    /// More parameters in a frame than any route has.
    TOO_MANY_PARAMS = (-1101, "Too many parameters sent for this endpoint.");
    /// A frame that is no JSON object.
    JSON = (-1135, "Invalid JSON request.");
    /// Parameters of a frame that are no JSON object.
    PARAMS = (-1135, "Invalid 'params' in JSON request; expected an object.");
    /// No such response type.
    RESPONSE_TYPE = (-1136, "Invalid newOrderRespType.");
    /// Callback rate out of range or no step.
    CALLBACK = (-2007, "Invalid callBack rate.");
    /// A post-only order would cross.
    WOULD_CROSS = (-2010, "Order would immediately match and take.");
    /// Nothing to cancel.
    UNKNOWN_ORDER = (-2011, "Unknown order sent.");
    /// Nothing to show or to change.
    NO_SUCH_ORDER = (-2013, "Order does not exist.");
    /// Spot has less.
    BALANCE = (-2018, "Balance is insufficient.");
    /// Equity does not cover it.
    MARGIN = (-2019, "Margin is insufficient.");
    /// The order would fire at once.
    IMMEDIATE_TRIGGER = (-2021, "Order would immediately trigger.");
    /// Nothing to reduce.
    REDUCE_ONLY = (-2022, "ReduceOnly Order is rejected.");
    /// The account is in liquidation.
    LIQUIDATION = (-2023, "User in liquidation mode now.");
    /// As many open orders as may be.
    OPEN_ORDERS = (-2025, "Reach max open order limit.");
    /// Position and open orders too large for the leverage.
    BRACKET = (-2027, "Exceeded the maximum allowable position at current leverage.");
    /// Equity does not cover the lower leverage.
    LEVERAGE_MARGIN = (-2028, "Leverage is smaller than permitted: insufficient margin balance.");
    /// Price zero.
    PRICE_ZERO = (-4001, "Price less than 0.");
    /// Price above the greatest.
    PRICE_MAXIMUM = (-4002, "Price greater than max price.");
    /// Quantity zero.
    QUANTITY_ZERO = (-4003, "Quantity less than zero.");
    /// Stop price zero.
    STOP_ZERO = (-4006, "Stop price less than zero.");
    /// Stop price above the greatest.
    STOP_MAXIMUM = (-4007, "Stop price greater than max price.");
    /// Price below the least.
    PRICE_MINIMUM = (-4013, "Price less than min price.");
    /// Price off the tick.
    TICK = (-4014, "Price not increased by tick size.");
    /// A client's name of an order that is none.
    CLIENT_ORDER = (-4015, "Client order id is not valid.");
    /// The same, too long.
    CLIENT_ORDER_LENGTH = (-4015, "Client order id length should not be more than 36 chars");
    /// A buy too far above the mark.
    BAND_UP = (-4016, "Price is higher than mark price multiplier cap.");
    /// A sell too far below the mark.
    BAND_DOWN = (-4024, "Price is lower than mark price multiplier floor.");
    /// More than ten cancels at once.
    CANCEL_COUNT = (-4032, "Exceed maximum cancel order size.");
    /// As many untriggered orders as may be.
    CONDITIONAL_ORDERS = (-4045, "Reach max stop order limit.");
    /// Isolated margin on the cross-only name space.
    ISOLATED = (-4046, "Isolated margin type is not available here.");
    /// Margin of a cross position.
    NOT_ISOLATED = (-4049, "Add margin only support for isolated position.");
    /// The cross wallet can spare less.
    CROSS_BALANCE = (-4050, "Cross balance insufficient.");
    /// The isolated wallet can spare less.
    ISOLATED_BALANCE = (-4051, "Isolated balance insufficient.");
    /// No position to add to.
    NO_POSITION = (-4054, "Cannot add position margin: position is 0.");
    /// A key that cannot speak for a whole connection.
    HMAC_KEY = (-4056, "HMAC_SHA256 API key is not supported.");
    /// Amount zero.
    AMOUNT = (-4055, "Amount must be positive.");
    /// Two-way positions.
    HEDGE = (-4059, "Hedge mode is not available here.");
    /// No such position side.
    POSITION_SIDE = (-4060, "Invalid position side.");
    /// A position side of the mode that does not exist here.
    POSITION_SIDE_MODE = (-4061, "Order's position side does not match user's setting.");
    /// No batch, or too many.
    BATCH_COUNT = (-4082, "Invalid number of batch place orders.");
    /// Several margin assets.
    MULTI_ASSETS = (-4084, "Method is not allowed currently. Upcoming soon.");
    /// Placements are switched off for the account.
    TRADING_DISABLED = (-4088, "User can not place order currently");
    /// The name is taken.
    CLIENT_ORDER_TWICE = (-4116, "ClientOrderId is duplicated.");
    /// A close-position order of that direction is open.
    CLOSE_POSITION_TWICE = (-4130, "An open stop or take profit order with GTE and closePosition in the direction is existing.");
    /// The best counterparty is too far from the mark.
    COUNTERPARTY = (-4131, "The counterparty's best price does not meet the PERCENT_PRICE filter limit.");
    /// Activation price out of range.
    ACTIVATION = (-4135, "Invalid activation price");
    /// A quantity with closePosition.
    QUANTITY_WITH_CLOSE = (-4137, "Quantity must be zero with closePosition equals true");
    /// The state takes no such order.
    STATE = (-4140, "Invalid symbol status for opening position");
    /// Settled.
    CLOSED = (-4141, "Symbol is closed");
    /// Lower leverage of an isolated position.
    LEVERAGE_REDUCTION = (-4161, "Leverage reduction is not supported in Isolated Margin Mode with open positions");
    /// Fill-or-kill.
    FILL_OR_KILL = (-5021, "Due to the order could not be filled immediately, the FOK order has been rejected. The order will not be recorded in the order history");
    /// No modifications now.
    NOT_TRADING = (-5024, "Symbol is not in trading status. Order amendment is not permitted.");
    /// Only limit orders in the book.
    LIMIT_ONLY = (-5025, "Only limit order is supported.");
    /// Modified as often as may be.
    MODIFICATIONS = (-5026, "Exceed maximum modify order limit.");
    /// Nothing would change.
    NOTHING_TO_MODIFY = (-5027, "No need to modify the order.");
    /// No such price match.
    PRICE_MATCH = (-5037, "Invalid price match");
    /// Not for this type.
    PRICE_MATCH_TYPE = (-5038, "Price match only supports order type: LIMIT, STOP AND TAKE_PROFIT");
    /// No such mode.
    SELF_TRADE = (-5039, "Invalid self trade prevention mode");
    /// Too near or too far.
    GOOD_TILL = (-5040, "The goodTillDate timestamp must be greater than the current time plus 600 seconds and smaller than 253402300799000 (UTC 9999-12-31 23:59:59)");
    /// The book has no such level.
    NO_LEVEL = (-5041, "No depth matches this BBO order");
    /// Neither name of an order of the conditional-order service.
    ALGO_NAME = (-1102, "Param 'clientAlgoId' or 'algoId' must be sent, but both were empty/null!");
    /// Neither name of an order.
    ORDER_NAME = (-1102, "Param 'origClientOrderId' or 'orderId' must be sent, but both were empty/null!");
}

/// 503 A: handed to the engine, outcome unknown.
pub const UNKNOWN: Refusal = Refusal {
    status: 503,
    code: -1000,
    msg: Cow::Borrowed("Unknown error, please check your request or try again later."),
};
/// 503 B: starting, recovering, stopped.
pub const UNAVAILABLE: Refusal =
    Refusal { status: 503, code: -1016, msg: Cow::Borrowed("Service Unavailable.") };
/// 503 C: not handed over.
pub const NOT_HANDED_OVER: Refusal = Refusal {
    status: 503,
    code: -1001,
    msg: Cow::Borrowed("Internal error; unable to process your request. Please try again."),
};
/// 503 D: no room for a new order.
pub const THROTTLED: Refusal = Refusal {
    status: 503,
    code: -1008,
    msg: Cow::Borrowed(
        "Request throttled by system-level protection. Reduce-only/close-position orders are exempt. Please try again.",
    ),
};
/// Anything that should not happen.
pub const INTERNAL: Refusal =
    Refusal { status: 500, code: -1000, msg: Cow::Borrowed("Request occur unknown error.") };

/// -1100.
pub fn illegal(name: &str, range: &str) -> Refusal {
    text(-1100, format!("Illegal characters found in parameter '{name}'; legal range is '{range}'."))
}

/// -1101.
pub fn twice(name: &str) -> Refusal {
    text(-1101, format!("Duplicate values for parameter '{name}' detected."))
}

/// -1102.
pub fn mandatory(name: &str) -> Refusal {
    text(-1102, format!("Mandatory parameter '{name}' was not sent, was empty/null, or malformed."))
}

/// -1106.
pub fn not_required(name: &str) -> Refusal {
    text(-1106, format!("Parameter '{name}' sent when not required."))
}

/// -1130.
pub fn not_valid(name: &str) -> Refusal {
    text(-1130, format!("Data sent for parameter '{name}' is not valid."))
}

/// -1130: rows that an operator has exported and removed; from which trade on there are some.
pub fn removed(name: &str, trade: u64, time_ms: i64) -> Refusal {
    text(
        -1130,
        format!(
            "Data sent for parameter '{name}' is not valid: trades before id {trade} of {time_ms} are kept elsewhere."
        ),
    )
}

/// -1130: the account's own rows of that time, which an operator has exported and removed.
pub fn removed_own(name: &str, time_ms: i64) -> Refusal {
    text(
        -1130,
        format!(
            "Data sent for parameter '{name}' is not valid: own rows through {time_ms} are kept elsewhere."
        ),
    )
}

/// -1130: the key is another request's.
pub fn key_of_another() -> Refusal {
    text(-1130, "Parameter 'idempotencyKey' was used for another request.".to_owned())
}

/// -1130: no key more is taken.
pub fn too_many_keys(limit: usize) -> Refusal {
    text(-1130, format!("The limit is {limit} idempotency keys in 24 hours; a request without one is taken."))
}

/// -1104: what is not read and would have made another order of it.
pub fn unsupported(name: &str) -> Refusal {
    text(-1104, format!("Not all sent parameters were read; '{name}' is not supported."))
}

/// -5000: no such method of requests over a WebSocket.
pub fn method(name: &str) -> Refusal {
    Refusal { status: 404, ..text(-5000, format!("Method {name} is invalid")) }
}

/// -4140 of a market in a state, which has a word for clients: what it takes instead.
pub fn state(state: PerpetualState, word: &str) -> Refusal {
    let takes = match state {
        PerpetualState::Trading | PerpetualState::Closed => return STATE,
        PerpetualState::PostOnly => "paused, and takes timeInForce GTX alone",
        PerpetualState::ReduceOnly => {
            "about to settle or without an index, and takes reduceOnly and closePosition alone"
        }
        PerpetualState::CancelOnly | PerpetualState::Halted => "stopped, and takes cancels alone",
    };
    text(-4140, format!("{}: the market is {takes} ({word})", STATE.msg))
}

/// -4021.
pub fn depth_limit(limit: i64) -> Refusal {
    text(-4021, format!("{limit} is not valid depth limit"))
}

/// -4028.
pub fn leverage(leverage: &str) -> Refusal {
    text(-4028, format!("Leverage {leverage} is not valid"))
}

/// -4031.
pub fn working_type(word: &str) -> Refusal {
    text(-4031, format!("Invalid parameter working type: {word}"))
}

/// -4165.
pub fn span(days: u32) -> Refusal {
    text(-4165, format!("Maximum time interval is {days} days"))
}

/// -1013 of the quantity filters.
pub fn lot_size(quantity: &str, least: &str, greatest: &str) -> Refusal {
    text(-1013, format!("Filter failure: LOT_SIZE. Quantity {quantity} is outside {least} to {greatest}."))
}

/// -1013 of the least notional.
pub fn min_notional(notional: &str, least: &str) -> Refusal {
    text(
        -1013,
        format!(
            "Filter failure: MIN_NOTIONAL. Notional {notional} is below the minimum {least} (unless you choose reduce only)."
        ),
    )
}

/// -1013 of the greatest notional.
pub fn max_notional(notional: &str, greatest: &str) -> Refusal {
    text(-1013, format!("Filter failure: MAX_NOTIONAL. Notional {notional} is above the maximum {greatest}."))
}
