//! The journaller: the agent that owns the journal's files and says what is written and what is durable.
//!
//! A batch is whatever came while the batch before it was being synced, at most [`PersistConfig::batch_len`]; there is
//! no timer, so one command alone waits for nothing and ten thousand share one sync. Small batches are written on
//! the agent's own thread, long ones by others while this one encodes the next; of full ones two may be on their way.
//!
//! In mode `written` every command is stored at once and the sync follows at [`PersistConfig::sync_interval`].
//!
//! Entries beside the commands are taken between them, into the same batches, and whoever handed them over hears when they are
//! stored ([`crate::write::side`]).
//!
//! After the first error it takes no more commands; [`JournalStatus::take_failure`] has the reason. It decides
//! nothing about the process: whoever started it ends it, with [`crate::error::EXIT_JOURNAL`].

use crate::config::PersistConfig;
use crate::error::PersistError;
use crate::mirror::source::Source;
use crate::quorum::link::Link;
use crate::storage::disk::Lock;
use crate::storage::{Buffer, Storage};
use crate::turns;
use crate::write::encoder::{Batch, Encoder};
use crate::write::flusher::{Current, Done, Job, WriteQueue};
use crate::write::segment_pool::{SegmentPool, Stock};
use crate::write::settled::Settled;
use crate::write::side::{self, Intake, SideWriter};
use crate::write::status::{JournalStatus, Position};
use ringside_core::agent::Agent;
use ringside_core::command::Command;
use ringside_core::gate::{Gate, GateMode};
use ringside_core::ring::{Consumer, Doorbell};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A journal ready to be appended to: what recovery hands to the journaller.
pub struct Journal {
    pub(crate) config: PersistConfig,
    pub(crate) storage: Arc<dyn Storage>,
    pub(crate) lock: Lock,
    pub(crate) encoder: Encoder,
    /// What the records of the next batch carry.
    pub(crate) chain: u64,
    pub(crate) current: Current,
    pub(crate) position: Position,
    pub(crate) stock: Stock,
}

impl Journal {
    /// The id drawn when the journal was founded.
    pub fn id(&self) -> [u8; 16] {
        self.current.header.journal_id
    }

    /// Where it ends.
    pub fn position(&self) -> Position {
        self.position
    }
}

/// Commands whose slots are given back together, and waited for while a batch is under way.
const STEP: usize = 1024;
/// Batches under way at most: two being written, one ready to be, one whose digest is being worked out.
const BATCHES: usize = 4;
/// Longest time that commands wait to be encoded while a batch is being flushed.
const GATHER: Duration = Duration::from_micros(100);
/// Longest wait for room when the journaller is closed on a full disk.
const CLOSE_WAIT: Duration = Duration::from_secs(2);

/// The agent; see the module's header.
pub struct Journaller {
    consumer: Consumer<Command>,
    encoder: Encoder,
    /// What the records of the batch under way carry, in mode `written`; whoever flushes knows it otherwise.
    chain: u64,
    flushing: WriteQueue,
    supply: SegmentPool,
    sides: Intake,
    side_writer: SideWriter,
    settled: Arc<dyn Settled>,
    status: Arc<JournalStatus>,
    config: PersistConfig,
    /// The segment that parts are stored into, in mode `written`.
    current: Current,
    /// The first batch of the next segment is on its way: until it is back, `current` is the segment before.
    is_beginning: bool,
    /// Buffers that neither the encoder nor a flush uses.
    free: Vec<Buffer>,
    /// The last batch had commands, and nothing after it attests it.
    is_unattested: bool,
    /// Since when there has been nothing to do.
    idle_since: Option<Instant>,
    /// When the batch under way got its first command, in mode `written`.
    batch_since: Option<Instant>,
    bells: Vec<Doorbell>,
    /// The thread that it runs on has not asked for short turns yet.
    is_to_ask: bool,
    _lock: Lock,
}

impl Journaller {
    /// Takes over the journal: from here on `consumer` brings its commands and `gate`, which must have passed what
    /// recovery found, is moved.
    ///
    /// Errors: the system gives no threads.
    pub fn new(
        journal: Journal,
        consumer: Consumer<Command>,
        gate: Arc<Gate>,
    ) -> Result<Journaller, PersistError> {
        Journaller::start(true, journal, consumer, gate)
    }

    /// The same, and each batch is given to `source`, for a mirror, which moves the gate in its place.
    ///
    /// Errors: as there.
    pub fn mirrored(
        journal: Journal,
        consumer: Consumer<Command>,
        source: Arc<Source>,
        is_threaded: bool,
    ) -> Result<Journaller, PersistError> {
        Journaller::start(is_threaded, journal, consumer, source)
    }

    /// The same for a leader of a cluster: `link` moves the gate, by what is agreed on. Without threads a batch is written in a step of
    /// its own, behind the one in which it is given to `link`.
    ///
    /// Errors: as there.
    pub fn led(
        journal: Journal,
        consumer: Consumer<Command>,
        gate: Arc<Gate>,
        link: Arc<Link>,
        is_threaded: bool,
    ) -> Result<Journaller, PersistError> {
        let mut journaller = Journaller::start(is_threaded, journal, consumer, link.clone())?;
        if !is_threaded {
            journaller.flushing.go_by_steps();
        }
        link.moves(gate, journaller.status());
        Ok(journaller)
    }

    /// The same without any thread of its own: everything happens in [`Agent::do_work`], which then blocks in syncs.
    /// For tests and simulations, where the same calls must do the same.
    ///
    /// Errors: none that are known.
    pub fn invoked(
        journal: Journal,
        consumer: Consumer<Command>,
        gate: Arc<Gate>,
    ) -> Result<Journaller, PersistError> {
        Journaller::start(false, journal, consumer, gate)
    }

    fn start(
        is_threaded: bool,
        journal: Journal,
        consumer: Consumer<Command>,
        settled: Arc<dyn Settled>,
    ) -> Result<Journaller, PersistError> {
        let Journal { config, storage, lock, encoder, chain, current, position, stock } = journal;
        let status = Arc::new(JournalStatus::new(current.header.segment_len, position, config.shed_after));
        if config.term.is_some() {
            status.hold();
        }
        let threads = PersistError::io("start", "a thread of the journal");
        let supply = SegmentPool::start(
            is_threaded,
            storage.clone(),
            config.segment_len,
            config.spares,
            stock,
            status.clone(),
            settled.clone(),
        );
        let supply = supply.map_err(threads)?;
        let mut flushing = WriteQueue::new(storage, current.clone(), chain, settled.clone(), status.clone());
        if is_threaded && (config.mode == GateMode::Written || config.inline_len < config.batch_len) {
            flushing.start().map_err(PersistError::io("start", "a thread of the journal"))?;
        }
        // The ring's is the first: see `doorbells`.
        let (side_writer, sides, side_bell) = side::channel(&config, status.clone(), settled.clone());
        let bells = vec![consumer.doorbell(), flushing.bell(), supply.bell(), side_bell];
        Ok(Journaller {
            free: (0..BATCHES).map(|_| Encoder::room(config.batch_len)).collect(),
            consumer,
            encoder,
            chain,
            flushing,
            supply,
            sides,
            side_writer,
            settled,
            status,
            config,
            current,
            is_beginning: false,
            // What opened the epoch.
            is_unattested: true,
            idle_since: None,
            batch_since: None,
            bells,
            is_to_ask: is_threaded,
            _lock: lock,
        })
    }

    /// Progress and health, for others to watch.
    pub fn status(&self) -> Arc<JournalStatus> {
        self.status.clone()
    }

    /// What hands entries beside the commands to it.
    pub fn side_writer(&self) -> SideWriter {
        self.side_writer.clone()
    }

    fn step(&mut self) -> Result<usize, PersistError> {
        let mut work = self.supply.work()?;
        if let Some(done) = self.flushing.poll() {
            self.finish(done)?;
            work += 1;
        }
        work += match self.config.mode {
            GateMode::Durable => self.step_durable()?,
            GateMode::Written => self.step_written()?,
        };
        if work > 0 {
            self.idle_since = None;
        } else if self.is_unattested && self.encoder.is_empty() && self.flushing.in_flight() == 0 {
            let since = *self.idle_since.get_or_insert_with(Instant::now);
            if since.elapsed() >= self.config.idle_seal {
                work += self.submit(false)?;
            }
        }
        Ok(work)
    }

    /// Everything is written and synced batch by batch.
    fn step_durable(&mut self) -> Result<usize, PersistError> {
        let mut work = self.sides.take(&mut self.encoder) + self.take();
        // With nothing under way whatever came is a batch. With one under way a full batch may queue behind it.
        let under_way = self.flushing.in_flight();
        if self.sides.wants_fill() {
            work += if under_way == 0 { self.submit(true)? } else { 0 };
        } else if !self.encoder.is_empty()
            && (under_way == 0 || under_way < BATCHES && !self.encoder.has_room())
        {
            work += self.submit(false)?;
        }
        Ok(work)
    }

    /// Everything is stored at once; batches are closed and synced now and then.
    fn step_written(&mut self) -> Result<usize, PersistError> {
        let mut work = 0;
        if self.is_beginning {
            return Ok(work);
        }
        loop {
            let taken = self.sides.take(&mut self.encoder) + self.take();
            work += taken;
            // The first batch of a segment goes out whole, after everything before it is durable.
            if self.encoder.begins_segment() {
                if !self.encoder.is_empty() && self.flushing.in_flight() == 0 {
                    work += self.submit(false)?;
                }
                return Ok(work);
            }
            if taken == 0 {
                break;
            }
            self.batch_since.get_or_insert_with(Instant::now);
            self.store_part()?;
        }
        let is_filling = self.sides.wants_fill();
        let is_due = is_filling
            || self.sides.is_awaited()
            || !self.encoder.has_room()
            || self.batch_since.is_some_and(|since| since.elapsed() >= self.config.sync_interval);
        if is_due && (is_filling || !self.encoder.is_empty()) && self.flushing.in_flight() == 0 {
            work += self.submit(is_filling)?;
        }
        Ok(work)
    }

    /// Encodes what is in the ring, as far as the buffer has room. Gives slots back in small steps, so that the
    /// matcher fills them meanwhile.
    fn take(&mut self) -> usize {
        let is_gathering = self.is_gathering();
        let step_len = STEP.min(self.consumer.capacity() / 2).max(1);
        let encoder = &mut self.encoder;
        let mut taken = 0;
        while encoder.has_room() {
            // What comes while a batch is under way is taken a whole step at a time: who reads close behind the matcher takes the
            // lines away that it is writing, and both wait for each other's.
            if is_gathering && self.consumer.peek(step_len - 1).is_none() {
                break;
            }
            let step = self.consumer.poll_unheard(step_len, |_, command| {
                encoder.push(command);
                if encoder.has_room() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
            taken += step;
            if step < step_len {
                break;
            }
        }
        if taken > 0 {
            self.consumer.tell_room();
        }
        taken
    }

    fn store_part(&mut self) -> Result<(), PersistError> {
        let Current { file, name, .. } = &self.current;
        match self.encoder.take_part(self.chain, |offset, bytes| file.write_at(offset, bytes)) {
            None => {}
            Some(Ok(())) => {
                self.flushing.check_name(&self.current)?;
                self.settled.stored(self.encoder.last().sequence);
            }
            Some(Err(error)) => {
                self.settled.failed();
                return Err(PersistError::io("write", name)(error));
            }
        }
        Ok(())
    }

    /// Closes the batch, with what is left of the segment if that is to be filled up, and has it flushed. 0 when there is no segment to
    /// write it to yet.
    fn submit(&mut self, is_filling: bool) -> Result<usize, PersistError> {
        let spare = if self.encoder.begins_segment() {
            let Some(spare) = self.supply.take() else { return Ok(0) };
            Some(spare)
        } else {
            None
        };
        let Some(next) = self.free.pop() else {
            unreachable!("there are more buffers than batches under way")
        };
        self.is_unattested = !self.encoder.is_empty();
        self.batch_since = None;
        self.encoder.tell(self.settled.engine_told());
        let mut batch = if is_filling { self.encoder.fill(next) } else { self.encoder.close(next) };
        self.sides.closed();
        let is_written = self.config.mode == GateMode::Written;
        if is_written {
            // The next is stored part by part, which carry the digest of this one.
            batch.finish(&mut self.chain);
        }
        let is_stored = is_written && batch.begins.is_none();
        if is_stored {
            self.store(&batch)?;
        }
        let is_long = is_stored
            || batch.begins.is_some()
            || batch.len > self.config.inline_len
            || self.flushing.in_flight() > 0;
        let job = Job { batch, spare, is_stored };
        if self.flushing.takes(is_long) {
            self.is_beginning = job.batch.begins.is_some();
            self.flushing.hand_over(job);
        } else {
            let done = self.flushing.flush_here(job);
            self.finish(done)?;
        }
        Ok(1)
    }

    fn store(&mut self, batch: &Batch) -> Result<(), PersistError> {
        let Current { file, name, .. } = &self.current;
        if let Err(error) = file.write_at(batch.offset, &batch.buffer[..batch.len]) {
            self.settled.failed();
            return Err(PersistError::io("write", name)(error));
        }
        self.flushing.check_name(&self.current)?;
        self.settled.stored(batch.end.last.sequence);
        Ok(())
    }

    fn finish(&mut self, (buffer, result): Done) -> Result<(), PersistError> {
        result?;
        self.sides.stored();
        self.free.push(buffer);
        self.is_beginning = false;
        if self.flushing.in_flight() == 0 {
            self.encoder.confirm();
        }
        if self.config.mode == GateMode::Written {
            self.current = self.flushing.current();
        }
        Ok(())
    }

    /// Whether commands may wait a moment before they are encoded: a flush is under way anyway.
    fn is_gathering(&self) -> bool {
        self.config.mode == GateMode::Durable && self.flushing.in_flight() > 0
    }

    fn fail(&mut self, error: PersistError) {
        self.status.fail(error);
        self.settled.failed();
        self.consumer.halt();
        self.sides.end();
    }

    /// Writes all that is in the ring, syncs it and attests it.
    fn drain(&mut self) -> Result<(), PersistError> {
        let mut deadline = None;
        self.flushing.hurry(Instant::now() + CLOSE_WAIT);
        loop {
            let work = self.step()?;
            if let Some(done) = self.flushing.wait() {
                self.finish(done)?;
                continue;
            }
            if self.config.mode == GateMode::Written && !self.encoder.is_empty() && self.submit(false)? > 0 {
                continue;
            }
            if self.encoder.is_empty() && !self.consumer.is_ready() && self.sides.is_idle() {
                if self.is_unattested {
                    self.submit(false)?;
                }
                if !self.is_unattested && self.flushing.in_flight() == 0 {
                    return Ok(());
                }
            }
            if work == 0 {
                // A new segment is needed and the disk may be full.
                let deadline = *deadline.get_or_insert_with(|| Instant::now() + CLOSE_WAIT);
                if Instant::now() > deadline {
                    return Ok(());
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Agent for Journaller {
    fn name(&self) -> &str {
        "journaller"
    }

    fn do_work(&mut self) -> usize {
        if std::mem::take(&mut self.is_to_ask) {
            turns::ask_for_short();
        }
        if self.status.is_failed() {
            // The supply may have failed, too: nobody must wait for a ring that is not read any more.
            self.consumer.halt();
            self.sides.end();
            return 0;
        }
        match self.step() {
            Ok(work) => work,
            Err(error) => {
                self.fail(error);
                0
            }
        }
    }

    fn doorbells(&self) -> &[Doorbell] {
        // While a batch is on its way to the disk nothing can be acknowledged sooner by encoding the next at once:
        // the matcher is spared a wake-up for every command, and what has gathered is taken at the next nap.
        if self.is_gathering() { &self.bells[1..] } else { &self.bells }
    }

    fn next_timer(&self) -> Duration {
        if self.status.is_failed() {
            Duration::from_millis(100)
        } else if self.is_gathering() {
            GATHER
        } else if let Some(since) = self.batch_since {
            // Until the batch is to be closed; behind one that is on its way to the disk for longer, a little at a time.
            match self.config.sync_interval.saturating_sub(since.elapsed()) {
                Duration::ZERO => self.config.sync_interval.min(self.config.idle_seal),
                left => left,
            }
        } else if self.is_unattested {
            self.config.idle_seal
        } else {
            Duration::from_millis(100)
        }
    }

    fn close(&mut self) {
        if self.status.is_failed() {
            return;
        }
        match self.drain() {
            // Of what there is no room for nobody was told.
            Err(error) if !error.is_full() => self.fail(error),
            _ => {}
        }
    }
}
