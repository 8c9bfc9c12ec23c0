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
