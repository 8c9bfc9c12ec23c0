//! Copies of a running exchange, and data folders made of them.

use crate::process::{ADMIN_KEY, Folder, log_in, post, request, ringside, said, started, stop, trade};
use ringside_core::engine::ENGINE_VERSION;
use ringside_persist::format::segment::{DATA_START, SegmentHeader};
use ringside_persist::storage::BLOCK_LEN;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn tool(folder: &Path, arguments: &[&str]) -> Output {
    ringside(folder).args(arguments).output().unwrap()
}

/// A tool that must succeed; what it said.
fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = tool(folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    said(&output)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Sequence and state hash after a command, by replay of the folder's journal; the last command where none is named.
fn state(folder: &Path, sequence: Option<u64>) -> (u64, String) {
    let sequence = sequence.map(|sequence| sequence.to_string());
    let mut arguments = vec!["inspect", text(folder), "--state", "--json"];
    arguments.extend(sequence.as_deref().map(|sequence| ["--sequence", sequence]).into_iter().flatten());
    let shown: Value = serde_json::from_str(&run(folder, &arguments)).unwrap();
    let state = &shown["state"];
    (state["sequence"].as_u64().unwrap(), state["hash"].as_str().unwrap().to_owned())
}

fn order(address: &str, trader: &str, price: &str) -> u16 {
    let order = json!({"symbol": "DFUSDT", "side": "buy", "type": "limit", "price": price, "quantity": "10"});
    request(address, "POST", "/api/v1/spot/orders", &[trader], &order.to_string()).0
}

/// Small segments and snapshots every second, so that a few seconds have several of each.
fn small(command: &mut Command) {
    command.env("RINGSIDE_SEGMENT_LEN", "64KiB").env("RINGSIDE_SNAPSHOT_INTERVAL", "1s");
}

/// Copies leave out the secrets, which an operator keeps elsewhere.
fn bring_secrets(from: &Path, to: &Path) {
    for name in ["admin_key", "jwt_secret", "key_encryption_key"] {
        let _ = std::fs::copy(from.join("auth").join(name), to.join("auth").join(name));
    }
}

fn manifest(copy: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(copy.join("MANIFEST.json")).unwrap()).unwrap()
}

/// Every file of a journal.
fn journal(data: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(data.join("journal")).unwrap().map(|entry| entry.unwrap());
    let read = |entry: std::fs::DirEntry| {
        (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())
    };
    entries.map(read).collect()
}

/// Makes the journal one that the version before this wrote.
fn make_older(data: &Path) {
    for (name, mut bytes) in journal(data).into_iter().filter(|(name, _)| name.ends_with(".journal")) {
        let header = SegmentHeader::decode(&bytes[..BLOCK_LEN]).unwrap();
        assert_eq!(header.engine_version, ENGINE_VERSION);
        let header = SegmentHeader { engine_version: ENGINE_VERSION - 1, ..header };
        bytes[..DATA_START as usize].copy_from_slice(&header.encode());
        std::fs::write(data.join("journal").join(name), bytes).unwrap();
    }
}

/// Puts the archive of another folder in place.
fn put_archive(from: &Path, data: &Path) {
    let archive = data.join("archive");
    std::fs::remove_dir_all(&archive).unwrap();
    std::fs::create_dir(&archive).unwrap();
    std::fs::copy(from.join("archive/history.db"), archive.join("history.db")).unwrap();
}

#[test]
fn a_copy_of_a_running_exchange_is_that_exchange() {
    let folder = Folder::new("backup");
    let data = folder.0.join("data");
    let (child, address, _) = started(&data, small);
    let [seller, buyer] = trade(&address);
    let key = post(
        &address,
        "/api/v1/account/api-keys",
        &seller,
        &json!({"label": "kept", "permissions": ["read"]}),
    );
    let key = format!("X-API-Key: {}", key["api_key"].as_str().unwrap_or_else(|| panic!("{key}")));
    // Traffic while it is copied.
    let copy = folder.0.join("copy");
    let copied = std::thread::scope(|scope| {
        let copying = scope.spawn(|| run(&data, &["backup", text(&data), text(&copy)]));
        let mut is_looked_at = false;
        while !copying.is_finished() {
            order(&address, &buyer, "0.15");
            if !std::mem::replace(&mut is_looked_at, true) {
                assert!(state(&data, None).0 > 9, "a running exchange can be looked into");
            }
        }
        copying.join().unwrap()
    });
    assert!(copied.contains("without its secrets"), "{copied}");
    assert!(!copy.join("auth/key_encryption_key").exists());
    stop(child);

    let restored = folder.0.join("restored");
    run(&data, &["restore", text(&copy), "--to", text(&restored), "--enable-keys"]);
    let (sequence, hash) = state(&restored, None);
    assert!(sequence > 9);
    assert_eq!(state(&data, Some(sequence)), (sequence, hash), "the same state as the original had there");
    // A second restore over it is refused, and so is one of a copy that was changed.
    assert!(!tool(&data, &["restore", text(&copy), "--to", text(&restored)]).status.success());

    bring_secrets(&data, &restored);
    let (child, address, _) = started(&restored, small);
    let (status, balances) = request(&address, "GET", "/api/v1/spot/balances", &[&key], "");
    assert_eq!(status, 200, "the key is known: {balances}");
    assert!(balances.contains("\"DF\""), "{balances}");
    let (status, trades) = request(&address, "GET", "/api/v1/spot/trades/me", &[&key], "");
    assert_eq!((status, serde_json::from_str::<Value>(&trades).unwrap().as_array().unwrap().len()), (200, 1));
    stop(child);

    let segment = std::fs::read_dir(copy.join("journal")).unwrap().map(|entry| entry.unwrap().path());
    let segment =
        segment.filter(|path| path.extension().is_some_and(|ending| ending == "journal")).max().unwrap();
    let mut bytes = std::fs::read(&segment).unwrap();
    bytes[9_000] ^= 1;
    std::fs::write(&segment, bytes).unwrap();
    let refused = tool(&data, &["restore", text(&copy), "--to", text(&folder.0.join("other"))]);
    assert!(!refused.status.success());
    assert!(said(&refused).contains("is not what was copied"), "{}", said(&refused));
    assert!(!folder.0.join("other").exists());
}

/// Four clients, each an order every 8 ms, until it is over; gives how many were acknowledged. Each sale is bought at once.
fn keep_trading(address: &str, [seller, buyer]: &[String; 2], is_over: &AtomicBool) -> u64 {
    let trade = || {
        let mut acknowledged = 0;
        let mut due = Instant::now();
        while !is_over.load(Ordering::Relaxed) {
            for (trader, side) in [(seller, "sell"), (buyer, "buy")] {
                let order = json!({
                    "symbol": "DFUSDT", "side": side, "type": "limit", "price": "0.2", "quantity": "10",
                });
                post(address, "/api/v1/spot/orders", trader, &order);
                acknowledged += 1;
                due += Duration::from_millis(8);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        }
        acknowledged
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..4).map(|_| scope.spawn(trade)).collect();
        clients.into_iter().map(|client| client.join().unwrap()).sum()
    })
}

/// In both storages and both modes: what is being written is not judged, and a copy is the exchange as it was. RINGSIDE_LOOKS says
/// how often each; `scripts/nightly.sh` has a hundred.
#[test]
fn a_busy_exchange_is_copied_verified_and_inspected() {
    let looks = std::env::var("RINGSIDE_LOOKS").map_or(6, |looks| looks.parse().unwrap());
    for [acknowledge, storage] in [["durable", "direct"], ["durable", "mapped"], ["written", "mapped"]] {
        let folder = Folder::new(&format!("busy-{acknowledge}-{storage}"));
        let data = folder.0.join("data");
        let (child, address, _) = started(&data, |command| {
            command
                .env("RINGSIDE_ACKNOWLEDGE", acknowledge)
                .env("RINGSIDE_STORAGE", storage)
                .env("RINGSIDE_SEGMENT_LEN", "256KiB")
                .env("RINGSIDE_SNAPSHOT_INTERVAL", "5s")
                .env("RINGSIDE_WEIGHT_PER_MINUTE", "10000000")
                .env("RINGSIDE_ORDERS_PER_TEN_SECONDS", "10000000")
                .env("RINGSIDE_ORDERS_PER_MINUTE", "10000000");
        });
        let traders = trade(&address);
        let admin = format!("X-API-Key: {ADMIN_KEY}");
        for (wallet, token) in [
            ("0x2b5ad5c4795c026514f8317c7a215e218dccd6cf", "DF"),
            ("0x6813eb9362372eef6200f3b1dbc3f819671cba69", "USDT"),
        ] {
            let credit = json!({"user_address": wallet, "token": token, "amount": "100000000"});
            post(&address, "/api/v1/admin/spot/balances/credit", &admin, &credit);
        }
        let is_over = AtomicBool::new(false);
        let (looked, acknowledged, took) = std::thread::scope(|scope| {
            let trading = scope.spawn(|| keep_trading(&address, &traders, &is_over));
            let begun = Instant::now();
            let look = |look: u32| {
                let (copy, restored) = (folder.0.join("copy"), folder.0.join("restored"));
                run(&data, &["backup", text(&data), text(&copy)]);
                let told = run(&data, &["verify", text(&data)]);
                assert!(told.contains("an engine is running here"), "{look}: {told}");
                assert!(state(&data, None).0 >= manifest(&copy)["sequence"].as_u64().unwrap());
                run(&data, &["restore", text(&copy), "--to", text(&restored)]);
                let copied = state(&restored, None);
                assert_eq!(
                    state(&data, Some(copied.0)),
                    copied,
                    "{look}: the exchange had another state there"
                );
                [copy, restored].iter().for_each(|folder| std::fs::remove_dir_all(folder).unwrap());
            };
            // Whatever a look fails with, the clients must end.
            let looked = std::panic::catch_unwind(AssertUnwindSafe(|| (0..looks).for_each(look)));
            let took = begun.elapsed();
            is_over.store(true, Ordering::Relaxed);
            (looked, trading.join().unwrap(), took)
        });
        looked.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let rate = acknowledged as f64 / took.as_secs_f64();
        eprintln!(
            "{acknowledge}, {storage}: {looks} looks of each kind in {took:.1?}, {rate:.0} orders a second"
        );
        assert!(rate > 50.0, "too quiet to show anything: {rate} orders a second");
        stop(child);
    }
}

#[test]
fn an_old_copy_and_a_later_one_reach_every_command_between() {
    let folder = Folder::new("point-in-time");
    let data = folder.0.join("data");
    // Segments are kept for longer than the time between the copies, so that these overlap.
    let start = || {
        started(&data, |command| {
            small(command);
            command.env("RINGSIDE_SNAPSHOTS_KEPT", "100");
        })
    };
    let (child, address, _) = start();
    let [_, buyer] = trade(&address);
    let (old, new) = (folder.0.join("old"), folder.0.join("new"));
    run(&data, &["backup", text(&data), text(&old)]);
    // A wallet that the old copy does not know, with a key of its own.
    let late = log_in(&address, 4);
    post(&address, "/api/v1/account/api-keys", &late, &json!({"label": "late", "permissions": ["read"]}));
    let until = Instant::now() + Duration::from_secs(3);
    while Instant::now() < until {
        assert_eq!(order(&address, &buyer, "0.15"), 200);
        std::thread::sleep(Duration::from_millis(20));
    }
    run(&data, &["backup", text(&data), text(&new)]);
    stop(child);
    let (first, last) =
        (manifest(&old)["sequence"].as_u64().unwrap(), manifest(&new)["sequence"].as_u64().unwrap());
    assert!(last > first + 50, "{first} to {last}");
    for (index, sequence) in [first, (first + last) / 2, last - 1, last].into_iter().enumerate() {
        let restored = folder.0.join(format!("restored-{index}"));
        let wanted = sequence.to_string();
        let told =
            run(&data, &["restore", text(&old), text(&new), "--to", text(&restored), "--sequence", &wanted]);
        // Credentials are those of that command: of one that came later there is nothing to leave out, unless newer ones are taken.
        assert!(!told.contains("left out"), "{told}");
        let newer = folder.0.join(format!("restored-{index}-newer"));
        let (auth, to) = (data.join("auth"), text(&newer));
        let told = run(
            &data,
            &["restore", text(&old), text(&new), "--to", to, "--sequence", &wanted, "--auth", text(&auth)],
        );
        assert_eq!(told.contains("1 API keys left out"), index == 0, "{told}");
        assert_eq!(state(&restored, None), state(&data, Some(sequence)));
        if index == 1 {
            // It starts, and goes on from there.
            bring_secrets(&data, &restored);
            let (child, address, _) = started(&restored, small);
            assert_eq!(order(&address, &log_in(&address, 3), "0.15"), 200);
            stop(child);
            assert!(state(&restored, None).0 > sequence);
        }
    }
    // By time: the last command not after it.
    let middle: Value = serde_json::from_str(&run(
        &data,
        &["inspect", text(&data), "--json", "--sequence", &((first + last) / 2).to_string()],
    ))
    .unwrap();
    let time_ms = middle["commands"][0]["time_ns"].as_i64().unwrap() / 1_000_000;
    let restored = folder.0.join("restored-time");
    let wanted = time_ms.to_string();
    run(&data, &["restore", text(&old), text(&new), "--to", text(&restored), "--time", &wanted]);
    let (sequence, hash) = state(&restored, None);
    assert!(sequence >= (first + last) / 2 && sequence < last);
    assert_eq!(state(&data, Some(sequence)).1, hash);
    // The last millisecond of a copy is its end; later ones are its end too, with a word about it.
    for (after_ms, is_beyond) in [(0, false), (60_000, true)] {
        let restored = folder.0.join(format!("restored-late-{after_ms}"));
        let wanted = (manifest(&new)["time_ms"].as_i64().unwrap() + after_ms).to_string();
        let told = run(&data, &["restore", text(&new), "--to", text(&restored), "--time", &wanted]);
        assert_eq!(told.contains("end before the time asked for"), is_beyond, "{told}");
        assert_eq!(state(&restored, None), state(&data, Some(last)));
    }
    // Before the first command there is nothing to restore, whoever meant seconds or another copy.
    let first: Value =
        serde_json::from_str(&run(&data, &["inspect", text(&data), "--json", "--sequence", "1"])).unwrap();
    let first_ms = first["commands"][0]["time_ns"].as_i64().unwrap() / 1_000_000;
    let nowhere = folder.0.join("nowhere");
    for early_ms in [first_ms - 1, first_ms / 1_000, 0] {
        let wanted = early_ms.to_string();
        let refused = tool(&data, &["restore", text(&old), "--to", text(&nowhere), "--time", &wanted]);
        let said = said(&refused);
        assert!(!refused.status.success() && !nowhere.exists(), "{said}");
        assert!(said.contains(&format!("the first is of {first_ms} ms")), "{said}");
    }
    let refused = tool(&data, &["restore", text(&old), "--to", text(&nowhere), "--sequence", "0"]);
    assert!(!refused.status.success() && !nowhere.exists(), "{}", said(&refused));
    // What no copy reaches is refused, and nothing is left of the attempt.
    let beyond = (last + 1).to_string();
    let refused =
        tool(&data, &["restore", text(&old), text(&new), "--to", text(&nowhere), "--sequence", &beyond]);
    assert!(!refused.status.success() && !nowhere.exists(), "{}", said(&refused));
}

/// What was revoked after a copy: a key, a login, an operator. Whoever holds them must not be let in again by a restore.
#[test]
fn what_was_revoked_after_a_copy_opens_nothing_after_its_restore() {
    let folder = Folder::new("revoked");
    let data = folder.0.join("data");
    let (child, address, _) = started(&data, small);
    let [seller, buyer] = trade(&address);
    let make = |address: &str, login: &str, label: &str| {
        let key = post(
            address,
            "/api/v1/account/api-keys",
            login,
            &json!({"label": label, "permissions": ["read"]}),
        );
        let id = key["id"].to_string();
        (format!("X-API-Key: {}", key["api_key"].as_str().unwrap()), id.trim_matches('"').to_owned())
    };
    let ((deleted, deleted_id), (kept, kept_id)) =
        (make(&address, &seller, "deleted"), make(&address, &buyer, "kept"));
    let operator = run(&data, &["operator", "ann"]);
    let operator = operator.split_whitespace().find(|word| word.len() == 64).unwrap();
    let operator = format!("X-API-Key: {operator}");
    let opens = |address: &str, header: &str| {
        let path = if header == operator { "/admin/audit" } else { "/api/v1/spot/balances" };
        request(address, "GET", path, &[header], "").0 == 200
    };
    let all = [&deleted, &kept, &seller, &buyer, &operator];
    assert!(all.iter().all(|header| opens(&address, header)));
    let copy = folder.0.join("copy");
    run(&data, &["backup", text(&data), text(&copy)]);

    let path = format!("/api/v1/account/api-keys/{deleted_id}");
    assert_eq!(request(&address, "DELETE", &path, &[&seller], "").0, 200);
    assert_eq!(request(&address, "POST", "/api/v1/auth/logout", &[&seller], "").0, 200);
    run(&data, &["operator", "ann", "--remove"]);
    let good = [false, true, false, true, false];
    let expect = |address: &str, good: [bool; 5]| {
        for (header, good) in all.iter().zip(good) {
            assert_eq!(opens(address, header), good, "{header}");
        }
    };
    expect(&address, good);
    stop(child);
    let restore = |name: &str, arguments: &[&str]| {
        let restored = folder.0.join(name);
        let told = run(&data, &[&["restore", text(&copy), "--to", text(&restored)], arguments].concat());
        bring_secrets(&data, &restored);
        (restored, told)
    };

    // By itself: nothing opens until its owner says so, and the restore says that.
    let (restored, told) = restore("ended", &[]);
    assert!(told.contains("2 API keys are disabled") && told.contains("--enable-keys"), "{told}");
    let (child, address, _) = started(&restored, small);
    expect(&address, [false; 5]);
    let buyer_again = log_in(&address, 3);
    let path = format!("/api/v1/account/api-keys/{kept_id}");
    let (status, answer) = request(
        &address,
        "PATCH",
        &path,
        &[&buyer_again, "Content-Type: application/json"],
        &json!({"enabled": true}).to_string(),
    );
    assert_eq!(status, 200, "{answer}");
    expect(&address, [false, true, false, false, false]);
    stop(child);

    // With the newer folder: as it was left. An older one is none.
    let auth = data.join("auth");
    let (restored, told) = restore("newer", &["--auth", text(&auth)]);
    assert!(told.contains("1 API keys") && told.contains(text(&auth)), "{told}");
    let (child, address, _) = started(&restored, small);
    expect(&address, good);
    // More keys than that folder knows.
    make(&address, &buyer, "later");
    let later = folder.0.join("later");
    run(&data, &["backup", text(&restored), text(&later)]);
    stop(child);
    let nowhere = folder.0.join("nowhere");
    let refused = tool(&data, &["restore", text(&later), "--to", text(&nowhere), "--auth", text(&auth)]);
    let told = said(&refused);
    assert!(!refused.status.success() && !nowhere.exists() && told.contains("it is older"), "{told}");

    // And as the copy has it, for whoever knows that nothing was revoked.
    let (restored, told) = restore("as-copied", &["--enable-keys"]);
    assert!(told.contains("2 API keys") && told.contains("is good again"), "{told}");
    let (child, address, _) = started(&restored, small);
    expect(&address, [true; 5]);
    stop(child);
}

#[test]
fn what_is_damaged_before_the_end_is_not_cut_off_as_if_it_were_the_end() {
    let folder = Folder::new("damaged");
    let data = folder.0.join("data");
    let (child, address, _) = started(&data, |_| ());
    let [_, buyer] = trade(&address);
    for _ in 0..5 {
        assert_eq!(order(&address, &buyer, "0.15"), 200);
    }
    drop(child);
    let copy = folder.0.join("copy");
    run(&data, &["backup", text(&data), text(&copy)]);
    let (name, mut bytes) = journal(&data).into_iter().rfind(|(name, _)| name.ends_with(".journal")).unwrap();
    bytes[DATA_START as usize + 200] ^= 1;
    std::fs::write(data.join("journal").join(&name), bytes).unwrap();
    let other = folder.0.join("other");
    let refused = tool(&data, &["backup", text(&data), text(&other)]);
    let told = said(&refused);
    assert!(!refused.status.success() && !other.exists(), "{told}");
    assert!(told.contains(&name), "{told}");
}

#[test]
fn an_interrupted_copy_bears_no_name() {
    let folder = Folder::new("interrupted");
    let data = folder.0.join("data");
    let (child, address, _) = started(&data, small);
    trade(&address);
    let copy = folder.0.join("copy");
    let mut was_cut = 0;
    // Killed a little later each time, until one gets through.
    for delay_ms in (0..).step_by(3) {
        let mut copying = ringside(&data);
        let copying =
            copying.args(["backup", text(&data), text(&copy)]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut copying = copying.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(delay_ms));
        copying.kill().unwrap();
        let is_done = copying.wait().unwrap().success();
        if copy.exists() {
            break;
        }
        assert!(!is_done);
        was_cut += 1;
        let partial = folder.0.join("copy.partial");
        if partial.exists() {
            let refused =
                tool(&data, &["restore", text(&partial), "--to", text(&folder.0.join("from-partial"))]);
            let is_refused = !refused.status.success() || partial.join("MANIFEST.json").exists();
            assert!(is_refused, "{}", said(&refused));
            let _ = std::fs::remove_dir_all(folder.0.join("from-partial"));
        }
        assert!(delay_ms < 10_000, "it never gets through");
    }
    assert!(was_cut > 0, "none was interrupted");
    stop(child);
    run(&data, &["restore", text(&copy), "--to", text(&folder.0.join("restored"))]);
}

/// The archive of one copy ends before a change of the engine's version, the journal goes on behind it.
#[test]
fn an_archive_from_before_a_change_of_the_engine_is_not_gone_on_with_behind_it() {
    let folder = Folder::new("version");
    let data = folder.0.join("data");
    let start = || {
        started(&data, |command| {
            small(command);
            command.env("RINGSIDE_SNAPSHOTS_KEPT", "100");
        })
    };
    let trade_on = |address: &str, trader: &str| {
        let until = Instant::now() + Duration::from_secs(3);
        while Instant::now() < until {
            assert_eq!(order(address, trader, "0.15"), 200);
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let (child, address, _) = start();
    let [_, buyer] = trade(&address);
    let (old, new, last) = (folder.0.join("old"), folder.0.join("new"), folder.0.join("last"));
    run(&data, &["backup", text(&data), text(&old)]);
    trade_on(&address, &buyer);
    stop(child);
    run(&data, &["backup", text(&data), text(&last)]);
    let boundary = manifest(&last)["archived"].as_u64().unwrap();
    make_older(&data);

    // With that archive the new version does not start, and it has written nothing: the old one could fill it.
    let refusal = format!("engine version {}, this is version {ENGINE_VERSION}", ENGINE_VERSION - 1);
    put_archive(&old, &data);
    let before = journal(&data);
    let refused = ringside(&data).env("RINGSIDE_ADMIN_KEY", ADMIN_KEY).output().unwrap();
    let told = said(&refused);
    assert!(!refused.status.success() && told.contains(&refusal), "{told}");
    assert!(told.contains(&format!("through {boundary}")), "{told}");
    assert!(journal(&data) == before, "a refusal writes nothing");

    // With the one that belongs to it, it does.
    put_archive(&last, &data);
    let (child, address, _) = start();
    trade_on(&address, &buyer);
    run(&data, &["backup", text(&data), text(&new)]);
    stop(child);
    assert!(manifest(&new)["archived"].as_u64().unwrap() > boundary + 1);

    let restored = folder.0.join("restored");
    run(&data, &["restore", text(&old), text(&new), "--to", text(&restored)]);
    let (early, wanted) = (folder.0.join("early"), (boundary + 1).to_string());
    let restore = |copies: &[&Path]| {
        let mut arguments = vec!["restore"];
        arguments.extend(copies.iter().map(|copy| text(copy)));
        arguments.extend(["--to", text(&early), "--sequence", &wanted]);
        tool(&data, &arguments)
    };
    let refused = restore(&[&old, &new]);
    let told = said(&refused);
    assert!(!refused.status.success() && !early.exists(), "{told}");
    assert!(told.contains(&refusal) && told.contains("name a copy"), "{told}");
    let done = restore(&[&old, &last, &new]);
    assert!(done.status.success(), "{}", said(&done));
}
