//! The way out: released events into the views, then replies to the workers.
//!
//! Egress holds back every event until the gate has passed its command, folds whole commands under one lock per batch, and
//! only then hands out their replies: what a reply says can be read by whoever got it, and nothing is seen that a crash
//! could take back. It encodes nothing and knows no socket; [`Listener`] is where pushes hang in. What is done with a whole command is
//! [`Fanout`]'s, which shows on other hosts what a leader did.

mod command_events;
mod fanout;
mod figures;

pub use command_events::CommandEvents;
pub use fanout::Fanout;
pub use figures::EgressFigures;

use ringside_commands::clock::Clock;
use ringside_commands::ingress::ReplyQueue;
use ringside_core::agent::Agent;
use ringside_core::event::{Event, Kind};
use ringside_core::gate::{Gate, GateMode};
use ringside_core::ids::Sequence;
use ringside_core::memory::Pages;
use ringside_core::ring::{Consumer, Doorbell};
use ringside_core::sums::Sums;
use ringside_views::{SharedViews, Views};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the clock is looked at while nothing happens.
const NAP: Duration = Duration::from_millis(100);
/// How long closing waits for the journal.
const CLOSING: Duration = Duration::from_secs(5);

/// Events of one batch at most: bounds how long readers of the views wait for a fold. A longer command is folded whole.
const BATCH: usize = 1024;

/// Sees each command right after its fold, as egress goes.
pub trait Listener: Send {
    /// One command: its events, and the views exactly as they are after it. Runs under the views'
    /// lock, so it only notes what is to be sent.
    fn command(&mut self, told: CommandEvents<'_>, views: &Views);

    /// The batch is over and the lock released: time to send.
    fn flush(&mut self);

    /// Whether the clock has made something due.
    fn is_due(&self) -> bool {
        false
    }

    /// Notes what is due. Between two commands, with the views held for reading; [`Listener::flush`] follows.
    fn due(&mut self, _views: &Views) {}

    /// How long nothing will be due.
    fn next_timer(&self) -> Option<Duration> {
        None
    }
}

/// The stage between the output ring and everything that is shown.
pub struct Egress {
    ring: Consumer<Event>,
    gate: Arc<Gate>,
    mode: GateMode,
    fanout: Fanout,
    sums: Arc<Sums>,
    doorbells: [Doorbell; 2],
    probe: Option<Probe>,
}

/// One command at a time is followed through the stages, and the time it spends in each recorded.
struct Probe {
    clock: Clock,
    figures: Arc<EgressFigures>,
    followed: Option<Followed>,
}

/// Where the followed command is.
#[derive(Clone, Copy)]
enum Followed {
    /// Its events were there at this time; the journal has not passed it.
    Seen(Sequence, i64),
    /// The journal had passed it at this time.
    Passed(Sequence, i64),
}

impl Egress {
    /// The consumer of `ring`. `ports` are the workers' by the source number of their lane; commands of other sources get
    /// no reply. `views` must show everything up to the first event of the ring, and `sums` count it.
    pub fn new(
        ring: Consumer<Event>,
        gate: Arc<Gate>,
        mode: GateMode,
        views: Arc<SharedViews>,
        ports: Vec<(u32, Arc<ReplyQueue>)>,
        sums: Arc<Sums>,
    ) -> Egress {
        let doorbells = [ring.doorbell(), gate.doorbell().clone()];
        let mut fanout = Fanout::new(views, ports);
        fanout.make_room(2 * BATCH, Pages::Small);
        Egress { ring, gate, mode, fanout, sums, doorbells, probe: None }
    }

    /// Takes address space for a command of so many events, which come on such pages: so they are not moved as they become more.
    pub fn make_room(&mut self, events: usize, pages: Pages) {
        self.fanout.make_room(events.max(2 * BATCH), pages);
    }

    /// Has it count what passes and how long that takes; commands are stamped by `clock`.
    pub fn measure(&mut self, clock: Clock, figures: Arc<EgressFigures>) {
        self.fanout.measure(figures.clone());
        self.probe = Some(Probe { clock, figures, followed: None });
    }

    /// Looks for a command to follow, where none is: the newest, whose events have only just come.
    fn follow(&mut self) {
        let Some(probe) = &mut self.probe else { return };
        if probe.followed.is_some() || !self.ring.is_ready() {
            return;
        }
        // What is published is a prefix: its end is between a power of two and the next.
        let mut beyond = 1;
        while self.ring.peek(beyond).is_some() {
            beyond *= 2;
        }
        let mut newest = beyond / 2;
        while newest + 1 < beyond {
            let middle = newest + (beyond - newest) / 2;
            if self.ring.peek(middle).is_some() { newest = middle } else { beyond = middle }
        }
        let Some(event) = self.ring.peek(newest) else { return };
        let (sequence, stamped_ns) = (event.sequence, event.time_ns);
        let now_ns = probe.clock.now_ns();
        probe.figures.matching.record(now_ns.saturating_sub(stamped_ns).max(0) as u64);
        probe.followed = Some(Followed::Seen(sequence, now_ns));
    }

    /// The gate has passed everything up to `released`.
    fn passed(&mut self, released: Sequence) {
        let Some(probe) = &mut self.probe else { return };
        if let Some(Followed::Seen(sequence, seen_ns)) = probe.followed
            && released >= sequence
        {
            let now_ns = probe.clock.now_ns();
            probe.figures.journal.record(now_ns.saturating_sub(seen_ns).max(0) as u64);
            probe.followed = Some(Followed::Passed(sequence, now_ns));
        }
    }

    /// Everything taken so far is shown, up to `last`.
    fn shown(&mut self, last: Sequence) {
        let Some(probe) = &mut self.probe else { return };
        if let Some(Followed::Passed(sequence, passed_ns)) = probe.followed
            && last >= sequence
        {
            let now_ns = probe.clock.now_ns();
            probe.figures.showing.record(now_ns.saturating_sub(passed_ns).max(0) as u64);
            probe.followed = None;
        }
    }

    /// Adds a listener; listeners are called in the order they were added.
    pub fn listen(&mut self, listener: Box<dyn Listener>) {
        self.fanout.listen(listener);
    }

    /// Moves released events out of the ring. Complete commands or not: a command may have more events than the ring has
    /// slots, and the matcher goes on only when slots come free.
    fn take(&mut self) -> usize {
        let released = self.gate.released(self.mode);
        self.passed(released);
        let synced = self.gate.durable();
        let may_leave = |event: &Event| {
            event.sequence <= released && (event.sequence <= synced || !moves_money_of_a_chain(event.kind))
        };
        let mut count = 0;
        while count < BATCH && self.ring.peek(count).is_some_and(may_leave) {
            count += 1;
        }
        if count == 0 {
            return 0;
        }
        let (fanout, mut sums) = (&mut self.fanout, self.sums.lock());
        let taken = self.ring.poll(count, |_, event| {
            sums.event(event);
            fanout.take(event);
        });
        self.gate.tell(sums.newest());
        taken
    }
}

impl Agent for Egress {
    fn name(&self) -> &str {
        "egress"
    }

    fn do_work(&mut self) -> usize {
        self.follow();
        let taken = self.take();
        if taken > 0
            && let Some(last) = self.fanout.show()
        {
            self.shown(last);
        }
        let has_prepared = taken == 0 && self.fanout.prepare();
        self.fanout.tick();
        taken + usize::from(has_prepared)
    }

    fn next_timer(&self) -> Duration {
        self.fanout.next_timer().map_or(NAP, |due| due.min(NAP))
    }

    fn doorbells(&self) -> &[Doorbell] {
        &self.doorbells
    }

    /// Shows what the journal still passes of the events that are there, for a while: their replies are waited for.
    fn close(&mut self) {
        let started = Instant::now();
        while self.ring.is_ready() && !self.gate.is_halted() && started.elapsed() < CLOSING {
            if self.do_work() == 0 {
                std::thread::sleep(Duration::from_micros(100));
            }
        }
    }
}

/// Whether an event is of what leaves the venue for good or comes into it: a power cut must not undo that, so it waits for the
/// sync in every mode, and with it all that comes after.
fn moves_money_of_a_chain(kind: u16) -> bool {
    const KINDS: [Kind; 3] = [Kind::Withdrawal, Kind::WithdrawalSigned, Kind::Deposit];
    KINDS.iter().any(|own| *own as u16 == kind)
}
