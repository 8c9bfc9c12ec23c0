//! What an account may ask for besides placing and modifying orders.

use super::arithmetic::ceil_div;
use super::{Countdown, Model, Outcome, Position, Stage};
use ringside_core::command::{
    AdjustIsolatedMargin, CancelAllPerpetual, CancelPerpetual, ClientOrder, MarginMode, PerpetualState,
    SetCountdown, SetLeverage, SetMarginMode, TransferPerpetual, order_class, order_flag,
};
use ringside_core::event::PostingReason;
use ringside_core::ids::{ALL_MARKETS, AccountId, MarketId, OrderId};
use ringside_core::reject::Reject;

/// Spot steps of 10^-18 in a micro-quote.
const STEPS: i128 = 1_000_000_000_000;
/// Most that one command moves.
const MOST: i64 = 1_000_000_000_000_000_000;

impl Model {
    /// The open order that a command names.
    pub(super) fn named_order(
        &self,
        account: AccountId,
        market: MarketId,
        order: OrderId,
        client: &ClientOrder,
    ) -> Result<OrderId, Reject> {
        self.orders
            .values()
            .find(|open| {
                open.account == account
                    && open.market == market
                    && if order != 0 { open.id == order } else { open.client == *client }
            })
            .map(|open| open.id)
            .ok_or(Reject::OrderNotFound)
    }

    /// The bit of [`order_class`] that an open order is of.
    fn class(&self, id: OrderId) -> u32 {
        let order = &self.orders[&id];
        if order.stage == Stage::Waiting && order.has(order_flag::CONDITIONAL_SERVICE) {
            order_class::CONDITIONAL_SERVICE
        } else {
            order_class::ORDINARY
        }
    }

    pub(super) fn cancel(&mut self, cancel: &CancelPerpetual) -> Result<Outcome, Reject> {
        self.known_trader(cancel.account)?;
        self.known_market(cancel.market)?;
        let found: Vec<OrderId> = self
            .orders
            .values()
            .filter(|open| {
                open.account == cancel.account
                    && open.market == cancel.market
                    && if cancel.order != 0 {
                        open.id == cancel.order
                    } else {
                        open.client == cancel.client_order
                    }
            })
            .map(|open| open.id)
            .filter(|&id| self.class(id) & cancel.classes != 0)
            .collect();
        let order = *found.first().ok_or(Reject::OrderNotFound)?;
        self.cancel_for_owner(order);
        Ok(Outcome { order, market: Some(cancel.market), ..Outcome::default() })
    }

    pub(super) fn cancel_all(&mut self, cancel: &CancelAllPerpetual) -> Result<Outcome, Reject> {
        self.known_trader(cancel.account)?;
        let everywhere = cancel.market == ALL_MARKETS;
        if !everywhere {
            self.known_market(cancel.market)?;
        }
        for id in self.open_orders(cancel.account, (!everywhere).then_some(cancel.market)) {
            if self.orders.contains_key(&id) && self.class(id) & cancel.classes != 0 {
                self.cancel_for_owner(id);
            }
        }
        Ok(Outcome { market: (!everywhere).then_some(cancel.market), ..Outcome::default() })
    }

    pub(super) fn set_countdown(&mut self, set: &SetCountdown) -> Result<Outcome, Reject> {
        self.known_trader(set.account)?;
        if set.market != ALL_MARKETS {
            self.known_market(set.market)?;
        }
        if !(0..=1_000_000_000_000).contains(&set.countdown_ms) {
            return Err(Reject::Malformed);
        }
        let deadline_ms = self.now_ms() + set.countdown_ms;
        let countdowns = &mut self.account_mut(set.account).countdowns;
        if set.countdown_ms == 0 {
            countdowns.remove(&set.market);
        } else {
            let keep_reduce_only = set.keep_reduce_only != 0;
            countdowns.insert(set.market, Countdown { deadline_ms, keep_reduce_only });
        }
        Ok(Outcome { market: (set.market != ALL_MARKETS).then_some(set.market), ..Outcome::default() })
    }

    pub(super) fn set_leverage(&mut self, set: &SetLeverage) -> Result<Outcome, Reject> {
        self.known_trader(set.account)?;
        self.known_market(set.market)?;
        if self.state(set.market) == PerpetualState::Closed {
            return Err(Reject::MarketDelisted);
        }
        let before = self.position(set.account, set.market);
        self.change_leverage(set.account, set.market, set.leverage)?;
        if self.position(set.account, set.market) != before {
            self.tell_position(set.account, set.market);
        }
        Ok(Outcome { market: Some(set.market), ..Outcome::default() })
    }

    pub(super) fn set_margin_mode(&mut self, set: &SetMarginMode) -> Result<Outcome, Reject> {
        self.known_trader(set.account)?;
        let everywhere = set.market == ALL_MARKETS;
        if !everywhere {
            self.known_market(set.market)?;
        }
        let mode = u8::try_from(set.mode).ok().and_then(MarginMode::from_code).ok_or(Reject::Malformed)?;
        let markets: Vec<MarketId> =
            if everywhere { self.markets.iter().map(|market| market.id).collect() } else { vec![set.market] };
        let changing: Vec<MarketId> =
            markets.into_iter().filter(|&id| self.position(set.account, id).mode != mode).collect();
        if changing.iter().any(|&id| !self.open_orders(set.account, Some(id)).is_empty()) {
            return Err(Reject::OpenOrdersExist);
        }
        if changing.iter().any(|&id| self.position(set.account, id).quantity != 0) {
            return Err(Reject::PositionExists);
        }
        for id in changing {
            let position = Position { mode, ..self.position(set.account, id) };
            self.positions.set(set.account, id, Some(position));
            self.tell_position(set.account, id);
        }
        if everywhere {
            self.set_default_mode(set.account, mode);
        }
        Ok(Outcome { market: (!everywhere).then_some(set.market), ..Outcome::default() })
    }

    fn set_default_mode(&mut self, account: AccountId, mode: MarginMode) {
        if self.account(account).default_mode != mode {
            self.account_mut(account).default_mode = mode;
            self.tell_terms(account);
        }
    }

    pub(super) fn adjust_isolated(&mut self, adjust: &AdjustIsolatedMargin) -> Result<Outcome, Reject> {
        self.known_trader(adjust.account)?;
        self.known_market(adjust.market)?;
        let old = self.position(adjust.account, adjust.market);
        if old.mode != MarginMode::Isolated {
            return Err(Reject::NotIsolated);
        }
        if old.quantity == 0 {
            return Err(Reject::NoPosition);
        }
        let amount = i128::from(adjust.amount);
        if amount == 0 {
            return Err(Reject::InvalidAmount);
        }
        if amount > 0 && amount > self.withdrawable(adjust.account) {
            return Err(Reject::CrossInsufficient);
        }
        if amount < 0 {
            let loss = self.unrealised(adjust.market, &old).min(0);
            let notional = self.market(adjust.market).notional(old.quantity);
            if old.isolated_wallet + loss + amount < ceil_div(notional, self.leverage(adjust.market, &old)) {
                return Err(Reject::IsolatedInsufficient);
            }
        }
        self.positions.get_mut(adjust.account, adjust.market).expect("held").isolated_wallet += amount;
        self.account_mut(adjust.account).wallet -= amount;
        self.suspects.insert(adjust.account);
        let (to, moved) =
            if amount > 0 { (MarginMode::Isolated, amount) } else { (MarginMode::Cross, -amount) };
        self.tell_posting(adjust.account, adjust.market, moved, PostingReason::IsolatedMargin, to, 0);
        self.tell_position(adjust.account, adjust.market);
        self.tell_wallet(adjust.account);
        Ok(Outcome { market: Some(adjust.market), ..Outcome::default() })
    }

    pub(super) fn transfer(&mut self, transfer: &TransferPerpetual) -> Result<Outcome, Reject> {
        self.known_trader(transfer.account)?;
        let asset = self.margin_asset.ok_or(Reject::MarketNotFound)?;
        if transfer.amount == 0 || !(-MOST..=MOST).contains(&transfer.amount) {
            return Err(Reject::InvalidAmount);
        }
        let amount = i128::from(transfer.amount);
        let most = 4_000_000_000_000_000_000;
        let wallet = self.account(transfer.account).wallet;
        if (self.deposits + amount).abs() > most || (wallet + amount).abs() > most {
            return Err(Reject::InvalidAmount);
        }
        if amount > 0 && self.spot.balance(transfer.account, asset).0 < amount * STEPS {
            return Err(Reject::InsufficientBalance);
        }
        if amount < 0 {
            if -amount > self.withdrawable(transfer.account) {
                return Err(Reject::CrossInsufficient);
            }
            if self.deficit {
                return Err(Reject::WithdrawalsPaused);
            }
        }
        self.spot.move_owned(transfer.account, asset, -amount * STEPS);
        self.account_mut(transfer.account).wallet += amount;
        self.deposits += amount;
        self.suspects.insert(transfer.account);
        self.tell_posting(
            transfer.account,
            ALL_MARKETS,
            amount,
            PostingReason::Transfer,
            MarginMode::Cross,
            0,
        );
        self.tell_wallet(transfer.account);
        self.transferred.push((transfer.account, asset));
        Ok(Outcome::default())
    }
}
