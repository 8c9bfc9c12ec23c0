//! Watches a vault: asks the nodes, follows the chain, tells the engine what is final. Releases and deposits go the same way.
//!
//! ```text
//!  turn: how far is the chain? -> is what we know still there? undo what was replaced -> look at the blocks after it
//!        -> what has enough confirmations on top, by blocks each the child of the one before, is told
//!        -> does the vault itself, as of that block, count as many events as were told? then the block is told, and all settled
//! ```
//! Nothing is told on one voice, and nothing of a block that may still be replaced. Nothing is concluded from an absence: before a
//! block is told, by which withdrawals may expire, the vault's own counters are compared, and where they say that something was
//! left out, the blocks are read again. Where nodes fail or disagree for some turns, withdrawals are paused and the log says why; a
//! turn that works takes the pause back. What was learnt in a turn that did not come to its end is kept, and less is asked for at
//! once. Goes on behind the last final block that the journal holds.

use super::figures::NodesFigures;
use super::provider::{Fact, Header, Standing, VaultEvent};
use super::quorum::{Doubt, Height, Quorum};
use super::release::domain_separator;
use super::tracker::{Look, Seen, Tracker};
use super::{
    Counters, FinalBlock, FinalDeposit, FinalRelease, Local, ReleaseKey, Replaced, Stop, Told, Watch,
    WatchPort,
};
use ringside_core::ids::Address;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Blocks that are asked for at once while catching up.
const WINDOW: u64 = 16;
/// Turns without a conclusion after which withdrawals are paused. A reorganization may cost a turn or two.
const DOUBTS_MAX: u32 = 3;
/// Longest pause between two turns of nodes that cannot keep up.
const PACE_MAX: Duration = Duration::from_secs(5);

/// What is watched, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatcherConfig {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The vault.
    pub vault: Address,
    /// Its name in the domain of what is signed.
    pub vault_name: String,
    /// Whose signatures it must pay for, where anything is signed.
    pub signer: Option<Address>,
    /// It was replaced by another: nothing is signed for it any more, and once it is paused and empty it is left alone.
    pub is_former: bool,
    /// First block that can hold an event: the one in which the vault was made.
    pub start: u64,
    /// Blocks on top of one that is final.
    pub confirmations: u64,
    /// Whether the chain must call it final as well.
    pub wants_finalized: bool,
    /// Pause between two turns with nothing left to look at.
    pub every: Duration,
    /// A chain that does not grow for so long counts as failing.
    pub stalled_after: Duration,
}

/// Why a turn came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// The nodes.
    #[error(transparent)]
    Doubt(#[from] Doubt),
    /// The nodes have not reached the block that was final already.
    #[error("the chain is at block {head}, before block {last}, which was final")]
    Behind {
        /// The newest block.
        head: u64,
        /// The last final one.
        last: u64,
    },
    /// A block that was final is another one now.
    #[error("block {0} was final and has been replaced: two operators have to decide")]
    FinalReplaced(u64),
    /// Nodes do not say what is final.
    #[error("too few nodes say which block is final")]
    NothingFinal,
    /// No block for too long.
    #[error("the chain has stood still at block {0}")]
    Stalled(u64),
    /// The chain changed between two questions.
    #[error("the chain changed while it was looked at")]
    Moved,
    /// An event came without those before it.
    #[error("block {0} has an event of the vault without those before it: blocks are read again")]
    Gap(u64),
    /// The vault counts more than was seen.
    #[error("as of block {block} the vault counts {says:?}, seen were {seen:?}: blocks are read again")]
    Counters {
        /// As of which block.
        block: u64,
        /// What the vault says: deposits and releases.
        says: (u64, u64),
        /// What was told of it.
        seen: (u64, u64),
    },
    /// The engine does not take what it is told.
    #[error("the engine takes nothing now")]
    NotTaken,
}

/// What a turn that worked leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Everything up to the newest block is known.
    Done,
    /// There are more blocks to look at.
    More,
}

/// What came of a look at the next blocks.
#[derive(Default)]
struct Looked {
    /// The chain moved meanwhile.
    has_moved: bool,
    /// Blocks that are known now.
    learnt: u64,
    /// What kept it from more.
    fault: Option<Doubt>,
}

/// See the module.
pub struct Watcher {
    config: WatcherConfig,
    /// Of the domain of what is signed for the vault.
    domain: [u8; 32],
    quorum: Quorum,
    tracker: Tracker,
    port: Box<dyn WatchPort>,
    /// The vault is known to the engine.
    is_open: bool,
    /// Releases are not told yet.
    holds_releases: bool,
    /// The last block whose events were told, until it is told itself.
    told: Option<Header>,
    /// Blocks that are asked for at once.
    window: u64,
    /// The last turn could not ask for all that it wanted.
    is_slow: bool,
    /// Turns in a row that came to nothing.
    doubts: u32,
    /// How often in a row the vault counted more than was seen.
    distrusts: u32,
    /// Final blocks were replaced, and operators know.
    is_replaced: bool,
    /// Nothing can happen to a former vault any more.
    is_finished: bool,
    /// Why the vault would pay for nothing, when it was last looked at.
    refusal: Option<String>,
    /// What the engine was told of pauses, once it was told anything.
    stops: Option<Vec<Stop>>,
    /// The newest block, and since when.
    head: Option<(u64, Instant)>,
}

impl Watcher {
    /// Goes on from the port's cursor.
    pub fn new(config: WatcherConfig, quorum: Quorum, port: Box<dyn WatchPort>) -> Watcher {
        let cursor = port.cursor(config.chain_id, &config.vault);
        let tracker = Tracker::new(config.start, cursor.as_ref());
        let domain = domain_separator(config.chain_id, &config.vault, &config.vault_name);
        let holds_releases = !port.takes_releases();
        Watcher {
            config,
            domain,
            quorum,
            tracker,
            port,
            is_open: false,
            holds_releases,
            told: None,
            window: WINDOW,
            is_slow: false,
            doubts: 0,
            distrusts: 0,
            is_replaced: false,
            is_finished: false,
            refusal: None,
            stops: None,
            head: None,
        }
    }

    /// One turn, and what it means for the pauses.
    pub async fn turn(&mut self) -> Result<Turn, TurnError> {
        let turn = self.try_turn().await;
        let came_to_nothing = matches!(turn, Err(ref error) if *error != TurnError::Moved);
        self.quorum.figures().turns[usize::from(came_to_nothing)].add(1);
        match &turn {
            Ok(_) if self.distrusts > 0 => {}
            Ok(_) => self.doubts = 0,
            Err(TurnError::Moved) => {}
            Err(error) => {
                self.doubts += 1;
                // At the first, then ever more rarely: the log is for people.
                if self.doubts.is_power_of_two() {
                    tracing::warn!(%error, turns = self.doubts, "the chain cannot be followed");
                }
            }
        }
        self.tell_stops(&turn).await;
        turn
    }

    async fn tell_stops(&mut self, turn: &Result<Turn, TurnError>) {
        let is_hopeless = matches!(turn, Err(TurnError::FinalReplaced(_) | TurnError::Stalled(_)));
        let is_doubted = is_hopeless || self.doubts >= DOUBTS_MAX || self.distrusts > 1;
        let was_stopped = self.stops.iter().flatten().any(|stop| matches!(stop, Stop::Chain(_)));
        let mut stops = Vec::new();
        match turn {
            // What was paused stays so until a turn works.
            Err(error) if is_doubted || was_stopped => stops.push(Stop::Chain(error.to_string())),
            Ok(_) if is_doubted => {
                stops.push(Stop::Chain("the vault counts more than nodes show".to_owned()))
            }
            _ => {}
        }
        stops.extend(self.refusal.clone().map(Stop::Vault));
        let is_same = |known: &Vec<Stop>| {
            let kinds = |stops: &[Stop]| -> Vec<Option<String>> {
                let of =
                    |stop: &Stop| if let Stop::Vault(reason) = stop { Some(reason.clone()) } else { None };
                stops.iter().map(of).collect()
            };
            kinds(known) == kinds(&stops)
        };
        if self.stops.as_ref().is_some_and(is_same)
            || (self.stops.is_none() && turn.is_err() && stops.is_empty())
        {
            return;
        }
        if matches!(self.port.stop(stops.clone()).await, Told::Taken | Told::Known) {
            match stops.first() {
                Some(stop) => tracing::error!(?stop, "withdrawals are paused"),
                None if self.stops.as_ref().is_some_and(|known| !known.is_empty()) => {
                    tracing::info!("withdrawals are no longer paused");
                }
                None => {}
            }
            self.stops = Some(stops);
        }
    }

    async fn try_turn(&mut self) -> Result<Turn, TurnError> {
        self.is_slow = false;
        let (chain_id, vault) = (self.config.chain_id, self.config.vault);
        if !self.is_open {
            let told = self.port.observe(chain_id, &vault, None, 0).await;
            self.is_open = matches!(told, Told::Taken | Told::Known);
            if !self.is_open {
                return Err(TurnError::NotTaken);
            }
        }
        if self.holds_releases && self.port.takes_releases() {
            self.holds_releases = false;
            self.go_on_from_cursor();
        }
        let height = self.quorum.height(self.config.wants_finalized).await?;
        self.judge_growth(height.head)?;
        self.undo_replaced(height.head).await?;
        let looked = self.look_further(height.head).await;
        // What has been seen is told even where the chain moved on the way.
        let told = self.settle(&height).await;
        self.tell_seen(height.head);
        told?;
        if looked.has_moved {
            return Err(TurnError::Moved);
        }
        if let Some(fault) = looked.fault {
            self.is_slow = true;
            return if looked.learnt > 0 { Ok(Turn::More) } else { Err(fault.into()) };
        }
        if self.tracker.next() <= height.head && self.tracker.has_room() {
            return Ok(Turn::More);
        }
        if self.holds_releases {
            self.port.caught_up();
        }
        self.look_at_vault(height.head).await?;
        Ok(Turn::Done)
    }

    fn go_on_from_cursor(&mut self) {
        let cursor = self.port.cursor(self.config.chain_id, &self.config.vault);
        self.tracker = Tracker::new(self.config.start, cursor.as_ref());
        self.told = None;
    }

    /// Something was left out: blocks are read again, first those since the last that was told, then all of them.
    fn distrust(&mut self, error: TurnError) -> TurnError {
        self.distrusts += 1;
        self.go_on_from_cursor();
        if self.distrusts == 2 {
            self.tracker = Tracker::new(self.config.start, None);
        }
        error
    }

    fn judge_growth(&mut self, head: u64) -> Result<(), TurnError> {
        match self.head {
            Some((known, since)) if head <= known => {
                if since.elapsed() > self.config.stalled_after {
                    Err(TurnError::Stalled(known))
                } else {
                    Ok(())
                }
            }
            _ => {
                self.head = Some((head, Instant::now()));
                Ok(())
            }
        }
    }

    /// Compares what is known with what the chain has now, from the newest downwards to the first that is the same.
    async fn undo_replaced(&mut self, head: u64) -> Result<(), TurnError> {
        while let Some((tip, _)) = self.tracker.tip() {
            let number = tip.min(head);
            match self.tracker.final_number() {
                Some(last) if number < last => return Err(TurnError::Behind { head, last }),
                None if self.tracker.seen().next().is_some_and(|first| number < first.header.number) => {
                    break;
                }
                _ => {}
            }
            let now = self.quorum.block(number).await?;
            match self.tracker.look(&now) {
                Look::Same => break,
                Look::FinalReplaced => self.go_back(number).await?,
                Look::Replaced => {
                    for seen in self.tracker.undo(number) {
                        for event in &seen.events {
                            tracing::warn!(block = number, ?event.fact, "an event was undone by the chain");
                            self.tell_seen_event(event, &seen.header, None);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Final blocks were replaced: says how far back, and goes back there once operators have decided so.
    async fn go_back(&mut self, last: u64) -> Result<(), TurnError> {
        let (chain_id, vault) = (self.config.chain_id, self.config.vault);
        let mut kept = FinalBlock { chain_id, vault, block: 0, hash: [0; 32], time_s: 0 };
        for mark in self.port.marks(chain_id, &vault) {
            if self.quorum.block(mark.block).await?.hash == mark.hash {
                kept = mark;
                break;
            }
        }
        self.is_replaced = true;
        match self.port.replaced(Some(Replaced { chain_id, vault, last, kept })).await {
            Told::Taken => {
                tracing::warn!(
                    block = kept.block,
                    "back to an earlier final block, as operators have decided"
                );
                self.go_on_from_cursor();
                Ok(())
            }
            _ => Err(TurnError::FinalReplaced(last)),
        }
    }

    /// Looks at the next blocks, as far as nodes answer. Where they do not, less is asked for the next time.
    async fn look_further(&mut self, head: u64) -> Looked {
        let mut looked = Looked::default();
        let first = self.tracker.next();
        let numbers: Vec<u64> = (first..(first + self.window).min(head.saturating_add(1))).collect();
        if numbers.is_empty() || !self.tracker.has_room() {
            return looked;
        }
        let mut headers = Vec::new();
        for header in self.quorum.blocks(&numbers).await {
            match header {
                Ok(header) => headers.push(header),
                Err(fault) => {
                    looked.fault = Some(fault);
                    break;
                }
            }
        }
        let events = self.quorum.events(&self.config.vault, &headers).await;
        for (header, events) in headers.into_iter().zip(events) {
            match events {
                Ok(events) => {
                    if self.tracker.extend(Seen { header, events }).is_err() {
                        looked.has_moved = true;
                        break;
                    }
                    looked.learnt += 1;
                }
                Err(fault) => {
                    looked.fault = Some(fault);
                    break;
                }
            }
        }
        self.window = match looked.fault {
            Some(_) => (self.window / 2).max(1),
            None => (self.window * 2).min(WINDOW),
        };
        looked
    }

    /// Tells what is final: the events of each block, and in the end the last block.
    async fn settle(&mut self, height: &Height) -> Result<(), TurnError> {
        let confirmed = height.head.checked_sub(self.config.confirmations);
        let Some(confirmed) = confirmed else { return Ok(()) };
        let reach = match (self.config.wants_finalized, height.finalized) {
            (false, _) => confirmed,
            (true, Some(finalized)) => confirmed.min(finalized),
            (true, None) => return Err(TurnError::NothingFinal),
        };
        while let Some(Seen { header, events }) = self.tracker.ready(reach) {
            let (header, events) = (*header, events.clone());
            for event in &events {
                self.tell(event, &header).await?;
            }
            // Only in memory: a start before the block is told begins where the journal ends, and tells again.
            self.tracker.settle();
            self.told = Some(header);
        }
        if self.holds_releases { Ok(()) } else { self.conclude(reach).await }
    }

    async fn tell(&mut self, event: &VaultEvent, block: &Header) -> Result<(), TurnError> {
        let told = match event.fact {
            Fact::Release { .. } if self.holds_releases => return Ok(()),
            Fact::Release { nonce } => self.port.release(self.release(event, nonce, block)).await,
            Fact::Deposit { number } => self.port.deposit(self.deposit(event, number, block)).await,
        };
        match told {
            Told::Taken | Told::Known => Ok(()),
            Told::Alarm if matches!(event.fact, Fact::Deposit { .. }) => {
                // Its number was another's: either these blocks have replaced others, or the vault lies.
                self.go_back(block.number).await?;
                Err(TurnError::Moved)
            }
            Told::Alarm => {
                tracing::error!(?event, "the vault paid what was not to be paid");
                Ok(())
            }
            Told::Gap => Err(self.distrust(TurnError::Gap(block.number))),
            Told::Later => Err(TurnError::NotTaken),
        }
    }

    /// Tells the last block whose events were told, if the vault itself counts just those.
    async fn conclude(&mut self, reach: u64) -> Result<(), TurnError> {
        let (chain_id, vault) = (self.config.chain_id, self.config.vault);
        let Some(last) = self.told else { return Ok(()) };
        let is_known = |cursor: FinalBlock| last.number <= cursor.block;
        if self.port.cursor(chain_id, &vault).is_some_and(is_known) {
            self.told = None;
            return Ok(());
        }
        let standing = match self.quorum.standing(&vault, last.number).await {
            Ok(standing) => standing,
            // Many nodes know what contracts held in their newest blocks alone; those are on the way.
            Err(_) if self.tracker.next() <= reach => return Ok(()),
            Err(doubt) => return Err(doubt.into()),
        };
        let (says, signer, is_paused) = match standing {
            Standing::NoVault => ((0, 0), None, false),
            Standing::Vault(state) => ((state.deposits, state.releases), Some(state.signer), state.is_paused),
        };
        let Counters { deposits, releases, block } = self.port.counters(chain_id, &vault);
        let seen = (deposits, releases);
        if says.0 > seen.0 || says.1 > seen.1 {
            return Err(self.distrust(TurnError::Counters { block: last.number, says, seen }));
        }
        if says != seen {
            // Told before this block was read again; or of blocks that are no longer there.
            return if last.number < block { Ok(()) } else { self.go_back(last.number).await };
        }
        match self.look_at_reserves(&last).await {
            Err(_) if self.tracker.next() <= reach => return Ok(()),
            looked => looked?,
        }
        self.advance(&last).await?;
        (self.told, self.distrusts) = (None, 0);
        if std::mem::take(&mut self.is_replaced) {
            self.port.replaced(None).await;
        }
        if let Some(signer) = signer {
            self.observe(signer, &last).await?;
        }
        self.is_finished = self.config.is_former && is_paused && self.port.open(chain_id, &vault) == 0;
        Ok(())
    }

    /// Says what the vault holds as of the block that is told next, where somebody wants to know.
    async fn look_at_reserves(&self, last: &Header) -> Result<(), Doubt> {
        let (chain_id, vault) = (self.config.chain_id, self.config.vault);
        let tokens = self.port.wants_held(chain_id, &vault);
        if tokens.is_empty() {
            return Ok(());
        }
        let mut held = Vec::with_capacity(tokens.len());
        for token in tokens {
            // One after the other: nodes count what they are asked.
            held.push((token, self.quorum.held(&vault, &token, last.number).await?));
        }
        let block = FinalBlock { chain_id, vault, block: last.number, hash: last.hash, time_s: last.time_s };
        self.port.held(block, held);
        Ok(())
    }

    /// What a replaced signer signed goes back, some at a time.
    async fn observe(&self, signer: Address, last: &Header) -> Result<(), TurnError> {
        let (chain_id, vault) = (self.config.chain_id, self.config.vault);
        while self.port.signer(chain_id, &vault) != Some(signer) {
            match self.port.observe(chain_id, &vault, Some(signer), last.number).await {
                Told::Taken => {}
                _ => return Err(TurnError::NotTaken),
            }
        }
        Ok(())
    }

    async fn advance(&self, last: &Header) -> Result<(), TurnError> {
        let (chain_id, vault) = (self.config.chain_id, self.config.vault);
        let block = FinalBlock { chain_id, vault, block: last.number, hash: last.hash, time_s: last.time_s };
        match self.port.advance(block).await {
            Told::Taken | Told::Known => Ok(()),
            Told::Alarm => {
                tracing::error!(?block, "the engine does not believe in a final block");
                Ok(())
            }
            // The next final block says the same and more.
            Told::Gap | Told::Later => Err(TurnError::NotTaken),
        }
    }

    /// Whether the vault would pay what is signed for it now.
    async fn look_at_vault(&mut self, head: u64) -> Result<(), TurnError> {
        if self.config.is_former || self.config.signer.is_none() {
            return Ok(());
        }
        let (chain_id, vault) = (self.config.chain_id, self.config.vault);
        let known = self.port.signer(chain_id, &vault);
        self.refusal = match self.quorum.standing(&vault, head).await? {
            Standing::NoVault => Some("there is no vault at its address".to_owned()),
            Standing::Vault(state) if state.is_paused => Some("the vault is paused".to_owned()),
            Standing::Vault(state) if Some(state.signer) != self.config.signer => {
                Some(format!("the vault's signer is {}", const_hex::encode_prefixed(state.signer)))
            }
            Standing::Vault(state) if state.domain != self.domain => {
                Some("the vault has another name than is configured".to_owned())
            }
            Standing::Vault(state) if known.is_some_and(|known| known != state.signer) => {
                Some("the vault's new signer is not final yet".to_owned())
            }
            Standing::Vault(_) => None,
        };
        Ok(())
    }

    /// Tells people how far the events are that are not final.
    fn tell_seen(&self, head: u64) {
        for seen in self.tracker.seen() {
            for event in &seen.events {
                let confirmations = head.saturating_sub(seen.header.number);
                self.tell_seen_event(event, &seen.header, Some(confirmations));
            }
        }
    }

    fn tell_seen_event(&self, event: &VaultEvent, block: &Header, confirmations: Option<u64>) {
        match event.fact {
            Fact::Release { nonce } => {
                let key = self.release(event, nonce, block).key;
                self.port.seen(key, event.tx_hash, confirmations.unwrap_or(0));
            }
            Fact::Deposit { number } => {
                self.port.seen_deposit(self.deposit(event, number, block), confirmations);
            }
        }
    }

    fn release(&self, event: &VaultEvent, nonce: u64, block: &Header) -> FinalRelease {
        let (chain_id, vault) = (self.config.chain_id, self.config.vault);
        FinalRelease {
            key: ReleaseKey { chain_id, vault, account: event.account, nonce },
            token: event.token,
            value: event.value,
            tx_hash: event.tx_hash,
            block: block.number,
            block_time_s: block.time_s,
        }
    }

    fn deposit(&self, event: &VaultEvent, number: u64, block: &Header) -> FinalDeposit {
        FinalDeposit {
            chain_id: self.config.chain_id,
            vault: self.config.vault,
            number,
            account: event.account,
            token: event.token,
            value: event.value,
            tx_hash: event.tx_hash,
            block: block.number,
            block_time_s: block.time_s,
        }
    }

    async fn run(mut self) {
        let every = self.config.every;
        let mut pace = Duration::ZERO;
        loop {
            let turn = self.turn().await;
            if self.is_finished {
                let vault = const_hex::encode_prefixed(self.config.vault);
                tracing::info!(%vault, "a former vault is paused and settled; it is watched no longer");
                return;
            }
            pace = match turn.is_ok() && !self.is_slow {
                true => pace / 2,
                false => (pace * 2).clamp(every, PACE_MAX.max(every)),
            };
            match turn {
                Ok(Turn::More) if pace < Duration::from_millis(1) => {}
                Ok(Turn::More) => tokio::time::sleep(pace).await,
                Ok(Turn::Done) | Err(_) => tokio::time::sleep(every.max(pace)).await,
            }
        }
    }
}

/// Everything a watcher needs except its port; moves to the thread of the chain.
pub struct WatcherStart {
    /// What is watched.
    pub config: WatcherConfig,
    /// What is counted of the nodes.
    pub figures: Arc<NodesFigures>,
    /// Makes the nodes, on that thread.
    pub quorum: Box<dyn FnOnce() -> Quorum + Send>,
}

impl Watch for WatcherStart {
    fn figures(&self) -> Option<Arc<NodesFigures>> {
        Some(self.figures.clone())
    }

    fn run(self: Box<Self>, port: Box<dyn WatchPort>) -> Local<'static, ()> {
        Box::pin(async move { Watcher::new(self.config, (self.quorum)(), port).run().await })
    }
}
