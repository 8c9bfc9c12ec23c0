//! What the running stages know of themselves, for the page of figures: rings, journal, follower, threads.

use super::stages::{Gauges, Stages};
use super::upstream::Upstream;
use ringside_edge::metrics::{Kind, Page, Seconds, Source};
use ringside_persist::recover::recovery::Report;
use ringside_persist::write::status::Pressure;
use std::sync::Arc;
use std::time::Duration;

/// The page's source for these stages, recovered as `report` says, and for the membership they lead by. `snapshot_interval` is what the
/// follower is to keep.
pub(super) fn source(
    stages: &Stages,
    gauges: Gauges,
    report: &Report,
    snapshot_interval: Duration,
    upstream: Option<Arc<dyn Upstream>>,
) -> Source {
    let (gate, journal, follower) = (stages.gate.clone(), stages.journal.clone(), stages.follower.clone());
    let source = stages.mirrored.as_ref().map(|mirrored| mirrored.source.clone());
    let (epoch, recovered, took) = (report.epoch, report.commands, report.total);
    Box::new(move |page| {
        gauges.write(page);
        upstream.iter().for_each(|upstream| upstream.figures(page));
        let nanoseconds = |duration: Duration| Seconds(duration.as_nanos());
        page.gauge("ringside_epoch", "The epoch, which grows with every start", epoch);
        page.gauge("ringside_recovery_seconds", "How long the last recovery took", nanoseconds(took));
        page.gauge("ringside_recovery_commands", "Commands that it replayed", recovered);
        page.gauge("ringside_journal_written_sequence", "The last command stored", gate.written());
        page.gauge("ringside_journal_durable_sequence", "The last command synced", gate.durable());
        page.gauge(
            "ringside_journal_failed",
            "1 once the journal has failed for good",
            u8::from(gate.is_halted()),
        );
        let age = journal.flush_age().unwrap_or_default();
        page.gauge(
            "ringside_sync_age_seconds",
            "How long the sync under way has taken so far",
            nanoseconds(age),
        );
        page.counter("ringside_journal_bytes_total", "Bytes made durable", journal.bytes());
        page.gauge("ringside_journal_spares", "Segments allocated ahead", journal.spares());
        let pressure = match journal.pressure() {
            Pressure::None => 0,
            Pressure::CancelsOnly => 1,
            Pressure::Full => 2,
        };
        page.gauge(
            "ringside_disk_pressure",
            "0: room for everything, 1: for cancels only, 2: for nothing more",
            pressure,
        );
        if let Some(mirror) = source.as_ref().map(|source| source.figures()) {
            page.gauge("ringside_mirror_connected", "1 while a mirror is fed", u8::from(mirror.is_connected));
            page.gauge(
                "ringside_mirror_lag_commands",
                "Durable commands that are not known to be on the mirror's disk",
                mirror.lag,
            );
            page.gauge(
                "ringside_mirror_lag_bytes",
                "Bytes of the journal of which that is so",
                mirror.lag_bytes,
            );
        }
        let behind = gate.durable().saturating_sub(follower.sequence());
        page.gauge(
            "ringside_follower_behind_commands",
            "Durable commands not yet replayed by the follower",
            behind,
        );
        page.gauge(
            "ringside_follower_failed",
            "1 once the follower has stopped",
            u8::from(follower.is_failed()),
        );
        page.counter("ringside_snapshots_total", "Snapshots written", follower.snapshots());
        page.gauge("ringside_snapshot_sequence", "Where the newest snapshot stands", follower.snapshot());
        let age = follower.snapshot_age();
        page.gauge(
            "ringside_snapshot_age_seconds",
            "Since the last snapshot was written, or the start",
            nanoseconds(age),
        );
        page.gauge(
            "ringside_snapshot_interval_seconds",
            "The longest that is to be",
            snapshot_interval.as_secs(),
        );
        let (cost, len) = follower.snapshot_cost();
        page.gauge("ringside_snapshot_seconds", "How long the newest took to write", nanoseconds(cost));
        page.gauge("ringside_snapshot_bytes", "How long it is", len);
    })
}

impl Gauges {
    fn write(&self, page: &mut Page) {
        let inputs = self.inputs.iter().enumerate().map(|(index, gauge)| {
            let name = if index + 1 == self.inputs.len() {
                "input-feed".to_owned()
            } else {
                format!("input-{index}")
            };
            (name, gauge.depth(), gauge.capacity())
        });
        let rings: Vec<(String, u64, u64)> = inputs
            .chain([
                ("journal".to_owned(), self.journal.depth(), self.journal.capacity()),
                ("output".to_owned(), self.output.depth(), self.output.capacity()),
            ])
            .collect();
        page.family("ringside_ring_depth", Kind::Gauge, "Slots published and still needed");
        rings.iter().for_each(|(name, depth, _)| page.sample(&[("ring", name)], depth));
        page.family("ringside_ring_capacity", Kind::Gauge, "Slots of a ring");
        rings.iter().for_each(|(name, _, capacity)| page.sample(&[("ring", name)], capacity));
        page.family(
            "ringside_ring_stalls_total",
            Kind::Counter,
            "Times the matcher found a ring full and waited",
        );
        page.sample(&[("ring", "journal")], self.matcher.journal_stalls.get());
        page.sample(&[("ring", "output")], self.matcher.output_stalls.get());
        let all: Vec<_> = self.threads.iter().map(|(name, activity)| (*name, activity.counters())).collect();
        page.family("ringside_thread_turns_total", Kind::Counter, "Rounds of a stage's thread");
        all.iter().for_each(|(name, counters)| page.sample(&[("thread", name)], counters.turns));
        page.family(
            "ringside_thread_work_total",
            Kind::Counter,
            "Commands, events or records that it handled",
        );
        all.iter().for_each(|(name, counters)| page.sample(&[("thread", name)], counters.work));
        page.family("ringside_thread_sleeps_total", Kind::Counter, "Times it went to sleep");
        all.iter().for_each(|(name, counters)| page.sample(&[("thread", name)], counters.sleeps));
        page.gauge(
            "ringside_threads_not_pinned",
            "Threads that are not on the core asked for",
            self.unpinned,
        );
    }
}
