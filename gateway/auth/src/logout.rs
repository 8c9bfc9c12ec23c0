//! Logins that their owners took back: of an account, before which second all its tokens are dead.
//!
//! All of an account's at once: whoever fears that one was captured cannot say which. A token carries whole seconds, so a logout
//! counts from the next one on, and a login behind it is dated there.

use crate::credential_log::{Change, CredentialLog, CredentialLogError, HeldCredentials, LOGOUT, number};
use parking_lot::{Mutex, RwLock};
use ringside_core::ids::AccountId;
use ringside_core::side::{SideEntry, SideStore};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// Ends, among the credentials of an exchange that does not run, every login of these accounts that there is at this second.
///
/// Errors: as [`Logouts::open`].
pub fn end_all(
    side: SideStore,
    accounts: impl IntoIterator<Item = AccountId>,
    now_s: i64,
) -> Result<SideStore, CredentialLogError> {
    let held = Arc::new(HeldCredentials::new(side));
    let logouts = Logouts::open(&held.side(), held.clone())?;
    accounts.into_iter().try_for_each(|account| logouts.log_out(account, now_s))?;
    Ok(held.side())
}

/// What is kept of a logout.
pub(crate) fn entry(account: AccountId, before_s: i64) -> SideEntry {
    SideEntry::put(LOGOUT, &account.to_le_bytes(), before_s.to_le_bytes().to_vec())
}

/// The logouts of a deployment.
pub struct Logouts {
    /// Of accounts that have logged out, or whose logins somebody watches: the second before which tokens are dead.
    bounds: RwLock<HashMap<AccountId, Arc<AtomicI64>>>,
    log: Mutex<Arc<dyn CredentialLog>>,
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
    /// Those that are kept; changes go to `log`.
    ///
    /// Errors: what is kept is no logout.
    pub fn open(side: &SideStore, log: Arc<dyn CredentialLog>) -> Result<Logouts, CredentialLogError> {
        let logouts = Logouts { bounds: RwLock::default(), log: Mutex::new(log) };
        logouts.refresh(side)?;
        Ok(logouts)
    }

    /// Has what another process keeps: where that one writes the journal. Logins that it ended are over here.
    ///
    /// Errors: as [`Logouts::open`].
    pub(crate) fn refresh(&self, side: &SideStore) -> Result<(), CredentialLogError> {
        for (id, bytes) in side.of_kind(LOGOUT) {
            let account = AccountId::from_le_bytes(number(id, "a logout")?);
            let before_s = i64::from_le_bytes(number(bytes, "a logout")?);
            self.bound(account).fetch_max(before_s, Ordering::Relaxed);
        }
        Ok(())
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

    /// Ends every login of an account that there is; none is good any more when this returns. Blocks until it is kept.
    pub fn log_out(&self, account: AccountId, now_s: i64) -> Result<(), CredentialLogError> {
        let log = self.log.lock();
        // A login may have been dated behind an earlier logout.
        let before_s = self.issue_at_s(account, now_s) + 1;
        log.append(vec![entry(account, before_s)], Change::Revoked)?;
        self.bound(account).fetch_max(before_s, Ordering::Relaxed);
        Ok(())
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

    const NOW_S: i64 = 1_700_000_000;

    fn open(held: &Arc<HeldCredentials>) -> Logouts {
        Logouts::open(&held.side(), held.clone()).unwrap()
    }

    #[test]
    fn a_logout_that_another_process_keeps_ends_logins_here() {
        let held = Arc::default();
        let (writes, follows) = (open(&held), open(&held));
        let grant = follows.grant(7, NOW_S);
        writes.log_out(7, NOW_S).unwrap();
        assert!(!grant.is_over());
        follows.refresh(&held.side()).unwrap();
        assert!(grant.is_over() && follows.issue_at_s(7, NOW_S) == NOW_S + 1);
    }

    #[test]
    fn a_logout_ends_what_was_issued_and_nothing_later() {
        let logouts = open(&Arc::default());
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
    }

    #[test]
    fn logouts_outlive_the_process_in_one_entry_for_each_account() {
        let held = Arc::<HeldCredentials>::default();
        let logouts = open(&held);
        let watched = logouts.grant(9, NOW_S);
        for now_s in [NOW_S, NOW_S + 500] {
            logouts.log_out(7, now_s).unwrap();
        }
        assert_eq!(held.side().len(), 1);
        let logouts = open(&held);
        assert!(logouts.grant(7, NOW_S + 500).is_over() && !watched.is_over());
        assert!(!logouts.grant(7, NOW_S + 501).is_over() && !logouts.grant(8, NOW_S).is_over());
    }

    #[test]
    fn all_logins_of_an_exchange_that_does_not_run_are_ended() {
        let held = Arc::<HeldCredentials>::default();
        open(&held).log_out(1, NOW_S + 9).unwrap();
        let side = end_all(held.side(), 1..4, NOW_S).unwrap();
        let logouts = Logouts::open(&side, Arc::new(HeldCredentials::default())).unwrap();
        assert!(logouts.grant(1, NOW_S + 10).is_over(), "one that was dated behind a logout");
        for account in [2, 3] {
            assert!(logouts.grant(account, NOW_S).is_over() && !logouts.grant(account, NOW_S + 1).is_over());
        }
        assert!(!logouts.grant(4, NOW_S).is_over());
    }
}
