//! Events of the running command, each told as soon as it is so, in the order that `event/perpetual.rs` fixes. What many steps of a
//! command change, the insurance fund's wallet and the pools, is told at its end.

use super::account::{HotAccount, HotHolding};
use super::market::Symbol;
use super::{State, VenueLedger, id_of, mode_of};
use crate::book::Mutation;
use crate::emit::{Emitter, depth_event};
use crate::event::{Event, Outbox, Payload, PerpetualPools, PerpetualPosition, PerpetualWallet, Sink};
use crate::ids::{AccountId, FEE_ACCOUNT, Sequence};
use crate::money::Money;

/// See the module.
pub(crate) struct EventWriter {
    sequence: Sequence,
    time_ns: i64,
    /// The last `count` are the command's; what is before stands in memory that was lent.
    events: Outbox,
    count: u32,
    is_lent: bool,
    /// Between start and end of a command that keeps them.
    are_kept: bool,
    /// As they were told last, or as a snapshot has them.
    ledger: VenueLedger,
    fund: Money,
}

impl EventWriter {
    /// Nothing told.
    pub(crate) fn new() -> EventWriter {
        EventWriter {
            sequence: 0,
            time_ns: 0,
            events: Outbox::new(4096),
            count: 0,
            is_lent: false,
            are_kept: false,
            ledger: VenueLedger::default(),
            fund: 0,
        }
    }

    /// Whether the running command's events go here.
    #[inline(always)]
    pub(crate) fn are_kept(&self) -> bool {
        self.are_kept
    }

    /// Ends a command: its events are where they belong.
    #[inline(always)]
    pub(crate) fn end<S: Sink>(&mut self, emitter: &mut Emitter<'_, S>) {
        self.are_kept = false;
        if self.is_lent {
            emitter.take_back(&mut self.events, self.count);
        } else {
            emitter.forward(self.events());
        }
    }

    /// Tells a fact.
    #[inline]
    pub(crate) fn emit<P: Payload>(&mut self, payload: P) {
        self.events.emit(self.sequence, self.time_ns, self.count, payload);
        self.count = self.count.wrapping_add(1);
    }

    /// Tells a cross wallet; the fund's waits for the end of the command.
    #[inline(always)]
    pub(crate) fn wallet(&mut self, account: AccountId, wallet: Money) {
        if account != FEE_ACCOUNT {
            self.emit(PerpetualWallet { account, reserved: 0, wallet });
        }
    }

    /// Tells a level's new total.
    #[inline]
    pub(crate) fn mutated(&mut self, index: usize, mutation: Mutation) {
        self.emit(depth_event(id_of(index), mutation));
    }

    /// What was told so far.
    fn events(&self) -> &[Event] {
        let all = self.events.events();
        &all[all.len() - self.count as usize..]
    }

    /// Whether nothing was told so far.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        self.count == 0
    }
}

impl State {
    /// Starts a command, whose events go to where `emitter` keeps them if it lends that.
    #[inline(always)]
    pub(crate) fn begin_events<S: Sink>(
        &mut self,
        (sequence, time_ns): (Sequence, i64),
        emitter: &mut Emitter<'_, S>,
    ) {
        let writer = &mut self.writer;
        (writer.sequence, writer.time_ns) = (sequence, time_ns);
        writer.is_lent = emitter.lend(&mut writer.events);
        (writer.are_kept, writer.count) = (true, 0);
        if !writer.is_lent {
            writer.events.clear();
        }
    }

    /// Tells what an account holds in a market.
    pub(crate) fn tell_position(&mut self, account: AccountId, index: usize) {
        let State { symbols, accounts, holdings, writer, .. } = self;
        let (record, holding) = (accounts.get(account), holdings[index].get(account));
        writer.emit(position_event((account, index), &symbols[index], (record, holding)));
    }

    /// See [`EventWriter::wallet`].
    pub(crate) fn tell_wallet(&mut self, account: AccountId) {
        self.writer.wallet(account, self.accounts.get(account).wallet);
    }

    /// Tells what the command as a whole changed.
    #[inline(always)]
    pub(crate) fn finish_events(&mut self) {
        let is_changed = self.wallet(FEE_ACCOUNT) != self.writer.fund || self.ledger != self.writer.ledger;
        if is_changed {
            self.tell_pools();
        }
    }

    #[inline(never)]
    fn tell_pools(&mut self) {
        let fund = self.wallet(FEE_ACCOUNT);
        if fund != self.writer.fund {
            self.writer.emit(PerpetualWallet { account: FEE_ACCOUNT, reserved: 0, wallet: fund });
        }
        if self.ledger != self.writer.ledger {
            self.writer.emit(ledger_event(&self.ledger));
        }
        self.pools_are_told();
    }

    /// Whoever follows knows the pools as they are.
    pub(crate) fn pools_are_told(&mut self) {
        (self.writer.ledger, self.writer.fund) = (self.ledger, self.wallet(FEE_ACCOUNT));
    }
}

/// A holding as an event.
#[inline(always)]
pub(crate) fn position_event(
    (account, index): (AccountId, usize),
    symbol: &Symbol,
    (record, holding): (&HotAccount, &HotHolding),
) -> PerpetualPosition {
    PerpetualPosition {
        account,
        market: id_of(index),
        quantity: holding.quantity,
        cost: holding.cost,
        isolated_wallet: holding.isolated,
        open_fees: holding.open_fees,
        realised: holding.realised,
        leverage: symbol.leverage(holding),
        mode: mode_of(record, holding) as u32,
    }
}

/// Pools as an event.
pub(crate) fn ledger_event(ledger: &VenueLedger) -> PerpetualPools {
    PerpetualPools {
        fees: ledger.fees,
        affiliates: ledger.affiliates,
        deposits: ledger.net_deposits,
        deficit: u64::from(ledger.deficit),
    }
}
