//! Money that leaves the perpetual ledger for the chain, and comes back from there: what withdrawals ask of it.

use super::super::Engine;
use super::{TRANSFER_MAX, in_range};
use crate::command::{MarginMode, TreasuryPlace};
use crate::emit::Emitter;
use crate::event::{PostingReason, Sink};
use crate::ids::{ALL_MARKETS, AccountId, AssetId, FEE_ACCOUNT};
use crate::money::Money;
use crate::reject::Reject;

impl Engine {
    /// The margin asset, once there is one.
    pub(in crate::engine) fn margin_asset(&self) -> Option<AssetId> {
        self.perpetual.as_ref()?.state.margin_asset
    }

    /// Whether the insurance pool is flagged.
    pub(in crate::engine) fn is_in_deficit(&self) -> bool {
        self.perpetual.as_ref().is_some_and(|perpetual| perpetual.state.ledger.deficit)
    }

    /// Whether an account can take `amount` out of its wallet.
    pub(in crate::engine) fn can_withdraw(&self, account: AccountId, amount: Money) -> bool {
        let Some(perpetual) = &self.perpetual else { return false };
        (1..=TRANSFER_MAX).contains(&amount)
            && perpetual.state.withdrawable(account).is_some_and(|free| amount <= free)
            && perpetual
                .state
                .ledger
                .net_deposits
                .checked_sub(amount)
                .is_some_and(|rest| rest >= -4 * TRANSFER_MAX)
    }

    /// Moves money between wallets and the outside: above 0 to the wallet. What leaves was found to be there, and what
    /// comes had left before. The first events of the command.
    pub(in crate::engine) fn move_deposits<S: Sink>(
        &mut self,
        moves: &[(AccountId, Money)],
        emitter: &mut Emitter<'_, S>,
    ) {
        if moves.is_empty() {
            return;
        }
        let mut perpetual = self.take_perpetual(emitter);
        let state = &mut perpetual.state;
        for &(account, amount) in moves {
            state.settle_first(account);
            state.deposit(account, amount, PostingReason::Transfer);
        }
        self.give_perpetual(perpetual, true, emitter);
    }

    /// Whether the fund and the fees can give and take `amount`, at the ends of a move that are theirs.
    pub(in crate::engine) fn judge_pools(
        &self,
        from: Option<TreasuryPlace>,
        to: Option<TreasuryPlace>,
        amount: Money,
    ) -> Result<(), Reject> {
        let state = &self.perpetual.as_ref().ok_or(Reject::MarketNotFound)?.state;
        let ledger = &state.ledger;
        // Between two pools the deposits stay what they are.
        let deposits = i64::from(to.is_some()) - i64::from(from.is_some());
        let receives = |place| match place {
            TreasuryPlace::Fund => in_range(state.wallet(FEE_ACCOUNT), amount),
            _ => in_range(ledger.fees, amount),
        };
        let is_sound = amount <= TRANSFER_MAX
            && in_range(ledger.net_deposits, deposits * amount)
            && to.is_none_or(receives);
        if !is_sound {
            return Err(Reject::InvalidAmount);
        }
        match from {
            Some(TreasuryPlace::Fund) if ledger.deficit => Err(Reject::WithdrawalsPaused),
            Some(TreasuryPlace::Fund) if amount > state.fund_withdrawable() => Err(Reject::CrossInsufficient),
            Some(TreasuryPlace::PerpetualFees) if amount > ledger.fees => Err(Reject::CrossInsufficient),
            _ => Ok(()),
        }
    }

    /// Moves money into the fund and the fees, or out of them where it is below 0. What leaves was found to be there. The first
    /// events of the command.
    pub(in crate::engine) fn move_pools<S: Sink>(
        &mut self,
        moves: &[(TreasuryPlace, Money)],
        emitter: &mut Emitter<'_, S>,
    ) {
        if moves.is_empty() {
            return;
        }
        let mut perpetual = self.take_perpetual(emitter);
        let state = &mut perpetual.state;
        for &(place, amount) in moves {
            match place {
                TreasuryPlace::Fund => {
                    state.peak.shift(amount);
                    state.deposit(FEE_ACCOUNT, amount, PostingReason::Treasury);
                }
                _ => {
                    state.ledger.fees += amount;
                    state.ledger.net_deposits += amount;
                    let reason = PostingReason::TreasuryFees;
                    state.post(FEE_ACCOUNT, ALL_MARKETS, amount, reason, MarginMode::Cross);
                }
            }
        }
        self.give_perpetual(perpetual, true, emitter);
    }
}
