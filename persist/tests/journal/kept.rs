//! A follower whose fold keeps something outside the snapshots: what it is given, and when a snapshot may be written.

use crate::common::{Ledger, POISON, Session, random_command};
use ringside_core::agent::Agent;
use ringside_core::command::{Command, Credit};
use ringside_core::event::Event;
use ringside_core::gate::GateMode;
use ringside_core::ids::{Sequence, padded};
use ringside_core::money::RawAmount;
use ringside_persist::archive::ArchiveError;
use ringside_persist::config::PersistConfig;
use ringside_persist::error::{FoldError, PersistError};
use ringside_persist::recover::follower::Follower;
use ringside_persist::recover::machine::Fold;
use ringside_persist::recover::skip::{Decision, skip_in};
use ringside_persist::recover::snapshot_store::{self, Moment};
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::Lock;
use ringside_persist::storage::faulty::{Faulty, Random};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What outlives the fold: the sequences of the events it was given, committed or not, and whether there is room.
#[derive(Default)]
struct Store {
    committed: Vec<Sequence>,
    pending: Vec<Sequence>,
    is_full: bool,
}

/// Keeps the sequence of every event that ends a command.
struct Keeper(Arc<Mutex<Store>>, Sequence);

impl Keeper {
    fn new(store: &Arc<Mutex<Store>>) -> Keeper {
        store.lock().unwrap().pending.clear();
        Keeper(store.clone(), 0)
    }
}

impl Fold for Keeper {
    fn event(&mut self, event: &Event) {
        let mut store = self.0.lock().unwrap();
        if event.sequence > self.1 && store.committed.last().is_none_or(|last| *last < event.sequence) {
            store.pending.push(event.sequence);
        }
        self.1 = event.sequence;
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        let store = self.0.lock().unwrap();
        assert!(store.pending.is_empty(), "a snapshot is ahead of what is kept");
        bytes.extend_from_slice(&self.1.to_le_bytes());
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FoldError> {
        self.1 = Sequence::from_le_bytes(bytes.try_into()?);
        Ok(())
    }

    fn reset(&mut self) {
        self.1 = 0;
    }

    fn kept(&self) -> Sequence {
        self.0.lock().unwrap().committed.last().copied().unwrap_or(0)
    }

    fn commit(&mut self, _through: Sequence, is_due: bool) -> Result<(), ArchiveError> {
        let mut store = self.0.lock().unwrap();
        if store.is_full {
            return Err(ArchiveError::Full { place: "here".to_string(), cause: "no room".into() });
        }
        if is_due {
            let pending = std::mem::take(&mut store.pending);
            store.committed.extend(pending);
        }
        Ok(())
    }
}

fn config() -> PersistConfig {
    PersistConfig {
        segment_len: 64 << 10,
        snapshot_commands: 40,
        snapshot_interval: Duration::from_secs(3600),
        snapshots_kept: 2,
        any_file_system: true,
        journal_id: Some([9; 16]),
        ..PersistConfig::new("")
    }
}

struct Rig {
    disk: Faulty,
    session: Session,
    random: Random,
    truth: Vec<u64>,
    store: Arc<Mutex<Store>>,
}

impl Rig {
    fn new() -> Rig {
        Rig::of(&config())
    }

    fn of(config: &PersistConfig) -> Rig {
        let disk = Faulty::new(1);
        let session = Session::open(Arc::new(disk.clone()), config).unwrap();
        Rig { disk, session, random: Random::new(5), truth: vec![0; 2], store: Arc::default() }
    }

    fn publish(&mut self, count: usize) {
        for _ in 0..count {
            assert!(self.session.publish(random_command(&mut self.random), &mut self.truth));
            self.session.settle();
        }
    }

    fn follower(&self) -> Result<Follower<Ledger, Keeper>, PersistError> {
        let (storage, status) = (Arc::new(self.disk.clone()), self.session.journaller.status());
        Follower::new(storage, &config(), &(), Keeper::new(&self.store), status, &self.session.report.skipped)
    }

    /// The process ends and another one begins.
    fn restart(&mut self) {
        self.session.journaller.close();
        self.session = Session::open(Arc::new(self.disk.clone()), &config()).unwrap();
    }

    /// An older copy of what is kept.
    fn forget_from(&self, from: Sequence) {
        self.store.lock().unwrap().committed.retain(|sequence| *sequence < from);
    }

    fn snapshots(&self) -> Vec<String> {
        let mut names = self.disk.list().unwrap();
        names.retain(|name| name.ends_with(".snapshot"));
        names.sort();
        names
    }

    fn committed(&self) -> usize {
        self.store.lock().unwrap().committed.len()
    }
}

#[test]
fn without_room_nothing_more_is_given_and_no_snapshot_written() {
    let mut rig = Rig::new();
    let mut follower = rig.follower().unwrap();
    rig.store.lock().unwrap().is_full = true;
    rig.publish(100);
    while follower.do_work() > 0 {}
    let given = rig.store.lock().unwrap().pending.len();
    assert!(follower.status().take_notice().unwrap().contains("no room"));
    rig.publish(100);
    for _ in 0..10 {
        follower.do_work();
    }
    assert_eq!(rig.store.lock().unwrap().pending.len(), given, "what cannot be stored does not pile up");
    assert_eq!(rig.snapshots(), Vec::<String>::new());
    assert!(!follower.status().is_failed(), "{:?}", follower.status().take_failure());

    // The process ends, and the next one finds room: every command is given again, each kept once.
    drop(follower);
    rig.store.lock().unwrap().is_full = false;
    let mut follower = rig.follower().unwrap();
    while follower.do_work() > 0 {}
    follower.close();
    let last = follower.status().sequence();
    assert!(rig.store.lock().unwrap().committed.iter().copied().eq(1..=last), "every command, once");
    assert!(!rig.snapshots().is_empty());
}

#[test]
fn a_follower_starts_where_what_is_kept_ends() {
    let mut rig = Rig::new();
    let mut follower = rig.follower().unwrap();
    for _ in 0..3 {
        rig.publish(50);
        while follower.do_work() > 0 {}
    }
    let snapshots = rig.snapshots();
    assert_eq!(snapshots.len(), 2);
    drop(follower);

    // An older copy of what is kept, between the two snapshots: the older snapshot is the one to start from.
    let (older, newer) = (at(&snapshots[0]), at(&snapshots[1]));
    rig.forget_from(newer);
    let mut follower = rig.follower().unwrap();
    assert_eq!(follower.status().sequence(), older);
    follower.catch_up(newer).unwrap();
    assert!(rig.committed() as Sequence >= newer, "kept through {newer} before anything else happens");
    while follower.do_work() > 0 {}
    follower.close();
    let last = follower.status().sequence();
    assert!(rig.store.lock().unwrap().committed.iter().copied().eq(1..=last), "every command, once");
    drop(follower);

    // All of it lost, when the journal no longer reaches back: refused by name.
    let oldest = at(&rig.snapshots()[0]);
    rig.store.lock().unwrap().committed.clear();
    match rig.follower().map(|_| ()) {
        Err(PersistError::Archive(ArchiveError::Behind { mark: 0, to })) => assert_eq!(to, oldest),
        other => panic!("{other:?}"),
    }
}

/// Of the snapshot of that name.
fn at(name: &str) -> Sequence {
    snapshot_store::sequence_of(name).unwrap()
}

#[test]
fn a_follower_that_starts_further_back_than_recovery_obeys_the_decisions_of_that_time() {
    let mut rig = Rig::new();
    let mut follower = rig.follower().unwrap();
    rig.publish(50);
    while follower.do_work() > 0 {}
    let older = at(&rig.snapshots()[0]);
    drop(follower);

    // A command that stops the engine is passed over, and the exchange goes on for a while.
    let poisoned = rig.session.next;
    let poison = Credit {
        address: [9; 20],
        asset: padded("USD").unwrap(),
        reserved: 0,
        amount: RawAmount::new(5),
        reason: padded(std::str::from_utf8(POISON).unwrap()).unwrap(),
    };
    assert!(rig.session.publish(Command::new(poison), &mut rig.truth));
    rig.publish(3);
    rig.session.journaller.close();
    let decision = Decision { sequence: poisoned, operators: ["ann", "bo"], reason: "drill" };
    let storage = Arc::new(rig.disk.clone());
    skip_in::<Ledger>(storage, Lock::default(), &config(), &(), &decision, &mut ()).unwrap();
    rig.restart();
    assert_eq!(rig.session.report.skipped, [poisoned]);
    let mut follower = rig.follower().unwrap();
    rig.publish(50);
    while follower.do_work() > 0 {}
    let newer = at(&rig.snapshots()[1]);
    assert!(older < poisoned && poisoned < newer);
    drop(follower);

    // Recovery begins behind all of that; what is kept is an older copy.
    rig.restart();
    assert_eq!((rig.session.report.snapshot, rig.session.report.skipped.len()), (Some(newer), 0));
    rig.forget_from(newer);
    let mut follower = rig.follower().unwrap();
    assert_eq!(follower.status().sequence(), older);
    follower.catch_up(newer).unwrap();
    follower.close();
    assert!(!follower.status().is_failed(), "{:?}", follower.status().take_failure());
    let kept = (1..=follower.status().sequence()).filter(|sequence| *sequence != poisoned);
    assert!(rig.store.lock().unwrap().committed.iter().copied().eq(kept), "every command but one, once");
}

#[test]
fn a_follower_that_passes_a_snapshot_is_in_its_state() {
    let mut rig = Rig::new();
    let mut follower = rig.follower().unwrap();
    for _ in 0..2 {
        rig.publish(50);
        while follower.do_work() > 0 {}
    }
    drop(follower);
    let snapshots = rig.snapshots();
    let newer = at(&snapshots[1]);
    rig.forget_from(newer);
    rig.follower().unwrap().catch_up(newer).unwrap();

    // A sound one, of another state.
    let snapshot = snapshot_store::read(&rig.disk, &snapshots[1]).unwrap();
    let (mut engine, mut moment) = (snapshot.engine().to_vec(), snapshot.moment);
    engine[16] ^= 1;
    moment.state_hash[..8].copy_from_slice(&engine[16..24]);
    snapshot_store::write(&rig.disk, &moment, &engine, snapshot.views(), &snapshot.side().unwrap()).unwrap();
    rig.forget_from(newer);
    match rig.follower().unwrap().catch_up(newer) {
        Err(PersistError::Diverged { checkpoint, .. }) => assert_eq!(checkpoint, newer),
        other => panic!("{other:?}"),
    }
    // What another version says of its state cannot be compared.
    let moment = Moment { engine_version: moment.engine_version + 1, ..moment };
    snapshot_store::write(&rig.disk, &moment, &engine, snapshot.views(), &snapshot.side().unwrap()).unwrap();
    rig.forget_from(newer);
    rig.follower().unwrap().catch_up(newer).unwrap();
}

#[test]
fn while_commands_come_fast_it_stands_back_and_then_loses_none() {
    for mode in [GateMode::Durable, GateMode::Written] {
        stands_back(&PersistConfig { mode, ..config() });
    }
}

fn stands_back(config: &PersistConfig) {
    let mut rig = Rig::of(config);
    let (storage, status) = (Arc::new(rig.disk.clone()), rig.session.journaller.status());
    let lazy = PersistConfig { follower_lag: 1 << 40, ..config.clone() };
    let mut follower: Follower<Ledger, Keeper> =
        Follower::new(storage, &lazy, &(), Keeper::new(&rig.store), status, &[]).unwrap();
    // Several times what counts as fast; in mode `durable` each batch is a block of 4 KiB at least.
    let begun = Instant::now();
    let mut published = 0;
    while begun.elapsed() < Duration::from_millis(400) {
        rig.publish(8);
        published += 8;
    }
    assert_eq!(follower.do_work(), 0);
    assert_eq!(follower.status().sequence(), 0, "it stands back");
    // Nothing comes any more.
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(300));
        rig.session.settle();
        follower.do_work();
    }
    while follower.do_work() > 0 {}
    assert!(follower.status().sequence() >= published, "it has caught up");
    rig.publish(50);
    rig.session.journaller.close();
    follower.close();
    let last = follower.status().sequence();
    assert!(last >= published + 50);
    assert!(rig.store.lock().unwrap().committed.iter().copied().eq(1..=last), "every command, once");
}
