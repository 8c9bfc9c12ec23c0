//! A new order, and one that is replaced: checks in their fixed order, then it rests, or trades first.

use super::emit::Emitter;
use super::idempotency::{Use, Verdict};
use super::{Engine, Outcome};
use crate::book::side::EMPTY;
use crate::book::{Book, Orders};
use crate::command::{
    MarketKind, MarketStatus, OrderStatus, OrderType, PlaceOrder, ReplaceOrder, SelfTradePrevention, Side,
    TimeInForce,
};
use crate::event::Sink;
use crate::market::{Market, Rules, Seat};
use crate::matching::{Ending, Settlement, Step, Taker, sweep, walk};
use crate::money::{Amount, MAX_ENTRY, Price, Quantity};
use crate::order::market::Budget;
use crate::order::{Incoming, Order, limit, market};
use crate::reject::Reject;
use crate::risk::spot::{Spot, SpotMatch};
use crate::risk::{Risk, reservation_of};

impl Engine {
    /// See [`PlaceOrder`].
    #[inline(always)]
    pub(super) fn place<S: Sink>(&mut self, place: &PlaceOrder, emitter: &mut Emitter<'_, S>) -> Outcome {
        let mut outcome = Outcome { account: place.account, ..Outcome::default() };
        if place.idempotency_key != 0 {
            outcome = match self.recall(place) {
                Ok(outcome) => outcome,
                Err(known) => return known,
            };
        }
        let Some(order) = Incoming::parse(place) else {
            return outcome.refused(Reject::Malformed);
        };
        if !self.accounts.exists(order.account) {
            return outcome.refused(Reject::AccountNotFound);
        }
        let Engine { orders, balances, markets, next_order, .. } = self;
        let Some(market) = markets.get_mut(order.market as usize) else {
            return outcome.refused(Reject::MarketNotFound);
        };
        let Market { rules, book, seats, last_price, .. } = market;
        let rules: &Rules = rules;
        if let Err(reject) = check_status(rules.status) {
            return outcome.refused(reject);
        }
        let mut risk = match rules.kind {
            MarketKind::Spot => Spot { rules, balances },
        };
        let judged = check_terms(rules, &order, 0, || reference_price(book, orders, *last_price));
        let worth = match judged.and_then(|worth| risk.check(&order, worth, 0).map(|()| worth)) {
            Ok(worth) => worth,
            Err(reject) => return self.refuse(&order, reject, outcome, emitter),
        };
        let seat = seats.get_mut(order.account);
        if order.may_rest() && seat.open_orders() >= rules.max_open_orders {
            return outcome.refused(Reject::TooManyOpenOrders);
        }
        let steps = book.steps(order.price);
        let opposite = book.side(order.side.opposite());
        let limit = match order.order_type {
            OrderType::Limit => opposite.key(steps),
            OrderType::Market => EMPTY - 1,
        };
        if opposite.best() <= limit || !order.may_rest() {
            return self.arrive(order, limit, outcome, emitter);
        }

        // It rests whole: one account, one level, events in order at once.
        let id = *next_order;
        *next_order = id.wrapping_add(1);
        let slot = orders.begin(order.record(id, order.quantity, order.quantity, rules.maker_fee));
        seat.link(orders, slot);
        let key = book.side(order.side).key(steps);
        let mutation = book.rest_at(orders, slot, order.side, key);
        let amount = match order.side {
            Side::Buy => worth,
            Side::Sell => Spot::reservation(Side::Sell, order.price, order.quantity),
        };
        risk.reserve(order.account, order.side, amount);
        let mut event = order.event(id, OrderStatus::Open);
        event.open = order.quantity;
        emitter.emit(event);
        emitter.depth(rules.id, mutation);
        risk.report(order.account, order.side, emitter);
        Outcome { order: id, market: Some(order.market), update: book.update, ..outcome }
    }

    /// What is known of the key of a placement: it is fresh, or the answer to it.
    #[inline(never)]
    fn recall(&mut self, place: &PlaceOrder) -> Result<Outcome, Outcome> {
        let outcome =
            Outcome { account: place.account, idempotency_key: place.idempotency_key, ..Outcome::default() };
        let new = Use {
            account: place.account,
            key: place.idempotency_key,
            body: place.idempotency_body,
            sequence: self.sequence,
            time_ns: self.time.ns(),
        };
        match self.idempotency.admit(new) {
            Verdict::Fresh => Ok(outcome),
            Verdict::Replay(first) => {
                Err(Outcome { replayed: first, ..outcome.refused(Reject::IdempotencyReplay) })
            }
            Verdict::Conflict => Err(outcome.refused(Reject::IdempotencyConflict)),
        }
    }

    /// Refuses a new order, keeping it where the reason says so.
    #[cold]
    fn refuse<S: Sink>(
        &mut self,
        order: &Incoming,
        reject: Reject,
        outcome: Outcome,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        if !reject.stores_order() {
            return outcome.refused(reject);
        }
        let id = self.next_order;
        self.next_order += 1;
        let mut event = order.event(id, OrderStatus::Rejected);
        event.reject = reject.code();
        emitter.emit(event);
        let update = self.markets[order.market as usize].book.update;
        Outcome { order: id, market: Some(order.market), update, ..outcome.refused(reject) }
    }

    /// A new order that finds prices to trade at, or must not rest. It can be afforded.
    #[inline(never)]
    fn arrive<S: Sink>(
        &mut self,
        order: Incoming,
        limit: u64,
        outcome: Outcome,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let Market { rules, book, seats, .. } = &self.markets[order.market as usize];
        let seat = seats.get(order.account);
        if let Err(reject) = check_book(rules, &order, limit, &seat, book, &self.orders) {
            return self.refuse(&order, reject, outcome, emitter);
        }
        let id = self.next_order;
        self.next_order += 1;
        self.trade(order, id, limit, None, outcome, emitter)
    }

    /// See [`ReplaceOrder`].
    pub(super) fn replace<S: Sink>(
        &mut self,
        replace: &ReplaceOrder,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let outcome = Outcome { account: replace.account, ..Outcome::default() };
        let slot = match self.find_own(replace.account, replace.order) {
            Ok(slot) => slot,
            Err(reject) => return outcome.refused(reject),
        };
        let old = *self.orders.pool.get(slot);
        let Engine { orders, balances, markets, .. } = self;
        let Market { rules, book, seats, .. } = &mut markets[old.market as usize];
        let rules: &Rules = rules;
        if let Err(reject) = check_status(rules.status) {
            return outcome.refused(reject);
        }
        let order = Incoming {
            account: old.account,
            market: old.market,
            side: old.traits.side(),
            order_type: OrderType::Limit,
            time_in_force: old.traits.time_in_force(),
            self_trade: old.traits.self_trade(),
            price: replace.price,
            quantity: replace.quantity,
            quote_quantity: 0,
        };
        let mut risk = match rules.kind {
            MarketKind::Spot => Spot { rules, balances },
        };
        let returned = reservation_of(&risk, &old, old.remaining);
        let judged = check_terms(rules, &order, old.filled(), || None);
        if let Err(reject) = judged.and_then(|worth| risk.check(&order, worth, returned)) {
            return outcome.refused(reject);
        }
        let opposite = book.side(order.side.opposite());
        let limit = opposite.key(book.steps(order.price));
        if opposite.best() <= limit {
            let seat = seats.get(order.account);
            return match check_book(rules, &order, limit, &seat, book, orders) {
                Ok(()) => self.trade(order, old.id, limit, Some((slot, old)), outcome, emitter),
                Err(reject) => outcome.refused(reject),
            };
        }

        // It rests again without trading.
        let left = book.take_out(orders, slot);
        let record = order.record(old.id, old.filled() + order.quantity, order.quantity, rules.maker_fee);
        // It keeps its place among its account's orders.
        *orders.pool.get_mut(slot) = Order { younger: old.younger, older: old.older, ..record };
        let mutation = book.rest(orders, slot);
        let amount = reservation_of(&risk, &record, record.remaining);
        risk.release(order.account, order.side, returned);
        risk.reserve(order.account, order.side, amount);
        let status = if old.filled() == 0 { OrderStatus::Open } else { OrderStatus::PartiallyFilled };
        let mut event = record.event(status, record.remaining);
        event.is_amended = 1;
        emitter.emit(event);
        if left.price != mutation.price {
            emitter.depth(rules.id, left);
        }
        emitter.depth(rules.id, mutation);
        if amount != returned {
            risk.report(order.account, order.side, emitter);
        }
        Outcome { order: old.id, market: Some(order.market), update: book.update, ..outcome }
    }

    /// Trades an order that nothing refuses any more, then has it rest or end. `replaced` is what it rested as.
    #[inline(never)]
    fn trade<S: Sink>(
        &mut self,
        order: Incoming,
        id: u64,
        limit: u64,
        replaced: Option<(u32, Order)>,
        outcome: Outcome,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let Engine { orders, balances, notes, markets, .. } = self;
        let Market { rules, book, seats, trades, last_price } = &mut markets[order.market as usize];
        let rules: &Rules = rules;
        notes.start(Some(order.account));
        let may_meet_own = seats.get(order.account).open(order.side.opposite()) != 0;
        let mut matching = match rules.kind {
            MarketKind::Spot => SpotMatch {
                spot: Spot { rules, balances },
                self_trade: may_meet_own.then_some(order.self_trade),
                budget: order.is_quote_sized().then(|| Budget::new(order.quote_quantity, rules.lot.value())),
                seats,
                notes,
                emitter,
                trades,
                last_price,
                received: 0,
                taker_fees: 0,
                maker_fees: 0,
            },
        };
        matching.note(order.account);
        let mut filled = 0;
        if let Some((slot, old)) = &replaced {
            filled = old.filled();
            let returned = reservation_of(&matching.spot, old, old.remaining);
            matching.spot.release(order.account, order.side, returned);
            let mutation = book.take_out(orders, *slot);
            matching.mutated(mutation);
        }
        // As ordered; of a replaced order, what it filled before and what it asks for now.
        let whole = filled + order.quantity;
        let quantity = if order.is_quote_sized() { MAX_ENTRY } else { order.quantity };
        let mut taker = Taker {
            order: id,
            account: order.account,
            side: order.side,
            limit,
            remaining: quantity,
            ending: None,
        };
        sweep(book, orders, &mut taker, &mut matching);
        matching.close(&taker);
        filled += quantity - taker.remaining;
        let rests = taker.remaining > 0 && taker.ending.is_none() && order.may_rest();
        let resting = if rests { taker.remaining } else { 0 };
        let status = match (rests, taker.ending) {
            (true, _) if filled == 0 => OrderStatus::Open,
            (true, _) => OrderStatus::PartiallyFilled,
            (false, Some(Ending::SelfTrade)) => OrderStatus::Expired,
            (false, _) => match &matching.budget {
                Some(budget) if filled > 0 => {
                    let next = book.best(orders, order.side.opposite());
                    budget.status(next.unwrap_or(*matching.last_price))
                }
                None if taker.remaining == 0 => OrderStatus::Filled,
                _ => OrderStatus::Canceled,
            },
        };
        if rests {
            let record = order.record(id, whole, resting, rules.maker_fee);
            let slot = match replaced {
                None => {
                    let slot = orders.begin(record);
                    matching.seats.link(orders, slot);
                    slot
                }
                Some((slot, _)) => {
                    // It keeps its place among its account's orders.
                    let place = orders.pool.get_mut(slot);
                    *place = Order { younger: place.younger, older: place.older, ..record };
                    slot
                }
            };
            let mutation = book.rest(orders, slot);
            matching.mutated(mutation);
            let amount = Spot::reservation(order.side, order.price, resting);
            matching.spot.reserve(order.account, order.side, amount);
        } else if let Some((slot, _)) = replaced {
            matching.leave(orders, slot);
            orders.end(id, slot);
        }
        let mut event = order.event(id, status);
        event.is_new = u8::from(replaced.is_none());
        event.is_amended = u8::from(replaced.is_some());
        event.quantity = whole;
        event.filled = filled;
        event.open = resting;
        let SpotMatch { notes, emitter, spot, .. } = matching;
        for ended in notes.ended.iter() {
            emitter.emit(*ended);
        }
        emitter.emit(event);
        notes.flush(spot.balances, emitter);
        Outcome { order: id, market: Some(order.market), update: book.update, ..outcome }
    }
}

#[inline(always)]
fn check_status(status: MarketStatus) -> Result<(), Reject> {
    match status {
        MarketStatus::Listed => Ok(()),
        MarketStatus::Halted => Err(Reject::MarketHalted),
        MarketStatus::Delisted => Err(Reject::MarketDelisted),
    }
}

/// What a market sell's notional is judged by.
#[cold]
fn reference_price(book: &Book, orders: &Orders, last_price: Price) -> Option<Price> {
    book.best(orders, Side::Buy).or((last_price != 0).then_some(last_price))
}

/// Checks of the order by itself; what a limit order is worth in quote, 0 for others.
#[inline(always)]
fn check_terms(
    rules: &Rules,
    order: &Incoming,
    filled: Quantity,
    reference: impl FnOnce() -> Option<Price>,
) -> Result<Amount, Reject> {
    match order.order_type {
        OrderType::Limit => limit::check(rules, order, filled),
        OrderType::Market if order.side == Side::Buy => market::check_buy(rules, order).map(|()| 0),
        OrderType::Market => market::check_sell(rules, order, reference()).map(|()| 0),
    }
}

/// Checks against the book of an order that finds prices to trade at, or must not rest.
fn check_book(
    rules: &Rules,
    order: &Incoming,
    limit: u64,
    seat: &Seat,
    book: &Book,
    orders: &Orders,
) -> Result<(), Reject> {
    if book.side(order.side.opposite()).best() <= limit {
        if order.time_in_force == TimeInForce::PostOnly {
            return Err(Reject::PostOnlyWouldCross);
        }
        if order.self_trade == SelfTradePrevention::RejectTaker
            && seat.open(order.side.opposite()) != 0
            && meets_own(rules, order, limit, book, orders)
        {
            return Err(Reject::SelfTrade);
        }
    }
    if order.time_in_force == TimeInForce::FillOrKill && !fills_whole(order, limit, book, orders) {
        return Err(Reject::FillOrKill);
    }
    Ok(())
}

/// Whether the order would reach a resting order of its own account before it is filled or stops.
fn meets_own(rules: &Rules, order: &Incoming, limit: u64, book: &Book, orders: &Orders) -> bool {
    let mut budget = order.is_quote_sized().then(|| Budget::new(order.quote_quantity, rules.lot.value()));
    let mut remaining = if budget.is_some() { MAX_ENTRY } else { order.quantity };
    let mut meets = false;
    walk(book, orders, order.side, limit, |maker| {
        let most = budget.as_ref().map_or(Quantity::MAX, |budget| budget.buys(maker.price, maker.remaining));
        let quantity = remaining.min(maker.remaining).min(most);
        if quantity == 0 {
            return Step::Stop;
        }
        if maker.account == order.account {
            meets = true;
            return Step::Stop;
        }
        remaining -= quantity;
        if let Some(budget) = &mut budget {
            budget.spend(maker.price, quantity);
        }
        Step::On
    });
    meets
}

/// Whether the order would trade whole.
fn fills_whole(order: &Incoming, limit: u64, book: &Book, orders: &Orders) -> bool {
    let mut remaining = order.quantity;
    walk(book, orders, order.side, limit, |maker| {
        if maker.account == order.account {
            match order.self_trade {
                SelfTradePrevention::ExpireMaker => return Step::On,
                SelfTradePrevention::ExpireTaker | SelfTradePrevention::ExpireBoth => return Step::Stop,
                SelfTradePrevention::None | SelfTradePrevention::RejectTaker => {}
            }
        }
        remaining -= remaining.min(maker.remaining);
        if remaining == 0 { Step::Stop } else { Step::On }
    });
    remaining == 0
}
