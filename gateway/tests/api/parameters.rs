//! Every documented parameter of the routes that we serve, by the documentation of the API that `/fapi` is compatible with: it is read,
//! so that nonsense in it is refused; or it stands in a table with what becomes of it. And what other routes and venues know of
//! orders: what would make another order of one is refused by name, what has no bearing on it changes nothing.

use crate::exchange::Exchange;
use crate::exchange::venue::Venue;
use ringside_dialect::fapi::place::{OF_PLACEMENTS_ALONE, UNSUPPORTED};
use ringside_dialect::spot::decode;
use ringside_gateway::routes::routes;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const LIMIT: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=59000";
const ALGO: &str =
    "algoType=CONDITIONAL&symbol=BTCUSDT&side=BUY&type=STOP_MARKET&quantity=0.01&triggerPrice=61000";
const CHANGE: &str = "symbol=BTCUSDT&orderId={id}&side=BUY&quantity=0.01&price=59001";

/// Routes and what they are asked with where nothing is wrong; `{id}` is an open order of the account, `{algo}` one of the service.
#[rustfmt::skip]
const GOOD: &[(&str, &str)] = &[
    ("POST /fapi/v1/order", LIMIT),
    ("POST /fapi/v1/order/test", LIMIT),
    ("PUT /fapi/v1/order", CHANGE),
    ("GET /fapi/v1/order", "symbol=BTCUSDT&orderId={id}"),
    ("GET /fapi/v1/openOrder", "symbol=BTCUSDT&orderId={id}"),
    ("GET /fapi/v1/orderAmendment", "symbol=BTCUSDT&orderId={id}"),
    ("DELETE /fapi/v1/order", "symbol=BTCUSDT&orderId={id}"),
    ("POST /fapi/v1/batchOrders", "batchOrders=[{element}]"),
    ("PUT /fapi/v1/batchOrders", "batchOrders=[{element}]"),
    ("DELETE /fapi/v1/batchOrders", "symbol=BTCUSDT&orderIdList=[{id}]"),
    ("DELETE /fapi/v1/allOpenOrders", "symbol=BTCUSDT"),
    ("POST /fapi/v1/countdownCancelAll", "symbol=BTCUSDT&countdownTime=0"),
    ("POST /fapi/v1/algoOrder", ALGO),
    ("GET /fapi/v1/algoOrder", "algoId={algo}"),
    ("DELETE /fapi/v1/algoOrder", "algoId={algo}"),
    ("GET /fapi/v1/allAlgoOrders", "symbol=BTCUSDT"),
    ("DELETE /fapi/v1/algoOpenOrders", "symbol=BTCUSDT"),
    ("GET /fapi/v1/allOrders", "symbol=BTCUSDT"),
    ("GET /fapi/v1/userTrades", "symbol=BTCUSDT"),
    ("GET /fapi/v1/commissionRate", "symbol=BTCUSDT"),
    ("GET /fapi/v1/positionMargin/history", "symbol=BTCUSDT"),
    ("POST /fapi/v1/leverage", "symbol=BTCUSDT&leverage=20"),
    ("POST /fapi/v1/marginType", "symbol=BTCUSDT&marginType=CROSSED"),
    ("POST /fapi/v1/positionSide/dual", "dualSidePosition=false"),
    ("POST /fapi/v1/multiAssetsMargin", "multiAssetsMargin=false"),
    ("POST /fapi/v1/feeBurn", "feeBurn=false"),
    ("POST /fapi/v1/positionMargin", "symbol=SOLUSDT&amount=1&type=1"),
    ("GET /fapi/v1/depth", "symbol=BTCUSDT"),
    ("GET /fapi/v1/trades", "symbol=BTCUSDT"),
    ("GET /fapi/v1/historicalTrades", "symbol=BTCUSDT"),
    ("GET /fapi/v1/aggTrades", "symbol=BTCUSDT"),
    ("GET /fapi/v1/klines", "symbol=BTCUSDT&interval=1m"),
    ("GET /fapi/v1/markPriceKlines", "symbol=BTCUSDT&interval=1m"),
    ("GET /fapi/v1/premiumIndexKlines", "symbol=BTCUSDT&interval=1m"),
    ("GET /fapi/v1/continuousKlines", "pair=BTCUSDT&contractType=PERPETUAL&interval=1m"),
    ("GET /fapi/v1/indexPriceKlines", "pair=BTCUSDT&interval=1m"),
    ("GET /fapi/v1/openInterest", "symbol=BTCUSDT"),
    ("GET /fapi/v1/constituents", "symbol=BTCUSDT"),
    ("GET /fapi/v1/openInterestHist", "symbol=BTCUSDT&period=5m"),
];

/// Documented, and not in the documentation that is at hand: parameters of lists of the batch and of the conditional-order service.
#[rustfmt::skip]
const DOCUMENTED: &[(&str, &[&str])] = &[
    ("POST /fapi/v1/batchOrders", &["batchOrders"]),
    ("PUT /fapi/v1/batchOrders", &["batchOrders"]),
    ("DELETE /fapi/v1/batchOrders", &["orderIdList", "origClientOrderIdList"]),
    ("POST /fapi/v1/algoOrder", &[
        "algoType", "symbol", "side", "positionSide", "type", "timeInForce", "quantity", "price", "triggerPrice", "workingType",
        "priceMatch", "closePosition", "priceProtect", "reduceOnly", "activatePrice", "callbackRate", "clientAlgoId",
        "newOrderRespType", "selfTradePreventionMode", "goodTillDate",
    ]),
    ("GET /fapi/v1/algoOrder", &["algoId", "clientAlgoId"]),
    ("DELETE /fapi/v1/algoOrder", &["algoId", "clientAlgoId"]),
    ("GET /fapi/v1/openAlgoOrders", &["algoType", "symbol", "algoId"]),
    ("GET /fapi/v1/allAlgoOrders", &["symbol", "algoId", "startTime", "endTime", "page", "limit"]),
    ("DELETE /fapi/v1/algoOpenOrders", &["symbol"]),
];

/// Documented and not read, with the reason.
const NOT_READ: &[(&str, &str, &str)] = &[];

/// Method, path and names of what is documented; `None` where the documentation is not at hand.
fn documented() -> Option<BTreeMap<String, BTreeSet<String>>> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/data/binance-rest-golden/usdm_docs_endpoints.jsonl"
    );
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in std::fs::read_to_string(path).ok()?.lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let route = format!("{} {}", row["method"].as_str().unwrap(), row["path"].as_str().unwrap());
        let names = row["params"].as_array().unwrap().iter().map(|param| param["name"].as_str().unwrap());
        all.entry(route).or_default().extend(names.map(str::to_owned));
    }
    for (route, names) in DOCUMENTED {
        all.entry((*route).to_owned()).or_default().extend(names.iter().map(|name| (*name).to_owned()));
    }
    Some(all)
}

/// Parameters with one of them set.
fn with(params: &str, name: &str, value: &str) -> String {
    // Where an id is sent, a name is not looked at.
    let other = match name {
        "origClientOrderId" => "orderId",
        "clientAlgoId" => "algoId",
        "origClientOrderIdList" => "orderIdList",
        _ => "",
    };
    let mut pairs: Vec<(&str, &str)> = params.split('&').filter_map(|pair| pair.split_once('=')).collect();
    pairs.retain(|(known, _)| *known != name && *known != other);
    pairs.push((name, value));
    pairs.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("&")
}

/// An element of a batch that has these parameters, as a query has it.
fn element(params: &str) -> String {
    let pairs = params.split('&').filter_map(|pair| pair.split_once('='));
    let members: serde_json::Map<String, Value> =
        pairs.map(|(name, value)| (name.to_owned(), json!(value))).collect();
    Value::Object(members).to_string().replace('"', "%22").replace('?', "%3F")
}

/// The code that a request is refused with; of a batch its only element's. 0 where it is not.
fn code(venue: &mut Venue, route: &str, params: &str) -> i64 {
    let (method, path) = route.split_once(' ').unwrap();
    let (_, answer) = venue.ask(1, method, path, params);
    let of_element = answer.get(0).and_then(|first| first["code"].as_i64());
    answer["code"].as_i64().or(of_element).filter(|code| *code < 0).unwrap_or(0)
}

/// An exchange, an open order, and one of the service.
fn venue() -> (Venue, String, String) {
    let mut venue = Venue::with(&[(1, 100_000), (2, 100_000)], 0, |config| {
        config.weight_per_minute = 1_000_000;
        config.orders_per_ten_seconds = 100_000;
        config.orders_per_minute = 100_000;
    });
    let placed = venue.place(1, LIMIT)["orderId"].to_string();
    let waits = venue.call(1, "POST", "/fapi/v1/algoOrder", ALGO)["algoId"].to_string();
    (venue, placed, waits)
}

#[test]
fn every_documented_parameter_is_read_or_stands_in_a_table() {
    let Some(documented) = documented() else { return eprintln!("skipped: the documentation is not there") };
    let (mut venue, placed, waits) = venue();
    let rows: BTreeMap<String, BTreeSet<&str>> = routes()
        .map(|route| {
            let names = route.params.iter().map(|param| param.field.name).collect();
            (format!("{} {}", route.method.name(), route.path), names)
        })
        .collect();
    let mut count = 0;
    let mut unread = BTreeSet::new();
    for (route, names) in documented {
        let Some(known) = rows.get(&route) else { continue };
        let good = GOOD.iter().find(|(of, _)| *of == route).map_or("", |(_, good)| good);
        let is_batch = good.contains("{element}");
        let of_element = if route.starts_with("PUT") { CHANGE } else { LIMIT };
        for name in names {
            if ["timestamp", "recvWindow", "signature"].contains(&&*name) {
                continue;
            }
            let of_batch = is_batch && name != "batchOrders";
            assert!(of_batch || known.contains(&*name), "{route}: {name} is not documented here");
            // No text that any parameter takes.
            let asked = if of_batch {
                good.replace("{element}", &element(&with(of_element, &name, "?!").replace("{id}", &placed)))
            } else {
                with(good, &name, "%3F%21").replace("{id}", &placed).replace("{algo}", &waits)
            };
            if code(&mut venue, &route, &asked) == 0 {
                unread.insert((route.clone(), name));
            }
            count += 1;
        }
    }
    let listed: BTreeSet<(String, String)> =
        NOT_READ.iter().map(|(route, name, _)| ((*route).to_owned(), (*name).to_owned())).collect();
    assert_eq!(unread, listed, "read by nobody");
    assert!(count > 200, "{count} parameters were tried");
    // With what is good they answer, so that it was the nonsense that was refused. Those that end orders come last.
    let mut good = GOOD.to_vec();
    good.sort_by_key(|(route, _)| route.starts_with("DELETE"));
    for (route, good) in good {
        // Nothing is isolated here.
        let expected = if route == "POST /fapi/v1/positionMargin" { -4049 } else { 0 };
        let fresh = venue.place(1, LIMIT)["orderId"].to_string();
        let waits = venue.call(1, "POST", "/fapi/v1/algoOrder", ALGO)["algoId"].to_string();
        let of_element = if route.starts_with("PUT") { CHANGE } else { LIMIT };
        let asked = good.replace("{element}", &element(&of_element.replace("{id}", &fresh)));
        let asked = asked.replace("{id}", &fresh).replace("{algo}", &waits);
        assert_eq!(code(&mut venue, route, &asked), expected, "{route} {asked}");
    }
}

/// What becomes of a parameter that a route does not document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Becomes {
    /// Nothing: the order is the same.
    Ignored,
    /// The order is refused by its name.
    Refused(i64),
}
use Becomes::{Ignored, Refused};

/// What spot, margin, coin-margined, portfolio and option orders of the same exchange know, and what clients of several venues
/// send: name, value, and what becomes of it in a placement and in a modification.
#[rustfmt::skip]
const FOREIGN: &[(&str, &str, Becomes, Becomes)] = &[
    // Less of the order would be shown.
    ("icebergQty", "0.001", Refused(-1104), Refused(-1104)),
    ("icebergQuantity", "0.001", Refused(-1104), Refused(-1104)),
    ("displayQty", "0.001", Refused(-1104), Refused(-1104)),
    ("displayQuantity", "0.001", Refused(-1104), Refused(-1104)),
    ("visibleSize", "0.001", Refused(-1104), Refused(-1104)),
    ("hidden", "true", Refused(-1104), Refused(-1104)),
    // It would only rest, wait, follow or end.
    ("postOnly", "true", Refused(-1104), Refused(-1104)),
    ("pegPriceType", "PRIMARY_PEG", Refused(-1104), Refused(-1104)),
    ("pegOffsetType", "PRICE_LEVEL", Refused(-1104), Refused(-1104)),
    ("pegOffsetValue", "1", Refused(-1104), Refused(-1104)),
    ("trailingDelta", "100", Refused(-1104), Refused(-1104)),
    ("trailingPercent", "1", Refused(-1104), Refused(-1104)),
    ("trailingStop", "1", Refused(-1104), Refused(-1104)),
    ("trailingTime", "1", Refused(-1104), Refused(-1104)),
    ("triggerDirection", "1", Refused(-1104), Refused(-1104)),
    ("stopLimitPrice", "58000", Refused(-1104), Refused(-1104)),
    ("expireTime", "1700000600", Refused(-1104), Refused(-1104)),
    // It would be protected, or only close.
    ("stopLoss", "58000", Refused(-1104), Refused(-1104)),
    ("stopLossPrice", "58000", Refused(-1104), Refused(-1104)),
    ("takeProfit", "62000", Refused(-1104), Refused(-1104)),
    ("takeProfitPrice", "62000", Refused(-1104), Refused(-1104)),
    ("closeOnTrigger", "true", Refused(-1104), Refused(-1104)),
    ("isMmp", "true", Refused(-1104), Refused(-1104)),
    // Another amount, or money of another kind.
    ("quoteOrderQty", "100", Refused(-1104), Refused(-1104)),
    ("isIsolated", "TRUE", Refused(-1104), Refused(-1104)),
    ("marginMode", "isolated", Refused(-1104), Refused(-1104)),
    ("marginType", "ISOLATED", Refused(-1104), Refused(-1104)),
    ("sideEffectType", "MARGIN_BUY", Refused(-1104), Refused(-1104)),
    ("autoRepayAtCancel", "true", Refused(-1104), Refused(-1104)),
    // Of other types of orders. A modification keeps what it is not sent (8.1): an order of the book has none of them.
    ("stopPrice", "61000", Refused(-1106), Refused(-1106)),
    ("triggerPrice", "61000", Refused(-1106), Refused(-1106)),
    ("activationPrice", "61000", Refused(-1106), Refused(-1106)),
    ("activatePrice", "61000", Refused(-1106), Refused(-1106)),
    ("callbackRate", "1", Refused(-1106), Refused(-1106)),
    ("closePosition", "true", Refused(-1106), Refused(-1106)),
    // It attaches an order where one is placed.
    ("tpTriggerPrice", "57000", Refused(-2021), Refused(-1106)),
    ("slTriggerPrice", "61000", Refused(-2021), Refused(-1106)),
    // What is kept of an order that is modified (8.1).
    ("timeInForce", "GTC", Ignored, Ignored),
    ("reduceOnly", "false", Ignored, Ignored),
    ("goodTillDate", "0", Ignored, Ignored),
    ("newClientOrderId", "", Ignored, Ignored),
    ("selfTradePreventionMode", "NONE", Ignored, Ignored),
    // Labels, and how the answer is to look.
    ("newOrderRespType", "RESULT", Ignored, Ignored),
    ("strategyId", "5", Ignored, Ignored),
    ("strategyType", "1000000", Ignored, Ignored),
    ("computeCommissionRates", "true", Ignored, Ignored),
    ("listClientOrderId", "list", Ignored, Ignored),
    ("rpi", "false", Ignored, Ignored),
    ("source", "API", Ignored, Ignored),
];

/// What an order is, without its own names and times.
fn order_of(mut answer: Value) -> Value {
    for own in ["orderId", "clientOrderId", "time", "updateTime"] {
        answer.as_object_mut().unwrap().remove(own);
    }
    answer
}

#[test]
fn what_a_perpetual_order_is_not_asked_to_be_it_is_not() {
    let (mut venue, _, _) = venue();
    let unlisted = |names: &[&'static str]| -> Vec<&'static str> {
        names.iter().copied().filter(|name| !FOREIGN.iter().any(|(known, ..)| known == name)).collect()
    };
    assert_eq!((unlisted(UNSUPPORTED), unlisted(OF_PLACEMENTS_ALONE)), (vec![], vec![]));
    let plain = order_of(venue.call(1, "POST", "/fapi/v1/order/test", LIMIT));
    for (name, value, placed, changed) in FOREIGN {
        let params = with(LIMIT, name, value);
        let batch = format!("batchOrders=[{}]", element(&params));
        // A test ends with the margin check (8), before what would fire at once is judged.
        let is_late = *placed == Refused(-2021);
        for (route, params) in [
            ("POST /fapi/v1/order", &params),
            ("POST /fapi/v1/order/test", &params),
            ("POST /fapi/v1/batchOrders", &batch),
        ] {
            let expected = if let Refused(code) = placed { *code } else { 0 };
            if !(is_late && route.ends_with("test")) {
                assert_eq!(code(&mut venue, route, params), expected, "{route} {name}");
            }
        }
        if *placed == Ignored {
            let order = order_of(venue.call(1, "POST", "/fapi/v1/order/test", &params));
            assert_eq!(order, plain, "{name}");
        }
        let id = venue.place(1, LIMIT)["orderId"].to_string();
        let change = CHANGE.replace("{id}", &id);
        let expected = if let Refused(code) = changed { *code } else { 0 };
        let asked = with(&change, name, value);
        let in_batch = format!("batchOrders=[{}]", element(&asked));
        for (route, asked) in [("PUT /fapi/v1/batchOrders", in_batch), ("PUT /fapi/v1/order", asked)] {
            let found = code(&mut venue, route, &asked);
            // Once it has changed, nothing is left to change.
            let is_again = route.ends_with("order") && expected == 0;
            assert_eq!(found, if is_again { -5027 } else { expected }, "{route} {name}");
        }
        let (method, path) = ("POST", "/fapi/v1/algoOrder");
        // What a client says of the order that protects, beside its trigger.
        let is_said_again = ["stopLossPrice", "takeProfitPrice"].contains(name);
        if is_said_again {
            assert_eq!(code(&mut venue, "POST /fapi/v1/algoOrder", &with(ALGO, name, value)), 0, "{name}");
        }
        if UNSUPPORTED.contains(name) && !is_said_again {
            let (_, answer) = venue.ask(1, method, path, &with(ALGO, name, value));
            let text = format!("Not all sent parameters were read; '{name}' is not supported.");
            assert_eq!(answer, json!({ "code": -1104, "msg": text }));
        }
        venue.call(1, "DELETE", "/fapi/v1/allOpenOrders", "symbol=BTCUSDT");
        venue.call(1, "DELETE", "/fapi/v1/algoOpenOrders", "symbol=BTCUSDT");
    }
    let maker = with(&with(LIMIT, "timeInForce", "GTX"), "postOnly", "true");
    assert_eq!(code(&mut venue, "POST /fapi/v1/order", &maker), 0, "it only rests");
    let trailing =
        "symbol=BTCUSDT&side=SELL&type=TRAILING_STOP_MARKET&quantity=0.01&callbackRate=1&trailingPercent=1";
    assert_eq!(code(&mut venue, "POST /fapi/v1/order", trailing), 0, "it follows");
}

/// The same of `POST /spot/orders`: members and what becomes of them, by either spelling.
#[rustfmt::skip]
const SPOT: &[(&str, &str, Becomes)] = &[
    ("quote_quantity", "5", Ignored),
    ("client_order_id", "\"mine\"", Ignored),
    ("clientOrderId", "\"mine\"", Ignored),
    ("newClientOrderId", "\"mine\"", Ignored),
    ("newOrderRespType", "\"FULL\"", Ignored),
    // Orders that meet their own account's are refused whatever is asked for: never more trade than that.
    ("selfTradePreventionMode", "\"EXPIRE_MAKER\"", Ignored),
    ("self_trade_prevention", "\"expire_maker\"", Ignored),
    ("strategyId", "5", Ignored),
    ("strategyType", "1000000", Ignored),
    ("recvWindow", "5000", Ignored),
    ("timestamp", "1700000000000", Ignored),
    ("leverage", "5", Ignored),
    ("source", "\"API\"", Ignored),
];

#[test]
fn what_a_spot_order_is_not_asked_to_be_it_is_not() {
    let mut exchange = Exchange::start_with(|config| config.orders_per_ten_seconds = 100_000);
    exchange.open();
    exchange.credit(1, "USDT");
    let alice = [&exchange.account(1)[..], &["Content-Type: application/json".to_owned()]].concat();
    let mut ask = |more: &str| -> (u16, Value) {
        let body = format!(
            r#"{{"symbol":"DFUSDT","side":"buy","type":"limit","price":"0.2","quantity":"10"{more}}}"#
        );
        let answer = exchange.request("POST", "/api/v1/spot/orders", &alice, &body);
        let mut value: Value = serde_json::from_str(&answer.body).unwrap();
        // What rests is taken back: there is a limit of open orders.
        exchange.request("DELETE", "/api/v1/spot/orders", &alice, "");
        for own in ["id", "created_at", "updated_at"] {
            value.as_object_mut().unwrap().remove(own);
        }
        (answer.status, value)
    };
    let plain = ask("");
    assert_eq!(plain.0, 200, "{}", plain.1);
    for (name, value, becomes) in SPOT {
        assert_eq!(*becomes, Ignored);
        assert_eq!(ask(&format!(",\"{name}\":{value}")), plain, "{name}");
    }
    for refusal in decode::UNSUPPORTED {
        let name = refusal.error.strip_prefix("unsupported ").unwrap();
        for value in ["1", "\"0.001\"", "true", "\"TRUE\"", "\"x\"", "{\"price\":1}", "[1]"] {
            let (status, body) = ask(&format!(",\"{name}\":{value}"));
            assert_eq!((status, &body["error"]), (400, &json!(refusal.error)), "{name} {value}");
        }
        // Sent as nothing it asks for nothing.
        for value in ["null", "false", "\"FALSE\"", "0", "\"0.0\"", "\"\"", "\"NONE\""] {
            assert_eq!(ask(&format!(",\"{name}\":{value}")), plain, "{name} {value}");
        }
    }
    // Whatever is refused of a perpetual order is refused here too.
    let known: Vec<&str> =
        decode::UNSUPPORTED.iter().filter_map(|refusal| refusal.error.strip_prefix("unsupported ")).collect();
    let missing: Vec<&str> = UNSUPPORTED.iter().copied().filter(|name| !known.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
