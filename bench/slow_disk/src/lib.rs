//! A disk of its own for each process of one machine: preloaded into an exchange whose data lies in memory, it makes what would wait for
//! a disk wait as long as one of the recorded times, drawn anew for each.
//!
//! `SLOW_DISK` names a file of nanoseconds, one a line. What waits: `fdatasync`, `fsync`, and writes to files that were opened with
//! `O_DSYNC`. A pause of the system is longer than it was asked for; by how much is measured first and taken off.
#![allow(unsafe_code)]

use libc::{c_int, c_void, off64_t, size_t, ssize_t};
use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

static DISK: LazyLock<Disk> = LazyLock::new(Disk::new);

struct Disk {
    times: Vec<Duration>,
    /// How much longer a pause is than asked for.
    late: Duration,
}

thread_local! {
    /// State of this thread's numbers, in the manner of splitmix64.
    static RANDOM: Cell<u64> = Cell::new(seed());
}

/// Another for each thread.
fn seed() -> u64 {
    be_exact();
    RandomState::new().hash_one(std::thread::current().id())
}

/// Has this thread's pauses end as soon as the system can.
fn be_exact() {
    // SAFETY: the call takes no pointer.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
}

impl Disk {
    fn new() -> Disk {
        be_exact();
        let path = std::env::var_os("SLOW_DISK").expect("SLOW_DISK names the recorded times");
        let text = std::fs::read_to_string(path).expect("the recorded times can be read");
        let times = text.lines().map(|line| Duration::from_nanos(line.parse().expect("nanoseconds")));
        let times: Vec<_> = times.collect();
        assert!(!times.is_empty(), "no time was recorded");
        let asked = Duration::from_micros(50);
        let mut late: Vec<_> = (0..99)
            .map(|_| {
                let begun = Instant::now();
                std::thread::sleep(asked);
                begun.elapsed().saturating_sub(asked)
            })
            .collect();
        late.sort_unstable();
        Disk { times, late: late[late.len() / 2] }
    }

    fn wait(&self) {
        let mut word = RANDOM.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        RANDOM.set(word);
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        let time = self.times[((word ^ word >> 31) % self.times.len() as u64) as usize];
        std::thread::sleep(time.saturating_sub(self.late));
    }
}

/// Instead of the system's. What is in memory is as durable as it will be.
#[unsafe(no_mangle)]
pub extern "C" fn fdatasync(_file: c_int) -> c_int {
    DISK.wait();
    0
}

/// The same.
#[unsafe(no_mangle)]
pub extern "C" fn fsync(_file: c_int) -> c_int {
    DISK.wait();
    0
}

/// The system's write at a place, and the wait for a disk where the file was opened for that.
///
/// # Safety
/// As of the system's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(
    file: c_int,
    bytes: *const c_void,
    len: size_t,
    offset: off64_t,
) -> ssize_t {
    // SAFETY: the caller's promise is passed on to the system, which is asked nothing else.
    let written = unsafe { libc::syscall(libc::SYS_pwrite64, file, bytes, len, offset) } as ssize_t;
    // SAFETY: the call takes no pointer.
    if written > 0 && unsafe { libc::fcntl(file, libc::F_GETFL) } & libc::O_DSYNC != 0 {
        DISK.wait();
    }
    written
}
