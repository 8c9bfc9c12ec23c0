//! Requests over `/ws-fapi/v1`: every method against its route, signatures, limits, several at once, frames that are none, and
//! the ends of a connection.

use crate::exchange::socket::{End, Socket};
use crate::exchange::venue::{Trader, Venue};
use ringside_config::Config;
use ringside_gateway::ws_request::methods::METHODS;
use ringside_gateway::ws_request::session::RUNNING_MAX;
use ringside_wire::refusal::Dialect;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

const PATH: &str = "/ws-fapi/v1";

/// A trader at a socket of requests.
struct Asker {
    socket: Socket,
    trader: Trader,
    /// UNIX milliseconds.
    now_ms: i64,
    asked: u64,
    methods: BTreeSet<String>,
}

impl Asker {
    fn at(venue: &Venue, number: u8, path: &str) -> Asker {
        Asker {
            socket: Socket::at(&venue.exchange, path),
            trader: venue.traders[&number].clone(),
            now_ms: venue.exchange.clock.now_ms(),
            asked: 0,
            methods: BTreeSet::new(),
        }
    }

    fn new(venue: &Venue, number: u8) -> Asker {
        Asker::at(venue, number, PATH)
    }

    /// Parameters with key, time and signature.
    fn signed(&self, params: Value) -> Value {
        let Value::Object(mut params) = params else { panic!("an object") };
        params.insert("apiKey".to_owned(), json!(self.trader.key));
        params.entry("timestamp").or_insert(json!(self.now_ms));
        let signature = self.trader.signature(&payload(&params, str::to_owned));
        params.insert("signature".to_owned(), json!(signature));
        Value::Object(params)
    }

    /// Sends a request and gives its id.
    fn send(&mut self, method: &str, params: Value) -> u64 {
        self.asked += 1;
        self.methods.insert(method.to_owned());
        self.socket.send(&json!({ "id": self.asked, "method": method, "params": params }).to_string());
        self.asked
    }

    /// The answer to a request.
    #[track_caller]
    fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        let answer = self.socket.next();
        assert_eq!(answer["id"], json!(id), "{method}: {answer}");
        answer
    }

    /// The same of one that must succeed: its result.
    #[track_caller]
    fn call(&mut self, method: &str, params: Value) -> Value {
        let mut answer = self.ask(method, params);
        assert_eq!((&answer["status"], answer.get("error")), (&json!(200), None), "{method}: {answer}");
        answer["result"].take()
    }

    /// The same, signed.
    #[track_caller]
    fn signed_call(&mut self, method: &str, params: Value) -> Value {
        let params = self.signed(params);
        self.call(method, params)
    }

    #[track_caller]
    fn refused(&mut self, method: &str, params: Value, status: u16, code: i32) -> Value {
        let answer = self.ask(method, params);
        assert_eq!((&answer["status"], &answer["error"]["code"]), (&json!(status), &json!(code)), "{answer}");
        assert_eq!(answer.get("result"), None, "{answer}");
        answer
    }
}

/// What is signed, values written by `write`.
fn payload(params: &Map<String, Value>, write: impl Fn(&str) -> String) -> String {
    let text = |value: &Value| match value {
        Value::String(text) => write(text),
        other => other.to_string(),
    };
    let mut pairs: Vec<String> =
        params.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
    pairs.sort();
    pairs.join("&")
}

/// A bid that rests far below the mark.
fn bid(name: &str) -> Value {
    json!({
        "symbol": "BTCUSDT", "side": "BUY", "type": "LIMIT", "timeInForce": "GTC",
        "quantity": "0.010", "price": "59000", "newClientOrderId": name,
    })
}

fn with(configure: impl FnOnce(&mut Config)) -> Venue {
    Venue::with(&[(1, 10_000), (2, 10_000)], 0, configure)
}

#[test]
fn every_method_answers_as_its_route() {
    let mut venue = with(|_| {});
    venue.fill();
    let _running = venue.exchange.run_stages();
    let mut asker = Asker::new(&venue, 1);

    // Orders.
    let placed = asker.signed_call("order.place", bid("one"));
    assert_eq!((&placed["status"], &placed["clientOrderId"]), (&json!("NEW"), &json!("one")));
    // As existing clients have it over HTTP.
    assert_eq!(placed["goodTillDate"], json!(0));
    let id = &placed["orderId"];
    let by_id = format!("symbol=BTCUSDT&orderId={id}");
    let status = asker.signed_call("order.status", json!({ "symbol": "BTCUSDT", "orderId": id }));
    assert_eq!(status, venue.call(1, "GET", "/fapi/v1/order", &by_id));
    let change =
        json!({ "symbol": "BTCUSDT", "orderId": id, "side": "BUY", "quantity": "0.02", "price": "59100" });
    let modified = asker.signed_call("order.modify", change);
    assert_eq!((&modified["orderId"], &modified["price"]), (id, &json!("59100")));
    let canceled =
        asker.signed_call("v1/order.cancel", json!({ "symbol": "BTCUSDT", "origClientOrderId": "one" }));
    assert_eq!((&canceled["orderId"], &canceled["status"]), (id, &json!("CANCELED")));
    assert_eq!(venue.call(1, "GET", "/fapi/v1/order", &by_id)["status"], "CANCELED");
    let judged = asker.signed_call("order.test", bid("two"));
    assert_eq!(judged["clientOrderId"], "two");
    assert_eq!(venue.ask(1, "GET", "/fapi/v1/order", "symbol=BTCUSDT&origClientOrderId=two").0, 400);
    let stop = json!({
        "algoType": "CONDITIONAL", "symbol": "BTCUSDT", "side": "SELL", "type": "STOP_MARKET",
        "quantity": "0.001", "triggerPrice": "50000",
    });
    let stop = asker.signed_call("algoOrder.place", stop);
    assert_eq!(stop["algoStatus"], "NEW");
    let gone = asker.signed_call("algoOrder.cancel", json!({ "algoId": stop["algoId"] }));
    assert_eq!((&gone["algoId"], &gone["code"]), (&stop["algoId"], &json!("200")));

    // Reads, one after the other over both ways.
    for (method, path, params) in [
        ("account.balance", "/fapi/v2/balance", json!({})),
        ("v2/account.balance", "/fapi/v3/balance", json!({})),
        ("account.status", "/fapi/v2/account", json!({})),
        ("v2/account.status", "/fapi/v3/account", json!({})),
        ("account.position", "/fapi/v2/positionRisk", json!({ "symbol": "BTCUSDT" })),
        ("v2/account.position", "/fapi/v3/positionRisk", json!({})),
        ("myTrades", "/fapi/v1/userTrades", json!({ "symbol": "BTCUSDT", "limit": 5 })),
    ] {
        let Value::Object(members) = &params else { panic!("an object") };
        let rest = venue.call(1, "GET", path, &payload(members, str::to_owned));
        assert!(rest.as_array().is_none_or(|rows| !rows.is_empty()), "{path}: {rest}");
        assert_eq!(asker.signed_call(method, params), rest, "{method}");
    }
    for (method, path, params) in [
        ("ping", "/fapi/v1/ping", json!({})),
        ("time", "/fapi/v1/time", json!({})),
        ("exchangeInfo", "/fapi/v1/exchangeInfo", json!({})),
        ("depth", "/fapi/v1/depth?symbol=BTCUSDT&limit=5", json!({ "symbol": "BTCUSDT", "limit": 5 })),
        ("ticker.price", "/fapi/v1/ticker/price?symbol=BTCUSDT", json!({ "symbol": "BTCUSDT" })),
        ("ticker.book", "/fapi/v1/ticker/bookTicker", json!({})),
        (
            "klines",
            "/fapi/v1/klines?symbol=BTCUSDT&interval=1m",
            json!({ "symbol": "BTCUSDT", "interval": "1m" }),
        ),
    ] {
        assert_eq!(asker.call(method, params), venue.public(path), "{method}");
    }

    // What the loss of this connection does: `disconnect.rs`.
    let armed = asker.signed_call("cancelOnDisconnect.arm", json!({ "graceTime": 60_000 }));
    assert_eq!(armed, json!({ "enabled": true, "graceTime": 60_000, "symbol": "" }));
    let disarmed = asker.signed_call("cancelOnDisconnect.disarm", json!({ "symbol": "BTCUSDT" }));
    assert_eq!(disarmed, json!({ "enabled": false, "graceTime": null, "symbol": "BTCUSDT" }));

    // Keys of user streams, for which the API key is enough.
    let key = json!({ "apiKey": asker.trader.key });
    let begun = asker.call("userDataStream.start", key.clone());
    assert_eq!(begun["listenKey"], json!(venue.listen_key(1)));
    assert_eq!(asker.call("userDataStream.ping", key.clone()), begun);
    assert_eq!(asker.call("userDataStream.stop", key.clone()), json!({}));
    asker.refused("userDataStream.ping", key, 400, -1125);

    // Sessions.
    let now_ms = asker.now_ms;
    let nobody = json!({
        "apiKey": null, "authorizedSince": null, "connectedSince": now_ms, "returnRateLimits": true, "serverTime": now_ms,
    });
    for method in ["session.status", "session.logout"] {
        assert_eq!(asker.call(method, json!({})), nobody);
    }
    let logon = asker.signed(json!({}));
    let answer = asker.refused("session.logon", logon, 400, -4056);
    assert_eq!(answer["error"]["msg"], "HMAC_SHA256 API key is not supported.");
    asker.refused("session.logon", json!({}), 401, -2014);

    asker.methods.remove("v1/order.cancel");
    asker.methods.insert("order.cancel".to_owned());
    let all: BTreeSet<String> = METHODS.iter().map(|row| row.name.to_owned()).collect();
    assert_eq!(asker.methods, all, "every method is asked here");
    let answer = asker.refused("order.replace", json!({}), 404, -5000);
    assert_eq!(answer["error"]["msg"], "Method order.replace is invalid");
}

#[test]
fn signatures_are_over_the_sorted_parameters_in_any_spelling() {
    let mut venue = with(|_| {});
    let reader = venue.trader(1, (true, false));
    let compatible = venue.traders[&1].clone();
    let _running = venue.exchange.run_stages();
    let mut asker = Asker::new(&venue, 1);
    let percent = |text: &str| text.replace('/', "%2F").replace(':', "%3A");
    let python = |text: &str| text.to_owned();
    for (index, is_encoded) in [false, true].into_iter().enumerate() {
        let mut params = bid(&format!("a/b:{index}"));
        params["reduceOnly"] = json!(false);
        params["apiKey"] = json!(compatible.key);
        params["timestamp"] = json!(asker.now_ms);
        let Value::Object(members) = &params else { panic!("an object") };
        let text = if is_encoded { payload(members, percent) } else { payload(members, python) };
        for text in [text.clone(), text.replace("=false", "=False")] {
            params["signature"] = json!(compatible.signature(&text));
            let placed = asker.call("order.place", params.clone());
            assert_eq!(placed["clientOrderId"], params["newClientOrderId"]);
            let cancel = json!({ "symbol": "BTCUSDT", "orderId": placed["orderId"] });
            asker.signed_call("order.cancel", cancel);
        }
    }
    // Upper case of the hex, parameters that no route knows, those that are null, numbers as numbers.
    let mut params = asker.signed(json!({ "symbol": "BTCUSDT", "limit": 7, "strategy": 1.50 }));
    params["signature"] = json!(params["signature"].as_str().unwrap().to_ascii_uppercase());
    params["fromId"] = Value::Null;
    assert_eq!(asker.call("myTrades", params), json!([]));

    let good = asker.signed(bid("never"));
    let changed = |name: &str, value: Value| {
        let mut params = good.clone();
        params[name] = value;
        params
    };
    let without = |name: &str| {
        let mut params = good.clone();
        params.as_object_mut().unwrap().remove(name);
        params
    };
    let zeros = "0".repeat(64);
    for (params, status, code) in [
        (changed("signature", json!(zeros)), 400, -1022),
        (changed("quantity", json!("0.020")), 400, -1022),
        (changed("reduceOnly", json!(true)), 400, -1022),
        (changed("apiKey", json!(venue.traders[&2].key)), 400, -1022),
        (changed("signature", json!("00")), 400, -1102),
        (without("signature"), 400, -1102),
        (without("timestamp"), 400, -1102),
        (changed("timestamp", json!("soon")), 400, -1102),
        (without("apiKey"), 401, -2014),
        (changed("apiKey", json!("short")), 401, -2014),
        (changed("apiKey", json!("line\nfeed")), 401, -2014),
        (changed("apiKey", json!("A".repeat(64))), 401, -2015),
        (json!({}), 401, -2014),
    ] {
        asker.refused("order.place", params, status, code);
    }
    let now_ms = asker.now_ms;
    for (timestamp, window, code) in [
        (now_ms - 5_001, None, -1021),
        (now_ms + 1_000, None, -1021),
        (now_ms - 5_001, Some(60_001), -1130),
        (now_ms - 101, Some(100), -1021),
    ] {
        let mut params = json!({ "timestamp": timestamp });
        window.into_iter().for_each(|window| params["recvWindow"] = json!(window));
        let params = asker.signed(params);
        asker.refused("account.balance", params, 400, code);
    }
    let mut late = asker.signed(json!({ "timestamp": now_ms - 5_001, "recvWindow": 6_000 }));
    assert!(asker.call("account.balance", late.take()).is_array());
    // A key that may read only.
    asker.trader = reader;
    assert!(asker.signed_call("account.balance", json!({})).is_array());
    let params = asker.signed(bid("never"));
    asker.refused("order.place", params, 401, -2015);
    let own = venue.call(1, "GET", "/fapi/v1/openOrders", "");
    assert_eq!(own, json!([]), "nothing came of what was refused");
}

#[test]
fn parameters_are_judged_as_over_http() {
    let mut venue = with(|_| {});
    let _running = venue.exchange.run_stages();
    let mut asker = Asker::new(&venue, 1);
    for (method, route, path, params) in [
        ("order.place", "POST", "/fapi/v1/order", json!({ "symbol": "BTCUSDT" })),
        (
            "order.place",
            "POST",
            "/fapi/v1/order",
            json!({ "symbol": "XBTUSD", "side": "BUY", "type": "LIMIT" }),
        ),
        (
            "order.place",
            "POST",
            "/fapi/v1/order",
            json!({ "symbol": "BTCUSDT", "side": "BUY", "type": "MARKET", "quantity": "1e3" }),
        ),
        ("order.cancel", "DELETE", "/fapi/v1/order", json!({ "symbol": "BTCUSDT" })),
        ("order.cancel", "DELETE", "/fapi/v1/order", json!({ "symbol": "BTCUSDT", "orderId": 999 })),
        ("order.status", "GET", "/fapi/v1/order", json!({ "symbol": "BTCUSDT", "orderId": 999 })),
        ("order.modify", "PUT", "/fapi/v1/order", json!({ "symbol": "BTCUSDT", "orderId": 999 })),
        ("algoOrder.place", "POST", "/fapi/v1/algoOrder", json!({ "symbol": "BTCUSDT" })),
        ("algoOrder.cancel", "DELETE", "/fapi/v1/algoOrder", json!({})),
        ("myTrades", "GET", "/fapi/v1/userTrades", json!({ "symbol": "BTCUSDT", "limit": 0 })),
    ] {
        let Value::Object(members) = &params else { panic!("an object") };
        let (status, body) = venue.ask(1, route, path, &payload(members, str::to_owned));
        let signed = asker.signed(params.clone());
        let answer = asker.ask(method, signed);
        assert_eq!((&answer["status"], &answer["error"]), (&json!(status), &body), "{method} {params}");
    }
    // A name that stands twice.
    asker.socket.send(r#"{"id":"x","method":"depth","params":{"symbol":"BTCUSDT","symbol":"BTCUSDT"}}"#);
    assert_eq!(asker.socket.next()["error"]["code"], -1101);
    // More than a request can carry.
    let answer = asker.refused("depth", json!({ "symbol": "%".repeat(40_000) }), 413, -1020);
    assert_eq!(answer["rateLimits"].as_array().unwrap().len(), 1);
}

#[test]
fn an_address_that_says_more_or_else_is_refused() {
    let mut venue = with(|_| {});
    for wrong in ["=null", "=1", "", "=true&returnRateLimits=true"] {
        let answer = venue.exchange.request("GET", &format!("{PATH}?returnRateLimits{wrong}"), &[], "");
        let said = r#"{"error":"returnRateLimits must be true or false"}"#;
        assert_eq!((answer.status, &*answer.body), (400, said), "{wrong}");
    }
}

#[test]
fn limits_are_those_of_http_and_are_told() {
    let mut venue = with(|config| {
        config.weight_per_minute = 60;
        config.orders_per_ten_seconds = 3;
        config.orders_per_minute = 1_200;
    });
    venue.public("/fapi/v1/ping");
    let used = |venue: &mut Venue| -> u64 {
        let answer = venue.exchange.request("GET", "/fapi/v1/ping", &[], "");
        answer.header("x-mbx-used-weight-1m").unwrap().parse().unwrap()
    };
    let before = used(&mut venue);
    let mut asker = Asker::new(&venue, 1);
    // The upgrade weighs 5.
    assert_eq!(used(&mut venue), before + 6);
    let _running = venue.exchange.run_stages();
    let limiter = |kind: &str, interval: &str, number: u32, limit: u32, count: u64| {
        json!({
            "rateLimitType": kind, "interval": interval, "intervalNum": number, "limit": limit, "count": count,
        })
    };
    let weight = |count| limiter("REQUEST_WEIGHT", "MINUTE", 1, 60, count);
    assert_eq!(asker.ask("time", json!({}))["rateLimits"], json!([weight(before + 7)]));
    let params = asker.signed(bid("one"));
    let answer = asker.ask("order.place", params);
    let orders = |count: u64| {
        [limiter("ORDERS", "SECOND", 10, 3, count), limiter("ORDERS", "MINUTE", 1, 1_200, count)]
    };
    let [ten_seconds, minute] = orders(1);
    assert_eq!(answer["rateLimits"], json!([weight(before + 7), ten_seconds, minute]));
    // Orders over HTTP count in the same window, and so do orders that the engine refuses.
    venue.call(
        1,
        "POST",
        "/fapi/v1/order",
        "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=59000",
    );
    let params = asker.signed(bid("one"));
    let answer = asker.refused("order.place", params, 400, -4116);
    let [ten_seconds, minute] = orders(3);
    assert_eq!(answer["rateLimits"], json!([weight(before + 7), ten_seconds, minute]));
    let params = asker.signed(bid("four"));
    let answer = asker.refused("order.place", params, 429, -1015);
    let data = &answer["error"]["data"];
    assert_eq!(data["serverTime"], json!(asker.now_ms));
    assert!(data["retryAfter"].as_i64().unwrap() > asker.now_ms, "{answer}");
    assert_eq!(answer["rateLimits"], json!([weight(before + 7)]));

    // Whether they are told is the address's and then the request's to say.
    let mut quiet = Asker::at(&venue, 1, "/ws-fapi/v1?returnRateLimits=false");
    assert_eq!(quiet.ask("ping", json!({})).get("rateLimits"), None);
    assert!(quiet.ask("ping", json!({ "returnRateLimits": true })).get("rateLimits").is_some());
    assert_eq!(asker.ask("ping", json!({ "returnRateLimits": "false" })).get("rateLimits"), None);
    assert_eq!(quiet.call("session.status", json!({}))["returnRateLimits"], json!(false));
    let answer = asker.refused("ping", json!({ "returnRateLimits": 1 }), 400, -1130);
    assert!(answer.get("rateLimits").is_some());

    // A frame that is none weighs 1, and a ban is told in a frame.
    let count = |answer: &Value| answer["rateLimits"][0]["count"].as_u64().unwrap();
    let known = count(&answer);
    asker.socket.send("{");
    let answer = asker.socket.next();
    assert_eq!((count(&answer), &answer["error"]["code"]), (known + 1, &json!(-1135)));
    while count(&asker.ask("ping", json!({}))) < 60 {}
    asker.refused("ping", json!({}), 429, -1003);
    let banned = (0..30).map(|_| asker.ask("ping", json!({}))).find(|answer| answer["status"] == 418);
    let banned = banned.expect("a ban");
    assert_eq!(banned["error"]["code"], -1003);
    assert!(banned["error"]["data"]["retryAfter"].as_i64().unwrap() > asker.now_ms, "{banned}");
    // It ends where the ban ends: the connection was kept.
    venue.exchange.clock.turn(180_000);
    asker.call("ping", json!({}));
}

#[test]
fn several_at_once_reach_the_engine_in_order_and_are_answered_as_they_finish() {
    let mut venue = with(|_| {});
    venue.exchange.is_gate_open = false;
    let mut asker = Asker::new(&venue, 1);
    let ids: Vec<u64> = (0..20)
        .map(|index| {
            let params = asker.signed(bid(&format!("order-{index}")));
            asker.send("order.place", params)
        })
        .collect();
    // What waits for nothing overtakes.
    let time = asker.send("time", json!({}));
    assert_eq!(asker.socket.next()["id"], json!(time));
    venue.exchange.turn();
    assert_eq!(asker.socket.try_next(Duration::from_millis(100)), Ok(None), "nothing is durable yet");
    venue.exchange.is_gate_open = true;
    venue.exchange.turn();
    let mut last = 0;
    for id in ids {
        let answer = asker.socket.next();
        assert_eq!((&answer["id"], &answer["status"]), (&json!(id), &json!(200)), "{answer}");
        let order = answer["result"]["orderId"].as_u64().unwrap();
        assert!(order > last, "{order} after {last}");
        last = order;
    }
    // The same through bytes that come in one piece, a refusal in between.
    let _running = venue.exchange.run_stages();
    let mut texts = Vec::new();
    for index in 0..10 {
        let name = if index == 5 { "order-1".to_owned() } else { format!("more-{index}") };
        let params = asker.signed(bid(&name));
        texts.push(json!({ "id": name, "method": "order.place", "params": params }).to_string());
    }
    for text in &texts {
        asker.socket.inner.write(Message::Text(Utf8Bytes::from(text.as_str()))).unwrap();
    }
    asker.socket.inner.flush().unwrap();
    let mut placed: Vec<(u64, String)> = Vec::new();
    for _ in 0..texts.len() {
        let answer = asker.socket.next();
        let id = answer["id"].as_str().unwrap().to_owned();
        match answer["status"].as_u64().unwrap() {
            200 => placed.push((answer["result"]["orderId"].as_u64().unwrap(), id)),
            _ => assert_eq!((&*id, &answer["error"]["code"]), ("order-1", &json!(-4116))),
        }
    }
    placed.sort();
    let names: Vec<&str> = placed.iter().map(|(_, name)| &**name).collect();
    assert_eq!(
        names,
        ["more-0", "more-1", "more-2", "more-3", "more-4", "more-6", "more-7", "more-8", "more-9"]
    );
}

#[test]
fn so_many_wait_at_once_and_no_more_are_read() {
    let mut venue = with(|_| {});
    venue.exchange.is_gate_open = false;
    let mut asker = Asker::new(&venue, 1);
    // Cancels, since orders must leave slots of the ring free.
    for index in 0..RUNNING_MAX {
        let params = asker.signed(json!({ "symbol": "BTCUSDT", "orderId": 1_000 + index }));
        asker.send("order.cancel", params);
    }
    let time = asker.send("time", json!({}));
    assert_eq!(asker.socket.try_next(Duration::from_millis(200)), Ok(None), "nothing more is read");
    venue.exchange.is_gate_open = true;
    let mut answered = 0;
    loop {
        venue.exchange.turn();
        let Ok(Some(text)) = asker.socket.try_next(Duration::from_secs(60)) else { panic!("no answer") };
        let answer: Value = serde_json::from_str(&text).unwrap();
        if answer["id"] == json!(time) {
            break;
        }
        assert_eq!(answer["error"]["code"], -2011, "{answer}");
        answered += 1;
    }
    assert!(answered > 0, "there was no room before one was answered");
    for _ in answered..RUNNING_MAX {
        assert_eq!(asker.socket.next()["error"]["code"], -2011);
    }
}

#[test]
fn frames_that_are_no_requests_are_answered_and_lose_nothing() {
    let mut venue = with(|config| config.websocket_requests_per_second = u32::MAX);
    venue.exchange.is_gate_open = false;
    let mut asker = Asker::new(&venue, 1);
    let params = asker.signed(bid("kept"));
    let kept = asker.send("order.place", params);
    for (text, id, status, code) in [
        ("", json!(null), 400, -1135),
        ("no JSON", json!(null), 400, -1135),
        ("[]", json!(null), 400, -1135),
        (r#"[1,"ping"]"#, json!(null), 400, -1135),
        (r#"{"id":1,"method":"ping"}}"#, json!(null), 400, -1135),
        (r#"{"method":"ping"}"#, json!(null), 400, -1102),
        (r#"{"id":[1],"method":"ping"}"#, json!(null), 400, -1102),
        (r#"{"id":1.5,"method":"ping"}"#, json!(null), 400, -1102),
        (r#"{"id":"a"}"#, json!("a"), 400, -1102),
        (r#"{"id":7,"method":7}"#, json!(7), 400, -1102),
        (r#"{"id":7,"method":"SUBSCRIBE","params":["btcusdt@depth"]}"#, json!(7), 400, -1135),
        (r#"{"id":null,"method":"nothing"}"#, json!(null), 404, -5000),
        (r#"{"id":-9,"method":"ping","params":3}"#, json!(-9), 400, -1135),
    ] {
        asker.socket.send(text);
        let answer = asker.socket.next();
        assert_eq!((&answer["id"], &answer["status"]), (&id, &json!(status)), "{text}: {answer}");
        assert_eq!(answer["error"]["code"], json!(code), "{text}: {answer}");
    }
    // They count in the figures as answers over HTTP do: thirteen of 4xx, and no other yet.
    let figures = &venue.exchange.shared.metrics.workers[0];
    let answers = |class: usize| figures.answers[Dialect::Fapi as usize][class].get();
    assert_eq!((answers(2), answers(4)), (0, 13));
    asker.socket.inner.send(Message::Binary(b"{\"id\":1,\"method\":\"ping\"}".to_vec().into())).unwrap();
    assert_eq!(asker.socket.next()["error"]["code"], -1135);
    for (text, id) in [
        (
            r#"{"id":"c174a2b1-3f51-4580-b200-8528bd237cb7","method":"ping"}"#,
            json!("c174a2b1-3f51-4580-b200-8528bd237cb7"),
        ),
        (r#" {"params":null,"method":"p\u0069ng","id":18446744073709551615,"more":1}"#, json!(u64::MAX)),
        (r#"{"id":null,"method":"ping","params":{}}"#, json!(null)),
    ] {
        asker.socket.send(text);
        let answer = asker.socket.next();
        assert_eq!((&answer["id"], &answer["status"], &answer["result"]), (&id, &json!(200), &json!({})));
    }
    venue.exchange.is_gate_open = true;
    venue.exchange.turn();
    let answer = asker.socket.next();
    assert_eq!((&answer["id"], &answer["result"]["status"]), (&json!(kept), &json!("NEW")));
}

#[test]
fn what_breaks_a_limit_of_frames_is_closed_once_all_before_is_answered() {
    for (frames_max, code) in [(u32::MAX, 1009), (3, 1008)] {
        let mut venue = with(|config| config.websocket_requests_per_second = frames_max);
        venue.exchange.is_gate_open = false;
        let mut asker = Asker::new(&venue, 1);
        let params = asker.signed(bid("kept"));
        let kept = asker.send("order.place", params);
        asker.call("ping", json!({}));
        if code == 1009 {
            // The server may close while this is still being sent.
            let _ = asker.socket.inner.send(Message::text(" ".repeat(70_000)));
        } else {
            asker.call("ping", json!({}));
            asker.socket.send(r#"{"id":1,"method":"ping"}"#);
            asker.socket.send(r#"{"id":2,"method":"ping"}"#);
        }
        assert_eq!(asker.socket.try_next(Duration::from_millis(100)), Ok(None), "one still waits");
        venue.exchange.is_gate_open = true;
        venue.exchange.turn();
        let answer = asker.socket.next();
        assert_eq!((&answer["id"], &answer["result"]["status"]), (&json!(kept), &json!("NEW")));
        assert!(matches!(asker.socket.end(), End::Closed(sent, _) if sent == code), "{code}");
    }
}

#[test]
fn a_stop_waits_for_what_runs() {
    let mut venue = with(|_| {});
    venue.exchange.is_gate_open = false;
    let mut asker = Asker::new(&venue, 1);
    let params = asker.signed(bid("kept"));
    let kept = asker.send("order.place", params);
    asker.call("ping", json!({}));
    venue.exchange.stop_server();
    assert_eq!(asker.socket.try_next(Duration::from_millis(100)), Ok(None));
    venue.exchange.is_gate_open = true;
    venue.exchange.turn();
    let answer = asker.socket.next();
    assert_eq!((&answer["id"], &answer["result"]["status"]), (&json!(kept), &json!("NEW")));
    assert_eq!(asker.socket.end(), End::Closed(1001, "shutting down".to_owned()));
}

#[test]
fn what_a_client_left_running_takes_effect() {
    let mut venue = with(|_| {});
    venue.exchange.is_gate_open = false;
    for (name, is_cut) in [("closed", false), ("cut", true)] {
        let mut asker = Asker::new(&venue, 1);
        let params = asker.signed(bid(name));
        asker.send("order.place", params);
        asker.call("ping", json!({}));
        if is_cut {
            // A frame that is begun and never ends.
            asker.socket.inner.get_mut().write_all(&[0x81, 0xfe, 0x10]).unwrap();
        } else {
            asker.socket.inner.close(None).unwrap();
            assert!(matches!(asker.socket.end(), End::Closed(..)));
        }
    }
    venue.exchange.is_gate_open = true;
    // What the worker has taken becomes visible to the stages at the end of its turn, which may still be under way.
    let deadline = Instant::now() + Duration::from_secs(10);
    loop {
        venue.exchange.turn();
        let open = venue.call(1, "GET", "/fapi/v1/openOrders", "");
        let names: BTreeSet<&str> =
            open.as_array().unwrap().iter().map(|order| order["clientOrderId"].as_str().unwrap()).collect();
        if names == BTreeSet::from(["closed", "cut"]) {
            break;
        }
        assert!(Instant::now() < deadline, "only {names:?}");
    }
    // The next client has a connection like any other.
    let mut asker = Asker::new(&venue, 1);
    asker.call("ping", json!({}));
}

#[test]
fn a_request_that_takes_too_long_is_told_so() {
    let mut venue = with(|config| config.request_timeout = Duration::from_millis(300));
    venue.exchange.is_gate_open = false;
    let mut asker = Asker::new(&venue, 1);
    for name in ["one", "two"] {
        let params = asker.signed(bid(name));
        let answer = asker.refused("order.place", params, 503, -1000);
        assert_eq!(answer["rateLimits"][1]["count"], json!(if name == "one" { 1 } else { 2 }), "it counts");
    }
    venue.exchange.is_gate_open = true;
    venue.exchange.turn();
    assert_eq!(venue.call(1, "GET", "/fapi/v1/openOrders", "").as_array().unwrap().len(), 2);
}

#[test]
fn where_existing_clients_have_no_header_their_frames_are_like_any_other_request() {
    let mut venue = with(|config| config.compat_header = false);
    let _running = venue.exchange.run_stages();
    let mut asker = Asker::new(&venue, 1);
    // `perpetual.md` 2: the two points in which requests of existing clients differ.
    assert_eq!(asker.signed_call("order.place", bid("one"))["goodTillDate"], json!("0"));
    let key = json!({ "apiKey": asker.trader.key });
    asker.refused("userDataStream.start", key, 400, -1102);
    assert!(asker.signed_call("userDataStream.start", json!({}))["listenKey"].is_string());
}
