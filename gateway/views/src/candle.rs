//! One candle, of trades or of samples, and the intervals that there are candles of. Both sides of the venue keep theirs in it.

use crate::stored::{layouts, stored};
use ringside_core::ids::MarketId;

const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Length of a candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interval {
    /// So many milliseconds, counted from this time on.
    Fixed(i64, i64),
    /// A calendar month, UTC.
    Month,
}

/// Names and lengths. A week begins on Monday; the epoch was a Thursday.
pub const INTERVALS: [(&str, Interval); 15] = [
    ("1m", Interval::Fixed(MINUTE_MS, 0)),
    ("3m", Interval::Fixed(3 * MINUTE_MS, 0)),
    ("5m", Interval::Fixed(5 * MINUTE_MS, 0)),
    ("15m", Interval::Fixed(15 * MINUTE_MS, 0)),
    ("30m", Interval::Fixed(30 * MINUTE_MS, 0)),
    ("1h", Interval::Fixed(HOUR_MS, 0)),
    ("2h", Interval::Fixed(2 * HOUR_MS, 0)),
    ("4h", Interval::Fixed(4 * HOUR_MS, 0)),
    ("6h", Interval::Fixed(6 * HOUR_MS, 0)),
    ("8h", Interval::Fixed(8 * HOUR_MS, 0)),
    ("12h", Interval::Fixed(12 * HOUR_MS, 0)),
    ("1d", Interval::Fixed(DAY_MS, 0)),
    ("3d", Interval::Fixed(3 * DAY_MS, 0)),
    ("1w", Interval::Fixed(7 * DAY_MS, 4 * DAY_MS)),
    ("1M", Interval::Month),
];

impl Interval {
    /// Start of the candle that holds a time.
    pub fn open(self, time_ms: i64) -> i64 {
        match self {
            Interval::Fixed(len, from) => time_ms - (time_ms - from).rem_euclid(len),
            Interval::Month => {
                let (year, month) = month_of(time_ms.div_euclid(DAY_MS));
                days_to(year, month) * DAY_MS
            }
        }
    }

    /// Start of the candle `count` after the one that starts at `open_ms`; before it below 0.
    pub fn step(self, open_ms: i64, count: i64) -> i64 {
        match self {
            Interval::Fixed(len, _) => open_ms.saturating_add(len.saturating_mul(count)),
            Interval::Month => {
                let (year, month) = month_of(open_ms.div_euclid(DAY_MS));
                let months = year * 12 + month - 1 + count;
                days_to(months.div_euclid(12), months.rem_euclid(12) + 1) * DAY_MS
            }
        }
    }
}

/// Year and month (1 to 12) of a day of the epoch, in the Gregorian calendar. Counts from March, so that the leap day is the
/// last of its year.
fn month_of(day: i64) -> (i64, i64) {
    let day = day + 719_468;
    let era = day.div_euclid(146_097);
    let day_of_era = day.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let (year, month) = (era * 400 + year_of_era, if month < 10 { month + 3 } else { month - 9 });
    (if month <= 2 { year + 1 } else { year }, month)
}

/// Days of the epoch before the first of a month.
fn days_to(year: i64, month: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

/// What volumes are summed up in. Money goes to and fro without a bound, and the largest number stands for more.
pub trait Sum: Copy + Default + From<i64> + Into<i128> {
    /// The sum of both.
    fn plus(self, other: Self) -> Self;
}

macro_rules! sums {
    ($($sum:ty),*) => {
        $(impl Sum for $sum {
            fn plus(self, other: $sum) -> $sum {
                self.saturating_add(other)
            }
        })*
    };
}

sums!(i64, i128);

/// One candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candle<S> {
    /// Start, UNIX milliseconds.
    pub open_ms: i64,
    /// First value, steps of 10^-8.
    pub open: i64,
    /// Highest.
    pub high: i64,
    /// Lowest.
    pub low: i64,
    /// Last.
    pub close: i64,
    /// Base traded, steps of 10^-8.
    pub volume: S,
    /// Quote traded: micro-quote of a perpetual market, an amount of spot.
    pub value: S,
    /// Trades, or samples.
    pub count: u64,
    /// Base bought by takers; spot does not count it, nor what follows.
    pub taker_volume: S,
    /// Quote of that.
    pub taker_value: S,
    /// First trade, 0 for none.
    pub first: u64,
    /// Last trade, or the last sample, which are numbered by their steps of the epoch; 0 for none.
    pub last: u64,
}

impl<S: Sum> Candle<S> {
    /// Nothing happened in it but that a value stood.
    pub fn flat(open_ms: i64, value: i64) -> Candle<S> {
        let none = S::default();
        Candle {
            open_ms,
            open: value,
            high: value,
            low: value,
            close: value,
            volume: none,
            value: none,
            count: 0,
            taker_volume: none,
            taker_value: none,
            first: 0,
            last: 0,
        }
    }

    /// Whether its interval is over at a time.
    pub fn is_over(&self, interval: Interval, time_ms: i64) -> bool {
        interval.open(time_ms) > self.open_ms
    }

    /// Takes in a value.
    pub(super) fn put(&mut self, value: i64) {
        self.high = self.high.max(value);
        self.low = self.low.min(value);
        self.close = value;
    }

    /// Takes in a trade.
    pub(super) fn trade(&mut self, price: i64, quantity: i64, value: S) {
        self.put(price);
        self.volume = self.volume.plus(quantity.into());
        self.value = self.value.plus(value);
        self.count += 1;
    }
}

/// A candle that is over, as a row of its series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedCandle<S> {
    /// The candle.
    pub candle: Candle<S>,
    /// Market id.
    pub market: MarketId,
    /// Number of its list in the archive.
    pub list: u32,
}

layouts! {
    /// A candle.
    CandleV1 of Candle<i64> {
        open_ms: i64, open: i64, high: i64, low: i64, close: i64, volume: i64, value: i64, count: u64, taker_volume: i64,
        taker_value: i64, first: u64, last: u64,
    }

    /// A candle that is over.
    ClosedCandleV1 of ClosedCandle<i64> { candle: CandleV1, market: u32, list: u32 }
}

stored! {
    Candle<i64> as Candles: CandleV1;
    ClosedCandle<i64> as ClosedCandles: ClosedCandleV1;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candles_start_where_the_calendar_says() {
        // 2024-02-29 12:34:56.789 UTC, a Thursday.
        let time_ms = 1_709_210_096_789;
        let open = |name: &str| INTERVALS.iter().find(|(known, _)| *known == name).unwrap().1.open(time_ms);
        assert_eq!(open("1m"), 1_709_210_040_000);
        assert_eq!(open("1d"), 1_709_164_800_000);
        assert_eq!(open("1w"), 1_708_905_600_000);
        assert_eq!(open("1M"), 1_706_745_600_000);
        assert_eq!(open("3d").rem_euclid(3 * DAY_MS), 0);
        assert_eq!(Interval::Month.step(1_706_745_600_000, 1), 1_709_251_200_000);
        assert_eq!(Interval::Month.step(1_706_745_600_000, -2), 1_701_388_800_000);
        assert_eq!(Interval::Month.step(Interval::Month.step(0, 777), -777), 0);
    }
}
