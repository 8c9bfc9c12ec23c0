//! Orders that end on request or shrink: cancel, cancel-all, amend.

use super::{Engine, Outcome};
use crate::book::pool::NONE;
use crate::command::{AmendOrder, CancelAll, CancelOrder, Command, MarketKind, OrderStatus, Side};
use crate::emit::Emitter;
use crate::event::Sink;
use crate::ids::{ALL_MARKETS, AccountId, MarketId, OrderId};
use crate::market::Market;
use crate::reject::Reject;
use crate::risk::spot::SpotPurse;
use crate::risk::{Purse, reservation_of};

impl Engine {
    /// The slot of a resting order that the account owns.
    #[inline(always)]
    pub(super) fn find_own(&self, account: AccountId, order: OrderId) -> Result<u32, Reject> {
        if !self.accounts.exists(account) {
            return Err(Reject::AccountNotFound);
        }
        let slot = self.orders.find(order);
        if slot == NONE {
            return Err(Reject::OrderNotFound);
        }
        if self.orders.pool.get(slot).account != account {
            return Err(Reject::NotOwner);
        }
        Ok(slot)
    }

    /// See [`CancelOrder`].
    #[inline(never)]
    pub(super) fn cancel<S: Sink>(&mut self, command: &Command, sink: &mut S) {
        let cancel: &CancelOrder = command.body();
        let slot = match self.find_own(cancel.account, cancel.order) {
            Ok(slot) => slot,
            Err(reject) => {
                let outcome = Outcome { account: cancel.account, ..Outcome::default() };
                return self.emitter(sink).emit(outcome.refused(reject).done(command));
            }
        };
        let emitter = self.emitter(sink);
        let Engine { orders, balances, markets, .. } = self;
        let order = *orders.pool.get(slot);
        let Market { rules, book, by_account, .. } = &mut markets[order.market as usize];
        let outcome = Outcome {
            order: cancel.order,
            account: cancel.account,
            market: Some(order.market),
            update: book.next_update(),
            ..Outcome::default()
        };
        emitter.single(|mut events| {
            events.order(order.event(OrderStatus::Canceled, 0));
            events.done(outcome.done(command));
            by_account.get_mut(cancel.account).unlink(orders, slot);
            events.depth(order.market, book.end(orders, cancel.order, slot));
            let mut purse = match rules.kind {
                MarketKind::Spot => SpotPurse::new(rules, balances, cancel.account),
            };
            let returned = reservation_of(&purse, &order, order.remaining);
            events.account(purse.release(order.traits.side(), returned));
        });
    }

    /// Cancels one of several resting orders. Levels and balances are noted.
    fn end_order<S: Sink>(&mut self, slot: u32, emitter: &mut Emitter<'_, S>) {
        let order = *self.orders.pool.get(slot);
        let Engine { orders, balances, changes, markets, .. } = self;
        let Market { rules, book, by_account, .. } = &mut markets[order.market as usize];
        let seat = by_account.get_mut(order.account);
        let mut purse = match rules.kind {
            MarketKind::Spot => SpotPurse::new(rules, balances, order.account),
        };
        changes.note(order.account, rules, seat, || purse.holdings());
        seat.unlink(orders, slot);
        let returned = reservation_of(&purse, &order, order.remaining);
        purse.release(order.traits.side(), returned);
        changes.mutated(order.market, book.end(orders, order.id, slot));
        emitter.emit(order.event(OrderStatus::Canceled, 0));
    }

    /// See [`CancelAll`].
    pub(super) fn cancel_all<S: Sink>(
        &mut self,
        cancel: &CancelAll,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let outcome = Outcome { account: cancel.account, ..Outcome::default() };
        if !self.accounts.exists(cancel.account) {
            return outcome.refused(Reject::AccountNotFound);
        }
        let (markets, named) = match cancel.market {
            ALL_MARKETS => (0..self.markets.len(), None),
            market if (market as usize) < self.markets.len() => {
                (market as usize..market as usize + 1, Some(market))
            }
            _ => return outcome.refused(Reject::MarketNotFound),
        };
        self.to_cancel.clear();
        for market in &self.markets[markets] {
            let mut slot = market.by_account.get(cancel.account).oldest;
            while slot != NONE {
                let order = self.orders.pool.get(slot);
                self.to_cancel.push((order.id, slot));
                slot = order.younger;
            }
        }
        self.changes.start(Some(cancel.account));
        self.end_doomed(emitter);
        self.changes.flush(&self.balances, emitter);
        let update = named.map_or(0, |market| self.markets[market as usize].book.update);
        Outcome { market: named, update, ..outcome }
    }

    /// Cancels orders of a market, buys by priority, then sells, as far as there are units; whether none is left. Levels and balances
    /// are noted.
    pub(super) fn end_market<S: Sink>(
        &mut self,
        market: MarketId,
        left: &mut u32,
        emitter: &mut Emitter<'_, S>,
    ) -> bool {
        for side in [Side::Buy, Side::Sell] {
            loop {
                let next = self.markets[market as usize].book.slots(&self.orders, side).next();
                let Some(slot) = next else { break };
                if *left == 0 {
                    return false;
                }
                *left -= 1;
                self.end_order(slot, emitter);
            }
        }
        true
    }

    /// Cancels the doomed orders, oldest first.
    fn end_doomed<S: Sink>(&mut self, emitter: &mut Emitter<'_, S>) {
        let mut to_cancel = std::mem::take(&mut self.to_cancel);
        to_cancel.sort_unstable();
        for &(_, slot) in &to_cancel {
            self.end_order(slot, emitter);
        }
        self.to_cancel = to_cancel;
    }

    /// See [`AmendOrder`].
    pub(super) fn amend<S: Sink>(&mut self, amend: &AmendOrder, emitter: &mut Emitter<'_, S>) -> Outcome {
        let outcome = Outcome { account: amend.account, ..Outcome::default() };
        let slot = match self.find_own(amend.account, amend.order) {
            Ok(slot) => slot,
            Err(reject) => return outcome.refused(reject),
        };
        let old = *self.orders.pool.get(slot);
        if !(1..old.remaining).contains(&amend.quantity) {
            return outcome.refused(Reject::InvalidAmend);
        }
        let Engine { orders, balances, markets, .. } = self;
        let Market { rules, book, .. } = &mut markets[old.market as usize];
        let mut purse = match rules.kind {
            MarketKind::Spot => SpotPurse::new(rules, balances, amend.account),
        };
        let (side, less) = (old.traits.side(), old.remaining - amend.quantity);
        let returned = reservation_of(&purse, &old, less);
        let report = purse.release(side, returned);
        let mutation = book.shrink(orders, slot, less);
        let order = orders.pool.get(slot);
        let status = if order.filled() == 0 { OrderStatus::Open } else { OrderStatus::PartiallyFilled };
        let mut event = order.event(status, order.remaining);
        event.is_amended = 1;
        emitter.emit(event);
        emitter.depth(old.market, mutation);
        emitter.emit(report);
        Outcome { order: amend.order, market: Some(old.market), update: book.update, ..outcome }
    }
}
