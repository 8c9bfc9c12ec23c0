//! TCP relays between the members of a cluster: each carries what one member says to one other, and is closed, or held silent, on request.
//!
//! So a cut, a one-way silence and a partial cut need no root and no switch in the exchange: `cluster_members` names relays' ports, and
//! members are known by their keys, not by their addresses. What is held while a relay is silent comes late, all of it.

use super::HOSTS;
use anyhow::{Context, Result};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What a relay does with what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// It passes it on.
    Open,
    /// It holds it: the connection stands.
    Silent,
    /// It closes connections, and refuses new ones.
    Cut,
}

/// From each member to each other.
pub struct Relays {
    flows: [[watch::Sender<Flow>; HOSTS]; HOSTS],
    /// Where `to` is reached by `from`; what a member reaches itself by is of no use.
    pub addresses: [[SocketAddr; HOSTS]; HOSTS],
}

impl Relays {
    /// Relays to `targets`, on a thread of their own, so that nothing that the program computes holds them up.
    pub fn start(targets: [SocketAddr; HOSTS]) -> Result<Relays> {
        let flows: [[watch::Sender<Flow>; HOSTS]; HOSTS] =
            std::array::from_fn(|_| std::array::from_fn(|_| watch::Sender::new(Flow::Open)));
        let mut addresses = [targets; HOSTS];
        let mut listeners = Vec::new();
        for from in 0..HOSTS {
            for to in (0..HOSTS).filter(|to| *to != from) {
                let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
                listener.set_nonblocking(true)?;
                addresses[from][to] = listener.local_addr()?;
                listeners.push((listener, targets[to], flows[from][to].subscribe()));
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let run = move || {
            runtime.block_on(async {
                let relays = listeners.into_iter().map(|(listener, to, flow)| relay(listener, to, flow));
                futures_util::future::join_all(relays).await
            });
        };
        std::thread::Builder::new().name("relays".to_owned()).spawn(run).context("no thread for relays")?;
        Ok(Relays { flows, addresses })
    }

    /// Of what `from` says to `to`.
    pub fn set(&self, from: usize, to: usize, flow: Flow) {
        self.flows[from][to].send_replace(flow);
    }

    /// Between two, in both directions.
    pub fn set_both(&self, one: usize, other: usize, flow: Flow) {
        self.set(one, other, flow);
        self.set(other, one, flow);
    }

    /// Everything passes again.
    pub fn open_all(&self) {
        for flow in self.flows.iter().flatten() {
            flow.send_replace(Flow::Open);
        }
    }
}

async fn relay(listener: std::net::TcpListener, to: SocketAddr, flow: watch::Receiver<Flow>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        if *flow.borrow() != Flow::Cut {
            tokio::spawn(carry(stream, to, flow.clone()));
        }
    }
}

/// Carries one connection, until either side ends it or it is cut.
async fn carry(from: TcpStream, to: SocketAddr, flow: watch::Receiver<Flow>) {
    let Ok(there) = TcpStream::connect(to).await else { return };
    if from.set_nodelay(true).is_err() || there.set_nodelay(true).is_err() {
        return;
    }
    let ((from, back), (answers, there)) = (from.into_split(), there.into_split());
    let mut cut = flow.clone();
    tokio::select! {
        () = pass(from, there, flow.clone()) => {}
        () = pass(answers, back, flow) => {}
        _ = cut.wait_for(|flow| *flow == Flow::Cut) => {}
    }
}

async fn pass(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut flow: watch::Receiver<Flow>) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        if flow.wait_for(|flow| *flow == Flow::Open).await.is_err()
            || to.write_all(&buffer[..count]).await.is_err()
        {
            return;
        }
    }
}
