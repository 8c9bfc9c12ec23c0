//! Time per command of the bare floor, of our book and matching alone, and of the whole engine, on the same flows in one run,
//! interleaved. Prints nothing but the difference when the fills of any variant are not the expected ones.
#![allow(clippy::print_stdout)]

use anyhow::{Result, bail};
use clap::Parser;
use hdrhistogram::Histogram;
use ringside_bench::data::flow::Flows;
use ringside_bench::op::FillSum;
use ringside_bench::report::{self, Bars, ForeignLoad, Unit};
use ringside_bench::variant::{
    Dropped, Kept, OnBook, OnEngine, OnFloor, OnPaidFloor, Pass, Variant, ns_per_command, timed, timed_each,
    timer_cost_ns,
};
use ringside_bench::workload::Workload;
use std::fmt::Write as _;

/// Time per command of floor, book and engine.
#[derive(Parser)]
struct Arguments {
    /// Timed repetitions of each variant on each flow.
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

/// A variant with its type erased.
struct Row {
    name: &'static str,
    timed: fn(&Workload, bool) -> Pass,
    timed_each: fn(&Workload, bool, &mut Histogram<u64>) -> FillSum,
    look_ahead: bool,
}

const fn row<V: Variant>(name: &'static str, look_ahead: bool) -> Row {
    Row { name, timed: timed::<V>, timed_each: timed_each::<V>, look_ahead }
}

const ROWS: [Row; 10] = [
    row::<OnFloor>("floor", false),
    row::<OnBook>("book and matching", false),
    row::<OnEngine<Kept>>("whole engine", false),
    row::<OnEngine<Dropped>>("whole engine, events dropped", false),
    row::<OnPaidFloor>("floor with money and events", false),
    row::<OnFloor>("floor, look-ahead", true),
    row::<OnBook>("book and matching, look-ahead", true),
    row::<OnEngine<Kept>>("whole engine, look-ahead", true),
    row::<OnEngine<Dropped>>("no events, look-ahead", true),
    row::<OnPaidFloor>("floor, money, events, look-ahead", true),
];
const FLOOR: usize = 0;
const BOOK: usize = 1;
const ENGINE: usize = 2;
/// Added to the index of a row without hints, the row with them: as the matcher runs, which sees a batch of its ring.
const HINTED: usize = 5;

/// Passes in which each command is timed.
const LATENCY_PASSES: usize = 3;

/// What one flow came to.
struct Measured {
    name: String,
    /// By row.
    ns: [f64; ROWS.len()],
    /// p50 and p99.9 of the whole engine with hints, the timer's cost taken off: the median of those of each pass.
    engine_quantiles: (f64, f64),
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let pinned = core_affinity::set_for_current(core_affinity::CoreId { id: arguments.core });
    let load = ForeignLoad::start();
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    writeln!(
        text,
        "{} repetitions, seed {}, pinned {pinned}\n",
        arguments.repetitions, arguments.flows.seed
    )?;
    let mut measured = Vec::new();
    for workload in arguments.flows.each() {
        measured.push(measure(&workload?, &arguments, &mut text)?);
    }
    let bars = bars(&measured);
    writeln!(text, "other processes used {:.1} % of the machine\n", load.percent())?;
    text.push_str(&bars.table());
    Ok(arguments.report.conclude("engine", &text, bars.missed() > 0)?)
}

/// Runs every row on `workload` and appends its section to `text`.
fn measure(workload: &Workload, arguments: &Arguments, text: &mut String) -> Result<Measured> {
    let mut passes = vec![Vec::new(); ROWS.len()];
    for _ in 0..arguments.repetitions {
        for (row, passes) in ROWS.iter().zip(&mut passes) {
            let pass = (row.timed)(workload, row.look_ahead);
            check(workload, row, pass.fills)?;
            passes.push(pass);
        }
    }
    let timer = timer_cost_ns();
    let mut latencies: Vec<_> = ROWS.iter().map(|row| (row.name, report::histogram())).collect();
    let mut engine_quantiles = [Vec::new(), Vec::new()];
    for _ in 0..arguments.repetitions.min(LATENCY_PASSES) {
        for (index, (row, (_, all))) in ROWS.iter().zip(&mut latencies).enumerate() {
            let mut histogram = report::histogram();
            check(workload, row, (row.timed_each)(workload, row.look_ahead, &mut histogram))?;
            if index == ENGINE + HINTED {
                for (values, quantile) in engine_quantiles.iter_mut().zip([0.5, 0.999]) {
                    values.push(histogram.value_at_quantile(quantile).saturating_sub(timer).max(1) as f64);
                }
            }
            all.add(histogram)?;
        }
    }

    let commands = workload.ops.len();
    writeln!(text, "flow {}: {commands} commands, {} accounts", workload.name, workload.accounts)?;
    writeln!(text, "  {:?}", workload.mix)?;
    writeln!(
        text,
        "  {} fills, checksum {:016x}, the same in every row and repetition",
        workload.expected.fills, workload.expected.hash
    )?;
    let mut ns = [0.0; ROWS.len()];
    for (ns, passes) in ns.iter_mut().zip(&passes) {
        *ns = ns_per_command(passes, commands);
    }
    writeln!(text, "  {:<32} {:>8} {:>8} {:>22}", "ns/command", "median", "x floor", "of whole passes")?;
    for ((row, passes), ns_of) in ROWS.iter().zip(&passes).zip(ns) {
        let whole: Vec<f64> =
            passes.iter().map(|pass| pass.chunks_ns.iter().sum::<u64>() as f64 / commands as f64).collect();
        let (min, max) =
            (whole.iter().copied().fold(f64::INFINITY, f64::min), whole.iter().copied().fold(0.0, f64::max));
        let whole = format!("{min:.1}/{:.1}/{max:.1}", report::median(&whole));
        writeln!(text, "  {:<32} {ns_of:>8.1} {:>8.2} {whole:>22}", row.name, ns_of / ns[FLOOR])?;
    }
    writeln!(text, "  one at a time, {timer} ns of timer included:")?;
    let rows: Vec<_> = latencies.iter().map(|(name, histogram)| (*name, histogram)).collect();
    for line in report::percentile_table(&rows, Unit::Nanoseconds).lines() {
        writeln!(text, "  {line}")?;
    }
    text.push('\n');
    let [p50, p999] = engine_quantiles.map(|values| report::median(&values));
    Ok(Measured { name: workload.name.clone(), ns, engine_quantiles: (p50, p999) })
}

/// The bars, by what was asked: the book, the engine, the tail, the growth.
fn bars(measured: &[Measured]) -> Bars {
    const KINDS: [(&str, usize); 2] = [("", 0), (", look-ahead", HINTED)];
    let mut bars = Bars::default();
    for (what, row, limit) in [("book and matching", BOOK, 1.3), ("whole engine", ENGINE, 3.0)] {
        for Measured { name, ns, .. } in measured {
            for (kind, offset) in KINDS {
                bars.at_most(
                    format!("{what}{kind} / floor, flow {name}"),
                    ns[row + offset] / ns[FLOOR],
                    limit,
                );
            }
        }
    }
    for Measured { name, engine_quantiles: (p50, p999), .. } in measured {
        bars.at_most(format!("whole engine, look-ahead: p99.9 / p50, flow {name}"), p999 / p50, 10.0);
    }
    let find = |name: &str| measured.iter().find(|flow| flow.name == name);
    if let (Some(a), Some(b)) = (find("A"), find("B")) {
        for (kind, offset) in KINDS {
            let growth = b.ns[ENGINE + offset] / a.ns[ENGINE + offset];
            bars.at_most(format!("whole engine{kind}: 1,000,000 orders and accounts / 1,000"), growth, 2.5);
        }
    }
    bars
}

fn check(workload: &Workload, row: &Row, fills: FillSum) -> Result<()> {
    if fills != workload.expected {
        bail!(
            "{} on flow {}: {fills:?} instead of {:?}; no figures for wrong fills",
            row.name,
            workload.name,
            workload.expected
        );
    }
    Ok(())
}
