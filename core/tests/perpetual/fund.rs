//! Sentences of `risk.md` on liquidations, the insurance fund and counterparties (9, 12, 15, 16) that no vector shows, each driven
//! through the engine by itself.

use crate::support::perpetual::*;
use ringside_core::command::*;
use ringside_core::event::{self, LiquidationStep};
use ringside_core::reject::Reject;

/// A venue without fees whose fund has taken over 0.5 bought at 60 000, and the account that sold it.
fn fund_with_position() -> (Venue, u32) {
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.fund("1000000");
    let (trader, short) = (venue.account("1000"), venue.account("1000000"));
    leverage(&mut venue, trader, 125);
    open(&mut venue, trader, short, Side::Buy, "0.5", "60000");
    venue.mark("58200");
    assert_eq!(held(&venue, 0), dec("0.5"));
    (venue, short)
}

/// Pins the index of the second market.
fn second(venue: &mut Venue, price: &str) {
    venue.ok(SetManualPrice { market: BTC + 1, moves_band: 0, price: dec(price) });
}

/// The second market listed, trading at a mark.
fn trade_second(venue: &mut Venue, price: &str) {
    venue.list_second();
    second(venue, price);
    venue.tick();
    let state = PerpetualState::Trading as u8;
    venue.ok(SetPerpetualState { market: BTC + 1, state, reserved: [0; 3] });
}

/// Sets the highest leverage of both markets.
fn leverage_of_both(venue: &mut Venue, account: u32) {
    for market in [BTC, BTC + 1] {
        venue.ok(SetLeverage { account, market, leverage: 125, reserved: 0 });
    }
}

/// Opens a position in the second market, as [`open`].
fn open_second(venue: &mut Venue, account: u32, against: u32, side: Side, quantity: &str, price: &str) {
    for (account, side) in [(against, side.opposite()), (account, side)] {
        let place = venue.limit(account, side, quantity, price);
        venue.ok(PlacePerpetual { market: BTC + 1, ..place });
    }
}

#[test]
fn the_fund_unwinds_within_the_dynamic_band() {
    // 16: no aggressor but a liquidation trades outside.
    let (mut venue, short) = fund_with_position();
    venue.mark("53000");
    let bid = venue.buy(short, "1", "53000");
    for _ in 0..3 {
        venue.tick();
        assert!(venue.fills().is_empty());
    }
    assert_eq!(venue.ends().iter().map(|end| end.2).collect::<Vec<_>>(), [11]);
    venue.time_ms += 300_000;
    venue.tick();
    venue.tick();
    assert_eq!(venue.fills()[0].maker_order, bid);
}

#[test]
fn the_fund_unwinds_once_per_second_whatever_is_listed() {
    // 12.4: "it unwinds: once per second and symbol".
    let (mut venue, short) = fund_with_position();
    venue.buy(short, "10", "58200");
    venue.tick();
    assert_eq!(held(&venue, 0), dec("0.45"));
    venue.list_second();
    venue.time_ms += 10;
    venue.ok(AdvanceTime {});
    assert_eq!(held(&venue, 0), dec("0.45"));
}

#[test]
fn two_shorts_of_one_account_go_to_their_counterparties_at_their_shares() {
    // 12.2, 12.3, 12.5. W 2 000, short 0.3 at 60 000 and 5 at 3 000; marks 63 600 and 3 157.77: E = 2 000 - 1 080 - 788.85 = 131.15,
    // MM = 76.32 + 63.1554 = 139.4754. First the larger: share floor(131.15 x 76.32 / 139.4754) = 71.764397, VB = 19 151.764397. The
    // fund would have 571.764397, less than a tenth of 19 080. Scores of who holds 0.1 with 1 000 and 0.2 with 100 000: 28 058 823 and
    // 757 744; they take floor(VB / 3) and the rest. Then E = 131.15 - 71.764397 = 59.385603 < 63.1554: VB = 15 788.85 + 59.385603.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.fund("500");
    trade_second(&mut venue, "3000");
    let [short, large, small, other] =
        ["2000", "100000", "1000", "100000"].map(|wallet| venue.account(wallet));
    leverage_of_both(&mut venue, short);
    open(&mut venue, short, large, Side::Sell, "0.2", "60000");
    open(&mut venue, short, small, Side::Sell, "0.1", "60000");
    open_second(&mut venue, short, other, Side::Sell, "5", "3000");
    second(&mut venue, "3157.77");
    venue.mark("63600");
    let moved = venue.moved();
    let told = moved.iter().map(|moved| (moved.to, moved.quantity, moved.value, moved.to_realised));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (small, dec("0.1"), usd("6383.921465"), usd("383.921465")),
            (large, dec("0.2"), usd("12767.842932"), usd("767.842932")),
            (other, dec("5"), usd("15848.235603"), usd("848.235603")),
        ]
    );
    assert_eq!((venue.engine.perpetual_wallet(short), venue.engine.perpetual_wallet(0)), (0, usd("500")));
}

#[test]
fn the_fund_unwinds_as_any_account_and_every_step_is_told() {
    // 9: ADL, takeover and settlement pay no fee, and liquidation, ADL and settlement fills do not count as volume. 12.3; perpetual-stream.md 6:
    // "every step, none left out". 0.05 of 0.5 bought at 29 000: 58 190 x 0.05 - 2 900 = 9.5, less 2 909.5 x 0.05 %.
    let (mut venue, bidder) = fund_with_position();
    venue.ok(SetVipTier { tier: 0, count: 1, volume: 0, maker_rate: 20_000, taker_rate: 50_000 });
    venue.buy(bidder, "10", "58190");
    let volume = usd("30000") + usd("2909.5");
    venue.ok(SetVipTier { tier: 1, count: 2, volume, maker_rate: 10_000, taker_rate: 40_000 });
    let before = venue.engine.perpetual_wallet(0);
    venue.tick();
    let trade = venue.fills()[0];
    assert_eq!((trade.taker_account, trade.quantity, trade.flags), (0, dec("0.05"), 2));
    assert_eq!((trade.taker_fee, trade.maker_fee), (usd("1.454750"), usd("0.5819")));
    assert_eq!(venue.engine.perpetual_wallet(0) - before, usd("8.045250"));
    assert_eq!(venue.engine.perpetual_pools().unwrap().fees, usd("2.036650"));
    let raised: Vec<_> = venue.said::<event::VipChanged>().iter().map(|told| told.account).collect();
    assert_eq!(raised, [bidder]);
    let steps: Vec<_> = venue
        .said::<event::Liquidation>()
        .iter()
        .map(|step| (step.account, step.step, step.side, step.quantity, step.value, step.fund_change))
        .collect();
    let step = (LiquidationStep::Unwind as u8, Side::Sell as u8);
    assert_eq!(steps, [(0, step.0, step.1, dec("0.05"), usd("2909.5"), usd("8.045250"))]);
}

#[test]
fn the_fund_below_its_margin_closes_by_deleveraging_and_says_so() {
    // 12.4: "its positions are closed by ADL ... at mark". Bought 0.5 for 29 000 with 3 000: at 52 100 E = 50 < MM = 104.2.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.fund("3000");
    let (trader, short) = (venue.account("1000"), venue.account("1000000"));
    leverage(&mut venue, trader, 125);
    open(&mut venue, trader, short, Side::Buy, "0.5", "60000");
    venue.mark("58200");
    assert_eq!(held(&venue, 0), dec("0.5"));
    venue.mark("52100");
    let moved = venue.moved()[0];
    let adl = LiquidationStep::Adl as u8;
    assert_eq!((moved.from, moved.to, moved.value), (0, short, usd("26050")));
    assert_eq!(moved.cause, event::TradeCause::Deleveraging);
    let steps: Vec<_> = venue
        .said::<event::Liquidation>()
        .iter()
        .map(|step| (step.account, step.step, step.fund_change))
        .collect();
    assert_eq!(steps, [(0, adl, usd("-2950"))]);
    assert_eq!(venue.engine.perpetual_wallet(0), usd("50"));
}

#[test]
fn a_bankrupt_is_deleveraged_at_the_mark_and_the_fund_pays_before_winners_do() {
    // 12.5: "The fund's own opposite position, if any, comes first. Both sides book the same value", and when E < 0 the mark. The fund
    // holds short 0.1 sold at 6 200 with 620, at a mark of 61 800: E = 640. Long 0.5 at 61 800 and 10 at 3 000 with 1 000; the second
    // mark falls to 2 000: E = -9 000. The fund has 640 of that; the short of the second market has won 10 000 and gives back the rest,
    // the one of the first has won nothing and gives nothing.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    trade_second(&mut venue, "3000");
    venue.fund("620");
    let [first, long, loser, short, other] =
        ["200", "1000000", "1000", "1000000", "1000000"].map(|wallet| venue.account(wallet));
    leverage(&mut venue, first, 125);
    open(&mut venue, first, long, Side::Sell, "0.1", "60000");
    venue.mark("61800");
    assert_eq!(held(&venue, 0), dec("-0.1"));
    leverage_of_both(&mut venue, loser);
    open(&mut venue, loser, short, Side::Buy, "0.5", "61800");
    open_second(&mut venue, loser, other, Side::Buy, "10", "3000");
    second(&mut venue, "2000");
    venue.tick();
    let moved = venue.moved();
    let told: Vec<_> = moved.iter().map(|moved| (moved.to, moved.quantity, moved.value)).collect();
    assert_eq!(
        told,
        [(0, dec("0.1"), usd("6180")), (short, dec("0.4"), usd("24720")), (other, dec("10"), usd("20000"))]
    );
    assert_eq!((held(&venue, 0), venue.engine.perpetual_wallet(0)), (0, 0));
    let wallets = [loser, short, other].map(|account| venue.engine.perpetual_wallet(account));
    assert_eq!(wallets, [0, usd("1000000"), usd("1010000") - usd("8360")]);
    assert!(venue.said::<event::PoolDeficit>().is_empty());
}

#[test]
fn a_deficit_is_a_wallet_below_zero_as_well_as_an_equity() {
    // 12.5: "while its wallet or equity is < 0". The fund bought 0.5 for 29 000 with 3 000. The second market closes far below its mark,
    // and a long of it leaves a loss to the fund: more than its wallet and not more than its equity where the mark rose, more than
    // its equity and not more than its wallet where it fell and the market is halted, so that the fund's position stays.
    for (mark, quantity, own, wallet_falls_below) in
        [("60000", "55", "1700", true), ("54000", "30", "950", false)]
    {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        trade_second(&mut venue, "2900");
        venue.fund("3000");
        let [trader, short, long, other, early] =
            ["1000", "1000000", own, "1000000", "1000000"].map(|wallet| venue.account(wallet));
        // Who sells to the long has its gain already, who is short sold at what the market closes at: nobody is paid by the settlement.
        open_second(&mut venue, other, early, Side::Buy, quantity, "2900");
        leverage(&mut venue, trader, 125);
        open(&mut venue, trader, short, Side::Buy, "0.5", "60000");
        venue.mark("58200");
        assert_eq!((held(&venue, 0), venue.engine.perpetual_wallet(0)), (dec("0.5"), usd("3000")));
        venue.mark(mark);
        if !wallet_falls_below {
            let state = PerpetualState::Halted as u8;
            venue.ok(SetPerpetualState { market: BTC, state, reserved: [0; 3] });
        }
        (0..10).for_each(|_| venue.tick());
        second(&mut venue, "3000");
        venue.tick();
        venue.ok(SetLeverage { account: long, market: BTC + 1, leverage: 100, reserved: 0 });
        open_second(&mut venue, long, other, Side::Buy, quantity, "3000");
        assert!(venue.said::<event::PoolDeficit>().is_empty());
        let state = PerpetualState::Closed as u8;
        venue.ok(SetPerpetualState { market: BTC + 1, state, reserved: [0; 3] });
        let wallet = venue.engine.perpetual_wallet(0);
        let unrealised = if wallet_falls_below { usd("1000") } else { usd("-2000") };
        let equity = wallet + unrealised;
        assert_eq!((wallet < 0, equity < 0), (wallet_falls_below, !wallet_falls_below), "{wallet} {equity}");
        assert_eq!(venue.said::<event::PoolDeficit>(), [event::PoolDeficit { deficit: 1, wallet, equity }]);
        assert_eq!(held(&venue, 0), dec("0.5"));
        let out = TransferPerpetual { account: short, reserved: 0, amount: -usd("1") };
        assert_eq!(venue.refused(out), Reject::WithdrawalsPaused);
        // A key is not used up by it (`spot.md` 3: answers 5xx are not stored).
        for body in [1, 1, 2] {
            let TransferPerpetual { account, reserved, amount } = out;
            let once = TransferOnce { account, reserved, amount, idempotency_key: 7, idempotency_body: body };
            assert_eq!(venue.refused(once), Reject::WithdrawalsPaused);
        }
    }
}

#[test]
fn a_counterparty_may_be_left_with_exactly_nothing() {
    // 12.5: "a candidate whose equity would end < 0 is skipped". Long 0.5 at 60 000 with 1 000 has E = 100 at 58 200, so the short takes
    // it at 29 000, 100 better than the mark. It has 2 000 + 900 less the 3 000 that 5 bought at 3 000 lost at 2 400: -100, or
    // -100.000001 where it had less.
    for (wallet, is_taken) in [("2000", true), ("1999.999999", false)] {
        let mut venue = Venue::trading("60000");
        no_fees(&mut venue);
        trade_second(&mut venue, "3000");
        let [long, short, other] = ["1000", wallet, "1000000"].map(|wallet| venue.account(wallet));
        for account in [long, short] {
            leverage_of_both(&mut venue, account);
        }
        open(&mut venue, long, short, Side::Buy, "0.5", "60000");
        open_second(&mut venue, short, other, Side::Buy, "5", "3000");
        venue.ok(SetManualPrice { market: BTC, moves_band: 0, price: dec("58200") });
        second(&mut venue, "2400");
        venue.tick();
        let moved = venue.moved();
        let told: Vec<_> = moved.iter().map(|moved| (moved.from, moved.to, moved.value)).collect();
        let taker = if is_taken { short } else { 0 };
        assert_eq!(told[0], (long, taker, usd("29000")), "{told:?}");
    }
}

#[test]
fn the_fund_does_not_unwind_while_a_liquidation_waits() {
    // 19: in a tick the fund unwinds behind the liquidations. It holds long 0.5; five isolated shorts of 0.01 sold at 58 200 with 46.56
    // each have bids that close them at 59 400. At 59 500 all are below their margin, and each takes three units: its order, the match,
    // the takeover at 58 665.6. A tick of eight comes to two and a part.
    let (mut venue, short) = fund_with_position();
    let shorts: Vec<u32> = (0..5).map(|_| venue.account("1000")).collect();
    for &account in &shorts {
        venue.ok(SetMarginMode { account, market: BTC, mode: MarginMode::Isolated as u32, reserved: 0 });
        leverage(&mut venue, account, 125);
        open(&mut venue, account, short, Side::Sell, "0.01", "58200");
    }
    for &account in &shorts {
        let place = venue.limit(account, Side::Buy, "0.01", "59400");
        venue.ok(PlacePerpetual { flags: order_flag::REDUCE_ONLY, ..place });
    }
    venue.buy(short, "1", "59300");
    venue.ok(ActivateRule { rule: rule::WORK_MAX, value: 8 });
    venue.ok(SetManualPrice { market: BTC, moves_band: 0, price: dec("59500") });
    venue.tick();
    let moved = |venue: &Venue| {
        let trades = venue.said::<event::PerpetualTrade>();
        let is_takeover = |trade: &&event::PerpetualTrade| trade.cause == event::TradeCause::Takeover as u8;
        trades.iter().filter(is_takeover).map(|trade| trade.taker_account).collect::<Vec<_>>()
    };
    assert_eq!(moved(&venue), shorts[..2]);
    assert!(venue.engine.has_backlog());
    // The third goes on with its match, which finds nobody at its price, and the takeover.
    venue.ok(AdvanceTime {});
    assert_eq!(moved(&venue), shorts[2..]);
    assert!(!venue.engine.has_backlog() && venue.fills().is_empty());
    let fund = venue.engine.perpetual_wallet(0);
    venue.tick();
    // A tenth of 0.45, bought at 58 000.
    let trades = venue.fills();
    let told: Vec<_> = trades.iter().map(|trade| (trade.maker_account, trade.quantity)).collect();
    assert_eq!(told, [(short, dec("0.045"))]);
    assert_eq!(venue.engine.perpetual_wallet(0) - fund, usd("58.5"));
}

#[test]
fn of_two_positions_with_one_margin_the_market_listed_first_goes_first() {
    // 12.3: "the position with the largest MM (ties: lowest symbol id)". Long 2 at 3 000 and then 0.1 at 60 000 with 200: at 2 925 and
    // 58 500 each has lost 150 and is worth 5 850.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    trade_second(&mut venue, "3000");
    venue.fund("50000");
    let (trader, maker) = (venue.account("200"), venue.account("1000000"));
    leverage_of_both(&mut venue, trader);
    open_second(&mut venue, trader, maker, Side::Buy, "2", "3000");
    open(&mut venue, trader, maker, Side::Buy, "0.1", "60000");
    venue.ok(SetManualPrice { market: BTC, moves_band: 0, price: dec("58500") });
    second(&mut venue, "2925");
    venue.tick();
    let moved = venue.moved();
    let told: Vec<_> = moved.iter().map(|moved| (moved.from, moved.market)).collect();
    assert_eq!(told, [(trader, BTC), (trader, BTC + 1)]);
}

#[test]
fn the_fund_takes_by_its_three_conditions_whatever_a_position_is_worth() {
    // 12.4. Short 10 000 at 0.1, its owner has 1 100 000 000: at 109 000 E = 10 001 000 is below MM = 10 900 000, and VB is all it has:
    // 1 100 001 000. The fund's equity would be 10 001 000 more, its notional 1 090 000 000.
    let mut venue = Venue::trading("0.1");
    no_fees(&mut venue);
    one_bracket(&mut venue, BTC, 1_000_000);
    venue.fund("1000000000");
    let [short, long] = ["1100000000", "100000"].map(|wallet| venue.account(wallet));
    for account in [short, long] {
        leverage(&mut venue, account, 1);
    }
    for _ in 0..10 {
        open(&mut venue, short, long, Side::Sell, "1000", "0.1");
    }
    venue.mark("109000");
    let moved = venue.moved();
    let told: Vec<_> = moved.iter().map(|moved| (moved.from, moved.to, moved.value)).collect();
    assert_eq!(told, [(short, 0, usd("1100001000"))]);
    assert_eq!((venue.engine.perpetual_wallet(short), held(&venue, 0)), (0, dec("-10000")));
}

#[test]
fn what_the_fund_loses_by_closing_is_given_back_by_who_won_it() {
    // 12.4: "If E_F < MM_F its positions are closed by ADL, ... at mark; what these closings lost is added to D". The fund holds 0.5 of the
    // first market, bought for 29 000 and worth 30 000, and 10 of the second, bought for 29 000, which falls from 2 900 to 500: it has
    // 20 000 + 1 000 - 24 000. What it lacks of its loss the short of the second market gives back of its 25 000.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    trade_second(&mut venue, "3000");
    venue.fund("20000");
    let [one, short, two, other] = ["1000", "400", "1000", "1000000"].map(|wallet| venue.account(wallet));
    leverage(&mut venue, one, 125);
    leverage(&mut venue, short, 125);
    leverage_of_both(&mut venue, two);
    open(&mut venue, one, short, Side::Buy, "0.5", "60000");
    open_second(&mut venue, two, other, Side::Buy, "10", "3000");
    venue.mark("58200");
    second(&mut venue, "2900");
    venue.tick();
    venue.mark("60000");
    let of_fund = |venue: &Venue| {
        [BTC, BTC + 1]
            .map(|market| venue.engine.perpetual_position(0, market).map_or(0, |held| held.quantity))
    };
    assert_eq!(of_fund(&venue), [dec("0.5"), dec("10")]);
    second(&mut venue, "500");
    venue.tick();
    assert_eq!(of_fund(&venue), [0, 0]);
    let moved = venue.moved();
    let told: Vec<_> = moved.iter().map(|moved| (moved.from, moved.to, moved.market)).collect();
    assert_eq!(told, [(0, short, BTC), (0, other, BTC + 1)]);
    let posted = venue.said::<event::Posting>();
    let posted: Vec<_> = posted.iter().map(|posting| (posting.account, posting.amount)).collect();
    assert_eq!(posted, [(other, -usd("3000"))]);
    let wallets = [0, short, other].map(|account| venue.engine.perpetual_wallet(account));
    assert_eq!(wallets, [0, usd("400"), usd("1022000")]);
}

/// Names of the orders that the last command told, and the accounts they are of.
fn names(venue: &Venue) -> Vec<(u32, String)> {
    let named = venue.said::<event::PerpetualPlaced>();
    let name = |placed: &event::PerpetualPlaced| {
        let text = placed.client_order.iter().take_while(|byte| **byte != 0).map(|byte| char::from(*byte));
        (placed.account, text.collect())
    };
    named.iter().map(name).collect()
}

#[test]
fn whatever_closes_a_position_is_a_trade_of_an_order_of_each_side() {
    // `design/engine.md` 3, C-04. Long 0.5 at 60 000 with 1 000 against a short with an empty fund: at 58 200 the book takes 0.2, the
    // short gives the rest, at VB as in `V-21`.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    let [trader, short, bidder] = ["1000", "1000000", "1000000"].map(|wallet| venue.account(wallet));
    leverage(&mut venue, trader, 125);
    open(&mut venue, trader, short, Side::Buy, "0.5", "60000");
    venue.mark("58500");
    venue.buy(bidder, "0.2", "58190");
    venue.mark("58200");
    let trades = venue.said::<event::PerpetualTrade>();
    let told: Vec<_> =
        trades.iter().map(|trade| (trade.trade, trade.cause, trade.flags, trade.quantity)).collect();
    assert_eq!(told, [(2, 1, 1, dec("0.2")), (3, 3, 3, dec("0.3"))]);
    assert_eq!(trades[0].taker_order, trades[1].taker_order, "one order closes, in the book and behind it");
    assert_eq!(venue.ends(), [], "both orders are filled");
    let named = names(&venue);
    assert_eq!((named[0].0, &named[1]), (trader, &(short, "adl_autoclose".to_owned())));
    assert_eq!(named[0].1, format!("autoclose-{}{}", venue.time_ms, trades[0].taker_order));
    let [value, price] = [trades[1].value, trades[1].price];
    assert_eq!(i128::from(price), (i128::from(value) * 10_000_000_000 + 15_000_000) / 30_000_000);
    assert_eq!(
        (trades[1].taker_realised, trades[1].maker_realised),
        (value - usd("18000"), usd("18000") - value)
    );

    // A market that does not match passes the book over: the order is there all the same, filled by the fund.
    let mut venue = Venue::trading("60000");
    no_fees(&mut venue);
    venue.fund("50000");
    let [trader, short] = ["1000", "1000000"].map(|wallet| venue.account(wallet));
    leverage(&mut venue, trader, 125);
    open(&mut venue, trader, short, Side::Buy, "0.5", "60000");
    let state = PerpetualState::PostOnly as u8;
    venue.ok(SetPerpetualState { market: BTC, state, reserved: [0; 3] });
    venue.mark("58200");
    let trade = venue.said::<event::PerpetualTrade>()[0];
    assert_eq!((trade.cause, trade.flags, trade.taker_account, trade.maker_account), (2, 3, trader, 0));
    assert_eq!((trade.price, trade.value), (dec("58000"), usd("29000")));
    let named = names(&venue);
    assert_eq!(named.iter().map(|named| named.0).collect::<Vec<_>>(), [trader, 0]);
    assert!(named.iter().all(|named| named.1.starts_with("autoclose-")), "{named:?}");
    // The next trade of the book counts on.
    let state = PerpetualState::Trading as u8;
    venue.ok(SetPerpetualState { market: BTC, state, reserved: [0; 3] });
    venue.buy(short, "0.1", "58200");
    venue.sell(short, "0.1", "58200");
    assert_eq!(venue.fills()[0].trade, trade.trade + 1);

    // Settlement: every position, the fund's as any other, by an order of its own.
    venue.ok(SetPerpetualState { market: BTC, state: PerpetualState::Closed as u8, reserved: [0; 3] });
    let trades = venue.said::<event::PerpetualTrade>();
    let told: Vec<_> =
        trades.iter().map(|trade| (trade.taker_account, trade.quantity, trade.cause)).collect();
    assert_eq!(told, [(0, dec("0.5"), 4), (short, dec("0.5"), 4)]);
    assert!(names(&venue).iter().all(|named| named.1 == "settlement_autoclose"));
}

#[test]
fn what_nobody_takes_of_a_liquidation_expires_once() {
    // 12.3 step 4: cured by what the book took (`V-20`), the rest of the order ends with the step.
    let mut venue = Venue::trading("61500");
    no_fees(&mut venue);
    let [trader, maker, bidder] = ["61500", "10000000", "10000000"].map(|wallet| venue.account(wallet));
    open(&mut venue, trader, maker, Side::Buy, "20", "61500");
    venue.mark("59500");
    let place = venue.limit(bidder, Side::Buy, "3", "58990");
    venue.ok(place);
    venue.mark("59000");
    let trades = venue.said::<event::PerpetualTrade>();
    assert_eq!((trades.len(), trades[0].quantity, trades[0].flags), (1, dec("3"), 1));
    assert_eq!(venue.ends(), [(trades[0].taker_order, PerpetualStatus::Expired, 2, dec("3"))]);
}
