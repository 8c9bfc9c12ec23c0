//! A model of a chain with a vault in it, and nodes that answer for it in JSON-RPC. Written from the specification, and
//! sharing nothing with the watcher but the questions.

use crate::random::Random;
use bytes::Bytes;
use ringside_core::ids::Address;
use ringside_gateway::chain::Local;
use ringside_gateway::chain::http::{Transport, TransportFault};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

pub(crate) const CHAIN_ID: u64 = 31_337;
pub(crate) const VAULT: Address = [0x11; 20];
pub(crate) const TOKEN: Address = [0x22; 20];
pub(crate) type Hash = [u8; 32];

/// A transaction that a user has: the release that was signed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Submission {
    pub(crate) account: Address,
    pub(crate) value: u128,
    pub(crate) nonce: u64,
    pub(crate) deadline_s: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) number: u64,
    pub(crate) hash: Hash,
    pub(crate) parent: Hash,
    pub(crate) time_s: u64,
    pub(crate) paid: Vec<Submission>,
    /// The vault's counters after the block.
    counters: BTreeMap<Address, u64>,
}

/// The chain as it really is.
pub(crate) struct World {
    pub(crate) canonical: Vec<Block>,
    /// Blocks that were replaced; nodes may still know them.
    pub(crate) replaced: HashMap<Hash, Block>,
    /// Submitted and not in a block.
    pub(crate) pool: Vec<Submission>,
    made: u64,
    /// Highest block that the chain calls final; what is below it is never replaced.
    pub(crate) finality: u64,
}

impl World {
    pub(crate) fn new(time_s: u64, finality: u64) -> World {
        let genesis = Block {
            number: 0,
            hash: [9; 32],
            parent: [0; 32],
            time_s,
            paid: Vec::new(),
            counters: BTreeMap::new(),
        };
        World { canonical: vec![genesis], replaced: HashMap::new(), pool: Vec::new(), made: 0, finality }
    }

    pub(crate) fn head(&self) -> &Block {
        self.canonical.last().unwrap()
    }

    pub(crate) fn finalized(&self) -> u64 {
        self.head().number.saturating_sub(self.finality)
    }

    /// Mines a block after `seconds` of what the pool has that the vault takes, unless it is to be empty.
    pub(crate) fn mine(&mut self, seconds: u64, is_empty: bool) {
        let head = self.head();
        let (number, parent, time_s) = (head.number + 1, head.hash, head.time_s + seconds);
        let mut counters = head.counters.clone();
        let mut paid = Vec::new();
        if !is_empty {
            // The vault's rule: the account's next nonce, strictly before the deadline.
            self.pool.sort_by_key(|submission| submission.nonce);
            self.pool.retain(|submission| {
                let counter = counters.entry(submission.account).or_default();
                let is_taken = *counter == submission.nonce && time_s < submission.deadline_s;
                if is_taken {
                    *counter += 1;
                    paid.push(*submission);
                }
                !is_taken
            });
        }
        self.made += 1;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&self.made.to_be_bytes());
        hash[31] = 1;
        self.canonical.push(Block { number, hash, parent, time_s, paid, counters });
    }

    /// Replaces the last `depth` blocks by as many and one; what they paid is dropped, waits again, or moves to another block.
    pub(crate) fn reorganize(&mut self, depth: u64, random: &mut Random) {
        let depth = depth.min(self.head().number);
        let times: Vec<u64> = (0..depth).map(|_| 1 + random.below(20)).collect();
        for _ in 0..depth {
            let block = self.canonical.pop().unwrap();
            for submission in &block.paid {
                if random.below(4) > 0 {
                    self.pool.push(*submission);
                }
            }
            self.replaced.insert(block.hash, block);
        }
        for seconds in times {
            self.mine(seconds, random.below(2) == 0);
        }
        self.mine(1, random.below(2) == 0);
    }

    /// What the chain as it is has paid an account.
    pub(crate) fn paid(&self, account: &Address) -> u128 {
        let of_account = |submission: &&Submission| submission.account == *account;
        self.canonical
            .iter()
            .flat_map(|block| &block.paid)
            .filter(of_account)
            .map(|submission| submission.value)
            .sum()
    }
}

/// How a node answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mood {
    Honest,
    /// It is so many blocks behind.
    Lags(u64),
    /// It does not say which block is final.
    SaysNothingFinal,
    /// One of [`crate::faults::FAULTS`].
    Faulty(usize),
}

/// A node of the world.
pub(crate) struct Node {
    name: &'static str,
    world: Rc<RefCell<World>>,
    mood: Rc<Cell<Mood>>,
    /// Called at each question: the world moves while it is looked at.
    disturb: Option<Box<dyn Fn()>>,
}

impl Node {
    pub(crate) fn new(name: &'static str, world: &Rc<RefCell<World>>) -> (Node, Rc<Cell<Mood>>) {
        let mood = Rc::new(Cell::new(Mood::Honest));
        (Node { name, world: world.clone(), mood: mood.clone(), disturb: None }, mood)
    }

    pub(crate) fn disturbed_by(self, disturb: impl Fn() + 'static) -> Node {
        Node { disturb: Some(Box::new(disturb)), ..self }
    }

    fn answer(&self, question: &Bytes) -> Result<Bytes, TransportFault> {
        if let Some(disturb) = &self.disturb {
            disturb();
        }
        let question: Question<'_> = serde_json::from_slice(question).unwrap();
        let params = question.params.get();
        let world = self.world.borrow();
        let lag = if let Mood::Lags(lag) = self.mood.get() { lag } else { 0 };
        let head = world.head().number.saturating_sub(lag);
        let result = match question.method {
            "eth_chainId" => format!("\"{CHAIN_ID:#x}\""),
            "eth_getBlockByNumber" => {
                let (tag, _): (&str, bool) = serde_json::from_str(params).unwrap();
                let number = match tag {
                    "latest" => head,
                    "finalized" if self.mood.get() == Mood::SaysNothingFinal => u64::MAX,
                    "finalized" => world.finalized().min(head),
                    number => u64::from_str_radix(number.strip_prefix("0x").unwrap(), 16).unwrap(),
                };
                if number > head { "null".to_owned() } else { block_json(&world.canonical[number as usize]) }
            }
            "eth_getLogs" => {
                let [filter]: [Filter<'_>; 1] = serde_json::from_str(params).unwrap();
                assert_eq!(filter.address, hex(&VAULT));
                let mut asked = Hash::default();
                const_hex::decode_to_slice(filter.block_hash, &mut asked).unwrap();
                let canonical = world.canonical[..=head as usize].iter().rfind(|block| block.hash == asked);
                match canonical.or_else(|| world.replaced.get(&asked)) {
                    Some(block) => logs_json(block, filter.topics[0]),
                    None => return Ok(error_json(question.id, -32_000)),
                }
            }
            _ => return Ok(error_json(question.id, -32_601)),
        };
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{result}}}"#, question.id);
        match self.mood.get() {
            Mood::Faulty(fault) => crate::faults::distort(
                fault,
                question.method,
                serde_json::from_str(&answer).expect("what a node says is JSON"),
            ),
            _ => Ok(Bytes::from(answer)),
        }
    }
}

/// What a node is asked. Borrowed, and answers are written by hand: histories ask millions of times.
#[derive(Deserialize)]
struct Question<'a> {
    id: u64,
    method: &'a str,
    #[serde(borrow)]
    params: &'a RawValue,
}

/// Of `eth_getLogs`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filter<'a> {
    address: &'a str,
    block_hash: &'a str,
    #[serde(borrow)]
    topics: [&'a str; 1],
}

impl Transport for Node {
    fn ask(&self, question: Bytes) -> Local<'_, Result<Bytes, TransportFault>> {
        let answer = self.answer(&question);
        Box::pin(std::future::ready(answer))
    }

    fn name(&self) -> &str {
        self.name
    }
}

fn error_json(id: u64, code: i64) -> Bytes {
    let error = json!({ "code": code, "message": "no" });
    Bytes::from(json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string())
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    const_hex::encode_prefixed(bytes)
}

fn word(number: u128) -> String {
    format!("{number:064x}")
}

fn block_json(block: &Block) -> String {
    let Block { number, time_s, .. } = block;
    let (hash, parent) = (hex(&block.hash), hex(&block.parent));
    let miner = hex(&[0; 20]);
    format!(
        r#"{{"number":"{number:#x}","hash":"{hash}","parentHash":"{parent}","timestamp":"{time_s:#x}","miner":"{miner}","transactions":[]}}"#
    )
}

/// Hash of the transaction that carries a submission.
pub(crate) fn tx_hash(submission: &Submission) -> Hash {
    let mut hash = [0; 32];
    hash[..20].copy_from_slice(&submission.account);
    hash[20..28].copy_from_slice(&submission.nonce.to_be_bytes());
    hash[28..].copy_from_slice(&(submission.deadline_s as u32).to_be_bytes());
    hash
}

fn logs_json(block: &Block, topic: &str) -> String {
    let log = |(index, submission): (usize, &Submission)| {
        json!({
            "address": hex(&VAULT),
            "topics": [
                topic,
                format!("0x{:0>64}", &hex(&submission.account)[2..]),
                format!("0x{:0>64}", &hex(&TOKEN)[2..]),
            ],
            "data": format!("0x{}{}", word(submission.value), word(u128::from(submission.nonce))),
            "blockNumber": format!("{:#x}", block.number),
            "blockHash": hex(&block.hash),
            "transactionHash": hex(&tx_hash(submission)),
            "transactionIndex": format!("{index:#x}"),
            "logIndex": format!("{index:#x}"),
            "removed": false,
        })
    };
    block.paid.iter().enumerate().map(log).collect::<serde_json::Value>().to_string()
}
