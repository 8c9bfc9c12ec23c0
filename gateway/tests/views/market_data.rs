//! Candles and tickers against a recomputation that shares nothing with the folds: every number is worked out anew from
//! the list of all trades. Flow: random trades that aim at the edges of windows, and recorded sessions.
//!
//! One seed gives one run: `RINGSIDE_SEED=<n> cargo test -p ringside-gateway --test views market_data` repeats it.

use crate::captured::{self, number_of, steps, text_of};
use crate::data;
use crate::flow::saved;
use crate::random::{Random, seeds};
use ringside_core::command::{
    AdvanceTime, Body, CancelAll, Command, CreateAccount, Credit, ListMarket, MarketKind, PlaceOrder, Side,
    TimeInForce,
};
use ringside_core::engine::{Engine, EngineConfig};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, MarketId, padded};
use ringside_core::money::UNIT;
use ringside_views::Views;
use ringside_views::kline::{KEPT, SPOT_INTERVALS, SpotCandle, seconds_of};
use ringside_views::ticker::Ticker;
use ringside_views::time::TimeRange;
use std::collections::BTreeMap;

const MAKER: AccountId = 1;
const TAKER: AccountId = 2;
const SECOND_NS: i64 = 1_000_000_000;
const DAY_S: i64 = 86_400;
/// Places of intervals.
const MINUTE: usize = 0;
const DAY: usize = 5;

/// A trade as the recomputation knows it.
#[derive(Clone, Copy, Debug)]
struct Traded {
    time_ns: i64,
    price: i64,
    quantity: i64,
}

impl Traded {
    /// Seconds, rounded down; recorded times are never negative.
    fn second(&self) -> i64 {
        self.time_ns / SECOND_NS
    }
}

/// What a candle and a window have in common, worked out from trades: (open, high, low, close, volume, quote, count).
type Summary = (i64, i64, i64, i64, i128, i128, u64);

fn summary(trades: &[Traded]) -> Option<Summary> {
    let prices: Vec<i64> = trades.iter().map(|trade| trade.price).collect();
    let volume = trades.iter().map(|trade| i128::from(trade.quantity)).sum();
    // Two factors of 10^-8 each, shown in 10^-18.
    let quote = trades.iter().map(|trade| i128::from(trade.price) * i128::from(trade.quantity) * 100).sum();
    Some((
        *prices.first()?,
        *prices.iter().max()?,
        *prices.iter().min()?,
        *prices.last()?,
        volume,
        quote,
        trades.len() as u64,
    ))
}

fn of_candle(candle: &SpotCandle) -> (i64, Summary) {
    let SpotCandle { open, high, low, close, volume, value, count, .. } = *candle;
    (candle.open_ms / 1_000, (open, high, low, close, volume, value, count))
}

fn of_ticker(row: &Ticker) -> Summary {
    let day = row.day;
    (day.open, day.high, day.low, day.close, day.volume, day.value, day.count)
}

/// All candles of an interval of `seconds`: start and summary, oldest first.
fn candles(trades: &[Traded], seconds: i64) -> Vec<(i64, Summary)> {
    let mut groups: BTreeMap<i64, Vec<Traded>> = BTreeMap::new();
    for trade in trades {
        groups.entry(trade.second() / seconds * seconds).or_default().push(*trade);
    }
    groups.iter().map(|(start, trades)| (*start, summary(trades).expect("a trade"))).collect()
}

/// The row of a market at a second.
fn row(trades: &[Traded], now_s: i64) -> Option<Summary> {
    let last = trades.last()?.price;
    let window = |trade: &&Traded| (now_s - DAY_S..=now_s).contains(&trade.second());
    let inside: Vec<Traded> = trades.iter().filter(window).copied().collect();
    Some(summary(&inside).unwrap_or((last, last, last, last, 0, 0, 0)))
}

/// An engine, the views of its events, and all trades so far.
struct Rig {
    engine: Engine,
    views: Views,
    time_ns: i64,
    events: Vec<Event>,
    trades: Vec<Vec<Traded>>,
}

impl Rig {
    /// Two rich accounts and so many markets with the finest steps, at a time before any trade.
    fn new(markets: u8, time_ns: i64) -> Rig {
        let mut rig = Rig {
            engine: Engine::new(&EngineConfig::default()),
            views: Views::default(),
            time_ns,
            events: Vec::new(),
            trades: vec![Vec::new(); markets.into()],
        };
        for market in 0..markets {
            let base = format!("B{market}");
            rig.apply(ListMarket {
                symbol: padded(&format!("{base}Q")).expect("short"),
                base: padded(&base).expect("short"),
                quote: padded("Q").expect("short"),
                tick: 1,
                lot: 1,
                min_notional: 1.into(),
                maker_fee: 0,
                taker_fee: 0,
                max_open_orders: 200,
                kind: MarketKind::Spot as u8,
                reserved: [0; 3],
            });
        }
        for account in [MAKER, TAKER] {
            let mut address = [0; 20];
            address[0] = account as u8;
            rig.apply(CreateAccount { address, reserved: 0 });
            for asset in (0..markets).map(|market| format!("B{market}")).chain(["Q".to_owned()]) {
                let reason = padded("test").expect("short");
                let asset = padded(&asset).expect("short");
                rig.apply(Credit { address, asset, reserved: 0, amount: 10i128.pow(36).into(), reason });
            }
        }
        rig
    }

    fn apply<P: Body>(&mut self, body: P) {
        let mut command = Command::new(body);
        command.sequence = self.engine.sequence() + 1;
        command.time_ns = self.time_ns;
        self.events.clear();
        self.engine.apply(&command, &mut self.events);
        for event in &self.events {
            self.views.fold(event);
            if let Some(trade) = event.get::<event::Trade>() {
                let traded = Traded { time_ns: event.time_ns, price: trade.price, quantity: trade.quantity };
                self.trades[trade.market as usize].push(traded);
            }
        }
    }

    fn rest(&mut self, market: MarketId, price: i64, quantity: i64) {
        self.apply(PlaceOrder::limit(MAKER, market, Side::Sell, price, quantity));
    }

    fn take(&mut self, market: MarketId, price: i64, quantity: i64) {
        let limit = PlaceOrder::limit(TAKER, market, Side::Buy, price, quantity);
        self.apply(PlaceOrder { time_in_force: TimeInForce::ImmediateOrCancel as u8, ..limit });
    }

    /// One trade of just these numbers.
    fn trade(&mut self, market: MarketId, price: i64, quantity: i64) {
        let before = self.trades[market as usize].len();
        self.rest(market, price, quantity);
        self.take(market, price, quantity);
        assert_eq!(self.trades[market as usize].len(), before + 1, "{price} x {quantity}");
    }

    /// Every candle that is held is the recomputed one, and the newest are held.
    fn check_candles(&self, market: MarketId) {
        let trades = &self.trades[market as usize];
        for interval in 0..SPOT_INTERVALS.len() {
            let klines = self.views.klines().page(market, interval, &TimeRange::ALL, usize::MAX);
            let shown: Vec<_> = klines.iter().map(of_candle).collect();
            let expected = candles(trades, seconds_of(interval).into());
            let dropped = expected.len().saturating_sub(KEPT);
            assert_eq!(shown, expected[dropped..], "market {market}, {interval:?}");
            assert_eq!(self.views.klines().latest(market, interval), klines.last().copied());
            let held_since = self.views.klines().held_since_s(market, interval);
            assert_eq!(held_since, (dropped > 0).then(|| shown[0].0));
        }
    }
}

/// Moves the clock: often not at all, often to just before, onto or just behind an edge: of a second, of an interval, of
/// the window of one of the last trades.
fn turn_clock(random: &mut Random, rig: &mut Rig) {
    let now = rig.time_ns;
    let edge_ns = match random.between(0, 9) {
        0..=3 => return,
        4 => now + SECOND_NS,
        5 | 6 => {
            let interval = SPOT_INTERVALS[random.between(0, 5) as usize].1.step(0, 1) * 1_000_000;
            (now / interval + 1) * interval
        }
        7 | 8 => {
            let market = random.between(0, rig.trades.len() as i64 - 1) as usize;
            let trades = &rig.trades[market];
            let back = random.between(0, 19) as usize;
            let Some(trade) = trades.len().checked_sub(1 + back).and_then(|index| trades.get(index)) else {
                return;
            };
            // The first second at which the trade is outside.
            (trade.second() + DAY_S + 1) * SECOND_NS
        }
        _ => now + random.between(0, DAY_S * SECOND_NS - 1),
    };
    let beside = *random.pick(&[-SECOND_NS, -1, 0, 0, 1, 999_999_999]);
    rig.time_ns = now.max(edge_ns + beside);
}

#[test]
fn random_trades_at_the_edges_of_windows() {
    for seed in seeds(16) {
        eprintln!("rerun: RINGSIDE_SEED={seed} cargo test -p ringside-gateway --test views market_data::");
        let mut random = Random::new(seed);
        let mut rig = Rig::new(2, 1_700_000_000 * SECOND_NS + random.between(0, DAY_S * SECOND_NS - 1));
        let mut restarted = Views::default();
        restarted.load(&saved(&rig.views)).expect("what was saved loads");
        // When each row was refreshed last, and the last minute that all were.
        let (mut refreshed, mut minute) = ([0; 2], rig.time_ns / SECOND_NS / 60);
        let mut closed: BTreeMap<(usize, usize), Vec<i64>> = BTreeMap::new();
        let (mut empty_rows, mut long_sweeps) = (0, 0);
        for step in 0..1200 {
            turn_clock(&mut random, &mut rig);
            let now_s = rig.time_ns / SECOND_NS;
            let market = random.between(0, 1) as MarketId;
            let counts = [rig.trades[0].len(), rig.trades[1].len()];
            let (price, quantity) =
                (1 + random.between(0, 49) * UNIT / 100, 1 + random.between(0, 99) * UNIT / 7);
            match random.between(0, 7) {
                0..=2 => rig.rest(market, price, quantity),
                3..=5 => rig.take(market, price + UNIT / 10, quantity),
                6 => rig.apply(AdvanceTime {}),
                _ => rig.apply(CancelAll { account: MAKER, market }),
            }
            let is_minute = now_s / 60 > minute;
            minute = now_s / 60;
            let sequence = rig.engine.sequence();
            assert_eq!(rig.views.tickers().is_refreshed_by(sequence), is_minute, "step {step}");
            for market in 0..2 {
                let trades = &rig.trades[market];
                if is_minute || trades.len() > counts[market] {
                    refreshed[market] = now_s;
                }
                let shown = rig.views.tickers().get(market as MarketId);
                assert_eq!(shown.map(of_ticker), row(trades, refreshed[market]), "step {step}");
                assert!(shown.is_none_or(|shown| shown.close_time_s == refreshed[market]), "step {step}");
                empty_rows += i32::from(shown.is_some_and(|shown| shown.day.count == 0));
                check_updates(&rig, market, counts[market]);
                long_sweeps += i32::from(trades.len() > counts[market] + 2);
            }
            for found in rig.views.klines().closed_by(sequence) {
                let key = (found.market as usize, found.interval());
                closed.entry(key).or_default().push(found.candle.open_ms / 1_000);
                // Final: all trades of its interval, and it is over.
                let trades = &rig.trades[found.market as usize];
                let all = candles(trades, seconds_of(found.interval()).into());
                assert!(all.contains(&of_candle(&found.candle)), "step {step}");
                assert!(found.candle.is_over(SPOT_INTERVALS[found.interval()].1, rig.time_ns / 1_000_000));
            }
            rig.events.iter().for_each(|event| restarted.fold(event));
            if step % 50 == 0 {
                rig.check_candles(market);
                let bytes = saved(&rig.views);
                assert_eq!(saved(&restarted), bytes, "step {step}: a restart changes nothing");
                restarted = Views::default();
                restarted.load(&bytes).expect("what was saved loads");
            }
        }
        // Each candle that is over has been closed once, in order, and no other.
        for market in 0..2 {
            for (interval, (name, _)) in SPOT_INTERVALS.iter().enumerate() {
                let seconds = i64::from(seconds_of(interval));
                let open_s = rig.time_ns / SECOND_NS / seconds * seconds;
                let starts = candles(&rig.trades[market], seconds);
                let over = starts.iter().map(|(start, _)| *start).filter(|start| *start < open_s);
                let closed = closed.remove(&(market, interval)).unwrap_or_default();
                assert!(over.eq(closed), "seed {seed}, market {market}, {name}");
            }
        }
        assert!(empty_rows > 20 && long_sweeps > 2, "seed {seed} shows little: {empty_rows}, {long_sweeps}");
    }
}

/// What listeners are told of the last command: candle and row after each of its trades.
fn check_updates(rig: &Rig, market: usize, before: usize) {
    let trades = &rig.trades[market];
    let id = market as MarketId;
    let rows: Vec<_> = rig.views.tickers().updates(id, &rig.events).collect();
    assert_eq!(rows.len(), trades.len() - before);
    for (shown, len) in rows.iter().zip(before + 1..) {
        assert_eq!(Some(of_ticker(shown)), row(&trades[..len], shown.close_time_s));
    }
    for interval in 0..SPOT_INTERVALS.len() {
        let klines: Vec<_> = rig.views.klines().updates(id, interval, &rig.events).collect();
        assert_eq!(klines.len(), trades.len() - before);
        for (shown, len) in klines.iter().zip(before + 1..) {
            let all = candles(&trades[..len], seconds_of(interval).into());
            assert_eq!(all.last(), Some(&of_candle(shown)));
        }
    }
}

#[test]
fn candles_are_held_up_to_a_bound() {
    let start_s = 1_700_006_400;
    let mut rig = Rig::new(1, start_s * SECOND_NS);
    for minute in 0..KEPT as i64 + 300 {
        rig.time_ns = (start_s + 60 * minute) * SECOND_NS;
        rig.trade(0, UNIT + minute, UNIT);
    }
    rig.check_candles(0);
    let klines = rig.views.klines();
    let first = start_s + 300 * 60;
    assert_eq!(klines.held_since_s(0, MINUTE), Some(first));
    assert_eq!(klines.held_since_s(0, 1), None);
    let opens = |start_s, end_s, limit| -> Vec<i64> {
        let page = klines.page(0, MINUTE, &TimeRange { start_s, end_s }, limit);
        page.iter().map(|candle| candle.open_ms / 1_000).collect()
    };
    assert_eq!(opens(start_s, i64::MAX, 2), [first, first + 60]);
    assert_eq!(opens(first + 1, first + 120, 9), [first + 60, first + 120]);
    assert_eq!(opens(i64::MIN, first + 120, 2), [first + 60, first + 120]);
    assert_eq!(opens(first + 61, first + 119, 2), [0; 0]);
    assert_eq!(opens(i64::MIN, i64::MAX, 1), [first + 60 * (KEPT as i64 - 1)]);
}

#[test]
fn what_money_buys_again_and_again_is_shown_as_the_most_that_an_amount_can_be() {
    let start_s = 1_700_006_400;
    let mut rig = Rig::new(1, start_s * SECOND_NS);
    let (price, quantity) = (920_000_000_000_000_000, 900_000_000_000_000_000);
    let value = i128::from(price) * i128::from(quantity) * 100;
    let mut address = [0; 20];
    address[0] = TAKER as u8;
    let (asset, reason) = (padded("Q").expect("short"), padded("test").expect("short"));
    rig.apply(Credit { address, asset, reserved: 0, amount: value.into(), reason });
    let quote_volumes = |rig: &Rig| {
        let kline = rig.views.klines().latest(0, DAY).expect("it has traded");
        [kline.value, rig.views.tickers().get(0).expect("it has traded").day.value]
    };
    // The same money to and fro: more than there can be of it.
    let mut expected = 0_i128;
    for [seller, buyer] in [[MAKER, TAKER], [TAKER, MAKER], [MAKER, TAKER]] {
        for (account, side) in [(seller, Side::Sell), (buyer, Side::Buy)] {
            rig.apply(PlaceOrder::limit(account, 0, side, price, quantity));
        }
        expected = expected.saturating_add(value);
        assert_eq!(quote_volumes(&rig), [expected; 2]);
        rig.time_ns += SECOND_NS;
    }
    assert_eq!(expected, i128::MAX);
    assert_eq!(rig.views.tickers().get(0).expect("it has traded").day.count, 3);
    let mut restarted = Views::default();
    restarted.load(&saved(&rig.views)).expect("what was saved loads");
    assert_eq!(saved(&restarted), saved(&rig.views));
    assert_eq!(restarted.tickers().get(0), rig.views.tickers().get(0));
    // As soon as what is left of it is an amount again, it is shown.
    rig.time_ns = (start_s + DAY_S + 1) * SECOND_NS;
    rig.trade(0, UNIT, UNIT);
    assert_eq!(quote_volumes(&rig)[1], 2 * value + i128::from(UNIT) * i128::from(UNIT) * 100);
    rig.time_ns += SECOND_NS;
    rig.trade(0, UNIT, UNIT);
    assert_eq!(quote_volumes(&rig)[1], value + 2 * i128::from(UNIT) * i128::from(UNIT) * 100);
}

/// The morning of one stock: candles and ticker from the exchange's fills, and the ticker against the exchange's own
/// running statistics, which are worked out by neither of us.
#[test]
fn shanghai_morning() {
    let Some(folder) = data::folder("sse-600519-20230207-am") else { return };
    // 2023-02-07 00:00 in Shanghai.
    const MIDNIGHT_S: i64 = 1_675_699_200;
    let inputs = data::text(&folder.join("inputs.csv.gz"));
    let time_ns = |time_cs: i64| {
        let (hour, minute, cs) = (time_cs / 1_000_000, time_cs / 10_000 % 100, time_cs % 10_000);
        (MIDNIGHT_S + 3600 * hour + 60 * minute) * SECOND_NS + cs * SECOND_NS / 100
    };
    let times: BTreeMap<i64, i64> =
        data::rows(&inputs).map(|row| (data::number(row[0]), time_ns(data::number(row[1])))).collect();
    // Statistics by their count of trades.
    let mut statistics: BTreeMap<i64, [i64; 6]> = BTreeMap::new();
    let snapshots = data::text(&folder.join("snapshots.csv.gz"));
    for row in data::rows(&snapshots) {
        let field = |index: usize| data::number(row[index]);
        // volume, turnover, last, open, high, low.
        statistics.insert(field(2), [3, 4, 6, 7, 8, 9].map(field));
    }
    statistics.remove(&0);
    let mut rig = Rig::new(1, time_ns(9_000_000));
    let fills = data::text(&folder.join("expected_trades.csv.gz"));
    let mut compared = 0;
    for (count, fill) in (1..).zip(data::rows(&fills)) {
        rig.time_ns = rig.time_ns.max(times[&data::number(fill[0])]);
        rig.trade(0, data::number(fill[1]) * UNIT / 1000, data::number(fill[2]) * UNIT);
        let row = *rig.views.tickers().get(0).expect("it has traded");
        let day = row.day;
        assert_eq!(day.count, count as u64);
        if let Some([volume, turnover, last, open, high, low]) = statistics.get(&count) {
            let price = |milli: &i64| milli * UNIT / 1000;
            let unit = i128::from(UNIT);
            let expected = (price(open), price(high), price(low), price(last));
            assert_eq!((day.open, day.high, day.low, day.close), expected, "after {count}");
            assert_eq!(day.volume, i128::from(*volume) * unit);
            // Yuan x 10^5 and amount steps of 10^-18.
            assert_eq!(day.value, i128::from(*turnover) * 10i128.pow(13), "after {count}");
            compared += 1;
        }
        if count % 500 == 0 {
            rig.check_candles(0);
            assert_eq!(Some(of_ticker(&row)), self::row(&rig.trades[0], row.close_time_s));
        }
    }
    rig.check_candles(0);
    eprintln!("{} fills, {compared} statistics of the exchange agree", rig.trades[0].len());
    assert!(rig.trades[0].len() == 11_537 && compared > 1500);
}

/// Two recorded minutes of the night around midnight, twice: all trades through engine and views, candles of every
/// interval against the recomputation, the ticker as well, then a day of silence.
#[test]
fn bitcoin_around_midnight() {
    let Some(folder) = data::folder("binance-usdm-ws-btcusdt") else { return };
    for (files, count) in [(["20230404", "20230405"], 12_935), (["20240718", "20240719"], 10_701)] {
        let mut rig: Option<Rig> = None;
        for file in files {
            let text = data::text(&folder.join(format!("usdm_btcusdt_{file}.gz")));
            for line in text.lines().filter(|line| line.contains("btcusdt@trade\"")) {
                let (_, frame) = line.split_once(' ').expect("a time and a frame");
                let frame: serde_json::Value = serde_json::from_str(frame).expect("json");
                let trade = &frame["data"];
                let time_ns = number_of(trade, "T") * 1_000_000;
                let rig = rig.get_or_insert_with(|| Rig::new(1, time_ns));
                rig.time_ns = rig.time_ns.max(time_ns);
                rig.trade(0, steps(text_of(trade, "p")), steps(text_of(trade, "q")));
            }
        }
        let mut rig = rig.expect("trades");
        assert_eq!(rig.trades[0].len(), count);
        rig.check_candles(0);
        let days = rig.views.klines().page(0, DAY, &TimeRange::ALL, 9).len();
        assert_eq!(days, 2, "the capture crosses midnight");
        // The window runs off the session second by second.
        let (first, last) = (rig.trades[0][0].second(), rig.time_ns / SECOND_NS);
        for second in (first..=last + 60).step_by(7) {
            rig.time_ns = rig.time_ns.max((second + DAY_S) * SECOND_NS);
            rig.apply(AdvanceTime {});
            let shown = rig.views.tickers().get(0).expect("it has traded");
            assert_eq!(Some(of_ticker(shown)), row(&rig.trades[0], shown.close_time_s));
        }
        assert_eq!(rig.views.tickers().get(0).expect("a row").day.count, 0);
    }
}

/// The exchange's own candles: where the recorded trades cover one, ours of these trades is the same.
#[test]
fn candles_of_another_exchange() {
    let Some(captured) = captured::candles() else { return };
    for (theirs, inside) in &captured {
        let mut rig = Rig::new(1, number_of(&inside[0], "T") * 1_000_000);
        for trade in inside {
            rig.time_ns = rig.time_ns.max(number_of(trade, "T") * 1_000_000);
            rig.trade(0, steps(text_of(trade, "p")), steps(text_of(trade, "q")));
        }
        let ours = rig.views.klines().latest(0, MINUTE).expect("a candle");
        assert_eq!(ours.open_ms, number_of(theirs, "t"), "{theirs}");
        assert_eq!(SPOT_INTERVALS[MINUTE].1.step(ours.open_ms, 1) - 1, number_of(theirs, "T"));
        let prices = ["o", "h", "l", "c"].map(|name| steps(text_of(theirs, name)));
        assert_eq!([ours.open, ours.high, ours.low, ours.close], prices, "{theirs}");
        assert_eq!(ours.volume, i128::from(steps(text_of(theirs, "v"))), "{theirs}");
        let quote = i128::from(steps(text_of(theirs, "q"))) * 10i128.pow(10);
        assert_eq!(ours.value, quote, "{theirs}");
    }
}
