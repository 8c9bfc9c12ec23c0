//! Every refusal, produced through a socket.
//!
//! Three lists must agree. What the specification names (`spot.md` 3, below as [`SPECIFIED`]) is produced, or its route does
//! not exist yet. What a row documents as a client's fault is produced on that very route. What is produced is documented on
//! that route. Produced means: a transcript in `golden/spot` shows it, which `spot_golden.rs` runs byte for byte, or a
//! function of this file gets it.

use crate::exchange::chain::{self, Chain, Fact, Mood, SteeredSigner};
use crate::exchange::rows;
use crate::exchange::{ADMIN_KEY, Answer, Exchange, INPUT_SLOTS, send, wallet, wallet_text};
use ringside_auth::jwt::TOKEN_LIFE_S;
use ringside_chain::Told;
use ringside_commands::ingress::EngineState;
use ringside_core::event::{AccountCreated, Event};
use ringside_core::ids::AccountId;
use ringside_dialect::spot::decode::UNSUPPORTED;
use ringside_edge::route::Method;
use ringside_gateway::routes::routes;
use ringside_wire::refusal::Dialect;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

/// The table of `spot.md` 3, and the strings of 2 and 12.
#[rustfmt::skip]
const SPECIFIED: &[(u16, &[&str])] = &[
    (400, &[
        "invalid json", "symbol required", "invalid limit", "invalid status", "invalid range", "invalid price",
        "invalid quantity", "invalid quote_quantity", "invalid amount", "invalid side", "invalid type", "invalid tif",
        "invalid id", "invalid interval", "unsupported token: <symbol>", "amount below minimum 1", "insufficient balance",
        "invalid user address", "quote_quantity required for market buy", "quantity required for limit/market sell",
        "price required for limit", "MARKET_NOT_FOUND", "INVALID_TICK", "INVALID_LOT", "BELOW_MIN_NOTIONAL",
        "INSUFFICIENT_BALANCE", "POST_ONLY_REJECT", "SELF_TRADE", "too many open orders", "invalid address",
        "invalid signature", "invalid permission", "too many api keys",
    ]),
    (401, &["UNAUTHORIZED", "TOKEN_EXPIRED", "NONCE_INVALID", "SIGNATURE_INVALID"]),
    (403, &[
        "API Key permission denied: withdraws not allowed", "API Key permission denied: trade not allowed",
        "API Key permission denied: read not allowed", "FORBIDDEN",
    ]),
    (404, &["MARKET_NOT_FOUND", "ORDER_NOT_FOUND", "TICKER_NOT_FOUND", "not found", "DISABLED"]),
    (405, &["method not allowed"]),
    (409, &["MARKET_HALTED", "MARKET_EXISTS", "IDEMPOTENCY_CONFLICT"]),
    (410, &["MARKET_DELISTED"]),
    (413, &["body too large"]),
    (418, &["BANNED"]),
    (429, &["RATE_LIMITED"]),
    (500, &["DB_ERROR", "internal", "sign failed", "signer unavailable"]),
    (503, &[
        "spot trading disabled (engine not started)", "ENGINE_BUSY", "ENGINE_RESTARTING", "spot subsystem disabled",
    ]),
];

const ORDERS: &str = "/api/v1/spot/orders";
const KEYS: &str = "/api/v1/account/api-keys";

/// Refusals seen: the route of the table, where there is one; status; string.
#[derive(Default)]
struct Produced(rows::Seen);

impl Produced {
    fn note(&mut self, method: &str, path: &str, status: u16, body: &str) {
        if status < 400 {
            return;
        }
        let body: Value = serde_json::from_str(body).expect("every refusal is JSON");
        let error = body["error"].as_str().expect("every refusal names an error").to_owned();
        // Strings that go on with what was sent are compared without it.
        let error =
            if error.starts_with("unsupported token: ") { "unsupported token: ".to_owned() } else { error };
        let path = path.split('?').next().unwrap();
        let route = rows::of_request(method, path);
        self.0.insert((route.map(rows::name).unwrap_or_default(), status, error));
    }

    /// Requests and notes what comes; says whether it was this.
    #[track_caller]
    fn request(
        &mut self,
        exchange: &mut Exchange,
        (method, path): (&str, &str),
        headers: &[String],
        body: &str,
        expected: (u16, &str),
    ) {
        let answer = exchange.request(method, path, headers, body);
        self.see((method, path), &answer, expected);
    }

    #[track_caller]
    fn see(&mut self, (method, path): (&str, &str), answer: &Answer, expected: (u16, &str)) {
        self.note(method, path, answer.status, &answer.body);
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!(
            (answer.status, body["error"].as_str()),
            (expected.0, Some(expected.1)),
            "{method} {path}"
        );
    }
}

fn admin() -> Vec<String> {
    vec![format!("X-API-Key: {ADMIN_KEY}")]
}

fn order(price: &str) -> String {
    format!(r#"{{"symbol":"DFUSDT","side":"buy","type":"limit","price":"{price}","quantity":"20"}}"#)
}

/// What the transcripts show.
fn transcripts(produced: &mut Produced) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/spot");
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let mut request = "";
        for line in text.lines() {
            match line.split_at_checked(4).map(|(status, body)| (status.trim_end().parse(), body)) {
                Some((Ok(status), body)) => {
                    let mut parts = request.split(' ').skip(1);
                    let (method, path) = (parts.next().unwrap(), parts.next().unwrap());
                    produced.note(method, &format!("/api/v1{path}"), status, body);
                }
                _ if line.starts_with(['#', '!', ' ']) || line.is_empty() => {}
                _ => request = line,
            }
        }
    }
}

fn credentials(produced: &mut Produced) {
    let mut exchange = Exchange::start();
    exchange.open();
    let now_s = exchange.clock.now_s();
    let tokens = &exchange.shared.edge.auth.tokens;
    let old = tokens.mint(1, &wallet(1), "jti".to_owned(), now_s - TOKEN_LIFE_S).unwrap().0;
    let old = [format!("Authorization: Bearer {old}")];
    produced.request(&mut exchange, ("GET", ORDERS), &old, "", (401, "TOKEN_EXPIRED"));
    let alice = exchange.account(1);
    let mut key = |permission: &str| {
        let body = format!(r#"{{"label":"one","permissions":["{permission}"]}}"#);
        let made: Value = serde_json::from_str(&exchange.request("POST", KEYS, &alice, &body).body).unwrap();
        [format!("X-API-Key: {}", made["api_key"].as_str().unwrap())]
    };
    let (reads, trades) = (key("read"), key("trade"));
    let denied = (403, "API Key permission denied: trade not allowed");
    produced.request(&mut exchange, ("POST", ORDERS), &reads, "{}", denied);
    let denied = (403, "API Key permission denied: read not allowed");
    produced.request(&mut exchange, ("GET", ORDERS), &trades, "", denied);
    produced.request(&mut exchange, ("GET", KEYS), &reads, "", (403, "FORBIDDEN"));
    for path in ["/ws", "/ws-fapi/v1"] {
        produced.request(&mut exchange, ("GET", path), &[], "", (426, "upgrade required"));
    }
    let path = "/ws-fapi/v1?returnRateLimits=null";
    let expected = (400, "returnRateLimits must be true or false");
    produced.request(&mut exchange, ("GET", path), &[], "", expected);
}

fn login(produced: &mut Produced) {
    let mut exchange = Exchange::start();
    let (nonce, login) = (("GET", "/api/v1/auth/nonce"), ("POST", "/api/v1/auth/login"));
    let address = wallet_text(1);
    produced.request(&mut exchange, nonce, &[], "", (400, "invalid address"));
    let path = format!("{}?address={address}", nonce.1);
    let issued: Value = serde_json::from_str(&exchange.request("GET", &path, &[], "").body).unwrap();
    let zeros = format!("0x{}", "00".repeat(65));
    let body = |address: &str, nonce: &Value, signature: &str| {
        json!({ "address": address, "nonce": nonce, "signature": signature }).to_string()
    };
    for (body, expected) in [
        ("[]".to_owned(), (400, "invalid json")),
        (body("0x", &issued["nonce"], &zeros), (400, "invalid address")),
        (body(&address, &issued["nonce"], "0x00"), (400, "invalid signature")),
        (
            json!({ "address": address, "nonce": issued["nonce"], "signature": zeros, "version": 3 })
                .to_string(),
            (400, "invalid version"),
        ),
        (body(&address, &json!("unknown"), &zeros), (401, "NONCE_INVALID")),
        (body(&address, &issued["nonce"], &zeros), (401, "SIGNATURE_INVALID")),
    ] {
        produced.request(&mut exchange, login, &[], &body, expected);
    }
}

fn api_keys(produced: &mut Produced) {
    let mut exchange = Exchange::start();
    exchange.open();
    let alice = exchange.account(1);
    let made: Value =
        serde_json::from_str(&exchange.request("POST", KEYS, &alice, r#"{"label":"one"}"#).body).unwrap();
    let one = format!("{KEYS}/{}", made["id"]);
    for (member, error) in [
        ("label", "invalid label"),
        ("permissions", "invalid permission"),
        ("ip_whitelist", "invalid ip_whitelist"),
    ] {
        let body = json!({ "label": "two", member: 7 }).to_string();
        produced.request(&mut exchange, ("POST", KEYS), &alice, &body, (400, error));
        produced.request(&mut exchange, ("PATCH", &one), &alice, &body, (400, error));
    }
    let body = r#"{"label":"two","expires_at":"soon"}"#;
    produced.request(&mut exchange, ("POST", KEYS), &alice, body, (400, "invalid expires_at"));
    produced.request(&mut exchange, ("PATCH", &one), &alice, r#"{"enabled":1}"#, (400, "invalid enabled"));
    for method in ["PATCH", "DELETE"] {
        produced.request(&mut exchange, (method, &format!("{KEYS}/999")), &alice, "{}", (404, "not found"));
    }
    for _ in 1..30 {
        assert_eq!(exchange.request("POST", KEYS, &alice, r#"{"label":"more"}"#).status, 200);
    }
    produced.request(&mut exchange, ("POST", KEYS), &alice, r#"{"label":"x"}"#, (400, "too many api keys"));
}

fn limits(produced: &mut Produced) {
    let mut exchange = Exchange::start_with(|config| config.orders_per_ten_seconds = 1);
    exchange.open();
    let alice = exchange.account(1);
    assert_eq!(exchange.request("POST", ORDERS, &alice, &order("0.1")).status, 200);
    produced.request(&mut exchange, ("POST", ORDERS), &alice, "{}", (429, "RATE_LIMITED"));

    let mut exchange = Exchange::start_with(|config| config.weight_per_minute = 5);
    let health = ("GET", "/api/v1/spot/health");
    for _ in 0..5 {
        assert_eq!(exchange.request(health.0, health.1, &[], "").status, 200);
    }
    produced.request(&mut exchange, health, &[], "", (429, "RATE_LIMITED"));
    let banned =
        (0..1_000).map(|_| exchange.request(health.0, health.1, &[], "")).find(|answer| answer.status != 429);
    produced.see(health, &banned.expect("who goes on is banned"), (418, "BANNED"));

    let mut exchange = Exchange::start();
    exchange.open();
    let alice = exchange.account(1);
    for _ in 0..200 {
        assert_eq!(exchange.request("POST", ORDERS, &alice, &order("0.1")).status, 200);
    }
    produced.request(&mut exchange, ("POST", ORDERS), &alice, &order("0.1"), (400, "too many open orders"));
}

fn deployment(produced: &mut Produced) {
    let mut exchange = Exchange::start_with(|config| config.test_deployment = false);
    let credit = ("POST", "/api/v1/admin/spot/balances/credit");
    produced.request(&mut exchange, credit, &admin(), "{}", (404, "DISABLED"));
}

fn engine(produced: &mut Produced) {
    let mut exchange = Exchange::start_with(|config| config.request_timeout = Duration::from_secs(1));
    exchange.open();
    let place = ("POST", ORDERS);
    let hand_over = |exchange: &Exchange| {
        let mut client = exchange.connect();
        send(&mut client, place.0, place.1, &exchange.account(1), &order("0.1"));
        client
    };
    // The stages stand still: nothing answers until the time is up.
    let mut client = hand_over(&exchange);
    exchange.wait_for_queue(1);
    let late = exchange.receive(&mut client, false);
    produced.see(place, &late, (500, "internal"));
    // The engine ends with a command in its hands.
    let mut client = hand_over(&exchange);
    exchange.wait_for_queue(2);
    exchange.shared.phase.set(EngineState::Halted);
    let unknown = exchange.receive(&mut client, false);
    produced.see(place, &unknown, (500, "DB_ERROR"));

    let mut exchange = Exchange::start();
    exchange.open();
    let mut waiting = Vec::new();
    // The last fifth is kept for cancels.
    for number in 1..=INPUT_SLOTS - INPUT_SLOTS / 5 {
        waiting.push(hand_over(&exchange));
        exchange.wait_for_queue(number as u64);
    }
    let mut client = hand_over(&exchange);
    let busy = exchange.receive(&mut client, false);
    produced.see(place, &busy, (503, "ENGINE_BUSY"));
    for client in &mut waiting {
        assert_eq!(exchange.receive(client, true).status, 200);
    }
}

fn transfers(produced: &mut Produced) {
    let mut exchange = Exchange::start_perpetual(&[(1, 100)]);
    let alice = exchange.account(1);
    let (transfer, list) = (("POST", "/api/v1/spot/transfer"), ("GET", "/api/v1/spot/transfers"));
    let body = |direction: &str, token: &str, amount: &str| {
        json!({ "direction": direction, "token": token, "amount": amount }).to_string()
    };
    for (body, error) in [
        (body("up", "USDT", "1"), "invalid direction"),
        (body("to_spot", "DF", "1"), "unsupported token: DF"),
        (body("to_spot", "USDT", "0.0000001"), "invalid amount"),
        (body("to_spot", "USDT", "100.000001"), "INSUFFICIENT_BALANCE"),
        (body("to_perp", "USDT", "0.000001"), "INSUFFICIENT_BALANCE"),
        // Well formed, however much it is (`spot.md` 1).
        (body("to_spot", "USDT", "1000000000000.000001"), "INSUFFICIENT_BALANCE"),
        (body("to_perp", "USDT", "9223372036854.775807"), "INSUFFICIENT_BALANCE"),
        (body("to_spot", "USDT", "9223372036854.775808"), "INSUFFICIENT_BALANCE"),
        (body("to_perp", "USDT", "99999999999999999999"), "INSUFFICIENT_BALANCE"),
        (body("to_perp", "USDT", "99999999999999999999.0000001"), "invalid amount"),
    ] {
        produced.request(&mut exchange, transfer, &alice, &body, (400, error));
    }
    let keyed = |key: &str| [alice[0].clone(), format!("Idempotency-Key: {key}")];
    let good = body("to_spot", "USDT", "1");
    produced.request(&mut exchange, transfer, &keyed("a b"), &good, (400, "invalid idempotency key"));
    assert_eq!(exchange.request("POST", transfer.1, &keyed("one"), &good).status, 200);
    let other = body("to_spot", "USDT", "2");
    produced.request(&mut exchange, transfer, &keyed("one"), &other, (409, "IDEMPOTENCY_CONFLICT"));
    for (query, error) in [("direction=up", "invalid direction"), ("limit=x", "invalid limit")] {
        let path = format!("{}?{query}", list.1);
        produced.request(&mut exchange, (list.0, &path), &alice, "", (400, error));
    }
    // Without a perpetual market there is no other ledger.
    let mut exchange = Exchange::start();
    exchange.open();
    let alice = exchange.account(1);
    produced.request(&mut exchange, transfer, &alice, &good, (404, "DISABLED"));
}

/// The rest: what a row documents and no transcript shows.
fn rest(produced: &mut Produced) {
    let mut exchange = Exchange::start();
    exchange.open();
    let rules = ["lot_size", "min_notional", "maker_fee_bps", "taker_fee_bps"];
    for member in rules {
        let body = json!({ member: -1 }).to_string();
        let error = format!("invalid {member}");
        let path = "/api/v1/admin/spot/markets/DFUSDT";
        produced.request(&mut exchange, ("PATCH", path), &admin(), &body, (400, &error));
    }
    for refusal in UNSUPPORTED {
        let name = refusal.error.strip_prefix("unsupported ").unwrap();
        let body = json!({ "symbol": "DFUSDT", "side": "buy", "type": "limit", "price": 1, "quantity": 1, name: true });
        let alice = exchange.account(1);
        produced.request(&mut exchange, ("POST", ORDERS), &alice, &body.to_string(), (400, refusal.error));
    }
    let long = "x".repeat(257);
    let listed = json!({ "id": "XYUSDT", "base_token": "XY", "quote_token": "USDT", "tick_size": "1", "lot_size": "1",
        "min_notional": "1", "maker_fee_bps": 0, "taker_fee_bps": 0 });
    for (request, mut body) in [
        (("POST", "/api/v1/admin/spot/markets"), listed),
        (("PATCH", "/api/v1/admin/spot/markets/DFUSDT"), json!({ "lot_size": 1 })),
        (("PATCH", "/api/v1/admin/spot/markets/DFUSDT/status"), json!({ "status": "halted" })),
        (
            ("POST", "/api/v1/admin/spot/balances/credit"),
            json!({ "user_address": format!("0x{}", "12".repeat(20)), "token": "DF", "amount": 1 }),
        ),
    ] {
        body["reason"] = json!(long);
        produced.request(&mut exchange, request, &admin(), &body.to_string(), (400, "invalid reason"));
    }
}

fn withdrawals(produced: &mut Produced) {
    const REQUEST: (&str, &str) = ("POST", "/api/v1/spot/withdraw/request");
    const LIST: (&str, &str) = ("GET", "/api/v1/spot/withdrawals");
    let body = |token: &str, amount: &str| format!(r#"{{"token":"{token}","amount":{amount}}}"#);
    let mut exchange = Exchange::start();
    exchange.open();
    let alice = exchange.account(1);
    produced.request(&mut exchange, REQUEST, &alice, "no json", (503, "spot subsystem disabled"));

    let mut exchange = Exchange::start_with(chain::configure);
    exchange.open();
    let alice = exchange.account(1);
    let signer = SteeredSigner::default();
    let chain = Chain::start(&exchange, Some(signer.clone()));
    let made = exchange.request("POST", KEYS, &alice, r#"{"label":"one"}"#).body;
    let made: Value = serde_json::from_str(&made).unwrap();
    let key = [format!("X-API-Key: {}", made["api_key"].as_str().unwrap())];
    let denied = (403, "API Key permission denied: withdraws not allowed");
    produced.request(&mut exchange, REQUEST, &key, &body("DF", "1"), denied);
    produced.request(&mut exchange, LIST, &key, "", denied);
    // The engine's word for an account that it has not: the views must know it, or its token is not taken.
    let account = exchange.shared.views.write(|views| {
        let account = views.accounts().len() as AccountId;
        let created = AccountCreated { address: wallet(9), account };
        views.fold(&Event::new(views.sequence(), views.time_ns(), 0, created));
        account
    });
    let nobody = [exchange.bearer(account, &wallet(9))];
    for (who, sent, expected) in [
        (&alice, "[]".to_owned(), (400, "invalid json")),
        (&alice, r#"{"amount":"0"}"#.to_owned(), (400, "unsupported token: ")),
        (&alice, body("USDT", "0"), (400, "unsupported token: USDT")),
        (&alice, body("DF", "0"), (400, "amount below minimum 1")),
        (&alice, body("DF", "-0"), (400, "invalid amount")),
        (&alice, body("DF", "\"1e3\""), (400, "invalid amount")),
        (&nobody, body("DF", "0.999999999999999999"), (400, "amount below minimum 1")),
        (&nobody, body("DF", "1001"), (400, "invalid user address")),
        (&alice, body("DF", "\"1000.000000000000000001\""), (400, "insufficient balance")),
    ] {
        produced.request(&mut exchange, REQUEST, who, &sent, expected);
    }
    let keyed = |key: &str| [alice[0].clone(), format!("Idempotency-Key: {key}")];
    produced.request(&mut exchange, REQUEST, &keyed("?"), "{}", (400, "invalid idempotency key"));
    assert_eq!(exchange.request(REQUEST.0, REQUEST.1, &keyed("a"), &body("DF", "1")).status, 200);
    let conflict = (409, "IDEMPOTENCY_CONFLICT");
    produced.request(&mut exchange, REQUEST, &keyed("a"), &body("DF", "2"), conflict);
    signer.mood(Mood::Refuses);
    produced.request(&mut exchange, REQUEST, &alice, &body("DF", "1"), (500, "sign failed"));
    signer.mood(Mood::IsAway);
    produced.request(&mut exchange, REQUEST, &alice, &body("DF", "1"), (500, "signer unavailable"));
    let wrong = format!("{}?status=open", LIST.1);
    produced.request(&mut exchange, ("GET", &wrong), &alice, "", (400, "invalid status"));
    let wrong = format!("{}?before=7", LIST.1);
    produced.request(&mut exchange, ("GET", &wrong), &alice, "", (400, "invalid id"));
    let wrong = format!("{}?limit=x", LIST.1);
    produced.request(&mut exchange, ("GET", &wrong), &alice, "", (400, "invalid limit"));
    let foreign = format!("{}/7", LIST.1);
    produced.request(&mut exchange, ("GET", &foreign), &alice, "", (404, "not found"));
    assert_eq!(chain.tell(&mut exchange, Fact::paused(true)), Told::Taken);
    produced.request(&mut exchange, REQUEST, &alice, &body("DF", "1"), (503, "WITHDRAWALS_PAUSED"));
    const DEPOSITS: &str = "/api/v1/spot/deposits";
    for (query, error) in
        [("status=open", "invalid status"), ("limit=x", "invalid limit"), ("cursor=7", "invalid cursor")]
    {
        let path = format!("{DEPOSITS}?{query}");
        produced.request(&mut exchange, ("GET", &path), &alice, "", (400, error));
    }
}

/// Keys are bounded, by account and in all; what is known is answered all the same, and so is what comes without one.
fn idempotency_keys(produced: &mut Produced) {
    const TRANSFER: (&str, &str) = ("POST", "/api/v1/spot/transfer");
    const WITHDRAW: (&str, &str) = ("POST", "/api/v1/spot/withdraw/request");
    let mut exchange = Exchange::start_with(|config| {
        chain::configure(config);
        (config.idempotency_keys_per_account, config.idempotency_keys) = (2, 3);
    });
    exchange.open();
    let _chain = Chain::start(&exchange, Some(SteeredSigner::default()));
    let [alice, bob, carol] = [1, 2, 3].map(|number| exchange.account(number)[0].clone());
    let keyed = |who: &str, key: &str| vec![who.to_owned(), format!("Idempotency-Key: {key}")];
    let place = ("POST", ORDERS);
    for key in ["a", "b"] {
        assert_eq!(exchange.request(place.0, place.1, &keyed(&alice, key), &order("0.1")).status, 200);
    }
    let full = (429, "RATE_LIMITED");
    produced.request(&mut exchange, place, &keyed(&alice, "c"), &order("0.1"), full);
    let move_one = json!({ "direction": "to_perp", "token": "USDT", "amount": "1" }).to_string();
    produced.request(&mut exchange, TRANSFER, &keyed(&alice, "c"), &move_one, full);
    let take_one = json!({ "token": "DF", "amount": "1" }).to_string();
    produced.request(&mut exchange, WITHDRAW, &keyed(&alice, "c"), &take_one, full);
    let again = exchange.request(place.0, place.1, &keyed(&alice, "a"), &order("0.1"));
    assert_eq!((again.status, again.header("idempotency-replayed")), (200, Some("true")));
    let alone = std::slice::from_ref(&alice);
    assert_eq!(exchange.request(place.0, place.1, alone, &order("0.1")).status, 200);
    // Another account has room, until all together have none.
    assert_eq!(exchange.request(place.0, place.1, &keyed(&bob, "a"), &order("0.1")).status, 200);
    produced.request(&mut exchange, place, &keyed(&carol, "a"), &order("0.1"), (503, "ENGINE_BUSY"));
    // After a restart as before; a day later, and the hour that outcomes are kept for longer, there is room again.
    exchange.restart_with(|config| {
        chain::configure(config);
        (config.idempotency_keys_per_account, config.idempotency_keys) = (2, 3);
    });
    let [alice, carol] = [1, 3].map(|number| exchange.account(number)[0].clone());
    produced.request(&mut exchange, place, &keyed(&carol, "a"), &order("0.1"), (503, "ENGINE_BUSY"));
    produced.request(&mut exchange, place, &keyed(&alice, "c"), &order("0.1"), full);
    exchange.clock.turn(25 * 3_600_000 + 1);
    let alice = exchange.account(1)[0].clone();
    let alone = std::slice::from_ref(&alice);
    assert_eq!(exchange.request(place.0, place.1, alone, &order("0.1")).status, 200);
    assert_eq!(exchange.request(place.0, place.1, &keyed(&alice, "c"), &order("0.1")).status, 200);
}

/// Perpetual markets have ledgers for their bases, which nobody asked the spot side for (`spot.md` 5).
#[test]
fn credits_are_of_tokens_of_the_spot_side() {
    let mut exchange = Exchange::start_perpetual(&[(1, 100)]);
    let credit = |exchange: &mut Exchange, token: &str| {
        let body = json!({ "user_address": wallet_text(1), "token": token, "amount": "1" }).to_string();
        let answer = exchange.request("POST", "/api/v1/admin/spot/balances/credit", &admin(), &body);
        (answer.status, answer.body)
    };
    let (done, refused) =
        ((200, r#"{"ok":true}"#.to_owned()), (400, r#"{"error":"invalid token"}"#.to_owned()));
    assert_eq!(credit(&mut exchange, "USDT"), done);
    assert_eq!(credit(&mut exchange, "BTC"), refused);
    let list = json!({ "id": "BTCUSDT", "base_token": "BTC", "quote_token": "USDT", "tick_size": "1",
        "lot_size": "1", "min_notional": "1", "maker_fee_bps": 0, "taker_fee_bps": 0 });
    let answer = exchange.request("POST", "/api/v1/admin/spot/markets", &admin(), &list.to_string());
    assert_eq!(answer.status, 200);
    assert_eq!(credit(&mut exchange, "BTC"), done);
    assert_eq!(credit(&mut exchange, "ETH"), refused);
}

/// A path is refused as its rows are, whatever it begins with: a method that none has, and what its address is refused before that.
#[test]
fn a_method_that_a_path_has_not_is_refused_in_the_dialect_of_its_rows() {
    let mut exchange = Exchange::start();
    for route in routes() {
        let is_served = |method: &Method| routes().any(|row| row.path == route.path && row.method == *method);
        let Some(method) = Method::ALL.into_iter().find(|method| !is_served(method)) else { continue };
        let path = route.path.replace(['{', '}'], "");
        // Another row may have the path itself.
        if routes().any(|row| row.path == path && row.path != route.path) {
            continue;
        }
        let method = method.name();
        let answer = exchange.request(method, &path, &[], "");
        let expected = match route.dialect {
            Dialect::Spot => (405, json!({ "error": "method not allowed" })),
            Dialect::Fapi => {
                let text = format!("Path {path}, Method {method} is invalid");
                (404, json!({ "code": -5000, "msg": text }))
            }
            Dialect::Account => {
                let text = "the route has another method";
                (405, json!({ "code": "METHOD_NOT_ALLOWED", "message": text }))
            }
        };
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, body), expected, "{method} {path}");
    }
    let mut exchange = Exchange::start_with(|config| config.weight_per_minute = 1);
    let codes = [(405, "METHOD_NOT_ALLOWED"), (429, "RATE_LIMITED")];
    for expected in codes {
        let answer = exchange.request("PUT", "/api/v1/account/margin-mode", &[], "");
        let body: Value = serde_json::from_str(&answer.body).unwrap();
        assert_eq!((answer.status, body["code"].as_str()), (expected.0, Some(expected.1)));
    }
}

#[test]
fn every_refusal_is_produced_and_documented() {
    let mut produced = Produced::default();
    transcripts(&mut produced);
    for produce in [
        credentials,
        login,
        api_keys,
        limits,
        deployment,
        engine,
        transfers,
        withdrawals,
        idempotency_keys,
        rest,
    ] {
        produce(&mut produced);
    }

    let missing = rows::disagreements(&produced.0, SPECIFIED, |route| {
        route.refusals.iter().copied().flatten().map(|refusal| (refusal.status, refusal.error)).collect()
    });
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The table above is the specification's, where that can be read.
#[test]
fn the_list_is_that_of_the_specification() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/spec/spot.md");
    let Ok(text) = std::fs::read_to_string(&path) else {
        return eprintln!("skipped: the specification is not beside this folder");
    };
    let section = text.split("\n## 3 ").nth(1).unwrap().split("\n## 4 ").next().unwrap();
    let table = section.split("| HTTP | error |").nth(1).unwrap().split("\n\n").next().unwrap();
    let listed: BTreeSet<&str> = SPECIFIED.iter().flat_map(|(_, errors)| errors.iter().copied()).collect();
    let mut count = 0;
    for row in table.lines().skip(2) {
        let errors = row.split('|').nth(2).unwrap();
        let quoted = errors.split('`').skip(1).step_by(2);
        let bare = errors
            .split('`')
            .step_by(2)
            .flat_map(|text| text.split(|part: char| !(part.is_ascii_uppercase() || part == '_')));
        for error in quoted.chain(bare.filter(|word| word.len() > 4)) {
            // Forms of one sentence.
            let error = match error {
                "trade" => "API Key permission denied: trade not allowed",
                "read" => "API Key permission denied: read not allowed",
                error => error,
            };
            assert!(listed.contains(error), "{error:?} of {row}");
            count += 1;
        }
    }
    assert!(count > 50, "{count} strings were read");
}
