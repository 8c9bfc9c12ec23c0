//! The pace of engine time: what a sequencer stamps commands with, from what two clocks of its machine say.
//!
//! Engine time always runs. It goes on from its last value by the clock that never steps, and is drawn towards the time of day by at
//! most a tenth of what passes, so that a clock that was set back or forth stops no timer, no funding hour and no liquidation, and
//! none comes more than a ninth late.

/// What a machine's clocks say at one moment, nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Time of day, since the UNIX epoch; may step either way.
    pub wall_ns: i64,
    /// Since some moment; never steps, and goes on while the machine sleeps.
    pub boot_ns: i64,
}

/// Engine time as it runs, nanoseconds of the UNIX epoch.
#[derive(Debug)]
pub struct Pace {
    engine_ns: i64,
    boot_ns: i64,
}

/// Of what passes, the part by which engine time may go faster or slower: one in so many.
const CORRECTION: i64 = 10;

impl Pace {
    /// Begins behind the last stamp of a journal, at the time of day where that is later: a pause is a jump forward.
    pub fn begin(last_stamp_ns: i64, now: Reading) -> Pace {
        Pace { engine_ns: last_stamp_ns.max(now.wall_ns), boot_ns: now.boot_ns }
    }

    /// Engine time at that moment; never before what it was.
    #[inline]
    pub fn at(&mut self, now: Reading) -> i64 {
        let passed = now.boot_ns.saturating_sub(self.boot_ns).max(0);
        self.boot_ns = self.boot_ns.max(now.boot_ns);
        let run = self.engine_ns.saturating_add(passed);
        let most = passed / CORRECTION;
        self.engine_ns = run.saturating_add(now.wall_ns.saturating_sub(run).clamp(-most, most));
        self.engine_ns
    }

    /// The time of day less engine time.
    pub fn distance_ns(&self, now: Reading) -> i64 {
        now.wall_ns.saturating_sub(self.engine_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn reading(wall_s: i64, boot_s: i64) -> Reading {
        Reading { wall_ns: wall_s * S, boot_ns: boot_s * S }
    }

    #[test]
    fn it_is_the_time_of_day_while_that_goes_as_time_does() {
        let mut pace = Pace::begin(0, reading(1_000, 5));
        assert_eq!(pace.at(reading(1_001, 6)), 1_001 * S);
        // A little fast, as a clock that is being set right is.
        assert_eq!(pace.at(Reading { wall_ns: 1_002_000_500_000, boot_ns: 7 * S }), 1_002_000_500_000);
    }

    #[test]
    fn a_step_is_made_up_for_by_a_tenth_of_what_passes() {
        let mut pace = Pace::begin(0, reading(10_000, 0));
        assert_eq!(pace.at(reading(6_400 + 10, 10)), 10_009 * S, "an hour back");
        assert_eq!(pace.distance_ns(reading(6_410, 10)), -3_599 * S);
        assert_eq!(pace.at(reading(13_600 + 20, 20)), 10_020 * S, "two hours forth");
        // A second of it is left, and no more is made up for than that.
        assert_eq!(pace.at(reading(10_041, 40)), 10_041 * S);
        assert_eq!(pace.distance_ns(reading(10_041, 40)), 0);
    }

    #[test]
    fn it_begins_behind_the_last_stamp() {
        assert_eq!(Pace::begin(5 * S, reading(3, 9)).at(reading(3, 9)), 5 * S);
        assert_eq!(Pace::begin(5 * S, reading(8, 9)).at(reading(8, 9)), 8 * S);
    }

    #[test]
    fn readings_that_run_back_or_end_move_nothing_back() {
        let mut pace = Pace::begin(0, reading(100, 50));
        for odd in [reading(90, 40), Reading { wall_ns: i64::MIN, boot_ns: i64::MIN }] {
            assert_eq!(pace.at(odd), 100 * S);
        }
        let end = pace.at(Reading { wall_ns: i64::MAX, boot_ns: i64::MAX });
        assert!(end > 100 * S);
        assert_eq!(pace.at(Reading { wall_ns: 0, boot_ns: i64::MAX }), end);
    }
}
