//! How results are shown: percentile tables, `.hgrm` files, SVG plots, and the facts of the machine beside them.
//!
//! Nothing here measures, and no host name, user or path is ever written.

use hdrhistogram::Histogram;
use plotters::prelude::*;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The percentiles of a table.
pub const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 100.0];

/// How recorded nanoseconds are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// As they are.
    Nanoseconds,
    /// Divided by 1,000, one decimal.
    Microseconds,
}

impl Unit {
    fn divisor(self) -> f64 {
        match self {
            Unit::Nanoseconds => 1.0,
            Unit::Microseconds => 1_000.0,
        }
    }

    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Nanoseconds => "ns",
            Unit::Microseconds => "us",
        }
    }

    fn show(self, value_ns: u64) -> String {
        match self {
            Unit::Nanoseconds => value_ns.to_string(),
            Unit::Microseconds => format!("{:.1}", value_ns as f64 / 1_000.0),
        }
    }
}

/// A histogram for latencies from 1 ns to ten minutes, three digits.
pub fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 600_000_000_000, 3).expect("the bounds are constant and valid")
}

/// One row per histogram: count, mean, then [`PERCENTILES`].
pub fn percentile_table(rows: &[(&str, &Histogram<u64>)], unit: Unit) -> String {
    let width = rows.iter().map(|row| row.0.len()).max().unwrap_or(0).max(7);
    let mut text = format!("{:width$} {:>10} {:>9}", unit.name(), "count", "mean");
    for percentile in PERCENTILES {
        let head = if percentile == 100.0 { "max".to_string() } else { format!("p{percentile}") };
        let _ = write!(text, " {head:>9}");
    }
    text.push('\n');
    for (name, histogram) in rows {
        let mean = histogram.mean() / unit.divisor();
        let _ = write!(text, "{name:width$} {:>10} {mean:>9.1}", histogram.len());
        for percentile in PERCENTILES {
            let _ = write!(text, " {:>9}", unit.show(histogram.value_at_percentile(percentile)));
        }
        text.push('\n');
    }
    text
}

/// The whole distribution in the text form that HdrHistogram's plotters read, values in milliseconds.
pub fn write_hgrm(histogram: &Histogram<u64>, path: &Path) -> io::Result<()> {
    std::fs::write(path, ringside_hgrm::text(histogram))
}

/// Latency over percentile, both logarithmic: one line per histogram that has values. `notes` stand below it.
pub fn write_svg(
    title: &str,
    rows: &[(&str, &Histogram<u64>)],
    notes: &[String],
    path: &Path,
) -> io::Result<()> {
    let lines: Vec<(&str, Vec<(f64, f64)>)> = rows
        .iter()
        .filter(|(_, histogram)| !histogram.is_empty())
        .map(|(name, histogram)| {
            let points = histogram
                .iter_quantiles(5)
                .filter(|step| step.quantile_iterated_to() < 1.0)
                .map(|step| {
                    let nines = 1.0 / (1.0 - step.quantile_iterated_to());
                    (nines, (step.value_iterated_to() as f64 / 1_000.0).max(0.001))
                })
                .collect();
            (*name, points)
        })
        .collect();
    let points = || lines.iter().flat_map(|line| &line.1);
    let nines_max = points().map(|point| point.0).fold(1_000.0, f64::max);
    let latency_min = points().map(|point| point.1).fold(f64::INFINITY, f64::min).min(1e9);
    let latency_max = points().map(|point| point.1).fold(latency_min, f64::max);
    draw(title, &lines, notes, nines_max, latency_min * 0.8..latency_max * 1.25, path)
        .map_err(io::Error::other)
}

type Line<'a> = (&'a str, Vec<(f64, f64)>);

fn draw(
    title: &str,
    lines: &[Line<'_>],
    notes: &[String],
    nines_max: f64,
    latency_us: std::ops::Range<f64>,
    path: &Path,
) -> Result<(), String> {
    let root = SVGBackend::new(path, (960, 540 + NOTE_HEIGHT * notes.len() as u32)).into_drawing_area();
    let text = |error: DrawingAreaErrorKind<_>| error.to_string();
    root.fill(&WHITE).map_err(text)?;
    for (index, note) in notes.iter().enumerate() {
        let at = (16, 536 + NOTE_HEIGHT as i32 * index as i32);
        root.draw(&Text::new(note.as_str(), at, ("sans-serif", 13))).map_err(text)?;
    }
    let (root, _) = root.split_vertically(540);
    let mut chart = ChartBuilder::on(&root)
        .caption(title, ("sans-serif", 20))
        .margin(16)
        .x_label_area_size(44)
        .y_label_area_size(76)
        .build_cartesian_2d((1.0..nines_max).log_scale(), latency_us.log_scale())
        .map_err(text)?;
    chart
        .configure_mesh()
        .x_desc("percentile")
        .y_desc("latency, us")
        .x_label_formatter(&percentile_label)
        .y_label_formatter(&|us| if *us < 10.0 { format!("{us:.2}") } else { format!("{us:.0}") })
        .draw()
        .map_err(text)?;
    for (index, (name, points)) in lines.iter().enumerate() {
        let colour = Palette99::pick(index).to_rgba();
        chart
            .draw_series(LineSeries::new(points.iter().copied(), colour.stroke_width(2)))
            .map_err(text)?
            .label(*name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()
        .map_err(text)?;
    root.present().map_err(text)
}

/// Of a line below a plot.
const NOTE_HEIGHT: u32 = 18;

/// 1/(1-q) as a percentile: 1 is 0 %, 10 is 90 %, 1,000 is 99.9 %.
fn percentile_label(nines: &f64) -> String {
    let text = format!("{:.6}", 100.0 - 100.0 / nines);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// How every report begins: the machine, and the command that made it, which is a binary of `package`.
pub fn heading(package: &str) -> String {
    let mut arguments = std::env::args();
    let program = arguments.next().unwrap_or_default();
    let name = Path::new(&program).file_name().unwrap_or_default().to_string_lossy();
    let arguments: Vec<String> = arguments.collect();
    let line =
        format!("cargo run --profile {} -p {package} --bin {name} -- {}", profile(), arguments.join(" "));
    format!("{}\n{}\n", machine_facts(), line.trim_end_matches(" -- "))
}

/// What every benchmark is told of its report.
#[derive(Clone, clap::Args)]
pub struct Arguments {
    /// Write the report into this folder as well.
    #[arg(long)]
    results: Option<PathBuf>,
    /// End with an error when a bar is missed.
    #[arg(long)]
    strict: bool,
}

impl Arguments {
    /// How every report ends: it is printed, and kept where a folder is named. `missed`: a bar was.
    ///
    /// Errors: it cannot be kept; a bar was missed and the run is to be strict about it.
    #[allow(clippy::print_stdout)]
    pub fn conclude(&self, benchmark: &str, text: &str, missed: bool) -> io::Result<()> {
        print!("{text}");
        if let Some(folder) = &self.results {
            println!("written to {}", write_result(folder, benchmark, text)?.display());
        }
        if self.strict && missed { Err(io::Error::other("a bar was missed")) } else { Ok(()) }
    }
}

/// The profile that this program was built with: the folder that cargo put it in, as the compiler saw it.
fn profile() -> &'static str {
    env!("BUILT_PROFILE")
}

/// What a figure was measured on: processor, cores, memory, kernel, huge pages.
pub fn machine_facts() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, name: &str| {
        let line = text.lines().find(|line| line.starts_with(name));
        line.and_then(|line| line.split(':').nth(1))
            .map_or("unknown".to_string(), |value| value.trim().to_string())
    };
    let cpuinfo = read("/proc/cpuinfo");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory_kib: u64 =
        field(&read("/proc/meminfo"), "MemTotal").trim_end_matches(" kB").parse().unwrap_or(0);
    let huge = read("/sys/kernel/mm/transparent_hugepage/enabled");
    let huge = huge.split('[').nth(1).and_then(|rest| rest.split(']').next()).unwrap_or("unknown");
    format!(
        "{} x {}, {} GiB, Linux {}, transparent huge pages {}, profile {}, version {}",
        cores,
        field(&cpuinfo, "model name"),
        memory_kib.div_ceil(1 << 20),
        read("/proc/sys/kernel/osrelease").split(['-', '\n']).next().unwrap_or("unknown"),
        huge,
        profile(),
        env!("CARGO_PKG_VERSION"),
    )
}

/// Processor time that others used while something was measured.
pub struct ForeignLoad {
    busy: u64,
    own: u64,
    total: u64,
}

impl ForeignLoad {
    /// Starts to watch.
    pub fn start() -> ForeignLoad {
        let (busy, total) = machine_ticks();
        ForeignLoad { busy, own: own_ticks(), total }
    }

    /// Share of the machine, in percent, that neither this process nor its ended children used since.
    pub fn percent(&self) -> f64 {
        let (busy, total) = machine_ticks();
        let own = own_ticks() - self.own;
        100.0 * (busy - self.busy).saturating_sub(own) as f64 / (total - self.total).max(1) as f64
    }
}

/// Seconds of processor time that this thread has used.
pub fn thread_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns: f64 = stat.split_whitespace().next().and_then(|field| field.parse().ok()).unwrap_or_default();
    ns / 1e9
}

/// (busy, all) ticks of all processors.
fn machine_ticks() -> (u64, u64) {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let ticks: Vec<u64> = stat
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(1)
        .take(8)
        .filter_map(|field| field.parse().ok())
        .collect();
    let total: u64 = ticks.iter().sum();
    let idle = ticks.get(3).copied().unwrap_or(0) + ticks.get(4).copied().unwrap_or(0);
    (total - idle, total)
}

/// Ticks of this process and its ended children.
fn own_ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Fields after the parenthesised name; user and system time are the 12th to 15th of them.
    let rest = stat.rsplit(')').next().unwrap_or_default();
    rest.split_whitespace().skip(11).take(4).filter_map(|field| field.parse::<u64>().ok()).sum()
}

/// Middle value; of an even count the lower of the two.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN)
}

/// Outcome of one bar: `measured` against the most (`at_most`) or least it may be.
pub fn bar(name: &str, measured: f64, limit: f64, at_most: bool) -> (bool, String) {
    let passed = if at_most { measured <= limit } else { measured >= limit };
    let sign = if at_most { "<=" } else { ">=" };
    let verdict = if passed { "pass" } else { "FAIL" };
    (passed, format!("{verdict}  {name}: {measured:.2} ({sign} {limit})\n"))
}

/// The bars of a benchmark and what was measured, for the table that its report ends with.
#[derive(Clone, Debug, Default)]
pub struct Bars {
    /// (name, measured, the most it may be).
    rows: Vec<(String, f64, f64)>,
}

impl Bars {
    /// A bar that is reached when `measured` is not above `limit`.
    pub fn at_most(&mut self, name: String, measured: f64, limit: f64) {
        self.rows.push((name, measured, limit));
    }

    /// How many were missed. What could not be measured counts as missed.
    pub fn missed(&self) -> usize {
        self.rows.iter().filter(|(_, measured, limit)| !is_reached(*measured, *limit)).count()
    }

    /// One line per bar, and how many were reached.
    pub fn table(&self) -> String {
        let width = self.rows.iter().map(|(name, ..)| name.chars().count()).max().unwrap_or(0).max(3);
        let mut text = format!("{:<width$}  {:>8}  {:>8}  verdict\n", "bar", "measured", "at most");
        for (name, measured, limit) in &self.rows {
            let verdict = if is_reached(*measured, *limit) { "pass" } else { "MISS" };
            text += &format!("{name:<width$}  {measured:>8.2}  {limit:>8.2}  {verdict}\n");
        }
        text + &format!("{} of {} bars reached\n", self.rows.len() - self.missed(), self.rows.len())
    }
}

fn is_reached(measured: f64, limit: f64) -> bool {
    measured <= limit
}

/// Writes a result into `folder` under the name of the benchmark and the time of day in UTC; such files are never edited.
fn write_result(folder: &Path, benchmark: &str, text: &str) -> io::Result<PathBuf> {
    std::fs::create_dir_all(folder)?;
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let path = folder.join(format!("{benchmark}-{}.txt", utc(seconds)));
    std::fs::write(&path, text)?;
    Ok(path)
}

/// `YYYYMMDD-HHMMSS` of UNIX seconds, after the civil-from-days algorithm of the proleptic Gregorian calendar.
fn utc(seconds: u64) -> String {
    let (day, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01; years start in March so that leap days come last.
    let shifted = day + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}{month:02}{day_of_month:02}-{hour:02}{minute:02}{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(utc(0), "19700101-000000");
        assert_eq!(utc(951_782_399), "20000228-235959");
        assert_eq!(utc(951_868_799), "20000229-235959");
        assert_eq!(utc(1_767_225_600), "20260101-000000");
    }

    #[test]
    fn median_takes_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.0);
    }

    #[test]
    fn bars_are_judged() {
        let mut bars = Bars::default();
        bars.at_most("even".to_string(), 1.3, 1.3);
        bars.at_most("above".to_string(), 1.31, 1.3);
        bars.at_most("unknown".to_string(), f64::NAN, 1.0);
        assert_eq!(bars.missed(), 2);
        let table = bars.table();
        let verdicts: Vec<_> =
            table.lines().skip(1).map(|line| line.rsplit(' ').next().unwrap_or("")).collect();
        assert_eq!(verdicts, ["pass", "MISS", "MISS", "reached"], "{table}");
    }

    #[test]
    fn files_hold_the_distribution() {
        let folder = std::env::temp_dir().join(format!("ringside-report-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a temporary folder");
        let mut latencies = histogram();
        for value in 1..=100_000u64 {
            latencies.record(value * 10).expect("in range");
        }
        let (hgrm, svg) = (folder.join("x.hgrm"), folder.join("x.svg"));
        write_hgrm(&latencies, &hgrm).expect("writes");
        write_svg("x", &[("a", &latencies), ("none", &histogram())], &["a <note>".to_owned()], &svg)
            .expect("draws");
        let text = std::fs::read_to_string(&hgrm).expect("reads");
        assert!(text.contains(" 0.500000000000      50"), "{text}");
        assert!(text.contains("Total count    =       100000]"), "{text}");
        let plot = std::fs::read_to_string(&svg).expect("reads");
        assert!(
            plot.contains("<polyline") && plot.contains("99.9%") && plot.contains("a &lt;note&gt;"),
            "{plot}"
        );
        std::fs::remove_dir_all(&folder).expect("removes");
        let table = percentile_table(&[("a", &latencies)], Unit::Microseconds);
        assert!(table.contains("99.9") && table.lines().count() == 2, "{table}");
    }
}
