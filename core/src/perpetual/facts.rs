//! Events of the running command, in the order that `event/perpetual.rs` fixes: facts as they happen; levels,
//! holdings, wallets and pools are noted before they change, and told at the end where they differ.

use super::account::{Account, Holding};
use super::{Pools, State, id_of, mode_of};
use crate::book::Mutation;
use crate::emit::{Emitter, depth_event};
use crate::event::{Event, Outbox, Payload, PerpetualPools, PerpetualPosition, PerpetualWallet, Sink};
use crate::ids::{AccountId, Sequence};
use crate::memory::Pages;
use crate::money::Money;
use std::num::NonZeroU32;

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
    mutations: Vec<(usize, Mutation)>,
    holdings: Vec<Noted>,
    wallets: Vec<(AccountId, Money)>,
    pools: Pools,
}

/// What is told of a holding.
#[derive(Clone, Copy)]
struct Told {
    /// Quantity, cost, isolated wallet, open fees, realised profit.
    values: [i64; 5],
    buckets: [[i64; 4]; 2],
    leverage: u32,
    mode: u8,
}

impl Told {
    #[inline]
    fn of(holding: &Holding) -> Told {
        let Holding { quantity, cost, isolated, open_fees, realised, buckets, leverage, mode, .. } = *holding;
        Told { values: [quantity, cost, isolated, open_fees, realised], buckets, leverage, mode }
    }
}

/// A holding as it was before the command; its order margin as it was told last.
#[derive(Clone, Copy)]
struct Noted {
    index: u32,
    account: AccountId,
    before: Told,
    /// How many facts there were when its order margin changed last.
    rebooked: Option<NonZeroU32>,
}

impl Facts {
    /// Nothing told; address space for notes of every account in a market.
    pub(crate) fn new(accounts: usize, pages: Pages) -> Facts {
        Facts {
            sequence: 0,
            time_ns: 0,
            events: Outbox::new(4096),
            first: 0,
            is_lent: false,
            are_kept: false,
            mutations: Vec::with_capacity(4096),
            holdings: pages.room(accounts.max(4096)),
            wallets: pages.room(accounts.max(4096)),
            pools: Pools::default(),
        }
    }

    /// Starts a command, whose events go to where `emitter` keeps them if it lends that.
    pub(crate) fn start<S: Sink>(
        &mut self,
        (sequence, time_ns): (Sequence, i64),
        pools: &Pools,
        emitter: &mut Emitter<'_, S>,
    ) {
        (self.sequence, self.time_ns, self.pools) = (sequence, time_ns, *pools);
        self.is_lent = emitter.lend(&mut self.events);
        self.are_kept = true;
        if !self.is_lent {
            self.events.clear();
        }
        self.first = self.events.events().len();
        self.mutations.clear();
        self.holdings.clear();
        self.wallets.clear();
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

    /// What was told so far.
    #[inline]
    pub(crate) fn events(&self) -> &[Event] {
        &self.events.events()[self.first..]
    }

    /// Notes a level's new total; mutations of one level in a row are one.
    pub(crate) fn mutated(&mut self, index: usize, mutation: Mutation) {
        if let Some((market, last)) = self.mutations.last_mut()
            && *market == index
            && last.price == mutation.price
            && last.side == mutation.side
        {
            *last = mutation;
        } else {
            self.mutations.push((index, mutation));
        }
    }

    /// Notes a holding, the first time that the command is about to change it.
    #[inline]
    pub(crate) fn touch(&mut self, account: AccountId, index: usize, holding: &mut Holding) {
        if let Some(noted) = self.holdings.get(holding.note as usize)
            && (noted.index as usize, noted.account) == (index, account)
        {
            return;
        }
        holding.note = self.holdings.len() as u32;
        self.holdings.push(Noted { index: index as u32, account, before: Told::of(holding), rebooked: None });
    }

    /// Tells the order margin of a touched holding as the facts so far left it, before another one lowers it.
    pub(crate) fn tell_exposure(&mut self, account: AccountId, index: usize, holding: &Holding) {
        let facts = self.events().len();
        let noted = &mut self.holdings[holding.note as usize];
        let is_due = noted.rebooked.is_some_and(|then| (then.get() as usize) <= facts)
            && noted.before.buckets != holding.buckets;
        if is_due {
            noted.before.buckets = holding.buckets;
            self.emit(holding.exposure_event(account, id_of(index)));
        }
    }

    /// Notes that the order margin of a touched holding changes by the fact that comes.
    pub(crate) fn rebooked(&mut self, holding: &Holding) {
        let coming = NonZeroU32::new(self.events().len() as u32 + 1);
        self.holdings[holding.note as usize].rebooked = coming;
    }

    /// Notes a wallet, the first time that the command is about to change it.
    #[inline]
    pub(crate) fn touch_wallet(&mut self, account: AccountId, record: &mut Account) {
        if self.wallets.get(record.note as usize).is_some_and(|noted| noted.0 == account) {
            return;
        }
        record.note = self.wallets.len() as u32;
        self.wallets.push((account, record.wallet));
    }
}

impl State {
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

    /// Whether a position's event would say something else than before.
    fn is_position_changed(&self, index: usize, before: &Told, now: &Holding) -> bool {
        let values = [now.quantity, now.cost, now.isolated, now.open_fees, now.realised];
        if values != before.values || now.mode != before.mode {
            return true;
        }
        // One that was the default's may have become the account's own.
        let leverage =
            |leverage: u32| self.symbols[index].leverage(&Holding { leverage, ..Holding::default() });
        now.leverage != before.leverage && leverage(now.leverage) != leverage(before.leverage)
    }

    /// Writes what the command left changed, and forgets its notes.
    pub(crate) fn finish_facts(&mut self) {
        let mutations = std::mem::take(&mut self.facts.mutations);
        for (index, mutation) in &mutations {
            self.facts.emit(depth_event(id_of(*index), *mutation));
        }
        self.facts.mutations = mutations;
        let mut holdings = std::mem::take(&mut self.facts.holdings);
        if holdings.len() > 1 {
            holdings.sort_unstable_by_key(|noted| (noted.index, noted.account));
        }
        for &Noted { index, account, ref before, .. } in &holdings {
            let index = index as usize;
            let holding = self.holdings[index].get(account);
            if self.is_position_changed(index, before, holding) {
                let position = self.position_event(account, index, holding);
                self.facts.emit(position);
            }
            if holding.buckets != before.buckets {
                self.facts.emit(holding.exposure_event(account, id_of(index)));
            }
        }
        self.facts.holdings = holdings;
        let mut wallets = std::mem::take(&mut self.facts.wallets);
        wallets.sort_unstable();
        for &(account, before) in &wallets {
            let wallet = self.wallet(account);
            if wallet != before {
                self.facts.emit(PerpetualWallet { account, reserved: 0, wallet });
            }
        }
        self.facts.wallets = wallets;
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
