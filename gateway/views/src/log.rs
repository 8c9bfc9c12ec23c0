//! One history in memory: what is not archived yet, and a window of what came last.
//!
//! Every kind of row has a log of its own, and every log is one [`List`] of the archive. Rows stand in the order of the events
//! and go from the front, whole commands at a time. Of each row one of the two tiers can be asked: those of commands after
//! [`Log::forgotten`] stand here, all others in the archive. Within an owner and a market, ids and times rise together, so that a
//! page by either is a stretch.

use super::Views;
use super::chunk_pool::Refill;
use super::codec::{LoadError, Reader, Writer};
use super::kept::{List, Stored};
use super::owner_index::{Cursor, OwnerIndex, Rows};
use super::queue::Queue;
use ringside_core::event::{self, Event};
use ringside_core::ids::{MarketId, Sequence};
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

/// Rows let go of at a time, give or take a command: more than a batch of events can bring, so that it keeps up.
const FORGOTTEN_AT_ONCE: usize = 2048;

/// Every facet.
pub const ALL_FACETS: u32 = u32::MAX;

/// Where a row stands and how it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// Whose: an account, or 0 for everyone's.
    pub owner: u32,
    /// Market id.
    pub market: MarketId,
    /// Rises within owner and market.
    pub id: u64,
    /// UNIX milliseconds; never falls where ids rise.
    pub time_ms: i64,
    /// What else it can be asked for by, below 2^63; 0 for nothing.
    pub tag: u64,
}

/// A row of a history.
pub trait Row: Stored {
    /// Its place.
    fn key(&self) -> Key;

    /// Whether it may come after rows of a larger id: orders end in another order than they are placed.
    const IS_LATE: bool = false;

    /// Whether it is filtered by anything but its key.
    const HAS_FACETS: bool = false;

    /// What it is filtered by, below 32. The archive counts its rows by it, so the facet of a record never changes.
    fn facet(&self) -> u8 {
        0
    }
}

/// A row that an event makes.
pub(crate) trait OfEvent: Row {
    /// What the event tells.
    type Told: event::Payload;

    /// Its rows.
    fn rows(event: &Event, told: &Self::Told) -> impl Iterator<Item = Self>;
}

/// What a stored row of a version is filtered by; nothing for bytes that are none.
pub(crate) type FacetOf = fn(u16, &[u8]) -> Option<u8>;

/// That of a row.
pub(crate) fn facet_of<T: Row>(version: u16, bytes: &[u8]) -> Option<u8> {
    T::read(version, bytes).ok().map(|row| row.facet())
}

/// A row that has a list of the archive to itself.
pub trait Archived: Row + Send + 'static {
    /// The list.
    const LIST: List;
    /// Its log among the views.
    fn log(views: &Views) -> &Log<Self>;
}

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Page {
    /// Account id.
    pub owner: u32,
    /// In one market only.
    pub market: Option<MarketId>,
    /// With this tag only; 0 for any.
    pub tag: u64,
    /// Of these facets only, a bit for each; [`ALL_FACETS`] for any.
    pub facets: u32,
    /// Ids.
    pub ids: RangeInclusive<u64>,
    /// UNIX milliseconds.
    pub times: RangeInclusive<i64>,
    /// Whether the oldest are wanted; else the newest.
    pub is_oldest: bool,
    /// How many at most.
    pub limit: usize,
}

impl Page {
    /// Everything of an owner in a market, newest first.
    pub fn new(owner: u32, market: Option<MarketId>, limit: usize) -> Page {
        let (ids, times) = (0..=u64::MAX, i64::MIN..=i64::MAX);
        Page { owner, market, tag: 0, facets: ALL_FACETS, ids, times, is_oldest: false, limit }
    }

    /// Only rows of a tag.
    #[must_use]
    pub fn tagged(self, tag: u64) -> Page {
        Page { tag, ..self }
    }

    /// Only rows of these facets.
    #[must_use]
    pub fn faceted(self, facets: u32) -> Page {
        Page { facets, ..self }
    }

    /// Whether nothing but owner, market, ids and times is asked for: then the rows are stretches, and nothing is passed by.
    pub fn is_plain(&self) -> bool {
        self.tag == 0 && self.facets == ALL_FACETS
    }

    /// Whether a row is of the tag and the facets asked for.
    fn fits<T: Row>(&self, row: &T) -> bool {
        (self.tag == 0 || row.key().tag == self.tag)
            && (self.facets == ALL_FACETS || self.facets >> (row.facet() & 31) & 1 != 0)
    }

    /// Whether a row of the owner is asked for.
    pub fn wants<T: Row>(&self, row: &T) -> bool {
        let key = row.key();
        self.market.is_none_or(|market| market == key.market)
            && self.ids.contains(&key.id)
            && self.times.contains(&key.time_ms)
            && self.fits(row)
    }

    /// The oldest rows from an id on.
    #[must_use]
    pub fn from_id(self, id: u64) -> Page {
        Page { ids: id..=u64::MAX, is_oldest: true, ..self }
    }

    /// The row of an id.
    #[must_use]
    pub fn of_id(self, id: u64) -> Page {
        Page { ids: id..=id, ..self }
    }

    /// Whether one id is asked for.
    pub fn is_of_one(&self) -> bool {
        self.ids.start() == self.ids.end()
    }

    /// Rows of a time, both ends included.
    #[must_use]
    pub fn within(self, times: RangeInclusive<i64>) -> Page {
        Page { times, ..self }
    }

    /// The oldest first instead of the newest.
    #[must_use]
    pub fn oldest(self, is_oldest: bool) -> Page {
        Page { is_oldest, ..self }
    }

    /// Puts rows of both tiers in order of time and id, each once, and cuts them to the limit.
    pub fn join<T: Row>(&self, rows: &mut Vec<T>) {
        let order = |row: &T| {
            let key = row.key();
            (key.time_ms, key.id, key.market)
        };
        rows.sort_by_key(order);
        rows.dedup_by_key(|row| order(row));
        if self.is_oldest {
            rows.truncate(self.limit);
        } else {
            rows.drain(..rows.len().saturating_sub(self.limit));
        }
    }
}

/// Where a walk over rows of several markets stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Time of the last row that was passed, UNIX milliseconds.
    pub time_ms: i64,
    /// By market, the last of its rows of that time that was passed.
    pub passed: Vec<(MarketId, u64)>,
}

/// How much of its histories a view keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// Everything: for tools, and to compare with.
    All,
    /// What is not archived, and so many rows that are.
    Window(usize),
    /// Nothing: rows are taken out as they come.
    Nothing,
}

impl Retention {
    /// Of a window a part.
    #[must_use]
    pub(crate) fn part(self, of: usize) -> Retention {
        match self {
            Retention::Window(rows) => Retention::Window(rows / of),
            keep => keep,
        }
    }
}

/// A row that a command added to a history.
#[derive(Clone, Copy, Debug)]
pub struct Added<'a> {
    /// A [`List`], or the list of a series of candles.
    pub list: u16,
    /// Its place.
    pub key: Key,
    /// Version of the bytes.
    pub version: u16,
    /// The row as it is stored.
    pub bytes: &'a [u8],
}

/// Gives rows as they are stored to whoever takes them.
pub(crate) struct Adding<F> {
    add: F,
    bytes: Vec<u8>,
}

impl<F: FnMut(Added<'_>)> Adding<F> {
    pub(crate) fn new(add: F) -> Adding<F> {
        Adding { add, bytes: Vec::new() }
    }

    /// All rows of a log.
    pub(crate) fn all<T: Row>(&mut self, log: &Log<T>, list: List) {
        log.iter().for_each(|row| self.row(list as u16, row));
    }

    /// A row.
    pub(crate) fn row<T: Row>(&mut self, list: u16, row: &T) {
        self.bytes.clear();
        row.write(&mut self.bytes);
        (self.add)(Added { list, key: row.key(), version: T::KEPT.newest(), bytes: &self.bytes });
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Log<T> {
    rows: Queue<(Sequence, T)>,
    /// Place of the first row; places grow by one and are never given twice.
    first: u64,
    lists: OwnerIndex,
    keep: Retention,
    through: Sequence,
}

impl<T: Row> Log<T> {
    /// Nothing yet.
    pub fn new(keep: Retention) -> Log<T> {
        Log { rows: Queue::default(), first: 0, lists: OwnerIndex::default(), keep, through: 0 }
    }

    /// Its spare memory.
    pub(crate) fn spares(&self) -> Arc<dyn Refill>
    where
        T: Send + Sync + 'static,
    {
        self.rows.spares()
    }

    /// So many rows may come with one command.
    pub(super) fn expect(&self, rows: usize) {
        self.rows.expect(rows);
    }

    /// Nothing is kept of this command and before.
    pub(crate) fn forgotten_through(self, through: Sequence) -> Log<T> {
        Log { through, ..self }
    }

    /// Adds a row.
    pub fn push(&mut self, sequence: Sequence, row: T) {
        let place = self.first + self.rows.len() as u64;
        self.rows.push_back((sequence, row));
        if self.keep == Retention::Nothing {
            return;
        }
        let key = row.key();
        self.lists.push(key.owner, key.market, (key.id, place));
    }

    /// Adds the rows that an event makes.
    pub(crate) fn told(&mut self, event: &Event)
    where
        T: OfEvent,
    {
        let told = event.get::<T::Told>().into_iter();
        told.flat_map(|told| T::rows(event, told)).for_each(|row| self.push(event.sequence, row));
    }

    /// Rows of this command and before are in the archive alone.
    pub fn archived_through(&self) -> Sequence {
        self.through
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether rows from a time on, of all markets, are all kept. Of the oldest millisecond that is, some may have gone.
    pub fn has_all_from(&self, time_ms: i64) -> bool {
        self.rows.front().is_some_and(|(_, row)| row.key().time_ms < time_ms)
    }

    /// All rows that are kept, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> {
        self.rows.iter().map(|(_, row)| row)
    }

    /// The rows of an owner that are kept, market by market, oldest first.
    pub fn of(&self, owner: u32) -> impl DoubleEndedIterator<Item = &T> {
        self.lists.of(owner, None).flat_map(Rows::iter).map(|(_, place)| self.at(*place))
    }

    fn at(&self, place: u64) -> &T {
        &self.rows.get((place - self.first) as usize).expect("lists point at rows that are kept").1
    }

    /// The row of an id.
    pub fn get(&self, owner: u32, market: MarketId, id: u64) -> Option<&T> {
        Some(self.at(self.lists.get(owner, market)?.find(id)?))
    }

    /// The row of an id that no other market of the owner has.
    pub fn find(&self, owner: u32, id: u64) -> Option<&T> {
        let place = self.lists.of(owner, None).find_map(|rows| rows.find(id))?;
        Some(self.at(place))
    }

    /// Rows with smaller ids that are kept, newest first.
    pub fn before(&self, owner: u32, market: MarketId, id: u64) -> impl Iterator<Item = &T> {
        let rows = self.lists.get(owner, market).into_iter().flat_map(move |list| {
            let end = list.partition_point(|(known, _)| *known < id);
            list.range(list.start()..end).rev()
        });
        rows.map(|(_, place)| self.at(*place))
    }

    /// Where the ids and times asked for stand among the rows of a list.
    fn stretch(&self, list: Rows<'_>, page: &Page) -> Range<Cursor> {
        let time_ms = |place: u64| self.at(place).key().time_ms;
        let first = list
            .partition_point(|(id, place)| id < page.ids.start() || time_ms(*place) < *page.times.start());
        let end =
            list.partition_point(|(id, place)| id <= page.ids.end() && time_ms(*place) <= *page.times.end());
        first..end.max(first)
    }

    /// The rows asked for that are kept, oldest first.
    pub fn page(&self, page: &Page) -> Vec<T> {
        let mut found = Vec::new();
        for list in self.lists.of(page.owner, page.market) {
            let rows = list.range(self.stretch(list, page)).map(|(_, place)| *self.at(*place));
            let rows = rows.filter(|row| page.fits(row));
            match page.is_oldest {
                true => found.extend(rows.take(page.limit)),
                false => found.extend(rows.rev().take(page.limit)),
            }
        }
        page.join(&mut found);
        found
    }

    /// How many rows that are kept a page would have without its limit. Unless it is plain, every row is looked at.
    pub fn count(&self, page: &Page) -> u64 {
        if !page.is_plain() {
            return self.page(&Page { limit: usize::MAX, ..page.clone() }).len() as u64;
        }
        self.lists.of(page.owner, page.market).map(|list| list.count(self.stretch(list, page)) as u64).sum()
    }

    /// Places of the rows of the ids and times asked for, whatever their tags and facets, market by market, each from the end
    /// asked for on.
    pub fn places(&self, page: &Page) -> Vec<Vec<u64>> {
        let of_list = |list: Rows<'_>| {
            let rows = list.range(self.stretch(list, page)).map(|(_, place)| *place);
            if page.is_oldest { rows.collect() } else { rows.rev().collect() }
        };
        self.lists.of(page.owner, page.market).map(of_list).collect()
    }

    /// The row of a place, unless it was let go of, and the command that made it.
    pub fn placed(&self, place: u64) -> Option<(Sequence, &T)> {
        let at = usize::try_from(place.checked_sub(self.first)?).ok()?;
        self.rows.get(at).map(|(sequence, row)| (*sequence, row))
    }

    /// Everything of `archived` and before can be read elsewhere; what is above the window goes.
    pub fn forget(&mut self, archived: Sequence) {
        let window = match self.keep {
            Retention::All => return,
            Retention::Window(window) => window,
            Retention::Nothing => {
                self.first += self.rows.len() as u64;
                self.rows.clear();
                self.through = archived;
                return;
            }
        };
        let mut count = 0;
        while self.rows.len() > window && count < FORGOTTEN_AT_ONCE {
            let Some((oldest, _)) = self.rows.front().filter(|(sequence, _)| *sequence <= archived) else {
                return;
            };
            let oldest = *oldest;
            while self.rows.front().is_some_and(|(sequence, _)| *sequence == oldest) {
                self.pop();
                count += 1;
            }
            self.through = oldest;
        }
    }

    fn pop(&mut self) {
        let Some((_, row)) = self.rows.pop_front() else { return };
        self.first += 1;
        let key = row.key();
        self.lists.pop(key.owner, key.market, key.id);
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.u64(self.through);
        writer.count(self.rows.len());
        for (sequence, row) in self.rows.iter() {
            writer.u64(*sequence);
            writer.record(row);
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>, keep: Retention) -> Result<Log<T>, LoadError> {
        let mut loaded = Log::new(keep);
        loaded.through = reader.u64()?;
        let mut last = loaded.through;
        for _ in 0..reader.count()? {
            let sequence = reader.u64()?;
            if sequence < last || sequence <= loaded.through {
                return Err(reader.bad("sequence"));
            }
            last = sequence;
            let row: T = reader.record()?;
            if !reader.knows(row.key().owner) {
                return Err(reader.bad("owner"));
            }
            loaded.push(sequence, row);
        }
        Ok(loaded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perpetual::rows::MarginRecord;

    fn row(id: u64, time_ms: i64, owner: u32, market: u32) -> MarginRecord {
        MarginRecord { number: id, amount: 1, time_ms, account: owner, market, kind: id % 3 }
    }

    fn filled(keep: Retention) -> Log<MarginRecord> {
        let mut log = Log::new(keep);
        for id in 1..=20_u64 {
            log.push(id.div_ceil(2), row(id, id as i64 * 10, id as u32 % 2, id as u32 % 4 / 2));
        }
        log
    }

    fn ids(log: &Log<MarginRecord>, page: &Page) -> Vec<u64> {
        log.page(page).iter().map(|row| row.number).collect()
    }

    #[test]
    fn pages_by_time_id_and_tag() {
        let log = filled(Retention::All);
        assert_eq!(ids(&log, &Page::new(0, None, 3)), [16, 18, 20]);
        assert_eq!(ids(&log, &Page::new(0, None, 3).oldest(true)), [2, 4, 6]);
        assert_eq!(ids(&log, &Page::new(0, Some(1), 3).oldest(true)), [2, 6, 10]);
        assert_eq!(ids(&log, &Page::new(0, None, 9).within(95..=140)), [10, 12, 14]);
        assert_eq!(ids(&log, &Page::new(1, None, 2).from_id(6)), [7, 9]);
        assert_eq!(ids(&log, &Page::new(1, None, 9).tagged(2)), [5, 11, 17]);
        assert_eq!(ids(&log, &Page::new(1, None, 9).within(400..=401)), [0u64; 0]);
        assert_eq!(log.get(1, 0, 5).map(|row| row.number), Some(5));
        assert_eq!(log.get(1, 1, 5), None);
    }

    #[test]
    fn whole_commands_go_from_the_front_once_they_are_archived() {
        let mut log = filled(Retention::Window(5));
        log.forget(4);
        assert_eq!((log.len(), log.archived_through()), (12, 4));
        assert_eq!(ids(&log, &Page::new(0, None, 2).oldest(true)), [10, 12]);
        log.forget(100);
        // Of a command all rows stay or none.
        assert_eq!((log.len(), log.archived_through()), (4, 8));
        let mut bytes = Vec::new();
        log.save(&mut Writer(&mut bytes));
        let mut reader = Reader::new(&bytes);
        reader.limit_accounts(2);
        let loaded = Log::<MarginRecord>::load(&mut reader, Retention::Window(5)).unwrap();
        assert!(
            Log::<MarginRecord>::load(&mut Reader::new(&bytes), Retention::Window(5)).is_err(),
            "whose rows these are"
        );
        assert!(loaded.iter().eq(log.iter()) && loaded.archived_through() == 8);
    }

    #[test]
    fn a_late_end_stands_where_its_id_belongs() {
        let mut log = Log::new(Retention::Window(0));
        for (sequence, id) in [(1, 5), (2, 7), (3, 6)] {
            log.push(sequence, row(id, id as i64, 1, 1));
        }
        assert_eq!(ids(&log, &Page::new(1, Some(1), 9)), [5, 6, 7]);
        log.forget(2);
        assert_eq!(ids(&log, &Page::new(1, Some(1), 9)), [6]);
    }
}
