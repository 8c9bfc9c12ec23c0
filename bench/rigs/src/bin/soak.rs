//! Runs the exchange for long under mixed traffic, with a kill -9 or several, and fails where something grows that should not:
//! memory or descriptors with the orders answered, the memory of connections that are gone, the journal beyond its retention,
//! the time that an order takes. Ends with the proof of all ledgers and `ringside verify`.
//!
//! Kills come in the first quarter of the time; growth is judged over the life behind the last of them, once histories have
//! filled their windows and the archive its caches. What may grow, and why, stands at [`Allowed`].
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program for people")]

use anyhow::{Context, Result, ensure};
use clap::Parser;
use futures_util::future::try_join_all;
use ringside_load::api::{self, BASE_TOKEN, MarketText, QUOTE_TOKEN};
use ringside_load::connection::Connection;
use ringside_load::server::{Server, ServerArguments};
use ringside_load::signed::Signing;
use ringside_load::wallet::Wallet;
use ringside_rigs::soak::gauge::{Sample, median, per_order};
use ringside_rigs::soak::traders::{Operator, PerpetualTrader, Probe, SpotTrader};
use ringside_rigs::soak::visitors::{self, Visitor};
use ringside_rigs::soak::{Counts, PERPETUAL, SPOT, Tour, run};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime};

#[derive(Parser)]
#[command(about = "Runs the exchange for long under mixed traffic and looks for what grows")]
struct Arguments {
    /// Minutes of traffic.
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Of everything that is random in the traffic.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Orders a second, about.
    #[arg(long, default_value_t = 2_000)]
    rate: u32,
    /// Kills with -9, each followed by a restart.
    #[arg(long, default_value_t = 2)]
    kills: u32,
    /// Seconds between two looks at the process.
    #[arg(long, default_value_t = 5.0)]
    every: f64,
    /// Connections of each wave at the end.
    #[arg(long, default_value_t = 800)]
    wave: usize,
    #[command(flatten)]
    server: ServerArguments,
}

/// Traders of each venue.
const TRADERS: u32 = 8;
/// Gamblers at the highest leverage.
const GAMBLERS: u32 = 4;
/// Credited to each trader.
const CREDIT: &str = "1000000000";
/// Waves of connections at the end.
const WAVES: usize = 4;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.context("no runtime").and_then(|runtime| runtime.block_on(soak(&arguments)));
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("FAILED: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn soak(arguments: &Arguments) -> Result<()> {
    // Frequent snapshots and short segments, so that retention has been at work long before the end; windows that fill in the
    // warm-up.
    let settings = [("segment_len", "8MiB"), ("snapshot_interval", "20s"), ("history_window", "8192")];
    let mut server = Server::start(&arguments.server.options(&settings)?).await?;
    let result = live(arguments, &mut server).await;
    if result.is_err() {
        eprintln!("the server's last words:\n{}", server.log_tail());
    }
    result
}

/// Everybody who takes part.
struct Crowd {
    spot: Vec<SpotTrader>,
    perpetual: Vec<PerpetualTrader>,
    operator: Operator,
    probe: Probe,
    visitor: Visitor,
}

impl Crowd {
    /// One round, in which the exchange is killed at the end where `kills` says so.
    async fn round(&mut self, server: &mut Server, tour: &Tour, length: Duration, kills: bool) -> Result<()> {
        tour.begin();
        let spot = try_join_all(self.spot.iter_mut().map(|trader| run(trader, tour)));
        let perpetual = try_join_all(self.perpetual.iter_mut().map(|trader| run(trader, tour)));
        let others = async {
            tokio::try_join!(
                run(&mut self.operator, tour),
                run(&mut self.probe, tour),
                run(&mut self.visitor, tour)
            )
        };
        let ending = async {
            tokio::time::sleep(length).await;
            tour.end();
            if kills { server.kill() } else { Ok(()) }
        };
        tokio::try_join!(spot, perpetual, others, ending).map(drop)
    }
}

async fn live(arguments: &Arguments, server: &mut Server) -> Result<()> {
    let tour = Tour::new(server.address, &server.admin_key);
    let mut crowd = crowd(arguments, server).await?;
    let (begin, length) = (Instant::now(), Duration::from_secs_f64(arguments.minutes * 60.0));
    let first_day = day()?;
    let mut kill_at: Vec<Duration> = (1..=arguments.kills)
        .rev()
        .map(|kill| length.mul_f64(0.25 * f64::from(kill) / f64::from(arguments.kills)))
        .collect();
    let (mut samples, mut before) = (Vec::new(), (Duration::ZERO, 0));
    let mut killed_at = Counts::default();
    println!("{}", heading());
    while begin.elapsed() < length {
        let kills = kill_at.pop_if(|at| begin.elapsed() >= *at).is_some();
        crowd.round(server, &tour, Duration::from_secs_f64(arguments.every), kills).await?;
        if kills {
            let length = Sample::take(std::process::id(), &server.data_folder())?.journal;
            let took = server.restart().await?;
            println!(
                "kill -9: {took:.1?} to recover from {:.0} MiB of journal and snapshots, {} orders after the last kill or start",
                length / MIB,
                tour.counts.borrow().orders - killed_at.orders
            );
            (killed_at, before) = (*tour.counts.borrow(), (Duration::ZERO, tour.counts.borrow().orders));
            samples.clear();
            continue;
        }
        // Connections that were left are seen to be gone.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let sample = look(server, &tour, begin, &mut before)?;
        println!("{}", line(&sample));
        samples.push(sample);
    }
    let counts = *tour.counts.borrow();
    let mut connection = Connection::open(server.address).await?;
    println!(
        "{} orders, {} with idempotency keys; {} visits, {} new accounts; {} orders liquidated as far back as gamblers can ask",
        counts.orders,
        counts.keyed,
        counts.visits,
        counts.accounts,
        crowd.operator.liquidated(&mut connection).await?
    );
    let (midnights, fundings) = (day()? - first_day, fundings(&mut connection).await?);
    println!("{midnights} midnights, {fundings} fundings of {PERPETUAL}");
    ensure!(midnights <= fundings as u64, "every midnight is an hour of funding");
    prove(&mut connection, &server.admin_key).await?;
    let verdict = judge(&samples, since(&counts, &killed_at));
    waves(arguments.wave, server).await?;
    server.kill()?;
    let verified = Command::new(server.program()).arg("verify").arg(server.data_folder()).output()?;
    ensure!(verified.status.success(), "verify: {}", String::from_utf8_lossy(&verified.stdout));
    println!("the ledgers add up, and `ringside verify` finds nothing");
    verdict
}

const MIB: f64 = (1 << 20) as f64;

fn since(now: &Counts, then: &Counts) -> Counts {
    Counts {
        orders: now.orders - then.orders,
        keyed: now.keyed - then.keyed,
        accounts: now.accounts - then.accounts,
        visits: now.visits - then.visits,
    }
}

fn look(server: &Server, tour: &Tour, begin: Instant, before: &mut (Duration, u64)) -> Result<Sample> {
    let mut probed = tour.probed.borrow_mut();
    probed.sort_unstable();
    let at =
        |quantile: f64| probed.get((probed.len() as f64 * quantile) as usize).map_or(0.0, |us| *us as f64);
    let (orders, processor) = (tour.counts.borrow().orders, server.processor_time()?);
    let used = processor.saturating_sub(before.0).as_secs_f64() * 1e6;
    let sample = Sample {
        at_s: begin.elapsed().as_secs_f64(),
        orders: orders as f64,
        probe: [at(0.5), at(0.99)],
        processor: used / (orders - before.1).max(1) as f64,
        ..Sample::take(server.process_id(), &server.data_folder())?
    };
    *before = (processor, orders);
    Ok(sample)
}

fn heading() -> &'static str {
    "     s     orders  resident MiB  descriptors  threads  journal MiB  archive MiB  probe p50, p99 us  processor us/order"
}

fn line(sample: &Sample) -> String {
    format!(
        "{:6.0} {:10.0} {:13.1} {:12.0} {:8.0} {:12.1} {:12.1} {:10.0} {:7.0} {:19.1}",
        sample.at_s,
        sample.orders,
        sample.resident / MIB,
        sample.descriptors,
        sample.threads,
        sample.journal / MIB,
        sample.archive / MIB,
        sample.probe[0],
        sample.probe[1],
        sample.processor
    )
}

/// What may grow, and by how much.
struct Allowed;

impl Allowed {
    /// Bytes for each order with an idempotency key, for a day: 41 in the engine and in its follower; its outcome, 54 in the views
    /// and 45 in the archiver's, more where it traded; and 130 in the snapshot that is made of both.
    const KEYED: f64 = 400.0;
    /// Bytes for each account, which stays for good: rows of the engine, of its follower, of the views and of the auditor, and
    /// three API keys.
    const ACCOUNT: f64 = 20_000.0;
    /// Bytes for each order beside those: the rolling day keeps 104 for each millisecond with trades, of which there is one for
    /// every ten orders, until it has 100,000; candles and hours of volume add a little. A leak of one record per order would be
    /// 100 or more.
    const ORDER: f64 = 24.0;
    /// Bytes of pages that the archive's writer and its two readers keep, with what they are kept in.
    const CACHES: f64 = 160.0 * MIB;
    /// Bytes by which an archive has grown when these are full: a page is written more than once.
    const FULL: f64 = 256.0 * MIB;
    /// Descriptors for each order: one in a hundred thousand, which is the noise of readers that come and go.
    const DESCRIPTORS: f64 = 1e-5;
    /// Bytes that a connection may leave behind: nothing but what the allocator cannot give back at once.
    const CONNECTION: f64 = 4_096.0;
}

/// Looks that make a verdict.
const LOOKS: usize = 6;

/// Whether what was seen behind the warm-up stays in its bounds.
fn judge(samples: &[Sample], counts: Counts) -> Result<()> {
    let full_at = samples[0].archive + Allowed::FULL;
    let full =
        samples.iter().position(|sample| sample.archive >= full_at).map_or(&[][..], |at| &samples[at..]);
    let late = &samples[samples.len() / 3..];
    let warm = if full.len() < LOOKS || full.len() > late.len() { late } else { full };
    ensure!(warm.len() >= LOOKS, "too few looks behind the warm-up: run for longer");
    let (first, last) = (warm[0], warm[warm.len() - 1]);
    let room = if full.len() < LOOKS { Allowed::CACHES / (last.orders - first.orders).max(1.0) } else { 0.0 };
    let orders = counts.orders.max(1) as f64;
    let allowed = Allowed::ORDER
        + room
        + Allowed::KEYED * counts.keyed as f64 / orders
        + Allowed::ACCOUNT * counts.accounts as f64 / orders;
    let resident = per_order(warm, |sample| sample.resident);
    let descriptors = per_order(warm, |sample| sample.descriptors);
    let archive = per_order(samples, |sample| sample.archive);
    let half = warm.len() / 2;
    let halves = |figure: fn(&Sample) -> f64| (median(&warm[..half], figure), median(&warm[half..], figure));
    let (journal, processor) = (halves(|sample| sample.journal), halves(|sample| sample.processor));
    let (threads, memory) = (halves(|sample| sample.threads), halves(|sample| sample.resident));
    println!(
        "behind the warm-up, for each of {:.0} orders: {resident:.1} bytes of memory ({allowed:.1} allowed), {archive:.0} of archive, \
         {descriptors:.1e} descriptors; from the first half to the second: memory {:.0} to {:.0} MiB, journal {:.0} to {:.0} MiB, \
         threads {:.0} to {:.0}, processor {:.1} to {:.1} us",
        last.orders - first.orders,
        memory.0 / MIB,
        memory.1 / MIB,
        journal.0 / MIB,
        journal.1 / MIB,
        threads.0,
        threads.1,
        processor.0,
        processor.1
    );
    ensure!(
        resident <= allowed,
        "memory grows by {resident:.1} bytes with each order, {allowed:.1} are accounted for"
    );
    ensure!(descriptors <= Allowed::DESCRIPTORS, "descriptors grow with the orders");
    // Threads that wait for the disk come and go.
    ensure!(threads.1 <= threads.0 + 4.0, "threads grow");
    ensure!(journal.1 <= 1.5 * journal.0 + 32.0 * MIB, "the journal is not kept in bounds");
    ensure!(processor.1 <= 1.5 * processor.0, "an order takes ever more of the processor");
    Ok(())
}

/// Connects many sockets and many idle connections several times over: memory and descriptors come back.
async fn waves(connections: usize, server: &Server) -> Result<()> {
    let sample = || Sample::take(server.process_id(), &server.data_folder());
    let calm = sample()?;
    let mut left = Vec::new();
    for _ in 0..WAVES {
        let (mut sockets, mut idle) = (Vec::new(), Vec::new());
        for number in 0..connections {
            if number % 2 == 0 {
                let subscribe = format!(r#"{{"type":"subscribe","channel":"spot:depth:{SPOT}"}}"#);
                sockets.push(visitors::open(server.address, "/ws", Some(subscribe)).await?);
            } else {
                let mut connection = Connection::open(server.address).await?;
                connection.call(&api::request("GET", "/spot/health", "", None)).await?;
                idle.push(connection);
            }
        }
        let crowded = sample()?;
        drop((sockets, idle));
        tokio::time::sleep(Duration::from_secs(3)).await;
        let gone = sample()?;
        println!(
            "{connections} connections: {:.1} KiB each; gone, {:.1} MiB and {:.0} descriptors are left",
            (crowded.resident - calm.resident) / connections as f64 / 1024.0,
            gone.resident / MIB,
            gone.descriptors
        );
        left.push(gone);
    }
    // What the allocator gives back late is as much as a thousand sockets: the lowest of the later waves counts.
    let (first, later) = (left[0], &left[WAVES - 2..]);
    let lowest = later.iter().map(|gone| gone.resident).fold(f64::MAX, f64::min);
    let kept = (lowest - first.resident) / (connections * (WAVES - 2)) as f64;
    ensure!(kept <= Allowed::CONNECTION, "a connection that is gone leaves {kept:.0} bytes behind");
    let last = later[later.len() - 1];
    ensure!(last.descriptors <= calm.descriptors + 8.0, "descriptors of connections are left open");
    Ok(())
}

/// The day that it is by the clock of this process, which is the exchange's.
fn day() -> Result<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs() / 86_400)
}

/// How often the market has settled its funding.
async fn fundings(connection: &mut Connection) -> Result<usize> {
    let path = format!("/fapi/v1/fundingRate?symbol={PERPETUAL}");
    let rows: Vec<serde_json::Value> = api::ask(connection, &api::request_at("GET", &path, "", None)).await?;
    Ok(rows.len())
}

/// Every ledger adds up.
async fn prove(connection: &mut Connection, admin_key: &str) -> Result<()> {
    let request = api::request_at("GET", "/admin/ledger/proof", &api::key_header(admin_key), None);
    let proof: serde_json::Value = api::ask(connection, &request).await?;
    let text = proof.to_string();
    ensure!(text.contains(r#""equal":true"#) && !text.contains(r#""equal":false"#), "{text}");
    Ok(())
}

/// Lists the market; logs everybody in and credits them.
async fn crowd(arguments: &Arguments, server: &Server) -> Result<Crowd> {
    let mut connection = Connection::open(server.address).await?;
    let connection = &mut connection;
    let market = MarketText {
        symbol: SPOT.to_owned(),
        tick_size: "0.0001".to_owned(),
        lot_size: "0.1".to_owned(),
        min_notional: "0.01".to_owned(),
        maker_fee_bps: 5,
        taker_fee_bps: 10,
    };
    api::list_market(connection, &server.admin_key, &market).await?;
    let seed = arguments.seed;
    let (mut spot, mut perpetual, mut gamblers, mut readable) = (vec![], vec![], vec![], vec![]);
    // The mean pause is half of the longest; an answer takes its own time.
    let pause_max = Duration::from_secs_f64(4.0 * f64::from(TRADERS) / f64::from(arguments.rate.max(1)));
    for number in 0..=2 * TRADERS + GAMBLERS {
        let wallet = Wallet::from_seed(seed, number);
        let token = api::login(connection, &wallet).await?;
        let (key, secret) = api::create_signing_key(connection, &token).await?;
        let signing = Signing { key, secret };
        let header = api::key_header(&signing.key);
        if number <= TRADERS {
            for token in [BASE_TOKEN, QUOTE_TOKEN] {
                api::credit(connection, &server.admin_key, &wallet, token, CREDIT).await?;
            }
        } else if number <= 2 * TRADERS {
            api::credit_perpetual(connection, &server.admin_key, &wallet, "100000000").await?;
        }
        match number {
            0..TRADERS => spot.push(SpotTrader::new(number, header, seed, pause_max)),
            TRADERS => {}
            _ if number <= 2 * TRADERS => {
                perpetual.push(PerpetualTrader::new(number, signing.clone(), seed, pause_max));
            }
            _ => {
                let leverage = signing.request("POST", "/v1/leverage", "symbol=BTCUSDT&leverage=100")?;
                api::ask::<serde_json::Value>(connection, &leverage).await?;
                gamblers.push((wallet, signing.clone()));
            }
        }
        readable.push(signing);
    }
    let probe = Probe::new(api::key_header(&readable[TRADERS as usize].key), seed);
    let (operator, visitor) = (Operator::new(seed, gamblers), Visitor::new(seed, readable));
    Ok(Crowd { spot, perpetual, operator, probe, visitor })
}
