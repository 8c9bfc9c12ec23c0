//! Credentials in the journal: found there at the start, taken there from the files of earlier versions, and kept there while the
//! exchange runs.

use super::error::BootError;
use super::stages::{is_blank, persist_config};
use parking_lot::Mutex;
use ringside_auth::AuthError;
use ringside_auth::credential_log::{Change, CredentialLog, CredentialLogError};
use ringside_auth::former_files;
use ringside_commands::clock::Clock;
use ringside_config::Config;
use ringside_core::engine::ENGINE_VERSION;
use ringside_core::side::{SideEntry, SideStore};
use ringside_persist::error::PersistError;
use ringside_persist::recover::side;
use ringside_persist::storage::disk::{Disk, Lock};
use ringside_persist::write::side::{Purpose, SideError, SideWriter};
use std::path::Path;
use std::sync::Arc;

/// Hands changes to the journal, once that runs.
#[derive(Default)]
pub(super) struct JournalLog(Mutex<Option<SideWriter>>);

impl JournalLog {
    /// From here on changes are taken.
    pub(super) fn begin(&self, writer: SideWriter) {
        *self.0.lock() = Some(writer);
    }

    /// From here on none are: another host writes the journal.
    pub(super) fn end(&self) {
        self.0.lock().take();
    }
}

impl CredentialLog for JournalLog {
    fn append(&self, entries: Vec<SideEntry>, change: Change) -> Result<(), CredentialLogError> {
        let writer = self.0.lock().clone().ok_or(CredentialLogError::Busy)?;
        let purpose = match change {
            Change::Granted | Change::Noted => Purpose::Grants,
            Change::Revoked => Purpose::Revokes,
        };
        let refused = |error| match error {
            SideError::Full => CredentialLogError::Full,
            SideError::Busy => CredentialLogError::Busy,
            SideError::TooLong => CredentialLogError::TooLong,
            SideError::Ended => CredentialLogError::Failed,
        };
        let receipt = writer.append(entries, purpose).map_err(refused)?;
        match change {
            Change::Noted => {
                receipt.forget();
                Ok(())
            }
            // What is stored here is not yet what anybody may be told of: the receipt says when.
            Change::Granted | Change::Revoked => receipt.wait().map_err(refused),
        }
    }

    fn has_failed(&self) -> bool {
        self.0.lock().as_ref().is_some_and(SideWriter::is_ended)
    }
}

/// What the journal of the data folder holds of them, after what files of earlier versions held was taken along. Nobody but this process
/// uses the folder.
pub(super) fn find(config: &Config, clock: &Clock, taken: &Lock) -> Result<SideStore, BootError> {
    let journal = persist_config(config, clock).directory;
    let is_lost = is_blank(&journal) && config.data_dir.join("archive").exists();
    if !is_lost {
        take_along(config, clock, taken)?;
    }
    held(&journal)
}

/// What a journal holds of them.
pub(super) fn held(journal: &Path) -> Result<SideStore, BootError> {
    match is_blank(journal) {
        // Recovery founds one, or refuses to.
        true => Ok(SideStore::default()),
        // One that a first start did not come to begin has none.
        false => Ok(side::read(journal)?.unwrap_or_default()),
    }
}

/// Refuses a member's folder in which files of earlier versions hold some: nobody writes them into a cluster's journal.
pub(super) fn check_none_outside(config: &Config) -> Result<(), PersistError> {
    let found = former_files::found(&ringside_auth::folder(&config.data_dir));
    match found.first() {
        None => Ok(()),
        Some(file) => Err(PersistError::Member {
            reason: format!(
                "{} holds credentials of an earlier version: `ringside cluster init` takes them along where the journal is they belong to; \
                 elsewhere take the file away",
                file.display()
            ),
        }),
    }
}

/// Takes along what files of earlier versions hold. They are removed once the journal has it: killed before, the next start does the same
/// again, and comes to the same.
pub(crate) fn take_along(config: &Config, clock: &Clock, taken: &Lock) -> Result<(), BootError> {
    let folder = ringside_auth::folder(&config.data_dir);
    if former_files::found(&folder).is_empty() {
        return Ok(());
    }
    let mut cut = Vec::new();
    change(config, clock, taken, |side| {
        let mut wanted = side.clone();
        cut = former_files::enter(&folder, &mut wanted).map_err(AuthError::FormerFiles)?;
        Ok::<_, BootError>(wanted)
    })?;
    for (file, bytes) in cut {
        let file = file.display();
        tracing::warn!(
            "{file}: its last {bytes} bytes were no record and are dropped. A crash leaves that of a write that nobody was told \
             of; where there was none, the last change of that file was damaged and is lost"
        );
    }
    former_files::remove(&folder).map_err(AuthError::FormerFiles)?;
    tracing::info!("API keys, keys of user streams and logouts stand in the journal from now on");
    Ok(())
}

/// Changes those of an exchange that does not run, whose folder is taken.
pub(crate) fn change<E: From<PersistError>>(
    config: &Config,
    clock: &Clock,
    taken: &Lock,
    wanted: impl FnOnce(&SideStore) -> Result<SideStore, E>,
) -> Result<(), E> {
    let persist = persist_config(config, clock);
    let disk = Disk::open(&persist.directory, persist.method(), persist.any_file_system)?;
    side::change(Arc::new(disk), taken, &persist, ENGINE_VERSION, wanted)
}
