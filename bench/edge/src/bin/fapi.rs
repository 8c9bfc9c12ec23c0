//! Signed order placement through the perpetual API: the exchange, acknowledging `written` and `durable`, beside a bare
//! hyper server that checks the same signatures and answers the same bytes with the same number of threads, interleaved in
//! one run; and how long after the answer the account's own stream tells of the order. Prints nothing but the fault when
//! an order was lost, doubled or not answered with success.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use futures_util::{SinkExt, StreamExt};
use ringside_bench::report::{self, ForeignLoad, bar};
use ringside_load::api::{self, DepthAnswer, ask, request_at};
use ringside_load::bare::{self, BareServer, FixedAnswer};
use ringside_load::connection::Connection;
use ringside_load::decimal::parse_decimal;
use ringside_load::drive::{Lane, open};
use ringside_load::server::{Server, ServerArguments};
use ringside_load::signed::Signing;
use ringside_load::subject::{self, Subject};
use ringside_load::wallet::Wallet;
use serde::Deserialize;
use std::cell::Cell;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, client_async};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Signed order placement beside a bare hyper server.
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
    /// Orders whose way to the account's stream is measured, without other load.
    #[arg(long, default_value_t = 3_000)]
    orders: usize,
    #[command(flatten)]
    server: ServerArguments,
    #[command(flatten)]
    report: report::Arguments,
    /// Be the bare server at this address.
    #[arg(long, hide = true)]
    bare: Option<SocketAddr>,
}

/// The market, which every test deployment ships with its index pinned.
const SYMBOL: &str = "BTCUSDT";
/// Where the orders meet.
const PRICE: &str = "60000";
/// Where an order rests alone.
const PRICE_AWAY: &str = "59000";
/// One order, in its market's last decimal.
const QUANTITY: &str = "0.001";
const QUANTITY_DECIMALS: u32 = 3;
/// Pairs of accounts that trade with each other.
const PAIRS: u32 = 64;
const CREDIT: &str = "1000000";
const SEED: u64 = 9;
/// The part of the bare server's rate that is to be reached.
const SHARE: f64 = 0.55;

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
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, compare(&arguments))
}

async fn compare(arguments: &Arguments) -> Result<()> {
    let loaded = arguments.loaded()?;
    let load = ForeignLoad::start();
    let (mut written, mut durable) = (start(arguments, "written").await?, start(arguments, "durable").await?);
    let mut venues = vec![
        Venue::open(&mut written, "written", arguments).await?,
        Venue::open(&mut durable, "durable", arguments).await?,
    ];
    let answer = venues[0].record().await?;
    let traders = venues[0].traders.clone();
    let bare = BareServer::start(&answer, &traders, arguments.workers, false).await?;
    let subject = Subject::new("bare hyper", bare.address, bare.process_id(), &arguments.connections);
    venues.insert(0, Venue { subject, traders, placed: [0; 2] });
    for venue in &venues {
        venue.refuses_forgeries().await?;
    }
    for _ in 0..arguments.repetitions {
        for (part, connections) in arguments.connections.iter().enumerate() {
            for venue in &mut venues {
                let lanes = venue.lanes(*connections).await?;
                let measured = Duration::from_secs_f64(arguments.seconds);
                let lanes = venue.subject.closed(part, lanes, measured).await?;
                venue.count(&lanes);
            }
        }
    }
    let mut delays = Vec::new();
    for venue in &mut venues[1..] {
        delays.push((format!("{}, alone", venue.subject.name), venue.delays(arguments.orders).await?));
        let rate = venue.subject.rate(loaded) / 2.0;
        let name = format!("{}, {rate:.0} orders/s", venue.subject.name);
        delays
            .push((name, venue.delays_under(rate, Duration::from_secs_f64(3.0 * arguments.seconds)).await?));
    }
    for venue in &venues[1..] {
        venue.check().await?;
    }
    drop((written, durable, bare));
    let (text, passed) = summary(arguments, venues, &answer, &delays, load.percent())?;
    Ok(arguments.report.conclude("fapi", &text, !passed)?)
}

async fn start(arguments: &Arguments, acknowledge: &str) -> Result<Server> {
    let workers = arguments.workers.to_string();
    let options = arguments.server.options(&[("acknowledge", acknowledge), ("workers", &workers)])?;
    Server::start(&options).await
}

/// One server, its traders, and what they placed.
struct Venue {
    subject: Subject,
    /// Pairwise those that trade with each other, then one that trades with nobody.
    traders: Vec<Signing>,
    /// Placed at [`PRICE`] and answered: sells, buys.
    placed: [u64; 2],
}

#[derive(Deserialize)]
struct Trade {
    id: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Placed {
    order_id: u64,
    status: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListenKey {
    listen_key: String,
}

impl Venue {
    /// Makes the accounts.
    async fn open(server: &mut Server, name: &'static str, arguments: &Arguments) -> Result<Venue> {
        let mut connection = Connection::open(server.address).await?;
        let mut traders = Vec::new();
        for index in 0..=2 * PAIRS {
            let wallet = Wallet::from_seed(SEED, index);
            let token = api::login(&mut connection, &wallet).await?;
            let (key, secret) = api::create_signing_key(&mut connection, &token).await?;
            api::credit_perpetual(&mut connection, &server.admin_key, &wallet, CREDIT).await?;
            traders.push(Signing { key, secret });
        }
        let subject = Subject::new(name, server.address, server.process_id(), &arguments.connections);
        Ok(Venue { subject, traders, placed: [0; 2] })
    }

    /// A resting order's and its counterpart's answers; the second is what the bare server answers.
    async fn record(&mut self) -> Result<FixedAnswer> {
        let mut connection = Connection::open(self.subject.address).await?;
        connection.call(&order(&self.traders[0], "SELL", PRICE)?).await?;
        let answer = connection.call(&order(&self.traders[1], "BUY", PRICE)?).await?;
        let said = String::from_utf8_lossy(answer.body);
        ensure!(answer.status == 200 && said.contains(r#""status":"FILLED""#), "{said}");
        self.placed = [1, 1];
        FixedAnswer::recorded(answer.status, answer.head, answer.body)
    }

    /// An order under another's signature must not be answered like one.
    async fn refuses_forgeries(&self) -> Result<()> {
        let mut connection = Connection::open(self.subject.address).await?;
        let forged = Signing { key: self.traders[0].key.clone(), secret: self.traders[1].secret.clone() };
        let status = connection.call(&order(&forged, "BUY", PRICE)?).await?.status;
        ensure!(status != 200, "{} takes forged orders", self.subject.name);
        Ok(())
    }

    /// Connections whose orders alternate at one price, so that each meets the one before. Each account sells as often as it
    /// buys, so that no position grows.
    async fn lanes(&self, count: usize) -> Result<Vec<Lane>> {
        let mut lanes = Vec::new();
        for lane in 0..count {
            let pair = lane % PAIRS as usize;
            let (one, other) = (&self.traders[2 * pair], &self.traders[2 * pair + 1]);
            let mut orders = [("SELL", one), ("BUY", other), ("SELL", other), ("BUY", one)];
            // Half of the connections begin with a buy, so that the book stays small.
            orders.rotate_left(lane % 2);
            let requests =
                orders.iter().map(|(side, trader)| order(trader, side, PRICE)).collect::<Result<_>>()?;
            lanes.push(Lane::open(self.subject.address, requests).await?);
        }
        Ok(lanes)
    }

    fn count(&mut self, lanes: &[Lane]) {
        for (index, lane) in lanes.iter().enumerate() {
            for turn in 0..4 {
                self.placed[(index + turn) % 2] += lane.answered_of(turn as u64);
            }
        }
    }

    /// Microseconds from an answer to the event of its order on the account's stream, ascending: `count` orders that are
    /// placed and canceled.
    async fn delays(&self, count: usize) -> Result<Vec<i64>> {
        let mut watched = Watched::open(self).await?;
        for _ in 0..count {
            watched.place_and_cancel().await?;
        }
        Ok(watched.ended())
    }

    /// The same while others place `rate` orders a second.
    async fn delays_under(&mut self, rate: f64, measured: Duration) -> Result<Vec<i64>> {
        let lanes = self.lanes(64).await?;
        let mut watched = Watched::open(self).await?;
        let is_over = Cell::new(false);
        let others = async {
            let driven = open(lanes, rate, measured, |_, _| ()).await;
            is_over.set(true);
            driven
        };
        let own = async {
            while !is_over.get() {
                watched.place_and_cancel().await?;
            }
            anyhow::Ok(())
        };
        let ((lanes, _), ()) = tokio::try_join!(others, own)?;
        let delays = watched.ended();
        self.count(&lanes);
        Ok(delays)
    }

    /// Every order answered is in the book or traded, once.
    async fn check(&self) -> Result<()> {
        let [sells, buys] = self.placed;
        let mut connection = Connection::open(self.subject.address).await?;
        let public = |path: &str| request_at("GET", &format!("/fapi/v1/{path}&symbol={SYMBOL}"), "", None);
        let depth: DepthAnswer = ask(&mut connection, &public("depth?limit=5")).await?;
        let total = |side: &[(String, String)]| -> Result<u64> {
            let lots = side.iter().map(|level| parse_decimal(&level.1, QUANTITY_DECIMALS));
            Ok(u64::try_from(lots.sum::<Option<i128>>().context("whole lots")?)?)
        };
        let (bids, asks) = (total(&depth.bids)?, total(&depth.asks)?);
        let trades: Vec<Trade> = ask(&mut connection, &public("trades?limit=1")).await?;
        let traded = trades.first().map_or(0, |trade| trade.id);
        ensure!(
            bids + traded == buys && asks + traded == sells,
            "{}: {sells} sells and {buys} buys were answered, but {traded} trades, {asks} sells and {bids} buys \
             are there",
            self.subject.name
        );
        Ok(())
    }
}

fn order(trader: &Signing, side: &str, price: &str) -> Result<Vec<u8>> {
    let params =
        format!("symbol={SYMBOL}&side={side}&type=LIMIT&timeInForce=GTC&quantity={QUANTITY}&price={price}");
    trader.request("POST", "/v1/order", &params)
}

/// The account that trades with nobody, and its stream.
struct Watched<'a> {
    trader: &'a Signing,
    connection: Connection,
    socket: WebSocketStream<TcpStream>,
    delays: Vec<i64>,
}

impl<'a> Watched<'a> {
    async fn open(venue: &'a Venue) -> Result<Watched<'a>> {
        let trader = venue.traders.last().context("there are accounts")?;
        let mut connection = Connection::open(venue.subject.address).await?;
        let made: ListenKey = ask(&mut connection, &trader.request("POST", "/v1/listenKey", "")?).await?;
        let stream = TcpStream::connect(venue.subject.address).await?;
        stream.set_nodelay(true)?;
        let (socket, _) = client_async(format!("ws://ringside/ws/{}", made.listen_key), stream).await?;
        Ok(Watched { trader, connection, socket, delays: Vec::new() })
    }

    async fn place_and_cancel(&mut self) -> Result<()> {
        let id = self.act(&order(self.trader, "BUY", PRICE_AWAY)?, "NEW").await?;
        let params = format!("symbol={SYMBOL}&orderId={id}");
        let canceled = self.act(&self.trader.request("DELETE", "/v1/order", &params)?, "CANCELED").await?;
        ensure!(canceled == id, "another order was canceled");
        Ok(())
    }

    /// Sends a request whose order must become `status`, and waits for answer and event; the order's id.
    async fn act(&mut self, request: &[u8], status: &str) -> Result<u64> {
        let answered = async {
            let placed: Placed = ask(&mut self.connection, request).await?;
            ensure!(placed.status == status, "an order became {}, not {status}", placed.status);
            Ok((placed.order_id, Instant::now()))
        };
        let told = async {
            loop {
                match self.socket.next().await.context("the stream was closed")?? {
                    Message::Text(frame) if frame.starts_with(r#"{"e":"ORDER_TRADE_UPDATE""#) => {
                        return Ok((frame, Instant::now()));
                    }
                    Message::Ping(payload) => self.socket.send(Message::Pong(payload)).await?,
                    _ => {}
                }
            }
        };
        let ((id, answered), (frame, told)) = tokio::try_join!(answered, told)?;
        ensure!(
            frame.contains(&format!(r#""i":{id},"#)) && frame.contains(&format!(r#""X":"{status}""#)),
            "order {id} became {status}, but the stream says {frame}"
        );
        let micros = |duration: Duration| duration.as_micros() as i64;
        self.delays.push(
            micros(told.saturating_duration_since(answered))
                - micros(answered.saturating_duration_since(told)),
        );
        Ok(id)
    }

    fn ended(mut self) -> Vec<i64> {
        self.delays.sort_unstable();
        self.delays
    }
}

fn summary(
    arguments: &Arguments,
    venues: Vec<Venue>,
    answer: &FixedAnswer,
    delays: &[(String, Vec<i64>)],
    foreign: f64,
) -> Result<(String, bool)> {
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    writeln!(
        text,
        "signed order placement, {} worker thread(s), {} repetitions of {} s, answers of {} bytes",
        arguments.workers,
        arguments.repetitions,
        arguments.seconds,
        answer.body_len(),
    )?;
    for venue in &venues[1..] {
        let [sells, buys] = venue.placed;
        writeln!(text, "{}: all of {} orders in the book or traded, once", venue.subject.name, sells + buys)?;
    }
    let subjects: Vec<Subject> = venues.into_iter().map(|venue| venue.subject).collect();
    writeln!(text, "\n{}", subject::rate_table(&subjects))?;
    writeln!(text, "closed loop, from sending to answer:\n{}", subject::latency_table(&subjects))?;
    writeln!(text, "from the answer to ORDER_TRADE_UPDATE on the account's stream, us:")?;
    writeln!(
        text,
        "{:<26} {:>8} {:>7} {:>7} {:>7} {:>7}",
        "acknowledging", "events", "least", "p50", "p99", "most"
    )?;
    for (name, delays) in delays {
        let at = |quantile: f64| delays[((delays.len() - 1) as f64 * quantile) as usize];
        let (least, middle, high, most) = (at(0.0), at(0.5), at(0.99), at(1.0));
        writeln!(text, "{name:<26} {:>8} {least:>7} {middle:>7} {high:>7} {most:>7}", delays.len())?;
    }
    text.push('\n');
    let mut passed = true;
    let [bare, written, ..] = subjects.as_slice() else { bail!("three servers were compared") };
    for (part, connections) in arguments.connections.iter().enumerate().filter(|(_, count)| **count > 1) {
        let ratio = written.rate(part) / bare.rate(part);
        let (reached, line) =
            bar(&format!("written, {connections} connections, requests/s x bare"), ratio, SHARE, false);
        passed &= reached;
        text.push_str(&line);
    }
    writeln!(text, "other processes used {foreign:.1} % of the machine")?;
    Ok((text, passed))
}
