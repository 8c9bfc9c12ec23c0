//! Tables, indexes and statements that write. The statements that read stand in [`super::read`].
//!
//! Entries stand in packs ([`super::entries`]), in the order in which they arrive, and every list is read from an index whose last
//! columns are the order of the list, so that a page costs the same whatever lies behind it. Each pack bears the version of its
//! entries.

use super::super::Mark;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

/// Version of the tables.
pub(super) const FORMAT: i64 = 6;

const TABLES: &str = "
    CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 0),
        format INTEGER NOT NULL, journal_id BLOB NOT NULL,
        sequence INTEGER NOT NULL, time_ns INTEGER NOT NULL
    ) STRICT;
";

/// What format 2 did not have: entries in packs ([`super::entries`]). `first_*` and `last_*` are the smallest and largest times
/// and ids of a pack's entries, `sequence` and `through` those of its commands. `last_id` in `tags` is that of the pack,
/// `first` in `names` the first key of the row's pairs ([`super::entries`] again).
pub(super) const ENTRY_TABLES: &str = "
    CREATE TABLE packs (
        number INTEGER PRIMARY KEY, list INTEGER NOT NULL, owner INTEGER NOT NULL, market INTEGER NOT NULL,
        first_ms INTEGER NOT NULL, first_id INTEGER NOT NULL, last_ms INTEGER NOT NULL, last_id INTEGER NOT NULL,
        sequence INTEGER NOT NULL, through INTEGER NOT NULL, count INTEGER NOT NULL, entries BLOB NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX packs_id ON packs (list, owner, market, last_id);
    CREATE INDEX packs_time ON packs (list, owner, market, last_ms, last_id);

    CREATE TABLE tags (
        list INTEGER NOT NULL, owner INTEGER NOT NULL, market INTEGER NOT NULL, tag INTEGER NOT NULL,
        last_id INTEGER NOT NULL, pack INTEGER NOT NULL,
        PRIMARY KEY (list, owner, market, tag, last_id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE runs (
        run INTEGER PRIMARY KEY, level INTEGER NOT NULL, count INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE names (
        number INTEGER PRIMARY KEY, run INTEGER NOT NULL, first INTEGER NOT NULL, pairs BLOB NOT NULL
    ) STRICT;
    CREATE INDEX names_of ON names (run, first);
";

/// What format 3 did not have: versions. Packs of before are of version 1.
pub(super) const VERSIONS: &str = "ALTER TABLE packs ADD COLUMN version INTEGER NOT NULL DEFAULT 1";

/// What format 4 did not have: the heads of packs apart from their bytes, so that packs are counted and filtered without being
/// read ([`super::entries::heads`]).
pub(super) const HEADS: &str = "
    CREATE TABLE heads (
        list INTEGER NOT NULL, owner INTEGER NOT NULL, market INTEGER NOT NULL, last_id INTEGER NOT NULL,
        first_ms INTEGER NOT NULL, first_id INTEGER NOT NULL, last_ms INTEGER NOT NULL,
        sequence INTEGER NOT NULL, through INTEGER NOT NULL, count INTEGER NOT NULL, facets BLOB NOT NULL,
        pack INTEGER NOT NULL,
        PRIMARY KEY (list, owner, market, last_id)
    ) STRICT, WITHOUT ROWID;
";
/// The index whose place they take.
pub(super) const WITHOUT_IDS: &str = "DROP INDEX packs_id";

pub(super) const INSERT_PACK: &str =
    "INSERT INTO packs VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
pub(super) const INSERT_HEAD: &str =
    "INSERT INTO heads VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)";
pub(super) const INSERT_TAG: &str = "INSERT INTO tags VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// Runs of names: their statements all stand here, as those that merge read and write.
pub(super) const INSERT_RUN: &str = "INSERT INTO runs VALUES (NULL, ?1, ?2)";
pub(super) const DELETE_RUN: &str = "DELETE FROM runs WHERE run = ?1";
pub(super) const RUNS: &str = "SELECT run FROM runs ORDER BY run";
pub(super) const RUNS_OF_LEVEL: &str = "SELECT run FROM runs WHERE level = ?1 AND count <= ?2 ORDER BY run";
pub(super) const INSERT_NAMES: &str = "INSERT INTO names VALUES (NULL, ?1, ?2, ?3)";
pub(super) const DELETE_NAMES: &str = "DELETE FROM names WHERE run = ?1";
pub(super) const NAMES_OF_RUN: &str =
    "SELECT pairs FROM names INDEXED BY names_of WHERE run = ?1 ORDER BY first, number";
pub(super) const NAMES_BEFORE: &str = "SELECT first, pairs FROM names INDEXED BY names_of \
    WHERE run = ?1 AND first <= ?2 ORDER BY first DESC, number DESC";

/// What an archive says of itself.
pub(super) struct Found {
    pub(super) format: i64,
    pub(super) journal_id: [u8; 16],
    pub(super) mark: Mark,
}

/// Makes the tables of a file that has none, and tells what is there.
pub(super) fn prepare(connection: &mut Connection, journal_id: [u8; 16]) -> rusqlite::Result<Found> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let is_made: Option<i64> = transaction
        .query_row("SELECT 1 FROM sqlite_schema WHERE name = 'meta'", [], |row| row.get(0))
        .optional()?;
    if is_made.is_none() {
        transaction.execute_batch(TABLES)?;
        transaction.execute_batch(ENTRY_TABLES)?;
        transaction.execute_batch(VERSIONS)?;
        transaction.execute_batch(HEADS)?;
        transaction.execute_batch(WITHOUT_IDS)?;
        transaction.execute("INSERT INTO meta VALUES (0, ?1, ?2, 0, 0)", params![FORMAT, &journal_id[..]])?;
    }
    let found =
        transaction.query_row("SELECT format, journal_id, sequence, time_ns FROM meta", [], |row| {
            let sequence: i64 = row.get(2)?;
            Ok(Found {
                format: row.get(0)?,
                journal_id: row.get(1)?,
                mark: Mark { sequence: sequence as u64, time_ns: row.get(3)? },
            })
        })?;
    transaction.commit()?;
    Ok(found)
}

/// Changes the row of the mark, so that setting it to what it was is a change as well.
pub(super) fn touch_mark(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.prepare_cached("UPDATE meta SET time_ns = ~time_ns")?.execute([])?;
    Ok(())
}

pub(super) fn set_mark(transaction: &Transaction<'_>, mark: Mark) -> rusqlite::Result<()> {
    let mut update = transaction.prepare_cached("UPDATE meta SET sequence = ?1, time_ns = ?2")?;
    update.execute(params![super::value::unsigned(mark.sequence)?, mark.time_ns])?;
    Ok(())
}
