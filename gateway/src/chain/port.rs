//! The venue's end of a watch: what it tells becomes commands of the chain's own source, one after the other.

use super::{FinalBlock, FinalRelease, Local, ReleaseKey, Told, WatchPort};
use crate::ingress::{Ingress, Priority};
use crate::view::SharedViews;
use parking_lot::Mutex;
use ringside_core::command::{AdvanceChain, Body, Command, PauseWithdrawals, RecordRelease, pause};
use ringside_core::event::ReleaseAlarm;
use ringside_core::ids::{Address, padded};
use ringside_core::money::RawAmount;
use ringside_core::reject::Reject;
use std::collections::HashMap;
use std::sync::Arc;

/// Most releases remembered that are not final.
const SEEN_MAX: usize = 65_536;

/// Releases in blocks that are not final yet, by what they are for: transaction and confirmations. For people.
#[derive(Debug, Default)]
pub struct SeenReleases(Mutex<HashMap<ReleaseKey, ([u8; 32], u64)>>);

impl SeenReleases {
    /// Transaction and confirmations of a release that was seen.
    pub fn get(&self, key: &ReleaseKey) -> Option<([u8; 32], u64)> {
        self.0.lock().get(key).copied()
    }

    fn put(&self, key: ReleaseKey, tx_hash: [u8; 32], confirmations: u64) {
        let seen = &mut *self.0.lock();
        if confirmations == 0 {
            seen.remove(&key);
        } else if seen.len() < SEEN_MAX || seen.contains_key(&key) {
            seen.insert(key, (tx_hash, confirmations));
        }
    }
}

/// See the module.
#[derive(Clone)]
pub(super) struct Port {
    ingress: Ingress,
    views: Arc<SharedViews>,
    seen: Arc<SeenReleases>,
}

impl Port {
    pub(super) fn new(ingress: Ingress, views: Arc<SharedViews>, seen: Arc<SeenReleases>) -> Port {
        Port { ingress, views, seen }
    }

    async fn tell<B: Body>(self, body: B, what: &'static str) -> Told {
        match self.ingress.submit(Command::new(body), Priority::Internal).await {
            Ok(reply) => match reply.done.rejected() {
                None => Told::Taken,
                Some(Reject::AlreadyReleased | Reject::ChainBehind) => Told::Known,
                // Nobody has asked this vault for anything yet: there is nothing to tell, and nothing to wait for.
                Some(Reject::VaultNotFound) => Told::Known,
                Some(reject) => {
                    tracing::error!(?reject, what, "the chain tells what the engine does not take");
                    Told::Later
                }
            },
            Err(unavailable) => {
                tracing::warn!(%unavailable, what, "the chain cannot tell");
                Told::Later
            }
        }
    }

    fn alarms(&self) -> usize {
        self.views.read().withdrawals().alarms().len()
    }
}

impl WatchPort for Port {
    fn cursor(&self, chain_id: u64, vault: &Address) -> Option<FinalBlock> {
        let views = self.views.read();
        let known = views.withdrawals().vault_at(chain_id, vault).filter(|known| known.block > 0)?;
        let (block, hash, time_s) = (known.block, known.hash, known.time_s);
        Some(FinalBlock { chain_id, vault: *vault, block, hash, time_s })
    }

    fn release(&self, release: FinalRelease) -> Local<'_, Told> {
        let port = self.clone();
        Box::pin(async move {
            let before = port.alarms();
            let told = port
                .clone()
                .tell(
                    RecordRelease {
                        chain_id: release.key.chain_id,
                        vault: release.key.vault,
                        account: release.key.account,
                        token: release.token,
                        reserved: 0,
                        value: RawAmount::new(release.value as i128),
                        nonce: release.key.nonce,
                        tx_hash: release.tx_hash,
                        block: release.block,
                        block_time_s: release.block_time_s,
                    },
                    "a release",
                )
                .await;
            port.seen.put(release.key, release.tx_hash, 0);
            // The reply comes after the fold, and this is the one who tells releases.
            let is_it = |alarm: &ReleaseAlarm| alarm.tx_hash == release.tx_hash;
            let is_alarm = port
                .views
                .read()
                .withdrawals()
                .alarms()
                .get(before..)
                .is_some_and(|new| new.iter().any(is_it));
            if is_alarm {
                let tx_hash = const_hex::encode(release.tx_hash);
                tracing::error!(%tx_hash, "ALARM: the vault has paid what it should not; withdrawals are paused");
                return Told::Alarm;
            }
            told
        })
    }

    fn advance(&self, block: FinalBlock) -> Local<'_, Told> {
        let FinalBlock { chain_id, vault, block, hash, time_s } = block;
        let advance = AdvanceChain { chain_id, vault, reserved: 0, block, hash, time_s };
        Box::pin(self.clone().tell(advance, "a final block"))
    }

    fn pause(&self, paused: bool) -> Local<'_, Told> {
        let now = self.views.read().withdrawals().paused() & pause::CHAIN != 0;
        if now == paused {
            return Box::pin(std::future::ready(Told::Known));
        }
        let reason = padded("providers of the chain").unwrap_or([0; 64]);
        let paused = if paused { pause::CHAIN } else { 0 };
        Box::pin(self.clone().tell(PauseWithdrawals { mask: pause::CHAIN, paused, reason }, "a pause"))
    }

    fn seen(&self, key: ReleaseKey, tx_hash: [u8; 32], confirmations: u64) {
        self.seen.put(key, tx_hash, confirmations);
    }
}
