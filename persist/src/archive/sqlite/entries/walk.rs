//! Reading entries in either direction, over the lists of several markets merged, and passing over them by their heads.
//!
//! Within a list ids and times rise together, so that bounds of time become bounds of ids with one look into the index of times.
//! Heads come in the order of their nearer ends ([`super::heads`]). A pack is read when its head is before every entry that was
//! read and not given yet, and not before; so a page reads the packs that it is cut from, and those that overlap them there.

use super::bytes::Head as Found;
use super::heads::{Head, Heads, Queries, Wanted, of_markets, order};
use crate::archive::row::Entry;
use crate::archive::{EntriesAsked, Looked, Passed};
use ringside_core::ids::MarketId;
use rusqlite::Connection;
use std::collections::BinaryHeap;

/// An entry that was read, by its place; the nearest to the end asked for is the greatest.
struct Read {
    place: ((i64, u64), MarketId),
    entry: Entry,
}

impl Ord for Read {
    fn cmp(&self, other: &Read) -> std::cmp::Ordering {
        other.place.cmp(&self.place)
    }
}

impl PartialOrd for Read {
    fn partial_cmp(&self, other: &Read) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Read {
    fn eq(&self, other: &Read) -> bool {
        self.place == other.place
    }
}

impl Eq for Read {}

/// The heads of all markets, merged.
struct Merged<'a> {
    markets: Vec<Heads<'a>>,
    asked: &'a EntriesAsked,
}

impl<'a> Merged<'a> {
    fn new(
        connection: &'a Connection,
        queries: &'a Queries,
        asked: &'a EntriesAsked,
    ) -> rusqlite::Result<Merged<'a>> {
        Ok(Merged { markets: of_markets(connection, queries, asked)?, asked })
    }

    /// The next head's nearer end, and which market it is of.
    fn peek(&mut self) -> rusqlite::Result<Option<((i64, u64), usize)>> {
        let mut next = None;
        for (at, heads) in self.markets.iter_mut().enumerate() {
            if let Some(near) = heads.peek()?
                && next.is_none_or(|(nearest, _)| near < nearest)
            {
                next = Some((near, at));
            }
        }
        Ok(next)
    }

    /// A time as they are ordered by.
    fn key(&self, time_ms: i64) -> i64 {
        order(self.asked.is_oldest, (time_ms, 0)).0
    }

    /// The first time of all that are asked for.
    fn start(&self) -> i64 {
        let (first, last) = (*self.asked.times.start(), *self.asked.times.end());
        self.key(if self.asked.is_oldest { first } else { last })
    }
}

/// Appends the entries asked for.
pub(in super::super) fn list(
    connection: &Connection,
    queries: &Queries,
    asked: &EntriesAsked,
    rows: &mut Vec<Entry>,
) -> rusqlite::Result<Looked> {
    // One moment of the store: runs of names are merged beside.
    let _snapshot = connection.unchecked_transaction()?;
    let mut heads = Merged::new(connection, queries, asked)?;
    let mut read: BinaryHeap<Read> = BinaryHeap::new();
    let (mut looked, mut work, first) = (0, 0, rows.len());
    while rows.len() - first < asked.limit {
        let next = heads.peek()?;
        let due = read.peek().map(|read| read.place);
        let key = match (next, due) {
            (None, None) => break,
            (Some((near, _)), Some(due)) => near.min(due.0).0,
            (Some((near, _)), None) => near.0,
            (None, Some(due)) => due.0.0,
        };
        if work > asked.work && key > heads.start() {
            let is_before = |entry: &Entry| heads.key(entry.time_ms) < key;
            let given = rows[first..].partition_point(is_before);
            rows.truncate(first + given);
            return Ok(Looked { rest: Some(heads.key(key)), rows: looked });
        }
        let Some((_, at)) = next.filter(|(near, _)| due.is_none_or(|due| *near <= due.0)) else {
            rows.extend(read.pop().map(|read| read.entry));
            continue;
        };
        let Some(head) = heads.markets[at].pop() else { continue };
        work += 1;
        match head.wanted(asked) {
            Wanted::Apart => continue,
            Wanted::Known(0) => {
                looked += head.count;
                continue;
            }
            Wanted::Known(_) | Wanted::Unknown => {}
        }
        (work, looked) = (work + head.count as usize, looked + head.count);
        let of = &heads.markets[at];
        of.each(&head, |found, version, record, is_wanted| {
            if is_wanted {
                let place =
                    (order(asked.is_oldest, (found.time_ms, found.id)), market_order(asked, of.market));
                read.push(Read { place, entry: of.entry(found, version, record) });
            }
        })?;
    }
    Ok(Looked { rest: None, rows: looked })
}

/// A market among entries of one time and id.
fn market_order(asked: &EntriesAsked, market: MarketId) -> MarketId {
    if asked.is_oldest { market } else { !market }
}

/// A pack that was passed, as far as it may reach beyond the place where passing ends.
struct Entered {
    far: i64,
    wanted: u64,
    rows: u64,
    market: usize,
    head: Head,
}

/// Entries of a pack within the bounds asked for, and before a time: those wanted, and all.
fn counted(heads: &Heads<'_>, head: &Head, is_before: impl Fn(i64) -> bool) -> rusqlite::Result<(u64, u64)> {
    let (mut wanted, mut rows) = (0, 0);
    heads.each(head, |Found { time_ms, .. }, _, _, is_wanted| {
        let is_before = is_before(time_ms);
        wanted += u64::from(is_before && is_wanted);
        rows += u64::from(is_before);
    })?;
    Ok((wanted, rows))
}

/// See [`crate::archive::ArchiveReader::pass_entries`].
///
/// Packs are entered in the order of their nearer ends, and what they hold is summed up. All that is before the nearer end of the next
/// pack is in packs that were entered, so that place can be stopped at: what those hold beyond it is taken off again.
pub(in super::super) fn pass(
    connection: &Connection,
    queries: &Queries,
    asked: &EntriesAsked,
    beside: &[i64],
    most: u64,
) -> rusqlite::Result<Passed> {
    let _snapshot = connection.unchecked_transaction()?;
    let mut heads = Merged::new(connection, queries, asked)?;
    let start = heads.start();
    let (mut wanted, mut rows, mut work, mut others) = (0, 0, 0, 0);
    let mut entered: Vec<Entered> = Vec::new();
    let (next, is_full) = loop {
        let head = heads.peek()?;
        let other = match asked.is_oldest {
            true => beside.get(others),
            false => beside.iter().rev().nth(others),
        };
        let other = other.map(|time_ms| heads.key(*time_ms));
        let Some(key) = head.map(|(near, _)| near.0).into_iter().chain(other).min() else {
            break (None, false);
        };
        let key = key.max(start);
        if work > asked.work && key > start {
            break (Some(key), false);
        }
        work += 1;
        let Some((_, at)) = head.filter(|(near, _)| other.is_none_or(|other| near.0 <= other)) else {
            if wanted + others as u64 + 1 > most {
                break (Some(key), true);
            }
            others += 1;
            continue;
        };
        let Some(head) = heads.markets[at].pop() else { continue };
        let (own, all) = match head.wanted(asked) {
            Wanted::Apart => continue,
            Wanted::Known(own) => (own, head.count),
            Wanted::Unknown => {
                work += head.count as usize;
                counted(&heads.markets[at], &head, |_| true)?
            }
        };
        if own > 0 && wanted + own + others as u64 > most {
            break (Some(key), true);
        }
        (wanted, rows) = (wanted + own, rows + all);
        let [_, (far, _)] = head.ends(asked.is_oldest);
        if entered.len() == entered.capacity() {
            entered.retain(|entered| entered.far >= key);
        }
        entered.push(Entered { far, wanted: own, rows: all, market: at, head });
    };
    if let Some(next) = next {
        for entered in entered.iter().filter(|entered| entered.far >= next) {
            let is_before = |time_ms| heads.key(time_ms) < next;
            let (own, all) = match entered.wanted {
                0 => (0, 0),
                _ => counted(&heads.markets[entered.market], &entered.head, is_before)?,
            };
            wanted -= entered.wanted - own;
            rows -= entered.rows - all;
        }
    }
    Ok(Passed { wanted, rows, next: next.map(|next| heads.key(next)), is_full })
}
