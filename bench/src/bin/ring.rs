//! Our ring beside crossbeam's `ArrayQueue`, `rtrb`, the `disruptor` crate and a bare ping-pong on one cache line, in one
//! run: round trip, and throughput of slots of one and of three cache lines, one at a time and in batches.
//!
//! Two threads take all contenders in turn, in short rounds, so that whatever the machine does hits all alike; what
//! counts is the median. A round in which the scheduler took either thread off its core says how busy the machine is and
//! nothing about rings: it is counted, shown, and left out. Every payload is checked whole: a wrong one ends the run
//! without a figure.
#![allow(clippy::print_stdout)]

use anyhow::{Result, bail};
use clap::Parser;
use ringside_bench::report::{self, ForeignLoad, bar, median};
use ringside_bench::rings::{Crossbeam, Disruptor, Ours, OursShared, Payload, Peer, Rtrb, RtrbPop};
use ringside_core::pin::{cores, pin_current_thread};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Round trip and throughput of rings.
#[derive(Parser)]
struct Arguments {
    /// Seconds for each of the five sections.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
    /// Slots of each ring in the throughput sections; a power of two.
    #[arg(long, default_value_t = 4096)]
    capacity: usize,
    /// Payloads published together in the batched sections.
    #[arg(long, default_value_t = 16)]
    batch: u64,
    /// Leave the threads to the scheduler instead of pinning them to the first two cores.
    #[arg(long)]
    no_pin: bool,
    #[command(flatten)]
    report: report::Arguments,
}

/// Round trips of one round.
const TRIPS: u64 = 200;
/// Payloads of one round, at least: some laps, and much less than a time slice.
const PAYLOADS: u64 = 10_000;
/// Slots of a ring that carries round trips.
const TRIP_CAPACITY: usize = 64;
/// First rounds of a section, which warm caches and predictors and are not counted.
const WARM_ROUNDS: usize = 5;
/// Undisturbed rounds that a contender needs before anything is concluded.
const ROUNDS_MIN: usize = 20;

/// One side's work for a round of so many payloads; gives 0 unless a payload was wrong.
type Side = Box<dyn FnMut(u64) -> u64 + Send>;

/// Both sides of one way to get something from thread to thread.
struct Contender {
    name: String,
    /// The side whose time is taken.
    here: Side,
    there: Side,
}

/// Keeps its content off the cache lines of its neighbours.
#[repr(align(128))]
struct Alone<T>(T);

/// Polls; where the other side has no core of its own, gives this one away in time.
#[derive(Default)]
struct Patience(u32);

impl Patience {
    #[inline(always)]
    fn pause(&mut self) {
        std::hint::spin_loop();
        self.0 += 1;
        if self.0 > 20_000 {
            self.0 = 0;
            std::thread::yield_now();
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let usable = cores();
    let pair = match usable[..] {
        [first, second, ..] if !arguments.no_pin => Some((first, second)),
        _ => None,
    };
    let load = ForeignLoad::start();
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    let pinned = pair.map_or("not pinned".to_string(), |(a, b)| format!("pinned to cores {a} and {b}"));
    writeln!(
        text,
        "ring benchmark, {} s a section, capacity {}, {pinned}",
        arguments.seconds, arguments.capacity
    )?;
    let mut bars = String::new();
    let mut passed = true;
    let mut judge = |rows: &[Row], name: &str, measured: f64, limit: f64, at_most: bool| {
        let decided = rows.iter().all(|row| row.ns.len() >= ROUNDS_MIN);
        let (reached, line) = bar(name, measured, limit, at_most);
        passed &= decided && reached;
        bars.push_str(if decided { "" } else { "undecided, too few undisturbed rounds: " });
        bars.push_str(&line);
    };

    let rows = duel(round_trips(), TRIPS, &arguments, pair)?;
    show("round trip, payload of one line", "ns", &rows, &mut text, |ns| ns);
    judge(&rows, "round trip, x the bare line", rows[1].median() / rows[0].median(), 1.3, true);

    for (kind, batch) in
        [("single".to_string(), 1), (format!("batched by {}", arguments.batch), arguments.batch)]
    {
        let count = PAYLOADS.next_multiple_of(batch);
        let sections = [
            ("64-byte slots", one_line(arguments.capacity, batch)),
            ("command-sized slots (184 B)", three_lines(arguments.capacity, batch)),
        ];
        for (size, contenders) in sections {
            let rows = duel(contenders, count, &arguments, pair)?;
            let title = format!("{size}, {kind}");
            show(&title, "M/s", &rows, &mut text, |ns| 1_000.0 / ns);
            // The first two rows are ours: in memory of the process, and in a memfd.
            let best = rows[2..].iter().map(Row::median).fold(f64::INFINITY, f64::min);
            let name = format!("{title}, throughput x the best peer");
            judge(&rows, &name, best / rows[0].median(), 1.0, false);
        }
    }

    writeln!(text, "\n{bars}other processes used {:.1} % of the machine", load.percent())?;
    Ok(arguments.report.conclude("ring", &text, !passed)?)
}

fn round_trips() -> Vec<Contender> {
    vec![
        bare(),
        trip::<Ours<[u64; 7]>>(""),
        trip::<OursShared<[u64; 7]>>(""),
        trip::<Crossbeam<[u64; 7]>>(""),
        trip::<Rtrb<[u64; 7]>>(""),
        trip::<RtrbPop<[u64; 7]>>(""),
        trip::<Disruptor<[u64; 7]>>(""),
        bare_each_way(),
    ]
}

/// Ours keeps 56 bytes beside the stamp of a 64-byte slot. The others carry the same 56, and the two that could gain
/// by filling a line exactly carry 64 as well.
fn one_line(capacity: usize, batch: u64) -> Vec<Contender> {
    vec![
        pipe::<Ours<[u64; 7]>>("", capacity, batch),
        pipe::<OursShared<[u64; 7]>>("", capacity, batch),
        pipe::<Crossbeam<[u64; 7]>>("", capacity, batch),
        pipe::<Rtrb<[u64; 7]>>("", capacity, batch),
        pipe::<Rtrb<[u64; 8]>>(" of 64", capacity, batch),
        pipe::<RtrbPop<[u64; 7]>>("", capacity, batch),
        pipe::<Disruptor<[u64; 7]>>("", capacity, batch),
        pipe::<Disruptor<[u64; 8]>>(" of 64", capacity, batch),
    ]
}

fn three_lines(capacity: usize, batch: u64) -> Vec<Contender> {
    vec![
        pipe::<Ours<[u64; 23]>>("", capacity, batch),
        pipe::<OursShared<[u64; 23]>>("", capacity, batch),
        pipe::<Crossbeam<[u64; 23]>>("", capacity, batch),
        pipe::<Rtrb<[u64; 23]>>("", capacity, batch),
        pipe::<RtrbPop<[u64; 23]>>("", capacity, batch),
        pipe::<Disruptor<[u64; 23]>>("", capacity, batch),
    ]
}

/// Payloads one way, as fast as they go.
fn pipe<P: Peer>(suffix: &str, capacity: usize, batch: u64) -> Contender {
    let (sender, receiver) = P::make(capacity);
    let (mut sender, mut receiver) = (Alone((sender, 0u64)), Alone((receiver, 0u64)));
    let here = move |count| {
        let Alone((sender, next)) = &mut sender;
        let end = *next + count;
        let mut patience = Patience::default();
        while *next < end {
            let sent = if batch == 1 {
                u64::from(P::send(sender, *next))
            } else {
                P::send_batch(sender, *next, batch.min(end - *next))
            };
            *next += sent;
            if sent == 0 {
                patience.pause();
            }
        }
        0
    };
    let there = move |count| {
        let Alone((receiver, next)) = &mut receiver;
        let (end, mut wrong) = (*next + count, 0);
        let mut patience = Patience::default();
        while *next < end {
            let before = *next;
            P::receive(receiver, |payload| {
                wrong |= payload.difference(*next);
                *next += 1;
            });
            if *next == before {
                patience.pause();
            }
        }
        wrong
    };
    Contender { name: format!("{}{suffix}", P::NAME), here: Box::new(here), there: Box::new(there) }
}

/// One payload to the other side and back through a second ring.
fn trip<P: Peer>(suffix: &str) -> Contender {
    let (to_there, from_here) = P::make(TRIP_CAPACITY);
    let (to_here, from_there) = P::make(TRIP_CAPACITY);
    let mut here_side = Alone((to_there, from_there, 0u64));
    let mut there_side = Alone((to_here, from_here, 0u64));
    let here = move |count| {
        let Alone((sender, receiver, next)) = &mut here_side;
        let (end, mut wrong) = (*next + count, 0);
        let mut patience = Patience::default();
        while *next < end {
            let sequence = *next;
            wrong |= u64::from(!P::send(sender, sequence));
            while *next == sequence {
                P::receive(receiver, |payload| {
                    wrong |= payload.difference(sequence);
                    *next += 1;
                });
                if *next == sequence {
                    patience.pause();
                }
            }
        }
        wrong
    };
    let there = move |count| {
        let Alone((sender, receiver, next)) = &mut there_side;
        let (end, mut wrong) = (*next + count, 0);
        let mut patience = Patience::default();
        while *next < end {
            let before = *next;
            P::receive(receiver, |payload| {
                wrong |= payload.difference(*next);
                wrong |= u64::from(!P::send(sender, *next));
                *next += 1;
            });
            if *next == before {
                patience.pause();
            }
        }
        wrong
    };
    Contender { name: format!("{}{suffix}", P::NAME), here: Box::new(here), there: Box::new(there) }
}

/// The least that two cores need for a round trip: one line, one word, two stores.
fn bare() -> Contender {
    let line = Arc::new(Alone(AtomicU64::new(0)));
    let side = |line: Arc<Alone<AtomicU64>>, own: u64| {
        let mut next = Alone(0u64);
        move |count| {
            // Captured as a whole, so that it stays alone on its lines.
            let Alone(next) = &mut next;
            let mut patience = Patience::default();
            for _ in 0..count {
                // Words count up by one a store: odd from here, even from there.
                if own == 1 {
                    line.0.store(2 * *next + 1, Ordering::Release);
                }
                let due = 2 * *next + 1 + own;
                while line.0.load(Ordering::Acquire) != due {
                    patience.pause();
                }
                if own == 0 {
                    line.0.store(2 * *next + 2, Ordering::Release);
                }
                *next += 1;
            }
            0
        }
    };
    Contender {
        name: "bare line".to_string(),
        here: Box::new(side(line.clone(), 1)),
        there: Box::new(side(line, 0)),
    }
}

/// The least for lines that go one way only, as a ring's do: a line there and one back, one word, two stores. A writer does not get
/// its line with the answer, but asks the reader for it again. What it needs more than [`bare`], no ring can save.
fn bare_each_way() -> Contender {
    let lines = Arc::new([Alone(AtomicU64::new(0)), Alone(AtomicU64::new(0))]);
    let there_lines = lines.clone();
    let mut sent = Alone(0u64);
    let here = move |count| {
        let (Alone(sent), [there, back]) = (&mut sent, &*lines);
        let mut patience = Patience::default();
        for _ in 0..count {
            *sent += 1;
            there.0.store(*sent, Ordering::Release);
            while back.0.load(Ordering::Acquire) != *sent {
                patience.pause();
            }
        }
        0
    };
    let mut answered = Alone(0u64);
    let there = move |count| {
        let (Alone(answered), [there, back]) = (&mut answered, &*there_lines);
        let mut patience = Patience::default();
        for _ in 0..count {
            *answered += 1;
            while there.0.load(Ordering::Acquire) != *answered {
                patience.pause();
            }
            back.0.store(*answered, Ordering::Release);
        }
        0
    };
    Contender { name: "bare, a line each way".to_string(), here: Box::new(here), there: Box::new(there) }
}

/// What one contender needed, ns a payload or trip, and how that stood to the first contender in the same round.
struct Row {
    name: String,
    /// Of undisturbed rounds.
    ns: Vec<f64>,
    /// Of rounds that were undisturbed for both.
    ratios: Vec<f64>,
    /// Rounds left out.
    disturbed: usize,
}

impl Row {
    fn median(&self) -> f64 {
        median(&self.ns)
    }
}

/// How often the calling thread has been off its core so far; 0 where the system does not tell.
fn switches() -> u64 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let counts = status.lines().filter(|line| line.contains("ctxt_switches:"));
    counts.filter_map(|line| line.rsplit('\t').next()?.trim().parse::<u64>().ok()).sum()
}

/// Runs the contenders in turn, `count` payloads each, until the time is up.
fn duel(
    contenders: Vec<Contender>,
    count: u64,
    arguments: &Arguments,
    pair: Option<(usize, usize)>,
) -> Result<Vec<Row>> {
    const STOP: u64 = u64::MAX;
    // Turns count up by two. The other side says that it is done, then, when the clock has been read, whether it was
    // disturbed since its last turn: an odd number.
    let (go, done) = (Alone(AtomicU64::new(0)), Alone(AtomicU64::new(0)));
    let told = Alone(AtomicU64::new(0));
    let mut rows = Vec::new();
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for Contender { name, here: a, there: b } in contenders {
        rows.push(Row { name, ns: Vec::new(), ratios: Vec::new(), disturbed: 0 });
        here.push(a);
        there.push(b);
    }
    let mut wrong = 0;
    let wrong_there = std::thread::scope(|scope| {
        let (go, done, told) = (&go, &done, &told);
        let other = scope.spawn(move || {
            let _ = pair.map(|(_, core)| pin_current_thread(core));
            let (mut wrong, mut turn, mut before) = (0, 0, switches());
            for index in (0..there.len()).cycle() {
                let mut patience = Patience::default();
                let found = loop {
                    let found = go.0.load(Ordering::Acquire);
                    if found != turn {
                        break found;
                    }
                    patience.pause();
                };
                if found == STOP {
                    break;
                }
                turn = found;
                wrong |= there[index](count);
                done.0.store(turn, Ordering::Release);
                let after = switches();
                told.0.store(turn + u64::from(after != before), Ordering::Release);
                before = after;
            }
            wrong
        });
        let _ = pair.map(|(core, _)| pin_current_thread(core));
        let (started, span) = (Instant::now(), Duration::from_secs_f64(arguments.seconds));
        let (mut turn, mut round) = (0, 0);
        while started.elapsed() < span || round <= WARM_ROUNDS {
            let mut first = None;
            for (index, (here, row)) in here.iter_mut().zip(&mut rows).enumerate() {
                turn += 2;
                let before = switches();
                let moment = Instant::now();
                go.0.store(turn, Ordering::Release);
                wrong |= here(count);
                let mut patience = Patience::default();
                while done.0.load(Ordering::Acquire) != turn {
                    patience.pause();
                }
                let ns = moment.elapsed().as_nanos() as f64 / count as f64;
                let disturbed_here = switches() != before;
                let verdict = loop {
                    let found = told.0.load(Ordering::Acquire);
                    if found >= turn {
                        break found;
                    }
                    patience.pause();
                };
                let disturbed = disturbed_here || verdict != turn;
                if index == 0 {
                    first = (!disturbed).then_some(ns);
                }
                if round < WARM_ROUNDS {
                    continue;
                }
                if disturbed {
                    row.disturbed += 1;
                } else {
                    row.ns.push(ns);
                    row.ratios.extend(first.map(|first| ns / first));
                }
            }
            round += 1;
        }
        go.0.store(STOP, Ordering::Release);
        other.join()
    });
    match wrong_there {
        Ok(wrong_there) if wrong | wrong_there == 0 => Ok(rows),
        _ => bail!("a payload was not what was sent; no figures for wrong payloads"),
    }
}

/// Appends a section: per contender its median in `unit`, the fastest and slowest tenth, how its median stands to the
/// first row's, and the median of the same ratio taken round by round.
fn show(title: &str, unit: &str, rows: &[Row], text: &mut String, convert: fn(f64) -> f64) {
    let _ = writeln!(text, "\n{title}");
    let _ = writeln!(
        text,
        "  {unit:<22} {:>7} {:>9} {:>9} {:>9} {:>9} {:>12} {:>12}",
        "rounds", "left out", "median", "best 10%", "worst 10%", "time x first", "by rounds"
    );
    let first = rows[0].median();
    for row in rows {
        if row.ns.is_empty() {
            let _ = writeln!(text, "  {:<22} {:>7} {:>9}", row.name, 0, row.disturbed);
            continue;
        }
        let mut sorted = row.ns.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |share: f64| convert(sorted[((sorted.len() - 1) as f64 * share) as usize]);
        let _ = writeln!(
            text,
            "  {:<22} {:>7} {:>9} {:>9.2} {:>9.2} {:>9.2} {:>12.2} {:>12.2}",
            row.name,
            row.ns.len(),
            row.disturbed,
            convert(row.median()),
            at(0.1),
            at(0.9),
            row.median() / first,
            median(&row.ratios)
        );
    }
}
