//! A file system of a test's own, in a file: it can be filled, frozen and made to fail, and goes with the test.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// ext4 on a loop device.
pub(crate) struct Mounted {
    /// Where it is mounted.
    pub(crate) folder: PathBuf,
    image: PathBuf,
}

impl Mounted {
    /// Of so many bytes. Nothing, and a word about it, where this system does not let the test mount one.
    pub(crate) fn new(folder: &Path, len: u64) -> Option<Mounted> {
        let mounted = Mounted { folder: folder.join("disk"), image: folder.join("disk.img") };
        fs::create_dir(&mounted.folder).unwrap();
        File::create(&mounted.image).unwrap().set_len(len).unwrap();
        let options = ["-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"];
        let made = run("mkfs.ext4", options.map(OsStr::new).into_iter().chain([mounted.image.as_os_str()]))
            .and_then(|()| mounted.mount());
        let Err(reason) = made else { return Some(mounted) };
        let said = format!(
            "skipped: {} needs root, mount, loop devices and mkfs.ext4 ({reason})\n",
            std::thread::current().name().unwrap_or("a test")
        );
        // Straight to the terminal: output of a test that passes is not shown.
        let _ = std::io::stderr().write_all(said.as_bytes());
        None
    }

    fn mount(&self) -> Result<(), String> {
        let options = ["-t", "ext4", "-o", "loop,errors=remount-ro"].map(OsStr::new);
        run("mount", options.into_iter().chain([self.image.as_os_str(), self.folder.as_os_str()]))
    }

    /// Freezes (`-f`) or thaws it (`-u`).
    pub(crate) fn freeze(&self, option: &str) {
        run("fsfreeze", [OsStr::new(option), self.folder.as_os_str()]).unwrap();
    }

    /// Takes all room that is left, in a file that is given back.
    pub(crate) fn fill(&self) -> PathBuf {
        let path = self.folder.join("filler");
        let mut file = File::create(&path).unwrap();
        for len in [1 << 20, 64 << 10, 4 << 10] {
            let bytes = vec![1; len];
            // What is accepted and has no room after all is said by the sync.
            while file.write_all(&bytes).is_ok() && file.sync_data().is_ok() {}
        }
        path
    }

    /// From now on every write and every sync fails, as when the kernel has met an error of the device in its own tables.
    pub(crate) fn fail(&self) {
        let mounts = fs::read_to_string("/proc/mounts").unwrap();
        let device = mounts
            .lines()
            .filter_map(|line| line.split_once(' '))
            .find(|(_, rest)| rest.starts_with(&format!("{} ", self.folder.display())))
            .and_then(|(device, _)| device.strip_prefix("/dev/"))
            .expect("it is mounted");
        fs::write(format!("/sys/fs/ext4/{device}/trigger_fs_error"), "1").unwrap();
        assert!(File::create(self.folder.join("more")).is_err(), "it still takes what is written");
    }

    /// Takes it away, repairs it and mounts it again. What has just ended may still hold it, so that is waited for.
    pub(crate) fn repair(&self) {
        let begun = Instant::now();
        while let Err(error) = run("umount", [self.folder.as_os_str()]) {
            assert!(begun.elapsed() < Duration::from_secs(10), "{error}");
            std::thread::sleep(Duration::from_millis(10));
        }
        // Says 1 where it has repaired something.
        let output = Command::new("e2fsck").arg("-fy").arg(&self.image).output().unwrap();
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stdout));
        self.mount().unwrap();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // A process that waits for a frozen disk cannot even be killed.
        let _ = Command::new("fsfreeze").arg("-u").arg(&self.folder).output();
        let _ = Command::new("umount").arg("-l").arg(&self.folder).output();
    }
}

fn run<'a>(program: &str, arguments: impl IntoIterator<Item = &'a OsStr>) -> Result<(), String> {
    let output = Command::new(program).args(arguments).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let said = || format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim());
    output.status.success().then_some(()).ok_or_else(said)
}
