//! The seam behind which credentials are kept: API keys, listen keys and logouts say here what changed, and know no file.

use super::key_log::{KeyLog, KeyLogError, Logged};
use std::path::{Path, PathBuf};

/// A log of changes of one kind, in order.
pub trait CredentialLog<R>: Send {
    /// What was appended so far, and how many bytes of a change that was never acknowledged were dropped.
    fn replay(&mut self) -> Result<(Vec<R>, usize), KeyLogError>;

    /// Goes on behind `live`, which stand for all that was replayed. Nothing is appended before.
    fn begin(&mut self, live: &[R]) -> Result<(), KeyLogError>;

    /// Appends a change; kept for good when this returns, where `is_synced`, and otherwise before another one is. A log that is mostly
    /// history may begin anew with what `live` gives. After an error nothing is appended again, unless there was no room.
    fn append(
        &mut self,
        record: &R,
        is_synced: bool,
        live: &mut dyn FnMut() -> Vec<R>,
    ) -> Result<(), KeyLogError>;

    /// Whether it takes nothing more before a restart.
    fn has_failed(&self) -> bool;

    /// The file behind it.
    #[cfg(test)]
    fn file(&mut self) -> &mut KeyLog<R>;
}

/// One that is a file of this host.
pub struct CredentialFile<R> {
    path: PathBuf,
    log: Option<KeyLog<R>>,
}

impl<R: Logged + 'static> CredentialFile<R> {
    /// Of this path; it need not be there.
    pub fn at(path: &Path) -> Box<dyn CredentialLog<R>> {
        Box::new(CredentialFile { path: path.to_owned(), log: None })
    }
}

impl<R: Logged> CredentialLog<R> for CredentialFile<R> {
    fn replay(&mut self) -> Result<(Vec<R>, usize), KeyLogError> {
        KeyLog::read(&self.path)
    }

    fn begin(&mut self, live: &[R]) -> Result<(), KeyLogError> {
        self.log = Some(KeyLog::renew(&self.path, live)?);
        Ok(())
    }

    fn append(
        &mut self,
        record: &R,
        is_synced: bool,
        live: &mut dyn FnMut() -> Vec<R>,
    ) -> Result<(), KeyLogError> {
        let log = self.log.as_mut().ok_or(KeyLogError::Failed)?;
        log.shorten(live)?;
        log.append(record, is_synced)
    }

    fn has_failed(&self) -> bool {
        self.log.as_ref().is_none_or(KeyLog::has_failed)
    }

    #[cfg(test)]
    fn file(&mut self) -> &mut KeyLog<R> {
        self.log.as_mut().unwrap()
    }
}
