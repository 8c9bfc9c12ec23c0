//! The histories of the perpetual side in two tiers answer what they answer in memory alone: a random stream of commands with
//! liquidations, funding and triggers, random pages of every list, with the archive lagging, views forgetting, restarts from
//! snapshots, and archives lost.

use crate::perpetual_flow::{Flow, Random};
use crate::random::seeds;
use ringside_core::command::{Command, OperatorNote};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::Event;
use ringside_core::ids::{FIRST_PERPETUAL, MarketId, OrderId, Sequence};
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::recover::machine::Fold;
use ringside_views::archive::History;
use ringside_views::archive::archiver::Archiver;
use ringside_views::archive::keyset::Walk;
use ringside_views::archive::pages::{ORDERS, Source as RowSource, source};
use ringside_views::archive::readers::Readers;
use ringside_views::archive::rows;
use ringside_views::candle::INTERVALS;
use ringside_views::log::{ALL_FACETS, Archived, Page, Place, Retention, Row};
use ringside_views::perpetual::interest::InterestRecord;
use ringside_views::perpetual::order::{ForcedRecord, OrderRecord};
use ringside_views::perpetual::rows::{
    AmendRecord, FillRecord, FundingRecord, IncomeRecord, MarginRecord, MarketTrade, OperatorRecord,
    PreventedRecord, TransferRecord,
};
use ringside_views::perpetual::series::{CandleQuery, Source};
use ringside_views::{SharedViews, Views};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

const JOURNAL: [u8; 16] = [5; 16];
/// Rows that views keep although they are archived: 5 of each list.
const WINDOW: usize = 40;
const ACCOUNTS: u64 = 44;

/// The state of the follower at one command.
struct Snapshot {
    sequence: Sequence,
    engine: Vec<u8>,
    views: Vec<u8>,
}

/// An exchange without sockets: commands are its journal.
struct Rig {
    random: Random,
    flow: Flow,
    folder: PathBuf,
    journal: Vec<Command>,
    engine: Engine,
    /// Everything in memory: what is compared with.
    reference: Views,
    shared: Arc<SharedViews>,
    history: Arc<History>,
    follower: (Engine, Archiver),
    snapshots: Vec<Snapshot>,
    /// Rows that were compared, by list, and how many of them no view held.
    compared: BTreeMap<&'static str, (usize, usize)>,
    runtime: tokio::runtime::Runtime,
}

fn recent() -> Views {
    Views::new(Retention::Window(WINDOW))
}

fn store(folder: &std::path::Path) -> Sqlite {
    Sqlite::new(folder.join("history.db")).faceted(rows::facets_of)
}

/// As it is shipped, or in small steps.
fn stepping(shared: Arc<SharedViews>, kind: usize) -> History {
    let history = History::new(shared);
    match kind % 3 {
        0 => history,
        kind => history.stepping([7, 60][kind - 1], [0, 300][kind - 1]),
    }
}

fn fresh() -> Engine {
    Engine::new(&EngineConfig::default())
}

fn events_of(engine: &mut Engine, command: &Command) -> Vec<Event> {
    let mut events = Vec::new();
    engine.apply(command, &mut events);
    events
}

impl Rig {
    fn new(seed: u64) -> Rig {
        let folder =
            std::env::temp_dir().join(format!("ringside-history-perpetual-{}-{seed}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let shared = Arc::new(SharedViews::new(recent()));
        let archiver = Archiver::open(&store(&folder), JOURNAL, 0, shared.clone()).expect("a new archive");
        let history = stepping(shared.clone(), seed as usize);
        history.open(Readers::start(&store(&folder), 1).expect("readers"));
        Rig {
            random: Random::new(seed ^ 0xabcd),
            flow: Flow::new(seed),
            folder,
            journal: Vec::new(),
            engine: fresh(),
            // Nothing is archived for it, so nothing is forgotten.
            reference: recent(),
            shared,
            history: Arc::new(history),
            follower: (fresh(), archiver),
            snapshots: Vec::new(),
            compared: BTreeMap::new(),
            runtime: tokio::runtime::Builder::new_current_thread().build().expect("a runtime"),
        }
    }

    fn step(&mut self) {
        if self.random.below(9) == 0 {
            self.apply(Command::new(OperatorNote { action: 69, ..zerocopy::FromZeros::new_zeroed() }));
        }
        let command = self.flow.command();
        self.apply(command);
    }

    fn apply(&mut self, mut command: Command) {
        // A note that was put in between moves those behind it on.
        command.sequence = self.engine.sequence() + 1;
        command.time_ns = command.time_ns.max(self.reference.time_ns());
        let events = events_of(&mut self.engine, &command);
        self.flow.observe(&events);
        self.journal.push(command);
        events.iter().for_each(|event| self.reference.fold(event));
        self.shared.write(|views| events.iter().for_each(|event| views.fold(event)));
    }

    /// The follower goes on by up to `count` commands, and may commit or take a snapshot.
    fn follow(&mut self, count: u64) {
        let (engine, archiver) = &mut self.follower;
        for command in self.journal.iter().skip(engine.sequence() as usize).take(count as usize) {
            events_of(engine, command).iter().for_each(|event| archiver.event(event));
        }
        let sequence = engine.sequence();
        match self.random.below(4) {
            0 => {
                archiver.commit(sequence, true).expect("room");
                let (mut saved, mut views) = (Vec::new(), Vec::new());
                engine.save(&mut saved);
                archiver.save(&mut views);
                self.snapshots.push(Snapshot { sequence, engine: saved, views });
            }
            1 => archiver.commit(sequence, true).expect("room"),
            _ => archiver.commit(sequence, false).expect("room"),
        }
        // What egress does with every batch.
        self.shared.write(|_| ());
    }

    /// The process dies, at whatever moment, and comes back; perhaps without its archive.
    fn restart(&mut self, lose_archive: bool) {
        let (mut views, mut engine) = (recent(), fresh());
        if let Some(snapshot) = self.snapshots.last() {
            engine = Engine::load(&EngineConfig::default(), &snapshot.engine).expect("it was saved");
            views.load(&snapshot.views).expect("it was saved");
            assert!(snapshot.sequence <= self.follower.1.kept(), "no snapshot is ahead of the archive");
        }
        for command in self.journal.iter().skip(engine.sequence() as usize) {
            events_of(&mut engine, command).iter().for_each(|event| views.fold(event));
        }
        assert_eq!(engine.state_hash(), self.engine.state_hash());
        let through = self.snapshots.last().map_or(0, |snapshot| snapshot.sequence);
        self.shared = Arc::new(SharedViews::new(views));
        let history = stepping(self.shared.clone(), self.random.below(3) as usize);
        let store = store(&self.folder);
        if lose_archive {
            std::fs::remove_dir_all(&self.folder).expect("it is there");
        }
        let last = self.engine.sequence();
        let mut archiver = Archiver::open(&store, JOURNAL, last, self.shared.clone()).expect("it opens");
        let kept = archiver.kept();
        let mut engine = fresh();
        if let Some(snapshot) = self.snapshots.iter().rev().find(|snapshot| snapshot.sequence <= kept) {
            engine = Engine::load(&EngineConfig::default(), &snapshot.engine).expect("it was saved");
            archiver.load(&snapshot.views).expect("it was saved");
        }
        self.follower = (engine, archiver);
        while self.follower.1.kept() < through {
            self.follow(1000);
        }
        history.open(Readers::start(&store, 1).expect("readers"));
        self.history = Arc::new(history);
    }

    fn now_ms(&self) -> i64 {
        self.reference.time_ns().div_euclid(1_000_000)
    }

    /// A page of an owner's rows in a market or across them.
    fn page(&mut self, owner: u32, market: Option<MarketId>, newest: u64, tag: u64) -> Page {
        let limit = 1 + self.random.below(40) as usize;
        let page = Page::new(owner, market, limit).oldest(self.random.below(2) == 0);
        let span = (self.now_ms() - 1_700_000_000_000) as u64 + 2;
        let page = match self.random.below(4) {
            0 => page,
            1 => page.from_id(self.random.below(newest + 2)),
            2 => page.of_id(self.random.below(newest + 2)),
            _ => {
                let one = 1_700_000_000_000 + self.random.below(span) as i64;
                let other = 1_700_000_000_000 + self.random.below(span) as i64;
                page.within(one.min(other)..=one.max(other))
            }
        };
        let page = if self.random.below(4) == 0 { page.tagged(tag) } else { page };
        if self.random.below(3) == 0 { page.faceted(self.facets()) } else { page }
    }

    fn facets(&mut self) -> u32 {
        match self.random.below(3) {
            0 => 1 << self.random.below(14),
            1 => self.random.below(1 << 14) as u32,
            _ => 1 | self.random.below(4) as u32,
        }
    }

    fn count(&mut self, name: &'static str, rows: usize, archived: usize) {
        let counts = self.compared.entry(name).or_default();
        counts.0 += rows;
        counts.1 += archived;
    }

    /// One page of a list, of both.
    fn compare<T: Archived + Debug + PartialEq>(&mut self, name: &'static str, owner: u32, across: bool) {
        let market = match self.random.below(3) {
            0 if across => None,
            number => Some(FIRST_PERPETUAL + (number % 2) as MarketId),
        };
        self.compare_in::<T>(name, owner, market);
    }

    /// The same in a market, or across all.
    fn compare_in<T: Archived + Debug + PartialEq>(
        &mut self,
        name: &'static str,
        owner: u32,
        market: Option<MarketId>,
    ) {
        let (newest, tag) = {
            let log = T::log(&self.reference);
            let some = self.random.below(log.len().max(1) as u64) as usize;
            let key = log.iter().nth(some).map(Row::key);
            (log.iter().map(|row| row.key().id).max().unwrap_or(0), key.map_or(1, |key| key.tag))
        };
        let page = self.page(owner, market, newest, tag);
        let expected = T::log(&self.reference).page(&page);
        let found: Vec<T> = self.runtime.block_on(self.history.page(&page)).expect("history is read");
        assert_eq!(found, expected, "{name}: {page:?}");
        let held = T::log(&self.shared.read()).page(&page).len();
        self.count(name, found.len(), found.len().saturating_sub(held));
        let all = Page { limit: usize::MAX, ..page.clone() };
        let count = T::log(&self.reference).page(&all).len() as u64;
        assert_eq!(T::log(&self.reference).count(&page), count, "{name}: {page:?}");
        let all = T::log(&self.reference).page(&all);
        self.compare_beyond(name, source::<T>(), &page, all);
    }

    /// A page beyond others, of rows that are all there is now, while commands come and the archive goes on.
    fn compare_beyond<T: Row + Send + Debug + PartialEq + 'static>(
        &mut self,
        name: &'static str,
        source: RowSource<T>,
        page: &Page,
        mut all: Vec<T>,
    ) {
        let skip = match self.random.below(4) {
            0 => 0,
            1 => u64::MAX - self.random.below(3),
            _ => self.random.below(all.len() as u64 + 3),
        };
        if !page.is_oldest {
            all.reverse();
        }
        let total = all.len() as u64;
        let begin = usize::try_from(skip).unwrap_or(usize::MAX).min(all.len());
        let end = begin.saturating_add(page.limit).min(all.len());
        let history = self.history.clone();
        let mut beyond = Box::pin(history.beyond(source, page, skip, true));
        // A reader that is slower than this loop would else never come to the end of what is added.
        let mut interruptions = 0;
        let found = loop {
            match beyond.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                Poll::Ready(found) => break found.expect("history is read"),
                Poll::Pending if interruptions < 4 && self.random.below(8) == 0 => {
                    interruptions += 1;
                    (0..3).for_each(|_| self.step());
                    let count = self.random.below(8);
                    self.follow(count);
                }
                Poll::Pending => std::thread::yield_now(),
            }
        };
        assert_eq!(found.rows, all[begin..end], "{name} beyond {skip} of {total}: {page:?}");
        assert_eq!(found.total, total, "{name} beyond {skip}: {page:?}");
        if page.is_plain() {
            assert_eq!(found.passed, skip.min(total), "{name} beyond {skip} of {total}: {page:?}");
        } else {
            assert!(found.passed >= skip.min(total), "{name} beyond {skip} of {total}: {page:?}");
        }
        let place = (begin < end).then(|| {
            let last = all[end - 1].key();
            let mut passed: Vec<(MarketId, u64)> = Vec::new();
            for key in all[..end].iter().rev().map(Row::key).filter(|key| key.time_ms == last.time_ms) {
                if passed.iter().all(|(market, _)| *market != key.market) {
                    passed.push((key.market, key.id));
                }
            }
            Place { time_ms: last.time_ms, passed }
        });
        assert_eq!(found.place, place, "{name} beyond {skip} of {total}: {page:?}");
        self.count("beyond", end - begin, 0);
    }

    /// Fills of both markets by cursor, in pages of a random size, either way, within a random time.
    fn compare_walk(&mut self, account: u32) {
        let times = self.page(account, None, 0, 0).times;
        let is_descending = self.random.below(2) == 0;
        let limit = 1 + self.random.below(90) as usize;
        let markets = [FIRST_PERPETUAL, FIRST_PERPETUAL + 1];
        let facets = [ALL_FACETS, self.facets()][self.random.below(2) as usize];
        let mut expected: Vec<FillRecord> = markets
            .iter()
            .flat_map(|market| {
                let page =
                    Page::new(account, Some(*market), usize::MAX).within(times.clone()).faceted(facets);
                FillRecord::log(&self.reference).page(&page)
            })
            .collect();
        expected.sort_by_key(|row| (row.key().time_ms, row.key().id, row.key().market));
        if is_descending {
            expected.reverse();
        }
        let (mut found, mut place) = (Vec::new(), None);
        loop {
            let mut walk: Walk<FillRecord> =
                Walk::new(account, &markets, times.clone(), is_descending, facets, place.clone(), limit);
            let begin = found.len();
            while found.len() - begin < limit
                && let Some(row) = self.runtime.block_on(walk.next(&self.history)).expect("history is read")
            {
                found.push(row);
            }
            place = walk.place().cloned();
            if found.len() - begin < limit {
                break;
            }
        }
        assert_eq!(found, expected, "by {limit} within {times:?}, descending: {is_descending}");
        self.count("walk", found.len(), 0);
    }

    /// Orders, open ones among them.
    fn compare_orders(&mut self, account: u32, is_of_service: bool) {
        let market = FIRST_PERPETUAL + self.random.below(2) as MarketId;
        let newest = self.reference.perpetuals().orders().ended().iter().map(|row| row.told.order).max();
        let newest: OrderId = newest.unwrap_or(0);
        let page = self.page(account, Some(market), newest, 0);
        let expected = {
            let orders = self.reference.perpetuals().orders();
            let log = if is_of_service { orders.service() } else { orders.ended() };
            let all = Page { limit: usize::MAX, ..page.clone() };
            let mut rows = log.page(&all);
            rows.extend(orders.open_page(&all, is_of_service));
            page.join(&mut rows);
            rows
        };
        let found = self.runtime.block_on(self.history.perpetual_orders(&page, is_of_service));
        let found = found.expect("history is read");
        assert_eq!(found, expected, "{page:?}");
        let name = if is_of_service { "service" } else { "orders" };
        self.count(name, found.len(), 0);
        if let Some(order) = found.first() {
            let one = self.history.perpetual_order(account, market, order.told.order, is_of_service);
            assert_eq!(self.runtime.block_on(one), Ok(Some(*order)));
            let named =
                self.history.perpetual_order_named(account, market, order.client_order, is_of_service);
            let named = self.runtime.block_on(named).expect("history is read").expect("it has a name");
            assert_eq!(named.client_order, order.client_order);
            assert!(named.told.order >= order.told.order || named.is_open());
        }
        if is_of_service {
            let became = self.runtime.block_on(self.history.became(&found)).expect("history is read");
            let fired: Vec<&OrderRecord> = found.iter().filter(|order| order.counterpart != 0).collect();
            assert_eq!(became.len(), fired.len(), "{fired:?}");
            self.count("became", became.len(), 0);
        }
    }

    /// The same beyond others, in a market or across both.
    fn compare_orders_beyond(&mut self, account: u32) {
        let market = FIRST_PERPETUAL + self.random.below(2) as MarketId;
        let newest = self.reference.perpetuals().orders().ended().iter().map(|row| row.told.order).max();
        let page = self.page(account, Some(market), newest.unwrap_or(0), 0);
        let page = Page { market: page.market.filter(|_| self.random.below(2) == 0), ..page };
        let all = Page { limit: usize::MAX, ..page.clone() };
        let orders = self.reference.perpetuals().orders();
        let mut rows = orders.ended().page(&all);
        rows.extend(orders.open_page(&all, false));
        all.join(&mut rows);
        self.compare_beyond("orders", ORDERS, &page, rows);
    }

    fn compare_candles(&mut self) {
        let source = self.random.pick(&[Source::Trades, Source::Mark, Source::Index, Source::Premium]);
        let interval = self.random.pick(&INTERVALS).1;
        let now_ms = self.now_ms();
        let span = (now_ms - 1_700_000_000_000) as u64 + 2;
        let time = |random: &mut Random| {
            (random.below(2) == 0).then(|| 1_700_000_000_000 + random.below(span) as i64)
        };
        let (start_ms, end_ms) = (time(&mut self.random), time(&mut self.random));
        let market = FIRST_PERPETUAL + self.random.below(2) as MarketId;
        let limit = 1 + self.random.below(100) as usize;
        let query = CandleQuery { source, market, interval, start_ms, end_ms, limit };
        let expected = self.reference.perpetuals().series().candles(&query, now_ms);
        let found = self.runtime.block_on(self.history.perpetual_candles(query, now_ms));
        let found = found.expect("history is read");
        assert_eq!(found, expected, "{query:?}");
        let held = self.shared.read().perpetuals().series().candles(&query, now_ms).len();
        self.count("candles", found.len(), found.len().saturating_sub(held));
    }

    fn compare_joined(&mut self) {
        let market = FIRST_PERPETUAL + self.random.below(2) as MarketId;
        let newest = self.reference.perpetuals().trades().iter().map(|trade| trade.trade).max().unwrap_or(0);
        let page = self.page(0, Some(market), newest, 0).tagged(0);
        let all = Page { limit: usize::MAX, ..page.clone() };
        let trades = self.reference.perpetuals().trades().page(&all);
        let mut rows: Vec<Vec<MarketTrade>> =
            trades.chunk_by(|one, next| one.aggregate == next.aggregate).map(<[_]>::to_vec).collect();
        if page.is_oldest {
            rows.truncate(page.limit);
        } else {
            rows.drain(..rows.len().saturating_sub(page.limit));
        }
        let found = self.runtime.block_on(self.history.joined_trades(&page)).expect("history is read");
        assert_eq!(found, rows, "{page:?}");
        self.count("joined", found.len(), 0);
    }

    fn compare_all(&mut self) {
        let account = self.random.below(ACCOUNTS) as u32;
        self.compare::<FillRecord>("fills", account, false);
        self.compare::<IncomeRecord>("income", account, true);
        self.compare::<AmendRecord>("amendments", account, false);
        self.compare::<MarginRecord>("margins", account, false);
        self.compare::<PreventedRecord>("prevented", account, false);
        self.compare::<ForcedRecord>("forced", account, true);
        self.compare::<MarketTrade>("trades", 0, false);
        self.compare::<FundingRecord>("fundings", 0, true);
        self.compare::<InterestRecord>("interest", 0, false);
        self.compare_in::<TransferRecord>("transfers", account, Some(0));
        self.compare_in::<OperatorRecord>("operators", 0, Some(0));
        self.compare_walk(account);
        self.compare_orders(account, false);
        self.compare_orders(account, true);
        self.compare_orders_beyond(account);
        self.compare_candles();
        self.compare_joined();
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn two_tiers_answer_like_one() {
    let mut compared: BTreeMap<&'static str, (usize, usize)> = BTreeMap::new();
    for seed in seeds(2) {
        let mut rig = Rig::new(seed);
        for round in 0..220 {
            for _ in 0..20 {
                rig.step();
            }
            let count = rig.random.below(50);
            rig.follow(count);
            for _ in 0..4 {
                rig.compare_all();
            }
            if round % 37 == 36 {
                rig.restart(round % 74 == 73);
            }
        }
        for (name, (rows, archived)) in &rig.compared {
            let counts = compared.entry(name).or_default();
            counts.0 += rows;
            counts.1 += archived;
        }
    }
    // Every list was looked into, and those that are counted so had rows from the archive alone.
    for name in [
        "fills",
        "income",
        "trades",
        "fundings",
        "interest",
        "prevented",
        "forced",
        "candles",
        "orders",
        "joined",
        "amendments",
        "transfers",
        "operators",
        "walk",
        "beyond",
    ] {
        let (rows, archived) = compared.get(name).copied().unwrap_or_default();
        // How many there are of the rare ones depends on how far the archiver is by chance: 37 amendments once.
        assert!(rows > 10, "{name}: {compared:?}");
        assert!(
            archived > 0 || ["orders", "joined", "walk", "beyond"].contains(&name),
            "{name}: {compared:?}"
        );
    }
}
