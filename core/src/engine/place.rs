//! A new order, and one that is replaced: checks in their fixed order, then match, then rest or end.

use super::emit::Emitter;
use super::idempotency::{Use, Verdict};
use super::{Engine, Outcome};
use crate::book::side::EMPTY;
use crate::book::{Book, Orders};
use crate::command::{
    MarketKind, MarketStatus, OrderStatus, OrderType, PlaceOrder, ReplaceOrder, SelfTradePrevention,
    TimeInForce,
};
use crate::event::Sink;
use crate::market::{Market, Rules, Seat};
use crate::matching::{Ending, Settlement, Step, Taker, sweep, walk};
use crate::money::{MAX_ENTRY, Price, Quantity};
use crate::order::market::Budget;
use crate::order::{Incoming, Order, limit, market};
use crate::reject::Reject;
use crate::risk::Risk;
use crate::risk::spot::{Spot, Traded};

impl Engine {
    /// See [`PlaceOrder`].
    pub(super) fn place<S: Sink>(&mut self, place: &PlaceOrder, emitter: &mut Emitter<'_, S>) -> Outcome {
        let mut outcome = Outcome { account: place.account, ..Outcome::default() };
        if place.idempotency_key != 0 {
            outcome.idempotency_key = place.idempotency_key;
            let new = Use {
                account: place.account,
                key: place.idempotency_key,
                body: place.idempotency_body,
                sequence: self.sequence,
                time_ns: self.time.ns(),
            };
            match self.idempotency.admit(new) {
                Verdict::Fresh => {}
                Verdict::Replay(first) => {
                    return Outcome { replayed: first, ..outcome.refused(Reject::IdempotencyReplay) };
                }
                Verdict::Conflict => return outcome.refused(Reject::IdempotencyConflict),
            }
        }
        let Some(order) = Incoming::parse(place) else {
            return outcome.refused(Reject::Malformed);
        };
        if !self.accounts.exists(order.account) {
            return outcome.refused(Reject::AccountNotFound);
        }
        let Some(market) = self.markets.get(order.market as usize) else {
            return outcome.refused(Reject::MarketNotFound);
        };
        if let Err(reject) = check_status(market.rules.status) {
            return outcome.refused(reject);
        }
        self.enter(order, None, outcome, emitter)
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
        if let Err(reject) = check_status(self.markets[old.market as usize].rules.status) {
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
        self.enter(order, Some((slot, old)), outcome, emitter)
    }

    /// Judges an order, and enters it if nothing speaks against it. `replaced` rests until then.
    #[inline]
    fn enter<S: Sink>(
        &mut self,
        order: Incoming,
        replaced: Option<(u32, Order)>,
        outcome: Outcome,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let Engine { orders, balances, notes, markets, next_order, .. } = self;
        let Market { rules, book, seats, trades, last_price } = &mut markets[order.market as usize];
        let rules: &Rules = rules;
        notes.start(Some(order.account));
        let seat = seats.get(order.account);
        let reference = book.best(crate::command::Side::Buy).or((*last_price != 0).then_some(*last_price));
        let mut risk = match rules.kind {
            MarketKind::Spot => Spot {
                self_trade: (seat.open[order.side.opposite() as usize] != 0).then_some(order.self_trade),
                budget: order
                    .is_quote_sized()
                    .then(|| Budget::new(order.quote_quantity.max(0), rules.lot.value())),
                traded: Traded::default(),
                rules,
                balances,
                seats,
                notes,
                emitter,
                trades,
                last_price,
            },
        };
        let old = replaced.as_ref().map(|(_, old)| old);
        let judged = judge(rules, &order, old, reference, &risk)
            .and_then(|()| judge_book(rules, &order, old.is_some(), seat, book, orders));
        let limit = match judged {
            Ok(limit) => limit,
            Err(reject) if old.is_none() && reject.stores_order() => {
                let id = *next_order;
                *next_order += 1;
                let mut event = order.event(id, OrderStatus::Rejected);
                event.reject = reject.code();
                risk.emitter.emit(event);
                return Outcome { order: id, market: Some(order.market), ..outcome.refused(reject) };
            }
            Err(reject) => return outcome.refused(reject),
        };

        // Nothing can refuse it any more.
        let id = match replaced {
            Some((_, old)) => old.id,
            None => {
                let id = *next_order;
                *next_order += 1;
                id
            }
        };
        risk.begin(order.account);
        let mut filled = 0;
        if let Some((slot, old)) = &replaced {
            filled = old.filled();
            risk.release(old, old.remaining);
            let mutation = book.take_out(orders, *slot);
            risk.notes.mutated(order.market, mutation);
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
        sweep(book, orders, &mut taker, &mut risk);
        filled += quantity - taker.remaining;
        let rests = taker.remaining > 0 && taker.ending.is_none() && order.may_rest();
        let resting = if rests { taker.remaining } else { 0 };
        let status = match (rests, taker.ending) {
            (true, _) if filled == 0 => OrderStatus::Open,
            (true, _) => OrderStatus::PartiallyFilled,
            (false, Some(Ending::SelfTrade)) => OrderStatus::Expired,
            (false, _) => match &risk.budget {
                Some(budget) if filled > 0 => {
                    budget.status(book.best(order.side.opposite()).unwrap_or(*risk.last_price))
                }
                None if taker.remaining == 0 => OrderStatus::Filled,
                _ => OrderStatus::Canceled,
            },
        };
        if rests {
            let record = order.record(id, whole, resting, rules.maker_fee);
            let slot = match replaced {
                None => {
                    let slot = orders.pool.take();
                    *orders.pool.get_mut(slot) = record;
                    orders.index.insert(id, slot);
                    risk.arrive(orders, slot);
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
            risk.notes.mutated(order.market, mutation);
        } else if let Some((slot, _)) = replaced {
            risk.leave(orders, slot);
            orders.end(slot);
        }
        risk.close(&order, resting);
        let mut event = order.event(id, status);
        event.is_new = u8::from(replaced.is_none());
        event.is_amended = u8::from(replaced.is_some());
        event.quantity = whole;
        event.filled = filled;
        event.open = resting;
        let Spot { notes, emitter, balances, .. } = risk;
        for ended in notes.ended.iter() {
            emitter.emit(*ended);
        }
        emitter.emit(event);
        notes.flush(balances, emitter);
        Outcome { order: id, market: Some(order.market), ..outcome }
    }
}

fn check_status(status: MarketStatus) -> Result<(), Reject> {
    match status {
        MarketStatus::Listed => Ok(()),
        MarketStatus::Halted => Err(Reject::MarketHalted),
        MarketStatus::Delisted => Err(Reject::MarketDelisted),
    }
}

/// Checks of the order by itself and of the account's means.
#[inline]
fn judge<R: Risk>(
    rules: &Rules,
    order: &Incoming,
    replaced: Option<&Order>,
    reference: Option<Price>,
    risk: &R,
) -> Result<(), Reject> {
    match order.order_type {
        OrderType::Limit => {
            limit::check(rules, order, replaced.map_or(0, Order::filled))?;
        }
        OrderType::Market if order.is_quote_sized() => market::check_buy(rules, order)?,
        OrderType::Market => market::check_sell(rules, order, reference)?,
    }
    risk.check(order, replaced)
}

/// Checks against the book; the last key of the other side that the order may trade at.
#[inline]
fn judge_book(
    rules: &Rules,
    order: &Incoming,
    is_replace: bool,
    seat: Seat,
    book: &Book,
    orders: &Orders,
) -> Result<u64, Reject> {
    if order.may_rest() && seat.open_orders() - u32::from(is_replace) >= rules.max_open_orders {
        return Err(Reject::TooManyOpenOrders);
    }
    let limit = match order.order_type {
        OrderType::Limit => book.key(order.side.opposite(), order.price),
        OrderType::Market => EMPTY - 1,
    };
    if book.side(order.side.opposite()).best() <= limit {
        if order.time_in_force == TimeInForce::PostOnly {
            return Err(Reject::PostOnlyWouldCross);
        }
        if order.self_trade == SelfTradePrevention::RejectTaker
            && seat.open[order.side.opposite() as usize] != 0
            && meets_own(rules, order, limit, book, orders)
        {
            return Err(Reject::SelfTrade);
        }
    }
    if order.time_in_force == TimeInForce::FillOrKill && !fills_whole(order, limit, book, orders) {
        return Err(Reject::FillOrKill);
    }
    Ok(limit)
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
