//! What a signer may sign at all: which vaults, which tokens, and how much of each.

use crate::Release;
use ringside_core::ids::Address;
use std::collections::{BTreeMap, VecDeque};

/// The hour of a cap, in seconds.
const HOUR_S: i64 = 3_600;
/// The day of a cap, in seconds.
const DAY_S: i64 = 86_400;

/// A vault whose releases may be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultPolicy {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The contract.
    pub address: Address,
    /// Its name in the domain of signed messages.
    pub name: String,
}

/// Caps of one token, in its base units. A cap is the most that is signed, not the least that is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For one account, in any 24 hours.
    pub account: u128,
    /// For all accounts, in any hour.
    pub hour: u128,
    /// For all accounts, in any 24 hours: as authorizations live no longer, the most that can be lost at once.
    pub total: u128,
}

impl Limits {
    /// No cap.
    pub const NONE: Limits = Limits { account: u128::MAX, hour: u128::MAX, total: u128::MAX };
}

/// What may be signed. What is not named may not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Policy {
    /// Vaults.
    pub vaults: Vec<VaultPolicy>,
    /// Tokens.
    pub tokens: BTreeMap<Address, Limits>,
}

/// Why something is not signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Over {
    /// Chain, vault or its name.
    #[error("it is for a vault that is not this signer's")]
    ForeignVault,
    /// Token.
    #[error("its token is not listed with this signer")]
    ForeignToken,
    /// [`Limits::account`].
    #[error("it is over the account's cap of a day")]
    Account,
    /// [`Limits::hour`].
    #[error("it is over the cap of an hour")]
    Hour,
    /// [`Limits::total`].
    #[error("it is over the total cap")]
    Total,
}

impl Policy {
    /// The caps that hold for a release.
    pub fn judge(&self, release: &Release) -> Result<Limits, Over> {
        let key = &release.key;
        let is_known = self.vaults.iter().any(|vault| {
            vault.chain_id == key.chain_id && vault.address == key.vault && vault.name == release.vault_name
        });
        if !is_known {
            return Err(Over::ForeignVault);
        }
        self.tokens.get(&release.token).copied().ok_or(Over::ForeignToken)
    }
}

/// What was signed in the last day.
#[derive(Debug, Default)]
pub struct Exposure {
    /// Oldest first.
    day: VecDeque<Part>,
}

#[derive(Debug)]
struct Part {
    at_s: i64,
    token: Address,
    account: Address,
    value: u128,
}

impl Exposure {
    /// Notes what was signed, by the signer's clock. A clock that stepped back lets nothing out earlier.
    pub fn add(&mut self, release: &Release, at_s: i64) {
        let at_s = self.day.back().map_or(at_s, |last| last.at_s.max(at_s));
        let (token, account, value) = (release.token, release.key.account, release.value);
        self.day.push_back(Part { at_s, token, account, value });
    }

    /// Whether a release keeps within its caps.
    pub fn judge(&mut self, release: &Release, limits: Limits, now_s: i64) -> Result<(), Over> {
        while self.day.front().is_some_and(|part| now_s.saturating_sub(part.at_s) >= DAY_S) {
            self.day.pop_front();
        }
        let (mut account, mut hour, mut total) = (release.value, release.value, release.value);
        for part in self.day.iter().filter(|part| part.token == release.token) {
            total = total.saturating_add(part.value);
            if part.account == release.key.account {
                account = account.saturating_add(part.value);
            }
            if now_s.saturating_sub(part.at_s) < HOUR_S {
                hour = hour.saturating_add(part.value);
            }
        }
        match () {
            () if account > limits.account => Err(Over::Account),
            () if hour > limits.hour => Err(Over::Hour),
            () if total > limits.total => Err(Over::Total),
            () => Ok(()),
        }
    }
}
