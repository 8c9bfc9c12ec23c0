//! What handlers share: one [`Shared`] for the process, one [`Worker`] for each thread.

pub mod adl_ranking;
pub mod alone;
pub mod approvals;
pub mod cluster;
pub mod edge;
pub mod idempotency_cache;

use crate::metrics::Metrics;
use adl_ranking::Ranks;
use edge::Edge;
use idempotency_cache::IdempotencyCache;
use parking_lot::RwLock;
use ringside_auth::Accounts;
use ringside_chain::proof::Proofs;
use ringside_chain::sink::SeenEvents;
use ringside_chain::withdrawal_signing::SigningQueue;
use ringside_commands::clock::{Agreement, Clock};
use ringside_commands::ingress::{EngineState, Ingress, ReplyQueue, SharedEngineState, WorkerFigures};
use ringside_config::Config;
use ringside_core::gate::Gate;
use ringside_core::ids::{AccountId, Address, Sequence};
use ringside_feed::quote::Quotes;
use ringside_feed::registry::Feeds;
use ringside_streams::registry::SubscriptionRegistry;
use ringside_streams::sessions::Sessions;
use ringside_views::archive::History;
use ringside_views::{MarketReader, SharedViews};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What all worker threads share.
pub struct Shared {
    /// Settings of the process.
    pub config: Arc<Config>,
    /// The wall clock.
    pub clock: Clock,
    /// How far that is from engine time.
    pub agreement: Arc<Agreement>,
    /// What judges requests before a handler sees them.
    pub edge: Edge,
    /// Whether commands are taken.
    pub phase: Arc<SharedEngineState>,
    /// What is agreed on by the members of a cluster, where this one leads.
    pub agreed: RwLock<Option<Arc<Gate>>>,
    /// Everything that can be read.
    pub views: Arc<SharedViews>,
    /// What has happened, in the views and in the archive.
    pub history: History,
    /// The way in of each worker, by its index.
    pub ports: Vec<Arc<ReplyQueue>>,
    /// The way in of the thread that reads price feeds.
    pub feed_port: Arc<ReplyQueue>,
    /// What the deployment says of its chain.
    pub chain: Arc<ringside_chain::Settings>,
    /// The way in of the thread that speaks with the chain.
    pub chain_port: Arc<ReplyQueue>,
    /// Where releases are signed.
    pub desk: Arc<SigningQueue>,
    /// What is on the chain and not final yet.
    pub seen: Arc<SeenEvents>,
    /// Proofs of reserves.
    pub proofs: Arc<Proofs>,
    /// Who wants which pushes, and the way of pushes to each worker.
    pub registry: Arc<SubscriptionRegistry>,
    /// Number of the last connection.
    sessions: AtomicU64,
    /// Idempotency keys that the engine does not know of.
    pub idempotency_cache: IdempotencyCache,
    /// Places in the auto-deleveraging order.
    pub ranks: Ranks,
    /// The cluster that this host is a member of.
    pub cluster: OnceLock<Arc<cluster::Control>>,
    /// What outside sources last said.
    pub quotes: Arc<Quotes>,
    /// Which feeds there are.
    pub feeds: Arc<Feeds>,
    /// Held while a market's draft is collected and applied: the engine keeps one.
    pub drafts: tokio::sync::Mutex<()>,
    /// What is counted.
    pub metrics: Metrics,
    /// Referral records of the last seconds.
    pub referrals: ringside_chain::referral::Kept,
}

impl Accounts for Shared {
    fn is_of(&self, account: AccountId, address: &Address) -> Option<bool> {
        match self.phase.get() {
            EngineState::Running | EngineState::Halted | EngineState::Mirror | EngineState::Carrying => {
                Some(self.views.read().accounts().address(account) == Some(address))
            }
            EngineState::Restarting | EngineState::Disabled => None,
        }
    }
}

impl Shared {
    /// For `workers` threads, before recovery: views are empty and every port waits for its lane.
    pub fn new(config: Arc<Config>, clock: Clock, edge: Edge, workers: usize) -> Shared {
        let phase = Arc::new(SharedEngineState::new(EngineState::Restarting));
        let ports = (0..workers).map(|_| Arc::new(ReplyQueue::new(phase.clone()))).collect();
        let feed_port = Arc::new(ReplyQueue::new(phase.clone()));
        let chain_port = Arc::new(ReplyQueue::new(phase.clone()));
        let (desk, seen) = (Arc::<SigningQueue>::default(), Arc::<SeenEvents>::default());
        let (views, idempotency_cache) = (Arc::<SharedViews>::default(), IdempotencyCache::default());
        let history = History::new(views.clone());
        let chain = Arc::new(config.chain());
        let proofs = Arc::new(Proofs::new(chain.chain_id, chain.vault, config.proof_every));
        let registry = Arc::new(SubscriptionRegistry::new(workers, clock.clone()));
        let feeds = Arc::new(Feeds::new(&config));
        // Nanoseconds are far ahead of any count of connections, so no number is given twice, in another life either.
        let sessions = AtomicU64::new(clock.now_ns().unsigned_abs());
        let (ranks, quotes, metrics) = (Ranks::default(), Arc::<Quotes>::default(), Metrics::new(workers));
        Shared {
            config,
            clock,
            agreement: Arc::default(),
            edge,
            phase,
            agreed: RwLock::default(),
            views,
            history,
            ports,
            feed_port,
            chain_port,
            chain,
            desk,
            seen,
            proofs,
            registry,
            sessions,
            idempotency_cache,
            ranks,
            cluster: OnceLock::new(),
            quotes,
            feeds,
            drafts: tokio::sync::Mutex::new(()),
            metrics,
            referrals: ringside_chain::referral::Kept::default(),
        }
    }

    /// A number for a connection, which no other has had.
    pub fn next_session(&self) -> u64 {
        self.sessions.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The views show what was recovered, and requests are taken from here on.
    pub fn begin(&self) {
        if let Some(seen) = &self.edge.auth.seen {
            let told_ms = self.views.read().time_ns().div_euclid(1_000_000);
            seen.begin(self.clock.now_ms().max(told_ms));
        }
        self.phase.set(EngineState::Running);
    }

    /// On a mirror, and on a member of a cluster that leads: the last command that the views show.
    pub fn shown(&self) -> Option<Sequence> {
        let is_one_of_several = match self.phase.get() {
            EngineState::Mirror | EngineState::Carrying => true,
            EngineState::Running => self.config.cluster_member.is_some(),
            EngineState::Disabled | EngineState::Restarting | EngineState::Halted => false,
        };
        is_one_of_several.then(|| self.views.read().sequence())
    }

    /// What the thread of the chain has of it.
    pub fn for_chain(&self) -> ringside_chain::thread::Context {
        ringside_chain::thread::Context {
            settings: self.chain.clone(),
            views: self.views.clone(),
            port: self.chain_port.clone(),
            desk: self.desk.clone(),
            seen: self.seen.clone(),
            proofs: self.proofs.clone(),
        }
    }

    /// What the thread of the feeds has of it.
    pub fn for_feeds(&self) -> ringside_feed::Context {
        ringside_feed::Context {
            config: self.config.clone(),
            clock: self.clock.clone(),
            views: self.views.clone(),
            port: self.feed_port.clone(),
            figures: self.metrics.feed.clone(),
            quotes: self.quotes.clone(),
            feeds: self.feeds.clone(),
        }
    }
}

/// The context of one worker thread; handlers reach it through a call.
pub struct Worker {
    /// What all workers share.
    pub shared: Arc<Shared>,
    /// Settings of the process.
    pub config: Arc<Config>,
    /// The wall clock.
    pub clock: Clock,
    /// The way to the engine. Whoever runs the thread must spawn [`Ingress::run`] of a clone of it.
    pub ingress: Ingress,
    /// The sessions of this thread. Whoever runs the thread must spawn [`Sessions::run`] of a clone of it.
    pub sessions: Sessions,
    /// Markets without a lock.
    pub markets: MarketReader,
    /// What this thread counts.
    pub figures: Arc<WorkerFigures>,
    /// The contract of referral records, where the deployment has one.
    pub referrals: Option<ringside_chain::referral::Reader>,
    /// Contracts of tokens, where there is a node to ask.
    pub tokens: Option<ringside_chain::token::TokenReader>,
}

impl Worker {
    /// The context of the calling thread, which is the worker of that index.
    pub fn new(shared: Arc<Shared>, index: usize) -> Worker {
        let figures = shared.metrics.workers[index].clone();
        let port = shared.ports[index].clone();
        Worker {
            config: shared.config.clone(),
            clock: shared.clock.clone(),
            ingress: Ingress::measured(port, shared.clock.clone(), figures.clone()),
            sessions: Sessions::new(shared.registry.clone(), index, shared.clock.clone()),
            markets: MarketReader::new(shared.views.clone()),
            referrals: ringside_chain::parts::referrals(&shared.chain),
            tokens: ringside_chain::parts::tokens(&shared.chain),
            figures,
            shared,
        }
    }
}
