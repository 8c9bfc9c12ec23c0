//! Takes the oldest packs of a list away, a few at a time, so that whoever writes beside it waits for none longer than for a commit.

use super::value::{bound, unsigned};
use super::{READER_CACHE_KIB, Sqlite, failed};
use crate::archive::{ArchiveError, Removed};
use ringside_core::ids::{AccountId, MarketId};
use rusqlite::{Connection, OpenFlags, OptionalExtension, TransactionBehavior, params};

/// Packs of one transaction.
const PACKS: u32 = 256;

const FIRST_FROM: &str = "SELECT first_id FROM heads \
    WHERE list = ?1 AND owner = 0 AND market = ?2 AND last_id >= ?3 ORDER BY last_id LIMIT 1";
const BEFORE: &str = "SELECT last_id, count, pack, last_ms FROM heads \
    WHERE list = ?1 AND owner = ?2 AND market = ?3 AND last_id < ?4 ORDER BY last_id LIMIT ?5";
const NEXT: &str = "SELECT owner, market FROM heads \
    WHERE list = ?1 AND (owner, market) > (?2, ?3) ORDER BY owner, market LIMIT 1";
/// Through where something was removed: an archive that nothing was removed from has no such table.
const REMOVED: &str = "CREATE TABLE IF NOT EXISTS removed ( \
    list INTEGER NOT NULL, owner INTEGER NOT NULL, market INTEGER NOT NULL, \
    last_id INTEGER NOT NULL, last_ms INTEGER NOT NULL, PRIMARY KEY (list, owner, market)) STRICT, WITHOUT ROWID";
const SET_REMOVED: &str = "INSERT OR REPLACE INTO removed VALUES (?1, ?2, ?3, ?4, ?5)";
const HAS_REMOVED: &str = "SELECT count(*) FROM sqlite_schema WHERE name = 'removed'";
const REMOVED_OF: &str = "SELECT max(last_id), max(last_ms) FROM removed \
    WHERE list = ?1 AND owner = ?2 AND (?3 IS NULL OR market = ?3)";

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

    /// Accounts and markets that have entries in a list, by its number.
    ///
    /// Errors: the store's.
    pub fn owners(&self, list: u16) -> Result<Vec<(AccountId, MarketId)>, ArchiveError> {
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY, READER_CACHE_KIB)?;
        owners(&connection, list).map_err(|error| failed(&self.path, "read from", error))
    }

    /// Removes the packs of an owner's list in a market all of whose entries are below `id`; how many entries those were. Entries of the
    /// pack that has `id` in it stay. What was removed when it is interrupted is whole packs, the oldest, and readers are told through
    /// where ([`crate::archive::ArchiveReader::removed`]).
    ///
    /// Errors: the store's.
    pub fn remove_before(
        &self,
        list: u16,
        owner: AccountId,
        market: MarketId,
        id: u64,
    ) -> Result<u64, ArchiveError> {
        let mut connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE, READER_CACHE_KIB)?;
        let mut sum = 0;
        loop {
            let removed = remove(&mut connection, (list, owner, market), id);
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

fn owners(connection: &Connection, list: u16) -> rusqlite::Result<Vec<(AccountId, MarketId)>> {
    let mut next = connection.prepare(NEXT)?;
    let (mut found, mut last) = (Vec::new(), (-1i64, 0));
    while let Some((owner, market)) = next
        .query_row(params![list, last.0, last.1], |row| Ok((row.get::<_, u32>(0)?, row.get(1)?)))
        .optional()?
    {
        found.push((owner, market));
        last = (owner.into(), market);
    }
    Ok(found)
}

/// Through where entries were removed.
pub(super) fn removed(
    connection: &Connection,
    list: u16,
    owner: AccountId,
    market: Option<MarketId>,
) -> rusqlite::Result<Option<Removed>> {
    if connection.prepare_cached(HAS_REMOVED)?.query_row([], |row| row.get::<_, i64>(0))? == 0 {
        return Ok(None);
    }
    let of = |row: &rusqlite::Row<'_>| Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, Option<i64>>(1)?));
    let found = connection.prepare_cached(REMOVED_OF)?.query_row(params![list, owner, market], of)?;
    Ok(match found {
        (Some(id), Some(time_ms)) => Some(Removed { id: id.cast_unsigned(), time_ms }),
        _ => None,
    })
}

/// Removes the next packs; how many entries they had.
fn remove(
    connection: &mut Connection,
    (list, owner, market): (u16, AccountId, MarketId),
    id: u64,
) -> rusqlite::Result<u64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut count = 0;
    let mut last = None;
    {
        let mut heads = transaction.prepare_cached(BEFORE)?;
        let mut pack = transaction.prepare_cached("DELETE FROM packs WHERE number = ?1")?;
        let mut found = heads.query(params![list, owner, market, bound(id), PACKS])?;
        while let Some(row) = found.next()? {
            last = Some((super::column::unsigned(row, 0)?, row.get::<_, i64>(3)?));
            count += super::column::unsigned(row, 1)?;
            pack.execute([row.get::<_, i64>(2)?])?;
        }
    }
    let Some((last, last_ms)) = last else { return Ok(0) };
    for table in ["tags", "heads"] {
        let sql =
            format!("DELETE FROM {table} WHERE list = ?1 AND owner = ?2 AND market = ?3 AND last_id <= ?4");
        transaction.execute(&sql, params![list, owner, market, unsigned(last)?])?;
    }
    transaction.execute_batch(REMOVED)?;
    transaction.execute(SET_REMOVED, params![list, owner, market, unsigned(last)?, last_ms])?;
    transaction.commit()?;
    Ok(count)
}
