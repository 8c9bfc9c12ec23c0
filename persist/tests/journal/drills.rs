//! A command that makes the engine panic: recovery stops at it and names it, every time; only two operators can have
//! it passed over; every replay anywhere then comes to the same state (failure model, row 19). And states that are not what
//! they must be: whoever replays stops there and says so.

use crate::common::{
    DOUBTED, Flow, Ledger, POISON, Session, UNSOUND, for_each_seed, random_command, recover_ledger,
};
use ringside_core::agent::Agent;
use ringside_core::command::{AdvanceTime, Command, Credit, Kind, VerifyHash};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Event, Sink};
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
use ringside_core::money::RawAmount;
use ringside_core::prefetch::Hint;
use ringside_core::ring::{self, Mapping, Options, Wait};
use ringside_persist::config::PersistConfig;
use ringside_persist::error::{FoldError, PersistError};
use ringside_persist::recover::follower::Follower;
use ringside_persist::recover::machine::{Fold, Machine};
use ringside_persist::recover::recovery::{Recovered, recover_in};
use ringside_persist::recover::skip::{Decision, skip_in};
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::Lock;
use ringside_persist::storage::faulty::{Faulty, Random};
use ringside_persist::write::journal::Journaller;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// The real engine with a bug: a credit with a certain reason makes it panic, half way through.
struct Drill(Engine);

impl Machine for Drill {
    type Config = EngineConfig;
    fn version() -> u32 {
        <Engine as Machine>::version()
    }
    fn genesis(config: &EngineConfig) -> Drill {
        Drill(Engine::new(config))
    }
    fn load(config: &EngineConfig, bytes: &[u8]) -> Result<Drill, FoldError> {
        Ok(Drill(<Engine as Machine>::load(config, bytes)?))
    }
    fn save(&self, bytes: &mut Vec<u8>) {
        self.0.save(bytes);
    }
    fn apply(&mut self, command: &Command, sink: &mut impl Sink) {
        self.0.apply(command, sink);
        if command.kind == Kind::Credit as u16 {
            assert!(!command.body::<Credit>().reason.starts_with(POISON), "the drill's poison was swallowed");
        }
    }
    fn skip(&mut self, command: &Command) {
        self.0.skip(command);
    }
    fn prefetch(&self, command: &Command, hint: Hint) {
        self.0.prefetch(command, hint);
    }
    fn sequence(&self) -> Sequence {
        self.0.sequence()
    }
    fn time_ns(&self) -> i64 {
        self.0.time_ns()
    }
    fn state_hash(&self) -> [u8; 16] {
        self.0.state_hash()
    }
    fn diverged(&self) -> Option<(Sequence, String)> {
        Machine::diverged(&self.0)
    }
    fn check_invariants(&self) -> Result<(), String> {
        self.0.check_invariants()
    }
}

fn recover(disk: &Faulty, config: &PersistConfig) -> Result<Recovered<Drill>, PersistError> {
    let storage = Arc::new(disk.clone());
    recover_in::<Drill>(storage, Lock::default(), config, &EngineConfig::default(), &mut ())
}

fn skip(disk: &Faulty, config: &PersistConfig, decision: Decision<'_>) -> Result<Sequence, PersistError> {
    let storage = Arc::new(disk.clone());
    skip_in::<Drill>(storage, Lock::default(), config, &EngineConfig::default(), &decision, &mut ())
}

/// Journals and applies `flow` as matcher and journaller do, until a command makes the engine panic. Gives the
/// commands journalled.
fn run(recovered: Recovered<Drill>, commands: Vec<Command>) -> (Vec<Command>, Option<Sequence>) {
    let start = recovered.next_sequence;
    let options = Options { capacity: 1 << 13, consumers: 1, start, wait: Wait::Yield };
    let (mut producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
    let gate = Arc::new(Gate::new(start - 1));
    let mut journaller = Journaller::invoked(recovered.journal, consumers.pop().unwrap(), gate).unwrap();
    let mut engine = recovered.engine;
    let mut given = Vec::new();
    let mut poisoned = None;
    for mut command in commands {
        command.sequence = start + given.len() as u64;
        producer.try_publish(&command).unwrap();
        given.push(command);
        // The matcher runs ahead of the panic by nothing, the journal by what is in the ring.
        match poisoned {
            None => {
                let applied = catch_unwind(AssertUnwindSafe(|| engine.apply(&command, &mut ())));
                poisoned = applied.is_err().then_some(command.sequence);
            }
            Some(poisoned) if command.sequence >= poisoned + 5 => break,
            Some(_) => {}
        }
    }
    journaller.close();
    (given, poisoned)
}

#[test]
fn a_poisoned_command_is_passed_over_only_by_two_operators() {
    for_each_seed("drills::a_poisoned_command_is_passed_over_only_by_two_operators", 20, |seed| {
        let mut random = Random::new(seed);
        let config = PersistConfig {
            segment_len: 64 << 10,
            batch_len: 16 << 10,
            idle_seal: Duration::ZERO,
            journal_id: Some([seed as u8; 16]),
            opened_at_ns: 1,
            snapshot_commands: 400,
            ..PersistConfig::new("")
        };
        let disk = Faulty::new(seed);
        let recovered = recover(&disk, &config).unwrap();
        let opening = recovered.next_sequence - 1;
        let mut commands: Vec<Command> = Flow::new(seed).take(1_500).collect();
        let at = 300 + random.below(1_000) as usize;
        let mut reason = [0; 64];
        reason[..POISON.len()].copy_from_slice(POISON);
        commands[at] = Command::new(Credit {
            address: [9; 20],
            asset: *b"USD\0\0\0\0\0\0\0",
            reserved: 0,
            amount: RawAmount::new(5),
            reason,
        });
        commands[at].time_ns = commands[at - 1].time_ns;
        let (given, poisoned) = run(recovered, commands);
        let poisoned = poisoned.expect("the drill stops the live engine");

        // Stops at the same place every time, and changes nothing on the way.
        let before = disk.calls();
        for _ in 0..2 {
            match recover(&disk, &config) {
                Err(PersistError::Poisoned { sequence, message }) => {
                    assert_eq!(sequence, poisoned);
                    assert!(message.contains("poison"), "{message}");
                }
                Err(error) => panic!("{error}"),
                Ok(_) => panic!("recovery went past command {poisoned}"),
            }
        }
        assert!(disk.calls() > before);
        let standby = disk.process_end();

        let decision = Decision { sequence: poisoned, operators: ["ann", "bo"], reason: "drill" };
        let refused = [
            Decision { operators: ["ann", "ann"], ..decision },
            Decision { operators: ["ann", " "], ..decision },
            Decision { reason: "", ..decision },
            Decision { sequence: poisoned - 1, ..decision },
            Decision { operators: ["a name longer than twenty-four bytes", "bo"], ..decision },
        ];
        for decision in refused {
            let result = skip(&disk, &config, decision);
            assert!(matches!(result, Err(PersistError::Skip { .. })), "{decision:?}: {result:?}");
        }
        let decided_at = skip(&disk, &config, decision).unwrap();
        assert_eq!(decided_at, given.last().unwrap().sequence + 1);
        assert!(
            matches!(skip(&disk, &config, decision), Err(PersistError::Skip { .. })),
            "it stops nothing now"
        );

        let recovered = recover(&disk, &config).unwrap();
        assert_eq!(recovered.report.skipped, [poisoned]);
        assert_eq!(recovered.report.epoch, 3, "the decision was written in an epoch of its own");
        let hash = recovered.engine.state_hash();
        assert_eq!(hash, expected_hash(opening, &given, poisoned, decided_at, &recovered));

        // A standby that has the journal and obeys the same record comes to the same state.
        skip(&standby, &config, decision).unwrap();
        assert_eq!(recover(&standby, &config).unwrap().engine.state_hash(), hash);

        // So does the follower, and what it leaves behind starts without the poison.
        let (next, skipped) = (recovered.next_sequence, recovered.report.skipped.clone());
        let options = Options { capacity: 64, consumers: 1, start: next, wait: Wait::Yield };
        let (_producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
        let gate = Arc::new(Gate::new(next - 1));
        let mut journaller = Journaller::invoked(recovered.journal, consumers.pop().unwrap(), gate).unwrap();
        journaller.close();
        let (storage, engine) = (Arc::new(disk.clone()), EngineConfig::default());
        let mut follower =
            Follower::<Drill, ()>::new(storage, &config, &engine, (), journaller.status(), &skipped).unwrap();
        while follower.do_work() > 0 {}
        follower.close();
        assert!(!follower.status().is_failed(), "{:?}", follower.status().take_failure());
        assert_eq!(follower.machine().state_hash(), hash);
        let again = recover(&disk, &config).unwrap();
        assert_eq!((again.report.snapshot, again.report.skipped), (Some(next - 1), Vec::new()));
    });
}

/// Stops at the end of a command.
struct Stops(Sequence);

impl Fold for Stops {
    fn event(&mut self, event: &Event) {
        assert!(event.sequence != self.0, "the fold stops");
    }
    fn save(&self, _: &mut Vec<u8>) {}
    fn load(&mut self, _: &[u8]) -> Result<(), FoldError> {
        Ok(())
    }
    fn reset(&mut self) {}
}

#[test]
fn a_command_whose_events_stop_what_is_folded_from_them_can_be_passed_over() {
    let config = PersistConfig {
        segment_len: 64 << 10,
        batch_len: 16 << 10,
        journal_id: Some([1; 16]),
        opened_at_ns: 1,
        ..PersistConfig::new("")
    };
    let disk = Faulty::new(1);
    let (_, poisoned) = run(recover(&disk, &config).unwrap(), Flow::new(1).take(100).collect());
    assert_eq!(poisoned, None, "the engine takes all of them");
    let machine = EngineConfig::default();
    let storage = || Arc::new(disk.clone());
    let stopped = recover_in::<Drill>(storage(), Lock::default(), &config, &machine, &mut Stops(50));
    assert!(matches!(stopped, Err(PersistError::Poisoned { sequence: 50, .. })));
    let decision = Decision { sequence: 50, operators: ["ann", "bo"], reason: "drill" };
    let unseen = skip(&disk, &config, decision);
    assert!(matches!(unseen, Err(PersistError::Skip { .. })), "the engine alone does not stop: {unseen:?}");
    skip_in::<Drill>(storage(), Lock::default(), &config, &machine, &decision, &mut Stops(50)).unwrap();
    let again = recover_in::<Drill>(storage(), Lock::default(), &config, &machine, &mut Stops(50)).unwrap();
    assert_eq!(again.report.skipped, [50]);
}

/// A journal of 60 commands, of which `odd` is the 31st; what stops a follower behind it, and what stops recovery.
fn replay_over(odd: Command) -> (Option<PersistError>, Option<PersistError>) {
    let config = PersistConfig {
        segment_len: 32 << 10,
        idle_seal: Duration::ZERO,
        journal_id: Some([7; 16]),
        opened_at_ns: 1,
        snapshot_commands: 50,
        ..PersistConfig::new("")
    };
    let disk = Faulty::new(1);
    let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
    let (mut random, mut truth) = (Random::new(1), vec![0; 2]);
    for sequence in 2..=60 {
        let command = if sequence == 31 { odd } else { random_command(&mut random) };
        assert!(session.publish(command, &mut truth));
    }
    session.settle();
    let status = session.journaller.status();
    let mut follower =
        Follower::<Ledger, ()>::new(Arc::new(disk.clone()), &config, &(), (), status, &[]).unwrap();
    while follower.do_work() > 0 {}
    let snapshots = disk.list().unwrap().iter().filter(|name| name.ends_with(".snapshot")).count();
    assert_eq!(snapshots, usize::from(!follower.status().is_failed()), "a state that is wrong was kept");
    let recovered = recover_ledger(Arc::new(disk.process_end()), &config, &mut ());
    // A snapshot would spare recovery the way past that command.
    assert!(snapshots == 0 || recovered.is_ok());
    (follower.status().take_failure(), recovered.err())
}

#[test]
fn whoever_replays_stops_at_a_state_that_is_not_what_it_must_be() {
    let (follower, recovery) = replay_over(Command::new(AdvanceTime {}));
    assert!(follower.is_none() && recovery.is_none(), "{follower:?}, {recovery:?}");

    let (follower, recovery) = replay_over(Command::new(VerifyHash { checkpoint: 30, hash: [0xee; 16] }));
    assert!(matches!(follower, Some(PersistError::Diverged { checkpoint: 30, .. })), "{follower:?}");
    assert!(matches!(recovery, Some(PersistError::Diverged { checkpoint: 30, .. })), "{recovery:?}");

    let mut reason = [0; 64];
    reason[..UNSOUND.len()].copy_from_slice(UNSOUND);
    let unsound =
        Credit { address: [9; 20], asset: [b'D'; 10], reserved: 0, amount: RawAmount::new(5), reason };
    let (follower, recovery) = replay_over(Command::new(unsound));
    assert!(matches!(follower, Some(PersistError::Invariant { sequence: 60, .. })), "{follower:?}");
    assert!(matches!(recovery, Some(PersistError::Invariant { sequence: 60, .. })), "{recovery:?}");

    // Recovery has no judge: the follower has.
    let doubted = Command { source_seq: DOUBTED, ..Command::new(AdvanceTime {}) };
    let (follower, recovery) = replay_over(doubted);
    assert!(matches!(follower, Some(PersistError::Invariant { sequence: 31, .. })), "{follower:?}");
    assert!(recovery.is_none(), "{recovery:?}");
}

/// The state as it should be: everything applied but the poisoned command.
fn expected_hash(
    opening: Sequence,
    given: &[Command],
    poisoned: Sequence,
    decided_at: Sequence,
    recovered: &Recovered<Drill>,
) -> [u8; 16] {
    use ringside_core::command::{OpenEpoch, SkipCommand};
    let mut engine = Engine::new(&EngineConfig::default());
    let own = |sequence: Sequence, mut command: Command, engine: &mut Engine| {
        (command.sequence, command.time_ns) = (sequence, engine.time_ns().max(1));
        engine.apply(&command, &mut ());
    };
    own(opening, Command::new(OpenEpoch { epoch: 1, reserved: 0 }), &mut engine);
    for command in given {
        if command.sequence == poisoned { engine.skip(command) } else { engine.apply(command, &mut ()) }
    }
    let skip = SkipCommand { skipped: poisoned, operators: [[0; 24]; 2], reason: [0; 64] };
    own(decided_at, Command::new(skip), &mut engine);
    let epoch = recovered.report.epoch;
    own(decided_at + 1, Command::new(OpenEpoch { epoch, reserved: 0 }), &mut engine);
    engine.state_hash()
}
