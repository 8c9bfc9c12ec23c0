//! What stands at the edges of `perpetual.md`: values at and beyond their ends, two faults in one request, parameters where a
//! route has none.

use crate::exchange::send;
use crate::exchange::venue::Venue;
use ringside_config::Config;
use serde_json::{Value, json};
use std::time::Duration;

const ORDER: &str = "/fapi/v1/order";
const TEST: &str = "/fapi/v1/order/test";
const BUY: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC";
const HELD: &str = "Invalid symbol status for opening position";

/// 1: numbers as common languages print them (C-12).
#[test]
fn decimals_of_a_float_are_floored_and_exponents_of_a_batch_are_read() {
    let mut venue = Venue::usual();
    for (sent, held) in [
        ("0.0033000000000000004", "0.003"),
        ("0.0129999999999999999999999999999999999999", "0.012"),
        ("0.0150000000000000000000000000000000000000", "0.015"),
    ] {
        assert_eq!(venue.place(1, &format!("{BUY}&price=59000&quantity={sent}"))["origQty"], held);
    }
    let many = format!("{BUY}&price=59000&quantity=0.01{}", "0".repeat(39));
    let text =
        "Illegal characters found in parameter 'quantity'; legal range is '^[0-9]{1,20}(\\.[0-9]{1,40})?$'.";
    venue.refuses(1, "POST", ORDER, &many, -1100, text);
    let finer = format!("{BUY}&price=59000.000000000000000000001&quantity=0.01");
    let text = "Precision is over the maximum defined for this asset.";
    venue.refuses(1, "POST", ORDER, &finer, -1111, text);
    let order = |price: &str, quantity: &str| {
        format!(
            r#"{{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","timeInForce":"GTC","price":{price},"quantity":{quantity}}}"#
        )
    };
    let batch =
        [order("5.9e4", "1.1e-2"), order("59000", "5E-3"), order("59000", "9e-38"), order("1e21", "1")];
    let sent = percent_encoding::utf8_percent_encode(
        &format!("[{}]", batch.join(",")),
        percent_encoding::NON_ALPHANUMERIC,
    )
    .to_string();
    let answer = venue.call(1, "POST", "/fapi/v1/batchOrders", &format!("batchOrders={sent}"));
    assert_eq!((&answer[0]["origQty"], &answer[0]["price"]), (&"0.011".into(), &"59000".into()), "{answer}");
    assert_eq!(answer[1]["origQty"], "0.005", "{answer}");
    assert_eq!((&answer[2]["code"], &answer[3]["code"]), (&(-1013).into(), &(-1100).into()), "{answer}");
}

/// C-15 and C-17: what would have made another order of it is refused by name; two spellings of one thing say the same; names that
/// liquidations bear are nobody's.
#[test]
fn what_a_placement_does_not_know_is_not_read_as_less_risk() {
    let mut venue = Venue::new(&[(1, 10_000)]);
    let order = format!("{BUY}&price=59000&quantity=0.01");
    let algo =
        "symbol=BTCUSDT&side=BUY&algoType=CONDITIONAL&type=STOP_MARKET&quantity=0.01&triggerPrice=61000";
    let trailing = "symbol=BTCUSDT&side=SELL&type=TRAILING_STOP_MARKET&quantity=0.01&callbackRate=1&activationPrice=61000";
    for (name, value) in [
        ("icebergQty", "0.001"),
        ("hidden", "true"),
        ("displayQty", "0.001"),
        ("trailingDelta", "100"),
        ("quoteOrderQty", "100"),
        ("isIsolated", "TRUE"),
        ("postOnly", "true"),
        ("sideEffectType", "MARGIN_BUY"),
        ("pegPriceType", "PRIMARY_PEG"),
    ] {
        let text = format!("Not all sent parameters were read; '{name}' is not supported.");
        for (path, order) in [(ORDER, &*order), (TEST, &order), ("/fapi/v1/algoOrder", algo)] {
            venue.refuses(1, "POST", path, &format!("{order}&{name}={value}"), -1104, &text);
        }
        let batch = format!(
            "batchOrders=%5B%7B%22symbol%22:%22BTCUSDT%22,%22side%22:%22BUY%22,%22type%22:%22MARKET%22,%22quantity%22:1,%22{name}%22:%22{value}%22%7D%5D"
        );
        assert_eq!(venue.call(1, "POST", "/fapi/v1/batchOrders", &batch)[0]["code"], -1104, "{name}");
        // Sent as nothing it asks for nothing; what has no bearing on the order is ignored.
        venue.call(1, "POST", TEST, &format!("{order}&{name}=false&strategyId=5&newOrderRespType=ACK"));
        venue.call(1, "POST", TEST, &format!("{order}&{name}=0.0"));
    }
    let placed = venue.place(1, &order);
    let change =
        format!("symbol=BTCUSDT&orderId={}&quantity=0.02&price=59000&icebergQty=0.001", placed["orderId"]);
    let text = "Not all sent parameters were read; 'icebergQty' is not supported.";
    venue.refuses(1, "PUT", ORDER, &change, -1104, text);

    let both = "Combination of optional parameters invalid.";
    venue.refuses(1, "POST", ORDER, &format!("{trailing}&activatePrice=62000"), -1128, both);
    venue.refuses(1, "POST", "/fapi/v1/algoOrder", &format!("{algo}&stopPrice=62000"), -1128, both);
    let stop = "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&quantity=0.01&stopPrice=61000";
    venue.refuses(1, "POST", ORDER, &format!("{stop}&triggerPrice=60900"), -1128, both);
    venue.call(1, "POST", TEST, &format!("{trailing}&activatePrice=61000.0"));
    venue.call(1, "POST", TEST, &format!("{stop}&triggerPrice=61000"));
    venue.call(1, "POST", TEST, &format!("{stop}&triggerPrice=0"));

    let reserved = "Client order id is not valid.";
    for name in ["autoclose-1700000000000123", "autoclose-", "adl_autoclose", "settlement_autoclose"] {
        venue.refuses(1, "POST", ORDER, &format!("{order}&newClientOrderId={name}"), -4015, reserved);
        venue.refuses(
            1,
            "POST",
            "/fapi/v1/algoOrder",
            &format!("{algo}&clientAlgoId={name}"),
            -4015,
            reserved,
        );
    }
    assert_eq!(venue.place(1, &format!("{order}&newClientOrderId=autoclose"))["clientOrderId"], "autoclose");
    let timer = |ms: i64| format!("symbol=BTCUSDT&countdownTime={ms}");
    let text = "Data sent for parameter 'countdownTime' is not valid.";
    for ms in [i64::MAX, 253_402_300_800_000] {
        venue.refuses(1, "POST", "/fapi/v1/countdownCancelAll", &timer(ms), -1130, text);
    }
    venue.call(1, "POST", "/fapi/v1/countdownCancelAll", &timer(1_000_000_000_000));
}

/// 8, Idempotency (C-14): sent again with its key a placement is answered again and not carried out, over a restart too.
#[test]
fn a_placement_sent_again_with_its_key_happens_once() {
    let mut venue = Venue::new(&[(1, 10_000), (2, 10_000)]);
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&price=60000&quantity=0.05");
    let market = "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01&newClientOrderId=mine&idempotencyKey=a-1";
    let first = venue.place(1, market);
    assert_eq!(first["executedQty"], "0.01");
    let held = |venue: &mut Venue| {
        venue.call(1, "GET", "/fapi/v2/positionRisk", "symbol=BTCUSDT")[0]["positionAmt"].clone()
    };
    let again = |venue: &mut Venue, params: &str| {
        let trader = venue.traders[&1].clone();
        let answer = venue.send(&trader, "POST", ORDER, params);
        let is_replayed = answer.header("idempotency-replayed") == Some("true");
        (answer.status, serde_json::from_str::<Value>(&answer.body).unwrap(), is_replayed)
    };
    // The order of parameters says nothing, and neither do recvWindow and timestamp.
    let turned = "idempotencyKey=a-1&newClientOrderId=mine&quantity=0.01&type=MARKET&side=BUY&symbol=BTCUSDT&recvWindow=9000";
    venue.exchange.clock.turn(1_000);
    assert_eq!(again(&mut venue, turned), (200, first.clone(), true));
    assert_eq!(held(&mut venue), "0.01");
    let other = "Parameter 'idempotencyKey' was used for another request.";
    venue.refuses(1, "POST", ORDER, &market.replace("0.01", "0.02"), -1130, other);
    // Of an order that rests it is the answer of the placement, whatever became of the order.
    let rests = format!("{BUY}&price=59000&quantity=0.01&idempotencyKey=b_2");
    let placed = venue.place(1, &rests);
    venue.call(1, "DELETE", ORDER, &format!("symbol=BTCUSDT&orderId={}", placed["orderId"]));
    assert_eq!(again(&mut venue, &rests), (200, placed.clone(), true));
    // What the engine refused is refused again, though it might be taken now.
    let poor = format!("{BUY}&price=60000&quantity=10&idempotencyKey=c");
    let (status, refused, is_replayed) = again(&mut venue, &poor);
    assert_eq!((status, &refused["code"], is_replayed), (400, &(-2019).into(), false));
    assert_eq!(again(&mut venue, &poor), (400, refused, true));
    // Elements of a batch have keys of their own, of the same orders' table; the service's are others.
    let element = |key: &str| {
        format!(
            r#"{{"symbol":"BTCUSDT","side":"BUY","type":"MARKET","quantity":"0.01","idempotencyKey":"{key}"}}"#
        )
    };
    let batch = format!("[{},{}]", element("d"), element("d"));
    let batch = percent_encoding::utf8_percent_encode(&batch, percent_encoding::NON_ALPHANUMERIC).to_string();
    let answers = venue.call(1, "POST", "/fapi/v1/batchOrders", &format!("batchOrders={batch}"));
    assert_eq!(answers[0], answers[1]);
    assert_eq!(held(&mut venue), "0.02");
    let algo = "symbol=BTCUSDT&side=BUY&algoType=CONDITIONAL&type=STOP_MARKET&quantity=0.01&triggerPrice=61000&idempotencyKey=a-1";
    let armed = venue.call(1, "POST", "/fapi/v1/algoOrder", algo);
    assert_eq!(venue.call(1, "POST", "/fapi/v1/algoOrder", algo), armed);
    for key in ["%20", "a%2Fb", &"x".repeat(65)] {
        let text = "Data sent for parameter 'idempotencyKey' is not valid.";
        venue.refuses(
            1,
            "POST",
            ORDER,
            &format!("{BUY}&price=59000&quantity=0.01&idempotencyKey={key}"),
            -1130,
            text,
        );
    }
    venue.restart_with(|_| {});
    assert_eq!(again(&mut venue, market), (200, first.clone(), true));
    assert_eq!(again(&mut venue, &rests), (200, placed, true));
    assert_eq!(held(&mut venue), "0.02");
    // The key is another's elsewhere, and free after a day.
    venue.place(
        2,
        "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&price=60000&quantity=0.01&idempotencyKey=a-1",
    );
    venue.exchange.clock.turn(24 * 3_600_000 + 1);
    let (status, anew, is_replayed) = again(&mut venue, &market.replace("mine", "new"));
    assert_eq!((status, is_replayed), (200, false));
    assert_ne!(anew["orderId"], first["orderId"]);
}

/// As many keys as an account may have, then as many as all may; a key that is known is answered either way.
#[test]
fn beyond_the_limits_of_keys_a_known_one_is_still_answered() {
    for (of_account, of_all, status, code) in [(2, 9, 400, -1130), (9, 2, 503, -1008)] {
        let mut venue = Venue::with(&[(1, 10_000)], 0, |config| {
            config.idempotency_keys_per_account = of_account;
            config.idempotency_keys = of_all;
        });
        let order = |key: u32| format!("{BUY}&price=59000&quantity=0.01&idempotencyKey={key}");
        let placed = venue.place(1, &order(1));
        venue.place(1, &order(2));
        let (refused, answer) = venue.ask(1, "POST", ORDER, &order(3));
        assert_eq!((refused, &answer["code"]), (status, &code.into()), "{answer}");
        assert_eq!(venue.place(1, &order(1)), placed);
        venue.place(1, &format!("{BUY}&price=59000&quantity=0.01"));
    }
}

/// 5: flooring that leaves nothing is the filter's, zero is not; each price has the text of its own parameter.
#[test]
fn values_below_and_beyond_what_the_engine_holds() {
    let mut venue = Venue::usual();
    let outside = "Filter failure: LOT_SIZE. Quantity 0 is outside 0.001 to 1000.";
    for quantity in ["0.0009", "0.00000001", "0.000000001", "0.000000000000000001"] {
        let order = format!("{BUY}&price=60000&quantity={quantity}");
        venue.refuses(1, "POST", ORDER, &order, -1013, outside);
    }
    let outside = "Filter failure: LOT_SIZE. Quantity 0 is outside 0.001 to 120.";
    let market = "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.0000000001";
    venue.refuses(1, "POST", ORDER, market, -1013, outside);
    venue.refuses(
        1,
        "POST",
        ORDER,
        &format!("{BUY}&price=60000&quantity=0.0"),
        -4003,
        "Quantity less than zero.",
    );
    let placed = venue.place(1, &format!("{BUY}&price=59000&quantity=0.01"));
    let modified = format!("symbol=BTCUSDT&orderId={}&price=59000&quantity=0.0000000001", placed["orderId"]);
    let outside = "Filter failure: LOT_SIZE. Quantity 0 is outside 0.001 to 1000.";
    venue.refuses(1, "PUT", ORDER, &modified, -1013, outside);

    let stop = "symbol=BTCUSDT&side=BUY&quantity=0.01&type";
    let greater = "Stop price greater than max price.";
    for order in [
        format!("{stop}=STOP_MARKET&stopPrice=99999999999999999999"),
        format!("{stop}=TRAILING_STOP_MARKET&callbackRate=1&activationPrice=99999999999999999999"),
        format!("{BUY}&quantity=0.01&price=60000&tpTriggerPrice=99999999999999999999"),
    ] {
        venue.refuses(1, "POST", ORDER, &order, -4007, greater);
    }
    let order = format!("{BUY}&quantity=0.01&price=99999999999999999999");
    venue.refuses(1, "POST", ORDER, &order, -4002, "Price greater than max price.");
}

/// 5: the notional that a refusal names is the one that was judged.
#[test]
fn refusals_name_the_notional_that_was_judged() {
    let mut venue = Venue::usual();
    let below = |notional: &str| {
        format!(
            "Filter failure: MIN_NOTIONAL. Notional {notional} is below the minimum 5 (unless you choose reduce only)."
        )
    };
    for (order, notional) in [
        ("type=STOP_MARKET&side=SELL&stopPrice=4000", "4"),
        ("type=STOP&side=SELL&stopPrice=4500&price=2000", "2"),
    ] {
        let order = format!("symbol=BTCUSDT&quantity=0.001&{order}");
        venue.refuses(1, "POST", ORDER, &order, -1013, &below(notional));
    }
}

/// 7.10: the state of the symbol is judged before everything else.
#[test]
fn the_state_of_a_symbol_is_judged_first() {
    let mut venue = Venue::usual();
    let sol = "symbol=SOLUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=150";
    let faulty = ["&positionSide=LONG", "&newClientOrderId=a%20b"].map(|fault| format!("{sol}{fault}"));
    let fine = "symbol=SOLUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=150.0000000001";
    let trailing = "symbol=SOLUSDT&side=BUY&type=TRAILING_STOP_MARKET&quantity=1&callbackRate";
    let more = [fine.to_owned(), format!("{trailing}=1.55"), format!("{trailing}=1&activationPrice=0")];
    let all: Vec<&String> = faulty.iter().chain(&more).collect();
    // What the engine refuses of itself is told alike.
    let well = sol.to_owned();
    for (state, code, msg) in [
        ("POST_ONLY", -4140, "paused, and takes timeInForce GTX alone (POST_ONLY)"),
        (
            "REDUCE_ONLY",
            -4140,
            "about to settle or without an index, and takes reduceOnly and closePosition alone (REDUCE_ONLY)",
        ),
        ("CANCEL_ONLY", -4140, "stopped, and takes cancels alone (CANCEL_ONLY)"),
        ("HALTED", -4140, "stopped, and takes cancels alone (HALTED)"),
        ("CLOSED", -4141, ""),
    ] {
        let body = json!({ "state": state, "confirm": state == "CLOSED" }).to_string();
        venue.operate("PATCH", "/admin/perpetual/symbols/SOLUSDT", &body);
        let info = venue.public("/fapi/v1/exchangeInfo");
        assert_eq!(info["symbols"][2]["tradingState"], state);
        let msg = if code == -4141 {
            "Symbol is closed".to_owned()
        } else {
            format!("{HELD}: the market is {msg}")
        };
        for order in all.iter().copied().chain([&well]) {
            venue.refuses(1, "POST", ORDER, order, code, &msg);
        }
        let two_way = "Order's position side does not match user's setting.";
        let taken = match state {
            "POST_ONLY" => sol.replace("GTC", "GTX"),
            "REDUCE_ONLY" => format!("{sol}&reduceOnly=true"),
            _ => continue,
        };
        venue.refuses(1, "POST", ORDER, &format!("{taken}&positionSide=LONG"), -4061, two_way);
    }
}

/// 8: a test ends with the margin check, and takes what a placement takes.
#[test]
fn a_test_takes_attached_prices() {
    let mut venue = Venue::usual();
    let order = format!("{BUY}&quantity=0.01&price=60000");
    let judged = venue.call(1, "POST", TEST, &format!("{order}&tpTriggerPrice=61000&slTriggerPrice=59000"));
    assert_eq!([&judged["orderId"], &judged["status"]], [&json!(0), &json!("NEW")]);
    // On which side of the price they stand is judged after margin.
    venue.call(1, "POST", TEST, &format!("{order}&tpTriggerPrice=59000"));
    for (price, code, msg) in [
        ("61000.05", -1111, "Precision is over the maximum defined for this asset."),
        ("0.01", -1111, "Precision is over the maximum defined for this asset."),
        ("10000000.1", -4007, "Stop price greater than max price."),
    ] {
        for path in [ORDER, TEST] {
            venue.refuses(1, "POST", path, &format!("{order}&tpTriggerPrice={price}"), code, msg);
        }
    }
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openOrders", ""), json!([]));
}

/// 5, 7.2, 7.9: attached orders are orders of the account, with names of their own and a place in its limits.
#[test]
fn an_order_answers_for_what_is_attached_to_it() {
    let mut venue = Venue::usual();
    let order = format!("{BUY}&quantity=0.001&price=59000");
    let both = "tpTriggerPrice=61000&slTriggerPrice=58000";
    let refuse = |venue: &mut Venue, order: &str, code: i32, msg: &str| {
        for path in [ORDER, TEST] {
            venue.refuses(1, "POST", path, order, code, msg);
        }
    };
    let twice = "ClientOrderId is duplicated.";
    venue.place(1, &format!("{order}&newClientOrderId=a_sl"));
    refuse(&mut venue, &format!("{order}&{both}&newClientOrderId=a"), -4116, twice);
    venue.place(1, &format!("{order}&tpTriggerPrice=61000&newClientOrderId=a"));
    refuse(&mut venue, &format!("{order}&newClientOrderId=a_tp"), -4116, twice);
    let long = "b".repeat(33);
    refuse(&mut venue, &format!("{order}&{both}&newClientOrderId={long}_tp"), -4116, twice);
    venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");

    for _ in 0..50 {
        venue.place(1, &format!("{order}&{both}"));
    }
    let alone = "tpTriggerPrice=61000";
    refuse(&mut venue, &format!("{order}&{alone}"), -4045, "Reach max stop order limit.");
    for _ in 0..49 {
        venue.place(1, &order);
    }
    refuse(&mut venue, &format!("{order}&{alone}"), -2025, "Reach max open order limit.");
    venue.place(1, &order);
    refuse(&mut venue, &order, -2025, "Reach max open order limit.");
}

/// 7.1, 7.5, 7.7: what a test answers is the order that a placement would make.
#[test]
fn a_test_shows_the_order_that_would_be() {
    let mut venue = Venue::usual();
    venue.fill();
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.01&price=60100");
    let fields = |order: &Value| ["price", "origQty", "priceMatch"].map(|name| order[name].clone());
    for (order, expected) in [
        (
            "side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.0109&priceMatch=OPPONENT",
            ["60100", "0.01", "OPPONENT"],
        ),
        ("side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&priceMatch=QUEUE", ["60000", "0.01", "QUEUE"]),
        ("side=SELL&type=LIMIT&timeInForce=GTX&quantity=0.01&priceMatch=QUEUE", ["60100", "0.01", "QUEUE"]),
        ("side=SELL&type=MARKET&quantity=1&reduceOnly=true", ["0", "0.014", "NONE"]),
        ("side=SELL&type=STOP_MARKET&stopPrice=50000&quantity=1&reduceOnly=true", ["0", "1", "NONE"]),
        ("side=SELL&type=STOP&stopPrice=50000&quantity=1&priceMatch=OPPONENT", ["0", "1", "OPPONENT"]),
    ] {
        let order = format!("symbol=BTCUSDT&{order}");
        assert_eq!(fields(&venue.call(1, "POST", TEST, &order)), expected, "{order}");
        assert_eq!(fields(&venue.place(1, &order)), expected, "{order}");
        venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
        venue.call(2, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
        venue.place(1, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=60000");
        venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.01&price=60100");
    }
    let order = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=100&priceMatch=OPPONENT";
    let above = "Filter failure: MAX_NOTIONAL. Notional 6010000 is above the maximum 5000000.";
    venue.refuses(1, "POST", ORDER, order, -1013, above);
    let placed = venue.place(1, &format!("{BUY}&price=59000&quantity=0.01"));
    let modified = format!("symbol=BTCUSDT&orderId={}&quantity=100&priceMatch=OPPONENT", placed["orderId"]);
    venue.refuses(1, "PUT", ORDER, &modified, -1013, above);
}

/// 11: before it fires, an order of the conditional-order service is none of the other routes'.
#[test]
fn an_order_of_the_service_is_unknown_to_the_other_routes() {
    let mut venue = Venue::usual();
    let stop = "algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL&type=STOP&quantity=0.01&triggerPrice=58000&price=58000";
    let order = venue.call(1, "POST", "/fapi/v1/algoOrder", &format!("{stop}&clientAlgoId=waits"));
    for name in [format!("orderId={}", order["algoId"]), "origClientOrderId=waits".to_owned()] {
        let named = format!("symbol=BTCUSDT&{name}");
        let modified = format!("{named}&quantity=0.02&price=58000");
        venue.refuses(1, "PUT", ORDER, &modified, -2013, "Order does not exist.");
        venue.refuses(1, "GET", ORDER, &named, -2013, "Order does not exist.");
        venue.refuses(1, "DELETE", ORDER, &named, -2011, "Unknown order sent.");
    }
    let waits = venue.place(1, &stop.replace("algoType=CONDITIONAL&", "").replace("trigger", "stop"));
    let modified = format!("symbol=BTCUSDT&orderId={}&quantity=0.02&price=58000", waits["orderId"]);
    venue.refuses(1, "PUT", ORDER, &modified, -5025, "Only limit order is supported.");
}

/// 1: one name twice is refused wherever names are, also where none is asked for.
#[test]
fn one_name_twice_is_refused_everywhere() {
    let mut venue = Venue::usual();
    let twice = "Duplicate values for parameter 'a' detected.";
    let batch = r#"[{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","timeInForce":"GTC","quantity":"0.01","price":1,"price":2}]"#;
    let batch = format!("batchOrders={}", batch.replace('"', "%22"));
    let refused = json!([{ "code": -1101, "msg": "Duplicate values for parameter 'price' detected." }]);
    assert_eq!(venue.call(1, "POST", "/fapi/v1/batchOrders", &batch), refused);
    for (method, path) in [
        ("GET", "positionSide/dual"),
        ("GET", "multiAssetsMargin"),
        ("GET", "feeBurn"),
        ("GET", "rateLimit/order"),
        ("GET", "accountConfig"),
        ("POST", "listenKey"),
        ("PUT", "listenKey"),
        ("DELETE", "listenKey"),
    ] {
        venue.refuses(1, method, &format!("/fapi/v1/{path}"), "a=1&a=1", -1101, twice);
    }
    for path in ["ping", "time", "exchangeInfo", "fundingInfo", "premiumIndex", "assetIndex"] {
        let answer = venue.public(&format!("/fapi/v1/{path}?a=1&a=2"));
        assert_eq!(answer, json!({ "code": -1101, "msg": twice }), "{path}");
    }
}

/// 1: positionSide is one of three words, two of which are refused for the mode, on each route that has it.
#[test]
fn position_sides_of_the_other_mode_are_refused_for_the_mode() {
    let mut venue = Venue::usual();
    let margin = "symbol=BTCUSDT&amount=1&type=1&positionSide";
    let path = "/fapi/v1/positionMargin";
    for side in ["LONG", "SHORT"] {
        let msg = "Order's position side does not match user's setting.";
        venue.refuses(1, "POST", path, &format!("{margin}={side}"), -4061, msg);
    }
    venue.refuses(1, "POST", path, &format!("{margin}=long"), -4060, "Invalid position side.");
    let msg = "Add margin only support for isolated position.";
    venue.refuses(1, "POST", path, &format!("{margin}=BOTH"), -4049, msg);
}

/// 1: a time is any integer; what lies beyond the calendar has no candles.
#[test]
fn times_beyond_every_calendar_are_answered() {
    let mut venue = Venue::usual();
    venue.fill();
    let latest = i64::MAX;
    for path in
        ["klines?symbol", "markPriceKlines?symbol", "indexPriceKlines?pair", "premiumIndexKlines?symbol"]
    {
        for interval in ["1m", "3d", "1w", "1M"] {
            for times in [format!("startTime={latest}"), format!("startTime={latest}&endTime={latest}")] {
                let path = format!("/fapi/v1/{path}=BTCUSDT&interval={interval}&{times}");
                assert_eq!(venue.public(&path), json!([]), "{path}");
            }
            let all = venue.public(&format!("/fapi/v1/{path}=BTCUSDT&interval={interval}"));
            let until =
                venue.public(&format!("/fapi/v1/{path}=BTCUSDT&interval={interval}&endTime={latest}"));
            assert_eq!(until, all, "{path} {interval}");
        }
    }
    let after = format!("/fapi/v1/aggTrades?symbol=BTCUSDT&startTime={latest}");
    assert_eq!(venue.public(&after), json!([]));
    for path in
        ["allOrders", "userTrades", "income", "forceOrders", "positionMargin/history", "allAlgoOrders"]
    {
        let times = format!("symbol=BTCUSDT&startTime={latest}");
        assert_eq!(venue.call(1, "GET", &format!("/fapi/v1/{path}"), &times), Value::Array(vec![]), "{path}");
    }
}

/// 8, "Which end" (C-13): with a lower bound lists begin there, so that a loop from the last row's time on sees each row once;
/// without one they end with the newest, and pages go on away from the bound.
#[test]
fn a_loop_over_times_sees_every_row_once() {
    let mut venue = Venue::new(&[(1, 10_000), (2, 10_000), (3, 1_000)]);
    let begin_ms = venue.exchange.clock.now_ms();
    for number in 0..12 {
        venue.exchange.clock.turn(10);
        venue.place(1, &format!("{BUY}&price=60000&quantity=0.01"));
        venue.exchange.clock.turn(10);
        venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.01");
        venue.exchange.clock.turn(10);
        venue.place(
            3,
            &format!("symbol=BTCUSDT&side=BUY&type=STOP_MARKET&quantity=0.01&stopPrice={}", 61_000 + number),
        );
    }
    let end_ms = venue.exchange.clock.now_ms();
    for (account, path, time, count) in [
        (1, "userTrades", "time", 12),
        (2, "userTrades", "time", 12),
        (1, "allOrders", "time", 12),
        (3, "allOrders", "time", 12),
        (1, "income", "time", 12),
    ] {
        let ask = |venue: &mut Venue, params: &str| {
            let path = format!("/fapi/v1/{path}");
            let answer = venue.call(account, "GET", &path, &format!("symbol=BTCUSDT&limit=5{params}"));
            let rows = answer.as_array().unwrap();
            rows.iter().map(|row| row[time].as_i64().unwrap()).collect::<Vec<_>>()
        };
        let mut all: Vec<i64> = Vec::new();
        loop {
            let from = all.last().map_or(begin_ms, |last| last + 1);
            let times = ask(&mut venue, &format!("&startTime={from}"));
            if times.is_empty() {
                break;
            }
            assert!(times.len() <= 5 && times.is_sorted());
            all.extend(times);
        }
        assert_eq!(all.len(), count, "{path} of {account}");
        assert!(all.is_sorted_by(|before, after| before < after), "{path} of {account}: {all:?}");
        // Both bounds: from the lower one. The upper one alone, or none: the newest.
        assert_eq!(ask(&mut venue, &format!("&startTime={begin_ms}&endTime={end_ms}")), all[..5], "{path}");
        assert_eq!(ask(&mut venue, &format!("&endTime={end_ms}")), all[count - 5..], "{path}");
        assert_eq!(ask(&mut venue, ""), all[count - 5..], "{path}");
        if path == "income" {
            for (page, newest) in [(1, &all[7..12]), (2, &all[2..7]), (3, &all[..2]), (4, &all[..0])] {
                assert_eq!(ask(&mut venue, &format!("&page={page}")), newest, "page {page}");
            }
            for (page, oldest) in [(1, &all[..5]), (2, &all[5..10]), (3, &all[10..]), (4, &all[..0])] {
                let params = format!("&startTime={begin_ms}&page={page}");
                assert_eq!(ask(&mut venue, &params), oldest, "page {page} from the beginning");
            }
        }
    }
}

/// `clients.md` 4 and 9: clients of several venues start with questions to the others.
#[test]
fn clients_of_several_venues_get_started() {
    let mut venue = Venue::usual();
    let now_ms = venue.exchange.clock.now_ms();
    for (path, answer) in [
        ("/api/v3/ping", json!({})),
        ("/api/v3/time", json!({ "serverTime": now_ms })),
        ("/sapi/v1/system/status", json!({ "status": 0, "msg": "normal" })),
        ("/sapi/v1/capital/config/getall?timestamp=1&signature=x", json!([])),
        ("/sapi/v1/margin/allPairs", json!([])),
    ] {
        assert_eq!(venue.public(path), answer, "{path}");
    }
}

/// 4, kind A: of a command that was handed over and not answered in time nobody knows whether it was carried out. It counts.
#[test]
fn a_command_without_an_answer_in_time_is_of_unknown_outcome() {
    let configure = |config: &mut Config| config.request_timeout = Duration::from_millis(300);
    let mut venue = Venue::with(&[(1, 10_000)], 0, configure);
    let placed = venue.place(1, &format!("{BUY}&price=58000&quantity=0.01&newClientOrderId=first"));
    venue.exchange.is_gate_open = false;
    let first = format!("symbol=BTCUSDT&orderId={}", placed["orderId"]);
    for (method, path, params) in [
        ("POST", ORDER, format!("{BUY}&price=59000&quantity=0.01&newClientOrderId=second")),
        ("PUT", ORDER, format!("{first}&price=58500&quantity=0.01")),
        ("DELETE", ORDER, first),
        ("POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=7".to_owned()),
    ] {
        let (path, headers) = venue.target(1, path, &params);
        let mut client = venue.exchange.connect();
        send(&mut client, method, &path, &headers, "");
        let answer = venue.exchange.receive(&mut client, true);
        let unknown =
            r#"{"code":-1000,"msg":"Unknown error, please check your request or try again later."}"#;
        assert_eq!((answer.status, answer.body.as_str()), (503, unknown), "{method} {path}");
    }
    venue.exchange.is_gate_open = true;
    venue.exchange.turn();
    let open = venue.call(1, "GET", "/fapi/v1/openOrders", "");
    assert_eq!((open[0]["clientOrderId"].as_str(), open.as_array().unwrap().len()), (Some("second"), 1));
    let config = venue.call(1, "GET", "/fapi/v1/symbolConfig", "symbol=BTCUSDT");
    assert_eq!(config[0]["leverage"], 7);
}

/// 7.3: what may not be sent and says nothing counts as not sent.
#[test]
fn nothing_counts_as_absent_where_it_may_not_be_sent() {
    let mut venue = Venue::usual();
    let market = "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01";
    let nothing = "timeInForce=0&stopPrice=0.0&callbackRate=0&activationPrice=0&closePosition=false&price=0.0&goodTillDate=0";
    venue.call(1, "POST", TEST, &format!("{market}&{nothing}"));
    let extra = "Parameter 'timeInForce' sent when not required.";
    venue.refuses(1, "POST", TEST, &format!("{market}&timeInForce=GTC"), -1106, extra);
}

/// 2, row 11, and 7.3: what a type must come with is judged once the type is known, before what does not go together; a leverage
/// of no market only where leverage is (7.10).
#[test]
fn what_a_type_must_come_with_is_judged_before_combinations() {
    let mut venue = Venue::usual();
    let missing =
        |name: &str| format!("Mandatory parameter '{name}' was not sent, was empty/null, or malformed.");
    for (order, name) in [
        ("type=LIMIT&quantity=0.01&price=60000&stopPrice=61000", "timeInForce"),
        ("type=LIMIT&timeInForce=GTC&quantity=0.01&stopPrice=61000", "price"),
        ("type=LIMIT&timeInForce=GTD&quantity=0.01&price=60000&stopPrice=1", "goodTillDate"),
        ("type=MARKET&timeInForce=GTC", "quantity"),
        ("type=MARKET&priceMatch=QUEUE", "quantity"),
        ("type=STOP&quantity=0.01&price=60000&callbackRate=1", "stopPrice"),
        ("type=STOP_MARKET&closePosition=true&quantity=1", "stopPrice"),
        ("type=TRAILING_STOP_MARKET&quantity=0.01&stopPrice=61000", "callbackRate"),
        ("type=TRAILING_STOP_MARKET&callbackRate=1&stopPrice=61000", "quantity"),
    ] {
        for path in [ORDER, TEST] {
            let order = format!("symbol=BTCUSDT&side=BUY&{order}");
            venue.refuses(1, "POST", path, &order, -1102, &missing(name));
        }
    }
    let service = "algoType=CONDITIONAL&symbol=BTCUSDT&side=BUY";
    let path = "/fapi/v1/algoOrder";
    let stop = format!("{service}&type=STOP_MARKET&quantity=0.01&callbackRate=1");
    venue.refuses(1, "POST", path, &stop, -1102, &missing("triggerPrice"));
    for order_type in ["LIMIT", "MARKET", "ICEBERG"] {
        venue.refuses(1, "POST", path, &format!("{service}&type={order_type}"), -1116, "Invalid orderType.");
    }
    let fine = "Precision is over the maximum defined for this asset.";
    for leverage in ["0", "126", "4294967296"] {
        let order = format!("{BUY}&quantity=0.01&leverage={leverage}&price");
        venue.refuses(1, "POST", ORDER, &format!("{order}=60000.01"), -1111, fine);
        let msg = format!("Leverage {leverage} is not valid");
        venue.refuses(1, "POST", ORDER, &format!("{order}=60000"), -4028, &msg);
    }
}

/// 9: version 3 shows symbols with an amount or open orders, and orders that wait for their trigger are open; a position that was
/// never held was never updated.
#[test]
fn what_version_3_shows_and_when_it_changed() {
    let mut venue = Venue::usual();
    let updated = |venue: &mut Venue| {
        let risk = venue.call(1, "GET", "/fapi/v2/positionRisk", "symbol=BTCUSDT")[0]["updateTime"].clone();
        let account = venue.call(1, "GET", "/fapi/v2/account", "");
        assert_eq!(account["positions"][0]["updateTime"], risk);
        risk.as_i64().unwrap()
    };
    let shown = |venue: &mut Venue| {
        let risk = venue.call(1, "GET", "/fapi/v3/positionRisk", "");
        let account = venue.call(1, "GET", "/fapi/v3/account", "");
        let symbols = |rows: &Value| -> Vec<String> {
            rows.as_array().unwrap().iter().map(|row| row["symbol"].as_str().unwrap().to_owned()).collect()
        };
        let by_symbol = venue.call(1, "GET", "/fapi/v3/positionRisk", "symbol=BTCUSDT");
        assert_eq!(by_symbol.as_array().unwrap().len(), risk.as_array().unwrap().len());
        assert_eq!(symbols(&risk), symbols(&account["positions"]));
        symbols(&risk)
    };
    venue.call(1, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=10");
    assert_eq!((updated(&mut venue), shown(&mut venue).len()), (0, 0));
    let stop = "symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.01";
    venue.call(1, "POST", "/fapi/v1/algoOrder", &format!("algoType=CONDITIONAL&{stop}&triggerPrice=50000"));
    assert_eq!(shown(&mut venue).len(), 0);
    venue.place(1, &format!("{stop}&stopPrice=50000"));
    assert_eq!((updated(&mut venue), shown(&mut venue)), (0, vec!["BTCUSDT".to_owned()]));
    venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    assert_eq!(shown(&mut venue).len(), 0);
    venue.fill();
    let held = updated(&mut venue);
    assert!(held > 0 && held == venue.call(1, "GET", "/fapi/v1/userTrades", "symbol=BTCUSDT")[0]["time"]);
}

/// 2, row 11: an unknown symbol is refused before words that are none and before what does not go together.
#[test]
fn an_unknown_symbol_is_refused_before_what_does_not_go_together() {
    let mut venue = Venue::usual();
    let invalid = "Invalid symbol.";
    for (path, params) in [
        ("allOrders", "startTime=2&endTime=1"),
        ("allOrders", "startTime=1&endTime=1000000000"),
        ("userTrades", "fromId=1&startTime=1"),
        ("userTrades", "startTime=2&endTime=1"),
        ("orderAmendment", "orderId=1&startTime=2&endTime=1"),
        ("forceOrders", "autoCloseType=X"),
        ("forceOrders", "startTime=2&endTime=1"),
        ("income", "incomeType=X"),
        ("income", "startTime=2&endTime=1"),
        ("positionMargin/history", "type=3"),
        ("positionMargin/history", "startTime=2&endTime=1"),
        ("allAlgoOrders", "startTime=2&endTime=1"),
        ("openAlgoOrders", "algoType=X"),
    ] {
        let path = format!("/fapi/v1/{path}");
        venue.refuses(1, "GET", &path, &format!("symbol=XUSDT&{params}"), -1121, invalid);
        let known = venue.ask(1, "GET", &path, &format!("symbol=BTCUSDT&{params}"));
        assert!(known.0 == 400 && known.1["code"] != -1121, "{path} {params}: {}", known.1);
    }
    venue.refuses(1, "DELETE", "/fapi/v1/batchOrders", "symbol=XUSDT&orderIdList=[]", -1121, invalid);
    for path in [
        "aggTrades?symbol=XUSDT&fromId=1&startTime=1",
        "aggTrades?symbol=XUSDT&startTime=2&endTime=1",
        "klines?symbol=XUSDT&interval=1m&startTime=2&endTime=1",
        "continuousKlines?pair=XUSDT&contractType=X&interval=1m",
        "fundingRate?symbol=XUSDT&startTime=2&endTime=1",
    ] {
        let refused = json!({ "code": -1121, "msg": invalid });
        assert_eq!(venue.public(&format!("/fapi/v1/{path}")), refused, "{path}");
    }
    let period = "Data sent for parameter 'period' is not valid.";
    let refused = json!({ "code": -1130, "msg": period });
    assert_eq!(venue.public("/fapi/v1/openInterestHist?symbol=BTCUSDT&period=7m"), refused);
    let refused = json!({ "code": -1121, "msg": invalid });
    assert_eq!(venue.public("/futures/data/openInterestHist?symbol=XUSDT&period=7m"), refused);
    assert_eq!(venue.public("/fapi/v1/openInterestHist?symbol=BTCUSDT")["code"], -1102);
    // Format comes before the symbol.
    let malformed = "Data sent for parameter 'startTime' is not valid.";
    venue.refuses(1, "GET", "/fapi/v1/userTrades", "symbol=XUSDT&startTime=x", -1130, malformed);
}
