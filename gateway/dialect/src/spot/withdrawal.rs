//! Withdrawals as the spot dialect spells them, and as the routes of perpetual withdrawals do (`account.md` 7), which is alike.

use super::decode::{number, text};
use ringside_core::command::WithdrawalStatus;
use ringside_core::ids::AssetName;
use ringside_core::money::Amount;
use ringside_views::withdrawal::{VaultRecord, WithdrawalRecord};
use ringside_wire::decimal::parse_amount;
use ringside_wire::name::{Address, OrderUuid, Token, TxHash};
use ringside_wire::number;
use ringside_wire::spot::chain::{Withdrawal, WithdrawalAuthorization, WithdrawalWord};
use std::borrow::Cow;

body! {
    /// Body of a request, its members as sent.
    pub WithdrawBody { token, amount }
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
    let words = [
        ("signed", WithdrawalStatus::Signed),
        ("confirmed", WithdrawalStatus::Confirmed),
        ("expired", WithdrawalStatus::Expired),
    ];
    words.into_iter().find(|(word, _)| sent.eq_ignore_ascii_case(word)).map(|(_, status)| status)
}

/// How a status that is shown is called.
const fn word(status: WithdrawalStatus) -> WithdrawalWord {
    match status {
        WithdrawalStatus::Confirmed => WithdrawalWord::Confirmed,
        WithdrawalStatus::Expired => WithdrawalWord::Expired,
        // The others are shown to nobody.
        _ => WithdrawalWord::Signed,
    }
}

/// The answer to a request that was signed; `None` while there is no signature.
pub fn authorization(record: &WithdrawalRecord, vault: &VaultRecord) -> Option<WithdrawalAuthorization> {
    Some(WithdrawalAuthorization {
        id: OrderUuid(record.withdrawal),
        nonce: record.nonce,
        signature: const_hex::encode_prefixed(record.signature?),
        deadline: record.deadline_s,
        vault_address: Address(vault.address),
        chain_id: vault.chain_id,
        amount: number::Amount(record.amount),
    })
}

/// A withdrawal under its token's name.
pub fn shown(record: &WithdrawalRecord, vault: &VaultRecord, token: AssetName) -> Withdrawal {
    Withdrawal {
        id: OrderUuid(record.withdrawal),
        token: Token(token),
        amount: number::Amount(record.amount),
        fee: number::Units(0),
        chain_id: vault.chain_id,
        nonce: record.nonce,
        status: word(record.status),
        deadline: record.deadline_s,
        tx_hash: record.release.map(|release| TxHash(release.tx_hash)),
        block_number: record.release.map(|release| release.block),
        requested_at: record.requested_at_s,
        confirmed_at: record.release.map(|release| release.confirmed_at_s),
    }
}
