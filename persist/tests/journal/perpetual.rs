//! The promises of this package with the real engine on a perpetual flow: positions, margins, waiting orders, funding and
//! liquidations come back as they were after power cuts, kills and torn batches, with the follower's snapshots in use;
//! a golden journal leads to one state in every build; every bit of a snapshot that holds all this is guarded.
//!
//! The journal itself is tested with cheaper states in `crash.rs`, `rot.rs` and `faults.rs`; core's `perpetual/replay.rs`
//! tests the engine's own bytes.

use crate::common::{Count, for_each_case, for_each_seed, small_config};
use crate::flow::Flow;
use ringside_core::agent::Agent;
use ringside_core::command::{Command, Kind};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::Event;
use ringside_core::gate::{Gate, GateMode};
use ringside_core::ids::Sequence;
use ringside_core::ring::{self, Mapping, Options, Producer, Wait};
use ringside_persist::config::{Method, PersistConfig};
use ringside_persist::error::PersistError;
use ringside_persist::read::survey::survey;
use ringside_persist::read::tail::walk;
use ringside_persist::read::verify::{verify, verify_in};
use ringside_persist::recover::follower::Follower;
use ringside_persist::recover::recovery::{Recovered, Report, recover_in, recover_machine};
use ringside_persist::recover::snapshot_store;
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::{Disk, Lock};
use ringside_persist::storage::faulty::{Faulty, Plan, Random};
use ringside_persist::write::journal::Journaller;
use std::sync::Arc;
use std::time::Duration;

/// BLAKE3 of all segments of [`MILLION`] commands of the flow of [`SEED`], one after the other.
const JOURNAL: &str = "5c721872f2567c184d352a00c4bc3cb5f2e8141f639f675dc7bc53050e4ff8a6";
/// Hash of the engine's state after them. Belongs to `ENGINE_VERSION`, as the vectors of core's replay tests do.
const STATE: &str = "f5b7bc7db3e93a094ccaebf880ab69d4";
const SEED: u64 = 20_263;
const MILLION: u64 = 1_000_000;

fn engine_config(random: &mut Random) -> EngineConfig {
    // Wherever things lie in memory, the state is one.
    let size = [16, 256, 4_096][random.below(3) as usize];
    EngineConfig { orders: size, accounts: size, idempotency_keys: size, ..EngineConfig::default() }
}

/// A running exchange without threads: engine, journaller and follower, worked by hand.
struct Exchange {
    engine: Engine,
    producer: Producer<Command>,
    journaller: Journaller,
    follower: Option<Follower<Engine, Count>>,
    gate: Arc<Gate>,
    report: Report,
    events: Vec<Event>,
}

impl Exchange {
    fn open(
        storage: Arc<dyn Storage>,
        config: &PersistConfig,
        engine: &EngineConfig,
    ) -> Result<Exchange, PersistError> {
        let recovered = recover_in::<Engine>(storage.clone(), Lock::default(), config, engine, &mut ())?;
        let Recovered { engine: machine, next_sequence, journal, report, .. } = recovered;
        let options = Options { capacity: 256, consumers: 1, start: next_sequence, wait: Wait::Yield };
        let (producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
        let gate = Arc::new(Gate::new(next_sequence - 1));
        let journaller = Journaller::invoked(journal, consumers.pop().unwrap(), gate.clone())?;
        let status = journaller.status();
        let follower = Follower::new(storage, config, engine, Count::default(), status, &[])?;
        let follower = Some(follower);
        Ok(Exchange { engine: machine, producer, journaller, follower, gate, report, events: Vec::new() })
    }

    /// The next command of a flow, applied and handed to the journal; `None` when the ring is full.
    fn give(&mut self, flow: &mut Flow) -> Option<Command> {
        let mut command = flow.command();
        command.sequence = self.engine.sequence() + 1;
        // The numbers of a source would be those of its incarnation, which ends with the process.
        (command.source, command.source_seq) = (0, 0);
        self.producer.try_publish(&command).ok()?;
        self.events.clear();
        self.engine.apply(&command, &mut self.events);
        flow.observe(&self.events);
        Some(command)
    }

    fn work(&mut self) {
        self.journaller.do_work();
        if let Some(follower) = &mut self.follower {
            follower.do_work();
        }
    }
}

/// What is known of the exchange from outside.
#[derive(Default)]
struct Known {
    /// Every command that was ever handed over and may still count, by sequence from 1.
    given: Vec<Command>,
    acknowledged: Sequence,
    durable: Sequence,
}

impl Known {
    /// The state after the first `count` commands, by an engine that was never stopped.
    fn state_after(&self, count: Sequence) -> Engine {
        let mut engine = Engine::new(&EngineConfig::default());
        self.given[..count as usize].iter().for_each(|command| engine.apply(command, &mut ()));
        engine
    }
}

/// Recovers, compares with the engine that was never stopped, and goes on. `None` when the power went meanwhile.
fn reopen(
    disk: &Faulty,
    config: &PersistConfig,
    engine: &EngineConfig,
    known: &mut Known,
) -> Option<Exchange> {
    let exchange = match Exchange::open(Arc::new(disk.clone()), config, engine) {
        Ok(exchange) => exchange,
        Err(error) => {
            assert!(disk.is_off(), "recovery refused: {error}");
            known.acknowledged = known.durable;
            return None;
        }
    };
    let last = exchange.engine.sequence();
    assert!(last > known.acknowledged, "{} were acknowledged, {} came back", known.acknowledged, last - 1);
    // What the journal holds is what was given, but for the commands by which recovery itself opens epochs.
    let copy = disk.process_end();
    let found = survey(&copy).unwrap();
    let mut held: Vec<Command> = Vec::new();
    walk(&copy, &found, 0, None, |_, record| {
        held.push(record.command());
        Ok(())
    })
    .unwrap();
    let first = held[0].sequence;
    known.given.truncate(last as usize);
    for command in held {
        let at = command.sequence as usize - 1;
        match known.given.get(at) {
            Some(given) if given == &command => {}
            _ => {
                assert!(command.kind == Kind::OpenEpoch as u16, "nobody gave {command:?}");
                assert!(
                    command.sequence > known.acknowledged,
                    "an acknowledged command gave way to an epoch"
                );
                known.given.truncate(at);
                known.given.push(command);
            }
        }
    }
    assert_eq!(known.given.len() as u64, last, "the journal starts at {first}");
    exchange.engine.check_invariants().unwrap();
    assert_eq!(exchange.engine.state_hash(), known.state_after(last).state_hash(), "another state at {last}");
    (known.acknowledged, known.durable) = (last, last);
    Some(exchange)
}

fn cut_once(seed: u64) {
    let mut random = Random::new(seed);
    let mut config = small_config(&mut random);
    config.snapshot_commands = 40 + random.below(200);
    config.snapshots_kept = 1 + random.below(3) as usize;
    let mut disk = Faulty::new(seed);
    if random.below(4) == 0 {
        (config.mode, config.method) = (GateMode::Written, Some(Method::Buffered));
    } else if random.below(2) == 0 {
        disk = disk.with_durable_writes();
    }
    let mut flow = Flow::new(seed);
    let mut known = Known::default();
    for _ in 0..2 + random.below(3) {
        disk.plan(Plan { cut_at: Some(disk.calls() + 1 + random.below(500)), ..Plan::default() });
        let is_kill = random.below(4) == 0;
        if let Some(mut exchange) = reopen(&disk, &config, &engine_config(&mut random), &mut known) {
            for _ in 0..random.below(60) {
                for _ in 0..1 + random.below(40) {
                    if let Some(command) = exchange.give(&mut flow) {
                        known.given.push(command);
                    }
                }
                for _ in 0..random.below(4) {
                    exchange.work();
                }
                if disk.is_off() {
                    break;
                }
            }
            known.durable = known.durable.max(exchange.gate.durable());
            known.acknowledged = known.durable;
            if config.mode == GateMode::Written && is_kill && !disk.is_off() {
                known.acknowledged = exchange.gate.written();
            }
        }
        disk = if is_kill && !disk.is_off() { disk.process_end() } else { disk.power_cut(random.draw()) };
    }
    let last = reopen(&disk, &config, &engine_config(&mut random), &mut known).expect("nothing is planned");
    drop(last);
    let again = reopen(&disk, &config, &engine_config(&mut random), &mut known).expect("nothing is planned");
    assert_eq!(again.report.cut, None, "the first recovery left something to cut");
    assert!(verify_in(&disk, false).unwrap().is_sound());
}

#[test]
fn power_cuts_lose_nothing_of_the_perpetual_side() {
    for_each_seed("perpetual::power_cuts_lose_nothing_of_the_perpetual_side", 60, cut_once);
}

/// The last batch of a perpetual journal torn at every 32 bytes: recovery ends at a whole command, in the state that an
/// engine had there which was never stopped.
#[test]
fn a_torn_batch_is_cut_to_a_state_that_was() {
    for_each_seed("perpetual::a_torn_batch_is_cut_to_a_state_that_was", 2, |seed| {
        let mut random = Random::new(seed);
        let config = PersistConfig { batch_len: 16 << 10, segment_len: 1 << 20, ..small_config(&mut random) };
        let disk = Faulty::new(seed);
        let (mut flow, mut known) = (Flow::new(seed), Known::default());
        let engine = engine_config(&mut random);
        let mut exchange = reopen(&disk, &config, &engine, &mut known).unwrap();
        exchange.follower = None;
        for _ in 0..12 {
            for _ in 0..60 {
                known.given.push(exchange.give(&mut flow).expect("there is room"));
            }
            while exchange.journaller.do_work() > 0 {}
        }
        (known.acknowledged, known.durable) = (exchange.gate.durable(), exchange.gate.durable());
        let segment = survey(&disk).unwrap().header(0).name();
        let before = disk.bytes(&segment).unwrap();
        let start = exchange.journaller.status().durable().offset as usize;
        for _ in 0..30 {
            known.given.push(exchange.give(&mut flow).expect("there is room"));
        }
        exchange.journaller.do_work();
        let after = disk.bytes(&segment).unwrap();
        let end = exchange.journaller.status().durable().offset as usize;
        assert!(end > start);
        for torn in (start..=end).step_by(32) {
            let torn_disk = disk.process_end();
            torn_disk.tamper(&segment, |bytes| {
                bytes.copy_from_slice(&after);
                bytes[torn..].copy_from_slice(&before[torn..]);
            });
            let mut theirs = Known { given: known.given.clone(), ..Known::default() };
            (theirs.acknowledged, theirs.durable) = (known.acknowledged, known.durable);
            drop(reopen(&torn_disk, &config, &engine, &mut theirs).expect("nothing is planned"));
        }
    });
}

/// A snapshot file that holds perpetual state: every bit of it flipped is found, and so is every end cut off.
#[test]
fn every_flipped_bit_of_a_perpetual_snapshot_is_found() {
    const PARTS: u64 = 16;
    let disk = Faulty::new(2);
    let mut random = Random::new(3);
    let config = PersistConfig { snapshot_commands: 300, ..small_config(&mut random) };
    let (mut flow, mut known) = (Flow::new(7), Known::default());
    let mut exchange = reopen(&disk, &config, &EngineConfig::default(), &mut known).unwrap();
    for _ in 0..320 {
        exchange.give(&mut flow).expect("there is room");
        exchange.work();
    }
    exchange.journaller.close();
    exchange.follower.take().unwrap().close();
    let found = survey(&disk).unwrap();
    let name = found.snapshots.last().expect("the follower took one").clone();
    let held = snapshot_store::read(&disk, &name).unwrap();
    let loaded = Engine::load(&EngineConfig::default(), held.engine()).unwrap();
    assert_eq!(loaded.state_hash(), exchange.engine.state_hash());
    let bytes = disk.bytes(&name).unwrap();
    for_each_case("perpetual::every_flipped_bit_of_a_perpetual_snapshot_is_found", PARTS, |part| {
        let disk = disk.process_end();
        let bits = bytes.len() * 8;
        for bit in bits * part as usize / PARTS as usize..bits * (part as usize + 1) / PARTS as usize {
            disk.tamper(&name, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
            match snapshot_store::read(&disk, &name) {
                Err(PersistError::Snapshot { file, .. }) => assert_eq!(file, name),
                Err(error) => panic!("bit {bit}: {error}"),
                Ok(_) => panic!("bit {bit} of the snapshot went unseen"),
            }
            disk.tamper(&name, |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        }
        assert!(snapshot_store::read(&disk, &name).is_ok());
    });
    // Recovery takes the older one, says so, and comes to the same state.
    disk.tamper(&name, |bytes| bytes[5_000] ^= 1);
    let theirs = EngineConfig::default();
    let again = recover_in::<Engine>(Arc::new(disk), Lock::default(), &config, &theirs, &mut ()).unwrap();
    assert_eq!(again.report.snapshots_refused.len(), 1);
    let last = again.report.last;
    assert_eq!(last, exchange.engine.sequence());
}

#[test]
fn a_million_perpetual_commands_give_the_same_journal_and_state_in_every_build() {
    let folder = std::env::temp_dir().join(format!("ringside-perpetual-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let config = PersistConfig {
        method: Some(Method::Buffered),
        any_file_system: true,
        journal_id: Some(*b"golden journal 2"),
        opened_at_ns: 1_700_000_000_000_000_000,
        idle_seal: Duration::from_secs(3600),
        snapshot_interval: Duration::from_secs(3600),
        // The last snapshot is well before the end, so that a recovery has both to do.
        snapshot_commands: 300_000,
        ..PersistConfig::new(&folder)
    };
    let recovered = recover_machine::<Engine>(&config, &EngineConfig::default(), &mut ()).unwrap();
    let Recovered { mut engine, journal, .. } = recovered;
    let options = Options { capacity: 1 << 13, consumers: 1, start: 2, wait: Wait::Yield };
    let (mut producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
    let gate = Arc::new(Gate::new(1));
    let mut journaller = Journaller::invoked(journal, consumers.pop().unwrap(), gate.clone()).unwrap();
    let storage = Arc::new(Disk::open_existing(&folder).unwrap());
    let mut follower = Follower::<Engine, Count>::new(
        storage,
        &config,
        &EngineConfig::default(),
        Count::default(),
        journaller.status(),
        &[],
    )
    .unwrap();
    let mut flow = Flow::new(SEED);
    let (last, mut events, mut told) = (MILLION + 1, Vec::new(), 1);
    for sequence in 2..=last {
        let command = Command { sequence, ..flow.command() };
        events.clear();
        engine.apply(&command, &mut events);
        flow.observe(&events);
        told += events.len() as u64;
        producer.try_publish(&command).unwrap();
        if sequence % 4096 == 0 || sequence == last {
            while journaller.do_work() > 0 {}
            assert_eq!(gate.durable(), sequence);
            follower.do_work();
        }
    }
    journaller.close();
    while follower.do_work() > 0 {}
    assert!(!follower.status().is_failed(), "{:?}", follower.status().take_failure());
    assert_eq!(follower.machine().state_hash(), engine.state_hash(), "the follower came elsewhere");
    assert_eq!(follower.status().snapshots(), 3);
    drop((journaller, follower));

    let verdict = verify(&folder).unwrap();
    assert!(verdict.is_sound() && verdict.last == last && !verdict.snapshots.is_empty(), "{verdict}");
    let mut digest = blake3::Hasher::new();
    for segment in &verdict.segments {
        digest.update(&std::fs::read(folder.join(&segment.name)).unwrap());
    }
    let journal = digest.finalize().to_hex().to_string();

    // From the disk, with tables of other sizes: from the first command, and from the newest snapshot.
    let disk = Disk::open_existing(&folder).unwrap();
    let small = EngineConfig { orders: 1, accounts: 1, idempotency_keys: 1, ..EngineConfig::default() };
    let mut again = Engine::new(&small);
    let mut replayed = 0;
    walk(&disk, &survey(&disk).unwrap(), 0, None, |_, record| {
        events.clear();
        again.apply(&record.command(), &mut events);
        replayed += events.len() as u64;
        Ok(())
    })
    .unwrap();
    assert_eq!((again.state_hash(), replayed), (engine.state_hash(), told));
    drop(disk);
    let mut count = Count::default();
    let recovered = recover_machine::<Engine>(&config, &small, &mut count).unwrap();
    assert!(recovered.report.snapshot.is_some_and(|at| at > last / 2) && recovered.report.commands > 0);
    again.apply(
        &{
            let mut opening = Command::new(ringside_core::command::OpenEpoch { epoch: 2, reserved: 0 });
            (opening.sequence, opening.time_ns) = (last + 1, recovered.engine.time_ns());
            opening
        },
        &mut (),
    );
    assert_eq!(recovered.engine.state_hash(), again.state_hash());
    assert_eq!(count.last, last + 1);
    let state: String = engine.state_hash().iter().map(|byte| format!("{byte:02x}")).collect();
    drop(recovered);
    std::fs::remove_dir_all(&folder).unwrap();
    if std::env::var("RINGSIDE_GOLDEN").is_ok_and(|value| value == "print") {
        println!("JOURNAL {journal}\nSTATE {state}");
        return;
    }
    assert_eq!(journal, JOURNAL, "the bytes of the journal have changed");
    assert_eq!(
        state, STATE,
        "the engine decides otherwise than its version says, or the canonical state has changed"
    );
}
