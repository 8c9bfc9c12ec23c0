//! What operators see of the chain's side and decide about it, tokens, and what the referral contract says.

use crate::name::{Address, Token};
use crate::number::Amount;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ChainState {
    /// Nobody's until what holds them is gone
    pub held_deposits: Vec<HeldDeposit>,
    /// operator, chain, alarm, vault, reserves
    pub paused: Vec<&'static str>,
    pub reason: Option<String>,
    pub vaults: Vec<VaultState>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct VaultState {
    /// The last final block
    pub block: u64,
    pub chain_id: u64,
    /// Taken so far
    pub deposits: u64,
    /// Taken so far
    pub releases: u64,
    /// Where final blocks were replaced
    pub replaced: Option<ReplacedBlocks>,
    /// Whose signatures it pays for, as far as is final
    pub signer: Address,
    pub vault_address: Address,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ReplacedBlocks {
    /// Credited above it; they stay so, and count once when mined again
    pub deposits: Vec<ChainDeposit>,
    /// The newest final block that is still there; 0: go back to the begin
    pub kept_block: u64,
    pub kept_hash: String,
    /// The last that was final
    pub last_block: u64,
    /// Who wants to go back, until another agrees
    pub proposed_by: Option<String>,
    /// Confirmed above it; they are on their way again then
    pub withdrawals: Vec<ChainWithdrawal>,
}

#[derive(Serialize, JsonSchema)]
pub struct ChainDeposit {
    pub amount: Amount,
    pub block_number: u64,
    pub number: u64,
    pub token_address: Address,
    pub tx_hash: String,
    pub user_address: Address,
    /// Base units of the token
    pub value: String,
}

#[derive(Serialize, JsonSchema)]
pub struct HeldDeposit {
    pub amount: Amount,
    pub block_number: u64,
    pub number: u64,
    pub reason: HeldFor,
    pub token_address: Address,
    pub tx_hash: String,
    pub user_address: Address,
    /// Base units of the token
    pub value: String,
    pub vault_address: Option<Address>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum HeldFor {
    None,
    TokenUnknown,
    TokenPaused,
    OutOfRange,
    Nobody,
}

#[derive(Serialize, JsonSchema)]
pub struct ChainWithdrawal {
    pub amount: Amount,
    pub block_number: Option<u64>,
    pub id: String,
    pub nonce: u64,
    pub token: Option<String>,
    pub tx_hash: Option<String>,
    pub user_address: Option<Address>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct RewindAgreed {
    /// false: it is proposed
    pub agreed: bool,
    /// null while it is proposed
    pub agreed_by: Option<String>,
    pub proposed_by: String,
}

#[derive(Serialize, JsonSchema)]
pub struct Dispute {
    /// What is frozen
    #[schemars(with = "String")]
    pub amount: Amount,
    /// Of the withdrawal
    pub id: String,
    pub nonce: u64,
    /// What the vault paid for the nonce
    pub paid: PaidInstead,
    /// What one operator wants, until another agrees
    pub proposed: Option<DisputeProposal>,
    /// UNIX seconds
    pub requested_at: u64,
    pub token: String,
    #[schemars(with = "String")]
    pub user_address: Address,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct PaidInstead {
    pub block_number: u64,
    pub tx_hash: String,
    /// Base units of whatever token it was
    pub value: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DisputeProposal {
    pub by: String,
    pub outcome: DisputeOutcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum DisputeOutcome {
    Paid,
    Returned,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct DisputeSettled {
    /// null while it is proposed
    pub agreed_by: Option<String>,
    pub outcome: DisputeOutcome,
    pub proposed_by: String,
    /// false: it is proposed
    pub settled: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct ChainToken {
    /// The contract
    pub address: Address,
    pub chain_id: u64,
    /// Of its base unit
    pub decimals: u8,
    /// What comes is held until it is taken back
    pub deposits_paused: bool,
    /// From a spot balance
    pub min_withdrawal: Amount,
    pub symbol: Token,
    pub withdrawals_paused: bool,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Rebate {
    pub address: String,
    /// US dollars
    #[schemars(regex(pattern = r"^[0-9]+\.[0-9]{6}$"))]
    pub claimed_usd: String,
    /// Counts claims
    pub nonce: u64,
    /// Empty for none; hex where it is no text
    pub referral_code: String,
    /// The zero address for nobody
    pub referrer: String,
    /// 0 to 4
    pub tier_level: u8,
    pub tier_name: &'static str,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ReferralTerms {
    pub address: String,
    pub affiliate_reward_bps: u16,
    /// Empty for none; hex where it is no text
    pub code: String,
    /// The zero address for nobody
    pub referrer: String,
    pub total_rebate_bps: u16,
    pub trader_discount_bps: u16,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Claimed {
    pub address: String,
    /// US dollars
    #[schemars(regex(pattern = r"^[0-9]+\.[0-9]{6}$"))]
    pub claimed_usd: String,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct OperatorStatus {
    pub contract_address: String,
    pub is_operator: bool,
    pub operator_address: String,
}
