//! Withdrawals of every account, the vaults they go through, and what pauses them. All of them stay in memory for good, 210 bytes
//! each and 8 for the list of their account: whoever asks what the signer's log is about must find them, ended ones too. They are
//! few beside orders, since each takes an amount for a day, a fee of the chain or one of the thousand requests that an
//! account has in a day (`withdrawals_per_day`).

use super::account::AccountView;
use super::codec::{LoadError, Reader, Writer};
use super::kept::Kept;
use super::segmented_vec::SegmentedVec;
use ringside_core::command::{Ledger, WithdrawalStatus, pause};
use ringside_core::event::{self, AlarmReason, Event};
use ringside_core::ids::{AccountId, Address, AssetId, Sequence, WithdrawalId, text};
use ringside_core::money::Amount;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// One withdrawal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithdrawalRecord {
    /// Withdrawal id.
    pub withdrawal: WithdrawalId,
    /// The command that requested it.
    pub sequence: Sequence,
    /// Account id.
    pub account: AccountId,
    /// Of what.
    pub asset: AssetId,
    /// Which of the vaults.
    pub vault: u16,
    /// From where.
    pub ledger: Ledger,
    /// Where it stands.
    pub status: WithdrawalStatus,
    /// How much.
    pub amount: Amount,
    /// Contract of the token.
    pub token: Address,
    /// The vault's counter of the account at which it can be submitted.
    pub nonce: u64,
    /// UNIX seconds.
    pub requested_at_s: u64,
    /// UNIX seconds.
    pub deadline_s: u64,
    /// r, s, v; once it was signed.
    pub signature: Option<[u8; 65]>,
    /// What the vault paid; once it is confirmed.
    pub release: Option<ReleaseRecord>,
}

impl WithdrawalRecord {
    /// What the typed message says, in base units of the token: of so many amount steps each.
    pub fn value(&self, steps: Amount) -> u128 {
        (self.amount / steps).unsigned_abs()
    }

    /// What it holds of the perpetual ledger.
    fn on_its_way(&self) -> Amount {
        if self.ledger == Ledger::Perpetual && self.status.holds_amount() { self.amount } else { 0 }
    }

    /// Whether its owner sees it: signed, confirmed or expired, as the specification has it.
    pub fn is_shown(&self) -> bool {
        match self.status {
            WithdrawalStatus::Signed | WithdrawalStatus::Confirmed => true,
            WithdrawalStatus::Expired => self.signature.is_some(),
            WithdrawalStatus::Requested | WithdrawalStatus::Returned | WithdrawalStatus::Void => false,
        }
    }
}

/// What the vault paid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReleaseRecord {
    /// Hash of the transaction.
    pub tx_hash: [u8; 32],
    /// Its block.
    pub block: u64,
    /// When that was known to be final, UNIX seconds.
    pub confirmed_at_s: u64,
}

/// A vault, and the last final block that was told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VaultRecord {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The contract.
    pub address: Address,
    /// Name in its domain, padded with zeros.
    pub name: [u8; 24],
    /// Number of the block, 0 before the first.
    pub block: u64,
    /// Its hash.
    pub hash: [u8; 32],
    /// Its timestamp, UNIX seconds.
    pub time_s: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct WithdrawalView {
    /// By number, less one.
    all: SegmentedVec<WithdrawalRecord>,
    by_account: HashMap<AccountId, Vec<WithdrawalId>>,
    /// Requested, void, or adopted and without signature yet: what a signer is asked about.
    unsigned: BTreeSet<WithdrawalId>,
    vaults: Vec<VaultRecord>,
    paused: u32,
    /// What was last said of a pause that is not the operator's, padded with zeros.
    pause_reason: [u8; 64],
    /// Transactions of alarms that the chain has undone.
    undone: BTreeSet<[u8; 32]>,
    /// Releases that must be impossible, oldest first.
    alarms: Vec<event::ReleaseAlarm>,
    /// What operators last said of disputed ones.
    judged: BTreeMap<WithdrawalId, event::WithdrawalJudged>,
    /// What the perpetual ledger has on its way, as it was told: what was asked for, less what was paid and what came back.
    on_their_way: Amount,
    /// How many there are, by ledger and status.
    counts: BTreeMap<(u8, u8), u64>,
}

impl Default for WithdrawalView {
    fn default() -> WithdrawalView {
        WithdrawalView {
            all: SegmentedVec::default(),
            by_account: HashMap::new(),
            unsigned: BTreeSet::new(),
            vaults: Vec::new(),
            paused: 0,
            pause_reason: [0; 64],
            undone: BTreeSet::new(),
            alarms: Vec::new(),
            judged: BTreeMap::new(),
            on_their_way: 0,
            counts: BTreeMap::new(),
        }
    }
}

impl WithdrawalView {
    /// One.
    pub fn get(&self, withdrawal: WithdrawalId) -> Option<&WithdrawalRecord> {
        self.all.get(usize::try_from(withdrawal.checked_sub(1)?).ok()?)
    }

    /// All of them, by number.
    pub fn iter(&self) -> impl Iterator<Item = &WithdrawalRecord> {
        self.all.iter()
    }

    /// Those of an account, newest first.
    pub fn of_account(&self, account: AccountId) -> impl Iterator<Item = &WithdrawalRecord> {
        let ids = self.by_account.get(&account).map_or(&[][..], Vec::as_slice);
        ids.iter().rev().filter_map(|&id| self.get(id))
    }

    /// Those without a signature, oldest first: requested and adopted ones, and void ones whose nonce is held.
    pub fn unsigned(&self) -> impl Iterator<Item = &WithdrawalRecord> {
        self.unsigned.iter().filter_map(|&id| self.get(id))
    }

    /// A vault.
    pub fn vault(&self, vault: u16) -> Option<&VaultRecord> {
        self.vaults.get(usize::from(vault))
    }

    /// The vault of a contract.
    pub fn vault_at(&self, chain_id: u64, address: &Address) -> Option<&VaultRecord> {
        self.vaults.iter().find(|vault| vault.chain_id == chain_id && vault.address == *address)
    }

    /// All vaults, by number.
    pub fn vaults(&self) -> impl Iterator<Item = &VaultRecord> {
        self.vaults.iter()
    }

    /// Number of the vault of a contract.
    pub fn vault_number(&self, chain_id: u64, address: &Address) -> Option<u16> {
        let is_it = |vault: &VaultRecord| vault.chain_id == chain_id && vault.address == *address;
        self.vaults.iter().position(is_it).map(|place| place as u16)
    }

    /// How many of a vault have not ended.
    pub fn open_count(&self, vault: u16) -> usize {
        let is_open = |record: &&WithdrawalRecord| {
            record.vault == vault && (record.status.holds_amount() || record.status == WithdrawalStatus::Void)
        };
        self.all.iter().filter(is_open).count()
    }

    /// Withdrawals of a vault that were confirmed by releases in blocks above one, the last of each account first.
    pub fn confirmed_above(&self, vault: u16, block: u64) -> Vec<WithdrawalRecord> {
        let is_above = |record: &&WithdrawalRecord| {
            record.vault == vault && record.release.is_some_and(|release| release.block > block)
        };
        let mut above: Vec<_> = self.all.iter().filter(is_above).copied().collect();
        above.sort_by_key(|record| (record.account, std::cmp::Reverse(record.nonce)));
        above
    }

    /// Releases that raised an alarm in blocks of a vault above one, and still count.
    pub fn alarms_above(&self, vault: u16, block: u64) -> impl Iterator<Item = &event::ReleaseAlarm> {
        self.alarms.iter().filter(move |alarm| {
            alarm.vault == vault && alarm.block > block && !self.undone.contains(&alarm.tx_hash)
        })
    }

    /// Releases that were taken of each vault.
    pub(super) fn releases_by_vault(&self) -> BTreeMap<u16, u64> {
        let mut counts: BTreeMap<u16, u64> = BTreeMap::new();
        let is_settled =
            |id| self.judged.get(id).is_some_and(|told| (told.is_settled, told.is_paid) == (1, 1));
        for record in self.all.iter() {
            if record.release.is_some() && !is_settled(&record.withdrawal) {
                *counts.entry(record.vault).or_default() += 1;
            }
        }
        for alarm in self.alarms.iter().filter(|alarm| alarm.block != 0) {
            *counts.entry(alarm.vault).or_default() += 1;
        }
        counts
    }

    /// Why requests are refused, where the chain's side has a reason: what was last said of its pauses.
    pub fn pause_reason(&self) -> Option<&str> {
        (self.paused & !pause::OPERATOR != 0)
            .then(|| text(&self.pause_reason))
            .filter(|text| !text.is_empty())
    }

    /// Bits of [`ringside_core::command::pause`] in force.
    pub fn paused(&self) -> u32 {
        self.paused
    }

    /// Releases that must be impossible, oldest first.
    pub fn alarms(&self) -> &[event::ReleaseAlarm] {
        &self.alarms
    }

    /// Those that are neither paid nor given back because the vault paid something else for their nonce, with what that was,
    /// oldest first.
    pub fn disputed(
        &self,
        accounts: &AccountView,
    ) -> impl Iterator<Item = (&WithdrawalRecord, &event::ReleaseAlarm)> {
        let mismatched = self.alarms.iter().filter(|alarm| {
            alarm.reason == AlarmReason::Mismatch as u8 && !self.undone.contains(&alarm.tx_hash)
        });
        let pairs = mismatched.filter_map(|alarm| Some((self.disputed_by(accounts, alarm)?, alarm)));
        pairs.filter(|(record, _)| record.status == WithdrawalStatus::Signed)
    }

    /// What held the nonce of a mismatched release. The nonce is used up by that, so it was the last.
    fn disputed_by(&self, accounts: &AccountView, alarm: &event::ReleaseAlarm) -> Option<&WithdrawalRecord> {
        let mut own = self.of_account(accounts.of_address(&alarm.account)?);
        own.find(|record| (record.vault, record.nonce) == (alarm.vault, alarm.nonce))
    }

    /// What operators last said of a withdrawal that is or was disputed.
    pub fn judged(&self, withdrawal: WithdrawalId) -> Option<&event::WithdrawalJudged> {
        self.judged.get(&withdrawal)
    }

    /// Folds what operators say of a disputed one. What counts as paid was paid by the release that raised the alarm.
    pub(super) fn judge(&mut self, accounts: &AccountView, told: &event::WithdrawalJudged, time_ns: i64) {
        self.judged.insert(told.withdrawal, *told);
        if (told.is_settled, told.is_paid) != (1, 1) {
            return;
        }
        let is_it = |alarm: &&event::ReleaseAlarm| {
            self.disputed_by(accounts, alarm).is_some_and(|record| record.withdrawal == told.withdrawal)
        };
        let Some(&event::ReleaseAlarm { tx_hash, block, .. }) = self.alarms.iter().find(is_it) else {
            return;
        };
        let confirmed_at_s = (time_ns / 1_000_000_000).max(0) as u64;
        self.with(told.withdrawal, |record| {
            record.release = Some(ReleaseRecord { tx_hash, block, confirmed_at_s });
        });
    }

    /// What withdrawals of the perpetual ledger hold: added up one by one, and as it was told change by change.
    pub fn on_their_way(&self) -> (Amount, Amount) {
        (self.all.iter().map(WithdrawalRecord::on_its_way).sum(), self.on_their_way)
    }

    /// How many of a ledger have a status.
    pub fn count(&self, ledger: Ledger, status: WithdrawalStatus) -> u64 {
        self.counts.get(&(ledger as u8, status as u8)).copied().unwrap_or(0)
    }

    /// Folds an event of withdrawals.
    pub(super) fn fold(&mut self, event: &Event) {
        if let Some(told) = event.get::<event::Withdrawal>() {
            self.changed(event.sequence, told);
        } else if let Some(told) = event.get::<event::WithdrawalSigned>() {
            self.with(told.withdrawal, |record| record.signature = Some(told.signature));
            self.unsigned.remove(&told.withdrawal);
        } else if let Some(told) = event.get::<event::WithdrawalReleased>() {
            let confirmed_at_s = (event.time_ns / 1_000_000_000).max(0) as u64;
            let release = ReleaseRecord { tx_hash: told.tx_hash, block: told.block, confirmed_at_s };
            self.with(told.withdrawal, |record| record.release = Some(release));
        } else if let Some(told) = event.get::<event::VaultOpened>() {
            let event::VaultOpened { chain_id, address, name, .. } = *told;
            self.vaults.push(VaultRecord { chain_id, address, name, block: 0, hash: [0; 32], time_s: 0 });
        } else if let Some(told) = event.get::<event::ChainAdvanced>() {
            if let Some(vault) = self.vaults.get_mut(usize::from(told.vault)) {
                (vault.block, vault.hash, vault.time_s) = (told.block, told.hash, told.time_s);
            }
        } else if let Some(told) = event.get::<event::VaultRewind>() {
            let vault = self.vaults.get_mut(usize::from(told.vault));
            if let Some(vault) = vault.filter(|_| told.stage == event::RewindStage::Done as u8) {
                (vault.block, vault.hash, vault.time_s) = (told.block, told.hash, told.time_s);
            }
        } else if let Some(told) = event.get::<event::ReleaseAlarm>() {
            self.alarms.push(*told);
        } else if let Some(told) = event.get::<event::WithdrawalsPaused>() {
            if (self.paused ^ told.paused) & !pause::OPERATOR != 0 && told.paused & !pause::OPERATOR != 0 {
                self.pause_reason = told.reason;
            }
            self.paused = told.paused;
        } else if let Some(told) = event.get::<event::ReleaseUndone>() {
            let is_it = |alarm: &&event::ReleaseAlarm| {
                (alarm.vault, alarm.account, alarm.nonce) == (told.vault, told.account, told.nonce)
                    && alarm.block != 0
            };
            self.undone.extend(self.alarms.iter().filter(is_it).map(|alarm| alarm.tx_hash));
        }
    }

    fn changed(&mut self, sequence: Sequence, told: &event::Withdrawal) {
        let (Some(ledger), Some(status)) =
            (Ledger::from_code(told.ledger), WithdrawalStatus::from_code(told.status))
        else {
            return;
        };
        if told.is_adopted == event::RECONFIRMED_LATER {
            self.with(told.withdrawal, |record| record.release = None);
        }
        if status == WithdrawalStatus::Requested || told.is_adopted == 1 {
            self.put(WithdrawalRecord {
                withdrawal: told.withdrawal,
                sequence,
                account: told.account,
                asset: told.asset,
                vault: told.vault,
                ledger,
                status,
                amount: told.amount.get(),
                token: told.token,
                nonce: told.nonce,
                requested_at_s: told.requested_at_s,
                deadline_s: told.deadline_s,
                signature: None,
                release: None,
            });
        } else {
            let was = self.get(told.withdrawal).map_or(0, WithdrawalRecord::on_its_way);
            let mut before = status;
            self.with(told.withdrawal, |record| before = std::mem::replace(&mut record.status, status));
            self.on_their_way += self.get(told.withdrawal).map_or(0, WithdrawalRecord::on_its_way) - was;
            if let Some(count) = self.counts.get_mut(&(told.ledger, before as u8)) {
                *count -= 1;
                *self.counts.entry((told.ledger, status as u8)).or_default() += 1;
            }
            if !matches!(status, WithdrawalStatus::Void | WithdrawalStatus::Signed) {
                self.unsigned.remove(&told.withdrawal);
            }
        }
    }

    fn put(&mut self, record: WithdrawalRecord) {
        // Numbers are dense, in order of the requests.
        assert_eq!(record.withdrawal, self.all.len() as u64 + 1, "withdrawals are told in order");
        self.by_account.entry(record.account).or_default().push(record.withdrawal);
        *self.counts.entry((record.ledger as u8, record.status as u8)).or_default() += 1;
        let is_open = record.status.holds_amount() || record.status == WithdrawalStatus::Void;
        if is_open && record.signature.is_none() {
            self.unsigned.insert(record.withdrawal);
        }
        self.on_their_way += record.on_its_way();
        self.all.push(record);
    }

    fn with(&mut self, withdrawal: WithdrawalId, change: impl FnOnce(&mut WithdrawalRecord)) {
        let place = usize::try_from(withdrawal.wrapping_sub(1)).ok();
        if let Some(record) = place.and_then(|place| self.all.get_mut(place)) {
            change(record);
        }
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.u64(self.paused.into());
        writer.count(self.vaults.len());
        for vault in &self.vaults {
            writer.u64(vault.chain_id);
            writer.fixed(&vault.address);
            writer.fixed(&vault.name);
            writer.u64(vault.block);
            writer.fixed(&vault.hash);
            writer.u64(vault.time_s);
        }
        writer.records(self.alarms.iter());
        writer.count(self.all.len());
        for record in self.all.iter() {
            writer.u64(record.sequence);
            writer.u64(record.account.into());
            writer.u64(record.asset.into());
            writer.u64(record.vault.into());
            writer.fixed(&[record.ledger as u8, record.status as u8]);
            writer.i128(record.amount);
            writer.fixed(&record.token);
            writer.u64(record.nonce);
            writer.u64(record.requested_at_s);
            writer.u64(record.deadline_s);
            writer.count(usize::from(record.signature.is_some()));
            record.signature.iter().for_each(|signature| writer.fixed(signature));
            writer.count(usize::from(record.release.is_some()));
            if let Some(release) = &record.release {
                writer.fixed(&release.tx_hash);
                writer.u64(release.block);
                writer.u64(release.confirmed_at_s);
            }
        }
        writer.records(self.judged.values());
        writer.fixed(&self.pause_reason);
        writer.count(self.undone.len());
        self.undone.iter().for_each(|tx_hash| writer.fixed(tx_hash));
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<WithdrawalView, LoadError> {
        let mut view = WithdrawalView { paused: reader.uint("pauses")?, ..WithdrawalView::default() };
        for _ in 0..reader.count()? {
            view.vaults.push(VaultRecord {
                chain_id: reader.u64()?,
                address: reader.fixed()?,
                name: reader.fixed()?,
                block: reader.u64()?,
                hash: reader.fixed()?,
                time_s: reader.u64()?,
            });
        }
        view.alarms = reader.records()?;
        for number in 1..=reader.count()? as u64 {
            let record = WithdrawalRecord {
                withdrawal: number,
                sequence: reader.u64()?,
                account: reader.account()?,
                asset: reader.uint("asset")?,
                vault: reader.uint("vault")?,
                ledger: reader.code("ledger", Ledger::from_code)?,
                status: reader.code("status", WithdrawalStatus::from_code)?,
                amount: reader.i128()?,
                token: reader.fixed()?,
                nonce: reader.u64()?,
                requested_at_s: reader.u64()?,
                deadline_s: reader.u64()?,
                signature: match reader.count()? {
                    0 => None,
                    _ => Some(reader.fixed()?),
                },
                release: match reader.count()? {
                    0 => None,
                    _ => Some(ReleaseRecord {
                        tx_hash: reader.fixed()?,
                        block: reader.u64()?,
                        confirmed_at_s: reader.u64()?,
                    }),
                },
            };
            view.put(record);
        }
        if !reader.is_left_out() {
            let judged = reader.records::<event::WithdrawalJudged>()?;
            view.judged = judged.into_iter().map(|judged| (judged.withdrawal, judged)).collect();
        }
        if reader.version(Kept::Withdrawals) >= 2 {
            view.pause_reason = reader.fixed()?;
            for _ in 0..reader.count()? {
                view.undone.insert(reader.fixed()?);
            }
        }
        Ok(view)
    }
}
