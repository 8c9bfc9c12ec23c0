//! What an order would do before it is sent (`account.md` 5, `risk.md` 6 and 16).

use super::venue_after;
use crate::exchange::venue::Venue;
use serde_json::{Value, json};

fn preview(venue: &mut Venue, number: u8, body: Value) -> Value {
    let (status, answer) = venue.asks(number, "POST", "/orders/preview", &body.to_string());
    assert_eq!(status, 200, "{body}: {answer}");
    answer
}

fn ask(venue: &mut Venue, price: &str, quantity: &str) {
    venue.place(
        1,
        &format!("symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity={quantity}&price={price}"),
    );
}

/// The book of V-06: 0.1 at 60010, 60020 and 60100.
fn with_asks() -> Venue {
    let mut venue = venue_after(&[]);
    for price in ["60010", "60020", "60100"] {
        ask(&mut venue, price, "0.1");
    }
    venue
}

#[test]
fn v_06_and_v_26_a_market_order_that_walks() {
    let mut venue = with_asks();
    let shown = preview(
        &mut venue,
        3,
        json!({ "symbol": "btcusdt", "side": "buy", "type": "market", "quantity": "0.3009" }),
    );
    assert_eq!(
        shown,
        json!({
            "symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quantity": "0.3", "price": null,
            "avg_price": "60043.33333334", "worst_price": "60100", "fill_quantity": "0.3", "slippage": "0.000556",
            "max_slippage": "0.010000", "notional": "18013.00000000", "fee_rate": "0.0005", "fee": "9.00650000",
            "leverage": 20, "initial_margin": "900.65000000", "open_loss": "13.00000000",
            "required_margin": "922.65650000", "available_balance": "1000.00000000", "sufficient": true,
            "liquidation_price": shown["liquidation_price"],
        })
    );
    // What it says is what comes.
    venue.place(3, "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.3");
    assert_eq!(venue.last_fee(3), "3.00500000", "of the last of three fills");
    let position = venue.sees(3, "/positions/active");
    assert_eq!(position[0]["liquidationPrice"], shown["liquidation_price"]);
    assert_ne!(shown["liquidation_price"], "0");
}

#[test]
fn exactly_what_is_available_is_enough() {
    let mut venue = venue_after(&[]);
    let body =
        json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": "0.1", "price": "60300" });
    for (amount, sufficient) in [("665.485", true), ("0.000001", false)] {
        let out = format!(r#"{{"direction":"to_spot","token":"USDT","amount":"{amount}"}}"#);
        let (status, answer) = venue.asks(3, "POST", "/api/v1/spot/transfer", &out);
        assert_eq!(status, 200, "{answer}");
        let shown = preview(&mut venue, 3, body.clone());
        assert_eq!(
            [&shown["required_margin"], &shown["sufficient"]],
            [&json!("334.51500000"), &json!(sufficient)]
        );
        let left = if sufficient { "334.51500000" } else { "334.51499900" };
        assert_eq!(shown["available_balance"], left);
    }
    let terms = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.1&price=60300";
    assert_eq!(venue.ask(3, "POST", "/fapi/v1/order", terms).1["code"], -2019, "the engine says the same");
}

#[test]
fn v_05_a_limit_order_that_would_rest() {
    let mut venue = venue_after(&[]);
    let body =
        json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": 0.1, "price": 60300 });
    let shown = preview(&mut venue, 2, body);
    let members = [
        "initial_margin",
        "open_loss",
        "required_margin",
        "avg_price",
        "fill_quantity",
        "fee_rate",
        "fee",
        "slippage",
    ];
    let values: Vec<&Value> = members.iter().map(|name| &shown[*name]).collect();
    assert_eq!(
        json!(values),
        json!(["301.50000000", "30.00000000", "334.51500000", null, "0", "0.0002", "1.20600000", "0.000000"])
    );
    // The engine binds as much.
    let before =
        venue.call(2, "GET", "/fapi/v2/account", "")["availableBalance"].as_str().unwrap().to_owned();
    venue.place(2, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.1&price=60300");
    let after = venue.call(2, "GET", "/fapi/v2/account", "")["availableBalance"].as_str().unwrap().to_owned();
    assert_eq!((before.as_str(), after.as_str()), ("1000000.00000000", "999665.48500000"));
    // The other side of a resting order takes the worse of the two.
    let body =
        json!({ "symbol": "BTCUSDT", "side": "SELL", "type": "LIMIT", "quantity": "0.05", "price": "60400" });
    assert_eq!(preview(&mut venue, 2, body)["required_margin"], "0.00000000");
}

#[test]
fn a_limit_order_that_crosses_in_part() {
    let mut venue = with_asks();
    let body = json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": "0.3", "price": "60020", "leverage": "10" });
    let shown = preview(&mut venue, 2, body);
    assert_eq!(
        [&shown["fill_quantity"], &shown["avg_price"], &shown["worst_price"]],
        ["0.2", "60015", "60020"]
    );
    // 12003 as the taker, 6002 as the maker.
    assert_eq!(
        [&shown["fee_rate"], &shown["fee"], &shown["notional"]],
        ["0.0005", "7.20190000", "18006.00000000"]
    );
    assert_eq!([&shown["leverage"], &shown["initial_margin"]], [&json!(10), &json!("1800.60000000")]);
    let body = json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": "100", "price": "40000", "leverage": 1 });
    let (status, answer) = venue.asks(2, "POST", "/orders/preview", &body.to_string());
    assert_eq!(status, 200, "{answer}");
    assert_eq!(
        [&answer["sufficient"], &answer["required_margin"]],
        [&json!(false), &json!("4002000.00000000")]
    );
    assert_eq!(venue.call(2, "GET", "/fapi/v1/openOrders", ""), json!([]), "nothing is stored");
}

/// `risk.md` 8: the wallet pays what the share that it releases does not cover.
#[test]
fn an_isolated_position_that_closes_in_part_at_a_loss() {
    let mut venue = venue_after(&[]);
    let mode = r#"{"mode":"ISOLATED","symbol":"BTCUSDT"}"#;
    assert_eq!(venue.asks(2, "POST", "/api/v1/account/margin-mode", mode).0, 200);
    venue.call(2, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=20");
    venue.trade("BUY", "0.3", "60000");
    ask(&mut venue, "62995", "0.1");
    let body =
        json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": "0.1", "price": "62995" });
    let shown = preview(&mut venue, 2, body);
    venue.place(2, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.1&price=62995");
    let position = venue.call(2, "GET", "/fapi/v2/positionRisk", "symbol=BTCUSDT")[0].clone();
    // 900 less 300; 300 - 299.5 - 3.14975 are taken from what is left.
    assert_eq!([&position["positionAmt"], &position["isolatedWallet"]], ["-0.2", "597.35025000"]);
    assert_eq!(shown["liquidation_price"], venue.sees(2, "/positions/active")[0]["liquidationPrice"]);
}

#[test]
fn reduce_only_binds_nothing_and_is_clamped() {
    let mut venue = venue_after(&[]);
    venue.trade("BUY", "0.5", "60000");
    ask(&mut venue, "60010", "2");
    let body =
        json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quantity": "2", "reduce_only": true });
    let shown = preview(&mut venue, 2, body);
    let members = ["quantity", "required_margin", "initial_margin", "open_loss", "liquidation_price"];
    let values: Vec<&Value> = members.iter().map(|name| &shown[*name]).collect();
    assert_eq!(json!(values), json!(["0.5", "0.00000000", "0.00000000", "0.00000000", "0"]));
    // More than a placement may ask for, until it is clamped.
    let body = json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quantity": "2000", "reduce_only": true });
    assert_eq!(preview(&mut venue, 2, body)["quantity"], "0.5");
    // Less than an order is worth at least, and in a market where nothing may be opened any more.
    let small = |reduces: bool| json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": "0.001", "price": "4000", "reduce_only": reduces });
    assert_eq!(preview(&mut venue, 2, small(true))["notional"], "4.00000000");
    let code = |venue: &mut Venue, body: Value| {
        let (status, answer) = venue.asks(2, "POST", "/orders/preview", &body.to_string());
        (status, answer["message"].as_str().unwrap_or_default().to_owned())
    };
    let (status, too_small) = code(&mut venue, small(false));
    assert_eq!(status, 400, "{too_small}");
    venue.operate("PATCH", "/admin/perpetual/symbols/BTCUSDT", r#"{"state":"REDUCE_ONLY"}"#);
    assert_eq!(preview(&mut venue, 2, small(true))["notional"], "4.00000000");
    let (status, refused) = code(&mut venue, small(false));
    assert!(status == 400 && refused != too_small, "the state comes first: {refused}");
    let body = r#"{"symbol":"BTCUSDT","side":"SELL","type":"MARKET","quantity":"2","reduce_only":true}"#;
    venue.fails(
        2,
        ("POST", "/orders/preview", body),
        (400, "FILTER_FAILURE", "ReduceOnly Order is rejected."),
    );
}

#[test]
fn slippage_and_liquidity() {
    let mut venue = with_asks();
    let market = |quantity: &str, most: &str| {
        format!(
            r#"{{"symbol":"BTCUSDT","side":"BUY","type":"MARKET","quantity":"{quantity}","max_slippage":{most}}}"#
        )
    };
    let route = ("POST", "/orders/preview");
    assert_eq!(venue.asks(2, route.0, route.1, &market("0.3", "0.000556")).0, 200, "the bound is within");
    venue.fails(2, (route.0, route.1, &market("0.3", "\"0.000555\"")), (400, "SLIPPAGE_EXCEEDED", ""));
    assert_eq!(venue.asks(2, route.0, route.1, &market("0.1", "0")).0, 200, "one level slips nothing");
    venue.fails(2, (route.0, route.1, &market("0.301", "1")), (400, "INSUFFICIENT_LIQUIDITY", ""));
    let sell = market("0.1", "1").replace("BUY", "SELL");
    venue.fails(2, (route.0, route.1, &sell), (400, "INSUFFICIENT_LIQUIDITY", ""));
    // A limit order slips as far as it says.
    let limit = r#"{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","quantity":"0.3","price":"60100","max_slippage":0}"#;
    assert_eq!(venue.asks(2, route.0, route.1, limit).0, 200);
}

#[test]
fn filters_speak_as_a_placement_does() {
    let mut venue = with_asks();
    for (kind, quantity, price) in [
        ("LIMIT", "0.0009", "60000"),
        ("LIMIT", "0", "60000"),
        ("LIMIT", "1001", "60000"),
        ("LIMIT", "0.1", "60000.05"),
        ("LIMIT", "0.1", "60000.123456789"),
        ("LIMIT", "0.1", "99999999"),
        ("LIMIT", "0.001", "4000"),
        ("LIMIT", "900", "60000"),
        ("LIMIT", "0.1", "63000.1"),
        ("MARKET", "0.0005", ""),
        ("MARKET", "121", ""),
    ] {
        let mut params = format!("symbol=BTCUSDT&side=BUY&type={kind}&quantity={quantity}");
        let mut body = json!({ "symbol": "BTCUSDT", "side": "BUY", "type": kind, "quantity": quantity });
        if kind == "LIMIT" {
            params = format!("{params}&timeInForce=GTC&price={price}");
            body["price"] = json!(price);
        }
        let (status, placed) = venue.ask(2, "POST", "/fapi/v1/order/test", &params);
        assert_eq!(status, 400, "{params}: {placed}");
        let (status, answer) = venue.asks(2, "POST", "/orders/preview", &body.to_string());
        assert_eq!(
            (status, &answer["code"], &answer["message"]),
            (400, &json!("FILTER_FAILURE"), &placed["msg"]),
            "{params}"
        );
    }
    venue.operate("PATCH", "/admin/perpetual/symbols/BTCUSDT", r#"{"state":"HALTED"}"#);
    let body = r#"{"symbol":"BTCUSDT","side":"BUY","type":"MARKET","quantity":"0.1"}"#;
    let (_, placed) =
        venue.ask(2, "POST", "/fapi/v1/order/test", "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.1");
    venue.fails(
        2,
        ("POST", "/orders/preview", body),
        (400, "FILTER_FAILURE", placed["msg"].as_str().unwrap()),
    );
}

#[test]
fn bodies_are_judged_member_by_member() {
    let mut venue = venue_after(&[]);
    let good =
        json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "quantity": "1", "price": "60000" });
    for (name, value) in [
        ("symbol", json!(5)),
        ("side", json!("LONG")),
        ("type", json!("STOP")),
        ("quantity", json!("-1")),
        ("price", Value::Null),
        ("leverage", json!(0)),
        ("leverage", json!("x")),
        ("leverage", json!(126)),
        ("reduce_only", json!("maybe")),
        ("max_slippage", json!("1.01")),
        ("max_slippage", json!(-0.1)),
    ] {
        let mut body = good.clone();
        body[name] = value;
        venue.fails(2, ("POST", "/orders/preview", &body.to_string()), (400, "INVALID_PARAMETER", name));
    }
    venue.fails(2, ("POST", "/orders/preview", "[]"), (400, "INVALID_PARAMETER", "body"));
    let body = good.to_string().replace("BTCUSDT", "NONE");
    venue.fails(2, ("POST", "/orders/preview", &body), (404, "SYMBOL_NOT_FOUND", ""));
    venue.fails(0, ("POST", "/orders/preview", "{}"), (401, "UNAUTHORIZED", ""));
}
