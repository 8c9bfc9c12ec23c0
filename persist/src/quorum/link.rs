//! Between a leader's journaller and the consensus: what is written goes one way, what is agreed on comes back and moves the gate.
//!
//! A batch is proposed while this member's own disk takes it, once the engine has applied it: a command that the engine dies of dies with
//! this member. Others may have it, and all may be agreed on it, before this disk does; files are read up to what it has.

use crate::format::segment::SegmentHeader;
use crate::quorum::log::AT_ONCE;
use crate::quorum::members::Members;
use crate::read::replay::Place;
use crate::write::settled::{Placed, Settled};
use crate::write::status::{JournalStatus, Position};
use bytes::Bytes;
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
use ringside_core::matcher::Applied;
use ringside_core::sums::EventSum;
use std::collections::VecDeque;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// One for each time that a member leads. Share it in an `Arc`.
pub struct Link {
    state: Mutex<State>,
    /// Something was agreed on, or nothing will be any more.
    changed: Condvar,
    /// Called when there is something for the consensus.
    wake: Box<dyn Fn() + Send + Sync>,
    gate: OnceLock<Arc<Gate>>,
    status: OnceLock<Arc<JournalStatus>>,
    applied: OnceLock<Arc<Applied>>,
    term: u64,
}

struct State {
    /// Up to where this member's disk has everything.
    local: Position,
    /// Up to where batches were taken up by the consensus, or may be read from the files for it.
    taken: Position,
    /// Batches behind that.
    given: VecDeque<Given>,
    given_len: usize,
    /// Up to where all is agreed on.
    agreed: Position,
    /// Who waits for an entry beside the commands, and up to where everything has to be agreed on for it.
    told: VecDeque<(Position, SyncSender<()>)>,
    is_lost: bool,
}

/// A batch that is durable here, or on its way to the disk.
pub(crate) struct Given {
    /// Of the segment that it stands in.
    pub(crate) header: SegmentHeader,
    pub(crate) start: u64,
    pub(crate) end: Place,
    pub(crate) members: Option<Members>,
    /// Nothing: they are read from the file, once it is durable.
    pub(crate) bytes: Option<Bytes>,
}

impl Given {
    fn position(&self) -> Position {
        Position { segment: self.header.number, offset: self.end.offset }
    }

    /// Bytes of it in memory.
    fn len(&self) -> usize {
        self.bytes.as_ref().map_or(0, Bytes::len)
    }
}

/// Bytes of them at most.
const GIVEN_MAX: usize = 64 << 20;

impl Link {
    pub(crate) fn new(wake: Box<dyn Fn() + Send + Sync>, agreed: Position, term: u64) -> Link {
        let state = State {
            local: agreed,
            taken: agreed,
            given: VecDeque::new(),
            given_len: 0,
            agreed,
            told: VecDeque::new(),
            is_lost: false,
        };
        Link {
            state: Mutex::new(state),
            changed: Condvar::new(),
            wake,
            gate: OnceLock::new(),
            status: OnceLock::new(),
            applied: OnceLock::new(),
            term,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Recovery has written up to there, durably: it is proposed, and nothing may be shown before it is agreed on.
    pub fn has_written(&self, position: Position) {
        let mut state = self.lock();
        (state.local, state.taken) = (position, position);
        drop(state);
        (self.wake)();
    }

    /// Whether everything up to there is agreed on; `None`: this member leads no more.
    pub fn is_agreed(&self, position: Position) -> Option<bool> {
        let state = self.lock();
        (!state.is_lost).then_some(state.agreed >= position)
    }

    /// Waits until everything up to there is agreed on. False: this member leads no more, and it may be or not.
    pub fn wait(&self, position: Position) -> bool {
        let mut state = self.lock();
        while !state.is_lost && state.agreed < position {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.is_lost
    }

    /// Whether what this member's disk has is not agreed on yet: then it is others that are slow.
    pub fn waits_for_others(&self) -> bool {
        let state = self.lock();
        state.agreed < state.local
    }

    /// Whose progress batches wait for: the engine's.
    pub fn goes_by(&self, applied: Arc<Applied>) {
        // One engine goes on for each time that a member leads.
        let _ = self.applied.set(applied);
    }

    /// Whether a batch waits for the engine, which nobody tells of.
    pub fn waits_for_engine(&self) -> bool {
        let applied = self.applied();
        self.lock().given.front().is_some_and(|given| given.end.last.sequence > applied)
    }

    fn applied(&self) -> Sequence {
        self.applied.get().map_or(0, |applied| applied.get())
    }

    /// Whether this member leads no more: nothing passes the gate, ever.
    pub fn is_lost(&self) -> bool {
        self.lock().is_lost
    }

    /// What it moves from now on: the gate of commands and the mark of readers.
    pub(crate) fn moves(&self, gate: Arc<Gate>, status: Arc<JournalStatus>) {
        let state = self.lock();
        status.show(state.agreed.min(state.local), self.term);
        // One journaller goes on for each time that a member leads.
        let _ = (self.gate.set(gate), self.status.set(status));
    }

    /// Up to where batches are to be proposed now, and those of them that were given. Where more may be, it wakes for those.
    pub(crate) fn take(&self) -> (Position, Vec<Given>) {
        let applied = self.applied();
        let mut state = self.lock();
        let local = state.local;
        let is_ready = |given: &Given| {
            given.end.last.sequence <= applied && (given.bytes.is_some() || given.position() <= local)
        };
        let (mut taken, mut len) = (Vec::new(), 0);
        while len < AT_ONCE as u64
            && let Some(given) = state.given.pop_front_if(|given| is_ready(given))
        {
            len += given.end.offset - given.start;
            state.given_len -= given.len();
            state.taken = given.position();
            taken.push(given);
        }
        let (until, is_more) = (state.taken, state.given.front().is_some_and(is_ready));
        drop(state);
        if is_more {
            (self.wake)();
        }
        (until, taken)
    }

    /// Whether this member's disk is short of room.
    pub(crate) fn is_short_of_room(&self) -> bool {
        self.status.get().is_some_and(|status| status.is_short_of_room())
    }

    /// Up to where this member's disk has everything.
    pub(crate) fn local(&self) -> Position {
        self.lock().local
    }

    /// Everything up to `position`, whose last command is `sequence`, is agreed on.
    pub(crate) fn agree(&self, position: Position, sequence: Sequence) {
        let mut state = self.lock();
        if state.is_lost || position <= state.agreed {
            return;
        }
        state.agreed = position;
        self.show_files(&state);
        if let Some(gate) = self.gate.get().filter(|gate| gate.durable() < sequence) {
            // Others may have what this member has not written yet.
            gate.publish_written(sequence.max(gate.written()));
            gate.publish_durable(sequence);
        }
        while let Some((_, told)) = state.told.pop_front_if(|(until, _)| *until <= position) {
            // Nobody may be waiting any more.
            let _ = told.send(());
        }
        drop(state);
        self.changed.notify_all();
    }

    fn show_files(&self, state: &State) {
        if let Some(status) = self.status.get() {
            status.show(state.agreed.min(state.local), self.term);
        }
    }

    /// This member leads no more.
    pub(crate) fn lose(&self) {
        let mut state = self.lock();
        state.is_lost = true;
        state.told.clear();
        if let Some(gate) = self.gate.get() {
            gate.halt();
        }
        drop(state);
        self.changed.notify_all();
    }
}

impl Settled for Link {
    fn stored(&self, sequence: Sequence) {
        let _state = self.lock();
        if let Some(gate) = self.gate.get().filter(|gate| gate.written() < sequence) {
            gate.publish_written(sequence);
        }
    }

    fn begun(&self, batch: &Placed<'_>) {
        let mut state = self.lock();
        let bytes = batch.bytes.filter(|bytes| state.given_len + bytes.len() <= GIVEN_MAX);
        let given = Given {
            header: *batch.header,
            start: batch.start,
            end: batch.end,
            members: batch.members.cloned(),
            bytes: bytes.map(Bytes::copy_from_slice),
        };
        state.given_len += given.len();
        state.given.push_back(given);
        drop(state);
        (self.wake)();
    }

    fn synced(&self, batch: &Placed<'_>) {
        let mut state = self.lock();
        state.local = batch.position();
        self.show_files(&state);
        drop(state);
        (self.wake)();
    }

    fn show(&self, told: SyncSender<()>) {
        let mut state = self.lock();
        if state.is_lost {
            return;
        }
        if state.agreed >= state.local {
            // Nobody may be waiting any more.
            let _ = told.send(());
            return;
        }
        let until = state.local;
        state.told.push_back((until, told));
    }

    fn give_up(&self) {
        self.lock().told.clear();
    }

    fn failed(&self) {
        if let Some(gate) = self.gate.get() {
            gate.halt();
        }
    }

    fn engine_told(&self) -> EventSum {
        self.gate.get().map_or_else(EventSum::default, |gate| gate.told())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::record::Last;
    use crate::format::segment::DATA_START;
    use std::sync::atomic::{AtomicU32, Ordering};
    use zerocopy::FromZeros;

    fn batch(header: &SegmentHeader, block: u64, last: Sequence) -> Placed<'_> {
        let start = DATA_START + 4096 * block;
        let end = Place {
            offset: start + 4096,
            last: Last { sequence: last, time_ns: 0 },
            ..Place::start_of(header)
        };
        Placed { header, start, bytes: Some(&[7; 4096]), end, members: None }
    }

    fn at(block: u64) -> Position {
        Position { segment: 1, offset: DATA_START + 4096 * block }
    }

    #[test]
    fn a_batch_waits_for_the_engine_and_not_for_the_disk() {
        let woken = Arc::new(AtomicU32::new(0));
        let wakes = woken.clone();
        let link = Link::new(Box::new(move || _ = wakes.fetch_add(1, Ordering::Relaxed)), at(0), 1);
        let header =
            SegmentHeader { number: 1, first_seq: 1, segment_len: 1 << 20, ..SegmentHeader::new_zeroed() };
        let gate = Arc::new(Gate::new(4));
        link.moves(gate.clone(), Arc::new(JournalStatus::new(1 << 20, at(0), Default::default())));
        link.begun(&batch(&header, 0, 5));
        assert!(link.waits_for_engine(), "nobody says how far the engine is");
        let applied = Arc::new(Applied::new(4));
        link.goes_by(applied.clone());
        assert!(link.waits_for_engine() && link.take().1.is_empty(), "the engine may yet die of command 5");
        applied.set(5);
        link.begun(&batch(&header, 1, 6));
        let (until, taken) = link.take();
        assert_eq!((until, taken.len(), link.local()), (at(1), 1, at(0)), "no disk has it yet");
        assert!(link.waits_for_engine(), "command 6 is not applied");
        // The others have it: it is shown, and files are not read so far.
        link.agree(at(1), 5);
        let status = link.status.get().unwrap();
        assert_eq!((gate.written(), gate.durable(), status.shown()), (5, 5, at(0)));
        link.stored(5);
        link.synced(&batch(&header, 0, 5));
        assert_eq!((gate.durable(), link.local()), (5, at(1)));
        applied.set(6);
        assert_eq!(link.take().0, at(2));
        assert_eq!(woken.load(Ordering::Relaxed), 3);
    }

    #[test]
    fn what_is_ready_is_proposed_a_little_at_a_time_and_none_is_forgotten() {
        let woken = Arc::new(AtomicU32::new(0));
        let wakes = woken.clone();
        let link = Link::new(Box::new(move || _ = wakes.fetch_add(1, Ordering::Relaxed)), at(0), 1);
        link.goes_by(Arc::new(Applied::new(9)));
        let header = SegmentHeader { number: 1, first_seq: 1, ..SegmentHeader::new_zeroed() };
        let few = AT_ONCE as u64 / 4096;
        (0..few + 2).for_each(|block| link.begun(&batch(&header, block, 5)));
        woken.store(0, Ordering::Relaxed);
        for (until, wakes) in [(few, 1), (few + 2, 1)] {
            assert_eq!((link.take().0, woken.load(Ordering::Relaxed)), (at(until), wakes));
        }
    }

    #[test]
    fn what_memory_has_no_room_for_is_read_from_the_file_once_it_is_there() {
        let link = Link::new(Box::new(|| ()), at(0), 1);
        link.goes_by(Arc::new(Applied::new(9)));
        let header =
            SegmentHeader { number: 1, first_seq: 1, segment_len: 1 << 20, ..SegmentHeader::new_zeroed() };
        link.begun(&Placed { bytes: None, ..batch(&header, 0, 5) });
        link.begun(&batch(&header, 1, 6));
        assert!(link.take().1.is_empty() && !link.waits_for_engine());
        link.synced(&batch(&header, 0, 5));
        let (until, taken) = link.take();
        let has_bytes: Vec<bool> = taken.iter().map(|given| given.bytes.is_some()).collect();
        assert_eq!((until, has_bytes), (at(2), vec![false, true]));
    }
}
