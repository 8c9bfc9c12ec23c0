//! Another key-encryption key: every sealed credential opened under the old one and sealed under the new one.
//!
//! Only while the exchange is stopped. The new key is on disk before anything is sealed under it, and what the new key opens already
//! is left as it is, so that a rotation that was interrupted is finished by running it again; until then the exchange refuses to
//! start, naming the file. Nothing in the clear is ever written but the key file itself.
//!
//! What was sealed under the old key stands in the segments and snapshots of before until they are removed, and in copies: who fears
//! that somebody has the old key has new API keys made.

use super::credential_log::{API_KEY, LISTEN_KEY};
use super::key_encryption::{self, CURRENT, NEXT};
use super::seal::{SealError, Sealer};
use super::secret::{self, SecretError};
use super::{AuthError, key, listen_key};
use crate::Settings;
use ringside_core::side::{SideEntry, SideStore};
use std::cell::Cell;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// What a rotation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Credentials sealed anew.
    pub resealed: usize,
    /// Credentials that were sealed under the new key already, by a rotation that was interrupted.
    pub were_new: usize,
    /// Credentials that open under neither and were given up.
    pub given_up: usize,
}

/// A rotation under way.
pub struct Rotation {
    folder: PathBuf,
    old: Sealer,
    new: Sealer,
    is_in_file: bool,
}

impl Rotation {
    /// To `new`, 64 hex digits, where the configuration gives the old one, else to one that is made here and takes the place of the file.
    /// Nobody else may use the data folder meanwhile.
    ///
    /// Errors: files, a key that is none.
    pub fn begin(settings: &Settings, new: Option<&str>) -> Result<Rotation, AuthError> {
        let folder = super::folder(&settings.data_dir);
        let old = Sealer::new(&*key_encryption::read(settings, &folder)?);
        let is_in_file = settings.key_encryption_key.is_none();
        let text = match new {
            Some(text) if key_encryption::is_key(text) => Zeroizing::new(text.to_owned()),
            Some(_) => return Err(form(&folder).into()),
            None => {
                secret::load_or_create(
                    &folder,
                    NEXT,
                    key_encryption::make,
                    key_encryption::is_key,
                    "64 hex digits",
                )?
                .0
            }
        };
        if is_in_file && new.is_some() {
            secret::load_or_create(
                &folder,
                NEXT,
                || Ok(text.clone()),
                |line| line == text.as_str(),
                "the new key",
            )?;
        }
        let mut bytes = Zeroizing::new([0; 32]);
        const_hex::decode_to_slice(text.as_str(), &mut *bytes).map_err(|_| form(&folder))?;
        Ok(Rotation { folder, old, new: Sealer::new(&bytes), is_in_file })
    }

    /// The same credentials under the new key. What opens under neither is an error, unless `gives_up`: then it is left out.
    ///
    /// Errors: keys that open under neither.
    pub fn reseal(&self, side: &SideStore, gives_up: bool) -> Result<(SideStore, Rotated), AuthError> {
        let (resealed, were_new) = (Cell::new(0), Cell::new(0));
        let seal = |context: &[u8], sealed: &[u8]| match self.old.open(context, sealed) {
            Ok(plain) => {
                resealed.set(resealed.get() + 1);
                self.new.seal(context, &plain)
            }
            Err(error) => {
                self.new.open(context, sealed).map_err(|_| error)?;
                were_new.set(were_new.get() + 1);
                Ok(sealed.to_vec())
            }
        };
        let mut wanted = side.clone();
        let mut given_up = 0;
        for (id, bytes) in side.of_kind(API_KEY) {
            match key::reseal(bytes, seal) {
                Ok(bytes) => wanted.apply(SideEntry::put(API_KEY, id, bytes)),
                Err(key::KeyError::Seal(SealError::DoesNotOpen)) if gives_up => {
                    wanted.apply(SideEntry::delete(API_KEY, id));
                    given_up += 1;
                }
                Err(error) => return Err(AuthError::Keys(error)),
            }
        }
        for (id, bytes) in side.of_kind(LISTEN_KEY) {
            match listen_key::reseal(id, bytes, seal) {
                Ok(bytes) => wanted.apply(SideEntry::put(LISTEN_KEY, id, bytes)),
                Err(listen_key::ListenKeyError::Seal(SealError::DoesNotOpen)) if gives_up => {
                    wanted.apply(SideEntry::delete(LISTEN_KEY, id));
                    given_up += 1;
                }
                Err(error) => return Err(AuthError::ListenKeys(error)),
            }
        }
        Ok((wanted, Rotated { resealed: resealed.get(), were_new: were_new.get(), given_up }))
    }

    /// The new key takes the place of the old one: once what it sealed is kept for good.
    ///
    /// Errors: I/O.
    pub fn finish(self) -> Result<(), AuthError> {
        let folder = &self.folder;
        if self.is_in_file {
            let io = |cause| SecretError::Io { path: folder.join(CURRENT), cause };
            std::fs::rename(folder.join(NEXT), folder.join(CURRENT)).map_err(io)?;
            std::fs::File::open(folder).and_then(|folder| folder.sync_all()).map_err(io)?;
        }
        Ok(())
    }
}

fn form(folder: &Path) -> SecretError {
    SecretError::Form { path: folder.join(NEXT), wanted: "64 hex digits" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::credential_log::HeldCredentials;
    use crate::key::{KeyStore, NewKey};
    use crate::listen_key::{ENDLESS, ListenKeys};
    use std::sync::Arc;

    /// Interrupted anywhere: what the next run finds is sealed under either key.
    #[test]
    fn what_is_sealed_under_either_key_is_sealed_under_the_new_one_and_nothing_else_is_lost() {
        let sealer = |byte: u8| Sealer::new(&[byte; 32]);
        let held = Arc::new(HeldCredentials::default());
        let new = NewKey {
            label: "one".to_owned(),
            permissions: (true, true),
            ip_whitelist: vec![],
            expires_at_s: None,
        };
        for account in 1..4 {
            let keys = KeyStore::open(&held.side(), held.clone(), sealer(1)).unwrap();
            keys.create(account, [1; 20], new.clone(), 1).unwrap();
        }
        ListenKeys::open(&held.side(), held.clone(), sealer(1)).unwrap().obtain(7, ENDLESS, 1).unwrap();
        let old = held.side();
        let rotation = Rotation { folder: PathBuf::new(), old: sealer(1), new: sealer(2), is_in_file: false };
        let (new, rotated) = rotation.reseal(&old, false).unwrap();
        assert_eq!(rotated, Rotated { resealed: 4, were_new: 0, given_up: 0 });
        for cut in 0..=4 {
            let mut between = old.clone();
            old.difference(&new).into_iter().take(cut).for_each(|entry| between.apply(entry));
            let (again, rotated) = rotation.reseal(&between, false).unwrap();
            assert_eq!(rotated, Rotated { resealed: 4 - cut, were_new: cut, given_up: 0 });
            let log = Arc::new(HeldCredentials::default());
            assert_eq!(KeyStore::open(&again, log.clone(), sealer(2)).unwrap().len(), 3);
            assert!(ListenKeys::open(&again, log, sealer(2)).unwrap().of_account(7, 2).is_some());
        }
        // Neither key is that of these: refused, or given up where that is asked for.
        let other = Rotation { folder: PathBuf::new(), old: sealer(3), new: sealer(4), is_in_file: false };
        assert!(other.reseal(&old, false).is_err());
        let (left, rotated) = other.reseal(&old, true).unwrap();
        assert_eq!((rotated.given_up, left.len()), (4, 0));
    }
}
