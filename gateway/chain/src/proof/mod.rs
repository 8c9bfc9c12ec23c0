//! Proof of reserves (`spot.md` 10.1): what the ledgers owe beside what the vaults hold, with a tree in which every account finds what
//! it is owed.
//!
//! ```text
//! watch of a vault: before it tells a final block it asks enough nodes what the vault holds as of that block  -> held
//! follower: right after that very command it has the state in which everything up to the block counts, and nothing behind it
//! a thread of its own: salts, leaves, trees, sums, the verdict                                                 -> the newest proof
//! thread of the chain: owed > held pauses withdrawals; the next proof without that lets them go on (`chain/reserves.rs`)
//! ```
//! Nothing of it is on the matcher or holds the views' lock: the state is the follower's own. One is made at the start and then
//! every `proof_every`; while something is missing, so that what was mended is seen, or nothing is owed yet, at least every minute.
//! Without a vault there is nothing that could be held: a proof says what is owed, wherever the follower stands.
//!
//! Salts are drawn anew for every proof and kept in memory alone: a leaf of one proof says nothing about one of the next, and a restart
//! makes another proof.

pub mod tree;

use hmac::{Hmac, KeyInit, Mac};
use parking_lot::{Mutex, RwLock};
use ringside_auth::secret::{RandomError, fill};
use ringside_core::command::{AdvanceChain, Command, Kind};
use ringside_core::engine::{AssetLiabilities, Engine};
use ringside_core::ids::{AccountId, Address, AssetId, AssetName, Sequence, text};
use ringside_core::money::Amount;
use ringside_views::Views;
use ringside_wire::number::Amount as Shown;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tree::{Hash, Leaf, Step, Tree};
use zeroize::Zeroizing;

/// How often a proof is made while something is missing or no token is in it, at least.
const EVERY_SHORT: Duration = Duration::from_secs(60);

/// A vault of a proof.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProvenVault {
    /// The contract.
    pub address: Address,
    /// The final block as of which it was asked.
    pub block: u64,
    /// Its hash.
    pub hash: Hash,
}

/// One token of a proof. Amounts in steps of 10^-18.
#[derive(Debug)]
pub struct ProvenToken {
    /// Its name.
    pub name: AssetName,
    /// Spot balances of accounts, open orders included.
    pub spot: Amount,
    /// Margin equity of accounts that have any.
    pub perpetual: Amount,
    /// In withdrawals that were neither paid nor given back.
    pub in_flight: Amount,
    /// Margin equity of accounts that are below zero; not above 0, and in no leaf.
    pub negative_equity: Amount,
    /// The insurance fund.
    pub funds: Amount,
    /// Fees of both ledgers, and what affiliates are to be paid.
    pub fees: Amount,
    /// Deposits that wait for their credit.
    pub held_deposits: Amount,
    /// What the vaults hold; `None` where there is none.
    pub held: Option<Amount>,
    /// Credited out of nothing.
    pub unbacked: Amount,
    /// What accounts are owed.
    tree: Tree,
}

impl ProvenToken {
    /// Everything that is owed.
    pub fn owed(&self) -> Amount {
        self.spot
            + self.perpetual
            + self.in_flight
            + self.negative_equity
            + self.funds
            + self.fees
            + self.held_deposits
    }

    /// How much less is held than is owed and was not credited out of nothing; 0 where nothing is missing or nothing is known.
    pub fn missing(&self) -> Amount {
        self.held.map_or(0, |held| (self.owed() - self.unbacked - held).max(0))
    }

    /// Hash of its tree, and what accounts are owed.
    pub fn root(&self) -> tree::Node {
        self.tree.root()
    }
}

/// See the module.
#[derive(Debug)]
pub struct Proof {
    /// The command after which the state is taken.
    pub sequence: Sequence,
    /// Its time, nanoseconds of the UNIX epoch.
    pub time_ns: i64,
    /// Hash of the state.
    pub state_hash: [u8; 16],
    /// Vaults, the one in use first; none where nothing is held.
    pub vaults: Vec<ProvenVault>,
    /// Tokens, by number.
    pub tokens: Vec<ProvenToken>,
    /// See [`tree`].
    pub root: Hash,
    key: Zeroizing<Hash>,
    made: Instant,
}

/// What an account is shown of one token.
pub struct Own<'p> {
    /// The token.
    pub token: &'p ProvenToken,
    /// Its leaf.
    pub leaf: Leaf,
    /// From there to the root.
    pub path: Vec<Step>,
}

impl Proof {
    fn make(books: Books) -> Result<Option<Proof>, RandomError> {
        let mut key = Zeroizing::new([0; 32]);
        fill(&mut *key)?;
        Ok(Proof::with(books, key))
    }

    /// `None` where a sum leaves its range.
    fn with(books: Books, key: Zeroizing<Hash>) -> Option<Proof> {
        let mut tokens = Vec::new();
        for asset in &books.assets {
            let AssetLiabilities { asset: number, name, .. } = *asset;
            let sum = |of: fn(&ringside_core::engine::Liability) -> Amount| -> Option<Amount> {
                asset.accounts.iter().map(of).try_fold(0, Amount::checked_add)
            };
            let leaves = asset.accounts.iter().filter(|row| row.owed() > 0).filter_map(|row| {
                let account = *books.addresses.get(row.account as usize)?;
                let salt = salt(&key, &account, &name);
                let amount = row.owed().unsigned_abs();
                Some((row.account, Leaf { salt, account, token: name, amount }))
            });
            let token = ProvenToken {
                name,
                spot: sum(|row| row.spot)?,
                perpetual: sum(|row| row.perpetual.max(0))?,
                in_flight: sum(|row| row.in_flight)?,
                negative_equity: sum(|row| row.perpetual.min(0))?,
                funds: asset.funds,
                fees: asset.fees,
                held_deposits: asset.held_deposits,
                held: books.held.as_ref().map(|held| held.get(&number).copied().unwrap_or(0)),
                unbacked: books.unbacked.get(&number).copied().unwrap_or(0),
                tree: Tree::new(leaves)?,
            };
            if token.owed() != 0 || token.unbacked != 0 || token.held.is_some_and(|held| held != 0) {
                tokens.push(token);
            }
        }
        let Books { sequence, time_ns, state_hash, vaults, .. } = books;
        let block = vaults.first().map_or(0, |vault| vault.block);
        let mut root = Sha256::new();
        root.update([2]);
        root.update(sequence.to_be_bytes());
        root.update(block.to_be_bytes());
        root.update(state_hash);
        for token in &tokens {
            root.update(token.name);
            root.update(token.root().sum.to_be_bytes());
            root.update(token.root().hash);
            for amount in [token.owed(), token.unbacked, token.held.unwrap_or(-1)] {
                root.update(amount.to_be_bytes());
            }
        }
        let root = root.finalize().into();
        Some(Proof { sequence, time_ns, state_hash, vaults, tokens, root, key, made: Instant::now() })
    }

    /// How long ago it was made.
    pub fn age(&self) -> Duration {
        self.made.elapsed()
    }

    /// What an account is owed, token by token.
    pub fn own(&self, account: AccountId, address: Address) -> Vec<Own<'_>> {
        let mut all = Vec::new();
        for token in &self.tokens {
            if let Some((amount, path)) = token.tree.path(account) {
                let salt = salt(&self.key, &address, &token.name);
                all.push(Own {
                    token,
                    leaf: Leaf { salt, account: address, token: token.name, amount },
                    path,
                });
            }
        }
        all
    }

    fn is_short(&self) -> bool {
        self.tokens.iter().any(|token| token.missing() > 0)
    }

    /// How long it is good for.
    fn lasts(&self, every: Duration) -> Duration {
        if self.is_short() || self.tokens.is_empty() { every.min(EVERY_SHORT) } else { every }
    }
}

fn salt(key: &Hash, account: &Address, token: &AssetName) -> Hash {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("a key of any length");
    mac.update(account);
    mac.update(token);
    mac.finalize().into_bytes().into()
}

/// A state as far as a proof is made of it.
struct Books {
    sequence: Sequence,
    time_ns: i64,
    state_hash: [u8; 16],
    vaults: Vec<ProvenVault>,
    assets: Vec<AssetLiabilities>,
    held: Option<BTreeMap<AssetId, Amount>>,
    unbacked: BTreeMap<AssetId, Amount>,
    /// Of all accounts.
    addresses: Vec<Address>,
}

/// What a vault holds as of a block that is about to be told.
#[derive(Clone, Debug)]
struct Held {
    block: u64,
    hash: Hash,
    /// By contract, in base units.
    tokens: Vec<(Address, u128)>,
    /// It did not come to a proof: another block may be asked about.
    is_missed: bool,
}

#[derive(Debug)]
struct Schedule {
    due: Instant,
    is_building: bool,
    /// Whether what is held has to be known.
    has_vault: bool,
    /// By vault.
    held: BTreeMap<Address, Held>,
}

/// What was last heard of reserves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet, or there is no vault.
    Unknown,
    /// Nothing is missing, or no more than operators have accepted.
    Covered,
    /// More is missing; of what and how much.
    Short(String),
}

/// Makes proofs and keeps the newest. See the module.
#[derive(Debug)]
pub struct Proofs {
    chain_id: u64,
    vault: Address,
    every: Duration,
    schedule: Mutex<Schedule>,
    newest: RwLock<Option<Arc<Proof>>>,
    /// What two operators have said may be missing, by token.
    accepted: Mutex<BTreeMap<AssetName, Amount>>,
    changed: Notify,
}

impl Proofs {
    /// Nothing is made yet, and one is due.
    pub fn new(chain_id: u64, vault: Option<Address>, every: Duration) -> Proofs {
        Proofs {
            chain_id,
            vault: vault.unwrap_or([0; 20]),
            every,
            schedule: Mutex::new(Schedule {
                due: Instant::now(),
                is_building: false,
                has_vault: vault.is_some(),
                held: BTreeMap::new(),
            }),
            newest: RwLock::default(),
            accepted: Mutex::default(),
            changed: Notify::new(),
        }
    }

    /// The newest.
    pub fn newest(&self) -> Option<Arc<Proof>> {
        self.newest.read().clone()
    }

    /// How often one is made.
    pub fn every(&self) -> Duration {
        self.every
    }

    /// One is due now.
    pub fn want(&self) {
        self.schedule.lock().due = Instant::now();
    }

    /// Nobody watches the vault: what it holds is never known.
    pub fn unwatched(&self) {
        self.schedule.lock().has_vault = false;
    }

    /// Whether it is wanted what a vault holds.
    pub fn wants(&self, vault: &Address) -> bool {
        let schedule = self.schedule.lock();
        schedule.has_vault
            && !schedule.is_building
            && schedule.due <= Instant::now()
            && schedule.held.get(vault).is_none_or(|held| held.is_missed)
    }

    /// A vault holds so much as of a final block, which is told next.
    pub fn hold(&self, vault: Address, block: u64, hash: Hash, tokens: Vec<(Address, u128)>) {
        self.schedule.lock().held.insert(vault, Held { block, hash, tokens, is_missed: false });
    }

    /// That block was not taken.
    pub fn miss(&self, vault: &Address) {
        if let Some(held) = self.schedule.lock().held.get_mut(vault) {
            held.is_missed = true;
        }
    }

    /// Whether the state right after this command is to be looked at.
    pub fn stops_at(&self, command: &Command) -> bool {
        if command.kind != Kind::AdvanceChain as u16 {
            return false;
        }
        let told: &AdvanceChain = command.body();
        let schedule = self.schedule.lock();
        let is_it = |held: &Held| (held.block, held.hash) == (told.block, told.hash);
        !schedule.is_building
            && schedule.due <= Instant::now()
            && told.chain_id == self.chain_id
            && schedule.held.get(&told.vault).is_some_and(is_it)
    }

    /// Whether any state is as good as another, and one is to be looked at.
    pub fn is_due(&self) -> bool {
        let schedule = self.schedule.lock();
        !schedule.has_vault && !schedule.is_building && schedule.due <= Instant::now()
    }

    /// Takes what a proof is made of from a state, and has it made.
    pub fn look(self: &Arc<Proofs>, engine: &Engine, views: &Views) {
        let Some(books) = self.books(engine, views) else { return };
        self.schedule.lock().is_building = true;
        let proofs = self.clone();
        let thread = std::thread::Builder::new().name("proof".to_owned()).spawn(move || proofs.build(books));
        if let Err(error) = thread {
            tracing::error!(%error, "no thread for a proof of reserves");
            self.again(self.every);
        }
    }

    fn books(&self, engine: &Engine, views: &Views) -> Option<Books> {
        let (mut vaults, mut held) = (Vec::new(), None);
        if self.schedule.lock().has_vault {
            let Some((all, sums)) = self.aligned(views) else {
                self.schedule.lock().held.values_mut().for_each(|held| held.is_missed = true);
                return None;
            };
            (vaults, held) = (all, Some(sums));
        }
        let Some(assets) = engine.liabilities() else {
            tracing::error!("what is owed leaves the range of amounts: there is no proof of reserves");
            self.again(self.every);
            return None;
        };
        let unbacked = assets.iter().map(|of| (of.asset, views.unbacked().of(of.asset, of.is_margin)));
        Some(Books {
            sequence: engine.sequence(),
            time_ns: engine.time_ns(),
            state_hash: engine.state_hash(),
            vaults,
            held,
            unbacked: unbacked.collect(),
            assets,
            addresses: (0..engine.accounts()).filter_map(|account| engine.address(account)).collect(),
        })
    }

    /// The vaults and what they hold together, where of each everything up to the block that was asked about counts, and nothing
    /// behind it.
    fn aligned(&self, views: &Views) -> Option<(Vec<ProvenVault>, BTreeMap<AssetId, Amount>)> {
        let schedule = self.schedule.lock();
        let (mut vaults, mut sums) = (Vec::new(), BTreeMap::<AssetId, Amount>::new());
        for (number, vault) in (0..).zip(views.withdrawals().vaults()) {
            let book = views.deposits().vault(number);
            let is_new = vault.block == 0 && book.is_none_or(|book| book.deposits() + book.releases == 0);
            if vault.chain_id != self.chain_id || (is_new && vault.address != self.vault) {
                continue;
            }
            let held = schedule.held.get(&vault.address)?;
            let last = book.map_or(0, |book| book.last_block);
            if (held.block, held.hash) != (vault.block, vault.hash) || last > held.block {
                return None;
            }
            vaults.push(ProvenVault { address: vault.address, block: vault.block, hash: vault.hash });
            for (token, value) in &held.tokens {
                let Some(token) = views.deposits().token(self.chain_id, token) else { continue };
                let amount = Amount::try_from(*value).ok().and_then(|value| value.checked_mul(token.steps()));
                let sum = sums.entry(token.asset).or_default();
                *sum = sum.saturating_add(amount.unwrap_or(Amount::MAX >> 1)).min(Amount::MAX >> 1);
            }
        }
        vaults.sort_by_key(|vault| vault.address != self.vault);
        Some((vaults, sums))
    }

    fn build(&self, books: Books) {
        let made = Proof::make(books);
        let every = match made {
            Ok(Some(proof)) => {
                let every = proof.lasts(self.every);
                for token in proof.tokens.iter().filter(|token| token.missing() > 0) {
                    let (token, missing) = (text(&token.name), Shown(token.missing()));
                    tracing::error!(token, %missing, "ALARM: the ledgers owe more than the vault holds");
                }
                tracing::debug!(sequence = proof.sequence, "a proof of reserves was made");
                *self.newest.write() = Some(Arc::new(proof));
                every
            }
            Ok(None) => {
                tracing::error!("sums leave the range of amounts: there is no proof of reserves");
                self.every
            }
            Err(error) => {
                tracing::error!(%error, "no salts: there is no proof of reserves");
                self.every
            }
        };
        self.again(every);
        self.changed.notify_one();
    }

    fn again(&self, every: Duration) {
        let mut schedule = self.schedule.lock();
        (schedule.is_building, schedule.due) = (false, Instant::now() + every);
        schedule.held.values_mut().for_each(|held| held.is_missed = true);
    }

    /// Waits until something may have changed.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// What the newest proof means. Where nothing is missing any more, nothing is accepted any more either.
    pub fn verdict(&self) -> Verdict {
        let Some(proof) = self.newest().filter(|proof| !proof.vaults.is_empty()) else {
            return Verdict::Unknown;
        };
        let mut accepted = self.accepted.lock();
        if !proof.is_short() {
            accepted.clear();
        }
        let beyond = |token: &&ProvenToken| token.missing() > accepted.get(&token.name).copied().unwrap_or(0);
        let words = |token: &ProvenToken| format!("{} {}", Shown(token.missing()), text(&token.name));
        let short: Vec<String> = proof.tokens.iter().filter(beyond).map(words).collect();
        if short.is_empty() { Verdict::Covered } else { Verdict::Short(short.join(", ")) }
    }

    /// Operators accept that so much of a token is missing, until nothing is.
    pub fn accept(&self, token: AssetName, amount: Amount) {
        self.accepted.lock().insert(token, amount);
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringside_core::engine::Liability;
    use ringside_core::ids::padded;

    fn books(held: Option<Amount>, unbacked: Amount) -> Books {
        let row = |account, spot, in_flight, perpetual| Liability { account, spot, in_flight, perpetual };
        let usdt = AssetLiabilities {
            name: padded("USDT").unwrap(),
            is_margin: true,
            accounts: vec![row(1, 100, 0, 50), row(2, 10, 5, -30), row(3, 0, 0, -7)],
            funds: -3,
            fees: 2,
            held_deposits: 4,
            ..AssetLiabilities::default()
        };
        let vault = ProvenVault { address: [0x11; 20], block: 7, hash: [7; 32] };
        Books {
            sequence: 9,
            time_ns: 0,
            state_hash: [1; 16],
            vaults: held.iter().map(|_| vault).collect(),
            assets: vec![usdt],
            held: held.map(|held| BTreeMap::from([(0, held)])),
            unbacked: BTreeMap::from([(0, unbacked)]),
            addresses: (0..4).map(|account| [account; 20]).collect(),
        }
    }

    fn proof(held: Option<Amount>, unbacked: Amount) -> Proof {
        Proof::with(books(held, unbacked), Zeroizing::new([5; 32])).unwrap()
    }

    /// Equity below zero is in a total and takes nothing from anybody's leaf.
    #[test]
    fn what_is_below_zero_is_in_a_total_alone() {
        let proof = proof(None, 0);
        let token = &proof.tokens[0];
        assert_eq!((token.spot, token.perpetual, token.in_flight, token.negative_equity), (110, 50, 5, -37));
        assert_eq!((token.root().sum, token.owed(), token.missing()), (165, 131, 0));
        let own = |account: u8| {
            let own = proof.own(account.into(), [account; 20]);
            own.iter().for_each(|own| {
                assert_eq!(tree::climb(&own.leaf, &own.path), Some(own.token.root()));
            });
            own.first().map(|own| own.leaf.amount)
        };
        assert_eq!([1, 2, 3, 0].map(own), [Some(150), Some(15), None, None]);
    }

    /// The salt is secret and another in every proof, so that nobody finds an account by trying.
    #[test]
    fn salts_are_of_one_account_token_and_proof() {
        let salt_of = |key, account, name: &str| salt(&[key; 32], &[account; 20], &padded(name).unwrap());
        let all = [(5, 1, "USDT"), (5, 2, "USDT"), (5, 1, "DF"), (6, 1, "USDT")];
        let salts: std::collections::BTreeSet<Hash> =
            all.iter().map(|&(key, account, name)| salt_of(key, account, name)).collect();
        assert_eq!(salts.len(), all.len());
        let made = || Proof::make(books(None, 0)).unwrap().unwrap();
        assert_ne!(made().root, made().root);
    }

    /// The first proof of a new venue is of nothing: what comes in next is not an hour without one.
    #[test]
    fn what_is_empty_or_short_is_made_again_within_a_minute() {
        let hour = Duration::from_secs(3_600);
        let empty =
            Proof::with(Books { assets: Vec::new(), ..books(Some(0), 0) }, Zeroizing::new([5; 32])).unwrap();
        assert_eq!(empty.lasts(hour), EVERY_SHORT);
        assert_eq!(proof(Some(130), 0).lasts(hour), EVERY_SHORT);
        assert_eq!(proof(Some(131), 0).lasts(hour), hour);
        assert_eq!(empty.lasts(Duration::from_secs(1)), Duration::from_secs(1));
    }

    /// What is missing pauses, what was credited out of nothing does not count, and what operators accept lasts until nothing is missing.
    #[test]
    fn a_verdict_is_about_what_is_missing() {
        let proofs = Proofs::new(1, None, Duration::from_secs(3_600));
        let verdict = |held: Option<Amount>, unbacked| {
            *proofs.newest.write() = Some(Arc::new(proof(held, unbacked)));
            proofs.verdict()
        };
        let short = |text: &str| Verdict::Short(format!("{text} USDT"));
        assert_eq!(proofs.verdict(), Verdict::Unknown);
        assert_eq!(verdict(None, 0), Verdict::Unknown);
        assert_eq!(verdict(Some(131), 0), Verdict::Covered);
        assert_eq!(verdict(Some(130), 0), short("0.000000000000000001"));
        assert_eq!(verdict(Some(30), 101), Verdict::Covered);
        assert_eq!(verdict(Some(30), 100), short("0.000000000000000001"));
        proofs.accept(padded("USDT").unwrap(), 2);
        assert_eq!(verdict(Some(129), 0), Verdict::Covered);
        assert_eq!(verdict(Some(128), 0), short("0.000000000000000003"));
        assert_eq!(verdict(Some(131), 0), Verdict::Covered);
        assert_eq!(verdict(Some(130), 0), short("0.000000000000000001"), "it was for that time");
    }
}
