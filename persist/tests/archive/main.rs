//! The embedded archive against a model in memory; the plans of its queries; its file after kill -9 in mid-commit.
//!
//! One seed gives one run: `RINGSIDE_SEED=<n> cargo test -p ringside-persist --test archive` repeats it.
#![allow(clippy::unwrap_used)]

mod entries;
mod room;
#[path = "../../../core/tests/support/seeds.rs"]
mod seeds;
mod upgrade;

use ringside_core::command::{OrderStatus, OrderType, Side, TimeInForce};
use ringside_core::ids::{AccountId, MarketId};
use ringside_core::reject::Reject;
use ringside_persist::archive::row::{BalanceChange, CandleRow, CreditRow, FillRow, OrderRow, TradeRow};
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{
    Archive, ArchiveError, ArchiveReader, Batch, CandlesAsked, FillsAsked, Mark, OrdersAsked, Seconds,
};
use ringside_persist::storage::faulty::Random;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

const ACCOUNTS: u64 = 4;
const MARKETS: u64 = 3;
const JOURNAL: [u8; 16] = [7; 16];
const ENDED: [OrderStatus; 4] =
    [OrderStatus::Filled, OrderStatus::Canceled, OrderStatus::Rejected, OrderStatus::Expired];

/// SQLite writes nothing, and then syncs nothing either, where a transaction leaves its pages as they were. What an earlier commit
/// wrote without a sync must be synced all the same once a durable one is asked for.
#[test]
fn a_durable_commit_of_nothing_new_is_one() {
    let folder = Folder::new("durable");
    let store = folder.store();
    let mut writer = store.writer(JOURNAL).unwrap();
    let mark = Mark { sequence: 7, time_ns: 1_700_000_000_000_000_000 };
    let log_len = || std::fs::metadata(folder.0.join("archive").join("history.db-wal")).unwrap().len();
    writer.commit(&Batch::default(), mark, false).unwrap();
    let written = log_len();
    writer.commit(&Batch::default(), mark, true).unwrap();
    let synced = log_len();
    assert!(synced > written, "a frame that says: synced through here");
    writer.commit(&Batch::default(), mark, true).unwrap();
    assert_eq!((log_len(), writer.mark()), (synced, mark), "it is durable already");
    assert_eq!(store.reader().unwrap().mark().unwrap(), mark);
}

/// A folder of its own that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("ringside-archive-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Folder(path)
    }

    fn store(&self) -> Sqlite {
        Sqlite::new(self.0.join("archive").join("history.db"))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Makes rows as an engine would: ids dense, time and sequence never falling, orders ending out of order.
struct Maker {
    random: Random,
    sequence: u64,
    time_ns: i64,
    placed: Vec<(u64, AccountId, MarketId, i64)>,
    next_order: u64,
    next_trade: [u64; MARKETS as usize],
    all: Batch,
}

impl Maker {
    fn new(seed: u64) -> Maker {
        Maker {
            random: Random::new(seed),
            sequence: 0,
            time_ns: 1_700_000_000_000_000_000,
            placed: Vec::new(),
            next_order: 1,
            next_trade: [1; MARKETS as usize],
            all: Batch::default(),
        }
    }

    fn amount(&mut self) -> i128 {
        let wide = i128::from(self.random.below(u64::MAX)) << self.random.below(60);
        if self.random.below(3) == 0 { -wide } else { wide }
    }

    fn mark(&self) -> Mark {
        Mark { sequence: self.sequence, time_ns: self.time_ns }
    }

    /// One command's rows.
    fn command(&mut self, batch: &mut Batch) {
        self.sequence += 1;
        self.time_ns += self.random.below(2_000_000_000) as i64 * self.random.below(2) as i64;
        let account = self.random.below(ACCOUNTS) as AccountId;
        let market = self.random.below(MARKETS) as MarketId;
        match self.random.below(10) {
            0..4 => {
                self.placed.push((self.next_order, account, market, self.time_ns));
                self.next_order += 1;
            }
            4..7 if !self.placed.is_empty() => {
                let index = self.random.below(self.placed.len() as u64) as usize;
                let (order, account, market, created_ns) = self.placed.swap_remove(index);
                let side = if self.random.below(2) == 0 { Side::Buy } else { Side::Sell };
                batch.orders.push(OrderRow {
                    sequence: self.sequence,
                    order,
                    account,
                    market,
                    side,
                    order_type: OrderType::Limit,
                    time_in_force: TimeInForce::GoodTillCancel,
                    status: ENDED[self.random.below(4) as usize],
                    reject: Reject::from_code(self.random.below(9) as u16),
                    price: self.random.below(1 << 62) as i64,
                    quantity: self.random.below(1 << 40) as i64,
                    filled: self.random.below(1 << 40) as i64,
                    quote_quantity: self.amount(),
                    traded: self.amount(),
                    created_ns,
                    updated_ns: self.time_ns,
                });
            }
            4..9 => {
                for _ in 0..=self.random.below(3) {
                    let trade = self.next_trade[market as usize];
                    self.next_trade[market as usize] += 1;
                    let row = TradeRow {
                        sequence: self.sequence,
                        trade,
                        market,
                        taker_side: Side::Sell,
                        price: self.random.below(1 << 50) as i64,
                        quantity: self.random.below(1 << 50) as i64,
                        maker_order: self.random.below(1 << 50),
                        taker_order: self.random.below(1 << 50),
                        // Sometimes both sides are one account's.
                        maker_account: self.random.below(ACCOUNTS) as AccountId,
                        taker_account: account,
                        maker_fee: self.amount(),
                        taker_fee: self.amount(),
                        time_ns: self.time_ns,
                    };
                    batch.trades.push(row);
                }
            }
            _ => {
                let (available, frozen, amount) = (self.amount(), self.amount(), self.amount());
                let (sequence, time_ns) = (self.sequence, self.time_ns);
                for asset in 0..2 {
                    batch.balances.push(BalanceChange {
                        sequence,
                        time_ns,
                        account,
                        asset,
                        available,
                        frozen,
                    });
                }
                let reason = [self.random.below(256) as u8; 64];
                batch.credits.push(CreditRow { sequence, time_ns, account, asset: 1, amount, reason });
                batch.candles.push(CandleRow {
                    sequence,
                    market,
                    interval_s: 60,
                    open_s: 60 * sequence as i64,
                    open: 1,
                    high: 2,
                    low: 3,
                    close: 4,
                    volume: available,
                    quote_volume: frozen,
                    trades: 5,
                });
            }
        }
    }

    /// The rows of some more commands, also kept in the model.
    fn batch(&mut self, commands: u64) -> Batch {
        let mut batch = Batch::default();
        (0..commands).for_each(|_| self.command(&mut batch));
        self.all.orders.extend(&batch.orders);
        self.all.trades.extend(&batch.trades);
        self.all.balances.extend(&batch.balances);
        self.all.credits.extend(&batch.credits);
        self.all.candles.extend(&batch.candles);
        batch
    }

    fn seconds(&mut self) -> Seconds {
        let span = (self.time_ns / 1_000_000_000 - 1_700_000_000) as u64 + 2;
        let mut second = || 1_700_000_000 + self.random.below(span) as i64;
        match second() % 3 {
            0 => Seconds::ALL,
            1 => Seconds { start: second(), end: i64::MAX },
            _ => Seconds { start: second(), end: second() },
        }
    }

    /// One query of each kind, against a filter over everything.
    fn check(&mut self, reader: &mut dyn ArchiveReader) {
        let account = self.random.below(ACCOUNTS + 1) as AccountId;
        let market = [None, Some(self.random.below(MARKETS) as MarketId)][self.random.below(2) as usize];
        let status = [None, Some(ENDED[self.random.below(4) as usize])][self.random.below(2) as usize];
        let time = self.seconds();
        let inside = |ns: i64| (time.start..=time.end).contains(&ns.div_euclid(1_000_000_000));
        let through = [u64::MAX, self.random.below(self.sequence + 1)][self.random.below(2) as usize];
        let before = [u64::MAX, 1 + self.random.below(self.next_order)][self.random.below(2) as usize];
        let limit = 1 + self.random.below(40) as usize;

        let mut expected: Vec<OrderRow> = self.all.orders.clone();
        expected.retain(|row| {
            row.account == account
                && market.is_none_or(|market| market == row.market)
                && status.is_none_or(|status| status == row.status)
                && inside(row.created_ns)
                && row.order < before
                && row.sequence <= through
        });
        expected.sort_unstable_by_key(|row| std::cmp::Reverse(row.order));
        expected.truncate(limit);
        let mut rows = Vec::new();
        let asked = OrdersAsked { account, market, status, created: time, before, through, limit };
        reader.orders(&asked, &mut rows).unwrap();
        assert_eq!(rows, expected, "{asked:?}");

        let mut expected = Vec::new();
        for trade in &self.all.trades {
            let is_asked = market.is_none_or(|market| market == trade.market)
                && inside(trade.time_ns)
                && trade.sequence <= through;
            for (owner, is_taker) in [(trade.maker_account, false), (trade.taker_account, true)] {
                if is_asked && owner == account {
                    expected.push(FillRow { trade: *trade, is_taker });
                }
            }
        }
        let expected: Vec<_> = expected.into_iter().rev().take(limit).collect();
        let mut rows = Vec::new();
        let asked = FillsAsked { account, market, time, through, limit };
        reader.fills(&asked, &mut rows).unwrap();
        assert_eq!(rows, expected, "{asked:?}");

        let market = market.unwrap_or(0);
        let trades = self.all.trades.iter().rev();
        let expected: Vec<_> = trades
            .filter(|row| row.market == market && row.sequence <= through)
            .take(limit)
            .copied()
            .collect();
        let mut rows = Vec::new();
        reader.trades(market, through, limit, &mut rows).unwrap();
        assert_eq!(rows, expected);

        let balances = self.all.balances.iter().rev();
        let expected: Vec<_> = balances
            .filter(|row| row.account == account && inside(row.time_ns) && row.sequence <= through)
            .take(limit)
            .copied()
            .collect();
        let mut rows = Vec::new();
        reader.balances(account, time, through, limit, &mut rows).unwrap();
        assert_eq!(rows, expected);

        let credits = self.all.credits.iter().rev().filter(|row| row.sequence <= through);
        let expected: Vec<_> = credits.take(limit).copied().collect();
        let mut rows = Vec::new();
        reader.credits(through, limit, &mut rows).unwrap();
        assert_eq!(rows, expected);

        let first = 60 * self.random.below(self.sequence + 1) as i64;
        let last = 60 * self.random.below(self.sequence + 1) as i64;
        let oldest = self.random.below(2) == 0;
        let candles = self.all.candles.iter().copied();
        let mut expected: Vec<_> = candles
            .filter(|row| {
                row.market == market && (first..=last).contains(&row.open_s) && row.sequence <= through
            })
            .collect();
        if expected.len() > limit {
            let from = if oldest { 0 } else { expected.len() - limit };
            expected = expected[from..from + limit].to_vec();
        }
        let open = Seconds { start: first, end: last };
        let mut rows = Vec::new();
        let asked = CandlesAsked { market, interval_s: 60, open, through, oldest, limit };
        reader.candles(&asked, &mut rows).unwrap();
        assert_eq!(rows, expected, "{asked:?}");

        let order = self.random.below(self.next_order + 1);
        let expected = self.all.orders.iter().find(|row| row.order == order && row.sequence <= through);
        assert_eq!(reader.order(order, through).unwrap().as_ref(), expected);
    }
}

#[test]
fn answers_what_a_filter_over_everything_answers() {
    for seed in seeds::seeds(6) {
        eprintln!("rerun: RINGSIDE_SEED={seed} cargo test -p ringside-persist --test archive");
        let folder = Folder::new(&format!("model-{seed}"));
        let store = folder.store();
        let mut maker = Maker::new(seed);
        let mut writer = store.writer(JOURNAL).unwrap();
        assert_eq!(writer.mark(), Mark::default());
        let mut reader = store.reader().unwrap();
        for round in 0..40 {
            let commands = maker.random.below(120);
            let batch = maker.batch(commands);
            writer.commit(&batch, maker.mark(), maker.random.below(4) == 0).unwrap();
            assert_eq!(writer.mark(), maker.mark());
            if round % 7 == 0 {
                drop(writer);
                writer = store.writer(JOURNAL).unwrap();
                assert_eq!(writer.mark(), maker.mark(), "kept over a reopening");
                reader = store.reader().unwrap();
            }
            (0..12).for_each(|_| maker.check(reader.as_mut()));
        }
        assert!(maker.all.orders.len() > 300 && maker.all.trades.len() > 300, "seed {seed} shows too little");
    }
}

#[test]
fn every_list_is_read_from_its_index_and_never_sorted() {
    let folder = Folder::new("plans");
    let store = folder.store();
    let mut maker = Maker::new(1);
    let batch = maker.batch(3000);
    store.writer(JOURNAL).unwrap().commit(&batch, maker.mark(), true).unwrap();
    let expected = [
        (
            "orders, market false, status true",
            "orders USING INDEX orders_status (account=? AND status=? AND created_s>? AND created_s<?)",
        ),
        (
            "orders, market true, status true",
            "orders USING INDEX orders_market_status (account=? AND market=? AND status=? AND created_s>? AND created_s<?)",
        ),
        (
            "candles, oldest false",
            "candles USING PRIMARY KEY (market=? AND interval_s=? AND open_s>? AND open_s<?)",
        ),
        (
            "candles, oldest true",
            "candles USING PRIMARY KEY (market=? AND interval_s=? AND open_s>? AND open_s<?)",
        ),
        (
            "entries, list",
            "heads USING PRIMARY KEY (list=? AND owner=? AND market=? AND last_id>? AND last_id<?)",
        ),
        (
            "entries, list, oldest",
            "heads USING PRIMARY KEY (list=? AND owner=? AND market=? AND last_id>? AND last_id<?)",
        ),
        ("entries, from id", "heads USING PRIMARY KEY (list=? AND owner=? AND market=? AND last_id>?)"),
        (
            "entries, from time",
            "packs USING COVERING INDEX packs_time (list=? AND owner=? AND market=? AND last_ms>?)",
        ),
        ("entries, from name", "names USING INDEX names_of (run=? AND first<?)"),
        ("entries, from market", "heads USING PRIMARY KEY (list=? AND owner=? AND market>?)"),
        ("entries, pack", "packs USING INTEGER PRIMARY KEY (rowid=?)"),
        ("trades", "trades USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
        ("fills", "fills USING INDEX fills_of (account=? AND market=? AND first_s<?)"),
        ("balances", "balances USING INDEX balances_of (account=? AND market=? AND first_s<?)"),
    ];
    let plans = store.plans().unwrap();
    for (name, plan) in expected {
        let found = plans.iter().find(|(known, _)| known == name).expect(name);
        assert_eq!(found.1, format!("SEARCH {plan}"), "{name}");
    }
    // Without a status: the lists of each, merged.
    for (market, index) in
        [("false", "orders_status (account=?"), ("true", "orders_market_status (account=? AND market=?")]
    {
        let name = format!("orders, market {market}, status false");
        let plan = &plans.iter().find(|(known, _)| *known == name).unwrap().1;
        let search =
            format!("SEARCH orders USING INDEX {index} AND status=? AND created_s>? AND created_s<?)");
        assert!(plan.starts_with("MERGE (UNION ALL)") && !plan.contains("TEMP B-TREE"), "{plan}");
        assert_eq!((plan.matches("SEARCH").count(), plan.matches(&search).count()), (4, 4), "{plan}");
    }
    // The credits are read from their end, whoever they were given to.
    let credits = &plans.iter().find(|(name, _)| name == "credits").unwrap().1;
    assert_eq!(credits, "SCAN credits");
    // Packs of a tag are found by it, and then by their heads.
    for name in ["entries, tag", "entries, tag, oldest"] {
        let plan = &plans.iter().find(|(known, _)| known == name).unwrap().1;
        let of_tag = "SEARCH tags USING PRIMARY KEY (list=? AND owner=? AND market=? AND tag=? AND last_id>? AND last_id<?)";
        let of_head = "SEARCH heads USING PRIMARY KEY (list=? AND owner=? AND market=? AND last_id=?)";
        assert_eq!(*plan, format!("{of_tag}; {of_head}"));
    }
    assert_eq!(plans.len(), expected.len() + 5, "every plan is looked at: {plans:?}");
}

#[test]
fn refuses_what_is_not_its_own() {
    let folder = Folder::new("foreign");
    let store = folder.store();
    assert!(matches!(store.reader().map(|_| ()), Err(ArchiveError::Store { .. })), "nothing to read yet");
    drop(store.writer(JOURNAL).unwrap());
    let error = store.writer([8; 16]).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::Foreign { .. }), "{error}");
    assert!(error.to_string().contains(&"07".repeat(16)), "{error}");
    // A file that is something else.
    let other = Sqlite::new(folder.0.join("other.db"));
    std::fs::write(other.path(), vec![b'x'; 8192]).unwrap();
    let error = other.writer(JOURNAL).map(|_| ()).unwrap_err();
    assert!(matches!(error, ArchiveError::Store { .. }) && error.to_string().contains("other.db"), "{error}");
}

#[test]
fn a_row_that_is_already_in_is_refused_with_its_whole_batch() {
    let folder = Folder::new("twice");
    let store = folder.store();
    let mut maker = Maker::new(3);
    let batch = maker.batch(200);
    let mut writer = store.writer(JOURNAL).unwrap();
    writer.commit(&batch, maker.mark(), false).unwrap();
    let mark = writer.mark();
    let mut again = maker.batch(200);
    again.orders.push(batch.orders[0]);
    assert!(writer.commit(&again, maker.mark(), false).is_err());
    assert_eq!(writer.mark(), mark);
    let mut rows = Vec::new();
    store.reader().unwrap().trades(0, u64::MAX, usize::MAX, &mut rows).unwrap();
    assert!(rows.iter().all(|row| row.sequence <= mark.sequence), "nothing of the batch is in");
    again.orders.pop();
    writer.commit(&again, maker.mark(), false).expect("the same call without the fault");
}

/// Committing, over and over, in a process that is killed: run by the test below.
#[test]
fn commits_until_it_is_killed() {
    let (Ok(folder), Ok(seed)) = (std::env::var("RINGSIDE_ARCHIVE"), std::env::var("RINGSIDE_ARCHIVE_SEED"))
    else {
        return;
    };
    let store = Sqlite::new(PathBuf::from(folder).join("history.db"));
    let mut writer = store.writer(JOURNAL).unwrap();
    let mut maker = Maker::new(seed.parse().unwrap());
    let mut sizes = Random::new(seed.parse().unwrap());
    loop {
        let batch = maker.batch(1 + sizes.below(400));
        let is_durable = maker.sequence.is_multiple_of(8);
        // What an earlier life has committed is passed over, as replay does.
        if maker.sequence > writer.mark().sequence {
            writer.commit(&cut(&batch, writer.mark().sequence), maker.mark(), is_durable).unwrap();
        }
    }
}

/// The rows above a mark.
fn cut(batch: &Batch, mark: u64) -> Batch {
    let mut batch = batch.clone();
    batch.orders.retain(|row| row.sequence > mark);
    batch.trades.retain(|row| row.sequence > mark);
    batch.balances.retain(|row| row.sequence > mark);
    batch.credits.retain(|row| row.sequence > mark);
    batch.candles.retain(|row| row.sequence > mark);
    batch
}

#[test]
fn kill_9_in_mid_commit_leaves_whole_commits() {
    let folder = Folder::new("kill");
    std::fs::create_dir_all(&folder.0).unwrap();
    let seed = seeds::first(1);
    let mut random = Random::new(seed ^ 0x5eed);
    let store = Sqlite::new(folder.0.join("history.db"));
    let mut reached = 0;
    for _ in 0..25 {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["commits_until_it_is_killed", "--exact", "--test-threads=1"])
            .env("RINGSIDE_ARCHIVE", &folder.0)
            .env("RINGSIDE_ARCHIVE_SEED", seed.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(20_000 + random.below(100_000)));
        // On Unix this is SIGKILL.
        child.kill().unwrap();
        child.wait().unwrap();
        let mark = store.writer(JOURNAL).unwrap().mark();
        assert!(mark.sequence >= reached, "a mark that was seen does not go back");
        reached = mark.sequence;
        // Exactly the rows through the mark, each once.
        let mut maker = Maker::new(seed);
        let mut sizes = Random::new(seed);
        while maker.sequence < mark.sequence {
            maker.batch(1 + sizes.below(400));
        }
        let known = |batch: &Batch| {
            let mut batch = batch.clone();
            batch.orders.retain(|row| row.sequence <= mark.sequence);
            batch.trades.retain(|row| row.sequence <= mark.sequence);
            batch.balances.retain(|row| row.sequence <= mark.sequence);
            batch
        };
        let expected = known(&maker.all);
        let mut reader = store.reader().unwrap();
        let (mut orders, mut trades, mut balances) = (Vec::new(), Vec::new(), Vec::new());
        for account in 0..ACCOUNTS as AccountId {
            reader.orders(&OrdersAsked::all(account), &mut orders).unwrap();
            reader.balances(account, Seconds::ALL, u64::MAX, usize::MAX, &mut balances).unwrap();
        }
        for market in 0..MARKETS as MarketId {
            reader.trades(market, u64::MAX, usize::MAX, &mut trades).unwrap();
        }
        assert_eq!(
            (orders.len(), trades.len(), balances.len()),
            (expected.orders.len(), expected.trades.len(), expected.balances.len()),
            "rows at mark {}",
            mark.sequence
        );
        let mut expected_orders = expected.orders;
        orders.sort_unstable_by_key(|row| row.order);
        expected_orders.sort_unstable_by_key(|row| row.order);
        assert_eq!(orders, expected_orders);
    }
    assert!(reached > 1000, "the kills came before anything was done: {reached}");
}
