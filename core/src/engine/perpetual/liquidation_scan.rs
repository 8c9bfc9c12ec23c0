//! Who is tested after a command (`risk.md` 12.1): the scan, its bound, the warnings, and the thresholds that tell it whom
//! to look at. What a liquidation does is in `liquidate.rs`.
//!
//! **What the scan comes to** does not depend on the thresholds: after every command all accounts are tested in ascending
//! order, until nothing changes. A test has a consequence where a scope is liquidated or warned; one without changes
//! nothing, which is why only those need to be carried out whose threshold a mark has passed, who were touched, or whose
//! minute between two warnings is over.
//!
//! **Its bound.** A move of the mark may bring thousands of scopes below their maintenance margin, and the orders behind it
//! must not wait for all of them. So a command carries out consequences only as far as its units go; those left over keep their
//! place, the lowest account first, behind a liquidation that goes on, and are carried out by the commands that follow. While any
//! are left the matching stage advances time whenever it has nothing else to do, so that nothing waits for orders to come.

use crate::command::MarginMode;
use crate::event::MarginCall;
use crate::ids::{ALL_MARKETS, AccountId, FEE_ACCOUNT};
use crate::money::{Money, Price, Quantity, RATE_ONE, Rate};
use crate::perpetual::account::Scope;
use crate::perpetual::liquidation_index::TriggerMark;
use crate::perpetual::market::Symbol;
use crate::perpetual::{Perpetual, Standing, State, id_of, mode_of};
use crate::risk::perpetual::bankruptcy::{is_due, margin_ratio};
use crate::risk::perpetual::bracket::Brackets;
use crate::risk::perpetual::units;
use std::cmp::Reverse;

/// Margin ratio from which an account is warned, 10^-8.
const CALL_RATIO: i64 = 80_000_000;
/// Least time between two warnings, ms.
const CALL_AGAIN_MS: i64 = 60_000;

impl Perpetual {
    /// Tests whoever must be tested, ascending, until nothing changes; then the fund. An account that a test brings into
    /// question has its turn in the same pass if its id is still to come, else in the next.
    pub(crate) fn scan_liquidations(&mut self) {
        self.state.recheck();
        self.state.tidy_rankings();
        self.state.rank_few();
        (self.state.work.scan, self.state.work.fund) = (false, false);
        // What is shared already is shared to the end before anybody else is liquidated.
        if self.state.shortfall.sharing.is_some() {
            self.state.share_shortfall();
        }
        if let Some(scope) = self.state.work.paused
            && self.state.may_follow()
        {
            self.liquidate(scope);
            self.state.mark_deferred(scope.account);
        }
        if !self.state.finds_all_well() || self.test_fund() {
            self.test_suspects();
        }
        self.state.settle_stir();
    }

    /// The passes of the scan.
    #[inline(never)]
    fn test_suspects(&mut self) {
        let mut pass = std::mem::take(&mut self.state.pass);
        let mut joined = std::mem::take(&mut self.state.joined);
        let mut later = std::mem::take(&mut self.state.later);
        loop {
            pass.clear();
            pass.append(&mut self.state.marked_for_check);
            pass.sort_unstable();
            let (mut from, mut place) = (0, 0);
            loop {
                let suspect = pass.get(place).copied();
                let who_joined = joined.peek().map(|&Reverse(account)| account);
                let passed = self.state.next_passed(from);
                let Some(account) = suspect.into_iter().chain(who_joined).chain(passed).min() else { break };
                while pass.get(place) == Some(&account) {
                    place += 1;
                }
                while joined.peek() == Some(&Reverse(account)) {
                    joined.pop();
                }
                self.test(account);
                from = account + 1;
                for &suspect in &self.state.marked_for_check {
                    if suspect > account {
                        joined.push(Reverse(suspect));
                    } else {
                        later.push(suspect);
                    }
                }
                self.state.marked_for_check.clear();
            }
            self.state.marked_for_check.append(&mut later);
            if self.state.marked_for_check.is_empty() && !self.test_fund() {
                break;
            }
        }
        (self.state.pass, self.state.joined, self.state.later) = (pass, joined, later);
    }

    /// Tests the scopes of one account.
    fn test(&mut self, account: AccountId) {
        self.state.accounts.get_mut(account).is_marked = 0;
        if account == FEE_ACCOUNT || self.state.is_safe(account).is_some() {
            return;
        }
        let mut cross = self.state.cross(account);
        if cross.positions == 0 && self.state.wallet(account) < 0 {
            self.state.clear_wallet(account);
        }
        let mut is_changed = false;
        if cross.positions > 0
            && !cross.suspended
            && is_due(cross.equity, cross.maintenance)
            && self.state.may_follow()
        {
            self.liquidate(Scope { account, isolated: None });
            is_changed = true;
        } else {
            self.state.call_cross(account, cross.equity, cross.maintenance);
        }
        for index in self.state.markets_of(account) {
            let holding = self.state.holding(account, index);
            if holding.quantity == 0 || self.state.mode(account, index) != MarginMode::Isolated {
                continue;
            }
            let Some((equity, maintenance)) = self.state.isolated(index, holding) else {
                unreachable!("an accepted position")
            };
            if !self.state.symbols[index].is_suspended()
                && is_due(equity, maintenance)
                && self.state.may_follow()
            {
                self.liquidate(Scope { account, isolated: Some(index) });
                is_changed = true;
            } else {
                self.state.call_isolated(account, index, equity, maintenance);
            }
        }
        if is_changed {
            cross = self.state.cross(account);
        }
        self.state.watch_scopes(account, &cross);
    }
}

/// A scope's equity above what it is tested at, and what it may lose by moves of the marks against it.
#[derive(Clone, Copy)]
struct Room {
    margin_buffer: i128,
    /// Loss of equity over maintenance margin if every mark of the scope moved against it by all of itself.
    exposed: i128,
}

impl State {
    /// What a cross account comes to, of positions that were accepted.
    pub(crate) fn cross(&self, account: AccountId) -> Standing {
        let Some(standing) = self.cross_with(account, self.wallet(account), None) else {
            unreachable!("sums of accepted positions")
        };
        standing
    }

    /// Whether nobody is to be tested but accounts that are well, whose tests then have no consequence, in whatever order. Each
    /// has its threshold afterwards. Where one is not, all stay to be tested.
    #[inline]
    fn finds_all_well(&mut self) -> bool {
        if self.alert != 0 || self.tests_all || !self.joined.is_empty() {
            return false;
        }
        for place in 0..self.marked_for_check.len() {
            let account = self.marked_for_check[place];
            if account != FEE_ACCOUNT && self.is_safe(account).is_none() {
                return false;
            }
        }
        while let Some(account) = self.marked_for_check.pop() {
            self.accounts.get_mut(account).is_marked = 0;
        }
        true
    }

    /// Gives its threshold to an account that has a position in one market and nothing anywhere else, and is far from a
    /// warning; `None`: it is not, and nothing was done.
    #[inline]
    pub(super) fn is_safe(&mut self, account: AccountId) -> Option<()> {
        let record = self.accounts.get(account);
        let markets = u128::from(record.markets[1]) << 64 | u128::from(record.markets[0]);
        if markets.count_ones() != 1 {
            return None;
        }
        let index = markets.trailing_zeros() as usize;
        let (holding, symbol) = (self.holding(account, index), &self.symbols[index]);
        if holding.quantity == 0 {
            return None;
        }
        let (wallet, called_ms) = match mode_of(record, holding) {
            MarginMode::Cross => (record.wallet, record.called_ms),
            MarginMode::Isolated if record.wallet >= 0 => (holding.isolated, holding.called_ms),
            MarginMode::Isolated => return None,
        };
        let (notional, value) = units::notional_and_value(holding.quantity, symbol.prices.mark)?;
        let equity = wallet.checked_add(value.checked_sub(holding.cost)?)?;
        let threshold = self.well(symbol, called_ms, holding.quantity, (notional, equity))?;
        self.liquidation_index.set(index, account, threshold);
        Some(())
    }

    /// The threshold of a scope that has nothing but a position in one market, which is of `notional`, and is far from a
    /// warning, with the last one at `called_ms`; `None` where it is not.
    #[inline]
    pub(super) fn well(
        &self,
        symbol: &Symbol,
        called_ms: i64,
        quantity: Quantity,
        (notional, equity): (Money, Money),
    ) -> Option<TriggerMark> {
        let mark = symbol.prices.mark;
        let steepest = symbol.brackets.rows().last()?.maintenance_rate;
        if steepest < RATE_ONE / 2 && equity / 4 > notional {
            // A long one cannot lose more than its notional. A short one loses as much when the mark doubles, and its margin
            // is below five fourths of twice that then.
            let is_long = quantity > 0;
            return Some(if is_long {
                TriggerMark::Never
            } else {
                TriggerMark::Above(mark.saturating_mul(2))
            });
        }
        let maintenance = symbol.brackets.maintenance(notional)?;
        if margin_buffer(equity, maintenance, 1, false) <= 0 {
            return None;
        }
        let is_recent = self.is_recent(called_ms);
        let margin_buffer = margin_buffer(equity, maintenance, 1, is_recent);
        let exposed = mark_sensitivity(&symbol.brackets, notional, quantity > 0, margin_buffer, is_recent)?;
        Some(threshold(quantity, mark, margin_buffer, exposed))
    }

    /// Whether the command may have anything follow from a test; that something would is noted where it may not.
    fn may_follow(&mut self) -> bool {
        let is_left = self.work.left > 0;
        self.work.scan |= !is_left;
        is_left
    }

    /// No price counts as moved any more where the scan left nobody over.
    fn settle_stir(&mut self) {
        if !self.work.scan {
            self.work.stirred = 0;
        }
    }

    /// The lowest account at or above `from` that a mark may have brought into question. Nobody once nothing may follow, and it is
    /// known that something would.
    pub(crate) fn next_passed(&mut self, from: AccountId) -> Option<AccountId> {
        if self.work.left == 0 && self.work.scan {
            return None;
        }
        if self.tests_all {
            return (from < self.accounts_count).then_some(from);
        }
        let mut lowest = None;
        let mut alert = self.alert;
        while alert != 0 {
            let index = alert.trailing_zeros() as usize;
            alert &= alert - 1;
            match self.liquidation_index.next(index, from, self.mark(index)) {
                None if from == 0 => self.alert &= !(1 << index),
                None => {}
                found => lowest = lowest.into_iter().chain(found).min(),
            }
        }
        lowest
    }

    /// Brings those into question whose minute since their last warning is over.
    fn recheck(&mut self) {
        while let Some(&Reverse((due_ms, account))) = self.rechecks.peek() {
            if due_ms > self.now_ms {
                return;
            }
            self.rechecks.pop();
            self.mark_for_check(account);
        }
    }

    fn call_cross(&mut self, account: AccountId, equity: Money, maintenance: Money) {
        if self.calls(self.accounts.get(account).called_ms, equity, maintenance) {
            self.accounts.get_mut(account).called_ms = self.now_ms;
            self.warned(account);
            self.writer.emit(MarginCall { account, market: ALL_MARKETS, equity, maintenance });
        }
    }

    fn call_isolated(&mut self, account: AccountId, index: usize, equity: Money, maintenance: Money) {
        if self.calls(self.holding(account, index).called_ms, equity, maintenance) {
            self.holdings[index].get_mut(account).called_ms = self.now_ms;
            self.warned(account);
            self.writer.emit(MarginCall { account, market: id_of(index), equity, maintenance });
        }
    }

    /// Whether a scope is warned now, that was warned last at `called_ms`.
    fn calls(&mut self, called_ms: i64, equity: Money, maintenance: Money) -> bool {
        maintenance > 0
            && !self.is_recent(called_ms)
            && margin_ratio(equity, maintenance) >= CALL_RATIO
            && self.may_follow()
            && self.work.take()
    }

    /// Whether the minute after a warning still runs.
    fn is_recent(&self, called_ms: i64) -> bool {
        called_ms != 0 && self.now_ms.saturating_sub(called_ms) < CALL_AGAIN_MS
    }

    fn warned(&mut self, account: AccountId) {
        self.rechecks.push(Reverse((self.now_ms + CALL_AGAIN_MS, account)));
    }

    /// Watches an account of a snapshot. Nothing is told: whoever is due or to be warned is found by the next scan.
    pub(crate) fn watch_anew(&mut self, account: AccountId) {
        let mut called = vec![self.accounts.get(account).called_ms];
        called.extend(self.markets_of(account).map(|index| self.holding(account, index).called_ms));
        for at_ms in called {
            if self.is_recent(at_ms) {
                self.rechecks.push(Reverse((at_ms.saturating_add(CALL_AGAIN_MS), account)));
            }
        }
        let cross = self.cross(account);
        self.watch_scopes(account, &cross);
        self.rank(account);
    }

    /// Gives every position of an account the threshold at which its scope must be tested again.
    pub(crate) fn watch_scopes(&mut self, account: AccountId, cross: &Standing) {
        let record = *self.accounts.get(account);
        let cross_recent = self.is_recent(record.called_ms);
        let cross_room =
            if cross.positions > 0 { self.cross_room(account, cross, cross_recent) } else { None };
        for index in self.markets_of(account) {
            let holding = *self.holding(account, index);
            let symbol = &self.symbols[index];
            if holding.quantity == 0 {
                self.liquidation_index.set(index, account, TriggerMark::Never);
                continue;
            }
            let (room, is_deferred) = if mode_of(&record, &holding) == MarginMode::Cross {
                (cross_room, cross.suspended && cross_recent)
            } else {
                let Some((equity, maintenance)) = self.isolated(index, &holding) else {
                    unreachable!("an accepted position")
                };
                let is_recent = self.is_recent(holding.called_ms);
                let margin_buffer = margin_buffer(equity, maintenance, 1, is_recent);
                let exposed = self.mark_sensitivity(index, holding.quantity, margin_buffer, is_recent);
                let room = exposed.map(|exposed| Room { margin_buffer, exposed });
                (room, symbol.is_suspended() && is_recent)
            };
            let mark = symbol.prices.mark;
            let threshold = match room {
                Some(Room { margin_buffer, exposed }) if margin_buffer > 0 => {
                    threshold(holding.quantity, mark, margin_buffer, exposed)
                }
                // It could only be liquidated, which it must not be now.
                _ if is_deferred => {
                    self.park(account);
                    TriggerMark::Never
                }
                _ => {
                    self.alert |= 1 << index;
                    TriggerMark::Always
                }
            };
            self.liquidation_index.set(index, account, threshold);
        }
    }

    /// Notes that an account is to be tested when the markets of its scopes are acted on again.
    fn park(&mut self, account: AccountId) {
        let record = self.accounts.get_mut(account);
        if record.is_deferred == 0 {
            record.is_deferred = 1;
            self.deferred_checks.push(account);
        }
    }

    /// A market is acted on again: brings those into question who could not be liquidated while it was not. Whoever still
    /// cannot be is deferred again by the test.
    pub(crate) fn recheck_deferred(&mut self) {
        while let Some(account) = self.deferred_checks.pop() {
            self.accounts.get_mut(account).is_deferred = 0;
            self.mark_for_check(account);
        }
    }

    /// The room of a cross scope; `None` where marks may hurt it in either direction.
    fn cross_room(&self, account: AccountId, cross: &Standing, is_recent: bool) -> Option<Room> {
        let record = self.accounts.get(account);
        let margin_buffer = margin_buffer(cross.equity, cross.maintenance, cross.positions, is_recent);
        let mut exposed = 0i128;
        for index in self.markets_of(account) {
            let holding = self.holding(account, index);
            if holding.quantity != 0 && mode_of(record, holding) == MarginMode::Cross {
                exposed += self.mark_sensitivity(index, holding.quantity, margin_buffer, is_recent)?;
            }
        }
        Some(Room { margin_buffer, exposed })
    }

    fn mark_sensitivity(
        &self,
        index: usize,
        quantity: Quantity,
        margin_buffer: i128,
        is_recent: bool,
    ) -> Option<i128> {
        let notional = units::notional(quantity, self.mark(index))?;
        mark_sensitivity(&self.symbols[index].brackets, notional, quantity > 0, margin_buffer, is_recent)
    }
}

/// What a scope loses at most, of equity over the margin it is tested at, if the mark of a position of `notional` moved
/// against it by all of itself; where it has no more than `margin_buffer` to lose. `None` where that margin may rise faster than
/// equity.
#[inline]
fn mark_sensitivity(
    brackets: &Brackets,
    notional: Money,
    is_long: bool,
    margin_buffer: i128,
    is_recent: bool,
) -> Option<i128> {
    // What counts is the margin at which the scope is tested: of a warning 5/4 of the maintenance margin.
    let times = |rate: Rate| if is_recent { rate } else { rate + rate / 4 };
    if times(brackets.rows().last()?.maintenance_rate) >= RATE_ONE {
        return None;
    }
    let exposed = if is_long {
        // Its notional falls, and the margin with it, by the lowest rate at least.
        notional.checked_sub(units::floor_of(notional, times(brackets.first().maintenance_rate))?)
    } else {
        // Its notional rises by less than the margin buffer, and the margin with it, by the rate up there at most.
        let most = (i128::from(notional) + margin_buffer.max(0)).min(Money::MAX.into());
        let rate = times(brackets.of(most as Money).maintenance_rate) + 1;
        notional.checked_add(units::ceil_of(notional, rate)?)
    };
    Some(i128::from(exposed?) + 1)
}

/// The threshold of a position of a scope that has `margin_buffer` > 0 of `exposed` > 0 to lose.
#[inline]
fn threshold(quantity: Quantity, mark: Price, margin_buffer: i128, exposed: i128) -> TriggerMark {
    let distance = distance(mark, margin_buffer, exposed);
    if quantity > 0 {
        TriggerMark::Below(mark.saturating_sub(distance))
    } else {
        TriggerMark::Above(mark.saturating_add(distance))
    }
}

/// How far a mark may move against a position of a scope that has `margin_buffer` > 0 of `exposed` > 0 to lose: down, or less.
#[inline]
fn distance(mark: Price, margin_buffer: i128, exposed: i128) -> i64 {
    let exact = if margin_buffer < 1 << 40 && exposed < 1 << 62 {
        // The same with one division of words: short by less than a part in eight million of the mark.
        let share = ((margin_buffer as u64) << 23) / exposed as u64;
        (i128::from(mark) * i128::from(share)) >> 23
    } else {
        i128::from(mark) * margin_buffer / exposed
    };
    exact.min(i128::from(i64::MAX / 4)) as i64
}

/// Equity above the margin at which a scope is tested: its liquidation's, or its warning's where it was not warned just
/// now. Less what rounding may take: some micros of every position, and of the ratio.
pub(super) fn margin_buffer(equity: Money, maintenance: Money, positions: u32, is_recent: bool) -> i128 {
    let (equity, maintenance) = (i128::from(equity), i128::from(maintenance));
    let margin = if is_recent { maintenance } else { maintenance * 5 / 4 + (maintenance >> 22) };
    equity - margin - 16 * i128::from(positions)
}
