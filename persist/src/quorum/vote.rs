//! The file `member` in a journal's folder: who this member is, and what it may not forget of elections.
//!
//! Two copies of one block, written in place, the second once the first is durable: a write needs no room on the disk, and one that is
//! torn leaves the other. Before either is gone by they are made equal, so that what was promised stands in both.
//!
//! ```text
//!   0 magic [8] | 8 crc32c u32 (of bytes 12..4096) | 12 turn u32, of two the greater counts | 16 cluster [16] | 32 member u64
//!  40 term u64 | 48 vote u64 | 56 commit u64 | 64 cut_segment u64 | 72 cut_offset u64 | 80 install u64 | 88 joined u64
//! ```
//! Files of before have one copy.
//!
//! A folder without it cannot vote: an emptied one would elect leaders that know nothing of what it acknowledged.

use crate::error::PersistError;
use crate::format::checksum;
use crate::read::survey::survey;
use crate::read::tail::walk;
use crate::storage::{Access, BLOCK_LEN, Buffer, Storage, read_whole, write_whole};
use crate::write::append::random_id;
use crate::write::status::Position;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Name of the file.
pub(crate) const NAME: &str = "member";
const MAGIC: [u8; 8] = *b"RINGVOT1";
const COPIES: usize = 2;
/// What is said to whoever would write a journal of its own there.
pub(crate) const NOT_ALONE: &str =
    "this folder is a member's of a cluster: start it with `cluster_member`, as the others are";
/// What is said where the file is missing.
pub(crate) const NO_MEMBER: &str = "this folder is no member's of a cluster: an empty one could elect a leader that knows nothing of what \
                                    it acknowledged. A new cluster begins with `ringside cluster init` on each host; whoever \
                                    has lost a disk comes back under another number: `ringside cluster init --join`, then \
                                    `ringside cluster replace` where the others run";

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Block {
    magic: [u8; 8],
    crc32c: u32,
    turn: u32,
    cluster: [u8; 16],
    member: u64,
    term: u64,
    vote: u64,
    commit: u64,
    cut_segment: u64,
    cut_offset: u64,
    install: u64,
    joined: u64,
}

/// What it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vote {
    /// Id of the cluster, which is its journal's.
    pub cluster: [u8; 16],
    /// The member's number.
    pub member: u64,
    /// The highest term that it knows of.
    pub term: u64,
    /// Whom it voted for in it; 0: nobody.
    pub vote: u64,
    /// A batch that is known to be agreed on, and all before it; later ones may be.
    pub commit: u64,
    /// The journal is being cut there, since others agreed on something else.
    pub(crate) cut: Option<Position>,
    /// Another journal takes the place of this one.
    pub(crate) install: Option<Stage>,
    /// It came to a cluster that was there: it is a member once the journal says so.
    pub(crate) is_joined: bool,
    /// Rises with each write.
    turn: u32,
}

/// How far a journal that lies aside has come into its place. Each step is done again where it was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(crate) enum Stage {
    /// What stood there is being removed.
    Removes = 1,
    /// What lies aside is being given its names.
    Moves = 2,
}

/// Writes it, durably.
pub(crate) fn write(storage: &dyn Storage, vote: &mut Vote) -> Result<(), PersistError> {
    vote.turn += 1;
    write_copies(storage, vote, 0..COPIES)
}

/// Writes these copies of it, each once the one before is durable.
fn write_copies(
    storage: &dyn Storage,
    vote: &Vote,
    mut copies: impl Iterator<Item = usize>,
) -> Result<(), PersistError> {
    let bytes = encode(vote);
    let mut write = || {
        let file = storage.open(NAME, Access::Repair)?;
        copies.try_for_each(|copy| {
            file.write_at((copy * BLOCK_LEN) as u64, &bytes)?;
            file.sync()
        })
    };
    write().map_err(PersistError::io("write", NAME))
}

fn encode(vote: &Vote) -> Buffer {
    let mut bytes = Buffer::zeroed(BLOCK_LEN);
    let cut = vote.cut.unwrap_or(Position { segment: 0, offset: 0 });
    let block = Block {
        magic: MAGIC,
        crc32c: 0,
        turn: vote.turn,
        cluster: vote.cluster,
        member: vote.member,
        term: vote.term,
        vote: vote.vote,
        commit: vote.commit,
        cut_segment: cut.segment,
        cut_offset: cut.offset,
        install: vote.install.map_or(0, |stage| stage as u64),
        joined: u64::from(vote.is_joined),
    };
    bytes[..size_of::<Block>()].copy_from_slice(block.as_bytes());
    let crc = checksum::crc(&bytes[12..]);
    bytes[8..12].copy_from_slice(&crc.to_le_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Vote> {
    let (block, _) = Block::read_from_prefix(bytes).ok()?;
    if block.magic != MAGIC || checksum::crc(&bytes[12..]) != block.crc32c {
        return None;
    }
    let cut = Position { segment: block.cut_segment, offset: block.cut_offset };
    let install = match block.install {
        0 => None,
        1 => Some(Stage::Removes),
        2 => Some(Stage::Moves),
        _ => return None,
    };
    Some(Vote {
        cluster: block.cluster,
        member: block.member,
        term: block.term,
        vote: block.vote,
        commit: block.commit,
        cut: (cut.segment > 0).then_some(cut),
        install,
        is_joined: block.joined != 0,
        turn: block.turn,
    })
}

/// The same as [`read`], by which the member goes from here on: both copies say so. Only what says something else is written, for a write
/// that is torn again must leave the other.
///
/// Errors: as there.
pub(crate) fn open(storage: &dyn Storage) -> Result<Vote, PersistError> {
    let (vote, bytes) = look(storage)?;
    if bytes.len() != COPIES * BLOCK_LEN {
        make(storage, &vote)?;
        return Ok(vote);
    }
    let others = bytes.chunks(BLOCK_LEN).map(decode).enumerate().filter(|(_, copy)| *copy != Some(vote));
    write_copies(storage, &vote, others.map(|(copy, _)| copy))?;
    Ok(vote)
}

/// What the folder's file says.
///
/// Errors: there is none; it is damaged; I/O.
pub fn read(storage: &dyn Storage) -> Result<Vote, PersistError> {
    Ok(look(storage)?.0)
}

/// What counts, and the whole file.
fn look(storage: &dyn Storage) -> Result<(Vote, Buffer), PersistError> {
    let bytes = match read_whole(storage, NAME) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(PersistError::Member { reason: NO_MEMBER.to_string() });
        }
        read => read.map_err(PersistError::io("read", NAME))?,
    };
    let copies = bytes.chunks(BLOCK_LEN).take(COPIES).filter_map(decode);
    let newest = copies.max_by_key(|vote| vote.turn).ok_or_else(|| PersistError::Member {
        reason: format!(
            "the file `{NAME}` is damaged, and with it what this member voted: it comes back under another number, with an empty folder \
             (`ringside cluster init --join`, then `ringside cluster replace` where the others run)"
        ),
    })?;
    Ok((newest, bytes))
}

/// Makes the locked folder that of member `member`. A journal that is there stays, and its id is the cluster's; otherwise the id is
/// `cluster`, or one drawn at random. Gives the id. In the terms of a journal that is there it has voted: for nobody else.
///
/// Errors: the folder is a member's or a mirror's already; the journal is of another id than `cluster`; I/O.
pub fn init(storage: &dyn Storage, member: u64, cluster: Option<[u8; 16]>) -> Result<[u8; 16], PersistError> {
    let vote = first(storage, member, cluster)?;
    make(storage, &vote)?;
    Ok(vote.cluster)
}

fn make(storage: &dyn Storage, vote: &Vote) -> Result<(), PersistError> {
    let bytes = encode(vote);
    let copies: [&[u8]; COPIES] = [&bytes; COPIES];
    write_whole(storage, NAME, &copies).map_err(PersistError::io("write", NAME))
}

fn first(storage: &dyn Storage, member: u64, cluster: Option<[u8; 16]>) -> Result<Vote, PersistError> {
    let survey = survey(storage)?;
    survey.check_own(false)?;
    let found = survey.segments.first().map(|read| read.header.journal_id);
    let cluster = match (found, cluster) {
        (Some(found), Some(wanted)) if found != wanted => {
            let reason = "the journal in this folder is of another id than the cluster: it is no copy of the first member's";
            return Err(PersistError::Member { reason: reason.to_string() });
        }
        (Some(id), _) | (None, Some(id)) => id,
        (None, None) => random_id().map_err(PersistError::io("read", "/dev/urandom"))?,
    };
    let (term, vote) = match survey.segments.is_empty() {
        true => (0, 0),
        false => (u64::from(walk(storage, &survey, 0, None, |_, _| Ok(()))?.epoch), member),
    };
    Ok(Vote { cluster, member, term, vote, commit: 0, cut: None, install: None, is_joined: false, turn: 0 })
}

/// Makes the locked, empty folder that of one who comes to a cluster that is there, under a number that was nobody's.
///
/// Errors: there is a journal; as [`init`].
pub fn join(storage: &dyn Storage, member: u64, cluster: [u8; 16]) -> Result<(), PersistError> {
    if !survey(storage)?.segments.is_empty() {
        let reason =
            "there is a journal in this folder: whoever comes to a cluster fetches that of the others";
        return Err(PersistError::Member { reason: reason.to_string() });
    }
    let vote = first(storage, member, Some(cluster))?;
    make(storage, &Vote { is_joined: true, ..vote })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty::{Faulty, Plan};

    fn voted(disk: &Faulty, term: u64) -> Vote {
        let mut vote = open(disk).unwrap();
        (vote.term, vote.vote) = (term, 2);
        write(disk, &mut vote).unwrap();
        vote
    }

    #[test]
    fn what_was_promised_outlives_a_torn_write_and_the_loss_of_either_copy() {
        let mut again = 0;
        for seed in 0..600 {
            let disk = Faulty::new(seed);
            init(&disk, 1, Some([7; 16])).unwrap();
            let kept = voted(&disk, 5);
            let cut_at = Some(disk.calls() + 1 + seed % 6);
            disk.plan(Plan { cut_at, ..Plan::default() });
            let mut next = Vote { term: 6, vote: 3, ..kept };
            let is_kept = write(&disk, &mut next).is_ok();
            let mut disk = disk.power_cut(seed);
            // Once more while the copies are made equal.
            if seed % 3 > 0 {
                let cut_at = Some(disk.calls() + 1 + seed / 3 % 6);
                disk.plan(Plan { cut_at, ..Plan::default() });
                again += u64::from(open(&disk).is_err());
                disk = disk.power_cut(seed + 1);
            }
            let found = open(&disk).unwrap();
            assert!(found.term == 6 || !is_kept && found.term == 5, "seed {seed}: {found:?}");
            // Once it has gone by that, nothing less is found.
            for copy in 0..2 {
                let rotten = disk.process_end();
                rotten.tamper(NAME, |bytes| bytes[copy * BLOCK_LEN + 40] ^= 1);
                let healed = open(&rotten).unwrap();
                assert_eq!((healed.term, healed.vote), (found.term, found.vote), "seed {seed}, copy {copy}");
                assert_eq!(
                    rotten.bytes(NAME).unwrap()[..BLOCK_LEN],
                    rotten.bytes(NAME).unwrap()[BLOCK_LEN..]
                );
            }
            disk.tamper(NAME, |bytes| (bytes[40], bytes[BLOCK_LEN + 40]) = (99, 99));
            assert!(read(&disk).is_err(), "seed {seed}: it goes by a copy that is none");
        }
        assert!(again > 100, "the power was cut {again} times while they were made equal");
    }

    #[test]
    fn it_needs_no_room_and_one_copy_of_before_becomes_two() {
        let disk = Faulty::new(1);
        init(&disk, 1, Some([7; 16])).unwrap();
        voted(&disk, 5);
        disk.tamper(NAME, |bytes| bytes.truncate(BLOCK_LEN));
        assert_eq!((open(&disk).unwrap().term, disk.bytes(NAME).unwrap().len()), (5, 2 * BLOCK_LEN));
        disk.plan(Plan { capacity: Some(0), ..Plan::default() });
        assert_eq!(voted(&disk, 6), read(&disk).unwrap());
    }
}
