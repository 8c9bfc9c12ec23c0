//! `ringside replay`: the journal again with other fees, bands or liquidation fees, beside what really happened, and what
//! would have differed: verdicts, trades, fees, liquidations, the insurance fund, balances.
//!
//! Everybody sends what they sent, whatever they would have done instead: this answers what a parameter does to the same
//! commands, not what traders would make of it. Orders that get another number there are followed by it, and commands about
//! an order that was not placed there find none.

mod compare;
mod parameter;

use crate::boot::{self, ViewFold};
use anyhow::{Result, ensure};
use compare::Totals;
pub(super) use parameter::Change;
use ringside_config::Config;
use ringside_core::Engine;
use ringside_core::command::{
    AmendOrder, CancelOrder, CancelPerpetual, Command, Kind, ModifyPerpetual, ReplaceOrder,
};
use ringside_core::event::{self, Event};
use ringside_core::ids::{OrderId, Sequence};
use ringside_persist::read::look::{look, state_before};
use ringside_persist::recover::machine::Fold;
use std::collections::HashMap;
use std::path::Path;

/// A number that no order has.
const NO_ORDER: OrderId = OrderId::MAX;

/// What is wanted.
pub(super) struct Wanted {
    /// From this command on the parameters are others; nothing: from the first there is.
    pub(super) from: Option<Sequence>,
    /// Through this one; nothing: to the end.
    pub(super) through: Option<Sequence>,
    /// What is other.
    pub(super) changes: Vec<Change>,
    /// As JSON.
    pub(super) as_json: bool,
}

/// The report.
pub(super) fn replay(config: &Config, data: &Path, wanted: &Wanted) -> Result<String> {
    let journal = super::journal_of(data);
    let engine_config = boot::engine_config(config);
    let mut other_fold = ViewFold::new(config.history_window);
    let from = match wanted.from {
        Some(from) => from.max(1),
        None => first_after(&journal)?,
    };
    let mut other: Engine = state_before(&journal, &engine_config, from, &mut other_fold)?;
    let start = other.sequence() + 1;
    let mut fold = ViewFold::new(config.history_window);
    let (mut totals, mut other_totals) = (Totals::default(), Totals::default());
    let mut differing = compare::Verdicts::default();
    let mut orders = Orders::default();
    let mut events: Vec<Event> = Vec::new();
    let mut is_changed = false;
    let through = wanted.through.unwrap_or(Sequence::MAX);
    let engine = look::<Engine>(&journal, &engine_config, start, through, &mut fold, |seen| {
        events.clear();
        // Right before the first command in question, and again after whatever sets parameters.
        if seen.command.sequence >= from && !is_changed {
            is_changed = true;
            parameter::apply(&wanted.changes, &mut other, &mut other_fold);
        }
        if seen.is_passed {
            other.skip(seen.command);
            return;
        }
        let command = orders.rewritten(seen.command);
        other.apply(&command, &mut events);
        events.iter().for_each(|event| other_fold.event(event));
        if seen.command.sequence >= from {
            totals.add(seen.events);
            other_totals.add(&events);
            differing.compare(seen.command, seen.events, &events);
            orders.pair(seen.events, &events);
            if parameter::sets_parameters(seen.command) {
                parameter::apply(&wanted.changes, &mut other, &mut other_fold);
            }
        }
    })?;
    ensure!(engine.sequence() >= from, "the journal ends at sequence {}, before {from}", engine.sequence());
    let report = compare::Report {
        from,
        through: engine.sequence(),
        changes: &wanted.changes,
        real: (&totals, fold.views()),
        other: (&other_totals, other_fold.views()),
        verdicts: &differing,
    };
    Ok(if wanted.as_json { format!("{}\n", report.to_json()) } else { report.to_text() })
}

/// The first command that can be replayed from a state.
fn first_after(journal: &Path) -> Result<Sequence> {
    let verdict = ringside_persist::read::verify::verify(journal)?;
    let reaches_back = verdict.segments.first().is_some_and(|first| first.first_seq == 1);
    let oldest = verdict.snapshots.iter().find_map(|(_, moment)| moment.as_ref().ok());
    Ok(match oldest {
        Some(moment) if !reaches_back => moment.sequence + 1,
        _ => 1,
    })
}

/// Orders that have another number in the other run.
#[derive(Default)]
struct Orders(HashMap<OrderId, OrderId>);

impl Orders {
    /// Notes what the orders that one command placed are called on both sides.
    fn pair(&mut self, real: &[Event], other: &[Event]) {
        let (mut real, mut other) = (placed(real), placed(other));
        loop {
            match (real.next(), other.next()) {
                (Some(real), Some(other)) if real == other => {}
                (Some(real), other) => drop(self.0.insert(real, other.unwrap_or(NO_ORDER))),
                (None, _) => return,
            }
        }
    }

    /// The command with the number that its order has there.
    fn rewritten(&self, command: &Command) -> Command {
        let mut rewritten = *command;
        match Kind::from_code(command.kind) {
            Some(Kind::CancelOrder) => self.change(&mut rewritten, |body: &mut CancelOrder| &mut body.order),
            Some(Kind::AmendOrder) => self.change(&mut rewritten, |body: &mut AmendOrder| &mut body.order),
            Some(Kind::ReplaceOrder) => {
                self.change(&mut rewritten, |body: &mut ReplaceOrder| &mut body.order)
            }
            Some(Kind::ModifyPerpetual) => {
                self.change(&mut rewritten, |body: &mut ModifyPerpetual| &mut body.order)
            }
            Some(Kind::CancelPerpetual) => {
                self.change(&mut rewritten, |body: &mut CancelPerpetual| &mut body.order)
            }
            _ => {}
        }
        rewritten
    }

    fn change<B: ringside_core::command::Body>(
        &self,
        command: &mut Command,
        order: impl FnOnce(&mut B) -> &mut OrderId,
    ) {
        let mut body = *command.body::<B>();
        let order = order(&mut body);
        let Some(there) = self.0.get(order) else { return };
        *order = *there;
        command.body = Command::new(body).body;
    }
}

/// Numbers of the orders that a command placed, in order.
fn placed(events: &[Event]) -> impl Iterator<Item = OrderId> {
    let done = events.last().and_then(|event| event.get::<event::Done>());
    let spot =
        done.filter(|done| done.command == Kind::PlaceOrder as u16 && done.order != 0).map(|done| done.order);
    let perpetual = events.iter().filter_map(|event| Some(event.get::<event::PerpetualPlaced>()?.order));
    spot.into_iter().chain(perpetual)
}
