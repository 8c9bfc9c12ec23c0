//! What a handler answers: a [`Response`], or an [`Error`].

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{HeaderName, HeaderValue};
use ringside_wire::refusal::Error;
use serde::Serialize;

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
        Response::json(ringside_wire::to_vec(value))
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
    fn retry_after_becomes_a_header() {
        let response: Response =
            Error::spot(StatusCode::TOO_MANY_REQUESTS, "RATE_LIMITED").with_retry_after(7).into();
        assert_eq!(response.headers, [(hyper::header::RETRY_AFTER, HeaderValue::from_static("7"))]);
    }
}
