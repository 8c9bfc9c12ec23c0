//! Credentials as they were kept before they stood in the journal: three files of the folder `auth`, read once more and taken along.

use crate::credential_log::{API_KEY_USE, NEXT_API_KEY};
use crate::key::{self, KeyRecord};
use crate::key_log::{self, KeyLogError, Logged};
use crate::{listen_key, logout};
use ringside_core::ids::AccountId;
use ringside_core::side::{SideEntry, SideStore};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Their names.
pub const FILES: [&str; 3] = ["keys.log", "listen_keys.log", "logouts.log"];

/// One change of the API keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum KeyChange {
    /// A key as it now is, new or changed.
    Put(KeyRecord),
    /// A key that is gone.
    Deleted { id: u64 },
    /// When keys were last used: pairs of id and UNIX seconds.
    Used(Vec<(u64, i64)>),
    /// No id below this one is ever given again.
    NextId(u64),
}

impl Logged for KeyChange {
    const MAGIC: [u8; 8] = *b"RSAPIKEY";
    const VERSION: u32 = 1;
}

/// One change of the listen keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum ListenKeyChange {
    /// The key of an account, in place of the one before.
    Put {
        account: AccountId,
        #[serde(with = "const_hex::serde")]
        sealed: Vec<u8>,
        expires_at_ms: i64,
    },
    /// The key of an account lives longer.
    Renewed { account: AccountId, expires_at_ms: i64 },
    /// An account has no key any more.
    Ended { account: AccountId },
    /// The keys of accounts live longer. Since version 2.
    Renewals(Vec<(AccountId, i64)>),
    /// As `Put`, of a key that no renewal keeps beyond a time. Since version 3.
    PutUntil {
        account: AccountId,
        #[serde(with = "const_hex::serde")]
        sealed: Vec<u8>,
        expires_at_ms: i64,
        until_ms: i64,
    },
}

impl Logged for ListenKeyChange {
    const MAGIC: [u8; 8] = *b"RSLISTEN";
    const VERSION: u32 = 3;
}

/// One logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Logout {
    account: AccountId,
    before_s: i64,
}

impl Logged for Logout {
    const MAGIC: [u8; 8] = *b"RSLOGOUT";
    const VERSION: u32 = 1;
}

/// Those of the files that are there.
pub fn found(folder: &Path) -> Vec<PathBuf> {
    FILES.iter().map(|name| folder.join(name)).filter(|path| path.exists()).collect()
}

/// Enters what the files of a folder hold; gives those that ended with bytes which are no record, and how many. What there is by then is
/// what they led to, or was never changed since: entering it again changes nothing.
///
/// Errors: a file that cannot be read, or is damaged.
pub fn enter(folder: &Path, side: &mut SideStore) -> Result<Vec<(PathBuf, usize)>, KeyLogError> {
    let [keys, listen_keys, logouts] = FILES.map(|name| folder.join(name));
    let cut =
        [enter_keys(&keys, side)?, enter_listen_keys(&listen_keys, side)?, enter_logouts(&logouts, side)?];
    let mut cut: Vec<_> = [keys, listen_keys, logouts].into_iter().zip(cut).collect();
    cut.retain(|(_, bytes)| *bytes > 0);
    Ok(cut)
}

/// Takes the files away, once what they hold is kept elsewhere for good.
///
/// Errors: I/O.
pub fn remove(folder: &Path) -> Result<(), KeyLogError> {
    for path in found(folder) {
        std::fs::remove_file(&path).map_err(|cause| KeyLogError::Io { path, cause })?;
    }
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(|cause| KeyLogError::Io { path: folder.to_owned(), cause })
}

fn enter_keys(path: &Path, side: &mut SideStore) -> Result<usize, KeyLogError> {
    let (changes, cut) = key_log::read::<KeyChange>(path)?;
    let (mut keys, mut next_id): (BTreeMap<u64, KeyRecord>, u64) = (BTreeMap::new(), 1);
    let mut gone = Vec::new();
    for change in changes {
        match change {
            KeyChange::Put(key) => {
                next_id = next_id.max(key.id + 1);
                keys.insert(key.id, key);
            }
            KeyChange::Deleted { id } => {
                keys.remove(&id);
                gone.push(id);
            }
            KeyChange::Used(uses) => uses.into_iter().for_each(|(id, at)| {
                if let Some(key) = keys.get_mut(&id) {
                    key.last_used_at = key.last_used_at.max(Some(at));
                }
            }),
            KeyChange::NextId(id) => next_id = next_id.max(id),
        }
    }
    gone.into_iter().flat_map(key::gone).for_each(|entry| side.apply(entry));
    for mut key in keys.into_values() {
        if let Some(at) = key.last_used_at.take() {
            side.apply(SideEntry::put(API_KEY_USE, &key.id.to_le_bytes(), at.to_le_bytes().to_vec()));
        }
        side.apply(key::entry(&key));
    }
    if next_id > 1 {
        side.apply(SideEntry::put(NEXT_API_KEY, &[], next_id.to_le_bytes().to_vec()));
    }
    Ok(cut)
}

fn enter_listen_keys(path: &Path, side: &mut SideStore) -> Result<usize, KeyLogError> {
    let (changes, cut) = key_log::read::<ListenKeyChange>(path)?;
    let mut keys: BTreeMap<AccountId, listen_key::Record> = BTreeMap::new();
    for change in changes {
        match change {
            ListenKeyChange::Put { account, sealed, expires_at_ms } => {
                let record = listen_key::Record { sealed, expires_at_ms, until_ms: None };
                keys.insert(account, record);
            }
            ListenKeyChange::PutUntil { account, sealed, expires_at_ms, until_ms } => {
                let record = listen_key::Record { sealed, expires_at_ms, until_ms: Some(until_ms) };
                keys.insert(account, record);
            }
            ListenKeyChange::Renewed { account, expires_at_ms } => renew(&mut keys, account, expires_at_ms),
            ListenKeyChange::Renewals(renewals) => {
                renewals.into_iter().for_each(|(account, until_ms)| renew(&mut keys, account, until_ms));
            }
            ListenKeyChange::Ended { account } => drop(keys.remove(&account)),
        }
    }
    keys.iter().for_each(|(account, record)| side.apply(listen_key::entry(*account, record)));
    Ok(cut)
}

fn renew(keys: &mut BTreeMap<AccountId, listen_key::Record>, account: AccountId, expires_at_ms: i64) {
    if let Some(record) = keys.get_mut(&account) {
        record.expires_at_ms = record.expires_at_ms.max(expires_at_ms);
    }
}

fn enter_logouts(path: &Path, side: &mut SideStore) -> Result<usize, KeyLogError> {
    let (logouts, cut) = key_log::read::<Logout>(path)?;
    let mut bounds: BTreeMap<AccountId, i64> = BTreeMap::new();
    for Logout { account, before_s } in logouts {
        let bound = bounds.entry(account).or_default();
        *bound = before_s.max(*bound);
    }
    bounds.into_iter().for_each(|(account, before_s)| side.apply(logout::entry(account, before_s)));
    Ok(cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential_log::{API_KEY, LISTEN_KEY, LOGOUT};

    const NOW_MS: i64 = 1_700_000_000_000;

    /// What earlier versions wrote. A reader of it must stay.
    #[test]
    fn what_every_earlier_version_kept_is_entered_and_entered_again() {
        let folder = std::env::temp_dir().join(format!("ringside-former-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let bytes = |hex: &str| const_hex::decode(hex.split_whitespace().collect::<String>()).unwrap();
        assert!(found(&folder).is_empty());
        let mut side = SideStore::default();
        assert!(enter(&folder, &mut side).unwrap().is_empty() && side.is_empty(), "nothing is there");
        std::fs::write(folder.join(FILES[0]), bytes(include_str!("../../tests/golden/keys_v1.hex"))).unwrap();
        // The file ends with the deletion of its key 2, whose number is never given again.
        assert!(enter(&folder, &mut side).unwrap().is_empty());
        assert_eq!((side.len(), side.get(NEXT_API_KEY, &[])), (1, Some(&4_u64.to_le_bytes()[..])));
        for (golden, accounts) in [
            (include_str!("../../tests/golden/listen_keys_v1.hex"), &[][..]),
            (include_str!("../../tests/golden/listen_keys_v2.hex"), &[]),
            (include_str!("../../tests/golden/listen_keys_v3.hex"), &[9_u32]),
        ] {
            std::fs::write(folder.join(FILES[1]), bytes(golden)).unwrap();
            enter(&folder, &mut side).unwrap();
            let found: Vec<_> = side.of_kind(LISTEN_KEY).map(|(id, _)| id.to_vec()).collect();
            let expected: Vec<_> = accounts.iter().map(|account| account.to_le_bytes().to_vec()).collect();
            assert_eq!(found, expected);
        }
        let (_, kept) = side.of_kind(LISTEN_KEY).next().unwrap();
        let kept: listen_key::Record = serde_json::from_slice(kept).unwrap();
        let expected =
            listen_key::Record { sealed: vec![4, 5], expires_at_ms: NOW_MS, until_ms: Some(NOW_MS + 4) };
        assert_eq!(kept, expected);
        // Every kind of change, and a record that a crash has cut.
        let key = |id: u64, last_used_at| KeyRecord {
            id,
            account: 7,
            address: [0xab; 20],
            hash: [id as u8; 32],
            sealed: vec![1],
            label: "robot".to_owned(),
            read: true,
            trade: false,
            ip_whitelist: Vec::new(),
            expires_at: None,
            enabled: true,
            created_at: 1,
            last_used_at,
        };
        let changes = [
            KeyChange::Put(key(5, None)),
            KeyChange::Put(key(6, Some(3))),
            KeyChange::Used(vec![(5, 9), (6, 2), (8, 1)]),
        ];
        let mut written = key_log::written(&changes);
        written.extend([1, 2, 3]);
        std::fs::write(folder.join(FILES[0]), &written).unwrap();
        let logouts = [(7, 10), (8, 5), (7, 9)].map(|(account, before_s)| Logout { account, before_s });
        std::fs::write(folder.join(FILES[2]), key_log::written(&logouts)).unwrap();
        assert_eq!(enter(&folder, &mut side).unwrap(), [(folder.join(FILES[0]), 3)]);
        let once = side.clone();
        assert_eq!(side.of_kind(API_KEY).count(), 2);
        let used = |side: &SideStore, id: u64| side.get(API_KEY_USE, &id.to_le_bytes()).map(<[u8]>::to_vec);
        assert_eq!([used(&side, 5), used(&side, 6)], [9_i64, 3].map(|at| Some(at.to_le_bytes().to_vec())));
        assert_eq!(side.get(NEXT_API_KEY, &[]), Some(&7_u64.to_le_bytes()[..]));
        let bounds: Vec<_> = side.of_kind(LOGOUT).map(|(_, before_s)| before_s.to_vec()).collect();
        assert_eq!(bounds, [10_i64, 5].map(|before_s| before_s.to_le_bytes().to_vec()));
        enter(&folder, &mut side).unwrap();
        assert_eq!(side, once);
        // A file that is damaged is not passed over.
        written[20] ^= 1;
        std::fs::write(folder.join(FILES[0]), &written).unwrap();
        assert!(enter(&folder, &mut side).is_err());
        remove(&folder).unwrap();
        assert!(found(&folder).is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
