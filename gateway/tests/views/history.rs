//! History in two tiers answers what history in memory answers: random commands, random queries, with the archive lagging,
//! views forgetting, restarts from snapshots, and archives lost.
//!
//! One seed gives one run: `RINGSIDE_SEED=<n> cargo test -p ringside-gateway --test views history` repeats it.

use crate::flow::{address, any_order, credit, fills, list_market, orders};
use crate::random::{Random, seeds};
use ringside_core::command::{
    CancelAll, CancelOrder, Command, CreateAccount, CreditPerpetual, OrderStatus, PlaceOrder, ReplaceOrder,
    Side,
};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Balances, Done, Event};
use ringside_core::ids::{ALL_MARKETS, AccountId, MarketId, OrderId, Sequence};
use ringside_core::money::{AMOUNT_UNIT, RawAmount, UNIT, notional};
use ringside_gateway::boot::genesis;
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{ALL_FACETS, Archive, ArchiveError, ArchiveReader, EntriesAsked};
use ringside_persist::recover::machine::Fold;
use ringside_views::archive::History;
use ringside_views::archive::archiver::Archiver;
use ringside_views::archive::pages::row_of;
use ringside_views::archive::readers::{Readers, Unreadable};
use ringside_views::archive::rows;
use ringside_views::candle::Candle;
use ringside_views::history::{BalanceRecord, CreditRecord, FillQuery, OrderQuery, TradeRecord};
use ringside_views::kept::List;
use ringside_views::kline::{KEPT, SPOT_INTERVALS, SpotCandle};
use ringside_views::log::{Retention, Row};
use ringside_views::order::OrderRecord;
use ringside_views::time::TimeRange;
use ringside_views::{SharedViews, Views};
use std::path::PathBuf;
use std::sync::Arc;

const ACCOUNTS: u64 = 6;
const SYMBOLS: [(&str, &str, &str); 2] = [("DFUSDT", "DF", "USDT"), ("ABUSDT", "AB", "USDT")];
const JOURNAL: [u8; 16] = [3; 16];
/// Rows that views keep although they are archived.
const WINDOW: usize = 40;

/// The state of the follower at one command.
struct Snapshot {
    sequence: Sequence,
    engine: Vec<u8>,
    views: Vec<u8>,
}

/// The second engine with the fold that feeds the archive.
struct Follower {
    engine: Engine,
    archiver: Archiver,
}

/// An exchange without sockets: commands are its journal.
struct Rig {
    random: Random,
    folder: PathBuf,
    journal: Vec<Command>,
    engine: Engine,
    time_ns: i64,
    orders: OrderId,
    /// Everything in memory: what is compared with.
    reference: Views,
    /// What commands left: account, command, asset, free, reserved.
    balances: Vec<(AccountId, Sequence, u16, i128, i128)>,
    shared: Arc<SharedViews>,
    history: Arc<History>,
    follower: Follower,
    snapshots: Vec<Snapshot>,
    /// How often a query needed both tiers, and how many rows came from the archive alone.
    forgotten: usize,
    runtime: Arc<tokio::runtime::Runtime>,
}

fn recent() -> Views {
    Views::new(Retention::Window(WINDOW))
}

/// Reads in short stretches.
fn read(shared: &Arc<SharedViews>) -> Arc<History> {
    Arc::new(History::new(shared.clone()).stepping(9, 30))
}

fn store(folder: &std::path::Path) -> Sqlite {
    Sqlite::new(folder.join("history.db")).faceted(rows::facets_of)
}

fn events_of(engine: &mut Engine, command: &Command) -> Vec<Event> {
    let mut events = Vec::new();
    engine.apply(command, &mut events);
    events
}

impl Rig {
    fn new(seed: u64) -> Rig {
        let folder = std::env::temp_dir().join(format!("ringside-history-{}-{seed}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let shared = Arc::new(SharedViews::new(recent()));
        let archiver = Archiver::open(&store(&folder), JOURNAL, 0, shared.clone()).expect("a new archive");
        let history = read(&shared);
        history.open(Readers::start(&store(&folder), 1).expect("readers"));
        let mut rig = Rig {
            random: Random::new(seed),
            folder,
            journal: Vec::new(),
            engine: Engine::new(&EngineConfig::default()),
            time_ns: 1_700_000_000_000_000_000,
            orders: 0,
            reference: Views::default(),
            balances: Vec::new(),
            shared,
            history,
            follower: Follower { engine: Engine::new(&EngineConfig::default()), archiver },
            snapshots: Vec::new(),
            forgotten: 0,
            runtime: Arc::new(tokio::runtime::Builder::new_current_thread().build().expect("a runtime")),
        };
        for names in SYMBOLS {
            rig.apply(list_market(names));
        }
        for account in 1..=ACCOUNTS {
            for asset in ["DF", "USDT", "AB"] {
                rig.apply(credit(account, asset, 50_000 * AMOUNT_UNIT));
            }
        }
        rig
    }

    fn apply(&mut self, mut command: Command) {
        command.sequence = self.engine.sequence() + 1;
        command.time_ns = self.time_ns;
        let events = events_of(&mut self.engine, &command);
        self.journal.push(command);
        for event in &events {
            self.reference.fold(event);
            if let Some(b) = event.get::<Balances>() {
                let mut left = |asset, available: RawAmount, frozen: RawAmount| {
                    self.balances.push((b.account, event.sequence, asset, available.get(), frozen.get()));
                };
                if b.changed & 1 != 0 {
                    left(b.base, b.base_available, b.base_frozen);
                }
                if b.changed & 2 != 0 && b.quote != b.base {
                    left(b.quote, b.quote_available, b.quote_frozen);
                }
            }
        }
        let done = *events.last().and_then(Event::get::<Done>).expect("a command ends with Done");
        self.orders = self.orders.max(done.order);
        self.shared.write(|views| events.iter().for_each(|event| views.fold(event)));
    }

    fn step(&mut self) {
        // Often several commands of one time, sometimes a long pause.
        self.time_ns += [0, 0, 1, 400_000_000, 3_000_000_000][self.random.below(5) as usize];
        let account = 1 + self.random.below(ACCOUNTS) as AccountId;
        let market = self.random.below(SYMBOLS.len() as u64) as MarketId;
        let order = 1 + self.orders.saturating_sub(self.random.below(90));
        let quantity = (10 + self.random.below(60)) as i64 * UNIT / 10 * 3;
        let price = 20_000_000 + self.random.below(12) as i64 * 10_000;
        match self.random.below(100) {
            0..70 => {
                let place = any_order(&mut self.random, account, market, price, quantity);
                self.apply(Command::new(place));
            }
            70..88 => self.apply(Command::new(CancelOrder { account, reserved: 0, order })),
            88..91 => {
                let market = *self.random.pick(&[market, ALL_MARKETS]);
                self.apply(Command::new(CancelAll { account, market }));
            }
            91..96 => {
                self.apply(Command::new(ReplaceOrder { account, reserved: 0, order, price, quantity }));
            }
            _ => {
                let amount = self.random.below(5000) as i128 * AMOUNT_UNIT / 7;
                let asset = *self.random.pick(&["DF", "USDT", "AB"]);
                self.apply(credit(account.into(), asset, amount));
            }
        }
    }

    /// The follower goes on by up to `count` commands, and may commit or take a snapshot.
    fn follow(&mut self, count: u64) {
        let next = self.follower.engine.sequence() as usize;
        for command in self.journal.iter().skip(next).take(count as usize) {
            let events = events_of(&mut self.follower.engine, command);
            events.iter().for_each(|event| self.follower.archiver.event(event));
        }
        let sequence = self.follower.engine.sequence();
        match self.random.below(4) {
            0 => {
                self.follower.archiver.commit(sequence, true).expect("room");
                let (mut engine, mut views) = (Vec::new(), Vec::new());
                self.follower.engine.save(&mut engine);
                self.follower.archiver.save(&mut views);
                self.snapshots.push(Snapshot { sequence, engine, views });
            }
            1 => self.follower.archiver.commit(sequence, true).expect("room"),
            _ => self.follower.archiver.commit(sequence, false).expect("room"),
        }
        // What egress does with every batch.
        self.shared.write(|_| ());
    }

    /// The process dies, at whatever moment, and comes back; perhaps without its archive.
    fn restart(&mut self, lose_archive: bool) {
        let last = self.engine.sequence();
        let mut views = recent();
        let mut engine = Engine::new(&EngineConfig::default());
        if let Some(snapshot) = self.snapshots.last() {
            engine = Engine::load(&EngineConfig::default(), &snapshot.engine).expect("it was saved");
            views.load(&snapshot.views).expect("it was saved");
            assert!(
                snapshot.sequence <= self.follower.archiver.kept(),
                "no snapshot is ahead of the archive"
            );
        }
        for command in self.journal.iter().skip(engine.sequence() as usize) {
            events_of(&mut engine, command).iter().for_each(|event| views.fold(event));
        }
        assert_eq!(engine.state_hash(), self.engine.state_hash());
        let forgotten = views.archived_through();
        self.shared = Arc::new(SharedViews::new(views));
        self.history = read(&self.shared);
        let store = store(&self.folder);
        if lose_archive {
            std::fs::remove_dir_all(&self.folder).expect("it is there");
        }
        let mut archiver = Archiver::open(&store, JOURNAL, last, self.shared.clone()).expect("it opens");
        let kept = archiver.kept();
        assert_eq!(lose_archive, kept == 0 && last > 0 && lose_archive);
        let mut engine = Engine::new(&EngineConfig::default());
        if let Some(snapshot) = self.snapshots.iter().rev().find(|snapshot| snapshot.sequence <= kept) {
            engine = Engine::load(&EngineConfig::default(), &snapshot.engine).expect("it was saved");
            archiver.load(&snapshot.views).expect("it was saved");
        }
        self.follower = Follower { engine, archiver };
        while self.follower.archiver.kept() < forgotten {
            self.follow(1000);
        }
        self.history.open(Readers::start(&store, 1).expect("readers"));
    }

    fn range(&mut self) -> TimeRange {
        let span = (self.time_ns / 1_000_000_000 - 1_700_000_000) as u64 + 2;
        let mut second = || 1_700_000_000 + self.random.below(span) as i64;
        let (one, other) = (second(), second());
        match one % 4 {
            0 | 1 => TimeRange::ALL,
            2 => TimeRange { start_s: one, end_s: i64::MAX },
            _ => TimeRange { start_s: one.min(other), end_s: one.max(other) },
        }
    }

    /// One query of each kind, of both.
    fn compare(&mut self) {
        let account = self.random.below(ACCOUNTS + 2) as AccountId;
        let market = *self.random.pick(&[None, None, Some(0), Some(1)]);
        let status = match self.random.below(10) {
            index @ 0..6 => Some(OrderStatus::ALL[index as usize]),
            _ => None,
        };
        let limit = 1 + self.random.below(60) as usize;
        let time = self.range();

        let query = OrderQuery { account, market, status, created: time, limit };
        let expected = orders(&self.reference, &query);
        // In stretches, between which the archive takes rows over and the views forget them.
        let (runtime, history) = (self.runtime.clone(), self.history.clone());
        let found = runtime.block_on(async {
            let mut reading = std::pin::pin!(history.orders(query));
            loop {
                match futures_util::poll!(&mut reading) {
                    std::task::Poll::Ready(found) => break found,
                    std::task::Poll::Pending if self.random.below(4) == 0 => {
                        let count = self.random.below(60);
                        self.follow(count);
                    }
                    std::task::Poll::Pending => tokio::task::yield_now().await,
                }
            }
        });
        assert_eq!(found, Ok(expected), "{query:?}");
        let is_gone = |order: &&OrderRecord| self.shared.read().order(order.account, order.order).is_none();
        self.forgotten += found.iter().flatten().filter(is_gone).count();

        let query = FillQuery { account, market, time, limit };
        let expected = fills(&self.reference, &query);
        let found = self.runtime.block_on(self.history.fills(query)).expect("history is read");
        assert_eq!(found, expected, "{query:?}");

        let market = market.unwrap_or(0);
        let trades = self.reference.history().trades().of(0).filter(|trade| trade.market == market);
        let expected: Vec<TradeRecord> = trades.rev().take(limit).copied().collect();
        let found = self.runtime.block_on(self.history.trades(market, limit)).expect("history is read");
        assert_eq!(found, expected, "{limit} trades of {market}");
        assert_eq!(
            self.shared.read().history().last_trade(market),
            self.reference.history().last_trade(market)
        );

        let known = 1 + self.random.below(self.orders.max(1));
        let owner = (0..=ACCOUNTS as AccountId).find(|owner| self.reference.order(*owner, known).is_some());
        assert_eq!(self.runtime.block_on(self.history.owner(known)), Ok(owner), "owner of {known}");
        for order in [0, self.orders + 1, 1 + self.random.below(self.orders.max(1))] {
            let found = self.runtime.block_on(self.history.order(account, order)).expect("history is read");
            assert_eq!(found, self.reference.order(account, order), "order {order} of {account}");
        }
    }

    /// Everything in the archive is what the journal gives, each row once.
    fn check_archive(&mut self) {
        while self.follower.engine.sequence() < self.engine.sequence() {
            self.follow(1000);
        }
        self.follower.archiver.commit(self.engine.sequence(), true).expect("room");
        let mut reader = store(&self.folder).reader().expect("a reader");
        assert_eq!(reader.mark().expect("a mark").sequence, self.engine.sequence());
        let mut ended = 0;
        for account in 0..=ACCOUNTS as AccountId {
            let expected = self.reference.history().ended().of(account).copied();
            assert!(archived::<OrderRecord>(reader.as_mut(), List::SpotOrders, account).eq_any(expected));
            ended += archived::<OrderRecord>(reader.as_mut(), List::SpotOrders, account).len();
            let expected = self.reference.history().fills().of(account).copied();
            assert!(
                archived(reader.as_mut(), List::SpotFills, account).eq_any(expected),
                "fills of {account}"
            );
            let found: Vec<BalanceRecord> = archived(reader.as_mut(), List::BalanceChanges, account);
            let found = found
                .iter()
                .map(|b| (b.account, b.sequence, b.asset as u16, b.available.get(), b.frozen.get()));
            let mut found: Vec<_> = found.collect();
            let mut expected: Vec<_> =
                self.balances.iter().filter(|(owner, ..)| *owner == account).copied().collect();
            found.sort_unstable();
            expected.sort_unstable();
            assert_eq!(found, expected, "balances of {account}");
        }
        assert!(ended > 300, "too little happens: {ended} orders ended");
        let credits: Vec<CreditRecord> = archived(reader.as_mut(), List::Credits, 0);
        assert!(credits.iter().eq(self.reference.history().credits().iter()), "credits");
        let expected = self.reference.history().trades().of(0).copied();
        assert!(archived(reader.as_mut(), List::SpotTrades, 0).eq_any(expected), "trades");
    }
}

/// What the archive has of an owner's list.
fn archived<T: Row>(reader: &mut dyn ArchiveReader, list: List, owner: AccountId) -> Vec<T> {
    let asked = EntriesAsked {
        list: rows::list_of(list as u16),
        owner,
        market: None,
        tag: 0,
        facets: ALL_FACETS,
        ids: 0..=u64::MAX,
        times: i64::MIN..=i64::MAX,
        through: u64::MAX,
        is_oldest: true,
        limit: usize::MAX,
        work: usize::MAX,
    };
    let mut entries = Vec::new();
    reader.entries(&asked, &mut entries).expect("history is read");
    entries.iter().map(|entry| row_of(entry).expect("an entry is a row of its list")).collect()
}

/// Rows of several markets stand in no order of their own.
trait InAnyOrder<T> {
    fn eq_any(self, others: impl Iterator<Item = T>) -> bool;
}

impl<T: Row + PartialEq> InAnyOrder<T> for Vec<T> {
    fn eq_any(mut self, others: impl Iterator<Item = T>) -> bool {
        let mut others: Vec<T> = others.collect();
        let key = |row: &T| (row.key().market, row.key().id);
        self.sort_unstable_by_key(key);
        others.sort_unstable_by_key(key);
        self == others
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn two_tiers_answer_as_one() {
    for seed in seeds(6) {
        eprintln!("rerun: RINGSIDE_SEED={seed} cargo test -p ringside-gateway --test views history::");
        let mut rig = Rig::new(seed);
        for _ in 0..400 {
            (0..rig.random.below(12)).for_each(|_| rig.step());
            match rig.random.below(40) {
                0 => {
                    let lose_archive = rig.random.below(4) == 0;
                    rig.restart(lose_archive);
                }
                1..20 => {
                    let count = rig.random.below(80);
                    rig.follow(count);
                }
                _ => {}
            }
            (0..4).for_each(|_| rig.compare());
        }
        rig.check_archive();
        rig.compare();
        assert!(rig.forgotten > 1000, "seed {seed} reads the archive too little: {} orders", rig.forgotten);
    }
}

/// Neither the views nor a snapshot grows with history.
#[test]
fn memory_holds_a_window() {
    let mut rig = Rig::new(77);
    for round in 0..6 {
        (0..1500).for_each(|_| rig.step());
        while rig.follower.engine.sequence() < rig.engine.sequence() {
            rig.follow(4000);
        }
        rig.follower.archiver.commit(rig.engine.sequence(), true).expect("room");
        (0..4).for_each(|_| rig.shared.write(|_| ()));
        let views = rig.shared.read();
        let spot = views.history();
        for rows in [spot.trades().len(), spot.fills().len(), spot.ended().len(), spot.credits().len()] {
            assert!(rows <= WINDOW, "round {round}: {rows} rows");
        }
        drop(views);
        let mut bytes = Vec::new();
        rig.follower.archiver.save(&mut bytes);
        let mut loaded = recent();
        loaded.load(&bytes).expect("it was saved");
        assert_eq!(loaded.archived_through(), rig.engine.sequence(), "all of it is archived");
        let spot = loaded.history();
        let rows = [spot.trades().len(), spot.fills().len(), spot.ended().len(), spot.credits().len()];
        assert_eq!(rows, [0; 4], "a snapshot holds no history");
    }
}

/// Candles older than the views hold come from the archive, whatever range and number is asked for.
#[test]
fn candles_of_two_tiers_are_those_of_all_trades() {
    let mut rig = Rig::new(11);
    let mut expected: Vec<SpotCandle> = Vec::new();
    for minute in 0..KEPT as i64 + 400 {
        // Some minutes see no trade.
        rig.time_ns += 60_000_000_000 * [1, 1, 1, 2][rig.random.below(4) as usize];
        let (price, quantity) = (20_000_000 + (minute % 7) * 10_000, UNIT * 10);
        rig.apply(Command::new(PlaceOrder::limit(1, 0, Side::Sell, price, quantity)));
        rig.apply(Command::new(PlaceOrder::limit(2, 0, Side::Buy, price, quantity)));
        let open_ms = SPOT_INTERVALS[0].1.open(rig.time_ns / 1_000_000);
        let (volume, value, count) = (i128::from(quantity), notional(price, quantity), 1);
        expected.push(SpotCandle { volume, value, count, ..Candle::flat(open_ms, price) });
        if minute % 50 == 0 {
            rig.follow(1000);
        }
    }
    rig.follow(10_000);
    rig.follower.archiver.commit(rig.engine.sequence(), true).expect("room");
    rig.snapshots.clear();
    for round in 0..300 {
        if round == 150 {
            // With the archive gone and no snapshot, the views have dropped candles that are nowhere yet: said, not hidden.
            rig.restart(true);
            let all = TimeRange { start_s: 0, end_s: i64::MAX };
            let found = rig.runtime.block_on(rig.history.klines(0, 0, all, 10));
            assert_eq!(found, Err(Unreadable::Failed));
            rig.follow(100_000);
            rig.follower.archiver.commit(rig.engine.sequence(), true).expect("room");
        }
        let mut second = || expected[rig.random.below(expected.len() as u64) as usize].open_ms / 1_000;
        let (one, other) = (second(), second() + 1);
        let opens = match round % 3 {
            0 => TimeRange { start_s: i64::MIN, end_s: one },
            1 => TimeRange { start_s: one, end_s: i64::MAX },
            _ => TimeRange { start_s: one.min(other), end_s: one.max(other) },
        };
        let limit = 1 + rig.random.below(1000) as usize;
        let inside =
            expected.iter().filter(|kline| (opens.start_s..=opens.end_s).contains(&(kline.open_ms / 1_000)));
        let mut inside: Vec<_> = inside.copied().collect();
        if opens.start_s == i64::MIN {
            inside.drain(..inside.len().saturating_sub(limit));
        }
        inside.truncate(limit);
        let found = rig.runtime.block_on(rig.history.klines(0, 0, opens, limit));
        assert_eq!(found.expect("history is read"), inside, "{opens:?}, at most {limit}");
    }
}

/// Who has nothing pays for nothing, and may ask as often as the limits let it: what it was refused is shown while memory has it, and
/// is in no archive. One unit of anything, on either side, and refusals are kept as everybody's.
#[test]
fn refusals_of_an_account_without_money_are_in_memory_alone() {
    let mut rig = Rig::new(13_131);
    // There is money on that side once a market is listed there.
    genesis::list_perpetuals().into_iter().for_each(|command| rig.apply(command));
    let (penniless, spot, perpetual) = (7, 8, 9);
    for account in [penniless, spot, perpetual] {
        rig.apply(Command::new(CreateAccount { address: address(account.into()), reserved: 0 }));
    }
    rig.apply(credit(spot.into(), "AB", 1));
    rig.apply(Command::new(CreditPerpetual {
        address: address(perpetual.into()),
        reserved: 0,
        amount: 1,
        reason: [0; 64],
    }));
    let refused_each = 500;
    for n in 0..refused_each {
        for account in [penniless, spot, perpetual] {
            let side = if n % 3 == 0 { Side::Sell } else { Side::Buy };
            let order = PlaceOrder::limit(account, 0, side, 20_000_000, 30 * UNIT);
            rig.apply(Command::new(order));
        }
    }
    let of =
        |account| OrderQuery { account, market: None, status: None, created: TimeRange::ALL, limit: 10_000 };
    let shown = orders(&rig.shared.read(), &of(penniless));
    assert_eq!(shown.len(), refused_each);
    assert!(shown.iter().all(|order| order.status == OrderStatus::Rejected), "{shown:?}");
    let newest = shown[0].order;
    rig.follow(10_000);
    rig.follower.archiver.commit(rig.engine.sequence(), true).expect("room");
    rig.shared.write(|_| ());
    let mut reader = store(&rig.folder).reader().expect("a reader");
    for (account, expected) in [(penniless, 0), (spot, refused_each), (perpetual, refused_each)] {
        let rows: Vec<OrderRecord> = archived(reader.as_mut(), List::SpotOrders, account);
        assert_eq!(rows.len(), expected, "account {account}");
        let found = rig.runtime.block_on(rig.history.orders(of(account))).expect("history is read");
        assert!(found.len() >= expected && found.len() <= expected.max(WINDOW), "{account}: {}", found.len());
    }
    // Once it is out of memory as well, nobody knows it, and nobody fails for it.
    (0..200).for_each(|_| rig.step());
    rig.follow(10_000);
    rig.follower.archiver.commit(rig.engine.sequence(), true).expect("room");
    rig.shared.write(|_| ());
    assert_eq!(rig.runtime.block_on(rig.history.order(penniless, newest)), Ok(None));
    assert_eq!(rig.runtime.block_on(rig.history.orders(of(penniless))), Ok(Vec::new()));
    // Money makes it an account as any other.
    rig.apply(credit(penniless.into(), "USDT", 1));
    rig.apply(Command::new(PlaceOrder::limit(penniless, 0, Side::Buy, 20_000_000, 30 * UNIT)));
    rig.follow(10_000);
    rig.follower.archiver.commit(rig.engine.sequence(), true).expect("room");
    let rows: Vec<OrderRecord> = archived(reader.as_mut(), List::SpotOrders, penniless);
    assert_eq!(rows.len(), 1);
}

#[test]
fn an_archive_of_another_history_is_refused() {
    let mut rig = Rig::new(5);
    (0..200).for_each(|_| rig.step());
    rig.follow(10_000);
    rig.follower.archiver.commit(rig.engine.sequence(), true).expect("room");
    let store = store(&rig.folder);
    let last = rig.engine.sequence();
    let open = |journal, last| Archiver::open(&store, journal, last, Arc::default()).map(|_| ());
    assert!(matches!(open([4; 16], last), Err(ArchiveError::Foreign { .. })));
    let error = open(JOURNAL, last - 1).expect_err("a journal that is too short");
    assert!(error.to_string().contains(&format!("through sequence {last}")), "{error}");
    // A journal of the same length in which other things happened.
    let mut archiver = Archiver::open(&store, JOURNAL, last, Arc::default()).expect("it opens");
    let mut engine = Engine::new(&EngineConfig::default());
    for command in &rig.journal {
        let mut command = *command;
        command.time_ns += 1;
        events_of(&mut engine, &command).iter().for_each(|event| archiver.event(event));
    }
    let error = archiver.commit(last, true).expect_err("other times at the mark");
    assert!(matches!(error, ArchiveError::Ahead { .. }), "{error}");
}
