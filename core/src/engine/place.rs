//! A new order, and one that is replaced: checks in their fixed order, then it rests, or trades first.

use super::idempotency::{Use, Verdict};
use super::{Engine, Outcome};
use crate::book::pool::NONE;
use crate::book::side::EMPTY;
use crate::book::{Book, Mutation, Orders};
use crate::command::{
    Command, MarketKind, MarketStatus, OrderStatus, OrderType, PlaceOrder, ReplaceOrder, SelfTradePrevention,
    Side, TimeInForce, place_flag,
};
use crate::emit::Emitter;
use crate::event::{self, Sink};
use crate::market::{AccountOrders, Market, Rules};
use crate::matching::{Ending, Settlement, Step, Taker, sweep, walk};
use crate::money::{Amount, MAX_ENTRY, Price, Quantity};
use crate::order::market::Budget;
use crate::order::{Incoming, Order, limit, market};
use crate::perpetual::Perpetual;
use crate::reject::Reject;
use crate::risk::spot::{SpotMatch, SpotPurse, SpotSums};
use crate::risk::{Purse, reservation_of};

/// Most open orders that the account of an order may have in its market, where it has a limit of its own.
#[cold]
fn own_open_orders(perpetual: Option<&Perpetual>, order: &Incoming) -> Option<u32> {
    perpetual?.state.limits.open_orders(order.account, order.market)
}

impl Engine {
    /// See [`PlaceOrder`]. An order that rests whole is carried out here, every other goes on to [`Engine::arrive`].
    #[inline(never)]
    pub(super) fn place<S: Sink>(&mut self, command: &Command, sink: &mut S) {
        let place: &PlaceOrder = command.body();
        if place.idempotency_key != 0
            && let Err(known) = self.recall(place)
        {
            return self.emitter(sink).emit(known.done(command));
        }
        let Some(order) = Incoming::parse(place) else {
            return refuse(command, Reject::Malformed, self.emitter(sink));
        };
        if place.flags != 0 {
            return self.refuse_finer(command, &order, sink);
        }
        if !self.accounts.exists(order.account) {
            return refuse(command, Reject::AccountNotFound, self.emitter(sink));
        }
        let emitter = self.emitter(sink);
        let Engine { orders, balances, markets, next_order, perpetual, has_limits, .. } = self;
        let Some(market) = markets.get_mut(order.market as usize) else {
            return refuse(command, Reject::MarketNotFound, emitter);
        };
        let Market { rules, book, by_account, last_price, .. } = market;
        let rules: &Rules = rules;
        if let Err(reject) = check_status(rules.status) {
            return refuse(command, reject, emitter);
        }
        let mut purse = match rules.kind {
            MarketKind::Spot => SpotPurse::new(rules, balances, order.account),
        };
        let judged = check_terms(rules, &order, 0, || reference_price(book, orders, *last_price));
        let needed = match judged.and_then(|worth| purse.check(&order, worth, 0)) {
            Ok(needed) => needed,
            Err(reject) => return self.refuse_judged(command, reject, sink),
        };
        let seat = by_account.get_mut(order.account);
        let own = has_limits.then(|| own_open_orders(perpetual.as_deref(), &order)).flatten();
        if order.may_rest() && seat.open_orders() >= own.unwrap_or(rules.max_open_orders) {
            return refuse(command, Reject::TooManyOpenOrders, emitter);
        }
        let opposite = book.side(order.side.opposite());
        let limit = match order.order_type {
            OrderType::Limit => opposite.key(book.steps(order.price)),
            OrderType::Market => EMPTY - 1,
        };
        if opposite.best() <= limit || !order.may_rest() {
            return self.arrive(command, limit, sink);
        }

        // It rests whole: one account, one level.
        let id = *next_order;
        *next_order = id.wrapping_add(1);
        let key = book.key(order.side, order.price);
        let outcome = Outcome {
            order: id,
            account: order.account,
            market: Some(order.market),
            idempotency_key: place.idempotency_key,
            update: book.next_update(),
            ..Outcome::default()
        };
        emitter.single(|mut events| {
            events.order(event::Order { open: order.quantity, ..order.event(id, OrderStatus::Open) });
            events.done(outcome.done(command));
            let record = order.record(id, order.quantity, order.quantity, rules.maker_fee, seat.youngest);
            let (slot, mutation) = book.rest_new(orders, record, key);
            events.depth(order.market, mutation);
            seat.link(orders, slot, order.side);
            events.account(purse.reserve(order.side, needed));
        });
    }

    /// What is known of the key of a placement; an error is the answer to it.
    #[inline(never)]
    fn recall(&mut self, place: &PlaceOrder) -> Result<(), Outcome> {
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
            Verdict::Fresh => Ok(()),
            Verdict::Replay(first) => {
                Err(Outcome { replayed: first, ..outcome.refused(Reject::IdempotencyReplay) })
            }
            Verdict::Conflict => Err(outcome.refused(Reject::IdempotencyConflict)),
        }
    }

    /// Refuses a new order, keeping it where the reason says so.
    #[cold]
    #[inline(never)]
    fn refuse_judged<S: Sink>(&mut self, command: &Command, reject: Reject, sink: &mut S) {
        let mut emitter = self.emitter(sink);
        if !reject.stores_order() {
            return refuse(command, reject, emitter);
        }
        let order = parsed(command);
        let id = self.next_order;
        self.next_order += 1;
        let mut event = order.event(id, OrderStatus::Rejected);
        event.reject = reject.code();
        emitter.emit(event);
        let outcome = Outcome {
            order: id,
            market: Some(order.market),
            update: self.markets[order.market as usize].book.update,
            ..outcome_of(command)
        };
        emitter.emit(outcome.refused(reject).done(command));
    }

    /// Refuses an order of which something was sent finer than it is held, as its other checks would.
    #[cold]
    #[inline(never)]
    fn refuse_finer<S: Sink>(&mut self, command: &Command, order: &Incoming, sink: &mut S) {
        let place: &PlaceOrder = command.body();
        let is_finer = |flag| place.flags & flag != 0;
        let within = |value: i64, flag| (i64::from(!is_finer(flag))..=MAX_ENTRY).contains(&value);
        let is_limit = order.order_type == OrderType::Limit;
        let judge = |rules: &Rules| match () {
            () if is_limit && !within(order.price, place_flag::FINER_PRICE) => Reject::InvalidPrice,
            () if !within(order.quantity, place_flag::FINER_QUANTITY) => Reject::InvalidQuantity,
            () if is_limit && (is_finer(place_flag::FINER_PRICE) || !rules.tick.divides(order.price)) => {
                Reject::InvalidTick
            }
            () => Reject::InvalidLot,
        };
        let reject = match self.markets.get(order.market as usize) {
            _ if !self.accounts.exists(order.account) => Reject::AccountNotFound,
            None => Reject::MarketNotFound,
            Some(market) => match check_status(market.rules.status) {
                Ok(()) => judge(&market.rules),
                Err(reject) => reject,
            },
        };
        self.refuse_judged(command, reject, sink);
    }

    /// A new order that finds prices to trade at, or must not rest. It can be afforded.
    #[inline(never)]
    fn arrive<S: Sink>(&mut self, command: &Command, limit: u64, sink: &mut S) {
        // Read again: carried over, it would be written down for every order that rests as well.
        let order = parsed(command);
        let Market { rules, book, by_account, .. } = &self.markets[order.market as usize];
        let seat = by_account.get(order.account);
        if let Err(reject) = check_book(rules, &order, limit, &seat, book, &self.orders) {
            return self.refuse_judged(command, reject, sink);
        }
        let mut emitter = self.emitter(sink);
        let (meets, update) = (book.side(order.side.opposite()).best() <= limit, book.update);
        let id = self.next_order;
        self.next_order += 1;
        let outcome = outcome_of(command);
        let outcome = if meets {
            self.trade(order, id, limit, None, outcome, &mut emitter)
        } else {
            // It ends at once: there is nothing that it may trade with, and it must not rest.
            emitter.emit(order.event(id, OrderStatus::Canceled));
            Outcome { order: id, market: Some(order.market), update, ..outcome }
        };
        emitter.emit(outcome.done(command));
    }

    /// See [`ReplaceOrder`].
    #[inline(never)]
    pub(super) fn replace<S: Sink>(&mut self, command: &Command, sink: &mut S) {
        let mut emitter = self.emitter(sink);
        let replace: &ReplaceOrder = command.body();
        let outcome = Outcome { account: replace.account, ..Outcome::default() };
        let outcome = match self.find_own(replace.account, replace.order) {
            Ok(slot) => self.replace_at(slot, replace, outcome, &mut emitter),
            Err(reject) => outcome.refused(reject),
        };
        emitter.emit(outcome.done(command));
    }

    /// The same for the order in `slot`.
    #[inline(always)]
    fn replace_at<S: Sink>(
        &mut self,
        slot: u32,
        replace: &ReplaceOrder,
        outcome: Outcome,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let old = *self.orders.pool.get(slot);
        let Engine { orders, balances, markets, .. } = self;
        let Market { rules, book, by_account, .. } = &mut markets[old.market as usize];
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
        let mut purse = match rules.kind {
            MarketKind::Spot => SpotPurse::new(rules, balances, order.account),
        };
        let returned = reservation_of(&purse, &old, old.remaining);
        let judged = check_terms(rules, &order, old.filled(), || None);
        let needed = match judged.and_then(|worth| purse.check(&order, worth, returned)) {
            Ok(needed) => needed,
            Err(reject) => return outcome.refused(reject),
        };
        let steps = book.steps(order.price);
        let opposite = book.side(order.side.opposite());
        let limit = opposite.key(steps);
        if opposite.best() <= limit {
            let seat = by_account.get(order.account);
            return match check_book(rules, &order, limit, &seat, book, orders) {
                Ok(()) => self.trade(order, old.id, limit, Some((slot, old)), outcome, emitter),
                Err(reject) => outcome.refused(reject),
            };
        }

        // It rests again without trading.
        let left = book.take_out(orders, slot);
        // At most the largest quantity, as was checked.
        let whole = old.filled().wrapping_add(order.quantity);
        let record = order.record(old.id, whole, order.quantity, rules.maker_fee, old.older);
        // It keeps its place among its account's orders.
        let record = Order { younger: old.younger, ..record };
        let mutation = book.queue(orders, slot, record, book.key(order.side, order.price));
        purse.release(order.side, returned);
        let report = purse.reserve(order.side, needed);
        let status = if old.filled() == 0 { OrderStatus::Open } else { OrderStatus::PartiallyFilled };
        let mut event = record.event(status, record.remaining);
        event.is_amended = 1;
        emitter.emit(event);
        if left.price != mutation.price {
            emitter.depth(rules.id, left);
        }
        emitter.depth(rules.id, mutation);
        if needed != returned {
            emitter.emit(report);
        }
        Outcome { order: old.id, market: Some(order.market), update: mutation.update, ..outcome }
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
        let Engine { orders, balances, changes, markets, .. } = self;
        let Market { rules, book, by_account, trades, last_price } = &mut markets[order.market as usize];
        let rules: &Rules = rules;
        changes.start(Some(order.account));
        let may_meet_own = by_account.get(order.account).open(order.side.opposite()) != 0;
        let mut matching = match rules.kind {
            MarketKind::Spot => SpotMatch {
                rules,
                balances,
                self_trade: may_meet_own.then_some(order.self_trade),
                budget: order.is_quote_sized().then(|| Budget::new(order.quote_quantity, rules.lot.value())),
                by_account,
                changes,
                emitter,
                trades,
                last_price,
                sums: SpotSums::default(),
            },
        };
        let mut purse = matching.noted(order.account);
        let mut filled = 0;
        if let Some((slot, old)) = &replaced {
            filled = old.filled();
            let returned = reservation_of(&purse, old, old.remaining);
            purse.release(order.side, returned);
            let mutation = book.take_out(orders, *slot);
            matching.mutated(mutation);
        }
        // As ordered; of a replaced order, what it filled before and what it asks for now.
        let whole = filled + order.quantity;
        let quantity = if order.is_quote_sized() { Budget::most(rules.lot.value()) } else { order.quantity };
        let Incoming { account, side, .. } = order;
        let mut taker = Taker { order: id, account, side, limit, remaining: quantity, ending: None };
        sweep(book, orders, &mut taker, &mut matching);
        matching.close(&taker);
        filled += quantity - taker.remaining;
        let rests = taker.remaining > 0 && taker.ending.is_none() && order.may_rest();
        let open = if rests { taker.remaining } else { 0 };
        let next = || book.best(orders, order.side.opposite()).unwrap_or(*matching.last_price);
        let status = status_of(rests, filled, &taker, matching.budget.as_ref(), next);
        if rests {
            let replaces = replaced.map(|(slot, _)| slot);
            let record = order.record(id, whole, open, rules.maker_fee, NONE);
            let mutation =
                come_to_rest(book, orders, matching.by_account.get_mut(order.account), record, replaces);
            matching.mutated(mutation);
            let amount = SpotPurse::reservation(order.side, order.price, open);
            matching.purse(order.account).reserve(order.side, amount);
        } else if let Some((slot, _)) = replaced {
            matching.leave(orders, slot);
        }
        let is_new = u8::from(replaced.is_none());
        let terms = order.event(id, status);
        let event = event::Order { is_new, is_amended: 1 - is_new, quantity: whole, filled, open, ..terms };
        for ended in matching.changes.ended.iter() {
            matching.emitter.emit(*ended);
        }
        matching.emitter.emit(event);
        matching.tell(&taker);
        Outcome { order: id, market: Some(order.market), update: book.update, ..outcome }
    }
}

/// What has become of an order that has traded; `next` is the price that it would meet next.
#[inline(always)]
fn status_of(
    rests: bool,
    filled: Quantity,
    taker: &Taker,
    budget: Option<&Budget>,
    next: impl FnOnce() -> Price,
) -> OrderStatus {
    match (rests, taker.ending) {
        (true, _) if filled == 0 => OrderStatus::Open,
        (true, _) => OrderStatus::PartiallyFilled,
        (false, Some(Ending::SelfTrade)) => OrderStatus::Expired,
        (false, _) => match budget {
            Some(budget) if filled > 0 => budget.status(next()),
            None if taker.remaining == 0 => OrderStatus::Filled,
            _ => OrderStatus::Canceled,
        },
    }
}

/// Puts what is left of an order into the book, in the slot of the one that it replaces, if it does: it keeps the place of that one
/// among its account's orders.
#[inline(always)]
fn come_to_rest(
    book: &mut Book,
    orders: &mut Orders,
    seat: &mut AccountOrders,
    record: Order,
    replaces: Option<u32>,
) -> Mutation {
    let Some(slot) = replaces else {
        let (side, record) = (record.traits.side(), Order { older: seat.youngest, ..record });
        let (slot, mutation) = book.rest_new(orders, record, book.key(side, record.price));
        seat.link(orders, slot, side);
        return mutation;
    };
    let place = orders.pool.get_mut(slot);
    *place = Order { older: place.older, younger: place.younger, ..record };
    book.rest(orders, slot)
}

/// The order of a placement that was found well-formed before.
#[inline(always)]
fn parsed(command: &Command) -> Incoming {
    match Incoming::parse(command.body()) {
        Some(order) => order,
        None => unreachable!("the placement was read before"),
    }
}

/// What Done says of a placement, whatever its verdict.
#[inline(always)]
fn outcome_of(command: &Command) -> Outcome {
    let place: &PlaceOrder = command.body();
    Outcome { account: place.account, idempotency_key: place.idempotency_key, ..Outcome::default() }
}

/// Refuses a placement that is not kept.
#[cold]
#[inline(never)]
fn refuse<S: Sink>(command: &Command, reject: Reject, mut emitter: Emitter<'_, S>) {
    emitter.emit(outcome_of(command).refused(reject).done(command));
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
        OrderType::Market if order.side == Side::Buy => {
            market::check_buy(rules, order.quote_quantity).map(|()| 0)
        }
        OrderType::Market => market::check_sell(rules, order.quantity, reference()).map(|()| 0),
    }
}

/// Checks against the book of an order that finds prices to trade at, or must not rest.
fn check_book(
    rules: &Rules,
    order: &Incoming,
    limit: u64,
    seat: &AccountOrders,
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
    let mut remaining = if budget.is_some() { Budget::most(rules.lot.value()) } else { order.quantity };
    let mut meets = false;
    walk(book, orders, order.side, limit, |_, maker| {
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
    walk(book, orders, order.side, limit, |_, maker| {
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
