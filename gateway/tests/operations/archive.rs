//! A day of trades leaves the archive as files that others read, and is removed from it only once it lies there.

use crate::metrics::samples;
use crate::process::{
    ADMIN_KEY, Folder, address, get, log_in, post, request, ringside, said, signed, start_with, stop,
};
use flate2::read::DeflateDecoder;
use ringside_commands::clock::Clock;
use ringside_core::Engine;
use ringside_gateway::boot::{engine_config, persist_config};
use ringside_gateway::config::Config;
use ringside_persist::recover::recovery::{Recovered, recover};
use serde_json::{Value, json};
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
fn start(folder: &Folder) -> (crate::process::Running, String) {
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
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    let (child, public) = start(&folder);
    let log_in = |public: &str| [2, 3].map(|wallet| log_in(public, wallet));
    let traders = log_in(&public);
    let keys = [0, 1].map(|trader: usize| {
        post(&public, "/api/v1/account/api-keys", &traders[trader], &json!({"label": "archive"}))
    });
    for wallet in WALLETS {
        for token in ["DF", "USDT"] {
            let credit = json!({"user_address": wallet, "token": token, "amount": "1000"});
            post(&public, "/api/v1/admin/spot/balances/credit", &admin, &credit);
        }
        let credit = json!({"user_address": wallet, "amount": "100000"});
        post(&public, "/admin/perpetual/credit", &admin, &credit);
    }
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
    let distance: Value = serde_json::from_str(&get(&public, "/admin/clock", &[&admin])).unwrap();
    post(&public, "/admin/clock/accept", &admin, &json!({ "distance_ms": distance["distance_ms"] }));
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
    assert_eq!(serde_json::from_str::<Value>(&still).unwrap(), candles);
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
