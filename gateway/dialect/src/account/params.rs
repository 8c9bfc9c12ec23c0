//! Parameters of these routes: text into values, each refusal naming its parameter.

use super::refusal::{Refused, invalid};
use crate::fapi::params::Decimal;
use ringside_core::command::Side;
use ringside_wire::decimal;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// A limit: digits, clamped to 1..`max`.
pub fn limit(sent: Option<&str>, default: usize, max: usize) -> Result<usize, Refused> {
    match sent {
        None => Ok(default),
        Some(text) => {
            whole(text).map(|limit| limit.clamp(1, max as u64) as usize).ok_or_else(|| invalid("limit"))
        }
    }
}

/// A count from 0 on.
pub fn count(name: &str, sent: Option<&str>) -> Result<Option<u64>, Refused> {
    sent.map(|text| whole(text).ok_or_else(|| invalid(name))).transpose()
}

/// UNIX milliseconds.
pub fn time(name: &str, sent: Option<&str>) -> Result<Option<i64>, Refused> {
    let read = |text| whole(text).and_then(|time| i64::try_from(time).ok()).ok_or_else(|| invalid(name));
    sent.map(read).transpose()
}

/// Buy or sell, in either case.
pub fn side(sent: Option<&str>) -> Result<Option<Side>, Refused> {
    let read = |text: &str| match text.to_ascii_uppercase().as_str() {
        "BUY" => Ok(Side::Buy),
        "SELL" => Ok(Side::Sell),
        _ => Err(invalid("side")),
    };
    sent.map(read).transpose()
}

/// Whether the newest rows come first.
pub fn is_descending(sent: Option<&str>) -> Result<bool, Refused> {
    match sent {
        None => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("asc") => Ok(false),
        Some(text) if text.eq_ignore_ascii_case("desc") => Ok(true),
        Some(_) => Err(invalid("order")),
    }
}

/// A decimal sent as text or as a number, which may have an exponent.
pub fn number(raw: &RawValue) -> Option<Decimal> {
    decimal::of_json(raw.get(), decimal::parse_amount).map(Decimal)
}

/// A member of a body: `None` where it is absent or null.
pub fn member(raw: Option<&RawValue>) -> Option<&RawValue> {
    raw.filter(|raw| raw.get() != "null")
}

/// A member of a body as its type: `None` where it is absent or null; a refusal names it.
pub fn typed<T: DeserializeOwned>(name: &str, raw: Option<&RawValue>) -> Result<Option<T>, Refused> {
    let read = |raw: &RawValue| serde_json::from_str(raw.get()).map_err(|_| invalid(name));
    member(raw).map(read).transpose()
}

fn whole(text: &str) -> Option<u64> {
    let is_whole = !text.is_empty() && text.len() <= 19 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_whole.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_clamped_and_names_are_in_the_refusal() {
        let of = |sent| limit(sent, 50, 500).map_err(|refused| refused.message.into_owned());
        assert_eq!(
            (of(None), of(Some("0")), of(Some("501")), of(Some("7"))),
            (Ok(50), Ok(1), Ok(500), Ok(7))
        );
        for wrong in ["", "-1", "1.5", "x", "99999999999999999999"] {
            assert_eq!(of(Some(wrong)), Err("limit: missing or malformed".to_owned()), "{wrong}");
        }
        assert_eq!(side(Some("bUy")), Ok(Some(Side::Buy)));
        assert_eq!(side(Some("BUYS")), Err(invalid("side")));
        assert_eq!((is_descending(Some("DESC")), is_descending(None)), (Ok(true), Ok(false)));
        assert_eq!(time("start_time", Some("1e3")), Err(invalid("start_time")));
    }
}
