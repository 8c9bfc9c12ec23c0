//! The file `mirror` in a journal's folder: whoever finds it there does not write a journal of its own. And promotion, which takes
//! it away.
//!
//! ```text
//!   0 magic [8] | 8 crc32c u32 (of bytes 12..4096) | 12 flags u32 (bit 0: replies waited for this mirror)
//!  16 leader u64 (the last command that the leader had when it was heard last) | 24 time_ns i64 (when that was)
//! ```

use crate::error::PersistError;
use crate::format::checksum;
use crate::read::survey::{EpochMark, survey, write_epoch};
use crate::read::tail::walk;
use crate::storage::{BLOCK_LEN, Buffer, Storage, read_whole, write_whole};
use ringside_core::ids::Sequence;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Name of the file.
pub(crate) const NAME: &str = "mirror";
const MAGIC: [u8; 8] = *b"RINGMRK1";
/// What is said to whoever would write a journal of its own there.
pub(crate) const NOT_OWN: &str = "this folder is a mirror's: its journal goes on with what its leader sends, and with nothing else. Start it \
                                  with `mirror_of`; or, if the leader is gone for good, make a leader of it by `ringside promote`";

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Block {
    magic: [u8; 8],
    crc32c: u32,
    flags: u32,
    leader: u64,
    time_ns: i64,
}

/// What a mirror knows of its leader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Replies waited for this mirror.
    pub is_awaited: bool,
    /// The last command that the leader had when it was heard last.
    pub leader: Sequence,
    /// When that was, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
}

/// Writes it.
pub(crate) fn write(storage: &dyn Storage, mark: &Mark) -> Result<(), PersistError> {
    let mut bytes = Buffer::zeroed(BLOCK_LEN);
    let block = Block {
        magic: MAGIC,
        crc32c: 0,
        flags: u32::from(mark.is_awaited),
        leader: mark.leader,
        time_ns: mark.time_ns,
    };
    bytes[..size_of::<Block>()].copy_from_slice(block.as_bytes());
    let crc = checksum::crc(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    write_whole(storage, NAME, &[&bytes]).map_err(PersistError::io("write", NAME))
}

/// What it says; `None` where it cannot be read. Without one that is an error: ask the survey first.
fn read(storage: &dyn Storage) -> Option<Mark> {
    let bytes = read_whole(storage, NAME).ok()?;
    let (block, _) = Block::read_from_prefix(&bytes).ok()?;
    let is_sound = block.magic == MAGIC && checksum::crc(&bytes[12..]) == block.crc32c;
    is_sound.then_some(Mark {
        is_awaited: block.flags & 1 != 0,
        leader: block.leader,
        time_ns: block.time_ns,
    })
}

/// What came of a promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Promoted {
    /// The last command that was mirrored.
    pub sequence: Sequence,
    /// Its time, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// The epoch that is over: the next start begins a higher one than a start of the old leader would.
    pub epoch: u32,
    /// What the mirror knew of its leader; `None` where its mark cannot be read.
    pub mark: Option<Mark>,
}

/// Makes a leader's journal of a mirror's, whose folder is locked: reads and checks all of it, raises the epoch, takes the mark away.
///
/// Errors: it is no mirror's, or there is no journal; damage; I/O.
pub fn promote(storage: &dyn Storage) -> Result<Promoted, PersistError> {
    let survey = survey(storage)?;
    if !survey.is_mirror {
        let reason = "this is no mirror's folder: there is nothing to promote".to_string();
        return Err(PersistError::Mirror { reason });
    }
    let Some(first) = survey.segments.first() else {
        let reason = "nothing was mirrored here yet".to_string();
        return Err(PersistError::Missing { reason });
    };
    let journal_id = first.header.journal_id;
    let walked = walk(storage, &survey, 0, None, |_, _| Ok(()))?;
    let marked = match survey.epoch {
        EpochMark::Known { epoch, .. } => epoch,
        EpochMark::Absent | EpochMark::Damaged => 0,
    };
    let epoch = marked.max(walked.epoch) + 1;
    write_epoch(storage, journal_id, epoch)?;
    let mark = read(storage);
    storage.remove(NAME).map_err(PersistError::io("remove", NAME))?;
    storage.sync_directory().map_err(PersistError::io("sync", "the directory"))?;
    let last = walked.end.last;
    Ok(Promoted { sequence: last.sequence, time_ns: last.time_ns, epoch, mark })
}
