//! Fee schedule, tiers, discounts (`account.md` 3, `risk.md` 9).

use super::{HOUR_MS, SECOND_MS, venue_after};
use crate::exchange::START_S;
use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use ringside_core::command::{Command, SetPerpetualAccount, account_mask};
use serde_json::{Value, json};

/// 2023-11-15 00:00 UTC, the first midnight after the start of every exchange.
const DAY_MS: i64 = 24 * HOUR_MS;
const MIDNIGHT_MS: i64 = START_S * SECOND_MS / DAY_MS * DAY_MS + DAY_MS;

/// Terms of a referral.
fn referred(account: u32, referral_total_bps: u32, referral_share_bps: u32) -> Command {
    Command::new(SetPerpetualAccount {
        account,
        mask: account_mask::REFERRAL,
        referral_total_bps,
        referral_share_bps,
        ..zerocopy::FromZeros::new_zeroed()
    })
}

fn standing(venue: &mut Venue, number: u8) -> Value {
    venue.sees(number, "/account/fee-info")["account"].take()
}

#[test]
fn anyone_sees_the_schedule_and_the_known_see_themselves() {
    let mut venue = venue_after(&[]);
    let info = venue.sees(0, "/account/fee-info");
    let row = |tier: u32, volume: &str, maker: &str, taker: &str| {
        json!({
            "tier": tier, "name": format!("VIP {tier}"), "min_volume_14d": volume, "maker_rate": maker, "taker_rate": taker,
        })
    };
    let schedule = json!([
        row(0, "0", "0.0002", "0.0005"),
        row(1, "1000000", "0.00018", "0.00045"),
        row(2, "5000000", "0.00015", "0.0004"),
        row(3, "20000000", "0.00012", "0.00035"),
        row(4, "100000000", "0.00008", "0.0003"),
        row(5, "500000000", "0.00005", "0.00025"),
    ]);
    assert_eq!(info, json!({ "window_days": 14, "schedule": schedule, "next_schedule": null }));
    let discount = |name: &str| json!({ "name": name, "bps": 0, "active": false, "expires_at": null });
    assert_eq!(
        standing(&mut venue, 2),
        json!({
            "tier": 0, "tier_name": "VIP 0", "volume_14d": "0.00000000", "volume_30d": "0.00000000",
            "base_maker_rate": "0.0002", "base_taker_rate": "0.0005",
            "discounts": [discount("referral"), discount("fee_burn"), discount("promo")],
            "discount_multiplier": "1", "maker_rate": "0.0002", "taker_rate": "0.0005",
            "next_tier": { "tier": 1, "min_volume_14d": "1000000", "remaining": "1000000" },
            "pending_downgrade": null,
        })
    );
    let forged = ["Authorization: Bearer x.y.z".to_owned()];
    let answer = venue.exchange.request("GET", "/account/fee-info", &forged, "");
    assert_eq!(answer.status, 401, "a bad credential is not nobody");
    assert!(answer.body.starts_with(r#"{"code":"UNAUTHORIZED","message":""#), "{}", answer.body);
    let key = venue.trader(2, (false, true)).key;
    let answer = venue.exchange.request("GET", "/account/fee-info", &[format!("X-API-Key: {key}")], "");
    assert_eq!(answer.status, 403);
    assert!(answer.body.starts_with(r#"{"code":"FORBIDDEN","message":""#), "{}", answer.body);
    let key = venue.trader(2, (true, false)).key;
    let answer = venue.exchange.request("GET", "/account/fee-info", &[format!("X-API-Key: {key}")], "");
    assert_eq!(answer.status, 200);
}

#[test]
fn v_13_a_referred_trader_pays_less_and_the_affiliate_has_a_part() {
    let mut venue = venue_after(&[referred(2, 2_000, 5_000)]);
    let known = standing(&mut venue, 2);
    assert_eq!(
        known["discounts"][0],
        json!({ "name": "referral", "bps": 1000, "active": true, "expires_at": null })
    );
    assert_eq!(
        [&known["discount_multiplier"], &known["taker_rate"], &known["maker_rate"]],
        ["0.9", "0.00045", "0.00018"]
    );
    let rates = venue.call(2, "GET", "/fapi/v1/commissionRate", "symbol=BTCUSDT");
    assert_eq!([&rates["takerCommissionRate"], &rates["makerCommissionRate"]], ["0.00045", "0.00018"]);

    venue.trade("BUY", "0.5", "60000");
    assert_eq!((venue.last_fee(2), venue.last_fee(1)), ("13.50000000".to_owned(), "6.00000000".to_owned()));
    let proof = venue.operate("GET", "/admin/ledger/proof", "");
    let perpetual =
        proof["ledgers"].as_array().unwrap().iter().find(|row| row["ledger"] == "perpetual").unwrap();
    assert_eq!(perpetual["equal"], true, "{perpetual}");
    // The maker's 6 are in the pool as well.
    let terms = &perpetual["terms"];
    assert_eq!([&terms["affiliate_payable"], &terms["fee_pool"]], ["1.5", "18"], "1.5 and 12 of 13.5");
    venue.trade("BUY", "0.001", "60000.1");
    assert_eq!(venue.last_fee(2), "0.02700100", "27000.045 micros, up");
}

#[test]
fn v_14_up_at_once_and_down_at_midnight() {
    let mut venue = venue_after(&[]);
    let day_ms = MIDNIGHT_MS + 14 * DAY_MS;
    // An hour that leaves the window at 17:00 of the day.
    venue.pass_to(day_ms + 17 * HOUR_MS - 337 * HOUR_MS + SECOND_MS);
    venue.trade("BUY", "1.6", "62500");
    venue.pass_to(day_ms - 5 * DAY_MS);
    venue.trade("SELL", "14.24", "62500");
    venue.pass_to(day_ms + 10 * HOUR_MS + 20 * 60 * SECOND_MS);
    let mut socket = Socket::open(&venue.exchange);
    let token = venue.exchange.account(2)[0].strip_prefix("Authorization: Bearer ").unwrap().to_owned();
    socket.send(&json!({ "type": "auth_token", "token": token }).to_string());
    assert_eq!(socket.next()["success"], true);
    assert_eq!(socket.subscribe("vip_tier")["type"], "subscribed");
    let known = standing(&mut venue, 2);
    assert_eq!([&known["volume_14d"], &known["next_tier"]["remaining"]], ["990000.00000000", "10000"]);

    // The fill that reaches the bound still pays the old rate.
    venue.trade("SELL", "0.32", "62500");
    assert_eq!((venue.last_fee(2), venue.last_fee(1)), ("10.00000000".to_owned(), "4.00000000".to_owned()));
    let now_ms = venue.exchange.clock.now_ms();
    let pushed = |socket: &mut Socket| -> Vec<Value> {
        socket.drain().unwrap().iter().map(|text| serde_json::from_str(text).unwrap()).collect()
    };
    let push = |kind: &str, from: u32, to: u32, volume: &str, effective_ms: i64, now_ms: i64| {
        json!({ "type": "vip_tier_changed", "channel": "vip_tier", "data": {
            "kind": kind, "from_tier": from, "to_tier": to, "volume_14d": volume, "effective_at": effective_ms, "ts": now_ms,
        }})
    };
    assert_eq!(pushed(&mut socket), [push("upgrade_immediate", 0, 1, "1010000.00000000", now_ms, now_ms)]);
    venue.trade("SELL", "0.32", "62500");
    assert_eq!((venue.last_fee(2), venue.last_fee(1)), ("9.00000000".to_owned(), "3.60000000".to_owned()));
    let known = standing(&mut venue, 2);
    assert_eq!(
        [&known["tier_name"], &known["taker_rate"], &known["volume_14d"]],
        ["VIP 1", "0.00045", "1030000.00000000"]
    );
    assert_eq!(venue.call(2, "GET", "/fapi/v1/accountConfig", "")["feeTier"], 1);
    assert_eq!(venue.call(2, "GET", "/fapi/v2/account", "")["feeTier"], 1);

    // At 17:00 an hour of 100 000 leaves; the lower tier waits for midnight.
    venue.pass_to(day_ms + 17 * HOUR_MS - 1);
    assert_eq!(standing(&mut venue, 2)["pending_downgrade"], Value::Null);
    venue.pass_to(day_ms + 17 * HOUR_MS);
    let midnight_ms = day_ms + DAY_MS;
    let now_ms = venue.exchange.clock.now_ms();
    assert_eq!(
        pushed(&mut socket),
        [push("downgrade_scheduled", 1, 0, "930000.00000000", midnight_ms, now_ms)]
    );
    let known = standing(&mut venue, 2);
    assert_eq!(
        known["pending_downgrade"],
        json!({ "from_tier": 1, "to_tier": 0, "effective_at": midnight_ms })
    );
    assert_eq!(
        [&known["tier"], &known["volume_14d"], &known["volume_30d"]],
        [&json!(1), &json!("930000.00000000"), &json!("1030000.00000000")]
    );
    venue.pass_to(midnight_ms - SECOND_MS);
    assert!(pushed(&mut socket).is_empty(), "it is told once");
    venue.pass_to(midnight_ms);
    assert_eq!(
        pushed(&mut socket),
        [push("downgrade_applied", 1, 0, "930000.00000000", midnight_ms, midnight_ms)]
    );
    let known = standing(&mut venue, 2);
    assert_eq!((&known["tier"], &known["pending_downgrade"]), (&json!(0), &Value::Null));
    let rates = venue.call(2, "GET", "/fapi/v1/commissionRate", "symbol=BTCUSDT");
    assert_eq!(rates["takerCommissionRate"], "0.0005");
    // What is shown of volumes is in the views that are saved.
    let before = standing(&mut venue, 2);
    venue.exchange.restart();
    assert_eq!(standing(&mut venue, 2), before);
}

#[test]
fn volume_regained_drops_a_downgrade_silently() {
    let mut venue = venue_after(&[]);
    venue.pass_to(MIDNIGHT_MS + 12 * HOUR_MS);
    venue.trade("BUY", "16", "62500");
    assert_eq!(standing(&mut venue, 2)["tier"], 1);
    let leaves_ms = MIDNIGHT_MS + (12 + 337) * HOUR_MS;
    venue.pass_to(leaves_ms);
    assert_eq!(standing(&mut venue, 2)["pending_downgrade"]["to_tier"], 0);
    venue.trade("SELL", "15.999", "62500");
    assert_eq!(standing(&mut venue, 2)["pending_downgrade"]["to_tier"], 0, "not all of it");
    venue.trade("SELL", "0.001", "62500");
    assert_eq!(standing(&mut venue, 2)["pending_downgrade"], Value::Null);
    venue.pass(DAY_MS);
    assert_eq!(standing(&mut venue, 2)["tier"], 1);
}

#[test]
fn discounts_multiply_and_promotions_end() {
    let mut venue = venue_after(&[referred(2, 2_000, 5_000)]);
    venue.trade("BUY", "16", "62500");
    let until_ms = venue.exchange.clock.now_ms() + HOUR_MS;
    let path = format!("/admin/accounts/{}", crate::exchange::wallet_text(2));
    venue.operate("PATCH", &path, &format!(r#"{{"promo_bps":500,"promo_expires_at":{until_ms}}}"#));
    let known = standing(&mut venue, 2);
    assert_eq!(
        [&known["tier"], &known["discount_multiplier"], &known["taker_rate"]],
        [&json!(1), &json!("0.855"), &json!("0.00038475")]
    );
    assert_eq!(
        known["discounts"][2],
        json!({ "name": "promo", "bps": 500, "active": true, "expires_at": until_ms })
    );
    assert_eq!(
        venue.call(2, "GET", "/fapi/v1/commissionRate", "symbol=BTCUSDT")["takerCommissionRate"],
        "0.00038475"
    );
    venue.trade("SELL", "0.016", "62500");
    assert_eq!(venue.last_fee(2), "0.38475000");
    venue.pass_to(until_ms);
    let known = standing(&mut venue, 2);
    assert_eq!([&known["discount_multiplier"], &known["taker_rate"]], ["0.9", "0.000405"]);
    assert_eq!(known["discounts"][2]["active"], false);
    venue.trade("SELL", "0.016", "62500");
    assert_eq!(venue.last_fee(2), "0.40500000");
    // Of fees burnt nothing is taken off as it ships, and the switch is shown.
    venue.call(2, "POST", "/fapi/v1/feeBurn", "feeBurn=true");
    let known = standing(&mut venue, 2);
    assert_eq!(
        known["discounts"][1],
        json!({ "name": "fee_burn", "bps": 0, "active": true, "expires_at": null })
    );
    assert_eq!(known["taker_rate"], "0.000405");
}
