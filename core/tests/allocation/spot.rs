//! A warm engine takes no memory: 100,000 commands of a steady flow, zero bytes.

use ringside_core::command::*;
use ringside_core::event::{Done, Event};
use ringside_core::hash_seed::HashSeed;
use ringside_core::ids::padded;
use ringside_core::money::{AMOUNT_UNIT, UNIT};
use ringside_core::{Engine, EngineConfig};

struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 32) * bound) >> 32
    }
}

/// Keeps about `target` orders resting over a few hundred levels, with every kind of command that traders send.
struct Flow {
    engine: Engine,
    events: Vec<Event>,
    live: Vec<(u64, u32)>,
    random: Random,
    target: usize,
    time_ns: i64,
}

const ACCOUNTS: u64 = 500;

impl Flow {
    fn new(target: usize) -> Flow {
        let engine = Engine::new(&EngineConfig {
            orders: 8_192,
            accounts: 1_024,
            idempotency_keys: 1 << 17,
            pages: ringside_core::memory::Pages::Small,
            hash_seed: HashSeed::default(),
        });
        let mut flow = Flow {
            engine,
            events: Vec::with_capacity(65_536),
            live: Vec::with_capacity(65_536),
            random: Random(99),
            target,
            time_ns: 0,
        };
        flow.apply(Command::new(ListMarket {
            symbol: padded("DFUSDT").unwrap(),
            base: padded("DF").unwrap(),
            quote: padded("USDT").unwrap(),
            tick: UNIT / 100,
            lot: UNIT / 10,
            min_notional: 1.into(),
            maker_fee: 50_000,
            taker_fee: 100_000,
            max_open_orders: 100_000,
            kind: 0,
            reserved: [0; 3],
        }));
        for account in 1..=ACCOUNTS {
            for asset in ["DF", "USDT"] {
                let mut address = [0; 20];
                address[..8].copy_from_slice(&account.to_le_bytes());
                flow.apply(Command::new(Credit {
                    address,
                    asset: padded(asset).unwrap(),
                    reserved: 0,
                    amount: (1_000_000_000 * AMOUNT_UNIT).into(),
                    reason: [0; 64],
                }));
            }
        }
        flow
    }

    fn apply(&mut self, mut command: Command) -> Done {
        command.sequence = self.engine.sequence() + 1;
        // A command per two seconds: the keys of a day are 43,200 at most.
        self.time_ns += 2_000_000_000;
        command.time_ns = self.time_ns;
        command.source = 1;
        command.source_seq = command.sequence;
        self.events.clear();
        self.engine.apply(&command, &mut self.events);
        *self.events.last().unwrap().get::<Done>().unwrap()
    }

    fn step(&mut self) {
        let account = 1 + self.random.below(ACCOUNTS) as u32;
        let side = if self.random.below(2) == 0 { Side::Buy } else { Side::Sell };
        let away = self.random.below(150) as i64;
        let price = UNIT / 100 * if side == Side::Buy { 10_000 - away } else { 10_001 + away };
        let quantity = UNIT / 10 * (1 + self.random.below(100) as i64);
        let crossing = UNIT / 100 * if side == Side::Buy { 10_004 } else { 9_997 };
        let mut place = PlaceOrder::limit(account, 0, side, price, quantity);
        if self.random.below(4) == 0 {
            place.idempotency_key = 1 + (self.random.below(1 << 30) << 20);
        }
        match self.random.below(100) {
            0..=39 if self.live.len() < self.target * 2 => {
                let done = self.apply(Command::new(place));
                self.live.push((done.order, account));
            }
            40..=79 if self.live.len() > self.target / 2 => {
                let picked = self.random.below(self.live.len() as u64) as usize;
                let (order, account) = self.live.swap_remove(picked);
                self.apply(Command::new(CancelOrder { account, reserved: 0, order }));
            }
            80..=86 => {
                let picked = self.random.below(self.live.len().max(1) as u64) as usize;
                let Some(&(order, account)) = self.live.get(picked) else { return };
                self.apply(Command::new(ReplaceOrder { account, reserved: 0, order, price, quantity }));
                self.apply(Command::new(AmendOrder { account, reserved: 0, order, quantity: quantity / 2 }));
            }
            87..=93 => {
                place.price = crossing;
                place.time_in_force = (1 + 2 * self.random.below(2)) as u8;
                place.self_trade = self.random.below(5) as u8;
                self.apply(Command::new(place));
            }
            94..=95 => {
                self.apply(Command::new(PlaceOrder::market_buy(account, 0, 500 * AMOUNT_UNIT)));
            }
            96..=97 => {
                self.apply(Command::new(PlaceOrder::market_sell(account, 0, quantity)));
            }
            98 => {
                place.price += 1;
                self.apply(Command::new(place));
            }
            _ => {
                self.apply(Command::new(CancelAll { account, market: 0 }));
            }
        }
    }
}

#[test]
fn a_warm_engine_takes_no_memory() {
    let mut flow = Flow::new(4_000);
    for _ in 0..200_000 {
        flow.step();
    }
    let before = crate::counting::bytes_taken();
    let first = flow.engine.sequence();
    for _ in 0..100_000 {
        flow.step();
    }
    let taken = crate::counting::bytes_taken() - before;
    let resting: usize =
        [Side::Buy, Side::Sell].map(|side| flow.engine.resting(0, side).count()).iter().sum();
    assert!(
        flow.engine.sequence() - first > 90_000 && resting > 1_000,
        "the flow is no flow: {resting} rest"
    );
    flow.engine.check_invariants().unwrap();
    assert_eq!(taken, 0, "bytes taken");
}
