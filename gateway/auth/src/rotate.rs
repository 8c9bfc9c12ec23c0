//! Another key-encryption key: every sealed key opened under the old one and sealed under the new one.
//!
//! Only while the exchange is stopped. The new key is on disk before anything is sealed under it, and a record that the new
//! key opens already is left as it is, so that a rotation that was interrupted is finished by running it again; until then the
//! exchange refuses to start, naming the file. Nothing in the clear is ever written but the key file itself.

use super::key_encryption::{self, CURRENT, NEXT};
use super::key_log::{KeyLog, KeyLogError, Resealed};
use super::seal::{SealError, Sealer};
use super::secret::{self, SecretError};
use super::{AuthError, key, listen_key};
use crate::Settings;
use std::path::Path;
use zeroize::Zeroizing;

/// What a rotation did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotated {
    /// Records sealed anew.
    pub resealed: usize,
    /// Records that were sealed under the new key already, by a rotation that was interrupted.
    pub were_new: usize,
}

/// Seals the keys of the deployment under another key-encryption key: `new`, 64 hex digits, where the configuration gives the
/// old one, else one that is made here and takes the place of the file. Nobody else may use the data folder meanwhile.
///
/// Errors: files, keys that open under neither.
pub fn rotate(settings: &Settings, new: Option<&str>) -> Result<Rotated, AuthError> {
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
    let new = Sealer::new(&bytes);
    let mut rotated = Rotated::default();
    reseal::<super::key_log::Record>(&folder.join("keys.log"), &old, &new, &mut rotated)
        .map_err(|error| AuthError::Keys(error.into()))?;
    reseal::<listen_key::Record>(&folder.join("listen_keys.log"), &old, &new, &mut rotated)
        .map_err(|error| AuthError::ListenKeys(error.into()))?;
    if is_in_file {
        let io = |cause| SecretError::Io { path: folder.join(CURRENT), cause };
        std::fs::rename(folder.join(NEXT), folder.join(CURRENT)).map_err(io)?;
        std::fs::File::open(&folder).and_then(|folder| folder.sync_all()).map_err(io)?;
    }
    Ok(rotated)
}

fn form(folder: &Path) -> SecretError {
    SecretError::Form { path: folder.join(NEXT), wanted: "64 hex digits" }
}

/// Why a file could not be sealed anew.
enum ResealError {
    Log(KeyLogError),
    Seal(SealError),
}

impl From<KeyLogError> for ResealError {
    fn from(error: KeyLogError) -> ResealError {
        ResealError::Log(error)
    }
}

impl From<SealError> for ResealError {
    fn from(error: SealError) -> ResealError {
        ResealError::Seal(error)
    }
}

impl From<ResealError> for key::KeyError {
    fn from(error: ResealError) -> key::KeyError {
        match error {
            ResealError::Log(error) => error.into(),
            ResealError::Seal(error) => error.into(),
        }
    }
}

impl From<ResealError> for listen_key::ListenKeyError {
    fn from(error: ResealError) -> listen_key::ListenKeyError {
        match error {
            ResealError::Log(error) => error.into(),
            ResealError::Seal(error) => error.into(),
        }
    }
}

/// One file, whole or not at all.
fn reseal<R: Resealed>(
    path: &Path,
    old: &Sealer,
    new: &Sealer,
    rotated: &mut Rotated,
) -> Result<(), ResealError> {
    let (mut records, _) = KeyLog::<R>::read(path)?;
    for (sealed, context) in records.iter_mut().filter_map(Resealed::sealed) {
        match old.open(&context, sealed) {
            Ok(plain) => {
                *sealed = new.seal(&context, &plain)?;
                rotated.resealed += 1;
            }
            Err(error) => {
                new.open(&context, sealed).map_err(|_| error)?;
                rotated.were_new += 1;
            }
        }
    }
    if !records.is_empty() {
        KeyLog::rewrite(path, &records)?;
    }
    Ok(())
}
