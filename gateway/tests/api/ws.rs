//! `/ws` where a transcript cannot show it: handshakes, logins by signature, limits, keep-alive, the queue, the gate.

use crate::exchange::socket::{End, Socket};
use crate::exchange::{self, ADMIN_KEY, Answer, Client, Exchange, wallet, wallet_text};
use ringside_auth::typed_data::{Login, address_of_key};
use ringside_commands::ingress::EngineState;
use ringside_wire::address::address_text;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tokio_tungstenite::tungstenite::Message;

const DEPTH: &str = r#"{"type":"subscribe","channel":"spot:depth:DFUSDT"}"#;
const A_WHILE: Duration = Duration::from_secs(60);

fn open() -> Exchange {
    let mut exchange = Exchange::start_with(|config| config.websocket_frames_per_second = 1_000);
    exchange.open();
    exchange
}

fn text_of(frames: &[String]) -> Vec<Value> {
    frames.iter().map(|frame| serde_json::from_str(frame).expect("JSON")).collect()
}

/// Asks on a connection of its own, since what is not upgraded is closed.
fn knock(exchange: &mut Exchange, headers: &[String]) -> Answer {
    let mut client = exchange.connect();
    exchange::send(&mut client, "GET", "/ws", headers, "");
    exchange.receive(&mut client, true)
}

#[test]
fn only_a_handshake_is_upgraded() {
    let mut exchange = open();
    let headers =
        |headers: &[&str]| -> Vec<String> { headers.iter().map(|&header| header.to_owned()).collect() };
    let good = [
        "Connection: keep-alive, Upgrade",
        "Upgrade: WebSocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    for left_out in 0..good.len() {
        let mut some = good.to_vec();
        some.remove(left_out);
        let answer = knock(&mut exchange, &headers(&some));
        assert_eq!(
            (answer.status, &*answer.body),
            (426, r#"{"error":"upgrade required"}"#),
            "{}",
            good[left_out]
        );
        assert_eq!(answer.header("sec-websocket-version"), Some("13"));
        assert_eq!(answer.header("upgrade"), Some("websocket"));
    }
    for wrong in ["Sec-WebSocket-Version: 12", "Upgrade: h2c", "Connection: close"] {
        let name = wrong.split(':').next().expect("a name");
        let mut some = good.to_vec();
        some.retain(|header| !header.starts_with(name));
        some.push(wrong);
        let answer = knock(&mut exchange, &headers(&some));
        assert_eq!(answer.status, 426, "{wrong}");
    }
    assert_eq!(exchange.request("POST", "/ws", &[], "").status, 405);
    for (phase, error) in [
        (EngineState::Restarting, "ENGINE_RESTARTING"),
        (EngineState::Disabled, "spot trading disabled (engine not started)"),
    ] {
        exchange.shared.phase.set(phase);
        let answer = knock(&mut exchange, &headers(&good));
        assert_eq!((answer.status, answer.body), (503, json!({ "error": error }).to_string()));
    }
    exchange.shared.phase.set(EngineState::Running);
    // The example of RFC 6455, 1.3.
    let mut stream = exchange.connect();
    let request = format!("GET /ws HTTP/1.1\r\nHost: ringside\r\n{}\r\n\r\n", good.join("\r\n"));
    stream.write_all(request.as_bytes()).expect("it is sent");
    stream.set_read_timeout(Some(A_WHILE)).expect("a timeout");
    let mut head = [0; 512];
    let len = stream.read(&mut head).expect("an answer");
    let head = String::from_utf8_lossy(&head[..len]).to_lowercase();
    assert!(head.starts_with("http/1.1 101 "), "{head}");
    assert!(head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
}

#[test]
fn a_wallet_logs_in_by_signature() {
    let mut exchange = open();
    let mut key = [0; 32];
    key[31] = 2;
    let address = address_text(&address_of_key(&key).expect("a key"));
    let nonce = |exchange: &mut Exchange| -> Value {
        let path = format!("/api/v1/auth/nonce?address={address}");
        serde_json::from_str(&exchange.request("GET", &path, &[], "").body).expect("JSON")
    };
    let frame = |issued: &Value, key: &[u8; 32]| {
        let nonce = issued["nonce"].as_str().expect("a nonce");
        let account =
            address_of_key(&[&[0; 31][..], &[2]].concat().try_into().expect("32 bytes")).expect("a key");
        let login = Login {
            chain_id: 31337,
            account: &account,
            nonce,
            expires_at_s: issued["expires_at"].as_i64().expect("seconds"),
            venue: None,
        };
        let signature = const_hex::encode_prefixed(login.sign(key).expect("a signature"));
        json!({"type": "auth_eip712", "address": address, "nonce": nonce, "signature": signature}).to_string()
    };
    let mut socket = Socket::open(&exchange);
    let mut ask = |exchange: &mut Exchange, frame: &str| {
        socket.send(frame);
        loop {
            // The account is made by the engine, whose stages this test turns.
            exchange.turn();
            if let Some(text) = socket.try_next(Duration::from_millis(5)).expect("it is open") {
                return text;
            }
        }
    };
    let failed = |message| json!({"type": "auth_result", "success": false, "message": message}).to_string();
    let same = |given: String, expected: String| {
        let value = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
        assert_eq!(value(&given), value(&expected));
    };
    let issued = nonce(&mut exchange);
    let mut other = key;
    other[31] = 3;
    same(ask(&mut exchange, &frame(&issued, &other)), failed("invalid signature"));
    // A failure uses the nonce up, and a success does.
    same(ask(&mut exchange, &frame(&issued, &key)), failed("invalid nonce"));
    let issued = nonce(&mut exchange);
    let good = frame(&issued, &key);
    let done = r#"{"type":"auth_result","success":true,"message":null}"#;
    assert_eq!(ask(&mut exchange, &good), done);
    same(ask(&mut exchange, &good), failed("invalid nonce"));
    let subscribed = ask(&mut exchange, r#"{"type":"subscribe","channel":"spot:user:balances"}"#);
    assert_eq!(subscribed, r#"{"type":"subscribed","channel":"spot:user:balances"}"#);
    let credit = format!(r#"{{"user_address":"{address}","token":"DF","amount":"5"}}"#);
    let admin = [format!("X-API-Key: {ADMIN_KEY}")];
    exchange.request("POST", "/api/v1/admin/spot/balances/credit", &admin, &credit);
    assert_eq!(socket.next()["data"]["available"], "5");
    // It lasts as long as a token.
    exchange.clock.turn(86_400_000);
    let end = socket.next();
    assert_eq!((&end["code"], &end["channel"]), (&json!("AUTH_REQUIRED"), &json!("spot:user:balances")));
    // A nonce is good for 300 seconds.
    let issued = nonce(&mut exchange);
    exchange.clock.turn(300_000);
    socket.send(&frame(&issued, &key));
    assert_eq!(socket.next()["message"], "invalid nonce");
}

#[test]
fn a_token_that_expires_ends_what_it_opened_without_being_asked() {
    let exchange = open();
    let token = |account: u8| {
        exchange.bearer(account.into(), &wallet(account)).split_off("Authorization: Bearer ".len())
    };
    let mut socket = Socket::open(&exchange);
    let old = token(1);
    exchange.clock.turn(10_000);
    let subscribe = |channel: &str, token: &str| {
        json!({"type": "subscribe", "channel": channel, "token": token}).to_string()
    };
    socket.send(&subscribe("spot:user:orders", &old));
    socket.send(&subscribe("spot:user:balances", &token(1)));
    assert_eq!(
        (&socket.next()["type"], &socket.next()["type"]),
        (&json!("subscribed"), &json!("subscribed"))
    );
    exchange.clock.turn(86_390_000 - 1);
    assert_eq!(socket.try_next(Duration::from_millis(600)), Ok(None));
    exchange.clock.turn(1);
    let frame = socket.next();
    assert_eq!((&frame["code"], &frame["channel"]), (&json!("AUTH_REQUIRED"), &json!("spot:user:orders")));
    assert_eq!(socket.try_next(Duration::from_millis(600)), Ok(None));
    exchange.clock.turn(10_000);
    assert_eq!(socket.next()["channel"], "spot:user:balances");
    // An expired token opens nothing.
    socket.send(&subscribe("spot:user:orders", &old));
    assert_eq!(socket.next()["code"], "AUTH_REQUIRED");
    socket.send(&json!({"type": "auth_token", "token": old}).to_string());
    assert_eq!(socket.next()["message"], "token expired");
}

#[test]
fn a_logout_ends_what_its_tokens_opened_without_being_asked() {
    let mut exchange = open();
    let header = exchange.account(1);
    let token = header[0].trim_start_matches("Authorization: Bearer ").to_owned();
    let mut socket = Socket::open(&exchange);
    socket.send(&json!({"type": "auth_token", "token": token}).to_string());
    assert_eq!(socket.next()["success"], true);
    for frame in [
        json!({"type": "subscribe", "channel": "spot:user:orders"}),
        json!({"type": "subscribe", "channel": "spot:user:balances", "token": token}),
        json!({"type": "subscribe", "channel": "spot:trade:DFUSDT"}),
    ] {
        socket.send(&frame.to_string());
        assert_eq!(socket.next()["type"], "subscribed");
    }
    assert_eq!(exchange.request("POST", "/api/v1/auth/logout", &header, "").status, 200);
    // Nothing private leaves any more, whether or not the session has looked yet.
    let credit = json!({"user_address": wallet_text(1), "token": "DF", "amount": "5"}).to_string();
    let admin = [format!("X-API-Key: {ADMIN_KEY}")];
    assert_eq!(exchange.request("POST", "/api/v1/admin/spot/balances/credit", &admin, &credit).status, 200);
    let mut ended = [socket.next(), socket.next()].map(|frame| {
        assert_eq!(frame["code"], "AUTH_REQUIRED", "{frame}");
        frame["channel"].as_str().unwrap().to_owned()
    });
    ended.sort_unstable();
    assert_eq!(ended, ["spot:user:balances", "spot:user:orders"]);
    for (frame, answer) in [
        (json!({"type": "subscribe", "channel": "spot:user:orders"}), json!("authenticate first")),
        (json!({"type": "auth_token", "token": token}), json!("invalid token")),
    ] {
        socket.send(&frame.to_string());
        assert_eq!(socket.next()["message"], answer);
    }
    // Another login opens what the old one cannot.
    let token = exchange.account(1)[0].trim_start_matches("Authorization: Bearer ").to_owned();
    socket.send(&json!({"type": "auth_token", "token": token}).to_string());
    assert_eq!(socket.next()["success"], true);
}

const UNSUBSCRIBE: &str = r#"{"type":"unsubscribe","channel":"spot:trade:DFUSDT"}"#;

/// How often each code, or type where there is none, stands among the answers to so many frames sent at once.
fn answers(socket: &mut Socket, frame: &str, count: usize) -> BTreeMap<String, usize> {
    (0..count).for_each(|_| socket.inner.write(Message::text(frame)).expect("it is written"));
    socket.inner.flush().expect("it is sent");
    let mut answers = BTreeMap::new();
    for _ in 0..count {
        let answer = socket.next();
        let said = ["code", "type"].iter().find_map(|name| answer[*name].as_str()).unwrap_or("answer");
        *answers.entry(said.to_owned()).or_default() += 1;
    }
    answers
}

#[test]
fn what_comes_too_fast_is_refused_and_who_goes_on_is_closed() {
    let mut exchange = Exchange::start_with(|config| config.websocket_frames_per_second = 1);
    exchange.open();
    let mut socket = Socket::open(&exchange);
    // As many at once as it takes to subscribe to everything.
    let subscribe = r#"{"method":"SUBSCRIBE","params":["btcusdt@depth"],"id":1}"#;
    assert_eq!(answers(&mut socket, subscribe, 12), [("answer".to_owned(), 12)].into());
    let all = answers(&mut socket, UNSUBSCRIBE, 388);
    assert_eq!(all, [("unsubscribed".to_owned(), 388)].into());
    let begin = std::time::Instant::now();
    let beyond = answers(&mut socket, UNSUBSCRIBE, 300);
    let back = 2 + begin.elapsed().as_secs() as usize;
    let carried_out = beyond.get("unsubscribed").copied().unwrap_or(0);
    assert!(carried_out <= back && beyond["RATE_LIMITED"] + carried_out == 300, "{beyond:?}");
    // Pings have a bucket of their own, and so have those of the protocol below.
    assert_eq!(answers(&mut socket, r#"{"type":"ping"}"#, 300), [("pong".to_owned(), 300)].into());
    socket.drain().expect("it is open");
    let pings = answers(&mut socket, r#"{"type":"ping"}"#, 150);
    assert!(pings["RATE_LIMITED"] >= 45, "{pings:?}");
    // Who sends a thousand of them all the same is closed, after a while: what is sent in vain is spread.
    let begin = std::time::Instant::now();
    (0..800).for_each(|_| drop(socket.inner.write(Message::text(UNSUBSCRIBE))));
    let _ = socket.inner.flush();
    assert_eq!(socket.end(), End::Closed(1008, "too many frames".to_owned()));
    assert!(begin.elapsed() > Duration::from_millis(100), "{:?}", begin.elapsed());
    // Another connection is not touched.
    assert_eq!(Socket::open(&exchange).subscribe("spot:trade:DFUSDT")["type"], "subscribed");
}

#[test]
fn an_address_pays_for_its_frames() {
    let mut exchange = Exchange::start_with(|config| {
        config.websocket_frames_per_second = u32::MAX;
        config.weight_per_minute = 1_000;
    });
    exchange.open();
    exchange.clock.turn(60_000);
    let mut socket = Socket::open(&exchange);
    let used = |exchange: &mut Exchange| -> usize {
        let answer = exchange.request("GET", "/api/v1/nothing", &[], "");
        answer.header("x-ex-used-weight-1m").expect("a header").parse().expect("a number")
    };
    let names = |count: usize| {
        let names: Vec<String> = (0..count).map(|number| format!("junk{number}@depth")).collect();
        json!({ "method": "SUBSCRIBE", "params": names, "id": 1 }).to_string()
    };
    let token = exchange.bearer(1, &wallet(1)).split_off("Authorization: Bearer ".len());
    let zeros = format!("0x{}", "00".repeat(65));
    let issued = format!("/api/v1/auth/nonce?address={}", wallet_text(1));
    let issued: Value = serde_json::from_str(&exchange.request("GET", &issued, &[], "").body).expect("JSON");
    let signed = json!({
        "type": "auth_eip712", "address": wallet_text(1), "nonce": issued["nonce"], "signature": zeros,
    });
    let mut before = used(&mut exchange);
    for (frame, weight) in [
        (r#"{"type":"ping"}"#.to_owned(), 0),
        (r#"{"type":"subscribe","channel":"spot:trade:DFUSDT"}"#.to_owned(), 1),
        (DEPTH.to_owned(), 5),
        (json!({"type": "subscribe", "channel": "spot:user:orders", "token": token}).to_string(), 5),
        (UNSUBSCRIBE.to_owned(), 1),
        (r#"{"type":"auth","listenKey":"k"}"#.to_owned(), 5),
        (r#"{"type":"auth_token","token":"t"}"#.to_owned(), 5),
        (signed.to_string(), 5),
        ("{".to_owned(), 1),
        (format!(r#"{{"type":"ping","x":"{}"}}"#, "x".repeat(3_000)), 3),
        (names(25), 3),
        (r#"{"method":"LIST_SUBSCRIPTIONS"}"#.to_owned(), 3),
        (r#"{"method":"SET_PROPERTY","params":["combined",true]}"#.to_owned(), 3),
        (r#"{"method":"GET_PROPERTY","params":["combined"]}"#.to_owned(), 1),
        (names(1_500), 1 + names(1_500).len() / 1_024 + 150),
        ("[".repeat(60_000), 59),
        (format!(r#"{{"type":{}"#, "[".repeat(60_000)), 59),
    ] {
        socket.send(&frame);
        socket.next();
        socket.drain().expect("it is open");
        let after = used(&mut exchange);
        assert_eq!(after - before - 1, weight, "{}", &frame[..frame.len().min(80)]);
        before = after;
    }
    socket.inner.send(Message::binary(vec![0; 2_048])).expect("it is sent");
    assert_eq!(socket.next()["code"], "INVALID_MESSAGE");
    assert_eq!(used(&mut exchange) - before - 1, 3);
    // Names in an address are names all the same.
    before = used(&mut exchange);
    let streams: Vec<String> = (0..50).map(|number| format!("junk{number}@depth")).collect();
    drop(Socket::at(&exchange, &format!("/stream?streams={}", streams.join("/"))));
    assert_eq!(used(&mut exchange) - before - 1, 1 + 5);
    // When it is spent, frames are not carried out. That brings no ban, and what they did not cost is there for others.
    let left = 1_000 - used(&mut exchange);
    assert_eq!(exchange.request("GET", "/api/v1/nothing", &[], "").status, 404);
    for _ in 0..left.saturating_sub(1) / 59 {
        socket.send(&"[".repeat(60_000));
        assert_eq!(socket.next()["code"], "INVALID_MESSAGE");
    }
    for _ in 0..30 {
        socket.send(&"[".repeat(60_000));
        let answer = socket.next();
        assert_eq!((&answer["type"], &answer["code"]), (&json!("error"), &json!("RATE_LIMITED")));
    }
    let left = 1_000 - used(&mut exchange);
    let rest = answers(&mut socket, UNSUBSCRIBE, left + 10);
    assert_eq!(rest, [("RATE_LIMITED".to_owned(), 10), ("unsubscribed".to_owned(), left)].into());
    assert_eq!(answers(&mut socket, r#"{"type":"ping"}"#, 3), [("pong".to_owned(), 3)].into());
    assert_eq!(exchange.request("GET", "/api/v1/nothing", &[], "").status, 429);
    let mut elsewhere = Socket::over(exchange.connect_from("127.0.0.2"));
    assert_eq!(elsewhere.subscribe("spot:trade:DFUSDT")["type"], "subscribed");
    exchange.clock.turn(60_000);
    assert_eq!(socket.subscribe("spot:trade:DFUSDT")["type"], "subscribed");
}

#[test]
fn frames_have_a_length_and_a_form() {
    let exchange = open();
    let padded = |len: usize| {
        let frame = r#"{"type":"ping","pad":""}"#;
        frame.replace(r#""""#, &format!(r#""{}""#, "x".repeat(len - frame.len())))
    };
    let mut socket = Socket::open(&exchange);
    socket.send(&padded(65_536));
    assert_eq!(socket.next()["type"], "pong");
    socket.inner.send(Message::binary(br#"{"type":"ping"}"#.to_vec())).expect("it is sent");
    assert_eq!(socket.next()["code"], "INVALID_MESSAGE");
    socket.send(&padded(65_537));
    assert_eq!(socket.end(), End::Closed(1009, "frame too long".to_owned()));
}

#[test]
fn two_hundred_channels() {
    let mut exchange = open();
    let admin = [format!("X-API-Key: {ADMIN_KEY}")];
    let mut names = Vec::new();
    for number in 0..23 {
        let symbol = format!("M{number}USDT");
        let body = json!({
            "id": symbol, "base_token": format!("M{number}"), "quote_token": "USDT", "tick_size": "0.01",
            "lot_size": "1", "min_notional": "1", "maker_fee_bps": 0, "taker_fee_bps": 0,
        });
        let answer = exchange.request("POST", "/api/v1/admin/spot/markets", &admin, &body.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        names.extend(["depth", "trade", "ticker"].map(|kind| format!("spot:{kind}:{symbol}")));
        names.extend(
            ["1m", "5m", "15m", "1h", "4h", "1d"].map(|interval| format!("spot:kline:{symbol}:{interval}")),
        );
    }
    let mut socket = Socket::open(&exchange);
    let mut subscribe = |name: &str| {
        let mut answer = socket.subscribe(name);
        if answer["type"] == "spot_depth_snapshot" {
            answer = socket.next();
        }
        answer
    };
    for name in &names[..200] {
        assert_eq!(subscribe(name)["type"], "subscribed", "{name}");
    }
    let answer = subscribe(&names[200]);
    assert_eq!((&answer["code"], &answer["channel"]), (&json!("TOO_MANY_SUBSCRIPTIONS"), &json!(names[200])));
    // One that is there may be subscribed again; one that has been left makes room; faults of the name come first.
    assert_eq!(subscribe(&names[199])["type"], "subscribed");
    assert_eq!(subscribe("spot:nothing")["code"], "INVALID_CHANNEL");
    assert_eq!(subscribe("spot:user:orders")["code"], "AUTH_REQUIRED");
    socket.send(&json!({"type": "unsubscribe", "channel": names[7]}).to_string());
    assert_eq!(socket.next()["type"], "unsubscribed");
    assert_eq!(socket.subscribe(&names[200])["type"], "subscribed");
    assert_eq!(socket.subscribe(&names[201])["code"], "TOO_MANY_SUBSCRIPTIONS");
}

#[test]
fn the_silent_are_pinged_and_then_closed() {
    let exchange = Exchange::start_with(|config| {
        config.websocket_ping_interval = Duration::from_millis(100);
        config.websocket_pong_timeout = Duration::from_millis(1_000);
        // Ten pongs a second are just what is allowed; a busy machine brings some of them together.
        config.websocket_frames_per_second = u32::MAX;
    });
    // A client that reads answers pings, as its library does.
    let mut heard = Socket::open(&exchange);
    let mut asking = Socket::open(&exchange);
    let mut silent = asking_without_answers(&exchange);
    let begin = std::time::Instant::now();
    while begin.elapsed() < Duration::from_millis(2_500) {
        assert_eq!(heard.try_next(Duration::from_millis(150)), Ok(None));
        asking.send(r#"{"type":"ping"}"#);
        assert_eq!(asking.next()["type"], "pong");
    }
    // Only control frames came: several pings, then the close frame with 1008.
    let mut bytes = Vec::new();
    silent.read_to_end(&mut bytes).expect("the end of the stream");
    let pings = bytes.chunks(2).take_while(|frame| *frame == [0x89, 0]).count();
    let close = &bytes[2 * pings..];
    assert!((3..=10).contains(&pings), "{pings} pings");
    assert_eq!((close[0], &close[2..]), (0x88, &[&1008u16.to_be_bytes()[..], b"no pong"].concat()[..]));
}

/// A connection whose client leaves pings unanswered.
fn asking_without_answers(exchange: &Exchange) -> TcpStream {
    let socket = Socket::open(exchange);
    let stream = socket.inner.get_ref().try_clone().expect("a handle");
    // The library's end is forgotten without a close frame.
    std::mem::forget(socket);
    stream.set_read_timeout(Some(A_WHILE)).expect("a timeout");
    stream
}

#[test]
fn nothing_is_pushed_before_the_journal_has_it() {
    let mut exchange = open();
    let mut socket = Socket::open(&exchange);
    socket.send(DEPTH);
    assert_eq!(socket.drain().expect("it is open").len(), 2);
    exchange.is_gate_open = false;
    let mut client = exchange.connect();
    let body = r#"{"symbol":"DFUSDT","side":"sell","type":"limit","price":"0.2","quantity":"10"}"#;
    let headers = exchange.account(1);
    exchange::send(&mut client, "POST", "/api/v1/spot/orders", &headers, body);
    exchange.wait_for_queue(1);
    exchange.turn();
    assert_eq!(socket.drain(), Ok(Vec::new()));
    // A snapshot of that moment does not have it either.
    let mut late = Socket::open(&exchange);
    late.send(DEPTH);
    assert_eq!(text_of(&late.drain().expect("it is open"))[1]["data"]["last_update_id"], 0);
    exchange.is_gate_open = true;
    exchange.turn();
    for socket in [&mut socket, &mut late] {
        let frames = text_of(&socket.drain().expect("it is open"));
        assert_eq!((frames.len(), &frames[0]["data"]["update_id_first"]), (1, &json!(1)));
    }
}

/// A socket with small buffers between the two ends, so that the queue is what fills.
fn small(exchange: &Exchange) -> Socket {
    let stream = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    stream.set_recv_buffer_size(4_096).expect("a size");
    stream.connect(&exchange.address().into()).expect("a connection");
    Socket::over(stream.into())
}

/// So many placements and cancels, one after the other, each of which changes the book.
fn change_the_book(exchange: &Exchange, client: &mut Client, count: usize) {
    let headers = exchange.account(1);
    let order = r#"{"symbol":"DFUSDT","side":"sell","type":"limit","price":"0.2","quantity":"10"}"#;
    let mut requests = Vec::new();
    for _ in 0..16 {
        exchange::send(&mut requests, "POST", "/api/v1/spot/orders", &headers, order);
        exchange::send(&mut requests, "DELETE", "/api/v1/spot/orders", &headers, "");
    }
    for _ in 0..count / 32 {
        assert_eq!(client.pipeline(&requests, 32), 32);
    }
}

#[test]
fn a_connection_that_ends_with_a_gap_to_tell_harms_nobody() {
    let mut exchange = Exchange::start_with(|config| config.websocket_frames_at_once = 20);
    exchange.open();
    let mut resuming = small(&exchange);
    resuming.send(&DEPTH.replace('}', r#","resume":true}"#));
    let mut client = Client::new(exchange.connect());
    let _running = exchange.run_stages();
    change_the_book(&exchange, &mut client, 40_000);
    // Its queue is full and more was lost. Too many frames close it; then it reads what is left.
    (0..1_100).for_each(|_| drop(resuming.inner.write(Message::text(r#"{"type":"ping"}"#))));
    let _ = resuming.inner.flush();
    assert!(matches!(resuming.end(), End::Closed(1008, _)));
    // Whoever it shared a thread with is still served.
    change_the_book(&exchange, &mut client, 64);
}

#[test]
fn a_full_queue_drops_silently_and_tells_who_asked_to_be_told() {
    let mut exchange = open();
    let (mut plain, mut resuming) = (small(&exchange), small(&exchange));
    plain.send(DEPTH);
    resuming.send(&DEPTH.replace('}', r#","resume":true}"#));
    for socket in [&mut plain, &mut resuming] {
        assert_eq!(
            (&socket.next()["type"], &socket.next()["type"]),
            (&json!("subscribed"), &json!("spot_depth_snapshot"))
        );
    }
    // Enough for every buffer of the system and then for the queue.
    let cycle = 40_000;
    let headers = exchange.account(1);
    let mut client = Client::new(exchange.connect());
    let running = exchange.run_stages();
    change_the_book(&exchange, &mut client, cycle as usize);
    let (mut last, mut has_gap) = (0, false);
    loop {
        match plain.try_next(Duration::from_millis(1_500)).expect("it is open") {
            None => break,
            Some(text) => {
                let frame: Value = serde_json::from_str(&text).expect("JSON");
                assert_eq!(frame["type"], "spot_depth_diff");
                let ids = (&frame["data"]["update_id_first"], &frame["data"]["update_id_last"]);
                let (first, end) = (ids.0.as_u64().expect("an id"), ids.1.as_u64().expect("an id"));
                assert!(first > last, "in order");
                has_gap |= first != last + 1;
                last = end;
            }
        }
    }
    assert!(last < cycle, "frames were lost at the end, where the queue was full: {last}");
    // The other one is told, once, and given the book anew.
    let (mut seq, mut gaps, mut book) = (None, 0, 0);
    // A window that was shut for long may open late.
    while (gaps, book) != (1, cycle)
        && let Some(text) = resuming.try_next(Duration::from_secs(10)).expect("it is open")
    {
        let frame: Value = serde_json::from_str(&text).expect("JSON");
        let number = frame["seq"].as_u64().expect("a number");
        match frame["type"].as_str().expect("a type") {
            "gap" => {
                assert_eq!(seq, Some(number), "the last number that was sent");
                gaps += 1;
            }
            "spot_depth_snapshot" => {
                assert_eq!(gaps, 1);
                book = frame["data"]["last_update_id"].as_u64().expect("an id");
            }
            _ => {
                assert_eq!(gaps, 0, "nothing was left to push after the snapshot");
                assert!(seq.is_none_or(|seq| number == seq + 1), "numbers ascend by one");
                book = frame["data"]["update_id_last"].as_u64().expect("an id");
            }
        }
        seq = Some(number);
    }
    assert_eq!((gaps, book), (1, cycle), "what it has is the book again");
    // Both go on, the plain one with a hole that its rules show it.
    let order = r#"{"symbol":"DFUSDT","side":"sell","type":"limit","price":"0.3","quantity":"10"}"#;
    assert_eq!(client.request("POST", "/api/v1/spot/orders", &headers, order).status, 200);
    let frame = resuming.next();
    assert_eq!(
        (frame["seq"].as_u64(), &frame["data"]["update_id_first"]),
        (seq.map(|seq| seq + 1), &json!(cycle + 1))
    );
    let frame = plain.next();
    assert_eq!(frame["data"]["update_id_first"], cycle + 1);
    assert!(has_gap || last != cycle, "the rule of update ids shows the loss");
    drop(running);
}

#[test]
fn a_server_that_stops_says_so() {
    let exchange = open();
    let mut sockets: Vec<Socket> = (0..3).map(|_| Socket::open(&exchange)).collect();
    sockets[0].send(DEPTH);
    assert_eq!(sockets[0].next()["type"], "subscribed");
    // One client never reads: it holds the end up for no longer than the closing takes.
    let unread = asking_without_answers(&exchange);
    exchange.stop_server();
    for socket in &mut sockets {
        assert_eq!(socket.end(), End::Closed(1001, "shutting down".to_owned()));
    }
    drop(exchange);
    drop(unread);
}
