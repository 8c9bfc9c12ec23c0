//! The stream protocol of perpetual markets through sockets: addresses, requests, and that every stream says what REST says,
//! when it has something to say, in the shape that was recorded of the original. Books are `stream_book.rs`.

use crate::exchange::socket::{End, Socket};
use crate::exchange::venue::Venue;
use crate::exchange::{self, START_S};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const START_MS: i64 = START_S * 1_000;
const BUY: &str = "symbol=BTCUSDT&side=BUY&type=LIMIT&timeInForce=GTC";
const SELL: &str = "symbol=BTCUSDT&side=SELL&type=LIMIT&timeInForce=GTC";

fn venue() -> Venue {
    Venue::with(&[(1, 100_000), (2, 100_000), (3, 120)], 1_000_000_000, |config| {
        config.websocket_frames_per_second = u32::MAX;
        config.orders_per_minute = u32::MAX;
    })
}

/// Turns the clock and lets everything that is due out.
fn wait(venue: &mut Venue, ms: i64) {
    venue.exchange.clock.turn(ms);
    venue.exchange.turn();
}

fn read(socket: &mut Socket) -> Vec<Value> {
    socket.drain().unwrap().iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// Payloads by the name of their stream.
fn by_stream(socket: &mut Socket) -> BTreeMap<String, Vec<Value>> {
    let mut all: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for mut frame in read(socket) {
        let name = frame["stream"].as_str().unwrap_or_else(|| panic!("{frame}")).to_owned();
        all.entry(name).or_default().push(frame["data"].take());
    }
    all
}

fn public(venue: &mut Venue, path: &str) -> Value {
    serde_json::from_str(&venue.exchange.request("GET", path, &[], "").body).unwrap()
}

/// One trade of 0.004 at 60000, and what rests beside it.
fn trade(venue: &mut Venue) {
    venue.place(1, &format!("{BUY}&quantity=0.010&price=60000"));
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004");
}

#[test]
fn an_address_names_streams() {
    let mut venue = venue();
    let bare = [
        "/ws/btcusdt@trade",
        "/ws/BTCUSDT@trade/nothing/btcusdt@trade",
        "/public/ws/btcusdt@trade",
        "/market/ws/btcusdt@trade",
        "/private/ws/btcusdt@trade",
    ];
    let wrapped = [
        "/stream?streams=btcusdt@trade",
        "/stream?streams=x/BtcUsdt%40trade",
        "/public/stream?streams=btcusdt@trade",
        "/market/stream?streams=btcusdt@trade",
        "/private/stream?streams=btcusdt@trade",
    ];
    let silent = [
        "/ws",
        "/ws/7",
        "/stream",
        "/market/ws/1",
        "/market/stream",
        "/public/ws",
        "/private/ws",
        "/ws?streams=btcusdt@trade",
        "/ws/btcusdt@Trade",
    ];
    let [mut bare, mut wrapped, mut silent] = [&bare[..], &wrapped[..], &silent[..]]
        .map(|paths| paths.iter().map(|path| Socket::at(&venue.exchange, path)).collect::<Vec<_>>());
    for socket in bare.iter_mut().chain(&mut wrapped).chain(&mut silent) {
        assert_eq!(read(socket), [Value::Null; 0]);
    }
    trade(&mut venue);
    let event = json!({
        "e": "trade", "E": START_MS, "T": START_MS, "s": "BTCUSDT", "t": 1, "p": "60000.0", "q": "0.004", "X": "MARKET", "m": true,
    });
    for socket in &mut bare {
        assert_eq!(read(socket), std::slice::from_ref(&event));
    }
    for socket in &mut wrapped {
        assert_eq!(read(socket), [json!({ "stream": "btcusdt@trade", "data": event })]);
    }
    for socket in &mut silent {
        assert_eq!(read(socket), [Value::Null; 0]);
    }
    // `/stream` without names has the wrapper on, `/ws` has not.
    for (socket, is_combined) in silent.iter_mut().zip([false, false, true, false, true]) {
        assert_eq!(
            socket.ask(r#"{"method":"GET_PROPERTY","params":["combined"],"id":1}"#),
            [json!({ "result": is_combined, "id": 1 })]
        );
    }
}

#[test]
fn a_listen_key_of_nobody_refuses_the_upgrade() {
    let mut venue = venue();
    let key = "a".repeat(64);
    let upgrade = [
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]
    .map(str::to_owned);
    for path in [
        format!("/ws/{key}"),
        format!("/ws/btcusdt@trade/{key}"),
        format!("/stream?streams=btcusdt@trade/{key}"),
        format!("/ws?listenKey={key}"),
        format!("/private/stream?listenKey={key}&events=ORDER_TRADE_UPDATE"),
        "/private/ws?listenKey=short".to_owned(),
        "/ws?listenKey=".to_owned(),
    ] {
        let answer = venue.exchange.request("GET", &path, &upgrade, "");
        assert_eq!(
            (answer.status, &*answer.body),
            (401, r#"{"code":-1125,"msg":"This listenKey does not exist."}"#),
            "{path}"
        );
    }
    // On an open connection such a name is silent, like any other.
    let mut socket = Socket::open(&venue.exchange);
    assert_eq!(
        socket.ask(&json!({ "method": "SUBSCRIBE", "params": [key], "id": 1 }).to_string()),
        [json!({ "result": null, "id": 1 })]
    );
}

#[test]
fn requests_subscribe_list_and_wrap() {
    let mut venue = venue();
    let mut socket = Socket::open(&venue.exchange);
    let mut ask = |text: &str, answer: Value| assert_eq!(socket.ask(text), [answer], "{text}");
    let id = "1c3bf5b5-7c6c-4a7d-9a3c-2b1f0e9d8c7b";
    ask(r#"{"method":"LIST_SUBSCRIPTIONS","id":0}"#, json!({ "result": [], "id": 0 }));
    ask(&json!({ "method": "SUBSCRIBE", "params": ["BTCUSDT@trade", "what@ever", "!contractInfo"], "id": id }).to_string(), json!({ "result": null, "id": id }));
    ask(
        r#"{"method":"SUBSCRIBE","params":["btcusdt@trade","ethusdt@trade"],"id":1699999999999}"#,
        json!({ "result": null, "id": 1_699_999_999_999_i64 }),
    );
    ask(
        r#"{"method":"LIST_SUBSCRIPTIONS"}"#,
        json!({ "result": ["btcusdt@trade", "what@ever", "!contractInfo", "ethusdt@trade"], "id": null }),
    );
    ask(
        r#"{"method":"UNSUBSCRIBE","params":["what@ever","ETHUSDT@trade","never@there"],"id":3}"#,
        json!({ "result": null, "id": 3 }),
    );
    ask(r#"{"method":"GET_PROPERTY","params":["combined"],"id":4}"#, json!({ "result": false, "id": 4 }));
    trade(&mut venue);
    let [plain] = <[Value; 1]>::try_from(read(&mut socket)).unwrap();
    assert_eq!(plain["e"], "trade");
    let switch = |socket: &mut Socket, on: bool| {
        let text = json!({ "method": "SET_PROPERTY", "params": ["combined", on], "id": 5 }).to_string();
        assert_eq!(socket.ask(&text), [json!({ "result": null, "id": 5 })]);
    };
    switch(&mut socket, true);
    trade(&mut venue);
    let [wrapped] = <[Value; 1]>::try_from(read(&mut socket)).unwrap();
    assert_eq!((&wrapped["stream"], &wrapped["data"]["t"]), (&json!("btcusdt@trade"), &json!(2)));
    switch(&mut socket, false);
    // The channel protocol on the same connection, of both venues.
    assert_eq!(socket.ask(r#"{"type":"ping"}"#), [json!({ "type": "pong", "ts": START_MS })]);
    assert_eq!(
        socket.ask(r#"{"type":"subscribe","channel":"trades:btcusdt"}"#),
        [json!({ "type": "subscribed", "channel": "trades:BTCUSDT" })]
    );
    trade(&mut venue);
    let mut both = read(&mut socket);
    let channel: Vec<Value> = both.extract_if(.., |frame| frame["channel"] == "trades:BTCUSDT").collect();
    assert!(!channel.is_empty() && channel.iter().all(|frame| frame["type"] == "trade"));
    assert!(channel.iter().map(|frame| &frame["data"]).eq(&both), "{channel:?} and {both:?}");
    assert_eq!(socket.ask(r#"{"method":"UNSUBSCRIBE","params":["btcusdt@trade"],"id":6}"#).len(), 1);
    trade(&mut venue);
    let rest = read(&mut socket);
    assert!(
        !rest.is_empty() && rest.iter().all(|frame| frame["type"] == "trade"),
        "the channel goes on: {rest:?}"
    );
}

#[test]
fn bad_requests_are_refused_in_both_shapes() {
    let venue = venue();
    let mut socket = Socket::open(&venue.exchange);
    let mut refuses = |text: &str, code: u32, msg: &str, id: Value| {
        let refused = json!({ "error": { "code": code, "msg": msg }, "code": code, "msg": msg, "id": id });
        assert_eq!(socket.ask(text), [refused], "{text}");
    };
    let methods = "expected one of SUBSCRIBE, UNSUBSCRIBE, LIST_SUBSCRIPTIONS, SET_PROPERTY, GET_PROPERTY";
    refuses(
        r#"{"method":"subscribe","params":[],"id":1}"#,
        2,
        &format!("Invalid request: unknown variant subscribe, {methods}"),
        json!(1),
    );
    refuses(r#"{"method":7,"id":1}"#, 2, &format!("Invalid request: unknown variant 7, {methods}"), json!(1));
    for params in
        ["", r#","params":"btcusdt@trade""#, r#","params":[1]"#, r#","params":{}"#, r#","params":[null]"#]
    {
        refuses(
            &format!(r#"{{"method":"SUBSCRIBE","id":"a"{params}}}"#),
            2,
            "Invalid request: invalid params",
            json!("a"),
        );
        refuses(
            &format!(r#"{{"method":"UNSUBSCRIBE"{params}}}"#),
            2,
            "Invalid request: invalid params",
            Value::Null,
        );
    }
    refuses(r#"{"method":"GET_PROPERTY","params":["other"],"id":1}"#, 0, "Unknown property", json!(1));
    refuses(r#"{"method":"SET_PROPERTY","params":["other",true],"id":1}"#, 0, "Unknown property", json!(1));
    refuses(
        r#"{"method":"SET_PROPERTY","params":["combined","true"],"id":1}"#,
        1,
        "Invalid value type: expected Boolean",
        json!(1),
    );
    // Names count whether or not they are of a stream; those that are there do not count again.
    let names = |from: usize, to: usize| (from..to).map(|number| format!("n{number}")).collect::<Vec<_>>();
    let subscribe =
        |names: Vec<String>| json!({ "method": "SUBSCRIBE", "params": names, "id": 9 }).to_string();
    assert_eq!(socket.ask(&subscribe(names(0, 1_000)))[0]["result"], Value::Null);
    assert_eq!(socket.ask(&subscribe(names(500, 1_025)))[0]["msg"], "Invalid request: too many parameters");
    assert_eq!(socket.ask(&subscribe(names(500, 1_024)))[0]["result"], Value::Null);
    let listed = &socket.ask(r#"{"method":"LIST_SUBSCRIPTIONS","id":1}"#)[0]["result"];
    assert_eq!(listed.as_array().unwrap().len(), 1_024);
    assert_eq!(socket.ask(&subscribe(names(1_024, 1_025)))[0]["code"], 2);
    assert_eq!(socket.ask(r#"{"params":[],"id":1}"#)[0]["code"], "INVALID_MESSAGE");
}

#[test]
fn a_connection_lives_as_long_as_it_may() {
    let venue = Venue::with(&[(1, 1)], 0, |config| config.websocket_life = Duration::from_millis(300));
    let mut socket = Socket::at(&venue.exchange, "/ws/btcusdt@trade");
    assert_eq!(socket.end(), End::Closed(1000, "connect again".to_owned()));
}

/// Names and types of members, arrays by their first element.
fn shape(value: &Value) -> Value {
    match value {
        Value::Object(members) => members.iter().map(|(name, value)| (name.clone(), shape(value))).collect(),
        Value::Array(rows) => Value::Array(rows.first().map(shape).into_iter().collect()),
        Value::String(_) => json!("string"),
        Value::Number(_) => json!("number"),
        Value::Bool(_) => json!("boolean"),
        Value::Null => json!("null"),
    }
}

/// Members that ours have and the recorded event has not, or the other way round: (event, member, is ours). `nq` and `ap` came
/// to the original after the recordings; a trade that is told alone was never written down there.
const DIFFERENCES: &[(&str, &str, bool)] = &[("AggTrades", "nq", true), ("MarkPrice", "ap", true)];

#[test]
fn shapes_are_those_of_recorded_events() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/data/binance-rest-golden/usdm_client_fixtures_streams.jsonl"
    );
    let Ok(text) = std::fs::read_to_string(path) else {
        return eprintln!("skipped: {path} is not there");
    };
    let recorded: BTreeMap<String, Value> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|line| (line["name"].as_str().unwrap().to_owned(), line["event"].clone()))
        .collect();
    let ours = one_of_each();
    let rows = [
        ("Book", "btcusdt@depth"),
        ("Book", "btcusdt@depth@250ms"),
        ("Book", "btcusdt@depth@500ms"),
        ("Book", "btcusdt@depth@100ms"),
        ("Book", "btcusdt@depth@0ms"),
        ("PartialBook", "btcusdt@depth5"),
        ("PartialBook", "btcusdt@depth10@500ms"),
        ("PartialBook", "btcusdt@depth20@100ms"),
        ("AggTrades", "btcusdt@aggTrade"),
        ("BookTicker", "btcusdt@bookTicker"),
        ("BookTicker", "!bookTicker"),
        ("MarkPrice", "btcusdt@markPrice"),
        ("MarkPrice", "btcusdt@markPrice@1s"),
        ("MarkPrice", "!markPrice@arr"),
        ("MarkPrice", "!markPrice@arr@1s"),
        ("Klines", "btcusdt@kline_1m"),
        ("Klines", "btcusdt@kline_1M"),
        ("ContKlines", "btcusdt_perpetual@continuousKline_1m"),
        ("MiniTicker", "btcusdt@miniTicker"),
        ("MiniTicker", "!miniTicker@arr"),
        ("Ticker", "btcusdt@ticker"),
        ("Ticker", "!ticker@arr"),
        ("Liquidations", "btcusdt@forceOrder"),
        ("Liquidations", "!forceOrder@arr"),
    ];
    for (name, stream) in rows {
        let mut expected = shape(&recorded[name]);
        for (_, member, is_ours) in DIFFERENCES.iter().filter(|row| row.0 == name) {
            let members = expected.as_object_mut().unwrap();
            if *is_ours {
                drop(members.insert((*member).to_owned(), json!("string")))
            } else {
                drop(members.remove(*member))
            }
        }
        let event = ours.get(stream).unwrap_or_else(|| panic!("{stream} was silent"));
        // Arrays of all markets have events of one.
        let event = event.as_array().map_or(event, |rows| &rows[0]);
        // One side of a book may not have changed, or be empty.
        for side in ["b", "a"].into_iter().filter(|side| event[side] == json!([])) {
            expected[side] = json!([]);
        }
        assert_eq!(shape(event), expected, "{stream}");
    }
    let trade =
        json!({ "e": "trade", "E": 1, "T": 1, "s": "", "t": 1, "p": "", "q": "", "X": "", "m": true });
    assert_eq!(shape(&ours["btcusdt@trade"]), shape(&trade));
    // Of a change of the status alone no brackets.
    let mut contract = shape(&recorded["SymbolUpdates"]);
    contract.as_object_mut().unwrap().remove("bks");
    assert_eq!(shape(&ours["!contractInfo"]), contract);
}

/// One event of each stream.
fn one_of_each() -> BTreeMap<String, Value> {
    let mut venue = venue();
    let names = [
        "btcusdt@trade",
        "btcusdt@aggTrade",
        "btcusdt@bookTicker",
        "!bookTicker",
        "btcusdt@markPrice",
        "btcusdt@markPrice@1s",
        "!markPrice@arr",
        "!markPrice@arr@1s",
        "btcusdt@miniTicker",
        "!miniTicker@arr",
        "btcusdt@ticker",
        "!ticker@arr",
        "btcusdt@forceOrder",
        "!forceOrder@arr",
        "!contractInfo",
        "btcusdt@kline_1m",
        "btcusdt@kline_1M",
        "btcusdt_perpetual@continuousKline_1m",
        "btcusdt@depth",
        "btcusdt@depth@250ms",
        "btcusdt@depth@500ms",
        "btcusdt@depth@100ms",
        "btcusdt@depth@0ms",
        "btcusdt@depth5",
        "btcusdt@depth10@500ms",
        "btcusdt@depth20@100ms",
    ];
    let mut socket = Socket::at(&venue.exchange, &format!("/stream?streams={}", names.join("/")));
    read(&mut socket);
    trade(&mut venue);
    liquidate(&mut venue);
    venue.operate("PATCH", "/admin/perpetual/symbols/SOLUSDT", r#"{"state":"REDUCE_ONLY"}"#);
    wait(&mut venue, 1_000);
    wait(&mut venue, 3_000);
    by_stream(&mut socket).into_iter().map(|(name, mut events)| (name, events.remove(0))).collect()
}

/// Account 3 goes long with all it has; then the index falls.
fn liquidate(venue: &mut Venue) {
    venue.call(3, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=100");
    venue.place(1, &format!("{SELL}&quantity=0.100&price=60000.1"));
    venue.place(3, &format!("{BUY}&quantity=0.100&price=60000.1"));
    venue.place(1, &format!("{BUY}&quantity=1.000&price=59300"));
    venue.operate("POST", "/admin/perpetual/index-price", r#"{"symbol":"BTCUSDT","price":"58500"}"#);
    wait(venue, 1_000);
    wait(venue, 1_000);
}

#[test]
fn a_liquidation_is_told() {
    let mut venue = venue();
    let mut socket = Socket::at(&venue.exchange, "/stream?streams=btcusdt@forceOrder/!forceOrder@arr");
    assert_eq!(socket.subscribe("liquidations:BTCUSDT")["type"], "subscribed");
    trade(&mut venue);
    liquidate(&mut venue);
    wait(&mut venue, 1_000);
    let (steps, orders): (Vec<Value>, Vec<Value>) =
        read(&mut socket).into_iter().partition(|frame| frame["type"] == "liquidation");
    assert!(!steps.is_empty());
    let mut sum = 0;
    for step in &steps {
        let data = &step["data"];
        assert_eq!(
            (&step["channel"], &data["symbol"], &data["side"]),
            (&json!("liquidations:BTCUSDT"), &json!("BTCUSDT"), &json!("SELL"))
        );
        assert_eq!(data["account"].as_str().unwrap().len(), 8);
        assert!(["BOOK", "FUND", "ADL", "UNWIND"].contains(&data["reason"].as_str().unwrap()));
        if data["reason"] == "BOOK" {
            sum += (data["quantity"].as_str().unwrap().parse::<f64>().unwrap() * 1000.0).round() as i64;
        }
    }
    assert!(sum > 0, "{steps:?}");
    assert_eq!(orders.len() % 2, 0);
    assert!(!orders.is_empty());
    assert_eq!(orders[0]["data"], orders[1]["data"], "one market and all of them tell the same");
    let order = &orders[0]["data"]["o"];
    assert_eq!([&order["s"], &order["S"], &order["o"], &order["f"]], ["BTCUSDT", "SELL", "LIMIT", "IOC"]);
    assert!(order["z"].as_str().unwrap().parse::<f64>().unwrap() > 0.0);
}

#[test]
fn what_the_fund_gains_in_a_market_is_told() {
    let mut venue = venue();
    let streams = "btcusdt@insurance/ethusdt@insurance";
    let mut socket = Socket::at(&venue.exchange, &format!("/stream?streams={streams}"));
    let balance = |venue: &mut Venue| {
        let fund = public(venue, "/fapi/v1/insuranceBalance?symbol=BTCUSDT");
        fund["assets"][0]["marginBalance"].as_str().unwrap().to_owned()
    };
    let micros = |text: &Value| (text.as_str().unwrap().parse::<f64>().unwrap() * 1e6).round() as i64;
    trade(&mut venue);
    assert_eq!(read(&mut socket), Vec::<Value>::new(), "a trade moves nothing of the fund's");
    liquidate(&mut venue);
    let told = by_stream(&mut socket);
    assert_eq!(told.keys().collect::<Vec<_>>(), ["btcusdt@insurance"]);
    let told = &told["btcusdt@insurance"];
    let last = told.last().unwrap();
    assert_eq!([&last["e"], &last["s"], &last["a"]], ["insuranceUpdate", "BTCUSDT", "USDT"]);
    assert_eq!(last["b"], balance(&mut venue).as_str());
    let sum: i64 = told.iter().map(|event| micros(&event["d"])).sum();
    assert!(sum > 0 && sum == micros(&last["b"]), "the fund had nothing: {told:?}");
}

#[test]
fn a_liquidation_that_the_book_gives_nothing_is_an_order_all_the_same() {
    let mut venue = venue();
    let mut socket = Socket::at(&venue.exchange, "/ws/btcusdt@forceOrder");
    venue.call(3, "POST", "/fapi/v1/leverage", "symbol=BTCUSDT&leverage=100");
    venue.place(1, &format!("{SELL}&quantity=0.100&price=60000.1"));
    venue.place(3, &format!("{BUY}&quantity=0.100&price=60000.1"));
    venue.operate("POST", "/admin/perpetual/index-price", r#"{"symbol":"BTCUSDT","price":"58500"}"#);
    for _ in 0..3 {
        wait(&mut venue, 1_000);
    }
    let rows = venue.call(3, "GET", "/fapi/v1/forceOrders", "symbol=BTCUSDT");
    let told = read(&mut socket);
    assert_eq!((told.len(), rows.as_array().unwrap().len()), (1, 1), "{told:?} {rows}");
    let order = &told[0]["o"];
    for (short, long) in [
        ("S", "side"),
        ("q", "origQty"),
        ("p", "price"),
        ("ap", "avgPrice"),
        ("X", "status"),
        ("z", "executedQty"),
    ] {
        assert_eq!(order[short], rows[0][long], "{short}");
    }
    // A counterparty took it over.
    assert_eq!([&order["X"], &order["z"], &order["l"], &order["ap"]], ["FILLED", "0.1", "0.1", "58500"]);
}

#[test]
fn timed_streams_speak_when_there_is_something_to_say() {
    let mut venue = venue();
    let names = [
        "btcusdt@depth@100ms",
        "btcusdt@depth",
        "btcusdt@depth@500ms",
        "btcusdt@depth5@100ms",
        "btcusdt@aggTrade",
        "btcusdt@kline_1m",
        "btcusdt@ticker",
        "btcusdt@miniTicker",
        "!ticker@arr",
        "ethusdt@depth@100ms",
    ];
    let mut socket = Socket::at(&venue.exchange, &format!("/stream?streams={}", names.join("/")));
    wait(&mut venue, 2_000);
    assert_eq!(read(&mut socket), [Value::Null; 0], "nothing has happened");
    trade(&mut venue);
    assert_eq!(read(&mut socket), [Value::Null; 0], "nothing is due");
    let mut seen: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for step in 1..=40 {
        wait(&mut venue, 50);
        for (name, events) in by_stream(&mut socket) {
            seen.entry(name).or_default().extend(events.iter().map(|_| step * 50));
        }
    }
    let at = |name: &str| seen.get(name).cloned().unwrap_or_default();
    for (name, times) in [
        ("btcusdt@depth@100ms", vec![100]),
        ("btcusdt@depth5@100ms", vec![100]),
        ("btcusdt@depth", vec![250]),
        ("btcusdt@depth@500ms", vec![500]),
        ("btcusdt@aggTrade", vec![200]),
        ("btcusdt@kline_1m", vec![250]),
        ("btcusdt@ticker", vec![1_000]),
        ("btcusdt@miniTicker", vec![1_000]),
        ("!ticker@arr", vec![1_000]),
        ("ethusdt@depth@100ms", vec![]),
    ] {
        assert_eq!(at(name), times, "{name}");
    }
}

/// C-35: a whole snapshot of a book that became empty is told, since whoever keeps the last one would keep a dead level; a
/// difference of nothing is not.
#[test]
fn a_book_that_became_empty_is_told_where_it_is_told_whole() {
    let mut venue = venue();
    let names = ["btcusdt@depth5@0ms", "btcusdt@depth10@100ms", "btcusdt@depth20", "btcusdt@depth@100ms"];
    let mut socket = Socket::at(&venue.exchange, &format!("/stream?streams={}", names.join("/")));
    let time = |venue: &mut Venue| venue.public("/fapi/v1/depth?symbol=BTCUSDT")["T"].clone();
    assert!(
        time(&mut venue).as_i64().unwrap() > 1_600_000_000_000,
        "no command has touched it but its listing"
    );
    let order = venue.place(1, &format!("{BUY}&quantity=0.002&price=59000"));
    wait(&mut venue, 300);
    let events = by_stream(&mut socket);
    for name in names {
        assert_eq!(events[name].last().unwrap()["b"], json!([["59000.0", "0.002"]]), "{name}");
    }
    venue.call(1, "DELETE", "/fapi/v1/order", &format!("symbol=BTCUSDT&orderId={}", order["orderId"]));
    wait(&mut venue, 300);
    let events = by_stream(&mut socket);
    for name in &names[..3] {
        let told = events[*name].last().unwrap();
        assert_eq!((&told["b"], &told["a"]), (&json!([]), &json!([])), "{name}");
        assert_eq!(told["u"].as_u64().unwrap(), told["pu"].as_u64().unwrap() + 1, "{name}");
    }
    assert_eq!(events[names[3]].last().unwrap()["b"], json!([["59000.0", "0.000"]]));
    wait(&mut venue, 1_000);
    assert!(by_stream(&mut socket).is_empty(), "it is told once");
}

#[test]
fn rows_candles_and_days_are_those_of_rest() {
    let mut venue = venue();
    let names = [
        "btcusdt@aggTrade",
        "btcusdt@kline_1m",
        "btcusdt_perpetual@continuousKline_1m",
        "btcusdt@ticker",
        "btcusdt@miniTicker",
    ];
    venue.place(1, &format!("{BUY}&quantity=1.000&price=60000"));
    venue.place(1, &format!("{BUY}&quantity=1.000&price=59999.9"));
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.001");
    // The first row is begun before anyone listens, and is told whole.
    let mut socket = Socket::at(&venue.exchange, &format!("/stream?streams={}", names.join("/")));
    read(&mut socket);
    for quantity in ["0.004", "0.300", "0.700", "0.100"] {
        wait(&mut venue, 30);
        venue.place(2, &format!("symbol=BTCUSDT&side=SELL&type=MARKET&quantity={quantity}"));
    }
    wait(&mut venue, 1_000);
    let mut all = by_stream(&mut socket);
    let rows = public(&mut venue, "/fapi/v1/aggTrades?symbol=BTCUSDT");
    let told: Vec<Value> = all["btcusdt@aggTrade"].clone();
    assert_eq!(told.len(), rows.as_array().unwrap().len());
    for (told, row) in told.iter().zip(rows.as_array().unwrap()) {
        for member in ["a", "p", "q", "f", "l", "T", "m"] {
            assert_eq!(told[member], row[member], "{member} of {told}");
        }
        assert_eq!((&told["nq"], &told["s"]), (&told["q"], &json!("BTCUSDT")));
    }
    let day = public(&mut venue, "/fapi/v1/ticker/24hr?symbol=BTCUSDT");
    let told = all.get_mut("btcusdt@ticker").unwrap().remove(0);
    for (short, long) in [
        ("s", "symbol"),
        ("p", "priceChange"),
        ("P", "priceChangePercent"),
        ("w", "weightedAvgPrice"),
        ("c", "lastPrice"),
        ("Q", "lastQty"),
        ("o", "openPrice"),
        ("h", "highPrice"),
        ("l", "lowPrice"),
        ("v", "volume"),
        ("q", "quoteVolume"),
        ("O", "openTime"),
        ("C", "closeTime"),
        ("F", "firstId"),
        ("L", "lastId"),
        ("n", "count"),
    ] {
        assert_eq!(told[short], day[long], "{short}");
    }
    let mini = all.get_mut("btcusdt@miniTicker").unwrap().remove(0);
    for member in ["s", "c", "o", "h", "l", "v", "q"] {
        assert_eq!(mini[member], told[member], "{member}");
    }
    // The running candle, then the same closed, then one without trades.
    let same = |event: &Value, row: &Value| {
        let k = &event["k"];
        let [t, o, h, l, c, v, end, q, n, taker, taker_quote] =
            ["t", "o", "h", "l", "c", "v", "T", "q", "n", "V", "Q"].map(|name| k[name].clone());
        assert_eq!(json!([t, o, h, l, c, v, end, q, n, taker, taker_quote, "0"]), *row);
    };
    let rows = public(&mut venue, "/fapi/v1/klines?symbol=BTCUSDT&interval=1m");
    let last = all["btcusdt@kline_1m"].last().unwrap();
    same(last, rows.as_array().unwrap().last().unwrap());
    assert_eq!(
        [&last["k"]["x"], &last["k"]["f"], &last["k"]["L"], &last["k"]["i"]],
        [&json!(false), &json!(1), &json!(6), &json!("1m")]
    );
    assert_eq!(all["btcusdt_perpetual@continuousKline_1m"].last().unwrap()["ct"], "PERPETUAL");
    for _ in 0..130 {
        wait(&mut venue, 1_000);
    }
    let closed = &by_stream(&mut socket)["btcusdt@kline_1m"];
    let rows = public(&mut venue, "/fapi/v1/klines?symbol=BTCUSDT&interval=1m");
    assert!(closed.len() >= 2, "{closed:?}");
    for (event, row) in closed.iter().zip(rows.as_array().unwrap()) {
        same(event, row);
        assert_eq!(event["k"]["x"], true);
    }
    assert_eq!(
        [&closed[1]["k"]["f"], &closed[1]["k"]["L"], &closed[1]["k"]["n"]],
        [&json!(-1), &json!(-1), &json!(0)]
    );
}

#[test]
fn a_candle_that_is_over_is_told_closed_and_not_as_running_any_more() {
    let mut venue = venue();
    trade(&mut venue);
    let mut socket = Socket::at(&venue.exchange, "/ws/btcusdt@kline_1m/btcusdt_perpetual@continuousKline_1m");
    read(&mut socket);
    let into_minute = venue.exchange.clock.now_ms().rem_euclid(60_000);
    wait(&mut venue, 59_900 - into_minute);
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.001");
    read(&mut socket);
    // The clock passes its end while the command that closes it is on its way to the disk.
    venue.exchange.is_gate_open = false;
    wait(&mut venue, 300);
    assert_eq!(read(&mut socket), [Value::Null; 0], "it is over");
    venue.exchange.is_gate_open = true;
    venue.exchange.turn();
    let told = read(&mut socket);
    assert_eq!(told.len(), 2, "{told:?}");
    for event in told {
        assert_eq!([&event["k"]["x"], &event["k"]["n"]], [&json!(true), &json!(2)], "{event}");
    }
}

#[test]
fn marks_are_told_each_second_and_each_third() {
    let mut venue = venue();
    let mut socket = Socket::at(
        &venue.exchange,
        "/stream?streams=btcusdt@markPrice@1s/btcusdt@markPrice/!markPrice@arr@1s/!markPrice@arr",
    );
    read(&mut socket);
    for second in 0..12 {
        if second == 6 {
            venue.operate("POST", "/admin/perpetual/index-price", r#"{"symbol":"BTCUSDT","price":"60600"}"#);
        }
        wait(&mut venue, 1_000);
    }
    let all = by_stream(&mut socket);
    let counts = ["btcusdt@markPrice@1s", "btcusdt@markPrice", "!markPrice@arr@1s", "!markPrice@arr"]
        .map(|name| all[name].len());
    assert_eq!(counts, [12, 4, 12, 4]);
    let last = &all["btcusdt@markPrice@1s"][11];
    let index = public(&mut venue, "/fapi/v1/premiumIndex?symbol=BTCUSDT");
    for (short, long) in [
        ("s", "symbol"),
        ("p", "markPrice"),
        ("i", "indexPrice"),
        ("P", "estimatedSettlePrice"),
        ("r", "lastFundingRate"),
        ("T", "nextFundingTime"),
    ] {
        assert_eq!(last[short], index[long], "{short}");
    }
    // Of twelve seconds six at each price; the tick that the venue began with is before them all.
    let mean: f64 = last["ap"].as_str().unwrap().parse().unwrap();
    assert!(mean > 60_000.0 && mean < 60_600.0, "{mean}");
    let arrays = &all["!markPrice@arr@1s"][11];
    assert_eq!(arrays.as_array().unwrap().len(), 3);
    assert_eq!(&arrays[0], last);
    assert!(all["!markPrice@arr"].iter().all(|event| event[0]["E"].as_i64().unwrap() % 3_000 < 1_000));
}

#[test]
fn channels_show_a_first_frame_and_then_changes() {
    let mut venue = venue();
    trade(&mut venue);
    let mut socket = Socket::open(&venue.exchange);
    let book = |update: u64, bid: &str| {
        json!({
            "symbol": "BTCUSDT", "last_update_id": update, "bids": [["60000.0", bid]], "asks": [], "ts": START_MS,
        })
    };
    for text in [
        r#"{"type":"subscribe","channel":"orderbook:btcusdt"}"#,
        r#"{"type":"subscribe","channel":"orderbook","symbol":"BTCUSDT"}"#,
    ] {
        let name = "orderbook:BTCUSDT";
        assert_eq!(
            socket.ask(text),
            [
                json!({ "type": "subscribed", "channel": name }),
                json!({ "type": "orderbook", "channel": name, "data": book(2, "0.006") })
            ]
        );
    }
    for (channel, first) in
        [("ticker:BTCUSDT", "ticker"), ("kline:BTCUSDT:1h", "kline"), ("mark_price:BTCUSDT", "mark_price")]
    {
        assert_eq!(socket.subscribe(channel), json!({ "type": "subscribed", "channel": channel }));
        let frame = socket.next();
        assert_eq!(
            (&frame["type"], &frame["channel"], &frame["data"]["s"]),
            (&json!(first), &json!(channel), &json!("BTCUSDT"))
        );
    }
    for channel in [
        "orderbook",
        "orderbook:",
        "orderbook:NOPE",
        "kline:BTCUSDT:2m",
        "kline:BTCUSDT",
        "trades:DFUSDT",
        "trades:BTCUSDT:1m",
        "Trades:BTCUSDT",
    ] {
        assert_eq!(socket.subscribe(channel)["code"], "INVALID_CHANNEL", "{channel}");
    }
    // Complete, at most each 100 ms, the best thirty of a side.
    for number in 1..=40 {
        venue.place(1, &format!("{BUY}&quantity=0.002&price={}", 50_000 + number));
    }
    assert_eq!(read(&mut socket), [Value::Null; 0]);
    wait(&mut venue, 100);
    let [frame] = <[Value; 1]>::try_from(read(&mut socket)).unwrap();
    assert_eq!(
        (&frame["data"]["last_update_id"], frame["data"]["bids"].as_array().unwrap().len()),
        (&json!(42), 30)
    );
    assert_eq!(frame["data"]["bids"][1], json!(["50040.0", "0.002"]));
    wait(&mut venue, 100);
    assert_eq!(read(&mut socket), [Value::Null; 0]);
    venue.place(2, "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.006");
    wait(&mut venue, 1_000);
    let kinds: Vec<String> =
        read(&mut socket).iter().map(|frame| frame["type"].as_str().unwrap().to_owned()).collect();
    let mut sorted = kinds.clone();
    sorted.sort();
    assert_eq!(sorted, ["kline", "mark_price", "orderbook", "ticker"]);
}

#[test]
fn contracts_are_told_when_they_change() {
    let mut venue = venue();
    let mut socket = Socket::at(&venue.exchange, "/ws/!contractInfo");
    read(&mut socket);
    let set = |venue: &mut Venue, state: &str| {
        venue.operate("PATCH", "/admin/perpetual/symbols/ETHUSDT", &json!({ "state": state }).to_string());
    };
    set(&mut venue, "TRADING");
    assert_eq!(read(&mut socket), [Value::Null; 0], "it is trading already");
    set(&mut venue, "REDUCE_ONLY");
    let events = read(&mut socket);
    let info = public(&mut venue, "/fapi/v1/exchangeInfo");
    let symbol = &info["symbols"][1];
    assert_eq!(
        events,
        [json!({
            "e": "contractInfo", "E": START_MS, "s": "ETHUSDT", "ps": "ETHUSDT", "ct": "PERPETUAL", "dt": 4_133_404_800_000_i64,
            "ot": symbol["onboardDate"], "cs": symbol["status"],
        })]
    );
}

#[test]
fn nothing_is_told_before_the_journal_has_it() {
    let mut venue = venue();
    let mut socket = Socket::at(
        &venue.exchange,
        "/stream?streams=btcusdt@trade/btcusdt@depth@0ms/btcusdt@depth@100ms/btcusdt@bookTicker/btcusdt@aggTrade",
    );
    venue.place(1, &format!("{BUY}&quantity=0.010&price=60000"));
    wait(&mut venue, 500);
    read(&mut socket);
    let mut client = venue.exchange.connect();
    let (path, headers) =
        venue.target(2, "/fapi/v1/order", "symbol=BTCUSDT&side=SELL&type=MARKET&quantity=0.004");
    venue.exchange.is_gate_open = false;
    exchange::send(&mut client, "POST", &path, &headers, "");
    venue.exchange.wait_for_queue(1);
    for _ in 0..20 {
        wait(&mut venue, 100);
    }
    assert_eq!(read(&mut socket), [Value::Null; 0]);
    venue.exchange.is_gate_open = true;
    assert_eq!(venue.exchange.receive(&mut client, true).status, 200);
    wait(&mut venue, 200);
    assert_eq!(by_stream(&mut socket).len(), 5);
}

#[test]
fn a_slow_client_loses_frames_and_harms_nobody() {
    let mut venue = venue();
    let names = ["btcusdt@depth@0ms", "btcusdt@depth20@0ms", "btcusdt@depth10@0ms", "btcusdt@depth5@0ms"];
    let path = format!("/stream?streams={}", names.join("/"));
    let stream = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    stream.set_recv_buffer_size(4_096).unwrap();
    stream.connect(&venue.exchange.address().into()).unwrap();
    let mut slow = Socket::upgraded(stream.into(), &path);
    let mut quick = Socket::at(&venue.exchange, &path);
    for number in 0..20 {
        venue.place(1, &format!("{BUY}&quantity=0.002&price={}", 59_000 + number));
        venue.place(2, &format!("{SELL}&quantity=0.002&price={}", 61_000 + number));
    }
    let order = venue.place(1, &format!("{BUY}&quantity=0.010&price=59500"));
    let (mut last, mut frames) = (None, 0);
    let follow = |frame: &Value, last: &mut Option<u64>| {
        let [before, now] = ["pu", "u"].map(|name| frame["data"][name].as_u64().unwrap());
        let is_whole = last.is_none_or(|last| last == before);
        *last = Some(now);
        is_whole
    };
    for round in 0..4_000 {
        let quantity = 11 + round % 5;
        venue.call(
            1,
            "PUT",
            "/fapi/v1/order",
            &format!(
                "symbol=BTCUSDT&side=BUY&orderId={}&quantity=0.0{quantity}&price=59500",
                order["orderId"]
            ),
        );
        if round % 20 == 0 {
            for frame in read(&mut quick).iter().filter(|frame| frame["stream"] == names[0]) {
                assert!(follow(frame, &mut last), "who reads loses nothing");
                frames += 1;
            }
        }
    }
    assert!(frames > 3_500, "{frames}");
    // What the slow one gets is in order, with a hole that its rules show.
    let (mut last, mut holes, mut got) = (None, 0, 0);
    while let Some(text) = slow.try_next(Duration::from_millis(1_500)).expect("it is open") {
        let frame: Value = serde_json::from_str(&text).unwrap();
        if frame["stream"] == names[0] {
            holes += usize::from(!follow(&frame, &mut last));
            got += 1;
        }
    }
    venue.place(1, &format!("{BUY}&quantity=0.010&price=59400"));
    let frame = read(&mut slow).into_iter().find(|frame| frame["stream"] == names[0]).unwrap();
    holes += usize::from(!follow(&frame, &mut last));
    assert!(holes > 0 && got < frames, "{got} of {frames} frames, {holes} holes");
}

#[test]
fn channels_of_a_closed_market_take_nobody_new() {
    // spot.md, WebSocket protocol: INVALID_CHANNEL of a delisted market as well.
    let mut venue = venue();
    let mut socket = Socket::open(&venue.exchange);
    assert_eq!(socket.subscribe("mark_price:SOLUSDT")["type"], "subscribed");
    venue.operate("PATCH", "/admin/perpetual/symbols/SOLUSDT", r#"{"state":"CLOSED","confirm":true}"#);
    for channel in ["orderbook", "trades", "ticker", "mark_price", "liquidations", "kline"] {
        let channel = format!("{channel}:SOLUSDT{}", if channel == "kline" { ":1m" } else { "" });
        let mut socket = Socket::open(&venue.exchange);
        let told = socket.subscribe(&channel);
        assert_eq!((&told["type"], &told["code"]), (&json!("error"), &json!("INVALID_CHANNEL")), "{channel}");
        assert_eq!(socket.subscribe("mark_price:BTCUSDT")["type"], "subscribed");
    }
    let leave = r#"{"type":"unsubscribe","channel":"mark_price:SOLUSDT"}"#;
    assert!(socket.ask(leave).iter().any(|told| told["type"] == "unsubscribed"));
}
