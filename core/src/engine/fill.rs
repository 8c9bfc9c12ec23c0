//! The most frequent trades, carried out without notes of what accounts held before. They are those of a new order that the
//! first order it meets fills whole, and of one that meets several; they decide and say what [`Engine::trade`] would, which
//! carries out every other trade.

use super::place::{meets_own, outcome_of};
use super::{Engine, Outcome};
use crate::account::Balances;
use crate::book::{Mutation, Orders};
use crate::command::{Command, MarketKind, OrderStatus};
use crate::emit::{Emitter, Notes};
use crate::event::Sink;
use crate::ids::{FEE_ACCOUNT, OrderId, TradeId};
use crate::market::{Market, Rules, Seats};
use crate::matching::{Fill, Meeting, Settlement, Taker, sweep};
use crate::money::{Price, Quantity};
use crate::order::{Incoming, Order};
use crate::prefetch::prefetch;
use crate::risk::Purse;
use crate::risk::spot::{SpotPurse, Terms, trade_event};

impl Engine {
    /// Carries out an order that nothing refuses any more and that the best price of the other side is good enough for,
    /// with all its events; `false`, with nothing done, where this is not its trade. An order sized in quote is not, nor one
    /// that meets its own account, nor one of or against the fee account, whose balances would change twice.
    #[inline(always)]
    pub(super) fn fill_at_once<S: Sink>(
        &mut self,
        command: &Command,
        order: &Incoming,
        id: OrderId,
        emitter: &mut Emitter<'_, S>,
    ) -> bool {
        let Engine { orders, balances, markets, has_shortcuts, .. } = self;
        let Market { rules, book, seats, trades, last_price } = &mut markets[order.market as usize];
        // Another kind of market would settle otherwise.
        let MarketKind::Spot = rules.kind;
        let side = order.side;
        let slot = orders.levels.get(book.side(side.opposite()).best_level()).head;
        let Order { id: maker_order, remaining, price, account: maker, traits, .. } = *orders.pool.get(slot);
        let quantity = order.quantity;
        if remaining < quantity
            || !*has_shortcuts
            || order.is_quote_sized()
            || maker == order.account
            || maker == FEE_ACCOUNT
            || order.account == FEE_ACCOUNT
        {
            return false;
        }
        let terms = Terms::new(rules, side, traits.maker_fee(), price, quantity);
        let mutation = book.fill(orders, slot, quantity);
        let is_maker_filled = remaining == quantity;
        if is_maker_filled {
            seats.end(orders, slot);
        }
        *trades += 1;
        *last_price = price;
        let (maker_is, taker) = ((maker_order, maker), (id, order.account));
        let fill = Fill { price, quantity, is_maker_filled };
        emitter.emit(trade_event(rules, *trades, side, maker_is, taker, fill, &terms));
        let mut event = order.event(id, OrderStatus::Filled);
        event.filled = quantity;
        emitter.emit(event);
        emitter.depth(rules.id, mutation);
        emitter.emit(SpotPurse::new(rules, balances, order.account).take(side, &terms));
        emitter.emit(SpotPurse::new(rules, balances, maker).make(side, &terms));
        if terms.maker_fee != 0 || terms.taker_fee != 0 {
            emitter.emit(SpotPurse::new(rules, balances, FEE_ACCOUNT).collect(side, &terms));
        }
        let outcome =
            Outcome { order: id, market: Some(order.market), update: mutation.update, ..outcome_of(command) };
        emitter.emit(outcome.done(command));
        true
    }

    /// The same for an order that meets any number of others, none of its own account's, and rests or ends with what is left.
    #[inline(never)]
    pub(super) fn fill_each<S: Sink>(
        &mut self,
        command: &Command,
        order: &Incoming,
        id: OrderId,
        limit: u64,
        emitter: &mut Emitter<'_, S>,
    ) -> bool {
        let Engine { orders, balances, notes, markets, has_shortcuts, .. } = self;
        let Market { rules, book, seats, trades, last_price } = &mut markets[order.market as usize];
        let rules: &Rules = rules;
        let MarketKind::Spot = rules.kind;
        let side = order.side;
        let makers_side = side.opposite();
        if !*has_shortcuts
            || order.is_quote_sized()
            || order.account == FEE_ACCOUNT
            || seats.get(FEE_ACCOUNT).open(makers_side) != 0
            || seats.get(order.account).open(makers_side) != 0 && meets_own(rules, order, limit, book, orders)
        {
            return false;
        }
        notes.start(None);
        let mut taker =
            Taker { order: id, account: order.account, side, limit, remaining: order.quantity, ending: None };
        let (sums, trade) = (Terms::default(), *trades);
        let mut filling = Filling { rules, balances, seats, notes, trade, last_price, sums, emitter };
        sweep(book, orders, &mut taker, &mut filling);
        let Filling { sums, trade, .. } = filling;
        *trades = trade;
        let remaining = taker.remaining;
        let mut event = order.event(id, OrderStatus::Filled);
        event.filled = order.quantity - remaining;
        let mut purse = SpotPurse::new(rules, balances, order.account);
        let mut report = purse.take(side, &sums);
        if remaining > 0 {
            event.status = OrderStatus::Canceled as u8;
            if order.may_rest() {
                event.status = OrderStatus::PartiallyFilled as u8;
                event.open = remaining;
                let seat = seats.get_mut(order.account);
                let record = order.record(id, order.quantity, remaining, rules.maker_fee, seat.youngest);
                let (slot, mutation) = book.rest_new(orders, record, book.key(side, order.price));
                seat.link(orders, slot, side);
                notes.mutated(rules.id, mutation);
                let changed = report.changed;
                report = purse.reserve(side, SpotPurse::reservation(side, order.price, remaining));
                report.changed |= changed;
            }
        }
        emitter.emit(event);
        notes.tell_levels(emitter);
        emitter.emit(report);
        for &(maker, gained) in notes.parties() {
            emitter.emit(SpotPurse::new(rules, balances, maker).report_maker(side, gained));
        }
        if sums.maker_fee != 0 || sums.taker_fee != 0 {
            emitter.emit(SpotPurse::new(rules, balances, FEE_ACCOUNT).collect(side, &sums));
        }
        let outcome =
            Outcome { order: id, market: Some(order.market), update: book.update, ..outcome_of(command) };
        emitter.emit(outcome.done(command));
        true
    }
}

/// Fills of an order that is stopped by nothing.
struct Filling<'a, 'e, 's, S: Sink> {
    rules: &'a Rules,
    balances: &'a mut Balances,
    seats: &'a mut Seats,
    notes: &'a mut Notes,
    /// The last trade.
    trade: TradeId,
    last_price: &'a mut Price,
    /// Of all fills.
    sums: Terms,
    emitter: &'e mut Emitter<'s, S>,
}

impl<S: Sink> Settlement for Filling<'_, '_, '_, S> {
    #[inline(always)]
    fn meet(&mut self, _: &Taker, _: &Order, _: u32) -> Meeting {
        Meeting::Fill(Quantity::MAX)
    }

    #[inline(always)]
    fn fill(&mut self, taker: &Taker, maker: &Order, _: u32, fill: Fill) {
        let Filling { rules, balances, seats, notes, sums, .. } = self;
        let terms = Terms::new(rules, taker.side, maker.traits.maker_fee(), fill.price, fill.quantity);
        self.trade += 1;
        let (maker_is, taker_is) = ((maker.id, maker.account), (taker.order, taker.account));
        self.emitter.emit(trade_event(rules, self.trade, taker.side, maker_is, taker_is, fill, &terms));
        let gained = SpotPurse::new(rules, balances, maker.account).settle(taker.side, &terms);
        notes.party(maker.account, seats.get_mut(maker.account), gained);
        sums.add(&terms);
    }

    #[inline(always)]
    fn soon(&self, maker: &Order) {
        prefetch(self.balances.place(maker.account, self.rules.base));
        prefetch(self.seats.place(maker.account));
    }

    /// Nothing expires that [`Filling::meet`] has trade.
    fn expire(&mut self, _: &Order, _: u32) {
        unreachable!("it trades with all that it meets");
    }

    #[inline(always)]
    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        self.seats.end(orders, slot);
    }

    #[inline(always)]
    fn mutated(&mut self, mutation: Mutation) {
        *self.last_price = mutation.price;
        self.notes.mutated(self.rules.id, mutation);
    }
}
