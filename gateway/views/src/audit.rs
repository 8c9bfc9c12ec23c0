//! What administrators did to balances, in order, until the archive has it.

use super::codec::{LoadError, Reader, Writer};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, AssetId, Sequence};
use ringside_core::money::Amount;
use std::collections::VecDeque;

/// One credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditRecord {
    /// The command that did it.
    pub sequence: Sequence,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// How much.
    pub amount: Amount,
    /// Account id.
    pub account: AccountId,
    /// Of what.
    pub asset: AssetId,
    /// Audit note, padded with zeros.
    pub reason: [u8; 64],
}

/// Credits that are not known to be archived, oldest first.
#[derive(Clone, Debug, Default)]
pub struct AuditView {
    credits: VecDeque<CreditRecord>,
}

impl AuditView {
    pub(super) fn credited(&mut self, event: &Event, credited: &event::Credited) {
        self.credits.push_back(CreditRecord {
            sequence: event.sequence,
            time_ns: event.time_ns,
            amount: credited.amount.get(),
            account: credited.account,
            asset: credited.asset,
            reason: credited.reason,
        });
    }

    /// Lets go of the credits of `archived` and before.
    pub(super) fn forget(&mut self, archived: Sequence) {
        while self.credits.front().is_some_and(|credit| credit.sequence <= archived) {
            self.credits.pop_front();
        }
    }

    /// The credits, oldest first.
    pub fn credits(&self) -> impl DoubleEndedIterator<Item = &CreditRecord> {
        self.credits.iter()
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.credits.len());
        for credit in &self.credits {
            writer.u64(credit.sequence);
            writer.i64(credit.time_ns);
            writer.i128(credit.amount);
            writer.u64(credit.account.into());
            writer.u64(credit.asset.into());
            writer.fixed(&credit.reason);
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<AuditView, LoadError> {
        let mut view = AuditView::default();
        for _ in 0..reader.count()? {
            view.credits.push_back(CreditRecord {
                sequence: reader.u64()?,
                time_ns: reader.i64()?,
                amount: reader.i128()?,
                account: reader.uint("account")?,
                asset: reader.uint("asset")?,
                reason: reader.fixed()?,
            });
        }
        Ok(view)
    }
}
