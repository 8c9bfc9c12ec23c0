//! A perpetual market with very many open positions, and an engine that carries out commands on it.

use crate::op::Random;
use crate::perpetual::{credits, listing, opposite};
use crate::workload::LOT;
use anyhow::{Result, bail};
use ringside_core::command::Command;
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Done, Event, Outbox};
use ringside_core::memory::Pages;
use ringside_core::money::{Price, UNIT};

/// Where the index begins.
pub const INDEX: Price = 1_000 * UNIT;
/// Of every account, micro-quote.
const WALLET: i64 = 1_000_000_000;

/// An engine, and what its commands need.
pub struct Venue {
    /// The engine.
    pub engine: Engine,
    /// Events of the last command.
    pub outbox: Outbox,
    /// Of the last command.
    pub sequence: u64,
    /// Of the next command.
    pub time_ns: i64,
}

impl Venue {
    /// An empty one with room for so much.
    pub fn new(orders: usize, accounts: u32) -> Venue {
        let config = EngineConfig {
            orders,
            accounts: accounts as usize,
            pages: Pages::Huge,
            ..EngineConfig::default()
        };
        let engine = Engine::new(&config);
        let outbox = Outbox::reserved(4_096, engine.events_at_most());
        Venue { engine, outbox, sequence: 0, time_ns: 1_700_000_000_000_000_000 }
    }

    /// A market of `positions`, an even number: pairs of accounts of which one is long and one short, each worth 0.1 to 19 times its
    /// wallet of 1,000 at a price of 1,000. One account more has no position.
    ///
    /// Errors: a command is refused.
    pub fn with_positions(positions: u32, random: &mut Random) -> Result<Venue> {
        let mut venue = Venue::new(1 << 16, positions + 2);
        for command in listing(INDEX).chain(credits(positions + 1, WALLET)) {
            venue.accepted(command)?;
        }
        for pair in 0..positions / 2 {
            let quantity = i64::from(10 + random.below(1_890)) * LOT;
            for place in opposite(pair, INDEX, quantity) {
                venue.accepted(Command::new(place))?;
            }
        }
        Ok(venue)
    }

    /// A command as the next.
    pub fn stamp(&mut self, mut command: Command) -> Command {
        self.sequence += 1;
        (command.sequence, command.time_ns) = (self.sequence, self.time_ns);
        command
    }

    /// Carries out a command that nothing may refuse, as it was stamped.
    ///
    /// Errors: it is refused.
    pub fn accepted(&mut self, command: Command) -> Result<Command> {
        let command = self.stamp(command);
        self.outbox.clear();
        self.engine.apply(&command, &mut self.outbox);
        match self.outbox.events().last().and_then(Event::get::<Done>) {
            Some(done) if done.reject == 0 => Ok(command),
            done => bail!("{command:?} was answered by {done:?}"),
        }
    }
}
