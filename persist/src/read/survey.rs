//! What lies in a journal's directory: segments with their headers, snapshots, spares, leftovers. Reads no records.

use crate::error::PersistError;
use crate::format::checksum;
use crate::format::segment::{self, ReadHeader, SegmentHeader};
use crate::mirror::mark;
use crate::quorum::vote;
use crate::recover::snapshot_store;
use crate::storage::{Access, BLOCK_LEN, Buffer, Storage, read_whole, write_whole};
use ringside_core::ids::Sequence;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// The files of a directory.
#[derive(Debug, Default)]
pub struct Survey {
    /// Headers in the order of their sequences; dense numbers, one journal.
    pub segments: Vec<ReadHeader>,
    /// Names of snapshots, oldest first.
    pub snapshots: Vec<String>,
    /// Names of allocated segments not in use.
    pub spares: Vec<String>,
    /// Files that were being written when the process ended.
    pub leftovers: Vec<String>,
    /// The epoch mark.
    pub epoch: EpochMark,
    /// An engine was running here before this was looked at: it writes on behind what was durable then. Whoever looks says so.
    pub is_running: bool,
    /// The folder is a mirror's: nothing of its own is written to its journal.
    pub is_mirror: bool,
    /// The folder is a member's of a cluster: what is written to its journal is agreed on.
    pub is_member: bool,
}

/// What the epoch file says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EpochMark {
    /// There is none.
    #[default]
    Absent,
    /// It cannot be read.
    Damaged,
    /// The last epoch begun, of this journal.
    Known {
        /// Of the journal.
        journal_id: [u8; 16],
        /// From 1.
        epoch: u32,
    },
}

const EPOCH_NAME: &str = "epoch";
const EPOCH_MAGIC: [u8; 8] = *b"RINGEPO1";

/// The epoch file: this, then zeros to one block.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct EpochBlock {
    magic: [u8; 8],
    /// Of the rest of the block.
    crc32c: u32,
    epoch: u32,
    journal_id: [u8; 16],
}

/// Looks at every file.
///
/// Errors: I/O; damaged or contradictory segment headers; a missing segment.
pub fn survey(storage: &dyn Storage) -> Result<Survey, PersistError> {
    let mut survey = Survey::default();
    let mut names = storage.list().map_err(PersistError::io("list", "the directory"))?;
    names.sort();
    for name in names {
        if segment::first_seq_of(&name).is_some() {
            let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
            survey.segments.push(segment::read_header(file.as_ref(), &name)?);
        } else if snapshot_store::sequence_of(&name).is_some() {
            survey.snapshots.push(name);
        } else if segment::spare_number_of(&name).is_some() {
            survey.spares.push(name);
        } else if name.ends_with(".tmp") {
            survey.leftovers.push(name);
        } else if name == mark::NAME {
            survey.is_mirror = true;
        } else if name == vote::NAME {
            survey.is_member = true;
        } else if name == EPOCH_NAME {
            survey.epoch = read_epoch(storage)?;
        }
    }
    survey.check()?;
    Ok(survey)
}

impl Survey {
    /// The header of segment `index`, in order.
    pub fn header(&self, index: usize) -> &SegmentHeader {
        &self.segments[index].header
    }

    /// Whether commands of its own may be written here, by a leader of a cluster or by whoever is alone.
    ///
    /// Errors: [`PersistError::Mirror`], [`PersistError::Member`].
    pub fn check_own(&self, leads: bool) -> Result<(), PersistError> {
        if self.is_mirror {
            return Err(PersistError::Mirror { reason: mark::NOT_OWN.to_string() });
        }
        match (self.is_member, leads) {
            (true, false) => Err(PersistError::Member { reason: vote::NOT_ALONE.to_string() }),
            (false, true) => Err(PersistError::Member { reason: vote::NO_MEMBER.to_string() }),
            _ => Ok(()),
        }
    }

    /// Whether a state can be had from what lies here: the segments begin with the first command, or reach back to `newest`,
    /// the newest snapshot that can be used. `refused` are those that cannot, with what is wrong with each.
    ///
    /// Errors: something is missing that was there.
    pub fn check_start(
        &self,
        newest: Option<(&str, Sequence)>,
        refused: &[(String, String)],
    ) -> Result<(), PersistError> {
        let missing = |reason: String| Err(PersistError::Missing { reason });
        let Some(first) = self.segments.first().map(|first| &first.header) else {
            return if self.snapshots.is_empty() && self.epoch == EpochMark::Absent {
                Ok(())
            } else {
                missing(
                    "there is no segment, yet a snapshot or the epoch file says that there was; restore them"
                        .to_string(),
                )
            };
        };
        match newest {
            Some((_, sequence)) if first.first_seq <= sequence => Ok(()),
            Some((name, sequence)) => missing(format!(
                "the segment that holds sequence {sequence} is missing: snapshot {name} ends there, and the first \
                 segment is {}",
                first.name()
            )),
            None if first.number == 1 => Ok(()),
            None => {
                let refused: Vec<String> =
                    refused.iter().map(|(name, reason)| format!("{name}: {reason}")).collect();
                missing(format!(
                    "no snapshot can be used ({}) and the journal starts at {}",
                    if refused.is_empty() { "there is none".to_string() } else { refused.join("; ") },
                    first.name()
                ))
            }
        }
    }

    fn check(&self) -> Result<(), PersistError> {
        for pair in self.segments.windows(2) {
            let (before, after) = (&pair[0].header, &pair[1].header);
            let damaged = |reason: &str| PersistError::SegmentHeader {
                segment: after.name(),
                reason: reason.to_string(),
            };
            if after.journal_id != before.journal_id {
                return Err(damaged("it belongs to another journal than the segment before it"));
            }
            if after.number <= before.number {
                return Err(damaged("its number is not higher than that of the segment before it"));
            }
            if after.number != before.number + 1 {
                return Err(PersistError::Missing {
                    reason: format!(
                        "{} segments are missing between {} and {}; restore them from a copy",
                        after.number - before.number - 1,
                        before.name(),
                        after.name()
                    ),
                });
            }
        }
        if let (Some(first), EpochMark::Known { journal_id, .. }) = (self.segments.first(), self.epoch)
            && first.header.journal_id != journal_id
        {
            return Err(PersistError::SegmentHeader {
                segment: first.header.name(),
                reason: "it belongs to another journal than the epoch file".to_string(),
            });
        }
        Ok(())
    }
}

fn read_epoch(storage: &dyn Storage) -> Result<EpochMark, PersistError> {
    let bytes = match read_whole(storage, EPOCH_NAME) {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => return Ok(EpochMark::Damaged),
        bytes => bytes.map_err(PersistError::io("read", EPOCH_NAME))?,
    };
    let Ok((block, _)) = EpochBlock::read_from_prefix(&bytes) else { return Ok(EpochMark::Damaged) };
    if bytes.len() != BLOCK_LEN || block.magic != EPOCH_MAGIC || checksum::crc(&bytes[12..]) != block.crc32c {
        return Ok(EpochMark::Damaged);
    }
    Ok(EpochMark::Known { journal_id: block.journal_id, epoch: block.epoch })
}

/// Makes `epoch` the last one begun.
pub(crate) fn write_epoch(
    storage: &dyn Storage,
    journal_id: [u8; 16],
    epoch: u32,
) -> Result<(), PersistError> {
    let mut bytes = Buffer::zeroed(BLOCK_LEN);
    let block = EpochBlock { magic: EPOCH_MAGIC, crc32c: 0, epoch, journal_id };
    bytes[..size_of::<EpochBlock>()].copy_from_slice(block.as_bytes());
    let crc = checksum::crc(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    write_whole(storage, EPOCH_NAME, &[&bytes]).map_err(PersistError::io("write", EPOCH_NAME))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::SCHEMA;
    use crate::format::segment::MAGIC;

    #[test]
    fn a_state_needs_the_segment_that_its_snapshot_ends_in() {
        let header = SegmentHeader {
            magic: MAGIC,
            crc32c: 0,
            schema: SCHEMA,
            mode: 0,
            journal_id: [7; 16],
            number: 2,
            first_seq: 11,
            entering_chain: 1,
            segment_len: 1 << 20,
            epoch: 1,
            engine_version: 1,
            entering_time_ns: 0,
        };
        let of = |header| Survey {
            segments: vec![ReadHeader { header, is_degraded: false }],
            epoch: EpochMark::Known { journal_id: [7; 16], epoch: 1 },
            ..Survey::default()
        };
        let later = of(header);
        assert!(later.check_start(Some(("s", 11)), &[]).is_ok());
        assert!(
            later.check_start(Some(("s", 10)), &[]).is_err(),
            "its last command stands in the segment before"
        );
        assert!(later.check_start(None, &[]).is_err(), "ten commands are missing");
        assert!(of(SegmentHeader { number: 1, first_seq: 1, ..header }).check_start(None, &[]).is_ok());

        let begun = Survey { segments: Vec::new(), ..later };
        assert!(begun.check_start(None, &[]).is_err(), "the epoch file knows of a journal");
        let damaged = Survey { epoch: EpochMark::Damaged, ..Survey::default() };
        assert!(damaged.check_start(None, &[]).is_err());
        let left = Survey { snapshots: vec!["s".to_string()], ..Survey::default() };
        assert!(left.check_start(None, &[]).is_err(), "a snapshot knows of one");
        assert!(Survey::default().check_start(None, &[]).is_ok());
    }
}
