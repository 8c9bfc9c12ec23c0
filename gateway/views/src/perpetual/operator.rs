//! What operators did, as they announced it: each action is a note, and behind it the command that carries it out.
//!
//! A note names the kind of that command, which is the next of the same source. The row is complete when that one is done: its
//! verdict is then known. Where it does not come, because the process ended between the two, the row says that nothing was done.
//! An action whose texts are longer than a note has as many rows as notes, one right behind the other.

use super::super::codec::{LoadError, Reader, Writer};
use super::super::log::{Log, Retention};
use super::rows::{OperatorRecord, OperatorV1};
use crate::stored::{layouts, stored};
use ringside_core::command::{Kind, OperatorNote};
use ringside_core::event::{Done, OperatorNoted, OperatorReason};
use ringside_core::ids::{Sequence, text};
use zerocopy::FromZeros;

/// A note whose command has not come yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    /// Of the note.
    pub source_seq: u64,
    /// Of both.
    pub source: u64,
    /// As far as it is known.
    pub row: OperatorRecord,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Operators {
    pub(super) log: Log<OperatorRecord>,
    /// Notes, oldest first: of each source those of one action at most.
    pending: Vec<Pending>,
    /// The note of the running command.
    running: Option<OperatorRecord>,
    /// Number of the last row.
    number: u64,
}

impl Operators {
    pub(super) fn new(keep: Retention) -> Operators {
        Operators { log: Log::new(keep), pending: Vec::new(), running: None, number: 0 }
    }

    /// The rows, those that are complete.
    pub fn log(&self) -> &Log<OperatorRecord> {
        &self.log
    }

    pub(super) fn noted(&mut self, noted: &OperatorNoted, time_ms: i64) {
        self.running = Some(OperatorRecord { noted: *noted, time_ms, ..OperatorRecord::new_zeroed() });
    }

    pub(super) fn told(&mut self, told: &OperatorReason) {
        if let Some(row) = &mut self.running {
            row.told = *told;
        }
    }

    /// Why that command was wanted: how its note begins; nothing where it has none.
    pub(super) fn reason(&self, done: &Done) -> &str {
        self.note(done).map_or("", |note| text(&note.row.told.reason))
    }

    /// Who wanted that command; `None` where nobody announced it.
    pub(super) fn author(&self, done: &Done) -> Option<&OperatorNoted> {
        self.note(done).map(|note| &note.row.noted)
    }

    /// The first note of the action that a command carries out.
    fn note(&self, done: &Done) -> Option<&Pending> {
        let source = u64::from(done.source);
        let mut notes = self.pending.iter().filter(|pending| pending.source == source);
        let is_of_notes =
            |last: &&Pending| done.source_seq == last.source_seq + 1 && done.command == last.row.noted.action;
        notes.clone().next_back().filter(is_of_notes)?;
        notes.next()
    }

    pub(super) fn done(&mut self, done: &Done, sequence: Sequence) {
        if done.command == Kind::OpenEpoch as u16 {
            // No source of an earlier epoch speaks again.
            for pending in std::mem::take(&mut self.pending) {
                self.push(sequence, pending.row);
            }
        }
        let source = u64::from(done.source);
        let last = self.pending.iter().rfind(|pending| pending.source == source).copied();
        let is_next = last.is_some_and(|last| done.source_seq == last.source_seq + 1);
        let carries_on = last.zip(self.running).is_some_and(|(last, row)| {
            is_next && row.noted.part > 0 && u16::from(row.noted.part) == u16::from(last.row.noted.part) + 1
        });
        if let Some(last) = last
            && !carries_on
        {
            let is_of_notes = is_next && done.command == last.row.noted.action;
            for pending in self.pending.extract_if(.., |pending| pending.source == source).collect::<Vec<_>>()
            {
                let mut row = pending.row;
                if is_of_notes {
                    row.sequence = sequence;
                    row.reject = done.reject.into();
                }
                self.push(sequence, row);
            }
        }
        if let Some(row) = self.running.take().filter(|row| row.noted.part != OperatorNote::END) {
            self.pending.push(Pending { source_seq: done.source_seq, source, row });
        }
    }

    fn push(&mut self, sequence: Sequence, row: OperatorRecord) {
        self.number += 1;
        self.log.push(sequence, OperatorRecord { number: self.number, ..row });
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        self.log.save(writer);
        writer.records(self.pending.iter());
        writer.u64(self.number);
    }

    pub(super) fn load(reader: &mut Reader<'_>, keep: Retention) -> Result<Operators, LoadError> {
        Ok(Operators {
            log: Log::load(reader, keep)?,
            pending: reader.records()?,
            running: None,
            number: reader.u64()?,
        })
    }
}

layouts! {
    /// A note whose command has not come yet.
    PendingV1 of Pending { source_seq: u64, source: u64, row: OperatorV1 }
}

stored! {
    Pending as PendingNotes: PendingV1;
}
