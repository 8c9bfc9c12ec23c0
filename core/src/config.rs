//! What memory an engine takes at start.

use crate::hash_seed::HashSeed;
use crate::memory::Pages;

/// Memory to take at start, and how tables are spread over it. It never changes results, and everything grows past it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineConfig {
    /// Resting orders, over all markets.
    pub orders: usize,
    /// Accounts.
    pub accounts: usize,
    /// Idempotency keys of a day.
    pub idempotency_keys: usize,
    /// What it lies on.
    pub pages: Pages,
    /// What spreads the tables; a secret where users choose keys.
    pub hash_seed: HashSeed,
}

impl EngineConfig {
    /// No memory taken at start, so that every table grows.
    pub const SMALLEST: EngineConfig = EngineConfig {
        orders: 0,
        accounts: 0,
        idempotency_keys: 0,
        pages: Pages::Small,
        hash_seed: HashSeed::new(0),
    };
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            orders: 1 << 16,
            accounts: 1 << 14,
            idempotency_keys: 1 << 16,
            pages: Pages::Small,
            hash_seed: HashSeed::default(),
        }
    }
}
