//! Withdrawals in the engine: each transition by hand, what is refused and in which order, hostile values, and 20,000 worlds
//! in which signers, chains and copies of the venue fail (`durability.md` 1, row 20).
//!
//! `RINGSIDE_SEED` reruns a failure.

mod deposit;
mod venue;
mod world;

use crate::support::perpetual::{BTC, limit_order};
use ringside_core::command::WithdrawalStatus as Status;
use ringside_core::command::*;
use ringside_core::event::{
    AlarmReason, Balances, Posting, ReleaseAlarm, VaultOpened, Withdrawal, WithdrawalJudged,
    WithdrawalReleased, WithdrawalSigned,
};
use ringside_core::ids::padded;
use ringside_core::money::{AMOUNT_UNIT, UNIT};
use ringside_core::reject::Reject;
use venue::*;
use world::{Seen, World};

const BOTH: [Ledger; 2] = [Ledger::Spot, Ledger::Perpetual];

#[test]
fn a_withdrawal_is_requested_signed_and_confirmed() {
    for ledger in BOTH {
        let mut venue = Venue::new();
        let done = venue.take(request(1, ledger, 100));
        assert_eq!((done.order, done.account), (1, 1));
        assert_eq!(venue.holds(1, ledger), (900 * AMOUNT_UNIT, 100 * AMOUNT_UNIT));
        let told = venue.told::<Withdrawal>()[0];
        assert_eq!((told.status, told.nonce), (Status::Requested as u8, 0));
        assert_eq!((told.requested_at_s, told.deadline_s), (START_S, START_S + 86_400));
        assert_eq!(venue.told::<VaultOpened>().len(), 1);
        match ledger {
            Ledger::Spot => assert_eq!(venue.told::<Balances>().len(), 1),
            Ledger::Perpetual => assert_eq!(venue.told::<Posting>()[0].amount, -100_000_000),
        }

        assert_eq!(venue.sign(1).rejected(), None);
        assert_eq!(venue.told::<WithdrawalSigned>()[0].signature, [7; 65]);
        assert_eq!(venue.status(1), Some(Status::Signed));
        assert_eq!(venue.sign(1).rejected(), None, "the same signature again");
        venue.refuse(ReturnWithdrawal { withdrawal: 1, holds_nonce: 0 }, Reject::WithdrawalStateDiffers);

        assert_eq!(venue.release(1, ledger, 100, 0).rejected(), None);
        assert_eq!(venue.told::<WithdrawalReleased>()[0].tx_hash, [9; 32]);
        assert_eq!(venue.holds(1, ledger), (900 * AMOUNT_UNIT, 0));
        venue.refuse(release(1, ledger, 100, 0), Reject::AlreadyReleased);
        venue.refuse(release(1, ledger, 100, 2), Reject::ReleaseOutOfOrder);
        assert_eq!(venue.engine.released(CHAIN, &VAULT, address(1)), 1);
        venue.engine.check_invariants().unwrap();
    }
}

#[test]
fn it_expires_once_a_final_block_is_past_its_deadline() {
    for ledger in BOTH {
        let mut venue = Venue::new();
        venue.take(request(1, ledger, 100));
        venue.sign(1);
        let deadline_s = START_S + 86_400;
        venue.now_s = deadline_s + 1_000_000;
        venue.take(AdvanceTime {});
        assert_eq!(venue.status(1), Some(Status::Signed), "the venue's own clock does not count");
        assert_eq!(venue.advance(10, deadline_s).rejected(), None);
        assert_eq!(venue.status(1), Some(Status::Signed), "a block at the deadline is not past it");
        venue.refuse(advance(10, deadline_s + 5), Reject::ChainBehind);
        venue.refuse(advance(11, deadline_s - 5), Reject::ChainBehind);
        assert_eq!(venue.advance(11, deadline_s + 1).rejected(), None);
        assert_eq!(venue.told::<Withdrawal>()[0].status, Status::Expired as u8);
        assert_eq!(venue.holds(1, ledger), (1_000 * AMOUNT_UNIT, 0));
        if ledger == Ledger::Perpetual {
            assert_eq!(venue.told::<Posting>()[0].amount, 100_000_000);
        }
        // Its nonce is issued again, to a request later than its deadline.
        venue.take(request(1, ledger, 50));
        let told = venue.told::<Withdrawal>()[0];
        assert!(told.nonce == 0 && told.requested_at_s > deadline_s);
    }
}

#[test]
fn a_chain_ahead_of_the_clock_does_not_make_deadlines_that_are_past() {
    let mut venue = Venue::new();
    venue.take(request(1, Ledger::Spot, 10));
    venue.advance(7, START_S + 500_000);
    venue.take(request(1, Ledger::Spot, 10));
    let told = venue.told::<Withdrawal>()[0];
    assert_eq!((told.requested_at_s, told.deadline_s), (START_S + 500_000, START_S + 586_400));
}

#[test]
fn nonces_are_shared_by_both_ledgers_and_fill_gaps() {
    let mut venue = Venue::new();
    let nonce = |venue: &mut Venue, ledger, lifetime_s| {
        venue.take(RequestWithdrawal { lifetime_s, ..request(2, ledger, 10) });
        venue.told::<Withdrawal>()[0].nonce
    };
    assert_eq!(nonce(&mut venue, Ledger::Spot, 100), 0);
    assert_eq!(nonce(&mut venue, Ledger::Perpetual, 5_000), 1);
    assert_eq!(nonce(&mut venue, Ledger::Spot, 5_000), 2);
    venue.advance(1, START_S + 101);
    assert_eq!(nonce(&mut venue, Ledger::Spot, 5_000), 0, "the vault cannot pass over it");
    assert_eq!(nonce(&mut venue, Ledger::Spot, 5_000), 3);
    let other = RequestWithdrawal { vault: [0x44; 20], ..request(2, Ledger::Spot, 10) };
    venue.take(other);
    assert_eq!(venue.told::<Withdrawal>()[0].nonce, 0, "another vault counts by itself");
}

#[test]
fn a_signer_that_fails_costs_nothing_and_reuses_no_nonce_that_may_be_signed() {
    for ledger in BOTH {
        let mut venue = Venue::new();
        venue.take(request(1, ledger, 100));
        venue.take(ReturnWithdrawal { withdrawal: 1, holds_nonce: 0 });
        assert_eq!(venue.holds(1, ledger), (1_000 * AMOUNT_UNIT, 0));
        venue.take(request(1, ledger, 100));
        assert_eq!(venue.told::<Withdrawal>()[0].nonce, 0);
        venue.take(ReturnWithdrawal { withdrawal: 2, holds_nonce: 1 });
        assert_eq!(venue.holds(1, ledger), (1_000 * AMOUNT_UNIT, 0));
        venue.refuse(request(1, ledger, 100), Reject::NonceHeld);
        venue.refuse(ReturnWithdrawal { withdrawal: 2, holds_nonce: 1 }, Reject::WithdrawalStateDiffers);
        assert_eq!(venue.sign(2).rejected(), Some(Reject::WithdrawalStateDiffers));
        venue.take(request(2, ledger, 100));
        // The signer knows nothing of it, or its deadline passes: either frees the nonce.
        let mut other = Venue::new();
        other.restore(&venue.saved());
        other.take(ReturnWithdrawal { withdrawal: 2, holds_nonce: 0 });
        other.take(request(1, ledger, 100));
        venue.advance(3, START_S + 86_401);
        assert_eq!(venue.holds(1, ledger), (1_000 * AMOUNT_UNIT, 0), "nothing comes back twice");
        venue.take(request(1, ledger, 100));
    }
}

#[test]
fn a_release_that_does_not_fit_confirms_nothing_and_pauses() {
    for (ledger, fault) in BOTH.into_iter().flat_map(|ledger| [(ledger, 0), (ledger, 1), (ledger, 2)]) {
        let mut venue = Venue::new();
        venue.take(request(1, ledger, 100));
        venue.sign(1);
        let told = release(1, ledger, 100, 0);
        let told = match fault {
            0 => release(1, ledger, 99, 0),
            1 => RecordRelease { token: [0x55; 20], ..told },
            _ => RecordRelease { value: (-1).into(), ..told },
        };
        venue.take(told);
        let alarm = venue.told::<ReleaseAlarm>()[0];
        assert_eq!((alarm.reason, alarm.nonce), (AlarmReason::Mismatch as u8, 0));
        assert_eq!(venue.holds(1, ledger).1, 100 * AMOUNT_UNIT, "neither paid nor given back");
        assert_eq!(venue.engine.withdrawals_paused(), pause::ALARM);
        venue.advance(9, START_S + 90_000);
        assert_eq!(venue.holds(1, ledger).1, 100 * AMOUNT_UNIT, "an operator decides");
        venue.refuse(request(1, ledger, 20), Reject::WithdrawalsPaused);
        venue.engine.check_invariants().unwrap();
        let saved = venue.saved();
        venue.restore(&saved);
        venue.engine.check_invariants().unwrap();
        venue.take(PauseWithdrawals { mask: pause::ALARM, paused: 0, reason: [0; 64] });
        venue.take(request(1, ledger, 20));
        assert_eq!(venue.told::<Withdrawal>()[0].nonce, 1);
    }
    let mut venue = Venue::new();
    venue.take(request(1, Ledger::Spot, 100));
    venue.take(release(3, Ledger::Spot, 5, 0));
    assert_eq!(venue.told::<ReleaseAlarm>()[0].reason, AlarmReason::Unknown as u8);
    venue.take(RecordRelease { account: [0xee; 20], ..release(3, Ledger::Spot, 5, 0) });
    assert_eq!(venue.told::<ReleaseAlarm>()[0].account, [0xee; 20]);
    venue.take(ReturnWithdrawal { withdrawal: 1, holds_nonce: 1 });
    venue.take(release(1, Ledger::Spot, 100, 0));
    assert_eq!(venue.told::<ReleaseAlarm>()[0].reason, AlarmReason::Returned as u8);
    venue.engine.check_invariants().unwrap();
}

/// `spot.md` 3: answers 5xx are not stored, so that a retry is carried out once the exchange can.
#[test]
fn a_refusal_for_what_the_exchange_is_in_leaves_the_key_unused() {
    for ledger in BOTH {
        let keyed = |key, body| RequestWithdrawal {
            idempotency_key: key,
            idempotency_body: body,
            ..request(1, ledger, 100)
        };
        let mut venue = Venue::new();
        let pause = |paused| PauseWithdrawals { mask: pause::CHAIN, paused, reason: [0; 64] };
        venue.take(pause(pause::CHAIN));
        for body in [1, 1, 2] {
            venue.refuse(keyed(7, body), Reject::WithdrawalsPaused);
        }
        venue.take(pause(0));
        venue.take(keyed(7, 1));
        let first = venue.engine.sequence();
        let again = venue.give(keyed(7, 1));
        assert_eq!((again.rejected(), again.replayed), (Some(Reject::IdempotencyReplay), first));
        venue.refuse(keyed(7, 2), Reject::IdempotencyConflict);
        // What is wrong with the request itself is stored.
        let much = RequestWithdrawal { amount: (9_999 * AMOUNT_UNIT).into(), ..keyed(8, 1) };
        let short = Some(match ledger {
            Ledger::Spot => Reject::InsufficientBalance,
            Ledger::Perpetual => Reject::CrossInsufficient,
        });
        assert_eq!(venue.give(much).rejected(), short);
        assert_eq!(venue.give(much).rejected(), Some(Reject::IdempotencyReplay));
        venue.take(ReturnWithdrawal { withdrawal: 1, holds_nonce: 1 });
        for body in [1, 1, 2] {
            venue.refuse(keyed(9, body), Reject::NonceHeld);
        }
        venue.take(ReturnWithdrawal { withdrawal: 1, holds_nonce: 0 });
        venue.take(keyed(9, 1));
        let saved = venue.saved();
        venue.restore(&saved);
        assert_eq!(venue.give(keyed(9, 1)).rejected(), Some(Reject::IdempotencyReplay));
        venue.engine.check_invariants().unwrap();
    }
}

/// What the vault paid in a withdrawal's place stays frozen until two operators agree on what it was.
#[test]
fn two_operators_settle_what_is_disputed() {
    let by = |name: &str| -> [u8; 16] { padded(name).unwrap() };
    let settle = |operator, is_paid| SettleWithdrawal { withdrawal: 1, operator: by(operator), is_paid };
    for (ledger, is_paid) in BOTH.into_iter().flat_map(|ledger| [(ledger, 0), (ledger, 1)]) {
        let mut venue = Venue::new();
        venue.take(request(1, ledger, 100));
        venue.sign(1);
        venue.refuse(settle("ann", is_paid), Reject::WithdrawalStateDiffers);
        venue.take(release(1, ledger, 99, 0));
        venue.refuse(SettleWithdrawal { operator: [0; 16], ..settle("ann", 0) }, Reject::Malformed);
        venue.refuse(settle("ann", 2), Reject::Malformed);
        venue.refuse(SettleWithdrawal { withdrawal: 2, ..settle("ann", 0) }, Reject::WithdrawalNotFound);
        // One person proposes as often as they like; whoever wants something else proposes that.
        for (operator, wants) in [("ann", is_paid), ("ann", is_paid), ("bob", 1 - is_paid), ("ann", is_paid)]
        {
            venue.take(settle(operator, wants));
            let told = venue.told::<WithdrawalJudged>()[0];
            assert_eq!((told.proposed_by, told.agreed_by), (by(operator), [0; 16]));
            assert_eq!((u64::from(told.is_paid), told.is_settled), (wants, 0));
            assert_eq!(venue.holds(1, ledger).1, 100 * AMOUNT_UNIT);
            venue.engine.check_invariants().unwrap();
        }
        let (hash, saved) = (venue.engine.state_hash(), venue.saved());
        venue.restore(&saved);
        assert_eq!(venue.engine.state_hash(), hash, "a proposal is part of the state");
        venue.take(settle("bob", is_paid));
        let told = venue.told::<WithdrawalJudged>()[0];
        assert_eq!((told.proposed_by, told.agreed_by, told.is_settled), (by("ann"), by("bob"), 1));
        let status = if is_paid == 1 { Status::Confirmed } else { Status::Expired };
        assert_eq!(venue.told::<Withdrawal>()[0].status, status as u8);
        let left = if is_paid == 1 { 900 } else { 1_000 };
        assert_eq!(venue.holds(1, ledger), (left * AMOUNT_UNIT, 0));
        venue.refuse(settle("ann", is_paid), Reject::WithdrawalNotFound);
        venue.engine.check_invariants().unwrap();
        venue.take(PauseWithdrawals { mask: pause::ALARM, paused: 0, reason: [0; 64] });
        venue.take(request(1, ledger, 20));
        assert_eq!(venue.told::<Withdrawal>()[0].nonce, 1, "the vault has used the nonce");
    }
}

/// Two faults at once: the earlier check answers.
#[test]
fn requests_are_judged_in_order() {
    let mut venue = Venue::new();
    let spot = request(1, Ledger::Spot, 100);
    let perpetual = request(1, Ledger::Perpetual, 100);
    let unknown = padded("XYZ").unwrap();
    for bad in [
        RequestWithdrawal { ledger: 2, ..spot },
        RequestWithdrawal { lifetime_s: 0, ..spot },
        RequestWithdrawal { lifetime_s: LIFETIME_MAX_S + 1, ..spot },
        RequestWithdrawal { chain_id: 0, ..spot },
        RequestWithdrawal { vault_name: [0; 24], ..spot },
        RequestWithdrawal { vault_name: [0xff; 24], ..spot },
    ] {
        venue.refuse(RequestWithdrawal { asset: unknown, amount: 0.into(), ..bad }, Reject::Malformed);
    }
    venue.take(PauseWithdrawals { mask: pause::OPERATOR, paused: pause::ALL, reason: [0; 64] });
    assert_eq!(venue.engine.withdrawals_paused(), pause::OPERATOR);
    let amount = (AMOUNT_UNIT / 2).into();
    venue.refuse(RequestWithdrawal { asset: unknown, ..perpetual }, Reject::WithdrawalsPaused);
    venue.take(PauseWithdrawals { mask: pause::ALL, paused: pause::CHAIN, reason: [0; 64] });
    venue.refuse(RequestWithdrawal { asset: unknown, ..perpetual }, Reject::WithdrawalsPaused);
    venue.refuse(RequestWithdrawal { asset: unknown, amount: 0.into(), ..spot }, Reject::MarketNotFound);
    venue.refuse(RequestWithdrawal { amount: 0.into(), account: 99, ..spot }, Reject::InvalidAmount);
    venue.refuse(RequestWithdrawal { amount: (-1).into(), ..spot }, Reject::InvalidAmount);
    venue.refuse(RequestWithdrawal { amount, account: 99, ..spot }, Reject::AmountBelowMinimum);
    let much = (i128::MAX).into();
    venue.refuse(RequestWithdrawal { amount: much, account: 99, ..spot }, Reject::AccountNotFound);
    venue.refuse(RequestWithdrawal { amount: much, account: 0, ..spot }, Reject::AccountNotFound);
    venue.refuse(RequestWithdrawal { amount: much, ..spot }, Reject::InsufficientBalance);
    venue.refuse(spot, Reject::WithdrawalsPaused);
    venue.take(PauseWithdrawals { mask: pause::ALL, paused: pause::OPERATOR, reason: [0; 64] });
    venue.take(spot);
    venue.take(PauseWithdrawals { mask: pause::ALL, paused: 0, reason: [0; 64] });
    let df = padded("DF").unwrap();
    venue.refuse(RequestWithdrawal { asset: df, amount: 0.into(), ..perpetual }, Reject::MarketNotFound);
    for steps in [1, 999_999_999_999, 100 * AMOUNT_UNIT + 1, i128::MAX, i128::MIN, 0, -AMOUNT_UNIT] {
        venue.refuse(RequestWithdrawal { amount: steps.into(), ..perpetual }, Reject::InvalidAmount);
    }
    let amount = (10 * AMOUNT_UNIT - 1_000_000_000_000).into();
    venue.refuse(RequestWithdrawal { amount, ..perpetual }, Reject::AmountBelowMinimum);
    let amount = (1_000 * AMOUNT_UNIT + 1_000_000_000_000).into();
    venue.refuse(RequestWithdrawal { amount, ..perpetual }, Reject::CrossInsufficient);
    venue.take(request(1, Ledger::Perpetual, 1_000));
    let renamed = RequestWithdrawal { vault_name: padded("Other").unwrap(), ..spot };
    venue.refuse(renamed, Reject::Malformed);
    venue.refuse(PauseWithdrawals { mask: 32, paused: 0, reason: [0; 64] }, Reject::Malformed);
    let nowhere = RecordRelease { vault: [0x77; 20], ..release(1, Ledger::Spot, 1, 0) };
    venue.refuse(nowhere, Reject::VaultNotFound);
    venue.refuse(AdvanceChain { chain_id: 1, ..advance(1, 1) }, Reject::VaultNotFound);
    venue.refuse(ReturnWithdrawal { withdrawal: 1, holds_nonce: 2 }, Reject::Malformed);
    venue.refuse(ReturnWithdrawal { withdrawal: 77, holds_nonce: 0 }, Reject::WithdrawalNotFound);
    assert_eq!(venue.sign(77).rejected(), Some(Reject::WithdrawalNotFound));
}

#[test]
fn nothing_leaves_the_perpetual_ledger_while_the_fund_owes() {
    // A market closes far below its mark, as in `recovery.rs`: a long loses more than it has, and the fund has nothing.
    let mut venue = Venue::new();
    let index = |units: i64| SetManualPrice { market: BTC, moves_band: 0, price: units * UNIT };
    let second = |venue: &mut Venue| {
        venue.now_s += 1;
        venue.take(AdvanceTime {});
    };
    venue.take(index(58_000));
    second(&mut venue);
    let state =
        |state: PerpetualState| SetPerpetualState { market: BTC, state: state as u8, reserved: [0; 3] };
    venue.take(state(PerpetualState::Trading));
    (0..10).for_each(|_| second(&mut venue));
    // Who sells to the long has its gain already: nobody is paid by the settlement.
    let rich = CreditPerpetual { address: address(3), reserved: 0, amount: 10_000_000_000, reason: [0; 64] };
    venue.take(rich);
    for (account, side) in [(3, Side::Sell), (2, Side::Buy)] {
        venue.take(SetLeverage { account, market: BTC, leverage: 100, reserved: 0 });
        let client_order = padded("bot-0").unwrap();
        venue.take(PlacePerpetual { client_order, ..limit_order(account, side, "1", "58000") });
    }
    venue.take(index(60_000));
    second(&mut venue);
    for (account, side) in [(2, Side::Sell), (1, Side::Buy)] {
        venue.take(SetLeverage { account, market: BTC, leverage: 100, reserved: 0 });
        let client_order = padded("bot-1").unwrap();
        venue.take(PlacePerpetual { client_order, ..limit_order(account, side, "1", "60000") });
    }
    venue.take(request(3, Ledger::Perpetual, 10));
    venue.take(state(PerpetualState::Closed));
    let owed = venue.engine.perpetual_wallet(0);
    assert!(owed < 0, "{owed}");
    venue.refuse(request(3, Ledger::Perpetual, 10), Reject::WithdrawalsPaused);
    venue.take(request(3, Ledger::Spot, 10));
    let fund = |amount| CreditPerpetual { address: [0; 20], reserved: 0, amount, reason: [0; 64] };
    venue.take(fund(-owed - 1));
    venue.refuse(request(3, Ledger::Perpetual, 10), Reject::WithdrawalsPaused);
    venue.take(fund(1));
    venue.take(request(3, Ledger::Perpetual, 10));
}

#[test]
fn a_key_takes_effect_once() {
    let mut venue = Venue::new();
    let keyed =
        RequestWithdrawal { idempotency_key: 5, idempotency_body: 6, ..request(1, Ledger::Spot, 100) };
    let first = venue.take(keyed);
    let sequence = venue.engine.sequence();
    let again = venue.give(keyed);
    assert_eq!((again.rejected(), again.replayed), (Some(Reject::IdempotencyReplay), sequence));
    let other = RequestWithdrawal { idempotency_body: 7, ..keyed };
    assert_eq!(venue.give(other).rejected(), Some(Reject::IdempotencyConflict));
    assert_eq!(venue.holds(1, Ledger::Spot).1, 100 * AMOUNT_UNIT);
    assert_eq!(first.order, 1);
}

#[test]
fn many_expire_over_several_blocks() {
    let mut venue = Venue::new();
    for _ in 0..600 {
        venue.take(request(1, Ledger::Spot, 1));
    }
    for (block, left) in [(1, 344), (2, 88), (3, 0)] {
        venue.advance(block, START_S + 90_000);
        assert_eq!(venue.engine.withdrawals().count(), left);
    }
    assert_eq!(venue.holds(1, Ledger::Spot), (GIVEN, 0));
}

#[test]
fn what_only_the_signer_remembers_is_adopted() {
    let adopt = |nonce, units: i128, requested_at_s| AdoptWithdrawal {
        address: address(1),
        ledger: Ledger::Spot as u8,
        is_of_new_signer: 0,
        reserved: [0; 2],
        amount: (units * AMOUNT_UNIT).into(),
        chain_id: CHAIN,
        vault: VAULT,
        token: DF,
        asset: padded("DF").unwrap(),
        reserved_2: [0; 6],
        nonce,
        deadline_s: requested_at_s + 1_000,
        requested_at_s,
        vault_name: padded("SpotVault").unwrap(),
    };
    let mut venue = Venue::new();
    venue.take(adopt(1, 300, START_S));
    let told = venue.told::<Withdrawal>()[0];
    assert_eq!((told.is_adopted, told.nonce, told.deadline_s), (1, 1, START_S + 1_000));
    assert_eq!(told.status, Status::Signed as u8);
    // Its user may hold the signature.
    venue.refuse(ReturnWithdrawal { withdrawal: 1, holds_nonce: 1 }, Reject::WithdrawalStateDiffers);
    venue.refuse(adopt(1, 300, START_S), Reject::WithdrawalStateDiffers);
    venue.take(adopt(0, 400, START_S));
    venue.sign(2);
    // Issued again after it had expired in the history that is lost.
    venue.take(adopt(0, 500, START_S + 2_000));
    assert_eq!(venue.holds(1, Ledger::Spot), (200 * AMOUNT_UNIT, 800 * AMOUNT_UNIT));
    venue.refuse(adopt(7, 0, START_S), Reject::InvalidAmount);
    venue.take(release(1, Ledger::Spot, 500, 0));
    venue.refuse(adopt(0, 500, START_S + 2_000), Reject::AlreadyReleased);
    venue.advance(4, START_S + 1_500);
    venue.refuse(adopt(3, 1, START_S), Reject::WithdrawalExpired);
    // One that waits for its signature counts as signed: its user may hold that, by a history that is lost.
    let mut waits = Venue::new();
    waits.take(RequestWithdrawal { lifetime_s: 1_000, ..request(1, Ledger::Spot, 10) });
    waits.take(adopt(0, 10, START_S));
    waits.refuse(ReturnWithdrawal { withdrawal: 1, holds_nonce: 1 }, Reject::WithdrawalStateDiffers);
    // One that was requested and never signed gives way as well.
    let mut unsigned = Venue::new();
    unsigned.take(request(1, Ledger::Spot, 100));
    unsigned.take(adopt(0, 20, START_S + 5));
    assert_eq!(unsigned.holds(1, Ledger::Spot), (980 * AMOUNT_UNIT, 20 * AMOUNT_UNIT));
    let mut short = Venue::new();
    short.take(adopt(0, 1_001, START_S));
    assert_eq!(short.told::<ReleaseAlarm>()[0].reason, AlarmReason::Short as u8);
    let mut conflict = Venue::new();
    conflict.take(adopt(0, 10, START_S));
    conflict.take(adopt(0, 11, START_S));
    assert_eq!(conflict.told::<ReleaseAlarm>()[0].reason, AlarmReason::Conflict as u8);
    assert_eq!(conflict.holds(1, Ledger::Spot).1, 10 * AMOUNT_UNIT);
}

/// Any numbers in any command, in any state: never a panic, every refusal changes nothing, the state stays sound and goes
/// through a snapshot unchanged.
#[test]
fn hostile_values_do_no_harm() {
    let mut random = 7u64;
    let mut next = move || {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        random >> 33
    };
    let values = [0, 1, 2, 9, u64::MAX, u64::MAX / 2, i64::MAX as u64, 1 << 40, 31_337, START_S, 10_000_000];
    for _ in 0..40 {
        let mut venue = Venue::new();
        for ledger in BOTH {
            venue.take(request(1, ledger, 100));
        }
        venue.sign(1);
        let mut bodies: Vec<Command> = vec![
            Command::new(request(1, Ledger::Spot, 100)),
            Command::new(request(1, Ledger::Perpetual, 100)),
            Command::new(release(1, Ledger::Spot, 100, 0)),
            Command::new(advance(5, START_S + 90_000)),
            Command::new(ReturnWithdrawal { withdrawal: 2, holds_nonce: 0 }),
            Command::new(PauseWithdrawals { mask: 7, paused: 2, reason: [0; 64] }),
            Command::new(SettleWithdrawal { withdrawal: 2, operator: [b'a'; 16], is_paid: 1 }),
            Command::new(token_of("DF", DF, 18)),
            Command::new(token_of("GOLD", [9; 20], 2)),
            Command::new(deposit(1, address(1), DF, 77)),
            Command::new(deposit(2, address(2), [9; 20], 77)),
            Command::new(CreditHeldDeposit { chain_id: CHAIN, vault: VAULT, reserved: 0, number: 2 }),
            Command::new(ObserveVault {
                chain_id: CHAIN,
                vault: VAULT,
                signer: [1; 20],
                vault_name: padded("SpotVault").unwrap(),
                block: 5,
            }),
            Command::new(RewindVault {
                chain_id: CHAIN,
                vault: VAULT,
                reserved: 0,
                block: 2,
                hash: [2; 32],
                time_s: START_S,
                operator: [b'b'; 16],
            }),
            Command::new(UndoEvent {
                withdrawal: 1,
                account: address(1),
                vault: VAULT,
                token: DF,
                asset: padded("DF").unwrap(),
                ledger: 0,
                is_deposit: 0,
                amount: (100 * AMOUNT_UNIT).into(),
                chain_id: CHAIN,
                number: 0,
                requested_at_s: START_S,
                deadline_s: START_S + 86_400,
                block: 5,
            }),
        ];
        for _ in 0..60 {
            let place = next() as usize % bodies.len();
            let mut command = bodies[place];
            for _ in 0..next() % 3 {
                let word = next() as usize % 19;
                let value = values[next() as usize % values.len()];
                command.body[word * 8..word * 8 + 8].copy_from_slice(&value.to_le_bytes());
            }
            if next().is_multiple_of(8) {
                bodies.push(command);
            }
            command.sequence = venue.engine.sequence() + 1;
            venue.events.clear();
            venue.engine.apply(&command, &mut venue.events);
            venue.engine.check_invariants().unwrap();
        }
        let (hash, saved) = (venue.engine.state_hash(), venue.saved());
        venue.restore(&saved);
        assert_eq!(venue.engine.state_hash(), hash);
    }
}

/// Row 20 of the failure model: 0 conflicts, nothing paid twice, nothing lost.
#[test]
fn worlds_in_which_everything_fails_conserve_supply() {
    let seeds = crate::support::seeds::seeds(6_000);
    let run = |seed: u64| {
        let run = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            world.run(60);
            world.seen
        });
        run.unwrap_or_else(|_| {
            panic!(
                "seed {seed}\nrerun: RINGSIDE_SEED={seed} cargo test --release -p ringside-core \
                 --test perpetual worlds"
            )
        })
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut all = Seen::default();
    std::thread::scope(|scope| {
        let seeds = &seeds;
        let share = move |thread: usize| seeds.clone().skip(thread).step_by(threads);
        let runs: Vec<_> = (0..threads)
            .map(|thread| {
                scope.spawn(move || {
                    let mut seen = Seen::default();
                    share(thread).for_each(|seed| seen.add(&run(seed)));
                    seen
                })
            })
            .collect();
        runs.into_iter().for_each(|run| all.add(&run.join().unwrap()));
    });
    eprintln!("{} worlds: {all:?}", seeds.end - seeds.start);
    if !crate::support::seeds::is_rerun() {
        assert!(all.is_complete(), "no world met something of this: {all:?}");
    }
}
