//! What may be forgotten: snapshots beyond the newest few, and segments that end before the oldest of those.
//!
//! The segment that holds a kept snapshot's last command stays, so that recovery can compare its record and the snapshot. Nothing goes
//! while somebody copies or reads the files beside the engine: it goes after the next snapshot then.

use crate::error::PersistError;
use crate::format::segment;
use crate::recover::snapshot_store;
use crate::storage::Storage;

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Names of snapshots.
    pub snapshots: Vec<String>,
    /// Names of segments.
    pub segments: Vec<String>,
}

/// Removes what `kept` snapshots do not need. Nothing is removed while there are fewer, or while somebody reads.
///
/// Errors: I/O.
pub fn apply(storage: &dyn Storage, kept: usize) -> Result<Removed, PersistError> {
    let mut names = storage.list().map_err(PersistError::io("list", "the directory"))?;
    names.sort();
    let snapshots: Vec<&String> =
        names.iter().filter(|name| snapshot_store::sequence_of(name).is_some()).collect();
    let segments: Vec<&String> = names.iter().filter(|name| segment::first_seq_of(name).is_some()).collect();
    let mut removed = Removed::default();
    if snapshots.len() < kept {
        return Ok(removed);
    }
    let Some(_alone) = storage.removal().map_err(PersistError::io("lock", "the directory"))? else {
        return Ok(removed);
    };
    let (old, stay) = snapshots.split_at(snapshots.len() - kept);
    let Some(oldest) = stay.first().and_then(|name| snapshot_store::sequence_of(name)) else {
        return Ok(removed);
    };
    for name in old {
        storage.remove(name).map_err(PersistError::io("remove", name))?;
        removed.snapshots.push(name.to_string());
    }
    for pair in segments.windows(2) {
        // Oldest first, so that a crash in between leaves no gap.
        if segment::first_seq_of(pair[1]).is_none_or(|first| first > oldest) {
            break;
        }
        storage.remove(pair[0]).map_err(PersistError::io("remove", pair[0]))?;
        removed.segments.push(pair[0].clone());
    }
    if removed != Removed::default() {
        storage.sync_directory().map_err(PersistError::io("sync", "the directory"))?;
    }
    Ok(removed)
}
