//! Sealing of API credentials at rest: XChaCha20-Poly1305 under one key-encryption key.
//!
//! The seal is bound to its context (which key, which account), so sealed bytes cannot be moved to another record.

use crate::secret::{self, RandomError};
use chacha20poly1305::aead::{Aead, Payload};
use chacha20poly1305::{KeyInit, XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

/// Bytes of the random nonce in front: long enough to be drawn at random for ever.
const NONCE_LEN: usize = 24;

/// Seals and opens.
pub struct Sealer(XChaCha20Poly1305);

/// Why sealed bytes did not open, or plain ones could not be sealed.
#[derive(Debug, thiserror::Error)]
pub enum SealError {
    /// Another key, another context, or changed bytes.
    #[error("sealed bytes do not open under this key-encryption key")]
    DoesNotOpen,
    /// No randomness.
    #[error(transparent)]
    Random(#[from] RandomError),
    /// More than the cipher takes at once, 256 GiB.
    #[error("too long to seal")]
    TooLong,
}

impl Sealer {
    /// A sealer under a key-encryption key.
    pub fn new(key: &[u8; 32]) -> Sealer {
        Sealer(XChaCha20Poly1305::new(key.into()))
    }

    /// Nonce and sealed bytes; the same input gives other bytes each time.
    pub fn seal(&self, context: &[u8], plain: &[u8]) -> Result<Vec<u8>, SealError> {
        let mut nonce = [0; NONCE_LEN];
        secret::fill(&mut nonce)?;
        let payload = Payload { msg: plain, aad: context };
        let sealed = self.0.encrypt(&XNonce::from(nonce), payload).map_err(|_| SealError::TooLong)?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// What was sealed in this context.
    pub fn open(&self, context: &[u8], sealed: &[u8]) -> Result<Zeroizing<Vec<u8>>, SealError> {
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(SealError::DoesNotOpen)?;
        let payload = Payload { msg: sealed, aad: context };
        let plain = self.0.decrypt(&XNonce::from(*nonce), payload).map_err(|_| SealError::DoesNotOpen)?;
        Ok(Zeroizing::new(plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn opens_only_unchanged_in_its_own_context_under_its_own_key() {
        let sealer = Sealer::new(&[7; 32]);
        let sealed = sealer.seal(b"key 1", b"secret").unwrap();
        assert_eq!(sealer.open(b"key 1", &sealed).unwrap().as_slice(), b"secret");
        assert_ne!(sealed, sealer.seal(b"key 1", b"secret").unwrap());
        assert!(!sealed.windows(6).any(|window| window == b"secret"));
        assert!(sealer.open(b"key 2", &sealed).is_err());
        assert!(Sealer::new(&[8; 32]).open(b"key 1", &sealed).is_err());
        for at in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[at] ^= 1;
            assert!(sealer.open(b"key 1", &bent).is_err(), "{at}");
            assert!(sealer.open(b"key 1", &sealed[..at]).is_err(), "{at}");
        }
    }

    #[test]
    fn draft_irtf_cfrg_xchacha_a1() {
        // The vector of the cipher's own draft, made by others.
        let key: [u8; 32] = std::array::from_fn(|n| 0x80 + n as u8);
        let nonce: [u8; 24] = std::array::from_fn(|n| 0x40 + n as u8);
        let context = const_hex::decode("50515253c0c1c2c3c4c5c6c7").unwrap();
        let plain: &[u8] = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it.";
        let sealed = const_hex::decode(
            "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b0b4aa6440bf3a82f4eda7e39\
             ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff9\
             21f9664c97637da9768812f615c68b13b52ec0875924c1c7987947deafd8780acf49",
        )
        .unwrap();
        let opened = Sealer::new(&key).open(&context, &[&nonce[..], &sealed].concat()).unwrap();
        assert_eq!(opened.as_slice(), plain);
    }
}
