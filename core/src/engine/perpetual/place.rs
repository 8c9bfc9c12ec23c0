//! A new perpetual order: its checks in the order of `perpetual.md` 7.10, then it waits for its trigger or runs.

use super::orders::condition;
use super::run::Role;
use crate::command::{
    ClientOrder, PerpetualOrderType as Type, PerpetualParameter as P, PerpetualState,
    PerpetualTimeInForce as Tif, PlacePerpetual, PriceMatch, SelfTradePrevention, Side, WorkingType,
    order_flag,
};
use crate::ids::{AccountId, OrderId};
use crate::money::{MONEY_UNIT, Money, Price, Quantity};
use crate::perpetual::account::DISABLED;
use crate::perpetual::order::{Details, Stage, attached_name, is_name};
use crate::perpetual::{Perpetual, State};
use crate::reject::Reject;
use crate::risk::perpetual::trigger::{Range, Trailing, fires, is_callback};
use crate::risk::perpetual::{band, reduce_only, units};

/// Last good-till date, ms (`perpetual.md` 7.4).
const GOOD_TILL_END_MS: i64 = 253_402_300_799_000;
/// How far a good-till date must be ahead, ms.
const GOOD_TILL_AHEAD_MS: i64 = 600_000;
/// Equity for each order that an account without a position arms, micro-quote.
const ARMED_FOR: Money = 10 * MONEY_UNIT;

/// A placement whose bytes are within their enumerations and fit together.
struct Parsed {
    details: Details,
    attached_working_type: WorkingType,
    leverage: u32,
}

/// An order that a placement attaches.
struct Attached {
    /// Its place among the children of its parent.
    number: usize,
    order_type: Type,
    stop_price: Price,
    client_order: ClientOrder,
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

/// `None`: malformed.
#[inline(always)]
fn parse(place: &PlacePerpetual) -> Option<Parsed> {
    let side = Side::from_code(place.side)?;
    let order_type = Type::from_code(place.order_type)?;
    let time_in_force = Tif::from_code(place.time_in_force)?;
    let self_trade = SelfTradePrevention::from_code(place.self_trade)?;
    let working_type = WorkingType::from_code(place.working_type)?;
    let price_match = PriceMatch::from_code(place.price_match)?;
    let attached_working_type = WorkingType::from_code(place.attached_working_type)?;
    let flag = |bit: u16| place.flags & bit != 0;
    let has_limit = matches!(order_type, Type::Limit | Type::Stop | Type::TakeProfit);
    let has_stop =
        matches!(order_type, Type::Stop | Type::TakeProfit | Type::StopMarket | Type::TakeProfitMarket);
    let is_trailing = order_type == Type::TrailingStopMarket;
    let closes = flag(order_flag::CLOSE_POSITION);
    let is_sound = place.flags < order_flag::KEEP_PRIORITY
        && order_type != Type::Liquidation
        && self_trade != SelfTradePrevention::RejectTaker
        && (has_limit || (place.price == 0 && price_match == PriceMatch::None))
        && (price_match == PriceMatch::None || place.price == 0)
        && (has_limit || time_in_force == Tif::GoodTillCancel)
        && (has_stop || is_trailing || place.stop_price == 0)
        && (is_trailing || place.callback_rate == 0)
        && (time_in_force == Tif::GoodTillDate || place.good_till_ms == 0)
        && (!closes
            || (matches!(order_type, Type::StopMarket | Type::TakeProfitMarket)
                && place.quantity == 0
                && !flag(order_flag::REDUCE_ONLY)))
        && (closes || !flag(order_flag::GTE))
        && (matches!(order_type, Type::Limit | Type::Market)
            || (place.take_profit == 0 && place.stop_loss == 0));
    is_sound.then_some(Parsed {
        details: Details {
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
        },
        attached_working_type,
        leverage: place.leverage,
    })
}

impl Perpetual {
    /// See [`PlacePerpetual`]; the id of the order, 0 for a test.
    pub(crate) fn place(&mut self, place: &PlacePerpetual) -> Result<OrderId, Reject> {
        let Parsed { mut details, attached_working_type, leverage } =
            parse(place).ok_or(Reject::Malformed)?;
        self.state.check_account(details.account)?;
        let index = self.state.index_of(details.market).ok_or(Reject::MarketNotFound)?;
        self.prefetch_meeting(index, details.side);
        self.state.check_state(index, &details)?;
        let could_match = matches!(details.order_type, Type::Limit | Type::Market)
            && details.time_in_force != Tif::PostOnly;
        if could_match && self.state.is_busy(index) {
            return Err(Reject::EngineBusy);
        }
        self.check_names(place)?;
        let waits = !matches!(details.order_type, Type::Limit | Type::Market);
        let has_price = matches!(details.order_type, Type::Limit | Type::Stop | Type::TakeProfit);
        // Resolved at the trigger for the types that wait.
        let mut is_unresolved = details.price_match != PriceMatch::None && waits;
        let mut has_no_level = false;
        if details.price_match != PriceMatch::None && !waits {
            match self.matched_price(index, details.side, details.price_match) {
                Some(price) => details.price = price,
                None => (is_unresolved, has_no_level) = (true, true),
            }
        }
        let state = &self.state;
        if has_price && !is_unresolved {
            state.check_price(index, details.price)?;
        }
        state.check_stops(index, &details, [place.take_profit, place.stop_loss])?;
        let watched = state.watched(index, details.working_type);
        if !details.is(order_flag::CLOSE_POSITION) {
            if !waits && details.is(order_flag::REDUCE_ONLY) {
                // The most is asked for only after the clamp (`perpetual.md` 7.7).
                let floored = state.floor_quantity(index, &details)?;
                let held = state.holding(details.account, index).quantity;
                details.quantity =
                    reduce_only::clamped(details.side, floored, held).ok_or(Reject::ReduceOnlyRefused)?;
            }
            details.quantity = state.check_quantity(index, &details, has_price)?;
            let price = match details.order_type {
                Type::Limit | Type::Stop | Type::TakeProfit if is_unresolved => 0,
                Type::Limit | Type::Stop | Type::TakeProfit => details.price,
                Type::Market | Type::TrailingStopMarket => state.mark(index),
                _ => details.stop_price,
            };
            if price != 0 {
                state.check_notional(index, &details, price)?;
            }
        }
        if has_price && !is_unresolved {
            state.check_band(index, details.side, details.price)?;
        } else if details.order_type == Type::Market {
            self.check_counterparty(index, details.side)?;
        }
        let state = &self.state;
        state.check_date(&mut details)?;
        let attached_count = attached(place).count() as i64;
        state.check_limits(index, &details, waits, attached_count)?;
        let record = state.accounts.get(details.account);
        if record.restrictions & DISABLED != 0 {
            return Err(Reject::TradingDisabled);
        }
        if record.liquidating != 0 || state.holding(details.account, index).liquidating != 0 {
            return Err(Reject::InLiquidation);
        }
        let held = state.leverage(details.account, index);
        if leverage != 0 {
            state.check_leverage(details.account, index, leverage)?;
        }
        let leverage_in_force = if leverage == 0 { held } else { leverage };
        let is_test = place.flags & order_flag::TEST != 0;
        if waits && !is_test {
            self.state.check_trigger(index, &mut details, watched)?;
        }
        let terms = if waits || is_unresolved {
            None
        } else {
            // Of attached orders' place on the right side, margin comes first.
            let judged = self.judge(index, &details, leverage_in_force);
            match judged {
                // A test ends with the margin check.
                Err(Reject::PostOnlyWouldCross | Reject::FillOrKill) | Ok(_) if is_test => return Ok(0),
                Err(Reject::PostOnlyWouldCross | Reject::FillOrKill) | Ok(_) => {
                    self.state.check_attached(index, &details, place)?;
                }
                Err(_) => {}
            }
            Some(judged?)
        };
        if is_test {
            return Ok(0);
        }
        if has_no_level {
            self.state.check_attached(index, &details, place)?;
            return Err(Reject::NoPriceMatch);
        }

        // Nothing refuses it any more.
        if leverage != 0 && leverage != held {
            self.state.touch(details.account, index).leverage = leverage;
            self.state.suspect(details.account);
        }
        details.id = self.take_id();
        details.stage = if waits { Stage::Waiting } else { Stage::Running };
        let slot = if !waits && details.is_immediate() && attached_count == 0 {
            self.enter_fleeting(details)
        } else {
            self.enter(details)
        };
        self.announce(slot, 0, terms.as_ref());
        for order in attached(place) {
            let child = self.attach(slot, &order, attached_working_type);
            self.state.details[slot as usize].children[order.number] = child;
        }
        if let Some(terms) = terms {
            self.run(slot, &terms, Role::Owner);
        }
        Ok(details.id)
    }

    /// The next order id.
    pub(crate) fn take_id(&mut self) -> OrderId {
        let id = self.state.next_order;
        self.state.next_order += 1;
        id
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
        let slot = self.enter(details);
        self.announce(slot, 0, None);
        details.id
    }

    /// The name is one, and neither it nor that of an order to attach is taken.
    fn check_names(&self, place: &PlacePerpetual) -> Result<(), Reject> {
        let PlacePerpetual { account, client_order, .. } = *place;
        if !is_name(&client_order) {
            return Err(Reject::InvalidClientOrder);
        }
        let is_taken = self.is_named(account, &client_order)
            || attached(place).map(|order| order.client_order).any(|name| {
                // Where the parent's is cut it may come to the same again.
                name == client_order || self.is_named(account, &name)
            });
        if is_taken { Err(Reject::DuplicateClientOrder) } else { Ok(()) }
    }

    /// Whether an open order of the account has a name.
    fn is_named(&self, account: AccountId, name: &ClientOrder) -> bool {
        let names = &self.state.names;
        names.vacancy(names.hash(account, name)).is_none()
            && (0..self.books.len()).any(|index| self.find_named(account, index, name).is_some())
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
    pub(crate) fn check_account(&self, account: AccountId) -> Result<(), Reject> {
        if account != crate::ids::FEE_ACCOUNT && account < self.accounts_count {
            Ok(())
        } else {
            Err(Reject::AccountNotFound)
        }
    }

    /// The market takes such an order now.
    fn check_state(&self, index: usize, order: &Details) -> Result<(), Reject> {
        let takes = match self.symbols[index].state() {
            PerpetualState::Closed => return Err(Reject::MarketDelisted),
            PerpetualState::Trading => true,
            PerpetualState::PostOnly => order.time_in_force == Tif::PostOnly,
            PerpetualState::ReduceOnly => order.reduces(),
            PerpetualState::CancelOnly | PerpetualState::Halted => false,
        };
        if takes { Ok(()) } else { Err(Reject::StateRefuses) }
    }

    pub(crate) fn check_price(&self, index: usize, price: Price) -> Result<(), Reject> {
        let symbol = &self.symbols[index];
        if price <= 0 {
            return Err(Reject::InvalidPrice);
        }
        if !symbol.tick.divides(price) {
            return Err(Reject::InvalidTick);
        }
        if price < symbol.get(P::MinPrice) {
            return Err(Reject::PriceBelowMinimum);
        }
        if price > symbol.get(P::MaxPrice) {
            return Err(Reject::PriceAboveMaximum);
        }
        Ok(())
    }

    /// Stop, activation and attached prices, and the callback.
    fn check_stops(&self, index: usize, order: &Details, attached: [Price; 2]) -> Result<(), Reject> {
        let as_stop = |price: Price, invalid: Reject| match self.check_price(index, price) {
            Err(Reject::InvalidPrice) => Err(invalid),
            Err(Reject::PriceAboveMaximum) => Err(Reject::StopPriceAboveMaximum),
            other => other,
        };
        if order.order_type == Type::TrailingStopMarket {
            if order.stop_price != 0 {
                as_stop(order.stop_price, Reject::InvalidActivationPrice)?;
            }
            if !is_callback(order.callback_rate.into()) {
                return Err(Reject::InvalidCallback);
            }
        } else if condition(order.order_type).is_some() {
            as_stop(order.stop_price, Reject::InvalidStopPrice)?;
        }
        for price in attached.into_iter().filter(|&price| price != 0) {
            as_stop(price, Reject::InvalidStopPrice)?;
        }
        Ok(())
    }

    /// The quantity floored to lots, if that is not too little.
    pub(crate) fn floor_quantity(&self, index: usize, order: &Details) -> Result<Quantity, Reject> {
        let symbol = &self.symbols[index];
        if order.quantity <= 0 {
            return Err(Reject::InvalidQuantity);
        }
        let quantity = order.quantity - order.quantity % symbol.lot.value();
        if quantity >= symbol.get(P::MinQuantity) { Ok(quantity) } else { Err(Reject::QuantityOutOfRange) }
    }

    /// The same, if it is not too much either.
    pub(crate) fn check_quantity(
        &self,
        index: usize,
        order: &Details,
        has_price: bool,
    ) -> Result<Quantity, Reject> {
        let quantity = self.floor_quantity(index, order)?;
        let most = self.symbols[index].get(if has_price { P::MaxQuantity } else { P::MaxMarketQuantity });
        if quantity <= most { Ok(quantity) } else { Err(Reject::QuantityOutOfRange) }
    }

    pub(crate) fn check_notional(&self, index: usize, order: &Details, price: Price) -> Result<(), Reject> {
        let symbol = &self.symbols[index];
        // Exact for a price on the tick.
        let notional: Money = units::ceil_value(order.quantity, price).ok_or(Reject::AboveMaxNotional)?;
        if notional < symbol.get(P::MinNotional) && !order.is(order_flag::REDUCE_ONLY) {
            return Err(Reject::BelowMinNotional);
        }
        let record = self.accounts.get(order.account);
        if notional > self.order_notional_max(order.account, index, record) {
            return Err(Reject::AboveMaxNotional);
        }
        Ok(())
    }

    pub(crate) fn check_band(&self, index: usize, side: Side, price: Price) -> Result<(), Reject> {
        let outside = match side {
            Side::Buy => Reject::PriceAboveBand,
            Side::Sell => Reject::PriceBelowBand,
        };
        let bound = self.symbols[index].entry_bound(side).ok_or(outside)?;
        if band::is_within(side, price, bound) { Ok(()) } else { Err(outside) }
    }

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
    fn check_limits(&self, index: usize, order: &Details, waits: bool, attached: i64) -> Result<(), Reject> {
        let symbol = &self.symbols[index];
        let holding = self.holding(order.account, index);
        let most = self.open_orders_max(order.account, index, self.accounts.get(order.account));
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

    /// The latest price of a working type.
    pub(crate) fn watched(&self, index: usize, working_type: WorkingType) -> Price {
        match working_type {
            WorkingType::ContractPrice => self.symbols[index].contract_price(),
            WorkingType::MarkPrice => self.mark(index),
        }
    }

    /// It would not fire at once; a trailing order gets its activation price.
    fn check_trigger(&self, _: usize, order: &mut Details, watched: Price) -> Result<(), Reject> {
        match condition(order.order_type) {
            Some(condition) if fires(condition, order.side, order.stop_price, Range::of(watched)) => {
                Err(Reject::ImmediateTrigger)
            }
            Some(_) => Ok(()),
            None => {
                let activation = (order.stop_price != 0).then_some(order.stop_price);
                let callback = order.callback_rate.into();
                let trailing = Trailing::new(order.side, activation, callback, watched)
                    .ok_or(Reject::ImmediateTrigger)?;
                (order.stop_price, order.extreme) = (trailing.activation, trailing.extreme);
                Ok(())
            }
        }
    }

    /// Attached prices stand on the right side of the order's price.
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
