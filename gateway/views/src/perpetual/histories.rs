//! What the table of lists ([`crate::kept`]) says of histories: a log for each of the perpetual side that is no more than that, and
//! what is done with all of them.

use super::super::codec::{LoadError, Reader, Writer};
use super::super::kept::{List, Stored, table};
use super::super::log::{Added, Adding, Archived, FacetOf, Log, Retention, Row, facet_of};
use super::Perpetuals;
use crate::Views;
use ringside_core::event::{Event, Kind};
use ringside_core::ids::Sequence;

macro_rules! histories {
    ($($kept:ident $name:literal since $since:literal, $(by hand $newest:literal)? $(rows of $($len:literal),+)? $(=>
        $(log $log:ident = $log_number:literal of $($log_row:ident)::+ as $field:ident in $part:literal $(from $from:ident)?)?
        $(list $list:ident = $list_number:literal of $($list_row:ident)::+ at $($at:ident).+
            $(same $same:ident = $same_number:literal of $($same_row:ident)::+ at $($same_at:ident).+)?)*
    )?;)*) => {
        #[derive(Clone, Debug)]
        pub(super) struct Histories {
            $($($(pub(super) $field: Log<crate::$($log_row)::+>,)?)?)*
        }

        impl Histories {
            pub(super) fn new(keep: Retention) -> Histories {
                Histories { $($($($field: Log::new(keep),)?)?)* }
            }

            /// Adds the rows that an event makes.
            pub(super) fn fold(&mut self, kind: Kind, event: &Event) {
                $($($($(if kind == Kind::$from {
                    self.$field.told(event);
                })?)?)?)*
            }

            /// Appends those of a part of a snapshot.
            pub(super) fn save(&self, part: u8, writer: &mut Writer<'_>) {
                $($($(if part == $part {
                    self.$field.save(writer);
                })?)?)*
            }

            /// Takes a part over, as far as the bytes have its lists.
            pub(super) fn load(&mut self, part: u8, reader: &mut Reader<'_>, keep: Retention) -> Result<(), LoadError> {
                $($($(if part == $part && reader.has(<crate::$($log_row)::+ as Stored>::KEPT) {
                    self.$field = Log::load(reader, keep)?;
                })?)?)*
                Ok(())
            }
        }

        impl Perpetuals {
            $($($(#[doc = $name]
            pub fn $field(&self) -> &Log<crate::$($log_row)::+> {
                &self.histories.$field
            })?)?)*
        }

        every! {
            $($($($log: crate::$($log_row)::+ as at perpetuals.histories.$field;)?)?)*
            $($($($list: crate::$($list_row)::+ as at $($at).+;)*)?)*
            ;
            $($($($($same: crate::$($same_row)::+ as at $($same_at).+;)?)*)?)*
        }
    };
}

macro_rules! every {
    ($($list:ident: $row:path as at $($at:ident).+;)*; $($same:ident: $same_row:path as at $($same_at:ident).+;)*) => {
        $(impl Archived for $row {
            const LIST: List = List::$list;

            fn log(views: &Views) -> &Log<$row> {
                &views.$($at).+
            }
        })*

        impl Views {
            /// Everything of `archived` and before can be read elsewhere.
            pub(crate) fn forget_rows(&mut self, archived: Sequence) {
                $(self.$($at).+.forget(archived);)*
                $(self.$($same_at).+.forget(archived);)*
            }

            /// Rows of this command and before are in memory no longer, or not all of them.
            pub fn archived_through(&self) -> Sequence {
                let every = [$(self.$($at).+.archived_through(),)* $(self.$($same_at).+.archived_through(),)*];
                every.into_iter().fold(0, Sequence::max)
            }

            /// Gives the rows that the running command added, where none are kept.
            pub(crate) fn take_rows<F: FnMut(Added<'_>)>(&self, adding: &mut Adding<F>) {
                $(adding.all(&self.$($at).+, List::$list);)*
                $(adding.all(&self.$($same_at).+, List::$same);)*
            }
        }

        /// Whether rows of a list may come after others of a larger id, by its number.
        pub(crate) fn is_late(number: u16) -> bool {
            $((number == List::$list as u16 && <$row as Row>::IS_LATE) ||)*
            $((number == List::$same as u16 && <$same_row as Row>::IS_LATE) ||)*
            false
        }

        /// What rows of a list are filtered by, by its number.
        pub fn facets_of(number: u16) -> Option<FacetOf> {
            $(if number == List::$list as u16 && <$row as Row>::HAS_FACETS {
                return Some(facet_of::<$row>);
            })*
            $(if number == List::$same as u16 && <$same_row as Row>::HAS_FACETS {
                return Some(facet_of::<$same_row>);
            })*
            None
        }
    };
}

table!(histories);
