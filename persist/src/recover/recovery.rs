//! From a directory to a running engine: newest sound snapshot, the commands after it, a new epoch.
//!
//! 1. lock, look at every file;
//! 2. the newest snapshot that reads back whole and loads; a damaged one is announced and the next older taken;
//! 3. everything from there to the end is read and checked ([`crate::read::tail`]) on one thread while another replays the
//!    commands after the snapshot and compares recorded state hashes;
//! 4. decisions to pass over a command stand after it, so the first pass that meets one is given up and the replay
//!    starts again, knowing them all;
//! 5. what was torn is cut and wiped, and the command that opens the new epoch is made durable.
//!
//! Only then is anything accepted. Nothing is written before step 5, so a refusal leaves the directory as it was.

use crate::config::PersistConfig;
use crate::error::PersistError;
use crate::read::replay::Checked;
use crate::read::survey::{EpochMark, Survey, survey};
use crate::read::tail::{Cut, Walked, walk_checked};
use crate::recover::follower::Followed;
use crate::recover::machine::{Fold, Machine, Watch, WatchedSink};
use crate::recover::snapshot_store;
use crate::storage::Storage;
use crate::storage::disk::{Disk, Lock};
use crate::write::append::Appender;
use crate::write::journal::Journal;
use ringside_core::command::{Command, Kind, OpenEpoch};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::ids::Sequence;
use ringside_core::prefetch::Hint;
use ringside_core::side::SideStore;
use ringside_core::sums::Sums;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};
use zerocopy::FromZeros;

/// A running engine and the journal that it goes on with.
pub struct Recovered<M> {
    /// The engine, with everything applied that the journal holds; behind [`take_over`] but for the last command.
    pub engine: M,
    /// The command that opens the epoch, the last in the journal.
    pub opening: Command,
    /// What the machine told, for whoever goes on to count.
    pub sums: Arc<Sums>,
    /// Sequence of the next command.
    pub next_sequence: Sequence,
    /// What stands beside the commands, as of the end of the journal.
    pub side: SideStore,
    /// For the journaller.
    pub journal: Journal,
    /// What was found and how long it took.
    pub report: Report,
}

impl<M: Machine> Recovered<M> {
    /// Applies the command that opens the epoch; behind [`take_over`], once it may be shown.
    pub fn open(&mut self, fold: &mut (impl Fold + ?Sized)) {
        let mut sums = self.sums.lock();
        sums.begin_to_tell();
        self.engine.apply(&self.opening, &mut WatchedSink(fold, &mut *sums));
    }
}

/// What recovery found and how long it took.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The snapshot it started from; `None`: the first command.
    pub snapshot: Option<Sequence>,
    /// Newer snapshots that could not be used, and why.
    pub snapshots_refused: Vec<(String, String)>,
    /// Segments checked.
    pub segments: usize,
    /// Segments of which one copy of the header is damaged.
    pub degraded: Vec<String>,
    /// Bytes of records checked.
    pub bytes: u64,
    /// Commands replayed.
    pub commands: u64,
    /// Commands passed over by decision of two operators.
    pub skipped: Vec<Sequence>,
    /// The torn write that was cut, if any.
    pub cut: Option<Cut>,
    /// The epoch begun.
    pub epoch: u32,
    /// The last command found.
    pub last: Sequence,
    /// Reading and loading the snapshot.
    pub load: Duration,
    /// Reading, checking and replaying.
    pub replay: Duration,
    /// Everything.
    pub total: Duration,
}

impl Report {
    /// Commands replayed per second; 0 where there were none.
    pub fn commands_per_s(&self) -> f64 {
        if self.commands == 0 { 0.0 } else { self.commands as f64 / self.replay.as_secs_f64().max(1e-9) }
    }
}

impl std::fmt::Display for Report {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        for (name, reason) in &self.snapshots_refused {
            writeln!(f, "recovery: {name} cannot be used: {reason}; taking an older one")?;
        }
        for name in &self.degraded {
            writeln!(f, "recovery: one copy of the header of {name} is damaged; the other is sound")?;
        }
        match self.snapshot {
            Some(sequence) => {
                writeln!(f, "recovery: snapshot at {sequence}, loaded in {:.1} ms", ms(self.load))?
            }
            None => writeln!(f, "recovery: no snapshot, from the first command")?,
        }
        writeln!(
            f,
            "recovery: {} segments, {:.1} MiB of records read and checked",
            self.segments,
            self.bytes as f64 / (1 << 20) as f64
        )?;
        if let Some(cut) = &self.cut {
            writeln!(
                f,
                "recovery: {} bytes of a torn write cut at byte {} of {}: {}{}",
                cut.len,
                cut.offset,
                cut.segment,
                cut.flaw,
                cut.doubt()
            )?;
        }
        for sequence in &self.skipped {
            writeln!(f, "recovery: command {sequence} passed over by decision of two operators")?;
        }
        write!(
            f,
            "recovery: {} commands replayed in {:.1} ms ({:.0}/s); last sequence {}, epoch {}, {:.1} ms in all",
            self.commands,
            ms(self.replay),
            self.commands_per_s(),
            self.last,
            self.epoch,
            ms(self.total)
        )
    }
}

/// Recovers the engine: see [`recover_machine`].
///
/// Errors: as there.
pub fn recover(
    config: &PersistConfig,
    engine: &EngineConfig,
    fold: &mut (impl Fold + ?Sized),
) -> Result<Recovered<Engine>, PersistError> {
    recover_machine(config, engine, fold)
}

/// Recovers a machine in the configured directory, which becomes a new journal when it is empty. `fold` is as new;
/// it gets the views' section of the snapshot and the events after it.
///
/// Errors: whatever [`PersistError`] names; nothing was changed then but by an error of step 5.
pub fn recover_machine<M: Machine>(
    config: &PersistConfig,
    machine: &M::Config,
    fold: &mut (impl Fold + ?Sized),
) -> Result<Recovered<M>, PersistError> {
    config.check()?;
    let disk = Disk::open(&config.directory, config.method(), config.any_file_system)?;
    let lock = disk.lock()?;
    recover_in(Arc::new(disk), lock, config, machine, fold)
}

/// As [`recover_machine`], in a storage of the caller's.
pub fn recover_in<M: Machine>(
    storage: Arc<dyn Storage>,
    lock: Lock,
    config: &PersistConfig,
    machine: &M::Config,
    fold: &mut (impl Fold + ?Sized),
) -> Result<Recovered<M>, PersistError> {
    config.check()?;
    let started = Instant::now();
    let survey = survey(storage.as_ref())?;
    survey.check_own(config.term.is_some())?;
    let state = rebuild::<M>(storage.as_ref(), &survey, config, machine, fold)?;
    let mut recovered = open(storage, lock, config, &survey, state, None, started)?;
    recovered.open(fold);
    Ok(recovered)
}

/// Goes on from a machine that has followed the journal to its end, for a leader of a cluster: opens the epoch, which is its term. The
/// machine has not applied that command yet ([`Recovered::opening`]): it may be that others lead before it is agreed on.
///
/// Errors: I/O; the folder is not such a leader's.
pub fn take_over<M: Machine, F>(
    storage: Arc<dyn Storage>,
    lock: Lock,
    config: &PersistConfig,
    followed: Followed<M, F>,
) -> Result<(Recovered<M>, F), PersistError> {
    config.check()?;
    let started = Instant::now();
    let survey = survey(storage.as_ref())?;
    survey.check_own(true)?;
    let Followed { machine, side, fold, skips, end, sums } = followed;
    let report = Report { last: end.1.last.sequence, skipped: skips, ..Report::default() };
    let state = Rebuilt { engine: machine, side, end: Some(end), epoch: end.1.epoch, report };
    Ok((open(storage, lock, config, &survey, state, Some(sums), started)?, fold))
}

/// Begins the epoch.
fn open<M: Machine>(
    storage: Arc<dyn Storage>,
    lock: Lock,
    config: &PersistConfig,
    survey: &Survey,
    state: Rebuilt<M>,
    sums: Option<Arc<Sums>>,
    started: Instant,
) -> Result<Recovered<M>, PersistError> {
    let marked = match survey.epoch {
        EpochMark::Known { epoch, .. } => epoch,
        EpochMark::Absent | EpochMark::Damaged => 0,
    };
    let epoch = config.term.map_or(marked.max(state.epoch) + 1, |term| term.number);
    let (end, is_clean) = (state.end, sums.is_some());
    let mut appender = Appender::open(storage.clone(), config, survey, end, is_clean, M::version(), epoch)?;
    let mut opening = Command::new(OpenEpoch { epoch, reserved: 0 });
    opening.sequence = state.engine.sequence() + 1;
    opening.time_ns = state.engine.time_ns().max(config.opened_at_ns);
    appender.append(&opening)?;

    let Appender { encoder, current, stock, position, chain, .. } = appender;
    let report = Report { epoch, total: started.elapsed(), ..state.report };
    Ok(Recovered {
        engine: state.engine,
        next_sequence: opening.sequence + 1,
        sums: sums.unwrap_or_else(|| Arc::new(Sums::since(opening.sequence))),
        opening,
        side: state.side,
        journal: Journal { config: config.clone(), storage, lock, encoder, chain, current, position, stock },
        report,
    })
}

/// The state that a directory holds; nothing is written.
pub(crate) struct Rebuilt<M> {
    pub(crate) engine: M,
    pub(crate) side: SideStore,
    pub(crate) end: crate::write::append::End,
    pub(crate) epoch: u32,
    pub(crate) report: Report,
}

pub(crate) fn rebuild<M: Machine>(
    storage: &dyn Storage,
    survey: &Survey,
    config: &PersistConfig,
    machine: &M::Config,
    fold: &mut (impl Fold + ?Sized),
) -> Result<Rebuilt<M>, PersistError> {
    if let Some(later) = survey.segments.iter().map(|s| &s.header).find(|h| h.engine_version > M::version()) {
        let (segment, found) = (later.name(), later.engine_version);
        return Err(PersistError::LaterEngine { segment, found, own: M::version() });
    }
    let mut skips = BTreeSet::new();
    loop {
        let mut report = Report::default();
        let begun = Instant::now();
        let Start { mut engine, mut side, origin } = start::<M>(storage, survey, machine, fold, &mut report)?;
        report.load = begun.elapsed();
        report.degraded = survey.segments.iter().filter(|s| s.is_degraded).map(|s| s.header.name()).collect();
        if survey.segments.is_empty() {
            return Ok(Rebuilt { engine, side, end: None, epoch: 0, report });
        }

        let begun = Instant::now();
        let after = origin.after;
        let replayed = replay::<M>(storage, survey, config.durable_mark, &origin, &skips, &mut engine, fold);
        report.replay = begun.elapsed();
        let Replayed { walked, applied } = replayed?;
        let decided =
            walked.skips.iter().map(|skip| skip.decision.skipped).filter(|&skipped| skipped > after);
        let decided: BTreeSet<Sequence> = decided.collect();
        if decided != skips {
            skips = decided;
            continue;
        }
        report.commands = applied?;
        let sequence = engine.sequence();
        engine.check_invariants().map_err(|reason| PersistError::Invariant { sequence, reason })?;
        report.segments = walked.segments;
        report.bytes = walked.bytes;
        report.last = walked.end.last.sequence;
        report.skipped = skips.into_iter().collect();
        report.cut = walked.cut;
        let header = *survey.header(survey.segments.len() - 1);
        // They were read from at or before the snapshot's place on, so the last word on each key is among them.
        side.apply_all(walked.side_changes);
        return Ok(Rebuilt { engine, side, end: Some((header, walked.end)), epoch: walked.epoch, report });
    }
}

/// The state that replay starts from.
struct Start<M> {
    engine: M,
    side: SideStore,
    origin: Origin,
}

/// Where in the journal that is.
#[derive(Default)]
struct Origin {
    /// First segment to read.
    segment: usize,
    /// The last command in the state; 0 at genesis.
    after: Sequence,
    /// Name of the snapshot, and the mark of that command's record.
    mark: Option<(String, u64)>,
}

fn start<M: Machine>(
    storage: &dyn Storage,
    survey: &Survey,
    machine: &M::Config,
    fold: &mut (impl Fold + ?Sized),
    report: &mut Report,
) -> Result<Start<M>, PersistError> {
    if survey.segments.is_empty() {
        survey.check_start(None, &[])?;
        fold.reset();
        return Ok(genesis(machine));
    }
    let journal_id = survey.header(0).journal_id;
    for name in survey.snapshots.iter().rev() {
        match load::<M>(storage, name, journal_id, machine, fold) {
            Ok(Loaded { engine, moment, side }) => {
                survey.check_start(Some((name, moment.sequence)), &[])?;
                let before = survey.segments.partition_point(|s| s.header.first_seq <= moment.sequence);
                report.snapshot = Some(moment.sequence);
                let mark = Some((name.clone(), moment.mark));
                let origin = Origin { segment: before - 1, after: moment.sequence, mark };
                return Ok(Start { engine, side, origin });
            }
            // The disk, not the snapshot.
            Err(error @ PersistError::Io { .. }) => return Err(error),
            Err(PersistError::Snapshot { file, reason }) => report.snapshots_refused.push((file, reason)),
            Err(error) => report.snapshots_refused.push((name.clone(), error.to_string())),
        }
    }
    survey.check_start(None, &report.snapshots_refused)?;
    fold.reset();
    Ok(genesis(machine))
}

fn genesis<M: Machine>(machine: &M::Config) -> Start<M> {
    Start { engine: M::genesis(machine), side: SideStore::default(), origin: Origin::default() }
}

/// What a snapshot holds beside the views, which the fold gets.
pub(crate) struct Loaded<M> {
    pub(crate) engine: M,
    pub(crate) moment: snapshot_store::Moment,
    pub(crate) side: SideStore,
}

pub(crate) fn load<M: Machine>(
    storage: &dyn Storage,
    name: &str,
    journal_id: [u8; 16],
    machine: &M::Config,
    fold: &mut (impl Fold + ?Sized),
) -> Result<Loaded<M>, PersistError> {
    let snapshot = snapshot_store::read(storage, name)?;
    let refused = |reason: String| PersistError::Snapshot { file: name.to_string(), reason };
    let moment = snapshot.moment;
    if moment.journal_id != journal_id {
        return Err(refused("it belongs to another journal".to_string()));
    }
    let engine = M::load(machine, snapshot.engine())
        .map_err(|error| refused(format!("the engine cannot load it: {error}")))?;
    if engine.sequence() != moment.sequence {
        return Err(refused(format!("the state in it is that of sequence {}", engine.sequence())));
    }
    if engine.state_hash() != moment.state_hash {
        return Err(refused("the state in it has another hash than it says".to_string()));
    }
    let side = snapshot.side().map_err(|error| refused(error.to_string()))?;
    fold.load(snapshot.views()).map_err(|error| refused(format!("the views cannot load it: {error}")))?;
    Ok(Loaded { engine, moment, side })
}

/// Stretches of checked records that may wait to be applied.
const STRETCHES: usize = 8;
/// Commands made of their records at a time: they stay in the nearest caches until they are applied.
const CHUNK: usize = 256;
/// How far ahead of its turn a command is announced to the machine.
const AHEAD: usize = 8;
/// Commands at the end of a chunk that are announced, and applied with the next.
const SOON: usize = Hint::ALL.len() * AHEAD;

/// What came of reading, which counts first, and of applying.
struct Replayed {
    walked: Walked,
    applied: Result<u64, PersistError>,
}

/// Reads and checks the journal from `origin` on, on a thread of its own, and applies its commands on this one.
fn replay<M: Machine>(
    storage: &dyn Storage,
    survey: &Survey,
    durable_mark: Option<Sequence>,
    origin: &Origin,
    skips: &BTreeSet<Sequence>,
    engine: &mut M,
    fold: &mut (impl Fold + ?Sized),
) -> Result<Replayed, PersistError> {
    let (checked, stretches) = sync_channel::<Checked>(STRETCHES);
    std::thread::scope(|scope| {
        let read = move || read::<M>(storage, survey, durable_mark, origin, checked);
        let thread = std::thread::Builder::new().name("replay-read".to_string());
        let reading =
            thread.spawn_scoped(scope, read).map_err(PersistError::io("start", "a thread of replay"))?;
        let applied = apply_all(stretches, origin.after, skips, engine, fold);
        let walked = reading.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Replayed { walked, applied })
    })
}

/// Reads to the end whatever the other side does, since what stands there may excuse it.
fn read<M: Machine>(
    storage: &dyn Storage,
    survey: &Survey,
    durable_mark: Option<Sequence>,
    origin: &Origin,
    full: SyncSender<Checked>,
) -> Result<Walked, PersistError> {
    let mut full = Some(full);
    walk_checked(storage, survey, origin.segment, durable_mark, |header, checked| {
        let after = origin.after;
        if (checked.before() + 1..=checked.last()).contains(&after) {
            same_history(origin, &checked)?;
        }
        if checked.last() <= after {
            return Ok(());
        }
        if header.engine_version != M::version() {
            let (found, own) = (header.engine_version, M::version());
            let sequence = checked.before().max(after) + 1;
            return Err(PersistError::EngineVersion { sequence, found, own });
        }
        // The other side is gone when a command stopped it.
        if full.as_ref().is_some_and(|full| full.send(checked).is_err()) {
            full = None;
        }
        Ok(())
    })
}

/// Whether the snapshot's last command is the one the journal holds at its sequence.
fn same_history(origin: &Origin, checked: &Checked) -> Result<(), PersistError> {
    let held = checked.commands().find(|record| record.header.seq == origin.after);
    match (&origin.mark, held) {
        (Some((name, mark)), Some(record)) if *mark != record.mark() => Err(PersistError::Snapshot {
            file: name.clone(),
            reason: format!("the journal holds another history up to {}", origin.after),
        }),
        _ => Ok(()),
    }
}

/// Applies the commands after `after`.
fn apply_all<M: Machine>(
    stretches: Receiver<Checked>,
    after: Sequence,
    skips: &BTreeSet<Sequence>,
    engine: &mut M,
    fold: &mut (impl Fold + ?Sized),
) -> Result<u64, PersistError> {
    let mut commands = vec![Command::new_zeroed(); CHUNK].into_boxed_slice();
    let (mut count, mut len) = (0, 0);
    for checked in stretches {
        for record in checked.commands().skip_while(|record| record.header.seq <= after) {
            record.command_into(&mut commands[len]);
            len += 1;
            if len == CHUNK {
                apply(&commands, CHUNK - SOON, skips, engine, fold, &mut ())?;
                count += (CHUNK - SOON) as u64;
                commands.copy_within(CHUNK - SOON.., 0);
                len = SOON;
            }
        }
    }
    apply(&commands[..len], len, skips, engine, fold, &mut ())?;
    Ok(count + len as u64)
}

/// Applies the first `count` of `commands`, which follow the machine's last, and announces those that come soon.
///
/// Errors: [`PersistError::Poisoned`] when one makes the machine panic, which is then not to be used any more;
/// [`PersistError::Diverged`]; [`PersistError::Invariant`] where `watch` finds what cannot be.
pub(crate) fn apply<M: Machine, F: Fold + ?Sized, W: Watch + ?Sized>(
    commands: &[Command],
    count: usize,
    skips: &BTreeSet<Sequence>,
    engine: &mut M,
    fold: &mut F,
    watch: &mut W,
) -> Result<(), PersistError> {
    let at = Cell::new(0);
    let run = || {
        let mut sink = WatchedSink(fold, watch);
        let wants_hints = engine.wants_hints();
        for (index, command) in commands[..count].iter().enumerate() {
            if wants_hints {
                for (near, hint) in (1..).zip(Hint::ALL.into_iter().rev()) {
                    if let Some(ahead) = commands.get(index + near * AHEAD) {
                        engine.prefetch(ahead, hint);
                    }
                }
            }
            at.set(command.sequence);
            if !skips.is_empty() && skips.contains(&command.sequence) {
                engine.skip(command);
                sink.1.skip();
                continue;
            }
            engine.apply(command, &mut sink);
            if let Some((sequence, reason)) = sink.1.fault() {
                return Err(PersistError::Invariant { sequence, reason });
            }
            if command.kind == Kind::VerifyHash as u16
                && let Some((checkpoint, detail)) = engine.diverged()
            {
                return Err(PersistError::Diverged { checkpoint, detail });
            }
        }
        Ok(())
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<&str>()
            .map(|text| text.to_string())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without text".to_string());
        Err(PersistError::Poisoned { sequence: at.get(), message })
    })
}
