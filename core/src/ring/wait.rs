//! How to wait: the strategies, the doorbell that a sleeper hangs up and a publisher rings, sleeping on several.
//!
//! A doorbell is one futex word: bit 0 says "somebody sleeps or is about to", the other bits count rings. A sleeper
//! sets the bit, fences, checks its condition once more, and sleeps only while the word has not moved. A publisher
//! changes the state, fences, and looks at the bit: clear (the usual case) costs one load; set, it moves the word
//! by one, which clears the bit and advances the count in one step, and wakes every sleeper. So each sleep costs
//! its publishers one system call at most. Why none is missed: `ring/mod.rs`, section "Sleeping".
#![allow(unsafe_code)]

use crate::ring::sync::{
    AtomicU32, Barrier, Ordering, SPINS, WORDS_MAX, YIELDS, spin_loop, wait_any_raw, wake_all_raw, yield_now,
};
use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

/// What a side does while it has nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wait {
    /// Polls. Needs a core of its own.
    Spin,
    /// Polls a little, then gives the core away between polls.
    Yield,
    /// Polls a little, yields a little, then sleeps until a doorbell rings.
    #[default]
    Park,
    /// Sleeps at once: for what nobody waits for, which should take no time from what somebody does.
    Sleep,
}

/// Longest sleep that trusts every doorbell; bounds what a peer that never rings can cost its own ring.
const SLEEP_MAX: Duration = Duration::from_millis(100);
/// Longest sleep where the kernel refused the fence.
const SLEEP_UNFENCED: Duration = Duration::from_millis(1);

/// Steps from polling through yielding to sleeping while nothing happens.
#[derive(Debug)]
pub struct Idle {
    wait: Wait,
    steps: u32,
}

impl Idle {
    /// Starts at polling.
    pub fn new(wait: Wait) -> Idle {
        Idle { wait, steps: 0 }
    }

    /// Something happened: polls again.
    #[inline]
    pub fn reset(&mut self) {
        self.steps = 0;
    }

    /// Passes a moment, or passes none when it is time to sleep, which is the caller's to do. Says which, as
    /// [`Idle::is_time_to_sleep`] does.
    #[inline]
    pub fn pause(&mut self) -> bool {
        if self.is_time_to_sleep() {
            return true;
        }
        if self.wait == Wait::Spin || self.steps < SPINS {
            spin_loop();
        } else {
            yield_now();
        }
        self.steps = self.steps.saturating_add(1);
        false
    }

    /// Whether polling and yielding have gone on for long enough.
    #[inline]
    pub fn is_time_to_sleep(&self) -> bool {
        match self.wait {
            Wait::Spin | Wait::Yield => false,
            Wait::Park => self.steps >= SPINS + YIELDS,
            Wait::Sleep => true,
        }
    }
}

/// The word, where it lies. Zero is a bell that nobody listens to.
#[repr(transparent)]
pub(crate) struct Bell(AtomicU32);

/// Bit 0 of the word.
const LISTENED: u32 = 1;

impl Bell {
    /// A bell that nobody listens to.
    pub(crate) fn new() -> Bell {
        Bell(AtomicU32::new(0))
    }

    /// Wakes the sleepers, if any. Call after the change that they wait for.
    #[inline(always)]
    pub(crate) fn ring(&self, barrier: Barrier) {
        // Partner: the heavy half in `wait_any`. Either this load sees the bit or the sleeper's check sees the change.
        barrier.light();
        let word = self.0.load(Ordering::Relaxed);
        if word & LISTENED != 0 {
            self.wake(word);
        }
    }

    #[cold]
    fn wake(&self, word: u32) {
        // Failure means that another ringer moved the word after our change and wakes, or that a rung sleeper has
        // listened anew, which fences and checks after our change. Release: partner of the Acquire in `listen`.
        if self.0.compare_exchange(word, word.wrapping_add(1), Ordering::Release, Ordering::Relaxed).is_ok() {
            wake_all_raw(&self.0);
        }
    }

    /// Sets the bit; gives the value that the word must keep for a sleep to begin.
    fn listen(&self) -> u32 {
        self.0.fetch_or(LISTENED, Ordering::Acquire) | LISTENED
    }
}

/// A handle on a bell, in a ring's mapping or on its own; clones share the bell. Keeps the memory alive.
#[derive(Clone)]
pub struct Doorbell {
    bell: NonNull<Bell>,
    shared: bool,
    barrier: Barrier,
    _memory: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the bell is an atomic word, kept alive by `_memory`, which is itself Send and Sync.
unsafe impl Send for Doorbell {}
// SAFETY: as above; every method works on the word atomically.
unsafe impl Sync for Doorbell {}

impl Default for Doorbell {
    fn default() -> Self {
        Doorbell::new()
    }
}

impl std::fmt::Debug for Doorbell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Doorbell").field("shared", &self.shared).finish_non_exhaustive()
    }
}

/// Lets a bell be its own memory.
struct OwnBell(Bell);

impl Doorbell {
    /// A bell of this process, in memory of its own.
    pub fn new() -> Doorbell {
        let memory = Arc::new(OwnBell(Bell::new()));
        let bell = NonNull::from(&memory.0);
        Doorbell { bell, shared: false, barrier: Barrier::prepare(false), _memory: memory }
    }

    /// A handle on `bell`, which must live as long as `memory`; `shared` when other processes may ring it.
    pub(super) fn inside(
        bell: NonNull<Bell>,
        shared: bool,
        barrier: Barrier,
        memory: Arc<dyn Any + Send + Sync>,
    ) -> Doorbell {
        Doorbell { bell, shared, barrier, _memory: memory }
    }

    fn bell(&self) -> &Bell {
        // SAFETY: `_memory` keeps the bell alive; `new` and `inside` take it from that memory.
        unsafe { self.bell.as_ref() }
    }

    /// Whether both are handles on one bell.
    pub fn is(&self, other: &Doorbell) -> bool {
        self.bell == other.bell
    }

    /// Wakes whoever sleeps on the bell; costs one load when nobody does. Call after the change they wait for.
    #[inline]
    pub fn ring(&self) {
        self.bell().ring(self.barrier);
    }
}

/// Sleeps until one of the bells rings, unless `ready` says, once the bells are being listened to, that there is
/// something to do. True when `ready` said so. Otherwise something may or may not have happened: the sleep also
/// ends at the timeout, after a bounded time, and for no reason.
pub fn wait_any<'a>(
    bells: impl Iterator<Item = &'a Doorbell>,
    timeout: Option<Duration>,
    ready: impl FnOnce() -> bool,
) -> bool {
    let mut words: [Option<(&AtomicU32, u32)>; WORDS_MAX] = [None; WORDS_MAX];
    let mut count = 0;
    let mut shared = false;
    let mut all_watched = true;
    for doorbell in bells {
        let Some(entry) = words.get_mut(count) else {
            all_watched = false;
            break;
        };
        *entry = Some((&doorbell.bell().0, doorbell.bell().listen()));
        shared |= doorbell.shared;
        count += 1;
    }
    // Partner: the light half in `Bell::ring`.
    let fenced = Barrier::heavy(shared);
    if ready() {
        return true;
    }
    let longest = if fenced && all_watched { SLEEP_MAX } else { SLEEP_UNFENCED };
    let span = timeout.map_or(longest, |timeout| timeout.min(longest));
    wait_any_raw(words[..count].iter().flatten().copied(), span);
    false
}
