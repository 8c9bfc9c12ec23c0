//! One node: questions of JSON-RPC and their answers, read strictly. What a node says is believed by nobody before others
//! said the same (`quorum.rs`); here it is only made sure that it says something.

use super::http::{Transport, TransportFault};
use crate::wallet::keccak256;
use bytes::Bytes;
use ringside_core::ids::Address;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::Cell;
use std::sync::LazyLock;

/// Hash that names the event of a release (`spot.md` 10).
static RELEASE_TOPIC: LazyLock<[u8; 32]> =
    LazyLock::new(|| keccak256("FundsReleased(address,address,uint256,uint256)"));
/// Most releases of one block: what a vault can pay in a block of any known chain is far below.
const RELEASES_MAX: usize = 10_000;

/// A hash of 32 bytes.
pub type Hash = [u8; 32];

/// Why a node's answer is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFault {
    /// There was no answer.
    #[error(transparent)]
    Transport(#[from] TransportFault),
    /// It is not what was asked for.
    #[error("it answered nonsense: {0}")]
    Nonsense(&'static str),
    /// It says that it failed, or that the call reverts.
    #[error("it answered with error {code}")]
    Refused {
        /// Of JSON-RPC.
        code: i64,
    },
    /// It does not know the block, yet or any more.
    #[error("it does not know the block")]
    Missing,
    /// It is a node of another chain.
    #[error("it is on chain {0}")]
    OtherChain(u64),
}

/// A block, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Header {
    /// Its number.
    pub number: u64,
    /// Its hash.
    pub hash: Hash,
    /// Hash of the block before.
    pub parent: Hash,
    /// UNIX seconds.
    pub time_s: u64,
}

/// An event `FundsReleased` of the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VaultRelease {
    /// Who was paid.
    pub account: Address,
    /// In which token.
    pub token: Address,
    /// How much; `u128::MAX` for what 128 bits do not hold.
    pub value: u128,
    /// The account's counter before.
    pub nonce: u64,
    /// The transaction.
    pub tx_hash: Hash,
    /// Place among the events of its block.
    pub log_index: u64,
}

/// Which block is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The newest.
    Latest,
    /// The newest that the chain itself calls final.
    Finalized,
    /// The one of this number.
    Number(u64),
}

/// A node.
pub struct Provider {
    transport: Box<dyn Transport>,
    asked: Cell<u64>,
}

impl Provider {
    /// A node that is asked in this way.
    pub fn new(transport: Box<dyn Transport>) -> Provider {
        Provider { transport, asked: Cell::new(0) }
    }

    /// What it is called in the log.
    pub fn name(&self) -> &str {
        self.transport.name()
    }

    /// Fails unless it is on this chain.
    pub async fn judge_chain(&self, chain_id: u64) -> Result<(), ProviderFault> {
        match quantity(&self.ask("eth_chainId", &[(); 0]).await?) {
            Some(own) if own == chain_id => Ok(()),
            Some(own) => Err(ProviderFault::OtherChain(own)),
            None => Err(ProviderFault::Nonsense("no chain id")),
        }
    }

    /// A block; one of another number than was asked for is nonsense.
    pub async fn block(&self, at: At) -> Result<Header, ProviderFault> {
        let tag = match at {
            At::Latest => "latest".to_owned(),
            At::Finalized => "finalized".to_owned(),
            At::Number(number) => format!("{number:#x}"),
        };
        let answer = self.ask("eth_getBlockByNumber", &(tag, false)).await?;
        if answer.is_null() {
            return Err(ProviderFault::Missing);
        }
        let header = header(&answer).ok_or(ProviderFault::Nonsense("no block"))?;
        match at {
            At::Number(number) if header.number != number => Err(ProviderFault::Nonsense("another block")),
            _ => Ok(header),
        }
    }

    /// The releases of a vault in a block, in their order. Bound to the block's hash: a block that was replaced is `Missing`.
    pub async fn releases(
        &self,
        vault: &Address,
        block: &Header,
    ) -> Result<Vec<VaultRelease>, ProviderFault> {
        let hex = const_hex::encode_prefixed::<&[u8]>;
        let filter = serde_json::json!([{
            "blockHash": hex(&block.hash),
            "address": hex(vault),
            "topics": [hex(&*RELEASE_TOPIC)],
        }]);
        let answer = match self.ask("eth_getLogs", &filter).await {
            // Nodes say in different ways that they have no such block.
            Err(ProviderFault::Refused { .. }) => return Err(ProviderFault::Missing),
            answer => answer?,
        };
        let logs = answer.as_array().ok_or(ProviderFault::Nonsense("no list of events"))?;
        if logs.len() > RELEASES_MAX {
            return Err(ProviderFault::Nonsense("too many events"));
        }
        let mut releases: Vec<VaultRelease> = Vec::with_capacity(logs.len());
        for log in logs {
            let release = release(log, vault, block)
                .ok_or(ProviderFault::Nonsense("an event that was not asked for"))?;
            if releases.last().is_some_and(|last| last.log_index >= release.log_index) {
                return Err(ProviderFault::Nonsense("events out of order"));
            }
            releases.push(release);
        }
        Ok(releases)
    }

    /// Calls a view of a contract on the newest block; the bytes it returns.
    pub async fn call(&self, contract: &Address, data: &[u8]) -> Result<Vec<u8>, ProviderFault> {
        let call = serde_json::json!([
            { "to": const_hex::encode_prefixed(contract), "data": const_hex::encode_prefixed(data) },
            "latest",
        ]);
        let answer = self.ask("eth_call", &call).await?;
        answer.as_str().and_then(bytes_of).ok_or(ProviderFault::Nonsense("no bytes"))
    }

    async fn ask(&self, method: &str, params: &impl Serialize) -> Result<Value, ProviderFault> {
        #[derive(Serialize)]
        struct Question<'a, P> {
            jsonrpc: &'static str,
            id: u64,
            method: &'a str,
            params: &'a P,
        }
        #[derive(Deserialize)]
        struct Answer {
            id: u64,
            #[serde(default)]
            result: Option<Value>,
            error: Option<Fault>,
        }
        #[derive(Deserialize)]
        struct Fault {
            code: i64,
        }
        let id = self.asked.get() + 1;
        self.asked.set(id);
        let question = Question { jsonrpc: "2.0", id, method, params };
        let question = serde_json::to_vec(&question).expect("a question is JSON");
        let answer = self.transport.ask(Bytes::from(question)).await?;
        let answer: Answer =
            serde_json::from_slice(&answer).map_err(|_| ProviderFault::Nonsense("no answer of JSON-RPC"))?;
        match answer {
            Answer { id: of, .. } if of != id => Err(ProviderFault::Nonsense("an answer to something else")),
            Answer { error: Some(fault), .. } => Err(ProviderFault::Refused { code: fault.code }),
            Answer { result, .. } => Ok(result.unwrap_or(Value::Null)),
        }
    }
}

fn header(block: &Value) -> Option<Header> {
    Some(Header {
        number: quantity(block.get("number")?)?,
        hash: hash(block.get("hash")?)?,
        parent: hash(block.get("parentHash")?)?,
        time_s: quantity(block.get("timestamp")?)?,
    })
}

/// An event, if it is a release of this vault in this block.
fn release(log: &Value, vault: &Address, block: &Header) -> Option<VaultRelease> {
    let is_of_block = quantity(log.get("blockNumber")?)? == block.number
        && hash(log.get("blockHash")?)? == block.hash
        && log.get("removed").and_then(Value::as_bool) != Some(true);
    let address = bytes_of(log.get("address")?.as_str()?)?;
    let topics: Option<Vec<Hash>> = log.get("topics")?.as_array()?.iter().map(hash).collect();
    let [event, account, token] = <[Hash; 3]>::try_from(topics?).ok()?;
    if !is_of_block || address != vault || event != *RELEASE_TOPIC {
        return None;
    }
    let data = bytes_of(log.get("data")?.as_str()?)?;
    let (value, nonce) = data.split_first_chunk::<32>()?;
    let nonce = <&Hash>::try_from(nonce).ok()?;
    Some(VaultRelease {
        account: address_of(&account)?,
        token: address_of(&token)?,
        value: u128::try_from_word(value).unwrap_or(u128::MAX),
        nonce: u64::try_from_word(nonce)?,
        tx_hash: hash(log.get("transactionHash")?)?,
        log_index: quantity(log.get("logIndex")?)?,
    })
}

/// Whole numbers out of words of 32 bytes.
pub(super) trait FromWord: Sized {
    /// `None` where it does not fit.
    fn try_from_word(word: &Hash) -> Option<Self>;
}

macro_rules! from_word {
    ($($type:ty: $len:literal),*) => {$(
        impl FromWord for $type {
            fn try_from_word(word: &Hash) -> Option<$type> {
                let (zeros, bytes) = word.split_last_chunk::<$len>()?;
                zeros.iter().all(|byte| *byte == 0).then(|| <$type>::from_be_bytes(*bytes))
            }
        }
    )*};
}

from_word!(u8: 1, u16: 2, u64: 8, u128: 16);

/// An address in a word.
pub(super) fn address_of(word: &Hash) -> Option<Address> {
    let (zeros, address) = word.split_last_chunk::<20>()?;
    zeros.iter().all(|byte| *byte == 0).then_some(*address)
}

/// A quantity: `0x` and hex digits without leading zeros, of which some nodes send some all the same.
fn quantity(value: &Value) -> Option<u64> {
    let digits = value.as_str()?.strip_prefix("0x")?;
    let is_plain = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_plain.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

fn hash(value: &Value) -> Option<Hash> {
    bytes_of(value.as_str()?)?.try_into().ok()
}

fn bytes_of(text: &str) -> Option<Vec<u8>> {
    let digits = text.strip_prefix("0x")?;
    if digits.starts_with("0x") { None } else { const_hex::decode(digits).ok() }
}
