//! Reads a segment record by record and says where it stops making sense.
//!
//! A record counts when its own sums agree, its chain is that of the record before it, its sequence is the next,
//! its epoch no lower; a seal, when it fits its batch. The reader does not say what a bad record means: whether a
//! write was torn or the disk has rotted is decided in [`crate::tail`].

use crate::checksum::{self, Salt};
use crate::digests::Offers;
use crate::error::PersistError;
use crate::record::{self, Class, Flaw, Last, RECORD_LEN_MAX, Record};
use crate::segment::{DATA_START, SegmentHeader};
use crate::storage::{BLOCK_LEN, Buffer, File};
use ringside_core::ids::Sequence;
use std::sync::Arc;

/// Bytes read at a time.
const WINDOW_LEN: usize = 1 << 20;

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
    file: Arc<dyn File>,
    header: SegmentHeader,
    salt: Salt,
    limit: u64,
    place: Place,
    window: Buffer,
    window_start: u64,
    window_len: usize,
    /// Of the batch under way, what is no longer needed from the window.
    digest: blake3::Hasher,
    digested: u64,
    /// Where digests may be had for which nothing is hashed here.
    offers: Option<Offers>,
}

impl Reader {
    /// Reads `file`, the segment of `header`, up to byte `limit`, a block boundary.
    pub fn new(file: Arc<dyn File>, header: SegmentHeader, limit: u64) -> Reader {
        let limit = limit.min(header.segment_len);
        debug_assert!(limit.is_multiple_of(BLOCK_LEN as u64));
        Reader {
            name: header.name(),
            file,
            header,
            salt: header.salt(),
            limit,
            place: Place {
                offset: DATA_START,
                chain: header.entering_chain,
                last: header.entering(),
                epoch: header.epoch,
                batch_start: DATA_START,
                batch_commands: 0,
            },
            window: Buffer::zeroed(WINDOW_LEN.min((limit - DATA_START) as usize).max(BLOCK_LEN)),
            window_start: DATA_START,
            window_len: 0,
            digest: blake3::Hasher::new(),
            digested: DATA_START,
            offers: None,
        }
    }

    /// The same, taking digests from `offers` for as long as they come.
    pub(crate) fn with_offers(mut self, offers: Offers) -> Reader {
        self.offers = Some(offers);
        self
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
        let window_len = WINDOW_LEN.min((limit - DATA_START) as usize);
        if window_len > self.window.len() {
            let mut window = Buffer::zeroed(window_len);
            window[..self.window_len].copy_from_slice(&self.window[..self.window_len]);
            self.window = window;
        }
        self.limit = limit;
    }

    /// The next record.
    ///
    /// Errors: the file cannot be read; a record that counts but is of a type this version does not know.
    pub fn step(&mut self) -> Result<Step<'_>, PersistError> {
        let Place { offset, .. } = self.place;
        if offset == self.limit {
            if self.limit == self.header.segment_len && self.place.batch_start != offset {
                return Ok(Step::Bad(self.bad(Flaw::End, false)));
            }
            return Ok(Step::End);
        }
        self.fill()?;
        let at = (offset - self.window_start) as usize;
        let bytes = &self.window[at..self.window_len];
        let record = match record::parse(bytes, self.salt) {
            Ok(record) => record,
            Err(flaw) => {
                let is_blank = record::is_zero(&bytes[..record::HEADER_LEN]);
                return Ok(Step::Bad(self.bad(flaw, is_blank)));
            }
        };
        let header = record.header;
        if header.chain != self.place.chain {
            return Ok(Step::Bad(self.bad(Flaw::Chain, false)));
        }
        let class = record.class();
        let last = self.place.last;
        let sequence = if class == Class::Command { last.sequence + 1 } else { last.sequence };
        if class == Class::Unknown {
            return Err(PersistError::UnknownRecord {
                segment: self.name.clone(),
                offset,
                sequence: header.seq,
                kind: header.kind,
                schema: header.schema,
            });
        }
        if header.seq != sequence {
            return Ok(Step::Bad(self.bad(Flaw::Sequence, false)));
        }
        if header.epoch < self.place.epoch {
            return Ok(Step::Bad(self.bad(Flaw::Epoch, false)));
        }
        let end = offset + record.bytes.len() as u64;
        match class {
            Class::Seal => {
                let seal = record.seal();
                let batch_start = self.place.batch_start;
                let offered = self.offers.as_mut().map(|offers| offers.take(batch_start, offset));
                let from = self.digested.saturating_sub(self.window_start) as usize;
                let digest = match offered {
                    Some(Some(digest)) => digest,
                    // None will come any more; what is no longer in the window was not hashed either.
                    Some(None) => {
                        self.offers = None;
                        let digest = digest_of(self.file.as_ref(), batch_start, offset);
                        self.digest = digest.map_err(PersistError::io("read", &self.name))?;
                        self.digested = offset;
                        checksum::truncated(self.digest.finalize())
                    }
                    None if self.digested == batch_start => checksum::digest(&self.window[from..at]),
                    None => {
                        self.digest.update(&self.window[from..at]);
                        self.digested = offset;
                        checksum::truncated(self.digest.finalize())
                    }
                };
                if seal.digest != digest
                    || seal.batch_len != offset - self.place.batch_start
                    || seal.command_count != self.place.batch_commands
                {
                    return Ok(Step::Bad(self.bad(Flaw::Seal, false)));
                }
                self.digest.reset();
                self.digested = end;
                self.place.batch_start = end;
                self.place.batch_commands = 0;
            }
            Class::Command => {
                self.place.last = Last { sequence, time_ns: header.ts_ns };
                self.place.batch_commands += 1;
            }
            Class::Pad | Class::Unknown => {}
        }
        self.place.offset = end;
        self.place.epoch = header.epoch;
        self.place.chain = record.chain_after();
        Ok(Step::Record(record))
    }

    fn bad(&self, flaw: Flaw, is_blank: bool) -> Bad {
        Bad { flaw, offset: self.place.offset, sequence: self.place.last.sequence + 1, is_blank }
    }

    /// Sees to it that the window holds the longest record from here on, or all up to the limit.
    fn fill(&mut self) -> Result<(), PersistError> {
        let offset = self.place.offset;
        let end = self.window_start + self.window_len as u64;
        if end == self.limit || end >= offset + RECORD_LEN_MAX as u64 {
            return Ok(());
        }
        if self.offers.is_none() && self.digested < offset {
            let range = (self.digested - self.window_start) as usize..(offset - self.window_start) as usize;
            self.digest.update(&self.window[range]);
        }
        self.digested = if self.offers.is_none() { offset } else { self.place.batch_start };
        self.window_start = offset - offset % BLOCK_LEN as u64;
        self.window_len = (self.limit - self.window_start).min(self.window.len() as u64) as usize;
        let window = &mut self.window[..self.window_len];
        self.file.read_at(self.window_start, window).map_err(PersistError::io("read", &self.name))
    }
}

/// The digest of bytes `start..end` of a segment, read for it alone.
fn digest_of(file: &dyn File, start: u64, end: u64) -> std::io::Result<blake3::Hasher> {
    let mut digest = blake3::Hasher::new();
    let mut window = Buffer::zeroed(WINDOW_LEN);
    let mut at = start;
    while at < end {
        let from = at - at % BLOCK_LEN as u64;
        let len = (end.next_multiple_of(BLOCK_LEN as u64) - from).min(WINDOW_LEN as u64);
        file.read_at(from, &mut window[..len as usize])?;
        let until = end.min(from + len);
        digest.update(&window[(at - from) as usize..(until - from) as usize]);
        at = until;
    }
    Ok(digest)
}
