//! API keys: making, changing, finding them (`spot.md` 2.2).
//!
//! Reads are in memory: a key is found by the hash of its text. Changes are durable before they count. Key and secret are
//! held sealed; only the answer that creates a key shows its secret. Checking a request's own signature belongs to the
//! `/fapi` dialect.

use crate::access::Permission;
use crate::cidr::Cidr;
use crate::credential_log::{
    API_KEY, API_KEY_USE, Change, CredentialLog, CredentialLogError, NEXT_API_KEY, number,
};
use crate::seal::{SealError, Sealer};
use crate::secret::{self, RandomError};
use crate::signed::Signer;
use crate::test_wallet::TestWallet;
use parking_lot::{Mutex, RwLock};
use ringside_core::ids::{AccountId, Address};
use ringside_core::side::{SideEntry, SideStore};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use zeroize::Zeroizing;

/// Characters of a key, and of a secret.
pub const KEY_LEN: usize = 64;
/// Keys of one account.
pub const KEYS_PER_ACCOUNT: usize = 30;
/// Characters of a label.
pub const LABEL_LEN_MAX: usize = 64;
/// Addresses and networks of one key.
pub const WHITELIST_LEN_MAX: usize = 100;
/// Value of `last_used_at` before the first use.
const NEVER: i64 = i64::MIN;

/// A key at rest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyRecord {
    /// Its number.
    pub id: u64,
    /// Account id.
    pub account: u32,
    /// The account's wallet.
    #[serde(with = "const_hex::serde")]
    pub address: [u8; 20],
    /// SHA-256 of the key.
    #[serde(with = "const_hex::serde")]
    pub hash: [u8; 32],
    /// Key and secret, sealed.
    #[serde(with = "const_hex::serde")]
    pub sealed: Vec<u8>,
    /// Name given by the owner.
    pub label: String,
    /// Permission to read.
    pub read: bool,
    /// Permission to trade.
    pub trade: bool,
    /// Addresses and networks it may be used from; empty for any.
    pub ip_whitelist: Vec<String>,
    /// UNIX seconds, or never.
    pub expires_at: Option<i64>,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// UNIX seconds.
    pub created_at: i64,
    /// UNIX seconds, in the files of earlier versions; kept apart since, so that a use does not write the key anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<i64>,
}

/// One API key.
#[derive(Debug)]
pub struct ApiKey {
    record: KeyRecord,
    whitelist: Vec<Cidr>,
    /// UNIX seconds; shared by the versions of a key, so that a change does not lose a use.
    last_used_s: Arc<AtomicI64>,
    /// Made at the first signed request.
    signer: OnceLock<Signer>,
}

/// What a key may be made with.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// 1 to 64 characters.
    pub label: String,
    /// Permissions: read, trade; at least one.
    pub permissions: (bool, bool),
    /// Where it may be used from; empty for anywhere.
    pub ip_whitelist: Vec<Cidr>,
    /// UNIX seconds, or never.
    pub expires_at_s: Option<i64>,
}

/// What may be changed of a key; `None` leaves as it is.
#[derive(Clone, Debug, Default)]
pub struct KeyChange {
    /// New label.
    pub label: Option<String>,
    /// New permissions: read, trade.
    pub permissions: Option<(bool, bool)>,
    /// New whitelist.
    pub ip_whitelist: Option<Vec<Cidr>>,
    /// Whether it may be used.
    pub enabled: Option<bool>,
}

/// Key and secret in clear. Wiped when dropped.
pub struct Credentials {
    /// What the client sends.
    pub key: Zeroizing<String>,
    /// What the client signs with.
    pub secret: Zeroizing<String>,
}

/// Why a key could not be made or changed.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The account has [`KEYS_PER_ACCOUNT`].
    #[error("too many api keys")]
    TooMany,
    /// The account has no key of this number.
    #[error("no such key")]
    NotFound,
    /// It could not be made durable; nothing changed.
    #[error(transparent)]
    Log(#[from] CredentialLogError),
    /// It does not open, or could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// All API keys of a deployment.
pub struct KeyStore {
    index: RwLock<Index>,
    /// Grows with every change: a copy of a key made before is not to be trusted after.
    generation: AtomicU64,
    writer: Mutex<Writer>,
    sealer: Sealer,
}

#[derive(Default)]
struct Index {
    by_hash: HashMap<[u8; 32], Arc<ApiKey>>,
    /// In order of creation.
    by_account: HashMap<AccountId, Vec<Arc<ApiKey>>>,
}

/// What is kept of keys.
struct Kept {
    index: Index,
    next_id: u64,
    noted: HashMap<u64, i64>,
}

impl Kept {
    fn read(side: &SideStore, sealer: &Sealer) -> Result<Kept, KeyError> {
        let mut keys: Vec<KeyRecord> = Vec::new();
        let mut noted = HashMap::new();
        for (id, bytes) in side.of_kind(API_KEY) {
            let mut key = of_bytes(bytes)?;
            if let Some(at) = side.get(API_KEY_USE, id) {
                let at = i64::from_le_bytes(number(at, "the use of an API key")?);
                key.last_used_at = Some(at);
                noted.insert(key.id, at);
            }
            keys.push(key);
        }
        keys.sort_unstable_by_key(|key| key.id);
        if let Some(key) = keys.first() {
            sealer.open(&context(key), &key.sealed)?;
        }
        let next_id = next_id(side)?;
        let mut index = Index::default();
        for record in keys {
            index.put(ApiKey::new(record, None));
        }
        Ok(Kept { index, next_id, noted })
    }
}

struct Writer {
    log: Arc<dyn CredentialLog>,
    next_id: u64,
    /// Uses as they are kept.
    noted: HashMap<u64, i64>,
}

impl KeyStore {
    /// The keys that are kept; changes go to `log`. Refuses where a key does not open under the sealer: the key-encryption key is then
    /// another one.
    pub fn open(side: &SideStore, log: Arc<dyn CredentialLog>, sealer: Sealer) -> Result<KeyStore, KeyError> {
        let Kept { index, next_id, noted } = Kept::read(side, &sealer)?;
        let writer = Mutex::new(Writer { log, next_id, noted });
        Ok(KeyStore { index: RwLock::new(index), generation: AtomicU64::new(0), writer, sealer })
    }

    /// Has what another process keeps: where that one writes the journal.
    ///
    /// Errors: as [`KeyStore::open`]; everything is as before then.
    pub(crate) fn refresh(&self, side: &SideStore) -> Result<(), KeyError> {
        let mut writer = self.writer.lock();
        let Kept { index, next_id, noted } = Kept::read(side, &self.sealer)?;
        (writer.next_id, writer.noted) = (next_id, noted);
        self.changed(|present| *present = index);
        Ok(())
    }

    /// Keys that there are.
    pub fn len(&self) -> usize {
        self.index.read().by_hash.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether its log failed: it takes nothing more before a restart.
    pub fn has_failed(&self) -> bool {
        self.writer.lock().log.has_failed()
    }

    /// The key of this text, whatever its state.
    pub fn find(&self, key: &[u8]) -> Option<Arc<ApiKey>> {
        if key.len() != KEY_LEN {
            return None;
        }
        let hash: [u8; 32] = Sha256::digest(key).into();
        self.index.read().by_hash.get(&hash).cloned()
    }

    /// Number of changes so far.
    #[inline]
    pub fn generation(&self) -> u64 {
        // Pairs with the Release in `changed`: who sees the new number finds the new index.
        self.generation.load(Ordering::Acquire)
    }

    /// The keys of an account, oldest first.
    pub fn list(&self, account: AccountId) -> Vec<Arc<ApiKey>> {
        self.index.read().by_account.get(&account).cloned().unwrap_or_default()
    }

    /// Makes a key. Blocks until it is kept.
    pub fn create(
        &self,
        account: AccountId,
        address: Address,
        new: NewKey,
        now_s: i64,
    ) -> Result<(Arc<ApiKey>, Credentials), KeyError> {
        let credentials =
            Credentials { key: secret::random_text(KEY_LEN)?, secret: secret::random_text(KEY_LEN)? };
        Ok((self.put(account, address, new, &credentials, now_s)?, credentials))
    }

    /// Gives the account of a test wallet the key that everybody knows, for trading, where it has none. Blocks as [`KeyStore::create`].
    pub fn create_known(&self, account: AccountId, wallet: &TestWallet, now_s: i64) -> Result<(), KeyError> {
        if self.find(wallet.api_key().as_bytes()).is_some() {
            return Ok(());
        }
        let new = NewKey {
            label: "test".to_owned(),
            permissions: (true, true),
            ip_whitelist: Vec::new(),
            expires_at_s: None,
        };
        let credentials = Credentials {
            key: Zeroizing::new(wallet.api_key()),
            secret: Zeroizing::new(wallet.key().to_owned()),
        };
        self.put(account, wallet.address(), new, &credentials, now_s).map(drop)
    }

    fn put(
        &self,
        account: AccountId,
        address: Address,
        new: NewKey,
        credentials: &Credentials,
        now_s: i64,
    ) -> Result<Arc<ApiKey>, KeyError> {
        let mut writer = self.writer.lock();
        if self.index.read().by_account.get(&account).is_some_and(|keys| keys.len() >= KEYS_PER_ACCOUNT) {
            return Err(KeyError::TooMany);
        }
        let mut record = KeyRecord {
            id: writer.next_id,
            account,
            address,
            hash: Sha256::digest(credentials.key.as_bytes()).into(),
            sealed: Vec::new(),
            label: new.label,
            read: new.permissions.0,
            trade: new.permissions.1,
            ip_whitelist: new.ip_whitelist.iter().map(Cidr::to_string).collect(),
            expires_at: new.expires_at_s,
            enabled: true,
            created_at: now_s,
            last_used_at: None,
        };
        let plain = Zeroizing::new([credentials.key.as_bytes(), credentials.secret.as_bytes()].concat());
        record.sealed = self.sealer.seal(&context(&record), &plain)?;
        writer.log.append(vec![entry(&record)], Change::Granted)?;
        writer.next_id += 1;
        Ok(self.changed(|index| index.put(ApiKey::new(record, None))))
    }

    /// Changes a key. Blocks until it is kept.
    pub fn change(&self, account: AccountId, id: u64, change: KeyChange) -> Result<Arc<ApiKey>, KeyError> {
        let writer = self.writer.lock();
        let key = self.of_account(account, id)?;
        let mut record = key.record.clone();
        if let Some(label) = change.label {
            record.label = label;
        }
        if let Some((read, trade)) = change.permissions {
            (record.read, record.trade) = (read, trade);
        }
        if let Some(whitelist) = change.ip_whitelist {
            record.ip_whitelist = whitelist.iter().map(Cidr::to_string).collect();
        }
        if let Some(enabled) = change.enabled {
            record.enabled = enabled;
        }
        // It may take something away.
        writer.log.append(vec![entry(&record)], Change::Revoked)?;
        Ok(self.changed(|index| index.put(ApiKey::new(record, Some(key.last_used_s.clone())))))
    }

    /// Deletes a key; its use ends before this returns. Blocks until it is kept.
    pub fn delete(&self, account: AccountId, id: u64) -> Result<(), KeyError> {
        let mut writer = self.writer.lock();
        let key = self.of_account(account, id)?;
        let next = SideEntry::put(NEXT_API_KEY, &[], writer.next_id.to_le_bytes().to_vec());
        writer.log.append([next].into_iter().chain(gone(id)).collect(), Change::Revoked)?;
        writer.noted.remove(&id);
        self.changed(|index| index.remove(&key));
        Ok(())
    }

    /// Notes when keys were last used, where that has changed. Not kept yet when this returns.
    pub fn note_uses(&self) -> Result<(), KeyError> {
        let mut writer = self.writer.lock();
        let uses: Vec<(u64, i64)> = {
            let index = self.index.read();
            let used = index.by_hash.values().filter_map(|key| Some((key.id(), key.last_used_at_s()?)));
            used.filter(|(id, at)| writer.noted.get(id) != Some(at)).collect()
        };
        if uses.is_empty() {
            return Ok(());
        }
        let entry =
            |(id, at): &(u64, i64)| SideEntry::put(API_KEY_USE, &id.to_le_bytes(), at.to_le_bytes().to_vec());
        writer.log.append(uses.iter().map(entry).collect(), Change::Noted)?;
        writer.noted.extend(uses);
        Ok(())
    }

    /// Key and secret in clear.
    pub fn credentials(&self, key: &ApiKey) -> Result<Credentials, KeyError> {
        let plain = self.sealer.open(&context(&key.record), &key.record.sealed)?;
        let text = std::str::from_utf8(&plain).map_err(|_| SealError::DoesNotOpen)?;
        let (key, secret) = text.split_at_checked(KEY_LEN).ok_or(SealError::DoesNotOpen)?;
        Ok(Credentials { key: Zeroizing::new(key.to_owned()), secret: Zeroizing::new(secret.to_owned()) })
    }

    /// What checks signatures made with its secret. The secret is opened once per process and version of the key.
    pub fn signer<'a>(&self, key: &'a ApiKey) -> Result<&'a Signer, KeyError> {
        if let Some(signer) = key.signer.get() {
            return Ok(signer);
        }
        let signer = Signer::new(self.credentials(key)?.secret.as_bytes());
        Ok(key.signer.get_or_init(|| signer))
    }

    fn of_account(&self, account: AccountId, id: u64) -> Result<Arc<ApiKey>, KeyError> {
        let index = self.index.read();
        let own = index.by_account.get(&account).and_then(|keys| keys.iter().find(|key| key.id() == id));
        own.cloned().ok_or(KeyError::NotFound)
    }

    /// Changes the index. Callers hold the writer, so changes come here in the order of the file.
    fn changed<T>(&self, change: impl FnOnce(&mut Index) -> T) -> T {
        let mut index = self.index.write();
        let result = change(&mut index);
        self.generation.fetch_add(1, Ordering::Release);
        result
    }
}

impl Index {
    fn put(&mut self, key: ApiKey) -> Arc<ApiKey> {
        let key = Arc::new(key);
        self.by_hash.insert(key.record.hash, key.clone());
        let own = self.by_account.entry(key.record.account).or_default();
        match own.iter_mut().find(|other| other.id() == key.id()) {
            Some(other) => *other = key.clone(),
            None => own.push(key.clone()),
        }
        key
    }

    fn remove(&mut self, key: &ApiKey) {
        self.by_hash.remove(&key.record.hash);
        if let Some(own) = self.by_account.get_mut(&key.record.account) {
            own.retain(|other| other.id() != key.id());
        }
    }
}

impl ApiKey {
    fn new(record: KeyRecord, last_used_s: Option<Arc<AtomicI64>>) -> ApiKey {
        // Entries were checked when they were entered; one that a later version cannot read must not open the key to all.
        let whitelist = record.ip_whitelist.iter().filter_map(|text| Cidr::parse(text)).collect();
        let last_used_s =
            last_used_s.unwrap_or_else(|| Arc::new(AtomicI64::new(record.last_used_at.unwrap_or(NEVER))));
        ApiKey { record, whitelist, last_used_s, signer: OnceLock::new() }
    }

    /// Its number, never given twice.
    pub fn id(&self) -> u64 {
        self.record.id
    }

    /// Whose it is.
    pub fn account(&self) -> AccountId {
        self.record.account
    }

    /// The account's wallet.
    pub fn address(&self) -> &Address {
        &self.record.address
    }

    /// Name given by the owner.
    pub fn label(&self) -> &str {
        &self.record.label
    }

    /// Whether it has a permission.
    pub fn permits(&self, permission: Permission) -> bool {
        match permission {
            Permission::Read => self.record.read,
            Permission::Trade => self.record.trade,
        }
    }

    /// Where it may be used from, as entered.
    pub fn ip_whitelist(&self) -> &[String] {
        &self.record.ip_whitelist
    }

    /// UNIX seconds: the first moment at which it is no longer good.
    pub fn expires_at_s(&self) -> Option<i64> {
        self.record.expires_at
    }

    /// Whether its owner lets it be used.
    pub fn is_enabled(&self) -> bool {
        self.record.enabled
    }

    /// UNIX seconds.
    pub fn created_at_s(&self) -> i64 {
        self.record.created_at
    }

    /// UNIX seconds of the latest use.
    pub fn last_used_at_s(&self) -> Option<i64> {
        Some(self.last_used_s.load(Ordering::Relaxed)).filter(|at| *at != NEVER)
    }

    /// Whether it may be used now, from there. One that is bound to addresses may not from nobody knows where.
    pub fn is_usable(&self, ip: Option<IpAddr>, now_s: i64) -> bool {
        let is_within = |ip| self.whitelist.iter().any(|network| network.contains(ip));
        let is_allowed = self.record.ip_whitelist.is_empty() || ip.is_some_and(is_within);
        self.record.enabled && self.record.expires_at.is_none_or(|at| now_s < at) && is_allowed
    }

    /// Notes a use.
    #[inline]
    pub fn used(&self, now_s: i64) {
        // Most requests come in the same second as the one before: they only read.
        if self.last_used_s.load(Ordering::Relaxed) < now_s {
            self.last_used_s.fetch_max(now_s, Ordering::Relaxed);
        }
    }
}

/// What is kept of a key.
pub(crate) fn entry(record: &KeyRecord) -> SideEntry {
    let record = KeyRecord { last_used_at: None, ..record.clone() };
    let bytes = serde_json::to_vec(&record).unwrap_or_else(|_| unreachable!("numbers, texts and bytes"));
    SideEntry::put(API_KEY, &record.id.to_le_bytes(), bytes)
}

/// What takes away all that is kept of a key.
pub(crate) fn gone(id: u64) -> [SideEntry; 2] {
    [API_KEY, API_KEY_USE].map(|kind| SideEntry::delete(kind, &id.to_le_bytes()))
}

fn of_bytes(bytes: &[u8]) -> Result<KeyRecord, CredentialLogError> {
    serde_json::from_slice(bytes).map_err(|_| CredentialLogError::Damaged("an API key"))
}

/// The number of the next key.
///
/// Errors: what is kept is no number, or no key.
pub fn next_id(side: &SideStore) -> Result<u64, CredentialLogError> {
    let said =
        side.get(NEXT_API_KEY, &[]).map(|bytes| number(bytes, "the number of API keys")).transpose()?;
    let highest = records(side)?.iter().map(|key| key.id + 1).max();
    Ok(said.map_or(1, u64::from_le_bytes).max(highest.unwrap_or(1)))
}

/// The keys that are kept.
///
/// Errors: what is kept is no key.
pub fn records(side: &SideStore) -> Result<Vec<KeyRecord>, CredentialLogError> {
    side.of_kind(API_KEY).map(|(_, bytes)| of_bytes(bytes)).collect()
}

/// Among the credentials of an exchange that does not run: leaves out the keys that are not wanted, and enters the others as they now
/// are.
///
/// Errors: what is kept is no key.
pub fn retain(
    side: &mut SideStore,
    mut is_wanted: impl FnMut(&mut KeyRecord) -> bool,
) -> Result<(), CredentialLogError> {
    // No number is given again.
    let next = next_id(side)?;
    for mut key in records(side)? {
        match is_wanted(&mut key) {
            true => side.apply(entry(&key)),
            false => gone(key.id).into_iter().for_each(|entry| side.apply(entry)),
        }
    }
    if next > 1 {
        side.apply(SideEntry::put(NEXT_API_KEY, &[], next.to_le_bytes().to_vec()));
    }
    Ok(())
}

/// What is sealed in a kept key, and what the seal is bound to.
pub(crate) fn reseal(
    bytes: &[u8],
    seal: impl FnOnce(&[u8], &[u8]) -> Result<Vec<u8>, SealError>,
) -> Result<Vec<u8>, KeyError> {
    let mut record = of_bytes(bytes)?;
    record.sealed = seal(&context(&record), &record.sealed)?;
    Ok(entry(&record).bytes.unwrap_or_default())
}

/// What a seal is bound to.
fn context(record: &KeyRecord) -> Vec<u8> {
    [&b"api key"[..], &record.id.to_le_bytes(), &record.account.to_le_bytes(), &record.hash].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential_log::HeldCredentials;

    const NOW_S: i64 = 1_700_000_000;
    const WALLET: Address = [0xab; 20];
    const LOCAL: Option<IpAddr> = Some(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST));

    fn open(held: &Arc<HeldCredentials>) -> KeyStore {
        KeyStore::open(&held.side(), held.clone(), Sealer::new(&[7; 32])).unwrap()
    }

    fn new(label: &str) -> NewKey {
        NewKey {
            label: label.to_owned(),
            permissions: (true, true),
            ip_whitelist: vec![],
            expires_at_s: None,
        }
    }

    #[test]
    fn who_does_not_write_the_journal_learns_what_others_keep_there() {
        let held = Arc::default();
        let (writes, follows) = (open(&held), open(&held));
        let (key, shown) = writes.create(7, WALLET, new("one"), NOW_S).unwrap();
        assert!(follows.find(shown.key.as_bytes()).is_none());
        let before = follows.generation();
        follows.refresh(&held.side()).unwrap();
        assert_eq!(follows.find(shown.key.as_bytes()).unwrap().id(), key.id());
        assert!(follows.generation() > before, "what was copied before is not to be trusted");
        let (other, _) = follows.create(7, WALLET, new("two"), NOW_S).unwrap();
        assert!(other.id() > key.id(), "no number is given twice");
        writes.delete(7, key.id()).unwrap();
        follows.refresh(&held.side()).unwrap();
        assert!(follows.find(shown.key.as_bytes()).is_none());
    }

    #[test]
    fn keys_and_their_changes_survive_a_restart() {
        let held = Arc::default();
        let store = open(&held);
        assert!(store.is_empty());
        let (key, shown) = store.create(7, WALLET, new("one"), NOW_S).unwrap();
        let (gone, gone_shown) = store.create(7, WALLET, new("two"), NOW_S).unwrap();
        let change = KeyChange {
            permissions: Some((true, false)),
            ip_whitelist: Some(vec![Cidr::parse("127.0.0.0/8").unwrap()]),
            ..KeyChange::default()
        };
        key.used(NOW_S + 5);
        store.change(7, key.id(), change).unwrap();
        store.delete(7, gone.id()).unwrap();
        store.find(shown.key.as_bytes()).unwrap().used(NOW_S + 9);
        store.note_uses().unwrap();
        drop(store);

        let store = open(&held);
        assert_eq!(store.len(), 1);
        let found = store.find(shown.key.as_bytes()).unwrap();
        assert_eq!(
            (found.id(), found.account(), found.address(), found.label()),
            (key.id(), 7, &WALLET, "one")
        );
        assert!(found.permits(Permission::Read) && !found.permits(Permission::Trade));
        assert!(found.is_usable(LOCAL, NOW_S) && !found.is_usable("10.0.0.1".parse().ok(), NOW_S));
        assert_eq!(found.last_used_at_s(), Some(NOW_S + 9));
        let credentials = store.credentials(&found).unwrap();
        assert!(credentials.key == shown.key && credentials.secret == shown.secret);
        assert!(store.find(gone_shown.key.as_bytes()).is_none());
        // Numbers are never given twice, not even those of deleted keys.
        let (next, _) = store.create(7, WALLET, new("three"), NOW_S).unwrap();
        assert!(next.id() > gone.id());
    }

    #[test]
    fn of_a_key_that_is_gone_nothing_is_kept_but_that_its_number_was_given() {
        let held = Arc::default();
        let store = open(&held);
        let (key, _) = store.create(7, WALLET, new("one"), NOW_S).unwrap();
        key.used(NOW_S);
        store.note_uses().unwrap();
        assert_eq!(held.side().len(), 2);
        // Noted as it is: nothing is written.
        let before = held.side();
        store.note_uses().unwrap();
        assert_eq!(held.side(), before);
        store.delete(7, key.id()).unwrap();
        assert_eq!(held.side().len(), 1);
        // A use of it that is noted late brings nothing back.
        key.used(NOW_S + 9);
        store.note_uses().unwrap();
        assert_eq!(held.side().len(), 1);
        assert_eq!(open(&held).create(7, WALLET, new("two"), NOW_S).unwrap().0.id(), key.id() + 1);
    }

    /// The longest record there may be is no longer than an entry may be.
    #[test]
    fn the_longest_key_is_within_bounds() {
        let held = Arc::default();
        let network = Cidr::parse("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128").unwrap();
        let longest = NewKey {
            label: "\u{1}".repeat(LABEL_LEN_MAX),
            permissions: (false, false),
            ip_whitelist: vec![network; WHITELIST_LEN_MAX],
            expires_at_s: Some(i64::MIN),
        };
        open(&held).create(u32::MAX, [0xff; 20], longest, i64::MIN).unwrap();
        let (_, bytes) =
            held.side().of_kind(API_KEY).next().map(|(id, bytes)| (id.to_vec(), bytes.to_vec())).unwrap();
        assert!(bytes.len() <= ringside_core::side::BYTES_LEN_MAX / 2, "{}", bytes.len());
    }

    #[test]
    fn thirty_keys_per_account_and_a_deleted_one_makes_room() {
        let held = Arc::default();
        let store = open(&held);
        for n in 0..KEYS_PER_ACCOUNT {
            store.create(7, WALLET, new(&n.to_string()), NOW_S).unwrap();
        }
        assert!(matches!(store.create(7, WALLET, new("more"), NOW_S), Err(KeyError::TooMany)));
        store.create(8, WALLET, new("another account's"), NOW_S).unwrap();
        let listed = store.list(7);
        assert!(listed.iter().zip(0..).all(|(key, n)| key.label() == n.to_string()));
        store.delete(7, listed[3].id()).unwrap();
        store.create(7, WALLET, new("room"), NOW_S).unwrap();
    }

    #[test]
    fn other_accounts_keys_cannot_be_touched() {
        let held = Arc::default();
        let store = open(&held);
        let (key, _) = store.create(7, WALLET, new("one"), NOW_S).unwrap();
        assert!(matches!(store.change(8, key.id(), KeyChange::default()), Err(KeyError::NotFound)));
        assert!(matches!(store.delete(8, key.id()), Err(KeyError::NotFound)));
        assert!(matches!(store.delete(7, key.id() + 1), Err(KeyError::NotFound)));
        assert_eq!((store.list(7).len(), store.list(8).len()), (1, 0));
    }

    #[test]
    fn every_change_raises_the_generation_after_it_shows() {
        let held = Arc::default();
        let store = open(&held);
        let (key, shown) = store.create(7, WALLET, new("one"), NOW_S).unwrap();
        let before = store.generation();
        store.change(7, key.id(), KeyChange { enabled: Some(false), ..KeyChange::default() }).unwrap();
        assert!(
            store.generation() > before && !store.find(shown.key.as_bytes()).unwrap().is_usable(LOCAL, NOW_S)
        );
        let before = store.generation();
        store.delete(7, key.id()).unwrap();
        assert!(store.generation() > before && store.find(shown.key.as_bytes()).is_none());
    }

    #[test]
    fn expiry_and_form() {
        let held = Arc::default();
        let store = open(&held);
        let brief = NewKey { expires_at_s: Some(NOW_S + 10), ..new("brief") };
        let (key, shown) = store.create(7, WALLET, brief, NOW_S).unwrap();
        assert!(key.is_usable(LOCAL, NOW_S + 9) && !key.is_usable(LOCAL, NOW_S + 10));
        for text in [&shown.key, &shown.secret] {
            assert!(text.len() == KEY_LEN && text.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        }
        assert!(store.find(b"short").is_none() && store.find(shown.secret.as_bytes()).is_none());
        // Neither is kept in clear.
        let mut bytes = Vec::new();
        held.side().save(&mut bytes);
        for text in [&shown.key, &shown.secret] {
            assert!(!bytes.windows(16).any(|window| window == &text.as_bytes()[..16]));
        }
    }

    #[test]
    fn another_key_encryption_key_is_refused() {
        let held = Arc::default();
        open(&held).create(7, WALLET, new("one"), NOW_S).unwrap();
        let other = KeyStore::open(&held.side(), held.clone(), Sealer::new(&[8; 32]));
        assert!(matches!(other.err(), Some(KeyError::Seal(SealError::DoesNotOpen))));
        assert_eq!(open(&held).len(), 1);
    }
}
