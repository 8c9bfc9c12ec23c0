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

/// Cells of one power of two: 2^7, so that a cell is at most 1/128 wide of what lies in it. Those of HdrHistogram with two digits.
const CELLS_LOG2: u32 = 7;
/// Exponent of the longest duration that has a cell: 2^36 ns, about 69 seconds.
const LONGEST_LOG2: u32 = 36;
/// Cells of all powers of two, and one for what took longer.
const CELLS: usize = ((LONGEST_LOG2 - CELLS_LOG2 + 1) << CELLS_LOG2) as usize + 1;

/// How long something took, from 1 ns to 69 s, fine enough for any percentile within 0.8 percent.
#[derive(Debug)]
pub struct Histogram {
    /// By duration; the last cell is for what took longer.
    cells: Box<[Counter]>,
    sum: Counter,
}

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram { cells: (0..CELLS).map(|_| Counter::new()).collect(), sum: Counter::new() }
    }
}

impl Histogram {
    /// Takes one duration in nanoseconds. Its one writer only.
    #[inline]
    pub fn record(&self, ns: u64) {
        self.cells[cell(ns)].add(1);
        self.sum.add(ns);
    }
}

/// Where a duration is counted. A cell reaches to a duration that it includes, as bounds of Prometheus do.
#[inline]
fn cell(ns: u64) -> usize {
    let below = ns.saturating_sub(1);
    if below >> LONGEST_LOG2 != 0 {
        return CELLS - 1;
    }
    let shift = (u64::BITS - 1 - (below | 1 << CELLS_LOG2).leading_zeros()) - CELLS_LOG2;
    ((u64::from(shift) << CELLS_LOG2) + (below >> shift)) as usize
}

/// The longest duration of a cell that is not the last.
fn longest(cell: usize) -> u64 {
    let shift = (cell as u64 >> CELLS_LOG2).saturating_sub(1);
    (cell as u64 - (shift << CELLS_LOG2) + 1) << shift
}

/// Exponents of the first bound and the last that [`Counts::bounds`] gives: 1.024 us and 17.2 s.
const BOUNDS_LOG2: std::ops::Range<u32> = 10..34;

/// What histograms of one thing had counted at a moment, added up.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// As the histograms', or none.
    cells: Vec<u64>,
    sum_ns: u128,
}

impl Counts {
    /// Of all these together.
    pub fn of<'a>(histograms: impl IntoIterator<Item = &'a Histogram>) -> Counts {
        let mut counts = Counts { cells: vec![0; CELLS], sum_ns: 0 };
        for histogram in histograms {
            counts.cells.iter_mut().zip(&histogram.cells).for_each(|(sum, cell)| *sum += cell.get());
            counts.sum_ns += u128::from(histogram.sum.get());
        }
        counts
    }

    /// What came after `earlier`, counts of the same histograms.
    #[must_use]
    pub fn since(mut self, earlier: &Counts) -> Counts {
        self.cells
            .iter_mut()
            .zip(&earlier.cells)
            .for_each(|(cell, earlier)| *cell = cell.saturating_sub(*earlier));
        self.sum_ns = self.sum_ns.saturating_sub(earlier.sum_ns);
        self
    }

    /// The longest duration of each cell that is not empty, in nanoseconds, with how many it holds; ascending. What took longer than
    /// all cells stands in the last one as well.
    pub fn cells(&self) -> impl Iterator<Item = (u64, u64)> {
        let filled = self.cells.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(cell, count)| (longest(cell.min(CELLS - 2)), *count))
    }

    /// Upper bounds in nanoseconds, four to a power of two, each with how many were not above it.
    pub fn bounds(&self) -> impl Iterator<Item = (u64, u64)> {
        let quarters = BOUNDS_LOG2.flat_map(|log2| (4..8).map(move |quarter| quarter << (log2 - 2)));
        let (mut at, mut below) = (0, 0);
        quarters.chain([1 << BOUNDS_LOG2.end]).map(move |bound: u64| {
            let end = cell(bound) + 1;
            below += self.cells.get(at..end).unwrap_or_default().iter().sum::<u64>();
            at = end;
            (bound, below)
        })
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.cells.iter().sum()
    }

    /// Sum of them, nanoseconds.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_duration_is_in_a_cell_that_is_a_128th_wide() {
        let near = |ns: u64| [ns.saturating_sub(1), ns, ns + 1];
        let wide = (0..36).flat_map(|log2| near(1 << log2)).chain([0, 200, 1_000_000, 999_999_937]);
        for ns in wide {
            let histogram = Histogram::default();
            histogram.record(ns);
            let counts = Counts::of([&histogram]);
            let cells: Vec<(u64, u64)> = counts.cells().collect();
            let [(longest, 1)] = cells[..] else { panic!("{ns}: {cells:?}") };
            assert!(ns <= longest && longest - ns <= ns / 128 + 1, "{ns}: {longest}");
            assert!(counts.bounds().all(|(bound, below)| (below == 1) == (ns <= bound)), "{ns}");
        }
    }

    #[test]
    fn cells_follow_each_other_without_a_gap() {
        for at in 0..CELLS - 1 {
            assert_eq!((cell(longest(at)), cell(longest(at) + 1)), (at, at + 1));
        }
    }

    #[test]
    fn what_takes_longer_than_all_is_counted_in_no_bound() {
        let histogram = Histogram::default();
        [u64::MAX, (1 << 36) + 1, 1 << 34].into_iter().for_each(|ns| histogram.record(ns));
        let counts = Counts::of([&histogram]);
        assert_eq!((counts.count(), counts.bounds().last()), (3, Some((1 << 34, 1))));
        assert_eq!(counts.cells().map(|(longest, _)| longest).max(), Some(1 << 36));
    }

    #[test]
    fn counts_add_up_and_begin_anew() {
        let histograms = [Histogram::default(), Histogram::default()];
        [500, 1_500, 1_500].into_iter().for_each(|ns| histograms[0].record(ns));
        let before = Counts::of(&histograms);
        histograms[1].record(3_000_000_000);
        let all = Counts::of(&histograms);
        let bounds: Vec<u64> = all.bounds().map(|(_, count)| count).collect();
        assert_eq!((bounds[0], bounds[4], bounds[bounds.len() - 1]), (1, 3, 4));
        assert_eq!(all.sum_ns(), 3_000_003_500);
        let since = all.since(&before);
        assert_eq!((since.count(), since.sum_ns(), since.cells().count()), (1, 3_000_000_000, 1));
        assert_eq!(Counts::default().since(&before).count(), 0);
    }
}
