//! Refusals that the edge itself makes, before any handler: one closed list, spelled once per dialect.
//!
//! What a handler refuses belongs to its dialect, not here.

use crate::refusal::{Dialect, Error};
use http::StatusCode;
use std::borrow::Cow;

/// Body of the answer to a head that is no HTTP, such as one with a character in its target that has to be encoded. Which dialect is
/// spoken is not known then: it has the members of each.
pub const UNREADABLE: &str = r#"{"code":-1100,"msg":"Illegal characters found in parameter 'request'; legal range is 'HTTP/1.1'.","error":"invalid request","message":"the request cannot be read as HTTP: characters of its target may want encoding"}"#;

/// When a client with too many connections may ask again: it knows better when one of them ends.
const CONNECT_AGAIN_S: u64 = 1;

/// Of a request that changes nothing.
const NO_ANSWER: &str = "no answer in time";
/// Of one that may have changed something.
const UNKNOWN_OUTCOME: &str = "no answer in time; the outcome is unknown, query before you retry";

fn mandatory(name: &str) -> String {
    format!("Mandatory parameter '{name}' was not sent, was empty/null, or malformed.")
}

/// What an API key lacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Denied {
    /// Permission to read.
    Read,
    /// Permission to trade.
    Trade,
    /// The route withdraws, which no API key may.
    Withdraw,
    /// The route is for logged-in wallets only.
    LoginOnly,
}

/// Why a signed request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// A parameter is missing, empty or no such thing.
    Mandatory(&'static str),
    /// A parameter stands twice in the same place.
    Twice(&'static str),
    /// A parameter is out of range.
    NotValid(&'static str),
    /// The timestamp is too far in the future.
    Ahead,
    /// The timestamp is too old.
    Late,
    /// The signature is another one.
    Signature,
    /// The same request was taken before.
    Replayed,
}

/// Why the edge refused. Listed in the order in which the checks run (`spot.md` 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// 418: the address is banned until `until_ms` (UNIX), `retry_after_s` from now.
    Banned {
        /// End of the ban, UNIX milliseconds.
        until_ms: i64,
        /// The same from now, whole seconds, rounded up.
        retry_after_s: u64,
    },
    /// 429: the weight of this minute is spent.
    TooManyRequests {
        /// The limit.
        limit: u32,
        /// Until the window ends, whole seconds, rounded up.
        retry_after_s: u64,
    },
    /// 429: the requests to funding routes of these five minutes are spent.
    TooManyFunding {
        /// The limit.
        limit: u32,
        /// Until the window ends, whole seconds, rounded up.
        retry_after_s: u64,
    },
    /// 429: the client of this connection has as many as it may.
    TooManyConnections {
        /// The limit.
        limit: usize,
    },
    /// 404: no such path.
    NotFound,
    /// 405: the path exists, the method does not.
    MethodNotAllowed,
    /// 413: the body is longer than allowed.
    BodyTooLarge,
    /// 408: the body did not arrive in time.
    BodyTimeout,
    /// 400: the body broke off, or is not framed as HTTP has it.
    BodyBroken,
    /// 401: no credential, or an unknown or disabled one.
    Unauthorized,
    /// 401: the token's time is over.
    TokenExpired,
    /// 403: a good credential that may not do this.
    Forbidden(Denied),
    /// 401: the key of a signed request is missing or none.
    KeyFormat,
    /// 400: a header of ours says nothing that it can.
    Header(&'static str),
    /// 400: the body of a signed request is no form.
    BodyType,
    /// 400: parameters, time or signature of a signed request.
    SignatureError(SignatureError),
    /// 503: the engine's queue is too long for a new order.
    Throttled,
    /// 429: the account's orders of this window are spent.
    TooManyOrders {
        /// The limit.
        limit: u32,
        /// The window in seconds: 10 or 60.
        window_s: u32,
        /// Until the window ends, whole seconds, rounded up.
        retry_after_s: u64,
    },
    /// 400: the body is no JSON object.
    InvalidJson,
    /// The handler did not finish in time.
    Timeout,
    /// The same of a request that may have changed something: whether it took effect is unknown.
    Unanswered,
    /// 500: anything that should not happen.
    Internal,
}

impl Fault {
    /// The refusal as `dialect` spells it.
    pub fn error(self, dialect: Dialect) -> Error {
        match dialect {
            Dialect::Spot => self.spot(),
            Dialect::Fapi => self.fapi(),
            Dialect::Account => self.account(),
        }
    }

    /// `account.md` 1.
    fn account(self) -> Error {
        let (status, code, message) = match self {
            Fault::Banned { .. } => (StatusCode::IM_A_TEAPOT, "BANNED", "this address is banned"),
            Fault::TooManyRequests { .. } | Fault::TooManyFunding { .. } | Fault::TooManyOrders { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", "too many requests")
            }
            Fault::TooManyConnections { .. } => {
                (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED", "too many connections of one address")
            }
            Fault::NotFound => (StatusCode::NOT_FOUND, "NOT_FOUND", "no such route"),
            Fault::MethodNotAllowed => {
                (StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", "the route has another method")
            }
            Fault::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "INVALID_PARAMETER", "body too large"),
            Fault::BodyTimeout => {
                (StatusCode::REQUEST_TIMEOUT, "INVALID_PARAMETER", "the body did not arrive")
            }
            Fault::BodyBroken => {
                (StatusCode::BAD_REQUEST, "INVALID_PARAMETER", "the body cannot be read as HTTP")
            }
            Fault::Unauthorized | Fault::KeyFormat | Fault::SignatureError(_) => {
                (StatusCode::UNAUTHORIZED, "UNAUTHORIZED", "a good credential is needed")
            }
            Fault::TokenExpired => (StatusCode::UNAUTHORIZED, "TOKEN_EXPIRED", "the token's time is over"),
            Fault::Forbidden(Denied::Read) => {
                (StatusCode::FORBIDDEN, "FORBIDDEN", "the API key may not read")
            }
            Fault::Forbidden(Denied::Trade) => {
                (StatusCode::FORBIDDEN, "FORBIDDEN", "the API key may not trade")
            }
            Fault::Forbidden(Denied::Withdraw | Denied::LoginOnly) => {
                (StatusCode::FORBIDDEN, "FORBIDDEN", "this route takes a login token, not an API key")
            }
            Fault::BodyType => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "INVALID_PARAMETER", "unsupported media type")
            }
            Fault::InvalidJson => (StatusCode::BAD_REQUEST, "INVALID_PARAMETER", "body: no JSON object"),
            Fault::Header(name) => (StatusCode::BAD_REQUEST, "INVALID_PARAMETER", name),
            Fault::Throttled => (
                StatusCode::SERVICE_UNAVAILABLE,
                "SERVICE_UNAVAILABLE",
                "nothing was done; retry with backoff",
            ),
            Fault::Timeout => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", NO_ANSWER),
            Fault::Unanswered => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", UNKNOWN_OUTCOME),
            Fault::Internal => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL", "retry later"),
        };
        let error = Error::account(status, code, Cow::Borrowed(message));
        match self {
            Fault::Unanswered => error.with_unknown_outcome(),
            Fault::Banned { retry_after_s, .. }
            | Fault::TooManyRequests { retry_after_s, .. }
            | Fault::TooManyFunding { retry_after_s, .. }
            | Fault::TooManyOrders { retry_after_s, .. } => error.with_retry_after(retry_after_s),
            Fault::TooManyConnections { .. } => error.with_retry_after(CONNECT_AGAIN_S),
            _ => error,
        }
    }

    /// `spot.md` 3.
    fn spot(self) -> Error {
        let (status, error) = match self {
            Fault::Banned { .. } => (StatusCode::IM_A_TEAPOT, "BANNED"),
            Fault::TooManyRequests { .. }
            | Fault::TooManyFunding { .. }
            | Fault::TooManyOrders { .. }
            | Fault::TooManyConnections { .. } => (StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED"),
            Fault::NotFound => (StatusCode::NOT_FOUND, "not found"),
            Fault::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method not allowed"),
            Fault::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body too large"),
            Fault::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "request timeout"),
            Fault::BodyBroken => (StatusCode::BAD_REQUEST, "invalid request"),
            Fault::Unauthorized | Fault::KeyFormat | Fault::SignatureError(_) => {
                (StatusCode::UNAUTHORIZED, "UNAUTHORIZED")
            }
            Fault::BodyType => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported media type"),
            Fault::Throttled => (StatusCode::SERVICE_UNAVAILABLE, "ENGINE_BUSY"),
            Fault::TokenExpired => (StatusCode::UNAUTHORIZED, "TOKEN_EXPIRED"),
            Fault::Forbidden(Denied::Read) => {
                (StatusCode::FORBIDDEN, "API Key permission denied: read not allowed")
            }
            Fault::Forbidden(Denied::Trade) => {
                (StatusCode::FORBIDDEN, "API Key permission denied: trade not allowed")
            }
            Fault::Forbidden(Denied::Withdraw) => {
                (StatusCode::FORBIDDEN, "API Key permission denied: withdraws not allowed")
            }
            Fault::Forbidden(Denied::LoginOnly) => (StatusCode::FORBIDDEN, "FORBIDDEN"),
            Fault::InvalidJson => (StatusCode::BAD_REQUEST, "invalid json"),
            Fault::Header(_) => (StatusCode::BAD_REQUEST, "invalid request"),
            Fault::Timeout | Fault::Unanswered | Fault::Internal => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal")
            }
        };
        let error = Error::spot(status, error);
        match self {
            Fault::Banned { until_ms, retry_after_s } => error
                .with_retry_after(retry_after_s)
                .with_message(format!("this address is banned until {until_ms}")),
            Fault::TooManyRequests { limit, retry_after_s } => error
                .with_retry_after(retry_after_s)
                .with_message(format!("the limit is a weight of {limit} per minute")),
            Fault::TooManyFunding { limit, retry_after_s } => error
                .with_retry_after(retry_after_s)
                .with_message(format!("the limit is {limit} requests per five minutes")),
            Fault::TooManyOrders { limit, window_s, retry_after_s } => error
                .with_retry_after(retry_after_s)
                .with_message(format!("the limit is {limit} orders per {window_s} seconds")),
            Fault::TooManyConnections { limit } => error
                .with_retry_after(CONNECT_AGAIN_S)
                .with_message(format!("the limit is {limit} connections of one address")),
            Fault::Forbidden(Denied::LoginOnly) => {
                error.with_message("this route takes a login token, not an API key")
            }
            Fault::BodyBroken => error.with_message("the body cannot be read as HTTP"),
            Fault::Header(name) => error.with_message(name),
            Fault::Timeout => error.with_message(NO_ANSWER),
            Fault::Unanswered => error.with_message(UNKNOWN_OUTCOME).with_unknown_outcome(),
            _ => error,
        }
    }

    /// `perpetual.md` 2 to 4.
    fn fapi(self) -> Error {
        let (status, code, msg) = match self {
            Fault::Banned { .. } => (StatusCode::IM_A_TEAPOT, -1003, ""),
            Fault::TooManyRequests { .. }
            | Fault::TooManyFunding { .. }
            | Fault::TooManyConnections { .. } => (StatusCode::TOO_MANY_REQUESTS, -1003, ""),
            Fault::TooManyOrders { .. } => (StatusCode::TOO_MANY_REQUESTS, -1015, ""),
            Fault::NotFound | Fault::MethodNotAllowed => {
                (StatusCode::NOT_FOUND, -5000, "Path %s, Method %s is invalid")
            }
            Fault::BodyTooLarge => (StatusCode::PAYLOAD_TOO_LARGE, -1020, "This operation is not supported."),
            // Nothing was done, and the code of 408 would say that nobody knows.
            Fault::BodyTimeout | Fault::BodyBroken => (StatusCode::BAD_REQUEST, -1102, ""),
            Fault::Timeout => (
                StatusCode::REQUEST_TIMEOUT,
                -1007,
                "Timeout waiting for response from backend server. Send status unknown; execution status unknown.",
            ),
            Fault::Unanswered => (
                StatusCode::SERVICE_UNAVAILABLE,
                -1000,
                "Unknown error, please check your request or try again later.",
            ),
            Fault::Unauthorized | Fault::TokenExpired | Fault::Forbidden(_) => {
                (StatusCode::UNAUTHORIZED, -2015, "Invalid API-key, IP, or permissions for action.")
            }
            Fault::InvalidJson | Fault::BodyType => {
                (StatusCode::BAD_REQUEST, -1020, "This operation is not supported.")
            }
            Fault::KeyFormat => (StatusCode::UNAUTHORIZED, -2014, "API-key format invalid."),
            Fault::SignatureError(SignatureError::Mandatory(_)) => (StatusCode::BAD_REQUEST, -1102, ""),
            Fault::SignatureError(SignatureError::Twice(_)) => (StatusCode::BAD_REQUEST, -1101, ""),
            Fault::SignatureError(SignatureError::NotValid(_)) | Fault::Header(_) => {
                (StatusCode::BAD_REQUEST, -1130, "")
            }
            Fault::SignatureError(SignatureError::Ahead) => (
                StatusCode::BAD_REQUEST,
                -1021,
                "Timestamp for this request was 1000ms ahead of the server's time.",
            ),
            Fault::SignatureError(SignatureError::Late) => {
                (StatusCode::BAD_REQUEST, -1021, "Timestamp for this request is outside of the recvWindow.")
            }
            Fault::SignatureError(SignatureError::Signature) => {
                (StatusCode::BAD_REQUEST, -1022, "Signature for this request is not valid.")
            }
            Fault::SignatureError(SignatureError::Replayed) => {
                (StatusCode::BAD_REQUEST, -1022, "Signature for this request was used before.")
            }
            Fault::Throttled => (
                StatusCode::SERVICE_UNAVAILABLE,
                -1008,
                "Request throttled by system-level protection. Reduce-only/close-position orders are exempt. Please try again.",
            ),
            Fault::Internal => (StatusCode::INTERNAL_SERVER_ERROR, -1000, "Request occur unknown error."),
        };
        let error = Error::fapi(status, code, Cow::Borrowed(msg));
        match self {
            Fault::Unanswered => error.with_unknown_outcome(),
            Fault::Banned { until_ms, retry_after_s } => error.with_retry_after(retry_after_s).with_text(format!(
                "Way too many requests; IP banned until {until_ms}. Please use the websocket for live updates to avoid bans."
            )),
            Fault::TooManyRequests { limit, retry_after_s } => error.with_retry_after(retry_after_s).with_text(format!(
                "Too many requests; current limit is {limit} requests per minute. Please use the websocket for live updates to avoid polling the API."
            )),
            Fault::TooManyFunding { limit, retry_after_s } => error.with_retry_after(retry_after_s).with_text(format!(
                "Too many requests; current limit is {limit} requests per 5 minutes. Please use the websocket for live updates to avoid polling the API."
            )),
            Fault::TooManyConnections { limit } => error
                .with_retry_after(CONNECT_AGAIN_S)
                .with_text(format!("Too many connections; current limit is {limit} connections per IP.")),
            Fault::TooManyOrders { limit, window_s: 60, retry_after_s } => error
                .with_retry_after(retry_after_s)
                .with_text(format!("Too many new orders; current limit is {limit} orders per 1 MINUTE.")),
            Fault::TooManyOrders { limit, window_s, retry_after_s } => error.with_retry_after(retry_after_s).with_text(
                format!("Too many new orders; current limit is {limit} orders per {window_s} SECOND."),
            ),
            Fault::BodyTimeout | Fault::BodyBroken => error.with_text(mandatory("body")),
            Fault::SignatureError(SignatureError::Mandatory(name)) => error.with_text(mandatory(name)),
            Fault::SignatureError(SignatureError::Twice(name)) => {
                error.with_text(format!("Duplicate values for parameter '{name}' detected."))
            }
            Fault::SignatureError(SignatureError::NotValid(name)) | Fault::Header(name) => {
                error.with_text(format!("Data sent for parameter '{name}' is not valid."))
            }
            // The text of NotFound and MethodNotAllowed is filled in where path and method are known.
            _ => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_the_perpetual_dialect_are_those_of_its_specification() {
        let cases = [
            (
                Fault::TooManyRequests { limit: 2400, retry_after_s: 3 },
                r#"{"code":-1003,"msg":"Too many requests; current limit is 2400 requests per minute. Please use the websocket for live updates to avoid polling the API."}"#,
            ),
            (
                Fault::TooManyFunding { limit: 500, retry_after_s: 3 },
                r#"{"code":-1003,"msg":"Too many requests; current limit is 500 requests per 5 minutes. Please use the websocket for live updates to avoid polling the API."}"#,
            ),
            (
                Fault::TooManyOrders { limit: 300, window_s: 10, retry_after_s: 3 },
                r#"{"code":-1015,"msg":"Too many new orders; current limit is 300 orders per 10 SECOND."}"#,
            ),
            (
                Fault::TooManyOrders { limit: 1200, window_s: 60, retry_after_s: 3 },
                r#"{"code":-1015,"msg":"Too many new orders; current limit is 1200 orders per 1 MINUTE."}"#,
            ),
            (
                Fault::Banned { until_ms: 1_700_000_120_000, retry_after_s: 120 },
                r#"{"code":-1003,"msg":"Way too many requests; IP banned until 1700000120000. Please use the websocket for live updates to avoid bans."}"#,
            ),
        ];
        for (fault, body) in cases {
            let error = fault.error(Dialect::Fapi);
            assert_eq!(error.body(), body);
            assert!(error.retry_after_s.is_some());
        }
    }
}
