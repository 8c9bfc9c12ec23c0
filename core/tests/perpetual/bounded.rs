//! One command does at most `WORK_MAX` units, what is left waits and is done by those that follow (`risk.md` 19).

use crate::support::perpetual::{BTC, Venue, dec, no_fees, usd};
use ringside_core::command::*;
use ringside_core::event::{self, Event, Execution, VipChange};
use ringside_core::ids::{FIRST_PERPETUAL, padded};
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};
use std::io::Read;

const ETH: u32 = FIRST_PERPETUAL + 1;

/// A venue of two markets whose engine is as large as it has to be, without the checks that look at all of it after every command.
struct Crowd {
    engine: Engine,
    time_ns: i64,
    events: Vec<Event>,
    names: u64,
}

impl Crowd {
    /// What two thousand orders of a kind are: stops of many accounts below the mark, and bids for the first of them only.
    fn new(venue: Venue) -> Crowd {
        Crowd { engine: venue.engine, time_ns: venue.time_ms * 1_000_000, events: Vec::new(), names: 0 }
    }

    fn give<B: Body>(&mut self, body: B) -> event::Done {
        self.events.clear();
        let sequence = self.engine.sequence() + 1;
        let command = Command { sequence, time_ns: self.time_ns, ..Command::new(body) };
        self.engine.apply(&command, &mut self.events);
        *self.events.last().unwrap().get::<event::Done>().unwrap()
    }

    fn order(&mut self, account: u32, side: Side, quantity: &str, price: &str) -> PlacePerpetual {
        self.names += 1;
        let client_order = padded(&format!("crowd-{}", self.names)).unwrap();
        PlacePerpetual {
            client_order,
            ..crate::support::perpetual::limit_order(account, side, quantity, price)
        }
    }

    /// A new account with a wallet, one of those that an address begins for.
    fn account(&mut self, begins: u8, number: u32, wallet: &str) -> u32 {
        let mut address = [begins; 20];
        address[..4].copy_from_slice(&number.to_le_bytes());
        self.give(CreateAccount { address, reserved: 0 });
        self.give(CreditPerpetual { address, reserved: 0, amount: usd(wallet), reason: [0; 64] }).account
    }

    /// I-1 as the engine tells it.
    fn prove(&mut self) {
        self.give(ProveLedger {});
        let told: event::PerpetualLedger = *self.events.iter().find_map(Event::get).unwrap();
        let pools = i128::from(told.fund) + i128::from(told.fees) + i128::from(told.affiliates);
        let [wallets, isolated, costs] = [told.wallets, told.isolated, told.costs].map(|sum| sum.get());
        assert_eq!(wallets + isolated + pools - costs, told.deposits.into());
    }

    /// Works off what waits, each command beside an engine of a snapshot before it, which comes to the same; how many commands it took.
    fn work_off_beside_snapshots(&mut self) -> usize {
        let mut commands = 0;
        while self.engine.has_backlog() {
            self.work_off_once_beside_a_snapshot();
            commands += 1;
        }
        commands
    }

    fn work_off_once_beside_a_snapshot(&mut self) {
        let mut saved = Vec::new();
        self.engine.save(&mut saved);
        let mut again = Engine::load(&EngineConfig::SMALLEST, &saved).expect("its own snapshot");
        assert_eq!(again.state_hash(), self.engine.state_hash());
        assert!(again.has_backlog());
        again.check_invariants().unwrap();
        self.give(AdvanceTime {});
        let sequence = again.sequence() + 1;
        let command = Command { sequence, time_ns: self.time_ns, ..Command::new(AdvanceTime {}) };
        let mut events = Vec::new();
        again.apply(&command, &mut events);
        assert!(events == self.events, "the same command tells the same");
        assert_eq!(again.state_hash(), self.engine.state_hash());
    }

    /// What the last command did: triggers fired, and orders ended otherwise than by a match.
    fn units(&self) -> usize {
        let of = |order: &&event::PerpetualOrder| order.execution == Execution::Triggered as u8;
        self.events.iter().filter_map(|event| event.get::<event::PerpetualOrder>()).filter(of).count()
    }
}

/// Accounts with stops, `each` of them: what is left of the orders after they fired at `bids`, and how the commands went.
fn stops(accounts: u32, each: u32, work_max: Option<u32>) -> (Crowd, Vec<u32>) {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.list_second();
    venue.ok(SetManualPrice { market: ETH, moves_band: 0, price: dec("2500") });
    venue.tick();
    venue.ok(SetPerpetualState { market: ETH, state: PerpetualState::Trading as u8, reserved: [0; 3] });
    for parameter in [PerpetualParameter::MaxConditionalOrders, PerpetualParameter::MaxOpenOrders] {
        venue.ok(SetPerpetualParameter { market: BTC, parameter: parameter as u32, value: 1_000 });
    }
    if let Some(value) = work_max {
        venue.ok(ActivateRule { rule: rule::WORK_MAX, value });
    }
    let maker = venue.account("100000000");
    let mut crowd = Crowd::new(venue);
    let mut armed = Vec::new();
    for number in 0..accounts {
        armed.push(crowd.account(7, number, "100000"));
    }
    // The first falls to what is set off first, and the price to the others.
    for (price, quantity) in [("59999", "0.05"), ("59998", "10"), ("59998", "10"), ("59998", "10")] {
        let bid = crowd.order(maker, Side::Buy, quantity, price);
        assert_eq!(crowd.give(bid).reject, 0);
    }
    for round in 0..each {
        for &account in &armed {
            let stop = PlacePerpetual {
                order_type: PerpetualOrderType::StopMarket as u8,
                stop_price: dec(if round % 2 == 0 { "59999" } else { "59998" }),
                price: 0,
                ..crowd.order(account, Side::Sell, "0.001", "0")
            };
            assert_eq!(crowd.give(stop).reject, 0);
        }
    }
    (crowd, armed)
}

/// Sets them off, and works off what waits; units of each command.
fn set_off(crowd: &mut Crowd, between: impl Fn(&mut Crowd)) -> Vec<usize> {
    let first = crowd.order(1, Side::Sell, "0.001", "59999");
    assert_eq!(crowd.give(first).reject, 0);
    let mut units = vec![crowd.units()];
    while crowd.engine.has_backlog() {
        between(crowd);
        crowd.give(AdvanceTime {});
        units.push(crowd.units());
    }
    units
}

/// 200 accounts arm 20,000 stops, and one fill sets all of them off: no command does more than its units, orders of other markets
/// and cancels are taken meanwhile, and what could match there is refused.
#[test]
fn stops_of_many_fire_by_and_by() {
    let (mut crowd, armed) = stops(200, 100, None);
    let other = armed[0];
    let units = set_off(&mut crowd, |crowd| {
        let place = crowd.order(other, Side::Buy, "0.01", "2400");
        let eth = PlacePerpetual { market: ETH, ..place };
        assert_eq!(crowd.give(eth).rejected(), None, "another market goes on");
        assert!(crowd.units() < 256);
        if !crowd.engine.has_backlog() {
            return;
        }
        let btc = crowd.order(other, Side::Buy, "0.001", "59000");
        let refused = crowd.give(btc).rejected();
        let waits = crowd.engine.has_backlog();
        assert!(refused == Some(Reject::EngineBusy) || !waits, "{refused:?}");
        let rests = PlacePerpetual {
            time_in_force: PerpetualTimeInForce::PostOnly as u8,
            ..crowd.order(other, Side::Buy, "0.001", "58000")
        };
        let order = crowd.give(rests);
        assert_eq!(order.rejected(), None, "what cannot match is taken");
        let cancel = CancelPerpetual {
            account: other,
            market: BTC,
            order: order.order,
            client_order: [0; 36],
            classes: 3,
        };
        assert_eq!(crowd.give(cancel).rejected(), None);
    });
    assert_eq!(units[0], 255, "one was for the order itself");
    assert!(units.iter().all(|&units| units <= 256), "{units:?}");
    assert!(
        crowd.engine.perpetual_orders().all(|order| order.order_type != PerpetualOrderType::StopMarket as u8)
    );
    crowd.engine.check_invariants().unwrap();
}

/// The same money and positions come of it as if one command had done all.
#[test]
fn what_waits_comes_to_the_same() {
    let [few, all] = [8, 65_536].map(|most| {
        let (mut crowd, armed) = stops(20, 20, Some(most));
        let units = set_off(&mut crowd, |_| {});
        assert!(if most == 8 { units.len() > 40 } else { units.len() == 1 }, "{} commands", units.len());
        assert!(units.iter().all(|&units| units <= most as usize));
        let state = |&account: &u32| {
            (crowd.engine.perpetual_wallet(account), crowd.engine.perpetual_position(account, BTC).unwrap())
        };
        (armed.iter().map(state).collect::<Vec<_>>(), crowd.engine.perpetual_orders().count())
    });
    assert_eq!(few, all);
}

/// What waits is part of the state: after any command the engine goes on from its own snapshot to the same end.
#[test]
fn what_waits_survives_a_snapshot() {
    let (mut crowd, _) = stops(5, 20, Some(8));
    let first = crowd.order(1, Side::Sell, "0.001", "59999");
    assert_eq!(crowd.give(first).reject, 0);
    let commands = crowd.work_off_beside_snapshots();
    assert!(commands > 10, "{commands}");
}

/// A venue of `count` accounts that hold against one, at the tick that fixes an hour; the accounts, and how the tick went.
fn hour(count: u32, work_max: u32) -> (Crowd, Vec<u32>) {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.ok(ActivateRule { rule: rule::WORK_MAX, value: work_max });
    for parameter in [PerpetualParameter::Interest, PerpetualParameter::Damp] {
        venue.ok(SetPerpetualParameter { market: BTC, parameter: parameter as u32, value: 70_001 });
    }
    let maker = venue.account("1000000");
    let mut crowd = Crowd::new(venue);
    let mut holders = vec![maker];
    for number in 0..count {
        let account = crowd.account(8, number, "1000");
        let sell = crowd.order(maker, Side::Sell, "0.003", "60000");
        assert_eq!(crowd.give(sell).reject, 0);
        let buy = crowd.order(account, Side::Buy, "0.003", "60000");
        assert_eq!(crowd.give(buy).reject, 0);
        holders.push(account);
    }
    loop {
        crowd.time_ns += 1_000_000_000;
        crowd.give(AdvanceTime {});
        let settled = crowd.events.iter().find_map(Event::get::<event::FundingSettled>);
        if let Some(settled) = settled.filter(|settled| settled.rate != 0) {
            assert_eq!(settled.positions, u64::from(count) + 1);
            return (crowd, holders);
        }
    }
}

/// Accounts that the last command had pay or receive funding, in this order.
fn paid(crowd: &Crowd) -> Vec<u32> {
    let postings = crowd.events.iter().filter_map(Event::get::<event::Posting>);
    postings
        .filter(|posting| posting.reason == event::PostingReason::FundingFee as u8)
        .map(|posting| posting.account)
        .collect()
}

/// 600 positions pay an hour over three commands. Whoever acts meanwhile, or is met, pays first, by the numbers of the hour; orders are
/// taken; nobody pays twice; and the proof of the ledger holds after each.
#[test]
fn an_hour_is_paid_by_and_by() {
    let (mut crowd, holders) = hour(600, 256);
    assert_eq!(paid(&crowd), holders[..256], "a tick asks for nothing itself");
    let (last, met) = (holders[600], holders[599]);
    let bid = crowd.order(met, Side::Buy, "0.01", "59000");
    // Its own unit, 255 others, and the account itself out of its turn.
    assert_eq!(crowd.give(bid).rejected(), None, "funding that waits holds nobody up");
    assert_eq!(paid(&crowd)[..255], holders[256..511]);
    assert_eq!(paid(&crowd)[255..], [met]);
    crowd.prove();
    assert!(crowd.engine.has_backlog());
    crowd.engine.check_invariants().unwrap();
    // By another mark than that of the hour, which is what counts.
    let one = crowd.order(last, Side::Sell, "0.001", "59000");
    assert_eq!(crowd.give(one).rejected(), None);
    assert_eq!(paid(&crowd), [&holders[511..599], &holders[600..]].concat(), "nobody pays twice");
    assert!(!crowd.engine.has_backlog());
    crowd.prove();
    crowd.engine.check_invariants().unwrap();
}

/// Amounts and residue are those of one step.
#[test]
fn an_hour_that_waits_comes_to_the_same() {
    let [few, all] = [8, 65_536].map(|most| {
        let (mut crowd, holders) = hour(40, most);
        assert_eq!(crowd.engine.has_backlog(), most == 8);
        while crowd.engine.has_backlog() {
            crowd.give(AdvanceTime {});
        }
        holders.iter().chain(&[0]).map(|&account| crowd.engine.perpetual_wallet(account)).collect::<Vec<_>>()
    });
    assert_eq!(few, all);
}

/// What an hour takes cannot be taken out first.
#[test]
fn who_owes_an_hour_does_not_leave_with_it() {
    let (mut crowd, holders) = hour(40, 8);
    let last = holders[40];
    let wallet = crowd.engine.perpetual_wallet(last);
    let free = crowd.engine.perpetual_cross(last).unwrap().withdrawable().unwrap();
    let leave = TransferPerpetual { account: last, reserved: 0, amount: -free };
    assert_eq!(crowd.give(leave).rejected(), Some(Reject::CrossInsufficient));
    assert!(crowd.engine.perpetual_wallet(last) < wallet, "it has paid");
}

/// A snapshot between two commands that pay an hour goes on to the same end.
#[test]
fn an_hour_that_waits_survives_a_snapshot() {
    let (mut crowd, holders) = hour(40, 8);
    let bid = crowd.order(holders[30], Side::Buy, "0.01", "59000");
    assert_eq!(crowd.give(bid).rejected(), None);
    let commands = crowd.work_off_beside_snapshots();
    assert!(commands > 2, "{commands}");
}

/// A venue of `count` accounts that hold against one, with orders of all kinds, whose market is told to close.
fn closing(count: u32, work_max: u32) -> (Crowd, Vec<u32>) {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.list_second();
    venue.ok(SetManualPrice { market: ETH, moves_band: 0, price: dec("2500") });
    venue.tick();
    venue.ok(SetPerpetualState { market: ETH, state: PerpetualState::Trading as u8, reserved: [0; 3] });
    venue.ok(ActivateRule { rule: rule::WORK_MAX, value: work_max });
    let maker = venue.account("1000000");
    let mut crowd = Crowd::new(venue);
    let mut holders = vec![maker];
    for number in 0..count {
        let account = crowd.account(77, number, "1000");
        let sell = crowd.order(maker, Side::Sell, "0.001", "60000");
        assert_eq!(crowd.give(sell).reject, 0);
        let buy = crowd.order(account, Side::Buy, "0.001", "60000");
        assert_eq!(crowd.give(buy).reject, 0);
        let stop = PlacePerpetual {
            order_type: PerpetualOrderType::StopMarket as u8,
            stop_price: dec("50000"),
            flags: order_flag::REDUCE_ONLY,
            price: 0,
            ..crowd.order(account, Side::Sell, "0.001", "0")
        };
        assert_eq!(crowd.give(stop).reject, 0);
        let bound = PlacePerpetual {
            flags: order_flag::REDUCE_ONLY,
            ..crowd.order(account, Side::Sell, "0.001", "61000")
        };
        assert_eq!(crowd.give(bound).reject, 0);
        holders.push(account);
    }
    let price = dec("57000");
    crowd.give(SetManualPrice { market: BTC, moves_band: 0, price });
    crowd.time_ns += 1_000_000_000;
    crowd.give(AdvanceTime {});
    while crowd.engine.has_backlog() {
        crowd.give(AdvanceTime {});
    }
    let state = PerpetualState::Closed as u8;
    assert_eq!(crowd.give(SetPerpetualState { market: BTC, state, reserved: [0; 3] }).reject, 0);
    (crowd, holders)
}

/// Orders that the last command ended, and positions it settled.
fn ended_and_settled(crowd: &Crowd) -> (usize, Vec<u32>) {
    let orders = crowd.events.iter().filter_map(Event::get::<event::PerpetualOrder>);
    let ended = orders.filter(|order| order.execution == Execution::Expired as u8).count();
    let trades = crowd.events.iter().filter_map(Event::get::<event::PerpetualTrade>);
    let settled = trades.filter(|trade| trade.cause == event::TradeCause::Settlement as u8);
    (ended, settled.map(|trade| trade.taker_account).collect())
}

/// 200 positions and 400 orders of a market go over several commands. It takes no order at once; who acts elsewhere meanwhile, or is
/// met there, is settled first; and the proof of the ledger holds after each command.
#[test]
fn a_market_closes_by_and_by() {
    let (mut crowd, holders) = closing(200, 64);
    assert_eq!(ended_and_settled(&crowd), (63, vec![]), "one was for the command itself");
    let told =
        |crowd: &Crowd| crowd.events.iter().find_map(Event::get::<event::PerpetualStateChanged>).copied();
    assert_eq!(told(&crowd), None, "it is not closed yet");
    let order = crowd.order(holders[3], Side::Buy, "0.001", "57000");
    assert_eq!(crowd.give(order).rejected(), Some(Reject::MarketDelisted));
    let (ended, settled) = ended_and_settled(&crowd);
    assert_eq!(
        (ended, settled),
        (63, vec![holders[3]]),
        "who asks is settled, whatever comes of what he asks for"
    );
    // Nobody else goes on with a position whose price is known.
    let bid = PlacePerpetual { market: ETH, ..crowd.order(holders[5], Side::Buy, "0.01", "2500") };
    assert_eq!(crowd.give(bid).rejected(), None);
    assert_eq!(ended_and_settled(&crowd).1, [holders[5]]);
    let ask = PlacePerpetual { market: ETH, ..crowd.order(holders[9], Side::Sell, "0.01", "2500") };
    assert_eq!(crowd.give(ask).rejected(), None);
    assert_eq!(ended_and_settled(&crowd).1, [holders[9]]);
    let mut settled = vec![holders[3], holders[5], holders[9]];
    let mut commands = 0;
    while told(&crowd).is_none() {
        assert!(crowd.engine.has_backlog());
        crowd.engine.check_invariants().unwrap();
        crowd.prove();
        crowd.give(AdvanceTime {});
        let (ended, now) = ended_and_settled(&crowd);
        assert!(ended + now.len() <= 64, "{ended} and {}", now.len());
        settled.extend(now);
        commands += 1;
    }
    assert!(commands > 5, "{commands}");
    settled.sort_unstable();
    let mut all = holders.clone();
    all.sort_unstable();
    assert_eq!(settled, all, "each once");
    let told = told(&crowd).unwrap();
    assert_eq!((told.state, told.set), (PerpetualState::Closed as u8, PerpetualState::Closed as u8));
    assert!(!crowd.engine.has_backlog());
    let open = crowd.engine.perpetual_orders().filter(|order| order.market == BTC).count();
    assert_eq!(open, 0);
    crowd.engine.check_invariants().unwrap();
}

/// What everybody has in the end is what one command would have left.
#[test]
fn a_close_that_waits_comes_to_the_same() {
    let [few, all] = [8, 65_536].map(|most| {
        let (mut crowd, holders) = closing(60, most);
        assert_eq!(crowd.engine.has_backlog(), most == 8);
        while crowd.engine.has_backlog() {
            crowd.give(AdvanceTime {});
        }
        holders.iter().chain(&[0]).map(|&account| crowd.engine.perpetual_wallet(account)).collect::<Vec<_>>()
    });
    assert_eq!(few, all);
}

/// A snapshot between two commands that close a market goes on to the same end.
#[test]
fn a_close_that_waits_survives_a_snapshot() {
    let (mut crowd, holders) = closing(60, 16);
    let bid = PlacePerpetual { market: ETH, ..crowd.order(holders[50], Side::Buy, "0.01", "2500") };
    assert_eq!(crowd.give(bid).rejected(), None);
    let commands = crowd.work_off_beside_snapshots();
    assert!(commands > 5, "{commands}");
}

/// A snapshot that an engine of version 13 wrote in the middle of such a close, of 61 positions 16 units a command: it is read to the
/// hash that it had, and the close ends where that engine's did.
#[test]
fn a_close_that_version_13_began_is_finished() {
    let path = format!("{}/tests/golden/snapshot-13-closing.gz", env!("CARGO_MANIFEST_DIR"));
    let mut saved = Vec::new();
    let file = std::fs::File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    flate2::read::GzDecoder::new(file).read_to_end(&mut saved).unwrap();
    assert_eq!(saved[12..16], 13_u32.to_le_bytes(), "the version it was written by");
    let engine = Engine::load(&EngineConfig::SMALLEST, &saved).expect("an earlier version's snapshot");
    let found: String = engine.state_hash().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!((engine.sequence(), found.as_str()), (383, "f156645382c5a1f94c4a44208318cd8a"));
    let time_ns = engine.time_ns();
    let mut crowd = Crowd { engine, time_ns, events: Vec::new(), names: 0 };
    assert!(crowd.engine.has_backlog());
    assert_eq!(crowd.work_off_beside_snapshots(), 3, "commands that it takes");
    crowd.prove();
    crowd.engine.check_invariants().unwrap();
    assert_eq!(crowd.engine.perpetual_orders().filter(|order| order.market == BTC).count(), 0);
    let holders = (1..=61).map(|account| crowd.engine.perpetual_wallet(account));
    let wallets: Vec<i64> = holders.collect();
    assert_eq!(
        (wallets[0], &wallets[1..]),
        (1_000_060_000_000, &[999_000_000; 60][..]),
        "as version 13 left them"
    );
}

/// A venue whose fund has 10, and where `count` accounts hold long what one is short that has less than it loses if the market goes
/// to 70,000.
fn winners(count: u32, work_max: u32) -> (Crowd, Vec<u32>) {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.fund("10");
    venue.ok(ActivateRule { rule: rule::WORK_MAX, value: work_max });
    let loser = venue.account(&format!("{}", 4 * count));
    venue.ok(SetLeverage { account: loser, market: BTC, leverage: 20, reserved: 0 });
    let mut crowd = Crowd::new(venue);
    let mut holders = Vec::new();
    for number in 0..count {
        let account = crowd.account(79, number, "100");
        let sell = crowd.order(loser, Side::Sell, "0.001", "60000");
        assert_eq!(crowd.give(sell).reject, 0);
        let buy = crowd.order(account, Side::Buy, "0.001", "60000");
        assert_eq!(crowd.give(buy).reject, 0);
        holders.push(account);
    }
    (crowd, holders)
}

/// The same, told to close at 70,000: each of them is paid 10, of which the one lacks 6 and the fund has next to nothing.
fn short_close(count: u32, work_max: u32) -> (Crowd, Vec<u32>) {
    let (mut crowd, holders) = winners(count, work_max);
    let state = |crowd: &mut Crowd, state: PerpetualState| {
        assert_eq!(
            crowd.give(SetPerpetualState { market: BTC, state: state as u8, reserved: [0; 3] }).reject,
            0
        );
    };
    state(&mut crowd, PerpetualState::Halted);
    crowd.give(SetManualPrice { market: BTC, moves_band: 0, price: dec("70000") });
    for _ in 0..1_801 {
        crowd.time_ns += 1_000_000_000;
        crowd.give(AdvanceTime {});
    }
    state(&mut crowd, PerpetualState::Closed);
    (crowd, holders)
}

/// Who gave back in the last command.
fn gave(crowd: &Crowd) -> Vec<u32> {
    let postings = crowd.events.iter().filter_map(Event::get::<event::Posting>);
    let back = postings
        .filter(|posting| posting.reason == event::PostingReason::InsuranceClear as u8 && posting.amount < 0);
    back.map(|posting| posting.account).collect()
}

/// 3,000 are paid by a settlement of which the fund cannot pay 17,990: they give it back by and by, and until then nobody leaves with
/// what it brought.
#[test]
fn a_settlement_is_given_back_by_and_by() {
    let (mut crowd, holders) = short_close(3_000, 256);
    let first = holders[0];
    assert_eq!(crowd.engine.perpetual_wallet(first), usd("110"), "it is settled");
    let leave = |amount: &str| TransferPerpetual { account: first, reserved: 0, amount: -usd(amount) };
    assert_eq!(crowd.give(leave("100.000001")).rejected(), Some(Reject::CrossInsufficient));
    assert_eq!(crowd.give(leave("50")).rejected(), Some(Reject::WithdrawalsPaused), "what it had is its own");
    let (mut given, mut commands) = (gave(&crowd), 0);
    while crowd.engine.has_backlog() {
        crowd.give(AdvanceTime {});
        let now = gave(&crowd);
        assert!(now.len() + ended_and_settled(&crowd).1.len() <= 256);
        given.extend(now);
        commands += 1;
        if commands % 8 == 0 {
            crowd.prove();
            crowd.engine.check_invariants().unwrap();
        }
    }
    assert!(commands > 30, "{commands}");
    assert_eq!(given, holders, "each once");
    assert_eq!(crowd.engine.perpetual_wallet(0), 0);
    let left = |account: &u32| crowd.engine.perpetual_wallet(*account);
    assert_eq!(holders.iter().map(left).sum::<i64>(), usd("312010"));
    assert!(holders.iter().all(|account| (usd("104.003333")..=usd("104.003334")).contains(&left(account))));
    assert_eq!(crowd.give(leave("104")).rejected(), None);
    crowd.engine.check_invariants().unwrap();
}

/// What everybody has in the end is what one command would have left.
#[test]
fn what_is_given_back_by_and_by_comes_to_the_same() {
    let wallets = |(crowd, holders): &(Crowd, Vec<u32>)| {
        holders.iter().chain(&[0]).map(|&account| crowd.engine.perpetual_wallet(account)).collect::<Vec<_>>()
    };
    let [few, all] = [8, 65_536].map(|most| {
        let mut close = short_close(30, most);
        assert_eq!(close.0.engine.has_backlog(), most == 8);
        while close.0.engine.has_backlog() {
            close.0.give(AdvanceTime {});
        }
        wallets(&close)
    });
    assert_eq!(few, all);
}

/// A snapshot between two commands that share a settlement's loss goes on to the same end.
#[test]
fn a_loss_that_is_shared_survives_a_snapshot() {
    let (mut crowd, _) = short_close(60, 16);
    let commands = crowd.work_off_beside_snapshots();
    assert!(commands > 8, "{commands}");
}

/// Those who were deleveraged for a bankrupt one give back by and by as well, a unit each, and are not asked for more meanwhile.
#[test]
fn what_deleveraging_brought_is_given_back_by_and_by() {
    let (mut crowd, holders) = winners(60, 16);
    crowd.give(SetManualPrice { market: BTC, moves_band: 0, price: dec("70000") });
    crowd.time_ns += 1_000_000_000;
    let (mut given, mut refusals) = (Vec::new(), 0);
    loop {
        let mut saved = Vec::new();
        crowd.engine.save(&mut saved);
        let again = Engine::load(&EngineConfig::SMALLEST, &saved).expect("its own snapshot");
        assert_eq!(again.state_hash(), crowd.engine.state_hash());
        crowd.give(AdvanceTime {});
        let now = gave(&crowd);
        assert!(now.len() <= 16);
        given.extend(now);
        crowd.prove();
        crowd.engine.check_invariants().unwrap();
        if !crowd.engine.has_backlog() {
            break;
        }
        // Once anybody gives back all have been deleveraged: what that brought is no margin for anything new meanwhile.
        if let Some(&one) = holders.iter().rev().find(|one| !given.is_empty() && !given.contains(one)) {
            let free = crowd.engine.perpetual_cross(one).unwrap().withdrawable().unwrap();
            assert!((usd("100")..=usd("104")).contains(&free), "{free}");
            let large = crowd.order(one, Side::Buy, "0.031", "69000");
            let refused = crowd.give(large).rejected();
            given.extend(gave(&crowd));
            assert_eq!(refused, (!given.contains(&one)).then_some(Reject::InsufficientMargin));
            refusals += 1;
        }
    }
    assert!(refusals > 1, "{refusals}");
    given.sort_unstable();
    assert_eq!(given, holders, "each once");
    assert_eq!(crowd.engine.perpetual_wallet(0), 0);
}

/// A venue of `count` accounts, each with a bid of which 0.005 is left, below one another, whose lot becomes 0.01 with `work_max`
/// units a command; the one who sold, and the bids, whose best is the last.
fn odd(count: u32, work_max: u32) -> (Crowd, u32, Vec<u64>) {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.ok(ActivateRule { rule: rule::WORK_MAX, value: work_max });
    let seller = venue.account("100000000");
    let mut crowd = Crowd::new(venue);
    let mut bids = Vec::new();
    for number in 0..count {
        let account = crowd.account(78, number, "10000");
        let price = format!("{}.{}", 59_000 + number / 10, number % 10);
        let buy = crowd.order(account, Side::Buy, "0.015", &price);
        bids.push(crowd.give(buy).order);
        let sell = crowd.order(seller, Side::Sell, "0.01", &price);
        assert_eq!(crowd.give(sell).reject, 0);
    }
    let lot = PerpetualParameter::Lot as u32;
    assert_eq!(
        crowd.give(SetPerpetualParameter { market: BTC, parameter: lot, value: dec("0.01") }).reject,
        0
    );
    (crowd, seller, bids)
}

/// Orders that the last command ended without a trade of theirs.
fn finished(crowd: &Crowd) -> Vec<u64> {
    let orders = crowd.events.iter().filter_map(Event::get::<event::PerpetualOrder>);
    let ended = orders.filter(|order| order.execution == Execution::Expired as u8);
    ended
        .inspect(|order| assert_eq!(order.status, PerpetualStatus::Filled as u8))
        .map(|order| order.order)
        .collect()
}

/// What is less than a lot since the lot changed ends account by account, a unit each, and once. Until its turn comes it trades as it
/// stands, and is canceled by its owner.
#[test]
fn remainders_of_a_changed_lot_end_by_and_by() {
    let (mut crowd, seller, bids) = odd(1_000, 256);
    let mut ended = finished(&crowd);
    assert!((200..256).contains(&ended.len()), "{}", ended.len());
    let sell = crowd.order(seller, Side::Sell, "0.01", "59000");
    crowd.give(sell);
    let fills = crowd.events.iter().filter_map(Event::get::<event::PerpetualTrade>);
    let met: Vec<_> = fills.map(|fill| (fill.maker_order, fill.quantity)).collect();
    assert_eq!(met, [(bids[999], dec("0.005")), (bids[998], dec("0.005"))]);
    ended.extend(finished(&crowd));
    let owner = crowd.engine.perpetual_orders().find(|order| order.order == bids[997]).unwrap().account;
    let cancel = CancelPerpetual {
        account: owner,
        market: BTC,
        order: bids[997],
        client_order: [0; 36],
        classes: 255,
    };
    assert_eq!(crowd.give(cancel).reject, 0);
    ended.extend(finished(&crowd));
    let mut commands = 0;
    while crowd.engine.has_backlog() {
        crowd.give(AdvanceTime {});
        ended.extend(finished(&crowd));
        commands += 1;
    }
    assert!((1..=3).contains(&commands), "{commands}");
    assert_eq!(ended, bids[..997]);
    assert_eq!(crowd.engine.perpetual_orders().count(), 0);
    crowd.prove();
}

/// The same below a snapshot; and another change of the lot begins it anew, or ends it where nothing can be less than a lot.
#[test]
fn a_changed_lot_that_waits_survives_a_snapshot() {
    let (mut crowd, _, bids) = odd(60, 8);
    let commands = crowd.work_off_beside_snapshots();
    assert!(commands > 5, "{commands}");
    assert_eq!((finished(&crowd).last(), crowd.engine.perpetual_orders().count()), (bids.last(), 0));

    // The second change works off what it can of the first: 12 of 60 are gone by then.
    for (value, left) in [("0.02", 0), ("0.001", 48)] {
        let (mut crowd, ..) = odd(60, 8);
        let lot = PerpetualParameter::Lot as u32;
        crowd.give(SetPerpetualParameter { market: BTC, parameter: lot, value: dec(value) });
        crowd.work_off_beside_snapshots();
        assert_eq!(crowd.engine.perpetual_orders().count(), left, "{value}");
    }
}

/// Fee tiers that the last command moved or noted, by change.
fn moved_tiers(crowd: &Crowd, change: VipChange) -> Vec<u32> {
    let told = crowd.events.iter().filter_map(Event::get::<event::VipChanged>);
    told.filter(|told| told.change == change as u8).map(|told| told.account).collect()
}

/// Works off what waits below snapshots, no more than 8 tiers a command; whose tiers were told of.
fn tiers_by_and_by(crowd: &mut Crowd, change: VipChange) -> Vec<u32> {
    let mut told = moved_tiers(crowd, change);
    while crowd.engine.has_backlog() {
        crowd.work_off_once_beside_a_snapshot();
        let of_one = moved_tiers(crowd, change);
        assert!(of_one.len() <= 8, "{}", of_one.len());
        told.extend(of_one);
    }
    told
}

/// Volume that leaves its windows, lower tiers that come due at midnight, and a new table of tiers are worked off account by account,
/// each once, whatever command comes, also below a snapshot.
#[test]
fn tiers_change_by_and_by() {
    const HOUR_NS: i64 = 3_600_000_000_000;
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.ok(ActivateRule { rule: rule::WORK_MAX, value: 8 });
    let tier = |volume| SetVipTier { tier: 1, count: 2, volume: usd(volume), maker_rate: 0, taker_rate: 0 };
    venue.ok(tier("500"));
    let seller = venue.account("100000000");
    let mut crowd = Crowd::new(venue);
    let mut buyers = Vec::new();
    for number in 0..40 {
        let account = crowd.account(79, number, "10000");
        let buy = crowd.order(account, Side::Buy, "0.01", "60000");
        crowd.give(buy);
        let sell = crowd.order(seller, Side::Sell, "0.01", "60000");
        crowd.give(sell);
        assert!(moved_tiers(&crowd, VipChange::UpgradeImmediate).contains(&account));
        buyers.push(account);
    }

    // A table that gives them less, and one that gives it back before all are judged by the first.
    assert_eq!(crowd.give(tier("1000")).reject, 0);
    assert!(crowd.engine.has_backlog());
    assert_eq!(tiers_by_and_by(&mut crowd, VipChange::DowngradeScheduled), buyers);
    assert_eq!(crowd.give(tier("500")).reject, 0);
    assert_eq!(tiers_by_and_by(&mut crowd, VipChange::DowngradeScheduled), [0u32; 0]);

    // The hour leaves the window of 14 days.
    crowd.time_ns += 336 * HOUR_NS;
    crowd.give(AdvanceTime {});
    assert_eq!(tiers_by_and_by(&mut crowd, VipChange::DowngradeScheduled), [0u32; 0]);
    crowd.time_ns += HOUR_NS;
    crowd.give(AdvanceTime {});
    let mut everybody = tiers_by_and_by(&mut crowd, VipChange::DowngradeScheduled);
    everybody.sort_unstable();
    let mut expected = buyers.clone();
    expected.push(seller);
    expected.sort_unstable();
    assert_eq!(everybody, expected);

    // Midnight.
    crowd.time_ns += 24 * HOUR_NS;
    crowd.give(AdvanceTime {});
    assert_eq!(tiers_by_and_by(&mut crowd, VipChange::DowngradeApplied), expected);

    // And the window of 30 days, where nothing is told.
    crowd.time_ns += 360 * HOUR_NS;
    crowd.give(AdvanceTime {});
    assert!(crowd.engine.has_backlog());
    assert!(crowd.work_off_beside_snapshots() >= 4);
    let buy = crowd.order(buyers[0], Side::Buy, "0.01", "60000");
    crowd.give(buy);
    let sell = crowd.order(seller, Side::Sell, "0.01", "60000");
    crowd.give(sell);
    let told: Vec<event::VipChanged> = crowd.events.iter().filter_map(Event::get).copied().collect();
    assert_eq!(told.len(), 2);
    assert!(told.iter().all(|told| (told.volume, told.volume_30) == (usd("600"), usd("600"))), "{told:?}");
    crowd.prove();
}

/// How much one command may do is between 8 and 65,536.
#[test]
fn the_bound_has_bounds() {
    let mut venue = Venue::trading("60000");
    for value in [0, 7, 65_537, u32::MAX] {
        assert_eq!(venue.refused(ActivateRule { rule: rule::WORK_MAX, value }), Reject::ParameterOutOfRange);
    }
    for value in [8, 65_536, 256] {
        venue.ok(ActivateRule { rule: rule::WORK_MAX, value });
        assert_eq!(venue.said::<event::RuleActivated>()[0].value, value);
    }
}
