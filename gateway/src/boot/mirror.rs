//! The role of a mirror: it holds what its leader sends, runs the second engine hot on it, and shows what that says. It takes no
//! commands: of those its leader would know nothing.

use super::credentials::{self, JournalLog};
use super::error::BootError;
use super::stages::{archive, disk, engine_config, persist_config, take_folder};
use super::{listen_for_figures, make_data_folder, tell_of_follower, workers};
use crate::config::Config;
use crate::metrics::{Page, Seconds, Source};
use crate::routes::ROUTES;
use crate::server::router::Router;
use crate::server::{Server, shutdown_on_signals};
use crate::worker::Shared;
use crate::worker::edge::Edge;
use ringside_auth::Authenticator;
use ringside_auth::credential_log::CredentialLog;
use ringside_commands::clock::Clock;
use ringside_commands::ingress::EngineState;
use ringside_core::Engine;
use ringside_core::agent::{Agent, Runner, Running};
use ringside_core::event::{Event, Kind};
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
use ringside_core::ring::Wait;
use ringside_mirror::follower::{self as link, LinkStatus};
use ringside_mirror::keys::Identity;
use ringside_persist::archive::ArchiveError;
use ringside_persist::error::FoldError;
use ringside_persist::mirror::sink::Sink;
use ringside_persist::recover::follower::{Follower, FollowerStatus};
use ringside_persist::recover::machine::Fold;
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

/// What the page of figures shows of a mirror.
struct Figures {
    link: Arc<LinkStatus>,
    gate: Arc<Gate>,
    journal: Arc<JournalStatus>,
    engine: Arc<OnceLock<Arc<FollowerStatus>>>,
}

impl Figures {
    fn source(self) -> Source {
        Box::new(move |page: &mut Page| {
            page.gauge(
                "ringside_mirror_of",
                "1 on a mirror that its leader feeds, 0 on one that it does not",
                u8::from(self.link.is_connected()),
            );
            let durable = self.gate.durable();
            page.gauge("ringside_journal_durable_sequence", "The last command synced", durable);
            page.gauge(
                "ringside_mirror_leader_sequence",
                "On a mirror: the last command of its leader, as it was heard last",
                self.link.leader(),
            );
            page.gauge(
                "ringside_mirror_failed",
                "1 once the disk of a mirror has failed for good",
                u8::from(self.link.failure().is_some()),
            );
            page.counter("ringside_journal_bytes_total", "Bytes made durable", self.journal.bytes());
            let Some(engine) = self.engine.get() else { return };
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
            page.gauge(
                "ringside_snapshot_age_seconds",
                "Since the last snapshot was written, or the start",
                age,
            );
        })
    }
}

/// Runs until it is told to stop, or its disk fails. `ready` is called once it answers.
pub(super) fn run(
    config: &Arc<Config>,
    clock: &Clock,
    leader: &str,
    out: &mut impl Write,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), BootError> {
    make_data_folder(config)?;
    let taken = take_folder(config, clock)?;
    let identity = Identity::of(&config.data_dir).map_err(BootError::Mirror)?;
    let persist = persist_config(config, clock);
    let files = Arc::new(disk(&persist)?);
    let sink = Sink::open(files.clone(), taken.clone(), &persist, true, || Clock::SYSTEM.now_ns())?;
    let skips = sink.skips()?;
    let (journal, gate) = (sink.status(), sink.gate());
    let at = gate.durable();

    // As of the start: what its leader is told later counts here from the next one on. Its own are refused: nothing takes them.
    let kept: Arc<dyn CredentialLog> = Arc::new(JournalLog::default());
    let (auth, _) = Authenticator::open(&config.auth(), &credentials::held(&persist.directory)?, &kept)?;
    let shutdown = CancellationToken::new();
    let router = Arc::new(Router::new(ROUTES)?);
    let edge = Edge::new(config, auth, shutdown.clone());
    let shared = Arc::new(Shared::new(config.clone(), clock.clone(), edge, config.worker_count()));
    shutdown_on_signals(shutdown.clone()).map_err(BootError::Thread)?;
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
    let linked = link::start(leader.to_owned(), &identity, &config.mirror_keys, sink, shutdown.clone());
    let (link, linking) = linked.map_err(BootError::Thread)?;
    let engine = Arc::new(OnceLock::new());
    let figures =
        Figures { link: link.clone(), gate: gate.clone(), journal: journal.clone(), engine: engine.clone() };
    shared.metrics.add_stages(figures.source(), journal.flushes().clone());
    let address = server.address();
    let _ = writeln!(
        out,
        "ringside: a mirror of     {leader}; its own journal ends at sequence {at}\n\
         ringside: its key         {}, which the leader's `mirror_keys` names\n\
         ringside: answers on      http://{address}/api/v1: reads alone, at the sequence that each answer names",
        identity.fingerprint()
    );
    let _ = out.flush();
    ready(address);

    let mut following: Option<Running> = None;
    let mut is_started = false;
    while !shutdown.is_cancelled() && link.failure().is_none() {
        if let Some(journal_id) = link.journal().filter(|_| !is_started) {
            is_started = true;
            match follow(&shared, clock, &files, &journal, journal_id, gate.durable(), &skips) {
                Ok((status, running)) => {
                    let _ = engine.set(status);
                    following = Some(running);
                    shared.phase.set(EngineState::Mirror);
                }
                // What it is there for first goes on: it holds the files.
                Err(error) => {
                    tracing::error!(%error, "the mirror holds the files, and runs no engine on them")
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
    let _ = linking.join();
    following.map(Running::join);
    drop(taken);
    match link.failure() {
        Some(reason) => Err(BootError::Journal(reason)),
        None => {
            let _ = writeln!(out, "ringside: the mirror has stopped at sequence {}", gate.durable());
            served
        }
    }
}

/// Starts the second engine on what is here.
fn follow(
    shared: &Shared,
    clock: &Clock,
    files: &Arc<Disk>,
    journal: &Arc<JournalStatus>,
    journal_id: [u8; 16],
    last: Sequence,
    skips: &[Sequence],
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
    let follower: Follower<Engine, Shown> =
        Follower::new(files.clone(), &persist, &engine, shown, journal.clone(), skips)?;
    shared.history.open(Readers::start(&archive, config.archive_readers)?);
    let status = follower.status();
    let runner = Runner { name: "follower".to_owned(), wait: Wait::Sleep, ..Runner::default() };
    let agents: Vec<Box<dyn Agent>> = vec![Box::new(follower)];
    Ok((status, runner.spawn(agents).map_err(BootError::Thread)?))
}
