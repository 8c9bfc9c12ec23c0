//! Operator routes, and the audit log that says who did what (`account.md` 13).

use super::{venue_after, venue_with};
use crate::exchange::venue::Venue;
use crate::exchange::{ADMIN_KEY, wallet_text};
use serde_json::{Value, json};
use std::time::Duration;

fn audit(venue: &mut Venue, query: &str) -> Value {
    venue.operate("GET", &format!("/admin/audit{query}"), "")
}

/// A request of a named operator.
fn act(venue: &mut Venue, name: &str, (method, path, body): (&str, &str, &str)) -> (u16, Value) {
    let headers = [format!("X-API-Key: {ADMIN_KEY}"), format!("X-Operator: {name}")];
    let answer = venue.exchange.request(method, path, &headers, body);
    (answer.status, serde_json::from_str(&answer.body).unwrap())
}

#[test]
fn every_action_is_found_again_after_a_restart() {
    let mut venue = venue_after(&[]);
    assert_eq!(audit(&mut venue, ""), json!({ "items": [], "next_before": null }));
    let wallet = wallet_text(3);
    let account = format!("/admin/accounts/{wallet}");
    let credit = format!(r#"{{"user_address":"{wallet}","amount":"12.5","reason":"a test credit"}}"#);
    let spot =
        format!(r#"{{"user_address":"{wallet}","token":"USDT","amount":"3","reason":"a spot credit"}}"#);
    let list = r#"{"id":"DFUSDT","base_token":"DF","quote_token":"USDT","tick_size":"0.1","lot_size":"0.1","min_notional":"1","maker_fee_bps":0,"taker_fee_bps":0}"#;
    let terms = r#"{"trading_enabled":false,"trade_group_id":4,"promo_bps":250,"promo_expires_at":1800000000000,"reason":"under review"}"#;
    let actions = [
        ("ann", ("POST", "/admin/perpetual/credit", credit.as_str()), 200),
        (
            "ann",
            (
                "POST",
                "/admin/perpetual/index-price",
                r#"{"symbol":"btcusdt","price":"60100.5","reason":"a test pin"}"#,
            ),
            200,
        ),
        (
            "bob",
            ("PATCH", "/admin/perpetual/symbols/SOLUSDT", r#"{"state":"HALTED","reason":"feed is down"}"#),
            200,
        ),
        ("bob", ("PATCH", account.as_str(), terms), 200),
        ("bob", ("PATCH", account.as_str(), r#"{"trade_group_id":-2}"#), 400),
        ("", ("POST", "/api/v1/admin/spot/markets", list), 200),
        ("", ("PATCH", "/api/v1/admin/spot/markets/DFUSDT/status", r#"{"status":"halted"}"#), 200),
        ("", ("POST", "/api/v1/admin/spot/balances/credit", spot.as_str()), 200),
    ];
    for (name, request, status) in actions {
        let (answered, body) = act(&mut venue, name, request);
        assert_eq!(answered, status, "{request:?}: {body}");
    }
    let now_ms = venue.exchange.clock.now_ms();
    let log = audit(&mut venue, "");
    let rows = log["items"].as_array().unwrap();
    // Its id, who, what on what, what exactly, why, and why not. Ids go on by as many notes as the texts of an action take.
    let listed =
        "base=DF quote=USDT tick_size=0.1 lot_size=0.1 min_notional=1 maker_fee_bps=0 taker_fee_bps=0";
    let changed = "trading=false group=4 promo=250 until=1800000000000";
    let expected = [
        (11, "admin", "spot_credit", wallet.as_str(), "3 USDT", "a spot credit", None),
        (10, "admin", "market_status", "DFUSDT", "halted", "", None),
        (7, "admin", "list_market", "DFUSDT", listed, "", None),
        (6, "bob", "account", &wallet, "group=-2", "", Some("Malformed")),
        (4, "bob", "account", &wallet, changed, "under review", None),
        (3, "bob", "symbol_state", "SOLUSDT", "HALTED", "feed is down", None),
        (2, "ann", "index_price", "BTCUSDT", "60100.5", "a test pin", None),
        (1, "ann", "perpetual_credit", &wallet, "12.5", "a test credit", None),
    ];
    assert_eq!(rows.len(), expected.len());
    for (shown, (id, operator, action, subject, detail, reason, refusal)) in rows.iter().zip(expected) {
        let expected = json!({
            "id": id, "time": now_ms, "operator": operator, "key": "shared", "ip": "127.0.0.1", "action": action,
            "subject": subject, "detail": detail, "reason": reason,
            "outcome": if refusal.is_some() { "refused" } else { "done" }, "refusal": refusal,
            "sequence": shown["sequence"],
        });
        assert_eq!(shown, &expected);
    }
    let sequences: Vec<u64> = rows.iter().rev().map(|row| row["sequence"].as_u64().unwrap()).collect();
    assert!(sequences.is_sorted() && sequences[0] > 0, "{sequences:?}");
    // What was done is done.
    let (status, answer) =
        venue.ask(3, "POST", "/fapi/v1/order", "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.001");
    assert_eq!((status, &answer["code"]), (400, &json!(-4088)));
    assert_eq!(venue.call(3, "GET", "/fapi/v2/account", "")["totalWalletBalance"], "1012.50000000");
    let income = venue.call(3, "GET", "/fapi/v1/income", "incomeType=INTERNAL_TRANSFER");
    assert_eq!(income.as_array().unwrap().len(), 2, "{income}");
    assert_eq!((&income[0]["info"], &income[1]["info"]), (&json!(""), &json!("a test credit")));

    // Pages, newest first.
    let page = audit(&mut venue, "?limit=3");
    assert_eq!(
        (page["items"].as_array().unwrap()[..].to_vec(), &page["next_before"]),
        (rows[..3].to_vec(), &json!(7))
    );
    let page = audit(&mut venue, "?limit=5&before=7");
    assert_eq!(
        (page["items"].as_array().unwrap()[..].to_vec(), &page["next_before"]),
        (rows[3..].to_vec(), &Value::Null)
    );
    venue.exchange.restart();
    assert_eq!(audit(&mut venue, ""), log);
}

#[test]
fn refusals_of_operators_routes() {
    let mut venue = venue_after(&[]);
    let wallet = wallet_text(1);
    let account = format!("/admin/accounts/{wallet}");
    let unknown = format!("/admin/accounts/{}", wallet_text(99));
    for (method, path, body, status, code, message) in [
        (
            "POST",
            "/admin/perpetual/credit",
            r#"{"user_address":"0x1","amount":"1"}"#,
            400,
            "INVALID_PARAMETER",
            "user_address",
        ),
        (
            "POST",
            "/admin/perpetual/credit",
            &format!(r#"{{"user_address":"{wallet}","amount":"-1"}}"#),
            400,
            "INVALID_PARAMETER",
            "amount",
        ),
        (
            "POST",
            "/admin/perpetual/credit",
            &format!(r#"{{"user_address":"{wallet}","amount":"0.0000001"}}"#),
            400,
            "INVALID_PARAMETER",
            "amount",
        ),
        ("POST", "/admin/perpetual/credit", "nothing", 400, "INVALID_PARAMETER", "body"),
        (
            "POST",
            "/admin/perpetual/index-price",
            r#"{"symbol":"NONE","price":"1"}"#,
            404,
            "SYMBOL_NOT_FOUND",
            "",
        ),
        (
            "POST",
            "/admin/perpetual/index-price",
            r#"{"symbol":"BTCUSDT","price":"0"}"#,
            400,
            "INVALID_PARAMETER",
            "price",
        ),
        ("PATCH", "/admin/perpetual/symbols/NONE", r#"{"state":"HALTED"}"#, 404, "SYMBOL_NOT_FOUND", ""),
        (
            "PATCH",
            "/admin/perpetual/symbols/BTCUSDT",
            r#"{"state":"OPEN"}"#,
            400,
            "INVALID_PARAMETER",
            "state",
        ),
        ("PATCH", account.as_str(), "{}", 400, "INVALID_PARAMETER", "body"),
        ("PATCH", account.as_str(), r#"{"promo_bps":5}"#, 400, "INVALID_PARAMETER", "promo_expires_at"),
        ("PATCH", account.as_str(), r#"{"promo_expires_at":5}"#, 400, "INVALID_PARAMETER", "promo_bps"),
        ("PATCH", account.as_str(), r#"{"trade_group_id":-2}"#, 400, "INVALID_PARAMETER", "trade_group_id"),
        ("PATCH", unknown.as_str(), r#"{"trading_enabled":true}"#, 404, "NOT_FOUND", ""),
        ("PATCH", "/admin/accounts/0x12", r#"{"trading_enabled":true}"#, 400, "INVALID_PARAMETER", "address"),
        (
            "PATCH",
            account.as_str(),
            &format!(r#"{{"trading_enabled":true,"reason":"{}"}}"#, "x".repeat(257)),
            400,
            "INVALID_PARAMETER",
            "reason",
        ),
        ("GET", "/admin/audit?limit=x", "", 400, "INVALID_PARAMETER", "limit"),
        ("GET", "/admin/audit?before=0", "", 400, "INVALID_PARAMETER", "before"),
    ] {
        let (answered, answer) = venue.commands(method, path, body);
        assert_eq!((answered, &answer["code"]), (status, &json!(code)), "{method} {path} {body}: {answer}");
        assert!(answer["message"].as_str().unwrap().starts_with(message), "{answer}");
    }
    assert_eq!(
        venue.commands("PATCH", "/admin/perpetual/symbols/SOLUSDT", r#"{"state":"REDUCE_ONLY"}"#).0,
        200
    );
    assert_eq!(
        venue.commands("PATCH", "/admin/perpetual/symbols/SOLUSDT", r#"{"state":"CLOSED","confirm":true}"#).0,
        200
    );
    let (status, answer) =
        venue.commands("PATCH", "/admin/perpetual/symbols/SOLUSDT", r#"{"state":"TRADING"}"#);
    assert_eq!((status, &answer["code"]), (409, &json!("MARKET_CLOSED")));
    for path in ["/admin/audit", "/admin/ledger/proof"] {
        venue.fails(1, ("GET", path, ""), (401, "UNAUTHORIZED", ""));
    }
}

#[test]
fn money_from_nothing_is_for_tests_alone() {
    let mut venue = venue_with(&[], |config| config.test_deployment = false);
    for path in ["/admin/perpetual/credit", "/admin/perpetual/index-price"] {
        venue.fails(0, ("POST", path, "{}"), (404, "DISABLED", ""));
        let (status, answer) = venue.commands("POST", path, "{}");
        assert_eq!((status, &answer["code"]), (404, &json!("DISABLED")), "{path}");
    }
    assert_eq!(venue.commands("PATCH", "/admin/perpetual/symbols/SOLUSDT", r#"{"state":"HALTED"}"#).0, 200);
    assert_eq!(audit(&mut venue, "")["items"].as_array().unwrap().len(), 1);
}

#[test]
fn banned_addresses_are_listed_while_they_are() {
    let mut venue = venue_with(&[], |config| {
        (config.weight_per_minute, config.ban_after, config.ban_first) = (5, 2, Duration::from_secs(60));
    });
    let bans = |venue: &mut Venue| venue.operate("GET", "/admin/bans", "");
    assert_eq!(bans(&mut venue), json!([]));
    let status = |venue: &mut Venue| venue.exchange.request("GET", "/api/v1/markets", &[], "").status;
    let banned = (0..50).map(|_| status(&mut venue)).find(|status| *status == 418);
    assert_eq!(banned, Some(418));
    let now_ms = venue.exchange.clock.now_ms();
    let ban = json!([{ "address": "127.0.0.1", "count": 1, "since": now_ms, "until": now_ms + 60_000 }]);
    assert_eq!(bans(&mut venue), ban);
    venue.exchange.clock.turn(59_999);
    assert_eq!((bans(&mut venue), status(&mut venue)), (ban, 418));
    venue.exchange.clock.turn(1);
    assert_eq!((bans(&mut venue), status(&mut venue)), (json!([]), 200));
}
