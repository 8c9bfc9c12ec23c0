//! Tables, indexes and statements that write. The statements that read stand in [`super::read`].
//!
//! Rows stand in the order in which they arrive: by order id, by market and trade, by number. Every list is read from an
//! index whose last columns are the order of the list, so that a page costs the same whatever lies behind it: an index
//! ends with the row's number, which is the order id or the number of arrival. An index that most rows go into costs more
//! to write than to do without: lists of orders of any status are merged from those of each status, and lists that only
//! grow at their end are packed ([`super::pack`], [`super::entries`]).

use super::super::Mark;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

/// Version of tables and values.
pub(super) const FORMAT: i64 = 3;

/// `key` of a trade: market in the upper 20 bits of 63, trade id in the lower 43. `*_s` are whole seconds, `*_rest`
/// nanoseconds to be added, `lasted` nanoseconds from placement to end. Amounts of 128 bits are integers where they fit
/// and 16 bytes, big end first, where they do not. Of a packed row `sequence` is that of its first entry, and `market` -1
/// where its list is that of all markets.
const TABLES: &str = "
    CREATE TABLE meta (
        id INTEGER PRIMARY KEY CHECK (id = 0),
        format INTEGER NOT NULL, journal_id BLOB NOT NULL,
        sequence INTEGER NOT NULL, time_ns INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE orders (
        id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL,
        account INTEGER NOT NULL, market INTEGER NOT NULL, status INTEGER NOT NULL,
        side INTEGER NOT NULL, type INTEGER NOT NULL, tif INTEGER NOT NULL, reject INTEGER NOT NULL,
        price INTEGER NOT NULL, quantity INTEGER NOT NULL, filled INTEGER NOT NULL,
        quote_quantity ANY NOT NULL, traded ANY NOT NULL,
        created_s INTEGER NOT NULL, created_rest INTEGER NOT NULL, lasted INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX orders_status ON orders (account, status, created_s);
    CREATE INDEX orders_market_status ON orders (account, market, status, created_s);

    CREATE TABLE trades (
        key INTEGER PRIMARY KEY, sequence INTEGER NOT NULL,
        market INTEGER NOT NULL, taker_side INTEGER NOT NULL, price INTEGER NOT NULL, quantity INTEGER NOT NULL,
        maker_order INTEGER NOT NULL, taker_order INTEGER NOT NULL,
        maker_account INTEGER NOT NULL, taker_account INTEGER NOT NULL,
        maker_fee ANY NOT NULL, taker_fee ANY NOT NULL,
        time_s INTEGER NOT NULL, time_rest INTEGER NOT NULL
    ) STRICT;

    CREATE TABLE credits (
        number INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, time_ns INTEGER NOT NULL,
        account INTEGER NOT NULL, asset INTEGER NOT NULL, amount ANY NOT NULL, reason BLOB NOT NULL
    ) STRICT;

    CREATE TABLE candles (
        market INTEGER NOT NULL, interval_s INTEGER NOT NULL, open_s INTEGER NOT NULL,
        sequence INTEGER NOT NULL,
        open INTEGER NOT NULL, high INTEGER NOT NULL, low INTEGER NOT NULL, close INTEGER NOT NULL,
        volume ANY NOT NULL, quote_volume ANY NOT NULL, trades INTEGER NOT NULL,
        PRIMARY KEY (market, interval_s, open_s)
    ) STRICT, WITHOUT ROWID;
";

/// What format 1 did not have: lists that only grow at their end.
pub(super) const PACKED_TABLES: &str = "
    CREATE TABLE fills (
        number INTEGER PRIMARY KEY, account INTEGER NOT NULL, market INTEGER NOT NULL,
        first_s INTEGER NOT NULL, last_s INTEGER NOT NULL, sequence INTEGER NOT NULL, entries BLOB NOT NULL
    ) STRICT;
    CREATE INDEX fills_of ON fills (account, market, first_s);

    CREATE TABLE balances (
        number INTEGER PRIMARY KEY, account INTEGER NOT NULL, market INTEGER NOT NULL,
        first_s INTEGER NOT NULL, last_s INTEGER NOT NULL, sequence INTEGER NOT NULL, entries BLOB NOT NULL
    ) STRICT;
    CREATE INDEX balances_of ON balances (account, market, first_s);
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

pub(super) const INSERT_ORDER: &str =
    "INSERT INTO orders VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
pub(super) const INSERT_TRADE: &str =
    "INSERT INTO trades VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
pub(super) const INSERT_FILLS: &str = "INSERT INTO fills VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)";
pub(super) const INSERT_BALANCES: &str = "INSERT INTO balances VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)";
pub(super) const INSERT_CREDIT: &str = "INSERT INTO credits VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)";
pub(super) const INSERT_CANDLE: &str =
    "INSERT INTO candles VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

pub(super) const INSERT_PACK: &str =
    "INSERT INTO packs VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";
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
        transaction.execute_batch(PACKED_TABLES)?;
        transaction.execute_batch(ENTRY_TABLES)?;
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
