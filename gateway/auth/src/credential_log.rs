//! The seam behind which credentials are kept: API keys, listen keys and logouts say here what changed, and know no journal.
//!
//! A credential is an entry of a keyed map ([`SideStore`]): its kind, its id, and bytes in which what is secret is sealed. A store of
//! credentials opens on such a map and hands its changes to a [`CredentialLog`]; the exchange's is its journal.

use parking_lot::Mutex;
use ringside_core::side::{SideEntry, SideStore};

/// An API key: id its number u64, bytes its record as JSON.
pub const API_KEY: u16 = 1;
/// When an API key was last used: id its number u64, bytes UNIX seconds i64.
pub const API_KEY_USE: u16 = 2;
/// The lowest number that no API key has had: no id, bytes u64.
pub const NEXT_API_KEY: u16 = 3;
/// The listen key of an account: id its number u32, bytes its record as JSON.
pub const LISTEN_KEY: u16 = 4;
/// The logout of an account: id its number u32, bytes the UNIX second i64 before which its tokens are dead.
pub const LOGOUT: u16 = 5;

/// What a change is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Somebody is let in: waited for, and refused where there is little room.
    Granted,
    /// Somebody may be kept out: waited for, and taken as long as orders may be cancelled.
    Revoked,
    /// Nobody waits for it: losing it loses no right.
    Noted,
}

/// Why a change is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CredentialLogError {
    /// Nothing of it was taken.
    #[error("there is no room for credentials")]
    Full,
    /// Nothing of it was taken.
    #[error("credentials are not taken yet, or more wait than are taken")]
    Busy,
    /// Nothing of it was taken.
    #[error("the credential is too long to be kept")]
    TooLong,
    /// Whether it is kept the next start finds. Nothing is taken any more.
    #[error("credentials could not be kept; restart to find out what is")]
    Failed,
    /// What was kept is no credential.
    #[error("{0} that is kept cannot be read")]
    Damaged(&'static str),
}

/// Keeps changes, in order.
pub trait CredentialLog: Send + Sync {
    /// Keeps changes; kept for good when this returns, so that anybody may be told of them, unless they are [`Change::Noted`].
    fn append(&self, entries: Vec<SideEntry>, change: Change) -> Result<(), CredentialLogError>;

    /// Whether it takes nothing more before a restart.
    fn has_failed(&self) -> bool;
}

/// Credentials of an exchange that does not run: who changes them takes them from here again.
#[derive(Debug, Default)]
pub struct HeldCredentials(Mutex<SideStore>);

impl HeldCredentials {
    /// These.
    pub fn new(side: SideStore) -> HeldCredentials {
        HeldCredentials(Mutex::new(side))
    }

    /// As they are now.
    pub fn side(&self) -> SideStore {
        self.0.lock().clone()
    }
}

impl CredentialLog for HeldCredentials {
    fn append(&self, entries: Vec<SideEntry>, _change: Change) -> Result<(), CredentialLogError> {
        let mut side = self.0.lock();
        entries.into_iter().for_each(|entry| side.apply(entry));
        Ok(())
    }

    fn has_failed(&self) -> bool {
        false
    }
}

/// The number in an id or in bytes.
pub(crate) fn number<const N: usize>(
    bytes: &[u8],
    what: &'static str,
) -> Result<[u8; N], CredentialLogError> {
    bytes.try_into().map_err(|_| CredentialLogError::Damaged(what))
}
