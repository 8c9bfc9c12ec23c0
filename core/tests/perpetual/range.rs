//! Prices at which what is open cannot be valued count as none (`risk.md` 1: a failure rejects the command before a field changes):
//! whoever sends one, an operator or a lone source, stops neither the engine nor the market for longer than it lasts.

use crate::support::perpetual::*;
use ringside_core::command::*;
use ringside_core::event::{self, IndexState};
use ringside_core::reject::Reject;

/// 10 000 BTC long, at 0.1 each: 10^13 quote at a price of 10^9, more than an amount of money can be.
fn wide() -> Venue {
    let mut venue = Venue::trading("0.1");
    no_fees(&mut venue);
    venue.ok(SetPerpetualParameter {
        market: BTC,
        parameter: PerpetualParameter::MinNotional as u32,
        value: 0,
    });
    let (trader, maker) = (venue.account("1000"), venue.account("100000"));
    for _ in 0..10 {
        open(&mut venue, trader, maker, Side::Buy, "1000", "0.1");
    }
    assert_eq!(held(&venue, trader), dec("10000"));
    venue
}

fn manual(venue: &mut Venue, price: &str) -> Option<Reject> {
    venue.give(SetManualPrice { market: BTC, moves_band: 0, price: dec(price) }).rejected()
}

/// Index, mark and where the index comes from, if the last command moved one.
fn told(venue: &Venue) -> Option<(i64, i64, u8)> {
    let told = venue.said::<event::PerpetualPrice>();
    told.last().map(|last| (last.index, last.mark, last.index_state))
}

#[test]
fn an_operator_is_refused_a_price_at_which_what_is_open_cannot_be_valued() {
    let mut venue = wide();
    assert_eq!(manual(&mut venue, "1000000000"), Some(Reject::InvalidPrice));
    venue.tick();
    assert!(venue.said::<event::PerpetualPrice>().is_empty(), "nothing moves");
    // A market has its share of two trillion quote: 200 000 000 x 10 000 here.
    assert_eq!(manual(&mut venue, "200000000.00000001"), Some(Reject::InvalidPrice));
    venue.list_second();
    assert_eq!(manual(&mut venue, "100000000.00000001"), Some(Reject::InvalidPrice));
    assert_eq!(manual(&mut venue, "100000000"), None);
    venue.tick();
    assert_eq!(told(&venue), Some((dec("100000000"), dec("100000000"), IndexState::Manual as u8)));
    // Down it goes wherever it was, and with nothing open to any price.
    assert_eq!(manual(&mut venue, "0.1"), None);
    venue.tick();
    let mut empty = Venue::trading("0.1");
    assert_eq!(manual(&mut empty, "1000000000"), None);
}

#[test]
fn a_source_is_not_followed_there_and_is_again_when_it_comes_back() {
    let mut venue = wide();
    venue.ok(SetSource { market: BTC, source: 1, weight: 1, stale_ms: 0 });
    let feed = |venue: &mut Venue, price: &str| {
        venue.ok(FeedPrice { market: BTC, source: 1, price: dec(price) });
        venue.tick();
    };
    assert_eq!(manual(&mut venue, "0"), None);
    feed(&mut venue, "0.2");
    assert_eq!(told(&venue), Some((dec("0.2"), dec("0.2"), IndexState::Single as u8)));
    feed(&mut venue, "1000000000");
    assert_eq!(told(&venue), Some((dec("0.2"), dec("0.2"), IndexState::Held as u8)));
    for _ in 0..60 {
        feed(&mut venue, "1000000000");
    }
    assert_eq!(told(&venue), None, "held for 60 s");
    feed(&mut venue, "1000000000");
    assert_eq!(told(&venue), Some((dec("0.2"), dec("0.2"), IndexState::Stale as u8)));
    feed(&mut venue, "0.3");
    assert_eq!(told(&venue), Some((dec("0.3"), dec("0.3"), IndexState::Single as u8)));
}

#[test]
fn a_market_settles_at_the_last_index_where_what_is_open_cannot_be_valued_at_the_mean() {
    let mut venue = Venue::trading("1000000000");
    no_fees(&mut venue);
    // Long enough to count, and long enough after it for the dynamic band to have forgotten.
    (0..300).for_each(|_| venue.tick());
    venue.mark("0.1");
    (0..600).for_each(|_| venue.tick());
    let (trader, maker) = (venue.account("1000"), venue.account("100000"));
    for _ in 0..10 {
        open(&mut venue, trader, maker, Side::Buy, "1000", "0.1");
    }
    assert_eq!(held(&venue, trader), dec("10000"));
    venue.mark("0.2");
    venue.ok(SetPerpetualState { market: BTC, state: PerpetualState::Closed as u8, reserved: [0; 3] });
    let settled: Vec<_> = venue.said::<event::PerpetualStateChanged>();
    assert_eq!(settled.last().unwrap().settlement_price, dec("0.2"));
    assert_eq!(venue.engine.perpetual_wallet(trader), usd("2000"));
    assert_eq!(venue.engine.perpetual_wallet(maker), usd("99000"));
}

#[test]
fn no_more_is_open_than_one_account_may_hold() {
    // 12.5: the fund may have to take all of it. In a market at 0.1 ten billion are worth one billion.
    let mut venue = Venue::trading("0.1");
    no_fees(&mut venue);
    for (parameter, value) in [
        (PerpetualParameter::MaxQuantity, dec("10000000000")),
        (PerpetualParameter::MaxNotional, usd("1000000000")),
    ] {
        venue.ok(SetPerpetualParameter { market: BTC, parameter: parameter as u32, value });
    }
    one_bracket(&mut venue, BTC, 1_000_000);
    let trader = |venue: &mut Venue| {
        let account = venue.account("1100000000");
        leverage(venue, account, 1);
        account
    };
    let shorts: Vec<u32> = (0..9).map(|_| trader(&mut venue)).collect();
    let longs: Vec<u32> = (0..9).map(|_| trader(&mut venue)).collect();
    let last = trader(&mut venue);
    let rest = venue.limit(last, Side::Buy, "0.001", "0.1");
    for (&short, &long) in shorts.iter().zip(&longs) {
        open(&mut venue, short, long, Side::Sell, "10000000000", "0.1");
    }
    // Neither what would rest nor what would take; what closes goes on.
    assert_eq!(venue.refused(rest), Reject::ExceedsBracket);
    let bid = venue.buy(shorts[0], "0.002", "0.1");
    let take = venue.limit(last, Side::Sell, "0.001", "0.1");
    assert_eq!(venue.refused(take), Reject::ExceedsBracket);
    venue.sell(longs[0], "0.001", "0.1");
    assert_eq!(venue.fills()[0].maker_order, bid);
    // The shorts lose twice what they had, and the fund takes them all: more than half of what a word holds.
    venue.fund("50000000000");
    venue.mark("0.3");
    venue.tick();
    venue.tick();
    assert!(shorts.iter().all(|&short| held(&venue, short) == 0));
    assert_eq!(held(&venue, 0), dec("-89999999999.999"));
}

#[test]
fn a_step_of_any_size_is_judged() {
    let mut venue = Venue::trading("60000");
    for parameter in [PerpetualParameter::Tick, PerpetualParameter::Lot] {
        for value in [1 << 61, i64::MAX / 4 + 1, i64::MAX] {
            let set = SetPerpetualParameter { market: BTC, parameter: parameter as u32, value };
            assert!(matches!(
                venue.give(set).rejected(),
                None | Some(Reject::StepsDoNotFit | Reject::ParameterOutOfRange)
            ));
        }
    }
}
