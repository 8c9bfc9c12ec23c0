//! Scopes whose equity is below their maintenance margin: the book first, then the insurance fund, then counterparties
//! (`risk.md` 12).

use super::admission::Admission;
use super::commit::reason;
use super::execute::Role;
use super::orders::{Closing, Named, place_of};
use crate::command::{MarginMode, Side};
use crate::event::{Liquidation, LiquidationStep, PerpetualTrade, PoolDeficit, PostingReason, TradeCause};
use crate::ids::{ALL_MARKETS, AccountId, FEE_ACCOUNT, OrderId};
use crate::money::{Money, Price, Quantity};
use crate::perpetual::account::Scope;
use crate::perpetual::order::{Details, Stage};
use crate::perpetual::shortfall::{Sharing, Shortfall};
use crate::perpetual::{Perpetual, Standing, State, id_of};
use crate::risk::perpetual::adl::{equity_after, give_back, part_value};
use crate::risk::perpetual::bankruptcy::{DistressedPosition, is_due, limit_price};
use crate::risk::perpetual::takeover::{
    Fund, fund_withdrawable, may_take, unwind_price, unwind_quantity, unwind_reach,
};
use crate::risk::perpetual::units;

impl Perpetual {
    /// `risk.md` 12.3, as far as there are units; what is left waits, and goes on with what was not reached of step 1, then step 2.
    pub(crate) fn liquidate(&mut self, scope: Scope) {
        let Scope { account, isolated } = scope;
        if self.state.work.paused.take().is_none() {
            self.state.set_liquidating(scope, true);
            let (equity, maintenance) = self.state.standing(scope);
            self.state.tell_scope(scope, LiquidationStep::Begin, equity, maintenance);
        }
        if !self.expire_all(scope) || !self.close_worst(scope) {
            (self.state.work.paused, self.state.work.scan) = (Some(scope), true);
            return;
        }
        let is_left = self.state.worst(scope).is_some();
        if !is_left && isolated.is_none() && self.state.wallet(account) < 0 {
            self.state.clear_wallet(account);
        }
        self.state.set_liquidating(scope, false);
        let (equity, maintenance) = self.state.standing(scope);
        self.state.tell_scope(scope, LiquidationStep::End, equity, maintenance);
    }

    /// Expires the orders of a scope; whether there were units enough.
    fn expire_all(&mut self, scope: Scope) -> bool {
        for index in 0..self.books.len() {
            if scope.isolated.is_some_and(|only| only != index) {
                continue;
            }
            loop {
                let oldest = self.open_orders(scope.account, index).next();
                let Some(slot) = oldest else { break };
                if !self.state.work.take() {
                    return false;
                }
                self.expire(slot, reason::LIQUIDATION);
            }
        }
        true
    }

    /// Steps 2 to 5, while the scope is due; whether there were units enough.
    fn close_worst(&mut self, scope: Scope) -> bool {
        while let Some(index) = self.state.worst(scope) {
            let (equity, maintenance) = self.state.standing(scope);
            if !is_due(equity, maintenance) {
                break;
            }
            if !self.step(scope, index, equity, maintenance) {
                return false;
            }
        }
        true
    }

    /// One position of a scope: steps 2 to 5. Whether there were units enough.
    fn step(&mut self, scope: Scope, index: usize, equity: Money, maintenance: Money) -> bool {
        let account = scope.account;
        let symbol = &self.state.symbols[index];
        let quantity = self.state.holding(account, index).quantity;
        let side = if quantity > 0 { Side::Sell } else { Side::Buy };
        let distress = DistressedPosition { quantity, mark: symbol.prices.mark, equity, maintenance };
        let part = distress.step(symbol.lot.value(), &symbol.brackets);
        let value = part.and_then(|part| distress.bankruptcy_value(part, &symbol.brackets));
        let (Some(part), Some(value)) = (part, value) else { unreachable!("an accepted position") };
        let tick = symbol.tick.value();
        let limit = match (side, limit_price(side, part, value, tick)) {
            // A sell that may take any price: the least there is.
            (Side::Sell, Some(limit)) => limit.max(tick),
            (Side::Buy, Some(limit)) => limit.max(0),
            // No price is enough.
            (_, None) => 0,
        };
        if !self.state.work.take() {
            return false;
        }
        let order = self.close_for(account, index, (side, part), limit);
        let mut is_done = true;
        if self.state.symbols[index].matches() && limit > 0 {
            let admission = Admission { limit, ..Admission::default() };
            self.execute(order, &admission, Role::Liquidation);
            is_done = self.trim();
        }
        is_done = is_done && self.pass_on(scope, index, order);
        self.end_closing(index, order);
        is_done
    }

    /// What the book did not take of a liquidation's order the fund takes, or counterparties do: step 5. Whether there were units
    /// enough.
    fn pass_on(&mut self, scope: Scope, index: usize, order: u32) -> bool {
        let (equity, maintenance) = self.state.standing(scope);
        let Details { side, quantity: whole, filled, .. } = self.state.details[order as usize];
        let left = whole - filled;
        if left == 0 || self.state.worst(scope).is_none() || !is_due(equity, maintenance) {
            return true;
        }
        let symbol = &self.state.symbols[index];
        let quantity = self.state.holding(scope.account, index).quantity;
        let distress = DistressedPosition { quantity, mark: symbol.prices.mark, equity, maintenance };
        let worth = side_value(side, left, distress.mark);
        let value = distress.bankruptcy_value(left, &symbol.brackets);
        let (Some(value), Some(worth)) = (value, worth) else { unreachable!("an accepted position") };
        if self.fund_may_take(index, side, left, value) {
            if !self.state.work.take() {
                return false;
            }
            self.state.transfer_position(order, FEE_ACCOUNT, (left, value), TradeCause::Takeover);
            self.trim()
        } else if equity >= 0 {
            self.deleverage(order, value, Backing::Own)
        } else {
            self.deleverage(order, worth, Backing::Fund)
        }
    }

    /// Tells an order by which the engine closes for an account; the slot of it. It never rests.
    fn close_for(
        &mut self,
        account: AccountId,
        index: usize,
        (side, quantity): (Side, Quantity),
        price: Price,
    ) -> u32 {
        let id = self.take_id();
        let closing = Closing { account, index, side, quantity, price };
        let details = closing.details(id, Named::AutoClose(self.state.now_ms));
        let slot = self.register_fleeting(&details);
        self.state.writer.tell_new(&details, 0, 0);
        slot
    }

    /// Such an order is over.
    fn end_closing(&mut self, index: usize, order: u32) {
        let details = &self.state.details[order as usize];
        let left = details.quantity - details.filled;
        if left == 0 {
            self.complete(order);
        } else if self.is_remainder(index, order, left) {
            self.finish(order);
        } else {
            self.expire(order, reason::IMMEDIATE);
        }
    }

    /// Whether the fund may buy or sell a part at a value (`risk.md` 12.4). `side` is that of who gives it up.
    fn fund_may_take(&self, index: usize, side: Side, quantity: Quantity, value: Money) -> bool {
        let state = &self.state;
        let holding = state.holding(FEE_ACCOUNT, index);
        let wallet = state.wallet(FEE_ACCOUNT);
        let before = state.cross_with(FEE_ACCOUNT, wallet, None).map(|fund| fund.equity);
        let change =
            state.position_change(index, holding, wallet, false, side.opposite(), (quantity, value, 0));
        let (Some(change), Some(before)) = (change, before) else { return false };
        let held_after = change.after(holding);
        let Some(after) = state.cross_with(FEE_ACCOUNT, change.wallet, Some((index, &held_after))) else {
            return false;
        };
        let notional = state.fund_notional(Some((index, held_after.quantity)));
        let peak = state.peak.highest(state.now_ms as u64).unwrap_or(before).max(before);
        may_take(Fund { equity: after.equity, notional }, peak)
    }

    /// Counterparties take what an order has left (`risk.md` 12.5), which is worth `value`; the fund what they leave. Whether there
    /// were units enough.
    fn deleverage(&mut self, order: u32, mut value: Money, backing: Backing) -> bool {
        let Details { account: from, market, side, quantity, filled, .. } =
            self.state.details[order as usize];
        let (index, mut left) = (place_of(market), quantity - filled);
        let mut candidates = self.state.candidates(from, index, side);
        let mut may_go_on = true;
        while left > 0
            && let Some(account) = self.state.next_candidate(&mut candidates)
        {
            let held = self.state.holding(account, index).quantity.abs();
            let part = left.min(held);
            let Some(worth) = part_value(value, part, left) else { continue };
            if backing == Backing::Own && !self.state.can_take(account, index, side.opposite(), part, worth) {
                continue;
            }
            may_go_on = self.state.work.take();
            if !may_go_on {
                break;
            }
            let expire = |all: &mut Perpetual, slot| all.expire(slot, reason::DELEVERAGED);
            // What waits for its trigger is judged when that comes.
            self.end_all(account, index, expire, |details| details.stage == Stage::Resting);
            let handed =
                self.state.transfer_position(order, account, (part, worth), TradeCause::Deleveraging);
            if backing == Backing::Fund {
                self.state.note_handed((from, account), &handed);
            }
            left -= part;
            value -= worth;
        }
        self.state.end_candidates(candidates);
        may_go_on = may_go_on && (left == 0 || from == FEE_ACCOUNT || self.state.work.take());
        if left > 0 && from != FEE_ACCOUNT && may_go_on {
            let handed =
                self.state.transfer_position(order, FEE_ACCOUNT, (left, value), TradeCause::Takeover);
            if backing == Backing::Fund {
                self.state.note_handed((from, FEE_ACCOUNT), &handed);
            }
        }
        // What waits and ends with its position.
        self.trim() && may_go_on
    }

    /// Nobody is left to be liquidated by this command. Shares what bankrupt scopes lacked, where nothing before it waits; then
    /// closes positions of the fund while it is below its maintenance margin. Whether anything changed. Where nothing does, the
    /// scan is at its end: the pool is flagged while the fund's wallet or equity is below 0.
    pub(crate) fn test_fund(&mut self) -> bool {
        let waits = !self.state.shortfall.is_empty();
        let is_begun = self.state.shortfall.sharing.is_some();
        if waits && (is_begun || !self.state.has_left_over()) && self.state.share_shortfall() {
            return true;
        }
        let mut changed = false;
        loop {
            let standing = self.state.cross(FEE_ACCOUNT);
            if self.state.shortfall.is_empty() && self.close_worst_of_fund(&standing) {
                changed = true;
                continue;
            }
            if !changed {
                self.state.flag_deficit(standing.equity);
            }
            return changed;
        }
    }

    /// Gives a position of the fund up where it is below its maintenance margin: the worst, or, where nobody can take any of that, the
    /// next. Whether anything changed.
    fn close_worst_of_fund(&mut self, standing: &Standing) -> bool {
        let scope = Scope { account: FEE_ACCOUNT, isolated: None };
        if standing.suspended || !is_due(standing.equity, standing.maintenance) {
            return false;
        }
        if self.state.work.left == 0 {
            self.state.work.fund = true;
            return false;
        }
        let mut tried = None;
        while let Some(next) = self.state.worst_after(scope, tried) {
            if self.close_of_fund(next.1) {
                return true;
            }
            tried = Some(next);
        }
        false
    }

    /// Gives a position of the fund up, as far as somebody can take it; whether anything changed.
    fn close_of_fund(&mut self, index: usize) -> bool {
        let quantity = self.state.holding(FEE_ACCOUNT, index).quantity;
        let side = if quantity > 0 { Side::Sell } else { Side::Buy };
        let Some(value) = side_value(side, quantity.abs(), self.state.mark(index)) else {
            unreachable!("a position of the fund")
        };
        let order = self.close_for(FEE_ACCOUNT, index, (side, quantity.abs()), 0);
        self.deleverage(order, value, Backing::Fund);
        self.end_closing(index, order);
        self.state.holding(FEE_ACCOUNT, index).quantity != quantity
    }

    /// Sends what the fund gets rid of this second, in markets, a bit each, that have not seen it before; as far as there are units.
    pub(crate) fn unwind(&mut self, markets: u128) {
        for index in (0..self.books.len()).filter(|index| markets >> index & 1 != 0) {
            let symbol = &self.state.symbols[index];
            let quantity = self.state.holding(FEE_ACCOUNT, index).quantity;
            let (equity, maintenance) = self.state.standing(Scope { account: FEE_ACCOUNT, isolated: None });
            if quantity == 0 || !symbol.matches() || symbol.is_suspended() || is_due(equity, maintenance) {
                continue;
            }
            let side = if quantity > 0 { Side::Sell } else { Side::Buy };
            let (mark, tick) = (symbol.prices.mark, symbol.tick.value());
            let position = self.state.holding(FEE_ACCOUNT, index).position();
            let (Some(limit), Some(last)) =
                (unwind_price(position, mark, tick), unwind_reach(side, mark, tick))
            else {
                continue;
            };
            let reach: i128 = self.books[index]
                .depth(&self.orders, side.opposite())
                .take_while(|&(price, _)| match side {
                    Side::Sell => price >= last,
                    Side::Buy => price <= last,
                })
                .map(|(_, total)| total)
                .sum();
            let Some(part) = unwind_quantity(quantity.abs(), reach, symbol.lot.value()) else { continue };
            if part > 0 && self.state.work.take() {
                let order = self.close_for(FEE_ACCOUNT, index, (side, part), limit);
                self.execute(order, &Admission { limit, ..Admission::default() }, Role::Owner);
                if !self.trim() {
                    return;
                }
            }
        }
    }
}

/// The worth of a part at the mark, as who closes it on a side books it: what a long brings, down, or a short costs, up.
fn side_value(side: Side, quantity: Quantity, mark: Price) -> Option<Money> {
    match side {
        Side::Sell => units::floor_value(quantity, mark),
        Side::Buy => units::ceil_value(quantity, mark),
    }
}

/// Who stands for what a position that is deleveraged has lost.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backing {
    /// Its scope, which has something: at its bankruptcy value.
    Own,
    /// The fund, and where that does not suffice, those who are deleveraged: at the mark.
    Fund,
}

/// What a handing over came to.
struct Handed {
    /// Of who gives, and of who takes.
    realised: [Money; 2],
    /// What the fund paid because isolated wallets did not suffice.
    covered: Money,
}

impl State {
    /// Equity and maintenance margin of a scope.
    pub(crate) fn standing(&self, scope: Scope) -> (Money, Money) {
        let standing = match scope.isolated {
            Some(index) => self.isolated(index, self.holding(scope.account, index)),
            None => self
                .cross_with(scope.account, self.wallet(scope.account), None)
                .map(|cross| (cross.equity, cross.maintenance)),
        };
        let Some(standing) = standing else { unreachable!("sums of accepted positions") };
        standing
    }

    /// The position of a scope with the largest maintenance margin, the lowest market among equals.
    fn worst(&self, scope: Scope) -> Option<usize> {
        self.worst_after(scope, None).map(|(_, index)| index)
    }

    /// Margin and market of the worst position, of those that are not as bad as one, if one is given.
    fn worst_after(&self, scope: Scope, tried: Option<(Money, usize)>) -> Option<(Money, usize)> {
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
            // Markets come ascending: among equals the lowest stays.
            let is_left = tried.is_none_or(|(most, last)| margin < most || (margin == most && index > last));
            if is_left && worst.is_none_or(|(most, _)| margin > most) {
                worst = Some((margin, index));
            }
        }
        worst
    }

    /// Flags the pool while the fund's wallet or equity is below 0, and raises the alarm where that changes.
    fn flag_deficit(&mut self, equity: Money) {
        let wallet = self.wallet(FEE_ACCOUNT);
        let deficit = wallet < 0 || equity < 0;
        if deficit != self.ledger.deficit {
            self.ledger.deficit = deficit;
            self.writer.emit(PoolDeficit { deficit: deficit.into(), wallet, equity });
        }
    }

    fn set_liquidating(&mut self, scope: Scope, on: bool) {
        match scope.isolated {
            Some(index) => self.touch(scope.account, index).liquidating = u8::from(on),
            None => self.accounts.get_mut(scope.account).liquidating = u8::from(on),
        }
    }

    fn tell_scope(&mut self, scope: Scope, step: LiquidationStep, equity: Money, maintenance: Money) {
        self.writer.emit(Liquidation {
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
        self.writer.emit(Liquidation {
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
        self.shortfall.lack(amount);
        *self.wallet_mut(account) = 0;
        *self.wallet_mut(FEE_ACCOUNT) -= amount;
        self.post(account, ALL_MARKETS, amount, PostingReason::InsuranceClear, MarginMode::Cross);
        self.tell_wallet(account);
        self.writer.emit(Liquidation {
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

    /// A part of what an order closes changes hands at a value, without a fee.
    fn transfer_position(
        &mut self,
        order: u32,
        to: AccountId,
        (quantity, value): (Quantity, Money),
        cause: TradeCause,
    ) -> Handed {
        let details = &mut self.details[order as usize];
        details.filled += quantity;
        details.value += value;
        let Details { id, account: from, market, side, .. } = *details;
        let is_filled = details.filled == details.quantity;
        let index = place_of(market);
        let price = units::average_price(value, quantity);
        let closing = Closing { account: to, index, side: side.opposite(), quantity, price };
        let is_counterparty = cause == TradeCause::Deleveraging;
        let name = if is_counterparty { Named::Deleveraging } else { Named::AutoClose(self.now_ms) };
        let to_order = self.place_filled(&closing, name);
        let fund_before = self.wallet(FEE_ACCOUNT);
        let wallets = [from, to].map(|account| self.wallet(account));
        let (mut realised, mut drawn, mut covered) = ([0; 2], 0, 0);
        for (place, (account, side)) in [(from, side), (to, side.opposite())].into_iter().enumerate() {
            let holding = self.holding(account, index);
            let is_isolated = self.mode(account, index) == MarginMode::Isolated;
            let terms = (quantity, value, 0);
            let change = self.position_change(index, holding, self.wallet(account), is_isolated, side, terms);
            let Some(mut change) = change else { unreachable!("positions are closed, or the fund's opened") };
            realised[place] = change.filled.realised;
            if account == to && is_counterparty {
                // What its isolated wallet lacks its own profit pays, before the fund does.
                drawn = change.draw_on_profit(self.mark(index));
            }
            covered += change.covered;
            self.apply_change(account, index, &change);
        }
        let trade = self.next_trade(index);
        self.writer.emit(PerpetualTrade {
            trade,
            maker_order: to_order,
            taker_order: id,
            price,
            quantity,
            maker_account: to,
            taker_account: from,
            market,
            taker_side: side as u8,
            flags: 1 | u8::from(is_filled) << 1,
            cause: cause as u8,
            reserved: 0,
            maker_fee: 0,
            taker_fee: 0,
            maker_realised: realised[1] + drawn,
            taker_realised: realised[0],
            value,
        });
        for (account, wallet) in [from, to].into_iter().zip(wallets) {
            self.tell_position(account, index);
            if self.wallet(account) != wallet {
                self.tell_wallet(account);
            }
        }
        let change = self.wallet(FEE_ACCOUNT) - fund_before;
        let step = if is_counterparty { LiquidationStep::Adl } else { LiquidationStep::Fund };
        self.liquidation_step(from, index, step, (side, id), (quantity, value, change), to);
        Handed { realised, covered }
    }

    /// Notes what deleveraging at the mark brought, and what it left the fund to pay.
    fn note_handed(&mut self, (from, to): (AccountId, AccountId), handed: &Handed) {
        let Handed { realised: [lost, brought], covered } = *handed;
        self.shortfall.lack(covered);
        if from == FEE_ACCOUNT {
            self.shortfall.lack(lost.min(0).saturating_neg());
        }
        if to != FEE_ACCOUNT {
            self.shortfall.bring(to, &mut self.accounts.get_mut(to).brought, brought);
        }
    }

    /// Shares what bankrupt scopes lacked, as far as there are units. Whether anybody gave anything back.
    pub(crate) fn share_shortfall(&mut self) -> bool {
        let room = Shortfall { lacked: 0, brought: Vec::new(), sharing: None };
        let mut shortfall = std::mem::replace(&mut self.shortfall, room);
        let (is_done, is_changed) = self.share(&mut shortfall);
        self.work.fund |= !is_done;
        self.shortfall = shortfall;
        is_changed
    }

    /// Has those who were deleveraged, or paid by a settlement, give back of it what the fund cannot pay of a shortfall (`risk.md`
    /// 12.5, steps 3 to 5), as far as there are units: one for each who is weighed, and one for each who gives back. Whether that is
    /// done, and whether anybody gave back anything.
    pub(super) fn share(&mut self, shortfall: &mut Shortfall) -> (bool, bool) {
        let Shortfall { lacked, brought, sharing } = shortfall;
        let mut shared = sharing.unwrap_or_else(|| {
            let worst = self.wallet(FEE_ACCOUNT).min(self.cross(FEE_ACCOUNT).equity);
            let loss = std::mem::take(lacked).min(worst.min(0).saturating_neg());
            Sharing { loss, ..Sharing::default() }
        });
        let has = |state: &State, account: AccountId| state.cross(account).equity.max(0);
        let mut is_changed = false;
        while shared.loss > 0 && (shared.given as usize) < brought.len() {
            if !self.work.take() {
                *sharing = Some(shared);
                return (false, is_changed);
            }
            if let Some((account, weight)) = brought.get_mut(shared.weighed as usize) {
                *weight = (*weight).max(0).min(has(self, *account));
                shared.whole += i128::from(*weight);
                shared.weighed += 1;
                continue;
            }
            let (account, weight) = &mut brought[shared.given as usize];
            let (account, weight) = (*account, std::mem::take(weight));
            // It may have lost since it was weighed.
            let part = give_back(shared.loss, shared.whole, shared.before, weight).min(has(self, account));
            shared.given += 1;
            shared.before += i128::from(weight);
            if part != 0 {
                *self.wallet_mut(account) -= part;
                *self.wallet_mut(FEE_ACCOUNT) += part;
                self.post(account, ALL_MARKETS, -part, PostingReason::InsuranceClear, MarginMode::Cross);
                self.tell_wallet(account);
                self.mark_for_check(account);
                is_changed = true;
            }
        }
        brought.clear();
        *sharing = None;
        (true, is_changed)
    }

    /// What may leave the fund (`risk.md` 12.4).
    pub(crate) fn fund_withdrawable(&self) -> Money {
        let cross = self.cross(FEE_ACCOUNT);
        let notional = self.fund_notional(None);
        let free = fund_withdrawable(self.wallet(FEE_ACCOUNT), cross.equity, cross.maintenance, notional);
        (free - self.owes(FEE_ACCOUNT)).max(0)
    }

    /// What the fund's positions are worth in all, one of them as it would be.
    fn fund_notional(&self, changed: Option<(usize, Quantity)>) -> Money {
        (0..self.symbols.len()).fold(0, |sum: Money, index| {
            let held = match changed {
                Some((market, quantity)) if market == index => quantity,
                _ => self.holding(FEE_ACCOUNT, index).quantity,
            };
            sum.saturating_add(units::notional(held, self.mark(index)).unwrap_or(Money::MAX))
        })
    }

    /// Whether a counterparty's scope stays at 0 or above when it takes a part.
    fn can_take(&self, account: AccountId, index: usize, side: Side, part: Quantity, worth: Money) -> bool {
        let holding = self.holding(account, index);
        let is_isolated = self.mode(account, index) == MarginMode::Isolated;
        let (equity, _) = self.standing(Scope { account, isolated: is_isolated.then_some(index) });
        equity_after(equity, holding.position(), side, part, worth, self.mark(index))
            .is_some_and(|after| after >= 0)
    }
}
