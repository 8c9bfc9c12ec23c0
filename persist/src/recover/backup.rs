//! Copies of a journal, taken while its engine runs or not, and what is made of them again.
//!
//! A copy holds every snapshot, every sealed segment, and the segment in use up to its last whole batch, all of one moment.
//! Files that are whole never change; retention leaves them where they are until the copy is finished. What is copied last, the
//! end of the journal, is read past the page cache and followed by zeros: the copy ends like a journal after a clean stop.
//!
//! [`restore`] goes the other way, to the end or to an earlier command: later snapshots and segments are left out, and the
//! segment that holds the command is cut after it. Several copies of one journal may be given, an old one and later ones, so
//! that a command is reached that only segments of the later one hold.
//!
//! Copies are written by hand and not by the file system, which might share their blocks with the original.
//! Keys, archive and the list of files belong to the caller.

use crate::error::PersistError;
use crate::format::record::Class;
use crate::format::segment::{self, DATA_START, SegmentHeader};
use crate::read::look::beside_engine;
use crate::read::replay::{Reader, Step};
use crate::read::survey::{Survey, survey};
use crate::read::tail::walk;
use crate::recover::snapshot_store;
use crate::storage::disk::{Disk, Lock};
use crate::storage::{self, Access, BLOCK_LEN, Buffer, Storage};
use ringside_core::ids::Sequence;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes copied at a time.
const CHUNK_LEN: usize = 1 << 20;
/// The name of the file that keeps the last epoch.
const EPOCH: &str = "epoch";

/// A file that was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its name.
    pub name: String,
    /// Bytes.
    pub len: u64,
    /// BLAKE3 of them.
    pub digest: [u8; 32],
}

/// A copy under way.
pub struct Backup {
    source: PathBuf,
    journal_id: [u8; 16],
    /// Names of snapshots and sealed segments.
    whole: Vec<String>,
    /// Segments from here on are copied at the end.
    tail: Sequence,
    _hold: Lock,
}

/// Where a copy ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// The last command in it.
    pub sequence: Sequence,
    /// Its time, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
}

impl Backup {
    /// Lists what is whole in the journal of `source`, which stays there until the copy is finished or given up.
    ///
    /// Errors: I/O, what a survey finds; there is no journal.
    pub fn begin(source: &Path) -> Result<Backup, PersistError> {
        let disk = Disk::open_existing(source)?;
        let hold = disk.hold()?;
        let survey = survey(&disk)?;
        let Some((last, sealed)) = survey.segments.split_last() else {
            let reason = format!("there is no journal in {}", source.display());
            return Err(PersistError::Missing { reason });
        };
        let sealed = sealed.iter().map(|read| read.header.name());
        Ok(Backup {
            source: source.to_owned(),
            journal_id: last.header.journal_id,
            whole: survey.snapshots.iter().cloned().chain(sealed).collect(),
            tail: last.header.first_seq,
            _hold: hold,
        })
    }

    /// Id of the journal.
    pub fn journal_id(&self) -> [u8; 16] {
        self.journal_id
    }

    /// Copies snapshots and sealed segments into the folder `to`, which exists. Everything that other stores of the
    /// deployment hold is to be copied before [`Backup::finish`], so that the journal's copy reaches as far.
    ///
    /// Errors: I/O.
    pub fn copy_whole(&mut self, to: &Path) -> Result<Vec<Copied>, PersistError> {
        self.whole.drain(..).map(|name| copy_file(&self.source.join(&name), &to.join(&name), &name)).collect()
    }

    /// Copies the rest: segments that were sealed since, and the one in use up to its last whole batch. The copy ends at or
    /// after every command that was durable when this was called.
    ///
    /// Errors: I/O; damage that reading the last segment meets.
    pub fn finish(self, to: &Path) -> Result<(Vec<Copied>, End), PersistError> {
        let disk = Disk::open_existing(&self.source)?;
        let (sealed, last, cut) = beside_engine(&disk, |is_running| {
            let survey = Survey { is_running, ..survey(&disk)? };
            let mut tail = survey.segments.iter().map(|read| read.header).collect::<Vec<_>>();
            tail.retain(|header| header.first_seq >= self.tail);
            let Some(last) = tail.pop() else {
                let reason = "the segment in use went away while it was copied".to_owned();
                return Err(PersistError::Missing { reason });
            };
            // What is wrong before the end must not be cut off as a write that was under way: it would be gone without a trace.
            walk(&disk, &survey, survey.segments.len() - 1, None, |_, _| Ok(()))?;
            let cut = last_batch(&disk, &last)?;
            Ok((tail, last, cut))
        })?;
        let mut copied = Vec::new();
        for header in sealed {
            let name = header.name();
            copied.push(copy_file(&self.source.join(&name), &to.join(&name), &name)?);
        }
        let name = last.name();
        let file = disk.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
        let mut file = Uncached { file, at: 0, buffer: Buffer::zeroed(CHUNK_LEN) };
        copied.push(copy_from(&mut file, cut.offset, last.segment_len - cut.offset, &to.join(&name), name)?);
        let epoch = self.source.join(EPOCH);
        if epoch.exists() {
            copied.push(copy_file(&epoch, &to.join(EPOCH), EPOCH)?);
        }
        Ok((copied, cut.end))
    }
}

/// Reads whole blocks past the page cache, where they would be in the way of an engine that writes there.
struct Uncached {
    file: Arc<dyn storage::File>,
    at: u64,
    buffer: Buffer,
}

impl Read for Uncached {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let len = out.len().min(self.buffer.len());
        debug_assert!(len.is_multiple_of(BLOCK_LEN));
        self.file.read_at(self.at, &mut self.buffer[..len])?;
        out[..len].copy_from_slice(&self.buffer[..len]);
        self.at += len as u64;
        Ok(len)
    }
}

/// A place in a segment after which nothing is kept.
struct CutAt {
    offset: u64,
    end: End,
    /// Time of the record after it that is not kept.
    next_ns: Option<i64>,
}

/// The end of the last whole batch of a segment.
fn last_batch(storage: &dyn Storage, header: &SegmentHeader) -> Result<CutAt, PersistError> {
    let entering = header.entering();
    let end = End { sequence: entering.sequence, time_ns: entering.time_ns };
    let mut cut = CutAt { offset: DATA_START, end, next_ns: None };
    let mut reader = reader(storage, header)?;
    loop {
        match reader.step()? {
            Step::Record(_) => {}
            Step::End | Step::Bad(_) => return Ok(cut),
        }
        let place = reader.place();
        if place.batch_start == place.offset {
            let end = End { sequence: place.last.sequence, time_ns: place.last.time_ns };
            cut = CutAt { offset: place.offset, end, next_ns: None };
        }
    }
}

fn reader(storage: &dyn Storage, header: &SegmentHeader) -> Result<Reader, PersistError> {
    let name = header.name();
    let file = storage.open(&name, Access::Read).map_err(PersistError::io("open", &name))?;
    Ok(Reader::new(file, *header, header.segment_len))
}

/// Copies the file `from` to `to`, which must not exist.
///
/// Errors: I/O.
pub fn copy_file(from: &Path, to: &Path, name: &str) -> Result<Copied, PersistError> {
    let mut file = File::open(from).map_err(PersistError::io("open", name))?;
    copy_from(&mut file, u64::MAX, 0, to, name.to_owned())
}

/// Copies at most `len` bytes and puts `zeros` after them; synced when this returns.
fn copy_from(
    from: &mut impl Read,
    len: u64,
    zeros: u64,
    to: &Path,
    name: String,
) -> Result<Copied, PersistError> {
    let mut copy = || -> io::Result<(u64, [u8; 32])> {
        let mut file = File::options().write(true).create_new(true).mode(0o600).open(to)?;
        let mut hasher = blake3::Hasher::new();
        let mut total = 0;
        let mut buffer = vec![0; CHUNK_LEN];
        let mut source = from.by_ref().take(len).chain(io::repeat(0).take(zeros));
        loop {
            let count = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            file.write_all(&buffer[..count])?;
            hasher.update(&buffer[..count]);
            total += count as u64;
        }
        file.sync_all()?;
        Ok((total, *hasher.finalize().as_bytes()))
    };
    let (len, digest) = copy().map_err(PersistError::io("copy", &name))?;
    Ok(Copied { name, len, digest })
}

/// To where a journal is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Everything there is.
    End,
    /// Through this command.
    Sequence(Sequence),
    /// Through the last command that is not of a later time, nanoseconds of the UNIX epoch. There must be one.
    Time(i64),
}

/// Makes a journal in `to`, an empty folder, of copies of one journal, older ones first. Gives where it ends. The folder is
/// nothing before this returns: make it under another name and rename it.
///
/// Errors: I/O; copies of different journals, or that do not reach from a snapshot to the command; damage.
pub fn restore(copies: &[PathBuf], to: &Path, until: Until) -> Result<End, PersistError> {
    let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
    for copy in copies {
        let shown = copy.display().to_string();
        for entry in fs::read_dir(copy).map_err(PersistError::io("list", &shown))? {
            let entry = entry.map_err(PersistError::io("list", &shown))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_known = segment::first_seq_of(&name).is_some()
                || snapshot_store::sequence_of(&name).is_some()
                || name == EPOCH;
            if is_known {
                // A later copy of a segment holds all that an earlier one does.
                files.insert(name, entry.path());
            }
        }
    }
    let segments: Vec<(Sequence, &String)> =
        files.keys().filter_map(|name| Some((segment::first_seq_of(name)?, name))).collect();
    let mut cut = None;
    for (_, name) in segments.iter().rev() {
        let disk = Disk::open_existing(files[*name].parent().unwrap_or(Path::new(".")))?;
        let file = disk.open(name, Access::Read).map_err(PersistError::io("open", name))?;
        let header = segment::read_header(file.as_ref(), name)?.header;
        cut = Some((header, place_of(&disk, &header, until)?));
        // The first segment, from behind, that has something to keep.
        if cut.as_ref().is_some_and(|(_, cut)| cut.offset > DATA_START) {
            break;
        }
    }
    let Some((last, cut)) = cut else {
        return Err(PersistError::Missing { reason: "there is no segment in the copies".to_owned() });
    };
    if let Until::Sequence(wanted) = until
        && cut.end.sequence != wanted
    {
        let next = segments.iter().map(|(first, _)| *first).find(|first| *first > cut.end.sequence);
        let reason = match next {
            Some(next) => format!(
                "the copies do not overlap: none holds the commands between {} and {next}, and {wanted} is one of them",
                cut.end.sequence
            ),
            None => format!("the copies end at sequence {}, before {wanted}", cut.end.sequence),
        };
        return Err(PersistError::Missing { reason });
    }
    if let Until::Time(wanted_ns) = until
        && (cut.end.sequence == 0 || cut.end.time_ns > wanted_ns)
    {
        let first_ns = cut.next_ns.unwrap_or(cut.end.time_ns);
        let (first_ms, wanted_ms) = (first_ns.div_euclid(1_000_000), wanted_ns.div_euclid(1_000_000));
        let reason = format!(
            "no command in the copies is of {wanted_ms} ms or before: the first is of {first_ms} ms. Times are in milliseconds of \
             the UNIX epoch; where an earlier one is meant, name an older copy first"
        );
        return Err(PersistError::Missing { reason });
    }
    if cut.end.sequence == 0 && until != Until::End {
        return Err(PersistError::Missing {
            reason: "there is no command before the first, which is 1".to_owned(),
        });
    }
    for (name, path) in &files {
        let is_later = segment::first_seq_of(name).is_some_and(|first| first > last.first_seq)
            || snapshot_store::sequence_of(name).is_some_and(|sequence| sequence > cut.end.sequence);
        if is_later {
            continue;
        }
        if *name == last.name() {
            let mut file = File::open(path).map_err(PersistError::io("open", name))?;
            copy_from(&mut file, cut.offset, last.segment_len - cut.offset, &to.join(name), name.clone())?;
        } else {
            copy_file(path, &to.join(name), name)?;
        }
    }
    let disk = Disk::open_existing(to)?;
    disk.sync_directory().map_err(PersistError::io("sync", "the directory"))?;
    // One journal, dense, that starts at a snapshot or at its first command.
    let survey = survey(&disk)?;
    if survey.snapshots.is_empty() && survey.segments.first().is_none_or(|read| read.header.number != 1) {
        let reason = format!("no snapshot of the copies is at or before sequence {}", cut.end.sequence);
        return Err(PersistError::Missing { reason });
    }
    Ok(cut.end)
}

/// Where a segment is to be cut.
fn place_of(storage: &dyn Storage, header: &SegmentHeader, until: Until) -> Result<CutAt, PersistError> {
    if until == Until::End {
        return last_batch(storage, header);
    }
    let entering = header.entering();
    let end = End { sequence: entering.sequence, time_ns: entering.time_ns };
    let mut cut = CutAt { offset: DATA_START, end, next_ns: None };
    let mut reader = reader(storage, header)?;
    loop {
        // What stands beside the commands right behind it stays as well.
        let is_kept = match reader.step()? {
            Step::Record(record) => matches!(record.class(), Class::Command | Class::Side),
            Step::End | Step::Bad(_) => return Ok(cut),
        };
        let place = reader.place();
        let is_wanted = match until {
            Until::End => true,
            Until::Sequence(sequence) => place.last.sequence <= sequence,
            Until::Time(time_ns) => place.last.time_ns <= time_ns,
        };
        if !is_wanted {
            cut.next_ns = Some(place.last.time_ns);
            return Ok(cut);
        }
        if is_kept || place.batch_start == place.offset {
            let end = End { sequence: place.last.sequence, time_ns: place.last.time_ns };
            cut = CutAt { offset: place.offset, end, next_ns: None };
        }
    }
}

/// Length and BLAKE3 of a file.
///
/// Errors: I/O.
pub fn digest_of(path: &Path) -> Result<(u64, [u8; 32]), PersistError> {
    let shown = path.display().to_string();
    let read = || -> io::Result<(u64, [u8; 32])> {
        let mut hasher = blake3::Hasher::new();
        let len = io::copy(&mut File::open(path)?, &mut hasher)?;
        Ok((len, *hasher.finalize().as_bytes()))
    };
    read().map_err(PersistError::io("read", &shown))
}
