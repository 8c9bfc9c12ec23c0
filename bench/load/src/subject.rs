//! One server of a comparison over HTTP: how fast it answered each count of connections, and what that cost it.
//!
//! Requests are the benchmark's; [`super::drive`] sends them. Nothing here judges a figure.

use super::drive::{Driven, Lane, closed, open};
use super::server::processor_time;
use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;
use ringside_bench::report::{self, Unit};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Driven and not measured before each measurement.
const WARM_UP: Duration = Duration::from_millis(300);
/// A server that did next to nothing for so long has put nothing off: longer than rows wait for the archive.
const REST: Duration = Duration::from_millis(1_200);
/// How long that is waited for.
const RESTED_WITHIN: Duration = Duration::from_secs(15);

/// One server under test, and what it came to.
pub struct Subject {
    /// What the report calls it.
    pub name: &'static str,
    /// Where it listens.
    pub address: SocketAddr,
    process: u32,
    parts: Vec<Part>,
    /// Latencies of the open-loop part.
    pub paced: Histogram<u64>,
}

/// What one count of connections came to.
struct Part {
    connections: usize,
    /// Answers per second of each repetition.
    rates: Vec<f64>,
    /// Processor microseconds per answer of each repetition.
    costs: Vec<f64>,
    /// Of all repetitions.
    latencies: Histogram<u64>,
}

impl Subject {
    /// A server that was not asked anything yet. `connections`: the counts that it will be driven over.
    pub fn new(name: &'static str, address: SocketAddr, process: u32, connections: &[usize]) -> Subject {
        let part = |&connections| Part {
            connections,
            rates: Vec::new(),
            costs: Vec::new(),
            latencies: report::histogram(),
        };
        Subject {
            name,
            address,
            process,
            parts: connections.iter().map(part).collect(),
            paced: report::histogram(),
        }
    }

    /// Connections of a part.
    pub fn connections(&self, part: usize) -> usize {
        self.parts[part].connections
    }

    /// Middle of the answers per second of a part.
    pub fn rate(&self, part: usize) -> f64 {
        report::median(&self.parts[part].rates)
    }

    /// Latencies of a part.
    pub fn latencies(&self, part: usize) -> &Histogram<u64> {
        &self.parts[part].latencies
    }

    /// Drives a part's lanes for `measured`, each as fast as it is answered, and lets the server rest.
    pub async fn closed(&mut self, part: usize, lanes: Vec<Lane>, measured: Duration) -> Result<Vec<Lane>> {
        let (mut before, mut after) = (Ok(Duration::ZERO), Ok(Duration::ZERO));
        let (lanes, driven) = closed(
            lanes,
            WARM_UP,
            measured,
            || before = processor_time(self.process),
            || after = processor_time(self.process),
        )
        .await
        .with_context(|| format!("{} connections to {}", self.parts[part].connections, self.name))?;
        self.take(part, &driven, after?.saturating_sub(before?))?;
        self.rest().await?;
        Ok(lanes)
    }

    fn take(&mut self, part: usize, driven: &Driven, used: Duration) -> Result<()> {
        let part = &mut self.parts[part];
        part.rates.push(driven.per_second());
        part.costs.push(used.as_secs_f64() * 1e6 / driven.answers.max(1) as f64);
        Ok(part.latencies.add(&driven.latencies)?)
    }

    /// Drives lanes at `rate` requests a second together, and lets the server rest.
    pub async fn paced(&mut self, rate: f64, lanes: Vec<Lane>, measured: Duration) -> Result<Vec<Lane>> {
        let (lanes, driven) = open(lanes, rate, measured, |_, _| ()).await?;
        self.paced.add(&driven.latencies)?;
        self.rest().await?;
        Ok(lanes)
    }

    /// Waits until the server has done what it had put off, such as writing its archive, so that the next one measured does
    /// not pay for it.
    async fn rest(&self) -> Result<()> {
        let deadline = Instant::now() + RESTED_WITHIN;
        let mut before = processor_time(self.process)?;
        while Instant::now() < deadline {
            tokio::time::sleep(REST).await;
            let now = processor_time(self.process)?;
            // A thread that ended takes its time with it.
            if now.saturating_sub(before) < REST / 50 {
                break;
            }
            before = now;
        }
        Ok(())
    }
}

/// One row per count of connections and server: answers per second, beside the first server's, and what an answer cost.
pub fn rate_table(subjects: &[Subject]) -> String {
    let mut text = format!(
        "{:<12} {:>11} {:>12} {:>8} {:>20}\n",
        "", "connections", "requests/s", "x bare", "server us/request"
    );
    for part in 0..subjects[0].parts.len() {
        let bare = subjects[0].rate(part);
        for subject in subjects {
            let (per_second, cost) = (subject.rate(part), report::median(&subject.parts[part].costs));
            let connections = subject.connections(part);
            let _ = writeln!(
                text,
                "{:<12} {connections:>11} {per_second:>12.0} {:>8.2} {cost:>20.1}",
                subject.name,
                per_second / bare
            );
        }
    }
    text
}

/// Percentiles of the closed-loop latencies: one row per count of connections and server.
pub fn latency_table(subjects: &[Subject]) -> String {
    let parts =
        (0..subjects[0].parts.len()).flat_map(|part| subjects.iter().map(move |subject| (part, subject)));
    let rows: Vec<_> = parts
        .map(|(part, subject)| {
            (
                format!("{}, {} connection(s)", subject.name, subject.connections(part)),
                subject.latencies(part),
            )
        })
        .collect();
    let rows: Vec<_> = rows.iter().map(|(name, latencies)| (name.as_str(), *latencies)).collect();
    report::percentile_table(&rows, Unit::Microseconds)
}

/// Percentiles of the open-loop latencies: one row per server.
pub fn paced_table(subjects: &[Subject]) -> String {
    let rows: Vec<_> = subjects.iter().map(|subject| (subject.name, &subject.paced)).collect();
    report::percentile_table(&rows, Unit::Microseconds)
}

/// Moves all threads of a process to the first core.
pub fn pin(process: u32) -> Result<()> {
    let status = Command::new("taskset")
        .args(["-a", "-p", "-c", "0", &process.to_string()])
        .stdout(Stdio::null())
        .status()
        .context("taskset")?;
    ensure!(status.success(), "taskset failed");
    Ok(())
}
