//! What an order that is about to enter the market must pass: bracket, margin, post-only, fill-or-kill. Used by new,
//! fired and modified orders alike.

use crate::book::table::Table;
use crate::command::{
    MarginMode, PerpetualOrderType, PerpetualTimeInForce, PriceMatch, SelfTradePrevention, Side, order_flag,
};
use crate::ids::AccountId;
use crate::matching::{Step, walk};
use crate::money::{Money, Price, Quantity};
use crate::perpetual::account::{Account, Holding};
use crate::perpetual::order::Details;
use crate::perpetual::{Perpetual, State, mode_of};
use crate::reject::Reject;
use crate::risk::perpetual::band::Band;
use crate::risk::perpetual::order_margin::{Exposure, Reservation, reference_price};
use crate::risk::perpetual::{reduce_only, units};

/// What an order that passed enters with.
#[derive(Clone, Copy, Default)]
pub(crate) struct Terms {
    /// The last price at which it trades.
    pub(crate) limit: Price,
    pub(crate) reservation: Reservation,
    /// What it was computed for; 0: it reserves nothing.
    pub(crate) reserved_quantity: Quantity,
}

impl Terms {
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

    /// Judges an order that is not in the buckets at its limit price; `leverage` is the one it would have.
    pub(crate) fn judge(&mut self, index: usize, order: &Details, leverage: u32) -> Result<Terms, Reject> {
        self.judge_against(index, order, leverage, None)
    }

    /// The same, where the requirement that it must not raise is that of another holding, if one is given.
    pub(crate) fn judge_against(
        &mut self,
        index: usize,
        order: &Details,
        leverage: u32,
        before: Option<&Holding>,
    ) -> Result<Terms, Reject> {
        let symbol = &self.state.symbols[index];
        let limit = match order.order_type {
            PerpetualOrderType::Limit => order.price,
            _ => symbol.take_bound(order.side).ok_or(TOO_LARGE)?,
        };
        let open = order.quantity - order.filled;
        let is_immediate = order.is_immediate();
        let mut terms = Terms { limit, ..Terms::default() };
        let is_fill_or_kill = order.order_type == PerpetualOrderType::Limit
            && order.time_in_force == PerpetualTimeInForce::FillOrKill;
        let walked = if is_immediate && (is_fill_or_kill || !order.reduces()) {
            let band = self.state.symbols[index].dynamic_band(self.state.now_ms);
            self.walk_value(index, order, limit, open, band).ok_or(TOO_LARGE)?
        } else {
            (0, 0)
        };
        if !order.reduces() {
            let (quantity, reference) = if is_immediate {
                walked
            } else {
                let symbol = &self.state.symbols[index];
                let best_bid = self.books[index].best(&self.orders, Side::Buy);
                let (mark, tick) = (symbol.prices.mark, symbol.tick.value());
                let price = reference_price(order.side, limit, best_bid, mark, tick).ok_or(TOO_LARGE)?;
                (open, units::value(price, open).ok_or(TOO_LARGE)?)
            };
            let who = (order.account, order.side);
            terms = self.state.judge_margin(index, who, (leverage, before), quantity, reference)?;
            terms.limit = limit;
        }
        let is_post_only = order.order_type == PerpetualOrderType::Limit
            && order.time_in_force == PerpetualTimeInForce::PostOnly;
        if is_post_only && self.crosses(index, order.side, limit) {
            return Err(Reject::PostOnlyWouldCross);
        }
        if is_fill_or_kill {
            let band = self.state.symbols[index].dynamic_band(self.state.now_ms);
            if walked.0 < open || !self.fills_whole(index, order, (limit, open, leverage), band) {
                return Err(Reject::FillOrKill);
            }
        }
        Ok(terms)
    }

    /// Whether an order at a price would meet the other side.
    pub(crate) fn crosses(&self, index: usize, side: Side, price: Price) -> bool {
        self.books[index].best(&self.orders, side.opposite()).is_some_and(|best| match side {
            Side::Buy => price >= best,
            Side::Sell => price <= best,
        })
    }

    /// Quantity and value of the fills that the book would give an order now.
    pub(crate) fn walk_value(
        &mut self,
        index: usize,
        order: &Details,
        limit: Price,
        open: Quantity,
        band: Option<Band>,
    ) -> Option<(Quantity, Money)> {
        let Perpetual { books, orders, state, .. } = self;
        let book = &books[index];
        let maker_side = order.side.opposite();
        // What makers would have gained by the fills before: of those that reduce.
        let is_reducing = state.symbols[index].reducing[maker_side as usize & 1] != 0;
        let mut scratch = None;
        if is_reducing {
            scratch
                .insert(state.scratch.take().unwrap_or_else(|| Table::new(64, &state.config.hash_seed)))
                .clear();
        }
        let group = state.accounts.get(order.account).group;
        let (mut left, mut value) = (open, Some(0i64));
        walk(book, orders, order.side, book.key(maker_side, limit), |maker| {
            if band.is_some_and(|band| !band.admits(maker.price)) {
                return Step::Stop;
            }
            let is_own = maker.account == order.account
                || (group != 0 && state.accounts.get(maker.account).group == group);
            match order.self_trade {
                SelfTradePrevention::ExpireMaker if is_own => return Step::On,
                SelfTradePrevention::ExpireTaker | SelfTradePrevention::ExpireBoth if is_own => {
                    return Step::Stop;
                }
                _ => {}
            }
            let mut most = maker.remaining;
            if let Some(scratch) = &mut scratch {
                let moved = scratch.entry(u64::from(maker.account));
                let slot = state.slots.find(maker.id).unwrap_or(0);
                if state.details[slot as usize].is(order_flag::REDUCE_ONLY) {
                    let held = state.holding(maker.account, index).quantity.saturating_add(*moved);
                    most = reduce_only::shrunk(maker_side, most, held);
                }
                let taken = left.min(most);
                let change = if maker_side == Side::Buy { taken } else { -taken };
                *moved += change;
                // Whoever meets an own order keeps its position.
                *scratch.entry(u64::from(order.account)) -= change;
            }
            let taken = left.min(most);
            left -= taken;
            value = value.and_then(|sum| sum.checked_add(units::value(maker.price, taken)?));
            if left == 0 || value.is_none() { Step::Stop } else { Step::On }
        });
        state.scratch = scratch.or(state.scratch.take());
        Some((open - left, value?))
    }
}

impl State {
    /// Bracket and margin (`risk.md` 6, 7) of an order of an account and side, of which `quantity` counts, worth `reference`.
    fn judge_margin(
        &self,
        index: usize,
        (account, side): (AccountId, Side),
        (leverage, before): (u32, Option<&Holding>),
        quantity: Quantity,
        reference: Money,
    ) -> Result<Terms, Reject> {
        let symbol = &self.symbols[index];
        let [_, taker_rate, ..] = self.rates(account).ok_or(TOO_LARGE)?;
        let reservation =
            Reservation::new(side, quantity, reference, symbol.prices.mark, taker_rate).ok_or(TOO_LARGE)?;
        let holding = self.holding(account, index);
        let bucket = holding.bucket(side).with(quantity, reservation).ok_or(TOO_LARGE)?;
        let (buys, sells) = match side {
            Side::Buy => (bucket, holding.bucket(Side::Sell)),
            Side::Sell => (holding.bucket(Side::Buy), bucket),
        };
        let (notional, value) =
            units::notional_and_value(holding.quantity, symbol.prices.mark).ok_or(TOO_LARGE)?;
        let exposure = Exposure::of(holding.quantity, notional, buys, sells);
        let opens = bucket.opening(side, holding.quantity).ok_or(TOO_LARGE)? > 0;
        let own = self.position_notional_max(account, index, self.accounts.get(account));
        let most = symbol.brackets.exposure_max(leverage).min(own);
        if opens && (exposure.filled(side).ok_or(TOO_LARGE)? > most || symbol.is_full()) {
            return Err(Reject::ExceedsBracket);
        }
        let terms = Terms { limit: 0, reservation, reserved_quantity: quantity };
        let record = self.accounts.get(account);
        if self.has_plenty(index, (record, holding), value, &exposure, leverage).unwrap_or(false) {
            return Ok(terms);
        }
        let before = Holding { leverage, ..*before.unwrap_or(holding) };
        let mut after = Holding { leverage, ..*holding };
        after.set_bucket(side, bucket);
        match self.covers(account, index, &before, &after) {
            Some(true) => Ok(terms),
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
        (record, holding): (&Account, &Holding),
        value: Money,
        exposure: &Exposure,
        leverage: u32,
    ) -> Option<bool> {
        if !record.is_alone_in(index) || mode_of(record, holding) == MarginMode::Isolated {
            return Some(false);
        }
        let unrealised = value.checked_sub(holding.cost)?;
        exposure.is_covered_by(record.wallet.checked_add(unrealised)?, leverage)
    }

    /// Whether an account may go from one holding to another: the requirement does not rise, or is covered.
    fn covers(&self, account: AccountId, index: usize, before: &Holding, after: &Holding) -> Option<bool> {
        let is_isolated = mode_of(self.accounts.get(account), after) == MarginMode::Isolated;
        let need = |holding: &Holding| {
            let exposure = self.exposure(index, holding)?;
            if is_isolated {
                exposure.isolated_orders(holding.leverage)
            } else {
                Some(exposure.cross(holding.leverage)?.initial)
            }
        };
        let sums = self.sums_with(account, self.wallet(account), Some((index, after)))?;
        sums.accepts(need(before)?, need(after)?)
    }
}
