//! Collects what a command causes and puts it into the order that the module documentation of `event.rs` gives.

use ringside_core::event::{self, Event, Payload};
use ringside_core::ids::Sequence;

/// The events of one command, sorted into their groups.
pub struct Output {
    sequence: Sequence,
    time_ns: i64,
    trades: Vec<Event>,
    orders: Vec<Event>,
    depth: Vec<event::Depth>,
    balances: Vec<Event>,
    facts: Vec<Event>,
}

impl Output {
    pub fn new(sequence: Sequence, time_ns: i64) -> Output {
        Output {
            sequence,
            time_ns,
            trades: Vec::new(),
            orders: Vec::new(),
            depth: Vec::new(),
            balances: Vec::new(),
            facts: Vec::new(),
        }
    }

    fn event<P: Payload>(&self, payload: P) -> Event {
        Event::new(self.sequence, self.time_ns, 0, payload)
    }

    pub fn trade(&mut self, trade: event::Trade) {
        self.trades.push(self.event(trade));
    }

    pub fn order(&mut self, order: event::Order) {
        self.orders.push(self.event(order));
    }

    /// A mutation that follows one of the same level takes its place.
    pub fn depth(&mut self, depth: event::Depth) {
        let same = |last: &event::Depth| {
            (last.market, last.side, last.price) == (depth.market, depth.side, depth.price)
        };
        match self.depth.last_mut() {
            Some(last) if same(last) => *last = depth,
            _ => self.depth.push(depth),
        }
    }

    pub fn balances(&mut self, balances: event::Balances) {
        self.balances.push(self.event(balances));
    }

    pub fn fact<P: Payload>(&mut self, fact: P) {
        self.facts.push(self.event(fact));
    }

    /// Everything in its order.
    pub fn unfinished(self) -> Vec<Event> {
        let depth: Vec<Event> = self.depth.iter().map(|&depth| self.event(depth)).collect();
        [self.trades, self.orders, depth, self.balances, self.facts].concat()
    }

    /// Everything in its order, numbered.
    pub fn finish(self, done: event::Done) -> Vec<Event> {
        self.finish_behind(Vec::new(), done)
    }

    /// The same, behind what stands before all of it.
    pub fn finish_behind(self, first: Vec<Event>, done: event::Done) -> Vec<Event> {
        let done = self.event(done);
        let mut events = first;
        events.extend(self.unfinished());
        events.push(done);
        for (index, event) in events.iter_mut().enumerate() {
            event.index = index as u32;
        }
        events
    }
}
