//! Figures of running threads, for people: counters and histograms that one thread writes and anybody reads.
//!
//! A write is a load and a store of the writer's own cache line, no locked instruction, so a stage can count what it does
//! for a fraction of a nanosecond. Two writers at once would lose counts, nothing worse; readers may see a histogram
//! between two of its cells, so a sum can be one sample ahead of its buckets. Nothing is decided by these.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows, or that its writer sets.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// A counter at 0.
    pub const fn new() -> Counter {
        Counter(AtomicU64::new(0))
    }

    /// Adds. Its one writer only.
    #[inline]
    pub fn add(&self, count: u64) {
        // Relaxed: a figure; nothing follows from it.
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(count), Ordering::Relaxed);
    }

    /// Replaces the number. Its one writer only.
    #[inline]
    pub fn set(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }

    /// The number now.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Exponent of the first bound: 2^10 ns, about a microsecond.
const FIRST: u32 = 10;
/// Bounds: the last is 2^34 ns, about 17 seconds.
const BOUNDS: usize = 25;

/// How long something took, by powers of two from 1.024 us to 17.2 s: fine enough for a percentile within a factor of two.
#[derive(Debug)]
pub struct Histogram {
    /// By bound; the last cell is for what took longer.
    cells: [Counter; BOUNDS + 1],
    sum: Counter,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { cells: [const { Counter::new() }; BOUNDS + 1], sum: Counter::new() }
    }
}

impl Histogram {
    /// Takes one duration in nanoseconds. Its one writer only.
    #[inline]
    pub fn record(&self, ns: u64) {
        // The number of bits of `ns - 1` is the exponent of the least power of two that is not below it.
        let exponent = u64::BITS - ns.saturating_sub(1).leading_zeros();
        let cell = exponent.saturating_sub(FIRST) as usize;
        self.cells[cell.min(BOUNDS)].add(1);
        self.sum.add(ns);
    }

    /// Upper bounds in nanoseconds, each with how many were not above it.
    pub fn bounds(&self) -> impl Iterator<Item = (u64, u64)> {
        let cells = self.cells[..BOUNDS].iter().enumerate();
        cells.scan(0, |below, (index, cell)| {
            *below += cell.get();
            Some((1 << (FIRST as usize + index), *below))
        })
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.cells.iter().map(Counter::get).sum()
    }

    /// Sum of them, nanoseconds.
    pub fn sum_ns(&self) -> u64 {
        self.sum.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_is_at_or_below_its_bound_and_above_the_one_before() {
        for ns in [0, 1, 1_024, 1_025, 2_048, 2_049, 1 << 33, (1 << 34) - 1, 1 << 34, (1 << 34) + 1, u64::MAX]
        {
            let histogram = Histogram::default();
            histogram.record(ns);
            assert_eq!(histogram.count(), 1);
            let first = histogram.bounds().find(|(_, count)| *count == 1).map(|(bound, _)| bound);
            match first {
                Some(bound) => assert!(ns <= bound && (bound == 1_024 || ns > bound / 2), "{ns}: {bound}"),
                None => assert!(ns > 1 << 34, "{ns}"),
            }
        }
    }

    #[test]
    fn bounds_are_cumulative() {
        let histogram = Histogram::default();
        [500, 1_500, 1_500, 3_000_000_000].into_iter().for_each(|ns| histogram.record(ns));
        let counts: Vec<u64> = histogram.bounds().map(|(_, count)| count).collect();
        assert_eq!((counts[0], counts[1], counts[20], counts[24]), (1, 3, 3, 4));
        assert_eq!(histogram.sum_ns(), 3_000_003_500);
    }
}
