//! Replay: the same commands give the same events and the same state hash, in every build profile; a snapshot and
//! what came after it equal the whole; a damaged snapshot is refused.
//!
//! The golden vectors are digests of seeded streams, the same constants for debug and release. A change of them is a
//! change of decisions or of the canonical state: raise `ENGINE_VERSION` with it. `RINGSIDE_GOLDEN=print` prints the
//! values of this build.

use crate::support::random::Random;
use crate::support::stream::{Stream, address};
use ringside_core::command::*;
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Event, StateHash};
use ringside_core::hash_seed::HashSeed;
use ringside_core::ids::padded;
use ringside_core::prefetch::Hint;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use zerocopy::IntoBytes;

/// Seed, commands, SHA-256 of all event records, state hash at the end.
const GOLDEN: [(u64, usize, &str, &str); 3] = [
    (
        1,
        20000,
        "85d5c3a9694bb7629559f0546448db46a8e8c9ad855ad0c0d15f10dcaaeb7fa5",
        "5a9de46d3d952c38cb84c7b9d15a87bf",
    ),
    (
        2,
        20000,
        "ff2180400d8dd267e83d3b341c8f9a7c5fb08334b573bb1f1ff9fa569500a1b5",
        "94938d74b4d2048337548d05fd35be16",
    ),
    (
        3,
        5000,
        "2896df28f64328fc3c87faaf81c680dd27126907c768a64fbe1555c6a72b0e56",
        "a8586a55dc0a761c1e31397dd79344d4",
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
    EngineConfig {
        orders: 1,
        accounts: 1,
        idempotency_keys: 1,
        pages: ringside_core::memory::Pages::Small,
        hash_seed: HashSeed::new(1),
    }
}

fn large() -> EngineConfig {
    EngineConfig {
        orders: 1 << 18,
        accounts: 1 << 16,
        idempotency_keys: 1 << 17,
        pages: ringside_core::memory::Pages::Huge,
        hash_seed: HashSeed::new(2),
    }
}

/// Prefetching and a sink that takes nothing down leave no trace.
#[test]
fn prefetch_and_silence_change_nothing() {
    let recorded = record(12, 10_000);
    let mut engine = Engine::new(&config());
    for (index, command) in recorded.commands.iter().enumerate() {
        for (soon, hint) in recorded.commands[index..].iter().take(6).zip(Hint::ALL.into_iter().cycle()) {
            engine.prefetch(soon, hint);
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

/// Histories of one length and time that differ in one field, each in another: every part of the state must be in the
/// hash, or a divergence there is never found.
#[test]
fn state_hash_covers_every_part() {
    let mut hashes: BTreeMap<[u8; 16], &str> = BTreeMap::new();
    for (name, change) in variants() {
        let mut commands = a_history();
        change(&mut commands);
        let mut engine = Engine::new(&config());
        for (index, command) in commands.iter().enumerate() {
            let command = Command { sequence: index as u64 + 1, time_ns: 1_000_000, ..*command };
            engine.apply(&command, &mut ());
        }
        if let Some(other) = hashes.insert(engine.state_hash(), name) {
            panic!("one hash for two states: {other}; {name}");
        }
    }
}

/// A change of a history.
type Change = fn(&mut Vec<Command>);

/// Two orders that rest in a market of two assets, after a trade.
fn a_history() -> Vec<Command> {
    let [base, quote] = ["AAA", "BBB"].map(|name| padded(name).expect("short"));
    let symbol = padded("AAABBB").expect("short");
    let credit = |index, asset| {
        let amount = 1_000_000_000_000_000_000_i128.into();
        Command::new(Credit { address: address(index), asset, reserved: 0, amount, reason: [0; 64] })
    };
    let limit = |account, side, price, quantity| {
        let mut place = PlaceOrder::limit(account, 0, side, price, quantity);
        place.self_trade = SelfTradePrevention::None as u8;
        Command::new(place)
    };
    vec![
        Command::new(ListMarket {
            symbol,
            base,
            quote,
            tick: 1,
            lot: 1,
            min_notional: 1.into(),
            maker_fee: 1_000,
            taker_fee: 2_000,
            max_open_orders: 100,
            kind: 0,
            reserved: [0; 3],
        }),
        credit(0, base),
        credit(0, quote),
        limit(1, Side::Sell, 50, 10),
        limit(1, Side::Buy, 50, 10),
        limit(1, Side::Sell, 60, 10),
        limit(1, Side::Sell, 60, 10),
        Command::new(AdvanceTime {}),
        Command::new(AdvanceTime {}),
    ]
}

/// Changes the body of a command in place.
fn change<B: Body>(command: &mut Command, change: impl Fn(&mut B)) {
    let mut body = *command.body::<B>();
    change(&mut body);
    *command = Command { source: command.source, source_seq: command.source_seq, ..Command::new(body) };
}

fn variants() -> Vec<(&'static str, Change)> {
    vec![
        ("as it is", |_| {}),
        ("another address", |all| change(&mut all[1], |credit: &mut Credit| credit.address[19] = 1)),
        ("more credited", |all| {
            change(&mut all[1], |credit: &mut Credit| credit.amount = 2_000_000_000_000_i128.into())
        }),
        ("another symbol", |all| change(&mut all[0], |list: &mut ListMarket| list.symbol[5] = b'C')),
        ("an asset of another name", |all| {
            let name = padded("BBC").expect("short");
            change(&mut all[0], |list: &mut ListMarket| list.quote = name);
            change(&mut all[2], |credit: &mut Credit| credit.asset = name);
        }),
        ("another tick", |all| change(&mut all[0], |list: &mut ListMarket| list.tick = 2)),
        ("another lot", |all| change(&mut all[0], |list: &mut ListMarket| list.lot = 2)),
        ("another minimum", |all| change(&mut all[0], |list: &mut ListMarket| list.min_notional = 2.into())),
        ("another taker fee", |all| change(&mut all[0], |list: &mut ListMarket| list.taker_fee = 0)),
        ("another maker fee", |all| change(&mut all[0], |list: &mut ListMarket| list.maker_fee = 0)),
        ("the maker fee of the market alone", |all| {
            let update = UpdateMarket {
                market: 0,
                mask: update_mask::MAKER_FEE,
                tick: 0,
                lot: 0,
                min_notional: 0.into(),
                maker_fee: 1_100,
                taker_fee: 0,
            };
            all[7] = Command::new(update);
        }),
        ("fewer open orders", |all| change(&mut all[0], |list: &mut ListMarket| list.max_open_orders = 99)),
        ("a halted market", |all| {
            all[7] = Command::new(SetMarketStatus { market: 0, status: 1, reserved: [0; 3] });
        }),
        ("another price", |all| change(&mut all[5], |place: &mut PlaceOrder| place.price = 61)),
        ("another price of the other", |all| change(&mut all[6], |place: &mut PlaceOrder| place.price = 61)),
        ("another quantity", |all| change(&mut all[5], |place: &mut PlaceOrder| place.quantity = 11)),
        ("another time in force", |all| {
            change(&mut all[5], |place: &mut PlaceOrder| place.time_in_force = TimeInForce::PostOnly as u8);
        }),
        ("another self-trade mode", |all| {
            change(&mut all[5], |place: &mut PlaceOrder| {
                place.self_trade = SelfTradePrevention::ExpireBoth as u8
            });
        }),
        ("another last price", |all| {
            change(&mut all[3], |place: &mut PlaceOrder| place.price = 49);
            change(&mut all[4], |place: &mut PlaceOrder| place.price = 49);
        }),
        ("the older order goes behind", |all| {
            all[7] =
                Command::new(ReplaceOrder { account: 1, reserved: 0, order: 3, price: 60, quantity: 10 });
        }),
        ("the younger order goes behind", |all| {
            all[7] =
                Command::new(ReplaceOrder { account: 1, reserved: 0, order: 4, price: 60, quantity: 10 });
        }),
        ("a smaller order", |all| {
            all[7] = Command::new(AmendOrder { account: 1, reserved: 0, order: 3, quantity: 9 });
        }),
        ("an order less", |all| all[7] = Command::new(CancelOrder { account: 1, reserved: 0, order: 3 })),
        ("an order id more", |all| {
            // Refused, but stored: it takes an id.
            all[7] = Command::new(PlaceOrder::limit(1, 0, Side::Buy, 1, i64::from(i32::MAX) << 31));
        }),
        ("an account more", |all| {
            all[7] = Command::new(CreateAccount { address: address(7), reserved: 0 });
        }),
        ("a source", |all| (all[7].source, all[7].source_seq) = (9, 1)),
        ("another source", |all| (all[7].source, all[7].source_seq) = (10, 1)),
        ("a later number of a source", |all| (all[7].source, all[7].source_seq) = (9, 2)),
        ("an epoch", |all| all[7] = Command::new(OpenEpoch { epoch: 1, reserved: 0 })),
        ("a later epoch", |all| all[7] = Command::new(OpenEpoch { epoch: 2, reserved: 0 })),
        ("an idempotency key", |all| change(&mut all[5], |place: &mut PlaceOrder| place.idempotency_key = 1)),
        ("another idempotency key", |all| {
            change(&mut all[5], |place: &mut PlaceOrder| place.idempotency_key = 2)
        }),
        ("the key's body", |all| {
            change(&mut all[5], |place: &mut PlaceOrder| {
                (place.idempotency_key, place.idempotency_body) = (1, 1)
            });
        }),
        ("the key's command", |all| change(&mut all[6], |place: &mut PlaceOrder| place.idempotency_key = 1)),
    ]
}

#[test]
fn a_wrong_hash_is_a_divergence() {
    let mut engine = Engine::new(&config());
    let mut events: Vec<Event> = Vec::new();
    let sequenced = |sequence, command: Command| Command { sequence, ..command };
    engine.apply(&sequenced(1, Command::new(Checkpoint {})), &mut events);
    let hash = events.iter().find_map(Event::get::<StateHash>).expect("told").hash;
    let verify = |hash| Command::new(VerifyHash { checkpoint: 1, hash });
    engine.apply(&sequenced(2, verify(hash)), &mut events);
    assert!(engine.diverged().is_none());
    let mut wrong = hash;
    wrong[7] ^= 1;
    engine.apply(&sequenced(3, verify(wrong)), &mut events);
    let divergence = engine.diverged().expect("the hash is wrong");
    assert_eq!((divergence.checkpoint, divergence.expected, divergence.computed), (1, wrong, hash));
    // It stays told, and the first is the one that counts.
    engine.apply(&sequenced(4, verify(hash)), &mut events);
    engine.apply(&sequenced(5, verify([0; 16])), &mut events);
    assert_eq!(engine.diverged(), Some(divergence));
}

/// At random points: the snapshot loads into the same state, saves to the same bytes, and the rest of the stream on it
/// gives the same events and the same end.
#[test]
fn snapshot_and_suffix_equal_the_whole() {
    let points = if cfg!(debug_assertions) { 12 } else { 120 };
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
