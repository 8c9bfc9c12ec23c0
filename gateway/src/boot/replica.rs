//! Serves reads and streams from a journal that another host writes: runs the second engine hot on it, and shows what that says. Commands it
//! takes for the one that leads a cluster ([`super::lanes`]); a mirror takes none.

use super::error::BootError;
use super::front::Front;
use super::keeper::Keeper;
use super::lanes::{Carrier, Lanes};
use super::shown::Shown;
use super::stages::{archive, engine_config, open_history, persist_config};
use super::tell_of_follower;
use super::upstream::Upstream;
use ringside_commands::ingress::EngineState;
use ringside_core::Engine;
use ringside_core::agent::{Runner, Running};
use ringside_core::ring::Wait;
use ringside_core::side::SideStore;
use ringside_core::sums::Sums;
use ringside_edge::metrics::{Page, Seconds, Source};
use ringside_edge::worker::Shared;
use ringside_persist::config::PersistConfig;
use ringside_persist::recover::follower::{Follower, FollowerStatus, Lent};
use ringside_persist::recover::skip::decisions;
use ringside_persist::storage::disk::Disk;
use ringside_persist::write::status::JournalStatus;
use ringside_views::archive::archiver::Archiver;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often it is looked how all fare.
const WATCH: Duration = Duration::from_millis(5);

/// What is served from.
pub(super) struct Replica {
    pub(super) upstream: Arc<dyn Upstream>,
    pub(super) files: Arc<Disk>,
    pub(super) journal: Arc<JournalStatus>,
    /// By which orders go to the one that leads.
    pub(super) lanes: Option<Arc<Lanes>>,
}

/// What the page of figures shows.
fn figures(
    upstream: Arc<dyn Upstream>,
    journal: Arc<JournalStatus>,
    engine: Arc<OnceLock<Arc<FollowerStatus>>>,
) -> Source {
    Box::new(move |page: &mut Page| {
        upstream.figures(page);
        let durable = upstream.sequence();
        page.gauge("ringside_journal_durable_sequence", "The last command synced", durable);
        page.counter("ringside_journal_bytes_total", "Bytes made durable", journal.bytes());
        let Some(engine) = engine.get() else { return };
        page.gauge(
            "ringside_follower_behind_commands",
            "Durable commands not yet replayed by the follower",
            durable.saturating_sub(engine.sequence()),
        );
        page.gauge(
            "ringside_follower_failed",
            "1 once the follower has stopped",
            u8::from(engine.is_failed()),
        );
        page.counter("ringside_snapshots_total", "Snapshots written", engine.snapshots());
        let age = Seconds(engine.snapshot_age().as_nanos());
        page.gauge("ringside_snapshot_age_seconds", "Since the last snapshot was written, or the start", age);
    })
}

/// The second engine, where it is the only one, and what is kept for user streams.
pub(super) struct Following {
    lent: Lent<Engine, Shown>,
    status: Arc<FollowerStatus>,
    running: Running,
    keeping: Running,
    carrying: Option<Running>,
    sums: Arc<Sums>,
}

impl Following {
    /// Ends it: everything that may be shown is replayed, and a snapshot made of it.
    pub(super) fn end(self) {
        self.carrying.map(Running::join);
        self.running.join();
        self.keeping.join();
    }

    /// Whether it differs from the leader, and it is not known who is right.
    fn is_in_doubt(&self) -> bool {
        self.sums.try_lock().is_some_and(|sums| sums.doubt().is_some())
    }

    /// Takes it from its thread as it is, unless it has failed; what is kept is kept on.
    pub(super) fn take(self) -> Option<(Follower<Engine, Shown>, Running)> {
        self.carrying.map(Running::join);
        let follower = self.lent.take();
        self.running.join();
        follower.filter(|_| !self.status.is_failed()).map(|follower| (follower, self.keeping))
    }
}

/// Serves until `front` is to end or its upstream does. `greet` says what it is, at an address; `ready` is called once it answers.
/// Gives what has followed, where something has.
pub(super) fn serve(
    front: &mut Front,
    replica: &Replica,
    out: &mut impl Write,
    greet: impl FnOnce(SocketAddr) -> String,
    ready: impl FnOnce(SocketAddr),
) -> Option<Following> {
    let shared = front.shared.clone();
    let Replica { upstream, journal, .. } = replica;
    let engine = Arc::new(OnceLock::new());
    let source = figures(upstream.clone(), journal.clone(), engine.clone());
    shared.metrics.set_stages(source, journal.flushes().clone());
    let _ = writeln!(out, "{}", greet(front.address));
    let _ = out.flush();
    front.tell_ready("following", ready);

    // What was shown here before, in another role or by another engine, is not to be followed by less.
    let mut least = shared.views.read().sequence();
    shared.phase.set(EngineState::Restarting);
    let mut following: Option<Following> = None;
    let mut is_started = false;
    let mut side_changes = 0;
    let mut refreshing: Option<JoinHandle<()>> = None;
    while !shared.edge.shutdown.is_cancelled() && !upstream.is_over() {
        if !is_started && upstream.journal_id().is_some() {
            is_started = true;
            least = least.max(upstream.sequence());
            match follower(&shared, replica).and_then(|made| follow(&shared, replica, made)) {
                Ok(started) => {
                    let _ = engine.set(started.status.clone());
                    following = Some(started);
                }
                // What it is there for first goes on: it holds the files.
                Err(error) => {
                    tracing::error!(%error, "the files are held, and no engine runs on them")
                }
            }
        }
        if let Some(following) = &following {
            tell_of_follower(&following.status);
            let is_sound = !following.status.is_failed() && !following.is_in_doubt();
            match shared.phase.get() {
                EngineState::Restarting if is_sound && shared.views.read().sequence() >= least => {
                    shared.phase.set(EngineState::Mirror);
                }
                // What it shows stands still, and may be wrong.
                EngineState::Mirror | EngineState::Carrying if !is_sound => {
                    shared.phase.set(EngineState::Restarting);
                }
                _ => {}
            }
            let changes = following.status.side_changes();
            if changes != side_changes
                && refreshing.as_ref().is_none_or(JoinHandle::is_finished)
                && let Some(side) = following.lent.side()
            {
                side_changes = changes;
                let shared = shared.clone();
                refreshing = Some(std::thread::spawn(move || refresh(&shared, &side)));
            }
        }
        front.pulse(true);
        std::thread::sleep(WATCH);
    }
    // Whoever leads here next has newer ones.
    refreshing.map(JoinHandle::join);
    following
}

/// Has the credentials that the leader took count here. With many keys it takes a while, in which neither the second engine nor whoever
/// watches for an election is held up.
fn refresh(shared: &Shared, side: &SideStore) {
    if let Err(error) = shared.edge.auth.refresh(side) {
        tracing::error!(%error, "credentials that the leader took cannot be used here");
    }
}

/// The second engine on what is here, with views and archive, and what keeps events for user streams.
pub(super) fn follower(
    shared: &Arc<Shared>,
    replica: &Replica,
) -> Result<(Follower<Engine, Shown>, Running), BootError> {
    let (config, Replica { upstream, files, journal, lanes }) = (&shared.config, replica);
    let Some(journal_id) = upstream.journal_id() else { return Err(BootError::Lost) };
    let last = upstream.sequence();
    let mut keeper = Keeper::open(config, &shared.clock, &shared.registry);
    keeper.found(journal_id, last);
    let archiver = Archiver::open(&archive(config), journal_id, last, shared.views.clone())?;
    let shown = Shown::new(archiver, shared.clone(), lanes.clone(), last, keeper.mark());
    let persist = PersistConfig {
        // It is not in the way of anybody here.
        follower_lag: 0,
        ..persist_config(config, &shared.clock)
    };
    let (engine, skips) = (engine_config(config), decisions(files.as_ref())?);
    let mut follower = Follower::new(files.clone(), &persist, &engine, shown, journal.clone(), &skips)?;
    if upstream.counts(follower.sums()) {
        follower.doubts();
    }
    Ok((follower, keeper.start()?))
}

/// Starts it.
fn follow(
    shared: &Arc<Shared>,
    replica: &Replica,
    (follower, keeping): (Follower<Engine, Shown>, Running),
) -> Result<Following, BootError> {
    open_history(shared)?;
    let (status, sums) = (follower.status(), follower.sums());
    let lent = Lent::new(follower);
    let runner = Runner { name: "follower".to_owned(), wait: Wait::Sleep, ..Runner::default() };
    let running = runner.spawn(vec![Box::new(lent.clone())]).map_err(BootError::Thread)?;
    let mut carrying = None;
    if let Some(lanes) = &replica.lanes {
        let carrier = Carrier::new(lanes.clone(), shared.clone(), replica.upstream.clone(), status.clone());
        let runner = Runner { name: "carrier".to_owned(), wait: Wait::Sleep, ..Runner::default() };
        carrying = Some(runner.spawn(vec![Box::new(carrier)]).map_err(BootError::Thread)?);
    }
    Ok(Following { lent, status, running, keeping, carrying, sums })
}
