//! Liquidation, the insurance fund, auto-deleveraging (`risk.md` 12).

use super::arithmetic::{
    E8, E10, ceil_div, ceil_to, floor_div, floor_to, narrow, nearest, value_down, value_up,
};
use super::ledger::{held_side, sign};
use super::matching::Role;
use super::orders::reason;
use super::{FUND, Model, Order, Sharing, Stage};
use ringside_core::command::{
    MarginMode, PerpetualOrderType, PerpetualTimeInForce, PriceMatch, SelfTradePrevention, Side, WorkingType,
};
use ringside_core::event::{self, Execution, LiquidationStep, PostingReason};
use ringside_core::ids::{ALL_MARKETS, AccountId, MarketId, OrderId};

/// Minutes before the running one that the fund's highest equity is remembered.
const HIGH_MINUTES: i64 = 480;

/// What an order by which the engine closes is called.
pub(super) enum Name {
    AutoClose,
    Deleveraging,
    Settlement,
}

impl Model {
    pub(super) fn is_suspended(&self, account: AccountId, scope: Option<MarketId>) -> bool {
        self.scope_markets(account, scope).any(|id| self.is_market_suspended(id))
    }

    /// Tests all accounts, ascending, until nothing changes; then the fund. One command carries out only so many
    /// consequences: those left over wait for the next.
    pub(super) fn scan(&mut self) {
        let apart = self.apart();
        (self.scan_waits, self.fund_waits) = (false, false);
        self.share_on();
        if let Some((account, scope)) = self.paused
            && self.may_follow()
        {
            self.liquidate(account, scope);
        }
        self.suspects.extend(self.positions.iter().map(|(key, _)| key.0));
        loop {
            if self.suspects.is_empty() {
                if !self.test_fund() {
                    break;
                }
                continue;
            }
            // One pass; whom a test brings into question has its turn in it if its id is still to come.
            let mut next = 0;
            while let Some(&account) = self.suspects.range(next..).next() {
                self.suspects.remove(&account);
                next = account + 1;
                if account != FUND {
                    self.test(account);
                }
            }
        }
        if !self.scan_waits {
            self.stirred.clear();
        }
        assert!(self.untouched(&apart), "I-13: a liquidation touched one who stands apart");
        let (wallet, equity) = (self.account(FUND).wallet, self.cross_equity(FUND));
        let deficit = wallet < 0 || equity < 0;
        if deficit != self.deficit {
            self.deficit = deficit;
            let (wallet, equity) = (narrow(wallet), narrow(equity));
            self.output.fact(event::PoolDeficit { deficit: deficit.into(), wallet, equity });
        }
    }

    /// Tests the scopes of an account.
    fn test(&mut self, account: AccountId) {
        for scope in self.scopes(account) {
            if scope.is_some() && !self.holds(account, scope) {
                continue;
            }
            let holds = self.holds(account, scope);
            if !holds && self.account(account).wallet < 0 {
                self.clear(account, -self.account(account).wallet);
            }
            let (equity, maintenance) =
                (self.scope_equity(account, scope), self.scope_maintenance(account, scope));
            if holds && equity < maintenance && !self.is_suspended(account, scope) && self.may_follow() {
                self.liquidate(account, scope);
            } else {
                self.call_margin(account, scope, equity, maintenance);
            }
        }
    }

    /// Whether a unit is left for what follows from a test; else it waits.
    fn may_follow(&mut self) -> bool {
        self.scan_waits |= self.units == 0;
        self.units > 0
    }

    /// Warns when the ratio is 80 % or more, again at most once per minute while it stays.
    fn call_margin(&mut self, account: AccountId, scope: Option<MarketId>, equity: i128, maintenance: i128) {
        let now = self.now_ms();
        let market = scope.unwrap_or(ALL_MARKETS);
        let near = maintenance > 0 && (equity <= 0 || ceil_div(maintenance * E8, equity) >= 80_000_000);
        let called_ms = self.account(account).calls.get(&market).copied();
        let recent = called_ms.is_some_and(|at_ms| now - at_ms < 60_000);
        if near && !recent && self.may_follow() && self.take_unit() {
            self.account_mut(account).calls.insert(market, now);
            self.output.fact(event::MarginCall {
                account,
                market,
                equity: narrow(equity),
                maintenance: narrow(maintenance),
            });
        }
    }

    /// The value at which closing `quantity` of a position uses up equity in proportion to maintenance margin.
    pub fn bankruptcy_value(
        &self,
        account: AccountId,
        scope: Option<MarketId>,
        market: MarketId,
        quantity: i128,
    ) -> i128 {
        let at = self.market(market);
        let held = self.position(account, market).quantity;
        let left = held.signum() * (held.abs() - quantity);
        let equity = self.scope_equity(account, scope);
        let total = self.scope_maintenance(account, scope);
        let share = floor_div(equity * (at.maintenance(held) - at.maintenance(left)), total);
        if held > 0 { value_down(quantity, at.mark) - share } else { value_up(quantity, at.mark) + share }
    }

    /// How much to close: down to the cap of the bracket below, or all.
    fn to_close(&self, market: MarketId, held: i128) -> i128 {
        let at = self.market(market);
        let bracket = at.bracket(at.notional(held));
        if bracket == 0 {
            return held.abs();
        }
        let (cap, lot) = (at.brackets[bracket - 1].cap, at.parameters[&2]);
        // N(q) = ceil(q x mark / 10^10) <= cap where q <= cap x 10^10 / mark.
        let keep = floor_div(cap * E10, at.mark);
        let close = ceil_to((held.abs() - keep).max(0), lot);
        close.min(held.abs())
    }

    /// Tells a step of a liquidation: side and order, (quantity, value, what the fund gained), the counterparty.
    pub(super) fn tell_step(
        &mut self,
        account: AccountId,
        market: MarketId,
        step: LiquidationStep,
        (side, order): (Side, OrderId),
        (quantity, value, fund_change): (i128, i128, i128),
        counterparty: AccountId,
    ) {
        let isolated = market != ALL_MARKETS && self.position(account, market).mode == MarginMode::Isolated;
        self.output.fact(event::Liquidation {
            account,
            market,
            step: step as u8,
            side: side as u8,
            isolated: isolated.into(),
            reserved: 0,
            counterparty,
            order,
            quantity: narrow(quantity),
            value: narrow(value),
            fund_change: narrow(fund_change),
            equity: 0,
            maintenance: 0,
        });
    }

    /// Tells that a scope enters or leaves liquidation.
    fn tell_scope(&mut self, account: AccountId, scope: Option<MarketId>, step: LiquidationStep) {
        let (equity, maintenance) =
            (self.scope_equity(account, scope), self.scope_maintenance(account, scope));
        self.output.fact(event::Liquidation {
            account,
            market: scope.unwrap_or(ALL_MARKETS),
            step: step as u8,
            side: 0,
            isolated: scope.is_some().into(),
            reserved: 0,
            counterparty: 0,
            order: 0,
            quantity: 0,
            value: 0,
            fund_change: 0,
            equity: narrow(equity),
            maintenance: narrow(maintenance),
        });
    }

    /// `risk.md` 12.3. One that has waited goes on with the orders that are left, then at step 2.
    fn liquidate(&mut self, account: AccountId, scope: Option<MarketId>) {
        if self.paused.take().is_none() {
            self.liquidating.push((account, scope));
            self.tell_scope(account, scope, LiquidationStep::Begin);
        }
        for id in self.open_orders(account, scope) {
            if self.orders.contains_key(&id) {
                if !self.take_unit() {
                    return self.pause(account, scope);
                }
                self.expire_order(id, reason::LIQUIDATION);
            }
        }
        while let Some(largest) = self.largest(account, scope) {
            if self.scope_equity(account, scope) >= self.scope_maintenance(account, scope) {
                break;
            }
            if !self.close_one(account, scope, largest) {
                return self.pause(account, scope);
            }
        }
        if scope.is_none() && self.largest(account, scope).is_none() && self.account(account).wallet < 0 {
            self.clear(account, -self.account(account).wallet);
        }
        self.liquidating.retain(|of| *of != (account, scope));
        self.tell_scope(account, scope, LiquidationStep::End);
    }

    fn pause(&mut self, account: AccountId, scope: Option<MarketId>) {
        self.paused = Some((account, scope));
        self.scan_waits = true;
    }

    /// The position of a scope with the largest maintenance margin, the lowest market among equals.
    fn largest(&self, account: AccountId, scope: Option<MarketId>) -> Option<MarketId> {
        self.scope_markets(account, scope).max_by_key(|&id| {
            (self.market(id).maintenance(self.position(account, id).quantity), std::cmp::Reverse(id))
        })
    }

    /// The fund pays a cross wallet to 0.
    fn clear(&mut self, account: AccountId, amount: i128) {
        self.shortfall += amount;
        self.account_mut(account).wallet += amount;
        self.account_mut(FUND).wallet -= amount;
        self.tell_posting(account, ALL_MARKETS, amount, PostingReason::InsuranceClear, MarginMode::Cross, 0);
        self.tell_wallet(account);
        self.tell_step(
            account,
            ALL_MARKETS,
            LiquidationStep::Clear,
            (Side::Buy, 0),
            (0, amount, -amount),
            FUND,
        );
    }

    /// Steps 2 to 5 for one position. Whether there were units enough: the match, a takeover, and each counterparty are one.
    fn close_one(&mut self, account: AccountId, scope: Option<MarketId>, market: MarketId) -> bool {
        let held = self.position(account, market).quantity;
        let side = held_side(held).opposite();
        let quantity = self.to_close(market, held);
        let bankruptcy = self.bankruptcy_value(account, scope, market, quantity);
        let tick = self.market(market).parameters[&1];
        let exact = bankruptcy * E10;
        let limit = match side {
            Side::Sell => ceil_to(ceil_div(exact, quantity), tick),
            Side::Buy => floor_to(floor_div(exact, quantity), tick),
        };
        // An offer above every price sells nothing, nor does a bid of nothing buy: then the book is passed over.
        let limit = if limit > 0 && i64::try_from(limit).is_ok() { limit } else { 0 };
        if !self.take_unit() {
            return false;
        }
        let order = self.closing_order(account, market, side, limit, quantity, Name::AutoClose);
        let id = self.arrive(order);
        let mut is_done = true;
        if self.may_match(market) && limit > 0 {
            self.run_match(id, Some(limit), Role::Liquidation(scope));
            self.finish_remainders(market);
            is_done = self.trim(market);
        }
        let left = self.orders[&id].open;
        let due = self.scope_equity(account, scope) < self.scope_maintenance(account, scope);
        if is_done && left > 0 && due {
            let equity = self.scope_equity(account, scope);
            let value = self.bankruptcy_value(account, scope, market, left);
            is_done = if self.fund_may_take(market, -sign(side) * left, value) {
                self.take_unit() && {
                    self.hand_over(id, FUND, left, value, event::TradeCause::Takeover);
                    self.trim(market)
                }
            } else if equity < 0 {
                self.deleverage(id, self.at_mark(market, side, left), true)
            } else {
                self.deleverage(id, value, false)
            };
        }
        self.end_closing(id);
        is_done
    }

    /// Nothing more is to come of an order by which the engine closes.
    fn end_closing(&mut self, id: OrderId) {
        let order = self.orders[&id].clone();
        if order.open == 0 {
            self.orders.remove(&id);
        } else if self.is_remainder(&order) {
            self.finish(id);
        } else {
            self.expire_order(id, reason::IMMEDIATE);
        }
    }

    /// What closing so many lots brings or costs at the mark.
    fn at_mark(&self, market: MarketId, side: Side, quantity: i128) -> i128 {
        let mark = self.market(market).mark;
        if side == Side::Sell { value_down(quantity, mark) } else { value_up(quantity, mark) }
    }

    /// What the fund cannot pay of a loss is asked of those whom it brought something.
    pub(super) fn share_out(&self, lacked: i128, asked: Vec<(AccountId, i128)>) -> Sharing {
        let worst = self.account(FUND).wallet.min(self.cross_equity(FUND));
        Sharing { loss: lacked.min((-worst).max(0)), asked, weights: Vec::new(), given: 0 }
    }

    /// They give it back, a unit for each who is weighed and each who gives. Whether that is done, and whether anybody gave.
    pub(super) fn share_loss(&mut self, sharing: &mut Sharing) -> (bool, bool) {
        let mut changed = false;
        while sharing.loss > 0 && sharing.given < sharing.asked.len() {
            if !self.take_unit() {
                return (false, changed);
            }
            let (loss, weighed) = (sharing.loss, sharing.weights.len());
            if let Some(&(account, sum)) = sharing.asked.get(weighed) {
                sharing.weights.push(sum.max(0).min(self.cross_equity(account).max(0)));
                continue;
            }
            let (place, weights) = (sharing.given, &sharing.weights);
            let account = sharing.asked[place].0;
            let whole: i128 = weights.iter().sum();
            let share_of = |count: usize| floor_div(loss * weights[..count].iter().sum::<i128>(), whole);
            let part = if loss >= whole { weights[place] } else { share_of(place + 1) - share_of(place) };
            assert!((0..=weights[place]).contains(&part), "nobody gives back more than it has");
            let part = part.min(self.cross_equity(account).max(0));
            sharing.given += 1;
            if part > 0 {
                self.account_mut(account).wallet -= part;
                self.account_mut(FUND).wallet += part;
                let reason = PostingReason::InsuranceClear;
                self.tell_posting(account, ALL_MARKETS, -part, reason, MarginMode::Cross, 0);
                self.tell_wallet(account);
                self.suspects.insert(account);
                changed = true;
            }
        }
        (true, changed)
    }

    /// Goes on with what liquidations lacked. Whether anybody gave.
    fn share_on(&mut self) -> bool {
        let Some(mut sharing) = self.sharing.take() else { return false };
        let (is_done, changed) = self.share_loss(&mut sharing);
        if !is_done {
            self.sharing = Some(sharing);
            self.fund_waits = true;
        }
        changed
    }

    /// An order of the engine's own comes.
    fn arrive(&mut self, order: Order) -> OrderId {
        let id = order.id;
        self.orders.insert(id, order);
        self.tell_placed(id, 0);
        self.tell_order(id, Execution::New);
        id
    }

    /// One by which somebody takes a position over, or is settled: the trade told next fills it, all of it.
    pub(super) fn arrive_filled(
        &mut self,
        account: AccountId,
        market: MarketId,
        (side, quantity, price): (Side, i128, i128),
        name: Name,
    ) -> OrderId {
        let order = self.closing_order(account, market, side, price, quantity, name);
        let id = self.arrive(order);
        self.orders.remove(&id);
        id
    }

    fn closing_order(
        &mut self,
        account: AccountId,
        market: MarketId,
        side: Side,
        price: i128,
        quantity: i128,
        name: Name,
    ) -> Order {
        let id = self.next_order();
        let mut client = [0; 36];
        let name = match name {
            Name::AutoClose => format!("autoclose-{}{id}", self.now_ms()),
            Name::Deleveraging => "adl_autoclose".into(),
            Name::Settlement => "settlement_autoclose".into(),
        };
        for (place, byte) in client.iter_mut().zip(name.bytes()) {
            *place = byte;
        }
        Order {
            id,
            account,
            market,
            side,
            kind: PerpetualOrderType::Liquidation,
            original_kind: PerpetualOrderType::Liquidation,
            time_in_force: PerpetualTimeInForce::ImmediateOrCancel,
            self_trade: SelfTradePrevention::None,
            working: WorkingType::ContractPrice,
            price_match: PriceMatch::None,
            flags: 0,
            callback: 0,
            price,
            quantity,
            filled: 0,
            open: quantity,
            value: 0,
            stop_price: 0,
            good_till: 0,
            parent: 0,
            client,
            stage: Stage::Arriving,
            arrival: 0,
            reserved_for: quantity,
            reference: 0,
            open_loss: 0,
            fee_reserve: 0,
            modifications: 0,
            active: false,
            extreme: 0,
            deferred: false,
            shortened: false,
            turned: false,
            watches_from: 0,
        }
    }

    /// The three conditions of `risk.md` 12.4, after taking `change` (signed) at `value`.
    fn fund_may_take(&self, market: MarketId, change: i128, value: i128) -> bool {
        let side = if change > 0 { Side::Buy } else { Side::Sell };
        let old = self.position(FUND, market);
        let half = self.half(FUND, market, side, change.abs(), value, 0);
        let equity = self.cross_equity(FUND) - self.unrealised(market, &old)
            + self.unrealised(market, &half.position)
            + half.wallet;
        let notional: i128 = self
            .markets
            .iter()
            .map(|at| {
                let quantity = if at.id == market {
                    half.position.quantity
                } else {
                    self.position(FUND, at.id).quantity
                };
                at.notional(quantity)
            })
            .sum();
        let first = self.now_ms().div_euclid(60_000) - HIGH_MINUTES;
        let noted = self.fund_equities.range(first..).map(|(_, &equity)| equity).max();
        let before = self.cross_equity(FUND);
        let high = noted.unwrap_or(before).max(before);
        equity >= 0 && notional <= 10 * equity.max(0) && 10 * equity >= 7 * high
    }

    /// The fund's highest equity of each minute.
    pub(super) fn note_fund(&mut self) {
        let (minute, equity) = (self.now_ms().div_euclid(60_000), self.cross_equity(FUND));
        let noted = self.fund_equities.entry(minute).or_insert(equity);
        *noted = equity.max(*noted);
    }

    /// A part of what an order closes changes hands at a value.
    fn hand_over(
        &mut self,
        id: OrderId,
        to: AccountId,
        quantity: i128,
        value: i128,
        cause: event::TradeCause,
    ) -> [i128; 3] {
        let Order { account: from, market, side, .. } = self.orders[&id].clone();
        let deleverages = cause == event::TradeCause::Deleveraging;
        let price = nearest(value * E10, quantity);
        let name = if deleverages { Name::Deleveraging } else { Name::AutoClose };
        let to_order = self.arrive_filled(to, market, (side.opposite(), quantity, price), name);
        let fund_before = self.account(FUND).wallet;
        let from_half = self.half(from, market, side, quantity, value, 0);
        let before = [from, to].map(|owner| (owner, self.position(owner, market).quantity));
        let wallets = [from, to].map(|owner| (owner, self.account(owner).wallet));
        let mut moved = self.settle(from, market, &from_half);
        let mut to_half = self.half(to, market, side.opposite(), quantity, value, 0);
        let mut drawn = 0;
        if deleverages {
            // A counterparty's own profit pays before the fund does.
            let most = self.unrealised(market, &to_half.position).min(10i128.pow(15) - to_half.position.cost);
            drawn = to_half.covered.min(most.max(0));
            to_half.position.cost += drawn;
            to_half.position.realised += drawn;
            to_half.covered -= drawn;
        }
        moved += self.settle(to, market, &to_half) - from_half.covered - to_half.covered;
        self.note_turns(market, before);
        assert_eq!(moved, 0, "the legs of a takeover sum to zero");
        let order = self.orders.get_mut(&id).expect("it is open to the end of the step");
        order.open -= quantity;
        order.filled += quantity;
        order.value += value;
        let is_filled = order.open == 0;
        let at = self.market_mut(market);
        at.trades += 1;
        let trade = at.trades;
        self.output.fact(event::PerpetualTrade {
            trade,
            maker_order: to_order,
            taker_order: id,
            price: narrow(price),
            quantity: narrow(quantity),
            maker_account: to,
            taker_account: from,
            market,
            taker_side: side as u8,
            flags: 1 | u8::from(is_filled) << 1,
            cause: cause as u8,
            reserved: 0,
            maker_fee: 0,
            taker_fee: 0,
            maker_realised: narrow(to_half.realised + drawn),
            taker_realised: narrow(from_half.realised),
            value: narrow(value),
        });
        for (owner, wallet) in wallets {
            self.tell_position(owner, market);
            if self.account(owner).wallet != wallet {
                self.tell_wallet(owner);
            }
        }
        let gained = self.account(FUND).wallet - fund_before;
        let step = if deleverages { LiquidationStep::Adl } else { LiquidationStep::Fund };
        self.tell_step(from, market, step, (side, id), (quantity, value, gained), to);
        [from_half.realised, to_half.realised, from_half.covered + to_half.covered]
    }

    /// A bankrupt scope, or the fund, gave something up at the mark.
    fn note_handed(&mut self, from: AccountId, to: AccountId, [lost, brought, covered]: [i128; 3]) {
        self.shortfall += covered;
        if from == FUND {
            self.shortfall += (-lost).max(0);
        }
        if to == FUND {
            return;
        }
        match self.brought.iter_mut().find(|(account, _)| *account == to) {
            Some((_, sum)) => *sum += brought,
            None => self.brought.push((to, brought)),
        }
    }

    /// Accounts on the other side of a position, highest rank first.
    pub fn ranking(&self, market: MarketId, holders: Side) -> Vec<AccountId> {
        let mut ranked = Vec::new();
        for account in 1..self.accounts.len() as AccountId {
            let position = self.position(account, market);
            if position.quantity == 0 || held_side(position.quantity) != holders {
                continue;
            }
            let scope = self.scope_of(account, market);
            if self.liquidating.contains(&(account, scope)) {
                continue;
            }
            let profit = self.unrealised(market, &position);
            let notional = self.market(market).notional(position.quantity);
            let equity = self.scope_equity(account, scope);
            let ret = floor_div(profit * E8, position.cost.abs().max(1)).min(1_000_000_000_000);
            let score = if profit >= 0 {
                floor_div(ret * notional, equity.max(1))
            } else {
                floor_div(ret * equity, notional.max(1))
            };
            ranked.push((std::cmp::Reverse(score), std::cmp::Reverse(notional), account));
        }
        ranked.sort_unstable();
        ranked.into_iter().map(|(_, _, account)| account).collect()
    }

    /// `risk.md` 12.5. What counterparties leave goes to the fund, unless it is the fund that gives up. Whether there were units
    /// enough: one for each, and what it loses of its orders goes with it.
    fn deleverage(&mut self, order: OrderId, value: i128, bankrupt: bool) -> bool {
        let Order { account: from, market, side, open, .. } = self.orders[&order].clone();
        let (mut left, mut value_left) = (open, value);
        let own = self.position(FUND, market).quantity;
        let mut counterparties = Vec::new();
        if from != FUND && own != 0 && held_side(own) == side {
            counterparties.push(FUND);
        }
        counterparties.extend(self.ranking(market, side));
        for other in counterparties {
            if left == 0 {
                break;
            }
            let held = self.position(other, market).quantity.abs();
            let part = left.min(held);
            let part_value = floor_div(value_left * part, left);
            let half = self.half(other, market, side.opposite(), part, part_value, 0);
            if !bankrupt && self.equity_after(other, market, &half) < 0 {
                continue;
            }
            if !self.take_unit() {
                self.trim(market);
                return false;
            }
            for id in self.open_orders(other, Some(market)) {
                if self.orders.get(&id).is_some_and(Order::rests) {
                    self.expire_order(id, reason::DELEVERAGED);
                }
            }
            let handed = self.hand_over(order, other, part, part_value, event::TradeCause::Deleveraging);
            if bankrupt {
                self.note_handed(from, other, handed);
            }
            left -= part;
            value_left -= part_value;
        }
        if left > 0 && from != FUND {
            if !self.take_unit() {
                self.trim(market);
                return false;
            }
            let handed = self.hand_over(order, FUND, left, value_left, event::TradeCause::Takeover);
            if bankrupt {
                self.note_handed(from, FUND, handed);
            }
        }
        self.trim(market)
    }

    fn equity_after(&self, account: AccountId, market: MarketId, half: &super::ledger::Half) -> i128 {
        let old = self.position(account, market);
        let scope = self.scope_of(account, market);
        let change = self.unrealised(market, &half.position) - self.unrealised(market, &old);
        let wallet = if scope.is_some() {
            half.position.isolated_wallet - old.isolated_wallet - half.covered
        } else {
            half.wallet
        };
        self.scope_equity(account, scope) + change + wallet
    }

    /// The fund below its own maintenance margin gives its positions up, at the mark, or moved against the counterparties
    /// by what it lacks. Whether anything changed.
    fn test_fund(&mut self) -> bool {
        let waits = self.shortfall != 0 || !self.brought.is_empty();
        if waits && self.sharing.is_none() && !self.has_left_over() {
            let (lacked, brought) = (std::mem::take(&mut self.shortfall), std::mem::take(&mut self.brought));
            self.sharing = Some(self.share_out(lacked, brought));
        }
        if self.share_on() {
            return true;
        }
        let mut changed = false;
        loop {
            if self.shortfall != 0 || !self.brought.is_empty() || self.sharing.is_some() {
                return changed;
            }
            let (equity, maintenance) = (self.cross_equity(FUND), self.scope_maintenance(FUND, None));
            if self.is_suspended(FUND, None) || equity >= maintenance {
                return changed;
            }
            if self.units == 0 {
                self.fund_waits = true;
                return changed;
            }
            let mut markets: Vec<MarketId> = self.scope_markets(FUND, None).collect();
            markets.sort_by_key(|&id| {
                let held = self.position(FUND, id).quantity;
                (std::cmp::Reverse(self.market(id).maintenance(held)), id)
            });
            if !markets.into_iter().any(|market| self.give_up(market)) {
                return changed;
            }
            changed = true;
        }
    }

    /// The fund gives a position up; whether anybody takes any of it.
    fn give_up(&mut self, market: MarketId) -> bool {
        let held = self.position(FUND, market).quantity;
        let side = held_side(held).opposite();
        let order = self.closing_order(FUND, market, side, 0, held.abs(), Name::AutoClose);
        let order = self.arrive(order);
        self.deleverage(order, self.at_mark(market, side, held.abs()), true);
        self.end_closing(order);
        self.position(FUND, market).quantity != held
    }

    /// Once per second and market the fund sells or buys back a part.
    pub(super) fn unwind_fund(&mut self, markets: &[MarketId]) {
        for &market in markets {
            let held = self.position(FUND, market).quantity;
            let due = self.cross_equity(FUND) < self.scope_maintenance(FUND, None);
            if held == 0 || due || !self.may_match(market) || self.is_market_suspended(market) {
                continue;
            }
            let side = held_side(held).opposite();
            let at = self.market(market);
            let (tick, lot) = (at.parameters[&1], at.parameters[&2]);
            let off = |rate: i128| match side {
                Side::Sell => ceil_to(ceil_div(at.mark * (E8 - rate), E8), tick),
                Side::Buy => floor_to(floor_div(at.mark * (E8 + rate), E8), tick),
            };
            let last = off(500_000);
            let cost = self.position(FUND, market).cost;
            // Its entry on the good side of the mark: a cost that is not above what it is worth.
            let limit = match side {
                _ if cost * E10 > at.mark * held => off(100_000),
                Side::Sell => last.max(ceil_to(ceil_div(cost * E10, held), tick)),
                Side::Buy => last.min(floor_to(floor_div(-cost * E10, -held), tick)),
            };
            let reach: i128 = self
                .levels(market, side.opposite())
                .into_iter()
                .filter(|&(price, _)| if side == Side::Sell { price >= last } else { price <= last })
                .map(|(_, total)| total)
                .sum();
            let tenth = ceil_to(ceil_div(held.abs(), 10), lot).max(lot);
            let part = held.abs().min(tenth).min(floor_to(floor_div(reach, 10), lot));
            if part > 0 && self.take_unit() {
                let order = self.closing_order(FUND, market, side, limit, part, Name::AutoClose);
                let id = self.arrive(order);
                let ending = self.run_match(id, Some(limit), Role::Fund);
                self.finish_remainders(market);
                self.after_match(id, ending);
                if !self.trim(market) {
                    return;
                }
            }
        }
    }
}
