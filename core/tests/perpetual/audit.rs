//! The auditor finds what it is there for: a stream that adds up passes, and the same stream with any one number changed or
//! any one event left out does not.

use crate::support::perpetual::Venue;
use crate::support::perpetual::flow::Flow;
use ringside_core::audit::Auditor;
use ringside_core::command::{
    ActivateRule, Command, PerpetualParameter, PerpetualState, SetPerpetualParameter, SetPerpetualState, rule,
};
use ringside_core::event::{self, Event, Kind, PostingReason, TradeCause};
use ringside_core::ids::FIRST_PERPETUAL;
use ringside_core::{Engine, EngineConfig};
use std::collections::BTreeMap;

/// The engine before the stream, and all of its events. The first market is settled at the end.
fn record(seed: u64) -> Vec<Event> {
    let (mut engine, mut flow, mut events) =
        (Engine::new(&EngineConfig::default()), Flow::new(seed), Vec::new());
    for number in 0..6_000 {
        let mut command = flow.command();
        if number == 5_999 {
            let state = PerpetualState::Closed as u8;
            let close = Command::new(SetPerpetualState { market: FIRST_PERPETUAL, state, reserved: [0; 3] });
            command = Command { sequence: command.sequence, time_ns: command.time_ns, ..close };
        }
        let start = events.len();
        engine.apply(&command, &mut events);
        flow.observe(&events[start..]);
    }
    events
}

fn audit<'a>(events: impl Iterator<Item = &'a Event>) -> Option<String> {
    let mut auditor = Auditor::new(&Engine::new(&EngineConfig::default()));
    events.for_each(|event| auditor.event(event));
    auditor.fault().map(|(_, fault)| fault.clone())
}

/// The same event with one number changed, in every way that matters.
fn changed(event: &Event) -> Vec<(&'static str, Event)> {
    fn with<P: event::Payload + Copy>(event: &Event, change: impl Fn(&mut P)) -> Event {
        let mut payload = *event.get::<P>().unwrap();
        change(&mut payload);
        Event::new(event.sequence, event.time_ns, event.index, payload)
    }
    type Trade = event::PerpetualTrade;
    type Position = event::PerpetualPosition;
    match Kind::from_code(event.kind).unwrap() {
        Kind::PerpetualTrade if event.get::<Trade>().unwrap().cause <= TradeCause::Liquidation as u8 => vec![
            ("a quantity", with(event, |trade: &mut Trade| trade.quantity += 100_000)),
            ("a maker's fee", with(event, |trade: &mut Trade| trade.maker_fee += 1)),
            ("a taker's fee", with(event, |trade: &mut Trade| trade.taker_fee += 1)),
            ("a maker's profit", with(event, |trade: &mut Trade| trade.maker_realised -= 1)),
            ("a taker's profit", with(event, |trade: &mut Trade| trade.taker_realised += 1)),
            ("a value", with(event, |trade: &mut Trade| trade.value += 1)),
            ("a side", with(event, |trade: &mut Trade| trade.taker_side ^= 1)),
            ("an order", with(event, |trade: &mut Trade| trade.maker_order = trade.taker_order)),
        ],
        Kind::PerpetualTrade if event.get::<Trade>().unwrap().cause == TradeCause::Settlement as u8 => vec![
            ("a quantity that is settled", with(event, |trade: &mut Trade| trade.quantity -= 100_000)),
            ("a profit of a settlement", with(event, |trade: &mut Trade| trade.taker_realised += 1)),
            ("a value of a settlement", with(event, |trade: &mut Trade| trade.value += 1)),
            ("a price of a settlement", with(event, |trade: &mut Trade| trade.price += 1_000_000)),
            ("who is settled", with(event, |trade: &mut Trade| trade.taker_account = 9_999)),
        ],
        Kind::PerpetualTrade => vec![
            ("a quantity that moved", with(event, |trade: &mut Trade| trade.quantity += 100_000)),
            ("a profit of a takeover", with(event, |trade: &mut Trade| trade.taker_realised += 1)),
            ("a profit of a counterparty", with(event, |trade: &mut Trade| trade.maker_realised -= 1)),
            ("a direction", with(event, |trade: &mut Trade| trade.taker_side ^= 1)),
            ("a value that moved", with(event, |trade: &mut Trade| trade.value += 1)),
            ("a cause", with(event, |trade: &mut Trade| trade.cause = TradeCause::Book as u8)),
            // I-13: somebody without a position there.
            ("a counterparty", with(event, |trade: &mut Trade| trade.maker_account = 9_999)),
        ],
        Kind::PerpetualPosition => vec![
            ("a position", with(event, |position: &mut Position| position.quantity += 100_000)),
            ("a cost", with(event, |position: &mut Position| position.cost += 1)),
            ("an isolated wallet", with(event, |position: &mut Position| position.isolated_wallet += 1)),
        ],
        Kind::PerpetualWallet => {
            vec![("a wallet", with(event, |wallet: &mut event::PerpetualWallet| wallet.wallet += 1))]
        }
        Kind::PerpetualPools => vec![
            ("FEE", with(event, |pools: &mut event::PerpetualPools| pools.fees += 1)),
            ("REF", with(event, |pools: &mut event::PerpetualPools| pools.affiliates -= 1)),
            ("DEP", with(event, |pools: &mut event::PerpetualPools| pools.deposits += 1)),
        ],
        // A move between two wallets of one account changes neither its sum nor anything told here.
        Kind::Posting
            if event.get::<event::Posting>().unwrap().reason == PostingReason::IsolatedMargin as u8 =>
        {
            vec![]
        }
        Kind::Posting => vec![("a posting", with(event, |posting: &mut event::Posting| posting.amount += 1))],
        Kind::FundingSettled => vec![(
            "a count of positions",
            with(event, |settled: &mut event::FundingSettled| settled.positions += 1),
        )],
        Kind::PerpetualOrder => {
            let told: event::PerpetualOrder = *event.get().unwrap();
            let is_new = told.execution == event::Execution::New as u8;
            vec![(
                if is_new { "a new order that traded" } else { "what an order traded" },
                with(event, |order: &mut event::PerpetualOrder| order.filled += 100_000),
            )]
        }
        _ => vec![],
    }
}

#[test]
fn whatever_is_changed_is_found() {
    let mut found: BTreeMap<&str, u32> = BTreeMap::new();
    for seed in [3, 4, 8] {
        let events = record(seed);
        assert_eq!(audit(events.iter()), None, "seed {seed} adds up");
        let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, event) in events.iter().enumerate() {
            for (what, other) in changed(event) {
                // The first few of a kind, then ever fewer.
                let count = seen.entry(what).or_default();
                *count += 1;
                if *count > 3 && !count.is_power_of_two() {
                    continue;
                }
                // What comes a thousand commands later cannot make it good.
                let until = events.partition_point(|later| later.sequence < event.sequence + 1_000);
                let stream = events[..at].iter().chain([&other]).chain(&events[at + 1..until]);
                let fault = audit(stream);
                assert!(fault.is_some(), "seed {seed}: {what} was changed unseen: {event:?}");
                *found.entry(what).or_default() += 1;
            }
        }
        // Left out, an event leaves a gap.
        let at = events.len() / 2;
        assert!(audit(events[..at].iter().chain(&events[at + 1..])).is_some());
    }
    eprintln!("{found:?}");
    assert_eq!(found.len(), 31, "not every change was tried: {found:?}");
}

/// An hour that is paid over several commands: by another mark, to another account, a micro more, twice or not at all.
#[test]
fn an_hour_that_is_paid_otherwise_is_found() {
    let mut venue = Venue::trading("60000");
    venue.ok(ActivateRule { rule: rule::WORK_MAX, value: 8 });
    for parameter in [PerpetualParameter::Interest, PerpetualParameter::Damp] {
        venue.ok(SetPerpetualParameter {
            market: FIRST_PERPETUAL,
            parameter: parameter as u32,
            value: 70_001,
        });
    }
    let maker = venue.account("1000000");
    for _ in 0..20 {
        let taker = venue.account("10000");
        venue.sell(maker, "0.003", "60000");
        venue.buy(taker, "0.003", "60000");
    }
    let mut before = Vec::new();
    let mut events: Vec<Event> = Vec::new();
    while venue.said::<event::FundingSettled>().iter().all(|settled| settled.rate == 0) {
        before.clear();
        venue.engine.save(&mut before);
        venue.tick();
    }
    events.extend(&venue.events);
    while venue.engine.has_backlog() {
        venue.tick();
        events.extend(&venue.events);
    }
    let audit = |events: &[Event]| {
        let mut auditor = Auditor::new(&Engine::load(&EngineConfig::SMALLEST, &before).unwrap());
        events.iter().for_each(|event| auditor.event(event));
        auditor.fault().map(|(_, fault)| fault.clone())
    };
    assert_eq!(audit(&events), None);
    let of = |kind: Kind| {
        let places = (0..events.len()).filter(|&at| events[at].kind == kind as u16);
        places.collect::<Vec<_>>()
    };
    let is_paid =
        |at: &&usize| events[**at].get::<event::Posting>().unwrap().reason == PostingReason::FundingFee as u8;
    assert_eq!(of(Kind::Posting).iter().filter(is_paid).count(), 21, "over several commands");
    let changed = |at: usize, change: &dyn Fn(&mut Event)| {
        let mut other = events.clone();
        change(&mut other[at]);
        assert!(audit(&other).is_some(), "changed unseen: {:?}", other[at]);
    };
    let posting = |change: fn(&mut event::Posting)| {
        move |event: &mut Event| {
            let mut posting = *event.get::<event::Posting>().unwrap();
            change(&mut posting);
            *event = Event::new(event.sequence, event.time_ns, event.index, posting);
        }
    };
    for at in of(Kind::Posting) {
        changed(at, &posting(|posting| posting.amount += 1));
        changed(at, &posting(|posting| posting.account += 1));
    }
    for at in of(Kind::FundingSettled) {
        for factor in [2, 3] {
            changed(at, &|event: &mut Event| {
                let mut settled = *event.get::<event::FundingSettled>().unwrap();
                settled.mark *= factor;
                *event = Event::new(event.sequence, event.time_ns, event.index, settled);
            });
        }
    }
}
