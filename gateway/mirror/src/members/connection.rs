//! One connection between two members, seen from the one that speaks and from the one that hears.

use super::files::give;
use super::line::{Ended, FULL, PATIENCE, connect, disagreement, read, refused, wire, write, write_all};
use super::{CUT, Own, Peer, Said};
use crate::keys::Fingerprint;
use crate::stream::{BEAT, PAUSES};
use bytes::Bytes;
use ringside_persist::quorum::frame::{
    FrameKind, put, put_beat, put_hello, put_orders, put_refusal, put_saying,
};
use std::convert::Infallible;
use std::io::{self, IoSlice};
use std::pin::pin;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};
use tokio_rustls::{TlsAcceptor, TlsConnector};

/// Keeps connected to a member, and sends what waits for it.
pub(super) async fn speak(own: Arc<Own>, peer: Arc<Peer>, connector: TlsConnector) {
    let mut pause = PAUSES[0];
    let mut is_cut = peer.is_cut.subscribe();
    loop {
        // The peer holds the other end: it never closes.
        let _ = is_cut.wait_for(|is_cut| !is_cut).await;
        let ended = tokio::select! {
            ended = exchange(&own, &peer, &connector) => ended,
            _ = is_cut.wait_for(|is_cut| *is_cut) => Err(io::Error::other(CUT)),
        };
        let Err(error) = ended;
        let reason = error.to_string();
        let (was_connected, is_new) = peer.close(reason.clone());
        if was_connected {
            pause = PAUSES[0];
        }
        // Said once, not at every attempt.
        if is_new {
            let (member, address) = (peer.member.id, &peer.member.address);
            tracing::warn!(member, address, reason, "a member is not connected");
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(PAUSES[1]);
    }
}

async fn exchange(own: &Own, peer: &Peer, connector: &TlsConnector) -> io::Result<Infallible> {
    let stream = connect(&peer.member.address, connector).await?;
    let (mut from, mut to) = tokio::io::split(stream);
    let (cluster, id) = (own.agreement.cluster, peer.member.id);
    let (mut out, mut payload) = (Vec::new(), Vec::new());
    put_hello(&own.agreement, own.me, id, &mut out);
    write(&mut to, &mut out).await?;
    let hello = read(&mut from, &mut payload).await;
    let hello = hello.map_err(|error| refused(error, own.me, &own.key))?;
    if let Some(text) = disagreement(own.me, &own.agreement, id, &hello, &payload)? {
        return Err(io::Error::other(text));
    }
    peer.open();
    tracing::info!(member = id, address = peer.member.address, "a member is connected");
    let hears = async {
        loop {
            let head = read(&mut from, &mut payload).await?;
            match head.kind() {
                Ok(FrameKind::Beat) => {}
                Ok(FrameKind::Refused) => {
                    let text = head.text(&payload).map_err(io::Error::other)?;
                    return Err::<Infallible, _>(io::Error::other(text));
                }
                _ => return Err(io::Error::other("it says what one that hears does not say")),
            }
        }
    };
    let says = async {
        let mut said = Instant::now();
        // It is closed here where it was cut off, and perhaps healed since.
        while peer.is_open() {
            // The bytes of batches are not copied behind their heads.
            let (mut pieces, mut len) = (Vec::<Bytes>::new(), 0);
            while len < FULL
                && let Some(said) = peer.next()
            {
                len += said.len();
                match said {
                    Said::Orders(orders) => put_orders(&orders, cluster, own.me, id, &mut out),
                    Said::Saying(saying) => put_saying(&saying, cluster, own.me, id, &mut out),
                    Said::Message(message) => match put(&message, cluster, &mut out) {
                        Ok(bytes) if bytes.is_empty() => {}
                        Ok(bytes) => {
                            pieces.push(std::mem::take(&mut out).into());
                            pieces.extend(bytes);
                        }
                        Err(error) => tracing::error!(%error, member = id, "a message is not sent"),
                    },
                }
            }
            if said.elapsed() >= BEAT {
                put_beat(cluster, own.me, id, &mut out);
                said = Instant::now();
            }
            if !out.is_empty() {
                pieces.push(std::mem::take(&mut out).into());
            }
            if pieces.is_empty() {
                let _ = timeout(BEAT.saturating_sub(said.elapsed()), peer.filled.notified()).await;
                continue;
            }
            let mut slices: Vec<_> = pieces.iter().map(|piece| IoSlice::new(piece)).collect();
            write_all(&mut to, &mut slices).await?;
        }
        Err::<Infallible, _>(io::Error::other(CUT))
    };
    let mut hears = pin!(hears);
    tokio::select! {
        heard = &mut hears => heard,
        // Where the other side has ended it, it has said why.
        said = says => timeout(BEAT, hears).await.unwrap_or(said),
    }
}

/// Takes a connection, and hands over what comes on it.
pub(super) async fn hear(own: &Own, stream: TcpStream, acceptor: &TlsAcceptor) -> io::Result<Infallible> {
    let shaken = timeout(PATIENCE, acceptor.accept(wire(stream)?)).await;
    let stream = shaken.map_err(|_| io::Error::other("the handshake takes too long"))??;
    let shown = stream.get_ref().1.peer_certificates().and_then(|keys| keys.first());
    let shown = shown.map(|key| Fingerprint::of(key));
    let peers = own.peers();
    let peer = peers.iter().find(|peer| Some(peer.member.key) == shown);
    let peer = peer.ok_or_else(|| io::Error::other("it shows no member's key"))?;
    let mut is_cut = peer.is_cut.subscribe();
    let (mut from, mut to) = tokio::io::split(stream);
    let ended = tokio::select! {
        Err(ended) = take(own, peer, &mut from, &mut to) => ended,
        _ = is_cut.wait_for(|is_cut| *is_cut) => Ended::Gone(io::Error::other(CUT)),
    };
    match ended {
        Ended::Gone(error) => Err(error),
        Ended::Refused(text) => {
            let mut out = Vec::new();
            put_refusal(own.agreement.cluster, own.me, peer.member.id, &text, &mut out);
            // It may be gone. What it has sent meanwhile is read away: closed with bytes unread, the words would be lost on their way.
            let _ = timeout(BEAT, async {
                write(&mut to, &mut out).await?;
                to.shutdown().await?;
                tokio::io::copy(&mut from, &mut tokio::io::sink()).await
            })
            .await;
            Err(io::Error::other(text))
        }
    }
}

async fn take(
    own: &Own,
    peer: &Peer,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<Infallible, Ended> {
    let (cluster, id) = (own.agreement.cluster, peer.member.id);
    let (mut out, mut payload) = (Vec::new(), Vec::new());
    let hello = read(from, &mut payload).await?;
    if let Some(text) = disagreement(own.me, &own.agreement, id, &hello, &payload)? {
        return Err(Ended::Refused(text));
    }
    if hello.kind() == Ok(FrameKind::Fetch) {
        return give(own, id, hello.index, from, to).await;
    }
    put_hello(&own.agreement, own.me, id, &mut out);
    write(to, &mut out).await?;
    peer.heard.send_modify(|heard| *heard += 1);
    let mut heard = peer.heard.subscribe();
    let hears = async {
        loop {
            let head = read(from, &mut payload).await?;
            if (head.cluster, head.from, head.to) != (cluster, id, own.me) {
                return Err::<Infallible, _>(Ended::Refused(format!(
                    "member {id} says something as member {} to member {}, and this is member {}",
                    head.from, head.to, own.me
                )));
            }
            match head.kind() {
                Ok(FrameKind::Message) => {
                    let message = head.message(std::mem::take(&mut payload)).map_err(io::Error::other)?;
                    if !peer.is_cut() {
                        (own.hear.deliver)(message);
                    }
                }
                Ok(FrameKind::Orders) => {
                    let orders = head.orders(&payload).map_err(io::Error::other)?;
                    if !peer.is_cut() {
                        (own.hear.orders)(id, orders);
                    }
                }
                Ok(FrameKind::Saying) => {
                    let saying = head.saying().map_err(io::Error::other)?;
                    if !peer.is_cut() {
                        (own.hear.sayings)(id, saying);
                    }
                }
                Ok(FrameKind::Beat) => {
                    put_beat(cluster, own.me, id, &mut out);
                    write(to, &mut out).await?;
                }
                Ok(FrameKind::Refused) => {
                    let text = head.text(&payload).map_err(io::Error::other)?;
                    return Err(Ended::Gone(io::Error::other(text)));
                }
                _ => return Err(Ended::Refused("a member says hello once".to_owned())),
            }
        }
    };
    tokio::select! {
        ended = hears => ended,
        _ = heard.changed() => Err(Ended::Refused("a newer connection took its place".to_owned())),
    }
}
