//! Deposits in the engine: numbers, decimals, what is held and let go, tokens, a signer that was replaced, and the way back where
//! the chain undid what was final.

use super::venue::*;
use ringside_core::command::*;
use ringside_core::event::{
    AccountCreated, AssetCreated, Balances, Deposit, DepositBlock, RewindStage, Token, VaultOpened,
    VaultRewind, VaultSigner, Withdrawal,
};
use ringside_core::ids::{Address, padded};
use ringside_core::money::{AMOUNT_UNIT, Amount};
use ringside_core::reject::Reject;

const GOLD: Address = [0x44; 20];
const SIGNER: Address = [0x51; 20];

fn observe(signer: Address, block: u64) -> ObserveVault {
    ObserveVault { chain_id: CHAIN, vault: VAULT, signer, vault_name: padded("SpotVault").unwrap(), block }
}

fn held(number: u64) -> CreditHeldDeposit {
    CreditHeldDeposit { chain_id: CHAIN, vault: VAULT, reserved: 0, number }
}

/// A venue that knows its vault and DF.
fn open() -> Venue {
    let mut venue = Venue::new();
    venue.take(observe([0; 20], 0));
    assert_eq!(venue.told::<VaultOpened>().len(), 1);
    venue.take(token_of("DF", DF, 18));
    venue
}

/// The state goes through a snapshot unchanged.
fn keeps(venue: &mut Venue) {
    venue.engine.check_invariants().unwrap();
    let (hash, saved) = (venue.engine.state_hash(), venue.saved());
    venue.restore(&saved);
    assert_eq!(venue.engine.state_hash(), hash);
}

fn available(venue: &Venue, account: u32, asset: &str) -> Amount {
    let asset = venue.engine.asset(&padded(asset).unwrap()).unwrap();
    venue.engine.balance(account, asset).unwrap().0
}

#[test]
fn a_deposit_is_credited_once_and_in_its_order() {
    let mut venue = open();
    let first = deposit(1, [9; 20], DF, 25 * AMOUNT_UNIT as u128);
    let done = venue.take(first);
    assert_eq!(done.account, ACCOUNTS + 1, "the account is made");
    let told = venue.told::<Deposit>()[0];
    assert_eq!((told.number, told.amount.get(), told.status), (1, 25 * AMOUNT_UNIT, 0));
    assert_eq!((told.account, told.address, told.token, told.reason), (done.account, [9; 20], DF, 0));
    let block = venue.told::<DepositBlock>()[0];
    assert_eq!((block.number, block.block, block.tx_hash), (1, first.block, first.tx_hash));
    assert_eq!(venue.told::<Balances>()[0].base_available.get(), 25 * AMOUNT_UNIT);
    assert_eq!(venue.told::<AccountCreated>().len(), 1);
    keeps(&mut venue);
    venue.refuse(first, Reject::AlreadyDeposited);
    venue.refuse(RecordDeposit { value: 7.into(), ..first }, Reject::AlreadyDeposited);
    venue.refuse(RecordDeposit { number: 0, ..first }, Reject::AlreadyDeposited);
    venue.refuse(RecordDeposit { number: 3, ..first }, Reject::DepositOutOfOrder);
    venue.refuse(RecordDeposit { number: u64::MAX, ..first }, Reject::DepositOutOfOrder);
    venue.refuse(RecordDeposit { vault: [0x77; 20], number: 2, ..first }, Reject::VaultNotFound);
    venue.refuse(RecordDeposit { chain_id: 1, number: 2, ..first }, Reject::VaultNotFound);
    venue.take(RecordDeposit { number: 2, ..first });
    assert_eq!(available(&venue, done.account, "DF"), 50 * AMOUNT_UNIT);
    assert_eq!(venue.engine.deposits(CHAIN, &VAULT), 2);
    // Another vault counts its own.
    venue.take(ObserveVault { vault: [0x12; 20], ..observe([0; 20], 0) });
    venue.take(RecordDeposit { vault: [0x12; 20], ..first });
    assert_eq!(available(&venue, done.account, "DF"), 75 * AMOUNT_UNIT);
    keeps(&mut venue);
}

#[test]
fn what_arrived_is_scaled_exactly_whatever_the_decimals() {
    let mut venue = open();
    for (number, decimals) in (0..=18u8).enumerate() {
        let (name, address) = (format!("T{decimals}"), [0x60 + decimals; 20]);
        venue.take(token_of(&name, address, decimals));
        assert_eq!(venue.told::<AssetCreated>().len(), 1);
        assert_eq!(venue.told::<Token>()[0].decimals, decimals);
        venue.take(deposit(number as u64 + 1, [1; 20], address, 123_456_789));
        assert_eq!(available(&venue, 1, &name), 123_456_789 * 10i128.pow(18 - u32::from(decimals)));
    }
    keeps(&mut venue);
}

#[test]
fn what_cannot_be_credited_is_held_and_holds_nobody_up() {
    let mut venue = open();
    let gold = |paused| SetToken { paused, ..token_of("GOLD", GOLD, 6) };
    let is_held = |venue: &Venue, reason: HeldReason| {
        let told = venue.told::<Deposit>()[0];
        assert_eq!((told.status, told.reason, told.account), (DepositStatus::Held as u8, reason as u8, 0));
        assert!(venue.told::<Balances>().is_empty() && venue.told::<AccountCreated>().is_empty());
    };
    venue.take(deposit(1, [9; 20], GOLD, 5_000_000));
    is_held(&venue, HeldReason::TokenUnknown);
    venue.refuse(held(1), Reject::TokenNotFound);
    venue.take(deposit(2, [1; 20], DF, AMOUNT_UNIT as u128));
    assert_eq!(available(&venue, 1, "DF"), GIVEN + AMOUNT_UNIT, "the one behind it is not held up");
    venue.take(gold(token_pause::DEPOSITS));
    venue.take(deposit(3, [1; 20], GOLD, 1_000_000));
    is_held(&venue, HeldReason::TokenPaused);
    venue.refuse(held(1), Reject::TokenPaused);
    venue.take(gold(0));
    // More than 128 bits hold, more than an amount is, more than is left below the largest sum.
    for (number, value) in
        [(4, u128::MAX), (5, i128::MAX as u128), (6, u128::MAX / 2 / 1_000_000_000_000 + 1)]
    {
        venue.take(deposit(number, [1; 20], GOLD, value));
        is_held(&venue, HeldReason::OutOfRange);
        venue.refuse(held(number), Reject::InvalidAmount);
    }
    venue.take(deposit(7, [0; 20], GOLD, 1));
    is_held(&venue, HeldReason::Nobody);
    venue.refuse(held(7), Reject::InvalidAmount);
    assert_eq!(venue.engine.held_deposits(CHAIN, &VAULT).collect::<Vec<_>>(), [1, 3, 4, 5, 6, 7]);
    keeps(&mut venue);
    // Once nothing holds it, once.
    venue.take(held(1));
    let told = venue.told::<Deposit>()[0];
    assert_eq!((told.number, told.amount.get(), told.account), (1, 5 * AMOUNT_UNIT, ACCOUNTS + 1));
    assert!(venue.told::<DepositBlock>().is_empty());
    venue.refuse(held(1), Reject::DepositNotFound);
    venue.refuse(held(2), Reject::DepositNotFound);
    venue.refuse(CreditHeldDeposit { vault: [0x77; 20], ..held(3) }, Reject::VaultNotFound);
    venue.take(held(3));
    assert_eq!(available(&venue, 1, "GOLD"), AMOUNT_UNIT);
    keeps(&mut venue);
}

#[test]
fn a_token_is_for_good_but_its_minimum_and_its_pauses() {
    let mut venue = open();
    let gold = token_of("GOLD", GOLD, 6);
    for bad in [
        SetToken { chain_id: 0, ..gold },
        SetToken { token: [0; 20], ..gold },
        SetToken { asset: [0; 10], ..gold },
        SetToken { asset: padded("go").unwrap(), ..gold },
        SetToken { decimals: 19, ..gold },
        SetToken { paused: 4, ..gold },
        SetToken { minimum: 0.into(), ..gold },
        SetToken { minimum: (-1).into(), ..gold },
        SetToken { minimum: (AMOUNT_UNIT + 1).into(), ..gold },
    ] {
        venue.refuse(bad, Reject::Malformed);
    }
    venue.take(gold);
    venue.take(SetToken { minimum: (3 * AMOUNT_UNIT).into(), paused: token_pause::ALL, ..gold });
    venue.refuse(SetToken { decimals: 8, ..gold }, Reject::TokenExists);
    venue.refuse(SetToken { asset: padded("SILVER").unwrap(), ..gold }, Reject::TokenExists);
    venue.refuse(SetToken { token: [0x45; 20], ..gold }, Reject::TokenExists);
    venue.take(SetToken { chain_id: 1, token: [0x45; 20], ..gold });
    keeps(&mut venue);
}

#[test]
fn an_added_token_is_withdrawn_in_its_own_units() {
    let mut venue = open();
    let gold = |paused| SetToken { minimum: (AMOUNT_UNIT / 10).into(), paused, ..token_of("GOLD", GOLD, 6) };
    venue.take(gold(0));
    venue.take(deposit(1, address(1), GOLD, 10_000_000));
    let ask = |amount: Amount| RequestWithdrawal {
        asset: padded("GOLD").unwrap(),
        token: GOLD,
        amount: amount.into(),
        ..request(1, Ledger::Spot, 1)
    };
    venue.refuse(ask(AMOUNT_UNIT / 20), Reject::AmountBelowMinimum);
    venue.refuse(ask(AMOUNT_UNIT + 1), Reject::InvalidAmount);
    venue.refuse(ask(AMOUNT_UNIT + 999_999_999_999), Reject::InvalidAmount);
    venue.refuse(ask(11 * AMOUNT_UNIT), Reject::InsufficientBalance);
    venue.refuse(RequestWithdrawal { asset: padded("DF").unwrap(), ..ask(AMOUNT_UNIT) }, Reject::Malformed);
    venue.take(gold(token_pause::WITHDRAWALS));
    venue.refuse(ask(AMOUNT_UNIT), Reject::TokenPaused);
    venue.take(request(1, Ledger::Spot, 1));
    venue.take(gold(token_pause::DEPOSITS));
    venue.take(ask(3 * AMOUNT_UNIT / 2));
    keeps(&mut venue);
    venue.sign(2);
    venue.take(RecordRelease { ..release(1, Ledger::Spot, 1, 0) });
    let paid = RecordRelease { token: GOLD, value: 1_500_000.into(), ..release(1, Ledger::Spot, 1, 1) };
    venue.take(paid);
    assert_eq!(venue.status(2), None);
    assert_eq!(available(&venue, 1, "GOLD"), 17 * AMOUNT_UNIT / 2);
    keeps(&mut venue);
}

#[test]
fn usdt_has_the_decimals_that_its_chain_gives_it() {
    let mut venue = open();
    venue.take(token_of("USDT", USDT, 18));
    venue.take(request(1, Ledger::Perpetual, 100));
    let finer =
        RequestWithdrawal { amount: (20 * AMOUNT_UNIT + 1).into(), ..request(1, Ledger::Perpetual, 20) };
    venue.refuse(finer, Reject::InvalidAmount);
    venue.sign(1);
    venue.take(RecordRelease { value: (100 * AMOUNT_UNIT).into(), ..release(1, Ledger::Perpetual, 100, 0) });
    assert_eq!(venue.status(1), None, "it is confirmed");
    venue.take(deposit(1, address(2), USDT, 5));
    assert_eq!(available(&venue, 2, "USDT"), 5);
    keeps(&mut venue);
}

#[test]
fn a_replaced_signers_work_goes_back_once_that_is_final() {
    for many in [3u32, 600] {
        let mut venue = open();
        venue.take(advance(10, START_S + 10));
        venue.refuse(observe(SIGNER, 9), Reject::ChainBehind);
        venue.refuse(observe(SIGNER, 11), Reject::ChainBehind);
        venue.take(observe(SIGNER, 10));
        assert_eq!(venue.told::<VaultSigner>()[0].former, [0; 20]);
        venue.take(request(2, Ledger::Perpetual, 100));
        venue.sign(1);
        venue.take(request(2, Ledger::Spot, 1));
        // One that may be signed, and one that is disputed.
        venue.take(ReturnWithdrawal { withdrawal: 2, holds_nonce: 1 });
        venue.take(request(3, Ledger::Spot, 7));
        venue.sign(3);
        venue.take(release(3, Ledger::Spot, 6, 0));
        venue.take(PauseWithdrawals { mask: pause::ALARM, paused: 0, reason: [0; 64] });
        for id in 0..many {
            venue.take(request(1, Ledger::Spot, 1));
            venue.sign(4 + u64::from(id));
        }
        venue.take(advance(20, START_S + 20));
        venue.take(observe(SIGNER, 20));
        assert!(venue.told::<VaultSigner>().is_empty(), "it is still the same");
        let other = [0x52; 20];
        let mut rounds = 0;
        while {
            venue.take(observe(other, 20));
            keeps(&mut venue);
            rounds += 1;
            venue.engine.vault_signer(CHAIN, &VAULT) != other
        } {}
        assert_eq!(rounds, if many == 3 { 1 } else { 3 });
        let told = venue.engine.withdrawals().map(|found| found.withdrawal).collect::<Vec<_>>();
        assert_eq!(told, [3], "what is disputed is for operators");
        assert_eq!(venue.holds(1, Ledger::Spot), (GIVEN, 0));
        assert_eq!(venue.holds(2, Ledger::Perpetual), (GIVEN, 0));
        // Nonces that nobody released are free again.
        venue.take(request(2, Ledger::Spot, 1));
        assert_eq!(venue.told::<Withdrawal>()[0].nonce, 0);
    }
}

/// The signer's log of a history that is lost: whatever else holds the nonce was signed by its forerunner, and is dead.
#[test]
fn what_a_new_signer_signed_takes_the_place_of_what_its_forerunner_did() {
    let adopt = |is_of_new_signer| AdoptWithdrawal {
        address: address(1),
        ledger: Ledger::Spot as u8,
        is_of_new_signer,
        reserved: [0; 2],
        amount: (9 * AMOUNT_UNIT).into(),
        chain_id: CHAIN,
        vault: VAULT,
        token: DF,
        asset: padded("DF").unwrap(),
        reserved_2: [0; 6],
        nonce: 0,
        deadline_s: START_S + 90_000,
        requested_at_s: START_S + 100,
        vault_name: padded("SpotVault").unwrap(),
    };
    let mut venue = open();
    venue.take(request(1, Ledger::Spot, 5));
    venue.sign(1);
    venue.refuse(adopt(2), Reject::Malformed);
    venue.take(adopt(1));
    assert_eq!(venue.holds(1, Ledger::Spot), (GIVEN - 9 * AMOUNT_UNIT, 9 * AMOUNT_UNIT));
    assert_eq!(venue.status(1), None);
    assert_eq!(venue.engine.withdrawals_paused(), 0);
    keeps(&mut venue);
}

#[test]
fn two_operators_go_back_and_nothing_counts_twice() {
    let by = |name: &str| padded(name).unwrap();
    let rewind = |block: u64, name: &str| RewindVault {
        chain_id: CHAIN,
        vault: VAULT,
        reserved: 0,
        block,
        hash: [block as u8; 32],
        time_s: START_S + block,
        operator: by(name),
    };
    let undo = |is_deposit, number, block| UndoEvent {
        withdrawal: 0,
        account: address(1),
        vault: VAULT,
        token: DF,
        asset: by_asset("DF"),
        ledger: Ledger::Spot as u8,
        is_deposit,
        amount: (10 * AMOUNT_UNIT).into(),
        chain_id: CHAIN,
        number,
        requested_at_s: 0,
        deadline_s: 0,
        block,
    };
    let mut venue = open();
    venue.take(advance(10, START_S + 10));
    venue.take(request(1, Ledger::Spot, 100));
    venue.sign(1);
    let asked = venue.told::<Withdrawal>()[0];
    venue.take(request(2, Ledger::Perpetual, 50));
    venue.sign(2);
    let perpetual = venue.told::<Withdrawal>()[0];
    venue.take(RecordRelease { block: 15, ..release(1, Ledger::Spot, 100, 0) });
    venue.take(RecordRelease { block: 15, ..release(2, Ledger::Perpetual, 50, 0) });
    for number in 1..=3 {
        venue.take(RecordDeposit { block: 15, ..deposit(number, address(1), DF, 10 * AMOUNT_UNIT as u128) });
    }
    venue.take(RecordDeposit { block: 16, ..deposit(4, address(1), GOLD, 1) });
    venue.take(advance(20, START_S + 20));
    // She has spent what she was credited.
    venue.take(request(1, Ledger::Spot, 925));
    let before = available(&venue, 1, "DF");
    assert_eq!(before, 5 * AMOUNT_UNIT);

    venue.refuse(rewind(21, "ann"), Reject::Malformed);
    venue.refuse(RewindVault { hash: [1; 32], ..rewind(20, "ann") }, Reject::Malformed);
    venue.refuse(RewindVault { time_s: START_S + 21, ..rewind(12, "ann") }, Reject::Malformed);
    venue.refuse(RewindVault { chain_id: 1, ..rewind(12, "ann") }, Reject::VaultNotFound);
    venue.refuse(rewind(12, ""), Reject::NotRewinding);
    venue.take(rewind(12, "ann"));
    venue.refuse(rewind(12, ""), Reject::NotRewinding);
    venue.refuse(undo(1, 4, 16), Reject::NotRewinding);
    venue.take(rewind(12, "ann"));
    assert_eq!(venue.told::<VaultRewind>()[0].stage, RewindStage::Proposed as u8, "one person is one person");
    // Another block is another proposal.
    venue.take(rewind(11, "bob"));
    assert_eq!(venue.told::<VaultRewind>()[0].stage, RewindStage::Proposed as u8);
    venue.take(rewind(12, "bob"));
    keeps(&mut venue);
    venue.take(rewind(12, "ann"));
    let told = venue.told::<VaultRewind>()[0];
    assert_eq!(
        (told.stage, told.proposed_by, told.agreed_by),
        (RewindStage::Agreed as u8, by("bob"), by("ann"))
    );
    keeps(&mut venue);

    // The last first, and only what stood above.
    venue.refuse(undo(1, 3, 15), Reject::Malformed);
    venue.refuse(undo(1, 4, 12), Reject::NotRewinding);
    venue.refuse(UndoEvent { is_deposit: 2, ..undo(0, 0, 15) }, Reject::Malformed);
    venue.take(undo(1, 4, 16));
    assert_eq!(venue.engine.held_deposits(CHAIN, &VAULT).count(), 0);
    venue.refuse(UndoEvent { account: [0x99; 20], ..undo(1, 3, 15) }, Reject::AccountNotFound);
    venue.refuse(UndoEvent { asset: by_asset("NONE"), ..undo(1, 3, 15) }, Reject::MarketNotFound);
    venue.refuse(UndoEvent { amount: (-1).into(), ..undo(1, 3, 15) }, Reject::InvalidAmount);
    venue.refuse(UndoEvent { amount: i128::MAX.into(), ..undo(1, 3, 15) }, Reject::InvalidAmount);
    venue.take(undo(1, 3, 15));
    venue.take(undo(1, 2, 15));
    assert_eq!(venue.engine.deposits(CHAIN, &VAULT), 1);
    assert_eq!(available(&venue, 1, "DF"), before, "what was credited stays so");
    let df = venue.engine.asset(&by_asset("DF")).unwrap();
    assert_eq!(venue.engine.deposit_claim(1, df), 20 * AMOUNT_UNIT);
    let of = |told: &Withdrawal, account| UndoEvent {
        withdrawal: told.withdrawal,
        account: address(account),
        token: told.token,
        ledger: told.ledger,
        amount: told.amount,
        requested_at_s: told.requested_at_s,
        deadline_s: told.deadline_s,
        ..undo(0, told.nonce, 15)
    };
    venue.refuse(UndoEvent { number: 1, ..of(&asked, 1) }, Reject::Malformed);
    venue.refuse(UndoEvent { withdrawal: 99, ..of(&asked, 1) }, Reject::WithdrawalStateDiffers);
    venue.take(of(&asked, 1));
    let told = venue.told::<Withdrawal>()[0];
    assert_eq!((told.status, told.nonce), (WithdrawalStatus::Signed as u8, 0));
    assert_eq!(venue.holds(1, Ledger::Spot).1, 1_025 * AMOUNT_UNIT);
    venue.refuse(of(&asked, 1), Reject::Malformed);
    venue.take(UndoEvent { asset: by_asset("USDT"), ..of(&perpetual, 2) });
    assert_eq!(venue.holds(2, Ledger::Perpetual), (950 * AMOUNT_UNIT, 50 * AMOUNT_UNIT));
    keeps(&mut venue);
    venue.take(rewind(12, ""));
    assert_eq!(venue.told::<VaultRewind>()[0].stage, RewindStage::Done as u8);
    assert_eq!(venue.engine.chain_cursor(CHAIN, &VAULT), Some((12, START_S + 12)));
    venue.refuse(undo(1, 1, 15), Reject::NotRewinding);
    keeps(&mut venue);

    // Mined again, in another order, one of them not at all: nothing is credited twice, and what is new is.
    venue.take(RecordDeposit { block: 13, ..deposit(2, address(1), DF, 15 * AMOUNT_UNIT as u128) });
    assert_eq!(available(&venue, 1, "DF"), before);
    venue.take(RecordDeposit { block: 13, ..deposit(3, address(2), DF, 15 * AMOUNT_UNIT as u128) });
    assert_eq!(available(&venue, 2, "DF"), GIVEN + 15 * AMOUNT_UNIT, "another account owes nothing");
    venue.take(RecordDeposit { block: 14, ..deposit(4, address(1), DF, 15 * AMOUNT_UNIT as u128) });
    assert_eq!(available(&venue, 1, "DF"), before + 10 * AMOUNT_UNIT);
    assert_eq!(venue.told::<Deposit>()[0].amount.get(), 10 * AMOUNT_UNIT);
    venue.take(RecordRelease { block: 14, ..release(1, Ledger::Spot, 100, 0) });
    venue.take(advance(30, START_S + 100_000));
    assert_eq!(venue.holds(2, Ledger::Perpetual), (GIVEN, 0), "what is not paid again expires");
    keeps(&mut venue);
}

/// A disputed withdrawal whose release the chain undoes is on its way again; a release of nobody is only counted back.
#[test]
fn an_undone_dispute_is_none() {
    let mut venue = open();
    venue.take(advance(10, START_S + 10));
    venue.take(request(1, Ledger::Spot, 100));
    venue.sign(1);
    venue.take(RecordRelease { block: 15, ..release(1, Ledger::Spot, 99, 0) });
    venue.take(RecordRelease { block: 15, ..release(2, Ledger::Spot, 5, 0) });
    venue.take(advance(20, START_S + 20));
    let rewind = |name: &str| RewindVault {
        chain_id: CHAIN,
        vault: VAULT,
        reserved: 0,
        block: 10,
        hash: [10; 32],
        time_s: START_S + 10,
        operator: padded(name).unwrap(),
    };
    venue.take(rewind("ann"));
    venue.take(rewind("bob"));
    for account in [1, 2] {
        venue.take(UndoEvent {
            withdrawal: 0,
            account: address(account),
            vault: VAULT,
            token: DF,
            asset: by_asset("DF"),
            ledger: 0,
            is_deposit: 0,
            amount: 0.into(),
            chain_id: CHAIN,
            number: 0,
            requested_at_s: 0,
            deadline_s: 0,
            block: 15,
        });
        assert_eq!(venue.engine.released(CHAIN, &VAULT, address(account)), 0);
    }
    venue.take(rewind(""));
    keeps(&mut venue);
    venue.take(release(1, Ledger::Spot, 100, 0));
    assert_eq!(venue.status(1), None, "it is confirmed");
    keeps(&mut venue);
}

fn by_asset(name: &str) -> [u8; 10] {
    padded(name).unwrap()
}
