//! What a handler answers: a [`Response`], or an [`Error`], whose status, wording and outcome are stated together, once.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use serde::Serialize;
use std::borrow::Cow;

/// The content type of every JSON answer.
pub const JSON: HeaderValue = HeaderValue::from_static("application/json;charset=utf-8");

/// What a handler returns.
pub type Answer = Result<Response, Error>;

/// A finished answer. The body is whole: nothing here streams.
#[derive(Clone, Debug)]
pub struct Response {
    /// HTTP status.
    pub status: StatusCode,
    /// The body's bytes.
    pub body: Bytes,
    /// Its content type.
    pub content_type: HeaderValue,
    /// Further headers; usually none, and then nothing is allocated.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What it was charged beyond the weight of its row.
    pub weight: u32,
}

impl Response {
    /// 200 with JSON text.
    #[inline]
    pub fn json(body: impl Into<Bytes>) -> Response {
        Response::new(StatusCode::OK, JSON, body.into())
    }

    /// The same, charged more than the weight of its row.
    #[must_use]
    pub fn weighing(self, weight: u32) -> Response {
        Response { weight, ..self }
    }

    /// 200 with `value` written as JSON.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Response {
        match serde_json::to_vec(value) {
            Ok(body) => Response::json(body),
            // Only a map with keys that are not text, or a failing `Serialize`, comes here; neither exists in this crate.
            Err(_) => Response::new(StatusCode::INTERNAL_SERVER_ERROR, JSON, Bytes::from_static(b"{}")),
        }
    }

    /// Any status, type and body.
    #[inline]
    pub fn new(status: StatusCode, content_type: HeaderValue, body: Bytes) -> Response {
        Response { status, body, content_type, headers: Vec::new(), weight: 0 }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Response {
        self.headers.push((name, value));
        self
    }
}

/// Why a request has no other answer: made by [`Error::spot`], [`Error::fapi`] or [`Error::account`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// HTTP status.
    pub status: StatusCode,
    /// What the body says, as one API words it.
    pub wording: Wording,
    /// Whether what was asked for may have been done.
    pub outcome: Outcome,
    /// Value of `Retry-After`, in seconds.
    pub retry_after_s: Option<u64>,
}

/// The body of a refusal: its members are written in this order, and what is empty is left out of spot's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Wording {
    /// `spot.md` 3.
    Spot {
        /// Exactly the string of the specification's table.
        error: Cow<'static, str>,
        /// For people.
        #[serde(skip_serializing_if = "str::is_empty")]
        message: Cow<'static, str>,
        /// The order that was stored as rejected.
        #[serde(skip_serializing_if = "Option::is_none")]
        order_id: Option<Box<str>>,
    },
    /// `perpetual.md` 4.
    Fapi {
        /// Below zero.
        code: i32,
        /// Exactly the text of the specification's table.
        msg: Cow<'static, str>,
    },
    /// `account.md` 1.
    Account {
        /// What programs compare.
        code: &'static str,
        /// For people.
        message: Cow<'static, str>,
    },
}

/// What a refusal says of a change that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing was done.
    Refused,
    /// It was handed over, and whether it was done is not known: it counts as sent.
    Unknown,
}

impl Error {
    /// A refusal of the spot API.
    pub const fn spot(status: StatusCode, error: &'static str) -> Error {
        let (error, message) = (Cow::Borrowed(error), Cow::Borrowed(""));
        Error::new(status, Wording::Spot { error, message, order_id: None })
    }

    /// A refusal of the `/fapi` API; `code` is below zero.
    pub const fn fapi(status: StatusCode, code: i32, msg: Cow<'static, str>) -> Error {
        assert!(code < 0);
        Error::new(status, Wording::Fapi { code, msg })
    }

    /// A refusal of the routes of accounts.
    pub const fn account(status: StatusCode, code: &'static str, message: Cow<'static, str>) -> Error {
        Error::new(status, Wording::Account { code, message })
    }

    const fn new(status: StatusCode, wording: Wording) -> Error {
        Error { status, wording, outcome: Outcome::Refused, retry_after_s: None }
    }

    /// The same with another text than that of its table, for texts that name a value.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<Cow<'static, str>>) -> Error {
        match &mut self.wording {
            Wording::Spot { error: known, .. } | Wording::Fapi { msg: known, .. } => *known = text.into(),
            Wording::Account { message, .. } => *message = text.into(),
        }
        self
    }

    /// The same with free text for people, which `/fapi` has no place for. Must hold no secret: it leaves the process.
    #[must_use]
    pub fn with_message(mut self, text: impl Into<Cow<'static, str>>) -> Error {
        if let Wording::Spot { message, .. } | Wording::Account { message, .. } = &mut self.wording {
            *message = text.into();
        }
        self
    }

    /// The same with the id of the spot order that was stored as rejected.
    #[must_use]
    pub fn with_order_id(mut self, id: impl Into<Box<str>>) -> Error {
        if let Wording::Spot { order_id, .. } = &mut self.wording {
            *order_id = Some(id.into());
        }
        self
    }

    /// The same with a `Retry-After`.
    #[must_use]
    pub const fn with_retry_after(mut self, seconds: u64) -> Error {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The same of a change that may have been made.
    #[must_use]
    pub const fn with_unknown_outcome(mut self) -> Error {
        self.outcome = Outcome::Unknown;
        self
    }

    /// The body.
    pub fn body(&self) -> Bytes {
        // Strings and integers always have a JSON form.
        serde_json::to_vec(&self.wording).map_or_else(|_| Bytes::from_static(b"{}"), Bytes::from)
    }
}

impl Wording {
    /// The number of `/fapi`; 0 where there is none.
    pub const fn number(&self) -> i32 {
        match self {
            Wording::Fapi { code, .. } => *code,
            Wording::Spot { .. } | Wording::Account { .. } => 0,
        }
    }

    /// The text that stands in a table of the specification.
    pub fn text(&self) -> &str {
        match self {
            Wording::Spot { error: text, .. } | Wording::Fapi { msg: text, .. } => text,
            Wording::Account { code, .. } => code,
        }
    }
}

impl From<Error> for Response {
    fn from(error: Error) -> Response {
        let response = Response::new(error.status, JSON, error.body());
        match error.retry_after_s {
            Some(seconds) => response.with_header(hyper::header::RETRY_AFTER, HeaderValue::from(seconds)),
            None => response,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_spellings_of_an_error() {
        let spot =
            Error::spot(StatusCode::BAD_REQUEST, "SELF_TRADE").with_order_id("0-1").with_message("a \"b\"");
        assert_eq!(spot.body(), r#"{"error":"SELF_TRADE","message":"a \"b\"","order_id":"0-1"}"#);
        assert_eq!(Error::spot(StatusCode::NOT_FOUND, "not found").body(), r#"{"error":"not found"}"#);
        let fapi =
            Error::fapi(StatusCode::BAD_REQUEST, -1121, "Invalid symbol.".into()).with_message("unused");
        assert_eq!(fapi.body(), r#"{"code":-1121,"msg":"Invalid symbol."}"#);
        let named = Error::account(StatusCode::NOT_FOUND, "NOT_FOUND", "no such row".into());
        assert_eq!(named.body(), r#"{"code":"NOT_FOUND","message":"no such row"}"#);
    }

    #[test]
    fn retry_after_becomes_a_header() {
        let response: Response =
            Error::spot(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED").with_retry_after(7).into();
        assert_eq!(response.headers, [(hyper::header::RETRY_AFTER, HeaderValue::from_static("7"))]);
    }
}
