//! Operators with keys of their own, so that the audit log can name who acted: a file of names and of what their keys hash to.
//!
//! The file holds no secret, but whoever writes it makes operators, so it is kept as one. A running exchange looks at it with every
//! request of an operator, so that a key which is taken away opens nothing from then on.

use super::secret::{self, SecretError};
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
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

    /// Whose key this is.
    pub fn find_key(&self, key: &str) -> Option<&str> {
        self.find(&Sha256::digest(key.as_bytes()).into())
    }

    /// Who has a key, in the order in which they were made.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().map(|(name, _)| name.as_str())
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

/// What tells one content of the file from another. The file is replaced, never written into, so that another content is another
/// inode; whoever edits it by hand changes its times.
type Stamp = (u64, u64, (i64, i64), (i64, i64));

fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    match std::fs::metadata(path) {
        Ok(file) => Ok(Some((
            file.ino(),
            file.len(),
            (file.mtime(), file.mtime_nsec()),
            (file.ctime(), file.ctime_nsec()),
        ))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The operators of a running exchange: those that the file names now.
#[derive(Debug)]
pub struct Watched {
    folder: PathBuf,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    /// Of what was read; nothing where the file could not be read, so that the next look reads it.
    stamp: Option<Option<Stamp>>,
    operators: Operators,
    /// What the log was told last of a file that cannot be read.
    fault: String,
}

impl Watched {
    /// Those of a folder.
    ///
    /// Errors: a file that cannot be read, is open to others or holds something else.
    pub fn open(folder: &Path) -> Result<Watched, SecretError> {
        let path = folder.join(FILE);
        // Before it is read: what comes in between is seen at the next look.
        let stamp = stamp(&path).map_err(|cause| SecretError::Io { path, cause })?;
        let operators = Operators::load(folder)?;
        let known = Known { stamp: Some(stamp), operators, fault: String::new() };
        Ok(Watched { folder: folder.to_owned(), known: Mutex::new(known) })
    }

    /// Whose key has this hash now. A file that cannot be read lets nobody in: whom it no longer names cannot be told from whom it
    /// does.
    pub fn find(&self, hash: &[u8; 32]) -> Option<String> {
        self.look(|operators| operators.find(hash).map(str::to_owned))
    }

    /// Whether an operator of this name has a key now.
    pub fn has(&self, name: &str) -> bool {
        self.look(|operators| operators.rows.iter().any(|(known, _)| known == name))
    }

    fn look<T>(&self, of: impl FnOnce(&Operators) -> T) -> T {
        let mut known = self.known.lock();
        let path = self.folder.join(FILE);
        let seen = stamp(&path).map_err(|cause| SecretError::Io { path, cause });
        if !seen.as_ref().is_ok_and(|stamp| known.stamp == Some(*stamp)) {
            match seen.and_then(|stamp| Ok((stamp, Operators::load(&self.folder)?))) {
                Ok((stamp, operators)) => {
                    *known = Known { stamp: Some(stamp), operators, fault: String::new() }
                }
                Err(error) => {
                    let fault = error.to_string();
                    if known.fault != fault {
                        tracing::error!("no operator's own key counts: {fault}");
                    }
                    *known = Known { stamp: None, operators: Operators::default(), fault };
                }
            }
        }
        of(&known.operators)
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

    /// The file of a running exchange: added, taken away, spoilt and mended, each seen at the next look.
    #[test]
    fn the_file_counts_as_it_is_now() {
        let folder = std::env::temp_dir().join(format!("ringside-watched-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        let watched = Watched::open(&folder).unwrap();
        let mut tool = Operators::default();
        let hash = |key: &str| -> [u8; 32] { Sha256::digest(key.as_bytes()).into() };
        let ann = hash(&tool.add(&folder, "ann").unwrap());
        assert_eq!(watched.find(&ann).as_deref(), Some("ann"));
        // As long as before, and another.
        assert!(tool.remove(&folder, "ann").unwrap());
        let bob = hash(&tool.add(&folder, "bob").unwrap());
        assert_eq!((watched.find(&ann), watched.find(&bob).as_deref()), (None, Some("bob")));
        assert!(watched.has("bob") && !watched.has("ann"));
        let path = folder.join(FILE);
        let sound = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, "bob 00\n").unwrap();
        assert_eq!(watched.find(&bob), None);
        std::fs::write(&path, sound).unwrap();
        assert!(watched.has("bob"));
        // Open to others, it may have been written by others.
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
        assert!(!watched.has("bob"));
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        assert!(watched.has("bob"));
        std::fs::remove_file(&path).unwrap();
        assert!(!watched.has("bob"));
        std::fs::remove_dir_all(folder).unwrap();
    }

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
