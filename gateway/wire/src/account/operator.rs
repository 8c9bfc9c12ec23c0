//! What operators are answered: what waits for two of them, what they did, feeds, the clock, changes of markets.

use super::own::{FeeTier, NextSchedule};
use crate::futures::words::TradingState;
use crate::name::{Market, Token};
use crate::number::{Amount, SignedAmount};
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub struct Approval {
    /// 16 hex digits
    pub approval_id: String,
    /// UNIX milliseconds
    pub created_at: i64,
    /// Everything that it asks for, as the audit log will have it
    pub detail: String,
    /// UNIX milliseconds: 15 minutes later, or at a restart
    pub expires_at: i64,
    /// Of the request
    pub method: &'static str,
    /// Of the request
    pub path: String,
    /// The operator who asked
    pub proposed_by: String,
    pub reason: String,
}

#[derive(Serialize, JsonSchema)]
pub struct OperatorAction {
    pub action: String,
    pub detail: String,
    /// From 1
    pub id: u64,
    pub ip: String,
    /// own: the name is proven by the operator's own key
    pub key: ProvenBy,
    /// Name of the key's owner, or what X-Operator said; admin without both
    pub operator: String,
    pub outcome: ActionOutcome,
    pub reason: String,
    /// Of a refused one
    pub refusal: Option<String>,
    /// Of its command in the journal
    pub sequence: Option<u64>,
    /// A wallet or a market
    pub subject: Option<String>,
    /// UNIX milliseconds
    pub time: i64,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum ProvenBy {
    Own,
    Shared,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ActionOutcome {
    Done,
    Refused,
    NotCarriedOut,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct AuditPage {
    pub items: Vec<OperatorAction>,
    /// null at the end
    pub next_before: Option<u64>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Clock {
    /// What of it an operator accepts; 0 for none
    pub accepted_ms: i64,
    /// false: new orders and withdrawals are refused
    pub agrees: bool,
    /// The wall clock less engine time; below 0 engine time is ahead
    pub distance_ms: i64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Cluster {
    /// The last batch of the journal that is agreed on, as far as this member knows
    pub agreed: u64,
    /// The last batch in this member's journal
    pub batch: u64,
    /// Version of what the engine decides: members of another are not let in
    pub engine_version: u32,
    /// Who leads; null while nobody does
    pub leader: Option<u64>,
    /// This host's number
    pub member: u64,
    pub members: Vec<ClusterMember>,
    pub term: u64,
}

#[derive(Serialize, JsonSchema)]
pub struct ClusterMember {
    /// Host and port at which it listens for the others
    pub address: String,
    /// Whether it answers; null where another member leads
    pub answers: Option<bool>,
    /// The last batch that it has; null where another member leads
    pub batch: Option<u64>,
    /// Batches that are agreed on and that it is not known to have; null where another member leads
    pub behind: Option<u64>,
    /// Whether messages to it are on their way
    pub connected: bool,
    /// Whether it is too far behind and fetches the files of another; null where another member leads
    pub fetches: Option<bool>,
    /// SHA-256 of its public key
    pub key: String,
    pub leads: bool,
    /// Its number
    pub member: u64,
    /// false: it has come, and gets a vote once it is less than a second behind
    pub votes: bool,
}

#[derive(Serialize, JsonSchema)]
pub struct Ban {
    /// Of IPv6 its /64, which is banned as one
    pub address: String,
    /// How many count towards the length of the next, this one included
    pub count: usize,
    /// UNIX milliseconds
    pub since: i64,
    /// UNIX milliseconds
    pub until: i64,
}

#[derive(Serialize, JsonSchema)]
pub struct PriceFeed {
    /// Shortest time between two prices
    pub every_ms: u64,
    /// Its number in that market
    pub feed: u32,
    /// What it reads
    pub from: String,
    pub kind: FeedKind,
    pub origin: FeedOrigin,
    #[schemars(regex(pattern = "^[A-Z0-9]{2,20}$"))]
    pub symbol: String,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum FeedKind {
    Fixed,
    Spot,
    Http,
    WebSocket,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum FeedOrigin {
    Configuration,
    Operator,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct TreasuryMoved {
    pub amount: Amount,
    #[schemars(regex(pattern = "^(fund:MAIN|fees:spot|fees:perpetual|account:0x[0-9a-fA-F]{40})$"))]
    pub from: String,
    /// true
    pub ok: bool,
    /// Of its command in the journal
    pub sequence: u64,
    #[schemars(regex(pattern = "^(fund:MAIN|fees:spot|fees:perpetual|account:0x[0-9a-fA-F]{40})$"))]
    pub to: String,
    pub token: Token,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Endangers {
    /// true: nothing was done
    pub needs_confirmation: bool,
    pub notional: Amount,
    /// That would fall below their maintenance margin
    pub scopes: u64,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct LeavesShort {
    /// Wallet of the insurance fund
    pub fund: SignedAmount,
    /// true: nothing was done
    pub needs_confirmation: bool,
    /// What the settlement would leave short, at the index of now
    pub shortfall: Amount,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Listed {
    /// true
    pub ok: bool,
    pub state: TradingState,
    pub symbol: Market,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct FeeSchedules {
    /// UNIX milliseconds
    pub changed_at: Option<i64>,
    pub changed_by: Option<String>,
    pub changed_with: Option<KeyOfChange>,
    /// The schedule that waits for its midnight
    pub next: Option<NextSchedule>,
    pub schedule: Vec<FeeTier>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub enum KeyOfChange {
    #[serde(rename = "own key")]
    Own,
    #[serde(rename = "shared key")]
    Shared,
}

#[derive(Serialize, JsonSchema)]
#[schemars(inline)]
pub struct ScheduleSet {
    /// UNIX milliseconds: the next midnight
    pub effective_at: Option<i64>,
    /// true
    pub ok: bool,
}
