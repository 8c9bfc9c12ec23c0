//! The leader's side: who is told of batches ([`Source`]), and what one connected mirror is given ([`Feed`]).
//!
//! A mirror that is new or behind is fed from the files, up to the durable mark, read and checked once more on the way. Where it has
//! reached the end it gets batches from memory as they become durable, until more than [`IN_FLIGHT`] bytes wait for it: then from
//! the files again. Between the two there is no gap: both ends are compared under the lock that a batch is told under.
//!
//! Where replies wait for the mirror the gate moves by the lesser of both. While no mirror is connected, or it is not at the end, or
//! makes no progress for as long as a slow disk may take, new orders are held off as they are beside such a disk.

use crate::error::PersistError;
use crate::format::segment::{self, DATA_START, SegmentHeader};
use crate::mirror::frame::{FrameKind, Head, NEWEST, PAYLOAD_MAX};
use crate::read::replay::{Reader, Step};
use crate::read::survey::survey;
use crate::recover::snapshot_store;
use crate::storage::{Access, BLOCK_LEN, Buffer, File, Storage};
use crate::write::settled::{Placed, Settled};
use crate::write::status::{JournalStatus, Position, Pressure};
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
use ringside_core::sums::EventSum;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of batches that wait in memory for a mirror at most.
pub const IN_FLIGHT: usize = 64 << 20;

/// How the mirror fares, for figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MirrorFigures {
    /// A mirror is connected.
    pub is_connected: bool,
    /// It gets batches as they become durable.
    pub is_live: bool,
    /// Commands that are durable here and not known to be there.
    pub lag: u64,
    /// Bytes of the journal of which that is so.
    pub lag_bytes: u64,
}

/// Told of every batch. Share it in an `Arc`.
pub struct Source {
    gate: Arc<Gate>,
    /// Replies wait for the mirror.
    is_awaited: bool,
    shed_after: Duration,
    /// Somebody is connected: otherwise batches leave no trace.
    is_connected: AtomicBool,
    state: Mutex<State>,
    /// Called when there is something for the mirror.
    wake: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

struct State {
    /// The last command that is durable here, and where.
    local: Sequence,
    position: Position,
    segment_len: u64,
    /// The last command that is durable there, and where, as far as that is known.
    mirrored: Sequence,
    reached: Position,
    /// Since when the mirror has made no progress though something waits for it.
    waiting_since: Option<Instant>,
    /// Number of the connection, from 1; a later one ends those before it.
    connection: u64,
    /// Batches go to `queue`.
    is_live: bool,
    queue: VecDeque<Live>,
    queued: usize,
    /// Who waits for an entry beside the commands, and up to where the mirror has to hold everything for it.
    told: VecDeque<(Position, SyncSender<()>)>,
}

/// A batch on its way to the mirror.
struct Live {
    /// The segment that it begins, when it does.
    begins: Option<SegmentHeader>,
    start: Position,
    last: Sequence,
    bytes: Box<[u8]>,
}

impl Source {
    /// For a journal that was recovered through `last` and ends at `position`; `gate` stands there.
    pub fn new(
        gate: Arc<Gate>,
        is_awaited: bool,
        shed_after: Duration,
        last: Sequence,
        position: Position,
    ) -> Source {
        let state = State {
            local: last,
            position,
            segment_len: 0,
            mirrored: 0,
            reached: Position { segment: 0, offset: 0 },
            waiting_since: None,
            connection: 0,
            is_live: false,
            queue: VecDeque::new(),
            queued: 0,
            told: VecDeque::new(),
        };
        Source {
            gate,
            is_awaited,
            shed_after,
            is_connected: AtomicBool::new(false),
            state: Mutex::new(state),
            wake: OnceLock::new(),
        }
    }

    /// Has `wake` called whenever there may be something for the mirror. Once.
    pub fn on_change(&self, wake: Box<dyn Fn() + Send + Sync>) {
        // A second one would be a second server of the same source, of which there is none.
        let _ = self.wake.set(wake);
    }

    /// Whether replies wait for the mirror.
    pub fn is_awaited(&self) -> bool {
        self.is_awaited
    }

    /// How the mirror fares.
    pub fn figures(&self) -> MirrorFigures {
        let state = self.lock();
        let (to, from) = (state.position, state.reached);
        let segments = to.segment.saturating_sub(from.segment) * state.segment_len;
        MirrorFigures {
            is_connected: self.is_connected.load(Ordering::Relaxed),
            is_live: state.is_live,
            lag: state.local.saturating_sub(state.mirrored),
            lag_bytes: (segments + to.offset).saturating_sub(from.offset),
        }
    }

    /// What is taken as far as the mirror goes: everything, or what cancels and reduces only.
    pub fn pressure(&self) -> Pressure {
        if !self.is_awaited {
            return Pressure::None;
        }
        let state = self.lock();
        let is_slow = state.waiting_since.is_some_and(|since| since.elapsed() >= self.shed_after);
        if !state.is_live || is_slow { Pressure::CancelsOnly } else { Pressure::None }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets pass what is durable on both sides, or here where that is enough.
    fn release(&self, state: &mut State) {
        let State { told, reached, .. } = state;
        while let Some((_, told)) = told.pop_front_if(|(position, _)| !self.is_awaited || position <= reached)
        {
            // Nobody may be waiting any more.
            let _ = told.send(());
        }
        let through = if self.is_awaited { state.local.min(state.mirrored) } else { state.local };
        if through > self.gate.durable() {
            self.gate.publish_durable(through);
        }
    }

    fn wake(&self) {
        if let Some(wake) = self.wake.get() {
            wake();
        }
    }

    /// A mirror that holds everything through `sequence`, which ends at `reached`, is connected; gives the connection's number.
    fn connect(&self, sequence: Sequence, reached: Position, segment_len: u64) -> u64 {
        let mut state = self.lock();
        state.connection += 1;
        (state.is_live, state.queued) = (false, 0);
        state.queue.clear();
        (state.mirrored, state.reached, state.segment_len) = (sequence, reached, segment_len);
        state.waiting_since = (state.local > sequence).then(Instant::now);
        self.is_connected.store(true, Ordering::Relaxed);
        self.release(&mut state);
        state.connection
    }

    fn disconnect(&self, connection: u64) {
        let mut state = self.lock();
        if state.connection == connection {
            (state.is_live, state.queued) = (false, 0);
            state.queue.clear();
            self.is_connected.store(false, Ordering::Relaxed);
        }
    }

    fn mirrored(&self, connection: u64, sequence: Sequence, reached: Position) {
        let mut state = self.lock();
        if state.connection != connection || reached <= state.reached {
            return;
        }
        (state.mirrored, state.reached) = (sequence, reached);
        state.waiting_since = (state.local > sequence).then(Instant::now);
        self.release(&mut state);
    }
}

impl Settled for Source {
    fn stored(&self, sequence: Sequence) {
        self.gate.publish_written(sequence);
    }

    fn synced(&self, batch: &Placed<'_>) {
        let mut state = self.lock();
        (state.local, state.position, state.segment_len) =
            (batch.last(), batch.position(), batch.header.segment_len);
        if state.local > state.mirrored {
            state.waiting_since.get_or_insert_with(Instant::now);
        }
        self.release(&mut state);
        if !self.is_connected.load(Ordering::Relaxed) {
            return;
        }
        if state.is_live {
            match batch.bytes {
                Some(bytes) if state.queued + bytes.len() <= IN_FLIGHT => {
                    state.queued += bytes.len();
                    state.queue.push_back(Live {
                        begins: (batch.start == DATA_START).then_some(*batch.header),
                        start: Position { segment: batch.header.number, offset: batch.start },
                        last: batch.last(),
                        bytes: bytes.into(),
                    });
                }
                // From the files: what is queued goes first.
                _ => state.is_live = false,
            }
        }
        drop(state);
        self.wake();
    }

    fn show(&self, told: SyncSender<()>) {
        let mut state = self.lock();
        let position = state.position;
        state.told.push_back((position, told));
        self.release(&mut state);
    }

    fn give_up(&self) {
        self.lock().told.clear();
    }

    fn failed(&self) {
        self.gate.halt();
    }

    fn engine_told(&self) -> EventSum {
        self.gate.told()
    }
}

/// Why a mirror is not fed.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The leader's journal.
    #[error(transparent)]
    Persist(#[from] PersistError),
    /// What the mirror holds does not fit; it is told so.
    #[error("{0}")]
    Refused(String),
    /// It said what no mirror says.
    #[error("the mirror says that it holds {0}, which it was not given")]
    Nonsense(Sequence),
}

/// What one connected mirror is given.
pub struct Feed {
    source: Arc<Source>,
    storage: Arc<dyn Storage>,
    journal: Arc<JournalStatus>,
    connection: u64,
    journal_id: [u8; 16],
    /// Where the mirror stands once it has all that was given.
    at: Position,
    sequence: Sequence,
    /// Number of the last segment that it was told to begin.
    begun: u64,
    /// Reads the segment of `at`; stands at or behind it.
    reader: Option<Reader>,
    /// Bytes of the segment being read that are to be sent: whole batches.
    stretch: std::ops::Range<u64>,
    snapshot: Option<Sending>,
}

/// A snapshot on its way.
struct Sending {
    file: Arc<dyn File>,
    name: String,
    sequence: Sequence,
    offset: u64,
    len: u64,
}

/// What an operator can do about a mirror that cannot go on.
const ANEW: &str = "Nothing was cut. If this leader's journal is the one to keep, stop the mirror, move its journal aside \
                    (`mv DATA/journal DATA/journal.old`, and its `archive` likewise) and start it again: it fetches everything anew";

impl Feed {
    /// Begins where the mirror's journal ends, as its `hello` says. Appends the welcome, or the refusal, to `out`.
    ///
    /// Errors: what it holds is not the beginning of this journal; I/O and damage here.
    pub fn open(
        source: Arc<Source>,
        storage: Arc<dyn Storage>,
        journal: Arc<JournalStatus>,
        hello: &Head,
        segment_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<Feed, FeedError> {
        let survey = survey(storage.as_ref())?;
        let Some(first) = survey.segments.first().map(|read| read.header) else {
            return Err(PersistError::Missing { reason: "there is no journal to mirror".to_string() }.into());
        };
        let journal_id = first.journal_id;
        let refuse = |text: String, out: &mut Vec<u8>| {
            crate::mirror::frame::put_refusal(journal_id, &text, out);
            Err(FeedError::Refused(text))
        };
        let mut snapshot = None;
        let (index, reader);
        if hello.segment == 0 {
            // It holds nothing.
            let is_whole = first.number == 1;
            let newest = survey.snapshots.iter().rev().find_map(|name| {
                let read = snapshot_store::read(storage.as_ref(), name).ok()?;
                Some((name.clone(), read.moment.sequence))
            });
            index = match newest.filter(|_| !is_whole || hello.detail & NEWEST != 0) {
                None if is_whole => 0,
                None => {
                    return refuse(
                        "the leader has no sound snapshot, and its journal no beginning any more".to_owned(),
                        out,
                    );
                }
                Some((name, sequence)) => {
                    let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
                    let len = file.len().map_err(PersistError::io("size", &name))?;
                    snapshot = Some(Sending { file, name, sequence, offset: 0, len });
                    survey
                        .segments
                        .partition_point(|read| read.header.first_seq <= sequence)
                        .saturating_sub(1)
                }
            };
            reader = None;
        } else {
            if hello.journal_id != journal_id {
                return refuse(format!("the mirror holds another journal than this leader. {ANEW}"), out);
            }
            if hello.segment < first.number {
                let text = format!(
                    "the mirror ends at sequence {}, in segment {}, and this leader keeps segments from {} on: it is too far behind. {ANEW}",
                    hello.sequence, hello.segment, first.number
                );
                return refuse(text, out);
            }
            let durable = journal.durable();
            let at = Position { segment: hello.segment, offset: hello.offset };
            if at > durable {
                let text = format!(
                    "conflict: the mirror's journal reaches to sequence {}, byte {} of segment {}, and this leader's ends at byte {} of \
                     segment {}. {ANEW}",
                    hello.sequence, at.offset, at.segment, durable.offset, durable.segment
                );
                return refuse(text, out);
            }
            index = (hello.segment - first.number) as usize;
            let Some(header) = survey.segments.get(index).map(|read| read.header) else {
                return Err(PersistError::Missing {
                    reason: format!("segment {} is missing", hello.segment),
                }
                .into());
            };
            match same_beginning(storage.as_ref(), &header, hello)? {
                Ok(at_end) => reader = Some(at_end),
                Err(offset) => {
                    let text = format!(
                        "conflict in {} at byte {offset}: up to byte {} (sequence {}) the mirror holds another history than this leader. {ANEW}",
                        header.name(),
                        hello.offset,
                        hello.sequence
                    );
                    return refuse(text, out);
                }
            }
        }
        let header = *survey.header(index);
        let at = match &reader {
            Some(_) => Position { segment: hello.segment, offset: hello.offset },
            None => Position { segment: header.number, offset: DATA_START },
        };
        let (begun, reader) = match reader {
            Some(reader) => (header.number, Some(reader)),
            None => (0, Some(open(storage.as_ref(), header)?)),
        };
        let connection = source.connect(hello.sequence, at, header.segment_len);
        let feed = Feed {
            source,
            storage,
            journal,
            connection,
            journal_id,
            at,
            sequence: hello.sequence,
            begun,
            reader,
            stretch: 0..0,
            snapshot,
        };
        let detail = u32::from(feed.source.is_awaited);
        Head { detail, chain: segment_len, ..feed.end(FrameKind::Welcome) }.put(&[], out);
        Ok(feed)
    }

    /// The same of files that are read up to `position` alone, where command `sequence` is the last: for one who takes what is there
    /// and is told of nothing later.
    ///
    /// Errors: as there.
    pub fn of_files(
        storage: Arc<dyn Storage>,
        position: Position,
        sequence: Sequence,
        hello: &Head,
        segment_len: u64,
        out: &mut Vec<u8>,
    ) -> Result<Feed, FeedError> {
        let gate = Arc::new(Gate::new(sequence));
        let source = Arc::new(Source::new(gate, false, Duration::MAX, sequence, position));
        let journal = Arc::new(JournalStatus::new(segment_len, position, Duration::MAX));
        Feed::open(source, storage, journal, hello, segment_len, out)
    }

    /// Whether a later connection has taken its place.
    pub fn is_over(&self) -> bool {
        self.source.lock().connection != self.connection
    }

    /// Where this journal ends, as a head.
    fn end(&self, kind: FrameKind) -> Head {
        let state = self.source.lock();
        let Position { segment, offset } = state.position;
        Head { segment, offset, sequence: state.local, ..Head::new(kind, self.journal_id) }
    }

    /// Appends what is said when nothing else is.
    pub fn beat(&self, out: &mut Vec<u8>) {
        self.end(FrameKind::Beat).put(&[], out);
    }

    /// The mirror says what its disk holds.
    ///
    /// Errors: it was not given that.
    pub fn synced(&self, head: &Head) -> Result<(), FeedError> {
        let reached = Position { segment: head.segment, offset: head.offset };
        if reached > self.at || head.sequence > self.sequence {
            return Err(FeedError::Nonsense(head.sequence));
        }
        self.source.mirrored(self.connection, head.sequence, reached);
        Ok(())
    }

    /// Appends the next frames, about a megabyte of them; whether there were any. None: until the source says that there is
    /// something.
    ///
    /// Errors: I/O and damage here.
    pub fn next(&mut self, out: &mut Vec<u8>) -> Result<bool, PersistError> {
        let before = out.len();
        if self.send_snapshot(out)? {
            return Ok(true);
        }
        while self.send_stretch(out)? {
            if out.len() - before >= PAYLOAD_MAX {
                return Ok(true);
            }
        }
        if out.len() == before && !self.send_live(out) {
            self.look_further(out)?;
        }
        Ok(out.len() > before)
    }

    fn send_snapshot(&mut self, out: &mut Vec<u8>) -> Result<bool, PersistError> {
        let Some(Sending { file, name, sequence, offset, len }) = &mut self.snapshot else {
            return Ok(false);
        };
        let count = (*len - *offset).min(PAYLOAD_MAX as u64) as usize;
        let mut piece = Buffer::zeroed(count);
        file.read_at(*offset, &mut piece[..count]).map_err(PersistError::io("read", name))?;
        let head = Head {
            offset: *offset,
            sequence: *sequence,
            chain: *len,
            ..Head::new(FrameKind::Snapshot, self.journal_id)
        };
        head.put(&piece[..count], out);
        *offset += count as u64;
        if offset == len {
            self.snapshot = None;
        }
        Ok(true)
    }

    /// The next piece of what was read and checked.
    fn send_stretch(&mut self, out: &mut Vec<u8>) -> Result<bool, PersistError> {
        let Some(reader) = &self.reader else { return Ok(false) };
        if self.stretch.is_empty() {
            return Ok(false);
        }
        let header = *reader.header();
        let name = header.name();
        let count = (self.stretch.end - self.stretch.start).min(PAYLOAD_MAX as u64) as usize;
        let mut piece = Buffer::zeroed(count);
        let file = self.storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
        file.read_at(self.stretch.start, &mut piece[..count]).map_err(PersistError::io("read", &name))?;
        self.begin(&header, out);
        self.put_piece(
            &header,
            self.stretch.start,
            self.sequence,
            count as u64 == self.stretch.end - self.stretch.start,
            &piece[..count],
            out,
        );
        self.stretch.start += count as u64;
        Ok(true)
    }

    fn put_piece(
        &self,
        header: &SegmentHeader,
        offset: u64,
        sequence: Sequence,
        is_end: bool,
        bytes: &[u8],
        out: &mut Vec<u8>,
    ) {
        let head = Head {
            segment: header.number,
            offset,
            sequence,
            detail: u32::from(is_end),
            ..Head::new(FrameKind::Records, self.journal_id)
        };
        head.put(bytes, out);
    }

    /// Tells the mirror of a segment that it has not begun.
    fn begin(&mut self, header: &SegmentHeader, out: &mut Vec<u8>) {
        if self.begun != header.number {
            self.begun = header.number;
            let head = Head { segment: header.number, ..Head::new(FrameKind::Begin, self.journal_id) };
            head.put(&header.encode()[..BLOCK_LEN], out);
        }
    }

    /// What waits in memory, about a megabyte of it.
    fn send_live(&mut self, out: &mut Vec<u8>) -> bool {
        let before = out.len();
        while out.len() - before < PAYLOAD_MAX {
            let mut state = self.source.lock();
            if state.connection != self.connection {
                return false;
            }
            let Some(live) = state.queue.pop_front() else { break };
            state.queued -= live.bytes.len();
            drop(state);
            // Where it goes on from the files it reads that segment anew.
            self.reader = None;
            if let Some(header) = live.begins {
                self.begin(&header, out);
            }
            let Position { segment, mut offset } = live.start;
            (self.at, self.sequence) =
                (Position { segment, offset: offset + live.bytes.len() as u64 }, live.last);
            for piece in live.bytes.chunks(PAYLOAD_MAX) {
                let is_end = offset + piece.len() as u64 == self.at.offset;
                let head = Head {
                    segment,
                    offset,
                    sequence: live.last,
                    detail: u32::from(is_end),
                    ..Head::new(FrameKind::Records, self.journal_id)
                };
                head.put(piece, out);
                offset += piece.len() as u64;
            }
        }
        out.len() > before
    }

    /// Reads on in the files, or goes over to what waits in memory where there is nothing more in them.
    fn look_further(&mut self, out: &mut Vec<u8>) -> Result<(), PersistError> {
        {
            let mut state = self.source.lock();
            if state.is_live || state.connection != self.connection {
                return Ok(());
            }
            if state.position == self.at {
                state.is_live = true;
                return Ok(());
            }
        }
        let durable = self.journal.durable();
        let mut reader = match self.reader.take() {
            Some(reader) => reader,
            None => self.again()?,
        };
        let header = *reader.header();
        let is_sealed = header.number < durable.segment;
        reader.extend(if is_sealed { header.segment_len } else { durable.offset });
        let begin = self.at.offset;
        let mut end = begin;
        while end - begin < PAYLOAD_MAX as u64 {
            match reader.step()? {
                Step::Record(_) => {
                    let place = reader.place();
                    if place.batch_start == place.offset {
                        (end, self.sequence) = (place.offset, place.last.sequence);
                    }
                }
                Step::End => break,
                Step::Bad(bad) => {
                    return Err(PersistError::Rot {
                        segment: header.name(),
                        offset: bad.offset,
                        sequence: bad.sequence,
                        flaw: bad.flaw,
                        durable_mark: "the durable mark".to_string(),
                    });
                }
            }
        }
        let next = segment::name_of(reader.place().last.sequence + 1);
        self.reader = Some(reader);
        (self.stretch, self.at.offset) = (begin..end, end);
        if end > begin {
            self.send_stretch(out)?;
        } else if is_sealed {
            let file = self.storage.open(&next, Access::Read).map_err(PersistError::io("open", &next))?;
            let header = segment::read_header(file.as_ref(), &next)?.header;
            self.begin(&header, out);
            self.at = Position { segment: header.number, offset: DATA_START };
            self.reader = Some(Reader::new(file, header, DATA_START));
        }
        Ok(())
    }

    /// A reader of the segment that the mirror stands in, at that place.
    fn again(&self) -> Result<Reader, PersistError> {
        let survey = survey(self.storage.as_ref())?;
        let header =
            survey.segments.iter().map(|read| read.header).find(|header| header.number == self.at.segment);
        let Some(header) = header else {
            return Err(PersistError::Missing {
                reason: format!("segment {} was removed before it was mirrored", self.at.segment),
            });
        };
        let mut reader = open(self.storage.as_ref(), header)?;
        reader.extend(self.at.offset);
        while matches!(reader.step()?, Step::Record(_)) {}
        Ok(reader)
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        self.source.disconnect(self.connection);
    }
}

fn open(storage: &dyn Storage, header: SegmentHeader) -> Result<Reader, PersistError> {
    let name = header.name();
    let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
    Ok(Reader::new(file, header, DATA_START))
}

/// A reader that stands where the mirror ends, when this segment is the same up to there; else the byte at which it is not.
fn same_beginning(
    storage: &dyn Storage,
    header: &SegmentHeader,
    hello: &Head,
) -> Result<Result<Reader, u64>, PersistError> {
    let mut reader = open(storage, *header)?;
    let is_same_header = segment_mark(header) == hello.detail;
    if !is_same_header || hello.offset > header.segment_len || hello.offset < DATA_START {
        return Ok(Err(0));
    }
    reader.extend(hello.offset);
    while matches!(reader.step()?, Step::Record(_)) {}
    let place = reader.place();
    let is_same = (place.offset, place.batch_start) == (hello.offset, hello.offset)
        && (place.chain, place.last.sequence) == (hello.chain, hello.sequence);
    Ok(if is_same { Ok(reader) } else { Err(place.offset.min(hello.offset)) })
}

/// What tells a segment's header from another.
pub(crate) fn segment_mark(header: &SegmentHeader) -> u32 {
    crate::format::checksum::crc(&header.encode()[..BLOCK_LEN])
}
