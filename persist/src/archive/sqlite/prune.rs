//! Takes the oldest packs of a list away, a few at a time, so that whoever writes beside it waits for none longer than for a commit.

use super::value::{bound, unsigned};
use super::{READER_CACHE_KIB, Sqlite, failed};
use crate::archive::ArchiveError;
use ringside_core::ids::MarketId;
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};

/// Packs of one transaction.
const PACKS: u32 = 256;

const FIRST_FROM: &str = "SELECT first_id FROM heads \
    WHERE list = ?1 AND owner = 0 AND market = ?2 AND last_id >= ?3 ORDER BY last_id LIMIT 1";
const BEFORE: &str = "SELECT last_id, count, pack FROM heads \
    WHERE list = ?1 AND owner = 0 AND market = ?2 AND last_id < ?3 ORDER BY last_id LIMIT ?4";

impl Sqlite {
    /// The first id of the pack that has the first entry at or after `id`, in a list of everyone's, by its number.
    ///
    /// Errors: the store's.
    pub fn pack_from(&self, list: u16, market: MarketId, id: u64) -> Result<Option<u64>, ArchiveError> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY, READER_CACHE_KIB)?;
        let first = |row: &rusqlite::Row<'_>| super::column::unsigned(row, 0);
        let found = connection.query_row(FIRST_FROM, params![list, market, bound(id)], first).optional();
        found.map_err(|error| failed(&self.path, "read from", error))
    }

    /// Removes the packs of a list of everyone's all of whose entries are below `id`; how many entries those were. Entries of the pack
    /// that has `id` in it stay. What was removed when it is interrupted is whole packs, the oldest.
    ///
    /// Errors: the store's.
    pub fn remove_before(&self, list: u16, market: MarketId, id: u64) -> Result<u64, ArchiveError> {
        let mut connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, READER_CACHE_KIB)?;
        let mut sum = 0;
        loop {
            let removed = remove(&mut connection, list, market, id);
            match removed.map_err(|error| failed(&self.path, "remove from", error))? {
                0 => return Ok(sum),
                count => sum += count,
            }
        }
    }

    /// Gives the room of what was removed back to the disk. Nobody may write meanwhile, so the caller holds the journal.
    ///
    /// Errors: the store's; there is no room for the copy that is made.
    pub fn shrink(&self) -> Result<(), ArchiveError> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, READER_CACHE_KIB)?;
        connection.execute_batch("VACUUM").map_err(|error| failed(&self.path, "shrink", error))
    }
}

/// Removes the next packs; how many entries they had.
fn remove(connection: &mut Connection, list: u16, market: MarketId, id: u64) -> rusqlite::Result<u64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut count = 0;
    let mut last = None;
    {
        let mut heads = transaction.prepare_cached(BEFORE)?;
        let mut pack = transaction.prepare_cached("DELETE FROM packs WHERE number = ?1")?;
        let mut found = heads.query(params![list, market, bound(id), PACKS])?;
        while let Some(row) = found.next()? {
            last = Some(super::column::unsigned(row, 0)?);
            count += super::column::unsigned(row, 1)?;
            pack.execute([row.get::<_, i64>(2)?])?;
        }
    }
    let Some(last) = last else { return Ok(0) };
    for table in ["tags", "heads"] {
        let sql =
            format!("DELETE FROM {table} WHERE list = ?1 AND owner = 0 AND market = ?2 AND last_id <= ?3");
        transaction.execute(&sql, params![list, market, unsigned(last)?])?;
    }
    transaction.commit()?;
    Ok(count)
}
