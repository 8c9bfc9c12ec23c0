//! What stands beside the commands: told of once it is durable in every mode, carried by snapshots past retention, never in the way
//! of a segment's name, changed offline in steps that may be cut anywhere.

use crate::common::{Count, Ledger, Session, for_each_seed, random_command, recover_ledger};
use ringside_core::agent::Agent;
use ringside_core::gate::GateMode;
use ringside_core::side::{BYTES_LEN_MAX, SideEntry, SideStore};
use ringside_persist::config::{Method, PersistConfig};
use ringside_persist::error::PersistError;
use ringside_persist::read::survey::survey;
use ringside_persist::read::tail::walk;
use ringside_persist::recover::follower::Follower;
use ringside_persist::recover::side;
use ringside_persist::recover::snapshot_store;
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::Lock;
use ringside_persist::storage::faulty::{Faulty, Plan, Random};
use ringside_persist::write::side::{Purpose, SideError};
use std::sync::Arc;
use std::time::Duration;

const MODES: [(GateMode, Method); 2] =
    [(GateMode::Durable, Method::Direct), (GateMode::Written, Method::Buffered)];

fn config() -> PersistConfig {
    PersistConfig {
        segment_len: 32 << 10,
        batch_len: 8 << 10,
        spares: 1,
        idle_seal: Duration::from_secs(3600),
        sync_interval: Duration::from_secs(3600),
        snapshot_interval: Duration::from_secs(3600),
        snapshot_commands: 100,
        snapshots_kept: 1,
        journal_id: Some([7; 16]),
        opened_at_ns: 1,
        ..PersistConfig::new("")
    }
}

fn config_in((mode, method): (GateMode, Method)) -> PersistConfig {
    PersistConfig { mode, method: Some(method), ..config() }
}

fn put(id: u8, len: usize) -> SideEntry {
    SideEntry::put(1, &[id], vec![id; len])
}

fn store(entries: impl IntoIterator<Item = SideEntry>) -> SideStore {
    let mut store = SideStore::default();
    entries.into_iter().for_each(|entry| store.apply(entry));
    store
}

fn found(disk: &Faulty) -> SideStore {
    recover_ledger(Arc::new(disk.process_end()), &config(), &mut ()).unwrap().side
}

#[test]
fn entries_are_told_of_once_they_are_durable_whatever_commands_wait_for() {
    for mode in MODES {
        let disk = Faulty::new(1);
        let config = config_in(mode);
        let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
        session.settle();
        let writer = session.journaller.side_writer();
        // One alone, without any command; several; none.
        for (count, all) in [(1, 1), (3, 3), (0, 3), (40, 40)] {
            let entries: Vec<SideEntry> = (0..count).map(|id| put(id, 100)).collect();
            let receipt = writer.append(entries, Purpose::Grants).unwrap();
            assert_eq!(receipt.is_released(), Ok(false));
            session.settle();
            assert_eq!(receipt.is_released(), Ok(true), "{mode:?}");
            let recovered = recover_ledger(Arc::new(disk.power_cut(9)), &config, &mut ()).unwrap();
            assert_eq!(recovered.side.len(), all);
        }
        // In mode `written` a command would have waited for an hour.
        session.publish(random_command(&mut Random::new(1)), &mut vec![0; 2]);
        session.settle();
        let is_synced = session.gate.durable() == session.next - 1;
        assert_eq!(is_synced, mode.0 == GateMode::Durable);
        writer.append(vec![SideEntry::delete(1, &[0])], Purpose::Revokes).unwrap().forget();
        session.settle();
        assert_eq!(session.gate.durable(), session.next - 1, "its batch is that of the entry");
    }
}

#[test]
fn a_snapshot_carries_what_retention_takes_the_segments_of() {
    for mode in MODES {
        let disk = Faulty::new(2);
        let config = config_in(mode);
        let storage: Arc<Faulty> = Arc::new(disk.clone());
        let mut session = Session::open(storage.clone(), &config).unwrap();
        let writer = session.journaller.side_writer();
        let (mut random, mut truth) = (Random::new(3), vec![0; 2]);
        let mut given = Vec::new();
        for turn in 0..40_u8 {
            let entries =
                vec![put(turn % 16, 200), put(100, 1 + usize::from(turn)), SideEntry::delete(1, &[turn / 2])];
            writer.append(entries.clone(), Purpose::Grants).unwrap().forget();
            given.extend(entries);
            for _ in 0..30 {
                session.publish(random_command(&mut random), &mut truth);
            }
            session.settle();
        }
        session.journaller.close();
        let first = survey(&disk).unwrap().segments[0].header.number;
        let follow = || {
            let status = session.journaller.status();
            let mut follower =
                Follower::<Ledger, Count>::new(storage.clone(), &config, &(), Count::default(), status, &[])
                    .unwrap();
            follower.close();
            assert!(!follower.status().is_failed(), "{:?}", follower.status().take_failure());
        };
        follow();
        let kept = survey(&disk).unwrap();
        assert!(kept.segments[0].header.number > first + 3, "nothing was removed");
        let whole = store(given.clone());
        let snapshot = snapshot_store::read(&disk, kept.snapshots.last().unwrap()).unwrap();
        assert_eq!(snapshot.side(), Ok(whole.clone()));
        let recovered = recover_ledger(Arc::new(disk.process_end()), &config, &mut ()).unwrap();
        assert_eq!((recovered.side, recovered.report.snapshot.is_some()), (whole.clone(), true));
        // A follower that begins at that snapshot and reads its segment again writes the same into the next one.
        drop(session);
        let mut session = Session::open(storage.clone(), &config).unwrap();
        session.publish(random_command(&mut random), &mut vec![0; session.next as usize]);
        session.settle();
        session.journaller.close();
        let status = session.journaller.status();
        let mut follower =
            Follower::<Ledger, Count>::new(storage.clone(), &config, &(), Count::default(), status, &[])
                .unwrap();
        follower.close();
        let newest = survey(&disk).unwrap().snapshots.pop().unwrap();
        assert_ne!(Some(&newest), kept.snapshots.last());
        assert_eq!(snapshot_store::read(&disk, &newest).unwrap().side(), Ok(whole));
    }
}

/// A segment's name is its first command: two that hold none would have the same.
#[test]
fn where_a_segment_holds_no_command_entries_leave_room_for_one() {
    for mode in MODES {
        let disk = Faulty::new(3);
        let config = config_in(mode);
        let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
        let writer = session.journaller.side_writer();
        let mut receipts = Vec::new();
        let mut given = Vec::new();
        // Far more than the rest of the first segment and the whole second one have room for.
        for id in 0..30 {
            given.push(put(id, 3_000));
            receipts.push(writer.append(vec![put(id, 3_000)], Purpose::Grants).unwrap());
            session.settle();
        }
        let released = |receipts: &[ringside_persist::write::side::Receipt], from: usize| {
            receipts[from..].iter().take_while(|receipt| receipt.is_released() == Ok(true)).count()
        };
        let first = released(&receipts, 0);
        assert!((8..20).contains(&first), "{mode:?}: {first}");
        assert_eq!(survey(&disk).unwrap().segments.len(), 2);
        // Another mode or another version makes such a segment anew, with what it holds.
        for other in MODES {
            for batch_len in [4 << 10, 8 << 10] {
                let again = disk.process_end();
                let config = PersistConfig { batch_len, ..config_in(other) };
                let recovered = recover_ledger(Arc::new(again.clone()), &config, &mut ()).unwrap();
                assert_eq!(recovered.side, store(given[..first].iter().cloned()), "{mode:?} {other:?}");
                drop(recovered);
                let recovered = recover_ledger(Arc::new(again.process_end()), &config, &mut ()).unwrap();
                assert_eq!(recovered.side, store(given[..first].iter().cloned()), "{mode:?} {other:?}");
            }
        }
        // With a command they go on, a segment at a time.
        let mut random = Random::new(1);
        let mut truth = vec![0; 2];
        let mut all = first;
        while all < receipts.len() {
            assert!(session.publish(random_command(&mut random), &mut truth));
            session.settle();
            let more = released(&receipts, all);
            assert!(more > 0, "{all} of {}", receipts.len());
            all += more;
        }
        let walked = walk(&disk, &survey(&disk).unwrap(), 0, None, |_, _| Ok(())).unwrap();
        assert_eq!((walked.sides, walked.cut), (30, None));
        assert_eq!(
            recover_ledger(Arc::new(disk.process_end()), &config, &mut ()).unwrap().side,
            store(given)
        );
    }
}

#[test]
fn what_cannot_be_kept_is_refused_and_who_waits_is_told_of_the_end() {
    let disk = Faulty::new(4);
    let mut session = Session::open(Arc::new(disk.clone()), &config()).unwrap();
    let writer = session.journaller.side_writer();
    let refusal = |entry: SideEntry| writer.append(vec![entry], Purpose::Grants).err();
    assert_eq!(refusal(put(1, BYTES_LEN_MAX + 1)), Some(SideError::TooLong));
    // No more than a batch of these settings holds.
    assert_eq!(refusal(put(1, 8 << 10)), Some(SideError::TooLong));
    let mut handed = Vec::new();
    let busy = loop {
        match writer.append(vec![put(1, 10)], Purpose::Grants) {
            Ok(receipt) => handed.push(receipt),
            Err(error) => break error,
        }
    };
    assert_eq!((busy, handed.len()), (SideError::Busy, 256));
    session.settle();
    assert!(handed.iter().all(|receipt| receipt.is_released() == Ok(true)));
    // A segment may hold none of them by now that has no command.
    session.publish(random_command(&mut Random::new(1)), &mut vec![0; 2]);
    session.settle();
    // A write fails: what is under way and what comes after is told so.
    disk.plan(Plan { fail_at: Some(disk.calls() + 1), ..Plan::default() });
    let receipt = writer.append(vec![put(2, 10)], Purpose::Grants).unwrap();
    session.settle();
    assert!(session.journaller.status().is_failed());
    assert_eq!(receipt.wait(), Err(SideError::Ended));
    assert_eq!(refusal(put(3, 10)), Some(SideError::Ended));
    // And so is who waits for one that ends in good order, with what it has not taken any more.
    let disk = disk.process_end();
    let mut session = Session::open(Arc::new(disk.clone()), &config()).unwrap();
    let writer = session.journaller.side_writer();
    let taken = writer.append(vec![put(4, 10)], Purpose::Grants).unwrap();
    session.journaller.close();
    assert_eq!(taken.is_released(), Ok(true), "what was handed over before the end is kept");
    let late = writer.append(vec![put(5, 10)], Purpose::Grants).unwrap();
    drop(session);
    assert_eq!(late.wait(), Err(SideError::Ended));
    assert_eq!(writer.append(vec![put(5, 10)], Purpose::Grants).err(), Some(SideError::Ended));
    let side = found(&disk);
    assert!(side.get(1, &[4]).is_some() && side.get(1, &[5]).is_none());
}

/// What revokes is taken as long as cancels are, what grants as long as new orders are.
#[test]
fn on_a_full_disk_entries_are_refused_as_orders_are() {
    let disk = Faulty::new(5);
    let mut session = Session::open(Arc::new(disk.clone()), &config()).unwrap();
    session.settle();
    let writer = session.journaller.side_writer();
    disk.plan(Plan { capacity: Some(1), ..Plan::default() });
    let mut random = Random::new(1);
    let mut truth = vec![0; 2];
    let mut was = [false; 2];
    for id in 0..200 {
        session.publish(random_command(&mut random), &mut truth);
        session.settle();
        let takes =
            [Purpose::Grants, Purpose::Revokes].map(|purpose| match writer.append(Vec::new(), purpose) {
                Ok(receipt) => {
                    receipt.forget();
                    true
                }
                Err(error) => {
                    assert_eq!(error, SideError::Full, "{id}");
                    false
                }
            });
        assert!(takes[1] || !takes[0]);
        was[0] |= takes == [false, true];
        was[1] |= takes == [false, false];
        if was[1] {
            break;
        }
    }
    assert_eq!(was, [true, true]);
}

/// A change of a journal whose engine does not run, cut at each of its calls: some of it is there, the next change makes the rest, and no
/// command is touched.
#[test]
fn a_change_offline_may_be_cut_anywhere() {
    for_each_seed("side::a_change_offline_may_be_cut_anywhere", 40, |seed| {
        let mut random = Random::new(seed);
        let mode = MODES[(seed % 2) as usize];
        let config = config_in(mode);
        let disk = Faulty::new(seed);
        if !seed.is_multiple_of(5) {
            let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
            for _ in 0..random.below(60) {
                session.publish(random_command(&mut random), &mut vec![0; 2000]);
            }
            session
                .journaller
                .side_writer()
                .append(vec![put(0, 50), put(1, 60)], Purpose::Grants)
                .unwrap()
                .forget();
            session.settle();
        }
        let hash = |disk: &Faulty| {
            let recovered = recover_ledger(Arc::new(disk.process_end()), &config, &mut ()).unwrap();
            (recovered.report.last, recovered.engine.openings.len(), recovered.side)
        };
        let before = side_of(&disk);
        let commands =
            disk.list().unwrap().iter().any(|name| name.ends_with(".journal")).then(|| hash(&disk).0);
        let wanted = store((1..9).map(|id| put(id, 900)));
        let change = |disk: &Faulty| {
            let storage: Arc<dyn Storage> = Arc::new(disk.clone());
            side::change::<PersistError>(storage, &Lock::default(), &config, 1, |_| Ok(wanted.clone()))
        };
        let calls = {
            let disk = disk.process_end();
            let begun = disk.calls();
            change(&disk).unwrap();
            let calls = disk.calls() - begun;
            let again = disk.calls();
            change(&disk).unwrap();
            // Nothing to do: nothing is written.
            assert_eq!(side_of(&disk), wanted);
            assert!(disk.calls() - again < calls);
            calls
        };
        for call in 1..=calls {
            let disk = disk.process_end();
            disk.plan(Plan { cut_at: Some(disk.calls() + call), ..Plan::default() });
            let is_done = change(&disk).is_ok();
            let disk = disk.power_cut(random.draw());
            let found = side_of(&disk);
            assert!(!is_done || found == wanted);
            // Each key is as it was or as it is to be.
            for (kind, id) in [(1, 0), (1, 1), (1, 2), (1, 8)] {
                let now = found.get(kind, &[id]);
                assert!(
                    [before.get(kind, &[id]), wanted.get(kind, &[id])].contains(&now),
                    "{call} of {calls}: {id}"
                );
            }
            change(&disk).unwrap();
            let (last, _, side) = hash(&disk);
            assert_eq!((side, last), (wanted.clone(), commands.unwrap_or(0)), "{call} of {calls}");
        }
    });
}

/// As [`side::read`] finds it, on the disk that breaks on request.
fn side_of(disk: &Faulty) -> SideStore {
    let storage: Arc<dyn Storage> = Arc::new(disk.process_end());
    let mut found = SideStore::default();
    side::change::<PersistError>(storage, &Lock::default(), &config(), 1, |side| {
        found = side.clone();
        Ok(side.clone())
    })
    .unwrap();
    found
}

#[test]
fn more_than_a_segment_has_room_for_is_refused_offline() {
    let disk = Faulty::new(6);
    let config = config();
    drop(Session::open(Arc::new(disk.clone()), &config).unwrap());
    let wanted = store((0..40).map(|id| put(id, 3_000)));
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let change = || {
        side::change::<PersistError>(storage.clone(), &Lock::default(), &config, 1, |_| Ok(wanted.clone()))
    };
    let refused = change();
    assert!(matches!(refused, Err(PersistError::Setting { setting: "segment_len", .. })), "{refused:?}");
    // What was made of it stays, and an engine that runs in between makes room for more.
    for _ in 0..10 {
        drop(Session::open(Arc::new(disk.clone()), &config).unwrap());
        if change().is_ok() {
            break;
        }
    }
    assert_eq!(found(&disk), wanted);
}
