//! One node: questions of JSON-RPC and their answers, read strictly. What a node says is believed by nobody before others
//! said the same (`quorum.rs`); here it is only made sure that it says something.

use super::http::Transport;
use bytes::Bytes;
use ringside_auth::wallet::keccak256;
use ringside_core::ids::Address;
use ringside_outbound::OutboundFault;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::cell::Cell;
use std::sync::LazyLock;

/// Hash that names the event of a release (`spot.md` 10).
static RELEASE_TOPIC: LazyLock<[u8; 32]> =
    LazyLock::new(|| keccak256("FundsReleased(address,address,uint256,uint256)"));
/// Hash that names the event of a deposit (`spot.md` 10.1).
static DEPOSIT_TOPIC: LazyLock<[u8; 32]> =
    LazyLock::new(|| keccak256("Deposited(uint256,address,address,uint256)"));
/// Most events of one block: what a vault can pay or take in a block of any known chain is far below.
const EVENTS_MAX: usize = 10_000;
/// What a node says of a call that the contract refuses.
const REVERTED: i64 = 3;

/// A hash of 32 bytes.
pub type Hash = [u8; 32];

/// Why a node's answer is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProviderFault {
    /// There was no answer.
    #[error(transparent)]
    Transport(#[from] OutboundFault),
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

/// What an event of the vault tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Fact {
    /// `FundsReleased`: the account's counter before.
    Release {
        /// The nonce.
        nonce: u64,
    },
    /// `Deposited`: its number.
    Deposit {
        /// The number.
        number: u64,
    },
}

/// An event of the vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VaultEvent {
    /// A release, or a deposit with its number.
    pub fact: Fact,
    /// Who was paid, or whose deposit it is.
    pub account: Address,
    /// In which token.
    pub token: Address,
    /// How much; `u128::MAX` for what 128 bits do not hold.
    pub value: u128,
    /// The transaction.
    pub tx_hash: Hash,
    /// Place among the events of its block.
    pub log_index: u64,
}

/// What stands at the address of a vault, as of one block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Nothing that answers as a vault does.
    NoVault,
    /// A vault.
    Vault(VaultState),
}

/// `state()` of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VaultState {
    /// Deposits so far.
    pub deposits: u64,
    /// Releases so far.
    pub releases: u64,
    /// Whose signatures it pays for.
    pub signer: Address,
    /// Whether it is paused.
    pub is_paused: bool,
    /// Hash of the domain of what is signed for it.
    pub domain: Hash,
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

    /// The events of a vault in a block, in their order, each as the receipt of its transaction has it too. Bound to the block's
    /// hash: a block that was replaced is `Missing`.
    pub async fn events(&self, vault: &Address, block: &Header) -> Result<Vec<VaultEvent>, ProviderFault> {
        let hex = const_hex::encode_prefixed::<&[u8]>;
        let filter = serde_json::json!([{
            "blockHash": hex(&block.hash),
            "address": hex(vault),
            "topics": [[hex(&*RELEASE_TOPIC), hex(&*DEPOSIT_TOPIC)]],
        }]);
        let answer = match self.ask("eth_getLogs", &filter).await {
            // Nodes say in different ways that they have no such block.
            Err(ProviderFault::Refused { .. }) => return Err(ProviderFault::Missing),
            answer => answer?,
        };
        let logs = answer.as_array().ok_or(ProviderFault::Nonsense("no list of events"))?;
        if logs.len() > EVENTS_MAX {
            return Err(ProviderFault::Nonsense("too many events"));
        }
        let mut events: Vec<VaultEvent> = Vec::with_capacity(logs.len());
        for log in logs {
            let event =
                event(log, vault, block).ok_or(ProviderFault::Nonsense("an event that was not asked for"))?;
            if events.last().is_some_and(|last| last.log_index >= event.log_index) {
                return Err(ProviderFault::Nonsense("events out of order"));
            }
            events.push(event);
        }
        for of_transaction in events.chunk_by(|one, next| one.tx_hash == next.tx_hash) {
            let receipt = self.receipt(&of_transaction[0].tx_hash, vault, block).await?;
            if receipt != of_transaction {
                return Err(ProviderFault::Nonsense("a receipt that says something else"));
            }
        }
        Ok(events)
    }

    /// The events of a vault in the receipt of a transaction that succeeded in a block.
    async fn receipt(
        &self,
        tx_hash: &Hash,
        vault: &Address,
        block: &Header,
    ) -> Result<Vec<VaultEvent>, ProviderFault> {
        let answer = self.ask("eth_getTransactionReceipt", &[const_hex::encode_prefixed(tx_hash)]).await?;
        if answer.is_null() {
            return Err(ProviderFault::Missing);
        }
        let read = || {
            let is_it = hash(answer.get("transactionHash")?)? == *tx_hash
                && hash(answer.get("blockHash")?)? == block.hash
                && quantity(answer.get("status")?)? == 1;
            let logs = answer.get("logs")?.as_array().filter(|_| is_it)?;
            Some(logs.iter().filter_map(|log| event(log, vault, block)).collect())
        };
        read().ok_or(ProviderFault::Nonsense("no receipt of that"))
    }

    /// What stands at the address of a vault as of a block.
    pub async fn standing(&self, vault: &Address, block: u64) -> Result<Standing, ProviderFault> {
        let data = &keccak256("state()")[..4];
        let answer = match self.call_at(vault, data, &format!("{block:#x}")).await {
            Err(ProviderFault::Refused { code: REVERTED }) => return Ok(Standing::NoVault),
            answer => answer?,
        };
        let read = || {
            let (words, []) = answer.as_chunks::<32>() else { return None };
            let [deposits, releases, signer, is_paused, domain]: &[Hash; 5] = words.try_into().ok()?;
            Some(VaultState {
                deposits: u64::try_from_word(deposits)?,
                releases: u64::try_from_word(releases)?,
                signer: address_of(signer)?,
                is_paused: u8::try_from_word(is_paused).filter(|truth| *truth < 2)? == 1,
                domain: *domain,
            })
        };
        Ok(read().map_or(Standing::NoVault, Standing::Vault))
    }

    /// What a contract holds of a token as of a block, in base units: nothing where no token answers, `u128::MAX` for what 128 bits do
    /// not hold.
    pub async fn held(&self, holder: &Address, token: &Address, block: u64) -> Result<u128, ProviderFault> {
        let mut data = keccak256("balanceOf(address)")[..4].to_vec();
        data.extend_from_slice(&[0; 12]);
        data.extend_from_slice(holder);
        match self.call_at(token, &data, &format!("{block:#x}")).await {
            Err(ProviderFault::Refused { code: REVERTED }) => Ok(0),
            Err(fault) => Err(fault),
            Ok(answer) => match <&Hash>::try_from(answer.as_slice()) {
                Ok(word) => Ok(u128::try_from_word(word).unwrap_or(u128::MAX)),
                Err(_) if answer.is_empty() => Ok(0),
                Err(_) => Err(ProviderFault::Nonsense("no balance")),
            },
        }
    }

    /// Bytes of code at an address, as of the newest block.
    pub async fn code_len(&self, contract: &Address) -> Result<usize, ProviderFault> {
        let asked = [const_hex::encode_prefixed(contract), "latest".to_owned()];
        let answer = self.ask("eth_getCode", &asked).await?;
        answer.as_str().and_then(bytes_of).map(|code| code.len()).ok_or(ProviderFault::Nonsense("no code"))
    }

    /// Calls a view of a contract on the newest block; the bytes it returns.
    pub async fn call(&self, contract: &Address, data: &[u8]) -> Result<Vec<u8>, ProviderFault> {
        self.call_at(contract, data, "latest").await
    }

    async fn call_at(&self, contract: &Address, data: &[u8], block: &str) -> Result<Vec<u8>, ProviderFault> {
        let call = serde_json::json!([
            { "to": const_hex::encode_prefixed(contract), "data": const_hex::encode_prefixed(data) },
            block,
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

/// An event, if it is a release or a deposit of this vault in this block.
fn event(log: &Value, vault: &Address, block: &Header) -> Option<VaultEvent> {
    let is_of_block = quantity(log.get("blockNumber")?)? == block.number
        && hash(log.get("blockHash")?)? == block.hash
        && log.get("removed").and_then(Value::as_bool) != Some(true);
    let address = bytes_of(log.get("address")?.as_str()?)?;
    let topics: Option<Vec<Hash>> = log.get("topics")?.as_array()?.iter().map(hash).collect();
    if !is_of_block || address != vault {
        return None;
    }
    let data = bytes_of(log.get("data")?.as_str()?)?;
    let (value, rest) = data.split_first_chunk::<32>()?;
    let (fact, account, token) = match topics?[..] {
        [name, account, token] if name == *RELEASE_TOPIC => {
            (Fact::Release { nonce: u64::try_from_word(<&Hash>::try_from(rest).ok()?)? }, account, token)
        }
        [name, number, account, token] if name == *DEPOSIT_TOPIC && rest.is_empty() => {
            (Fact::Deposit { number: u64::try_from_word(&number)? }, account, token)
        }
        _ => return None,
    };
    Some(VaultEvent {
        fact,
        account: address_of(&account)?,
        token: address_of(&token)?,
        value: u128::try_from_word(value).unwrap_or(u128::MAX),
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
