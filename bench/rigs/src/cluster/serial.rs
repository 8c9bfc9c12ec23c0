//! The journal as the one order in which it all happened: an engine that is never stopped and never loaded from a snapshot replays it,
//! and what each command of a trader did, how each order stood after it and where the book was are kept.
//!
//! It may read the files of any member, of a running one too, and of another one each time: they are to be the same.

use super::history::{Asked, Entry, Serial, Venue, Who};
use crate::kills::futures::SYMBOL;
use crate::kills::{Shown, Status};
use anyhow::{Context, Result, bail, ensure};
use ringside_core::command::{
    CancelOrder, CancelPerpetual, Command, Kind, ModifyPerpetual, OpenEpoch, PlaceOrder, PlacePerpetual,
};
use ringside_core::event::{
    AccountCreated, Depth, Done, Event, Order, PerpetualListed, PerpetualOrder, PerpetualPlaced,
    PerpetualTrade, Trade,
};
use ringside_core::ids::{AccountId, Address, MarketId};
use ringside_core::{Engine, EngineConfig};
use ringside_load::wallet::Wallet;
use ringside_persist::error::PersistError;
use ringside_persist::format::segment::SegmentHeader;
use ringside_persist::read::survey::{Survey, survey};
use ringside_persist::read::tail::walk;
use ringside_persist::storage::disk::Disk;
use std::collections::BTreeMap;
use std::path::Path;

/// See the module.
pub struct Replay {
    engine: Engine,
    traders: BTreeMap<Address, Who>,
    accounts: BTreeMap<AccountId, Who>,
    market: Option<MarketId>,
    events: Vec<Event>,
    /// What it has come to; whoever has compared the entries takes them away.
    pub serial: Serial,
}

impl Replay {
    /// Before the first command. `spot` and `perpetual` are the traders' wallets by their numbers.
    pub fn new(spot: &[Wallet], perpetual: &[Wallet]) -> Replay {
        let of = |venue, wallets: &[Wallet]| {
            let numbered = wallets.iter().zip(0..);
            numbered.map(|(wallet, number)| (wallet.address, Who { venue, number })).collect::<Vec<_>>()
        };
        let traders = of(Venue::Spot, spot).into_iter().chain(of(Venue::Perpetual, perpetual)).collect();
        let config = EngineConfig { orders: 1 << 16, accounts: 64, ..EngineConfig::default() };
        Replay {
            engine: Engine::new(&config),
            traders,
            accounts: BTreeMap::new(),
            market: None,
            events: Vec::new(),
            // Of a book that nothing has happened to.
            serial: Serial { updates: vec![(0, 0)], ..Serial::default() },
        }
    }

    /// Replays the journal in `folder` through `through`, which is agreed on.
    ///
    /// Errors: I/O, damage, a journal that ends before or no longer holds what comes next; a state hash that the journal has and replay
    /// does not come to.
    pub fn follow(&mut self, folder: &Path, through: u64) -> Result<()> {
        let disk = Disk::open_existing(folder)?;
        let _hold = disk.hold()?;
        let found = Survey { is_running: disk.is_locked()?, ..survey(&disk)? };
        let next = self.engine.sequence() + 1;
        let from = (0..found.segments.len()).rev().find(|index| found.header(*index).first_seq <= next);
        let from = from.with_context(|| format!("the journal no longer holds command {next}"))?;
        let mut fault = Ok(());
        walk(&disk, &found, from, None, |_: &SegmentHeader, record| -> Result<(), PersistError> {
            let command = record.command();
            if command.sequence > self.engine.sequence() && command.sequence <= through && fault.is_ok() {
                fault = self.apply(&command);
            }
            Ok(())
        })?;
        fault?;
        ensure!(
            self.engine.sequence() >= through,
            "the journal ends at {}, and {through} was agreed on",
            self.engine.sequence()
        );
        ensure!(self.engine.diverged().is_none(), "a recorded state hash is not that of replay");
        self.engine.check_invariants().map_err(anyhow::Error::msg)
    }

    /// The engine.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    fn apply(&mut self, command: &Command) -> Result<()> {
        let mut events = std::mem::take(&mut self.events);
        events.clear();
        self.engine.apply(command, &mut events);
        if command.kind == Kind::OpenEpoch as u16 {
            let term = u64::from(command.body::<OpenEpoch>().epoch);
            let before = self.serial.terms.last().map_or(0, |(_, term)| *term);
            ensure!(term > before, "term {term} begins after term {before}");
            self.serial.terms.push((command.sequence, term));
        }
        for event in &events {
            self.event(event)?;
        }
        let done = events.last().and_then(|event| event.get::<Done>()).context("a command without an end")?;
        let entry = self.entry(command, done, &events);
        self.serial.entries.extend(entry);
        self.events = events;
        Ok(())
    }

    /// What of a trader's it is.
    fn entry(&self, command: &Command, done: &Done, events: &[Event]) -> Option<Entry> {
        let is_taken = done.reject == 0;
        let (account, asked, order, is_done) = match Kind::from_code(command.kind)? {
            Kind::PlaceOrder => {
                let own = |event: &Event| event.get::<Order>().is_some_and(|order| order.is_new == 1);
                let account = command.body::<PlaceOrder>().account;
                (account, Asked::Place(0), done.order, events.iter().any(own))
            }
            Kind::CancelOrder => {
                let CancelOrder { account, order, .. } = *command.body();
                (account, Asked::Cancel(order), order, is_taken)
            }
            Kind::PlacePerpetual => {
                let PlacePerpetual { account, client_order, .. } = *command.body();
                let placed = events.iter().find_map(|event| event.get::<PerpetualPlaced>());
                (account, Asked::Place(number(&client_order)?), done.order, placed.is_some() && is_taken)
            }
            Kind::CancelPerpetual => {
                let CancelPerpetual { account, order, .. } = *command.body();
                (account, Asked::Cancel(order), order, is_taken)
            }
            Kind::ModifyPerpetual => {
                let ModifyPerpetual { account, order, quantity, .. } = *command.body();
                (account, Asked::Shorten(order, quantity), order, is_taken)
            }
            _ => return None,
        };
        let who = *self.accounts.get(&account)?;
        Some(Entry { sequence: command.sequence, who, asked, order, is_done })
    }

    fn event(&mut self, event: &Event) -> Result<()> {
        let at = event.sequence;
        if let Some(made) = event.get::<AccountCreated>() {
            if let Some(who) = self.traders.get(&made.address) {
                self.accounts.insert(made.account, *who);
            }
        } else if let Some(listed) = event.get::<PerpetualListed>() {
            let symbol: Vec<u8> = listed.symbol.iter().copied().take_while(|byte| *byte != 0).collect();
            if symbol == SYMBOL.as_bytes() {
                self.market = Some(listed.market);
            }
        } else if let Some(depth) = event.get::<Depth>().filter(|depth| Some(depth.market) == self.market) {
            match self.serial.updates.last_mut().filter(|(from, _)| *from == at) {
                Some((_, update)) => *update = (*update).max(depth.update),
                None => self.serial.updates.push((at, depth.update)),
            }
        } else if let Some(order) = event.get::<Order>() {
            let status = match order.status {
                0 => Status::Open,
                1 => Status::PartiallyFilled,
                2 => Status::Filled,
                // Spot shows both ends by one word.
                3 | 5 => Status::Canceled,
                4 => Status::Rejected,
                other => bail!("the status {other} is none"),
            };
            let shown = Shown { order: order.order, status, quantity: order.quantity, filled: order.filled };
            self.put(at, Venue::Spot, shown);
        } else if let Some(order) = event.get::<PerpetualOrder>() {
            let status = match order.status {
                0 => Status::Open,
                1 => Status::PartiallyFilled,
                2 => Status::Filled,
                3 => Status::Canceled,
                4 => Status::Expired,
                5 => Status::ExpiredInMatch,
                other => bail!("the status {other} is none"),
            };
            let shown = Shown { order: order.order, status, quantity: order.quantity, filled: order.filled };
            self.put(at, Venue::Perpetual, shown);
        } else if let Some(trade) = event.get::<Trade>() {
            // What the taker's order came to is told by itself.
            self.traded(at, Venue::Spot, trade.maker_order, trade.quantity);
        } else if let Some(trade) = event.get::<PerpetualTrade>() {
            self.traded(at, Venue::Perpetual, trade.maker_order, trade.quantity);
            self.traded(at, Venue::Perpetual, trade.taker_order, trade.quantity);
        }
        Ok(())
    }

    fn traded(&mut self, at: u64, venue: Venue, order: u64, quantity: i64) {
        let states = self.serial.orders.get(&(venue, order));
        let Some((_, mut shown)) = states.and_then(|states| states.last().copied()) else { return };
        shown.filled += quantity;
        shown.status = if shown.filled == shown.quantity { Status::Filled } else { Status::PartiallyFilled };
        self.put(at, venue, shown);
    }

    /// How an order stands from a command on: its last word counts.
    fn put(&mut self, at: u64, venue: Venue, shown: Shown) {
        let states = self.serial.orders.entry((venue, shown.order)).or_default();
        match states.last_mut().filter(|(from, _)| *from == at) {
            Some((_, state)) => *state = shown,
            None => states.push((at, shown)),
        }
    }
}

/// The trader's own number in its name of an order.
fn number(client_order: &[u8]) -> Option<u64> {
    let name = std::str::from_utf8(client_order).ok()?.trim_end_matches('\0');
    name.strip_prefix("kill-")?.parse().ok()
}
