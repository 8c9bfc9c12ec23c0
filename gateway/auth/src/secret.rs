//! Secrets of the deployment: random text, and the files that hold the ones made at first start.
//!
//! Files lie in a folder of mode 0700 and have mode 0600; one that others can read is refused, because whoever copied it
//! that way may have shown it already.

use std::fmt;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Bits of the mode that let anyone but the owner in.
const OTHERS: u32 = 0o077;

/// The system gave no random bytes.
#[derive(Debug, thiserror::Error)]
#[error("the system's random source failed: {0}")]
pub struct RandomError(getrandom::Error);

/// Why a secret could not be had. Names the file, never its content.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    /// Reading, writing or making the folder failed.
    #[error("secret file {path}: {cause}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Others than the owner can read it.
    #[error(
        "secret file {path} has mode {mode:04o}, so others may have read it; replace it, or `chmod 600` it if nobody has"
    )]
    Exposed {
        /// Path of the file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// It holds something else than was written.
    #[error("secret file {path} must hold one line of {wanted}")]
    Form {
        /// Path of the file.
        path: PathBuf,
        /// What it should hold.
        wanted: &'static str,
    },
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
}

/// A secret given by configuration. Never shown; wiped when dropped.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Of what a setting says.
    pub fn new(text: String) -> Secret {
        Secret(Zeroizing::new(text))
    }

    /// The secret itself.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(set)")
    }
}

/// Fills `bytes` from the system's cryptographic random source.
pub fn fill(bytes: &mut [u8]) -> Result<(), RandomError> {
    getrandom::fill(bytes).map_err(RandomError)
}

/// `len` characters of `[A-Za-z0-9]`, each equally likely: 64 of them hold 381 bits.
pub fn random_text(len: usize) -> Result<Zeroizing<String>, RandomError> {
    const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    // The largest multiple of 62 in a byte: what lies above would make the first letters likelier.
    const FAIR: u8 = 248;
    let mut text = Zeroizing::new(String::with_capacity(len));
    // As many as the system gives without a pause.
    let mut bytes = Zeroizing::new([0_u8; 256]);
    while text.len() < len {
        // A few more than are missing, as some will not be fair.
        let part = (len - text.len() + 8).min(bytes.len());
        let drawn = &mut bytes[..part];
        fill(drawn)?;
        let letters = drawn
            .iter()
            .filter(|byte| **byte < FAIR)
            .map(|byte| char::from(ALPHABET[usize::from(byte % 62)]));
        for letter in letters.take(len - text.len()) {
            text.push(letter);
        }
    }
    Ok(text)
}

/// The secret in a file of `folder`, and whether it was made just now. `make` gives the first one; `is_good` says whether a
/// line has the form described by `wanted`.
pub fn load_or_create(
    folder: &Path,
    name: &str,
    make: impl FnOnce() -> Result<Zeroizing<String>, RandomError>,
    is_good: impl Fn(&str) -> bool,
    wanted: &'static str,
) -> Result<(Zeroizing<String>, bool), SecretError> {
    let path = folder.join(name);
    let Some(text) = read(&path)? else {
        let secret = make()?;
        write(folder, &path, &secret)?;
        return Ok((secret, true));
    };
    let line = text.strip_suffix('\n').unwrap_or(&text);
    if !is_good(line) {
        return Err(SecretError::Form { path, wanted });
    }
    Ok((Zeroizing::new(line.to_owned()), false))
}

/// What a file holds that nobody else may read; `None` where there is none.
pub fn read(path: &Path) -> Result<Option<Zeroizing<String>>, SecretError> {
    let io_error = |cause| SecretError::Io { path: path.to_owned(), cause };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(cause) => return Err(io_error(cause)),
    };
    let mode = file.metadata().map_err(io_error)?.permissions().mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(SecretError::Exposed { path: path.to_owned(), mode });
    }
    Ok(Some(Zeroizing::new(io::read_to_string(file).map_err(io_error)?)))
}

/// Puts a text and a line's end into a file of `folder` that nobody else can read.
pub fn write(folder: &Path, path: &Path, text: &str) -> Result<(), SecretError> {
    write_new(folder, path, text).map_err(|cause| SecretError::Io { path: path.to_owned(), cause })
}

/// Writes aside and renames, so that a crash leaves a whole file or none.
fn write_new(folder: &Path, path: &Path, secret: &str) -> io::Result<()> {
    create_folder(folder)?;
    let aside = path.with_extension("new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    // The file may be a leftover with another mode.
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(format!("{secret}\n").as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&aside, path)?;
    File::open(folder)?.sync_all()
}

/// Makes a folder that only the owner can enter, and what is missing above it, so that no power failure takes the new names away;
/// one that exists is left as it is. (As the journal's, of which nobody here knows.)
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    make(folder, &mut |above| File::open(above)?.sync_all())
}

/// The same; `sync` makes the names in a folder durable.
fn make(folder: &Path, sync: &mut impl FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(Path::new(""));
    make(above, sync)?;
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        // Somebody was faster, and may not have come to the next line.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => {}
        made => made?,
    }
    sync(if above.as_os_str().is_empty() { Path::new(".") } else { above })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ringside-secret-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        folder
    }

    fn load(folder: &Path) -> Result<(Zeroizing<String>, bool), SecretError> {
        load_or_create(folder, "key", || random_text(64), |line| line.len() == 64, "64 characters")
    }

    #[test]
    fn the_first_start_makes_it_and_the_second_reads_it() {
        let folder = folder("first");
        let (made, is_new) = load(&folder).unwrap();
        assert!(is_new && made.len() == 64 && made.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert_eq!(std::fs::metadata(folder.join("key")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        let (read, is_new) = load(&folder).unwrap();
        assert!(!is_new && read == made);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_file_that_others_can_read_or_that_was_cut_is_refused() {
        let folder = folder("refused");
        let secret = load(&folder).unwrap().0;
        std::fs::set_permissions(folder.join("key"), Permissions::from_mode(0o640)).unwrap();
        let error = load(&folder).unwrap_err().to_string();
        assert!(error.contains("0640") && !error.contains(secret.as_str()), "{error}");
        std::fs::set_permissions(folder.join("key"), Permissions::from_mode(0o600)).unwrap();
        std::fs::write(folder.join("key"), &secret[..10]).unwrap();
        let error = load(&folder).unwrap_err().to_string();
        assert!(error.contains("64 characters") && !error.contains(&secret[..10]), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    /// Of each new folder the one above it, which holds its name, from above.
    #[test]
    fn the_names_of_new_folders_are_synced() {
        let folder = folder("names");
        let mut synced = Vec::new();
        let mut made = |path: &Path| {
            synced.clear();
            make(path, &mut |above| {
                synced.push(above.to_owned());
                Ok(())
            })
            .unwrap();
            synced.clone()
        };
        let auth = folder.join("data/auth");
        assert_eq!(made(&auth), [std::env::temp_dir(), folder.clone(), folder.join("data")]);
        assert_eq!(made(&auth), Vec::<PathBuf>::new());
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn random_text_uses_the_whole_alphabet_and_does_not_repeat() {
        let text = random_text(10_000).unwrap();
        let letters: std::collections::BTreeSet<char> = text.chars().collect();
        assert_eq!(letters.len(), 62);
        assert_ne!(random_text(64).unwrap(), random_text(64).unwrap());
        assert_eq!(random_text(0).unwrap().as_str(), "");
    }
}
