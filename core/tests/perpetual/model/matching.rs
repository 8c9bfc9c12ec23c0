//! The match of an arriving order, meeting by meeting (`risk.md` 4, 6, 9, 13, 15, 16).

use super::arithmetic::{E8, narrow, rate_up, value};
use super::ledger::Half;
use super::orders::reason;
use super::{FUND, Market, Model, Order, Stage};
use ringside_core::command::{
    MarginMode, PerpetualOrderType, PerpetualState, PerpetualStatus, SelfTradePrevention, Side, WorkingType,
    order_flag,
};
use ringside_core::event::{self, Execution, LiquidationStep, PostingReason};
use ringside_core::ids::{AccountId, MarketId, OrderId};

/// On whose behalf an order trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Owner,
    /// It closes for this scope of its account.
    Liquidation(Option<MarketId>),
    /// It unwinds the insurance fund.
    Fund,
}

/// How a match ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is left of the order.
    Filled,
    /// Nothing is left that it may meet.
    Dry,
    /// A self-trade mode ended it.
    Prevented,
    /// The next fill would leave the taker below maintenance margin.
    Margin,
    /// The next price is outside the dynamic band.
    Band,
}

/// One fill that a walk foresees.
#[derive(Clone, Copy, Debug)]
pub struct Foreseen {
    pub price: i128,
    pub quantity: i128,
}

impl Model {
    /// Whether a fill opens exposure and leaves its owner below maintenance margin, or without the margin it moves.
    fn breaches(&self, account: AccountId, market: MarketId, half: &Half) -> bool {
        if half.opened == 0 {
            return false;
        }
        let old = self.position(account, market);
        let scope = self.scope_of(account, market);
        let new = half.position;
        let at = self.market(market);
        let (change, growth) = (
            self.unrealised(market, &new) - self.unrealised(market, &old),
            at.maintenance(new.quantity) - at.maintenance(old.quantity),
        );
        if scope.is_none() {
            return self.cross_equity(account) + change + half.wallet
                < self.scope_maintenance(account, None) + growth;
        }
        // The margin that moves to the position leaves the cross scope, which must bear that.
        new.isolated_wallet + self.unrealised(market, &new) < at.maintenance(new.quantity)
            || self.overdraws(account, market, half.covered)
            || (self.holds(account, None)
                && self.cross_equity(account) + half.wallet < self.scope_maintenance(account, None))
    }

    /// Whether the fund would pay for a fill more than an isolated position had lost beyond its margin before it.
    fn overdraws(&self, account: AccountId, market: MarketId, covered: i128) -> bool {
        covered > 0 && covered > -self.scope_equity(account, self.scope_of(account, market))
    }

    /// Whether a fill that only closes leaves its owner's scope below maintenance margin, and lower than it was, or lower than it was
    /// below nothing at all.
    fn sinks(&self, account: AccountId, market: MarketId, half: &Half) -> bool {
        if half.opened != 0 {
            return self.breaches(account, market, half);
        }
        let (old, new) = (self.position(account, market), half.position);
        let at = self.market(market);
        let scope = self.scope_of(account, market);
        let equity = self.scope_equity(account, scope);
        let before = equity - self.scope_maintenance(account, scope);
        // What enters the scope's wallet, what its position is worth less, what margin that frees.
        let wallet = match scope {
            None => half.wallet,
            Some(_) => new.isolated_wallet - half.covered - old.isolated_wallet,
        };
        let profit = self.unrealised(market, &new) - self.unrealised(market, &old);
        let after = before + wallet + profit + at.maintenance(old.quantity) - at.maintenance(new.quantity);
        (after < 0 && after < before)
            || equity + wallet + profit < equity.min(0)
            || self.overdraws(account, market, half.covered)
    }

    /// The same of a fill with oneself: both halves are carried out, looked at and taken back.
    fn sinks_alone(
        &mut self,
        account: AccountId,
        market: MarketId,
        first: &Half,
        (side, quantity, amount, fee): (Side, i128, i128, i128),
    ) -> bool {
        let scope = self.scope_of(account, market);
        let room = |model: &Model, of| model.scope_equity(account, of) - model.scope_maintenance(account, of);
        let (before, wallet) = (room(self, scope), self.account(account).wallet);
        let equity = self.scope_equity(account, scope);
        let position = self.positions.get(account, market).copied();
        self.positions.set(account, market, Some(first.position));
        self.account_mut(account).wallet += first.wallet;
        let second = self.half(account, market, side, quantity, amount, fee);
        self.positions.set(account, market, Some(second.position));
        self.account_mut(account).wallet += second.wallet;
        let covered = first.covered + second.covered;
        let after = room(self, scope) - if second.opened == 0 { covered } else { 0 };
        let sinks =
            after < 0 && after < before || self.scope_equity(account, scope) - covered < equity.min(0);
        let others = scope.is_some() && self.holds(account, None) && room(self, None) < 0;
        let takes = others && self.account(account).wallet < wallet;
        self.account_mut(account).wallet = wallet;
        self.positions.set(account, market, position);
        let lost = second.lacks || self.overdraws(account, market, covered);
        lost || if second.opened == 0 { takes || sinks } else { after < 0 || others }
    }

    pub fn same_party(&self, one: AccountId, other: AccountId) -> bool {
        let group = self.account(one).trade_group;
        one == other || (group >= 0 && group == self.account(other).trade_group)
    }

    /// The bounds of the dynamic band around the mark of some time ago.
    pub fn band(&self, market: &Market) -> (i128, i128) {
        let reference = self.band_reference(market);
        let width = market.parameters[&26];
        (
            super::arithmetic::ceil_div(reference * (E8 - width), E8),
            super::arithmetic::floor_div(reference * (E8 + width), E8),
        )
    }

    /// Whether a price is outside the dynamic band.
    pub fn is_beyond_band(&self, market: MarketId, price: i128) -> bool {
        let (low, high) = self.band(self.market(market));
        price < low || price > high
    }

    /// Matches the arriving order `id` as far as `limit` and the rules let it.
    ///
    pub(super) fn run_match(&mut self, id: OrderId, limit: Option<i128>, role: Role) -> Ending {
        let Order { account, market, .. } = self.orders[&id];
        self.is_matching = true;
        self.meet_party(account, market);
        let ending = self.meet_all(id, limit, role);
        self.tell_pass(market);
        self.is_matching = false;
        ending
    }

    fn meet_all(&mut self, id: OrderId, limit: Option<i128>, role: Role) -> Ending {
        let Order { account, market, side, self_trade, .. } = self.orders[&id].clone();
        loop {
            let open = self.orders[&id].open;
            if open == 0 {
                return Ending::Filled;
            }
            let Some(maker) = self.side(market, side.opposite()).first().map(|&order| order.clone()) else {
                return Ending::Dry;
            };
            let reaches = match (limit, side) {
                (None, _) => true,
                (Some(limit), Side::Buy) => maker.price <= limit,
                (Some(limit), Side::Sell) => maker.price >= limit,
            };
            if !reaches {
                return Ending::Dry;
            }
            if self.level.is_some_and(|level| i128::from(level.price) != maker.price) {
                self.tell_level();
            }
            if !matches!(role, Role::Liquidation(_)) && self.is_beyond_band(market, maker.price) {
                let now = self.now_ms();
                self.market_mut(market).band_since_ms[side as usize].get_or_insert(now);
                return Ending::Band;
            }
            if role == Role::Owner
                && self_trade != SelfTradePrevention::None
                && self.same_party(account, maker.account)
            {
                if self.prevent(id, &maker, self_trade) {
                    return Ending::Prevented;
                }
                continue;
            }
            let mut quantity = open.min(maker.open);
            if maker.has(order_flag::REDUCE_ONLY) {
                quantity = quantity.min(self.reducible(maker.account, market, maker.side));
                if quantity == 0 {
                    self.expire_order(maker.id, reason::REDUCE_ONLY);
                    continue;
                }
            }
            self.met.push(maker.account);
            if self.is_behind(maker.account) {
                self.tell_pass(market);
                self.is_matching = false;
                self.settle_first(maker.account);
                self.is_matching = true;
                self.meet_party(account, market);
            }
            self.meet_party(maker.account, market);
            let amount = value(maker.price, quantity);
            let taker_fee = match role {
                Role::Owner | Role::Fund => self.taker_fee(account, amount),
                Role::Liquidation(scope) => self.liquidation_fee(account, scope, market, quantity, amount),
            };
            let liquidates = matches!(role, Role::Liquidation(_));
            let pooled = if liquidates { 0 } else { taker_fee };
            let maker_fee = self.maker_fee(maker.account, amount, pooled);
            let maker_half = self.half(maker.account, market, maker.side, quantity, amount, maker_fee);
            let is_self = maker.account == account;
            if maker_half.lacks || (!is_self && self.sinks(maker.account, market, &maker_half)) {
                self.expire_order(maker.id, reason::MARGIN);
                continue;
            }
            let stops = if is_self {
                self.sinks_alone(account, market, &maker_half, (side, quantity, amount, taker_fee))
            } else {
                let half = self.half(account, market, side, quantity, amount, taker_fee);
                half.lacks || self.sinks(account, market, &half)
            };
            if !liquidates && stops {
                return Ending::Margin;
            }
            self.fill(id, &maker, quantity, amount, (maker_fee, taker_fee), role);
        }
    }

    /// A meeting of one party. True: the arriving order ends.
    fn prevent(&mut self, id: OrderId, maker: &Order, mode: SelfTradePrevention) -> bool {
        let taker = self.orders[&id].clone();
        let ends_maker = matches!(mode, SelfTradePrevention::ExpireMaker | SelfTradePrevention::ExpireBoth);
        let ends_taker = matches!(mode, SelfTradePrevention::ExpireTaker | SelfTradePrevention::ExpireBoth);
        let market = self.market_mut(taker.market);
        market.prevented += 1;
        let prevented = market.prevented;
        let group = if taker.account == maker.account { -1 } else { self.account(taker.account).trade_group };
        self.output.fact(event::PreventedMatch {
            prevented,
            taker_order: id,
            maker_order: maker.id,
            price: narrow(maker.price),
            maker_quantity: if ends_maker { narrow(maker.open) } else { 0 },
            taker_quantity: if ends_taker { narrow(taker.open) } else { 0 },
            trade_group: group,
            taker_account: taker.account,
            maker_account: maker.account,
            market: taker.market,
            mode: mode as u8,
            reserved: [0; 3],
        });
        if ends_maker {
            self.end(maker.id, PerpetualStatus::ExpiredInMatch, Execution::Expired, reason::SELF_TRADE);
        }
        ends_taker
    }

    /// One trade: the money, both positions, both orders, what follows at once.
    fn fill(
        &mut self,
        id: OrderId,
        maker: &Order,
        quantity: i128,
        amount: i128,
        (maker_fee, taker_fee): (i128, i128),
        role: Role,
    ) {
        let Order { account, market, side, .. } = self.orders[&id].clone();
        let maker_base = self.tier(maker.account).maker;
        let taker_base = self.tier(account).taker;
        // Money and positions: the maker's half, then the taker's.
        let maker_half = self.half(maker.account, market, maker.side, quantity, amount, maker_fee);
        let before = [maker.account, account].map(|owner| (owner, self.position(owner, market).quantity));
        let mut moved = self.settle(maker.account, market, &maker_half);
        let taker_half = self.half(account, market, side, quantity, amount, taker_fee);
        moved += self.settle(account, market, &taker_half);
        self.note_turns(market, before);
        let maker_reward = self.reward(maker.account, maker_base, amount, maker_fee);
        let mut taker_reward = 0;
        let liquidates = matches!(role, Role::Liquidation(_));
        if liquidates {
            self.account_mut(FUND).wallet += taker_fee;
            self.fees += maker_fee - maker_reward;
        } else {
            // A rebate comes out of the taker's fee first.
            taker_reward = self.reward(account, taker_base, amount, taker_fee + maker_fee.min(0));
            self.fees += maker_fee + taker_fee - maker_reward - taker_reward;
        }
        self.affiliates += maker_reward + taker_reward;
        moved += maker_fee + taker_fee - maker_half.covered - taker_half.covered;
        assert_eq!(moved, 0, "the legs of a trade sum to zero");
        // Orders and book.
        let arriving = self.orders.get_mut(&id).expect("it arrives");
        arriving.open -= quantity;
        arriving.filled += quantity;
        arriving.value += amount;
        let (taker_executed, taker_filled) = (arriving.filled, arriving.open == 0);
        let resting = self.orders.get_mut(&maker.id).expect("it rests");
        resting.open -= quantity;
        resting.filled += quantity;
        resting.value += amount;
        let (maker_executed, maker_filled) = (resting.filled, resting.open == 0);
        let at = self.market_mut(market);
        at.trades += 1;
        at.last_price = Some(maker.price);
        let trade = at.trades;
        self.output.fact(event::PerpetualTrade {
            trade,
            maker_order: maker.id,
            taker_order: id,
            price: narrow(maker.price),
            quantity: narrow(quantity),
            maker_account: maker.account,
            taker_account: account,
            market,
            taker_side: side as u8,
            flags: u8::from(maker_filled && !maker.shortened) | u8::from(taker_filled) << 1,
            cause: if liquidates { event::TradeCause::Liquidation } else { event::TradeCause::Book } as u8,
            reserved: 0,
            maker_fee: narrow(maker_fee),
            taker_fee: narrow(taker_fee),
            maker_realised: narrow(maker_half.realised),
            taker_realised: narrow(taker_half.realised),
            value: narrow(amount),
        });
        self.tell_exposure(maker);
        if !liquidates {
            self.traded(maker.account, amount);
            self.traded(account, amount);
        }
        for (owner, reward) in [(maker.account, maker_reward), (account, taker_reward)] {
            if reward != 0 {
                self.tell_posting(owner, market, reward, PostingReason::Affiliate, MarginMode::Cross, trade);
            }
        }
        let step = match role {
            Role::Owner => None,
            Role::Liquidation(_) => Some((LiquidationStep::Book, taker_fee)),
            Role::Fund => Some((LiquidationStep::Unwind, taker_half.realised - taker_fee)),
        };
        if let Some((step, gained)) = step {
            self.tell_step(account, market, step, (side, id), (quantity, amount, gained), FUND);
        }
        self.grow_attached(maker.id, maker_executed);
        self.grow_attached(id, taker_executed);
        self.watch(market, WorkingType::ContractPrice, maker.price);
        if maker_filled && maker.shortened {
            // Its lots are filled, but not all that was ordered.
            self.expire_order(maker.id, reason::REDUCE_ONLY);
            return;
        }
        if maker_filled {
            self.orders.remove(&maker.id);
        }
        self.mutated(market, maker.side, maker.price);
        // The taker meets it once more; where it has nothing left, the trim ends the maker.
        if !maker_filled
            && !taker_filled
            && maker.has(order_flag::REDUCE_ONLY)
            && self.reducible(maker.account, market, maker.side) == 0
        {
            self.expire_order(maker.id, reason::REDUCE_ONLY);
        }
    }

    /// Whether an order has traded, and less than a lot of it is left (`risk.md` 17) that the shrink rule did not cut so.
    pub fn is_remainder(&self, order: &Order) -> bool {
        order.filled > 0 && !order.shortened && order.open < self.market(order.market).parameters[&2]
    }

    /// Ends such an order.
    pub(super) fn finish(&mut self, id: OrderId) {
        let order = self.orders.remove(&id).expect("it is open");
        self.output.fact(order.event(PerpetualStatus::Filled, Execution::Expired, reason::NONE, 0));
        if order.rests() {
            self.mutated(order.market, order.side, order.price);
            self.tell_exposure(&order);
        }
    }

    /// Ends all such orders that rest, but of accounts that are still to be looked at.
    pub(super) fn finish_remainders(&mut self, market: MarketId) {
        let looked_at = self.market(market).looked_at.unwrap_or(AccountId::MAX);
        self.finish_of(market, |account| account < looked_at);
    }

    fn finish_of(&mut self, market: MarketId, is_of: impl Fn(AccountId) -> bool) {
        let found: Vec<OrderId> = self
            .orders
            .values()
            .filter(|order| order.market == market && order.rests() && self.is_remainder(order))
            .filter(|order| is_of(order.account))
            .map(|order| order.id)
            .collect();
        for id in found {
            self.finish(id);
        }
    }

    /// A lot has changed: whether a market has anybody to look at.
    pub(super) fn seek_remainders(&mut self, market: MarketId) {
        let lot = self.market(market).parameters[&2];
        let can_be_odd = self.market(market).lots.iter().any(|earlier| earlier % lot != 0);
        let rests = self.orders.values().any(|order| order.market == market && order.rests());
        self.market_mut(market).looked_at = (can_be_odd && rests).then_some(0);
    }

    /// A unit for each account that is looked at.
    pub(super) fn look_for_remainders(&mut self) {
        let ids: Vec<MarketId> = self.markets.iter().map(|market| market.id).collect();
        for market in ids {
            while let Some(next) = self.market(market).looked_at {
                let is_left = (next as usize) < self.accounts.len();
                if is_left && !self.take_unit() {
                    return;
                }
                self.market_mut(market).looked_at = is_left.then_some(next + 1);
                self.finish_of(market, |account| account == next);
            }
        }
    }

    /// Puts what is left of an arriving order into the book, behind everything of its price, or ends it.
    pub(super) fn after_match(&mut self, id: OrderId, ending: Ending) {
        let order = self.orders[&id].clone();
        match ending {
            Ending::Filled => {
                self.orders.remove(&id);
            }
            Ending::Dry if self.is_remainder(&order) => self.finish(id),
            Ending::Dry if Model::may_rest(&order) => {
                self.arrivals += 1;
                let arrival = self.arrivals;
                let resting = self.orders.get_mut(&id).expect("it arrived");
                resting.stage = Stage::Resting;
                resting.arrival = arrival;
                self.mutated(order.market, order.side, order.price);
                self.tell_exposure(&order);
            }
            Ending::Dry => {
                let why = if order.kind == PerpetualOrderType::Market {
                    reason::NO_LIQUIDITY
                } else {
                    reason::IMMEDIATE
                };
                self.expire_order(id, why);
            }
            Ending::Prevented => {
                // A market order is an immediate one (`risk.md` 16).
                let immediate = !Model::may_rest(&order);
                let why = if immediate { reason::IMMEDIATE_SELF_TRADE } else { reason::SELF_TRADE };
                self.end(id, PerpetualStatus::ExpiredInMatch, Execution::Expired, why);
            }
            Ending::Margin => self.expire_order(id, reason::MARGIN),
            Ending::Band => self.expire_order(id, reason::BAND),
        }
    }

    /// Limit of a market order (`risk.md` 16), in steps of the tick.
    pub fn market_limit(&self, market: MarketId, side: Side) -> i128 {
        use super::arithmetic::{ceil_div, ceil_to, floor_div, floor_to};
        let at = self.market(market);
        let (bound, tick) = (at.parameters[&14], at.parameters[&1]);
        match side {
            Side::Buy => floor_to(floor_div(at.mark * (E8 + bound), E8), tick),
            Side::Sell => ceil_to(ceil_div(at.mark * (E8 - bound), E8), tick),
        }
    }

    /// The fills that the book would give now, nothing changed. Whether they stopped at an own order.
    pub fn walk(&self, order: &Order, limit: Option<i128>, quantity: i128) -> (Vec<Foreseen>, bool) {
        let mut fills = Vec::new();
        let mut left = quantity;
        let mut positions: std::collections::BTreeMap<AccountId, i128> = Default::default();
        for maker in self.side(order.market, order.side.opposite()) {
            let reaches = match (limit, order.side) {
                (None, _) => true,
                (Some(limit), Side::Buy) => maker.price <= limit,
                (Some(limit), Side::Sell) => maker.price >= limit,
            };
            if left == 0 || !reaches || self.is_beyond_band(order.market, maker.price) {
                break;
            }
            if order.self_trade != SelfTradePrevention::None && self.same_party(order.account, maker.account)
            {
                if order.self_trade == SelfTradePrevention::ExpireMaker {
                    continue;
                }
                return (fills, true);
            }
            let held = *positions
                .entry(maker.account)
                .or_insert_with(|| self.position(maker.account, order.market).quantity);
            let mut part = left.min(maker.open);
            if maker.has(order_flag::REDUCE_ONLY) {
                let most = if maker.side == Side::Buy { (-held).max(0) } else { held.max(0) };
                // Whoever meets an own order keeps its position, and meets it until nothing is left of it.
                let is_all = maker.account == order.account && most > 0;
                part = if is_all { part } else { part.min(most) };
            }
            if part == 0 {
                continue;
            }
            *positions.entry(maker.account).or_default() += super::ledger::sign(maker.side) * part;
            if let Some(own) = positions.get_mut(&order.account) {
                *own += super::ledger::sign(order.side) * part;
            }
            left -= part;
            fills.push(Foreseen { price: maker.price, quantity: part });
        }
        (fills, false)
    }

    /// Whether the state lets orders meet.
    pub fn may_match(&self, market: MarketId) -> bool {
        matches!(self.state(market), PerpetualState::Trading | PerpetualState::ReduceOnly)
    }

    fn liquidation_fee(
        &self,
        account: AccountId,
        scope: Option<MarketId>,
        market: MarketId,
        quantity: i128,
        amount: i128,
    ) -> i128 {
        let position = self.position(account, market);
        let bankruptcy = self.bankruptcy_value(account, scope, market, quantity);
        let room = if position.quantity > 0 { amount - bankruptcy } else { bankruptcy - amount };
        rate_up(amount, self.market(market).parameters[&16]).min(room.max(0))
    }
}
