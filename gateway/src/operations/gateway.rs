//! Figures of the edge and of the way of commands, as the page shows them.

use ringside_commands::ingress::{Unavailable, WorkerFigures};
use ringside_core::command;
use ringside_core::event::LiquidationStep;
use ringside_core::figures::Counter;
use ringside_core::reject::Reject;
use ringside_edge::metrics::latency::Stage;
use ringside_edge::metrics::{Kind, Page};
use ringside_edge::worker::Shared;
use ringside_wire::refusal::Dialect;
use std::sync::atomic::Ordering;

const STATUSES: [&str; 6] = ["0xx", "1xx", "2xx", "3xx", "4xx", "5xx"];

pub(super) fn write(page: &mut Page, shared: &Shared) {
    requests(page, shared);
    stages(page, shared);
    commands(page, shared);
    connections(page, shared);
    page.gauge(
        "ringside_key_logs_failed",
        "Kinds of credentials (API keys, keys of user streams, logouts) that are not kept any more before a restart",
        shared.edge.auth.failed_logs(),
    );
}

fn workers(shared: &Shared) -> impl Iterator<Item = &WorkerFigures> + Clone {
    shared.metrics.workers.iter().map(AsRef::as_ref)
}

fn sum<'a>(counters: impl Iterator<Item = &'a Counter>) -> u64 {
    counters.map(Counter::get).sum()
}

fn requests(page: &mut Page, shared: &Shared) {
    page.family("ringside_answers_total", Kind::Counter, "Answers to requests");
    for dialect in Dialect::ALL {
        for (class, status) in STATUSES.into_iter().enumerate().skip(1) {
            let count = sum(workers(shared).map(|figures| &figures.answers[dialect as usize][class]));
            page.sample(&[("dialect", dialect.name()), ("status", status)], count);
        }
    }
    page.family(
        "ringside_limited_total",
        Kind::Counter,
        "Answers that a limit gave, by status: 418 is a ban",
    );
    for (index, status) in ["429", "418"].into_iter().enumerate() {
        page.sample(&[("status", status)], sum(workers(shared).map(|figures| &figures.limited[index])));
    }
    page.family(
        "ringside_request_seconds",
        Kind::Histogram,
        "From a request's head to its answer, by what was asked for",
    );
    for stage in [Stage::Order, Stage::Other] {
        page.histogram(&[("kind", stage.name())], &shared.metrics.counts(stage));
    }
    page.family("ringside_worker_beats_total", Kind::Counter, "Rounds of each gateway thread's loop");
    for (index, figures) in workers(shared).enumerate() {
        page.sample(&[("worker", &index.to_string())], figures.heartbeats.get());
    }
}

/// How long commands spend where.
fn stages(page: &mut Page, shared: &Shared) {
    page.family(
        "ringside_stage_seconds",
        Kind::Histogram,
        "How long commands spend in a stage: ring, matcher, journal and egress one after the other, engine all of them; \
         of matcher, journal and egress one command at a time is followed",
    );
    for stage in [Stage::Ring, Stage::Matcher, Stage::Journal, Stage::Egress, Stage::Engine] {
        page.histogram(&[("stage", stage.name())], &shared.metrics.counts(stage));
    }
    page.family("ringside_sync_seconds", Kind::Histogram, "How long syncs of the journal took");
    page.histogram(&[], &shared.metrics.counts(Stage::Sync));
}

fn commands(page: &mut Page, shared: &Shared) {
    let egress = &shared.metrics.egress;
    page.family("ringside_commands_total", Kind::Counter, "Commands carried out or refused, by kind");
    for kind in command::Kind::ALL {
        page.sample(&[("kind", &format!("{kind:?}"))], egress.commands[*kind as usize].get());
    }
    page.family("ringside_rejects_total", Kind::Counter, "Commands that the engine refused, by reason");
    for reject in Reject::ALL {
        page.sample(&[("reject", &format!("{reject:?}"))], egress.rejects[usize::from(reject.code())].get());
    }
    page.family(
        "ringside_unavailable_total",
        Kind::Counter,
        "Commands that were not handed to the engine, or of which it said nothing in time, by reason",
    );
    for (unavailable, word) in Unavailable::ALL {
        let count = sum(workers(shared).map(|figures| &figures.unavailable[unavailable as usize]));
        page.sample(&[("reason", word)], count);
    }
    page.counter("ringside_events_total", "Events of all commands", egress.events.get());
    page.family("ringside_trades_total", Kind::Counter, "Matches, by kind of market");
    page.sample(&[("kind", "spot")], egress.spot_trades.get());
    page.sample(&[("kind", "perpetual")], egress.perpetual_trades.get());
    page.family("ringside_liquidation_steps_total", Kind::Counter, "Steps of liquidations");
    for (step, cell) in LiquidationStep::ALL.iter().zip(&egress.liquidations) {
        page.sample(&[("step", &format!("{step:?}").to_lowercase())], cell.get());
    }
    page.family("ringside_queue_commands", Kind::Gauge, "Commands handed over and not yet answered");
    for (index, port) in shared.ports.iter().enumerate() {
        page.sample(&[("worker", &index.to_string())], port.queue_len());
    }
}

fn connections(page: &mut Page, shared: &Shared) {
    // Relaxed: a figure.
    let open = shared.edge.open.load(Ordering::Relaxed);
    page.gauge("ringside_connections", "Connections open, those of WebSockets among them", open);
    page.gauge("ringside_connections_max", "Connections that may be open", shared.config.max_connections);
    let ports = || shared.registry.ports.iter();
    page.gauge("ringside_websockets", "WebSocket sessions", sum(ports().map(|port| &port.sessions)));
    let (queued, dropped) = (sum(ports().map(|port| &port.queued)), sum(ports().map(|port| &port.dropped)));
    page.counter("ringside_frames_queued_total", "Pushes put into the queues of WebSockets", queued);
    page.counter("ringside_frames_dropped_total", "Pushes that a slow WebSocket had no room for", dropped);
    page.counter(
        "ringside_push_batches_lost_total",
        "Batches of pushes that a gateway thread was too slow for",
        sum(ports().map(|port| &port.lost)),
    );
}
