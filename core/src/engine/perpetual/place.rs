//! A new perpetual order: its checks in the order of `perpetual.md` 7.10, then it waits for its trigger or runs.

use super::At;
use super::admission::Admission;
use super::execute::Role;
use crate::command::{
    ClientOrder, PerpetualOrderType as Type, PerpetualParameter as P, PerpetualTimeInForce as Tif,
    PlacePerpetual, PriceMatch, SelfTradePrevention, Side, WorkingType, order_flag,
};
use crate::emit::Emitter;
use crate::event::Sink;
use crate::ids::{AccountId, OrderId};
use crate::money::{MONEY_UNIT, Money, Price, Quantity};
use crate::perpetual::account::{Account, Holding};
use crate::perpetual::market::Symbol;
use crate::perpetual::order::{Details, Stage, attached_name, is_name};
use crate::perpetual::triggers::condition;
use crate::perpetual::{Perpetual, State};
use crate::reject::Reject;
use crate::risk::perpetual::trigger::{Range, Trailing, fires};
use crate::risk::perpetual::{band, reduce_only};

/// Last good-till date, ms (`perpetual.md` 7.4).
const GOOD_TILL_END_MS: i64 = 253_402_300_799_000;
/// How far a good-till date must be ahead, ms.
const GOOD_TILL_AHEAD_MS: i64 = 600_000;
/// Equity for each order that an account without a position arms, micro-quote.
const ARMED_FOR: Money = 10 * MONEY_UNIT;

/// The codes of a placement, decoded.
struct Codes {
    side: Side,
    order_type: Type,
    time_in_force: Tif,
    self_trade: SelfTradePrevention,
    working_type: WorkingType,
    price_match: PriceMatch,
    attached_working_type: WorkingType,
}

/// An order that a placement attaches.
struct Attached {
    /// Its place among the children of its parent.
    number: usize,
    order_type: Type,
    stop_price: Price,
    client_order: ClientOrder,
}

/// Whether a placement attaches orders.
#[inline(always)]
fn has_attached(place: &PlacePerpetual) -> bool {
    (place.take_profit | place.stop_loss) != 0
}

/// The orders that a placement attaches, in the order of their ids.
fn attached(place: &PlacePerpetual) -> impl Iterator<Item = Attached> + '_ {
    let kinds =
        [(Type::TakeProfitMarket, place.take_profit, b"_tp"), (Type::StopMarket, place.stop_loss, b"_sl")];
    let wanted = kinds.into_iter().enumerate().filter(|(_, (_, stop_price, _))| *stop_price != 0);
    wanted.map(|(number, (order_type, stop_price, suffix))| Attached {
        number,
        order_type,
        stop_price,
        client_order: attached_name(&place.client_order, suffix),
    })
}

impl Codes {
    /// `None`: not all are within their enumerations, or the placement does not fit together.
    #[inline(always)]
    fn of(place: &PlacePerpetual) -> Option<Codes> {
        let side = Side::from_code(place.side)?;
        let order_type = Type::from_code(place.order_type)?;
        let time_in_force = Tif::from_code(place.time_in_force)?;
        let self_trade = SelfTradePrevention::from_code(place.self_trade)?;
        let working_type = WorkingType::from_code(place.working_type)?;
        let price_match = PriceMatch::from_code(place.price_match)?;
        let attached_working_type = WorkingType::from_code(place.attached_working_type)?;
        let flag = |bit: u16| place.flags & bit != 0;
        let has_limit = order_type.has_price();
        let is_trailing = order_type == Type::TrailingStopMarket;
        let closes = flag(order_flag::CLOSE_POSITION);
        let is_sound = place.flags < order_flag::KEEP_PRIORITY
            && order_type != Type::Liquidation
            && self_trade != SelfTradePrevention::RejectTaker
            && (has_limit || (place.price == 0 && price_match == PriceMatch::None))
            && (price_match == PriceMatch::None || place.price == 0)
            && (has_limit || time_in_force == Tif::GoodTillCancel)
            && (order_type.is_conditional() || place.stop_price == 0)
            && (is_trailing || place.callback_rate == 0)
            && (time_in_force == Tif::GoodTillDate || place.good_till_ms == 0)
            && (!closes
                || (matches!(order_type, Type::StopMarket | Type::TakeProfitMarket)
                    && place.quantity == 0
                    && !flag(order_flag::REDUCE_ONLY)))
            && (closes || !flag(order_flag::GTE))
            && (!order_type.is_conditional() || !has_attached(place));
        if !is_sound {
            return None;
        }
        Some(Codes {
            side,
            order_type,
            time_in_force,
            self_trade,
            working_type,
            price_match,
            attached_working_type,
        })
    }
}

/// The quantity that an order enters with: whole lots, and no more than it may reduce.
#[inline(always)]
fn size_of_order(
    symbol: &Symbol,
    details: &Details,
    (waits, has_price): (bool, bool),
    held: Quantity,
) -> Result<Quantity, Reject> {
    let mut quantity = details.quantity;
    if !waits && details.is(order_flag::REDUCE_ONLY) {
        // The most is asked for only after the clamp (`perpetual.md` 7.7).
        let clamped = reduce_only::clamped(details.side, symbol.floor_quantity(quantity)?, held);
        quantity = clamped.ok_or(Reject::ReduceOnlyRefused)?;
    }
    symbol.check_quantity(quantity, has_price)
}

/// Stop price and extreme of an order that waits: it would not fire at once, and a trailing order gets its activation price.
#[inline(never)]
fn trigger_of(
    (order_type, side, callback_rate): (Type, Side, u32),
    stop_price: Price,
    watched: Price,
) -> Result<(Price, Price), Reject> {
    match condition(order_type) {
        Some(condition) if fires(condition, side, stop_price, Range::of(watched)) => {
            Err(Reject::ImmediateTrigger)
        }
        Some(_) => Ok((stop_price, 0)),
        None => {
            let activation = (stop_price != 0).then_some(stop_price);
            let trailing = Trailing::new(side, activation, callback_rate.into(), watched);
            trailing.map(|it| (it.activation, it.extreme)).ok_or(Reject::ImmediateTrigger)
        }
    }
}

impl Perpetual {
    /// See [`PlacePerpetual`]; the id of the order, 0 for a test.
    #[inline(never)]
    pub(super) fn place<S: Sink>(
        &mut self,
        place: &PlacePerpetual,
        at: At,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<OrderId, Reject> {
        let codes = Codes::of(place).ok_or(Reject::Malformed)?;
        let Codes { side, order_type, time_in_force, self_trade, working_type, price_match, .. } = codes;
        let mut details = Details {
            account: place.account,
            market: place.market,
            price: place.price,
            side,
            order_type,
            original_type: order_type,
            time_in_force,
            self_trade,
            working_type,
            price_match,
            flags: place.flags & !order_flag::TEST,
            callback_rate: place.callback_rate,
            quantity: place.quantity,
            stop_price: place.stop_price,
            good_till_ms: place.good_till_ms,
            client_order: place.client_order,
            ..Details::default()
        };
        self.state.check_account(details.account)?;
        let index = self.state.index_of(details.market).ok_or(Reject::MarketNotFound)?;
        let name = self.state.client_order_ids.hash(details.account, &details.client_order);
        let admission = self.accept(index, place, (&mut details, name))?;
        if place.flags & order_flag::TEST != 0 {
            // What time has brought about since follows it, as any command that was not refused.
            let is_first = self.begin_change(at, emitter);
            self.end_change(is_first, emitter);
            return Ok(0);
        }
        // Nothing refuses it any more.
        let id = self.take_id();
        details.id = id;
        details.stage = if admission.is_some() { Stage::Running } else { Stage::Waiting };
        let is_first = self.begin_change(at, emitter);
        let working_type = codes.attached_working_type;
        self.enter_accepted(index, (&details, name), admission.as_ref(), (place, working_type));
        self.end_change(is_first, emitter);
        Ok(id)
    }

    /// Checks a placement, whose name has the hash `name`, in the order of `perpetual.md` 7.10: what it enters with if it runs at
    /// once. Changes nothing but what is resolved of `details`.
    #[inline(always)]
    fn accept(
        &mut self,
        index: usize,
        place: &PlacePerpetual,
        (details, name): (&mut Details, u64),
    ) -> Result<Option<Admission>, Reject> {
        let state = &self.state;
        let (record, holding) = (state.accounts.get(details.account), state.holding(details.account, index));
        let symbol = &state.symbols[index];
        symbol.takes(details)?;
        let (waits, has_price) = (details.order_type.is_conditional(), details.order_type.has_price());
        let could_match = !waits && details.time_in_force != Tif::PostOnly;
        if could_match && state.is_busy(index) {
            return Err(Reject::EngineBusy);
        }
        self.check_names(place, name)?;
        // Resolved at the trigger for the types that wait.
        let mut is_unresolved = details.price_match != PriceMatch::None && waits;
        let mut has_no_level = false;
        if details.price_match != PriceMatch::None && !waits {
            match self.matched_price(index, details.side, details.price_match) {
                Some(price) => details.price = price,
                None => (is_unresolved, has_no_level) = (true, true),
            }
        }
        if has_price && !is_unresolved {
            symbol.check_price(details.price)?;
        }
        symbol.check_stops(details, [place.take_profit, place.stop_loss])?;
        if !details.is(order_flag::CLOSE_POSITION) {
            details.quantity = size_of_order(symbol, details, (waits, has_price), holding.quantity)?;
            let price = match details.order_type {
                _ if has_price && is_unresolved => 0,
                _ if has_price => details.price,
                Type::Market | Type::TrailingStopMarket => symbol.prices.mark,
                _ => details.stop_price,
            };
            if price != 0 {
                let most = state.order_notional_max(details.account, (index, symbol), record);
                symbol.check_notional(details, price, most)?;
            }
        }
        if has_price && !is_unresolved {
            symbol.check_band(details.side, details.price)?;
        } else if details.order_type == Type::Market {
            self.check_counterparty(index, details.side)?;
        }
        state.check_date(details)?;
        let attached_count = i64::from(place.take_profit != 0) + i64::from(place.stop_loss != 0);
        state.check_limits((index, symbol), (record, holding), details, (waits, attached_count))?;
        state.may_order(details.account, record)?;
        let leverage = match place.leverage {
            0 => symbol.leverage(holding),
            asked => state.check_leverage(details.account, index, asked).map(|()| asked)?,
        };
        let is_test = place.flags & order_flag::TEST != 0;
        if waits && !is_test {
            let watched = symbol.watched(details.working_type);
            let of = (details.order_type, details.side, details.callback_rate);
            (details.stop_price, details.extreme) = trigger_of(of, details.stop_price, watched)?;
        }
        let runs = !waits && !is_unresolved;
        let admission = if runs { self.judge_new(index, place, details, leverage)? } else { None };
        if has_no_level && !is_test {
            self.state.check_attached(index, details, place)?;
            return Err(Reject::NoPriceMatch);
        }
        Ok(admission)
    }

    /// Judges an order that runs at once, and what it attaches: of the place of those on the right side margin comes first. `None` for a
    /// test, which ends with the margin check.
    #[inline(always)]
    fn judge_new(
        &mut self,
        index: usize,
        place: &PlacePerpetual,
        details: &Details,
        leverage: u32,
    ) -> Result<Option<Admission>, Reject> {
        let judged = self.judge(index, details, leverage, None);
        match judged {
            Err(Reject::PostOnlyWouldCross | Reject::FillOrKill) | Ok(_) => {}
            Err(reject) => return Err(reject),
        }
        if place.flags & order_flag::TEST != 0 {
            return Ok(None);
        }
        if has_attached(place) {
            self.state.check_attached(index, details, place)?;
        }
        judged.map(Some)
    }

    /// Enters an order that was accepted, whose name has the hash `name`, with those attached to it, and runs it unless it waits.
    #[inline(always)]
    fn enter_accepted(
        &mut self,
        index: usize,
        (details, name): (&Details, u64),
        admission: Option<&Admission>,
        (place, attached_working_type): (&PlacePerpetual, WorkingType),
    ) {
        let account = details.account;
        if place.leverage != 0 && place.leverage != self.state.leverage(account, index) {
            self.state.touch(account, index).set_leverage(place.leverage);
            self.state.tell_position(account, index);
            self.state.mark_for_check(account);
        }
        let slot = if admission.is_some() && details.is_immediate() && !has_attached(place) {
            self.register_fleeting(details)
        } else {
            self.register_named(details, name)
        };
        self.state.writer.tell_new(
            details,
            0,
            admission.map_or(0, |admission| admission.reference_of(details)),
        );
        if has_attached(place) {
            self.attach_all(slot, place, attached_working_type);
        }
        if let Some(admission) = admission {
            self.execute(slot, admission, Role::Owner);
        }
    }

    /// The next order id.
    pub(crate) fn take_id(&mut self) -> OrderId {
        let id = self.state.next_order;
        self.state.next_order += 1;
        id
    }

    /// Makes the orders that a placement attaches to its own, in `parent`.
    #[inline(never)]
    fn attach_all(&mut self, parent: u32, place: &PlacePerpetual, working_type: WorkingType) {
        for order in attached(place) {
            let child = self.attach(parent, &order, working_type);
            self.state.details[parent as usize].children[order.number] = child;
        }
    }

    /// Makes an order attached to another.
    fn attach(&mut self, parent: u32, attached: &Attached, working_type: WorkingType) -> OrderId {
        let Attached { order_type, stop_price, client_order, .. } = *attached;
        let of = self.state.details[parent as usize];
        let details = Details {
            id: self.take_id(),
            account: of.account,
            market: of.market,
            side: of.side.opposite(),
            order_type,
            original_type: order_type,
            working_type,
            flags: order_flag::REDUCE_ONLY,
            stop_price,
            parent: of.id,
            client_order,
            ..Details::default()
        };
        self.register(&details);
        self.state.writer.tell_new(&details, 0, 0);
        details.id
    }

    /// The name, which has the hash `hash`, is one, and neither it nor that of an order to attach is taken.
    #[inline(always)]
    fn check_names(&self, place: &PlacePerpetual, hash: u64) -> Result<(), Reject> {
        let PlacePerpetual { account, ref client_order, .. } = *place;
        if !is_name(client_order) {
            return Err(Reject::InvalidClientOrder);
        }
        let is_taken = self.is_taken(account, client_order, hash);
        if is_taken || (has_attached(place) && self.finds_attached(place)) {
            return Err(Reject::DuplicateClientOrder);
        }
        Ok(())
    }

    /// Whether an open order of the account has a name, whose hash is `hash`.
    #[inline(always)]
    fn is_taken(&self, account: AccountId, name: &ClientOrder, hash: u64) -> bool {
        self.state.client_order_ids.may_hold(hash) && self.finds_named(account, name)
    }

    /// Whether the name of an order to attach is taken.
    #[inline(never)]
    fn finds_attached(&self, place: &PlacePerpetual) -> bool {
        let PlacePerpetual { account, ref client_order, .. } = *place;
        attached(place).map(|order| order.client_order).any(|name| {
            // Where the parent's is cut it may come to the same again.
            name == *client_order
                || self.is_taken(account, &name, self.state.client_order_ids.hash(account, &name))
        })
    }

    /// The same without the hash.
    #[cold]
    #[inline(never)]
    fn finds_named(&self, account: AccountId, name: &ClientOrder) -> bool {
        (0..self.books.len()).any(|index| self.find_named(account, index, name).is_some())
    }

    /// The oldest open order of an account in a market with a name.
    pub(crate) fn find_named(&self, account: AccountId, index: usize, name: &ClientOrder) -> Option<u32> {
        self.open_orders(account, index).find(|&slot| self.state.details[slot as usize].client_order == *name)
    }

    fn check_counterparty(&self, index: usize, side: Side) -> Result<(), Reject> {
        let Some(best) = self.books[index].best(&self.orders, side.opposite()) else { return Ok(()) };
        let bound = self.state.symbols[index].entry_bound(side).ok_or(Reject::CounterpartyOutsideBand)?;
        if band::is_within(side, best, bound) { Ok(()) } else { Err(Reject::CounterpartyOutsideBand) }
    }
}

impl State {
    /// An account of the exchange that may act here.
    #[inline(always)]
    pub(crate) fn check_account(&self, account: AccountId) -> Result<(), Reject> {
        if account != crate::ids::FEE_ACCOUNT && account < self.accounts_count {
            Ok(())
        } else {
            Err(Reject::AccountNotFound)
        }
    }

    #[inline(always)]
    fn check_date(&self, order: &mut Details) -> Result<(), Reject> {
        if order.time_in_force != Tif::GoodTillDate {
            return Ok(());
        }
        let date = order.good_till_ms.div_euclid(1_000).saturating_mul(1_000);
        let least = self.now_ms.saturating_add(GOOD_TILL_AHEAD_MS);
        if date <= least || date >= GOOD_TILL_END_MS {
            return Err(Reject::InvalidGoodTill);
        }
        order.good_till_ms = date;
        Ok(())
    }

    /// The order, and as many attached ones, may be open beside those that are.
    #[inline(always)]
    fn check_limits(
        &self,
        (index, symbol): (usize, &Symbol),
        (record, holding): (&Account, &Holding),
        order: &Details,
        (waits, attached): (bool, i64),
    ) -> Result<(), Reject> {
        let most = self.open_orders_max(order.account, (index, symbol), record);
        if i64::from(holding.orders.open_orders()) + 1 + attached > most {
            return Err(Reject::TooManyOpenOrders);
        }
        let waiting = i64::from(waits) + attached;
        if waiting != 0 && i64::from(holding.waiting) + waiting > symbol.get(P::MaxConditionalOrders) {
            return Err(Reject::TooManyConditional);
        }
        if waits && !self.may_arm(order.account) {
            return Err(Reject::TooManyConditional);
        }
        if order.is(order_flag::CLOSE_POSITION) && holding.closers & order.closer_bit() != 0 {
            return Err(Reject::ClosePositionExists);
        }
        Ok(())
    }

    /// Whether an account may arm one more: without a position anywhere it has no more of them than its equity, which is its wallet
    /// then, holds [`ARMED_FOR`], so that nobody has others wait for what costs nothing.
    fn may_arm(&self, account: AccountId) -> bool {
        // Of every market: one where orders wait alone was not touched yet.
        let holdings = || (0..self.symbols.len()).map(|index| self.holding(account, index));
        let waiting: i64 = holdings().map(|holding| i64::from(holding.waiting)).sum();
        holdings().any(|holding| holding.quantity != 0)
            || waiting < self.accounts.get(account).wallet / ARMED_FOR
    }

    /// Attached prices stand on the right side of the order's price.
    #[inline]
    fn check_attached(&self, index: usize, order: &Details, place: &PlacePerpetual) -> Result<(), Reject> {
        let price = if order.price == 0 { self.mark(index) } else { order.price };
        let (profit, loss) = (place.take_profit, place.stop_loss);
        let is_right = match order.side {
            Side::Buy => (profit == 0 || profit > price) && (loss == 0 || loss < price),
            Side::Sell => (profit == 0 || profit < price) && (loss == 0 || loss > price),
        };
        if is_right { Ok(()) } else { Err(Reject::ImmediateTrigger) }
    }
}
