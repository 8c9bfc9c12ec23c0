//! The heads of packs: all that says whether a pack is wanted and how many of its entries are, without the bytes of any.
//!
//! They stand in a table of their own, in the order of their lists, a few dozen to a page, so that a thousand rows are passed over
//! by looking at some thirty heads. Where records are filtered by something, a head counts its pack's entries by that.
//!
//! ```text
//!  facets   facet u8 | entries of it u16                              little-endian, ascending; none where nothing is known
//! ```

use super::super::column::{no_entries, unsigned};
use super::bytes::{Decoder, Head as Found};
use super::{FacetsOf, SPAN_MS, coarse, names};
use crate::archive::row::{Entry, List};
use crate::archive::sqlite::schema;
use crate::archive::sqlite::schema::NAMES_BEFORE;
use crate::archive::sqlite::value::bound;
use crate::archive::{ALL_FACETS, EntriesAsked, FACETS_MAX, FacetOf};
use ringside_core::ids::MarketId;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, params};
use std::collections::{BinaryHeap, VecDeque};

/// Heads read at a time, at first and at most.
const FEW: usize = 4;
const MANY: usize = 256;

const COLUMNS: &str = "last_id, last_ms, first_ms, first_id, sequence, through, count, facets, pack";

/// What is asked of the database, one statement for each way.
pub(in super::super) struct Queries {
    /// Along a list, down and up.
    list: [String; 2],
    /// The same along the packs of a tag.
    tag: [String; 2],
    facets: FacetsOf,
}

const FROM_ID: &str = "SELECT last_id, last_ms FROM heads \
    WHERE list = ?1 AND owner = ?2 AND market = ?3 AND last_id >= ?4 ORDER BY last_id LIMIT 1";
const FROM_TIME: &str = "SELECT last_id, last_ms FROM packs INDEXED BY packs_time \
    WHERE list = ?1 AND owner = ?2 AND market = ?3 AND last_ms >= ?4 ORDER BY last_ms, last_id LIMIT 1";
const NEXT_MARKET: &str = "SELECT market FROM heads \
    WHERE list = ?1 AND owner = ?2 AND market >= ?3 ORDER BY market LIMIT 1";
const PACK: &str = "SELECT entries, version FROM packs WHERE number = ?1";

impl Queries {
    pub(in super::super) fn new(facets: FacetsOf) -> Queries {
        let list = |direction: &str| {
            format!(
                "SELECT {COLUMNS} FROM heads WHERE list = ?1 AND owner = ?2 AND market = ?3 \
                 AND last_id BETWEEN ?4 AND ?5 ORDER BY last_id {direction} LIMIT ?6"
            )
        };
        let tag = |direction: &str| {
            let columns = COLUMNS.replace("last_id, ", "tags.last_id, ").replace("pack", "heads.pack");
            format!(
                "SELECT {columns} FROM tags CROSS JOIN heads ON heads.list = tags.list \
                 AND heads.owner = tags.owner AND heads.market = tags.market AND heads.last_id = tags.last_id \
                 WHERE tags.list = ?1 AND tags.owner = ?2 AND tags.market = ?3 AND tags.tag = ?7 \
                 AND tags.last_id BETWEEN ?4 AND ?5 ORDER BY tags.last_id {direction} LIMIT ?6"
            )
        };
        Queries { list: ["DESC", "ASC"].map(list), tag: ["DESC", "ASC"].map(tag), facets }
    }

    /// All of them, with names for people.
    pub(in super::super) fn named(&self) -> Vec<(String, String)> {
        let list = [("list", &self.list[0]), ("list, oldest", &self.list[1])];
        let tag = [("tag", &self.tag[0]), ("tag, oldest", &self.tag[1])];
        let ways = list.into_iter().chain(tag).map(|(name, sql)| (format!("entries, {name}"), sql.clone()));
        let bounds = [
            ("from id", FROM_ID),
            ("from time", FROM_TIME),
            ("from name", NAMES_BEFORE),
            ("from market", NEXT_MARKET),
            ("pack", PACK),
        ];
        ways.chain(bounds.map(|(name, sql)| (format!("entries, {name}"), sql.to_string()))).collect()
    }
}

/// How many entries of a pack are of each facet.
#[derive(Default)]
pub(super) struct Counts([u16; FACETS_MAX as usize]);

impl Counts {
    pub(super) fn add(&mut self, facet: u8) {
        self.0[usize::from(facet)] += 1;
    }

    /// Their bytes, and begins anew.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (facet, count) in self.0.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
            bytes.push(facet as u8);
            bytes.extend_from_slice(&std::mem::take(count).to_le_bytes());
        }
        bytes
    }
}

/// The facet of a record.
pub(super) fn facet(of: FacetOf, list: u16, version: u16, record: &[u8]) -> rusqlite::Result<u8> {
    let facet = of(version, record).filter(|facet| *facet < FACETS_MAX);
    facet.ok_or_else(|| no_entries(&format!("number {list}"), version, record.len()))
}

/// Whether a facet is among those.
fn is_among(facet: u8, facets: u32) -> bool {
    facets >> (facet & (FACETS_MAX - 1)) & 1 != 0
}

/// Makes the heads of all packs, of an archive that has none; how many.
pub(in super::super) fn add(transaction: &Transaction<'_>, facets: FacetsOf) -> rusqlite::Result<u64> {
    // In the order of their table.
    let mut packs = transaction.prepare(
        "SELECT list, owner, market, last_id, first_ms, first_id, last_ms, sequence, through, count, number, version \
         FROM packs INDEXED BY packs_id ORDER BY list, owner, market, last_id",
    )?;
    let mut entries = transaction.prepare(PACK)?;
    let mut insert = transaction.prepare(schema::INSERT_HEAD)?;
    let mut rows = packs.query([])?;
    let (mut counts, mut made) = (Counts::default(), 0);
    while let Some(row) = rows.next()? {
        let (list, number, version): (u16, i64, u16) = (row.get(0)?, row.get(10)?, row.get(11)?);
        if let Some(facet_of) = facets(list) {
            let bytes: Vec<u8> = entries.query_row([number], |row| row.get(0))?;
            let mut decoder = Decoder::new(&bytes);
            while !decoder.is_at_end() {
                let (_, record) = decoder.read().ok_or_else(|| no_pack(list, version, &bytes))?;
                counts.add(facet(facet_of, list, version, record)?);
            }
        }
        for column in 0..10 {
            insert.raw_bind_parameter(column + 1, row.get::<_, i64>(column)?)?;
        }
        insert.raw_bind_parameter(11, counts.take())?;
        insert.raw_bind_parameter(12, number)?;
        insert.raw_execute()?;
        made += 1;
    }
    Ok(made)
}

fn no_pack(list: u16, version: u16, bytes: &[u8]) -> rusqlite::Error {
    no_entries(&format!("number {list}"), version, bytes.len())
}

/// A time and an id as they follow each other from the end that is asked for: what is nearer to it is less.
pub(super) fn order(is_oldest: bool, (time_ms, id): (i64, u64)) -> (i64, u64) {
    if is_oldest { (time_ms, id) } else { (!time_ms, !id) }
}

/// A head as it was read.
pub(super) struct Head {
    pub(super) last: (i64, u64),
    pub(super) first: (i64, u64),
    sequence: u64,
    through: u64,
    pub(super) count: u64,
    facets: Vec<u8>,
    pack: i64,
}

fn head(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head {
        last: (row.get(1)?, unsigned(row, 0)?),
        first: (row.get(2)?, unsigned(row, 3)?),
        sequence: unsigned(row, 4)?,
        through: unsigned(row, 5)?,
        count: unsigned(row, 6)?,
        facets: row.get(7)?,
        pack: row.get(8)?,
    })
}

/// How many entries of a pack are asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    /// None: the pack is outside of the bounds asked for.
    Apart,
    /// So many.
    Known(u64),
    /// To be seen from its bytes.
    Unknown,
}

impl Head {
    /// The end that is nearer to the end asked for, and the other.
    pub(super) fn ends(&self, is_oldest: bool) -> [(i64, u64); 2] {
        let ends = if is_oldest { [self.first, self.last] } else { [self.last, self.first] };
        ends.map(|end| order(is_oldest, end))
    }

    pub(super) fn wanted(&self, asked: &EntriesAsked) -> Wanted {
        let EntriesAsked { ids, times, through, tag, facets, .. } = asked;
        let is_apart = self.sequence > *through
            || self.first.0 > *times.end()
            || self.last.0 < *times.start()
            || self.first.1 > *ids.end()
            || self.last.1 < *ids.start();
        if is_apart {
            return Wanted::Apart;
        }
        let counted = match *facets {
            ALL_FACETS => Some(self.count),
            _ if self.facets.is_empty() => None,
            facets => {
                let (counts, _) = self.facets.as_chunks::<3>();
                let counts = counts.iter().filter(|[facet, ..]| is_among(*facet, facets));
                Some(counts.map(|[_, low, high]| u64::from(u16::from_le_bytes([*low, *high]))).sum())
            }
        };
        let is_inside = *tag == 0
            && self.through <= *through
            && [self.first, self.last]
                .iter()
                .all(|(time_ms, id)| times.contains(time_ms) && ids.contains(id));
        match counted {
            Some(0) => Wanted::Known(0),
            Some(count) if is_inside => Wanted::Known(count),
            _ => Wanted::Unknown,
        }
    }
}

/// A head among those that wait for their turn: the nearest to the end asked for goes first.
struct Waiting {
    near: (i64, u64),
    head: Head,
}

impl Ord for Waiting {
    fn cmp(&self, other: &Waiting) -> std::cmp::Ordering {
        (other.near, other.head.pack).cmp(&(self.near, self.head.pack))
    }
}

impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Waiting) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Waiting {
    fn eq(&self, other: &Waiting) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Waiting {}

/// The heads of the packs of one market that may hold what is asked for, the nearest to the end asked for first.
pub(super) struct Heads<'a> {
    connection: &'a Connection,
    queries: &'a Queries,
    asked: &'a EntriesAsked,
    pub(super) market: MarketId,
    /// Last ids of packs that are still to be read, both ends included; the first above the second at the end.
    packs: (i64, i64),
    /// The same one by one, the next at the end, where they were found by a name.
    named: Option<Vec<i64>>,
    /// Read, in the order of their last ids.
    read: VecDeque<Head>,
    /// How many to read next.
    chunk: usize,
    /// Taken from there, to be brought into the order of their nearer ends.
    waiting: BinaryHeap<Waiting>,
    /// Last time of the last that was taken from there.
    newest_ms: i64,
    is_at_end: bool,
}

impl<'a> Heads<'a> {
    fn new(
        connection: &'a Connection,
        queries: &'a Queries,
        asked: &'a EntriesAsked,
        market: MarketId,
    ) -> rusqlite::Result<Heads<'a>> {
        let mut heads = Heads {
            connection,
            queries,
            asked,
            market,
            packs: (0, i64::MAX),
            named: None,
            read: VecDeque::new(),
            chunk: FEW,
            waiting: BinaryHeap::new(),
            newest_ms: i64::MIN,
            is_at_end: false,
        };
        heads.packs = heads.bounds()?;
        if names::is_hash(asked.tag) {
            let mut named = names::packs(connection, asked, market)?;
            named.retain(|last_id| (heads.packs.0..=heads.packs.1).contains(last_id));
            if asked.is_oldest {
                named.reverse();
            }
            heads.named = Some(named);
        }
        Ok(heads)
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
            let Some((id, _)) = self.from(FROM_TIME, *times.start())? else { return Ok(end) };
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

    /// The next, in the order of last ids.
    fn along(&mut self) -> rusqlite::Result<Option<Head>> {
        if self.read.is_empty() && !self.is_at_end {
            match self.named {
                Some(_) => self.read_named()?,
                None => self.read_within()?,
            }
            self.is_at_end |= self.read.is_empty();
        }
        Ok(self.read.pop_front())
    }

    fn read_named(&mut self) -> rusqlite::Result<()> {
        let EntriesAsked { list, owner, .. } = self.asked;
        // Another list may have a name of the same key, and no such pack.
        while let Some(last_id) = self.named.as_mut().and_then(Vec::pop) {
            let mut query = self.connection.prepare_cached(&self.queries.list[0])?;
            let list = params![list.number, owner, self.market, last_id, last_id, 1];
            if let Some(found) = query.query_row(list, head).optional()? {
                self.read.push_back(found);
                break;
            }
        }
        Ok(())
    }

    fn read_within(&mut self) -> rusqlite::Result<()> {
        let (first, last) = self.packs;
        if first > last {
            return Ok(());
        }
        let EntriesAsked { list, owner, tag, is_oldest, .. } = self.asked;
        let (way, limit) = (usize::from(*is_oldest), self.chunk as i64);
        let (list, market) = (list.number, self.market);
        let mut query;
        let found = if *tag != 0 {
            query = self.connection.prepare_cached(&self.queries.tag[way])?;
            query.query_map(params![list, owner, market, first, last, limit, bound(coarse(*tag))], head)?
        } else {
            query = self.connection.prepare_cached(&self.queries.list[way])?;
            query.query_map(params![list, owner, market, first, last, limit], head)?
        };
        for head in found {
            self.read.push_back(head?);
        }
        self.packs = match self.read.back() {
            Some(head) if self.read.len() == self.chunk => {
                let last_id = bound(head.last.1);
                if *is_oldest { (last_id.saturating_add(1), last) } else { (first, last_id - 1) }
            }
            _ => (0, -1),
        };
        self.chunk = (2 * self.chunk).min(MANY);
        Ok(())
    }

    /// Whether no head that follows can stand before the first of those that wait. Down a list they come in order; up a list whose
    /// entries may come late they overlap.
    fn is_settled(&self) -> bool {
        let EntriesAsked { list, is_oldest, .. } = self.asked;
        let Some(first) = self.waiting.peek() else { return false };
        !(list.is_late && *is_oldest) || self.newest_ms > first.head.first.0.saturating_add(SPAN_MS)
    }

    /// The nearer end of the next, in their order.
    pub(super) fn peek(&mut self) -> rusqlite::Result<Option<(i64, u64)>> {
        while !self.is_settled() {
            let Some(head) = self.along()? else { break };
            self.newest_ms = head.last.0;
            let [near, _] = head.ends(self.asked.is_oldest);
            self.waiting.push(Waiting { near, head });
        }
        Ok(self.waiting.peek().map(|waiting| waiting.near))
    }

    /// Takes the one that was looked at.
    pub(super) fn pop(&mut self) -> Option<Head> {
        self.waiting.pop().map(|waiting| waiting.head)
    }

    /// Gives each entry of a pack that is within the bounds asked for to `take`: its record, and whether tag and facet are those
    /// asked for.
    pub(super) fn each(
        &self,
        head: &Head,
        mut take: impl FnMut(Found, u16, &[u8], bool),
    ) -> rusqlite::Result<()> {
        let EntriesAsked { list, ids, times, through, tag, facets, .. } = self.asked;
        let mut query = self.connection.prepare_cached(PACK)?;
        let (entries, version): (Vec<u8>, u16) =
            query.query_row([head.pack], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let facet_of = (self.queries.facets)(list.number);
        let mut decoder = Decoder::new(&entries);
        while !decoder.is_at_end() {
            let (found, record) = decoder.read().ok_or_else(|| no_pack(list.number, version, &entries))?;
            let is_inside =
                ids.contains(&found.id) && times.contains(&found.time_ms) && found.sequence <= *through;
            if !is_inside {
                continue;
            }
            let is_of_facet = *facets == ALL_FACETS
                || match facet_of {
                    None => is_among(0, *facets),
                    Some(of) => is_among(facet(of, list.number, version, record)?, *facets),
                };
            let is_wanted = is_of_facet && (*tag == 0 || found.tag == *tag);
            take(found, version, record, is_wanted);
        }
        Ok(())
    }

    /// The entry of a record.
    pub(super) fn entry(&self, found: Found, version: u16, record: &[u8]) -> Entry {
        let EntriesAsked { list, owner, .. } = self.asked;
        let (list, owner, market): (List, u32, MarketId) = (*list, *owner, self.market);
        let Found { sequence, time_ms, id, tag } = found;
        Entry { sequence, list, owner, market, id, time_ms, tag, version, bytes: record.into() }
    }
}

/// The heads of each market that is asked for.
pub(super) fn of_markets<'a>(
    connection: &'a Connection,
    queries: &'a Queries,
    asked: &'a EntriesAsked,
) -> rusqlite::Result<Vec<Heads<'a>>> {
    let mut markets = Vec::from_iter(asked.market);
    let mut least = asked.market.is_none().then_some(0);
    let mut query = connection.prepare_cached(NEXT_MARKET)?;
    while let Some(from) = least {
        let of = params![asked.list.number, asked.owner, from];
        let Some(market) = query.query_row(of, |row| row.get(0)).optional()? else { break };
        markets.push(market);
        least = MarketId::checked_add(market, 1);
    }
    markets.into_iter().map(|market| Heads::new(connection, queries, asked, market)).collect()
}
