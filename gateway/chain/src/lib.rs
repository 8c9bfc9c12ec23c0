//! The chain's side of withdrawals and deposits: who signs releases, who watches the vaults, and what both and the routes agree
//! on.
//!
//! The venue's half is the engine's (`core/src/withdrawal.rs`): it reserves the amount, takes the nonce, fixes the deadline.
//! A [`Signer`] is asked only for what the journal holds. A [`Watch`] tells the engine what the vault did, through a
//! [`WatchPort`], and only what can no longer be undone. Contracts are called by users alone: nothing here sends a
//! transaction.
//!
//! [`thread::start`] runs both on one thread with a lane of its own.

pub mod discount;
pub mod figures;
pub mod http;
pub mod parts;
pub mod proof;
pub mod provider;
pub mod quorum;
pub mod referral;
pub mod release;
pub mod reserves;
pub mod settings;
pub mod signer;
pub mod sink;
pub mod thread;
pub mod token;
pub mod tokens;
pub mod tracker;
pub mod watcher;
pub mod withdrawal_signing;

use ringside_core::ids::Address;
use serde::{Deserialize, Serialize};
pub use settings::Settings;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Longest life of a withdrawal's authorization, in seconds (`spot.md` 10). Caps of a day count on it, so neither a signer nor a
/// venue's settings know a longer one.
pub const WITHDRAWAL_LIFETIME_MAX_S: u64 = 86_400;

/// Names a release: there is at most one live digest for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReleaseKey {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The vault contract.
    pub vault: Address,
    /// Who may submit it: the wallet of the account.
    pub account: Address,
    /// The vault's counter of that wallet at which it can be submitted.
    pub nonce: u64,
}

/// A release as the journal holds it: all that the typed message `SpotReleaseFunds` of `spot.md` 10 says, and its domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Chain, vault, account and nonce.
    pub key: ReleaseKey,
    /// Name in the domain; its version is `1`.
    pub vault_name: String,
    /// Contract of the token.
    pub token: Address,
    /// In base units of the token.
    pub value: u128,
    /// UNIX seconds; it can be submitted strictly before it.
    pub deadline_s: u64,
    /// UNIX seconds, engine time of the request. A nonce is issued again only for a request later than the deadline of the
    /// release that held it before; a signer refuses anything else.
    pub requested_at_s: u64,
    /// The engine's number of the withdrawal.
    pub withdrawal: u64,
}

/// What a signer made of a release. The same release gives the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignedRelease {
    /// The EIP-712 digest.
    pub digest: [u8; 32],
    /// r, s, v; v is 27 or 28, s in the lower half.
    pub signature: [u8; 65],
}

/// An entry of a signer's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// What was signed.
    pub release: Release,
    /// What it gave.
    pub signed: SignedRelease,
}

/// A user's own word for a withdrawal: the login token of the request. It is shown to the signer and to nobody else, and
/// lives in memory alone.
#[derive(Clone)]
pub struct Consent(Zeroizing<String>);

impl Consent {
    /// Of a token as it was sent.
    pub fn new(token: &str) -> Consent {
        Consent(Zeroizing::new(token.to_owned()))
    }

    /// The token.
    pub fn token(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Consent {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Consent(hidden)")
    }
}

/// Why there is no signature.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignerFault {
    /// The signer decided against it (cap, conflicting digest, foreign vault): nothing was signed, nor will be.
    #[error("the signer refuses: {0}")]
    Refused(String),
    /// It was not signed before, and the account's word for it is missing, not its own, or no longer good: nothing was
    /// signed, nor will be without it.
    #[error("the signer misses the account's word: {0}")]
    Unauthorized(String),
    /// The signer was not reached: nothing was signed.
    #[error("the signer cannot be reached: {0}")]
    Unreachable(String),
    /// The signer was reached and did not answer: it may have signed.
    #[error("the signer did not answer: {0}")]
    Unknown(String),
}

/// Who asks a signer, where several hosts agree: the leader of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lead {
    /// Which cluster's.
    #[serde(with = "const_hex::serde")]
    pub cluster: [u8; 16],
    /// Its term.
    pub term: u64,
}

impl Lead {
    /// Whether `other` has taken its place.
    pub fn is_before(&self, other: &Lead) -> bool {
        self.cluster == other.cluster && self.term < other.term
    }
}

/// Signs releases. Calls block, and come from one thread, one after the other.
pub trait Signer: Send {
    /// The signature of a release: logged durably before it is made. What the log holds is signed again for whoever asks, since
    /// a venue that was restarted has no token any more; anything else needs the consent of its account.
    fn sign_release(
        &mut self,
        release: &Release,
        consent: Option<&Consent>,
    ) -> Result<SignedRelease, SignerFault>;

    /// The newest entry of the log with this key. `None` is a promise: no earlier request for the key is on its way.
    fn find(&mut self, key: &ReleaseKey) -> Result<Option<Issued>, SignerFault>;

    /// Entries of the log from position `from` on, oldest first, at most a thousand; none where the log ends. An engine
    /// that was restored from an older copy learns here of releases that it has forgotten.
    fn issued(&mut self, from: u64) -> Result<Vec<Issued>, SignerFault>;

    /// Whose signatures these are: what the vault must know as its signer.
    fn address(&self) -> Address;
}

/// A release of the vault that is final: an event `FundsReleased` in a block that can no longer be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalRelease {
    /// Chain, vault, account and nonce of the event.
    pub key: ReleaseKey,
    /// Token of the event.
    pub token: Address,
    /// Value of the event; what 128 bits do not hold is told as `u128::MAX`, which no withdrawal has.
    pub value: u128,
    /// Hash of the transaction.
    pub tx_hash: [u8; 32],
    /// Its block.
    pub block: u64,
    /// Timestamp of that block, UNIX seconds.
    pub block_time_s: u64,
}

/// A deposit into the vault that is final: an event `Deposited` in a block that can no longer be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalDeposit {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The vault contract.
    pub vault: Address,
    /// Its number, from 1 without gaps.
    pub number: u64,
    /// Wallet address of the account.
    pub account: Address,
    /// Contract of the token.
    pub token: Address,
    /// What arrived, in base units; what 128 bits do not hold is told as `u128::MAX`.
    pub value: u128,
    /// Hash of the transaction.
    pub tx_hash: [u8; 32],
    /// Its block.
    pub block: u64,
    /// Timestamp of that block, UNIX seconds.
    pub block_time_s: u64,
}

/// A final block up to which every release of the vault was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FinalBlock {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The vault contract.
    pub vault: Address,
    /// Number of the block.
    pub block: u64,
    /// Its hash.
    pub hash: [u8; 32],
    /// Its timestamp, UNIX seconds.
    pub time_s: u64,
}

/// What became of a fact that was told to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// It is in the journal.
    Taken,
    /// It was there before.
    Known,
    /// The engine holds it for impossible (another token or value, nothing open for this nonce): it is in the journal, an
    /// alarm is raised and withdrawals are paused.
    Alarm,
    /// One before it was not told.
    Gap,
    /// It was not taken; tell it again.
    Later,
}

/// Events of a vault that the engine has taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Deposits, of all tokens.
    pub deposits: u64,
    /// Releases, of all accounts.
    pub releases: u64,
    /// The highest block that had one of them.
    pub block: u64,
}

/// What stops withdrawals on the chain's side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Nodes do not agree, or cannot be reached.
    Chain(String),
    /// The vault would refuse what is signed for it.
    Vault(String),
}

/// Final blocks of a vault that the chain has replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The vault contract.
    pub vault: Address,
    /// The last that was final.
    pub last: u64,
    /// The newest of those that were final and are still there; block 0 where it lies further back than is remembered.
    pub kept: FinalBlock,
}

/// A future of the thread of the chain.
pub type Local<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// Where the watch of one vault tells what it knows, in the order of the chain: the events of a block before the block itself.
pub trait WatchPort {
    /// The last final block that was told of this vault: where to go on.
    fn cursor(&self, chain_id: u64, vault: &Address) -> Option<FinalBlock>;
    /// Earlier final blocks that were told, newest first, as far as they are remembered.
    fn marks(&self, chain_id: u64, vault: &Address) -> Vec<FinalBlock>;
    /// What the engine has taken of this vault.
    fn counters(&self, chain_id: u64, vault: &Address) -> Counters;
    /// How many withdrawals of this vault have not ended.
    fn open(&self, chain_id: u64, vault: &Address) -> usize;
    /// Whose signatures the vault is known to pay for.
    fn signer(&self, chain_id: u64, vault: &Address) -> Option<Address>;
    /// Whether releases may be told. Before that the signer's log is still being compared, and only deposits are: what it has
    /// signed may have been paid for by them.
    fn takes_releases(&self) -> bool;
    /// Everything that is final was told as far as it may be.
    fn caught_up(&self);
    /// Tells a final deposit.
    fn deposit(&self, deposit: FinalDeposit) -> Local<'_, Told>;
    /// Tells a final release.
    fn release(&self, release: FinalRelease) -> Local<'_, Told>;
    /// Tells a final block: everything whose deadline it is past expires.
    fn advance(&self, block: FinalBlock) -> Local<'_, Told>;
    /// Tells what the vault is: that there is one, and as of the final block whose signatures it pays for.
    fn observe(&self, chain_id: u64, vault: &Address, signer: Option<Address>, block: u64)
    -> Local<'_, Told>;
    /// Pauses withdrawals for these reasons, or takes such pauses back.
    fn stop(&self, stops: Vec<Stop>) -> Local<'_, Told>;
    /// Contracts of tokens of which it is wanted what the vault holds, as of the final block that is told next.
    fn wants_held(&self, _chain_id: u64, _vault: &Address) -> Vec<Address> {
        Vec::new()
    }
    /// Says what it holds of them, in base units, before that block is told.
    fn held(&self, _block: FinalBlock, _held: Vec<(Address, u128)>) {}
    /// Final blocks were replaced, or no longer are: for operators to decide. Where they have agreed on the block that is kept,
    /// everything above it is taken back, and it is the last final one again.
    fn replaced(&self, replaced: Option<Replaced>) -> Local<'_, Told>;
    /// What is known of blocks that are not final yet, for people: a release with its confirmations so far (0: it is gone
    /// again). Decides nothing.
    fn seen(&self, key: ReleaseKey, tx_hash: [u8; 32], confirmations: u64);
    /// The same of a deposit; `None`: it is gone again.
    fn seen_deposit(&self, deposit: FinalDeposit, confirmations: Option<u64>);
}

/// Watches a vault for ever, on the thread of the chain.
pub trait Watch: Send {
    /// What it counts, where it counts anything.
    fn figures(&self) -> Option<Arc<figures::NodesFigures>> {
        None
    }

    /// Goes on from the port's cursor. Ends only with its thread, or where nothing can happen to its vault any more.
    fn run(self: Box<Self>, port: Box<dyn WatchPort>) -> Local<'static, ()>;
}
