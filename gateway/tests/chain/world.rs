//! A model of a chain with a vault in it, and nodes that answer for it in JSON-RPC. Written from the specification, and
//! sharing nothing with the watcher but the questions.

use crate::random::Random;
use bytes::Bytes;
use ringside_chain::Local;
use ringside_chain::http::Transport;
use ringside_chain::release::domain_separator;
use ringside_core::ids::Address;
use ringside_outbound::OutboundFault;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;
use std::sync::LazyLock;

pub(crate) const CHAIN_ID: u64 = 31_337;
pub(crate) const VAULT: Address = [0x11; 20];
pub(crate) const TOKEN: Address = [0x22; 20];
/// Whose signatures the vault pays for.
pub(crate) const SIGNER: Address = [0x51; 20];
/// Name of the vault in the domain of what is signed.
pub(crate) const VAULT_NAME: &str = "SpotVault";
pub(crate) type Hash = [u8; 32];

/// A transaction that a user has: the release that was signed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Submission {
    pub(crate) account: Address,
    pub(crate) value: u128,
    pub(crate) nonce: u64,
    pub(crate) deadline_s: u64,
}

/// A deposit that somebody sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Brought {
    /// Tells its transaction from all others.
    pub(crate) id: u64,
    pub(crate) account: Address,
    pub(crate) token: Address,
    pub(crate) value: u128,
}

/// What the vault says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) is_there: bool,
    pub(crate) signer: Address,
    pub(crate) is_paused: bool,
    pub(crate) name: &'static str,
}

#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) number: u64,
    pub(crate) hash: Hash,
    pub(crate) parent: Hash,
    pub(crate) time_s: u64,
    pub(crate) paid: Vec<Submission>,
    /// With the numbers that the vault gave them.
    pub(crate) brought: Vec<(u64, Brought)>,
    /// The vault's counters after the block.
    counters: BTreeMap<Address, u64>,
    /// Deposits and releases after the block.
    counts: (u64, u64),
    standing: Standing,
}

/// The chain as it really is.
pub(crate) struct World {
    pub(crate) canonical: Vec<Block>,
    /// Blocks that were replaced; nodes may still know them.
    pub(crate) replaced: HashMap<Hash, Block>,
    /// Submitted and not in a block.
    pub(crate) pool: Vec<Submission>,
    /// Sent deposits that are in no block.
    pub(crate) waiting: Vec<Brought>,
    /// What the vault's owner has made of it; holds from the next block on.
    pub(crate) standing: Standing,
    made: u64,
    /// Highest block that the chain calls final; what is below it is never replaced.
    pub(crate) finality: u64,
}

impl World {
    pub(crate) fn new(time_s: u64, finality: u64) -> World {
        let standing = Standing { is_there: true, signer: SIGNER, is_paused: false, name: VAULT_NAME };
        let genesis = Block {
            number: 0,
            hash: [9; 32],
            parent: [0; 32],
            time_s,
            paid: Vec::new(),
            brought: Vec::new(),
            counters: BTreeMap::new(),
            counts: (0, 0),
            standing,
        };
        World {
            canonical: vec![genesis],
            replaced: HashMap::new(),
            pool: Vec::new(),
            waiting: Vec::new(),
            standing,
            made: 0,
            finality,
        }
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
        let mut counts = head.counts;
        let (mut paid, mut brought) = (Vec::new(), Vec::new());
        if !is_empty {
            for deposit in self.waiting.drain(..) {
                counts.0 += 1;
                brought.push((counts.0, deposit));
            }
            // The vault's rule: the account's next nonce, strictly before the deadline.
            self.pool.sort_by_key(|submission| submission.nonce);
            self.pool.retain(|submission| {
                let counter = counters.entry(submission.account).or_default();
                let is_taken = *counter == submission.nonce && time_s < submission.deadline_s;
                if is_taken {
                    *counter += 1;
                    counts.1 += 1;
                    paid.push(*submission);
                }
                !is_taken
            });
        }
        self.made += 1;
        let mut hash = [0; 32];
        hash[..8].copy_from_slice(&self.made.to_be_bytes());
        hash[31] = 1;
        let standing = self.standing;
        self.canonical.push(Block {
            number,
            hash,
            parent,
            time_s,
            paid,
            brought,
            counters,
            counts,
            standing,
        });
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
            for (_, deposit) in &block.brought {
                if random.below(4) > 0 {
                    self.waiting.push(*deposit);
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

/// What the vault has of [`TOKEN`] from the start: what pays for credits out of nothing.
pub(crate) const STOCK: u128 = 1 << 100;

impl World {
    /// What the chain as it is has taken in of an account.
    pub(crate) fn brought(&self, account: &Address, token: &Address) -> u128 {
        let all = self.canonical.iter().flat_map(|block| &block.brought);
        let own = all.filter(|(_, deposit)| (deposit.account, deposit.token) == (*account, *token));
        own.map(|(_, deposit)| deposit.value).sum()
    }

    /// What the vault holds of a token as of a block.
    pub(crate) fn held(&self, token: &str, at: u64) -> u128 {
        let blocks = &self.canonical[..=at as usize];
        let brought = blocks.iter().flat_map(|block| &block.brought);
        let brought = brought.filter(|(_, deposit)| hex(&deposit.token) == token);
        let paid = blocks.iter().flat_map(|block| &block.paid).filter(|_| hex(&TOKEN) == token);
        let stock = if hex(&TOKEN) == token { STOCK } else { 0 };
        let brought = brought.map(|(_, deposit)| deposit.value).sum::<u128>();
        stock + brought - paid.map(|paid| paid.value).sum::<u128>()
    }

    /// Deposits of the chain as it is.
    pub(crate) fn deposits(&self) -> u64 {
        self.head().counts.0
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
    /// It has no events of a block when it is asked for the first time, and the truth afterwards.
    ForgetsAtFirst,
    /// It leaves out every event of the vault.
    LeavesOut,
    /// It knows nothing now and then: so often of 100 questions.
    Stutters(u64),
    /// It answers so many questions of a turn, and none beyond.
    Throttles(u64),
    /// It says that the vault holds so much less than it does.
    HoldsLess(u128),
    /// It knows what contracts held in its newest blocks alone, so many of them.
    Prunes(u64),
    /// One of [`crate::faults::FAULTS`].
    Faulty(usize),
}

/// A node of the world.
pub(crate) struct Node {
    name: &'static str,
    world: Rc<RefCell<World>>,
    mood: Rc<Cell<Mood>>,
    /// Blocks whose events it was asked for.
    asked: RefCell<HashSet<Hash>>,
    /// Questions of this turn.
    pub(crate) questions: Rc<Cell<u64>>,
    chance: Cell<u64>,
    /// Called at each question: the world moves while it is looked at.
    disturb: Option<Box<dyn Fn()>>,
}

impl Node {
    pub(crate) fn new(name: &'static str, world: &Rc<RefCell<World>>) -> (Node, Rc<Cell<Mood>>) {
        let mood = Rc::new(Cell::new(Mood::Honest));
        let node = Node {
            name,
            world: world.clone(),
            mood: mood.clone(),
            asked: RefCell::default(),
            questions: Rc::default(),
            chance: Cell::new(name.len() as u64),
            disturb: None,
        };
        (node, mood)
    }

    pub(crate) fn disturbed_by(self, disturb: impl Fn() + 'static) -> Node {
        Node { disturb: Some(Box::new(disturb)), ..self }
    }

    fn answer(&self, question: &Bytes) -> Result<Bytes, OutboundFault> {
        if let Some(disturb) = &self.disturb {
            disturb();
        }
        let question: Question<'_> = serde_json::from_slice(question).unwrap();
        self.questions.set(self.questions.get() + 1);
        match self.mood.get() {
            Mood::Throttles(bound) if self.questions.get() > bound => {
                return Err(OutboundFault::Status(429));
            }
            Mood::Stutters(share) => {
                let chance = self.chance.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                self.chance.set(chance);
                if (chance >> 33) % 100 < share {
                    let answer = format!(r#"{{"jsonrpc":"2.0","id":{},"result":null}}"#, question.id);
                    return Ok(Bytes::from(answer));
                }
            }
            _ => {}
        }
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
                let is_first = self.asked.borrow_mut().insert(asked);
                match canonical.or_else(|| world.replaced.get(&asked)) {
                    Some(_) if self.mood.get() == Mood::ForgetsAtFirst && is_first => "[]".to_owned(),
                    Some(_) if self.mood.get() == Mood::LeavesOut => "[]".to_owned(),
                    Some(block) => logs_json(block, filter.topics[0]),
                    None => return Ok(error_json(question.id, -32_000)),
                }
            }
            "eth_getTransactionReceipt" => {
                let [asked]: [&str; 1] = serde_json::from_str(params).unwrap();
                let of_transaction = |log: &Value| log["transactionHash"] == asked;
                let found = world.canonical[..=head as usize].iter().rev().find_map(|block| {
                    let logs: Vec<Value> =
                        serde_json::from_str(&logs_json(block, [&*TOPICS[0], &*TOPICS[1]])).unwrap();
                    let own: Vec<Value> = logs.into_iter().filter(of_transaction).collect();
                    (!own.is_empty()).then(|| {
                        json!({
                            "transactionHash": asked, "blockHash": hex(&block.hash), "status": "0x1", "logs": own,
                        })
                    })
                });
                found.map_or_else(|| "null".to_owned(), |receipt| receipt.to_string())
            }
            "eth_call" => {
                let (call, at): (Value, &str) = serde_json::from_str(params).unwrap();
                let (to, data) = (call["to"].as_str().unwrap(), call["data"].as_str().unwrap());
                let balance_of = format!("0x70a08231{:0>64}", &hex(&VAULT)[2..]);
                assert!((to, data) == (&*hex(&VAULT), "0xc19d93fb") || data == balance_of, "{to} {data}");
                let at = u64::from_str_radix(at.strip_prefix("0x").unwrap(), 16).unwrap();
                match self.mood.get() {
                    Mood::Prunes(kept) if at + kept < head => return Ok(error_json(question.id, -32_000)),
                    _ if at > head => return Ok(error_json(question.id, -32_000)),
                    mood if data == balance_of => {
                        let less = if let Mood::HoldsLess(less) = mood { less } else { 0 };
                        format!("\"0x{}\"", word(world.held(to, at) - less))
                    }
                    _ => state_json(&world.canonical[at as usize]),
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
    topics: [[&'a str; 2]; 1],
}

impl Transport for Node {
    fn ask(&self, question: Bytes) -> Local<'_, Result<Bytes, OutboundFault>> {
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

/// What the view of the vault's state answers as of a block.
fn state_json(block: &Block) -> String {
    let Standing { is_there, signer, is_paused, name } = block.standing;
    if !is_there {
        return "\"0x\"".to_owned();
    }
    let (deposits, releases) = (word(block.counts.0.into()), word(block.counts.1.into()));
    let (signer, paused) = (format!("{:0>64}", &hex(&signer)[2..]), word(is_paused.into()));
    let domain = const_hex::encode(domain_separator(CHAIN_ID, &VAULT, name));
    format!("\"0x{deposits}{releases}{signer}{paused}{domain}\"")
}

/// Names of the two events, as they are asked for.
static TOPICS: LazyLock<[String; 2]> = LazyLock::new(|| {
    let topic = |name: &str| hex(&ringside_auth::wallet::keccak256(name));
    [
        topic("FundsReleased(address,address,uint256,uint256)"),
        topic("Deposited(uint256,address,address,uint256)"),
    ]
});

/// Hash of the transaction that carries a deposit.
pub(crate) fn deposit_hash(deposit: &Brought) -> Hash {
    let mut hash = [0xdd; 32];
    hash[..20].copy_from_slice(&deposit.account);
    hash[20..28].copy_from_slice(&deposit.id.to_be_bytes());
    hash
}

/// Hash of the transaction that carries a submission.
pub(crate) fn tx_hash(submission: &Submission) -> Hash {
    let mut hash = [0; 32];
    hash[..20].copy_from_slice(&submission.account);
    hash[20..28].copy_from_slice(&submission.nonce.to_be_bytes());
    hash[28..].copy_from_slice(&(submission.deadline_s as u32).to_be_bytes());
    hash
}

fn logs_json(block: &Block, [release, deposit]: [&str; 2]) -> String {
    if block.paid.is_empty() && block.brought.is_empty() {
        return "[]".to_owned();
    }
    let address = |address: &Address| format!("0x{:0>64}", &hex(address)[2..]);
    let released = block.paid.iter().map(|paid| {
        let topics = vec![release.to_owned(), address(&paid.account), address(&TOKEN)];
        (topics, format!("0x{}{}", word(paid.value), word(u128::from(paid.nonce))), tx_hash(paid))
    });
    let brought = block.brought.iter().map(|(number, brought)| {
        let number = format!("0x{}", word(u128::from(*number)));
        let topics = vec![deposit.to_owned(), number, address(&brought.account), address(&brought.token)];
        (topics, format!("0x{}", word(brought.value)), deposit_hash(brought))
    });
    let log = |(index, (topics, data, tx_hash)): (usize, (Vec<String>, String, Hash))| {
        json!({
            "address": hex(&VAULT),
            "topics": topics,
            "data": data,
            "blockNumber": format!("{:#x}", block.number),
            "blockHash": hex(&block.hash),
            "transactionHash": hex(&tx_hash),
            "transactionIndex": format!("{index:#x}"),
            "logIndex": format!("{index:#x}"),
            "removed": false,
        })
    };
    released.chain(brought).enumerate().map(log).collect::<Value>().to_string()
}
