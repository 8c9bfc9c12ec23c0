//! Commands of withdrawals (`spot.md` 10, `account.md` 7): a request, what its signer made of it, what the chain did.
//!
//! What happens outside is in the commands: chain, vault and token of a request, the signature, final releases, final
//! blocks. The engine decides what follows from them: nonces, deadlines, and whose money moves.
//!
//! Rejects of all: Malformed where a byte is outside its enumeration.

use super::*;

/// Name of a vault in its EIP-712 domain, padded with zeros.
pub type VaultName = [u8; 24];

body! {
    /// See [`Kind::RequestWithdrawal`]. Takes the amount (spot: available becomes frozen; perpetual: it leaves the wallet)
    /// and the next nonce of the account in this vault. A vault named for the first time is opened.
    ///
    /// Rejects, in order: Duplicate, IdempotencyReplay / Conflict, Malformed (also a chain of number 0, a lifetime outside
    /// 1..=[`LIFETIME_MAX_S`], a vault name not of 1 to 24 bytes, or one that names a vault otherwise than before),
    /// WithdrawalsPaused (perpetual: any pause, or the pool in deficit), MarketNotFound (no such asset; perpetual: not the
    /// margin asset), InvalidAmount (not above 0; finer than the token's base unit; perpetual: no whole micros, or more in flight
    /// than there may be), AmountBelowMinimum, AccountNotFound (the fee account too), InsufficientBalance or, perpetual,
    /// CrossInsufficient, WithdrawalsPaused (spot: a pause other than the operator's), TokenPaused, NonceHeld. A token that is
    /// known as another asset is Malformed.
    pub struct RequestWithdrawal {
        pub account: AccountId,
        /// A [`Ledger`].
        pub ledger: u8,
        pub reserved: [u8; 3],
        /// How much, in steps of 10^-18 on either ledger.
        pub amount: RawAmount,
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The vault contract.
        pub vault: Address,
        /// Contract of the token.
        pub token: Address,
        /// What is withdrawn.
        pub asset: AssetName,
        pub reserved_2: [u8; 6],
        /// Seconds from the request to its deadline.
        pub lifetime_s: u32,
        pub reserved_3: u32,
        /// Name of the vault.
        pub vault_name: VaultName,
        /// As in [`PlaceOrder`]; scoped to account and route as named.
        pub idempotency_key: u64,
        /// As in [`PlaceOrder`].
        pub idempotency_body: u64,
    }

    /// See [`Kind::RecordSignature`]. Taken of one that is signed too: that of an adopted one is recorded after it. Rejects:
    /// WithdrawalNotFound, WithdrawalStateDiffers (it is void).
    pub struct RecordSignature {
        /// Which withdrawal.
        pub withdrawal: WithdrawalId,
        /// The EIP-712 digest.
        pub digest: [u8; 32],
        /// r, s, v.
        pub signature: [u8; 65],
        pub reserved: [u8; 7],
    }

    /// See [`Kind::ReturnWithdrawal`]. The signer gave no signature: the amount goes back. Rejects: WithdrawalNotFound,
    /// WithdrawalStateDiffers (neither requested nor, with `holds_nonce` 0, void), Malformed (`holds_nonce` above 1).
    pub struct ReturnWithdrawal {
        /// Which withdrawal.
        pub withdrawal: WithdrawalId,
        /// 1: the signer may have signed, so the withdrawal is void and its nonce held until its deadline is past on the
        /// chain; 0: nothing was signed, the nonce is free. A void withdrawal's nonce is freed by 0 as well.
        pub holds_nonce: u64,
    }

    /// See [`Kind::RecordRelease`]. A release that does not fit what was signed confirms nothing: it is told as an alarm, and
    /// withdrawals are paused. Rejects: VaultNotFound, AlreadyReleased (a nonce below the vault's counter),
    /// ReleaseOutOfOrder (a nonce above it: an earlier release was not told).
    pub struct RecordRelease {
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The vault contract.
        pub vault: Address,
        /// Whom it paid.
        pub account: Address,
        /// Contract of the token.
        pub token: Address,
        pub reserved: u32,
        /// In base units of the token, 128 bits without sign.
        pub value: RawAmount,
        /// The nonce it used.
        pub nonce: u64,
        /// Hash of the transaction.
        pub tx_hash: [u8; 32],
        /// Its block.
        pub block: u64,
        /// Timestamp of that block, UNIX seconds.
        pub block_time_s: u64,
    }

    /// See [`Kind::AdvanceChain`]. Every release of the vault up to this final block was told. What is due by its timestamp
    /// expires, the earliest deadlines first, at most [`EXPIRIES_MAX`]; the rest with the next block. Rejects: VaultNotFound,
    /// ChainBehind (not a later block than the last, or an earlier timestamp).
    pub struct AdvanceChain {
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The vault contract.
        pub vault: Address,
        pub reserved: u32,
        /// Number of the block.
        pub block: u64,
        /// Its hash.
        pub hash: [u8; 32],
        /// Its timestamp, UNIX seconds.
        pub time_s: u64,
    }

    /// See [`Kind::PauseWithdrawals`]. Accepted also where nothing changes. Rejects: Malformed (an unknown bit).
    pub struct PauseWithdrawals {
        /// Which pauses change: bits of [`pause`].
        pub mask: u32,
        /// The bits as they are to be.
        pub paused: u32,
        /// Who and why, padded with zeros.
        pub reason: [u8; 64],
    }

    /// See [`Kind::AdoptWithdrawal`]. The signer's log holds a release that this engine has no memory of, because it was
    /// restored from an older copy: it is taken as signed, with the nonce and times it had; one that is known as requested counts
    /// as signed from then on. What the account can no longer
    /// pay is told as an alarm, and withdrawals are paused. Rejects, in order: Malformed (as RequestWithdrawal),
    /// AlreadyReleased, WithdrawalExpired (a final block is past its deadline), WithdrawalStateDiffers (it is known, and not requested),
    /// MarketNotFound, InvalidAmount.
    pub struct AdoptWithdrawal {
        pub address: Address,
        /// A [`Ledger`].
        pub ledger: u8,
        /// 1: the log is that of a signer who signs only once its forerunner's work is dead: whatever else holds the nonce is.
        pub is_of_new_signer: u8,
        pub reserved: [u8; 2],
        /// How much, in steps of 10^-18.
        pub amount: RawAmount,
        /// EIP-155 number of the chain.
        pub chain_id: u64,
        /// The vault contract.
        pub vault: Address,
        /// Contract of the token.
        pub token: Address,
        /// What is withdrawn.
        pub asset: AssetName,
        pub reserved_2: [u8; 6],
        /// Its nonce.
        pub nonce: u64,
        /// UNIX seconds.
        pub deadline_s: u64,
        /// UNIX seconds.
        pub requested_at_s: u64,
        /// Name of the vault.
        pub vault_name: VaultName,
    }

    /// See [`Kind::SettleWithdrawal`]. The first that names an outcome proposes it; the same by another operator carries it
    /// out. Another outcome takes the proposal's place, and so does the same by the same operator, which changes nothing.
    /// Rejects, in order: Malformed (no operator, `is_paid` above 1), WithdrawalNotFound, WithdrawalStateDiffers (it is not
    /// disputed).
    pub struct SettleWithdrawal {
        /// Which withdrawal.
        pub withdrawal: WithdrawalId,
        /// Who decides, padded with zeros.
        pub operator: [u8; 16],
        /// 1: what the vault paid counts as this withdrawal, the amount is gone; 0: the amount goes back.
        pub is_paid: u64,
    }
}

/// Longest lifetime of a signature, seconds.
pub const LIFETIME_MAX_S: u32 = 30 * 86_400;
/// Most withdrawals that one block lets expire.
pub const EXPIRIES_MAX: usize = 256;

/// Bits of [`PauseWithdrawals`]: reasons to take no requests. The operator's concerns the perpetual side alone
/// (`account.md` 7), the others both.
pub mod pause {
    /// An operator's switch.
    pub const OPERATOR: u32 = 1;
    /// The chain's providers do not agree, or cannot be reached.
    pub const CHAIN: u32 = 2;
    /// A release that must be impossible; the engine sets it, an operator takes it back.
    pub const ALARM: u32 = 4;
    /// The vault would refuse what is signed for it: it is paused, has another signer or another name, or is no vault.
    pub const VAULT: u32 = 8;
    /// The ledgers owe more than the vault holds.
    pub const RESERVES: u32 = 16;
    /// All.
    pub const ALL: u32 = OPERATOR | CHAIN | ALARM | VAULT | RESERVES;
    /// Each with the word that it is shown by.
    pub const WORDS: [(u32, &str); 5] = [
        (OPERATOR, "operator"),
        (CHAIN, "chain"),
        (ALARM, "alarm"),
        (VAULT, "vault"),
        (RESERVES, "reserves"),
    ];
}

byte_enum! {
    /// Where the money of a withdrawal comes from.
    pub enum Ledger {
        /// A spot balance; where the token is not known, 18 decimals on the chain.
        Spot = 0,
        /// A perpetual wallet; where the token is not known, 6 decimals on the chain.
        Perpetual = 1,
    }

    /// Where a withdrawal stands.
    pub enum WithdrawalStatus {
        /// Its amount is taken; the signer is asked.
        Requested = 0,
        /// The user has the signature.
        Signed = 1,
        /// The vault has paid; final.
        Confirmed = 2,
        /// It was not submitted in time; the amount is back.
        Expired = 3,
        /// The signer gave no signature; the amount is back, and the nonce free.
        Returned = 4,
        /// As Returned, but the signer may have signed, so the nonce is held.
        Void = 5,
    }
}

impl WithdrawalStatus {
    /// Whether the amount is still taken.
    pub const fn holds_amount(self) -> bool {
        matches!(self, WithdrawalStatus::Requested | WithdrawalStatus::Signed)
    }
}
