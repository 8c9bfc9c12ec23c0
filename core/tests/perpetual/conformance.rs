//! Sentences of `risk.md` and `perpetual.md` that no vector shows, each driven through the engine by itself.

use crate::support::perpetual::*;
use ringside_core::command::*;
use ringside_core::event;
use ringside_core::ids::ALL_MARKETS;
use ringside_core::reject::Reject;
use zerocopy::FromZeros;

fn set(venue: &mut Venue, parameter: PerpetualParameter, value: i64) {
    venue.ok(SetPerpetualParameter { market: BTC, parameter: parameter as u32, value });
}

fn isolate(venue: &mut Venue, account: u32) {
    venue.ok(SetMarginMode { account, market: BTC, mode: MarginMode::Isolated as u32, reserved: 0 });
}

/// An order of another type.
fn of_type(place: PlacePerpetual, order_type: PerpetualOrderType) -> PlacePerpetual {
    PlacePerpetual { order_type: order_type as u8, price: 0, ..place }
}

#[test]
fn a_taker_stops_before_a_fill_that_leaves_it_below_maintenance_also_where_it_closes() {
    // 6: otherwise a loss would be moved to another account, and the fund would pay it.
    for isolated in [false, true] {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        venue.fund("50000");
        let (trader, maker, friend) =
            (venue.account("1000"), venue.account("1000000"), venue.account("1000000"));
        if isolated {
            isolate(&mut venue, trader);
        }
        leverage(&mut venue, trader, 50);
        open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
        venue.buy(friend, "0.1", "59900");
        venue.buy(friend, "0.4", "57000");
        let place = venue.limit(trader, Side::Sell, "0.5", "57000");
        let order = venue.ok(PlacePerpetual { flags: order_flag::REDUCE_ONLY, ..place }).order;
        assert_eq!(held(&venue, trader), dec("0.4"));
        assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 10, dec("0.1"))]);
        assert_eq!(venue.engine.perpetual_wallet(0), usd("50000"));
    }
}

#[test]
fn a_resting_order_that_closes_below_maintenance_ends_before_the_fund_pays_for_it() {
    // perpetual.md 12: "A fill that would leave equity below maintenance margin is refused: that order ends EXPIRED, reason 10". W = 300,
    // long 0.5 at 60 000. Sold at 57 000 to a friend it would lose 1 500, of which the fund would pay 1 200.
    for isolated in [false, true] {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        venue.fund("50000");
        let (trader, maker, friend) =
            (venue.account("300"), venue.account("1000000"), venue.account("1000000"));
        if isolated {
            isolate(&mut venue, trader);
        }
        leverage(&mut venue, trader, 125);
        open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
        let order = venue.sell(trader, "0.5", "57000");
        venue.buy(friend, "0.5", "57000");
        assert!(venue.fills().is_empty());
        assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 10, 0)]);
        assert_eq!(venue.engine.perpetual_wallet(0), usd("50000"));
        venue.ok(CancelAllPerpetual {
            account: friend,
            market: BTC,
            classes: order_class::ORDINARY,
            reserved: 0,
        });
        // What it loses less than the margin it frees it may sell: 0.5 x 100 of 300 leaves more than nothing.
        venue.sell(trader, "0.5", "59900");
        venue.buy(friend, "0.5", "59900");
        assert_eq!((held(&venue, trader), venue.engine.perpetual_wallet(trader)), (0, usd("250")));
    }
}

#[test]
fn a_stop_that_closes_gets_its_chance_below_maintenance() {
    // 14: triggers come before the scan of the same tick; 6: no fill leaves it lower than it was.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (trader, maker, bidder) = (venue.account("1000"), venue.account("1000000"), venue.account("1000000"));
    leverage(&mut venue, trader, 125);
    open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
    let place = of_type(venue.limit(trader, Side::Sell, "0.5", "0"), PerpetualOrderType::StopMarket);
    let working_type = WorkingType::MarkPrice as u8;
    let stop = venue.ok(PlacePerpetual {
        stop_price: dec("58300"),
        flags: order_flag::REDUCE_ONLY,
        working_type,
        ..place
    });
    venue.mark("58500");
    venue.buy(bidder, "0.2", "58190");
    venue.buy(bidder, "0.3", "58150");
    venue.mark("58200");
    let trades = venue.fills();
    assert_eq!(trades.iter().map(|trade| trade.taker_order).collect::<Vec<_>>(), [stop.order; 2]);
    assert_eq!((held(&venue, trader), venue.engine.perpetual_wallet(trader)), (0, usd("83")));
}

#[test]
fn who_may_not_place_opens_nothing_by_an_order_that_waits() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (one, other) = (venue.account("1000000"), venue.account("1000000"));
    open(&mut venue, one, other, Side::Buy, "0.1", "60000");
    let stop = |venue: &mut Venue, side: Side, flags: u16| {
        let place = of_type(venue.limit(one, side, "0.1", "0"), PerpetualOrderType::StopMarket);
        let stop_price = dec(if side == Side::Buy { "60010" } else { "59990" });
        venue.ok(PlacePerpetual { price: 0, stop_price, flags, ..place }).order
    };
    let opens = stop(&mut venue, Side::Buy, 0);
    let closes = stop(&mut venue, Side::Sell, order_flag::REDUCE_ONLY);
    let turns = stop(&mut venue, Side::Sell, 0);
    venue.ok(SetPerpetualAccount {
        account: one,
        mask: account_mask::TRADING,
        trade_group: -1,
        ..FromZeros::new_zeroed()
    });
    let refusals = |venue: &Venue| {
        let refused = venue.said::<event::TriggerRefused>();
        refused.iter().map(|refused| (refused.order, refused.reject)).collect::<Vec<_>>()
    };
    let disabled = Reject::TradingDisabled.code();
    venue.sell(other, "1", "60010");
    let third = venue.account("1000000");
    venue.buy(third, "0.1", "60010");
    assert_eq!(refusals(&venue), [(opens, disabled)]);
    assert_eq!(venue.ends(), [(opens, PerpetualStatus::Expired, 8, 0)]);
    venue.buy(other, "1", "59990");
    venue.sell(third, "0.1", "59990");
    assert_eq!(refusals(&venue), [(turns, disabled)]);
    assert_eq!(venue.ends(), [(turns, PerpetualStatus::Expired, 8, 0)]);
    let fills = venue.fills();
    assert_eq!(fills.last().map(|fill| (fill.taker_order, fill.quantity)), Some((closes, dec("0.1"))));
    assert_eq!(held(&venue, one), 0);
}

#[test]
fn a_remainder_below_a_new_lot_ends_filled() {
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("1000000"), venue.account("1000000"));
    // At the change: what traded already. What has not stays.
    let partly = venue.sell(one, "0.015", "60000");
    venue.buy(other, "0.012", "60000");
    let untraded = venue.sell(one, "0.005", "60100");
    set(&mut venue, PerpetualParameter::Lot, dec("0.01"));
    assert_eq!(venue.ends(), [(partly, PerpetualStatus::Filled, 0, dec("0.012"))]);
    assert_eq!(venue.engine.perpetual_orders().map(|order| order.order).collect::<Vec<_>>(), [untraded]);
    venue.ok(CancelPerpetual {
        account: one,
        market: BTC,
        order: untraded,
        classes: order_class::ORDINARY,
        client_order: [0; 36],
    });
    // At a fill: of who rests, and of who arrives.
    set(&mut venue, PerpetualParameter::Lot, dec("0.001"));
    let maker = venue.sell(one, "0.025", "60000");
    set(&mut venue, PerpetualParameter::Lot, dec("0.01"));
    venue.buy(other, "0.02", "60000");
    assert_eq!(venue.ends(), [(maker, PerpetualStatus::Filled, 0, dec("0.02"))]);
    set(&mut venue, PerpetualParameter::Lot, dec("0.001"));
    venue.sell(one, "0.015", "60000");
    set(&mut venue, PerpetualParameter::Lot, dec("0.01"));
    let taker = venue.buy(other, "0.02", "60000");
    assert_eq!(venue.ends(), [(taker, PerpetualStatus::Filled, 0, dec("0.015"))]);
    assert_eq!(venue.engine.perpetual_orders().count(), 0);
}

/// An order that trades where a lot has changed, of a position of 1.5 lots: how orders end, each once.
#[test]
fn what_is_less_than_a_new_lot_ends_once() {
    let begin = || {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        venue.fund("50000");
        let [one, other, bidder] = ["1000000"; 3].map(|wallet| venue.account(wallet));
        open(&mut venue, one, other, Side::Buy, "0.015", "60000");
        (venue, one, other, bidder)
    };
    let coarse = |venue: &mut Venue| set(venue, PerpetualParameter::Lot, dec("0.01"));

    // What the shrink rule cuts below a lot stays, closes the position, and ends by it; who meets it has less than a lot left.
    let (mut venue, one, other, bidder) = begin();
    let place = venue.limit(one, Side::Sell, "0.015", "60100");
    let bound = venue.ok(PlacePerpetual { flags: order_flag::REDUCE_ONLY, ..place }).order;
    coarse(&mut venue);
    venue.buy(bidder, "0.01", "60000");
    venue.sell(one, "0.01", "60000");
    assert_eq!((venue.ends(), held(&venue, one)), (vec![], dec("0.005")));
    let taker = venue.buy(other, "0.01", "60100");
    let both = [
        (bound, PerpetualStatus::Expired, 4, dec("0.005")),
        (taker, PerpetualStatus::Filled, 0, dec("0.005")),
    ];
    assert_eq!((venue.ends(), held(&venue, one)), (both.to_vec(), 0));
    assert_eq!(venue.engine.perpetual_orders().count(), 0);

    // A stop that closes takes what there is; it is filled where less than a lot is left of it.
    for (bid, executed) in [("0.01", "0.01"), ("0.02", "0.015")] {
        let (mut venue, one, other, bidder) = begin();
        let place = of_type(venue.limit(one, Side::Sell, "0", "0"), PerpetualOrderType::StopMarket);
        let stop_price = dec("59990");
        let flags = order_flag::CLOSE_POSITION;
        let stop = venue.ok(PlacePerpetual { stop_price, flags, ..place }).order;
        coarse(&mut venue);
        venue.buy(bidder, "0.01", "59990");
        let maker = venue.buy(bidder, bid, "59980");
        venue.sell(other, "0.01", "59990");
        let fills = venue.fills();
        let last = fills.last().unwrap();
        assert_eq!((last.taker_order, last.quantity), (stop, dec(executed)));
        // Its trade tells of the one that is filled, and then less than a lot is left of the bid.
        let left = if bid == "0.01" { stop } else { maker };
        assert_eq!(venue.ends(), [(left, PerpetualStatus::Filled, 0, dec(executed))]);
        assert_eq!(last.flags >> 1, u8::from(bid == "0.02"));
        assert_eq!(held(&venue, one), dec("0.015") - dec(executed));
    }

    // In place and anew a modification leaves less than a lot of what has traded.
    for price in ["60100", "60200"] {
        let (mut venue, one, other, bidder) = begin();
        let order = venue.sell(one, "0.035", "60100");
        venue.buy(bidder, "0.015", "60100");
        coarse(&mut venue);
        venue.ok(ModifyPerpetual {
            account: one,
            market: BTC,
            order,
            price: dec(price),
            quantity: dec("0.02"),
            side: 255,
            price_match: 0,
            flags: 0,
            client_order: [0; 36],
        });
        assert_eq!(venue.ends(), [(order, PerpetualStatus::Filled, 0, dec("0.015"))]);
        assert_eq!(venue.engine.perpetual_orders().count(), 0);
        assert_eq!(held(&venue, other), dec("-0.015"));
    }

    // A liquidation's order is filled whole, by the book, and by the fund what is less than a lot; where what the book took is enough,
    // less than a lot is left of it.
    for (price, is_cured) in [("59000", true), ("58700", false)] {
        let (mut venue, _, other, bidder) = begin();
        let poor = venue.account("20");
        leverage(&mut venue, poor, 125);
        open(&mut venue, poor, other, Side::Buy, "0.015", "60000");
        coarse(&mut venue);
        venue.buy(bidder, "0.01", price);
        venue.mark(if is_cured { "58800" } else { "58700" });
        let trades = venue.said::<event::PerpetualTrade>();
        let told: Vec<_> =
            trades.iter().map(|trade| (trade.cause, trade.quantity, trade.flags >> 1)).collect();
        let order = trades[0].taker_order;
        if is_cured {
            assert_eq!(told, [(1, dec("0.01"), 0)]);
            assert_eq!(venue.ends(), [(order, PerpetualStatus::Filled, 0, dec("0.01"))]);
            assert_eq!(held(&venue, poor), dec("0.005"));
        } else {
            assert_eq!(told, [(1, dec("0.01"), 0), (2, dec("0.005"), 1)]);
            assert_eq!((venue.ends(), held(&venue, poor)), (vec![], 0));
        }
    }

    // And a position is settled whole.
    let (mut venue, one, other, _) = begin();
    coarse(&mut venue);
    venue.ok(SetPerpetualState { market: BTC, state: PerpetualState::Closed as u8, reserved: [0; 3] });
    let trades = venue.said::<event::PerpetualTrade>();
    assert_eq!(trades.iter().map(|trade| trade.quantity).collect::<Vec<_>>(), [dec("0.015"); 2]);
    assert_eq!((held(&venue, one), held(&venue, other), venue.ends()), (0, 0, vec![]));
}

#[test]
fn an_isolated_wallet_that_funding_empties_is_filled_up_by_its_positions_profit() {
    // 3: IW >= 0 after every command. What it lacks comes out of what the position has won; of the fund (8) nothing, which otherwise
    // would pay for every position that is worth more than it cost, for as long as that lasts.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.fund("50000");
    let (trader, maker) = (venue.account("1000"), venue.account("1000000"));
    isolate(&mut venue, trader);
    leverage(&mut venue, trader, 125);
    open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
    venue.mark("61000");
    venue.buy(maker, "2", "61600");
    venue.every = 1000;
    let before = venue.engine.perpetual_position(trader, BTC).unwrap().isolated_wallet;
    assert_eq!(before, usd("240"));
    let (mut paid, mut realised, mut residues) = (0, 0, 0);
    for _ in 0..12 * 720 {
        venue.time_ms += 5_000;
        venue.ok(AdvanceTime {});
        for posting in venue.said::<event::Posting>() {
            match event::PostingReason::from_code(posting.reason) {
                Some(event::PostingReason::FundingFee) if posting.account == trader => paid -= posting.amount,
                Some(event::PostingReason::RealisedProfit) => realised += posting.amount,
                Some(event::PostingReason::FundingResidue) => residues += posting.amount,
                reason => assert_eq!(reason, Some(event::PostingReason::FundingFee)),
            }
        }
    }
    let after = venue.engine.perpetual_position(trader, BTC).unwrap();
    assert!(paid > before, "{paid}");
    assert_eq!((after.quantity, after.isolated_wallet), (dec("0.5"), 0));
    assert_eq!((realised, after.realised), (paid - before, paid - before));
    assert_eq!(after.cost, usd("30000") + realised);
    assert_eq!(venue.engine.perpetual_wallet(trader), usd("760"));
    assert_eq!(venue.engine.perpetual_wallet(0), usd("50000") + residues);
}

#[test]
fn lot_size_of_a_reduce_only_order_is_judged_after_the_clamp() {
    let mut venue = Venue::trading("60000");
    let (trader, maker) = (venue.account("1000000"), venue.account("1000000"));
    open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
    let flags = order_flag::REDUCE_ONLY;
    let place = venue.limit(trader, Side::Sell, "5000", "60100");
    let order = venue.ok(PlacePerpetual { flags, ..place }).order;
    let told = venue.engine.perpetual_orders().find(|told| told.order == order).unwrap();
    assert_eq!(told.quantity, dec("0.5"));
    let place = of_type(venue.limit(trader, Side::Sell, "5000", "0"), PerpetualOrderType::Market);
    venue.ok(PlacePerpetual { flags, ..place });
    // Flooring that leaves nothing fails before the clamp, and so does what reduces nothing.
    let place = venue.limit(trader, Side::Sell, "0.0005", "60100");
    assert_eq!(venue.refused(PlacePerpetual { flags, ..place }), Reject::QuantityOutOfRange);
    let place = venue.limit(trader, Side::Buy, "5000", "60000");
    assert_eq!(venue.refused(PlacePerpetual { flags, ..place }), Reject::ReduceOnlyRefused);
}

#[test]
fn the_dynamic_band_holds_at_both_ends() {
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("1000000"), venue.account("1000000"));
    venue.mark("53000");
    // Low end 54 000: nobody buys below it either.
    venue.sell(one, "0.1", "53500");
    let order = venue.buy(other, "0.1", "53500");
    assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 11, 0)]);
    venue.time_ms += 300_000;
    venue.mark("53000");
    venue.buy(other, "0.1", "53500");
    assert_eq!(venue.fills().len(), 1);
}

/// C-16: where a price may be put anywhere, what is put moves the band with it, and ends a pause that it had begun.
#[test]
fn a_pin_of_a_test_deployment_moves_the_dynamic_band() {
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("1000000"), venue.account("1000000"));
    let pin = |venue: &mut Venue, price: &str| {
        venue.ok(SetManualPrice { market: BTC, moves_band: 1, price: dec(price) });
        venue.tick();
    };
    for price in ["53000", "70000"] {
        pin(&mut venue, price);
        venue.sell(one, "0.1", price);
        venue.buy(other, "0.1", price);
        assert_eq!(venue.fills().len(), 1, "at {price}");
    }
    // Moved by a feed it binds, and pauses the market.
    venue.mark("60000");
    venue.sell(one, "0.1", "60000");
    let order = venue.buy(other, "0.1", "60000");
    assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 11, 0)]);
    (0..15).for_each(|_| venue.tick());
    let place = venue.limit(other, Side::Buy, "0.1", "60000");
    assert_eq!(venue.refused(place), Reject::StateRefuses);
    pin(&mut venue, "60001");
    venue.reload();
    venue.buy(other, "0.1", "60000");
    assert_eq!(venue.fills().len(), 1);
}

#[test]
fn after_the_pause_of_the_dynamic_band_its_reference_is_the_mark() {
    // 16: "POST_ONLY for 30 s, ref := mark, then TRADING".
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("1000000"), venue.account("1000000"));
    venue.mark("53900");
    venue.buy(one, "0.1", "53850");
    let order = venue.sell(other, "0.1", "53850");
    assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 11, 0)]);
    let states = |venue: &Venue| {
        let changed = venue.said::<event::PerpetualStateChanged>();
        changed.iter().map(|changed| changed.state).collect::<Vec<_>>()
    };
    (0..14).for_each(|_| venue.tick());
    assert!(states(&venue).is_empty());
    venue.tick();
    assert_eq!(states(&venue), [PerpetualState::PostOnly as u8]);
    // 10 % below the mark at which the pause began are 48,510.
    (0..28).for_each(|_| venue.tick());
    venue.mark("48000");
    venue.ok(CancelAllPerpetual { account: one, market: BTC, classes: 3, reserved: 0 });
    let quote = venue.limit(one, Side::Buy, "0.1", "47950");
    venue.ok(PlacePerpetual { time_in_force: 2, ..quote });
    venue.tick();
    assert_eq!(states(&venue), [PerpetualState::Trading as u8]);
    venue.reload();
    venue.sell(other, "0.1", "47950");
    assert!(venue.ends().iter().all(|end| end.2 != 11), "{:?}", venue.ends());
    let prices: Vec<_> = venue.fills().iter().map(|trade| trade.price).collect();
    assert_eq!(prices, [dec("47950")]);
}

#[test]
fn a_trailing_order_follows_no_marks_of_a_time_in_which_it_is_not_judged() {
    // 14: while the index is STALE what watches the mark waits, and the first price that counts afterwards is the one in force.
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("1000000"), venue.account("1000000"));
    open(&mut venue, one, other, Side::Buy, "0.1", "60000");
    venue.ok(SetSource { market: BTC, source: 1, weight: 1, stale_ms: 0 });
    venue.ok(FeedPrice { market: BTC, source: 1, price: dec("60000") });
    venue.ok(SetManualPrice { market: BTC, moves_band: 0, price: 0 });
    venue.tick();
    let place = PlacePerpetual {
        callback_rate: 300_000,
        working_type: WorkingType::MarkPrice as u8,
        flags: order_flag::REDUCE_ONLY,
        ..of_type(venue.limit(one, Side::Sell, "0.1", "0"), PerpetualOrderType::TrailingStopMarket)
    };
    let trailing = venue.ok(place).order;
    let quotes = [(Side::Buy, "59999"), (Side::Sell, "60001"), (Side::Sell, "60600")];
    let quotes = quotes.map(|(side, price)| {
        let quote = venue.limit(other, side, "2", price);
        venue.ok(quote).order
    });
    let mut price = None;
    let mut pass = |venue: &mut Venue, seconds: usize| {
        for _ in 0..seconds {
            venue.tick();
            price = venue.said::<event::PerpetualPrice>().last().copied().or(price);
        }
        price.map(|price| (price.index_state, price.mark))
    };
    // Fresh for 10 s, held for 60.
    let stale = event::IndexState::Stale as u8;
    assert_eq!(pass(&mut venue, 75), Some((stale, dec("60000"))));
    // Without the nearest ask the basis is 299.5, clamped to 238.8054; of no bid nothing is known, and after 30 repeats it is 0.
    let cancel = |venue: &mut Venue, order: u64| {
        let (account, market, client_order, classes) = (other, BTC, [0; 36], 3);
        venue.ok(CancelPerpetual { account, market, order, client_order, classes });
    };
    cancel(&mut venue, quotes[1]);
    assert_eq!(pass(&mut venue, 40), Some((stale, dec("60238.8054"))));
    cancel(&mut venue, quotes[0]);
    assert_eq!(pass(&mut venue, 70), Some((stale, dec("60000"))));
    let is_waiting = |venue: &Venue| venue.engine.perpetual_orders().any(|order| order.order == trailing);
    assert!(is_waiting(&venue));
    // 0.3 % below 60,238.8054 is 60,058.09; below 60,000 it is 59,820.
    venue.ok(FeedPrice { market: BTC, source: 1, price: dec("60000") });
    assert_eq!(pass(&mut venue, 1), Some((event::IndexState::Single as u8, dec("60000"))));
    assert!(is_waiting(&venue));
    venue.ok(FeedPrice { market: BTC, source: 1, price: dec("59819") });
    pass(&mut venue, 1);
    assert!(!is_waiting(&venue));
}

#[test]
fn the_notional_of_a_trailing_order_is_that_at_the_mark() {
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("1000000"), venue.account("1000000"));
    open(&mut venue, one, other, Side::Buy, "0.1", "59000");
    set(&mut venue, PerpetualParameter::MinNotional, usd("60"));
    let trailing = |place: PlacePerpetual, activation: &str| PlacePerpetual {
        callback_rate: 1_000_000,
        stop_price: dec(activation),
        ..of_type(place, PerpetualOrderType::TrailingStopMarket)
    };
    for activation in ["0", "59500"] {
        let place = venue.limit(one, Side::Sell, "0.001", "0");
        venue.ok(trailing(place, activation));
    }
    set(&mut venue, PerpetualParameter::MinNotional, usd("60.01"));
    let place = venue.limit(one, Side::Sell, "0.001", "0");
    assert_eq!(venue.refused(trailing(place, "60500")), Reject::BelowMinNotional);
}

#[test]
fn who_may_not_place_may_not_modify() {
    let mut venue = Venue::trading("60000");
    let one = venue.account("1000000");
    let order = venue.buy(one, "0.1", "59000");
    venue.ok(SetPerpetualAccount {
        account: one,
        mask: account_mask::TRADING,
        trade_group: -1,
        ..FromZeros::new_zeroed()
    });
    let modify = ModifyPerpetual {
        account: one,
        market: BTC,
        order,
        price: dec("59100"),
        quantity: dec("0.1"),
        side: 255,
        price_match: 0,
        flags: 0,
        client_order: [0; 36],
    };
    assert_eq!(venue.refused(modify), Reject::TradingDisabled);
}

#[test]
fn a_counterparty_loses_its_open_orders_and_keeps_what_waits() {
    // 12.5 says open orders, where 12.3 says open and untriggered ones.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (trader, short) = (venue.account("1000"), venue.account("1000000"));
    leverage(&mut venue, trader, 125);
    open(&mut venue, trader, short, Side::Buy, "0.5", "60000");
    let rests = venue.sell(short, "0.1", "61000");
    let place = of_type(venue.limit(short, Side::Buy, "0", "0"), PerpetualOrderType::StopMarket);
    let waits =
        venue.ok(PlacePerpetual { stop_price: dec("62000"), flags: order_flag::CLOSE_POSITION, ..place });
    let place = of_type(venue.limit(short, Side::Buy, "0", "0"), PerpetualOrderType::TakeProfitMarket);
    let flags = order_flag::CLOSE_POSITION | order_flag::GTE;
    let bound = venue.ok(PlacePerpetual { stop_price: dec("50000"), flags, ..place });
    venue.mark("58200");
    let moved = venue.moved();
    assert_eq!(moved.iter().map(|moved| moved.to).collect::<Vec<_>>(), [short]);
    assert_eq!(held(&venue, short), 0);
    for end in [(rests, PerpetualStatus::Expired, 12, 0), (bound.order, PerpetualStatus::Expired, 6, 0)] {
        assert!(venue.ends().contains(&end), "{end:?}");
    }
    assert_eq!(venue.engine.perpetual_orders().map(|order| order.order).collect::<Vec<_>>(), [waits.order]);
}

/// The rest of an order that trades at once ends.
fn at_once(place: PlacePerpetual) -> PlacePerpetual {
    PlacePerpetual { time_in_force: PerpetualTimeInForce::ImmediateOrCancel as u8, ..place }
}

#[test]
fn a_taker_stops_before_its_own_order_too_where_the_fees_leave_it_below_maintenance() {
    // 6: "A taker whose next fill would leave E < MM stops". W = 635 - 30 000 x 0.05 % = 620. At 59 000: E = 620 - 500 = 120,
    // MM = 29 500 x 0.4 % = 118. 0.1 with itself at 59 000 takes 5 900 x (0.05 + 0.02) % = 4.13: E would be 115.87.
    let mut venue = Venue::trading("60000");
    let (trader, maker) = (venue.account("635"), venue.account("1000000"));
    leverage(&mut venue, trader, 125);
    open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
    venue.buy(trader, "0.1", "59000");
    venue.mark("59000");
    let place = at_once(venue.limit(trader, Side::Sell, "0.1", "59000"));
    let order = venue.ok(place).order;
    assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 10, 0)]);
    assert!(venue.said::<event::Liquidation>().is_empty());
    assert_eq!((held(&venue, trader), venue.engine.perpetual_wallet(trader)), (dec("0.5"), usd("620")));
    // 0.04 takes 1.652, which leaves E 118.348. The buy makes 0.54 for 32 360, the sell takes ceil(32 360 x 4 / 54) = 2 397.037038
    // of that: realised -37.037038.
    let place = at_once(venue.limit(trader, Side::Sell, "0.04", "59000"));
    venue.ok(place);
    assert_eq!(venue.fills().len(), 1);
    assert_eq!(venue.engine.perpetual_wallet(trader), usd("581.310962"));
}

#[test]
fn a_walk_over_own_orders_that_reduce_sees_all_of_them() {
    // 5: "the exact value of the fills the book would give now". Both trade with their own account, whose position stays:
    // 0.2 at 60 000 is 12 000, |6 000 + 12 000| / 20 = 900 of margin.
    for (wallet, is_enough) in [("899.99", false), ("900", true)] {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        let (trader, maker) = (venue.account(wallet), venue.account("1000000"));
        open(&mut venue, trader, maker, Side::Buy, "0.1", "60000");
        for _ in 0..2 {
            let place = venue.limit(trader, Side::Sell, "0.1", "60000");
            venue.ok(PlacePerpetual { flags: order_flag::REDUCE_ONLY, ..place });
        }
        let place = at_once(venue.limit(trader, Side::Buy, "0.2", "60000"));
        if is_enough {
            venue.ok(place);
            assert_eq!(venue.fills().len(), 2);
        } else {
            assert_eq!(venue.refused(place), Reject::InsufficientMargin);
        }
        assert_eq!(held(&venue, trader), dec("0.1"));
    }
}

#[test]
fn a_leverage_asks_for_free_margin_also_where_there_is_nothing_yet() {
    // 8: accepted when "E_cross - sum IM(new L) - sum OIM >= 0 (-2028)", of every market. W 1 000, long 0.3 at 60 000: IM 900.
    // At 59 400 E = 820, IM = 17 820 / 20 = 891. At 59 700 E = 910, IM = 895.5.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.list_second();
    let (trader, maker) = (venue.account("1000"), venue.account("1000000"));
    open(&mut venue, trader, maker, Side::Buy, "0.3", "60000");
    venue.mark("59400");
    let set = |leverage| SetLeverage { account: trader, market: BTC + 1, leverage, reserved: 0 };
    assert_eq!(venue.refused(set(10)), Reject::InsufficientMarginForLeverage);
    // The one in force is no change.
    venue.ok(set(20));
    venue.mark("59700");
    venue.ok(set(10));
}

#[test]
fn a_price_that_the_trigger_resolves_passes_the_filters() {
    // perpetual.md 7.5: "STOP, TAKE_PROFIT: at the trigger", "the resolved price passes filters like a sent price". What had a
    // price at placement is not judged again (14).
    for (quantity, best, fails) in [
        ("0.001", "60010", Some(Reject::BelowMinNotional)),
        ("2", "60010", Some(Reject::AboveMaxNotional)),
        ("0.002", "63005.3", Some(Reject::PriceAboveBand)),
        ("0.002", "60010", None),
    ] {
        let mut venue = Venue::trading("60000");
        let (one, other) = (venue.account("1000000"), venue.account("1000000"));
        set(&mut venue, PerpetualParameter::MinNotional, usd("100"));
        set(&mut venue, PerpetualParameter::MaxNotional, usd("100000"));
        let place = of_type(venue.limit(one, Side::Buy, quantity, "0"), PerpetualOrderType::Stop);
        let order = venue
            .ok(PlacePerpetual {
                stop_price: dec("60005"),
                working_type: WorkingType::MarkPrice as u8,
                price_match: PriceMatch::Opponent as u8,
                ..place
            })
            .order;
        // Buys enter up to 60 005 x 1.05 = 63 005.25, a tick below that.
        venue.sell(other, "1", best);
        venue.mark("60005");
        let refused = venue.said::<event::TriggerRefused>();
        match fails {
            None => assert_eq!(venue.fills()[0].taker_order, order),
            Some(reject) => {
                assert_eq!(refused.iter().map(|refused| refused.reject).collect::<Vec<_>>(), [reject.code()]);
                assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 8, 0)]);
            }
        }
    }
}

#[test]
fn a_table_that_gives_a_higher_tier_gives_it_with_a_fill() {
    // 9: "After each fill: if the table gives a higher tier, set it at once ... when the table changes: if the table gives a lower
    // tier ... note". account.md 3: "judged after each fill".
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("1000000"), venue.account("1000000"));
    let tier =
        |tier, count, volume, taker_rate| SetVipTier { tier, count, volume, maker_rate: 0, taker_rate };
    venue.ok(tier(0, 1, 0, 50_000));
    open(&mut venue, one, other, Side::Buy, "0.1", "60000");
    venue.ok(tier(1, 2, usd("6000"), 40_000));
    assert!(venue.said::<event::VipChanged>().is_empty());
    venue.time_ms += 3_600_000;
    venue.tick();
    assert!(venue.said::<event::VipChanged>().is_empty());
    // The fill still pays the old rate: 60 x 0.05 %.
    open(&mut venue, one, other, Side::Buy, "0.001", "60000");
    assert_eq!(venue.fills()[0].taker_fee, usd("0.03"));
    let told: Vec<_> =
        venue.said::<event::VipChanged>().iter().map(|told| (told.account, told.from, told.to)).collect();
    assert_eq!(told, [(other, 0, 1), (one, 0, 1)]);
    open(&mut venue, one, other, Side::Buy, "0.001", "60000");
    assert_eq!(venue.fills()[0].taker_fee, usd("0.024"));
    // A lower one is noted when the table changes.
    venue.ok(tier(1, 2, usd("7000"), 40_000));
    let told: Vec<_> =
        venue.said::<event::VipChanged>().iter().map(|told| (told.account, told.change)).collect();
    assert_eq!(told, [one, other].map(|account| (account, event::VipChange::DowngradeScheduled as u8)));
}

#[test]
fn a_table_that_changes_after_midnight_holds_for_the_day_that_begins_though_no_tick_has_come() {
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("1000000"), venue.account("1000000"));
    let tier =
        |tier, count, volume, taker_rate| SetVipTier { tier, count, volume, maker_rate: 0, taker_rate };
    venue.ok(tier(0, 1, 0, 50_000));
    venue.ok(tier(1, 2, usd("6000"), 40_000));
    open(&mut venue, one, other, Side::Buy, "0.1", "60000");
    let day_ms = 86_400_000;
    let midnight_ms = (venue.time_ms / day_ms + 1) * day_ms;
    venue.time_ms = midnight_ms - 1_000;
    venue.tick();
    venue.time_ms = midnight_ms + 100;
    venue.ok(tier(1, 2, usd("7000"), 40_000));
    let told: Vec<_> = venue.said::<event::VipChanged>().iter().map(|told| told.effective_ms).collect();
    assert_eq!(told, [midnight_ms + day_ms; 2]);
    venue.time_ms = midnight_ms + 1_000;
    venue.tick();
    assert!(venue.said::<event::VipChanged>().is_empty());
    venue.time_ms = midnight_ms + day_ms;
    venue.tick();
    let told: Vec<_> = venue.said::<event::VipChanged>().iter().map(|told| told.change).collect();
    assert_eq!(told, [event::VipChange::DowngradeApplied as u8; 2]);
}

#[test]
fn a_countdown_that_is_set_again_leaves_nothing_behind() {
    // perpetual.md 8, "a new call replaces the timer": whoever is alive sets it again and again. What was replaced used to be kept until its own deadline, which may
    // be thirty years away.
    let mut venue = Venue { every: u64::MAX, ..Venue::trading("60000") };
    let accounts = [venue.account("1000"), venue.account("1000")];
    let resting = accounts.map(|account| venue.buy(account, "0.001", "50000"));
    let begin_ms = venue.time_ms;
    let set = |account, market, countdown_ms| SetCountdown {
        account,
        market,
        countdown_ms,
        keep_reduce_only: 0,
        reserved: 0,
    };
    for (account, market) in accounts.into_iter().zip([BTC, ALL_MARKETS]) {
        venue.ok(set(account, market, 100_000));
    }
    for _ in 0..1_000 {
        venue.time_ms += 1;
        for (account, market) in accounts.into_iter().zip([BTC, ALL_MARKETS]) {
            venue.ok(set(account, market, 200_000));
        }
    }
    let first_ms = venue.engine.countdown_ms().unwrap();
    assert!(first_ms > begin_ms + 200_500, "{}", first_ms - begin_ms);
    // And each still runs out when it was set to last, and not before.
    venue.time_ms = begin_ms + 200_999;
    venue.ok(AdvanceTime {});
    assert!(venue.ends().is_empty());
    venue.time_ms += 1;
    venue.ok(AdvanceTime {});
    let ended: Vec<u64> = venue.ends().iter().map(|end| end.0).collect();
    assert_eq!(ended, resting);
    assert_eq!(venue.engine.countdown_ms(), None);
    // One that is cleared is not left behind either.
    for _ in 0..1_000 {
        venue.time_ms += 1;
        venue.ok(set(accounts[0], BTC, 1_000_000_000_000));
        venue.ok(set(accounts[0], BTC, 0));
    }
    venue.ok(set(accounts[1], BTC, 5));
    venue.time_ms += 5;
    venue.ok(AdvanceTime {});
    assert!(venue.engine.countdown_ms().is_none_or(|first_ms| first_ms > venue.time_ms));
}

/// With attached orders.
fn with_attached(place: PlacePerpetual, take_profit: &str, stop_loss: &str) -> PlacePerpetual {
    PlacePerpetual { take_profit: dec(take_profit), stop_loss: dec(stop_loss), ..place }
}

#[test]
fn no_two_open_orders_of_an_account_have_one_name_also_where_one_is_attached() {
    // perpetual.md 7.2: "equal to one of the account's open orders on any symbol: -4116". 7.9: "clientOrderId = parent's cut to 33
    // characters + _tp / _sl".
    let mut venue = Venue::trading("60000");
    venue.list_second();
    venue.ok(SetManualPrice { market: BTC + 1, moves_band: 0, price: dec("3000") });
    venue.tick();
    venue.ok(SetPerpetualState { market: BTC + 1, state: PerpetualState::Trading as u8, reserved: [0; 3] });
    let (one, other) = (venue.account("100000"), venue.account("100000"));
    let named = |account, name: &str| PlacePerpetual {
        client_order: ringside_core::ids::padded(name).unwrap(),
        ..limit_order(account, Side::Buy, "0.001", "59000")
    };
    let both = |place| with_attached(place, "61000", "58000");
    let twice = |venue: &mut Venue, place: PlacePerpetual| {
        for flags in [0, order_flag::TEST] {
            assert_eq!(venue.refused(PlacePerpetual { flags, ..place }), Reject::DuplicateClientOrder);
        }
    };
    // What is open in another market has its name, for its account alone.
    let eth =
        PlacePerpetual { market: BTC + 1, quantity: dec("1"), price: dec("2900"), ..named(one, "a_tp") };
    let first = venue.ok(eth).order;
    twice(&mut venue, both(named(one, "a")));
    assert_eq!(venue.ok(both(named(other, "a"))).order, first + 1, "what is refused takes no order id");
    assert_eq!(venue.ok(with_attached(named(one, "a"), "0", "58000")).order, first + 4);
    // An attached order has its name while its parent rests, and after its parent was filled.
    twice(&mut venue, named(one, "a_sl"));
    let sell = PlacePerpetual { price: dec("59000"), ..venue.limit(other, Side::Sell, "0.002", "59000") };
    venue.ok(sell);
    let open: Vec<u64> = venue.engine.perpetual_orders().map(|order| order.order).collect();
    assert!(!open.contains(&(first + 4)) && open.contains(&(first + 5)), "{open:?}");
    twice(&mut venue, with_attached(named(one, "a"), "0", "58000"));
    twice(&mut venue, named(one, "a_sl"));
    let plain = venue.ok(named(one, "a")).order;
    // Two that are one when they are cut, and one that cut is the whole.
    let long = "l".repeat(33);
    venue.ok(both(named(one, &format!("{long}123"))));
    twice(&mut venue, both(named(one, &format!("{long}124"))));
    venue.ok(named(one, &format!("{long}125")));
    let long = "m".repeat(33);
    twice(&mut venue, both(named(one, &format!("{long}_tp"))));
    twice(&mut venue, both(named(one, &format!("{long}_sl"))));
    venue.ok(with_attached(named(one, &format!("{long}_tp")), "0", "58000"));
    twice(&mut venue, with_attached(named(one, &long), "61000", "0"));
    // With the parent the names are free again.
    let ends = CancelAllPerpetual { account: one, market: BTC, classes: order_class::ORDINARY, reserved: 0 };
    venue.ok(ends);
    assert!(venue.ends().iter().any(|end| end.0 == plain));
    venue.ok(with_attached(named(one, "a"), "0", "58000"));
    venue.ok(both(named(one, &format!("{long}123"))));
}

#[test]
fn limits_of_open_orders_count_what_is_attached() {
    // perpetual.md 5: MAX_NUM_ORDERS "open orders of the account on the symbol, conditional ones included", MAX_NUM_ALGO_ORDERS
    // "untriggered conditional orders of the account on the symbol": "count < limit" for each order that is placed.
    use PerpetualParameter::{MaxConditionalOrders, MaxOpenOrders};
    let mut venue = Venue::trading("60000");
    let (one, other) = (venue.account("100000"), venue.account("100000"));
    venue.sell(other, "1", "60000");
    let buy = |venue: &mut Venue, price| venue.limit(one, Side::Buy, "0.001", price);
    let stop = |venue: &mut Venue| {
        let place = of_type(buy(venue, "0"), PerpetualOrderType::StopMarket);
        PlacePerpetual { stop_price: dec("61000"), ..place }
    };
    let refused = |venue: &mut Venue, place: PlacePerpetual, why| {
        for flags in [0, order_flag::TEST] {
            assert_eq!(venue.refused(PlacePerpetual { flags, ..place }), why);
        }
    };
    set(&mut venue, MaxOpenOrders, 5);
    set(&mut venue, MaxConditionalOrders, 3);
    for _ in 0..3 {
        let place = buy(&mut venue, "59000");
        venue.ok(place);
    }
    // Two more may be open: the order and one that is attached.
    for price in ["59000", "60000"] {
        let place = buy(&mut venue, price);
        refused(&mut venue, with_attached(place, "61000", "58000"), Reject::TooManyOpenOrders);
    }
    let market = of_type(buy(&mut venue, "0"), PerpetualOrderType::Market);
    refused(&mut venue, with_attached(market, "61000", "58000"), Reject::TooManyOpenOrders);
    let place = buy(&mut venue, "59000");
    venue.ok(with_attached(place, "61000", "0"));
    let place = buy(&mut venue, "59000");
    refused(&mut venue, place, Reject::TooManyOpenOrders);
    set(&mut venue, MaxOpenOrders, 6);
    let place = buy(&mut venue, "59000");
    venue.ok(place);
    // Three may be conditional, of which one is there.
    set(&mut venue, MaxOpenOrders, 200);
    let place = stop(&mut venue);
    venue.ok(place);
    for price in ["59000", "60000"] {
        let place = buy(&mut venue, price);
        refused(&mut venue, with_attached(place, "61000", "58000"), Reject::TooManyConditional);
    }
    // The parent is filled, what is attached stays and counts.
    let place = buy(&mut venue, "60000");
    venue.ok(with_attached(place, "0", "58000"));
    let place = buy(&mut venue, "60000");
    refused(&mut venue, with_attached(place, "0", "58000"), Reject::TooManyConditional);
    let place = stop(&mut venue);
    refused(&mut venue, place, Reject::TooManyConditional);
    let place = buy(&mut venue, "59000");
    venue.ok(place);
    set(&mut venue, MaxConditionalOrders, 5);
    let place = buy(&mut venue, "60000");
    venue.ok(with_attached(place, "61000", "58000"));
}

#[test]
fn whom_a_settlement_leaves_too_little_for_another_market_is_liquidated_at_once() {
    // risk.md 18: positions are closed at the mean of the index, not at the mark; 12.1: who is below maintenance then is
    // liquidated, though no price has moved.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.list_second();
    let eth = |venue: &mut Venue, price| {
        venue.ok(SetManualPrice { market: BTC + 1, moves_band: 0, price: dec(price) });
        venue.tick();
    };
    eth(&mut venue, "3000");
    venue.ok(SetPerpetualState { market: BTC + 1, state: PerpetualState::Trading as u8, reserved: [0; 3] });
    venue.fund("100000");
    let (maker, one, other) = (venue.account("1000000"), venue.account("1000"), venue.account("2000"));
    for account in [one, other] {
        open(&mut venue, account, maker, Side::Buy, "0.1", "60000");
        for (account, side) in [(maker, Side::Sell), (account, Side::Buy)] {
            let place = venue.limit(account, side, "2", "3000");
            venue.ok(PlacePerpetual { market: BTC + 1, ..place });
        }
    }
    (0..120).for_each(|_| venue.tick());
    // 900 won in one market, 1,020 lost in the other.
    eth(&mut venue, "3450");
    venue.mark("49800");
    assert!([one, other].iter().all(|&account| held(&venue, account) == dec("0.1")));
    venue.ok(SetPerpetualState { market: BTC + 1, state: PerpetualState::Closed as u8, reserved: [0; 3] });
    assert_eq!((held(&venue, one), held(&venue, other)), (0, dec("0.1")));
}

#[test]
fn a_leverage_may_be_the_highest_that_a_position_is_allowed() {
    // 7: "Largest exposure at leverage L: the cap of the last bracket with maxLeverage ≥ L". At 125 that is 50 000.
    for (quantity, is_allowed) in [("1", true), ("1.001", false)] {
        let mut venue = Venue::trading("50000");
        no_fees(&mut venue);
        let (trader, maker) = (venue.account("100000"), venue.account("1000000"));
        open(&mut venue, trader, maker, Side::Buy, quantity, "50000");
        let set = SetLeverage { account: trader, market: BTC, leverage: 125, reserved: 0 };
        if is_allowed {
            venue.ok(set);
        } else {
            assert_eq!(venue.refused(set), Reject::ExceedsBracket);
        }
    }
}

#[test]
fn an_isolated_opening_leaves_the_fee_in_the_wallet() {
    // 8: what is opened moves 6 000 / 20 = 300 out of the wallet, and the wallet pays the fee besides: 3.6, since rates rose after the
    // order was placed.
    for (wallet, is_enough) in [("303.599999", false), ("303.6", true)] {
        let mut venue = Venue::trading("60000");
        let (trader, taker) = (venue.account(wallet), venue.account("1000000"));
        isolate(&mut venue, trader);
        let order = venue.buy(trader, "0.1", "60000");
        venue.ok(SetVipTier { tier: 0, count: 1, volume: 0, maker_rate: 60_000, taker_rate: 60_000 });
        venue.sell(taker, "0.1", "60000");
        if is_enough {
            assert_eq!((held(&venue, trader), venue.engine.perpetual_wallet(trader)), (dec("0.1"), 0));
        } else {
            assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 10, 0)]);
            assert_eq!((held(&venue, trader), venue.engine.perpetual_wallet(trader)), (0, usd(wallet)));
        }
    }
}

#[test]
fn an_opening_fill_may_leave_exactly_the_maintenance_margin() {
    // 6: a fill that would leave E < MM is refused. Long 0.5 at 60 000 and a bid for 0.1 at 58 900, met at a mark of 59 000:
    // E = W - 500 + 10, MM = 0.6 x 59 000 x 0.4 % = 141.6.
    for (wallet, is_enough) in [("631.599999", false), ("631.6", true)] {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        let (trader, maker) = (venue.account(wallet), venue.account("1000000"));
        leverage(&mut venue, trader, 125);
        open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
        let order = venue.buy(trader, "0.1", "58900");
        venue.mark("59000");
        venue.sell(maker, "0.1", "58900");
        if is_enough {
            assert_eq!(held(&venue, trader), dec("0.6"));
        } else {
            assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 10, 0)]);
        }
    }
}

#[test]
fn a_quantity_that_is_filled_already_ends_an_order_whatever_filters_ask() {
    // 17: "A failed check leaves the order as it was, except: new quantity <= executed -> cancelled".
    let mut venue = Venue::trading("60000");
    set(&mut venue, PerpetualParameter::MinNotional, usd("100"));
    let (trader, maker) = (venue.account("100000"), venue.account("1000000"));
    let order = venue.buy(trader, "0.1", "60000");
    venue.sell(maker, "0.002", "60000");
    // 0.001 at 60 000 is less than the least notional.
    let modify = |quantity: &str| ModifyPerpetual {
        account: trader,
        market: BTC,
        order,
        price: dec("60000"),
        quantity: dec(quantity),
        side: 255,
        price_match: 0,
        flags: 0,
        client_order: [0; 36],
    };
    assert_eq!(venue.refused(modify("0")), Reject::InvalidQuantity);
    venue.ok(modify("0.001"));
    assert_eq!(venue.ends(), [(order, PerpetualStatus::Canceled, 0, dec("0.002"))]);
}

/// Case C-26: what nobody pays for is armed by nobody in numbers.
#[test]
fn who_has_no_position_arms_one_order_for_each_ten_of_equity() {
    let mut venue = Venue::trading("60000");
    venue.list_second();
    let [maker, poor, rich] = ["100000", "39.999999", "1000"].map(|wallet| venue.account(wallet));
    let nothing = venue.account("0");
    let stop = |venue: &mut Venue, account| {
        let place = of_type(venue.limit(account, Side::Buy, "0.001", "0"), PerpetualOrderType::StopMarket);
        PlacePerpetual { stop_price: dec("61000"), ..place }
    };
    let place = stop(&mut venue, nothing);
    assert_eq!(venue.refused(place), Reject::TooManyConditional);
    // The service's orders count like any other, and so do those of another market.
    for flags in [0, order_flag::CONDITIONAL_SERVICE, order_flag::REDUCE_ONLY] {
        let place = stop(&mut venue, poor);
        venue.ok(PlacePerpetual { flags, ..place });
    }
    for flags in [0, order_flag::CONDITIONAL_SERVICE, order_flag::CLOSE_POSITION, order_flag::TEST] {
        let quantity = if flags == order_flag::CLOSE_POSITION { 0 } else { dec("0.001") };
        let place = stop(&mut venue, poor);
        assert_eq!(venue.refused(PlacePerpetual { flags, quantity, ..place }), Reject::TooManyConditional);
    }
    // What is attached waits for a position, and is armed with it.
    let place = venue.limit(poor, Side::Buy, "0.001", "59000");
    venue.ok(with_attached(place, "61000", "58000"));
    // A position pays for what is armed beside it.
    venue.sell(maker, "0.01", "60000");
    let take = venue.limit(rich, Side::Buy, "0.01", "60000");
    venue.ok(take);
    for _ in 0..100 {
        let place = stop(&mut venue, rich);
        venue.ok(place);
    }
    let place = stop(&mut venue, rich);
    assert_eq!(venue.refused(place), Reject::TooManyConditional, "the market's own limit");
}
