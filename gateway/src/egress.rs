//! The way out: released events into the views, then replies to the workers.
//!
//! Egress holds back every event until the gate has passed its command, folds whole commands under one lock per batch, and
//! only then hands out their replies: what a reply says can be read by whoever got it, and nothing is seen that a crash
//! could take back. It encodes nothing and knows no socket; [`Listener`] is where pushes hang in.

mod command_events;
mod figures;

pub use command_events::CommandEvents;
pub use figures::EgressFigures;

use command_events::Spans;
use ringside_commands::clock::Clock;
use ringside_commands::ingress::{Reply, ReplyQueue};
use ringside_core::agent::Agent;
use ringside_core::command;
use ringside_core::event::{self, Event, Kind};
use ringside_core::gate::{Gate, GateMode};
use ringside_core::ids::Sequence;
use ringside_core::memory::Pages;
use ringside_core::ring::{Consumer, Doorbell};
use ringside_views::perpetual::order::OrderRecord;
use ringside_views::{SharedViews, Views};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the clock is looked at while nothing happens.
const NAP: Duration = Duration::from_millis(100);
/// How long closing waits for the journal.
const CLOSING: Duration = Duration::from_secs(5);

/// Events of one batch at most: bounds how long readers of the views wait for a fold. A longer command is folded whole.
const BATCH: usize = 1024;

/// More events than this, 8 MB, keep their memory only where as many are to be expected again.
const LONG: usize = 1 << 16;
/// Events that memory is taken for in one step.
const PREPARED_AT_ONCE: usize = 256;
/// No more of them lie on a page of the system.
const EVENTS_OF_A_PAGE: usize = 4_096 / size_of::<Event>();

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
    views: Arc<SharedViews>,
    ports: Vec<Destination>,
    listeners: Vec<Box<dyn Listener>>,
    /// Released events in order; the last command of a batch may still be incomplete.
    events: Vec<Event>,
    /// Of the first command, where it did not come in one piece.
    spans: Spans,
    /// Events that there is address space for, and the pages they are to lie on.
    room: (usize, Pages),
    /// Events that a command may soon have, and those that memory was taken for.
    expected: usize,
    prepared: usize,
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

struct Destination {
    source: u32,
    port: Arc<ReplyQueue>,
    is_waiting: bool,
}

impl Egress {
    /// The consumer of `ring`. `ports` are the workers' by the source number of their lane; commands of other sources get
    /// no reply. `views` must show everything up to the first event of the ring.
    pub fn new(
        ring: Consumer<Event>,
        gate: Arc<Gate>,
        mode: GateMode,
        views: Arc<SharedViews>,
        ports: Vec<(u32, Arc<ReplyQueue>)>,
    ) -> Egress {
        let doorbells = [ring.doorbell(), gate.doorbell().clone()];
        let ports =
            ports.into_iter().map(|(source, port)| Destination { source, port, is_waiting: false }).collect();
        Egress {
            ring,
            gate,
            mode,
            views,
            ports,
            listeners: Vec::new(),
            events: Vec::with_capacity(2 * BATCH),
            spans: Spans::default(),
            room: (2 * BATCH, Pages::Small),
            expected: 0,
            prepared: 0,
            doorbells,
            probe: None,
        }
    }

    /// Takes address space for a command of so many events, which come on such pages: so they are not moved as they become more.
    pub fn make_room(&mut self, events: usize, pages: Pages) {
        self.room = (events.max(2 * BATCH), pages);
        self.give_back();
    }

    /// Takes some of the memory of the longest command to be expected, while nothing comes; whether it took any.
    fn prepare(&mut self) -> bool {
        let room = self.events.spare_capacity_mut();
        let wanted = self.expected.min(room.len());
        if self.prepared >= wanted {
            return false;
        }
        let end = (self.prepared + PREPARED_AT_ONCE).min(wanted);
        room[self.prepared..end].iter_mut().step_by(EVENTS_OF_A_PAGE).for_each(|place| {
            place.write(Event::EMPTY);
        });
        self.prepared = end;
        true
    }

    /// Gives back the memory of the events that are gone.
    fn give_back(&mut self) {
        let (events, pages) = self.room;
        let before = std::mem::replace(&mut self.events, pages.room(events));
        self.events.extend_from_slice(&before);
        self.prepared = 0;
    }

    /// Has it count what passes and how long that takes; commands are stamped by `clock`.
    pub fn measure(&mut self, clock: Clock, figures: Arc<EgressFigures>) {
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
        self.listeners.push(listener);
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
        let events = &mut self.events;
        self.ring.poll(count, |_, event| events.push(*event))
    }

    /// Folds and answers the complete commands among the events, of which the last `taken` are new. Those before belong to one
    /// that was not complete and are not looked through again: an hour's funding has two of every position.
    fn show(&mut self, taken: usize) {
        let is_end = |event: &Event| event.kind == Kind::Done as u16;
        let before = self.events.len() - taken;
        let Some(end) = self.events[before..].iter().rposition(is_end).map(|end| before + end) else {
            self.spans.note(&self.events[before..]);
            return;
        };
        let complete = &self.events[..=end];
        if self.spans.len() > 0 {
            let rest = &complete[before..];
            let first = rest.split_inclusive(is_end).next().unwrap_or_default();
            self.spans.note(first);
        }
        let (listeners, spans) = (&mut self.listeners, &self.spans);
        let told = || {
            // Its end is known: to look for it would be to go through all of a long command.
            let (first, others) = complete.split_at(spans.len());
            let first = (!first.is_empty()).then(|| CommandEvents::long(first, spans));
            first.into_iter().chain(others.split_inclusive(is_end).map(CommandEvents::new))
        };
        self.expected = self.views.write(|views| {
            for command in told() {
                command.iter().for_each(|event| views.fold(event));
                listeners.iter_mut().for_each(|listener| listener.command(command, views));
            }
            views.perpetuals().events_expected()
        });
        let last = self.events[end].sequence;
        for command in told() {
            if let Some(probe) = &self.probe {
                probe.figures.count(command);
            }
            reply(&mut self.ports, &command);
        }
        for destination in &mut self.ports {
            if std::mem::take(&mut destination.is_waiting) {
                destination.port.wake();
            }
        }
        listeners.iter_mut().for_each(|listener| listener.flush());
        self.events.drain(..=end);
        self.prepared = self.prepared.max(end);
        if self.prepared > LONG + 2 * self.expected {
            self.give_back();
        }
        self.spans.clear();
        // What is behind is the begin of the next.
        self.spans.note(&self.events);
        self.shown(last);
    }
}

impl Agent for Egress {
    fn name(&self) -> &str {
        "egress"
    }

    fn do_work(&mut self) -> usize {
        self.follow();
        let taken = self.take();
        if taken > 0 {
            self.show(taken);
        }
        let has_prepared = taken == 0 && self.events.is_empty() && self.prepare();
        for listener in self.listeners.iter_mut().filter(|listener| listener.is_due()) {
            listener.due(&self.views.read());
            listener.flush();
        }
        taken + usize::from(has_prepared)
    }

    fn next_timer(&self) -> Duration {
        let due = self.listeners.iter().filter_map(|listener| listener.next_timer());
        due.min().map_or(NAP, |due| due.min(NAP))
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

/// Hands the reply of one command to the worker that sent it, if a worker did.
fn reply(ports: &mut [Destination], events: &[Event]) {
    let Some(end) = events.last() else { return };
    let Some(done) = end.get::<event::Done>() else { return };
    let Some(destination) = ports.iter_mut().find(|destination| destination.source == done.source) else {
        return;
    };
    let mut reply = Reply::new(end.sequence, end.time_ns, *done);
    // A delisting ends orders by the thousand, and who asked for it needs none of them.
    let wants_all = done.command == command::Kind::CancelAll as u16;
    for event in events {
        if let Some(trade) = event.get::<event::Trade>() {
            reply.trades.push(*trade);
        }
        let Some(order) = event.get::<event::Order>() else { continue };
        let before = reply.order.replace(*order);
        if wants_all && let Some(before) = before {
            if reply.further_orders.is_empty() {
                reply.further_orders.push(before);
            }
            reply.further_orders.push(*order);
        }
    }
    if done.order != 0 && reply.order.is_none() {
        reply.perpetual = OrderRecord::of_command(done.order, events).map(Box::new);
    }
    destination.port.reply(reply);
    destination.is_waiting = true;
}
