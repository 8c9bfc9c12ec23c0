//! Price feeds against servers of this test: what they ask, what becomes a command, what does not, and that nothing is made
//! up while a source is away. The feeds run on their own thread as in the exchange; the test stands where the matcher and
//! egress would, at the other end of the lane.

use ringside_auth::Authenticator;
use ringside_auth::credential_log::{CredentialLog, HeldCredentials};
use ringside_commands::clock::Clock;
use ringside_commands::ingress::{CommandProducer, EngineState, Reply};
use ringside_config::Config;
use ringside_config::feed::Table;
use ringside_core::command::{
    AdvanceTime, Body, Command, Credit, FeedPrice, Kind, ListMarket, ListPerpetual, PlaceOrder, SetSource,
    Side,
};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{self, Event, IndexState};
use ringside_core::ids::{FIRST_PERPETUAL, padded};
use ringside_core::money::{AMOUNT_UNIT, Price, UNIT};
use ringside_core::reject::Reject;
use ringside_core::ring::{self, Consumer, Mapping, Options, Wait};
use ringside_core::side::SideStore;
use ringside_edge::worker::Shared;
use ringside_edge::worker::edge::Edge;
use ringside_feed::registry::Feeds;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_util::sync::CancellationToken;

/// How long anything may take before a test gives up. Machines can be very busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// Source number of the lane.
const LANE: u32 = 77;
/// Commands of the process itself before the lane was handed on.
const NUMBERED: u64 = 3;

/// A running feed thread and the other end of its lane.
struct Rig {
    shared: Arc<Shared>,
    lane: Consumer<Command>,
    /// Number of the last command.
    numbered: u64,
    /// What the engine would answer to prices.
    reject: u16,
    shutdown: CancellationToken,
    thread: Option<JoinHandle<()>>,
    folder: PathBuf,
}

impl Rig {
    /// Feeds as this configuration file says, in an exchange that has listed the perpetual market BTCUSDT.
    fn start(file: &str) -> Rig {
        let rig = Rig::start_without_market(file);
        rig.list_market();
        rig
    }

    fn start_without_market(file: &str) -> Rig {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("ringside-feed-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("ringside.toml");
        std::fs::write(&path, format!("data_dir = \"{}\"\n{file}", folder.display())).expect("a file");
        let config = Config::load(Some(&path), std::iter::empty()).expect("a configuration");
        let config = Arc::new(config);
        let kept: Arc<dyn CredentialLog> = Arc::new(HeldCredentials::default());
        let (auth, _) = Authenticator::open(&config.auth(), &SideStore::default(), &kept).expect("keys");
        let edge = Edge::new(&config, auth, CancellationToken::new());
        let shared = Arc::new(Shared::new(config, Clock::SYSTEM, edge, 1));
        let options = Options { capacity: 64, consumers: 1, start: 1, wait: Wait::Park };
        let (producer, mut consumers) = ring::create(Mapping::anonymous(), options).expect("a ring");
        shared
            .feed_port
            .attach(CommandProducer { numbered: NUMBERED, ..CommandProducer::new(producer, LANE) });
        shared.phase.set(EngineState::Running);
        let shutdown = CancellationToken::new();
        let thread = ringside_feed::start(shared.for_feeds(), shutdown.clone()).expect("a thread");
        Rig {
            shared,
            lane: consumers.pop().expect("one consumer"),
            numbered: NUMBERED,
            reject: 0,
            shutdown,
            thread: Some(thread),
            folder,
        }
    }

    fn list_market(&self) {
        let listed = event::PerpetualListed {
            market: FIRST_PERPETUAL,
            base: 0,
            quote: 0,
            symbol: padded("BTCUSDT").expect("it fits"),
            reserved: 0,
        };
        self.shared.views.write(|views| views.fold(&Event::new(1, 0, 0, listed)));
    }

    /// Takes what has come and answers it: the prices with their sources, in order.
    fn take(&mut self) -> Vec<(u32, Price)> {
        let mut prices = Vec::new();
        let (port, numbered, reject) = (&self.shared.feed_port, &mut self.numbered, self.reject);
        self.lane.poll(usize::MAX, |_, command| {
            *numbered += 1;
            assert_eq!((command.source, command.source_seq), (LANE, *numbered), "numbers have no gap");
            assert_eq!(command.kind, Kind::FeedPrice as u16, "nothing but prices");
            let price = command.body::<FeedPrice>();
            assert_eq!(price.market, FIRST_PERPETUAL);
            prices.push((price.source, price.price));
            port.reply(reply(command, reject));
        });
        port.wake();
        prices
    }

    /// Waits for a price.
    fn next(&mut self) -> (u32, Price) {
        let begin = Instant::now();
        loop {
            let prices = self.take();
            if let Some(price) = prices.last() {
                return *price;
            }
            assert!(begin.elapsed() < PATIENCE, "no price came");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Waits for this price.
    fn wait_for(&mut self, expected: (u32, Price)) {
        let begin = Instant::now();
        while self.next() != expected {
            assert!(begin.elapsed() < PATIENCE, "{expected:?} did not come");
        }
    }

    /// Answers whatever comes for a while: the prices.
    fn watch(&mut self, span: Duration) -> Vec<(u32, Price)> {
        let (begin, mut prices) = (Instant::now(), Vec::new());
        while begin.elapsed() < span {
            prices.append(&mut self.take());
            std::thread::sleep(Duration::from_millis(1));
        }
        prices
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.shutdown.cancel();
        let ended = self.thread.take().map(JoinHandle::join);
        let _ = std::fs::remove_dir_all(&self.folder);
        if !std::thread::panicking() {
            assert!(matches!(ended, Some(Ok(()))), "the thread ends with the exchange");
        }
    }
}

fn reply(command: &Command, reject: u16) -> Reply {
    let done = event::Done {
        source_seq: command.source_seq,
        source: command.source,
        command: command.kind,
        reject,
        order: 0,
        account: 0,
        market: 0,
        idempotency_key: 0,
        replayed: 0,
        update: 0,
    };
    Reply::new(1, 0, done)
}

/// What a server of this test answers with, and what it saw.
#[derive(Default)]
struct Script {
    status: u16,
    body: String,
    requests: Vec<String>,
    connections: u32,
    /// Whether connections are closed as they come.
    is_away: bool,
}

/// An HTTP server on a thread per connection; it ends with the process.
fn http_server() -> (SocketAddr, Arc<Mutex<Script>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let script = Arc::new(Mutex::new(Script { status: 200, ..Script::default() }));
    let shared = script.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut script = shared.lock().expect("no panic");
            script.connections += 1;
            if !script.is_away {
                let shared = shared.clone();
                std::thread::spawn(move || serve(stream, &shared));
            }
        }
    });
    (address, script)
}

/// Answers requests of one connection until it closes.
fn serve(mut stream: impl Read + Write, script: &Mutex<Script>) {
    let (mut request, mut byte) = (Vec::new(), [0]);
    while let Ok(1) = stream.read(&mut byte) {
        request.push(byte[0]);
        if !request.ends_with(b"\r\n\r\n") {
            continue;
        }
        let mut script = script.lock().expect("no panic");
        script.requests.push(String::from_utf8_lossy(&request).into_owned());
        let (status, body) = (script.status, &script.body);
        let answer = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\n\r\n{body}", body.len());
        if stream.write_all(answer.as_bytes()).is_err() {
            return;
        }
        request.clear();
    }
}

#[test]
fn an_http_source_is_asked_again_and_again() {
    let (address, script) = http_server();
    let say = |status: u16, body: &str| {
        let mut script = script.lock().unwrap();
        (script.status, script.body) = (status, body.to_owned());
    };
    say(200, r#"{"data":[{"last":"60000.5"}]}"#);
    let mut rig = Rig::start(&format!(
        "[[feed]]\nmarket = \"BTCUSDT\"\nsource = 3\nkind = \"http\"\nurl = \"http://{address}/ticker?symbol=BTCUSD\"\n\
         price = \"data.0.last\"\nevery = \"50ms\""
    ));
    let first = (3, 60_000 * UNIT + UNIT / 2);
    assert_eq!(rig.next(), first);
    assert_eq!(rig.next(), first, "a price that is confirmed is told again");
    say(200, r#"{"data":[{"last":60001}]}"#);
    rig.wait_for((3, 60_001 * UNIT));
    {
        let script = script.lock().unwrap();
        assert_eq!(script.connections, 1, "one connection for all requests");
        assert!(
            script.requests[0].starts_with("GET /ticker?symbol=BTCUSD HTTP/1.1\r\n"),
            "{}",
            script.requests[0]
        );
        assert!(script.requests[0].contains(&format!("host: {address}\r\n")), "{}", script.requests[0]);
    }

    // No answer that is right, no price: nothing is made up, and nothing old is told again.
    for (status, body) in [(503, "{}"), (200, "{}"), (200, r#"{"data":[{"last":"-1"}]}"#), (200, "<html>")] {
        say(status, body);
        // What was asked before may still be on its way.
        rig.watch(Duration::from_millis(200));
        assert_eq!(rig.watch(Duration::from_millis(400)), [], "{status} {body}");
    }
    say(200, r#"{"data":[{"last":60002}]}"#);
    rig.wait_for((3, 60_002 * UNIT));
    assert!(script.lock().unwrap().connections > 1, "a source that failed is connected anew");

    // Refused prices are no reason to stop.
    rig.reject = Reject::SourceNotFound as u16;
    rig.next();
    rig.reject = 0;
    say(200, r#"{"data":[{"last":60003}]}"#);
    rig.wait_for((3, 60_003 * UNIT));
}

#[test]
fn a_source_that_cannot_be_reached_is_tried_until_it_can() {
    let (address, script) = http_server();
    {
        let mut script = script.lock().unwrap();
        (script.is_away, script.body) = (true, r#"{"p":"1.5"}"#.to_owned());
    }
    let mut rig = Rig::start(&format!(
        "[[feed]]\nmarket = \"BTCUSDT\"\nsource = 1\nkind = \"http\"\nurl = \"http://{address}\"\nprice = \"p\"\nevery = \"50ms\""
    ));
    let begin = Instant::now();
    while script.lock().unwrap().connections < 3 {
        assert_eq!(rig.take(), []);
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(5));
    }
    script.lock().unwrap().is_away = false;
    assert_eq!(rig.next(), (1, UNIT + UNIT / 2));
}

/// A WebSocket server that takes one connection at a time: each goes to `talk`.
fn websocket_server(
    mut talk: impl FnMut(u32, &mut tungstenite::WebSocket<TcpStream>) + Send + 'static,
) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for (number, stream) in (1..).zip(listener.incoming().flatten()) {
            if let Ok(mut socket) = tungstenite::accept(stream) {
                talk(number, &mut socket);
                let _ = socket.close(None);
                while socket.read().is_ok() {}
            }
        }
    });
    address
}

#[test]
fn a_websocket_source_is_listened_to() {
    const BURST: i64 = 2_000;
    let (told, heard) = std::sync::mpsc::channel();
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let address = websocket_server(move |number, socket| {
        let text = |socket: &mut tungstenite::WebSocket<TcpStream>| loop {
            match socket.read() {
                Ok(Message::Text(text)) => return text.to_string(),
                Ok(_) => {}
                Err(error) => panic!("{error}"),
            }
        };
        let _ = told.send((number, text(socket), text(socket)));
        let mut send = |text: String| drop(socket.send(Message::text(text)));
        send(r#"{"result":null,"id":1}"#.to_owned());
        send(format!(r#"{{"stream":"s","data":{{"b":"{number}00.10","a":"{number}00.30"}}}}"#));
        if wait.recv().is_err() {
            return;
        }
        (1..=BURST).for_each(|step| send(format!(r#"{{"data":{{"b":"{step}","a":"{step}"}}}}"#)));
        send("no JSON".to_owned());
        let _ = wait.recv();
    });
    let mut rig = Rig::start(&format!(
        "[[feed]]\nmarket = \"btcusdt\"\nsource = 9\nkind = \"websocket\"\nurl = \"ws://{address}/ws\"\n\
         send = ['{{\"op\":\"one\"}}', \"two\"]\nprice = [\"data.b\", \"data.a\"]\nevery = \"100ms\""
    ));
    assert_eq!(rig.next(), (9, 100 * UNIT + UNIT / 5), "the middle of bid and ask");
    assert_eq!(heard.recv().unwrap(), (1, r#"{"op":"one"}"#.to_owned(), "two".to_owned()));

    // A burst: the newest counts, and prices come no faster than configured.
    let begin = Instant::now();
    go.send(()).unwrap();
    let mut count = 0;
    loop {
        let prices = rig.take();
        count += prices.len();
        if prices.last() == Some(&(9, BURST * UNIT)) {
            break;
        }
        assert!(begin.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
    let most = begin.elapsed().as_millis() as usize / 90 + 2;
    assert!(count <= most, "{count} prices where {most} have their time");
    assert_eq!(rig.watch(Duration::from_millis(500)), [], "what does not come is not repeated");

    // The stream ends: it is connected anew, and asked as the first time.
    go.send(()).unwrap();
    assert_eq!(heard.recv_timeout(PATIENCE).unwrap(), (2, r#"{"op":"one"}"#.to_owned(), "two".to_owned()));
    rig.wait_for((9, 200 * UNIT + UNIT / 5));
}

/// The server's end of a connection that is encrypted as `localhost`'s.
fn encrypted(stream: TcpStream) -> StreamOwned<ServerConnection, TcpStream> {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("../chain/tls/localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_slice(include_bytes!("../chain/tls/localhost.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = config.with_single_cert(vec![certificate], key).unwrap();
    StreamOwned::new(ServerConnection::new(Arc::new(config)).unwrap(), stream)
}

/// Servers of `https` and `wss`, whose certificate an authority of these tests gave: a feed believes it where the file of
/// authorities names that one, and nobody else.
#[test]
fn encrypted_sources_are_read_if_they_are_who_they_say() {
    let script = Arc::new(Mutex::new(Script {
        status: 200,
        body: r#"{"p":"60000"}"#.to_owned(),
        ..Script::default()
    }));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let https = listener.local_addr().unwrap().port();
    let shared = script.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let shared = shared.clone();
            std::thread::spawn(move || serve(encrypted(stream), &shared));
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let wss = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let Ok(mut socket) = tungstenite::accept(encrypted(stream)) else { return };
                while socket.send(Message::text(r#"{"p":"60001"}"#)).is_ok() {
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
        }
    });
    let feed = |source: u32, kind: &str, url: String| {
        format!(
            "[[feed]]\nmarket = \"BTCUSDT\"\nsource = {source}\nkind = \"{kind}\"\nurl = \"{url}\"\nprice = \"p\"\nevery = \"50ms\"\n"
        )
    };
    let feeds = [
        feed(1, "http", format!("https://localhost:{https}/ticker")),
        feed(2, "websocket", format!("wss://localhost:{wss}/ws")),
        // Its certificate names another host.
        feed(3, "http", format!("https://127.0.0.1:{https}/ticker")),
    ]
    .concat();
    let authorities = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/chain/tls/authority.pem");
    let mut rig = Rig::start(&format!("feed_authorities = \"{authorities}\"\n{feeds}"));
    rig.wait_for((1, 60_000 * UNIT));
    rig.wait_for((2, 60_001 * UNIT));
    let prices = rig.watch(Duration::from_secs(1));
    assert!(prices.iter().all(|(source, _)| *source != 3), "{prices:?}");
    assert!(script.lock().unwrap().requests[0].starts_with("GET /ticker HTTP/1.1\r\n"));
    drop(rig);
    // Without that file nobody vouches for them.
    let mut rig = Rig::start(&feeds);
    assert_eq!(rig.watch(Duration::from_secs(2)), []);
}

/// Feeds come, change and go while the thread runs, and are there again in the next run.
#[test]
fn feeds_are_added_changed_and_taken_away_at_run_time() {
    let mut rig = Rig::start(
        "[[feed]]\nmarket = \"BTCUSDT\"\nsource = 1\nkind = \"fixed\"\nprice = \"60000\"\nevery = \"50ms\"",
    );
    assert_eq!(rig.next(), (1, 60_000 * UNIT));
    let table = |source: u32, price: &str| -> Table {
        serde_json::from_value(serde_json::json!({
            "market": "BTCUSDT", "source": source, "kind": "fixed", "price": price, "every": "50ms",
        }))
        .unwrap()
    };
    let feeds = rig.shared.feeds.clone();
    feeds.load().unwrap();
    assert!(!feeds.put(table(2, "60002")).unwrap());
    rig.wait_for((2, 60_002 * UNIT));
    assert!(feeds.put(table(1, "60005")).unwrap());
    rig.wait_for((1, 60_005 * UNIT));
    rig.watch(Duration::from_millis(200));
    let prices = rig.watch(Duration::from_millis(500));
    assert!(
        prices.iter().all(|price| [(1, 60_005 * UNIT), (2, 60_002 * UNIT)].contains(price)),
        "{prices:?}"
    );
    assert!(prices.iter().any(|price| price.0 == 2), "the other runs on");
    feeds.remove("BTCUSDT", 1).unwrap();
    rig.watch(Duration::from_millis(200));
    let prices = rig.watch(Duration::from_millis(500));
    assert!(!prices.is_empty() && prices.iter().all(|price| price.0 == 2), "{prices:?}");
    let again = Feeds::new(&rig.shared.config);
    again.load().unwrap();
    assert_eq!(*again.all(), *feeds.all());
}

#[test]
fn nothing_is_published_for_a_market_that_is_not_listed() {
    let mut rig = Rig::start_without_market(
        "[[feed]]\nmarket = \"BTCUSDT\"\nsource = 1\nkind = \"fixed\"\nprice = \"60000\"\nevery = \"50ms\"",
    );
    assert_eq!(rig.watch(Duration::from_millis(1_200)), []);
    rig.list_market();
    assert_eq!(rig.next(), (1, 60_000 * UNIT));
}

#[test]
fn the_own_spot_market_is_a_source() {
    let mut rig = Rig::start(
        "[[feed]]\nmarket = \"BTCUSDT\"\nsource = 2\nkind = \"spot\"\nspot_market = \"BTCUSD\"\nnotional = \"1000\"\nevery = \"50ms\"",
    );
    let mut spot = Spot::open(&rig);
    spot.place(&rig, Side::Buy, 99, 50);
    assert_eq!(rig.watch(Duration::from_millis(300)), [], "one side is no price");
    spot.place(&rig, Side::Sell, 100, 1);
    assert_eq!(rig.watch(Duration::from_millis(300)), [], "the other is too thin");
    spot.place(&rig, Side::Sell, 101, 50);
    // Bid 99; ask: 1 at 100 and 8.92 at 101, rounded up to lots of 0.1: (100 + 9 x 101) / 10 = 100.9.
    assert_eq!(rig.next(), (2, 99 * UNIT + 95 * UNIT / 100));
}

/// V-15 of `risk.md`, from sockets to the index: three sources, of which the engine makes a price.
#[test]
fn prices_of_three_sources_become_an_index() {
    let (http, script) = http_server();
    script.lock().unwrap().body = r#"{"last":"60010"}"#.to_owned();
    let (stop, wait) = std::sync::mpsc::channel::<()>();
    let websocket = websocket_server(move |number, socket| {
        // From the second connection on it has nothing to say.
        while number == 1 && wait.try_recv().is_err() {
            let _ = socket.send(Message::text(r#"{"p":60000}"#));
            std::thread::sleep(Duration::from_millis(20));
        }
    });
    let feed = |source: u32, rest: String| {
        format!("[[feed]]\nmarket = \"BTCUSDT\"\nsource = {source}\nevery = \"50ms\"\n{rest}\n")
    };
    let mut rig = Rig::start_without_market(
        &[
            feed(1, format!("kind = \"http\"\nurl = \"http://{http}\"\nprice = \"last\"")),
            feed(2, format!("kind = \"websocket\"\nurl = \"ws://{websocket}\"\nprice = \"p\"")),
            feed(3, "kind = \"fixed\"\nprice = \"62500\"".to_owned()),
        ]
        .concat(),
    );
    let mut venue = Venue::open(&rig);
    for (source, weight) in [(1, 3), (2, 2), (3, 1)] {
        venue.apply(&rig, Command::new(SetSource { market: FIRST_PERPETUAL, source, weight, stale_ms: 0 }));
    }
    venue.wait_for(&mut rig, |price| price.index == 6_005_667_500_000);
    let told = venue.price.expect("it was waited for");
    assert_eq!((told.index_state, told.mark), (IndexState::Live as u8, told.index), "without a book");

    // Two sources fall silent: after ten seconds of engine time the third stands alone.
    script.lock().unwrap().status = 500;
    stop.send(()).unwrap();
    let state = IndexState::Single as u8;
    venue.wait_for(&mut rig, |price| price.index_state == state);
    assert_eq!(venue.price.expect("it was waited for").index, 62_500 * UNIT);
}

/// A real engine at the other end of the lane, with a clock of its own that runs ten times as fast as the test.
struct Venue {
    engine: Engine,
    begin: Instant,
    /// The last that was told.
    price: Option<event::PerpetualPrice>,
}

impl Venue {
    /// With market BTCUSDT.
    fn open(rig: &Rig) -> Venue {
        let mut venue =
            Venue { engine: Engine::new(&EngineConfig::default()), begin: Instant::now(), price: None };
        let symbol = padded("BTCUSDT").expect("it fits");
        let (base, quote) = (padded("BTC").expect("it fits"), padded("USDT").expect("it fits"));
        let list = ListPerpetual { symbol, base, quote, tick: UNIT / 10, lot: UNIT / 1_000 };
        venue.apply(rig, Command::new(list));
        venue
    }

    /// Carries out a command; its events go into the views.
    fn apply(&mut self, rig: &Rig, mut command: Command) -> event::Done {
        command.sequence = self.engine.sequence() + 1;
        command.time_ns = 1_700_000_000_000_000_000 + self.begin.elapsed().as_nanos() as i64 * 10;
        let mut events: Vec<Event> = Vec::new();
        self.engine.apply(&command, &mut events);
        let told = events.iter().filter_map(|event| event.get::<event::PerpetualPrice>()).next_back();
        self.price = told.copied().or(self.price);
        rig.shared.views.write(|views| events.iter().for_each(|event| views.fold(event)));
        let done = *events.last().and_then(|event| event.get::<event::Done>()).expect("an end");
        assert_eq!(done.rejected(), None, "{command:?}");
        done
    }

    /// Carries out what the feeds publish, and a tick each second, until the engine tells such a price.
    fn wait_for(&mut self, rig: &mut Rig, is_it: impl Fn(&event::PerpetualPrice) -> bool) {
        let begin = Instant::now();
        while !self.price.as_ref().is_some_and(&is_it) {
            assert!(begin.elapsed() < PATIENCE, "{:?}", self.price);
            let mut commands = Vec::new();
            rig.lane.poll(usize::MAX, |_, command| commands.push(*command));
            for command in commands {
                let done = self.apply(rig, command);
                assert_eq!((done.source, done.source_seq), (LANE, command.source_seq));
                rig.shared.feed_port.reply(reply(&command, 0));
            }
            rig.shared.feed_port.wake();
            self.apply(rig, Command::new(AdvanceTime {}));
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// A spot market BTCUSD in the views, from an engine of its own.
struct Spot {
    engine: Engine,
    sequence: u64,
}

impl Spot {
    fn open(rig: &Rig) -> Spot {
        let mut spot = Spot { engine: Engine::new(&EngineConfig::default()), sequence: 0 };
        spot.apply(
            rig,
            ListMarket {
                symbol: padded("BTCUSD").expect("it fits"),
                base: padded("BTC").expect("it fits"),
                quote: padded("USD").expect("it fits"),
                tick: UNIT / 100,
                lot: UNIT / 10,
                min_notional: AMOUNT_UNIT.into(),
                maker_fee: 0,
                taker_fee: 0,
                max_open_orders: 200,
                kind: 0,
                reserved: [0; 3],
            },
        );
        for asset in ["BTC", "USD"] {
            let credit = Credit {
                address: [1; 20],
                asset: padded(asset).expect("it fits"),
                reserved: 0,
                amount: (1_000_000 * AMOUNT_UNIT).into(),
                reason: [0; 64],
            };
            spot.apply(rig, credit);
        }
        spot
    }

    fn place(&mut self, rig: &Rig, side: Side, price: i64, quantity: i64) {
        self.apply(rig, PlaceOrder::limit(1, 0, side, price * UNIT, quantity * UNIT));
    }

    fn apply<B: Body>(&mut self, rig: &Rig, body: B) {
        self.sequence += 1;
        let mut command = Command::new(body);
        command.sequence = self.sequence;
        let mut events: Vec<Event> = Vec::new();
        self.engine.apply(&command, &mut events);
        let done = events.last().and_then(|event| event.get::<event::Done>()).expect("an end");
        assert_eq!(done.reject, 0, "{command:?}");
        rig.shared.views.write(|views| events.iter().for_each(|event| views.fold(event)));
    }
}
