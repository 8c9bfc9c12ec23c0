//! What happens to orders other than by a match: telling, ending, growing, trimming.

use super::arithmetic::narrow;
use super::ledger::held_side;
use super::{Model, Order, Stage};
use ringside_core::command::{PerpetualOrderType, PerpetualStatus, PerpetualTimeInForce, Side, order_flag};
use ringside_core::event::{self, Execution};
use ringside_core::ids::{AccountId, MarketId, OrderId};

/// Numbers of `perpetual-stream.md` 4.1.
pub mod reason {
    pub const NONE: u8 = 0;
    pub const SELF_TRADE: u8 = 1;
    pub const IMMEDIATE: u8 = 2;
    pub const IMMEDIATE_SELF_TRADE: u8 = 3;
    pub const REDUCE_ONLY: u8 = 4;
    pub const LIQUIDATION: u8 = 5;
    pub const NO_POSITION: u8 = 6;
    pub const CLOSED: u8 = 7;
    pub const TRIGGER_REFUSED: u8 = 8;
    pub const NO_LIQUIDITY: u8 = 9;
    pub const MARGIN: u8 = 10;
    pub const BAND: u8 = 11;
    pub const DELEVERAGED: u8 = 12;
}

impl Order {
    pub fn is_conditional(kind: PerpetualOrderType) -> bool {
        use PerpetualOrderType::*;
        matches!(kind, Stop | TakeProfit | StopMarket | TakeProfitMarket | TrailingStopMarket)
    }

    /// Types that turn into market orders, and market orders.
    pub fn is_market_type(kind: PerpetualOrderType) -> bool {
        use PerpetualOrderType::*;
        matches!(kind, Market | StopMarket | TakeProfitMarket | TrailingStopMarket)
    }

    /// Its status while it lives.
    pub fn live_status(&self) -> PerpetualStatus {
        if self.filled > 0 { PerpetualStatus::PartiallyFilled } else { PerpetualStatus::New }
    }

    pub fn event(
        &self,
        status: PerpetualStatus,
        execution: Execution,
        reason: u8,
        open: i128,
    ) -> event::PerpetualOrder {
        event::PerpetualOrder {
            order: self.id,
            account: self.account,
            market: self.market,
            side: self.side as u8,
            order_type: self.kind as u8,
            original_type: self.original_kind as u8,
            time_in_force: self.time_in_force as u8,
            status: status as u8,
            execution: execution as u8,
            expiry_reason: reason,
            self_trade: self.self_trade as u8,
            working_type: self.working as u8,
            price_match: self.price_match as u8,
            flags: self.flags,
            callback_rate: self.callback as u32,
            price: narrow(self.price),
            quantity: narrow(self.quantity),
            filled: narrow(self.filled),
            open: narrow(open),
            value: narrow(self.value),
            stop_price: narrow(self.stop_price),
            good_till_ms: self.good_till,
            parent: self.parent,
        }
    }
}

impl Model {
    pub(super) fn tell_order(&mut self, id: OrderId, execution: Execution) {
        let order = &self.orders[&id];
        let told = order.event(order.live_status(), execution, reason::NONE, order.open);
        self.output.fact(told);
    }

    pub(super) fn tell_placed(&mut self, id: OrderId, fired: OrderId) {
        let order = &self.orders[&id];
        let reference = narrow(order.reference_in_book());
        let told = event::PerpetualPlaced {
            order: id,
            account: order.account,
            market: order.market,
            fired,
            client_order: order.client,
            reserved: 0,
            reference,
        };
        self.output.fact(told);
    }

    /// Orders attached to one that have not fired, ascending ids.
    pub fn attached(&self, parent: OrderId) -> Vec<OrderId> {
        if parent == 0 {
            return Vec::new();
        }
        let waits = |order: &&Order| order.parent == parent && order.stage == Stage::Waiting;
        self.orders.values().filter(waits).map(|order| order.id).collect()
    }

    /// Ends an order. Attached orders go with an entry that came to nothing.
    pub(super) fn end(&mut self, id: OrderId, status: PerpetualStatus, execution: Execution, reason: u8) {
        if self.orders[&id].filled == 0 {
            self.cancel_attached(id);
        }
        let order = self.orders.remove(&id).expect("it is open");
        self.output.fact(order.event(status, execution, reason, 0));
        if order.rests() {
            self.mutated(order.market, order.side, order.price);
            self.tell_exposure(&order);
        }
    }

    fn cancel_attached(&mut self, parent: OrderId) {
        for child in self.attached(parent) {
            self.cancel_order(child);
        }
    }

    /// As its owner wants it: attached orders go as well.
    pub(super) fn cancel_for_owner(&mut self, id: OrderId) {
        self.cancel_attached(id);
        self.cancel_order(id);
    }

    pub(super) fn cancel_order(&mut self, id: OrderId) {
        self.end(id, PerpetualStatus::Canceled, Execution::Canceled, reason::NONE);
    }

    pub(super) fn expire_order(&mut self, id: OrderId, reason: u8) {
        self.end(id, PerpetualStatus::Expired, Execution::Expired, reason);
    }

    /// Ids of open orders of an account, in one market or all, ascending by market, then id.
    pub fn open_orders(&self, account: AccountId, market: Option<MarketId>) -> Vec<OrderId> {
        let mut found: Vec<(MarketId, OrderId)> = self
            .orders
            .values()
            .filter(|order| order.account == account && market.is_none_or(|market| market == order.market))
            .map(|order| (order.market, order.id))
            .collect();
        found.sort_unstable();
        found.into_iter().map(|(_, id)| id).collect()
    }

    /// Attached orders follow the quantity that their parent executed.
    pub(super) fn grow_attached(&mut self, parent: OrderId, executed: i128) {
        for child in self.attached(parent) {
            let Order { market, working, quantity, .. } = self.orders[&child];
            let begins = if quantity == 0 { self.begin_watching(market, working) } else { 0 };
            let order = self.orders.get_mut(&child).expect("open");
            if quantity == 0 {
                order.watches_from = begins;
            }
            order.quantity = executed;
            order.open = executed;
            self.tell_order(child, Execution::Amended);
        }
    }

    /// What a reduce-only order of a side may still fill.
    pub fn reducible(&self, account: AccountId, market: MarketId, side: Side) -> i128 {
        let quantity = self.position(account, market).quantity;
        if quantity != 0 && held_side(quantity) != side { quantity.abs() } else { 0 }
    }

    /// The shrink rule of `risk.md` 13, over one market, as far as there are units; whether all of it is done.
    pub(super) fn trim(&mut self, market: MarketId) -> bool {
        self.untrimmed.remove(&market);
        let mut bound: Vec<(AccountId, OrderId)> = self
            .orders
            .values()
            .filter(|order| {
                order.market == market
                    && ((order.rests() && order.has(order_flag::REDUCE_ONLY)) || order.has(order_flag::GTE))
            })
            .map(|order| (order.account, order.id))
            .collect();
        bound.sort_unstable();
        for (account, id) in bound {
            let Some(order) = self.orders.get(&id) else { continue };
            if order.rests() {
                let most = self.reducible(account, market, order.side);
                if order.open <= most {
                    continue;
                }
                if !self.take_unit() {
                    self.untrimmed.insert(market);
                    return false;
                }
                if most == 0 {
                    self.expire_order(id, reason::REDUCE_ONLY);
                } else {
                    self.shorten(id, most);
                }
            } else if order.stage == Stage::Waiting
                && self.turned.contains(&(account, market))
                && self.reducible(account, market, order.side) == 0
            {
                if !self.take_unit() {
                    self.untrimmed.insert(market);
                    return false;
                }
                self.expire_order(id, reason::NO_POSITION);
            }
        }
        self.turned.retain(|&(_, at)| at != market);
        true
    }

    /// Takes open quantity away from a resting order, which keeps its place.
    pub(super) fn shorten(&mut self, id: OrderId, open: i128) {
        let order = self.orders.get_mut(&id).expect("it rests");
        order.open = open;
        order.shortened = true;
        let (market, side, price) = (order.market, order.side, order.price);
        self.tell_order(id, Execution::Amended);
        self.mutated(market, side, price);
    }

    pub(super) fn next_order(&mut self) -> OrderId {
        self.spot.take_order_id()
    }

    /// Whether an arriving order may rest.
    pub(super) fn may_rest(order: &Order) -> bool {
        use PerpetualTimeInForce::*;
        order.kind == PerpetualOrderType::Limit
            && matches!(order.time_in_force, GoodTillCancel | PostOnly | GoodTillDate)
    }
}
