//! The running exchange on a disk that is full, on one that fails (failure model, rows 5 and 7), and where its clients would take
//! the descriptors that its files need.

use crate::mounted::Mounted;
use crate::process::{
    ADMIN_KEY, Folder, Running, get, limited, log_in, post, request, ringside, said, started, stop, trade,
    try_request,
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest that something is waited for which happens by itself.
const PATIENCE: Duration = Duration::from_secs(30);
const WALLET: &str = "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf";

/// An exchange with one trader in it, and what it has acknowledged.
struct Venue {
    running: Running,
    address: String,
    trader: String,
    /// Orders by name: whether they are canceled.
    orders: BTreeMap<String, bool>,
}

impl Venue {
    /// On small segments, and with no limit that this test would meet.
    fn start(disk: &Mounted) -> (Running, String) {
        let (running, address, _) = started(&disk.folder.join("data"), |command| {
            command
                .env("RINGSIDE_SEGMENT_LEN", "1MiB")
                .env("RINGSIDE_ANY_FILE_SYSTEM", "false")
                .env("RINGSIDE_WEIGHT_PER_MINUTE", "10000000")
                .env("RINGSIDE_ORDERS_PER_TEN_SECONDS", "10000000")
                .env("RINGSIDE_ORDERS_PER_MINUTE", "10000000");
        });
        (running, address)
    }

    fn new(disk: &Mounted) -> Venue {
        let (running, address) = Venue::start(disk);
        let trader = log_in(&address, 2);
        let credit = json!({"user_address": WALLET, "token": "USDT", "amount": "1000000"});
        let admin = format!("X-API-Key: {ADMIN_KEY}");
        post(&address, "/api/v1/admin/spot/balances/credit", &admin, &credit);
        Venue { running, address, trader, orders: BTreeMap::new() }
    }

    /// One request of the trader; nothing where the exchange is gone.
    fn ask(&self, method: &str, path: &str, body: &str) -> Option<(u16, Value)> {
        let headers = [self.trader.as_str(), "Content-Type: application/json"];
        let (status, answer) = try_request(&self.address, method, path, &headers, body).ok()?;
        Some((status, serde_json::from_str(&answer).unwrap_or_default()))
    }

    /// Places an order that rests: its name, or the refusal.
    fn place(&mut self) -> Result<String, Option<(u16, Value)>> {
        let order =
            json!({"symbol": "DFUSDT", "side": "buy", "type": "limit", "price": "0.1", "quantity": "50"});
        let answer = self.ask("POST", "/api/v1/spot/orders", &order.to_string());
        let Some((200, order)) = answer else { return Err(answer) };
        let name = order["id"].as_str().unwrap().to_owned();
        self.orders.insert(name.clone(), false);
        Ok(name)
    }

    /// Cancels an order, which must be answered.
    fn cancel(&mut self, name: &str) {
        let (status, answer) = self.ask("DELETE", &format!("/api/v1/spot/orders/{name}"), "").unwrap();
        assert_eq!((status, &answer["status"]), (200, &json!("canceled")), "{answer}");
        self.orders.insert(name.to_owned(), true);
    }

    /// Starts it again, and finds everything that was acknowledged as it was.
    fn finds_all_again(mut self, disk: &Mounted) {
        (self.running, self.address) = Venue::start(disk);
        self.trader = log_in(&self.address, 2);
        for (name, is_canceled) in &self.orders {
            let order = get(&self.address, &format!("/api/v1/spot/orders/{name}"), &[&self.trader]);
            let order: Value = serde_json::from_str(&order).unwrap();
            assert_eq!(order["status"], if *is_canceled { "canceled" } else { "open" }, "{order}");
        }
        self.place().expect("it goes on");
        stop(self.running);
    }
}

#[test]
fn a_full_disk_refuses_orders_and_takes_cancels_until_there_is_room() {
    let folder = Folder::new("full");
    let Some(disk) = Mounted::new(&folder.0, 64 << 20) else { return };
    let mut venue = Venue::new(&disk);
    let resting: Vec<_> = (0..20).map(|_| venue.place().unwrap()).collect();
    let filler = disk.fill();
    let refusal = loop {
        match venue.place() {
            Ok(name) => venue.cancel(&name),
            Err(refusal) => break refusal,
        }
        assert!(venue.orders.len() < 20_000, "a full disk went unnoticed");
    };
    // Keys need room too. What there is none for is refused, and no later one with it.
    let key = |venue: &Venue| {
        venue.ask(
            "POST",
            "/api/v1/account/api-keys",
            &json!({"label": "a bot", "ip_whitelist": vec!["10.0.0.1"; 32]}).to_string(),
        )
    };
    let mut keys = 0;
    while let Some((200, _)) = key(&venue) {
        keys += 1;
        assert!(keys < 1_000, "keys need no room");
    }
    let is_busy = |refusal: &Option<(u16, Value)>| {
        refusal.as_ref().is_some_and(|(status, body)| *status == 503 && body["error"] == "ENGINE_BUSY")
    };
    assert!(is_busy(&refusal), "{refusal:?}");
    for name in &resting[..10] {
        let refusal = venue.place().expect_err("there is no room for an order");
        assert!(is_busy(&refusal), "{refusal:?}");
        venue.cancel(name);
        std::thread::sleep(Duration::from_millis(100));
    }
    std::fs::remove_file(filler).unwrap();
    let begun = Instant::now();
    while let Err(refusal) = venue.place() {
        assert!(is_busy(&refusal), "{refusal:?}");
        assert!(begun.elapsed() < PATIENCE, "it does not go on by itself");
        std::thread::sleep(Duration::from_millis(50));
    }
    let (status, answer) = key(&venue).unwrap();
    assert_eq!(status, 200, "{answer}");
    venue.cancel(&resting[10]);
    // Killed while a segment to come is half written, which has taken the last room: it starts again, and takes what it took.
    venue.running.0.kill().unwrap();
    venue.running.0.wait().unwrap();
    let half = disk.folder.join("data/journal/000999.spare");
    std::fs::write(&half, vec![0; 512 << 10]).unwrap();
    let filler = disk.fill();
    (venue.running, venue.address) = Venue::start(&disk);
    venue.trader = log_in(&venue.address, 2);
    venue.cancel(&resting[11]);
    assert!(!half.exists());
    std::fs::remove_file(filler).unwrap();
    // Killed: nothing is written that would not have been.
    venue.running.0.kill().unwrap();
    venue.running.0.wait().unwrap();
    venue.finds_all_again(&disk);
}

#[test]
fn a_disk_that_fails_ends_it_with_code_70_and_nothing_acknowledged_is_lost() {
    let folder = Folder::new("failing");
    let Some(disk) = Mounted::new(&folder.0, 64 << 20) else { return };
    let mut venue = Venue::new(&disk);
    let resting: Vec<_> = (0..100).map(|_| venue.place().unwrap()).collect();
    resting.iter().take(50).for_each(|name| venue.cancel(name));
    disk.fail();
    let begun = Instant::now();
    let code = loop {
        // Nothing more is acknowledged. Whatever is: the next start must find it.
        let placed = venue.place();
        assert!(placed.is_err(), "{placed:?} was acknowledged on a disk that takes nothing");
        if let Some(status) = venue.running.0.try_wait().unwrap() {
            break status.code();
        }
        assert!(begun.elapsed() < PATIENCE, "it goes on without a disk");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(code, Some(70));
    disk.repair();
    venue.finds_all_again(&disk);
}

/// C-38: with hardly any descriptors a stranger's connections would end it.
#[test]
fn too_few_descriptors_are_said_at_the_start() {
    let folder = Folder::new("few-descriptors");
    for limit in [64, 256, 319] {
        let mut command = ringside(&folder.0);
        limited(&mut command, &format!("ulimit -n {limit}"));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        assert!(said(&output).contains(&format!("the limit of open files is {limit}, and at least 320")));
    }
    assert!(!folder.0.join("journal").exists(), "nothing was begun");
}

/// Takes something of a data folder away.
type Take = fn(&Path);

/// The files of a journal with that ending, oldest first.
fn files(data: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(data.join("journal")).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.filter(|path| path.to_string_lossy().ends_with(ending)).collect();
    files.sort();
    files
}

/// Under orders of one client, the files go. What is asked for after that must not be acknowledged where the segment in use has gone;
/// where another has, for no longer than it takes to look.
#[test]
fn nothing_is_acknowledged_for_files_that_are_gone() {
    const AT_ONCE: Duration = Duration::ZERO;
    const SOON: Duration = Duration::from_secs(5);
    let takes: [(&str, Duration, Take); 6] = [
        // As often as something is made in it meanwhile.
        (
            "the folder removed",
            AT_ONCE,
            |data| while std::fs::remove_dir_all(data.join("journal")).is_err() {},
        ),
        ("the folder moved", AT_ONCE, |data| {
            std::fs::rename(data.join("journal"), data.join("elsewhere")).unwrap();
        }),
        ("the segment in use", AT_ONCE, |data| {
            std::fs::remove_file(files(data, ".journal").last().unwrap()).unwrap();
        }),
        ("the segment in use replaced", AT_ONCE, |data| {
            let path = files(data, ".journal").pop().unwrap();
            std::fs::copy(&path, data.join("copy")).unwrap();
            std::fs::rename(data.join("copy"), path).unwrap();
        }),
        ("an older segment", SOON, |data| std::fs::remove_file(&files(data, ".journal")[0]).unwrap()),
        ("a snapshot", SOON, |data| {
            let begun = Instant::now();
            while files(data, ".snapshot").is_empty() {
                assert!(begun.elapsed() < PATIENCE, "no snapshot was made");
                std::thread::sleep(Duration::from_millis(10));
            }
            // Seen once by whoever misses it.
            std::thread::sleep(Duration::from_millis(1_500));
            std::fs::remove_file(&files(data, ".snapshot")[0]).unwrap();
        }),
    ];
    for [acknowledge, storage] in [["durable", "direct"], ["durable", "mapped"], ["written", "mapped"]] {
        for (index, (what, within, take)) in takes.into_iter().enumerate() {
            let folder = Folder::new(&format!("gone-{acknowledge}-{storage}-{index}"));
            let data = folder.0.join("data");
            let (mut running, address, _) = started(&data, |command| {
                command
                    .env("RINGSIDE_ACKNOWLEDGE", acknowledge)
                    .env("RINGSIDE_STORAGE", storage)
                    // Nobody else takes the old ones away.
                    .env("RINGSIDE_SNAPSHOTS_KEPT", "1000")
                    .env("RINGSIDE_SNAPSHOT_INTERVAL", if what == "a snapshot" { "1s" } else { "1h" })
                    .env("RINGSIDE_SEGMENT_LEN", if within == SOON { "16KiB" } else { "1MiB" });
            });
            let [_, buyer] = trade(&address);
            let order = json!({
                "symbol": "DFUSDT", "side": "buy", "type": "limit", "price": "0.1", "quantity": "10",
            });
            let place = || {
                try_request(&address, "POST", "/api/v1/spot/orders", &[&buyer], &order.to_string())
                    .map_or(0, |(status, _)| status)
            };
            let begun = Instant::now();
            while within == SOON
                && (files(&data, ".journal").len() < 3 || begun.elapsed() < Duration::from_millis(1_500))
            {
                assert_eq!(place(), 200);
                std::thread::sleep(Duration::from_millis(20));
            }
            assert_eq!(place(), 200);
            take(&data);
            let gone = Instant::now();
            let code = loop {
                let asked = gone.elapsed();
                let status = place();
                assert!(
                    status != 200 || asked < within,
                    "{what}, {acknowledge}, {storage}: acknowledged after {asked:?}"
                );
                if let Some(status) = running.0.try_wait().unwrap() {
                    break status.code();
                }
                assert!(gone.elapsed() < PATIENCE, "{what}, {acknowledge}, {storage}: it goes on");
                std::thread::sleep(Duration::from_millis(5));
            };
            assert_eq!(code, Some(70), "{what}, {acknowledge}, {storage}");
        }
    }
}

/// History that went on into a file without a name would be missed at the next start, and could not be made again.
#[test]
fn an_archive_that_is_gone_ends_it_too() {
    let folder = Folder::new("archive-gone");
    let (mut running, address, _) = started(&folder.0, |_| ());
    let [_, buyer] = trade(&address);
    std::fs::remove_dir_all(folder.0.join("archive")).unwrap();
    let order = json!({"symbol": "DFUSDT", "side": "buy", "type": "limit", "price": "0.3", "quantity": "10"});
    let begun = Instant::now();
    let code = loop {
        let _ = try_request(&address, "POST", "/api/v1/spot/orders", &[&buyer], &order.to_string());
        if let Some(status) = running.0.try_wait().unwrap() {
            break status.code();
        }
        assert!(begun.elapsed() < PATIENCE, "it goes on without its history");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(code, Some(70));
}

/// What the second engine reads is not what was written: it stops, and whoever goes on as if nothing were has no snapshots and no
/// history from there on. The exchange is halted between an answer and that engine's next look, and a bit of the command flipped.
#[test]
fn a_second_engine_that_stops_lets_only_cancels_in() {
    let folder = Folder::new("follower");
    let (mut running, address, _) = started(&folder.0, |command| {
        command.env("RINGSIDE_STORAGE", "direct").env("RINGSIDE_SEGMENT_LEN", "8MiB");
    });
    let [_, buyer] = trade(&address);
    let headers = [buyer.as_str(), "Content-Type: application/json"];
    let order = json!({"symbol": "DFUSDT", "side": "buy", "type": "limit", "price": "0.1", "quantity": "10"});
    let place = || request(&address, "POST", "/api/v1/spot/orders", &headers, &order.to_string());
    let signal = |name: &str| {
        let id = running.0.id().to_string();
        assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
    };
    let mut resting = Vec::new();
    let refusal = 'flipped: loop {
        let segment = files(&folder.0, ".journal").pop().unwrap();
        let bytes = std::fs::read(&segment).unwrap();
        let end = bytes.iter().rposition(|byte| *byte != 0).unwrap().next_multiple_of(4096) as u64;
        let (status, answer) = place();
        signal("-STOP");
        assert_eq!(status, 200, "{answer}");
        let id = serde_json::from_str::<Value>(&answer).unwrap()["id"].as_str().unwrap().to_owned();
        resting.push(id);
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&segment).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, end + 70).unwrap();
        file.write_all_at(&[byte[0] ^ 1], end + 70).unwrap();
        file.sync_all().unwrap();
        signal("-CONT");
        // Unless that engine was there before.
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_millis(500) {
            let (status, answer) = place();
            if status != 200 {
                break 'flipped (status, answer);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(resting.len() < 20, "it has not been met in its sleep");
    };
    assert!(refusal.0 == 503 && refusal.1.contains("ENGINE_BUSY"), "{refusal:?}");
    for id in resting {
        let (status, answer) =
            request(&address, "DELETE", &format!("/api/v1/spot/orders/{id}"), &headers, "");
        assert_eq!(status, 200, "{answer}");
    }
    assert_eq!(place().0, 503, "until the next start");
    assert!(running.0.try_wait().unwrap().is_none(), "it goes on");
}

#[test]
fn connections_leave_descriptors_to_the_journal() {
    let folder = Folder::new("descriptors");
    let (mut child, address, _) = started(&folder.0, |command| {
        command.env("RINGSIDE_SEGMENT_LEN", "16KiB").env("RINGSIDE_SNAPSHOT_INTERVAL", "1s");
        limited(command, "ulimit -n 400");
    });
    let [_, buyer] = trade(&address);
    // Far more than it has descriptors for, each kept.
    let mut held = Vec::new();
    for _ in 0..600 {
        let Ok(mut stream) = TcpStream::connect(&address) else { continue };
        stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let asked = stream.write_all(b"GET /api/v1/spot/health HTTP/1.1\r\nHost: test\r\n\r\n");
        if asked.is_ok() && stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {
            held.push(stream);
        }
    }
    assert_eq!(held.len(), 144, "what 256 of its own leave");
    held.pop();
    // Segments are begun and snapshots made as if nobody else were there.
    let newest = || {
        let names = std::fs::read_dir(folder.0.join("journal")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".snapshot")).max()
    };
    let (before, until) = (newest(), Instant::now() + Duration::from_secs(5));
    let order =
        json!({"symbol": "DFUSDT", "side": "buy", "type": "limit", "price": "0.15", "quantity": "10"});
    while Instant::now() < until {
        // The place of the connection before may not be free yet.
        let _ = try_request(&address, "POST", "/api/v1/spot/orders", &[&buyer], &order.to_string());
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(newest() > before, "no snapshot since {before:?}");
    assert!(child.0.try_wait().unwrap().is_none(), "it goes on");
    drop(held);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(request(&address, "GET", "/api/v1/spot/balances", &[&buyer], "").0, 200);
    stop(child);
}
