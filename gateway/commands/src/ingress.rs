//! The way in: one thread's commands into its own input ring, and the replies back to whoever waits for them. Such a thread is a
//! worker of the server, or the one that reads price feeds.
//!
//! A worker never waits for room: a full ring answers "busy" at once, and the last slots are kept for cancels and internal
//! commands. While [`Ingress::run`] runs, what the requests of one turn of the worker hand over becomes visible together, with
//! one wake for all of it: on few cores the matcher would else be woken for every command, and each time take the place of
//! the worker that has the next one ready. Where the machine has no processor to spare for the stages, the worker then runs
//! them itself ([`CommandProducer::invoker`]) and has the replies when it is back.
//!
//! A reply comes from egress through one queue per worker, with one wake for all that a batch brought; [`Ingress::run`] then
//! hands each reply to its request. No other thread is involved.
//!
//! What a command means, and what its refusal is called, is not known here.

mod engine_state;
mod figures;
mod reply_queue;

pub use engine_state::{DiskHeadroom, EngineState, Lease, Priority, SharedEngineState, Unavailable};
pub use figures::WorkerFigures;
pub use reply_queue::{CommandProducer, Reply, ReplyQueue};

use crate::clock::Clock;
use ringside_core::command::Command;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// How long a request waits for the reply to a command that was handed over: a little less than the 10 seconds after
/// which the server would give the request up without knowing how far it came.
pub const REPLY_TIMEOUT: Duration = Duration::from_millis(9_500);
/// How often waiting requests are looked over for that.
const SWEEP: Duration = Duration::from_millis(250);
/// Commands that become visible together at most where the matcher has a processor of its own, so that it begins while the
/// worker goes on.
const STAGED_MAX: u32 = 16;
const SWEEPS_MAX: u32 = (REPLY_TIMEOUT.as_millis() / SWEEP.as_millis()) as u32;

/// A worker's way to the engine. Clones share it; all stay on the worker's thread.
#[derive(Clone)]
pub struct Ingress(Rc<Inner>);

struct Inner {
    port: Arc<ReplyQueue>,
    /// Whose clock times commands, and what the thread counts.
    measured: Option<(Clock, Arc<WorkerFigures>)>,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    lane: Option<CommandProducer>,
    /// Of the lane that it has, or had last.
    source: u32,
    /// How many lanes were taken back, as far as it has heard.
    taken_back: u64,
    /// Numbers that commands had before those of this lane: theirs come behind them here.
    before: u64,
    /// The last number of a command whose lane was taken back.
    given_up: u64,
    /// Number of the front of `waiting`, less one.
    answered: u64,
    /// One entry per command handed over, in order of their numbers, from the oldest that is still of interest.
    waiting: VecDeque<Entry>,
    /// A list for replies, empty.
    taken: Vec<Reply>,
    sweep: u32,
    /// Commands handed over and not visible yet.
    staged: u32,
    /// The task that makes them visible, while it runs.
    flush_waker: Option<Waker>,
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
    /// The time is up, or nothing comes any more, and the request has not been told.
    Lost(Unavailable),
    /// The reply is here, and the request has not taken it.
    Ready(Reply),
    /// Nothing is left to do.
    Over,
}

impl Ingress {
    /// The worker's side of `port`. Commands are refused until the port has a lane and the engine runs.
    pub fn new(port: Arc<ReplyQueue>) -> Ingress {
        Ingress(Rc::new(Inner { port, measured: None, state: RefCell::default() }))
    }

    /// The same, counting in `figures` what is refused and how long commands take, by the clock that stamps them.
    pub fn measured(port: Arc<ReplyQueue>, clock: Clock, figures: Arc<WorkerFigures>) -> Ingress {
        let measured = Some((clock, figures));
        Ingress(Rc::new(Inner { port, measured, state: RefCell::default() }))
    }

    /// Stamps a command with source and number and hands it over, or refuses it at once. The future gives the reply.
    /// A future that is dropped recalls nothing: the command takes effect.
    pub fn submit(&self, command: Command, priority: Priority) -> Submission {
        match self.0.hand_over(command, priority) {
            Ok(number) => Submission { stage: Stage::Sent(self.0.clone(), number) },
            Err(unavailable) => self.refuse(unavailable),
        }
    }

    fn refuse(&self, unavailable: Unavailable) -> Submission {
        self.0.count(unavailable, 1);
        Submission { stage: Stage::Refused(unavailable) }
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
            return self.refuse(Unavailable::Busy);
        }
        for command in before {
            match self.0.hand_over(*command, priority) {
                // Its reply is of no interest: it comes before the last one's.
                Ok(number) => drop(Submission { stage: Stage::Sent(self.0.clone(), number) }),
                Err(unavailable) => return self.refuse(unavailable),
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
    pub fn phase(&self) -> EngineState {
        self.0.port.phase.get()
    }

    /// Makes visible what was handed over and brings replies to their requests, for as long as it is polled. To be spawned
    /// once on the worker's thread.
    pub async fn run(self) {
        let mut sweep = tokio::time::interval(SWEEP);
        sweep.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let _guard = FlushGuard(&self.0);
        // Woken by the first command of a turn, this task is polled behind all that were ready by then.
        let mut show = pin!(poll_fn(|context| {
            self.show(context.waker());
            Poll::<()>::Pending
        }));
        loop {
            tokio::select! {
                biased;
                () = &mut show => {}
                () = self.0.port.wake.notified() => self.take_replies(),
                _ = sweep.tick() => {
                    self.take_replies();
                    self.sweep();
                }
            }
        }
    }

    /// Makes visible what was handed over, and takes the replies that are back already. `flush_waker` is to be woken for the next.
    fn show(&self, flush_waker: &Waker) {
        let has_run = {
            let state = &mut *self.0.state.borrow_mut();
            if state.flush_waker.as_ref().is_none_or(|other| !other.will_wake(flush_waker)) {
                state.flush_waker = Some(flush_waker.clone());
            }
            state.staged > 0 && {
                state.staged = 0;
                state.lane.as_mut().is_some_and(CommandProducer::show)
            }
        };
        if has_run {
            self.take_replies();
        }
    }

    /// Takes every reply that has come.
    pub fn take_replies(&self) {
        self.0.take_replies();
    }

    /// Tells requests whose time is up. All of them, once the engine has stopped: no reply can come then.
    fn sweep(&self) {
        if let Some((_, figures)) = &self.0.measured {
            figures.heartbeats.add(1);
        }
        let is_halted = self.phase() == EngineState::Halted;
        let state = &mut *self.0.state.borrow_mut();
        state.sweep += 1;
        let mut lost = 0;
        for entry in &mut state.waiting {
            if !is_halted && state.sweep - entry.since <= SWEEPS_MAX {
                break;
            }
            if let Progress::Waiting(waker) = &mut entry.progress {
                let waker = waker.take();
                entry.progress = Progress::Lost(Unavailable::Unknown);
                lost += 1;
                waker.into_iter().for_each(Waker::wake);
            }
        }
        self.0.count(Unavailable::Unknown, lost);
    }
}

impl Inner {
    /// Counts commands that are not answered.
    fn count(&self, unavailable: Unavailable, times: u64) {
        if let Some((_, figures)) = &self.measured {
            figures.unavailable[unavailable as usize].add(times);
        }
    }

    fn hand_over(&self, mut command: Command, priority: Priority) -> Result<u64, Unavailable> {
        match self.port.phase.get() {
            EngineState::Running | EngineState::Carrying => {}
            EngineState::Disabled => return Err(Unavailable::Disabled),
            EngineState::Restarting => return Err(Unavailable::Restarting),
            EngineState::Halted => return Err(Unavailable::Halted),
            EngineState::Mirror => return Err(Unavailable::Mirror),
        }
        if !self.port.phase.has_room_for(priority) {
            return Err(Unavailable::Busy);
        }
        if self.port.taken_back.load(Ordering::Relaxed) != self.state.borrow().taken_back {
            self.take_replies();
        }
        let state = &mut *self.state.borrow_mut();
        if state.lane.is_none() {
            state.lane = self.port.lane.lock().take();
            let numbered = state.lane.as_ref().map_or(0, |lane| lane.numbered);
            if state.waiting.is_empty() {
                state.answered += numbered;
            }
            state.source = state.lane.as_ref().map_or(0, |lane| lane.source);
            state.before = (state.answered + state.waiting.len() as u64).wrapping_sub(numbered);
        }
        let lane = state.lane.as_mut().ok_or(Unavailable::Restarting)?;
        if priority == Priority::Order && !lane.producer.has_room(lane.reserved + 1) {
            return Err(lane.no_room());
        }
        let number = state.answered + state.waiting.len() as u64 + 1;
        command.source = lane.source;
        command.source_seq = number.wrapping_sub(state.before);
        if lane.producer.stage(&command).is_err() {
            return Err(lane.no_room());
        }
        let is_enough = lane.invoker.is_none() && state.staged + 1 >= STAGED_MAX;
        match &state.flush_waker {
            Some(flush_waker) if !is_enough => {
                if state.staged == 0 {
                    flush_waker.wake_by_ref();
                }
                state.staged += 1;
            }
            // Whoever hands over may hold what the stages need: they are not run here.
            _ => {
                lane.producer.flush();
                state.staged = 0;
            }
        }
        let sent_ns = self.measured.as_ref().map_or(0, |(clock, _)| clock.now_ns());
        state.waiting.push_back(Entry { since: state.sweep, sent_ns, progress: Progress::Waiting(None) });
        // Relaxed: a figure; the worker alone writes it.
        self.port.submitted.store(number, Ordering::Relaxed);
        Ok(number)
    }

    fn take_replies(&self) {
        // Acquire: partner of the Release in `detach`; whoever sees a lane taken back sees every reply that came by it.
        let taken_back = self.port.taken_back.load(Ordering::Acquire);
        let mut replies = std::mem::take(&mut self.state.borrow_mut().taken);
        std::mem::swap(&mut replies, &mut *self.port.replies.lock());
        let now_ns = match &self.measured {
            Some((clock, _)) if !replies.is_empty() => clock.now_ns(),
            _ => 0,
        };
        for reply in replies.drain(..) {
            self.complete(reply, now_ns);
        }
        self.state.borrow_mut().taken = replies;
        self.give_up_lane(taken_back);
    }

    /// Where the lane was taken back: nothing that was handed over through it is answered any more.
    fn give_up_lane(&self, taken_back: u64) {
        let state = &mut *self.state.borrow_mut();
        if taken_back == state.taken_back {
            return;
        }
        // Of a lane that was missed nothing is known.
        let is_known = taken_back & 1 == 1 && taken_back >> 1 == (state.taken_back >> 1) + 1;
        let reason = if is_known { Unavailable::Restarting } else { Unavailable::Unknown };
        (state.taken_back, state.lane, state.staged) = (taken_back, None, 0);
        let mut lost = 0;
        for entry in &mut state.waiting {
            match &mut entry.progress {
                Progress::Waiting(waker) => {
                    let waker = waker.take();
                    entry.progress = Progress::Lost(reason);
                    lost += 1;
                    waker.into_iter().for_each(Waker::wake);
                }
                Progress::Abandoned => entry.progress = Progress::Over,
                Progress::Lost(_) | Progress::Ready(_) | Progress::Over => {}
            }
        }
        state.given_up = state.answered + state.waiting.len() as u64;
        state.forget();
        self.count(reason, lost);
    }

    fn complete(&self, reply: Reply, now_ns: i64) {
        let state = &mut *self.state.borrow_mut();
        if reply.done.source != state.source {
            // Of a lane that was given up.
            return;
        }
        let number = reply.done.source_seq.wrapping_add(state.before);
        let Some(entry) = state.entry(number) else { return };
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
            Progress::Lost(_) => entry.progress = Progress::Ready(reply),
            Progress::Abandoned => state.forget(),
            Progress::Ready(_) | Progress::Over => {}
        }
    }

    fn poll(&self, number: u64, context: &Context<'_>) -> Poll<Result<Reply, Unavailable>> {
        let state = &mut *self.state.borrow_mut();
        let Some(entry) = state.entry(number) else { return Poll::Ready(Err(Unavailable::Unknown)) };
        match &mut entry.progress {
            Progress::Waiting(Some(waker)) if waker.will_wake(context.waker()) => Poll::Pending,
            Progress::Waiting(waker) => {
                *waker = Some(context.waker().clone());
                Poll::Pending
            }
            Progress::Lost(reason) => {
                let reason = *reason;
                state.lose_interest(number);
                Poll::Ready(Err(reason))
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

    fn abandon(&self, number: u64) {
        let state = &mut *self.state.borrow_mut();
        let Some(entry) = state.entry(number) else { return };
        match entry.progress {
            Progress::Waiting(_) | Progress::Lost(_) => state.lose_interest(number),
            Progress::Ready(_) => {
                entry.progress = Progress::Over;
                state.forget();
            }
            Progress::Abandoned | Progress::Over => {}
        }
    }
}

/// For as long as it is there, commands are shown by the task that made it.
struct FlushGuard<'a>(&'a Inner);

impl Drop for FlushGuard<'_> {
    fn drop(&mut self) {
        let state = &mut *self.0.state.borrow_mut();
        state.flush_waker = None;
        state.staged = 0;
        if let Some(lane) = &mut state.lane {
            lane.producer.flush();
        }
    }
}

impl State {
    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let index = number.checked_sub(self.answered + 1)?;
        self.waiting.get_mut(usize::try_from(index).ok()?)
    }

    /// Nobody waits for the reply to that command any more; where its lane was taken back none will come.
    fn lose_interest(&mut self, number: u64) {
        let is_awaited = number > self.given_up;
        if let Some(entry) = self.entry(number) {
            entry.progress = if is_awaited { Progress::Abandoned } else { Progress::Over };
        }
        self.forget();
    }

    /// Lets go of the oldest commands that nothing is left to do for.
    fn forget(&mut self) {
        while self.waiting.front().is_some_and(|entry| matches!(entry.progress, Progress::Over)) {
            self.waiting.pop_front();
            self.answered += 1;
        }
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
            Stage::Sent(inner, number) => match inner.poll(*number, context) {
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
        if let Stage::Sent(inner, number) = &self.stage {
            inner.abandon(*number);
        }
    }
}

#[cfg(test)]
mod tests;
