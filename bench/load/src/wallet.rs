//! Wallets of test traders: keys from a seed, addresses, and the EIP-712 login signature (`spot.md` 2.1), worked out
//! here from the standard so that it is a second opinion on the exchange's own code.
//!
//! Keys from a seed are public knowledge; they must never hold anything of value.

use k256::ecdsa::{SigningKey, VerifyingKey};
use tiny_keccak::{Hasher, Keccak};

/// A wallet.
pub struct Wallet {
    key: SigningKey,
    /// Its address.
    pub address: [u8; 20],
}

impl Wallet {
    /// Wallet `index` of `seed`.
    pub fn from_seed(seed: u64, index: u32) -> Wallet {
        let mut text = b"ringside load client".to_vec();
        text.extend(seed.to_be_bytes());
        text.extend(index.to_be_bytes());
        let mut secret = keccak(&[&text]);
        // All but 2^-128 of hashes are valid keys; the next hash of an invalid one is as good.
        loop {
            match SigningKey::from_slice(&secret) {
                Ok(key) => return Wallet::of(key),
                Err(_) => secret = keccak(&[&secret]),
            }
        }
    }

    fn of(key: SigningKey) -> Wallet {
        let point = VerifyingKey::from(&key).to_encoded_point(false);
        let hash = keccak(&[&point.as_bytes()[1..]]);
        let mut address = [0; 20];
        address.copy_from_slice(&hash[12..]);
        Wallet { key, address }
    }

    /// The address as the API spells it.
    pub fn address_text(&self) -> String {
        hex(&self.address)
    }

    /// Signs a login: 65 bytes r, s, v as hex.
    pub fn sign_login(&self, chain_id: u64, nonce: &str, expires_at: u64) -> String {
        let digest = login_digest(&self.address, chain_id, nonce, expires_at);
        let (signature, recovery) =
            self.key.sign_prehash_recoverable(&digest).expect("a 32-byte digest can be signed");
        let mut bytes = signature.to_bytes().to_vec();
        bytes.push(27 + recovery.to_byte());
        hex(&bytes)
    }
}

/// The EIP-712 digest of a login.
fn login_digest(address: &[u8; 20], chain_id: u64, nonce: &str, expires_at: u64) -> [u8; 32] {
    let domain = keccak(&[
        &keccak(&[b"EIP712Domain(string name,string version,uint256 chainId)"]),
        &keccak(&[b"Exchange Login"]),
        &keccak(&[b"1"]),
        &word(&chain_id.to_be_bytes()),
    ]);
    let login = keccak(&[
        &keccak(&[b"Login(address account,string nonce,uint256 expiresAt)"]),
        &word(address),
        &keccak(&[nonce.as_bytes()]),
        &word(&expires_at.to_be_bytes()),
    ]);
    keccak(&[b"\x19\x01", &domain, &login])
}

/// Big-endian bytes, padded to 32 on the left.
fn word(bytes: &[u8]) -> [u8; 32] {
    let mut word = [0; 32];
    word[32 - bytes.len()..].copy_from_slice(bytes);
    word
}

fn keccak(parts: &[&[u8]]) -> [u8; 32] {
    let mut hasher = Keccak::v256();
    for part in parts {
        hasher.update(part);
    }
    let mut hash = [0; 32];
    hasher.finalize(&mut hash);
    hash
}

/// `0x` and lower-case hex.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 + bytes.len() * 2);
    text.push_str("0x");
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vector of `spot.md` 2.1.
    #[test]
    fn login_vector() {
        let mut secret = [0; 32];
        secret[31] = 2;
        let wallet = Wallet::of(SigningKey::from_slice(&secret).expect("a valid key"));
        assert_eq!(wallet.address_text(), "0x2b5ad5c4795c026514f8317c7a215e218dccd6cf");
        let nonce = "9f86d081884c7d659a2feaa0c55ad015";
        assert_eq!(
            hex(&login_digest(&wallet.address, 31_337, nonce, 1_767_225_600)),
            "0xa546ed3caa888f0c1137a5a49c1bf0e45743014508c154b77f3f5b2568ab5bba"
        );
        assert_eq!(
            wallet.sign_login(31_337, nonce, 1_767_225_600),
            "0x137b807a58702ef8bcdf02a36fbadad71fc1aa7cdf6f7bfadcdabcaf3ee86a362aa64c9bec8a4d5b49de711e874ebd187a2a165379bd747bf0cd7e48340aa1701b"
        );
    }

    #[test]
    fn wallets_differ_and_repeat() {
        let (first, second) = (Wallet::from_seed(1, 0), Wallet::from_seed(1, 1));
        assert_ne!(first.address, second.address);
        assert_eq!(first.address, Wallet::from_seed(1, 0).address);
    }
}
