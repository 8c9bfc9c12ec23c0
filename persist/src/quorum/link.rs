//! Between a leader's journaller and the consensus: what the disk of this member has goes one way, what is agreed on comes back and
//! moves the gate.

use crate::storage::Buffer;
use crate::write::settled::{Settled, Synced};
use crate::write::status::{JournalStatus, Position};
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
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
    term: u64,
}

struct State {
    /// Up to where this member's disk has everything.
    local: Position,
    /// Batches up to there that were not taken up yet. Where some are missing they are read from the files.
    given: VecDeque<Given>,
    given_len: usize,
    /// Up to where all is agreed on.
    agreed: Position,
    /// Who waits for an entry beside the commands, and up to where everything has to be agreed on for it.
    told: VecDeque<(Position, SyncSender<()>)>,
    is_lost: bool,
}

/// A batch that is durable here, from memory.
pub(crate) struct Given {
    pub(crate) start: Position,
    pub(crate) bytes: Buffer,
}

/// Bytes of them at most.
const GIVEN_MAX: usize = 64 << 20;

impl Link {
    pub(crate) fn new(wake: Box<dyn Fn() + Send + Sync>, agreed: Position, term: u64) -> Link {
        let state = State {
            local: agreed,
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
            term,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Recovery has written up to there, durably: it is proposed, and nothing may be shown before it is agreed on.
    pub fn has_written(&self, position: Position) {
        self.lock().local = position;
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

    /// Whether this member leads no more: nothing passes the gate, ever.
    pub fn is_lost(&self) -> bool {
        self.lock().is_lost
    }

    /// What it moves from now on: the gate of commands and the mark of readers.
    pub(crate) fn moves(&self, gate: Arc<Gate>, status: Arc<JournalStatus>) {
        let state = self.lock();
        status.show(state.agreed, self.term);
        // One journaller goes on for each time that a member leads.
        let _ = (self.gate.set(gate), self.status.set(status));
    }

    /// Up to where this member's disk has everything, and what of it is in memory.
    pub(crate) fn take(&self) -> (Position, VecDeque<Given>) {
        let mut state = self.lock();
        state.given_len = 0;
        (state.local, std::mem::take(&mut state.given))
    }

    /// Everything up to `position`, whose last command is `sequence`, is agreed on.
    pub(crate) fn agree(&self, position: Position, sequence: Sequence) {
        let mut state = self.lock();
        if state.is_lost || position <= state.agreed {
            return;
        }
        state.agreed = position;
        if let Some(status) = self.status.get() {
            status.show(position, self.term);
        }
        if let Some(gate) = self.gate.get().filter(|gate| gate.durable() < sequence) {
            gate.publish_durable(sequence);
        }
        while let Some((_, told)) = state.told.pop_front_if(|(until, _)| *until <= position) {
            // Nobody may be waiting any more.
            let _ = told.send(());
        }
        drop(state);
        self.changed.notify_all();
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
        if let Some(gate) = self.gate.get() {
            gate.publish_written(sequence);
        }
    }

    fn synced(&self, batch: &Synced<'_>) {
        let mut state = self.lock();
        state.local = batch.position();
        if let Some(bytes) = batch.bytes.filter(|bytes| state.given_len + bytes.len() <= GIVEN_MAX) {
            let mut copy = Buffer::zeroed(bytes.len());
            copy.copy_from_slice(bytes);
            state.given_len += bytes.len();
            let start = Position { segment: batch.header.number, offset: batch.start };
            state.given.push_back(Given { start, bytes: copy });
        }
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
