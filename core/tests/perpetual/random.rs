//! Random commands on two perpetual markets: every invariant holds after each, by the state and by the events alone, snapshots go on alike, and the
//! thresholds find exactly the scopes that a test of every position finds. `risk.md` 21, property 1.

use crate::support::perpetual::flow::Flow;
use crate::support::seeds;
use ringside_core::audit::Auditor;
use ringside_core::event::{self, Event};
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn invariants_hold_snapshots_go_on_and_thresholds_find_what_a_scan_finds() {
    let seeds = seeds::seeds(16);
    let steps: u64 = std::env::var("STEPS").map_or(4_000, |steps| steps.parse().unwrap());
    let config = EngineConfig { orders: 64, accounts: 16, idempotency_keys: 16, ..EngineConfig::default() };
    let (mut rejects, mut kinds, mut liquidation): (BTreeMap<u16, u32>, BTreeSet<u16>, BTreeMap<u8, u32>) =
        Default::default();
    for seed in seeds {
        eprintln!("SEED={seed} cargo test -p ringside-core --test perpetual random");
        let mut flow = Flow::new(seed);
        let mut engine = Engine::new(&config);
        let mut scanning = Engine::new(&config);
        let mut auditor = Auditor::new(&engine);
        for sequence in 1..=steps {
            let command = flow.command();
            let (mut events, mut others): (Vec<Event>, Vec<Event>) = Default::default();
            engine.apply(&command, &mut events);
            scanning.apply(&command, &mut others);
            scanning.test_every_position();
            assert_eq!(events, others, "a scan finds something else after {command:?}");
            if let Err(fault) = engine.check_invariants() {
                panic!("seed {seed}: {fault}\nafter {command:?}\n{events:#?}");
            }
            events.iter().for_each(|event| auditor.event(event));
            if let Some(fault) = auditor.fault() {
                panic!("seed {seed}: {fault:?}\nafter {command:?}\n{events:#?}");
            }
            let done = *events.last().unwrap().get::<event::Done>().unwrap();
            *rejects.entry(done.reject).or_default() += 1;
            flow.observe(&events);
            for event in &events {
                kinds.insert(event.kind);
                if let Some(step) = event.get::<event::Liquidation>() {
                    *liquidation.entry(step.step).or_default() += 1;
                }
            }
            if sequence % 97 == 0 {
                let mut bytes = Vec::new();
                engine.save(&mut bytes);
                let loaded =
                    Engine::load(&config, &bytes).unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
                assert_eq!(loaded.state_hash(), engine.state_hash(), "seed {seed} at {sequence}");
                engine = loaded;
                // The books of an auditor that begins here are those of the one that saw it all.
                let fresh = Auditor::new(&engine);
                assert_eq!((fresh.balance(), fresh.fault()), (auditor.balance(), None));
                assert_eq!(fresh.balance().held(), fresh.balance().deposits);
                if sequence % 194 == 0 {
                    auditor = fresh;
                }
            }
        }
        assert_eq!(engine.state_hash(), scanning.state_hash());
    }
    eprintln!("{rejects:?}\n{kinds:?}\n{liquidation:?}");
    if !seeds::is_rerun() {
        let met = |reject: Reject| rejects.contains_key(&reject.code());
        for reject in [
            Reject::InsufficientMargin,
            Reject::ReduceOnlyRefused,
            Reject::ImmediateTrigger,
            Reject::PostOnlyWouldCross,
            Reject::FillOrKill,
            Reject::NoPriceMatch,
            Reject::ExceedsBracket,
            Reject::DuplicateClientOrder,
        ] {
            assert!(met(reject), "never met {reject:?}");
        }
        // A wallet below zero without position, which a fee may leave, is too rare to wait for.
        for step in event::LiquidationStep::ALL.iter().filter(|&&step| step != event::LiquidationStep::Clear)
        {
            assert!(liquidation.contains_key(&(*step as u8)), "no liquidation came to {step:?}");
        }
    }
}
