//! What accounts ask beside placing: cancels, countdowns, leverage, margin mode, margins, transfers.

use super::At;
use crate::command::{
    AdjustIsolatedMargin, CancelAllPerpetual, CancelPerpetual, ClientOrder, MarginMode, PerpetualState,
    SetCountdown, SetLeverage, SetMarginMode,
};
use crate::emit::Emitter;
use crate::event::{AccountTerms, PostingReason, Sink};
use crate::ids::{ALL_MARKETS, AccountId, MarketId, OrderId};
use crate::perpetual::account::DISABLED;
use crate::perpetual::triggers::{countdown, counted};
use crate::perpetual::{Perpetual, State, id_of};
use crate::reject::Reject;
use crate::risk::perpetual::{isolated, units};
use std::ops::Range;

/// Longest countdown, ms.
const COUNTDOWN_MAX_MS: i64 = 1_000_000_000_000;

impl Perpetual {
    /// An open order of an account in a market, by id or name.
    #[inline(always)]
    pub(crate) fn find_own(
        &self,
        account: AccountId,
        index: usize,
        order: OrderId,
        name: &ClientOrder,
    ) -> Result<u32, Reject> {
        if order == 0 {
            return self.find_named(account, index, name).ok_or(Reject::OrderNotFound);
        }
        let slot = self.state.slot_of(order).ok_or(Reject::OrderNotFound)?;
        let details = &self.state.details[slot as usize];
        if details.account == account && super::orders::place_of(details.market) == index {
            Ok(slot)
        } else {
            Err(Reject::OrderNotFound)
        }
    }

    /// See [`CancelPerpetual`]; the id of the order.
    #[inline(never)]
    pub(super) fn cancel<S: Sink>(
        &mut self,
        cancel: &CancelPerpetual,
        at: At,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<OrderId, Reject> {
        self.state.check_account(cancel.account)?;
        let index = self.state.index_of(cancel.market).ok_or(Reject::MarketNotFound)?;
        let slot = self.find_own(cancel.account, index, cancel.order, &cancel.client_order)?;
        let details = &self.state.details[slot as usize];
        let id = details.id;
        if !details.is_of(cancel.classes) {
            return Err(Reject::OrderNotFound);
        }
        let is_first = self.begin_change(at, emitter);
        self.cancel_owned(slot);
        self.end_change(is_first, emitter);
        Ok(id)
    }

    /// See [`CancelAllPerpetual`].
    pub(crate) fn cancel_all(&mut self, cancel: &CancelAllPerpetual) -> Result<(), Reject> {
        self.state.check_account(cancel.account)?;
        for index in self.state.range(cancel.market)? {
            self.end_all(cancel.account, index, Perpetual::cancel_owned, |details| {
                details.is_of(cancel.classes)
            });
        }
        Ok(())
    }
}

impl State {
    /// The markets that an id means.
    pub(super) fn range(&self, market: MarketId) -> Result<Range<usize>, Reject> {
        if market == ALL_MARKETS {
            return Ok(0..self.symbols.len());
        }
        let index = self.index_of(market).ok_or(Reject::MarketNotFound)?;
        Ok(index..index + 1)
    }

    /// See [`SetCountdown`].
    pub(crate) fn set_countdown(&mut self, set: &SetCountdown) -> Result<(), Reject> {
        self.check_account(set.account)?;
        self.range(set.market)?;
        if !(0..=COUNTDOWN_MAX_MS).contains(&set.countdown_ms) {
            return Err(Reject::Malformed);
        }
        let deadline = if set.countdown_ms == 0 { 0 } else { self.now_ms + set.countdown_ms };
        let keeps = u8::from(set.keep_reduce_only != 0);
        let (market, before) = match self.index_of(set.market) {
            Some(index) => {
                let holding = self.holdings[index].get_mut(set.account);
                let before = std::mem::replace(&mut holding.countdown_ms, deadline);
                holding.countdown_keeps = keeps;
                (index as u32, before)
            }
            None => {
                let record = self.accounts.get_mut(set.account);
                let before = std::mem::replace(&mut record.countdown_ms, deadline);
                record.countdown_keeps = keeps;
                (u32::MAX, before)
            }
        };
        if before == deadline {
            return Ok(());
        }
        // Whoever is alive says so again and again, with a deadline that may be years away: what it replaces does not stay until then.
        let State { accounts, holdings, dates, .. } = self;
        if before != 0 {
            dates.countdowns.ended(|key, number| {
                let (account, market) = counted(number);
                key == match market {
                    u32::MAX => accounts.get(account).countdown_ms,
                    index => holdings[index as usize].get(account).countdown_ms,
                }
            });
        }
        if deadline != 0 {
            dates.countdowns.add(deadline, countdown(set.account, market));
        }
        Ok(())
    }

    /// Whether a leverage may be set (`risk.md` 8).
    pub(crate) fn check_leverage(
        &self,
        account: AccountId,
        index: usize,
        leverage: u32,
    ) -> Result<(), Reject> {
        let symbol = &self.symbols[index];
        if leverage == 0 || leverage > symbol.brackets.first().leverage_max {
            return Err(Reject::InvalidLeverage);
        }
        let before = *self.holding(account, index);
        if symbol.leverage(&before) == leverage {
            return Ok(());
        }
        let is_isolated = self.mode(account, index) == MarginMode::Isolated;
        if is_isolated && before.quantity != 0 && leverage < symbol.leverage(&before) {
            return Err(Reject::LeverageReduction);
        }
        let mut after = before;
        after.set_leverage(leverage);
        let most = symbol.brackets.exposure_max(leverage);
        let exposure = self.exposure(index, &after).ok_or(Reject::ExceedsBracket)?;
        if exposure.filled_max().is_none_or(|filled| filled > most) {
            return Err(Reject::ExceedsBracket);
        }
        let free =
            self.sums_with(account, self.wallet(account), Some((index, &after))).and_then(|sums| sums.free());
        if !is_isolated && free.is_none_or(|free| free < 0) {
            return Err(Reject::InsufficientMarginForLeverage);
        }
        Ok(())
    }

    /// See [`SetLeverage`].
    pub(crate) fn set_leverage(&mut self, set: &SetLeverage) -> Result<(), Reject> {
        self.check_account(set.account)?;
        let index = self.index_of(set.market).ok_or(Reject::MarketNotFound)?;
        if self.symbols[index].state() == PerpetualState::Closed {
            return Err(Reject::MarketDelisted);
        }
        self.check_leverage(set.account, index, set.leverage)?;
        if self.leverage(set.account, index) != set.leverage {
            self.touch(set.account, index).set_leverage(set.leverage);
            self.tell_position(set.account, index);
        }
        Ok(())
    }

    /// See [`SetMarginMode`].
    pub(crate) fn set_mode(&mut self, set: &SetMarginMode) -> Result<(), Reject> {
        self.check_account(set.account)?;
        let markets = self.range(set.market)?;
        let mode = u8::try_from(set.mode).ok().and_then(MarginMode::from_code).ok_or(Reject::Malformed)?;
        let changes = |state: &State, index: usize| state.mode(set.account, index) != mode;
        let holds = |state: &State, index: usize| state.holding(set.account, index).quantity != 0;
        let mut affected = markets.clone().filter(|&index| changes(self, index));
        if affected.clone().any(|index| self.holding(set.account, index).orders.open_orders() != 0) {
            return Err(Reject::OpenOrdersExist);
        }
        if affected.any(|index| holds(self, index)) {
            return Err(Reject::PositionExists);
        }
        for index in markets {
            if changes(self, index) {
                self.touch(set.account, index).mode = mode as u8 + 1;
                self.tell_position(set.account, index);
            }
        }
        if set.market == ALL_MARKETS && self.accounts.get(set.account).default_mode != mode as u8 {
            self.accounts.get_mut(set.account).default_mode = mode as u8;
            self.tell_terms(set.account);
        }
        Ok(())
    }

    /// Tells an account's terms.
    pub(crate) fn tell_terms(&mut self, account: AccountId) {
        let record = *self.accounts.get(account);
        self.writer.emit(AccountTerms {
            account,
            trading_enabled: u32::from(record.terms & DISABLED == 0),
            trade_group: record.group - 1,
            promo_until_ms: record.promo_until_ms,
            fee_burn: record.fee_burn.into(),
            referral_total_bps: record.referral_total_bps,
            referral_share_bps: record.referral_share_bps,
            promo_bps: record.promo_bps,
            default_mode: record.default_mode.into(),
            reserved: 0,
        });
    }

    /// See [`AdjustIsolatedMargin`].
    pub(crate) fn adjust_margin(&mut self, adjust: &AdjustIsolatedMargin) -> Result<(), Reject> {
        let AdjustIsolatedMargin { account, amount, .. } = *adjust;
        self.check_account(account)?;
        let index = self.index_of(adjust.market).ok_or(Reject::MarketNotFound)?;
        if self.mode(account, index) != MarginMode::Isolated {
            return Err(Reject::NotIsolated);
        }
        let holding = *self.holding(account, index);
        if holding.quantity == 0 {
            return Err(Reject::NoPosition);
        }
        if amount == 0 {
            return Err(Reject::InvalidAmount);
        }
        if amount > 0 {
            if self.withdrawable(account).is_none_or(|most| amount > most) {
                return Err(Reject::CrossInsufficient);
            }
        } else {
            let symbol = &self.symbols[index];
            let mark = symbol.prices.mark;
            let may = holding.position().unrealised(mark).and_then(|unrealised| {
                let notional = units::notional(holding.quantity, mark)?;
                let taken = amount.checked_neg()?;
                isolated::may_remove(holding.isolated, unrealised, taken, notional, symbol.leverage(&holding))
            });
            if may != Some(true) {
                return Err(Reject::IsolatedInsufficient);
            }
        }
        self.touch(account, index).isolated += amount;
        *self.wallet_mut(account) -= amount;
        let (moved, wallet) =
            if amount > 0 { (amount, MarginMode::Isolated) } else { (-amount, MarginMode::Cross) };
        self.post(account, id_of(index), moved, PostingReason::IsolatedMargin, wallet);
        self.tell_position(account, index);
        self.tell_wallet(account);
        self.mark_for_check(account);
        Ok(())
    }
}
