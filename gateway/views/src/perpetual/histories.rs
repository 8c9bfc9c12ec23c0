//! The histories of the perpetual side that are logs and no more: a line of the table is all that one needs beside its row.

use super::super::codec::{LoadError, Reader, Writer};
use super::super::kept::Stored;
use super::super::log::{Added, Adding, Archived, FacetOf, List, Log, Retention, Row, facet_of};
use super::interest::InterestRecord;
use super::rows::{
    AmendRecord, FillRecord, FundingRecord, IncomeRecord, MarginRecord, MarketTrade, PreventedRecord,
    TransferRecord,
};
use crate::Views;
use ringside_core::ids::Sequence;

/// Name, row, list, and which part of a snapshot it stands in. Append.
macro_rules! histories {
    ($($(#[$doc:meta])* $name:ident: $row:ident as $list:ident in $part:literal;)*) => {
        #[derive(Clone, Debug)]
        pub(super) struct Histories {
            $($(#[$doc])* pub(super) $name: Log<$row>,)*
        }

        impl Histories {
            pub(super) fn new(keep: Retention) -> Histories {
                Histories { $($name: Log::new(keep),)* }
            }

            pub(super) fn forget(&mut self, archived: Sequence) {
                $(self.$name.forget(archived);)*
            }

            /// Rows of this command and before are in memory no longer, or not all of them.
            pub(super) fn archived_through(&self) -> Sequence {
                [$(self.$name.archived_through()),*].into_iter().fold(0, Sequence::max)
            }

            /// Gives all rows.
            pub(super) fn take<F: FnMut(Added<'_>)>(&self, adding: &mut Adding<F>) {
                $(adding.all(&self.$name, List::$list);)*
            }

            /// Appends a part.
            pub(super) fn save(&self, part: u8, writer: &mut Writer<'_>) {
                $(if part == $part {
                    self.$name.save(writer);
                })*
            }

            /// Takes a part over, as far as the bytes have its lists.
            pub(super) fn load(&mut self, part: u8, reader: &mut Reader<'_>, keep: Retention) -> Result<(), LoadError> {
                $(if part == $part && reader.has(<$row as Stored>::KEPT) {
                    self.$name = Log::load(reader, keep)?;
                })*
                Ok(())
            }
        }

        impl super::Perpetuals {
            $($(#[$doc])*
            pub fn $name(&self) -> &Log<$row> {
                &self.histories.$name
            })*
        }

        $(impl Archived for $row {
            const LIST: List = List::$list;

            fn log(views: &Views) -> &Log<$row> {
                views.perpetuals().$name()
            }
        })*

        /// What rows of one of the lists are filtered by, by its number.
        pub(crate) fn facets_of(number: u16) -> Option<FacetOf> {
            $(if number == List::$list as u16 && <$row as Row>::HAS_FACETS {
                return Some(facet_of::<$row>);
            })*
            None
        }
    };
}

histories! {
    /// Fills, maker and taker halves alike.
    fills: FillRecord as Fills in 0;
    /// Income.
    income: IncomeRecord as Income in 0;
    /// Modifications.
    amendments: AmendRecord as Amendments in 0;
    /// Margin moved by request.
    margins: MarginRecord as MarginChanges in 0;
    /// Meetings that were prevented.
    prevented: PreventedRecord as Prevented in 0;
    /// Public trades.
    trades: MarketTrade as Trades in 0;
    /// Funding rates that were settled.
    fundings: FundingRecord as Fundings in 0;
    /// Transfers between the ledgers.
    transfers: TransferRecord as Transfers in 1;
    /// Open interest, sampled.
    interests: InterestRecord as Interest in 2;
}
