//! Members of a cluster on folders of their own, and the journal of the one that leads.

use anyhow::{Context, Result};
use ringside_core::command::Command;
use ringside_core::engine::{ENGINE_VERSION, Engine, EngineConfig};
use ringside_core::gate::Gate;
use ringside_core::matcher::Applied;
use ringside_core::ring::{self, Mapping, Options, Producer, Wait};
use ringside_persist::config::{Method, PersistConfig, Term};
use ringside_persist::quorum::link::Link;
use ringside_persist::quorum::members::Members;
use ringside_persist::quorum::node::{Membership, Node};
use ringside_persist::quorum::vote;
use ringside_persist::recover::follower::Follower;
use ringside_persist::recover::recovery::{Recovered, take_over};
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::{Disk, Lock};
use ringside_persist::write::journal::Journaller;
use ringside_persist::write::status::JournalStatus;
use std::path::Path;
use std::sync::Arc;

/// How many they are.
pub const MEMBERS: usize = 3;
/// Id of their cluster.
pub const CLUSTER: [u8; 16] = [7; 16];

/// Settings of their journals.
pub fn config() -> PersistConfig {
    PersistConfig { segment_len: 64 << 20, spares: 2, ..PersistConfig::new("") }
}

/// Member `id` in an empty folder, with threads of its own or without.
///
/// Errors: I/O; what a member refuses.
pub fn open(
    id: u64,
    folder: &Path,
    members: &Members,
    is_threaded: bool,
) -> Result<(Node, Arc<dyn Storage>)> {
    let storage: Arc<dyn Storage> = Arc::new(Disk::open(folder, Method::Direct, true)?);
    vote::init(storage.as_ref(), id, Some(CLUSTER))?;
    let membership = Membership { member: id, members: members.clone(), seed: id };
    let node =
        Node::open(storage.clone(), Lock::default(), &config(), ENGINE_VERSION, &membership, is_threaded)?;
    Ok((node, storage))
}

/// Makes the journal of a member that is elected a leader's: `lead` is asked for the link once its engine is ready. What opened the
/// term is to be agreed on before the journal is used.
///
/// Errors: what recovery refuses.
pub fn recover(
    storage: &Arc<dyn Storage>,
    term: Term,
    status: Arc<JournalStatus>,
    lead: impl FnOnce() -> Result<Arc<Link>>,
) -> Result<(Recovered<Engine>, Arc<Link>)> {
    let config = PersistConfig { term: Some(term), ..config() };
    let shown = status.shown();
    let follower: Follower<Engine, ()> =
        Follower::new(storage.clone(), &config, &EngineConfig::default(), (), status, &[])?;
    let followed = follower.into_followed(shown)?;
    let link = lead()?;
    let (recovered, ()) = take_over(storage.clone(), Lock::default(), &config, followed)?;
    link.has_written(recovered.journal.position());
    Ok((recovered, link))
}

/// A leader's side of the journal, whose engine is ahead of every command.
pub struct Leading {
    /// Where commands go in.
    pub producer: Producer<Command>,
    /// What is agreed on.
    pub gate: Arc<Gate>,
    /// Time of the last command.
    pub time_ns: i64,
}

impl Leading {
    /// Of what was recovered, with a ring of `capacity` commands.
    ///
    /// Errors: whatever ring or journaller refuse.
    pub fn new(
        mut recovered: Recovered<Engine>,
        link: &Arc<Link>,
        capacity: usize,
        wait: Wait,
        is_threaded: bool,
    ) -> Result<(Leading, Journaller)> {
        recovered.open(&mut ());
        let start = recovered.next_sequence;
        let (producer, mut consumers) =
            ring::create(Mapping::anonymous(), Options { capacity, consumers: 1, start, wait })?;
        let consumer = consumers.pop().context("one consumer was asked for")?;
        let gate = Arc::new(Gate::new(start - 1));
        let time_ns = recovered.engine.time_ns();
        let journaller =
            Journaller::led(recovered.journal, consumer, gate.clone(), link.clone(), is_threaded)?;
        link.goes_by(Arc::new(Applied::new(u64::MAX)));
        Ok((Leading { producer, gate, time_ns }, journaller))
    }
}
