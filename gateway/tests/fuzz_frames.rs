//! Any text as a frame of `/ws` or of `/ws-fapi/v1`, and any bytes as frames: a text is answered, as malformed exactly where
//! another reading of the JSON says so; bytes that break the framing end their own connection and no other.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

mod exchange;
#[path = "../../core/tests/support/fuzz.rs"]
mod fuzz;

use exchange::Exchange;
use exchange::socket::{End, Socket, is_well_formed};
use fuzz::Fuzz;
use ringside_edge::ws::frame::ClientFrame;
use ringside_gateway::ws_request::frame::Request;
use ringside_streams::channel::Channel;
use ringside_views::Views;
use serde_json::Value;
use std::io::Write;
use std::time::Duration;
use tokio_tungstenite::tungstenite::{Bytes, Message};

const FRAMES: &[&str] = &[
    r#"{"type":"ping"}"#,
    r#"{"type":"auth","listenKey":"k"}"#,
    r#"{"type":"auth_token","token":"t.u.v"}"#,
    r#"{"type":"auth_eip712","address":"0xa1","nonce":"n","signature":"0x00"}"#,
    r#"{"type":"subscribe","channel":"spot:depth:DFUSDT","token":"t"}"#,
    r#"{"type":"subscribe","channel":"spot:kline:DFUSDT:1m","resume":true,"from":7}"#,
    r#"{"type":"subscribe","channel":"spot:user:orders"}"#,
    r#"{"type":"unsubscribe","channel":"spot:trade:DFUSDT"}"#,
    r#"{"type":"cancel_on_disconnect","grace_ms":60000,"symbol":"BTCUSDT"}"#,
    r#"{"type":"cancel_on_disconnect","enabled":false}"#,
    r#"{"type":"subscribe","channel":"orderbook","symbol":"BTCUSDT"}"#,
    r#"{"method":"SUBSCRIBE","params":["btcusdt@depth","!ticker@arr"],"id":1}"#,
    r#"{"method":"SET_PROPERTY","params":["combined",true],"id":"a"}"#,
    r#"{"method":"LIST_SUBSCRIPTIONS","id":2}"#,
];

#[rustfmt::skip]
const WORDS: &[&[u8]] = &[
    b"\"type\":", b"\"channel\":", b"\"token\":", b"\"resume\":", b"\"from\":", b"\"listenKey\":", b"\"method\":", b"\"params\":", b"\"id\":", b"\"UNSUBSCRIBE\"", b"\"btcusdt_perpetual@continuousKline_1M\"", b"\"ping\"", b"\"subscribe\"",
    b"\"spot:depth:DFUSDT\"", b"\"spot:ticker:\"", b":1h", b":", b"{", b"}", b"[", b"]", b",", b"\"", b"null", b"true", b"7", b"-7", b"1e3",
    b"\"apiKey\":", b"\"signature\":", b"\"timestamp\":", b"\"returnRateLimits\":", b"\"order.place\"", b"\"v1/\"",
    b"18446744073709551615", b"18446744073709551616", b"\\u0000", b"\\ud83d\\ude00", b"\\ud800", b"\xc3\xa9", b"\xf0\x9f\x98\x80", b"\xff", b"\x00",
];

/// Whether the two readers may differ over a text: a member that is looked at may stand twice, which is refused here and taken
/// there; a number that nobody looks at may be beyond what a float holds, which is taken here and refused there.
fn readers_may_differ(text: &str) -> bool {
    let names = [
        "method",
        "params",
        "id",
        "symbol",
        "type",
        "listenKey",
        "token",
        "address",
        "nonce",
        "signature",
        "channel",
        "resume",
        "from",
        "enabled",
        "grace_ms",
    ];
    let is_twice =
        text.contains('\\') || names.iter().any(|name| text.matches(&format!("\"{name}\"")).count() > 1);
    let other = serde_json::from_str::<Value>(text);
    is_twice || other.is_err_and(|error| error.to_string().starts_with("number out of range"))
}

#[test]
fn any_text_is_a_frame() {
    let mut exchange = Exchange::start_with(|config| config.websocket_frames_per_second = u32::MAX);
    exchange.open();
    let mut socket = Socket::open(&exchange);
    let views = Views::default();
    let fuzz =
        Fuzz::of_text("-p ringside-gateway --test fuzz_frames any_text_is_a_frame", FRAMES, WORDS, 60_000);
    let mut inputs = 0;
    let run = fuzz.run(|bytes| {
        inputs += 1;
        let text = String::from_utf8_lossy(bytes);
        let read = ClientFrame::parse(&text);
        assert!(read.is_ok() == is_well_formed(&text) || readers_may_differ(&text), "{read:?}");
        if let Ok(ClientFrame::Subscribe { channel, .. } | ClientFrame::Unsubscribe { channel }) = &read {
            let _ = Channel::parse(channel, &views);
        }
        if inputs % 23 == 0 || std::env::var_os("FUZZ_INPUT").is_some() {
            let frames = socket.ask(&text);
            assert!(!frames.is_empty(), "unanswered");
            let is_refused = frames.len() == 1 && frames[0]["code"] == "INVALID_MESSAGE";
            assert_eq!(is_refused, read.is_err(), "{frames:?}");
        }
        // Which frame, or which fault.
        match read {
            Ok(frame) => format!("{frame:?}").split([' ', '{']).next().map(str::to_owned),
            Err(malformed) => Some(malformed.to_owned()),
        }
    });
    run.reached(12);
}

const REQUESTS: &[&str] = &[
    r#"{"id":1,"method":"ping"}"#,
    r#"{"id":"c174a2b1-3f51-4580-b200-8528bd237cb7","method":"depth","params":{"symbol":"BTCUSDT","limit":5}}"#,
    r#"{"id":null,"method":"order.place","params":{"symbol":"BTCUSDT","side":"BUY","type":"LIMIT","quantity":"0.1","price":9000.0,"reduceOnly":true,"apiKey":"k","timestamp":1700000000000,"signature":"00"}}"#,
    r#"{"id":-7,"method":"v2/account.status","params":{"returnRateLimits":false,"recvWindow":null}}"#,
    r#"{"id":"x","method":"userDataStream.start","params":{"apiKey":"0123456789012345678901234567890123456789012345678901234567890123"}}"#,
    r#"{"method":"session.logon","params":[1],"id":2}"#,
];

/// Whether another reading of the JSON takes a text for a request: an object with an id that is an integer, a string or null, a
/// method that is a string, and parameters that are an object or none.
fn is_request(text: &str) -> bool {
    let Ok(Value::Object(members)) = serde_json::from_str::<Value>(text) else { return false };
    let is_id = |id: &Value| id.is_null() || id.is_string() || id.is_i64() || id.is_u64();
    let is_shown = |shown: &Value| {
        let word = shown.as_str().map_or_else(|| shown.to_string(), str::to_owned).to_ascii_lowercase();
        shown.is_null() || word == "true" || word == "false"
    };
    members.get("id").is_some_and(is_id)
        && members.get("method").is_some_and(Value::is_string)
        && members.get("params").is_none_or(|params| match params {
            Value::Null => true,
            Value::Object(params) => params.get("returnRateLimits").is_none_or(is_shown),
            _ => false,
        })
}

/// Where the two may differ: members that stand twice, escapes, numbers beyond a float.
fn requests_may_differ(text: &str) -> bool {
    let is_twice = ["id", "method", "params", "returnRateLimits"]
        .iter()
        .any(|name| text.matches(&format!("\"{name}\"")).count() > 1);
    // A long integer is an id here and a float there; a float that is whole is one there too.
    let is_long = text.as_bytes().windows(16).any(|digits| digits.iter().all(u8::is_ascii_digit));
    // So is the integer below zero that is zero. What has so many colons may have more parameters than are taken.
    let is_wide = text.matches(':').count() > 100;
    is_twice || is_long || is_wide || text.contains("-0") || readers_may_differ(text)
}

#[test]
fn any_text_is_a_request() {
    let mut exchange = Exchange::start_with(|config| config.websocket_requests_per_second = u32::MAX);
    exchange.open();
    let _running = exchange.run_stages();
    let mut socket = Socket::at(&exchange, "/ws-fapi/v1");
    let name = "-p ringside-gateway --test fuzz_frames any_text_is_a_request";
    let fuzz = Fuzz::of_text(name, REQUESTS, WORDS, 60_000);
    let mut inputs = 0;
    let run = fuzz.run(|bytes| {
        inputs += 1;
        let text = String::from_utf8_lossy(bytes);
        let read = Request::parse(&text);
        assert!(read.is_ok() == is_request(&text) || requests_may_differ(&text), "{read:?}");
        if inputs % 23 == 0 || std::env::var_os("FUZZ_INPUT").is_some() {
            socket.send(&text);
            let answer = socket.next();
            let id = read.as_ref().map_or_else(|(id, _)| *id, |request| request.id);
            if let Ok(id) = serde_json::from_str::<Value>(id) {
                assert_eq!(answer["id"], id, "{answer}");
            }
            let status = answer["status"].as_u64().expect("a status");
            assert_eq!(answer.get("error").is_none(), status == 200, "{answer}");
            assert!(read.is_ok() || status == 400, "{answer}");
            assert!(answer["rateLimits"].is_array() || answer.get("rateLimits").is_none());
        }
        // Which method, or which fault.
        match read {
            Ok(request) => {
                request.params.query.split('=').next().map(str::len).map(|len| len.min(9).to_string())
            }
            Err((_, refusal)) => Some(refusal.msg.into_owned()),
        }
    });
    run.reached(8);
}

/// Frames on the wire: a first byte, a length of one of three forms, a mask, a payload.
fn wire(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        len @ 0..126 => bytes.push(0x80 | len as u8),
        len => {
            bytes.push(0xfe);
            bytes.extend((len as u16).to_be_bytes());
        }
    }
    let mask = [1, 2, 3, 4];
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

#[test]
fn any_bytes_are_frames() {
    let mut exchange = Exchange::start_with(|config| config.websocket_frames_per_second = u32::MAX);
    exchange.open();
    let mut healthy = Socket::open(&exchange);
    healthy.subscribe("spot:depth:DFUSDT");
    let mut corpus: Vec<Vec<u8>> = FRAMES.iter().map(|frame| wire(0x81, frame.as_bytes())).collect();
    corpus.push([wire(0x01, b"{\"type\":"), wire(0x89, b"ping"), wire(0x80, b"\"ping\"}")].concat());
    corpus.push(wire(0x82, &[0; 200]));
    corpus.push(wire(0x88, &[3, 232]));
    corpus.push(wire(0x8a, b"pong"));
    corpus.push(wire(0x00, b"").repeat(300));
    let dictionary: &[&[u8]] = &[
        b"\x81\x80",
        b"\x81\xfe\xff\xff",
        b"\x81\xff\x00\x00\x00\x00\x00\x01\x00\x01",
        b"\x88\x82",
        b"\x89\xfe",
        b"\xff",
    ];
    let fuzz = Fuzz::of_bytes("-p ringside-gateway --test fuzz_frames any_bytes", corpus, dictionary, 70_000);
    // One after the other, so that an input says the same when it is run again.
    fuzz.run(|bytes| ["/ws", "/ws-fapi/v1"].map(|path| outcome(&exchange, path, bytes, &mut healthy)));
}

/// What bytes come to on a connection that was upgraded there: answers, up to three, and the code of its end.
fn outcome(exchange: &Exchange, path: &str, bytes: &[u8], healthy: &mut Socket) -> (u32, u16) {
    let mut bad = Socket::at(exchange, path);
    // The server may close while this is still being sent.
    let _ = bad.inner.get_mut().write_all(bytes);
    // What the bytes may have left open is ended, so that the connection comes to an end whatever they were.
    let _ = bad.inner.get_mut().shutdown(std::net::Shutdown::Write);
    let mut answers = 0;
    let end = loop {
        match bad.try_next(Duration::from_secs(20)) {
            Ok(Some(text)) => {
                let frame: Value = serde_json::from_str(&text).expect("every frame is JSON");
                assert!(frame["type"].is_string() || frame.get("id").is_some());
                answers += 1;
            }
            Ok(None) => panic!("the connection neither answers nor ends"),
            Err(end) => break end,
        }
    };
    healthy.inner.send(Message::Ping(Bytes::new())).expect("others go on");
    assert!(healthy.drain().is_ok(), "others go on");
    match end {
        End::Closed(code, _) => (answers.min(3), code),
        End::Cut => (answers.min(3), 0),
    }
}
