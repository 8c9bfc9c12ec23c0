//! What the process takes of its machine, and how that grows with what it has answered.

use anyhow::{Context, Result};
use std::path::Path;

/// One look at the process while nothing is on the way.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// Seconds since the start.
    pub at_s: f64,
    /// Orders answered until then.
    pub orders: f64,
    /// Resident memory that is no file's: mapped segments come and go with the page cache.
    pub resident: f64,
    /// Open descriptors.
    pub descriptors: f64,
    /// Threads.
    pub threads: f64,
    /// Bytes of journal and snapshots, which retention bounds.
    pub journal: f64,
    /// Bytes of everything else: the archive, which keeps all, and key files.
    pub archive: f64,
    /// Median and p99 of the probe's orders, microseconds.
    pub probe: [f64; 2],
    /// Processor time of the process for each order since the sample before, microseconds.
    pub processor: f64,
}

impl Sample {
    /// Looks at a process and its data folder; what only the traffic knows is left 0.
    pub fn take(process: u32, data: &Path) -> Result<Sample> {
        let count = |folder: &str| -> Result<f64> {
            Ok(std::fs::read_dir(format!("/proc/{process}/{folder}"))?.count() as f64)
        };
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib: f64 = anonymous
            .and_then(|text| text.split_whitespace().next()?.parse().ok())
            .context("no resident memory")?;
        let journal = bytes_of(&data.join("journal"));
        Ok(Sample {
            resident: kib * 1024.0,
            descriptors: count("fd")?,
            threads: count("task")?,
            journal,
            archive: bytes_of(data) - journal,
            ..Sample::default()
        })
    }
}

/// Bytes that the files below a folder take on the disk.
fn bytes_of(folder: &Path) -> f64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir(folder) else { return 0.0 };
    let of_entry = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(data) if data.is_dir() => bytes_of(&entry.path()),
        Ok(data) => data.blocks() as f64 * 512.0,
        // It went between listing and looking.
        Err(_) => 0.0,
    };
    entries.flatten().map(of_entry).sum()
}

/// What one more order adds to a figure: the slope of the line through the samples with the least squares.
pub fn per_order(samples: &[Sample], figure: impl Fn(&Sample) -> f64) -> f64 {
    let count = samples.len().max(1) as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(&|sample| sample.orders), mean(&|sample| figure(sample)));
    let (mut both, mut square) = (0.0, 0.0);
    for sample in samples {
        both += (sample.orders - x) * (figure(sample) - y);
        square += (sample.orders - x).powi(2);
    }
    if square == 0.0 { 0.0 } else { both / square }
}

/// The median of a figure.
pub fn median(samples: &[Sample], figure: impl Fn(&Sample) -> f64) -> f64 {
    let mut figures: Vec<f64> = samples.iter().map(figure).collect();
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_is_that_of_the_line() {
        let sample = |orders: f64, resident: f64| Sample { orders, resident, ..Sample::default() };
        let line: Vec<Sample> =
            (0..20).map(|n| sample(f64::from(n) * 10.0, 500.0 + f64::from(n) * 3.0)).collect();
        assert!((per_order(&line, |sample| sample.resident) - 0.3).abs() < 1e-9);
        assert_eq!(per_order(&line[..1], |sample| sample.resident), 0.0);
        assert_eq!(per_order(&[], |sample| sample.resident), 0.0);
    }

    #[test]
    fn a_process_can_be_looked_at() {
        let sample = Sample::take(std::process::id(), &std::env::temp_dir().join("no such folder")).unwrap();
        assert!(sample.resident > 0.0 && sample.descriptors > 0.0 && sample.threads > 0.0);
        assert_eq!(sample.journal, 0.0);
    }
}
