//! Events of accounts whose clients ask to go on where they left: a file beside the journal, so that they can after a restart.
//!
//! It is a convenience and never evidence: what it lacks, its client is told to read again. So it is written behind the engine, by
//! whoever has the time, and is not synced: a commit outlives the process, and a power failure takes whole commits off its end.
//! [`UserLog::mark`] says through which command it has everything; what follows it is made again of the journal.
//! What events say is not known here.

use super::ArchiveError;
use super::sqlite::failed;
use crate::storage::disk::make_folder;
use ringside_core::ids::{AccountId, Sequence};
use rusqlite::{Connection, params};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Of the tables below. A file of another format is begun anew.
const FORMAT: i64 = 1;

const TABLES: &str = "
    CREATE TABLE account (account INTEGER PRIMARY KEY, since INTEGER NOT NULL) STRICT;
    CREATE TABLE event (
        account INTEGER NOT NULL, number INTEGER NOT NULL, time_ms INTEGER NOT NULL, topics INTEGER NOT NULL,
        name TEXT NOT NULL, data TEXT NOT NULL, PRIMARY KEY (account, number)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE mark (journal BLOB NOT NULL, sequence INTEGER NOT NULL) STRICT;
";

/// One event of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserRow {
    /// Its account.
    pub account: AccountId,
    /// Its place in the venue's order.
    pub number: u64,
    /// Engine time of its command, UNIX milliseconds.
    pub time_ms: i64,
    /// Where it goes, a bit each.
    pub topics: u16,
    /// Its name.
    pub name: String,
    /// What it says.
    pub data: String,
}

/// A step of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UserChange {
    /// Events of the account behind this number are kept from now on, and none before.
    Keep(AccountId, u64),
    /// Its events are no longer kept.
    Forget(AccountId),
    /// An event.
    Event(UserRow),
}

/// What a log holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserRows {
    /// Accounts, and the number behind which all their events are held.
    pub accounts: Vec<(AccountId, u64)>,
    /// In the order of their numbers.
    pub events: Vec<UserRow>,
}

/// See the module.
pub struct UserLog {
    connection: Connection,
    path: PathBuf,
    journal_id: [u8; 16],
    mark: Sequence,
}

impl UserLog {
    /// The log in the file `path`, which is made where it is missing.
    ///
    /// Errors: the store's.
    pub fn open(path: &Path) -> Result<UserLog, ArchiveError> {
        if let Some(folder) = path.parent() {
            make_folder(folder).map_err(|cause| ArchiveError::Folder { path: folder.to_owned(), cause })?;
        }
        let made = std::fs::File::options().append(true).create(true).mode(0o600).open(path);
        made.map_err(|cause| ArchiveError::Folder { path: path.to_owned(), cause })?;
        let open = || -> rusqlite::Result<UserLog> {
            let connection = Connection::open(path)?;
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            let mut log = UserLog { connection, path: path.to_owned(), journal_id: [0; 16], mark: 0 };
            let format: i64 = log.connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if format != FORMAT {
                log.empty([0; 16])?;
            }
            let known = log.connection.query_row("SELECT journal, sequence FROM mark", (), |row| {
                Ok((row.get(0)?, row.get::<_, i64>(1)?))
            })?;
            (log.journal_id, log.mark) = (known.0, known.1.unsigned_abs());
            Ok(log)
        };
        open().map_err(|error| failed(path, "open", error))
    }

    /// Whether it goes with this journal.
    pub fn is_of(&self, journal_id: [u8; 16]) -> bool {
        self.journal_id == journal_id
    }

    /// Begins it anew, for this journal.
    ///
    /// Errors: the store's.
    pub fn begin(&mut self, journal_id: [u8; 16]) -> Result<(), ArchiveError> {
        self.empty(journal_id).map_err(|error| failed(&self.path, "empty", error))?;
        (self.journal_id, self.mark) = (journal_id, 0);
        Ok(())
    }

    fn empty(&mut self, journal_id: [u8; 16]) -> rusqlite::Result<()> {
        let transaction = self.connection.transaction()?;
        transaction.execute_batch(
            "DROP TABLE IF EXISTS account; DROP TABLE IF EXISTS event; DROP TABLE IF EXISTS mark;",
        )?;
        transaction.execute_batch(TABLES)?;
        transaction.execute("INSERT INTO mark VALUES (?1, 0)", params![journal_id])?;
        transaction.pragma_update(None, "user_version", FORMAT)?;
        transaction.commit()
    }

    /// The last command of which everything is here.
    pub fn mark(&self) -> Sequence {
        self.mark
    }

    /// All that is held.
    ///
    /// Errors: the store's.
    pub fn read(&self) -> Result<UserRows, ArchiveError> {
        let read = || -> rusqlite::Result<UserRows> {
            let mut accounts = self.connection.prepare("SELECT account, since FROM account")?;
            let accounts =
                accounts.query_map((), |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.unsigned_abs())))?;
            let accounts = accounts.collect::<rusqlite::Result<_>>()?;
            let mut events = self.connection.prepare(
                "SELECT account, number, time_ms, topics, name, data FROM event ORDER BY number, account",
            )?;
            let events = events.query_map((), |row| {
                Ok(UserRow {
                    account: row.get(0)?,
                    number: row.get::<_, i64>(1)?.unsigned_abs(),
                    time_ms: row.get(2)?,
                    topics: row.get(3)?,
                    name: row.get(4)?,
                    data: row.get(5)?,
                })
            })?;
            Ok(UserRows { accounts, events: events.collect::<rusqlite::Result<_>>()? })
        };
        read().map_err(|error| failed(&self.path, "read", error))
    }

    /// Takes steps, which go through the command `through`, at once or not at all.
    ///
    /// Errors: the store's.
    pub fn commit(&mut self, changes: &[UserChange], through: Sequence) -> Result<(), ArchiveError> {
        let mut commit = || -> rusqlite::Result<()> {
            let transaction = self.connection.transaction()?;
            for change in changes {
                match change {
                    UserChange::Keep(account, since) => {
                        let sql = "INSERT OR REPLACE INTO account VALUES (?1, ?2)";
                        transaction.prepare_cached(sql)?.execute(params![account, since.cast_signed()])?;
                        let sql = "DELETE FROM event WHERE account = ?1 AND number <= ?2";
                        transaction.prepare_cached(sql)?.execute(params![account, since.cast_signed()])?;
                    }
                    UserChange::Forget(account) => {
                        for sql in
                            ["DELETE FROM account WHERE account = ?1", "DELETE FROM event WHERE account = ?1"]
                        {
                            transaction.prepare_cached(sql)?.execute(params![account])?;
                        }
                    }
                    UserChange::Event(UserRow { account, number, time_ms, topics, name, data }) => {
                        let sql = "INSERT OR REPLACE INTO event VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
                        let values = params![account, number.cast_signed(), time_ms, topics, name, data];
                        transaction.prepare_cached(sql)?.execute(values)?;
                    }
                }
            }
            let sql = "UPDATE mark SET sequence = ?1";
            transaction.prepare_cached(sql)?.execute(params![through.cast_signed()])?;
            transaction.commit()
        };
        commit().map_err(|error| failed(&self.path, "write", error))?;
        self.mark = through;
        Ok(())
    }
}
