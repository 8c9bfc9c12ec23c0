//! Refusals: status, wording of one API, and what is known of the outcome, stated together, once.

use bytes::Bytes;
use http::StatusCode;
use serde::Serialize;
use std::borrow::Cow;

/// Which API: how its routes spell what they refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `{"error","message"}`.
    Spot,
    /// `{"code","msg"}`, the code a number.
    Fapi,
    /// `{"code","message"}`, the code a name (`account.md` 1).
    Account,
}

impl Dialect {
    /// All, in the order of their numbers.
    pub const ALL: [Dialect; 3] = [Dialect::Spot, Dialect::Fapi, Dialect::Account];

    /// Its name in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Spot => "spot",
            Dialect::Fapi => "fapi",
            Dialect::Account => "account",
        }
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
        crate::to_vec(&self.wording).into()
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
}
