//! Candles and rolling days of perpetual markets.

use super::{layouts, stored};
use crate::candle::{Candle, ClosedCandle};
use crate::day::Bucket;

layouts! {
    /// A candle.
    CandleV1 of Candle<i64> {
        open_ms: i64, open: i64, high: i64, low: i64, close: i64, volume: i64, value: i64, count: u64, taker_volume: i64,
        taker_value: i64, first: u64, last: u64,
    }

    /// A candle that is over.
    ClosedCandleV1 of ClosedCandle<i64> { candle: CandleV1, market: u32, list: u32 }

    /// Trades of one step of a rolling day.
    BucketV1 of Bucket<i64> {
        start_ms: i64, open: i64, high: i64, low: i64, volume: i64, value: i64, count: u64, first: u64, last: u64,
    }
}

stored! {
    Candle<i64> as Candles: CandleV1;
    ClosedCandle<i64> as ClosedCandles: ClosedCandleV1;
    Bucket<i64> as Buckets: BucketV1;
}
