//! Days of UTC as they are given and as files are named.

use anyhow::{Context, Result, ensure};
use ringside_views::candle::Interval;
use std::fmt;
use std::str::FromStr;

const DAY_MS: i64 = 86_400_000;

/// A day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::command_line) struct Day {
    /// Its first millisecond.
    pub(super) begin_ms: i64,
}

impl Day {
    /// The day that holds a time.
    pub(super) fn of(time_ms: i64) -> Day {
        Day { begin_ms: time_ms - time_ms.rem_euclid(DAY_MS) }
    }

    pub(super) fn next(self) -> Day {
        Day { begin_ms: self.begin_ms + DAY_MS }
    }

    /// All its milliseconds.
    pub(super) fn times(self) -> std::ops::RangeInclusive<i64> {
        self.begin_ms..=self.begin_ms + DAY_MS - 1
    }
}

/// Start of the month that is `months` after January 1970.
fn month(months: i64) -> i64 {
    Interval::Month.step(0, months)
}

impl FromStr for Day {
    type Err = anyhow::Error;

    /// `2026-11-26`, from 1970 on.
    fn from_str(text: &str) -> Result<Day> {
        let read = || {
            let mut parts = text.splitn(3, '-').map(|part| part.parse::<i64>().ok());
            let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
            ((1970..=9999).contains(&year) && (1..=12).contains(&month) && day >= 1)
                .then_some(((year - 1970) * 12 + month - 1, day))
        };
        let (months, day) = read().filter(|_| text.len() == 10).context("a day is YYYY-MM-DD")?;
        let begin_ms = month(months) + (day - 1) * DAY_MS;
        ensure!(begin_ms < month(months + 1), "that month has no such day");
        Ok(Day { begin_ms })
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut months = self.begin_ms / (31 * DAY_MS);
        while month(months + 1) <= self.begin_ms {
            months += 1;
        }
        let day = (self.begin_ms - month(months)) / DAY_MS + 1;
        write!(f, "{:04}-{:02}-{day:02}", 1970 + months / 12, months % 12 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_read_and_written() {
        for (text, begin_ms) in
            [("1970-01-01", 0), ("2000-02-29", 951_782_400_000), ("2026-11-26", 1_795_651_200_000)]
        {
            let day: Day = text.parse().unwrap();
            assert_eq!((day.begin_ms, day.to_string().as_str()), (begin_ms, text));
            assert_eq!(Day::of(begin_ms + 86_399_999), day);
        }
        for day in 0..20_000 {
            let day = Day::of(day * DAY_MS);
            assert_eq!(day.to_string().parse::<Day>().unwrap(), day);
        }
        for text in ["", "2026", "2026-13-01", "2026-02-29", "2026-1-1", "2026-00-10", "2026-01-00", "x-y-z"]
        {
            assert!(text.parse::<Day>().is_err(), "{text}");
        }
    }
}
