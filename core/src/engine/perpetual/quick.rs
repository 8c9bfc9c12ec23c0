//! The commands that most are, carried out at once where nothing can follow from them: a plain limit order that rests whole,
//! the cancel of one, and its change. One account, no fill, no position: nothing to trim, no price that triggers watch.
//!
//! Nothing is decided here that is not decided by the long way (`place.rs`, `account.rs`): whatever is out of the ordinary,
//! a refusal above all, goes there from the start. `tests/perpetual/random.rs` compares both ways, and the reference model judges
//! both.

use super::modify::AMENDMENTS_MAX;
use super::settle::reason;
use crate::book::pool::NONE;
use crate::book::{Book, Mutation, Orders};
use crate::command::{
    CancelPerpetual, Command, ModifyPerpetual, PerpetualOrderType as Type, PerpetualParameter as P,
    PerpetualStatus, PerpetualTimeInForce as Tif, PlacePerpetual, PriceMatch, SelfTradePrevention, Side,
    TimeInForce, WorkingType,
};
use crate::engine::Outcome;
use crate::engine::emit::{Emitter, Places, depth_event};
use crate::event::{Done, Execution, PerpetualAmended, PerpetualPlaced, Sink};
use crate::ids::{AccountId, MarketId, OrderId};
use crate::money::{Money, Price, Quantity};
use crate::order::{Order, Traits};
use crate::perpetual::account::{Account, DISABLED, Holding, exposure_event};
use crate::perpetual::market::Symbol;
use crate::perpetual::order::{Details, Stage, is_name};
use crate::perpetual::{Perpetual, State};
use crate::prefetch::prefetch;
use crate::risk::perpetual::order_margin::{Bucket, Exposure, Reservation};
use crate::risk::perpetual::units;
use std::hint::select_unpredictable;

/// What such a command says of itself at the end.
pub(super) struct Quick {
    pub(super) order: OrderId,
    pub(super) account: AccountId,
    pub(super) market: MarketId,
    pub(super) idempotency_key: u64,
    /// Update id of the market's book.
    pub(super) update: u64,
}

impl Quick {
    /// As the last event of `command`.
    #[inline(always)]
    pub(super) fn done(self, command: &Command) -> Done {
        let Quick { order, account, market, idempotency_key, update } = self;
        Outcome { order, account, market: Some(market), idempotency_key, update, ..Outcome::default() }
            .done(command)
    }
}

impl State {
    /// Whether no scan has anything to do that the command does not bring about itself.
    #[inline]
    pub(super) fn is_quiet(&self) -> bool {
        let is_recalled = self.recalls.peek().is_some_and(|recall| recall.0.0 <= self.now_ms);
        (self.alert == 0) & !self.has_backlog() & self.shortfall.is_empty() & !is_recalled & !self.tests_all
    }

    /// The hash of an order's name, whose cell begins to load.
    #[inline(always)]
    pub(super) fn hinted_name(&self, details: &Details) -> u64 {
        let name = self.names.hash(details.account, &details.client_order);
        self.names.hint(name);
        name
    }

    /// Takes a plain order that has left its book, and whose name has the hash `name`, out of the tables, and gives its slot
    /// back.
    #[inline(always)]
    pub(super) fn forget_plain(&mut self, index: usize, orders: &mut Orders, slot: u32, name: u64) {
        let details = &mut self.details[slot as usize];
        let (account, id) = (details.account, details.id);
        details.stage = Stage::Running;
        self.names.remove(name);
        self.slots.remove(id);
        self.holdings[index].get_mut(account).orders.unlink(orders, slot);
        debug_assert!(slot != NONE);
        orders.pool.give(slot);
    }
}

impl Perpetual {
    /// Places an order that [`may_rest`], where it rests whole and changes nothing but its account's order margin, and tells all
    /// of it. `None`: nothing was done. Checks come in any order: one that fails is reported by the long way.
    #[inline(never)]
    pub(crate) fn place_quick<S: Sink>(
        &mut self,
        command: &Command,
        next_order: &mut OrderId,
        emitter: &mut Emitter<'_, S>,
    ) -> Option<()> {
        let place: &PlacePerpetual = command.body();
        let PlacePerpetual { account, market, price, quantity, idempotency_key, .. } = *place;
        let Perpetual { books, orders, state, .. } = self;
        state.check_account(account).ok()?;
        let index = state.index_of(market)?;
        // All of it may lie in the second cache or further: asked for now, it comes while the checks run, here or on the long
        // way.
        let name = state.names.hash(account, &place.client_order);
        state.names.hint(name);
        state.prefetch_account(index, account);
        if !is_plain(place) || !state.is_quiet() {
            return None;
        }
        state.prefetch_details(orders.pool.next());
        let side = Side::from_code(place.side)?;
        let self_trade = SelfTradePrevention::from_code(place.self_trade)?;
        let working_type = WorkingType::from_code(place.working_type)?;
        WorkingType::from_code(place.attached_working_type)?;
        let (book, entrant) = (&mut books[index], state.entrant(account, index));
        let Entrant { record, holding, .. } = entrant;
        let is_allowed = self_trade != SelfTradePrevention::RejectTaker
            && i64::from(holding.orders.open_orders()) < state.open_orders_max(account, index, record)
            && record.restrictions & DISABLED == 0
            && is_name(&place.client_order);
        if !is_allowed {
            return None;
        }
        let vacancy = state.names.vacancy(name)?;
        let (before, beside) = (holding.bucket(side), holding.bucket(side.opposite()));
        let opening = Opening { side, price, whole: quantity, open: quantity };
        let (bucket, reservation) = state.enters(book, orders, &entrant, &opening, before)?;

        // Nothing refuses it any more.
        let id = *next_order;
        *next_order += 1;
        let modes = (side, self_trade, working_type);
        let mut apart = None;
        let mut events: Places<'_, 5> = emitter.places(&mut apart);
        // Of what is at hand, not of what is stored: a load that spans two stores waits for both.
        let client_order = place.client_order;
        let reference = reservation.reference;
        events.put(
            0,
            PerpetualPlaced { order: id, account, market, fired: 0, client_order, reserved: 0, reference },
        );
        let details = resting(place, id, modes, reservation);
        let status = PerpetualStatus::New;
        events.put(1, details.event(status, Execution::New, reason::NONE, quantity));
        events.put(3, exposure_event(account, market, by_side(side, bucket, beside)));
        let update = book.next_update();
        events.put(4, Quick { order: id, account, market, idempotency_key, update }.done(command));
        let holding = state.holdings[index].get_mut(account);
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
            older: holding.orders.youngest,
            market,
            traits: Traits::new(side, TimeInForce::GoodTillCancel, SelfTradePrevention::None, 0),
        };
        let key = book.key(side, price);
        let (slot, mutation) = book.queue_new(orders, record, key);
        events.put(2, depth_event(market, mutation));
        holding.orders.link(orders, slot, side);
        holding.set_bucket(side, bucket);
        state.slots.insert(id, slot);
        state.names.fill(vacancy, name);
        if state.details.len() <= slot as usize {
            state.details.resize(slot as usize + 4096, Details::default());
        }
        state.details[slot as usize] = resting(place, id, modes, reservation);
        state.accounts.get_mut(account).markets[index / 64] |= 1 << (index % 64);
        emitter.bring(apart);
        Some(())
    }

    /// Cancels such an order, and tells it. `None`: nothing was done.
    #[inline(never)]
    pub(crate) fn cancel_quick<S: Sink>(
        &mut self,
        command: &Command,
        emitter: &mut Emitter<'_, S>,
    ) -> Option<()> {
        let cancel: &CancelPerpetual = command.body();
        if !self.state.is_quiet() || cancel.order == 0 {
            return None;
        }
        let Perpetual { books, orders, state, .. } = self;
        state.check_account(cancel.account).ok()?;
        let index = state.index_of(cancel.market)?;
        state.prefetch_holding(index, cancel.account);
        let slot = state.slots.find(cancel.order)?;
        prefetch(orders.pool.get(slot));
        state.prefetch_details(slot);
        let details = &state.details[slot as usize];
        // Anything may be asked for.
        let is_plain = details.id == cancel.order
            && details.account == cancel.account
            && details.market == cancel.market
            && details.stage == Stage::Resting
            && details.flags == 0
            && details.is_of(cancel.classes)
            && details.reserved_quantity != 0
            && details.good_till_ms == 0
            && details.children == [0; 2];
        if !is_plain {
            return None;
        }
        orders.prefetch_around(slot);
        let name = state.hinted_name(details);
        let (account, market, side, id) = (details.account, details.market, details.side, details.id);
        let remaining = orders.pool.get(slot).remaining;
        let part = details.reservation.scaled(remaining, details.reserved_quantity)?;
        let holding = state.holdings[index].get_mut(account);
        let beside = holding.bucket(side.opposite());
        let bucket = holding.bucket(side).without(remaining, part)?;

        // Nothing refuses it any more.
        holding.set_bucket(side, bucket);
        let mut apart = None;
        let mut events: Places<'_, 4> = emitter.places(&mut apart);
        let details = &state.details[slot as usize];
        let status = PerpetualStatus::Canceled;
        events.put(0, details.event(status, Execution::Canceled, reason::NONE, 0));
        events.put(2, exposure_event(account, market, by_side(side, bucket, beside)));
        let mutation = books[index].take_out(orders, slot);
        events.put(1, depth_event(market, mutation));
        let Mutation { update, .. } = mutation;
        events.put(3, Quick { order: id, account, market, idempotency_key: 0, update }.done(command));
        state.forget_plain(index, orders, slot, name);
        emitter.bring(apart);
        Some(())
    }
}

impl Perpetual {
    /// Gives such an order another price or quantity, at which it rests again, and tells it. `None`: nothing was done.
    #[inline(never)]
    pub(crate) fn modify_quick<S: Sink>(
        &mut self,
        command: &Command,
        emitter: &mut Emitter<'_, S>,
    ) -> Option<()> {
        let modify: &ModifyPerpetual = command.body();
        if !self.state.is_quiet() || modify.order == 0 || modify.flags != 0 || modify.price_match != 0 {
            return None;
        }
        let ModifyPerpetual { account, market, price, quantity, .. } = *modify;
        let Perpetual { books, orders, state, .. } = self;
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
        let opening = Opening { side, price, whole: quantity, open: quantity - details.filled };
        let remaining = orders.pool.get(slot).remaining;
        let part = details.reservation.scaled(remaining, details.reserved_quantity)?;
        let entrant = state.entrant(account, index);
        if entrant.record.restrictions & DISABLED != 0 || entrant.symbol.has_odd_lots() {
            return None;
        }
        let before = entrant.holding.bucket(side);
        let released = before.without(remaining, part)?;
        let (bucket, reservation) = state.enters(&books[index], orders, &entrant, &opening, released)?;

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
            reference: reservation.reference,
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
        let Mutation { update, .. } = entered;
        emitter.emit(Quick { order: id, account, market, idempotency_key: 0, update }.done(command));
        Some(())
    }
}

/// Whether a placement is of a kind that rests where it does not trade.
#[inline(always)]
pub(super) fn may_rest(place: &PlacePerpetual) -> bool {
    place.order_type == Type::Limit as u8
        && (place.time_in_force == Tif::GoodTillCancel as u8 || place.time_in_force == Tif::PostOnly as u8)
}

/// Whether a placement asks for nothing but an order at its price, now and at the account's leverage.
#[inline(always)]
pub(super) fn is_plain(place: &PlacePerpetual) -> bool {
    place.price_match == 0
        && place.flags == 0
        && (place.leverage | place.callback_rate) == 0
        && (place.stop_price | place.take_profit | place.stop_loss | place.good_till_ms) == 0
}

/// The terms of a new order that rests whole.
#[inline(always)]
fn resting(
    place: &PlacePerpetual,
    id: OrderId,
    (side, self_trade, working_type): (Side, SelfTradePrevention, WorkingType),
    reservation: Reservation,
) -> Details {
    Details {
        id,
        account: place.account,
        market: place.market,
        price: place.price,
        side,
        time_in_force: match place.time_in_force == Tif::PostOnly as u8 {
            true => Tif::PostOnly,
            false => Tif::GoodTillCancel,
        },
        self_trade,
        working_type,
        stage: Stage::Resting,
        quantity: place.quantity,
        client_order: place.client_order,
        reservation,
        reserved_quantity: place.quantity,
        ..Details::default()
    }
}

/// Who sends an order, and where to.
pub(super) struct Entrant<'a> {
    pub(super) account: AccountId,
    pub(super) index: usize,
    pub(super) symbol: &'a Symbol,
    pub(super) record: &'a Account,
    pub(super) holding: &'a Holding,
}

/// A quantity or a difference of prices as a side sees it: a sell sees the opposite.
#[inline(always)]
fn facing(side: Side, number: i64) -> i64 {
    units::signed_as(-i64::from(side == Side::Sell), number)
}

/// A bucket of a side and the one beside it as those of buys and sells.
#[inline(always)]
fn by_side(side: Side, own: Bucket, beside: Bucket) -> [Bucket; 2] {
    let is_buy = side == Side::Buy;
    [(own, beside), (beside, own)].map(|(buy, sell)| Bucket {
        quantity: select_unpredictable(is_buy, buy.quantity, sell.quantity),
        reference: select_unpredictable(is_buy, buy.reference, sell.reference),
        open_loss: select_unpredictable(is_buy, buy.open_loss, sell.open_loss),
        fee: select_unpredictable(is_buy, buy.fee, sell.fee),
    })
}

/// What an order asks of its market and its account when it enters the book.
struct Opening {
    side: Side,
    price: Price,
    /// What the filters judge, and what is to rest.
    whole: Quantity,
    open: Quantity,
}

impl State {
    #[inline(always)]
    pub(super) fn entrant(&self, account: AccountId, index: usize) -> Entrant<'_> {
        Entrant {
            account,
            index,
            symbol: &self.symbols[index],
            record: self.accounts.get(account),
            holding: self.holding(account, index),
        }
    }

    /// The checks of price, quantity, bracket and margin (`place.rs`, `judge.rs`) of an order that rests whole, beside a
    /// bucket of its side that is `before`: the bucket with it, and what it reserves. `None`: one fails, it would trade, or
    /// it is not sure that it is covered.
    #[inline(always)]
    fn enters(
        &self,
        book: &Book,
        orders: &Orders,
        entrant: &Entrant<'_>,
        opening: &Opening,
        before: Bucket,
    ) -> Option<(Bucket, Reservation)> {
        let Opening { side, price, whole, open } = *opening;
        let Entrant { account, index, symbol, record, holding } = *entrant;
        let opposite = book.side(side.opposite());
        let is_sound = symbol.is_trading()
            && !symbol.is_full()
            && symbol.takes_price(side, price)
            && symbol.tick.divides(price)
            && whole > 0
            && symbol.lot.divides(whole)
            && (symbol.get(P::MinQuantity)..=symbol.get(P::MaxQuantity)).contains(&whole)
            && (record.liquidating | holding.liquidating) == 0
            && opposite.best() > opposite.key(book.steps(price));
        if !is_sound {
            return None;
        }
        let notional = units::value(price, whole)?;
        let most = self.order_notional_max(account, index, record);
        if !(symbol.get(P::MinNotional)..=most).contains(&notional) {
            return None;
        }
        // Sides are as good as random, so nothing that both can have in common branches on one.
        let least = symbol.sell_reference().max(book.best(orders, Side::Buy).unwrap_or(0));
        let judged = price.max(select_unpredictable(side == Side::Sell, least, 0));
        let reference = if (judged, open) == (price, whole) { notional } else { units::value(judged, open)? };
        let mark = symbol.prices.mark;
        let [_, taker_rate, ..] = self.rates_of(record)?;
        // Better than the mark, and no product in question that could leave its range.
        let loses_nothing =
            facing(side, judged.wrapping_sub(mark)) <= 0 && open.leading_zeros() + mark.leading_zeros() >= 32;
        let reservation = if loses_nothing {
            Reservation::without_loss(reference, taker_rate)?
        } else {
            Reservation::new(side, open, reference, mark, taker_rate)?
        };
        let bucket = self.admits(entrant, (side, before), open, reservation)?;
        Some((bucket, reservation))
    }

    /// Bracket and margin (`judge.rs`) of `open` of an order beside a bucket of its side that is `before`: the bucket with it.
    /// `None`: it must not enter, or it is not sure that it is covered.
    #[inline(always)]
    pub(super) fn admits(
        &self,
        entrant: &Entrant<'_>,
        (side, before): (Side, Bucket),
        open: Quantity,
        reservation: Reservation,
    ) -> Option<Bucket> {
        let Entrant { account, index, symbol, record, holding } = *entrant;
        let mark = symbol.prices.mark;
        let bucket = before.with(open, reservation)?;
        let leverage = symbol.leverage(holding);
        let (position, value) = units::notional_and_value(holding.quantity, mark)?;
        // What a sell asks is what a buy asks beside the opposite position and orders.
        let held = facing(side, holding.quantity);
        let exposure = Exposure::of(held, position, bucket, holding.bucket(side.opposite()));
        let filled = exposure.filled(Side::Buy)?;
        // Most stay within the lowest bracket, whose leverage is the largest.
        let lowest = symbol.brackets.first();
        let own = self.position_notional_max(account, index, record);
        let is_low = filled <= lowest.cap.min(own) && leverage <= lowest.leverage_max;
        if !is_low
            && bucket.opening(Side::Buy, held)? > 0
            && filled > symbol.brackets.exposure_max(leverage).min(own)
        {
            return None;
        }
        // Whoever may enter with nothing free, which takes a comparison with the requirement before, goes the long way.
        if self.has_plenty(index, (record, holding), value, &exposure, leverage).unwrap_or(false) {
            return Some(bucket);
        }
        (self.free_with(account, index, (side, bucket))? >= 0).then_some(bucket)
    }

    /// What an account would have free with another bucket.
    #[inline(never)]
    fn free_with(&self, account: AccountId, index: usize, (side, bucket): (Side, Bucket)) -> Option<Money> {
        let mut after = *self.holding(account, index);
        after.set_bucket(side, bucket);
        self.sums_with(account, self.wallet(account), Some((index, &after)))?.free()
    }
}
