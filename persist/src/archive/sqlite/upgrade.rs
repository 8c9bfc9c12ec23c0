//! An archive of an earlier format made into one of this format, when it is first opened to write: all or nothing, in one
//! transaction. Format 1 had an index for each list and each change of a balance in a row of its own, format 2 each entry; format
//! 3 had no versions, format 4 no heads of packs.

use super::super::row::{BalanceChange, Entry, List, TradeRow};
use super::column::{time, unsigned};
use super::entries::{self, FacetsOf, heads};
use super::pack;
use super::read::{TRADE_COLUMNS, trade_row};
use super::schema::{self, ENTRY_TABLES, FORMAT, HEADS, PACKED_TABLES, VERSIONS, WITHOUT_IDS};
use super::value::Wide;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

/// The formats that can be upgraded.
pub(super) const FROM: [i64; 4] = [1, 2, 3, 4];
/// Rows that are packed together.
const ROWS: usize = 65_536;

/// Upgrades an archive of one of the formats [`FROM`]; how many rows were written anew.
pub(super) fn upgrade(connection: &mut Connection, format: i64, facets: FacetsOf) -> rusqlite::Result<u64> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if format < 3 {
        transaction.execute_batch(ENTRY_TABLES)?;
    }
    transaction.execute_batch(HEADS)?;
    let rows = match format {
        1 => from_1(&transaction)?,
        2 => from_2(&transaction, facets)?,
        3 => {
            add_versions(&transaction)?;
            heads::add(&transaction, facets)?
        }
        _ => heads::add(&transaction, facets)?,
    };
    transaction.execute_batch(WITHOUT_IDS)?;
    transaction.execute("UPDATE meta SET format = ?1", [FORMAT])?;
    transaction.commit()?;
    Ok(rows)
}

/// What is read and written from here on has the columns of today.
fn add_versions(transaction: &Transaction<'_>) -> rusqlite::Result<()> {
    transaction.execute_batch(VERSIONS)?;
    // None can be newer yet.
    let _ = schema::advance(transaction, &schema::LISTS, |_, _, _| ())?;
    Ok(())
}

fn from_1(transaction: &Transaction<'_>) -> rusqlite::Result<u64> {
    transaction.execute_batch(
        "DROP INDEX orders_account; DROP INDEX orders_market;
         DROP INDEX trades_maker; DROP INDEX trades_taker;
         DROP INDEX trades_maker_market; DROP INDEX trades_taker_market;
         DROP INDEX balances_account; ALTER TABLE balances RENAME TO balances_1;",
    )?;
    transaction.execute_batch(PACKED_TABLES)?;
    add_versions(transaction)?;
    let trades = format!("SELECT {TRADE_COLUMNS} FROM trades ORDER BY sequence, key");
    let insert = |rows: &[TradeRow]| pack::insert_fills(transaction, rows);
    let fills = in_batches(transaction, &trades, trade_row, insert)?;
    let balances = "SELECT sequence, time_s, time_rest, account, asset, available, frozen FROM balances_1 \
                    ORDER BY number";
    let insert = |rows: &[BalanceChange]| pack::insert_balances(transaction, rows);
    let changes = in_batches(transaction, balances, balance_row, insert)?;
    transaction.execute_batch("DROP TABLE balances_1")?;
    Ok(fills + changes)
}

fn from_2(transaction: &Transaction<'_>, facets: FacetsOf) -> rusqlite::Result<u64> {
    add_versions(transaction)?;
    // In the order of their table, so that a list's packs are whole but where a batch ends.
    let all = "SELECT list, owner, market, time_ms, id, sequence, tag, bytes FROM entries \
               ORDER BY list, owner, market, time_ms, id";
    let insert = |rows: &[Entry]| entries::insert(transaction, rows, facets);
    let rows = in_batches(transaction, all, entry_row, insert)?;
    transaction.execute_batch("DROP TABLE entries")?;
    Ok(rows)
}

/// Inserts all rows of a query, many at a time; how many there were.
fn in_batches<T>(
    transaction: &Transaction<'_>,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    insert: impl Fn(&[T]) -> rusqlite::Result<()>,
) -> rusqlite::Result<u64> {
    let mut query = transaction.prepare(sql)?;
    let mut found = query.query([])?;
    let mut rows = Vec::with_capacity(ROWS);
    let mut count = 0;
    while let Some(row) = found.next()? {
        rows.push(read(row)?);
        count += 1;
        if rows.len() == ROWS {
            insert(&rows)?;
            rows.clear();
        }
    }
    insert(&rows)?;
    Ok(count)
}

fn balance_row(row: &Row<'_>) -> rusqlite::Result<BalanceChange> {
    Ok(BalanceChange {
        sequence: unsigned(row, 0)?,
        time_ns: time(row, 1)?,
        account: row.get(3)?,
        asset: row.get(4)?,
        available: row.get::<_, Wide>(5)?.0,
        frozen: row.get::<_, Wide>(6)?.0,
    })
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
