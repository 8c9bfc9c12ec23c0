//! Replay: the same commands give the same events and the same state hash, in every build profile; a snapshot and
//! what came after it equal the whole; a damaged snapshot is refused.
//!
//! The golden vectors are digests of seeded streams, the same constants for debug and release. A change of them is a
//! change of decisions or of the canonical state: raise `ENGINE_VERSION` with it. `RINGSIDE_GOLDEN=print` prints the
//! values of this build.

mod support;

use ringside_core::command::{Checkpoint, Command};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Event, StateHash};
use sha2::{Digest, Sha256};
use support::random::Random;
use support::stream::Stream;
use zerocopy::IntoBytes;

/// Seed, commands, SHA-256 of all event records, state hash at the end.
const GOLDEN: [(u64, usize, &str, &str); 3] = [
    (
        1,
        20_000,
        "9b11c7e99d5172fb28fddbda3dcba9c9db5f3ee243932cb2021f9342b3876d91",
        "ccbeac65bfffc8e16cdb5a87cccee3e1",
    ),
    (
        2,
        20_000,
        "af17ac406b196022686d023cb2334fed2ec6f425feccffc17157c8012466a9d4",
        "fd744752ce49f9e50892b7961089e357",
    ),
    (
        3,
        5_000,
        "ec3626ce782be3b39f9d4ffb492f3e270e208da535dc41e5294c3b912d5fc3aa",
        "f4c85cba9e131eb9ffc41e1dbebbf213",
    ),
];

/// A recorded stream: its commands and its events.
struct Recorded {
    commands: Vec<Command>,
    events: Vec<Event>,
    /// How many events precede each command.
    starts: Vec<usize>,
    hash: [u8; 16],
}

fn config() -> EngineConfig {
    EngineConfig::default()
}

/// Records the stream of a seed on a new engine.
fn record(seed: u64, len: usize) -> Recorded {
    let mut engine = Engine::new(&config());
    let mut stream = Stream::new(seed);
    let (mut commands, mut events, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..len {
        let command = stream.next();
        starts.push(events.len());
        commands.push(command);
        engine.apply(&command, &mut events);
        stream.observe(&events[starts[commands.len() - 1]..]);
    }
    starts.push(events.len());
    Recorded { commands, events, starts, hash: engine.state_hash() }
}

fn digest(events: &[Event]) -> String {
    hex(&Sha256::digest(events.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn golden_vectors() {
    for (seed, len, events, state) in GOLDEN {
        let recorded = record(seed, len);
        let (real_events, real_state) = (digest(&recorded.events), hex(&recorded.hash));
        if std::env::var_os("RINGSIDE_GOLDEN").is_some() {
            eprintln!("    ({seed}, {len}, \"{real_events}\", \"{real_state}\"),");
            continue;
        }
        assert_eq!(real_events, events, "seed {seed}: the events changed");
        assert_eq!(real_state, state, "seed {seed}: the state hash changed");
    }
}

/// The same commands again give the same bytes, whatever memory the engine took at its start.
#[test]
fn replay_repeats_every_byte() {
    let recorded = record(11, 20_000);
    for config in [config(), small(), large()] {
        let mut engine = Engine::new(&config);
        let mut events = Vec::new();
        for command in &recorded.commands {
            engine.apply(command, &mut events);
        }
        assert!(events == recorded.events);
        assert_eq!(engine.state_hash(), recorded.hash);
    }
}

fn small() -> EngineConfig {
    EngineConfig { orders: 1, accounts: 1, idempotency_keys: 1 }
}

fn large() -> EngineConfig {
    EngineConfig { orders: 1 << 18, accounts: 1 << 16, idempotency_keys: 1 << 17 }
}

/// Prefetching and a sink that takes nothing down leave no trace.
#[test]
fn prefetch_and_silence_change_nothing() {
    let recorded = record(12, 10_000);
    let mut engine = Engine::new(&config());
    for (index, command) in recorded.commands.iter().enumerate() {
        for soon in recorded.commands[index..].iter().take(4) {
            engine.prefetch(soon);
        }
        engine.apply(command, &mut ());
    }
    assert_eq!(engine.state_hash(), recorded.hash);
}

/// The hash told at a checkpoint is that of the state after it, and it is told again in replay.
#[test]
fn checkpoints_tell_the_state_hash() {
    let recorded = record(13, 5_000);
    let mut engine = Engine::new(&config());
    let mut checked = 0;
    for command in &recorded.commands {
        let mut events: Vec<Event> = Vec::new();
        engine.apply(command, &mut events);
        if let Some(told) = events.iter().find_map(Event::get::<StateHash>) {
            assert_eq!(hex(&told.hash), hex(&engine.state_hash()), "{command:?}");
            checked += 1;
        }
    }
    assert!(checked > 3, "{checked} checkpoints");
    assert!(engine.diverged().is_none());
}

/// Any two of these states differ, so their hashes must: a hash that misses a part of the state finds no divergence.
#[test]
fn state_hash_moves_with_every_accepted_order() {
    let recorded = record(14, 4_000);
    let mut engine = Engine::new(&config());
    let mut hashes = std::collections::BTreeSet::new();
    for command in &recorded.commands {
        engine.apply(command, &mut ());
        assert!(hashes.insert(engine.state_hash()), "two states with one hash, at {command:?}");
    }
}

#[test]
fn a_wrong_hash_is_a_divergence() {
    let mut engine = Engine::new(&config());
    let mut events: Vec<Event> = Vec::new();
    let sequenced = |sequence, command: Command| Command { sequence, ..command };
    engine.apply(&sequenced(1, Command::new(Checkpoint {})), &mut events);
    let hash = events.iter().find_map(Event::get::<StateHash>).expect("told").hash;
    let verify = |hash| Command::new(ringside_core::command::VerifyHash { checkpoint: 1, hash });
    engine.apply(&sequenced(2, verify(hash)), &mut events);
    assert!(engine.diverged().is_none());
    let mut wrong = hash;
    wrong[7] ^= 1;
    engine.apply(&sequenced(3, verify(wrong)), &mut events);
    assert!(engine.diverged().is_some());
}

/// At random points: the snapshot loads into the same state, saves to the same bytes, and the rest of the stream on it
/// gives the same events and the same end.
#[test]
fn snapshot_and_suffix_equal_the_whole() {
    let points = support::commands(60, 12);
    for seed in [21, 22, 23, 24] {
        let recorded = record(seed, 6_000);
        let mut random = Random::new(seed);
        for round in 0..points / 4 {
            let at = random.below(recorded.commands.len() as u64 + 1) as usize;
            let mut engine = Engine::new(&config());
            recorded.commands[..at].iter().for_each(|command| engine.apply(command, &mut ()));
            let mut saved = Vec::new();
            engine.save(&mut saved);
            let config = [config(), small(), large()][round as usize % 3];
            let mut loaded = Engine::load(&config, &saved).expect("a good snapshot");
            assert_eq!(loaded.sequence(), at as u64);
            assert_eq!(loaded.time_ns(), engine.time_ns());
            assert_eq!(loaded.state_hash(), engine.state_hash(), "seed {seed}, command {at}");
            loaded.check_invariants().expect("invariants hold");
            let mut again = Vec::new();
            loaded.save(&mut again);
            assert!(saved == again, "seed {seed}, command {at}: save(load(x)) is not x");
            let mut events = Vec::new();
            recorded.commands[at..].iter().for_each(|command| loaded.apply(command, &mut events));
            assert!(
                events == recorded.events[recorded.starts[at]..],
                "seed {seed}, command {at}: other events"
            );
            assert_eq!(loaded.state_hash(), recorded.hash, "seed {seed}, command {at}: another end");
        }
    }
}

/// Every byte of a snapshot changed in two ways, every shorter and a longer one: refused, never a panic.
#[test]
fn damaged_snapshots_are_refused() {
    let recorded = record(31, 400);
    let mut engine = Engine::new(&config());
    recorded.commands.iter().for_each(|command| engine.apply(command, &mut ()));
    let mut saved = Vec::new();
    engine.save(&mut saved);
    assert!(Engine::load(&config(), &saved).is_ok());
    let refused = |bytes: &[u8], what: &str, at: usize| {
        assert!(Engine::load(&small(), bytes).is_err(), "{what} at byte {at} of {} was taken", saved.len());
    };
    for at in 0..saved.len() {
        for flip in [0xff, 1 << (at % 8)] {
            let mut damaged = saved.clone();
            damaged[at] ^= flip;
            refused(&damaged, "a flip", at);
        }
        refused(&saved[..at], "a cut", at);
    }
    refused(&[&saved[..], &[0]].concat(), "a byte more", saved.len());
}
