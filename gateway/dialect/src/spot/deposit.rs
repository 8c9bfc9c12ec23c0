//! Deposits as the spot dialect spells them (`spot.md` 10.1), and their ids: chain, vault and number, from the first block that
//! has one to the last page of a history.

use ringside_core::command::{DepositStatus, HeldReason};
use ringside_core::ids::Address;
use ringside_views::Views;
use ringside_views::deposit::DepositRecord;
use ringside_wire::address::{address_text, parse_address};
use ringside_wire::name::TxHash;
use ringside_wire::number::Amount;
use ringside_wire::spot::chain::{Deposit, DepositWord};

/// Names a deposit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepositKey {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The vault contract.
    pub vault: Address,
    /// Its number there.
    pub number: u64,
}

impl DepositKey {
    /// As it is shown.
    pub fn text(&self) -> String {
        format!("{}-{}-{}", self.chain_id, address_text(&self.vault), self.number)
    }

    /// What [`DepositKey::text`] wrote.
    pub fn parse(text: &str) -> Option<DepositKey> {
        let mut parts = text.split('-');
        let key = DepositKey {
            chain_id: parts.next()?.parse().ok()?,
            vault: parse_address(parts.next()?)?,
            number: parts.next()?.parse().ok()?,
        };
        (parts.next().is_none() && key.text() == text.to_ascii_lowercase()).then_some(key)
    }
}

/// Whether a list shows what is credited, or what is not.
pub fn status(sent: &str) -> Option<bool> {
    ["pending", "credited"].iter().position(|word| sent.eq_ignore_ascii_case(word)).map(|place| place == 1)
}

/// What is shown of a deposit, wherever it is known from.
pub struct Parts {
    /// Chain, vault and number.
    pub key: DepositKey,
    /// Contract of the token.
    pub token: Address,
    /// What arrived, in base units.
    pub value: u128,
    /// Hash of the transaction.
    pub tx_hash: [u8; 32],
    /// Its block.
    pub block: u64,
    /// Timestamp of that block, UNIX seconds.
    pub block_time_s: u64,
    /// Blocks on top of that.
    pub confirmations: u64,
}

/// One that is on its way.
pub fn pending(views: &Views, parts: &Parts) -> Deposit {
    let Parts { key, token, value, tx_hash, block, block_time_s, confirmations } = *parts;
    let known = views.deposits().token(key.chain_id, &token);
    let name = known.and_then(|known| views.markets().asset_name(known.asset));
    let scaled =
        known.zip(i128::try_from(value).ok()).and_then(|(known, value)| value.checked_mul(known.steps()));
    Deposit {
        id: key.text(),
        // What nobody knows is shown by its contract, and counted in its base units.
        token: name.map_or_else(|| address_text(&token), str::to_owned),
        amount: scaled.map_or_else(|| value.to_string(), |scaled| Amount(scaled).to_string()),
        chain_id: key.chain_id,
        number: key.number,
        tx_hash: TxHash(tx_hash),
        block_number: block,
        confirmations,
        status: DepositWord::Pending,
        seen_at: block_time_s,
        credited_at: None,
        held: None,
    }
}

/// One that was taken; so many blocks lie on it.
pub fn taken(views: &Views, record: &DepositRecord, key: DepositKey, confirmations: u64) -> Deposit {
    let DepositRecord { token, value, tx_hash, block, block_time_s, .. } = *record;
    let parts = Parts { key, token, value, tx_hash, block, block_time_s, confirmations };
    let is_credited = record.status == DepositStatus::Credited;
    Deposit {
        status: if is_credited { DepositWord::Credited } else { DepositWord::Pending },
        credited_at: is_credited.then_some(record.credited_at_s),
        held: match record.reason {
            HeldReason::None => None,
            HeldReason::TokenUnknown => Some("the token is not known here"),
            HeldReason::TokenPaused => Some("deposits of the token are paused"),
            HeldReason::OutOfRange => Some("it is more than a balance can be"),
            HeldReason::Nobody => Some("it is for the zero address"),
        },
        ..pending(views, &parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_was_written() {
        let key = DepositKey { chain_id: 31_337, vault: [0xab; 20], number: 7 };
        assert_eq!(key.text(), format!("31337-0x{}-7", "ab".repeat(20)));
        assert_eq!(DepositKey::parse(&key.text()), Some(key));
        for bad in ["", "7", "31337-0xab-7", "031337-0x", "1-2-3-4"] {
            assert_eq!(DepositKey::parse(bad), None, "{bad}");
        }
        let padded = key.text().replace("-7", "-07");
        assert_eq!(DepositKey::parse(&padded), None);
        assert_eq!((status("Pending"), status("CREDITED"), status("held")), (Some(false), Some(true), None));
    }
}
