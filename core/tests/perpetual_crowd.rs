//! Auto-deleveraging among thousands: the regions that holders stand in lead to the very counterparties that an order of all
//! of them gives, in both directions, for cross and isolated scopes, in one market and in two.
#![allow(clippy::unwrap_used)]

mod perpetual_support;
#[allow(dead_code, unreachable_pub, reason = "of a generator that other tests use more of")]
#[path = "support/random.rs"]
mod random;

use perpetual_support::{ONE, USDT, limit_order};
use random::Random;
use ringside_core::command::*;
use ringside_core::event::{self, Event, LiquidationStep};
use ringside_core::ids::{ALL_MARKETS, FIRST_PERPETUAL, padded};
use ringside_core::{Engine, EngineConfig};
use std::collections::BTreeSet;

const ACCOUNTS: u32 = 3_000;

/// An engine that looks into regions, and one that orders everybody.
struct Both {
    engines: [Engine; 2],
    sequence: u64,
    time_ns: i64,
    events: Vec<Event>,
    names: u64,
}

impl Both {
    fn new() -> Both {
        // Some of the accounts lie past the memory that is taken at first.
        let config = EngineConfig { orders: 1 << 10, accounts: 2_500, ..EngineConfig::default() };
        let mut engines = [(); 2].map(|()| Engine::new(&config));
        let listing = ListPerpetual {
            symbol: padded("AAAUSDT").unwrap(),
            base: padded("AAA").unwrap(),
            quote: padded("USDT").unwrap(),
            tick: ONE / 100,
            lot: ONE / 1_000,
        };
        engines.iter_mut().for_each(|engine| {
            let listing =
                Command { sequence: 1, time_ns: 1_700_000_000_000_000_000, ..Command::new(listing) };
            engine.apply(&listing, &mut ());
        });
        engines[1].test_every_position();
        let mut both =
            Both { engines, sequence: 1, time_ns: 1_700_000_000_000_000_000, events: Vec::new(), names: 0 };
        both.ok(ListPerpetual {
            symbol: padded("BBBUSDT").unwrap(),
            base: padded("BBB").unwrap(),
            ..listing
        });
        for market in [FIRST_PERPETUAL, FIRST_PERPETUAL + 1] {
            both.ok(SetManualPrice { market, reserved: 0, price: 1_000 * ONE });
            both.tick();
            both.ok(SetPerpetualState { market, state: PerpetualState::Trading as u8, reserved: [0; 3] });
        }
        both
    }

    /// Carries a command out; whether it was accepted.
    fn give<B: Body>(&mut self, body: B) -> bool {
        self.sequence += 1;
        let command = Command { sequence: self.sequence, time_ns: self.time_ns, ..Command::new(body) };
        let mut others = Vec::new();
        self.events.clear();
        self.engines[0].apply(&command, &mut self.events);
        self.engines[1].apply(&command, &mut others);
        assert_eq!(self.events, others, "another order after {command:?}");
        self.events.last().unwrap().get::<event::Done>().unwrap().reject == 0
    }

    fn ok<B: Body + std::fmt::Debug>(&mut self, body: B) {
        assert!(self.give(body), "{body:?} was refused");
    }

    fn tick(&mut self) {
        self.time_ns += 1_000_000_000;
        self.ok(AdvanceTime {});
    }

    fn order(&mut self, account: u32, market: u32, side: Side, price: i64, quantity: i64) -> bool {
        self.names += 1;
        let client_order = padded(&format!("order-{}", self.names)).unwrap();
        self.give(PlacePerpetual {
            market,
            price,
            quantity,
            client_order,
            ..limit_order(account, side, "0", "0")
        })
    }

    /// A snapshot goes on alike.
    fn reload(&mut self) {
        let mut bytes = Vec::new();
        self.engines[0].save(&mut bytes);
        let config = EngineConfig { orders: 1 << 10, accounts: 100, ..EngineConfig::default() };
        self.engines[0] = Engine::load(&config, &bytes).unwrap();
    }
}

/// Accounts with positions of all sizes in two markets, some of them alike; then marks that fall, rise and fall again.
fn storm(seed: u64) -> (BTreeSet<u32>, usize) {
    let (mut both, mut random) = (Both::new(), Random::new(seed));
    for account in 1..=ACCOUNTS {
        let mut address = [7; 20];
        address[..4].copy_from_slice(&account.to_le_bytes());
        both.ok(CreateAccount { address, reserved: 0 });
        // Every fourth as rich as the others of its kind.
        let amount = if account % 4 == 0 { 1_000 } else { 50 + random.below(5_000) as i64 } * USDT;
        both.ok(CreditPerpetual { address, reserved: 0, amount, reason: [0; 64] });
        if random.below(4) == 0 {
            let isolated = SetMarginMode {
                account,
                market: ALL_MARKETS,
                mode: MarginMode::Isolated as u32,
                reserved: 0,
            };
            both.ok(isolated);
        }
    }
    let mut index = [1_000 * ONE; 2];
    let (mut asked, mut largest) = (BTreeSet::new(), 0);
    for round in 0..90 {
        for _ in 0..if round < 10 { 400 } else { 20 } {
            let market = u32::from(random.below(5) == 0);
            let price = index[market as usize] / 1_000_000 * (995_000 + random.below(10_000) as i64);
            let price = price / (ONE / 100) * (ONE / 100);
            let quantity =
                if random.below(3) == 0 { 19 * ONE } else { 1 + random.below(40) as i64 * ONE / 7 };
            let quantity = (quantity / (ONE / 1_000)).max(6) * (ONE / 1_000);
            let [one, other] = [(); 2].map(|()| 1 + random.below(u64::from(ACCOUNTS)) as u32);
            let sides = if random.below(2) == 0 { [Side::Buy, Side::Sell] } else { [Side::Sell, Side::Buy] };
            if both.order(one, FIRST_PERPETUAL + market, sides[0], price, quantity) {
                both.order(other, FIRST_PERPETUAL + market, sides[1], price, quantity);
                let classes = order_class::ORDINARY;
                both.give(CancelAllPerpetual {
                    account: one,
                    market: FIRST_PERPETUAL + market,
                    classes,
                    reserved: 0,
                });
            }
        }
        // Sideways first, then down, up, and down for long.
        let drift = match round {
            0..15 => 0,
            15..35 => -9_000,
            35..65 => 8_000,
            _ => -10_000,
        };
        for (market, index) in (FIRST_PERPETUAL..).zip(&mut index) {
            *index = *index / 1_000_000 * (1_000_000 + drift + random.below(6_000) as i64 - 3_000);
            both.ok(SetManualPrice { market, reserved: 0, price: *index });
        }
        both.tick();
        loop {
            let moved = both.events.iter().filter_map(Event::get::<event::PositionMoved>);
            let taken = moved.filter(|moved| moved.step == LiquidationStep::Adl as u8);
            let before = asked.len();
            asked.extend(taken.map(|moved| moved.to));
            largest = largest.max(asked.len() - before);
            if !both.engines[0].has_backlog() {
                break;
            }
            both.ok(AdvanceTime {});
        }
        both.engines[0].check_invariants().unwrap();
        if round % 8 == 7 {
            both.reload();
        }
    }
    both.engines[0].check_invariants().unwrap();
    assert_eq!(both.engines[0].state_hash(), both.engines[1].state_hash());
    (asked, largest)
}

#[test]
fn regions_lead_to_the_counterparties_that_an_order_of_all_gives() {
    let mut asked = 0;
    for seed in 1..=std::env::var("SEEDS").map_or(2, |seeds| seeds.parse().unwrap()) {
        let (accounts, largest) = storm(seed);
        eprintln!("seed {seed}: {} accounts gave, up to {largest} in a command", accounts.len());
        asked += accounts.len();
    }
    assert!(asked > 300, "only {asked} accounts were asked");
}
