//! The matching stage: the one writer of the engine's state, and the one who decides order.
//!
//! Drains the input rings in turn, a quota each; stamps sequence and time; publishes the sequenced commands to the
//! journal ring; applies them; moves the events they made to the output ring. It waits for nobody: commands are only
//! taken while the journal ring has room for them and every earlier event is on its way. It does no I/O and reads
//! the clock once a work step, through the function it was given.
//!
//! A state hash that is not the one a command says it must be ends the stage with a panic, before an event of that
//! batch has left: of two histories nobody can tell here which is the true one, so nothing more may be acknowledged.
//!
//! A publisher may be another process, and hostile. A command of a kind that only the venue itself makes (a state hash to
//! compare, an epoch, a skip) loses its tag on the way in: the engine answers `Malformed`, the journal keeps the rest of it.
//!
//! Commands of its own: `AdvanceTime` once a second, at which prices, funding and deadlines move, and once a work step while
//! liquidations are left over; and at intervals `Checkpoint` followed by `VerifyHash`, so that the journal carries the state
//! hash that every replay must reach.

use crate::agent::Agent;
use crate::command::{AdvanceTime, Body, Checkpoint, Command, Kind, VerifyHash};
use crate::engine::Engine;
use crate::event::{Event, Outbox, StateHash};
use crate::figures::Counter;
use crate::ids::Sequence;
use crate::prefetch::Hint;
use crate::ring::sync::{AtomicU64, Ordering};
use crate::ring::{Consumer, Doorbell, Producer};
use crossbeam::utils::CachePadded;
use std::sync::Arc;
use std::time::Duration;

/// Commands taken in one go: long enough that what each will touch is fetched while those before it are applied,
/// short enough to stay in the first-level cache.
const BATCH: usize = 32;

/// Countdowns that have run out wait no longer for `AdvanceTime` (`perpetual.md` 8).
const COUNTDOWN_NS: i64 = 10_000_000;

/// A tag that no kind has.
const UNKNOWN: u16 = 0;

/// What is not a ring.
#[derive(Clone, Copy, Debug)]
pub struct MatcherOptions {
    /// Most commands taken from one input ring before the next has its turn.
    pub quota: usize,
    /// A checkpoint follows each time this many commands were applied; 0 for never.
    pub checkpoint_every: u64,
    /// `AdvanceTime` comes once in each stretch of this length since the UNIX epoch, as soon as the stage sees it begin,
    /// whether or not other commands come, and more often while the engine has a backlog and where a countdown runs out; in
    /// nanoseconds, 0 for never.
    pub tick_ns: i64,
    /// Whether [`Kind::OWN`] is taken from the inputs as well. For tests that must see the stage diverge; no host sets it.
    pub takes_own_kinds: bool,
}

impl Default for MatcherOptions {
    fn default() -> MatcherOptions {
        MatcherOptions {
            quota: 256,
            checkpoint_every: 1_000_000,
            tick_ns: 1_000_000_000,
            takes_own_kinds: false,
        }
    }
}

/// What the stage counts, for others to read: what holds it up, which is rare, so that counting costs nothing.
#[derive(Debug, Default)]
pub struct MatcherFigures {
    /// Work steps that ended because the journal ring was full.
    pub journal_stalls: Counter,
    /// Work steps that ended because the output ring was full.
    pub output_stalls: Counter,
}

/// The last command that the engine has applied, for others to read: what comes behind it may yet end the process.
#[derive(Debug)]
pub struct Applied(CachePadded<AtomicU64>);

impl Applied {
    /// An engine that has applied everything up to `sequence`.
    pub fn new(sequence: Sequence) -> Applied {
        Applied(CachePadded::new(AtomicU64::new(sequence)))
    }

    /// The last one.
    pub fn get(&self) -> Sequence {
        // Acquire: partner of the Release in `set`.
        self.0.load(Ordering::Acquire)
    }

    /// Everything up to `sequence` is applied. The engine's own stage only.
    #[inline]
    pub fn set(&self, sequence: Sequence) {
        // Release: partner of the Acquire in `get`.
        self.0.store(sequence, Ordering::Release);
    }
}

/// What the next work step waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listen {
    /// Commands.
    Inputs,
    /// Room in the journal or output ring.
    Room,
}

/// The matching stage. `clock` gives nanoseconds of the UNIX epoch, as [`crate::pace::Pace`] does; it may step either way, engine
/// time will not.
pub struct Matcher<C: FnMut() -> i64 + Send> {
    engine: Engine,
    inputs: Vec<Consumer<Command>>,
    journal: Producer<Command>,
    output: Producer<Event>,
    clock: C,
    options: MatcherOptions,
    /// Commands of the running batch, stamped.
    batch: Vec<Command>,
    /// Events on their way to the output ring; those before `sent` have left.
    outbox: Outbox,
    sent: usize,
    /// Input whose turn is next.
    turn: usize,
    since_checkpoint: u64,
    /// Time of the last tick, or where the stage began.
    ticked_ns: i64,
    /// Time of the last work step.
    seen_ns: i64,
    listen: Listen,
    input_bells: Vec<Doorbell>,
    room_bells: [Doorbell; 2],
    figures: Arc<MatcherFigures>,
    applied: Arc<Applied>,
}

impl<C: FnMut() -> i64 + Send> Matcher<C> {
    /// A stage that goes on where `engine` stands. `journal` starts at the engine's next sequence.
    pub fn new(
        engine: Engine,
        inputs: Vec<Consumer<Command>>,
        journal: Producer<Command>,
        output: Producer<Event>,
        clock: C,
        options: MatcherOptions,
    ) -> Matcher<C> {
        assert_eq!(
            journal.next_sequence(),
            engine.sequence() + 1,
            "the journal ring goes on where the engine stands"
        );
        refuse_diverged(&engine);
        let ticked_ns = engine.time_ns();
        let input_bells = inputs.iter().map(|input| input.doorbell()).collect();
        let room_bells = [journal.room_doorbell(), output.room_doorbell()];
        let outbox = Outbox::reserved(64 * BATCH, engine.events_at_most());
        let applied = Arc::new(Applied::new(engine.sequence()));
        Matcher {
            engine,
            inputs,
            journal,
            output,
            clock,
            options,
            batch: Vec::with_capacity(BATCH),
            outbox,
            sent: 0,
            turn: 0,
            since_checkpoint: 0,
            ticked_ns,
            seen_ns: ticked_ns,
            listen: Listen::Inputs,
            input_bells,
            room_bells,
            figures: Arc::default(),
            applied,
        }
    }

    /// What the stage counts.
    pub fn figures(&self) -> Arc<MatcherFigures> {
        self.figures.clone()
    }

    /// How far the engine has come.
    pub fn applied(&self) -> Arc<Applied> {
        self.applied.clone()
    }

    /// The state, for a host that stopped the stage.
    pub fn into_engine(self) -> Engine {
        self.engine
    }

    /// Moves events on; true when all have left.
    fn send(&mut self) -> bool {
        let events = self.outbox.events();
        if self.sent < events.len() {
            self.sent += self.output.try_publish_batch(&events[self.sent..]);
        }
        if self.sent < events.len() {
            self.figures.output_stalls.add(1);
            self.listen = Listen::Room;
            return false;
        }
        self.outbox.clear();
        self.sent = 0;
        true
    }

    /// Time of the next command: the clock's, unless that would run back.
    fn stamp(&mut self) -> i64 {
        (self.clock)().max(self.engine.time_ns())
    }

    /// Takes up to `limit` commands of one input; gives how many.
    fn take(&mut self, input: usize, limit: usize, time_ns: i64) -> usize {
        let limit = limit.min(BATCH).min(self.journal.free());
        if limit == 0 {
            self.figures.journal_stalls.add(1);
            self.listen = Listen::Room;
            return 0;
        }
        self.batch.clear();
        let (batch, engine) = (&mut self.batch, &self.engine);
        let takes_own_kinds = self.options.takes_own_kinds;
        let mut sequence = engine.sequence();
        let wants_hints = engine.wants_hints();
        let taken = self.inputs[input].poll(limit, |_, command| {
            if wants_hints {
                engine.prefetch(command, Hint::First);
            }
            sequence += 1;
            let kind = match Kind::OWN.contains(&command.kind) && !takes_own_kinds {
                false => command.kind,
                true => UNKNOWN,
            };
            batch.push(Command { sequence, time_ns, kind, ..*command });
        });
        if taken > 0 {
            self.run_batch();
        }
        taken
    }

    /// Journals the batch, which the journal has room for, then applies it: whatever applying does, the commands
    /// that did it are on their way to the journal first. Not where the journal has ended meanwhile: false.
    fn run_batch(&mut self) -> bool {
        for command in &self.batch {
            let published = self.journal.stage(command);
            if published.is_err() && self.journal.is_halted() {
                // None of it can be acknowledged any more.
                return false;
            }
            assert_eq!(published, Ok(command.sequence), "the journal ring carries every sequence once");
        }
        self.journal.flush();
        if self.engine.wants_hints() {
            for hint in [Hint::Second, Hint::Third] {
                self.batch.iter().for_each(|command| self.engine.prefetch(command, hint));
            }
        }
        for command in &self.batch {
            self.engine.apply(command, &mut self.outbox);
        }
        refuse_diverged(&self.engine);
        self.applied.set(self.engine.sequence());
        self.since_checkpoint += self.batch.len() as u64;
        true
    }

    /// A command of the stage itself. False where the journal has ended.
    fn run_own<B: Body>(&mut self, body: B, time_ns: i64) -> bool {
        self.batch.clear();
        self.batch.push(Command { sequence: self.engine.sequence() + 1, time_ns, ..Command::new(body) });
        self.run_batch()
    }

    /// Has the engine hash its state and the journal remember the hash.
    fn checkpoint(&mut self, time_ns: i64) {
        if !self.run_own(Checkpoint {}, time_ns) {
            return;
        }
        let events = self.outbox.events();
        let hash = events.iter().rev().find_map(|event| event.get::<StateHash>()).map(|event| event.hash);
        let hash = hash.expect("a checkpoint answers with the state hash");
        self.run_own(VerifyHash { checkpoint: self.engine.sequence(), hash }, time_ns);
        self.since_checkpoint = 0;
    }
}

/// Panics where the engine's state is not what a `VerifyHash` said.
fn refuse_diverged(engine: &Engine) {
    if let Some(divergence) = engine.diverged() {
        panic!("the state is not what the journal says: {divergence:02x?}");
    }
}

impl<C: FnMut() -> i64 + Send> Agent for Matcher<C> {
    fn name(&self) -> &str {
        "matcher"
    }

    fn do_work(&mut self) -> usize {
        self.listen = Listen::Inputs;
        if !self.send() {
            return 0;
        }
        if self.journal.is_halted() || self.output.is_halted() {
            // Nothing that is taken now could ever be acknowledged: let the publishers see it.
            self.inputs.iter().for_each(|input| input.halt());
            return 0;
        }
        let time_ns = self.stamp();
        let mut work = 0;
        for _ in 0..self.inputs.len() {
            let input = self.turn;
            self.turn = (self.turn + 1) % self.inputs.len();
            let mut left = self.options.quota;
            while left > 0 {
                let taken = self.take(input, left, time_ns);
                work += taken;
                left -= taken;
                if taken == 0 {
                    break;
                }
                if !self.send() {
                    return work;
                }
            }
        }
        let due = self.options.checkpoint_every > 0 && self.since_checkpoint >= self.options.checkpoint_every;
        let tick_ns = self.options.tick_ns;
        // The clock is past the epoch, where rounding toward zero is rounding down.
        let ticks = tick_ns > 0 && time_ns / tick_ns > self.ticked_ns / tick_ns;
        // What a move of the mark left over goes on between the commands of others, whether or not any come.
        let goes_on = tick_ns > 0 && self.engine.has_backlog();
        let runs_out = tick_ns > 0
            && self.engine.countdown_ms().is_some_and(|due_ms| due_ms <= time_ns / 1_000_000)
            && time_ns / COUNTDOWN_NS > self.ticked_ns / COUNTDOWN_NS;
        self.seen_ns = time_ns;
        if (due || ticks || goes_on || runs_out) && self.journal.free() >= 2 {
            if due {
                self.checkpoint(time_ns);
            } else {
                self.run_own(AdvanceTime {}, time_ns);
                self.ticked_ns = time_ns;
            }
            work += 1;
            self.send();
        }
        if work == 0 && self.engine.tidy() {
            work = 1;
        }
        work
    }

    fn doorbells(&self) -> &[Doorbell] {
        match self.listen {
            Listen::Inputs => &self.input_bells,
            Listen::Room => &self.room_bells,
        }
    }

    fn next_timer(&self) -> Duration {
        let longest = Duration::from_millis(100);
        match (self.options.tick_ns, self.engine.countdown_ms()) {
            (0, _) => longest,
            (tick_ns, None) => Duration::from_nanos(tick_ns.unsigned_abs()).min(longest),
            (tick_ns, Some(due_ms)) => {
                let left_ns = due_ms.saturating_mul(1_000_000).saturating_sub(self.seen_ns).max(COUNTDOWN_NS);
                Duration::from_nanos(tick_ns.min(left_ns).unsigned_abs()).min(longest)
            }
        }
    }

    /// Publishers see the end; what they had published is still taken where the rings downstream have room. Waits
    /// for none: their consumers may be closed after this stage, on the same thread.
    fn close(&mut self) {
        self.inputs.iter().for_each(|input| input.halt());
        while self.do_work() > 0 {}
    }
}
