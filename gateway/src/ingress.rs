//! The way in: one thread's commands into its own input ring, and the replies back to whoever waits for them. Such a thread is a
//! worker of the server, or the one that reads price feeds.
//!
//! A worker never waits for room: a full ring answers "busy" at once, and the last slots are kept for cancels and internal
//! commands. A reply comes from egress through one queue per worker, with one wake for all that a batch brought;
//! [`Ingress::run`] then hands each reply to its request. No other thread is involved.
//!
//! What a command means, and what its refusal is called, is not known here.

use crate::clock::Clock;
use crate::metrics::WorkerFigures;
use crate::view::perpetual::order::OrderRecord;
use parking_lot::Mutex;
use ringside_core::command::Command;
use ringside_core::event;
use ringside_core::ids::Sequence;
use ringside_core::ring::Producer;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;

/// How long a request waits for the reply to a command that was handed over: a little less than the 10 seconds after
/// which the server would give the request up without knowing how far it came.
pub const REPLY_TIMEOUT: Duration = Duration::from_millis(9_500);
/// How often waiting requests are looked over for that.
const SWEEP: Duration = Duration::from_millis(250);
const SWEEPS_MAX: u32 = (REPLY_TIMEOUT.as_millis() / SWEEP.as_millis()) as u32;

/// Why there is no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[repr(u8)]
pub enum Unavailable {
    /// This deployment has no engine. Nothing was handed over.
    #[error("the engine is not started")]
    Disabled,
    /// Recovery runs. Nothing was handed over.
    #[error("the engine is restarting")]
    Restarting,
    /// The ring or the journal's disk has no room for a command of this priority. Nothing was handed over.
    #[error("the queue is full")]
    Busy,
    /// The engine or its journal has stopped for good. Nothing was handed over.
    #[error("the engine has stopped")]
    Halted,
    /// The command was handed over and no reply came: it may or may not have taken effect.
    #[error("the outcome is unknown")]
    Unknown,
}

impl Unavailable {
    /// Every reason, in the order of their numbers, with the word of figures and logs.
    pub const ALL: [(Unavailable, &'static str); 5] = [
        (Unavailable::Disabled, "disabled"),
        (Unavailable::Restarting, "restarting"),
        (Unavailable::Busy, "busy"),
        (Unavailable::Halted, "halted"),
        (Unavailable::Unknown, "unknown"),
    ];
}

/// Who may have the last slots of the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Priority {
    /// A new order, or anything else that adds load: not the last slots.
    Order,
    /// A cancel: any slot.
    Cancel,
    /// A command of the exchange itself, or of its administrator: any slot.
    Internal,
}

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
    /// The orders that the command changed other than as makers, in the order of the events.
    pub fn orders(&self) -> &[event::Order] {
        if self.further_orders.is_empty() { self.order.as_slice() } else { &self.further_orders }
    }
}

/// Whether commands are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Phase {
    /// There is no engine.
    Disabled = 0,
    /// Recovery runs.
    Restarting = 1,
    /// Commands are taken.
    Running = 2,
    /// The engine or the journal has stopped for good.
    Halted = 3,
}

/// What the journal's disk has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Room {
    /// Everything.
    All = 0,
    /// Cancels and internal commands only.
    Cancels = 1,
    /// Nothing but what the rings hold already.
    Nothing = 2,
}

/// The phase as all threads share it, and with it the room on the journal's disk.
#[derive(Debug)]
pub struct EnginePhase(AtomicU8, AtomicU8);

impl EnginePhase {
    /// Starts in `phase`.
    pub fn new(phase: Phase) -> EnginePhase {
        EnginePhase(AtomicU8::new(phase as u8), AtomicU8::new(Room::All as u8))
    }

    /// The phase now.
    pub fn get(&self) -> Phase {
        // Acquire: partner of the Release in `set`; who sees `Running` sees the recovered views and the lanes.
        match self.0.load(Ordering::Acquire) {
            0 => Phase::Disabled,
            1 => Phase::Restarting,
            2 => Phase::Running,
            _ => Phase::Halted,
        }
    }

    /// Moves to `phase`. Nothing leaves [`Phase::Halted`].
    pub fn set(&self, phase: Phase) {
        // Release: partner of the Acquire in `get`.
        let _ = self.0.fetch_update(Ordering::Release, Ordering::Relaxed, |present| {
            (present != Phase::Halted as u8).then_some(phase as u8)
        });
    }

    /// Says what the journal's disk has room for.
    pub fn set_room(&self, room: Room) {
        // Relaxed: a lone figure that may be seen late; the journal keeps a margin for that.
        self.1.store(room as u8, Ordering::Relaxed);
    }

    /// Whether the journal's disk has room for a command of this priority.
    fn has_room_for(&self, priority: Priority) -> bool {
        let most = if priority == Priority::Order { Room::All } else { Room::Cancels };
        self.1.load(Ordering::Relaxed) <= most as u8
    }
}

/// What a worker needs to publish: an input ring of its own and the number that its commands carry.
pub struct Lane {
    /// The ring.
    pub producer: Producer<Command>,
    /// The incarnation, never used before.
    pub source: u32,
    /// Slots that new orders must leave free.
    pub reserved: usize,
    /// Commands that were published before the lane was handed on; the next has the number after it.
    pub numbered: u64,
}

impl Lane {
    /// A lane that keeps a fifth of the ring for cancels and internal commands.
    pub fn new(producer: Producer<Command>, source: u32) -> Lane {
        let reserved = producer.capacity() / 5;
        Lane { producer, source, reserved, numbered: 0 }
    }
}

/// The shared end of one worker: boot puts the lane in, egress the replies. Share it in an `Arc`.
pub struct Port {
    phase: Arc<EnginePhase>,
    lane: Mutex<Option<Lane>>,
    /// In the order in which they came. Held for the time of a push or an exchange of lists, and a list that was taken comes
    /// back empty, so that no reply takes memory anew.
    replies: Mutex<Vec<Reply>>,
    wake: Notify,
    submitted: AtomicU64,
    answered: AtomicU64,
}

impl Port {
    /// A port without a lane yet.
    pub fn new(phase: Arc<EnginePhase>) -> Port {
        Port {
            phase,
            lane: Mutex::new(None),
            replies: Mutex::default(),
            wake: Notify::new(),
            submitted: AtomicU64::new(0),
            answered: AtomicU64::new(0),
        }
    }

    /// Gives the worker its lane, once, before the phase becomes [`Phase::Running`].
    pub fn attach(&self, lane: Lane) {
        *self.lane.lock() = Some(lane);
    }

    /// Hands a reply over; the worker looks at it after the next [`Port::wake`].
    pub fn reply(&self, reply: Reply) {
        self.replies.lock().push(reply);
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

/// A worker's way to the engine. Clones share it; all stay on the worker's thread.
#[derive(Clone)]
pub struct Ingress(Rc<Inner>);

struct Inner {
    port: Arc<Port>,
    /// Whose clock times commands, and what the thread counts.
    measured: Option<(Clock, Arc<WorkerFigures>)>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    lane: Option<Lane>,
    /// `source_seq` of the front of `waiting`, less one.
    answered: u64,
    /// One entry per command handed over, in order of `source_seq`, from the oldest that is still of interest.
    waiting: VecDeque<Entry>,
    /// A list for replies, empty.
    taken: Vec<Reply>,
    sweep: u32,
}

struct Entry {
    /// The sweep during which the command was handed over.
    since: u32,
    /// When that was, nanoseconds of the UNIX epoch; 0 where nobody counts.
    sent_ns: i64,
    progress: Progress,
}

enum Progress {
    /// No reply yet; whom to wake.
    Waiting(Option<Waker>),
    /// Nobody waits any more, and no reply came yet.
    Abandoned,
    /// The time is up, and the request has not been told.
    Lost,
    /// The reply is here, and the request has not taken it.
    Ready(Reply),
    /// Nothing is left to do.
    Over,
}

impl Ingress {
    /// The worker's side of `port`. Commands are refused until the port has a lane and the engine runs.
    pub fn new(port: Arc<Port>) -> Ingress {
        Ingress(Rc::new(Inner { port, measured: None, state: RefCell::default() }))
    }

    /// The same, counting in `figures` what is refused and how long commands take, by the clock that stamps them.
    pub fn measured(port: Arc<Port>, clock: Clock, figures: Arc<WorkerFigures>) -> Ingress {
        let measured = Some((clock, figures));
        Ingress(Rc::new(Inner { port, measured, state: RefCell::default() }))
    }

    /// Stamps a command with source and number and hands it over, or refuses it at once. The future gives the reply.
    /// A future that is dropped recalls nothing: the command takes effect.
    pub fn submit(&self, command: Command, priority: Priority) -> Submission {
        match self.0.hand_over(command, priority) {
            Ok(source_seq) => Submission { stage: Stage::Sent(self.0.clone(), source_seq) },
            Err(unavailable) => {
                if let Some((_, figures)) = &self.0.measured {
                    figures.unavailable[unavailable as usize].add(1);
                }
                Submission { stage: Stage::Refused(unavailable) }
            }
        }
    }

    /// Hands commands over, each right behind the one before, or none. The future gives the reply to the last.
    pub fn submit_after(&self, before: &[Command], last: Command, priority: Priority) -> Submission {
        let has_room = {
            let state = &mut *self.0.state.borrow_mut();
            // Without a lane yet all are refused below.
            state.lane.as_mut().is_none_or(|lane| {
                let kept = if priority == Priority::Order { lane.reserved } else { 0 };
                lane.producer.has_room(kept + before.len() + 1)
            })
        };
        if !has_room {
            return Submission { stage: Stage::Refused(Unavailable::Busy) };
        }
        for command in before {
            match self.0.hand_over(*command, priority) {
                // Its reply is of no interest: it comes before the last one's.
                Ok(source_seq) => drop(Submission { stage: Stage::Sent(self.0.clone(), source_seq) }),
                Err(unavailable) => return Submission { stage: Stage::Refused(unavailable) },
            }
        }
        self.submit(last, priority)
    }

    /// Whether a command of [`Priority::Order`] would find room now; true also while commands are refused for another reason.
    pub fn has_room_for_orders(&self) -> bool {
        if !self.0.port.phase.has_room_for(Priority::Order) {
            return false;
        }
        let state = &mut *self.0.state.borrow_mut();
        state.lane.as_mut().is_none_or(|lane| lane.producer.has_room(lane.reserved + 1))
    }

    /// Whether commands are taken.
    pub fn phase(&self) -> Phase {
        self.0.port.phase.get()
    }

    /// Brings replies to their requests, for as long as it is polled. To be spawned once on the worker's thread.
    pub async fn run(self) {
        let mut sweep = tokio::time::interval(SWEEP);
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.0.port.wake.notified() => self.take_replies(),
                _ = sweep.tick() => {
                    self.take_replies();
                    self.sweep();
                }
            }
        }
    }

    /// Takes every reply that has come.
    pub fn take_replies(&self) {
        let mut replies = std::mem::take(&mut self.0.state.borrow_mut().taken);
        std::mem::swap(&mut replies, &mut *self.0.port.replies.lock());
        let now_ns = match &self.0.measured {
            Some((clock, _)) if !replies.is_empty() => clock.now_ns(),
            _ => 0,
        };
        for reply in replies.drain(..) {
            self.0.complete(reply, now_ns);
        }
        self.0.state.borrow_mut().taken = replies;
    }

    /// Tells requests whose time is up. All of them, once the engine has stopped: no reply can come then.
    fn sweep(&self) {
        if let Some((_, figures)) = &self.0.measured {
            figures.beats.add(1);
        }
        let is_halted = self.phase() == Phase::Halted;
        let state = &mut *self.0.state.borrow_mut();
        state.sweep += 1;
        for entry in &mut state.waiting {
            if !is_halted && state.sweep - entry.since <= SWEEPS_MAX {
                return;
            }
            if let Progress::Waiting(waker) = &mut entry.progress {
                let waker = waker.take();
                entry.progress = Progress::Lost;
                waker.into_iter().for_each(Waker::wake);
            }
        }
    }
}

impl Inner {
    fn hand_over(&self, mut command: Command, priority: Priority) -> Result<u64, Unavailable> {
        match self.port.phase.get() {
            Phase::Running => {}
            Phase::Disabled => return Err(Unavailable::Disabled),
            Phase::Restarting => return Err(Unavailable::Restarting),
            Phase::Halted => return Err(Unavailable::Halted),
        }
        if !self.port.phase.has_room_for(priority) {
            return Err(Unavailable::Busy);
        }
        let state = &mut *self.state.borrow_mut();
        if state.lane.is_none() {
            state.lane = self.port.lane.lock().take();
            state.answered = state.lane.as_ref().map_or(0, |lane| lane.numbered);
        }
        let lane = state.lane.as_mut().ok_or(Unavailable::Restarting)?;
        if priority == Priority::Order && !lane.producer.has_room(lane.reserved + 1) {
            return Err(lane.no_room());
        }
        let source_seq = state.answered + state.waiting.len() as u64 + 1;
        command.source = lane.source;
        command.source_seq = source_seq;
        if lane.producer.try_publish(&command).is_err() {
            return Err(lane.no_room());
        }
        let sent_ns = self.measured.as_ref().map_or(0, |(clock, _)| clock.now_ns());
        state.waiting.push_back(Entry { since: state.sweep, sent_ns, progress: Progress::Waiting(None) });
        // Relaxed: a figure; the worker alone writes it.
        self.port.submitted.store(source_seq, Ordering::Relaxed);
        Ok(source_seq)
    }

    fn complete(&self, reply: Reply, now_ns: i64) {
        let state = &mut *self.state.borrow_mut();
        let source_seq = reply.done.source_seq;
        let Some(entry) = state.entry(source_seq) else { return };
        if let Some((_, figures)) = &self.measured {
            let since_sent = |at_ns: i64| at_ns.saturating_sub(entry.sent_ns).max(0) as u64;
            figures.ring.record(since_sent(reply.time_ns));
            figures.engine.record(since_sent(now_ns));
        }
        match std::mem::replace(&mut entry.progress, Progress::Over) {
            Progress::Waiting(waker) => {
                entry.progress = Progress::Ready(reply);
                waker.into_iter().for_each(Waker::wake);
            }
            Progress::Lost => entry.progress = Progress::Ready(reply),
            Progress::Abandoned => state.forget(),
            Progress::Ready(_) | Progress::Over => {}
        }
    }

    fn poll(&self, source_seq: u64, context: &Context<'_>) -> Poll<Result<Reply, Unavailable>> {
        let state = &mut *self.state.borrow_mut();
        let Some(entry) = state.entry(source_seq) else { return Poll::Ready(Err(Unavailable::Unknown)) };
        match &mut entry.progress {
            Progress::Waiting(Some(waker)) if waker.will_wake(context.waker()) => Poll::Pending,
            Progress::Waiting(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            Progress::Lost => {
                entry.progress = Progress::Abandoned;
                Poll::Ready(Err(Unavailable::Unknown))
            }
            Progress::Ready(_) => {
                let Progress::Ready(reply) = std::mem::replace(&mut entry.progress, Progress::Over) else {
                    unreachable!("it was ready")
                };
                state.forget();
                Poll::Ready(Ok(reply))
            }
            Progress::Abandoned | Progress::Over => Poll::Ready(Err(Unavailable::Unknown)),
        }
    }

    fn abandon(&self, source_seq: u64) {
        let state = &mut *self.state.borrow_mut();
        let Some(entry) = state.entry(source_seq) else { return };
        match entry.progress {
            Progress::Waiting(_) | Progress::Lost => entry.progress = Progress::Abandoned,
            Progress::Ready(_) => {
                entry.progress = Progress::Over;
                state.forget();
            }
            Progress::Abandoned | Progress::Over => {}
        }
    }
}

impl State {
    fn entry(&mut self, source_seq: u64) -> Option<&mut Entry> {
        let index = source_seq.checked_sub(self.answered + 1)?;
        self.waiting.get_mut(usize::try_from(index).ok()?)
    }

    /// Lets go of the oldest commands that nothing is left to do for.
    fn forget(&mut self) {
        while self.waiting.front().is_some_and(|entry| matches!(entry.progress, Progress::Over)) {
            self.waiting.pop_front();
            self.answered += 1;
        }
    }
}

impl Lane {
    fn no_room(&self) -> Unavailable {
        if self.producer.is_halted() { Unavailable::Halted } else { Unavailable::Busy }
    }
}

/// A command on its way; gives its reply.
pub struct Submission {
    stage: Stage,
}

enum Stage {
    Refused(Unavailable),
    Sent(Rc<Inner>, u64),
    Over,
}

impl Future for Submission {
    type Output = Result<Reply, Unavailable>;

    fn poll(mut self: Pin<&mut Submission>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let result = match &self.stage {
            Stage::Refused(unavailable) => Err(*unavailable),
            Stage::Sent(inner, source_seq) => match inner.poll(*source_seq, context) {
                Poll::Ready(result) => result,
                Poll::Pending => return Poll::Pending,
            },
            Stage::Over => panic!("polled after it was ready"),
        };
        self.stage = Stage::Over;
        Poll::Ready(result)
    }
}

impl Drop for Submission {
    fn drop(&mut self) {
        if let Stage::Sent(inner, source_seq) = &self.stage {
            inner.abandon(*source_seq);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::command::AdvanceTime;
    use ringside_core::ring::{self, Consumer, Mapping, Options, Wait};

    struct Rig {
        phase: Arc<EnginePhase>,
        port: Arc<Port>,
        ingress: Ingress,
        ring: Consumer<Command>,
    }

    fn rig(capacity: usize) -> Rig {
        let phase = Arc::new(EnginePhase::new(Phase::Running));
        let port = Arc::new(Port::new(phase.clone()));
        let options = Options { capacity, consumers: 1, start: 1, wait: Wait::Park };
        let (producer, mut consumers) = ring::create(Mapping::anonymous(), options).expect("a ring");
        port.attach(Lane::new(producer, 7));
        let ingress = Ingress::new(port.clone());
        Rig { phase, port, ingress, ring: consumers.pop().expect("one consumer") }
    }

    impl Rig {
        fn submit(&self, priority: Priority) -> Submission {
            self.ingress.submit(Command::new(AdvanceTime {}), priority)
        }

        /// Answers everything in the ring, as matcher and egress would; gives the numbers answered.
        fn answer(&mut self) -> Vec<u64> {
            let mut numbers = Vec::new();
            self.ring.poll(usize::MAX, |_, command| {
                assert_eq!(command.source, 7);
                numbers.push(command.source_seq);
                self.port.reply(reply(command.source_seq));
            });
            self.port.wake();
            numbers
        }
    }

    fn reply(source_seq: u64) -> Reply {
        let done = event::Done {
            source_seq,
            source: 7,
            command: 48,
            reject: 0,
            order: 0,
            account: 0,
            market: 0,
            idempotency_key: 0,
            replayed: 0,
            update: 0,
        };
        Reply {
            sequence: 100 + source_seq,
            time_ns: 0,
            done,
            order: None,
            further_orders: Vec::new(),
            trades: Vec::new(),
            perpetual: None,
        }
    }

    fn poll(submission: &mut Submission) -> Option<Result<u64, Unavailable>> {
        let mut context = Context::from_waker(Waker::noop());
        match Pin::new(submission).poll(&mut context) {
            Poll::Ready(result) => Some(result.map(|reply| reply.sequence)),
            Poll::Pending => None,
        }
    }

    #[test]
    fn numbers_are_dense_and_replies_find_their_requests() {
        let mut rig = rig(8);
        let mut first = rig.submit(Priority::Order);
        let mut second = rig.submit(Priority::Cancel);
        drop(rig.submit(Priority::Order));
        assert_eq!((poll(&mut first), poll(&mut second), rig.port.queue_len()), (None, None, 3));
        assert_eq!(rig.answer(), [1, 2, 3]);
        assert_eq!(poll(&mut first), None, "a reply is not seen before it is taken");
        rig.ingress.take_replies();
        assert_eq!(
            (poll(&mut second), poll(&mut first), rig.port.queue_len()),
            (Some(Ok(102)), Some(Ok(101)), 0)
        );
        assert!(rig.ingress.0.state.borrow().waiting.is_empty(), "nothing is kept");
        let mut fourth = rig.submit(Priority::Order);
        assert_eq!(rig.answer(), [4]);
        rig.ingress.take_replies();
        assert_eq!(poll(&mut fourth), Some(Ok(104)));
    }

    #[test]
    fn the_last_fifth_is_kept_for_cancels() {
        let mut rig = rig(8);
        let mut sent: Vec<_> = (0..7).map(|_| rig.submit(Priority::Order)).collect();
        assert!(sent.iter_mut().all(|submission| poll(submission).is_none()));
        assert_eq!(poll(&mut rig.submit(Priority::Order)), Some(Err(Unavailable::Busy)));
        sent.push(rig.submit(Priority::Cancel));
        assert!(sent.iter_mut().all(|submission| poll(submission).is_none()));
        assert_eq!(poll(&mut rig.submit(Priority::Internal)), Some(Err(Unavailable::Busy)));
        assert_eq!(rig.answer(), [1, 2, 3, 4, 5, 6, 7, 8], "a refused command takes no number");
        assert!(poll(&mut rig.submit(Priority::Order)).is_none(), "there is room again");
    }

    #[test]
    fn each_phase_has_its_answer() {
        let mut rig = rig(8);
        for (phase, answer) in [
            (Phase::Disabled, Some(Err(Unavailable::Disabled))),
            (Phase::Restarting, Some(Err(Unavailable::Restarting))),
            (Phase::Running, None),
        ] {
            rig.phase.set(phase);
            assert_eq!(poll(&mut rig.submit(Priority::Order)), answer);
        }
        let mut waiting = rig.submit(Priority::Order);
        assert_eq!(poll(&mut waiting), None);
        rig.ring.halt();
        assert_eq!(poll(&mut rig.submit(Priority::Cancel)), Some(Err(Unavailable::Halted)));
        rig.phase.set(Phase::Halted);
        rig.phase.set(Phase::Running);
        assert_eq!(rig.phase.get(), Phase::Halted, "nothing leaves a halt");
        assert_eq!(poll(&mut rig.submit(Priority::Cancel)), Some(Err(Unavailable::Halted)));
        rig.ingress.sweep();
        assert_eq!(poll(&mut waiting), Some(Err(Unavailable::Unknown)), "no reply can come any more");
        assert_eq!(rig.answer(), [1, 2]);
    }

    #[test]
    fn a_request_waits_its_time_and_a_late_reply_disturbs_nobody() {
        let mut rig = rig(8);
        let mut old = rig.submit(Priority::Order);
        assert_eq!(poll(&mut old), None);
        for _ in 0..SWEEPS_MAX {
            rig.ingress.sweep();
        }
        let mut young = rig.submit(Priority::Order);
        assert_eq!((poll(&mut old), poll(&mut young)), (None, None));
        rig.ingress.sweep();
        assert_eq!((poll(&mut old), poll(&mut young)), (Some(Err(Unavailable::Unknown)), None));
        assert_eq!(rig.answer(), [1, 2]);
        rig.ingress.take_replies();
        assert_eq!(poll(&mut young), Some(Ok(102)));
        assert!(rig.ingress.0.state.borrow().waiting.is_empty());
    }

    #[test]
    fn one_wake_brings_all_replies_of_a_batch() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let mut rig = rig(8);
        tokio::task::LocalSet::new().block_on(&runtime, async {
            tokio::task::spawn_local(rig.ingress.clone().run());
            let waiting: Vec<_> =
                (0..5).map(|_| tokio::task::spawn_local(rig.submit(Priority::Order))).collect();
            tokio::task::yield_now().await;
            assert_eq!(rig.answer(), [1, 2, 3, 4, 5]);
            for (index, task) in (1..).zip(waiting) {
                let reply = task.await.expect("no panic").expect("a reply");
                assert_eq!(reply.done.source_seq, index);
            }
        });
    }
}
