//! What the insurance fund pays for fills of isolated positions, and what it does not (`risk.md` 6, 8; `perpetual.md` 12): no
//! order takes more out of the fund than the position lacked of its maintenance margin before.

use crate::support::perpetual::*;
use ringside_core::command::*;
use ringside_core::ids::MarketId;
use ringside_core::money::{Money, Quantity};
use ringside_core::reject::Reject;

/// A venue without fees, whose fund has 50 000, at a mark of 60 000, and an isolated long of `quantity` bought there at leverage 125 with
/// a wallet of `wallet` before it. Gives the venue, the long's account and a rich one without a position.
fn isolated_long(wallet: &str, quantity: &str) -> (Venue, u32, u32) {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.fund("50000");
    let (trader, maker, friend) = (venue.account(wallet), venue.account("1000000"), venue.account("1000000"));
    venue.ok(SetMarginMode { account: trader, market: BTC, mode: MarginMode::Isolated as u32, reserved: 0 });
    leverage(&mut venue, trader, 125);
    open(&mut venue, trader, maker, Side::Buy, quantity, "60000");
    (venue, trader, friend)
}

/// What the fund has, the trader's wallet and its position's margin, and how much it holds.
fn money(venue: &Venue, trader: u32) -> (Money, Money, Money, Quantity) {
    let position = venue.engine.perpetual_position(trader, BTC).unwrap();
    let engine = &venue.engine;
    (engine.perpetual_wallet(0), engine.perpetual_wallet(trader), position.isolated_wallet, position.quantity)
}

/// An order is placed: it ends for its margin, nothing trades and nobody's money moves.
fn refused_for_margin(venue: &mut Venue, trader: u32, place: PlacePerpetual) {
    let before = money(venue, trader);
    let order = venue.ok(place).order;
    assert!(venue.fills().is_empty());
    assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 10, 0)]);
    assert_eq!(money(venue, trader), before);
}

#[test]
fn an_own_fill_away_from_the_mark_does_not_move_a_loss_to_the_fund() {
    // Sold to itself at 57 000 the long would lose 1 200 with a margin of 192, and be bought back with a profit of 1 200.
    let (mut venue, trader, _) = isolated_long("1000", "0.4");
    venue.sell(trader, "0.4", "57000");
    let buy = venue.limit(trader, Side::Buy, "0.4", "57000");
    refused_for_margin(&mut venue, trader, buy);
    // The other way round the position is made dearer first: 0.8 at 58 550, of which 0.4 would lose 580.
    let (mut venue, trader, _) = isolated_long("1000", "0.4");
    venue.buy(trader, "0.4", "57100");
    let sell = venue.limit(trader, Side::Sell, "0.4", "57100");
    refused_for_margin(&mut venue, trader, sell);
    // At the mark it may trade with itself.
    let (mut venue, trader, _) = isolated_long("1000", "0.4");
    venue.sell(trader, "0.4", "60000");
    let before = money(&venue, trader);
    venue.buy(trader, "0.4", "60000");
    assert_eq!(venue.fills().len(), 1);
    assert_eq!(money(&venue, trader), before);
}

#[test]
fn what_may_not_close_may_not_turn_either() {
    // The close alone loses 1 500 with a margin of 240. What the other lots bring as margin does not pay for it.
    for quantity in ["0.5", "0.501", "1"] {
        let (mut venue, trader, friend) = isolated_long("6000", "0.5");
        venue.buy(friend, "2", "57000");
        let sell = venue.limit(trader, Side::Sell, quantity, "57000");
        refused_for_margin(&mut venue, trader, sell);
        let (mut venue, trader, friend) = isolated_long("6000", "0.5");
        let before = money(&venue, trader);
        let order = venue.sell(trader, quantity, "57000");
        venue.buy(friend, "2", "57000");
        assert!(venue.fills().is_empty());
        assert_eq!(venue.ends(), [(order, PerpetualStatus::Expired, 10, 0)]);
        assert_eq!(money(&venue, trader), before);
    }
    // At a price that its margin pays it turns.
    let (mut venue, trader, friend) = isolated_long("6000", "0.5");
    venue.buy(friend, "2", "59900");
    venue.sell(trader, "1", "59900");
    assert_eq!(money(&venue, trader), (usd("50000"), usd("5710.4"), usd("239.6"), -dec("0.5")));
}

#[test]
fn the_fund_does_not_pay_what_the_rest_of_a_position_has_won() {
    // Long 0.5 at 60 000 with 240, mark 62 500. 0.45 sold at 59 450 lose 247.5, 7.5 more than it has; the rest is worth 125 more than
    // it cost.
    let (mut venue, trader, friend) = isolated_long("1000", "0.5");
    venue.mark("62500");
    venue.buy(friend, "0.45", "59450");
    let sell = venue.limit(trader, Side::Sell, "0.45", "59450");
    refused_for_margin(&mut venue, trader, sell);
    // 0.4 lose 220: 192 is their share, 28 come out of the rest's 48.
    venue.sell(trader, "0.4", "59450");
    assert_eq!(money(&venue, trader), (usd("50000"), usd("760"), usd("20"), dec("0.1")));
}

#[test]
fn an_own_fill_does_not_lose_the_margin_that_backs_other_positions() {
    const ETH: MarketId = BTC + 1;
    for (wallet, is_filled) in [("6250", false), ("7858", false), ("8542.25", true)] {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        venue.list_second();
        let eth_mark = |venue: &mut Venue, price: &str| {
            venue.ok(SetManualPrice { market: ETH, moves_band: 0, price: dec(price) });
            venue.tick();
        };
        eth_mark(&mut venue, "3000");
        venue.ok(SetPerpetualState { market: ETH, state: PerpetualState::Trading as u8, reserved: [0; 3] });
        venue.fund("50000");
        let (trader, maker) = (venue.account(wallet), venue.account("1000000"));
        let isolated = MarginMode::Isolated as u32;
        venue.ok(SetMarginMode { account: trader, market: BTC, mode: isolated, reserved: 0 });
        for market in [BTC, ETH] {
            venue.ok(SetLeverage { account: trader, market, leverage: 100, reserved: 0 });
        }
        // Of the 3 850 that are left an own bid reserves 2 308.
        open(&mut venue, trader, maker, Side::Buy, "4", "60000");
        let bid = venue.buy(trader, "4", "57700");
        for (account, side) in [(maker, Side::Sell), (trader, Side::Buy)] {
            let place = venue.limit(account, side, "50", "3000");
            venue.ok(PlacePerpetual { market: ETH, ..place });
        }
        // At 2 937 the cross scope has 700, or as much more as the wallet had, and needs 684.25. The own fill takes 2 308 away.
        eth_mark(&mut venue, "2937");
        let before = money(&venue, trader);
        let place = venue.limit(trader, Side::Sell, "4", "57700");
        let sell = venue.ok(PlacePerpetual { flags: order_flag::REDUCE_ONLY, ..place }).order;
        assert_eq!(venue.fills().len(), usize::from(is_filled), "{wallet}");
        if !is_filled {
            assert_eq!(venue.ends(), [(sell, PerpetualStatus::Expired, 10, 0)]);
            assert_eq!(money(&venue, trader), before);
            assert_eq!(venue.engine.perpetual_orders().count(), 1, "the bid {bid} rests");
        }
    }
}

#[test]
fn a_stop_costs_the_fund_no_more_than_its_position_has_lost_beyond_its_margin() {
    // Long 0.5 with 240. At 59 500 its equity is -10 and its maintenance margin 119: by a sale there or above the fund pays up to 10, by
    // one below it would pay somebody else than the long.
    for (bid, fund, is_sold) in [("59510", "49995", true), ("59500", "49990", true), ("59499.9", "", false)] {
        let (mut venue, trader, friend) = isolated_long("300", "0.5");
        let place = venue.limit(trader, Side::Sell, "0.5", "0");
        let stop = venue.ok(PlacePerpetual {
            order_type: PerpetualOrderType::StopMarket as u8,
            price: 0,
            stop_price: dec("59600"),
            flags: order_flag::REDUCE_ONLY,
            working_type: WorkingType::MarkPrice as u8,
            ..place
        });
        venue.buy(friend, "0.5", bid);
        venue.mark("59500");
        let trades = venue.fills();
        assert_eq!(trades.iter().any(|trade| trade.taker_order == stop.order), is_sold, "{bid}");
        if is_sold {
            assert_eq!(money(&venue, trader), (usd(fund), usd("60"), 0, 0), "{bid}");
        } else {
            // It is liquidated in the same tick.
            assert!(venue.ends().contains(&(stop.order, PerpetualStatus::Expired, 10, 0)), "{bid}");
            assert_eq!(money(&venue, trader).3, 0, "{bid}");
        }
    }
}

#[test]
fn a_fill_or_kill_order_is_filled_whole_or_not_at_all() {
    let kill = |place: PlacePerpetual| PlacePerpetual {
        time_in_force: PerpetualTimeInForce::FillOrKill as u8,
        ..place
    };
    // What rests first would lose more than its position has: it ends where it is met, and nobody else has as much.
    let (mut venue, trader, friend) = isolated_long("6000", "0.5");
    venue.sell(trader, "0.5", "57000");
    let maker = venue.account("1000000");
    venue.sell(maker, "0.5", "57000");
    let before = [trader, friend, maker].map(|account| money(&venue, account));
    for quantity in ["1", "0.501"] {
        let buy = venue.limit(friend, Side::Buy, quantity, "57000");
        assert_eq!(venue.refused(kill(buy)), Reject::FillOrKill);
    }
    assert_eq!([trader, friend, maker].map(|account| money(&venue, account)), before);
    let buy = venue.limit(friend, Side::Buy, "0.5", "57000");
    venue.ok(kill(buy));
    let fills: Vec<_> = venue.fills().iter().map(|trade| trade.maker_account).collect();
    assert_eq!(fills, [maker]);
    // Whoever would come to lack margin on the way does not set out.
    let (mut venue, trader, friend) = isolated_long("6000", "0.5");
    venue.buy(friend, "0.1", "60000");
    venue.buy(friend, "2", "57000");
    let before = money(&venue, trader);
    let sell = venue.limit(trader, Side::Sell, "0.5", "57000");
    assert_eq!(venue.refused(kill(sell)), Reject::FillOrKill);
    assert_eq!(money(&venue, trader), before);
    venue.ok(sell);
    assert_eq!(venue.fills().len(), 1, "it stops on the way");
}
