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

#[derive(Clone, Debug)]
struct Many {
    rows: VecDeque<RowRef>,
    /// The greatest id so far, so that the list's end, which nobody has looked at for long, is written and not read.
    newest: u64,
    /// Whether some id came after a greater one: else places ascend as well, and what goes first stands first.
    is_mixed: bool,
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
            let (newest, rows) = (first.0, VecDeque::from([*first]));
            *self = List::Many(Box::new(Many { rows, newest, is_mixed: false }));
        }
        let List::Many(many) = self else { return };
        // Orders end in another order than they are placed.
        if many.newest > row.0 {
            many.is_mixed = true;
            let at = many.rows.partition_point(|(known, _)| *known < row.0);
            many.rows.insert(at, row);
        } else {
            many.newest = row.0;
            many.rows.push_back(row);
        }
    }

    /// Whether none is left.
    fn pop(&mut self, id: u64) -> bool {
        let Many { rows, is_mixed, .. } = match self {
            List::One((own, _)) => return *own == id,
            List::Many(many) => &mut **many,
        };
        if !*is_mixed || rows.front().is_some_and(|(first, _)| *first == id) {
            rows.pop_front();
        } else if let Ok(at) = rows.binary_search_by_key(&id, |(id, _)| *id) {
            rows.remove(at);
        }
        rows.is_empty()
    }

    fn rows(&self) -> Rows<'_> {
        match self {
            List::One(row) => Rows(std::slice::from_ref(row), &[]),
            List::Many(many) => {
                let (front, back) = many.rows.as_slices();
                Rows(front, back)
            }
        }
    }
}

/// Rows of one owner in one market, by ascending ids: two pieces, one behind the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows<'a>(&'a [RowRef], &'a [RowRef]);

impl<'a> Rows<'a> {
    /// All of them.
    pub(super) fn iter(self) -> impl DoubleEndedIterator<Item = &'a RowRef> {
        self.0.iter().chain(self.1)
    }

    /// Number of leading rows for which `holds` is true, where it holds for no other.
    pub(super) fn partition_point(self, mut holds: impl FnMut(&RowRef) -> bool) -> usize {
        match self.0.partition_point(&mut holds) {
            front if front == self.0.len() => front + self.1.partition_point(holds),
            front => front,
        }
    }

    /// Those of a stretch that there are.
    pub(super) fn range(self, places: Range<usize>) -> impl DoubleEndedIterator<Item = &'a RowRef> {
        let middle = self.0.len();
        let piece = |rows: &'a [RowRef], before: usize| {
            let end = places.end.saturating_sub(before).min(rows.len());
            &rows[places.start.saturating_sub(before).min(end)..end]
        };
        piece(self.0, 0).iter().chain(piece(self.1, middle))
    }

    /// The place of an id.
    pub(super) fn find(self, id: u64) -> Option<u64> {
        let at = self.partition_point(|(known, _)| *known < id);
        self.range(at..at + 1).next().filter(|(known, _)| *known == id).map(|(_, place)| *place)
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
            let (owner, market) = ((random >> 33) as u32 % 90, (random >> 50) as u32 % 3);
            let late = if random >> 60 == 0 { (random >> 20) % 60 * 8 } else { 0 };
            let id = 8 * place + 1_000 - late;
            // Some owners have one market.
            let market = if owner % 2 == 0 { owner } else { market };
            let known = plain.entry((owner, market)).or_default();
            if let Err(at) = known.binary_search_by_key(&id, |(id, _)| *id) {
                lists.push(owner, market, (id, place));
                known.insert(at, (id, place));
                rows.push_back((owner, market, id));
            }
            // At times few are left, and at times none.
            let left = [150, 40, 0, 400][place as usize / 3_000 % 4];
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
            let (start, end) = (place as usize % 5, place as usize % 7);
            let stretch = expected.iter().skip(start).take(end.saturating_sub(start));
            assert!(found.range(start..end).eq(stretch));
            let middle = expected[expected.len() / 2];
            assert_eq!((found.find(middle.0), found.find(middle.0 + 1)), (Some(middle.1), None));
            assert_eq!(found.partition_point(|(id, _)| *id < middle.0), expected.len() / 2);
        }
    }
}
