//! What an order that is about to enter the market must pass: bracket, margin, post-only, fill-or-kill. Used by new,
//! fired and modified orders alike.

use super::execute::Role;
use super::plan::{Arrival, Purpose};
use crate::command::{MarginMode, PerpetualOrderType, PerpetualTimeInForce, PriceMatch, Side, order_flag};
use crate::ids::AccountId;
use crate::money::{Money, Price, Quantity};
use crate::perpetual::account::{Holding, HotAccount, HotHolding};
use crate::perpetual::order::Details;
use crate::perpetual::{Perpetual, State, mode_of};
use crate::reject::Reject;
use crate::risk::perpetual::order_margin::{Bucket, Exposure, Reservation, reference_price};
use crate::risk::perpetual::units;

/// What an order that passed enters with.
#[derive(Clone, Copy, Default)]
pub(crate) struct Admission {
    /// The last price at which it trades.
    pub(crate) limit: Price,
    pub(crate) reservation: Reservation,
    /// What it was computed for; 0: it reserves nothing.
    pub(crate) reserved_quantity: Quantity,
    /// What it comes to is planned, and to be committed.
    pub(crate) is_planned: bool,
}

impl Admission {
    /// What an order adds to the reference value of its side while all of it is open: nothing if it only reduces or may not rest.
    pub(crate) fn reference_of(&self, order: &Details) -> Money {
        if order.is(order_flag::REDUCE_ONLY) || order.is_immediate() { 0 } else { self.reservation.reference }
    }
}

/// Numbers out of range: an order too large to be valued.
const TOO_LARGE: Reject = Reject::AboveMaxNotional;

impl Perpetual {
    /// The price of a level of the book, if there is one.
    pub(crate) fn matched_price(&self, index: usize, side: Side, price_match: PriceMatch) -> Option<Price> {
        use PriceMatch as P;
        let (of, level) = match price_match {
            P::None => return None,
            P::Opponent => (side.opposite(), 1),
            P::Opponent5 => (side.opposite(), 5),
            P::Opponent10 => (side.opposite(), 10),
            P::Opponent20 => (side.opposite(), 20),
            P::Queue => (side, 1),
            P::Queue5 => (side, 5),
            P::Queue10 => (side, 10),
            P::Queue20 => (side, 20),
        };
        self.books[index].depth(&self.orders, of).nth(level - 1).map(|(price, _)| price)
    }

    /// The last price at which an order that runs may trade.
    #[inline(always)]
    pub(super) fn limit_of(&self, index: usize, order: &Details) -> Result<Price, Reject> {
        match order.order_type {
            PerpetualOrderType::Limit => Ok(order.price),
            _ => self.state.symbols[index].take_bound(order.side).ok_or(TOO_LARGE),
        }
    }

    /// Judges an order at its limit price; `leverage` is the one it would have, `released` the bucket of its side without it, where it
    /// is in.
    #[inline(always)]
    pub(super) fn judge(
        &mut self,
        index: usize,
        order: &Details,
        leverage: u32,
        released: Option<Bucket>,
    ) -> Result<Admission, Reject> {
        let limit = self.limit_of(index, order)?;
        let open = order.quantity - order.filled;
        let is_immediate = order.is_immediate();
        let mut admission = Admission { limit, ..Admission::default() };
        let is_fill_or_kill = order.order_type == PerpetualOrderType::Limit
            && order.time_in_force == PerpetualTimeInForce::FillOrKill;
        let arrival = || {
            let &Details { account, side, self_trade, .. } = order;
            Arrival { account, index, side, limit, open, leverage, self_trade, role: Role::Owner }
        };
        let mut offered = (0, 0);
        if is_immediate && (is_fill_or_kill || !order.reduces()) {
            admission.is_planned = self.plan_or_value(&arrival());
            offered = (self.plan.filled, self.plan.value.ok_or(TOO_LARGE)?);
        }
        if !order.reduces() {
            let (quantity, reference) = if is_immediate {
                offered
            } else {
                let best_bid = self.books[index].best(&self.orders, Side::Buy);
                let least = self.state.symbols[index].sell_reference();
                let price = reference_price(order.side, limit, best_bid, least);
                (open, units::value(price, open).ok_or(TOO_LARGE)?)
            };
            let who = (order.account, order.side);
            let margin = self.state.judge_margin(index, who, (leverage, released), quantity, reference)?;
            (admission.reservation, admission.reserved_quantity) = (margin, quantity);
        }
        let is_post_only = order.order_type == PerpetualOrderType::Limit
            && order.time_in_force == PerpetualTimeInForce::PostOnly;
        if is_post_only && self.meets(index, order.side, limit) {
            return Err(Reject::PostOnlyWouldCross);
        }
        if is_fill_or_kill {
            let is_whole = offered.0 == open
                && (admission.is_planned || {
                    self.plan(&arrival(), Purpose::Ask);
                    self.plan.filled == open
                });
            if !is_whole {
                return Err(Reject::FillOrKill);
            }
        }
        Ok(admission)
    }

    /// Whether an order at a price on the book's grid would meet the other side.
    #[inline(always)]
    pub(super) fn meets(&self, index: usize, side: Side, price: Price) -> bool {
        let book = &self.books[index];
        book.side(side.opposite()).best() <= book.key(side.opposite(), price)
    }
}

impl State {
    /// What an order of an account and side reserves that passes bracket and margin (`risk.md` 6, 7): `quantity` of it counts, worth
    /// `reference`; `released`: the bucket of its side where that is another than without it.
    #[inline(always)]
    fn judge_margin(
        &self,
        index: usize,
        (account, side): (AccountId, Side),
        (leverage, released): (u32, Option<Bucket>),
        quantity: Quantity,
        reference: Money,
    ) -> Result<Reservation, Reject> {
        let (symbol, record) = (&self.symbols[index], self.accounts.get(account));
        let holding = self.holding(account, index);
        let mark = symbol.prices.mark;
        let [_, taker_rate, ..] = self.rates_of(account, record).ok_or(TOO_LARGE)?;
        let reservation = Reservation::new(side, quantity, reference, mark, taker_rate).ok_or(TOO_LARGE)?;
        let before = released.unwrap_or(holding.bucket(side));
        let bucket = before.with(quantity, reservation).ok_or(TOO_LARGE)?;
        let (position, value) = units::notional_and_value(holding.quantity, mark).ok_or(TOO_LARGE)?;
        // What a sell asks is what a buy asks beside the opposite position and orders. Sides are as good as random, so nothing
        // branches on one.
        let held = facing(side, holding.quantity);
        let exposure = Exposure::of(held, position, bucket, holding.bucket(side.opposite()));
        let filled = exposure.filled(Side::Buy).ok_or(TOO_LARGE)?;
        let own = self.position_notional_max(account, index, record);
        // Most stay within the lowest bracket, whose leverage is the largest.
        let lowest = symbol.brackets.first();
        let is_low = filled <= lowest.cap.min(own) && leverage <= lowest.leverage_max && !symbol.is_full();
        if !is_low {
            let most = symbol.brackets.exposure_max(leverage).min(own);
            let opens = bucket.opening(Side::Buy, held).ok_or(TOO_LARGE)? > 0;
            if opens && (filled > most || symbol.is_full()) {
                return Err(Reject::ExceedsBracket);
            }
        }
        if self.has_plenty(index, (record, holding), value, &exposure, leverage).unwrap_or(false) {
            return Ok(reservation);
        }
        match self.covers(account, index, (side, bucket), leverage) {
            Some(true) => Ok(reservation),
            Some(false) => Err(Reject::InsufficientMargin),
            None => Err(TOO_LARGE),
        }
    }

    /// Whether an account of this market alone, its position worth `value` at the mark, covers an exposure so easily that a
    /// bound says so, which takes no division. The holding's buckets are not looked at. `false`: [`State::covers`] must tell.
    #[inline(always)]
    pub(crate) fn has_plenty(
        &self,
        index: usize,
        (record, holding): (&HotAccount, &HotHolding),
        value: Money,
        exposure: &Exposure,
        leverage: u32,
    ) -> Option<bool> {
        let is_simple = record.is_alone_in(index) && self.shortfall.is_empty();
        if !is_simple || mode_of(record, holding) == MarginMode::Isolated {
            return Some(false);
        }
        let unrealised = value.checked_sub(holding.cost)?;
        exposure.is_covered_by(record.wallet.checked_add(unrealised)?, leverage)
    }

    /// Whether an account may have another bucket in a market, at a leverage: the requirement does not rise, or is covered.
    #[inline(never)]
    fn covers(
        &self,
        account: AccountId,
        index: usize,
        (side, bucket): (Side, Bucket),
        leverage: u32,
    ) -> Option<bool> {
        let mut before = *self.holding(account, index);
        before.set_leverage(leverage);
        let mut after = before;
        after.set_bucket(side, bucket);
        let is_isolated = mode_of(self.accounts.get(account), &after) == MarginMode::Isolated;
        let need = |holding: &Holding| {
            let exposure = self.exposure(index, holding)?;
            if is_isolated {
                exposure.isolated_orders(leverage)
            } else {
                Some(exposure.cross(leverage)?.initial)
            }
        };
        let sums = self.sums_with(account, self.wallet(account), Some((index, &after)))?;
        sums.accepts(need(&before)?, need(&after)?)
    }
}

/// A quantity as a side sees it: a sell sees the opposite.
#[inline(always)]
pub(super) fn facing(side: Side, quantity: Quantity) -> Quantity {
    units::signed_as(-i64::from(side == Side::Sell), quantity)
}
