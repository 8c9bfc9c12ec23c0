//! Walks from a segment to the end of the journal, and decides what the end is: torn, or rotten.
//!
//! The rule. Everything is read from the first segment asked for. At the first record that does not count, the
//! rest of that segment is searched for records that are valid by themselves. Each of them says up to where the
//! journal was durable before it was written. If one of them, or a segment or snapshot after the bad record, or a
//! mark from outside covers the bad record, it was durable and is damaged: the answer is an error that names it.
//! Otherwise it belongs to the last write, which nobody was told about: the journal ends there. Zeros are not
//! trusted more than other bytes; they only decide how the cut is announced ([`Cut::is_suspect`]).
//!
//! Beside a running engine only the beginning of the rule holds ([`Survey::is_running`]): everything that was durable when the
//! journal was looked at can be read. What cannot may be on its way to the disk, so it is the end, and nothing behind it is
//! judged. If a record behind it attests it, it has arrived meanwhile, unless it is damaged: so it is read once more.
//!
//! What the rule cannot know. A batch is vouched for by the first sector of a later write: of the batch after the next where full
//! batches follow each other, two on their way at a time; of the next one otherwise, or of the seal 5 ms later. If the power goes
//! before that, a batch that was acknowledged stands on the disk with nothing behind it that knows, and damage to it afterwards
//! looks as if it had never been whole.

use crate::error::PersistError;
use crate::format::record::{self, DISTANCE_MASK, Flaw, HEADER_LEN, RECORD_LEN_MAX, Record};
use crate::format::segment::{DATA_START, SegmentHeader};
use crate::read::replay::{Bad, Checked, Place, ROOM, Reader, Step};
use crate::read::survey::Survey;
use crate::recover::snapshot_store;
use crate::storage::ahead::{self, Pool};
use crate::storage::{Access, BLOCK_LEN, Buffer, File, Storage};
use crate::turns;
use ringside_core::command::{Kind, SkipCommand};
use ringside_core::ids::Sequence;
use ringside_core::side::{SideChanges, SideEntry};
use std::cell::Cell;
use std::thread::JoinHandle;

/// What a walk over the journal found.
#[derive(Clone, Debug)]
pub struct Walked {
    /// Segments.
    pub segments: usize,
    /// Commands.
    pub commands: u64,
    /// Bytes of records.
    pub bytes: u64,
    /// Commands to pass over, and where that was decided.
    pub skips: Vec<Skip>,
    /// Entries beside the commands.
    pub sides: u64,
    /// The last word of those on each key.
    pub side_changes: SideChanges,
    /// Highest epoch.
    pub epoch: u32,
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
    /// Every sector of that record has something in it, though a segment is full of zeros before it is written: a write that was
    /// cut short would have left some as they were. So its bytes were most likely damaged after they were written, and may have
    /// been acknowledged; nothing says so for certain.
    pub is_suspect: bool,
}

impl Cut {
    /// What is to be said of it to whoever looks.
    pub fn doubt(&self) -> &'static str {
        match self.is_suspect {
            true => {
                "; no sector of the first bad record is missing, as a torn write would leave it: it may have been whole, and \
                 acknowledged, before it was damaged. Compare with a copy"
            }
            false => "",
        }
    }
}

/// Reads and checks everything from segment `from` of the survey to the end, and shows every command's record on the
/// way; whether the end is in order is known only when this returns. `durable_mark` is a sequence known from outside to be
/// durable.
///
/// Errors: I/O; rot; an unknown record; segments or commands missing; whatever `visit` fails with.
pub fn walk(
    storage: &dyn Storage,
    survey: &Survey,
    from: usize,
    durable_mark: Option<Sequence>,
    mut visit: impl FnMut(&SegmentHeader, &Record<'_>) -> Result<(), PersistError>,
) -> Result<Walked, PersistError> {
    walk_checked(storage, survey, from, durable_mark, |header, checked| {
        checked.commands().try_for_each(|record| visit(header, &record))
    })
}

/// As [`walk`], and gives the records away, many at a time, with the memory that they lie in.
pub(crate) fn walk_checked(
    storage: &dyn Storage,
    survey: &Survey,
    from: usize,
    durable_mark: Option<Sequence>,
    mut take: impl FnMut(&SegmentHeader, Checked) -> Result<(), PersistError>,
) -> Result<Walked, PersistError> {
    let count = survey.segments.len();
    let mut walked: Option<Walked> = None;
    let pool = Pool::new(ROOM);
    // Of the last segment most may be empty: that is looked at while the rest is read, checked and worked off.
    let blank = match count.checked_sub(1).filter(|&last| last >= from) {
        Some(last) => Blank::behind(storage, survey.header(last))?,
        None => Blank::default(),
    };
    for index in from..count {
        let header = survey.header(index);
        if let Some(walked) = &walked {
            follows(&walked.end, header)?;
        }
        let name = header.name();
        let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
        let mut reader = match ahead::is_worth_it(header.segment_len) {
            false => Reader::new(file, *header, header.segment_len),
            true => {
                let ahead = ahead::read_ahead(file.clone(), DATA_START, header.segment_len, pool.clone());
                Reader::ahead(file, *header, ahead.map_err(PersistError::io("read", &name))?)
            }
        };
        let walked = walked.get_or_insert(Walked {
            segments: 0,
            commands: 0,
            bytes: 0,
            skips: Vec::new(),
            sides: 0,
            side_changes: SideChanges::new(),
            epoch: 0,
            end: reader.place(),
            cut: None,
        });
        let read = read_segment(&mut reader, walked, |checked| take(header, checked));
        // What was found to count is shown whatever came then.
        reader.rest().map_or(Ok(()), |checked| take(header, checked))?;
        let bad = read?;
        walked.segments += 1;
        walked.end = reader.place();
        walked.commands += walked.end.last.sequence - header.entering().sequence;
        walked.epoch = walked.end.epoch;
        walked.bytes += walked.end.offset - DATA_START;
        match bad {
            Some(bad) if index + 1 < count => {
                let durable_mark = format!("the next segment, {}", survey.header(index + 1).name());
                return Err(rot(header, &bad, durable_mark));
            }
            Some(bad) => walked.cut = judge(storage, survey, &reader, &bad, durable_mark, &blank)?,
            None => {}
        }
    }
    let Some(walked) = walked else { unreachable!("there is a segment to start from") };
    match snapshots_max(survey).max(durable_mark) {
        Some(sequence) if sequence > walked.end.last.sequence => Err(PersistError::Missing {
            reason: format!(
                "the last segment is missing: the journal ends at {}, yet {sequence} is known to have been durable",
                walked.end.last.sequence
            ),
        }),
        _ => Ok(walked),
    }
}

/// Reads to the end of the segment; gives the record that does not count, if there is one.
fn read_segment(
    reader: &mut Reader,
    walked: &mut Walked,
    mut take: impl FnMut(Checked) -> Result<(), PersistError>,
) -> Result<Option<Bad>, PersistError> {
    reader.hand_out();
    loop {
        match reader.step()? {
            Step::End => return Ok(None),
            Step::Bad(bad) => return Ok(Some(bad)),
            Step::Record(record) if record.header.kind == Kind::SkipCommand as u16 => {
                let decision = *record.command().body::<SkipCommand>();
                walked.skips.push(Skip { decided_at: record.header.seq, decision });
            }
            Step::Record(record) if record.header.kind == record::SIDE => {
                let SideEntry { key, bytes } = record.side();
                walked.sides += 1;
                walked.side_changes.insert(key, bytes);
            }
            Step::Record(_) => {}
        }
        if let Some(checked) = reader.checked() {
            take(checked)?;
        }
    }
}

/// Whether `next` goes on where its predecessor ended.
pub(crate) fn follows(end: &Place, next: &SegmentHeader) -> Result<(), PersistError> {
    if next.first_seq == end.last.sequence + 1
        && next.entering_chain == end.chain
        && next.entering_time_ns == end.last.time_ns
        && next.epoch >= end.epoch
    {
        return Ok(());
    }
    Err(PersistError::SegmentHeader {
        segment: next.name(),
        reason: "it does not go on where the segment before it ends".to_string(),
    })
}

/// Decides about a bad record in the last segment, at which `reader` stands: an error if it was durable, else the cut, or nothing
/// where the journal simply ends or is written on.
fn judge(
    storage: &dyn Storage,
    survey: &Survey,
    reader: &Reader,
    bad: &Bad,
    durable_mark: Option<Sequence>,
    blank: &Blank,
) -> Result<Option<Cut>, PersistError> {
    let header = reader.header();
    if durable_mark >= Some(bad.sequence) {
        return Err(rot(header, bad, "a durable_mark outside".to_string()));
    }
    if let Some(sequence) = snapshots_max(survey)
        && sequence >= bad.sequence
    {
        return Err(rot(header, bad, format!("snapshot {}", snapshot_store::name_of(sequence))));
    }
    let name = header.name();
    let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
    let end = blank.from(header).map_err(PersistError::io("read", &name))?;
    let rest = search(file.as_ref(), header, bad, end)?;
    if let Some(durable_mark) = rest.durable_mark {
        let has_arrived = || {
            let mut again = Reader::new(file.clone(), *header, header.segment_len);
            while again.place().offset <= bad.offset && matches!(again.step()?, Step::Record(_)) {}
            Ok::<_, PersistError>(again.place().offset > bad.offset)
        };
        if !survey.is_running || !has_arrived()? {
            return Err(rot(header, bad, durable_mark));
        }
    }
    if survey.is_running {
        return Ok(None);
    }
    let cut = Cut {
        segment: name,
        offset: bad.offset,
        len: rest.end - bad.offset,
        flaw: bad.flaw,
        is_suspect: rest.is_suspect,
    };
    Ok((!bad.is_blank || cut.len > 0).then_some(cut))
}

/// Bytes of a segment that are looked through at a time.
const STRIDE: usize = 1 << 20;

/// From where on the end of a segment holds nothing but zeros: looked at from the back on, by a thread of its own.
#[derive(Default)]
struct Blank(Cell<Option<JoinHandle<std::io::Result<u64>>>>);

impl Blank {
    /// Begins to look, if the segment is long enough to be worth it.
    fn behind(storage: &dyn Storage, header: &SegmentHeader) -> Result<Blank, PersistError> {
        if !ahead::is_worth_it(header.segment_len) {
            return Ok(Blank::default());
        }
        let (name, len) = (header.name(), header.segment_len);
        let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
        let look = move || {
            turns::ask_for_short();
            let mut window = Buffer::zeroed(STRIDE);
            let mut end = len;
            while end > DATA_START {
                let start = DATA_START.max(end.saturating_sub(STRIDE as u64));
                let window = &mut window[..(end - start) as usize];
                file.read_at(start, window)?;
                if !record::is_zero(window) {
                    break;
                }
                end = start;
            }
            Ok(end)
        };
        let thread = std::thread::Builder::new().name("replay-end".to_string()).spawn(look);
        Ok(Blank(Cell::new(Some(thread.map_err(PersistError::io("start", "a thread of replay"))?))))
    }

    /// Byte of the segment, which is at most its length.
    fn from(&self, header: &SegmentHeader) -> std::io::Result<u64> {
        let Some(thread) = self.0.take() else { return Ok(header.segment_len) };
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

struct Rest {
    durable_mark: Option<String>,
    /// Byte after the last that is not zero, from the bad record on.
    end: u64,
    /// See [`Cut::is_suspect`].
    is_suspect: bool,
}

/// Looks at every place from the bad record on where a record could start. From byte `end` on there are only zeros.
fn search(file: &dyn File, header: &SegmentHeader, bad: &Bad, end: u64) -> Result<Rest, PersistError> {
    let name = header.name();
    let salt = header.salt();
    let mut rest = Rest { durable_mark: None, end: bad.offset, is_suspect: false };
    let mut start = bad.offset - bad.offset % BLOCK_LEN as u64;
    let mut window =
        Buffer::zeroed((header.segment_len - start).min((STRIDE + RECORD_LEN_MAX) as u64) as usize);
    while start < end {
        let len = (header.segment_len - start).min(window.len() as u64) as usize;
        file.read_at(start, &mut window[..len]).map_err(PersistError::io("read", &name))?;
        let bytes = &window[..len];
        let first = bad.offset.saturating_sub(start) as usize;
        if start <= bad.offset && matches!(bad.flaw, Flaw::Crc | Flaw::Length) {
            rest.is_suspect = is_written(bytes, first);
        }
        for at in (first..len.min(STRIDE)).step_by(HEADER_LEN) {
            let block = &bytes[at..at + HEADER_LEN];
            if let Some(used) = block.iter().rposition(|&byte| byte != 0) {
                rest.end = start + (at + used) as u64 + 1;
            } else {
                continue;
            }
            // Two bytes tell most of what is no record.
            if !record::is_known(u16::from_le_bytes([block[44], block[45]])) {
                continue;
            }
            let Ok(found) = record::parse(&bytes[at..], salt) else { continue };
            let offset = start + at as u64;
            let mark = offset.saturating_sub(found.distance());
            if found.header.flags & !DISTANCE_MASK == 0
                && (mark > bad.offset || found.header.durable_seq >= bad.sequence)
            {
                rest.durable_mark =
                    Some(format!("the record at byte {offset} (sequence {})", found.header.seq));
                return Ok(rest);
            }
        }
        start += STRIDE as u64;
    }
    Ok(rest)
}

/// Whether something stands in every sector of the record at byte `at` of `bytes`, which start at a block boundary.
fn is_written(bytes: &[u8], at: usize) -> bool {
    const SECTOR_LEN: usize = 512;
    let end = bytes.len().min(at + record::len_at(&bytes[at..]).unwrap_or(HEADER_LEN));
    let sectors = &bytes[at - at % SECTOR_LEN..bytes.len().min(end.next_multiple_of(SECTOR_LEN))];
    !sectors.chunks(SECTOR_LEN).any(record::is_zero)
}

fn snapshots_max(survey: &Survey) -> Option<Sequence> {
    survey.snapshots.iter().filter_map(|name| snapshot_store::sequence_of(name)).max()
}

fn rot(header: &SegmentHeader, bad: &Bad, durable_mark: String) -> PersistError {
    PersistError::Rot {
        segment: header.name(),
        offset: bad.offset,
        sequence: bad.sequence,
        flaw: bad.flaw,
        durable_mark,
    }
}
