//! Margin modes, and isolated positions as their owner sees them (`account.md` 8, `risk.md` 8).

use super::{SECOND_MS, venue_after};
use crate::exchange::socket::Socket;
use crate::exchange::venue::Venue;
use serde_json::{Value, json};

const ROUTE: &str = "/api/v1/account/margin-mode";

#[track_caller]
fn set(venue: &mut Venue, number: u8, body: &str) -> Value {
    let (status, answer) = venue.asks(number, "POST", ROUTE, body);
    assert_eq!(status, 200, "{body}: {answer}");
    answer
}

fn events(socket: &mut Socket) -> Vec<Value> {
    socket.drain().unwrap().iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// Pins the index, waits for a tick, and gives what account 2 is shown of its position.
fn at_index(venue: &mut Venue, price: &str) -> Value {
    let body = format!(r#"{{"symbol":"BTCUSDT","price":"{price}"}}"#);
    venue.operate("POST", "/admin/perpetual/index-price", &body);
    venue.pass(SECOND_MS);
    venue.call(2, "GET", "/fapi/v2/positionRisk", "symbol=BTCUSDT")[0].clone()
}

#[test]
fn a_mode_is_set_told_and_shown_everywhere() {
    let mut venue = venue_after(&[]);
    let all = |mode: &str| json!({ "BTCUSDT": mode, "ETHUSDT": mode, "SOLUSDT": mode });
    assert_eq!(venue.sees(2, ROUTE), json!({ "margin_mode": "CROSSED", "symbols": all("CROSSED") }));
    let key = venue.listen_key(2);
    let mut socket = Socket::at(&venue.exchange, &format!("/ws/{key}"));

    // One market, by the other name, in any case.
    let answer = set(&mut venue, 2, r#"{"mode":"isolated","symbol":"ethusdt"}"#);
    assert_eq!(answer, json!({ "margin_mode": "ISOLATED", "symbols": ["ETHUSDT"] }));
    let told = events(&mut socket);
    assert_eq!(told.len(), 1, "{told:?}");
    let update = &told[0]["a"];
    assert_eq!((&told[0]["e"], &update["m"]), (&json!("ACCOUNT_UPDATE"), &json!("MARGIN_TYPE_CHANGE")));
    let rows = update["P"].as_array().unwrap();
    assert_eq!((rows.len(), &rows[0]["s"], &rows[0]["mt"]), (1, &json!("ETHUSDT"), &json!("isolated")));
    let mut symbols = all("CROSSED");
    symbols["ETHUSDT"] = json!("ISOLATED");
    assert_eq!(venue.sees(2, ROUTE), json!({ "margin_mode": "CROSSED", "symbols": symbols }));
    assert_eq!(venue.sees(1, ROUTE)["symbols"], all("CROSSED"), "the other account's stay");
    // Everywhere at `/fapi` but where it is said that nothing else can be.
    let config = venue.call(2, "GET", "/fapi/v1/symbolConfig", "symbol=ETHUSDT");
    assert_eq!(config[0]["marginType"], "ISOLATED");
    let risk = venue.call(2, "GET", "/fapi/v2/positionRisk", "symbol=ETHUSDT");
    assert_eq!(risk[0]["marginType"], "isolated");
    let account = venue.call(2, "GET", "/fapi/v2/account", "");
    let row = account["positions"].as_array().unwrap().iter().find(|row| row["symbol"] == "ETHUSDT").unwrap();
    assert_eq!(row["isolated"], true);
    assert_eq!(venue.call(2, "GET", "/fapi/v1/marginType", "symbol=ETHUSDT")["marginType"], "CROSSED");
    assert_eq!(venue.sees(2, "/unified/account")["margin_mode"], "MIXED");

    // The same mode is confirmed, and nothing is told.
    let answer = set(&mut venue, 2, r#"{"margin_mode":"Isolated","mode":"CROSSED","symbol":"ETHUSDT"}"#);
    assert_eq!(answer, json!({ "margin_mode": "ISOLATED", "symbols": ["ETHUSDT"] }));
    assert_eq!(events(&mut socket), [Value::Null; 0]);

    // All markets, and those that come later.
    let answer = set(&mut venue, 2, r#"{"margin_mode":"ISOLATED"}"#);
    assert_eq!(answer, json!({ "margin_mode": "ISOLATED", "symbols": ["BTCUSDT", "ETHUSDT", "SOLUSDT"] }));
    assert_eq!(venue.sees(2, ROUTE), json!({ "margin_mode": "ISOLATED", "symbols": all("ISOLATED") }));
    let told = events(&mut socket);
    let symbols: Vec<&Value> = told[0]["a"]["P"].as_array().unwrap().iter().map(|row| &row["s"]).collect();
    assert_eq!((told.len(), symbols), (1, vec![&json!("BTCUSDT"), &json!("SOLUSDT")]));
    assert_eq!(venue.sees(2, "/unified/account")["margin_mode"], "ISOLATED");
    venue.exchange.restart();
    assert_eq!(venue.sees(2, ROUTE), json!({ "margin_mode": "ISOLATED", "symbols": all("ISOLATED") }));
    assert_eq!(set(&mut venue, 2, r#"{"mode":"CROSS"}"#)["margin_mode"], "CROSSED");
    assert_eq!(venue.sees(2, "/unified/account")["margin_mode"], "CROSSED");
}

#[test]
fn orders_and_positions_hold_the_mode() {
    let mut venue = venue_after(&[]);
    let order =
        venue.place(2, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=59000");
    let cancel = format!("symbol=BTCUSDT&orderId={}", order["orderId"]);
    let one = r#"{"mode":"ISOLATED","symbol":"BTCUSDT"}"#;
    let all = r#"{"mode":"ISOLATED"}"#;
    for body in [one, all] {
        venue.fails(2, ("POST", ROUTE, body), (409, "OPEN_ORDERS_EXIST", ""));
    }
    // Nothing changed anywhere, other markets are free, and the mode that is held may be confirmed.
    assert_eq!(venue.sees(2, ROUTE)["symbols"]["SOLUSDT"], "CROSSED");
    set(&mut venue, 2, r#"{"mode":"CROSSED"}"#);
    set(&mut venue, 2, r#"{"mode":"ISOLATED","symbol":"SOLUSDT"}"#);
    venue.call(2, "DELETE", "/fapi/v1/order", &cancel);
    // An order that waits for its trigger holds it as well.
    let algo = venue.place(
        2,
        "symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.01&stopPrice=50000&newClientOrderId=waits",
    );
    venue.fails(2, ("POST", ROUTE, one), (409, "OPEN_ORDERS_EXIST", ""));
    venue.call(2, "DELETE", "/fapi/v1/order", &format!("symbol=BTCUSDT&orderId={}", algo["orderId"]));

    venue.trade("BUY", "0.5", "60000");
    for body in [one, all] {
        venue.fails(2, ("POST", ROUTE, body), (409, "POSITION_EXISTS", ""));
    }
    // Of both, the orders come first.
    venue.place(2, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=59000");
    venue.fails(2, ("POST", ROUTE, one), (409, "OPEN_ORDERS_EXIST", ""));
    assert_eq!(venue.sees(2, ROUTE)["symbols"]["BTCUSDT"], "CROSSED");

    for (body, name) in [
        ("{}", "margin_mode"),
        (r#"{"margin_mode":"HEDGE"}"#, "margin_mode"),
        (r#"{"margin_mode":1}"#, "margin_mode"),
        (r#"{"mode":"ISOLATED "}"#, "mode"),
        (r#"{"mode":"CROSS","symbol":7}"#, "symbol"),
        ("[]", "body"),
    ] {
        venue.fails(2, ("POST", ROUTE, body), (400, "INVALID_PARAMETER", name));
    }
    let unknown = r#"{"mode":"CROSS","symbol":"NONE"}"#;
    venue.fails(2, ("POST", ROUTE, unknown), (404, "SYMBOL_NOT_FOUND", ""));
    // A login alone: no key, whatever it may do, and nobody.
    let key = format!("X-API-Key: {}", venue.trader(2, (true, true)).key);
    for method in ["GET", "POST"] {
        let answer = venue.exchange.request(method, ROUTE, std::slice::from_ref(&key), r#"{"mode":"CROSS"}"#);
        assert!(answer.status == 403 && answer.body.contains("FORBIDDEN"), "{}", answer.body);
        venue.fails(0, (method, ROUTE, "{}"), (401, "UNAUTHORIZED", ""));
    }
}

/// `V-11` and `V-12`, with the fees of VIP 0.
#[test]
fn an_isolated_position_through_the_api() {
    let mut venue = venue_after(&[]);
    set(&mut venue, 2, r#"{"mode":"ISOLATED","symbol":"BTCUSDT"}"#);
    venue.call(2, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=10");
    venue.trade("BUY", "0.3", "60000");
    let cross = |venue: &mut Venue| {
        let account = venue.call(2, "GET", "/fapi/v2/balance", "");
        account.as_array().unwrap().iter().find(|row| row["asset"] == "USDT").unwrap()["crossWalletBalance"]
            .clone()
    };
    // A million, less the margin of 1800 and the fee of 9.
    assert_eq!(cross(&mut venue), "998191.00000000");
    let risk = venue.call(2, "GET", "/fapi/v2/positionRisk", "symbol=BTCUSDT")[0].clone();
    let members = ["positionAmt", "leverage", "marginType", "isolatedWallet", "isolatedMargin"];
    let shown: Vec<&Value> = members.iter().map(|name| &risk[*name]).collect();
    assert_eq!(json!(shown), json!(["-0.3", "10", "isolated", "1800.00000000", "1800.00000000"]));

    // Margin goes in and comes out again, and no further.
    venue.call(2, "POST", "/fapi/v1/positionMargin", "symbol=BTCUSDT&amount=100&type=1");
    assert_eq!(cross(&mut venue), "998091.00000000");
    venue.call(2, "POST", "/fapi/v1/positionMargin", "symbol=BTCUSDT&amount=100&type=2");
    let (_, answer) =
        venue.ask(2, "POST", "/fapi/v1/positionMargin", "symbol=BTCUSDT&amount=0.000001&type=2");
    assert_eq!(answer["code"], -4051, "{answer}");
    let (_, answer) = venue.ask(2, "POST", "/fapi/v1/positionMargin", "symbol=BTCUSDT&amount=2000000&type=1");
    assert_eq!(answer["code"], -4050, "{answer}");
    let (_, answer) = venue.ask(2, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=9");
    assert_eq!(answer["code"], -4161, "{answer}");

    // V-12: at 65737.0 it stands, and no other money of the account is looked at.
    let held = at_index(&mut venue, "65737");
    assert_eq!([&held["positionAmt"], &held["markPrice"]], ["-0.3", "65737.00000000"]);
    assert_eq!(held["unRealizedProfit"], "-1721.10000000");
    at_index(&mut venue, "61000");

    // V-11: 0.1 bought back at 61000 releases 600, loses 100 and costs 3.05.
    venue.trade("SELL", "0.1", "61000");
    assert_eq!(cross(&mut venue), "998687.95000000", "496.95 more");
    let risk = venue.call(2, "GET", "/fapi/v2/positionRisk", "symbol=BTCUSDT")[0].clone();
    assert_eq!([&risk["positionAmt"], &risk["isolatedWallet"]], ["-0.2", "1200.00000000"]);
    venue.trade("SELL", "0.2", "61000");
    let spent = cross(&mut venue);

    // V-12 again: at 65737.1 the isolated position goes with its own margin and nothing more.
    at_index(&mut venue, "60000");
    venue.trade("BUY", "0.3", "60000");
    let before = cross(&mut venue);
    assert_ne!(before, spent);
    assert_eq!(at_index(&mut venue, "65737")["positionAmt"], "-0.3");
    assert_eq!(at_index(&mut venue, "65737.1")["positionAmt"], "0");
    assert_eq!(cross(&mut venue), before);
    let forced = venue.call(2, "GET", "/fapi/v1/forceOrders", "symbol=BTCUSDT");
    assert!(!forced.as_array().unwrap().is_empty(), "{forced}");
}
