//! What spreads the keys of an engine's tables. Names of orders, prices, idempotency keys, in part addresses, and which orders stay
//! open are for users to choose: who knew how a table spreads them could choose such as all meet in one place, and every command
//! there would take as long as there are of them, for everybody behind it. So each process draws numbers of its own. No result
//! depends on them.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

/// See the module.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HashSeed {
    words: [u64; 8],
}

impl HashSeed {
    /// Always the same for one `secret`.
    pub const fn new(secret: u64) -> HashSeed {
        let (mut words, mut state, mut at) = ([0; 8], secret, 0);
        while at < words.len() {
            // SplitMix64, whose outputs look like independent draws.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let word = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            words[at] = word ^ (word >> 31);
            at += 1;
        }
        HashSeed { words }
    }

    /// One that nobody knows.
    pub fn random() -> HashSeed {
        HashSeed::new(RandomState::new().hash_one(0))
    }

    /// All of it, for what makes hashes of several words.
    #[inline(always)]
    pub(crate) fn words(&self) -> &[u64; 8] {
        &self.words
    }

    /// An odd number: the uppermost bits of its product with a key are the key's home. Two keys that were chosen without knowing it
    /// have the same home about as seldom as two homes that are drawn.
    #[inline(always)]
    pub(crate) fn multiplier(&self) -> u64 {
        self.words[7] | 1
    }

    /// The hash of a key: all bits well mixed.
    #[inline(always)]
    pub fn hash(&self, key: u64) -> u64 {
        fold(key ^ self.words[0], self.words[1])
    }
}

/// One that is known, for tests and benchmarks.
impl Default for HashSeed {
    fn default() -> HashSeed {
        HashSeed::new(0)
    }
}

/// It is a secret.
impl fmt::Debug for HashSeed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("HashSeed")
    }
}

/// Both halves of a product, in one.
#[inline(always)]
pub(crate) fn fold(one: u64, other: u64) -> u64 {
    let wide = u128::from(one) * u128::from(other);
    wide as u64 ^ (wide >> 64) as u64
}
