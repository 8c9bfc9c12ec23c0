//! Time per command of open order books beside ours, on the same flows in one run, taking turns. Peers are the drivers of
//! `bench/peers`, which `scripts/peers.sh` builds against their own sources; each is a process that reads the flow from a file,
//! carries it out and prints its fills and its times. A peer whose fills are not the expected ones has no figures.
//!
//! Peers match, and do no more: no accounts, no money, no journalled order of commands. Ours stands beside them without
//! and with all of that.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use hdrhistogram::Histogram;
use ringside_bench::data::flow::Flows;
use ringside_bench::op::{FillSum, Op};
use ringside_bench::report::{self, Bars, ForeignLoad, Unit};
use ringside_bench::variant::{
    CHUNK, Kept, OnBook, OnEngine, OnFloor, Pass, Variant, ns_per_command, timed, timed_each, timer_cost_ns,
};
use ringside_bench::workload::Workload;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Time per command of open order books beside ours.
#[derive(Parser)]
struct Arguments {
    /// Folder of the built drivers: every file in it is one.
    #[arg(long, default_value = "target/peers/bin")]
    drivers: PathBuf,
    /// Timed repetitions of each on each flow.
    #[arg(long, default_value_t = 7)]
    repetitions: usize,
    #[command(flatten)]
    flows: Flows,
    /// Core to run on.
    #[arg(long, default_value_t = 1)]
    core: usize,
    #[command(flatten)]
    report: report::Arguments,
}

/// Passes in which each command is timed.
const LATENCY_PASSES: usize = 3;
/// Who takes longer than this for a command, in nanoseconds, carries a flow out once: it would take minutes.
const SLOW_NS: f64 = 2_000.0;

/// Who takes part.
enum Contender {
    /// Of this crate.
    Ours { name: &'static str, timed: fn(&Workload, bool) -> Pass, each: EachTimed },
    /// A driver of `bench/peers`.
    Peer { name: String, driver: PathBuf },
}

type EachTimed = fn(&Workload, bool, &mut Histogram<u64>) -> FillSum;

const fn ours<V: Variant>(name: &'static str) -> Contender {
    Contender::Ours { name, timed: timed::<V>, each: timed_each::<V> }
}

const BOOK: &str = "ringside: book and matching";
const ENGINE: &str = "ringside: money, rules, events";
const FLOOR: &str = "the floor";
/// The peer whose matching alone our whole engine is held against.
const ANCHOR: &str = "cpptrader";

impl Contender {
    fn name(&self) -> &str {
        match self {
            Contender::Ours { name, .. } => name,
            Contender::Peer { name, .. } => name,
        }
    }
}

/// What a driver had to say.
enum Told {
    /// Nanoseconds of each chunk, or of each command.
    Times(Vec<u64>),
    /// Why it cannot carry out the flow.
    Unable(String),
}

/// What one contender came to on one flow.
struct Row {
    name: String,
    /// Why there is nothing else.
    unable: Option<String>,
    passes: Vec<Pass>,
    latencies: Histogram<u64>,
}

impl Row {
    fn is_slow(&self, workload: &Workload) -> bool {
        ns_per_command(&self.passes, workload.ops.len()) > SLOW_NS
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let contenders = contenders(&arguments.drivers)?;
    let pinned = core_affinity::set_for_current(core_affinity::CoreId { id: arguments.core });
    let load = ForeignLoad::start();
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    writeln!(
        text,
        "{} repetitions, seed {}, pinned {pinned}\n",
        arguments.repetitions, arguments.flows.seed
    )?;
    let mut bars = Bars::default();
    for workload in arguments.flows.each() {
        measure(&workload?, &contenders, &arguments, &mut text, &mut bars)?;
    }
    writeln!(text, "other processes used {:.1} % of the machine\n", load.percent())?;
    text.push_str(&bars.table());
    Ok(arguments.report.conclude("peers", &text, bars.missed() > 0)?)
}

/// Ours, then a peer for each driver, by name.
fn contenders(drivers: &Path) -> Result<Vec<Contender>> {
    let mut contenders = vec![ours::<OnFloor>(FLOOR), ours::<OnBook>(BOOK), ours::<OnEngine<Kept>>(ENGINE)];
    let mut peers = Vec::new();
    let listing = std::fs::read_dir(drivers)
        .with_context(|| format!("no drivers in {}: scripts/peers.sh builds them", drivers.display()))?;
    for entry in listing {
        let driver = entry?.path();
        if let Some(name) = driver.file_name().and_then(|name| name.to_str()) {
            peers.push(Contender::Peer { name: name.to_owned(), driver: driver.clone() });
        }
    }
    peers.sort_by(|one, other| one.name().cmp(other.name()));
    contenders.extend(peers);
    Ok(contenders)
}

/// Has every contender carry out `workload`, taking turns, and appends its section to `text`.
fn measure(
    workload: &Workload,
    contenders: &[Contender],
    arguments: &Arguments,
    text: &mut String,
    bars: &mut Bars,
) -> Result<()> {
    let flow = FlowFile::write(workload)?;
    let mut rows: Vec<Row> = contenders
        .iter()
        .map(|contender| Row {
            name: contender.name().to_owned(),
            unable: None,
            passes: Vec::new(),
            latencies: report::histogram(),
        })
        .collect();
    for repetition in 0..arguments.repetitions {
        for (contender, row) in contenders.iter().zip(&mut rows) {
            if repetition == 0 || !row.is_slow(workload) {
                pass(contender, row, workload, &flow.0)?;
            }
        }
    }
    for _ in 0..arguments.repetitions.min(LATENCY_PASSES) {
        for (contender, row) in contenders.iter().zip(&mut rows) {
            if !row.is_slow(workload) {
                pass_each(contender, row, workload, &flow.0)?;
            }
        }
    }
    show(workload, &rows, text, bars)
}

/// One timed pass.
fn pass(contender: &Contender, row: &mut Row, workload: &Workload, flow: &Path) -> Result<()> {
    match contender {
        Contender::Ours { timed, .. } => {
            let pass = timed(workload, true);
            check(&row.name, workload, pass.fills)?;
            row.passes.push(pass);
        }
        Contender::Peer { driver, .. } => match ask(driver, workload, flow, "chunks")? {
            Told::Times(chunks_ns) => {
                ensure!(chunks_ns.len() == workload.ops.len().div_ceil(CHUNK), "{}: chunks", row.name);
                row.passes.push(Pass { chunks_ns, fills: workload.expected });
            }
            Told::Unable(why) => row.unable = Some(why),
        },
    }
    Ok(())
}

/// One pass in which each command is timed.
fn pass_each(contender: &Contender, row: &mut Row, workload: &Workload, flow: &Path) -> Result<()> {
    match contender {
        Contender::Ours { each, .. } => {
            check(&row.name, workload, each(workload, true, &mut row.latencies))?;
        }
        Contender::Peer { driver, .. } => {
            if let Told::Times(times) = ask(driver, workload, flow, "each")? {
                times.into_iter().for_each(|ns| row.latencies.saturating_record(ns));
            }
        }
    }
    Ok(())
}

/// Runs a driver; its fills are the expected ones.
fn ask(driver: &Path, workload: &Workload, flow: &Path, mode: &str) -> Result<Told> {
    let output = Command::new(driver)
        .arg(flow)
        .arg(mode)
        .output()
        .with_context(|| format!("cannot run {}", driver.display()))?;
    let name = driver.file_name().unwrap_or_default().to_string_lossy();
    ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    let end = output.stdout.iter().position(|byte| *byte == b'\n').context("a driver that says nothing")?;
    let line = std::str::from_utf8(&output.stdout[..end])?;
    if let Some(why) = line.strip_prefix("unable: ") {
        return Ok(Told::Unable(why.to_owned()));
    }
    let (fills, hash) = line.split_once(' ').context("a driver without a checksum")?;
    let fills = FillSum { fills: fills.parse()?, hash: u64::from_str_radix(hash, 16)? };
    check(&name, workload, fills)?;
    let (times, []) = output.stdout[end + 1..].as_chunks::<8>() else { bail!("{name}: half a number") };
    Ok(Told::Times(times.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()))
}

fn check(name: &str, workload: &Workload, fills: FillSum) -> Result<()> {
    ensure!(
        fills == workload.expected,
        "{name} on flow {}: {fills:?} instead of {:?}; no figures for wrong fills",
        workload.name,
        workload.expected
    );
    Ok(())
}

/// A flow in a file, in the form that `bench/peers/driver.hpp` reads.
struct FlowFile(PathBuf);

impl FlowFile {
    fn write(workload: &Workload) -> Result<FlowFile> {
        let flow = FlowFile(std::env::temp_dir().join(format!("ringside-flow-{}", std::process::id())));
        let mut file = std::io::BufWriter::new(std::fs::File::create(&flow.0)?);
        for ops in [&workload.preload, &workload.ops] {
            file.write_all(&(ops.len() as u64).to_le_bytes())?;
        }
        for Op { order, level, quantity, kind, is_buy } in workload.preload.iter().chain(&workload.ops) {
            for word in [order, level, quantity] {
                file.write_all(&word.to_le_bytes())?;
            }
            file.write_all(&[*kind as u8, u8::from(*is_buy), 0, 0])?;
        }
        file.flush()?;
        Ok(flow)
    }
}

impl Drop for FlowFile {
    fn drop(&mut self) {
        // A file of the temporary folder: it may as well stay.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The section of a flow, and its bars.
fn show(workload: &Workload, rows: &[Row], text: &mut String, bars: &mut Bars) -> Result<()> {
    let commands = workload.ops.len();
    let ns = |row: &Row| ns_per_command(&row.passes, commands);
    writeln!(text, "flow {}: {commands} commands, {} accounts", workload.name, workload.accounts)?;
    writeln!(text, "  {:?}", workload.mix)?;
    writeln!(
        text,
        "  {} fills, checksum {:016x}, the same of every contender in every repetition",
        workload.expected.fills, workload.expected.hash
    )?;
    let Some(book) = rows.iter().find(|row| row.name == BOOK).map(ns) else { bail!("ours takes part") };
    writeln!(text, "  {:<32} {:>10} {:>12} {:>14}", "", "ns/command", "million/s", "x our book")?;
    for row in rows {
        match &row.unable {
            Some(why) => writeln!(text, "  {:<32} {why}", row.name)?,
            None => {
                let ns = ns(row);
                writeln!(text, "  {:<32} {ns:>10.1} {:>12.2} {:>14.2}", row.name, 1e3 / ns, ns / book)?;
            }
        }
    }
    writeln!(text, "  one at a time, {} ns of timer included:", timer_cost_ns())?;
    let measured: Vec<_> = rows
        .iter()
        .filter(|row| !row.latencies.is_empty())
        .map(|row| (row.name.as_str(), &row.latencies))
        .collect();
    for line in report::percentile_table(&measured, Unit::Nanoseconds).lines() {
        writeln!(text, "  {line}")?;
    }
    text.push('\n');
    let is_ours = |row: &Row| [FLOOR, BOOK, ENGINE].contains(&row.name.as_str());
    let peers: Vec<&Row> = rows.iter().filter(|row| !is_ours(row) && row.unable.is_none()).collect();
    let best = peers.iter().copied().min_by(|one, other| ns(one).total_cmp(&ns(other)));
    let anchor = peers.iter().copied().find(|row| row.name == ANCHOR);
    for (ours, peer, what) in [(BOOK, best, ", the best peer"), (ENGINE, anchor, "")] {
        if let (Some(ours), Some(peer)) = (rows.iter().find(|row| row.name == ours), peer) {
            let name = format!("{} / {}{what}, flow {}", ours.name, peer.name, workload.name);
            bars.at_most(name, ns(ours) / ns(peer), 1.0);
        }
    }
    Ok(())
}
