//! Keys of user streams: one active per account, whichever API key made it, for an hour after its last renewal, and no longer than
//! any API key that it was told to (`perpetual.md` 10, `perpetual-stream.md` 3).
//!
//! Like API keys they are no command. They are kept sealed ([`CredentialLog`]), one entry for each account, and found by the hash of
//! their text. A key that was answered, and its end, are durable before the answer; renewals by requests as well. Renewals by
//! activity on a stream are noted at most once a minute, all together, and not waited for: after a crash such a key may end up to two
//! minutes early. Which connection listens with a key is not known here: a connection holds the [`ListenKey`] and asks it whether it
//! still lives.

use crate::credential_log::{Change, CredentialLog, CredentialLogError, LISTEN_KEY, number};
use crate::seal::{SealError, Sealer};
use crate::secret::{self, RandomError};
use parking_lot::{Mutex, RwLock};
use ringside_core::ids::AccountId;
use ringside_core::side::{SideEntry, SideStore};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use zeroize::Zeroizing;

/// Characters of a key.
pub const LISTEN_KEY_LEN: usize = 64;
/// How long a key lives after its last renewal, in milliseconds.
pub const LISTEN_KEY_LIFE_MS: i64 = 3_600_000;
/// The time at which what never expires would.
pub const ENDLESS: i64 = i64::MAX;

/// One key. It lives until its time is over or it is ended, and never again after that.
#[derive(Debug)]
pub struct ListenKey {
    account: AccountId,
    text: Zeroizing<String>,
    sealed: Vec<u8>,
    /// UNIX milliseconds: the first moment at which it is no longer good.
    expires_at_ms: AtomicI64,
    /// UNIX milliseconds: when the first of the API keys that it was told to expires, [`ENDLESS`] for never. No renewal goes beyond.
    until_ms: AtomicI64,
    /// `expires_at_ms` as it is kept.
    noted_ms: AtomicI64,
    has_ended: AtomicBool,
}

/// A key at rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    /// Its text, sealed.
    #[serde(with = "const_hex::serde")]
    pub(crate) sealed: Vec<u8>,
    /// UNIX milliseconds.
    pub(crate) expires_at_ms: i64,
    /// UNIX milliseconds that no renewal keeps it beyond, or never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) until_ms: Option<i64>,
}

/// Why a key could not be made, renewed or ended.
#[derive(Debug, thiserror::Error)]
pub enum ListenKeyError {
    /// It could not be made durable.
    #[error(transparent)]
    Log(#[from] CredentialLogError),
    /// It does not open, or could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// All listen keys of a deployment.
pub struct ListenKeys {
    index: RwLock<Index>,
    log: Mutex<Arc<dyn CredentialLog>>,
    sealer: Sealer,
}

#[derive(Default)]
struct Index {
    by_hash: HashMap<[u8; 32], Arc<ListenKey>>,
    by_account: HashMap<AccountId, Arc<ListenKey>>,
}

impl ListenKey {
    /// Whose it is.
    pub fn account(&self) -> AccountId {
        self.account
    }

    /// What the client knows it by.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it is still good.
    #[inline]
    pub fn is_active(&self, now_ms: i64) -> bool {
        // A stream may hear of the end of its key a moment late: nothing else is published with these.
        !self.has_ended.load(Ordering::Relaxed)
            && now_ms < self.expires_at_ms.load(Ordering::Relaxed)
            && now_ms < self.until_ms.load(Ordering::Relaxed)
    }

    /// Gives it a whole life from now, unless it is over; whether it lives.
    pub fn renew(&self, now_ms: i64) -> bool {
        let is_active = self.is_active(now_ms);
        if is_active {
            let life_ms = (now_ms + LISTEN_KEY_LIFE_MS).min(self.until_ms.load(Ordering::Relaxed));
            self.expires_at_ms.fetch_max(life_ms, Ordering::Relaxed);
        }
        is_active
    }

    /// Lets it live no longer than this.
    fn bound(&self, until_ms: i64) {
        self.until_ms.fetch_min(until_ms, Ordering::Relaxed);
    }

    fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

impl ListenKeys {
    /// The keys that are kept; changes go to `log`. Refuses where a key does not open under the sealer.
    pub fn open(
        side: &SideStore,
        log: Arc<dyn CredentialLog>,
        sealer: Sealer,
    ) -> Result<ListenKeys, ListenKeyError> {
        let index = RwLock::new(Index::read(side, &sealer)?);
        Ok(ListenKeys { index, log: Mutex::new(log), sealer })
    }

    /// Has what another process keeps: where that one writes the journal. Nobody's stream lives by a key of before.
    ///
    /// Errors: as [`ListenKeys::open`]; everything is as before then.
    pub(crate) fn refresh(&self, side: &SideStore) -> Result<(), ListenKeyError> {
        let _log = self.log.lock();
        *self.index.write() = Index::read(side, &self.sealer)?;
        Ok(())
    }

    /// Whether its log failed: it takes nothing more before a restart.
    pub fn has_failed(&self) -> bool {
        self.log.lock().has_failed()
    }

    /// The active key of this text.
    pub fn find(&self, text: &str, now_ms: i64) -> Option<Arc<ListenKey>> {
        if text.len() != LISTEN_KEY_LEN {
            return None;
        }
        let hash: [u8; 32] = Sha256::digest(text.as_bytes()).into();
        let key = self.index.read().by_hash.get(&hash).cloned();
        key.filter(|key| key.is_active(now_ms))
    }

    /// The active key of an account.
    pub fn of_account(&self, account: AccountId, now_ms: i64) -> Option<Arc<ListenKey>> {
        let key = self.index.read().by_account.get(&account).cloned();
        key.filter(|key| key.is_active(now_ms))
    }

    /// The active key of an account, renewed, or a new one, for an API key that expires at `until_ms`. Blocks until it is kept.
    pub fn obtain(
        &self,
        account: AccountId,
        until_ms: i64,
        now_ms: i64,
    ) -> Result<Arc<ListenKey>, ListenKeyError> {
        let log = self.log.lock();
        if let Some(key) = self.renew_held(&**log, account, until_ms, now_ms)? {
            return Ok(key);
        }
        let text = secret::random_text(LISTEN_KEY_LEN)?;
        let sealed = self.sealer.seal(&context(account), text.as_bytes())?;
        let expires_at_ms = (now_ms + LISTEN_KEY_LIFE_MS).min(until_ms);
        let key = ListenKey::new(account, text, sealed, (expires_at_ms, until_ms));
        log.append(vec![key.entry()], Change::Granted)?;
        Ok(self.index.write().put(key))
    }

    /// Renews the active key of an account, if it has one, for an API key that expires at `until_ms` and is told it. Blocks
    /// until it is kept.
    pub fn renew(
        &self,
        account: AccountId,
        until_ms: i64,
        now_ms: i64,
    ) -> Result<Option<Arc<ListenKey>>, ListenKeyError> {
        self.renew_held(&**self.log.lock(), account, until_ms, now_ms)
    }

    /// Ends the key of an account, if it has one; its streams end with it. Blocks until it is kept.
    pub fn end(&self, account: AccountId, now_ms: i64) -> Result<(), ListenKeyError> {
        let log = self.log.lock();
        if self.of_account(account, now_ms).is_some() {
            log.append(vec![gone(account)], Change::Revoked)?;
            self.index.write().remove(account);
        }
        Ok(())
    }

    /// Notes which keys were renewed by their streams, and lets go of those that are over. Not kept yet when this returns. To be called
    /// once a minute.
    pub fn note_activity(&self, now_ms: i64) -> Result<(), ListenKeyError> {
        let log = self.log.lock();
        let expires_at_ms = |key: &Arc<ListenKey>| key.expires_at_ms.load(Ordering::Relaxed);
        let (live, over): (Vec<_>, Vec<_>) = {
            let index = self.index.read();
            index.by_account.values().cloned().partition(|key| key.is_active(now_ms))
        };
        let renewed = live.into_iter().map(|key| (expires_at_ms(&key), key));
        let renewed: Vec<_> =
            renewed.filter(|(until, key)| *until > key.noted_ms.load(Ordering::Relaxed)).collect();
        let entries = renewed.iter().map(|(until, key)| key.entry_until(*until));
        let entries: Vec<_> = entries.chain(over.iter().map(|key| gone(key.account))).collect();
        if entries.is_empty() {
            return Ok(());
        }
        log.append(entries, Change::Noted)?;
        renewed.iter().for_each(|(until, key)| key.noted_ms.store(*until, Ordering::Relaxed));
        let mut index = self.index.write();
        over.iter().for_each(|key| index.remove(key.account));
        Ok(())
    }

    fn renew_held(
        &self,
        log: &dyn CredentialLog,
        account: AccountId,
        until_ms: i64,
        now_ms: i64,
    ) -> Result<Option<Arc<ListenKey>>, ListenKeyError> {
        let Some(key) = self.of_account(account, now_ms) else { return Ok(None) };
        key.bound(until_ms);
        if !key.renew(now_ms) {
            return Ok(None);
        }
        let expires_at_ms = key.expires_at_ms.load(Ordering::Relaxed);
        log.append(vec![key.entry_until(expires_at_ms)], Change::Granted)?;
        key.noted_ms.store(expires_at_ms, Ordering::Relaxed);
        Ok(Some(key))
    }
}

impl ListenKey {
    /// `times`: when it expires, and beyond which time no renewal keeps it.
    fn new(account: AccountId, text: Zeroizing<String>, sealed: Vec<u8>, times: (i64, i64)) -> ListenKey {
        let (expires_at_ms, until_ms) = times;
        ListenKey {
            account,
            text,
            sealed,
            expires_at_ms: AtomicI64::new(expires_at_ms),
            until_ms: AtomicI64::new(until_ms),
            noted_ms: AtomicI64::new(expires_at_ms),
            has_ended: AtomicBool::new(false),
        }
    }

    fn entry(&self) -> SideEntry {
        self.entry_until(self.expires_at_ms.load(Ordering::Relaxed))
    }

    /// What is kept of it where it expires then.
    fn entry_until(&self, expires_at_ms: i64) -> SideEntry {
        let until_ms = Some(self.until_ms.load(Ordering::Relaxed)).filter(|until_ms| *until_ms != ENDLESS);
        entry(self.account, &Record { sealed: self.sealed.clone(), expires_at_ms, until_ms })
    }

    fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }
}

impl Index {
    fn read(side: &SideStore, sealer: &Sealer) -> Result<Index, ListenKeyError> {
        let mut index = Index::default();
        for (id, bytes) in side.of_kind(LISTEN_KEY) {
            let account = AccountId::from_le_bytes(number(id, "a listen key")?);
            let Record { sealed, expires_at_ms, until_ms } = of_bytes(bytes)?;
            let plain = sealer.open(&context(account), &sealed)?;
            let text = std::str::from_utf8(&plain).map_err(|_| SealError::DoesNotOpen)?;
            let (text, times) =
                (Zeroizing::new(text.to_owned()), (expires_at_ms, until_ms.unwrap_or(ENDLESS)));
            index.put(ListenKey::new(account, text, sealed, times));
        }
        Ok(index)
    }

    /// Enters a key; the one before of the account is over.
    fn put(&mut self, key: ListenKey) -> Arc<ListenKey> {
        self.remove(key.account);
        let key = Arc::new(key);
        self.by_hash.insert(key.hash(), key.clone());
        self.by_account.insert(key.account, key.clone());
        key
    }

    fn remove(&mut self, account: AccountId) {
        if let Some(key) = self.by_account.remove(&account) {
            key.end();
            self.by_hash.remove(&key.hash());
        }
    }
}

/// What is kept of the key of an account.
pub(crate) fn entry(account: AccountId, record: &Record) -> SideEntry {
    let bytes = serde_json::to_vec(record).unwrap_or_else(|_| unreachable!("numbers and bytes"));
    SideEntry::put(LISTEN_KEY, &account.to_le_bytes(), bytes)
}

fn gone(account: AccountId) -> SideEntry {
    SideEntry::delete(LISTEN_KEY, &account.to_le_bytes())
}

fn of_bytes(bytes: &[u8]) -> Result<Record, CredentialLogError> {
    serde_json::from_slice(bytes).map_err(|_| CredentialLogError::Damaged("a listen key"))
}

/// Among the credentials of an exchange that does not run: ends all keys of user streams.
pub fn end_all(side: &mut SideStore) {
    let ids: Vec<Vec<u8>> = side.of_kind(LISTEN_KEY).map(|(id, _)| id.to_vec()).collect();
    ids.iter().for_each(|id| side.apply(SideEntry::delete(LISTEN_KEY, id)));
}

/// What is sealed in the kept key of an account, sealed anew.
pub(crate) fn reseal(
    id: &[u8],
    bytes: &[u8],
    seal: impl FnOnce(&[u8], &[u8]) -> Result<Vec<u8>, SealError>,
) -> Result<Vec<u8>, ListenKeyError> {
    let account = AccountId::from_le_bytes(number(id, "a listen key")?);
    let mut record = of_bytes(bytes)?;
    record.sealed = seal(&context(account), &record.sealed)?;
    Ok(entry(account, &record).bytes.unwrap_or_default())
}

/// What a seal is bound to.
fn context(account: AccountId) -> Vec<u8> {
    [&b"listen key"[..], &account.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential_log::HeldCredentials;

    const NOW_MS: i64 = 1_700_000_000_000;

    fn open(held: &Arc<HeldCredentials>) -> ListenKeys {
        ListenKeys::open(&held.side(), held.clone(), Sealer::new(&[7; 32])).unwrap()
    }

    #[test]
    fn one_key_per_account_for_an_hour_after_its_renewal() {
        let held = Arc::default();
        let keys = open(&held);
        assert!(keys.renew(7, ENDLESS, NOW_MS).unwrap().is_none());
        let key = keys.obtain(7, ENDLESS, NOW_MS).unwrap();
        assert!(key.text().len() == 64 && key.text().bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert!(Arc::ptr_eq(&keys.obtain(7, ENDLESS, NOW_MS + 1_000).unwrap(), &key));
        assert_ne!(keys.obtain(8, ENDLESS, NOW_MS).unwrap().text(), key.text());
        // Its renewal counts from then, the last moment is not in it.
        assert!(keys.find(key.text(), NOW_MS + 3_600_999).is_some());
        assert!(keys.find(key.text(), NOW_MS + 3_601_000).is_none());
        assert!(!key.renew(NOW_MS + 3_601_000), "it does not come back");
        assert!(keys.renew(7, ENDLESS, NOW_MS + 3_601_000).unwrap().is_none());
        let next = keys.obtain(7, ENDLESS, NOW_MS + 3_601_000).unwrap();
        assert_ne!(next.text(), key.text());
        assert!(!key.is_active(NOW_MS), "even where a clock steps back");
        assert!(keys.find(key.text(), NOW_MS).is_none());
        assert!(keys.find("", NOW_MS).is_none());
    }

    #[test]
    fn who_does_not_write_the_journal_learns_what_others_keep_there() {
        let held = Arc::default();
        let (writes, follows) = (open(&held), open(&held));
        let key = writes.obtain(7, ENDLESS, NOW_MS).unwrap();
        assert!(follows.find(key.text(), NOW_MS).is_none());
        follows.refresh(&held.side()).unwrap();
        assert_eq!(follows.find(key.text(), NOW_MS).unwrap().account(), 7);
        writes.end(7, NOW_MS).unwrap();
        follows.refresh(&held.side()).unwrap();
        assert!(follows.find(key.text(), NOW_MS).is_none());
    }

    #[test]
    fn an_ended_key_is_over_for_who_holds_it() {
        let held = Arc::default();
        let keys = open(&held);
        keys.end(7, NOW_MS).unwrap();
        let key = keys.obtain(7, ENDLESS, NOW_MS).unwrap();
        keys.end(7, NOW_MS).unwrap();
        assert!(!key.is_active(NOW_MS) && !key.renew(NOW_MS));
        assert!(keys.of_account(7, NOW_MS).is_none());
        assert_ne!(keys.obtain(7, ENDLESS, NOW_MS).unwrap().text(), key.text());
    }

    #[test]
    fn keys_their_renewals_and_their_ends_survive_a_restart() {
        let held = Arc::default();
        let keys = open(&held);
        let [by_request, by_stream, unnoted, ended] =
            [1, 2, 3, 4].map(|account| keys.obtain(account, ENDLESS, NOW_MS).unwrap());
        keys.renew(1, ENDLESS, NOW_MS + 1_000).unwrap();
        assert!(by_stream.renew(NOW_MS + 2_000));
        keys.note_activity(NOW_MS + 2_000).unwrap();
        assert!(unnoted.renew(NOW_MS + 3_000));
        keys.end(4, NOW_MS).unwrap();
        drop(keys);
        for _ in 0..2 {
            let keys = open(&held);
            let lives = |key: &ListenKey, at_ms| keys.find(key.text(), at_ms).is_some();
            assert!(lives(&by_request, NOW_MS + 3_600_999) && !lives(&by_request, NOW_MS + 3_601_000));
            assert!(lives(&by_stream, NOW_MS + 3_601_999) && !lives(&by_stream, NOW_MS + 3_602_000));
            assert!(lives(&unnoted, NOW_MS + 3_599_999) && !lives(&unnoted, NOW_MS + 3_600_000));
            assert!(!lives(&ended, NOW_MS));
        }
    }

    #[test]
    fn no_key_is_kept_in_clear_and_it_opens_under_its_own_key_alone() {
        let held = Arc::default();
        let text = open(&held).obtain(7, ENDLESS, NOW_MS).unwrap().text().to_owned();
        let mut bytes = Vec::new();
        held.side().save(&mut bytes);
        for secret in [text.as_bytes(), const_hex::encode(&text).as_bytes()] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
        assert!(matches!(
            ListenKeys::open(&held.side(), held.clone(), Sealer::new(&[8; 32])),
            Err(ListenKeyError::Seal(SealError::DoesNotOpen))
        ));
    }

    #[test]
    fn of_a_key_that_is_over_nothing_is_kept() {
        let held = Arc::default();
        let keys = open(&held);
        let [early, late] =
            [1, 2].map(|account| keys.obtain(account, ENDLESS, NOW_MS + i64::from(account)).unwrap());
        keys.note_activity(early.expires_at_ms.load(Ordering::Relaxed)).unwrap();
        let kept: Vec<Vec<u8>> = held.side().of_kind(LISTEN_KEY).map(|(id, _)| id.to_vec()).collect();
        assert_eq!(kept, [late.account().to_le_bytes()]);
        assert!(keys.index.read().by_account.len() == 1 && keys.index.read().by_hash.len() == 1);
        // One of the same account that is made later is no such thing.
        let next = keys.obtain(1, ENDLESS, NOW_MS + LISTEN_KEY_LIFE_MS + 1).unwrap();
        keys.note_activity(NOW_MS + LISTEN_KEY_LIFE_MS + 1).unwrap();
        assert!(open(&held).find(next.text(), NOW_MS + LISTEN_KEY_LIFE_MS + 2).is_some());
        let mut side = held.side();
        end_all(&mut side);
        assert!(side.is_empty());
    }

    /// C-18: whoever was told it by an API key has it no longer than that.
    #[test]
    fn a_key_lives_no_longer_than_any_api_key_that_it_was_told_to() {
        let held = Arc::default();
        let keys = open(&held);
        let until = NOW_MS + 10_000;
        // Made by one that expires; told by another to one that does.
        let made = keys.obtain(1, until, NOW_MS).unwrap();
        let told = keys.obtain(2, ENDLESS, NOW_MS).unwrap();
        assert!(Arc::ptr_eq(&keys.renew(2, until, NOW_MS).unwrap().unwrap(), &told));
        // Who lives longer does not make it do so.
        assert!(Arc::ptr_eq(&keys.obtain(1, ENDLESS, NOW_MS + 1).unwrap(), &made));
        let free = keys.obtain(3, ENDLESS, NOW_MS).unwrap();
        for key in [&made, &told, &free] {
            assert!(key.renew(NOW_MS + 2));
        }
        keys.note_activity(NOW_MS + 2).unwrap();
        let check = |keys: &ListenKeys| {
            for key in [&made, &told] {
                assert!(keys.find(key.text(), until - 1).is_some_and(|key| key.renew(until - 1)));
                assert!(keys.find(key.text(), until).is_none());
            }
            assert!(keys.find(free.text(), until).is_some());
        };
        check(&keys);
        drop(keys);
        // Written as they came, and as a start writes them anew.
        check(&open(&held));
        let keys = open(&held);
        check(&keys);
        assert_ne!(keys.obtain(1, ENDLESS, until).unwrap().text(), made.text());
    }
}
