//! Who is told what became of commands and batches. Alone that is the gate; with a mirror, who gives it the batches and moves
//! the gate by the lesser of both; in a cluster, who proposes them and moves it by what is agreed on.

use crate::format::segment::SegmentHeader;
use crate::quorum::members::Members;
use crate::read::replay::Place;
use crate::write::status::Position;
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
use ringside_core::sums::EventSum;
use std::sync::mpsc::SyncSender;

/// A batch, and where it stands.
pub(crate) struct Placed<'a> {
    /// Of the segment it stands in.
    pub(crate) header: &'a SegmentHeader,
    /// Its first byte in the segment; everything before was told of.
    pub(crate) start: u64,
    /// All of its bytes; `None` where parts of it left earlier, so that only the file has them.
    pub(crate) bytes: Option<&'a [u8]>,
    /// Where it ends, and what goes on from there.
    pub(crate) end: Place,
    /// The members that a change in it leads to.
    pub(crate) members: Option<&'a Members>,
}

impl Placed<'_> {
    /// Where the next batch begins.
    pub(crate) fn position(&self) -> Position {
        Position { segment: self.header.number, offset: self.end.offset }
    }

    /// The last command up to there.
    pub(crate) fn last(&self) -> Sequence {
        self.end.last.sequence
    }
}

/// Told in the order of the journal; that a batch is begun and that one is durable may be told at the same time.
pub(crate) trait Settled: Send + Sync {
    /// Everything up to `sequence` is stored.
    fn stored(&self, sequence: Sequence);
    /// The next batch is about to be written, which may fail: others may have it before this disk does.
    fn begun(&self, _batch: &Placed<'_>) {}
    /// The next batch is durable.
    fn synced(&self, batch: &Placed<'_>);
    /// Somebody waits for an entry beside the commands, in a batch that was told of: to be told once it may be shown.
    fn show(&self, told: SyncSender<()>);
    /// Whoever still waits for an entry waits in vain.
    fn give_up(&self);
    /// The journal has failed: nothing will be told any more.
    fn failed(&self);
    /// What the engine has told so far, for the next seal.
    fn engine_told(&self) -> EventSum;
}

impl Settled for Gate {
    fn stored(&self, sequence: Sequence) {
        self.publish_written(sequence);
    }

    fn synced(&self, batch: &Placed<'_>) {
        self.publish_durable(batch.last());
    }

    fn show(&self, told: SyncSender<()>) {
        // Nobody may be waiting any more.
        let _ = told.send(());
    }

    fn give_up(&self) {}

    fn failed(&self) {
        self.halt();
    }

    fn engine_told(&self) -> EventSum {
        self.told()
    }
}
