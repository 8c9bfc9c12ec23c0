//! The conditional-order service, places in the auto-deleveraging order, margin moved and meetings prevented, through a socket
//! with a real engine behind it.

use crate::exchange::venue::Venue;
use crate::exchange::{self, ADMIN_KEY, START_S, wallet_text};
use serde_json::{Value, json};

const BUY: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC";
const ALGO: &str = "/fapi/v1/algoOrder";

fn place(venue: &mut Venue, number: u8, params: &str) -> Value {
    venue.call(number, "POST", ALGO, &format!("algoType=CONDITIONAL&symbol=BTCUSDT&{params}"))
}

#[test]
fn a_conditional_order_from_placement_to_fill() {
    let mut venue = Venue::usual();
    venue.fill();
    let now_ms = START_S * 1000;
    let placed = place(
        &mut venue,
        1,
        "side=SELL&type=STOP_MARKET&quantity=0.003&triggerPrice=59000&clientAlgoId=s-1&reduceOnly=true",
    );
    let id = placed["algoId"].as_u64().unwrap();
    assert_eq!(
        placed,
        json!({
            "algoId": id, "clientAlgoId": "s-1", "algoType": "CONDITIONAL", "orderType": "STOP_MARKET", "symbol": "BTCUSDT",
            "side": "SELL", "positionSide": "BOTH", "timeInForce": "GTC", "quantity": "0.003", "algoStatus": "NEW",
            "actualOrderId": "", "actualPrice": "0", "triggerPrice": "59000", "price": "0", "icebergQuantity": null,
            "tpTriggerPrice": "0", "tpPrice": "0", "slTriggerPrice": "0", "slPrice": "0", "tpOrderType": "",
            "selfTradePreventionMode": "NONE", "workingType": "CONTRACT_PRICE", "priceMatch": "NONE", "closePosition": false,
            "priceProtect": false, "reduceOnly": true, "activatePrice": "", "callbackRate": "", "createTime": now_ms,
            "updateTime": now_ms, "triggerTime": 0, "goodTillDate": 0,
        })
    );
    assert_eq!(venue.call(1, "GET", ALGO, &format!("algoId={id}")), placed);
    assert_eq!(venue.call(1, "GET", ALGO, "clientAlgoId=s-1"), placed);
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openAlgoOrders", ""), json!([placed]));
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openAlgoOrders", "symbol=ETHUSDT"), json!([]));
    // It is seen by these routes alone.
    let open = venue.call(1, "GET", "/fapi/v1/openOrders", "symbol=BTCUSDT");
    assert!(open.as_array().unwrap().iter().all(|order| order["orderId"] != id), "{open}");
    venue.refuses(
        1,
        "GET",
        "/fapi/v1/order",
        &format!("symbol=BTCUSDT&orderId={id}"),
        -2013,
        "Order does not exist.",
    );
    venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openAlgoOrders", ""), json!([placed]));

    // A trade at 58900 fires it: it goes on as an order of its own and meets the bid at 58800.
    venue.place(3, "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=58900");
    venue.place(2, &format!("{BUY}&quantity=0.010&price=58800"));
    venue.exchange.clock.turn(7);
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=IOC&quantity=0.001&price=58900");
    let fired = venue.call(1, "GET", ALGO, &format!("algoId={id}"));
    assert_eq!(
        [&fired["algoStatus"], &fired["actualPrice"], &fired["triggerTime"], &fired["orderType"]],
        [&json!("FINISHED"), &json!("58800"), &json!(now_ms + 7), &json!("STOP_MARKET")]
    );
    let actual = fired["actualOrderId"].as_str().unwrap().to_owned();
    assert_ne!(actual, id.to_string());
    let order = venue.call(1, "GET", "/fapi/v1/order", &format!("symbol=BTCUSDT&orderId={actual}"));
    assert_eq!(
        [&order["status"], &order["clientOrderId"], &order["type"], &order["executedQty"]],
        ["FILLED", "s-1", "MARKET", "0.003"]
    );
    assert_eq!(venue.call(1, "GET", "/fapi/v1/allAlgoOrders", "symbol=BTCUSDT"), json!([fired]));
    let all = venue.call(1, "GET", "/fapi/v1/allOrders", "symbol=BTCUSDT");
    assert!(all.as_array().unwrap().iter().all(|order| order["orderId"] != id), "{all}");

    // Its name is free again, and stands for the newest of that name, also when that has ended.
    let again =
        place(&mut venue, 1, "side=BUY&type=STOP_MARKET&quantity=0.003&triggerPrice=61000&clientAlgoId=s-1");
    assert_eq!(venue.call(1, "GET", ALGO, "clientAlgoId=s-1")["algoId"], again["algoId"]);
    venue.call(1, "DELETE", ALGO, "clientAlgoId=s-1");
    let newest = venue.call(1, "GET", ALGO, "clientAlgoId=s-1");
    assert_eq!((&newest["algoId"], &newest["algoStatus"]), (&again["algoId"], &json!("CANCELED")));
    venue.refuses(1, "DELETE", ALGO, &format!("algoId={id}"), -2011, "Unknown order sent.");
}

#[test]
fn conditional_orders_are_canceled_refused_and_paged() {
    let mut venue = Venue::usual();
    venue.fill();
    let mut ids = Vec::new();
    for (number, rest) in [
        "type=STOP&quantity=0.01&price=62000&triggerPrice=61500",
        "type=TAKE_PROFIT_MARKET&closePosition=true&triggerPrice=59500",
        "type=TRAILING_STOP_MARKET&quantity=0.01&callbackRate=1.5&activatePrice=59000",
    ]
    .iter()
    .enumerate()
    {
        let placed = place(&mut venue, 1, &format!("side=BUY&clientAlgoId=c-{number}&{rest}"));
        assert_eq!(placed["algoStatus"], "NEW", "{placed}");
        ids.push(placed["algoId"].as_u64().unwrap());
    }
    let trailing = venue.call(1, "GET", ALGO, &format!("algoId={}", ids[2]));
    assert_eq!(
        [&trailing["activatePrice"], &trailing["callbackRate"], &trailing["triggerPrice"]],
        ["59000", "1.5", "0"]
    );
    let gone = venue.call(1, "DELETE", ALGO, "clientAlgoId=c-0");
    assert_eq!(gone, json!({ "algoId": ids[0], "clientAlgoId": "c-0", "code": "200", "msg": "success" }));
    let of = |venue: &mut Venue, params: &str| -> Vec<u64> {
        let rows = venue.call(1, "GET", "/fapi/v1/allAlgoOrders", &format!("symbol=BTCUSDT&{params}"));
        rows.as_array().unwrap().iter().map(|row| row["algoId"].as_u64().unwrap()).collect()
    };
    assert_eq!(of(&mut venue, "limit=2"), ids[1..]);
    assert_eq!(of(&mut venue, "limit=2&page=2"), ids[..1]);
    assert_eq!(of(&mut venue, "limit=2&page=3"), [0; 0]);
    assert_eq!(of(&mut venue, &format!("limit=1&algoId={}", ids[1])), ids[1..2]);
    assert_eq!(of(&mut venue, &format!("limit=1&page=2&algoId={}", ids[1])), ids[2..]);
    let all = venue.call(1, "DELETE", "/fapi/v1/algoOpenOrders", "symbol=BTCUSDT");
    assert_eq!(all, json!({ "code": 200, "msg": "The operation of cancel all open order is done." }));
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openAlgoOrders", ""), json!([]));
    assert_eq!(venue.call(1, "GET", ALGO, "clientAlgoId=c-1")["algoStatus"], "CANCELED");
    let mandatory =
        |name: &str| format!("Mandatory parameter '{name}' was not sent, was empty/null, or malformed.");
    let invalid = |name: &str| format!("Data sent for parameter '{name}' is not valid.");
    let neither = "Param 'clientAlgoId' or 'algoId' must be sent, but both were empty/null!";
    for (method, path, params, code, msg) in [
        ("POST", ALGO, "symbol=BTCUSDT&side=BUY&type=STOP_MARKET", -1102, mandatory("algoType")),
        ("POST", ALGO, "algoType=VP&symbol=BTCUSDT&side=BUY&type=STOP_MARKET", -1130, invalid("algoType")),
        (
            "POST",
            ALGO,
            "algoType=CONDITIONAL&symbol=BTCUSDT&side=BUY&type=STOP_MARKET&quantity=1",
            -1102,
            mandatory("triggerPrice"),
        ),
        (
            "POST",
            ALGO,
            "algoType=CONDITIONAL&symbol=BTCUSDT&side=BUY&type=MARKET&quantity=1",
            -1116,
            "Invalid orderType.".to_owned(),
        ),
        ("GET", ALGO, "", -1102, neither.to_owned()),
        ("DELETE", ALGO, "", -1102, neither.to_owned()),
        ("GET", ALGO, "algoId=999", -2013, "Order does not exist.".to_owned()),
        ("GET", "/fapi/v1/allAlgoOrders", "", -1102, mandatory("symbol")),
        ("GET", "/fapi/v1/allAlgoOrders", "symbol=BTCUSDT&page=0", -1130, invalid("page")),
        ("DELETE", "/fapi/v1/algoOpenOrders", "symbol=NONE", -1121, "Invalid symbol.".to_owned()),
    ] {
        venue.refuses(1, method, path, params, code, &msg);
    }
}

#[test]
fn positions_have_places_in_the_order_of_deleveraging() {
    let mut venue = Venue::usual();
    venue.place(1, &format!("{BUY}&quantity=0.010&price=60000"));
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.010");
    // Alone on its side, each is the first to go.
    assert_eq!(
        venue.call(1, "GET", "/fapi/v1/adlQuantile", ""),
        json!([{ "symbol": "BTCUSDT", "adlQuantile": { "LONG": 4, "SHORT": 0, "BOTH": 4 } }])
    );
    assert_eq!(
        venue.call(2, "GET", "/fapi/v1/adlQuantile", "symbol=BTCUSDT")[0]["adlQuantile"],
        json!({ "LONG": 0, "SHORT": 4, "BOTH": 4 })
    );
    assert_eq!(venue.call(1, "GET", "/fapi/v1/adlQuantile", "symbol=ETHUSDT"), json!([]));
    assert_eq!(venue.call(1, "GET", "/fapi/v3/positionRisk", "")[0]["adl"], 4);
    // A second short, of the account with little equity, goes before the first once the ranking is made anew.
    venue.place(1, &format!("{BUY}&quantity=0.001&price=60001"));
    venue.place(3, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.001&leverage=125");
    assert_eq!(venue.call(3, "GET", "/fapi/v3/positionRisk", "")[0]["adl"], 0, "not ranked yet");
    venue.exchange.clock.turn(30_000);
    assert_eq!(venue.call(3, "GET", "/fapi/v3/positionRisk", "")[0]["adl"], 4);
    assert_eq!(venue.call(2, "GET", "/fapi/v3/positionRisk", "")[0]["adl"], 2);
    venue.refuses(1, "GET", "/fapi/v1/adlQuantile", "symbol=NONE", -1121, "Invalid symbol.");
}

/// C-37: methods that clients have.
#[test]
fn the_fund_and_what_it_could_take_over_are_shown() {
    let mut venue = Venue::new(&[(1, 10_000), (2, 10_000), (3, 5), (4, 10_000)]);
    let now_ms = START_S * 1_000;
    let risk = |venue: &mut Venue| {
        venue.exchange.clock.turn(30_000);
        let found = venue.public("/fapi/v1/symbolAdlRisk?symbol=btcusdt");
        let now_ms = venue.exchange.clock.now_ms();
        assert_eq!((&found["symbol"], &found["updateTime"]), (&json!("BTCUSDT"), &json!(now_ms)));
        found["adlRisk"].as_str().unwrap().to_owned()
    };
    let fund = |balance: &str, now_ms: i64| json!({ "symbols": ["BTCUSDT", "ETHUSDT", "SOLUSDT"], "assets": [{ "asset": "USDT", "marginBalance": balance, "updateTime": now_ms }] });
    assert_eq!(venue.public("/fapi/v1/insuranceBalance"), json!([fund("0.00000000", now_ms)]));
    assert_eq!(risk(&mut venue), "low", "nobody can be liquidated");
    // Longs of 600 and of 60 against a short of 660 at 60000. The fund may hold ten times what it has.
    for (number, quantity) in [(1, "0.010"), (3, "0.001")] {
        venue.place(number, &format!("{BUY}&quantity={quantity}&price=60000&leverage=100"));
    }
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.011");
    assert_eq!(risk(&mut venue), "high", "the fund has nothing");
    let credit = |venue: &mut Venue, amount: &str| {
        let fund = format!("0x{:040x}", 0);
        let body = json!({ "user_address": fund, "amount": amount });
        venue.operate("POST", "/admin/perpetual/credit", &body.to_string());
    };
    credit(&mut venue, "60");
    let found = venue.public("/fapi/v1/insuranceBalance?symbol=ETHUSDT");
    assert_eq!(found, fund("60.00000000", venue.exchange.clock.now_ms()));
    assert_eq!(risk(&mut venue), "high", "the short is larger than 600");
    assert_eq!(venue.public("/fapi/v1/symbolAdlRisk")[1]["adlRisk"], "low", "nobody has ether");
    credit(&mut venue, "6");
    assert_eq!(risk(&mut venue), "low", "ten times 66 is all of a side");
    // A second pair: no position is larger than 660, a side is.
    venue.place(1, &format!("{BUY}&quantity=0.001&price=60001&leverage=100"));
    venue.place(4, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.001");
    assert_eq!(risk(&mut venue), "medium");
    for path in ["symbolAdlRisk", "insuranceBalance", "indexInfo"] {
        let refused = venue.public(&format!("/fapi/v1/{path}?symbol=NONE"));
        assert_eq!(refused, json!({ "code": -1121, "msg": "Invalid symbol." }), "{path}");
    }
    assert_eq!(venue.public("/fapi/v1/indexInfo"), json!([]));
    assert_eq!(venue.public("/fapi/v1/indexInfo?symbol=BTCUSDT")["code"], -1121, "no composite index");
    let depth = venue.public("/fapi/v1/depth?symbol=BTCUSDT&limit=1000");
    assert_eq!(venue.public("/fapi/v1/rpiDepth?symbol=BTCUSDT"), depth, "nobody improves prices for retail");
    let schedule = venue.public("/fapi/v1/tradingSchedule");
    assert_eq!(schedule["marketSchedules"]["EQUITY"], json!({ "sessions": [] }));
}

/// C-16: what a client that missed the stream could not see.
#[test]
fn an_order_tells_when_it_fired_and_why_it_expired() {
    let mut venue = Venue::usual();
    let stop = "symbol=BTCUSDT&side=BUY&type=STOP&timeInForce=GTC&quantity=0.010&stopPrice=60100&price=60050";
    let stop = venue.place(1, stop);
    assert_eq!(stop.get("triggerTime"), None, "it waits: {stop}");
    venue.exchange.clock.turn(5_000);
    let fired_ms = START_S * 1_000 + 5_000;
    venue.place(1, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.010&price=60100");
    venue.place(2, &format!("{BUY}&quantity=0.010&price=60100"));
    venue.exchange.clock.turn(5_000);
    // Part of it trades later: that it changed then is no longer when it fired.
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=IOC&quantity=0.004&price=60050");
    let asked = format!("symbol=BTCUSDT&orderId={}", stop["orderId"]);
    let fired = venue.call(1, "GET", "/fapi/v1/order", &asked);
    assert_eq!((&fired["type"], &fired["status"]), (&json!("LIMIT"), &json!("PARTIALLY_FILLED")));
    assert_eq!((&fired["triggerTime"], &fired["updateTime"]), (&json!(fired_ms), &json!(fired_ms + 5_000)));
    let canceled = venue.call(1, "DELETE", "/fapi/v1/order", &asked);
    assert_eq!((&canceled["triggerTime"], canceled.get("er")), (&json!(fired_ms), None));
    let ended = venue.call(1, "GET", "/fapi/v1/order", &asked);
    assert_eq!(ended["triggerTime"], json!(fired_ms));
    // Without anyone to trade with, what is left of these expires at once.
    for (kind, reason) in
        [("LIMIT&timeInForce=IOC&quantity=0.010&price=59000", "2"), ("MARKET&quantity=0.010", "9")]
    {
        let expired = venue.place(2, &format!("symbol=BTCUSDT&side=BUY&type={kind}"));
        assert_eq!((&expired["status"], &expired["er"]), (&json!("EXPIRED"), &json!(reason)));
        let asked = format!("symbol=BTCUSDT&orderId={}", expired["orderId"]);
        assert_eq!(venue.call(2, "GET", "/fapi/v1/order", &asked)["er"], json!(reason));
    }
}

#[test]
fn meetings_that_were_prevented_are_told_to_their_account() {
    let mut venue = Venue::usual();
    venue.place(1, &format!("{BUY}&quantity=0.010&price=60000"));
    let taken = venue.place(
        1,
        "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.004&price=60000&selfTradePreventionMode=EXPIRE_TAKER",
    );
    assert_eq!((&taken["status"], &taken["er"]), (&json!("EXPIRED_IN_MATCH"), &json!("1")));
    let route = "/api/v3/preventedMatches";
    let rows = venue.call(1, "GET", route, "symbol=BTCUSDT&orderId=2");
    assert_eq!(
        rows,
        json!([{
            "symbol": "BTCUSDT", "preventedMatchId": 1, "takerOrderId": 2, "makerSymbol": "BTCUSDT", "makerOrderId": 1,
            "tradeGroupId": -1, "selfTradePreventionMode": "EXPIRE_TAKER", "price": "60000",
            "takerPreventedQuantity": "0.004", "transactTime": START_S * 1000,
        }])
    );
    for params in ["preventedMatchId=1", "orderId=1", "orderId=1&fromPreventedMatchId=1"] {
        assert_eq!(venue.call(1, "GET", route, &format!("symbol=BTCUSDT&{params}")), rows, "{params}");
    }
    assert_eq!(venue.call(1, "GET", "/api/v3/myPreventedMatches", "symbol=BTCUSDT&orderId=1"), rows);
    for params in ["preventedMatchId=2", "orderId=3", "orderId=1&fromPreventedMatchId=2"] {
        assert_eq!(venue.call(1, "GET", route, &format!("symbol=BTCUSDT&{params}")), json!([]), "{params}");
    }
    assert_eq!(venue.call(2, "GET", route, "symbol=BTCUSDT&orderId=1"), json!([]));
    let neither = "Combination of optional parameters invalid.";
    venue.refuses(1, "GET", route, "symbol=BTCUSDT", -1128, neither);
}

#[test]
fn an_operator_sets_the_terms_of_an_account() {
    let mut venue = Venue::usual();
    let path = format!("/admin/accounts/{}", wallet_text(1));
    let order = format!("{BUY}&quantity=0.010&price=60000");
    venue.operate("PATCH", &path, r#"{"trading_enabled":false}"#);
    venue.refuses(1, "POST", "/fapi/v1/order", &order, -4088, "User can not place order currently");
    assert_eq!(venue.call(1, "GET", "/fapi/v1/accountConfig", "")["canTrade"], false);
    let until_ms = (START_S + 60) * 1000;
    let promotion = format!(r#"{{"trading_enabled":true,"promo_bps":1000,"promo_expires_at":{until_ms}}}"#);
    venue.operate("PATCH", &path, &promotion);
    let rates = venue.call(1, "GET", "/fapi/v1/commissionRate", "symbol=BTCUSDT");
    assert_eq!([&rates["makerCommissionRate"], &rates["takerCommissionRate"]], ["0.00018", "0.00045"]);
    venue.exchange.clock.turn(60_000);
    let rates = venue.call(1, "GET", "/fapi/v1/commissionRate", "symbol=BTCUSDT");
    assert_eq!(rates["takerCommissionRate"], "0.0005");
    // Accounts of one group are one party where self-trade prevention asks.
    for number in 1..=2 {
        let path = format!("/admin/accounts/{}", wallet_text(number));
        venue.operate("PATCH", &path, r#"{"trade_group_id":7}"#);
    }
    assert_eq!(venue.call(2, "GET", "/fapi/v1/accountConfig", "")["tradeGroupId"], 7);
    venue.place(1, &order);
    let taken = venue
        .place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.010&selfTradePreventionMode=EXPIRE_TAKER");
    assert_eq!(taken["status"], "EXPIRED_IN_MATCH");
    let rows = venue.call(1, "GET", "/api/v3/preventedMatches", "symbol=BTCUSDT&preventedMatchId=1");
    assert_eq!(rows[0]["tradeGroupId"], 7);
    for (path, body, status) in [
        ("/admin/accounts/0x12", r#"{"trading_enabled":true}"#, 400),
        (path.as_str(), r#"{"promo_bps":10}"#, 400),
        (path.as_str(), r#"{"trade_group_id":-2}"#, 400),
        (&format!("/admin/accounts/{}", wallet_text(200)), r#"{"trading_enabled":true}"#, 404),
    ] {
        let headers = [format!("X-API-Key: {ADMIN_KEY}"), "Content-Type: application/json".to_owned()];
        assert_eq!(venue.exchange.request("PATCH", path, &headers, body).status, status, "{path} {body}");
    }
}

#[test]
fn an_order_whose_sender_has_nothing_more_to_say_is_answered() {
    let mut venue = Venue::usual();
    for number in 0..12 {
        let (path, params) = ("/fapi/v1/order", format!("{BUY}&quantity=0.010&price={}", 50_000 + number));
        let (target, headers) = venue.target(1, path, &params);
        // The answer waits for the journal when the client's half ends, or the other way round.
        venue.exchange.is_gate_open = number % 2 == 0;
        let mut client = venue.exchange.connect();
        exchange::send(&mut client, "POST", &target, &headers, "");
        client.shutdown(std::net::Shutdown::Write).expect("half of it");
        venue.exchange.wait_for_queue(1);
        venue.exchange.turn();
        std::thread::sleep(std::time::Duration::from_millis(20));
        venue.exchange.is_gate_open = true;
        let answer = venue.exchange.receive(&mut client, true);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, &body["status"]), (200, &json!("NEW")), "{number}");
    }
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openOrders", "symbol=BTCUSDT").as_array().unwrap().len(), 12);
}
