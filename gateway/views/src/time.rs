//! Seconds and milliseconds of times that are kept in nanoseconds.

use std::ops::RangeInclusive;

/// Nanoseconds of a millisecond, of a second.
const MS_NS: i64 = 1_000_000;
const S_NS: i64 = 1_000_000_000;

/// Seconds of the UNIX epoch, both ends inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRange {
    /// First second.
    pub start_s: i64,
    /// Last second.
    pub end_s: i64,
}

impl TimeRange {
    /// All of time.
    pub const ALL: TimeRange = TimeRange { start_s: i64::MIN, end_s: i64::MAX };

    /// Whether the second of `time_ns` is inside.
    pub fn contains(&self, time_ns: i64) -> bool {
        (self.start_s..=self.end_s).contains(&seconds(time_ns))
    }

    /// Its milliseconds, both ends inclusive.
    pub fn milliseconds(&self) -> RangeInclusive<i64> {
        self.start_s.saturating_mul(1_000)..=self.end_s.saturating_mul(1_000).saturating_add(999)
    }
}

/// The whole second of a time.
pub fn seconds(time_ns: i64) -> i64 {
    time_ns.div_euclid(S_NS)
}

/// The whole millisecond of a time.
pub(crate) fn milliseconds(time_ns: i64) -> i64 {
    time_ns.div_euclid(MS_NS)
}
