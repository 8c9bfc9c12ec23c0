//! Records that count, to be given away many at a time: another thread works them off while the reader goes on.

use crate::format::record::{self, Record};
use crate::storage::ahead::Lent;
use ringside_core::ids::Sequence;
use ringside_core::prefetch::prefetch;
use std::ops::Range;

/// How many bytes ahead records are asked for from memory that another thread's processor may have near.
const SOON: usize = 2 << 10;

/// Records that count, one after the other, in the memory that they were read into.
pub struct Checked {
    pub(super) memory: Lent,
    /// Where in it they lie.
    pub(super) range: Range<usize>,
    pub(super) before: Sequence,
    pub(super) last: Sequence,
}

impl Checked {
    /// The last command before them.
    pub fn before(&self) -> Sequence {
        self.before
    }

    /// The last command up to their end.
    pub fn last(&self) -> Sequence {
        self.last
    }

    /// The records of commands among them.
    #[inline]
    pub fn commands(&self) -> impl Iterator<Item = Record<'_>> {
        let mut rest = &self.memory[self.range.clone()];
        std::iter::from_fn(move || {
            loop {
                let record = Record::trusted(rest)?;
                // Where a record starts is known only when the one before it has come: nobody else asks for it sooner.
                if let Some(soon) = rest.get(SOON..SOON + record.bytes.len()) {
                    soon.chunks(record::HEADER_LEN).for_each(prefetch);
                }
                rest = &rest[record.bytes.len()..];
                if !matches!(record.header.kind, record::PAD | record::SEAL | record::SIDE) {
                    return Some(record);
                }
            }
        })
    }
}
