//! Starts the exchange, replays a recorded session through its public API, kills it on the way, and compares every
//! fill, order, balance and book with the recorded ones. Ends with an error, and prints no figure, if anything differs.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, bail, ensure};
use clap::{Parser, ValueEnum};
use ringside_bench::report::{self, ForeignLoad, Unit};
use ringside_load::pace::Rate;
use ringside_load::server::{Server, ServerArguments};
use ringside_rigs::data::script::Script;
use ringside_rigs::data::{aapl, bitstamp, flow_session, journal, sse};
use ringside_rigs::replay::audit::Audited;
use ringside_rigs::replay::cast::Cast;
use ringside_rigs::replay::run::{Options, Outcome, Run};
use ringside_rigs::replay::stage::Stage;
use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Which session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Session {
    /// Shanghai Stock Exchange, 600519, one morning.
    Sse,
    /// NASDAQ, AAPL, one hour.
    Aapl,
    /// Bitstamp, BTC/USD, five hours: as flow, with the fills of an obvious book.
    Bitstamp,
    /// The public engine benchmark's flow.
    Flow,
    /// One spot market of an exchange's journal.
    Journal,
}

/// Replays a recorded session through the exchange and checks everything that comes back.
#[derive(Parser)]
struct Arguments {
    /// Which session.
    #[arg(value_enum, default_value_t = Session::Sse)]
    session: Session,
    /// The folder of a journal: an exchange's data folder, or the journal folder in it; it is only read.
    recorded: Option<PathBuf>,
    /// Market of a journal, the one with most orders if none is named.
    #[arg(long)]
    market: Option<String>,
    /// Scenario of the flow benchmark: normal, static or flash-crash.
    #[arg(long, default_value = "normal")]
    scenario: String,
    /// max, recorded, 60x (sixty times the recorded speed), or requests per second.
    #[arg(long, default_value = "max")]
    rate: Rate,
    /// Only so many requests from the start.
    #[arg(long)]
    limit: Option<usize>,
    /// Connections that carry orders.
    #[arg(long, default_value_t = 32)]
    connections: usize,
    /// Connections that carry reads.
    #[arg(long, default_value_t = 2)]
    readers: usize,
    /// Accounts at least; more are made where open orders need them.
    #[arg(long, default_value_t = 100)]
    accounts: u32,
    /// Requests considered at once.
    #[arg(long, default_value_t = 256)]
    window: usize,
    /// Books compared on the way, the exchange's own where the session has them.
    #[arg(long, default_value_t = 200)]
    checkpoints: usize,
    /// Do not kill the exchange in the middle.
    #[arg(long)]
    no_kill: bool,
    /// What a reply waits for: durable or written.
    #[arg(long, default_value = "durable")]
    acknowledge: String,
    /// No progress bar.
    #[arg(long)]
    quiet: bool,
    /// Seed of the wallets.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    server: ServerArguments,
    /// Folder for the latency report.
    #[arg(long, default_value = "target/replay")]
    report: PathBuf,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, replay(&arguments))
}

async fn replay(arguments: &Arguments) -> Result<()> {
    let mut script = match arguments.session {
        Session::Sse => sse::load()?,
        Session::Aapl => aapl::load()?,
        Session::Bitstamp => bitstamp::load()?,
        Session::Flow => flow_session::load(&arguments.scenario)?,
        Session::Journal => load_journal(arguments)?,
    };
    ensure!(
        arguments.session == Session::Journal || (arguments.recorded.is_none() && arguments.market.is_none()),
        "only the session `journal` has a folder and a market"
    );
    if let Some(limit) = arguments.limit {
        script.truncate(limit);
    }
    let cast = Cast::new(&script, arguments.accounts);
    let options = arguments.server.options(&[("acknowledge", &arguments.acknowledge)])?;
    let mut server = Server::start(&options).await?;
    let stage = Stage::set(&server, &script, &cast, arguments.seed).await?;
    println!(
        "{}: {} requests, {} fills, {} recorded books; {} accounts, {} connections",
        script.name,
        script.steps.len(),
        script.fills.len(),
        script.checkpoints.len(),
        cast.count,
        arguments.connections
    );
    let options = Options {
        rate: arguments.rate,
        connections: arguments.connections,
        readers: arguments.readers,
        window: arguments.window,
        checkpoints: arguments.checkpoints,
        kill_after: (!arguments.no_kill).then_some(script.steps.len() / 2),
    };
    let load = ForeignLoad::start();
    let mut run = Run::new(&mut server, &script, &cast, &stage, options).await?;
    let mut bar = Bar::new(script.steps.len(), arguments.quiet);
    let replayed = run.steps(|answered| bar.show(answered)).await;
    bar.end();
    replayed?;
    let (outcome, end, again) = run.finish().await?;
    // Ended, so that its processor time counts as ours.
    drop(server);
    let foreign = load.percent();
    let text = summary(arguments, &script, &stage, &outcome, (end, again), foreign)?;
    print!("{text}");
    write_report(arguments, &script, &outcome, &text)
}

fn load_journal(arguments: &Arguments) -> Result<Script> {
    let folder = arguments.recorded.as_deref().context("which folder? `journal FOLDER`")?;
    let found = journal::load(folder, arguments.market.as_deref())?;
    let journal::LeftOut { refused, idle, lowered, elsewhere } = found.left_out;
    println!(
        "journal: commands {} to {}; {} orders rested at the beginning; left out: {refused} requests that were refused, \
         {idle} orders that neither traded nor rested, {lowered} lowered in place, {elsewhere} of other spot markets",
        found.commands.start(),
        found.commands.end(),
        found.resting
    );
    println!(
        "{}",
        if lowered == 0 {
            "an engine that was given the session alone made the journal's fills and its last book"
        } else {
            "expected is what an engine makes of the session alone: the API has no request that lowers an order in place"
        }
    );
    Ok(found.script)
}

fn summary(
    arguments: &Arguments,
    script: &Script,
    stage: &Stage,
    outcome: &Outcome,
    (end, again): (Audited, Audited),
    foreign: f64,
) -> Result<String> {
    let mut text = String::new();
    let steps = script.steps.len();
    write!(text, "{}", report::heading(env!("CARGO_PKG_NAME")))?;
    writeln!(
        text,
        "{}: every answer to {steps} requests as expected; {} books on the way equal, {} of them the venue's own",
        script.name,
        outcome.books,
        if script.checkpoints.is_empty() { 0 } else { outcome.books }
    )?;
    if let (Some((recovery, unknown)), Some(state)) = (outcome.restart, outcome.after_restart) {
        writeln!(
            text,
            "killed with -9 after {} answers, {unknown} requests on the way; running again after {recovery:.0?}: {}",
            steps / 2,
            state_text(state)
        )?;
    } else if !arguments.no_kill {
        bail!("the session ended before the kill");
    }
    writeln!(text, "at the end: {}", state_text(end))?;
    writeln!(text, "after another kill -9 and restart: {}", state_text(again))?;
    writeln!(
        text,
        "acknowledged {}, {} requests/s, {:.1} on the way on average, {} at most; a login took {:.0?}",
        arguments.acknowledge,
        (steps as f64 / outcome.elapsed.as_secs_f64()) as u64,
        outcome.at_once_sum as f64 / steps.max(1) as f64,
        outcome.most_at_once,
        stage.login
    )?;
    let mut rows = vec![
        ("place, sent to answered", &outcome.places),
        ("cancel, sent to answered", &outcome.cancels),
        ("own trades, sent to answered", &outcome.reads),
    ];
    if arguments.rate != Rate::Max {
        rows.push(("order, due to answered", &outcome.due));
    }
    text.push_str(&report::percentile_table(&rows, Unit::Microseconds));
    if arguments.rate == Rate::Max {
        text.push_str(
            "sent as fast as order allows: these are service times, not latencies under a given load\n",
        );
    }
    writeln!(text, "other processes used {foreign:.1} % of the machine")?;
    Ok(text)
}

fn state_text(state: Audited) -> String {
    format!(
        "{} levels, {} open orders, {} balances, makers and takers of {} fills equal",
        state.levels, state.orders, state.balances, state.fills
    )
}

fn write_report(arguments: &Arguments, script: &Script, outcome: &Outcome, text: &str) -> Result<()> {
    let folder = arguments.report.join(script.symbol.to_ascii_lowercase());
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("report.txt"), text)?;
    let mut rows =
        vec![("place", &outcome.places), ("cancel", &outcome.cancels), ("own trades", &outcome.reads)];
    if arguments.rate != Rate::Max {
        rows.push(("order, from when it was due", &outcome.due));
    }
    let mut files = vec![folder.join("latency.svg")];
    for (name, histogram) in &rows {
        let file = name.split(',').next().unwrap_or(name).replace(' ', "-");
        files.push(folder.join(format!("{file}.hgrm")));
        report::write_hgrm(histogram, &files[files.len() - 1])?;
    }
    report::write_svg(&script.name, &rows, &[], &files[0])?;
    let steps = script.steps.len() as u64;
    ensure!(outcome.places.len() + outcome.cancels.len() > 0, "no request was timed");
    ensure!(
        arguments.rate == Rate::Max || !outcome.due.is_empty(),
        "no request of {steps} was timed from when it was due"
    );
    for file in &files {
        let length = std::fs::metadata(file).with_context(|| format!("no report {}", file.display()))?.len();
        ensure!(length > 0, "the report {} is empty", file.display());
    }
    println!("report: {}", folder.display());
    Ok(())
}

/// A progress bar on the error stream: redrawn on a terminal, otherwise a line for each tenth.
struct Bar {
    total: usize,
    start: Instant,
    shown: Instant,
    tenths: usize,
    is_terminal: bool,
    is_quiet: bool,
}

impl Bar {
    fn new(total: usize, is_quiet: bool) -> Bar {
        let now = Instant::now();
        Bar {
            total: total.max(1),
            start: now,
            shown: now,
            tenths: 0,
            is_terminal: std::io::stderr().is_terminal(),
            is_quiet,
        }
    }

    fn show(&mut self, done: usize) {
        const WIDTH: usize = 40;
        let now = Instant::now();
        let due = if self.is_terminal {
            now.duration_since(self.shown) >= Duration::from_millis(100) || done == self.total
        } else {
            done * 10 / self.total > self.tenths
        };
        if !due || self.is_quiet {
            return;
        }
        self.shown = now;
        self.tenths = done * 10 / self.total;
        let filled = done * WIDTH / self.total;
        let rate = done as f64 / now.duration_since(self.start).as_secs_f64().max(1e-9);
        let line = format!(
            "[{}{}] {:3}% {done}/{} {rate:.0}/s",
            "#".repeat(filled),
            ".".repeat(WIDTH - filled),
            done * 100 / self.total,
            self.total
        );
        // A progress line that cannot be written is no reason to stop.
        let mut stderr = std::io::stderr();
        let _ = if self.is_terminal { write!(stderr, "\r{line} ") } else { writeln!(stderr, "{line}") };
    }

    fn end(&self) {
        if self.is_terminal && !self.is_quiet {
            eprintln!();
        }
    }
}
