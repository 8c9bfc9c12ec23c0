//! Proofs of reserves, and of all ledgers.

use crate::name::{Address, Hash, Token};
use crate::number::{Amount, SignedAmount};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Reserves {
    /// The final block; null where there is no vault
    pub block: Option<u64>,
    /// SHA-256 of 02, sequence, block (8 bytes each), state hash, and of each token its name (10 bytes), accounts (16), root, owed, unbacked and held (16 each, with a sign, -1 for null)
    pub root: Hash,
    /// The command after which everything is as shown
    pub sequence: u64,
    /// Of the whole state; the journal leads to it again
    pub state_hash: String,
    /// Of that command, UNIX milliseconds
    pub time: i64,
    pub tokens: Vec<ReservesOfToken>,
    /// The one in use first; none: nothing is held that is known
    pub vaults: Vec<ReservesVault>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ReservesVault {
    /// The final block as of which it was asked what it holds
    pub block: u64,
    pub block_hash: String,
    pub vault_address: Address,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ReservesOfToken {
    /// The sum of all leaves: spot, perpetual and in_flight
    pub accounts: Amount,
    /// Fees of both ledgers, and what affiliates are to be paid
    pub fees: Amount,
    /// The insurance fund
    pub funds: SignedAmount,
    /// What the vaults hold; null where there is no vault
    pub held: Option<Amount>,
    /// Deposits that wait for their credit
    pub held_deposits: Amount,
    /// In withdrawals that were neither paid nor given back
    pub in_flight: Amount,
    /// owed less unbacked less held, where that is above 0
    pub missing: Amount,
    /// Margin equity of accounts below zero, in no leaf
    pub negative_equity: SignedAmount,
    /// What all ledgers owe: accounts, negative_equity, funds, fees and held_deposits
    pub owed: SignedAmount,
    /// Margin equity at the marks, of accounts that have any
    pub perpetual: Amount,
    /// Of the token's tree; 64 zeros where it has no leaf
    pub root: Hash,
    /// Spot balances, open orders included
    pub spot: Amount,
    pub token: Token,
    /// Credited out of nothing, as test deployments may
    pub unbacked: SignedAmount,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct OwnLeaves {
    /// The final block; null where there is no vault
    pub block: Option<u64>,
    /// One for each token of which the account is owed anything
    pub leaves: Vec<Leaf>,
    /// SHA-256 of 02, sequence, block (8 bytes each), state hash, and of each token its name (10 bytes), accounts (16), root, owed, unbacked and held (16 each, with a sign, -1 for null)
    pub root: Hash,
    /// The command after which everything is as shown
    pub sequence: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Leaf {
    pub account: Address,
    /// What the account is owed of it, on both ledgers
    pub amount: Amount,
    /// SHA-256 of 00, salt, account (20 bytes), token (10, padded with zeros) and amount (16, steps of 10^-18)
    pub leaf: Hash,
    /// Up to the token's root; a node is SHA-256 of 01 and of hash and sum (16 bytes) of its left and of its right
    pub path: Vec<ProofStep>,
    /// Of the token's tree
    pub root: Hash,
    /// The account's alone, another one in every proof
    pub salt: Hash,
    /// Of all its leaves
    pub sum: Amount,
    pub token: Token,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ProofStep {
    pub hash: Hash,
    /// Which of the two the neighbour is
    pub side: ProofSide,
    pub sum: Amount,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ProofSide {
    Left,
    Right,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct MissingAccepted {
    pub amount: Amount,
    /// true
    pub ok: bool,
    pub token: Token,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LedgerProven {
    pub ledgers: Vec<LedgerSides>,
    /// The newest proof of reserves, as GET /api/v1/proof has it; of an earlier moment. null before the first
    pub reserves: Option<Reserves>,
    pub sequence: u64,
    pub state_hash: String,
    /// UNIX milliseconds
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LedgerSides {
    pub asset: String,
    pub equal: bool,
    /// What accounts and pools have, as a decimal
    #[schemars(with = "String")]
    pub left: SignedAmount,
    pub ledger: LedgerName,
    /// What came in less what went out
    #[schemars(with = "String")]
    pub right: SignedAmount,
    /// What both sides are made of
    pub terms: BTreeMap<&'static str, SignedAmount>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LedgerName {
    Spot,
    Perpetual,
    Withdrawals,
}
