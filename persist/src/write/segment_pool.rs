//! Segments made ahead of need: a thread allocates them, writes them full of zeros and syncs them, so that the
//! journaller never waits for room and never stores into a hole.
//!
//! A disk without room is no failure: the thread goes on asking, and [`JournalStatus::pressure`] says so meanwhile.
//! Any other error is one, and stops the journal.

use crate::error::PersistError;
use crate::format::segment::{self, spare_name};
use crate::storage::Storage;
use crate::write::settled::Settled;
use crate::write::status::JournalStatus;
use ringside_core::agent::abort_on_panic;
use ringside_core::ring::Doorbell;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long to wait before asking a full disk again.
const RETRY: Duration = Duration::from_millis(50);

/// Where spares are made and taken.
pub(crate) struct SegmentPool {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    storage: Arc<dyn Storage>,
    segment_len: u64,
    wanted: usize,
    status: Arc<JournalStatus>,
    settled: Arc<dyn Settled>,
    /// Rings when a spare was made.
    bell: Doorbell,
    state: Mutex<Ready>,
    changed: Condvar,
}

struct Ready {
    names: VecDeque<String>,
    next_number: u64,
    /// Spares are made until there are as many as wanted.
    is_filling: bool,
    /// The last attempt found no room.
    is_refused: bool,
    is_stopped: bool,
}

impl Ready {
    /// Whether a spare is to be made. Zeros take the disk's time from the records, so once the stock was full it is filled
    /// again only when half of it is gone: of a stock larger than two, a peak gets half without paying for it.
    fn is_to_grow(&mut self, wanted: usize) -> bool {
        if self.names.len() >= wanted {
            self.is_filling = false;
        } else if self.names.len() <= wanted / 2 {
            self.is_filling = true;
        }
        self.is_filling
    }
}

/// What a supply starts with.
pub(crate) struct Stock {
    /// Spares on the disk, of the right length.
    pub(crate) names: Vec<String>,
    /// First number no spare has.
    pub(crate) next_number: u64,
}

impl SegmentPool {
    /// Without a thread (`is_threaded` false) [`SegmentPool::work`] does its work.
    pub(crate) fn start(
        is_threaded: bool,
        storage: Arc<dyn Storage>,
        segment_len: u64,
        wanted: usize,
        stock: Stock,
        status: Arc<JournalStatus>,
        settled: Arc<dyn Settled>,
    ) -> std::io::Result<SegmentPool> {
        status.spares_are(stock.names.len(), false);
        let ready = Ready {
            names: stock.names.into(),
            next_number: stock.next_number,
            is_filling: true,
            is_refused: false,
            is_stopped: false,
        };
        let shared = Arc::new(Shared {
            storage,
            segment_len,
            wanted,
            status,
            settled,
            bell: Doorbell::new(),
            state: Mutex::new(ready),
            changed: Condvar::new(),
        });
        if !is_threaded {
            return Ok(SegmentPool { shared, thread: None });
        }
        let theirs = shared.clone();
        let thread = std::thread::Builder::new().name("segments".to_string()).spawn(move || {
            abort_on_panic("segments");
            theirs.run();
        })?;
        Ok(SegmentPool { shared, thread: Some(thread) })
    }

    /// Name of a spare, which is then the caller's.
    pub(crate) fn take(&self) -> Option<String> {
        let mut ready = self.shared.lock();
        let name = ready.names.pop_front()?;
        self.shared.status.segment_begins();
        self.shared.status.spares_are(ready.names.len(), ready.is_refused);
        self.shared.changed.notify_all();
        Some(name)
    }

    /// Where there is no thread: makes one spare, if one is missing and the disk has room.
    pub(crate) fn work(&self) -> Result<usize, PersistError> {
        if self.thread.is_some() {
            return Ok(0);
        }
        let mut ready = self.shared.lock();
        if !ready.is_to_grow(self.shared.wanted) {
            return Ok(0);
        }
        let result = self.shared.make(ready.next_number);
        let is_made = self.shared.store(&mut ready, result)?;
        Ok(usize::from(is_made))
    }

    /// Rings when a spare was made.
    pub(crate) fn bell(&self) -> Doorbell {
        self.shared.bell.clone()
    }
}

impl Drop for SegmentPool {
    fn drop(&mut self) {
        self.shared.lock().is_stopped = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has not panicked: that would have ended the process.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Ready> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut ready = self.lock();
        while !ready.is_stopped {
            if !ready.is_to_grow(self.wanted) {
                ready = self.changed.wait(ready).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let number = ready.next_number;
            drop(ready);
            let result = self.make(number);
            ready = self.lock();
            match self.store(&mut ready, result) {
                Ok(true) => self.bell.ring(),
                Ok(false) => {
                    let wait = self.changed.wait_timeout(ready, RETRY);
                    ready = wait.unwrap_or_else(PoisonError::into_inner).0;
                }
                Err(error) => {
                    self.fail(error);
                    return;
                }
            }
        }
    }

    fn make(&self, number: u64) -> Result<String, PersistError> {
        let name = spare_name(number);
        segment::allocate(self.storage.as_ref(), &name, self.segment_len)?;
        Ok(name)
    }

    /// Takes in what came of [`Shared::make`]; false when there was no room.
    fn store(&self, ready: &mut Ready, result: Result<String, PersistError>) -> Result<bool, PersistError> {
        let is_made = match result {
            Ok(name) => {
                ready.next_number += 1;
                ready.names.push_back(name);
                true
            }
            // Descriptors come back as room does.
            Err(error) if error.is_full() || error.lacks_descriptors() => false,
            Err(error) => return Err(error),
        };
        ready.is_refused = !is_made;
        self.status.spares_are(ready.names.len(), ready.is_refused);
        Ok(is_made)
    }

    fn fail(&self, error: PersistError) {
        self.status.fail(error);
        self.settled.failed();
        self.bell.ring();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stock_is_filled_again_when_half_of_it_is_gone() {
        for (wanted, expected) in [(1, &[0][..]), (2, &[1, 0]), (3, &[1, 0]), (8, &[4, 3, 2, 1, 0])] {
            let mut ready = Ready {
                names: VecDeque::new(),
                next_number: 1,
                is_filling: true,
                is_refused: false,
                is_stopped: false,
            };
            // First it is filled whatever it holds,
            for made in 0..wanted {
                assert!(ready.is_to_grow(wanted), "{made} of {wanted}");
                ready.names.push_back(spare_name(made as u64));
            }
            assert!(!ready.is_to_grow(wanted));
            // then it is used for a while, and from there on filled until it is full.
            let mut grows = Vec::new();
            while ready.names.pop_front().is_some() {
                if ready.is_to_grow(wanted) {
                    grows.push(ready.names.len());
                }
            }
            assert_eq!(grows, expected, "{wanted}");
            for made in 0..wanted {
                assert!(ready.is_to_grow(wanted), "{made} of {wanted}");
                ready.names.push_back(spare_name(made as u64));
            }
            assert!(!ready.is_to_grow(wanted));
        }
    }
}
