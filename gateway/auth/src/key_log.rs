//! A file of records, appended and synced one by one and never rewritten: the signer of releases keeps what it signed in one.
//! Earlier versions kept credentials in such files, which are read once more ([`crate::former_files`]); the magic number tells
//! them apart.
//!
//! ```text
//!  offset  0        8          12           16
//!          +--------+----------+------------+----------------------------------------
//!          | magic  | version  | zero       | record, record, ...
//!          | 8 B    | u32      | u32        |
//!          +--------+----------+------------+----------------------------------------
//!  record: | payload length u32 | CRC32C of length and payload u32 | payload, JSON of a [`Logged`] |
//! ```
//!
//! Little-endian. Bytes at the end that are no record, with no record after them, are what a crash leaves of a write that was
//! never acknowledged: they are dropped, and said to be. A bad record before a good one is rot and refuses to open. (Rot
//! inside the very last record cannot be told from a crash.) So no record is written before the one in front of it is on the
//! disk: of two a power failure might keep the second alone.

use crate::secret;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const HEADER_LEN: usize = 16;
const FRAME_LEN: usize = 8;
/// A longer record is rot. Earlier builds wrote the uses of all keys as one, whose number it bounds.
const PAYLOAD_LEN_MAX: usize = 1 << 26;

/// A kind of record, which has files of its own.
pub trait Logged: Serialize + DeserializeOwned {
    /// First bytes of a file of them.
    const MAGIC: [u8; 8];
    /// Version of what is written; every earlier one is read.
    const VERSION: u32;
}

/// Why the file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyLogError {
    /// The system refused.
    #[error("key file {path}: {cause}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// It was not written by this program, or by a later version of it.
    #[error("key file {path} is not of a known format")]
    Format {
        /// Path of the file.
        path: PathBuf,
    },
    /// Bytes changed.
    #[error("key file {path} is damaged at byte {offset}: {what}")]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Start of the record.
        offset: usize,
        /// In which way.
        what: &'static str,
    },
    /// It belongs to somebody else for as long as that one lives.
    #[error("key file {path} is in use by another process")]
    InUse {
        /// Path of the file.
        path: PathBuf,
    },
    /// It was taken away, or another was put in its place: no start would find what is written.
    #[error("key file {path} was removed, moved or replaced while it was in use")]
    Gone {
        /// Path of the file.
        path: PathBuf,
    },
    /// An earlier write or sync failed: what the disk holds is unknown until a restart reads it again.
    #[error("key file failed before; restart to use it again")]
    Failed,
}

/// The open file.
#[derive(Debug)]
pub struct KeyLog<R> {
    path: PathBuf,
    file: File,
    len: u64,
    /// Whether the last record is not known to be on the disk.
    is_unsynced: bool,
    has_failed: bool,
    records: PhantomData<fn(R)>,
}

/// Every record of the file, none if there is no file; and how many bytes of a cut record were dropped.
pub fn read<R: Logged>(path: &Path) -> Result<(Vec<R>, usize), KeyLogError> {
    match std::fs::read(path) {
        Ok(bytes) => decode(&bytes, path),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok((Vec::new(), 0)),
        Err(cause) => Err(KeyLogError::Io { path: path.to_owned(), cause }),
    }
}

impl<R: Logged> KeyLog<R> {
    /// Whether an earlier write or sync failed: what the disk holds is unknown, and nothing is appended again.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Opens the file to go on with it as it is, or makes an empty one, and keeps every other process from doing so; gives its
    /// records, and how many bytes of a cut record were taken off its end. Nothing else of it is ever rewritten.
    ///
    /// Errors: [`KeyLogError::InUse`], and nothing of it was touched; as [`read`].
    pub fn go_on(path: &Path) -> Result<(KeyLog<R>, Vec<R>, usize), KeyLogError> {
        let error = |cause| KeyLogError::Io { path: path.to_owned(), cause };
        if !path.exists() {
            found(path, &header::<R>()).map_err(error)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).open(path).map_err(error)?;
        file.try_lock().map_err(|cause| match cause {
            TryLockError::WouldBlock => KeyLogError::InUse { path: path.to_owned() },
            TryLockError::Error(cause) => error(cause),
        })?;
        // From here on nobody else writes: what is no record now is none that is on its way.
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(error)?;
        let (records, dropped) = decode(&bytes, path)?;
        let len = bytes.len() - dropped;
        if dropped > 0 {
            file.set_len(len as u64).map_err(error)?;
        }
        // What was just read may be in memory alone, after a sync that failed even without being due to be written any more: all of
        // it is written again where it stands, and synced, before anybody acts on it.
        let place = OpenOptions::new().write(true).open(path).map_err(error)?;
        place.write_all_at(&bytes[..len], 0).and_then(|()| place.sync_all()).map_err(error)?;
        let (path, len) = (path.to_owned(), len as u64);
        let log = KeyLog { path, file, len, is_unsynced: false, has_failed: false, records: PhantomData };
        Ok((log, records, dropped))
    }

    /// Appends a record; synced when this returns, where `is_synced`, and otherwise before another one is written. After the first
    /// failure nothing is appended again, unless there was no room and what was written of the record could be taken off again.
    pub fn append(&mut self, record: &R, is_synced: bool) -> Result<(), KeyLogError> {
        if self.has_failed {
            return Err(KeyLogError::Failed);
        }
        let bytes = encode(record).map_err(|cause| self.error(cause))?;
        if self.is_unsynced {
            self.sync()?;
        }
        if let Err(cause) = self.file.write_all(&bytes) {
            self.has_failed = !(is_full(&cause) && self.take_back().is_ok());
            return Err(self.error(cause));
        }
        self.len += bytes.len() as u64;
        self.is_unsynced = true;
        if is_synced { self.sync() } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<(), KeyLogError> {
        if let Err(cause) = self.file.sync_data() {
            self.has_failed = true;
            return Err(self.error(cause));
        }
        let of_name = std::fs::metadata(&self.path).map(|found| found.ino()).ok();
        if of_name.is_none() || of_name != self.file.metadata().map(|own| own.ino()).ok() {
            self.has_failed = true;
            return Err(KeyLogError::Gone { path: self.path.clone() });
        }
        self.is_unsynced = false;
        Ok(())
    }

    fn error(&self, cause: io::Error) -> KeyLogError {
        KeyLogError::Io { path: self.path.clone(), cause }
    }

    /// Takes off what stands behind the last whole record.
    fn take_back(&mut self) -> io::Result<()> {
        self.file.set_len(self.len)?;
        self.file.seek(SeekFrom::Start(self.len))?;
        self.file.sync_all()
    }
}

/// Whether a write failed because there is no room.
fn is_full(cause: &io::Error) -> bool {
    matches!(cause.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes a file that holds this, unless there is one by then: of two processes that do so at a time both find the same file.
fn found(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    secret::create_folder(folder)?;
    let aside = path.with_extension(format!("{}.new", std::process::id()));
    // What a process of the same number left may be the file itself by another name: that name goes, the file stays.
    let _ = std::fs::remove_file(&aside);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&aside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    match std::fs::hard_link(&aside, path) {
        Err(cause) if cause.kind() != io::ErrorKind::AlreadyExists => return Err(cause),
        _ => std::fs::remove_file(&aside)?,
    }
    File::open(folder)?.sync_all()
}

fn header<R: Logged>() -> [u8; HEADER_LEN] {
    header_of::<R>(R::VERSION)
}

fn header_of<R: Logged>(version: u32) -> [u8; HEADER_LEN] {
    let mut header = [0; HEADER_LEN];
    header[..8].copy_from_slice(&R::MAGIC);
    header[8..12].copy_from_slice(&version.to_le_bytes());
    header
}

fn encode<R: Logged>(record: &R) -> io::Result<Vec<u8>> {
    let payload = serde_json::to_vec(record).map_err(io::Error::other)?;
    if payload.len() > PAYLOAD_LEN_MAX {
        return Err(io::Error::other("a record that would not be read again"));
    }
    let length = (payload.len() as u32).to_le_bytes();
    let checksum = checksum(&length, &payload).to_le_bytes();
    Ok([&length[..], &checksum, &payload].concat())
}

/// What a file of these records holds.
#[cfg(test)]
pub(crate) fn written<R: Logged>(records: &[R]) -> Vec<u8> {
    records.iter().fold(header::<R>().to_vec(), |all, record| [all, encode(record).unwrap()].concat())
}

fn checksum(length: &[u8], payload: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(length), payload)
}

fn decode<R: Logged>(bytes: &[u8], path: &Path) -> Result<(Vec<R>, usize), KeyLogError> {
    let damaged = |offset, what| KeyLogError::Damaged { path: path.to_owned(), offset, what };
    if !(1..=R::VERSION).any(|version| bytes.get(..HEADER_LEN) == Some(&header_of::<R>(version))) {
        return Err(KeyLogError::Format { path: path.to_owned() });
    }
    let mut records = Vec::new();
    let mut offset = HEADER_LEN;
    while offset < bytes.len() {
        let Some(payload) = payload_at(bytes, offset) else {
            if (offset + 1..bytes.len()).any(|later| payload_at(bytes, later).is_some()) {
                return Err(damaged(offset, "a record does not check out, yet later ones do"));
            }
            break;
        };
        records.push(serde_json::from_slice(payload).map_err(|_| damaged(offset, "an unknown record"))?);
        offset += FRAME_LEN + payload.len();
    }
    Ok((records, bytes.len() - offset))
}

/// The payload of a record that starts here, if a whole one does.
fn payload_at(bytes: &[u8], offset: usize) -> Option<&[u8]> {
    let (frame, rest) = bytes[offset..].split_first_chunk::<FRAME_LEN>()?;
    let [l0, l1, l2, l3, c0, c1, c2, c3] = *frame;
    let length = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
    // Every payload is JSON text, so none is empty: a run of zeros is no record.
    let payload = rest.get(..length).filter(|payload| (1..=PAYLOAD_LEN_MAX).contains(&payload.len()))?;
    (checksum(&frame[..4], payload) == u32::from_le_bytes([c0, c1, c2, c3])).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    fn path(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ringside-key-log-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder.join("keys.log")
    }

    /// A record of a kind of the tests' own.
    #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
    struct Record(u64, String);

    impl Logged for Record {
        const MAGIC: [u8; 8] = *b"RSTESTED";
        const VERSION: u32 = 1;
    }

    fn records() -> Vec<Record> {
        (4..8).map(|id| Record(id, "robot".repeat(id as usize))).collect()
    }

    fn open(path: &Path) -> KeyLog<Record> {
        KeyLog::go_on(path).unwrap().0
    }

    #[test]
    fn what_is_appended_is_read_back() {
        let path = path("append");
        assert_eq!(read::<Record>(&path).unwrap(), (Vec::new(), 0));
        for record in &records() {
            open(&path).append(record, true).unwrap();
        }
        assert_eq!(read::<Record>(&path).unwrap(), (records(), 0));
        assert_eq!(std::fs::read(&path).unwrap(), written(&records()));
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_cut_at_any_byte_loses_only_the_record_it_cuts() {
        let mut bytes = header::<Record>().to_vec();
        let mut ends = vec![bytes.len()];
        for record in records() {
            bytes.extend(encode(&record).unwrap());
            ends.push(bytes.len());
        }
        for cut in HEADER_LEN..=bytes.len() {
            let whole = ends.iter().filter(|end| **end <= cut).count() - 1;
            let dropped = cut - ends[whole];
            let expected = (records()[..whole].to_vec(), dropped);
            assert_eq!(decode(&bytes[..cut], Path::new("cut")).unwrap(), expected, "{cut}");
        }
        assert!(decode::<Record>(&bytes[..HEADER_LEN - 1], Path::new("cut")).is_err());
    }

    #[test]
    fn a_changed_bit_refuses_the_file_except_in_the_last_record() {
        let mut bytes = header::<Record>().to_vec();
        for record in records() {
            bytes.extend(encode(&record).unwrap());
        }
        let last = bytes.len() - encode(records().last().unwrap()).unwrap().len();
        for bit in 0..bytes.len() * 8 {
            let mut bent = bytes.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            let read = decode::<Record>(&bent, Path::new("bent"));
            if bit / 8 < last {
                assert!(read.unwrap_err().to_string().contains("bent"), "{bit}");
            } else {
                assert_eq!(read.unwrap(), (records()[..3].to_vec(), bytes.len() - last), "{bit}");
            }
        }
    }

    #[test]
    fn after_a_failure_nothing_is_appended() {
        let path = path("failed");
        let mut log = open(&path);
        // A handle that cannot be written stands for a failing disk.
        log.file = File::open(&path).unwrap();
        assert!(matches!(log.append(&records()[0], true), Err(KeyLogError::Io { .. })));
        assert!(matches!(log.append(&records()[0], true), Err(KeyLogError::Failed)));
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn nothing_is_kept_in_a_file_that_is_gone() {
        type Take = fn(&Path);
        let takes: [Take; 3] = [
            |path| std::fs::remove_file(path).unwrap(),
            |path| std::fs::rename(path, path.with_extension("old")).unwrap(),
            |path| {
                std::fs::copy(path, path.with_extension("copy")).unwrap();
                std::fs::rename(path.with_extension("copy"), path).unwrap();
            },
        ];
        for take in takes {
            let path = path("gone");
            let mut log = open(&path);
            log.append(&records()[0], true).unwrap();
            take(&path);
            assert!(matches!(log.append(&records()[1], true), Err(KeyLogError::Gone { .. })));
            assert!(matches!(log.append(&records()[1], true), Err(KeyLogError::Failed)));
            std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
        }
    }

    #[test]
    fn what_there_was_no_room_for_is_taken_off_and_the_file_gone_on_with() {
        let path = path("no-room");
        let mut log = open(&path);
        log.append(&records()[0], true).unwrap();
        let bytes = encode(&records()[1]).unwrap();
        log.file.write_all(&bytes[..bytes.len() / 2]).unwrap();
        log.take_back().unwrap();
        log.append(&records()[2], true).unwrap();
        assert_eq!(read::<Record>(&path).unwrap(), ([&records()[..1], &records()[2..3]].concat(), 0));
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn no_record_is_written_before_the_one_in_front_of_it_is_on_the_disk() {
        let path = path("in-flight");
        let mut log = open(&path);
        // It takes everything and cannot be synced: who asks for it learns that.
        let unsynced = || OpenOptions::new().write(true).open("/dev/null").unwrap();
        log.file = unsynced();
        log.append(&records()[0], false).unwrap();
        let len = log.len;
        assert!(matches!(log.append(&records()[2], false), Err(KeyLogError::Io { .. })));
        assert_eq!(log.len, len, "it was not written");
        assert!(matches!(log.append(&records()[2], false), Err(KeyLogError::Failed)));

        // Once it is on the disk, the next one need not wait.
        drop(log);
        let mut log = open(&path);
        log.append(&records()[0], false).unwrap();
        log.append(&records()[2], true).unwrap();
        log.file = unsynced();
        log.append(&records()[2], false).unwrap();
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_file_that_is_in_use_is_not_touched() {
        let path = path("in-use");
        let (mut first, ..) = KeyLog::<Record>::go_on(&path).unwrap();
        first.append(&records()[0], true).unwrap();
        // What the first is just writing.
        let half = encode(&records()[1]).unwrap();
        first.file.write_all(&half[..half.len() / 2]).unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let second = KeyLog::<Record>::go_on(&path);
        assert!(matches!(second, Err(KeyLogError::InUse { .. })), "{second:?}");
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        drop(first);
        let (mut log, found, dropped) = KeyLog::<Record>::go_on(&path).unwrap();
        assert_eq!((found, dropped), (records()[..1].to_vec(), half.len() / 2));
        log.append(&records()[1], true).unwrap();
        assert_eq!(read::<Record>(&path).unwrap(), (records()[..2].to_vec(), 0));
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn two_who_found_a_file_find_the_same() {
        let path = path("founded");
        let (mut log, ..) = KeyLog::<Record>::go_on(&path).unwrap();
        log.append(&records()[0], true).unwrap();
        // It was not there when the other looked.
        found(&path, &header::<Record>()).unwrap();
        assert_eq!(read::<Record>(&path).unwrap().0, records()[..1]);
        let names: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(names.len(), 1, "{names:?}");
        std::fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }
}
