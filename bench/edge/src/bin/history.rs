//! What unbounded history costs: a page of an account with many stored orders beside one of an account with few, and how
//! fast the archive takes rows.
//!
//! ```text
//!  pages     the same query of two accounts in turn, through the archive's reader    | many : few, at most 2
//!  cursor    a page by cursor behind the last rows of a list, and its first page     | deep : first, at most 2
//!  offset    a page behind many rows of a list whose rows came late, and its total | us per 1,000 rows of it, at most 500
//!  archiver  commands -> engine -> archiver's fold -> archive, as the follower does  | commands/s, rows/s, processor
//! ```
//!
//! The store of the first part is filled in bulk through the same commits that the archiver makes, the orders of the small
//! account spread evenly among those of the large one, so that neither has the end of the file to itself.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result};
use clap::Parser;
use ringside_bench::op::Random;
use ringside_bench::perpetual::{CREDIT, PerpetualFlow, credits, limit, listing};
use ringside_bench::report::{self, Bars, ForeignLoad};
use ringside_bench::workload::{LOT, Shape, Stamper, Workload};
use ringside_core::command::{Command, OrderStatus, OrderType, PerpetualTimeInForce, Side, TimeInForce};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::Event;
use ringside_core::ids::{AccountId, MarketId, OrderId, Sequence};
use ringside_persist::archive::before::{Before, OrderRow, TradeRow};
use ringside_persist::archive::row::{Entry, List};
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{ALL_FACETS, Archive, ArchiveReader, EntriesAsked, FacetOf, Mark};
use ringside_persist::recover::machine::Fold;
use ringside_views::SharedViews;
use ringside_views::archive::archiver::Archiver;
use ringside_views::archive::rows;
use ringside_views::kept;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// What unbounded history costs.
#[derive(Parser)]
struct Arguments {
    /// Stored orders of the large account. The bar is meant for 10,000,000.
    #[arg(long, default_value_t = 1_000_000)]
    orders: u64,
    /// Stored orders of the small account.
    #[arg(long, default_value_t = 1_000)]
    few: u64,
    /// Pages read of each account and kind.
    #[arg(long, default_value_t = 1_000)]
    pages: usize,
    /// Commands given to the archiver.
    #[arg(long, default_value_t = 500_000)]
    commands: usize,
    /// Seed of the generated flow.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Where to write; a folder of its own is made there and removed. Must be a real disk.
    #[arg(long)]
    directory: Option<PathBuf>,
    #[command(flatten)]
    report: report::Arguments,
}

const MANY: AccountId = 1;
const FEW: AccountId = 2;
const MARKETS: u64 = 4;
/// The list that is read by cursor: fills of perpetual markets.
const LIST: List = List { number: 4, is_late: false };
/// Rows of one page, as a list gives by default.
const PAGE: usize = 50;
/// Rows of one bulk commit, give or take an order.
const BULK: usize = 20_000;
/// Pairs of accounts that trade with each other on the perpetual market.
const PAIRS: u32 = 64;
const JOURNAL: [u8; 16] = [1; 16];
const START_S: i64 = 1_700_000_000;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let parent = arguments.directory.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = parent.join(format!("ringside-history-{}", std::process::id()));
    let result = run(&arguments, &scratch);
    let _ = std::fs::remove_dir_all(&scratch);
    let (text, missed) = result?;
    Ok(arguments.report.conclude("history", &text, missed > 0)?)
}

fn run(arguments: &Arguments, scratch: &Path) -> Result<(String, usize)> {
    let load = ForeignLoad::start();
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    writeln!(
        text,
        "history benchmark, {} and {} stored orders, seed {}\n",
        arguments.orders, arguments.few, arguments.seed
    )?;
    let mut bars = Bars::default();
    let store = Sqlite::new(scratch.join("pages.db")).faceted(rows::facets_of);
    fill(&store, arguments, &mut text)?;
    pages(&store, arguments, &mut text, &mut bars)?;
    cursor(&Sqlite::new(scratch.join("entries.db")), arguments, &mut text, &mut bars)?;
    offset(&Sqlite::new(scratch.join("late.db")).faceted(one_of_ten), arguments, &mut text, &mut bars)?;
    archiver(&Sqlite::new(scratch.join("archiver.db")), "flow A", spot(arguments), &mut text)?;
    archiver(
        &Sqlite::new(scratch.join("perpetual.db")),
        "pairs, perpetual",
        perpetual(arguments),
        &mut text,
    )?;
    writeln!(text, "\n{}", bars.table())?;
    writeln!(text, "other processes used {:.1} % of the machine", load.percent())?;
    Ok((text, bars.missed()))
}

/// An ended order, and for every second one the trade that filled it.
fn row(random: &mut Random, order: OrderId, account: AccountId) -> (OrderRow, Option<TradeRow>) {
    let market = u64::from(random.below(MARKETS as u32)) as MarketId;
    let status = match random.below(1000) {
        0 => OrderStatus::Rejected,
        1..500 => OrderStatus::Canceled,
        _ => OrderStatus::Filled,
    };
    // Ten orders a second.
    let created_ns = START_S * 1_000_000_000 + order as i64 * 100_000_000;
    let (price, quantity) = (20_000_000 + i64::from(random.below(10_000)) * 100, 1_000_000_000);
    let traded = i128::from(price) * i128::from(quantity) * 100;
    let is_filled = status == OrderStatus::Filled;
    let row = OrderRow {
        sequence: order,
        order,
        account,
        market,
        side: Side::Buy,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::GoodTillCancel,
        status,
        reject: None,
        price,
        quantity,
        filled: if is_filled { quantity } else { 0 },
        quote_quantity: 0,
        traded: if is_filled { traded } else { 0 },
        created_ns,
        updated_ns: created_ns + 5_000_000,
    };
    let trade = is_filled.then_some(TradeRow {
        sequence: order,
        trade: order,
        market,
        taker_side: Side::Buy,
        price,
        quantity,
        maker_order: order,
        taker_order: order,
        maker_account: 3 + random.below(1000),
        taker_account: account,
        maker_fee: traded / 1000,
        taker_fee: 1_000_000_000_000_000,
        time_ns: created_ns,
    });
    (row, trade)
}

fn fill(store: &Sqlite, arguments: &Arguments, text: &mut String) -> Result<()> {
    let mut writer = store.writer(JOURNAL)?;
    let mut random = Random::new(arguments.seed);
    let all = arguments.orders + arguments.few;
    let every = all / arguments.few.max(1);
    let begun = Instant::now();
    let (mut batch, mut rows) = (Vec::new(), 0);
    for order in 1..=all {
        let account = if order % every == 0 { FEW } else { MANY };
        let (order_row, trade) = row(&mut random, order, account);
        rows::entries_of(&Before::Order(order_row), &mut batch);
        if let Some(trade) = trade {
            rows::entries_of(&Before::Trade(trade), &mut batch);
        }
        if batch.len() >= BULK || order == all {
            rows += batch.len();
            writer.commit(&batch, Mark { sequence: order, time_ns: order_row.updated_ns }, order == all)?;
            batch.clear();
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let len = std::fs::metadata(store.path()).context("the store's file")?.len();
    writeln!(
        text,
        "filling: {rows} rows in {seconds:.1} s, {:.0} rows/s; {:.1} MiB, {:.0} bytes a row\n",
        rows as f64 / seconds,
        len as f64 / f64::from(1 << 20),
        len as f64 / rows as f64
    )?;
    Ok(())
}

/// One kind of page: reads it and gives the number of rows.
struct Kind {
    name: &'static str,
    market: Option<MarketId>,
    status: Option<OrderStatus>,
    is_fills: bool,
    /// Ending at a random second of all of time, instead of now.
    is_somewhere: bool,
}

const KINDS: &[Kind] = &[
    Kind { name: "orders, newest", market: None, status: None, is_fills: false, is_somewhere: false },
    Kind { name: "orders, somewhere", market: None, status: None, is_fills: false, is_somewhere: true },
    Kind { name: "orders of a market", market: Some(1), status: None, is_fills: false, is_somewhere: false },
    Kind {
        name: "orders of a market, somewhere",
        market: Some(1),
        status: None,
        is_fills: false,
        is_somewhere: true,
    },
    Kind {
        name: "orders canceled",
        market: None,
        status: Some(OrderStatus::Canceled),
        is_fills: false,
        is_somewhere: false,
    },
    Kind {
        name: "orders of a market, filled",
        market: Some(2),
        status: Some(OrderStatus::Filled),
        is_fills: false,
        is_somewhere: false,
    },
    Kind { name: "fills, newest", market: None, status: None, is_fills: true, is_somewhere: false },
    Kind { name: "fills of a market", market: Some(3), status: None, is_fills: true, is_somewhere: false },
    Kind { name: "fills, somewhere", market: None, status: None, is_fills: true, is_somewhere: true },
];

impl Kind {
    fn read(&self, reader: &mut dyn ArchiveReader, account: AccountId, end: i64) -> Result<usize> {
        let list = if self.is_fills { kept::List::SpotFills } else { kept::List::SpotOrders };
        let asked = EntriesAsked {
            list: rows::list_of(list as u16),
            owner: account,
            market: self.market,
            tag: 0,
            facets: self.status.map_or(ALL_FACETS, |status| 1 << status as u8),
            ids: 0..=u64::MAX,
            times: i64::MIN..=end.saturating_mul(1_000),
            through: Sequence::MAX,
            is_oldest: false,
            limit: PAGE,
            work: usize::MAX,
        };
        let mut rows = Vec::with_capacity(2 * PAGE);
        reader.entries(&asked, &mut rows)?;
        Ok(rows.len())
    }
}

fn pages(store: &Sqlite, arguments: &Arguments, text: &mut String, bars: &mut Bars) -> Result<()> {
    let mut reader = store.reader()?;
    let mut random = Random::new(arguments.seed ^ 7);
    writeln!(
        text,
        "{:<32} {:>12} {:>12} {:>12} {:>12}",
        "page of 50, us", "many p50", "many p99", "few p50", "few p99"
    )?;
    for kind in KINDS {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..arguments.pages {
            let end = match kind.is_somewhere {
                // The upper half of time, so that the small account has a whole page too.
                true => {
                    let span = (arguments.orders / 10).max(2) as u32;
                    START_S + i64::from(span / 2 + random.below(span / 2))
                }
                false => i64::MAX,
            };
            for (index, account) in [MANY, FEW].into_iter().enumerate() {
                let begun = Instant::now();
                let rows = kind.read(reader.as_mut(), account, end)?;
                times[index].push(begun.elapsed().as_secs_f64() * 1e6);
                anyhow::ensure!(rows == PAGE, "{}: a page of {rows} rows", kind.name);
            }
        }
        let mut figures = Vec::new();
        for times in &mut times {
            times.sort_by(f64::total_cmp);
            figures.extend([times[times.len() / 2], times[times.len() * 99 / 100]]);
        }
        writeln!(
            text,
            "{:<32} {:>12.1} {:>12.1} {:>12.1} {:>12.1}",
            kind.name, figures[0], figures[1], figures[2], figures[3]
        )?;
        bars.at_most(format!("{}: many / few, p50", kind.name), figures[0] / figures[2], 2.0);
    }
    Ok(())
}

/// Rows of one millisecond in the list that is read by cursor.
const OF_ONE_TIME: u64 = 4;

/// The page that follows a row, as `/account/trades` reads it: from the row's time on, with larger ids.
fn page_behind(reader: &mut dyn ArchiveReader, row: u64) -> Result<usize> {
    let mut rows = Vec::with_capacity(PAGE);
    let asked = EntriesAsked {
        list: LIST,
        owner: MANY,
        market: Some(1),
        tag: 0,
        ids: row + 1..=u64::MAX,
        times: time_of(row)..=i64::MAX,
        through: Sequence::MAX,
        is_oldest: true,
        facets: ALL_FACETS,
        limit: PAGE,
        work: usize::MAX,
    };
    reader.entries(&asked, &mut rows)?;
    anyhow::ensure!(rows.first().is_none_or(|first| first.id == row + 1), "not the page behind row {row}");
    Ok(rows.len())
}

fn time_of(row: u64) -> i64 {
    START_S * 1_000 + (row / OF_ONE_TIME) as i64
}

fn cursor(store: &Sqlite, arguments: &Arguments, text: &mut String, bars: &mut Bars) -> Result<()> {
    let mut writer = store.writer(JOURNAL)?;
    let mut batch = Vec::new();
    for id in 1..=arguments.orders {
        let entry = Entry {
            sequence: id,
            list: LIST,
            owner: MANY,
            market: 1,
            id,
            time_ms: time_of(id),
            tag: id,
            version: 1,
            bytes: Box::new([7; 80]),
        };
        batch.push(entry);
        if batch.len() == BULK || id == arguments.orders {
            let mark = Mark { sequence: id, time_ns: time_of(id) * 1_000_000 };
            writer.commit(&batch, mark, id == arguments.orders)?;
            batch.clear();
        }
    }
    let mut reader = store.reader()?;
    let mut random = Random::new(arguments.seed ^ 11);
    let deepest = arguments.orders.saturating_sub(PAGE as u64);
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..arguments.pages {
        // Not the same rows each time, lest only the cache be measured.
        let step = u64::from(random.below(1_000)).min(deepest);
        for (index, row) in [deepest - step, step].into_iter().enumerate() {
            let begun = Instant::now();
            let rows = page_behind(reader.as_mut(), row)?;
            times[index].push(begun.elapsed().as_secs_f64() * 1e6);
            anyhow::ensure!(rows == PAGE, "a page of {rows} rows");
        }
    }
    let [deep, first] = times.each_mut().map(|times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    });
    writeln!(text, "\nby cursor behind row {deepest}: p50 {deep:.1} us; the first: {first:.1} us")?;
    bars.at_most("page by cursor: deep / first, p50".to_owned(), deep / first, 2.0);
    Ok(())
}

/// A list whose rows come later than both their ids and times say.
const LATE: List = List { number: 1, is_late: true };
/// Rows of it: placed within two minutes.
const LATE_ROWS: u64 = 200_010;
const LATE_PER_MS: u64 = 2;

/// What the rows of that list are filtered by.
fn one_of_ten(list: u16) -> Option<FacetOf> {
    (list == LATE.number).then_some(|_, record| record.first().copied())
}

fn late_asked(facets: u32, limit: usize) -> EntriesAsked {
    EntriesAsked {
        list: LATE,
        owner: MANY,
        market: None,
        tag: 0,
        facets,
        ids: 0..=u64::MAX,
        times: i64::MIN..=i64::MAX,
        through: Sequence::MAX,
        is_oldest: true,
        limit,
        work: usize::MAX,
    }
}

/// A page beyond `skip` rows and how many there are, as `/account/orders` asks for both.
fn page_beyond(reader: &mut dyn ArchiveReader, facets: u32, skip: u64) -> Result<(usize, u64)> {
    let mut asked = late_asked(facets, PAGE);
    let passed = reader.pass_entries(&asked, &[], skip)?;
    let Some(next) = passed.next else { return Ok((0, passed.wanted)) };
    asked.go_on_from(next);
    let all = passed.wanted + reader.pass_entries(&asked, &[], u64::MAX)?.wanted;
    let rest = (skip - passed.wanted) as usize;
    let mut rows = Vec::new();
    reader.entries(&EntriesAsked { limit: rest + PAGE, ..asked }, &mut rows)?;
    Ok((rows.len().saturating_sub(rest), all))
}

fn offset(store: &Sqlite, arguments: &Arguments, text: &mut String, bars: &mut Bars) -> Result<()> {
    let mut writer = store.writer(JOURNAL)?;
    let mut random = Random::new(arguments.seed ^ 12);
    let time_ms = |id: u64| START_S * 1_000 + (id / LATE_PER_MS) as i64;
    // Each ends within a second of its placement, in any order.
    let mut ids: Vec<(u64, u64)> =
        (1..=LATE_ROWS).map(|id| (id + u64::from(random.below(1_000 * LATE_PER_MS as u32)), id)).collect();
    ids.sort_unstable();
    let rare = LATE_ROWS / 2;
    for (number, rows) in ids.chunks(1_000).enumerate() {
        let entry = |(sequence, id): &(u64, u64)| {
            let mut bytes: Box<[u8]> = Box::new([0; 168]);
            bytes[0] = if *id == rare { 9 } else { (id % 8) as u8 };
            bytes[8..16].copy_from_slice(&id.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
            let (market, tag, version) = (1 + (id % 3) as MarketId, *id, 2);
            let (list, owner, id, time_ms) = (LATE, MANY, *id, time_ms(*id));
            Entry { sequence: *sequence, list, owner, market, id, time_ms, tag, version, bytes }
        };
        let batch: Vec<Entry> = rows.iter().map(entry).collect();
        let mark = Mark { sequence: LATE_ROWS * 2, time_ns: number as i64 };
        writer.commit(&batch, mark, false)?;
    }
    let mut reader = store.reader()?;
    let each = |facets: u32| {
        (1..=LATE_ROWS).filter(move |id| *id != rare && facets >> (id % 8) & 1 != 0).count() as u64
    };
    writeln!(text, "\na page of {PAGE} and its total, of {LATE_ROWS} rows that came late, p50 us")?;
    let mut worst = 0.0_f64;
    for (name, facets, skips) in [
        ("all", ALL_FACETS, &[0, 5_000, 20_000, 100_000, 199_990, 300_000][..]),
        ("half", 0b1010_1010, &[0, 5_000, 20_000, 90_000]),
        ("one row", 1 << 9, &[0, 1]),
    ] {
        for skip in skips {
            let mut times = Vec::new();
            for _ in 0..arguments.pages.clamp(3, 30) {
                let begun = Instant::now();
                let (rows, all) = page_beyond(reader.as_mut(), facets, *skip)?;
                times.push(begun.elapsed().as_secs_f64() * 1e6);
                if name == "half" {
                    anyhow::ensure!((rows, all) == (PAGE, each(facets)), "{rows} of {all} rows");
                }
            }
            times.sort_by(f64::total_cmp);
            let middle = times[times.len() / 2];
            worst = worst.max(middle);
            writeln!(text, "  {name:<8} beyond {skip:>7}: {middle:>9.1}")?;
        }
    }
    bars.at_most(
        "page by offset: us per 1,000 rows of the list, worst p50".to_owned(),
        worst * 1_000.0 / LATE_ROWS as f64,
        500.0,
    );
    Ok(())
}

/// Flow A on a spot market: the commands, and how many of them only prepare.
fn spot(arguments: &Arguments) -> (Vec<Command>, usize) {
    let workload = Workload::generate(&Shape::a(1_000), arguments.commands, arguments.seed);
    let mut stamper = Stamper::after(0);
    let mut commands: Vec<_> = workload.setup().map(|command| stamper.stamp(command)).collect();
    let setup = commands.len();
    commands.extend(workload.ops.iter().map(|op| stamper.stamp(workload.command(op))));
    (commands, setup)
}

/// Pairs of accounts that trade with each other on a perpetual market, each order with a name of its own; every second one
/// meets the one before.
fn perpetual(arguments: &Arguments) -> (Vec<Command>, usize) {
    let mut stamper = Stamper::after(0);
    let index = PerpetualFlow::index();
    let setup = listing(index).chain(credits(2 * PAIRS, CREDIT));
    let mut commands: Vec<_> = setup.map(|command| stamper.stamp(command)).collect();
    let setup = commands.len();
    for number in 0..arguments.commands as u64 {
        // Each account sells as often as it buys, so that no position grows.
        let (turn, pair) = (number % 4, (number / 4) as u32 % PAIRS);
        let account = 1 + 2 * pair + u32::from(turn == 1 || turn == 2);
        let side = if turn % 2 == 0 { Side::Sell } else { Side::Buy };
        let order = limit(account, side, index, LOT, PerpetualTimeInForce::GoodTillCancel, number);
        commands.push(stamper.stamp(Command::new(order)));
    }
    (commands, setup)
}

/// The follower's work without its journal: engine, fold, commits.
fn archiver(
    store: &Sqlite,
    name: &str,
    (commands, setup): (Vec<Command>, usize),
    text: &mut String,
) -> Result<()> {
    let mut engine = Engine::new(&EngineConfig::default());
    let mut archiver = Archiver::open(store, JOURNAL, u64::MAX, Arc::<SharedViews>::default())?;
    let mut events: Vec<Event> = Vec::new();
    let (mut begun, mut used) = (Instant::now(), report::thread_seconds());
    for (index, command) in commands.iter().enumerate() {
        if index == setup {
            (begun, used) = (Instant::now(), report::thread_seconds());
        }
        events.clear();
        engine.apply(command, &mut events);
        events.iter().for_each(|event| archiver.event(event));
        if index % 4096 == 0 {
            archiver.commit(command.sequence, false)?;
        }
    }
    archiver.commit(engine.sequence(), true)?;
    let (seconds, used) = (begun.elapsed().as_secs_f64(), report::thread_seconds() - used);
    let count = commands.len() - setup;
    let rows = store.reader()?.rows()?;
    drop(archiver);
    let len = std::fs::metadata(store.path()).context("the store's file")?.len();
    writeln!(
        text,
        "\narchiver: {count} commands of {name} in {seconds:.1} s, {:.0} commands/s, {:.0} rows/s ({rows} rows); \
         {:.2} us of processor and {:.0} bytes a command",
        count as f64 / seconds,
        rows as f64 / seconds,
        1e6 * used / count as f64,
        len as f64 / count as f64
    )?;
    Ok(())
}
