//! Hints to the processor about what the commands that come soon will touch. They change no state and no result.
//!
//! Kinds and sides follow each other as clients please, so a branch on one is mostly mispredicted, and costs more than reading
//! for a command what only another would need. What is read here is chosen, not jumped to, but for what is rare.

use super::Engine;
use crate::book::Orders;
use crate::book::pool::NONE;
use crate::command::{
    CancelOrder, CancelPerpetual, Command, Kind, ModifyPerpetual, PlaceOrder, ReplaceOrder, Side,
};
use crate::ids::AccountId;
use crate::market::Market;
use crate::money::Price;
use crate::prefetch::{Hint, NEAR, prefetch};
use std::hint::select_unpredictable;
use std::mem::offset_of;

/// A command that places an order or names one: each field stands where it does in all kinds that have it.
struct Soon<'e> {
    /// As a placement, whatever it is.
    place: &'e PlaceOrder,
    /// As one that names an order, whatever it is.
    named: &'e CancelOrder,
    is_new: bool,
    is_replace: bool,
    market: &'e Market,
}

const _: () = assert!(
    offset_of!(PlaceOrder, account) == offset_of!(CancelOrder, account)
        && offset_of!(PlaceOrder, price) == offset_of!(ReplaceOrder, price)
        && offset_of!(CancelOrder, account) == offset_of!(ReplaceOrder, account)
        && offset_of!(CancelOrder, order) == offset_of!(ReplaceOrder, order)
);

impl Engine {
    /// Whether hints are worth their time: not while what commands touch stays in the caches by itself.
    #[inline]
    pub fn wants_hints(&self) -> bool {
        self.orders.want_hints()
            || self.accounts.count() > NEAR
            || self.perpetual.as_ref().is_some_and(|perpetual| perpetual.orders.want_hints())
    }

    /// Hints that a command comes soon: what it will touch begins to load. Where things are is read from what the
    /// hint before it has brought near, so each is given some commands after the last. No effect on state or results.
    #[inline(always)]
    pub fn prefetch(&self, command: &Command, hint: Hint) {
        match hint {
            Hint::First => self.prefetch_first(command),
            Hint::Second => self.prefetch_second(command),
            Hint::Third => self.prefetch_third(command),
        }
    }

    /// What hints read of a command on a spot market.
    #[inline(always)]
    fn soon<'e>(&'e self, command: &'e Command) -> Option<Soon<'e>> {
        const PLACE: u16 = Kind::PlaceOrder as u16;
        const CANCEL: u16 = Kind::CancelOrder as u16;
        const REPLACE: u16 = Kind::ReplaceOrder as u16;
        if !matches!(command.kind, PLACE | CANCEL | REPLACE) {
            return None;
        }
        let place: &PlaceOrder = command.body();
        let is_new = command.kind == PLACE;
        // Which market a named order is in is not known yet; most are in the first.
        let market = self.markets.get(select_unpredictable(is_new, place.market, 0) as usize)?;
        Some(Soon { place, named: command.body(), is_new, is_replace: command.kind == REPLACE, market })
    }

    /// The account, where the order is, and the order that a new one comes to stand behind, or meets. What says which that is
    /// belongs to few levels, which are near by themselves.
    #[inline(never)]
    fn prefetch_first(&self, command: &Command) {
        let Some(soon) = self.soon(command) else { return self.perpetual_first(command) };
        let Soon { place, named, is_new, market, .. } = soon;
        let Orders { pool, index, levels } = &self.orders;
        self.prefetch_account(market, place.account);
        prefetch(index.cell(select_unpredictable(is_new, self.next_order, named.order)));
        let joined = levels.get(market.book.hint(levels, soon.side(), place.price)).tail;
        let linked = select_unpredictable(soon.trades(), soon.met(&self.orders), joined);
        prefetch(pool.get(select_unpredictable(is_new, linked, NONE)));
    }

    /// The order itself, or the youngest of a new one's account.
    #[inline(never)]
    fn prefetch_second(&self, command: &Command) {
        let Some(soon) = self.soon(command) else { return self.perpetual_second(command) };
        let Soon { place, named, is_new, market, .. } = soon;
        let Orders { pool, index, .. } = &self.orders;
        let youngest = market.by_account.place(place.account).youngest;
        prefetch(pool.get(select_unpredictable(is_new, youngest, *index.cell(named.order))));
        if is_new & soon.trades() {
            self.prefetch_met(market, soon.met(&self.orders));
        }
    }

    /// What is linked to the order. That of a new one is none, whose neighbours are near.
    #[inline(never)]
    fn prefetch_third(&self, command: &Command) {
        let Some(soon) = self.soon(command) else { return self.perpetual_third(command) };
        let slot = select_unpredictable(soon.is_new, NONE, *self.orders.index.cell(soon.named.order));
        self.orders.prefetch_around(slot);
        if soon.is_replace {
            self.prefetch_replaced(slot, soon.place.price);
        }
    }

    /// The first order that a new one meets may leave: what is linked to it, its account, where it is.
    #[inline(never)]
    fn prefetch_met(&self, market: &Market, slot: u32) {
        let maker = self.orders.pool.get(slot);
        prefetch(self.orders.index.cell(maker.id));
        self.prefetch_account(market, maker.account);
        self.orders.prefetch_around(slot);
    }

    /// The last order of the level that the order in `slot` is to have.
    #[inline(never)]
    fn prefetch_replaced(&self, slot: u32, price: Price) {
        let Orders { pool, levels, .. } = &self.orders;
        let order = pool.get(slot);
        let Some(Market { book, .. }) = self.markets.get(order.market as usize) else { return };
        prefetch(pool.get(levels.get(book.hint(levels, order.traits.side(), price)).tail));
    }

    #[inline(always)]
    fn prefetch_account(&self, market: &Market, account: AccountId) {
        prefetch(self.balances.place(account, market.rules.base));
        prefetch(market.by_account.place(account));
    }

    // Each by itself: none asks which of the three it is.
    #[inline(never)]
    fn perpetual_first(&self, command: &Command) {
        self.prefetch_perpetual(command, Hint::First);
    }

    #[inline(never)]
    fn perpetual_second(&self, command: &Command) {
        self.prefetch_perpetual(command, Hint::Second);
    }

    #[inline(never)]
    fn perpetual_third(&self, command: &Command) {
        self.prefetch_perpetual(command, Hint::Third);
    }

    #[inline(always)]
    fn prefetch_perpetual(&self, command: &Command, hint: Hint) {
        let Some(perpetual) = &self.perpetual else { return };
        if command.kind == Kind::PlacePerpetual as u16 {
            perpetual.prefetch_place(command.body(), hint);
        } else if command.kind == Kind::CancelPerpetual as u16 {
            let cancel: &CancelPerpetual = command.body();
            perpetual.prefetch_order(cancel.account, cancel.market, cancel.order, hint);
        } else if command.kind == Kind::ModifyPerpetual as u16 {
            let modify: &ModifyPerpetual = command.body();
            perpetual.prefetch_modify(modify, hint);
        }
    }
}

impl Soon<'_> {
    /// Of a placement; means nothing otherwise.
    #[inline(always)]
    fn side(&self) -> Side {
        select_unpredictable(self.place.side == Side::Buy as u8, Side::Buy, Side::Sell)
    }

    /// Whether a placement finds prices to trade at; means nothing otherwise.
    #[inline(always)]
    fn trades(&self) -> bool {
        let opposite = self.market.book.side(self.side().opposite());
        opposite.best() <= opposite.key(self.market.book.steps(self.place.price))
    }

    /// The first order on the other side.
    #[inline(always)]
    fn met(&self, orders: &Orders) -> u32 {
        let opposite = self.market.book.side(self.side().opposite());
        orders.levels.get(opposite.best_level()).head
    }
}
