//! Auto-deleveraging among thousands: the regions that holders stand in lead to the very counterparties that an order of all
//! of them gives, in both directions, for cross and isolated scopes, in one market and in two; after hours in which either side
//! paid funding, after one market closed, and whatever was done while there was no command.

#[allow(dead_code, unreachable_pub, reason = "of a generator that other tests use more of")]
use crate::support::perpetual::{ONE, USDT, limit_order, moved};
use crate::support::random::Random;
use ringside_core::command::*;
use ringside_core::event::{self, Event, FundingSettled, TradeCause};
use ringside_core::ids::{ALL_MARKETS, FIRST_PERPETUAL, padded};
use ringside_core::{Engine, EngineConfig};
use std::collections::BTreeSet;

const ACCOUNTS: u32 = 3_000;
const MARKETS: [u32; 2] = [FIRST_PERPETUAL, FIRST_PERPETUAL + 1];

/// One that nobody lets idle looks into regions,
const BUSY: usize = 0;
/// so does one that idles a little after every command,
const OFTEN: usize = 1;
/// one that idles seldom, and long then,
const SELDOM: usize = 2;
/// and one orders everybody.
const EXHAUSTIVE: usize = 3;

/// Engines that must not differ.
struct Alike {
    engines: Vec<Engine>,
    /// When they idle.
    idling: Random,
    sequence: u64,
    time_ns: i64,
    events: Vec<Event>,
    names: u64,
}

impl Alike {
    fn new(seed: u64) -> Alike {
        // Some of the accounts lie past the memory that is taken at first.
        let config = EngineConfig { orders: 1 << 10, accounts: 2_500, ..EngineConfig::default() };
        let engines = [(); 4].map(|()| Engine::new(&config)).into();
        let (time_ns, events) = (1_700_000_000_000_000_000, Vec::new());
        let idling = Random::new(seed ^ 0x1d1e);
        let mut alike = Alike { engines, idling, sequence: 0, time_ns, events, names: 0 };
        for base in ["AAA", "BBB"] {
            alike.ok(ListPerpetual {
                symbol: padded(&format!("{base}USDT")).unwrap(),
                base: padded(base).unwrap(),
                quote: padded("USDT").unwrap(),
                tick: ONE / 100,
                lot: ONE / 1_000,
            });
        }
        for market in MARKETS {
            alike.ok(SetManualPrice { market, moves_band: 0, price: 1_000 * ONE });
            alike.tick();
            alike.ok(SetPerpetualState { market, state: PerpetualState::Trading as u8, reserved: [0; 3] });
        }
        alike
    }

    /// From now on one of them orders everybody.
    fn order_everybody(&mut self) {
        self.engines[EXHAUSTIVE].test_every_position();
    }

    /// Carries a command out; whether it was accepted.
    fn give<B: Body>(&mut self, body: B) -> bool {
        self.sequence += 1;
        let command = Command { sequence: self.sequence, time_ns: self.time_ns, ..Command::new(body) };
        self.events.clear();
        self.engines[BUSY].apply(&command, &mut self.events);
        let mut others = Vec::new();
        for who in [OFTEN, SELDOM, EXHAUSTIVE] {
            others.clear();
            self.engines[who].apply(&command, &mut others);
            if self.events != others {
                let differing = self.events.iter().zip(&others).find(|(event, other)| event != other);
                panic!("engine {who} differs after {command:?}: {differing:#?}");
            }
        }
        for _ in 0..self.idling.below(4) {
            self.engines[OFTEN].tidy();
        }
        if self.idling.permille(10) {
            for _ in 0..self.idling.below(300) {
                self.engines[SELDOM].tidy();
            }
        }
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

    /// An account with a wallet.
    fn account(&mut self, account: u32, amount: i64, is_isolated: bool) {
        let address = address(account);
        self.ok(CreateAccount { address, reserved: 0 });
        self.credit(account, amount);
        if is_isolated {
            let (market, mode) = (ALL_MARKETS, MarginMode::Isolated as u32);
            self.ok(SetMarginMode { account, market, mode, reserved: 0 });
        }
    }

    fn credit(&mut self, account: u32, amount: i64) {
        self.ok(CreditPerpetual { address: address(account), reserved: 0, amount, reason: [0; 64] });
    }

    /// Two accounts trade with each other, where both may.
    fn pair(&mut self, accounts: [u32; 2], market: u32, sides: [Side; 2], price: i64, quantity: i64) -> bool {
        if !self.order(accounts[0], market, sides[0], price, quantity) {
            return false;
        }
        let (account, classes) = (accounts[0], order_class::ORDINARY);
        let is_taken = self.order(accounts[1], market, sides[1], price, quantity);
        self.give(CancelAllPerpetual { account, market, classes, reserved: 0 });
        is_taken
    }

    /// Whom auto-deleveraging asked in the last command.
    fn asked(&self) -> impl Iterator<Item = u32> + '_ {
        let moved = moved(&self.events).into_iter();
        moved.filter(|moved| moved.cause == TradeCause::Deleveraging).map(|moved| moved.to)
    }

    /// Snapshots go on alike.
    fn reload(&mut self) {
        let mut bytes = Vec::new();
        self.engines[BUSY].save(&mut bytes);
        let config = EngineConfig { orders: 1 << 10, accounts: 100, ..EngineConfig::default() };
        self.engines[BUSY] = Engine::load(&config, &bytes).unwrap();
    }

    /// They stand alike, and well.
    fn check(&self) {
        let hashes: Vec<_> = self.engines.iter().map(Engine::state_hash).collect();
        assert!(hashes.iter().all(|hash| *hash == hashes[0]), "{hashes:02x?}");
        self.engines.iter().for_each(|engine| engine.check_invariants().unwrap());
    }
}

fn address(account: u32) -> [u8; 20] {
    let mut address = [7; 20];
    address[..4].copy_from_slice(&account.to_le_bytes());
    address
}

/// Accounts with positions of all sizes in two markets, some of them alike; then marks that fall, rise and fall again. In half of the
/// seeds one of the markets is closed on the way.
fn storm(seed: u64) -> (BTreeSet<u32>, usize) {
    let (mut alike, mut random) = (Alike::new(seed), Random::new(seed));
    alike.order_everybody();
    for account in 1..=ACCOUNTS {
        // Every fourth as rich as the others of its kind.
        let amount = if account % 4 == 0 { 1_000 } else { 50 + random.below(5_000) as i64 } * USDT;
        alike.account(account, amount, random.below(4) == 0);
    }
    let mut index = [1_000 * ONE; 2];
    let (mut asked, mut largest) = (BTreeSet::new(), 0);
    let mut open = MARKETS.len();
    for round in 0..90 {
        if round == 40 && seed.is_multiple_of(2) {
            open = 1;
            let (market, state) = (MARKETS[open], PerpetualState::Closed as u8);
            alike.ok(SetPerpetualState { market, state, reserved: [0; 3] });
            alike.check();
        }
        for _ in 0..if round < 10 { 400 } else { 20 } {
            let market = u32::from(random.below(5) == 0);
            let price = index[market as usize] / 1_000_000 * (995_000 + random.below(10_000) as i64);
            let price = price / (ONE / 100) * (ONE / 100);
            let quantity =
                if random.below(3) == 0 { 19 * ONE } else { 1 + random.below(40) as i64 * ONE / 7 };
            let quantity = (quantity / (ONE / 1_000)).max(6) * (ONE / 1_000);
            let [one, other] = [(); 2].map(|()| 1 + random.below(u64::from(ACCOUNTS)) as u32);
            let sides = if random.below(2) == 0 { [Side::Buy, Side::Sell] } else { [Side::Sell, Side::Buy] };
            alike.pair([one, other], FIRST_PERPETUAL + market, sides, price, quantity);
        }
        // Sideways first, then down, up, and down for long.
        let drift = match round {
            0..15 => 0,
            15..35 => -9_000,
            35..65 => 8_000,
            _ => -10_000,
        };
        for (market, index) in (FIRST_PERPETUAL..).zip(&mut index).take(open) {
            *index = *index / 1_000_000 * (1_000_000 + drift + random.below(6_000) as i64 - 3_000);
            alike.ok(SetManualPrice { market, moves_band: 0, price: *index });
        }
        alike.tick();
        loop {
            let before = asked.len();
            asked.extend(alike.asked());
            largest = largest.max(asked.len() - before);
            if !alike.engines[BUSY].has_backlog() {
                break;
            }
            alike.ok(AdvanceTime {});
        }
        alike.engines[BUSY].check_invariants().unwrap();
        if round % 8 == 7 {
            alike.reload();
        }
    }
    alike.check();
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

/// What came of hours and of moves of the mark.
#[derive(Default)]
struct Hours {
    /// Settlements in which shorts paid, and in which longs did.
    settled: [usize; 2],
    /// Counterparties that were asked,
    asked: usize,
    /// and those of them that were asked at marks at which a command before had asked some.
    asked_again: usize,
    /// Whose positions ended, for now, and who lost its wallet by it.
    ended: Vec<u32>,
    ruined: Vec<u32>,
}

impl Alike {
    /// Hours pass, in which longs pay 0.3 % each, or shorts do.
    fn fund(
        &mut self,
        hours: usize,
        is_paid_by_longs: bool,
        (random, index): (&mut Random, i64),
        to: &mut Hours,
    ) {
        let interest = if is_paid_by_longs { 2_400_000 } else { -2_400_000 };
        for market in MARKETS {
            for (parameter, value) in
                [(PerpetualParameter::Damp, 10_000_000), (PerpetualParameter::Interest, interest)]
            {
                self.ok(SetPerpetualParameter { market, parameter: parameter as u32, value });
            }
        }
        let before = to.settled;
        while to.settled[usize::from(is_paid_by_longs)] < before[usize::from(is_paid_by_longs)] + hours {
            // More than half of the samples of five seconds.
            self.time_ns += 9_500_000_000;
            self.ok(AdvanceTime {});
            for settled in self.events.iter().filter_map(Event::get::<FundingSettled>) {
                if settled.rate != 0 && settled.market == MARKETS[0] {
                    to.settled[usize::from(settled.rate > 0)] += 1;
                }
            }
            self.go_on(random, index, to);
        }
    }

    /// Has carried out what the last command left over, one command after the other at the same marks, with others between.
    fn go_on(&mut self, random: &mut Random, index: i64, to: &mut Hours) {
        let mut is_again = false;
        loop {
            for moved in moved(&self.events) {
                to.ruined.push(moved.from);
                to.ended.extend([moved.from, moved.to]);
            }
            let count = self.asked().count();
            to.asked += count;
            to.asked_again += if is_again { count } else { 0 };
            is_again |= count > 0;
            if !self.engines[BUSY].has_backlog() {
                return;
            }
            let [one, other] = [(); 2].map(|()| 1 + random.below(ACCOUNTS.into()) as u32);
            match random.below(6) {
                0 => _ = self.pair([one, other], MARKETS[0], [Side::Buy, Side::Sell], index, ONE / 10),
                1 => self.credit(one, random.between(1, 500) * USDT),
                _ => {}
            }
            self.ok(AdvanceTime {});
            if random.below(8) == 0 {
                let who = *random.pick(&[BUSY, OFTEN, SELDOM]);
                self.engines[who].check_invariants().unwrap();
            }
        }
    }
}

/// Pairs of a long and a short account. Hours pass in which either side pays; then the mark moves until many are liquidated, one
/// command after the other, which ask counterparties of those who paid, or received, some of whom are given their places anew
/// meanwhile.
fn hours(seed: u64, turns: usize) -> Hours {
    let (mut alike, mut random) = (Alike::new(seed), Random::new(seed));
    let mut came_to = Hours::default();
    for account in 1..=ACCOUNTS {
        alike.account(account, 1_000 * USDT, random.below(4) == 0);
        came_to.ended.push(account);
    }
    let mut index = 1_000 * ONE;
    for turn in 0..turns {
        // Those whose positions ended begin anew.
        for account in std::mem::take(&mut came_to.ruined) {
            alike.credit(account, 1_000 * USDT);
        }
        let mut ended = std::mem::take(&mut came_to.ended);
        ended.sort_unstable();
        ended.dedup();
        for pair in ended.chunks_exact(2) {
            let market = MARKETS[usize::from(random.below(12) == 0)];
            let sides = if random.below(2) == 0 { [Side::Buy, Side::Sell] } else { [Side::Sell, Side::Buy] };
            // 0.1 to 18 times the wallet of 1,000 that most have.
            let quantity = random.between(100, 18_000) * 1_000 / (index / ONE) * (ONE / 1_000);
            alike.pair([pair[0], pair[1]], market, sides, index, quantity);
        }
        if turn == 0 {
            alike.order_everybody();
        }
        let is_paid_by_longs = turn % 2 == 1;
        alike.fund(1 + random.below(3) as usize, is_paid_by_longs, (&mut random, index), &mut came_to);
        // Mostly those who paid are asked.
        let falls = match index / ONE {
            ..600 => false,
            1_700.. => true,
            _ => (random.below(4) == 0) == is_paid_by_longs,
        };
        let enough = came_to.asked + 150;
        let mut steps = 0;
        while came_to.asked < enough && steps < 60 {
            steps += 1;
            let step = index / 1_000 * random.between(2, 7);
            index = (index + if falls { -step } else { step }) / (ONE / 100) * (ONE / 100);
            for market in MARKETS {
                alike.ok(SetManualPrice { market, moves_band: 0, price: index });
            }
            alike.tick();
            alike.go_on(&mut random, index, &mut came_to);
        }
        alike.check();
        if turn % 4 == 3 {
            alike.reload();
        }
    }
    came_to
}

#[test]
fn nor_does_it_matter_what_is_done_between_hours_and_takeovers() {
    let seeds: u64 = std::env::var("SEEDS").map_or(2, |seeds| seeds.parse().unwrap());
    let mut again = 0;
    for seed in 1..=seeds {
        let came_to = hours(seed, 9);
        let Hours { settled, asked, asked_again, .. } = came_to;
        eprintln!("seed {seed}: {settled:?} hours, {asked} asked, {asked_again} of them again");
        assert!(settled.iter().all(|&hours| hours > 3), "{settled:?}");
        again += asked_again;
    }
    assert!(again > 700 * seeds as usize, "only {again} were asked again");
}
