//! Any bytes as bodies, queries and paths of the API: read into commands without a panic, refused with 400 to 499, and what
//! is read is what the engine takes. Now and then the same goes through a real socket: no answer may be a fault of the
//! server, and all are JSON.

#![allow(clippy::unwrap_used, reason = "a panic is a test's report")]

mod exchange;
#[path = "../../core/tests/support/fuzz.rs"]
mod fuzz;

use exchange::chain::{Chain, SteeredSigner, configure};
use exchange::{ADMIN_KEY, Exchange};
use fuzz::Fuzz;
use ringside_core::command::Command;
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Done, Event};
use ringside_core::reject::Reject;
use ringside_dialect::spot::admin::{CreditBody, ListBody, StatusBody, UpdateBody};
use ringside_dialect::spot::decode::{self, PlaceBody, place_order};
use ringside_dialect::spot::id;
use ringside_dialect::spot::refusal::Refusal;
use ringside_edge::route::Query;
use ringside_gateway::routes::routes;
use ringside_wire::decimal::{
    parse_amount, parse_bps, parse_entry, text_of, write_amount, write_bps, write_entry,
};

const BODIES: &[&str] = &[
    r#"{"symbol":"DFUSDT","side":"buy","type":"limit","tif":"gtc","price":"0.2","quantity":"20"}"#,
    r#"{"symbol":"dfusdt","side":"SELL","type":"market","quantity":1e1,"quote_quantity":null}"#,
    r#"{"symbol":"DFUSDT","side":"buy","type":"market","quote_quantity":25.5}"#,
    r#"{"id":"NEWUSDT","base_token":"NEW","quote_token":"USDT","tick_size":"0.01","lot_size":1,"min_notional":"1","maker_fee_bps":5.25,"taker_fee_bps":10}"#,
    r#"{"tick_size":"0.0001","min_notional":0.5,"taker_fee_bps":0}"#,
    r#"{"status":"halted"}"#,
    r#"{"status":"listed"}"#,
    r#"{"user_address":"0xa100000000000000000000000000000000000002","token":"DF","amount":"1.5","reason":"x"}"#,
    r#"{"address":"0xa100000000000000000000000000000000000002","nonce":"9f86d081884c7d659a2feaa0c55ad015","signature":"0x00"}"#,
    r#"{"label":"robot","permissions":["read","trade"],"ip_whitelist":["10.0.0.0/8","::1"],"expires_at":1800000000,"enabled":true}"#,
    "symbol=DFUSDT&limit=50&interval=1m&start_time=1700000000&end_time=1700000060",
    "status=open&start=1&end=2&limit=200&token=USDT",
    "00000000-0000-8001-bb68-693ff2dce9d5",
];

#[rustfmt::skip]
const WORDS: &[&[u8]] = &[
    b"\"symbol\":", b"\"side\":", b"\"type\":", b"\"tif\":", b"\"price\":", b"\"quantity\":", b"\"quote_quantity\":", b"\"amount\":",
    b"\"buy\"", b"\"sell\"", b"\"limit\"", b"\"market\"", b"\"ioc\"", b"\"post_only\"", b"\"DFUSDT\"", b"null", b"true", b"false",
    b"{", b"}", b"[", b"]", b",", b":", b"\"", b"\\u0000", b"\\ud800", b"\\\"", b"\xff", b"\xc3\xa9", b"\xe2\x80\xae", b"%00", b"%ff", b"&", b"=", b"+",
    b"-1", b"0", b"0.0", b"1e9", b"1E-9", b"0.00000001", b"0.000000001", b"0.000000000000000001", b"92233720368", b"92233720368.54775807",
    b"92233720369", b"99999999999999999999", b"99999999999999999999.999999999999999999", b"9223372036854775808", b"-9223372036854775809",
    b"170141183460469231731687303715884105728", b"limit=", b"start=", b"end=", b"status=", b"symbol=", b"interval=", b"token=",
];

/// What reading came to: the string of the refusal, or that there was none.
fn judge<T>(read: Result<T, Refusal>) -> Result<T, &'static str> {
    read.map_err(|refusal| {
        assert!((400..500).contains(&refusal.status), "{refusal:?}");
        refusal.error
    })
}

fn parsed<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, &'static str> {
    serde_json::from_slice(bytes).map_err(|_| "invalid json")
}

/// Every reader of the dialect; the commands that come of it.
fn read(bytes: &[u8], commands: &mut Vec<Command>) -> Vec<Result<(), &'static str>> {
    let mut take = |command: Result<Command, &'static str>| command.map(|command| commands.push(command));
    let place = |body: PlaceBody<'_>| {
        let terms = judge(body.terms())?;
        let size = judge(body.size(&terms))?;
        Ok(Command::new(place_order(1, 0, &terms, &size)))
    };
    let mut outcomes = vec![
        take(parsed(bytes).and_then(place)),
        take(parsed(bytes).and_then(|body: ListBody<'_>| judge(body.command())).map(Command::new)),
        take(parsed(bytes).and_then(|body: UpdateBody<'_>| judge(body.command(0))).map(Command::new)),
        take(parsed(bytes).and_then(|body: CreditBody<'_>| judge(body.command())).map(Command::new)),
        parsed(bytes).and_then(|body: StatusBody<'_>| judge(body.status())).map(drop),
    ];
    let sent = String::from_utf8_lossy(bytes);
    let query = Query(&sent);
    let get = |name: &str| query.get(name);
    assert!(query.pairs().count() <= sent.split('&').count());
    let limit = judge(decode::limit(get("limit").as_deref(), 50, 200));
    assert!(limit.is_err() || (1..=200).contains(&limit.unwrap()));
    outcomes.push(limit.map(drop));
    outcomes.push(judge(decode::order_status(get("status").as_deref())).map(drop));
    let range = judge(decode::time_range(get("start").as_deref(), get("end").as_deref()));
    outcomes.push(range.map(|range| assert!(range.start_s <= range.end_s)));
    if let Some(id::ParsedUuid::Order(order)) = id::parse(&sent) {
        assert_eq!(id::order_uuid_text(order), sent.to_ascii_lowercase(), "an id has one spelling");
    }
    numbers(bytes);
    outcomes
}

/// A number that is read is written, and read again, as itself.
fn numbers(bytes: &[u8]) {
    if let Some(amount) = parse_amount(bytes) {
        assert_eq!(parse_amount(text_of(|out| write_amount(out, amount)).as_bytes()), Some(amount));
    }
    if let Some(value) = parse_entry(bytes) {
        assert_eq!(parse_entry(text_of(|out| write_entry(out, value)).as_bytes()), Some(value));
    }
    if let Some(rate) = parse_bps(bytes) {
        assert_eq!(parse_bps(text_of(|out| write_bps(out, rate)).as_bytes()), Some(rate));
    }
}

/// Bytes as a part of a path or query: what has no place there is percent-encoded, now and then wrongly.
fn in_line(bytes: &[u8]) -> String {
    let mut out = String::new();
    for &byte in bytes.iter().take(700) {
        match byte {
            b'0'..=b'9'
            | b'A'..=b'Z'
            | b'a'..=b'z'
            | b'-'
            | b'_'
            | b'.'
            | b'&'
            | b'='
            | b'%'
            | b'+'
            | b':'
            | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out
}

#[test]
fn any_bytes_are_bodies_and_queries() {
    let mut exchange = Exchange::start_with(configure);
    exchange.open();
    let _chain = Chain::start(&exchange, Some(SteeredSigner::default()));
    let account = exchange.account(1);
    let admin = [format!("X-API-Key: {ADMIN_KEY}")];
    let mut engine = Engine::new(&EngineConfig::default());
    // Referral records need a contract: without one each read of them is a fault of the server.
    let is_read_here = |tag: &str| tag != "websocket" && tag != "referral";
    let rows: Vec<_> = routes().filter(|route| route.is_api && is_read_here(route.tag)).collect();
    let fuzz = Fuzz::of_text("-p ringside-gateway --test fuzz_bodies", BODIES, WORDS, 70_000);
    let mut inputs = 0;
    let run = fuzz.run(|bytes| {
        inputs += 1;
        let mut commands = Vec::new();
        let outcomes = read(bytes, &mut commands);
        for command in commands {
            let command = Command { sequence: engine.sequence() + 1, time_ns: 1, ..command };
            let mut events: Vec<Event> = Vec::new();
            engine.apply(&command, &mut events);
            let done = events.last().unwrap().get::<Done>().unwrap();
            assert_ne!(
                done.rejected(),
                Some(Reject::Malformed),
                "the edge reads what the engine takes: {command:?}"
            );
        }
        if inputs % 37 == 0 || std::env::var_os("FUZZ_INPUT").is_some() {
            let route = rows[inputs / 37 % rows.len()];
            let line = in_line(bytes);
            let mut path = route.path.to_owned();
            if let Some((before, after)) = route.path.split_once('{') {
                let value = if inputs % 2 == 0 { "DFUSDT" } else { &line };
                path = format!("{before}{value}{}", after.split_once('}').unwrap().1);
            }
            let path = format!("{path}?{line}");
            let is_admin = route.path.contains("/admin/");
            let headers = if is_admin { &admin[..] } else { &account[..] };
            let body = String::from_utf8_lossy(bytes);
            let answer = exchange.request(route.method.name(), &path, headers, &body);
            assert!((200..500).contains(&answer.status), "{} {path}: {answer:?}", route.method.name());
            let is_json = serde_json::from_str::<serde_json::Value>(&answer.body).is_ok();
            assert!(is_json, "{} {path}: {answer:?}", route.method.name());
        }
        outcomes
    });
    run.reached(31);
}
