//! Money that leaves the perpetual ledger for the chain, and comes back from there: what withdrawals ask of it.

use super::super::Engine;
use super::super::emit::Emitter;
use super::TRANSFER_MAX;
use crate::event::{PostingReason, Sink};
use crate::ids::{AccountId, AssetId};
use crate::money::Money;

impl Engine {
    /// The margin asset, once there is one.
    pub(in crate::engine) fn margin_asset(&self) -> Option<AssetId> {
        self.perpetual.as_ref()?.state.margin_asset
    }

    /// Whether the insurance pool is flagged.
    pub(in crate::engine) fn is_in_deficit(&self) -> bool {
        self.perpetual.as_ref().is_some_and(|perpetual| perpetual.state.pools.deficit)
    }

    /// Whether an account can take `amount` out of its wallet.
    pub(in crate::engine) fn can_withdraw(&self, account: AccountId, amount: Money) -> bool {
        let Some(perpetual) = &self.perpetual else { return false };
        (1..=TRANSFER_MAX).contains(&amount)
            && perpetual.state.withdrawable(account).is_some_and(|free| amount <= free)
            && perpetual
                .state
                .pools
                .deposits
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
            state.deposit(account, amount, PostingReason::Transfer);
        }
        self.give_perpetual(perpetual, true, emitter);
    }
}
