//! What stands beside the commands of a journal, found and changed while its engine does not run.
//!
//! No engine is needed: the newest sound snapshot has all that was before it, and the segments from there on the rest.

use crate::config::{PersistConfig, mode_of};
use crate::error::PersistError;
use crate::read::look::beside_engine;
use crate::read::survey::{EpochMark, Survey, survey};
use crate::read::tail::{Walked, walk};
use crate::recover::snapshot_store;
use crate::storage::Storage;
use crate::storage::disk::{Disk, Lock};
use crate::write::append::Appender;
use ringside_core::side::SideStore;
use std::path::Path;
use std::sync::Arc;

/// What stands there at the end of the journal in `directory`, whose engine may be running; nothing where none was begun.
///
/// Errors: I/O, damage; the journal does not reach back to a snapshot or to its first command.
pub fn read(directory: &Path) -> Result<Option<SideStore>, PersistError> {
    let disk = Disk::open_existing(directory)?;
    beside_engine(&disk, |is_running| {
        let survey = Survey { is_running, ..survey(&disk)? };
        Ok(find(&disk, &survey)?.map(|(side, _)| side))
    })
}

/// Makes it what `wanted` gives for what it is; durable when this returns. The journal is the configured directory's, taken by
/// `_lock`, and founded where there is none: an engine of this version is the next to run on it. Killed in between some of the
/// changes are made, and the next call makes the rest.
///
/// Errors: as [`read`]; whatever `wanted` fails with, and nothing was changed then; more changes than there is room for in a segment
/// behind the last command.
pub fn change<E: From<PersistError>>(
    storage: Arc<dyn Storage>,
    _lock: &Lock,
    config: &PersistConfig,
    engine_version: u32,
    wanted: impl FnOnce(&SideStore) -> Result<SideStore, E>,
) -> Result<(), E> {
    config.check()?;
    let survey = survey(storage.as_ref())?;
    let found = find(storage.as_ref(), &survey)?;
    let (side, walked) = found.map_or((SideStore::default(), None), |(side, walked)| (side, Some(walked)));
    let entries = side.difference(&wanted(&side)?);
    if entries.is_empty() {
        return Ok(());
    }
    let marked = match survey.epoch {
        EpochMark::Known { epoch, .. } => epoch,
        EpochMark::Absent | EpochMark::Damaged => 0,
    };
    let epoch = marked.max(walked.as_ref().map_or(0, |walked| walked.epoch)) + 1;
    let end = walked.map(|walked| (*survey.header(survey.segments.len() - 1), walked.end));
    // No engine decides any of it: it goes on in the segment there is, whatever that was begun by.
    let config = PersistConfig {
        mode: end.map_or(config.mode, |(header, _)| mode_of(header.mode).unwrap_or(config.mode)),
        ..config.clone()
    };
    let engine_version = end.map_or(engine_version, |(header, _)| header.engine_version);
    let mut appender = Appender::open(storage, &config, &survey, end, false, engine_version, epoch)?;
    Ok(appender.append_sides(&entries)?)
}

fn find(storage: &dyn Storage, survey: &Survey) -> Result<Option<(SideStore, Walked)>, PersistError> {
    let Some(first) = survey.segments.first().map(|read| read.header) else {
        survey.check_start(None, &[])?;
        return Ok(None);
    };
    let mut refused = Vec::new();
    let mut start = None;
    for name in survey.snapshots.iter().rev() {
        let read = snapshot_store::read(storage, name).and_then(|snapshot| {
            let is_own = snapshot.moment.journal_id == first.journal_id;
            let side = snapshot.side().ok().filter(|_| is_own);
            let reason = || "it belongs to another journal".to_owned();
            side.map(|side| (snapshot.moment.sequence, side))
                .ok_or_else(|| PersistError::Snapshot { file: name.clone(), reason: reason() })
        });
        match read {
            Ok((sequence, side)) => {
                survey.check_start(Some((name, sequence)), &refused)?;
                start = Some((sequence, side));
                break;
            }
            Err(error @ PersistError::Io { .. }) => return Err(error),
            Err(error) => refused.push((name.clone(), error.to_string())),
        }
    }
    let (sequence, mut side) = match start {
        Some(start) => start,
        None => {
            survey.check_start(None, &refused)?;
            (0, SideStore::default())
        }
    };
    let at = survey.segments.partition_point(|read| read.header.first_seq <= sequence.max(1)).max(1) - 1;
    let mut walked = walk(storage, survey, at, None, |_, _| Ok(()))?;
    side.apply_all(std::mem::take(&mut walked.side_changes));
    Ok(Some((side, walked)))
}
