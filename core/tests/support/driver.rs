//! Drives an engine through `apply`, one command at a time.

use ringside_core::command::{Body, Command, Credit, ListMarket};
use ringside_core::engine::Engine;
use ringside_core::event::{self, Done, Event};
use ringside_core::ids::{AccountId, Address, MarketId, padded};
use ringside_core::money::Amount;
use ringside_core::reject::Reject;

/// What the real engine and the reference have in common.
pub trait Exchange {
    /// Appends the events of a sequenced command.
    fn apply(&mut self, command: &Command, events: &mut Vec<Event>);
}

impl Exchange for Engine {
    fn apply(&mut self, command: &Command, events: &mut Vec<Event>) {
        Engine::apply(self, command, events);
    }
}

/// An engine and the events of its last command.
pub struct Session<E> {
    pub engine: E,
    pub events: Vec<Event>,
    pub sequence: u64,
    /// Whether `kept` grows.
    pub keep: bool,
    /// Every command with its events.
    pub kept: Vec<(Command, Vec<Event>)>,
}

impl<E: Exchange> Session<E> {
    pub fn new(engine: E) -> Session<E> {
        Session { engine, events: Vec::new(), sequence: 0, keep: false, kept: Vec::new() }
    }

    /// Submits one command; its events are then in `events`.
    pub fn submit<B: Body>(&mut self, body: B) -> Done {
        self.sequence += 1;
        let mut command = Command::new(body);
        command.sequence = self.sequence;
        self.events.clear();
        self.engine.apply(&command, &mut self.events);
        if self.keep {
            self.kept.push((command, self.events.clone()));
        }
        *self.events.last().and_then(Event::get::<Done>).expect("the last event is Done")
    }

    /// Submits a command that must be accepted.
    pub fn accept<B: Body + std::fmt::Debug>(&mut self, body: B) -> Done {
        let done = self.submit(body);
        assert_eq!(done.reject, 0, "{body:?} was refused: {:?}", done.rejected());
        done
    }

    /// Submits a command that must be refused.
    pub fn refuse<B: Body + std::fmt::Debug>(&mut self, body: B, reject: Reject) -> Done {
        let done = self.submit(body);
        assert_eq!(done.rejected(), Some(reject), "{body:?}");
        done
    }

    /// The payloads of one kind among the last command's events.
    pub fn told<'a, P: event::Payload + 'a>(&'a self) -> impl Iterator<Item = &'a P> {
        self.events.iter().filter_map(Event::get::<P>)
    }

    /// Opens a market without fees, with the finest grid and the least minimum, and any number of open orders.
    pub fn open_market(&mut self, symbol: &str, base: &str, quote: &str) -> MarketId {
        self.accept(ListMarket {
            symbol: padded(symbol).expect("short"),
            base: padded(base).expect("short"),
            quote: padded(quote).expect("short"),
            tick: 1,
            lot: 1,
            min_notional: 1.into(),
            maker_fee: 0,
            taker_fee: 0,
            max_open_orders: u32::MAX,
            kind: 0,
            reserved: [0; 3],
        })
        .market
    }

    /// Credits the account of an address, made where it does not exist.
    pub fn credit(&mut self, address: Address, asset: &str, amount: Amount) -> AccountId {
        self.accept(Credit {
            address,
            asset: padded(asset).expect("short"),
            reserved: 0,
            amount: amount.into(),
            reason: [0; 64],
        })
        .account
    }
}
