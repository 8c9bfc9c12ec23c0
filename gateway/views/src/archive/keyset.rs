//! Rows of an account over several markets in order of time, from a place on: what pages by cursor are cut from.
//!
//! Each market's rows are read by themselves, some at a time, from where the place says, through the index of time; so a page costs
//! the same wherever it begins. Rows that come while somebody turns pages stand behind all that were passed, as time never falls.

use super::History;
use super::pages::{ORDERS, Source, source};
use super::readers::Unreadable;
use crate::log::{Page, Place, Row};
use crate::perpetual::order::OrderRecord;
use crate::perpetual::rows::FillRecord;
use ringside_core::ids::{AccountId, MarketId};
use std::collections::VecDeque;
use std::ops::RangeInclusive;

/// Rows of a market read at a time, at least.
const AT_ONCE: usize = 64;

/// A row that can be walked over.
pub trait Walked: Row + Send + 'static {
    /// Where its rows come from.
    fn source() -> Source<Self>;
}

impl Walked for FillRecord {
    fn source() -> Source<FillRecord> {
        source()
    }
}

impl Walked for OrderRecord {
    fn source() -> Source<OrderRecord> {
        ORDERS
    }
}

/// A walk over the rows of an account.
pub struct Walk<T> {
    owner: AccountId,
    times: RangeInclusive<i64>,
    is_descending: bool,
    at_once: usize,
    facets: u32,
    place: Option<Place>,
    passed: u64,
    streams: Vec<Stream<T>>,
}

/// The rows of one market.
struct Stream<T> {
    market: MarketId,
    /// What is read next; `None` at the end.
    next: Option<Page>,
    rows: VecDeque<T>,
}

impl<T: Walked> Walk<T> {
    /// Over these markets, within a time, both ends included, from a place on, of the facets asked for. `at_once`: rows that are
    /// likely wanted.
    pub fn new(
        owner: AccountId,
        markets: &[MarketId],
        times: RangeInclusive<i64>,
        is_descending: bool,
        facets: u32,
        place: Option<Place>,
        at_once: usize,
    ) -> Walk<T> {
        let mut walk = Walk {
            owner,
            times,
            is_descending,
            at_once: at_once.max(AT_ONCE),
            facets,
            place: None,
            passed: 0,
            streams: Vec::with_capacity(markets.len()),
        };
        for &market in markets {
            let place = place.as_ref().map(|place| {
                let passed = place.passed.iter().find(|(passed, _)| *passed == market);
                (place.time_ms, passed.map(|(_, id)| *id))
            });
            let next = walk.page_from(market, place);
            walk.streams.push(Stream { market, next, rows: VecDeque::new() });
        }
        walk.place = place;
        walk
    }

    /// What follows in a market after a time, or after a row of that time.
    fn page_from(&self, market: MarketId, place: Option<(i64, Option<u64>)>) -> Option<Page> {
        let page = Page::new(self.owner, Some(market), self.at_once).faceted(self.facets);
        let page = page.oldest(!self.is_descending);
        let (start, end) = (*self.times.start(), *self.times.end());
        let Some((time_ms, id)) = place else { return Some(page.within(start..=end)) };
        let page = match self.is_descending {
            false => Page { ids: id.map_or(Some(0), |id| id.checked_add(1))?..=u64::MAX, ..page }
                .within(start.max(time_ms)..=end),
            true => Page { ids: 0..=id.map_or(Some(u64::MAX), |id| id.checked_sub(1))?, ..page }
                .within(start..=end.min(time_ms)),
        };
        Some(page)
    }

    /// Behind the last row that was given; `None` before the first.
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Rows that were passed by because they are of other facets.
    pub fn passed(&self) -> u64 {
        self.passed
    }

    /// The next row, and passes it.
    pub async fn next(&mut self, history: &History) -> Result<Option<T>, Unreadable> {
        for at in 0..self.streams.len() {
            if self.streams[at].rows.is_empty()
                && let Some(page) = self.streams[at].next.take()
            {
                let look = history.look(T::source(), &page).await?;
                self.passed += if page.is_plain() { 0 } else { look.passed };
                self.fill(at, &page, look.rows);
            }
        }
        let order = |row: &T| {
            let key = row.key();
            (key.time_ms, key.id, key.market)
        };
        let fronts = self.streams.iter().enumerate();
        let fronts = fronts.filter_map(|(at, stream)| stream.rows.front().map(|row| (order(row), at)));
        let first = if self.is_descending { fronts.max() } else { fronts.min() };
        let Some(row) = first.and_then(|(_, at)| self.streams[at].rows.pop_front()) else { return Ok(None) };
        self.pass(&row);
        Ok(Some(row))
    }

    fn fill(&mut self, at: usize, page: &Page, mut rows: Vec<T>) {
        if self.is_descending {
            rows.reverse();
        }
        let market = self.streams[at].market;
        let next = match rows.last().map(Row::key) {
            Some(last) if rows.len() >= page.limit => {
                self.page_from(market, Some((last.time_ms, Some(last.id))))
            }
            _ => None,
        };
        let stream = &mut self.streams[at];
        (stream.next, stream.rows) = (next, rows.into());
    }

    fn pass(&mut self, row: &T) {
        let key = row.key();
        let place = self.place.get_or_insert_default();
        if place.time_ms != key.time_ms {
            *place = Place { time_ms: key.time_ms, passed: Vec::new() };
        }
        match place.passed.iter_mut().find(|(market, _)| *market == key.market) {
            Some((_, id)) => *id = key.id,
            None => place.passed.push((key.market, key.id)),
        }
    }
}
