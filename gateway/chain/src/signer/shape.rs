//! Releases as text: in the signer's log, and between the signer and who asks it.

use crate::{Consent, Issued, Lead, Release, ReleaseKey, SignedRelease};
use ringside_auth::key_log::Logged;
use ringside_core::ids::Address;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

/// An entry of the log: something that was signed, or was about to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its number in the log, from 0 without gaps.
    pub position: u64,
    /// UNIX seconds by the signer's clock.
    pub at_s: i64,
    /// Whose key signs.
    #[serde(with = "const_hex::serde")]
    pub signer: Address,
    /// What is signed.
    pub release: ReleaseText,
    /// The newest leader that the signer had heard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lead: Option<Lead>,
}

impl Logged for Entry {
    const MAGIC: [u8; 8] = *b"RSSIGNER";
    const VERSION: u32 = 1;
}

/// A question to a signer, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// The signature of a release.
    Sign(Asked),
    /// The newest entry of a key.
    Find(KeyText),
    /// Entries from a position on.
    Issued(u64),
    /// Whose signatures these are.
    Address,
    /// Who asks on this connection. Those of leaders before it end.
    Lead(Lead),
}

/// A release to be signed, and the login token that came with its request, where there is one.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// The release, its numbers as text.
    pub release: ReleaseText,
    /// By whom.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Consent>,
}

/// Its answer, one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Reply {
    /// To [`Question::Sign`].
    Signed(SignedText),
    /// To [`Question::Find`] and [`Question::Issued`].
    Issued(Vec<IssuedText>),
    /// To [`Question::Address`].
    Address(#[serde(with = "const_hex::serde")] Address),
    /// To [`Question::Lead`].
    Heard,
    /// Nothing was signed, nor will be.
    Refused(String),
    /// Nothing was signed, nor will be without the account's word.
    Unauthorized(String),
    /// It cannot be told whether something was signed.
    Unknown(String),
}

/// A [`Release`] as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseText(pub Release);

/// A [`ReleaseKey`] as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyText {
    chain_id: u64,
    #[serde(with = "const_hex::serde")]
    vault: Address,
    #[serde(with = "const_hex::serde")]
    account: Address,
    nonce: u64,
}

/// A [`SignedRelease`] as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedText {
    #[serde(with = "const_hex::serde")]
    digest: [u8; 32],
    #[serde(with = "const_hex::serde")]
    signature: [u8; 65],
}

/// An [`Issued`] as JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IssuedText {
    release: ReleaseText,
    signed: SignedText,
}

/// The members of a release. JSON numbers end below 128 bits, so the value is text.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Members {
    key: KeyText,
    vault_name: String,
    #[serde(with = "const_hex::serde")]
    token: Address,
    value: String,
    deadline_s: u64,
    requested_at_s: u64,
    withdrawal: u64,
}

impl Serialize for ReleaseText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let release = &self.0;
        let members = Members {
            key: release.key.into(),
            vault_name: release.vault_name.clone(),
            token: release.token,
            value: release.value.to_string(),
            deadline_s: release.deadline_s,
            requested_at_s: release.requested_at_s,
            withdrawal: release.withdrawal,
        };
        members.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ReleaseText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ReleaseText, D::Error> {
        let members = Members::deserialize(deserializer)?;
        let value = members.value.parse().map_err(serde::de::Error::custom)?;
        Ok(ReleaseText(Release {
            key: members.key.into(),
            vault_name: members.vault_name,
            token: members.token,
            value,
            deadline_s: members.deadline_s,
            requested_at_s: members.requested_at_s,
            withdrawal: members.withdrawal,
        }))
    }
}

impl Serialize for Consent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.token())
    }
}

impl<'de> Deserialize<'de> for Consent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Consent, D::Error> {
        String::deserialize(deserializer).map(|token| Consent::new(&Zeroizing::new(token)))
    }
}

impl From<ReleaseKey> for KeyText {
    fn from(key: ReleaseKey) -> KeyText {
        KeyText { chain_id: key.chain_id, vault: key.vault, account: key.account, nonce: key.nonce }
    }
}

impl From<KeyText> for ReleaseKey {
    fn from(key: KeyText) -> ReleaseKey {
        ReleaseKey { chain_id: key.chain_id, vault: key.vault, account: key.account, nonce: key.nonce }
    }
}

impl From<SignedRelease> for SignedText {
    fn from(signed: SignedRelease) -> SignedText {
        SignedText { digest: signed.digest, signature: signed.signature }
    }
}

impl From<SignedText> for SignedRelease {
    fn from(signed: SignedText) -> SignedRelease {
        SignedRelease { digest: signed.digest, signature: signed.signature }
    }
}

impl From<Issued> for IssuedText {
    fn from(issued: Issued) -> IssuedText {
        IssuedText { release: ReleaseText(issued.release), signed: issued.signed.into() }
    }
}

impl From<IssuedText> for Issued {
    fn from(issued: IssuedText) -> Issued {
        Issued { release: issued.release.0, signed: issued.signed.into() }
    }
}
