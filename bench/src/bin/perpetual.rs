//! Time per command of the whole engine on a perpetual market, margin included, beside the bare floor on the same
//! flow and the least that its tables and events can cost there (`margin_floor.rs`), and the engine without its shortcuts,
//! interleaved in one run; and how it grows with the number of accounts. Prints nothing but the difference when the fills are not the floor's.
#![allow(clippy::print_stdout)]

use anyhow::{Result, bail};
use clap::Parser;
use ringside_bench::margin_floor::OnMarginFloor;
use ringside_bench::perpetual::PerpetualFlow;
use ringside_bench::report::{self, Bars, ForeignLoad, Unit};
use ringside_bench::variant::{
    OnFloor, OnPerpetual, Pass, Variant, ns_per_command, timed, timed_each, timer_cost_ns,
};
use ringside_bench::workload::{Shape, Workload};
use std::fmt::Write as _;

/// Time per command of floor and perpetual engine.
#[derive(Parser)]
struct Arguments {
    /// Timed repetitions of each variant on each flow.
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Commands of each flow.
    #[arg(long, default_value_t = 1_000_000)]
    commands: usize,
    /// Seed of the flows.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Only flows whose name contains this.
    #[arg(long, default_value = "")]
    only: String,
    /// Core to run on.
    #[arg(long, default_value_t = 1)]
    core: usize,
    #[command(flatten)]
    report: report::Arguments,
}

/// What one flow came to.
struct Measured {
    floor_ns: f64,
    engine_ns: f64,
    p50: u64,
    p999: u64,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let pinned = core_affinity::set_for_current(core_affinity::CoreId { id: arguments.core });
    let load = ForeignLoad::start();
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    writeln!(text, "{} repetitions, seed {}, pinned {pinned}\n", arguments.repetitions, arguments.seed)?;
    let mut bars = Bars::default();
    let mut by_accounts = Vec::new();
    for (shape, name) in [
        (Shape::a(1_000), "A, 1,000 accounts"),
        (Shape::a(1_000_000), "A, 1,000,000 accounts"),
        (Shape::b(1_000_000), "B, 1,000,000 accounts"),
    ] {
        if !name.contains(&arguments.only) {
            continue;
        }
        let flow = PerpetualFlow::new(Workload::generate(&shape, arguments.commands, arguments.seed));
        let measured = measure(&flow.workload, name, &arguments, &mut text)?;
        bars.at_most(
            format!("perpetual engine / floor, flow {name}"),
            measured.engine_ns / measured.floor_ns,
            5.0,
        );
        bars.at_most(format!("p99.9 / p50, flow {name}"), measured.p999 as f64 / measured.p50 as f64, 10.0);
        by_accounts.push(measured.engine_ns);
    }
    // Of all three flows, or there is nothing to compare.
    if let [few, many, _] = by_accounts[..] {
        bars.at_most("1,000,000 accounts / 1,000, flow A".to_string(), many / few, 2.5);
    }
    writeln!(text, "other processes used {:.1} % of the machine\n", load.percent())?;
    text.push_str(&bars.table());
    Ok(arguments.report.conclude("perpetual", &text, bars.missed() > 0)?)
}

fn measure(workload: &Workload, name: &str, arguments: &Arguments, text: &mut String) -> Result<Measured> {
    let [mut floor, mut least, mut engine] = [const { Vec::new() }; 3];
    for _ in 0..arguments.repetitions {
        floor.push(pass::<OnFloor>(workload)?);
        least.push(pass::<OnMarginFloor>(workload)?);
        engine.push(pass::<OnPerpetual>(workload)?);
    }
    let timer = timer_cost_ns();
    let mut latencies = report::histogram();
    let fills = timed_each::<OnPerpetual>(workload, true, &mut latencies);
    if fills != workload.expected {
        bail!("flow {name}: {fills:?} instead of {:?}", workload.expected);
    }
    let commands = workload.ops.len();
    let [floor_ns, least_ns, engine_ns] = [&floor, &least, &engine].map(|row| ns_per_command(row, commands));
    writeln!(text, "flow {name}: {commands} commands, {:?}", workload.mix)?;
    writeln!(text, "  {} fills, the same in every row and repetition", workload.expected.fills)?;
    writeln!(text, "  floor, look-ahead          {floor_ns:>8.1} ns/command")?;
    for (name, ns) in [("floor, tables and events", least_ns), ("perpetual, look-ahead", engine_ns)] {
        writeln!(text, "  {name:<25}  {ns:>8.1} ns/command, {:.2} x", ns / floor_ns)?;
    }
    writeln!(text, "  one at a time, {timer} ns of timer included:")?;
    for line in report::percentile_table(&[("perpetual", &latencies)], Unit::Nanoseconds).lines() {
        writeln!(text, "  {line}")?;
    }
    text.push('\n');
    let quantile = |quantile| latencies.value_at_quantile(quantile).saturating_sub(timer).max(1);
    Ok(Measured { floor_ns, engine_ns, p50: quantile(0.5), p999: quantile(0.999) })
}

fn pass<V: Variant>(workload: &Workload) -> Result<Pass> {
    let pass = timed::<V>(workload, true);
    if pass.fills != workload.expected {
        bail!("{:?} instead of {:?}; no figures for wrong fills", pass.fills, workload.expected);
    }
    Ok(pass)
}
