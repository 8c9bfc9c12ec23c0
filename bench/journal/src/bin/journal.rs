//! What durability costs: the journal beside the disk under it, in one run, interleaved.
//!
//! ```text
//!  throughput  producer -> journal ring -> journaller -> segment     |  the same disk: 1 MiB write + sync, in sequence
//!  latency     one command: publish -> gate says durable             |  the same disk: one 4 KiB write + sync
//!  replay      recover(): read, check, apply                         |  the same commands from memory, applied
//! ```
//!
//! The disk's own figure is the better of `O_DIRECT | O_DSYNC` and `pwrite` + `fdatasync`, into a file that was
//! written full of zeros before, as segments are. Segments are allocated before the clock starts, twice as many as are
//! needed, so that the journal does not begin to replace them meanwhile; the line "allocating as it goes" shows the journal
//! with the allocation of its segments in the measured time, beside the disk doing the same double work.
//!
//! The line "the format alone" is what the machine has to give to a journal of this format: encoding, digests and writes on
//! threads of their own, with no ring and nobody to tell. The disk's own figure writes one and the same mebibyte again and again,
//! one at a time; the line below it shows the same disk given what another thread has just made, as every journal is, one and two
//! pieces at a time. What each thread costs, and what a command costs at least, is taken from the system's own account of the
//! threads, so that others who run meanwhile do not count; how near the processors are to each other is shown for each run.
//!
//! Replay stands beside what bounds it, each by itself: the disk, with one read on its way and with as many as recovery has;
//! reading and checking with nothing applied; the engine.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, bail};
use clap::Parser;
use ringside_bench::report::{self, ForeignLoad, Unit, bar, median};
use ringside_bench::workload::{Shape, Stamper, Workload};
use ringside_bench_journal::disk::{Bare, Scratch, reading};
use ringside_bench_journal::encoding::{Pieces, encoding, format_alone, pieces, stamping};
use ringside_bench_journal::near::round_trip;
use ringside_bench_journal::running::{Journalled, commands, config};
use ringside_bench_journal::stages;
use ringside_core::command::{Command, OpenEpoch};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::gate::GateMode;
use ringside_core::prefetch::Hint;
use ringside_core::ring::Wait;
use ringside_persist::config::{Method, PersistConfig};
use ringside_persist::read::survey::survey;
use ringside_persist::read::tail::walk;
use ringside_persist::recover::recovery::{Report, recover};
use ringside_persist::storage::disk::Disk;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The journal beside the disk under it.
#[derive(Parser)]
struct Arguments {
    /// Timed repetitions of each measurement.
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Commands journalled at full speed in each repetition.
    #[arg(long, default_value_t = 1_000_000)]
    commands: usize,
    /// Commands journalled one at a time in each repetition.
    #[arg(long, default_value_t = 60)]
    single: usize,
    /// Seed of the generated flow.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// Where to write; a folder of its own is made there and removed. Must be a real disk.
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Repeat a measurement while other processes used more than this share of the machine in it, in percent.
    #[arg(long, default_value_t = 100.0)]
    quiet: f64,
    /// Most measurements taken for one that counts.
    #[arg(long, default_value_t = 50)]
    tries: usize,
    /// Only these parts: encoding, throughput, latency, replay.
    #[arg(long)]
    only: Option<String>,
    #[command(flatten)]
    report: report::Arguments,
}

const MIB: usize = 1 << 20;
/// Commands that are journalled over and over: as many as stay in the cache.
const FLOW: usize = 1 << 10;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let parent = arguments.directory.clone().unwrap_or_else(std::env::temp_dir);
    let scratch = Scratch::new(&parent)?;
    let load = ForeignLoad::start();
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    writeln!(text, "journal benchmark, {} repetitions, seed {}\n", arguments.repetitions, arguments.seed)?;
    let wanted = |part: &str| arguments.only.as_deref().is_none_or(|only| only.contains(part));
    let mut passed = true;
    if wanted("encoding") {
        let commands = commands(FLOW, arguments.seed, 1);
        let medians = |rate: &dyn Fn() -> f64| -> f64 {
            median(&(0..arguments.repetitions).map(|_| rate()).collect::<Vec<f64>>()) / 1e6
        };
        let rate = |is_finished| medians(&|| encoding(&commands, arguments.commands, is_finished));
        writeln!(text, "encoding alone, one thread: {:.0} MB/s", rate(false))?;
        writeln!(text, "  with sums:                {:.0} MB/s", rate(true))?;
        let each: Vec<Pieces> =
            (0..arguments.repetitions).map(|_| pieces(&commands, arguments.commands)).collect();
        let of = |piece: fn(&Pieces) -> f64| median(&each.iter().map(piece).collect::<Vec<f64>>()) / 1e6;
        writeln!(
            text,
            "  each by itself: records {:.0} MB/s, CRCs {:.0} MB/s, digests {:.0} MB/s\n",
            of(|pieces| pieces.records),
            of(|pieces| pieces.links),
            of(|pieces| pieces.digests)
        )?;
    }
    if wanted("throughput") {
        passed &= throughput(&scratch, &arguments, &mut text)?;
    }
    if wanted("latency") {
        passed &= latency(&scratch, &arguments, &mut text)?;
    }
    if wanted("replay") {
        passed &= replay(&scratch, &arguments, &mut text)?;
    }
    writeln!(text, "other processes used {:.1} % of the machine", load.percent())?;
    Ok(arguments.report.conclude("journal", &text, !passed)?)
}

/// Takes a measurement while the machine is quiet: waits for a quiet moment first, and measures again when it was
/// not quiet meanwhile, until the tries are spent.
fn quiet<T>(arguments: &Arguments, mut measure: impl FnMut() -> Result<T>) -> Result<T> {
    for left in (0..arguments.tries).rev() {
        let load = ForeignLoad::start();
        std::thread::sleep(Duration::from_millis(300));
        if left > 0 && load.percent() > arguments.quiet {
            continue;
        }
        let load = ForeignLoad::start();
        let measured = measure()?;
        if left == 0 || load.percent() <= arguments.quiet {
            return Ok(measured);
        }
    }
    bail!("--tries must not be 0")
}

const METHODS: [(&str, Method); 3] =
    [("direct", Method::Direct), ("buffered", Method::Buffered), ("mapped", Method::Mapped)];

fn throughput(scratch: &Scratch, arguments: &Arguments, text: &mut String) -> Result<bool> {
    // The epoch's opening is command 1.
    let commands = commands(FLOW, arguments.seed, 1);
    let spares = 2 * (arguments.commands * 160 / (64 * MIB) + 2);
    let mut disk: [Vec<f64>; 3] = Default::default();
    let mut twice: Vec<f64> = Vec::new();
    let mut kernels: Vec<f64> = Vec::new();
    let mut ours: [Vec<f64>; 3] = Default::default();
    let mut rates: [Vec<f64>; 3] = Default::default();
    let mut busy: [Vec<f64>; 3] = Default::default();
    let mut allocating = Vec::new();
    let mut alone = Vec::new();
    let mut fed: [Vec<f64>; 2] = Default::default();
    let mut costs = String::new();
    let mut nearness = Vec::new();
    for _ in 0..arguments.repetitions {
        for (index, (name, method)) in METHODS.iter().enumerate() {
            let (alone, kernel, both, journal) = quiet(arguments, || {
                let begun = Instant::now();
                let bare = Bare::new(&scratch.folder("bare")?, *method, 128 * MIB)?;
                let allocated = begun.elapsed();
                let begun = Instant::now();
                let (alone, kernel) = bare.sweep(MIB)?;
                let both = bare.len() as f64 / (allocated + begun.elapsed()).as_secs_f64();
                let journal = run(scratch, name, Some(*method), spares, &commands, arguments.commands)?;
                Ok((alone, kernel, both, journal))
            })?;
            disk[index].push(alone);
            ours[index].push(journal.bytes);
            rates[index].push(journal.commands);
            busy[index].push(journal.busy);
            if *method == Method::Direct {
                twice.push(both);
                kernels.push(kernel);
                nearness.push(format!("{:.0}", round_trip()));
                costs = journal.costs;
            }
        }
        let (once, double) = quiet(arguments, || {
            let bare = Bare::new(&scratch.folder("bare")?, Method::Direct, 128 * MIB)?;
            Ok((bare.sweep_fed(MIB, 1)?, bare.sweep_fed(MIB, 2)?))
        })?;
        fed[0].push(once);
        fed[1].push(double);
        alone.push(quiet(arguments, || {
            let bare = Bare::new(
                &scratch.folder("bare")?,
                Method::Direct,
                (arguments.commands * 160).next_multiple_of(MIB),
            )?;
            format_alone(&bare, &commands, arguments.commands)
        })?);
        allocating.push(quiet(arguments, || {
            Ok(run(scratch, "allocating", None, 2, &commands, arguments.commands)?.bytes)
        })?);
    }
    writeln!(text, "throughput, {} commands in full batches, medians", arguments.commands)?;
    writeln!(
        text,
        "  {:<10} {:>12} {:>14} {:>16} {:>10} {:>14}",
        "method", "disk MB/s", "journal MB/s", "commands/s", "share", "writing"
    )?;
    let best = median(&disk[0]).max(median(&disk[1]));
    for (index, (name, _)) in METHODS.iter().enumerate() {
        writeln!(
            text,
            "  {name:<10} {:>12.0} {:>14.0} {:>16.0} {:>9.0}% {:>13.0}%",
            median(&disk[index]) / 1e6,
            median(&ours[index]) / 1e6,
            median(&rates[index]),
            100.0 * median(&ours[index]) / best,
            100.0 * median(&busy[index])
        )?;
    }
    writeln!(
        text,
        "  allocating as it goes: journal {:.0} MB/s, disk zero-writing then writing {:.0} MB/s",
        median(&allocating) / 1e6,
        median(&twice) / 1e6
    )?;
    writeln!(
        text,
        "  the disk written directly with what another thread has just made: {:.0} MB/s, two pieces on their way {:.0} MB/s",
        median(&fed[0]) / 1e6,
        median(&fed[1]) / 1e6
    )?;
    writeln!(text, "  the format alone: {:.0} MB/s", median(&alone) / 1e6)?;
    writeln!(text, "  nanoseconds of a processor for a command, direct, last run: {costs}")?;
    writeln!(
        text,
        "  a line to the other processor and back, after each run: {} ns (one core some 25, neighbours 60, far ones 300)",
        nearness.join(", ")
    )?;
    let a_command = median(&ours[0]) / median(&rates[0]);
    writeln!(text, "  {}", least(&commands, arguments, a_command, median(&kernels) * a_command, best)?)?;
    // Disk and journal of one repetition ran next to each other, so their ratio is the steadier figure.
    let ratios: Vec<f64> =
        (0..arguments.repetitions).map(|run| ours[0][run] / disk[0][run].max(disk[1][run])).collect();
    let (passed, line) =
        bar("durable bytes/s, share of the disk's own (median of runs)", median(&ratios), 0.85, false);
    text.push_str(&line);
    let ratios: Vec<f64> = ours[0].iter().zip(&alone).map(|(ours, alone)| ours / alone).collect();
    writeln!(text, "      share of the format alone: {:.2}\n", median(&ratios))?;
    Ok(passed)
}

/// What a command of `a_command` bytes costs at least, each part by itself and near its memory, and what share of `disk` that leaves
/// on as many processors as there are: with every one of them at work all the time, nothing moved between them, nobody woken.
fn least(
    commands: &[Command],
    arguments: &Arguments,
    a_command: f64,
    kernel: f64,
    disk: f64,
) -> Result<String> {
    let medians = |figure: &dyn Fn() -> f64| -> f64 {
        median(&(0..arguments.repetitions).map(|_| figure()).collect::<Vec<f64>>())
    };
    let bringing = medians(&|| stamping(commands, arguments.commands));
    let format = medians(&|| a_command * 1e9 / encoding(commands, arguments.commands, true));
    let processors = std::thread::available_parallelism()?.get();
    let bound = a_command * 1e9 * processors as f64 / (bringing + format + kernel);
    Ok(format!(
        "  at least: brought {bringing:.0}, records, sums and digest {format:.0}, the kernel's write {kernel:.0}; on {processors} \
         processors that bounds the journal to {:.0} MB/s, {:.2} of the disk",
        bound / 1e6,
        bound / disk
    ))
}

/// What the journal came to at full speed.
struct Journal {
    /// A second.
    bytes: f64,
    /// A second.
    commands: f64,
    /// Share of the time in which a batch was being written and synced.
    busy: f64,
    /// What the threads cost for each command.
    costs: String,
}

/// Journals everything at full speed.
fn run(
    scratch: &Scratch,
    name: &str,
    method: Option<Method>,
    spares: usize,
    commands: &[Command],
    count: usize,
) -> Result<Journal> {
    let folder = scratch.folder(name)?;
    let mut journal = Journalled::new(&config(&folder, method, spares), Wait::Park)?;
    let (bytes, flushes) = (journal.status.bytes(), journal.status.flush_sum());
    let before = stages::costs();
    let took = journal.push(commands, count)?.as_secs_f64();
    Ok(Journal {
        costs: stages::since(&before, count),
        bytes: (journal.status.bytes() - bytes) as f64 / took,
        commands: count as f64 / took,
        busy: (journal.status.flush_sum() - flushes).as_secs_f64() / took,
    })
}

fn latency(scratch: &Scratch, arguments: &Arguments, text: &mut String) -> Result<bool> {
    let mut rows = Vec::new();
    let mut overheads = Vec::new();
    for (name, wait, mode) in [
        ("durable, parked", Wait::Park, GateMode::Durable),
        ("durable, spinning", Wait::Spin, GateMode::Durable),
        ("written, parked", Wait::Park, GateMode::Written),
    ] {
        let folder = scratch.folder("latency")?;
        let config = PersistConfig { mode, ..config(&folder, None, 2) };
        let mut journal = Journalled::new(&config, wait)?;
        let bare = Bare::new(&scratch.folder("bare")?, Method::Direct, 64 * MIB)?;
        let (mut alone, mut acknowledged) = (report::histogram(), report::histogram());
        let count = arguments.single * arguments.repetitions;
        let commands = commands(count, arguments.seed, 1);
        let mut differences = Vec::new();
        for (index, command) in commands.iter().enumerate() {
            let mut acknowledge = || -> Result<Duration> {
                let start = Instant::now();
                journal.producer.try_publish(command).context("the ring has room")?;
                if wait == Wait::Spin {
                    while journal.gate.released(mode) < command.sequence {
                        std::hint::spin_loop();
                    }
                } else {
                    journal.wait(command.sequence, mode)?;
                }
                Ok(start.elapsed())
            };
            // A disk that has rested takes longer: each is the first as often as the other.
            let (sync, took) = if index % 2 == 0 {
                let sync = bare.one(index)?;
                (sync, acknowledge()?)
            } else {
                let took = acknowledge()?;
                (bare.one(index)?, took)
            };
            alone.saturating_record(sync.as_nanos() as u64);
            acknowledged.saturating_record(took.as_nanos() as u64);
            differences.push(took.as_secs_f64() * 1e6 - sync.as_secs_f64() * 1e6);
            // So that each finds the journal at rest.
            std::thread::sleep(Duration::from_millis(if mode == GateMode::Durable { 7 } else { 0 }));
        }
        if mode == GateMode::Durable {
            overheads.push((name, median(&differences)));
        }
        rows.push((format!("{name}: bare 4 KiB sync"), alone));
        rows.push((format!("{name}: acknowledged"), acknowledged));
    }
    writeln!(text, "latency of one command, nothing else in flight")?;
    let rows: Vec<_> = rows.iter().map(|(name, histogram)| (name.as_str(), histogram)).collect();
    for line in report::percentile_table(&rows, Unit::Microseconds).lines() {
        writeln!(text, "  {line}")?;
    }
    let mut passed = true;
    for (name, overhead) in overheads {
        let (reached, line) =
            bar(&format!("{name}: acknowledgement minus sync, median, us"), overhead, 100.0, true);
        passed &= reached;
        text.push_str(&line);
    }
    text.push('\n');
    Ok(passed)
}

fn replay(scratch: &Scratch, arguments: &Arguments, text: &mut String) -> Result<bool> {
    let workload = Workload::generate(&Shape::a(1_000), 1_000_000, arguments.seed);
    let engine_config = EngineConfig { orders: 1 << 12, accounts: 1 << 11, ..EngineConfig::default() };
    let folder = scratch.folder("replay")?;
    let config = config(&folder, None, 8);
    // What recovery writes first; the rest follows it.
    let mut stamper = Stamper::after(1);
    let preload = workload.preload.iter().chain(&workload.ops).map(|op| workload.command(op));
    let commands: Vec<Command> =
        workload.setup().chain(preload).map(|command| stamper.stamp(command)).collect();
    let mut journal = Journalled::new(&config, Wait::Park)?;
    journal.push(&commands, commands.len())?;
    journal.running.join().context("the journaller ended well")?;

    let (mut bare, mut replayed, mut recovered) = (Vec::new(), Vec::new(), Vec::new());
    let mut parts: [Vec<f64>; 3] = Default::default();
    let mut last = Report::default();
    for _ in 0..arguments.repetitions {
        let (singly, ahead, checked) = quiet(arguments, || {
            let (singly, ahead) = (reading(&folder, false)?, reading(&folder, true)?);
            Ok((singly, ahead, checking(&folder)?))
        })?;
        for (rates, rate) in parts.iter_mut().zip([singly, ahead, checked]) {
            rates.push(rate);
        }
        let (alone, whole, replay, report) = quiet(arguments, || {
            let mut engine = Engine::new(&engine_config);
            let mut opening = Command::new(OpenEpoch { epoch: 1, reserved: 0 });
            (opening.sequence, opening.time_ns) = (1, 1);
            engine.apply(&opening, &mut ());
            let start = Instant::now();
            for (index, command) in commands.iter().enumerate() {
                if engine.wants_hints()
                    && let Some(soon) = commands.get(index + 8)
                {
                    engine.prefetch(soon, Hint::Second);
                }
                engine.apply(command, &mut ());
            }
            let alone = commands.len() as f64 / start.elapsed().as_secs_f64();

            let start = Instant::now();
            let result = recover(&config, &engine_config, &mut ())?;
            let whole = commands.len() as f64 / start.elapsed().as_secs_f64();
            let report = result.report;
            for epoch in 2..=report.epoch {
                let mut opening = Command::new(OpenEpoch { epoch, reserved: 0 });
                (opening.sequence, opening.time_ns) = (engine.sequence() + 1, 1);
                engine.apply(&opening, &mut ());
            }
            if engine.state_hash() != result.engine.state_hash() {
                bail!("replay comes to another state than the engine came to");
            }
            Ok((alone, whole, report.commands_per_s(), report))
        })?;
        bare.push(alone);
        recovered.push(whole);
        replayed.push(replay);
        last = report;
    }
    writeln!(text, "replay of {} commands of flow A, commands/s, medians", commands.len())?;
    writeln!(text, "  the engine alone, from memory  {:>12.0}", median(&bare))?;
    let a_command = last.bytes as f64 / commands.len() as f64;
    let [singly, ahead, checked] = parts.map(|rates| median(&rates));
    for (name, rate) in [
        ("the disk, one read at a time", singly / a_command),
        ("the disk, reads as replay has", ahead / a_command),
        ("reading and checking alone", checked),
    ] {
        writeln!(text, "  {name:<30} {rate:>12.0}  ({:.0} MB/s)", rate * a_command / 1e6)?;
    }
    writeln!(text, "  replay of the journal          {:>12.0}", median(&replayed))?;
    let bound = [("disk", ahead / a_command), ("checking", checked), ("engine", median(&bare))];
    let bound = bound.iter().min_by(|one, other| one.1.total_cmp(&other.1)).map_or("", |bound| bound.0);
    writeln!(text, "  the slowest of disk, checking and engine by itself: the {bound}")?;
    writeln!(
        text,
        "  recovery as a whole            {:>12.0}  (look around, replay, repair, new epoch)",
        median(&recovered)
    )?;
    writeln!(text, "  the last one: replay {:?}, total {:?}", last.replay, last.total)?;
    let ratios: Vec<f64> = replayed.iter().zip(&bare).map(|(replayed, bare)| replayed / bare).collect();
    let (passed, line) =
        bar("replay rate, share of the engine's (median of runs)", median(&ratios), 0.7, false);
    text.push_str(&line);
    let whole: Vec<f64> = recovered.iter().zip(&bare).map(|(recovered, bare)| recovered / bare).collect();
    writeln!(text, "      recovery as a whole, share of the engine's: {:.2}\n", median(&whole))?;
    Ok(passed)
}

/// Commands per second of reading and checking the journal in `folder`, which are then thrown away.
fn checking(folder: &Path) -> Result<f64> {
    let disk = Disk::open_existing(folder)?;
    let start = Instant::now();
    let walked = walk(&disk, &survey(&disk)?, 0, None, |_, _| Ok(()))?;
    Ok(walked.commands as f64 / start.elapsed().as_secs_f64())
}
