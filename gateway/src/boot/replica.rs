//! Serves reads from a journal that another host writes: runs the second engine hot on it, and shows what that says. Takes no commands:
//! of those the leader would know nothing.

use super::credentials::{self, JournalLog};
use super::error::BootError;
use super::stages::{archive, engine_config, persist_config};
use super::{listen_for_figures, tell_of_follower, workers};
use crate::config::Config;
use crate::metrics::{Page, Seconds, Source};
use crate::routes::ROUTES;
use crate::server::Server;
use crate::server::router::Router;
use crate::worker::Shared;
use crate::worker::edge::Edge;
use ringside_auth::Authenticator;
use ringside_auth::credential_log::CredentialLog;
use ringside_commands::clock::Clock;
use ringside_commands::ingress::EngineState;
use ringside_core::Engine;
use ringside_core::agent::{Agent, Runner, Running};
use ringside_core::event::{Event, Kind};
use ringside_core::ids::Sequence;
use ringside_core::ring::Wait;
use ringside_persist::archive::ArchiveError;
use ringside_persist::error::FoldError;
use ringside_persist::recover::follower::{Follower, FollowerStatus};
use ringside_persist::recover::machine::Fold;
use ringside_persist::recover::skip::decisions;
use ringside_persist::storage::disk::Disk;
use ringside_persist::write::status::JournalStatus;
use ringside_views::archive::archiver::Archiver;
use ringside_views::archive::readers::Readers;
use ringside_views::log::Retention;
use ringside_views::{SharedViews, Views};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// How often it is looked how all fare.
const WATCH: Duration = Duration::from_millis(20);
/// Events that are folded under one lock, at least.
const BATCH: usize = 1024;

/// Feeds the archive, and keeps views that requests read.
struct Shown {
    archiver: Archiver,
    views: Arc<SharedViews>,
    window: usize,
    /// Events of whole commands, and of the one under way, that the views do not show yet.
    pending: Vec<Event>,
}

impl Shown {
    fn show(&mut self) {
        let pending = &mut self.pending;
        self.views.write(|views| pending.drain(..).for_each(|event| views.fold(&event)));
    }
}

impl Fold for Shown {
    fn event(&mut self, event: &Event) {
        self.archiver.event(event);
        self.pending.push(*event);
        if event.kind == Kind::Done as u16 && self.pending.len() >= BATCH {
            self.show();
        }
    }

    fn save(&self, bytes: &mut Vec<u8>) {
        self.archiver.save(bytes);
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), FoldError> {
        self.archiver.load(bytes)?;
        let mut views = Views::new(Retention::Window(self.window));
        views.load(bytes)?;
        self.pending.clear();
        self.views.replace(views);
        Ok(())
    }

    fn reset(&mut self) {
        self.archiver.reset();
        self.pending.clear();
        self.views.replace(Views::new(Retention::Window(self.window)));
    }

    fn kept(&self) -> Sequence {
        self.archiver.kept()
    }

    fn commit(&mut self, through: Sequence, is_due: bool) -> Result<(), ArchiveError> {
        self.show();
        self.archiver.commit(through, is_due)
    }
}

/// Who writes the journal.
pub(super) trait Upstream: Send + Sync {
    /// Id of the journal, once an engine can start from what is here.
    fn journal_id(&self) -> Option<[u8; 16]>;
    /// The last command that may be shown.
    fn sequence(&self) -> Sequence;
    /// Whether nothing is written here any more, or reads are not to be served any more.
    fn is_over(&self) -> bool;
    /// Its own figures.
    fn figures(&self, page: &mut Page);
}

/// What is served from.
pub(super) struct Replica {
    pub(super) upstream: Arc<dyn Upstream>,
    pub(super) files: Arc<Disk>,
    pub(super) journal: Arc<JournalStatus>,
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

/// Serves until `shutdown` or its upstream's end. `greet` says what it is, at an address; `ready` is called once it answers.
pub(super) fn serve(
    config: &Arc<Config>,
    clock: &Clock,
    replica: Replica,
    shutdown: &CancellationToken,
    out: &mut impl Write,
    greet: impl FnOnce(SocketAddr) -> String,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), BootError> {
    let Replica { upstream, files, journal } = replica;
    // As of the start: what the leader is told later counts here from the next one on. Its own are refused: nothing takes them.
    let kept: Arc<dyn CredentialLog> = Arc::new(JournalLog::default());
    let folder = persist_config(config, clock).directory;
    let (auth, _) = Authenticator::open(&config.auth(), &credentials::held(&folder)?, &kept)?;
    let router = Arc::new(Router::new(ROUTES)?);
    let edge = Edge::new(config, auth, shutdown.clone());
    let shared = Arc::new(Shared::new(config.clone(), clock.clone(), edge, config.worker_count()));
    let server = Server::start(shared.clone(), router, workers(&shared))
        .map_err(|cause| BootError::Listen { address: config.listen, cause })?;
    let watched = match listen_for_figures(&shared, out) {
        Ok(watched) => watched,
        Err(error) => {
            server.stop();
            let _ = server.join();
            return Err(error);
        }
    };
    let engine = Arc::new(OnceLock::new());
    let source = figures(upstream.clone(), journal.clone(), engine.clone());
    shared.metrics.add_stages(source, journal.flushes().clone());
    let address = server.address();
    let _ = writeln!(out, "{}", greet(address));
    let _ = out.flush();
    ready(address);

    let mut following: Option<Running> = None;
    let mut is_started = false;
    while !shutdown.is_cancelled() && !upstream.is_over() {
        if let Some(journal_id) = upstream.journal_id().filter(|_| !is_started) {
            is_started = true;
            match follow(&shared, clock, &files, &journal, journal_id, upstream.sequence()) {
                Ok((status, running)) => {
                    let _ = engine.set(status);
                    following = Some(running);
                    shared.phase.set(EngineState::Mirror);
                }
                // What it is there for first goes on: it holds the files.
                Err(error) => {
                    tracing::error!(%error, "the files are held, and no engine runs on them")
                }
            }
        }
        if let Some(status) = engine.get() {
            tell_of_follower(status);
        }
        std::thread::sleep(WATCH);
    }
    shutdown.cancel();
    let served = server.join().map_err(BootError::Server);
    if let Some(watched) = watched {
        let _ = watched.join();
    }
    following.map(Running::join);
    served
}

/// Starts the second engine on what is here.
fn follow(
    shared: &Shared,
    clock: &Clock,
    files: &Arc<Disk>,
    journal: &Arc<JournalStatus>,
    journal_id: [u8; 16],
    last: Sequence,
) -> Result<(Arc<FollowerStatus>, Running), BootError> {
    let config = &shared.config;
    let archive = archive(config);
    let archiver = Archiver::open(&archive, journal_id, last, shared.views.clone())?;
    let window = config.history_window;
    let shown = Shown { archiver, views: shared.views.clone(), window, pending: Vec::new() };
    let persist = ringside_persist::config::PersistConfig {
        // It is not in the way of anybody here.
        follower_lag: 0,
        ..persist_config(config, clock)
    };
    let engine = engine_config(config);
    let skips = decisions(files.as_ref())?;
    let follower: Follower<Engine, Shown> =
        Follower::new(files.clone(), &persist, &engine, shown, journal.clone(), &skips)?;
    shared.history.open(Readers::start(&archive, config.archive_readers)?);
    let status = follower.status();
    let runner = Runner { name: "follower".to_owned(), wait: Wait::Sleep, ..Runner::default() };
    let agents: Vec<Box<dyn Agent>> = vec![Box::new(follower)];
    Ok((status, runner.spawn(agents).map_err(BootError::Thread)?))
}
