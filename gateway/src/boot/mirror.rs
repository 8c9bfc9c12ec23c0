//! The role of a mirror: it holds what its leader sends, and serves reads from it.

use super::credentials;
use super::error::BootError;
use super::front::Front;
use super::make_data_folder;
use super::replica::{self, Following, Replica};
use super::stages::{disk, persist_config, take_folder};
use super::upstream::Upstream;
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::gate::Gate;
use ringside_core::ids::Sequence;
use ringside_edge::metrics::Page;
use ringside_edge::server::shutdown_on_signals;
use ringside_mirror::follower::{self as link, LinkStatus};
use ringside_mirror::keys::Identity;
use ringside_persist::mirror::sink::Sink;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// The leader, as it is heard.
struct Leader {
    link: Arc<LinkStatus>,
    gate: Arc<Gate>,
}

impl Upstream for Leader {
    fn journal_id(&self) -> Option<[u8; 16]> {
        self.link.journal()
    }

    fn sequence(&self) -> Sequence {
        self.gate.durable()
    }

    fn is_over(&self) -> bool {
        self.link.failure().is_some()
    }

    fn figures(&self, page: &mut Page) {
        page.gauge(
            "ringside_mirror_of",
            "1 on a mirror that its leader feeds, 0 on one that it does not",
            u8::from(self.link.is_connected()),
        );
        page.gauge(
            "ringside_mirror_leader_sequence",
            "On a mirror: the last command of its leader, as it was heard last",
            self.link.leader(),
        );
        page.gauge(
            "ringside_mirror_failed",
            "1 once the disk of a mirror has failed for good",
            u8::from(self.link.failure().is_some()),
        );
    }
}

/// Runs until it is told to stop, or its disk fails. `ready` is called once it answers.
pub(super) fn run(
    config: &Arc<Config>,
    clock: &Clock,
    leader: &str,
    out: &mut impl Write,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), BootError> {
    make_data_folder(config)?;
    let taken = take_folder(config, clock)?;
    let identity = Identity::of(&config.data_dir).map_err(BootError::Mirror)?;
    let persist = persist_config(config, clock);
    let files = Arc::new(disk(&persist)?);
    let sink = Sink::open(files.clone(), taken.clone(), &persist, true, || Clock::SYSTEM.now_ns())?;
    let (journal, gate) = (sink.status(), sink.gate());
    let at = gate.durable();
    let shutdown = CancellationToken::new();
    shutdown_on_signals(shutdown.clone()).map_err(BootError::Thread)?;
    let linked = link::start(leader.to_owned(), &identity, &config.mirror_keys, sink, shutdown.clone());
    let (link, linking) = linked.map_err(BootError::Thread)?;
    let upstream = Arc::new(Leader { link: link.clone(), gate: gate.clone() });
    let greet = |address| {
        format!(
            "ringside: a mirror of     {leader}; its own journal ends at sequence {at}\n\
             ringside: its key         {}, which the leader's `mirror_keys` names\n\
             ringside: answers on      http://{address}/api/v1: reads alone, at the sequence that each answer names",
            identity.fingerprint()
        )
    };
    let replica = Replica { upstream, files, journal, lanes: None };
    let side = credentials::held(&persist.directory)?;
    let mut front = Front::open(config, clock, &side, &shutdown, out)?;
    drop(side);
    let following = replica::serve(&mut front, &replica, out, greet, ready);
    let served = front.stop();
    following.into_iter().for_each(Following::end);
    let _ = linking.join();
    drop(taken);
    match link.failure() {
        Some(reason) => Err(BootError::Journal(reason)),
        None => {
            let _ = writeln!(out, "ringside: the mirror has stopped at sequence {}", gate.durable());
            served
        }
    }
}
