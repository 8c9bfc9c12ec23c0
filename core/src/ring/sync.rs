//! The one file that switches atomics, cells and the futex between the machine and the model checker (`--cfg loom`).
//!
//! Everything else in `ring` is written once, against these names.
#![allow(unsafe_code)]

pub(crate) use imp::*;
pub(crate) use std::sync::atomic::Ordering;

/// The machine.
#[cfg(not(loom))]
mod imp {
    pub(crate) use crate::ring::futex::{Barrier, wait_any_raw, wake_all_raw};
    pub(crate) use std::hint::spin_loop;
    pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64};
    pub(crate) use std::thread::yield_now;

    /// A word of a payload in memory that another process may write at the same moment.
    pub(crate) type Word = AtomicU64;

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

    loom::lazy_static! {
        /// The kernel's hash bucket: it compares and queues in one step against every wake. One bucket for all words
        /// wakes sleepers of other words too, which a futex may do at any time.
        static ref BUCKET: (loom::sync::Mutex<()>, loom::sync::Condvar) =
            (loom::sync::Mutex::new(()), loom::sync::Condvar::new());
    }

    /// Sleeps while every word still holds its expected value; the model has no time, so the span never ends.
    pub(crate) fn wait_any_raw<'a>(
        mut words: impl Iterator<Item = (&'a AtomicU32, u32)> + Clone,
        _span: Duration,
    ) {
        let guard = BUCKET.0.lock().expect("the model does not panic under this lock");
        if words.all(|(word, expected)| word.load(Ordering::SeqCst) == expected) {
            drop(BUCKET.1.wait(guard));
        }
    }

    /// Wakes every sleeper.
    pub(crate) fn wake_all_raw(_word: &AtomicU32) {
        drop(BUCKET.0.lock());
        BUCKET.1.notify_all();
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
