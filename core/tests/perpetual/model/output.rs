//! Collects what a command causes, in the order that the docs of the perpetual events give.

use ringside_core::event::{self, Event, Payload};
use ringside_core::ids::Sequence;

/// The events of one command.
#[derive(Clone, Default)]
pub struct Output {
    sequence: Sequence,
    time_ns: i64,
    facts: Vec<Event>,
}

impl Output {
    pub fn new(sequence: Sequence, time_ns: i64) -> Output {
        Output { sequence, time_ns, facts: Vec::new() }
    }

    /// Events of the other side that stand before all facts.
    pub fn begin(&mut self, events: Vec<Event>) {
        self.facts.splice(0..0, events);
    }

    /// A fact as it happens.
    pub fn fact<P: Payload>(&mut self, fact: P) {
        self.facts.push(Event::new(self.sequence, self.time_ns, 0, fact));
    }

    /// Facts so far.
    pub fn facts(&self) -> &[Event] {
        &self.facts
    }

    /// Everything in its order, numbered: facts, `changes`, the end.
    pub fn finish(self, changes: Vec<Event>, done: event::Done) -> Vec<Event> {
        let (sequence, time_ns) = (self.sequence, self.time_ns);
        let mut events = self.facts;
        events.extend(changes);
        events.push(Event::new(sequence, time_ns, 0, done));
        for (index, event) in events.iter_mut().enumerate() {
            event.sequence = sequence;
            event.time_ns = time_ns;
            event.index = index as u32;
        }
        events
    }
}
