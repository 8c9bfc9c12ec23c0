//! Who reads the journal of a running engine: it sees everything that was durable when it looked, takes nothing that is being
//! written for damage, damage for nothing that is being written, and keeps the files where they are.

use crate::common::{Count, Ledger, Session, random_command, recover_ledger};
use ringside_core::agent::Agent;
use ringside_core::gate::GateMode;
use ringside_persist::config::{Method, PersistConfig};
use ringside_persist::error::PersistError;
use ringside_persist::format::segment::DATA_START;
use ringside_persist::read::look::look;
use ringside_persist::read::survey::survey;
use ringside_persist::read::verify::{verify, verify_in};
use ringside_persist::recover::backup::{Backup, Until, restore};
use ringside_persist::recover::follower::Follower;
use ringside_persist::recover::recovery::recover_machine;
use ringside_persist::storage::disk::Disk;
use ringside_persist::storage::faulty::{Faulty, Random};
use ringside_persist::storage::{Access, File, Storage};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

fn config(directory: impl Into<PathBuf>) -> PersistConfig {
    PersistConfig {
        segment_len: 64 << 10,
        batch_len: 8 << 10,
        idle_seal: Duration::from_millis(1),
        sync_interval: Duration::from_millis(3),
        snapshot_commands: 300,
        any_file_system: true,
        journal_id: Some([7; 16]),
        opened_at_ns: 1,
        ..PersistConfig::new(directory)
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ringside-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// A journal whose last segment is read as it was before, so many times, and then as it is.
struct Moving {
    disk: Faulty,
    name: String,
    before: Arc<Vec<u8>>,
    reads: Arc<AtomicU64>,
}

struct MovingFile {
    file: Arc<dyn File>,
    before: Arc<Vec<u8>>,
    reads: Arc<AtomicU64>,
}

impl Storage for Moving {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        let file = self.disk.open(name, access)?;
        if name != self.name {
            return Ok(file);
        }
        Ok(Arc::new(MovingFile { file, before: self.before.clone(), reads: self.reads.clone() }))
    }
    fn create(&self, _name: &str) -> io::Result<Arc<dyn File>> {
        unreachable!("nothing is written")
    }
    fn rename(&self, _from: &str, _to: &str) -> io::Result<()> {
        unreachable!("nothing is written")
    }
    fn remove(&self, _name: &str) -> io::Result<()> {
        unreachable!("nothing is written")
    }
    fn sync_directory(&self) -> io::Result<()> {
        unreachable!("nothing is written")
    }
}

impl File for MovingFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<()> {
        let left = self.reads.load(Ordering::Relaxed);
        if left == 0 {
            return self.file.read_at(offset, buffer);
        }
        self.reads.store(left - 1, Ordering::Relaxed);
        buffer.copy_from_slice(&self.before[offset as usize..offset as usize + buffer.len()]);
        Ok(())
    }
    fn write_at(&self, _offset: u64, _bytes: &[u8]) -> io::Result<()> {
        unreachable!("nothing is written")
    }
    fn sync(&self) -> io::Result<()> {
        unreachable!("nothing is written")
    }
}

/// Whichever of the reads of one look is the first that sees what an engine has written meanwhile.
#[test]
fn what_is_written_while_it_is_read_is_no_damage() {
    let disk = Faulty::new(1);
    let mut session = Session::open(Arc::new(disk.clone()), &config("")).unwrap();
    let (mut random, mut truth) = (Random::new(3), vec![0; 2]);
    let mut batches = |count: u64, truth: &mut Vec<u64>| {
        for _ in 0..count {
            session.publish(random_command(&mut random), truth);
            session.settle();
        }
        session.gate.durable()
    };
    let last_before = batches(5, &mut truth);
    let name = survey(&disk).unwrap().segments.last().unwrap().header.name();
    let before = disk.bytes(&name).unwrap();
    let last_after = batches(5, &mut truth);
    assert_eq!(survey(&disk).unwrap().segments.last().unwrap().header.name(), name, "still in use");
    let mut misjudged = 0;
    for reads in 0..10 {
        let moving = |disk: &Faulty, before: &[u8]| Moving {
            disk: disk.clone(),
            name: name.clone(),
            before: Arc::new(before.to_vec()),
            reads: Arc::new(AtomicU64::new(reads)),
        };
        let verdict = verify_in(&moving(&disk, &before), true).unwrap();
        assert!(verdict.is_sound() && verdict.cut.is_none(), "{reads}: {verdict}");
        assert!((last_before..=last_after).contains(&verdict.last), "{reads}: {verdict}");
        // Where nobody writes, bytes that come and go are no end.
        misjudged += u32::from(!verify_in(&moving(&disk, &before), false).unwrap().is_sound());

        // What was durable before and cannot be read now, at the first command or the last, is damaged whoever writes.
        for spot in [DATA_START as usize + 70, before.iter().rposition(|byte| *byte != 0).unwrap() - 4_200] {
            let rotten = disk.process_end();
            rotten.tamper(&name, |bytes| bytes[spot] ^= 1);
            let mut before = before.clone();
            before[spot] ^= 1;
            let verdict = verify_in(&moving(&rotten, &before), true).unwrap();
            let is_named =
                matches!(&verdict.damage, Some(PersistError::Rot { segment, .. }) if *segment == name);
            assert!(is_named, "{reads}, byte {spot}: {verdict}");
        }
    }
    assert!(misjudged > 0, "no look met what was being written");
}

/// An engine that writes as fast as it can, followed, in every storage and mode, while it is looked at from all sides.
#[test]
fn a_running_journal_is_verified_copied_and_looked_at() {
    let cases = [
        (GateMode::Durable, Method::Direct),
        (GateMode::Durable, Method::Mapped),
        (GateMode::Durable, Method::Buffered),
        (GateMode::Written, Method::Mapped),
        (GateMode::Written, Method::Buffered),
    ];
    for (index, (mode, method)) in cases.into_iter().enumerate() {
        let folder = folder(&format!("beside-{index}"));
        let config = PersistConfig { mode, method: Some(method), ..config(folder.join("journal")) };
        let recovered = recover_machine::<Ledger>(&config, &(), &mut ()).unwrap();
        let mut session = Session::threaded(recovered).unwrap();
        let (gate, status) = (session.gate.clone(), session.journaller.status());
        let storage = Arc::new(Disk::open(&config.directory, method, true).unwrap());
        let mut follower =
            Follower::<Ledger, Count>::new(storage, &config, &(), Count::default(), status, &[]).unwrap();
        let is_over = AtomicBool::new(false);
        let truth = std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let (mut random, mut truth) = (Random::new(8), vec![0; 2]);
                while !is_over.load(Ordering::Relaxed) {
                    session.publish(random_command(&mut random), &mut truth);
                    session.journaller.do_work();
                    follower.do_work();
                    std::thread::sleep(Duration::from_micros(50));
                }
                session.journaller.close();
                truth
            });
            while gate.durable() < 100 {
                std::thread::sleep(Duration::from_millis(1));
            }
            for round in 0..12 {
                let durable = gate.durable();
                let verdict = verify(&config.directory).unwrap();
                assert!(verdict.is_sound() && verdict.is_in_use, "{mode:?}, {method:?}: {verdict}");
                assert!(verdict.last >= durable, "{} was durable: {verdict}", durable);
                check_copy(&folder, &config, round, &gate);
                let (last, mut seen) = (gate.durable(), 0);
                let visit = |_: ringside_persist::read::look::Seen<'_, Ledger>| seen += 1;
                let engine: Ledger =
                    look(&config.directory, &(), last - 1, last, &mut Count::default(), visit)
                        .unwrap_or_else(|error| panic!("{mode:?}, {method:?}: {error}"));
                assert_eq!((ringside_persist::recover::machine::Machine::sequence(&engine), seen), (last, 2));
            }
            is_over.store(true, Ordering::Relaxed);
            writing.join().unwrap()
        });
        for round in 0..12 {
            let restored = config_of(&folder, round);
            let recovered = recover_machine::<Ledger>(&restored, &(), &mut Count::default()).unwrap();
            // The command that opened the new epoch is its own.
            let last = recovered.report.last as usize;
            let engine = &recovered.engine;
            assert_eq!(Ledger::next_hash(truth[last], engine.openings.last().unwrap()), engine.hash());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

fn config_of(folder: &Path, round: u32) -> PersistConfig {
    config(folder.join(format!("restored-{round}")))
}

/// Copies what runs and makes a journal of the copy.
fn check_copy(folder: &Path, running: &PersistConfig, round: u32, gate: &ringside_core::gate::Gate) {
    let copy = folder.join(format!("copy-{round}"));
    std::fs::create_dir(&copy).unwrap();
    let mut backup = Backup::begin(&running.directory).unwrap();
    backup.copy_whole(&copy).unwrap();
    let durable = gate.durable();
    let (_, end) = backup.finish(&copy).unwrap();
    assert!(end.sequence >= durable, "{durable} was durable, the copy ends at {}", end.sequence);
    let restored = config_of(folder, round).directory;
    std::fs::create_dir(&restored).unwrap();
    assert_eq!(restore(&[copy], &restored, Until::End).unwrap(), end);
}

/// Far more is written, and far more snapshots are made, than retention would keep.
#[test]
fn a_copy_that_takes_longer_than_retention_has_all_its_segments() {
    let folder = folder("slow-copy");
    let config = PersistConfig { snapshots_kept: 1, ..config(folder.join("journal")) };
    let recovered = recover_machine::<Ledger>(&config, &(), &mut ()).unwrap();
    let mut session = Session::of(recovered).unwrap();
    let storage = Arc::new(Disk::open(&config.directory, Method::Direct, true).unwrap());
    let status = session.journaller.status();
    let mut follower =
        Follower::<Ledger, Count>::new(storage, &config, &(), Count::default(), status, &[]).unwrap();
    let (mut random, mut truth) = (Random::new(5), vec![0; 2]);
    let mut run = |snapshots: u64| {
        let wanted = follower.status().snapshots() + snapshots;
        while follower.status().snapshots() < wanted {
            session.publish(random_command(&mut random), &mut truth);
            session.settle();
            follower.do_work();
        }
        assert!(!follower.status().is_failed(), "{:?}", follower.status().take_failure());
        session.gate.durable()
    };
    let names = || {
        let disk = Disk::open_existing(&config.directory).unwrap();
        survey(&disk).unwrap().segments.iter().map(|read| read.header.name()).collect::<Vec<_>>()
    };
    run(5);
    let copy = folder.join("copy");
    std::fs::create_dir(&copy).unwrap();
    let begun = names();
    let mut backup = Backup::begin(&config.directory).unwrap();
    run(5);
    assert!(names().starts_with(&begun) && names().len() > begun.len() + 2, "{begun:?}, {:?}", names());
    backup.copy_whole(&copy).unwrap();
    let durable = run(5);
    let (_, end) = backup.finish(&copy).unwrap();
    assert_eq!(end.sequence, durable);
    // What it held goes once it is finished; one that was given up holds nothing.
    drop(Backup::begin(&config.directory).unwrap());
    run(2);
    assert!(!names().contains(&begun[0]), "{begun:?}, {:?}", names());
    let restored = config_of(&folder, 0);
    std::fs::create_dir(&restored.directory).unwrap();
    assert_eq!(restore(&[copy], &restored.directory, Until::End).unwrap(), end);
    let storage = Arc::new(Disk::open(&restored.directory, Method::Direct, true).unwrap());
    assert_eq!(recover_ledger(storage, &restored, &mut Count::default()).unwrap().report.last, durable);
    std::fs::remove_dir_all(&folder).unwrap();
}
