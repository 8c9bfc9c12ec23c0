//! The leader's side: listens, lets in whose key is known, and feeds the mirror that connected last.

use crate::keys::{Fingerprint, Identity};
use crate::stream::{BEAT, KEYS, SILENCE, read};
use crate::tls;
use ringside_persist::mirror::frame::{FrameKind, put_refusal};
use ringside_persist::mirror::source::{Feed, Source};
use ringside_persist::storage::Storage;
use ringside_persist::write::status::JournalStatus;
use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, watch};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

/// Connections at once, most of which have shown no key yet.
const CONNECTIONS: usize = 16;

/// What is mirrored.
#[derive(Clone)]
pub struct Mirrored {
    /// Told of every batch.
    pub source: Arc<Source>,
    /// Where the files lie.
    pub storage: Arc<dyn Storage>,
    /// How far they are durable.
    pub journal: Arc<JournalStatus>,
    /// Bytes of the segments to come.
    pub segment_len: u64,
}

/// Listens on `address` until `shutdown`; gives the address in use.
///
/// Errors: I/O; TLS has nothing to work with.
pub fn start(
    address: SocketAddr,
    identity: &Identity,
    keys: &[Fingerprint],
    mirrored: Mirrored,
    shutdown: CancellationToken,
) -> io::Result<(SocketAddr, JoinHandle<()>)> {
    let acceptor = TlsAcceptor::from(tls::server(identity, keys, KEYS).map_err(io::Error::other)?);
    let listener = TcpListener::bind(address)?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let (changed, changes) = watch::channel(0u64);
    mirrored.source.on_change(Box::new(move || changed.send_modify(|count| *count = count.wrapping_add(1))));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = {
        let _within = runtime.enter();
        tokio::net::TcpListener::from_std(listener)?
    };
    let listen = async move {
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        loop {
            let (stream, peer) = match listener.accept().await {
                Ok(accepted) => accepted,
                Err(error) => {
                    tracing::warn!(%error, "no connection of a mirror can be taken");
                    tokio::time::sleep(BEAT).await;
                    continue;
                }
            };
            let Ok(place) = places.clone().try_acquire_owned() else { continue };
            let (acceptor, mirrored, changes) = (acceptor.clone(), mirrored.clone(), changes.clone());
            tokio::task::spawn_local(async move {
                tracing::info!(%peer, "a mirror connects");
                if let Err(error) = serve(stream, acceptor, mirrored, changes).await {
                    tracing::warn!(%peer, %error, "the connection of a mirror ended");
                }
                drop(place);
            });
        }
    };
    let thread = std::thread::Builder::new().name("mirrored".to_owned()).spawn(move || {
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime, async {
            tokio::select! {
                () = listen => {}
                () = shutdown.cancelled() => {}
            }
        });
    })?;
    Ok((address, thread))
}

async fn serve(
    stream: TcpStream,
    acceptor: TlsAcceptor,
    mirrored: Mirrored,
    mut changes: watch::Receiver<u64>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let shaken = timeout(SILENCE, acceptor.accept(stream)).await;
    let stream = shaken.map_err(|_| io::Error::other("the handshake takes too long"))??;
    let (mut from, mut to) = tokio::io::split(stream);
    let mut payload = Vec::new();
    let hello = read(&mut from, &mut payload).await?;
    if hello.kind() != Ok(FrameKind::Hello) {
        return Err(io::Error::other("it does not begin as a mirror does"));
    }
    let Mirrored { source, storage, journal, segment_len } = mirrored;
    let mut out = Vec::new();
    let feed = match Feed::open(source, storage, journal, &hello, segment_len, &mut out) {
        Ok(feed) => Rc::new(RefCell::new(feed)),
        Err(error) => {
            if out.is_empty() {
                put_refusal(hello.journal_id, &error.to_string(), &mut out);
            }
            to.write_all(&out).await?;
            to.shutdown().await?;
            return Err(io::Error::other(error));
        }
    };
    tracing::info!(
        sequence = hello.sequence,
        segment = hello.segment,
        offset = hello.offset,
        "a mirror is fed"
    );
    let fed = feed.clone();
    let hears = async move {
        loop {
            let head = read(&mut from, &mut payload).await?;
            match head.kind() {
                Ok(FrameKind::Synced) => fed.borrow().synced(&head).map_err(io::Error::other)?,
                Ok(FrameKind::Refused) => {
                    let text = String::from_utf8_lossy(&payload).into_owned();
                    return Err::<(), _>(io::Error::other(format!("the mirror ends it: {text}")));
                }
                _ => return Err(io::Error::other("a mirror does not say that")),
            }
        }
    };
    let says = async {
        loop {
            // Before it is looked: what changes meanwhile is seen by the next look.
            changes.borrow_and_update();
            let is_more = feed.borrow_mut().next(&mut out).map_err(io::Error::other)?;
            if feed.borrow().is_over() {
                return Err::<(), _>(io::Error::other("another connection took its place"));
            }
            if !is_more && !matches!(timeout(BEAT, changes.changed()).await, Ok(Ok(()))) {
                feed.borrow().beat(&mut out);
            }
            if !out.is_empty() {
                let written = timeout(SILENCE, async {
                    to.write_all(&out).await?;
                    to.flush().await
                });
                written.await.map_err(|_| io::Error::other("the mirror takes nothing"))??;
                out.clear();
            }
        }
    };
    tokio::select! {
        heard = hears => heard,
        said = says => said,
    }
}
