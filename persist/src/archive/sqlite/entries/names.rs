//! Where entries of a name stand: for tags that are hashes of names, which come in no order at all.
//!
//! In a tree each of them would fall onto a page of its own, and a commit would write as many pages as it has names. Here
//! the names of a commit are one sorted run, written one after the other, and once there are a few runs of a level they are
//! merged into one of the next. Whoever looks for a name looks into every run; there are some ten for each factor of a
//! thousand. Runs that have grown large stay: a merge is a pause of the writer.
//!
//! ```text
//!  pairs    key u64 | last id of the pack u64                                  little-endian, ascending by both
//! ```

use super::super::super::EntriesAsked;
use super::super::schema;
use super::super::value::{bound, unsigned};
use crate::archive::row::Entry;
use crate::archive::sqlite::column::{no_row, unsigned as column};
use rusqlite::{Connection, Transaction, params};

/// Tags from here on are hashes. Numbers of orders do not come to this, and of the hashes one in thirty thousand is less,
/// which the tree takes.
const FIRST_HASH: u64 = 1 << 48;
/// Runs of a level that are merged.
const FAN_IN: usize = 8;
/// Names of a run that is merged no more.
const LARGE: u64 = 1 << 18;
/// Pairs of one row: with its columns it fits a page of 4 KiB.
const PAIRS: usize = 240;

/// A key, and the last id of a pack that has an entry of it.
type Pair = (u64, u64);

/// Whether a tag is looked for here.
pub(super) fn is_hash(tag: u64) -> bool {
    tag >= FIRST_HASH
}

/// A tag in a list of an owner in a market, below 2^63. Where two have one, whoever reads sees from the pack which is meant.
fn key(number: u16, owner: u32, market: u32, tag: u64) -> u64 {
    // Stored, so it stays as it is.
    let list = (u64::from(owner) << 32 | u64::from(market)) ^ u64::from(number) << 16;
    let mixed = (tag ^ list.wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (mixed ^ mixed >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53) >> 1
}

/// Where an entry of a name stands.
pub(super) fn pair(of: &Entry, tag: u64, last_id: u64) -> Pair {
    (key(of.list.number, of.owner, of.market, tag), last_id)
}

/// Adds the names of a commit.
pub(super) fn insert(transaction: &Transaction<'_>, mut pairs: Vec<Pair>) -> rusqlite::Result<()> {
    if pairs.is_empty() {
        return Ok(());
    }
    let mut level = 0;
    loop {
        pairs.sort_unstable();
        pairs.dedup();
        write(transaction, level, &pairs)?;
        let mut runs = transaction.prepare_cached(schema::RUNS_OF_LEVEL)?;
        let runs = runs.query_map(params![level, unsigned(LARGE)?], |row| row.get(0))?;
        let runs = runs.collect::<rusqlite::Result<Vec<i64>>>()?;
        if runs.len() < FAN_IN {
            return Ok(());
        }
        pairs.clear();
        for run in runs {
            take(transaction, run, &mut pairs)?;
        }
        level += 1;
    }
}

fn write(transaction: &Transaction<'_>, level: i64, pairs: &[Pair]) -> rusqlite::Result<()> {
    let mut run = transaction.prepare_cached(schema::INSERT_RUN)?;
    run.execute(params![level, unsigned(pairs.len() as u64)?])?;
    let run = transaction.last_insert_rowid();
    let mut insert = transaction.prepare_cached(schema::INSERT_NAMES)?;
    let mut bytes = Vec::with_capacity(16 * PAIRS);
    for row in pairs.chunks(PAIRS) {
        bytes.clear();
        for (key, last_id) in row {
            bytes.extend_from_slice([key.to_le_bytes(), last_id.to_le_bytes()].as_flattened());
        }
        insert.execute(params![run, unsigned(row[0].0)?, bytes])?;
    }
    Ok(())
}

/// Takes a run out.
fn take(transaction: &Transaction<'_>, run: i64, pairs: &mut Vec<Pair>) -> rusqlite::Result<()> {
    let mut query = transaction.prepare_cached(schema::NAMES_OF_RUN)?;
    let mut rows = query.query([run])?;
    while let Some(row) = rows.next()? {
        pairs.extend(read(row.get_ref(0)?.as_blob()?).ok_or_else(no_row)?);
    }
    transaction.prepare_cached(schema::DELETE_NAMES)?.execute([run])?;
    transaction.prepare_cached(schema::DELETE_RUN)?.execute([run])?;
    Ok(())
}

/// The pairs of a row; `None` for bytes that are no such row.
fn read(bytes: &[u8]) -> Option<impl Iterator<Item = Pair>> {
    let (pairs, rest) = bytes.as_chunks::<16>();
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let is_whole = rest.is_empty() && !pairs.is_empty();
    is_whole.then(|| pairs.iter().map(move |pair| (word(&pair[..8]), word(&pair[8..]))))
}

/// Last ids of the packs that have entries of the tag asked for, ascending.
pub(super) fn packs(
    connection: &Connection,
    asked: &EntriesAsked,
    market: u32,
) -> rusqlite::Result<Vec<i64>> {
    let key = key(asked.list.number, asked.owner, market, asked.tag);
    let mut found = Vec::new();
    let mut runs = connection.prepare_cached(schema::RUNS)?;
    let runs = runs.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<Vec<i64>>>()?;
    let mut query = connection.prepare_cached(schema::NAMES_BEFORE)?;
    for run in runs {
        // Back from the last row that begins at or before the key, to the first that does not begin with it.
        let mut rows = query.query(params![run, unsigned(key)?])?;
        while let Some(row) = rows.next()? {
            let pairs = read(row.get_ref(1)?.as_blob()?).ok_or_else(no_row)?;
            found.extend(pairs.filter(|pair| pair.0 == key).map(|pair| bound(pair.1)));
            if column(row, 0)? < key {
                break;
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}
