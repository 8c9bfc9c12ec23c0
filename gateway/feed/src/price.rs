//! A price in somebody's JSON: found by its place, read as an exact decimal.

use ringside_config::feed::PricePaths;
use ringside_core::money::{AMOUNT_UNIT, MAX_ENTRY, Price, UNIT};
use ringside_wire::decimal::{of_json, parse_any};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The price in a message, above 0; `None` where it is not there or no price. Decimals beyond the eighth are cut; of two
/// places it is the middle, down.
pub fn find(json: &str, paths: &PricePaths) -> Option<Price> {
    match paths {
        PricePaths::One(path) => at(json, path),
        PricePaths::Middle(one, other) => {
            let (one, other) = (at(json, one)?, at(json, other)?);
            // Both are far below the end of the range.
            Some((one + other) / 2)
        }
    }
}

/// Both of two prices, in the order of their places; `None` of one place.
pub fn both(json: &str, paths: &PricePaths) -> Option<(Price, Price)> {
    match paths {
        PricePaths::One(_) => None,
        PricePaths::Middle(one, other) => Some((at(json, one)?, at(json, other)?)),
    }
}

/// The decimal at a place, above 0, in steps of 10^-8.
pub fn at(json: &str, path: &[String]) -> Option<Price> {
    let Some((step, rest)) = path.split_first() else { return decimal(json) };
    // Values stay text until they are met: a number must not pass through a binary float.
    if json.trim_start().starts_with('[') {
        let values: Vec<&RawValue> = serde_json::from_str(json).ok()?;
        return at(values.get(step.parse::<usize>().ok()?)?.get(), rest);
    }
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(json).ok()?;
    at(members.get(step)?.get(), rest)
}

/// A number, or a text that holds one.
fn decimal(json: &str) -> Option<Price> {
    let price = of_json(json.trim(), parse_any)? / (AMOUNT_UNIT / i128::from(UNIT));
    Price::try_from(price).ok().filter(|price| (1..=MAX_ENTRY).contains(price))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Vec<String> {
        text.split('.').map(str::to_owned).collect()
    }

    fn one(json: &str, place: &str) -> Option<Price> {
        find(json, &PricePaths::One(path(place)))
    }

    #[test]
    fn a_price_is_found_by_its_place() {
        assert_eq!(one(r#"{"price":"60000.1"}"#, "price"), Some(6_000_010_000_000));
        assert_eq!(one(r#"{"data":[{"last":1},{"last":0.00000001}]}"#, "data.1.last"), Some(1));
        assert_eq!(one(r#" [ {"c": "2.5"} ] "#, "0.c"), Some(250_000_000));
        assert_eq!(one(r#"{"a":{"b":[[3]]}}"#, "a.b.0.0"), Some(300_000_000));
        let middle = PricePaths::Middle(path("b"), path("a"));
        assert_eq!(find(r#"{"b":"0.00000001","a":"0.00000004"}"#, &middle), Some(2));
        assert_eq!(find(r#"{"b":"1"}"#, &middle), None);
    }

    #[test]
    fn prices_are_exact_decimals() {
        // A binary float of 64 bits cannot hold this number.
        assert_eq!(one(r#"{"p":9007199254.74099301}"#, "p"), Some(900_719_925_474_099_301));
        assert_eq!(one(r#"{"p":"0.123456789999"}"#, "p"), Some(12_345_678), "cut, not rounded");
        assert_eq!(one(r#"{"p":"92233720368"}"#, "p"), Some(MAX_ENTRY));
    }

    #[test]
    fn what_is_no_price_is_none() {
        for value in
            ["0", "-1", "\"\"", "null", "true", "{}", "[1]", "92233720369", "\"0.000000001\"", "\" 1\""]
        {
            assert_eq!(one(&format!(r#"{{"p":{value}}}"#), "p"), None, "{value}");
        }
        for json in ["", "p", "{", r#"{"q":1}"#, r#"{"p":{"p":1}}"#, "[1]", "1"] {
            assert_eq!(one(json, "p"), None, "{json}");
        }
        assert_eq!(one(r#"{"p":6e4}"#, "p"), Some(6_000_000_000_000));
        assert_eq!(one("[1]", "1"), None);
        assert_eq!(one("[1]", "x"), None);
    }
}
