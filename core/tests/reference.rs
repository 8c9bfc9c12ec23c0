//! The real engine and the reference engine get the same random commands and must emit the same events, byte for
//! byte, after each; balances, books and the real engine's own invariants are compared at intervals.
//!
//! `RINGSIDE_COMMANDS` sets how many commands in all, `RINGSIDE_SEED` the first seed. A failure prints the line that
//! reruns it and the shortest stream found that still fails.

#[path = "reference/examples.rs"]
mod examples;
#[path = "reference/mod.rs"]
mod naive;
mod support;

use naive::Reference;
use ringside_core::command::{Command, Kind, Side};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{self, Event, StateHash};
use ringside_core::reject::Reject;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::stream::Stream;

/// Commands of one stream.
const STREAM_LEN: u64 = 20_000;
/// Commands between two comparisons of the whole state.
const INTERVAL: u64 = 250;

/// Both engines.
struct Pair {
    real: Engine,
    reference: Reference,
    events: Vec<Event>,
}

impl Pair {
    fn new() -> Pair {
        Pair { real: Engine::new(&config()), reference: Reference::new(), events: Vec::new() }
    }

    /// Applies a command to both and compares what they emit; the real engine's events are then in `events`.
    ///
    /// A few commands are passed over, and after a few others the real engine goes on from its own snapshot. The
    /// command's time decides which, so that a shortened stream does the same.
    fn apply(&mut self, command: &Command) -> Result<(), String> {
        self.events.clear();
        if command.time_ns % 211 == 7 {
            self.real.skip(command);
            self.reference.skip(command);
            return Ok(());
        }
        self.real.apply(command, &mut self.events);
        if command.time_ns % 307 == 7 {
            let mut saved = Vec::new();
            self.real.save(&mut saved);
            self.real =
                Engine::load(&config(), &saved).map_err(|error| format!("its own snapshot: {error}"))?;
        }
        let expected = self.reference.apply(command);
        for index in 0..self.events.len().max(expected.len()) {
            let (real, reference) = (self.events.get(index), expected.get(index));
            if real.map(without_hash) != reference.map(without_hash) {
                return Err(format!(
                    "{command:?}\nevent {index}\n  engine    {real:?}\n  reference {reference:?}\nall of the engine's: \
                     {:#?}\nall of the reference's: {expected:#?}",
                    self.events
                ));
            }
        }
        Ok(())
    }

    /// Compares balances and books, and has the real engine check itself.
    fn compare(&self) -> Result<(), String> {
        self.real.check_invariants()?;
        for account in 0..self.reference.accounts.len() as u32 {
            for asset in 0..self.reference.assets.len() as u16 {
                let real = self.real.balance(account, asset).unwrap_or((0, 0));
                let reference = self.reference.balance(account, asset);
                if real != reference {
                    return Err(format!(
                        "account {account}, asset {asset}: engine {real:?}, reference {reference:?}"
                    ));
                }
            }
        }
        for market in 0..self.reference.markets.len() as u32 {
            for &side in Side::ALL {
                let mut levels: Vec<(i64, i128)> = Vec::new();
                for order in self.reference.side(market, side) {
                    match levels.last_mut() {
                        Some(level) if level.0 == order.price => level.1 += i128::from(order.open),
                        _ => levels.push((order.price, i128::from(order.open))),
                    }
                }
                let real = self.real.depth(market, side, usize::MAX);
                if real != levels {
                    return Err(format!("market {market}, {side:?}: engine {real:?}, reference {levels:?}"));
                }
                let real: Vec<_> = self
                    .real
                    .resting(market, side)
                    .map(|order| (order.order, order.account, order.price, order.quantity, order.open))
                    .collect();
                let reference: Vec<_> = self
                    .reference
                    .side(market, side)
                    .into_iter()
                    .map(|order| {
                        (order.order, order.account, order.price, order.filled + order.open, order.open)
                    })
                    .collect();
                if real != reference {
                    return Err(format!(
                        "market {market}, {side:?}: engine {real:?}, reference {reference:?}"
                    ));
                }
            }
            let reference = &self.reference.markets[market as usize];
            if self.real.update(market) != Some(reference.update)
                || self.real.last_price(market) != reference.last_price
            {
                return Err(format!("market {market}: update id or last price is not that of {reference:?}"));
            }
        }
        let counts = (self.real.accounts() as usize, self.real.assets(), self.real.markets());
        let expected =
            (self.reference.accounts.len(), self.reference.assets.len(), self.reference.markets.len());
        if counts != expected || self.real.time_ns() != self.reference.time_ns {
            return Err(format!("accounts, assets, markets: engine {counts:?}, reference {expected:?}"));
        }
        Ok(())
    }
}

/// Little memory at the start, so that growth is met as well.
fn config() -> EngineConfig {
    EngineConfig { orders: 64, accounts: 4, idempotency_keys: 16, pages: ringside_core::memory::Pages::Small }
}

/// An event with the state hash blanked: only the real engine knows it.
fn without_hash(event: &Event) -> Event {
    match event.get::<StateHash>() {
        Some(_) => Event::new(event.sequence, event.time_ns, event.index, StateHash { hash: [0; 16] }),
        None => *event,
    }
}

/// Runs one stream. Gives what was seen, or the commands up to the failure and what failed.
fn run(seed: u64, len: u64) -> Result<support::model::Seen, (Vec<Command>, String)> {
    let mut commands = Vec::with_capacity(len as usize);
    let mut seen = support::model::Seen::default();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut pair = Pair::new();
        let mut stream = Stream::new(seed);
        for number in 1..=len {
            let command = stream.next();
            commands.push(command);
            pair.apply(&command)?;
            stream.observe(&pair.events);
            if number % INTERVAL == 0 || number == len {
                pair.compare()?;
            }
            seen.commands += 1;
            seen.events += pair.events.len() as u64;
            for event in &pair.events {
                *seen.kinds.entry(event.kind).or_default() += 1;
                if let Some(done) = event.get::<event::Done>() {
                    *seen.rejects.entry(done.reject).or_default() += 1;
                }
            }
        }
        Ok(())
    }));
    match outcome {
        Ok(Ok(())) => Ok(seen),
        Ok(Err(text)) => Err((commands, text)),
        Err(panic) => Err((commands, format!("panic: {}", panic_text(&panic)))),
    }
}

fn panic_text(panic: &Box<dyn std::any::Any + Send>) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_string())).unwrap_or_default()
}

/// The index of the command at which the engines part, if they do.
fn parts_at(commands: &[Command]) -> Option<usize> {
    let mut at: usize = 0;
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let mut pair = Pair::new();
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
fn report(seed: u64, commands: &[Command], text: &str) -> ! {
    let len = commands.len();
    eprintln!("\nseed {seed}, command {len}: {text}\n");
    eprintln!(
        "rerun: RINGSIDE_SEED={seed} RINGSIDE_COMMANDS={len} cargo test --release -p ringside-core --test reference \
         random_streams -- --nocapture\n"
    );
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    // A state hash of the long stream means nothing in a short one.
    let kept: Vec<Command> =
        commands.iter().filter(|command| command.kind != Kind::VerifyHash as u16).copied().collect();
    let short = support::shrink::shrink(&kept, Duration::from_secs(20), parts_at);
    std::panic::set_hook(hook);
    eprintln!("shortest stream found, {} commands:", short.len());
    for command in &short {
        eprintln!("  {command:?}");
    }
    panic!("seed {seed}: the engines part at command {len}");
}

#[test]
fn random_streams() {
    let total = support::commands(10_000_000, 200_000);
    let first = support::setting("RINGSIDE_SEED").unwrap_or(1);
    let streams = total.div_ceil(STREAM_LEN);
    let next = AtomicU64::new(0);
    let threads =
        std::thread::available_parallelism().map_or(1, |threads| threads.get().min(streams as usize));
    let mut seen = support::model::Seen::default();
    let mut failures = Vec::new();
    std::thread::scope(|scope| {
        let worker = || {
            let mut seen = support::model::Seen::default();
            loop {
                let stream = next.fetch_add(1, Ordering::Relaxed);
                if stream >= streams {
                    return (seen, None);
                }
                let len = STREAM_LEN.min(total - stream * STREAM_LEN);
                match run(first + stream, len) {
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
        report(*seed, commands, text);
    }
    eprintln!("{} commands in {streams} streams, {} events", seen.commands, seen.events);
    if total >= 200_000 {
        // The comparison is worth what its streams reach; the perpetual side has a comparison of its own.
        let of_spot = |code: u16| code < Reject::MarginAssetDiffers.code();
        for reject in Reject::ALL.into_iter().filter(|reject| of_spot(reject.code())) {
            assert!(seen.rejects.contains_key(&reject.code()), "no stream met {reject:?}");
        }
        for &kind in event::Kind::ALL.iter().filter(|&&kind| kind as u16 <= event::Kind::Done as u16) {
            assert!(seen.kinds.contains_key(&(kind as u16)), "no stream told {kind:?}");
        }
    }
}

/// The shrinker finds the three commands that matter among three hundred.
#[test]
fn shrinking_keeps_what_matters() {
    let mut stream = Stream::new(5);
    let mut reference = Reference::new();
    let mut commands = Vec::new();
    for _ in 0..300 {
        let command = stream.next();
        stream.observe(&reference.apply(&command));
        commands.push(command);
    }
    for (index, kind) in [(40, 9001), (150, 9002), (260, 9003)] {
        commands[index].kind = kind;
    }
    let fails = |commands: &[Command]| {
        let mut wanted = [9001, 9002, 9003].into_iter().peekable();
        for (index, command) in commands.iter().enumerate() {
            wanted.next_if_eq(&command.kind);
            if wanted.peek().is_none() {
                return Some(index);
            }
        }
        None
    };
    let short = support::shrink::shrink(&commands, Duration::from_secs(5), fails);
    assert_eq!(short.iter().map(|command| command.kind).collect::<Vec<_>>(), [9001, 9002, 9003]);
    assert_eq!(short.iter().map(|command| command.sequence).collect::<Vec<_>>(), [1, 2, 3]);
}
