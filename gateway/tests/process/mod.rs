//! The real binary as a child process: started on a folder of its own, asked, stopped or killed.

#![allow(dead_code, reason = "each test program uses its own part")]

use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

/// The administrator's key of exchanges that [`started`] starts.
pub(crate) const ADMIN_KEY: &str = "the-admin-key-of-this-test";

/// A folder that goes with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The binary without settings of the environment.
fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringside"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("RINGSIDE_") {
            command.env_remove(name);
        }
    }
    command
}

/// The binary with settings of a test's own.
pub(crate) fn ringside(folder: &Path) -> Command {
    let mut command = binary();
    command
        .env("RINGSIDE_DATA_DIR", folder)
        .env("RINGSIDE_LISTEN", "127.0.0.1:0")
        .env("RINGSIDE_ANY_FILE_SYSTEM", "true")
        // Accounts are those that a test makes.
        .env("RINGSIDE_TEST_ACCOUNTS", "0")
        // A disk that others use too is slow now and then.
        .env("RINGSIDE_FLUSH_SHED", "30s");
    command
}

/// A child that does not outlive the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running exchange, once it says so; its words until then.
pub(crate) fn start(folder: &Path) -> (Running, String) {
    start_with(folder, |_| ())
}

/// The same with other settings.
pub(crate) fn start_with(folder: &Path, change: impl Fn(&mut Command)) -> (Running, String) {
    start_logged(folder, Stdio::null(), change)
}

/// The same, its log going somewhere.
pub(crate) fn start_logged(folder: &Path, log: Stdio, change: impl Fn(&mut Command)) -> (Running, String) {
    let mut command = ringside(folder);
    change(&mut command);
    let mut child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut said = String::new();
    while !said.contains("first trade") {
        assert!(out.read_line(&mut said).unwrap() > 0, "it ended after:\n{said}");
    }
    // Read on, so that it never waits for a reader.
    std::thread::spawn(move || out.read_to_end(&mut Vec::new()));
    (Running(child), said)
}

/// Has a shell say `limits` before it becomes what `command` starts.
pub(crate) fn limited(command: &mut Command, limits: &str) {
    let binary = std::mem::replace(command, Command::new("sh"));
    command.arg("-c").arg(format!("{limits}; exec \"$0\"")).arg(binary.get_program());
    if let Some(folder) = binary.get_current_dir() {
        command.current_dir(folder);
    }
    for (name, value) in binary.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

/// What a finished process wrote.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// Asks it to stop and waits until it has.
pub(crate) fn stop(mut child: Running) {
    assert!(Command::new("kill").args(["-TERM", &child.0.id().to_string()]).status().unwrap().success());
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
}

/// The address in a line that a started exchange said, such as `running on`.
pub(crate) fn address(said: &str, line: &str) -> String {
    let start = format!("ringside: {line}");
    let line = said.lines().find(|said| said.starts_with(&start));
    let line = line.unwrap_or_else(|| panic!("no {start} in\n{said}"));
    let after = line.split("http://").nth(1).expect("an address");
    after.split('/').next().unwrap().to_owned()
}

/// Where nobody else listens, now or later, and no connection begins: at an address of this machine that is this process's own. A port
/// that was free a moment ago may be anybody's by the time it is listened on.
pub(crate) fn own_address() -> SocketAddr {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    let host = Ipv4Addr::from_bits(0x7f40_0000 | std::process::id());
    (host, NEXT.fetch_add(1, Ordering::Relaxed)).into()
}

/// One request on a connection of its own: status and body.
pub(crate) fn request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> (u16, String) {
    try_request(address, method, path, headers, body).expect("an answer")
}

/// The same to an exchange that may be gone before it has answered.
pub(crate) fn try_request(
    address: &str,
    method: &str,
    path: &str,
    headers: &[&str],
    body: &str,
) -> std::io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut head = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n");
    for header in headers {
        head += &format!("{header}\r\n");
    }
    write!(stream, "{head}Content-Length: {}\r\n\r\n{body}", body.len())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let answer = String::from_utf8(answer).expect("text");
    let half = || std::io::Error::other(format!("half an answer: {answer}"));
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(half)?;
    Ok((head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned()))
}

/// The same, for a GET that must succeed.
pub(crate) fn get(address: &str, path: &str, headers: &[&str]) -> String {
    let (status, body) = request(address, "GET", path, headers, "");
    assert_eq!(status, 200, "{path}: {body}");
    body
}

/// A request with JSON that must succeed; its answer.
pub(crate) fn post(address: &str, path: &str, header: &str, body: &Value) -> Value {
    let (status, answer) =
        request(address, "POST", path, &[header, "Content-Type: application/json"], &body.to_string());
    assert_eq!(status, 200, "{path}: {answer}");
    serde_json::from_str(&answer).unwrap()
}

/// A signed request to the perpetual venue that must succeed; its answer.
pub(crate) fn signed(address: &str, method: &str, path: &str, key: &Value, parameters: &str) -> Value {
    let (status, answer) = try_signed(address, method, path, key, parameters);
    assert_eq!(status, 200, "{path}: {answer}");
    answer
}

/// The same where it may be refused.
pub(crate) fn try_signed(
    address: &str,
    method: &str,
    path: &str,
    key: &Value,
    parameters: &str,
) -> (u16, Value) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis();
    try_signed_at(i64::try_from(now).unwrap(), address, method, path, key, parameters)
}

/// The same, signed at a time of an exchange's own, UNIX milliseconds.
pub(crate) fn try_signed_at(
    now: i64,
    address: &str,
    method: &str,
    path: &str,
    key: &Value,
    parameters: &str,
) -> (u16, Value) {
    let query = format!("{parameters}&timestamp={now}");
    let mut mac = Hmac::<Sha256>::new_from_slice(key["api_secret"].as_str().unwrap().as_bytes()).unwrap();
    mac.update(query.as_bytes());
    let signature = const_hex::encode(mac.finalize().into_bytes());
    let header = format!("X-EX-APIKEY: {}", key["api_key"].as_str().unwrap());
    let (status, body) =
        request(address, method, &format!("{path}?{query}&signature={signature}"), &[&header], "");
    (status, serde_json::from_str(&body).unwrap())
}

/// A running exchange that test traders can use: its process, its address and what it said.
pub(crate) fn started(folder: &Path, change: impl Fn(&mut Command)) -> (Running, String, String) {
    let (running, said) = start_with(folder, |command| {
        command.env("RINGSIDE_ADMIN_KEY", ADMIN_KEY);
        change(command);
    });
    let address = address(&said, "running on");
    (running, address, said)
}

/// A header with a login token of the wallet whose key is this number.
pub(crate) fn log_in(address: &str, wallet: u8) -> String {
    log_in_with(address, &format!("{wallet:064}"))
}

/// The same of a key, 64 hex digits.
pub(crate) fn log_in_with(address: &str, key: &str) -> String {
    let mut command = binary();
    command.args(["login", "--url", &format!("http://{address}"), "--key", key]);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    format!("Authorization: Bearer {}", String::from_utf8_lossy(&output.stdout).trim())
}

/// Logs two wallets in, credits them and has them trade on both venues' markets; gives their headers.
pub(crate) fn trade(address: &str) -> [String; 2] {
    let admin = format!("X-API-Key: {ADMIN_KEY}");
    let traders = [2, 3].map(|wallet| log_in(address, wallet));
    for wallet in ["0x2b5ad5c4795c026514f8317c7a215e218dccd6cf", "0x6813eb9362372eef6200f3b1dbc3f819671cba69"]
    {
        for token in ["DF", "USDT"] {
            let credit = serde_json::json!({"user_address": wallet, "token": token, "amount": "1000"});
            post(address, "/api/v1/admin/spot/balances/credit", &admin, &credit);
        }
    }
    for (trader, side, price) in [(0, "sell", "0.2"), (1, "buy", "0.21"), (1, "buy", "0.19")] {
        let order = serde_json::json!({
            "symbol": "DFUSDT", "side": side, "type": "limit", "price": price, "quantity": "50",
        });
        post(address, "/api/v1/spot/orders", &traders[trader], &order);
    }
    traders
}
