//! Words of the spot API beside those of the engine's enumerations, which the wire has.

use ringside_views::kline::Interval;

/// Words of [`Interval`], in its order. Their case counts: elsewhere `M` is a month.
pub const INTERVALS: [&str; 6] = ["1m", "5m", "15m", "1h", "4h", "1d"];

/// The interval of a word.
pub fn read_interval(text: &str) -> Option<Interval> {
    let index = INTERVALS.iter().position(|word| *word == text)?;
    Interval::ALL.get(index).copied()
}

/// The word of an interval.
pub const fn interval(interval: Interval) -> &'static str {
    INTERVALS[interval as usize]
}
