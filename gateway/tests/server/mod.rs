//! The real server on a real socket, with rows of the test's own and no engine behind it.

#![allow(dead_code, reason = "each test file uses its own part")]

use ringside_auth::Authenticator;
use ringside_auth::cidr::Cidr;
use ringside_auth::credential_log::{CredentialLog, HeldCredentials};
use ringside_auth::key::NewKey;
use ringside_commands::clock::Clock;
use ringside_config::{Config, Value};
use ringside_core::side::SideStore;
use ringside_edge::route::Route;
use ringside_edge::server::router::Router;
use ringside_edge::server::{MakeWorker, Server};
use ringside_edge::worker::edge::Edge;
use ringside_edge::worker::{Shared, Worker};
use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// When the clock of every test starts, UNIX milliseconds: the start of a minute.
pub(crate) const START_MS: i64 = 1_700_000_040_000;
/// The administrator's key.
pub(crate) const ADMIN_KEY: &str = "admin-key-of-the-tests";
/// The wallet of account `n` is this byte twenty times.
pub(crate) const WALLET: [u8; 20] = [0xab; 20];

/// A running server. Dropping it stops it and checks that no thread panicked.
pub(crate) struct TestServer {
    pub(crate) shared: Arc<Shared>,
    pub(crate) clock: Clock,
    server: Option<Server>,
    folder: PathBuf,
}

impl TestServer {
    /// With these rows and otherwise default settings.
    pub(crate) fn start(tables: &'static [&'static [Route]]) -> TestServer {
        TestServer::start_with(tables, |_| {})
    }

    /// With other settings.
    pub(crate) fn start_with(
        tables: &'static [&'static [Route]],
        configure: impl FnOnce(&mut Config),
    ) -> TestServer {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("ringside-http-{}-{number}", std::process::id()));
        let mut config = Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: folder.clone(),
            admin_key: Value::parse(ADMIN_KEY).expect("a key"),
            workers: 2,
            ..Config::default()
        };
        configure(&mut config);
        let config = Arc::new(config);
        let clock = Clock::manual(START_MS);
        let kept: Arc<dyn CredentialLog> = Arc::new(HeldCredentials::default());
        let (auth, _) = Authenticator::open(&config.auth(), &SideStore::default(), &kept).expect("keys");
        let router = Arc::new(Router::new(tables).expect("a router"));
        let edge = Edge::new(&config, auth, Default::default());
        let workers = config.worker_count();
        let shared = Arc::new(Shared::new(config, clock.clone(), edge, workers));
        let make = |index| {
            let shared = shared.clone();
            Box::new(move || Worker::new(shared, index)) as MakeWorker
        };
        let workers = (0..workers).map(make).collect();
        let server = Server::start(shared.clone(), router, workers).expect("a server");
        TestServer { shared, clock, server: Some(server), folder }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.as_ref().expect("it runs").address()
    }

    /// A connection from 127.0.0.1.
    pub(crate) fn connect(&self) -> Client {
        self.connect_from("127.0.0.1")
    }

    /// A connection from an address of the loopback network, so that tests can be several clients.
    pub(crate) fn connect_from(&self, ip: &str) -> Client {
        let ip: IpAddr = ip.parse().expect("an address");
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::new(ip, 0).into()).expect("loopback");
        socket.connect(&self.address().into()).expect("a connection");
        let stream: TcpStream = socket.into();
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a timeout");
        stream.set_nodelay(true).expect("no delay");
        Client { stream, bytes: Vec::new() }
    }

    /// One request on a connection of its own.
    pub(crate) fn get(&self, path: &str, headers: &[&str]) -> Answer {
        self.connect().request("GET", path, headers, "")
    }

    /// One request on a connection of its own.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        self.connect().request(method, path, headers, body)
    }

    /// A login token of account 7.
    pub(crate) fn token(&self) -> String {
        let now_s = self.clock.now_s();
        let minted = self.shared.edge.auth.tokens.mint(7, &WALLET, now_s.to_string(), now_s);
        minted.expect("a token").0
    }

    /// The header with that token.
    pub(crate) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token())
    }

    /// A new API key of account 7 with permissions (read, trade): its number and its header.
    pub(crate) fn api_key(&self, permissions: (bool, bool)) -> (u64, String) {
        self.key(permissions, vec![])
    }

    /// The header of a new API key that is bound to these networks.
    pub(crate) fn bound_key(&self, networks: &[&str]) -> String {
        self.key((true, true), networks.iter().map(|text| Cidr::parse(text).expect("a network")).collect()).1
    }

    fn key(&self, permissions: (bool, bool), ip_whitelist: Vec<Cidr>) -> (u64, String) {
        let new = NewKey { label: "test".to_owned(), permissions, ip_whitelist, expires_at_s: None };
        let made = self.shared.edge.auth.keys.create(7, WALLET, new, self.clock.now_s());
        let (key, credentials) = made.expect("a key");
        (key.id(), format!("X-API-Key: {}", credentials.key.as_str()))
    }

    /// Asks it to stop, without waiting.
    pub(crate) fn stop(&self) {
        self.server.as_ref().expect("it runs").stop();
    }

    /// Stops it; how long that took, and what it says.
    pub(crate) fn join(&mut self) -> (Duration, Result<(), String>) {
        let begin = Instant::now();
        let server = self.server.take().expect("it runs");
        server.stop();
        let ended = server.join();
        (begin.elapsed(), ended)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        if self.server.is_some() {
            let (_, ended) = self.join();
            if !std::thread::panicking() {
                ended.expect("no thread panicked");
            }
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// Value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (sent, value) = line.split_once(": ")?;
            sent.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// A connection of the test's.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    bytes: Vec<u8>,
}

impl Client {
    /// Sends bytes as they are.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("it is sent");
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, path: &str, headers: &[&str], body: &str) -> Answer {
        self.send(head(method, path, headers, body).as_bytes());
        self.receive().expect("an answer")
    }

    /// The next answer; `None` when the server closes first.
    pub(crate) fn receive(&mut self) -> Option<Answer> {
        loop {
            if let Some((answer, len)) = parse(&self.bytes) {
                self.bytes.drain(..len);
                return Some(answer);
            }
            let mut buffer = [0; 16384];
            match self.stream.read(&mut buffer) {
                Ok(0) => {
                    assert!(
                        self.bytes.is_empty(),
                        "half an answer: {:?}",
                        String::from_utf8_lossy(&self.bytes)
                    );
                    return None;
                }
                Ok(len) => self.bytes.extend_from_slice(&buffer[..len]),
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("no answer: {error}"),
            }
        }
    }

    /// Whether the server closes it within `limit`, and after how long.
    pub(crate) fn closes_within(&mut self, limit: Duration) -> Option<Duration> {
        let begin = Instant::now();
        self.stream.set_read_timeout(Some(limit)).expect("a timeout");
        let mut buffer = [0; 16];
        match self.stream.read(&mut buffer) {
            Ok(0) => Some(begin.elapsed()),
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => Some(begin.elapsed()),
            _ => None,
        }
    }
}

/// A request as text.
pub(crate) fn head(method: &str, path: &str, headers: &[&str], body: &str) -> String {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: ringside\r\n");
    if !body.is_empty() {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
    }
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.push_str(body);
    text
}

/// The first answer in `bytes` and its length; `None` while it is not whole.
fn parse(bytes: &[u8]) -> Option<(Answer, usize)> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head is text");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let answer = Answer { status, head, body: String::new() };
    let len = answer.header("content-length").map_or(0, |len| len.parse().expect("a length"));
    let body = bytes.get(end + 4..end + 4 + len)?;
    let body = String::from_utf8(body.to_vec()).expect("a body is text");
    Some((Answer { body, ..answer }, end + 4 + len))
}
