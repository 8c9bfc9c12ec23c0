//! Figures of egress.

use super::CommandEvents;
use ringside_core::event::{self, LiquidationStep};
use ringside_core::figures::{Counter, Histogram};

/// Codes of commands and refusals that have a cell; higher ones share the last.
const CODES: usize = 256;

/// What egress counts.
#[derive(Debug)]
pub struct EgressFigures {
    /// Commands by their tag.
    pub commands: Box<[Counter]>,
    /// Refused ones by their reject.
    pub rejects: Box<[Counter]>,
    /// Events of all commands.
    pub events: Counter,
    /// Trades on spot markets.
    pub spot_trades: Counter,
    /// Trades on perpetual markets.
    pub perpetual_trades: Counter,
    /// Steps of liquidations by [`LiquidationStep`].
    pub liquidations: [Counter; LiquidationStep::ALL.len()],
    /// From the stamp of a followed command until its events are here.
    pub matching: Histogram,
    /// From there until the journal has passed it.
    pub journal: Histogram,
    /// From there until it is in the views and its reply on the way.
    pub showing: Histogram,
}

impl Default for EgressFigures {
    fn default() -> EgressFigures {
        let cells = || (0..CODES).map(|_| Counter::new()).collect();
        EgressFigures {
            commands: cells(),
            rejects: cells(),
            events: Counter::new(),
            spot_trades: Counter::new(),
            perpetual_trades: Counter::new(),
            liquidations: Default::default(),
            matching: Histogram::default(),
            journal: Histogram::default(),
            showing: Histogram::default(),
        }
    }
}

impl EgressFigures {
    /// Counts one command.
    pub fn count(&self, told: CommandEvents<'_>) {
        self.events.add(told.len() as u64);
        let counted = [event::Kind::Trade, event::Kind::PerpetualTrade, event::Kind::Liquidation];
        for event in told.part(&counted) {
            match event::Kind::from_code(event.kind) {
                Some(event::Kind::Trade) => self.spot_trades.add(1),
                Some(event::Kind::PerpetualTrade) => {
                    let is_counted =
                        event.get::<event::PerpetualTrade>().is_some_and(|trade| trade.is_in_book());
                    self.perpetual_trades.add(is_counted.into());
                }
                Some(event::Kind::Liquidation) => {
                    let step = event.get::<event::Liquidation>().map(|step| usize::from(step.step));
                    if let Some(cell) = step.and_then(|step| self.liquidations.get(step)) {
                        cell.add(1);
                    }
                }
                _ => {}
            }
        }
        let Some(done) = told.last().and_then(|event| event.get::<event::Done>()) else { return };
        self.commands[usize::from(done.command).min(CODES - 1)].add(1);
        if done.reject != 0 {
            self.rejects[usize::from(done.reject).min(CODES - 1)].add(1);
        }
    }
}
