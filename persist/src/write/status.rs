//! What others may know of the journal while it runs: how full, how far, how slow, failed or not. Plain atomics; the
//! journaller and its helpers write, anybody reads.

use crate::error::PersistError;
use ringside_core::figures::Histogram;
use ringside_core::ring::Doorbell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the disk has room for. Ingress asks before it publishes a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pressure {
    /// Everything.
    None,
    /// Only what frees or ends something: cancels and internal commands. New orders get a definite refusal. The
    /// journal is in its last segment and the disk gives no other, or the disk takes too long: what came would wait, and with it
    /// ever more.
    CancelsOnly,
    /// Nothing: what is left is kept for commands already in the rings.
    Full,
}

/// A point of the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Number of the segment.
    pub segment: u64,
    /// Byte in it; a multiple of 4096.
    pub offset: u64,
}

/// The journal's progress and health. Share it in an `Arc`.
#[derive(Debug)]
pub struct JournalStatus {
    started: Instant,
    durable: AtomicU64,
    /// Up to where it may be read and shown, where somebody else says so.
    shown: AtomicU64,
    /// The term in which they say so.
    term: AtomicU64,
    showing: Doorbell,
    is_held: AtomicBool,
    spares: AtomicU64,
    is_refused: AtomicBool,
    /// The next segment has no name yet, for which there is no room.
    is_name_refused: AtomicBool,
    segment_room: AtomicU64,
    /// Whether a segment was begun of which nothing is durable yet: the room is all of it.
    is_beginning: AtomicBool,
    margin: u64,
    shed_after: Duration,
    flush_since_ns: AtomicU64,
    flush_end_ns: AtomicU64,
    flush_ns_sum: AtomicU64,
    flushes: Arc<Histogram>,
    batches: AtomicU64,
    bytes: AtomicU64,
    is_failed: AtomicBool,
    failure: Mutex<Option<PersistError>>,
}

// Orderings: figures for decisions that tolerate being late by one batch are Relaxed. `durable` and `shown` are Release/Acquire:
// whoever sees it reads the file up to there. `is_failed` is Release/Acquire with the failure behind its mutex.
impl JournalStatus {
    pub(crate) fn new(segment_len: u64, durable: Position, shed_after: Duration) -> JournalStatus {
        JournalStatus {
            started: Instant::now(),
            durable: AtomicU64::new(durable.pack()),
            shown: AtomicU64::new(0),
            term: AtomicU64::new(0),
            showing: Doorbell::new(),
            is_held: AtomicBool::new(false),
            spares: AtomicU64::new(0),
            is_refused: AtomicBool::new(false),
            is_name_refused: AtomicBool::new(false),
            segment_room: AtomicU64::new(segment_len - durable.offset.min(segment_len)),
            is_beginning: AtomicBool::new(false),
            margin: segment_len / 4,
            shed_after,
            flush_since_ns: AtomicU64::new(0),
            flush_end_ns: AtomicU64::new(0),
            flush_ns_sum: AtomicU64::new(0),
            flushes: Arc::default(),
            batches: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            is_failed: AtomicBool::new(false),
            failure: Mutex::new(None),
        }
    }

    /// What the disk takes now. Rises while it gives no further segment, and while a flush takes too long; falls by itself once it
    /// is better.
    pub fn pressure(&self) -> Pressure {
        match self.flush_age() {
            Some(age) if age >= self.shed_after => self.room().max(Pressure::CancelsOnly),
            _ => self.room(),
        }
    }

    /// The same as far as the room on the disk goes.
    pub(crate) fn room(&self) -> Pressure {
        if self.is_name_refused.load(Ordering::Relaxed) {
            return Pressure::Full;
        }
        if !self.is_refused.load(Ordering::Relaxed) || self.spares.load(Ordering::Relaxed) > 0 {
            return Pressure::None;
        }
        let is_narrow = self.segment_room.load(Ordering::Relaxed) < self.margin;
        if is_narrow && !self.is_beginning.load(Ordering::Relaxed) {
            Pressure::Full
        } else {
            Pressure::CancelsOnly
        }
    }

    /// Whether the disk had no room for a segment ahead when it was last asked: what it has left is soon used up.
    pub fn is_short_of_room(&self) -> bool {
        self.is_refused.load(Ordering::Relaxed) || self.is_name_refused.load(Ordering::Relaxed)
    }

    /// Up to where the journal is durable.
    pub fn durable(&self) -> Position {
        Position::unpack(self.durable.load(Ordering::Acquire))
    }

    /// Up to where it may be read by what shows it or keeps it elsewhere: durable, and in a cluster agreed on.
    pub fn shown(&self) -> Position {
        match self.is_held() {
            true => Position::unpack(self.shown.load(Ordering::Acquire)),
            false => self.durable(),
        }
    }

    /// Whether somebody else says up to where it may be read: what is behind that may be cut.
    pub(crate) fn is_held(&self) -> bool {
        self.is_held.load(Ordering::Acquire)
    }

    /// From now on somebody else says up to where it may be read.
    pub(crate) fn hold(&self) {
        self.is_held.store(true, Ordering::Release);
    }

    /// The term in which somebody else says so last; 0 where nobody does.
    pub(crate) fn term(&self) -> u64 {
        self.term.load(Ordering::Relaxed)
    }

    /// It may be read up to there, as is known in this term.
    pub(crate) fn show(&self, position: Position, term: u64) {
        self.term.store(term, Ordering::Relaxed);
        self.shown.store(position.pack(), Ordering::Release);
        self.showing.ring();
    }

    /// Rings where somebody else says that more may be read.
    pub fn showing(&self) -> &Doorbell {
        &self.showing
    }

    /// Allocated segments not in use yet.
    pub fn spares(&self) -> u64 {
        self.spares.load(Ordering::Relaxed)
    }

    /// How long the oldest flush under way has taken so far; `None` when there is none.
    pub fn flush_age(&self) -> Option<Duration> {
        let since = self.flush_since_ns.load(Ordering::Relaxed);
        (since != 0).then(|| Duration::from_nanos(self.now_ns().saturating_sub(since)))
    }

    /// In how much time since the start some flush was under way.
    pub fn flush_sum(&self) -> Duration {
        Duration::from_nanos(self.flush_ns_sum.load(Ordering::Relaxed))
    }

    /// How long the flushes since the start took, each.
    pub fn flushes(&self) -> &Arc<Histogram> {
        &self.flushes
    }

    /// Batches made durable since the start.
    pub fn batches(&self) -> u64 {
        self.batches.load(Ordering::Relaxed)
    }

    /// Bytes made durable since the start, pads and seals included.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Whether the journal has stopped for good; the gate is halted then.
    pub fn is_failed(&self) -> bool {
        self.is_failed.load(Ordering::Acquire)
    }

    /// The first error, once.
    pub fn take_failure(&self) -> Option<PersistError> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn fail(&self, error: PersistError) {
        if !self.is_failed() {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            self.is_failed.store(true, Ordering::Release);
        }
    }

    /// A flush begins, perhaps beside another; gives when.
    pub(crate) fn flush_begins(&self) -> u64 {
        let now = self.now_ns().max(1);
        if self.flush_since_ns.load(Ordering::Relaxed) == 0 {
            self.flush_since_ns.store(now, Ordering::Relaxed);
        }
        now
    }

    /// The oldest flush under way, begun at `begun`, has ended; the next oldest was begun at `next`, if there is one.
    pub(crate) fn flush_ends(
        &self,
        durable: Position,
        len: u64,
        segment_len: u64,
        begun: u64,
        next: Option<u64>,
    ) {
        self.flush_since_ns.store(next.unwrap_or(0), Ordering::Relaxed);
        let now = self.now_ns();
        let took = now.saturating_sub(begun);
        // Time in which two were under way counts once.
        let since = begun.max(self.flush_end_ns.swap(now, Ordering::Relaxed));
        self.flush_ns_sum.fetch_add(now.saturating_sub(since), Ordering::Relaxed);
        // One after the other, on whichever thread: each sees the counts of the one before through its hand-over.
        self.flushes.record(took);
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(len, Ordering::Relaxed);
        self.segment_room.store(segment_len - durable.offset, Ordering::Relaxed);
        // Batches of the segment before may still have been under way when this one was begun.
        if durable.segment != self.durable().segment {
            self.is_beginning.store(false, Ordering::Relaxed);
        }
        self.durable.store(durable.pack(), Ordering::Release);
    }

    /// A spare becomes the segment that is written next.
    pub(crate) fn segment_begins(&self) {
        self.is_beginning.store(true, Ordering::Relaxed);
    }

    pub(crate) fn name_is_refused(&self, is_refused: bool) {
        self.is_name_refused.store(is_refused, Ordering::Relaxed);
    }

    pub(crate) fn spares_are(&self, spares: usize, is_refused: bool) {
        self.spares.store(spares as u64, Ordering::Relaxed);
        self.is_refused.store(is_refused, Ordering::Relaxed);
    }

    fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }
}

/// Segments are at most 2^32 bytes long: 2^20 blocks and one past the end, so 21 bits.
const BLOCK_BITS: u32 = 21;

impl Position {
    fn pack(self) -> u64 {
        self.segment << BLOCK_BITS | self.offset >> 12
    }

    fn unpack(packed: u64) -> Position {
        Position { segment: packed >> BLOCK_BITS, offset: (packed & ((1 << BLOCK_BITS) - 1)) << 12 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn position_comes_back() {
        for position in
            [Position { segment: 1, offset: 8192 }, Position { segment: 1 << 40, offset: 1 << 32 }]
        {
            assert_eq!(Position::unpack(position.pack()), position);
        }
    }

    #[test]
    fn pressure_rises_and_falls() {
        let status = JournalStatus::new(1 << 20, Position { segment: 1, offset: 8192 }, Duration::MAX);
        let at = |segment, offset| Position { segment, offset };
        assert_eq!(status.pressure(), Pressure::None, "nothing was refused yet");
        status.spares_are(1, true);
        assert_eq!(status.pressure(), Pressure::None, "one more to go");
        status.spares_are(0, true);
        assert_eq!(status.pressure(), Pressure::CancelsOnly);
        status.flush_ends(at(1, 900 << 10), 4096, 1 << 20, 0, None);
        assert_eq!(status.pressure(), Pressure::Full);
        status.spares_are(1, false);
        assert_eq!(status.pressure(), Pressure::None);
    }

    #[test]
    fn the_last_segment_has_room_for_cancels_from_the_moment_it_is_begun() {
        let status = JournalStatus::new(1 << 20, Position { segment: 1, offset: 8192 }, Duration::MAX);
        status.spares_are(1, true);
        status.flush_ends(Position { segment: 1, offset: 900 << 10 }, 4096, 1 << 20, 0, None);
        assert_eq!(status.pressure(), Pressure::None, "one more to go");
        status.segment_begins();
        status.spares_are(0, true);
        assert_eq!(status.pressure(), Pressure::CancelsOnly, "nothing of it is durable yet");
        status.flush_ends(Position { segment: 1, offset: 1 << 20 }, 4096, 1 << 20, 0, None);
        assert_eq!(status.pressure(), Pressure::CancelsOnly, "a batch of the segment before came after");
        status.flush_ends(Position { segment: 2, offset: 12_288 }, 4096, 1 << 20, 0, None);
        assert_eq!(status.pressure(), Pressure::CancelsOnly);
        status.flush_ends(Position { segment: 2, offset: 900 << 10 }, 4096, 1 << 20, 0, None);
        assert_eq!(status.pressure(), Pressure::Full);
    }
}
