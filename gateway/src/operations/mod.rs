//! What the machines of an operator ask: the page that Prometheus reads, and whether commands are taken. The page is put
//! together when it is asked for, on the thread that asks.

mod chain;
mod gateway;
mod proof;
pub mod server;
mod venue;

use ringside_commands::ingress::EngineState;
use ringside_edge::metrics::{Kind, Page};
use ringside_edge::worker::Shared;

/// The type of the page (`text/plain` of Prometheus, version 0.0.4).
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The page as of now.
pub fn page(shared: &Shared) -> Vec<u8> {
    let mut page = Page::default();
    let metrics = &shared.metrics;
    page.family("ringside_build_info", Kind::Gauge, "The running build; always 1");
    let engine = ringside_core::engine::ENGINE_VERSION.to_string();
    let (version, commit) = (env!("CARGO_PKG_VERSION"), env!("BUILT_COMMIT"));
    page.sample(&[("version", version), ("commit", commit), ("engine_version", &engine)], 1);
    page.gauge("ringside_up_seconds", "Since the process started", metrics.started.elapsed().as_secs());
    if let Ok(disk) = rustix::fs::statvfs(&shared.config.data_dir) {
        let free = disk.f_bavail.saturating_mul(disk.f_frsize);
        page.gauge("ringside_disk_free_bytes", "What the disk of the data folder has left for it", free);
    }
    let phase = shared.phase.get();
    page.family("ringside_phase", Kind::Gauge, "What the engine does: 1 for the phase it is in");
    for (word, is) in [
        ("restarting", EngineState::Restarting),
        ("running", EngineState::Running),
        ("halted", EngineState::Halted),
        ("mirror", EngineState::Mirror),
        ("carrying", EngineState::Carrying),
    ] {
        page.sample(&[("phase", word)], u64::from(phase == is));
    }
    gateway::write(&mut page, shared);
    if phase != EngineState::Restarting {
        venue::write(&mut page, shared);
        chain::write(&mut page, shared);
        proof::write(&mut page, shared);
    }
    if let Some(stages) = &*metrics.stages.lock() {
        stages(&mut page);
    }
    page.into_bytes()
}

/// What a load balancer or a service manager asks before it sends anybody here, and what it is told: whether the process runs, reads are
/// served, new orders are taken (not before recovery is over, while only what reduces is taken, once it stops or its journal has
/// failed), and whether it leads, alone or by a lease that lasts.
pub static PROBES: [(&str, Probe); 4] = [
    ("/livez", |_| (true, "alive\n")),
    ("/livez/reads", |shared| match shared.phase.get() {
        EngineState::Running | EngineState::Mirror | EngineState::Carrying => (true, "reads\n"),
        EngineState::Disabled | EngineState::Restarting | EngineState::Halted => (false, "no reads\n"),
    }),
    ("/readyz", |shared| match shared.phase.takes_orders() && !is_stopping(shared) {
        true => (true, "ready\n"),
        false if shared.phase.get() == EngineState::Mirror => {
            (false, "follows another: not ready for orders\n")
        }
        false => (false, "not ready\n"),
    }),
    ("/leaderz", |shared| match shared.phase.get() == EngineState::Running && !is_stopping(shared) {
        true => (true, "leads\n"),
        false => (false, "does not lead\n"),
    }),
];

/// One of them: yes or no, and in words.
pub type Probe = fn(&Shared) -> (bool, &'static str);

fn is_stopping(shared: &Shared) -> bool {
    shared.edge.shutdown.is_cancelled()
}
