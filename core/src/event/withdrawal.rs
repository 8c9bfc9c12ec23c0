//! Events of withdrawals. Their order within a command: what the perpetual side tells, then [`super::Balances`] of each
//! account of which a spot balance changed, in the order of the withdrawals; [`VaultOpened`], then for each withdrawal
//! [`Withdrawal`] and, as they apply, [`WithdrawalSigned`], [`WithdrawalReleased`] or [`WithdrawalJudged`]; [`ChainAdvanced`]; [`ReleaseAlarm`];
//! [`WithdrawalsPaused`].

use super::*;

payload! {
    /// See [`Kind::Withdrawal`].
    pub struct Withdrawal {
        pub withdrawal: WithdrawalId,
        pub account: AccountId,
        /// Of what.
        pub asset: AssetId,
        /// Which vault, as [`VaultOpened`] numbers them.
        pub vault: u16,
        /// How much, in steps of 10^-18.
        pub amount: RawAmount,
        /// Contract of the token.
        pub token: Address,
        /// A [`crate::command::Ledger`].
        pub ledger: u8,
        /// A [`crate::command::WithdrawalStatus`].
        pub status: u8,
        /// 1: taken over from the signer's log; [`RECONFIRMED_LATER`]: it was confirmed, and the chain undid that.
        pub is_adopted: u8,
        pub reserved: u8,
        /// The vault's counter of the account at which it can be submitted.
        pub nonce: u64,
        /// UNIX seconds: engine time, or the timestamp of the last final block where that is later.
        pub requested_at_s: u64,
        /// UNIX seconds.
        pub deadline_s: u64,
    }

    /// See [`Kind::WithdrawalSigned`].
    pub struct WithdrawalSigned {
        pub withdrawal: WithdrawalId,
        /// r, s, v.
        pub signature: [u8; 65],
        pub reserved: [u8; 7],
    }

    /// See [`Kind::WithdrawalReleased`].
    pub struct WithdrawalReleased {
        pub withdrawal: WithdrawalId,
        /// Hash of the transaction.
        pub tx_hash: [u8; 32],
        /// Its block.
        pub block: u64,
        /// Timestamp of that block, UNIX seconds.
        pub block_time_s: u64,
    }

    /// See [`Kind::VaultOpened`].
    pub struct VaultOpened {
        /// Its number, from 0.
        pub vault: u16,
        pub reserved: [u8; 6],
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The contract.
        pub address: Address,
        pub reserved_2: u32,
        /// Name in its domain, padded with zeros.
        pub name: [u8; 24],
    }

    /// See [`Kind::ChainAdvanced`].
    pub struct ChainAdvanced {
        /// Which vault.
        pub vault: u16,
        pub reserved: [u8; 6],
        /// Number of the block.
        pub block: u64,
        /// Its hash.
        pub hash: [u8; 32],
        /// Its timestamp, UNIX seconds.
        pub time_s: u64,
    }

    /// See [`Kind::ReleaseAlarm`].
    pub struct ReleaseAlarm {
        /// Which vault.
        pub vault: u16,
        /// An [`AlarmReason`].
        pub reason: u8,
        pub reserved: [u8; 5],
        /// Whom it paid, or whose it is.
        pub account: Address,
        pub reserved_2: u32,
        /// Its nonce.
        pub nonce: u64,
        /// In base units of the token; of an adoption in steps of 10^-18.
        pub value: RawAmount,
        /// Transaction; zeros for an adoption.
        pub tx_hash: [u8; 32],
        /// Its block; 0 for an adoption.
        pub block: u64,
    }

    /// See [`Kind::WithdrawalsPaused`].
    pub struct WithdrawalsPaused {
        /// Bits of [`crate::command::pause`] in force.
        pub paused: u32,
        pub reserved: u32,
        /// Who and why, padded with zeros.
        pub reason: [u8; 64],
    }

    /// See [`Kind::WithdrawalJudged`].
    pub struct WithdrawalJudged {
        pub withdrawal: WithdrawalId,
        /// Who proposed it, padded with zeros.
        pub proposed_by: [u8; 16],
        /// Who agreed, padded with zeros; zeros for a proposal.
        pub agreed_by: [u8; 16],
        /// 1: it counts as paid; 0: its amount goes back.
        pub is_paid: u8,
        /// 1: it is carried out; 0: it is proposed.
        pub is_settled: u8,
        pub reserved: [u8; 6],
    }
}

/// [`Withdrawal::is_adopted`] of one that was confirmed and is signed again.
pub const RECONFIRMED_LATER: u8 = 2;

byte_enum! {
    /// What is wrong with a release.
    pub enum AlarmReason {
        /// Nothing was signed for this account and nonce, or what was has expired.
        Unknown = 0,
        /// Another token or value than was signed.
        Mismatch = 1,
        /// The amount had been given back because the signer did not answer.
        Returned = 2,
        /// An adopted release that the account cannot pay.
        Short = 3,
        /// An adopted release whose nonce another withdrawal has taken.
        Conflict = 4,
    }
}
