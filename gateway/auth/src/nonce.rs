//! Login nonces: bound to an address, good once and for five minutes (`spot.md` 2.1).
//!
//! None is kept. A nonce says when it was issued, and a tag under a secret says that it was, and for whom: so nobody can push
//! another's out by asking for many. Only those that logged somebody in are remembered, until they expire. The secret lives as
//! long as the process, since one that starts again does not know which were used.
//!
//! ```text
//! | issued at, UNIX seconds: 4 | random: 4 | tag over address and both: 8 |
//! ```

use crate::secret::{self, RandomError};
use hmac::{Hmac, KeyInit, Mac};
use parking_lot::Mutex;
use ringside_core::ids::Address;
use sha2::Sha256;
use std::collections::BTreeSet;

/// Life of a nonce in seconds.
pub const NONCE_LIFE_S: i64 = 300;
/// Bytes before the tag.
const STAMP_LEN: usize = 8;

/// 16 bytes; 32 hex digits in text.
pub type Nonce = [u8; 16];

/// The nonces of one process.
pub struct Nonces {
    secret: Hmac<Sha256>,
    /// Used ones and when they expire, the first to expire first.
    used: Mutex<BTreeSet<(i64, Nonce)>>,
}

/// A nonce and when it dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Live {
    /// The nonce.
    pub nonce: Nonce,
    /// UNIX seconds: the first moment at which it is no longer good.
    pub expires_at_s: i64,
}

impl Nonces {
    /// Under a secret of their own.
    pub fn new() -> Result<Nonces, RandomError> {
        let mut secret = [0; 32];
        secret::fill(&mut secret)?;
        let secret = Hmac::new_from_slice(&secret).expect("a key of any length");
        Ok(Nonces { secret, used: Mutex::default() })
    }

    /// A new nonce of an address.
    pub fn issue(&self, address: &Address, now_s: i64) -> Result<Live, RandomError> {
        let mut nonce = Nonce::default();
        secret::fill(&mut nonce[4..STAMP_LEN])?;
        // Seconds fit in 32 bits until the year 2106.
        nonce[..4].copy_from_slice(&(now_s as u32).to_be_bytes());
        let tag = self.tagged(address, &nonce).finalize().into_bytes();
        nonce[STAMP_LEN..].copy_from_slice(&tag[..16 - STAMP_LEN]);
        Ok(Live { nonce, expires_at_s: now_s + NONCE_LIFE_S })
    }

    /// The live nonce of an address, if it is one.
    pub fn find(&self, address: &Address, nonce: &Nonce, now_s: i64) -> Option<Live> {
        let (stamp, tag) = nonce.split_at(STAMP_LEN);
        self.tagged(address, stamp).verify_truncated_left(tag).ok()?;
        let issued_at_s = u32::from_be_bytes([stamp[0], stamp[1], stamp[2], stamp[3]]);
        let live = Live { nonce: *nonce, expires_at_s: i64::from(issued_at_s) + NONCE_LIFE_S };
        let is_used = || self.used.lock().contains(&(live.expires_at_s, live.nonce));
        (now_s < live.expires_at_s && !is_used()).then_some(live)
    }

    /// Uses a live nonce up; whether it was still good. Of two that race, one gets true.
    pub fn consume(&self, live: &Live, now_s: i64) -> bool {
        let mut used = self.used.lock();
        while used.first().is_some_and(|(expires_at_s, _)| now_s >= *expires_at_s) {
            used.pop_first();
        }
        now_s < live.expires_at_s && used.insert((live.expires_at_s, live.nonce))
    }

    fn tagged(&self, address: &Address, stamp: &[u8]) -> Hmac<Sha256> {
        self.secret.clone().chain_update(address).chain_update(&stamp[..STAMP_LEN])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = [1; 20];
    const B: Address = [2; 20];

    #[test]
    fn a_nonce_is_good_once_for_its_own_address_until_it_expires() {
        let nonces = Nonces::new().unwrap();
        let live = nonces.issue(&A, 1_000).unwrap();
        assert_eq!(live.expires_at_s, 1_300);
        assert_eq!(nonces.find(&B, &live.nonce, 1_000), None);
        assert_eq!(nonces.find(&A, &[0; 16], 1_000), None);
        assert_eq!(nonces.find(&A, &live.nonce, 1_299), Some(live));
        assert_eq!(nonces.find(&A, &live.nonce, 1_300), None);
        assert!(nonces.consume(&live, 1_299));
        assert!(!nonces.consume(&live, 1_299));
        assert_eq!(nonces.find(&A, &live.nonce, 1_299), None);
        let late = nonces.issue(&A, 1_000).unwrap();
        assert!(!nonces.consume(&late, 1_300));
    }

    #[test]
    fn nobody_makes_one_and_no_bit_of_one_can_be_changed() {
        let nonces = Nonces::new().unwrap();
        let live = nonces.issue(&A, 1_000).unwrap();
        for bit in 0..128 {
            let mut other = live.nonce;
            other[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(nonces.find(&A, &other, 1_000), None, "{bit}");
        }
        assert_eq!(Nonces::new().unwrap().find(&A, &live.nonce, 1_000), None, "another process's");
    }

    #[test]
    fn asking_for_many_takes_nothing_from_anyone_and_used_ones_are_forgotten_when_they_expire() {
        let nonces = Nonces::new().unwrap();
        let first = nonces.issue(&A, 1_000).unwrap();
        let mut all = BTreeSet::new();
        for _ in 0..60_000 {
            all.insert(nonces.issue(&A, 1_000).unwrap().nonce);
        }
        assert!(all.len() > 59_990, "those of one second differ");
        assert_eq!(nonces.find(&A, &first.nonce, 1_299), Some(first));
        for now_s in 1_000..2_000 {
            assert!(nonces.consume(&nonces.issue(&B, now_s).unwrap(), now_s));
        }
        assert_eq!(nonces.used.lock().len(), NONCE_LIFE_S as usize);
    }
}
