//! Withdrawals as the spot dialect spells them, and as the routes of perpetual withdrawals do (`account.md` 7), which is alike.

use super::decode::{number, text};
use super::id::order_uuid_text;
use ringside_core::command::WithdrawalStatus;
use ringside_core::money::Amount;
use ringside_views::withdrawal::{VaultRecord, WithdrawalRecord};
use ringside_wire::decimal::{parse_amount, write_amount};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// Body of a request, its members as sent.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct WithdrawBody<'a> {
    #[serde(borrow)]
    token: Option<&'a RawValue>,
    #[serde(borrow)]
    amount: Option<&'a RawValue>,
}

impl WithdrawBody<'_> {
    /// The token as it was named; empty where none was. What is not text is given as its JSON.
    pub fn token(&self) -> Cow<'_, str> {
        match self.token {
            None => Cow::Borrowed(""),
            Some(raw) => text(raw).unwrap_or(Cow::Borrowed(raw.get())),
        }
    }

    /// The amount. Zero is well-formed: it is below every minimum.
    pub fn amount(&self) -> Option<Amount> {
        number(self.amount?, parse_amount)
    }
}

/// `status` of a query; `None` for a word that is none.
pub fn status(sent: &str) -> Option<WithdrawalStatus> {
    [WithdrawalStatus::Signed, WithdrawalStatus::Confirmed, WithdrawalStatus::Expired]
        .into_iter()
        .find(|status| sent.eq_ignore_ascii_case(word(*status)))
}

/// How a status that is shown is called.
fn word(status: WithdrawalStatus) -> &'static str {
    match status {
        WithdrawalStatus::Requested => "requested",
        WithdrawalStatus::Signed => "signed",
        WithdrawalStatus::Confirmed => "confirmed",
        WithdrawalStatus::Expired => "expired",
        WithdrawalStatus::Returned | WithdrawalStatus::Void => "returned",
    }
}

/// The answer to a request.
#[derive(Debug, Serialize)]
pub struct Authorization {
    id: String,
    /// The vault's counter of the account at which it can be submitted.
    pub nonce: u64,
    signature: String,
    deadline: u64,
    vault_address: String,
    chain_id: u64,
    amount: String,
}

/// The answer to a request that was signed; `None` while there is no signature.
pub fn authorization(record: &WithdrawalRecord, vault: &VaultRecord) -> Option<Authorization> {
    Some(Authorization {
        id: order_uuid_text(record.withdrawal),
        nonce: record.nonce,
        signature: prefixed(&record.signature?),
        deadline: record.deadline_s,
        vault_address: prefixed(&vault.address),
        chain_id: vault.chain_id,
        amount: decimal(record.amount),
    })
}

/// A withdrawal as lists show it.
#[derive(Debug, Serialize)]
pub struct Shown<'a> {
    id: String,
    token: &'a str,
    amount: String,
    fee: &'static str,
    chain_id: u64,
    nonce: u64,
    status: &'static str,
    deadline: u64,
    tx_hash: Option<String>,
    block_number: Option<u64>,
    requested_at: u64,
    confirmed_at: Option<u64>,
}

/// A withdrawal under its token's name.
pub fn shown<'a>(record: &WithdrawalRecord, vault: &VaultRecord, token: &'a str) -> Shown<'a> {
    Shown {
        id: order_uuid_text(record.withdrawal),
        token,
        amount: decimal(record.amount),
        fee: "0",
        chain_id: vault.chain_id,
        nonce: record.nonce,
        status: word(record.status),
        deadline: record.deadline_s,
        tx_hash: record.release.map(|release| prefixed(&release.tx_hash)),
        block_number: record.release.map(|release| release.block),
        requested_at: record.requested_at_s,
        confirmed_at: record.release.map(|release| release.confirmed_at_s),
    }
}

fn prefixed(bytes: &[u8]) -> String {
    const_hex::encode_prefixed(bytes)
}

/// An amount as the dialect writes it.
pub fn decimal(amount: Amount) -> String {
    let mut out = Vec::with_capacity(24);
    write_amount(&mut out, amount);
    String::from_utf8_lossy(&out).into_owned()
}
