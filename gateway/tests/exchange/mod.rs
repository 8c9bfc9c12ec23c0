//! A whole exchange in one test: real HTTP server, real engine, rings, gate, egress and views. The stages behind the server
//! are turned by the test itself, so it can stop them at will; the journal is a vector that is durable at once.

#![allow(dead_code, reason = "each test file uses its own part")]

pub(crate) mod chain;
pub(crate) mod rows;
pub(crate) mod socket;
pub(crate) mod transcript;
pub(crate) mod venue;

use ringside_auth::credential_log::{CredentialLog, HeldCredentials};
use ringside_auth::operators::Operators;
use ringside_auth::{self, Authenticator};
use ringside_chain::proof::Proofs;
use ringside_commands::clock::Clock;
use ringside_commands::ingress::CommandProducer;
use ringside_config::{Config, Value};
use ringside_core::agent::{Agent, Runner, Running};
use ringside_core::command::Command;
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::Event;
use ringside_core::gate::{Gate, GateMode};
use ringside_core::ids::{AccountId, Address};
use ringside_core::matcher::{Matcher, MatcherOptions};
use ringside_core::ring::{self, Consumer, Mapping, Options, Wait};
use ringside_core::sums::Sums;
use ringside_edge::server::router::Router;
use ringside_edge::server::{MakeWorker, Server};
use ringside_edge::worker::edge::Edge;
use ringside_edge::worker::{Shared, Worker};
use ringside_egress::Egress;
use ringside_gateway::boot::genesis;
use ringside_gateway::routes::ROUTES;
use ringside_streams::pusher::Pusher;
use ringside_views::Views;
use ringside_views::log::Retention;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// When every exchange starts: UNIX seconds.
pub(crate) const START_S: i64 = 1_700_000_000;
/// The administrator's key.
pub(crate) const ADMIN_KEY: &str = "admin-key-of-the-tests";
/// Slots of the input ring: few, so that it can be filled.
pub(crate) const INPUT_SLOTS: usize = 64;
/// Slots of the output ring: fewer than the events of a long command.
pub(crate) const OUTPUT_SLOTS: usize = 32;
/// How long anything may take before a test gives up. Machines can be very busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// See the module.
pub(crate) struct Exchange {
    /// What the server's workers share.
    pub(crate) shared: Arc<Shared>,
    /// Credentials that are kept.
    pub(crate) credentials: Arc<HeldCredentials>,
    /// The clock of server and matcher.
    pub(crate) clock: Clock,
    server: Option<Server>,
    stages: Option<Stages>,
    folder: PathBuf,
    client: Option<TcpStream>,
    /// Whether the journal confirms what it has. Turned off, everything waits at the gate.
    pub(crate) is_gate_open: bool,
    /// Incarnation: lanes of a restarted exchange carry a new source.
    epoch: u32,
    /// How often the matcher ticks, 0 for never.
    tick_ns: i64,
    /// Whether its views keep what is not archived yet, as those of the exchange do.
    is_recent: bool,
}

/// All stages in turn, with a journal that is durable at once.
struct Stages {
    matcher: Matcher<Box<dyn FnMut() -> i64 + Send>>,
    journal: Consumer<Command>,
    gate: Arc<Gate>,
    egress: Egress,
    is_gate_open: bool,
    journaled: u64,
    /// Where proofs of reserves are wanted often: a second state, as the follower has it.
    follower: Option<Follower>,
}

/// What the follower does for proofs of reserves, of the commands that the journal has.
struct Follower {
    engine: Engine,
    views: Views,
    proofs: Arc<Proofs>,
}

impl Follower {
    /// A copy of a state.
    fn of(engine: &Engine, views: &Views, mut copy: Views, proofs: Arc<Proofs>) -> Follower {
        let (mut state, mut shown) = (Vec::new(), Vec::new());
        engine.save(&mut state);
        views.save(&mut shown);
        let engine = Engine::load(&EngineConfig::default(), &state).expect("it was saved");
        copy.load(&shown).expect("they were saved");
        Follower { engine, views: copy, proofs }
    }

    fn follow(&mut self, command: &Command) {
        let mut events: Vec<Event> = Vec::new();
        self.engine.apply(command, &mut events);
        events.iter().for_each(|event| self.views.fold(event));
        if self.proofs.stops_at(command) {
            self.proofs.look(&self.engine, &self.views);
        }
    }
}

impl Agent for Stages {
    fn name(&self) -> &str {
        "stages"
    }

    fn do_work(&mut self) -> usize {
        let mut done = self.matcher.do_work();
        done += self.journal.poll(usize::MAX, |sequence, command| {
            assert_eq!(sequence, command.sequence, "the journal ring counts as the engine does");
            self.journaled = sequence;
            self.follower.iter_mut().for_each(|follower| follower.follow(command));
        });
        if let Some(follower) = self.follower.as_ref().filter(|follower| follower.proofs.is_due()) {
            follower.proofs.look(&follower.engine, &follower.views);
        }
        if self.is_gate_open && self.gate.durable() < self.journaled {
            self.gate.publish_written(self.journaled);
            self.gate.publish_durable(self.journaled);
            done += 1;
        }
        done + self.egress.do_work()
    }
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// HTTP status.
    pub(crate) status: u16,
    /// Head, lines apart.
    pub(crate) head: String,
    /// Body.
    pub(crate) body: String,
}

impl Answer {
    /// Value of a header; names in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let is_named =
            |line: &&str| line.split(':').next().is_some_and(|sent| sent.eq_ignore_ascii_case(name));
        self.head
            .lines()
            .skip(1)
            .find(is_named)
            .and_then(|line| line.split_once(": "))
            .map(|(_, value)| value)
    }
}

/// Who asks, of these credentials.
fn authenticator(config: &Config, credentials: &Arc<HeldCredentials>) -> Authenticator {
    let kept: Arc<dyn CredentialLog> = credentials.clone();
    Authenticator::open(&config.auth(), &credentials.side(), &kept).expect("keys").0
}

impl Exchange {
    /// An empty exchange that runs.
    pub(crate) fn start() -> Exchange {
        Exchange::start_with(|_| {})
    }

    /// The same with other settings.
    pub(crate) fn start_with(configure: impl FnOnce(&mut Config)) -> Exchange {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("ringside-spot-{}-{number}", std::process::id()));
        let mut config = Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            data_dir: folder.clone(),
            admin_key: Value::parse(ADMIN_KEY).expect("a key"),
            weight_per_minute: u32::MAX,
            orders_per_ten_seconds: u32::MAX,
            ..Config::default()
        };
        configure(&mut config);
        let config = Arc::new(config);
        let clock = Clock::manual(START_S * 1000);
        let credentials = Arc::new(HeldCredentials::default());
        let auth = authenticator(&config, &credentials);
        let router = Arc::new(Router::new(ROUTES).expect("a router"));
        let edge = Edge::new(&config, auth, Default::default());
        let shared = Arc::new(Shared::new(config, clock.clone(), edge, 1));
        let make: MakeWorker = Box::new({
            let shared = shared.clone();
            move || {
                let worker = Worker::new(shared, 0);
                tokio::task::spawn_local(worker.ingress.clone().run());
                tokio::task::spawn_local(worker.sessions.clone().run());
                worker
            }
        });
        let server = Server::start(shared.clone(), router, vec![make]).expect("a server");
        let mut exchange = Exchange {
            shared,
            credentials,
            clock,
            server: Some(server),
            stages: None,
            folder,
            client: None,
            is_gate_open: true,
            epoch: 0,
            tick_ns: 0,
            is_recent: false,
        };
        exchange.run(Engine::new(&EngineConfig::default()), Views::default());
        exchange
    }

    /// An exchange with the perpetual markets that ship; each of these accounts has so many USDT of margin.
    pub(crate) fn start_perpetual(accounts: &[(u8, i64)]) -> Exchange {
        Exchange::start_perpetual_with(accounts, 0, |_| {})
    }

    /// The same with other settings; the matcher ticks by the clock, or not at all.
    pub(crate) fn start_perpetual_with(
        accounts: &[(u8, i64)],
        tick_ns: i64,
        configure: impl FnOnce(&mut Config),
    ) -> Exchange {
        Exchange::start_perpetual_after(accounts, &[], tick_ns, configure)
    }

    /// The same after some more commands.
    pub(crate) fn start_perpetual_after(
        accounts: &[(u8, i64)],
        more: &[Command],
        tick_ns: i64,
        configure: impl FnOnce(&mut Config),
    ) -> Exchange {
        let mut engine = Engine::new(&EngineConfig::default());
        // It forgets nothing, as nothing is archived unless a test says so.
        let mut views = Views::new(Retention::Window(0));
        let mut apply = |mut command: Command| {
            command.sequence = engine.sequence() + 1;
            command.time_ns = command.time_ns.max(START_S * 1_000_000_000);
            let mut events: Vec<Event> = Vec::new();
            engine.apply(&command, &mut events);
            let done = events.last().and_then(Event::get::<ringside_core::event::Done>).expect("an end");
            assert_eq!(done.rejected(), None, "{command:?}");
            events.iter().for_each(|event| views.fold(event));
        };
        genesis::list_perpetuals().into_iter().for_each(&mut apply);
        apply(Command::new(ringside_core::command::AdvanceTime {}));
        genesis::open_perpetuals().into_iter().for_each(&mut apply);
        for (number, amount) in accounts {
            apply(Command::new(ringside_core::command::CreditPerpetual {
                address: wallet(*number),
                reserved: 0,
                amount: amount * 1_000_000,
                reason: [0; 64],
            }));
        }
        more.iter().copied().for_each(&mut apply);
        let mut exchange = Exchange::start_with(configure);
        exchange.tick_ns = tick_ns;
        exchange.is_recent = true;
        exchange.run(engine, views);
        exchange
    }

    /// Views that hold nothing yet, and keep what this exchange's keep.
    fn no_views(&self) -> Views {
        if self.is_recent { Views::new(Retention::Window(0)) } else { Views::default() }
    }

    /// Who asks, as a process would know that starts now in the same folder.
    pub(crate) fn reopened(&self) -> Authenticator {
        authenticator(&self.shared.config, &self.credentials)
    }

    /// Joins rings and stages around a recovered state, as boot does.
    fn run(&mut self, engine: Engine, views: Views) {
        self.epoch += 1;
        let sequence = engine.sequence();
        let options = |capacity, start| Options { capacity, consumers: 1, start, wait: Wait::Park };
        let (input, mut inputs) =
            ring::create::<Command>(Mapping::anonymous(), options(INPUT_SLOTS, 1)).expect("a ring");
        let (chain_input, chain_inputs) =
            ring::create::<Command>(Mapping::anonymous(), options(INPUT_SLOTS, 1)).expect("a ring");
        inputs.extend(chain_inputs);
        let (feed_input, feed_inputs) =
            ring::create::<Command>(Mapping::anonymous(), options(INPUT_SLOTS, 1)).expect("a ring");
        inputs.extend(feed_inputs);
        let (to_journal, mut journal) =
            ring::create::<Command>(Mapping::anonymous(), options(1024, sequence + 1)).expect("a ring");
        let (output, mut outputs) =
            ring::create::<Event>(Mapping::anonymous(), options(OUTPUT_SLOTS, 1)).expect("a ring");
        let gate = Arc::new(Gate::new(sequence));
        let clock = self.clock.clone();
        let now: Box<dyn FnMut() -> i64 + Send> = Box::new(move || clock.now_ns());
        let quiet =
            MatcherOptions { checkpoint_every: 0, tick_ns: self.tick_ns, ..MatcherOptions::default() };
        // Lanes of a restarted exchange carry new sources.
        let (of_chain, of_feeds) = (1_000_000 + self.epoch, 2_000_000 + self.epoch);
        let ports = vec![
            (self.epoch, self.shared.ports[0].clone()),
            (of_chain, self.shared.chain_port.clone()),
            (of_feeds, self.shared.feed_port.clone()),
        ];
        let proofs = self.shared.proofs.clone();
        let is_followed = proofs.every() < Config::default().proof_every;
        let follower = is_followed.then(|| Follower::of(&engine, &views, self.no_views(), proofs.clone()));
        if follower.is_none() {
            // As at the start of every exchange; of one with a vault it waits for a final block.
            proofs.look(&engine, &views);
        }
        self.shared.views.replace(views);
        self.shared.ports[0].attach(CommandProducer::new(input, self.epoch));
        self.shared.chain_port.attach(CommandProducer::new(chain_input, of_chain));
        self.shared.feed_port.attach(CommandProducer::new(feed_input, of_feeds));
        let mut egress = Egress::new(
            outputs.pop().expect("one consumer"),
            gate.clone(),
            GateMode::Durable,
            self.shared.views.clone(),
            ports,
            Arc::new(Sums::since(sequence + 1)),
        );
        egress.listen(Box::new(Pusher::new(self.shared.registry.clone(), &self.shared.views.read())));
        self.stages = Some(Stages {
            matcher: Matcher::new(engine, inputs, to_journal, output, now, quiet),
            journal: journal.pop().expect("one consumer"),
            gate,
            egress,
            is_gate_open: true,
            journaled: sequence,
            follower,
        });
        self.shared.begin();
    }

    /// Saves the state, starts an exchange of the same clock and keys around what was saved, and goes on there.
    pub(crate) fn restart(&mut self) {
        self.restart_with(|_| {});
    }

    /// The same with other settings.
    pub(crate) fn restart_with(&mut self, configure: impl FnOnce(&mut Config)) {
        self.turn();
        let stages = self.stages.take().expect("it runs");
        let (mut state, mut shown) = (Vec::new(), Vec::new());
        stages.matcher.into_engine().save(&mut state);
        self.shared.views.read().save(&mut shown);
        let engine = Engine::load(&EngineConfig::default(), &state).expect("it was saved");
        let mut views = self.no_views();
        views.load(&shown).expect("they were saved");
        let mut next = Exchange::start_with(configure);
        (next.tick_ns, next.is_recent) = (self.tick_ns, self.is_recent);
        next.clock.turn(self.clock.now_ms() - next.clock.now_ms());
        next.epoch = self.epoch;
        next.run(engine, views);
        *self = next;
    }

    /// Lets every stage do what it can.
    pub(crate) fn turn(&mut self) {
        let is_gate_open = self.is_gate_open;
        let Some(stages) = &mut self.stages else { return };
        stages.is_gate_open = is_gate_open;
        while stages.do_work() > 0 {}
    }

    /// Hands the stages to a thread of their own, which runs until the answer is dropped.
    pub(crate) fn run_stages(&mut self) -> Running {
        let runner = Runner { name: "stages".to_owned(), wait: Wait::Yield, ..Runner::default() };
        runner.spawn(vec![Box::new(self.stages.take().expect("it runs"))]).expect("a thread")
    }

    /// Lists market DFUSDT (fees 5 and 10 bps) and credits accounts 1 to 3 with 1000 DF and 1000 USDT each.
    pub(crate) fn open(&mut self) {
        let admin = [format!("X-API-Key: {ADMIN_KEY}")];
        let list = r#"{"id":"DFUSDT","base_token":"DF","quote_token":"USDT","tick_size":"0.0001","lot_size":"0.1","min_notional":"1","maker_fee_bps":5,"taker_fee_bps":10}"#;
        let answer = self.request("POST", "/api/v1/admin/spot/markets", &admin, list);
        assert_eq!(answer.body, r#"{"ok":true,"id":"DFUSDT"}"#);
        for number in 1..=3 {
            for token in ["DF", "USDT"] {
                self.credit(number, token);
            }
        }
    }

    /// Makes a key for an operator, as `ringside operator` does beside a running exchange; its header.
    pub(crate) fn operator(&self, name: &str) -> String {
        let folder = ringside_auth::folder(&self.shared.config.data_dir);
        let mut operators = Operators::load(&folder).expect("a file of operators");
        format!("X-API-Key: {}", *operators.add(&folder, name).expect("a new name"))
    }

    /// Takes an operator's key away, as `ringside operator --remove` does.
    pub(crate) fn remove_operator(&self, name: &str) {
        let folder = ringside_auth::folder(&self.shared.config.data_dir);
        let removed = Operators::load(&folder).and_then(|mut operators| operators.remove(&folder, name));
        assert!(removed.expect("a file of operators"), "{name} has a key");
    }

    /// Credits an account with 1000 of a token.
    pub(crate) fn credit(&mut self, number: u8, token: &str) {
        let admin = [format!("X-API-Key: {ADMIN_KEY}")];
        let wallet = wallet_text(number);
        let credit = format!(r#"{{"user_address":"{wallet}","token":"{token}","amount":"1000"}}"#);
        let answer = self.request("POST", "/api/v1/admin/spot/balances/credit", &admin, &credit);
        assert_eq!(answer.body, r#"{"ok":true}"#);
    }

    /// The headers of account `number`, whose wallet is `wallet(number)`.
    pub(crate) fn account(&self, number: u8) -> [String; 1] {
        [self.bearer(u32::from(number), &wallet(number))]
    }

    /// The header that proves an account.
    pub(crate) fn bearer(&self, account: AccountId, address: &Address) -> String {
        let auth = &self.shared.edge.auth;
        let issued_at_s = auth.logouts.issue_at_s(account, self.clock.now_s());
        let jti = format!("{account}-{issued_at_s}");
        let (token, _) = auth.tokens.mint(account, address, jti, issued_at_s).expect("a token");
        format!("Authorization: Bearer {token}")
    }

    /// A new connection from an address of the loopback network, so that tests can be several clients.
    pub(crate) fn connect_from(&self, ip: &str) -> TcpStream {
        let socket =
            socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
        socket.bind(&SocketAddr::new(ip.parse().expect("an address"), 0).into()).expect("loopback");
        socket.connect(&self.address().into()).expect("a connection");
        let client: TcpStream = socket.into();
        client.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
        client.set_nodelay(true).expect("no delay");
        client
    }

    /// A new connection.
    pub(crate) fn connect(&self) -> TcpStream {
        let address = self.server.as_ref().expect("it runs").address();
        let client = TcpStream::connect(address).expect("a connection");
        client.set_read_timeout(Some(Duration::from_millis(1))).expect("a timeout");
        client.set_nodelay(true).expect("no delay");
        client
    }

    /// Where the server listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.as_ref().expect("it runs").address()
    }

    /// Asks the server to stop; dropping the exchange waits for that.
    pub(crate) fn stop_server(&self) {
        self.server.as_ref().expect("it runs").stop();
    }

    /// Sends a request and turns the stages until its answer is there.
    pub(crate) fn request(&mut self, method: &str, path: &str, headers: &[String], body: &str) -> Answer {
        let mut client = self.client.take().unwrap_or_else(|| self.connect());
        send(&mut client, method, path, headers, body);
        let answer = self.receive(&mut client, true);
        if !answer.header("connection").is_some_and(|value| value.contains("close")) {
            self.client = Some(client);
        }
        answer
    }

    /// Reads an answer. Turns the stages meanwhile if `is_turning`; else only what the gateway answers alone can come.
    pub(crate) fn receive(&mut self, client: &mut TcpStream, is_turning: bool) -> Answer {
        let (mut bytes, begin) = (Vec::new(), Instant::now());
        while begin.elapsed() < PATIENCE {
            if is_turning {
                self.turn();
            }
            let mut buffer = [0; 65536];
            match client.read(&mut buffer) {
                Ok(0) => {
                    panic!("the server closed the connection after {:?}", String::from_utf8_lossy(&bytes))
                }
                Ok(len) => bytes.extend_from_slice(&buffer[..len]),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(error) => panic!("{error}"),
            }
            if let Some(answer) = parse(&bytes) {
                return answer;
            }
        }
        panic!("no answer in time; so far {:?}", String::from_utf8_lossy(&bytes));
    }

    /// Whether an answer, or a part of one, has come.
    pub(crate) fn has_answer(&self, client: &TcpStream) -> bool {
        client.peek(&mut [0]).is_ok()
    }

    /// Waits, with the stages at rest, until so many commands wait for the engine.
    pub(crate) fn wait_for_queue(&self, len: u64) {
        let begin = Instant::now();
        while self.shared.ports[0].queue_len() != len {
            assert!(begin.elapsed() < PATIENCE, "{} commands wait", self.shared.ports[0].queue_len());
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.client = None;
        if let Some(server) = self.server.take() {
            server.stop();
            let ended = server.join();
            if !std::thread::panicking() {
                ended.expect("no thread panicked");
            }
        }
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A connection used by a thread of its own, while the stages run on another.
pub(crate) struct Client(TcpStream);

impl Client {
    /// Takes a connection over.
    pub(crate) fn new(client: TcpStream) -> Client {
        client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        Client(client)
    }

    /// Sends requests all at once and waits for all their answers; how many were 200.
    pub(crate) fn pipeline(&mut self, requests: &[u8], count: usize) -> usize {
        self.0.write_all(requests).expect("they are sent");
        let (mut bytes, mut buffer) = (Vec::new(), [0; 65536]);
        let (mut at, mut answered, mut good) = (0, 0, 0);
        while answered < count {
            let len = self.0.read(&mut buffer).expect("an answer in time");
            assert_ne!(len, 0, "the server closed the connection");
            bytes.extend_from_slice(&buffer[..len]);
            while let Some(end) = bytes[at..].windows(4).position(|window| window == b"\r\n\r\n") {
                let head = std::str::from_utf8(&bytes[at..at + end]).expect("a head is text");
                let named =
                    |line: &str| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok();
                let body_len: usize = head.lines().find_map(named).expect("a length");
                if bytes.len() < at + end + 4 + body_len {
                    break;
                }
                good += usize::from(head.starts_with("HTTP/1.1 200"));
                answered += 1;
                at += end + 4 + body_len;
            }
        }
        assert_eq!(at, bytes.len(), "an answer for each request");
        good
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, path: &str, headers: &[String], body: &str) -> Answer {
        send(&mut self.0, method, path, headers, body);
        let (mut bytes, mut buffer) = (Vec::new(), [0; 65536]);
        loop {
            let len = self.0.read(&mut buffer).expect("an answer in time");
            assert_ne!(len, 0, "the server closed the connection");
            bytes.extend_from_slice(&buffer[..len]);
            if let Some(answer) = parse(&bytes) {
                return answer;
            }
        }
    }
}

/// Writes a request.
pub(crate) fn send(client: &mut impl Write, method: &str, path: &str, headers: &[String], body: &str) {
    let mut head =
        format!("{method} {path} HTTP/1.1\r\nHost: ringside\r\nContent-Length: {}\r\n", body.len());
    for header in headers {
        head.push_str(header);
        head.push_str("\r\n");
    }
    head.push_str("\r\n");
    head.push_str(body);
    client.write_all(head.as_bytes()).expect("the request is sent");
}

fn parse(bytes: &[u8]) -> Option<Answer> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8(bytes[..end].to_vec()).expect("a head is text");
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let answer = Answer { status, head, body: String::new() };
    let len: usize = answer.header("content-length").and_then(|len| len.parse().ok()).expect("a length");
    let body = bytes.get(end + 4..end + 4 + len)?;
    assert_eq!(bytes.len(), end + 4 + len, "one answer at a time");
    Some(Answer { body: String::from_utf8(body.to_vec()).expect("a body is text"), ..answer })
}

/// The wallet of a name in a transcript.
pub(crate) fn wallet(number: u8) -> Address {
    let mut address = [0; 20];
    address[0] = 0xa1;
    address[19] = number;
    address
}

/// A wallet as text.
pub(crate) fn wallet_text(number: u8) -> String {
    let digits: String = wallet(number).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("0x{digits}")
}
