//! Checks the chain from a segment to the end of the journal, and decides what the end is: torn, or rotten.
//!
//! The rule. Everything is read from the first segment asked for. At the first record that does not count, the
//! rest of that segment is searched for records that are valid by themselves. Each of them says up to where the
//! journal was durable before it was written. If one of them, or a segment or snapshot after the bad record, or a
//! witness outside vouches for the bad record, it was durable and is damaged: the answer is an error that names it.
//! Otherwise it belongs to the last write, which nobody was told about: the journal ends there. Zeros are not
//! trusted more than other bytes.

use crate::error::PersistError;
use crate::record::{self, DISTANCE_MASK, Flaw, HEADER_LEN, RECORD_LEN_MAX, SCHEMA};
use crate::replay::{Bad, Place, Reader, Step};
use crate::segment::{DATA_START, SegmentHeader};
use crate::snapshot_store;
use crate::storage::{Access, BLOCK_LEN, Buffer, File, Storage};
use crate::survey::Survey;
use ringside_core::command::{Kind, SkipCommand};
use ringside_core::ids::Sequence;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What a check found.
#[derive(Clone, Debug)]
pub struct Checked {
    /// Commands in each segment checked.
    pub commands: Vec<u64>,
    /// Bytes of records.
    pub bytes: u64,
    /// Commands to pass over, and where that was decided.
    pub skips: Vec<Skip>,
    /// Highest epoch.
    pub epoch: u32,
    /// Chain after the command asked for.
    pub chain_after: Option<u64>,
    /// Where the journal ends, in the last segment.
    pub end: Place,
    /// The torn write that was found there, if any.
    pub cut: Option<Cut>,
}

/// A decision to pass over a command.
#[derive(Clone, Copy, Debug)]
pub struct Skip {
    /// Sequence of the decision.
    pub decided_at: Sequence,
    /// The decision.
    pub decision: SkipCommand,
}

/// Bytes after the end of the journal that belong to no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// File of the segment.
    pub segment: String,
    /// Byte in it from which on nothing counts.
    pub offset: u64,
    /// Bytes from there to the last that is not zero.
    pub len: u64,
    /// What is wrong with the first record there.
    pub flaw: Flaw,
}

/// Checks everything from segment `from` of the survey to the end. `after` is a command whose chain is wanted (that of
/// a snapshot); `witness` a sequence known from outside to be durable.
///
/// Errors: I/O; rot; an unknown record; segments or commands missing.
pub fn check(
    storage: &dyn Storage,
    survey: &Survey,
    from: usize,
    after: Option<Sequence>,
    witness: Option<Sequence>,
) -> Result<Checked, PersistError> {
    let count = survey.segments.len() - from;
    let parts = check_segments(storage, survey, from, after)?;
    let mut checked = Checked {
        commands: Vec::with_capacity(count),
        bytes: 0,
        skips: Vec::new(),
        epoch: 0,
        chain_after: None,
        end: parts[count - 1].end,
        cut: None,
    };
    for (index, part) in parts.into_iter().enumerate() {
        checked.commands.push(part.commands);
        checked.bytes += part.end.offset - DATA_START;
        checked.skips.extend(part.skips);
        checked.chain_after = checked.chain_after.or(part.chain_after);
        let header = survey.header(from + index);
        let next = (index + 1 < count).then(|| survey.header(from + index + 1));
        if part.end.epoch < checked.epoch {
            return Err(rot(
                header,
                &Bad { flaw: Flaw::Epoch, ..start_of(header) },
                "the segment before it".into(),
            ));
        }
        checked.epoch = part.end.epoch;
        match (part.bad, next) {
            (Some(bad), Some(next)) => {
                return Err(rot(header, &bad, format!("the next segment, {}", next.name())));
            }
            (None, Some(next)) => follows(&part.end, next)?,
            (Some(bad), None) => checked.cut = judge(storage, survey, header, &bad, witness)?,
            (None, None) => {}
        }
    }
    let vouched = snapshots_max(survey).max(witness);
    match vouched {
        Some(sequence) if sequence > checked.end.last.sequence => Err(PersistError::Missing {
            reason: format!(
                "the last segment is missing: the journal ends at {}, yet {sequence} is known to have been durable",
                checked.end.last.sequence
            ),
        }),
        _ => Ok(checked),
    }
}

/// One segment by itself.
struct Part {
    commands: u64,
    skips: Vec<Skip>,
    chain_after: Option<u64>,
    end: Place,
    bad: Option<Bad>,
}

/// Segments name the chain they start from, so each can be checked without the others.
fn check_segments(
    storage: &dyn Storage,
    survey: &Survey,
    from: usize,
    after: Option<Sequence>,
) -> Result<Vec<Part>, PersistError> {
    let count = survey.segments.len() - from;
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<Option<Result<Part, PersistError>>>> =
        Mutex::new((0..count).map(|_| None).collect());
    let work = || {
        loop {
            // Relaxed: hands out numbers; the results travel through the mutex.
            let index = next.fetch_add(1, Ordering::Relaxed);
            if index >= count {
                return;
            }
            let part = check_segment(storage, survey.header(from + index), after);
            results.lock().unwrap_or_else(PoisonError::into_inner)[index] = Some(part);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, |count| count.get()).min(count);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results
        .into_iter()
        .map(|part| part.unwrap_or_else(|| unreachable!("every number was handed out")))
        .collect()
}

fn check_segment(
    storage: &dyn Storage,
    header: &SegmentHeader,
    after: Option<Sequence>,
) -> Result<Part, PersistError> {
    let name = header.name();
    let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
    let mut reader = Reader::new(file, *header, header.segment_len);
    let mut part = Part { commands: 0, skips: Vec::new(), chain_after: None, end: reader.place(), bad: None };
    loop {
        let (sequence, kind) = match reader.step()? {
            Step::End => break,
            Step::Bad(bad) => {
                part.bad = Some(bad);
                break;
            }
            Step::Record(record) => {
                if record.header.kind == Kind::SkipCommand as u16 {
                    let decision = *record.command().body::<SkipCommand>();
                    part.skips.push(Skip { decided_at: record.header.seq, decision });
                }
                (record.header.seq, record.class())
            }
        };
        if kind == record::Class::Command {
            part.commands += 1;
            if after == Some(sequence) {
                part.chain_after = Some(reader.place().chain);
            }
        }
    }
    part.end = reader.place();
    Ok(part)
}

/// Whether `next` goes on where its predecessor ended.
fn follows(end: &Place, next: &SegmentHeader) -> Result<(), PersistError> {
    if next.first_seq == end.last.sequence + 1
        && next.entering_chain == end.chain
        && next.entering_time_ns == end.last.time_ns
    {
        return Ok(());
    }
    Err(PersistError::SegmentHeader {
        segment: next.name(),
        reason: "it does not go on where the segment before it ends".to_string(),
    })
}

/// Decides about a bad record in the last segment: an error if it was durable, else the cut, or nothing where the
/// journal simply ends.
fn judge(
    storage: &dyn Storage,
    survey: &Survey,
    header: &SegmentHeader,
    bad: &Bad,
    witness: Option<Sequence>,
) -> Result<Option<Cut>, PersistError> {
    if witness >= Some(bad.sequence) {
        return Err(rot(header, bad, "a witness outside".to_string()));
    }
    if let Some(sequence) = snapshots_max(survey)
        && sequence >= bad.sequence
    {
        return Err(rot(header, bad, format!("snapshot {}", snapshot_store::name_of(sequence))));
    }
    let name = header.name();
    let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
    let rest = search(file.as_ref(), header, bad)?;
    if let Some(witness) = rest.witness {
        return Err(rot(header, bad, witness));
    }
    let cut = Cut { segment: name, offset: bad.offset, len: rest.end - bad.offset, flaw: bad.flaw };
    Ok((!bad.is_blank || cut.len > 0).then_some(cut))
}

struct Rest {
    witness: Option<String>,
    /// Byte after the last that is not zero, from the bad record on.
    end: u64,
}

/// Looks at every place from the bad record on where a record could start.
fn search(file: &dyn File, header: &SegmentHeader, bad: &Bad) -> Result<Rest, PersistError> {
    const STRIDE: usize = 1 << 20;
    let name = header.name();
    let salt = header.salt();
    let mut rest = Rest { witness: None, end: bad.offset };
    let mut start = bad.offset - bad.offset % BLOCK_LEN as u64;
    let mut window =
        Buffer::zeroed((header.segment_len - start).min((STRIDE + RECORD_LEN_MAX) as u64) as usize);
    while start < header.segment_len {
        let len = (header.segment_len - start).min(window.len() as u64) as usize;
        file.read_at(start, &mut window[..len]).map_err(PersistError::io("read", &name))?;
        let bytes = &window[..len];
        let first = bad.offset.saturating_sub(start) as usize;
        for at in (first..len.min(STRIDE)).step_by(HEADER_LEN) {
            let block = &bytes[at..at + HEADER_LEN];
            if let Some(used) = block.iter().rposition(|&byte| byte != 0) {
                rest.end = start + (at + used) as u64 + 1;
            } else {
                continue;
            }
            // Two bytes tell most of what is no record.
            if block[44..46] != SCHEMA.to_le_bytes() {
                continue;
            }
            let Ok(found) = record::parse(&bytes[at..], salt) else { continue };
            let offset = start + at as u64;
            let mark = offset.saturating_sub(found.distance());
            if found.header.flags & !DISTANCE_MASK == 0
                && (mark > bad.offset || found.header.durable_seq >= bad.sequence)
            {
                rest.witness = Some(format!("the record at byte {offset} (sequence {})", found.header.seq));
                return Ok(rest);
            }
        }
        start += STRIDE as u64;
    }
    Ok(rest)
}

fn snapshots_max(survey: &Survey) -> Option<Sequence> {
    survey.snapshots.iter().filter_map(|name| snapshot_store::sequence_of(name)).max()
}

fn start_of(header: &SegmentHeader) -> Bad {
    Bad { flaw: Flaw::End, offset: DATA_START, sequence: header.first_seq, is_blank: false }
}

fn rot(header: &SegmentHeader, bad: &Bad, witness: String) -> PersistError {
    PersistError::Rot {
        segment: header.name(),
        offset: bad.offset,
        sequence: bad.sequence,
        flaw: bad.flaw,
        witness,
    }
}
