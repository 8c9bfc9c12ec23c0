//! Where the rows of a history stand, by owner and market.
//!
//! Funding gives a million owners a row each, in one command: one row of one market stands with its owner and takes no memory of
//! its own.

use super::dense_map::DenseMap;
use ringside_core::ids::MarketId;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// A row: its id and its place.
pub(super) type RowRef = (u64, u64);

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnerIndex {
    owners: DenseMap<Owned>,
}

/// What an owner has. There is at least one list, and none is empty.
#[derive(Clone, Debug)]
enum Owned {
    One(MarketId, List),
    Many(BTreeMap<MarketId, List>),
}

/// Rows of an owner in a market, by ascending ids.
#[derive(Clone, Debug)]
enum List {
    One(RowRef),
    Many(Box<Many>),
}

/// Most rows of a chunk: so many move at most where one comes among them, or goes.
const CHUNK: usize = 64;

/// Rows by ascending ids in chunks, none of which is empty: orders end in another order than they are placed, and what is between two
/// that did may be a day's.
#[derive(Clone, Debug)]
pub(super) struct Many {
    chunks: VecDeque<Vec<RowRef>>,
    /// Rows of the first chunk that have gone: most go from the front.
    gone: usize,
    /// The greatest id so far, so that the list's end, which nobody has looked at for long, is written and not read.
    newest: u64,
}

const _: () = assert!(size_of::<Option<Owned>>() == 32);

impl OwnerIndex {
    /// Adds a row, whose place is the greatest.
    #[inline]
    pub(super) fn push(&mut self, owner: u32, market: MarketId, row: RowRef) {
        let mut is_new = false;
        let owned = self.owners.get_or_insert_with(owner, || {
            is_new = true;
            Owned::One(market, List::One(row))
        });
        if !is_new {
            owned.push(market, row);
        }
    }

    /// Lets go of a row, which has the first place of all.
    pub(super) fn pop(&mut self, owner: u32, market: MarketId, id: u64) {
        let Some(owned) = self.owners.get_mut(owner) else { return };
        let is_over = match owned {
            Owned::One(own, list) => *own == market && list.pop(id),
            Owned::Many(lists) => {
                if lists.get_mut(&market).is_some_and(|list| list.pop(id)) {
                    lists.remove(&market);
                }
                lists.is_empty()
            }
        };
        if is_over {
            self.owners.remove(owner);
        }
    }

    /// The rows of an owner in a market.
    pub(super) fn get(&self, owner: u32, market: MarketId) -> Option<Rows<'_>> {
        match self.owners.get(owner)? {
            Owned::One(own, list) => (*own == market).then(|| list.rows()),
            Owned::Many(lists) => lists.get(&market).map(List::rows),
        }
    }

    /// The rows of an owner, market by market, or in one alone.
    pub(super) fn of(
        &self,
        owner: u32,
        market: Option<MarketId>,
    ) -> impl DoubleEndedIterator<Item = Rows<'_>> {
        let (one, many) = match self.owners.get(owner) {
            Some(Owned::One(own, list)) => (Some((own, list)), None),
            Some(Owned::Many(lists)) => (None, Some(lists)),
            None => (None, None),
        };
        let lists = one.into_iter().chain(many.into_iter().flatten());
        lists.filter(move |(own, _)| market.is_none_or(|market| market == **own)).map(|(_, list)| list.rows())
    }
}

impl Owned {
    fn push(&mut self, market: MarketId, row: RowRef) {
        match self {
            Owned::One(own, list) if *own == market => list.push(row),
            Owned::One(own, list) => {
                let list = (*own, list.clone());
                *self = Owned::Many(BTreeMap::from([list, (market, List::One(row))]));
            }
            Owned::Many(lists) => match lists.get_mut(&market) {
                Some(list) => list.push(row),
                None => {
                    lists.insert(market, List::One(row));
                }
            },
        }
    }
}

impl List {
    fn push(&mut self, row: RowRef) {
        if let List::One(first) = self {
            let (newest, chunks) = (first.0, VecDeque::from([vec![*first]]));
            *self = List::Many(Box::new(Many { chunks, gone: 0, newest }));
        }
        if let List::Many(many) = self {
            many.push(row);
        }
    }

    /// Whether none is left.
    fn pop(&mut self, id: u64) -> bool {
        match self {
            List::One((own, _)) => *own == id,
            List::Many(many) => many.pop(id),
        }
    }

    fn rows(&self) -> Rows<'_> {
        match self {
            List::One(row) => Rows::One(row),
            List::Many(many) => Rows::Many(many),
        }
    }
}

impl Many {
    fn push(&mut self, row: RowRef) {
        if row.0 < self.newest {
            self.insert(row);
            return;
        }
        self.newest = row.0;
        match self.chunks.back_mut() {
            Some(last) if last.len() < CHUNK => last.push(row),
            // Who filled a chunk fills another: it is not grown by and by.
            last => {
                let mut chunk = Vec::with_capacity(if last.is_some() { CHUNK } else { 1 });
                chunk.push(row);
                self.chunks.push_back(chunk);
            }
        }
    }

    /// Puts a row among those of greater ids.
    fn insert(&mut self, row: RowRef) {
        self.close_up();
        let chunks = &mut self.chunks;
        let mut at = chunks.partition_point(|chunk| chunk[0].0 < row.0).saturating_sub(1);
        if chunks[at].len() == CHUNK {
            let upper = chunks[at].split_off(CHUNK / 2);
            let is_upper = upper[0].0 < row.0;
            chunks.insert(at + 1, upper);
            at += usize::from(is_upper);
        }
        let chunk = &mut chunks[at];
        let place = chunk.partition_point(|(known, _)| *known < row.0);
        chunk.insert(place, row);
    }

    /// Whether none is left.
    fn pop(&mut self, id: u64) -> bool {
        if self.chunk(0)[0].0 == id {
            self.gone += 1;
            if self.gone == self.chunks[0].len() {
                self.chunks.pop_front();
                self.gone = 0;
            }
            return self.chunks.is_empty();
        }
        self.close_up();
        let chunks = &mut self.chunks;
        let chunk = chunks.partition_point(|chunk| chunk[0].0 <= id).saturating_sub(1);
        if let Ok(at) = chunks[chunk].binary_search_by_key(&id, |(known, _)| *known) {
            chunks[chunk].remove(at);
        }
        if chunks[chunk].is_empty() {
            chunks.remove(chunk);
        }
        chunks.is_empty()
    }

    fn close_up(&mut self) {
        let gone = std::mem::take(&mut self.gone);
        if gone > 0 {
            self.chunks[0].drain(..gone);
        }
    }

    fn chunk(&self, chunk: usize) -> &[RowRef] {
        &self.chunks[chunk][if chunk == 0 { self.gone } else { 0 }..]
    }
}

/// Rows of one owner in one market, by ascending ids.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rows<'a> {
    One(&'a RowRef),
    Many(&'a Many),
}

/// Behind how many rows something stands: of a chunk, and that one's place. Of two that mean the same only one is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cursor {
    chunk: usize,
    rows: usize,
}

impl<'a> Rows<'a> {
    /// All of them.
    pub(super) fn iter(self) -> impl DoubleEndedIterator<Item = &'a RowRef> {
        self.range(self.start()..self.partition_point(|_| true))
    }

    /// Before all.
    pub(super) fn start(self) -> Cursor {
        Cursor { chunk: 0, rows: 0 }
    }

    /// Behind the leading rows for which `holds` is true, where it holds for no other.
    pub(super) fn partition_point(self, mut holds: impl FnMut(&RowRef) -> bool) -> Cursor {
        let before = match self {
            Rows::One(row) => usize::from(holds(row)),
            // Of the first chunk what stands first may have gone.
            Rows::Many(many) if holds(&many.chunk(0)[0]) => {
                many.chunks.partition_point(|chunk| std::ptr::eq(chunk, &many.chunks[0]) || holds(&chunk[0]))
            }
            Rows::Many(_) => 0,
        };
        match before.checked_sub(1) {
            None => self.start(),
            Some(chunk) => Cursor { chunk, rows: self.chunk(chunk).partition_point(holds) },
        }
    }

    /// Those of a stretch.
    pub(super) fn range(self, places: Range<Cursor>) -> impl DoubleEndedIterator<Item = &'a RowRef> {
        self.pieces(places).flatten()
    }

    /// How many those are.
    pub(super) fn count(self, places: Range<Cursor>) -> usize {
        self.pieces(places).map(<[RowRef]>::len).sum()
    }

    /// The place of an id.
    pub(super) fn find(self, id: u64) -> Option<u64> {
        let from = self.partition_point(|(known, _)| *known < id);
        let through = self.partition_point(|(known, _)| *known <= id);
        self.range(from..through).next().map(|(_, place)| *place)
    }

    fn pieces(self, places: Range<Cursor>) -> impl DoubleEndedIterator<Item = &'a [RowRef]> {
        let Range { start, end } = places;
        (start.chunk..=end.chunk).map(move |chunk| {
            let rows = self.chunk(chunk);
            let first = if chunk == start.chunk { start.rows } else { 0 };
            let end = if chunk == end.chunk { end.rows } else { rows.len() };
            &rows[first..end]
        })
    }

    fn chunk(self, chunk: usize) -> &'a [RowRef] {
        match self {
            Rows::One(row) => std::slice::from_ref(row),
            Rows::Many(many) => many.chunk(chunk),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows come with rising places and mostly rising ids, and go in the order of their places.
    #[test]
    fn they_are_what_plain_lists_are() {
        let mut lists = OwnerIndex::default();
        let mut plain: BTreeMap<(u32, MarketId), Vec<RowRef>> = BTreeMap::new();
        let mut rows = VecDeque::new();
        let mut random = 7_u64;
        for place in 0..30_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Every other row is of one of two, who come to have many chunks.
            let owners = if random >> 63 == 0 { 2 } else { 90 };
            let (owner, market) = ((random >> 33) as u32 % owners, (random >> 50) as u32 % 3);
            let late = if (random >> 58).is_multiple_of(4) { (random >> 20) % 2_000 * 8 } else { 0 };
            let id = 8 * place + 16_000 - late;
            // Some owners have one market.
            let market = if owner % 2 == 0 { owner } else { market };
            let known = plain.entry((owner, market)).or_default();
            if let Err(at) = known.binary_search_by_key(&id, |(id, _)| *id) {
                lists.push(owner, market, (id, place));
                known.insert(at, (id, place));
                rows.push_back((owner, market, id));
            }
            // At times few are left, and at times none.
            let left = [150, 40, 0, 20_000][place as usize / 3_000 % 4];
            while rows.len() > left {
                let Some((owner, market, id)) = rows.pop_front() else { break };
                lists.pop(owner, market, id);
                let Some(known) = plain.get_mut(&(owner, market)) else { unreachable!("it was put there") };
                known.retain(|(known, _)| *known != id);
                if known.is_empty() {
                    plain.remove(&(owner, market));
                }
            }
            assert_eq!(lists.owners.is_empty(), rows.is_empty());
            let asked = (owner + 1, (random >> 52) as u32 % 3);
            let expected = plain.get(&asked).map_or(&[][..], Vec::as_slice);
            let found = lists.get(asked.0, asked.1);
            assert!(found.into_iter().flat_map(Rows::iter).eq(expected));
            let whole = plain.range((owner, 0)..=(owner, MarketId::MAX)).flat_map(|(_, list)| list);
            assert!(lists.of(owner, None).flat_map(Rows::iter).eq(whole));
            assert!(lists.of(asked.0, Some(asked.1)).flat_map(Rows::iter).rev().eq(expected.iter().rev()));
            let Some(found) = found else { continue };
            let middle = expected[expected.len() / 2];
            assert_eq!((found.find(middle.0), found.find(middle.0 + 1)), (Some(middle.1), None));
            let last = expected[expected.len() - 1 - expected.len() / 3];
            for (from, through) in [(middle, last), (expected[0], middle), (middle, middle)] {
                let start = found.partition_point(|(id, _)| *id < from.0);
                let end = found.partition_point(|(id, _)| *id <= through.0).max(start);
                let stretch = expected.iter().filter(|row| (from.0..=through.0).contains(&row.0));
                assert_eq!(found.count(start..end), stretch.clone().count());
                assert!(found.range(start..end).eq(stretch.clone()));
                assert!(found.range(start..end).rev().eq(stretch.rev()));
            }
        }
    }
}
