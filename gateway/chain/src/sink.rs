//! The venue's end of a watch: what it tells becomes commands of the chain's own source, one after the other.

use super::withdrawal_signing::SigningQueue;
use super::{
    Counters, FinalBlock, FinalDeposit, FinalRelease, Local, ReleaseKey, Replaced, Stop, Told, WatchPort,
};
use crate::proof::Proofs;
use parking_lot::Mutex;
use ringside_commands::ingress::{Ingress, Priority};
use ringside_core::command::{
    AdvanceChain, Body, Command, ObserveVault, PauseWithdrawals, RecordDeposit, RecordRelease, RewindVault,
    UndoEvent, VaultName, pause,
};
use ringside_core::event::{ReleaseAlarm, RewindStage};
use ringside_core::ids::{Address, AssetName, padded};
use ringside_core::money::RawAmount;
use ringside_core::reject::Reject;
use ringside_views::deposit::Mark;
use ringside_views::{SharedViews, Views};
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

/// Most events remembered that are not final.
const SEEN_MAX: usize = 65_536;

/// Deposits by account, vault and number, with their confirmations.
type SeenDeposits = BTreeMap<(Address, Address, u64), (FinalDeposit, u64)>;

/// What is known of the chain beside what the journal holds. For people; decides nothing.
#[derive(Debug, Default)]
pub struct SeenEvents {
    /// Releases in blocks that are not final yet: transaction and confirmations.
    releases: Mutex<HashMap<ReleaseKey, ([u8; 32], u64)>>,
    /// Deposits in such blocks, by account, vault and number.
    deposits: Mutex<SeenDeposits>,
    /// Final blocks that were replaced, by vault.
    replaced: Mutex<BTreeMap<Address, Replaced>>,
}

impl SeenEvents {
    /// Transaction and confirmations of a release that was seen.
    pub fn get(&self, key: &ReleaseKey) -> Option<([u8; 32], u64)> {
        self.releases.lock().get(key).copied()
    }

    /// Deposits of an account that were seen, and how many blocks lie on each; newest last.
    pub fn deposits(&self, account: &Address) -> Vec<(FinalDeposit, u64)> {
        let deposits = self.deposits.lock();
        let own = deposits.range((*account, [0; 20], 0)..=(*account, [0xff; 20], u64::MAX));
        let mut own: Vec<_> = own.map(|(_, seen)| *seen).collect();
        own.sort_by_key(|(deposit, _)| (deposit.block, deposit.number));
        own
    }

    /// Final blocks that were replaced, where any were.
    pub fn replaced(&self) -> Vec<Replaced> {
        self.replaced.lock().values().copied().collect()
    }

    fn put(&self, key: ReleaseKey, tx_hash: [u8; 32], confirmations: u64) {
        let seen = &mut *self.releases.lock();
        if confirmations == 0 {
            seen.remove(&key);
        } else if seen.len() < SEEN_MAX || seen.contains_key(&key) {
            seen.insert(key, (tx_hash, confirmations));
        }
    }

    /// One that is gone, or final, is put with nothing on it.
    fn put_deposit(&self, deposit: FinalDeposit, confirmations: Option<u64>) {
        let seen = &mut *self.deposits.lock();
        let key = (deposit.account, deposit.vault, deposit.number);
        match confirmations {
            None => drop(seen.remove(&key)),
            Some(confirmations) if seen.len() < SEEN_MAX || seen.contains_key(&key) => {
                seen.insert(key, (deposit, confirmations));
            }
            Some(_) => {}
        }
    }
}

/// What the ports of all watched vaults share.
#[derive(Clone)]
pub(super) struct Shared {
    pub(super) ingress: Ingress,
    pub(super) views: Arc<SharedViews>,
    pub(super) seen: Arc<SeenEvents>,
    pub(super) proofs: Arc<Proofs>,
    /// Where there is a signer.
    pub(super) desk: Option<Arc<SigningQueue>>,
    /// What stops withdrawals, by vault.
    pub(super) stops: Rc<RefCell<BTreeMap<Address, Vec<Stop>>>>,
    /// Vaults of which not all final deposits were told since the start.
    pub(super) behind: Rc<RefCell<Vec<Address>>>,
}

/// The end of the watch of one vault.
#[derive(Clone)]
pub(super) struct VaultEventSink {
    shared: Shared,
    vault: Address,
    vault_name: VaultName,
}

/// A release above the block to go back to.
struct Undone {
    account: Address,
    nonce: u64,
    undo: UndoEvent,
}

impl VaultEventSink {
    pub(super) fn new(shared: Shared, vault: Address, vault_name: &str) -> VaultEventSink {
        shared.behind.borrow_mut().push(vault);
        VaultEventSink { shared, vault, vault_name: padded(vault_name).unwrap_or_default() }
    }

    async fn tell<B: Body>(self, body: B, what: &'static str) -> Told {
        match self.shared.ingress.submit(Command::new(body), Priority::Internal).await {
            Ok(reply) => match reply.done.rejected() {
                None => Told::Taken,
                Some(Reject::AlreadyReleased | Reject::AlreadyDeposited | Reject::ChainBehind) => Told::Known,
                Some(Reject::ReleaseOutOfOrder | Reject::DepositOutOfOrder) => Told::Gap,
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
        self.shared.views.read().withdrawals().alarms().len()
    }

    /// Whether a number that was taken before was another deposit.
    fn differs(&self, deposit: &FinalDeposit) -> bool {
        let views = self.shared.views.read();
        let vault = views.withdrawals().vault_number(deposit.chain_id, &deposit.vault);
        let known = vault.and_then(|vault| views.deposits().get(vault, deposit.number));
        known.is_some_and(|known| {
            (known.address, known.token, known.value, known.tx_hash)
                != (deposit.account, deposit.token, deposit.value, deposit.tx_hash)
        })
    }

    /// Takes back everything above the block that operators agreed on, the last first, and goes back to it.
    async fn go_back(self, replaced: Replaced) -> Told {
        let undone = undone(&self.shared.views.read(), &replaced);
        for undo in undone {
            if self.clone().tell(undo, "an event that was undone").await != Told::Taken {
                return Told::Later;
            }
        }
        let Replaced { chain_id, vault, kept, .. } = replaced;
        let (block, hash, time_s) = (kept.block, kept.hash, kept.time_s);
        let back = RewindVault { chain_id, vault, reserved: 0, block, hash, time_s, operator: [0; 16] };
        self.tell(back, "the way back").await
    }
}

/// The commands that take back what a vault did above the block that is kept.
fn undone(views: &Views, replaced: &Replaced) -> Vec<UndoEvent> {
    let Replaced { chain_id, vault, kept, .. } = *replaced;
    let Some(number) = views.withdrawals().vault_number(chain_id, &vault) else { return Vec::new() };
    let asset =
        |asset: u16| -> AssetName { views.markets().asset_name(asset).and_then(padded).unwrap_or_default() };
    let base = UndoEvent {
        withdrawal: 0,
        account: [0; 20],
        vault,
        token: [0; 20],
        asset: [0; 10],
        ledger: 0,
        is_deposit: 0,
        amount: RawAmount::ZERO,
        chain_id,
        number: 0,
        requested_at_s: 0,
        deadline_s: 0,
        block: 0,
    };
    let mut releases: Vec<Undone> = Vec::new();
    for record in views.withdrawals().confirmed_above(number, kept.block) {
        let (Some(&account), Some(release)) = (views.accounts().address(record.account), record.release)
        else {
            continue;
        };
        let undo = UndoEvent {
            withdrawal: record.withdrawal,
            account,
            token: record.token,
            asset: asset(record.asset),
            ledger: record.ledger as u8,
            amount: record.amount.into(),
            number: record.nonce,
            requested_at_s: record.requested_at_s,
            deadline_s: record.deadline_s,
            block: release.block,
            ..base
        };
        releases.push(Undone { account, nonce: record.nonce, undo });
    }
    for alarm in views.withdrawals().alarms_above(number, kept.block) {
        let is_known = |known: &Undone| (known.account, known.nonce) == (alarm.account, alarm.nonce);
        if !releases.iter().any(is_known) {
            let undo = UndoEvent { account: alarm.account, number: alarm.nonce, block: alarm.block, ..base };
            releases.push(Undone { account: alarm.account, nonce: alarm.nonce, undo });
        }
    }
    releases.sort_by_key(|release| (release.account, std::cmp::Reverse(release.nonce)));
    let deposits = views.deposits().above(number, kept.block).map(|record| UndoEvent {
        account: record.address,
        token: record.token,
        asset: record.asset.map_or([0; 10], asset),
        is_deposit: 1,
        amount: record.amount.into(),
        number: record.number,
        block: record.block,
        ..base
    });
    deposits.chain(releases.into_iter().map(|release| release.undo)).collect()
}

impl WatchPort for VaultEventSink {
    fn cursor(&self, chain_id: u64, vault: &Address) -> Option<FinalBlock> {
        let views = self.shared.views.read();
        let known = views.withdrawals().vault_at(chain_id, vault).filter(|known| known.block > 0)?;
        let (block, hash, time_s) = (known.block, known.hash, known.time_s);
        Some(FinalBlock { chain_id, vault: *vault, block, hash, time_s })
    }

    fn marks(&self, chain_id: u64, vault: &Address) -> Vec<FinalBlock> {
        let views = self.shared.views.read();
        let number = views.withdrawals().vault_number(chain_id, vault);
        let book = number.and_then(|number| views.deposits().vault(number));
        let told = |mark: &Mark| FinalBlock {
            chain_id,
            vault: *vault,
            block: mark.block,
            hash: mark.hash,
            time_s: mark.time_s,
        };
        book.map_or_else(Vec::new, |book| book.marks().map(told).collect())
    }

    fn counters(&self, chain_id: u64, vault: &Address) -> Counters {
        let views = self.shared.views.read();
        let number = views.withdrawals().vault_number(chain_id, vault);
        let book = number.and_then(|number| views.deposits().vault(number));
        book.map_or_else(Counters::default, |book| Counters {
            deposits: book.deposits(),
            releases: book.releases,
            block: book.last_block,
        })
    }

    fn open(&self, chain_id: u64, vault: &Address) -> usize {
        let views = self.shared.views.read();
        let number = views.withdrawals().vault_number(chain_id, vault);
        number.map_or(0, |number| views.withdrawals().open_count(number))
    }

    fn signer(&self, chain_id: u64, vault: &Address) -> Option<Address> {
        let views = self.shared.views.read();
        let number = views.withdrawals().vault_number(chain_id, vault)?;
        let signer = views.deposits().vault(number)?.signer;
        (signer != Address::default()).then_some(signer)
    }

    fn takes_releases(&self) -> bool {
        self.shared.desk.as_ref().is_none_or(|desk| desk.is_reconciled())
    }

    fn caught_up(&self) {
        let behind = &mut *self.shared.behind.borrow_mut();
        behind.retain(|vault| *vault != self.vault);
        if let Some(desk) = self.shared.desk.as_ref().filter(|_| behind.is_empty()) {
            desk.know_deposits();
        }
    }

    fn deposit(&self, deposit: FinalDeposit) -> Local<'_, Told> {
        let port = self.clone();
        Box::pin(async move {
            if port.differs(&deposit) {
                let text = format!("deposit {} was seen twice with other contents", deposit.number);
                tracing::error!(number = deposit.number, "ALARM: {text}; withdrawals are paused");
                let is_paused = port.shared.views.read().withdrawals().paused() & pause::ALARM != 0;
                if !is_paused {
                    let reason = padded(&text).unwrap_or([0; 64]);
                    let alarm = PauseWithdrawals { mask: pause::ALARM, paused: pause::ALARM, reason };
                    port.tell(alarm, "an alarm").await;
                }
                return Told::Alarm;
            }
            let told = port
                .clone()
                .tell(
                    RecordDeposit {
                        chain_id: deposit.chain_id,
                        vault: deposit.vault,
                        account: deposit.account,
                        token: deposit.token,
                        reserved: 0,
                        value: RawAmount::new(deposit.value as i128),
                        number: deposit.number,
                        tx_hash: deposit.tx_hash,
                        block: deposit.block,
                        block_time_s: deposit.block_time_s,
                    },
                    "a deposit",
                )
                .await;
            if matches!(told, Told::Taken | Told::Known) {
                port.shared.seen.put_deposit(deposit, None);
            }
            told
        })
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
            port.shared.seen.put(release.key, release.tx_hash, 0);
            // The reply comes after the fold, and this is the one who tells releases.
            let is_it = |alarm: &ReleaseAlarm| alarm.tx_hash == release.tx_hash;
            let is_alarm = port
                .shared
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
        let port = self.clone();
        Box::pin(async move {
            let told = port.clone().tell(advance, "a final block").await;
            if told != Told::Taken {
                port.shared.proofs.miss(&vault);
            }
            told
        })
    }

    fn wants_held(&self, chain_id: u64, vault: &Address) -> Vec<Address> {
        if !self.shared.proofs.wants(vault) {
            return Vec::new();
        }
        let views = self.shared.views.read();
        let of_chain = views.deposits().tokens().filter(|token| token.chain_id == chain_id);
        of_chain.map(|token| token.address).collect()
    }

    fn held(&self, block: FinalBlock, held: Vec<(Address, u128)>) {
        self.shared.proofs.hold(block.vault, block.block, block.hash, held);
    }

    fn observe(
        &self,
        chain_id: u64,
        vault: &Address,
        signer: Option<Address>,
        block: u64,
    ) -> Local<'_, Told> {
        let is_known = self.shared.views.read().withdrawals().vault_at(chain_id, vault).is_some();
        if is_known && signer.is_none() {
            return Box::pin(std::future::ready(Told::Known));
        }
        let signer = signer.unwrap_or_default();
        let observe = ObserveVault { chain_id, vault: *vault, signer, vault_name: self.vault_name, block };
        let port = self.clone();
        Box::pin(async move {
            match port.tell(observe, "what a vault is").await {
                // The last final block is another by now: it is observed as of that one.
                Told::Known => Told::Later,
                told => told,
            }
        })
    }

    fn stop(&self, stops: Vec<Stop>) -> Local<'_, Told> {
        self.shared.stops.borrow_mut().insert(self.vault, stops);
        let (bits, reason) = bits_of(self.shared.stops.borrow().values().flatten());
        let mask = pause::CHAIN | pause::VAULT;
        let (now, is_said) = {
            let views = self.shared.views.read();
            let withdrawals = views.withdrawals();
            (withdrawals.paused() & mask, withdrawals.pause_reason() == Some(&*reason))
        };
        let is_other_reason = bits & pause::VAULT != 0 && !is_said;
        if now == bits && !is_other_reason {
            return Box::pin(std::future::ready(Told::Known));
        }
        let reason = cut(&reason);
        let (port, told) = (self.clone(), PauseWithdrawals { mask, paused: bits, reason });
        Box::pin(async move {
            if now == bits {
                // A reason is taken where a pause begins, so another kind of pause is in force meanwhile.
                let meanwhile = PauseWithdrawals { paused: pause::CHAIN, ..told };
                port.clone().tell(meanwhile, "a pause").await;
            }
            port.tell(told, "a pause").await
        })
    }

    fn replaced(&self, replaced: Option<Replaced>) -> Local<'_, Told> {
        let Some(replaced) = replaced else {
            self.shared.seen.replaced.lock().remove(&self.vault);
            return Box::pin(std::future::ready(Told::Known));
        };
        self.shared.seen.replaced.lock().insert(self.vault, replaced);
        let is_agreed = {
            let views = self.shared.views.read();
            let number = views.withdrawals().vault_number(replaced.chain_id, &replaced.vault);
            let rewind =
                number.and_then(|number| views.deposits().vault(number)).and_then(|book| book.rewind);
            let kept = (replaced.kept.block, replaced.kept.hash);
            rewind.is_some_and(|rewind| {
                rewind.stage == RewindStage::Agreed as u8 && (rewind.block, rewind.hash) == kept
            })
        };
        if is_agreed {
            Box::pin(self.clone().go_back(replaced))
        } else {
            Box::pin(std::future::ready(Told::Later))
        }
    }

    fn seen(&self, key: ReleaseKey, tx_hash: [u8; 32], confirmations: u64) {
        self.shared.seen.put(key, tx_hash, confirmations);
    }

    fn seen_deposit(&self, deposit: FinalDeposit, confirmations: Option<u64>) {
        let views = self.shared.views.read();
        let vault = views.withdrawals().vault_number(deposit.chain_id, &deposit.vault);
        let book = vault.and_then(|vault| views.deposits().vault(vault));
        let is_taken = book.is_some_and(|book| deposit.number <= book.deposits());
        self.shared.seen.put_deposit(deposit, confirmations.filter(|_| !is_taken));
    }
}

/// Bits of pauses, and what is said of them to everybody: nothing about nodes.
fn bits_of<'a>(stops: impl Iterator<Item = &'a Stop>) -> (u32, String) {
    let (mut bits, mut reason) = (0, "nodes of the chain do not agree or cannot be reached".to_owned());
    for stop in stops {
        match stop {
            Stop::Chain(_) => bits |= pause::CHAIN,
            Stop::Vault(text) => {
                bits |= pause::VAULT;
                reason.clone_from(text);
            }
        }
    }
    if bits == 0 {
        "the chain is followed".clone_into(&mut reason);
    }
    (bits, reason)
}

/// Text padded with zeros; what does not fit goes, whole characters at a time.
pub(super) fn cut<const N: usize>(text: &str) -> [u8; N] {
    padded(&text[..text.floor_char_boundary(N)]).unwrap_or([0; N])
}
