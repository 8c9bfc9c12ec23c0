//! A side's key, which is made when it is first asked for, and the fingerprint by which the other side knows it.

use ring::digest;
use ring::rand::SystemRandom;
use ring::signature::Ed25519KeyPair;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;
use tokio_rustls::rustls::crypto::ring::sign::any_eddsa_type;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;

/// Name of the file in the data folder.
const FILE: &str = "mirror.key";

/// SHA-256 of a public key, as 64 hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// Of a public key as TLS shows it (SubjectPublicKeyInfo).
    pub(crate) fn of(public_key: &[u8]) -> Fingerprint {
        let mut bytes = [0; 32];
        bytes.copy_from_slice(digest::digest(&digest::SHA256, public_key).as_ref());
        Fingerprint(bytes)
    }

    /// Of its bytes.
    pub fn of_bytes(bytes: [u8; 32]) -> Fingerprint {
        Fingerprint(bytes)
    }

    /// Its bytes.
    pub fn bytes(&self) -> [u8; 32] {
        self.0
    }
}

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&const_hex::encode(self.0))
    }
}

impl FromStr for Fingerprint {
    type Err = const_hex::FromHexError;

    fn from_str(text: &str) -> Result<Fingerprint, const_hex::FromHexError> {
        const_hex::decode_to_array(text).map(Fingerprint)
    }
}

/// Who this side is.
#[derive(Clone)]
pub struct Identity {
    pub(crate) key: Arc<CertifiedKey>,
    fingerprint: Fingerprint,
}

impl Identity {
    /// Reads the key of a data folder, or makes it.
    ///
    /// Errors: I/O; the file holds no key.
    pub fn of(data: &Path) -> io::Result<Identity> {
        let path = data.join(FILE);
        let bytes = match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => make(data, &path)?,
            bytes => bytes?,
        };
        let no_key = || io::Error::other(format!("{} holds no key", path.display()));
        let key = any_eddsa_type(&PrivatePkcs8KeyDer::from(bytes)).map_err(|_| no_key())?;
        let public = key.public_key().ok_or_else(no_key)?.as_ref().to_vec();
        let fingerprint = Fingerprint::of(&public);
        Ok(Identity {
            key: Arc::new(CertifiedKey::new(vec![CertificateDer::from(public)], key)),
            fingerprint,
        })
    }

    /// What the other side's `mirror_keys` is to name.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// Makes a key and keeps it: under its name it is whole.
fn make(data: &Path, path: &Path) -> io::Result<Vec<u8>> {
    let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
    let made = made.map_err(|_| io::Error::other("the system gives no random bytes"))?;
    let aside = path.with_extension("key.tmp");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    file.write_all(made.as_ref())?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    fs::File::open(data)?.sync_all()?;
    Ok(made.as_ref().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_is_made_once_and_is_its_owners() {
        let folder = std::env::temp_dir().join(format!("mirror-keys-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let made = Identity::of(&folder).expect("made").fingerprint();
        assert_eq!(Identity::of(&folder).expect("read").fingerprint(), made);
        let mode = fs::metadata(folder.join(FILE)).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(made.to_string().parse(), Ok(made));
        assert!("00".parse::<Fingerprint>().is_err() && "x".repeat(64).parse::<Fingerprint>().is_err());
        fs::write(folder.join(FILE), b"no key").expect("written");
        assert!(Identity::of(&folder).is_err());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
