//! `ringside latency`: how long requests and stages of a running exchange took, as a table, as JSON, or as `.hgrm` files that plotters
//! of HdrHistogram read.

use super::client::Client;
use super::target::Target;
use anyhow::{Context, Result};
use hdrhistogram::Histogram;
use hyper::Method;
use ringside_config::Config;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is wanted.
pub(super) struct Wanted {
    pub(super) target: Target,
    /// A folder for `.hgrm` files.
    pub(super) to: Option<PathBuf>,
    /// Whether the exchange is to count anew once it was asked.
    pub(super) reset: bool,
    pub(super) as_json: bool,
}

/// Stages as they are shown: each within the one before, or beside it.
const STAGES: [&str; 8] = ["order", "engine", "ring", "matcher", "journal", "egress", "sync", "other"];

/// Asks, and tells.
pub(super) fn latency(config: &Config, wanted: &Wanted) -> Result<String> {
    let client = wanted.target.client(config)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let counted = runtime.block_on(async {
        let counted = Counted::ask(&client).await?;
        if wanted.reset {
            client.call(Method::POST, "/latency/reset", None).await?;
        }
        anyhow::Ok(counted)
    })?;
    if let Some(folder) = &wanted.to {
        counted.write(folder)?;
    }
    Ok(if wanted.as_json { format!("{}\n", counted.json()) } else { counted.text() })
}

/// What the exchange has counted: of each stage the longest duration of every cell in nanoseconds, and how many it holds.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Counted {
    /// Since when, in milliseconds before it was asked.
    pub(super) since_ms: u64,
    stages: BTreeMap<String, Vec<(u64, u64)>>,
}

impl Counted {
    /// As of now.
    pub(super) async fn ask(client: &Client) -> Result<Counted> {
        let answer = client.call(Method::GET, "/latency.json", None).await?;
        serde_json::from_value(answer).context("the answer is no count of latencies")
    }

    /// What came after `earlier`; all of it where the counts have begun anew since.
    pub(super) fn since(mut self, earlier: &Counted) -> Counted {
        let of = |stages: &BTreeMap<String, Vec<(u64, u64)>>, name: &str| -> BTreeMap<u64, u64> {
            stages.get(name).into_iter().flatten().copied().collect()
        };
        if self.since_ms >= earlier.since_ms {
            for (name, cells) in &mut self.stages {
                let before = of(&earlier.stages, name);
                for (longest, count) in cells {
                    *count = count.saturating_sub(before.get(longest).copied().unwrap_or(0));
                }
            }
        }
        self
    }

    /// Stages with their histograms, in the order of [`STAGES`].
    fn histograms(&self) -> impl Iterator<Item = (&'static str, Histogram<u64>)> {
        STAGES.into_iter().map(|name| {
            let cells = self.stages.get(name).into_iter().flatten().copied();
            (name, ringside_hgrm::of_cells(cells.filter(|(_, count)| *count > 0)))
        })
    }

    /// A row for each stage, in microseconds.
    pub(super) fn table(&self) -> String {
        let mut text = format!("{:8}{:>12}", "us", "count");
        let _ = writeln!(text, "{:>11}{:>11}{:>11}{:>11}{:>11}", "p50", "p90", "p99", "p99.9", "max");
        for (name, histogram) in self.histograms() {
            let _ = write!(text, "{name:8}{:>12}", histogram.len());
            for quantile in [0.5, 0.9, 0.99, 0.999, 1.0] {
                match histogram.is_empty() {
                    true => text += "          -",
                    false => _ = write!(text, "{:>11.1}", microseconds(&histogram, quantile)),
                }
            }
            text.push('\n');
        }
        text
    }

    fn text(&self) -> String {
        let since = Duration::from_secs(self.since_ms / 1_000);
        format!("of the last {since:?}\n{}", self.table())
    }

    /// Percentiles of each stage, in microseconds; null of what was not counted.
    pub(super) fn stages_json(&self) -> Value {
        let of = |(name, histogram): (&str, Histogram<u64>)| {
            let at = |quantile| (!histogram.is_empty()).then(|| microseconds(&histogram, quantile));
            let mean = (!histogram.is_empty()).then(|| (histogram.mean() / 100.0).round() / 10.0);
            let row = json!({
                "count": histogram.len(), "mean": mean, "p50": at(0.5), "p90": at(0.9), "p99": at(0.99),
                "p99_9": at(0.999), "max": at(1.0),
            });
            (name.to_owned(), row)
        };
        Value::Object(self.histograms().map(of).collect::<Map<_, _>>())
    }

    fn json(&self) -> Value {
        json!({ "since_ms": self.since_ms, "latency_us": self.stages_json() })
    }

    /// A file for each stage that has counted something.
    fn write(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for (name, histogram) in self.histograms().filter(|(_, histogram)| !histogram.is_empty()) {
            let path = folder.join(format!("{name}.hgrm"));
            std::fs::write(&path, ringside_hgrm::text(&histogram))
                .with_context(|| format!("cannot write {}", path.display()))?;
        }
        Ok(())
    }
}

/// To a tenth, as far as two digits tell it.
fn microseconds(histogram: &Histogram<u64>, quantile: f64) -> f64 {
    (histogram.value_at_quantile(quantile) as f64 / 100.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(since_ms: u64, order: &[(u64, u64)]) -> Counted {
        serde_json::from_value(json!({ "since_ms": since_ms, "stages": { "order": order } })).unwrap()
    }

    #[test]
    fn what_came_after_is_what_counts() {
        let earlier = counted(1_000, &[(100_000, 5), (400_000, 1)]);
        let later = counted(2_000, &[(100_000, 7), (300_000, 2), (400_000, 1)]).since(&earlier);
        let told = later.stages_json();
        assert_eq!(told["order"]["count"], 4);
        assert!(told["order"]["max"].as_f64().unwrap() < 310.0, "{told}");
        assert_eq!(told["sync"]["p50"], Value::Null);
        // Counted anew in between: all of it is new.
        let anew = counted(200, &[(100_000, 3)]).since(&earlier);
        assert_eq!(anew.stages_json()["order"]["count"], 3);
    }

    #[test]
    fn a_table_has_every_stage() {
        let text = counted(61_000, &[(100_000, 5)]).text();
        assert!(text.starts_with("of the last 61s\n"), "{text}");
        for stage in STAGES {
            assert!(text.contains(&format!("\n{stage} ")), "{stage} in {text}");
        }
    }
}
