//! Spot: assets change hands. `spot.md` 8, to the last unit.
//!
//! A resting buy freezes price x open quantity of quote, a resting sell its open quantity of base. An arriving order
//! is checked for all of it, but only what rests after the match is frozen: what it trades is paid at the fill, which
//! leaves the same balances as freezing first and returning the price improvement at each fill.

use super::Risk;
use crate::account::Balances;
use crate::book::{Mutation, Orders};
use crate::command::{OrderStatus, OrderType, SelfTradePrevention, Side};
use crate::engine::emit::{Emitter, Notes};
use crate::event::{self, Sink};
use crate::ids::{AccountId, AssetId, FEE_ACCOUNT, TradeId};
use crate::market::{Rules, Seats};
use crate::matching::{Ending, Fill, Meeting, Settlement, Taker};
use crate::money::{Amount, FEE_RATE_ONE, FeeRate, Price, Quantity, amount_of, fee, notional};
use crate::order::market::Budget;
use crate::order::{Incoming, Order};
use crate::reject::Reject;
use crate::stp;

/// The accounts of a spot market.
pub(crate) struct Spot<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) balances: &'a mut Balances,
}

impl Spot<'_> {
    /// The asset that orders of a side pay with.
    #[inline(always)]
    fn pays(&self, side: Side) -> AssetId {
        match side {
            Side::Buy => self.rules.quote,
            Side::Sell => self.rules.base,
        }
    }

    /// The asset that orders of a side receive.
    #[inline(always)]
    fn receives(&self, side: Side) -> AssetId {
        self.pays(side.opposite())
    }
}

impl Risk for Spot<'_> {
    #[inline(always)]
    fn reservation(side: Side, price: Price, quantity: Quantity) -> Amount {
        match side {
            Side::Buy => notional(price, quantity),
            Side::Sell => amount_of(quantity),
        }
    }

    #[inline(always)]
    fn check(&self, order: &Incoming, worth: Amount, returned: Amount) -> Result<(), Reject> {
        let needed = match (order.side, order.order_type) {
            (Side::Buy, OrderType::Limit) => worth,
            (Side::Buy, OrderType::Market) => order.quote_quantity,
            (Side::Sell, _) => amount_of(order.quantity),
        };
        let available = self.balances.get(order.account, self.pays(order.side)).available;
        // No sum of an account's can leave the range, as that of the whole asset does not.
        if available.wrapping_add(returned) < needed {
            return Err(Reject::InsufficientBalance);
        }
        Ok(())
    }

    #[inline(always)]
    fn reserve(&mut self, account: AccountId, side: Side, amount: Amount) {
        let asset = self.pays(side);
        self.balances.get_mut(account, asset).freeze(amount);
    }

    #[inline(always)]
    fn release(&mut self, account: AccountId, side: Side, amount: Amount) {
        let asset = self.pays(side);
        self.balances.get_mut(account, asset).unfreeze(amount);
    }

    #[inline(always)]
    fn report<S: Sink>(&self, account: AccountId, side: Side, emitter: &mut Emitter<'_, S>) {
        let Rules { base, quote, .. } = *self.rules;
        let [of_base, of_quote] = self.balances.both(account, base, quote);
        emitter.emit(event::Balances {
            account,
            base,
            quote,
            changed: match side {
                Side::Buy => 2,
                Side::Sell => 1,
            },
            base_available: of_base.available.into(),
            base_frozen: of_base.frozen.into(),
            quote_available: of_quote.available.into(),
            quote_frozen: of_quote.frozen.into(),
        });
    }
}

/// An order trading on a spot market.
pub(crate) struct SpotMatch<'a, 'e, S: Sink> {
    pub(crate) spot: Spot<'a>,
    pub(crate) seats: &'a mut Seats,
    pub(crate) notes: &'a mut Notes,
    pub(crate) emitter: &'a mut Emitter<'e, S>,
    pub(crate) trades: &'a mut TradeId,
    pub(crate) last_price: &'a mut Price,
    /// Of the arriving order; `None` where it cannot meet an order of its own.
    pub(crate) self_trade: Option<SelfTradePrevention>,
    /// Of a market buy.
    pub(crate) budget: Option<Budget>,
    /// What the arriving order received, before its fees.
    pub(crate) received: Amount,
    /// Fees of the arriving order, in what it receives.
    pub(crate) taker_fees: Amount,
    /// Fees of the resting orders, in what they receive.
    pub(crate) maker_fees: Amount,
}

/// Fee of a buyer who receives `quantity` of base: exact, as a rate step times a quantity step is a whole amount.
#[inline(always)]
fn base_fee(quantity: Quantity, rate: FeeRate) -> Amount {
    const PER_STEP: i128 = amount_of(1) / FEE_RATE_ONE as i128;
    const { assert!(PER_STEP * FEE_RATE_ONE as i128 == amount_of(1)) };
    (quantity as u64 as u128).wrapping_mul(u128::from(rate) * PER_STEP as u128) as i128
}

impl<S: Sink> SpotMatch<'_, '_, S> {
    /// Notes what an account holds before the command changes it.
    #[inline(always)]
    pub(crate) fn note(&mut self, account: AccountId) {
        let seat = self.seats.get_mut(account);
        self.notes.note(account, self.spot.rules, self.spot.balances, seat);
    }

    /// Closes the account of the arriving order's fills.
    #[inline]
    pub(crate) fn close(&mut self, taker: &Taker) {
        let receives = self.spot.receives(taker.side);
        self.spot.balances.get_mut(taker.account, receives).receive(self.received - self.taker_fees);
        if self.taker_fees != 0 || self.maker_fees != 0 {
            self.note(FEE_ACCOUNT);
            let pays = self.spot.pays(taker.side);
            self.spot.balances.get_mut(FEE_ACCOUNT, receives).receive(self.taker_fees);
            self.spot.balances.get_mut(FEE_ACCOUNT, pays).receive(self.maker_fees);
        }
    }
}

impl<S: Sink> Settlement for SpotMatch<'_, '_, S> {
    #[inline(always)]
    fn meet(&mut self, taker: &Taker, maker: &Order) -> Meeting {
        let mut most = Quantity::MAX;
        if let Some(budget) = &self.budget {
            most = budget.buys(maker.price, maker.remaining);
            if most == 0 {
                return Meeting::StopTaker(Ending::Spent);
            }
        }
        if let Some(mode) = self.self_trade
            && maker.account == taker.account
            && let Some(meeting) = stp::meet(mode)
        {
            return meeting;
        }
        Meeting::Fill(most)
    }

    #[inline(always)]
    fn fill(&mut self, taker: &Taker, maker: &Order, fill: Fill) {
        let Rules { base: base_asset, quote: quote_asset, taker_fee: taker_rate, .. } = *self.spot.rules;
        let base = amount_of(fill.quantity);
        let quote = notional(fill.price, fill.quantity);
        let maker_rate = maker.traits.maker_fee();
        self.note(maker.account);
        let balances = &mut *self.spot.balances;
        // The arriving order pays before anyone receives: an account that trades with itself would otherwise own more
        // for a moment than there is of an asset, which may leave the range of an amount.
        let (maker_fee, taker_fee, received) = match taker.side {
            Side::Buy => {
                let fees = (fee(quote, maker_rate), base_fee(fill.quantity, taker_rate));
                balances.get_mut(taker.account, quote_asset).pay(quote);
                balances.get_mut(maker.account, base_asset).pay_frozen(base);
                balances.get_mut(maker.account, quote_asset).receive(quote - fees.0);
                (fees.0, fees.1, base)
            }
            Side::Sell => {
                let fees = (base_fee(fill.quantity, maker_rate), fee(quote, taker_rate));
                balances.get_mut(taker.account, base_asset).pay(base);
                balances.get_mut(maker.account, quote_asset).pay_frozen(quote);
                balances.get_mut(maker.account, base_asset).receive(base - fees.0);
                (fees.0, fees.1, quote)
            }
        };
        // Sums of parts of what the taker and the makers paid: bounded by what was credited.
        self.received += received;
        self.maker_fees += maker_fee;
        self.taker_fees += taker_fee;
        if let Some(budget) = &mut self.budget {
            budget.spend(fill.price, fill.quantity);
        }
        *self.trades += 1;
        *self.last_price = fill.price;
        self.emitter.emit(event::Trade {
            trade: *self.trades,
            maker_order: maker.id,
            taker_order: taker.order,
            price: fill.price,
            quantity: fill.quantity,
            maker_fee: maker_fee.into(),
            taker_fee: taker_fee.into(),
            maker_account: maker.account,
            taker_account: taker.account,
            market: self.spot.rules.id,
            taker_side: taker.side as u8,
            maker_filled: u8::from(fill.is_maker_filled),
            reserved: 0,
        });
    }

    #[cold]
    fn expire(&mut self, maker: &Order) {
        self.note(maker.account);
        let side = maker.traits.side();
        self.spot.release(maker.account, side, Spot::reservation(side, maker.price, maker.remaining));
        self.notes.ended.push(maker.event(OrderStatus::Expired, 0));
    }

    #[inline(always)]
    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        self.seats.unlink(orders, slot);
    }

    #[inline(always)]
    fn mutated(&mut self, mutation: Mutation) {
        self.notes.mutated(self.spot.rules.id, mutation);
    }
}
