//! What a deployment says of its chain.

use ringside_auth::secret::Secret;
use ringside_core::ids::Address;
use ringside_outbound::url::NodeUrl;
use std::path::PathBuf;
use std::time::Duration;

/// See the settings of the process of the same names, where `chain_` begins most of them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// Nodes that are asked; none: the chain is not watched.
    pub nodes: Vec<NodeUrl>,
    /// How many of them must say the same.
    pub agreement: usize,
    /// Blocks on top of one whose events are final.
    pub confirmations: u64,
    /// Whether the chain must call a block final as well.
    pub wants_finalized: bool,
    /// Pause between two looks at the chain.
    pub every: Duration,
    /// How long a node may take for an answer.
    pub patience: Duration,
    /// A chain without a new block for so long counts as failing.
    pub stalled_after: Duration,
    /// The vault; `None`: no withdrawals.
    pub vault: Option<Address>,
    /// Its name in its EIP-712 domain.
    pub vault_name: String,
    /// Block in which it was made.
    pub vault_block: u64,
    /// Contract of the token DF.
    pub df: Option<Address>,
    /// Contract of the token USDT.
    pub usdt: Option<Address>,
    /// Decimals of that contract's base unit.
    pub usdt_decimals: u8,
    /// Settings of a signer in this process.
    pub signer_settings: Option<PathBuf>,
    /// Socket of a signer that is a process of its own.
    pub signer_socket: Option<PathBuf>,
    /// Whose signatures that signer gives.
    pub signer_address: Option<Address>,
    /// Key of the signer where its settings name no file.
    pub signer_key: Option<Secret>,
    /// How long a withdrawal waits for the signer.
    pub signer_patience: Duration,
    /// Contract of referral records.
    pub referral: Option<Address>,
    /// Pause between two readings of an account's record.
    pub referral_every: Duration,
}
