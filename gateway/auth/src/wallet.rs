//! Hash, recovery and wallet: the only file that names the chain library, so that another one can take its place here.
//!
//! Of that library only the two crates without a network of their own are used. What is hashed is put together by whoever
//! knows the message; how nodes are asked is the business of `chain`.

use ethers_core::types::{H256, Signature, U256};
use ethers_signers::{LocalWallet, Signer};
use ringside_core::ids::Address;

/// A signature: r, s, v.
pub type SignatureBytes = [u8; 65];

/// Half the order of secp256k1: a signature with a larger s has a twin with a smaller one, and only that one counts.
const HALF_ORDER: [u64; 4] =
    [0xDFE9_2F46_681B_20A0, 0x5D57_6E73_57A4_501D, 0xFFFF_FFFF_FFFF_FFFF, 0x7FFF_FFFF_FFFF_FFFF];

/// Keccak-256.
pub fn keccak256(bytes: impl AsRef<[u8]>) -> [u8; 32] {
    ethers_core::utils::keccak256(bytes)
}

/// A value of the contract interface: left-padded to 32 bytes. `bytes` is at most that long.
pub fn word(bytes: &[u8]) -> [u8; 32] {
    let mut word = [0; 32];
    word[32 - bytes.len()..].copy_from_slice(bytes);
    word
}

/// The digest that EIP-712 signs, of the hashes of domain and message.
pub fn typed_digest(domain_separator: &[u8; 32], struct_hash: &[u8; 32]) -> [u8; 32] {
    let mut bytes = [0; 66];
    bytes[..2].copy_from_slice(&[0x19, 0x01]);
    bytes[2..34].copy_from_slice(domain_separator);
    bytes[34..].copy_from_slice(struct_hash);
    keccak256(bytes)
}

/// Who signed a digest. `None` for what is no signature: v other than 27, 28, 0 and 1, s in the upper half, no such point.
pub fn recover(digest: &[u8; 32], signature: &SignatureBytes) -> Option<Address> {
    let v = match signature[64] {
        v @ (27 | 28) => v,
        v @ (0 | 1) => v + 27,
        _ => return None,
    };
    let signature = Signature {
        r: U256::from_big_endian(&signature[..32]),
        s: U256::from_big_endian(&signature[32..64]),
        v: u64::from(v),
    };
    if signature.s > U256(HALF_ORDER) {
        return None;
    }
    signature.recover(H256(*digest)).ok().map(|signer| signer.0)
}

/// A secp256k1 key. It is wiped when dropped, and its debug text shows the address alone.
#[derive(Debug)]
pub struct Wallet(LocalWallet);

impl Wallet {
    /// From its 32 bytes; `None` for a key that is no scalar.
    pub fn new(key: &[u8; 32]) -> Option<Wallet> {
        LocalWallet::from_bytes(key).ok().map(Wallet)
    }

    /// Its address.
    pub fn address(&self) -> Address {
        self.0.address().0
    }

    /// Signs a digest; the same digest always gives the same bytes (RFC 6979), v 27 or 28, s in the lower half. `None` for a
    /// digest that cannot be signed, of which none is known.
    pub fn sign(&self, digest: &[u8; 32]) -> Option<SignatureBytes> {
        self.0.sign_hash(H256(*digest)).ok().map(Into::into)
    }
}
