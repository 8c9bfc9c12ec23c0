//! The mirror's side: checks what comes as replay does, writes it at the same place of the same segment, syncs it, and says so.
//!
//! What does not follow its own end is refused, whatever is wrong with it: nothing is cut to make it fit. At a start it ends with
//! its last whole batch; what stands behind that is wiped once the leader has taken it up, since the leader has it.

use crate::config::{PersistConfig, mode_name};
use crate::error::PersistError;
use crate::mirror::frame::{FrameKind, Head};
use crate::mirror::mark::{self, Mark};
use crate::mirror::source::segment_mark;
use crate::read::replay::{Place, Reader, Step};
use crate::read::survey::survey;
use crate::read::tail::walk;
use crate::recover::snapshot_store;
use crate::storage::disk::Lock;
use crate::storage::{Access, Buffer, File, Storage};
use crate::write::append;
use crate::write::copy::{Copier, CopyError, End};
use crate::write::flusher::Current;
use crate::write::status::{JournalStatus, Position};
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often it is noted how far the leader has come: a few syncs, for which records wait.
const NOTED: Duration = Duration::from_secs(10);

/// Why what came is not taken.
#[derive(Debug, thiserror::Error)]
pub enum SinkError {
    /// The mirror's own disk. Nothing is taken any more.
    #[error(transparent)]
    Persist(#[from] PersistError),
    /// It does not follow what is here, or is damaged. Nothing was written.
    #[error("what the leader sends does not fit what is here: {0}")]
    Unfit(String),
    /// The leader does not feed this mirror.
    #[error("the leader refuses this mirror: {0}")]
    Refused(String),
    /// The disk gives no further segment yet.
    #[error("the mirror's disk has no room for a further segment")]
    Full,
}

/// What the leader is known to have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Leader {
    /// Its last command.
    pub sequence: Sequence,
    /// Its replies wait for this mirror.
    pub is_awaited: bool,
}

/// The journal of a mirror.
pub struct Sink {
    storage: Arc<dyn Storage>,
    config: PersistConfig,
    status: Arc<JournalStatus>,
    gate: Arc<Gate>,
    copier: Copier,
    /// The journal has something behind its end.
    is_torn: bool,
    /// The folder bears the mark.
    is_marked: bool,
    /// The leader has taken it up on this connection.
    is_welcome: bool,
    journal_id: [u8; 16],
    /// Pieces of a batch that is not here whole.
    pending: Buffer,
    pending_len: usize,
    snapshot: Option<Receiving>,
    /// Sequence of the snapshot that the first segment must reach back to.
    since: Option<Sequence>,
    leader: Leader,
    /// Where the leader's journal ended when it took this one up.
    goal: Option<Position>,
    noted: Option<Instant>,
    now_ns: fn() -> i64,
    _lock: Lock,
}

/// A snapshot on its way.
struct Receiving {
    file: Arc<dyn File>,
    name: String,
    at: u64,
    len: u64,
}

impl From<CopyError> for SinkError {
    fn from(error: CopyError) -> SinkError {
        match error {
            CopyError::Persist(error) => SinkError::Persist(error),
            CopyError::Unfit(what) => SinkError::Unfit(what),
            CopyError::Full => SinkError::Full,
        }
    }
}

impl Sink {
    /// Opens what is in the locked folder, which may be empty, or a leader's that is to become a mirror. `now_ns` is the clock, for what
    /// is noted of the leader. Writes nothing.
    ///
    /// Errors: I/O; damage; commands behind the last batch of a folder of mode `written` that is no mirror's: they may have been
    /// acknowledged.
    pub fn open(
        storage: Arc<dyn Storage>,
        lock: Lock,
        config: &PersistConfig,
        is_threaded: bool,
        now_ns: fn() -> i64,
    ) -> Result<Sink, PersistError> {
        config.check()?;
        let survey = survey(storage.as_ref())?;
        let mut end = None;
        let mut is_torn = false;
        if let Some(read) = survey.segments.last() {
            let header = read.header;
            let name = header.name();
            if !survey.is_mirror {
                // What would not be cut at a start is not cut here.
                walk(storage.as_ref(), &survey, survey.segments.len() - 1, None, |_, _| Ok(()))?;
            }
            let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
            let mut reader = Reader::new(file, header, header.segment_len);
            let mut place = reader.place();
            while matches!(reader.step()?, Step::Record(_)) {
                let next = reader.place();
                if next.batch_start == next.offset {
                    place = next;
                }
            }
            let behind = reader.place();
            if !survey.is_mirror && behind.batch_commands > 0 && mode_name(header.mode) == "written" {
                let reason = format!(
                    "commands {} to {} stand behind its last batch and may have been acknowledged; a mirror would not keep them. \
                     Start it as what it is, or move its journal aside",
                    place.last.sequence + 1,
                    behind.last.sequence
                );
                return Err(PersistError::Mirror { reason });
            }
            is_torn = place.offset < header.segment_len;
            end = Some(End { current: Current::open(storage.as_ref(), header)?, place });
        }
        let (segment_len, position) = match &end {
            None => (config.segment_len, Position { segment: 0, offset: 0 }),
            Some(End { current: Current { header, .. }, place }) => {
                (header.segment_len, Position { segment: header.number, offset: place.offset })
            }
        };
        let last = end.as_ref().map_or(0, |end| end.place.last.sequence);
        let newest = survey.snapshots.iter().filter_map(|name| snapshot_store::sequence_of(name)).max();
        let status = Arc::new(JournalStatus::new(segment_len, position, config.shed_after));
        let gate = Arc::new(Gate::new(last));
        let journal_id = end.as_ref().map_or([0; 16], |end| end.current.header.journal_id);
        Ok(Sink {
            copier: Copier::new(storage.clone(), config, status.clone(), gate.clone(), is_threaded, end),
            status,
            gate,
            config: config.clone(),
            journal_id,
            is_torn,
            is_marked: survey.is_mirror,
            is_welcome: false,
            pending: Buffer::zeroed(0),
            pending_len: 0,
            snapshot: None,
            since: newest,
            leader: Leader::default(),
            goal: None,
            noted: None,
            now_ns,
            storage,
            _lock: lock,
        })
    }

    /// How far its disk is.
    pub fn status(&self) -> Arc<JournalStatus> {
        self.status.clone()
    }

    /// How far its disk is, by commands.
    pub fn gate(&self) -> Arc<Gate> {
        self.gate.clone()
    }

    /// What the leader is known to have.
    pub fn leader(&self) -> Leader {
        self.leader
    }

    /// Whether there is something that an engine can start from: a first segment of which something is durable.
    pub fn has_journal(&self) -> bool {
        self.is_marked && self.copier.end.is_some()
    }

    /// Where it ends, once it holds everything that the leader had when it took it up, and its snapshot's last command.
    pub(crate) fn reached(&self) -> Option<Place> {
        let End { current, place } = self.copier.end.as_ref()?;
        let here = Position { segment: current.header.number, offset: place.offset };
        let is_whole = here >= self.goal? && Some(place.last.sequence) >= self.since;
        (is_whole && self.is_welcome).then_some(*place)
    }

    /// Id of the journal; zeros where there is none yet.
    pub fn journal_id(&self) -> [u8; 16] {
        self.journal_id
    }

    /// What is said first on a connection. Whatever was on its way on the one before is forgotten.
    pub fn hello(&mut self) -> Head {
        (self.is_welcome, self.pending_len, self.snapshot) = (false, 0, None);
        let head = Head::new(FrameKind::Hello, self.journal_id);
        let Some(End { current, place }) = &self.copier.end else { return head };
        Head {
            segment: current.header.number,
            offset: place.offset,
            sequence: place.last.sequence,
            chain: place.chain,
            detail: segment_mark(&current.header),
            ..head
        }
    }

    /// Up to where its disk holds everything.
    pub fn synced(&self) -> Head {
        let head = Head::new(FrameKind::Synced, self.journal_id);
        let Some(End { current, place }) = &self.copier.end else { return head };
        Head { segment: current.header.number, offset: place.offset, sequence: place.last.sequence, ..head }
    }

    /// Takes a frame; whether the disk holds more than before.
    ///
    /// Errors: [`SinkError`]; the connection is to be ended.
    pub fn take(&mut self, head: &Head, payload: &[u8]) -> Result<bool, SinkError> {
        let unfit = |what: &str| Err(SinkError::Unfit(what.to_owned()));
        let kind = head.kind().map_err(|error| SinkError::Unfit(error.to_string()))?;
        if kind == FrameKind::Refused {
            return Err(SinkError::Refused(String::from_utf8_lossy(payload).into_owned()));
        }
        if self.journal_id != [0; 16] && head.journal_id != self.journal_id {
            return unfit("it is of another journal");
        }
        if self.is_welcome == (kind == FrameKind::Welcome) {
            return unfit("it comes before the welcome, or is a second one");
        }
        match kind {
            FrameKind::Welcome => self.begin_connection(head)?,
            FrameKind::Beat => self.hear(head.sequence)?,
            FrameKind::Snapshot => self.take_snapshot(head, payload)?,
            FrameKind::Begin => self.begin_segment(head, payload)?,
            FrameKind::Records => return self.take_records(head, payload),
            FrameKind::Hello | FrameKind::Synced | FrameKind::Refused | FrameKind::Beside => {
                return unfit("a leader does not say that");
            }
        }
        Ok(false)
    }

    fn begin_connection(&mut self, head: &Head) -> Result<(), SinkError> {
        let segment_len = head.chain;
        PersistConfig { segment_len, ..self.config.clone() }
            .check()
            .map_err(|error| SinkError::Unfit(error.to_string()))?;
        if head.journal_id == [0; 16] {
            return Err(SinkError::Unfit("a journal has an id".to_owned()));
        }
        self.journal_id = head.journal_id;
        self.leader.is_awaited = head.detail & 1 != 0;
        self.goal = Some(Position { segment: head.segment, offset: head.offset });
        self.noted = None;
        self.hear(head.sequence)?;
        self.is_marked = true;
        if let Some(End { current, place }) = &self.copier.end
            && std::mem::take(&mut self.is_torn)
        {
            let file = self
                .storage
                .open(&current.name, Access::Repair)
                .map_err(PersistError::io("open", &current.name))?;
            append::wipe(self.storage.as_ref(), file.as_ref(), &current.header, place.offset)?;
        }
        self.copier.expect(segment_len)?;
        self.is_welcome = true;
        Ok(())
    }

    /// The leader has come so far. That is noted now and then, for a promotion to tell.
    fn hear(&mut self, sequence: Sequence) -> Result<(), PersistError> {
        self.leader.sequence = self.leader.sequence.max(sequence);
        if self.noted.is_none_or(|noted| noted.elapsed() >= NOTED) {
            let (is_awaited, leader) = (self.leader.is_awaited, self.leader.sequence);
            mark::write(self.storage.as_ref(), &Mark { is_awaited, leader, time_ns: (self.now_ns)() })?;
            self.noted = Some(Instant::now());
        }
        Ok(())
    }

    /// A piece of the snapshot that an empty mirror begins with. It gets its name once all of it is sound.
    fn take_snapshot(&mut self, head: &Head, payload: &[u8]) -> Result<(), SinkError> {
        if self.copier.end.is_some() {
            return Err(SinkError::Unfit("there is a journal already".to_owned()));
        }
        let name = snapshot_store::name_of(head.sequence);
        let aside = format!("{name}.tmp");
        let mut receiving = match self.snapshot.take() {
            Some(receiving) => receiving,
            None => {
                let file = self.storage.create(&aside).map_err(PersistError::io("create", &aside))?;
                Receiving { file, name, at: 0, len: head.chain }
            }
        };
        if receiving.name != snapshot_store::name_of(head.sequence)
            || head.offset != receiving.at
            || head.chain != receiving.len
        {
            return Err(SinkError::Unfit("a piece of a snapshot is not the next".to_owned()));
        }
        receiving.file.write_at(head.offset, payload).map_err(PersistError::io("write", &aside))?;
        receiving.at += payload.len() as u64;
        if receiving.at < receiving.len {
            self.snapshot = Some(receiving);
            return Ok(());
        }
        receiving.file.sync().map_err(PersistError::io("sync", &aside))?;
        let snapshot =
            snapshot_store::read_as(self.storage.as_ref(), &aside, &receiving.name).map_err(|error| {
                match error {
                    PersistError::Io { .. } => SinkError::Persist(error),
                    damage => SinkError::Unfit(damage.to_string()),
                }
            })?;
        if snapshot.moment.journal_id != self.journal_id {
            return Err(SinkError::Unfit("the snapshot is of another journal".to_owned()));
        }
        self.storage.rename(&aside, &receiving.name).map_err(PersistError::io("rename", &aside))?;
        if let Some(earlier) = self.since.filter(|earlier| *earlier < head.sequence) {
            // It came from another, and the segments that come now need not reach back to it.
            let name = snapshot_store::name_of(earlier);
            self.storage.remove(&name).map_err(PersistError::io("remove", &name))?;
        }
        self.storage.sync_directory().map_err(PersistError::io("sync", "the directory"))?;
        // Another may have come before it, from one that has more.
        self.since = self.since.max(Some(head.sequence));
        Ok(())
    }

    fn begin_segment(&mut self, head: &Head, payload: &[u8]) -> Result<(), SinkError> {
        Ok(self.copier.begin(self.journal_id, head.segment, payload, self.since)?)
    }

    /// Whole batches, or a piece of them: those are kept until the rest is here.
    fn take_records(&mut self, head: &Head, payload: &[u8]) -> Result<bool, SinkError> {
        let Some(End { current, place }) = &self.copier.end else {
            return Err(SinkError::Unfit("records came before a segment was begun".to_owned()));
        };
        let header = current.header;
        let expected = place.offset + self.pending_len as u64;
        let is_next = (head.segment, head.offset) == (header.number, expected);
        if !is_next || header.segment_len - expected < payload.len() as u64 {
            return Err(SinkError::Unfit(format!(
                "{} bytes at byte {} of segment {} came where byte {expected} of segment {}, which has {}, is the next",
                payload.len(),
                head.offset,
                head.segment,
                header.number,
                header.segment_len
            )));
        }
        let len = self.pending_len + payload.len();
        if len > self.pending.len() {
            let mut room = Buffer::zeroed(len.next_power_of_two());
            room[..self.pending_len].copy_from_slice(&self.pending[..self.pending_len]);
            self.pending = room;
        }
        self.pending[self.pending_len..len].copy_from_slice(payload);
        self.pending_len = len;
        if head.detail & 1 == 0 {
            return Ok(false);
        }
        self.pending_len = 0;
        self.write(len)?;
        self.hear(head.sequence)?;
        Ok(true)
    }

    /// Makes the first `len` bytes of what is pending durable.
    fn write(&mut self, len: usize) -> Result<(), SinkError> {
        let bytes = std::mem::replace(&mut self.pending, Buffer::zeroed(0));
        let begun = self.status.flush_begins();
        self.pending = self.copier.write(bytes, len, |_| Ok(()))?;
        let Some(End { current, place }) = &self.copier.end else { unreachable!("it was written to") };
        let position = Position { segment: current.header.number, offset: place.offset };
        self.status.flush_ends(position, len as u64, current.header.segment_len, begun, None);
        self.status.show(position, 0);
        self.gate.publish_written(place.last.sequence);
        self.gate.publish_durable(place.last.sequence);
        Ok(())
    }
}
