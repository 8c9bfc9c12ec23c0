//! What administrators did to balances, in order, kept for good.

use super::chunked::Chunked;
use super::codec::{LoadError, Reader, Writer};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, AssetId, Sequence};
use ringside_core::money::Amount;

/// One credit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CreditRecord {
    /// The command that did it.
    pub sequence: Sequence,
    /// When, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// How much.
    pub amount: Amount,
    /// Whose.
    pub account: AccountId,
    /// Of what.
    pub asset: AssetId,
    /// Audit note, padded with zeros.
    pub reason: [u8; 64],
}

/// All credits, oldest first.
#[derive(Clone, Debug, Default)]
pub struct AuditView {
    credits: Chunked<CreditRecord>,
}

impl AuditView {
    pub(super) fn credited(&mut self, event: &Event, credited: &event::Credited) {
        self.credits.push(CreditRecord {
            sequence: event.sequence,
            time_ns: event.time_ns,
            amount: credited.amount.get(),
            account: credited.account,
            asset: credited.asset,
            reason: credited.reason,
        });
    }

    /// The credits, oldest first.
    pub fn credits(&self) -> impl DoubleEndedIterator<Item = &CreditRecord> {
        self.credits.iter()
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.credits.len());
        for credit in self.credits.iter() {
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
            view.credits.push(CreditRecord {
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
