//! What the vault holds, as enough nodes say it of the block that is told next: equal to what is owed at that command, and believed on
//! no single voice.

use crate::absences::{clock, mine, moods};
use crate::histories::{Rig, policy};
use crate::ledger::Venue;
use crate::random::{Rerun, seeds};
use crate::signer::Folder;
use crate::world::{Mood, STOCK, TOKEN, hex};
use ringside_core::command::pause;

/// A rig whose venue wants to know, and what its ledgers owe of what no vault ever had.
fn rig(seed: u64) -> (Rig, i128) {
    let mut rig = Rig::new(seed, 3, None, 2);
    mine(&rig, 5);
    rig.follow();
    rig.venue.borrow_mut().wants_held = true;
    let unbacked = rig.venue.borrow().owed();
    (rig, unbacked)
}

fn last(venue: &Venue) -> (u64, u128) {
    *venue.held.last().expect("it was asked for")
}

/// After every final block the ledgers owe just what the vault holds as of it, beside what was credited out of nothing: neither an
/// event of the block is missing nor one behind it there.
#[test]
fn what_is_held_is_what_is_owed_at_that_block() {
    let folder = Folder::new("reserves");
    for seed in seeds(300) {
        let _rerun = Rerun("chain reserves::what_is_held", seed);
        let (mut rig, unbacked) = rig(seed);
        let mut signer = folder.signer("log", policy(), clock());
        let mut told = 0;
        for _ in 0..12 {
            rig.bring();
            if let Some(submission) = rig.request(&mut signer) {
                rig.remember(&mut signer);
                rig.world.borrow_mut().pool.push(submission);
            }
            mine(&rig, 1 + seed % 3);
            if !rig.turn() {
                continue;
            }
            let venue = rig.venue.borrow();
            let (block, held) = last(&venue);
            assert_eq!(venue.cursor().map(|at| at.block), Some(block));
            assert_eq!(held, rig.world.borrow().held(&hex(&TOKEN), block));
            assert_eq!(venue.owed() - unbacked, held as i128 - STOCK as i128, "as of block {block}");
            told += 1;
        }
        assert!(told > 6);
        drop(signer);
        folder.remove("log");
    }
}

/// A node that says less than the other: nothing is concluded, withdrawals are paused, and go on when it says the truth.
#[test]
fn one_voice_is_none() {
    let (mut rig, _) = rig(7);
    (0..3).for_each(|_| rig.bring());
    mine(&rig, 8);
    rig.follow();
    let before = rig.venue.borrow().held.len();
    rig.moods[1].set(Mood::HoldsLess(1));
    for _ in 0..4 {
        mine(&rig, 1);
        assert!(!rig.turn());
    }
    assert_eq!(rig.venue.borrow().paused(), pause::CHAIN);
    assert_eq!(rig.venue.borrow().held.len(), before);
    moods(&rig, Mood::Honest);
    rig.follow();
    assert_eq!(rig.venue.borrow().paused(), 0);
    assert!(rig.venue.borrow().held.len() > before);
}

/// Where enough nodes say that less is held, that is what is told: the proof of reserves finds it missing.
#[test]
fn what_enough_nodes_say_is_told() {
    let (mut rig, unbacked) = rig(8);
    (0..3).for_each(|_| rig.bring());
    mine(&rig, 8);
    moods(&rig, Mood::HoldsLess(5));
    rig.follow();
    let venue = rig.venue.borrow();
    assert_eq!(venue.owed() - unbacked - (last(&venue).1 as i128 - STOCK as i128), 5);
    assert_eq!(venue.paused(), 0, "nodes agree: the chain is followed");
}
