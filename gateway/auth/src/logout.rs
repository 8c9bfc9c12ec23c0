//! Logins that their owners took back: `auth/logouts.log` says of an account before which second all its tokens are dead.
//!
//! All of an account's at once: whoever fears that one was captured cannot say which. A token carries whole seconds, so a logout
//! counts from the next one on, and a login behind it is dated there.

use crate::credential_log::{CredentialFile, CredentialLog};
use crate::key_log::{KeyLogError, Logged};
use parking_lot::{Mutex, RwLock};
use ringside_core::ids::AccountId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Name of the file.
pub const FILE: &str = "logouts.log";

/// One logout, as it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Logout {
    account: AccountId,
    /// UNIX seconds: tokens issued earlier are dead.
    before_s: i64,
}

impl Logged for Logout {
    const MAGIC: [u8; 8] = *b"RSLOGOUT";
    const VERSION: u32 = 1;
}

/// Ends, in the file of an exchange that does not run, every login of these accounts that there is at this second.
pub fn end_all(
    path: &Path,
    accounts: impl IntoIterator<Item = AccountId>,
    now_s: i64,
) -> Result<(), KeyLogError> {
    let (logouts, _) = Logouts::open(CredentialFile::at(path))?;
    for account in accounts {
        let before_s = logouts.issue_at_s(account, now_s) + 1;
        logouts.bound(account).store(before_s, Ordering::Relaxed);
    }
    logouts.log.lock().begin(&logouts.records())
}

/// The logouts of a deployment.
pub struct Logouts {
    /// Of accounts that have logged out, or whose logins somebody watches: the second before which tokens are dead.
    bounds: RwLock<HashMap<AccountId, Arc<AtomicI64>>>,
    log: Mutex<Box<dyn CredentialLog<Logout>>>,
}

/// A login, for as long as its account does not log out.
#[derive(Clone, Debug)]
pub struct Grant {
    bound: Arc<AtomicI64>,
    issued_at_s: i64,
}

impl Grant {
    /// Whether its account has logged out since.
    pub fn is_over(&self) -> bool {
        // Stands for itself: nothing is published with it.
        self.issued_at_s < self.bound.load(Ordering::Relaxed)
    }
}

impl Logouts {
    /// Replays the log and begins it anew with one record for each account; how many bytes of an unfinished one were dropped.
    pub fn open(mut log: Box<dyn CredentialLog<Logout>>) -> Result<(Logouts, usize), KeyLogError> {
        let (records, dropped_bytes) = log.replay()?;
        let mut bounds: BTreeMap<AccountId, i64> = BTreeMap::new();
        for Logout { account, before_s } in records {
            let bound = bounds.entry(account).or_default();
            *bound = before_s.max(*bound);
        }
        let live: Vec<Logout> =
            bounds.iter().map(|(&account, &before_s)| Logout { account, before_s }).collect();
        log.begin(&live)?;
        let bounds = bounds.into_iter().map(|(account, bound)| (account, Arc::new(AtomicI64::new(bound))));
        Ok((Logouts { bounds: RwLock::new(bounds.collect()), log: Mutex::new(log) }, dropped_bytes))
    }

    /// Whether its log failed: it takes nothing more before a restart.
    pub fn has_failed(&self) -> bool {
        self.log.lock().has_failed()
    }

    /// A login of an account, issued at that second.
    pub fn grant(&self, account: AccountId, issued_at_s: i64) -> Grant {
        Grant { bound: self.bound(account), issued_at_s }
    }

    /// The second that a login made now is dated at: behind the account's last logout.
    pub fn issue_at_s(&self, account: AccountId, now_s: i64) -> i64 {
        let bounds = self.bounds.read();
        bounds.get(&account).map_or(now_s, |bound| bound.load(Ordering::Relaxed).max(now_s))
    }

    /// Ends every login of an account that there is; none is good any more when this returns. Blocks for a sync of the disk.
    pub fn log_out(&self, account: AccountId, now_s: i64) -> Result<(), KeyLogError> {
        let mut log = self.log.lock();
        // A login may have been dated behind an earlier logout.
        let before_s = self.issue_at_s(account, now_s) + 1;
        log.append(&Logout { account, before_s }, true, &mut || self.records())?;
        self.bound(account).fetch_max(before_s, Ordering::Relaxed);
        Ok(())
    }

    /// One record for each account that has logged out.
    fn records(&self) -> Vec<Logout> {
        let bounds = self.bounds.read();
        let record = |(account, bound): (&AccountId, &Arc<AtomicI64>)| Logout {
            account: *account,
            before_s: bound.load(Ordering::Relaxed),
        };
        // Where it is 0, somebody watches an account that never did.
        bounds.iter().map(record).filter(|logout| logout.before_s > 0).collect()
    }

    fn bound(&self, account: AccountId) -> Arc<AtomicI64> {
        if let Some(bound) = self.bounds.read().get(&account) {
            return bound.clone();
        }
        self.bounds.write().entry(account).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key_log::HISTORY_LEN_MAX;
    use std::path::PathBuf;

    const NOW_S: i64 = 1_700_000_000;

    fn path(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("ringside-logout-{name}-{}.log", std::process::id()));
        let _ = std::fs::remove_file(&path);
        path
    }

    #[test]
    fn a_logout_ends_what_was_issued_and_nothing_later() {
        let path = path("ends");
        let (logouts, _) = Logouts::open(CredentialFile::at(&path)).unwrap();
        let (own, other) = (logouts.grant(7, NOW_S), logouts.grant(8, NOW_S));
        assert!(!own.is_over());
        logouts.log_out(7, NOW_S).unwrap();
        assert!(own.is_over() && !other.is_over());
        // A login in the same second is dated behind the logout, and ended by a second one.
        let again = logouts.issue_at_s(7, NOW_S);
        assert_eq!((again, logouts.issue_at_s(8, NOW_S)), (NOW_S + 1, NOW_S));
        let again = logouts.grant(7, again);
        assert!(!again.is_over());
        logouts.log_out(7, NOW_S).unwrap();
        assert!(again.is_over());
        // A clock that stepped back makes none good again.
        assert_eq!(logouts.issue_at_s(7, NOW_S - 5_000), NOW_S + 2);
        let _ = std::fs::remove_file(path);
    }

    #[test]
    fn the_file_is_bounded_by_the_accounts() {
        let path = path("growth");
        let (logouts, _) = Logouts::open(CredentialFile::at(&path)).unwrap();
        let watched = logouts.grant(9, NOW_S);
        let logouts_made = 100;
        for n in 0..logouts_made {
            logouts.log_out(7 + n as u32 % 2, NOW_S + n).unwrap();
            // As many as would take the disk minutes, at once.
            logouts.log.lock().file().repeat(&Logout { account: 7, before_s: 1 }, 400);
        }
        let len = std::fs::metadata(&path).unwrap().len();
        assert!(len < HISTORY_LEN_MAX + 50_000, "{len}");
        drop(logouts);
        let (logouts, _) = Logouts::open(CredentialFile::at(&path)).unwrap();
        let last = NOW_S + logouts_made - 1;
        assert!(logouts.grant(8, last).is_over() && !logouts.grant(8, last + 1).is_over());
        assert!(logouts.grant(7, last - 1).is_over() && !watched.is_over());
        assert_eq!(logouts.records().len(), 2);
        let _ = std::fs::remove_file(path);
    }

    #[test]
    fn logouts_outlive_the_process() {
        let path = path("kept");
        let (logouts, _) = Logouts::open(CredentialFile::at(&path)).unwrap();
        for now_s in [NOW_S, NOW_S + 500] {
            logouts.log_out(7, now_s).unwrap();
        }
        for _ in 0..2 {
            let (logouts, dropped) = Logouts::open(CredentialFile::at(&path)).unwrap();
            assert_eq!(dropped, 0);
            assert!(logouts.grant(7, NOW_S + 500).is_over());
            assert!(!logouts.grant(7, NOW_S + 501).is_over() && !logouts.grant(8, NOW_S).is_over());
        }
        let _ = std::fs::remove_file(path);
    }
}
