//! The mirror's side: connects to the leader, takes what comes, says what its disk holds, and connects again.

use crate::keys::{Fingerprint, Identity};
use crate::stream::{KEYS, PAUSES, SILENCE, read};
use crate::tls;
use ringside_persist::mirror::frame::{FrameKind, put_refusal};
use ringside_persist::mirror::sink::{Sink, SinkError};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tokio::io::{AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_util::sync::CancellationToken;

/// What others may know of the connection. Share it in an `Arc`.
#[derive(Default)]
pub struct LinkStatus {
    is_connected: AtomicBool,
    /// The leader's last command, as it was heard last.
    leader: AtomicU64,
    told: Mutex<Told>,
}

#[derive(Default)]
struct Told {
    /// Id of the journal, once an engine can start from what is here.
    journal: Option<[u8; 16]>,
    /// Why there is no connection.
    reason: Option<String>,
    /// Why nothing is taken any more.
    failure: Option<String>,
}

// Orderings: Relaxed, figures for people; what belongs together is behind the mutex.
impl LinkStatus {
    /// Whether the leader feeds it.
    pub fn is_connected(&self) -> bool {
        self.is_connected.load(Ordering::Relaxed)
    }

    /// The leader's last command, as it was heard last; 0: not heard yet.
    pub fn leader(&self) -> u64 {
        self.leader.load(Ordering::Relaxed)
    }

    /// Id of the journal, once an engine can start from what is here.
    pub fn journal(&self) -> Option<[u8; 16]> {
        self.told().journal
    }

    /// Why there is no connection, where that is known.
    pub fn reason(&self) -> Option<String> {
        self.told().reason.clone()
    }

    /// Why nothing is taken any more: its own disk.
    pub fn failure(&self) -> Option<String> {
        self.told().failure.clone()
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, sink: &Sink) {
        self.leader.store(sink.leader().sequence, Ordering::Relaxed);
        if sink.has_journal() {
            self.told().journal.get_or_insert(sink.journal_id());
        }
    }
}

/// Keeps `sink` connected to the leader at `address`, a host and a port, until `shutdown`.
///
/// Errors: no thread; TLS has nothing to work with.
pub fn start(
    address: String,
    identity: &Identity,
    keys: &[Fingerprint],
    mut sink: Sink,
    shutdown: CancellationToken,
) -> io::Result<(Arc<LinkStatus>, JoinHandle<()>)> {
    let connector = TlsConnector::from(tls::client(identity, keys, KEYS).map_err(io::Error::other)?);
    let status = Arc::new(LinkStatus::default());
    status.note(&sink);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let told = status.clone();
    let run = async move {
        let mut pause = PAUSES[0];
        loop {
            let ended = follow(&address, &connector, &mut sink, &told).await;
            if told.is_connected.swap(false, Ordering::Relaxed) {
                pause = PAUSES[0];
            }
            let reason = match ended {
                Ended::Failed(reason) => {
                    tracing::error!(%reason, "the mirror takes nothing any more");
                    told.told().failure = Some(reason);
                    return;
                }
                Ended::Broken(reason) => reason,
            };
            // Said once, not at every attempt.
            if told.told().reason.replace(reason.clone()).as_ref() != Some(&reason) {
                tracing::warn!(%reason, leader = %address, "the mirror is not connected");
            }
            tokio::time::sleep(pause).await;
            pause = (2 * pause).min(PAUSES[1]);
        }
    };
    let thread = std::thread::Builder::new().name("mirror".to_owned()).spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                () = run => {}
                () = shutdown.cancelled() => {}
            }
        });
    })?;
    Ok((status, thread))
}

/// Why a connection ended.
enum Ended {
    /// It can be tried again.
    Broken(String),
    /// It cannot.
    Failed(String),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Ended {
        Ended::Broken(error.to_string())
    }
}

async fn follow(address: &str, connector: &TlsConnector, sink: &mut Sink, status: &LinkStatus) -> Ended {
    match exchange(address, connector, sink, status).await {
        Ok(never) => match never {},
        Err(ended) => ended,
    }
}

async fn exchange(
    address: &str,
    connector: &TlsConnector,
    sink: &mut Sink,
    status: &LinkStatus,
) -> Result<std::convert::Infallible, Ended> {
    let connected = async {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::try_from(tls::NAME).map_err(io::Error::other)?;
        connector.connect(name, stream).await
    };
    let stream =
        timeout(SILENCE, connected).await.map_err(|_| io::Error::other("the leader does not answer"))??;
    let (from, mut to) = tokio::io::split(stream);
    let mut from = BufReader::with_capacity(256 << 10, from);
    let (mut out, mut payload) = (Vec::new(), Vec::new());
    sink.hello().put(&[], &mut out);
    loop {
        if !out.is_empty() {
            to.write_all(&out).await?;
            to.flush().await?;
            out.clear();
        }
        let head = read(&mut from, &mut payload).await?;
        let taken = sink.take(&head, &payload);
        status.note(sink);
        match taken {
            Ok(true) => sink.synced().put(&[], &mut out),
            Ok(false) if head.kind() == Ok(FrameKind::Beat) => sink.synced().put(&[], &mut out),
            Ok(false) if head.kind() == Ok(FrameKind::Welcome) => {
                tracing::info!(leader = %address, sequence = sink.synced().sequence, "the mirror is connected");
                status.is_connected.store(true, Ordering::Relaxed);
                status.told().reason = None;
            }
            Ok(false) => {}
            Err(SinkError::Persist(error)) => return Err(Ended::Failed(error.to_string())),
            Err(SinkError::Refused(text)) => return Err(Ended::Broken(text)),
            Err(error) => {
                put_refusal(sink.journal_id(), &error.to_string(), &mut out);
                // It may be gone.
                let _ = to.write_all(&out).await;
                let _ = to.shutdown().await;
                return Err(Ended::Broken(error.to_string()));
            }
        }
    }
}
