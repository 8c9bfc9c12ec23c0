//! The views of the perpetual side, fed with the events of small stories, and what they save.

use crate::perpetual::{START_NS, Story};
use ringside_core::command::{PerpetualParameter, PerpetualState, PerpetualStatus, PerpetualTimeInForce};
use ringside_core::event::{IndexState, PerpetualPrice, PerpetualSetting};
use ringside_views::Views;
use ringside_views::candle::INTERVALS;
use ringside_views::log::Page;
use ringside_views::perpetual::market;
use ringside_views::perpetual::rows::{IncomeKind, name_tag};
use ringside_views::perpetual::series::{CandleQuery, Source};

/// The name `same`, padded.
const SAME: [u8; 36] = *b"same\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";

fn incomes(views: &Views, account: u32) -> Vec<(u32, i64)> {
    views.perpetuals().income().of(account).map(|row| (row.kind, row.amount)).collect()
}

#[test]
fn a_fill_moves_orders_fills_income_candles_and_trades() {
    let mut story = Story::new();
    let (maker, taker) = story.fill(9_000, 250);
    let views = &story.views;
    let perpetuals = views.perpetuals();
    let maker = perpetuals.orders().get(1, crate::perpetual::MARKET, maker).unwrap();
    assert_eq!(
        (maker.told.status, maker.told.filled, maker.told.open),
        (PerpetualStatus::PartiallyFilled as u8, 25_000_000, 75_000_000)
    );
    assert_eq!((maker.told.value, maker.client_order()), (2_250_000_000, "maker-1"));
    let taker = perpetuals.orders().get(2, crate::perpetual::MARKET, taker).unwrap();
    assert_eq!((taker.told.status, taker.told.open), (PerpetualStatus::Filled as u8, 0));
    assert_eq!(perpetuals.orders().open_of(1).count(), 1);
    assert_eq!((perpetuals.orders().open_of(2).count(), perpetuals.orders().ended().of(2).count()), (0, 1));
    let fills: Vec<_> =
        perpetuals.fills().of(2).map(|fill| (fill.trade, fill.value, fill.is_maker)).collect();
    assert_eq!(fills, [(1, 2_250_000_000, 0)]);
    assert_eq!(incomes(views, 1), [(IncomeKind::Commission as u32, -450_000)]);
    assert_eq!(
        incomes(views, 2),
        [(IncomeKind::RealizedPnl as u32, 7_000_000), (IncomeKind::Commission as u32, -1_125_000)]
    );
    let market = &perpetuals.markets().all()[0];
    assert_eq!((market.symbol(), market.base(), market.quote()), ("BTCUSDT", "BTC", "USDT"));
    assert_eq!(market.last_trade().map(|trade| (trade.price, trade.aggregate)), Some((900_000_000_000, 1)));
    assert_eq!(market.open_interest, 25_000_000);
    assert_eq!(market.leverage_max(), 125);
}

#[test]
fn orders_are_found_by_name_the_open_one_first() {
    let mut story = Story::new();
    let first = story.rest("same", 9_000, 100);
    story.cancel(first);
    let second = story.rest("same", 9_001, 100);
    let open = |story: &Story, account| {
        let orders = story.views.perpetuals().orders();
        orders.open_named(account, crate::perpetual::MARKET, "same", false).map(|order| order.told.order)
    };
    let newest = |story: &Story| {
        let page =
            Page::new(1, Some(crate::perpetual::MARKET), 1).tagged(name_tag(crate::perpetual::MARKET, &SAME));
        story.views.perpetuals().orders().ended().page(&page).first().map(|order| order.told.order)
    };
    assert_eq!((open(&story, 1), newest(&story)), (Some(second), Some(first)));
    story.cancel(second);
    let third = story.rest("other", 9_001, 100);
    assert_eq!((open(&story, 1), newest(&story)), (None, Some(second)));
    assert_eq!(open(&story, 2), None);
    let orders = story.views.perpetuals().orders();
    assert_eq!(orders.open(third).unwrap().told.time_in_force, PerpetualTimeInForce::GoodTillCancel as u8);
    let first = orders.get(1, crate::perpetual::MARKET, first).unwrap();
    assert_eq!(first.told.status, PerpetualStatus::Canceled as u8);
}

#[test]
fn trades_of_one_taker_at_one_price_join_within_a_tenth_of_a_second() {
    let mut story = Story::new();
    for (price, wait_ms) in [(9_000, 0), (9_000, 99), (9_000, 1), (9_001, 0), (9_000, 0)] {
        story.time_ns += wait_ms * 1_000_000;
        story.fill(price, 100);
    }
    let rows: Vec<u64> = story.views.perpetuals().trades().iter().map(|trade| trade.aggregate).collect();
    assert_eq!(rows, [1, 1, 2, 3, 4]);
}

#[test]
fn a_market_knows_when_its_funding_was_set() {
    let mut story = Story::new();
    let set = |story: &mut Story, parameter: PerpetualParameter| {
        story.time_ns += 1_000_000_000;
        let parameter = parameter as u32;
        story.tell(PerpetualSetting { market: crate::perpetual::MARKET, parameter, value: 7 });
        story.done();
        let market = &story.views.perpetuals().markets().all()[0];
        market.funding_set_ms - START_NS / 1_000_000
    };
    assert_eq!(story.views.perpetuals().markets().all()[0].funding_set_ms, START_NS / 1_000_000);
    assert_eq!(set(&mut story, PerpetualParameter::Tick), 0);
    assert_eq!(set(&mut story, PerpetualParameter::FundingCap), 2_000);
    assert_eq!(set(&mut story, PerpetualParameter::Lot), 2_000);
    assert_eq!(set(&mut story, PerpetualParameter::FundingIntervalHours), 4_000);
}

#[test]
fn what_is_saved_is_what_was_seen() {
    let mut story = Story::new();
    story.fill(9_000, 250);
    story.rest("waits", 8_000, 100);
    story.time_ns += 120_000_000_000;
    story.fill(9_100, 10);
    let mut saved = Vec::new();
    story.views.save(&mut saved);
    let mut loaded = Views::default();
    loaded.load(&saved).unwrap();
    let mut again = Vec::new();
    loaded.save(&mut again);
    assert!(saved == again);
    let (seen, loaded) = (story.views.perpetuals(), loaded.perpetuals());
    assert!(seen.orders().open_of(1).eq(loaded.orders().open_of(1)));
    assert!(seen.fills().of(1).eq(loaded.fills().of(1)));
    assert_eq!(loaded.orders().ended().of(2).count(), 2);
    assert_eq!(
        loaded.accounts().get(1).holding(crate::perpetual::MARKET),
        seen.accounts().get(1).holding(crate::perpetual::MARKET)
    );
    // A level of a perpetual book is no level of a spot market.
    assert!(
        story.views.depth().book(crate::perpetual::MARKET).is_none()
            && loaded.book(crate::perpetual::MARKET).is_some()
    );
    // Any cut is refused, none is a panic.
    for len in (0..saved.len()).step_by(1 + saved.len() / 500) {
        assert!(Views::default().load(&saved[..len]).is_err(), "{len}");
    }
}

/// Candles of a minute: start in minutes, then the values in whole units, then how many samples.
fn minutes(story: &Story, source: Source) -> Vec<(i64, [i64; 4], u64)> {
    let now_ms = story.time_ns / 1_000_000;
    let query = CandleQuery {
        source,
        market: crate::perpetual::MARKET,
        interval: INTERVALS[0].1,
        start_ms: None,
        end_ms: None,
        limit: 500,
    };
    let candles = story.views.perpetuals().series().candles(&query, now_ms);
    let start_ms = START_NS / 1_000_000;
    let shown = candles.iter().map(|candle| {
        let values = [candle.open, candle.high, candle.low, candle.close];
        (
            (candle.open_ms - start_ms).div_euclid(60_000),
            values.map(|value| value / 100_000_000),
            candle.count,
        )
    });
    shown.collect()
}

#[test]
fn a_candle_of_marks_begins_with_what_stood_when_it_began() {
    // It begins 20 s into a minute, at 9100.
    let mut story = Story::new();
    for second in 0..=130_i64 {
        story.time_ns = START_NS + second * 1_000_000_000;
        if second == 80 {
            story.mark(9_300);
        }
        story.tick();
    }
    story.time_ns += 900_000_000;
    story.mark(9_000);
    let expected =
        [(-1, [9_100; 4], 40), (0, [9_100, 9_300, 9_100, 9_300], 60), (1, [9_300, 9_300, 9_000, 9_000], 31)];
    assert_eq!(minutes(&story, Source::Mark), expected);
    assert_eq!(minutes(&story, Source::Index), expected);
    // A book without impact prices has a premium of nothing, as funding counts it.
    assert_eq!(minutes(&story, Source::Premium), [(-1, [0; 4], 8), (0, [0; 4], 12), (1, [0; 4], 7)]);
    let seen_ms = |story: &Story| story.views.perpetuals().markets().all()[0].price_ms;
    story.time_ns += 1_000_000_000;
    story.tick();
    let last_ms = story.time_ns / 1_000_000;
    assert_eq!(seen_ms(&story), last_ms);
    // A price that is held is as old as it is, and no premium.
    let told = story.views.perpetuals().markets().all()[0].price.expect("it has a mark");
    story.tell(PerpetualPrice { index_state: IndexState::Held as u8, ..told });
    story.done();
    story.time_ns += 9_000_000_000;
    story.tick();
    assert_eq!((seen_ms(&story), minutes(&story, Source::Mark)[2].2), (last_ms, 33));
    assert_eq!(minutes(&story, Source::Premium)[2].2, 7);
    // A market that is closed has no prices any more.
    let before = minutes(&story, Source::Mark);
    story.state(PerpetualState::Closed);
    story.time_ns += 1_000_000_000;
    story.tick();
    assert_eq!((seen_ms(&story), minutes(&story, Source::Mark)), (last_ms, before));
}

#[test]
fn premiums_are_those_that_funding_counts() {
    let story = Story::new();
    let told = story.views.perpetuals().markets().all()[0].price.expect("it has a mark");
    let premium = |bid: i64, ask: i64, state: IndexState| {
        let told = PerpetualPrice {
            index: 900_000_000_000,
            impact_bid: bid,
            impact_ask: ask,
            index_state: state as u8,
            ..told
        };
        market::premium(&told)
    };
    for (bid, ask, rate) in [
        (900_900_000_000, 0, Some(100_000)),
        (0, 899_100_000_000, Some(-100_000)),
        (0, 0, Some(0)),
        (899_000_000_000, 901_000_000_000, Some(0)),
        (900_900_000_000, 900_950_000_000, Some(100_000)),
        // 100,000.00011.. downward and upward alike toward zero.
        (900_900_001_000, 0, Some(100_000)),
        (0, 899_099_999_000, Some(-100_000)),
    ] {
        assert_eq!(premium(bid, ask, IndexState::Live), rate, "{bid} {ask}");
    }
    assert_eq!(premium(900_900_000_000, 0, IndexState::Held), None);
    assert_eq!(premium(900_900_000_000, 0, IndexState::Stale), None);
}
