//! The n-th file operation fails, for every n; syncs that lie; a disk that fills up and empties again. After the first
//! error nothing is acknowledged, and what was acknowledged before comes back (failure model, rows 5 and 7).

use crate::common::{
    Count, Ledger, Session, for_each_case, for_each_seed, random_command, recover_ledger, small_config,
};
use ringside_core::agent::Agent;
use ringside_core::ids::Sequence;
use ringside_persist::config::PersistConfig;
use ringside_persist::error::PersistError;
use ringside_persist::recover::follower::Follower;
use ringside_persist::storage::faulty::{Faulty, Plan, Random};
use ringside_persist::write::status::Pressure;
use std::sync::Arc;
use std::time::Duration;

/// What a run of the script left behind.
struct Outcome {
    truth: Vec<u64>,
    acknowledged: Sequence,
    /// The journal failed, or never started.
    is_stopped: bool,
}

/// Recovers, journals a few hundred commands over several segments with a follower that takes snapshots, recovers
/// again and goes on. The same calls every time, as long as none fails.
fn script(disk: &Faulty, config: &PersistConfig, seed: u64) -> Outcome {
    let mut random = Random::new(seed);
    let mut outcome = Outcome { truth: vec![0], acknowledged: 0, is_stopped: false };
    for _ in 0..2 {
        let recovered = match recover_ledger(Arc::new(disk.clone()), config, &mut Count::default()) {
            Ok(recovered) => recovered,
            Err(_) => {
                outcome.is_stopped = true;
                return outcome;
            }
        };
        outcome.acknowledged = outcome.acknowledged.max(recovered.next_sequence - 1);
        fill_in(&mut outcome.truth, &recovered.engine);
        let mut session = Session::of(recovered).unwrap();
        let status = session.journaller.status();
        let storage = Arc::new(disk.clone());
        let follower =
            Follower::<Ledger, Count>::new(storage, config, &(), Count::default(), status.clone(), &[]);
        let mut follower = follower.ok();
        for _ in 0..24 {
            for _ in 0..1 + random.below(50) {
                session.publish(random_command(&mut random), &mut outcome.truth);
            }
            session.settle();
            if let Some(follower) = &mut follower {
                while follower.do_work() > 0 {}
            }
            let durable = session.gate.durable();
            if status.is_failed() {
                // Final: whatever comes, nothing more is acknowledged.
                assert!(session.gate.is_halted(), "the gate goes on after an error");
                assert!(session.producer.is_halted(), "the matcher is not told");
                session.publish(random_command(&mut random), &mut outcome.truth);
                session.settle();
                session.journaller.close();
                assert_eq!(session.gate.durable(), durable, "acknowledged after an error");
                assert!(matches!(status.take_failure(), Some(PersistError::Io { .. })));
                outcome.acknowledged = outcome.acknowledged.max(durable);
                outcome.is_stopped = true;
                return outcome;
            }
            outcome.acknowledged = outcome.acknowledged.max(durable);
        }
        session.journaller.close();
        outcome.acknowledged = outcome.acknowledged.max(session.gate.durable());
        if let Some(follower) = &mut follower {
            follower.close();
            if let Some(error) = follower.status().take_failure() {
                assert!(matches!(error, PersistError::Io { .. }), "the follower stopped: {error}");
            }
        }
    }
    outcome
}

/// Takes up the commands that recovery itself gave.
fn fill_in(truth: &mut Vec<u64>, engine: &Ledger) {
    for opening in &engine.openings {
        let at = opening.sequence as usize;
        if at > truth.len() {
            continue;
        }
        let hash = Ledger::next_hash(truth[at - 1], opening);
        if truth.get(at) != Some(&hash) {
            truth.truncate(at);
            truth.push(hash);
        }
    }
}

/// Recovers on a disk that works again and compares.
fn compare(disk: &Faulty, config: &PersistConfig, outcome: &Outcome, when: &str) {
    let mut count = Count::default();
    let recovered = recover_ledger(Arc::new(disk.clone()), config, &mut count);
    let recovered = recovered.unwrap_or_else(|error| panic!("{when}: {error}"));
    let last = recovered.report.last;
    let mut truth = outcome.truth.clone();
    fill_in(&mut truth, &recovered.engine);
    assert!(
        last >= outcome.acknowledged,
        "{when}: {} were acknowledged, {last} came back",
        outcome.acknowledged
    );
    assert_eq!(
        Some(&recovered.engine.hash()),
        truth.get(last as usize + 1),
        "{when}: other commands came back"
    );
    assert_eq!(count.events, last + 1, "{when}: the views miss events");
}

fn script_config(seed: u64) -> PersistConfig {
    let mut random = Random::new(seed);
    PersistConfig {
        segment_len: 16 << 10,
        idle_seal: Duration::ZERO,
        snapshot_commands: 150,
        snapshots_kept: 2,
        ..small_config(&mut random)
    }
}

#[test]
fn the_nth_operation_fails_for_every_n() {
    const LEAST: u64 = 2_000;
    // Scripts of different seeds, with and without durable writes, until there are enough operations to fail.
    let mut cases: Vec<(u64, u64)> = Vec::new();
    for seed in 0.. {
        let disk = new_disk(seed);
        let outcome = script(&disk, &script_config(seed), seed);
        assert!(!outcome.is_stopped, "nothing fails by itself");
        cases.extend((1..=disk.calls()).map(|call| (seed, call)));
        if cases.len() as u64 >= LEAST && seed > 0 {
            break;
        }
    }
    let count = cases.len() as u64;
    for_each_case("faults::the_nth_operation_fails_for_every_n", count, |case| {
        let (seed, call) = cases[case as usize];
        let config = script_config(seed);
        let disk = new_disk(seed);
        disk.plan(Plan { fail_at: Some(call), ..Plan::default() });
        let outcome = script(&disk, &config, seed);
        compare(&disk.process_end(), &config, &outcome, &format!("call {call} failed, then a new process"));
        let cut = disk.power_cut(case);
        compare(&cut, &config, &outcome, &format!("call {call} failed, then the power went"));
    });
}

fn new_disk(seed: u64) -> Faulty {
    let disk = Faulty::new(seed);
    if seed.is_multiple_of(2) { disk } else { disk.with_durable_writes() }
}

/// A disk that said yes and did not write: not promised to be survived, but promised to be noticed once anything
/// later vouches for what is missing. Nothing acknowledged is ever missing without a word.
#[test]
fn a_sync_that_lies_is_noticed() {
    for_each_seed("faults::a_sync_that_lies_is_noticed", 2_000, |seed| {
        let mut random = Random::new(seed);
        let config = script_config(seed);
        let disk = new_disk(seed);
        let mut truth = vec![0; 2];
        let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
        truth[1] = session.hash;
        let lie_at = disk.calls() + 1 + random.below(120);
        disk.plan(Plan { lie_at: Some(lie_at), ..Plan::default() });
        let mut after = 0;
        while after < 3 {
            for _ in 0..1 + random.below(20) {
                session.publish(random_command(&mut random), &mut truth);
            }
            session.settle();
            after += u32::from(disk.calls() > lie_at);
        }
        let acknowledged = session.gate.durable();
        match recover_ledger(Arc::new(disk.power_cut(seed)), &config, &mut ()) {
            Ok(recovered) => {
                let last = recovered.report.last;
                assert!(
                    last >= acknowledged,
                    "{acknowledged} were acknowledged, {last} came back, without a word"
                );
                let opening = recovered.engine.openings.last().unwrap();
                let expected = Ledger::next_hash(truth[last as usize], opening);
                assert_eq!(recovered.engine.hash(), expected);
            }
            Err(
                PersistError::Rot { .. } | PersistError::SegmentHeader { .. } | PersistError::Missing { .. },
            ) => {}
            Err(error) => panic!("{error}"),
        }
    });
}

#[test]
fn a_full_disk_takes_cancels_then_nothing_then_everything_again() {
    for_each_seed("faults::a_full_disk_takes_cancels_then_nothing_then_everything_again", 200, |seed| {
        let mut random = Random::new(seed);
        let config = PersistConfig { segment_len: 32 << 10, batch_len: 8 << 10, ..script_config(seed) };
        let disk = new_disk(seed);
        let mut truth = vec![0; 2];
        let mut session = Session::open(Arc::new(disk.clone()), &config).unwrap();
        truth[1] = session.hash;
        let status = session.journaller.status();
        for _ in 0..random.below(200) {
            session.publish(random_command(&mut random), &mut truth);
        }
        session.settle();
        // Full from here on: not one more segment.
        disk.plan(Plan { capacity: Some(0), ..Plan::default() });
        let mut seen = vec![Pressure::None];
        for _ in 0..2_000 {
            let pressure = status.pressure();
            if seen.last() != Some(&pressure) {
                seen.push(pressure);
            }
            if pressure == Pressure::Full {
                break;
            }
            session.publish(random_command(&mut random), &mut truth);
            session.settle();
            assert_eq!(session.gate.durable(), session.next - 1, "what is let in is acknowledged");
        }
        assert_eq!(seen, [Pressure::None, Pressure::CancelsOnly, Pressure::Full]);
        // What is still in the rings waits, however much it is, and no error arises from it.
        for _ in 0..250 {
            session.publish(random_command(&mut random), &mut truth);
            session.journaller.do_work();
        }
        session.settle();
        assert!(!status.is_failed() && !session.gate.is_halted());
        disk.plan(Plan::default());
        session.settle();
        assert_eq!(session.gate.durable(), session.next - 1, "resumes by itself");
        assert_eq!(status.pressure(), Pressure::None);
        let recovered = recover_ledger(Arc::new(disk.power_cut(seed)), &config, &mut ()).unwrap();
        assert_eq!(recovered.report.last, session.next - 1);
    });
}
