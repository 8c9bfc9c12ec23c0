//! Windows after a recovery (`risk.md` 16): every market takes cancels only, then only orders that cannot trade, then
//! everything; rules that are switched on (19); the ledger proof (20); the alarm of a deficit (12.5).

use crate::support::perpetual::*;
use ringside_core::command::*;
use ringside_core::event::{
    self, PerpetualLedger, PerpetualStateChanged, PoolDeficit, SpotLedger, StateHash,
};
use ringside_core::ids::{ALL_MARKETS, padded};
use ringside_core::reject::Reject;

fn window(venue: &mut Venue, parameter: PerpetualParameter, value: i64) {
    venue.ok(SetPerpetualParameter { market: ALL_MARKETS, parameter: parameter as u32, value });
}

fn states(venue: &Venue) -> Vec<(u8, u8)> {
    venue.said::<PerpetualStateChanged>().iter().map(|changed| (changed.state, changed.set)).collect()
}

/// Two traders around 60,000, windows of 3 s and 2 s.
fn venue() -> (Venue, u32, u32) {
    let mut venue = Venue::trading("60000");
    let (alice, bob) = (venue.account("100000"), venue.account("100000"));
    window(&mut venue, PerpetualParameter::RecoveryCancelOnlyMs, 3_000);
    window(&mut venue, PerpetualParameter::RecoveryPostOnlyMs, 2_000);
    (venue, alice, bob)
}

#[test]
fn makers_can_pull_and_quote_before_anyone_takes() {
    let (mut venue, alice, bob) = venue();
    let resting = venue.buy(alice, "1", "59900");
    let stop = PlacePerpetual {
        order_type: PerpetualOrderType::StopMarket as u8,
        price: 0,
        stop_price: dec("59990"),
        ..venue.limit(bob, Side::Sell, "0.5", "0")
    };
    let stop = venue.ok(stop).order;
    venue.ok(OpenEpoch { epoch: 1, reserved: 0 });
    assert_eq!(states(&venue), [(PerpetualState::CancelOnly as u8, PerpetualState::Trading as u8)]);
    let take = venue.limit(bob, Side::Sell, "1", "59900");
    assert_eq!(venue.refused(take), Reject::StateRefuses);
    let post = PlacePerpetual { time_in_force: 2, ..venue.limit(bob, Side::Sell, "1", "60100") };
    assert_eq!(venue.refused(post), Reject::StateRefuses);
    // The price that a stop waits for comes; it is run once markets match again.
    venue.mark("59980");
    assert!(venue.ends().is_empty());
    venue.ok(CancelPerpetual {
        account: alice,
        market: BTC,
        order: resting,
        client_order: [0; 36],
        classes: 3,
    });
    venue.tick();
    assert!(states(&venue).is_empty());
    venue.tick();
    assert_eq!(states(&venue), [(PerpetualState::PostOnly as u8, PerpetualState::Trading as u8)]);
    let take = venue.limit(bob, Side::Sell, "1", "59900");
    assert_eq!(venue.refused(take), Reject::StateRefuses);
    let quote = PlacePerpetual { time_in_force: 2, ..venue.limit(alice, Side::Buy, "1", "59950") };
    venue.ok(quote);
    venue.reload();
    venue.tick();
    venue.tick();
    assert_eq!(states(&venue), [(PerpetualState::Trading as u8, PerpetualState::Trading as u8)]);
    venue.tick();
    venue.sell(bob, "0.2", "59950");
    let position = venue.engine.perpetual_position(alice, BTC).unwrap();
    // Bob's stop has sold its half by now, and 0.2 besides.
    assert_eq!(position.quantity, dec("0.7"), "{stop} {position:?}");
}

#[test]
fn nobody_takes_in_the_windows_of_a_market_that_only_reduces() {
    let (mut venue, alice, bob) = venue();
    open(&mut venue, alice, bob, Side::Buy, "1", "60000");
    venue.buy(bob, "1", "59900");
    let set = PerpetualState::ReduceOnly as u8;
    venue.ok(SetPerpetualState { market: BTC, state: set, reserved: [0; 3] });
    let take = |venue: &mut Venue| {
        let flags = order_flag::REDUCE_ONLY;
        PlacePerpetual { flags, ..venue.limit(alice, Side::Sell, "0.5", "59900") }
    };
    venue.ok(OpenEpoch { epoch: 1, reserved: 0 });
    assert_eq!(states(&venue), [(PerpetualState::CancelOnly as u8, set)]);
    // Three seconds of cancels, then two in which nothing matches either.
    for _ in 0..5 {
        let refused = take(&mut venue);
        assert_eq!(venue.refused(refused), Reject::StateRefuses);
        assert!(states(&venue).is_empty());
        venue.tick();
    }
    assert_eq!(states(&venue), [(set, set)]);
    let taken = take(&mut venue);
    venue.ok(taken);
    assert_eq!(held(&venue, alice), dec("0.5"));
}

#[test]
fn what_an_administrator_set_holds_if_it_is_stricter() {
    let (mut venue, ..) = venue();
    venue.ok(SetPerpetualState { market: BTC, state: PerpetualState::ReduceOnly as u8, reserved: [0; 3] });
    venue.ok(OpenEpoch { epoch: 1, reserved: 0 });
    assert_eq!(states(&venue), [(PerpetualState::CancelOnly as u8, PerpetualState::ReduceOnly as u8)]);
    // In the second window nothing matches, and what opens may not enter: cancels alone as before.
    for _ in 0..4 {
        venue.tick();
        assert!(states(&venue).is_empty());
    }
    venue.tick();
    assert_eq!(states(&venue), [(PerpetualState::ReduceOnly as u8, PerpetualState::ReduceOnly as u8)]);
    venue.ok(SetPerpetualState { market: BTC, state: PerpetualState::Halted as u8, reserved: [0; 3] });
    venue.ok(OpenEpoch { epoch: 2, reserved: 0 });
    assert!(states(&venue).is_empty(), "a halted market stays halted");
}

/// As shipped, with windows of 0, a recovery is not seen; and a snapshot without windows is what it always was.
#[test]
fn without_windows_nothing_changes() {
    let mut venue = Venue::trading("60000");
    venue.ok(OpenEpoch { epoch: 1, reserved: 0 });
    assert_eq!(venue.events.len(), 1, "{:?}", venue.events);
    let before = venue.engine.state_hash();
    window(&mut venue, PerpetualParameter::RecoveryPostOnlyMs, 1);
    assert_ne!(before, venue.engine.state_hash());
    assert_eq!(
        venue.refused(SetPerpetualParameter { market: ALL_MARKETS, parameter: 41, value: 3_600_001 }),
        Reject::ParameterOutOfRange
    );
    assert_eq!(
        venue.refused(SetPerpetualParameter { market: BTC, parameter: 42, value: 5 }),
        Reject::MarketNotFound
    );
}

/// Cross liquidation goes on in CANCEL_ONLY, past the book (`risk.md` 16).
#[test]
fn liquidation_skips_the_book_in_a_window() {
    let (mut venue, alice, bob) = venue();
    let poor = venue.account("1600");
    venue.fund("50000");
    venue.sell(alice, "0.5", "60000");
    venue.buy(poor, "0.5", "60000");
    venue.buy(bob, "1", "58000");
    venue.ok(OpenEpoch { epoch: 1, reserved: 0 });
    venue.mark("56500");
    assert!(venue.fills().is_empty(), "nothing matches");
    let steps: Vec<u8> = venue.said::<event::Liquidation>().iter().map(|step| step.step).collect();
    assert!(steps.contains(&(event::LiquidationStep::Fund as u8)), "{steps:?}");
}

#[test]
fn rules_are_switched_on_in_order_and_for_good() {
    let mut venue = Venue::trading("60000");
    for rule in [0, 2, 9] {
        assert_eq!(venue.refused(ActivateRule { rule, value: 0 }), Reject::Malformed, "rule {rule}");
    }
    venue.ok(ActivateRule { rule: 1, value: 0 });
    assert_eq!(venue.said::<event::RuleActivated>()[0].rule, rule::STRICT_MARK_CLAMP);
    assert_eq!(venue.refused(ActivateRule { rule: 1, value: 0 }), Reject::Malformed, "only once");
    venue.reload();
    assert_eq!(venue.refused(ActivateRule { rule: 1, value: 0 }), Reject::Malformed, "it is in the snapshot");
}

/// `risk.md` 2: every bound that follows from the brackets, with the largest value that is taken and the next.
#[test]
fn rates_are_bound_by_the_brackets() {
    use PerpetualParameter::*;
    let mut venue = Venue::trading("60000");
    for (parameter, most) in [(MarkClamp, 398_009), (LiquidationFee, 399_999), (FundingCap, 300_000)] {
        let mut set = SetPerpetualParameter { market: BTC, parameter: parameter as u32, value: most };
        venue.ok(set);
        set.value = most + 1;
        assert_eq!(venue.refused(set), Reject::ParameterOutOfRange, "{parameter:?}");
        set.value = -1;
        assert_eq!(venue.refused(set), Reject::ParameterOutOfRange, "{parameter:?}");
    }
    // Brackets that leave less room than what is set uses up.
    let mut brackets = SetBrackets { market: BTC, count: 1, caps: [0; 8], leverages: [0; 8], rates: [0; 8] };
    (brackets.caps[0], brackets.leverages[0], brackets.rates[0]) = (50_000 * USDT, 125, 402_000);
    assert_eq!(venue.refused(brackets), Reject::ParameterOutOfRange, "the clamp");
    brackets.rates[0] = 399_999;
    assert_eq!(venue.refused(brackets), Reject::ParameterOutOfRange, "the fee of liquidations");
    brackets.rates[0] = 400_000;
    venue.ok(brackets);
    // Not the lowest bracket alone: of the second 0.1 % of its cap would be spare.
    (brackets.count, brackets.caps[1], brackets.leverages[1], brackets.rates[1]) =
        (2, 500_000 * USDT, 100, 955_500);
    assert_eq!(venue.refused(brackets), Reject::ParameterOutOfRange);
}

/// Both sides of every ledger, from all accounts, at a stated sequence, with the hash of that state.
#[test]
fn the_ledger_is_proved() {
    let (mut venue, alice, bob) = venue();
    venue.fund("50000");
    let mut address = [9; 20];
    address[..4].copy_from_slice(&alice.to_le_bytes());
    venue.ok(Credit {
        address,
        asset: padded("USDT").unwrap(),
        reserved: 0,
        amount: 7_000_000_000_000_000_000_000_i128.into(),
        reason: [0; 64],
    });
    venue.ok(SetMarginMode { account: bob, market: BTC, mode: 1, reserved: 0 });
    venue.buy(alice, "0.5", "60000");
    venue.sell(bob, "0.3", "60000");
    venue.ok(TransferPerpetual { account: alice, reserved: 0, amount: usd("1000") });
    venue.mark("60100");
    let hash_before = venue.engine.state_hash();
    venue.ok(ProveLedger {});
    let ledger = venue.said::<PerpetualLedger>()[0];
    let left = ledger.wallets.get() + ledger.isolated.get() - ledger.costs.get()
        + i128::from(ledger.fund + ledger.fees + ledger.affiliates);
    assert_eq!(left, ledger.deposits.into());
    assert_eq!(ledger.deposits, usd("251000"));
    assert!(ledger.isolated.get() > 0 && ledger.fees > 0 && ledger.fund == usd("50000"));
    let balance = venue.auditor.balance();
    assert_eq!((balance.wallets, balance.costs), (ledger.wallets.get(), ledger.costs.get()));
    let spot = venue.said::<SpotLedger>();
    let usdt = spot.iter().find(|row| row.asset == ledger.asset).unwrap();
    assert_eq!(usdt.available.get() + usdt.frozen.get(), usdt.credited.get());
    assert_eq!(usdt.credited.get(), 6_000_000_000_000_000_000_000);
    let told = venue.said::<StateHash>()[0].hash;
    assert_eq!(told, venue.engine.state_hash(), "the hash is that of the state after this command");
    assert_ne!(told, hash_before, "which has another sequence");
}

/// The alarm of a deficit is told when it begins and when it ends, and stands for what the pool is flagged with. Here a market
/// is settled far below its mark, as its index was there until just now, and a long loses more than its wallet bears: the fund
/// clears it, and has nothing. Who sold to it has its gain already, and the settlement pays nobody who could give back of it.
#[test]
fn a_deficit_raises_an_alarm_once_and_ends_it_once() {
    let mut venue = Venue::trading("58000");
    let (long, maker) = (venue.account("330"), venue.account("1000000"));
    let bidder = venue.account("1000000");
    (0..10).for_each(|_| venue.tick());
    venue.sell(bidder, "0.5", "58000");
    venue.buy(maker, "0.5", "58000");
    venue.mark("60000");
    venue.ok(SetLeverage { account: long, market: BTC, leverage: 100, reserved: 0 });
    venue.sell(maker, "0.5", "60000");
    venue.buy(long, "0.5", "60000");
    venue.ok(SetPerpetualState { market: BTC, state: PerpetualState::Closed as u8, reserved: [0; 3] });
    let fund = venue.engine.perpetual_wallet(0);
    assert!(fund < 0 && venue.engine.perpetual_wallet(long) == 0, "the fund paid: {fund}");
    let alarms = venue.said::<PoolDeficit>();
    assert_eq!(alarms, [PoolDeficit { deficit: 1, wallet: fund, equity: fund }]);
    assert_eq!(venue.engine.perpetual_pools().map(|pools| pools.deficit), Some(1));
    // Who is paid by nobody takes nothing out meanwhile (`risk.md` 12.5).
    let out = TransferPerpetual { account: bidder, reserved: 0, amount: -usd("1") };
    assert_eq!(venue.refused(out), Reject::WithdrawalsPaused);
    venue.tick();
    assert!(venue.said::<PoolDeficit>().is_empty(), "it is told once");
    venue.reload();
    venue.fund("1000");
    let alarms: Vec<_> =
        venue.said::<PoolDeficit>().iter().map(|alarm| (alarm.deficit, alarm.wallet)).collect();
    assert_eq!(alarms, [(0, usd("1000") + fund)]);
    venue.ok(out);
}
