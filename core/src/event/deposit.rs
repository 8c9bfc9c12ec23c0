//! Events of deposits. Their order within a command: [`super::Balances`] of the account, [`super::AccountCreated`],
//! [`super::AssetCreated`], then [`Deposit`] and, of one that is new, [`DepositBlock`]; [`Token`]; of an observed vault
//! [`super::VaultOpened`], what goes back as `event/withdrawal.rs` tells it, and [`VaultSigner`]; [`VaultRewind`].

use super::*;

payload! {
    /// See [`Kind::Deposit`].
    pub struct Deposit {
        /// Its number in the vault, from 1 without gaps.
        pub number: u64,
        /// What this command added to the available balance; of one that is undone, what it had added.
        pub amount: RawAmount,
        /// What arrived, in base units of the token, 128 bits without sign.
        pub value: RawAmount,
        /// Contract of the token.
        pub token: Address,
        pub address: Address,
        /// The account of that address; 0 while it is held.
        pub account: AccountId,
        /// Of what; 0 while it is held.
        pub asset: AssetId,
        /// Which vault.
        pub vault: u16,
        /// A [`crate::command::DepositStatus`].
        pub status: u8,
        /// A [`crate::command::HeldReason`].
        pub reason: u8,
        pub reserved: [u8; 6],
    }

    /// See [`Kind::DepositBlock`].
    pub struct DepositBlock {
        /// Number of the deposit.
        pub number: u64,
        /// Hash of the transaction.
        pub tx_hash: [u8; 32],
        /// Its block.
        pub block: u64,
        /// Timestamp of that block, UNIX seconds.
        pub block_time_s: u64,
        /// Which vault.
        pub vault: u16,
        pub reserved: [u8; 6],
    }

    /// See [`Kind::Token`].
    pub struct Token {
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The contract.
        pub address: Address,
        /// What it is.
        pub asset: AssetId,
        /// Decimals of its base unit.
        pub decimals: u8,
        /// Bits of [`crate::command::token_pause`].
        pub paused: u8,
        /// Least amount of a withdrawal from a spot balance, in steps of 10^-18.
        pub minimum: RawAmount,
    }

    /// See [`Kind::VaultSigner`].
    pub struct VaultSigner {
        /// Which vault.
        pub vault: u16,
        pub reserved: [u8; 6],
        /// Who was it; zeros where nobody was known.
        pub former: Address,
        /// Who is it.
        pub signer: Address,
        /// The final block as of which that is so.
        pub block: u64,
    }

    /// See [`Kind::ReleaseUndone`]. Behind the withdrawal that is signed again by that, where there is one.
    pub struct ReleaseUndone {
        /// Which vault.
        pub vault: u16,
        pub reserved: [u8; 2],
        /// Whom it had paid.
        pub account: Address,
        /// Its nonce.
        pub nonce: u64,
    }

    /// See [`Kind::VaultRewind`].
    pub struct VaultRewind {
        /// Which vault.
        pub vault: u16,
        /// A [`RewindStage`].
        pub stage: u8,
        pub reserved: [u8; 5],
        /// The block to go back to.
        pub block: u64,
        /// Its hash.
        pub hash: [u8; 32],
        /// Its timestamp, UNIX seconds.
        pub time_s: u64,
        /// Who proposed it, padded with zeros.
        pub proposed_by: [u8; 16],
        /// Who agreed, padded with zeros; zeros for a proposal.
        pub agreed_by: [u8; 16],
    }
}

byte_enum! {
    /// How far a rewind is.
    pub enum RewindStage {
        /// One operator wants it.
        Proposed = 0,
        /// Two do: events above the block are undone.
        Agreed = 1,
        /// The block is the last final one.
        Done = 2,
    }
}
