//! Cancel on disconnect through sockets: connections that are dropped, fall silent or are killed, clients who come back, and what is
//! refused. A killed server: `operations/resume.rs`.

use crate::exchange::socket::Socket;
use crate::exchange::venue::{Trader, Venue};
use ringside_config::Config;
use ringside_core::agent::Running;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);

/// A venue whose stages run, with an order of account 1 in two perpetual markets.
struct Stage {
    venue: Venue,
    stages: Option<Running>,
}

impl Stage {
    fn new() -> Stage {
        Stage::with(|_| {})
    }

    fn with(configure: impl FnOnce(&mut Config)) -> Stage {
        let mut venue = Venue::with(&[(1, 100_000), (2, 100_000)], 1_000_000_000, |config| {
            config.websocket_frames_per_second = u32::MAX;
            config.weight_per_minute = u32::MAX;
            configure(config);
        });
        let stages = Some(venue.exchange.run_stages());
        let mut stage = Stage { venue, stages };
        stage.place();
        stage
    }

    fn place(&mut self) {
        for (symbol, quantity, price) in [("BTCUSDT", "0.010", "59000"), ("ETHUSDT", "0.10", "2000")] {
            let order = format!(
                "symbol={symbol}&side=BUY&type=LIMIT&timeInForce=GTC&quantity={quantity}&price={price}"
            );
            self.venue.place(1, &order);
        }
    }

    /// Symbols of what account 1 has open.
    fn open(&mut self) -> Vec<String> {
        let orders = self.venue.call(1, "GET", "/fapi/v1/openOrders", "");
        let mut symbols: Vec<String> = orders
            .as_array()
            .unwrap()
            .iter()
            .map(|order| order["symbol"].as_str().unwrap().to_owned())
            .collect();
        symbols.sort();
        symbols
    }

    /// Turns the clock and waits until the matcher has seen it.
    fn pass(&mut self, ms: i64) {
        self.venue.exchange.clock.turn(ms);
        std::thread::sleep(Duration::from_millis(150));
    }

    /// Waits until so many orders are open.
    #[track_caller]
    fn until(&mut self, expected: &[&str]) {
        let begin = Instant::now();
        loop {
            let open = self.open();
            if open == expected {
                return;
            }
            assert!(begin.elapsed() < PATIENCE, "{open:?} instead of {expected:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// A socket that has logged account 1 in.
    fn log_in(&self) -> Socket {
        let token = self.venue.exchange.account(1)[0].rsplit(' ').next().unwrap().to_owned();
        let mut socket = Socket::open(&self.venue.exchange);
        assert_eq!(
            socket.ask(&json!({ "type": "auth_token", "token": token }).to_string())[0]["success"],
            true
        );
        socket
    }

    /// A socket of requests, and what it asked answered.
    fn request(&self, socket: &mut Socket, trader: &Trader, method: &str, mut params: Value) -> Value {
        params["apiKey"] = json!(trader.key);
        params["timestamp"] = json!(self.venue.exchange.clock.now_ms());
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let members = params.as_object().unwrap();
        let mut pairs: Vec<String> =
            members.iter().map(|(name, value)| format!("{name}={}", text(value))).collect();
        pairs.sort();
        params["signature"] = json!(trader.signature(&pairs.join("&")));
        socket.send(&json!({ "id": 1, "method": method, "params": params }).to_string());
        socket.next()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(stages) = self.stages.take() {
            stages.join();
        }
    }
}

fn arm(socket: &mut Socket, frame: Value) -> Value {
    let mut frame = frame;
    frame["type"] = json!("cancel_on_disconnect");
    let mut answers = socket.ask(&frame.to_string());
    assert_eq!(answers.len(), 1, "{answers:?}");
    answers.remove(0)
}

#[test]
fn a_dropped_connection_ends_orders_after_its_grace() {
    let mut stage = Stage::new();
    let mut socket = stage.log_in();
    let armed = arm(&mut socket, json!({ "grace_ms": 5_000, "symbol": "btcusdt" }));
    assert_eq!(
        armed,
        json!({ "type": "cancel_on_disconnect", "enabled": true, "grace_ms": 5_000, "symbol": "BTCUSDT" })
    );
    stage.pass(60_000);
    stage.until(&["BTCUSDT", "ETHUSDT"]);
    drop(socket);
    stage.pass(0);
    stage.pass(4_900);
    assert_eq!(stage.open(), ["BTCUSDT", "ETHUSDT"]);
    stage.pass(100);
    stage.until(&["ETHUSDT"]);
    // All of them, at once.
    let mut socket = stage.log_in();
    assert_eq!(arm(&mut socket, json!({ "grace_ms": 0 }))["symbol"], Value::Null);
    drop(socket);
    stage.pass(0);
    stage.pass(10);
    stage.until(&[]);
}

#[test]
fn silent_and_killed_connections_are_lost_too() {
    let mut stage = Stage::with(|config| {
        config.websocket_ping_interval = Duration::from_millis(100);
        config.websocket_pong_timeout = Duration::from_millis(400);
    });
    // Half open: nobody answers the server's pings.
    let mut silent = stage.log_in();
    arm(&mut silent, json!({ "grace_ms": 0, "symbol": "BTCUSDT" }));
    std::thread::sleep(Duration::from_millis(1_500));
    stage.pass(10);
    stage.until(&["ETHUSDT"]);
    drop(silent);
    // Killed: a reset instead of an end.
    let mut killed = stage.log_in();
    arm(&mut killed, json!({ "grace_ms": 0 }));
    socket2::SockRef::from(killed.inner.get_ref()).set_linger(Some(Duration::ZERO)).unwrap();
    drop(killed);
    stage.pass(0);
    stage.pass(10);
    stage.until(&[]);
}

#[test]
fn who_comes_back_within_the_grace_keeps_the_orders() {
    let mut stage = Stage::new();
    for answer in [json!({ "grace_ms": 60_000 }), json!({ "enabled": false })] {
        let mut socket = stage.log_in();
        arm(&mut socket, json!({ "grace_ms": 10_000 }));
        drop(socket);
        stage.pass(0);
        stage.pass(9_000);
        let mut back = stage.log_in();
        let armed = arm(&mut back, answer.clone());
        assert_eq!(armed["enabled"], answer.get("grace_ms").is_some());
        stage.pass(100_000);
        assert_eq!(stage.open(), ["BTCUSDT", "ETHUSDT"], "{answer}");
        arm(&mut back, json!({ "enabled": false }));
    }
    // An end in good order is one as well, and one that never armed ends nothing.
    let mut other = stage.log_in();
    let mut socket = stage.log_in();
    arm(&mut socket, json!({ "grace_ms": 0 }));
    let _ = other.inner.close(None);
    drop(other);
    stage.pass(1_000);
    assert_eq!(stage.open(), ["BTCUSDT", "ETHUSDT"]);
    let _ = socket.inner.close(None);
    drop(socket);
    stage.pass(0);
    stage.pass(10);
    stage.until(&[]);
}

#[test]
fn sockets_of_requests_arm_as_well() {
    let mut stage = Stage::new();
    let trader = stage.venue.traders[&1].clone();
    let mut socket = Socket::at(&stage.venue.exchange, "/ws-fapi/v1?returnRateLimits=false");
    let answer = stage.request(
        &mut socket,
        &trader,
        "cancelOnDisconnect.arm",
        json!({ "graceTime": 0, "symbol": "ETHUSDT" }),
    );
    assert_eq!(
        answer,
        json!({ "id": 1, "status": 200, "result": { "enabled": true, "graceTime": 0, "symbol": "ETHUSDT" } })
    );
    let mut other = Socket::at(&stage.venue.exchange, "/ws-fapi/v1?returnRateLimits=false");
    stage.request(&mut other, &trader, "cancelOnDisconnect.arm", json!({ "graceTime": 0 }));
    let answer = stage.request(&mut other, &trader, "cancelOnDisconnect.disarm", json!({}));
    assert_eq!(answer["result"], json!({ "enabled": false, "graceTime": null, "symbol": "" }));
    drop((socket, other));
    stage.pass(0);
    stage.pass(10);
    stage.until(&["BTCUSDT"]);

    let mut socket = Socket::at(&stage.venue.exchange, "/ws-fapi/v1?returnRateLimits=false");
    let reader = stage.venue.trader(1, (true, false));
    for (trader, params, code) in [
        (&trader, json!({}), -1102),
        (&trader, json!({ "graceTime": 60_001 }), -1130),
        (&trader, json!({ "graceTime": 1, "symbol": "NOPE" }), -1121),
        (&reader, json!({ "graceTime": 1 }), -2015),
    ] {
        let answer = stage.request(&mut socket, trader, "cancelOnDisconnect.arm", params.clone());
        assert_eq!(answer["error"]["code"], code, "{params}: {answer}");
    }
    socket.send(r#"{"id":2,"method":"cancelOnDisconnect.arm","params":{"graceTime":1}}"#);
    let answer = socket.next();
    assert_eq!((&answer["id"], answer.get("result")), (&json!(2), None), "nobody asks: {answer}");
    drop(socket);
    stage.pass(0);
    stage.pass(10);
    assert_eq!(stage.open(), ["BTCUSDT"], "nothing was armed");
}

#[test]
fn what_cannot_be_armed_is_refused() {
    let mut stage = Stage::new();
    let mut nobody = Socket::open(&stage.venue.exchange);
    assert_eq!(arm(&mut nobody, json!({ "grace_ms": 0 }))["code"], "AUTH_REQUIRED");
    let key = stage.venue.listen_key(1);
    nobody.ask(&json!({ "type": "auth", "listenKey": key }).to_string());
    let refused = arm(&mut nobody, json!({ "grace_ms": 0 }));
    assert_eq!(
        (&refused["code"], &refused["message"]),
        (&json!("AUTH_REQUIRED"), &json!("a listen key reads only: log in"))
    );
    let mut socket = stage.log_in();
    for (frame, code) in [
        (json!({}), "INVALID_MESSAGE"),
        (json!({ "grace_ms": 60_001 }), "INVALID_MESSAGE"),
        (json!({ "grace_ms": -1 }), "INVALID_MESSAGE"),
        (json!({ "grace_ms": "0" }), "INVALID_MESSAGE"),
        (json!({ "grace_ms": 0, "enabled": 1 }), "INVALID_MESSAGE"),
        (json!({ "grace_ms": 0, "symbol": 7 }), "INVALID_MESSAGE"),
        (json!({ "grace_ms": 0, "symbol": "NOPE" }), "INVALID_SYMBOL"),
    ] {
        assert_eq!(arm(&mut socket, frame.clone())["code"], code, "{frame}");
    }
    drop((nobody, socket));
    stage.pass(0);
    stage.pass(10);
    assert_eq!(stage.open(), ["BTCUSDT", "ETHUSDT"], "nothing was armed");
}
