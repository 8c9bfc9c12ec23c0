//! What boot and egress see of a worker: the lane it is given, and where its replies go.

use super::engine_state::{SharedEngineState, Unavailable};
use parking_lot::Mutex;
use ringside_core::agent::Invoker;
use ringside_core::command::Command;
use ringside_core::event;
use ringside_core::ids::Sequence;
use ringside_core::ring::Producer;
use ringside_views::perpetual::order::OrderRecord;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// What the engine answered to one command.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Position of the command.
    pub sequence: Sequence,
    /// Engine time of the command, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// The verdict.
    pub done: event::Done,
    /// The only or last order that the command changed other than as a maker: the one it placed, changed or canceled.
    pub order: Option<event::Order>,
    /// All of them, where a cancel of all orders ended more than one.
    pub further_orders: Vec<event::Order>,
    /// Its trades, in order.
    pub trades: Vec<event::Trade>,
    /// The perpetual order that it placed, changed or canceled, as it was after the command.
    pub perpetual: Option<Box<OrderRecord>>,
}

impl Reply {
    /// A verdict with no more than itself.
    pub const fn new(sequence: Sequence, time_ns: i64, done: event::Done) -> Reply {
        Reply {
            sequence,
            time_ns,
            done,
            order: None,
            further_orders: Vec::new(),
            trades: Vec::new(),
            perpetual: None,
        }
    }

    /// The orders that the command changed other than as makers, in the order of the events.
    pub fn orders(&self) -> &[event::Order] {
        if self.further_orders.is_empty() { self.order.as_slice() } else { &self.further_orders }
    }
}

/// What a worker needs to publish: an input ring of its own and the number that its commands carry.
pub struct CommandProducer {
    /// The ring.
    pub producer: Producer<Command>,
    /// The incarnation, never used before.
    pub source: u32,
    /// Slots that new orders must leave free.
    pub reserved: usize,
    /// Commands that were published before the lane was handed on; the next has the number after it.
    pub numbered: u64,
    /// The stages behind the ring, where the worker is to run them itself.
    pub invoker: Option<Invoker>,
    /// What it asks of the system before it runs them for the first time.
    pub at_first: Option<fn()>,
}

impl CommandProducer {
    /// A lane that keeps a fifth of the ring for cancels and internal commands.
    pub fn new(producer: Producer<Command>, source: u32) -> CommandProducer {
        let reserved = producer.capacity() / 5;
        CommandProducer { producer, source, reserved, numbered: 0, invoker: None, at_first: None }
    }

    /// Why a command found no room.
    pub(super) fn no_room(&self) -> Unavailable {
        if self.producer.is_halted() { Unavailable::Halted } else { Unavailable::Busy }
    }

    /// Makes visible what was staged. True when everything behind the ring has run on it, and replies may have come.
    pub(super) fn show(&mut self) -> bool {
        let CommandProducer { producer, invoker, at_first, .. } = self;
        if let Some(invoker) = invoker {
            if let Some(ask) = at_first.take() {
                ask();
            }
            if invoker.invoke(|| producer.flush_unheard()) {
                return true;
            }
        }
        producer.flush();
        false
    }
}

/// The shared end of one worker: boot puts the lane in, egress the replies. Share it in an `Arc`.
pub struct ReplyQueue {
    pub(super) phase: Arc<SharedEngineState>,
    pub(super) lane: Mutex<Option<CommandProducer>>,
    /// Twice how often a lane was taken back, and 1 where nothing is left open of the last: a worker that still has that one gives it up.
    pub(super) taken_back: AtomicU64,
    /// `source_seq` of the last reply of this lane.
    replied: AtomicU64,
    /// In the order in which they came. Held for the time of a push or an exchange of lists, and a list that was taken comes
    /// back empty, so that no reply takes memory anew.
    pub(super) replies: Mutex<Vec<Reply>>,
    pub(super) wake: Notify,
    pub(super) submitted: AtomicU64,
    pub(super) answered: AtomicU64,
}

impl ReplyQueue {
    /// A port without a lane yet.
    pub fn new(phase: Arc<SharedEngineState>) -> ReplyQueue {
        ReplyQueue {
            phase,
            lane: Mutex::new(None),
            taken_back: AtomicU64::new(0),
            replied: AtomicU64::new(0),
            replies: Mutex::default(),
            wake: Notify::new(),
            submitted: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    /// Gives the worker its lane, before the phase becomes [`EngineState::Running`].
    pub fn attach(&self, lane: CommandProducer) {
        *self.lane.lock() = Some(lane);
    }

    /// Takes the lane back, of which no more replies come. Whoever waits for one is told that the outcome is unknown, or, where it `is_known`
    /// that what was not answered never took effect, that. Replies that have come are handed out first.
    pub fn detach(&self, is_known: bool) {
        *self.lane.lock() = None;
        // Relaxed: figures.
        self.answered.store(self.submitted.load(Ordering::Relaxed), Ordering::Relaxed);
        self.replied.store(0, Ordering::Relaxed);
        let before = self.taken_back.load(Ordering::Relaxed);
        // Release: partner of the Acquire in `Ingress`; who sees it finds no lane of before. One thread takes lanes back.
        self.taken_back.store((before & !1) + 2 + u64::from(is_known), Ordering::Release);
        self.wake();
    }

    /// `source_seq` of the last reply of this lane, 0 for none.
    pub fn replied(&self) -> u64 {
        self.replied.load(Ordering::Acquire)
    }

    /// Hands a reply over; the worker looks at it after the next [`ReplyQueue::wake`].
    pub fn reply(&self, reply: Reply) {
        let source_seq = reply.done.source_seq;
        self.replies.lock().push(reply);
        // Release: who sees it finds the reply.
        self.replied.store(source_seq, Ordering::Release);
        // Relaxed: a figure; nothing follows from it. Egress alone writes it.
        self.answered.store(self.answered.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// Wakes the worker: once for all replies of a batch.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Commands handed over and not yet answered.
    pub fn queue_len(&self) -> u64 {
        self.submitted.load(Ordering::Relaxed).saturating_sub(self.answered.load(Ordering::Relaxed))
    }
}
