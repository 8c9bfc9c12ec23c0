//! Watches the vault: asks the nodes, follows the chain, tells the engine what is final.
//!
//! ```text
//!  turn: how far is the chain? -> is what we know still there? undo what was replaced -> look at the blocks after it
//!        -> what has enough confirmations on top, by blocks each the child of the one before, is told and settled
//! ```
//! Nothing is told on one voice, and nothing of a block that may still be replaced. Where nodes fail or disagree for some
//! turns, withdrawals are paused and the log says why; a turn that works takes the pause back. Goes on behind the last final
//! block that the journal holds.

use super::figures::NodesFigures;
use super::provider::{Header, VaultRelease};
use super::quorum::{Doubt, Height, Quorum};
use super::tracker::{Look, Seen, Tracker};
use super::{FinalBlock, FinalRelease, Local, ReleaseKey, Told, Watch, WatchPort};
use futures_util::future::try_join_all;
use ringside_core::ids::Address;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Blocks that are asked for at once while catching up.
const WINDOW: u64 = 16;
/// Turns without a conclusion after which withdrawals are paused. A reorganization may cost a turn or two.
const DOUBTS_MAX: u32 = 3;

/// What is watched, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatcherConfig {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The vault.
    pub vault: Address,
    /// First block that can hold a release: the one in which the vault was made.
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
    #[error("block {0} was final and has been replaced: confirmed withdrawals may not have happened")]
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

/// See the module.
pub struct Watcher {
    config: WatcherConfig,
    quorum: Quorum,
    tracker: Tracker,
    port: Box<dyn WatchPort>,
    /// Turns in a row that came to nothing.
    doubts: u32,
    /// What the engine was told of a pause, once it was told anything.
    is_paused: Option<bool>,
    /// The newest block, and since when.
    head: Option<(u64, Instant)>,
}

impl Watcher {
    /// Goes on from the port's cursor.
    pub fn new(config: WatcherConfig, quorum: Quorum, port: Box<dyn WatchPort>) -> Watcher {
        let cursor = port.cursor(config.chain_id, &config.vault);
        let tracker = Tracker::new(config.start, cursor.as_ref());
        Watcher { config, quorum, tracker, port, doubts: 0, is_paused: None, head: None }
    }

    /// One turn, and what it means for the pause.
    pub async fn turn(&mut self) -> Result<Turn, TurnError> {
        let turn = self.try_turn().await;
        let came_to_nothing = matches!(turn, Err(ref error) if *error != TurnError::Moved);
        self.quorum.figures().turns[usize::from(came_to_nothing)].add(1);
        match &turn {
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
        let is_hopeless = matches!(turn, Err(TurnError::FinalReplaced(_) | TurnError::Stalled(_)));
        let wants_pause = is_hopeless || self.doubts >= DOUBTS_MAX;
        let is_news = match turn {
            Ok(_) => self.is_paused != Some(false),
            Err(_) => wants_pause && self.is_paused != Some(true),
        };
        if is_news && matches!(self.port.pause(wants_pause).await, Told::Taken | Told::Known) {
            match &turn {
                Err(error) => tracing::error!(%error, "withdrawals are paused"),
                Ok(_) if self.is_paused == Some(true) => tracing::info!("withdrawals are no longer paused"),
                Ok(_) => {}
            }
            self.is_paused = Some(wants_pause);
        }
        turn
    }

    async fn try_turn(&mut self) -> Result<Turn, TurnError> {
        let height = self.quorum.height(self.config.wants_finalized).await?;
        self.judge_growth(height.head)?;
        self.undo_replaced(height.head).await?;
        let is_whole = self.look_further(height.head).await?;
        // What has been seen is told even where the chain moved on the way.
        let told = self.settle(&height).await;
        self.tell_seen(height.head);
        told?;
        if !is_whole {
            return Err(TurnError::Moved);
        }
        let is_done = self.tracker.next() > height.head || !self.tracker.has_room();
        Ok(if is_done { Turn::Done } else { Turn::More })
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
                    return Ok(());
                }
                _ => {}
            }
            let now = self.quorum.block(number).await?;
            match self.tracker.look(&now) {
                Look::Same => return Ok(()),
                Look::FinalReplaced => return Err(TurnError::FinalReplaced(number)),
                Look::Replaced => {
                    for seen in self.tracker.undo(number) {
                        for release in &seen.releases {
                            tracing::warn!(
                                block = number,
                                nonce = release.nonce,
                                "a release was undone by the chain"
                            );
                            self.port.seen(self.key(release), release.tx_hash, 0);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Looks at the next blocks; `false` where the chain moved meanwhile.
    async fn look_further(&mut self, head: u64) -> Result<bool, TurnError> {
        let first = self.tracker.next();
        let numbers = first..(first + WINDOW).min(head.saturating_add(1));
        if numbers.is_empty() || !self.tracker.has_room() {
            return Ok(true);
        }
        let headers = try_join_all(numbers.map(|number| self.quorum.block(number))).await?;
        let releases = headers.iter().map(|header| self.quorum.releases(&self.config.vault, header));
        let releases = try_join_all(releases).await?;
        for (header, releases) in headers.into_iter().zip(releases) {
            if self.tracker.extend(Seen { header, releases }).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Tells what is final: the releases of each block, and in the end the last block.
    async fn settle(&mut self, height: &Height) -> Result<(), TurnError> {
        let confirmed = height.head.checked_sub(self.config.confirmations);
        let Some(confirmed) = confirmed else { return Ok(()) };
        let height = match (self.config.wants_finalized, height.finalized) {
            (false, _) => confirmed,
            (true, Some(finalized)) => confirmed.min(finalized),
            (true, None) => return Err(TurnError::NothingFinal),
        };
        let mut last = None;
        while let Some(Seen { header, releases }) = self.tracker.ready(height) {
            let (header, releases) = (*header, releases.clone());
            // What has expired by then has expired before this block pays: its nonce may be another's since.
            if let Some(last) = last.take_if(|_| !releases.is_empty()) {
                self.advance(&last).await?;
            }
            for release in &releases {
                self.tell(release, &header).await?;
            }
            // Only in memory: a start before the block is told begins where the journal ends, and tells again.
            self.tracker.settle();
            last = Some(header);
        }
        match last {
            Some(last) => self.advance(&last).await,
            None => Ok(()),
        }
    }

    async fn tell(&self, release: &VaultRelease, block: &Header) -> Result<(), TurnError> {
        let release = FinalRelease {
            key: self.key(release),
            token: release.token,
            value: release.value,
            tx_hash: release.tx_hash,
            block: block.number,
            block_time_s: block.time_s,
        };
        match self.port.release(release).await {
            Told::Taken | Told::Known => Ok(()),
            Told::Alarm => {
                tracing::error!(?release, "the vault paid what was not to be paid");
                Ok(())
            }
            Told::Later => Err(TurnError::NotTaken),
        }
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
            Told::Later => Err(TurnError::NotTaken),
        }
    }

    /// Tells people how far the releases are that are not final.
    fn tell_seen(&self, head: u64) {
        for seen in self.tracker.seen() {
            for release in &seen.releases {
                let confirmations = head.saturating_sub(seen.header.number);
                self.port.seen(self.key(release), release.tx_hash, confirmations);
            }
        }
    }

    fn key(&self, release: &VaultRelease) -> ReleaseKey {
        let (chain_id, vault) = (self.config.chain_id, self.config.vault);
        ReleaseKey { chain_id, vault, account: release.account, nonce: release.nonce }
    }

    async fn run(mut self) {
        loop {
            match self.turn().await {
                Ok(Turn::More) => {}
                Ok(Turn::Done) | Err(_) => tokio::time::sleep(self.config.every).await,
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
