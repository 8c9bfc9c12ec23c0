//! Views folded from random commands show what the engine itself says, and survive being saved at any moment.
//!
//! One seed gives one run: `RINGSIDE_SEED=<n> cargo test -p ringside-gateway --test views spot_views` repeats it.

use crate::flow::{address, any_order, credit, fills, list_market, orders as found, saved};
use crate::random::{Random, seeds};
use ringside_core::command::{
    AdvanceTime, AmendOrder, CancelAll, CancelOrder, Command, CreateAccount, MarketStatus, OrderStatus,
    OrderType, ReplaceOrder, SetMarketStatus, Side, UpdateMarket, update_mask,
};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{Done, Event};
use ringside_core::ids::{ALL_MARKETS, AccountId, AssetId, MarketId, OrderId};
use ringside_core::money::{AMOUNT_UNIT, UNIT, notional};
use ringside_core::reject::Reject;
use ringside_views::Views;
use ringside_views::history::{FillQuery, FillRecord, OrderQuery};
use ringside_views::time::TimeRange;
use std::collections::BTreeMap;

const ACCOUNTS: u64 = 12;
const SYMBOLS: [(&str, &str, &str); 3] =
    [("DFUSDT", "DF", "USDT"), ("ABUSDT", "AB", "USDT"), ("DFAB", "DF", "AB")];

/// An engine, its views, and what the test itself remembers.
struct Rig {
    random: Random,
    engine: Engine,
    views: Views,
    time_ns: i64,
    events: Vec<Event>,
    orders_seen: OrderId,
}

impl Rig {
    fn new(seed: u64) -> Rig {
        let mut rig = Rig {
            random: Random::new(seed),
            engine: Engine::new(&EngineConfig::default()),
            views: Views::default(),
            time_ns: 1_700_000_000_000_000_000,
            events: Vec::new(),
            orders_seen: 0,
        };
        for names in SYMBOLS {
            rig.apply(list_market(names));
        }
        for account in 1..=ACCOUNTS / 2 {
            rig.apply(Command::new(CreateAccount { address: address(account), reserved: 0 }));
            for asset in ["DF", "USDT", "AB"] {
                rig.apply(credit(account, asset, 50_000 * AMOUNT_UNIT));
            }
        }
        rig
    }

    fn apply(&mut self, mut command: Command) -> Done {
        command.sequence = self.engine.sequence() + 1;
        command.time_ns = self.time_ns;
        self.events.clear();
        self.engine.apply(&command, &mut self.events);
        self.events.iter().for_each(|event| self.views.fold(event));
        let done = *self.events.last().and_then(Event::get::<Done>).expect("a command ends with Done");
        self.orders_seen = self.orders_seen.max(done.order);
        done
    }

    fn step(&mut self) {
        self.time_ns += self.random.below(3_000_000_000) as i64;
        let account = 1 + self.random.below(ACCOUNTS + 1) as AccountId;
        let market = self.random.below(SYMBOLS.len() as u64) as MarketId;
        let order = 1 + self.orders_seen.saturating_sub(self.random.below(60));
        let quantity = (10 + self.random.below(60)) as i64 * UNIT / 10 * 3;
        let price = 20_000_000 + self.random.below(12) as i64 * 10_000;
        let command = match self.random.below(100) {
            0..60 => return self.place(account, market, price, quantity),
            60..75 => Command::new(CancelOrder { account, reserved: 0, order }),
            75..78 => Command::new(CancelAll { account, market: *self.random.pick(&[market, ALL_MARKETS]) }),
            78..82 => Command::new(AmendOrder { account, reserved: 0, order, quantity: quantity / 2 }),
            82..88 => Command::new(ReplaceOrder { account, reserved: 0, order, price, quantity }),
            88..95 => {
                let account = 1 + self.random.below(ACCOUNTS);
                let asset = *self.random.pick(&["DF", "USDT", "AB", "NONE"]);
                credit(account, asset, self.random.below(500) as i128 * AMOUNT_UNIT / 7)
            }
            95 => {
                let status =
                    *self.random.pick(&[MarketStatus::Halted, MarketStatus::Listed, MarketStatus::Listed]);
                // The last market is delisted sooner or later; the others stay.
                let ends = market == 2 && self.random.below(8) == 0;
                let status = if ends { MarketStatus::Delisted } else { status };
                Command::new(SetMarketStatus { market, status: status as u8, reserved: [0; 3] })
            }
            96 => Command::new(UpdateMarket {
                market,
                mask: update_mask::TICK | update_mask::MAKER_FEE,
                tick: *self.random.pick(&[10_000, 5_000, 20_000]),
                lot: 0,
                min_notional: 0.into(),
                maker_fee: self.random.below(3000) as u32,
                taker_fee: 0,
            }),
            97 => {
                self.time_ns += self.random.below(3600) as i64 * 1_000_000_000;
                Command::new(AdvanceTime {})
            }
            _ => {
                let address = address(1 + self.random.below(ACCOUNTS));
                Command::new(CreateAccount { address, reserved: 0 })
            }
        };
        self.apply(command);
    }

    fn place(&mut self, account: AccountId, market: MarketId, price: i64, quantity: i64) {
        let price = price + *self.random.pick(&[0, 0, 0, 0, 1]);
        let mut place = any_order(&mut self.random, account, market, price, quantity);
        if self.random.below(4) == 0 {
            place.idempotency_key = 1 + self.random.below(40);
            place.idempotency_body = self.random.below(2);
        }
        let done = self.apply(Command::new(place));
        if place.idempotency_key == 0 {
            return;
        }
        let outcome = self.views.idempotency().outcome(account, place.idempotency_key);
        match done.rejected() {
            Some(Reject::IdempotencyConflict) => {}
            Some(Reject::IdempotencyReplay) => {
                let outcome = outcome.expect("what the engine calls a replay is kept");
                assert_eq!(outcome.sequence, done.replayed);
            }
            reject => {
                let outcome = outcome.expect("the outcome is kept");
                assert_eq!((outcome.reject, outcome.sequence), (reject, self.engine.sequence()));
                assert_eq!(outcome.order.map_or(0, |order| order.order), done.order);
                let traded: i64 = outcome.trades.iter().map(|trade| trade.quantity).sum();
                assert_eq!(traded, outcome.order.map_or(0, |order| order.filled));
            }
        }
    }

    fn check(&self) {
        let (engine, views) = (&self.engine, &self.views);
        engine.check_invariants().expect("the engine is sound");
        assert_eq!(views.sequence(), engine.sequence());
        assert_eq!(views.accounts().len(), engine.accounts() as usize);
        for account in 0..engine.accounts() {
            for asset in 0..engine.assets() as AssetId {
                let row = views.balances().row(account, asset);
                let direct = engine.balance(account, asset).unwrap_or_default();
                assert_eq!((row.available, row.frozen), direct, "account {account}, asset {asset}");
            }
            assert_eq!(
                views.accounts().address(account).copied(),
                engine.address(account).filter(|_| account != 0)
            );
            let mut direct: Vec<_> = (0..engine.markets() as MarketId)
                .flat_map(|market| engine.open_orders(account, market))
                .map(|order| (order.order, order.market, order.side, order.price, order.quantity, order.open))
                .collect();
            direct.sort_unstable_by_key(|order| order.0);
            let shown: Vec<_> = views
                .open_orders()
                .of_account(account)
                .map(|order| {
                    let open = order.quantity - order.filled;
                    (order.order, order.market, order.side, order.price, order.quantity, open)
                })
                .collect();
            assert_eq!(shown, direct, "account {account}");
        }
        for market in 0..engine.markets() as MarketId {
            let book = views.depth().book(market);
            let levels = |side| engine.depth(market, side, usize::MAX);
            assert_eq!(book.map_or(0, |book| book.update_id()), engine.update(market).expect("a market"));
            assert!(book.into_iter().flat_map(|book| book.bids()).eq(levels(Side::Buy)));
            assert!(book.into_iter().flat_map(|book| book.asks()).eq(levels(Side::Sell)));
            assert_eq!(
                views.history().last_trade(market).map(|trade| trade.price),
                engine.last_price(market)
            );
            let record = views.markets().get(market).expect("a market");
            let event = engine.market_event(market).expect("a market");
            assert_eq!(
                (record.symbol, record.tick, record.maker_fee),
                (event.symbol, event.tick, event.maker_fee)
            );
            assert_eq!(record.status as u8, event.status);
        }
        self.check_history();
    }

    /// Every order and every fill agree with each other.
    fn check_history(&self) {
        let mut traded: BTreeMap<OrderId, (i64, i128)> = BTreeMap::new();
        let mut orders = Vec::new();
        for account in 0..self.engine.accounts() {
            for fill in all_fills(&self.views, account) {
                let sum = traded.entry(fill.order).or_default();
                sum.0 += fill.quantity;
                sum.1 += notional(fill.price, fill.quantity);
            }
            let (market, status, limit) = (None, None, usize::MAX);
            let all = OrderQuery { account, market, status, created: TimeRange::ALL, limit };
            orders.extend(found(&self.views, &all));
        }
        orders.sort_unstable_by_key(|order| order.order);
        let ids: Vec<_> = orders.iter().map(|order| order.order).collect();
        assert!(ids.iter().copied().eq(1..=self.orders_seen), "every order is listed once");
        for order in orders {
            let sum = traded.get(&order.order).copied().unwrap_or_default();
            assert_eq!((order.filled, order.traded), sum, "{order:?}");
            assert_eq!(self.views.order(order.account, order.order), Some(order));
            assert_eq!(self.engine.order(order.order).is_some(), order.status.is_resting());
            let ended_whole = order.status == OrderStatus::Filled && order.order_type == OrderType::Limit;
            assert!(!ended_whole || order.filled == order.quantity);
        }
        assert_eq!(self.views.order(1, 0), None);
        assert_eq!(self.views.order(1, self.orders_seen + 1), None);
    }
}

fn all_fills(views: &Views, account: AccountId) -> Vec<FillRecord> {
    fills(views, &FillQuery { account, market: None, time: TimeRange::ALL, limit: usize::MAX })
}

#[test]
fn views_show_what_the_engine_says() {
    for seed in seeds(12) {
        eprintln!("rerun: RINGSIDE_SEED={seed} cargo test -p ringside-gateway --test views spot_views::");
        let mut rig = Rig::new(seed);
        for step in 0..4000 {
            rig.step();
            if step % 400 == 0 {
                rig.check();
            }
        }
        rig.check();
        let fills: usize =
            (1..=ACCOUNTS as AccountId).map(|account| all_fills(&rig.views, account).len()).sum();
        assert!(fills > 250, "seed {seed} trades too little to show anything: {fills} fills");
    }
}

#[test]
fn saved_views_go_on_as_if_nothing_had_happened() {
    for seed in seeds(12) {
        eprintln!("rerun: RINGSIDE_SEED={seed} cargo test -p ringside-gateway --test views spot_views::");
        let mut rig = Rig::new(seed);
        let mut restarted = Views::default();
        for step in 0..1500 {
            if step % 250 == 0 {
                let bytes = saved(&rig.views);
                restarted = Views::default();
                restarted.load(&bytes).expect("what was saved loads");
                assert_eq!(saved(&restarted), bytes, "equal views give equal bytes");
            }
            rig.step();
            rig.events.iter().for_each(|event| restarted.fold(event));
        }
        assert_eq!(saved(&restarted), saved(&rig.views));
        std::mem::swap(&mut rig.views, &mut restarted);
        rig.check();
    }
}

#[test]
fn damaged_bytes_are_refused_and_never_panic() {
    let mut rig = Rig::new(5);
    (0..300).for_each(|_| rig.step());
    let bytes = saved(&rig.views);
    for len in 0..bytes.len() {
        assert!(Views::default().load(&bytes[..len]).is_err(), "cut at {len}");
    }
    for _ in 0..3000 {
        let mut damaged = bytes.clone();
        let place = rig.random.below(bytes.len() as u64) as usize;
        damaged[place] ^= 1 << rig.random.below(8);
        // Most damage cannot be told from other values; the snapshot around these bytes has a checksum. It must not panic.
        let _ = Views::default().load(&damaged);
    }
    let mut newer = bytes.clone();
    newer[0] += 1;
    assert!(Views::default().load(&newer).is_err());
    let mut longer = bytes;
    longer.push(0);
    assert!(Views::default().load(&longer).is_err());
}
