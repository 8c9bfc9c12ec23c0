//! `/ws` under load: a client that follows the rules holds the exact book, one that stalls harms nobody, and nothing that
//! is sent breaks the server.

#![allow(clippy::print_stdout, reason = "what a run found is shown")]

use crate::exchange::socket::{End, Socket, is_well_formed};
use crate::exchange::{self, Client, Exchange};
use crate::random::{Random, seed};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::Message;

const DEPTH: &str = r#"{"type":"subscribe","channel":"spot:depth:DFUSDT"}"#;

/// A book kept by the rules of `spot.md` 11 alone.
#[derive(Default)]
struct Book {
    update_id: Option<u64>,
    sides: [BTreeMap<String, String>; 2],
}

impl Book {
    /// Takes a frame in; false if it shows a loss.
    fn take(&mut self, frame: &Value) -> bool {
        let data = &frame["data"];
        let id = |name: &str| data[name].as_u64().expect("an id");
        match frame["type"].as_str().expect("a type") {
            "subscribed" => return true,
            "spot_depth_snapshot" => {
                *self = Book { update_id: Some(id("last_update_id")), ..Book::default() };
            }
            "spot_depth_diff" => {
                let Some(last) = self.update_id else { panic!("a diff before the snapshot") };
                if id("update_id_last") <= last {
                    panic!("a diff that the snapshot includes");
                }
                if id("update_id_first") != last + 1 {
                    return false;
                }
                self.update_id = Some(id("update_id_last"));
            }
            other => panic!("{other}"),
        }
        for (side, name) in self.sides.iter_mut().zip(["bids", "asks"]) {
            for level in data[name].as_array().expect("levels") {
                let text = |index: usize| level[index].as_str().expect("text").to_owned();
                match text(1).as_str() {
                    "0" => drop(side.remove(&text(0))),
                    total => drop(side.insert(text(0), total.to_owned())),
                }
            }
        }
        true
    }

    fn is_that_of(&self, depth: &Value) -> bool {
        let side = |name: &str| -> BTreeMap<String, String> {
            let levels = depth[name].as_array().expect("levels").iter();
            let text = |value: &Value| value.as_str().expect("text").to_owned();
            levels.map(|level| (text(&level[0]), text(&level[1]))).collect()
        };
        self.update_id == depth["last_update_id"].as_u64() && self.sides == [side("bids"), side("asks")]
    }
}

#[test]
fn a_client_that_follows_the_rules_has_the_book() {
    let mut random = Random::new(seed("ws_flow::a_client_that_follows_the_rules_has_the_book"));
    let mut exchange = Exchange::start_with(|config| config.websocket_frames_per_second = 1_000);
    exchange.open();
    let accounts = [1, 2, 3].map(|number| exchange.account(number));
    let mut client = Client::new(exchange.connect());
    let _running = exchange.run_stages();
    let mut watchers: Vec<(Socket, Book)> = Vec::new();
    for round in 0..150 {
        // Orders in flight while connections come and go.
        let (mut requests, count) = (Vec::new(), 40);
        for _ in 0..count {
            let headers = &accounts[random.below(3) as usize];
            if random.below(12) == 0 {
                exchange::send(&mut requests, "DELETE", "/api/v1/spot/orders", headers, "");
                continue;
            }
            let side = ["buy", "sell"][random.below(2) as usize];
            let (price, quantity) = (1_900 + random.below(200), 50 + random.below(100));
            let tif = ["gtc", "gtc", "gtc", "ioc", "post_only"][random.below(5) as usize];
            let body = format!(
                r#"{{"symbol":"DFUSDT","side":"{side}","type":"limit","tif":"{tif}","price":"0.{price}","quantity":"{}.{}"}}"#,
                quantity / 10,
                quantity % 10
            );
            exchange::send(&mut requests, "POST", "/api/v1/spot/orders", headers, &body);
        }
        let address = &exchange;
        let answered = std::thread::scope(|scope| {
            let sending = scope.spawn(|| client.pipeline(&requests, count));
            if watchers.len() == 4 {
                watchers.remove(random.below(4) as usize);
            }
            let mut socket = Socket::open(address);
            socket.send(DEPTH);
            watchers.push((socket, Book::default()));
            if random.below(3) == 0 {
                let place = random.below(watchers.len() as u64) as usize;
                watchers[place].0.send(DEPTH);
            }
            sending.join().expect("all are answered")
        });
        assert!(answered > 0);
        let depth = client.request("GET", "/api/v1/spot/depth?symbol=DFUSDT&limit=1000", &[], "");
        let depth: Value = serde_json::from_str(&depth.body).expect("JSON");
        for (socket, book) in &mut watchers {
            while book.update_id != depth["last_update_id"].as_u64() {
                assert!(book.take(&socket.next()), "round {round}: a loss");
            }
            assert!(book.is_that_of(&depth), "round {round}");
        }
    }
}

/// Resident memory of this process, in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/statm").expect("the system's figures");
    status.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).expect("pages") * 4_096
}

#[test]
fn one_that_stalls_harms_nobody() {
    const DIFFS: u64 = 100_000;
    const HEALTHY: usize = 50;
    // Several, so that more than one diff is on its way at a time.
    const TRADERS: u8 = 10;
    let mut exchange = Exchange::start();
    exchange.open();
    let order = r#"{"symbol":"DFUSDT","side":"sell","type":"limit","price":"0.2","quantity":"10"}"#;
    let traders: Vec<_> = (1..=TRADERS)
        .map(|number| {
            exchange.credit(number, "DF");
            let (headers, mut requests) = (exchange.account(number), Vec::new());
            for _ in 0..50 {
                exchange::send(&mut requests, "POST", "/api/v1/spot/orders", &headers, order);
                exchange::send(&mut requests, "DELETE", "/api/v1/spot/orders", &headers, "");
            }
            (Client::new(exchange.connect()), requests)
        })
        .collect();
    let mut stalled = Socket::open(&exchange);
    stalled.send(&DEPTH.replace('}', r#","resume":true}"#));
    assert_eq!(
        (stalled.next()["type"].as_str(), stalled.next()["type"].as_str()),
        (Some("subscribed"), Some("spot_depth_snapshot"))
    );
    let seen: Arc<Vec<AtomicU64>> = Arc::new((0..HEALTHY).map(|_| AtomicU64::new(0)).collect());
    let readers: Vec<_> = (0..HEALTHY)
        .map(|index| {
            let mut socket = Socket::open(&exchange);
            socket.send(DEPTH);
            assert_eq!(socket.next()["type"], "subscribed");
            assert_eq!(socket.next()["type"], "spot_depth_snapshot");
            let seen = seen.clone();
            std::thread::spawn(move || {
                for expected in 1..=DIFFS {
                    let text = socket.next_text();
                    let id =
                        text.split(r#""update_id_first":"#).nth(1).and_then(|rest| rest.split(',').next());
                    assert_eq!(
                        id.and_then(|id| id.parse().ok()),
                        Some(expected),
                        "no gap on a healthy socket"
                    );
                    seen[index].store(expected, Ordering::Relaxed);
                }
            })
        })
        .collect();
    let _running = exchange.run_stages();
    let (before, begin) = (memory(), Instant::now());
    let answered = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for (mut client, requests) in traders {
            let (seen, readers, answered) = (&seen, &readers, &answered);
            scope.spawn(move || {
                for _ in 0..DIFFS / 100 / u64::from(TRADERS) {
                    assert_eq!(client.pipeline(&requests, 100), 100);
                    let answered = answered.fetch_add(100, Ordering::Relaxed) + 100;
                    // Who reads is healthy, however busy this machine is; the stalled one is not waited for.
                    let is_behind = |seen: &AtomicU64| seen.load(Ordering::Relaxed) + 2_000 < answered;
                    while seen.iter().any(is_behind) && !readers.iter().any(|reader| reader.is_finished()) {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
            });
        }
    });
    for reader in readers {
        reader.join().expect("a healthy socket has no gap");
    }
    let grown = memory().saturating_sub(before);
    println!(
        "{DIFFS} diffs to {HEALTHY} sockets in {:?}, memory grew by {} KiB",
        begin.elapsed(),
        grown / 1_024
    );
    // 100,000 orders with their history are most of this; the frames of the stalled one would be more than the rest.
    assert!(grown < 96 << 20, "memory grew by {grown} bytes");
    // What the stalled one did not lose is in order; then it is told, and has the book again.
    let mut gaps = 0;
    loop {
        let frame = stalled.next();
        match frame["type"].as_str().expect("a type") {
            "gap" => gaps += 1,
            "spot_depth_snapshot" => break assert_eq!(frame["data"]["last_update_id"], DIFFS),
            _ => assert_eq!(gaps, 0),
        }
    }
    assert_eq!(gaps, 1);
}

#[test]
fn two_thousand_malformed_frames() {
    let mut random = Random::new(seed("ws_flow::two_thousand_malformed_frames"));
    let mut exchange = Exchange::start_with(|config| config.websocket_frames_per_second = u32::MAX);
    exchange.open();
    let good = [
        r#"{"type":"ping"}"#,
        r#"{"type":"auth","listenKey":"k"}"#,
        r#"{"type":"auth_token","token":"t.u.v"}"#,
        r#"{"type":"auth_eip712","address":"0xa1","nonce":"n","signature":"0x00"}"#,
        r#"{"type":"subscribe","channel":"spot:depth:DFUSDT","token":"t"}"#,
        r#"{"type":"subscribe","channel":"spot:kline:DFUSDT:1m","resume":true,"from":7}"#,
        r#"{"type":"unsubscribe","channel":"spot:trade:DFUSDT"}"#,
    ];
    let values = ["null", "true", "-1", "[]", "{}", "\"\"", "\"\u{0}\"", "99999999999999999999"];
    let mut socket = Socket::open(&exchange);
    let mut refused = 0;
    for number in 0..1_700 {
        let mut text = good[random.below(good.len() as u64) as usize].to_owned();
        for _ in 0..=random.below(3) {
            let at = random.below(text.len().max(1) as u64) as usize;
            match random.below(5) {
                0 => text.truncate(at),
                1 => text.insert(at, char::from(32 + random.below(95) as u8)),
                2 if !text.is_empty() => drop(text.remove(at)),
                3 => {
                    let value = values[random.below(values.len() as u64) as usize];
                    text = match text.split_once(':') {
                        Some((name, rest)) if random.below(2) == 0 => {
                            format!("{name}:{value}{}", &rest[rest.find([',', '}']).unwrap_or(rest.len())..])
                        }
                        _ => text.replacen(r#"","#, &format!(r#"","x{number}":{value},"#), 1),
                    };
                }
                _ => text = format!("{}{text}", "[".repeat(random.below(300) as usize)),
            }
            if !text.is_ascii() {
                break;
            }
        }
        // Exactly what is no frame is refused as such, and the connection stays.
        let frames = socket.ask(&text);
        let is_refused = frames.len() == 1 && frames[0]["code"] == "INVALID_MESSAGE";
        // A member that stands twice is refused here and passes there.
        let is_twice = text.matches("\"type\"").count() > 1 || text.matches("\"channel\"").count() > 1;
        assert!(is_refused != is_well_formed(&text) || is_twice, "{text}: {frames:?}");
        assert!(!frames.is_empty(), "{text}: unanswered");
        refused += usize::from(is_refused);
    }
    println!("{refused} of 1,700 refused");
    assert!(refused > 800, "most are malformed");
    // Faults below the frames end the connection with a code, never the server.
    for number in 0..300 {
        let (bytes, codes) = broken(number, &mut random);
        let mut bad = Socket::open(&exchange);
        // The server may close before it has all of it.
        let _ = bad.inner.get_mut().write_all(&bytes);
        match bad.end() {
            End::Closed(code, _) => assert!(codes.contains(&code), "{number}: {bytes:?}: {code}"),
            End::Cut => panic!("{number}: {bytes:?}: cut without a close frame"),
        }
    }
    socket.send(r#"{"type":"ping"}"#);
    assert!(socket.drain().expect("it is open").iter().any(|frame| frame.contains("pong")));
}

/// Bytes that break the framing of RFC 6455, and the codes that may answer them.
fn broken(number: u64, random: &mut Random) -> (Vec<u8>, &'static [u16]) {
    let mask = [random.below(256) as u8, 7, 1, 9];
    let frame = |first: u8, payload: &[u8]| {
        let mut bytes = vec![first, 0x80 | payload.len() as u8];
        bytes.extend(mask);
        bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
        bytes
    };
    let noise: Vec<u8> = (0..random.below(100)).map(|_| random.below(256) as u8).collect();
    match number % 13 {
        // Reserved bits, opcodes, unmasked frames, control frames in parts, wild continuations.
        0 => (frame(0x81 | 0x10 << random.below(3), b"{}"), &[1002]),
        1 => (frame(0x83 + random.below(5) as u8, &noise), &[1002]),
        2 => (frame(0x8b + random.below(5) as u8, b"x"), &[1002]),
        3 => (vec![0x81, 2, b'{', b'}'], &[1002]),
        4 => (frame(0x09, b"ping"), &[1002]),
        5 => (frame(0x80, &noise), &[1002]),
        6 => ([frame(0x01, b"{"), frame(0x81, b"}")].concat(), &[1002]),
        // No UTF-8: broken, overlong, a surrogate, beyond the last character, cut off at the end of its last part.
        7 => {
            let wrong: [&[u8]; 4] =
                [&[b'"', 0xc3, 0x28, b'"'], &[0xc0, 0xaf], &[0xed, 0xa0, 0x80], &[0xf4, 0x90, 0x80, 0x80]];
            (frame(0x81, wrong[random.below(4) as usize]), &[1007])
        }
        10 => ([frame(0x01, b"\"\xe2"), frame(0x80, b"\x82")].concat(), &[1007]),
        // One byte a part, and no end: bounded by what a message may have.
        11 => ([frame(0x01, b"{"), frame(0x00, b" ").repeat(65_536)].concat(), &[1009]),
        // Too long and all of it sent.
        12 => {
            let mut bytes = vec![0x81, 0xff];
            bytes.extend(70_000u64.to_be_bytes());
            bytes.extend([0; 4]);
            bytes.resize(bytes.len() + 70_000, b' ');
            (bytes, &[1009])
        }
        // Too long, announced or in parts.
        8 => {
            let mut bytes = vec![0x81, 0xff];
            bytes.extend((65_537 + random.below(1 << 40)).to_be_bytes());
            bytes.extend(mask);
            (bytes, &[1009])
        }
        _ => {
            let part = |first: u8| {
                let mut bytes = vec![first, 0xfe];
                bytes.extend(40_000u16.to_be_bytes());
                bytes.extend(mask);
                bytes.extend(
                    std::iter::repeat_n(b'x', 40_000)
                        .zip(mask.iter().cycle())
                        .map(|(byte, mask)| byte ^ mask),
                );
                bytes
            };
            ([part(0x01), part(0x80)].concat(), &[1009])
        }
    }
}

#[test]
fn connections_that_break_off_anywhere_leave_nothing_behind() {
    let mut exchange = Exchange::start();
    exchange.open();
    for cut in 0..40 {
        let mut socket = Socket::open(&exchange);
        socket.inner.write(Message::text(DEPTH)).expect("it is written");
        let _ = socket.inner.flush();
        if cut % 2 == 0 {
            let _ = socket.inner.get_mut().read(&mut [0; 64]);
        }
        let stream: &TcpStream = socket.inner.get_ref();
        let _ = stream.shutdown(std::net::Shutdown::Both);
    }
    let mut last = Socket::open(&exchange);
    last.send(DEPTH);
    assert_eq!(last.drain().expect("it is open").len(), 2);
    // The server waits for its sessions when it stops: `drop` would not come back if one were left.
    drop(last);
    drop(exchange);
}
