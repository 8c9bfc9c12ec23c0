//! Whole commands to all that they are for: into the views, back to whoever waits for a reply, on to whoever listens. It knows neither
//! ring nor gate: what it is given may be shown.

use super::command_events::{CommandEvents, Spans};
use super::{EgressFigures, Listener};
use ringside_commands::ingress::{Reply, ReplyQueue};
use ringside_core::command;
use ringside_core::event::{self, Event, Kind};
use ringside_core::ids::Sequence;
use ringside_core::memory::Pages;
use ringside_views::SharedViews;
use ringside_views::perpetual::order::OrderRecord;
use std::sync::Arc;
use std::time::Duration;

/// More events than this, 8 MB, keep their memory only where as many are to be expected again.
const LONG: usize = 1 << 16;
/// Events that memory is taken for in one step.
const PREPARED_AT_ONCE: usize = 256;
/// No more of them lie on a page of the system.
const EVENTS_OF_A_PAGE: usize = 4_096 / size_of::<Event>();

/// See the module.
pub struct Fanout {
    views: Arc<SharedViews>,
    ports: Vec<Destination>,
    listeners: Vec<Box<dyn Listener>>,
    /// What may be shown, in order; the last command may still be incomplete.
    events: Vec<Event>,
    /// Of the first command, as far as its events were looked at.
    spans: Spans,
    /// Events that there is address space for, and the pages they are to lie on.
    room: (usize, Pages),
    /// Events that a command may soon have, and those that memory was taken for.
    expected: usize,
    prepared: usize,
    figures: Option<Arc<EgressFigures>>,
}

struct Destination {
    source: u32,
    port: Arc<ReplyQueue>,
    is_waiting: bool,
}

impl Fanout {
    /// `ports` are the workers' by the source number of their lane; commands of other sources get no reply. `views` must show everything
    /// before the first event that is taken.
    pub fn new(views: Arc<SharedViews>, ports: Vec<(u32, Arc<ReplyQueue>)>) -> Fanout {
        let mut fanout = Fanout {
            views,
            ports: Vec::new(),
            listeners: Vec::new(),
            events: Vec::new(),
            spans: Spans::default(),
            room: (0, Pages::Small),
            expected: 0,
            prepared: 0,
            figures: None,
        };
        fanout.answer(ports);
        fanout
    }

    /// From now on replies go to these.
    pub fn answer(&mut self, ports: Vec<(u32, Arc<ReplyQueue>)>) {
        let of = |(source, port)| Destination { source, port, is_waiting: false };
        self.ports = ports.into_iter().map(of).collect();
    }

    /// Takes address space for a command of so many events, which come on such pages: so they are not moved as they become more.
    pub fn make_room(&mut self, events: usize, pages: Pages) {
        self.room = (events, pages);
        self.give_back();
    }

    /// Has it count commands.
    pub(super) fn measure(&mut self, figures: Arc<EgressFigures>) {
        self.figures = Some(figures);
    }

    /// Adds a listener; listeners are called in the order they were added.
    pub fn listen(&mut self, listener: Box<dyn Listener>) {
        self.listeners.push(listener);
    }

    /// Takes some of the memory of the longest command to be expected, while nothing comes; whether it took any.
    pub(super) fn prepare(&mut self) -> bool {
        if !self.events.is_empty() {
            return false;
        }
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

    /// Takes an event; it is shown with its whole command at the next [`Fanout::show`].
    #[inline]
    pub fn take(&mut self, event: &Event) {
        self.events.push(*event);
    }

    /// Events that wait to be shown.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Lets go of what was taken and is not shown.
    pub fn clear(&mut self) {
        self.events.clear();
        self.spans.clear();
    }

    /// Folds and answers the complete commands among the events; gives the last one. Events that were looked at before belong to one
    /// that was not complete and are not looked through again: an hour's funding has two of every position.
    pub fn show(&mut self) -> Option<Sequence> {
        let is_end = |event: &Event| event.kind == Kind::Done as u16;
        let before = self.spans.len();
        let Some(end) = self.events[before..].iter().rposition(is_end).map(|end| before + end) else {
            self.spans.note(&self.events[before..]);
            return None;
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
            if let Some(figures) = &self.figures {
                figures.count(command);
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
        Some(last)
    }

    /// Sends what the clock has made due.
    pub fn tick(&mut self) {
        for listener in self.listeners.iter_mut().filter(|listener| listener.is_due()) {
            listener.due(&self.views.read());
            listener.flush();
        }
    }

    /// Its listeners, to listen elsewhere from here on.
    pub fn into_listeners(self) -> Vec<Box<dyn Listener>> {
        self.listeners
    }

    /// How long nothing will be due.
    pub fn next_timer(&self) -> Option<Duration> {
        self.listeners.iter().filter_map(|listener| listener.next_timer()).min()
    }
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
