//! Writes batches and syncs them, one after the other: on the journaller's own thread, or on threads of its own while
//! the journaller encodes the next. A batch is written only after the one before it is durable.
//!
//! The first error is the last thing it does: the gate is halted, nothing is tried again.

use crate::encoder::Batch;
use crate::error::PersistError;
use crate::segment::SegmentHeader;
use crate::status::{JournalStatus, Position};
use crate::storage::{Access, Buffer, File, Storage};
use crate::turns;
use ringside_core::agent::abort_on_panic;
use ringside_core::gate::Gate;
use ringside_core::ring::Doorbell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
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
    pub(crate) is_failed: bool,
}

impl Flusher {
    /// Makes the batch durable and tells the gate. On an error the gate is halted, and nothing is written again.
    fn flush(&mut self, job: &Job) -> Result<(), PersistError> {
        if self.is_failed {
            return Err(PersistError::Stopped);
        }
        self.status.flush_begins();
        let result = self.try_flush(job);
        if result.is_err() {
            self.is_failed = true;
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

/// Threads that flush: while one writes, the other works out digests of the batches to come. Whoever has written a batch goes
/// on with the next one itself if that is ready: waking the other first would leave the disk without work for as long.
const THREADS: usize = 2;

/// Runs a [`Flusher`] on the caller's thread or on two of its own, one batch after the other in the order given.
pub(crate) struct Flushing {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    given: u64,
    returned: u64,
}

struct Shared {
    flusher: Mutex<Flusher>,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// Jobs finished.
    finished: AtomicU64,
    /// Rings when a job is finished.
    bell: Doorbell,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<(u64, Job)>,
    /// Jobs whose batches are finished, to be written in their turn.
    ready: Vec<(u64, Job)>,
    /// Number of the job whose turn to be written it is.
    turn: u64,
    /// Some thread is writing it.
    is_writing: bool,
    done: VecDeque<Done>,
    is_stopped: bool,
}

/// A finished flush: the buffer is free again.
pub(crate) type Done = (Buffer, Result<(), PersistError>);

impl Flushing {
    pub(crate) fn new(flusher: Flusher) -> Flushing {
        let shared = Arc::new(Shared {
            flusher: Mutex::new(flusher),
            queue: Mutex::new(Queue::default()),
            changed: Condvar::new(),
            finished: AtomicU64::new(0),
            bell: Doorbell::new(),
        });
        Flushing { shared, threads: Vec::new(), given: 0, returned: 0 }
    }

    /// Starts the threads. Without them every flush happens on the caller's.
    pub(crate) fn start(&mut self) -> std::io::Result<()> {
        for _ in 0..THREADS {
            let shared = self.shared.clone();
            let run = move || {
                abort_on_panic("journal-flush");
                turns::ask_for_short();
                shared.run();
            };
            self.threads.push(std::thread::Builder::new().name("journal-flush".to_string()).spawn(run)?);
        }
        Ok(())
    }

    pub(crate) fn bell(&self) -> Doorbell {
        self.shared.bell.clone()
    }

    pub(crate) fn has_threads(&self) -> bool {
        !self.threads.is_empty()
    }

    /// Jobs handed over that [`Flushing::poll`] has not given back.
    pub(crate) fn in_flight(&self) -> usize {
        (self.given - self.returned) as usize
    }

    /// The segment being written. Only while nothing is under way.
    pub(crate) fn current(&self) -> Current {
        debug_assert_eq!(self.in_flight(), 0);
        lock(&self.shared.flusher).current.clone()
    }

    /// Flushes on this thread. Only while nothing is under way.
    pub(crate) fn flush_here(&mut self, mut job: Job) -> Done {
        debug_assert_eq!(self.in_flight(), 0);
        job.batch.finish();
        let result = lock(&self.shared.flusher).flush(&job);
        (job.batch.buffer, result)
    }

    /// Hands the job to the threads.
    pub(crate) fn hand_over(&mut self, job: Job) {
        debug_assert!(self.has_threads());
        lock(&self.shared.queue).jobs.push_back((self.given, job));
        self.shared.changed.notify_all();
        self.given += 1;
    }

    /// What came of the oldest job handed over, once it is finished.
    #[inline]
    pub(crate) fn poll(&mut self) -> Option<Done> {
        // Acquire: partner of the Release in `finish`.
        if self.shared.finished.load(Ordering::Acquire) == self.returned {
            return None;
        }
        self.returned += 1;
        lock(&self.shared.queue).done.pop_front()
    }

    /// Waits for the oldest job under way; `None` when there is none.
    pub(crate) fn wait(&mut self) -> Option<Done> {
        if self.in_flight() == 0 {
            return None;
        }
        let mut queue = lock(&self.shared.queue);
        while queue.done.is_empty() {
            queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        self.returned += 1;
        queue.done.pop_front()
    }
}

impl Drop for Flushing {
    fn drop(&mut self) {
        lock(&self.shared.queue).is_stopped = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            // It has not panicked: that would have ended the process.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn run(&self) {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(job) = queue.next_to_write() {
                queue.is_writing = true;
                drop(queue);
                let result = lock(&self.flusher).flush(&job);
                queue = lock(&self.queue);
                queue.is_writing = false;
                queue.turn += 1;
                queue.done.push_back((job.batch.buffer, result));
                // Release: partner of the Acquire in `poll`.
                self.finished.store(queue.turn, Ordering::Release);
                self.changed.notify_all();
                self.bell.ring();
            } else if let Some((number, mut job)) = queue.jobs.pop_front() {
                drop(queue);
                job.batch.finish();
                queue = lock(&self.queue);
                // Whoever writes looks here next, and if nobody does this thread does: nobody needs to be woken.
                queue.ready.push((number, job));
            } else if queue.is_stopped {
                // What is ready has a writer at work before it, who goes on with it.
                return;
            } else {
                queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }
}

impl Queue {
    /// The job whose turn it is, unless it is not ready or another is being written.
    fn next_to_write(&mut self) -> Option<Job> {
        if self.is_writing {
            return None;
        }
        let place = self.ready.iter().position(|(number, _)| *number == self.turn)?;
        Some(self.ready.swap_remove(place).1)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
