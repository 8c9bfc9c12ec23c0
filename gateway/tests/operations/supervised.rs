//! What a service manager hears, on a socket of the test's.

use crate::mounted::Mounted;
use crate::process::{Folder, Running, started};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Longest that a sign of life is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

struct Manager(UnixDatagram, PathBuf);

impl Manager {
    fn new(folder: &Path) -> Manager {
        // Short: such a name may have 108 bytes.
        let path = std::env::temp_dir().join(format!(
            "rs-{}-{}",
            std::process::id(),
            folder.to_string_lossy().len()
        ));
        let _ = std::fs::remove_file(&path);
        Manager(UnixDatagram::bind(&path).unwrap(), path)
    }

    /// The next message, if one comes within the time.
    fn hears(&self, within: Duration) -> Option<String> {
        self.0.set_read_timeout(Some(within)).unwrap();
        let mut bytes = [0; 4096];
        self.0.recv(&mut bytes).ok().map(|len| String::from_utf8(bytes[..len].to_vec()).unwrap())
    }

    fn supervise(&self, command: &mut Command) {
        command.env("NOTIFY_SOCKET", &self.1).env("WATCHDOG_USEC", "1500000");
    }

    /// Waits for a sign of life.
    fn hears_life(&self) {
        let until = Instant::now() + PATIENCE;
        while self.hears(until - Instant::now()).expect("a sign of life") != "WATCHDOG=1" {}
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.1);
    }
}

fn terminate(child: &Running) {
    assert!(Command::new("kill").args(["-TERM", &child.0.id().to_string()]).status().unwrap().success());
}

#[test]
fn ready_alive_and_stopping_are_told() {
    let folder = Folder::new("supervised");
    let manager = Manager::new(&folder.0);
    let (mut child, _, _) = started(&folder.0, |command| manager.supervise(command));
    let first = manager.hears(PATIENCE).unwrap();
    assert!(first.starts_with("READY=1\nSTATUS="), "{first}");
    manager.hears_life();
    manager.hears_life();
    terminate(&child);
    let until = Instant::now() + PATIENCE;
    while !manager.hears(until - Instant::now()).expect("a last word").starts_with("STOPPING=1") {}
    assert!(child.0.wait().unwrap().success());
}

#[test]
fn nothing_is_told_where_nobody_asks() {
    let folder = Folder::new("unsupervised");
    let (child, _, said) = started(&folder.0, |command| {
        command.env("WATCHDOG_USEC", "1500000").env_remove("NOTIFY_SOCKET");
    });
    assert!(said.contains("running on"), "{said}");
    crate::process::stop(child);
}

#[test]
fn a_disk_that_hangs_is_not_reported_as_life() {
    let folder = Folder::new("frozen");
    let Some(disk) = Mounted::new(&folder.0, 256 << 20) else { return };
    let manager = Manager::new(&folder.0);
    let (child, _, _) = started(&disk.folder.join("data"), |command| {
        command.env("RINGSIDE_SEGMENT_LEN", "1MiB");
        manager.supervise(command);
    });
    manager.hears_life();
    disk.freeze("-f");
    // What was under way may still be told once, or twice.
    std::thread::sleep(Duration::from_secs(1));
    while manager.hears(Duration::from_millis(1)).is_some() {}
    let heard = manager.hears(Duration::from_secs(4));
    // Before anything is judged: a process that waits for a frozen disk cannot even be killed.
    disk.freeze("-u");
    assert_eq!(heard, None, "no command gets through, so it is not alive");
    manager.hears_life();
    crate::process::stop(child);
}
