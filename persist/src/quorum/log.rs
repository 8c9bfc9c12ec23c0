//! The journal as the log of a consensus: one sealed batch an entry. Knows which batch lies where, reads them for members who are
//! behind, writes those of another leader, and cuts what others did not agree to.
//!
//! An entry's data are the bytes of its batch, and its context is the first block of the segment that the batch begins. The entry
//! that `raft` begins a term with has neither: every member makes the same bytes of it. A batch that is a change of members is an
//! entry of another type, whose data `raft` reads as its own: block and batch both stand in its context ([`Whole`]), and what the
//! change is is read out of the batch wherever an entry is made of it.
//!
//! Batches that stand in a journal from before it was a cluster's have no number: they are the beginning that all members share.

use crate::config::{PersistConfig, Term};
use crate::error::PersistError;
use crate::format::record::{Class, Last};
use crate::format::segment::{self, DATA_START, SegmentHeader};
use crate::quorum::install::{self, Fetched};
use crate::quorum::link::Given;
use crate::quorum::members::Members;
use crate::quorum::vote::{self, Vote};
use crate::read::replay::{Place, Reader, Step};
use crate::read::survey::{Survey, survey};
use crate::read::tail::{follows, walk};
use crate::recover::snapshot_store;
use crate::storage::{Access, BLOCK_LEN, Buffer, Storage};
use crate::write::append;
use crate::write::copy::{Copier, CopyError, End, Ended, whole_batches};
use crate::write::encoder::{Encoder, Tail};
use crate::write::flusher::Current;
use crate::write::status::{JournalStatus, Position};
use bytes::Bytes;
use raft::eraftpb::{ConfChangeV2, ConfState, Entry, EntryType, HardState, Snapshot, SnapshotMetadata};
use raft::{GetEntriesContext, RaftState, StorageError};
use ringside_core::command::{AdvanceTime, Command};
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
use std::cell::Cell;
use std::collections::{BTreeMap, VecDeque};
use std::ops::{Bound, Range};
use std::sync::Arc;

/// Where a batch ends, and what goes on from there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) term: u32,
    pub(crate) segment: u64,
    pub(crate) end: u64,
    chain: u64,
    pub(crate) last: Last,
}

impl At {
    fn of(header: &SegmentHeader, place: &Place) -> At {
        At {
            term: place.epoch,
            segment: header.number,
            end: place.offset,
            chain: place.chain,
            last: place.last,
        }
    }

    pub(crate) fn position(&self) -> Position {
        Position { segment: self.segment, offset: self.end }
    }

    fn place(&self, index: u64) -> Place {
        Place {
            offset: self.end,
            chain: self.chain,
            last: self.last,
            epoch: self.term,
            batch_start: self.end,
            batch_commands: 0,
            index,
        }
    }
}

/// A batch that this member made: as the leader, to be proposed, or as the first of a term.
pub(crate) struct Found {
    pub(crate) index: u64,
    pub(crate) context: Bytes,
    pub(crate) data: Bytes,
    /// It is a change of members.
    pub(crate) change: Option<ConfChangeV2>,
}

/// Fewer are written one by one: so many syncs cost what the two of the mark do.
const FEW: usize = 4;
/// Bytes of batches that are written with one sync, unless one alone is longer.
const TOGETHER: usize = 1 << 20;

/// Bytes of batches that a member takes up before it hears more: a leader takes silence for the loss of a member.
pub(crate) const AT_ONCE: usize = TOGETHER / 2;
/// Bytes of a leader's last batches that stay in memory for members that are a little behind, once its own disk has them; half a segment
/// at most, so that it is files that others go by who are further behind.
const RECENT_MAX: usize = 32 << 20;

/// What was read of a segment for entries that follow each other.
struct Near {
    segment: u64,
    start: u64,
    bytes: Bytes,
}

impl Near {
    fn holds(&self, segment: u64, range: Range<u64>) -> bool {
        let end = self.start + self.bytes.len() as u64;
        segment == self.segment && self.start <= range.start && range.end <= end
    }
}

/// A batch of this member as the leader.
struct Recent {
    index: u64,
    end: Position,
    block: Bytes,
    batch: Bytes,
}

/// The log; see the module's header.
pub(crate) struct Log {
    storage: Arc<dyn Storage>,
    config: PersistConfig,
    engine_version: u32,
    status: Arc<JournalStatus>,
    copier: Copier,
    vote: Vote,
    /// Members as the settings name them.
    settings: Members,
    /// Members after each batch that changed them.
    changes: BTreeMap<u64, Members>,
    /// Members before those, where the journal's beginning is gone.
    earlier: Option<Members>,
    /// Number of the batch that those of `entries` come after, and where it ends, if there is anything.
    base: u64,
    base_at: Option<At>,
    entries: VecDeque<At>,
    /// Behind those: batches of this member as the leader that the consensus has not taken up yet.
    ahead: VecDeque<At>,
    /// A leader's: where it has proposed everything up to.
    lent: Option<(SegmentHeader, Place)>,
    /// A leader's last batches, their bytes, and how many of them its own disk is known to have.
    recent: VecDeque<Recent>,
    recent_len: usize,
    recent_durable: usize,
    /// Memory that batches are written from.
    room: Buffer,
    /// By number.
    headers: BTreeMap<u64, SegmentHeader>,
    /// The first batch that can still be read: those before it went with their segments.
    first: Cell<u64>,
    /// Bytes of batches that were given out to be sent.
    sent: Cell<usize>,
    failure: Cell<Option<PersistError>>,
}

impl Log {
    /// Opens what lies in the folder of a member: ends an install or a cut that was begun, checks everything, and wipes what stands
    /// behind the last whole batch.
    ///
    /// Errors: it is no member's; rot; batches that are not numbered in turn; I/O.
    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        config: &PersistConfig,
        engine_version: u32,
        settings: &Members,
        is_threaded: bool,
    ) -> Result<Log, PersistError> {
        config.check()?;
        let mut vote = vote::open(storage.as_ref())?;
        install::finish(&storage, &mut vote)?;
        if let Some(cut) = vote.cut {
            cut_at(storage.as_ref(), cut)?;
            vote.cut = None;
            vote::write(storage.as_ref(), &mut vote)?;
        }
        let survey = without_empty_end(storage.as_ref())?;
        // One that has come to a cluster later is no member before the journal says so.
        let settings = if vote.is_joined { settings.but(vote.member) } else { settings.clone() };
        let status = Arc::new(JournalStatus::new(
            config.segment_len,
            Position { segment: 0, offset: 0 },
            config.shed_after,
        ));
        status.hold();
        let mut log = Log {
            copier: Copier::new(
                storage.clone(),
                config,
                status.clone(),
                Arc::new(Gate::new(0)),
                is_threaded,
                None,
            ),
            storage,
            config: config.clone(),
            engine_version,
            status,
            vote,
            settings,
            changes: BTreeMap::new(),
            earlier: None,
            base: 0,
            base_at: None,
            entries: VecDeque::new(),
            ahead: VecDeque::new(),
            lent: None,
            recent: VecDeque::new(),
            recent_len: 0,
            recent_durable: 0,
            room: Buffer::zeroed(0),
            headers: BTreeMap::new(),
            first: Cell::new(1),
            sent: Cell::new(0),
            failure: Cell::new(None),
        };
        log.read_all(&survey)?;
        log.copier.expect(config.segment_len)?;
        Ok(log)
    }

    fn read_all(&mut self, survey: &Survey) -> Result<(), PersistError> {
        let Some(last) = survey.segments.len().checked_sub(1) else { return Ok(()) };
        // Whether what is behind its end was torn or has rotted.
        walk(self.storage.as_ref(), survey, last, None, |_, _| Ok(()))?;
        let mut end: Option<Place> = None;
        let mut members = None;
        for (index, read) in survey.segments.iter().enumerate() {
            let header = read.header;
            let name = header.name();
            if header.journal_id != self.vote.cluster {
                let reason = "the journal in this folder is not the cluster's".to_string();
                return Err(PersistError::Member { reason });
            }
            if let Some(end) = &end {
                follows(end, &header)?;
            }
            let file = self.storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
            let mut reader = Reader::new(file, header, header.segment_len);
            let mut place = Place { index: end.map_or(0, |end| end.index), ..reader.place() };
            loop {
                match reader.step()? {
                    Step::Record(record) if record.class() == Class::Seal => {
                        let before = place.index;
                        place = reader.place();
                        self.note(before, &header, &place)?;
                        if let Some(members) = members.take() {
                            self.changes.insert(place.index, members);
                        }
                    }
                    Step::Record(record) if record.class() == Class::Side => {
                        members = Members::of_entry(&record.side()).or(members);
                    }
                    Step::Record(_) => {}
                    Step::End => break,
                    Step::Bad(_) if index == last => break,
                    Step::Bad(bad) => {
                        return Err(PersistError::Rot {
                            segment: name,
                            offset: bad.offset,
                            sequence: bad.sequence,
                            flaw: bad.flaw,
                            durable_mark: format!("the next segment, {}", survey.header(index + 1).name()),
                        });
                    }
                }
            }
            self.headers.insert(header.number, header);
            end = Some(place);
        }
        if self.changes.is_empty() && survey.header(0).number > 1 {
            // With the segments that they were changed in it would be gone, but for snapshots.
            let sound = |name: &String| snapshot_store::read(self.storage.as_ref(), name).ok();
            let newest = survey.snapshots.iter().rev().find_map(sound);
            self.earlier = newest.and_then(|snapshot| Members::of(&snapshot.side().ok()?));
        }
        let snapshots = survey.snapshots.iter().filter_map(|name| snapshot_store::sequence_of(name));
        if let Some(sequence) = snapshots.max() {
            // It was made of what was agreed on, which may have been forgotten since: who is the only one to have that could not give it
            // to anybody, and without them nothing further would be agreed on.
            let is_before = |at: &At| at.last.sequence < sequence;
            let holds = match self.base_at.is_some_and(|at| !is_before(&at)) {
                true => self.base,
                false => self.base + self.entries.partition_point(is_before) as u64 + 1,
            };
            self.vote.commit = self.vote.commit.max(holds.min(self.last()));
        }
        let header = *survey.header(last);
        let Some(place) = end else { unreachable!("there is a segment") };
        let name = header.name();
        let file = self.storage.open(&name, Access::Repair).map_err(PersistError::io("open", &name))?;
        // What a killed process left in the page cache counts from now on.
        file.sync().map_err(PersistError::io("sync", &name))?;
        append::wipe(self.storage.as_ref(), file.as_ref(), &header, place.offset)?;
        self.copier.end = Some(End { current: Current::open(self.storage.as_ref(), header)?, place });
        Ok(())
    }

    /// Notes a batch that was read, behind the one of number `before`.
    fn note(&mut self, before: u64, header: &SegmentHeader, place: &Place) -> Result<(), PersistError> {
        let at = At::of(header, place);
        let is_first = self.entries.is_empty() && self.base == 0;
        match place.index {
            0 if is_first => self.base_at = Some(at),
            1 if is_first => self.entries.push_back(at),
            // What was before it went with its segments.
            index if is_first && index > 0 && self.base_at.is_none() => {
                (self.base, self.base_at) = (index, Some(at));
                self.first.set(index + 1);
            }
            index if index == before + 1 && !is_first => self.entries.push_back(at),
            index => {
                let reason = format!(
                    "the batch that ends at byte {} of {} has number {index} behind {before}",
                    place.offset,
                    header.name()
                );
                return Err(PersistError::Member { reason });
            }
        }
        Ok(())
    }

    /// Progress and health of the disk, as far as it is agreed on.
    pub(crate) fn status(&self) -> Arc<JournalStatus> {
        self.status.clone()
    }

    pub(crate) fn vote(&self) -> &Vote {
        &self.vote
    }

    /// The members as of batch `index`.
    pub(crate) fn members(&self, index: u64) -> &Members {
        let change = self.changes.range(..=index).next_back().map(|(_, members)| members);
        change.or(self.earlier.as_ref()).unwrap_or(&self.settings)
    }

    /// The same, as raft knows them. A change says what was before it as well: of a journal whose beginning is gone that may be all.
    fn conf_state(&self, index: u64) -> ConfState {
        match (self.changes.range(..=index).next_back(), self.changes.first_key_value()) {
            (None, Some((_, next))) => next.conf_state_before(),
            _ => self.members(index).conf_state(),
        }
    }

    /// The changes of members behind batch `after` up to `through`.
    pub(crate) fn changes(&self, after: u64, through: u64) -> impl Iterator<Item = &Members> {
        self.changes.range((Bound::Excluded(after), Bound::Included(through))).map(|(_, members)| members)
    }

    /// A batch that is known to be agreed on. A change of members is proposed once the one before it was agreed on, so that one is, though
    /// that was forgotten: a member that knew of a set of before the last two might agree on something with others of that set alone.
    pub(crate) fn applied(&self) -> u64 {
        let before_last = self.changes.keys().nth_back(1).copied().unwrap_or(0);
        self.vote.commit.max(self.base).max(before_last)
    }

    /// The last batch that the consensus knows of.
    pub(crate) fn last(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// Where batch `index` ends; `None` where it is not known, or is the beginning of all.
    pub(crate) fn at(&self, index: u64) -> Option<At> {
        match index.checked_sub(self.base)? {
            0 => self.base_at,
            after => self.entries.get(after as usize - 1).copied(),
        }
    }

    /// Keeps term and vote, durably.
    pub(crate) fn keep(&mut self, state: &HardState) -> Result<(), PersistError> {
        if (state.term, state.vote) == (self.vote.term, self.vote.vote) {
            return Ok(());
        }
        (self.vote.term, self.vote.vote) = (state.term, state.vote);
        vote::write(self.storage.as_ref(), &mut self.vote)
    }

    /// The last batch that is durable here.
    pub(crate) fn durable(&self) -> u64 {
        self.recent.get(self.recent_durable).map_or(self.last(), |next| self.last().min(next.index - 1))
    }

    /// This member's own disk has everything up to there.
    pub(crate) fn synced(&mut self, local: Position) {
        while self.recent.get(self.recent_durable).is_some_and(|batch| batch.end <= local) {
            self.recent_durable += 1;
        }
        let most = RECENT_MAX.min(self.config.segment_len as usize / 2);
        while self.recent_durable > 0
            && let Some(Recent { batch, .. }) = self.recent.pop_front_if(|_| self.recent_len > most)
        {
            self.recent_len -= batch.len();
            self.recent_durable -= 1;
        }
    }

    /// Everything up to batch `index` is agreed on. As far as it is durable here that is kept: with the next vote, for it may be forgotten;
    /// at once where members changed, for who goes by those of before may wait for ever for the votes of some that are gone.
    ///
    /// Errors: the disk.
    pub(crate) fn agree(&mut self, index: u64) -> Result<(), PersistError> {
        let held = index.min(self.durable());
        if held <= self.vote.commit {
            return Ok(());
        }
        let is_change = self.changes(self.vote.commit, held).next().is_some();
        self.vote.commit = held;
        if is_change {
            vote::write(self.storage.as_ref(), &mut self.vote)?;
        }
        Ok(())
    }

    /// What was fetched takes the place of this log once it is opened anew.
    pub(crate) fn adopt(&mut self, fetched: &Fetched) -> Result<(), PersistError> {
        install::adopt(self.storage.as_ref(), &mut self.vote, fetched)
    }

    /// Bytes of batches that were given out to be sent since this was last asked.
    pub(crate) fn take_sent(&self) -> usize {
        self.sent.take()
    }

    /// Why the log could not be read, once.
    pub(crate) fn take_failure(&self) -> Option<PersistError> {
        self.failure.take()
    }

    /// Whether the disk has room for these entries of a leader: for as many segments as they begin.
    pub(crate) fn has_room_for(&self, entries: &[Entry]) -> bool {
        // The first of a term is made here, and may begin one.
        let begins = |entry: &&Entry| {
            Whole::of(entry).is_some_and(|whole| !whole.block.is_empty() || whole.batch.is_empty())
        };
        let segments = entries.iter().filter(begins).count();
        segments == 0 || self.copier.has_spares(segments as u64)
    }

    /// Makes entries durable, in the place of whatever others stand there.
    ///
    /// Errors: they do not follow; the disk.
    pub(crate) fn append(&mut self, mut entries: &[Entry]) -> Result<(), PersistError> {
        while let Some(entry) = entries.first() {
            if let Some(at) = self.ahead.pop_front() {
                assert_eq!(
                    (self.last() + 1, u64::from(at.term)),
                    (entry.index, entry.term),
                    "a leader's own batches are taken up in turn"
                );
                self.entries.push_back(at);
                entries = &entries[1..];
                continue;
            }
            if entry.index <= self.last() {
                self.cut(entry.index - 1)?;
            }
            assert_eq!(entry.index, self.last() + 1, "entries come in turn");
            let (together, rest) = entries.split_at(together(entries));
            self.write(together).map_err(|error| match error {
                CopyError::Persist(error) => error,
                error => PersistError::Member {
                    reason: format!("batch {} of term {} is not taken: {error}", entry.index, entry.term),
                },
            })?;
            entries = rest;
        }
        Ok(())
    }

    /// What is behind that place goes at the next opening, durably.
    fn mark_cut(&mut self, position: Option<Position>) -> Result<(), PersistError> {
        self.vote.cut = position;
        vote::write(self.storage.as_ref(), &mut self.vote)
    }

    /// Writes entries that [`together`] puts together, with one sync. A seal says that batches before it were durable, which is true of the
    /// disk that it was made for: where several are written at once they go as if they were cut, should this not come to its end.
    fn write(&mut self, entries: &[Entry]) -> Result<(), CopyError> {
        let [entry, ..] = entries else { return Ok(()) };
        let is_change = entry.entry_type != EntryType::EntryNormal;
        let made = if entry.data.is_empty() && !is_change { Some(self.first_of(entry)?) } else { None };
        let Whole { block, batch: first } = match made {
            Some(Found { context, data, .. }) => Whole { block: context, batch: data },
            None => Whole::of(entry).ok_or_else(|| CopyError::Unfit("its context".to_owned()))?,
        };
        let is_marked = entries.len() > 1;
        if is_marked {
            let end = self.copier.end.as_ref();
            let position =
                end.map(|end| Position { segment: end.current.header.number, offset: end.place.offset });
            self.mark_cut(Some(position.unwrap_or(Position { segment: 1, offset: 0 })))?;
        }
        if !block.is_empty() {
            let number = self.copier.end.as_ref().map_or(0, |end| end.current.header.number) + 1;
            self.copier.begin(self.vote.cluster, number, &block, None)?;
        }
        let batches = || std::iter::once(&first).chain(entries[1..].iter().map(|entry| &entry.data));
        if !batches().all(|batch| batch.len().is_multiple_of(BLOCK_LEN)) {
            return Err(CopyError::Unfit("its bytes are not whole blocks".to_owned()));
        }
        let begun = self.status.flush_begins();
        let len = batches().map(Bytes::len).sum();
        let (mut bytes, mut filled) = (std::mem::replace(&mut self.room, Buffer::zeroed(0)), 0);
        if bytes.len() < len {
            bytes = Buffer::zeroed(len);
        }
        for batch in batches() {
            bytes[filled..filled + batch.len()].copy_from_slice(batch);
            filled += batch.len();
        }
        let mut written = Vec::new();
        self.room = self.copier.write(bytes, len, |batches| {
            let found = batches.iter().map(|batch| (batch.place.index, u64::from(batch.place.epoch)));
            if !found.clone().eq(entries.iter().map(|entry| (entry.index, entry.term))) {
                let found: Vec<_> = found.collect();
                return Err(format!("seals say that these are the batches and terms {found:?}"));
            }
            if batches.iter().any(|batch| batch.members.is_some() != is_change) {
                return Err("it is a change of members and is not, as one looks at it".to_owned());
            }
            written = batches;
            Ok(())
        })?;
        if is_marked {
            self.mark_cut(None)?;
        }
        let Some(End { current, .. }) = &self.copier.end else { unreachable!("it was written to") };
        self.headers.insert(current.header.number, current.header);
        for Ended { place, members } in written {
            self.entries.push_back(At::of(&current.header, &place));
            if let Some(members) = members {
                self.changes.insert(place.index, members);
            }
        }
        let segment_len = current.header.segment_len;
        let end = self.at(self.last()).map(|at| at.position()).expect("it was written");
        self.status.flush_ends(end, len as u64, segment_len, begun, None);
        Ok(())
    }

    /// The batch of the entry that a term begins with: one command that changes nothing, at the time of the one before, so that the
    /// bytes are the same wherever they are made. Without a command a segment could end up with the name of the next.
    fn first_of(&self, entry: &Entry) -> Result<Found, CopyError> {
        let number = u32::try_from(entry.term).map_err(|_| CopyError::Unfit("its term".to_owned()))?;
        let config =
            PersistConfig { term: Some(Term { number, index: entry.index - 1 }), ..self.config.clone() };
        let (tail, is_new) = match &self.copier.end {
            Some(End { current, place }) => (Tail::at(current.header, place), false),
            None => {
                let header = append::first_header(&config, self.engine_version, self.vote.cluster, number);
                (Tail::at(header, &Place::start_of(&header)), true)
            }
        };
        let mut chain = tail.chain;
        let mut encoder = Encoder::new(&config, self.engine_version, number, &tail);
        let mut command = Command::new(AdvanceTime {});
        (command.sequence, command.time_ns) = (tail.last.sequence + 1, tail.last.time_ns);
        encoder.push(&command);
        let mut batch = encoder.close(Buffer::zeroed(0));
        batch.finish(&mut chain);
        let begins = if is_new { Some(tail.header) } else { batch.begins };
        let context = begins.map_or(Bytes::new(), |header| first_block(&header));
        let data = Bytes::copy_from_slice(&batch.buffer[..batch.len]);
        Ok(Found { index: entry.index, context, data, change: None })
    }

    /// Takes away every batch behind `index`, whatever dies meanwhile.
    fn cut(&mut self, index: u64) -> Result<(), PersistError> {
        assert!(index >= self.vote.commit && index >= self.base, "what is agreed on is not cut");
        assert!(self.ahead.is_empty(), "a leader's batches are not cut");
        let at = self.at(index);
        let position = at.map_or(Position { segment: 1, offset: 0 }, |at| at.position());
        self.mark_cut(Some(position))?;
        self.copier.end = None;
        cut_at(self.storage.as_ref(), position)?;
        self.mark_cut(None)?;
        self.entries.truncate((index - self.base) as usize);
        self.changes.split_off(&(index + 1));
        self.headers.retain(|number, _| *number <= position.segment && position.offset > 0);
        if let Some(at) = at {
            let header = self.headers[&at.segment];
            let current = Current::open(self.storage.as_ref(), header)?;
            self.copier.end = Some(End { current, place: at.place(index) });
        }
        Ok(())
    }

    /// Gives its files up: a leader's journaller writes to them from now on.
    pub(crate) fn lend(&mut self) {
        self.copier.rest();
        let Some(End { current, place }) = self.copier.end.take() else {
            unreachable!("a term begins with a batch of its own")
        };
        self.lent = Some((current.header, place));
    }

    /// Where everything was proposed up to, and the header of that segment.
    fn lent(&self) -> (SegmentHeader, Place) {
        let Some(lent) = self.lent else { unreachable!("its files were given up") };
        lent
    }

    /// What the leader's journaller has made up to `until`, batch by batch: what is `given`, and before that what the files have.
    ///
    /// Errors: I/O; it is not what a journaller writes.
    pub(crate) fn found(&mut self, until: Position, given: Vec<Given>) -> Result<Vec<Found>, PersistError> {
        let mut found = Vec::new();
        for Given { header, start, end, members, bytes } in given {
            self.find_in_files(Position { segment: header.number, offset: start }, &mut found)?;
            if let Some(batch) = bytes {
                self.take_up(header, end, batch, members, &mut found)?;
            }
        }
        self.find_in_files(until, &mut found)?;
        Ok(found)
    }

    /// Everything up to `until` that was not found yet, from the files.
    fn find_in_files(&mut self, until: Position, found: &mut Vec<Found>) -> Result<(), PersistError> {
        loop {
            let (mut header, place) = self.lent();
            let mut offset = place.offset;
            let is_full = offset == header.segment_len;
            let next = Position { segment: header.number + 1, offset: DATA_START };
            if (Position { segment: header.number, offset }) >= until || is_full && until == next {
                return Ok(());
            }
            if is_full {
                let name = segment::name_of(place.last.sequence + 1);
                let file = self.storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
                header = segment::read_header(file.as_ref(), &name)?.header;
                offset = DATA_START;
            }
            let limit = if header.number == until.segment { until.offset } else { header.segment_len };
            let name = header.name();
            let bytes =
                read(self.storage.as_ref(), &name, offset..limit).map_err(PersistError::io("read", &name))?;
            let at = Place { offset, index: place.index, ..Place::start_of(&header) };
            let at = if is_full { at } else { place };
            let mut reader = Reader::of_bytes(header, at, bytes, (limit - offset) as usize);
            let batches = whole_batches(&mut reader, &header)
                .map_err(|error| PersistError::Member { reason: format!("its own batch: {error}") })?;
            let bytes = Bytes::from_owner(reader.into_bytes());
            let mut from = 0;
            for Ended { place, members } in batches {
                let to = (place.offset - offset) as usize;
                self.take_up(header, place, bytes.slice(from..to), members, found)?;
                from = to;
            }
        }
    }

    /// The next batch, which ends at `place` in the segment of `header`.
    fn take_up(
        &mut self,
        header: SegmentHeader,
        place: Place,
        batch: Bytes,
        members: Option<Members>,
        found: &mut Vec<Found>,
    ) -> Result<(), PersistError> {
        let (before, at) = self.lent();
        let begins = header.number != before.number;
        if begins {
            follows(&at, &header)?;
            self.headers.insert(header.number, header);
        }
        if place.index != at.index + 1 {
            let reason = format!("its own batch has number {} behind {}", place.index, at.index);
            return Err(PersistError::Member { reason });
        }
        let block = if begins { first_block(&header) } else { Bytes::new() };
        let end = Position { segment: header.number, offset: place.offset };
        self.recent_len += batch.len();
        self.recent.push_back(Recent { index: place.index, end, block: block.clone(), batch: batch.clone() });
        let change = members.as_ref().and_then(Members::conf_change);
        found.push(Found { index: place.index, context: block, data: batch, change });
        if let Some(members) = members {
            self.changes.insert(place.index, members);
        }
        self.ahead.push_back(At::of(&header, &place));
        self.lent = Some((header, place));
        Ok(())
    }

    /// The entry of batch `index`, with its bytes where they are wanted: in `near`, or read into it with those of the batches that follow in
    /// its segment, up to batch `last`.
    fn entry(&self, index: u64, last: u64, near: Option<&mut Near>) -> Result<Entry, raft::Error> {
        let gone = || raft::Error::Store(StorageError::Compacted);
        let at = self.at(index).ok_or_else(gone)?;
        let is_change = self.changes.contains_key(&index);
        let entry_type = if is_change { EntryType::EntryConfChangeV2 } else { EntryType::EntryNormal };
        let mut entry = Entry { index, term: u64::from(at.term), entry_type, ..Entry::default() };
        let Some(near) = near else { return Ok(entry) };
        let recent = self.recent.front().and_then(|first| index.checked_sub(first.index));
        if let Some(Recent { block, batch, .. }) = recent.map(|place| &self.recent[place as usize]) {
            Whole { block: block.clone(), batch: batch.clone() }.put(&mut entry);
            return Ok(entry);
        }
        let before = self.at(index - 1);
        let header = self.headers[&at.segment];
        let start = match before {
            Some(before) if before.segment == at.segment => before.end,
            _ => DATA_START,
        };
        let name = header.name();
        let filled = match near.holds(at.segment, start..at.end) {
            true => Ok(()),
            false => {
                let fits = |next: &At| next.segment == at.segment && next.end - start <= TOGETHER as u64;
                let together = (index + 1..=last.min(self.durable())).map_while(|next| self.at(next));
                let end = together.take_while(fits).last().map_or(at.end, |last| last.end);
                read(self.storage.as_ref(), &name, start..end)
                    .map(|bytes| *near = Near { segment: at.segment, start, bytes: Bytes::from_owner(bytes) })
            }
        };
        match filled {
            Ok(()) => {
                let block = if start == DATA_START { first_block(&header) } else { Bytes::new() };
                let from = (start - near.start) as usize;
                let batch = near.bytes.slice(from..from + (at.end - start) as usize);
                Whole { block, batch }.put(&mut entry);
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                // It went with its segment, and so did what is before it.
                self.first.set(self.first.get().max(self.first_behind(at.segment)));
                return Err(gone());
            }
            Err(error) => {
                // It would panic of anything else. This way it has nothing to send, and whoever runs it is told.
                self.failure.set(Some(PersistError::io("read", &name)(error)));
                return Err(gone());
            }
        }
        Ok(entry)
    }

    /// The first batch behind segment `number`.
    fn first_behind(&self, number: u64) -> u64 {
        self.base + 1 + self.entries.partition_point(|at| at.segment <= number) as u64
    }
}

impl raft::Storage for Log {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let (Vote { term, vote, .. }, commit) = (self.vote, self.applied());
        let hard_state = HardState { term, vote, commit, ..HardState::default() };
        Ok(RaftState { hard_state, conf_state: self.conf_state(commit) })
    }

    /// What is sent to others has its bytes; of what is asked for otherwise number and term are all that is looked at.
    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        context: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        if low < self.first.get() {
            return Err(raft::Error::Store(StorageError::Compacted));
        }
        assert!(high <= self.last() + 1, "entries up to {high} of {}", self.last());
        let most = max_size.into().unwrap_or(u64::MAX);
        let with_bytes = context.can_async();
        let (mut entries, mut size) = (Vec::new(), 0);
        let mut near = Near { segment: 0, start: 0, bytes: Bytes::new() };
        for index in low..high {
            let entry = self.entry(index, high - 1, with_bytes.then_some(&mut near))?;
            size += (entry.data.len() + entry.context.len()) as u64;
            if size > most && !entries.is_empty() {
                break;
            }
            entries.push(entry);
        }
        self.sent.set(self.sent.get() + size as usize);
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        match self.at(index) {
            _ if index + 1 < self.first.get() => Err(raft::Error::Store(StorageError::Compacted)),
            // The beginning that all share is of no term.
            _ if index == 0 => Ok(0),
            Some(at) => Ok(u64::from(at.term)),
            None => Err(raft::Error::Store(StorageError::Unavailable)),
        }
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.first.get())
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.last())
    }

    /// The place that what can be read begins behind: whoever is further behind fetches the files ([`install`]).
    fn snapshot(&self, _request_index: u64, _to: u64) -> raft::Result<Snapshot> {
        let index = self.first.get() - 1;
        match self.at(index) {
            Some(at) if index > 0 => {
                let term = u64::from(at.term);
                let metadata = SnapshotMetadata { index, term, ..SnapshotMetadata::default() };
                Ok(Snapshot { metadata: Some(metadata).into(), ..Snapshot::default() })
            }
            // It could not be read, and whoever runs it is told.
            _ => Err(raft::Error::Store(StorageError::SnapshotTemporarilyUnavailable)),
        }
    }
}

/// The bytes of an entry: the first block of the segment that its batch begins, if it does, and the batch.
pub(crate) struct Whole {
    pub(crate) block: Bytes,
    pub(crate) batch: Bytes,
}

impl Whole {
    /// Of an entry that has bytes, which are shared; `None` where it is a change of members and they are not there.
    pub(crate) fn of(entry: &Entry) -> Option<Whole> {
        if entry.entry_type == EntryType::EntryNormal {
            return Some(Whole { block: entry.context.clone(), batch: entry.data.clone() });
        }
        let blocks = usize::from(*entry.context.first()?);
        let batch = 1 + blocks * BLOCK_LEN;
        (batch <= entry.context.len())
            .then(|| Whole { block: entry.context.slice(1..batch), batch: entry.context.slice(batch..) })
    }

    /// All of it as the context of a change of members.
    pub(crate) fn context(&self) -> Vec<u8> {
        let begins = u8::from(!self.block.is_empty());
        [&[begins], &self.block[..], &self.batch].concat()
    }

    /// Gives them to an entry.
    pub(crate) fn put(self, entry: &mut Entry) {
        match entry.entry_type {
            EntryType::EntryNormal => (entry.context, entry.data) = (self.block, self.batch),
            _ => entry.context = self.context().into(),
        }
    }
}

fn first_block(header: &SegmentHeader) -> Bytes {
    Bytes::copy_from_slice(&header.encode()[..BLOCK_LEN])
}

/// How many of these entries are written with one sync: those that follow each other in a segment, about a megabyte of them, or one.
fn together(entries: &[Entry]) -> usize {
    let is_plain = |entry: &Entry| entry.entry_type == EntryType::EntryNormal && !entry.data.is_empty();
    let mut len = 0;
    let count = entries.iter().enumerate().take_while(|(at, entry)| {
        len += entry.data.len();
        is_plain(entry) && (*at == 0 || entry.context.is_empty()) && len <= TOGETHER
    });
    match count.count() {
        few if few < FEW => 1,
        count => count,
    }
}

/// Bytes of a file, whole blocks.
fn read(storage: &dyn Storage, name: &str, range: Range<u64>) -> std::io::Result<Buffer> {
    let mut bytes = Buffer::zeroed((range.end - range.start) as usize);
    storage.open(name, Access::Read)?.read_at(range.start, &mut bytes)?;
    Ok(bytes)
}

/// The last command up to `at`.
pub(crate) fn sequence_at(at: Option<At>) -> Sequence {
    at.map_or(0, |at| at.last.sequence)
}

/// Takes away what is behind `position`: later segments, newest first, and the rest of its own. All of it again where it was begun.
fn cut_at(storage: &dyn Storage, position: Position) -> Result<(), PersistError> {
    let survey = survey(storage)?;
    let is_behind = |header: &SegmentHeader| {
        header.number > position.segment || header.number == position.segment && position.offset == 0
    };
    let mut own = None;
    for read in survey.segments.iter().rev() {
        let name = read.header.name();
        if is_behind(&read.header) {
            storage.remove(&name).map_err(PersistError::io("remove", &name))?;
            storage.sync_directory().map_err(PersistError::io("sync", "the directory"))?;
        } else if read.header.number == position.segment {
            own = Some(read.header);
        }
    }
    let Some(header) = own else { return Ok(()) };
    let name = header.name();
    let file = storage.open(&name, Access::Repair).map_err(PersistError::io("open", &name))?;
    append::wipe(storage, file.as_ref(), &header, position.offset)
}

/// What lies there, a last segment taken away of which nothing but its header came: whoever leads next begins it anew.
fn without_empty_end(storage: &dyn Storage) -> Result<Survey, PersistError> {
    let found = survey(storage)?;
    let Some(header) = found.segments.last().map(|read| read.header) else { return Ok(found) };
    let name = header.name();
    let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
    let mut reader = Reader::new(file, header, header.segment_len);
    loop {
        match reader.step()? {
            Step::Record(record) if record.class() == Class::Seal => return Ok(found),
            Step::Record(_) => {}
            Step::End | Step::Bad(_) => break,
        }
    }
    // Unless it has rotted.
    walk(storage, &found, found.segments.len() - 1, None, |_, _| Ok(()))?;
    storage.remove(&name).map_err(PersistError::io("remove", &name))?;
    storage.sync_directory().map_err(PersistError::io("sync", "the directory"))?;
    survey(storage)
}
