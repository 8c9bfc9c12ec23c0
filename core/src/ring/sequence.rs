//! Lines of the mapping that hold sequences and signals, each alone on its cache lines.

use crate::ring::sync::{AtomicU32, AtomicU64};
use crate::ring::wait::Bell;
use crossbeam::utils::CachePadded;

pub use crate::ids::Sequence;

/// Sequences stay below this, so that a stamp can hold them and no sum overflows.
pub const SEQUENCE_MAX: Sequence = 1 << 55;

/// Facts of the ring, written once before anybody joins. A joiner copies and checks them and never looks again.
#[repr(C)]
pub(super) struct Facts {
    pub(super) magic: AtomicU64,
    pub(super) version: AtomicU64,
    /// Bytes of the whole mapping.
    pub(super) len: AtomicU64,
    pub(super) capacity: AtomicU64,
    /// Bytes of a payload.
    pub(super) slot_len: AtomicU64,
    /// Bytes from slot to slot.
    pub(super) stride: AtomicU64,
    pub(super) consumers: AtomicU64,
    /// Sequence of the first slot published.
    pub(super) start: AtomicU64,
}

/// What both sides read often and write rarely.
#[repr(C)]
pub(super) struct Signals {
    /// Rung when slots were published or the ring halted; consumers listen.
    pub(super) filled: Bell,
    /// Not 0: the ring is over. Never falls back.
    pub(super) halted: AtomicU32,
    /// Not 0: somebody took the producer's part.
    pub(super) producer_taken: AtomicU32,
}

/// The head of the mapping; consumer lines follow, then slots.
#[repr(C)]
pub(super) struct Header {
    pub(super) facts: CachePadded<Facts>,
    pub(super) signals: CachePadded<Signals>,
    /// Rung when slots were given back or the ring halted; a producer without room listens.
    pub(super) freed: CachePadded<Bell>,
}

/// One consumer's line, written by that consumer alone.
#[repr(C)]
pub(super) struct Gate {
    /// First sequence that the consumer still needs.
    pub(super) gating: AtomicU64,
    /// Not 0: somebody took this consumer's part.
    pub(super) taken: AtomicU32,
}

/// A consumer's line, padded.
pub(super) type Line = CachePadded<Gate>;

impl Header {
    /// As a mapping of zeros would read.
    pub(super) fn new() -> Header {
        Header {
            facts: CachePadded::new(Facts {
                magic: AtomicU64::new(0),
                version: AtomicU64::new(0),
                len: AtomicU64::new(0),
                capacity: AtomicU64::new(0),
                slot_len: AtomicU64::new(0),
                stride: AtomicU64::new(0),
                consumers: AtomicU64::new(0),
                start: AtomicU64::new(0),
            }),
            signals: CachePadded::new(Signals {
                filled: Bell::new(),
                halted: AtomicU32::new(0),
                producer_taken: AtomicU32::new(0),
            }),
            freed: CachePadded::new(Bell::new()),
        }
    }
}

impl Gate {
    /// As a mapping of zeros would read.
    pub(super) fn new_line() -> Line {
        CachePadded::new(Gate { gating: AtomicU64::new(0), taken: AtomicU32::new(0) })
    }
}

/// What a slot says of itself: the sequence of its payload plus one, so that zeros say nothing, and how many further
/// slots became visible in the same step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp(pub(super) u64);

/// Most slots of one step, and of what a stamp can say.
pub(super) const STEP_MAX: u64 = 1 << 8;
const SEQUENCE_BITS: u32 = 56;

impl Stamp {
    /// Of a slot that never held a payload.
    pub(super) const NONE: Stamp = Stamp(0);

    /// For the slot of `sequence`, when it and the `count - 1` slots after it become visible; `count` from 1 to
    /// [`STEP_MAX`].
    #[inline(always)]
    pub(super) fn new(sequence: Sequence, count: u64) -> Stamp {
        debug_assert!(sequence < SEQUENCE_MAX && (1..=STEP_MAX).contains(&count));
        Stamp(sequence.wrapping_add(1) | count.wrapping_sub(1) << SEQUENCE_BITS)
    }

    /// Whether it is a stamp of this sequence.
    #[inline(always)]
    pub(super) fn is_of(self, sequence: Sequence) -> bool {
        self.0 & ((1 << SEQUENCE_BITS) - 1) == sequence.wrapping_add(1)
    }

    /// Slots that became visible with it, itself included.
    #[inline(always)]
    pub(super) fn count(self) -> u64 {
        (self.0 >> SEQUENCE_BITS) + 1
    }
}
