//! An archive of format 1 made into one of this format, when it is first opened to write: all or nothing, in one
//! transaction. Format 1 had an index for each list and each change of a balance in a row of its own.

use super::super::row::{BalanceChange, TradeRow};
use super::pack;
use super::read::{TRADE_COLUMNS, time, trade_row, unsigned};
use super::schema::{FORMAT, PACKED_TABLES};
use super::value::Wide;
use rusqlite::{Connection, Row, Transaction, TransactionBehavior};

/// The format that can be upgraded.
pub(super) const FROM: i64 = 1;
/// Rows that are packed together.
const ROWS: usize = 65_536;

/// Upgrades an archive of format [`FROM`].
pub(super) fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute_batch(
        "DROP INDEX orders_account; DROP INDEX orders_market;
         DROP INDEX trades_maker; DROP INDEX trades_taker;
         DROP INDEX trades_maker_market; DROP INDEX trades_taker_market;
         DROP INDEX balances_account; ALTER TABLE balances RENAME TO balances_1;",
    )?;
    transaction.execute_batch(PACKED_TABLES)?;
    let trades = format!("SELECT {TRADE_COLUMNS} FROM trades ORDER BY sequence, key");
    in_batches(&transaction, &trades, trade_row, |rows: &[TradeRow]| pack::insert_fills(&transaction, rows))?;
    let balances = "SELECT sequence, time_s, time_rest, account, asset, available, frozen FROM balances_1 \
                    ORDER BY number";
    let insert = |rows: &[BalanceChange]| pack::insert_balances(&transaction, rows);
    in_batches(&transaction, balances, balance_row, insert)?;
    transaction.execute_batch("DROP TABLE balances_1")?;
    transaction.execute("UPDATE meta SET format = ?1", [FORMAT])?;
    transaction.commit()
}

fn in_batches<T>(
    transaction: &Transaction<'_>,
    sql: &str,
    read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    insert: impl Fn(&[T]) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut query = transaction.prepare(sql)?;
    let mut found = query.query([])?;
    let mut rows = Vec::with_capacity(ROWS);
    while let Some(row) = found.next()? {
        rows.push(read(row)?);
        if rows.len() == ROWS {
            insert(&rows)?;
            rows.clear();
        }
    }
    insert(&rows)
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
