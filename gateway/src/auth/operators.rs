//! Operators with keys of their own, so that the audit log can name who acted: a file of names and of what their keys hash to.
//!
//! The file holds no secret, but whoever writes it makes operators, so it is kept as one. It is read at start.

use super::secret::{self, SecretError};
use sha2::{Digest, Sha256};
use std::path::Path;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The file: a line for each, `<name> <SHA-256 of the key in hex>`.
pub const FILE: &str = "operators";
/// Characters of a key.
const KEY_LEN: usize = 64;
/// Longest name: what a note of the audit log has room for.
const NAME_LEN_MAX: usize = 16;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Operators {
    rows: Vec<(String, [u8; 32])>,
}

impl Operators {
    /// Those of a folder; none where the file is absent.
    pub fn load(folder: &Path) -> Result<Operators, SecretError> {
        let path = folder.join(FILE);
        let Some(text) = secret::read(&path)? else { return Ok(Operators::default()) };
        let read = |line: &str| {
            let (name, hash) = line.split_once(' ')?;
            let mut bytes = [0; 32];
            const_hex::decode_to_slice(hash, &mut bytes).ok()?;
            is_name(name).then(|| (name.to_owned(), bytes))
        };
        let rows: Option<Vec<_>> = text.lines().filter(|line| !line.is_empty()).map(read).collect();
        let wanted = "a name and 64 hex digits for each operator";
        Ok(Operators { rows: rows.ok_or(SecretError::Form { path, wanted })? })
    }

    /// Whose key has this hash. Every one is compared, in constant time.
    pub fn find(&self, hash: &[u8; 32]) -> Option<&str> {
        let mut found = None;
        for (name, known) in &self.rows {
            if known.ct_eq(hash).into() {
                found = Some(name.as_str());
            }
        }
        found
    }

    /// Makes a key for an operator, who may not have one yet, and puts its hash into the file.
    pub fn add(&mut self, folder: &Path, name: &str) -> Result<Zeroizing<String>, AddError> {
        if !is_name(name) {
            return Err(AddError::Name(name.to_owned()));
        }
        if self.rows.iter().any(|(known, _)| known == name) {
            return Err(AddError::Known(name.to_owned()));
        }
        let key = secret::random_text(KEY_LEN).map_err(SecretError::from)?;
        self.rows.push((name.to_owned(), Sha256::digest(key.as_bytes()).into()));
        self.store(folder)?;
        Ok(key)
    }

    /// Takes an operator's key out of the file; whether there was one.
    pub fn remove(&mut self, folder: &Path, name: &str) -> Result<bool, SecretError> {
        let count = self.rows.len();
        self.rows.retain(|(known, _)| known != name);
        if self.rows.len() < count {
            self.store(folder)?;
        }
        Ok(self.rows.len() < count)
    }

    fn store(&self, folder: &Path) -> Result<(), SecretError> {
        let lines: Vec<String> =
            self.rows.iter().map(|(name, hash)| format!("{name} {}", const_hex::encode(hash))).collect();
        secret::write(folder, &folder.join(FILE), &lines.join("\n"))
    }
}

/// Why an operator got no key.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    /// No name.
    #[error("{0:?}: a name has 1 to 16 letters, digits, points, hyphens or underscores")]
    Name(String),
    /// There is one.
    #[error("{0} has a key; remove it first")]
    Known(String),
    /// The file.
    #[error(transparent)]
    Secret(#[from] SecretError),
}

fn is_name(name: &str) -> bool {
    (1..=NAME_LEN_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_hash_alone() {
        let folder = std::env::temp_dir().join(format!("ringside-operators-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let mut operators = Operators::load(&folder).unwrap();
        let hash = |key: &str| -> [u8; 32] { Sha256::digest(key.as_bytes()).into() };
        let [ann, bob] = ["ann", "bob"].map(|name| operators.add(&folder, name).unwrap());
        assert!(matches!(operators.add(&folder, "ann"), Err(AddError::Known(_))));
        for wrong in ["", "an operator", "abcdefghijklmnopq", "a\nb"] {
            assert!(matches!(operators.add(&folder, wrong), Err(AddError::Name(_))), "{wrong:?}");
        }
        let mut again = Operators::load(&folder).unwrap();
        assert_eq!(again, operators);
        assert_eq!((again.find(&hash(&ann)), again.find(&hash(&bob))), (Some("ann"), Some("bob")));
        assert_eq!(again.find(&hash("ann")), None);
        let text = std::fs::read_to_string(folder.join(FILE)).unwrap();
        assert!(!text.contains(ann.as_str()) && text.lines().count() == 2, "{text}");
        assert!(again.remove(&folder, "ann").unwrap() && !again.remove(&folder, "ann").unwrap());
        assert_eq!(Operators::load(&folder).unwrap().find(&hash(&ann)), None);
        assert!(again.remove(&folder, "bob").unwrap());
        assert_eq!(Operators::load(&folder).unwrap(), Operators::default());
        std::fs::write(folder.join(FILE), "ann 00\n").unwrap();
        assert!(matches!(Operators::load(&folder), Err(SecretError::Form { .. })));
        std::fs::remove_dir_all(folder).unwrap();
    }
}
