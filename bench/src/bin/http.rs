//! Order placement over HTTP: the exchange, acknowledging `written` and `durable`, beside a bare hyper server that
//! answers the same bytes with the same number of threads, interleaved in one run. Prints nothing but the fault
//! when an order was lost, doubled or not answered with success.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use hdrhistogram::Histogram;
use ringside_bench::load::api::{
    self, BASE_TOKEN, DepthAnswer, MarketText, PublicTrade, QUOTE_TOKEN, ask, request,
};
use ringside_bench::load::bare::{self, FixedAnswer};
use ringside_bench::load::connection::Connection;
use ringside_bench::load::drive::{Lane, closed, open};
use ringside_bench::load::server::{Server, ServerOptions, processor_time};
use ringside_bench::load::wallet::Wallet;
use ringside_bench::report::{self, ForeignLoad, Unit, bar};
use std::fmt::Write as _;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Order placement over HTTP beside a bare hyper server.
#[derive(Clone, Parser)]
struct Arguments {
    /// Repetitions of each server and count of connections.
    #[arg(long, default_value_t = 7)]
    repetitions: usize,
    /// Measured seconds of each.
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Gateway threads, and threads of the bare server.
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Requests a second of the open-loop part; half of what `written` reached if not given.
    #[arg(long)]
    rate: Option<f64>,
    /// Pin servers to the first core and the client to the second, with taskset.
    #[arg(long)]
    pin: bool,
    /// The server program, if not `ringside` beside this one.
    #[arg(long)]
    server: Option<PathBuf>,
    /// A further setting of the server, key=value; may be given again.
    #[arg(long = "set")]
    settings: Vec<String>,
    /// Folder for the server's data, if not the temporary one.
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Write the report into this folder as well.
    #[arg(long)]
    results: Option<PathBuf>,
    /// End with an error when a bar is missed.
    #[arg(long)]
    strict: bool,
    /// Be the bare server: address and answer.
    #[arg(long, hide = true, num_args = 2)]
    bare: Option<Vec<String>>,
}

const SYMBOL: &str = "HTTPBENCH";
/// Pairs of accounts, one that sells and one that buys.
const PAIRS: u32 = 64;
/// Connections of each part; the first is the unloaded one.
const CONNECTIONS: [usize; 3] = [1, 64, 256];
const SEED: u64 = 8;
/// A server that did next to nothing for so long has put nothing off: longer than rows wait for the archive.
const REST: Duration = Duration::from_millis(1_200);
/// How long that is waited for.
const RESTED_WITHIN: Duration = Duration::from_secs(15);

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some([address, answer]) = arguments.bare.as_deref() {
        return bare::serve(address.parse()?, arguments.workers, &serde_json::from_str(answer)?);
    }
    if arguments.pin {
        core_affinity::set_for_current(core_affinity::CoreId { id: 1 });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, compare(&arguments))
}

/// One server under test, and what it came to.
struct Subject {
    name: &'static str,
    address: SocketAddr,
    process: u32,
    /// Header lines of the sellers' and buyers' keys, pairwise.
    keys: Vec<[String; 2]>,
    /// Placed and answered: sells, buys.
    placed: [u64; 2],
    /// By count of connections: answers per second of each repetition.
    rates: [Vec<f64>; CONNECTIONS.len()],
    /// By count of connections: processor microseconds per answer of each repetition.
    costs: [Vec<f64>; CONNECTIONS.len()],
    /// By count of connections, all repetitions.
    latencies: [Histogram<u64>; CONNECTIONS.len()],
    /// Of the open-loop part.
    paced: Histogram<u64>,
}

impl Subject {
    fn new(name: &'static str, address: SocketAddr, process: u32, keys: Vec<[String; 2]>) -> Subject {
        Subject {
            name,
            address,
            process,
            keys,
            placed: [0; 2],
            rates: Default::default(),
            costs: Default::default(),
            latencies: std::array::from_fn(|_| report::histogram()),
            paced: report::histogram(),
        }
    }

    /// Connections whose orders alternate: one that sells and one that buys, at one price.
    async fn lanes(&self, count: usize) -> Result<Vec<Lane>> {
        let mut lanes = Vec::new();
        for lane in 0..count {
            let keys = &self.keys[lane % self.keys.len()];
            // Half of the connections begin with the buy, so that the book stays small.
            let mut sides = [("sell", &keys[0]), ("buy", &keys[1])];
            sides.rotate_left(lane % 2);
            let requests = sides.map(|(side, key)| order(side, key)).into();
            lanes.push(Lane::open(self.address, requests).await?);
        }
        Ok(lanes)
    }

    fn count(&mut self, lanes: &[Lane]) {
        for (index, lane) in lanes.iter().enumerate() {
            let (sell, buy) = if index % 2 == 0 { (0, 1) } else { (1, 0) };
            self.placed[0] += lane.answered_of(sell);
            self.placed[1] += lane.answered_of(buy);
        }
    }

    async fn closed(&mut self, part: usize, arguments: &Arguments) -> Result<()> {
        let lanes = self.lanes(CONNECTIONS[part]).await?;
        let (mut before, mut after) = (Ok(Duration::ZERO), Ok(Duration::ZERO));
        let (warm_up, measured) = (Duration::from_millis(300), Duration::from_secs_f64(arguments.seconds));
        let (lanes, driven) = closed(
            lanes,
            warm_up,
            measured,
            || before = processor_time(self.process),
            || after = processor_time(self.process),
        )
        .await
        .with_context(|| format!("{} connections to {}", CONNECTIONS[part], self.name))?;
        self.count(&lanes);
        self.rates[part].push(driven.per_second());
        self.costs[part].push((after? - before?).as_secs_f64() * 1e6 / driven.answers.max(1) as f64);
        self.latencies[part].add(&driven.latencies)?;
        self.rest().await
    }

    async fn paced(&mut self, rate: f64, arguments: &Arguments) -> Result<()> {
        let lanes = self.lanes(CONNECTIONS[1]).await?;
        let (lanes, driven) = open(lanes, rate, Duration::from_secs_f64(arguments.seconds)).await?;
        self.count(&lanes);
        self.paced.add(&driven.latencies)?;
        self.rest().await
    }

    /// Waits until the server has done what it had put off, such as writing its archive, so that the next one measured does
    /// not pay for it.
    async fn rest(&self) -> Result<()> {
        let deadline = Instant::now() + RESTED_WITHIN;
        let mut before = processor_time(self.process)?;
        while Instant::now() < deadline {
            tokio::time::sleep(REST).await;
            let now = processor_time(self.process)?;
            if now - before < REST / 50 {
                break;
            }
            before = now;
        }
        Ok(())
    }

    /// Every order answered is in the book or traded, once.
    async fn check(&self) -> Result<()> {
        let [sells, buys] = self.placed;
        let mut connection = Connection::open(self.address).await?;
        let depth = request("GET", &format!("/spot/depth?symbol={SYMBOL}"), "", None);
        let depth: DepthAnswer = ask(&mut connection, &depth).await?;
        let total = |side: &[(String, String)]| {
            side.iter().map(|level| level.1.parse::<u64>()).sum::<Result<u64, _>>().context("whole lots")
        };
        let (bids, asks) = (total(&depth.bids)?, total(&depth.asks)?);
        let trades = request("GET", &format!("/spot/trades?symbol={SYMBOL}&limit=1"), "", None);
        let trades: Vec<PublicTrade> = ask(&mut connection, &trades).await?;
        let traded: u64 = trades.first().map_or(Ok(0), |trade| trade.trade_id.parse())?;
        ensure!(
            bids + traded == buys && asks + traded == sells,
            "{}: {sells} sells and {buys} buys were answered, but {traded} trades, {asks} sells and {bids} buys \
             are there",
            self.name
        );
        Ok(())
    }
}

fn order(side: &str, key: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"symbol":"{SYMBOL}","side":"{side}","type":"limit","tif":"gtc","price":"100.25","quantity":"1"}}"#
    );
    request("POST", "/spot/orders", key, Some(&body))
}

async fn compare(arguments: &Arguments) -> Result<()> {
    let load = ForeignLoad::start();
    let mut written = start(arguments, "written").await?;
    let mut durable = start(arguments, "durable").await?;
    let mut subjects = vec![prepare(&mut written, "written").await?, prepare(&mut durable, "durable").await?];
    let answer = record(&mut subjects[0]).await?;
    let bare = BareServer::start(arguments, &answer).await?;
    subjects.insert(0, Subject::new("bare hyper", bare.address, bare.child.id(), subjects[0].keys.clone()));
    for _ in 0..arguments.repetitions {
        for part in 0..CONNECTIONS.len() {
            for subject in &mut subjects {
                subject.closed(part, arguments).await?;
            }
        }
    }
    let rate = arguments.rate.unwrap_or_else(|| report::median(&subjects[1].rates[1]) / 2.0);
    for _ in 0..arguments.repetitions.min(3) {
        for subject in &mut subjects {
            subject.paced(rate, arguments).await?;
        }
    }
    for subject in &subjects[1..] {
        subject.check().await?;
    }
    drop((written, durable, bare));
    let (text, passed) = summary(arguments, &subjects, &answer, rate, load.percent())?;
    Ok(report::conclude("http", &text, arguments.results.as_deref(), arguments.strict && !passed)?)
}

async fn start(arguments: &Arguments, acknowledge: &str) -> Result<Server> {
    let mut settings = vec![
        ("acknowledge".to_string(), acknowledge.to_string()),
        ("workers".to_string(), arguments.workers.to_string()),
    ];
    for setting in &arguments.settings {
        let (key, value) =
            setting.split_once('=').with_context(|| format!("`{setting}` is not key=value"))?;
        settings.push((key.to_string(), value.to_string()));
    }
    let program = arguments.server.clone();
    let server =
        Server::start(&ServerOptions { program, folder: arguments.folder.clone(), settings }).await?;
    if arguments.pin {
        pin(server.process_id())?;
    }
    Ok(server)
}

/// Moves all threads of a process to the first core.
fn pin(process: u32) -> Result<()> {
    let status = Command::new("taskset")
        .args(["-a", "-p", "-c", "0", &process.to_string()])
        .stdout(Stdio::null())
        .status()
        .context("taskset")?;
    ensure!(status.success(), "taskset failed");
    Ok(())
}

/// Lists the market and makes the accounts.
async fn prepare(server: &mut Server, name: &'static str) -> Result<Subject> {
    let mut connection = Connection::open(server.address).await?;
    let market = MarketText {
        symbol: SYMBOL.to_string(),
        tick_size: "0.01".to_string(),
        lot_size: "1".to_string(),
        min_notional: "1".to_string(),
        maker_fee_bps: 5,
        taker_fee_bps: 10,
    };
    api::list_market(&mut connection, &server.admin_key, &market).await?;
    let mut keys = Vec::new();
    for pair in 0..PAIRS {
        let mut both = [String::new(), String::new()];
        for (side, key) in both.iter_mut().enumerate() {
            let wallet = Wallet::from_seed(SEED, 2 * pair + side as u32);
            let token = api::login(&mut connection, &wallet).await?;
            *key = api::key_header(&api::create_api_key(&mut connection, &token).await?);
            for token in [BASE_TOKEN, QUOTE_TOKEN] {
                api::credit(&mut connection, &server.admin_key, &wallet, token, "1000000000000").await?;
            }
        }
        keys.push(both);
    }
    Ok(Subject::new(name, server.address, server.process_id(), keys))
}

/// A resting order's and its counterpart's answers; the second, with its fill, is what the bare server answers.
async fn record(subject: &mut Subject) -> Result<FixedAnswer> {
    let mut connection = Connection::open(subject.address).await?;
    let [seller, buyer] = subject.keys[0].clone();
    connection.call(&order("sell", &seller)).await?;
    let answer = connection.call(&order("buy", &buyer)).await?;
    ensure!(answer.status == 200, "{}", String::from_utf8_lossy(answer.body));
    subject.placed[0] += 1;
    subject.placed[1] += 1;
    FixedAnswer::recorded(answer.status, answer.head, answer.body)
}

/// This program as the bare server, a process of its own like the exchange.
struct BareServer {
    child: Child,
    address: SocketAddr,
}

impl BareServer {
    async fn start(arguments: &Arguments, answer: &FixedAnswer) -> Result<BareServer> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let child = Command::new(std::env::current_exe()?)
            .args(["--workers", &arguments.workers.to_string()])
            .args(["--bare", &address.to_string(), &serde_json::to_string(answer)?])
            .stdin(Stdio::null())
            .spawn()?;
        let server = BareServer { child, address };
        if arguments.pin {
            pin(server.child.id())?;
        }
        let deadline = Instant::now() + Duration::from_secs(10);
        while Connection::open(address).await.is_err() {
            ensure!(Instant::now() < deadline, "the bare server does not answer");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(server)
    }
}

impl Drop for BareServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn summary(
    arguments: &Arguments,
    subjects: &[Subject],
    answer: &FixedAnswer,
    rate: f64,
    foreign: f64,
) -> Result<(String, bool)> {
    let mut text = report::heading();
    writeln!(
        text,
        "order placement, {} worker thread(s), {} repetitions of {} s, answers of {} bytes, {}",
        arguments.workers,
        arguments.repetitions,
        arguments.seconds,
        answer.body_len(),
        if arguments.pin { "servers on one core, client on the other" } else { "not pinned" }
    )?;
    for subject in &subjects[1..] {
        let [sells, buys] = subject.placed;
        writeln!(text, "{}: all of {} orders in the book or traded, once", subject.name, sells + buys)?;
    }
    writeln!(
        text,
        "\n{:<12} {:>11} {:>12} {:>8} {:>20}",
        "", "connections", "requests/s", "x bare", "server us/request"
    )?;
    for (part, connections) in CONNECTIONS.iter().enumerate() {
        let bare = report::median(&subjects[0].rates[part]);
        for subject in subjects {
            let per_second = report::median(&subject.rates[part]);
            let cost = report::median(&subject.costs[part]);
            writeln!(
                text,
                "{:<12} {connections:>11} {per_second:>12.0} {:>8.2} {cost:>20.1}",
                subject.name,
                per_second / bare
            )?;
        }
    }
    let mut rows = Vec::new();
    let mut names = Vec::new();
    for (part, connections) in CONNECTIONS.iter().enumerate() {
        for subject in subjects {
            names.push(format!("{}, {connections} connection(s)", subject.name));
            rows.push(&subject.latencies[part]);
        }
    }
    let table: Vec<_> = names.iter().map(String::as_str).zip(rows).collect();
    writeln!(text, "\nclosed loop, from sending to answer:")?;
    text.push_str(&report::percentile_table(&table, Unit::Microseconds));
    writeln!(
        text,
        "\nopen loop at {rate:.0} requests/s over {} connections, from when due:",
        CONNECTIONS[1]
    )?;
    let table: Vec<_> = subjects.iter().map(|subject| (subject.name, &subject.paced)).collect();
    text.push_str(&report::percentile_table(&table, Unit::Microseconds));
    text.push('\n');
    let mut passed = true;
    let [bare, written, ..] = subjects else { bail!("three servers were compared") };
    for (part, connections) in CONNECTIONS.iter().enumerate().skip(1) {
        let ratio = report::median(&written.rates[part]) / report::median(&bare.rates[part]);
        let (reached, line) =
            bar(&format!("written, {connections} connections, requests/s x bare"), ratio, 0.6, false);
        passed &= reached;
        text.push_str(&line);
    }
    let median = |subject: &Subject| subject.latencies[0].value_at_quantile(0.5) as f64;
    let (reached, line) = bar("written, unloaded median x bare", median(written) / median(bare), 3.0, true);
    passed &= reached;
    text.push_str(&line);
    writeln!(text, "other processes used {foreign:.1} % of the machine")?;
    Ok((text, passed))
}
