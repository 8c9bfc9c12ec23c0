//! A histogram as the text that HdrHistogram's plotters read (`.hgrm`): a row for each percentile, values in milliseconds. The exchange
//! writes it of itself, and whoever measures it from outside writes the same.

use hdrhistogram::Histogram;
use std::fmt::Write;

const MILLISECOND: f64 = 1_000_000.0;
/// Rows of each halving of the distance to 100 percent.
const ROWS_PER_HALF: u32 = 5;
/// Longer ones are counted as this, twice what the exchange tells apart.
const LONGEST_NS: u64 = 1 << 37;

/// A histogram of the longest durations of cells, in nanoseconds, and how many each holds: as the exchange counts and tells them
/// (`/latency.json`), in cells of two digits.
pub fn of_cells(cells: impl IntoIterator<Item = (u64, u64)>) -> Histogram<u64> {
    let mut histogram =
        Histogram::new_with_bounds(1, LONGEST_NS, 2).expect("the bounds are constant and valid");
    for (longest, count) in cells {
        // A cell of the exchange includes its longest duration, one of this histogram does not.
        histogram.saturating_record_n(longest.saturating_sub(1).max(1), count);
    }
    histogram
}

/// The text of a histogram of nanoseconds.
pub fn text(histogram: &Histogram<u64>) -> String {
    // Writing into a string cannot fail, here and below.
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{:>12} {:>14} {:>10} {:>14}\n",
        "Value", "Percentile", "TotalCount", "1/(1-Percentile)"
    );
    let mut total = 0;
    for step in histogram.iter_quantiles(ROWS_PER_HALF) {
        total += step.count_since_last_iteration();
        let value = step.value_iterated_to() as f64 / MILLISECOND;
        let quantile = step.quantile_iterated_to();
        let _ = write!(text, "{value:>12.6} {quantile:>1.12} {total:>10}");
        if quantile < 1.0 {
            let _ = write!(text, " {:>14.2}", 1.0 / (1.0 - quantile));
        }
        text.push('\n');
    }
    let (mean, deviation) = (histogram.mean() / MILLISECOND, histogram.stdev() / MILLISECOND);
    let max = histogram.max() as f64 / MILLISECOND;
    let cells = (2 * 10_u64.pow(histogram.sigfig().into())).next_power_of_two();
    let _ = writeln!(text, "#[Mean    = {mean:>12.6}, StdDeviation   = {deviation:>12.6}]");
    let _ = writeln!(text, "#[Max     = {max:>12.6}, Total count    = {:>12}]", histogram.len());
    let _ = writeln!(text, "#[Buckets = {:>12}, SubBuckets     = {cells:>12}]", histogram.buckets());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_go_up_to_all_of_them() {
        let mut histogram = Histogram::new_with_bounds(1, 1_000_000_000, 3).expect("the bounds are valid");
        (1..=100_000).for_each(|value| histogram.record(value * 10).expect("in range"));
        let text = text(&histogram);
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(2)
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|field| field.parse().expect("a number")).collect())
            .collect();
        assert!(rows.windows(2).all(|two| two[0][..3].iter().zip(&two[1]).all(|(a, b)| a <= b)), "{text}");
        let half = rows.iter().find(|row| row[1] == 0.5).expect("the median");
        assert!((half[0] - 0.5).abs() < 0.001 && (half[2] - 50_000.0).abs() < 100.0, "{half:?}");
        let last = rows.last().expect("rows");
        assert_eq!((last[1], last[2], last.len()), (1.0, 100_000.0, 3));
        assert!(text.contains("Total count    =       100000]"), "{text}");
        assert!(text.contains("SubBuckets     =         2048]"), "{text}");
    }

    #[test]
    fn cells_of_the_exchange_are_cells_here() {
        // The longest of 128 cells of a power of two, and of the first of the next.
        let longest = |log2: u32, at: u64| (1 << log2) + at * (1 << (log2 - 7));
        let histogram = of_cells((8..36).flat_map(|log2| [1, 2, 77, 128].map(|at| (longest(log2, at), 2))));
        assert_eq!(histogram.len(), 28 * 4 * 2);
        for log2 in 8..36 {
            for at in [1, 2, 77, 128] {
                assert_eq!(histogram.count_at(longest(log2, at) - 1), 2, "{log2} {at}");
            }
        }
    }

    #[test]
    fn nothing_counted_is_a_text_too() {
        let histogram = Histogram::new_with_bounds(1, 1_000_000_000, 2).expect("the bounds are valid");
        let text = text(&histogram);
        assert!(
            text.contains("Total count    =            0]")
                && text.contains("SubBuckets     =          256]")
        );
    }
}
