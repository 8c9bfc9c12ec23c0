//! Refusals of the spot dialect: status and string of `spot.md` 3, each stated once.

use http::StatusCode;
use ringside_core::reject::Reject;
use ringside_views::market::MarketRecord;
use ringside_wire::number::{Total, Units};
use ringside_wire::refusal::Error;

/// One refusal: the HTTP status and the exact `error` string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// The string.
    pub error: &'static str,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Error::spot(status, refusal.error).with_message(hint(refusal))
    }
}

const fn refusal(status: u16, error: &'static str) -> Refusal {
    Refusal { status, error }
}

/// HTTP status 400.
pub const SYMBOL_REQUIRED: Refusal = refusal(400, "symbol required");
/// HTTP status 400.
pub const INVALID_LIMIT: Refusal = refusal(400, "invalid limit");
/// HTTP status 400.
pub const INVALID_STATUS: Refusal = refusal(400, "invalid status");
/// HTTP status 400.
pub const INVALID_RANGE: Refusal = refusal(400, "invalid range");
/// HTTP status 400.
pub const INVALID_SIDE: Refusal = refusal(400, "invalid side");
/// HTTP status 400.
pub const INVALID_TYPE: Refusal = refusal(400, "invalid type");
/// HTTP status 400.
pub const INVALID_TIF: Refusal = refusal(400, "invalid tif");
/// HTTP status 400.
pub const INVALID_PRICE: Refusal = refusal(400, "invalid price");
/// HTTP status 400.
pub const INVALID_QUANTITY: Refusal = refusal(400, "invalid quantity");
/// HTTP status 400.
pub const INVALID_QUOTE_QUANTITY: Refusal = refusal(400, "invalid quote_quantity");
/// HTTP status 400.
pub const INVALID_AMOUNT: Refusal = refusal(400, "invalid amount");
/// HTTP status 400.
pub const INVALID_ID: Refusal = refusal(400, "invalid id");
/// 400. The specification names the form of the header but no string.
pub const INVALID_IDEMPOTENCY_KEY: Refusal = refusal(400, "invalid idempotency key");
/// HTTP status 400.
pub const QUOTE_QUANTITY_REQUIRED: Refusal = refusal(400, "quote_quantity required for market buy");
/// HTTP status 400.
pub const QUANTITY_REQUIRED: Refusal = refusal(400, "quantity required for limit/market sell");
/// HTTP status 400.
pub const PRICE_REQUIRED: Refusal = refusal(400, "price required for limit");
/// 400: a symbol that no market can have.
pub const MARKET_MALFORMED: Refusal = refusal(400, "MARKET_NOT_FOUND");
/// 404: a symbol that no market has.
pub const MARKET_NOT_FOUND: Refusal = refusal(404, "MARKET_NOT_FOUND");
/// HTTP status 409.
pub const MARKET_HALTED: Refusal = refusal(409, "MARKET_HALTED");
/// HTTP status 410.
pub const MARKET_DELISTED: Refusal = refusal(410, "MARKET_DELISTED");
/// HTTP status 409.
pub const MARKET_EXISTS: Refusal = refusal(409, "MARKET_EXISTS");
/// HTTP status 409.
pub const IDEMPOTENCY_CONFLICT: Refusal = refusal(409, "IDEMPOTENCY_CONFLICT");
/// 429: an account may not bring keys without end, each of which is kept for a day.
pub const TOO_MANY_IDEMPOTENCY_KEYS: Refusal = refusal(429, "RATE_LIMITED");
/// 429: an account may not ask for withdrawals without end, each of which is remembered for good.
pub const TOO_MANY_WITHDRAWALS: Refusal = refusal(429, "RATE_LIMITED");
/// 400: of candles; also absent.
pub const INVALID_INTERVAL: Refusal = refusal(400, "invalid interval");
/// 404: no such market, or it has not traded yet.
pub const TICKER_NOT_FOUND: Refusal = refusal(404, "TICKER_NOT_FOUND");
/// HTTP status 403.
pub const FORBIDDEN: Refusal = refusal(403, "FORBIDDEN");
/// HTTP status 404.
pub const ORDER_NOT_FOUND: Refusal = refusal(404, "ORDER_NOT_FOUND");
/// HTTP status 404.
pub const DISABLED: Refusal = refusal(404, "DISABLED");
/// 400; the token follows.
pub const UNSUPPORTED_TOKEN: Refusal = refusal(400, "unsupported token: ");
/// HTTP status 400.
pub const AMOUNT_BELOW_MINIMUM: Refusal = refusal(400, "amount below minimum 1");
/// 400: of a withdrawal.
pub const INSUFFICIENT_AVAILABLE: Refusal = refusal(400, "insufficient balance");
/// 400: the wallet of the credential is none that a vault could pay.
pub const INVALID_USER_ADDRESS: Refusal = refusal(400, "invalid user address");
/// HTTP status 404.
pub const NOT_FOUND: Refusal = refusal(404, "not found");
/// 500: the signer decided against it.
pub const SIGN_FAILED: Refusal = refusal(500, "sign failed");
/// 500: the signer did not answer, or must not be asked now.
pub const SIGNER_UNAVAILABLE: Refusal = refusal(500, "signer unavailable");
/// 503: the chain, the vault or the token takes none now, which the message says; or the insurance pool is in deficit.
pub const WITHDRAWALS_PAUSED: Refusal = refusal(503, "WITHDRAWALS_PAUSED");
/// 400: of a list.
pub const INVALID_CURSOR: Refusal = refusal(400, "invalid cursor");
/// 503: this deployment has no withdrawals.
pub const SUBSYSTEM_DISABLED: Refusal = refusal(503, "spot subsystem disabled");
/// 500: handed to the engine, and the journal has not confirmed it.
pub const DB_ERROR: Refusal = refusal(500, "DB_ERROR");
/// 500: cannot happen.
pub const INTERNAL: Refusal = refusal(500, "internal");
/// 503: there is no engine, or it has stopped.
pub const ENGINE_DISABLED: Refusal = refusal(503, "spot trading disabled (engine not started)");
/// 503: the queue is full.
pub const ENGINE_BUSY: Refusal = refusal(503, "ENGINE_BUSY");
/// 503: recovery runs.
pub const ENGINE_RESTARTING: Refusal = refusal(503, "ENGINE_RESTARTING");

/// 401: the account of a credential is not known to the engine.
pub const UNAUTHORIZED: Refusal = refusal(401, "UNAUTHORIZED");

/// How a reject of the engine is answered on routes that place and cancel.
pub const fn of_reject(reject: Reject) -> Refusal {
    match reject {
        // The gateway sends neither unknown bytes nor a number twice, and answers a replay from the first outcome.
        Reject::Malformed | Reject::Duplicate | Reject::IdempotencyReplay => INTERNAL,
        Reject::IdempotencyConflict => IDEMPOTENCY_CONFLICT,
        // A credential names an account that exists; the engine and the credential then speak of other journals.
        Reject::AccountNotFound => UNAUTHORIZED,
        Reject::MarketNotFound => MARKET_NOT_FOUND,
        Reject::MarketDelisted => MARKET_DELISTED,
        Reject::MarketHalted => MARKET_HALTED,
        Reject::MarketExists => MARKET_EXISTS,
        Reject::InvalidPrice => INVALID_PRICE,
        Reject::InvalidQuantity | Reject::InvalidAmend => INVALID_QUANTITY,
        Reject::InvalidQuoteQuantity => INVALID_QUOTE_QUANTITY,
        Reject::InvalidAmount => INVALID_AMOUNT,
        Reject::InvalidTick => refusal(400, "INVALID_TICK"),
        Reject::InvalidLot => refusal(400, "INVALID_LOT"),
        Reject::BelowMinNotional => refusal(400, "BELOW_MIN_NOTIONAL"),
        Reject::InsufficientBalance => refusal(400, "INSUFFICIENT_BALANCE"),
        Reject::TooManyOpenOrders => refusal(400, "too many open orders"),
        Reject::PostOnlyWouldCross => refusal(400, "POST_ONLY_REJECT"),
        Reject::SelfTrade => refusal(400, "SELF_TRADE"),
        // No spot order asks for fill-or-kill.
        Reject::FillOrKill => INVALID_TIF,
        Reject::OrderNotFound => ORDER_NOT_FOUND,
        Reject::NotOwner => FORBIDDEN,
        // The rest answer commands of the perpetual side, which no spot route sends.
        _ => INTERNAL,
    }
}

/// How a reject of the engine is answered to POST /spot/withdraw/request.
pub const fn of_withdrawal(reject: Reject) -> Refusal {
    match reject {
        Reject::MarketNotFound => UNSUPPORTED_TOKEN,
        Reject::AmountBelowMinimum => AMOUNT_BELOW_MINIMUM,
        Reject::AccountNotFound => INVALID_USER_ADDRESS,
        Reject::InsufficientBalance => INSUFFICIENT_AVAILABLE,
        // Nothing may be signed while the chain is not understood, or the vault would not pay it.
        Reject::WithdrawalsPaused | Reject::TokenPaused => WITHDRAWALS_PAUSED,
        // The signer still owes an answer.
        Reject::NonceHeld => SIGNER_UNAVAILABLE,
        other => of_reject(other),
    }
}

/// `reject_reason` of a stored rejected order.
pub const fn reason(reject: Reject) -> &'static str {
    of_reject(reject).error
}

/// What people are told beside the string, where that names no value: what was expected. Empty where the string says all.
pub fn hint(refusal: Refusal) -> &'static str {
    match refusal.error {
        "symbol required" => "symbol: such as DFUSDT; GET /spot/markets names all",
        "MARKET_NOT_FOUND" => "symbol: there is no such market; GET /spot/markets names all",
        "invalid limit" => "limit: a whole number; what is beyond the most counts as the most",
        "invalid range" => "start and end: whole seconds, start not after end",
        "invalid side" => "side: buy or sell",
        "invalid type" => "type: limit or market",
        "invalid tif" => "tif: gtc, ioc or post_only; that of a market order is ioc",
        "invalid interval" => "interval: 1m, 5m, 15m, 1h, 4h or 1d",
        "invalid price" => "price: a decimal above 0, as text or as a number, of at most 64 characters",
        "invalid quantity" => "quantity: a decimal above 0, as text or as a number, of at most 64 characters",
        "invalid quote_quantity" => {
            "quote_quantity: a decimal above 0 with at most 18 decimals, as text or as a number"
        }
        "invalid amount" => "amount: a decimal above 0 with at most 18 decimals, as text or as a number",
        "invalid id" => "id: the UUID that the placement answered with",
        "invalid idempotency key" => "Idempotency-Key: 1 to 64 of A to Z, a to z, 0 to 9, _ and -",
        text if text.starts_with("unsupported ") && refusal != UNSUPPORTED_TOKEN => {
            "this venue has no such orders, and would place another one than was asked for"
        }
        _ => "",
    }
}

/// The same of an order that a market refused, with the market's own steps.
pub fn hint_of(reject: Reject, market: &MarketRecord) -> String {
    let (base, quote) = (market.base_name(), market.quote_name());
    match reject {
        Reject::InvalidTick => format!("price: a multiple of the tick, {}", Units(market.tick)),
        Reject::InvalidLot => format!("quantity: a multiple of the lot, {}", Units(market.lot)),
        Reject::BelowMinNotional => {
            format!("price x quantity: at least {} {quote}", Total(market.min_notional))
        }
        Reject::InsufficientBalance => {
            format!("a buy wants {quote} and a sell {base}, fees included, and less of it is available")
        }
        Reject::TooManyOpenOrders => {
            format!("at most {} orders of an account rest in a market", market.max_open_orders)
        }
        Reject::PostOnlyWouldCross => {
            "the order would have traded at once: post_only rests or is refused".to_owned()
        }
        Reject::SelfTrade => "the order would have met an order of the same account".to_owned(),
        other => hint(of_reject(other)).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_rejections_answer_400_with_the_names_of_the_specification() {
        let stored: Vec<_> = Reject::ALL.into_iter().filter(|reject| reject.stores_order()).collect();
        let names: Vec<_> = stored.iter().map(|reject| reason(*reject)).collect();
        assert_eq!(
            names,
            [
                "INVALID_TICK",
                "INVALID_LOT",
                "BELOW_MIN_NOTIONAL",
                "INSUFFICIENT_BALANCE",
                "POST_ONLY_REJECT",
                "SELF_TRADE"
            ]
        );
        assert!(stored.iter().all(|reject| of_reject(*reject).status == 400));
    }
}
