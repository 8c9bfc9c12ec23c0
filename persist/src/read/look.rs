//! The past of a journal, looked at without changing it: any state that it leads to, and what each command did there.
//!
//! Writes nothing, and keeps no engine from running. Beside one it sees the journal at least as far as it was durable when it
//! looked.

use crate::error::PersistError;
use crate::format::record::Class;
use crate::read::replay::{Reader, Step};
use crate::read::survey::{Survey, survey};
use crate::read::tail::walk;
use crate::recover::machine::{Fold, Machine};
use crate::recover::recovery;
use crate::recover::snapshot_store;
use crate::storage::disk::Disk;
use crate::storage::{Access, Storage};
use ringside_core::command::Command;
use ringside_core::event::Event;
use ringside_core::ids::Sequence;
use ringside_core::side::SideEntry;
use std::collections::BTreeSet;
use std::path::Path;

/// The state of the newest sound snapshot before command `before`, or the one before the first command. `fold` is as new and
/// becomes the views of that state.
///
/// Errors: I/O, damage; the journal does not reach back to the first command and no snapshot is before.
pub fn state_before<M: Machine>(
    directory: &Path,
    config: &M::Config,
    before: Sequence,
    fold: &mut dyn Fold,
) -> Result<M, PersistError> {
    let disk = Disk::open_existing(directory)?;
    let _hold = disk.hold()?;
    start(&disk, &survey(&disk)?, config, before, fold)
}

fn start<M: Machine>(
    disk: &Disk,
    survey: &Survey,
    config: &M::Config,
    before: Sequence,
    fold: &mut dyn Fold,
) -> Result<M, PersistError> {
    let Some(first) = survey.segments.first().map(|read| read.header) else {
        return Err(PersistError::Missing { reason: "there is no journal".to_owned() });
    };
    for name in survey.snapshots.iter().rev() {
        let is_before = snapshot_store::sequence_of(name).is_some_and(|at| at < before);
        if is_before && let Ok(loaded) = recovery::load(disk, name, first.journal_id, config, fold) {
            return Ok(loaded.engine);
        }
    }
    if first.number != 1 {
        let reason = format!(
            "no snapshot is before sequence {before}, and the journal starts at {}, after the first command",
            first.name()
        );
        return Err(PersistError::Missing { reason });
    }
    fold.reset();
    Ok(M::genesis(config))
}

/// Replays the journal of `directory` from [`state_before`] `from`, and shows the commands from there through `through`.
/// `fold` is as new and gets everything, from the snapshot on.
///
/// Gives the machine after `through`, or after the last command. Errors: as above; commands of another engine version.
pub fn look<M: Machine>(
    directory: &Path,
    config: &M::Config,
    from: Sequence,
    through: Sequence,
    fold: &mut dyn Fold,
    mut visit: impl FnMut(Seen<'_, M>),
) -> Result<M, PersistError> {
    let disk = Disk::open_existing(directory)?;
    let _hold = disk.hold()?;
    let mut machine: M = start(&disk, &survey(&disk)?, config, from, fold)?;
    let after = machine.sequence();
    // Decisions to pass over a command stand after it.
    let (survey, at, walked) = beside_engine(&disk, |is_running| {
        let survey = Survey { is_running, ..survey(&disk)? };
        let at = survey.segments.partition_point(|read| read.header.first_seq <= after.max(1)).max(1) - 1;
        let walked = walk(&disk, &survey, at, None, |_, _| Ok(()))?;
        Ok((survey, at, walked))
    })?;
    let skips: BTreeSet<Sequence> = walked.skips.iter().map(|skip| skip.decision.skipped).collect();
    let last = walked.end.last.sequence.min(through);
    let mut events: Vec<Event> = Vec::new();
    for read in &survey.segments[at..] {
        let header = read.header;
        let name = header.name();
        let file = disk.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
        let mut reader = Reader::new(file, header, header.segment_len);
        while machine.sequence() < last {
            // Whatever stands there now, through `last` it was sound a moment ago.
            let Step::Record(record) = reader.step()? else { break };
            let sequence = record.header.seq;
            if record.class() != Class::Command || sequence <= after {
                continue;
            }
            if header.engine_version != M::version() {
                let (found, own) = (header.engine_version, M::version());
                return Err(PersistError::EngineVersion { sequence, found, own });
            }
            let command = record.command();
            let is_passed = skips.contains(&sequence);
            events.clear();
            if is_passed {
                machine.skip(&command);
            } else {
                machine.apply(&command, &mut events);
                events.iter().for_each(|event| fold.event(event));
            }
            if sequence >= from {
                visit(Seen { command: &command, events: &events, machine: &machine, is_passed });
            }
        }
    }
    Ok(machine)
}

/// What stands beside the commands behind those of `from` through `through`, in the order of the journal: the last command before each,
/// and the entry.
///
/// Errors: I/O, damage.
pub fn entries_beside(
    directory: &Path,
    from: Sequence,
    through: Sequence,
) -> Result<Vec<(Sequence, SideEntry)>, PersistError> {
    let disk = Disk::open_existing(directory)?;
    beside_engine(&disk, |is_running| {
        let survey = Survey { is_running, ..survey(&disk)? };
        let at = survey.segments.partition_point(|read| read.header.first_seq <= from.max(1)).max(1) - 1;
        // Whatever is read below counts.
        let end = walk(&disk, &survey, at, None, |_, _| Ok(()))?.end;
        let mut found = Vec::new();
        for (index, read) in survey.segments.iter().enumerate().skip(at) {
            let header = read.header;
            let name = header.name();
            let file = disk.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
            let mut reader = Reader::new(file, header, header.segment_len);
            let is_last = index + 1 == survey.segments.len();
            while reader.place().last.sequence <= through && (!is_last || reader.place().offset < end.offset)
            {
                let Step::Record(record) = reader.step()? else { break };
                if record.class() == Class::Side && (from..=through).contains(&record.header.seq) {
                    found.push((record.header.seq, record.side()));
                }
            }
        }
        Ok(found)
    })
}

/// What `find` makes of a journal that an engine may be running on, as it is told; the files stay meanwhile. Where one was started
/// in between it looks again: what an engine writes looks damaged to whoever thinks that nobody does.
pub(crate) fn beside_engine<T>(
    disk: &Disk,
    mut find: impl FnMut(bool) -> Result<T, PersistError>,
) -> Result<T, PersistError> {
    loop {
        let _hold = disk.hold()?;
        let is_running = disk.is_locked()?;
        match find(is_running) {
            Err(_) if !is_running && disk.is_locked()? => {}
            found => return found,
        }
    }
}

/// One command, as it was.
pub struct Seen<'a, M> {
    /// It.
    pub command: &'a Command,
    /// What it did; nothing where it was passed over.
    pub events: &'a [Event],
    /// The state after it.
    pub machine: &'a M,
    /// It stops the engine, so that two operators decided to pass over it.
    pub is_passed: bool,
}
