//! Looks through journal and snapshots without starting anything or writing a byte.
//!
//! Every record of every segment is read past the page cache, every seal compared with its batch, every snapshot with
//! its digests and with the record of its sequence. The commands are not applied: whether they lead to the
//! recorded state hashes is for recovery and follower to say. Beside a running engine everything is read that was durable when
//! this looked; what is behind is still being written, and not judged.

use crate::config;
use crate::error::PersistError;
use crate::read::look::beside_engine;
use crate::read::survey::{Survey, survey};
use crate::read::tail::{Cut, walk};
use crate::recover::snapshot_store::{self, Moment};
use crate::storage::Storage;
use crate::storage::disk::Disk;
use ringside_core::ids::Sequence;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// What was found.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Segments, oldest first: name, first command, epoch, mode, engine version, bytes.
    pub segments: Vec<SegmentFacts>,
    /// Commands in them.
    pub commands: u64,
    /// Entries beside the commands.
    pub sides: u64,
    /// The last command.
    pub last: Sequence,
    /// Snapshots, oldest first, each with what is wrong with it, if anything.
    pub snapshots: Vec<(String, Result<Moment, String>)>,
    /// The torn end that the next recovery will cut.
    pub cut: Option<Cut>,
    /// What is wrong with the journal.
    pub damage: Option<PersistError>,
    /// Segments of which one copy of the header is damaged.
    pub degraded: Vec<String>,
    /// An engine is running in the directory.
    pub is_in_use: bool,
}

/// One segment, from its header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFacts {
    /// File.
    pub name: String,
    /// First command.
    pub first_seq: Sequence,
    /// Epoch in which it was begun.
    pub epoch: u32,
    /// What replies waited for.
    pub mode: &'static str,
    /// Of the engine that decided its commands.
    pub engine_version: u32,
    /// Length of the file.
    pub len: u64,
}

/// Looks through `directory`.
///
/// Errors: I/O. Damage is no error but a finding.
pub fn verify(directory: &Path) -> Result<Verdict, PersistError> {
    let disk = Disk::open_existing(directory)?;
    let mut verdict = Verdict::default();
    let looked = beside_engine(&disk, |is_running| {
        verdict = Verdict { is_in_use: is_running, ..Verdict::default() };
        verdict.look(&disk)
    });
    verdict.with(looked)
}

/// As [`verify`], in a storage of the caller's.
pub fn verify_in(storage: &dyn Storage, is_in_use: bool) -> Result<Verdict, PersistError> {
    let mut verdict = Verdict { is_in_use, ..Verdict::default() };
    let looked = verdict.look(storage);
    verdict.with(looked)
}

impl Verdict {
    /// Whether the next recovery will find everything that was ever acknowledged.
    pub fn is_sound(&self) -> bool {
        self.damage.is_none() && self.snapshots.iter().all(|(_, result)| result.is_ok())
    }

    /// Whether there is nothing at all: no journal, and no sign that there was one.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty() && self.damage.is_none() && !self.is_in_use
    }

    fn with(mut self, looked: Result<(), PersistError>) -> Result<Verdict, PersistError> {
        match looked {
            Err(error @ PersistError::Io { .. }) => return Err(error),
            looked => self.damage = looked.err(),
        }
        Ok(self)
    }

    /// Takes everything in. Errors: I/O, and what is wrong with the journal.
    fn look(&mut self, storage: &dyn Storage) -> Result<(), PersistError> {
        let survey = Survey { is_running: self.is_in_use, ..survey(storage)? };
        for read in &survey.segments {
            let header = &read.header;
            self.segments.push(SegmentFacts {
                name: header.name(),
                first_seq: header.first_seq,
                epoch: header.epoch,
                mode: config::mode_name(header.mode),
                engine_version: header.engine_version,
                len: header.segment_len,
            });
            if read.is_degraded {
                self.degraded.push(header.name());
            }
        }
        let mut marks = BTreeMap::new();
        for name in &survey.snapshots {
            let result = match snapshot_store::read(storage, name) {
                Err(error @ PersistError::Io { .. }) => return Err(error),
                Err(PersistError::Snapshot { reason, .. }) => Err(reason),
                Err(error) => Err(error.to_string()),
                Ok(snapshot) => Ok(snapshot.moment),
            };
            if let Ok(moment) = result {
                marks.insert(moment.sequence, moment.mark);
            }
            self.snapshots.push((name.clone(), result));
        }
        if survey.segments.is_empty() {
            // An engine that runs may be about to make its first.
            return if self.is_in_use { Ok(()) } else { survey.check_start(None, &[]) };
        }
        let mut foreign = Vec::new();
        let walked = walk(storage, &survey, 0, None, |_, record| {
            let sequence = record.header.seq;
            if !marks.is_empty() && marks.get(&sequence).is_some_and(|mark| *mark != record.mark()) {
                foreign.push(sequence);
            }
            Ok(())
        });
        for (_, result) in &mut self.snapshots {
            if let Ok(moment) = result
                && foreign.contains(&moment.sequence)
            {
                *result = Err("the journal holds another history up to there".to_string());
            }
        }
        let walked = walked?;
        (self.commands, self.sides) = (walked.commands, walked.sides);
        (self.last, self.cut) = (walked.end.last.sequence, walked.cut);
        self.check_start(&survey)
    }

    /// Whether recovery finds a state to begin with.
    fn check_start(&self, survey: &Survey) -> Result<(), PersistError> {
        let (mut newest, mut refused) = (None, Vec::new());
        for (name, result) in &self.snapshots {
            match result {
                Ok(moment) => newest = Some((name.as_str(), moment.sequence)),
                Err(reason) => refused.push((name.clone(), reason.clone())),
            }
        }
        survey.check_start(newest, &refused)
    }

    /// The verdict as one line of JSON, for machines.
    pub fn to_json(&self) -> String {
        let mut text = String::from("{\"sound\":");
        let _ = write!(text, "{},\"in_use\":{}", self.is_sound(), self.is_in_use);
        let _ = write!(text, ",\"commands\":{},\"sides\":{},", self.commands, self.sides);
        let _ = write!(text, "\"last\":{},\"segments\":[", self.last);
        for (index, facts) in self.segments.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let _ = write!(
                text,
                "{comma}{{\"name\":{},\"first_seq\":{},\"epoch\":{},\"mode\":\"{}\",\"engine_version\":{},\
                 \"len\":{},\"degraded\":{}}}",
                quoted(&facts.name),
                facts.first_seq,
                facts.epoch,
                facts.mode,
                facts.engine_version,
                facts.len,
                self.degraded.contains(&facts.name)
            );
        }
        text.push_str("],\"snapshots\":[");
        for (index, (name, result)) in self.snapshots.iter().enumerate() {
            let comma = if index > 0 { "," } else { "" };
            let damage = result.as_ref().err().map_or("null".to_string(), |reason| quoted(reason));
            let _ = write!(text, "{comma}{{\"name\":{},\"damage\":{damage}}}", quoted(name));
        }
        text.push_str("],\"cut\":");
        match &self.cut {
            None => text.push_str("null"),
            Some(cut) => {
                let (segment, flaw) = (quoted(&cut.segment), quoted(&cut.flaw.to_string()));
                let (offset, len) = (cut.offset, cut.len);
                let _ = write!(
                    text,
                    "{{\"segment\":{segment},\"offset\":{offset},\"len\":{len},\"flaw\":{flaw}}}"
                );
            }
        }
        text.push_str(",\"damage\":");
        match &self.damage {
            None => text.push_str("null"),
            Some(PersistError::Rot { segment, offset, sequence, .. }) => {
                let message = quoted(&self.damage.as_ref().map(ToString::to_string).unwrap_or_default());
                let segment = quoted(segment);
                let _ = write!(
                    text,
                    "{{\"segment\":{segment},\"offset\":{offset},\"sequence\":{sequence},\"message\":{message}}}"
                );
            }
            Some(other) => {
                let _ = write!(text, "{{\"message\":{}}}", quoted(&other.to_string()));
            }
        }
        text.push('}');
        text
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for facts in &self.segments {
            let SegmentFacts { name, first_seq, epoch, mode, engine_version, len } = facts;
            let mib = *len as f64 / (1 << 20) as f64;
            writeln!(
                f,
                "{name}: from {first_seq}, epoch {epoch}, {mode}, engine {engine_version}, {mib:.1} MiB"
            )?;
            if self.degraded.contains(name) {
                writeln!(f, "{name}: one copy of the header is damaged, the other is sound")?;
            }
        }
        for (name, result) in &self.snapshots {
            match result {
                Ok(moment) => writeln!(f, "{name}: sound, epoch {}", moment.epoch)?,
                Err(reason) => writeln!(f, "{name}: DAMAGED, {reason}")?,
            }
        }
        if let Some(cut @ Cut { segment, offset, len, flaw, .. }) = &self.cut {
            writeln!(
                f,
                "{segment}: a torn write of {len} bytes at byte {offset} ({flaw}); recovery will cut it{}",
                cut.doubt()
            )?;
        }
        if self.is_in_use {
            writeln!(f, "an engine is running here: the end of the journal was not judged")?;
        }
        match &self.damage {
            Some(damage) => write!(f, "DAMAGED: {damage}"),
            None if !self.is_sound() => write!(f, "journal sound, a snapshot is damaged"),
            None => {
                let Verdict { commands, last, sides, .. } = self;
                write!(f, "sound: {commands} commands, the last is {last}, and {sides} entries beside them")
            }
        }
    }
}

/// `text` as a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            char if (char as u32) < 0x20 => {
                let _ = write!(quoted, "\\u{:04x}", char as u32);
            }
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}
