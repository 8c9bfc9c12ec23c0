//! The only wall clock of the gateway. Everything that asks for the time of day holds a [`Clock`], so that tests can turn it.
//!
//! Not for durations: those come from `std::time::Instant`, which never steps.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A source of UNIX time. Cheap to clone; clones of a manual clock turn together.
#[derive(Clone, Debug, Default)]
pub struct Clock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// The machine's clock.
    pub const SYSTEM: Clock = Clock(Source::System);

    /// A clock that stands at `now_ms` (UNIX milliseconds) until it is turned.
    pub fn manual(now_ms: i64) -> Clock {
        Clock(Source::Manual(Arc::new(AtomicI64::new(now_ms * 1_000_000))))
    }

    /// Nanoseconds of the UNIX epoch. May step back with the machine's clock.
    #[inline]
    pub fn now_ns(&self) -> i64 {
        match &self.0 {
            Source::System => match SystemTime::now().duration_since(UNIX_EPOCH) {
                Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
                Err(_) => 0,
            },
            // A lone counter: nothing else is published with it.
            Source::Manual(now_ns) => now_ns.load(Ordering::Relaxed),
        }
    }

    /// Milliseconds of the UNIX epoch.
    #[inline]
    pub fn now_ms(&self) -> i64 {
        self.now_ns() / 1_000_000
    }

    /// Seconds of the UNIX epoch.
    #[inline]
    pub fn now_s(&self) -> i64 {
        self.now_ns() / 1_000_000_000
    }

    /// Turns a manual clock by `by_ms` milliseconds, which may be negative. The machine's clock is left alone.
    pub fn turn(&self, by_ms: i64) {
        if let Source::Manual(now_ns) = &self.0 {
            now_ns.fetch_add(by_ms * 1_000_000, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manual_clock_stands_until_turned_and_its_clones_follow() {
        let clock = Clock::manual(1_700_000_000_123);
        let clone = clock.clone();
        assert_eq!(clone.now_ms(), 1_700_000_000_123);
        clock.turn(-124);
        assert_eq!((clone.now_ms(), clone.now_s()), (1_699_999_999_999, 1_699_999_999));
    }

    #[test]
    fn the_system_clock_is_past_2020() {
        assert!(Clock::SYSTEM.now_s() > 1_577_836_800);
    }
}
