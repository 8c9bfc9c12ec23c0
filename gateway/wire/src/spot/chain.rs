//! Deposits and withdrawals as the spot API shows them; withdrawals of perpetual margin are shown alike.

use crate::name::{Address, OrderUuid, Token, TxHash};
use crate::number::{Amount, Units};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Debug, Serialize, JsonSchema)]
pub struct WithdrawalAuthorization {
    pub id: OrderUuid,
    /// The vault's counter at which it can be submitted
    pub nonce: u64,
    /// r, s, v
    #[schemars(regex(pattern = "^0x[0-9a-f]{130}$"))]
    pub signature: String,
    /// UNIX seconds; to be submitted strictly before it
    pub deadline: u64,
    pub vault_address: Address,
    pub chain_id: u64,
    pub amount: Amount,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Withdrawal {
    pub id: OrderUuid,
    pub token: Token,
    pub amount: Amount,
    /// 0
    pub fee: Units,
    pub chain_id: u64,
    pub nonce: u64,
    pub status: WithdrawalWord,
    /// UNIX seconds
    pub deadline: u64,
    /// Once confirmed
    pub tx_hash: Option<TxHash>,
    /// Once confirmed
    pub block_number: Option<u64>,
    /// UNIX seconds
    pub requested_at: u64,
    /// UNIX seconds, once confirmed
    pub confirmed_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum WithdrawalWord {
    Signed,
    Confirmed,
    Expired,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Deposit {
    /// The same from its first block on
    #[schemars(regex(pattern = "^[0-9]+-0x[0-9a-f]{40}-[0-9]+$"))]
    pub id: String,
    /// Its name; the contract where that is not known here
    pub token: String,
    /// What arrived; of a token that is not known in its base units
    #[schemars(with = "Amount")]
    pub amount: String,
    pub chain_id: u64,
    /// The vault's
    pub number: u64,
    pub tx_hash: TxHash,
    pub block_number: u64,
    /// Blocks on top of that one
    pub confirmations: u64,
    pub status: DepositWord,
    /// UNIX seconds of its block
    pub seen_at: u64,
    /// UNIX seconds, once credited
    pub credited_at: Option<u64>,
    /// Why it is final and not credited
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum DepositWord {
    Pending,
    Credited,
}

#[derive(Serialize, JsonSchema)]
pub struct DepositAddress {
    pub chain_id: u64,
    /// Blocks on top of one whose deposits are credited
    pub confirmations: u64,
    /// Replaced by it; to be used no more
    pub former_vault_addresses: Vec<Address>,
    pub tokens: Vec<DepositToken>,
    /// The contract whose deposit and depositFor take it
    pub vault_address: Address,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DepositToken {
    /// The contract
    pub address: Address,
    /// Of its base unit
    pub decimals: u8,
    /// What comes is held until it is taken back
    pub deposits_paused: bool,
    pub symbol: Token,
}
