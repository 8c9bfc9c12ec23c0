//! Three times more than the exchange can take, for a minute: what is admitted is answered in bounded time, every cancel is
//! carried out, and nothing is lost (failure model, row 18). Ends with an error where one of the last two does not hold.
//!
//! ```text
//! arrivals at a fixed rate -> an idle connection of many, or none: the client's own limit -> exchange, durable
//! ```
//! Capacity is measured first, as fast as all connections are answered. Then the same mix of places and cancels arrives at a
//! tenth of it (unloaded) and at the multiple (overloaded), whether or not answers come. Latency counts from when a
//! request was sent: an arrival that finds no connection idle is turned away by the client, and said so. The input ring is
//! made short, so that the exchange has to refuse as well. Afterwards every acknowledged order and cancel is looked up.
#![allow(clippy::print_stdout)]

use anyhow::{Result, ensure};
use clap::Parser;
use hdrhistogram::Histogram;
use ringside_bench::op::Random;
use ringside_bench::report::{self, Unit, bar};
use ringside_load::api::{
    self, BASE_TOKEN, BalanceAnswer, MarketText, OrderAnswer, QUOTE_TOKEN, ask, request,
};
use ringside_load::connection::Connection;
use ringside_load::decimal::parse_decimal;
use ringside_load::server::{Server, ServerArguments};
use ringside_load::wallet::Wallet;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::rc::Rc;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Three times more than the exchange can take.
#[derive(Parser)]
struct Arguments {
    /// Seconds of overload.
    #[arg(long, default_value_t = 60.0)]
    seconds: f64,
    /// Seconds of finding the capacity, and of the unloaded part.
    #[arg(long, default_value_t = 5.0)]
    calm_seconds: f64,
    /// Offered, in multiples of the capacity.
    #[arg(long, default_value_t = 3.0)]
    multiple: f64,
    /// Connections.
    #[arg(long, default_value_t = 256)]
    connections: usize,
    /// Slots of each input ring.
    #[arg(long, default_value_t = 256)]
    slots: usize,
    #[command(flatten)]
    server: ServerArguments,
    #[command(flatten)]
    report: report::Arguments,
}

const SYMBOL: &str = "OVERLOAD";
/// Accounts; their open orders stay below what an account may have.
const ACCOUNTS: usize = 64;
/// Open orders of one connection above which it cancels.
const OPEN_MAX: usize = 16;
/// Credited to each account, of both tokens.
const CREDIT: i128 = 1_000_000_000;

/// A connection and what it knows of its orders.
struct Lane {
    connection: Connection,
    account: usize,
    /// Acknowledged as resting and not canceled since.
    open: Vec<String>,
    /// Acknowledged as canceled.
    canceled: Vec<String>,
    random: Random,
}

/// What the answers of a part came to.
struct Part {
    admitted: Histogram<u64>,
    cancels: Histogram<u64>,
    /// Orders refused as busy.
    shed: u64,
    /// Arrivals that found no idle connection.
    turned_away: u64,
    /// Anything else: none may be.
    faults: Vec<String>,
}

impl Part {
    fn new() -> Rc<RefCell<Part>> {
        let (admitted, cancels) = (report::histogram(), report::histogram());
        Rc::new(RefCell::new(Part { admitted, cancels, shed: 0, turned_away: 0, faults: Vec::new() }))
    }

    fn answers(&self) -> u64 {
        self.admitted.len() + self.cancels.len() + self.shed
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, overload(&arguments))
}

async fn overload(arguments: &Arguments) -> Result<()> {
    let options = arguments.server.options(&[("input_ring_slots", &arguments.slots.to_string())])?;
    let server = Server::start(&options).await?;
    let keys = Rc::new(prepare(&server).await?);
    let mut lanes = Vec::new();
    for index in 0..arguments.connections {
        let connection = Connection::open(server.address).await?;
        let random = Random::new(index as u64 + 1);
        lanes.push(Lane { connection, account: index % ACCOUNTS, open: vec![], canceled: vec![], random });
    }
    let mut text = report::heading(env!("CARGO_PKG_NAME"));

    let (lanes, full, elapsed) = saturate(lanes, &keys, arguments.calm_seconds).await?;
    let capacity = full.borrow().answers() as f64 / elapsed;
    let (lanes, calm) = arrivals(lanes, &keys, capacity / 10.0, arguments.calm_seconds).await?;
    let offered = capacity * arguments.multiple;
    let (lanes, loaded) = arrivals(lanes, &keys, offered, arguments.seconds).await?;

    let counts = audit(&server, &keys, &lanes).await;
    let (full, calm, loaded) = (full.borrow(), calm.borrow(), loaded.borrow());
    for fault in [&full, &calm, &loaded].into_iter().flat_map(|part| &part.faults).take(10) {
        println!("fault: {fault}");
    }
    let counts = counts?;
    writeln!(
        text,
        "capacity {capacity:.0} answers/s; offered {offered:.0}/s for {} s: {:.0} admitted/s, {} cancels, {} refused as busy, \
         {} turned away by the client",
        arguments.seconds,
        loaded.admitted.len() as f64 / arguments.seconds,
        loaded.cancels.len(),
        loaded.shed,
        loaded.turned_away,
    )?;
    writeln!(
        text,
        "audited: {} orders open and {} canceled, as acknowledged; both tokens add up",
        counts.0, counts.1
    )?;
    let rows = [
        ("unloaded, orders", &calm.admitted),
        ("unloaded, cancels", &calm.cancels),
        ("at capacity, orders", &full.admitted),
        ("at capacity, cancels", &full.cancels),
        ("overloaded, admitted orders", &loaded.admitted),
        ("overloaded, cancels", &loaded.cancels),
    ];
    writeln!(text, "{}", report::percentile_table(&rows, Unit::Microseconds))?;
    let faults = full.faults.len() + calm.faults.len() + loaded.faults.len();
    ensure!(faults == 0, "{faults} answers that should not be");
    ensure!(loaded.turned_away + loaded.shed > 0, "there was no overload: give --multiple or --connections");
    // More cannot make what is admitted wait for more than what is in flight: the wait is that of full capacity.
    let p99 = |histogram: &Histogram<u64>| histogram.value_at_quantile(0.99) as f64;
    let ratio = p99(&loaded.admitted) / p99(&full.admitted);
    let (is_met, line) = bar("p99 of what is admitted, overloaded / at capacity", ratio, 2.0, true);
    write!(text, "{line}")?;
    Ok(arguments.report.conclude("overload", &text, !is_met)?)
}

/// Lists the market and makes the accounts; the header line of each account's key.
async fn prepare(server: &Server) -> Result<Vec<String>> {
    let mut connection = Connection::open(server.address).await?;
    let market = MarketText {
        symbol: SYMBOL.to_owned(),
        tick_size: "0.01".to_owned(),
        lot_size: "1".to_owned(),
        min_notional: "0.01".to_owned(),
        maker_fee_bps: 0,
        taker_fee_bps: 0,
    };
    api::list_market(&mut connection, &server.admin_key, &market).await?;
    let mut keys = Vec::new();
    for index in 0..ACCOUNTS {
        let wallet = Wallet::from_seed(18, index as u32);
        let token = api::login(&mut connection, &wallet).await?;
        keys.push(api::key_header(&api::create_api_key(&mut connection, &token).await?));
        for token in [BASE_TOKEN, QUOTE_TOKEN] {
            api::credit(&mut connection, &server.admin_key, &wallet, token, &CREDIT.to_string()).await?;
        }
    }
    Ok(keys)
}

/// As fast as answers come, on all connections; also how long that took.
async fn saturate(
    lanes: Vec<Lane>,
    keys: &Rc<Vec<String>>,
    seconds: f64,
) -> Result<(Vec<Lane>, Rc<RefCell<Part>>, f64)> {
    let (part, begin) = (Part::new(), Instant::now());
    let tasks = lanes.into_iter().map(|mut lane| {
        let (keys, part) = (keys.clone(), part.clone());
        tokio::task::spawn_local(async move {
            while begin.elapsed().as_secs_f64() < seconds {
                step(&mut lane, &keys, &part).await?;
            }
            Ok::<Lane, anyhow::Error>(lane)
        })
    });
    let mut lanes = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        lanes.push(task.await??);
    }
    Ok((lanes, part, begin.elapsed().as_secs_f64()))
}

/// So many arrivals a second, each on an idle connection.
async fn arrivals(
    lanes: Vec<Lane>,
    keys: &Rc<Vec<String>>,
    rate: f64,
    seconds: f64,
) -> Result<(Vec<Lane>, Rc<RefCell<Part>>)> {
    let (part, count) = (Part::new(), lanes.len());
    let idle = Rc::new(RefCell::new(lanes));
    let failed: Rc<RefCell<Option<anyhow::Error>>> = Rc::default();
    let (begin, mut arrived) = (Instant::now(), 0u64);
    while begin.elapsed().as_secs_f64() < seconds {
        let due = (begin.elapsed().as_secs_f64() * rate) as u64;
        while arrived < due {
            arrived += 1;
            // The one that has been idle for longest, so that all take part.
            let lane = {
                let mut idle = idle.borrow_mut();
                (!idle.is_empty()).then(|| idle.remove(0))
            };
            let Some(mut lane) = lane else {
                part.borrow_mut().turned_away += 1;
                continue;
            };
            let (idle, keys, part, failed) = (idle.clone(), keys.clone(), part.clone(), failed.clone());
            tokio::task::spawn_local(async move {
                match step(&mut lane, &keys, &part).await {
                    Ok(()) => idle.borrow_mut().push(lane),
                    Err(error) => drop(failed.borrow_mut().replace(error)),
                }
            });
        }
        if let Some(error) = failed.borrow_mut().take() {
            return Err(error);
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // What is on its way is answered.
    let deadline = Instant::now() + Duration::from_secs(30);
    while idle.borrow().len() < count {
        if let Some(error) = failed.borrow_mut().take() {
            return Err(error);
        }
        ensure!(Instant::now() < deadline, "{} requests were never answered", count - idle.borrow().len());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    Ok((idle.take(), part))
}

/// One request and its answer: a place, or a cancel of an own order.
async fn step(lane: &mut Lane, keys: &[String], part: &RefCell<Part>) -> Result<()> {
    let key = &keys[lane.account];
    let is_cancel = !lane.open.is_empty() && (lane.open.len() >= OPEN_MAX || lane.random.below(5) < 2);
    if is_cancel {
        let at = lane.random.below(lane.open.len() as u32) as usize;
        let id = lane.open.swap_remove(at);
        let bytes = request("DELETE", &format!("/spot/orders/{id}"), key, None);
        let sent = Instant::now();
        let answer = lane.connection.call(&bytes).await?;
        let mut part = part.borrow_mut();
        part.cancels.saturating_record(sent.elapsed().as_nanos() as u64);
        match answer.status {
            200 => lane.canceled.push(id),
            status => {
                let body = String::from_utf8_lossy(answer.body);
                part.faults.push(format!("a cancel was answered {status} {body}"));
                lane.open.push(id);
            }
        }
        return Ok(());
    }
    // Sides apart, so that what rests stays until it is canceled; the odd accounts sell.
    let is_sell = lane.account % 2 == 1;
    let cents = 100 + lane.random.below(40) + if is_sell { 100 } else { 0 };
    let (side, price) = (if is_sell { "sell" } else { "buy" }, f64::from(cents) / 100.0);
    let body = format!(
        r#"{{"symbol":"{SYMBOL}","side":"{side}","type":"limit","price":"{price:.2}","quantity":"{}"}}"#,
        1 + lane.random.below(9)
    );
    let bytes = request("POST", "/spot/orders", key, Some(&body));
    let sent = Instant::now();
    let answer = lane.connection.call(&bytes).await?;
    let mut part = part.borrow_mut();
    match answer.status {
        200 => {
            part.admitted.saturating_record(sent.elapsed().as_nanos() as u64);
            let order: OrderAnswer = serde_json::from_slice(answer.body)?;
            lane.open.push(order.id);
        }
        503 if String::from_utf8_lossy(answer.body).contains("ENGINE_BUSY") => part.shed += 1,
        status => {
            let body = String::from_utf8_lossy(answer.body);
            part.faults.push(format!("an order was answered {status} {body}"));
        }
    }
    Ok(())
}

/// Whether the exchange still says what it acknowledged; how many orders are open, and how many were looked up as canceled.
async fn audit(server: &Server, keys: &[String], lanes: &[Lane]) -> Result<(usize, usize)> {
    let mut connection = Connection::open(server.address).await?;
    let mut expected: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    for lane in lanes {
        expected.entry(lane.account).or_default().extend(lane.open.iter().map(String::as_str));
    }
    let (mut open, mut totals) = (0, BTreeMap::<String, i128>::new());
    for (account, key) in keys.iter().enumerate() {
        let list = request("GET", "/spot/orders?status=open&limit=200", key, None);
        let orders: Vec<OrderAnswer> = ask(&mut connection, &list).await?;
        let found: BTreeSet<&str> = orders.iter().map(|order| order.id.as_str()).collect();
        let wanted = expected.remove(&account).unwrap_or_default();
        ensure!(found == wanted, "account {account}: open orders are not those that were acknowledged");
        open += found.len();
        let balances: Vec<BalanceAnswer> =
            ask(&mut connection, &request("GET", "/spot/balances", key, None)).await?;
        for balance in balances {
            let cents = |text: &str| {
                parse_decimal(text, 2).ok_or_else(|| anyhow::anyhow!("{text} is no amount of cents"))
            };
            let held = cents(&balance.available)? + cents(&balance.frozen)?;
            // Tokens that nobody was given are listed with zeros.
            if held != 0 {
                *totals.entry(balance.token).or_default() += held;
            }
        }
    }
    let whole = CREDIT * 100 * keys.len() as i128;
    let credited = [BASE_TOKEN, QUOTE_TOKEN].map(|token| (token.to_string(), whole));
    ensure!(totals == BTreeMap::from(credited), "{totals:?} is not what was credited");
    // Of each connection the newest cancels and a few of every age.
    let mut canceled = 0;
    for lane in lanes {
        let every = (lane.canceled.len() / 8).max(1);
        for id in lane.canceled.iter().rev().step_by(every) {
            let about = request("GET", &format!("/spot/orders/{id}"), &keys[lane.account], None);
            let order: OrderAnswer = ask(&mut connection, &about).await?;
            ensure!(order.status == "canceled", "order {id} was canceled and is {}", order.status);
            canceled += 1;
        }
    }
    Ok((open, canceled))
}
