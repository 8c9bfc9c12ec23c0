//! What a venue needs of memory and disk: the table in `scripts/operations/README.md` is what a running exchange takes, within a fifth; what the
//! allocator keeps of memory differs from run to run, so that is a bound.

use crate::metrics::samples;
use crate::process::{
    ADMIN_KEY, Folder, Running, address, get, log_in, log_in_with, post, request, signed, start_with, stop,
};
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::Engine;
use ringside_core::agent::Agent;
use ringside_core::command::{AdvanceTime, Command};
use ringside_core::gate::Gate;
use ringside_core::ring::{self, Mapping, Options, Wait};
use ringside_gateway::boot::{engine_config, persist_config};
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::recover::recovery::{Recovered, recover};
use ringside_persist::write::journal::Journaller;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process;
use std::sync::Arc;
use std::time::Duration;

const ACCOUNTS: u32 = 8_000;
const TRADERS: u8 = 32;
const ORDERS: usize = 200;
const TRADES: usize = 4_000;
/// Accounts of the perpetual side, each with a position in every market.
const HOLDERS: usize = 300;
const PERPETUALS: [(&str, &str, &str); 3] =
    [("BTCUSDT", "60000", "0.01"), ("ETHUSDT", "3000", "0.1"), ("SOLUSDT", "150", "1")];
const HOUR_MS: i64 = 3_600_000;
/// Requests of the phases below go over so many connections.
const CONNECTIONS: usize = 8;

/// A connection that is kept.
struct Client(BufReader<TcpStream>);

impl Client {
    fn new(address: &str) -> Client {
        Client(BufReader::new(TcpStream::connect(address).unwrap()))
    }

    fn send(&mut self, method: &str, path: &str, header: &str, body: &str) -> String {
        let len = body.len();
        let json = "Content-Type: application/json";
        let head =
            format!("{method} {path} HTTP/1.1\r\nHost: test\r\n{header}\r\n{json}\r\nContent-Length: {len}");
        self.0.get_mut().write_all(format!("{head}\r\n\r\n{body}").as_bytes()).unwrap();
        let (mut line, mut status, mut length) = (String::new(), String::new(), 0);
        while line != "\r\n" {
            line.clear();
            assert!(self.0.read_line(&mut line).unwrap() > 0, "an answer");
            if status.is_empty() {
                status.clone_from(&line);
            }
            if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = text.trim().parse().unwrap();
            }
        }
        let mut answer = vec![0; length];
        self.0.read_exact(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}: {answer}");
        answer
    }
}

/// Has each connection do its share of `count` things.
fn share(address: &str, count: usize, each: impl Fn(&mut Client, usize) + Sync) {
    std::thread::scope(|scope| {
        for first in 0..CONNECTIONS {
            let each = &each;
            scope.spawn(move || {
                let mut client = Client::new(address);
                (first..count).step_by(CONNECTIONS).for_each(|number| each(&mut client, number));
            });
        }
    });
}

fn wallet(number: u32) -> String {
    format!("0x{number:040x}")
}

fn start(folder: &Folder) -> (Running, String) {
    start_where(folder, |_| ())
}

fn start_where(folder: &Folder, change: impl Fn(&mut process::Command)) -> (Running, String) {
    let (child, told) = start_with(&folder.0, |command| {
        command.env("RINGSIDE_ADMIN_KEY", ADMIN_KEY).env("RINGSIDE_ACKNOWLEDGE", "written");
        for limit in ["WEIGHT_PER_MINUTE", "ORDERS_PER_TEN_SECONDS", "ORDERS_PER_MINUTE"] {
            command.env(format!("RINGSIDE_{limit}"), "1000000000");
        }
        change(command);
    });
    (child, address(&told, "running on"))
}

/// The same that keeps nothing in memory that is archived, and goes on where its time is ahead of the machine's.
fn start_ahead(folder: &Folder) -> (Running, String) {
    let (child, address) = start_where(folder, |command| {
        command.env("RINGSIDE_HISTORY_WINDOW", "0");
    });
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    let distance: Value = serde_json::from_str(&get(&address, "/admin/clock", &[&admin])).unwrap();
    post(&address, "/admin/clock/accept", &admin, &json!({ "distance_ms": distance["distance_ms"] }));
    for _ in 0..600 {
        if request(&address, "GET", "/readyz", &[], "").0 == 200 {
            return (child, address);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it takes no orders");
}

/// Bytes of memory that a process has for itself.
fn memory(child: &Running) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.0.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap() * 1_024.0
}

/// Bytes of the files in a folder.
fn files(folder: &Path) -> f64 {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries.map(|entry| entry.metadata().unwrap().len() as f64).sum()
}

/// Bytes of the newest snapshot: one is written at every stop.
fn newest_snapshot(data: &Path) -> f64 {
    let entries = std::fs::read_dir(data.join("journal")).unwrap().map(|entry| entry.unwrap().path());
    let snapshots = entries.filter(|path| path.extension().is_some_and(|extension| extension == "snapshot"));
    std::fs::metadata(snapshots.max().unwrap()).unwrap().len() as f64
}

/// Rows of the table: bytes by what they are of.
fn table() -> BTreeMap<String, f64> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/operations/README.md");
    let text = std::fs::read_to_string(path).unwrap();
    let section = text.split("\n## Sizing\n").nth(1).expect("a section").split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        (cells[1].to_owned(), cells[2].replace(',', "").parse().unwrap_or_else(|_| panic!("{row}")))
    })
    .collect()
}

#[test]
fn the_sizing_table_is_what_an_exchange_takes() {
    let folder = Folder::new("sizing");
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    let mut found = BTreeMap::new();
    let mut add = |name: &str, bytes: f64, count: usize| {
        found.insert(name.to_owned(), bytes / count as f64);
    };
    let journal = |address: &str| {
        let page = samples(&get(address, "/metrics", &[&admin]));
        (page["ringside_journal_bytes_total"], page["ringside_journal_durable_sequence"])
    };
    let credit = |client: &mut Client, wallet: &str, token: &str| {
        let body = json!({"user_address": wallet, "token": token, "amount": "10000000"});
        client.send("POST", "/api/v1/admin/spot/balances/credit", &admin, &body.to_string());
    };

    // Each phase begins with a start, so that every one has a snapshot behind it.
    let (child, address) = start(&folder);
    stop(child);
    let data = folder.0.as_path();
    let mut snapshot = newest_snapshot(data);
    let mut archive = files(&data.join("archive"));
    let grown = |found: &mut f64, now: f64| now - std::mem::replace(found, now);
    drop(address);

    let (child, address) = start(&folder);
    let before = memory(&child);
    share(&address, ACCOUNTS as usize, |client, number| {
        credit(client, &wallet(1 << 20 | number as u32), "USDT")
    });
    add("an account with a balance: memory, at most", memory(&child) - before, ACCOUNTS as usize);
    stop(child);
    add(
        "an account with a balance: snapshot",
        grown(&mut snapshot, newest_snapshot(data)),
        ACCOUNTS as usize,
    );
    grown(&mut archive, files(&data.join("archive")));

    let (child, address) = start(&folder);
    let traders: Vec<String> = (1..=TRADERS).map(|wallet| log_in(&address, wallet)).collect();
    let mut client = Client::new(&address);
    for trader in &traders {
        let token = trader.rsplit(' ').next().unwrap();
        let claims = jsonwebtoken::dangerous::insecure_decode::<Value>(token).unwrap().claims;
        for asset in ["DF", "USDT"] {
            credit(&mut client, claims["sub"].as_str().unwrap(), asset);
        }
    }
    let order = |side: &str, price: &str| {
        json!({"symbol": "DFUSDT", "side": side, "type": "limit", "price": price, "quantity": "50"})
            .to_string()
    };
    // Tables have their room by the second time.
    let orders = usize::from(TRADERS) * ORDERS;
    let place = || {
        share(&address, orders, |client, number| {
            let price = format!("0.{}", 1_000 + number / 32);
            client.send(
                "POST",
                "/api/v1/spot/orders",
                &traders[number % traders.len()],
                &order("buy", &price),
            );
        });
    };
    let (before, (bytes, commands)) = (memory(&child), journal(&address));
    place();
    add("an open order: memory, at most", memory(&child) - before, orders);
    let (bytes_after, commands_after) = journal(&address);
    add("a command, hundreds a second: journal", bytes_after - bytes, (commands_after - commands) as usize);
    stop(child);
    add("an open order: snapshot", grown(&mut snapshot, newest_snapshot(data)), orders);
    grown(&mut archive, files(&data.join("archive")));

    let (child, address) = start(&folder);
    share(&address, traders.len(), |client, number| {
        client.send("DELETE", "/api/v1/spot/orders?symbol=DFUSDT", &traders[number], "");
    });
    stop(child);
    add("an order that ended: archive", grown(&mut archive, files(&data.join("archive"))), orders);

    let (child, address) = start(&folder);
    let mut client = Client::new(&address);
    for _ in 0..TRADES {
        client.send("POST", "/api/v1/spot/orders", &traders[0], &order("sell", "0.2"));
        client.send("POST", "/api/v1/spot/orders", &traders[1], &order("buy", "0.2"));
    }
    stop(child);
    add("a trade, with both its orders: archive", grown(&mut archive, files(&data.join("archive"))), TRADES);

    perpetual(&mut found);

    let table = table();
    for (name, found) in &found {
        eprintln!("{name}: {found:.0}, the table says {:?}", table.get(name));
    }
    assert!(found.keys().eq(table.keys()));
    for (name, found) in found {
        let said = table[&name];
        let is_right =
            if name.ends_with("at most") { found <= said } else { (found - said).abs() <= 0.2 * said };
        assert!(is_right, "{name}: {found:.0} bytes, where the table says {said}");
    }
}

/// Bytes of the archive of a stopped exchange. A connection that is the last one has its log moved into the file as it closes.
fn archive_len(data: &Path) -> f64 {
    let folder = data.join("archive");
    assert_eq!(Sqlite::new(folder.join("history.db")).remove_before(0, 0, 0, 0).unwrap(), 0);
    files(&folder)
}

/// Has a stopped exchange go through an hour that begins then, with all samples of a funding rate, and settle it; its archive has grown
/// by so much.
fn an_hour_of(folder: &Folder, begin_ms: i64) -> f64 {
    const STEPS: i64 = 720;
    let config = Config { data_dir: folder.0.clone(), any_file_system: true, ..Config::default() };
    let persist = persist_config(&config, &Clock::manual(begin_ms));
    let recovered: Recovered<Engine> = recover(&persist, &engine_config(&config), &mut ()).unwrap();
    let start = recovered.next_sequence;
    let options = Options { capacity: 1 << 10, consumers: 1, start, wait: Wait::Park };
    let (mut producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
    let gate = Arc::new(Gate::new(start - 1));
    let mut journaller =
        Journaller::invoked(recovered.journal, consumers.pop().unwrap(), gate.clone()).unwrap();
    for step in 0..=STEPS {
        let time_ns = (begin_ms + 1_000 + step * HOUR_MS / STEPS) * 1_000_000;
        let sequence = start + step as u64;
        producer.try_publish(&Command { sequence, time_ns, ..Command::new(AdvanceTime {}) }).unwrap();
    }
    while gate.durable() < start + STEPS as u64 {
        journaller.do_work();
    }
    journaller.close();
    // It holds the folder.
    drop(journaller);
    let before = archive_len(&folder.0);
    let (child, address) = start_ahead(folder);
    let rates = get(&address, "/fapi/v1/fundingRate?symbol=SOLUSDT", &[]);
    let rates: Value = serde_json::from_str(&rates).unwrap();
    assert!(
        !rates.as_array().unwrap().last().unwrap()["fundingRate"].as_str().unwrap().starts_with("0.00000000"),
        "{rates}"
    );
    stop(child);
    archive_len(&folder.0) - before
}

/// The rows of the perpetual side. Nothing that is archived is in memory, so that snapshots hold what is open alone.
fn perpetual(found: &mut BTreeMap<String, f64>) {
    let folder = Folder::new("sizing-perpetual");
    let data = folder.0.as_path();
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    let mut add = |name: &str, bytes: f64, count: usize| {
        found.insert(name.to_owned(), bytes / count as f64);
    };
    let archive = || archive_len(data);
    let (child, address) = start_ahead(&folder);
    // The first one is everybody's counterpart.
    let keys: Vec<Value> = (1..=HOLDERS + 1)
        .map(|wallet| {
            let header = log_in_with(&address, &format!("{wallet:064}"));
            let key = post(&address, "/api/v1/account/api-keys", &header, &json!({"label": "sizing"}));
            let token = header.rsplit(' ').next().unwrap();
            let claims = jsonwebtoken::dangerous::insecure_decode::<Value>(token).unwrap().claims;
            let credit = json!({"user_address": claims["sub"], "amount": "10000000"});
            post(&address, "/admin/perpetual/credit", &admin, &credit);
            key
        })
        .collect();
    stop(child);
    // Hours that the machine's clock has not come to.
    let hour_ms = Clock::SYSTEM.now_ms().div_euclid(HOUR_MS) * HOUR_MS + 2 * HOUR_MS;
    let without = an_hour_of(&folder, hour_ms);

    let order = |address: &str, key: &Value, symbol: &str, rest: &str| {
        let order = format!("symbol={symbol}&type=LIMIT&timeInForce=GTC&{rest}");
        signed(address, "POST", "/fapi/v1/order", key, &order)
    };
    // Rings and tables have their room once they were gone through.
    let trade = |address: &str, count: usize| {
        for number in 0..count {
            let (first, second) = if number % 2 == 0 { ("SELL", "BUY") } else { ("BUY", "SELL") };
            order(address, &keys[0], "BTCUSDT", &format!("side={first}&price=60000&quantity=0.01"));
            order(address, &keys[1], "BTCUSDT", &format!("side={second}&price=60000&quantity=0.01"));
        }
    };
    let (child, address) = start_ahead(&folder);
    trade(&address, 500);
    stop(child);
    let snapshot = newest_snapshot(data);
    let (child, address) = start_ahead(&folder);
    trade(&address, 500);
    for (symbol, price, quantity) in PERPETUALS {
        let all = HOLDERS as f64 * quantity.parse::<f64>().unwrap();
        order(&address, &keys[0], symbol, &format!("side=SELL&price={price}&quantity={all:.2}"));
    }
    let before = memory(&child);
    for key in &keys[1..] {
        for (symbol, price, quantity) in PERPETUALS {
            order(&address, key, symbol, &format!("side=BUY&price={price}&quantity={quantity}"));
        }
    }
    let positions = HOLDERS * PERPETUALS.len();
    add("a position: memory, at most", memory(&child) - before, positions);
    stop(child);
    let with_positions = newest_snapshot(data);
    add("a position: snapshot", with_positions - snapshot, positions);
    let with = an_hour_of(&folder, hour_ms + 3 * HOUR_MS);
    let payments = positions + PERPETUALS.len();
    add("a funding payment of a position: archive", with - without, payments);

    let snapshot = newest_snapshot(data);
    let (child, address) = start_ahead(&folder);
    trade(&address, 500);
    let before = memory(&child);
    let orders = positions * 4;
    for number in 0..orders {
        let (symbol, price, quantity) = PERPETUALS[number % PERPETUALS.len()];
        let price = price.parse::<i64>().unwrap() * (99 - (number as i64 / 16) % 3) / 100;
        let key = &keys[1 + number / PERPETUALS.len() % HOLDERS];
        order(&address, key, symbol, &format!("side=BUY&price={price}&quantity={quantity}"));
    }
    add("an open perpetual order: memory, at most", memory(&child) - before, orders);
    stop(child);
    add("an open perpetual order: snapshot", newest_snapshot(data) - snapshot, orders);
    let before = archive();
    let (child, address) = start_ahead(&folder);
    for key in &keys[1..] {
        for (symbol, ..) in PERPETUALS {
            signed(&address, "DELETE", "/fapi/v1/allOpenOrders", key, &format!("symbol={symbol}"));
        }
    }
    stop(child);
    add("a perpetual order that ended: archive", archive() - before, orders);

    let before = archive();
    let (child, address) = start_ahead(&folder);
    let trades = TRADES / 2;
    trade(&address, trades);
    stop(child);
    add("a perpetual trade, with both its orders: archive", archive() - before, trades);
}
