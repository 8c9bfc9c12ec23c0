//! Reading entries: along the packs of a list in either direction, and over the lists of several markets merged.
//!
//! A walk goes by the last ids of packs. Within a list ids and times rise together, so that bounds of time become bounds of ids
//! with one look into the index of times. Where entries may come late, packs overlap by less than [`SPAN_MS`]: what is read of
//! a pack then waits until no pack that follows can hold an entry that belongs before it.

use super::bytes::{Decoder, Head};
use super::{SPAN_MS, coarse, names};
use crate::archive::EntriesAsked;
use crate::archive::row::{Entry, List};
use crate::archive::sqlite::column::{no_entries, unsigned};
use crate::archive::sqlite::schema::NAMES_BEFORE;
use crate::archive::sqlite::value::bound;
use ringside_core::ids::{AccountId, MarketId};
use rusqlite::{Connection, OptionalExtension, Row, params};

const COLUMNS: &str = "last_id, last_ms, first_ms, first_id, sequence, through, count, entries, version";

/// What is asked of the database, one statement for each way.
pub(in super::super) struct Queries {
    /// Along a list, down and up.
    list: [String; 2],
    /// The same along the packs of a tag.
    tag: [String; 2],
}

const FROM_ID: &str = "SELECT last_id, last_ms FROM packs INDEXED BY packs_id \
    WHERE list = ?1 AND owner = ?2 AND market = ?3 AND last_id >= ?4 ORDER BY last_id LIMIT 1";
const FROM_TIME: &str = "SELECT last_id, last_ms FROM packs INDEXED BY packs_time \
    WHERE list = ?1 AND owner = ?2 AND market = ?3 AND last_ms >= ?4 ORDER BY last_ms, last_id LIMIT 1";
const NEXT_MARKET: &str = "SELECT market FROM packs INDEXED BY packs_id \
    WHERE list = ?1 AND owner = ?2 AND market >= ?3 ORDER BY market LIMIT 1";

impl Queries {
    pub(in super::super) fn new() -> Queries {
        let list = |direction: &str| {
            format!(
                "SELECT {COLUMNS} FROM packs INDEXED BY packs_id WHERE list = ?1 AND owner = ?2 AND market = ?3 \
                 AND last_id BETWEEN ?4 AND ?5 ORDER BY last_id {direction} LIMIT 1"
            )
        };
        let tag = |direction: &str| {
            let columns = COLUMNS.replace("last_id, ", "tags.last_id, ");
            format!(
                "SELECT {columns} FROM tags CROSS JOIN packs ON packs.number = tags.pack \
                 WHERE tags.list = ?1 AND tags.owner = ?2 AND tags.market = ?3 AND tags.tag = ?6 \
                 AND tags.last_id BETWEEN ?4 AND ?5 ORDER BY tags.last_id {direction} LIMIT 1"
            )
        };
        Queries { list: ["DESC", "ASC"].map(list), tag: ["DESC", "ASC"].map(tag) }
    }

    /// All of them, with names for people.
    pub(in super::super) fn named(&self) -> Vec<(String, String)> {
        let list = [("list", &self.list[0]), ("list, oldest", &self.list[1])];
        let tag = [("tag", &self.tag[0]), ("tag, oldest", &self.tag[1])];
        let ways = list.into_iter().chain(tag).map(|(name, sql)| (format!("entries, {name}"), sql.clone()));
        let bounds = [("id", FROM_ID), ("time", FROM_TIME), ("name", NAMES_BEFORE), ("market", NEXT_MARKET)];
        ways.chain(bounds.map(|(name, sql)| (format!("entries, from {name}"), sql.to_string()))).collect()
    }
}

/// A pack as it was read.
struct Pack {
    last: (i64, u64),
    first: (i64, u64),
    sequence: u64,
    through: u64,
    count: u64,
    version: u16,
    entries: Vec<u8>,
}

fn pack(row: &Row<'_>) -> rusqlite::Result<Pack> {
    Ok(Pack {
        last: (row.get(1)?, unsigned(row, 0)?),
        first: (row.get(2)?, unsigned(row, 3)?),
        sequence: unsigned(row, 4)?,
        through: unsigned(row, 5)?,
        count: unsigned(row, 6)?,
        entries: row.get(7)?,
        version: row.get(8)?,
    })
}

/// A walk over what is asked for of one market.
struct Walk<'a> {
    connection: &'a Connection,
    queries: &'a Queries,
    asked: &'a EntriesAsked,
    market: MarketId,
    /// Last ids of packs that are still to be read, both ends included; the first above the second at the end.
    packs: (i64, i64),
    /// The same one by one, the next at the end, where they were found by a name.
    named: Option<Vec<i64>>,
    /// Entries that were read and not given yet, the next at the end.
    read: Vec<Entry>,
    /// Read ahead, where entries may come late.
    ahead: Option<Pack>,
}

impl<'a> Walk<'a> {
    fn new(
        connection: &'a Connection,
        queries: &'a Queries,
        asked: &'a EntriesAsked,
        market: MarketId,
    ) -> rusqlite::Result<Walk<'a>> {
        let (read, packs) = (Vec::new(), (0, i64::MAX));
        let mut walk = Walk { connection, queries, asked, market, packs, named: None, read, ahead: None };
        walk.packs = walk.bounds()?;
        if names::is_hash(asked.tag) {
            let mut named = names::packs(connection, asked, market)?;
            named.retain(|last_id| (walk.packs.0..=walk.packs.1).contains(last_id));
            if asked.is_oldest {
                named.reverse();
            }
            walk.named = Some(named);
        }
        if asked.list.is_late {
            walk.ahead = walk.pack()?;
        }
        Ok(walk)
    }

    /// The first pack whose last entry has at least this id or time: both of its last entry.
    fn from(&self, sql: &str, least: i64) -> rusqlite::Result<Option<(i64, i64)>> {
        let EntriesAsked { list, owner, .. } = self.asked;
        let mut query = self.connection.prepare_cached(sql)?;
        let pack = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
        query.query_row(params![list.number, owner, self.market, least], pack).optional()
    }

    /// Last ids of the packs that may hold what is asked for.
    fn bounds(&self) -> rusqlite::Result<(i64, i64)> {
        let EntriesAsked { list, ids, times, .. } = self.asked;
        let end = (0, -1);
        let (mut first, mut last) = (bound(*ids.start()), i64::MAX);
        let span = if list.is_late { SPAN_MS } else { 0 };
        if *times.start() != i64::MIN {
            let least_ms = times.start().saturating_sub(span);
            let Some((id, _)) = self.from(FROM_TIME, least_ms)? else { return Ok(end) };
            first = first.max(id);
        }
        let mut until_ms = *times.end();
        if *ids.end() < i64::MAX as u64
            && let Some((id, time_ms)) = self.from(FROM_ID, bound(*ids.end()))?
        {
            until_ms = until_ms.min(time_ms);
            if !list.is_late {
                last = id;
            }
        }
        if until_ms != i64::MAX {
            // Behind a pack that ends later, none begins before; of those that overlap, none so much later.
            let behind = self.from(FROM_TIME, until_ms.saturating_add(span).saturating_add(1))?;
            last = behind.map_or(last, |(id, _)| last.min(id));
        }
        Ok((first, last))
    }

    /// The next pack.
    fn pack(&mut self) -> rusqlite::Result<Option<Pack>> {
        let Some(named) = &mut self.named else { return self.pack_within() };
        // Another list may have a name of the same key, and no such pack.
        while let Some(last_id) = named.pop() {
            let mut query = self.connection.prepare_cached(&self.queries.list[0])?;
            let EntriesAsked { list, owner, .. } = self.asked;
            let list = params![list.number, owner, self.market, last_id, last_id];
            if let Some(found) = query.query_row(list, pack).optional()? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn pack_within(&mut self) -> rusqlite::Result<Option<Pack>> {
        let (first, last) = self.packs;
        if first > last {
            return Ok(None);
        }
        let EntriesAsked { list, owner, tag, is_oldest, .. } = self.asked;
        let way = usize::from(*is_oldest);
        let found = if *tag != 0 {
            let mut query = self.connection.prepare_cached(&self.queries.tag[way])?;
            query.query_row(params![list.number, owner, self.market, first, last, bound(coarse(*tag))], pack)
        } else {
            let mut query = self.connection.prepare_cached(&self.queries.list[way])?;
            query.query_row(params![list.number, owner, self.market, first, last], pack)
        };
        let found = found.optional()?;
        self.packs = match &found {
            None => (0, -1),
            Some(pack) if *is_oldest => (bound(pack.last.1).saturating_add(1), last),
            Some(pack) => (first, bound(pack.last.1) - 1),
        };
        Ok(found)
    }

    fn is_wanted(&self, head: &Head) -> bool {
        let EntriesAsked { ids, times, tag, through, .. } = self.asked;
        let is_tagged = *tag == 0 || head.tag == *tag;
        is_tagged && ids.contains(&head.id) && times.contains(&head.time_ms) && head.sequence <= *through
    }

    /// Gives the heads and records of a pack that are asked for to `take`, oldest first.
    fn each(&self, pack: &Pack, mut take: impl FnMut(Head, &[u8])) -> rusqlite::Result<()> {
        let EntriesAsked { list, ids, times, through, .. } = self.asked;
        let is_apart = pack.sequence > *through
            || pack.first.0 > *times.end()
            || pack.last.0 < *times.start()
            || pack.first.1 > *ids.end();
        if is_apart {
            return Ok(());
        }
        let mut decoder = Decoder::new(&pack.entries);
        while !decoder.is_at_end() {
            let (head, record) = decoder.read().ok_or_else(|| {
                no_entries(&format!("number {}", list.number), pack.version, pack.entries.len())
            })?;
            if self.is_wanted(&head) {
                take(head, record);
            }
        }
        Ok(())
    }

    fn read(&mut self, pack: &Pack) -> rusqlite::Result<()> {
        let EntriesAsked { list, owner, is_oldest, .. } = self.asked;
        let (list, owner, market): (List, AccountId, MarketId) = (*list, *owner, self.market);
        let mut read = std::mem::take(&mut self.read);
        let were = read.len();
        let done = self.each(pack, |head, record| {
            let Head { sequence, time_ms, id, tag } = head;
            let (version, bytes) = (pack.version, record.into());
            read.push(Entry { sequence, list, owner, market, id, time_ms, tag, version, bytes });
        });
        if were > 0 {
            read.sort_unstable_by_key(|entry| entry.id);
            if *is_oldest {
                read.reverse();
            }
        } else if *is_oldest {
            read.reverse();
        }
        self.read = read;
        done
    }

    /// Whether no pack that follows can hold an entry that belongs before this one.
    fn is_due(&self, entry: &Entry) -> bool {
        match &self.ahead {
            None => true,
            Some(ahead) if self.asked.is_oldest => entry.time_ms < ahead.last.0.saturating_sub(SPAN_MS),
            Some(ahead) => entry.id > ahead.last.1,
        }
    }

    /// Reads on until the next entry stands at the end of what was read, if there is one.
    fn advance(&mut self) -> rusqlite::Result<()> {
        while !self.read.last().is_some_and(|entry| self.is_due(entry)) {
            let pack = match self.asked.list.is_late {
                false => self.pack()?,
                true => {
                    let behind = self.pack()?;
                    std::mem::replace(&mut self.ahead, behind)
                }
            };
            let Some(pack) = pack else { break };
            self.read(&pack)?;
        }
        Ok(())
    }

    /// How many entries are left to walk over.
    fn count(&mut self) -> rusqlite::Result<u64> {
        let EntriesAsked { ids, times, through, tag, .. } = self.asked;
        let mut count = 0;
        while let Some(pack) = match self.ahead.take() {
            Some(pack) => Some(pack),
            None => self.pack()?,
        } {
            let is_inside = *tag == 0
                && pack.through <= *through
                && [pack.first, pack.last]
                    .iter()
                    .all(|(time_ms, id)| times.contains(time_ms) && ids.contains(id));
            match is_inside {
                true => count += pack.count,
                false => self.each(&pack, |_, _| count += 1)?,
            }
        }
        Ok(count)
    }
}

/// The markets that are asked for.
fn markets(connection: &Connection, asked: &EntriesAsked) -> rusqlite::Result<Vec<MarketId>> {
    if let Some(market) = asked.market {
        return Ok(vec![market]);
    }
    let mut query = connection.prepare_cached(NEXT_MARKET)?;
    let (mut found, mut least) = (Vec::new(), Some(0));
    while let Some(from) = least {
        let next =
            query.query_row(params![asked.list.number, asked.owner, from], |row| row.get(0)).optional()?;
        let Some(market) = next else { break };
        found.push(market);
        least = MarketId::checked_add(market, 1);
    }
    Ok(found)
}

fn walks<'a>(
    connection: &'a Connection,
    queries: &'a Queries,
    asked: &'a EntriesAsked,
) -> rusqlite::Result<Vec<Walk<'a>>> {
    let markets = markets(connection, asked)?;
    markets.into_iter().map(|market| Walk::new(connection, queries, asked, market)).collect()
}

/// Appends the entries asked for.
pub(in super::super) fn list(
    connection: &Connection,
    queries: &Queries,
    asked: &EntriesAsked,
    rows: &mut Vec<Entry>,
) -> rusqlite::Result<()> {
    // One moment of the store: runs of names are merged beside.
    let _snapshot = connection.unchecked_transaction()?;
    let mut walks = walks(connection, queries, asked)?;
    let (mut skip, mut left) = (asked.skip, asked.limit);
    while left > 0 {
        for walk in &mut walks {
            walk.advance()?;
        }
        let order =
            |walk: &&mut Walk<'_>| walk.read.last().map(|entry| (entry.time_ms, entry.id, entry.market));
        let some = walks.iter_mut().filter(|walk| !walk.read.is_empty());
        let next = if asked.is_oldest { some.min_by_key(order) } else { some.max_by_key(order) };
        let Some(entry) = next.and_then(|walk| walk.read.pop()) else { break };
        if skip > 0 {
            skip -= 1;
        } else {
            rows.push(entry);
            left -= 1;
        }
    }
    Ok(())
}

/// How many entries there are of those asked for, whatever skip and limit say.
pub(in super::super) fn count(
    connection: &Connection,
    queries: &Queries,
    asked: &EntriesAsked,
) -> rusqlite::Result<u64> {
    let _snapshot = connection.unchecked_transaction()?;
    walks(connection, queries, asked)?.iter_mut().map(Walk::count).sum()
}
