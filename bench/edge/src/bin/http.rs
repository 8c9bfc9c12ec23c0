//! Order placement over HTTP: the exchange, acknowledging `written` and `durable`, beside a bare hyper server that
//! answers the same bytes with the same number of threads, interleaved in one run. Prints nothing but the fault
//! when an order was lost, doubled or not answered with success.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use ringside_bench::report::{self, ForeignLoad, bar};
use ringside_load::api::{self, BASE_TOKEN, DepthAnswer, MarketText, PublicTrade, QUOTE_TOKEN, ask, request};
use ringside_load::bare::{self, BareServer, FixedAnswer};
use ringside_load::connection::Connection;
use ringside_load::drive::Lane;
use ringside_load::server::{Server, ServerArguments};
use ringside_load::subject::{self, Subject};
use ringside_load::wallet::Wallet;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

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
    /// Counts of connections; 64 is to be among them.
    #[arg(long, value_delimiter = ',', default_value = "1,64,256")]
    connections: Vec<usize>,
    /// Gateway threads, and threads of the bare server.
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Requests a second of the open-loop part; half of what `written` reached if not given.
    #[arg(long)]
    rate: Option<f64>,
    /// Pin servers to the first core and the client to the second, with taskset.
    #[arg(long)]
    pin: bool,
    #[command(flatten)]
    server: ServerArguments,
    #[command(flatten)]
    report: report::Arguments,
    /// Be the bare server at this address.
    #[arg(long, hide = true)]
    bare: Option<SocketAddr>,
}

const SYMBOL: &str = "HTTPBENCH";
/// Pairs of accounts, one that sells and one that buys.
const PAIRS: u32 = 64;
const SEED: u64 = 8;

impl Arguments {
    /// The part of 64 connections, at half of whose rate the paced part goes.
    fn loaded(&self) -> Result<usize> {
        self.connections.iter().position(|count| *count == 64).context("64 is not among the connections")
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(address) = arguments.bare {
        return bare::serve(address, arguments.workers);
    }
    if arguments.pin {
        core_affinity::set_for_current(core_affinity::CoreId { id: 1 });
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, compare(&arguments))
}

/// One server, its traders, and what they placed.
struct Venue {
    subject: Subject,
    /// Header lines of the sellers' and buyers' keys, pairwise.
    keys: Vec<[String; 2]>,
    /// Placed and answered: sells, buys.
    placed: [u64; 2],
}

impl Venue {
    fn new(subject: Subject, keys: Vec<[String; 2]>) -> Venue {
        Venue { subject, keys, placed: [0; 2] }
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
            lanes.push(Lane::open(self.subject.address, requests).await?);
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
        let lanes = self.lanes(self.subject.connections(part)).await?;
        let lanes = self.subject.closed(part, lanes, Duration::from_secs_f64(arguments.seconds)).await?;
        self.count(&lanes);
        Ok(())
    }

    async fn paced(&mut self, rate: f64, arguments: &Arguments) -> Result<()> {
        let lanes = self.lanes(self.subject.connections(arguments.loaded()?)).await?;
        let lanes = self.subject.paced(rate, lanes, Duration::from_secs_f64(arguments.seconds)).await?;
        self.count(&lanes);
        Ok(())
    }

    /// Every order answered is in the book or traded, once.
    async fn check(&self) -> Result<()> {
        let [sells, buys] = self.placed;
        let mut connection = Connection::open(self.subject.address).await?;
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
            self.subject.name
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
    let loaded = arguments.loaded()?;
    let load = ForeignLoad::start();
    let mut written = start(arguments, "written").await?;
    let mut durable = start(arguments, "durable").await?;
    let mut venues = vec![
        prepare(&mut written, "written", arguments).await?,
        prepare(&mut durable, "durable", arguments).await?,
    ];
    let answer = record(&mut venues[0]).await?;
    let bare = BareServer::start(&answer, &[], arguments.workers, arguments.pin).await?;
    let subject = Subject::new("bare hyper", bare.address, bare.process_id(), &arguments.connections);
    venues.insert(0, Venue::new(subject, venues[0].keys.clone()));
    for _ in 0..arguments.repetitions {
        for part in 0..arguments.connections.len() {
            for venue in &mut venues {
                venue.closed(part, arguments).await?;
            }
        }
    }
    let rate = arguments.rate.unwrap_or_else(|| venues[1].subject.rate(loaded) / 2.0);
    for _ in 0..arguments.repetitions.min(3) {
        for venue in &mut venues {
            venue.paced(rate, arguments).await?;
        }
    }
    for venue in &venues[1..] {
        venue.check().await?;
    }
    drop((written, durable, bare));
    let (text, passed) = summary(arguments, venues, &answer, rate, load.percent())?;
    Ok(arguments.report.conclude("http", &text, !passed)?)
}

async fn start(arguments: &Arguments, acknowledge: &str) -> Result<Server> {
    let workers = arguments.workers.to_string();
    let options = arguments.server.options(&[("acknowledge", acknowledge), ("workers", &workers)])?;
    let server = Server::start(&options).await?;
    if arguments.pin {
        subject::pin(server.process_id())?;
    }
    Ok(server)
}

/// Lists the market and makes the accounts.
async fn prepare(server: &mut Server, name: &'static str, arguments: &Arguments) -> Result<Venue> {
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
    let subject = Subject::new(name, server.address, server.process_id(), &arguments.connections);
    Ok(Venue::new(subject, keys))
}

/// A resting order's and its counterpart's answers; the second, with its fill, is what the bare server answers.
async fn record(venue: &mut Venue) -> Result<FixedAnswer> {
    let mut connection = Connection::open(venue.subject.address).await?;
    let [seller, buyer] = venue.keys[0].clone();
    connection.call(&order("sell", &seller)).await?;
    let answer = connection.call(&order("buy", &buyer)).await?;
    ensure!(answer.status == 200, "{}", String::from_utf8_lossy(answer.body));
    venue.placed[0] += 1;
    venue.placed[1] += 1;
    FixedAnswer::recorded(answer.status, answer.head, answer.body)
}

fn summary(
    arguments: &Arguments,
    venues: Vec<Venue>,
    answer: &FixedAnswer,
    rate: f64,
    foreign: f64,
) -> Result<(String, bool)> {
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    writeln!(
        text,
        "order placement, {} worker thread(s), {} repetitions of {} s, answers of {} bytes, {}",
        arguments.workers,
        arguments.repetitions,
        arguments.seconds,
        answer.body_len(),
        if arguments.pin { "servers on one core, client on the other" } else { "not pinned" }
    )?;
    for venue in &venues[1..] {
        let [sells, buys] = venue.placed;
        writeln!(text, "{}: all of {} orders in the book or traded, once", venue.subject.name, sells + buys)?;
    }
    let subjects: Vec<Subject> = venues.into_iter().map(|venue| venue.subject).collect();
    writeln!(text, "\n{}", subject::rate_table(&subjects))?;
    writeln!(text, "closed loop, from sending to answer:\n{}", subject::latency_table(&subjects))?;
    writeln!(
        text,
        "open loop at {rate:.0} requests/s over 64 connections, from when due:\n{}",
        subject::paced_table(&subjects)
    )?;
    let mut passed = true;
    let [bare, written, ..] = subjects.as_slice() else { bail!("three servers were compared") };
    for (part, connections) in arguments.connections.iter().enumerate() {
        let (reached, line) = if *connections == 1 {
            let median = |subject: &Subject| subject.latencies(part).value_at_quantile(0.5) as f64;
            bar("written, unloaded median x bare", median(written) / median(bare), 3.0, true)
        } else {
            let ratio = written.rate(part) / bare.rate(part);
            bar(&format!("written, {connections} connections, requests/s x bare"), ratio, 0.6, false)
        };
        passed &= reached;
        text.push_str(&line);
    }
    writeln!(text, "other processes used {foreign:.1} % of the machine")?;
    Ok((text, passed))
}
