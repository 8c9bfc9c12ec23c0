//! A first start: cut off, or in a folder that others may read.

use crate::process::{
    Folder, address, get, request, ringside, said, signed, start_logged, started, stop, trade, try_signed,
};
use ringside_auth::test_wallet::TEST_WALLETS;
use serde_json::{Value, json};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

#[test]
fn killed_at_any_moment_of_its_first_start_it_is_open_after_the_next() {
    let folder = Folder::new("first-start");
    let begin = Instant::now();
    drop(started(&folder.0.join("whole"), |_| ()));
    let whole = begin.elapsed();
    for part in 1..=12 {
        let folder = folder.0.join(part.to_string());
        let mut child = ringside(&folder).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(whole * part / 12);
        child.kill().unwrap();
        child.wait().unwrap();
        let (_running, address, said) = started(&folder, |_| ());
        let info: Value = serde_json::from_str(&get(&address, "/fapi/v1/exchangeInfo", &[])).unwrap();
        let states: Vec<_> = info["symbols"].as_array().unwrap().iter().map(|of| &of["status"]).collect();
        assert_eq!(states, ["TRADING"; 3], "killed after {:?}:\n{said}", whole * part / 12);
    }
}

/// Where synced bytes are not known to stay, a test deployment says so and starts, and production is refused.
#[test]
fn a_file_system_that_is_not_known_is_for_tests_alone() {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        eprintln!("skipped: there is no /dev/shm");
        return;
    }
    let folder = Folder(memory.join(format!("ringside-first-start-{}", std::process::id())));
    let _ = std::fs::remove_dir_all(&folder.0);
    std::fs::create_dir(&folder.0).unwrap();
    let path = folder.0.join("log");
    let log = std::fs::File::create(&path).unwrap();
    let (child, told) = start_logged(&folder.0, log.into(), |command| {
        command.env_remove("RINGSIDE_ANY_FILE_SYSTEM");
    });
    get(&address(&told, "running on"), "/readyz", &[]);
    stop(child);
    let log = std::fs::read_to_string(path).unwrap();
    assert!(log.contains("not known to keep what it synced") && log.contains("tmpfs"), "{log}");

    let mut production = ringside(&folder.0);
    production.env_remove("RINGSIDE_ANY_FILE_SYSTEM").env("RINGSIDE_TEST_DEPLOYMENT", "false");
    let output = production.output().unwrap();
    assert!(!output.status.success() && said(&output).contains("tmpfs"), "{}", said(&output));
}

/// C-38: a folder that an operator made for all, and an archive of an earlier build.
#[test]
fn others_are_let_into_nothing() {
    let folder = Folder::new("lets-in");
    let let_in = |path: &Path, mode| std::fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let others = |path: &Path| {
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        mode & 0o077
    };
    let_in(&folder.0, 0o755);
    let (child, address, _) = started(&folder.0, |_| ());
    trade(&address);
    stop(child);
    let archive = folder.0.join("archive/history.db");
    for path in [&folder.0, &archive] {
        assert_eq!(others(path), 0, "{}", path.display());
    }
    let_in(&folder.0, 0o750);
    let_in(&archive, 0o644);
    let (child, _, _) = started(&folder.0, |_| ());
    let all = [
        folder.0.clone(),
        archive.clone(),
        archive.with_extension("db-wal"),
        archive.with_extension("db-shm"),
    ];
    for path in all {
        assert_eq!(others(&path), 0, "{}", path.display());
    }
    stop(child);
}

#[test]
fn known_keys_open_funded_accounts_of_a_test_deployment_and_nothing_of_production() {
    let folder = Folder::new("known-keys");
    let wallet = &TEST_WALLETS[1];
    let key = json!({"api_key": wallet.api_key(), "api_secret": wallet.key()});
    let begin = |is_test: &'static str| {
        started(&folder.0, |command| {
            command.env("RINGSIDE_TEST_ACCOUNTS", "2").env("RINGSIDE_TEST_DEPLOYMENT", is_test);
        })
    };
    let login = |address: &str| {
        let mut command = ringside(&folder.0);
        command.args(["login", "--url", &format!("http://{address}"), "--key", wallet.key()]);
        command.output().unwrap()
    };
    let margin = |address: &str| {
        let rows = signed(address, "GET", "/fapi/v2/balance", &key, "recvWindow=5000");
        rows[0]["balance"].as_str().unwrap().parse::<f64>().unwrap()
    };
    let mut token = String::new();
    for times in 0..2 {
        let (child, address, told) = begin("true");
        let shown = told.lines().filter(|line| line.ends_with(wallet.key())).count();
        assert_eq!((shown, told.matches(TEST_WALLETS[2].key()).count()), (1, 0), "{told}");
        assert_eq!(margin(&address), 10_000.0, "given once, start {times}");
        token = format!("Authorization: Bearer {}", said(&login(&address)).trim());
        assert_eq!(request(&address, "GET", "/api/v1/spot/balances", &[&token], "").0, 200);
        stop(child);
    }
    let (child, address, told) = begin("false");
    assert!(!told.contains(wallet.key()) && told.contains("a production deployment"), "{told}");
    let (status, answer) = try_signed(&address, "GET", "/fapi/v2/balance", &key, "recvWindow=5000");
    assert_eq!((status, &answer["code"]), (401, &json!(-2015)));
    let unsigned = format!("X-API-Key: {}", wallet.api_key());
    for header in [token, unsigned] {
        assert_eq!(request(&address, "GET", "/api/v1/spot/balances", &[&header], "").0, 401, "{header}");
    }
    let output = login(&address);
    assert!(!output.status.success() && said(&output).contains("SIGNATURE_INVALID"), "{}", said(&output));
    stop(child);
}

#[test]
fn a_demo_in_a_new_folder_has_a_past_that_its_journal_holds() {
    let folder = Folder::new("demo");
    let data = folder.0.join("data");
    let log = folder.0.join("log");
    let candles = |address: &str, path: &str| -> Vec<Value> {
        let path = format!("{path}&interval=1h&limit=20");
        serde_json::from_str(&get(address, &path, &[])).unwrap()
    };
    let file = std::fs::File::create(&log).unwrap();
    let (child, told) = start_logged(&data, file.into(), |command| {
        command.arg("demo");
    });
    let of_demo = address(&told, "running on");
    let (spot, futures) = (
        "/api/v1/spot/klines?symbol=DFUSDT",
        ["BTC", "ETH", "SOL"].map(|base| format!("/fapi/v1/klines?symbol={base}USDT")),
    );
    let paths: Vec<&str> = futures.iter().map(String::as_str).chain([spot]).collect();
    let before: Vec<_> = paths.iter().map(|path| candles(&of_demo, path)).collect();
    for (path, rows) in paths.iter().zip(&before) {
        assert!(rows.len() >= 12, "{path}: {rows:?}");
        let volume = |row: &Value| row[5].as_str().unwrap().parse::<f64>().unwrap();
        assert!(rows.iter().rev().skip(1).all(|row| volume(row) > 0.0), "{path}: {rows:?}");
    }
    stop(child);
    let told = std::fs::read_to_string(&log).unwrap();
    assert!(!told.contains("refused"), "{told}");
    // Started again without the traders: what was shown was history.
    let (child, of_start, _) = started(&data, |_| ());
    for (path, rows) in paths.iter().zip(&before) {
        let now = candles(&of_start, path);
        assert_eq!(now[..11], rows[..11], "{path}");
    }
    stop(child);
}
