//! Entries against a model in memory: lists whose rows come in order, come late, or have tags that rise.

use crate::{Folder, JOURNAL, seeds};
use ringside_persist::archive::row::{Entry, List};
use ringside_persist::archive::{ALL_FACETS, Archive, ArchiveReader, EntriesAsked, FacetOf, Mark};
use ringside_persist::storage::faulty::Random;
use std::ops::RangeInclusive;

const IN_ORDER: List = List { number: 4, is_late: false };
const LATE: List = List { number: 1, is_late: true };
const RISING: List = List { number: 9, is_late: false };
const START_MS: i64 = 1_700_000_000_000;
const OWNERS: u64 = 3;
const MARKETS: u64 = 3;

/// Facets of the lists that have any: of some records the first byte says which.
pub(crate) fn facets(list: u16) -> Option<FacetOf> {
    let of: FacetOf = |_, record| Some(record.get(1).map_or(31, |byte| byte % 5));
    (list != RISING.number).then_some(of)
}

fn facet(entry: &Entry) -> u8 {
    facets(entry.list.number).map_or(0, |of| of(entry.version, &entry.bytes).unwrap())
}

/// A tag as names have it.
fn hash(name: u64) -> u64 {
    (name.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 1) | 1
}

/// Makes entries as the views do: ids and times of a list rise together, rows of one list come later than both.
pub(crate) struct EntryMaker {
    random: Random,
    pub(crate) sequence: u64,
    time_ms: i64,
    next_id: u64,
    tag: u64,
    /// How many versions records have, one after the other.
    versions: u64,
    /// Begun, of the list that comes late.
    begun: Vec<(u64, i64, u32, u32)>,
    pub(crate) all: Vec<Entry>,
}

impl EntryMaker {
    pub(crate) fn new(seed: u64) -> EntryMaker {
        EntryMaker {
            random: Random::new(seed),
            sequence: 0,
            time_ms: START_MS,
            next_id: 1,
            tag: 900,
            versions: 1,
            begun: Vec::new(),
            all: Vec::new(),
        }
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { sequence: self.sequence, time_ns: self.time_ms * 1_000_000 }
    }

    /// The rows of some more commands, also kept in the model.
    pub(crate) fn batch(&mut self, commands: u64) -> Vec<Entry> {
        let mut entries = Vec::new();
        (0..commands).for_each(|_| self.command(&mut entries));
        self.all.extend_from_slice(&entries);
        entries
    }

    fn command(&mut self, entries: &mut Vec<Entry>) {
        self.sequence += 1;
        // Many commands of one millisecond, some far apart.
        self.time_ms += match self.random.below(12) {
            0 => self.random.below(9_000) as i64,
            1..5 => self.random.below(30) as i64,
            _ => 0,
        };
        let (owner, market) = (self.random.below(OWNERS) as u32, self.random.below(MARKETS) as u32);
        match self.random.below(4) {
            0 => {
                self.begun.push((self.next_id, self.time_ms, owner, market));
                self.next_id += 1;
            }
            1 if !self.begun.is_empty() => {
                // Most end soon.
                let back = self.random.below(4).min(self.random.below(self.begun.len() as u64));
                let at = match self.random.below(8) {
                    0 => self.random.below(self.begun.len() as u64) as usize,
                    _ => self.begun.len() - 1 - back as usize,
                };
                let (id, time_ms, owner, market) = self.begun.remove(at);
                // Names: some given again and again.
                let tag = hash(1 + self.random.below(40) + self.random.below(2) * self.random.below(2_000));
                entries.push(self.entry(LATE, owner, market, id, time_ms, tag));
            }
            2 => {
                for _ in 0..=self.random.below(3) {
                    self.tag += self.random.below(2) * (1 + self.random.below(3));
                    let (id, tag) = (self.next_id, self.tag);
                    self.next_id += 1;
                    entries.push(self.entry(RISING, 0, market, id, self.time_ms, tag));
                }
            }
            _ => {
                let (id, tag) = (self.next_id, self.random.below(6));
                self.next_id += 1;
                entries.push(self.entry(IN_ORDER, owner, market, id, self.time_ms, tag));
            }
        }
    }

    fn entry(&mut self, list: List, owner: u32, market: u32, id: u64, time_ms: i64, tag: u64) -> Entry {
        // Now and then longer than a page.
        let len = if self.random.below(60) == 0 { 5_000 } else { self.random.below(120) };
        let bytes = (0..len).map(|at| (at * id) as u8).collect();
        let version = 1 + (self.sequence / 50 % self.versions) as u16;
        Entry { sequence: self.sequence, list, owner, market, id, time_ms, tag, version, bytes }
    }

    fn ids(&mut self) -> RangeInclusive<u64> {
        let (one, other) = (self.random.below(self.next_id + 2), self.random.below(self.next_id + 2));
        match self.random.below(6) {
            0 => one..=u64::MAX,
            1 => 0..=one,
            2 => one..=one,
            3 => one.min(other)..=one.max(other),
            _ => 0..=u64::MAX,
        }
    }

    fn times(&mut self) -> RangeInclusive<i64> {
        let span = (self.time_ms - START_MS) as u64 + 2;
        let mut time = || START_MS + self.random.below(span) as i64;
        let (one, other) = (time(), time());
        match self.random.below(5) {
            0 => one..=i64::MAX,
            1 => i64::MIN..=one,
            2 => one.min(other)..=one.max(other),
            _ => i64::MIN..=i64::MAX,
        }
    }

    /// One query, against a filter over everything.
    pub(crate) fn check(&mut self, reader: &mut dyn ArchiveReader) {
        let list = [IN_ORDER, LATE, RISING][self.random.below(3) as usize];
        let owner = if list == RISING { 0 } else { self.random.below(OWNERS + 1) as u32 };
        let market =
            [None, Some(self.random.below(MARKETS + 1) as u32)][usize::from(self.random.below(4) > 0)];
        let tag = match (self.random.below(3), list) {
            (0, list) if list == RISING => 900 + self.random.below(self.tag - 898),
            (0, list) if list == LATE => hash(1 + self.random.below(41)),
            (0, _) => 1 + self.random.below(8),
            _ => 0,
        };
        let through =
            [u64::MAX, self.random.below(self.sequence + 1)][usize::from(self.random.below(3) == 0)];
        let asked = EntriesAsked {
            list,
            owner,
            market,
            tag,
            ids: self.ids(),
            times: self.times(),
            through,
            is_oldest: self.random.below(2) == 0,
            facets: match self.random.below(3) {
                0 => 1 << self.random.below(6),
                1 => self.random.below(64) as u32 | 1 << 31,
                _ => ALL_FACETS,
            },
            limit: 1 + self.random.below(60) as usize,
            work: [usize::MAX, self.random.below(200) as usize][usize::from(self.random.below(3) > 0)],
        };
        let most = [20, self.all.len() as u64][self.random.below(2) as usize];
        let skip = self.random.below(1 + most);
        // Some in another tier, among those of the archive.
        let count = self.random.below(4) * 10;
        let mut beside: Vec<i64> = (0..count).map(|_| *self.times().start()).collect();
        beside.retain(|time_ms| *time_ms > i64::MIN && asked.times.contains(time_ms));
        beside.sort_unstable();
        let is_asked = |entry: &&Entry| {
            entry.list == list
                && entry.owner == owner
                && market.is_none_or(|market| market == entry.market)
                && (tag == 0 || tag == entry.tag)
                && asked.facets >> facet(entry) & 1 != 0
                && asked.ids.contains(&entry.id)
                && asked.times.contains(&entry.time_ms)
                && entry.sequence <= through
        };
        let mut expected: Vec<&Entry> = self.all.iter().filter(is_asked).collect();
        expected.sort_unstable_by_key(|entry| (entry.time_ms, entry.id));
        if !asked.is_oldest {
            expected.reverse();
        }
        let (passed, place) = pass(reader, &asked, &beside, skip, &expected);
        assert!(passed <= skip);
        let rest: Vec<&Entry> = expected
            .iter()
            .filter(|entry| place.is_some_and(|place| !is_before(&asked, entry.time_ms, place)))
            .copied()
            .take(asked.limit)
            .collect();
        let mut rows = Vec::new();
        let mut next = EntriesAsked { times: from(&asked, place.unwrap_or(i64::MIN)), ..asked.clone() };
        while place.is_some() {
            next.limit = asked.limit - rows.len();
            let looked = reader.entries(&next, &mut rows).unwrap();
            let Some(time_ms) = looked.rest else { break };
            assert!(from(&asked, time_ms) != next.times, "it goes on: {asked:?}");
            assert!(rows.iter().all(|row| is_before(&asked, row.time_ms, time_ms)), "{asked:?}");
            next.times = from(&asked, time_ms);
        }
        assert!(rows.iter().eq(rest), "{asked:?} from {place:?}");
        // And all of them are counted.
        let mut all = 0;
        let mut next = asked.clone();
        loop {
            let passed = reader.pass_entries(&next, &[], u64::MAX).unwrap();
            all += passed.wanted;
            let Some(time_ms) = passed.next else { break };
            next.times = from(&asked, time_ms);
        }
        assert_eq!(all, expected.len() as u64, "{asked:?}");
    }
}

/// What is asked for from a time on, in the direction asked for.
fn from(asked: &EntriesAsked, time_ms: i64) -> RangeInclusive<i64> {
    match asked.is_oldest {
        true => (*asked.times.start()).max(time_ms)..=*asked.times.end(),
        false if time_ms == i64::MIN => asked.times.clone(),
        false => *asked.times.start()..=time_ms.min(*asked.times.end()),
    }
}

fn is_before(asked: &EntriesAsked, one_ms: i64, other_ms: i64) -> bool {
    if asked.is_oldest { one_ms < other_ms } else { one_ms > other_ms }
}

/// Passes over so many entries and times beside, turn by turn: how many were passed, and the time to go on from.
fn pass(
    reader: &mut dyn ArchiveReader,
    asked: &EntriesAsked,
    beside: &[i64],
    skip: u64,
    expected: &[&Entry],
) -> (u64, Option<i64>) {
    let (mut next, mut sum) = (asked.clone(), 0);
    loop {
        let left: Vec<i64> = beside.iter().copied().filter(|time_ms| next.times.contains(time_ms)).collect();
        let passed = reader.pass_entries(&next, &left, skip - sum).unwrap();
        let is_passed = |time_ms: i64| {
            next.times.contains(&time_ms) && passed.next.is_none_or(|next| is_before(asked, time_ms, next))
        };
        let own = expected.iter().filter(|entry| is_passed(entry.time_ms)).count() as u64;
        assert_eq!(passed.wanted, own, "{asked:?} beside {beside:?}, over {skip}: {passed:?}");
        assert!(passed.rows >= passed.wanted, "{asked:?}: {passed:?}");
        sum += own + left.iter().filter(|time_ms| is_passed(**time_ms)).count() as u64;
        assert!(sum <= skip, "{asked:?} beside {beside:?}, over {skip}: {passed:?}");
        let Some(time_ms) = passed.next else { return (sum, None) };
        if passed.is_full {
            return (sum, Some(time_ms));
        }
        assert!(from(asked, time_ms) != next.times, "it goes on: {asked:?}");
        next.times = from(asked, time_ms);
    }
}

#[test]
fn entries_are_what_a_filter_over_everything_gives() {
    for seed in seeds::seeds(6) {
        eprintln!("rerun: RINGSIDE_SEED={seed} cargo test -p ringside-persist --test archive");
        let folder = Folder::new(&format!("entries-{seed}"));
        let store = folder.store().faceted(facets);
        let mut maker = EntryMaker { versions: 3, ..EntryMaker::new(seed) };
        let mut writer = store.writer(JOURNAL).unwrap();
        let mut reader = store.reader().unwrap();
        for round in 0..40 {
            let commands = [40, 600][maker.random.below(2) as usize];
            let commands = maker.random.below(commands);
            let batch = maker.batch(commands);
            writer.commit(&batch, maker.mark(), maker.random.below(4) == 0).unwrap();
            if round % 7 == 0 {
                drop(writer);
                // One that knows no facets leaves them to whoever reads.
                let plain = store.clone().faceted(|_| None);
                writer = [&store, &plain][round / 7 % 2].writer(JOURNAL).unwrap();
                reader = store.reader().unwrap();
            }
            (0..40).for_each(|_| maker.check(reader.as_mut()));
            assert_eq!(reader.rows().unwrap(), maker.all.len() as u64);
        }
        let late = maker.all.iter().filter(|entry| entry.list == LATE);
        let ids: Vec<u64> = late.map(|entry| entry.id).collect();
        assert!(ids.len() > 400 && !ids.is_sorted(), "seed {seed} shows too little");
    }
}

#[test]
fn an_entry_that_is_already_in_is_refused_with_its_whole_batch() {
    let folder = Folder::new("entry-twice");
    let store = folder.store().faceted(facets);
    let mut maker = EntryMaker::new(2);
    let batch = maker.batch(400);
    let mut writer = store.writer(JOURNAL).unwrap();
    writer.commit(&batch, maker.mark(), false).unwrap();
    let mark = writer.mark();
    maker.sequence += 1;
    assert!(writer.commit(&batch, maker.mark(), false).is_err());
    assert_eq!(writer.mark(), mark);
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.rows().unwrap(), maker.all.len() as u64);
    (0..50).for_each(|_| maker.check(reader.as_mut()));
}
