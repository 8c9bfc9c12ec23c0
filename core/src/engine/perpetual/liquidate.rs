//! Scopes whose equity is below their maintenance margin: the book first, then the insurance fund, then counterparties
//! (`risk.md` 12).

use super::judge::Terms;
use super::run::Role;
use super::settle::reason;
use crate::command::{MarginMode, PerpetualOrderType, PerpetualStatus, PerpetualTimeInForce, Side};
use crate::event::{
    Execution, Liquidation, LiquidationStep, MarginCall, PositionMoved, Posting, PostingReason,
};
use crate::ids::{ALL_MARKETS, AccountId, FEE_ACCOUNT, OrderId};
use crate::money::{Money, Quantity};
use crate::perpetual::order::{Details, Stage};
use crate::perpetual::{Perpetual, State, id_of};
use crate::risk::perpetual::adl::{Place, equity_after, part_value, score};
use crate::risk::perpetual::bankruptcy::{Distress, is_due, limit_price, margin_ratio};
use crate::risk::perpetual::takeover::{Fund, close_value, may_take, unwind_price, unwind_quantity};
use crate::risk::perpetual::units;
use std::cmp::Reverse;

/// Margin ratio from which an account is warned, 10^-8.
const CALL_RATIO: i64 = 80_000_000;
/// Least time between two warnings, ms.
const CALL_AGAIN_MS: i64 = 60_000;

/// What is liquidated together: the cross account, or one isolated position.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Scope {
    account: AccountId,
    isolated: Option<usize>,
}

impl Perpetual {
    /// Tests every suspected account, ascending, until nothing changes; then the fund. An account that a test brings into
    /// question has its turn in the same pass if its id is still to come, else in the next.
    pub(crate) fn scan(&mut self) {
        let mut pass = std::mem::take(&mut self.state.pass);
        loop {
            pass.extend(self.state.suspects.drain(..).map(Reverse));
            if pass.is_empty() {
                if !self.test_fund() {
                    break;
                }
                continue;
            }
            let mut later = std::mem::take(&mut self.state.later);
            while let Some(Reverse(account)) = pass.pop() {
                while pass.peek() == Some(&Reverse(account)) {
                    pass.pop();
                }
                self.test(account);
                for &suspect in &self.state.suspects {
                    if suspect > account {
                        pass.push(Reverse(suspect));
                    } else {
                        later.push(suspect);
                    }
                }
                self.state.suspects.clear();
            }
            self.state.suspects.append(&mut later);
            self.state.later = later;
        }
        self.state.pass = pass;
        self.state.flag_deficit();
    }

    /// Tests the scopes of one account.
    fn test(&mut self, account: AccountId) {
        if account == FEE_ACCOUNT {
            return;
        }
        let Some(sums) = self.state.sums(account) else { unreachable!("sums of accepted positions") };
        let equity = sums.cross.wallet + sums.cross.unrealised;
        if sums.positions == 0 && sums.cross.wallet < 0 {
            self.state.clear_wallet(account);
        }
        if sums.positions > 0 && !sums.suspended && is_due(equity, sums.maintenance) {
            self.liquidate(Scope { account, isolated: None });
        } else {
            self.state.call_cross(account, equity, sums.maintenance);
        }
        for index in self.state.markets_of(account) {
            let holding = self.state.holding(account, index);
            if holding.quantity == 0 || self.state.mode(account, index) != MarginMode::Isolated {
                continue;
            }
            let Some((equity, maintenance)) = self.state.isolated(index, holding) else {
                unreachable!("an accepted position")
            };
            if !self.state.symbols[index].is_suspended() && is_due(equity, maintenance) {
                self.liquidate(Scope { account, isolated: Some(index) });
            } else {
                self.state.call_isolated(account, index, equity, maintenance);
            }
        }
        self.state.refresh_bands(account);
    }

    /// `risk.md` 12.3.
    fn liquidate(&mut self, scope: Scope) {
        let Scope { account, isolated } = scope;
        self.state.set_liquidating(scope, true);
        let (equity, maintenance) = self.state.standing(scope);
        self.state.tell_scope(scope, LiquidationStep::Begin, equity, maintenance);
        let expired = (PerpetualStatus::Expired, Execution::Expired, reason::LIQUIDATION);
        for index in 0..self.books.len() {
            if isolated.is_none_or(|only| only == index) {
                self.end_all(account, index, expired, |_| true);
            }
        }
        while let Some(index) = self.state.worst(scope) {
            let (equity, maintenance) = self.state.standing(scope);
            if !is_due(equity, maintenance) {
                break;
            }
            self.step(scope, index, equity, maintenance);
        }
        let is_left = self.state.worst(scope).is_some();
        if !is_left && isolated.is_none() && self.state.wallet(account) < 0 {
            self.state.clear_wallet(account);
        }
        self.state.set_liquidating(scope, false);
        let (equity, maintenance) = self.state.standing(scope);
        self.state.tell_scope(scope, LiquidationStep::End, equity, maintenance);
    }

    /// One position of a scope: steps 2 to 5.
    fn step(&mut self, scope: Scope, index: usize, equity: Money, maintenance: Money) {
        let account = scope.account;
        let symbol = &self.state.symbols[index];
        let quantity = self.state.holding(account, index).quantity;
        let side = if quantity > 0 { Side::Sell } else { Side::Buy };
        let distress = Distress { quantity, mark: symbol.prices.mark, equity, maintenance };
        let part = distress.step(symbol.lot.value(), &symbol.brackets);
        let value = part.and_then(|part| distress.bankruptcy_value(part, &symbol.brackets));
        let (Some(part), Some(value)) = (part, value) else { unreachable!("an accepted position") };
        let limit = limit_price(side, part, value, symbol.tick.value()).unwrap_or(0);
        let mut order = 0;
        let mut left = part;
        if symbol.matches() {
            order = self.take_id();
            // A sell that may take any price: the least there is.
            let limit = if side == Side::Sell { limit.max(symbol_tick(self, index)) } else { limit };
            if limit > 0 {
                let terms = Terms { limit, ..Terms::default() };
                self.send(order, account, index, (side, part), &terms, Role::Liquidation);
                self.trim(index);
                left = part - (quantity.abs() - self.state.holding(account, index).quantity.abs());
            }
        }
        let (equity, maintenance) = self.state.standing(scope);
        if left == 0 || self.state.worst(scope).is_none() || !is_due(equity, maintenance) {
            return;
        }
        let symbol = &self.state.symbols[index];
        let quantity = self.state.holding(account, index).quantity;
        let distress = Distress { quantity, mark: symbol.prices.mark, equity, maintenance };
        let Some(value) = distress.bankruptcy_value(left, &symbol.brackets) else {
            unreachable!("an accepted position")
        };
        if self.fund_may_take(index, side, left, value) {
            self.state.hand_over(
                index,
                (account, FEE_ACCOUNT),
                side,
                (left, value),
                LiquidationStep::Fund,
                order,
            );
        } else {
            self.deleverage(account, index, side, (left, value), order);
        }
    }

    /// Sends the engine's own order; it never rests.
    fn send(
        &mut self,
        id: OrderId,
        account: AccountId,
        index: usize,
        (side, quantity): (Side, Quantity),
        terms: &Terms,
        role: Role,
    ) {
        let details = Details {
            id,
            account,
            market: id_of(index),
            price: terms.limit,
            side,
            order_type: PerpetualOrderType::Liquidation,
            original_type: PerpetualOrderType::Liquidation,
            time_in_force: PerpetualTimeInForce::ImmediateOrCancel,
            stage: Stage::Running,
            quantity,
            client_order: autoclose_name(self.state.now_ms, id),
            ..Details::default()
        };
        let slot = self.enter(details);
        self.announce(slot, 0);
        self.run(slot, terms, role);
    }

    /// Whether the fund may buy or sell a part at a value (`risk.md` 12.4). `side` is that of who gives it up.
    fn fund_may_take(&self, index: usize, side: Side, quantity: Quantity, value: Money) -> bool {
        let state = &self.state;
        let holding = *state.holding(FEE_ACCOUNT, index);
        let wallet = state.wallet(FEE_ACCOUNT);
        let before = state.sums(FEE_ACCOUNT).and_then(|sums| sums.cross.equity());
        let leg = state.leg(index, holding, wallet, false, side.opposite(), (quantity, value, 0));
        let (Some(leg), Some(before)) = (leg, before) else { return false };
        let Some(sums) = state.sums_with(FEE_ACCOUNT, leg.wallet, Some((index, &leg.holding))) else {
            return false;
        };
        let mut notional = 0i64;
        for market in 0..state.symbols.len() {
            let held = if market == index {
                leg.holding.quantity
            } else {
                state.holding(FEE_ACCOUNT, market).quantity
            };
            notional =
                notional.saturating_add(units::notional(held, state.mark(market)).unwrap_or(Money::MAX));
        }
        let Some(equity) = sums.cross.equity() else { return false };
        let peak = state.peak.highest(state.now_ms as u64).unwrap_or(before).max(before);
        may_take(Fund { equity, notional }, peak)
    }

    /// Counterparties take a part (`risk.md` 12.5), the fund what they leave; what they left.
    fn deleverage(
        &mut self,
        from: AccountId,
        index: usize,
        side: Side,
        (mut left, mut value): (Quantity, Money),
        order: OrderId,
    ) {
        self.state.rank(from, index, side);
        let candidates = std::mem::take(&mut self.state.ranked);
        let reason = if from == FEE_ACCOUNT { LiquidationStep::Unwind } else { LiquidationStep::Adl };
        for account in candidates.iter().map(|place| place.account()) {
            let held = self.state.holding(account, index).quantity.abs();
            let part = left.min(held);
            let Some(worth) = part_value(value, part, left) else { continue };
            if !self.state.can_take(account, index, side.opposite(), part, worth) {
                continue;
            }
            let expired = (PerpetualStatus::Expired, Execution::Expired, reason::DELEVERAGED);
            self.end_all(account, index, expired, |_| true);
            self.state.hand_over(index, (from, account), side, (part, worth), reason, order);
            left -= part;
            value -= worth;
            if left == 0 {
                break;
            }
        }
        self.state.ranked = candidates;
        if left > 0 && from != FEE_ACCOUNT {
            self.state.hand_over(
                index,
                (from, FEE_ACCOUNT),
                side,
                (left, value),
                LiquidationStep::Fund,
                order,
            );
        }
    }

    /// Closes positions of the fund while it is below its maintenance margin; whether anything changed.
    fn test_fund(&mut self) -> bool {
        let mut changed = false;
        loop {
            let scope = Scope { account: FEE_ACCOUNT, isolated: None };
            let Some(sums) = self.state.sums(FEE_ACCOUNT) else { unreachable!("the fund is in range") };
            let (equity, maintenance) = self.state.standing(scope);
            if sums.suspended || !is_due(equity, maintenance) {
                return changed;
            }
            let Some(index) = self.state.worst(scope) else { return changed };
            let symbol = &self.state.symbols[index];
            let quantity = self.state.holding(FEE_ACCOUNT, index).quantity;
            let side = if quantity > 0 { Side::Sell } else { Side::Buy };
            let distress = Distress { quantity, mark: symbol.prices.mark, equity, maintenance };
            let Some(value) = close_value(&distress, quantity.abs(), &symbol.brackets) else {
                unreachable!("a position of the fund")
            };
            self.deleverage(FEE_ACCOUNT, index, side, (quantity.abs(), value), 0);
            if self.state.holding(FEE_ACCOUNT, index).quantity == quantity {
                return changed;
            }
            changed = true;
        }
    }

    /// Sends what the fund gets rid of this second.
    pub(crate) fn unwind(&mut self) {
        for index in 0..self.books.len() {
            let symbol = &self.state.symbols[index];
            let quantity = self.state.holding(FEE_ACCOUNT, index).quantity;
            let (equity, maintenance) = self.state.standing(Scope { account: FEE_ACCOUNT, isolated: None });
            if quantity == 0 || !symbol.matches() || symbol.is_suspended() || is_due(equity, maintenance) {
                continue;
            }
            let side = if quantity > 0 { Side::Sell } else { Side::Buy };
            let Some(limit) = unwind_price(side, symbol.prices.mark, symbol.tick.value()) else { continue };
            let reach: i128 = self.books[index]
                .depth(&self.orders, side.opposite())
                .take_while(|&(price, _)| match side {
                    Side::Sell => price >= limit,
                    Side::Buy => price <= limit,
                })
                .map(|(_, total)| total)
                .sum();
            let Some(part) = unwind_quantity(quantity.abs(), reach, symbol.lot.value()) else { continue };
            if part > 0 {
                let id = self.take_id();
                let terms = Terms { limit, ..Terms::default() };
                self.send(id, FEE_ACCOUNT, index, (side, part), &terms, Role::Fund);
                self.trim(index);
            }
        }
    }
}

fn symbol_tick(perpetual: &Perpetual, index: usize) -> i64 {
    perpetual.state.symbols[index].tick.value()
}

/// `autoclose-<ms><order id>`, cut to 36.
fn autoclose_name(now_ms: i64, id: OrderId) -> [u8; 36] {
    let mut name = [0; 36];
    let mut len = 0;
    let mut put = |byte: u8| {
        if let Some(place) = name.get_mut(len) {
            *place = byte;
            len += 1;
        }
    };
    b"autoclose-".iter().for_each(|&byte| put(byte));
    for number in [now_ms as u64, id] {
        let digits = number.checked_ilog10().unwrap_or(0);
        for digit in (0..=digits).rev() {
            put(b'0' + (number / 10u64.pow(digit) % 10) as u8);
        }
    }
    name
}

impl State {
    /// Equity and maintenance margin of a scope.
    fn standing(&self, scope: Scope) -> (Money, Money) {
        let standing = match scope.isolated {
            Some(index) => self.isolated(index, self.holding(scope.account, index)),
            None => self.sums(scope.account).and_then(|sums| Some((sums.cross.equity()?, sums.maintenance))),
        };
        let Some(standing) = standing else { unreachable!("sums of accepted positions") };
        standing
    }

    /// The position of a scope with the largest maintenance margin, the lowest market among equals.
    fn worst(&self, scope: Scope) -> Option<usize> {
        let mut worst: Option<(Money, usize)> = None;
        for index in self.markets_of(scope.account) {
            let holding = self.holding(scope.account, index);
            let is_isolated = self.mode(scope.account, index) == MarginMode::Isolated;
            let belongs = match scope.isolated {
                Some(only) => only == index,
                None => !is_isolated,
            };
            if holding.quantity == 0 || !belongs {
                continue;
            }
            let symbol = &self.symbols[index];
            let margin = symbol.brackets.maintenance_at(holding.quantity, symbol.prices.mark)?;
            if worst.is_none_or(|(most, _)| margin > most) {
                worst = Some((margin, index));
            }
        }
        worst.map(|(_, index)| index)
    }

    fn set_liquidating(&mut self, scope: Scope, on: bool) {
        match scope.isolated {
            Some(index) => self.touch(scope.account, index).liquidating = u8::from(on),
            None => self.accounts.get_mut(scope.account).liquidating = u8::from(on),
        }
    }

    fn tell_scope(&mut self, scope: Scope, step: LiquidationStep, equity: Money, maintenance: Money) {
        self.facts.emit(Liquidation {
            account: scope.account,
            market: scope.isolated.map_or(ALL_MARKETS, id_of),
            step: step as u8,
            side: 0,
            isolated: u8::from(scope.isolated.is_some()),
            reserved: 0,
            counterparty: 0,
            order: 0,
            quantity: 0,
            value: 0,
            fund_change: 0,
            equity,
            maintenance,
        });
    }

    /// Tells one step of a liquidation.
    pub(crate) fn liquidation_step(
        &mut self,
        account: AccountId,
        index: usize,
        step: LiquidationStep,
        (side, order): (Side, OrderId),
        (quantity, value, fund_change): (Quantity, Money, Money),
        counterparty: AccountId,
    ) {
        let is_isolated = self.mode(account, index) == MarginMode::Isolated;
        self.facts.emit(Liquidation {
            account,
            market: id_of(index),
            step: step as u8,
            side: side as u8,
            isolated: u8::from(is_isolated),
            reserved: 0,
            counterparty,
            order,
            quantity,
            value,
            fund_change,
            equity: 0,
            maintenance: 0,
        });
    }

    /// The fund pays a wallet without positions to 0.
    pub(crate) fn clear_wallet(&mut self, account: AccountId) {
        let amount = -self.wallet(account);
        *self.wallet_mut(account) = 0;
        *self.wallet_mut(FEE_ACCOUNT) -= amount;
        self.facts.emit(Posting {
            account,
            market: ALL_MARKETS,
            amount,
            reason: PostingReason::InsuranceClear as u8,
            wallet: MarginMode::Cross as u8,
            reserved: [0; 6],
            trade: 0,
        });
        self.facts.emit(Liquidation {
            account,
            market: ALL_MARKETS,
            step: LiquidationStep::Clear as u8,
            side: 0,
            isolated: 0,
            reserved: 0,
            counterparty: FEE_ACCOUNT,
            order: 0,
            quantity: 0,
            value: amount,
            fund_change: -amount,
            equity: 0,
            maintenance: 0,
        });
    }

    /// A position changes hands at a value, without a fee.
    fn hand_over(
        &mut self,
        index: usize,
        (from, to): (AccountId, AccountId),
        side: Side,
        (quantity, value): (Quantity, Money),
        step: LiquidationStep,
        order: OrderId,
    ) {
        let fund_before = self.wallet(FEE_ACCOUNT);
        let mut realised = [0; 2];
        for (place, (account, side)) in [(from, side), (to, side.opposite())].into_iter().enumerate() {
            let holding = *self.holding(account, index);
            let is_isolated = self.mode(account, index) == MarginMode::Isolated;
            let terms = (quantity, value, 0);
            let leg = self.leg(index, holding, self.wallet(account), is_isolated, side, terms);
            let Some(leg) = leg else { unreachable!("positions are closed, or the fund's opened") };
            realised[place] = leg.filled.realised;
            self.put_leg(account, index, &leg);
        }
        let to_order = if step == LiquidationStep::Fund { 0 } else { self.next_order };
        self.next_order += u64::from(to_order != 0);
        self.facts.emit(PositionMoved {
            from_order: order,
            to_order,
            quantity,
            value,
            from_realised: realised[0],
            to_realised: realised[1],
            from,
            to,
            market: id_of(index),
            side: side as u8,
            step: step as u8,
            reserved: 0,
        });
        let change = self.wallet(FEE_ACCOUNT) - fund_before;
        self.liquidation_step(from, index, step, (side, order), (quantity, value, change), to);
    }

    /// Puts the counterparties of a closing of `side` into `ranked`, in the order of `risk.md` 12.5; the fund first.
    fn rank(&mut self, from: AccountId, index: usize, side: Side) {
        let mut places = std::mem::take(&mut self.ranked);
        places.clear();
        let symbol = &self.symbols[index];
        for &account in &symbol.holders {
            let holding = self.holding(account, index);
            let is_opposite = match side {
                Side::Sell => holding.quantity < 0,
                Side::Buy => holding.quantity > 0,
            };
            let is_isolated = self.mode(account, index) == MarginMode::Isolated;
            let is_liquidating = if is_isolated {
                holding.liquidating != 0
            } else {
                self.accounts.get(account).liquidating != 0
            };
            if account == from || !is_opposite || is_liquidating {
                continue;
            }
            if account == FEE_ACCOUNT {
                places.push(Place::new(i128::MAX, Money::MAX, account));
                continue;
            }
            let scope = Scope { account, isolated: is_isolated.then_some(index) };
            let (equity, _) = self.standing(scope);
            let mark = symbol.prices.mark;
            let ranked = holding.position().unrealised(mark).and_then(|unrealised| {
                let notional = units::notional(holding.quantity, mark)?;
                Some(Place::new(score(unrealised, holding.cost, notional, equity)?, notional, account))
            });
            let Some(place) = ranked else { unreachable!("an accepted position") };
            places.push(place);
        }
        places.sort_unstable();
        self.ranked = places;
    }

    /// Whether a counterparty's scope stays at 0 or above when it takes a part.
    fn can_take(&self, account: AccountId, index: usize, side: Side, part: Quantity, worth: Money) -> bool {
        if account == FEE_ACCOUNT {
            return true;
        }
        let holding = self.holding(account, index);
        let is_isolated = self.mode(account, index) == MarginMode::Isolated;
        let (equity, _) = self.standing(Scope { account, isolated: is_isolated.then_some(index) });
        equity_after(equity, holding.position(), side, part, worth, self.mark(index))
            .is_some_and(|after| after >= 0)
    }

    /// Flags the pool while the fund's wallet or equity is below 0.
    fn flag_deficit(&mut self) {
        let Some(equity) = self.sums(FEE_ACCOUNT).and_then(|sums| sums.cross.equity()) else {
            unreachable!("the fund is in range")
        };
        self.pools.deficit = self.wallet(FEE_ACCOUNT) < 0 || equity < 0;
    }

    fn call_cross(&mut self, account: AccountId, equity: Money, maintenance: Money) {
        let now_ms = self.now_ms;
        let record = self.accounts.get_mut(account);
        if calls(&mut record.called, &mut record.called_ms, now_ms, equity, maintenance) {
            self.facts.emit(MarginCall { account, market: ALL_MARKETS, equity, maintenance });
        }
    }

    fn call_isolated(&mut self, account: AccountId, index: usize, equity: Money, maintenance: Money) {
        let now_ms = self.now_ms;
        let holding = self.holdings[index].get_mut(account);
        if calls(&mut holding.called, &mut holding.called_ms, now_ms, equity, maintenance) {
            self.facts.emit(MarginCall { account, market: id_of(index), equity, maintenance });
        }
    }

    /// Gives every position of an account the threshold at which its scope must be tested again.
    pub(crate) fn refresh_bands(&mut self, account: AccountId) {
        let Some(sums) = self.sums(account) else { unreachable!("sums of accepted positions") };
        let record = *self.accounts.get(account);
        let cross = (sums.cross.wallet + sums.cross.unrealised, sums.maintenance, sums.positions);
        // What equity may lose per part of the marks: notional, and the rise of margins with it.
        let mut exposed = 0i128;
        // A warned account is tested at every move, so that warnings come again in time.
        let mut is_called = record.called != 0;
        for index in self.markets_of(account) {
            let holding = self.holding(account, index);
            is_called |= holding.called != 0;
            if holding.quantity != 0 && self.mode(account, index) == MarginMode::Cross {
                exposed += self.exposed(index, holding.quantity);
            }
        }
        for index in self.markets_of(account) {
            let holding = *self.holding(account, index);
            if holding.quantity == 0 {
                continue;
            }
            let (standing, exposed) = if self.mode(account, index) == MarginMode::Isolated {
                let Some((equity, maintenance)) = self.isolated(index, &holding) else {
                    unreachable!("an accepted position")
                };
                ((equity, maintenance, 1), self.exposed(index, holding.quantity))
            } else {
                (cross, exposed)
            };
            let (equity, maintenance, count) = standing;
            // A micro or two of rounding per position, before and after a move.
            let margin = i128::from(maintenance) * 5 / 4 + 8 * i128::from(count);
            let slack = i128::from(equity) - margin;
            let mark = self.mark(index);
            let is_long = holding.quantity > 0;
            let threshold = if is_called || slack <= 0 || self.is_steep(index) {
                if is_long { i64::MAX } else { 0 }
            } else {
                let room = (i128::from(mark) * slack / exposed.max(1)).min(i128::from(i64::MAX / 4)) as i64;
                if is_long { mark.saturating_sub(room) } else { mark.saturating_add(room) }
            };
            self.bands.set(&mut self.holdings[index], index, account, is_long, threshold);
        }
    }

    /// What a scope loses at most if the mark of one position moved by all of itself.
    fn exposed(&self, index: usize, quantity: Quantity) -> i128 {
        let notional = units::notional(quantity, self.mark(index)).map_or(0, i128::from);
        // Maintenance rises by less than its last rate; 3/4 of the notional is more than 5/4 of that, as long as the
        // market is not steep.
        notional * 7 / 4 + 1
    }

    /// Whether maintenance may rise with the mark by more than a thresholds' estimate allows.
    fn is_steep(&self, index: usize) -> bool {
        self.symbols[index].brackets.rows().iter().any(|row| row.maintenance_rate > 50_000_000)
    }
}

/// Whether an account is warned now; keeps track of it.
fn calls(called: &mut u8, called_ms: &mut i64, now_ms: i64, equity: Money, maintenance: Money) -> bool {
    if maintenance == 0 || margin_ratio(equity, maintenance) < CALL_RATIO {
        *called = 0;
        return false;
    }
    let is_again = *called != 0 && now_ms - *called_ms < CALL_AGAIN_MS;
    let was_recent = *called == 0 && *called_ms != 0 && now_ms - *called_ms < CALL_AGAIN_MS;
    *called = 1;
    if is_again || was_recent {
        return false;
    }
    *called_ms = now_ms;
    true
}
