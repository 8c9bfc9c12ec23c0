//! The key-encryption key: where it lies, how it is read, and how one is made.

use super::secret::{self, RandomError, SecretError};
use crate::Settings;
use std::path::Path;
use zeroize::Zeroizing;

/// The file of the key, and the one of the key that is to be.
pub(super) const CURRENT: &str = "key_encryption_key";
pub(super) const NEXT: &str = "key_encryption_key.next";

/// The key itself: configured, else that of the file, which is made where there is none.
pub(super) fn read(settings: &Settings, folder: &Path) -> Result<Zeroizing<[u8; 32]>, SecretError> {
    let text = match &settings.key_encryption_key {
        Some(key) => key.clone(),
        None => secret::load_or_create(folder, CURRENT, make, is_key, "64 hex digits")?.0,
    };
    let mut key = Zeroizing::new([0; 32]);
    const_hex::decode_to_slice(text.as_str(), &mut *key)
        .map_err(|_| SecretError::Form { path: folder.join(CURRENT), wanted: "64 hex digits" })?;
    Ok(key)
}

/// Whether a line is a key-encryption key.
pub(super) fn is_key(line: &str) -> bool {
    line.len() == 64 && line.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// A new key-encryption key.
pub(super) fn make() -> Result<Zeroizing<String>, RandomError> {
    let mut key = Zeroizing::new([0; 32]);
    secret::fill(&mut *key)?;
    Ok(Zeroizing::new(const_hex::encode(*key)))
}
