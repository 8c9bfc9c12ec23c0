//! Lists that only grow at their end, packed: the fills of an account, and the changes of its balances.
//!
//! A list of one row per entry costs a search in two trees for each, and what an order changes stands in a dozen of them:
//! so written, the archive took longer over an order than everything else together. Here the entries that one commit adds
//! to a list go into one row, or a few, as bytes of fixed length side by side, oldest first. Nothing is ever added to a
//! row that is in. A row says when its first and last entry were; rows of a list follow each other in time, as entries do.
//!
//! ```text
//!  fills      0 key of the trade u64 | 8 sequence u64 | 16 second i64 | 24 taker's half u64          little-endian
//!  balances   0 sequence u64 | 8 time_ns i64 | 16 asset u64 | 24 available i128 | 40 frozen i128
//! ```
//!
//! Entries of a row are of one version. That of a list is raised by a further length in its table below: words that are appended
//! are 0 in entries of before.

use super::super::row::{BalanceChange, TradeRow};
use super::column::no_entries;
use super::schema;
use super::value::{seconds, trade_key, unsigned};
use ringside_core::ids::{AccountId, AssetId, Sequence};
use rusqlite::{Statement, Transaction, params};

/// `market` of the list of an account's fills in all markets.
pub(super) const ALL: i64 = -1;
/// Words of a fill, by version.
pub(super) const FILLS: PackedList<1> = PackedList { name: "fills", words: [4] };
/// Words of a change of a balance, by version.
pub(super) const BALANCES: PackedList<1> = PackedList { name: "changes of balances", words: [7] };
/// Entries of one row at most: with its columns it fits a page of 4 KiB.
const ENTRIES: usize = 64;

/// A packed list, and how long its entries are, in words of 64 bits, in each of its versions.
pub(super) struct PackedList<const VERSIONS: usize> {
    name: &'static str,
    words: [usize; VERSIONS],
}

impl<const VERSIONS: usize> PackedList<VERSIONS> {
    /// Words of an entry as it is written.
    const fn newest(&self) -> usize {
        self.words[VERSIONS - 1]
    }

    /// How many entries a row has.
    pub(super) fn count(&self, version: u16, len: usize) -> rusqlite::Result<usize> {
        let known = usize::from(version).checked_sub(1).and_then(|before| self.words.get(before));
        let count = known.map(|words| len / (8 * words)).filter(|count| *count > 0);
        let is_whole = |count: &usize| Some(len) == known.map(|words| 8 * words * count);
        count.filter(is_whole).ok_or_else(|| no_entries(self.name, version, len))
    }

    /// The entries of a row, oldest first. `N` is [`PackedList::newest`].
    fn entries<'b, const N: usize>(
        &self,
        version: u16,
        bytes: &'b [u8],
    ) -> rusqlite::Result<impl DoubleEndedIterator<Item = [u64; N]> + use<'b, N, VERSIONS>> {
        let len = bytes.len() / self.count(version, bytes.len())?;
        Ok(bytes.chunks_exact(len).map(|entry| {
            let mut words = [0; N];
            for (word, bytes) in words.iter_mut().zip(entry.as_chunks::<8>().0) {
                *word = u64::from_le_bytes(*bytes);
            }
            words
        }))
    }
}

/// Which list an entry belongs to: account, and market where there is one list for each. Then its place in the batch.
type Place = (AccountId, i64, u32);

/// Puts the places of each list together, in the order of the batch.
fn sorted(mut places: Vec<Place>) -> Vec<Place> {
    places.sort_unstable();
    places
}

/// A row under way.
struct Open {
    bytes: Vec<u8>,
    first_s: i64,
    last_s: i64,
    sequence: Sequence,
}

impl Open {
    fn add(&mut self, second: i64, sequence: Sequence, fields: &[[u8; 8]]) {
        if self.bytes.is_empty() {
            (self.first_s, self.sequence) = (second, sequence);
        }
        self.last_s = second;
        self.bytes.extend_from_slice(fields.as_flattened());
    }

    /// Inserts the row and begins the next.
    fn close(
        &mut self,
        insert: &mut Statement<'_>,
        account: AccountId,
        market: i64,
        version: usize,
    ) -> rusqlite::Result<()> {
        let bytes = &self.bytes[..];
        insert.execute(params![
            account,
            market,
            self.first_s,
            self.last_s,
            unsigned(self.sequence)?,
            bytes,
            version as i64,
        ])?;
        self.bytes.clear();
        Ok(())
    }
}

/// Packs what `places` name, one list after the other.
fn insert<const VERSIONS: usize>(
    transaction: &Transaction<'_>,
    sql: &str,
    places: Vec<Place>,
    packed: &PackedList<VERSIONS>,
    mut add: impl FnMut(&mut Open, Place),
) -> rusqlite::Result<()> {
    let mut statement = transaction.prepare_cached(sql)?;
    let bytes = Vec::with_capacity(ENTRIES * 8 * packed.newest());
    let mut open = Open { bytes, first_s: 0, last_s: 0, sequence: 0 };
    for list in sorted(places).chunk_by(|one, next| (one.0, one.1) == (next.0, next.1)) {
        for row in list.chunks(ENTRIES) {
            row.iter().for_each(|place| add(&mut open, *place));
            open.close(&mut statement, row[0].0, row[0].1, VERSIONS)?;
        }
    }
    Ok(())
}

/// Adds both halves of each trade to the lists of their accounts: that of all markets and that of the trade's.
pub(super) fn insert_fills(transaction: &Transaction<'_>, rows: &[TradeRow]) -> rusqlite::Result<()> {
    let mut places = Vec::with_capacity(4 * rows.len());
    for (index, row) in rows.iter().enumerate() {
        // The maker's half stands before the taker's.
        for (account, half) in [(row.maker_account, 0), (row.taker_account, 1)] {
            let place = 2 * index as u32 + half;
            places.extend([(account, ALL, place), (account, i64::from(row.market), place)]);
        }
    }
    insert(transaction, schema::INSERT_FILLS, places, &FILLS, |open, (_, _, place)| {
        let row = &rows[place as usize / 2];
        let second = seconds(row.time_ns);
        let key = trade_key(row.market, row.trade).to_le_bytes();
        let is_taker = u64::from(place % 2).to_le_bytes();
        open.add(second, row.sequence, &[key, row.sequence.to_le_bytes(), second.to_le_bytes(), is_taker]);
    })
}

/// Adds changes of balances to the lists of their accounts.
pub(super) fn insert_balances(transaction: &Transaction<'_>, rows: &[BalanceChange]) -> rusqlite::Result<()> {
    let places = rows.iter().enumerate().map(|(index, row)| (row.account, ALL, index as u32)).collect();
    insert(transaction, schema::INSERT_BALANCES, places, &BALANCES, |open, (_, _, place)| {
        let row = &rows[place as usize];
        let halves = |amount: i128| {
            let (low, high) = (amount as u64, (amount >> 64) as u64);
            [low.to_le_bytes(), high.to_le_bytes()]
        };
        let ([a, b], [c, d]) = (halves(row.available), halves(row.frozen));
        let asset = u64::from(row.asset).to_le_bytes();
        let (sequence, time) = (row.sequence.to_le_bytes(), row.time_ns.to_le_bytes());
        open.add(seconds(row.time_ns), row.sequence, &[sequence, time, asset, a, b, c, d]);
    })
}

/// An entry of a list of fills.
#[derive(Clone, Copy)]
pub(super) struct Fill {
    pub(super) key: i64,
    pub(super) sequence: Sequence,
    pub(super) second: i64,
    pub(super) is_taker: bool,
}

/// The fills of a row, oldest first.
pub(super) fn fills(
    version: u16,
    bytes: &[u8],
) -> rusqlite::Result<impl DoubleEndedIterator<Item = Fill> + use<'_>> {
    let entries = FILLS.entries::<{ FILLS.newest() }>(version, bytes)?;
    Ok(entries.map(|[key, sequence, second, is_taker]| Fill {
        key: key as i64,
        sequence,
        second: second as i64,
        is_taker: is_taker != 0,
    }))
}

/// The changes of a row, oldest first.
pub(super) fn balances(
    account: AccountId,
    version: u16,
    bytes: &[u8],
) -> rusqlite::Result<impl DoubleEndedIterator<Item = BalanceChange> + use<'_>> {
    let entries = BALANCES.entries::<{ BALANCES.newest() }>(version, bytes)?;
    let wide = |low: u64, high: u64| (u128::from(high) << 64 | u128::from(low)) as i128;
    Ok(entries.map(move |[sequence, time_ns, asset, a, b, c, d]| BalanceChange {
        sequence,
        time_ns: time_ns as i64,
        account,
        asset: asset as AssetId,
        available: wide(a, b),
        frozen: wide(c, d),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_no_row_are_told_by_list_version_and_length() {
        for (version, len) in [(1, 0), (1, 8), (1, 24), (1, 33), (1, 63), (0, 32), (2, 32)] {
            let error = fills(version, &vec![0; len]).map(|_| ()).unwrap_err().to_string();
            let told = [format!("{len} bytes"), "fills".to_owned(), format!("version {version}")];
            assert!(told.iter().all(|told| error.contains(told)), "{error}");
        }
        assert_eq!(fills(1, &[0; 64]).map(|fills| fills.count()), Ok(2));
        assert!(balances(1, 1, &[0; 32]).is_err());
        assert_eq!(balances(1, 1, &[0; 168]).map(|changes| changes.count()), Ok(3));
    }

    /// A word is appended to a list: it is 0 in entries of before.
    #[test]
    fn entries_of_before_lack_what_was_appended() {
        const LIST: PackedList<2> = PackedList { name: "notes", words: [1, 3] };
        let bytes: Vec<u8> = [7_u64, 8, 9].iter().flat_map(|word| word.to_le_bytes()).collect();
        let entries = |version| -> Vec<_> { LIST.entries::<3>(version, &bytes).unwrap().collect() };
        assert_eq!(entries(1), [[7, 0, 0], [8, 0, 0], [9, 0, 0]]);
        assert_eq!(entries(2), [[7, 8, 9]]);
        assert!(LIST.entries::<3>(2, &bytes[..16]).is_err() && LIST.entries::<3>(3, &bytes).is_err());
    }
}
