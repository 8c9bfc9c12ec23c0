//! The real engine against another that does the same by other means: seeded streams of commands on every core, events
//! compared after each command, and of a failure the line that reruns it and the shortest stream found that still fails.

use super::model::Seen;
use ringside_core::command::{Command, Kind};
use ringside_core::engine::EngineConfig;
use ringside_core::event::{self, Event, StateHash};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Commands between two comparisons of the whole state.
const INTERVAL: u64 = 250;

/// Both engines, and where their commands come from.
pub trait Versus: Sized {
    /// Name of the test binary, for the line that reruns it.
    const TEST: &'static str;
    /// Commands of one stream.
    const STREAM_LEN: u64;
    /// A generator of commands.
    type Stream;

    /// Both at genesis.
    fn new() -> Self;
    /// The stream of a seed.
    fn stream(seed: u64) -> Self::Stream;
    /// Its next command; what the last one led to is in the engines.
    fn next(&self, stream: &mut Self::Stream) -> Command;
    /// Applies a command to both and compares what they emit.
    fn apply(&mut self, command: &Command) -> Result<(), String>;
    /// What the real engine emitted at the last command.
    fn events(&self) -> &[Event];
    /// Compares states.
    fn compare(&self) -> Result<(), String>;
    /// Judges the end of a stream; may apply more commands.
    fn finish(&mut self, _commands: &mut Vec<Command>) -> Result<(), String> {
        Ok(())
    }
    /// Adds cases that the test counts besides, at the end of a stream.
    fn count(&self, _seen: &mut Seen) {}
}

/// Little memory at the start, so that growth is met as well.
pub fn config() -> EngineConfig {
    EngineConfig { orders: 64, accounts: 4, idempotency_keys: 16, ..EngineConfig::default() }
}

/// Whether both told the same; the state hash, which only the real engine knows, apart.
pub fn same_events(command: &Command, real: &[Event], other: &[Event]) -> Result<(), String> {
    for index in 0..real.len().max(other.len()) {
        let (ours, theirs) = (real.get(index), other.get(index));
        if ours.map(without_hash) != theirs.map(without_hash) {
            return Err(format!(
                "{command:?}\nevent {index}\n  engine {ours:?}\n  other  {theirs:?}\nall of the engine's: {real:#?}\n\
                 all of the other's: {other:#?}"
            ));
        }
    }
    Ok(())
}

fn without_hash(event: &Event) -> Event {
    match event.get::<StateHash>() {
        Some(_) => Event::new(event.sequence, event.time_ns, event.index, StateHash { hash: [0; 16] }),
        None => *event,
    }
}

/// Runs `total` commands from the first seed that `RINGSIDE_SEED` names; gives what was seen.
pub fn run_streams<V: Versus>(total: u64) -> Seen {
    let first = super::seeds::first(1);
    let streams = total.div_ceil(V::STREAM_LEN);
    let next = AtomicU64::new(0);
    let threads =
        std::thread::available_parallelism().map_or(1, |threads| threads.get().min(streams as usize));
    let mut seen = Seen::default();
    let mut failures = Vec::new();
    std::thread::scope(|scope| {
        let worker = || {
            let mut seen = Seen::default();
            loop {
                let stream = next.fetch_add(1, Ordering::Relaxed);
                if stream >= streams {
                    return (seen, None);
                }
                let len = V::STREAM_LEN.min(total - stream * V::STREAM_LEN);
                match run::<V>(first + stream, len) {
                    Ok(of_stream) => seen.add(&of_stream),
                    Err((commands, text)) => {
                        // The others finish the stream they are at and stop.
                        next.store(streams, Ordering::Relaxed);
                        return (seen, Some((first + stream, commands, text)));
                    }
                }
            }
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            let (of_worker, failure) = worker.join().expect("failures are caught");
            seen.add(&of_worker);
            failures.extend(failure);
        }
    });
    failures.sort_by_key(|(_, commands, _)| commands.len());
    if let Some((seed, commands, text)) = failures.first() {
        report::<V>(*seed, commands, text);
    }
    eprintln!("{} commands in {streams} streams, {} events", seen.commands, seen.events);
    seen
}

/// Runs one stream. Gives what was seen, or the commands up to the failure and what failed.
fn run<V: Versus>(seed: u64, len: u64) -> Result<Seen, (Vec<Command>, String)> {
    let mut commands = Vec::with_capacity(len as usize);
    let mut seen = Seen::default();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut pair = V::new();
        let mut stream = V::stream(seed);
        for number in 1..=len {
            let command = pair.next(&mut stream);
            commands.push(command);
            pair.apply(&command)?;
            if number % INTERVAL == 0 || number == len {
                pair.compare()?;
            }
            seen.commands += 1;
            seen.events += pair.events().len() as u64;
            for event in pair.events() {
                *seen.kinds.entry(event.kind).or_default() += 1;
                if let Some(done) = event.get::<event::Done>() {
                    *seen.rejects.entry(done.reject).or_default() += 1;
                }
            }
        }
        let finished = pair.finish(&mut commands);
        pair.count(&mut seen);
        finished
    }));
    match outcome {
        Ok(Ok(())) => Ok(seen),
        Ok(Err(text)) => Err((commands, text)),
        Err(panic) => {
            let text = format!("{:?}\npanic: {}", commands.last(), panic_text(&panic));
            Err((commands, text))
        }
    }
}

fn panic_text(panic: &Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_string())).unwrap_or_default()
}

/// The index of the command at which the engines part, if they do.
fn parts_at<V: Versus>(commands: &[Command]) -> Option<usize> {
    let mut at: usize = 0;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut pair = V::new();
        for command in commands {
            if pair.apply(command).is_err() || (commands.len() < 500 && pair.compare().is_err()) {
                return true;
            }
            at += 1;
        }
        at = at.saturating_sub(1);
        pair.compare().is_err()
    }));
    outcome.unwrap_or(true).then_some(at)
}

/// Reports a failure: the line that reruns it and a short stream that fails as well.
fn report<V: Versus>(seed: u64, commands: &[Command], text: &str) -> ! {
    let len = commands.len();
    eprintln!("\nseed {seed}, command {len}: {text}\n");
    eprintln!(
        "rerun: RINGSIDE_SEED={seed} RINGSIDE_COMMANDS={len} cargo test --release -p ringside-core --test {}::random_streams \
         -- --nocapture\n",
        V::TEST
    );
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    // A state hash of the long stream means nothing in a short one.
    let kept: Vec<Command> =
        commands.iter().filter(|command| command.kind != Kind::VerifyHash as u16).copied().collect();
    let limit = super::setting("RINGSIDE_SHRINK_S").unwrap_or(20);
    let short = super::shrink::shrink(&kept, Duration::from_secs(limit), parts_at::<V>);
    std::panic::set_hook(hook);
    eprintln!("shortest stream found, {} commands:", short.len());
    for command in &short {
        eprintln!("  {command:?}");
    }
    panic!("seed {seed}: the engines part at command {len}");
}
