//! The perpetual venue through a socket, with a real engine behind it: orders from placement to fill, positions, refusals, who
//! may call what, and shapes that equal recorded ones.

use crate::exchange::venue::Venue;
use crate::exchange::{ADMIN_KEY, Answer, START_S};
use ringside_gateway::routes::routes;
use ringside_wire::refusal::Dialect;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const BUY: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC";

#[test]
fn an_order_from_placement_to_fill() {
    let mut venue = Venue::usual();
    let placed = venue.place(1, &format!("{BUY}&quantity=0.0109&price=60000.0&newClientOrderId=b-1"));
    let now_ms = START_S * 1000;
    assert_eq!(
        placed,
        json!({
            "orderId": 1, "symbol": "BTCUSDT", "status": "NEW", "clientOrderId": "b-1", "price": "60000", "avgPrice": "0",
            "origQty": "0.01", "executedQty": "0", "cumQty": "0", "cumQuote": "0", "timeInForce": "GTC", "type": "LIMIT",
            "origType": "LIMIT", "reduceOnly": false, "closePosition": false, "side": "BUY", "positionSide": "BOTH",
            "stopPrice": "0", "workingType": "CONTRACT_PRICE", "priceProtect": false, "priceMatch": "NONE",
            "selfTradePreventionMode": "NONE", "goodTillDate": 0, "time": now_ms, "updateTime": now_ms,
        })
    );
    let depth = venue.public("/fapi/v1/depth?symbol=btcusdt&limit=5");
    assert_eq!((&depth["bids"], &depth["asks"]), (&json!([["60000.0", "0.010"]]), &json!([])));
    let taken = venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004");
    assert_eq!(
        [&taken["status"], &taken["avgPrice"], &taken["executedQty"], &taken["cumQuote"], &taken["type"]],
        ["FILLED", "60000", "0.004", "240", "MARKET"]
    );
    let rest = venue.call(1, "GET", "/fapi/v1/order", "symbol=BTCUSDT&origClientOrderId=b-1");
    assert_eq!([&rest["status"], &rest["executedQty"]], ["PARTIALLY_FILLED", "0.004"]);
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openOrders", ""), json!([rest]));

    let fills = venue.call(2, "GET", "/fapi/v1/userTrades", "symbol=BTCUSDT");
    assert_eq!(
        fills,
        json!([{
            "symbol": "BTCUSDT", "id": 1, "orderId": 2, "side": "SELL", "price": "60000", "qty": "0.004",
            "realizedPnl": "0.00000000", "quoteQty": "240", "commission": "0.12000000", "commissionAsset": "USDT",
            "time": now_ms, "positionSide": "BOTH", "buyer": false, "maker": false,
        }])
    );
    let trades = venue.public("/fapi/v1/trades?symbol=BTCUSDT");
    assert_eq!(
        trades,
        json!([{ "id": 1, "price": "60000.0", "qty": "0.004", "quoteQty": "240.0000", "time": now_ms, "isBuyerMaker": true, "isRPITrade": false }])
    );

    let position = venue.call(2, "GET", "/fapi/v3/positionRisk", "");
    let row = &position[0];
    assert_eq!(
        [
            &row["positionAmt"],
            &row["entryPrice"],
            &row["notional"],
            &row["positionInitialMargin"],
            &row["maintMargin"]
        ],
        ["-0.004", "60000", "-240.00000000", "12.00000000", "0.96000000"]
    );
    let account = venue.call(2, "GET", "/fapi/v2/account", "");
    assert_eq!(
        [&account["totalWalletBalance"], &account["availableBalance"]],
        ["9999.88000000", "9987.88000000"]
    );
    let income = venue.call(2, "GET", "/fapi/v1/income", "incomeType=COMMISSION");
    assert_eq!(
        [&income[0]["income"], &income[0]["symbol"], &income[0]["tradeId"]],
        ["-0.12000000", "BTCUSDT", "1"]
    );

    let canceled = venue.call(1, "DELETE", "/fapi/v1/order", "symbol=BTCUSDT&orderId=1");
    assert_eq!(
        [&canceled["status"], &canceled["executedQty"], &canceled["clientOrderId"]],
        ["CANCELED", "0.004", "b-1"]
    );
    venue.refuses(1, "DELETE", "/fapi/v1/order", "symbol=BTCUSDT&orderId=1", -2011, "Unknown order sent.");
    venue.refuses(1, "GET", "/fapi/v1/openOrder", "symbol=BTCUSDT&orderId=1", -2013, "Order does not exist.");
    // Another account's order is none.
    venue.refuses(3, "GET", "/fapi/v1/order", "symbol=BTCUSDT&orderId=1", -2013, "Order does not exist.");
    assert_eq!(venue.call(1, "GET", "/fapi/v1/allOrders", "symbol=BTCUSDT"), json!([canceled]));
    // A position is closed by reduceOnly, clamped to what there is.
    let closed = venue.place(
        1,
        "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=1&price=60100&reduceOnly=true",
    );
    assert_eq!([&closed["origQty"], &closed["reduceOnly"]], [&json!("0.004"), &json!(true)]);
}

#[test]
fn batches_modifications_and_cancels() {
    let mut venue = Venue::usual();
    let batch = r#"[{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","timeInForce":"GTC","quantity":0.01,"price":59000.0,"newClientOrderId":"x"},{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","timeInForce":"GTC","quantity":"0.01","price":"59000.05"},{"symbol":"NONE","side":"BUY","type":"MARKET","quantity":"1"}]"#;
    let answers =
        venue.call(1, "POST", "/fapi/v1/batchOrders", &format!("batchOrders={}", batch.replace('"', "%22")));
    assert_eq!([&answers[0]["status"], &answers[0]["clientOrderId"]], ["NEW", "x"]);
    assert_eq!(
        answers[1],
        json!({ "code": -1111, "msg": "Precision is over the maximum defined for this asset." })
    );
    assert_eq!(answers[2], json!({ "code": -1121, "msg": "Invalid symbol." }));
    let changed = venue.call(
        1,
        "PUT",
        "/fapi/v1/order",
        "symbol=BTCUSDT&origClientOrderId=x&side=BUY&quantity=0.02&price=59100",
    );
    assert_eq!([&changed["price"], &changed["origQty"], &changed["clientOrderId"]], ["59100", "0.02", "x"]);
    let order = answers[0]["orderId"].clone();
    assert_eq!(changed["orderId"], order);
    venue.refuses(
        1,
        "PUT",
        "/fapi/v1/order",
        "symbol=BTCUSDT&origClientOrderId=x&quantity=0.02&price=59100",
        -5027,
        "No need to modify the order.",
    );
    let rows = venue.call(1, "GET", "/fapi/v1/orderAmendment", &format!("symbol=BTCUSDT&orderId={order}"));
    assert_eq!(
        rows[0]["amendment"],
        json!({ "price": { "before": "59000", "after": "59100" }, "origQty": { "before": "0.01", "after": "0.02" }, "count": 1 })
    );
    let gone = venue.call(
        1,
        "DELETE",
        "/fapi/v1/batchOrders",
        &format!("symbol=BTCUSDT&orderidlist=%5B{order},99%5D"),
    );
    assert_eq!([&gone[0]["status"], &gone[1]["code"]], [&json!("CANCELED"), &json!(-2011)]);
    venue.place(1, &format!("{BUY}&quantity=0.01&price=59000"));
    let all = venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    assert_eq!(all, json!({ "code": 200, "msg": "The operation of cancel all open order is done." }));
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openOrders", "symbol=BTCUSDT"), json!([]));
    // Judged and not placed.
    let test = venue.call(
        1,
        "POST",
        "/fapi/v1/order/test",
        &format!("{BUY}&quantity=0.01&price=59000&newClientOrderId=t"),
    );
    assert_eq!(
        [&test["orderId"], &test["status"], &test["clientOrderId"]],
        [&json!(0), &json!("NEW"), &json!("t")]
    );
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openOrders", ""), json!([]));
    // Conditional orders of every type rest untriggered.
    for (kind, rest) in [
        ("STOP", "timeInForce=GTC&quantity=0.01&price=61000&stopPrice=61500"),
        ("STOP_MARKET", "quantity=0.01&stopPrice=61500&timeInForce=GTE_GTC"),
        ("TAKE_PROFIT", "quantity=0.01&price=59000&stopPrice=59500"),
        ("TAKE_PROFIT_MARKET", "closePosition=true&stopPrice=59500&workingType=MARK_PRICE"),
        ("TRAILING_STOP_MARKET", "quantity=0.01&callbackRate=1.5&activationPrice=59000"),
    ] {
        let placed = venue.place(1, &format!("symbol=BTCUSDT&side=BUY&type={kind}&{rest}"));
        assert_eq!(
            [&placed["type"], &placed["origType"], &placed["status"]],
            [kind, kind, "NEW"],
            "{placed}"
        );
        if kind == "TRAILING_STOP_MARKET" {
            assert_eq!([&placed["priceRate"], &placed["activatePrice"]], ["1.5", "59000"]);
        }
    }
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openOrders", "").as_array().unwrap().len(), 5);
    let timer = venue.call(1, "POST", "/fapi/v1/countdownCancelAll", "symbol=BTCUSDT&countdownTime=120000");
    assert_eq!(timer, json!({ "symbol": "BTCUSDT", "countdownTime": "120000" }));
}

#[test]
fn a_countdown_ends_orders_when_it_has_run_out_and_not_at_the_next_second() {
    let mut venue = Venue::with(&[(1, 100_000)], 1_000_000_000, |_| {});
    let into_second = venue.exchange.clock.now_ms().rem_euclid(1_000);
    let wait = |venue: &mut Venue, ms: i64| {
        venue.exchange.clock.turn(ms);
        venue.exchange.turn();
    };
    wait(&mut venue, 1_000 - into_second);
    let open = |venue: &mut Venue| {
        venue.call(1, "GET", "/fapi/v1/openOrders", "symbol=BTCUSDT").as_array().unwrap().len()
    };
    venue.place(1, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=59000");
    venue.call(1, "POST", "/fapi/v1/countdownCancelAll", "symbol=BTCUSDT&countdownTime=1200");
    wait(&mut venue, 600);
    venue.call(1, "POST", "/fapi/v1/countdownCancelAll", "symbol=BTCUSDT&countdownTime=700");
    wait(&mut venue, 690);
    assert_eq!(open(&mut venue), 1, "the second call replaced the first");
    wait(&mut venue, 10);
    assert_eq!(open(&mut venue), 0);
}

#[test]
fn what_placements_are_refused_with() {
    let mut venue = Venue::usual();
    venue.fill();
    let missing =
        |name: &str| format!("Mandatory parameter '{name}' was not sent, was empty/null, or malformed.");
    let extra = |name: &str| format!("Parameter '{name}' sent when not required.");
    let cases: &[(&str, i32, &str)] = &[
        ("", -1102, &missing("symbol")),
        ("symbol=BTCUSDT&side=BUY", -1102, &missing("type")),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&quantity=-1&price=1",
            -1100,
            "Illegal characters found in parameter 'quantity'; legal range is '^[0-9]{1,20}(\\.[0-9]{1,40})?$'.",
        ),
        ("symbol=XUSDT&side=UP&type=LIMIT", -1121, "Invalid symbol."),
        ("symbol=BTCUSDT&side=UP&type=LIMIT", -1117, "Invalid side."),
        ("symbol=BTCUSDT&side=BUY&type=NONE", -1116, "Invalid orderType."),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=DAY&quantity=1&price=1",
            -1115,
            "Invalid timeInForce.",
        ),
        ("symbol=BTCUSDT&side=BUY&type=LIMIT&quantity=1&price=1", -1102, &missing("timeInForce")),
        ("symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1", -1102, &missing("price")),
        ("symbol=BTCUSDT&side=BUY&type=MARKET", -1102, &missing("quantity")),
        ("symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&price=5", -1106, &extra("price")),
        (
            "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&priceMatch=QUEUE",
            -5038,
            "Price match only supports order type: LIMIT, STOP AND TAKE_PROFIT",
        ),
        ("symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&priceMatch=BEST", -5037, "Invalid price match"),
        (
            "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&selfTradePreventionMode=X",
            -5039,
            "Invalid self trade prevention mode",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&workingType=X",
            -4031,
            "Invalid parameter working type: X",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&newOrderRespType=FULL",
            -1136,
            "Invalid newOrderRespType.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&positionSide=LONG",
            -4061,
            "Order's position side does not match user's setting.",
        ),
        ("symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&positionSide=UP", -4060, "Invalid position side."),
        (
            "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&reduceOnly=yes",
            -1130,
            "Data sent for parameter 'reduceOnly' is not valid.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1&newClientOrderId=a%20b",
            -4015,
            "Client order id is not valid.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&stopPrice=61000&closePosition=true&quantity=1",
            -4137,
            "Quantity must be zero with closePosition equals true",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&stopPrice=61000&closePosition=true&reduceOnly=true",
            -1106,
            &extra("reduceOnly"),
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&stopPrice=50000&quantity=1",
            -2021,
            "Order would immediately trigger.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=TRAILING_STOP_MARKET&callbackRate=20&quantity=1",
            -2007,
            "Invalid callBack rate.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0&price=60000",
            -4003,
            "Quantity less than zero.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1&price=0",
            -4001,
            "Price less than 0.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.0001&price=60000",
            -1013,
            "Filter failure: LOT_SIZE. Quantity 0 is outside 0.001 to 1000.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=1001&price=60000",
            -1013,
            "Filter failure: LOT_SIZE. Quantity 1001 is outside 0.001 to 1000.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=4000",
            -1013,
            "Filter failure: MIN_NOTIONAL. Notional 4 is below the minimum 5 (unless you choose reduce only).",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=100&price=60000",
            -1013,
            "Filter failure: MAX_NOTIONAL. Notional 6000000 is above the maximum 5000000.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=63000.1",
            -4016,
            "Price is higher than mark price multiplier cap.",
        ),
        (
            "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.01&price=56999.9",
            -4024,
            "Price is lower than mark price multiplier floor.",
        ),
        (
            "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTX&quantity=0.001&price=59990",
            -2010,
            "Order would immediately match and take.",
        ),
        (
            "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=FOK&quantity=0.1&price=59990",
            -5021,
            "Due to the order could not be filled immediately, the FOK order has been rejected. The order will not be recorded in the order history",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&priceMatch=OPPONENT",
            -5041,
            "No depth matches this BBO order",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTD&quantity=0.01&price=60000",
            -1102,
            &missing("goodTillDate"),
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTD&quantity=0.01&price=60000&goodTillDate=1700000500000",
            -5040,
            "The goodTillDate timestamp must be greater than the current time plus 600 seconds and smaller than 253402300799000 (UTC 9999-12-31 23:59:59)",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=10&price=60000",
            -2019,
            "Margin is insufficient.",
        ),
        (
            "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01&leverage=126",
            -4028,
            "Leverage 126 is not valid",
        ),
    ];
    for (params, code, msg) in cases {
        venue.refuses(1, "POST", "/fapi/v1/order", params, *code, msg);
    }
    venue.refuses(
        3,
        "POST",
        "/fapi/v1/order",
        "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.001&reduceOnly=true",
        -2022,
        "ReduceOnly Order is rejected.",
    );
    let long = format!("{BUY}&quantity=0.01&price=60000&newClientOrderId={}", "a".repeat(37));
    venue.refuses(
        1,
        "POST",
        "/fapi/v1/order",
        &long,
        -4015,
        "Client order id length should not be more than 36 chars",
    );
    venue.place(1, &format!("{BUY}&quantity=0.01&price=59000&newClientOrderId=twice"));
    venue.refuses(
        1,
        "POST",
        "/fapi/v1/order",
        &format!("{BUY}&quantity=0.01&price=59000&newClientOrderId=twice"),
        -4116,
        "ClientOrderId is duplicated.",
    );
}

#[test]
fn leverage_modes_and_configuration() {
    let mut venue = Venue::usual();
    let set = venue.call(1, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=50");
    assert_eq!(set, json!({ "leverage": 50, "maxNotionalValue": "1000000", "symbol": "BTCUSDT" }));
    for sent in ["126", "0", "x", "1.5"] {
        venue.refuses(
            1,
            "POST",
            "/fapi/v1/leverage",
            &format!("symbol=BTCUSDT&leverage={sent}"),
            -4028,
            &format!("Leverage {sent} is not valid"),
        );
    }
    let rows = venue.call(1, "GET", "/fapi/v1/symbolConfig", "symbol=BTCUSDT");
    assert_eq!(
        rows,
        json!([{ "symbol": "BTCUSDT", "marginType": "CROSSED", "isAutoAddMargin": false, "leverage": 50, "maxNotionalValue": "1000000" }])
    );
    let rows = venue.call(1, "GET", "/fapi/v2/positionRisk", "symbol=SOLUSDT");
    assert_eq!(
        [&rows[0]["leverage"], &rows[0]["marginType"], &rows[0]["isAutoAddMargin"]],
        ["20", "cross", "false"]
    );
    assert_eq!(
        venue.call(1, "POST", "/fapi/v1/marginType", "symbol=BTCUSDT&marginType=CROSSED"),
        json!({ "code": 200, "msg": "success" })
    );
    venue.refuses(
        1,
        "POST",
        "/fapi/v1/marginType",
        "marginType=ISOLATED",
        -4046,
        "Isolated margin type is not available here.",
    );
    venue.refuses(
        1,
        "POST",
        "/fapi/v1/positionSide/dual",
        "dualSidePosition=true",
        -4059,
        "Hedge mode is not available here.",
    );
    venue.refuses(
        1,
        "POST",
        "/fapi/v1/multiAssetsMargin",
        "multiAssetsMargin=true",
        -4084,
        "Method is not allowed currently. Upcoming soon.",
    );
    venue.refuses(
        1,
        "POST",
        "/fapi/v1/positionMargin",
        "symbol=BTCUSDT&amount=1&type=1",
        -4049,
        "Add margin only support for isolated position.",
    );
    venue.refuses(
        1,
        "POST",
        "/fapi/v1/positionMargin",
        "symbol=BTCUSDT&amount=1&type=3",
        -1130,
        "Data sent for parameter 'type' is not valid.",
    );
    let rates = venue.call(1, "GET", "/fapi/v1/commissionRate", "symbol=BTCUSDT");
    assert_eq!(
        rates,
        json!({ "symbol": "BTCUSDT", "makerCommissionRate": "0.0002", "takerCommissionRate": "0.0005" })
    );
    venue.call(1, "POST", "/fapi/v1/feeBurn", "feeBurn=true");
    assert_eq!(venue.call(1, "GET", "/fapi/v1/feeBurn", ""), json!({ "feeBurn": true }));
    let brackets = venue.call(1, "GET", "/fapi/v1/leverageBracket", "symbol=ETHUSDT");
    assert_eq!(
        brackets["brackets"][1],
        json!({ "bracket": 2, "initialLeverage": 50, "notionalCap": 500_000, "notionalFloor": 50_000, "maintMarginRatio": 0.01, "cum": 250 })
    );
    assert_eq!(brackets["brackets"].as_array().unwrap().len(), 6);
    let balance = venue.call(3, "GET", "/fapi/v3/balance", "");
    assert_eq!(
        [&balance[0]["balance"], &balance[0]["availableBalance"], &balance[0]["asset"]],
        ["5.00000000", "5.00000000", "USDT"]
    );
}

/// `perpetual.md` 6, 8 and 9: what each route asks for. Not read from the rows.
#[rustfmt::skip]
const OPEN: &[&str] = &[
    "GET /fapi/v1/ping", "GET /fapi/v1/time", "GET /fapi/v1/exchangeInfo", "GET /fapi/v1/depth", "GET /fapi/v1/trades",
    "GET /fapi/v1/historicalTrades", "GET /fapi/v1/aggTrades", "GET /fapi/v1/klines", "GET /fapi/v1/continuousKlines",
    "GET /fapi/v1/indexPriceKlines", "GET /fapi/v1/markPriceKlines", "GET /fapi/v1/premiumIndexKlines",
    "GET /fapi/v1/premiumIndex", "GET /fapi/v1/fundingRate", "GET /fapi/v1/fundingInfo", "GET /fapi/v1/ticker/24hr",
    "GET /fapi/v1/ticker/price", "GET /fapi/v2/ticker/price", "GET /fapi/v1/ticker/bookTicker", "GET /fapi/v1/openInterest",
    "GET /fapi/v1/constituents", "GET /fapi/v1/assetIndex", "GET /fapi/v1/symbolAdlRisk", "GET /fapi/v1/insuranceBalance",
    "GET /fapi/v1/indexInfo", "GET /fapi/v1/tradingSchedule", "GET /fapi/v1/rpiDepth", "GET /futures/data/{name}",
    "GET /api/v3/ping", "GET /api/v3/time", "GET /sapi/v1/system/status", "GET /sapi/v1/capital/config/getall",
    "GET /sapi/v1/margin/allPairs", "GET /fapi/v1/openInterestHist", "GET /futures/data/openInterestHist",
];
#[rustfmt::skip]
const READS: &[&str] = &[
    "GET /fapi/v1/order", "GET /fapi/v1/openOrder", "GET /fapi/v1/openOrders", "GET /fapi/v1/allOrders",
    "GET /fapi/v1/userTrades", "GET /fapi/v1/orderAmendment", "GET /fapi/v1/forceOrders", "GET /fapi/v1/rateLimit/order",
    "GET /fapi/v1/balance", "GET /fapi/v2/balance", "GET /fapi/v3/balance", "GET /fapi/v1/account", "GET /fapi/v2/account",
    "GET /fapi/v3/account", "GET /fapi/v1/positionRisk", "GET /fapi/v2/positionRisk", "GET /fapi/v3/positionRisk",
    "GET /fapi/v1/accountConfig", "GET /fapi/v1/symbolConfig", "GET /fapi/v1/leverageBracket", "GET /fapi/v1/commissionRate",
    "GET /fapi/v1/income", "GET /fapi/v1/apiTradingStatus", "GET /fapi/v1/marginType", "GET /fapi/v1/positionSide/dual",
    "GET /fapi/v1/multiAssetsMargin", "GET /fapi/v1/feeBurn", "GET /fapi/v1/adlQuantile",
    "GET /fapi/v1/positionMargin/history", "GET /fapi/v1/algoOrder", "GET /fapi/v1/openAlgoOrders",
    "GET /fapi/v1/allAlgoOrders", "GET /api/v3/preventedMatches", "GET /api/v3/myPreventedMatches",
    "POST /fapi/v1/listenKey", "PUT /fapi/v1/listenKey", "DELETE /fapi/v1/listenKey",
];
#[rustfmt::skip]
const TRADES: &[&str] = &[
    "POST /fapi/v1/order", "POST /fapi/v1/order/test", "PUT /fapi/v1/order", "DELETE /fapi/v1/order",
    "POST /fapi/v1/batchOrders", "PUT /fapi/v1/batchOrders", "DELETE /fapi/v1/batchOrders", "DELETE /fapi/v1/allOpenOrders",
    "POST /fapi/v1/countdownCancelAll", "POST /fapi/v1/leverage", "POST /fapi/v1/marginType",
    "POST /fapi/v1/positionSide/dual", "POST /fapi/v1/multiAssetsMargin", "POST /fapi/v1/positionMargin", "POST /fapi/v1/feeBurn",
    "POST /fapi/v1/algoOrder", "DELETE /fapi/v1/algoOrder", "DELETE /fapi/v1/algoOpenOrders",
];

#[test]
fn every_route_asks_for_what_the_specification_says() {
    let ours: BTreeSet<String> = routes()
        .filter(|route| route.dialect == Dialect::Fapi)
        .map(|route| format!("{} {}", route.method.name(), route.path))
        .collect();
    let lists: BTreeSet<String> = [OPEN, READS, TRADES].concat().into_iter().map(str::to_owned).collect();
    assert_eq!(ours, lists);
    let mut venue = Venue::usual();
    let (reader, trader) = (venue.trader(1, (true, false)), venue.trader(1, (false, true)));
    let bearer = venue.exchange.account(1);
    for row in &lists {
        let (method, path) = row.split_once(' ').unwrap();
        let path = path.replace("{name}", "basis");
        let anonymous = venue.exchange.request(method, &path, &[], "");
        let logged_in = venue.exchange.request(method, &path, &bearer, "");
        let is_denied = |answer: &Answer| answer.status == 401 && answer.body.contains("-2015");
        let by_reader = is_denied(&venue.send(&reader, method, &path, ""));
        let by_trader = is_denied(&venue.send(&trader, method, &path, ""));
        let is_open = OPEN.contains(&row.as_str());
        for answer in [&anonymous, &logged_in] {
            assert_eq!(answer.body.contains("-2014"), !is_open, "{row}: {}", answer.body);
        }
        let expected = if is_open {
            (false, false)
        } else {
            (TRADES.contains(&row.as_str()), READS.contains(&row.as_str()))
        };
        assert_eq!((by_reader, by_trader), expected, "{row}: refused to who may read, to who may trade");
    }
}

/// Method and path of every row that a cell of the route index means: names, joined by commas, share the prefix of the first;
/// versions before a colon are prefixes; methods after a semicolon belong to the names after it.
fn indexed(paths: &str, methods: &str) -> Vec<String> {
    let mut rows = Vec::new();
    let groups: Vec<&str> = paths.split(';').collect();
    let of_group: Vec<&str> = methods.split(';').collect();
    let mut base = String::new();
    for (number, group) in groups.iter().enumerate() {
        let methods = of_group.get(number).or(of_group.last()).unwrap();
        let (versions, names) = match group.split_once(':') {
            Some((versions, names)) => (versions.split(',').map(str::trim).collect(), names),
            None => (vec![], *group),
        };
        for name in names.split(',').map(str::trim) {
            let paths: Vec<String> = if !versions.is_empty() {
                versions
                    .iter()
                    .map(|version| format!("/fapi/{}/{name}", version.trim_start_matches("/fapi/")))
                    .collect()
            } else if name.starts_with('/') {
                let segments: Vec<&str> = name.splitn(4, '/').collect();
                base = format!("/{}/{}", segments[1], segments[2]);
                vec![name.to_owned()]
            } else {
                vec![format!("{base}/{name}")]
            };
            for path in paths {
                rows.extend(methods.split_whitespace().map(|method| format!("{method} {path}")));
            }
        }
    }
    rows
}

#[test]
fn every_row_of_the_route_index_is_there() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/spec/perpetual.md");
    let Ok(text) = std::fs::read_to_string(path) else {
        return eprintln!("skipped: {path} is not there");
    };
    let (_, index) = text.split_once("## 13 Route index").unwrap();
    let (index, _) = index.split_once("## 14").unwrap();
    let mut wanted = BTreeSet::new();
    for line in index.lines().filter(|line| line.starts_with("| /fapi")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        cells.chunks(2).for_each(|pair| wanted.extend(indexed(pair[0], pair[1])));
    }
    assert!(wanted.len() > 70, "{wanted:?}");
    let ours: BTreeSet<String> =
        routes().map(|route| format!("{} {}", route.method.name(), route.path)).collect();
    let missing: Vec<&String> = wanted.difference(&ours).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Keys and JSON types of a value; of a list, of its first row.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), shape(value))).collect(),
        Value::Array(rows) => match rows.first() {
            // Rows of fixed places, as candles and levels.
            Some(first) if !first.is_object() && !first.is_array() => rows.iter().map(shape).collect(),
            Some(first) => json!([shape(first)]),
            None => json!([]),
        },
        Value::String(_) => json!("text"),
        Value::Number(_) => json!("number"),
        Value::Bool(_) => json!("boolean"),
        Value::Null => json!("null"),
    }
}

#[test]
fn shapes_are_those_of_recorded_answers() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/data/binance-rest-golden/fapi_live_2026-09-15.json"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        return eprintln!("skipped: {path} is not there");
    };
    let recorded: Value = serde_json::from_str(&text).unwrap();
    let mut venue = Venue::usual();
    venue.fill();
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.01&price=60100");
    let mut compared = 0;
    for row in recorded["responses"].as_array().unwrap() {
        let request = row[0].as_str().unwrap().split_once(' ').unwrap().1;
        // Ours needs no key there; nothing has been settled yet.
        if ["historicalTrades", "fundingRate"].iter().any(|part| request.contains(part)) {
            continue;
        }
        let expected = row[2].clone();
        let ours = venue.public(request);
        if row[1] == 200 {
            assert_eq!(shape(&ours), shape(&expected), "{request}");
        } else {
            assert_eq!(ours, expected, "{request}");
        }
        compared += 1;
    }
    assert!(compared > 15, "{compared} answers were compared");
    let info = venue.public("/fapi/v1/exchangeInfo");
    assert_eq!(info["symbols"].as_array().unwrap().len(), 3);
    let symbol = &info["symbols"][2];
    assert_eq!(
        [&symbol["symbol"], &symbol["status"], &symbol["maxNotional"], &symbol["liquidationFee"]],
        ["SOLUSDT", "TRADING", "500000", "0.002500"]
    );
    assert_eq!(
        symbol["filters"][0],
        json!({ "filterType": "PRICE_FILTER", "minPrice": "0.01", "maxPrice": "100000", "tickSize": "0.01" })
    );
    assert_eq!(
        symbol["filters"][6],
        json!({ "filterType": "PERCENT_PRICE", "multiplierUp": "1.1000", "multiplierDown": "0.9000", "multiplierDecimal": "4" })
    );
}

/// Both sides of every ledger, from one state; fills, fees and transfers move them together.
#[test]
fn the_ledgers_are_proved() {
    let mut venue = Venue::usual();
    let prove = |venue: &mut Venue| -> Value {
        let admin = [format!("X-API-Key: {ADMIN_KEY}")];
        let answer = venue.exchange.request("GET", "/admin/ledger/proof", &admin, "");
        assert_eq!(answer.status, 200, "{}", answer.body);
        serde_json::from_str(&answer.body).unwrap()
    };
    let before = prove(&mut venue);
    venue.fill();
    let after = prove(&mut venue);
    for proof in [&before, &after] {
        let rows = proof["ledgers"].as_array().unwrap();
        assert!(rows.iter().all(|row| row["equal"] == true && row["left"] == row["right"]), "{proof}");
        assert!(rows.iter().any(|row| row["ledger"] == "spot"), "{proof}");
        assert_eq!(proof["state_hash"].as_str().unwrap().len(), 32);
    }
    assert!(after["sequence"].as_u64() > before["sequence"].as_u64());
    assert_ne!(after["state_hash"], before["state_hash"]);
    let perpetual = |proof: &Value| {
        let rows = proof["ledgers"].as_array().unwrap();
        rows.iter().find(|row| row["ledger"] == "perpetual").unwrap().clone()
    };
    let (before, after) = (perpetual(&before), perpetual(&after));
    assert_eq!((&before["asset"], &before["left"]), (&json!("USDT"), &json!("20005")));
    assert_eq!(before["left"], after["left"], "trading moves money, and makes none");
    // 0.004 at 60,000: 0.02 % of the maker, 0.05 % of the taker.
    assert_eq!(after["terms"]["fee_pool"], "0.168", "{after}");
    assert_eq!(after["terms"]["wallets"], "20004.832");
    let refused = venue.exchange.request("GET", "/admin/ledger/proof", &[], "");
    assert_eq!(refused.status, 401, "{}", refused.body);
}
