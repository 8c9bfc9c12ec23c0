//! Data folders of earlier builds, started by this one.
//!
//! `golden/rows/folder_1.tar.gz` is a folder as the last build without versions of rows left it, and `folder_1.json` what that build
//! answered of it. Neither ever changes; `RINGSIDE_BLESS=1` has this build write a further pair where one is named below
//! and missing.

use crate::process::{
    ADMIN_KEY, Folder, get, log_in, post, ringside, signed, start_logged, started, stop, trade,
};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// How many folders there are.
const FOLDERS: usize = 1;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/rows").join(name)
}

/// Most rows are in the archive alone.
fn small(command: &mut Command) {
    command
        .env("RINGSIDE_ADMIN_KEY", ADMIN_KEY)
        .env("RINGSIDE_HISTORY_WINDOW", "16")
        .env("RINGSIDE_SEGMENT_LEN", "64KiB")
        .env("RINGSIDE_SNAPSHOT_INTERVAL", "1s");
}

fn tar(arguments: &[&str]) {
    assert!(Command::new("tar").args(arguments).status().unwrap().success(), "tar {arguments:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn key(address: &str, trader: &str) -> Value {
    post(address, "/api/v1/account/api-keys", trader, &json!({"label": "rows"}))
}

/// Two accounts trade on both venues, and end without a position: nothing of theirs changes as time goes on.
fn make(address: &str) {
    let traders = trade(address);
    for (side, price) in [("sell", "0.2"), ("buy", "0.2")].into_iter().cycle().take(60) {
        let order =
            json!({"symbol": "DFUSDT", "side": side, "type": "limit", "price": price, "quantity": "5"});
        post(address, "/api/v1/spot/orders", &traders[usize::from(side == "sell")], &order);
    }
    for wallet in ["0x2b5ad5c4795c026514f8317c7a215e218dccd6cf", "0x6813eb9362372eef6200f3b1dbc3f819671cba69"]
    {
        let credit = json!({"user_address": wallet, "amount": "10000", "reason": "test"});
        post(address, "/admin/perpetual/credit", &format!("X-API-Key: {ADMIN_KEY}"), &credit);
    }
    let keys = traders.map(|trader| key(address, &trader));
    let order = |trader: usize, parameters: &str| {
        signed(address, "POST", "/fapi/v1/order", &keys[trader], &format!("symbol=BTCUSDT&{parameters}"))
    };
    let stop = "type=STOP_MARKET&quantity=0.002&stopPrice";
    order(0, &format!("side=BUY&{stop}=60100"));
    order(0, &format!("side=BUY&{stop}=61000"));
    for turn in 0..30 {
        let (side, other, price) = [("BUY", "SELL", 60_000), ("SELL", "BUY", 60_010)][turn % 2];
        order(0, &format!("side={side}&type=LIMIT&timeInForce=GTC&quantity=0.002&price={price}"));
        order(1, &format!("side={other}&type=LIMIT&timeInForce=IOC&quantity=0.003&price={price}"));
    }
    // The first of the two stops fires, and what it bought is sold again.
    order(1, "side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.001&price=60100");
    order(0, "side=BUY&type=LIMIT&timeInForce=IOC&quantity=0.001&price=60100");
    order(1, "side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.002&price=60100");
    order(0, "side=SELL&type=LIMIT&timeInForce=GTC&quantity=0.001&price=60090");
    order(1, "side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.001&price=60090");
    let resting =
        order(1, "side=BUY&type=LIMIT&timeInForce=GTC&quantity=0.002&price=59000")["orderId"].to_string();
    let changed = format!("symbol=BTCUSDT&orderId={resting}&side=BUY&quantity=0.003&price=59100");
    signed(address, "PUT", "/fapi/v1/order", &keys[1], &changed);
}

/// What the exchange answers of the lists that it keeps, up to a time.
fn answers(address: &str, until_ms: u64) -> Value {
    let mut answers = Map::new();
    let window = format!("startTime={}&endTime={until_ms}&limit=1000", until_ms - 3_600_000);
    let mut answer = |name: String, value: Value| answers.insert(name, value);
    for path in [
        "/api/v1/spot/trades?symbol=DFUSDT&limit=1000".to_owned(),
        "/api/v1/spot/klines?symbol=DFUSDT&interval=1m&limit=1000".to_owned(),
        "/fapi/v1/aggTrades?symbol=BTCUSDT&fromId=1&limit=1000".to_owned(),
        "/fapi/v1/historicalTrades?symbol=BTCUSDT&fromId=1&limit=500".to_owned(),
        format!("/fapi/v1/klines?symbol=BTCUSDT&interval=1m&{window}"),
    ] {
        let shown = get(address, &path, &[]);
        answer(path, serde_json::from_str(&shown).unwrap());
    }
    for wallet in [2, 3] {
        let trader = log_in(address, wallet);
        for path in ["spot/orders?limit=200", "spot/trades/me?limit=200", "spot/balances"] {
            let shown = get(address, &format!("/api/v1/{path}"), &[&trader]);
            answer(format!("{wallet} {path}"), serde_json::from_str(&shown).unwrap());
        }
        let key = key(address, &trader);
        let ask = |path: &str, parameters: &str| {
            let parameters = format!("symbol=BTCUSDT{parameters}");
            signed(address, "GET", &format!("/fapi/v1/{path}"), &key, &parameters)
        };
        for path in ["allOrders", "userTrades", "income"] {
            answer(format!("{wallet} {path}"), ask(path, &format!("&{window}")));
        }
        let open = ask("openOrders", "");
        for order in open.as_array().unwrap() {
            let changes = ask("orderAmendment", &format!("&orderId={}", order["orderId"]));
            answer(format!("{wallet} changes of {}", order["orderId"]), changes);
        }
        answer(format!("{wallet} open"), open);
    }
    Value::Object(answers)
}

/// Checks that all that was answered before is answered now; there may be more members.
fn check(place: &str, known: &Value, found: &Value) {
    match (known, found) {
        (Value::Object(known), Value::Object(_)) => {
            known.iter().for_each(|(name, known)| check(&format!("{place}.{name}"), known, &found[name]));
        }
        (Value::Array(known), Value::Array(rows)) => {
            assert_eq!(known.len(), rows.len(), "{place}");
            for (index, (known, found)) in known.iter().zip(rows).enumerate() {
                check(&format!("{place}.{index}"), known, found);
            }
        }
        _ => assert_eq!(known, found, "{place}"),
    }
}

/// Has this build write a folder and what it answers of it.
fn write(number: usize) {
    let folder = Folder::new("folder-write");
    let (child, address, _) = started(&folder.0, small);
    make(&address);
    let now_ms =
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64;
    let shown = json!({"until_ms": now_ms, "answers": answers(&address, now_ms)});
    stop(child);
    std::fs::write(golden(&format!("folder_{number}.json")), serde_json::to_string(&shown).unwrap()).unwrap();
    let packed = golden(&format!("folder_{number}.tar.gz"));
    tar(&["-C", text(&folder.0), "-czf", text(&packed), "journal", "archive"]);
}

/// A folder of before, where this build can start in it; and what is known of it.
fn folder_of(number: usize, folder: &Path) -> (u64, Value) {
    std::fs::create_dir_all(folder).unwrap();
    tar(&["-C", text(folder), "-xzf", text(&golden(&format!("folder_{number}.tar.gz")))]);
    let known = std::fs::read(golden(&format!("folder_{number}.json"))).unwrap();
    let known: Value = serde_json::from_slice(&known).unwrap();
    (known["until_ms"].as_u64().unwrap(), known["answers"].clone())
}

#[test]
fn a_folder_of_before_is_upgraded_at_its_start_which_is_told() {
    for number in 1..=FOLDERS {
        if std::env::var_os("RINGSIDE_BLESS").is_some() && !golden(&format!("folder_{number}.json")).exists()
        {
            write(number);
        }
        let folder = Folder::new("folder-before");
        let data = folder.0.join("data");
        let (until_ms, known) = folder_of(number, &data);
        let log = folder.0.join("log");
        for start in 0..2 {
            let to = Stdio::from(std::fs::File::create(&log).unwrap());
            let (child, said) = start_logged(&data, to, small);
            let address = crate::process::address(&said, "running on");
            check("", &known, &answers(&address, until_ms));
            stop(child);
            let log = std::fs::read_to_string(&log).unwrap();
            for told in ["the archive is upgraded", "views of an earlier version were read"] {
                assert_eq!(log.contains(told), start == 0, "{told}, start {start}:\n{log}");
            }
        }
    }
}

#[test]
fn killed_in_the_middle_of_its_upgrade_it_has_every_row_after_the_next_start() {
    let folder = Folder::new("folder-killed");
    let whole = folder.0.join("whole");
    folder_of(1, &whole);
    let begin = Instant::now();
    drop(started(&whole, small));
    let whole = begin.elapsed();
    for part in 1..=10 {
        let data = folder.0.join(part.to_string());
        let (until_ms, known) = folder_of(1, &data);
        let mut command = ringside(&data);
        small(&mut command);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * part / 11);
        child.kill().unwrap();
        child.wait().unwrap();
        let (_running, address, _) = started(&data, small);
        check(&format!("killed at {part}"), &known, &answers(&address, until_ms));
    }
}
