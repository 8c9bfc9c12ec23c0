//! What the integration tests share: a seeded generator of hostile command streams, a driver, readers of the data sets.
//! Each test binary uses a part of it, so the rest is dead code there.
#![allow(dead_code, unreachable_pub)]

pub mod data;
pub mod driver;
pub mod market;
pub mod model;
pub mod perpetual;
pub mod random;
pub mod seeds;
pub mod shrink;
pub mod stream;
pub mod table;
pub mod versus;

/// A number from the environment: `RINGSIDE_COMMANDS`.
pub fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} must be a number, not {text:?}")))
}

/// `release` commands in release builds, `debug` commands in slower ones, or what `RINGSIDE_COMMANDS` says.
pub fn commands(release: u64, debug: u64) -> u64 {
    setting("RINGSIDE_COMMANDS").unwrap_or(if cfg!(debug_assertions) { debug } else { release })
}
