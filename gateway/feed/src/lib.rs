//! Publishers of prices of the outside, as `FeedPrice` commands, on one thread with a lane of its own.
//!
//! A feed reads one source in one way ([`fixed`], [`spot`], [`http`], [`websocket`]) and keeps only its newest price; a
//! publisher hands that over as a numbered command like any other, no faster than configured. A source that fails is
//! tried again, later each time. Nothing is made up meanwhile: a price that does not come is not repeated, so that the
//! engine, which knows each source's age, sees it go stale. What a price does to an index, and what weighs a source,
//! is decided by the engine.

mod connection;
mod fixed;
mod http;
pub mod price;
mod publisher;
pub mod quote;
pub mod registry;
mod spot;
mod websocket;

use publisher::Publisher;
use quote::Quotes;
use registry::{Entry, Feeds};
use ringside_commands::clock::Clock;
use ringside_commands::ingress::{Ingress, ReplyQueue, WorkerFigures};
use ringside_config::Config;
use ringside_config::feed::{Feed, FeedKind};
use ringside_core::money::Price;
use ringside_outbound::OutboundFault;
use ringside_outbound::tls::Trust;
use ringside_outbound::url::Url;
use ringside_views::SharedViews;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long anything at a source's end may take before it counts as failed.
const PATIENCE: Duration = Duration::from_secs(5);
/// First and longest time between two attempts at a source that fails.
const RETRY: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(30));
/// Longest message or answer of a source, in bytes.
const MESSAGE_LEN_MAX: usize = 1 << 20;

/// Who is shown each message with a price.
type Tell<'a> = &'a dyn Fn(&str, Price);

/// Where a feed leaves its newest price: whoever reads it sees no older one.
type Newest = watch::Sender<Option<Price>>;

/// Where a source of the outside is.
struct Place<'a> {
    url: &'a Url,
    is_encrypted: bool,
    /// Authorities beside those that this host trusts.
    authorities: Option<&'a Path>,
}

impl Place<'_> {
    /// Who may say that the source is who it is.
    fn trust(&self) -> Result<Trust, FeedError> {
        let trust = match self.authorities {
            _ if !self.is_encrypted => Trust::nobody(),
            Some(file) => Trust::of_host_and(file),
            None => Trust::of_host(),
        };
        trust.map_err(|reason| FeedError::Connect(io::Error::other(reason)))
    }
}

/// Why a source was given up for now.
#[derive(Debug, thiserror::Error)]
enum FeedError {
    #[error("cannot connect: {0}")]
    Connect(io::Error),
    #[error("nothing came for too long")]
    Silent,
    #[error(transparent)]
    Outbound(#[from] OutboundFault),
    #[error("the answer cannot be read: {0}")]
    Body(String),
    #[error("no price in the answer")]
    NoPrice,
    #[error(transparent)]
    WebSocket(#[from] Box<tokio_tungstenite::tungstenite::Error>),
    #[error("the stream ended")]
    Ended,
}

/// What the thread of the feeds has of the process.
#[derive(Clone)]
pub struct Context {
    /// Settings of the process.
    pub config: Arc<Config>,
    /// The wall clock.
    pub clock: Clock,
    /// Everything that can be read.
    pub views: Arc<SharedViews>,
    /// The thread's way in. Its lane must be attached.
    pub port: Arc<ReplyQueue>,
    /// What the thread counts.
    pub figures: Arc<WorkerFigures>,
    /// What outside sources last said.
    pub quotes: Arc<Quotes>,
    /// Which feeds there are.
    pub feeds: Arc<Feeds>,
}

/// Starts the thread of all feeds, which follows what is added, changed and taken away. It ends with `shutdown`.
pub fn start(context: Context, shutdown: CancellationToken) -> io::Result<JoinHandle<()>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    std::thread::Builder::new().name("feed".to_owned()).spawn(move || {
        let tasks = tokio::task::LocalSet::new();
        let Context { clock, port, figures, .. } = context.clone();
        let ingress = Ingress::measured(port, clock, figures);
        tasks.spawn_local(ingress.clone().run());
        tasks.spawn_local(keep(context, ingress));
        tasks.block_on(&runtime, shutdown.cancelled());
    })
}

/// Has exactly the feeds run that there are.
async fn keep(context: Context, ingress: Ingress) {
    let mut list = context.feeds.follow();
    let mut running: Vec<(Feed, JoinSet<()>)> = Vec::new();
    loop {
        let wanted = list.borrow_and_update().clone();
        // Those that are gone, or are another now, end with their tasks.
        running.retain(|(feed, _)| wanted.iter().any(|entry| entry.feed == *feed));
        for Entry { feed, .. } in wanted.iter() {
            if running.iter().any(|(other, _)| other == feed) {
                continue;
            }
            let (newest, published) = watch::channel(None);
            let publisher = Publisher::new(feed, ingress.clone(), context.views.clone(), published);
            let mut tasks = JoinSet::new();
            tasks.spawn_local(publisher.run());
            tasks.spawn_local(read(feed.clone(), context.clone(), newest));
            running.push((feed.clone(), tasks));
        }
        if list.changed().await.is_err() {
            return;
        }
    }
}

/// Reads a source for ever.
async fn read(feed: Feed, context: Context, newest: Newest) {
    let Context { config, clock, views, quotes, .. } = context;
    let authorities = config.feed_authorities.as_deref();
    let mut attempts = Attempts::new();
    let tell = |json: &str, price: Price| quotes.put(&feed, json, price, clock.now_ms());
    loop {
        let outcome = match &feed.kind {
            FeedKind::Fixed { price } => fixed::run(*price, feed.every, &newest).await,
            FeedKind::Spot { market, notional } => {
                spot::run(&views, market, *notional, feed.every, &newest).await
            }
            FeedKind::Http { url, is_encrypted, price, .. } => {
                let place = Place { url, is_encrypted: *is_encrypted, authorities };
                http::run(&place, price, feed.every, &newest, &tell).await
            }
            FeedKind::WebSocket { url, is_encrypted, send, price, .. } => {
                let place = Place { url, is_encrypted: *is_encrypted, authorities };
                websocket::run(&place, send, price, &newest, &tell).await
            }
        };
        let Err(error) = outcome;
        let pause = attempts.next(newest.borrow().is_some());
        tracing::warn!(%feed, %error, pause_ms = pause.as_millis() as u64, "a price feed has failed");
        newest.send_replace(None);
        tokio::time::sleep(pause).await;
    }
}

/// The pauses between attempts: each twice the one before, from the first again once a price came.
struct Attempts {
    pause: Duration,
}

impl Attempts {
    fn new() -> Attempts {
        Attempts { pause: RETRY.0 }
    }

    /// The pause before the next attempt; `delivered` says whether the last one had a price.
    fn next(&mut self, delivered: bool) -> Duration {
        if delivered {
            self.pause = RETRY.0;
        }
        let pause = self.pause;
        self.pause = (pause * 2).min(RETRY.1);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_fails_is_asked_less_often() {
        let mut attempts = Attempts::new();
        let pauses: Vec<u128> = (0..9).map(|_| attempts.next(false).as_millis()).collect();
        assert_eq!(pauses, [250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
        assert_eq!(attempts.next(true).as_millis(), 250, "it had a price");
        assert_eq!(attempts.next(false).as_millis(), 500);
    }
}
