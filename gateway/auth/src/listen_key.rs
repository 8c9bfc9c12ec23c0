//! Keys of user streams: one active per account, whichever API key made it, for an hour after its last renewal, and no longer than
//! any API key that it was told to (`perpetual.md` 10, `perpetual-stream.md` 3).
//!
//! Like API keys they are no command: a key is a secret, and secrets reach no journal. They are kept in a log of their own
//! ([`CredentialLog`]), sealed, and found by the hash of their text. A key that was answered, and its end, are durable before the
//! answer; renewals by requests as well. Renewals by activity on a stream are noted at most once a minute, all in one record, and
//! not waited for: after a crash such a key may end up to two minutes early. Which connection listens with a key is not known here: a
//! connection holds the [`ListenKey`] and asks it whether it still lives.

use crate::credential_log::CredentialLog;
use crate::key_log::{KeyLogError, Logged, Resealed};
use crate::seal::{SealError, Sealer};
use crate::secret::{self, RandomError};
use parking_lot::{Mutex, RwLock};
use ringside_core::ids::AccountId;
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
/// Renewals noted in one record.
const RENEWALS_MAX: usize = 10_000;

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
    /// `expires_at_ms` as the file knows it.
    noted_ms: AtomicI64,
    has_ended: AtomicBool,
}

/// One change, at rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Record {
    /// The key of an account, in place of the one before.
    Put {
        /// Account id.
        account: AccountId,
        /// Its text, sealed.
        #[serde(with = "const_hex::serde")]
        sealed: Vec<u8>,
        /// UNIX milliseconds.
        expires_at_ms: i64,
    },
    /// The key of an account lives longer.
    Renewed {
        /// Account id.
        account: AccountId,
        /// UNIX milliseconds.
        expires_at_ms: i64,
    },
    /// An account has no key any more.
    Ended {
        /// Account id.
        account: AccountId,
    },
    /// The keys of accounts live longer: pairs of account and UNIX milliseconds. Since version 2.
    Renewals(Vec<(AccountId, i64)>),
    /// As `Put`, of a key that no renewal keeps beyond a time. Since version 3.
    PutUntil {
        /// Account id.
        account: AccountId,
        /// Its text, sealed.
        #[serde(with = "const_hex::serde")]
        sealed: Vec<u8>,
        /// UNIX milliseconds.
        expires_at_ms: i64,
        /// UNIX milliseconds.
        until_ms: i64,
    },
}

impl Logged for Record {
    const MAGIC: [u8; 8] = *b"RSLISTEN";
    const VERSION: u32 = 3;
}

/// Why a key could not be made, renewed or ended.
#[derive(Debug, thiserror::Error)]
pub enum ListenKeyError {
    /// It could not be made durable.
    #[error(transparent)]
    Log(#[from] KeyLogError),
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
    log: Mutex<Box<dyn CredentialLog<Record>>>,
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

    /// Lets it live no longer than this; whether it could before.
    fn bound(&self, until_ms: i64) -> bool {
        until_ms < self.until_ms.fetch_min(until_ms, Ordering::Relaxed)
    }

    fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}

impl ListenKeys {
    /// Replays the log and begins it anew without what is dead; says how many bytes of an unfinished record were
    /// dropped. Refuses where a key does not open under the sealer.
    pub fn open(
        mut log: Box<dyn CredentialLog<Record>>,
        sealer: Sealer,
    ) -> Result<(ListenKeys, usize), ListenKeyError> {
        let (records, dropped_bytes) = log.replay()?;
        let mut live: HashMap<AccountId, (Vec<u8>, i64, i64)> = HashMap::new();
        let renew = |live: &mut HashMap<AccountId, (Vec<u8>, i64, i64)>, account, expires_at_ms: i64| {
            if let Some((_, expires, _)) = live.get_mut(&account) {
                *expires = expires_at_ms.max(*expires);
            }
        };
        for record in records {
            match record {
                Record::Put { account, sealed, expires_at_ms } => {
                    live.insert(account, (sealed, expires_at_ms, ENDLESS));
                }
                Record::PutUntil { account, sealed, expires_at_ms, until_ms } => {
                    live.insert(account, (sealed, expires_at_ms, until_ms));
                }
                Record::Renewed { account, expires_at_ms } => renew(&mut live, account, expires_at_ms),
                Record::Renewals(renewals) => {
                    renewals.into_iter().for_each(|(account, until)| renew(&mut live, account, until));
                }
                Record::Ended { account } => drop(live.remove(&account)),
            }
        }
        let mut index = Index::default();
        for (account, (sealed, expires_at_ms, until_ms)) in live {
            let plain = sealer.open(&context(account), &sealed)?;
            let text = std::str::from_utf8(&plain).map_err(|_| SealError::DoesNotOpen)?;
            index.put(ListenKey::new(
                account,
                Zeroizing::new(text.to_owned()),
                sealed,
                (expires_at_ms, until_ms),
            ));
        }
        log.begin(&index.records())?;
        Ok((ListenKeys { index: RwLock::new(index), log: Mutex::new(log), sealer }, dropped_bytes))
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

    /// The active key of an account, renewed, or a new one, for an API key that expires at `until_ms`. Blocks for a sync of the disk.
    pub fn obtain(
        &self,
        account: AccountId,
        until_ms: i64,
        now_ms: i64,
    ) -> Result<Arc<ListenKey>, ListenKeyError> {
        let mut log = self.log.lock();
        if let Some(key) = self.renew_held(&mut **log, account, until_ms, now_ms)? {
            return Ok(key);
        }
        let text = secret::random_text(LISTEN_KEY_LEN)?;
        let sealed = self.sealer.seal(&context(account), text.as_bytes())?;
        let expires_at_ms = (now_ms + LISTEN_KEY_LIFE_MS).min(until_ms);
        let key = ListenKey::new(account, text, sealed, (expires_at_ms, until_ms));
        self.append(&mut **log, &key.record(), true, now_ms)?;
        Ok(self.index.write().put(key))
    }

    /// Renews the active key of an account, if it has one, for an API key that expires at `until_ms` and is told it. Blocks for a
    /// sync of the disk.
    pub fn renew(
        &self,
        account: AccountId,
        until_ms: i64,
        now_ms: i64,
    ) -> Result<Option<Arc<ListenKey>>, ListenKeyError> {
        self.renew_held(&mut **self.log.lock(), account, until_ms, now_ms)
    }

    /// Ends the key of an account, if it has one; its streams end with it. Blocks for a sync of the disk.
    pub fn end(&self, account: AccountId, now_ms: i64) -> Result<(), ListenKeyError> {
        let mut log = self.log.lock();
        if self.of_account(account, now_ms).is_some() {
            self.append(&mut **log, &Record::Ended { account }, true, now_ms)?;
            self.index.write().remove(account);
        }
        Ok(())
    }

    /// Notes in the file which keys were renewed by their streams. Not synced yet when this returns. To be called once a minute.
    pub fn note_activity(&self, now_ms: i64) -> Result<(), ListenKeyError> {
        let mut log = self.log.lock();
        let is_due = |key: &&Arc<ListenKey>| {
            key.is_active(now_ms)
                && key.expires_at_ms.load(Ordering::Relaxed) > key.noted_ms.load(Ordering::Relaxed)
        };
        let keys: Vec<Arc<ListenKey>> =
            self.index.read().by_account.values().filter(is_due).cloned().collect();
        for keys in keys.chunks(RENEWALS_MAX) {
            let until = |key: &Arc<ListenKey>| key.expires_at_ms.load(Ordering::Relaxed);
            let renewals: Vec<_> = keys.iter().map(|key| (key.account, until(key))).collect();
            self.append(&mut **log, &Record::Renewals(renewals.clone()), false, now_ms)?;
            for (key, (_, noted_ms)) in keys.iter().zip(renewals) {
                key.noted_ms.store(noted_ms, Ordering::Relaxed);
            }
        }
        Ok(())
    }

    fn renew_held(
        &self,
        log: &mut dyn CredentialLog<Record>,
        account: AccountId,
        until_ms: i64,
        now_ms: i64,
    ) -> Result<Option<Arc<ListenKey>>, ListenKeyError> {
        let Some(key) = self.of_account(account, now_ms) else { return Ok(None) };
        let is_bounded = key.bound(until_ms);
        if !key.renew(now_ms) {
            return Ok(None);
        }
        let expires_at_ms = key.expires_at_ms.load(Ordering::Relaxed);
        let record = if is_bounded { key.record() } else { Record::Renewed { account, expires_at_ms } };
        self.append(log, &record, true, now_ms)?;
        key.noted_ms.store(expires_at_ms, Ordering::Relaxed);
        Ok(Some(key))
    }

    fn append(
        &self,
        log: &mut dyn CredentialLog<Record>,
        record: &Record,
        is_synced: bool,
        now_ms: i64,
    ) -> Result<(), ListenKeyError> {
        let mut live = || {
            let mut index = self.index.write();
            index.forget(now_ms);
            index.records()
        };
        Ok(log.append(record, is_synced, &mut live)?)
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

    fn record(&self) -> Record {
        let (account, sealed) = (self.account, self.sealed.clone());
        let expires_at_ms = self.expires_at_ms.load(Ordering::Relaxed);
        match self.until_ms.load(Ordering::Relaxed) {
            ENDLESS => Record::Put { account, sealed, expires_at_ms },
            until_ms => Record::PutUntil { account, sealed, expires_at_ms, until_ms },
        }
    }

    fn hash(&self) -> [u8; 32] {
        Sha256::digest(self.text.as_bytes()).into()
    }
}

impl Index {
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

    /// Removes what has expired.
    fn forget(&mut self, now_ms: i64) {
        let over = |key: &&Arc<ListenKey>| !key.is_active(now_ms);
        let accounts: Vec<AccountId> = self.by_account.values().filter(over).map(|key| key.account).collect();
        accounts.into_iter().for_each(|account| self.remove(account));
    }

    /// Every key as a record.
    fn records(&self) -> Vec<Record> {
        self.by_account.values().map(|key| key.record()).collect()
    }
}

impl Resealed for Record {
    fn sealed(&mut self) -> Option<(&mut Vec<u8>, Vec<u8>)> {
        match self {
            Record::Put { account, sealed, .. } | Record::PutUntil { account, sealed, .. } => {
                Some((sealed, context(*account)))
            }
            Record::Renewed { .. } | Record::Renewals(_) | Record::Ended { .. } => None,
        }
    }
}

/// What a seal is bound to.
fn context(account: AccountId) -> Vec<u8> {
    [&b"listen key"[..], &account.to_le_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential_log::CredentialFile;
    use crate::key_log::{HISTORY_LEN_MAX, KeyLog};
    use std::path::PathBuf;

    const NOW_MS: i64 = 1_700_000_000_000;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let path = std::env::temp_dir().join(format!("ringside-listen-{}-{name}", std::process::id()));
            let _ = std::fs::remove_dir_all(&path);
            Folder(path)
        }

        fn path(&self) -> PathBuf {
            self.0.join("listen_keys.log")
        }

        fn open(&self) -> ListenKeys {
            ListenKeys::open(CredentialFile::at(&self.path()), Sealer::new(&[7; 32])).unwrap().0
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn one_key_per_account_for_an_hour_after_its_renewal() {
        let folder = Folder::new("life");
        let keys = folder.open();
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
    fn an_ended_key_is_over_for_who_holds_it() {
        let folder = Folder::new("end");
        let keys = folder.open();
        keys.end(7, NOW_MS).unwrap();
        let key = keys.obtain(7, ENDLESS, NOW_MS).unwrap();
        keys.end(7, NOW_MS).unwrap();
        assert!(!key.is_active(NOW_MS) && !key.renew(NOW_MS));
        assert!(keys.of_account(7, NOW_MS).is_none());
        assert_ne!(keys.obtain(7, ENDLESS, NOW_MS).unwrap().text(), key.text());
    }

    #[test]
    fn keys_their_renewals_and_their_ends_survive_a_restart() {
        let folder = Folder::new("restart");
        let keys = folder.open();
        let [by_request, by_stream, unnoted, ended] =
            [1, 2, 3, 4].map(|account| keys.obtain(account, ENDLESS, NOW_MS).unwrap());
        keys.renew(1, ENDLESS, NOW_MS + 1_000).unwrap();
        assert!(by_stream.renew(NOW_MS + 2_000));
        keys.note_activity(NOW_MS + 2_000).unwrap();
        assert!(unnoted.renew(NOW_MS + 3_000));
        keys.end(4, NOW_MS).unwrap();
        drop(keys);
        for _ in 0..2 {
            let keys = folder.open();
            let lives = |key: &ListenKey, at_ms| keys.find(key.text(), at_ms).is_some();
            assert!(lives(&by_request, NOW_MS + 3_600_999) && !lives(&by_request, NOW_MS + 3_601_000));
            assert!(lives(&by_stream, NOW_MS + 3_601_999) && !lives(&by_stream, NOW_MS + 3_602_000));
            assert!(lives(&unnoted, NOW_MS + 3_599_999) && !lives(&unnoted, NOW_MS + 3_600_000));
            assert!(!lives(&ended, NOW_MS));
        }
    }

    #[test]
    fn the_file_holds_no_key_in_clear_and_opens_under_its_own_key_alone() {
        let folder = Folder::new("seal");
        let text = folder.open().obtain(7, ENDLESS, NOW_MS).unwrap().text().to_owned();
        let bytes = std::fs::read(folder.path()).unwrap();
        for secret in [text.as_bytes(), const_hex::encode(&text).as_bytes()] {
            assert!(!bytes.windows(secret.len()).any(|window| window == secret));
        }
        assert!(matches!(
            ListenKeys::open(CredentialFile::at(&folder.path()), Sealer::new(&[8; 32])),
            Err(ListenKeyError::Seal(SealError::DoesNotOpen))
        ));
    }

    #[test]
    fn the_file_is_bounded_by_the_live_keys() {
        let folder = Folder::new("growth");
        let keys = folder.open();
        let key = keys.obtain(7, ENDLESS, NOW_MS).unwrap();
        let most = 2 * std::fs::metadata(folder.path()).unwrap().len() + HISTORY_LEN_MAX + 1_000;
        let (renewals, times) = (100, 300);
        let earlier = Record::Renewals(vec![(7, NOW_MS)]);
        let mut written = 0;
        for n in 0..renewals {
            keys.log.lock().file().repeat(&earlier, times);
            assert!(key.renew(NOW_MS + n + 1));
            keys.note_activity(NOW_MS + n + 1).unwrap();
            written += 45 * times as u64;
        }
        let len = std::fs::metadata(folder.path()).unwrap().len();
        assert!(len <= most && len < written, "{len} of {written}");
        drop(keys);
        assert!(folder.open().find(key.text(), NOW_MS + 3_600_000 + renewals - 1).is_some());
    }

    fn records() -> [Record; 5] {
        [
            Record::Put { account: 7, sealed: vec![1, 2, 3], expires_at_ms: NOW_MS },
            Record::Renewed { account: 7, expires_at_ms: NOW_MS + 1 },
            Record::Ended { account: 7 },
            Record::Renewals(vec![(7, NOW_MS + 2), (8, NOW_MS + 3)]),
            Record::PutUntil { account: 9, sealed: vec![4, 5], expires_at_ms: NOW_MS, until_ms: NOW_MS + 4 },
        ]
    }

    /// What was written before. A reader of it must stay.
    #[test]
    fn the_bytes_of_versions_1_and_2() {
        for (golden, count) in [
            (include_str!("../../tests/golden/listen_keys_v1.hex"), 3),
            (include_str!("../../tests/golden/listen_keys_v2.hex"), 4),
        ] {
            let folder = Folder::new(&format!("golden-{count}"));
            let bytes = const_hex::decode(golden.split_whitespace().collect::<String>()).unwrap();
            std::fs::create_dir_all(&folder.0).unwrap();
            std::fs::write(folder.path(), bytes).unwrap();
            assert_eq!(KeyLog::<Record>::read(&folder.path()).unwrap(), (records()[..count].to_vec(), 0));
        }
    }

    #[test]
    fn the_bytes_of_version_3() {
        let folder = Folder::new("golden-v3");
        let mut log = KeyLog::rewrite(&folder.path(), &records()[..1]).unwrap();
        for record in &records()[1..] {
            log.append(record, false).unwrap();
        }
        let written = const_hex::encode(std::fs::read(folder.path()).unwrap());
        let golden = include_str!("../../tests/golden/listen_keys_v3.hex");
        assert_eq!(written, golden.split_whitespace().collect::<String>());
        assert_eq!(KeyLog::<Record>::read(&folder.path()).unwrap(), (records().to_vec(), 0));
    }

    /// C-18: whoever was told it by an API key has it no longer than that.
    #[test]
    fn a_key_lives_no_longer_than_any_api_key_that_it_was_told_to() {
        let folder = Folder::new("until");
        let keys = folder.open();
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
        check(&folder.open());
        let keys = folder.open();
        check(&keys);
        assert_ne!(keys.obtain(1, ENDLESS, until).unwrap().text(), made.text());
    }

    #[test]
    fn what_is_renewed_in_a_minute_is_one_record() {
        let folder = Folder::new("minute");
        let keys = folder.open();
        let held = [1, 2, 3].map(|account| keys.obtain(account, ENDLESS, NOW_MS).unwrap());
        let before = KeyLog::<Record>::read(&folder.path()).unwrap().0.len();
        assert!(held.iter().all(|key| key.renew(NOW_MS + 5)));
        keys.note_activity(NOW_MS + 5).unwrap();
        // Nothing new: nothing is written.
        keys.note_activity(NOW_MS + 6).unwrap();
        let records = KeyLog::<Record>::read(&folder.path()).unwrap().0;
        let [Record::Renewals(renewals)] = &records[before..] else { panic!("{records:?}") };
        let mut renewals = renewals.clone();
        renewals.sort_unstable();
        assert_eq!(renewals, [1, 2, 3].map(|account| (account, NOW_MS + 5 + LISTEN_KEY_LIFE_MS)));
        drop(keys);
        let keys = folder.open();
        assert!(held.iter().all(|key| keys.find(key.text(), NOW_MS + 4 + LISTEN_KEY_LIFE_MS).is_some()));
    }
}
