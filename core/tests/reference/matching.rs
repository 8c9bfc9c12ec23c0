//! Matching in two steps: plan the walk against the untouched book, then carry the plan out.

use super::output::Output;
use super::{Balances, MAX_ENTRY, Reference, Resting, money};
use ringside_core::command::{OrderStatus, OrderType, SelfTradePrevention, Side, TimeInForce};
use ringside_core::event;
use ringside_core::ids::{AccountId, MarketId, OrderId};
use ringside_core::money::{Amount, FeeRate, Price, Quantity};

/// How an order is sized: base to trade or quote to spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Base(Quantity),
    Quote(Amount),
}

/// An order on its way in.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// 0 until the order is accepted; the old id when it replaces one.
    pub order: OrderId,
    pub account: AccountId,
    pub market: MarketId,
    pub side: Side,
    pub order_type: OrderType,
    pub time_in_force: TimeInForce,
    pub self_trade: SelfTradePrevention,
    /// None: a market order.
    pub price: Option<Price>,
    pub size: Size,
    /// What traded before a replace.
    pub filled_before: Quantity,
    pub maker_fee: FeeRate,
    pub taker_fee: FeeRate,
}

impl Incoming {
    /// Whether it trades with a resting order at `price`.
    pub fn reaches(&self, price: Price) -> bool {
        match (self.price, self.side) {
            (None, _) => true,
            (Some(limit), Side::Buy) => limit >= price,
            (Some(limit), Side::Sell) => limit <= price,
        }
    }

    pub fn may_rest(&self) -> bool {
        matches!(self.time_in_force, TimeInForce::GoodTillCancel | TimeInForce::PostOnly)
    }

    /// The event that tells its state.
    pub fn event(&self, status: OrderStatus, filled: Quantity, open: Quantity) -> event::Order {
        let (quantity, quote_quantity) = match self.size {
            Size::Base(quantity) => (self.filled_before + quantity, 0),
            Size::Quote(amount) => (0, amount),
        };
        event::Order {
            order: self.order,
            account: self.account,
            market: self.market,
            side: self.side as u8,
            order_type: self.order_type as u8,
            time_in_force: self.time_in_force as u8,
            status: status as u8,
            is_new: 0,
            is_amended: 0,
            reject: 0,
            price: self.price.unwrap_or(0),
            quantity,
            quote_quantity: quote_quantity.into(),
            filled,
            open,
        }
    }
}

/// One thing that happens on the walk.
pub enum Step {
    /// A trade with this order.
    Fill(OrderId, Quantity),
    /// This order ends by self-trade prevention.
    Expire(OrderId),
}

/// What the walk will do.
pub struct Plan {
    pub steps: Vec<Step>,
    /// What is left of the size.
    pub rest: Size,
    /// Self-trade prevention ends the arriving order.
    pub expired: bool,
    /// Self-trade prevention refuses the arriving order; nothing happens.
    pub refused: bool,
}

/// Walks the opposite side by price and time, changing nothing.
pub fn plan(state: &Reference, incoming: &Incoming) -> Plan {
    let lot = state.markets[incoming.market as usize].lot;
    let mut plan = Plan { steps: Vec::new(), rest: incoming.size, expired: false, refused: false };
    // What a market buy may still buy; other orders are no larger.
    let mut most = MAX_ENTRY - MAX_ENTRY % lot;
    for maker in state.side(incoming.market, incoming.side.opposite()) {
        let quantity = if incoming.reaches(maker.price) { take(plan.rest, maker, lot).min(most) } else { 0 };
        if quantity == 0 {
            break;
        }
        if maker.account == incoming.account {
            match incoming.self_trade {
                SelfTradePrevention::None => {}
                SelfTradePrevention::RejectTaker => {
                    plan.refused = true;
                    break;
                }
                SelfTradePrevention::ExpireTaker => {
                    plan.expired = true;
                    break;
                }
                SelfTradePrevention::ExpireMaker => {
                    plan.steps.push(Step::Expire(maker.order));
                    continue;
                }
                SelfTradePrevention::ExpireBoth => {
                    plan.steps.push(Step::Expire(maker.order));
                    plan.expired = true;
                    break;
                }
            }
        }
        plan.steps.push(Step::Fill(maker.order, quantity));
        most -= quantity;
        plan.rest = match plan.rest {
            Size::Base(rest) => Size::Base(rest - quantity),
            Size::Quote(rest) => {
                Size::Quote(rest - money::notional(maker.price, quantity).expect("affordable"))
            }
        };
    }
    plan
}

/// How much of `maker` the rest takes: 0 when the walk stops there.
fn take(rest: Size, maker: &Resting, lot: Quantity) -> Quantity {
    match rest {
        Size::Base(rest) => rest.min(maker.open),
        Size::Quote(rest) => {
            // A lot that costs more than any amount is more than the rest.
            let Some(cost) = money::notional(maker.price, lot) else { return 0 };
            let lots = rest / cost;
            match lots.checked_mul(lot.into()) {
                Some(quantity) if quantity < Amount::from(maker.open) => quantity as Quantity,
                _ => maker.open,
            }
        }
    }
}

impl Reference {
    /// Carries out an accepted order: fills, ends, rest, and everything that is told of it.
    pub(super) fn execute(
        &mut self,
        incoming: &Incoming,
        is_new: bool,
        before: &Balances,
        output: &mut Output,
    ) {
        let plan = plan(self, incoming);
        assert!(!plan.refused, "judged before");
        let mut touched = Vec::new();
        let mut filled = incoming.filled_before;
        let mut last_price = None;
        for step in &plan.steps {
            match *step {
                Step::Expire(maker) => self.end(maker, OrderStatus::Expired, output),
                Step::Fill(maker, quantity) => {
                    let maker = self.fill(incoming, maker, quantity, output);
                    touched.push(maker.account);
                    last_price = Some(maker.price);
                    filled += quantity;
                }
            }
        }
        let rest = match plan.rest {
            Size::Base(rest) => rest,
            Size::Quote(_) => 0,
        };
        let rests = rest > 0 && !plan.expired && incoming.may_rest();
        let status = if plan.expired {
            OrderStatus::Expired
        } else if rests {
            if filled == 0 { OrderStatus::Open } else { OrderStatus::PartiallyFilled }
        } else if self.is_satisfied(incoming, &plan, last_price) {
            OrderStatus::Filled
        } else {
            OrderStatus::Canceled
        };
        let told = incoming.event(status, filled, if rests { rest } else { 0 });
        output.order(event::Order { is_new: is_new.into(), is_amended: (!is_new).into(), ..told });
        if rests {
            self.rest(incoming, filled, rest, output);
        }
        self.tell_balances(incoming.market, Some(incoming.account), &touched, before, output);
    }

    /// Whether an order that does not rest counts as filled. A market buy does when something was bought and what is
    /// left buys no lot at the best ask, or at its last fill's price when no ask is left.
    fn is_satisfied(&self, incoming: &Incoming, plan: &Plan, last_price: Option<Price>) -> bool {
        match plan.rest {
            Size::Base(rest) => rest == 0,
            Size::Quote(rest) => {
                let Some(last_price) = last_price else { return false };
                let price = self.best(incoming.market, Side::Sell).unwrap_or(last_price);
                let lot = self.markets[incoming.market as usize].lot;
                money::notional(price, lot).is_none_or(|cost| rest < cost)
            }
        }
    }

    /// One trade: the money, the maker's order, the level, the trade event. Gives the maker as it was.
    fn fill(&mut self, taker: &Incoming, maker: OrderId, quantity: Quantity, output: &mut Output) -> Resting {
        let maker = self.orders[&maker].clone();
        let base = money::base_amount(quantity);
        let quote = money::notional(maker.price, quantity).expect("the buyer holds it");
        let (buyer, seller) = match taker.side {
            Side::Buy => (taker.account, maker.account),
            Side::Sell => (maker.account, taker.account),
        };
        let (maker_receives, taker_receives) =
            if taker.side == Side::Buy { (quote, base) } else { (base, quote) };
        let maker_fee = money::fee(maker_receives, maker.maker_fee);
        let taker_fee = money::fee(taker_receives, taker.taker_fee);
        let (buyer_fee, seller_fee) =
            if taker.side == Side::Buy { (taker_fee, maker_fee) } else { (maker_fee, taker_fee) };
        let assets = (self.markets[taker.market as usize].base, self.markets[taker.market as usize].quote);
        let mut change = |account, asset, amount| *self.owned.entry((account, asset)) += amount;
        change(buyer, assets.1, -quote);
        change(buyer, assets.0, base - buyer_fee);
        change(seller, assets.0, -base);
        change(seller, assets.1, quote - seller_fee);
        change(super::FEE_ACCOUNT, assets.0, buyer_fee);
        change(super::FEE_ACCOUNT, assets.1, seller_fee);

        if quantity == maker.open {
            self.orders.remove(&maker.order);
        } else {
            let resting = self.orders.get_mut(&maker.order).expect("it rests");
            resting.open -= quantity;
            resting.filled += quantity;
        }
        let market = &mut self.markets[taker.market as usize];
        market.trades += 1;
        market.last_price = Some(maker.price);
        output.trade(event::Trade {
            trade: market.trades,
            maker_order: maker.order,
            taker_order: taker.order,
            price: maker.price,
            quantity,
            maker_fee: maker_fee.into(),
            taker_fee: taker_fee.into(),
            maker_account: maker.account,
            taker_account: taker.account,
            market: taker.market,
            taker_side: taker.side as u8,
            maker_filled: (quantity == maker.open).into(),
            reserved: 0,
        });
        self.mutated(maker.market, maker.side, maker.price, output);
        maker
    }

    /// Puts what is left of an order into the book, behind everything of its price.
    fn rest(&mut self, incoming: &Incoming, filled: Quantity, open: Quantity, output: &mut Output) {
        let price = incoming.price.expect("only limit orders rest");
        self.arrivals += 1;
        self.orders.insert(
            incoming.order,
            Resting {
                order: incoming.order,
                account: incoming.account,
                market: incoming.market,
                side: incoming.side,
                order_type: incoming.order_type,
                time_in_force: incoming.time_in_force,
                self_trade: incoming.self_trade,
                price,
                filled,
                open,
                maker_fee: incoming.maker_fee,
                arrival: self.arrivals,
            },
        );
        self.mutated(incoming.market, incoming.side, price, output);
    }
}
