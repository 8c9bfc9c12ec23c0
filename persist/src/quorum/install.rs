//! A journal that is fetched whole from another member, since the leader no longer has what comes next here: put together aside,
//! checked, and put in the place of the one that is there.
//!
//! What is sent, and how it is checked on the way, is what a mirror gets ([`crate::mirror`]): the newest snapshot, and the segments
//! from there on, up to what is agreed on. Only once all of it was read back is the file `member` told; from then on the place is
//! the new journal's, whatever dies meanwhile:
//!
//! ```text
//!  member: install 1, commit ──▶ old files removed ──▶ member: install 2 ──▶ new files renamed ──▶ member: install 0
//! ```
//! Term and vote stay. What is installed reaches behind everything that this member ever acknowledged, so it forgets nothing.

use crate::config::PersistConfig;
use crate::error::PersistError;
use crate::format::segment;
use crate::mirror::frame::{Head, NEWEST};
use crate::mirror::sink::{Sink, SinkError};
use crate::quorum::vote::{self, Stage, Vote};
use crate::read::survey::survey;
use crate::read::tail::walk;
use crate::recover::machine::Machine;
use crate::recover::recovery;
use crate::recover::snapshot_store;
use crate::storage::Storage;
use crate::storage::aside::Aside;
use crate::storage::disk::Lock;
use ringside_core::ids::Sequence;
use std::sync::Arc;

/// What names of files begin with that are fetched.
const PREFIX: &str = "fetched.";

fn aside(storage: &Arc<dyn Storage>) -> Aside {
    Aside::new(storage.clone(), PREFIX)
}

/// A journal on its way.
pub struct Fetch {
    aside: Aside,
    sink: Sink,
}

/// One that has come, and was read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Number of its last batch, which is agreed on.
    pub(crate) index: u64,
    pub(crate) term: u32,
    /// The last command in it.
    pub sequence: Sequence,
    /// The last command in the snapshot that it begins with, 0 where it begins with the first.
    pub snapshot: Sequence,
}

impl Fetch {
    /// Begins with nothing, in the folder of a member whose lock is held.
    ///
    /// Errors: I/O.
    pub fn begin(
        storage: &Arc<dyn Storage>,
        lock: Lock,
        config: &PersistConfig,
        is_threaded: bool,
    ) -> Result<Fetch, PersistError> {
        let aside = aside(storage);
        aside.clear().map_err(PersistError::io("clear", PREFIX))?;
        let config = PersistConfig { spares: 1, ..config.clone() };
        let sink = Sink::open(Arc::new(aside.clone()), lock, &config, is_threaded, || 0)?;
        Ok(Fetch { aside, sink })
    }

    /// What is said first on a connection.
    pub fn hello(&mut self) -> Head {
        let head = self.sink.hello();
        Head { detail: if head.segment == 0 { NEWEST } else { head.detail }, ..head }
    }

    /// Takes a frame; whether everything is here.
    ///
    /// Errors: [`SinkError`]; the connection is to be ended.
    pub fn take(&mut self, head: &Head, payload: &[u8]) -> Result<bool, SinkError> {
        self.sink.take(head, payload)?;
        Ok(self.sink.reached().is_some())
    }

    /// Reads everything back: sums, chain, and that a machine can start from it.
    ///
    /// Errors: it cannot; I/O.
    pub fn check<M: Machine>(self, machine: &M::Config) -> Result<Fetched, PersistError> {
        let Fetch { aside, sink } = self;
        let missing = |reason: &str| PersistError::Missing { reason: reason.to_owned() };
        let place = sink.reached().ok_or_else(|| missing("the journal has not come whole"))?;
        let journal_id = sink.journal_id();
        // Its spares go with it.
        drop(sink);
        let survey = survey(&aside)?;
        let mut snapshot = None;
        for name in survey.snapshots.iter().rev() {
            let loaded = recovery::load::<M>(&aside, name, journal_id, machine, &mut ())?;
            snapshot = Some((name.as_str(), loaded.moment));
        }
        survey.check_start(snapshot.map(|(name, moment)| (name, moment.sequence)), &[])?;
        let walked = walk(&aside, &survey, 0, None, |_, record| match snapshot {
            Some((name, moment)) if record.header.seq == moment.sequence && record.mark() != moment.mark => {
                Err(PersistError::Snapshot {
                    file: name.to_owned(),
                    reason: "the journal that came with it holds another history".to_owned(),
                })
            }
            _ => Ok(()),
        })?;
        if (walked.end.offset, walked.end.chain) != (place.offset, place.chain) {
            return Err(missing("the journal that came reads back as another one"));
        }
        Ok(Fetched {
            index: place.index,
            term: place.epoch,
            sequence: place.last.sequence,
            snapshot: snapshot.map_or(0, |(_, moment)| moment.sequence),
        })
    }
}

/// Decides that what was fetched takes the place of what is there: at the next opening.
pub(crate) fn adopt(storage: &dyn Storage, vote: &mut Vote, fetched: &Fetched) -> Result<(), PersistError> {
    let term = u64::from(fetched.term);
    if term > vote.term {
        // As if its leader had been heard.
        (vote.term, vote.vote) = (term, 0);
    }
    (vote.commit, vote.install) = (fetched.index, Some(Stage::Removes));
    vote::write(storage, vote)
}

/// Ends what was begun: an install that was decided; else what was fetched in vain is removed.
pub(crate) fn finish(storage: &Arc<dyn Storage>, vote: &mut Vote) -> Result<(), PersistError> {
    let is_journal =
        |name: &str| segment::first_seq_of(name).is_some() || snapshot_store::sequence_of(name).is_some();
    let synced = || storage.sync_directory().map_err(PersistError::io("sync", "the directory"));
    let aside = aside(storage);
    if vote.install == Some(Stage::Removes) {
        for name in storage.list().map_err(PersistError::io("list", "the directory"))? {
            if is_journal(&name) {
                storage.remove(&name).map_err(PersistError::io("remove", &name))?;
            }
        }
        synced()?;
        vote.install = Some(Stage::Moves);
        vote::write(storage.as_ref(), vote)?;
    }
    if vote.install == Some(Stage::Moves) {
        for name in aside.list().map_err(PersistError::io("list", PREFIX))? {
            if is_journal(&name) {
                storage.rename(&aside.outer(&name), &name).map_err(PersistError::io("rename", &name))?;
            }
        }
        synced()?;
        vote.install = None;
        vote::write(storage.as_ref(), vote)?;
    }
    aside.clear().map_err(PersistError::io("clear", PREFIX))
}
