//! Where secrets are not: logs, journal, snapshots, figures, archive, core dumps. And another key-encryption key.

use crate::process::{
    ADMIN_KEY, Folder, get, limited, log_in, post, request, ringside, said, start_with, stop, trade,
};
use serde_json::json;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

const JWT_SECRET: &str = "canary-of-login-tokens-0123456789abcdef";
const SEALING_KEY: &str = "c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00";

/// Every file below a folder that holds one of the texts, or their bytes where they are hex.
fn found_in(folder: &Path, secrets: &[(&str, Vec<u8>)]) -> Vec<String> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(found_in(&path, secrets));
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        for (name, secret) in secrets {
            if contains(&bytes, secret) {
                found.push(format!("{name} in {}", path.display()));
            }
        }
    }
    found
}

fn contains(bytes: &[u8], secret: &[u8]) -> bool {
    // Two bytes first: a segment has 64 MiB, nearly all zeros.
    let starts = bytes.windows(2).enumerate().filter(|(_, two)| *two == &secret[..2]);
    starts.map(|(at, _)| at).any(|at| bytes[at..].starts_with(secret))
}

#[test]
fn no_secret_is_found_anywhere() {
    let folder = Folder::new("canary");
    let (data, log) = (folder.0.join("data"), folder.0.join("log"));
    let configure = |command: &mut Command| {
        command
            .env("RINGSIDE_ADMIN_KEY", ADMIN_KEY)
            .env("RINGSIDE_JWT_SECRET", JWT_SECRET)
            .env("RINGSIDE_KEY_ENCRYPTION_KEY", SEALING_KEY)
            .env("RINGSIDE_METRICS_LISTEN", "127.0.0.1:0")
            .env("RINGSIDE_SEGMENT_LEN", "1MiB")
            .env("RINGSIDE_SNAPSHOT_INTERVAL", "1s")
            .env("RINGSIDE_LOG", "trace");
    };
    let log_file = || Stdio::from(std::fs::File::options().create(true).append(true).open(&log).unwrap());
    let start = || {
        let (child, said) = crate::process::start_logged(&data, log_file(), configure);
        let address = crate::process::address(&said, "running on");
        (child, address, said)
    };
    let (child, address, said) = start();
    let [trader, _] = trade(&address);
    let key = post(
        &address,
        "/api/v1/account/api-keys",
        &trader,
        &json!({"label": "canary", "permissions": ["read", "trade"]}),
    );
    let text = |name: &str| key[name].as_str().unwrap_or_else(|| panic!("{name} of {key}")).to_owned();
    let (api_key, api_secret) = (text("api_key"), text("api_secret"));
    let header = format!("X-EX-APIKEY: {api_key}");
    let listen = request(&address, "POST", "/fapi/v1/listenKey", &[&format!("X-MBX-APIKEY: {api_key}")], "");
    let listen: serde_json::Value = serde_json::from_str(&listen.1).unwrap();
    let listen_key = listen["listenKey"].as_str().unwrap_or_else(|| panic!("{listen}")).to_owned();
    // Used, and used wrongly.
    get(&address, "/api/v1/spot/balances", &[&format!("X-API-Key: {api_key}")]);
    for path in ["/fapi/v2/balance?timestamp=1&signature=00", "/fapi/v2/balance"] {
        assert!(request(&address, "GET", path, &[&header], "").0 >= 400);
    }
    let figures = crate::process::address(&said, "figures");
    let pages =
        get(&figures, "/metrics", &[]) + &get(&address, "/metrics", &[&format!("X-API-Key: {ADMIN_KEY}")]);
    // A second run reads everything back.
    stop(child);
    let (child, again, said_again) = start();
    get(&again, "/api/v1/spot/balances", &[&format!("X-API-Key: {api_key}")]);
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    stop(child);

    let token = trader.strip_prefix("Authorization: Bearer ").unwrap();
    let mut secrets: Vec<(&str, Vec<u8>)> = [
        ("the administrator's key", ADMIN_KEY),
        ("the secret of login tokens", JWT_SECRET),
        ("the key-encryption key", SEALING_KEY),
        ("an API key", &api_key),
        ("its secret", &api_secret),
        ("a listen key", &listen_key),
        ("a login token", token),
    ]
    .map(|(name, secret)| (name, secret.as_bytes().to_vec()))
    .to_vec();
    for (name, hex) in [("bytes of the key-encryption key", SEALING_KEY), ("bytes of a secret", &api_secret)]
    {
        if let Ok(bytes) = const_hex::decode(hex) {
            secrets.push((name, bytes));
        }
    }
    // The search finds what is there.
    let bait = folder.0.join("bait");
    std::fs::create_dir(&bait).unwrap();
    std::fs::write(bait.join("file"), format!("...{api_secret}...")).unwrap();
    assert_eq!(found_in(&bait, &secrets).len(), 1);
    assert_eq!(found_in(&data, &secrets), [""; 0]);
    let told = std::fs::read(&log).unwrap();
    assert!(contains(&told, b"stopping"), "the log holds what was logged");
    for (name, secret) in &secrets {
        assert!(!contains(&told, secret), "{name} in the log");
        assert!(!contains(pages.as_bytes(), secret), "{name} in the figures");
        assert!(!contains((said.clone() + &said_again).as_bytes(), secret), "{name} in what is printed");
    }
}

/// Ends the exchange by an abort in a folder where core dumps may be written; whether the kernel made one.
fn dumps(folder: &Path, allowed: bool) -> bool {
    let (mut child, _) = start_with(&folder.join("data"), |command| {
        command.current_dir(folder).env("RINGSIDE_CORE_DUMPS", allowed.to_string());
        // As high as this system lets it be; the exchange lowers it for itself.
        limited(command, "ulimit -c unlimited");
    });
    assert!(Command::new("kill").args(["-ABRT", &child.0.id().to_string()]).status().unwrap().success());
    let status = child.0.wait().unwrap();
    assert_eq!(status.signal(), Some(6));
    status.core_dumped()
}

#[test]
fn an_abort_leaves_no_memory_behind() {
    let folder = Folder::new("core-dump");
    assert!(!dumps(&folder.0, false), "memory, with secrets in it, was written to the disk");
    let left = std::fs::read_dir(&folder.0).unwrap().filter(|entry| {
        entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().starts_with("core"))
    });
    assert_eq!(left.count(), 0);
    // Allowed, it is written, where this system writes any: the test above can fail.
    if !dumps(&folder.0, true) {
        eprintln!("skipped: this system writes no core dumps at all");
    }
}

#[test]
fn another_key_encryption_key_is_taken_and_an_interrupted_change_finished() {
    let folder = Folder::new("rotation");
    let start = || {
        start_with(&folder.0, |command| {
            command.env("RINGSIDE_ADMIN_KEY", ADMIN_KEY);
        })
    };
    let rotate = || ringside(&folder.0).arg("rotate-key").output().unwrap();
    let (child, said_first) = start();
    let address = crate::process::address(&said_first, "running on");
    let token = log_in(&address, 2);
    let key =
        post(&address, "/api/v1/account/api-keys", &token, &json!({"label": "old", "permissions": ["read"]}));
    let header = format!("X-API-Key: {}", key["api_key"].as_str().unwrap());
    let running = rotate();
    assert!(!running.status.success() && said(&running).contains("in use"), "{}", said(&running));
    stop(child);

    let auth = folder.0.join("auth");
    let read = |name: &str| std::fs::read(auth.join(name)).unwrap();
    let old_key = read("key_encryption_key");
    let done = rotate();
    assert!(done.status.success() && said(&done).contains("1 sealed anew"), "{}", said(&done));
    let new_key = read("key_encryption_key");
    assert!(new_key != old_key && !auth.join("key_encryption_key.next").exists());

    // Killed after the keys were sealed anew and before the new key took its place.
    std::fs::write(auth.join("key_encryption_key.next"), &new_key).unwrap();
    std::fs::write(auth.join("key_encryption_key"), &old_key).unwrap();
    for name in ["key_encryption_key.next", "key_encryption_key"] {
        let only_owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
        std::fs::set_permissions(auth.join(name), only_owner).unwrap();
    }
    let refused = ringside(&folder.0).output().unwrap();
    assert!(!refused.status.success() && said(&refused).contains("rotate-key"), "{}", said(&refused));
    let finished = rotate();
    assert!(finished.status.success() && said(&finished).contains("1 before"), "{}", said(&finished));
    assert_eq!(read("key_encryption_key"), new_key);

    let (child, said_again) = start();
    let address = crate::process::address(&said_again, "running on");
    get(&address, "/api/v1/spot/balances", &[&header]);
    stop(child);

    // A key that the environment gives is changed for another that it gives.
    std::fs::write(auth.join("key_encryption_key"), &old_key).unwrap();
    let hex = |key: &[u8]| String::from_utf8(key.trim_ascii().to_vec()).unwrap();
    let mut command = ringside(&folder.0);
    command.arg("rotate-key").env("RINGSIDE_KEY_ENCRYPTION_KEY", hex(&new_key));
    let missing = command.output().unwrap();
    assert!(!missing.status.success(), "{}", said(&missing));
    let done = command.env("RINGSIDE_NEW_KEY_ENCRYPTION_KEY", SEALING_KEY).output().unwrap();
    assert!(done.status.success(), "{}", said(&done));
    let (child, said_last) = start_with(&folder.0, |command| {
        command.env("RINGSIDE_ADMIN_KEY", ADMIN_KEY).env("RINGSIDE_KEY_ENCRYPTION_KEY", SEALING_KEY);
    });
    get(&crate::process::address(&said_last, "running on"), "/api/v1/spot/balances", &[&header]);
    stop(child);
    assert!(!said(&done).contains(SEALING_KEY));
}
