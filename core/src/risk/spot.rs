//! Spot: assets change hands. `spot.md` 8, to the last unit.
//!
//! A resting buy freezes price x open quantity of quote, a resting sell its open quantity of base. An arriving order
//! is checked for all of it, but only what rests after the match is frozen: what it trades is paid at once, which
//! leaves the same balances as freezing first and returning the price improvement at each fill.

use super::Risk;
use crate::account::Balances;
use crate::book::{Mutation, Orders};
use crate::command::{OrderStatus, OrderType, SelfTradePrevention, Side};
use crate::engine::emit::{Emitter, Notes};
use crate::event::{self, Sink};
use crate::ids::{AccountId, FEE_ACCOUNT, TradeId};
use crate::market::{Rules, Seats};
use crate::matching::{Ending, Fill, Meeting, Settlement, Taker};
use crate::money::{Amount, FEE_RATE_ONE, FeeRate, Price, Quantity, amount_of, fee, notional};
use crate::order::market::Budget;
use crate::order::{Incoming, Order};
use crate::reject::Reject;
use crate::stp;

/// See the module. Lives for one order of one command.
pub(crate) struct Spot<'a, 'e, S: Sink> {
    pub(crate) rules: &'a Rules,
    pub(crate) balances: &'a mut Balances,
    pub(crate) seats: &'a mut Seats,
    pub(crate) notes: &'a mut Notes,
    pub(crate) emitter: &'a mut Emitter<'e, S>,
    pub(crate) trades: &'a mut TradeId,
    pub(crate) last_price: &'a mut Price,
    /// Of the arriving order; `None` where it cannot meet an order of its own.
    pub(crate) self_trade: Option<SelfTradePrevention>,
    /// Of a market buy.
    pub(crate) budget: Option<Budget>,
    pub(crate) traded: Traded,
}

/// What the arriving order traded so far.
#[derive(Clone, Copy, Default)]
pub(crate) struct Traded {
    base: Amount,
    quote: Amount,
    /// Fees of the arriving order, in what it receives.
    taker_fees: Amount,
    /// Fees of the resting orders, in what they receive.
    maker_fees: Amount,
    /// What of `base` or `quote` was paid at the fill already.
    paid_ahead: Amount,
}

/// What a resting order of `quantity` freezes.
#[inline]
pub(crate) fn reserve(side: Side, price: Price, quantity: Quantity) -> Amount {
    match side {
        Side::Buy => notional(price, quantity),
        Side::Sell => amount_of(quantity),
    }
}

/// Fee of a buyer who receives `quantity` of base: exact, as a rate step times a quantity step is a whole amount.
#[inline]
fn base_fee(quantity: Quantity, rate: FeeRate) -> Amount {
    const PER_STEP: i128 = amount_of(1) / FEE_RATE_ONE as i128;
    const { assert!(PER_STEP * FEE_RATE_ONE as i128 == amount_of(1)) };
    i128::from(quantity) * i128::from(rate) * PER_STEP
}

impl<S: Sink> Spot<'_, '_, S> {
    /// An account that trades with itself pays before it receives: for a moment it would otherwise own more than there
    /// is of an asset, which may leave the range of an amount.
    #[cold]
    fn pay_ahead(&mut self, taker: &Taker, base: Amount, quote: Amount) {
        let (asset, amount) = match taker.side {
            Side::Buy => (self.rules.quote, quote),
            Side::Sell => (self.rules.base, base),
        };
        self.balances.get_mut(taker.account, asset).pay(amount);
        self.traded.paid_ahead += amount;
    }

    /// Notes what an account holds before the command changes it.
    #[inline]
    fn note(&mut self, account: AccountId) {
        self.notes.note(account, self.rules, self.balances, self.seats);
    }
}

impl<S: Sink> Settlement for Spot<'_, '_, S> {
    #[inline]
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

    #[inline]
    fn fill(&mut self, taker: &Taker, maker: &Order, fill: Fill) {
        let base = amount_of(fill.quantity);
        let quote = notional(fill.price, fill.quantity);
        let maker_rate = maker.traits.maker_fee();
        let taker_rate = self.rules.taker_fee;
        self.note(maker.account);
        if maker.account == taker.account {
            self.pay_ahead(taker, base, quote);
        }
        let (maker_fee, taker_fee) = match taker.side {
            Side::Buy => {
                let fees = (fee(quote, maker_rate), base_fee(fill.quantity, taker_rate));
                self.balances.get_mut(maker.account, self.rules.base).pay_frozen(base);
                self.balances.get_mut(maker.account, self.rules.quote).receive(quote - fees.0);
                fees
            }
            Side::Sell => {
                let fees = (base_fee(fill.quantity, maker_rate), fee(quote, taker_rate));
                self.balances.get_mut(maker.account, self.rules.quote).pay_frozen(quote);
                self.balances.get_mut(maker.account, self.rules.base).receive(base - fees.0);
                fees
            }
        };
        self.traded.base += base;
        self.traded.quote += quote;
        self.traded.maker_fees += maker_fee;
        self.traded.taker_fees += taker_fee;
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
            market: self.rules.id,
            taker_side: taker.side as u8,
            maker_filled: u8::from(fill.is_maker_filled),
            reserved: 0,
        });
    }

    #[cold]
    fn expire(&mut self, maker: &Order) {
        self.release(maker, maker.remaining);
        self.notes.ended.push(maker.event(OrderStatus::Expired, 0));
    }

    #[inline]
    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        self.seats.unlink(orders, slot);
    }

    #[inline]
    fn mutated(&mut self, mutation: Mutation) {
        self.notes.mutated(self.rules.id, mutation);
    }
}

impl<S: Sink> Risk for Spot<'_, '_, S> {
    #[inline]
    fn check(&self, order: &Incoming, replaced: Option<&Order>) -> Result<(), Reject> {
        let (asset, needed) = match (order.side, order.order_type) {
            (Side::Buy, OrderType::Limit) => (self.rules.quote, notional(order.price, order.quantity)),
            (Side::Buy, OrderType::Market) => (self.rules.quote, order.quote_quantity),
            (Side::Sell, _) => (self.rules.base, amount_of(order.quantity)),
        };
        let returned = replaced.map_or(0, |old| reserve(order.side, old.price, old.remaining));
        // No sum of an account's can leave the range, as that of the whole asset does not.
        if self.balances.get(order.account, asset).available + returned < needed {
            return Err(Reject::InsufficientBalance);
        }
        Ok(())
    }

    #[inline]
    fn begin(&mut self, account: AccountId) {
        self.note(account);
    }

    #[inline]
    fn release(&mut self, order: &Order, quantity: Quantity) {
        self.note(order.account);
        let (side, account) = (order.traits.side(), order.account);
        let asset = match side {
            Side::Buy => self.rules.quote,
            Side::Sell => self.rules.base,
        };
        self.balances.get_mut(account, asset).unfreeze(reserve(side, order.price, quantity));
    }

    #[inline]
    fn arrive(&mut self, orders: &mut Orders, slot: u32) {
        self.seats.link(orders, slot);
    }

    #[inline]
    fn close(&mut self, order: &Incoming, resting: Quantity) {
        self.note(order.account);
        let Rules { base, quote, .. } = *self.rules;
        let traded = self.traded;
        let (pays, receives, paid, received) = match order.side {
            Side::Buy => (quote, base, traded.quote, traded.base),
            Side::Sell => (base, quote, traded.base, traded.quote),
        };
        if paid != 0 {
            self.balances.get_mut(order.account, receives).receive(received - traded.taker_fees);
        }
        let payer = self.balances.get_mut(order.account, pays);
        payer.pay(paid - traded.paid_ahead);
        payer.freeze(reserve(order.side, order.price, resting));
        if traded.taker_fees != 0 || traded.maker_fees != 0 {
            self.note(FEE_ACCOUNT);
            self.balances.get_mut(FEE_ACCOUNT, receives).receive(traded.taker_fees);
            self.balances.get_mut(FEE_ACCOUNT, pays).receive(traded.maker_fees);
        }
    }
}
