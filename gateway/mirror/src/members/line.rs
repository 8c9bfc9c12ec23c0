//! What every connection between two members has in common: how it is made, what comes first on it, one frame in and one out.

use super::{Agreement, SETTING};
use crate::keys::Fingerprint;
use crate::tls;
use ringside_persist::quorum::frame::{FrameError, FrameKind, HEAD_LEN, Head};
use std::io::{self, IoSlice};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

/// How long the other side may say or take nothing, or need for a handshake: so long the longest frame needs on a line of 100 Mbit/s,
/// and after a cut of the line a new connection is there before TCP has brought the old one back.
pub(super) const PATIENCE: Duration = Duration::from_secs(6);
/// Bytes that are written in one go, where as many wait; that are read in one; and that a buffer keeps room for.
pub(super) const FULL: usize = 256 << 10;

/// Below TLS, which reads a few KiB at a time.
pub(super) type Wire = BufReader<TcpStream>;

/// A connection that is there.
pub(super) fn wire(stream: TcpStream) -> io::Result<Wire> {
    stream.set_nodelay(true)?;
    Ok(BufReader::with_capacity(FULL, stream))
}

/// Connects to whoever listens there.
pub(super) async fn connect(address: &str, connector: &TlsConnector) -> io::Result<TlsStream<Wire>> {
    let connected = async {
        let stream = wire(TcpStream::connect(address).await?)?;
        let name = ServerName::try_from(tls::NAME).map_err(io::Error::other)?;
        connector.connect(name, stream).await
    };
    timeout(PATIENCE, connected).await.map_err(|_| io::Error::other("it does not answer"))?
}

/// What TLS says of one whose key it refuses arrives in place of the first answer.
pub(super) fn refused(error: io::Error, me: u64, key: &Fingerprint) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
            io::Error::other(format!(
                "it ends the handshake ({error}): `{SETTING}` there must name key {key} for member {me}"
            ))
        }
        _ => error,
    }
}

/// Why a connection that was heard ended.
pub(super) enum Ended {
    /// The other side is gone.
    Gone(io::Error),
    /// It is told this, and what it says further is not heard.
    Refused(String),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Ended {
        // What makes no frame is told to whoever sends it.
        match error.get_ref() {
            Some(cause) if cause.is::<FrameError>() => Ended::Refused(error.to_string()),
            _ => Ended::Gone(error),
        }
    }
}

/// Why two members do not work together, as what came first on their connection shows; the words are for whoever runs them.
pub(super) fn disagreement(
    me: u64,
    mine: &Agreement,
    id: u64,
    head: &Head,
    payload: &[u8],
) -> io::Result<Option<String>> {
    match head.kind() {
        Ok(FrameKind::Hello | FrameKind::Fetch) => {}
        Ok(FrameKind::Refused) => return head.text(payload).map(Some).map_err(io::Error::other),
        _ => return Ok(Some(format!("member {id} does not begin as a member does"))),
    }
    let theirs = head.agreement(payload).map_err(io::Error::other)?;
    if theirs.cluster != mine.cluster {
        let [mine, theirs] = [mine.cluster, theirs.cluster].map(const_hex::encode);
        return Ok(Some(format!(
            "member {id} is of cluster {theirs}, member {me} of {mine}: `cluster_members` names a host of another cluster, or one of them \
             runs on the data folder of another"
        )));
    }
    if (head.from, head.to) != (id, me) {
        return Ok(Some(format!(
            "whoever has the key of member {id} says that it is member {} and speaks to member {}; this is member {me}: set \
             `cluster_member` and `cluster_members` right on both",
            head.from, head.to
        )));
    }
    if theirs.engine_version != mine.engine_version {
        return Ok(Some(format!(
            "member {id} runs engine version {}, member {me} runs {}: they would decide differently, install the same release on both",
            theirs.engine_version, mine.engine_version
        )));
    }
    if theirs.mode != mine.mode {
        return Ok(Some(format!(
            "members {id} and {me} do not wait for the same before they answer: set `acknowledge` alike on both"
        )));
    }
    if theirs.segment_len != mine.segment_len {
        return Ok(Some(format!(
            "member {id} makes segments of {} bytes, member {me} of {}: set `segment_len` alike on both",
            theirs.segment_len, mine.segment_len
        )));
    }
    Ok(None)
}

/// The next frame: its head, and what is behind it in `payload`.
///
/// Errors: I/O; silence; no frame.
pub(super) async fn read(from: &mut (impl AsyncRead + Unpin), payload: &mut Vec<u8>) -> io::Result<Head> {
    let silent = |_| io::Error::other("the other member says nothing");
    let mut bytes = [0; HEAD_LEN];
    timeout(PATIENCE, from.read_exact(&mut bytes)).await.map_err(silent)??;
    let head = Head::read(&bytes).map_err(io::Error::other)?;
    payload.clear();
    payload.reserve_exact(head.len());
    let mut behind = from.take(head.len() as u64);
    while payload.len() < head.len() {
        if timeout(PATIENCE, behind.read_buf(payload)).await.map_err(silent)?? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(head)
}

/// Writes `out`, and empties it.
///
/// Errors: I/O; nothing is taken.
pub(super) async fn write(to: &mut (impl AsyncWrite + Unpin), out: &mut Vec<u8>) -> io::Result<()> {
    write_all(to, &mut [IoSlice::new(out)]).await?;
    out.clear();
    out.shrink_to(FULL);
    Ok(())
}

/// Writes `pieces`, one behind the other; whoever else is heard or says something on this thread has its turn in between.
///
/// Errors: I/O; nothing is taken.
pub(super) async fn write_all(
    to: &mut (impl AsyncWrite + Unpin),
    mut pieces: &mut [IoSlice<'_>],
) -> io::Result<()> {
    let stuck = |_| io::Error::other("the other member takes nothing");
    IoSlice::advance_slices(&mut pieces, 0);
    while !pieces.is_empty() {
        match timeout(PATIENCE, to.write_vectored(pieces)).await.map_err(stuck)?? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => IoSlice::advance_slices(&mut pieces, written),
        }
        if !pieces.is_empty() {
            yield_now().await;
        }
    }
    timeout(PATIENCE, to.flush()).await.map_err(stuck)?
}
