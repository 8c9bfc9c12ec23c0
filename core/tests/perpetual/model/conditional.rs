//! Triggers, trailing stops, and what firing does (`risk.md` 14).

use super::arithmetic::{E8, narrow};
use super::{Model, Order, Stage};
use ringside_core::command::{
    PerpetualOrderType, PerpetualState, PerpetualStatus, PriceMatch, SelfTradePrevention, Side, WorkingType,
    order_flag,
};
use ringside_core::event::{self, Execution, IndexState};
use ringside_core::ids::{MarketId, OrderId};
use ringside_core::reject::Reject;
use std::collections::VecDeque;

impl Model {
    /// The price watched now.
    pub fn watched(&self, market: MarketId, working: WorkingType) -> i128 {
        let at = self.market(market);
        match working {
            WorkingType::ContractPrice => at.last_price.unwrap_or(at.mark),
            WorkingType::MarkPrice => at.mark,
        }
    }

    /// Whether lowest or highest price fires a stop or take-profit.
    fn reaches(order: &Order, low: i128, high: i128) -> bool {
        use PerpetualOrderType::*;
        match (order.kind, order.side) {
            (Stop | StopMarket, Side::Buy) | (TakeProfit | TakeProfitMarket, Side::Sell) => {
                high >= order.stop_price
            }
            (Stop | StopMarket, Side::Sell) | (TakeProfit | TakeProfitMarket, Side::Buy) => {
                low <= order.stop_price
            }
            _ => false,
        }
    }

    /// Whether a placement would fire at once, or a trailing one starts beyond its activation price.
    pub(super) fn fires_at_once(&self, order: &Order) -> bool {
        let price = self.watched(order.market, order.working);
        if order.kind == PerpetualOrderType::TrailingStopMarket {
            return order.stop_price != 0
                && match order.side {
                    Side::Buy => order.stop_price >= price,
                    Side::Sell => order.stop_price <= price,
                };
        }
        Model::reaches(order, price, price)
    }

    /// A trailing order starts to watch.
    pub(super) fn start_trailing(&self, order: &mut Order) {
        let price = self.watched(order.market, order.working);
        if order.stop_price == 0 {
            order.stop_price = price;
            order.active = true;
            order.extreme = price;
        }
    }

    /// One price seen by a trailing order. True: it fires.
    fn follow(order: &mut Order, price: i128) -> bool {
        if !order.active {
            let reached = match order.side {
                Side::Buy => price <= order.stop_price,
                Side::Sell => price >= order.stop_price,
            };
            if !reached {
                return false;
            }
            order.active = true;
            order.extreme = price;
        }
        match order.side {
            Side::Buy => {
                order.extreme = order.extreme.min(price);
                price * E8 >= order.extreme * (E8 + order.callback)
            }
            Side::Sell => {
                order.extreme = order.extreme.max(price);
                price * E8 <= order.extreme * (E8 - order.callback)
            }
        }
    }

    /// An attached order begins to watch: the mark in force, or the price of the fill that is about to be told, is its first.
    pub(super) fn begin_watching(&mut self, market: MarketId, working: WorkingType) -> usize {
        let at = self.market_mut(market);
        // Whoever watches marks already has been judged by this one.
        at.mark_path.push(at.mark);
        match working {
            WorkingType::ContractPrice => at.contract_path.len(),
            WorkingType::MarkPrice => at.mark_path.len() - 1,
        }
    }

    /// Whether a price of now is judged, sooner or later.
    fn is_judged(&self, market: MarketId, working: WorkingType) -> bool {
        let is_stale = self.market(market).index_state == Some(IndexState::Stale);
        self.may_match(market) && !(is_stale && working == WorkingType::MarkPrice)
    }

    /// A watched price: noted for the next evaluation, and followed by trailing orders at once.
    pub(super) fn watch(&mut self, market: MarketId, working: WorkingType, price: i128) {
        let is_judged = self.is_judged(market, working);
        self.stirred.insert(market);
        let at = self.market_mut(market);
        match working {
            WorkingType::ContractPrice => at.contract_path.push(price),
            WorkingType::MarkPrice => at.mark_path.push(price),
        }
        for order in self.orders.values_mut() {
            if is_judged
                && order.market == market
                && order.working == working
                && order.stage == Stage::Waiting
                && order.kind == PerpetualOrderType::TrailingStopMarket
            {
                order.turned |= Model::follow(order, price);
            }
        }
    }

    /// Orders of a market that the prices since the last evaluation fire, ascending ids. The prices are used up; what is
    /// queued already is not judged again.
    fn fired(&mut self, market: MarketId) -> Vec<OrderId> {
        let queue = self.queue.clone();
        let mut judged = Vec::new();
        for working in [WorkingType::ContractPrice, WorkingType::MarkPrice] {
            let price = self.watched(market, working);
            let is_judged = self.is_judged(market, working);
            let at = self.market_mut(market);
            let path = match working {
                WorkingType::ContractPrice => &mut at.contract_path,
                WorkingType::MarkPrice => &mut at.mark_path,
            };
            let passed = std::mem::take(path);
            if is_judged {
                judged.push(passed);
            } else {
                // Of a time in which nobody judges, the last price is the first that will count.
                path.extend(passed.last().map(|_| price));
                judged.push(Vec::new());
            }
        }
        if !self.may_match(market) {
            self.orders
                .values_mut()
                .filter(|order| order.market == market)
                .for_each(|order| order.watches_from = 0);
            return Vec::new();
        }
        let in_force =
            [WorkingType::ContractPrice, WorkingType::MarkPrice].map(|working| self.watched(market, working));
        let at = self.market_mut(market);
        let (mark_price, bound) = (at.mark, at.parameters[&15]);
        let last = at.last_price.unwrap_or(at.mark);
        let mut fired = Vec::new();
        let mut deferred = Vec::new();
        for order in self.orders.values_mut() {
            let dormant = order.quantity == 0 && !order.has(order_flag::CLOSE_POSITION);
            if order.market != market || order.stage != Stage::Waiting || dormant || queue.contains(&order.id)
            {
                continue;
            }
            let path = &judged[order.working as usize][..];
            let from = std::mem::take(&mut order.watches_from);
            if path.is_empty() {
                continue;
            }
            let path = &path[from..];
            if order.kind == PerpetualOrderType::TrailingStopMarket {
                // Where judging begins again it has not seen it yet.
                order.turned |= Model::follow(order, in_force[order.working as usize]);
            }
            let (Some(&low), Some(&high)) = (path.iter().min(), path.iter().max()) else { continue };
            let trailing = order.kind == PerpetualOrderType::TrailingStopMarket;
            let fires =
                if trailing { std::mem::take(&mut order.turned) } else { Model::reaches(order, low, high) };
            let held_back =
                order.has(order_flag::PRICE_PROTECT) && (mark_price - last).abs() * E8 > bound * mark_price;
            if !fires || !held_back {
                order.deferred = false;
            }
            if fires && held_back {
                if !order.deferred {
                    let rises = Model::waits_for_rise(order);
                    let key = if trailing {
                        (2, 0)
                    } else if rises {
                        (0, order.stop_price)
                    } else {
                        (1, -order.stop_price)
                    };
                    deferred.push((order.working as u8, key, order.id, order.account));
                }
                order.deferred = true;
            } else if fires {
                order.turned = trailing;
                fired.push(order.id);
            }
        }
        deferred.sort_unstable();
        for (_, _, order, account) in deferred {
            self.output.fact(event::TriggerDeferred {
                order,
                account,
                market,
                mark: narrow(mark_price),
                last: narrow(last),
            });
        }
        fired
    }

    fn waits_for_rise(order: &Order) -> bool {
        use PerpetualOrderType::*;
        match order.side {
            Side::Buy => matches!(order.kind, Stop | StopMarket),
            Side::Sell => matches!(order.kind, TakeProfit | TakeProfitMarket),
        }
    }

    /// Trims, evaluates the triggers of every market and runs what fires, until nothing more does or no unit is left. Children of
    /// children queue behind; in a market that does not match they wait until it does.
    pub(super) fn run_triggers(&mut self) {
        let ids: Vec<MarketId> = self.markets.iter().map(|market| market.id).collect();
        loop {
            let mut trimmed = true;
            for market in self.untrimmed.clone() {
                trimmed &= self.trim(market);
            }
            for &market in &ids {
                let fired = self.fired(market);
                self.queue.extend(fired);
            }
            let next = self.queue.iter().position(|&id| self.is_due(id));
            let Some(place) = next.filter(|_| trimmed && self.units > 0) else { break };
            let id = self.queue.remove(place).expect("there");
            self.units -= 1;
            self.fire(id);
        }
        let open: VecDeque<OrderId> =
            self.queue.iter().copied().filter(|id| self.orders.contains_key(id)).collect();
        self.queue = open;
    }

    /// A triggered order becomes an ordinary one; one of the conditional-order service goes on under a new id.
    fn fire(&mut self, id: OrderId) {
        let mut order = self.orders[&id].clone();
        self.settle_first(order.account);
        if let Some(open) = self.orders.contains_key(&order.parent).then_some(order.parent) {
            // No lot of the entry without its protection.
            self.cancel_order(open);
        }
        if order.parent != 0 {
            order.self_trade = SelfTradePrevention::ExpireMaker;
            self.orders.insert(id, order.clone());
        }
        let siblings: Vec<OrderId> =
            self.attached(order.parent).into_iter().filter(|&sibling| sibling != id).collect();
        let refusal = self.judge_fired(&mut order).err();
        if let Some(reject) = refusal {
            self.refuse_fired(id, reject);
        } else {
            order.kind = if Order::is_market_type(order.kind) {
                PerpetualOrderType::Market
            } else {
                PerpetualOrderType::Limit
            };
            order.open = order.quantity;
            order.stage = Stage::Arriving;
            let mut runs = id;
            if order.has(order_flag::CONDITIONAL_SERVICE) {
                let told = order.event(PerpetualStatus::New, Execution::Triggered, 0, 0);
                self.output.fact(told);
                self.orders.remove(&id);
                runs = self.next_order();
                for child in self.orders.values_mut().filter(|child| child.parent == id) {
                    child.parent = runs;
                }
                order.id = runs;
                order.flags &= !order_flag::CONDITIONAL_SERVICE;
                self.orders.insert(runs, order);
                self.tell_placed(runs, id);
                self.tell_order(runs, Execution::New);
            } else {
                self.orders.insert(id, order);
                self.tell_order(id, Execution::Triggered);
            }
            self.execute(runs);
        }
        for sibling in siblings {
            if self.orders.get(&sibling).is_some_and(|order| order.stage == Stage::Waiting) {
                self.cancel_order(sibling);
            }
        }
    }

    /// What is judged of a fired order: reduce-only, bracket, margin, GTX, FOK, price match.
    fn judge_fired(&mut self, order: &mut Order) -> Result<(), Reject> {
        let entering = if Order::is_market_type(order.kind) {
            PerpetualOrderType::Market
        } else {
            PerpetualOrderType::Limit
        };
        let waiting = order.kind;
        order.kind = entering;
        if order.has(order_flag::CLOSE_POSITION) || order.has(order_flag::REDUCE_ONLY) {
            let most = self.reducible(order.account, order.market, order.side);
            if most == 0 {
                order.kind = waiting;
                return Err(Reject::ReduceOnlyRefused);
            }
            if order.has(order_flag::CLOSE_POSITION) || order.quantity > most {
                order.quantity = most;
            }
        } else if self.state(order.market) == PerpetualState::ReduceOnly {
            order.kind = waiting;
            return Err(Reject::StateRefuses);
        } else if !self.account(order.account).trading_enabled {
            order.kind = waiting;
            return Err(Reject::TradingDisabled);
        } else if [None, Some(order.market)]
            .iter()
            .any(|scope| self.liquidating.contains(&(order.account, *scope)))
        {
            order.kind = waiting;
            return Err(Reject::InLiquidation);
        }
        if order.price_match != PriceMatch::None {
            match self.matched_price(order.market, order.side, order.price_match) {
                Some(price) => order.price = price,
                None => return Err(Reject::NoPriceMatch),
            }
            self.judge_price(order.market, order.price, Reject::InvalidPrice, Reject::PriceAboveMaximum)?;
            self.judge_notional(order)?;
            self.judge_band(order.market, order.side, order.price)?;
        }
        self.judge_margin(order)?;
        self.judge_entry(order)?;
        order.kind = waiting;
        Ok(())
    }
}
