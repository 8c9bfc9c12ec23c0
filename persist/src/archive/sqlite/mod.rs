//! The embedded store: one SQLite file in write-ahead mode, written by one connection and read by others at the same time.
//!
//! A commit is atomic against the death of the process at any moment: the log of the database either holds its end or the
//! next start passes over it. Against power failure a commit counts from the next durable one on: `synchronous` is NORMAL
//! and is raised to FULL for commits that are asked to be durable, which syncs all earlier ones of the log with it.

mod before;
mod column;
mod entries;
mod prune;
mod read;
mod schema;
mod upgrade;
mod value;

use super::row::Entry;
use super::{Archive, ArchiveError, ArchiveReader, ArchiveWriter, EntriesOf, FacetOf, Mark, Upgrade};
use crate::storage::disk::make_folder;
use entries::FacetsOf;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior, params};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Pages of 4 KiB that the log may hold before they are moved into the file: 64 MiB. A page of an index that is written again and
/// again goes into the file once per log: four times this length would bring a quarter more of the greatest rate, which is far above
/// what a venue does, and take four times the disk of every venue.
const CHECKPOINT_PAGES: u32 = 16_384;
/// How long pages stay in the log at most while there are commits: what comes slowly does not fill it.
const CHECKPOINT_EVERY: Duration = Duration::from_secs(60);
/// Bytes that the log's file is cut to after it was moved; above what it holds, so that its blocks are used again.
const LOG_LEN: i64 = 96 << 20;
/// KiB of pages that the writer keeps; the upper levels of all indexes and the leaves in use fit.
const WRITER_CACHE_KIB: i64 = 128 << 10;
/// KiB of pages that a reader keeps.
const READER_CACHE_KIB: i64 = 8 << 10;
/// How long a connection waits for one that holds the file; in write-ahead mode that is the matter of an instant.
const PATIENCE: Duration = Duration::from_secs(5);

/// An archive in one file, with its log beside it.
#[derive(Clone, Debug)]
pub struct Sqlite {
    path: PathBuf,
    /// Who hears of an upgrade.
    tell: fn(&Upgrade),
    facets: FacetsOf,
    /// Whoever knows what becomes of rows that an archive of before has in tables of their own.
    entries_of: Option<EntriesOf>,
    checkpoint_every: Duration,
}

impl Sqlite {
    /// The archive in the file `path`, which is made by the first writer. Nothing is touched yet.
    pub fn new(path: impl Into<PathBuf>) -> Sqlite {
        Sqlite {
            path: path.into(),
            tell: |_| (),
            facets: |_| None,
            entries_of: None,
            checkpoint_every: CHECKPOINT_EVERY,
        }
    }

    /// The same, which tells of upgrades: of each before it begins, since it may take minutes, and once it is done.
    #[must_use]
    pub fn telling(self, tell: fn(&Upgrade)) -> Sqlite {
        Sqlite { tell, ..self }
    }

    /// The same, which knows what the records of some lists are filtered by. Entries of others have facet 0.
    #[must_use]
    pub fn faceted(self, facets: fn(u16) -> Option<FacetOf>) -> Sqlite {
        Sqlite { facets, ..self }
    }

    /// The same, which takes over archives that had rows in tables of their own.
    #[must_use]
    pub fn taking_over(self, entries_of: EntriesOf) -> Sqlite {
        Sqlite { entries_of: Some(entries_of), ..self }
    }

    /// The same, whose writer moves its log into the file as often, if there are commits.
    #[must_use]
    pub fn checkpointing(self, every: Duration) -> Sqlite {
        Sqlite { checkpoint_every: every, ..self }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a copy of one moment to the file `to`, which must not exist, beside whoever writes or reads; synced when this
    /// returns. Gives the mark of the copy, or nothing where there is no archive.
    ///
    /// Errors: the store's.
    pub fn copy(&self, to: &Path) -> Result<Option<Mark>, ArchiveError> {
        if !self.path.exists() {
            return Ok(None);
        }
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY, READER_CACHE_KIB)?;
        let copied = connection.execute("VACUUM INTO ?1", params![to.display().to_string()]);
        copied.map_err(|error| failed(&self.path, "copy", error))?;
        drop(connection);
        let synced = File::open(to).and_then(|file| file.sync_all());
        synced.map_err(|cause| ArchiveError::Folder { path: to.to_owned(), cause })?;
        Sqlite::new(to).reader()?.mark().map(Some)
    }

    /// How the database would go about each of the queries for lists: the query's name and the plan. For tests.
    ///
    /// Errors: the store's.
    pub fn plans(&self) -> Result<Vec<(String, String)>, ArchiveError> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY, READER_CACHE_KIB)?;
        read::plans(&connection).map_err(|error| failed(&self.path, "plan queries of", error))
    }

    fn connect(&self, flags: OpenFlags, cache_kib: i64) -> Result<Connection, ArchiveError> {
        let open = || -> rusqlite::Result<Connection> {
            let connection =
                Connection::open_with_flags(&self.path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
            connection.busy_timeout(PATIENCE)?;
            connection.pragma_update(None, "cache_size", -cache_kib)?;
            connection.set_prepared_statement_cache_capacity(64);
            Ok(connection)
        };
        open().map_err(|error| failed(&self.path, "open", error))
    }
}

/// Makes the file where it is missing, and has nobody else read what everybody traded.
fn make_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let file = File::options().append(true).create(true).mode(0o600).open(path)?;
    let mode = file.metadata()?.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    for part in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(part);
        match std::fs::set_permissions(&name, PermissionsExt::from_mode(0o600)) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            set => set?,
        }
    }
    Ok(())
}

impl Archive for Sqlite {
    fn writer(&self, journal_id: [u8; 16]) -> Result<Box<dyn ArchiveWriter>, ArchiveError> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder {
            let made = make_folder(folder);
            made.map_err(|cause| ArchiveError::Folder { path: folder.to_owned(), cause })?;
        }
        // Its log and its index of the log get the permissions of the file.
        make_private(&self.path).map_err(|cause| ArchiveError::Folder { path: self.path.clone(), cause })?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let mut connection = self.connect(flags, WRITER_CACHE_KIB)?;
        let prepare = |connection: &mut Connection| -> rusqlite::Result<schema::Found> {
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
            connection.pragma_update(None, "journal_size_limit", LOG_LEN)?;
            connection.pragma_update(None, "temp_store", "MEMORY")?;
            let found = schema::prepare(connection, journal_id)?;
            if !upgrade::FROM.contains(&found.format) || found.journal_id != journal_id {
                return Ok(found);
            }
            let begun = Instant::now();
            let upgrade = Upgrade { what: "format", from: found.format, to: schema::FORMAT, done: None };
            (self.tell)(&upgrade);
            let rows = upgrade::upgrade(connection, found.format, self.facets, self.entries_of)?;
            (self.tell)(&Upgrade { done: Some((rows, begun.elapsed())), ..upgrade });
            schema::prepare(connection, journal_id)
        };
        let found = prepare(&mut connection).map_err(|error| failed(&self.path, "open", error))?;
        if found.format != schema::FORMAT && !upgrade::FROM.contains(&found.format) {
            let place = self.place();
            return Err(ArchiveError::Format { place, found: found.format, known: schema::FORMAT });
        }
        if found.journal_id != journal_id {
            return Err(ArchiveError::Foreign {
                place: self.place(),
                found: hex(&found.journal_id),
                known: hex(&journal_id),
            });
        }
        if let Some(folder) = folder {
            sync_folder(folder)?;
        }
        let (path, inode) = (self.path.clone(), inode_of(&self.path));
        let (mark, facets) = (found.mark, self.facets);
        let (checkpoint_every, checkpointed) = (self.checkpoint_every, Instant::now());
        let is_synced = false;
        Ok(Box::new(Writer {
            connection,
            path,
            inode,
            mark,
            facets,
            is_synced,
            checkpoint_every,
            checkpointed,
        }))
    }

    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY, READER_CACHE_KIB)?;
        Ok(Box::new(read::Reader::new(connection, self.path.clone(), self.facets)))
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }
}

struct Writer {
    connection: Connection,
    path: PathBuf,
    /// Number of the file: the database writes on into one that was removed.
    inode: Option<u64>,
    mark: Mark,
    facets: FacetsOf,
    /// Whether the last commit was a durable one.
    is_synced: bool,
    checkpoint_every: Duration,
    checkpointed: Instant,
}

impl ArchiveWriter for Writer {
    fn mark(&self) -> Mark {
        self.mark
    }

    fn commit(&mut self, entries: &[Entry], mark: Mark, is_durable: bool) -> Result<(), ArchiveError> {
        assert!(mark.sequence >= self.mark.sequence, "the mark only rises");
        if entries.is_empty() && mark == self.mark && (self.is_synced || !is_durable) {
            return Ok(());
        }
        self.transact(entries, mark, is_durable).map_err(|error| self.failed(error))?;
        if self.inode != inode_of(&self.path) {
            return Err(ArchiveError::Gone { place: self.path.display().to_string() });
        }
        (self.mark, self.is_synced) = (mark, is_durable);
        Ok(())
    }
}

/// Number of the file of that name; nothing where there is none.
fn inode_of(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|metadata| metadata.ino())
}

impl Writer {
    /// As [`failed`]; a quota that is used up is no room either, and the database has no code of its own for it.
    fn failed(&self, error: rusqlite::Error) -> ArchiveError {
        match failed(&self.path, "write to", error) {
            ArchiveError::Store { place, cause, .. } if system_error(&self.connection) == libc::EDQUOT => {
                ArchiveError::Full { place, cause }
            }
            error => error,
        }
    }

    fn transact(&mut self, rows: &[Entry], mark: Mark, is_durable: bool) -> rusqlite::Result<()> {
        self.connection.pragma_update(None, "synchronous", if is_durable { "FULL" } else { "NORMAL" })?;
        // Dropped without a commit it rolls back.
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        entries::insert(&transaction, rows, self.facets)?;
        if is_durable && mark == self.mark {
            // A commit that leaves every byte as it was writes nothing and syncs nothing, not even what is waiting for it.
            schema::touch_mark(&transaction)?;
        }
        schema::set_mark(&transaction, mark)?;
        transaction.commit()?;
        if self.checkpointed.elapsed() >= self.checkpoint_every {
            self.checkpointed = Instant::now();
            // Waits for no reader: pages that one still needs stay for the next time, as they do where it fails. The rows are committed.
            let _ = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
        Ok(())
    }
}

/// What the system said to the database when an operation on the file failed last.
#[allow(unsafe_code)]
fn system_error(connection: &Connection) -> i32 {
    // SAFETY: the handle is that of an open connection, which this thread alone uses while it is borrowed.
    unsafe { rusqlite::ffi::sqlite3_system_errno(connection.handle()) }
}

/// So that a power failure does not take the new file's name away.
fn sync_folder(folder: &Path) -> Result<(), ArchiveError> {
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|cause| ArchiveError::Folder { path: folder.to_owned(), cause })
}

pub(super) fn failed(path: &Path, operation: &'static str, error: rusqlite::Error) -> ArchiveError {
    let place = path.display().to_string();
    let cause = Box::new(error);
    match cause.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => ArchiveError::Full { place, cause },
        _ => ArchiveError::Store { operation, place, cause },
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
