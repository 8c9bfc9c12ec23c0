//! Writes batches and syncs them, in their order: on the journaller's own thread, or on threads of its own while the
//! journaller encodes the next.
//!
//! A batch is begun to be written when the one before the one before it is durable. So two may be on their way at once, and the
//! disk has work while the end of one of them is still being told; a batch vouches only for what is before the one before it
//! ([`crate::write::encoder`]). They are acknowledged in their order, whichever is done first. Two are never on their way where it takes
//! a sync to make them durable, since two syncs at once would share the report of an error; nor at the beginning of a segment.
//!
//! The first error is the last thing it does: it is told, nothing is tried again.

use crate::error::PersistError;
use crate::format::segment::SegmentHeader;
use crate::storage::{Access, Buffer, File, Storage};
use crate::turns;
use crate::write::encoder::Batch;
use crate::write::settled::{Placed, Settled};
use crate::write::status::{JournalStatus, Position};
use ringside_core::agent::abort_on_panic;
use ringside_core::ring::Doorbell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
    /// [`Storage::identity`] of the file.
    identity: u64,
}

impl Current {
    pub(crate) fn open(storage: &dyn Storage, header: SegmentHeader) -> Result<Current, PersistError> {
        let name = header.name();
        let file = storage.open(&name, Access::Append).map_err(PersistError::io("open", &name))?;
        let identity = storage.identity(&name).map_err(PersistError::io("find", &name))?;
        Ok(Current { file, name, header, identity })
    }

    /// Whether the file still bears its name, without which no start finds it. To be asked after something was written and before
    /// anybody is told of it.
    ///
    /// Errors: [`PersistError::Gone`], I/O.
    pub(crate) fn check_name(&self, storage: &dyn Storage) -> Result<(), PersistError> {
        match storage.identity(&self.name) {
            Ok(identity) if identity == self.identity => Ok(()),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(PersistError::io("find", &self.name)(error))
            }
            _ => Err(PersistError::Gone { file: self.name.clone() }),
        }
    }

    /// Makes `spare` the segment of `header`. Everything before it is durable. Its name appears only after its header is durable,
    /// and is durable when this returns. Where there is no room for the name it is asked for again while `waits` says so: until it
    /// is given nothing was done that counts.
    pub(crate) fn begin(
        storage: &dyn Storage,
        spare: &str,
        header: SegmentHeader,
        mut waits: impl FnMut() -> bool,
    ) -> Result<Current, PersistError> {
        let file = storage.open(spare, Access::Append).map_err(PersistError::io("open", spare))?;
        file.write_at(0, &header.encode()).map_err(PersistError::io("write", spare))?;
        file.sync().map_err(PersistError::io("sync", spare))?;
        let name = header.name();
        loop {
            match storage.rename(spare, &name).map_err(PersistError::io("rename", spare)) {
                Err(error) if error.is_full() && waits() => {}
                renamed => break renamed?,
            }
        }
        storage.sync_directory().map_err(PersistError::io("sync", "the directory"))?;
        let identity = storage.identity(&name).map_err(PersistError::io("find", &name))?;
        Ok(Current { file, name, header, identity })
    }
}

/// Threads that flush: two that write, and one that finishes the batches to come. Whoever has written a batch goes
/// on with the next one itself if that is ready: waking another first would leave the disk without work for as long.
const THREADS: usize = 3;

/// Batches on their way to the disk at most.
const DEPTH: u64 = 2;

/// How long to wait before a full disk is asked again for a name.
const RETRY: Duration = Duration::from_millis(50);

/// Flushes on the caller's thread or on some of its own, one batch after the other in the order given.
pub(crate) struct WriteQueue {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Without threads what is handed over is written when it is asked for.
    is_by_steps: bool,
    given: u64,
    returned: u64,
}

struct Shared {
    storage: Arc<dyn Storage>,
    settled: Arc<dyn Settled>,
    status: Arc<JournalStatus>,
    queue: Mutex<Queue>,
    /// There is something to do for one of the threads.
    given: Condvar,
    /// A job is settled.
    changed: Condvar,
    /// Jobs settled.
    finished: AtomicU64,
    /// Rings when a job is settled.
    bell: Doorbell,
}

struct Queue {
    /// Where what is settled last was written to.
    current: Current,
    /// What the next batch to be finished goes on from; `None` while the one before is being finished.
    end: Option<End>,
    jobs: VecDeque<(u64, Job)>,
    /// Jobs whose batches are finished, to be written in their turn.
    ready: Vec<(u64, Job)>,
    /// Number of the job whose turn to be begun it is.
    turn: u64,
    /// Jobs that have come to an end, until those before them have.
    ended: Vec<Ended>,
    /// Number of the job that is to be settled next: everything before it is durable, or has failed.
    settled: u64,
    /// The job under way begins a segment.
    is_beginning: bool,
    /// When the jobs under way were begun, oldest first.
    begun: VecDeque<u64>,
    done: VecDeque<Done>,
    /// Some write or sync has failed: nothing is begun any more.
    is_broken: bool,
    /// The failure was told in its turn: nothing is acknowledged any more.
    is_failed: bool,
    is_stopped: bool,
    has_threads: bool,
    /// Until when room is waited for; nothing: for as long as it takes.
    patience: Option<Instant>,
}

/// Where the batches that are finished end.
#[derive(Clone, Copy)]
struct End {
    /// What the records of the next one carry.
    chain: u64,
    /// Of the segment that the last one stands in.
    header: SegmentHeader,
}

/// What came of writing a job's batch: the segment that it stands in.
struct Ended {
    number: u64,
    job: Job,
    result: Result<Current, PersistError>,
}

/// A finished flush: the buffer is free again.
pub(crate) type Done = (Buffer, Result<(), PersistError>);

impl WriteQueue {
    /// Goes on in the segment `current`, with a batch whose records carry `chain`.
    pub(crate) fn new(
        storage: Arc<dyn Storage>,
        current: Current,
        chain: u64,
        settled: Arc<dyn Settled>,
        status: Arc<JournalStatus>,
    ) -> WriteQueue {
        let queue = Queue {
            end: Some(End { chain, header: current.header }),
            current,
            jobs: VecDeque::new(),
            ready: Vec::new(),
            turn: 0,
            ended: Vec::new(),
            settled: 0,
            is_beginning: false,
            begun: VecDeque::new(),
            done: VecDeque::new(),
            is_broken: false,
            is_failed: false,
            is_stopped: false,
            has_threads: false,
            patience: None,
        };
        let shared = Arc::new(Shared {
            storage,
            settled,
            status,
            queue: Mutex::new(queue),
            given: Condvar::new(),
            changed: Condvar::new(),
            finished: AtomicU64::new(0),
            bell: Doorbell::new(),
        });
        WriteQueue { shared, threads: Vec::new(), is_by_steps: false, given: 0, returned: 0 }
    }

    /// Starts the threads. Without them every flush happens on the caller's.
    pub(crate) fn start(&mut self) -> std::io::Result<()> {
        self.shared.lock().has_threads = true;
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

    /// Without threads, what is handed over is written when it is asked for: whoever drives this sees the time between.
    pub(crate) fn go_by_steps(&mut self) {
        self.is_by_steps = true;
    }

    pub(crate) fn bell(&self) -> Doorbell {
        self.shared.bell.clone()
    }

    /// Whether a job is to be handed over, rather than flushed where it is.
    pub(crate) fn takes(&self, is_long: bool) -> bool {
        self.is_by_steps || is_long && !self.threads.is_empty()
    }

    /// Jobs handed over that [`WriteQueue::poll`] has not given back.
    pub(crate) fn in_flight(&self) -> usize {
        (self.given - self.returned) as usize
    }

    /// The segment being written. Only while nothing is under way.
    pub(crate) fn current(&self) -> Current {
        debug_assert_eq!(self.in_flight(), 0);
        self.shared.lock().current.clone()
    }

    /// Flushes on this thread. Only while nothing is under way.
    pub(crate) fn flush_here(&mut self, mut job: Job) -> Done {
        debug_assert_eq!(self.in_flight(), 0);
        let shared = &self.shared;
        let mut queue = shared.lock();
        let Some(end) = &mut queue.end else { unreachable!("nothing is under way") };
        end.finish(&mut job.batch, shared.settled.as_ref());
        let current = queue.begin(&job, &shared.status);
        drop(queue);
        let result = shared.put(current, &job);
        queue = shared.lock();
        queue.is_broken |= result.is_err();
        shared.settle(&mut queue, job, result)
    }

    /// Hands the job to the threads.
    pub(crate) fn hand_over(&mut self, job: Job) {
        debug_assert!(self.takes(true));
        let mut queue = self.shared.lock();
        queue.jobs.push_back((self.given, job));
        self.given += 1;
        if self.is_by_steps {
            drop(self.shared.finish_next(queue));
        } else {
            self.shared.given.notify_one();
        }
    }

    /// What came of the oldest job handed over, once it is settled.
    #[inline]
    pub(crate) fn poll(&mut self) -> Option<Done> {
        if self.is_by_steps {
            drop(self.shared.write_next(self.shared.lock()));
        }
        // Acquire: partner of the Release in `run`.
        if self.shared.finished.load(Ordering::Acquire) == self.returned {
            return None;
        }
        self.returned += 1;
        self.shared.lock().done.pop_front()
    }

    /// Room is not waited for any longer than this.
    pub(crate) fn hurry(&self, until: Instant) {
        self.shared.lock().patience = Some(until);
    }

    /// Looks whether the segment that is stored into bears its name: before anybody is told of what was stored.
    pub(crate) fn check_name(&self, current: &Current) -> Result<(), PersistError> {
        current.check_name(self.shared.storage.as_ref()).inspect_err(|_| self.shared.settled.failed())
    }

    /// Waits for the oldest job under way; `None` when there is none.
    pub(crate) fn wait(&mut self) -> Option<Done> {
        if self.in_flight() == 0 {
            return None;
        }
        if self.is_by_steps {
            return self.poll();
        }
        let mut queue = self.shared.lock();
        while queue.done.is_empty() {
            queue = self.shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        self.returned += 1;
        queue.done.pop_front()
    }
}

impl Drop for WriteQueue {
    fn drop(&mut self) {
        self.shared.lock().is_stopped = true;
        self.shared.given.notify_all();
        for thread in self.threads.drain(..) {
            // It has not panicked: that would have ended the process.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut queue = self.lock();
        loop {
            let mut is_any;
            (queue, is_any) = self.write_next(queue);
            if !is_any {
                (queue, is_any) = self.finish_next(queue);
            }
            if !is_any && queue.is_stopped {
                // What is ready has a writer at work before it, who goes on with it.
                return;
            }
            if !is_any {
                queue = self.given.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    /// Writes the job whose turn it is; false: there is none.
    fn write_next<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> (MutexGuard<'a, Queue>, bool) {
        let Some((number, job)) = queue.next_to_write() else { return (queue, false) };
        let current = queue.begin(&job, &self.status);
        self.call_for_the_rest(&queue);
        drop(queue);
        let result = self.put(current, &job);
        queue = self.lock();
        queue.is_broken |= result.is_err();
        queue.ended.push(Ended { number, job, result });
        while let Some(Ended { job, result, .. }) = queue.next_to_settle() {
            let done = self.settle(&mut queue, job, result);
            queue.done.push_back(done);
            queue.settled += 1;
            // Release: partner of the Acquire in `poll`.
            self.finished.store(queue.settled, Ordering::Release);
        }
        self.changed.notify_all();
        self.bell.ring();
        (queue, true)
    }

    /// Finishes the next batch; false: there is none.
    fn finish_next<'a>(&'a self, mut queue: MutexGuard<'a, Queue>) -> (MutexGuard<'a, Queue>, bool) {
        let Some((mut end, (number, mut job))) = queue.next_to_finish() else { return (queue, false) };
        drop(queue);
        end.finish(&mut job.batch, self.settled.as_ref());
        queue = self.lock();
        queue.end = Some(end);
        // Whoever writes looks here next, and if nobody does this thread does: nobody needs to be woken.
        queue.ready.push((number, job));
        (queue, true)
    }

    /// Wakes another thread if this one leaves something undone: nobody else may come to look for it.
    fn call_for_the_rest(&self, queue: &Queue) {
        if queue.end.is_some() && !queue.jobs.is_empty() || queue.place_to_write().is_some() {
            self.given.notify_one();
        }
    }

    /// Makes the batch durable in the segment `current`, or in the one that it begins, which is given back. `None` for
    /// `current`: something has failed before.
    fn put(&self, current: Option<Current>, job: &Job) -> Result<Current, PersistError> {
        let batch = &job.batch;
        let mut current = current.ok_or(PersistError::Stopped)?;
        if let Some(header) = batch.begins {
            let spare =
                job.spare.as_deref().unwrap_or_else(|| unreachable!("a spare comes with each new segment"));
            let begun = Current::begin(self.storage.as_ref(), spare, header, || self.waits_for_room());
            self.status.name_is_refused(false);
            current = begun?;
        }
        let Current { file, name, .. } = &current;
        if !job.is_stored {
            let bytes = &batch.buffer[..batch.len];
            file.write_at(batch.offset, bytes).map_err(PersistError::io("write", name))?;
            if !file.is_write_durable() {
                current.check_name(self.storage.as_ref())?;
                self.settled.stored(batch.end.last.sequence);
            }
        }
        file.sync().map_err(PersistError::io("sync", name))?;
        current.check_name(self.storage.as_ref())?;
        if job.is_stored {
            // The next batch is stored as this one was, by a thread that should not wait: about as much, and a quarter more.
            file.expect(batch.offset + batch.len as u64, batch.whole_len + batch.whole_len / 4);
        }
        Ok(current)
    }

    /// Whether a segment's name is to be asked for again, after a pause. Not by the journaller itself, who has other work, and not
    /// for long once the exchange is to stop.
    fn waits_for_room(&self) -> bool {
        self.status.name_is_refused(true);
        let mut queue = self.lock();
        let until = queue.patience;
        if !queue.has_threads || until.is_some_and(|until| Instant::now() >= until) {
            return false;
        }
        let wait = self.changed.wait_timeout(queue, RETRY);
        queue = wait.unwrap_or_else(PoisonError::into_inner).0;
        !queue.is_stopped
    }

    /// Tells what came of a job, all before it being settled. After an error nothing is
    /// acknowledged any more.
    fn settle(&self, queue: &mut Queue, job: Job, result: Result<Current, PersistError>) -> Done {
        let Job { batch, is_stored, .. } = job;
        let begun = queue.begun.pop_front().unwrap_or_default();
        queue.is_beginning = false;
        let result = match result {
            Ok(_) if queue.is_failed => Err(PersistError::Stopped),
            Ok(current) => {
                let header = &current.header;
                let durable = Position { segment: header.number, offset: batch.offset + batch.len as u64 };
                let next = queue.begun.front().copied();
                self.status.flush_ends(durable, batch.whole_len, header.segment_len, begun, next);
                if !is_stored && current.file.is_write_durable() {
                    self.settled.stored(batch.end.last.sequence);
                }
                self.settled.synced(&placed(&batch, header));
                queue.current = current;
                Ok(())
            }
            Err(error) => {
                queue.is_failed = true;
                self.settled.failed();
                Err(error)
            }
        };
        (batch.buffer, result)
    }
}

/// What of a finished batch others are told.
fn placed<'a>(batch: &'a Batch, header: &'a SegmentHeader) -> Placed<'a> {
    let is_whole = batch.whole_len == batch.len as u64;
    Placed {
        header,
        start: batch.end.offset - batch.whole_len,
        bytes: is_whole.then_some(&batch.buffer[..batch.len]),
        end: batch.end,
        members: batch.members.as_ref(),
    }
}

impl End {
    fn finish(&mut self, batch: &mut Batch, settled: &dyn Settled) {
        batch.finish(&mut self.chain);
        self.header = batch.begins.unwrap_or(self.header);
        settled.begun(&placed(batch, &self.header));
    }
}

impl Queue {
    /// The next batch to be finished, and what it goes on from. One at a time: each carries the digest of the one before.
    fn next_to_finish(&mut self) -> Option<(End, (u64, Job))> {
        let end = self.end?;
        let job = self.jobs.pop_front()?;
        self.end = None;
        Some((end, job))
    }

    /// The job whose turn it is, unless it is not ready or must not be begun yet.
    fn next_to_write(&mut self) -> Option<(u64, Job)> {
        let place = self.place_to_write()?;
        self.turn += 1;
        Some(self.ready.swap_remove(place))
    }

    /// Where in `ready` it is.
    fn place_to_write(&self) -> Option<usize> {
        let place = self.ready.iter().position(|(number, _)| *number == self.turn)?;
        let under_way = self.turn - self.settled;
        let batch = &self.ready[place].1.batch;
        let is_free = under_way == 0
            || under_way < DEPTH
                && !self.is_beginning
                && batch.begins.is_none()
                && self.current.file.is_write_durable();
        is_free.then_some(place)
    }

    /// Notes that `job` is begun; gives the segment before it, unless something has failed.
    fn begin(&mut self, job: &Job, status: &JournalStatus) -> Option<Current> {
        self.is_beginning = job.batch.begins.is_some();
        self.begun.push_back(status.flush_begins());
        (!self.is_broken).then(|| self.current.clone())
    }

    fn next_to_settle(&mut self) -> Option<Ended> {
        let place = self.ended.iter().position(|ended| ended.number == self.settled)?;
        Some(self.ended.swap_remove(place))
    }
}
