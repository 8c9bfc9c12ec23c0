//! The one file that switches atomics, cells and the futex between the machine and the model checker (`--cfg loom`).
//!
//! Everything else in `ring` is written once, against these names.
#![allow(unsafe_code)]

pub(crate) use imp::*;
pub(crate) use std::sync::atomic::Ordering;

/// The machine.
#[cfg(not(loom))]
mod imp {
    pub(crate) use crate::ring::futex::{Barrier, WORDS_MAX, wait_any_raw, wake_all_raw};
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64};
    pub(crate) use std::thread::yield_now;

    /// A word of a payload in memory that another process may write at the same moment.
    pub(crate) type Word = AtomicU64;

    /// Polls before the first yield.
    pub(crate) const SPINS: u32 = 128;
    /// Yields before the first sleep.
    pub(crate) const YIELDS: u32 = 16;

    /// A cell whose content is reached through raw pointers only; who may do so when is the protocol's business.
    #[repr(transparent)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        /// A cell that holds `value`.
        pub(crate) const fn new(value: T) -> Self {
            UnsafeCell(std::cell::UnsafeCell::new(value))
        }

        /// Calls `f` with a pointer to read through.
        #[inline(always)]
        pub(crate) fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
            f(self.0.get())
        }

        /// Calls `f` with a pointer to write through.
        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
            f(self.0.get())
        }
    }
}

/// The model: same names, explored in every order that the memory model permits.
#[cfg(loom)]
mod imp {
    pub(crate) use loom::cell::UnsafeCell;
    pub(crate) use loom::hint::spin_loop;
    use loom::sync::atomic::fence;
    pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64};
    pub(crate) use loom::thread::yield_now;
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    /// The model has no memory of other processes, so this one is never explored.
    pub(crate) type Word = std::sync::atomic::AtomicU64;

    /// A poll that changes nothing only makes the model larger: it sleeps at once.
    pub(crate) const SPINS: u32 = 0;
    /// As above.
    pub(crate) const YIELDS: u32 = 0;
    /// Most words that one sleep can watch.
    pub(crate) const WORDS_MAX: usize = 4;

    loom::lazy_static! {
        /// The kernel's hash bucket, one for all words: it wakes sleepers of other words too, which a futex may do at
        /// any time. The lock is never held over a step of the model.
        static ref BUCKET: std::sync::Mutex<Vec<loom::thread::Thread>> = std::sync::Mutex::default();
    }

    fn bucket() -> std::sync::MutexGuard<'static, Vec<loom::thread::Thread>> {
        BUCKET.lock().expect("nothing panics under this lock")
    }

    /// Sleeps while every word still holds its expected value; the model has no time, so the span never ends.
    pub(crate) fn wait_any_raw<'a>(
        mut words: impl Iterator<Item = (&'a AtomicU32, u32)> + Clone,
        _span: Duration,
    ) {
        bucket().push(loom::thread::current());
        // The kernel queues and compares in one step against every wake: a wake that found the bucket without this
        // thread has moved its word before, and the comparison sees that.
        fence(Ordering::SeqCst);
        if words.all(|(word, expected)| word.load(Ordering::Relaxed) == expected) {
            loom::thread::park();
        }
        let this = loom::thread::current().id();
        bucket().retain(|sleeper| sleeper.id() != this);
    }

    /// Wakes every sleeper.
    pub(crate) fn wake_all_raw(_word: &AtomicU32) {
        // Partner of the fence above.
        fence(Ordering::SeqCst);
        let sleepers = std::mem::take(&mut *bucket());
        sleepers.iter().for_each(|sleeper| sleeper.unpark());
    }

    /// The model has no asymmetric fence: both sides pay for a real one.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Barrier;

    impl Barrier {
        pub(crate) fn prepare(_shared: bool) -> Barrier {
            Barrier
        }
        pub(crate) fn light(self) {
            fence(Ordering::SeqCst);
        }
        pub(crate) fn heavy(_shared: bool) -> bool {
            fence(Ordering::SeqCst);
            true
        }
    }
}
