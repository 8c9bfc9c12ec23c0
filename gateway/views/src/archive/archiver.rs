//! The fold that feeds the archive. It rides on the follower, which replays the durable journal in the background: nothing
//! waits for it, and whatever a crash interrupts is given again by the next replay.
//!
//! It folds views of its own, because a row needs what only they know (when an order was placed, what it had traded), but
//! they hold no history: rows go straight into the next commit. So neither its memory nor the snapshots
//! that are made of it grow with history.

use super::rows;
use crate::log::Retention;
use crate::{SharedViews, Views};
use ringside_core::event::{Event, Kind};
use ringside_core::ids::Sequence;
use ringside_persist::archive::row::Entry;
use ringside_persist::archive::{Archive, ArchiveError, ArchiveWriter, Mark};
use ringside_persist::error::FoldError;
use ringside_persist::recover::machine::Fold;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Rows of one commit, more or less. A commit writes every page of an index that it touched, and those of a thousand
/// accounts are touched by few rows: a quarter of this number cost a third of the rate.
const ROWS: usize = 65_536;
/// How long fewer rows may wait.
const WAIT: Duration = Duration::from_secs(1);

/// The fold; see the module's header.
pub struct Archiver {
    views: Views,
    /// Rows that are not committed yet.
    pending: Vec<Entry>,
    writer: Box<dyn ArchiveWriter>,
    /// How far the archive had come when it was opened.
    opened: Mark,
    shared: Arc<SharedViews>,
    /// Since when something waits to be committed.
    waiting: Option<Instant>,
    fault: Option<ArchiveError>,
}

impl Archiver {
    /// Opens the archive of the journal `journal_id` to write, and tells `shared` from now on how far it has come. The
    /// journal ends at `last`.
    ///
    /// Errors: the store's; it is another journal's; it knows what the journal does not.
    pub fn open(
        archive: &dyn Archive,
        journal_id: [u8; 16],
        last: Sequence,
        shared: Arc<SharedViews>,
    ) -> Result<Archiver, ArchiveError> {
        let writer = archive.writer(journal_id)?;
        let opened = writer.mark();
        if opened.sequence > last {
            let reason = format!("the journal ends at {last}");
            return Err(ArchiveError::Ahead { mark: opened.sequence, reason });
        }
        shared.set_archived(opened.sequence);
        let (views, pending) = (Views::new(Retention::Nothing), Vec::new());
        Ok(Archiver { views, pending, writer, opened, shared, waiting: None, fault: None })
    }

    /// How far the archive has come.
    pub fn mark(&self) -> Mark {
        self.writer.mark()
    }

    /// The views as they now are.
    pub fn views(&self) -> &Views {
        &self.views
    }

    /// The same history must give the same time at the mark.
    fn check_mark(&mut self, sequence: Sequence, time_ns: i64) {
        if sequence == self.opened.sequence && time_ns != self.opened.time_ns && self.fault.is_none() {
            let reason = format!(
                "the journal has another command there, of {time_ns} ns where the archive says {} ns",
                self.opened.time_ns
            );
            self.fault = Some(ArchiveError::Ahead { mark: sequence, reason });
        }
    }
}

impl Fold for Archiver {
    fn event(&mut self, event: &Event) {
        self.views.fold(event);
        if event.kind == Kind::Done as u16 {
            let is_new = event.sequence > self.opened.sequence;
            self.views.take(|added| {
                if is_new {
                    self.pending.push(rows::entry_of(added, event.sequence));
                }
            });
            self.views.forget(event.sequence);
            self.check_mark(event.sequence, event.time_ns);
        }
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        self.views.save(bytes);
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FoldError> {
        self.pending.clear();
        self.views.load(bytes).map(|_| ()).map_err(FoldError::from)
    }

    fn reset(&mut self) {
        self.pending.clear();
        self.views = Views::new(Retention::Nothing);
    }

    fn kept(&self) -> Sequence {
        self.writer.mark().sequence
    }

    fn commit(&mut self, through: Sequence, is_due: bool) -> Result<(), ArchiveError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        let mark = self.writer.mark();
        let mark = match through > mark.sequence {
            true => Mark { sequence: through, time_ns: self.views.time_ns() },
            false => mark,
        };
        let is_waiting = mark != self.writer.mark();
        if !is_due {
            if !is_waiting {
                return Ok(());
            }
            let since = *self.waiting.get_or_insert_with(Instant::now);
            if self.pending.len() < ROWS && since.elapsed() < WAIT {
                return Ok(());
            }
        }
        self.writer.commit(&self.pending, mark, is_due)?;
        self.pending.clear();
        self.waiting = None;
        self.shared.set_archived(mark.sequence);
        Ok(())
    }
}
