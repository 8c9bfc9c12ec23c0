//! What a handler answers: a [`Response`], or an [`Error`] whose status and text are stated together, once.
//!
//! Errors have three spellings, one per dialect: `{"error","message"}` (spot, `spot.md` 3), `{"code","msg"}` with a number
//! (`/fapi`, `perpetual.md` 4) and `{"code","message"}` with a name (`account.md` 1). Which one an [`Error`] speaks is fixed
//! where it is made.

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
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
    pub fn of<T: serde::Serialize + ?Sized>(value: &T) -> Response {
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

/// A refusal as one dialect spells it. Dialects keep theirs as constants made by [`Error::spot`], [`Error::fapi`] and
/// [`Error::named`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// HTTP status.
    pub status: StatusCode,
    /// The number of the `/fapi` dialect; 0 in the others, which have none.
    pub code: i32,
    /// Whether it is spelled as the routes of accounts spell theirs.
    pub is_named: bool,
    /// `error` of the spot dialect, `msg` of `/fapi`, `code` of the third: exactly the string of the specification's table.
    pub text: Cow<'static, str>,
    /// Free text for people (not of `/fapi`); empty for none.
    pub message: Cow<'static, str>,
    /// Id of the order that was stored as rejected (spot only), as text.
    pub order_id: Option<Box<str>>,
    /// Value of `Retry-After`, in seconds.
    pub retry_after_s: Option<u64>,
}

impl Error {
    /// A refusal of the spot dialect.
    pub const fn spot(status: StatusCode, error: &'static str) -> Error {
        Error {
            status,
            code: 0,
            is_named: false,
            text: Cow::Borrowed(error),
            message: Cow::Borrowed(""),
            order_id: None,
            retry_after_s: None,
        }
    }

    /// A refusal of the `/fapi` dialect; `code` is below zero.
    pub const fn fapi(status: StatusCode, code: i32, msg: &'static str) -> Error {
        assert!(code < 0);
        let mut error = Error::spot(status, msg);
        error.code = code;
        error
    }

    /// A refusal of the routes of accounts.
    pub const fn named(status: StatusCode, code: &'static str) -> Error {
        let mut error = Error::spot(status, code);
        error.is_named = true;
        error
    }

    /// The same with another text, for texts that name a value.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<Cow<'static, str>>) -> Error {
        self.text = text.into();
        self
    }

    /// The same with free text for people. Must hold no secret: it leaves the process.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<Cow<'static, str>>) -> Error {
        self.message = message.into();
        self
    }

    /// The same with the id of the order that was stored as rejected.
    #[must_use]
    pub fn with_order_id(mut self, id: impl Into<Box<str>>) -> Error {
        self.order_id = Some(id.into());
        self
    }

    /// The same with a `Retry-After`.
    #[must_use]
    pub fn with_retry_after(mut self, seconds: u64) -> Error {
        self.retry_after_s = Some(seconds);
        self
    }

    /// The body: `{"code","msg"}` when there is a number, `{"code","message"}` of a named one, else
    /// `{"error"(,"message")(,"order_id")}`.
    pub fn body(&self) -> Bytes {
        #[derive(serde::Serialize)]
        struct Fapi<'a> {
            code: i32,
            msg: &'a str,
        }
        #[derive(serde::Serialize)]
        struct Spot<'a> {
            error: &'a str,
            #[serde(skip_serializing_if = "str::is_empty")]
            message: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            order_id: Option<&'a str>,
        }
        #[derive(serde::Serialize)]
        struct Named<'a> {
            code: &'a str,
            message: &'a str,
        }
        let body = if self.is_named {
            serde_json::to_vec(&Named { code: &self.text, message: &self.message })
        } else if self.code == 0 {
            serde_json::to_vec(&Spot {
                error: &self.text,
                message: &self.message,
                order_id: self.order_id.as_deref(),
            })
        } else {
            serde_json::to_vec(&Fapi { code: self.code, msg: &self.text })
        };
        // Strings and integers always have a JSON form.
        body.map_or_else(|_| Bytes::from_static(b"{}"), Bytes::from)
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
        let fapi = Error::fapi(StatusCode::BAD_REQUEST, -1121, "Invalid symbol.").with_message("unused");
        assert_eq!(fapi.body(), r#"{"code":-1121,"msg":"Invalid symbol."}"#);
        let named = Error::named(StatusCode::NOT_FOUND, "NOT_FOUND").with_message("no such row");
        assert_eq!(named.body(), r#"{"code":"NOT_FOUND","message":"no such row"}"#);
    }

    #[test]
    fn retry_after_becomes_a_header() {
        let response: Response =
            Error::spot(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED").with_retry_after(7).into();
        assert_eq!(response.headers, [(hyper::header::RETRY_AFTER, HeaderValue::from_static("7"))]);
    }
}
