//! Connections between the members of a cluster: each connects to every other for what it says there, and hears the others on
//! connections of theirs.

mod connection;
mod files;
mod line;

use crate::keys::{Fingerprint, Identity};
use crate::stream::BEAT;
use crate::tls;
use connection::speak;
pub use files::{Give, Given, Wanted, fetch};
use ringside_persist::quorum::Message;
pub use ringside_persist::quorum::divergence::Saying;
pub use ringside_persist::quorum::frame::{Agreement, Orders};
use ringside_persist::quorum::frame::{HEAD_LEN, len_of};
use ringside_persist::quorum::members::Member as AgreedMember;
use ringside_persist::turns;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_rustls::{TlsAcceptor, TlsConnector};
use tokio_util::sync::CancellationToken;

/// Incoming connections at once, most of which have shown no key yet.
const CONNECTIONS: usize = 64;
/// Most bytes that wait for one member.
const QUEUE_MAX: usize = 64 << 20;
/// Why a member is not connected that is [`Mesh::cut`].
const CUT: &str = "it is cut off";
/// Why one is not that is no member any more.
const GONE: &str = "it is no member any more";
/// The setting that names the keys.
const SETTING: &str = "cluster_members";

/// One host of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its number, from 1 on.
    pub id: u64,
    /// Host and port at which it listens for the others.
    pub address: String,
    /// By which the others know it.
    pub key: Fingerprint,
}

impl Member {
    /// As the journal names it, with a vote.
    pub fn as_agreed(&self) -> (u64, AgreedMember) {
        let (address, key) = (self.address.clone(), self.key.bytes());
        (self.id, AgreedMember { address, key, is_voter: true })
    }

    /// One that the journal names.
    pub fn of(id: u64, agreed: &AgreedMember) -> Member {
        Member { id, address: agreed.address.clone(), key: Fingerprint::of_bytes(agreed.key) }
    }
}

/// Another member, as this one sees it.
struct Peer {
    member: Member,
    queue: Mutex<Queue>,
    filled: Notify,
    /// How often it was connected.
    opened: AtomicU64,
    is_cut: watch::Sender<bool>,
    /// How many connections of it were let in: the last is the one that is heard.
    heard: watch::Sender<u64>,
    /// It is no member any more.
    gone: CancellationToken,
}

/// One who was not connected to before, and how.
type Newcomer = (Arc<Peer>, TlsConnector);

/// What is said to a member.
enum Said {
    Message(Message),
    Orders(Orders),
    Saying(Saying),
}

impl Said {
    fn len(&self) -> usize {
        match self {
            Said::Message(message) => len_of(message),
            Said::Orders(orders) => HEAD_LEN + size_of_val(&orders.commands[..]),
            Said::Saying(_) => HEAD_LEN,
        }
    }
}

/// What waits for a member.
#[derive(Default)]
struct Queue {
    messages: VecDeque<Said>,
    bytes: usize,
    /// Whether it is connected: what is queued is on its way.
    is_open: bool,
    /// Why it is not.
    reason: Option<String>,
}

impl Peer {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_cut(&self) -> bool {
        *self.is_cut.borrow()
    }

    fn put(&self, said: Said) -> bool {
        let len = said.len();
        let mut queue = self.queue();
        if !queue.is_open || queue.bytes + len > QUEUE_MAX {
            return false;
        }
        queue.bytes += len;
        queue.messages.push_back(said);
        drop(queue);
        self.filled.notify_one();
        true
    }

    fn next(&self) -> Option<Said> {
        let mut queue = self.queue();
        let said = queue.messages.pop_front()?;
        queue.bytes -= said.len();
        Some(said)
    }

    /// From now on it takes messages, unless it was cut off meanwhile.
    fn open(&self) {
        let mut queue = self.queue();
        queue.is_open = !self.is_cut();
        queue.reason = None;
        self.opened.fetch_add(1, Ordering::Relaxed);
    }

    fn is_open(&self) -> bool {
        self.queue().is_open
    }

    /// From now on it takes none, and none waits. Gives whether it took them, and whether the reason is another than before.
    fn close(&self, reason: String) -> (bool, bool) {
        let mut queue = self.queue();
        let is_new = queue.reason.as_ref() != Some(&reason);
        let was_open = queue.is_open;
        *queue = Queue { reason: Some(reason), ..Queue::default() };
        (was_open, is_new)
    }
}

/// What all connections share.
struct Own {
    me: u64,
    key: Fingerprint,
    agreement: Agreement,
    peers: RwLock<Vec<Arc<Peer>>>,
    identity: Identity,
    /// Lets in whoever is a member now.
    acceptor: RwLock<TlsAcceptor>,
    hear: Hear,
}

impl Own {
    fn peers(&self) -> Vec<Arc<Peer>> {
        self.peers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What is done with what others say.
pub struct Hear {
    /// With a message: on the one thread that carries all of this, it must not wait.
    pub deliver: Box<dyn Fn(Message) + Send + Sync>,
    /// With orders of a member: the same.
    pub orders: Box<dyn Fn(u64, Orders) + Send + Sync>,
    /// With what a member says of a sum: the same.
    pub sayings: Box<dyn Fn(u64, Saying) + Send + Sync>,
    /// With one who wants the files: on a thread where it may wait.
    pub give: Arc<Give>,
}

/// This member's connections.
pub struct Mesh {
    own: Arc<Own>,
    address: SocketAddr,
    newcomers: UnboundedSender<Newcomer>,
    thread: JoinHandle<()>,
}

impl Mesh {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a message to the member that it names; gives whether it was taken. It never waits: what has no connection or no room is
    /// dropped, as is what waits when its connection ends, and raft sends again.
    pub fn send(&self, message: Message) -> bool {
        self.peer(message.to).is_some_and(|peer| peer.put(Said::Message(message)))
    }

    /// Sends orders to the member of this number, [`frame::ORDERS_MAX`](ringside_persist::quorum::frame::ORDERS_MAX) at most; the same is
    /// true of them, but that they are sent again by whoever took them.
    pub fn carry(&self, to: u64, orders: Orders) -> bool {
        self.peer(to).is_some_and(|peer| peer.put(Said::Orders(orders)))
    }

    /// Says to all others what this member's engine told: where it is lost it has to be said again.
    pub fn say(&self, saying: Saying) {
        for peer in self.own.peers() {
            peer.put(Said::Saying(saying));
        }
    }

    /// How often a member was connected: what was sent before may be lost.
    pub fn connections(&self, id: u64) -> u64 {
        self.peer(id).map_or(0, |peer| peer.opened.load(Ordering::Relaxed))
    }

    /// All other members.
    pub fn members(&self) -> Vec<Member> {
        self.own.peers().iter().map(|peer| peer.member.clone()).collect()
    }

    /// Whether messages to a member are on their way to it.
    pub fn is_connected(&self, id: u64) -> bool {
        self.peer(id).is_some_and(|peer| peer.is_open())
    }

    /// Why a member is not connected, where that is known.
    pub fn reason(&self, id: u64) -> Option<String> {
        self.peer(id)?.queue().reason.clone()
    }

    /// For drills: closes and refuses connections with a member in both directions, and takes them again.
    pub fn cut(&self, id: u64, is_cut: bool) {
        let Some(peer) = self.peer(id) else { return };
        peer.is_cut.send_replace(is_cut);
        if is_cut {
            peer.close(CUT.to_owned());
            peer.filled.notify_one();
        }
    }

    /// Waits until it has ended; it ends at `shutdown`.
    pub fn join(self) {
        // It panics where `deliver` does, which has been said by then.
        let _ = self.thread.join();
    }

    fn peer(&self, id: u64) -> Option<Arc<Peer>> {
        self.own.peers().into_iter().find(|peer| peer.member.id == id)
    }

    /// From now on these are the members: who is new is connected to, and who is none any more, or another, is let go of.
    ///
    /// Errors: TLS has nothing to work with; everything is as it was then.
    pub fn follow(&self, members: &[Member]) -> io::Result<()> {
        let others: Vec<_> = members.iter().filter(|member| member.id != self.own.me).collect();
        let mut peers = self.own.peers();
        let is_same = |peer: &Arc<Peer>| others.iter().any(|member| **member == peer.member);
        let gone: Vec<_> = peers.extract_if(.., |peer| !is_same(peer)).collect();
        let mut newcomers = Vec::new();
        for member in others {
            if peers.iter().all(|peer| peer.member.id != member.id) {
                let newcomer = newcomer(&self.own.identity, member.clone())?;
                peers.push(newcomer.0.clone());
                newcomers.push(newcomer);
            }
        }
        if gone.is_empty() && newcomers.is_empty() {
            return Ok(());
        }
        let acceptor = acceptor(&self.own.identity, &peers)?;
        *self.own.acceptor.write().unwrap_or_else(PoisonError::into_inner) = acceptor;
        *self.own.peers.write().unwrap_or_else(PoisonError::into_inner) = peers;
        for peer in gone {
            tracing::info!(member = peer.member.id, "is no member any more");
            peer.gone.cancel();
            peer.is_cut.send_replace(true);
            peer.close(GONE.to_owned());
        }
        for newcomer in newcomers {
            tracing::info!(member = newcomer.0.member.id, address = newcomer.0.member.address, "is a member");
            // It has ended, and with it every connection.
            let _ = self.newcomers.send(newcomer);
        }
        Ok(())
    }
}

fn newcomer(identity: &Identity, member: Member) -> io::Result<Newcomer> {
    let connector = tls::client(identity, &[member.key], SETTING).map_err(io::Error::other)?;
    let peer = Arc::new(Peer {
        member,
        queue: Mutex::default(),
        filled: Notify::new(),
        opened: AtomicU64::new(0),
        is_cut: watch::Sender::new(false),
        heard: watch::Sender::new(0),
        gone: CancellationToken::new(),
    });
    Ok((peer, TlsConnector::from(connector)))
}

fn acceptor(identity: &Identity, peers: &[Arc<Peer>]) -> io::Result<TlsAcceptor> {
    let keys: Vec<_> = peers.iter().map(|peer| peer.member.key).collect();
    Ok(TlsAcceptor::from(tls::server(identity, &keys, SETTING).map_err(io::Error::other)?))
}

/// Listens, and keeps connected to all `members` but `me`, until `shutdown`. What they say is handed over in the order in which each
/// said it.
///
/// Errors: I/O; TLS has nothing to work with; `InvalidInput` where members, number and key do not go together.
pub fn start(
    listen: SocketAddr,
    me: u64,
    identity: &Identity,
    members: &[Member],
    agreement: Agreement,
    hear: Hear,
    shutdown: CancellationToken,
) -> io::Result<Mesh> {
    check(me, identity, members).map_err(|text| io::Error::new(io::ErrorKind::InvalidInput, text))?;
    let others = members.iter().filter(|member| member.id != me).cloned();
    let known = others.map(|member| newcomer(identity, member)).collect::<io::Result<Vec<_>>>()?;
    let peers: Vec<_> = known.iter().map(|(peer, _)| peer.clone()).collect();
    let acceptor = acceptor(identity, &peers)?;
    let listener = TcpListener::bind(listen)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let own = Arc::new(Own {
        me,
        key: identity.fingerprint(),
        agreement,
        peers: RwLock::new(peers),
        identity: identity.clone(),
        acceptor: RwLock::new(acceptor),
        hear,
    });
    let (newcomers, mut come) = unbounded_channel();
    for newcomer in known {
        // The other end is there.
        let _ = newcomers.send(newcomer);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _within = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let shared = own.clone();
    let run = move || {
        // Others wait for what is heard here, and take silence for a loss.
        turns::ask_for_short();
        let local = tokio::task::LocalSet::new();
        let connect = async {
            while let Some((peer, connector)) = come.recv().await {
                let own = shared.clone();
                tokio::task::spawn_local(async move {
                    let gone = peer.gone.clone();
                    tokio::select! {
                        () = speak(own, peer, connector) => {}
                        () = gone.cancelled() => {}
                    }
                });
            }
        };
        local.block_on(&runtime, async {
            tokio::select! {
                () = listen_for_members(listener, shared.clone()) => {}
                () = connect => {}
                () = shutdown.cancelled() => {}
            }
        });
    };
    let thread = std::thread::Builder::new().name("members".to_owned()).spawn(run)?;
    Ok(Mesh { own, address, newcomers, thread })
}

/// Whether the members can be told apart, and `me` is one of them: gives which.
///
/// Errors: what is wrong, for whoever set them.
pub fn find(me: u64, members: &[Member]) -> Result<&Member, String> {
    for (at, member) in members.iter().enumerate() {
        let before = &members[..at];
        if before.iter().any(|other| other.id == member.id) {
            return Err(format!("`{SETTING}` names two members {}", member.id));
        }
        if let Some(other) = before.iter().find(|other| other.key == member.key) {
            return Err(format!(
                "`{SETTING}` names one key for members {} and {}: each host makes its own, `mirror.key` must not be copied",
                other.id, member.id
            ));
        }
    }
    let found = members.iter().find(|member| member.id == me);
    found.ok_or_else(|| format!("`{SETTING}` does not name this member, {me}"))
}

/// Whether this one is who it says.
fn check(me: u64, identity: &Identity, members: &[Member]) -> Result<(), String> {
    let (named, found) = (find(me, members)?.key, identity.fingerprint());
    match named == found {
        true => Ok(()),
        false => Err(format!(
            "`{SETTING}` names key {named} for this member, {me}, and its data folder has {found}: correct the key there, or \
             `cluster_member` here"
        )),
    }
}

async fn listen_for_members(listener: tokio::net::TcpListener, own: Arc<Own>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let told = Rc::new(RefCell::new(String::new()));
    loop {
        let (stream, from) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!(%error, "no connection of a member can be taken");
                tokio::time::sleep(BEAT).await;
                continue;
            }
        };
        let Ok(place) = places.clone().try_acquire_owned() else { continue };
        let acceptor = own.acceptor.read().unwrap_or_else(PoisonError::into_inner).clone();
        let (own, told) = (own.clone(), told.clone());
        tokio::task::spawn_local(async move {
            let Err(error) = connection::hear(&own, stream, &acceptor).await;
            let reason = error.to_string();
            // Said once, not at every attempt.
            if told.replace(reason.clone()) != reason {
                tracing::warn!(%from, %reason, "the connection of a member ended");
            }
            drop(place);
        });
    }
}
