//! A disk, or a quota, without room for a name: what takes no more than waiting waits, and nothing acknowledged is lost.

use crate::common::{Count, Ledger, Session, random_command, recover_ledger};
use ringside_core::agent::Agent;
use ringside_core::gate::GateMode;
use ringside_persist::config::{Method, PersistConfig};
use ringside_persist::error::PersistError;
use ringside_persist::read::survey::survey;
use ringside_persist::recover::follower::Follower;
use ringside_persist::storage::disk::Disk;
use ringside_persist::storage::faulty::Random;
use ringside_persist::storage::{Access, File, Storage};
use ringside_persist::write::status::Pressure;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::{Duration, Instant};

/// A real folder whose names of one kind are refused with a number of the system's, 0 for none.
struct Narrow {
    disk: Disk,
    ending: &'static str,
    refusal: AtomicI32,
}

impl Narrow {
    fn new(folder: &Path, method: Method, ending: &'static str) -> Arc<Narrow> {
        let disk = Disk::open(folder, method, true).unwrap();
        Arc::new(Narrow { disk, ending, refusal: AtomicI32::new(0) })
    }

    fn refuse(&self, number: i32) {
        self.refusal.store(number, Ordering::Relaxed);
    }
}

impl Storage for Narrow {
    fn list(&self) -> io::Result<Vec<String>> {
        self.disk.list()
    }
    fn open(&self, name: &str, access: Access) -> io::Result<Arc<dyn File>> {
        self.disk.open(name, access)
    }
    fn create(&self, name: &str) -> io::Result<Arc<dyn File>> {
        self.disk.create(name)
    }
    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        match self.refusal.load(Ordering::Relaxed) {
            number if number != 0 && to.ends_with(self.ending) => Err(io::Error::from_raw_os_error(number)),
            _ => self.disk.rename(from, to),
        }
    }
    fn remove(&self, name: &str) -> io::Result<()> {
        self.disk.remove(name)
    }
    fn sync_directory(&self) -> io::Result<()> {
        self.disk.sync_directory()
    }
    fn identity(&self, name: &str) -> io::Result<u64> {
        self.disk.identity(name)
    }
}

const CASES: [(GateMode, Method); 3] = [
    (GateMode::Durable, Method::Direct),
    (GateMode::Durable, Method::Mapped),
    (GateMode::Written, Method::Mapped),
];

fn config(mode: GateMode, method: Method) -> PersistConfig {
    PersistConfig {
        mode,
        method: Some(method),
        segment_len: 32 << 10,
        batch_len: 8 << 10,
        inline_len: 4 << 10,
        idle_seal: Duration::from_millis(1),
        sync_interval: Duration::from_millis(2),
        snapshot_commands: 50,
        ..PersistConfig::new("")
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("ringside-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

fn last_of(folder: &Path, config: &PersistConfig) -> u64 {
    let storage = Narrow::new(folder, config.method(), "");
    recover_ledger(storage, config, &mut Count::default()).unwrap().report.last
}

/// Publishes until nothing is acknowledged any more for want of a name.
fn run_until_full(session: &mut Session) {
    let (mut random, mut truth) = (Random::new(1), vec![0; 2]);
    let (status, begun) = (session.journaller.status(), Instant::now());
    while status.pressure() != Pressure::Full {
        session.publish(random_command(&mut random), &mut truth);
        session.journaller.do_work();
        assert!(!status.is_failed(), "{:?}", status.take_failure());
        assert!(begun.elapsed() < Duration::from_secs(10), "the next segment got its name");
    }
}

#[test]
fn a_segment_waits_for_room_for_its_name() {
    for (mode, method) in CASES {
        for number in [libc::ENOSPC, libc::EDQUOT] {
            let folder = folder("name");
            let config = config(mode, method);
            let storage = Narrow::new(&folder, method, ".journal");
            let recovered = recover_ledger(storage.clone(), &config, &mut ()).unwrap();
            let mut session = Session::threaded(recovered).unwrap();
            let status = session.journaller.status();
            storage.refuse(number);
            run_until_full(&mut session);
            let segments = survey(&storage.disk).unwrap().segments.len();
            assert_eq!(segments, 1, "{mode:?}, {method:?}, {number}");
            storage.refuse(0);
            let begun = Instant::now();
            while session.gate.durable() < session.next - 1 || status.pressure() != Pressure::None {
                assert!(begun.elapsed() < Duration::from_secs(10), "does not resume by itself");
                if session.journaller.do_work() == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
            session.journaller.close();
            assert!(!status.is_failed() && !session.gate.is_halted());
            let last = session.next - 1;
            drop(session);
            assert_eq!(last_of(&folder, &config), last, "{mode:?}, {method:?}, {number}");
            std::fs::remove_dir_all(&folder).unwrap();
        }
    }
}

/// An exchange that is told to stop ends, whether there is room or not.
#[test]
fn who_stops_does_not_wait_for_room_for_ever() {
    for (mode, method) in CASES {
        let folder = folder("stop");
        let config = config(mode, method);
        let storage = Narrow::new(&folder, method, ".journal");
        let recovered = recover_ledger(storage.clone(), &config, &mut ()).unwrap();
        let mut session = Session::threaded(recovered).unwrap();
        let status = session.journaller.status();
        storage.refuse(libc::EDQUOT);
        run_until_full(&mut session);
        let begun = Instant::now();
        session.journaller.close();
        assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
        assert!(!status.is_failed(), "{:?}", status.take_failure());
        let acknowledged = session.gate.durable();
        drop(session);
        assert!(last_of(&folder, &config) >= acknowledged, "{mode:?}, {method:?}");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}

/// A name that is refused for another reason than room is a failure, at once.
#[test]
fn a_disk_that_refuses_a_name_has_failed() {
    let folder = folder("refused");
    let config = config(GateMode::Durable, Method::Direct);
    let storage = Narrow::new(&folder, Method::Direct, ".journal");
    let recovered = recover_ledger(storage.clone(), &config, &mut ()).unwrap();
    let mut session = Session::threaded(recovered).unwrap();
    let status = session.journaller.status();
    storage.refuse(libc::EIO);
    let (mut random, mut truth, begun) = (Random::new(1), vec![0; 2], Instant::now());
    while !status.is_failed() {
        session.publish(random_command(&mut random), &mut truth);
        session.journaller.do_work();
        assert!(begun.elapsed() < Duration::from_secs(10), "it goes on");
    }
    assert!(matches!(status.take_failure(), Some(PersistError::Io { operation: "rename", .. })));
    drop(session);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn a_snapshot_waits_for_room_for_its_name() {
    for number in [libc::ENOSPC, libc::EDQUOT] {
        let folder = folder("snapshot");
        let config = config(GateMode::Durable, Method::Direct);
        let storage = Narrow::new(&folder, Method::Direct, ".snapshot");
        let recovered = recover_ledger(storage.clone(), &config, &mut ()).unwrap();
        let mut session = Session::of(recovered).unwrap();
        let status = session.journaller.status();
        let mut follower =
            Follower::<Ledger, Count>::new(storage.clone(), &config, &(), Count::default(), status, &[])
                .unwrap();
        storage.refuse(number);
        let (mut random, mut truth) = (Random::new(1), vec![0; 2]);
        for _ in 0..200 {
            session.publish(random_command(&mut random), &mut truth);
            session.settle();
            follower.do_work();
        }
        let status = follower.status();
        assert!(!status.is_failed(), "{number}: {:?}", status.take_failure());
        assert!(status.take_notice().is_some_and(|notice| notice.contains("no room for the snapshot")));
        assert_eq!(status.snapshots(), 0);
        storage.refuse(0);
        // At the end nothing is left for later.
        session.journaller.close();
        follower.close();
        assert_eq!((status.snapshots(), status.snapshot()), (1, session.gate.durable()), "{number}");
        drop(session);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
