//! Events of the running command, in the order that `event/perpetual.rs` fixes: facts as they happen; levels,
//! holdings, wallets and pools are noted before they change, and told at the end where they differ.

use super::account::{Account, Holding};
use super::{Pools, State, id_of, mode_of};
use crate::book::Mutation;
use crate::engine::emit::depth_event;
use crate::event::{Event, Payload, PerpetualExposure, PerpetualPools, PerpetualPosition, PerpetualWallet};
use crate::ids::{AccountId, Sequence};
use crate::money::Money;

/// See the module.
pub(crate) struct Facts {
    sequence: Sequence,
    time_ns: i64,
    pub(crate) events: Vec<Event>,
    mutations: Vec<(usize, Mutation)>,
    holdings: Vec<(usize, AccountId, Holding)>,
    wallets: Vec<(AccountId, Money)>,
    pools: Pools,
}

impl Facts {
    pub(crate) fn new() -> Facts {
        Facts {
            sequence: 0,
            time_ns: 0,
            events: Vec::with_capacity(4096),
            mutations: Vec::with_capacity(4096),
            holdings: Vec::with_capacity(4096),
            wallets: Vec::with_capacity(4096),
            pools: Pools::default(),
        }
    }

    /// Starts a command.
    pub(crate) fn start(&mut self, sequence: Sequence, time_ns: i64, pools: &Pools) {
        (self.sequence, self.time_ns, self.pools) = (sequence, time_ns, *pools);
        self.events.clear();
        self.mutations.clear();
        self.holdings.clear();
        self.wallets.clear();
    }

    #[inline]
    pub(crate) fn emit<P: Payload>(&mut self, payload: P) {
        let index = self.events.len() as u32;
        self.events.push(Event::new(self.sequence, self.time_ns, index, payload));
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
        if let Some(&(market, owner, _)) = self.holdings.get(holding.note as usize)
            && (market, owner) == (index, account)
        {
            return;
        }
        holding.note = self.holdings.len() as u32;
        self.holdings.push((index, account, *holding));
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

    /// Accounts touched in a market, with their holdings before the command.
    pub(crate) fn touched(&self, index: usize) -> impl Iterator<Item = (AccountId, &Holding)> + '_ {
        self.holdings
            .iter()
            .filter(move |(market, ..)| *market == index)
            .map(|(_, account, before)| (*account, before))
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

    /// Writes what the command left changed, and forgets its notes.
    pub(crate) fn finish_facts(&mut self) {
        let mutations = std::mem::take(&mut self.facts.mutations);
        for (index, mutation) in &mutations {
            self.facts.emit(depth_event(id_of(*index), *mutation));
        }
        self.facts.mutations = mutations;
        let mut holdings = std::mem::take(&mut self.facts.holdings);
        holdings.sort_unstable_by_key(|(index, account, _)| (*index, *account));
        for (index, account, before) in &holdings {
            let (index, account) = (*index, *account);
            let now = *self.holding(account, index);
            let position = self.position_event(account, index, &now);
            if position != self.position_event(account, index, before) || now.mode != before.mode {
                self.facts.emit(position);
            }
            if now.buckets != before.buckets {
                let [buys, sells] = now.buckets;
                self.facts.emit(PerpetualExposure {
                    account,
                    market: id_of(index),
                    buy_quantity: buys[0],
                    buy_reference: buys[1],
                    buy_open_loss: buys[2],
                    buy_fee_reserve: buys[3],
                    sell_quantity: sells[0],
                    sell_reference: sells[1],
                    sell_open_loss: sells[2],
                    sell_fee_reserve: sells[3],
                });
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
