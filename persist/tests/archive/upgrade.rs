//! Archives of earlier formats, as the versions that wrote them had them, are taken over whole and go on.

use crate::entries::EntryMaker;
use crate::{Folder, JOURNAL, Maker};
use ringside_persist::archive::row::Entry;
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{Archive, ArchiveError, Batch, Mark};
use rusqlite::types::Value;

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
    let store = folder.store();
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
