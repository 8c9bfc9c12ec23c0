//! What nodes leave out, take back or are slow to say, and what the vault itself is: nothing is concluded from an absence, every
//! stop has a way out, and what is signed would be paid (C-41 to C-44).

use crate::histories::{Rig, policy};
use crate::random::{Rerun, seeds};
use crate::signer::{Folder, sign};
use crate::world::{Mood, SIGNER, VAULT_NAME};
use ringside_chain::Stop;
use ringside_chain::watcher::{Turn, TurnError};
use ringside_commands::clock::Clock;
use ringside_core::command::{WithdrawalStatus, pause};

const UNITS: u128 = 1_000_000_000_000_000_000;
const ALICE: [u8; 20] = [0xa1; 20];

pub(crate) fn clock() -> Clock {
    Clock::manual(1_700_000_000_000)
}

pub(crate) fn mine(rig: &Rig, blocks: u64) {
    (0..blocks).for_each(|_| rig.world.borrow_mut().mine(1, false));
}

pub(crate) fn moods(rig: &Rig, mood: Mood) {
    rig.moods.iter().for_each(|own| own.set(mood));
}

/// C-41. Both nodes have no events of a block when they are asked for the first time. A withdrawal that was paid does not expire, a
/// deposit is credited, and nobody is paused for it.
#[test]
fn an_absence_that_was_told_once_is_none() {
    let folder = Folder::new("absences");
    for seed in seeds(300) {
        let _rerun = Rerun("chain absences::an_absence", seed);
        let mut rig = Rig::new(seed, 3, None, 2);
        let mut signer = folder.signer("log", policy(), clock());
        rig.turn();
        moods(&rig, Mood::ForgetsAtFirst);
        let mut paid = 0;
        for _ in 0..6 {
            rig.bring();
            if let Some(submission) = rig.request(&mut signer) {
                rig.remember(&mut signer);
                rig.world.borrow_mut().pool.push(submission);
                paid += 1;
            }
            mine(&rig, 1 + seed % 5);
            rig.turn();
        }
        // Past every deadline: what was not seen would be given back now.
        rig.world.borrow_mut().mine(crate::ledger::LIFETIME_S + 10, false);
        mine(&rig, 4);
        rig.follow();
        mine(&rig, 1);
        rig.follow();
        let confirmed = |rig: &Rig| {
            let venue = rig.venue.borrow();
            venue.withdrawals().filter(|one| one.status == WithdrawalStatus::Confirmed).count()
        };
        assert_eq!((confirmed(&rig), rig.venue.borrow().paused()), (paid, 0));
        rig.end();
        drop(signer);
        folder.remove("log");
    }
}

/// The same where they go on leaving out: nothing is concluded, withdrawals are paused, and it goes on once they say the truth. A
/// deposit that comes without those before it is seen at once.
#[test]
fn a_gap_is_always_seen() {
    for seed in seeds(300) {
        let _rerun = Rerun("chain absences::a_gap", seed);
        let mut rig = Rig::new(seed, 3, None, 2);
        mine(&rig, 5);
        rig.follow();
        let before = rig.venue.borrow().cursor();
        moods(&rig, Mood::LeavesOut);
        (0..=rig.below(3)).for_each(|_| rig.bring());
        mine(&rig, 6);
        let mut faults = Vec::new();
        for _ in 0..4 {
            faults.extend(rig.look().err());
            mine(&rig, 1);
        }
        let is_of_counters = |fault: &TurnError| matches!(fault, TurnError::Counters { .. });
        assert!(faults.iter().any(is_of_counters), "{faults:?}");
        assert_eq!(rig.venue.borrow().paused(), pause::CHAIN);
        assert!(
            rig.venue.borrow().cursor().map(|at| at.block) <= before.map(|at| at.block + 1),
            "{before:?}"
        );
        // A number that comes after one that was left out.
        if seed % 2 == 0 {
            let hidden = rig.world.borrow().head().number;
            rig.bring();
            mine(&rig, 1);
            let shown = rig.world.borrow().head().number;
            assert!(shown > hidden);
        }
        moods(&rig, Mood::Honest);
        rig.follow();
        rig.end();
    }
}

/// C-42. Final blocks are replaced: it says so and what is kept, stops, and goes on where operators decide it; over restarts too. No
/// deposit is credited twice, whether it is mined again or not, and no withdrawal is paid twice.
#[test]
fn what_was_final_and_is_not_is_taken_back_by_decision_alone() {
    let folder = Folder::new("deep");
    let (mut undone, mut claims) = (0, 0);
    for seed in seeds(2_000) {
        let _rerun = Rerun("chain absences::what_was_final", seed);
        let mut rig = Rig::new(seed, 2, None, 2);
        let mut signer = folder.signer("log", policy(), clock());
        for _ in 0..3 + rig.below(6) {
            rig.bring();
            if let Some(submission) = rig.request(&mut signer) {
                rig.remember(&mut signer);
                rig.world.borrow_mut().pool.push(submission);
            }
            let blocks = 1 + rig.below(4);
            mine(&rig, blocks);
            rig.turn();
        }
        rig.follow();
        let before = (rig.venue.borrow().deposits(), rig.venue.borrow().cursor());
        let depth = 3 + rig.below(15);
        rig.deep(depth);
        let blocks = rig.below(8);
        mine(&rig, blocks + 4);
        let mut told = rig.look();
        if rig.below(2) == 0 {
            rig.crash();
            told = rig.look();
        }
        if rig.venue.borrow().replaced.is_none() {
            // It reached nothing that was final, or nothing final is known yet.
            rig.follow();
            rig.end();
        } else {
            assert!(matches!(told, Err(TurnError::FinalReplaced(_))), "{told:?}");
            for _ in 0..5 {
                mine(&rig, 1);
                assert!(!rig.turn(), "it does not go on by itself");
            }
            assert_eq!(rig.venue.borrow().paused(), pause::CHAIN);
            assert_eq!((rig.venue.borrow().deposits(), rig.venue.borrow().cursor()), before);
            let kept = rig.venue.borrow().replaced.unwrap().kept;
            assert!(kept.block < before.1.unwrap().block);
            rig.venue.borrow_mut().agrees = true;
            rig.follow();
            undone += 1;
            // What was not mined again is in nobody's pocket twice when it is.
            claims += u64::from(rig.venue.borrow().claim(&ALICE) > 0);
            rig.venue.borrow_mut().agrees = false;
            assert!(rig.venue.borrow().replaced.is_none());
            rig.end();
        }
        drop(signer);
        folder.remove("log");
    }
    assert!(
        std::env::var_os("RINGSIDE_SEED").is_some() || (undone > 200 && claims > 10),
        "{undone}, {claims}"
    );
}

/// C-43. Sixty blocks behind, with nodes that answer few questions at a time, or nothing now and then: slower, and done.
#[test]
fn slow_nodes_are_caught_up_with() {
    for mood in
        [Mood::Throttles(10), Mood::Throttles(14), Mood::Stutters(20), Mood::Stutters(40), Mood::Honest]
    {
        let mut rig = Rig::new(11, 3, None, 2);
        for _ in 0..20 {
            rig.bring();
            mine(&rig, 3);
        }
        moods(&rig, mood);
        let mut turns = 0;
        while rig.look() != Ok(Turn::Done) {
            turns += 1;
            assert!(turns < 400, "{mood:?}");
        }
        let reached = rig.venue.borrow().cursor().map(|at| at.block);
        assert_eq!((reached, rig.venue.borrow().deposits()), (Some(57), 19), "{mood:?} after {turns} turns");
        assert_eq!(rig.venue.borrow().paused(), 0, "{mood:?}");
        rig.end();
    }
}

/// Nodes that know what contracts held in their newest blocks alone, which is what most do: while catching up nothing is
/// concluded, and once there, all of it.
#[test]
fn nodes_that_forget_old_states_are_enough() {
    let mut rig = Rig::new(3, 3, None, 2);
    for _ in 0..50 {
        rig.bring();
        mine(&rig, 2);
    }
    moods(&rig, Mood::Prunes(8));
    rig.follow();
    assert_eq!(rig.venue.borrow().cursor().map(|at| at.block), Some(97));
    rig.end();
}

/// C-44. A vault that would refuse what is signed for it is seen, and said why; once it would not, withdrawals go on.
#[test]
fn a_vault_that_would_not_pay_is_seen() {
    let mut rig = Rig::new(5, 3, None, 2);
    mine(&rig, 5);
    rig.follow();
    let request = |rig: &Rig| rig.venue.borrow_mut().request(ALICE, UNITS).is_some();
    let good = rig.world.borrow().standing;
    assert!(request(&rig));
    for (standing, said) in [
        (crate::world::Standing { is_paused: true, ..good }, "the vault is paused"),
        (crate::world::Standing { is_there: false, ..good }, "there is no vault at its address"),
        (crate::world::Standing { name: "Other", ..good }, "the vault has another name than is configured"),
    ] {
        rig.world.borrow_mut().standing = standing;
        mine(&rig, 1);
        rig.follow();
        assert_eq!(rig.venue.borrow().paused(), pause::VAULT, "{said}");
        assert_eq!(rig.venue.borrow().stops, [Stop::Vault(said.to_owned())]);
        assert!(!request(&rig), "{said}");
        rig.world.borrow_mut().standing = good;
        mine(&rig, 1);
        rig.follow();
        assert_eq!(rig.venue.borrow().paused(), 0, "{said}");
        assert!(request(&rig), "{said}");
    }
    assert_eq!(good.name, VAULT_NAME);
}

/// A rotated signer: what the old one signed and nobody released is given back once the change is final, and not before; nothing is
/// taken for the new one until then.
#[test]
fn a_rotated_signers_work_is_given_back() {
    let folder = Folder::new("rotation");
    let mut rig = Rig::new(9, 4, None, 2);
    let mut signer = folder.signer("log", policy(), clock());
    mine(&rig, 6);
    rig.follow();
    let mut submissions = Vec::new();
    for value in 1..=3 {
        let release = rig.venue.borrow_mut().request(ALICE, value * UNITS).unwrap();
        sign(&mut signer, &release).unwrap();
        rig.venue.borrow_mut().record(release.withdrawal);
        submissions.push(crate::world::Submission {
            account: ALICE,
            value: release.value,
            nonce: release.key.nonce,
            deadline_s: release.deadline_s,
        });
    }
    // The first is released before the change, the others by nobody.
    rig.world.borrow_mut().pool.push(submissions[0]);
    mine(&rig, 1);
    let other = [0x52; 20];
    rig.world.borrow_mut().standing.signer = other;
    mine(&rig, 1);
    rig.follow();
    assert_eq!(rig.venue.borrow().paused(), pause::VAULT);
    // Whoever runs it starts it anew for the new signer.
    rig.crash();
    rig.config.signer = Some(other);
    rig.follow();
    let said = [Stop::Vault("the vault's new signer is not final yet".to_owned())];
    assert_eq!((&*rig.venue.borrow().stops, rig.venue.borrow().open_count()), (&said[..], 3));
    mine(&rig, 4);
    rig.follow();
    assert_eq!((rig.venue.borrow().open_count(), rig.venue.borrow().paused()), (0, 0));
    let statuses: Vec<_> = rig.venue.borrow().withdrawals().map(|one| one.status).collect();
    use WithdrawalStatus::{Confirmed, Expired};
    assert_eq!(statuses, [Confirmed, Expired, Expired]);
    let next = rig.venue.borrow_mut().request(ALICE, UNITS).unwrap();
    assert_eq!(next.key.nonce, 1);
    assert_ne!(SIGNER, other);
    rig.end();
}
