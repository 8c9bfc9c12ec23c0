//! Tables, indexes and statements that write. The statements that read stand in [`super::read`].
//!
//! Rows stand in the order in which they arrive: by order id, by market and trade, by number. Every list is read from an
//! index whose last columns are the order of the list, so that a page costs the same whatever lies behind it: an index
//! ends with the row's number, which is the order id or the number of arrival. An index that most rows go into costs more
//! to write than to do without: lists of orders of any status are merged from those of each status, and lists that only
//! grow at their end are packed ([`super::pack`], [`super::entries`]).
//!
//! Every list has a version of its own, so that a field can be appended to it. Rows that are bytes bear theirs: `version` of a
//! row of `fills`, `balances` and `packs`. A list of columns has the version of its table ([`LISTS`]).

use super::super::{ArchiveError, Mark};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, params};

/// Version of the tables. A column that is appended to one of [`LISTS`] does not change it.
pub(super) const FORMAT: i64 = 5;

/// A list whose fields are columns.
pub(super) struct ColumnList {
    /// Its table.
    pub(super) name: &'static str,
    /// What makes each version of the table of the one before, from version 2 on: `ALTER TABLE name ADD COLUMN ... DEFAULT ...`,
    /// the default being what older rows stand for. Append, never change one: archives have been through it.
    pub(super) steps: &'static [&'static str],
}

/// The lists of columns. New archives go through the same steps as old ones. Whoever appends one names the column in the `INSERT`
/// below and in the columns of [`super::read`].
pub(super) const LISTS: [ColumnList; 4] = [
    ColumnList { name: "orders", steps: &[] },
    ColumnList { name: "trades", steps: &[] },
    ColumnList { name: "credits", steps: &[] },
    ColumnList { name: "candles", steps: &[] },
];

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

/// What format 3 did not have: versions. Rows of before are of version 1.
pub(super) const VERSIONS: &str = "
    ALTER TABLE fills ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE balances ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
    ALTER TABLE packs ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
    CREATE TABLE lists (name TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT ROWID;
";

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

pub(super) const INSERT_ORDER: &str =
    "INSERT INTO orders VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)";
pub(super) const INSERT_TRADE: &str =
    "INSERT INTO trades VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)";
pub(super) const INSERT_FILLS: &str = "INSERT INTO fills VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)";
pub(super) const INSERT_BALANCES: &str = "INSERT INTO balances VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6, ?7)";
pub(super) const INSERT_CREDIT: &str = "INSERT INTO credits VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)";
pub(super) const INSERT_CANDLE: &str =
    "INSERT INTO candles VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

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
        transaction.execute_batch(PACKED_TABLES)?;
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

/// A list whose table has a newer version than this build knows.
pub(super) struct NewerList {
    pub(super) list: &'static str,
    pub(super) found: i64,
    pub(super) known: i64,
}

impl NewerList {
    pub(super) fn error(self, place: String) -> ArchiveError {
        let NewerList { list, found, known } = self;
        ArchiveError::List { place, list, found, known }
    }
}

/// Brings the tables of `lists` to their newest versions, and tells which were brought from which version to which.
pub(super) fn advance(
    transaction: &Transaction<'_>,
    lists: &[ColumnList],
    tell: impl Fn(&'static str, i64, i64),
) -> rusqlite::Result<Result<(), NewerList>> {
    for ColumnList { name, steps } in lists {
        let found: Option<i64> = transaction
            .query_row("SELECT version FROM lists WHERE name = ?1", [name], |row| row.get(0))
            .optional()?;
        let (found, known) = (found.unwrap_or(1), steps.len() as i64 + 1);
        let Some(missing) = usize::try_from(found - 1).ok().and_then(|done| steps.get(done..)) else {
            return Ok(Err(NewerList { list: name, found, known }));
        };
        missing.iter().try_for_each(|step| transaction.execute_batch(step))?;
        if found < known {
            transaction.execute("INSERT OR REPLACE INTO lists VALUES (?1, ?2)", params![name, known])?;
            tell(name, found, known);
        }
    }
    Ok(Ok(()))
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOTES: &str = "CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT;
        INSERT INTO notes VALUES (1, 'old');";
    const STEPS: [&str; 2] = [
        "ALTER TABLE notes ADD COLUMN author TEXT NOT NULL DEFAULT 'nobody'",
        "ALTER TABLE notes ADD COLUMN size INTEGER NOT NULL DEFAULT 0",
    ];

    fn notes(steps: &'static [&'static str]) -> [ColumnList; 1] {
        [ColumnList { name: "notes", steps }]
    }

    fn shown(connection: &Connection) -> Vec<(String, String, i64)> {
        let mut query = connection.prepare("SELECT text, author, size FROM notes ORDER BY number").unwrap();
        let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        query.query_map([], row).unwrap().map(Result::unwrap).collect()
    }

    /// A field is appended to a list of columns: rows of before have the default, and it is done once.
    #[test]
    fn a_list_of_columns_goes_through_the_steps_that_it_lacks() {
        static TOLD: std::sync::Mutex<Vec<(i64, i64)>> = std::sync::Mutex::new(Vec::new());
        let tell = |_: &'static str, from, to| TOLD.lock().unwrap().push((from, to));
        let mut connection = Connection::open_in_memory().unwrap();
        prepare(&mut connection, [1; 16]).unwrap();
        connection.execute_batch(NOTES).unwrap();
        for count in [0, 1, 1, 2, 2] {
            let transaction = connection.transaction().unwrap();
            assert!(advance(&transaction, &notes(&STEPS[..count]), tell).unwrap().is_ok());
            transaction.commit().unwrap();
        }
        connection.execute("INSERT INTO notes VALUES (2, 'new', 'ann', 7)", []).unwrap();
        let expected = [("old", "nobody", 0), ("new", "ann", 7)];
        let expected = expected.map(|(text, author, size)| (text.to_owned(), author.to_owned(), size));
        assert_eq!(shown(&connection), expected);
        assert_eq!(*TOLD.lock().unwrap(), [(1, 2), (2, 3)]);
        let transaction = connection.transaction().unwrap();
        let newer = advance(&transaction, &notes(&STEPS[..1]), tell).unwrap().err().unwrap();
        let error = newer.error("there".to_owned()).to_string();
        assert!(error.contains("notes") && error.contains("version 3"), "{error}");
    }
}
