//! Instructions of the worst command, where one event asks for the work of many (`risk.md` 19): an hour, a close and a fall of a market
//! with very many positions, stops that one fill sets off, a spot market that is delisted with very many orders. Each row is a run of
//! this program under callgrind, in which every command is counted by itself. It ends with an error where one is above the bar.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, ensure};
use clap::Parser;
use ringside_bench::callgrind::{self, Cost, Profile};
use ringside_bench::op::Random;
use ringside_bench::perpetual::{MARKET, limit};
use ringside_bench::positions::{INDEX, Venue};
use ringside_bench::workload::{LOT, Shape, TICK, Workload};
use ringside_core::command::{
    AdvanceTime, Body, Command, MarketStatus, PerpetualOrderType, PerpetualParameter, PerpetualState,
    PerpetualTimeInForce, PlacePerpetual, SetManualPrice, SetMarketStatus, SetPerpetualParameter,
    SetPerpetualState, Side,
};
use ringside_core::money::Price;
use std::path::{Path, PathBuf};

/// Instructions of the worst command.
#[derive(Parser)]
struct Arguments {
    /// Open positions, an even number.
    #[arg(long, default_value_t = 1_000_000)]
    positions: u32,
    /// Only rows whose names contain this.
    #[arg(long, default_value = "")]
    only: String,
    /// Write the rows into this file.
    #[arg(long)]
    accept: Option<PathBuf>,
    /// What the figures are of, for that file: commit and compiler.
    #[arg(long, default_value = "unknown")]
    origin: String,
    /// Carry out this row: what callgrind is given.
    #[arg(long, hide = true)]
    carry_out: Option<String>,
}

/// Carries out a row with so many positions.
type Row = fn(u32) -> Result<()>;

const ROWS: [(&str, Row); 5] =
    [("hour", hour), ("close", close), ("fall", fall), ("stops", stops), ("delisting", delisting)];
/// Instructions of one command, at most (`engine.md` 6): about 200 microseconds.
const BAR: u64 = 2_400_000;
const SEED: u64 = 42;
/// Steps of a fall that liquidate.
const FALLS: u32 = 3;
/// A fall begins to liquidate within so many steps of 0.25 %.
const STEPS_MAX: u32 = 160;
const SECOND_NS: i64 = 1_000_000_000;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(name) = &arguments.carry_out {
        let (_, row) = ROWS.iter().find(|(row, _)| row == name).context("no such row")?;
        return row(arguments.positions);
    }
    let heading = format!(
        "# {} positions; the bar is {BAR} instructions a command\n# {:<10}{:>10}{:>14}{:>14}{:>18}\n",
        arguments.positions, "row", "commands", "mean instr", "worst instr", "L2 misses of it"
    );
    print!("{heading}");
    let (mut rows, mut above) = (String::new(), Vec::new());
    for (name, _) in ROWS.iter().filter(|(name, _)| name.contains(&arguments.only)) {
        let costs = count(name, arguments.positions)?;
        let sum: u64 = costs.iter().map(|cost| cost.instructions).sum();
        let worst = costs.iter().max_by_key(|cost| cost.instructions).context("no command")?;
        let (commands, mean) = (costs.len(), sum / costs.len() as u64);
        let row = format!(
            "{name:<12}{commands:>10}{mean:>14}{:>14}{:>18}\n",
            worst.instructions, worst.second_misses
        );
        print!("{row}");
        rows.push_str(&row);
        if worst.instructions > BAR {
            above.push(*name);
        }
    }
    if let Some(file) = &arguments.accept {
        std::fs::write(file, format!("# scripts/counts.sh --bounds: {}\n{heading}{rows}", arguments.origin))?;
    }
    ensure!(above.is_empty(), "above the bar: {above:?}");
    Ok(())
}

/// Runs this program for a row under callgrind; what each of its commands cost.
fn count(row: &str, positions: u32) -> Result<Vec<Cost>> {
    let program = std::env::current_exe()?;
    let folder = program.parent().context("a program is in a folder")?;
    let name = program.file_name().context("a program has a name")?.to_string_lossy();
    let profile = folder.join(format!("{name}-{}.callgrind", std::process::id()));
    let mut command = callgrind::command(folder, &format!("./{name}"), &profile);
    command.args(["--carry-out", row, "--positions", &positions.to_string()]);
    let output = command.output().context("valgrind cannot be run: scripts/counts.sh installs it")?;
    ensure!(output.status.success(), "{row}: {}", String::from_utf8_lossy(&output.stderr));
    let part = |number: usize| PathBuf::from(format!("{}.{number}", profile.display()));
    let mut costs = Vec::new();
    while part(costs.len() + 1).exists() {
        costs.push(read(&part(costs.len() + 1)).with_context(|| format!("{row}, command {}", costs.len()))?);
    }
    // What is counted behind the last command: nothing.
    let _ = std::fs::remove_file(&profile);
    Ok(costs)
}

fn read(part: &Path) -> Result<Cost> {
    let text = std::fs::read_to_string(part)?;
    std::fs::remove_file(part)?;
    Ok(Profile::parse(&text).map_err(anyhow::Error::msg)?.total)
}

/// Carries out a command that nothing may refuse, and counts it by itself.
fn counted<B: Body>(venue: &mut Venue, body: B) -> Result<()> {
    callgrind::toggle_counting();
    let given = venue.accepted(Command::new(body));
    callgrind::toggle_counting();
    callgrind::dump();
    given.map(drop)
}

fn give<B: Body>(venue: &mut Venue, body: B) -> Result<()> {
    venue.accepted(Command::new(body)).map(drop)
}

/// Time advances until nothing waits, each command counted.
fn work_off(venue: &mut Venue) -> Result<()> {
    while venue.engine.has_backlog() {
        counted(venue, AdvanceTime {})?;
    }
    Ok(())
}

fn move_index(venue: &mut Venue, price: Price) -> Result<()> {
    give(venue, SetManualPrice { market: MARKET, moves_band: 0, price })?;
    venue.time_ns += SECOND_NS;
    Ok(())
}

fn with_positions(positions: u32) -> Result<Venue> {
    Venue::with_positions(positions, &mut Random::new(SEED))
}

/// Every position pays an hour.
fn hour(positions: u32) -> Result<()> {
    let mut venue = with_positions(positions)?;
    for (parameter, value) in
        [(PerpetualParameter::Damp, 10_000_000), (PerpetualParameter::Interest, -800_000)]
    {
        give(&mut venue, SetPerpetualParameter { market: MARKET, parameter: parameter as u32, value })?;
    }
    callgrind::simulate();
    for _ in 0..2 * 3_600 {
        venue.time_ns += SECOND_NS;
        if venue.time_ns / SECOND_NS % 3_600 == 0 {
            counted(&mut venue, AdvanceTime {})?;
            work_off(&mut venue)?;
        } else {
            give(&mut venue, AdvanceTime {})?;
        }
    }
    Ok(())
}

/// A market closes: every position is settled.
fn close(positions: u32) -> Result<()> {
    let mut venue = with_positions(positions)?;
    move_index(&mut venue, INDEX - INDEX / 50)?;
    give(&mut venue, AdvanceTime {})?;
    callgrind::simulate();
    counted(
        &mut venue,
        SetPerpetualState { market: MARKET, state: PerpetualState::Closed as u8, reserved: [0; 3] },
    )?;
    work_off(&mut venue)
}

/// The mark falls until very many are liquidated. The book is empty and so is the fund: counterparties take every position.
fn fall(positions: u32) -> Result<()> {
    let mut venue = with_positions(positions)?;
    let mut index = INDEX;
    for _ in 0..STEPS_MAX {
        index -= INDEX / 400;
        move_index(&mut venue, index)?;
        give(&mut venue, AdvanceTime {})?;
        if venue.engine.has_backlog() {
            break;
        }
    }
    ensure!(venue.engine.has_backlog(), "nobody is liquidated after {STEPS_MAX} steps");
    callgrind::simulate();
    work_off(&mut venue)?;
    for _ in 0..FALLS {
        index -= INDEX / 400;
        move_index(&mut venue, index)?;
        counted(&mut venue, AdvanceTime {})?;
        work_off(&mut venue)?;
    }
    Ok(())
}

/// 200 accounts have 100 stops each; one fill sets all of them off.
fn stops(positions: u32) -> Result<()> {
    const ARMED: u32 = 200;
    const EACH: u32 = 100;
    ensure!(positions >= ARMED, "too few positions");
    let mut venue = with_positions(positions)?;
    let parameter = PerpetualParameter::MaxConditionalOrders as u32;
    give(&mut venue, SetPerpetualParameter { market: MARKET, parameter, value: 1_000 })?;
    let gtc = PerpetualTimeInForce::GoodTillCancel;
    let (buyer, mut number) = (positions + 1, u64::from(positions) + 1);
    let mut next = || {
        number += 1;
        number
    };
    let touch = INDEX - TICK;
    for (price, lots) in [(touch, 1), (touch - TICK, 30), (touch - TICK, 30)] {
        give(&mut venue, limit(buyer, Side::Buy, price, lots * LOT, gtc, next()))?;
    }
    for round in 0..EACH {
        // Those of pairs that are long.
        for account in (0..ARMED).map(|pair| 2 * pair + 1) {
            give(
                &mut venue,
                PlacePerpetual {
                    order_type: PerpetualOrderType::StopMarket as u8,
                    stop_price: touch - Price::from(round % 2) * TICK,
                    price: 0,
                    ..limit(account, Side::Sell, 0, LOT, gtc, next())
                },
            )?;
        }
    }
    callgrind::simulate();
    counted(&mut venue, limit(2 * ARMED + 2, Side::Sell, touch, LOT, gtc, next()))?;
    work_off(&mut venue)
}

/// A spot market is delisted with a fifth as many orders as there are positions elsewhere.
fn delisting(positions: u32) -> Result<()> {
    let workload = Workload::generate(&Shape { resting: positions / 5, ..Shape::b(1_000) }, 0, SEED);
    let mut venue = Venue::new(positions as usize / 5, workload.accounts + 1);
    for command in workload.setup() {
        venue.accepted(command)?;
    }
    for op in &workload.preload {
        venue.accepted(workload.command(op))?;
    }
    callgrind::simulate();
    counted(
        &mut venue,
        SetMarketStatus { market: 0, status: MarketStatus::Delisted as u8, reserved: [0; 3] },
    )?;
    work_off(&mut venue)
}
