//! What the spot API does when the engine does not keep up, stands still, or holds something back.

use crate::exchange::{ADMIN_KEY, Answer, Exchange, INPUT_SLOTS, OUTPUT_SLOTS, PATIENCE, send, wallet_text};
use ringside_commands::ingress::EngineState;
use std::net::TcpStream;
use std::time::Instant;

const ORDERS: &str = "/api/v1/spot/orders";

fn buy(price: &str) -> String {
    format!(r#"{{"symbol":"DFUSDT","side":"buy","type":"limit","price":"{price}","quantity":"10"}}"#)
}

fn id_of(answer: &Answer) -> String {
    let order: serde_json::Value = serde_json::from_str(&answer.body).expect("json");
    order["id"].as_str().expect("an id").to_owned()
}

/// Sends on a connection of its own.
fn send_alone(exchange: &Exchange, method: &str, path: &str, body: &str) -> TcpStream {
    let mut client = exchange.connect();
    send(&mut client, method, path, &exchange.account(1), body);
    client
}

/// The same, and reads the answer that the gateway gives while the stages stand still.
fn ask_alone(exchange: &mut Exchange, method: &str, path: &str, body: &str) -> Answer {
    let mut client = send_alone(exchange, method, path, body);
    exchange.receive(&mut client, false)
}

#[test]
fn a_full_ring_answers_busy_and_still_takes_cancels() {
    let mut exchange = Exchange::start();
    exchange.open();
    let headers = exchange.account(1);
    let id = id_of(&exchange.request("POST", ORDERS, &headers, &buy("0.2")));
    let path = format!("{ORDERS}/{id}");

    let mut waiting = Vec::new();
    for number in 1..=INPUT_SLOTS {
        let is_order = number <= INPUT_SLOTS - INPUT_SLOTS / 5;
        waiting.push(match is_order {
            true => send_alone(&exchange, "POST", ORDERS, &buy("0.1")),
            false => send_alone(&exchange, "DELETE", &path, ""),
        });
        exchange.wait_for_queue(number as u64);
        if number >= INPUT_SLOTS - INPUT_SLOTS / 5 {
            let busy = ask_alone(&mut exchange, "POST", ORDERS, &buy("0.1"));
            let text = r#"{"error":"ENGINE_BUSY","message":"nothing was done; retry with backoff"}"#;
            assert_eq!((busy.status, busy.body.as_str()), (503, text), "with {number} in the queue");
        }
    }
    assert_eq!(ask_alone(&mut exchange, "DELETE", &path, "").status, 503);
    let health = ask_alone(&mut exchange, "GET", "/api/v1/spot/health", "");
    assert_eq!(health.body, r#"{"engine":"running","queue_depth":64,"books_loaded":1}"#);

    let answers: Vec<_> = waiting.iter_mut().map(|client| exchange.receive(client, true)).collect();
    let (placed, canceled) = answers.split_at(INPUT_SLOTS - INPUT_SLOTS / 5);
    assert!(placed.iter().all(|answer| answer.status == 200), "{placed:?}");
    // The first cancel ends the order, the others come too late.
    assert_eq!(canceled[0].status, 200);
    assert!(
        canceled[1..].iter().all(|answer| answer.body == r#"{"error":"ORDER_NOT_FOUND"}"#),
        "{canceled:?}"
    );
    let health = exchange.request("GET", "/api/v1/spot/health", &[], "");
    assert_eq!(health.body, r#"{"engine":"running","queue_depth":0,"books_loaded":1}"#);
    assert_eq!(exchange.request("POST", ORDERS, &headers, &buy("0.1")).status, 200);
}

#[test]
fn nothing_is_seen_before_the_gate_has_passed_it() {
    let mut exchange = Exchange::start();
    exchange.open();
    let headers = exchange.account(1);
    exchange.is_gate_open = false;
    let mut client = send_alone(&exchange, "POST", ORDERS, &buy("0.2"));
    exchange.wait_for_queue(1);
    let get = |exchange: &mut Exchange, path: &str| {
        exchange.turn();
        exchange.request("GET", path, &headers, "").body
    };
    for _ in 0..20 {
        assert!(!exchange.has_answer(&client), "no reply before the journal has it");
        assert_eq!(get(&mut exchange, ORDERS), "[]");
        let depth = get(&mut exchange, "/api/v1/spot/depth?symbol=DFUSDT");
        assert_eq!(depth, r#"{"symbol":"DFUSDT","last_update_id":0,"bids":[],"asks":[]}"#);
        let balance = get(&mut exchange, "/api/v1/spot/balances?token=USDT");
        assert!(balance.contains(r#""available":"1000","frozen":"0""#), "{balance}");
    }
    exchange.is_gate_open = true;
    assert_eq!(exchange.receive(&mut client, true).status, 200);
    let depth = get(&mut exchange, "/api/v1/spot/depth?symbol=DFUSDT");
    assert_eq!(depth, r#"{"symbol":"DFUSDT","last_update_id":1,"bids":[["0.2","10"]],"asks":[]}"#);
    let balance = get(&mut exchange, "/api/v1/spot/balances?token=USDT");
    assert!(balance.contains(r#""available":"998","frozen":"2""#), "{balance}");
}

#[test]
fn a_running_idempotency_key_conflicts() {
    let mut exchange = Exchange::start();
    exchange.open();
    let mut headers = exchange.account(1).to_vec();
    headers.push("Idempotency-Key: k".to_owned());
    let mut first = exchange.connect();
    send(&mut first, "POST", ORDERS, &headers, &buy("0.2"));
    exchange.wait_for_queue(1);
    for body in [buy("0.2"), buy("0.3")] {
        let mut second = exchange.connect();
        send(&mut second, "POST", ORDERS, &headers, &body);
        let answer = exchange.receive(&mut second, false);
        assert_eq!((answer.status, answer.body.as_str()), (409, r#"{"error":"IDEMPOTENCY_CONFLICT"}"#));
    }
    // The client goes away; the order takes effect all the same, and a retry learns of it.
    drop(first);
    exchange.turn();
    let begin = Instant::now();
    let answer = loop {
        // Whether a client that sends nothing more still listens, nobody knows: its request runs until it is answered.
        let answer = exchange.request("POST", ORDERS, &headers, &buy("0.2"));
        if answer.status != 409 || begin.elapsed() > PATIENCE {
            break answer;
        }
    };
    assert_eq!((answer.status, answer.header("idempotency-replayed")), (200, Some("true")), "{answer:?}");
    assert!(id_of(&answer).starts_with("00000000-0000-8001"));
}

#[test]
fn what_was_handed_to_an_engine_that_stops_has_an_unknown_outcome() {
    let mut exchange = Exchange::start();
    exchange.open();
    let mut client = send_alone(&exchange, "POST", ORDERS, &buy("0.2"));
    exchange.wait_for_queue(1);
    exchange.shared.phase.set(EngineState::Halted);
    let answer = exchange.receive(&mut client, false);
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (
            500,
            r#"{"error":"DB_ERROR","message":"the outcome is unknown; query orders and balances before retrying"}"#
        )
    );
}

#[test]
fn two_hundred_orders_may_be_open_in_a_market() {
    let mut exchange = Exchange::start();
    exchange.open();
    let headers = exchange.account(1);
    for _ in 0..200 {
        assert_eq!(exchange.request("POST", ORDERS, &headers, &buy("0.1")).status, 200);
    }
    let refused = exchange.request("POST", ORDERS, &headers, &buy("0.1"));
    assert_eq!(
        (refused.status, refused.body.as_str()),
        (
            400,
            r#"{"error":"too many open orders","message":"at most 200 orders of an account rest in a market"}"#
        )
    );
    let poor = exchange.request("POST", ORDERS, &headers, &buy("9000"));
    assert!(poor.body.contains("INSUFFICIENT_BALANCE"), "the balance is judged first: {poor:?}");
    let rejected = exchange.request("GET", &format!("{ORDERS}?status=rejected"), &headers, "");
    assert_eq!(rejected.body.matches("INSUFFICIENT_BALANCE").count(), 1);
    assert_eq!(rejected.body.matches("\"id\"").count(), 1, "too many open orders stores nothing");
    let listed = exchange.request("GET", &format!("{ORDERS}?status=open&limit=200"), &headers, "");
    assert_eq!(listed.body.matches("\"id\"").count(), 200);
    // Market orders and others that cannot rest are taken.
    let market = r#"{"symbol":"DFUSDT","side":"buy","type":"market","quote_quantity":"5"}"#;
    assert_eq!(exchange.request("POST", ORDERS, &headers, market).status, 200);
    assert_eq!(exchange.request("DELETE", ORDERS, &headers, "").body.matches("\"canceled\"").count(), 201);
    assert_eq!(exchange.request("POST", ORDERS, &headers, &buy("0.1")).status, 200);
}

/// A delisting has many times the events here that the output ring has slots.
#[test]
fn a_command_longer_than_the_output_ring_is_seen_whole() {
    const EACH: usize = 2 * OUTPUT_SLOTS;
    let mut exchange = Exchange::start();
    exchange.open();
    for number in 1..=3 {
        let headers = exchange.account(number);
        for order in 0..EACH {
            let price = format!("0.{}", 1000 + order + EACH * usize::from(number));
            let placed = exchange.request("POST", ORDERS, &headers, &buy(&price));
            assert_eq!(placed.status, 200, "{placed:?}");
        }
    }
    let admin = [format!("X-API-Key: {ADMIN_KEY}")];
    let path = "/api/v1/admin/spot/markets/DFUSDT/status";
    let delisted = exchange.request("PATCH", path, &admin, r#"{"status":"delisted"}"#);
    assert_eq!(delisted.body, r#"{"ok":true,"id":"DFUSDT","status":"delisted"}"#);
    for number in 1..=3 {
        let headers = exchange.account(number);
        let canceled = exchange.request("GET", &format!("{ORDERS}?status=canceled&limit=200"), &headers, "");
        assert_eq!(canceled.body.matches("\"id\"").count(), EACH);
        let balances = exchange.request("GET", "/api/v1/spot/balances", &headers, "");
        assert_eq!(balances.body.matches(r#""available":"1000","frozen":"0""#).count(), 2, "{balances:?}");
    }
    let depth = exchange.request("GET", "/api/v1/spot/depth?symbol=DFUSDT", &[], "");
    let update_id = 3 * 2 * EACH;
    let empty = format!(r#"{{"symbol":"DFUSDT","last_update_id":{update_id},"bids":[],"asks":[]}}"#);
    assert_eq!(depth.body, empty);
}

/// Clients on threads of their own against stages on another: every reply's effects are there when it is read.
#[test]
fn a_replys_effects_can_be_read_at_once() {
    let mut exchange = Exchange::start();
    exchange.open();
    let stages = exchange.run_stages();
    let accounts: Vec<_> = (1..=3).map(|number| (exchange.account(number), exchange.connect())).collect();
    let clients = accounts.into_iter().enumerate().map(|(index, (headers, client))| {
        std::thread::spawn(move || {
            let mut client = crate::exchange::Client::new(client);
            for round in 0..100 {
                // Prices apart, so that nobody trades and each account knows what it must see.
                let placed = client.request("POST", ORDERS, &headers, &buy(&format!("0.{}", 1 + index)));
                assert_eq!(placed.status, 200, "{placed:?}");
                let path = format!("{ORDERS}/{}", id_of(&placed));
                let read = client.request("GET", &path, &headers, "");
                assert!(read.body.contains("\"status\":\"open\""), "round {round}: {read:?}");
                let balance = client.request("GET", "/api/v1/spot/balances?token=USDT", &headers, "");
                let frozen = format!("\"frozen\":\"{}\"", 1 + index);
                assert!(balance.body.contains(&frozen), "round {round}: {balance:?}");
                let canceled = client.request("DELETE", &path, &headers, "");
                assert!(canceled.body.contains("\"status\":\"canceled\""), "round {round}: {canceled:?}");
                let open = client.request("GET", &format!("{ORDERS}?status=open"), &headers, "");
                assert_eq!(open.body, "[]", "round {round}");
                let balance = client.request("GET", "/api/v1/spot/balances?token=USDT", &headers, "");
                assert!(balance.body.contains("\"frozen\":\"0\""), "round {round}: {balance:?}");
            }
        })
    });
    let clients: Vec<_> = clients.collect();
    clients.into_iter().for_each(|client| client.join().expect("a client saw what it should not"));
    drop(stages);
}

#[test]
fn credits_exist_in_test_deployments_only() {
    let mut exchange = Exchange::start_with(|config| config.test_deployment = false);
    let path = "/api/v1/admin/spot/balances/credit";
    let body = format!(r#"{{"user_address":"{}","token":"DF","amount":"1"}}"#, wallet_text(1));
    for headers in [vec![], vec!["X-API-Key: wrong".to_owned()], vec![format!("X-API-Key: {ADMIN_KEY}")]] {
        let answer = exchange.request("POST", path, &headers, &body);
        assert_eq!((answer.status, answer.body.as_str()), (404, r#"{"error":"DISABLED"}"#));
    }
}

#[test]
fn an_account_places_so_many_orders_in_ten_seconds() {
    let mut exchange = Exchange::start_with(|config| config.orders_per_ten_seconds = 3);
    exchange.open();
    let headers = exchange.account(1);
    for _ in 0..3 {
        assert_eq!(exchange.request("POST", ORDERS, &headers, &buy("0.1")).status, 200);
    }
    let refused = exchange.request("POST", ORDERS, &headers, "{");
    assert_eq!(refused.status, 429, "the rate is judged before the body");
    assert!(refused.body.starts_with(r#"{"error":"RATE_LIMITED""#), "{refused:?}");
    assert_eq!(refused.header("retry-after"), Some("10"));
    let other = exchange.account(2);
    assert_eq!(exchange.request("POST", ORDERS, &other, &buy("0.1")).status, 200);
    assert_eq!(exchange.request("DELETE", ORDERS, &headers, "").status, 200, "cancels are not counted");
    exchange.clock.turn(10_000);
    assert_eq!(exchange.request("POST", ORDERS, &headers, &buy("0.1")).status, 200);
}
