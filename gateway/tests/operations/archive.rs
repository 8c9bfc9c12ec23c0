//! A day of trades leaves the archive as files that others read, and is removed from it only once it lies there.

use crate::metrics::samples;
use crate::process::{
    ADMIN_KEY, Folder, Running, address, get, log_in, post, request, ringside, said, signed, start_with,
    stop, try_signed, try_signed_at,
};
use flate2::read::DeflateDecoder;
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::Engine;
use ringside_gateway::boot::{engine_config, persist_config};
use ringside_persist::recover::recovery::{Recovered, recover};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const WALLETS: [&str; 2] =
    ["0x2b5ad5c4795c026514f8317c7a215e218dccd6cf", "0x6813eb9362372eef6200f3b1dbc3f819671cba69"];
const DAY_MS: i64 = 86_400_000;

/// `2026-11-26` of a time.
fn day(time_ms: i64) -> String {
    let output = Command::new("date").args(["-u", "+%F", "-d", &format!("@{}", time_ms / 1_000)]).output();
    String::from_utf8(output.unwrap().stdout).unwrap().trim().to_owned()
}

fn archive(folder: &Folder, arguments: &[&str]) -> Output {
    ringside(&folder.0).arg("archive").args(arguments).output().unwrap()
}

fn done(output: &Output) -> String {
    assert!(output.status.success(), "{}", said(output));
    said(output)
}

fn refused(output: &Output, why: &str) {
    assert!(!output.status.success() && said(output).contains(why), "{why}: {}", said(output));
}

/// The one member of a ZIP file.
fn member(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap();
    let name_len = usize::from(u16::from_le_bytes([bytes[26], bytes[27]]));
    let mut text = String::new();
    DeflateDecoder::new(&bytes[30 + name_len..]).read_to_string(&mut text).unwrap();
    assert_eq!(&bytes[30..30 + name_len], path.with_extension("csv").file_name().unwrap().as_encoded_bytes());
    text
}

/// The files of both checksums, by a tool of others.
fn check_sums(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            check_sums(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "CHECKSUM") {
            let output = Command::new("sha256sum").arg("-c").arg(&path).current_dir(folder).output().unwrap();
            assert!(output.status.success(), "{}", said(&output));
            found.push(path.with_extension(""));
        } else {
            assert_eq!(path.extension().unwrap(), "zip", "{}", path.display());
        }
    }
}

fn wait_for(mut is: impl FnMut() -> bool) {
    for _ in 0..600 {
        if is() {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it does not come");
}

/// One that keeps nothing in memory that is archived.
fn start(folder: &Folder) -> (Running, String) {
    let (child, told) = start_with(&folder.0, |command| {
        command.env("RINGSIDE_ADMIN_KEY", ADMIN_KEY).env("RINGSIDE_HISTORY_WINDOW", "0");
    });
    (child, address(&told, "running on"))
}

/// Waits until what happened so far is archived and a second more has passed.
fn archived(address: &str) {
    let key = format!("X-API-Key: {ADMIN_KEY}");
    let read = |name: &str| samples(&get(address, "/metrics", &[&key]))[name];
    let now = read("ringside_sequence");
    wait_for(|| read("ringside_archived_sequence") > now);
}

/// On the spot market one trade, on the perpetual one two by one order.
fn trade(address: &str, traders: &[String; 2], keys: &[Value; 2]) {
    for (trader, side) in [(0, "sell"), (1, "buy")] {
        let order =
            json!({"symbol": "DFUSDT", "side": side, "type": "limit", "price": "0.2", "quantity": "50"});
        post(address, "/api/v1/spot/orders", &traders[trader], &order);
    }
    for (trader, rest) in
        [(0, "side=SELL&quantity=0.01"), (0, "side=SELL&quantity=0.02"), (1, "side=BUY&quantity=0.03")]
    {
        let order = format!("symbol=BTCUSDT&type=LIMIT&timeInForce=GTC&price=60000&{rest}");
        signed(address, "POST", "/fapi/v1/order", &keys[trader], &order);
    }
}

#[test]
fn a_day_is_exported_and_only_then_removed() {
    let folder = Folder::new("archive-export");
    let (child, public) = start(&folder);
    let log_in = |public: &str| [2, 3].map(|wallet| log_in(public, wallet));
    let traders = log_in(&public);
    let keys = [0, 1].map(|trader: usize| {
        post(&public, "/api/v1/account/api-keys", &traders[trader], &json!({"label": "archive"}))
    });
    credit(&public);
    // All of it on one day.
    let rest_ms = DAY_MS - Clock::SYSTEM.now_ms().rem_euclid(DAY_MS);
    if rest_ms < 30_000 {
        std::thread::sleep(Duration::from_millis(rest_ms as u64 + 1_000));
    }
    let begin_ms = Clock::SYSTEM.now_ms();
    trade(&public, &traders, &keys);
    archived(&public);
    let first = day(begin_ms);
    let data = folder.0.to_str().unwrap();
    let to = folder.0.join("dump");
    let to = to.to_str().unwrap();
    refused(&archive(&folder, &["export", data, "--day", &first, "--to", to]), "is not over");
    refused(&archive(&folder, &["export", data, "--day", "2026-02-30", "--to", to]), "no such day");
    stop(child);

    // Two days later, as seen from here.
    let config = Config { data_dir: folder.0.clone(), any_file_system: true, ..Config::default() };
    let ahead = Clock::manual(begin_ms + 2 * DAY_MS);
    let recovered: Recovered<Engine> =
        recover(&persist_config(&config, &ahead), &engine_config(&config), &mut ()).unwrap();
    drop(recovered);
    let (child, public) = start(&folder);
    accept_clock(&public);
    let traders = log_in(&public);
    trade(&public, &traders, &keys);
    archived(&public);

    // What is exported is what the API shows.
    let trades = |query: &str| request(&public, "GET", &format!("/fapi/v1/{query}"), &[], "");
    let shown: Value = serde_json::from_str(&trades("historicalTrades?symbol=BTCUSDT&fromId=1").1).unwrap();
    assert_eq!(shown.as_array().unwrap().len(), 4, "{shown}");
    done(&archive(&folder, &["export", data, "--day", &first, "--to", to]));
    let mut files = Vec::new();
    check_sums(Path::new(to), &mut files);
    // Whether an hour passed on that day depends on when this runs.
    files.retain(|path| !path.to_str().unwrap().contains("fundingRate"));
    files.sort();
    let names: Vec<String> =
        files.iter().map(|path| path.strip_prefix(to).unwrap().to_str().unwrap().to_owned()).collect();
    let um = "data/futures/um/daily";
    assert_eq!(
        names,
        [
            format!("{um}/aggTrades/BTCUSDT/BTCUSDT-aggTrades-{first}.zip"),
            format!("{um}/klines/BTCUSDT/1m/BTCUSDT-1m-{first}.zip"),
            format!("{um}/trades/BTCUSDT/BTCUSDT-trades-{first}.zip"),
            format!("data/spot/daily/klines/DFUSDT/1m/DFUSDT-1m-{first}.zip"),
            format!("data/spot/daily/trades/DFUSDT/DFUSDT-trades-{first}.zip"),
        ]
    );
    let csv: Vec<String> = files.iter().map(|path| member(path)).collect();
    let spelled = |row: &Value, names: &[&str]| -> String {
        let spell = |name: &&str| row[*name].as_str().map_or_else(|| row[*name].to_string(), str::to_owned);
        names.iter().map(spell).collect::<Vec<_>>().join(",")
    };
    let row = |at: usize| spelled(&shown[at], &["id", "price", "qty", "quoteQty", "time", "isBuyerMaker"]);
    assert_eq!(csv[2], format!("id,price,qty,quote_qty,time,is_buyer_maker\n{}\n{}\n", row(0), row(1)));
    let (status, joined) = trades("aggTrades?symbol=BTCUSDT&fromId=1");
    let joined: Value = serde_json::from_str(&joined).unwrap();
    assert_eq!((status, joined.as_array().unwrap().len()), (200, 2), "{joined}");
    assert_eq!(
        csv[0],
        format!(
            "agg_trade_id,price,quantity,first_trade_id,last_trade_id,transact_time,is_buyer_maker\n{}\n",
            spelled(&joined[0], &["a", "p", "q", "f", "l", "T", "m"])
        )
    );
    let minute = begin_ms - begin_ms.rem_euclid(60_000);
    let (_, candles) = trades(&format!("klines?symbol=BTCUSDT&interval=1m&startTime={minute}&limit=2"));
    let candles: Value = serde_json::from_str(&candles).unwrap();
    let candle = candles.as_array().unwrap().iter().find(|candle| candle[8] == 2).unwrap();
    let candle: Vec<String> =
        (0..12).map(|at| candle[at].as_str().map_or_else(|| candle[at].to_string(), str::to_owned)).collect();
    assert!(csv[1].starts_with("open_time,open,") && csv[1].ends_with(&format!("\n{}\n", candle.join(","))));
    // Spot as it is dumped: without names, in microseconds.
    let line: Vec<&str> = csv[4].trim_end().split(',').collect();
    assert_eq!(
        (&line[..4], &line[5..]),
        (&["1", "0.2", "50", "10"][..], &["false", "true"][..]),
        "{}",
        csv[4]
    );
    assert!(line[4].len() == 16 && csv[4].lines().count() == 1, "{}", csv[4]);
    assert!(csv[3].contains(",0.2,0.2,0.2,0.2,50,"), "{}", csv[3]);
    // The same again is the same.
    let bytes = std::fs::read(&files[2]).unwrap();
    done(&archive(&folder, &["export", data, "--day", &first, "--to", to]));
    assert_eq!(std::fs::read(&files[2]).unwrap(), bytes);
    done(&archive(&folder, &["export", data, "--day", &day(begin_ms + DAY_MS), "--to", to]));

    // Nothing is removed that lies nowhere, or lies there otherwise.
    let before = day(begin_ms + DAY_MS);
    let prune =
        |exported: &str| archive(&folder, &["prune", data, "--before", &before, "--exported", exported]);
    let elsewhere = folder.0.join("elsewhere");
    refused(&prune(elsewhere.to_str().unwrap()), "nothing was removed");
    let mut torn = bytes.clone();
    *torn.last_mut().unwrap() ^= 1;
    std::fs::write(&files[2], &torn).unwrap();
    refused(&prune(to), "BTCUSDT-trades");
    std::fs::write(&files[2], &bytes).unwrap();
    assert!(trades("historicalTrades?symbol=BTCUSDT&fromId=1").1.contains(&shown[0]["id"].to_string()));

    let told = done(&prune(to));
    assert!(told.contains("2  trades of BTCUSDT") && told.contains("1  trades of DFUSDT"), "{told}");
    assert!(told.contains("the exchange runs"), "{told}");
    // What is left is shown; what is gone is said to be, never left out.
    let kept = shown[2]["id"].as_u64().unwrap();
    for (query, is_kept) in [
        ("historicalTrades?symbol=BTCUSDT&fromId=1".to_owned(), false),
        (format!("historicalTrades?symbol=BTCUSDT&fromId={}", kept - 1), false),
        (format!("historicalTrades?symbol=BTCUSDT&fromId={kept}"), true),
        ("trades?symbol=BTCUSDT".to_owned(), true),
        ("aggTrades?symbol=BTCUSDT&fromId=1".to_owned(), false),
        (format!("aggTrades?symbol=BTCUSDT&startTime={begin_ms}"), false),
        ("aggTrades?symbol=BTCUSDT&fromId=2".to_owned(), true),
        ("aggTrades?symbol=BTCUSDT".to_owned(), true),
    ] {
        let (status, body) = trades(&query);
        match is_kept {
            true => assert!(status == 200 && body.contains(&kept.to_string()), "{query}: {status} {body}"),
            false => assert!(
                status == 400 && body.contains("-1130") && body.contains(&format!("before id {kept}")),
                "{query}: {status} {body}"
            ),
        }
    }
    assert_eq!(
        serde_json::from_str::<Value>(&get(&public, "/api/v1/spot/trades?symbol=DFUSDT", &[])).unwrap()[1],
        Value::Null
    );
    // Candles, and what belongs to accounts, stay.
    let (_, still) = trades(&format!("klines?symbol=BTCUSDT&interval=1m&startTime={minute}&limit=2"));
    // The minute may be over by now, and the next one be there.
    assert_eq!(serde_json::from_str::<Value>(&still).unwrap()[0], candles[0]);
    let own = signed(&public, "GET", "/fapi/v1/userTrades", &keys[1], "symbol=BTCUSDT&fromId=1");
    assert_eq!(own.as_array().unwrap().len(), 4, "{own}");

    // Again, stopped: there is nothing more, the file shrinks, and that day cannot be exported any more.
    stop(child);
    assert!(!done(&prune(to)).contains("runs"));
    refused(&archive(&folder, &["export", data, "--day", &first, "--to", to]), "were removed");
    assert_eq!(std::fs::read(&files[2]).unwrap(), bytes);
    let (child, public) = start(&folder);
    let (status, body) = request(&public, "GET", "/fapi/v1/aggTrades?symbol=BTCUSDT&fromId=2", &[], "");
    assert!(status == 200 && body.contains(&kept.to_string()), "{status} {body}");
    stop(child);
}

/// An exchange whose time of day is so many seconds from that of the machine.
fn start_shifted(folder: &Folder, by_s: i64) -> (Running, String) {
    let library = folder.0.join("shifted.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/clock/shifted.c");
    let made = Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(source).output();
    done(&made.unwrap());
    let (child, told) = start_with(&folder.0, |command| {
        command.env("RINGSIDE_ADMIN_KEY", ADMIN_KEY).env("RINGSIDE_HISTORY_WINDOW", "0");
        command.env("LD_PRELOAD", &library).env("SHIFTED_BY_S", by_s.to_string());
    });
    (child, address(&told, "running on"))
}

fn credit(address: &str) {
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    for wallet in WALLETS {
        for token in ["DF", "USDT"] {
            let credit = json!({"user_address": wallet, "token": token, "amount": "1000"});
            post(address, "/api/v1/admin/spot/balances/credit", &admin, &credit);
        }
        let credit = json!({"user_address": wallet, "amount": "100000"});
        post(address, "/admin/perpetual/credit", &admin, &credit);
    }
}

fn accept_clock(address: &str) {
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    let distance: Value = serde_json::from_str(&get(address, "/admin/clock", &[&admin])).unwrap();
    post(address, "/admin/clock/accept", &admin, &json!({ "distance_ms": distance["distance_ms"] }));
}

/// Rows of a file with a line of names, by name.
fn table(path: &Path) -> Vec<BTreeMap<String, String>> {
    let text = member(path);
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let names: Vec<String> = lines.next().unwrap().collect();
    lines.map(|cells| names.iter().cloned().zip(cells).collect()).collect()
}

/// Every column of every row is what the API shows, which has rows of other days as well and shows nothing twice.
fn same_rows(rows: &[BTreeMap<String, String>], shown: &Value, key: (&str, &str), but: &[&str]) {
    let spell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        value => value.to_string(),
    };
    let shown = shown.as_array().unwrap();
    assert!(!rows.is_empty());
    for row in rows {
        let of = |shown: &&Value| spell(&shown[key.0]) == row[key.1];
        let found: Vec<&Value> = shown.iter().filter(of).collect();
        assert_eq!(found.len(), 1, "{row:?}: {shown:?}");
        for (name, cell) in row.iter().filter(|(name, _)| !but.contains(&name.as_str())) {
            let camel = name.split('_').enumerate().map(|(at, word)| match at {
                0 => word.to_owned(),
                _ => word[..1].to_uppercase() + &word[1..],
            });
            let member = if found[0].get(name).is_some() { name.clone() } else { camel.collect() };
            assert_eq!(*cell, spell(&found[0][&member]), "{name} of {row:?}");
        }
    }
}

#[test]
fn accounts_own_rows_are_exported_and_only_then_removed() {
    const SHIFT_S: i64 = -100 * DAY_MS / 1_000;
    let folder = Folder::new("archive-own");
    // All of it on one day.
    let rest_ms = DAY_MS - Clock::SYSTEM.now_ms().rem_euclid(DAY_MS);
    if rest_ms < 60_000 {
        std::thread::sleep(Duration::from_millis(rest_ms as u64 + 1_000));
    }
    let now_ms = || Clock::SYSTEM.now_ms() + SHIFT_S * 1_000;
    let begin_ms = now_ms() - 1_000;
    let (first, next) = (day(begin_ms), day(begin_ms + DAY_MS));
    let (child, public) = start_shifted(&folder, SHIFT_S);
    let traders = [2, 3].map(|wallet| log_in(&public, wallet));
    let keys = [0, 1].map(|trader: usize| {
        post(&public, "/api/v1/account/api-keys", &traders[trader], &json!({"label": "archive"}))
    });
    credit(&public);
    let sign = |method: &str, path: &str, trader: usize, rest: &str| -> Value {
        let (status, answer) = try_signed_at(now_ms(), &public, method, path, &keys[trader], rest);
        assert_eq!(status, 200, "{path} {rest}: {answer}");
        answer
    };
    let transfer = json!({"direction": "to_perp", "token": "USDT", "amount": "25"});
    post(&public, "/api/v1/spot/transfer", &traders[0], &transfer);
    for (trader, side, price) in [(0, "sell", "0.2"), (1, "buy", "0.2"), (0, "sell", "0.3")] {
        let order =
            json!({"symbol": "DFUSDT", "side": side, "type": "limit", "price": price, "quantity": "50"});
        post(&public, "/api/v1/spot/orders", &traders[trader], &order);
    }
    assert_eq!(request(&public, "DELETE", "/api/v1/spot/orders", &[&traders[0]], "").0, 200);
    let gtc = "type=LIMIT&timeInForce=GTC";
    for (trader, rest) in [
        (0, "symbol=BTCUSDT&price=60000&side=SELL&quantity=0.01"),
        (0, "symbol=BTCUSDT&price=60000&side=SELL&quantity=0.02"),
        (1, "symbol=BTCUSDT&price=60000&side=BUY&quantity=0.03"),
        (0, "symbol=BTCUSDT&price=61000&side=SELL&quantity=0.01"),
        // Half of it goes on.
        (0, "symbol=ETHUSDT&price=3000&side=BUY&quantity=0.2"),
        (1, "symbol=ETHUSDT&price=3000&side=SELL&quantity=0.1"),
    ] {
        sign("POST", "/fapi/v1/order", trader, &format!("{rest}&{gtc}"));
    }
    sign("DELETE", "/fapi/v1/allOpenOrders", 0, "symbol=BTCUSDT");
    let stop_order =
        "algoType=CONDITIONAL&symbol=BTCUSDT&side=BUY&type=STOP_MARKET&quantity=0.01&triggerPrice=66000";
    let armed = sign("POST", "/fapi/v1/algoOrder", 0, stop_order);
    sign("DELETE", "/fapi/v1/algoOrder", 0, &format!("algoId={}", armed["algoId"]));
    // A hundred days later the API shows none of it.
    let income = sign("GET", "/fapi/v1/income", 0, &format!("startTime={begin_ms}&limit=1000"));
    archived(&public);
    stop(child);
    let copy = |from: &str, to: &str| {
        let _ = std::fs::remove_dir_all(folder.0.join(to));
        std::fs::create_dir(folder.0.join(to)).unwrap();
        for file in std::fs::read_dir(folder.0.join(from)).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), folder.0.join(to).join(file.file_name())).unwrap();
        }
    };
    copy("archive", "early");

    let (child, public) = start(&folder);
    accept_clock(&public);
    let traders = [2, 3].map(|wallet| log_in(&public, wallet));
    trade(&public, &traders, &keys);
    archived(&public);
    let sign = |public: &str, path: &str, trader: usize, rest: &str| {
        signed(public, "GET", path, &keys[trader], &format!("{rest}&limit=1000"))
    };
    let old = format!("symbol=BTCUSDT&startTime={begin_ms}");
    let orders = sign(&public, "/fapi/v1/allOrders", 0, &old);
    let conditional = sign(&public, "/fapi/v1/allAlgoOrders", 0, &old);
    let fills = sign(&public, "/fapi/v1/userTrades", 0, &old);
    assert_eq!(
        (orders.as_array().unwrap().len(), fills.as_array().unwrap().len()),
        (3, 2),
        "{orders} {fills}"
    );
    let own = |path: &str| -> Value {
        serde_json::from_str(&get(&public, &format!("/api/v1/spot/{path}"), &[&traders[0]])).unwrap()
    };
    let spot = [own("orders"), own("trades/me"), own("transfers")];

    // What is exported is what the API shows.
    let data = folder.0.to_str().unwrap();
    let to = folder.0.join("dump");
    let to = to.to_str().unwrap();
    let export = |rest: &[&str]| archive(&folder, &[&["export", data, "--to", to], rest].concat());
    refused(&export(&["--account", WALLETS[0], "--day", &day(now_ms() - SHIFT_S * 1_000)]), "is not over");
    refused(&export(&["--account", &format!("0x{:040x}", 9)]), "no account");
    refused(&export(&[]), "--day");
    done(&export(&["--account", WALLETS[0]]));
    let mut files = Vec::new();
    check_sums(Path::new(to), &mut files);
    // Funding goes on in between.
    files.retain(|path| path.to_str().unwrap().contains(&first));
    files.sort();
    let root = Path::new(to).join("accounts").join(WALLETS[0]).join("data");
    let names: Vec<&str> =
        files.iter().map(|path| path.strip_prefix(&root).unwrap().to_str().unwrap()).collect();
    let named =
        |venue: &str, kind: &str, of: &str| format!("{venue}/daily/{kind}/{of}/{of}-{kind}-{first}.zip");
    let of = |venue: &str, kind: &str, of: &str| table(&root.join(named(venue, kind, of)));
    let um = "futures/um";
    for (venue, kind, of) in [
        (um, "algoOrders", "BTCUSDT"),
        (um, "income", "BTCUSDT"),
        (um, "income", "USDT"),
        (um, "orders", "BTCUSDT"),
        (um, "trades", "BTCUSDT"),
        (um, "trades", "ETHUSDT"),
        ("spot", "balances", "DF"),
        ("spot", "balances", "USDT"),
        ("spot", "orders", "DFUSDT"),
        ("spot", "trades", "DFUSDT"),
        ("spot", "transfers", "USDT"),
    ] {
        assert!(names.contains(&&*named(venue, kind, of)), "{venue} {kind} {of}: {names:?}");
    }
    assert_eq!(of(um, "orders", "BTCUSDT").len(), 3);
    same_rows(&of(um, "orders", "BTCUSDT"), &orders, ("orderId", "order_id"), &[]);
    same_rows(&of(um, "algoOrders", "BTCUSDT"), &conditional, ("algoId", "algo_id"), &[]);
    assert_eq!(of(um, "trades", "BTCUSDT").len(), 2);
    same_rows(&of(um, "trades", "BTCUSDT"), &fills, ("id", "id"), &[]);
    let mut rows = of(um, "income", "BTCUSDT");
    rows.extend(of(um, "income", "USDT"));
    rows.extend(of(um, "income", "ETHUSDT"));
    // What came before the hour was over.
    rows.retain(|row| row["income_type"] != "FUNDING_FEE");
    let all = income.as_array().unwrap().iter().filter(|row| row["incomeType"] != "FUNDING_FEE").count();
    assert_eq!(rows.len(), all, "{income}");
    same_rows(&rows, &income, ("tranId", "tran_id"), &[]);
    assert_eq!((of("spot", "orders", "DFUSDT").len(), of("spot", "trades", "DFUSDT").len()), (2, 1));
    same_rows(&of("spot", "orders", "DFUSDT"), &spot[0], ("id", "id"), &[]);
    same_rows(&of("spot", "trades", "DFUSDT"), &spot[1], ("trade_id", "trade_id"), &[]);
    same_rows(&of("spot", "transfers", "USDT"), &spot[2], ("id", "id"), &[]);
    // 1,000 were credited, 25 transferred, and 10 came of the trade.
    assert_eq!(of("spot", "balances", "USDT").last().unwrap()["available"], "985");

    // Nothing is removed that is young, lies nowhere, or lies there otherwise.
    let prune =
        |before: &str| archive(&folder, &["prune", data, "--before", before, "--exported", to, "--own"]);
    refused(&prune(&day(begin_ms + 20 * DAY_MS)), "own rows of 92 days stay");
    refused(&prune(&next), "--account all");
    done(&export(&["--account", "all", "--day", &first]));
    let fills_file = root.join(named(um, "trades", "BTCUSDT"));
    let bytes = std::fs::read(&fills_file).unwrap();
    let mut torn = bytes.clone();
    *torn.last_mut().unwrap() ^= 1;
    std::fs::write(&fills_file, &torn).unwrap();
    refused(&prune(&next), "BTCUSDT-trades");
    std::fs::write(&fills_file, &bytes).unwrap();
    assert_eq!(sign(&public, "/fapi/v1/userTrades", 0, &old), fills);
    let told = done(&prune(&next));
    assert!(
        told.contains("trades of perpetual markets before") && told.contains("the exchange runs"),
        "{told}"
    );
    let kept = format!("kept  trades of perpetual markets of {} in ETHUSDT from {first} on", WALLETS[0]);
    assert!(told.contains(&kept) && !told.contains(&format!("of {} in", WALLETS[1])), "{told}");

    // What is left is shown, also after a death; what is gone is said to be, never left out.
    let look = |public: &str| {
        for (path, trader, rest) in [
            ("userTrades", 0, old.clone()),
            ("userTrades", 0, "symbol=BTCUSDT&fromId=1".to_owned()),
            ("userTrades", 1, format!("symbol=ETHUSDT&startTime={begin_ms}")),
            ("userTrades", 0, format!("symbol=BTCUSDT&endTime={}", begin_ms + 60_000)),
            ("allOrders", 0, old.clone()),
            ("allOrders", 0, "symbol=BTCUSDT&orderId=1".to_owned()),
            ("allAlgoOrders", 0, old.clone()),
            ("allAlgoOrders", 0, "symbol=BTCUSDT&algoId=1".to_owned()),
        ] {
            let (status, body) = try_signed(public, "GET", &format!("/fapi/v1/{path}"), &keys[trader], &rest);
            let message = body["msg"].as_str().unwrap_or_default();
            assert!(
                status == 400 && body["code"] == -1130 && message.contains("are kept elsewhere"),
                "{path} {rest}: {status} {body}"
            );
        }
        let gone = format!("symbol=BTCUSDT&orderId={}", orders[0]["orderId"]);
        let (status, body) = try_signed(public, "GET", "/fapi/v1/order", &keys[0], &gone);
        assert_eq!((status, &body["code"]), (400, &json!(-2013)), "{body}");
        // The order that is open has its fill.
        let open = sign(public, "/fapi/v1/userTrades", 0, &format!("symbol=ETHUSDT&startTime={begin_ms}"));
        assert_eq!(open.as_array().unwrap().len(), 1, "{open}");
        let open = signed(public, "GET", "/fapi/v1/openOrders", &keys[0], "symbol=ETHUSDT");
        assert_eq!(open.as_array().unwrap().len(), 1, "{open}");
        let young = sign(public, "/fapi/v1/userTrades", 0, "symbol=BTCUSDT");
        assert_eq!(young.as_array().unwrap().len(), 2, "{young}");
        let young = format!("symbol=BTCUSDT&fromId={}", young[0]["id"]);
        assert_eq!(sign(public, "/fapi/v1/userTrades", 0, &young).as_array().unwrap().len(), 2);
        for (path, refusal) in [
            (format!("/account/trades?start_time={begin_ms}"), "INVALID_PARAMETER"),
            (format!("/account/orders?cursor=&start_time={begin_ms}"), "INVALID_PARAMETER"),
            (format!("/api/v1/spot/trades/me?start={}", begin_ms / 1_000), "invalid range"),
            (format!("/api/v1/spot/orders?start={}", begin_ms / 1_000), "invalid range"),
        ] {
            let (status, body) = request(public, "GET", &path, &[&traders[0]], "");
            assert!(
                status == 400 && body.contains(refusal) && body.contains("are kept elsewhere"),
                "{path}: {status} {body}"
            );
        }
        // Who names no begin gets what is there.
        let all = |path: &str| -> Value { serde_json::from_str(&get(public, path, &[&traders[0]])).unwrap() };
        assert_eq!(all("/account/trades")["total"], 3);
        assert_eq!(all("/api/v1/spot/trades/me").as_array().unwrap().len(), 1);
    };
    look(&public);
    drop(child);
    let (child, public) = start(&folder);
    look(&public);
    // Trades of everybody's stay.
    let everybodys = request(&public, "GET", "/fapi/v1/historicalTrades?symbol=BTCUSDT&fromId=1", &[], "");
    assert_eq!(serde_json::from_str::<Value>(&everybodys.1).unwrap().as_array().unwrap().len(), 4);
    stop(child);
    // Again, stopped: there is nothing more, and that day cannot be exported any more.
    let told = done(&prune(&next));
    assert!(!told.contains("removed") && !told.contains("runs"), "{told}");
    refused(&export(&["--account", WALLETS[0], "--day", &first]), "were removed");
    assert_eq!(std::fs::read(&fills_file).unwrap(), bytes);
    // Of an archive that does not know how every order ended nothing is removed.
    copy("early", "archive");
    refused(&prune(&next), "the archive is behind the journal");
}
