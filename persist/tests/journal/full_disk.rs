//! File systems that are really full (failure model, rows 5 and 7): ext4 of 64 MiB on a loop device, out of blocks and
//! out of inodes, a tmpfs at its limit, and a loop device whose backing file cannot grow, so that the kernel's own
//! writeback fails.
//!
//! They take root and mounts, in a mount namespace of their own that is gone with its thread, devices and all. Without
//! them the tests say so and end: what can be shown on the disk that breaks on request is in `faults.rs`.
#![allow(unsafe_code)]

use crate::common::{Ledger, Session, for_each_seed, random_command, seeds};
use ringside_core::agent::Agent;
use ringside_persist::config::{Method, PersistConfig};
use ringside_persist::error::PersistError;
use ringside_persist::recover::recovery::{Recovered, recover_machine};
use ringside_persist::storage::faulty::Random;
use ringside_persist::write::status::Pressure;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

fn run(program: &str, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    // e2fsck says 1 where it has repaired something.
    let is_done = output.status.success() || program == "e2fsck" && output.status.code() == Some(1);
    is_done.then_some(()).ok_or_else(|| {
        format!("{program} {}: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr).trim())
    })
}

/// Runs `test` on a thread whose mounts nobody else sees, or says why it cannot.
fn with_mounts(name: &str, test: impl FnOnce(&Path) -> Result<(), String> + Send) {
    let base = std::env::temp_dir().join(format!("ringside-{name}-{}", std::process::id()));
    let enter = || {
        // SAFETY: takes no pointers; only the calling thread, and threads it starts, leave the shared namespace.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            return Err(format!("no mount namespace: {}", std::io::Error::last_os_error()));
        }
        run("mount", &["--make-rprivate", "/"])?;
        fs::create_dir_all(&base).map_err(|error| error.to_string())?;
        test(&base)
    };
    let result = std::thread::scope(|scope| scope.spawn(enter).join());
    let _ = fs::remove_dir_all(&base);
    match result {
        Ok(Ok(())) => {}
        Ok(Err(reason)) => {
            // Straight to the terminal: output of a test that passes is not shown.
            use std::io::Write;
            let said = format!("skipped: {name} needs root, mount, loop devices and mkfs.ext4 ({reason})\n");
            let _ = std::io::stderr().write_all(said.as_bytes());
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A mounted file system. It ends with the namespace, if not before.
struct Mount {
    folder: PathBuf,
}

impl Mount {
    fn tmpfs(folder: PathBuf, size: &str) -> Result<Mount, String> {
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        let options = format!("size={size}");
        run("mount", &["-t", "tmpfs", "-o", &options, "none", &text(&folder)])?;
        Ok(Mount { folder })
    }

    /// ext4 on a loop device over a new file `image`, which takes no room but what is written.
    fn ext4(folder: PathBuf, image: &Path) -> Result<Mount, String> {
        File::create(image).and_then(|file| file.set_len(64 << 20)).map_err(|error| error.to_string())?;
        // Nothing is left to be written later: the only writes to come are ours and those they cause.
        let options = "lazy_itable_init=0,lazy_journal_init=0,nodiscard";
        run("mkfs.ext4", &["-q", "-F", "-m", "0", "-N", "256", "-E", options, &text(image)])?;
        Mount::loop_device(folder, image)
    }

    fn loop_device(folder: PathBuf, image: &Path) -> Result<Mount, String> {
        fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
        run("mount", &["-t", "ext4", "-o", "loop", &text(image), &text(&folder)])?;
        Ok(Mount { folder })
    }
}

impl Mount {
    /// Unmounts. A process that has just begun beside this test may still hold it busy, so that is waited for.
    fn end(self) -> Result<(), String> {
        let begun = Instant::now();
        loop {
            match run("umount", &[&text(&self.folder)]) {
                Err(_) if begun.elapsed() < Duration::from_secs(5) => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                result => return result,
            }
        }
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Takes all room in `folder` but what is left below one block, or all of its inodes.
fn exhaust(folder: &Path, is_of_inodes: bool) {
    let hoard = folder.join("hoard");
    fs::create_dir(&hoard).unwrap();
    if is_of_inodes {
        let mut index = 0;
        while File::create(hoard.join(format!("{index}"))).is_ok() {
            index += 1;
        }
        return;
    }
    let file = File::create(hoard.join("blocks")).unwrap();
    // What was removed before is given back when the file system's own journal commits.
    // SAFETY: the descriptor is open; no memory is passed.
    unsafe { libc::syncfs(file.as_raw_fd()) };
    let (mut at, mut len) = (0, 16 << 20);
    while len >= 4096 {
        // SAFETY: the descriptor is open; no memory is passed.
        if unsafe { libc::fallocate(file.as_raw_fd(), 0, at, len) } == 0 {
            at += len;
        } else {
            len /= 2;
        }
    }
}

fn relieve(folder: &Path) {
    fs::remove_dir_all(folder.join("hoard")).unwrap();
}

fn config(directory: PathBuf, method: Method, is_tmpfs: bool) -> PersistConfig {
    PersistConfig {
        segment_len: 64 << 10,
        batch_len: 16 << 10,
        method: Some(method),
        idle_seal: Duration::ZERO,
        // ext4 is what the journal asks for: nothing is waived there.
        any_file_system: is_tmpfs,
        ..PersistConfig::new(directory)
    }
}

/// Recovers. The lock of a process that has just begun beside this test, and not yet closed what it inherited, is
/// waited for.
fn recover(config: &PersistConfig) -> Recovered<Ledger> {
    let begun = Instant::now();
    loop {
        match recover_machine::<Ledger>(config, &(), &mut ()) {
            Err(PersistError::Locked { .. }) if begun.elapsed() < Duration::from_secs(5) => {
                std::thread::sleep(Duration::from_millis(1));
            }
            recovered => return recovered.unwrap(),
        }
    }
}

/// Journals until the disk is full, and beyond, then gives room again.
fn fill(folder: &Path, seed: u64, is_tmpfs: bool) {
    let mut random = Random::new(seed);
    let methods = [Method::Mapped, Method::Buffered, Method::Direct];
    let method = if is_tmpfs { methods[seed as usize % 2] } else { methods[seed as usize % 3] };
    let mut config = config(folder.join("journal"), method, is_tmpfs);
    config.spares = 1 + random.below(2) as usize;
    let mut session = Session::of(recover(&config)).unwrap();
    let status = session.journaller.status();
    let mut truth = vec![0, session.hash];
    for _ in 0..random.below(8) {
        for _ in 0..random.below(200) {
            session.publish(random_command(&mut random), &mut truth);
        }
        session.settle();
    }
    exhaust(folder, random.below(4) == 0 && !is_tmpfs);
    let mut seen = vec![Pressure::None];
    while seen.last() != Some(&Pressure::Full) {
        for _ in 0..1 + random.below(20) {
            session.publish(random_command(&mut random), &mut truth);
        }
        session.settle();
        assert!(!status.is_failed(), "a full disk is no failure: {:?}", status.take_failure());
        assert_eq!(session.gate.durable(), session.next - 1, "what is let in is acknowledged");
        let pressure = status.pressure();
        if seen.last() != Some(&pressure) {
            seen.push(pressure);
        }
    }
    // ext4 may still give back what was removed before: then it goes back to normal in between.
    assert!(
        seen.windows(2).all(|two| two != [Pressure::None, Pressure::Full]),
        "cancels had no time of their own"
    );
    // What is in the rings by now waits; a store into a mapped segment that has no block would end this process.
    for _ in 0..250 {
        session.publish(random_command(&mut random), &mut truth);
        session.journaller.do_work();
    }
    session.settle();
    assert!(!status.is_failed() && !session.gate.is_halted());
    let acknowledged = session.gate.durable();
    if random.below(4) == 0 {
        // Ended while full: what was acknowledged must come back once there is room to begin an epoch.
        drop(session);
        relieve(folder);
        let recovered = recover(&config);
        let last = recovered.report.last;
        assert!(last >= acknowledged && (last as usize) < truth.len());
        let opening = recovered.engine.openings.last().unwrap();
        assert_eq!(recovered.engine.hash(), Ledger::next_hash(truth[last as usize], opening));
        return;
    }
    relieve(folder);
    let begun = Instant::now();
    while session.gate.durable() < session.next - 1 || status.pressure() != Pressure::None {
        assert!(begun.elapsed() < Duration::from_secs(10), "does not resume by itself");
        if session.journaller.do_work() == 0 {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    assert!(!status.is_failed());
    let (last, hash) = (session.next - 1, session.hash);
    drop(session);
    let recovered = recover(&config);
    assert_eq!(recovered.report.last, last);
    assert_eq!(recovered.engine.hash(), Ledger::next_hash(hash, recovered.engine.openings.last().unwrap()));
}

/// Checks each seed on a file system of a pool of two, which serves one seed at a time.
fn fill_each(test: &str, count: u64, is_tmpfs: bool, pool: Vec<Mount>) {
    let pool = Mutex::new(pool);
    for_each_seed(test, count, |seed| {
        let mount = pool.lock().unwrap().pop().expect("two threads, two file systems");
        fill(&mount.folder, seed, is_tmpfs);
        fs::remove_dir_all(mount.folder.join("journal")).unwrap();
        pool.lock().unwrap().push(mount);
    });
}

#[test]
fn a_loop_device_fills_up_and_empties_again() {
    with_mounts("loop", |base| {
        let under = Mount::tmpfs(base.join("under"), "160m")?;
        let mount = |name: &str| Mount::ext4(base.join(name), &under.folder.join(format!("{name}.image")));
        let pool = vec![mount("a")?, mount("b")?];
        fill_each("full_disk::a_loop_device_fills_up_and_empties_again", 200, false, pool);
        Ok(())
    });
}

#[test]
fn a_tmpfs_fills_up_and_empties_again() {
    with_mounts("quota", |base| {
        let mount = |name: &str| Mount::tmpfs(base.join(name), "4m");
        let pool = vec![mount("a")?, mount("b")?];
        fill_each("full_disk::a_tmpfs_fills_up_and_empties_again", 50, true, pool);
        Ok(())
    });
}

/// The file system believes in room that its device cannot provide: whatever fails, fails in the kernel's writeback.
/// The journal then stops for good, or stands still; it acknowledges nothing that is not there afterwards.
/// Says whether it stopped.
fn writeback_fails(base: &Path, seed: u64) -> Result<bool, String> {
    let mut random = Random::new(seed);
    let under = Mount::tmpfs(base.join(format!("under-{seed}")), "72m")?;
    let image = under.folder.join("image");
    let folder = base.join(format!("ext4-{seed}"));
    let mount = Mount::ext4(folder.clone(), &image)?;
    let method = [Method::Mapped, Method::Buffered, Method::Direct][seed as usize % 3];
    let config = config(folder.join("journal"), method, false);
    let mut session = Session::of(recover(&config)).unwrap();
    let status = session.journaller.status();
    let mut truth = vec![0, session.hash];
    let mut stopped_at = None;
    let full_after = random.below(20);
    for burst in 0..400 {
        if burst == full_after {
            exhaust(&under.folder, false);
        }
        for _ in 0..1 + random.below(40) {
            session.publish(random_command(&mut random), &mut truth);
        }
        session.settle();
        if status.is_failed() {
            let durable = *stopped_at.get_or_insert(session.gate.durable());
            assert!(session.gate.is_halted(), "the gate goes on after an error");
            assert_eq!(session.gate.durable(), durable, "acknowledged after an error");
        }
        if status.is_failed() && burst > full_after + 3 || status.pressure() == Pressure::Full {
            break;
        }
    }
    assert!(
        status.is_failed() || status.pressure() == Pressure::Full,
        "a device without room went unnoticed"
    );
    let (acknowledged, has_stopped) = (session.gate.durable(), status.is_failed());
    drop(session);
    mount.end()?;
    relieve(&under.folder);
    run("e2fsck", &["-fy", &text(&image)]).unwrap();
    let mount = Mount::loop_device(folder, &image).unwrap();
    let recovered = recover(&config);
    let last = recovered.report.last;
    assert!(last >= acknowledged, "{acknowledged} were acknowledged, {last} came back");
    assert!((last as usize) < truth.len(), "{last} came back, fewer were given");
    let opening = recovered.engine.openings.last().unwrap();
    assert_eq!(recovered.engine.hash(), Ledger::next_hash(truth[last as usize], opening));
    drop(recovered);
    mount.end()?;
    under.end()?;
    Ok(has_stopped)
}

#[test]
fn failing_writeback_loses_nothing_acknowledged() {
    with_mounts("writeback", |base| {
        // Whether it can be done at all; the seeds then insist.
        Mount::ext4(base.join("probe"), &base.join("probe.image"))?.end()?;
        let stopped = AtomicU64::new(0);
        for_each_seed("full_disk::failing_writeback_loses_nothing_acknowledged", 50, |seed| {
            stopped.fetch_add(u64::from(writeback_fails(base, seed).unwrap()), Ordering::Relaxed);
        });
        let stopped = stopped.into_inner();
        println!("{stopped} of 50 met an error in writeback");
        // The others stood still for want of a segment.
        assert!(stopped > 10 || seeds::is_rerun(), "only {stopped} met an error");
        Ok(())
    });
}
