//! Commands of deposits (`spot.md` 10.1): a deposit that is final, the tokens that are known, what a vault is found to be, and
//! the way back where the chain undid what was final.
//!
//! Rejects of all: Malformed where a byte is outside its enumeration.

use super::*;

body! {
    /// See [`Kind::RecordDeposit`]. Numbers of a vault begin at 1 and are taken in their order, each once. What cannot be
    /// credited (a token that is not known or whose deposits are paused, an amount out of range, the zero address) is held: it
    /// has its number all the same. The account is made where it does not exist. Rejects, in order: VaultNotFound,
    /// AlreadyDeposited (a number that was taken), DepositOutOfOrder (an earlier one was not told).
    pub struct RecordDeposit {
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The vault contract.
        pub vault: Address,
        pub account: Address,
        /// Contract of the token.
        pub token: Address,
        pub reserved: u32,
        /// What arrived, in base units of the token, 128 bits without sign.
        pub value: RawAmount,
        /// Its number.
        pub number: u64,
        /// Hash of the transaction.
        pub tx_hash: [u8; 32],
        /// Its block.
        pub block: u64,
        /// Timestamp of that block, UNIX seconds.
        pub block_time_s: u64,
    }

    /// See [`Kind::SetToken`]. A contract that is not known is added, and its asset made where it does not exist; of one that is
    /// known, least amount and pauses change. Rejects, in order: Malformed (chain 0, the zero address, no name of an asset, more
    /// than [`DECIMALS_MAX`], an unknown pause, a least amount not above 0 or finer than the token), TokenExists (the contract has
    /// another asset or other decimals, or the asset another contract on this chain), ParameterOutOfRange (no room for another).
    pub struct SetToken {
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The contract.
        pub token: Address,
        /// What it is.
        pub asset: AssetName,
        /// Decimals of its base unit.
        pub decimals: u8,
        /// Bits of [`token_pause`].
        pub paused: u8,
        /// Least amount of a withdrawal from a spot balance, in steps of 10^-18.
        pub minimum: RawAmount,
    }

    /// See [`Kind::ObserveVault`]. Opens the vault where it is new; `signer` of zeros says nothing more. A signer other than the one
    /// that is known: what that one signed and nobody released is dead and goes back, at most [`EXPIRIES_MAX`] a time, and once
    /// nothing is left the new one is known. Rejects, in order: Malformed (as RequestWithdrawal), ChainBehind (with a signer: the
    /// block is not the last final one).
    pub struct ObserveVault {
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The vault contract.
        pub vault: Address,
        /// Whose signatures it pays for.
        pub signer: Address,
        /// Name of the vault.
        pub vault_name: VaultName,
        /// The final block as of which that is so.
        pub block: u64,
    }

    /// See [`Kind::CreditHeldDeposit`]. Rejects, in order: VaultNotFound, DepositNotFound (it is not held), TokenNotFound,
    /// TokenPaused, InvalidAmount.
    pub struct CreditHeldDeposit {
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The vault contract.
        pub vault: Address,
        pub reserved: u32,
        /// Its number.
        pub number: u64,
    }

    /// See [`Kind::RewindVault`]. The first operator that names a block proposes to go back to it; the same by another one agrees
    /// (another block takes the proposal's place). Then [`UndoEvent`]s above it are taken; without an operator, this ends the
    /// rewind: the block is the last final one again. Rejects, in order: VaultNotFound, Malformed (above the last final
    /// block, or another of its number, or later than it), NotRewinding (without an operator: no such rewind is agreed on).
    pub struct RewindVault {
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The vault contract.
        pub vault: Address,
        pub reserved: u32,
        /// Number of the last final block that the chain still has.
        pub block: u64,
        /// Its hash.
        pub hash: [u8; 32],
        /// Its timestamp, UNIX seconds.
        pub time_s: u64,
        /// Who decides, padded with zeros.
        pub operator: [u8; 16],
    }

    /// See [`Kind::UndoEvent`]. Of each account the last release first, of each vault the last deposit. A release that is undone
    /// leaves its withdrawal signed, as it was before; an undone deposit stays credited, and what it credited is taken out of the
    /// next deposits of its account and asset: so it counts once when it is mined again. Rejects, in order: VaultNotFound,
    /// NotRewinding (no agreed rewind to a block before this one), Malformed (it is not the last), AccountNotFound,
    /// MarketNotFound, InvalidAmount, WithdrawalStateDiffers.
    pub struct UndoEvent {
        /// The withdrawal that the release confirmed, 0 for none and for a deposit.
        pub withdrawal: WithdrawalId,
        pub account: Address,
        /// The vault contract.
        pub vault: Address,
        /// Contract of the token.
        pub token: Address,
        /// What it is.
        pub asset: AssetName,
        /// A [`Ledger`].
        pub ledger: u8,
        /// 1: a deposit; 0: a release.
        pub is_deposit: u8,
        /// What it credited, or what the withdrawal took, in steps of 10^-18.
        pub amount: RawAmount,
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// Number of the deposit, or nonce of the release.
        pub number: u64,
        /// Of the withdrawal, UNIX seconds.
        pub requested_at_s: u64,
        /// Of the withdrawal, UNIX seconds.
        pub deadline_s: u64,
        /// The block in which it was.
        pub block: u64,
    }
}

/// Most decimals of a token: those of an amount.
pub const DECIMALS_MAX: u8 = 18;

/// Bits of [`SetToken::paused`].
pub mod token_pause {
    /// Deposits are held until it is taken back.
    pub const DEPOSITS: u8 = 1;
    /// No withdrawals are taken.
    pub const WITHDRAWALS: u8 = 2;
    /// All.
    pub const ALL: u8 = DEPOSITS | WITHDRAWALS;
}

byte_enum! {
    /// Where a deposit stands.
    pub enum DepositStatus {
        /// It is in the account's available balance.
        Credited = 0,
        /// It has its number, and is nobody's until what holds it is gone.
        Held = 1,
        /// The chain undid it after it had counted.
        Undone = 2,
    }

    /// What holds a deposit.
    pub enum HeldReason {
        /// Nothing.
        None = 0,
        /// The token is not known.
        TokenUnknown = 1,
        /// Deposits of the token are paused.
        TokenPaused = 2,
        /// More than a balance can be.
        OutOfRange = 3,
        /// It is for the zero address, which nobody has.
        Nobody = 4,
    }
}
