//! Test money, as whoever is logged in takes it.

use super::venue_after;
use crate::exchange::venue::Venue;
use serde_json::{Value, json};

const ROUTE: &str = "/api/v1/faucet";

#[test]
fn every_call_gives_margin_and_tokens() {
    let mut venue = venue_after(&[]);
    // This venue has no spot market, and so no DF: the others are given all the same.
    let has = |venue: &mut Venue| -> [f64; 2] {
        let account = venue.sees(2, "/unified/account");
        let number = |value: &Value| value.as_str().unwrap().parse::<f64>().unwrap();
        let usdt = account["spot"].as_array().unwrap().iter().find(|row| row["token"] == "USDT");
        [number(&account["perpetual"]["wallet_balance"]), usdt.map_or(0.0, |row| number(&row["available"]))]
    };
    let before = has(&mut venue);
    for times in 1..=2 {
        assert_eq!(venue.asks(2, "POST", ROUTE, ""), (200, json!({ "ok": true })));
        let now = has(&mut venue);
        assert_eq!(now, before.map(|amount| amount + 10_000.0 * f64::from(times)));
    }
}
