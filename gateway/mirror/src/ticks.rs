//! The ticks that a member's consensus counts in, by this host's clock.

use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_millis(10);
/// Ticks that are made up for at most where a thread was held up: more would be elections for nothing.
const LATE: u32 = 3;

/// Counts them from when it is made.
pub struct Ticks {
    next: Instant,
}

impl Ticks {
    /// Begins to count.
    pub fn begin() -> Ticks {
        Ticks { next: Instant::now() + TICK }
    }

    /// How long it is to the next.
    pub fn wait(&self) -> Duration {
        self.next.saturating_duration_since(Instant::now())
    }

    /// How many have passed since this was last asked, but for those that are not made up for.
    pub fn passed(&mut self) -> u32 {
        self.passed_at(Instant::now())
    }

    fn passed_at(&mut self, now: Instant) -> u32 {
        let mut passed = 0;
        while now >= self.next {
            passed += 1;
            self.next += TICK;
        }
        passed.min(LATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_thread_was_held_up_for_is_not_all_made_up_for() {
        let mut ticks = Ticks::begin();
        let begun = ticks.next - TICK;
        let at = |ms| begun + Duration::from_millis(ms);
        let passed = [9, 10, 19, 45, 400, 409, 410].map(|ms| ticks.passed_at(at(ms)));
        assert_eq!(passed, [0, 1, 0, 3, 3, 0, 1]);
    }
}
