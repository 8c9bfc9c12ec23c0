//! Orders: the checks in their order, and what a place, a cancel, an amend and a replace do.

use super::matching::{self, Incoming, Size};
use super::output::Output;
use super::{Balances, MAX_ENTRY, Outcome, Reference, Resting, money};
use ringside_core::command::{self, OrderStatus, OrderType, SelfTradePrevention, Side, TimeInForce};
use ringside_core::event;
use ringside_core::ids::{ALL_MARKETS, MarketId, OrderId};
use ringside_core::money::Amount;
use ringside_core::reject::Reject;

impl Reference {
    pub(super) fn place(
        &mut self,
        place: &command::PlaceOrder,
        output: &mut Output,
    ) -> Result<Outcome, Reject> {
        let side = Side::from_code(place.side).ok_or(Reject::Malformed)?;
        let order_type = OrderType::from_code(place.order_type).ok_or(Reject::Malformed)?;
        let time_in_force = TimeInForce::from_code(place.time_in_force).ok_or(Reject::Malformed)?;
        let self_trade = SelfTradePrevention::from_code(place.self_trade).ok_or(Reject::Malformed)?;
        let is_market = order_type == OrderType::Market;
        let may_be_finer = match (is_market, side) {
            (false, _) => 3,
            (true, Side::Sell) => 2,
            (true, Side::Buy) => 0,
        };
        if place.flags & !may_be_finer != 0 || (is_market && time_in_force != TimeInForce::ImmediateOrCancel)
        {
            return Err(Reject::Malformed);
        }
        self.known_account(place.account)?;
        let market = self.trading_market(place.market)?;
        let size = if is_market && side == Side::Buy {
            Size::Quote(place.quote_quantity.get())
        } else {
            Size::Base(place.quantity)
        };
        let mut incoming = Incoming {
            order: 0,
            account: place.account,
            market: place.market,
            side,
            order_type,
            time_in_force,
            self_trade,
            price: if is_market { None } else { Some(place.price) },
            size,
            filled_before: 0,
            maker_fee: market.maker_fee,
            taker_fee: market.taker_fee,
        };
        let judged =
            if place.flags == 0 { self.judge(&incoming, 0) } else { self.judge_finer(place, &incoming) };
        match judged {
            Ok(()) => {
                self.last_order += 1;
                incoming.order = self.last_order;
                let before = self.balances();
                self.execute(&incoming, true, &before, output);
                Ok(Outcome { order: incoming.order, market: Some(place.market), ..Outcome::default() })
            }
            Err(reject) if stored(reject) => {
                self.last_order += 1;
                incoming.order = self.last_order;
                let rejected =
                    event::Order { reject: reject.code(), ..incoming.event(OrderStatus::Rejected, 0, 0) };
                output.order(event::Order { is_new: 1, ..rejected });
                Ok(Outcome {
                    order: incoming.order,
                    market: Some(place.market),
                    stored: Some(reject),
                    ..Outcome::default()
                })
            }
            Err(reject) => Err(reject),
        }
    }

    /// The same of an order whose price (1) or quantity (2) was sent finer than it is held: never right.
    fn judge_finer(&self, place: &command::PlaceOrder, incoming: &Incoming) -> Result<(), Reject> {
        let market = &self.markets[incoming.market as usize];
        let is_held =
            |value: i64, flag| (value > 0 || (value == 0 && place.flags & flag != 0)) && value <= MAX_ENTRY;
        if incoming.price.is_some_and(|price| !is_held(price, 1)) {
            return Err(Reject::InvalidPrice);
        }
        if !is_held(place.quantity, 2) {
            return Err(Reject::InvalidQuantity);
        }
        if incoming.price.is_some_and(|price| place.flags & 1 != 0 || price % market.tick != 0) {
            return Err(Reject::InvalidTick);
        }
        Err(Reject::InvalidLot)
    }

    /// Every check from the amounts on. `released` is what a replaced order would give back first.
    pub(super) fn judge(&self, incoming: &Incoming, released: Amount) -> Result<(), Reject> {
        let market = &self.markets[incoming.market as usize];
        if incoming.price.is_some_and(|price| price <= 0 || price > MAX_ENTRY) {
            return Err(Reject::InvalidPrice);
        }
        match incoming.size {
            Size::Base(quantity) => {
                if quantity <= 0 || quantity > MAX_ENTRY {
                    return Err(Reject::InvalidQuantity);
                }
                if incoming.filled_before.checked_add(quantity).is_none_or(|ordered| ordered > MAX_ENTRY) {
                    return Err(Reject::InvalidQuantity);
                }
            }
            Size::Quote(amount) => {
                if amount <= 0 {
                    return Err(Reject::InvalidQuoteQuantity);
                }
            }
        }
        if incoming.price.is_some_and(|price| price % market.tick != 0) {
            return Err(Reject::InvalidTick);
        }
        if matches!(incoming.size, Size::Base(quantity) if quantity % market.lot != 0) {
            return Err(Reject::InvalidLot);
        }
        if let (Some(price), Size::Base(quantity)) = (incoming.price, incoming.size)
            && money::notional(price, quantity).is_none()
        {
            return Err(Reject::InvalidQuantity);
        }
        // None: no price to value a market sell at, or a value beyond any minimum.
        let value = match incoming.size {
            Size::Quote(amount) => Some(amount),
            Size::Base(quantity) => incoming
                .price
                .or_else(|| self.best(incoming.market, Side::Buy))
                .or(market.last_price)
                .and_then(|price| money::notional(price, quantity)),
        };
        if value.is_some_and(|value| value < market.min_notional) {
            return Err(Reject::BelowMinNotional);
        }
        let (asset, needed) = match (incoming.side, incoming.size, incoming.price) {
            (Side::Buy, Size::Quote(amount), _) => (market.quote, amount),
            (Side::Buy, Size::Base(quantity), Some(price)) => {
                (market.quote, money::notional(price, quantity).expect("judged above"))
            }
            (Side::Buy, Size::Base(_), None) => unreachable!("a market buy is sized in quote"),
            (Side::Sell, Size::Base(quantity), _) => (market.base, money::base_amount(quantity)),
            (Side::Sell, Size::Quote(_), _) => unreachable!("a sell is sized in base"),
        };
        let (available, _) = self.balance(incoming.account, asset);
        if available + released < needed {
            return Err(Reject::InsufficientBalance);
        }
        let is_replace = incoming.order != 0;
        if incoming.may_rest() && !is_replace {
            let mine =
                |order: &&Resting| order.account == incoming.account && order.market == incoming.market;
            let own = |market| self.own_limits.get(&(incoming.account, market)).copied();
            let most = own(incoming.market).or_else(|| own(ALL_MARKETS)).unwrap_or(market.max_open_orders);
            if self.orders.values().filter(mine).count() >= most as usize {
                return Err(Reject::TooManyOpenOrders);
            }
        }
        if incoming.time_in_force == TimeInForce::PostOnly {
            let best = self.best(incoming.market, incoming.side.opposite());
            if best.is_some_and(|best| incoming.reaches(best)) {
                return Err(Reject::PostOnlyWouldCross);
            }
        }
        let plan = matching::plan(self, incoming);
        if plan.refused {
            return Err(Reject::SelfTrade);
        }
        if incoming.time_in_force == TimeInForce::FillOrKill && plan.rest != Size::Base(0) {
            return Err(Reject::FillOrKill);
        }
        Ok(())
    }

    pub(super) fn cancel(
        &mut self,
        cancel: &command::CancelOrder,
        output: &mut Output,
    ) -> Result<Outcome, Reject> {
        let order = self.own_order(cancel.account, cancel.order)?;
        let before = self.balances();
        self.end(order.order, OrderStatus::Canceled, output);
        self.tell_balances(order.market, Some(order.account), &[], &before, output);
        Ok(Outcome { order: order.order, market: Some(order.market), ..Outcome::default() })
    }

    pub(super) fn cancel_all(
        &mut self,
        cancel: &command::CancelAll,
        output: &mut Output,
    ) -> Result<Outcome, Reject> {
        self.known_account(cancel.account)?;
        let everywhere = cancel.market == ALL_MARKETS;
        if !everywhere {
            self.known_market(cancel.market)?;
        }
        let chosen: Vec<(OrderId, MarketId)> = self
            .orders
            .values()
            .filter(|order| order.account == cancel.account && (everywhere || order.market == cancel.market))
            .map(|order| (order.order, order.market))
            .collect();
        let mut markets: Vec<(MarketId, Balances)> = Vec::new();
        for (order, market) in chosen {
            if !markets.iter().any(|(known, _)| *known == market) {
                markets.push((market, self.balances()));
            }
            self.end(order, OrderStatus::Canceled, output);
        }
        for (market, before) in markets {
            self.tell_balances(market, Some(cancel.account), &[], &before, output);
        }
        Ok(Outcome { market: (!everywhere).then_some(cancel.market), ..Outcome::default() })
    }

    pub(super) fn amend(
        &mut self,
        amend: &command::AmendOrder,
        output: &mut Output,
    ) -> Result<Outcome, Reject> {
        let order = self.own_order(amend.account, amend.order)?;
        if amend.quantity <= 0 || amend.quantity >= order.open {
            return Err(Reject::InvalidAmend);
        }
        let before = self.balances();
        let resting = self.orders.get_mut(&order.order).expect("found above");
        resting.open = amend.quantity;
        let told = resting.event(resting.status(), resting.open, false, true);
        output.order(told);
        self.mutated(order.market, order.side, order.price, output);
        self.tell_balances(order.market, Some(order.account), &[], &before, output);
        Ok(Outcome { order: order.order, market: Some(order.market), ..Outcome::default() })
    }

    pub(super) fn replace(
        &mut self,
        replace: &command::ReplaceOrder,
        output: &mut Output,
    ) -> Result<Outcome, Reject> {
        let old = self.own_order(replace.account, replace.order)?;
        let market = self.trading_market(old.market)?;
        let incoming = Incoming {
            order: old.order,
            account: old.account,
            market: old.market,
            side: old.side,
            order_type: old.order_type,
            time_in_force: old.time_in_force,
            self_trade: old.self_trade,
            price: Some(replace.price),
            size: Size::Base(replace.quantity),
            filled_before: old.filled,
            maker_fee: market.maker_fee,
            taker_fee: market.taker_fee,
        };
        self.judge(&incoming, old.reservation())?;
        let before = self.balances();
        self.orders.remove(&old.order);
        self.mutated(old.market, old.side, old.price, output);
        self.execute(&incoming, false, &before, output);
        Ok(Outcome { order: old.order, market: Some(old.market), ..Outcome::default() })
    }

    /// Takes an order out of the book and says so.
    pub(super) fn end(&mut self, order: OrderId, status: OrderStatus, output: &mut Output) {
        let ended = self.orders.remove(&order).expect("the order rests");
        output.order(ended.event(status, 0, false, false));
        self.mutated(ended.market, ended.side, ended.price, output);
    }
}

/// The refusals that keep the order (`spot.md` 4).
fn stored(reject: Reject) -> bool {
    use Reject::*;
    [InvalidTick, InvalidLot, BelowMinNotional, InsufficientBalance, PostOnlyWouldCross, SelfTrade]
        .contains(&reject)
}
