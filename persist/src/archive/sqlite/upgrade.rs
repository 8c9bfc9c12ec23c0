//! An archive of an earlier format made into one of this format, when it is first opened to write: all or nothing, in one
//! transaction. Format 1 had a row for each change of a balance, format 2 for each entry; format 3 had no versions, format 4 no heads
//! of packs, format 5 a table for each list of the spot side.

use super::super::EntriesOf;
use super::super::before::Before;
use super::super::row::{Entry, List};
use super::before;
use super::column::unsigned;
use super::entries::{self, FacetsOf, heads};
use super::schema::{ENTRY_TABLES, FORMAT, HEADS, VERSIONS, WITHOUT_IDS};
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

/// The formats that can be upgraded.
pub(super) const FROM: [i64; 5] = [1, 2, 3, 4, 5];
/// Rows that are packed together.
const ROWS: usize = 65_536;

/// Upgrades an archive of one of the formats [`FROM`]; how many rows were written anew.
///
/// Errors: the store's; rows of which nobody knows what becomes of them.
pub(super) fn upgrade(
    connection: &mut Connection,
    format: i64,
    facets: FacetsOf,
    entries_of: Option<EntriesOf>,
) -> rusqlite::Result<u64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if format < 3 {
        transaction.execute_batch(ENTRY_TABLES)?;
    }
    if format < 4 {
        transaction.execute_batch(VERSIONS)?;
    }
    if format < 5 {
        transaction.execute_batch(HEADS)?;
    }
    let entries = match format {
        1 | 5 => 0,
        2 => from_2(&transaction, facets)?,
        _ => heads::add(&transaction, facets)?,
    };
    if format < 5 {
        transaction.execute_batch(WITHOUT_IDS)?;
    }
    let rows = from_tables(&transaction, format, facets, entries_of)?;
    transaction.execute("UPDATE meta SET format = ?1", [FORMAT])?;
    transaction.commit()?;
    Ok(entries + rows)
}

/// The tables of the spot side become entries.
fn from_tables(
    transaction: &Transaction<'_>,
    format: i64,
    facets: FacetsOf,
    entries_of: Option<EntriesOf>,
) -> rusqlite::Result<u64> {
    let mut rows = Vec::with_capacity(ROWS);
    let mut count = 0;
    before::rows(transaction, format, |row: Before| {
        let nobody = || rusqlite::Error::ToSqlConversionFailure("nobody takes over its spot rows".into());
        entries_of.ok_or_else(nobody)?(&row, &mut rows);
        if rows.len() >= ROWS {
            entries::insert(transaction, &rows, facets)?;
            count += rows.len() as u64;
            rows.clear();
        }
        Ok(())
    })?;
    entries::insert(transaction, &rows, facets)?;
    transaction.execute_batch(before::DROP)?;
    Ok(count + rows.len() as u64)
}

fn from_2(transaction: &Transaction<'_>, facets: FacetsOf) -> rusqlite::Result<u64> {
    // In the order of their table, so that a list's packs are whole but where a batch ends.
    let all = "SELECT list, owner, market, time_ms, id, sequence, tag, bytes FROM entries \
               ORDER BY list, owner, market, time_ms, id";
    let mut query = transaction.prepare(all)?;
    let mut found = query.query([])?;
    let mut rows = Vec::with_capacity(ROWS);
    let mut count = 0;
    while let Some(row) = found.next()? {
        rows.push(entry_row(row)?);
        count += 1;
        if rows.len() == ROWS {
            entries::insert(transaction, &rows, facets)?;
            rows.clear();
        }
    }
    entries::insert(transaction, &rows, facets)?;
    transaction.execute_batch("DROP TABLE entries")?;
    Ok(count)
}

/// The table does not say what a list keeps to. As if its entries may come late, each can be packed: in more packs than need
/// be, which whoever reads finds as well.
fn entry_row(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let tag: Option<i64> = row.get(6)?;
    let bytes: Vec<u8> = row.get(7)?;
    Ok(Entry {
        list: List { number: row.get(0)?, is_late: true },
        owner: row.get(1)?,
        market: row.get(2)?,
        time_ms: row.get(3)?,
        id: unsigned(row, 4)?,
        sequence: unsigned(row, 5)?,
        tag: tag.map_or(0, i64::unsigned_abs),
        version: 1,
        bytes: bytes.into(),
    })
}
