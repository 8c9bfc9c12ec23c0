//! The files of a member of a cluster, given to others who are too far behind for messages, and fetched from them: the journal, and the
//! archive, without which no engine runs on a journal whose beginning is gone.
//!
//! What is fetched lies aside until all of it was checked. The journal comes into its place at the next opening of the member, and the
//! archive behind it: one that is older than the journal's beginning would have a hole.

use super::stages::{archive, engine_config};
use parking_lot::Mutex;
use ringside_config::Config;
use ringside_core::Engine;
use ringside_core::ids::Sequence;
use ringside_mirror::keys::Identity;
use ringside_mirror::members::{Agreement, Given, Member, Wanted, fetch};
use ringside_persist::archive::sqlite::Sqlite;
use ringside_persist::archive::{Archive, ArchiveError};
use ringside_persist::config::PersistConfig;
use ringside_persist::quorum::install::{Fetch, Fetched};
use ringside_persist::quorum::node::Node;
use ringside_persist::storage::Storage;
use ringside_persist::storage::disk::{Disk, Lock, make_folder};
use ringside_persist::write::status::Position;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio_util::sync::CancellationToken;

/// See the module.
pub(super) struct Files {
    pub(super) config: Arc<Config>,
    pub(super) member: u64,
    pub(super) identity: Identity,
    pub(super) agreement: Agreement,
    pub(super) taken: Lock,
    pub(super) disk: Arc<Disk>,
    pub(super) persist: PersistConfig,
    /// What of the journal is agreed on, while the member is open.
    pub(super) agreed: Mutex<Option<Agreed>>,
    /// How often they were given.
    pub(super) given: AtomicU64,
}

/// What of a journal is agreed on.
#[derive(Clone, Copy)]
pub(super) struct Agreed {
    index: u64,
    position: Position,
    sequence: Sequence,
}

impl Files {
    /// So far the files are agreed on; `None`: they may not be read now.
    pub(super) fn show(&self, node: Option<&Node>) {
        let agreed = node.and_then(|node| {
            let (position, sequence) = node.agreed()?;
            Some(Agreed { index: node.batches().1, position, sequence })
        });
        *self.agreed.lock() = agreed;
    }

    fn agreed(&self) -> Result<Agreed, String> {
        let agreed = *self.agreed.lock();
        agreed.ok_or_else(|| "this member has no journal to give now".to_owned())
    }

    /// For one who wants everything up to batch `wanted` at least.
    pub(super) fn give(&self, wanted: u64) -> Result<Given, String> {
        let Agreed { index, .. } = self.agreed()?;
        if index < wanted {
            return Err(format!(
                "this member knows of {index} batches that are agreed on, {wanted} are wanted"
            ));
        }
        let held = self.disk.hold().map_err(|error| error.to_string())?;
        let beside = self.copy_archive().map_err(|error| format!("the archive cannot be copied: {error}"))?;
        // Behind the copy, which is of no later command then.
        let Agreed { position, sequence, .. } = self.agreed()?;
        Ok(Given {
            storage: self.disk.clone(),
            position,
            sequence,
            segment_len: self.persist.segment_len,
            beside,
            held: Box::new(held),
        })
    }

    /// A copy of the archive that nobody else has a name for: it goes with its last reader.
    fn copy_archive(&self) -> Result<Option<File>, ArchiveError> {
        let number = self.given.fetch_add(1, Ordering::Relaxed);
        let path = self.config.data_dir.join(format!("archive.given-{number}"));
        let failed = |cause: io::Error| ArchiveError::Folder { path: path.clone(), cause };
        remove_if_there(&path).map_err(failed)?;
        if archive(&self.config).copy(&path)?.is_none() {
            return Ok(None);
        }
        let file = File::open(&path).map_err(failed)?;
        fs::remove_file(&path).map_err(failed)?;
        Ok(Some(file))
    }

    fn folder(&self) -> PathBuf {
        self.config.data_dir.join("archive.fetched")
    }

    fn fetched_archive(&self) -> Sqlite {
        Sqlite::new(self.folder().join("history.db"))
    }

    /// Fetches everything up to batch `index` at least and reads it back; `None` where it was cancelled. Takes as long as it takes.
    pub(super) fn fetch(
        &self,
        index: u64,
        sources: impl Fn() -> Vec<Member>,
        cancelled: &CancellationToken,
    ) -> Result<Option<Fetched>, String> {
        let beside = self.fetched_archive();
        let prepare = || {
            make_folder(&self.folder())?;
            remove_if_there(beside.path())
        };
        prepare().map_err(|error| format!("{}: {error}", beside.path().display()))?;
        let storage: Arc<dyn Storage> = self.disk.clone();
        let wanted = Wanted {
            me: self.member,
            identity: &self.identity,
            agreement: self.agreement,
            index,
            beside: beside.path(),
        };
        let begin = || Fetch::begin(&storage, self.taken.clone(), &self.persist, true);
        let come = fetch(&wanted, sources, begin, cancelled).map_err(|error| error.to_string())?;
        let Some(come) = come else { return Ok(None) };
        let fetched =
            come.check::<Engine>(&engine_config(&self.config)).map_err(|error| error.to_string())?;
        let kept = mark_of(&beside)?;
        if kept < fetched.snapshot || kept > fetched.sequence {
            return Err(format!(
                "the archive that came is complete through {kept}, and the journal is from {} to {}",
                fetched.snapshot, fetched.sequence
            ));
        }
        Ok(Some(fetched))
    }

    /// Puts an archive that was fetched in the place of the own one, if it knows more and nothing that is not in the journal, which is
    /// agreed on up to `sequence`. Whether it did: whoever had the own one open reads what is gone.
    pub(super) fn take_over_archive(&self, sequence: Sequence) -> Result<bool, ArchiveError> {
        let (fetched, own) = (self.fetched_archive(), archive(&self.config));
        let folder = self.folder();
        let failed = |cause: io::Error| ArchiveError::Folder { path: folder.clone(), cause };
        if !folder.exists() {
            return Ok(false);
        }
        let (theirs, ours) = (mark_of(&fetched).unwrap_or(0), mark_of(&own).unwrap_or(0));
        let is_better = theirs > ours && theirs <= sequence;
        if is_better {
            let replace = || {
                let parent = own.path().parent().unwrap_or(Path::new("."));
                make_folder(parent)?;
                // The log of the one would be taken for that of the other.
                for part in ["-wal", "-shm"] {
                    let mut name = own.path().as_os_str().to_owned();
                    name.push(part);
                    remove_if_there(Path::new(&name))?;
                }
                fs::rename(fetched.path(), own.path())?;
                File::open(parent)?.sync_all()
            };
            replace().map_err(failed)?;
            tracing::info!(
                through = theirs,
                before = ours,
                "the archive of another member takes the place of this one's"
            );
        }
        fs::remove_dir_all(&folder).map_err(failed)?;
        Ok(is_better)
    }
}

/// How far an archive is complete; 0 where there is none.
fn mark_of(archive: &Sqlite) -> Result<Sequence, String> {
    if !archive.path().exists() {
        return Ok(0);
    }
    let mark = archive.reader().and_then(|mut reader| reader.mark());
    mark.map(|mark| mark.sequence).map_err(|error| error.to_string())
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
