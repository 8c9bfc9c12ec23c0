//! A warm engine takes no memory on the perpetual side either: 100,000 commands after 240,000, over more than a month of
//! engine time, so that fee windows and funding have gone round; in them orders of every type, matches, cancels,
//! modifications, moves of the mark, funding, and liquidations by book, fund and counterparties.

use crate::flow::Flow;
use ringside_core::command::{Command, Kind};
use ringside_core::event::{self, Event, LiquidationStep};
use ringside_core::hash_seed::HashSeed;
use ringside_core::memory::Pages;
use ringside_core::{Engine, EngineConfig};
use std::collections::BTreeMap;

const WARM: usize = 240_000;
const MEASURED: usize = 100_000;

fn engine() -> Engine {
    Engine::new(&EngineConfig {
        orders: 8_192,
        accounts: 1_024,
        idempotency_keys: 1 << 12,
        pages: Pages::Small,
        hash_seed: HashSeed::default(),
    })
}

/// The commands of a seed, and how often the measured ones came to each kind of event and step of a liquidation.
fn record(seed: u64) -> (Vec<Command>, BTreeMap<u16, u64>, BTreeMap<u8, u64>) {
    let (mut engine, mut flow) = (engine(), Flow::new(seed));
    let (mut kinds, mut steps) = (BTreeMap::new(), BTreeMap::new());
    let mut events: Vec<Event> = Vec::new();
    let commands = (0..WARM + MEASURED).map(|number| {
        let command = flow.command();
        events.clear();
        engine.apply(&command, &mut events);
        flow.observe(&events);
        if number >= WARM {
            for event in &events {
                *kinds.entry(event.kind).or_default() += 1;
                if let Some(step) = event.get::<event::Liquidation>() {
                    *steps.entry(step.step).or_default() += 1;
                }
            }
        }
        command
    });
    let commands = commands.collect();
    (commands, kinds, steps)
}

/// Names the first command that took memory, and how many did.
fn judge(seed: u64) {
    let (commands, kinds, steps) = record(seed);
    let days = (commands.last().unwrap().time_ns - commands[0].time_ns) / 86_400_000_000_000;
    assert!(days > 40, "only {days} days pass");
    for kind in [
        event::Kind::PerpetualTrade,
        event::Kind::PerpetualAmended,
        event::Kind::FundingSettled,
        event::Kind::PreventedMatch,
        event::Kind::TriggerDeferred,
        event::Kind::VipChanged,
    ] {
        assert!(kinds.contains_key(&(kind as u16)), "nothing measured came to {kind:?}");
    }
    for step in [LiquidationStep::Book, LiquidationStep::Fund, LiquidationStep::Adl, LiquidationStep::End] {
        assert!(steps.contains_key(&(step as u8)), "no liquidation measured came to {step:?}");
    }
    let mut engine = engine();
    commands[..WARM].iter().for_each(|command| engine.apply(command, &mut ()));
    let mut faults: Vec<(u64, Option<Kind>, u64)> = Vec::with_capacity(MEASURED);
    let before = crate::counting::bytes_taken();
    for command in &commands[WARM..] {
        let start = crate::counting::bytes_taken();
        engine.apply(command, &mut ());
        let taken = crate::counting::bytes_taken() - start;
        if taken != 0 {
            faults.push((command.sequence, Kind::from_code(command.kind), taken));
        }
    }
    let taken = crate::counting::bytes_taken() - before;
    engine.check_invariants().unwrap();
    let first = &faults[..faults.len().min(20)];
    assert_eq!(taken, 0, "seed {seed}: {} of {MEASURED} commands took memory: {first:?}", faults.len());
}

#[test]
fn a_warm_engine_takes_no_memory_for_perpetual_commands() {
    // Two funds: one that takes positions over, one that is soon empty.
    for seed in [31, 14] {
        judge(seed);
    }
}
