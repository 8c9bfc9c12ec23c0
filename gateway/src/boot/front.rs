//! What answers clients, whoever writes the journal: made once, while roles come and go behind it.

use super::credentials::JournalLog;
use super::error::BootError;
use super::supervisor::{Progress, Supervisor};
use crate::operations;
use crate::routes::ROUTES;
use ringside_auth::Authenticator;
use ringside_auth::credential_log::CredentialLog;
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::pin::pin_current_thread;
use ringside_core::side::SideStore;
use ringside_edge::server::router::Router;
use ringside_edge::server::{MakeWorker, Server};
use ringside_edge::worker::edge::Edge;
use ringside_edge::worker::{Shared, Worker};
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio_util::sync::CancellationToken;

/// See the module.
pub(super) struct Front {
    pub(super) shared: Arc<Shared>,
    /// Takes changes of credentials to the journal, while that is written here.
    pub(super) log: Arc<JournalLog>,
    /// The administrator's key was made just now.
    pub(super) is_admin_key_new: bool,
    pub(super) address: SocketAddr,
    server: Option<Server>,
    watched: Option<JoinHandle<()>>,
    supervisor: Supervisor,
    is_ready: bool,
}

impl Front {
    /// Listens, with the credentials of `side`; everything is refused as of an engine that restarts. It ends when `shutdown` is
    /// cancelled.
    pub(super) fn open(
        config: &Arc<Config>,
        clock: &Clock,
        side: &SideStore,
        shutdown: &CancellationToken,
        out: &mut impl Write,
    ) -> Result<Front, BootError> {
        let log = Arc::new(JournalLog::default());
        let kept: Arc<dyn CredentialLog> = log.clone();
        let (auth, found) = Authenticator::open(&config.auth(), side, &kept)?;
        let router = Arc::new(Router::new(ROUTES)?);
        let edge = Edge::new(config, auth, shutdown.clone());
        let shared = Arc::new(Shared::new(config.clone(), clock.clone(), edge, config.worker_count()));
        shared.feeds.load().map_err(BootError::Feeds)?;
        let server = Server::start(shared.clone(), router, workers(&shared))
            .map_err(|cause| BootError::Listen { address: config.listen, cause })?;
        let mut front = Front {
            log,
            is_admin_key_new: found.is_admin_key_new,
            address: server.address(),
            server: Some(server),
            watched: None,
            supervisor: Supervisor::new(|name| std::env::var_os(name)),
            is_ready: false,
            shared,
        };
        match listen_for_figures(&front.shared, out) {
            Ok(watched) => front.watched = watched,
            Err(error) => {
                // Why it does not start is what is told.
                let _ = front.stop();
                return Err(error);
            }
        }
        Ok(front)
    }

    /// Requests are answered, as the phase says. `ready` is called the first time.
    pub(super) fn tell_ready(&mut self, doing: &str, ready: impl FnOnce(SocketAddr)) {
        self.supervisor.ready(doing);
        if !std::mem::replace(&mut self.is_ready, true) {
            ready(self.address);
        }
    }

    /// Says that the process is alive, where that is wanted. `idles`: no command may get through, and no restart would help.
    pub(super) fn pulse(&mut self, idles: bool) {
        let shared = &self.shared;
        self.supervisor.pulse(|| Progress {
            sequence: shared.views.read().sequence(),
            heartbeats: shared.metrics.workers.iter().map(|figures| figures.heartbeats.get()).collect(),
            idles,
        });
    }

    /// The stages behind it have ended, and others come: nobody waits for a reply any more, no stream goes on.
    pub(super) fn rest(&self) {
        let shared = &self.shared;
        self.log.end();
        shared.agreed.write().take();
        shared.registry.end_sessions();
        for port in shared.ports.iter().chain([&shared.chain_port, &shared.feed_port]) {
            port.detach(false);
        }
    }

    /// Stops listening and waits for what is being answered; again, it does nothing.
    pub(super) fn stop(&mut self) -> Result<(), BootError> {
        let Some(server) = self.server.take() else { return Ok(()) };
        self.supervisor.stopping();
        self.shared.edge.shutdown.cancel();
        let served = server.join().map_err(BootError::Server);
        if let Some(watched) = self.watched.take() {
            let _ = watched.join();
        }
        served
    }
}

/// The contexts of the server's threads, each made on its own.
fn workers(shared: &Arc<Shared>) -> Vec<MakeWorker> {
    let cores = &shared.config.pin_workers.0;
    let make = |index: usize| -> MakeWorker {
        let shared = shared.clone();
        let core = (!cores.is_empty()).then(|| cores[index % cores.len()]);
        Box::new(move || {
            if let Some(Err(reason)) = core.map(pin_current_thread) {
                tracing::warn!(%reason, "a gateway thread is not pinned");
            }
            let worker = Worker::new(shared, index);
            tokio::task::spawn_local(worker.ingress.clone().run());
            tokio::task::spawn_local(worker.sessions.clone().run());
            worker
        })
    };
    (0..shared.ports.len()).map(make).collect()
}

/// Has figures answered at an address of their own, where there is one.
fn listen_for_figures(
    shared: &Arc<Shared>,
    out: &mut impl Write,
) -> Result<Option<JoinHandle<()>>, BootError> {
    let Some(address) = shared.config.metrics_listen else { return Ok(None) };
    let started = operations::server::start(shared.clone(), address);
    let (address, thread) = started.map_err(|cause| BootError::Listen { address, cause })?;
    let _ = writeln!(out, "ringside: figures       curl http://{address}/metrics");
    Ok(Some(thread))
}
