//! A command that egress takes from its ring in pieces, as it does with an hour's funding, is folded and told as one that comes in one
//! piece. No sockets.

use crate::flow::{any_order, credit, list_market, saved};
use crate::perpetual_flow::Flow;
use crate::random::Random;
use ringside_commands::clock::Clock;
use ringside_core::agent::Agent;
use ringside_core::command::{
    AdvanceChain, CancelAll, Command, Ledger, PerpetualState, RequestWithdrawal, SetPerpetualState,
};
use ringside_core::event::{Balances, Event};
use ringside_core::gate::{Gate, GateMode};
use ringside_core::ids::{ALL_MARKETS, FIRST_PERPETUAL, padded};
use ringside_core::memory::Pages;
use ringside_core::ring::{self, Mapping, Options, Producer, Wait};
use ringside_core::sums::Sums;
use ringside_core::{Engine, EngineConfig};
use ringside_egress::{Egress, EgressFigures};
use ringside_streams::envelope::Form;
use ringside_streams::pusher::Pusher;
use ringside_streams::registry::SubscriptionRegistry;
use ringside_streams::topic::{Kind, Topic};
use ringside_views::kline::SPOT_INTERVALS;
use ringside_views::{SharedViews, Views};
use std::sync::Arc;

const START_MS: i64 = 1_700_000_000_000;

/// Egress behind a ring of so many slots, with somebody who listens to everything.
struct Shown {
    output: Producer<Event>,
    egress: Egress,
    gate: Arc<Gate>,
    views: Arc<SharedViews>,
    figures: Arc<EgressFigures>,
    registry: Arc<SubscriptionRegistry>,
    clock: Clock,
}

impl Shown {
    fn new(slots: usize) -> Shown {
        let options = Options { capacity: slots, consumers: 1, start: 1, wait: Wait::Park };
        let (output, mut outputs) = ring::create::<Event>(Mapping::anonymous(), options).unwrap();
        let (gate, views) = (Arc::new(Gate::new(0)), Arc::new(SharedViews::new(Views::default())));
        let clock = Clock::manual(START_MS);
        let registry = Arc::new(SubscriptionRegistry::new(1, clock.clone()));
        let ring = outputs.pop().unwrap();
        let sums = Arc::new(Sums::since(1));
        let mut egress = Egress::new(ring, gate.clone(), GateMode::Durable, views.clone(), Vec::new(), sums);
        egress.make_room(slots, Pages::Small);
        egress.listen(Box::new(Pusher::new(registry.clone(), &views.read())));
        let figures = Arc::new(EgressFigures::default());
        egress.measure(clock.clone(), figures.clone());
        Shown { output, egress, gate, views, figures, registry, clock }
    }

    /// Listens to every kind of topic, of a market, of all, and of some accounts.
    fn listen(&self) {
        let enter = |topic, form| drop(self.registry.enter(0, topic, form, None));
        for market in [0, FIRST_PERPETUAL, FIRST_PERPETUAL + 1, ALL_MARKETS] {
            for kind in [Kind::Depth, Kind::Trade, Kind::Ticker] {
                enter(Topic::of_market(kind, market), Form::Numbered);
            }
            for interval in 0..SPOT_INTERVALS.len() {
                enter(Topic::of_candles(market, interval), Form::Channel);
            }
            for kind in Kind::ALL.iter().copied().filter(|kind| kind.is_of_perpetuals()) {
                for detail in [0, 1, 2] {
                    enter(Topic { kind, id: market, detail }, Form::Stream);
                }
            }
        }
        for account in 1..=20 {
            for kind in [Kind::UserOrders, Kind::UserBalances] {
                enter(Topic::of_account(kind, account), Form::Channel);
            }
            for kind in [Kind::UserData, Kind::AccountOrders, Kind::AccountPositions, Kind::AccountBalances] {
                enter(Topic::of_account(kind, account), Form::Stream);
            }
        }
    }

    /// Shows the events of a command; what is pushed.
    fn show(&mut self, events: &[Event]) -> Vec<String> {
        let end = events.last().unwrap();
        self.gate.publish_written(end.sequence);
        self.gate.publish_durable(end.sequence);
        let mut sent = 0;
        while sent < events.len() || self.views.read().sequence() < end.sequence {
            sent += self.output.try_publish_batch(&events[sent..]);
            self.egress.do_work();
        }
        self.clock.turn(37);
        self.egress.do_work();
        let mut pushes = Vec::new();
        while let Some(batch) = self.registry.ports[0].take() {
            pushes.extend(batch.pushes.iter().map(|push| format!("{push:?}")));
        }
        pushes
    }
}

/// The same commands to both; how many pushes that were.
fn check(commands: impl Iterator<Item = Command>, mut observe: impl FnMut(&[Event])) -> usize {
    let mut engine = Engine::new(&EngineConfig::default());
    // The one is done with each command before the next begins; of the other's the first few of each are behind those before.
    let (mut whole, mut pieces) = (Shown::new(1 << 16), Shown::new(4));
    whole.listen();
    pieces.listen();
    let (mut count, mut longest) = (0, 0);
    for command in commands {
        let sequence = engine.sequence() + 1;
        let command = Command { sequence, time_ns: command.time_ns.max(engine.time_ns()), ..command };
        let mut events: Vec<Event> = Vec::new();
        engine.apply(&command, &mut events);
        observe(&events);
        longest = longest.max(events.len());
        let (expected, found) = (whole.show(&events), pieces.show(&events));
        for (expected, found) in expected.iter().zip(&found) {
            assert_eq!(expected, found, "{command:?}");
        }
        assert_eq!(expected.len(), found.len(), "{command:?}");
        count += found.len();
    }
    assert!(longest > 12, "no command of more than {longest} events");
    assert_eq!(saved(&whole.views.read()), saved(&pieces.views.read()));
    assert_eq!(format!("{:?}", whole.figures.commands), format!("{:?}", pieces.figures.commands));
    let trades = [&whole, &pieces]
        .map(|shown| (shown.figures.perpetual_trades.get(), shown.figures.spot_trades.get()));
    assert_eq!(trades[0], trades[1]);
    let liquidations = [&whole, &pieces].map(|shown| format!("{:?}", shown.figures.liquidations));
    assert_eq!(liquidations[0], liquidations[1]);
    count
}

#[test]
fn commands_of_the_perpetual_side_are_told_the_same_in_pieces() {
    for seed in 1..=3 {
        let flow = std::cell::RefCell::new(Flow::new(seed));
        let random = (0..4_000).map(|_| flow.borrow_mut().command());
        let state = PerpetualState::Closed as u8;
        let close = Command::new(SetPerpetualState { market: FIRST_PERPETUAL, state, reserved: [0; 3] });
        let count = check(random.chain([close]), |events| flow.borrow_mut().observe(events));
        assert!(count > 10_000, "{count} pushes");
    }
}

#[test]
fn commands_of_the_spot_side_are_told_the_same_in_pieces() {
    let mut random = Random::new(7);
    let opened = [list_market(("DFUSDT", "DF", "USDT"))].into_iter().chain((1..=9).flat_map(|account| {
        ["DF", "USDT"].map(|asset| credit(account, asset, 1_000_000_000_000_000_000_000_000))
    }));
    let orders = (0..4_000).map(|place| {
        let account = 1 + random.below(9) as u32;
        let price = 20_000_000 + (random.below(40) as i64) * 10_000;
        let quantity = 1_000_000_000 * (1 + random.below(60) as i64);
        let command = match place % 100 {
            0 => Command::new(CancelAll { account, market: ALL_MARKETS }),
            _ => Command::new(any_order(&mut random, account, 0, price, quantity)),
        };
        Command { time_ns: place * 50_000_000, ..command }
    });
    let count = check(opened.chain(orders), |_| ());
    assert!(count > 10_000, "{count} pushes");
}

#[test]
fn a_balance_that_one_command_changes_again_after_somebody_elses_is_told_once() {
    let of = (1, [5; 20]);
    let request = |account| {
        Command::new(RequestWithdrawal {
            account,
            ledger: Ledger::Spot as u8,
            reserved: [0; 3],
            amount: 1_000_000_000_000_000_000.into(),
            chain_id: of.0,
            vault: of.1,
            token: [6; 20],
            asset: padded("DF").unwrap(),
            reserved_2: [0; 6],
            lifetime_s: 60,
            reserved_3: 0,
            vault_name: padded("SpotVault").unwrap(),
            idempotency_key: 0,
            idempotency_body: 0,
        })
    };
    let advance = |block, time_s| {
        let (chain_id, vault) = of;
        Command::new(AdvanceChain { chain_id, vault, reserved: 0, block, hash: [block as u8; 32], time_s })
    };
    let commands = [list_market(("DFUSDT", "DF", "USDT"))]
        .into_iter()
        .chain([1, 2].map(|account| credit(account, "DF", 10_000_000_000_000_000_000)))
        .chain([advance(1, 1), request(1), request(2), request(1), advance(2, 10_000)]);
    let mut engine = Engine::new(&EngineConfig::default());
    let mut shown = Shown::new(1 << 10);
    shown.listen();
    let (mut told, mut changes) = (Vec::new(), 0);
    for command in commands {
        let mut events: Vec<Event> = Vec::new();
        engine.apply(&Command { sequence: engine.sequence() + 1, ..command }, &mut events);
        changes = events.iter().filter(|event| event.get::<Balances>().is_some()).count();
        let pushes = shown.show(&events);
        told = pushes.into_iter().filter(|push| push.contains("UserBalances")).collect();
    }
    assert_eq!(changes, 3, "one of each that ran out");
    assert_eq!(told.len(), 2, "{told:#?}");
}
