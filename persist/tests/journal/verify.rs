//! `verify` sees what recovery would refuse, writes nothing, and says it in one line of JSON.

use crate::common::{Count, Ledger, Session, random_command, recover_ledger};
use ringside_core::agent::Agent;
use ringside_persist::config::PersistConfig;
use ringside_persist::error::PersistError;
use ringside_persist::read::verify::{Verdict, verify, verify_in};
use ringside_persist::recover::follower::Follower;
use ringside_persist::recover::recovery::recover_machine;
use ringside_persist::recover::snapshot_store::{self, Moment};
use ringside_persist::storage::Storage;
use ringside_persist::storage::faulty::{Faulty, Random};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

fn config(directory: impl Into<PathBuf>) -> PersistConfig {
    PersistConfig {
        segment_len: 32 << 10,
        batch_len: 8 << 10,
        spares: 1,
        idle_seal: Duration::ZERO,
        snapshot_commands: 150,
        any_file_system: true,
        journal_id: Some([7; 16]),
        opened_at_ns: 1,
        ..PersistConfig::new(directory)
    }
}

/// A journal of 400 commands with snapshots; gives the last sequence.
fn fill(disk: &Faulty, config: &PersistConfig) -> u64 {
    let recovered = recover_ledger(Arc::new(disk.clone()), config, &mut ()).unwrap();
    let mut session = Session::of(recovered).unwrap();
    let storage = Arc::new(disk.clone());
    let status = session.journaller.status();
    let mut follower =
        Follower::<Ledger, Count>::new(storage, config, &(), Count::default(), status, &[]).unwrap();
    let mut random = Random::new(9);
    let mut truth = vec![0; 2];
    for _ in 0..20 {
        for _ in 0..20 {
            session.publish(random_command(&mut random), &mut truth);
        }
        session.settle();
        while follower.do_work() > 0 {}
    }
    session.journaller.close();
    session.next - 1
}

fn look(disk: &Faulty) -> Verdict {
    verify_in(disk, false).unwrap()
}

#[test]
fn a_sound_journal_is_called_sound() {
    let disk = Faulty::new(1);
    let verdict = look(&disk);
    assert!(verdict.is_sound() && verdict.is_empty(), "an empty directory: {verdict}");
    let last = fill(&disk, &config(""));
    let verdict = look(&disk);
    assert!(verdict.is_sound(), "{verdict}");
    assert_eq!(verdict.last, last);
    assert!(verdict.segments.len() > 1 && !verdict.snapshots.is_empty() && !verdict.is_empty(), "{verdict}");
    assert_eq!(verdict.last + 1 - verdict.segments[0].first_seq, verdict.commands);
    assert_eq!((&verdict.cut, verdict.is_in_use, verdict.degraded.len()), (&None, false, 0));
    assert!(verdict.segments.iter().all(|segment| segment.mode == "durable" && segment.engine_version == 1));
    assert!(
        verdict.snapshots.iter().all(|(_, moment)| moment.as_ref().is_ok_and(|moment| moment.epoch == 1))
    );
}

#[test]
fn damage_is_named() {
    let disk = Faulty::new(2);
    fill(&disk, &config(""));
    let sound = look(&disk);
    let first = sound.segments[0].name.clone();

    let rotten = disk.process_end();
    rotten.tamper(&first, |bytes| bytes[9_000] ^= 4);
    let verdict = look(&rotten);
    assert!(!verdict.is_sound());
    let Some(PersistError::Rot { segment, offset, sequence, .. }) = &verdict.damage else {
        panic!("{verdict}");
    };
    assert_eq!(segment, &first);
    assert!((8_192..=9_000).contains(offset) && *sequence >= sound.segments[0].first_seq);
    let json = verdict.to_json();
    let named = format!("\"damage\":{{\"segment\":\"{first}\",\"offset\":{offset},\"sequence\":{sequence},");
    assert!(json.starts_with("{\"sound\":false,") && json.contains(&named), "{json}");
    assert!(verdict.to_string().contains("DAMAGED"), "{verdict}");

    let degraded = disk.process_end();
    degraded.tamper(&first, |bytes| bytes[20] ^= 1);
    let verdict = look(&degraded);
    assert!(verdict.is_sound(), "the other copy of the header stands in: {verdict}");
    assert_eq!(verdict.degraded, std::slice::from_ref(&first));

    let snapshot = &sound.snapshots.last().unwrap().0;
    let spoilt = disk.process_end();
    spoilt.tamper(snapshot, |bytes| bytes[4_100] ^= 1);
    let verdict = look(&spoilt);
    assert!(!verdict.is_sound() && verdict.damage.is_none(), "{verdict}");
    assert!(verdict.snapshots.last().unwrap().1.is_err());

    // Whole by itself, but of another history than the journal's.
    let foreign = disk.process_end();
    let held = snapshot_store::read(&foreign, snapshot).unwrap();
    let other = Moment { mark: held.moment.mark ^ 1, ..held.moment };
    snapshot_store::write(&foreign, &other, held.engine(), held.views(), &held.side().unwrap()).unwrap();
    let verdict = look(&foreign);
    assert!(!verdict.is_sound(), "{verdict}");
    assert!(verdict.snapshots.last().unwrap().1.as_ref().is_err_and(|reason| reason.contains("history")));
}

/// What a snapshot says of itself is compared with what is in it, and with the journal.
#[test]
fn a_snapshot_that_is_not_what_it_says_is_passed_over_and_named() {
    let disk = Faulty::new(2);
    fill(&disk, &config(""));
    let snapshots: Vec<String> = look(&disk).snapshots.into_iter().map(|(name, _)| name).collect();
    let [.., older, newest] = &snapshots[..] else { panic!("two snapshots are kept: {snapshots:?}") };
    let held = snapshot_store::read(&disk, newest).unwrap();
    let moment = held.moment;
    let next = snapshot_store::name_of(moment.sequence + 1);
    let cases = [
        ("another journal", newest, Moment { journal_id: [8; 16], ..moment }, held.views()),
        ("another hash", newest, Moment { state_hash: [9; 16], ..moment }, held.views()),
        ("that of sequence", &next, Moment { sequence: moment.sequence + 1, ..moment }, held.views()),
        ("the views cannot load it", newest, moment, &held.views()[1..]),
    ];
    for (reason, name, moment, views) in cases {
        let disk = disk.process_end();
        snapshot_store::write(&disk, &moment, held.engine(), views, &held.side().unwrap()).unwrap();
        let mut count = Count::default();
        let recovered = recover_ledger(Arc::new(disk), &config(""), &mut count).unwrap();
        let expected = if name == newest { older } else { newest };
        let report = &recovered.report;
        assert_eq!(report.snapshot, snapshot_store::sequence_of(expected), "{reason}");
        let [(refused, said)] = &report.snapshots_refused[..] else { panic!("{reason}: {report}") };
        assert!(refused == name && said.contains(reason), "{reason}: {refused}, {said}");
        assert_eq!(count.events, recovered.next_sequence - 1, "{reason}: the views miss events");
    }

    // Of a history that the journal does not hold, and nothing in the snapshot itself tells.
    let foreign = disk.process_end();
    let other = Moment { mark: moment.mark ^ 1, ..moment };
    snapshot_store::write(&foreign, &other, held.engine(), held.views(), &held.side().unwrap()).unwrap();
    match recover_ledger(Arc::new(foreign), &config(""), &mut ()) {
        Err(PersistError::Snapshot { file, reason }) => {
            assert!(&file == newest && reason.contains("another history"), "{file}: {reason}");
        }
        other => panic!("{:?}", other.map(|recovered| recovered.report)),
    }
}

/// Whatever start refuses because it is gone, `verify` misses as well, in the same words.
#[test]
fn what_is_missing_is_missed() {
    let disk = Faulty::new(4);
    fill(&disk, &PersistConfig { snapshots_kept: 1, ..config("") });
    let whole = look(&disk);
    let (first, segments) = (&whole.segments[0], whole.segments.iter().map(|segment| &segment.name));
    let snapshots: Vec<&String> = whole.snapshots.iter().map(|(name, _)| name).collect();
    assert!(first.first_seq > 1, "the journal's first segments are forgotten: {whole}");
    let oldest = snapshot_store::sequence_of(snapshots[0]).unwrap();
    let held = whole.segments.partition_point(|segment| segment.first_seq <= oldest);
    let missing: [(&str, Vec<&String>); 3] = [
        ("there is no segment", segments.clone().collect()),
        ("no snapshot can be used (there is none)", snapshots.clone()),
        // All but the oldest snapshot, and the segment that it ends in.
        ("is missing: snapshot", segments.take(held).chain(snapshots[1..].iter().copied()).collect()),
    ];
    for (reason, files) in missing {
        let disk = disk.process_end();
        files.iter().for_each(|name| disk.remove(name).unwrap());
        let verdict = look(&disk);
        assert!(!verdict.is_sound() && verdict.to_json().starts_with("{\"sound\":false"), "{verdict}");
        let damage = verdict.damage.as_ref().expect("it is missed").to_string();
        assert!(damage.contains(reason), "{damage}");
        let refused = recover_ledger(Arc::new(disk), &config(""), &mut ()).err().expect("start refuses it");
        assert_eq!(refused.to_string(), damage);
    }
}

#[test]
fn a_torn_end_is_no_damage_and_none_of_our_business_while_it_moves() {
    let disk = Faulty::new(3);
    let last = fill(&disk, &config(""));
    let segment = look(&disk).segments.last().unwrap().name.clone();
    let recovered = recover_ledger(Arc::new(disk.clone()), &config(""), &mut ()).unwrap();
    assert_eq!(recovered.next_sequence, last + 2);
    // The command that opens the epoch is the last batch; its seal is torn in the middle.
    let after = disk.bytes(&segment).unwrap();
    let used = after.iter().rposition(|byte| *byte != 0).unwrap();
    disk.tamper(&segment, |bytes| bytes[used - 20..].fill(0));
    let verdict = look(&disk);
    assert!(verdict.is_sound(), "{verdict}");
    let cut = verdict.cut.as_ref().expect("the torn end is seen");
    assert_eq!(cut.segment, segment);
    assert!(verdict.to_json().contains(&format!("\"cut\":{{\"segment\":\"{segment}\",")));
    let verdict = verify_in(&disk, true).unwrap();
    assert!(verdict.is_sound() && verdict.cut.is_none() && verdict.is_in_use);
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().to_string_lossy().into(), std::fs::read(entry.path()).unwrap()))
        .collect()
}

#[test]
fn a_real_directory_is_left_as_it_was() {
    let folder = std::env::temp_dir().join(format!("ringside-verify-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    assert!(verify(&folder).is_err(), "there is no such directory, and none is made");
    assert!(!folder.exists());
    let recovered = recover_machine::<Ledger>(&config(&folder), &(), &mut ()).unwrap();
    let mut session = Session::of(recovered).unwrap();
    let mut random = Random::new(5);
    let mut truth = vec![0; 2];
    for _ in 0..100 {
        session.publish(random_command(&mut random), &mut truth);
    }
    session.settle();
    let verdict = verify(&folder).unwrap();
    assert!(verdict.is_in_use && verdict.is_sound(), "{verdict}");
    session.journaller.close();
    drop(session);
    let before = contents(&folder);
    let verdict = verify(&folder).unwrap();
    assert!(!verdict.is_in_use && verdict.is_sound(), "{verdict}");
    assert_eq!((verdict.commands, verdict.last), (101, 101));
    let name = &verdict.segments[0].name;
    let expected = format!(
        "{{\"sound\":true,\"in_use\":false,\"commands\":101,\"sides\":0,\"last\":101,\"segments\":[{{\"name\":\"{name}\",\
         \"first_seq\":1,\"epoch\":1,\"mode\":\"durable\",\"engine_version\":1,\"len\":32768,\"degraded\":false}}],\
         \"snapshots\":[],\"cut\":null,\"damage\":null}}"
    );
    assert_eq!(verdict.to_json(), expected);
    assert!(contents(&folder) == before, "something was written");
    std::fs::remove_dir_all(&folder).unwrap();
}
