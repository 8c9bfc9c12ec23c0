//! Archives of earlier formats, as the versions that wrote them had them, are taken over whole and go on.

use crate::entries::{self, EntryMaker};
use crate::{Folder, JOURNAL, Maker};
use ringside_persist::archive::row::Entry;
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{Archive, ArchiveError, Batch, Mark, Upgrade};
use rusqlite::types::Value;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

fn int(value: u64) -> Value {
    Value::Integer(value as i64)
}

fn insert(old: &rusqlite::Connection, table: &str, values: Vec<Value>) {
    let marks = vec!["?"; values.len()].join(", ");
    let sql = format!("INSERT INTO {table} VALUES ({marks})");
    old.prepare_cached(&sql).unwrap().execute(rusqlite::params_from_iter(values)).unwrap();
}

/// An archive of a format with its tables and nothing in them.
fn made(store: &Sqlite, tables: &str, format: i64, mark: Mark) -> rusqlite::Connection {
    std::fs::create_dir_all(store.path().parent().unwrap()).unwrap();
    let old = rusqlite::Connection::open(store.path()).unwrap();
    old.execute_batch(tables).unwrap();
    let meta = (format, &JOURNAL[..], mark.sequence as i64, mark.time_ns);
    old.execute("INSERT INTO meta VALUES (0, ?1, ?2, ?3, ?4)", meta).unwrap();
    old
}

/// An archive of format 1 with these rows: tables, indexes and columns as the version that wrote it had them.
fn write_format_1(store: &Sqlite, all: &Batch, mark: Mark) {
    let old = made(store, include_str!("../golden/archive_1.sql"), 1, mark);
    let wide = |amount: i128| match i64::try_from(amount) {
        Ok(small) => Value::Integer(small),
        Err(_) => Value::Blob(amount.to_be_bytes().to_vec()),
    };
    let split = |ns: i64| (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    for row in &all.orders {
        let (created_s, created_rest) = split(row.created_ns);
        insert(
            &old,
            "orders",
            vec![
                int(row.order),
                int(row.sequence),
                int(row.account.into()),
                int(row.market.into()),
                int(row.status as u64),
                int(row.side as u64),
                int(row.order_type as u64),
                int(row.time_in_force as u64),
                int(row.reject.map_or(0, |reject| reject.code()).into()),
                row.price.into(),
                row.quantity.into(),
                row.filled.into(),
                wide(row.quote_quantity),
                wide(row.traded),
                created_s.into(),
                created_rest.into(),
                (row.updated_ns - row.created_ns).into(),
            ],
        );
    }
    for row in &all.trades {
        let (time_s, time_rest) = split(row.time_ns);
        insert(
            &old,
            "trades",
            vec![
                int(u64::from(row.market) << 43 | row.trade),
                int(row.sequence),
                int(row.market.into()),
                int(row.taker_side as u64),
                row.price.into(),
                row.quantity.into(),
                int(row.maker_order),
                int(row.taker_order),
                int(row.maker_account.into()),
                int(row.taker_account.into()),
                wide(row.maker_fee),
                wide(row.taker_fee),
                time_s.into(),
                time_rest.into(),
            ],
        );
    }
    for row in &all.balances {
        let (time_s, time_rest) = split(row.time_ns);
        let (account, asset) = (int(row.account.into()), int(row.asset.into()));
        let values = [int(row.sequence), time_s.into(), time_rest.into(), account, asset];
        let amounts = [wide(row.available), wide(row.frozen)];
        insert(&old, "balances", [vec![Value::Null], values.to_vec(), amounts.to_vec()].concat());
    }
}

#[test]
fn an_archive_of_format_1_is_taken_over() {
    let folder = Folder::new("format-1");
    let store = folder.store();
    let mut maker = Maker::new(5);
    maker.batch(2_000);
    (maker.all.credits, maker.all.candles) = (Vec::new(), Vec::new());
    write_format_1(&store, &maker.all, maker.mark());
    let error = store.writer([8; 16]).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::Foreign { .. }), "another journal's is left as it is: {error}");
    let mut writer = store.writer(JOURNAL).unwrap();
    assert_eq!(writer.mark(), maker.mark());
    let mut reader = store.reader().unwrap();
    (0..200).for_each(|_| maker.check(reader.as_mut()));
    // And goes on.
    let batch = maker.batch(500);
    writer.commit(&batch, maker.mark(), true).unwrap();
    (0..200).for_each(|_| maker.check(reader.as_mut()));
    let count = maker.all.orders.len() + maker.all.trades.len() + maker.all.balances.len();
    let further = maker.all.credits.len() + maker.all.candles.len();
    assert_eq!(reader.rows().unwrap(), (count + further) as u64);
}

/// An archive of format 2 with these entries: one row each, found by its time, its id, its tag, and across all markets.
fn write_format_2(store: &Sqlite, entries: &[Entry], mark: Mark) {
    let old = made(store, include_str!("../golden/archive_2.sql"), 2, mark);
    old.execute_batch("BEGIN").unwrap();
    for entry in entries {
        let tag = if entry.tag == 0 { Value::Null } else { int(entry.tag) };
        let values = vec![
            int(entry.list.number.into()),
            int(entry.owner.into()),
            int(entry.market.into()),
            entry.time_ms.into(),
            int(entry.id),
            int(entry.sequence),
            tag,
            int(entry.owner.into()),
            Value::Blob(entry.bytes.to_vec()),
        ];
        insert(&old, "entries", values);
    }
    old.execute_batch("COMMIT").unwrap();
}

#[test]
fn an_archive_of_format_2_is_taken_over() {
    let folder = Folder::new("format-2");
    let store = folder.store().faceted(entries::facets);
    let mut maker = EntryMaker::new(9);
    maker.batch(2_500);
    write_format_2(&store, &maker.all, maker.mark());
    let mut writer = store.writer(JOURNAL).unwrap();
    assert_eq!(writer.mark(), maker.mark());
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.rows().unwrap(), maker.all.len() as u64);
    (0..400).for_each(|_| maker.check(reader.as_mut()));
    // And goes on.
    for _ in 0..4 {
        let batch = maker.batch(500);
        writer.commit(&batch, maker.mark(), true).unwrap();
        (0..200).for_each(|_| maker.check(reader.as_mut()));
    }
    // Once only.
    drop(writer);
    assert_eq!(store.writer(JOURNAL).unwrap().mark(), maker.mark());
    assert_eq!(reader.rows().unwrap(), maker.all.len() as u64);
}

/// Text of the tables and indexes, each on a line and without blanks that differ.
fn schema(connection: &rusqlite::Connection) -> Vec<String> {
    let mut query =
        connection.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
    let rows = query.query_map([], |row| row.get::<_, String>(0)).unwrap();
    rows.map(|sql| sql.unwrap().split_whitespace().collect()).collect()
}

/// That a store has the tables and indexes of a format, letter by letter.
fn assert_schema(store: &rusqlite::Connection, sql: &str) {
    let known = rusqlite::Connection::open_in_memory().unwrap();
    known.execute_batch(sql).unwrap();
    assert_eq!(schema(store), schema(&known));
}

/// Makes an archive of today one of format 4: it had no heads of packs, and an index in their place.
fn make_format_4(store: &Sqlite) {
    let old = rusqlite::Connection::open(store.path()).unwrap();
    old.execute_batch(
        "DROP TABLE heads; CREATE UNIQUE INDEX packs_id ON packs (list, owner, market, last_id);
         UPDATE meta SET format = 4;",
    )
    .unwrap();
    assert_schema(&old, include_str!("../golden/archive_4.sql"));
}

/// Makes an archive of today one of format 3: it had no versions either.
fn make_format_3(store: &Sqlite) {
    make_format_4(store);
    let old = rusqlite::Connection::open(store.path()).unwrap();
    let lists: i64 = old.query_row("SELECT count(*) FROM lists", [], |row| row.get(0)).unwrap();
    assert_eq!(lists, 0, "a list of columns was appended to: take its columns away here as well");
    old.execute_batch(
        "ALTER TABLE fills DROP COLUMN version; ALTER TABLE balances DROP COLUMN version;
         ALTER TABLE packs DROP COLUMN version; DROP TABLE lists; UPDATE meta SET format = 3;",
    )
    .unwrap();
    assert_schema(&old, include_str!("../golden/archive_3.sql"));
}

#[test]
fn a_list_of_a_later_build_is_refused_by_name() {
    let folder = Folder::new("later");
    let store = folder.store();
    drop(store.writer(JOURNAL).unwrap());
    let later = rusqlite::Connection::open(store.path()).unwrap();
    later.execute("INSERT INTO lists VALUES ('trades', 9)", []).unwrap();
    let error = store.writer(JOURNAL).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::List { list: "trades", found: 9, known: 1, .. }), "{error}");
    later.execute_batch("DELETE FROM lists; UPDATE meta SET format = 9").unwrap();
    let error = store.writer(JOURNAL).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::Format { found: 9, known: 5, .. }), "{error}");
}

/// What upgrades told.
static TOLD: Mutex<Vec<Upgrade>> = Mutex::new(Vec::new());

#[test]
fn archives_of_formats_3_and_4_are_taken_over() {
    for (format, make) in [(3, make_format_3 as fn(&Sqlite)), (4, make_format_4)] {
        TOLD.lock().unwrap().clear();
        is_taken_over(format, make);
    }
}

/// The packs, heads and whatever else of a store, to the last byte.
fn tables(store: &Sqlite) -> Vec<Vec<Value>> {
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    let mut rows = Vec::new();
    for table in ["packs", "heads", "tags"] {
        let mut query = connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1, 2, 3, 4, 5")).unwrap();
        let columns = query.column_count();
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        rows.extend(query.query_map([], row).unwrap().map(Result::unwrap));
    }
    rows
}

fn is_taken_over(format: i64, make: fn(&Sqlite)) {
    let folder = Folder::new(&format!("format-{format}"));
    let store = folder.store().faceted(entries::facets);
    let (mut maker, mut entries) = (Maker::new(7), EntryMaker::new(7));
    let mut batch = maker.batch(2_000);
    batch.entries = entries.batch(2_000).entries;
    store.writer(JOURNAL).unwrap().commit(&batch, maker.mark(), true).unwrap();
    let rows = store.reader().unwrap().rows().unwrap();
    let whole = tables(&store);
    make(&store);
    let store = store.telling(|upgrade| TOLD.lock().unwrap().push(*upgrade));
    let mut writer = store.writer(JOURNAL).unwrap();
    assert_eq!(writer.mark(), maker.mark());
    assert_eq!(tables(&store), whole, "as if it had always been of this format");
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.rows().unwrap(), rows);
    (0..200).for_each(|_| maker.check(reader.as_mut()));
    (0..200).for_each(|_| entries.check(reader.as_mut()));
    // And goes on.
    let mut batch = maker.batch(500);
    batch.entries = entries.batch(500).entries;
    writer.commit(&batch, maker.mark(), true).unwrap();
    (0..200).for_each(|_| maker.check(reader.as_mut()));
    (0..200).for_each(|_| entries.check(reader.as_mut()));
    drop(store.writer(JOURNAL).unwrap());
    let told = TOLD.lock().unwrap();
    let [Upgrade { done: None, .. }, Upgrade { what: "format", from, to: 5, done: Some((1.., _)) }] =
        told[..]
    else {
        panic!("told once, before and after: {told:?}");
    };
    assert_eq!(from, format);
}

/// Upgrading, in a process that is killed: run by the test below.
#[test]
fn upgrades_until_it_is_killed() {
    let Ok(path) = std::env::var("RINGSIDE_OLD_ARCHIVE") else { return };
    let tell = |upgrade: &Upgrade| {
        let mut out = std::io::stdout();
        writeln!(out, "{}", if upgrade.done.is_none() { "begins" } else { "is done" }).unwrap();
        out.flush().unwrap();
    };
    drop(Sqlite::new(path).faceted(entries::facets).telling(tell).writer(JOURNAL).unwrap());
}

/// A process that has begun to upgrade an archive, and what it says from then on.
fn upgrading(store: &Sqlite) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["upgrade::upgrades_until_it_is_killed", "--exact", "--nocapture", "--test-threads=1"])
        .env("RINGSIDE_OLD_ARCHIVE", store.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.ends_with("begins\n") {
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended: {line}");
    }
    (child, said)
}

fn format_of(store: &Sqlite) -> i64 {
    let connection = rusqlite::Connection::open(store.path()).unwrap();
    connection.query_row("SELECT format FROM meta", [], |row| row.get(0)).unwrap()
}

/// Without versions it was a row per entry; of later formats nothing of the packs is written anew.
#[test]
fn kill_9_in_the_middle_of_an_upgrade_leaves_what_was_there() {
    let mut maker = EntryMaker::new(11);
    maker.batch(60_000);
    let folder = Folder::new("upgrade-kill-2");
    write_format_2(&folder.store(), &maker.all, maker.mark());
    is_killed(&folder.store(), 2, maker);
}

#[test]
fn kill_9_while_the_heads_of_packs_are_made_leaves_what_was_there() {
    let folder = Folder::new("upgrade-kill-4");
    let store = folder.store();
    let mut maker = EntryMaker::new(12);
    let mut writer = store.writer(JOURNAL).unwrap();
    for _ in 0..300 {
        let batch = maker.batch(400);
        writer.commit(&batch, maker.mark(), false).unwrap();
    }
    drop(writer);
    make_format_4(&store);
    is_killed(&store, 4, maker);
}

fn is_killed(store: &Sqlite, format: i64, mut maker: EntryMaker) {
    let old = std::fs::read(store.path()).unwrap();
    // How long it takes where nobody kills it.
    let (mut child, _said) = upgrading(store);
    let begun = Instant::now();
    assert!(child.wait().unwrap().success());
    let whole = begun.elapsed();
    assert_eq!(format_of(store), 5);
    let mut in_the_middle = 0;
    for part in 0..12 {
        for name in ["history.db", "history.db-wal", "history.db-shm"] {
            let _ = std::fs::remove_file(store.path().with_file_name(name));
        }
        std::fs::write(store.path(), &old).unwrap();
        // Two kills, one behind the other, then it may end.
        for kill in 0..2 {
            if format_of(store) == 5 {
                break;
            }
            let (mut child, mut said) = upgrading(store);
            std::thread::sleep(whole * (part + kill) / 13 + Duration::from_micros(200));
            child.kill().unwrap();
            child.wait().unwrap();
            let mut rest = String::new();
            let _ = said.read_line(&mut rest);
            in_the_middle += usize::from(!rest.contains("is done"));
            assert!([format, 5].contains(&format_of(store)), "one or the other");
        }
        let store = store.clone().faceted(entries::facets);
        let writer = store.writer(JOURNAL).unwrap();
        assert_eq!(writer.mark(), maker.mark());
        let mut reader = store.reader().unwrap();
        assert_eq!(reader.rows().unwrap(), maker.all.len() as u64, "part {part}");
        (0..12).for_each(|_| maker.check(reader.as_mut()));
        assert_eq!(format_of(&store), 5);
    }
    assert!(in_the_middle > 6, "the kills came too late: {in_the_middle}");
}
