//! Sleeping and waking in the kernel, and the asymmetric fence that makes an unneeded wake free.
//!
//! Words may lie in memory shared between processes, so no call uses the private form. Nothing here knows what
//! the words mean; `wait.rs` does.
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, compiler_fence, fence};
use std::time::Duration;

/// Most words that one sleep can watch (`FUTEX_WAITV_MAX`).
pub(crate) const WORDS_MAX: usize = 128;
/// Where the kernel cannot watch all words at once, a sleep on one of them is cut to this.
const BLIND_MAX: Duration = Duration::from_millis(1);
/// `FUTEX2_SIZE_U32`, not private.
const SIZE_U32: u32 = 2;

/// `struct futex_waitv` of the kernel.
#[repr(C)]
#[derive(Clone, Copy)]
struct WaitEntry {
    value: u64,
    address: u64,
    flags: u32,
    reserved: u32,
}

/// Sleeps until a wake on one of the words, a word that no longer holds its expected value, or the end of `span`.
/// May return early for no reason: the caller checks its condition again.
pub(crate) fn wait_any_raw<'a>(words: impl Iterator<Item = (&'a AtomicU32, u32)> + Clone, span: Duration) {
    static LACKING: AtomicBool = AtomicBool::new(cfg!(miri));
    let mut first_two = words.clone();
    match (first_two.next(), first_two.next()) {
        (None, _) => std::thread::sleep(span.min(BLIND_MAX)),
        (Some((word, expected)), None) => wait_one(word, expected, span),
        (Some(first), Some(_)) => {
            if LACKING.load(Ordering::Relaxed) || !wait_many(words.clone(), span) {
                LACKING.store(true, Ordering::Relaxed);
                // No kernel compares all words here, so a change since the announcement shows now or 1 ms later.
                if words.into_iter().all(|(word, expected)| word.load(Ordering::Acquire) == expected) {
                    wait_one(first.0, first.1, span.min(BLIND_MAX));
                }
            }
        }
    }
}

fn wait_one(word: &AtomicU32, expected: u32, span: Duration) {
    let limit = timespec(span);
    // SAFETY: the word outlives the call (borrowed) and `limit` is live; the kernel only reads both. Every outcome
    // (woken, value differs, interrupted, timed out) means "check again".
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT,
            expected,
            &limit as *const libc::timespec,
        );
    }
}

/// False when the kernel has no such call.
fn wait_many<'a>(words: impl Iterator<Item = (&'a AtomicU32, u32)>, span: Duration) -> bool {
    let mut entries = [WaitEntry { value: 0, address: 0, flags: SIZE_U32, reserved: 0 }; WORDS_MAX];
    let mut count = 0u32;
    for (entry, (word, expected)) in entries.iter_mut().zip(words) {
        entry.value = u64::from(expected);
        entry.address = word.as_ptr() as u64;
        count += 1;
    }
    // This call takes a point in time of the monotonic clock, not a span.
    let deadline = timespec(monotonic_now().saturating_add(span));
    // SAFETY: the first `count` of `entries` are filled, their words are borrowed for the call, and the deadline is
    // live. The kernel reads all of it and writes nothing.
    let outcome = unsafe {
        libc::syscall(
            libc::SYS_futex_waitv,
            entries.as_ptr(),
            count,
            0u32,
            &deadline as *const libc::timespec,
            libc::CLOCK_MONOTONIC,
        )
    };
    outcome >= 0 || std::io::Error::last_os_error().raw_os_error() != Some(libc::ENOSYS)
}

/// Wakes every sleeper on the word, in any process.
pub(crate) fn wake_all_raw(word: &AtomicU32) {
    // SAFETY: the word is borrowed for the call; the kernel uses its address only.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX);
    }
}

fn timespec(span: Duration) -> libc::timespec {
    libc::timespec {
        tv_sec: libc::time_t::try_from(span.as_secs()).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::from(span.subsec_nanos() as i32),
    }
}

fn monotonic_now() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a live timespec for the kernel to fill; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The two halves of a store-then-load fence between a publisher (often) and a sleeper (rarely).
///
/// With `membarrier` the sleeper makes every running thread of the registered processes execute a full fence, so
/// the publisher's half costs nothing but the compiler's restraint. A process whose registration failed pays for
/// a real fence at each publication, and a sleeper that cannot use the call sleeps in short spans instead
/// ([`Barrier::heavy`] says so).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Barrier {
    asymmetric: bool,
}

/// Which of the two expedited forms this process registered for.
struct Registered {
    /// Threads of this process.
    private: bool,
    /// Threads of all processes that registered.
    global: bool,
}

fn registered() -> &'static Registered {
    static REGISTERED: OnceLock<Registered> = OnceLock::new();
    REGISTERED.get_or_init(|| {
        if cfg!(miri) {
            return Registered { private: false, global: false };
        }
        Registered {
            private: membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED),
            global: membarrier(libc::MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED),
        }
    })
}

fn membarrier(command: libc::c_int) -> bool {
    // SAFETY: the call takes no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

impl Barrier {
    /// The publisher's half for words that are (`shared`) or are not reachable from other processes.
    pub(crate) fn prepare(shared: bool) -> Barrier {
        let registered = registered();
        Barrier { asymmetric: if shared { registered.global } else { registered.private } }
    }

    /// The publisher's half, between its store and its load.
    #[inline(always)]
    pub(crate) fn light(self) {
        if self.asymmetric {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// The sleeper's half, between its store and its load. False when only this thread was fenced although
    /// publishers may rely on more: then no sleep may be long.
    pub(crate) fn heavy(shared: bool) -> bool {
        fence(Ordering::SeqCst);
        let registered = registered();
        if shared {
            registered.global && membarrier(libc::MEMBARRIER_CMD_GLOBAL_EXPEDITED)
        } else if registered.private {
            membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        } else {
            // Nobody in this process relies on more than the plain fence.
            true
        }
    }
}
