//! Commands into batches: records, pad, seal, and the header of the next segment when one is full.
//!
//! A batch is what one sync makes durable. It starts and ends at a block boundary, so that a block that was synced
//! is never written again; its last record is a seal. Its records attest what is durable for certain when they are
//! written. Nothing of a batch is written before all but the one before it is durable, so that is at least what is before
//! that one; it is everything when nothing was under way at the time ([`Encoder::confirm`]). In mode `written` the parts of
//! a batch leave as they come ([`Encoder::take_part`]), and records vouch only for what a finished sync has covered.
//!
//! What a batch's records carry of the batch before, and their CRCs, are filled in with the digest, when it is finished
//! ([`Batch::finish`]): by then the digest of the batch before is known, and commands were taken meanwhile.
//!
//! An entry beside the commands takes no sequence, so a segment that held nothing else would leave its name to the next. Where a
//! segment holds no command yet, entries leave room for one ([`SideRoom::BehindACommand`]).
//!
//! This file knows no files and no clock; the same commands and calls give the same bytes.

use crate::config::{PersistConfig, mode_code};
use crate::format::checksum::{self, Salt};
use crate::format::record::{self, COMMAND_LEN_MAX, Last, RECORD_LEN_MAX, SCHEMA, SEAL_LEN, Seal, Stamp};
use crate::format::segment::{DATA_START, SegmentHeader};
use crate::quorum::members::Members;
use crate::read::replay::Place;
use crate::storage::{BLOCK_LEN, Buffer, streamed};
use ringside_core::command::Command;
use ringside_core::gate::GateMode;
use ringside_core::ids::Sequence;
use ringside_core::side::SideEntry;
use ringside_core::sums::EventSum;

/// Where a journal goes on: everything before it is durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tail {
    /// Header of the segment.
    pub header: SegmentHeader,
    /// Byte in it, at a block boundary.
    pub offset: u64,
    /// What the records of the next batch carry.
    pub chain: u64,
    /// The last command.
    pub last: Last,
}

impl Tail {
    /// Behind the batch that ends at `place`.
    pub(crate) fn at(header: SegmentHeader, place: &Place) -> Tail {
        let Place { offset, chain, last, .. } = *place;
        Tail { header, offset, chain, last }
    }
}

/// Bytes ready to be written.
#[derive(Debug)]
pub struct Batch {
    /// They stand at its start.
    pub buffer: Buffer,
    /// How many.
    pub len: usize,
    /// Byte of the segment they go to.
    pub offset: u64,
    /// Bytes of the batch, those included that were taken as parts.
    pub whole_len: u64,
    /// The segment they begin, when they do.
    pub begins: Option<SegmentHeader>,
    /// Where the batch ends, and what goes on from there: its chain once it is finished.
    pub end: Place,
    /// The members that a change in it leads to.
    pub(crate) members: Option<Members>,
    salt: Salt,
    /// What of the batch was taken as parts.
    digest: blake3::Hasher,
    is_finished: bool,
}

impl Batch {
    /// Fills in chain and CRCs, and completes the seal. `chain` is what its records carry, and becomes what those of the next batch
    /// do. Nothing is written before; it is a step of its own so that another thread can take it. Nothing where it was done.
    pub fn finish(&mut self, chain: &mut u64) {
        if std::mem::replace(&mut self.is_finished, true) {
            return;
        }
        if let Some(header) = &mut self.begins {
            header.entering_chain = *chain;
        }
        let records = &mut self.buffer[..self.len];
        link(records, self.len - SEAL_LEN, self.salt, *chain, &mut self.digest);
        let digest = checksum::truncated(self.digest.finalize());
        record::finish_seal(&mut records[self.len - SEAL_LEN..], self.salt, digest);
        *chain = checksum::chain(digest);
        self.end.chain = *chain;
    }
}

/// Whether an entry beside the commands may be taken now, and else after what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideRoom {
    /// It may.
    Now,
    /// Once the batch is closed, or its part taken.
    BehindThisBatch,
    /// Once the segment is filled up: what is left of it is too little.
    BehindThisSegment,
    /// Once the segment holds a command.
    BehindACommand,
}

/// Bytes of records laid down before they go where they belong: they are still in the nearest cache then.
const NEAR_LEN: usize = 8 << 10;

/// Gives records chains and CRCs, and takes the first `len` bytes of them up into `digest`, while they are near.
fn link(records: &mut [u8], len: usize, salt: Salt, chain: u64, digest: &mut blake3::Hasher) {
    /// Fits the second-level cache. BLAKE3 is fastest on whole powers of two.
    const PIECE_LEN: usize = 64 << 10;
    let (mut linked, mut start) = (0, 0);
    while start < len {
        let end = len.min(start + PIECE_LEN);
        linked = record::link(records, salt, chain, linked, end);
        digest.update(&records[start..end]);
        start = end;
    }
    record::link(records, salt, chain, linked, records.len());
}

/// Encodes commands into the batch under way.
pub struct Encoder {
    batch_len: usize,
    mode: u16,
    /// Batches are written in turn, at most two at a time, so the start of the one before is a batch's durable mark.
    is_in_turn: bool,
    engine_version: u32,
    next_segment_len: u64,

    header: SegmentHeader,
    /// The next batch is the first of this segment.
    is_fresh: bool,
    salt: Salt,
    stamp: Stamp,
    last: Last,
    /// Byte of the segment at which `buffer` starts.
    start: u64,
    buffer: Buffer,
    /// Bytes of the buffer in use, what is still in `near` included.
    used: usize,
    /// The records stand in `buffer` up to there; what follows is in `near`.
    moved: usize,
    /// Where records are laid down: few enough to stay in the nearest caches until they go to `buffer`.
    near: Buffer,
    /// Byte of the segment at which the batch starts.
    batch_start: u64,
    /// Byte of the segment up to which everything is durable when the next record is written: what it attests.
    mark: u64,
    command_count: u64,
    /// Entries beside the commands in the batch.
    side_count: u64,
    /// Number of the batch in the log of a cluster; 0: it gets none.
    index: u64,
    /// The last command before the batch.
    batch_seq: Sequence,
    /// What of the batch is no longer in `buffer`.
    digest: blake3::Hasher,
    /// The members that a change in the batch leads to.
    members: Option<Members>,
    /// What seals say was told.
    told: EventSum,
}

impl Encoder {
    /// Goes on at `tail`. `engine_version` is that of the engine deciding the commands to come.
    pub fn new(config: &PersistConfig, engine_version: u32, epoch: u32, tail: &Tail) -> Encoder {
        assert!(tail.offset.is_multiple_of(BLOCK_LEN as u64), "a journal goes on at a block boundary");
        Encoder::amid(config, engine_version, epoch, tail, &[], 0)
    }

    /// Goes on at `tail` with the batch whose first bytes are `written`, of which `command_count` records are commands.
    pub(crate) fn amid(
        config: &PersistConfig,
        engine_version: u32,
        epoch: u32,
        tail: &Tail,
        written: &[u8],
        command_count: u64,
    ) -> Encoder {
        let batch_start = tail.offset - written.len() as u64;
        let batch_seq = tail.last.sequence - command_count;
        let mut digest = blake3::Hasher::new();
        digest.update(written);
        let mut encoder = Encoder {
            batch_len: config.batch_len,
            mode: mode_code(config.mode),
            is_in_turn: config.mode == GateMode::Durable,
            engine_version,
            next_segment_len: config.segment_len,
            header: tail.header,
            is_fresh: false,
            salt: tail.header.salt(),
            stamp: Stamp { durable_seq: batch_seq, epoch },
            last: tail.last,
            start: tail.offset,
            buffer: Encoder::room(config.batch_len),
            used: 0,
            moved: 0,
            near: Buffer::zeroed(NEAR_LEN + RECORD_LEN_MAX),
            batch_start,
            mark: batch_start,
            command_count,
            side_count: 0,
            index: config.term.map_or(0, |term| term.index + 1),
            batch_seq,
            digest,
            members: None,
            told: EventSum::default(),
        };
        encoder.roll_if_full();
        encoder
    }

    /// A buffer of the size that batches of this journal need.
    pub fn room(batch_len: usize) -> Buffer {
        // In mode `written` a batch may end a block later than its bytes in the buffer began.
        Buffer::zeroed(batch_len + BLOCK_LEN)
    }

    /// The last command taken.
    pub fn last(&self) -> Last {
        self.last
    }

    /// Whether nothing was taken since the last batch was closed.
    pub fn is_empty(&self) -> bool {
        self.command_count == 0 && self.side_count == 0
    }

    /// Bytes of the buffer in use.
    pub fn used(&self) -> usize {
        self.used
    }

    /// Bytes left in the segment.
    pub fn segment_room(&self) -> u64 {
        self.header.segment_len - self.start - self.used as u64
    }

    /// Whether the batch under way is the first of a segment, whose file must be made before it is written.
    pub fn begins_segment(&self) -> bool {
        self.is_fresh
    }

    /// Whether another command fits. If not, the batch must be closed, or its part taken.
    #[inline]
    pub fn has_room(&self) -> bool {
        let room = self.batch_len.saturating_sub(self.used).min(self.segment_room() as usize);
        room >= COMMAND_LEN_MAX + SEAL_LEN
    }

    /// Takes `command`, whose sequence must be the next. There must be room.
    #[inline]
    pub fn push(&mut self, command: &Command) {
        assert_eq!(
            command.sequence,
            self.last.sequence + 1,
            "commands reach the journal in order, without gap"
        );
        let distance = self.distance();
        let at = self.used - self.moved;
        let len = self.stamp.command(&mut self.near[at..], command, distance);
        self.used += len;
        self.last = Last { sequence: command.sequence, time_ns: command.time_ns };
        self.command_count += 1;
        if at + len >= NEAR_LEN {
            self.move_near();
        }
    }

    /// Whether an entry whose record has `len` bytes may be taken.
    pub fn side_room(&self, len: usize) -> SideRoom {
        let needed = len + SEAL_LEN;
        let holds_command = self.header.first_seq <= self.last.sequence;
        let end = (self.start + (self.used + needed) as u64).next_multiple_of(BLOCK_LEN as u64);
        // A seal may follow that attests it, and then a command's batch must fit.
        if !holds_command && end + 2 * BLOCK_LEN as u64 > self.header.segment_len {
            SideRoom::BehindACommand
        } else if end > self.header.segment_len {
            SideRoom::BehindThisSegment
        } else if self.used + needed > self.batch_len {
            SideRoom::BehindThisBatch
        } else {
            SideRoom::Now
        }
    }

    /// Takes an entry beside the commands. [`Encoder::side_room`] said that it may be taken.
    pub fn push_side(&mut self, entry: &SideEntry) {
        debug_assert_eq!(self.side_room(record::side_len(entry)), SideRoom::Now);
        let distance = self.distance();
        let at = self.used - self.moved;
        let len = self.stamp.side(&mut self.near[at..], entry, self.last, distance);
        self.used += len;
        self.side_count += 1;
        self.members = Members::of_entry(entry).or(self.members.take());
        if at + len >= NEAR_LEN {
            self.move_near();
        }
    }

    /// Brings the records laid down where they belong. Many of a batch go past the caches to where another thread or a disk will
    /// fetch them; few are wanted again at once.
    #[inline(never)]
    fn move_near(&mut self) {
        let len = self.used - self.moved;
        let (near, room) = (&self.near[..len], &mut self.buffer[self.moved..self.used]);
        if self.is_in_turn && len >= NEAR_LEN {
            streamed::copy(room, near);
        } else {
            room.copy_from_slice(near);
        }
        self.moved = self.used;
    }

    /// What was taken since the last part or batch, to be written at once though it is not sealed; the buffer is
    /// reused for what comes next. `None` when there is nothing. Only for mode `written`, in which every batch is finished before
    /// the next is begun: its `chain` is known.
    pub fn take_part<R>(&mut self, chain: u64, write: impl FnOnce(u64, &[u8]) -> R) -> Option<R> {
        debug_assert!(!self.is_fresh, "a segment is begun by a whole batch");
        if self.used == 0 {
            return None;
        }
        self.move_near();
        link(&mut self.buffer[..self.used], self.used, self.salt, chain, &mut self.digest);
        let result = write(self.start, &self.buffer[..self.used]);
        self.start += self.used as u64;
        (self.used, self.moved) = (0, 0);
        Some(result)
    }

    /// Ends the batch with pad and seal and gives it out, [`Batch::finish`] still to come; `next` is the buffer for the one
    /// after. A batch without commands only attests what was before.
    pub fn close(&mut self, next: Buffer) -> Batch {
        let at = self.start + self.used as u64;
        let end = (at + SEAL_LEN as u64).next_multiple_of(BLOCK_LEN as u64);
        self.pad(end - SEAL_LEN as u64);
        let seal = Seal {
            digest: [0; 16],
            batch_len: self.start + self.used as u64 - self.batch_start,
            command_count: self.command_count,
            index: self.index,
            told: [self.told.since, self.told.through, self.told.sum],
        };
        let distance = self.distance();
        let at = self.used - self.moved;
        self.used += self.stamp.seal(&mut self.near[at..], &seal, self.last, distance);
        self.move_near();
        let offset = self.start + self.used as u64;
        let end = Place {
            offset,
            chain: 0,
            last: self.last,
            epoch: self.stamp.epoch,
            batch_start: offset,
            batch_commands: 0,
            index: self.index,
        };
        let batch = Batch {
            buffer: std::mem::replace(&mut self.buffer, next),
            len: self.used,
            offset: self.start,
            whole_len: offset - self.batch_start,
            begins: self.is_fresh.then_some(self.header),
            end,
            members: self.members.take(),
            salt: self.salt,
            digest: std::mem::take(&mut self.digest),
            is_finished: false,
        };
        if self.is_in_turn {
            // The batch after the next one is not begun before this one is durable.
            (self.mark, self.stamp.durable_seq) = (self.batch_start, self.batch_seq);
        }
        self.start += self.used as u64;
        (self.used, self.moved) = (0, 0);
        self.batch_start = self.start;
        self.batch_seq = self.last.sequence;
        (self.command_count, self.side_count) = (0, 0);
        self.index += u64::from(self.index > 0);
        self.is_fresh = false;
        self.roll_if_full();
        batch
    }

    /// So much was told: seals say so from now on.
    pub fn tell(&mut self, told: EventSum) {
        self.told = told;
    }

    /// All closed batches are durable: what is encoded from now on attests them.
    pub fn confirm(&mut self) {
        self.mark = self.batch_start;
        self.stamp.durable_seq = self.batch_seq;
    }

    /// Ends the segment: a batch of pads as long as fits the buffer; repeat until [`Encoder::begins_segment`].
    pub fn fill(&mut self, next: Buffer) -> Batch {
        let room = self.segment_room().min((self.batch_len - self.used) as u64);
        self.pad(self.start + self.used as u64 + room - SEAL_LEN as u64);
        self.close(next)
    }

    fn pad(&mut self, end: u64) {
        loop {
            let left = (end - self.start) as usize - self.used;
            if left == 0 {
                return;
            }
            let distance = self.distance();
            let len = left.min(RECORD_LEN_MAX);
            let at = self.used - self.moved;
            self.used += self.stamp.pad(&mut self.near[at..], len, self.last, distance);
            if at + len >= NEAR_LEN {
                self.move_near();
            }
        }
    }

    fn distance(&self) -> u64 {
        self.start + self.used as u64 - self.mark
    }

    fn roll_if_full(&mut self) {
        if self.segment_room() > 0 {
            return;
        }
        self.header = SegmentHeader {
            number: self.header.number + 1,
            first_seq: self.last.sequence + 1,
            // Told when the batch before its first is finished.
            entering_chain: 0,
            schema: SCHEMA,
            entering_time_ns: self.last.time_ns,
            mode: self.mode,
            segment_len: self.next_segment_len,
            epoch: self.stamp.epoch,
            engine_version: self.engine_version,
            ..self.header
        };
        self.salt = self.header.salt();
        self.start = DATA_START;
        self.batch_start = DATA_START;
        // A segment is begun only when all before it is durable.
        self.confirm();
        self.is_fresh = true;
    }
}
