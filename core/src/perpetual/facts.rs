//! Events of the running command, each told as soon as it is so, in the order that `event/perpetual.rs` fixes. What many steps of a
//! command change, the insurance fund's wallet and the pools, is told at its end.

use super::account::Holding;
use super::{Pools, State, id_of, mode_of};
use crate::book::Mutation;
use crate::emit::{Emitter, depth_event};
use crate::event::{Event, Outbox, Payload, PerpetualPools, PerpetualPosition, PerpetualWallet, Sink};
use crate::ids::{AccountId, FEE_ACCOUNT, Sequence};
use crate::money::Money;

/// See the module.
pub(crate) struct Facts {
    sequence: Sequence,
    time_ns: i64,
    /// Those of the command from `first` on; what is before stands in memory that was lent.
    events: Outbox,
    first: usize,
    is_lent: bool,
    /// Between start and end of a command that keeps them.
    are_kept: bool,
    /// As the command found them.
    pools: Pools,
    fund: Money,
}

impl Facts {
    /// Nothing told.
    pub(crate) fn new() -> Facts {
        Facts {
            sequence: 0,
            time_ns: 0,
            events: Outbox::new(4096),
            first: 0,
            is_lent: false,
            are_kept: false,
            pools: Pools::default(),
            fund: 0,
        }
    }

    /// Whether the running command's events go here.
    #[inline(always)]
    pub(crate) fn are_kept(&self) -> bool {
        self.are_kept
    }

    /// Ends a command: its events are where they belong.
    pub(crate) fn end<S: Sink>(&mut self, emitter: &mut Emitter<'_, S>) {
        self.are_kept = false;
        if self.is_lent {
            let count = self.events().len();
            emitter.take_back(&mut self.events, count);
        } else {
            emitter.forward(self.events());
        }
    }

    /// Tells a fact.
    #[inline]
    pub(crate) fn emit<P: Payload>(&mut self, payload: P) {
        let index = self.events.events().len() - self.first;
        self.events.emit(self.sequence, self.time_ns, index as u32, payload);
    }

    /// Tells a level's new total.
    #[inline]
    pub(crate) fn mutated(&mut self, index: usize, mutation: Mutation) {
        self.emit(depth_event(id_of(index), mutation));
    }

    /// What was told so far.
    #[inline]
    pub(crate) fn events(&self) -> &[Event] {
        &self.events.events()[self.first..]
    }
}

impl State {
    /// Starts a command, whose events go to where `emitter` keeps them if it lends that.
    pub(crate) fn start_facts<S: Sink>(
        &mut self,
        (sequence, time_ns): (Sequence, i64),
        emitter: &mut Emitter<'_, S>,
    ) {
        let fund = self.wallet(FEE_ACCOUNT);
        let facts = &mut self.facts;
        (facts.sequence, facts.time_ns, facts.pools, facts.fund) = (sequence, time_ns, self.pools, fund);
        facts.is_lent = emitter.lend(&mut facts.events);
        facts.are_kept = true;
        if !facts.is_lent {
            facts.events.clear();
        }
        facts.first = facts.events.events().len();
    }

    /// A holding as an event.
    pub(crate) fn position_event(&self, account: AccountId, index: usize, of: &Holding) -> PerpetualPosition {
        PerpetualPosition {
            account,
            market: id_of(index),
            quantity: of.quantity,
            cost: of.cost,
            isolated_wallet: of.isolated,
            open_fees: of.open_fees,
            realised: of.realised,
            leverage: self.symbols[index].leverage(of),
            mode: mode_of(self.accounts.get(account), of) as u32,
        }
    }

    /// Tells what an account holds in a market.
    pub(crate) fn tell_position(&mut self, account: AccountId, index: usize) {
        let position = self.position_event(account, index, self.holding(account, index));
        self.facts.emit(position);
    }

    /// Tells a cross wallet; the fund's waits for the end of the command.
    pub(crate) fn tell_wallet(&mut self, account: AccountId) {
        if account != FEE_ACCOUNT {
            let wallet = self.wallet(account);
            self.facts.emit(PerpetualWallet { account, reserved: 0, wallet });
        }
    }

    /// Tells the order margin of an account in a market.
    pub(crate) fn tell_exposure(&mut self, account: AccountId, index: usize) {
        let exposure = self.holding(account, index).exposure_event(account, id_of(index));
        self.facts.emit(exposure);
    }

    /// Tells what the command as a whole changed.
    pub(crate) fn finish_facts(&mut self) {
        let fund = self.wallet(FEE_ACCOUNT);
        if fund != self.facts.fund {
            self.facts.emit(PerpetualWallet { account: FEE_ACCOUNT, reserved: 0, wallet: fund });
        }
        let (now, before) = (self.pools, self.facts.pools);
        if now != before {
            self.facts.emit(pools_event(&now));
        }
    }
}

/// Pools as an event.
pub(crate) fn pools_event(pools: &Pools) -> PerpetualPools {
    PerpetualPools {
        fees: pools.fees,
        affiliates: pools.affiliates,
        deposits: pools.deposits,
        deficit: u64::from(pools.deficit),
    }
}
