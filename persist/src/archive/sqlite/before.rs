//! Rows of archives before format 6, which had a table for each list of the spot side: read once, to be made entries of.
//!
//! ```text
//!  balances, packed   0 sequence u64 | 8 time_ns i64 | 16 asset u64 | 24 available i128 | 40 frozen i128    little-endian
//! ```
//!
//! `*_s` are whole seconds, `*_rest` nanoseconds to be added, `lasted` nanoseconds from placement to end; `key` of a trade is its
//! market in the upper 20 bits of 63 and its id in the lower 43. Amounts of 128 bits are integers where they fit and 16 bytes, big
//! end first, where they do not. Fills were the halves of the trades a second time.

use super::super::before::{BalanceChange, Before, CandleRow, CreditRow, OrderRow, TradeRow};
use super::column::{code, no_entries, time, unsigned};
use super::value::{Wide, trade_of_key};
use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::ids::{AccountId, AssetId};
use ringside_core::reject::Reject;
use rusqlite::{Row, Transaction};

// Each in the order in which it stands: nothing is sorted.
const ORDERS: &str = "SELECT id, sequence, account, market, status, side, type, tif, reject, price, quantity, filled, \
    quote_quantity, traded, created_s, created_rest, lasted FROM orders ORDER BY id";
const TRADES: &str = "SELECT key, sequence, market, taker_side, price, quantity, maker_order, taker_order, maker_account, \
    taker_account, maker_fee, taker_fee, time_s, time_rest FROM trades ORDER BY key";
const CREDITS: &str = "SELECT sequence, time_ns, account, asset, amount, reason FROM credits ORDER BY number";
const CANDLES: &str = "SELECT market, interval_s, open_s, sequence, open, high, low, close, volume, quote_volume, trades \
    FROM candles ORDER BY market, interval_s, open_s";
/// Of format 1.
const BALANCE_ROWS: &str =
    "SELECT sequence, time_s, time_rest, account, asset, available, frozen FROM balances ORDER BY number";
/// Of later ones, in the order of its index.
const BALANCE_PACKS: &str = "SELECT account, entries FROM balances INDEXED BY balances_of \
    ORDER BY account, market, first_s, number";
/// Words of a packed change of a balance.
const WORDS: usize = 7;

/// Tables that go with their indexes once their rows are entries. Format 1 has no `fills`, formats before 4 no `lists`.
pub(super) const DROP: &str = "
    DROP TABLE orders; DROP TABLE trades; DROP TABLE credits; DROP TABLE candles; DROP TABLE balances;
    DROP TABLE IF EXISTS fills; DROP TABLE IF EXISTS lists;
";

/// Gives every row of the tables of a format, list by list.
pub(super) fn rows(
    transaction: &Transaction<'_>,
    format: i64,
    mut take: impl FnMut(Before) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    each(transaction, ORDERS, |row| take(Before::Order(order_row(row)?)))?;
    each(transaction, TRADES, |row| take(Before::Trade(trade_row(row)?)))?;
    each(transaction, CREDITS, |row| take(Before::Credit(credit_row(row)?)))?;
    each(transaction, CANDLES, |row| take(Before::Candle(candle_row(row)?)))?;
    // Several changes by one command are told apart by their places.
    let mut last: Option<BalanceChange> = None;
    let mut change = |change: BalanceChange| {
        let is_next =
            |last: &BalanceChange| (last.account, last.sequence) == (change.account, change.sequence);
        let index = last.filter(is_next).map_or(0, |last| last.index + 1);
        let change = BalanceChange { index, ..change };
        last = Some(change);
        take(Before::Balance(change))
    };
    if format == 1 {
        return each(transaction, BALANCE_ROWS, |row| change(balance_row(row)?));
    }
    each(transaction, BALANCE_PACKS, |row| {
        let (account, bytes) = (row.get(0)?, row.get_ref(1)?.as_blob()?);
        if bytes.is_empty() || bytes.len() % (8 * WORDS) != 0 {
            return Err(no_entries("changes of balances", 1, bytes.len()));
        }
        bytes.chunks_exact(8 * WORDS).try_for_each(|entry| change(packed_balance(account, entry)))
    })
}

fn each(
    transaction: &Transaction<'_>,
    sql: &str,
    mut take: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let mut query = transaction.prepare(sql)?;
    let mut found = query.query([])?;
    while let Some(row) = found.next()? {
        take(row)?;
    }
    Ok(())
}

fn packed_balance(account: AccountId, entry: &[u8]) -> BalanceChange {
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(entry.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*bytes);
    }
    let [sequence, time_ns, asset, a, b, c, d] = words;
    let wide = |low: u64, high: u64| (u128::from(high) << 64 | u128::from(low)) as i128;
    BalanceChange {
        sequence,
        time_ns: time_ns as i64,
        account,
        asset: asset as AssetId,
        index: 0,
        available: wide(a, b),
        frozen: wide(c, d),
    }
}

fn balance_row(row: &Row<'_>) -> rusqlite::Result<BalanceChange> {
    Ok(BalanceChange {
        sequence: unsigned(row, 0)?,
        time_ns: time(row, 1)?,
        account: row.get(3)?,
        asset: row.get(4)?,
        index: 0,
        available: row.get::<_, Wide>(5)?.0,
        frozen: row.get::<_, Wide>(6)?.0,
    })
}

fn order_row(row: &Row<'_>) -> rusqlite::Result<OrderRow> {
    let created_ns = time(row, 14)?;
    let reject: u16 = row.get(8)?;
    Ok(OrderRow {
        order: unsigned(row, 0)?,
        sequence: unsigned(row, 1)?,
        account: row.get(2)?,
        market: row.get(3)?,
        status: code(row, 4, OrderStatus::from_code)?,
        side: code(row, 5, Side::from_code)?,
        order_type: code(row, 6, OrderType::from_code)?,
        time_in_force: code(row, 7, TimeInForce::from_code)?,
        reject: Reject::from_code(reject),
        price: row.get(9)?,
        quantity: row.get(10)?,
        filled: row.get(11)?,
        quote_quantity: row.get::<_, Wide>(12)?.0,
        traded: row.get::<_, Wide>(13)?.0,
        created_ns,
        updated_ns: created_ns.wrapping_add(row.get(16)?),
    })
}

fn trade_row(row: &Row<'_>) -> rusqlite::Result<TradeRow> {
    Ok(TradeRow {
        trade: trade_of_key(row.get(0)?),
        sequence: unsigned(row, 1)?,
        market: row.get(2)?,
        taker_side: code(row, 3, Side::from_code)?,
        price: row.get(4)?,
        quantity: row.get(5)?,
        maker_order: unsigned(row, 6)?,
        taker_order: unsigned(row, 7)?,
        maker_account: row.get(8)?,
        taker_account: row.get(9)?,
        maker_fee: row.get::<_, Wide>(10)?.0,
        taker_fee: row.get::<_, Wide>(11)?.0,
        time_ns: time(row, 12)?,
    })
}

fn credit_row(row: &Row<'_>) -> rusqlite::Result<CreditRow> {
    Ok(CreditRow {
        sequence: unsigned(row, 0)?,
        time_ns: row.get(1)?,
        account: row.get(2)?,
        asset: row.get(3)?,
        amount: row.get::<_, Wide>(4)?.0,
        reason: row.get(5)?,
    })
}

fn candle_row(row: &Row<'_>) -> rusqlite::Result<CandleRow> {
    Ok(CandleRow {
        market: row.get(0)?,
        interval_s: row.get(1)?,
        open_s: row.get(2)?,
        sequence: unsigned(row, 3)?,
        open: row.get(4)?,
        high: row.get(5)?,
        low: row.get(6)?,
        close: row.get(7)?,
        volume: row.get::<_, Wide>(8)?.0,
        quote_volume: row.get::<_, Wide>(9)?.0,
        trades: unsigned(row, 10)?,
    })
}
