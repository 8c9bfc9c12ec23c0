//! Settings of a signer, in the exchange's process or in one of its own, and where its key comes from.
//!
//! ```toml
//! socket = "signer/socket"        # where it listens, if it is a process of its own
//! log = "signer/log"              # what it has signed; lose it and it must not sign again
//! key_file = "signer/key"         # 64 hex digits, mode 0600; without it the setting `signer_key`
//! token_secret_file = "signer/tokens"   # a copy of the exchange's `auth/jwt_secret`, mode 0600: what verifies login tokens;
//!                                 # in the exchange's own process its own secret is used
//!
//! [[vault]]
//! chain_id = 31337
//! address = "0x..."
//! name = "SpotVault"
//!
//! [[token]]                       # caps in base units, as text
//! address = "0x..."
//! account = "1000000000000000000000"
//! hour = "100000000000000000000000"
//! total = "500000000000000000000000"
//! ```

use super::limits::{Limits, Policy, VaultPolicy};
use ringside_auth::jwt::Tokens;
use ringside_auth::secret::Secret;
use ringside_core::ids::Address;
use ringside_wire::address::parse_address;
use serde::{Deserialize, Deserializer};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Why settings or key cannot be used. Never holds a key.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// A file cannot be read.
    #[error("{path}: {cause}")]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// It is not as described above.
    #[error("{path}: {reason}")]
    Form {
        /// Path of the file.
        path: PathBuf,
        /// In which way.
        reason: String,
    },
    /// The file of the key is not its owner's alone.
    #[error("{path} has mode {mode:04o}, so others may have read the secret")]
    Exposed {
        /// Path of the file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// No file and no variable.
    #[error("no key: neither `key_file` nor `signer_key` (RINGSIDE_SIGNER_KEY) is set")]
    NoKey,
    /// A signer of its own that could not tell whose word it is given.
    #[error(
        "the signer's settings name no `token_secret_file`: it could not verify who asks for a signature"
    )]
    NoTokenSecret,
    /// A secret that verifies nothing.
    #[error("{0} must hold the exchange's `jwt_secret`, at least 32 characters")]
    TokenSecret(PathBuf),
    /// It has another form.
    #[error("the signer's key must be 64 hex digits")]
    Key,
}

/// See the module.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignerSettings {
    /// Where it listens, if it is a process of its own.
    pub socket: Option<PathBuf>,
    /// What it has signed.
    pub log: PathBuf,
    /// Where its key is.
    pub key_file: Option<PathBuf>,
    /// Where the secret is under which the exchange makes login tokens.
    pub token_secret_file: Option<PathBuf>,
    #[serde(rename = "vault", default)]
    vaults: Vec<VaultTable>,
    #[serde(rename = "token", default)]
    tokens: Vec<TokenTable>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct VaultTable {
    chain_id: u64,
    #[serde(deserialize_with = "address")]
    address: Address,
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TokenTable {
    #[serde(deserialize_with = "address")]
    address: Address,
    #[serde(deserialize_with = "amount")]
    account: u128,
    #[serde(deserialize_with = "amount")]
    hour: u128,
    #[serde(deserialize_with = "amount")]
    total: u128,
}

impl SignerSettings {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<SignerSettings, SettingsError> {
        let text = std::fs::read_to_string(path)
            .map_err(|cause| SettingsError::Io { path: path.to_owned(), cause })?;
        toml::from_str(&text).map_err(|error| SettingsError::Form {
            path: path.to_owned(),
            reason: error.message().to_owned(),
        })
    }

    /// What may be signed.
    pub fn policy(&self) -> Policy {
        let vault = |table: &VaultTable| VaultPolicy {
            chain_id: table.chain_id,
            address: table.address,
            name: table.name.clone(),
        };
        let token = |table: &TokenTable| {
            (table.address, Limits { account: table.account, hour: table.hour, total: table.total })
        };
        Policy {
            vaults: self.vaults.iter().map(vault).collect(),
            tokens: self.tokens.iter().map(token).collect(),
        }
    }

    /// The key, from the file that is named, else the one that was given.
    pub fn key(&self, given: Option<&Secret>) -> Result<Zeroizing<[u8; 32]>, SettingsError> {
        match (&self.key_file, given) {
            (Some(path), _) => key_of_file(path),
            (None, Some(given)) => key_of_text(given.text()),
            (None, None) => Err(SettingsError::NoKey),
        }
    }

    /// What verifies login tokens, if a file is named.
    pub fn tokens(&self) -> Result<Option<Tokens>, SettingsError> {
        let Some(path) = &self.token_secret_file else { return Ok(None) };
        let text = text_of_file(path)?;
        let secret = text.strip_suffix('\n').unwrap_or(&text);
        if secret.len() < 32 {
            return Err(SettingsError::TokenSecret(path.clone()));
        }
        Ok(Some(Tokens::new(secret.as_bytes())))
    }
}

/// The key in a file that only its owner can read.
pub fn key_of_file(path: &Path) -> Result<Zeroizing<[u8; 32]>, SettingsError> {
    key_of_text(&text_of_file(path)?)
}

/// What stands in a file that only its owner can read.
fn text_of_file(path: &Path) -> Result<Zeroizing<String>, SettingsError> {
    let io = |cause| SettingsError::Io { path: path.to_owned(), cause };
    let mode = std::fs::metadata(path).map_err(io)?.permissions().mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(SettingsError::Exposed { path: path.to_owned(), mode });
    }
    Ok(Zeroizing::new(std::fs::read_to_string(path).map_err(io)?))
}

/// 64 hex digits, with or without `0x`.
pub fn key_of_text(text: &str) -> Result<Zeroizing<[u8; 32]>, SettingsError> {
    let mut key = Zeroizing::new([0; 32]);
    let digits = text.trim();
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    if digits.len() != 64 || const_hex::decode_to_slice(digits, &mut *key).is_err() {
        return Err(SettingsError::Key);
    }
    Ok(key)
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Address, D::Error> {
    let text = String::deserialize(deserializer)?;
    parse_address(&text).ok_or_else(|| serde::de::Error::custom("an address is `0x` and 40 hex digits"))
}

fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| serde::de::Error::custom("a cap is a whole number of base units, as text"))
}
