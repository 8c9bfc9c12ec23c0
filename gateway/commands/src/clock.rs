//! The only wall clock of the gateway. Everything that asks for the time of day holds a [`Clock`], so that tests can turn it.
//!
//! Not for durations: those come from `std::time::Instant`, which never steps, and those of the engine from [`Clock::reading`]. How
//! far the wall clock is from engine time is in [`Agreement`].

use ringside_core::pace::Reading;
use rustix::time::{ClockId, clock_gettime};
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
    Manual(Arc<Manual>),
}

/// A clock that is turned, and the one beside it that never steps; nanoseconds.
#[derive(Debug)]
struct Manual {
    wall_ns: AtomicI64,
    boot_ns: AtomicI64,
}

impl Clock {
    /// The machine's clock.
    pub const SYSTEM: Clock = Clock(Source::System);

    /// A clock that stands at `now_ms` (UNIX milliseconds) until it is turned.
    pub fn manual(now_ms: i64) -> Clock {
        Clock(Source::Manual(Arc::new(Manual {
            wall_ns: AtomicI64::new(now_ms * 1_000_000),
            boot_ns: AtomicI64::new(0),
        })))
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
            Source::Manual(manual) => manual.wall_ns.load(Ordering::Relaxed),
        }
    }

    /// The time of day, and the clock that never steps.
    #[inline]
    pub fn reading(&self) -> Reading {
        let boot_ns = match &self.0 {
            Source::System => {
                let since = clock_gettime(ClockId::Boottime);
                since.tv_sec.saturating_mul(1_000_000_000).saturating_add(since.tv_nsec)
            }
            Source::Manual(manual) => manual.boot_ns.load(Ordering::Relaxed),
        };
        Reading { wall_ns: self.now_ns(), boot_ns }
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

    /// Turns a manual clock by `by_ms` milliseconds, which pass; a negative turn is a step back. The machine's clock is left alone.
    pub fn turn(&self, by_ms: i64) {
        if let Source::Manual(manual) = &self.0 {
            manual.wall_ns.fetch_add(by_ms * 1_000_000, Ordering::Relaxed);
            manual.boot_ns.fetch_add(by_ms.max(0) * 1_000_000, Ordering::Relaxed);
        }
    }
}

/// How far the wall clock and engine time may be apart, nanoseconds.
const APART_NS: i64 = 1_000_000_000;

/// How far the wall clock is from engine time, and how much of that an operator accepts: from the stage that stamps commands to
/// all threads.
#[derive(Debug, Default)]
pub struct Agreement {
    distance_ns: AtomicI64,
    accepted_ns: AtomicI64,
}

impl Agreement {
    /// The wall clock less engine time, as of the newest stamp. One thread says it.
    #[inline]
    pub fn tell(&self, distance_ns: i64) {
        // Relaxed: lone figures that may be seen late.
        self.distance_ns.store(distance_ns, Ordering::Relaxed);
        if distance_ns.abs() <= APART_NS && self.accepted_ns.load(Ordering::Relaxed) != 0 {
            self.accepted_ns.store(0, Ordering::Relaxed);
        }
    }

    /// The wall clock less engine time, nanoseconds.
    pub fn distance_ns(&self) -> i64 {
        self.distance_ns.load(Ordering::Relaxed)
    }

    /// The distance that an operator accepts, nanoseconds; 0 for none.
    pub fn accepted_ns(&self) -> i64 {
        self.accepted_ns.load(Ordering::Relaxed)
    }

    /// Whether they are no further apart than a second, or than an operator accepts: engine time comes nearer all the while.
    pub fn holds(&self) -> bool {
        let (distance_ns, accepted_ns) = (self.distance_ns(), self.accepted_ns());
        distance_ns >= accepted_ns.min(0).saturating_sub(APART_NS)
            && distance_ns <= accepted_ns.max(0).saturating_add(APART_NS)
    }

    /// Whether a distance is that of now, to the second; else gives that of now.
    pub fn judge(&self, distance_ns: i64) -> Result<i64, i64> {
        let now_ns = self.distance_ns();
        if now_ns.saturating_sub(distance_ns).saturating_abs() > APART_NS { Err(now_ns) } else { Ok(now_ns) }
    }

    /// Accepts a distance that [`Agreement::judge`] takes, until they agree or the process ends.
    pub fn accept(&self, distance_ns: i64) -> Result<(), i64> {
        self.accepted_ns.store(self.judge(distance_ns)?, Ordering::Relaxed);
        Ok(())
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
    fn the_system_clock_is_past_2020_and_its_reading_goes_on() {
        assert!(Clock::SYSTEM.now_s() > 1_577_836_800);
        let before = Clock::SYSTEM.reading();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(Clock::SYSTEM.reading().boot_ns - before.boot_ns >= 2_000_000);
    }

    #[test]
    fn a_manual_clock_that_steps_back_takes_no_time_with_it() {
        let clock = Clock::manual(1_000);
        clock.turn(5);
        clock.turn(-7);
        let now = clock.reading();
        assert_eq!((now.wall_ns, now.boot_ns), (998_000_000, 5_000_000));
    }

    #[test]
    fn what_is_accepted_is_that_distance_and_less() {
        const S: i64 = 1_000_000_000;
        let agreement = Agreement::default();
        assert!(agreement.holds());
        agreement.tell(S);
        assert!(agreement.holds());
        agreement.tell(-3_600 * S);
        assert!(!agreement.holds());
        assert_eq!(agreement.accept(3_600 * S), Err(-3_600 * S), "of the other sign");
        assert_eq!(agreement.accept(i64::MIN), Err(-3_600 * S));
        assert!(!agreement.holds());
        assert_eq!(agreement.accept(-3_599 * S), Ok(()));
        assert!(agreement.holds());
        agreement.tell(-1_800 * S);
        assert!(agreement.holds(), "engine time comes nearer");
        for further in [-3_602 * S, 2 * S] {
            agreement.tell(further);
            assert!(!agreement.holds(), "another step");
        }
        agreement.tell(0);
        agreement.tell(-1_800 * S);
        assert!(!agreement.holds(), "it was accepted once");
    }
}
