//! One file of the journal: its name and its header.
//!
//! ```text
//!   0       first copy of the header, one block of 4096 bytes
//!   4096    second copy
//!   8192    records, to the end of the file
//! ```
//!
//! The header, zeros from byte 80 to 4096:
//!
//! ```text
//!   0 magic [8] | 8 crc32c u32 (of bytes 12..4096) | 12 schema u16 | 14 mode u16 | 16 journal id [16]
//!  32 number u64 | 40 first_seq u64 | 48 entering_chain u64 | 56 segment_len u64 | 64 epoch u32
//!  68 engine_version u32 | 72 entering_time_ns i64
//! ```
//!
//! A segment that is followed by another is full to its last byte (pads close the end), so every byte of it stands
//! under a checksum. It gets its name only after everything before it was durable and its header was: a segment
//! that exists proves the one before it complete.

use crate::error::PersistError;
use crate::format::checksum::{self, Salt};
use crate::format::record::{self, Last};
use crate::storage::{Access, BLOCK_LEN, Buffer, File, Storage};
use ringside_core::ids::Sequence;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Byte of a segment at which its records start.
pub const DATA_START: u64 = 2 * BLOCK_LEN as u64;
/// First bytes of a segment.
pub const MAGIC: [u8; 8] = *b"RINGSEG1";

/// The header; see the drawing above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct SegmentHeader {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// Of the rest of the block.
    pub crc32c: u32,
    /// Schema of its first records; later ones may be of a later one.
    pub schema: u16,
    /// A [`crate::config::Mode`]: what replies waited for when it was begun.
    pub mode: u16,
    /// Drawn at random when the journal was made.
    pub journal_id: [u8; 16],
    /// From 1, dense.
    pub number: u64,
    /// Sequence of the first command in it.
    pub first_seq: Sequence,
    /// Chain that the records of its first batch carry; where those are of the first schema, its first record.
    pub entering_chain: u64,
    /// Bytes of the file.
    pub segment_len: u64,
    /// Of the process that made it.
    pub epoch: u32,
    /// Of the engine that decided its commands.
    pub engine_version: u32,
    /// Time of the last command before it.
    pub entering_time_ns: i64,
}

const _: () = assert!(size_of::<SegmentHeader>() == 80);

impl SegmentHeader {
    /// Salt of its records.
    pub fn salt(&self) -> Salt {
        Salt::new(&self.journal_id, self.number)
    }

    /// The last command before it.
    pub fn entering(&self) -> Last {
        Last { sequence: self.first_seq - 1, time_ns: self.entering_time_ns }
    }

    /// Its file name.
    pub fn name(&self) -> String {
        name_of(self.first_seq)
    }

    /// Both copies as they stand in the file.
    pub fn encode(&self) -> Buffer {
        let mut blocks = Buffer::zeroed(DATA_START as usize);
        let (first, second) = blocks.split_at_mut(BLOCK_LEN);
        first[..size_of::<SegmentHeader>()].copy_from_slice(self.as_bytes());
        let crc = checksum::crc(&first[12..]);
        first[8..12].copy_from_slice(&crc.to_le_bytes());
        second.copy_from_slice(first);
        blocks
    }

    /// One copy, if it is sound.
    pub fn decode(block: &[u8]) -> Result<SegmentHeader, &'static str> {
        let (header, _) = SegmentHeader::read_from_prefix(block).map_err(|_| "it is too short")?;
        if header.magic != MAGIC {
            return Err("it does not start as a segment does");
        }
        if checksum::crc(&block[12..BLOCK_LEN]) != header.crc32c {
            return Err("its checksum does not match");
        }
        Ok(header)
    }
}

/// A header as read, and whether both copies were sound.
#[derive(Clone, Copy, Debug)]
pub struct ReadHeader {
    /// The header.
    pub header: SegmentHeader,
    /// One copy was not; the other stood in.
    pub is_degraded: bool,
}

/// Reads the header of the segment `name` and checks what it says about itself.
///
/// Errors: both copies damaged, copies that differ, a schema this version does not know, a name or length that
/// contradicts it.
pub fn read_header(file: &dyn File, name: &str) -> Result<ReadHeader, PersistError> {
    let damaged = |reason: String| PersistError::SegmentHeader { segment: name.to_string(), reason };
    let len = file.len().map_err(PersistError::io("size", name))?;
    if len < DATA_START {
        return Err(damaged(format!("the file has only {len} bytes")));
    }
    let mut blocks = Buffer::zeroed(DATA_START as usize);
    file.read_at(0, &mut blocks).map_err(PersistError::io("read", name))?;
    let (first, second) = blocks.split_at(BLOCK_LEN);
    let (header, is_degraded) = match (SegmentHeader::decode(first), SegmentHeader::decode(second)) {
        (Ok(first), Ok(second)) if first == second => (first, false),
        (Ok(_), Ok(_)) => return Err(damaged("its two copies differ".to_string())),
        (Ok(header), Err(_)) | (Err(_), Ok(header)) => (header, true),
        (Err(first), Err(second)) => {
            return Err(damaged(format!("first copy: {first}; second copy: {second}")));
        }
    };
    check(&header).map_err(&damaged)?;
    if header.name() != name {
        return Err(damaged(format!("it belongs to {}", name_of(header.first_seq))));
    }
    if header.segment_len != len || !len.is_multiple_of(BLOCK_LEN as u64) {
        return Err(damaged(format!("the file has {len} bytes, not {}", header.segment_len)));
    }
    Ok(ReadHeader { header, is_degraded })
}

/// Whether a header says what this version can read.
///
/// Errors: what is wrong, in words.
pub fn check(header: &SegmentHeader) -> Result<(), String> {
    if !record::is_known(header.schema) {
        let (found, own) = (header.schema, record::SCHEMA);
        return Err(format!("schema {found} is not one this version knows (up to {own})"));
    }
    if header.first_seq == 0 {
        return Err("it names no first command".to_string());
    }
    let block = BLOCK_LEN as u64;
    if !header.segment_len.is_multiple_of(block)
        || !(DATA_START + block..=1 << 32).contains(&header.segment_len)
    {
        return Err(format!("{} bytes are no length of a segment", header.segment_len));
    }
    Ok(())
}

/// File name of the segment whose first command is `first_seq`.
pub fn name_of(first_seq: Sequence) -> String {
    format!("{first_seq:020}.journal")
}

/// First command of the segment of that name; `None` for other files.
pub fn first_seq_of(name: &str) -> Option<Sequence> {
    let digits = name.strip_suffix(".journal")?;
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// File name of an allocated segment that is not in use yet.
pub fn spare_name(number: u64) -> String {
    format!("{number:06}.spare")
}

/// Number of the spare of that name; `None` for other files.
pub fn spare_number_of(name: &str) -> Option<u64> {
    name.strip_suffix(".spare")?.parse().ok()
}

/// Makes the file `name` with all of its `len` bytes allocated, written as zeros and synced, and its directory
/// entry synced. On an error the file is taken away again.
pub fn allocate(storage: &dyn Storage, name: &str, len: u64) -> Result<(), PersistError> {
    let result = storage.create(name).map_err(PersistError::io("create", name)).and_then(|_| {
        let file = storage.open(name, Access::Fill).map_err(PersistError::io("open", name))?;
        zero(file.as_ref(), name, 0, len)?;
        file.sync().map_err(PersistError::io("sync", name))?;
        storage.sync_directory().map_err(PersistError::io("sync", "the directory"))
    });
    if result.is_err() {
        // The first error is the one to report; a file left behind is found and used or removed at the next start.
        let _ = storage.remove(name);
    }
    result
}

/// Writes zeros from `start` to `end`.
pub fn zero(file: &dyn File, name: &str, start: u64, end: u64) -> Result<(), PersistError> {
    const CHUNK_LEN: usize = 1 << 20;
    let zeros = Buffer::zeroed(CHUNK_LEN.min((end - start) as usize));
    let mut offset = start;
    while offset < end {
        let len = (end - offset).min(zeros.len() as u64) as usize;
        file.write_at(offset, &zeros[..len]).map_err(PersistError::io("write", name))?;
        offset += len as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        assert_eq!(first_seq_of(&name_of(42)), Some(42));
        assert_eq!(first_seq_of(&name_of(u64::MAX)), Some(u64::MAX));
        for name in
            ["42.journal", "000001.spare", "0000000000000000004x.journal", "99999999999999999999.journal"]
        {
            assert_eq!(first_seq_of(name), None, "{name}");
        }
        assert_eq!(spare_number_of(&spare_name(7)), Some(7));
    }
}
