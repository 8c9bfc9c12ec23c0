//! A clock that was an hour ahead, and is right at the next start (`durability.md` row 10, case C-11).

use crate::metrics::samples;
use crate::process::{
    ADMIN_KEY, Folder, address, get, log_in, post, request, signed, start_logged, started, stop, try_signed,
};
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::Engine;
use ringside_gateway::boot::{engine_config, persist_config};
use ringside_persist::recover::recovery::{Recovered, recover};
use serde_json::{Value, json};
use std::fs::File;
use std::process::Command;
use std::time::Duration;

const WALLETS: [&str; 2] =
    ["0x2b5ad5c4795c026514f8317c7a215e218dccd6cf", "0x6813eb9362372eef6200f3b1dbc3f819671cba69"];
const HOUR_MS: i64 = 3_600_000;

fn own_address(command: &mut Command) {
    command.env("RINGSIDE_METRICS_LISTEN", "127.0.0.1:0").env("RINGSIDE_ADMIN_KEY", ADMIN_KEY);
}

/// What `of` gives, once it gives something: engine time moves once a second.
fn wait_for<T>(mut of: impl FnMut() -> Option<T>) -> T {
    for _ in 0..600 {
        if let Some(found) = of() {
            return found;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it does not come");
}

#[test]
fn an_hour_ahead_and_right_again_liquidates_in_time_and_takes_no_new_exposure() {
    let folder = Folder::new("set-back");
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    let (child, public, said) = started(&folder.0, |_| {});
    assert!(!said.contains("engine time"), "{said}");
    let traders = [2, 3].map(|wallet| log_in(&public, wallet));
    let keys = [0, 1].map(|trader: usize| {
        post(&public, "/api/v1/account/api-keys", &traders[trader], &json!({"label": "clock"}))
    });
    for (wallet, amount) in WALLETS.iter().zip(["130", "100000"]) {
        let credit = json!({"user_address": wallet, "amount": amount});
        post(&public, "/admin/perpetual/credit", &admin, &credit);
        let credit = json!({"user_address": wallet, "token": "USDT", "amount": "1000"});
        post(&public, "/api/v1/admin/spot/balances/credit", &admin, &credit);
    }
    let order = |public: &str, trader: usize, rest: &str| {
        try_signed(public, "POST", "/fapi/v1/order", &keys[trader], &format!("symbol=BTCUSDT&{rest}"))
    };
    signed(&public, "POST", "/fapi/v1/leverage", &keys[0], "symbol=BTCUSDT&leverage=50");
    for (trader, rest) in [
        (1, "side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.1&price=60000"),
        (0, "side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.1&price=60000"),
        (1, "side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.2&price=58100"),
    ] {
        let (status, answer) = order(&public, trader, rest);
        assert_eq!(status, 200, "{answer}");
    }
    let rests = json!({"symbol": "DFUSDT", "side": "buy", "type": "limit", "price": "0.1", "quantity": "50"});
    let resting =
        post(&public, "/api/v1/spot/orders", &traders[0], &rests)["id"].as_str().unwrap().to_owned();
    stop(child);
    // As seen from here: an hour later the journal was opened, and then the clock was right again.
    let config = Config { data_dir: folder.0.clone(), any_file_system: true, ..Config::default() };
    let ahead = Clock::manual(Clock::SYSTEM.now_ms() + HOUR_MS);
    let recovered: Recovered<Engine> =
        recover(&persist_config(&config, &ahead), &engine_config(&config), &mut ()).unwrap();
    drop(recovered);

    let log = folder.0.join("log");
    let (child, said) = start_logged(&folder.0, File::create(&log).unwrap().into(), own_address);
    let line = said.lines().find(|line| line.contains("engine time")).unwrap_or_else(|| panic!("{said}"));
    assert!(line.starts_with("recovery: this machine's clock is 359"), "{line}");
    // Logs take a thread of their own.
    let logged = || std::fs::read_to_string(&log).unwrap().matches("this machine's clock is").count();
    wait_for(|| (logged() > 0).then_some(()));
    let (public, own) = (address(&said, "running on"), address(&said, "figures"));
    let traders = [2, 3].map(|wallet| log_in(&public, wallet));
    let ready =
        || (request(&public, "GET", "/readyz", &[], "").0, request(&own, "GET", "/readyz", &[], "").0);
    assert_eq!(ready(), (503, 503));

    // New exposure is refused, cancels and what reduces are taken.
    let body = rests.to_string();
    let spot = || {
        request(
            &public,
            "POST",
            "/api/v1/spot/orders",
            &[&traders[0], "Content-Type: application/json"],
            &body,
        )
    };
    assert_eq!(spot().0, 503);
    let opens = "side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=59000";
    let (status, refusal) = order(&public, 1, opens);
    assert_eq!((status, &refusal["code"]), (503, &json!(-1008)), "{refusal}");
    let (status, answer) =
        order(&public, 1, "side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.01&price=57000&reduceOnly=true");
    assert_eq!(status, 200, "{answer}");
    let (status, answer) =
        request(&public, "DELETE", &format!("/api/v1/spot/orders/{resting}"), &[&traders[0]], "");
    assert_eq!(status, 200, "{answer}");

    // Time goes on: what is due is done.
    let page = || samples(&get(&own, "/metrics", &[]));
    let distance = page()["ringside_clock_distance_seconds"];
    assert!((-3_600.0..-3_500.0).contains(&distance), "{distance}");
    assert_eq!(page()["ringside_clock_agrees"], 0.0);
    wait_for(|| (page()["ringside_clock_distance_seconds"] > distance + 0.05).then_some(()));
    post(&public, "/admin/perpetual/index-price", &admin, &json!({"symbol": "BTCUSDT", "price": "58200"}));
    wait_for(|| {
        let rows = signed(&public, "GET", "/fapi/v2/positionRisk", &keys[0], "symbol=BTCUSDT");
        (rows[0]["positionAmt"] == "0").then_some(())
    });
    assert_eq!(ready(), (503, 503));

    // An operator accepts the distance, and no other.
    let accept = |distance_ms: &Value| {
        let body = json!({"distance_ms": distance_ms, "reason": "it was set wrong"}).to_string();
        request(&public, "POST", "/admin/clock/accept", &[&admin, "Content-Type: application/json"], &body)
    };
    let shown = || -> Value { serde_json::from_str(&get(&public, "/admin/clock", &[&admin])).unwrap() };
    for wrong in [json!(HOUR_MS), json!(0), json!(i64::MIN)] {
        let (status, refusal) = accept(&wrong);
        assert!(status == 409 && refusal.contains("DISTANCE_CHANGED"), "{refusal}");
    }
    assert_eq!(accept(&json!("soon")).0, 400);
    let before = shown();
    assert_eq!((&before["agrees"], &before["accepted_ms"]), (&json!(false), &json!(0)));
    let (status, answer) = accept(&before["distance_ms"]);
    assert!(status == 200 && answer.contains("\"agrees\":true"), "{answer}");
    wait_for(|| (ready() == (200, 200)).then_some(()));
    assert_eq!(logged(), 1, "it is said once");
    assert_eq!(spot().0, 200);
    assert_eq!(order(&public, 1, opens).0, 200);
    let audit = get(&public, "/admin/audit", &[&admin]);
    assert!(audit.contains("accept_clock") && audit.contains("it was set wrong"), "{audit}");
    stop(child);
}
