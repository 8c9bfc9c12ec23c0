//! Journals as the exchange writes them, of random orders, against what the engine said when it took them.

use super::*;
use ringside_bench::op::Random;
use ringside_core::agent::Agent;
use ringside_core::command::{AmendOrder, CancelAll, MarketStatus, SelfTradePrevention, SetMarketStatus};
use ringside_core::gate::Gate;
use ringside_core::ids::ALL_MARKETS;
use ringside_core::money::UNIT;
use ringside_core::ring::{self, Mapping, Options, Producer, Wait};
use ringside_persist::config::PersistConfig;
use ringside_persist::recover::follower::Follower;
use ringside_persist::recover::recovery::recover;
use ringside_persist::write::journal::Journaller;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Traders of the random sessions; accounts count from 1.
const TRADERS: u32 = 6;

/// An engine, its journal in a folder of its own, and what the engine told of the first market.
struct Venue {
    folder: PathBuf,
    engine: Engine,
    producer: Producer<Command>,
    journaller: Journaller,
    follower: Follower<Engine, ()>,
    time_ns: i64,
    /// Sequence, price and quantity.
    trades: Vec<(Sequence, i64, i64)>,
    /// Numbers of orders that some trader placed, in either market.
    orders: Vec<(AccountId, OrderId)>,
    /// Orders placed in the first market.
    placed: u64,
}

impl Drop for Venue {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Venue {
    fn open(name: &str, snapshot_commands: u64) -> Venue {
        let folder = std::env::temp_dir().join(format!("ringside-session-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let journal = folder.join("journal");
        std::fs::create_dir_all(&journal).unwrap();
        let config = PersistConfig {
            segment_len: 32 << 10,
            batch_len: 8 << 10,
            idle_seal: Duration::ZERO,
            snapshot_commands,
            snapshots_kept: 2,
            any_file_system: true,
            ..PersistConfig::new(journal)
        };
        let recovered = recover(&config, &EngineConfig::SMALLEST, &mut ()).unwrap();
        let options =
            Options { capacity: 256, consumers: 1, start: recovered.next_sequence, wait: Wait::Yield };
        let (producer, mut consumers) = ring::create(Mapping::anonymous(), options).unwrap();
        let gate = Arc::new(Gate::new(recovered.next_sequence - 1));
        let journaller = Journaller::invoked(recovered.journal, consumers.pop().unwrap(), gate).unwrap();
        let storage = Arc::new(Disk::open_existing(&config.directory).unwrap());
        let status = journaller.status();
        let follower = Follower::new(storage, &config, &EngineConfig::SMALLEST, (), status, &[]).unwrap();
        let mut venue = Venue {
            folder,
            engine: recovered.engine,
            producer,
            journaller,
            follower,
            time_ns: 1_000_000,
            trades: Vec::new(),
            orders: Vec::new(),
            placed: 0,
        };
        for (symbol, base) in [("FIRST", "ONE"), ("SECOND", "TWO")] {
            venue.send(Command::new(ListMarket {
                symbol: padded(symbol).unwrap(),
                base: padded(base).unwrap(),
                quote: padded("USD").unwrap(),
                tick: UNIT / 100,
                lot: UNIT / 20,
                min_notional: RawAmount::new(1),
                maker_fee: 500,
                taker_fee: 1_000,
                max_open_orders: 40,
                kind: MarketKind::Spot as u8,
                reserved: [0; 3],
            }));
        }
        for trader in 1..=TRADERS {
            for asset in ["ONE", "TWO", "USD"] {
                venue.send(Command::new(Credit {
                    address: [trader as u8; 20],
                    asset: padded(asset).unwrap(),
                    reserved: 0,
                    amount: RawAmount::new(1 << 100),
                    reason: [0; 64],
                }));
            }
        }
        venue
    }

    fn send(&mut self, mut command: Command) {
        self.time_ns += 250_000;
        (command.sequence, command.time_ns) = (self.engine.sequence() + 1, self.time_ns);
        self.producer.try_publish(&command).unwrap_or_else(|_| panic!("the ring is worked off each time"));
        let mut events: Vec<Event> = Vec::new();
        self.engine.apply(&command, &mut events);
        let own = events.iter().filter_map(Event::get::<Trade>).filter(|trade| trade.market == 0);
        self.trades.extend(own.map(|trade| (command.sequence, trade.price, trade.quantity)));
        for told in events.iter().filter_map(Event::get::<event::Order>).filter(|told| told.is_new == 1) {
            self.orders.push((told.account, told.order));
            self.placed += u64::from(told.market == 0 && told.reject == 0);
        }
        if command.sequence.is_multiple_of(16) {
            self.settle();
        }
    }

    fn settle(&mut self) {
        while self.journaller.do_work() > 0 {}
        while self.follower.do_work() > 0 {}
    }

    /// One random request, mostly good ones. With `lowers` orders are lowered in place too.
    fn trade(&mut self, random: &mut Random, lowers: bool) {
        let market = u32::from(random.below(5) == 0);
        let account = 1 + random.below(TRADERS);
        let (owner, order) = match self.orders.len() {
            0 => (account, 1),
            count => self.orders[count - 1 - random.below(count.min(60) as u32) as usize],
        };
        // Around 100.00, steps of 0.01; now and then off the step.
        let price =
            (10_000 + i64::from(random.below(21)) - 10) * (UNIT / 100) + i64::from(random.below(40) == 0);
        let quantity = i64::from(1 + random.below(60)) * (UNIT / 20);
        let side = if random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let mut place = PlaceOrder::limit(account, market, side, price, quantity);
        let command = match random.below(20) {
            0..4 => Command::new(CancelOrder { account: owner, reserved: 0, order }),
            4 => Command::new(ReplaceOrder { account: owner, reserved: 0, order, price, quantity }),
            5 if lowers => {
                let quantity = UNIT / 20;
                Command::new(AmendOrder { account: owner, reserved: 0, order, quantity })
            }
            6 if random.below(8) == 0 => {
                let market = if random.below(2) == 0 { market } else { ALL_MARKETS };
                Command::new(CancelAll { account, market })
            }
            7 => Command::new(PlaceOrder::market_sell(account, market, quantity)),
            8 => {
                Command::new(PlaceOrder::market_buy(account, market, 700 * ringside_core::money::AMOUNT_UNIT))
            }
            kind => {
                place.time_in_force = match kind {
                    9 => TimeInForce::ImmediateOrCancel,
                    10 => TimeInForce::PostOnly,
                    11 => TimeInForce::FillOrKill,
                    _ => TimeInForce::GoodTillCancel,
                } as u8;
                place.self_trade = match random.below(6) {
                    0 => SelfTradePrevention::ExpireTaker,
                    1 => SelfTradePrevention::ExpireMaker,
                    2 => SelfTradePrevention::ExpireBoth,
                    _ => SelfTradePrevention::RejectTaker,
                } as u8;
                Command::new(place)
            }
        };
        self.send(command);
    }

    /// The first market as a session, against what the engine has said since command `from`.
    fn compare(&mut self, found: &Recorded, from: Sequence) {
        assert_eq!(*found.commands.end(), self.engine.sequence());
        let script = &found.script;
        assert_eq!((script.symbol.as_str(), script.price_decimals, script.tick), ("FIRST", 2, 1));
        assert_eq!(script.quantity_decimals, 2, "lots of 0.05");
        let fills: Vec<(Sequence, i64, i64)> = script
            .steps
            .iter()
            .flat_map(|step| script.fills_of(step).iter().map(|fill| (Sequence::from(step.row), fill)))
            .map(|(row, fill)| (row, script.price_of(fill) * (UNIT / 100), fill.quantity * (UNIT / 100)))
            .collect();
        let told: Vec<_> = self.trades.iter().copied().filter(|trade| trade.0 >= from).collect();
        assert!(told.len() > 100, "too few trades to tell: {}", told.len());
        assert_eq!(fills, told);
        let mut book = ImpliedBook::new(script);
        script.steps.iter().for_each(|step| book.apply(step));
        for side in [Side::Buy, Side::Sell] {
            let levels: Vec<_> = book
                .depth(side == Side::Buy, usize::MAX)
                .into_iter()
                .map(|(price, total)| (price * (UNIT / 100), i128::from(total * (UNIT / 100))))
                .collect();
            assert_eq!(levels, self.engine.depth(0, side, usize::MAX));
        }
        let open = book.open.iter().filter(|open| **open > 0).count();
        assert_eq!(
            open,
            [Side::Buy, Side::Sell]
                .map(|side| self.engine.resting(0, side).count())
                .into_iter()
                .sum::<usize>()
        );
        let times: Vec<u64> = script.steps.iter().map(|step| step.time_ns).collect();
        assert!(times.is_sorted() && times[found.resting] == 0 && times[times.len() - 1] > 100_000_000);
    }
}

#[test]
fn a_journal_is_the_session_that_made_it() {
    for seed in 1..=3 {
        let mut venue = Venue::open(&format!("whole-{seed}"), 1 << 40);
        let mut random = Random::new(seed);
        (0..1_500).for_each(|_| venue.trade(&mut random, false));
        venue.settle();
        // Of the data folder, and of the journal folder itself.
        let found = load(&venue.folder, None).unwrap();
        let again = load(&venue.folder.join("journal"), Some("FIRST")).unwrap();
        assert_eq!(found.script.fills, again.script.fills);
        assert_eq!((*found.commands.start(), found.resting), (1, 0));
        let LeftOut { refused, idle, lowered, elsewhere } = found.left_out;
        assert!(refused > 50 && idle > 0 && lowered == 0 && elsewhere > 100, "{:?}", found.left_out);
        assert!(venue.placed > 500);
        venue.compare(&found, 1);
        let other = load(&venue.folder, Some("SECOND")).unwrap();
        assert_eq!(other.script.symbol, "SECOND");
        let nothing = load(&venue.folder, Some("THIRD")).unwrap_err().to_string();
        assert!(nothing.contains("no order of THIRD"), "{nothing}");

        // A market that closes ends its orders.
        venue.send(Command::new(SetMarketStatus {
            market: 0,
            status: MarketStatus::Delisted as u8,
            reserved: [0; 3],
        }));
        venue.settle();
        let closed = load(&venue.folder, Some("FIRST")).unwrap();
        let mut book = ImpliedBook::new(&closed.script);
        closed.script.steps.iter().for_each(|step| book.apply(step));
        assert!(closed.script.steps.len() > found.script.steps.len());
        assert!(book.open.iter().all(|open| *open == 0));
    }
}

/// The journal's beginning is gone: what rested at the oldest snapshot comes first.
#[test]
fn a_session_begins_with_what_rested_at_the_oldest_snapshot() {
    let mut venue = Venue::open("rest", 400);
    let mut random = Random::new(11);
    (0..2_500).for_each(|_| venue.trade(&mut random, false));
    venue.settle();
    let found = load(&venue.folder, Some("FIRST")).unwrap();
    let from = *found.commands.start();
    assert!(from > 400, "the journal still begins at {from}");
    assert!(found.resting > 5, "{} orders rested", found.resting);
    let steps = &found.script.steps[..found.resting];
    assert!(steps.iter().all(|step| step.fills.is_empty() && step.time_ns == 0 && step.left > 0));
    venue.compare(&found, from);
}

/// What has no request of its own has no influence either.
#[test]
fn orders_lowered_in_place_are_left_out_and_the_rest_is_played_without_them() {
    let mut venue = Venue::open("lowered", 1 << 40);
    let mut random = Random::new(5);
    (0..1_500).for_each(|_| venue.trade(&mut random, true));
    venue.settle();
    let found = load(&venue.folder, None).unwrap();
    assert!(found.left_out.lowered > 4, "{:?}", found.left_out);
    let script = &found.script;
    let fills = script.fills.iter().map(|fill| fill.quantity * (UNIT / 100));
    assert!(fills.ne(venue.trades.iter().map(|trade| trade.2)), "what was left out changed nothing");
    assert!(script.fills.len() > 100);
}

#[test]
fn what_is_no_journal_is_named() {
    let folder = std::env::temp_dir().join(format!("ringside-session-none-{}", std::process::id()));
    let error = load(&folder, None).unwrap_err().to_string();
    assert!(error.contains("ringside-session-none"), "{error}");
    std::fs::create_dir_all(&folder).unwrap();
    let error = load(&folder, None).unwrap_err().to_string();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(error.contains("there is no journal"), "{error}");
}

#[test]
fn decimals_are_as_few_as_can_be() {
    assert_eq!(decimals_of(UNIT / 100), (2, UNIT / 100));
    assert_eq!(decimals_of(UNIT / 20), (2, UNIT / 100));
    assert_eq!(decimals_of(500 * UNIT), (0, UNIT));
    assert_eq!(decimals_of(7), (8, 1));
    assert_eq!((divisor(12, 18), divisor(5, 0)), (6, 5));
}
