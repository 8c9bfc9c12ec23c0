//! Candles of the perpetual side against those another exchange showed of the same trades.

use crate::captured::{self, number_of, steps, text_of};
use crate::perpetual::{MARKET, Story};
use ringside_core::command::Side;
use ringside_core::event;
use ringside_core::risk::perpetual::units::floor_value;
use ringside_views::candle::{Candle, INTERVALS};
use ringside_views::perpetual::series::{CandleQuery, Source};

/// Folds a recorded trade, an aggregate, as one trade.
fn trade(story: &mut Story, recorded: &serde_json::Value) {
    // Recorded before the story's listing; nothing else happens in it.
    story.time_ns = number_of(recorded, "T") * 1_000_000;
    // `m`: the buyer is the maker.
    let taker_side = if recorded["m"] == true { Side::Sell } else { Side::Buy };
    let (price, quantity) = (steps(text_of(recorded, "p")), steps(text_of(recorded, "q")));
    story.tell(event::PerpetualTrade {
        trade: number_of(recorded, "l").unsigned_abs(),
        price,
        quantity,
        value: floor_value(quantity, price).unwrap(),
        maker_account: 1,
        taker_account: 2,
        market: MARKET,
        taker_side: taker_side as u8,
        ..zerocopy::FromZeros::new_zeroed()
    });
    story.done();
}

/// The only candle of an interval.
fn candle(story: &Story, interval: &str) -> Candle<i64> {
    let (_, interval) = INTERVALS.into_iter().find(|(name, _)| *name == interval).unwrap();
    let query = CandleQuery {
        source: Source::Trades,
        market: MARKET,
        interval,
        start_ms: None,
        end_ms: None,
        limit: 1_000,
    };
    let candles = story.views.perpetuals().series().candles(&query, story.time_ns / 1_000_000);
    assert_eq!(candles.len(), 1, "{candles:?}");
    candles[0]
}

#[test]
fn candles_of_another_exchange() {
    let Some(captured) = captured::candles() else { return };
    for (theirs, trades) in &captured {
        let mut story = Story::new();
        trades.iter().for_each(|recorded| trade(&mut story, recorded));
        let ours = candle(&story, "1m");
        assert_eq!(ours.open_ms, number_of(theirs, "t"), "{theirs}");
        let prices = ["o", "h", "l", "c"].map(|name| steps(text_of(theirs, name)));
        assert_eq!([ours.open, ours.high, ours.low, ours.close], prices, "{theirs}");
        let volumes = ["v", "V"].map(|name| steps(text_of(theirs, name)));
        assert_eq!([ours.volume, ours.taker_volume], volumes, "{theirs}");
        // Micros: no product of a price and a quantity of these markets has more than six decimals.
        let values = ["q", "Q"].map(|name| steps(text_of(theirs, name)) / 100);
        assert_eq!([ours.value, ours.taker_value], values, "{theirs}");
        assert_eq!((ours.last, ours.count), (number_of(theirs, "L").unsigned_abs(), trades.len() as u64));
        // Longer candles of the same trades differ in where they start alone.
        for (interval, minutes) in [("3m", 3), ("5m", 5), ("1h", 60), ("1d", 1_440)] {
            let longer = candle(&story, interval);
            let open_ms = ours.open_ms - ours.open_ms.rem_euclid(minutes * 60_000);
            assert_eq!(longer, Candle { open_ms, ..ours }, "{interval} {theirs}");
        }
    }
}
