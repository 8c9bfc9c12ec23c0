//! Passing over a command that stops the engine: a decision of two operators, written into the journal itself, so
//! that every replay anywhere obeys it.
//!
//! The tool replays first and refuses unless exactly that command stops the engine, or what is folded from its events: a
//! command that was carried out and shown must never be passed over.

use crate::config::PersistConfig;
use crate::error::PersistError;
use crate::read::survey::{EpochMark, Survey, survey};
use crate::read::tail::walk;
use crate::recover::machine::{Fold, Machine};
use crate::recover::recovery::rebuild;
use crate::recover::snapshot_store;
use crate::storage::Storage;
use crate::storage::disk::{Disk, Lock};
use crate::write::append::Appender;
use ringside_core::command::{Command, SkipCommand};
use ringside_core::ids::{Sequence, padded};
use std::sync::Arc;

/// Who decides to pass over which command, and why.
#[derive(Clone, Copy, Debug)]
pub struct Decision<'a> {
    /// The command.
    pub sequence: Sequence,
    /// Two different people, up to 24 bytes each.
    pub operators: [&'a str; 2],
    /// Up to 64 bytes.
    pub reason: &'a str,
}

/// Commands that are passed over by decisions which stand behind the newest snapshot; the journal may be in use.
///
/// Errors: I/O; damage.
pub fn decisions(storage: &dyn Storage) -> Result<Vec<Sequence>, PersistError> {
    let survey = Survey { is_running: true, ..survey(storage)? };
    let newest =
        survey.snapshots.iter().filter_map(|name| snapshot_store::sequence_of(name)).max().unwrap_or(0);
    let Some(from) =
        survey.segments.partition_point(|read| read.header.first_seq <= newest.max(1)).checked_sub(1)
    else {
        return Ok(Vec::new());
    };
    let walked = walk(storage, &survey, from, None, |_, _| Ok(()))?;
    Ok(walked.skips.iter().map(|skip| skip.decision.skipped).collect())
}

/// Records the decision in the configured directory, whose engine must not be running, and whose events are folded into
/// `fold` as a start folds them. Gives the sequence of the record; the next recovery obeys it.
///
/// Errors: [`PersistError::Skip`] when the decision is not in order or that command does not stop the engine;
/// whatever recovery can fail with.
pub fn skip_machine<M: Machine>(
    config: &PersistConfig,
    machine: &M::Config,
    decision: &Decision<'_>,
    fold: &mut (impl Fold + ?Sized),
) -> Result<Sequence, PersistError> {
    let disk = Disk::open(&config.directory, config.method(), config.any_file_system)?;
    let lock = disk.lock()?;
    skip_in::<M>(Arc::new(disk), lock, config, machine, decision, fold)
}

/// As [`skip_machine`], in a storage of the caller's.
pub fn skip_in<M: Machine>(
    storage: Arc<dyn Storage>,
    _lock: Lock,
    config: &PersistConfig,
    machine: &M::Config,
    decision: &Decision<'_>,
    fold: &mut (impl Fold + ?Sized),
) -> Result<Sequence, PersistError> {
    config.check()?;
    let body = body(decision)?;
    let survey = survey(storage.as_ref())?;
    survey.check_own(false)?;
    match rebuild::<M>(storage.as_ref(), &survey, config, machine, fold) {
        Err(PersistError::Poisoned { sequence, .. }) if sequence == decision.sequence => {}
        Err(PersistError::Poisoned { sequence, .. }) => {
            return Err(refused(format!(
                "it is command {sequence} that stops the engine, not {}",
                decision.sequence
            )));
        }
        Err(error) => return Err(error),
        Ok(_) => return Err(refused(format!("command {} does not stop the engine", decision.sequence))),
    }
    let last = survey.segments.len() - 1;
    let walked = walk(storage.as_ref(), &survey, last, config.durable_mark, |_, _| Ok(()))?;
    let marked = match survey.epoch {
        EpochMark::Known { epoch, .. } => epoch,
        EpochMark::Absent | EpochMark::Damaged => 0,
    };
    let epoch = marked.max(walked.epoch) + 1;
    let end = Some((*survey.header(last), walked.end));
    // The record stands in a segment of this version only if the poisoned command does; replay asks for no more.
    let mut appender = Appender::open(storage, config, &survey, end, false, M::version(), epoch)?;
    let mut command = Command::new(body);
    command.sequence = walked.end.last.sequence + 1;
    command.time_ns = walked.end.last.time_ns.max(config.opened_at_ns);
    appender.append(&command)?;
    Ok(command.sequence)
}

fn body(decision: &Decision<'_>) -> Result<SkipCommand, PersistError> {
    let [first, second] = decision.operators.map(str::trim);
    if first.is_empty() || second.is_empty() || first == second {
        return Err(refused("two different operators must decide".to_string()));
    }
    let reason = decision.reason.trim();
    if reason.is_empty() {
        return Err(refused("a reason must be given".to_string()));
    }
    let name = |name: &str| {
        padded::<24>(name).ok_or_else(|| refused(format!("{name}: an operator's name has at most 24 bytes")))
    };
    Ok(SkipCommand {
        skipped: decision.sequence,
        operators: [name(first)?, name(second)?],
        reason: padded::<64>(reason).ok_or_else(|| refused("a reason has at most 64 bytes".to_string()))?,
    })
}

fn refused(reason: String) -> PersistError {
    PersistError::Skip { reason }
}
