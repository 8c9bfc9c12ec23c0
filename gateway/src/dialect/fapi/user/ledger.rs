//! What an account has between the steps of one command. The engine tells the end alone; a stream tells every step. The
//! arithmetic is the engine's own (`risk.md` 4, 8), from what the command found to what it left.

use super::Fill;
use crate::dialect::fapi::margin::leverage_in_force;
use crate::view::perpetual::Perpetuals;
use crate::view::perpetual::account::Holding;
use ringside_core::command::{MarginMode, Side};
use ringside_core::event::{PerpetualPosition, Posting, PostingReason};
use ringside_core::ids::{AccountId, MarketId};
use ringside_core::money::Money;
use ringside_core::risk::perpetual::isolated;
use ringside_core::risk::perpetual::position::{Position, open_fees};

/// See the module.
pub(super) struct Ledger<'a> {
    views: &'a Perpetuals,
    account: AccountId,
    wallet: Money,
    positions: Vec<PerpetualPosition>,
}

impl<'a> Ledger<'a> {
    /// What the last command found of an account.
    pub(super) fn new(views: &'a Perpetuals, account: AccountId) -> Ledger<'a> {
        let (known, found) = (views.accounts().find(account), views.accounts().found());
        let now = known.map_or(0, |known| known.wallet);
        let holdings = known.iter().flat_map(|known| known.holdings.iter());
        let positions = holdings.map(|Holding { position, .. }| {
            found.position(position.market, account).copied().unwrap_or(*position)
        });
        Ledger {
            views,
            account,
            wallet: found.wallet(account).unwrap_or(now),
            positions: positions.collect(),
        }
    }

    /// Cross wallet.
    pub(super) fn wallet(&self) -> Money {
        self.wallet
    }

    /// Cross and isolated wallets.
    pub(super) fn total(&self) -> Money {
        self.wallet + self.positions.iter().map(isolated_wallet).sum::<Money>()
    }

    /// Takes what the command left of each position's leverage and mode; those that differ, before and after.
    pub(super) fn configured(&mut self) -> Vec<(PerpetualPosition, PerpetualPosition)> {
        let known = self.views.accounts().find(self.account);
        let mut changed = Vec::new();
        for position in &mut self.positions {
            let Some(after) = known.and_then(|known| known.holdings.get(position.market)) else { continue };
            let after = PerpetualPosition {
                leverage: after.position.leverage,
                mode: after.position.mode,
                ..*position
            };
            if after != *position {
                changed.push((*position, after));
                *position = after;
            }
        }
        changed
    }

    /// The position in a market.
    pub(super) fn position(&self, market: MarketId) -> PerpetualPosition {
        self.positions.iter().find(|position| position.market == market).copied().unwrap_or_else(|| {
            let known = self.views.accounts().get(self.account);
            known.holding(market).position
        })
    }

    /// A fill worth `value`.
    pub(super) fn fill(&mut self, market: MarketId, side: Side, value: Money, fill: &Fill) {
        let before = self.position(market);
        let after = self.filled(&before, side, value, fill);
        // The engine carried it out, so it fits; what would not is shown as the command left it.
        let (wallet, position) = after.unwrap_or_else(|| {
            let known = self.views.accounts().get(self.account);
            (known.wallet, known.holding(market).position)
        });
        self.wallet = wallet;
        self.put(position);
    }

    fn filled(
        &self,
        before: &PerpetualPosition,
        side: Side,
        value: Money,
        &Fill { quantity, fee, realised, .. }: &Fill,
    ) -> Option<(Money, PerpetualPosition)> {
        let (mut wallet, mut after) = (self.wallet, *before);
        let held = before.quantity.checked_abs()?;
        let filled = Position { quantity: before.quantity, cost: before.cost }.fill(side, quantity, value)?;
        if before.mode == MarginMode::Isolated as u32 {
            let mut fee_left = fee;
            if filled.closed > 0 {
                let closed =
                    isolated::close(before.isolated_wallet, filled.closed, held, filled.realised, fee)?;
                fee_left = 0;
                after.isolated_wallet = closed.isolated;
                wallet = wallet.checked_add(closed.released)?;
            }
            if filled.opened > 0 {
                let leverage = leverage_in_force(before.leverage, self.views.markets().get(before.market)?);
                let margin = isolated::opening_margin(filled.opened_value, leverage)?;
                wallet = wallet.checked_sub(margin)?;
                after.isolated_wallet = after.isolated_wallet.checked_add(margin)?;
            }
            wallet = wallet.checked_sub(fee_left)?;
        } else {
            wallet = wallet.checked_add(filled.realised)?.checked_sub(fee)?;
        }
        after.open_fees = open_fees(before.open_fees, held, &filled, fee)?;
        after.quantity = filled.position.quantity;
        // What the rest of the position paid for what its isolated wallet lacked.
        let drawn = realised.checked_sub(filled.realised)?;
        after.cost = filled.position.cost.checked_add(drawn)?;
        after.realised = before.realised.checked_add(realised)?;
        Some((wallet, after))
    }

    /// Money that moved outside a fill.
    pub(super) fn post(&mut self, posting: &Posting) {
        let Some(reason) = PostingReason::from_code(posting.reason) else { return };
        let (amount, is_isolated) = (posting.amount, posting.wallet == MarginMode::Isolated as u8);
        match reason {
            PostingReason::Transfer | PostingReason::Adjustment | PostingReason::Treasury => {
                self.wallet += amount;
            }
            PostingReason::FundingFee if is_isolated => self.margin(posting.market, amount),
            PostingReason::FundingFee => self.wallet += amount,
            PostingReason::RealisedProfit => {
                let before = self.position(posting.market);
                self.put(PerpetualPosition {
                    isolated_wallet: before.isolated_wallet + amount,
                    cost: before.cost + amount,
                    realised: before.realised + amount,
                    ..before
                });
            }
            PostingReason::InsuranceClear if is_isolated && self.is_below_zero(posting.market) => {
                self.margin(posting.market, amount);
            }
            // What an isolated wallet lacked for a fill is no loss of the fill already.
            PostingReason::InsuranceClear if is_isolated => {}
            PostingReason::InsuranceClear => self.wallet += amount,
            PostingReason::IsolatedMargin => {
                let amount = if is_isolated { amount } else { -amount };
                self.wallet -= amount;
                self.margin(posting.market, amount);
            }
            PostingReason::FundingResidue
            | PostingReason::Settlement
            | PostingReason::Affiliate
            | PostingReason::TreasuryFees => {}
        }
    }

    /// Whether a payment took the wallet of an isolated position below 0.
    pub(super) fn is_below_zero(&self, market: MarketId) -> bool {
        isolated_wallet(&self.position(market)) < 0
    }

    fn margin(&mut self, market: MarketId, amount: Money) {
        let before = self.position(market);
        self.put(PerpetualPosition { isolated_wallet: before.isolated_wallet + amount, ..before });
    }

    fn put(&mut self, position: PerpetualPosition) {
        match self.positions.iter_mut().find(|known| known.market == position.market) {
            Some(known) => *known = position,
            None => self.positions.push(position),
        }
    }

    /// Whether it has come to where the command left the account. Tests ask.
    pub(super) fn is_settled(&self) -> bool {
        let known = self.views.accounts().get(self.account);
        self.wallet == known.wallet
            && self.positions.iter().all(|position| *position == known.holding(position.market).position)
    }
}

/// Wallet of an isolated position, 0 of a cross one.
pub(super) fn isolated_wallet(position: &PerpetualPosition) -> Money {
    if position.mode == MarginMode::Isolated as u32 { position.isolated_wallet } else { 0 }
}
