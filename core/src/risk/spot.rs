//! Spot: assets change hands. `spot.md` 8, to the last unit.
//!
//! A resting buy freezes price x open quantity of quote, a resting sell its open quantity of base. An arriving order
//! is checked for all of it, but only what rests after the match is frozen: what it trades is paid at the fill, which
//! leaves the same balances as freezing first and returning the price improvement at each fill.

use super::Purse;
use crate::account::{Balance, Balances};
use crate::book::{Mutation, Orders};
use crate::command::{OrderStatus, OrderType, SelfTradePrevention, Side};
use crate::emit::{ChangeSet, Emitter};
use crate::event::{self, Sink};
use crate::ids::{AccountId, AssetId, FEE_ACCOUNT, OrderId, TradeId};
use crate::market::{OrdersByAccount, Rules};
use crate::matching::{Ending, Fill, Meeting, Settlement, Taker};
use crate::money::{Amount, FEE_RATE_ONE, FeeRate, Price, Quantity, UNIT, amount_of, fee, notional};
use crate::order::market::Budget;
use crate::order::{Incoming, Order};
use crate::prefetch::prefetch;
use crate::reject::Reject;
use crate::stp;
use std::hint::select_unpredictable;

/// What an account has of a spot market's two assets.
pub(crate) struct SpotPurse<'a> {
    account: AccountId,
    base_asset: AssetId,
    quote_asset: AssetId,
    base: &'a mut Balance,
    quote: &'a mut Balance,
}

impl<'a> SpotPurse<'a> {
    #[inline(always)]
    pub(crate) fn new(rules: &Rules, balances: &'a mut Balances, account: AccountId) -> SpotPurse<'a> {
        let Rules { base: base_asset, quote: quote_asset, .. } = *rules;
        let [base, quote] = balances.both_mut(account, base_asset, quote_asset);
        SpotPurse { account, base_asset, quote_asset, base, quote }
    }

    /// All of it: base, then quote.
    #[inline(always)]
    pub(crate) fn holdings(&self) -> [Balance; 2] {
        [*self.base, *self.quote]
    }

    /// What orders of a side pay with.
    #[inline(always)]
    fn pays(&mut self, side: Side) -> &mut Balance {
        select_unpredictable(side == Side::Buy, &mut *self.quote, &mut *self.base)
    }

    /// What orders of a side receive.
    #[inline(always)]
    fn receives(&mut self, side: Side) -> &mut Balance {
        self.pays(side.opposite())
    }

    /// Tells what it has, given what that is of the asset that orders of a side pay with, and of the other. `changed` says
    /// of both whether the command changed them.
    #[inline(always)]
    fn report(&self, side: Side, pays: Balance, receives: Balance, changed: [bool; 2]) -> event::Balances {
        let buys = side == Side::Buy;
        let [pays_changed, receives_changed] = changed.map(u64::from);
        event::Balances {
            account: self.account,
            base: self.base_asset,
            quote: self.quote_asset,
            changed: (pays_changed << u32::from(buys)) | (receives_changed << u32::from(!buys)),
            base_available: select_unpredictable(buys, receives.available, pays.available).into(),
            base_frozen: select_unpredictable(buys, receives.frozen, pays.frozen).into(),
            quote_available: select_unpredictable(buys, pays.available, receives.available).into(),
            quote_frozen: select_unpredictable(buys, pays.frozen, receives.frozen).into(),
        }
    }

    /// Tells what somebody other than the taker, whose order is of `side`, has after its fills.
    #[inline(always)]
    fn report_beside(&mut self, side: Side, changed: [bool; 2]) -> event::Balances {
        let (pays, receives) = (*self.pays(side), *self.receives(side));
        self.report(side, pays, receives, changed)
    }

    /// Changes what orders of a side pay with, and tells what there then is.
    #[inline(always)]
    fn change(&mut self, side: Side, change: impl FnOnce(&mut Balance)) -> event::Balances {
        let pays = self.pays(side).changed(change);
        let receives = *self.receives(side);
        self.report(side, pays, receives, [true, false])
    }
}

impl Purse for SpotPurse<'_> {
    type Report = event::Balances;

    #[inline(always)]
    fn reservation(side: Side, price: Price, quantity: Quantity) -> Amount {
        // The amount of base that a quantity is equals its notional at price 1.
        const { assert!(notional(UNIT, 1) == amount_of(1)) };
        notional(select_unpredictable(side == Side::Buy, price, UNIT), quantity)
    }

    #[inline(always)]
    fn check(&self, order: &Incoming, worth: Amount, returned: Amount) -> Result<Amount, Reject> {
        let buys = order.side == Side::Buy;
        let spends = if order.order_type == OrderType::Market { order.quote_quantity } else { worth };
        let needed = select_unpredictable(buys, spends, amount_of(order.quantity));
        let available = select_unpredictable(buys, &*self.quote, &*self.base).available;
        // No sum of an account's can leave the range, as that of the whole asset does not.
        if available.wrapping_add(returned) < needed {
            return Err(Reject::InsufficientBalance);
        }
        Ok(needed)
    }

    #[inline(always)]
    fn reserve(&mut self, side: Side, amount: Amount) -> event::Balances {
        self.change(side, |balance| balance.freeze(amount))
    }

    #[inline(always)]
    fn release(&mut self, side: Side, amount: Amount) -> event::Balances {
        self.change(side, |balance| balance.unfreeze(amount))
    }
}

/// What a fill moves, as the taker sees it, or several fills of one order.
#[derive(Default)]
pub(crate) struct Terms {
    /// What the taker pays, and the maker receives before its fee.
    pub(crate) pays: Amount,
    /// What the taker receives before its fee, and the maker had reserved.
    pub(crate) receives: Amount,
    /// In what the maker receives.
    pub(crate) maker_fee: Amount,
    /// In what the taker receives.
    pub(crate) taker_fee: Amount,
}

impl Terms {
    /// Of a fill between an order of `side` that arrives now and one that rests since its maker fee was `maker_rate`.
    #[inline(always)]
    pub(crate) fn new(
        rules: &Rules,
        side: Side,
        maker_rate: FeeRate,
        price: Price,
        quantity: Quantity,
    ) -> Terms {
        let base = amount_of(quantity);
        let quote = notional(price, quantity);
        // What the buyer and the seller receive, and the fees they pay of it.
        let (buyer_rate, seller_rate) = match side {
            Side::Buy => (rules.taker_fee, maker_rate),
            Side::Sell => (maker_rate, rules.taker_fee),
        };
        let (base_fee, quote_fee) = (base_fee(quantity, buyer_rate), fee(quote, seller_rate));
        match side {
            Side::Buy => Terms { pays: quote, receives: base, maker_fee: quote_fee, taker_fee: base_fee },
            Side::Sell => Terms { pays: base, receives: quote, maker_fee: base_fee, taker_fee: quote_fee },
        }
    }
}

/// The event of a fill; maker and taker are an order and its account.
#[inline(always)]
pub(crate) fn trade_event(
    rules: &Rules,
    trade: TradeId,
    side: Side,
    (maker_order, maker_account): (OrderId, AccountId),
    (taker_order, taker_account): (OrderId, AccountId),
    fill: Fill,
    terms: &Terms,
) -> event::Trade {
    event::Trade {
        trade,
        maker_order,
        taker_order,
        price: fill.price,
        quantity: fill.quantity,
        maker_fee: terms.maker_fee.into(),
        taker_fee: terms.taker_fee.into(),
        maker_account,
        taker_account,
        market: rules.id,
        taker_side: side as u8,
        maker_filled: u8::from(fill.is_maker_filled),
        reserved: 0,
    }
}

/// An order trading on a spot market.
pub(crate) struct SpotMatch<'a, 'e, S: Sink> {
    pub(crate) rules: &'a Rules,
    pub(crate) balances: &'a mut Balances,
    pub(crate) by_account: &'a mut OrdersByAccount,
    pub(crate) changes: &'a mut ChangeSet,
    pub(crate) emitter: &'a mut Emitter<'e, S>,
    pub(crate) trades: &'a mut TradeId,
    pub(crate) last_price: &'a mut Price,
    /// Of the arriving order; `None` where it cannot meet an order of its own.
    pub(crate) self_trade: Option<SelfTradePrevention>,
    /// Of a market buy.
    pub(crate) budget: Option<Budget>,
    pub(crate) sums: SpotSums,
}

/// Sums over the fills of an arriving order.
#[derive(Clone, Copy, Default)]
pub(crate) struct SpotSums {
    /// What it has still to pay for them.
    paid: Amount,
    /// What it received, before its fees.
    received: Amount,
    /// Its fees, in what it receives.
    taker_fees: Amount,
    /// Fees of the resting orders, in what they receive.
    maker_fees: Amount,
}

/// Fee of a buyer who receives `quantity` of base: exact, as a rate step times a quantity step is a whole amount.
#[inline(always)]
fn base_fee(quantity: Quantity, rate: FeeRate) -> Amount {
    const PER_STEP: i128 = amount_of(1) / FEE_RATE_ONE as i128;
    const { assert!(PER_STEP * FEE_RATE_ONE as i128 == amount_of(1)) };
    (quantity as u64 as u128).wrapping_mul(u128::from(rate) * PER_STEP as u128) as i128
}

impl<S: Sink> SpotMatch<'_, '_, S> {
    /// What an account has in this market, noted before the command changes it.
    #[inline(always)]
    pub(crate) fn noted(&mut self, account: AccountId) -> SpotPurse<'_> {
        let seat = self.by_account.get_mut(account);
        let purse = SpotPurse::new(self.rules, self.balances, account);
        self.changes.note(account, self.rules, seat, || purse.holdings());
        purse
    }

    /// What an account has in this market.
    #[inline(always)]
    pub(crate) fn purse(&mut self, account: AccountId) -> SpotPurse<'_> {
        SpotPurse::new(self.rules, self.balances, account)
    }

    /// Closes the account of the arriving order's fills.
    #[inline]
    pub(crate) fn close(&mut self, taker: &Taker) {
        let SpotSums { paid, received, taker_fees, maker_fees } = self.sums;
        let mut purse = self.purse(taker.account);
        purse.pays(taker.side).pay(paid);
        purse.receives(taker.side).receive(received - taker_fees);
        if taker_fees != 0 || maker_fees != 0 {
            let mut fees = self.purse(FEE_ACCOUNT);
            fees.receives(taker.side).receive(taker_fees);
            fees.pays(taker.side).receive(maker_fees);
        }
    }

    /// Tells levels, then what the taker has if that differs from before, its makers as they were met, and last who collects fees.
    #[inline]
    pub(crate) fn tell(self, taker: &Taker) {
        let SpotMatch { rules, balances, changes, emitter, sums, .. } = self;
        changes.flush(balances, emitter);
        let mut fees = [sums.maker_fees != 0, sums.taker_fees != 0];
        for &(maker, gained) in changes.makers() {
            if maker == FEE_ACCOUNT {
                fees = [fees[0] | gained, true];
                continue;
            }
            let report = SpotPurse::new(rules, balances, maker).report_beside(taker.side, [gained, true]);
            emitter.emit(report);
        }
        if fees != [false; 2] && taker.account != FEE_ACCOUNT {
            emitter.emit(SpotPurse::new(rules, balances, FEE_ACCOUNT).report_beside(taker.side, fees));
        }
    }
}

impl<S: Sink> Settlement for SpotMatch<'_, '_, S> {
    #[inline(always)]
    fn meet(&mut self, taker: &Taker, maker: &Order) -> Option<Meeting> {
        let mut most = Quantity::MAX;
        if let Some(budget) = &self.budget {
            most = budget.buys(maker.price, maker.remaining);
            if most == 0 {
                return Some(Meeting::StopTaker(Ending::Spent));
            }
        }
        if let Some(mode) = self.self_trade
            && maker.account == taker.account
            && let Some(meeting) = stp::meet(mode)
        {
            return Some(meeting);
        }
        Some(Meeting::Fill(most))
    }

    #[inline(always)]
    fn fill(&mut self, taker: &Taker, maker: &Order, _: u32, fill: Fill) {
        let side = taker.side;
        let terms = Terms::new(self.rules, side, maker.traits.maker_fee(), fill.price, fill.quantity);
        let Terms { pays, receives, maker_fee, taker_fee } = terms;
        let mut purse = self.purse(maker.account);
        let mut unpaid = pays;
        if maker.account == taker.account {
            // It pays before it receives: it would otherwise own more for a moment than there is of an asset, which may
            // leave the range of an amount.
            purse.pays(side).pay(pays);
            unpaid = 0;
        }
        purse.receives(side).pay_frozen(receives);
        let gain = pays - maker_fee;
        purse.pays(side).receive(gain);
        if maker.account != taker.account {
            self.changes.maker(maker.account, self.by_account.get_mut(maker.account), gain != 0);
        }
        // Sums of parts of what the taker and the makers paid: bounded by what was credited.
        self.sums.paid += unpaid;
        self.sums.received += receives;
        self.sums.maker_fees += maker_fee;
        self.sums.taker_fees += taker_fee;
        if let Some(budget) = &mut self.budget {
            budget.spend(fill.price, fill.quantity);
        }
        *self.trades += 1;
        *self.last_price = fill.price;
        let (maker, taker) = ((maker.id, maker.account), (taker.order, taker.account));
        self.emitter.emit(trade_event(self.rules, *self.trades, side, maker, taker, fill, &terms));
    }

    #[inline(always)]
    fn soon(&self, maker: &Order) {
        prefetch(self.balances.place(maker.account, self.rules.base));
        prefetch(self.by_account.place(maker.account));
    }

    #[cold]
    fn expire(&mut self, maker: &Order, _: u32) {
        let side = maker.traits.side();
        let returned = SpotPurse::reservation(side, maker.price, maker.remaining);
        self.noted(maker.account).release(side, returned);
        self.changes.ended.push(maker.event(OrderStatus::Expired, 0));
    }

    #[inline(always)]
    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        self.by_account.end(orders, slot);
    }

    #[inline(always)]
    fn mutated(&mut self, mutation: Mutation) {
        self.changes.mutated(self.rules.id, mutation);
    }
}
