//! Sockets: one thread accepts and deals connections out in turn; each worker thread serves its own on a single-threaded
//! runtime, so nothing of a request ever changes threads.
//!
//! Shutdown: the listener closes, connections finish the request they are in and close, what is left after a while is cut.
//! A panic in a request ends its connection only. What a request means is `service.rs`.

pub mod caller;
pub mod cors;
pub mod router;
pub mod service;
pub mod stream;
pub mod watch;

use crate::http::limits::{Client, Who};
use crate::worker::{Shared, Worker};
use caller::Caller;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use ringside_config::Config;
use router::Router;
use service::{Connection, respond};
use std::cell::Cell;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use std::time::Duration;
use stream::{Place, Stream};
use tokio::net::TcpStream;
use tokio::runtime::LocalOptions;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_util::sync::CancellationToken;
use watch::{Asked, Watchdog};

/// Connections that may wait in the listener for the acceptor.
const BACKLOG: i32 = 1_024;
/// How long the acceptor rests after the system refused it a connection, such as for want of file descriptors.
const ACCEPT_REST: Duration = Duration::from_millis(50);
/// Tasks that a thread runs before it looks for what has arrived meanwhile: as many as may be ready together, so that their
/// commands become one batch and the system is asked once.
const TASKS_OF_A_TURN: u32 = 512;
/// Sockets of which a thread learns at a time that they are ready. What a request touches on its way to the engine is touched
/// again when its answer is written: of so many requests that still lies in the processor's own cache, of four times as many it
/// has to be fetched again.
const READY_OF_A_TURN: usize = 64;
/// How often it is noted when keys were last used.
const NOTE_KEY_USES: Duration = Duration::from_secs(60);

/// Makes the context of one worker. Runs on the worker's own thread, inside its runtime, so it may spawn local tasks.
pub type MakeWorker = Box<dyn FnOnce() -> Worker + Send>;

/// A running server.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    shutdown: CancellationToken,
    threads: Vec<JoinHandle<()>>,
}

/// A connection on its way from the acceptor to a worker.
struct Accepted {
    stream: std::net::TcpStream,
    peer: IpAddr,
    client: Arc<Client>,
    is_proxy: bool,
    place: Arc<Place>,
}

impl Server {
    /// Listens, and starts a thread for each worker and one that accepts. Ends when `shared.edge.shutdown` is cancelled.
    pub fn start(shared: Arc<Shared>, router: Arc<Router>, workers: Vec<MakeWorker>) -> io::Result<Server> {
        let listener = listen(shared.config.listen)?;
        let address = listener.local_addr()?;
        let shutdown = shared.edge.shutdown.clone();
        let mut threads = Vec::with_capacity(workers.len() + 1);
        let mut senders = Vec::with_capacity(workers.len());
        for (index, make) in workers.into_iter().enumerate() {
            let (sender, receiver) = unbounded_channel();
            senders.push(sender);
            let (router, shutdown) = (router.clone(), shutdown.clone());
            let main = move || serve_all(make, router, receiver, shutdown);
            threads.push(spawn(format!("http-{index}"), main)?);
        }
        let accepting = shutdown.clone();
        let main = move || async move {
            let noting = tokio::task::spawn_local(note_key_uses(shared.clone()));
            let accept = accept_all(listener, &shared, &senders);
            if let Some(Err(error)) = accepting.run_until_cancelled(accept).await {
                tracing::error!(%error, "the listener failed; no connection is accepted any more");
                accepting.cancelled().await;
            }
            noting.abort();
            note_now(&shared);
        };
        threads.push(spawn("http-accept".to_owned(), main)?);
        Ok(Server { address, shutdown, threads })
    }

    /// Where it listens; the port that was chosen where the configuration says 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Asks it to stop; [`Server::join`] waits for that.
    pub fn stop(&self) {
        self.shutdown.cancel();
    }

    /// Waits until all threads have ended. A thread that panicked is an error.
    pub fn join(self) -> Result<(), String> {
        let mut failed = Vec::new();
        for thread in self.threads {
            let name = thread.thread().name().unwrap_or("?").to_owned();
            if thread.join().is_err() {
                failed.push(name);
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(format!("threads panicked: {}", failed.join(", "))) }
    }
}

/// Cancels `shutdown` at SIGTERM or SIGINT; a second one ends the process at once.
pub fn shutdown_on_signals(shutdown: CancellationToken) -> io::Result<()> {
    spawn("signals".to_owned(), move || async move {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut terminate), Ok(mut interrupt)) =
            (signal(SignalKind::terminate()), signal(SignalKind::interrupt()))
        else {
            tracing::error!("signals cannot be watched; only kill -9 ends this process");
            return;
        };
        for is_first in [true, false] {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if !is_first {
                // 128 + SIGINT, as a shell shows an interrupted program.
                std::process::exit(130);
            }
            tracing::info!("stopping; a second signal ends the process at once");
            shutdown.cancel();
        }
    })
    .map(drop)
}

/// A thread with a single-threaded runtime.
fn spawn<F: Future<Output = ()>>(
    name: String,
    main: impl FnOnce() -> F + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let (made, is_made) = std::sync::mpsc::sync_channel(1);
    let thread = std::thread::Builder::new().name(name).spawn(move || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().event_interval(TASKS_OF_A_TURN).max_io_events_per_tick(READY_OF_A_TURN);
        let runtime = builder.build_local(LocalOptions::default());
        let (runtime, made_it) = match runtime {
            Ok(runtime) => (Some(runtime), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // Whoever receives waits for it below.
        let _ = made.send(made_it);
        if let Some(runtime) = runtime {
            runtime.block_on(main());
        }
    })?;
    // A thread that ends without a word has panicked, and whoever joins it is told.
    is_made.recv().unwrap_or(Ok(()))?;
    Ok(thread)
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let domain = socket2::Domain::for_address(address);
    let socket = socket2::Socket::new(domain, socket2::Type::STREAM, Some(socket2::Protocol::TCP))?;
    // A restart need not wait for the connections of the process before to be forgotten.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}

/// Accepts for ever; an error means that the listener is gone.
async fn accept_all(
    listener: TcpListener,
    shared: &Shared,
    workers: &[UnboundedSender<Accepted>],
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let config = &shared.config;
    let mut turn = workers.iter().cycle();
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                // The connection died in the queue, or the process is short of descriptors or memory: both pass.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_REST).await;
                continue;
            }
        };
        let peer = peer.ip().to_canonical();
        let client = shared.edge.limits.client(Who::Address(peer), shared.clock.now_ms());
        // Whose a proxy's connection is, the first head tells.
        let is_proxy = config.trusted_proxies.iter().any(|proxy| proxy.contains(peer));
        let place = Place::take(&shared.edge.open, config.max_connections)
            .filter(|place| is_proxy || place.give_to(&client, config.max_connections_per_ip));
        let Some(place) = place.map(Arc::new) else {
            tracing::debug!(%peer, "too many connections");
            continue;
        };
        // A socket that fails here has been closed by its client.
        let Ok(stream) = stream.set_nodelay(true).and_then(|()| stream.into_std()) else { continue };
        if let Some(worker) = turn.next() {
            // The receiver goes only at shutdown, and then the connection may go too.
            let _ = worker.send(Accepted { stream, peer, client, is_proxy, place });
        }
    }
}

/// Notes now and then when keys were last used and which streams renewed theirs.
async fn note_key_uses(shared: Arc<Shared>) {
    let mut times = tokio::time::interval(NOTE_KEY_USES);
    times.tick().await;
    loop {
        times.tick().await;
        let shared = shared.clone();
        // A panic there was reported by the thread's own hook.
        let _ = tokio::task::spawn_blocking(move || note_now(&shared)).await;
    }
}

fn note_now(shared: &Shared) {
    if let Err(error) = shared.edge.auth.keys.note_uses() {
        tracing::error!(%error, "uses of API keys could not be noted");
    }
    if let Err(error) = shared.edge.auth.listen_keys.note_activity(shared.clock.now_ms()) {
        tracing::error!(%error, "renewals of listen keys could not be noted");
    }
}

/// One worker thread.
async fn serve_all(
    make: MakeWorker,
    router: Arc<Router>,
    mut accepted: UnboundedReceiver<Accepted>,
    shutdown: CancellationToken,
) {
    let worker = Rc::new(make());
    let config = worker.config.clone();
    let watchdog = Watchdog::new(&config);
    let mut sweeps = tokio::time::interval(watchdog.period());
    sweeps.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let http = builder(&config);
    loop {
        tokio::select! {
            biased;
            () = shutdown.cancelled() => break,
            Some(connection) = accepted.recv() => serve(connection, &http, worker.clone(), router.clone(), &watchdog),
            _ = sweeps.tick() => watchdog.sweep(),
        }
    }
    drop(accepted);
    watchdog.ask_all(Asked::Drain);
    worker.sessions.close_all();
    let drained = async {
        while !watchdog.is_empty() || !worker.sessions.is_empty() {
            sweeps.tick().await;
            watchdog.sweep();
        }
    };
    if tokio::time::timeout(config.shutdown_timeout, drained).await.is_err() {
        tracing::warn!(connections = watchdog.len(), sockets = worker.sessions.len(), "cut at shutdown");
    }
}

fn builder(config: &Config) -> http1::Builder {
    let mut http = http1::Builder::new();
    // Heads that take too long are cut by the watchdog (`watch.rs` says why), so the library's own clock is off.
    http.header_read_timeout(None);
    http.max_buf_size(config.header_len_max.len());
    // A client that sends nothing any more is answered; the stream says when it has gone (`stream.rs`).
    http.half_close(true);
    // Left as they are, and right so: connections are kept between requests, heads have at most 100 headers (431), a header that cannot
    // be read refuses its request, each answer of a pipeline leaves as soon as it is there, answers are dated.
    http
}

/// Starts to serve a connection.
fn serve(
    accepted: Accepted,
    http: &http1::Builder,
    worker: Rc<Worker>,
    router: Arc<Router>,
    watchdog: &Rc<Watchdog>,
) {
    let Accepted { stream, peer, client, is_proxy, place } = accepted;
    let tcp = match TcpStream::from_std(stream) {
        Ok(tcp) => tcp,
        Err(error) => return tracing::warn!(%error, "a connection could not be registered"),
    };
    let watched = watchdog.watch();
    let watch = watched.entry.watch.clone();
    let connection = Rc::new(Connection {
        caller: Caller::new(worker),
        router,
        peer,
        client,
        watch: watch.clone(),
        place: place.clone(),
        is_proxy,
        is_last: Cell::new(false),
        shown: Cell::new(None),
    });
    let service = service_fn(move |request| respond(connection.clone(), request));
    let http = http.serve_connection(Stream::new(tcp, watch, place), service).with_upgrades();
    tokio::task::spawn_local(async move {
        let mut http = pin!(http);
        poll_fn(|context| {
            watched.entry.note(context.waker());
            Poll::Ready(())
        })
        .await;
        let watch = &*watched.entry.watch;
        let mut is_draining = false;
        let served = poll_fn(|context| match watch.asked() {
            Asked::Close => Poll::Ready(None),
            Asked::Drain if !is_draining => {
                is_draining = true;
                http.as_mut().graceful_shutdown();
                http.as_mut().poll(context).map(Some)
            }
            Asked::Drain | Asked::Nothing => http.as_mut().poll(context).map(Some),
        });
        match served.await {
            Some(Ok(())) => {}
            // Broken heads, resets, half requests: the client's affair.
            Some(Err(error)) => tracing::debug!(%peer, %error, "connection ended"),
            None => tracing::debug!(%peer, "connection timed out"),
        }
    });
}
