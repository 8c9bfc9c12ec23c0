//! Orders that end with a connection: armed, lost, come back to; over a snapshot, and over the death of the process.

use crate::support::perpetual::*;
use ringside_core::command::*;
use ringside_core::ids::ALL_MARKETS;
use ringside_core::reject::Reject;
use ringside_core::{Engine, EngineConfig};

fn set(account: u32, market: u32, session: u64, grace_ms: u32, act: ConnectionAct) -> SetDisconnect {
    SetDisconnect { account, market, session, grace_ms, act: act as u32 }
}

fn after(venue: &mut Venue, ms: i64) -> Vec<u64> {
    venue.time_ms += ms;
    venue.ok(AdvanceTime {});
    venue.ends().iter().map(|end| end.0).collect()
}

/// A trader with an order in each of two markets; nothing ticks by itself.
fn venue() -> (Venue, u32, [u64; 2]) {
    let mut venue = Venue { every: u64::MAX, ..Venue::trading("60000") };
    let account = venue.account("100000");
    let orders = ["50000", "51000"].map(|price| venue.buy(account, "0.001", price));
    (venue, account, orders)
}

#[test]
fn orders_end_when_the_grace_is_over_and_not_before() {
    let (mut venue, account, orders) = venue();
    venue.ok(set(account, BTC, 7, 1_000, ConnectionAct::Arm));
    assert!(after(&mut venue, 3_600_000).is_empty(), "it is connected");
    assert_eq!(venue.engine.countdown_ms(), None);
    // Another's loss is none of its business.
    venue.ok(set(account, BTC, 8, 0, ConnectionAct::Lost));
    assert!(after(&mut venue, 2_000).is_empty());
    venue.ok(set(account, 0, 7, 0, ConnectionAct::Lost));
    assert_eq!(venue.engine.countdown_ms(), Some(venue.time_ms + 1_000));
    assert!(after(&mut venue, 999).is_empty());
    assert_eq!(after(&mut venue, 1), orders);
    // Once: what is placed later stays.
    let later = venue.buy(account, "0.001", "50000");
    assert!(after(&mut venue, 100_000).is_empty());
    // With no grace, at the next tick.
    venue.ok(set(account, ALL_MARKETS, 9, 0, ConnectionAct::Arm));
    venue.ok(set(account, 0, 9, 0, ConnectionAct::Lost));
    assert_eq!(after(&mut venue, 0), [later]);
}

#[test]
fn who_comes_back_within_the_grace_keeps_the_orders() {
    let (mut venue, account, orders) = venue();
    for act in [ConnectionAct::Arm, ConnectionAct::Disarm] {
        venue.ok(set(account, BTC, 7, 1_000, ConnectionAct::Arm));
        venue.ok(set(account, 0, 7, 0, ConnectionAct::Lost));
        assert!(after(&mut venue, 900).is_empty());
        venue.ok(set(account, BTC, 8, 1_000, act));
        assert!(after(&mut venue, 60_000).is_empty(), "{act:?}");
        // The connection that it had before is known to be lost a second time: too late to matter.
        venue.ok(set(account, 0, 7, 0, ConnectionAct::Lost));
        assert!(after(&mut venue, 60_000).is_empty(), "{act:?}");
    }
    // Both markets and all of them stand by themselves.
    venue.ok(set(account, BTC, 9, 0, ConnectionAct::Arm));
    venue.ok(set(account, ALL_MARKETS, 9, 5_000, ConnectionAct::Arm));
    venue.ok(set(account, BTC, 9, 0, ConnectionAct::Disarm));
    venue.ok(set(account, 0, 9, 0, ConnectionAct::Lost));
    assert!(after(&mut venue, 4_999).is_empty());
    assert_eq!(after(&mut venue, 1), orders);
}

#[test]
fn the_death_of_the_process_is_the_loss_of_every_connection() {
    let (mut venue, account, orders) = venue();
    venue.ok(set(account, BTC, 7, 10_000, ConnectionAct::Arm));
    let mut saved = Vec::new();
    venue.engine.save(&mut saved);
    let again = Engine::load(&EngineConfig::default(), &saved).expect("it was saved");
    assert_eq!(again.state_hash(), venue.engine.state_hash());
    venue.engine = again;
    // It was down for an hour: the grace runs from its first command on.
    venue.time_ms += 3_600_000;
    venue.ok(OpenEpoch { epoch: 1, reserved: 0 });
    assert!(after(&mut venue, 9_000).is_empty());
    let mut running = Vec::new();
    venue.engine.save(&mut running);
    venue.engine = Engine::load(&EngineConfig::default(), &running).expect("it was saved");
    // And again, a second before its end: nobody could come back meanwhile.
    venue.time_ms += 3_600_000;
    venue.ok(OpenEpoch { epoch: 2, reserved: 0 });
    assert!(after(&mut venue, 9_999).is_empty());
    assert_eq!(after(&mut venue, 1), orders);
}

#[test]
fn what_cannot_be_armed_is_refused() {
    let (mut venue, account, orders) = venue();
    let refused = |venue: &mut Venue, body: SetDisconnect| venue.refused(body);
    let good = set(account, BTC, 7, 60_000, ConnectionAct::Arm);
    for (body, reject) in [
        (SetDisconnect { grace_ms: 60_001, ..good }, Reject::Malformed),
        (SetDisconnect { act: 0, ..good }, Reject::Malformed),
        (SetDisconnect { act: 4, ..good }, Reject::Malformed),
        (SetDisconnect { act: 257, ..good }, Reject::Malformed),
        (SetDisconnect { account: 99, ..good }, Reject::AccountNotFound),
        (SetDisconnect { market: 99, ..good }, Reject::MarketNotFound),
        (SetDisconnect { market: BTC + 77, ..good }, Reject::MarketNotFound),
        (SetDisconnect { market: 99, act: ConnectionAct::Disarm as u32, ..good }, Reject::MarketNotFound),
    ] {
        assert_eq!(refused(&mut venue, body), reject, "{body:?}");
    }
    venue.ok(SetDisconnect { market: 99, act: ConnectionAct::Lost as u32, ..good });
    assert!(after(&mut venue, 100_000).is_empty(), "nothing was armed");
    venue.ok(good);
    venue.ok(SetDisconnect { act: ConnectionAct::Lost as u32, ..good });
    assert_eq!(after(&mut venue, 60_000), orders);
}

/// A connection takes a unit: those beyond a command's are next at the tick that follows.
#[test]
fn many_that_are_lost_at_once_end_by_and_by() {
    let mut venue = Venue { every: u64::MAX, ..Venue::trading("60000") };
    venue.ok(ActivateRule { rule: rule::WORK_MAX, value: 8 });
    let mut orders = Vec::new();
    for session in 0..20 {
        let account = venue.account("1000");
        orders.push(venue.buy(account, "0.001", "50000"));
        venue.ok(set(account, ALL_MARKETS, session, 1_000, ConnectionAct::Arm));
    }
    venue.ok(OpenEpoch { epoch: 1, reserved: 0 });
    for ended in [&orders[..8], &orders[8..16], &orders[16..]] {
        let wait_ms = if ended[0] == orders[0] { 1_000 } else { 0 };
        assert!(venue.engine.countdown_ms().is_some());
        assert_eq!(after(&mut venue, wait_ms), ended);
    }
    assert_eq!(venue.engine.countdown_ms(), None);
}
