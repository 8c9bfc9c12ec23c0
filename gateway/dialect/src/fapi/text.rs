//! Numbers as texts, where one is told and not an answer's member (`perpetual.md` 1); and names that stand for accounts.

use ringside_core::ids::AccountId;
use ringside_wire::number::{Amount, Micros, Units};
use sha2::{Digest, Sha256};

pub use ringside_wire::decimal::decimals;

/// Eight letters that stand for an account and tell nothing of it.
pub fn alias(account: AccountId) -> String {
    let hash = Sha256::digest([&b"account alias"[..], &account.to_le_bytes()].concat());
    hash.iter().take(8).map(|byte| char::from(b'A' + byte % 26)).collect()
}

/// Steps of 10^-8, shortest form.
pub fn units8(value: i64) -> String {
    Units(value).to_string()
}

/// Steps of 10^-18, shortest form.
pub fn amount(value: i128) -> String {
    Amount(value).to_string()
}

/// Micros, shortest form.
pub fn micros(value: i64) -> String {
    Micros(value).to_string()
}
