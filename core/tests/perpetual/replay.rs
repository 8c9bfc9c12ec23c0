//! Replay of perpetual commands: the same commands give the same events and the same state hash in every build profile and
//! however the tables lie in memory; a snapshot and what came after it equal the whole; every part of the state is in the
//! hash; a damaged snapshot is refused, and one that was written damaged too.
//!
//! The golden vectors are digests of seeded streams, the same constants for debug and release. A change of them is a
//! change of decisions or of the canonical state: raise `ENGINE_VERSION` with it. `RINGSIDE_GOLDEN=print` prints the
//! values of this build.

use crate::support::perpetual::flow::{Flow, Random};
use crate::support::perpetual::{BTC, USDT, dec};
use ringside_core::command::*;
use ringside_core::event::{Event, StateHash};
use ringside_core::hash_seed::HashSeed;
use ringside_core::ids::{ALL_MARKETS, DRAFT_MARKET, padded};
use ringside_core::memory::Pages;
use ringside_core::snapshot::SnapshotError;
use ringside_core::{Engine, EngineConfig};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::Read;
use xxhash_rust::xxh3::xxh3_128;
use zerocopy::IntoBytes;

/// Seed, commands, SHA-256 of all event records, state hash at the end.
const GOLDEN: [(u64, usize, &str, &str); 3] = [
    (
        1,
        20000,
        "d86b23c87af2a476fe0f13764e43c039f1c39f6756303dbd18dc2718827a51ab",
        "06a43f9cc9483d20174916108e81bc5e",
    ),
    (
        2,
        20000,
        "22b7c8d3e653fdd89232a4c931ebae48c67fa14a2df8a4687463e5436a5372b9",
        "6f79d98956476e1cf3237f141a77087c",
    ),
    (
        3,
        5000,
        "d4bc025f715773a3921497e4f35837ce58f9179e2632f2df6870134060c77ad1",
        "59434d9e8d6587c7a35d769599d7ec88",
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

/// Engines whose tables differ in size and in what spreads them, hence in where every key lies and in which order it is met.
fn configs() -> [EngineConfig; 3] {
    let of = |secret, orders, accounts, idempotency_keys, pages| EngineConfig {
        hash_seed: HashSeed::new(secret),
        orders,
        accounts,
        idempotency_keys,
        pages,
    };
    [EngineConfig::default(), of(1, 1, 1, 1, Pages::Small), of(2, 1 << 18, 1 << 16, 1 << 17, Pages::Huge)]
}

fn record(seed: u64, len: usize) -> Recorded {
    let (mut engine, mut flow) = (Engine::new(&configs()[0]), Flow::new(seed));
    let (mut commands, mut events, mut starts) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..len {
        let mut command = flow.command();
        if number % 1_000 == 999 {
            command = Command {
                sequence: command.sequence,
                time_ns: command.time_ns,
                ..Command::new(Checkpoint {})
            };
        }
        starts.push(events.len());
        commands.push(command);
        engine.apply(&command, &mut events);
        flow.observe(&events[starts[number]..]);
    }
    starts.push(events.len());
    Recorded { commands, events, starts, hash: engine.state_hash() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn golden_vectors() {
    for (seed, len, events, state) in GOLDEN {
        let recorded = record(seed, len);
        let real = (hex(&Sha256::digest(recorded.events.as_bytes())), hex(&recorded.hash));
        if std::env::var_os("RINGSIDE_GOLDEN").is_some() {
            eprintln!("    ({seed}, {len}, \"{}\", \"{}\"),", real.0, real.1);
            continue;
        }
        assert_eq!(real.0, events, "seed {seed}: the events changed");
        assert_eq!(real.1, state, "seed {seed}: the state hash changed");
    }
}

#[test]
fn replay_repeats_every_byte_wherever_things_lie() {
    let recorded = record(11, 20_000);
    for config in configs() {
        let mut engine = Engine::new(&config);
        let mut events = Vec::new();
        for command in &recorded.commands {
            engine.apply(command, &mut events);
        }
        assert!(events == recorded.events, "{config:?}");
        assert_eq!(engine.state_hash(), recorded.hash, "{config:?}");
        let told: Vec<_> = events.iter().filter_map(Event::get::<StateHash>).collect();
        assert_eq!(told.len(), 20, "checkpoints tell the hash of the perpetual side too");
    }
}

/// At random points: the snapshot loads into the same state, saves to the same bytes, and the rest of the stream on it
/// gives the same events and the same end.
#[test]
fn snapshot_and_suffix_equal_the_whole() {
    let points = if cfg!(debug_assertions) { 4 } else { 24 };
    for seed in [21, 22, 23] {
        let recorded = record(seed, 6_000);
        let mut random = Random::new(seed);
        for round in 0..points {
            let at = random.below(recorded.commands.len() as u64 + 1) as usize;
            let mut engine = Engine::new(&configs()[0]);
            recorded.commands[..at].iter().for_each(|command| engine.apply(command, &mut ()));
            let mut saved = Vec::new();
            engine.save(&mut saved);
            let mut loaded = Engine::load(&configs()[round % 3], &saved).unwrap();
            assert_eq!(loaded.state_hash(), engine.state_hash(), "seed {seed}, command {at}");
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

/// A snapshot of a venue in the middle of everything.
fn snapshot(commands: usize) -> Vec<u8> {
    let recorded = record(31, commands);
    let mut engine = Engine::new(&configs()[1]);
    recorded.commands.iter().for_each(|command| engine.apply(command, &mut ()));
    let mut saved = Vec::new();
    engine.save(&mut saved);
    saved
}

/// Every bit of it, and every shorter one: refused, never a panic.
#[test]
fn every_flipped_bit_of_a_snapshot_is_found() {
    let mut saved = snapshot(1_500);
    assert!(Engine::load(&configs()[1], &saved).is_ok());
    let step = if cfg!(debug_assertions) { 61 } else { 1 };
    for bit in (0..saved.len() * 8).step_by(step) {
        saved[bit / 8] ^= 1 << (bit % 8);
        let loaded = Engine::load(&configs()[1], &saved);
        assert!(loaded.is_err(), "bit {bit} of {} was taken", saved.len() * 8);
        saved[bit / 8] ^= 1 << (bit % 8);
    }
    for len in (0..saved.len()).step_by(step) {
        assert!(Engine::load(&configs()[1], &saved[..len]).is_err(), "cut to {len} bytes");
    }
}

/// Bytes of the header before the state: see `snapshot.rs`.
const HEADER_LEN: usize = 81;

/// Makes a snapshot's sums those of its bytes again.
fn seal(bytes: &mut [u8]) {
    let state = xxh3_128(&bytes[HEADER_LEN..]).to_le_bytes();
    bytes[24..40].copy_from_slice(&state);
    let header = xxh3_128(&bytes[..HEADER_LEN - 16]).to_le_bytes();
    bytes[HEADER_LEN - 16..HEADER_LEN].copy_from_slice(&header);
}

/// A snapshot whose sums are right and whose contents are not: what it says of itself is judged field by field. It is
/// refused with a reason, or it is a state that holds all invariants and takes further commands; it never panics.
#[test]
fn a_snapshot_that_was_written_wrong_is_refused_or_sound() {
    let saved = snapshot(1_500);
    let mut whole = saved.clone();
    seal(&mut whole);
    assert!(whole == saved, "the test seals as the engine does");
    let mut random = Random::new(77);
    let (mut refused, mut taken) = (0, 0);
    let rounds = if cfg!(debug_assertions) { 300 } else { 20_000 };
    for _ in 0..rounds {
        let mut bytes = saved.clone();
        for _ in 0..1 + random.below(2) {
            let at = HEADER_LEN + random.below((saved.len() - HEADER_LEN) as u64) as usize;
            bytes[at] = match random.below(3) {
                0 => bytes[at] ^ (1 << random.below(8)),
                1 => 0xff,
                _ => random.below(256) as u8,
            };
        }
        seal(&mut bytes);
        match Engine::load(&configs()[1], &bytes) {
            Err(SnapshotError::Invalid(_)) => refused += 1,
            Err(other) => panic!("{other}"),
            Ok(engine) => {
                engine.check_invariants().unwrap();
                taken += 1;
            }
        }
    }
    assert!(refused > rounds / 20 && taken > 0, "{refused} refused, {taken} taken");
}

/// Ids of perpetual orders are of the engine's one counter: a snapshot that has given out an id it does not know of
/// would give it out twice.
#[test]
fn an_order_from_the_future_is_refused() {
    let saved = snapshot(1_500);
    let next = HEADER_LEN + 16;
    let count = u64::from_le_bytes(saved[next..next + 8].try_into().unwrap());
    assert!(count > 500, "{count} orders");
    let mut bytes = saved.clone();
    // The spot orders of the stream are few and old enough; the newest perpetual one is not.
    bytes[next..next + 8].copy_from_slice(&(count - 40).to_le_bytes());
    seal(&mut bytes);
    match Engine::load(&configs()[1], &bytes).err() {
        Some(SnapshotError::Invalid(reason)) => assert!(reason.contains("from the future"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

/// Histories of one length and time that differ in one field, each in another: every part of the perpetual state must be
/// in the hash, or a divergence there is never found.
#[test]
fn state_hash_covers_every_part() {
    let mut hashes: BTreeMap<[u8; 16], &str> = BTreeMap::new();
    for (name, change) in variants() {
        let mut commands = a_history();
        change(&mut commands);
        let mut engine = Engine::new(&configs()[0]);
        for (index, command) in commands.iter().enumerate() {
            let time_ns = 1_700_000_000_000_000_000 + index as i64 * 1_000_000_000;
            let command = Command { sequence: index as u64 + 1, time_ns, ..*command };
            engine.apply(&command, &mut ());
        }
        engine.check_invariants().unwrap_or_else(|fault| panic!("{name}: {fault}"));
        if let Some(other) = hashes.insert(engine.state_hash(), name) {
            panic!("one hash for two states: {other}; {name}");
        }
    }
}

/// A change of a history.
type Change = fn(&mut Vec<Command>);

/// The place where variants put a command of their own.
const FREE: usize = 13;

fn address(number: u8) -> [u8; 20] {
    [number; 20]
}

fn place(account: u32, side: Side, price: &str, quantity: &str, number: u32) -> PlacePerpetual {
    let mut place = crate::support::perpetual::limit_order(account, side, quantity, price);
    place.client_order = padded(&format!("v{number}")).unwrap();
    place
}

/// A market with a trade, positions, resting orders of both sides and one that waits.
fn a_history() -> Vec<Command> {
    let credit = |index, amount| {
        Command::new(CreditPerpetual {
            address: address(index),
            reserved: 0,
            amount: amount * USDT,
            reason: [0; 64],
        })
    };
    let mut stop = place(1, Side::Sell, "0", "0.1", 5);
    stop.order_type = PerpetualOrderType::StopMarket as u8;
    stop.stop_price = dec("59000");
    vec![
        Command::new(ListPerpetual {
            symbol: padded("BTCUSDT").unwrap(),
            base: padded("BTC").unwrap(),
            quote: padded("USDT").unwrap(),
            tick: dec("0.1"),
            lot: dec("0.001"),
        }),
        credit(0, 500),
        credit(1, 5_000),
        credit(2, 6_000),
        Command::new(SetManualPrice { market: BTC, moves_band: 0, price: dec("60000") }),
        Command::new(AdvanceTime {}),
        Command::new(SetPerpetualState { market: BTC, state: 0, reserved: [0; 3] }),
        Command::new(place(1, Side::Sell, "60000", "0.2", 1)),
        Command::new(place(2, Side::Buy, "60000", "0.2", 2)),
        Command::new(place(1, Side::Sell, "60100", "0.1", 3)),
        Command::new(place(1, Side::Sell, "60100", "0.1", 4)),
        Command::new(stop),
        Command::new(AdvanceTime {}),
        Command::new(AdvanceTime {}),
        Command::new(AdvanceTime {}),
    ]
}

fn change<B: Body>(command: &mut Command, change: impl Fn(&mut B)) {
    let mut body = *command.body::<B>();
    change(&mut body);
    *command = Command::new(body);
}

fn set(parameter: PerpetualParameter, value: i64) -> Command {
    Command::new(SetPerpetualParameter { market: BTC, parameter: parameter as u32, value })
}

/// The least of margin for an account, made where there is none.
fn funded(number: u8) -> Command {
    Command::new(CreditPerpetual { address: address(number), reserved: 0, amount: 1, reason: [0; 64] })
}

fn terms(mask: u32) -> Command {
    Command::new(SetPerpetualAccount {
        account: 1,
        mask,
        trade_group: 7,
        fee_burn: 1,
        referral_total_bps: 2_000,
        referral_share_bps: 5_000,
        promo_bps: 100,
        promo_until_ms: 1_900_000_000_000,
        ..zerocopy::FromZeros::new_zeroed()
    })
}

fn limits(market: u32, open_orders: u32) -> Command {
    Command::new(SetAccountLimits {
        account: 1,
        market,
        mask: limit_mask::OPEN_ORDERS,
        open_orders,
        order_rate_10s: 0,
        order_rate_1m: 0,
        max_position_notional: 0,
        max_order_notional: 0,
    })
}

/// The first of `count` tiers.
fn scheduled(count: u32, taker_rate: i64) -> Command {
    Command::new(ScheduleVipTier { tier: 0, count, volume: 0, maker_rate: 10_000, taker_rate })
}

fn drafted(market: u32, name: [u8; 3]) -> Command {
    let mut symbol = [0; 20];
    symbol[..3].copy_from_slice(&name);
    let (base, quote) = (padded("X").unwrap(), padded("USDT").unwrap());
    Command::new(DraftPerpetual { symbol, base, quote, market, reserved: 0 })
}

fn drafted_change(parameter: PerpetualParameter, value: i64) -> Command {
    Command::new(SetPerpetualParameter { market: DRAFT_MARKET, parameter: parameter as u32, value })
}

fn variants() -> Vec<(&'static str, Change)> {
    vec![
        ("as it is", |_| {}),
        ("another wallet", |all| change(&mut all[2], |credit: &mut CreditPerpetual| credit.amount += 1)),
        ("a larger fund", |all| change(&mut all[1], |credit: &mut CreditPerpetual| credit.amount += 1)),
        ("another tick", |all| change(&mut all[0], |list: &mut ListPerpetual| list.tick = dec("0.2"))),
        ("another lot", |all| change(&mut all[0], |list: &mut ListPerpetual| list.lot = dec("0.002"))),
        ("another name", |all| {
            change(&mut all[0], |list: &mut ListPerpetual| list.symbol = padded("BTCUSDC").unwrap());
        }),
        ("another mark", |all| {
            change(&mut all[4], |set: &mut SetManualPrice| set.price = dec("60000.1"));
        }),
        ("another last price", |all| {
            change(&mut all[7], |place: &mut PlacePerpetual| place.price = dec("59999.9"));
        }),
        ("a larger position", |all| {
            change(&mut all[7], |place: &mut PlacePerpetual| place.quantity = dec("0.3"));
            change(&mut all[8], |place: &mut PlacePerpetual| place.quantity = dec("0.3"));
        }),
        ("another order's price", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| place.price = dec("60200"));
        }),
        ("the other order's price", |all| {
            change(&mut all[10], |place: &mut PlacePerpetual| place.price = dec("60200"));
        }),
        ("another order's quantity", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| place.quantity = dec("0.101"));
        }),
        ("another order's name", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| place.client_order = padded("w").unwrap());
        }),
        ("another time in force", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| {
                place.time_in_force = PerpetualTimeInForce::PostOnly as u8;
            });
        }),
        ("a good-till date", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| {
                place.time_in_force = PerpetualTimeInForce::GoodTillDate as u8;
                place.good_till_ms = 1_700_001_000_000;
            });
        }),
        ("a later good-till date", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| {
                place.time_in_force = PerpetualTimeInForce::GoodTillDate as u8;
                place.good_till_ms = 1_700_002_000_000;
            });
        }),
        ("another self-trade mode", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| {
                place.self_trade = SelfTradePrevention::ExpireBoth as u8;
            });
        }),
        ("an attached order", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| place.take_profit = dec("58000"));
        }),
        ("an attached order at another price", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| place.take_profit = dec("58100"));
        }),
        ("another stop price", |all| {
            change(&mut all[11], |place: &mut PlacePerpetual| place.stop_price = dec("58999"));
        }),
        ("another working type", |all| {
            change(&mut all[11], |place: &mut PlacePerpetual| place.working_type = 1);
        }),
        ("a protected trigger", |all| {
            change(&mut all[11], |place: &mut PlacePerpetual| place.flags |= order_flag::PRICE_PROTECT);
        }),
        ("of the conditional service", |all| {
            change(&mut all[11], |place: &mut PlacePerpetual| place.flags |= order_flag::CONDITIONAL_SERVICE);
        }),
        ("closes its position", |all| {
            change(&mut all[11], |place: &mut PlacePerpetual| {
                (place.flags, place.quantity) = (order_flag::CLOSE_POSITION, 0);
                (place.side, place.stop_price) = (Side::Buy as u8, dec("61000"));
            });
        }),
        ("trails", |all| {
            change(&mut all[11], |place: &mut PlacePerpetual| {
                place.order_type = PerpetualOrderType::TrailingStopMarket as u8;
                (place.stop_price, place.callback_rate) = (0, 1_000_000);
            });
        }),
        ("trails further", |all| {
            change(&mut all[11], |place: &mut PlacePerpetual| {
                place.order_type = PerpetualOrderType::TrailingStopMarket as u8;
                (place.stop_price, place.callback_rate) = (0, 2_000_000);
            });
        }),
        ("an idempotency key", |all| {
            change(&mut all[9], |place: &mut PlacePerpetual| place.idempotency_key = 5);
        }),
        ("a modified order", |all| {
            all[FREE] = Command::new(ModifyPerpetual {
                account: 1,
                market: BTC,
                order: 3,
                price: dec("60100"),
                quantity: dec("0.05"),
                side: 255,
                price_match: 0,
                flags: order_flag::KEEP_PRIORITY,
                client_order: [0; 36],
            });
        }),
        ("an order that went behind", |all| {
            all[FREE] = Command::new(ModifyPerpetual {
                account: 1,
                market: BTC,
                order: 3,
                price: dec("60100"),
                quantity: dec("0.05"),
                side: 255,
                price_match: 0,
                flags: 0,
                client_order: [0; 36],
            });
        }),
        ("an order less", |all| {
            all[FREE] = Command::new(CancelPerpetual {
                account: 1,
                market: BTC,
                order: 4,
                client_order: [0; 36],
                classes: 3,
            });
        }),
        ("a reduce-only order", |all| {
            let mut reduces = place(2, Side::Sell, "60300", "0.1", 9);
            reduces.flags = order_flag::REDUCE_ONLY;
            all[FREE] = Command::new(reduces);
        }),
        ("an ordinary order in its place", |all| {
            all[FREE] = Command::new(place(2, Side::Sell, "60300", "0.1", 9))
        }),
        ("another leverage", |all| {
            all[FREE] = Command::new(SetLeverage { account: 2, market: BTC, leverage: 21, reserved: 0 });
        }),
        ("isolated from now on", |all| {
            all[FREE] = Command::new(SetMarginMode { account: 3, market: BTC, mode: 1, reserved: 0 });
            all[1] = funded(9);
        }),
        ("one account more", |all| {
            all[1] = funded(9);
        }),
        ("a default mode", |all| {
            all[FREE] = Command::new(SetMarginMode { account: 3, market: ALL_MARKETS, mode: 1, reserved: 0 });
            all[1] = funded(8);
        }),
        ("a countdown", |all| {
            all[FREE] = Command::new(SetCountdown {
                account: 1,
                market: BTC,
                countdown_ms: 60_000,
                keep_reduce_only: 0,
                reserved: 0,
            });
        }),
        ("a countdown that spares", |all| {
            all[FREE] = Command::new(SetCountdown {
                account: 1,
                market: BTC,
                countdown_ms: 60_000,
                keep_reduce_only: 1,
                reserved: 0,
            });
        }),
        ("a countdown over all markets", |all| {
            all[FREE] = Command::new(SetCountdown {
                account: 1,
                market: ALL_MARKETS,
                countdown_ms: 60_000,
                keep_reduce_only: 0,
                reserved: 0,
            });
        }),
        ("a trade group", |all| all[FREE] = terms(account_mask::TRADE_GROUP)),
        ("trading disabled", |all| all[FREE] = terms(account_mask::TRADING)),
        ("a discount", |all| all[FREE] = terms(account_mask::FEE_BURN)),
        ("a referral", |all| all[FREE] = terms(account_mask::REFERRAL)),
        ("a promotion", |all| all[FREE] = terms(account_mask::PROMO)),
        ("a source", |all| {
            all[FREE] = Command::new(SetSource { market: BTC, source: 1, weight: 2, stale_ms: 0 });
        }),
        ("a heavier source", |all| {
            all[FREE] = Command::new(SetSource { market: BTC, source: 1, weight: 3, stale_ms: 0 });
        }),
        ("a source of an age", |all| {
            all[FREE] = Command::new(SetSource { market: BTC, source: 1, weight: 2, stale_ms: 7 });
        }),
        ("limits of an account", |all| all[FREE] = limits(BTC, 7)),
        ("other limits of an account", |all| all[FREE] = limits(BTC, 8)),
        ("limits over all markets", |all| all[FREE] = limits(ALL_MARKETS, 7)),
        ("a fee table for midnight", |all| all[FREE] = scheduled(1, 40_000)),
        ("another fee table for midnight", |all| all[FREE] = scheduled(1, 50_000)),
        ("half a fee table", |all| all[FREE] = scheduled(2, 40_000)),
        ("half of another fee table", |all| all[FREE] = scheduled(3, 40_000)),
        ("a draft", |all| all[FREE] = drafted(BTC, *b"BTC")),
        ("a draft of a new market", |all| all[FREE] = drafted(0, *b"ETH")),
        ("a draft of another new market", |all| all[FREE] = drafted(0, *b"XRP")),
        ("a draft with a parameter", |all| {
            all[12] = drafted(BTC, *b"BTC");
            all[FREE] = drafted_change(PerpetualParameter::MaxOpenOrders, 9);
        }),
        ("a draft with another value", |all| {
            all[12] = drafted(BTC, *b"BTC");
            all[FREE] = drafted_change(PerpetualParameter::MaxOpenOrders, 8);
        }),
        ("a draft with another parameter", |all| {
            all[12] = drafted(BTC, *b"BTC");
            all[FREE] = drafted_change(PerpetualParameter::MaxConditionalOrders, 9);
        }),
        ("a draft with a source", |all| {
            all[12] = drafted(BTC, *b"BTC");
            all[FREE] = Command::new(SetSource { market: DRAFT_MARKET, source: 1, weight: 2, stale_ms: 0 });
        }),
        ("a draft without sources", |all| {
            all[12] = drafted(BTC, *b"BTC");
            all[FREE] = Command::new(SetSource { market: DRAFT_MARKET, source: 1, weight: 0, stale_ms: 0 });
        }),
        ("a draft with brackets", |all| {
            all[12] = drafted(BTC, *b"BTC");
            all[FREE] = Command::new(SetBrackets {
                market: DRAFT_MARKET,
                count: 1,
                caps: [7; 8],
                leverages: [7; 8],
                rates: [7; 8],
            });
        }),
        ("a price of a source", |all| {
            all[12] = Command::new(SetSource { market: BTC, source: 1, weight: 2, stale_ms: 0 });
            all[FREE] = Command::new(FeedPrice { market: BTC, source: 1, price: dec("60001") });
        }),
        ("no manual price", |all| {
            all[FREE] = Command::new(SetManualPrice { market: BTC, moves_band: 0, price: 0 });
        }),
        ("another fee table", |all| {
            all[FREE] = Command::new(SetVipTier {
                tier: 0,
                count: 6,
                volume: 0,
                maker_rate: 10_000,
                taker_rate: 50_000,
            });
        }),
        ("a tier to fall", |all| {
            all[FREE] = Command::new(SetVipTier {
                tier: 1,
                count: 6,
                volume: 20_000 * USDT,
                maker_rate: 10_000,
                taker_rate: 50_000,
            });
        }),
        ("other brackets", |all| {
            let mut set =
                SetBrackets { market: BTC, count: 1, caps: [0; 8], leverages: [0; 8], rates: [0; 8] };
            (set.caps[0], set.leverages[0], set.rates[0]) = (1_000_000 * USDT, 100, 500_000);
            all[FREE] = Command::new(set);
        }),
        ("a venue's discount", |all| {
            all[FREE] = Command::new(SetPerpetualParameter {
                market: ALL_MARKETS,
                parameter: PerpetualParameter::FeeBurnBps as u32,
                value: 1_000,
            });
        }),
        ("cancel only", |all| {
            all[FREE] = Command::new(SetPerpetualState { market: BTC, state: 3, reserved: [0; 3] });
        }),
        ("post only", |all| {
            all[FREE] = Command::new(SetPerpetualState { market: BTC, state: 1, reserved: [0; 3] });
        }),
        ("settled", |all| {
            all[FREE] = Command::new(SetPerpetualState { market: BTC, state: 5, reserved: [0; 3] });
        }),
        ("another market", |all| {
            all[FREE] = Command::new(ListPerpetual {
                symbol: padded("ETHUSDT").unwrap(),
                base: padded("ETH").unwrap(),
                quote: padded("USDT").unwrap(),
                tick: dec("0.1"),
                lot: dec("0.001"),
            });
        }),
        ("a tick between", |all| all[FREE] = set(PerpetualParameter::Tick, dec("0.2"))),
        ("a lot between", |all| all[FREE] = set(PerpetualParameter::Lot, dec("0.002"))),
        ("a shorter interval of funding", |all| all[FREE] = set(PerpetualParameter::FundingIntervalHours, 2)),
        ("another band", |all| all[FREE] = set(PerpetualParameter::BandUp, 106_000_000)),
        ("another fee of liquidations", |all| all[FREE] = set(PerpetualParameter::LiquidationFee, 200_000)),
        ("more open orders", |all| all[FREE] = set(PerpetualParameter::MaxOpenOrders, 201)),
        ("no tick at the end", |all| {
            all[14] = Command::new(SetLeverage { account: 9, market: BTC, leverage: 1, reserved: 0 });
        }),
        ("no ticks at the end", |all| {
            all[14] = Command::new(SetLeverage { account: 9, market: BTC, leverage: 1, reserved: 0 });
            all[FREE] = all[14];
        }),
    ]
}

/// State hashes that engines of versions 1 to 12 had when each wrote its snapshot, after 3,000 commands of the flow that its own tests had.
const WRITTEN: [&str; 12] = [
    "f4e9652606e4e09772687ba972b61ad1",
    "f04c3dc4fb9c9998c73abf02d5f35af6",
    "58bf9fbad292d2f844a1212f7ae5fba1",
    "07906b67f3db5b0d0d25f59304b7762c",
    "f527cec399e2160de712ea626af3abb2",
    "fab137fbc8ef23380642cd07af569dc9",
    "469cb106741b146b71d4dd4c2b322e3a",
    "fb1992ce7a168a449d10bf15cbc7eb09",
    "451bb187b02d8375d89cd870c54325a4",
    "60b6752b34294b3b3af28d46e05bf7af",
    "7dfac6121cc5211be5e9d7cd2d29ecdf",
    "9580b2739ca5fdcea396b982279f61e4",
];

#[test]
fn snapshots_of_every_version_are_read() {
    for (place, hash) in WRITTEN.iter().enumerate() {
        let version = place + 1;
        let path = format!("{}/tests/golden/snapshot-{version}.gz", env!("CARGO_MANIFEST_DIR"));
        let mut bytes = Vec::new();
        let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
        assert_eq!(bytes[12..16], (version as u32).to_le_bytes(), "the version it was written by");
        let mut engine = Engine::load(&configs()[0], &bytes)
            .unwrap_or_else(|error| panic!("a snapshot of version {version}: {error}"));
        let found: String = engine.state_hash().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!((engine.sequence(), found.as_str()), (3_000, *hash), "version {version}");
        // It goes on: an hour of ticks, with its prices, triggers and funding.
        let start_ns = engine.time_ns();
        for second in 1..=3_600 {
            let command = Command {
                sequence: engine.sequence() + 1,
                time_ns: start_ns + second * 1_000_000_000,
                ..Command::new(AdvanceTime {})
            };
            engine.apply(&command, &mut ());
        }
        engine.check_invariants().unwrap();
    }
}
