//! The conformance vectors of `risk.md` that need orders and a book, through the engine, with their very numbers.

use crate::support::perpetual::*;
use ringside_core::command::*;
use ringside_core::event;
use ringside_core::reject::Reject;
use ringside_core::risk::perpetual::bounds;

/// The wallet that an account has now.
fn wallet(venue: &Venue, account: u32) -> i64 {
    venue.engine.perpetual_wallet(account)
}

/// Position and cost in the first market.
fn position(venue: &Venue, account: u32) -> (i64, i64) {
    let position = venue.engine.perpetual_position(account, BTC).unwrap();
    (position.quantity, position.cost)
}

#[test]
fn v02_positions_by_cost() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (trader, maker) = (venue.account("10000"), venue.account("1000000"));
    open(&mut venue, trader, maker, Side::Buy, "0.3", "60000");
    open(&mut venue, trader, maker, Side::Buy, "0.2", "60100.1");
    assert_eq!(position(&venue, trader), (dec("0.5"), 30_020_020_000));
    open(&mut venue, trader, maker, Side::Sell, "0.123", "60250.7");
    assert_eq!(venue.fills()[0].taker_realised, 25_911_180);
    assert_eq!(position(&venue, trader), (dec("0.377"), 22_635_095_080));
    open(&mut venue, trader, maker, Side::Sell, "0.5", "59900");
    assert_eq!(venue.fills()[0].taker_realised, -52_795_080);
    assert_eq!(position(&venue, trader), (dec("-0.123"), -7_367_700_000));
    open(&mut venue, trader, maker, Side::Buy, "0.123", "59800");
    assert_eq!(venue.fills()[0].taker_realised, 12_300_000);
    assert_eq!(position(&venue, trader), (0, 0));
    assert_eq!(wallet(&venue, trader), usd("9985.4161"));
}

#[test]
fn v19_liquidation_of_the_whole_position_the_fund_takes_the_rest() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (trader, maker, bidder) = (venue.account("1000"), venue.account("1000000"), venue.account("1000000"));
    venue.ok(SetLeverage { account: trader, market: BTC, leverage: 125, reserved: 0 });
    open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
    venue.fund("50000");
    venue.mark("58500");
    venue.buy(bidder, "0.2", "58190");
    venue.buy(bidder, "0.1", "58050");
    venue.mark("58200");
    let trades = venue.fills();
    let fills: Vec<_> = trades.iter().map(|trade| (trade.price, trade.quantity, trade.taker_fee)).collect();
    assert_eq!(
        fills,
        [(dec("58190"), dec("0.2"), usd("29.095")), (dec("58050"), dec("0.1"), usd("7.968333"))]
    );
    let moved = venue.moved()[0];
    assert_eq!(
        (moved.quantity, moved.value, moved.from_realised),
        (dec("0.2"), usd("11594.063333"), usd("-405.936667"))
    );
    assert_eq!((wallet(&venue, trader), position(&venue, trader)), (0, (0, 0)));
    assert_eq!(wallet(&venue, 0), usd("50037.063333"));
    assert_eq!(position(&venue, 0), (dec("0.2"), usd("11594.063333")));
}

#[test]
fn v20_partial_liquidation_cures() {
    let mut venue = Venue::trading("61500");
    no_fees(&mut venue);
    let (trader, maker, bidder) =
        (venue.account("61500"), venue.account("10000000"), venue.account("10000000"));
    open(&mut venue, trader, maker, Side::Buy, "20", "61500");
    venue.mark("59500");
    let order = venue.limit(bidder, Side::Buy, "3.051", "58990");
    venue.ok(order);
    venue.ok(SetPerpetualParameter {
        market: BTC,
        parameter: PerpetualParameter::ImpactNotional as u32,
        value: 1_000_000 * USDT,
    });
    venue.mark("59000");
    let trades = venue.fills();
    assert_eq!(trades.len(), 1);
    assert_eq!((trades[0].quantity, trades[0].taker_fee), (dec("3.051"), usd("449.946225")));
    let sent = venue.said::<event::PerpetualOrder>()[0];
    assert_eq!((sent.price, sent.quantity), (dec("57580.6"), dec("3.051")));
    assert_eq!(wallet(&venue, trader), usd("53392.043775"));
    assert_eq!(position(&venue, trader).0, dec("16.949"));
}

#[test]
fn v21_deleveraging() {
    let mut venue = Venue::trading("61000");
    no_fees(&mut venue);
    let (trader, maker, bidder) = (venue.account("1000"), venue.account("1000000"), venue.account("1000000"));
    // J1 1.0 @ 61 000, E 5 000; J2 0.5 @ 63 000, E 20 000; J3 0.4 @ 58 000, E 1 000: all at mark 58 200.
    let (first, second, third) = (venue.account("2200"), venue.account("17600"), venue.account("1080"));
    for account in [first, second, third, trader] {
        venue.ok(SetLeverage { account, market: BTC, leverage: 100, reserved: 0 });
    }
    open(&mut venue, first, maker, Side::Sell, "1", "61000");
    open(&mut venue, second, maker, Side::Sell, "0.5", "63000");
    venue.mark("60000");
    open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
    venue.mark("58500");
    open(&mut venue, third, maker, Side::Sell, "0.4", "58000");
    venue.buy(bidder, "0.2", "58190");
    venue.buy(bidder, "0.1", "58050");
    venue.mark("58200");
    let moved = venue.moved();
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert_eq!((moved[0].from, moved[0].to), (trader, first));
    assert_eq!((moved[0].quantity, moved[0].value), (dec("0.2"), usd("11594.063333")));
    assert_eq!(moved[0].to_realised, usd("605.936667"));
    assert_eq!((wallet(&venue, trader), position(&venue, trader)), (0, (0, 0)));
}

/// `V-36` (C-09): what is left of two fills of one command, told after each, by both ways through the engine.
#[test]
fn v36_order_margin_is_told_after_each_fill() {
    for is_long_way in [false, true] {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        let (maker, taker) = (venue.account("100000"), venue.account("100000"));
        for number in 0..3 {
            let child = if is_long_way && number == 2 { dec("70000") } else { 0 };
            let bid = venue.limit(maker, Side::Buy, "0.05", "58900");
            venue.ok(PlacePerpetual { take_profit: child, ..bid });
        }
        let order = venue.limit(taker, Side::Sell, "0.1", "58900");
        venue.ok(order);
        let kinds: Vec<_> = venue.fills().iter().map(|trade| trade.quantity).collect();
        assert_eq!(kinds, [dec("0.05"), dec("0.05")]);
        let told = venue.said::<event::PerpetualExposure>();
        let left: Vec<_> =
            told.iter().filter(|told| told.account == maker).map(|told| told.buy_reference).collect();
        assert_eq!(left, [usd("5890"), usd("2945")], "the long way: {is_long_way}");
        let placed = venue.said::<event::PerpetualPlaced>()[0];
        // Of a sell the mark, as it may trade there at once.
        assert_eq!(placed.reference, usd("6000"));
    }
}

#[test]
fn v04_v05_v06_v07_margin_of_orders() {
    let mut venue = Venue::trading("60000");
    let (trader, maker) = (venue.account("10000"), venue.account("1000000"));
    no_fees(&mut venue);
    open(&mut venue, trader, maker, Side::Buy, "0.2", "60000");
    venue.ok(SetVipTier { tier: 0, count: 1, volume: 0, maker_rate: 20_000, taker_rate: 50_000 });
    venue.buy(trader, "0.1", "59500");
    venue.sell(trader, "0.5", "60500");
    let exposure = venue.said::<event::PerpetualExposure>()[0];
    assert_eq!((exposure.buy_reference, exposure.buy_fee_reserve), (usd("5950"), usd("2.975")));
    assert_eq!((exposure.sell_reference, exposure.sell_fee_reserve), (usd("30250"), usd("15.125")));
    let cross = venue.engine.perpetual_cross(trader).unwrap();
    assert_eq!((cross.initial, cross.available()), (usd("921.575"), Some(usd("9078.425"))));

    let flat = venue.account("334.515");
    venue.buy(flat, "0.1", "60300");
    assert_eq!(venue.engine.perpetual_cross(flat).unwrap().initial, usd("334.515"));
    let short = venue.account("334.514999");
    let order = venue.limit(short, Side::Buy, "0.1", "60300");
    assert_eq!(venue.refused(order), Reject::InsufficientMargin);
}

#[test]
fn v06_market_order_reserves_what_the_walk_costs() {
    let mut venue = Venue::trading("60000");
    let (maker, rich, poor) =
        (venue.account("1000000"), venue.account("922.6565"), venue.account("922.656499"));
    for price in ["60010", "60020", "60100"] {
        venue.sell(maker, "0.1", price);
    }
    let market = |venue: &mut Venue, account: u32| PlacePerpetual {
        order_type: PerpetualOrderType::Market as u8,
        price: 0,
        ..venue.limit(account, Side::Buy, "0.3", "1")
    };
    let order = market(&mut venue, poor);
    assert_eq!(venue.refused(order), Reject::InsufficientMargin);
    let order = market(&mut venue, rich);
    venue.ok(order);
    assert_eq!(position(&venue, rich), (dec("0.3"), usd("18013")));
}

#[test]
fn v07_profit_backs_orders_but_does_not_leave() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (trader, maker) = (venue.account("2000"), venue.account("1000000"));
    open(&mut venue, trader, maker, Side::Buy, "0.2", "60000");
    venue.mark("61000");
    let cross = venue.engine.perpetual_cross(trader).unwrap();
    assert_eq!((cross.available(), cross.withdrawable()), (Some(usd("1590")), Some(usd("1390"))));
    let amount = -usd("1390.000001");
    assert_eq!(
        venue.refused(TransferPerpetual { account: trader, reserved: 0, amount }),
        Reject::CrossInsufficient
    );
    venue.ok(TransferPerpetual { account: trader, reserved: 0, amount: amount + 1 });
    assert_eq!(wallet(&venue, trader), usd("610"));
}

#[test]
fn v10_leverage() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (trader, maker) = (venue.account("2000"), venue.account("1000000"));
    open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
    let set = |leverage| SetLeverage { account: trader, market: BTC, leverage, reserved: 0 };
    venue.ok(set(15));
    assert_eq!(venue.refused(set(14)), Reject::InsufficientMarginForLeverage);
    assert_eq!(venue.refused(set(126)), Reject::InvalidLeverage);
}

#[test]
fn v11_v12_isolated() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (trader, maker) = (venue.account("2000"), venue.account("1000000"));
    venue.ok(SetMarginMode { account: trader, market: BTC, mode: MarginMode::Isolated as u32, reserved: 0 });
    venue.ok(SetLeverage { account: trader, market: BTC, leverage: 10, reserved: 0 });
    open(&mut venue, trader, maker, Side::Sell, "0.3", "60000");
    let held = venue.engine.perpetual_position(trader, BTC).unwrap();
    assert_eq!((held.isolated_wallet, wallet(&venue, trader)), (usd("1800"), usd("200")));
    let mut second = Venue::trading("60000");
    std::mem::swap(&mut venue, &mut second);
    {
        let venue = &mut second;
        venue.mark("65737.0");
        assert_eq!(position(venue, trader).0, dec("-0.3"));
        venue.fund("1000");
        venue.mark("65737.1");
        assert_eq!(position(venue, trader).0, 0);
        assert_eq!(wallet(venue, trader), usd("200"));
    }
    no_fees(&mut venue);
    let (trader, maker) = (venue.account("2000"), venue.account("1000000"));
    venue.ok(SetMarginMode { account: trader, market: BTC, mode: MarginMode::Isolated as u32, reserved: 0 });
    venue.ok(SetLeverage { account: trader, market: BTC, leverage: 10, reserved: 0 });
    open(&mut venue, trader, maker, Side::Sell, "0.3", "60000");
    venue.ok(SetVipTier { tier: 0, count: 1, volume: 0, maker_rate: 0, taker_rate: 50_000 });
    open(&mut venue, trader, maker, Side::Buy, "0.1", "61000");
    let held = venue.engine.perpetual_position(trader, BTC).unwrap();
    assert_eq!(wallet(&venue, trader), usd("696.95"));
    assert_eq!((held.quantity, held.cost, held.isolated_wallet), (dec("-0.2"), usd("-12000"), usd("1200")));
}

#[test]
fn v18_funding() {
    let mut venue = Venue::trading("60136.675");
    no_fees(&mut venue);
    let (long, one, two) = (venue.account("10000"), venue.account("10000"), venue.account("10000"));
    venue.sell(one, "0.3", "60136.6");
    venue.sell(two, "0.2", "60136.6");
    venue.buy(long, "0.5", "60136.6");
    venue.ok(SetPerpetualParameter {
        market: BTC,
        parameter: PerpetualParameter::Interest as u32,
        value: 70_000,
    });
    venue.ok(SetPerpetualParameter {
        market: BTC,
        parameter: PerpetualParameter::Damp as u32,
        value: 70_000,
    });
    // Half of the samples of the hour with an empty book: the average is 0, and the rate 70 000 / 8 = 8 750.
    let next = (venue.time_ms / 3_600_000 + 2) * 3_600_000;
    let mut settled = Vec::new();
    while venue.time_ms < next {
        venue.tick();
        settled.extend(venue.said::<event::FundingSettled>());
    }
    let last = settled.last().unwrap();
    assert_eq!((last.rate, last.positions), (8_750, 3));
    let posted: Vec<_> =
        venue.said::<event::Posting>().iter().map(|posting| (posting.account, posting.amount)).collect();
    assert_eq!(posted, [(long, usd("-2.630980")), (one, usd("1.578587")), (two, usd("1.052391")), (0, 2)]);
}

#[test]
fn v22_reduce_only_orders_shrink_with_the_position() {
    let mut venue = Venue::trading("100");
    no_fees(&mut venue);
    for (parameter, value) in [(PerpetualParameter::MinNotional, 0), (PerpetualParameter::BandUp, 2 * ONE)] {
        venue.ok(SetPerpetualParameter { market: BTC, parameter: parameter as u32, value });
    }
    let (trader, maker) = (venue.account("10000"), venue.account("1000000"));
    open(&mut venue, trader, maker, Side::Buy, "0.010", "100");
    let reduce = |venue: &mut Venue, quantity: &str, price: &str| {
        let order = PlacePerpetual {
            flags: order_flag::REDUCE_ONLY,
            ..venue.limit(trader, Side::Sell, quantity, price)
        };
        venue.ok(order).order
    };
    let (_, middle, last) = (
        reduce(&mut venue, "0.006", "101"),
        reduce(&mut venue, "0.008", "102"),
        reduce(&mut venue, "0.004", "103"),
    );
    venue.buy(maker, "0.006", "101");
    let opens = |venue: &Venue| -> Vec<(u64, i64)> {
        venue
            .said::<event::PerpetualOrder>()
            .iter()
            .filter(|order| order.execution == 1)
            .map(|order| (order.order, order.open))
            .collect()
    };
    assert_eq!(opens(&venue), [(middle, dec("0.004"))]);
    venue.buy(maker, "0.003", "100");
    venue.sell(trader, "0.003", "100");
    assert_eq!(opens(&venue), [(middle, dec("0.001")), (last, dec("0.001"))]);
    venue.buy(maker, "0.001", "102");
    assert_eq!(
        venue.ends(),
        [(middle, PerpetualStatus::Expired, 4, dec("0.001")), (last, PerpetualStatus::Expired, 4, 0)]
    );
}

#[test]
fn v23_trailing() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (trader, maker) = (venue.account("100000"), venue.account("1000000"));
    open(&mut venue, trader, maker, Side::Buy, "0.1", "60000");
    let order = PlacePerpetual {
        order_type: PerpetualOrderType::TrailingStopMarket as u8,
        working_type: WorkingType::MarkPrice as u8,
        price: 0,
        stop_price: dec("61000"),
        callback_rate: 1_000_000,
        flags: order_flag::REDUCE_ONLY,
        ..venue.limit(trader, Side::Sell, "0.1", "1")
    };
    venue.ok(order);
    for mark in ["60500", "61000", "61500", "60900"] {
        venue.mark(mark);
        assert!(venue.said::<event::PerpetualOrder>().is_empty(), "at {mark}");
    }
    venue.mark("60880");
    let fired = venue.said::<event::PerpetualOrder>();
    assert_eq!(fired[0].execution, event::Execution::Triggered as u8);
    assert_eq!(fired[0].order_type, PerpetualOrderType::Market as u8);
    // Nothing is there to sell to.
    assert_eq!(venue.ends()[0].2, 9);
}

#[test]
fn v24_self_trade_prevention_in_a_group() {
    for mode in
        [SelfTradePrevention::ExpireMaker, SelfTradePrevention::ExpireTaker, SelfTradePrevention::ExpireBoth]
    {
        let mut venue = Venue::trading("100");
        venue.ok(SetPerpetualParameter {
            market: BTC,
            parameter: PerpetualParameter::MinNotional as u32,
            value: 0,
        });
        let (a, b, c) = (venue.account("1000"), venue.account("1000"), venue.account("1000"));
        for account in [a, b] {
            venue.ok(SetPerpetualAccount {
                account,
                mask: account_mask::TRADE_GROUP,
                trade_group: 7,
                ..zerocopy::FromZeros::new_zeroed()
            });
        }
        let of_b = venue.buy(b, "0.010", "100");
        venue.buy(c, "0.005", "100");
        let of_a = venue.buy(a, "0.004", "99");
        let order = PlacePerpetual { self_trade: mode as u8, ..venue.limit(a, Side::Sell, "0.020", "99") };
        let taker = venue.ok(order).order;
        let prevented: Vec<_> = venue
            .said::<event::PreventedMatch>()
            .iter()
            .map(|row| (row.prevented, row.trade_group, row.maker_quantity, row.taker_quantity))
            .collect();
        let (ten, twenty) = (dec("0.010"), dec("0.020"));
        let (status, traded) = (PerpetualStatus::ExpiredInMatch, venue.fills().len());
        match mode {
            SelfTradePrevention::ExpireMaker => {
                assert_eq!(prevented, [(1, 7, ten, 0), (2, -1, dec("0.004"), 0)]);
                assert_eq!(venue.ends(), [(of_b, status, 1, 0), (of_a, status, 1, 0)]);
                assert_eq!((traded, position(&venue, c).0), (1, dec("0.005")));
                let depth = venue.said::<event::Depth>();
                assert_eq!(depth.last().unwrap().total.get(), i128::from(dec("0.015")));
            }
            SelfTradePrevention::ExpireTaker => {
                assert_eq!((prevented, traded), (vec![(1, 7, 0, twenty)], 0));
                assert_eq!(venue.ends(), [(taker, status, 1, 0)]);
            }
            _ => {
                assert_eq!((prevented, traded), (vec![(1, 7, ten, twenty)], 0));
                assert_eq!(venue.ends(), [(of_b, status, 1, 0), (taker, status, 1, 0)]);
            }
        }
    }
}

#[test]
fn v25_band_of_entry() {
    let mut venue = Venue::trading("60000");
    let trader = venue.account("1000000");
    venue.buy(trader, "0.1", "63000");
    let order = venue.limit(trader, Side::Buy, "0.1", "63000.1");
    assert_eq!(venue.refused(order), Reject::PriceAboveBand);
    let order = PlacePerpetual { self_trade: 2, ..venue.limit(trader, Side::Sell, "0.1", "57000") };
    venue.ok(order);
    let order = venue.limit(trader, Side::Sell, "0.1", "56999.9");
    assert_eq!(venue.refused(order), Reject::PriceBelowBand);
}

#[test]
fn v27_modification() {
    let mut venue = Venue::trading("59500");
    let (trader, maker) = (venue.account("100000"), venue.account("1000000"));
    let modify = |order: u64, quantity: &str| ModifyPerpetual {
        account: trader,
        market: BTC,
        order,
        price: dec("59000"),
        quantity: dec(quantity),
        side: 255,
        price_match: 0,
        flags: 0,
        client_order: [0; 36],
    };
    for quantity in ["0.2", "0.4"] {
        let order = PlacePerpetual { self_trade: 3, ..venue.limit(trader, Side::Buy, "0.5", "59000") };
        let order = venue.ok(order).order;
        venue.sell(maker, "0.2", "59000");
        let other = venue.buy(maker, "0.1", "59000");
        venue.ok(modify(order, quantity));
        if quantity == "0.2" {
            assert_eq!(venue.ends(), [(order, PerpetualStatus::Canceled, 0, dec("0.2"))]);
            venue.ok(CancelAllPerpetual { account: maker, market: BTC, classes: 3, reserved: 0 });
        } else {
            let row = venue.said::<event::PerpetualOrder>()[0];
            assert_eq!((row.order, row.open, row.self_trade), (order, dec("0.2"), 0));
            // It is behind the other one now.
            venue.sell(trader, "0.1", "59000");
            assert_eq!(venue.fills()[0].maker_order, other);
        }
    }
}

#[test]
fn v28_settlement() {
    let mut venue = Venue::trading("60056.675");
    no_fees(&mut venue);
    let (long, one, two) = (venue.account("100000"), venue.account("100000"), venue.account("100000"));
    venue.sell(one, "0.3", "60333.3");
    venue.buy(long, "0.3", "60333.3");
    venue.sell(two, "0.2", "59500.1");
    venue.buy(long, "0.2", "59500.1");
    let resting = venue.buy(two, "0.1", "59000");
    let cost = position(&venue, long).1;
    venue.ok(SetPerpetualState { market: BTC, state: PerpetualState::Closed as u8, reserved: [0; 3] });
    assert_eq!(venue.ends(), [(resting, PerpetualStatus::Expired, 7, 0)]);
    let state = venue.said::<event::PerpetualStateChanged>()[0];
    assert_eq!(state.settlement_price, dec("60056.675"));
    let trades = venue.said::<event::PerpetualTrade>();
    let told: Vec<_> =
        trades.iter().map(|trade| (trade.taker_account, trade.price, trade.quantity, trade.value)).collect();
    let price = dec("60056.675");
    assert_eq!(
        told,
        [
            (long, price, dec("0.5"), usd("30028.3375")),
            (one, price, dec("0.3"), usd("18017.0025")),
            (two, price, dec("0.2"), usd("12011.335")),
        ]
    );
    assert_eq!(trades[0].taker_realised, usd("30028.3375") - cost);
    assert_eq!(trades[1].taker_realised, usd("82.9875"));
    assert!(venue.said::<event::Posting>().is_empty());
    assert_eq!(position(&venue, long), (0, 0));
    let order = venue.limit(long, Side::Buy, "0.1", "60000");
    assert_eq!(venue.refused(order), Reject::MarketDelisted);
}

#[test]
fn a_settlement_leaves_what_rounding_leaves_and_no_more() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let (one, two, three) = (venue.account("100000"), venue.account("100000"), venue.account("100000"));
    // Partial closes round costs up, so that costs do not add up to zero.
    open(&mut venue, one, two, Side::Buy, "0.007", "60000.1");
    open(&mut venue, one, two, Side::Buy, "0.004", "60003.3");
    open(&mut venue, one, three, Side::Sell, "0.003", "59990.7");
    venue.mark("60011.123");
    venue.ok(SetPerpetualState { market: BTC, state: PerpetualState::Closed as u8, reserved: [0; 3] });
    let posted = venue.said::<event::Posting>();
    let residue = posted.iter().find(|posting| posting.account == 0).map_or(0, |posting| posting.amount);
    assert!((0..=3).contains(&residue), "{posted:?}");
    let total: i64 = [0, one, two, three].iter().map(|&account| wallet(&venue, account)).sum();
    assert_eq!(total, usd("300000"));
}

#[test]
fn an_order_id_that_none_has_finds_none() {
    let mut venue = Venue::trading("60000");
    let trader = venue.account("1000");
    venue.buy(trader, "0.001", "59000");
    let cancel =
        |order| CancelPerpetual { account: trader, market: BTC, order, client_order: [0; 36], classes: 3 };
    for order in [u64::MAX, 99] {
        assert_eq!(venue.refused(cancel(order)), Reject::OrderNotFound);
    }
}

#[test]
fn v13_v14_fees_and_tiers() {
    let mut venue = Venue::trading("60000");
    let (trader, maker) = (venue.account("1000000"), venue.account("10000000"));
    venue.ok(SetPerpetualAccount {
        account: trader,
        mask: account_mask::REFERRAL,
        trade_group: 0,
        referral_total_bps: 2_000,
        referral_share_bps: 5_000,
        ..zerocopy::FromZeros::new_zeroed()
    });
    open(&mut venue, trader, maker, Side::Buy, "0.5", "60000");
    let trade = venue.fills()[0];
    let rewards = venue.said::<event::Posting>();
    assert_eq!(
        (trade.taker_fee, rewards[0].trade, rewards[0].amount),
        (usd("13.5"), trade.trade, usd("1.5"))
    );
    let pools = venue.said::<event::PerpetualPools>()[0];
    assert_eq!((pools.fees, pools.affiliates), (usd("12") + trade.maker_fee, usd("1.5")));

    let (trader, maker) = (venue.account("1000000"), venue.account("10000000"));
    for _ in 0..16 {
        open(&mut venue, trader, maker, Side::Buy, "1", "60000");
        open(&mut venue, trader, maker, Side::Sell, "1", "60000");
    }
    // 1 920 000 traded: the tier came with the fill that crossed the line, which still paid the old rate.
    open(&mut venue, trader, maker, Side::Buy, "1", "60000");
    assert_eq!(venue.fills()[0].taker_fee, usd("27"));
}

/// `V-35` and `V-35b` of `risk.md` 10 (C-08), and positions of later brackets: opened at full leverage at the index with nothing but their
/// initial margin, they stay, whatever a stranger quotes at a constant index, long and short.
#[test]
fn v35_a_position_at_full_leverage_survives_any_book_at_constant_index() {
    let vectors = [Some((192_955_680, 192_764_178)), Some((200_915_101, 200_894_625)), None, None];
    let sizes = [("0.8", 125, "384"), ("0.833", 125, "399.84"), ("8", 100, "4800"), ("80", 20, "240000")];
    for ((quantity, leverage, margin), vector) in sizes.into_iter().zip(vectors) {
        for side in [Side::Sell, Side::Buy] {
            let mut venue = Venue::trading("60000");
            no_fees(&mut venue);
            let (maker, trader) = (venue.account("100000000"), venue.account(margin));
            venue.ok(SetLeverage { account: trader, market: BTC, leverage, reserved: 0 });
            open(&mut venue, trader, maker, side, quantity, "60000");
            let (bid, ask) = if side == Side::Sell { ("60300", "60310") } else { ("59690", "59700") };
            let stranger = venue.account("100000000");
            venue.buy(stranger, "10", bid);
            venue.sell(stranger, "10", ask);
            let mut mark = 0;
            for _ in 0..120 {
                venue.tick();
                mark = venue.said::<event::PerpetualPrice>().last().map_or(mark, |price| price.mark);
            }
            let (held, _) = position(&venue, trader);
            assert_eq!(held.abs(), dec(quantity), "{quantity} {side:?}: it stays");
            let far = if side == Side::Sell { "60238.8054" } else { "59761.1946" };
            assert_eq!(mark, dec(far), "{quantity} {side:?}");
            if let (Side::Sell, Some((equity, maintenance))) = (side, vector) {
                let cross = venue.engine.perpetual_cross(trader).unwrap();
                assert_eq!(cross.equity(), Some(equity));
                let brackets = bounds::table(&bounds::SHIPPED_BRACKETS).unwrap();
                assert_eq!(brackets.maintenance_at(held, mark), Some(maintenance));
            }
        }
    }
}

/// The income rows of the last commands of an account: amount and reason, of those that a test collects.
fn cleared(venue: &Venue) -> Vec<(u32, i64)> {
    let postings = venue.said::<event::Posting>();
    let cleared =
        postings.iter().filter(|posting| posting.reason == event::PostingReason::InsuranceClear as u8);
    cleared.map(|posting| (posting.account, posting.amount)).collect()
}

/// V-29, and V-38 with money in the fund: what both winners give back of 2,700.
fn equal_winners(fund: &str) -> (Venue, [u32; 2], Vec<(u32, i64)>) {
    let mut venue = Venue::trading("60000");
    if fund != "0" {
        venue.fund(fund);
    }
    let [first, second, third, fourth] =
        ["315", "900", "1000000", "1000000"].map(|wallet| venue.account(wallet));
    for (long, short) in [(first, third), (second, fourth)] {
        leverage(&mut venue, long, 100);
        open(&mut venue, long, short, Side::Buy, "0.5", "60000");
    }
    venue.mark("54600");
    let told = cleared(&venue);
    (venue, [third, fourth], told)
}

#[test]
fn v29_equal_winners_keep_the_same() {
    let (venue, winners, told) = equal_winners("0");
    let back = -usd("2107.5");
    assert_eq!(told[told.len() - 2..], winners.map(|account| (account, back)));
    for account in winners {
        // Less the fee of its order.
        assert_eq!(wallet(&venue, account), usd("1000000") - usd("6") + usd("592.5"));
        assert_eq!(position(&venue, account), (0, 0));
    }
    assert_eq!(wallet(&venue, 0), 0);
}

#[test]
fn v38_the_fund_pays_before_winners_do() {
    let (venue, winners, told) = equal_winners("2000");
    assert_eq!(told[told.len() - 2..], winners.map(|account| (account, -usd("1107.5"))));
    assert_eq!(wallet(&venue, 0), 0);
}

#[test]
fn v30_who_has_no_profit_loses_nothing() {
    let mut venue = Venue::trading("60000");
    trade_second(&mut venue, "3000");
    let [loser, winner, other] = ["40000", "1000000", "1000000"].map(|wallet| venue.account(wallet));
    leverage(&mut venue, loser, 50);
    open(&mut venue, loser, winner, Side::Buy, "12", "60000");
    open_in(&mut venue, BTC + 1, (loser, other), "1", "3000");
    let before = [winner, other].map(|account| wallet(&venue, account));
    venue.mark("30000");
    let moved: Vec<_> =
        venue.moved().iter().map(|moved| (moved.to, moved.value, moved.to_realised)).collect();
    assert!(moved.contains(&(other, usd("3000"), 0)), "{moved:?}");
    let after = [winner, other].map(|account| wallet(&venue, account));
    assert_eq!([after[0] - before[0], after[1] - before[1]], [usd("39638.5"), 0]);
    assert_eq!((wallet(&venue, loser), wallet(&venue, 0)), (0, 0));
}

#[test]
fn v31_an_isolated_position_loses_what_it_was_given_and_no_more() {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.fund("50000");
    let (long, short) = (venue.account("3006"), venue.account("1000000"));
    venue.ok(SetMarginMode { account: long, market: BTC, mode: MarginMode::Isolated as u32, reserved: 0 });
    leverage(&mut venue, long, 10);
    open(&mut venue, long, short, Side::Buy, "0.1", "60000");
    assert_eq!(wallet(&venue, long), usd("2406"));
    close_at(&mut venue, BTC, "50000");
    assert_eq!((wallet(&venue, long), wallet(&venue, 0)), (usd("2406"), usd("49600")));
    assert_eq!(cleared(&venue), [(long, usd("400"))]);
}

#[test]
fn v39_a_settlement_is_given_back_by_those_it_paid() {
    let mut venue = Venue::trading("60000");
    trade_second(&mut venue, "3000");
    venue.fund("10");
    let [a, h, g] = ["3100", "1000000", "1000000"].map(|wallet| venue.account(wallet));
    leverage(&mut venue, a, 50);
    open(&mut venue, a, h, Side::Buy, "0.5", "60000");
    open_in(&mut venue, BTC + 1, (a, g), "1", "3000");
    assert_eq!(wallet(&venue, a), usd("3083.5"));
    let before = [h, g].map(|account| wallet(&venue, account));
    close_at(&mut venue, BTC, "50000");
    let after = [h, g].map(|account| wallet(&venue, account));
    assert_eq!([after[0] - before[0], after[1] - before[1]], [usd("3093.5"), 0]);
    assert_eq!(wallet(&venue, 0), 0);
}

/// Settles a market at a price at which its mark has never been: everything of it is suspended before.
fn close_at(venue: &mut Venue, market: u32, price: &str) {
    let state = |venue: &mut Venue, state: PerpetualState| {
        venue.ok(SetPerpetualState { market, state: state as u8, reserved: [0; 3] });
    };
    state(venue, PerpetualState::Halted);
    venue.ok(SetManualPrice { market, moves_band: 0, price: dec(price) });
    (0..1_801).for_each(|_| venue.tick());
    state(venue, PerpetualState::Closed);
}

/// The second market listed, trading at a mark.
fn trade_second(venue: &mut Venue, price: &str) {
    venue.list_second();
    venue.ok(SetManualPrice { market: BTC + 1, moves_band: 0, price: dec(price) });
    venue.tick();
    let state = PerpetualState::Trading as u8;
    venue.ok(SetPerpetualState { market: BTC + 1, state, reserved: [0; 3] });
}

/// One buys of another in a market.
fn open_in(venue: &mut Venue, market: u32, (buyer, seller): (u32, u32), quantity: &str, price: &str) {
    for (account, side) in [(seller, Side::Sell), (buyer, Side::Buy)] {
        let place = venue.limit(account, side, quantity, price);
        venue.ok(PlacePerpetual { market, ..place });
    }
}
