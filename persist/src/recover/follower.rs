//! A second engine that replays the durable part of the journal in the background, writes snapshots, and thereby
//! proves all the time that the journal leads to the state that the live engine is in.
//!
//! What stands beside the commands it reads as well, and a snapshot carries all of it: with the segments it was written to it would
//! be gone.
//!
//! It reads the files, past the page cache where possible, up to the durable mark: what it has passed can be read
//! back, and every record's sums and every seal were checked once more. A state hash that the live engine recorded
//! and that differs here, a record that cannot be read, a command that stops this engine: each ends the follower and is
//! reported; a snapshot is never written after that. It holds nothing up.
//!
//! It is also where the books are audited in production: a judge of its own ([`Machine::watch`]) keeps them a second time
//! from the events of every command, and before every snapshot all invariants are checked over the whole state.
//!
//! Where commands come fast it stands back, up to [`PersistConfig::follower_lag`]: on few cores what it does would be taken
//! from those who wait for answers. It catches up when they come slower, and from that distance on it keeps pace.
//!
//! Somebody may look at the machine and the fold at a command of their choice ([`Examine`]): where the state of a moment is wanted
//! whole, nobody waits for it here.
//!
//! Seals say what the leader's engine told ([`ringside_core::sums`]): it compares. Where it has told something else itself, it ends, as
//! by every difference; or, where others can be asked who is right ([`Follower::doubts`]), stands still until that is known. A snapshot is
//! written once what it holds was compared: one of a state that is wrong would be believed at the next start.
//!
//! Once a second it looks whether every file is where it was. Where one is not, the journal has failed.
//!
//! Its fold may keep things elsewhere, the archive of history. It then starts from a snapshot at or before what is kept
//! there, and a snapshot is written only after everything through it was committed there. The snapshots that it passes on the way
//! from there are those of the state that it must be in.

use crate::archive::ArchiveError;
use crate::config::PersistConfig;
use crate::error::PersistError;
use crate::format::record::Class;
use crate::format::segment::{self, SegmentHeader};
use crate::read::replay::{Place, Reader, Step};
use crate::read::survey::{Survey, survey};
use crate::read::tail::walk;
use crate::recover::machine::{Fold, Machine, Watch};
use crate::recover::recovery::{self, Loaded};
use crate::recover::retention;
use crate::recover::snapshot_store::{self, Moment};
use crate::storage::{Access, Storage};
use crate::write::status::{JournalStatus, Position};
use ringside_core::agent::Agent;
use ringside_core::command::Command;
use ringside_core::ids::Sequence;
use ringside_core::ring::Doorbell;
use ringside_core::side::SideStore;
use ringside_core::sums::{EventSum, Opinion, Stretch, Sums};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Commands of one work step.
const STEP: usize = 4096;
/// Longest sleep between two work steps.
const NAP: Duration = Duration::from_millis(50);
/// How long to wait after a disk had no room for a snapshot.
const RETRY: Duration = Duration::from_secs(10);

/// How often it looks how fast commands come: longer than they wait for a sync in mode `written`.
const LOOK: Duration = Duration::from_millis(250);
/// How often it looks whether every file is where it was.
const FILES: Duration = Duration::from_secs(1);
/// Bytes of the journal in a second from which they come fast: some ten thousand commands.
const FAST: u64 = 2 << 20;

/// What others may know of the follower. Share it in an `Arc`.
#[derive(Debug, Default)]
pub struct FollowerStatus {
    sequence: AtomicU64,
    side_changes: AtomicU64,
    shown_epoch: AtomicU32,
    snapshot: AtomicU64,
    snapshots: AtomicU64,
    snapshot_ns: AtomicU64,
    snapshot_len: AtomicU64,
    is_failed: AtomicBool,
    is_left: AtomicBool,
    /// When the newest snapshot was written, or the follower began.
    taken_at: Mutex<Option<Instant>>,
    failure: Mutex<Option<PersistError>>,
    notice: Mutex<Option<String>>,
}

// Orderings: Relaxed, figures for people and tests; `is_failed` is Release/Acquire with the failure.
impl FollowerStatus {
    /// The last command replayed.
    pub fn sequence(&self) -> Sequence {
        self.sequence.load(Ordering::Relaxed)
    }

    /// Grows with every entry beside the commands that it has read.
    pub fn side_changes(&self) -> u64 {
        self.side_changes.load(Ordering::Relaxed)
    }

    /// Epoch of the last command that its fold has committed: all of earlier ones that there will ever be it has, too.
    pub fn shown_epoch(&self) -> u32 {
        // Acquire: who sees it sees what the fold did.
        self.shown_epoch.load(Ordering::Acquire)
    }

    /// Sequence of the newest snapshot, found or written; 0 for none.
    pub fn snapshot(&self) -> Sequence {
        self.snapshot.load(Ordering::Relaxed)
    }

    /// Snapshots written.
    pub fn snapshots(&self) -> u64 {
        self.snapshots.load(Ordering::Relaxed)
    }

    /// How long the last one took, and its bytes.
    pub fn snapshot_cost(&self) -> (Duration, u64) {
        let time = Duration::from_nanos(self.snapshot_ns.load(Ordering::Relaxed));
        (time, self.snapshot_len.load(Ordering::Relaxed))
    }

    /// How long ago the newest snapshot was written, or the follower began where it has written none. More than two intervals
    /// void the bound of recovery: alert.
    pub fn snapshot_age(&self) -> Duration {
        let taken_at = *self.taken_at.lock().unwrap_or_else(PoisonError::into_inner);
        taken_at.map_or(Duration::ZERO, |taken_at| taken_at.elapsed())
    }

    fn snapshot_taken(&self) {
        *self.taken_at.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether it has ended on an error. Alert: recovery time grows from now on, and a difference of state means
    /// that the live engine cannot be trusted.
    pub fn is_failed(&self) -> bool {
        self.is_failed.load(Ordering::Acquire)
    }

    /// Its end is not to be one in good order: somebody waits for it, and a snapshot of it has time.
    pub fn leave(&self) {
        self.is_left.store(true, Ordering::Relaxed);
    }

    /// It has ended on this error, or could not begin.
    pub fn fail(&self, error: PersistError) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.is_failed.store(true, Ordering::Release);
    }

    /// The error, once.
    pub fn take_failure(&self) -> Option<PersistError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Something an operator should know that is no failure (no room for a snapshot), once.
    pub fn take_notice(&self) -> Option<String> {
        self.notice.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Looks at the whole state where the follower has it.
pub trait Examine<M, F>: Send {
    /// Whether a look is wanted right after this command. What is durable and not replayed yet is asked about, too.
    fn stops_at(&self, command: &Command) -> bool;
    /// Whether one is wanted wherever the machine stands, once it has caught up.
    fn is_due(&self) -> bool;
    /// The look.
    fn look(&mut self, machine: &M, fold: &F);
}

/// A follower that somebody may take from its thread: where a machine has to go on, nobody waits for another one. Clones share it.
pub struct Lent<M: Machine, F: Fold> {
    follower: Arc<Mutex<Option<Follower<M, F>>>>,
    wanted: Arc<AtomicBool>,
    /// Rings where more may be read: somebody waits for what it shows.
    bell: [Doorbell; 1],
}

impl<M: Machine, F: Fold> Clone for Lent<M, F> {
    fn clone(&self) -> Self {
        Lent { follower: self.follower.clone(), wanted: self.wanted.clone(), bell: self.bell.clone() }
    }
}

impl<M: Machine, F: Fold> Lent<M, F> {
    /// Of this one.
    pub fn new(follower: Follower<M, F>) -> Lent<M, F> {
        let bell = [follower.journal.showing().clone()];
        let wanted = follower.wanted.clone();
        Lent { follower: Arc::new(Mutex::new(Some(follower))), wanted, bell }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Follower<M, F>>> {
        self.follower.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes it away, behind the work step that it is in: a snapshot under way is given up. Its thread has nothing more to do.
    pub fn take(&self) -> Option<Follower<M, F>> {
        self.wanted.store(true, Ordering::Relaxed);
        self.lock().take()
    }

    /// A copy of what stands beside the commands, unless it is in a work step.
    pub fn side(&self) -> Option<SideStore> {
        let follower = self.follower.try_lock().ok()?;
        follower.as_ref().map(|follower| follower.side.clone())
    }
}

impl<M: Machine, F: Fold + Send> Agent for Lent<M, F> {
    fn name(&self) -> &str {
        "follower"
    }

    fn do_work(&mut self) -> usize {
        self.lock().as_mut().map_or(0, Agent::do_work)
    }

    fn next_timer(&self) -> Duration {
        NAP
    }

    fn doorbells(&self) -> &[Doorbell] {
        &self.bell
    }

    fn close(&mut self) {
        self.lock().as_mut().into_iter().for_each(Agent::close);
    }
}

/// The agent; see the module's header.
pub struct Follower<M: Machine, F: Fold> {
    storage: Arc<dyn Storage>,
    config: PersistConfig,
    journal: Arc<JournalStatus>,
    status: Arc<FollowerStatus>,
    machine: M,
    /// What stands beside the commands, where the reader stands.
    side: SideStore,
    watch: Box<dyn Watch>,
    fold: F,
    examiner: Option<Box<dyn Examine<M, F>>>,
    /// Set by whoever waits to take it.
    wanted: Arc<AtomicBool>,
    /// The last command read is one after which it wants to look.
    is_asked: bool,
    skips: BTreeSet<Sequence>,
    /// Snapshots that it has yet to pass, the next one last.
    passing: Vec<Sequence>,
    reader: Reader,
    journal_id: [u8; 16],
    /// Of the record of the machine's last command.
    mark: u64,
    epoch: u32,
    taken: Sequence,
    taken_at: Instant,
    /// A snapshot to be written once the leader is known to have told the same.
    saved: Option<Saved>,
    retry_at: Option<Instant>,
    /// Segments and snapshots as they were when they were looked at last.
    files: BTreeSet<String>,
    files_at: Instant,
    /// No room for what the fold keeps: nothing is read until then.
    paused_until: Option<Instant>,
    pace: Pace,
    commands: Vec<Command>,
    sums: Arc<Sums>,
    /// What seals say was told through commands that are applied in this step.
    told: Vec<EventSum>,
    /// Others can be asked who is right.
    doubts: bool,
}

/// The state of a moment, to be written.
struct Saved {
    moment: Moment,
    engine: Vec<u8>,
    views: Vec<u8>,
    side: SideStore,
    begun: Instant,
}

/// What a follower has come to, at the end of the journal.
pub struct Followed<M, F> {
    /// The machine, with everything applied.
    pub machine: M,
    /// What stands beside the commands.
    pub side: SideStore,
    /// Its fold.
    pub fold: F,
    /// Commands passed over by decision of two operators.
    pub skips: Vec<Sequence>,
    /// Where the journal ends.
    pub(crate) end: (SegmentHeader, Place),
    /// What it told.
    pub(crate) sums: Arc<Sums>,
}

/// How fast commands come.
struct Pace {
    looked_at: Instant,
    /// Bytes of the journal then.
    bytes: u64,
    is_fast: bool,
}

impl Pace {
    /// `elapsed`: since the last look; `bytes`: of the journal now. Where it is too early for another look, says what it last
    /// found, unless so many have come already that it will find them fast.
    fn look(&mut self, elapsed: Duration, bytes: u64) -> bool {
        let grown = u128::from(bytes - self.bytes) * 1_000;
        let is_fast = grown >= u128::from(FAST) * elapsed.max(LOOK).as_millis();
        if elapsed >= LOOK {
            self.is_fast = is_fast;
            (self.looked_at, self.bytes) = (self.looked_at + elapsed, bytes);
        }
        self.is_fast || is_fast
    }
}

impl<M: Machine, F: Fold> Follower<M, F> {
    /// Starts from the newest sound snapshot of the journal that `journal` reports on, whose files lie in `storage`.
    /// `fold` is as new. `skips` are the decisions that recovery obeyed ([`recovery::Report::skipped`]); where it starts further
    /// back, it looks for others itself, so nothing may be written to the journal meanwhile.
    ///
    /// Errors: I/O, as recovery; what the fold keeps ends before anything that can be replayed, by this version of the engine.
    pub fn new(
        storage: Arc<dyn Storage>,
        config: &PersistConfig,
        machine: &M::Config,
        mut fold: F,
        journal: Arc<JournalStatus>,
        skips: &[Sequence],
    ) -> Result<Follower<M, F>, PersistError> {
        let survey = survey(storage.as_ref())?;
        let Some(first) = survey.segments.first().map(|segment| segment.header) else {
            return Err(PersistError::Missing { reason: "there is no journal to follow".to_string() });
        };
        let kept = fold.kept();
        let is_usable = |name: &&String| snapshot_store::sequence_of(name).is_some_and(|at| at <= kept);
        let newest = survey.snapshots.iter().rev().filter(is_usable).find_map(|name| {
            recovery::load::<M>(storage.as_ref(), name, first.journal_id, machine, &mut fold).ok()
        });
        let taken = newest.as_ref().map_or(0, |loaded| loaded.moment.sequence);
        let (machine, side) = match newest {
            Some(Loaded { engine, side, .. }) => (engine, side),
            None => {
                // One that could not be loaded may have changed it.
                fold.reset();
                (M::genesis(machine), SideStore::default())
            }
        };
        let at = survey.segments.partition_point(|segment| segment.header.first_seq <= taken.max(1));
        if at == 0 && taken == 0 && kept < Sequence::MAX {
            let snapshots = survey.snapshots.iter().filter_map(|name| snapshot_store::sequence_of(name));
            let to = snapshots.min().unwrap_or(first.first_seq - 1);
            return Err(PersistError::Archive(ArchiveError::Behind { mark: kept, to }));
        }
        if at == 0 {
            return Err(PersistError::Missing {
                reason: format!("the journal starts at {}, after sequence {taken}", first.name()),
            });
        }
        same_version(&survey, taken, kept, M::version())?;
        let snapshots = survey.snapshots.iter().rev().filter_map(|name| snapshot_store::sequence_of(name));
        let passing: Vec<Sequence> = snapshots.take_while(|snapshot| *snapshot > taken).collect();
        let mut skips: BTreeSet<Sequence> = skips.iter().copied().collect();
        if !passing.is_empty() {
            let walked = walk(storage.as_ref(), &survey, at - 1, None, |_, _| Ok(()))?;
            skips.extend(walked.skips.iter().map(|skip| skip.decision.skipped));
        }
        let header = survey.header(at - 1);
        let file = open(storage.as_ref(), &header.name())?;
        let status = Arc::new(FollowerStatus::default());
        status.sequence.store(taken, Ordering::Relaxed);
        status.snapshot.store(taken, Ordering::Relaxed);
        status.snapshot_taken();
        Ok(Follower {
            reader: Reader::new(file, *header, segment::DATA_START),
            storage,
            config: config.clone(),
            journal,
            status,
            watch: machine.watch(),
            machine,
            side,
            fold,
            examiner: None,
            wanted: Arc::default(),
            is_asked: false,
            skips,
            passing,
            journal_id: first.journal_id,
            mark: 0,
            epoch: 0,
            taken,
            taken_at: Instant::now(),
            saved: None,
            retry_at: None,
            files: BTreeSet::new(),
            files_at: Instant::now(),
            paused_until: None,
            pace: Pace { looked_at: Instant::now(), bytes: 0, is_fast: false },
            commands: Vec::with_capacity(STEP),
            sums: Arc::new(Sums::since(taken + 1)),
            told: Vec::new(),
            doubts: false,
        })
    }

    /// Lets somebody look.
    pub fn examined_by(&mut self, examiner: Box<dyn Examine<M, F>>) {
        self.examiner = Some(examiner);
    }

    /// Where it differs from the leader, others are asked: it doubts ([`ringside_core::sums::Counting::doubt`]) and stands still until
    /// that is settled.
    pub fn doubts(&mut self) {
        self.doubts = true;
    }

    /// What its machine told.
    pub fn sums(&self) -> Arc<Sums> {
        self.sums.clone()
    }

    /// Progress and health, for others to watch.
    pub fn status(&self) -> Arc<FollowerStatus> {
        self.status.clone()
    }

    /// The machine, to look at.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// Tells its progress and health in `status` from now on: where others have to watch it before it is there.
    pub fn reports_to(&mut self, status: Arc<FollowerStatus>) {
        let own = std::mem::replace(&mut self.status, status);
        self.status.sequence.store(own.sequence(), Ordering::Relaxed);
        self.status.snapshot.store(own.snapshot(), Ordering::Relaxed);
        self.status.snapshot_taken();
    }

    /// Replays what is left of the journal, which ends at `end` and grows no more, and gives up everything for the machine to go on
    /// from there ([`recovery::take_over`]). No snapshot is made on the way: somebody waits.
    ///
    /// Errors: as in its life; the journal ends elsewhere; it is not known whether its machine is right.
    pub fn into_followed(mut self, end: Position) -> Result<Followed<M, F>, PersistError> {
        // What the fold keeps elsewhere may have had no room; the next one gives it that again.
        while self.replay()? > 0 {}
        let doubt = self.sums.lock().doubt();
        if let Some(opinion) = doubt {
            return Err(Self::diverged(opinion));
        }
        let (header, place) = (*self.reader.header(), self.reader.place());
        let found = Position { segment: header.number, offset: place.offset };
        if found != end {
            let reason = format!("what is to be taken over ends at {end:?}, and was followed to {found:?}");
            return Err(PersistError::Missing { reason });
        }
        Ok(Followed {
            machine: self.machine,
            side: self.side,
            fold: self.fold,
            skips: self.skips.into_iter().collect(),
            end: (header, place),
            sums: self.sums,
        })
    }

    /// Replays through `through`, which must be durable, and has the fold keep all of it, before the follower runs as an
    /// agent: for a fold that had less than the snapshot that recovery started from.
    ///
    /// Errors: as in its life; no room is one of them here.
    pub fn catch_up(&mut self, through: Sequence) -> Result<(), PersistError> {
        while self.machine.sequence() < through && self.replay()? > 0 {
            self.fold.commit(self.machine.sequence(), false)?;
        }
        if self.machine.sequence() < through {
            let reason =
                format!("the journal ends at {}, before sequence {through}", self.machine.sequence());
            return Err(PersistError::Missing { reason });
        }
        Ok(self.fold.commit(self.machine.sequence(), true)?)
    }

    /// Whether every segment and snapshot is where it was: without them the next start would not find what was acknowledged.
    ///
    /// Errors: [`PersistError::Gone`], I/O.
    fn check_files(&mut self) -> Result<(), PersistError> {
        if self.files_at.elapsed() < FILES {
            return Ok(());
        }
        let names = self.storage.list().map_err(PersistError::io("list", "the directory"))?;
        // What is not agreed on may be cut.
        let until = if self.journal.is_held() { self.machine.sequence() } else { Sequence::MAX };
        let is_kept = |name: &String| {
            segment::first_seq_of(name).is_some_and(|first| first <= until)
                || snapshot_store::sequence_of(name).is_some()
        };
        let names: BTreeSet<String> = names.into_iter().filter(is_kept).collect();
        let before = std::mem::replace(&mut self.files, names);
        self.files_at = Instant::now();
        match before.into_iter().find(|name| !self.files.contains(name)) {
            Some(file) => Err(PersistError::Gone { file }),
            None => Ok(()),
        }
    }

    /// Whether it leaves its work for later.
    fn stands_back(&mut self) -> bool {
        self.config.follower_lag > 0
            && self.pace.look(self.pace.looked_at.elapsed(), self.journal.bytes())
            && self.behind() < self.config.follower_lag
    }

    /// Bytes of the journal that are durable and not replayed.
    fn behind(&self) -> u64 {
        let Position { segment, offset } = self.journal.shown();
        let (header, place) = (self.reader.header(), self.reader.place());
        (segment.saturating_sub(header.number) * header.segment_len + offset).saturating_sub(place.offset)
    }

    fn step(&mut self) -> Result<usize, PersistError> {
        if self.is_in_doubt() {
            return Ok(0);
        }
        if self.paused_until.is_some_and(|until| Instant::now() < until) {
            return Ok(0);
        }
        // What could not be stored before goes first.
        let is_paused = self.paused_until.take().is_some();
        let count = if is_paused { 0 } else { self.replay()? };
        if self.is_in_doubt() || !self.commit(false)? {
            return Ok(0);
        }
        self.status.shown_epoch.store(self.epoch, Ordering::Release);
        if self.is_due() && !self.is_wanted() {
            self.save()?;
        }
        if let Some(saved) = self.saved.take_if(|saved| self.sums.lock().is_confirmed(saved.moment.sequence))
        {
            self.snapshot(&saved)?;
        }
        Ok(count)
    }

    fn replay(&mut self) -> Result<usize, PersistError> {
        let count = self.read()?;
        if count > 0 {
            let (machine, count) = (&mut self.machine, self.commands.len());
            let mut sums = self.sums.lock();
            let mut watch = (self.watch.as_mut(), &mut *sums);
            recovery::apply(&self.commands, count, &self.skips, machine, &mut self.fold, &mut watch)?;
            drop(sums);
            self.status.sequence.store(self.machine.sequence(), Ordering::Relaxed);
            self.compare_with_leader()?;
            self.compare()?;
        }
        self.examine(count < STEP && self.passing.is_empty());
        Ok(count)
    }

    fn examine(&mut self, has_caught_up: bool) {
        let is_asked = std::mem::take(&mut self.is_asked);
        if let Some(examiner) = &mut self.examiner
            && (is_asked || (has_caught_up && examiner.is_due()))
        {
            examiner.look(&self.machine, &self.fold);
        }
    }

    /// What was told through the commands that are applied must be what this machine told.
    fn compare_with_leader(&mut self) -> Result<(), PersistError> {
        let mut sums = self.sums.lock();
        for told in self.told.drain(..) {
            let Some(opinion) = sums.compare(told) else { continue };
            if self.doubts {
                sums.set_doubt(opinion);
                break;
            }
            return Err(Self::diverged(opinion));
        }
        Ok(())
    }

    fn is_in_doubt(&self) -> bool {
        self.doubts && self.sums.lock().doubt().is_some()
    }

    fn diverged(Opinion { told: Stretch { after, through, sum }, own }: Opinion) -> PersistError {
        let detail =
            format!("the leader's events after {after} come to {sum:016x}, those replayed to {own:016x}");
        PersistError::Diverged { checkpoint: through, detail }
    }

    /// Where a snapshot was found of where it stands now, it must be one of its own state. A snapshot that cannot be read, or was not
    /// made by this version, says nothing.
    fn compare(&mut self) -> Result<(), PersistError> {
        let sequence = self.machine.sequence();
        if self.passing.pop_if(|next| *next == sequence).is_none() {
            return Ok(());
        }
        let name = snapshot_store::name_of(sequence);
        let Ok(snapshot) = snapshot_store::read(self.storage.as_ref(), &name) else { return Ok(()) };
        let Moment { journal_id, engine_version, state_hash, .. } = snapshot.moment;
        let own = self.machine.state_hash();
        if journal_id != self.journal_id || engine_version != M::version() || state_hash == own {
            return Ok(());
        }
        let [found, own] = [state_hash, own].map(u128::from_be_bytes);
        let detail = format!("{name} says {found:032x}, replayed {own:032x}");
        Err(PersistError::Diverged { checkpoint: sequence, detail })
    }

    /// Lets the fold store what it keeps; whether there was room.
    fn commit(&mut self, is_due: bool) -> Result<bool, PersistError> {
        match self.fold.commit(self.machine.sequence(), is_due) {
            Ok(()) => Ok(true),
            Err(error) if error.is_full() => {
                self.paused_until = Some(Instant::now() + RETRY);
                self.notice(error.to_string());
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn notice(&self, notice: String) {
        *self.status.notice.lock().unwrap_or_else(PoisonError::into_inner) = Some(notice);
    }

    /// Reads the next commands that may be shown, as many as a step takes, or through the next snapshot that was found; gives the number of
    /// records.
    fn read(&mut self) -> Result<usize, PersistError> {
        self.commands.clear();
        let mut count = 0;
        let Position { segment, offset } = self.journal.shown();
        let (number, place) = (self.reader.header().number, self.reader.place());
        if (segment, offset) <= (number, place.offset) {
            return Ok(0);
        }
        let is_sealed = number < segment;
        self.reader.extend(if is_sealed { self.reader.header().segment_len } else { offset });
        let (after, version) = (self.machine.sequence(), self.reader.header().engine_version);
        while count < STEP {
            let command = match self.reader.step()? {
                Step::Record(record) if record.class() == Class::Command => {
                    let (found, own) = (version, M::version());
                    if found != own && record.header.seq > after {
                        return Err(PersistError::EngineVersion { sequence: record.header.seq, found, own });
                    }
                    (self.epoch, self.mark) = (record.header.epoch, record.mark());
                    Some(record.command())
                }
                Step::Record(record) => {
                    match record.class() {
                        Class::Side => {
                            self.side.apply(record.side());
                            self.status.side_changes.fetch_add(1, Ordering::Relaxed);
                        }
                        // What a leader of before told says nothing of this machine: that one may have ended because it was wrong.
                        Class::Seal if u64::from(record.header.epoch) >= self.journal.term() => {
                            self.told.push(record.seal().told());
                        }
                        _ => {}
                    }
                    None
                }
                Step::End if is_sealed => {
                    let name = segment::name_of(self.reader.place().last.sequence + 1);
                    let file = open(self.storage.as_ref(), &name)?;
                    let header = segment::read_header(file.as_ref(), &name)?.header;
                    self.reader = Reader::new(file, header, segment::DATA_START);
                    return Ok(count + 1);
                }
                Step::End => break,
                Step::Bad(bad) => {
                    return Err(PersistError::Rot {
                        segment: self.reader.header().name(),
                        offset: bad.offset,
                        sequence: bad.sequence,
                        flaw: bad.flaw,
                        durable_mark: "the durable mark".to_string(),
                    });
                }
            };
            count += 1;
            let Some(command) = command else { continue };
            if command.sequence > after {
                self.commands.push(command);
            }
            self.is_asked = command.sequence > after
                && self.examiner.as_ref().is_some_and(|examiner| examiner.stops_at(&command));
            if self.is_asked || self.passing.last() == Some(&command.sequence) {
                break;
            }
        }
        Ok(count)
    }

    fn is_due(&self) -> bool {
        if self.saved.is_some() {
            return false;
        }
        let fresh = self.machine.sequence() - self.taken;
        let is_old = fresh > 0 && self.taken_at.elapsed() >= self.config.snapshot_interval;
        (fresh >= self.config.snapshot_commands || is_old)
            && self.retry_at.is_none_or(|retry_at| Instant::now() >= retry_at)
    }

    /// Keeps the state of where it stands, for a snapshot.
    fn save(&mut self) -> Result<(), PersistError> {
        let begun = Instant::now();
        let sequence = self.machine.sequence();
        self.machine.check_invariants().map_err(|reason| PersistError::Invariant { sequence, reason })?;
        // A snapshot that were ahead of what is kept elsewhere would leave a hole there.
        if !self.commit(true)? {
            return Ok(());
        }
        let (mut engine, mut views) = (Vec::new(), Vec::new());
        self.machine.save(&mut engine);
        self.fold.save(&mut views);
        let moment = Moment {
            journal_id: self.journal_id,
            sequence: self.machine.sequence(),
            mark: self.mark,
            time_ns: self.machine.time_ns(),
            epoch: self.epoch,
            engine_version: M::version(),
            state_hash: self.machine.state_hash(),
        };
        self.saved = Some(Saved { moment, engine, views, side: self.side.clone(), begun });
        Ok(())
    }

    /// Writes it, and forgets what is no longer needed.
    fn snapshot(&mut self, saved: &Saved) -> Result<(), PersistError> {
        let Saved { moment, engine, views, side, begun } = saved;
        let is_wanted = || self.is_wanted();
        match snapshot_store::write_unless(self.storage.as_ref(), moment, engine, views, side, &is_wanted) {
            Ok(None) => Ok(()),
            Ok(Some((_, len))) => {
                (self.taken, self.taken_at, self.retry_at) = (moment.sequence, Instant::now(), None);
                self.status.snapshot.store(moment.sequence, Ordering::Relaxed);
                self.status.snapshots.fetch_add(1, Ordering::Relaxed);
                self.status.snapshot_taken();
                self.status.snapshot_ns.store(begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
                self.status.snapshot_len.store(len, Ordering::Relaxed);
                let removed = retention::apply(self.storage.as_ref(), self.config.snapshots_kept)?;
                removed.snapshots.iter().chain(&removed.segments).for_each(|name| {
                    self.files.remove(name);
                });
                Ok(())
            }
            Err(error) if error.is_full() => {
                self.retry_at = Some(Instant::now() + RETRY);
                self.notice(format!("no room for the snapshot at {}: {error}", moment.sequence));
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Whether somebody waits to take it: what can be done later is.
    fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed) || self.status.is_left.load(Ordering::Relaxed)
    }

    /// Catches up with the durable mark and takes a snapshot there, for a graceful end: the journaller is closed.
    fn finish(&mut self) -> Result<(), PersistError> {
        // There is no later to leave anything for.
        self.paused_until = None;
        while self.step()? > 0 {}
        if self.is_in_doubt() {
            return Ok(());
        }
        if self.machine.sequence() == self.taken {
            self.commit(true)?;
            return Ok(());
        }
        // What was told of the last commands no seal says any more.
        self.saved = None;
        self.save()?;
        match self.saved.take() {
            Some(saved) => self.snapshot(&saved),
            None => Ok(()),
        }
    }

    /// Where files are gone the journal has failed: what it goes on to acknowledge would be gone, too.
    fn fail(&self, error: PersistError) {
        if error.is_gone() {
            self.journal.fail(error);
            self.status.is_failed.store(true, Ordering::Release);
        } else {
            self.status.fail(error);
        }
    }
}

/// Whether a fold that keeps everything through `kept` elsewhere can be given what comes after it by this version of the engine: to
/// be asked before recovery, which writes. Looks at names and headers alone; whether snapshots can be used is seen later, and so is
/// a journal that does not reach back.
///
/// Errors: [`ArchiveError::OtherEngine`]; as [`survey`].
pub fn check_kept<M: Machine>(storage: &dyn Storage, kept: Sequence) -> Result<(), PersistError> {
    let survey = survey(storage)?;
    let snapshots = survey.snapshots.iter().filter_map(|name| snapshot_store::sequence_of(name));
    let start = snapshots.filter(|at| *at <= kept).max();
    let is_whole = survey.segments.first().is_some_and(|first| first.header.number == 1);
    match start {
        None if !is_whole => Ok(()),
        start => same_version(&survey, start.unwrap_or(0), kept, M::version()),
    }
}

/// Whether an earlier version of the engine has decided none of the commands after `taken` through the newest snapshot. Of those
/// behind it recovery makes sure.
fn same_version(survey: &Survey, taken: Sequence, kept: Sequence, own: u32) -> Result<(), PersistError> {
    let newest = survey.snapshots.iter().filter_map(|name| snapshot_store::sequence_of(name)).max();
    let to = newest.unwrap_or(taken);
    for (index, read) in survey.segments.iter().enumerate() {
        let last = survey.segments.get(index + 1).map_or(to, |next| (next.header.first_seq - 1).min(to));
        let found = read.header.engine_version;
        if found < own && read.header.first_seq.max(taken + 1) <= last {
            return Err(PersistError::Archive(ArchiveError::OtherEngine { mark: kept, to, found, own }));
        }
    }
    Ok(())
}

fn open(storage: &dyn Storage, name: &str) -> Result<Arc<dyn crate::storage::File>, PersistError> {
    storage.open(name, Access::Read).map_err(PersistError::io("open", name))
}

impl<M: Machine, F: Fold + Send> Agent for Follower<M, F> {
    fn name(&self) -> &str {
        "follower"
    }

    fn do_work(&mut self) -> usize {
        if self.status.is_failed() {
            return 0;
        }
        let files = self.check_files();
        let worked = files.and_then(|()| if self.stands_back() { Ok(0) } else { self.step() });
        worked.unwrap_or_else(|error| {
            self.fail(error);
            0
        })
    }

    fn next_timer(&self) -> Duration {
        NAP
    }

    fn close(&mut self) {
        if !self.status.is_failed()
            && !self.is_wanted()
            && let Err(error) = self.finish()
        {
            self.fail(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_fast_is_told_from_what_comes_slowly() {
        let mut pace = Pace { looked_at: Instant::now(), bytes: 0, is_fast: false };
        assert!(!pace.look(LOOK / 2, FAST / 4 - 1), "too early to say");
        assert!(pace.look(LOOK / 2, FAST / 4), "whatever comes in the other half");
        assert!(pace.look(2 * LOOK, FAST / 2), "as many as make it fast");
        assert!(pace.look(LOOK / 2, FAST / 2), "too early to say otherwise");
        assert!(!pace.look(LOOK, FAST / 2 + FAST / 4 - 1), "one byte less");
        assert_eq!(pace.bytes, FAST / 2 + FAST / 4 - 1);
    }
}
