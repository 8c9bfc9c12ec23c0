//! Time per command of the bare floor, of our book and matching alone, and of the whole engine, on the same flows in
//! one run, interleaved. Prints nothing but the difference when the fills of any variant are not the expected ones.
#![allow(clippy::print_stdout)]

use anyhow::{Result, bail};
use clap::Parser;
use ringside_bench::data::flow;
use ringside_bench::op::FillSum;
use ringside_bench::report::{self, ForeignLoad, Unit};
use ringside_bench::variant::{OnFloor, Variant, timed, timed_each, timer_cost_ns};
use ringside_bench::workload::{Shape, Workload};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Time per command of floor, book and engine.
#[derive(Parser)]
struct Arguments {
    /// Timed repetitions of each variant on each flow.
    #[arg(long, default_value_t = 7)]
    repetitions: usize,
    /// Commands of the generated flows.
    #[arg(long, default_value_t = 1_000_000)]
    commands: usize,
    /// Seed of the generated flows.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Only flows whose name contains this.
    #[arg(long)]
    only: Option<String>,
    /// Core to run on.
    #[arg(long, default_value_t = 1)]
    core: usize,
    /// Write the report into this folder as well.
    #[arg(long)]
    results: Option<PathBuf>,
}

/// A variant with its kind erased.
struct Row {
    name: &'static str,
    timed: fn(&Workload, bool) -> ringside_bench::variant::Pass,
    timed_each: fn(&Workload, bool, &mut hdrhistogram::Histogram<u64>) -> FillSum,
    look_ahead: bool,
}

const fn row<V: Variant>(name: &'static str, look_ahead: bool) -> Row {
    Row { name, timed: timed::<V>, timed_each: timed_each::<V>, look_ahead }
}

const FLOOR: usize = 0;
const ROWS: [Row; 2] = [row::<OnFloor>("floor", false), row::<OnFloor>("floor, look-ahead", true)];

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let pinned = core_affinity::set_for_current(core_affinity::CoreId { id: arguments.core });
    let load = ForeignLoad::start();
    let mut text = format!("{}\n", report::machine_facts());
    writeln!(
        text,
        "engine benchmark, {} repetitions, seed {}, pinned {pinned}\n",
        arguments.repetitions, arguments.seed
    )?;
    let wanted = |name: &str| arguments.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    for shape in [Shape::a(1_000), Shape::b(1_000_000)] {
        if wanted(shape.name) {
            let workload = Workload::generate(&shape, arguments.commands, arguments.seed);
            measure(&workload, &arguments, &mut text)?;
        }
    }
    for scenario in flow::SCENARIOS {
        if wanted(scenario) {
            measure(&flow::load(scenario, 1_000)?, &arguments, &mut text)?;
        }
    }
    writeln!(text, "other processes used {:.1} % of the machine", load.percent())?;
    print!("{text}");
    if let Some(folder) = &arguments.results {
        println!("written to {}", report::write_result(folder, "engine", &text)?.display());
    }
    Ok(())
}

/// Runs every row on `workload` and appends its section to `text`.
fn measure(workload: &Workload, arguments: &Arguments, text: &mut String) -> Result<()> {
    let mut times = vec![Vec::new(); ROWS.len()];
    for _ in 0..arguments.repetitions {
        for (row, times) in ROWS.iter().zip(&mut times) {
            let pass = (row.timed)(workload, row.look_ahead);
            check(workload, row, pass.fills)?;
            times.push(pass.ns_per_command);
        }
    }
    let mut latencies = Vec::new();
    for row in &ROWS {
        let mut histogram = report::histogram();
        check(workload, row, (row.timed_each)(workload, row.look_ahead, &mut histogram))?;
        latencies.push((row.name, histogram));
    }

    writeln!(text, "{}: {} commands, {} accounts", workload.name, workload.ops.len(), workload.accounts)?;
    writeln!(
        text,
        "  {:?}\n  {} fills, checksum {:016x}, the same in every row",
        workload.mix, workload.expected.fills, workload.expected.hash
    )?;
    let floor = report::median(&times[FLOOR]);
    writeln!(text, "  {:<36} {:>9} {:>9} {:>9} {:>9}", "ns/command", "median", "min", "max", "x floor")?;
    for (row, times) in ROWS.iter().zip(&times) {
        let (median, min, max) = (
            report::median(times),
            times.iter().copied().fold(f64::INFINITY, f64::min),
            times.iter().copied().fold(0.0, f64::max),
        );
        writeln!(text, "  {:<36} {median:>9.1} {min:>9.1} {max:>9.1} {:>9.2}", row.name, median / floor)?;
    }
    writeln!(text, "  one at a time, {} ns of timer included", timer_cost_ns())?;
    let rows: Vec<_> = latencies.iter().map(|(name, histogram)| (*name, histogram)).collect();
    for line in report::percentile_table(&rows, Unit::Nanoseconds).lines() {
        writeln!(text, "  {line}")?;
    }
    text.push('\n');
    Ok(())
}

fn check(workload: &Workload, row: &Row, fills: FillSum) -> Result<()> {
    if fills != workload.expected {
        bail!(
            "{} on {}: {fills:?} instead of {:?}; no figures for wrong fills",
            row.name,
            workload.name,
            workload.expected
        );
    }
    Ok(())
}
