//! Frames to many WebSocket subscribers: the way from the engine's events to the sockets (views folded, pushes noted,
//! numbered, encoded once, dealt out), beside a bare tokio-tungstenite broadcast of the same bytes, interleaved in one run.
//!
//! ```text
//! engine events -> views + pusher -> worker thread: registry, sessions -> 1, 100, 1,000 sockets -> one reading thread
//! frames of before ---------------> bare thread: tokio broadcast --> as many sockets -------> the same reading thread
//! ```
//! Then, through the whole exchange as a process of its own: how long after the answer to a trade's REST request its push is
//! read from a subscribed socket, by one client thread that waits for both. Below zero: the push was there first.
//!
//! Both are fed in stretches of [`STRETCH`] commands, no further ahead of the slowest reader than a queue holds, so nothing
//! is lost; a run that loses a byte prints nothing but that.
#![allow(clippy::print_stdout)]

use anyhow::{Result, ensure};
use clap::Parser;
use futures_util::{SinkExt, StreamExt};
use ringside_auth::Authenticator;
use ringside_auth::credential_log::{CredentialLog, HeldCredentials};
use ringside_bench::report::{self, ForeignLoad, bar};
use ringside_bench::workload::{Shape, Stamper, Workload};
use ringside_commands::clock::Clock;
use ringside_commands::ingress::EngineState;
use ringside_config::Config;
use ringside_core::event::{self, Event};
use ringside_core::side::SideStore;
use ringside_core::{Engine, EngineConfig};
use ringside_edge::server::router::Router;
use ringside_edge::server::{MakeWorker, Server};
use ringside_edge::worker::edge::Edge;
use ringside_edge::worker::{Shared, Worker};
use ringside_egress::{CommandEvents, Listener};
use ringside_gateway::routes::ROUTES;
use ringside_load as load;
use ringside_load::api::{self, MarketText};
use ringside_load::connection::Connection;
use ringside_load::server::ServerOptions;
use ringside_load::wallet::Wallet;
use ringside_streams::pusher::Pusher;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, accept_async, client_async};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Commands between two looks at the readers.
const STRETCH: usize = 32;
/// Frames that may be ahead of the slowest reader: less than a session's queue holds.
const AHEAD: u64 = 192;
const SUBSCRIBE: &str = r#"{"type":"subscribe","channel":"spot:depth:BENCH"}"#;
const SEED: u64 = 11;

/// Frames to many subscribers beside a bare broadcast.
#[derive(Parser)]
struct Arguments {
    /// Counts of subscribers.
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000")]
    subscribers: Vec<usize>,
    /// Frames written to all sockets together in one repetition.
    #[arg(long, default_value_t = 1_000_000)]
    frames: usize,
    /// Repetitions of each.
    #[arg(long, default_value_t = 5)]
    repetitions: usize,
    /// Trades of which the delay from answer to push is measured; 0 for none.
    #[arg(long, default_value_t = 3_000)]
    trades: usize,
    /// The server program of that part, if not `ringside` beside this one.
    #[arg(long)]
    server: Option<PathBuf>,
    #[command(flatten)]
    report: report::Arguments,
}

/// What the readers of one repetition have taken, each on its own.
type Seen = Arc<Vec<AtomicU64>>;

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let mut missed = 0;
    let load = ForeignLoad::start();
    let mut text = report::heading(env!("CARGO_PKG_NAME"));
    writeln!(text, "| subscribers | ours, frames/s | bare, frames/s | ours / bare |\n|---|---|---|---|")?;
    for &count in &arguments.subscribers {
        let diffs = (arguments.frames / count).clamp(1_000, 200_000);
        let commands = commands_of(diffs);
        let (mut ours, mut bare, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..arguments.repetitions {
            let (own_rate, frames) = run_ours(count, &commands)?;
            let bare_rate = run_bare(count, frames)?;
            ours.push(own_rate);
            bare.push(bare_rate);
            ratios.push(own_rate / bare_rate);
        }
        let ratio = report::median(&ratios);
        writeln!(
            text,
            "| {count} | {:.0} | {:.0} | {ratio:.2} |",
            report::median(&ours),
            report::median(&bare)
        )?;
        let (is_met, line) = bar(&format!("frames to {count} beside a bare broadcast"), ratio, 0.7, false);
        writeln!(text, "{line}")?;
        missed += usize::from(!is_met);
    }
    for acknowledge in ["durable", "written"].into_iter().filter(|_| arguments.trades > 0) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let delays = tokio::task::LocalSet::new().block_on(&runtime, delays(&arguments, acknowledge))?;
        let at = |quantile: f64| delays[((delays.len() - 1) as f64 * quantile) as usize];
        writeln!(
            text,
            "from answer to push, acknowledging {acknowledge}: p50 {} us, p99 {} us, most {} us ({} trades)",
            at(0.5),
            at(0.99),
            at(1.0),
            delays.len()
        )?;
    }
    writeln!(text, "other processes used {:.1} % of the machine", load.percent())?;
    Ok(arguments.report.conclude("fanout", &text, missed > 0)?)
}

/// Events of commands that each change the book, one list per command, behind those that set the market up.
struct Commands {
    setup: Vec<Vec<Event>>,
    measured: Vec<Vec<Event>>,
}

fn commands_of(diffs: usize) -> Commands {
    let mut workload = Workload::generate(&Shape::a(64), 2 * diffs, SEED);
    workload.own_by_side(SEED);
    let mut engine = Engine::new(&EngineConfig::default());
    let mut stamper = Stamper::after(0);
    let mut apply = |command| {
        let mut events = Vec::new();
        engine.apply(&stamper.stamp(command), &mut events);
        events
    };
    let setup = workload.setup().chain(workload.preload.iter().map(|op| workload.command(op)));
    let setup = setup.collect::<Vec<_>>().into_iter().map(&mut apply).collect();
    let has_diff = |events: &Vec<Event>| events.iter().any(|event| event.get::<event::Depth>().is_some());
    let measured: Vec<_> = workload.ops.iter().map(|op| apply(workload.command(op))).collect();
    // Refusals stay in between: they are part of what egress sees.
    let mut left = diffs;
    let measured = measured
        .into_iter()
        .take_while(|events| {
            let is_needed = left > 0;
            left = left.saturating_sub(usize::from(has_diff(events)));
            is_needed
        })
        .collect();
    Commands { setup, measured }
}

/// Our way: frames per second over all sockets, and the frames as the first of them got them.
fn run_ours(count: usize, commands: &Commands) -> Result<(f64, Vec<Utf8Bytes>)> {
    let folder = std::env::temp_dir().join(format!("ringside-fanout-{}", std::process::id()));
    let config = Arc::new(Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        data_dir: folder.clone(),
        max_connections_per_ip: 10_000,
        weight_per_minute: u32::MAX,
        ..Config::default()
    });
    let kept: Arc<dyn CredentialLog> = Arc::new(HeldCredentials::default());
    let (auth, _) = Authenticator::open(&config.auth(), &SideStore::default(), &kept)?;
    let edge = Edge::new(&config, auth, Default::default());
    let shared = Arc::new(Shared::new(config, Clock::SYSTEM, edge, 1));
    let make: MakeWorker = Box::new({
        let shared = shared.clone();
        move || {
            let worker = Worker::new(shared, 0);
            tokio::task::spawn_local(worker.ingress.clone().run());
            tokio::task::spawn_local(worker.sessions.clone().run());
            worker
        }
    });
    let server = Server::start(shared.clone(), Arc::new(Router::new(ROUTES)?), vec![make])?;
    shared.views.write(|views| commands.setup.iter().flatten().for_each(|event| views.fold(event)));
    shared.phase.set(EngineState::Running);
    let mut pusher = Pusher::new(shared.registry.clone(), &shared.views.read());
    let readers = Readers::start(server.address(), count, Some(SUBSCRIBE))?;
    let (begin, mut sent) = (Instant::now(), 0);
    for stretch in commands.measured.chunks(STRETCH) {
        shared.views.write(|views| {
            for events in stretch {
                events.iter().for_each(|event| views.fold(event));
                pusher.command(CommandEvents::new(events), views);
                sent += u64::from(events.iter().any(|event| event.get::<event::Depth>().is_some()));
            }
        });
        pusher.flush();
        readers.wait_until(sent.saturating_sub(AHEAD))?;
    }
    readers.wait_until(sent)?;
    let rate = sent as f64 * count as f64 / begin.elapsed().as_secs_f64();
    let frames = readers.stop()?;
    server.stop();
    server.join().map_err(anyhow::Error::msg)?;
    std::fs::remove_dir_all(folder)?;
    Ok((rate, frames))
}

/// The least that the library can do: every socket's task feeds what is there and flushes once.
fn run_bare(count: usize, frames: Vec<Utf8Bytes>) -> Result<f64> {
    let (sender, _) = broadcast::channel::<Utf8Bytes>(1_024);
    let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let (opened, subscribing) = (Arc::new(AtomicU64::new(0)), sender.clone());
    let counting = opened.clone();
    std::thread::spawn(move || -> Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        tokio::task::LocalSet::new().block_on(&runtime, async move {
            let listener = TcpListener::from_std(listener)?;
            for _ in 0..count {
                let (stream, _) = listener.accept().await?;
                stream.set_nodelay(true)?;
                let mut receiver = subscribing.subscribe();
                let socket = accept_async(stream).await?;
                counting.fetch_add(1, Ordering::Release);
                tokio::task::spawn_local(async move { broadcast_to(socket, &mut receiver).await });
            }
            drop(subscribing);
            std::future::pending::<Result<()>>().await
        })
    });
    let readers = Readers::start(address, count, None)?;
    while opened.load(Ordering::Acquire) < count as u64 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (begin, mut sent) = (Instant::now(), 0);
    for stretch in frames.chunks(STRETCH) {
        for frame in stretch {
            sender.send(frame.clone())?;
        }
        sent += stretch.len() as u64;
        readers.wait_until(sent.saturating_sub(AHEAD))?;
    }
    readers.wait_until(sent)?;
    let rate = sent as f64 * count as f64 / begin.elapsed().as_secs_f64();
    ensure!(readers.stop()? == frames, "the bare broadcast sent other bytes");
    Ok(rate)
}

async fn broadcast_to(mut socket: WebSocketStream<TcpStream>, receiver: &mut broadcast::Receiver<Utf8Bytes>) {
    while let Ok(frame) = receiver.recv().await {
        let mut next = Some(frame);
        while let Some(frame) = next {
            if socket.feed(Message::Text(frame)).await.is_err() {
                return;
            }
            next = receiver.try_recv().ok();
        }
        if socket.flush().await.is_err() {
            return;
        }
    }
}

/// Microseconds from the answer to a taking order to the push of its trade, ascending.
async fn delays(arguments: &Arguments, acknowledge: &str) -> Result<Vec<i64>> {
    let settings = vec![("acknowledge".to_owned(), acknowledge.to_owned())];
    let options = ServerOptions { program: arguments.server.clone(), folder: None, settings };
    let exchange = load::server::Server::start(&options).await?;
    let mut connection = Connection::open(exchange.address).await?;
    let market = MarketText {
        symbol: "FANOUT".to_owned(),
        tick_size: "0.01".to_owned(),
        lot_size: "1".to_owned(),
        min_notional: "0.01".to_owned(),
        maker_fee_bps: 0,
        taker_fee_bps: 0,
    };
    api::list_market(&mut connection, &exchange.admin_key, &market).await?;
    let mut orders = Vec::new();
    for (index, side) in ["sell", "buy"].into_iter().enumerate() {
        let wallet = Wallet::from_seed(SEED, index as u32);
        let token = api::login(&mut connection, &wallet).await?;
        let key = api::key_header(&api::create_api_key(&mut connection, &token).await?);
        for token in [api::BASE_TOKEN, api::QUOTE_TOKEN] {
            api::credit(&mut connection, &exchange.admin_key, &wallet, token, "1000000").await?;
        }
        let body =
            format!(r#"{{"symbol":"FANOUT","side":"{side}","type":"limit","price":"1","quantity":"1"}}"#);
        orders.push(api::request("POST", "/spot/orders", &key, Some(&body)));
    }
    let stream = TcpStream::connect(exchange.address).await?;
    stream.set_nodelay(true)?;
    let (mut socket, _) = client_async("ws://ringside/ws", stream).await?;
    socket.send(Message::text(r#"{"type":"subscribe","channel":"spot:trade:FANOUT"}"#)).await?;
    socket.next().await.ok_or_else(|| anyhow::anyhow!("closed"))??;
    let mut delays = Vec::with_capacity(arguments.trades);
    for _ in 0..arguments.trades {
        // Whichever side rests; the other one trades.
        ensure!(connection.call(&orders[0]).await?.status == 200, "an order was refused");
        let acknowledged = async {
            let status = connection.call(&orders[1]).await?.status;
            ensure!(status == 200, "an order was refused");
            Ok(Instant::now())
        };
        let pushed = async {
            let frame = socket.next().await.ok_or_else(|| anyhow::anyhow!("closed"))??;
            ensure!(frame.to_text()?.starts_with(r#"{"type":"spot_trade""#), "{frame}");
            Ok(Instant::now())
        };
        let (acknowledged, pushed) = tokio::try_join!(acknowledged, pushed)?;
        let micros = |duration: Duration| duration.as_micros() as i64;
        delays.push(
            micros(pushed.saturating_duration_since(acknowledged))
                - micros(acknowledged.saturating_duration_since(pushed)),
        );
    }
    delays.sort_unstable();
    Ok(delays)
}

/// One thread that reads all sockets and counts their frames.
struct Readers {
    seen: Seen,
    stop: tokio::sync::watch::Sender<bool>,
    thread: std::thread::JoinHandle<Result<Vec<Utf8Bytes>>>,
}

impl Readers {
    fn start(address: SocketAddr, count: usize, subscribe: Option<&'static str>) -> Result<Readers> {
        let seen: Seen = Arc::new((0..count).map(|_| AtomicU64::new(0)).collect());
        let (stop, stopped) = tokio::sync::watch::channel(false);
        let (ready, is_ready) = std::sync::mpsc::channel();
        let counts = seen.clone();
        let thread = std::thread::spawn(move || -> Result<Vec<Utf8Bytes>> {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            tokio::task::LocalSet::new().block_on(&runtime, async move {
                let mut tasks = Vec::new();
                for index in 0..counts.len() {
                    let stream = TcpStream::connect(address).await?;
                    let (mut socket, _) = client_async("ws://ringside/ws", stream).await?;
                    if let Some(subscribe) = subscribe {
                        socket.send(Message::text(subscribe)).await?;
                        // The acknowledgement and the snapshot.
                        for _ in 0..2 {
                            socket.next().await.ok_or_else(|| anyhow::anyhow!("closed"))??;
                        }
                    }
                    let (counts, mut stopped) = (counts.clone(), stopped.clone());
                    tasks.push(tokio::task::spawn_local(async move {
                        let mut kept = Vec::new();
                        loop {
                            tokio::select! {
                                biased;
                                frame = socket.next() => match frame {
                                    Some(Ok(Message::Text(text))) => {
                                        counts[index].fetch_add(1, Ordering::Release);
                                        if index == 0 {
                                            kept.push(text);
                                        }
                                    }
                                    Some(Ok(_)) => {}
                                    _ => break,
                                },
                                _ = stopped.changed() => break,
                            }
                        }
                        kept
                    }));
                }
                let _ = ready.send(());
                let mut kept = Vec::new();
                for task in tasks {
                    kept.append(&mut task.await?);
                }
                Ok(kept)
            })
        });
        if is_ready.recv().is_err() {
            let outcome = thread.join().map_err(|_| anyhow::anyhow!("the readers panicked"))?;
            return Err(outcome.err().unwrap_or_else(|| anyhow::anyhow!("the readers ended")));
        }
        Ok(Readers { seen, stop, thread })
    }

    /// Waits until every reader has so many frames.
    fn wait_until(&self, frames: u64) -> Result<()> {
        let begin = Instant::now();
        for seen in self.seen.iter() {
            while seen.load(Ordering::Acquire) < frames {
                ensure!(begin.elapsed() < Duration::from_secs(30), "a frame was lost");
                std::thread::yield_now();
            }
        }
        Ok(())
    }

    /// Ends the sockets; the frames of the first.
    fn stop(self) -> Result<Vec<Utf8Bytes>> {
        let _ = self.stop.send(true);
        self.thread.join().map_err(|_| anyhow::anyhow!("the readers panicked"))?
    }
}
