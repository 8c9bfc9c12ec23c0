//! Refusals of this dialect: HTTP status, code and what it says to people, each stated once (`account.md` 1).

use http::StatusCode;
use ringside_core::reject::Reject;
use ringside_wire::refusal::Error;
use std::borrow::Cow;

/// One refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: u16,
    /// What programs compare.
    pub code: &'static str,
    /// What people read, where nothing more exact is known.
    pub message: &'static str,
}

/// A refusal with a message of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Code and text that answer it.
    pub refusal: Refusal,
    /// What people read.
    pub message: Cow<'static, str>,
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Refused {
        Refused { refusal, message: Cow::Borrowed(refusal.message) }
    }
}

impl Refusal {
    /// The same with another message.
    pub fn saying(self, message: impl Into<Cow<'static, str>>) -> Refused {
        Refused { refusal: self, message: message.into() }
    }
}

impl From<Refused> for Error {
    fn from(Refused { refusal, message }: Refused) -> Error {
        let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Error::account(status, refusal.code, message)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Refused::from(refusal).into()
    }
}

const fn refusal(status: u16, code: &'static str, message: &'static str) -> Refusal {
    Refusal { status, code, message }
}

/// 429: each is remembered for good.
pub const TOO_MANY_WITHDRAWALS: Refusal =
    refusal(429, "RATE_LIMITED", "too many withdrawals were asked for in 24 hours");
/// 400: the message names the parameter.
pub const INVALID_PARAMETER: Refusal =
    refusal(400, "INVALID_PARAMETER", "a parameter is missing or malformed");
/// HTTP status 400.
pub const INVALID_CURSOR: Refusal =
    refusal(400, "INVALID_CURSOR", "cursor: not issued by this route for these filters");
/// HTTP status 400.
pub const SLIPPAGE_EXCEEDED: Refusal =
    refusal(400, "SLIPPAGE_EXCEEDED", "the average price is further from the best than max_slippage");
/// HTTP status 400.
pub const INSUFFICIENT_LIQUIDITY: Refusal =
    refusal(400, "INSUFFICIENT_LIQUIDITY", "the book cannot fill this quantity now");
/// 400: the message is that of a placement.
pub const FILTER_FAILURE: Refusal = refusal(400, "FILTER_FAILURE", "");
/// 400: of a withdrawal.
pub const INSUFFICIENT_BALANCE: Refusal =
    refusal(400, "INSUFFICIENT_BALANCE", "amount: more than can be withdrawn now");
/// 400: of a withdrawal.
pub const UNSUPPORTED_TOKEN: Refusal =
    refusal(400, "UNSUPPORTED_TOKEN", "token: USDT alone can be withdrawn");
/// 400: of a withdrawal.
pub const AMOUNT_TOO_SMALL: Refusal = refusal(400, "AMOUNT_TOO_SMALL", "amount: at least 10");
/// 400: of the referral routes.
pub const INVALID_ADDRESS: Refusal = refusal(400, "INVALID_ADDRESS", "an address is 0x and 40 hex digits");
/// 500: the referral contract was not read.
pub const CHAIN_ERROR: Refusal = refusal(500, "CHAIN_ERROR", "the chain cannot be read now");
/// 403: of routes of operators. The key that all share proves nobody.
pub const FORBIDDEN: Refusal = refusal(
    403,
    "FORBIDDEN",
    "two operators decide this, each by a key of their own: the administrator's key and X-Operator count as neither",
);
/// HTTP status 404.
pub const SYMBOL_NOT_FOUND: Refusal = refusal(404, "SYMBOL_NOT_FOUND", "there is no such market");
/// HTTP status 404.
pub const NOT_FOUND: Refusal = refusal(404, "NOT_FOUND", "there is no such thing");
/// 404: a route that this deployment does not have.
pub const DISABLED: Refusal = refusal(404, "DISABLED", "only test deployments have this route");
/// 409: of a change of margin mode.
pub const OPEN_ORDERS_EXIST: Refusal =
    refusal(409, "OPEN_ORDERS_EXIST", "there are open orders where the margin mode would change");
/// 409: of a change of margin mode.
pub const POSITION_EXISTS: Refusal =
    refusal(409, "POSITION_EXISTS", "there is a position where the margin mode would change");
/// 409: of a token that is added.
pub const TOKEN_EXISTS: Refusal = refusal(
    409,
    "TOKEN_EXISTS",
    "the contract is known as another token, or the token by another contract; both are for good",
);
/// 409: of a listing.
pub const SYMBOL_EXISTS: Refusal =
    refusal(409, "SYMBOL_EXISTS", "a market of that name is there, and is another");
/// 409: of an operator who accepts how far the clock is: the message says how far.
pub const DISTANCE_CHANGED: Refusal =
    refusal(409, "DISTANCE_CHANGED", "the clock is another distance from engine time now");
/// 409: of operators' commands.
pub const CLUSTER_UNCHANGED: Refusal =
    refusal(409, "CLUSTER_UNCHANGED", "the members of the cluster cannot be changed so now");
/// 409: of operators' commands.
pub const MARKET_CLOSED: Refusal = refusal(409, "MARKET_CLOSED", "the market is closed for good");
/// 409: of operators' commands.
pub const NO_MARK_PRICE: Refusal = refusal(409, "NO_MARK_PRICE", "the market never had a mark price");
/// HTTP status 500.
pub const INTERNAL: Refusal = refusal(500, "INTERNAL", "retry later");
/// 500: handed to the engine, and no answer came.
pub const UNKNOWN: Refusal = refusal(500, "INTERNAL", "the outcome is unknown; query before you retry");
/// HTTP status 503.
pub const EXTERNAL_UNAVAILABLE: Refusal =
    refusal(503, "EXTERNAL_UNAVAILABLE", "no source, or no quote within the last minute");
/// 503: the deployment has no vault.
pub const WITHDRAWALS_UNAVAILABLE: Refusal =
    refusal(503, "WITHDRAWALS_UNAVAILABLE", "this deployment has no vault");
/// 503: an operator's switch, an empty insurance fund, or a chain that cannot be trusted.
pub const WITHDRAWALS_PAUSED: Refusal = refusal(503, "WITHDRAWALS_PAUSED", "withdrawals are paused");
/// 503: there is no signature, and the amount is back.
pub const SIGNER_UNAVAILABLE: Refusal =
    refusal(503, "SERVICE_UNAVAILABLE", "there is no signature; the amount is available again");
/// 503: recovery runs, or there is no engine.
pub const UNAVAILABLE: Refusal = refusal(503, "SERVICE_UNAVAILABLE", "the exchange is not running");
/// 503: nothing was handed over.
pub const BUSY: Refusal = refusal(503, "SERVICE_UNAVAILABLE", "nothing was done; retry with backoff");

/// A parameter that is missing or malformed.
pub fn invalid(name: &str) -> Refused {
    INVALID_PARAMETER.saying(format!("{name}: missing or malformed"))
}

/// What an operator's command is refused with.
pub fn of_operator(reject: Reject) -> Refused {
    match reject {
        Reject::MarketNotFound => SYMBOL_NOT_FOUND.into(),
        Reject::MarketDelisted => MARKET_CLOSED.into(),
        Reject::MarketExists => SYMBOL_EXISTS.into(),
        Reject::NoMarkPrice => NO_MARK_PRICE.into(),
        Reject::AccountNotFound => NOT_FOUND.into(),
        Reject::InvalidAmount | Reject::CrossInsufficient => invalid("amount"),
        Reject::InvalidPrice => invalid("price"),
        // The gateway sends no unknown bytes; what is left is a trade group below -1.
        Reject::Malformed => invalid("trade_group_id"),
        _ => INTERNAL.into(),
    }
}
