//! What was credited out of nothing, as test deployments may: nothing of it ever came into a vault, so a proof of reserves counts it
//! apart (`spot.md` 10.1). A count of its own, made of the credits alone, so that a credit that nobody ordered is not taken for one.

use super::balance::BalanceView;
use super::codec::{LoadError, Reader, Writer};
use super::deposit::DepositView;
use super::perpetual::Perpetuals;
use super::withdrawal::WithdrawalView;
use ringside_core::command::{Ledger, WithdrawalStatus};
use ringside_core::event::{Credited, Posting, PostingReason};
use ringside_core::ids::AssetId;
use ringside_core::money::{AMOUNT_PER_MICRO, Amount};
use std::collections::BTreeMap;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnbackedView {
    /// To spot balances.
    spot: BTreeMap<AssetId, Amount>,
    /// To perpetual wallets, which are all of the margin asset.
    perpetual: Amount,
}

impl UnbackedView {
    /// What was credited of an asset, on both ledgers where it is the margin asset.
    pub fn of(&self, asset: AssetId, is_margin: bool) -> Amount {
        self.spot.get(&asset).copied().unwrap_or(0) + if is_margin { self.perpetual } else { 0 }
    }

    pub(super) fn credited(&mut self, told: &Credited) {
        *self.spot.entry(told.asset).or_default() += told.amount.get();
    }

    pub(super) fn posted(&mut self, posting: &Posting) {
        if posting.reason == PostingReason::Adjustment as u8 {
            self.perpetual += Amount::from(posting.amount) * AMOUNT_PER_MICRO;
        }
    }

    /// For views that were saved without the count: what there is and did not come in by deposits. The ledger equation held then, and
    /// what came in and went out is all remembered.
    pub(super) fn of_rest(
        balances: &BalanceView,
        perpetuals: &Perpetuals,
        withdrawals: &WithdrawalView,
        deposits: &DepositView,
    ) -> UnbackedView {
        let mut view = UnbackedView { spot: balances.sums(), perpetual: 0 };
        let transferred = Amount::from(perpetuals.pools().deposits) * AMOUNT_PER_MICRO;
        view.perpetual = transferred + withdrawals.on_their_way().0;
        for record in withdrawals.iter().filter(|record| record.status == WithdrawalStatus::Confirmed) {
            match record.ledger {
                Ledger::Spot => *view.spot.entry(record.asset).or_default() += record.amount,
                Ledger::Perpetual => view.perpetual += record.amount,
            }
        }
        for record in deposits.iter() {
            if let Some(asset) = record.asset {
                *view.spot.entry(asset).or_default() -= record.amount;
            }
        }
        view.spot.retain(|_, amount| *amount != 0);
        view
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.spot.len());
        for (asset, amount) in &self.spot {
            writer.u64((*asset).into());
            writer.i128(*amount);
        }
        writer.i128(self.perpetual);
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<UnbackedView, LoadError> {
        let mut view = UnbackedView::default();
        for _ in 0..reader.count()? {
            let asset = reader.uint("asset")?;
            view.spot.insert(asset, reader.i128()?);
        }
        view.perpetual = reader.i128()?;
        Ok(view)
    }
}
