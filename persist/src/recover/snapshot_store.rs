//! Snapshots on disk: the engine's state, the views and what stands beside the commands at one sequence, each section under a
//! digest of its own.
//!
//! ```text
//!   0     header, one block of 4096 bytes, zeros from byte 152
//!   4096  sections in the order of their numbers, each padded with zeros to a block
//! ```
//!
//! The header:
//!
//! ```text
//!   0 magic [8] | 8 crc32c u32 (of bytes 12..4096) | 12 format u16 | 14 zero u16 | 16 journal id [16]
//!  32 sequence u64 | 40 mark u64 (of the record of `sequence`) | 48 time_ns i64 | 56 epoch u32
//!  60 engine_version u32 | 64 state_hash [16] | 80 engine: len u64, digest [16] | 104 views: len u64, digest [16]
//! 128 entries beside the commands: len u64, digest [16]; format 1 has none, and is written where there are none
//! ```
//!
//! A snapshot is written aside, synced, renamed, its directory synced, then read back past the page cache and
//! compared. This file does not know what is in the sections.

use crate::error::PersistError;
use crate::format::checksum;
use crate::storage::{BLOCK_LEN, Buffer, Storage, read_whole, write_whole_unless};
use ringside_core::ids::Sequence;
use ringside_core::side::{NoSideStore, SideStore};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

const MAGIC: [u8; 8] = *b"RINGSNP1";
/// The first, without entries beside the commands, and the one with them.
const FORMATS: [u16; 2] = [1, 2];

/// What a snapshot is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Of the journal.
    pub journal_id: [u8; 16],
    /// The last command in it.
    pub sequence: Sequence,
    /// [`mark`](crate::format::record::Record::mark) of its record in the journal.
    pub mark: u64,
    /// Time of that command.
    pub time_ns: i64,
    /// Epoch of that command.
    pub epoch: u32,
    /// Version of the engine that made it.
    pub engine_version: u32,
    /// The engine's state hash.
    pub state_hash: [u8; 16],
}

/// A snapshot read back and found sound.
pub struct Snapshot {
    /// What it is of.
    pub moment: Moment,
    bytes: Buffer,
    engine: (usize, usize),
    views: (usize, usize),
    side: (usize, usize),
}

impl Snapshot {
    /// The engine's section.
    pub fn engine(&self) -> &[u8] {
        &self.bytes[self.engine.0..self.engine.1]
    }

    /// The views' section.
    pub fn views(&self) -> &[u8] {
        &self.bytes[self.views.0..self.views.1]
    }

    /// What stood beside the commands: all through its sequence, and perhaps some of what came before the next command.
    ///
    /// Errors: bytes that are none of it.
    pub fn side(&self) -> Result<SideStore, NoSideStore> {
        match &self.bytes[self.side.0..self.side.1] {
            [] => Ok(SideStore::default()),
            bytes => SideStore::load(bytes),
        }
    }

    /// Bytes of the file.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: there is always a header.
    pub fn is_empty(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Head {
    magic: [u8; 8],
    crc32c: u32,
    format: u16,
    zero: u16,
    journal_id: [u8; 16],
    sequence: u64,
    mark: u64,
    time_ns: i64,
    epoch: u32,
    engine_version: u32,
    state_hash: [u8; 16],
    sections: [Section; 3],
}

const _: () = assert!(size_of::<Head>() == 80 + 3 * 24);

/// One section: its bytes, and the first 128 bits of BLAKE3 over it and its padding. Of a third that is not there: zeros.
#[derive(Clone, Copy, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Section {
    len: u64,
    digest: [u8; 16],
}

/// File name of the snapshot at `sequence`.
pub fn name_of(sequence: Sequence) -> String {
    format!("{sequence:020}.snapshot")
}

/// Sequence of the snapshot of that name; `None` for other files.
pub fn sequence_of(name: &str) -> Option<Sequence> {
    let digits = name.strip_suffix(".snapshot")?;
    (digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit())).then(|| digits.parse().ok())?
}

/// Writes a snapshot and reads it back. Gives its name and length.
///
/// Errors: I/O (the file is then taken away); what is read back is not what was written.
pub fn write(
    storage: &dyn Storage,
    moment: &Moment,
    engine: &[u8],
    views: &[u8],
    side: &SideStore,
) -> Result<(String, u64), PersistError> {
    let written = write_unless(storage, moment, engine, views, side, &|| false)?;
    Ok(written.unwrap_or_else(|| unreachable!("it is not given up")))
}

/// The same, unless it is given up on the way: then nothing is there.
pub(crate) fn write_unless(
    storage: &dyn Storage,
    moment: &Moment,
    engine: &[u8],
    views: &[u8],
    side: &SideStore,
    is_given_up: &dyn Fn() -> bool,
) -> Result<Option<(String, u64)>, PersistError> {
    let name = name_of(moment.sequence);
    let engine = padded(engine);
    let views = padded(views);
    let mut bytes = Vec::new();
    if !side.is_empty() {
        side.save(&mut bytes);
    }
    let side = padded(&bytes);
    let section =
        |(bytes, len): &(Buffer, usize)| Section { len: *len as u64, digest: checksum::digest(bytes) };
    let head = Head {
        magic: MAGIC,
        crc32c: 0,
        format: FORMATS[usize::from(side.1 > 0)],
        zero: 0,
        journal_id: moment.journal_id,
        sequence: moment.sequence,
        mark: moment.mark,
        time_ns: moment.time_ns,
        epoch: moment.epoch,
        engine_version: moment.engine_version,
        state_hash: moment.state_hash,
        sections: [
            section(&engine),
            section(&views),
            if side.1 > 0 { section(&side) } else { Section::default() },
        ],
    };
    let mut block = Buffer::zeroed(BLOCK_LEN);
    block[..size_of::<Head>()].copy_from_slice(head.as_bytes());
    let crc = checksum::crc(&block[12..]);
    block[8..12].copy_from_slice(&crc.to_le_bytes());

    if let Err(error) =
        write_whole_unless(storage, &name, &[&block, &engine.0, &views.0, &side.0], is_given_up)
    {
        // It must not keep room on a full disk. The error is the one to report.
        let _ = storage.remove(&format!("{name}.tmp"));
        return match error.kind() {
            std::io::ErrorKind::Interrupted => Ok(None),
            _ => Err(PersistError::io("write", &name)(error)),
        };
    }
    let check = read(storage, &name).and_then(|snapshot| {
        let reason = || "it reads back as another one".to_string();
        let is_same = snapshot.moment == *moment;
        is_same
            .then_some(snapshot.len())
            .ok_or_else(|| PersistError::Snapshot { file: name.clone(), reason: reason() })
    });
    match check {
        Ok(len) => Ok(Some((name, len as u64))),
        Err(error) => {
            // A damaged one would only be refused at the next start.
            let _ = storage.remove(&name);
            Err(error)
        }
    }
}

/// Reads the snapshot `name` and checks every byte of it.
///
/// Errors: I/O; [`PersistError::Snapshot`] for damage, another format, a name that does not fit.
pub fn read(storage: &dyn Storage, name: &str) -> Result<Snapshot, PersistError> {
    read_as(storage, name, name)
}

/// The same of a file that does not bear its name yet.
pub(crate) fn read_as(storage: &dyn Storage, file: &str, name: &str) -> Result<Snapshot, PersistError> {
    let damaged =
        |reason: &str| PersistError::Snapshot { file: name.to_string(), reason: reason.to_string() };
    let bytes = match read_whole(storage, file) {
        Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            return Err(damaged("it is cut short"));
        }
        bytes => bytes.map_err(PersistError::io("read", name))?,
    };
    let (head, _) = Head::read_from_prefix(&bytes).map_err(|_| damaged("it is cut short"))?;
    if head.magic != MAGIC {
        return Err(damaged("it does not start as a snapshot does"));
    }
    if checksum::crc(&bytes[12..BLOCK_LEN]) != head.crc32c {
        return Err(damaged("the checksum of its header does not match"));
    }
    if !FORMATS.contains(&head.format) {
        return Err(damaged(&format!("format {} is not one this version knows", head.format)));
    }
    if name != name_of(head.sequence) {
        return Err(damaged(&format!("it is the snapshot of sequence {}", head.sequence)));
    }
    let mut start = BLOCK_LEN;
    let is_first = head.format == FORMATS[0];
    let (sections, rest) = head.sections.split_at(if is_first { 2 } else { 3 });
    if rest.iter().any(|section| *section != Section::default()) {
        return Err(damaged("its header says more than its format has"));
    }
    let mut places = [(0, 0); 3];
    for (index, section) in sections.iter().enumerate() {
        let len = usize::try_from(section.len).ok().filter(|len| *len <= bytes.len() - start);
        let len = len.ok_or_else(|| damaged(&format!("section {index} is cut short")))?;
        let end = start + len.next_multiple_of(BLOCK_LEN);
        if checksum::digest(&bytes[start..end]) != section.digest {
            return Err(damaged(&format!("the digest of section {index} does not match")));
        }
        places[index] = (start, start + len);
        start = end;
    }
    if start != bytes.len() {
        return Err(damaged("it is longer than its sections"));
    }
    let moment = Moment {
        journal_id: head.journal_id,
        sequence: head.sequence,
        mark: head.mark,
        time_ns: head.time_ns,
        epoch: head.epoch,
        engine_version: head.engine_version,
        state_hash: head.state_hash,
    };
    Ok(Snapshot { moment, bytes, engine: places[0], views: places[1], side: places[2] })
}

/// The bytes with zeros to whole blocks, and their own number.
fn padded(bytes: &[u8]) -> (Buffer, usize) {
    let mut blocks = Buffer::zeroed(bytes.len());
    blocks[..bytes.len()].copy_from_slice(bytes);
    (blocks, bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::faulty::Faulty;
    use ringside_core::side::SideEntry;

    const MOMENT: Moment = Moment {
        journal_id: [1; 16],
        sequence: 77,
        mark: 2,
        time_ns: 3,
        epoch: 4,
        engine_version: 5,
        state_hash: [6; 16],
    };

    #[test]
    fn sections_come_back() {
        let storage = Faulty::new(1);
        for (engine, views, sides) in [(5000, 0, 0), (0, 1, 1), (4096, 4097, 0), (0, 0, 100)] {
            let (engine, views) = (vec![7; engine], vec![8; views]);
            let mut side = SideStore::default();
            for id in 0..sides {
                side.apply(SideEntry::put(1, &[id], vec![id; 50]));
            }
            let (name, len) = write(&storage, &MOMENT, &engine, &views, &side).unwrap();
            assert_eq!(len as usize, read(&storage, &name).unwrap().len());
            let snapshot = read(&storage, &name).unwrap();
            assert_eq!(
                (snapshot.moment, snapshot.engine(), snapshot.views(), snapshot.side()),
                (MOMENT, &engine[..], &views[..], Ok(side))
            );
        }
    }

    #[test]
    fn one_that_is_given_up_leaves_nothing() {
        let storage = Faulty::new(1);
        for pieces in 0..3 {
            let left = std::cell::Cell::new(pieces);
            let is_given_up = || left.replace(left.get() - 1) == 0;
            let side = SideStore::default();
            let written = write_unless(&storage, &MOMENT, &[7; 5000], &[8; 5000], &side, &is_given_up);
            assert_eq!(written.unwrap(), None);
            assert_eq!(storage.list().unwrap(), Vec::<String>::new());
        }
        let written =
            write_unless(&storage, &MOMENT, &[7; 5000], &[8; 5000], &SideStore::default(), &|| false);
        assert!(written.unwrap().is_some());
    }
}
