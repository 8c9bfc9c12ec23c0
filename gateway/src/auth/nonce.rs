//! Login nonces: random, bound to an address, good once and for five minutes (`spot.md` 2.1).
//!
//! In memory: after a restart a wallet asks for a new one. Anyone may ask for a nonce of any address, so their number is
//! bounded; above the bound the oldest of all dies first.

use crate::auth::secret::{self, RandomError};
use ringside_core::ids::Address;
use std::collections::{HashMap, VecDeque};

/// Life of a nonce in seconds.
pub const NONCE_LIFE_S: i64 = 300;
/// Live nonces of one address; a further one drops the oldest.
pub const LIVE_PER_ADDRESS: usize = 5;
/// Live nonces of all addresses.
const LIVE_IN_ALL: usize = 50_000;

/// 128 random bits; 32 hex digits in text.
pub type Nonce = [u8; 16];

/// The live nonces.
#[derive(Debug, Default)]
pub struct Nonces {
    /// Oldest first, per address; never an empty list.
    by_address: HashMap<Address, VecDeque<Live>>,
    /// Every nonce ever issued that may still live, oldest first: all live equally long, so this is the order of expiry.
    issued: VecDeque<(Address, Live)>,
    live: usize,
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
    /// A new nonce of an address.
    pub fn issue(&mut self, address: Address, now_s: i64) -> Result<Live, RandomError> {
        let mut nonce = Nonce::default();
        secret::fill(&mut nonce)?;
        self.expire(now_s);
        let live = Live { nonce, expires_at_s: now_s + NONCE_LIFE_S };
        let own = self.by_address.entry(address).or_default();
        if own.len() == LIVE_PER_ADDRESS {
            own.pop_front();
            self.live -= 1;
        }
        own.push_back(live);
        self.live += 1;
        self.issued.push_back((address, live));
        Ok(live)
    }

    /// The live nonce of an address, if it is one.
    pub fn find(&self, address: &Address, nonce: &Nonce, now_s: i64) -> Option<Live> {
        let own = self.by_address.get(address)?;
        own.iter().find(|live| live.nonce == *nonce && now_s < live.expires_at_s).copied()
    }

    /// Uses a nonce up; whether it was still good. Of two that race, one gets true.
    pub fn consume(&mut self, address: &Address, nonce: &Nonce, now_s: i64) -> bool {
        let was_good = self.find(address, nonce, now_s).is_some();
        self.remove(address, nonce);
        was_good
    }

    fn remove(&mut self, address: &Address, nonce: &Nonce) {
        let Some(own) = self.by_address.get_mut(address) else { return };
        let before = own.len();
        own.retain(|live| live.nonce != *nonce);
        self.live -= before - own.len();
        if own.is_empty() {
            self.by_address.remove(address);
        }
    }

    /// Forgets what has expired, and the oldest above the bound.
    fn expire(&mut self, now_s: i64) {
        while let Some((address, oldest)) = self.issued.front().copied() {
            // The list also holds nonces that were used or dropped since; they count towards its length only.
            if now_s < oldest.expires_at_s && self.issued.len() < LIVE_IN_ALL {
                break;
            }
            self.issued.pop_front();
            self.remove(&address, &oldest.nonce);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Address = [1; 20];
    const B: Address = [2; 20];

    #[test]
    fn a_nonce_is_good_once_for_its_own_address_until_it_expires() {
        let mut nonces = Nonces::default();
        let live = nonces.issue(A, 1_000).unwrap();
        assert_eq!(live.expires_at_s, 1_300);
        assert_eq!(nonces.find(&B, &live.nonce, 1_000), None);
        assert_eq!(nonces.find(&A, &[0; 16], 1_000), None);
        assert_eq!(nonces.find(&A, &live.nonce, 1_299), Some(live));
        assert_eq!(nonces.find(&A, &live.nonce, 1_300), None);
        assert!(nonces.consume(&A, &live.nonce, 1_299));
        assert!(!nonces.consume(&A, &live.nonce, 1_299));
        let late = nonces.issue(A, 1_000).unwrap();
        assert!(!nonces.consume(&A, &late.nonce, 1_300));
    }

    #[test]
    fn the_sixth_drops_the_oldest() {
        let mut nonces = Nonces::default();
        let issued: Vec<Live> = (0..6).map(|n| nonces.issue(A, 1_000 + n).unwrap()).collect();
        let other = nonces.issue(B, 1_000).unwrap();
        assert_eq!(nonces.find(&A, &issued[0].nonce, 1_006), None);
        assert!(issued[1..].iter().all(|live| nonces.find(&A, &live.nonce, 1_006).is_some()));
        assert!(nonces.find(&B, &other.nonce, 1_006).is_some());
    }

    #[test]
    fn memory_is_bounded_by_time_and_by_number() {
        let mut nonces = Nonces::default();
        let address = |n: u32| {
            let mut address = A;
            address[..4].copy_from_slice(&n.to_be_bytes());
            address
        };
        for n in 0..LIVE_IN_ALL as u32 + 10 {
            nonces.issue(address(n), 1_000).unwrap();
        }
        assert_eq!(
            (nonces.live, nonces.issued.len(), nonces.by_address.len()),
            (LIVE_IN_ALL, LIVE_IN_ALL, LIVE_IN_ALL)
        );
        nonces.issue(A, 1_300).unwrap();
        assert_eq!((nonces.live, nonces.issued.len(), nonces.by_address.len()), (1, 1, 1));
    }
}
