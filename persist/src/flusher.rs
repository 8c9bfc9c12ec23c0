//! Writes batches and syncs them, one after the other: on the journaller's own thread, or on one of its own while
//! the journaller encodes the next.
//!
//! The first error is the last thing it does: the gate is halted, nothing is tried again.

use crate::encoder::Batch;
use crate::error::PersistError;
use crate::segment::SegmentHeader;
use crate::status::{JournalStatus, Position};
use crate::storage::{Access, Buffer, File, Storage};
use ringside_core::agent::abort_on_panic;
use ringside_core::gate::Gate;
use ringside_core::ring::Doorbell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// A batch and what its flush needs besides.
pub(crate) struct Job {
    pub(crate) batch: Batch,
    /// The allocated file that becomes the segment which the batch begins.
    pub(crate) spare: Option<String>,
    /// The bytes are in the file already; only the sync is left.
    pub(crate) is_stored: bool,
}

/// The segment being written.
#[derive(Clone)]
pub(crate) struct Current {
    pub(crate) file: Arc<dyn File>,
    pub(crate) name: String,
    pub(crate) header: SegmentHeader,
}

impl Current {
    pub(crate) fn open(storage: &dyn Storage, header: SegmentHeader) -> Result<Current, PersistError> {
        let name = header.name();
        let file = storage.open(&name, Access::Append).map_err(PersistError::io("open", &name))?;
        Ok(Current { file, name, header })
    }

    /// Makes `spare` the segment of `header`. Everything before it is durable. Its name appears only after its
    /// header is durable, and is durable when this returns.
    pub(crate) fn begin(
        storage: &dyn Storage,
        spare: &str,
        header: SegmentHeader,
    ) -> Result<Current, PersistError> {
        let file = storage.open(spare, Access::Append).map_err(PersistError::io("open", spare))?;
        file.write_at(0, &header.encode()).map_err(PersistError::io("write", spare))?;
        file.sync().map_err(PersistError::io("sync", spare))?;
        let name = header.name();
        storage.rename(spare, &name).map_err(PersistError::io("rename", spare))?;
        storage.sync_directory().map_err(PersistError::io("sync", "the directory"))?;
        Ok(Current { file, name, header })
    }
}

/// Does the writing and syncing, and tells the gate.
pub(crate) struct Flusher {
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) current: Current,
    pub(crate) gate: Arc<Gate>,
    pub(crate) status: Arc<JournalStatus>,
}

impl Flusher {
    /// Makes the batch durable and tells the gate. On an error the gate is halted.
    pub(crate) fn flush(&mut self, job: &Job) -> Result<(), PersistError> {
        self.status.flush_begins();
        let result = self.try_flush(job);
        if result.is_err() {
            self.gate.halt();
        }
        result
    }

    fn try_flush(&mut self, job: &Job) -> Result<(), PersistError> {
        let batch = &job.batch;
        if let Some(header) = batch.begins {
            let spare =
                job.spare.as_deref().unwrap_or_else(|| unreachable!("a spare comes with each new segment"));
            self.current = Current::begin(self.storage.as_ref(), spare, header)?;
        }
        let Current { file, name, header } = &self.current;
        if !job.is_stored {
            let bytes = &batch.buffer[..batch.len];
            file.write_at(batch.offset, bytes).map_err(PersistError::io("write", name))?;
            self.gate.publish_written(batch.last);
        }
        file.sync().map_err(PersistError::io("sync", name))?;
        let durable = Position { segment: header.number, offset: batch.offset + batch.len as u64 };
        self.status.flush_ends(durable, batch.len, header.segment_len);
        self.gate.publish_durable(batch.last);
        Ok(())
    }
}

/// Runs a [`Flusher`] here or on a thread of its own; at most one job is under way.
pub(crate) struct Flushing {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    is_busy: bool,
}

struct Shared {
    flusher: Mutex<Flusher>,
    handover: Mutex<Handover>,
    given: Condvar,
    taken: Condvar,
    is_done: AtomicBool,
    /// Rings when the thread has finished a job.
    bell: Doorbell,
}

#[derive(Default)]
struct Handover {
    job: Option<Job>,
    done: Option<(Buffer, Result<(), PersistError>)>,
    is_stopped: bool,
}

/// A finished flush: the buffer is free again.
pub(crate) type Done = (Buffer, Result<(), PersistError>);

impl Flushing {
    pub(crate) fn new(flusher: Flusher) -> Flushing {
        let shared = Arc::new(Shared {
            flusher: Mutex::new(flusher),
            handover: Mutex::new(Handover::default()),
            given: Condvar::new(),
            taken: Condvar::new(),
            is_done: AtomicBool::new(false),
            bell: Doorbell::new(),
        });
        Flushing { shared, thread: None, is_busy: false }
    }

    /// Starts the thread. Without it every flush happens on the caller's.
    pub(crate) fn start(&mut self) -> std::io::Result<()> {
        let shared = self.shared.clone();
        let run = move || {
            abort_on_panic("journal-flush");
            shared.run();
        };
        self.thread = Some(std::thread::Builder::new().name("journal-flush".to_string()).spawn(run)?);
        Ok(())
    }

    pub(crate) fn bell(&self) -> Doorbell {
        self.shared.bell.clone()
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// The segment being written. Only while nothing is under way.
    pub(crate) fn current(&self) -> Current {
        debug_assert!(!self.is_busy);
        lock(&self.shared.flusher).current.clone()
    }

    /// Flushes on this thread.
    pub(crate) fn flush_here(&mut self, job: Job) -> Done {
        debug_assert!(!self.is_busy);
        let result = lock(&self.shared.flusher).flush(&job);
        (job.batch.buffer, result)
    }

    /// Hands the job to the thread.
    pub(crate) fn hand_over(&mut self, job: Job) {
        debug_assert!(!self.is_busy && self.thread.is_some());
        lock(&self.shared.handover).job = Some(job);
        self.shared.given.notify_one();
        self.is_busy = true;
    }

    pub(crate) fn has_thread(&self) -> bool {
        self.thread.is_some()
    }

    /// What came of the job handed over, once it is finished.
    #[inline]
    pub(crate) fn poll(&mut self) -> Option<Done> {
        // Acquire: partner of the Release in `run`.
        if !self.is_busy || !self.shared.is_done.load(Ordering::Acquire) {
            return None;
        }
        self.is_busy = false;
        // Relaxed: the next job is handed over under the mutex.
        self.shared.is_done.store(false, Ordering::Relaxed);
        lock(&self.shared.handover).done.take()
    }

    /// Waits for the job under way.
    pub(crate) fn wait(&mut self) -> Option<Done> {
        if self.is_busy {
            let mut handover = lock(&self.shared.handover);
            while handover.done.is_none() {
                handover = self.shared.taken.wait(handover).unwrap_or_else(PoisonError::into_inner);
            }
        }
        // `is_done` is stored before the mutex is released.
        self.poll()
    }
}

impl Drop for Flushing {
    fn drop(&mut self) {
        lock(&self.shared.handover).is_stopped = true;
        self.shared.given.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has not panicked: that would have ended the process.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut handover = lock(&self.handover);
        loop {
            let Some(job) = handover.job.take() else {
                if handover.is_stopped {
                    return;
                }
                handover = self.given.wait(handover).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(handover);
            let result = lock(&self.flusher).flush(&job);
            handover = lock(&self.handover);
            handover.done = Some((job.batch.buffer, result));
            // Release: partner of the Acquire in `poll`.
            self.is_done.store(true, Ordering::Release);
            self.taken.notify_all();
            self.bell.ring();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
