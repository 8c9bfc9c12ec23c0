//! Reads a segment record by record and says where it stops making sense.
//!
//! A record counts when its CRC agrees, it carries the digest of the batch before its own, its sequence is the next (of what is no
//! command: that of the last command), its epoch that of its batch and no lower than before; a seal, when it fits its batch: so every byte of that is as it was written. Until
//! its seal is seen a record counts by itself. Of one that belongs to an earlier life of the segment, cut and written anew since,
//! the epoch is another than that of its batch; of one from elsewhere in the segment the sequence or the chain; of one from
//! another segment the CRC.
//!
//! The reader does not say what a bad record means: whether a write was torn or the disk has rotted is decided in
//! [`crate::read::tail`].
//!
//! Who wants all commands rather than one after the other takes them as [`Checked`]: the memory that they were read into, once
//! everything in it counts.

mod checked;

use crate::error::PersistError;
use crate::format::checksum::{self, Salt};
use crate::format::record::{self, Class, Flaw, Last, RECORD_LEN_MAX, Record};
use crate::format::schema_1;
use crate::format::segment::{DATA_START, SegmentHeader};
use crate::storage::ahead::{Ahead, Lent};
use crate::storage::{BLOCK_LEN, Buffer, File};
pub use checked::Checked;
use ringside_core::ids::Sequence;
use std::sync::Arc;

/// Bytes read at a time.
const WINDOW_LEN: usize = 1 << 20;

/// Bytes that are hashed together, while they are near. BLAKE3 is fastest on powers of two.
const PIECE_LEN: u64 = 64 << 10;

/// Room before what is read ahead: for what is left of the stretch before it.
pub(crate) const ROOM: usize = RECORD_LEN_MAX;

/// Where a reader stands: what the next record must fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Byte of the segment.
    pub offset: u64,
    /// Chain that the next record must carry.
    pub chain: u64,
    /// The last command.
    pub last: Last,
    /// Epoch of the last record.
    pub epoch: u32,
    /// Byte at which the batch under way starts.
    pub batch_start: u64,
    /// Commands of the batch so far.
    pub batch_commands: u64,
    /// Number of the last batch in the log of a cluster; 0 where it is not known, or has none.
    pub index: u64,
}

impl Place {
    /// At the first record of a segment.
    pub(crate) fn start_of(header: &SegmentHeader) -> Place {
        Place {
            offset: DATA_START,
            chain: header.entering_chain,
            last: header.entering(),
            epoch: header.epoch,
            batch_start: DATA_START,
            batch_commands: 0,
            index: 0,
        }
    }
}

/// A record that does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bad {
    /// What is wrong with it.
    pub flaw: Flaw,
    /// Byte of the segment at which it starts.
    pub offset: u64,
    /// Sequence of the first command that cannot be had because of it.
    pub sequence: Sequence,
    /// Nothing but zeros stands in its header: what the end of a journal usually looks like. Proves nothing.
    pub is_blank: bool,
}

/// What came next.
#[derive(Debug)]
pub enum Step<'a> {
    /// A record that counts.
    Record(Record<'a>),
    /// The end of what may be read.
    End,
    /// Something else. Asked again, the reader gives the same answer.
    Bad(Bad),
}

/// Reads one segment from its start.
pub struct Reader {
    name: String,
    /// Nothing where all that is read is in memory.
    file: Option<Arc<dyn File>>,
    header: SegmentHeader,
    salt: Salt,
    limit: u64,
    place: Place,
    window: Lent,
    /// Where in the buffer the window begins.
    window_at: usize,
    window_start: u64,
    window_len: usize,
    /// What is read ahead, when that is how this segment is read.
    ahead: Option<Ahead>,
    /// Of the batch under way, up to byte `digested` of the segment; the next piece ends at `piece_end`.
    digest: blake3::Hasher,
    digested: u64,
    piece_end: u64,
    /// Whether records are asked for as [`Checked`].
    is_handing_out: bool,
    /// Where in the buffer records begin that count and were not handed out, and the last command before them.
    kept: usize,
    kept_after: Sequence,
    /// Handed out when asked for.
    checked: Option<Checked>,
}

impl Reader {
    /// Reads `file`, the segment of `header`, up to byte `limit`, a block boundary.
    pub fn new(file: Arc<dyn File>, header: SegmentHeader, limit: u64) -> Reader {
        let limit = limit.min(header.segment_len);
        let window_len = WINDOW_LEN.min((limit - DATA_START) as usize).max(BLOCK_LEN);
        Reader::with(Some(file), header, limit, Buffer::zeroed(window_len))
    }

    fn with(file: Option<Arc<dyn File>>, header: SegmentHeader, limit: u64, window: Buffer) -> Reader {
        debug_assert!(limit.is_multiple_of(BLOCK_LEN as u64));
        Reader {
            name: header.name(),
            file,
            header,
            salt: header.salt(),
            limit,
            place: Place::start_of(&header),
            window: Lent::own(window),
            window_at: 0,
            window_start: DATA_START,
            window_len: 0,
            ahead: None,
            digest: blake3::Hasher::new(),
            digested: DATA_START,
            piece_end: DATA_START + PIECE_LEN,
            is_handing_out: false,
            kept: 0,
            kept_after: header.entering().sequence,
            checked: None,
        }
    }

    /// The same for the whole segment, taking its bytes from [`DATA_START`] on from `ahead`, which leaves [`ROOM`] before each
    /// stretch. The file is still there for what is wanted twice.
    pub(crate) fn ahead(file: Arc<dyn File>, header: SegmentHeader, ahead: Ahead) -> Reader {
        // The first stretch brings the window.
        let mut reader = Reader::with(Some(file), header, header.segment_len, Buffer::zeroed(0));
        reader.ahead = Some(ahead);
        reader
    }

    /// The same for `bytes`, the first `len` of which are to be written at `place`, where a batch ended.
    pub(crate) fn of_bytes(header: SegmentHeader, place: Place, bytes: Buffer, len: usize) -> Reader {
        debug_assert_eq!(place.offset, place.batch_start);
        let mut reader = Reader::with(None, header, place.offset + len as u64, bytes);
        reader.place = place;
        (reader.window_start, reader.window_len) = (place.offset, len);
        (reader.digested, reader.piece_end) = (place.offset, place.offset + PIECE_LEN);
        reader
    }

    /// Gives back the memory that it read from.
    pub(crate) fn into_bytes(self) -> Buffer {
        self.window.into_buffer()
    }

    /// Has [`Reader::checked`] give what is stepped over. To be called before the first step.
    pub(crate) fn hand_out(&mut self) {
        self.is_handing_out = true;
    }

    /// Records that were stepped over, as soon as nothing of the memory they lie in is needed any more.
    #[inline]
    pub(crate) fn checked(&mut self) -> Option<Checked> {
        self.checked.take()
    }

    /// The last of them, when there will be no further step.
    pub(crate) fn rest(&mut self) -> Option<Checked> {
        let end = if self.window_len == 0 { self.kept } else { self.at(self.place.offset) };
        let memory = std::mem::replace(&mut self.window, Lent::own(Buffer::zeroed(0)));
        self.window_len = 0;
        self.keep(memory, end);
        self.checked.take()
    }

    /// What counts ends in `memory` at byte `end`.
    fn keep(&mut self, memory: Lent, end: usize) {
        let (before, last) = (self.kept_after, self.place.last.sequence);
        if self.is_handing_out && end > self.kept {
            self.checked = Some(Checked { memory, range: self.kept..end, before, last });
        }
        self.kept_after = last;
    }

    /// Where it stands.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The segment being read.
    pub fn header(&self) -> &SegmentHeader {
        &self.header
    }

    /// Allows reading on up to byte `limit`, a block boundary that is not lower than before.
    pub fn extend(&mut self, limit: u64) {
        let limit = limit.min(self.header.segment_len);
        debug_assert!(limit >= self.limit && limit.is_multiple_of(BLOCK_LEN as u64));
        debug_assert!(self.ahead.is_none(), "what is read ahead is read to the end");
        let window_len = WINDOW_LEN.min((limit - DATA_START) as usize);
        if window_len > self.window.len() {
            let mut window = Lent::own(Buffer::zeroed(window_len));
            window[..self.window_len].copy_from_slice(&self.window[..self.window_len]);
            self.window = window;
        }
        self.limit = limit;
    }

    /// The next record.
    ///
    /// Errors: the file cannot be read; a record that counts but is of a type this version does not know.
    #[inline]
    pub fn step(&mut self) -> Result<Step<'_>, PersistError> {
        let Place { offset, .. } = self.place;
        if offset == self.limit {
            if self.limit == self.header.segment_len && self.place.batch_start != offset {
                return Ok(Step::Bad(self.bad(Flaw::End, false)));
            }
            return Ok(Step::End);
        }
        self.fill()?;
        let at = self.at(offset);
        let bytes = &self.window[at..self.window_at + self.window_len];
        let record = match record::parse(bytes, self.salt) {
            Ok(record) => record,
            Err(flaw) => {
                let is_blank = record::is_zero(&bytes[..record::HEADER_LEN]);
                return Ok(Step::Bad(self.bad(flaw, is_blank)));
            }
        };
        let (header, class) = (record.header, record.class());
        let Place { last, epoch, batch_start, batch_commands, mut chain, .. } = self.place;
        if header.chain != chain {
            return Ok(Step::Bad(self.bad(Flaw::Chain, false)));
        }
        // A segment may be gone on with in a later schema than it was begun, not in an earlier one.
        if class == Class::Unknown || header.schema < self.header.schema {
            return Err(PersistError::UnknownRecord {
                segment: self.name.clone(),
                offset,
                sequence: header.seq,
                kind: header.kind,
                schema: header.schema,
            });
        }
        let is_command = class == Class::Command;
        if header.seq != last.sequence + u64::from(is_command) {
            return Ok(Step::Bad(self.bad(Flaw::Sequence, false)));
        }
        // In the first schema the chain says as much.
        let is_amid =
            matches!(class, Class::Command | Class::Side) && offset > batch_start && !record.is_schema_1();
        if header.epoch < epoch || header.epoch != epoch && is_amid {
            return Ok(Step::Bad(self.bad(Flaw::Epoch, false)));
        }
        let end = offset + record.bytes.len() as u64;
        if class == Class::Seal {
            let seal = record.seal();
            let rest = self.window_at + (self.digested - self.window_start) as usize..at;
            let digest = checksum::truncated(self.digest.update(&self.window[rest]).finalize());
            let follows = seal.index == 0 || self.place.index == 0 || seal.index == self.place.index + 1;
            if (seal.digest, seal.batch_len, seal.command_count)
                != (digest, offset - batch_start, batch_commands)
                || !follows
            {
                return Ok(Step::Bad(self.bad(Flaw::Seal, false)));
            }
            self.digest.reset();
            (self.digested, self.piece_end) = (end, end + PIECE_LEN);
            (self.place.batch_start, self.place.batch_commands) = (end, 0);
            self.place.index = seal.index;
            chain = checksum::chain(digest);
        } else if end >= self.piece_end {
            let piece = self.at(self.digested)..self.at(self.piece_end);
            self.digest.update(&self.window[piece]);
            self.digested = self.piece_end;
            self.piece_end += PIECE_LEN;
        }
        if is_command {
            self.place.last = Last { sequence: header.seq, time_ns: header.ts_ns };
            self.place.batch_commands += 1;
        }
        if record.is_schema_1() {
            chain = schema_1::chain_after(&record);
        }
        (self.place.offset, self.place.epoch, self.place.chain) = (end, header.epoch, chain);
        Ok(Step::Record(record))
    }

    fn bad(&self, flaw: Flaw, is_blank: bool) -> Bad {
        Bad { flaw, offset: self.place.offset, sequence: self.place.last.sequence + 1, is_blank }
    }

    /// Where in the buffer a byte of the segment is that the window holds.
    #[inline]
    fn at(&self, offset: u64) -> usize {
        self.window_at + (offset - self.window_start) as usize
    }

    /// Sees to it that the window holds the record that starts here, whatever its length may say, or all up to the limit.
    #[inline]
    fn fill(&mut self) -> Result<(), PersistError> {
        let offset = self.place.offset;
        let end = self.window_start + self.window_len as u64;
        if end == self.limit || end >= offset + RECORD_LEN_MAX as u64 {
            return Ok(());
        }
        let rest = &self.window[self.at(offset)..self.window_at + self.window_len];
        if record::len_at(rest).is_some_and(|len| len <= rest.len()) {
            return Ok(());
        }
        self.refill()
    }

    #[cold]
    fn refill(&mut self) -> Result<(), PersistError> {
        let offset = self.place.offset;
        let range = self.at(self.digested)..self.at(offset);
        self.digest.update(&self.window[range]);
        self.digested = offset;
        if let Some(ahead) = &mut self.ahead {
            let mut stretch = ahead.take().map_err(PersistError::io("read", &self.name))?;
            debug_assert_eq!(stretch.start, self.window_start + self.window_len as u64);
            let end = self.window_at + self.window_len;
            let rest = self.window_at + (offset - self.window_start) as usize..end;
            let (counted, carried) = (rest.start, rest.len());
            stretch.buffer[ROOM - carried..ROOM].copy_from_slice(&self.window[rest]);
            let spent = std::mem::replace(&mut self.window, stretch.buffer);
            self.keep(spent, counted);
            (self.window_at, self.window_start) = (ROOM - carried, offset);
            self.window_len = carried + stretch.len;
            self.kept = self.window_at;
            return Ok(());
        }
        let counted = if self.window_len == 0 { self.kept } else { self.at(offset) };
        if self.is_handing_out && counted > self.kept {
            // The window is read into again.
            let mut copy = Buffer::zeroed(counted);
            copy[self.kept..counted].copy_from_slice(&self.window[self.kept..counted]);
            self.keep(Lent::own(copy), counted);
        }
        self.window_start = offset - offset % BLOCK_LEN as u64;
        self.window_len = (self.limit - self.window_start).min(self.window.len() as u64) as usize;
        self.kept = (offset - self.window_start) as usize;
        let window = &mut self.window[..self.window_len];
        let Some(file) = &self.file else { unreachable!("what is read from memory is there to its end") };
        file.read_at(self.window_start, window).map_err(PersistError::io("read", &self.name))
    }
}

#[cfg(test)]
mod tests;
