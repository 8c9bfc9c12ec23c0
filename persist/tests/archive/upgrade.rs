//! Archives of earlier formats, as the versions that wrote them had them, are taken over whole and go on.

use crate::entries::{self, EntryMaker};
use crate::{Folder, JOURNAL};
use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::reject::Reject;
use ringside_persist::archive::before::{BalanceChange, Before, CandleRow, CreditRow, OrderRow, TradeRow};
use ringside_persist::archive::row::{Entry, List};
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{
    ALL_FACETS, Archive, ArchiveError, ArchiveReader, EntriesAsked, Mark, Upgrade,
};
use ringside_persist::storage::faulty::Random;
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

/// Accounts, markets and assets of rows of before.
const ACCOUNTS: u64 = 4;
const MARKETS: u64 = 3;
/// Lists that they are put into here.
const TAKEN: u16 = 91;

/// Rows that had tables of their own, as an engine would make them: ids dense, times never falling.
fn spot_rows(seed: u64, commands: u64) -> Vec<Before> {
    let mut random = Random::new(seed);
    let (mut rows, mut trades, mut time_ns) = (Vec::new(), [0; MARKETS as usize], 1_700_000_000_000_000_000);
    for sequence in 1..=commands {
        time_ns += random.below(2_000_000_000) as i64 * random.below(2) as i64;
        let mut amount = || {
            let wide = i128::from(random.below(u64::MAX)) << random.below(60);
            if random.below(3) == 0 { -wide } else { wide }
        };
        let (one, other) = (amount(), amount());
        let (account, market) = (random.below(ACCOUNTS) as u32, random.below(MARKETS) as u32);
        match random.below(4) {
            0 => rows.push(Before::Order(OrderRow {
                sequence,
                order: sequence,
                account,
                market,
                side: Side::ALL[random.below(2) as usize],
                order_type: OrderType::Limit,
                time_in_force: TimeInForce::GoodTillCancel,
                status: OrderStatus::Canceled,
                reject: Reject::from_code(random.below(9) as u16),
                price: random.below(1 << 62) as i64,
                quantity: random.below(1 << 40) as i64,
                filled: random.below(1 << 40) as i64,
                quote_quantity: one,
                traded: other,
                created_ns: time_ns - 5_000_000_001,
                updated_ns: time_ns,
            })),
            1 => {
                trades[market as usize] += 1;
                rows.push(Before::Trade(TradeRow {
                    sequence,
                    trade: trades[market as usize],
                    market,
                    taker_side: Side::Sell,
                    price: random.below(1 << 50) as i64,
                    quantity: random.below(1 << 50) as i64,
                    maker_order: random.below(1 << 50),
                    taker_order: random.below(1 << 50),
                    maker_account: random.below(ACCOUNTS) as u32,
                    taker_account: account,
                    maker_fee: one,
                    taker_fee: other,
                    time_ns,
                }));
            }
            2 => {
                // Both assets of a market, and sometimes one of them again.
                for index in 0..2 + random.below(2) {
                    let asset = (index % 2) as u16;
                    rows.push(Before::Balance(BalanceChange {
                        sequence,
                        time_ns,
                        account,
                        asset,
                        index,
                        available: one,
                        frozen: other,
                    }));
                }
            }
            _ => {
                let reason = [random.below(256) as u8; 64];
                rows.push(Before::Credit(CreditRow {
                    sequence,
                    time_ns,
                    account,
                    asset: 1,
                    amount: one,
                    reason,
                }));
                rows.push(Before::Candle(CandleRow {
                    sequence,
                    market,
                    interval_s: 60,
                    open_s: 60 * sequence as i64,
                    open: 1,
                    high: 2,
                    low: 3,
                    close: 4,
                    volume: one,
                    quote_volume: other,
                    trades: 5,
                }));
            }
        }
    }
    rows
}

/// Puts rows into the tables of a format.
fn fill(old: &rusqlite::Connection, format: i64, rows: &[Before]) {
    let wide = |amount: i128| match i64::try_from(amount) {
        Ok(small) => Value::Integer(small),
        Err(_) => Value::Blob(amount.to_be_bytes().to_vec()),
    };
    let split = |ns: i64| (ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000));
    old.execute_batch("BEGIN").unwrap();
    for row in rows {
        match row {
            Before::Order(row) => {
                let (created_s, created_rest) = split(row.created_ns);
                let values = vec![
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
                ];
                insert(old, "orders", values);
            }
            Before::Trade(row) => {
                let (time_s, time_rest) = split(row.time_ns);
                let values = vec![
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
                ];
                insert(old, "trades", values);
            }
            Before::Balance(row) if format == 1 => {
                let (time_s, time_rest) = split(row.time_ns);
                let (account, asset) = (int(row.account.into()), int(row.asset.into()));
                let values = [int(row.sequence), time_s.into(), time_rest.into(), account, asset];
                let amounts = [wide(row.available), wide(row.frozen)];
                insert(old, "balances", [vec![Value::Null], values.to_vec(), amounts.to_vec()].concat());
            }
            Before::Balance(_) => {}
            Before::Credit(row) => {
                let (account, asset) = (int(row.account.into()), int(row.asset.into()));
                let reason = Value::Blob(row.reason.to_vec());
                let time = row.time_ns.into();
                let values =
                    vec![Value::Null, int(row.sequence), time, account, asset, wide(row.amount), reason];
                insert(old, "credits", values);
            }
            Before::Candle(row) => {
                let key = [int(row.market.into()), int(row.interval_s.into()), row.open_s.into()];
                let prices = [row.open.into(), row.high.into(), row.low.into(), row.close.into()];
                let sums = [wide(row.volume), wide(row.quote_volume), int(row.trades)];
                let values = [&key[..], &[int(row.sequence)], &prices, &sums].concat();
                insert(old, "candles", values);
            }
        }
    }
    if format > 1 {
        pack_balances(old, format, rows);
    }
    old.execute_batch("COMMIT").unwrap();
}

/// Balances from format 2 on: of each account so many in a row, side by side.
fn pack_balances(old: &rusqlite::Connection, format: i64, rows: &[Before]) {
    for account in 0..ACCOUNTS as u32 {
        let own = rows.iter().filter_map(|row| match row {
            Before::Balance(row) if row.account == account => Some(row),
            _ => None,
        });
        let own: Vec<&BalanceChange> = own.collect();
        for pack in own.chunks(64) {
            let mut bytes = Vec::new();
            for row in pack {
                bytes.extend_from_slice(&row.sequence.to_le_bytes());
                bytes.extend_from_slice(&row.time_ns.to_le_bytes());
                bytes.extend_from_slice(&u64::from(row.asset).to_le_bytes());
                bytes.extend_from_slice(&row.available.to_le_bytes());
                bytes.extend_from_slice(&row.frozen.to_le_bytes());
            }
            let second = |row: &BalanceChange| Value::Integer(row.time_ns.div_euclid(1_000_000_000));
            let (first, last) = (pack[0], pack[pack.len() - 1]);
            let mut values =
                vec![Value::Null, int(account.into()), Value::Integer(-1), second(first), second(last)];
            values.extend([int(first.sequence), Value::Blob(bytes)]);
            values.extend((format > 3).then(|| int(1)));
            insert(old, "balances", values);
        }
    }
}

/// What becomes of such rows here: each is the text of itself, in a list of its kind.
fn taken(before: &Before, entries: &mut Vec<Entry>) {
    let (kind, sequence, owner, market, id, time_ns) = match before {
        Before::Order(row) => (0, row.sequence, row.account, row.market, row.order, row.created_ns),
        Before::Trade(row) => (1, row.sequence, 0, row.market, row.trade, row.time_ns),
        Before::Balance(row) => {
            (2, row.sequence, row.account, row.asset.into(), row.sequence << 20 | row.index, row.time_ns)
        }
        Before::Credit(row) => (3, row.sequence, 0, 0, row.sequence, row.time_ns),
        Before::Candle(row) => {
            (4, row.sequence, 0, row.market, row.open_s as u64, row.open_s * 1_000_000_000)
        }
    };
    entries.push(Entry {
        sequence,
        list: List { number: TAKEN + kind, is_late: kind == 0 },
        owner,
        market,
        id,
        time_ms: time_ns.div_euclid(1_000_000),
        tag: 0,
        version: 1,
        bytes: format!("{before:?}").into_bytes().into(),
    });
}

/// That an archive has these rows, each once.
fn assert_taken(reader: &mut dyn ArchiveReader, rows: &[Before]) {
    let mut expected = Vec::new();
    rows.iter().for_each(|row| taken(row, &mut expected));
    let mut found = Vec::new();
    for number in TAKEN..TAKEN + 5 {
        for owner in 0..ACCOUNTS as u32 {
            let asked = EntriesAsked {
                list: List { number, is_late: number == TAKEN },
                owner,
                market: None,
                tag: 0,
                facets: ALL_FACETS,
                ids: 0..=u64::MAX,
                times: i64::MIN..=i64::MAX,
                through: u64::MAX,
                is_oldest: true,
                limit: usize::MAX,
                work: usize::MAX,
            };
            reader.entries(&asked, &mut found).unwrap();
        }
    }
    let key = |entry: &Entry| (entry.list.number, entry.owner, entry.market, entry.id);
    expected.sort_by_key(key);
    found.sort_by_key(key);
    assert!(found == expected, "{} rows of {}", found.len(), expected.len());
}

#[test]
fn an_archive_of_format_1_is_taken_over() {
    let folder = Folder::new("format-1");
    let store = folder.store().faceted(entries::facets).taking_over(taken);
    let (rows, mut maker) = (spot_rows(5, 2_000), EntryMaker::new(5));
    fill(&made(&store, include_str!("../golden/archive_1.sql"), 1, maker.mark()), 1, &rows);
    let error = store.writer([8; 16]).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::Foreign { .. }), "another journal's is left as it is: {error}");
    let mut writer = store.writer(JOURNAL).unwrap();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.rows().unwrap(), rows.len() as u64);
    assert_taken(reader.as_mut(), &rows);
    // And goes on.
    let batch = maker.batch(500);
    writer.commit(&batch, maker.mark(), true).unwrap();
    (0..200).for_each(|_| maker.check(reader.as_mut()));
    assert_taken(reader.as_mut(), &rows);
}

/// Rows of which nobody knows what becomes of them are not dropped.
#[test]
fn rows_that_nobody_takes_over_stay() {
    let folder = Folder::new("nobody");
    let store = folder.store();
    let rows = spot_rows(6, 50);
    fill(&made(&store, include_str!("../golden/archive_5.sql"), 5, Mark::default()), 5, &rows);
    let error = store.writer(JOURNAL).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("nobody takes over"), "{error}");
    assert_eq!(format_of(&store), 5);
    let store = store.taking_over(taken);
    drop(store.writer(JOURNAL).unwrap());
    assert_taken(store.reader().unwrap().as_mut(), &rows);
}

/// An archive of format 2 with these entries: one row each, found by its time, its id, its tag, and across all markets.
fn write_format_2(store: &Sqlite, entries: &[Entry], mark: Mark) -> rusqlite::Connection {
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
    old
}

#[test]
fn an_archive_of_format_2_is_taken_over() {
    let folder = Folder::new("format-2");
    let store = folder.store().faceted(entries::facets).taking_over(taken);
    let (rows, mut maker) = (spot_rows(9, 2_000), EntryMaker::new(9));
    maker.batch(2_500);
    fill(&write_format_2(&store, &maker.all, maker.mark()), 2, &rows);
    let mut writer = store.writer(JOURNAL).unwrap();
    assert_eq!(writer.mark(), maker.mark());
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.rows().unwrap(), (maker.all.len() + rows.len()) as u64);
    assert_taken(reader.as_mut(), &rows);
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
    assert_eq!(reader.rows().unwrap(), (maker.all.len() + rows.len()) as u64);
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

/// Makes an archive of today one of format 5, with these rows: the spot side had tables of its own.
fn make_format_5(store: &Sqlite, rows: &[Before]) {
    let old = rusqlite::Connection::open(store.path()).unwrap();
    let tables = include_str!("../golden/archive_5.sql");
    for statement in tables.split(";\n") {
        let is_spot = ["orders", "trades", "credits", "candles", "fills", "balances", "lists"];
        if is_spot.iter().any(|name| statement.contains(&format!(" {name} ("))) {
            old.execute_batch(statement).unwrap();
        }
    }
    old.execute_batch("UPDATE meta SET format = 5").unwrap();
    assert_schema(&old, tables);
    fill(&old, 5, rows);
}

/// One of format 4: it had no heads of packs, and an index in their place.
fn make_format_4(store: &Sqlite, rows: &[Before]) {
    make_format_5(store, rows);
    let old = rusqlite::Connection::open(store.path()).unwrap();
    old.execute_batch(
        "DROP TABLE heads; CREATE UNIQUE INDEX packs_id ON packs (list, owner, market, last_id);
         UPDATE meta SET format = 4;",
    )
    .unwrap();
    assert_schema(&old, include_str!("../golden/archive_4.sql"));
}

/// One of format 3: it had no versions either.
fn make_format_3(store: &Sqlite, rows: &[Before]) {
    make_format_4(store, rows);
    let old = rusqlite::Connection::open(store.path()).unwrap();
    old.execute_batch(
        "ALTER TABLE fills DROP COLUMN version; ALTER TABLE balances DROP COLUMN version;
         ALTER TABLE packs DROP COLUMN version; DROP TABLE lists; UPDATE meta SET format = 3;",
    )
    .unwrap();
    assert_schema(&old, include_str!("../golden/archive_3.sql"));
}

#[test]
fn an_archive_of_a_later_build_is_refused() {
    let folder = Folder::new("later");
    let store = folder.store();
    drop(store.writer(JOURNAL).unwrap());
    let later = rusqlite::Connection::open(store.path()).unwrap();
    later.execute_batch("UPDATE meta SET format = 9").unwrap();
    let error = store.writer(JOURNAL).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::Format { found: 9, known: 6, .. }), "{error}");
}

/// Makes an archive one of before.
type Make = fn(&Sqlite, &[Before]);

/// What upgrades told.
static TOLD: Mutex<Vec<Upgrade>> = Mutex::new(Vec::new());

#[test]
fn archives_of_formats_3_to_5_are_taken_over() {
    for (format, make) in [(3, make_format_3 as Make), (4, make_format_4), (5, make_format_5)] {
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

fn is_taken_over(format: i64, make: Make) {
    let folder = Folder::new(&format!("format-{format}"));
    let store = folder.store().faceted(entries::facets).taking_over(taken);
    let (rows, mut maker) = (spot_rows(7, 2_000), EntryMaker::new(7));
    let batch = maker.batch(2_000);
    store.writer(JOURNAL).unwrap().commit(&batch, maker.mark(), true).unwrap();
    let whole = tables(&store);
    make(&store, &[]);
    let store = store.telling(|upgrade| TOLD.lock().unwrap().push(*upgrade));
    drop(store.writer(JOURNAL).unwrap());
    assert_eq!(tables(&store), whole, "as if it had always been of this format");
    make(&store, &rows);
    TOLD.lock().unwrap().clear();
    let mut writer = store.writer(JOURNAL).unwrap();
    assert_eq!(writer.mark(), maker.mark());
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.rows().unwrap(), (maker.all.len() + rows.len()) as u64);
    assert_taken(reader.as_mut(), &rows);
    (0..200).for_each(|_| maker.check(reader.as_mut()));
    // And goes on.
    let batch = maker.batch(500);
    writer.commit(&batch, maker.mark(), true).unwrap();
    (0..200).for_each(|_| maker.check(reader.as_mut()));
    drop(store.writer(JOURNAL).unwrap());
    let told = TOLD.lock().unwrap();
    let [Upgrade { done: None, .. }, Upgrade { what: "format", from, to: 6, done: Some((1.., _)) }] =
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
    drop(
        Sqlite::new(path).faceted(entries::facets).taking_over(taken).telling(tell).writer(JOURNAL).unwrap(),
    );
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
    is_killed(&folder.store(), 2, maker, &[]);
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
    make_format_4(&store, &[]);
    is_killed(&store, 4, maker, &[]);
}

#[test]
fn kill_9_while_tables_become_entries_leaves_what_was_there() {
    let folder = Folder::new("upgrade-kill-5");
    let store = folder.store();
    let (rows, maker) = (spot_rows(13, 60_000), EntryMaker::new(13));
    store.writer(JOURNAL).unwrap().commit(&[], maker.mark(), true).unwrap();
    make_format_5(&store, &rows);
    is_killed(&store, 5, maker, &rows);
}

fn is_killed(store: &Sqlite, format: i64, mut maker: EntryMaker, spot: &[Before]) {
    let old = std::fs::read(store.path()).unwrap();
    // How long it takes where nobody kills it.
    let (mut child, _said) = upgrading(store);
    let begun = Instant::now();
    assert!(child.wait().unwrap().success());
    let whole = begun.elapsed();
    assert_eq!(format_of(store), 6);
    let mut in_the_middle = 0;
    for part in 0..12 {
        for name in ["history.db", "history.db-wal", "history.db-shm"] {
            let _ = std::fs::remove_file(store.path().with_file_name(name));
        }
        std::fs::write(store.path(), &old).unwrap();
        // Two kills, one behind the other, then it may end.
        for kill in 0..2 {
            if format_of(store) == 6 {
                break;
            }
            let (mut child, mut said) = upgrading(store);
            std::thread::sleep(whole * (part + kill) / 13 + Duration::from_micros(200));
            child.kill().unwrap();
            child.wait().unwrap();
            let mut rest = String::new();
            let _ = said.read_line(&mut rest);
            in_the_middle += usize::from(!rest.contains("is done"));
            assert!([format, 6].contains(&format_of(store)), "one or the other");
        }
        let store = store.clone().faceted(entries::facets).taking_over(taken);
        let writer = store.writer(JOURNAL).unwrap();
        assert_eq!(writer.mark(), maker.mark());
        let mut reader = store.reader().unwrap();
        assert_eq!(reader.rows().unwrap(), (maker.all.len() + spot.len()) as u64, "part {part}");
        assert_taken(reader.as_mut(), spot);
        (0..12).for_each(|_| maker.check(reader.as_mut()));
        assert_eq!(format_of(&store), 6);
    }
    assert!(in_the_middle > 6, "the kills came too late: {in_the_middle}");
}
