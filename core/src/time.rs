//! Engine time: the largest time of any command so far. It is read off commands, never off a clock.

/// Nanoseconds of a day.
pub(crate) const DAY_NS: i64 = 86_400_000_000_000;

/// Engine time in nanoseconds of the UNIX epoch; never runs back, never below 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct EngineTime(i64);

impl EngineTime {
    pub(crate) fn from_ns(ns: i64) -> EngineTime {
        EngineTime(ns.max(0))
    }

    /// Takes in the time of a command.
    #[inline]
    pub(crate) fn advance(&mut self, ns: i64) {
        self.0 = self.0.max(ns);
    }

    #[inline]
    pub(crate) fn ns(self) -> i64 {
        self.0
    }
}
