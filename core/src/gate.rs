//! How far the journal has come: what outputs may leave, and what was told of them.
//!
//! The journaller alone publishes; egress and the archiver read. What it told egress sums up here, for the journal to carry. Lives in one process. Does not hold anything back
//! itself: whoever sends compares with [`Gate::released`].

use crate::ids::Sequence;
use crate::ring::Doorbell;
use crate::ring::sync::{AtomicU32, AtomicU64, Ordering};
use crate::sums::EventSum;
use crossbeam::atomic::AtomicCell;
use crossbeam::utils::CachePadded;

/// What the journal must have done with a command before anything about it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum GateMode {
    /// Stored in the mapped page: survives the death of the process.
    Written,
    /// Synced: survives the loss of power.
    #[default]
    Durable,
}

/// The journal's progress. Share it in an `Arc`.
#[derive(Debug)]
pub struct Gate {
    written: CachePadded<AtomicU64>,
    durable: CachePadded<AtomicU64>,
    /// Not 0: nothing more will pass.
    halted: AtomicU32,
    doorbell: Doorbell,
    told: AtomicCell<EventSum>,
}

impl Gate {
    /// A gate that has passed everything up to and including `sequence`: the last one that recovery found, or 0.
    pub fn new(sequence: Sequence) -> Gate {
        Gate {
            written: CachePadded::new(AtomicU64::new(sequence)),
            durable: CachePadded::new(AtomicU64::new(sequence)),
            halted: AtomicU32::new(0),
            doorbell: Doorbell::new(),
            told: AtomicCell::new(EventSum::default()),
        }
    }

    /// The journaller has stored everything up to `sequence`.
    pub fn publish_written(&self, sequence: Sequence) {
        debug_assert!(sequence >= self.written());
        // Release: partner of the Acquire in `written`.
        self.written.store(sequence, Ordering::Release);
        self.doorbell.ring();
    }

    /// Everything up to `sequence` is synced; in a cluster, agreed on. It was published as written before.
    pub fn publish_durable(&self, sequence: Sequence) {
        debug_assert!(sequence >= self.durable() && sequence <= self.written());
        // Release: partner of the Acquire in `durable`.
        self.durable.store(sequence, Ordering::Release);
        self.doorbell.ring();
    }

    /// Last sequence stored.
    #[inline]
    pub fn written(&self) -> Sequence {
        // Acquire: partner of the Release in `publish_written`.
        self.written.load(Ordering::Acquire)
    }

    /// Last sequence synced.
    #[inline]
    pub fn durable(&self) -> Sequence {
        // Acquire: partner of the Release in `publish_durable`.
        self.durable.load(Ordering::Acquire)
    }

    /// Last sequence whose outputs may leave.
    #[inline]
    pub fn released(&self, mode: GateMode) -> Sequence {
        match mode {
            GateMode::Written => self.written(),
            GateMode::Durable => self.durable(),
        }
    }

    /// The journal has failed or ended: nothing more will pass, ever.
    pub fn halt(&self) {
        // Release: partner of the Acquire in `is_halted`; what passed before the halt is seen with it.
        self.halted.store(1, Ordering::Release);
        self.doorbell.ring();
    }

    /// Whether the journal has failed or ended.
    pub fn is_halted(&self) -> bool {
        // Acquire: partner of the Release in `halt`.
        self.halted.load(Ordering::Acquire) != 0
    }

    /// Everything that `sum` counts has left.
    pub fn tell(&self, sum: EventSum) {
        debug_assert!(sum.through <= self.written());
        self.told.store(sum);
    }

    /// The sum of what has left; as new where nobody counts.
    pub fn told(&self) -> EventSum {
        self.told.load()
    }

    /// Rings at every change but of what was told.
    pub fn doorbell(&self) -> &Doorbell {
        &self.doorbell
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mode_releases_its_own_sequence() {
        let gate = Gate::new(7);
        assert_eq!((gate.released(GateMode::Written), gate.released(GateMode::Durable)), (7, 7));
        gate.publish_written(12);
        gate.publish_durable(9);
        assert_eq!((gate.released(GateMode::Written), gate.released(GateMode::Durable)), (12, 9));
        assert!(!gate.is_halted());
        gate.halt();
        assert!(gate.is_halted());
        assert_eq!(gate.released(GateMode::Durable), 9, "a halt releases nothing");
    }
}
