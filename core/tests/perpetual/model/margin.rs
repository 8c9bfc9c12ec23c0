//! Initial, order and maintenance margin, equity, what is available (`risk.md` 6, 7, 8).

use super::arithmetic::{ceil_div, rate_up, share_up, value_down, value_up};
use super::ledger::sign;
use super::{Bracket, Market, Model, Order, Position, Stage};
use ringside_core::command::{MarginMode, Side, order_flag};
use ringside_core::ids::{AccountId, MarketId};

/// Sums over open orders of one side.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Bucket {
    pub quantity: i128,
    pub reference: i128,
    pub open_loss: i128,
    pub fee_reserve: i128,
}

impl Bucket {
    pub fn add(&mut self, other: Bucket) {
        self.quantity += other.quantity;
        self.reference += other.reference;
        self.open_loss += other.open_loss;
        self.fee_reserve += other.fee_reserve;
    }
}

impl Order {
    pub fn has(&self, flag: u16) -> bool {
        self.flags & flag != 0
    }

    pub fn rests(&self) -> bool {
        self.stage == Stage::Resting
    }

    /// What it adds to the reference value of its side while all of it is open.
    pub fn reference_in_book(&self) -> i128 {
        let counts =
            self.stage != Stage::Waiting && Model::may_rest(self) && !self.has(order_flag::REDUCE_ONLY);
        if counts { self.reference } else { 0 }
    }

    /// What it reserves now.
    pub fn bucket(&self) -> Bucket {
        if !self.rests() || self.has(order_flag::REDUCE_ONLY) {
            return Bucket::default();
        }
        if self.open == self.reserved_for {
            return Bucket {
                quantity: self.open,
                reference: self.reference,
                open_loss: self.open_loss,
                fee_reserve: self.fee_reserve,
            };
        }
        Bucket {
            quantity: self.open,
            reference: share_up(self.reference, self.open, self.reserved_for),
            open_loss: share_up(self.open_loss, self.open, self.reserved_for),
            fee_reserve: share_up(self.fee_reserve, self.open, self.reserved_for),
        }
    }
}

impl Market {
    /// The bracket of a notional: the first whose cap is not below it, else the last.
    pub fn bracket(&self, notional: i128) -> usize {
        self.brackets.iter().position(|bracket| notional <= bracket.cap).unwrap_or(self.brackets.len() - 1)
    }

    pub fn notional(&self, quantity: i128) -> i128 {
        value_up(quantity.abs(), self.mark)
    }

    pub fn maintenance(&self, quantity: i128) -> i128 {
        let notional = self.notional(quantity);
        let Bracket { rate, cumulated, .. } = self.brackets[self.bracket(notional)];
        rate_up(notional, rate) - cumulated
    }

    /// Largest exposure at a leverage; 0 where no bracket allows it.
    pub fn exposure_cap(&self, leverage: i128) -> i128 {
        self.brackets
            .iter()
            .rfind(|bracket| i128::from(bracket.leverage) >= leverage)
            .map_or(0, |bracket| bracket.cap)
    }
}

impl Model {
    pub fn market(&self, id: MarketId) -> &Market {
        self.markets.iter().find(|market| market.id == id).expect("a perpetual market")
    }

    pub(super) fn market_mut(&mut self, id: MarketId) -> &mut Market {
        self.markets.iter_mut().find(|market| market.id == id).expect("a perpetual market")
    }

    pub fn unrealised(&self, market: MarketId, position: &Position) -> i128 {
        value_down(position.quantity, self.market(market).mark) - position.cost
    }

    pub fn bucket(&self, account: AccountId, market: MarketId, side: Side) -> Bucket {
        let mut bucket = Bucket::default();
        for order in self.orders.values() {
            if order.account == account && order.market == market && order.side == side {
                bucket.add(order.bucket());
            }
        }
        bucket
    }

    /// Buys and sells.
    pub fn buckets(&self, account: AccountId, market: MarketId) -> [Bucket; 2] {
        [self.bucket(account, market, Side::Buy), self.bucket(account, market, Side::Sell)]
    }

    /// `Np`.
    pub fn signed_notional(&self, market: MarketId, quantity: i128) -> i128 {
        quantity.signum() * self.market(market).notional(quantity)
    }

    /// What a market takes from the cross wallet: IM of a cross position, OIM of an isolated one.
    pub fn requirement(&self, market: MarketId, position: &Position, buckets: &[Bucket; 2]) -> i128 {
        let leverage = self.leverage(market, position);
        let notional = self.signed_notional(market, position.quantity);
        let mut worst =
            if position.mode == MarginMode::Cross { ceil_div(notional.abs(), leverage) } else { 0 };
        for side in [Side::Buy, Side::Sell] {
            let bucket = buckets[side as usize];
            if bucket.quantity == 0 {
                continue;
            }
            let closing = (-sign(side) * position.quantity).max(0);
            let opening = (bucket.quantity - closing).max(0);
            let extra = share_up(bucket.open_loss, opening, bucket.quantity)
                + share_up(bucket.fee_reserve, opening, bucket.quantity);
            let base = if position.mode == MarginMode::Cross {
                (notional + sign(side) * bucket.reference).abs()
            } else {
                share_up(bucket.reference, opening, bucket.quantity)
            };
            worst = worst.max(ceil_div(base, leverage) + extra);
        }
        worst
    }

    pub fn requirement_now(&self, account: AccountId, market: MarketId) -> i128 {
        self.requirement(market, &self.position(account, market), &self.buckets(account, market))
    }

    /// Sum of IM over cross markets and of OIM over isolated ones.
    pub fn total_requirement(&self, account: AccountId) -> i128 {
        let shared = self.sharing.iter().map(|sharing| sharing.withheld(account)).sum::<i128>();
        let settled = self.markets.iter().filter_map(|market| market.closing.as_ref());
        let brought = settled.clone().map(|closing| &closing.brought).chain([&self.brought]).flatten();
        let brought: i128 = brought.filter(|(of, _)| *of == account).map(|(_, sum)| sum.max(&0)).sum();
        let settled: i128 =
            settled.flat_map(|closing| &closing.sharing).map(|sharing| sharing.withheld(account)).sum();
        shared + brought + settled + self.margins(account)
    }

    fn margins(&self, account: AccountId) -> i128 {
        self.markets.iter().map(|market| self.requirement_now(account, market.id)).sum()
    }

    /// Markets whose positions the cross wallet backs.
    pub fn cross_markets(&self, account: AccountId) -> impl Iterator<Item = MarketId> {
        let ids = self.markets.iter().map(|market| market.id);
        ids.filter(move |&id| self.position(account, id).mode == MarginMode::Cross)
    }

    pub fn cross_unrealised(&self, account: AccountId) -> i128 {
        let markets = self.cross_markets(account);
        markets.map(|id| self.unrealised(id, &self.position(account, id))).sum()
    }

    pub fn cross_equity(&self, account: AccountId) -> i128 {
        self.account(account).wallet + self.cross_unrealised(account)
    }

    pub fn available(&self, account: AccountId) -> i128 {
        (self.cross_equity(account) - self.total_requirement(account)).max(0)
    }

    pub fn withdrawable(&self, account: AccountId) -> i128 {
        let profit = self.cross_unrealised(account).min(0);
        let free = self.account(account).wallet + profit - self.total_requirement(account);
        (free.max(0) - self.owes(account)).max(0)
    }

    /// Markets of a scope with a position: one isolated market, or all cross ones.
    pub fn scope_markets(
        &self,
        account: AccountId,
        scope: Option<MarketId>,
    ) -> impl Iterator<Item = MarketId> {
        let markets = scope.into_iter().chain(self.cross_markets(account).filter(move |_| scope.is_none()));
        markets.filter(move |&id| self.position(account, id).quantity != 0)
    }

    /// Whether a scope has a position.
    pub fn holds(&self, account: AccountId, scope: Option<MarketId>) -> bool {
        self.scope_markets(account, scope).next().is_some()
    }

    /// The scope that a market of an account belongs to.
    pub fn scope_of(&self, account: AccountId, market: MarketId) -> Option<MarketId> {
        (self.position(account, market).mode == MarginMode::Isolated).then_some(market)
    }

    pub fn scope_equity(&self, account: AccountId, scope: Option<MarketId>) -> i128 {
        match scope {
            None => self.cross_equity(account),
            Some(market) => {
                let position = self.position(account, market);
                position.isolated_wallet + self.unrealised(market, &position)
            }
        }
    }

    pub fn scope_maintenance(&self, account: AccountId, scope: Option<MarketId>) -> i128 {
        let markets = self.scope_markets(account, scope);
        markets.map(|id| self.market(id).maintenance(self.position(account, id).quantity)).sum()
    }

    /// Every scope of an account: cross first, also without a position, then isolated positions ascending.
    pub fn scopes(&self, account: AccountId) -> Vec<Option<MarketId>> {
        let mut scopes = vec![None];
        for market in &self.markets {
            let position = self.position(account, market.id);
            if position.mode == MarginMode::Isolated && position.quantity != 0 {
                scopes.push(Some(market.id));
            }
        }
        scopes
    }
}
