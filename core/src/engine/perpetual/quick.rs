//! The commands that most are, carried out at once where nothing can follow from them: a plain limit order that rests whole,
//! the cancel of one, and its change. One account, no fill, no position: nothing to trim, no price that triggers watch.
//!
//! Nothing is decided here that is not decided by the long way (`place.rs`, `account.rs`): whatever is out of the ordinary,
//! a refusal above all, goes there from the start. `perpetual_random` compares both ways, and the reference model judges
//! both.

use super::Acted;
use super::modify::AMENDMENTS_MAX;
use super::settle::reason;
use crate::book::pool::NONE;
use crate::book::{Book, Orders};
use crate::command::{
    CancelPerpetual, ModifyPerpetual, PerpetualOrderType as Type, PerpetualParameter as P, PerpetualState,
    PerpetualStatus, PerpetualTimeInForce as Tif, PlacePerpetual, PriceMatch, SelfTradePrevention, Side,
    TimeInForce, WorkingType,
};
use crate::engine::emit::{Emitter, depth_event};
use crate::event::{Execution, PerpetualAmended, PerpetualPlaced, Sink};
use crate::ids::{AccountId, MarketId, OrderId};
use crate::market::Seats;
use crate::money::{Price, Quantity};
use crate::order::{Order, Traits};
use crate::perpetual::account::Holding;
use crate::perpetual::order::{Details, Stage, is_name, name_hash};
use crate::perpetual::{Perpetual, State, id_of};
use crate::prefetch::{Hint, prefetch};
use crate::risk::perpetual::order_margin::{Bucket, Exposure, Reservation};
use crate::risk::perpetual::{band, units};

impl Perpetual {
    /// Whether no scan has anything to do that the command does not bring about itself.
    #[inline]
    fn is_quiet(&self) -> bool {
        let state = &self.state;
        let is_recalled = state.recalls.peek().is_some_and(|recall| recall.0.0 <= state.now_ms);
        state.alert == 0 && !state.has_backlog && !is_recalled && !state.tests_all
    }

    /// Places an order that rests whole and changes nothing but its account's order margin. `None`: nothing was done. Checks
    /// come in any order: one that fails is reported by the long way.
    #[inline]
    pub(crate) fn place_quick<S: Sink>(
        &mut self,
        place: &PlacePerpetual,
        next_order: &mut OrderId,
        emitter: &mut Emitter<'_, S>,
    ) -> Option<Acted> {
        let is_plain = place.order_type == Type::Limit as u8
            && (place.time_in_force == Tif::GoodTillCancel as u8
                || place.time_in_force == Tif::PostOnly as u8)
            && place.price_match == 0
            && place.flags == 0
            && (place.leverage | place.callback_rate) == 0
            && (place.stop_price | place.take_profit | place.stop_loss | place.good_till_ms) == 0;
        if !is_plain || !self.is_quiet() {
            return None;
        }
        let Perpetual { books, orders, state } = self;
        let side = Side::from_code(place.side)?;
        let self_trade = SelfTradePrevention::from_code(place.self_trade)?;
        let working_type = WorkingType::from_code(place.working_type)?;
        WorkingType::from_code(place.attached_working_type)?;
        let PlacePerpetual { account, market, price, quantity, .. } = *place;
        state.check_account(account).ok()?;
        let index = state.index_of(market)?;
        let (book, symbol) = (&mut books[index], &state.symbols[index]);
        let is_allowed = self_trade != SelfTradePrevention::RejectTaker
            && i64::from(state.seats[index].get(account).open_orders()) < symbol.get(P::MaxOpenOrders)
            && state.accounts.get(account).disabled == 0
            && is_name(&place.client_order);
        let name = name_hash(account, &place.client_order);
        if !is_allowed || state.names.find(name).is_some() {
            return None;
        }
        let holding = state.holding(account, index);
        let before = holding.bucket(side);
        let opening = Opening { account, index, side, price, whole: quantity, open: quantity };
        let (bucket, reservation) = state.enters(book, orders, &opening, holding, before)?;

        // Nothing refuses it any more.
        let id = *next_order;
        *next_order += 1;
        let seat = state.seats[index].get_mut(account);
        let record = Order {
            id,
            remaining: quantity,
            price,
            quantity,
            next: NONE,
            previous: NONE,
            level: 0,
            account,
            younger: NONE,
            older: seat.youngest,
            market,
            traits: Traits::new(side, TimeInForce::GoodTillCancel, SelfTradePrevention::None, 0),
        };
        let key = book.key(side, price);
        let (slot, mutation) = book.rest_new(orders, record, key);
        seat.link(orders, slot, side);
        state.slots.insert(id, slot);
        *state.names.entry(name) += 1;
        if state.details.len() <= slot as usize {
            state.details.resize(slot as usize + 4096, Details::default());
        }
        let time_in_force =
            if place.time_in_force == Tif::PostOnly as u8 { Tif::PostOnly } else { Tif::GoodTillCancel };
        let details = &mut state.details[slot as usize];
        *details = Details {
            id,
            account,
            market,
            price,
            side,
            time_in_force,
            self_trade,
            working_type,
            stage: Stage::Resting,
            quantity,
            client_order: place.client_order,
            reservation,
            reserved_quantity: quantity,
            ..Details::default()
        };
        let client_order = place.client_order;
        emitter.emit(PerpetualPlaced { order: id, account, market, fired: 0, client_order, reserved: 0 });
        emitter.emit(details.event(PerpetualStatus::New, Execution::New, reason::NONE, quantity));
        emitter.emit(depth_event(market, mutation));
        state.accounts.get_mut(account).markets[index / 64] |= 1 << (index % 64);
        let holding = state.holdings[index].get_mut(account);
        holding.set_bucket(side, bucket);
        emitter.emit(holding.exposure_event(account, market));
        Some(Acted { order: id, account, market: Some(market) })
    }

    /// Cancels such an order. `None`: nothing was done.
    #[inline]
    pub(crate) fn cancel_quick<S: Sink>(
        &mut self,
        cancel: &CancelPerpetual,
        emitter: &mut Emitter<'_, S>,
    ) -> Option<Acted> {
        if !self.is_quiet() || cancel.order == 0 {
            return None;
        }
        let Perpetual { books, orders, state } = self;
        state.check_account(cancel.account).ok()?;
        let index = state.index_of(cancel.market)?;
        let slot = state.slot_of(cancel.order)?;
        let details = &state.details[slot as usize];
        let is_plain = details.account == cancel.account
            && details.market == id_of(index)
            && details.stage == Stage::Resting
            && details.flags == 0
            && details.is_of(cancel.classes)
            && details.reserved_quantity != 0
            && details.good_till_ms == 0
            && details.children == [0; 2];
        if !is_plain {
            return None;
        }
        let (account, side, id) = (details.account, details.side, details.id);
        let remaining = orders.pool.get(slot).remaining;
        let part = details.reservation.scaled(remaining, details.reserved_quantity)?;
        let holding = state.holdings[index].get_mut(account);
        let bucket = holding.bucket(side).without(remaining, part)?;

        // Nothing refuses it any more.
        holding.set_bucket(side, bucket);
        let exposure = holding.exposure_event(account, cancel.market);
        let told = details.event(PerpetualStatus::Canceled, Execution::Canceled, reason::NONE, 0);
        let name = name_hash(account, &details.client_order);
        state.details[slot as usize].stage = Stage::Running;
        state.forget_name(name);
        state.slots.remove(id);
        Seats::unlink(&mut state.seats[index], orders, slot);
        let mutation = books[index].take_out(orders, slot);
        debug_assert!(slot != NONE);
        orders.end(id, slot);
        emitter.emit(told);
        emitter.emit(depth_event(cancel.market, mutation));
        emitter.emit(exposure);
        Some(Acted { order: id, account, market: Some(cancel.market) })
    }
}

impl Perpetual {
    /// Gives such an order another price or quantity, at which it rests again. `None`: nothing was done.
    #[inline(never)]
    pub(crate) fn modify_quick<S: Sink>(
        &mut self,
        modify: &ModifyPerpetual,
        emitter: &mut Emitter<'_, S>,
    ) -> Option<Acted> {
        if !self.is_quiet() || modify.order == 0 || modify.flags != 0 || modify.price_match != 0 {
            return None;
        }
        let ModifyPerpetual { account, market, price, quantity, .. } = *modify;
        let Perpetual { books, orders, state } = self;
        state.check_account(account).ok()?;
        let index = state.index_of(market)?;
        let slot = state.slot_of(modify.order)?;
        let details = &state.details[slot as usize];
        let side = details.side;
        let is_plain = details.account == account
            && details.market == market
            && details.order_type == Type::Limit
            && details.stage == Stage::Resting
            && details.flags == 0
            && details.reserved_quantity != 0
            && details.good_till_ms == 0
            && details.children == [0; 2]
            && (modify.side == u8::MAX || modify.side == side as u8)
            && details.amendments < AMENDMENTS_MAX
            && quantity > details.filled
            && (price, quantity) != (details.price, details.quantity);
        if !is_plain {
            return None;
        }
        let opening =
            Opening { account, index, side, price, whole: quantity, open: quantity - details.filled };
        let remaining = orders.pool.get(slot).remaining;
        let part = details.reservation.scaled(remaining, details.reserved_quantity)?;
        let holding = state.holding(account, index);
        let before = holding.bucket(side);
        let released = before.without(remaining, part)?;
        let (bucket, reservation) = state.enters(&books[index], orders, &opening, holding, released)?;

        // Nothing refuses it any more.
        let details = &mut state.details[slot as usize];
        details.amendments += 1;
        emitter.emit(PerpetualAmended {
            order: details.id,
            account,
            market,
            price_before: details.price,
            price_after: price,
            quantity_before: details.quantity,
            quantity_after: quantity,
            count: details.amendments,
            reserved: 0,
        });
        (details.price, details.quantity) = (price, quantity);
        (details.reservation, details.reserved_quantity) = (reservation, opening.open);
        details.self_trade = SelfTradePrevention::None;
        details.price_match = PriceMatch::None;
        details.is_shortened = false;
        emitter.emit(details.event(details.open_status(), Execution::Amended, reason::NONE, opening.open));
        let id = details.id;
        let left = books[index].take_out(orders, slot);
        let order = orders.pool.get_mut(slot);
        (order.remaining, order.quantity, order.price) = (opening.open, quantity, price);
        let entered = books[index].rest(orders, slot);
        if left.price != entered.price {
            emitter.emit(depth_event(market, left));
        }
        emitter.emit(depth_event(market, entered));
        let holding = state.holdings[index].get_mut(account);
        holding.set_bucket(side, bucket);
        if bucket != before {
            emitter.emit(holding.exposure_event(account, market));
        }
        Some(Acted { order: id, account, market: Some(market) })
    }
}

/// What an order asks of its market and its account when it enters the book.
struct Opening {
    account: AccountId,
    index: usize,
    side: Side,
    price: Price,
    /// What the filters judge, and what is to rest.
    whole: Quantity,
    open: Quantity,
}

impl State {
    /// The checks of price, quantity, bracket and margin (`place.rs`, `judge.rs`) of an order that rests whole, beside a
    /// bucket of its side that is `before`: the bucket with it, and what it reserves. `None`: one fails, it would trade, or
    /// it is not sure that it is covered.
    #[inline]
    fn enters(
        &self,
        book: &Book,
        orders: &Orders,
        opening: &Opening,
        holding: &Holding,
        before: Bucket,
    ) -> Option<(Bucket, Reservation)> {
        let Opening { account, index, side, price, whole, open } = *opening;
        let symbol = &self.symbols[index];
        let record = self.accounts.get(account);
        let opposite = book.side(side.opposite());
        let is_sound = symbol.state() == PerpetualState::Trading
            && price > 0
            && symbol.tick.divides(price)
            && (symbol.get(P::MinPrice)..=symbol.get(P::MaxPrice)).contains(&price)
            && whole > 0
            && symbol.lot.divides(whole)
            && (symbol.get(P::MinQuantity)..=symbol.get(P::MaxQuantity)).contains(&whole)
            && band::is_within(side, price, symbol.entry_bound(side)?)
            && (record.liquidating | holding.liquidating) == 0
            && opposite.best() > opposite.key(book.steps(price));
        if !is_sound {
            return None;
        }
        let notional = units::value(price, whole)?;
        if !(symbol.get(P::MinNotional)..=symbol.get(P::MaxNotional)).contains(&notional) {
            return None;
        }
        let judged = match side {
            Side::Buy => price,
            Side::Sell => price.max(symbol.sell_reference()).max(book.best(orders, Side::Buy).unwrap_or(0)),
        };
        let reference = if (judged, open) == (price, whole) { notional } else { units::value(judged, open)? };
        let mark = symbol.prices.mark;
        let [_, taker_rate, ..] = self.rates(account)?;
        let reservation = Reservation::new(side, open, reference, mark, taker_rate)?;
        let bucket = before.with(open, reservation)?;
        let leverage = symbol.leverage(holding);
        let (buys, sells) = match side {
            Side::Buy => (bucket, holding.bucket(Side::Sell)),
            Side::Sell => (holding.bucket(Side::Buy), bucket),
        };
        let exposure = Exposure::new(holding.quantity, mark, buys, sells)?;
        let opens = bucket.opening(side, holding.quantity)? > 0;
        if opens && exposure.filled(side)? > symbol.brackets.exposure_max(leverage) {
            return None;
        }
        // Whoever may enter with nothing free, which takes a comparison with the requirement before, goes the long way.
        if self.has_plenty(account, index, holding, &exposure, leverage).unwrap_or(false) {
            return Some((bucket, reservation));
        }
        let mut after = *holding;
        after.set_bucket(side, bucket);
        let free = self.sums_with(account, record.wallet, Some((index, &after)))?.free()?;
        (free >= 0).then_some((bucket, reservation))
    }
}

/// Hints that commands come soon, as `Engine::prefetch` gives them.
impl Perpetual {
    /// What a placement will touch.
    #[inline]
    pub(crate) fn prefetch_place(&self, place: &PlacePerpetual, hint: Hint) {
        let Some(index) = self.state.index_of(place.market) else { return };
        let Some(side) = Side::from_code(place.side) else { return };
        let Perpetual { books, orders, state } = self;
        let Orders { pool, levels, .. } = orders;
        let book = &books[index];
        if hint == Hint::First {
            self.prefetch_account(index, place.account);
            state.names.hint(name_hash(place.account, &place.client_order));
        }
        let steps = book.steps(place.price);
        let opposite = book.side(side.opposite());
        if opposite.best() <= opposite.key(steps) {
            let first = levels.get(opposite.best_level()).head;
            match hint {
                Hint::First => {}
                Hint::Second => {
                    prefetch(pool.get(first));
                    state.prefetch_details(first);
                }
                Hint::Third => {
                    let maker = pool.get(first);
                    for neighbour in [maker.next, maker.younger, maker.older] {
                        prefetch(pool.get(neighbour));
                    }
                    state.prefetch_details(maker.next);
                    self.prefetch_account(index, maker.account);
                }
            }
            return;
        }
        let own = book.side(side);
        let Some(level) = own.hint(levels, own.key(steps)) else { return };
        match hint {
            Hint::First => prefetch(levels.get(level)),
            Hint::Second => {
                prefetch(pool.get(levels.get(level).tail));
                prefetch(pool.get(state.seats[index].place(place.account).youngest));
            }
            Hint::Third => {}
        }
    }

    /// What the cancel or the change of an order will touch.
    #[inline]
    pub(crate) fn prefetch_order(&self, account: AccountId, market: MarketId, order: OrderId, hint: Hint) {
        let Some(index) = self.state.index_of(market) else { return };
        let state = &self.state;
        self.orders.prefetch(order, hint);
        match hint {
            Hint::First => {
                state.slots.hint(order);
                self.prefetch_account(index, account);
            }
            Hint::Second => state.prefetch_details(state.slots.guess(order)),
            Hint::Third => {
                if let Some(details) = state.details.get(state.slots.guess(order) as usize) {
                    state.names.hint(name_hash(details.account, &details.client_order));
                }
            }
        }
    }

    #[inline(always)]
    fn prefetch_account(&self, index: usize, account: AccountId) {
        let holding = self.state.holding(account, index);
        // Its first two lines.
        prefetch(holding);
        prefetch(&holding.waiting);
        prefetch(self.state.accounts.get(account));
        prefetch(self.state.seats[index].place(account));
    }
}

impl State {
    #[inline(always)]
    fn prefetch_details(&self, slot: u32) {
        if let Some(details) = self.details.get(slot as usize) {
            prefetch(details);
            prefetch(&details.value);
            prefetch(&details.reservation);
        }
    }

    /// An open order has a name no longer, given as the hash of account and name.
    #[inline]
    pub(crate) fn forget_name(&mut self, name: u64) {
        let count = self.names.entry(name);
        *count -= 1;
        if *count == 0 {
            self.names.remove(name);
        }
    }
}
