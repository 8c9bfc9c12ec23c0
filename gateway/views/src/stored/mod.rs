//! How rows lie on disk, in the archive and in snapshots of the views: layouts of their own, none of them a type of the engine, for
//! each version of each list of [`super::kept`].
//!
//! A row of ours and its layouts are in one file; those of the engine's events are in [`events`].
//!
//! **To append a field to rows of one length**: give the row the field. Below it, name behind `lacks` of the first layout what rows of
//! before stand for, add a layout `after` the newest one, and name it in `stored!`. In [`super::kept`] add the length of the new row.
//! **To a list that writes itself**: raise its version there, write the field, and read it where [`super::codec::Reader::version`] says
//! that it is there. In either case golden files are added: `gateway/tests/views/stored.rs` says how.

pub(crate) mod events;

use super::kept::Kept;
use ringside_core::money::RawAmount;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// How a row, or a field of one, lies in one version: little-endian, without holes.
pub(crate) trait Layout: FromBytes + IntoBytes + Immutable + KnownLayout + Copy {
    /// What it is in memory.
    type Row;

    /// As it is written.
    fn of(row: &Self::Row) -> Self;

    /// As it is read.
    fn row(self) -> Self::Row;

    /// Appends a line for each number or text in it: offset, length, name.
    fn describe(name: &str, at: usize, lines: &mut String) {
        lines.push_str(&format!("{at} {} {name}\n", size_of::<Self>()));
    }
}

macro_rules! plain {
    ($($plain:ty),*) => {
        $(impl Layout for $plain {
            type Row = $plain;

            fn of(row: &$plain) -> $plain {
                *row
            }

            fn row(self) -> $plain {
                self
            }
        })*
    };
}

plain!(u8, u16, u32, u64, i64);

impl<const N: usize> Layout for [u8; N] {
    type Row = [u8; N];

    fn of(row: &[u8; N]) -> [u8; N] {
        *row
    }

    fn row(self) -> [u8; N] {
        self
    }
}

/// An amount of 128 bits, low half first.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Wide {
    low: u64,
    high: u64,
}

impl Layout for Wide {
    type Row = RawAmount;

    fn of(row: &RawAmount) -> Wide {
        let amount = row.get();
        Wide { low: amount as u64, high: (amount >> 64) as u64 }
    }

    fn row(self) -> RawAmount {
        RawAmount::new(i128::from(self.high as i64) << 64 | i128::from(self.low))
    }
}

/// A sum of 128 bits, low half first.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub(crate) struct Sum(Wide);

impl Layout for Sum {
    type Row = i128;

    fn of(row: &i128) -> Sum {
        Sum(Wide::of(&RawAmount::new(*row)))
    }

    fn row(self) -> i128 {
        self.0.row().get()
    }
}

/// Layouts, field by field by the names of the rows in memory. `lacks`: what rows of this version stand for in fields that came
/// later. `after`: the fields of a version before it come first.
macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident of $row:path $(, after $before:ident)? {
        $($field:ident: $ty:ty),* $(,)?
        $(; lacks $($later:ident: $value:expr),+)?
    })*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout)]
        #[repr(C)]
        pub(crate) struct $name {
            $(before: $before,)?
            $($field: $ty,)*
        }

        impl $crate::stored::Layout for $name {
            type Row = $row;

            fn of(row: &$row) -> $name {
                $name {
                    $(before: <$before as $crate::stored::Layout>::of(row),)?
                    $($field: <$ty as $crate::stored::Layout>::of(&row.$field),)*
                }
            }

            fn row(self) -> $row {
                $row {
                    $($field: $crate::stored::Layout::row(self.$field),)*
                    $($($later: $value,)+)?
                    $(..<$before as $crate::stored::Layout>::row(self.before))?
                }
            }

            fn describe(name: &str, at: usize, lines: &mut String) {
                $(<$before as $crate::stored::Layout>::describe(name, at, lines);)?
                let name = |field: &str| if name.is_empty() { field.to_owned() } else { format!("{name}.{field}") };
                $(<$ty as $crate::stored::Layout>::describe(
                    &name(stringify!($field)), at + std::mem::offset_of!($name, $field), lines);)*
            }
        })*
    };
}
pub(crate) use layouts;

/// Rows with all layouts that they ever had, the newest last.
macro_rules! stored {
    ($($row:path as $kept:ident: $($layout:ty),+;)*) => {
        $(impl $crate::kept::Stored for $row {
            const KEPT: $crate::kept::Kept = $crate::kept::Kept::$kept;

            fn write_as(&self, version: u16, bytes: &mut Vec<u8>) {
                const WRITE: &[fn(&$row, &mut Vec<u8>)] = &[$($crate::stored::write::<$layout, _>),+];
                WRITE[usize::from(version) - 1](self, bytes);
            }

            fn read_as(version: u16, bytes: &[u8]) -> Option<$row> {
                const READ: &[fn(&[u8]) -> Option<$row>] = &[$($crate::stored::read::<$layout, _>),+];
                READ.get(usize::from(version).checked_sub(1)?)?(bytes)
            }

            fn describe(version: u16) -> String {
                const DESCRIBE: &[fn(&str, usize, &mut String)] =
                    &[$(<$layout as $crate::stored::Layout>::describe),+];
                let mut lines = String::new();
                DESCRIBE[usize::from(version) - 1]("", 0, &mut lines);
                lines
            }
        }

        const _: () = $crate::stored::check($crate::kept::Kept::$kept, &[$(size_of::<$layout>()),+]);)*
    };
}
pub(crate) use stored;

/// That the table says of rows how long they are.
pub(crate) const fn check(kept: Kept, lens: &[usize]) {
    let known = kept.lens();
    assert!(known.len() == lens.len(), "each version has a length in the table");
    let mut version = 0;
    while version < lens.len() {
        assert!(known[version] == lens[version], "the table says another length");
        version += 1;
    }
}

/// A row is what its layout is of, or is made into it.
pub(crate) fn write<L: Layout, T: Copy + Into<L::Row>>(row: &T, bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(L::of(&(*row).into()).as_bytes());
}

pub(crate) fn read<L: Layout<Row: TryInto<T>>, T>(bytes: &[u8]) -> Option<T> {
    L::read_from_bytes(bytes).ok()?.row().try_into().ok()
}
