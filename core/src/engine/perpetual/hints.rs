//! Hints to the processor about what the commands that come soon will touch. They change no state and no result.

use crate::book::Orders;
use crate::command::{ModifyPerpetual, PlacePerpetual, Side};
use crate::ids::{AccountId, MarketId, OrderId};
use crate::perpetual::account::{Account, Holding};
use crate::perpetual::{Perpetual, State};
use crate::prefetch::{Hint, prefetch};

/// Hints that commands come soon, as `Engine::prefetch` gives them.
impl Perpetual {
    /// What a placement will touch. The first hint is no longer than it has to be: the fewer instructions lie between those of
    /// two commands, the more accounts are looked up at once. Levels are few, and near by themselves.
    #[inline(always)]
    pub(crate) fn prefetch_place(&self, place: &PlacePerpetual, hint: Hint) {
        let Some(index) = self.state.index_of(place.market) else { return };
        let Perpetual { books, orders, state, .. } = self;
        if hint == Hint::First {
            state.prefetch_account(index, place.account);
            return;
        }
        let Some(side) = Side::from_code(place.side) else { return };
        let Orders { pool, levels, .. } = orders;
        let book = &books[index];
        let steps = book.steps(place.price);
        let opposite = book.side(side.opposite());
        let meets = opposite.best() <= opposite.key(steps);
        if hint == Hint::Second {
            state.client_order_ids.hint(state.client_order_ids.hash(place.account, &place.client_order));
            if meets {
                let first = levels.get(opposite.best_level()).head;
                prefetch(pool.get(first));
                state.prefetch_details(first);
                state.prefetch_listed(index, place.account);
            } else {
                let own = book.side(side);
                prefetch(pool.get(levels.get(own.hint(levels, own.key(steps))).tail));
            }
        } else if meets {
            let maker = pool.get(levels.get(opposite.best_level()).head);
            state.volumes.hint(state.accounts.get(place.account).hour);
            for neighbour in [maker.next, maker.younger, maker.older] {
                prefetch(pool.get(neighbour));
            }
            state.prefetch_details(maker.next);
            state.prefetch_party(index, maker.account);
        } else {
            prefetch(pool.get(state.holding(place.account, index).orders.youngest));
        }
    }

    /// What the change of an order will touch.
    #[inline(always)]
    pub(crate) fn prefetch_modify(&self, modify: &ModifyPerpetual, hint: Hint) {
        if hint == Hint::First {
            prefetch(self.state.accounts.get(modify.account));
        }
        self.prefetch_order(modify.account, modify.market, modify.order, hint);
    }

    /// What the cancel of an order will touch.
    #[inline(always)]
    pub(crate) fn prefetch_order(&self, account: AccountId, market: MarketId, order: OrderId, hint: Hint) {
        let Some(index) = self.state.index_of(market) else { return };
        let Perpetual { orders, state, .. } = self;
        match hint {
            Hint::First => {
                state.order_index.hint(order);
                state.prefetch_holding(index, account);
            }
            Hint::Second => {
                let slot = state.order_index.guess(order);
                prefetch(orders.pool.get(slot));
                state.prefetch_details(slot);
            }
            Hint::Third => {
                let slot = state.order_index.guess(order);
                orders.prefetch_around(slot);
                if let Some(details) = state.details.get(slot as usize) {
                    state.client_order_ids.hint(details.name);
                }
            }
        }
    }
}

impl State {
    /// What of an account an order touches, which are these.
    #[inline(always)]
    pub(super) fn prefetch_account(&self, index: usize, account: AccountId) -> (&Account, &Holding) {
        let (record, holding) = (self.accounts.get(account), self.prefetch_holding(index, account));
        prefetch(record);
        (record, holding)
    }

    /// What of it the cancel of one touches.
    #[inline(always)]
    pub(super) fn prefetch_holding(&self, index: usize, account: AccountId) -> &Holding {
        let holding = self.holding(account, index);
        // Its first two lines.
        prefetch(holding);
        prefetch(&holding.buckets);
        holding
    }

    /// What of an account a fill touches.
    #[inline(always)]
    pub(super) fn prefetch_party(&self, index: usize, account: AccountId) {
        let (holding, record) = (self.holding(account, index), self.accounts.get(account));
        prefetch(holding);
        prefetch(&holding.buckets);
        prefetch(record);
        self.prefetch_listed(index, account);
    }

    /// Where it stands among those of its market.
    #[inline(always)]
    fn prefetch_listed(&self, index: usize, account: AccountId) {
        self.liquidation_index.hint(index, account);
        self.symbols[index].holders.hint(account);
    }

    /// What the fill of a resting order touches, that of the one behind it apart.
    #[inline]
    pub(super) fn prefetch_maker(&self, index: usize, orders: &Orders, slot: u32) {
        let maker = orders.pool.get(slot);
        self.prefetch_details(slot);
        self.prefetch_party(index, maker.account);
        self.order_index.hint(maker.id);
        for neighbour in [maker.next, maker.younger, maker.older] {
            prefetch(orders.pool.get(neighbour));
        }
    }

    #[inline(always)]
    pub(super) fn prefetch_details(&self, slot: u32) {
        if let Some(details) = self.details.get(slot as usize) {
            // Its first two lines.
            prefetch(details);
            prefetch(&details.reservation);
        }
    }
}
