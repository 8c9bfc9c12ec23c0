//! Rows of `perpetual.md` that refuse: what each type of order must come with and may not come with, what each route takes and up to
//! where. Every placement is asked of the order route, of its test and in a batch.
//!
//! `fapi_codes.rs` has each code once, `fapi_corners.rs` what stands between the rows.

use crate::exchange::START_S;
use crate::exchange::venue::Venue;
use serde_json::{Map, Value, json};

const LIMIT: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=59000";
const MARKET: &str = "symbol=BTCUSDT&side=BUY&type=MARKET&quantity=0.01";
const STOP: &str = "symbol=BTCUSDT&side=BUY&type=STOP&quantity=0.01&stopPrice=61000&price=61000";
const TAKE_PROFIT: &str =
    "symbol=BTCUSDT&side=BUY&type=TAKE_PROFIT&quantity=0.01&stopPrice=59000&price=61000";
const STOP_MARKET: &str = "symbol=BTCUSDT&side=BUY&type=STOP_MARKET&quantity=0.01&stopPrice=61000";
const TAKE_PROFIT_MARKET: &str =
    "symbol=BTCUSDT&side=BUY&type=TAKE_PROFIT_MARKET&quantity=0.01&stopPrice=59000";
const TRAILING: &str = "symbol=BTCUSDT&side=BUY&type=TRAILING_STOP_MARKET&quantity=0.01&callbackRate=1";

/// 7.2 to 7.6, 7.9: a good order, the code, and what is changed of it for that: `name=value` sets, `-name` leaves out.
#[rustfmt::skip]
const PLACEMENTS: &[(&str, i64, &[&str])] = &[
    (LIMIT, -1102, &["-symbol", "-side", "-type", "-timeInForce", "-quantity", "-price", "timeInForce=GTD"]),
    (LIMIT, -1106, &["stopPrice=61000", "callbackRate=1", "activationPrice=61000", "activatePrice=61000", "closePosition=true", "priceMatch=QUEUE"]),
    (LIMIT, -1115, &["timeInForce=XX", "timeInForce=GTE_GTC"]),
    (LIMIT, -1106, &["goodTillDate=1700001000000"]),
    (LIMIT, -5040, &["timeInForce=GTD,goodTillDate=1700000600999", "timeInForce=GTD,goodTillDate=253402300799000"]),
    (LIMIT, -4060, &["positionSide=X"]),
    (LIMIT, -4061, &["positionSide=LONG", "positionSide=SHORT"]),
    (LIMIT, -1130, &["reduceOnly=maybe", "closePosition=1", "priceProtect=x"]),
    (LIMIT, -1100, &["price=1e5", "quantity=-1", "price=.5", "price=1."]),
    (LIMIT, -4031, &["workingType=x", "tpTriggerPrice=61000,tpslWorkingType=x"]),
    (LIMIT, -5037, &["priceMatch=x,-price"]),
    (LIMIT, -5039, &["selfTradePreventionMode=x"]),
    (LIMIT, -1136, &["newOrderRespType=FULL"]),
    (LIMIT, -4015, &["newClientOrderId=a b", "newClientOrderId=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]),
    (LIMIT, -4028, &["leverage=126", "leverage=0", "leverage=x"]),
    (LIMIT, -1111, &["price=59000.01"]),
    (LIMIT, -4002, &["price=10000000.1"]),
    (LIMIT, -4001, &["price=0.0"]),
    (LIMIT, -4003, &["quantity=0.000"]),
    (LIMIT, -1013, &["quantity=0.0009", "quantity=1000.001", "quantity=0.00001,price=57000", "quantity=90"]),
    (LIMIT, -2021, &["tpTriggerPrice=58000", "slTriggerPrice=60000"]),
    (LIMIT, -1117, &["side=LONG"]),
    (LIMIT, -1116, &["type=X"]),
    (LIMIT, -1121, &["symbol=NOPE"]),
    (LIMIT, -2022, &["reduceOnly=true"]),
    (MARKET, -1102, &["-quantity"]),
    (MARKET, -1106, &["timeInForce=GTC", "stopPrice=61000", "callbackRate=1", "activationPrice=61000", "closePosition=true", "price=60000"]),
    (MARKET, -5038, &["priceMatch=QUEUE"]),
    (MARKET, -1013, &["quantity=120.001"]),
    (MARKET, -2021, &["tpTriggerPrice=58000"]),
    (STOP, -1102, &["-quantity", "-stopPrice", "-price"]),
    (STOP, -1106, &["callbackRate=1", "activationPrice=61000", "closePosition=true", "tpTriggerPrice=62000", "slTriggerPrice=58000"]),
    (TAKE_PROFIT, -1106, &["callbackRate=1", "activationPrice=61000", "closePosition=true", "tpTriggerPrice=62000"]),
    (STOP_MARKET, -1102, &["-stopPrice", "-quantity"]),
    (STOP_MARKET, -1106, &["tpTriggerPrice=62000", "callbackRate=1", "activationPrice=61000", "price=60000", "closePosition=true,reduceOnly=true,-quantity"]),
    (STOP_MARKET, -5038, &["priceMatch=QUEUE"]),
    (STOP_MARKET, -1115, &["timeInForce=IOC", "timeInForce=FOK", "timeInForce=GTX", "timeInForce=GTD"]),
    (STOP_MARKET, -4137, &["closePosition=true"]),
    (STOP_MARKET, -1111, &["stopPrice=61000.01"]),
    (STOP_MARKET, -4007, &["stopPrice=10000000.1"]),
    (STOP_MARKET, -4006, &["stopPrice=0.0"]),
    (STOP_MARKET, -2021, &["stopPrice=60000"]),
    (TAKE_PROFIT_MARKET, -1106, &["slTriggerPrice=58000", "callbackRate=1", "activationPrice=61000", "price=60000", "closePosition=true,reduceOnly=true,-quantity"]),
    (TAKE_PROFIT_MARKET, -5038, &["priceMatch=QUEUE"]),
    (TAKE_PROFIT_MARKET, -1115, &["timeInForce=IOC", "timeInForce=FOK", "timeInForce=GTX", "timeInForce=GTD"]),
    (TAKE_PROFIT_MARKET, -4137, &["closePosition=true"]),
    (TAKE_PROFIT_MARKET, -2021, &["stopPrice=60000"]),
    (TRAILING, -1102, &["-callbackRate", "-quantity"]),
    (TRAILING, -1106, &["stopPrice=61000", "closePosition=true", "tpTriggerPrice=62000"]),
    (TRAILING, -5038, &["priceMatch=QUEUE"]),
    (TRAILING, -1115, &["timeInForce=IOC", "timeInForce=FOK", "timeInForce=GTX", "timeInForce=GTD"]),
    (TRAILING, -2007, &["callbackRate=0.05", "callbackRate=10.1", "callbackRate=1.05", "callbackRate=1.0000001", "callbackRate=0"]),
    (TRAILING, -1111, &["activationPrice=59000.01"]),
    (TRAILING, -4135, &["activationPrice=0"]),
    (TRAILING, -2021, &["activationPrice=60000", "side=SELL,activationPrice=60000"]),
];

/// The order with the changes.
fn changed<'a>(order: &'a str, edits: &'a str) -> Vec<(&'a str, &'a str)> {
    let mut pairs: Vec<(&str, &str)> = order.split('&').filter_map(|pair| pair.split_once('=')).collect();
    for edit in edits.split(',') {
        let name = edit.trim_start_matches('-').split('=').next().unwrap();
        pairs.retain(|(known, _)| *known != name);
        pairs.extend(edit.split_once('='));
    }
    pairs
}

fn query(pairs: &[(&str, &str)]) -> String {
    let parts: Vec<String> =
        pairs.iter().map(|(name, value)| format!("{name}={}", value.replace(' ', "%20"))).collect();
    parts.join("&")
}

#[track_caller]
fn is_refused(venue: &mut Venue, method: &str, path: &str, params: &str, code: i64) {
    let (status, body) = venue.ask(1, method, path, params);
    assert_eq!((status, &body["code"]), (400, &json!(code)), "{method} {path} {params}: {body}");
}

#[test]
fn placements() {
    let mut venue = Venue::new(&[(1, 100_000), (2, 100_000)]);
    for (order, code, rows) in PLACEMENTS {
        for edits in *rows {
            let pairs = changed(order, edits);
            let params = query(&pairs);
            is_refused(&mut venue, "POST", "/fapi/v1/order", &params, *code);
            // A test ends with the margin check (8).
            if *code != -2021 {
                is_refused(&mut venue, "POST", "/fapi/v1/order/test", &params, *code);
            }
            let element: Map<String, Value> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            let answer = in_batch(&mut venue, "POST", &element);
            assert_eq!(answer["code"], *code, "{params}: {answer}");
        }
        // As it stands it is taken.
        let placed = venue.place(1, order);
        assert!(placed["orderId"].as_u64() > Some(0));
        venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
    }
}

/// 8.1: what is changed of a modification that would be taken.
#[rustfmt::skip]
const MODIFICATIONS: &[(i64, &[&str])] = &[
    (-1102, &["-symbol", "-origClientOrderId", "-quantity", "-price"]),
    (-1121, &["symbol=NOPE"]),
    (-2013, &["origClientOrderId=theirs", "origClientOrderId=nobodys", "symbol=ETHUSDT"]),
    (-1117, &["side=SELL", "side=x"]),
    (-1106, &["priceMatch=QUEUE"]),
    (-5037, &["priceMatch=x,-price"]),
    (-5041, &["priceMatch=OPPONENT_20,-price"]),
    (-5027, &["price=59000"]),
    (-1128, &["keepPriority=true", "keepPriority=true,price=59000,quantity=0.02"]),
    (-1130, &["keepPriority=x"]),
    (-1111, &["price=59001.01"]),
    (-4001, &["price=0"]),
    (-4002, &["price=10000000.1"]),
    (-4016, &["price=64000"]),
    (-4003, &["quantity=0"]),
    (-1013, &["quantity=0.0001", "quantity=0.001,price=4000", "quantity=100"]),
    (-2019, &["quantity=80"]),
];

#[test]
fn modifications() {
    let mut venue = Venue::new(&[(1, 100_000), (2, 100_000)]);
    for (number, name) in [(1, "mine"), (2, "theirs")] {
        venue.place(number, &format!("{LIMIT}&newClientOrderId={name}"));
    }
    let before = venue.call(1, "GET", "/fapi/v1/openOrders", "");
    let good = "symbol=BTCUSDT&origClientOrderId=mine&quantity=0.01&price=59001";
    for (code, rows) in MODIFICATIONS {
        for edits in *rows {
            let pairs = changed(good, edits);
            let params = query(&pairs);
            is_refused(&mut venue, "PUT", "/fapi/v1/order", &params, *code);
            let element: Map<String, Value> =
                pairs.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
            let answer = in_batch(&mut venue, "PUT", &element);
            assert_eq!(answer["code"], *code, "{params}: {answer}");
        }
    }
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openOrders", ""), before, "nothing has changed");
    assert_eq!(venue.call(1, "PUT", "/fapi/v1/order", good)["price"], "59001");
}

/// The answer to the one element of a batch.
fn in_batch(venue: &mut Venue, method: &str, element: &Map<String, Value>) -> Value {
    let text = json!([element]).to_string();
    let encoded = text.replace('"', "%22").replace(' ', "%20");
    venue.call(1, method, "/fapi/v1/batchOrders", &format!("batchOrders={encoded}"))[0].clone()
}

/// 8 to 11: routes with what they refuse.
#[rustfmt::skip]
const ROUTES: &[(i64, &str, &[&str])] = &[
    (-1102, "GET /fapi/v1/order", &["", "symbol=BTCUSDT", "orderId=1", "symbol=&orderId=1"]),
    (-1102, "DELETE /fapi/v1/order", &["", "symbol=BTCUSDT", "orderId=1"]),
    (-1102, "GET /fapi/v1/openOrder", &["symbol=BTCUSDT", "orderId=1"]),
    (-1102, "GET /fapi/v1/orderAmendment", &["symbol=BTCUSDT", "orderId=1"]),
    (-2013, "GET /fapi/v1/order", &["symbol=BTCUSDT&orderId=77", "symbol=BTCUSDT&origClientOrderId=theirs", "symbol=ETHUSDT&origClientOrderId=mine"]),
    (-2013, "GET /fapi/v1/openOrder", &["symbol=BTCUSDT&orderId=77", "symbol=BTCUSDT&origClientOrderId=gone", "symbol=BTCUSDT&origClientOrderId=theirs"]),
    (-2011, "DELETE /fapi/v1/order", &["symbol=BTCUSDT&orderId=77", "symbol=BTCUSDT&origClientOrderId=gone", "symbol=BTCUSDT&origClientOrderId=theirs", "symbol=ETHUSDT&origClientOrderId=mine"]),
    (-1102, "POST /fapi/v1/batchOrders", &[""]),
    (-1102, "PUT /fapi/v1/batchOrders", &[""]),
    (-4082, "POST /fapi/v1/batchOrders", &["batchOrders=[]", "batchOrders=[{},{},{},{},{},{}]"]),
    (-4082, "PUT /fapi/v1/batchOrders", &["batchOrders=[]", "batchOrders=[{},{},{},{},{},{}]"]),
    (-1130, "POST /fapi/v1/batchOrders", &["batchOrders=x", "batchOrders={}"]),
    (-1130, "PUT /fapi/v1/batchOrders", &["batchOrders=x", "batchOrders={}"]),
    (-1102, "DELETE /fapi/v1/batchOrders", &["orderIdList=[1]"]),
    (-4032, "DELETE /fapi/v1/batchOrders", &["symbol=BTCUSDT&orderIdList=[]", "symbol=BTCUSDT&orderidlist=[1,2,3,4,5,6,7,8,9,10,11]", "symbol=BTCUSDT&origClientOrderIdList=[]"]),
    (-1130, "DELETE /fapi/v1/batchOrders", &["symbol=BTCUSDT&orderIdList=x", "symbol=BTCUSDT&origClientOrderIdList=[1"]),
    (-1102, "DELETE /fapi/v1/allOpenOrders", &[""]),
    (-1121, "DELETE /fapi/v1/allOpenOrders", &["symbol=NOPE"]),
    (-1102, "POST /fapi/v1/countdownCancelAll", &["symbol=BTCUSDT", "symbol=BTCUSDT&countdownTime=-1", "symbol=BTCUSDT&countdownTime=1.5"]),
    (-1121, "POST /fapi/v1/countdownCancelAll", &["symbol=NOPE&countdownTime=1"]),
    (-1130, "POST /fapi/v1/countdownCancelAll", &["symbol=BTCUSDT&countdownTime=0&keepReduceOnly=x"]),
    (-1128, "GET /fapi/v1/userTrades", &["symbol=BTCUSDT&fromId=1&startTime=1", "symbol=BTCUSDT&fromId=1&endTime=1"]),
    (-1130, "GET /fapi/v1/forceOrders", &["autoCloseType=X"]),
    (-1130, "GET /fapi/v1/income", &["incomeType=X", "page=0"]),
    (-1102, "POST /fapi/v1/leverage", &["symbol=BTCUSDT", "leverage=5"]),
    (-4028, "POST /fapi/v1/leverage", &["symbol=BTCUSDT&leverage=0", "symbol=BTCUSDT&leverage=126", "symbol=BTCUSDT&leverage=1.5"]),
    (-1121, "POST /fapi/v1/leverage", &["symbol=NOPE&leverage=5"]),
    (-1102, "POST /fapi/v1/marginType", &["symbol=BTCUSDT"]),
    (-1130, "POST /fapi/v1/marginType", &["symbol=BTCUSDT&marginType=X"]),
    (-1121, "POST /fapi/v1/marginType", &["symbol=NOPE&marginType=CROSSED"]),
    (-4046, "POST /fapi/v1/marginType", &["marginType=ISOLATED", "symbol=BTCUSDT&marginType=ISOLATED"]),
    (-1121, "GET /fapi/v1/marginType", &["symbol=NOPE"]),
    (-1102, "POST /fapi/v1/positionSide/dual", &[""]),
    (-1130, "POST /fapi/v1/positionSide/dual", &["dualSidePosition=x"]),
    (-4059, "POST /fapi/v1/positionSide/dual", &["dualSidePosition=true", "dualSidePosition=TRUE"]),
    (-1102, "POST /fapi/v1/multiAssetsMargin", &[""]),
    (-1130, "POST /fapi/v1/multiAssetsMargin", &["multiAssetsMargin=x"]),
    (-4084, "POST /fapi/v1/multiAssetsMargin", &["multiAssetsMargin=true", "multiAssetsMargin=True"]),
    (-1102, "POST /fapi/v1/feeBurn", &[""]),
    (-1130, "POST /fapi/v1/feeBurn", &["feeBurn=x"]),
    (-1102, "POST /fapi/v1/positionMargin", &["amount=1&type=1", "symbol=BTCUSDT&type=1", "symbol=BTCUSDT&amount=1"]),
    (-1100, "POST /fapi/v1/positionMargin", &["symbol=BTCUSDT&amount=-1&type=1"]),
    (-1130, "POST /fapi/v1/positionMargin", &["symbol=BTCUSDT&amount=1&type=3"]),
    (-4049, "POST /fapi/v1/positionMargin", &["symbol=BTCUSDT&amount=1&type=1"]),
    (-4060, "POST /fapi/v1/positionMargin", &["symbol=BTCUSDT&amount=1&type=1&positionSide=x"]),
    (-1130, "GET /fapi/v1/positionMargin/history", &["symbol=BTCUSDT&type=3"]),
    (-1102, "GET /fapi/v1/commissionRate", &[""]),
    (-1102, "POST /fapi/v1/algoOrder", &["symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.01&triggerPrice=59000", "algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.01"]),
    (-1130, "POST /fapi/v1/algoOrder", &["algoType=VP&symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.01&triggerPrice=59000"]),
    (-1116, "POST /fapi/v1/algoOrder", &["algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL&type=LIMIT&quantity=0.01&triggerPrice=59000", "algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.01"]),
    (-1115, "POST /fapi/v1/algoOrder", &["algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.01&triggerPrice=59000&timeInForce=IOC"]),
    (-2021, "POST /fapi/v1/algoOrder", &["algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.01&triggerPrice=61000"]),
    (-4015, "POST /fapi/v1/algoOrder", &["algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.01&triggerPrice=59000&clientAlgoId=a%20b"]),
    (-4061, "POST /fapi/v1/algoOrder", &["algoType=CONDITIONAL&symbol=BTCUSDT&side=SELL&type=STOP_MARKET&quantity=0.01&triggerPrice=59000&positionSide=LONG"]),
    (-1102, "GET /fapi/v1/algoOrder", &[""]),
    (-1102, "DELETE /fapi/v1/algoOrder", &[""]),
    (-2013, "GET /fapi/v1/algoOrder", &["algoId=99", "clientAlgoId=x"]),
    (-2011, "DELETE /fapi/v1/algoOrder", &["algoId=99", "clientAlgoId=x"]),
    (-1102, "DELETE /fapi/v1/algoOpenOrders", &[""]),
    (-1128, "GET /fapi/v1/aggTrades", &["symbol=BTCUSDT&startTime=1&endTime=3600002", "symbol=BTCUSDT&fromId=1&startTime=1", "symbol=BTCUSDT&fromId=1&endTime=1"]),
    (-1130, "GET /fapi/v1/continuousKlines", &["pair=BTCUSDT&contractType=CURRENT_QUARTER&interval=1m"]),
    (-1102, "GET /fapi/v1/continuousKlines", &["pair=BTCUSDT&interval=1m", "contractType=PERPETUAL&interval=1m"]),
    (-4021, "GET /fapi/v1/depth", &["symbol=BTCUSDT&limit=0", "symbol=BTCUSDT&limit=3", "symbol=BTCUSDT&limit=7", "symbol=BTCUSDT&limit=999"]),
    (-4021, "GET /fapi/v1/rpiDepth", &["symbol=BTCUSDT&limit=0", "symbol=BTCUSDT&limit=100"]),
    (-1130, "GET /fapi/v1/rpiDepth", &["symbol=BTCUSDT&limit=1001", "symbol=BTCUSDT&limit=x"]),
    (-1130, "GET /fapi/v1/depth", &["symbol=BTCUSDT&limit=1001", "symbol=BTCUSDT&limit=1500", "symbol=BTCUSDT&limit=x"]),
    (-1128, "GET /api/v3/preventedMatches", &["symbol=BTCUSDT"]),
    (-1102, "GET /api/v3/preventedMatches", &["orderId=1"]),
    (-1130, "GET /fapi/v1/balance", &["recvWindow=0", "recvWindow=60001", "recvWindow=x"]),
];

/// Lists: route, what is to be sent besides, the greatest limit.
const LISTS: &[(&str, &str, u32)] = &[
    ("/fapi/v1/allOrders", "", 1000),
    ("/fapi/v1/userTrades", "", 1000),
    ("/fapi/v1/income", "", 1000),
    ("/fapi/v1/forceOrders", "", 100),
    ("/fapi/v1/orderAmendment", "&orderId=1", 100),
    ("/fapi/v1/allAlgoOrders", "", 1000),
    ("/fapi/v1/positionMargin/history", "", 500),
    ("/fapi/v1/aggTrades", "", 1000),
    ("/fapi/v1/fundingRate", "", 1000),
    ("/fapi/v1/klines", "&interval=1m", 1500),
    ("/fapi/v1/continuousKlines", "&pair=BTCUSDT&contractType=PERPETUAL&interval=1m", 1500),
    ("/fapi/v1/indexPriceKlines", "&pair=BTCUSDT&interval=1m", 1500),
    ("/fapi/v1/markPriceKlines", "&interval=1m", 1500),
    ("/fapi/v1/premiumIndexKlines", "&interval=1m", 1500),
    ("/fapi/v1/openInterestHist", "&period=5m", 500),
];

#[test]
fn routes() {
    let mut venue = Venue::with(&[(1, 100_000), (2, 100_000)], 0, |config| {
        config.weight_per_minute = u32::MAX;
        config.funding_requests = u32::MAX;
    });
    for (number, name) in [(1, "mine"), (1, "gone"), (2, "theirs")] {
        venue.place(number, &format!("{LIMIT}&newClientOrderId={name}"));
    }
    venue.call(1, "DELETE", "/fapi/v1/order", "symbol=BTCUSDT&origClientOrderId=gone");
    for (code, route, rows) in ROUTES {
        let (method, path) = route.split_once(' ').unwrap();
        for params in *rows {
            is_refused(&mut venue, method, path, params, *code);
        }
    }
    for (path, more, limit) in LISTS {
        let symbol = format!("symbol=BTCUSDT{more}");
        let mut refuses = |params: String, code| is_refused(&mut venue, "GET", path, &params, code);
        for wrong in ["0", "-1", "1.5", "x"] {
            refuses(format!("{symbol}&limit={wrong}"), -1130);
        }
        refuses(format!("{symbol}&limit={}", limit + 1), -1130);
        refuses(format!("{symbol}&startTime=2&endTime=1"), -1023);
        refuses(symbol.replace("BTCUSDT", "NOPE"), -1121);
        if more.contains("interval") {
            refuses(symbol.replace("1m", "7m"), -1120);
            refuses(symbol.replace("1m", ""), -1102);
        }
        venue.call(1, "GET", path, &format!("{symbol}&limit={limit}"));
        venue.call(1, "GET", path, &format!("{symbol}&startTime=1&endTime=1"));
    }
    let now_ms = START_S * 1000;
    for (path, days) in [
        ("/fapi/v1/allOrders", 7),
        ("/fapi/v1/userTrades", 7),
        ("/fapi/v1/allAlgoOrders", 7),
        ("/fapi/v1/positionMargin/history", 30),
    ] {
        let span_ms = days * 86_400_000;
        let window = |span_ms: i64| format!("symbol=BTCUSDT&startTime={}&endTime={now_ms}", now_ms - span_ms);
        venue.call(1, "GET", path, &window(span_ms));
        is_refused(&mut venue, "GET", path, &window(span_ms + 1), -4165);
    }
    for path in [
        "depth",
        "trades",
        "historicalTrades",
        "aggTrades",
        "openInterest",
        "constituents",
        "klines",
        "markPriceKlines",
        "allOrders",
        "userTrades",
        "allAlgoOrders",
        "positionMargin/history",
    ] {
        is_refused(&mut venue, "GET", &format!("/fapi/v1/{path}"), "interval=1m", -1102);
    }
    for path in [
        "depth",
        "trades",
        "historicalTrades",
        "openInterest",
        "constituents",
        "premiumIndex",
        "ticker/24hr",
        "ticker/price",
        "ticker/bookTicker",
        "leverageBracket",
        "symbolConfig",
        "adlQuantile",
        "apiTradingStatus",
        "positionRisk",
        "openOrders",
        "openAlgoOrders",
        "assetIndex",
        "commissionRate",
    ] {
        is_refused(&mut venue, "GET", &format!("/fapi/v1/{path}"), "symbol=NOPE", -1121);
    }
}
