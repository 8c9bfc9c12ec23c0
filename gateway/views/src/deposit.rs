//! Deposits of every address, the tokens that are known, and what is known of vaults beside withdrawals: whose signatures they
//! pay for, how many events of each were taken, and earlier final blocks of each. All deposits stay in memory for good, 230 bytes
//! each and 8 for the list of their address: each has cost somebody a fee of the chain.

use super::codec::{LoadError, Reader, Writer};
use super::segmented_vec::SegmentedVec;
use super::withdrawal::{VaultRecord, WithdrawalView};
use ringside_core::command::{DECIMALS_MAX, DepositStatus, HeldReason, Ledger};
use ringside_core::event::{self, Event, RewindStage};
use ringside_core::ids::{Address, AssetId};
use ringside_core::money::Amount;
use std::collections::{BTreeMap, HashMap, VecDeque};

/// Final blocks remembered of each vault: how far back a reorganization of final blocks is understood.
const MARKS_MAX: usize = 512;

/// A token of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRecord {
    /// EIP-155 number of the chain.
    pub chain_id: u64,
    /// The contract.
    pub address: Address,
    /// What it is.
    pub asset: AssetId,
    /// Decimals of its base unit.
    pub decimals: u8,
    /// Bits of [`ringside_core::command::token_pause`].
    pub paused: u8,
    /// Least amount of a withdrawal from a spot balance.
    pub minimum: Amount,
}

impl TokenRecord {
    /// Amount steps of a base unit.
    pub fn steps(&self) -> Amount {
        10i128.pow(u32::from(DECIMALS_MAX - self.decimals))
    }
}

/// A deposit that was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DepositRecord {
    /// Which of the vaults.
    pub vault: u16,
    /// Its number there.
    pub number: u64,
    /// Wallet address of the account.
    pub address: Address,
    /// Contract of the token.
    pub token: Address,
    /// What arrived, in base units.
    pub value: u128,
    /// What was added to the available balance.
    pub amount: Amount,
    /// Of what; while it is held nobody knows.
    pub asset: Option<AssetId>,
    /// Where it stands.
    pub status: DepositStatus,
    /// What holds it.
    pub reason: HeldReason,
    /// Hash of the transaction.
    pub tx_hash: [u8; 32],
    /// Its block.
    pub block: u64,
    /// Timestamp of that block, UNIX seconds.
    pub block_time_s: u64,
    /// When it was credited, UNIX seconds; 0 before.
    pub credited_at_s: u64,
}

/// A final block of a vault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its number.
    pub block: u64,
    /// Its hash.
    pub hash: [u8; 32],
    /// Its timestamp, UNIX seconds.
    pub time_s: u64,
}

/// What is known of a vault beside its last final block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VaultBook {
    /// Whose signatures it pays for; zeros while nobody is known.
    pub signer: Address,
    /// Releases that were taken.
    pub releases: u64,
    /// The highest block of an event that was taken.
    pub last_block: u64,
    /// What operators want of it where its final blocks were replaced.
    pub rewind: Option<event::VaultRewind>,
    /// Final blocks, oldest first.
    marks: VecDeque<Mark>,
    /// Place of each deposit, by its number less one.
    deposits: Vec<usize>,
}

impl VaultBook {
    /// Deposits that were taken: the number of the last.
    pub fn deposits(&self) -> u64 {
        self.deposits.len() as u64
    }

    fn released(&mut self, block: u64) {
        self.releases += 1;
        self.last_block = self.last_block.max(block);
    }

    /// Final blocks that were told, newest first.
    pub fn marks(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter().rev()
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct DepositView {
    tokens: BTreeMap<(u64, Address), TokenRecord>,
    vaults: BTreeMap<u16, VaultBook>,
    all: SegmentedVec<DepositRecord>,
    by_address: HashMap<Address, Vec<usize>>,
    /// Places of those that are held.
    held: BTreeMap<(u16, u64), usize>,
    /// The one whose block is told next.
    running: Option<usize>,
}

impl DepositView {
    /// Tokens, by chain and contract.
    pub fn tokens(&self) -> impl Iterator<Item = &TokenRecord> {
        self.tokens.values()
    }

    /// A token of a chain.
    pub fn token(&self, chain_id: u64, address: &Address) -> Option<&TokenRecord> {
        self.tokens.get(&(chain_id, *address))
    }

    /// The token that an asset is on a chain.
    pub fn token_of(&self, chain_id: u64, asset: AssetId) -> Option<&TokenRecord> {
        self.tokens.values().find(|token| (token.chain_id, token.asset) == (chain_id, asset))
    }

    /// Amount steps of a base unit of a token that is withdrawn; one that is not known has the decimals of its ledger.
    pub fn steps_of(&self, chain_id: u64, token: &Address, ledger: Ledger) -> Amount {
        self.token(chain_id, token).map_or(
            match ledger {
                Ledger::Spot => 1,
                Ledger::Perpetual => 1_000_000_000_000,
            },
            TokenRecord::steps,
        )
    }

    /// What is known of a vault.
    pub fn vault(&self, vault: u16) -> Option<&VaultBook> {
        self.vaults.get(&vault)
    }

    /// A deposit that was taken.
    pub fn get(&self, vault: u16, number: u64) -> Option<&DepositRecord> {
        let place = usize::try_from(number.checked_sub(1)?).ok()?;
        self.all.get(*self.vault(vault)?.deposits.get(place)?)
    }

    /// All that were ever taken, undone ones as well, in order.
    pub fn iter(&self) -> impl Iterator<Item = &DepositRecord> {
        self.all.iter()
    }

    /// Those of an address that were not undone, newest first.
    pub fn of_address(&self, address: &Address) -> impl Iterator<Item = &DepositRecord> {
        let places = self.by_address.get(address).map_or(&[][..], Vec::as_slice);
        let own = places.iter().rev().filter_map(|&place| self.all.get(place));
        own.filter(|record| record.status != DepositStatus::Undone)
    }

    /// Those that are held, by vault and number.
    pub fn held(&self) -> impl Iterator<Item = &DepositRecord> {
        self.held.values().filter_map(|&place| self.all.get(place))
    }

    /// How many have a status.
    pub fn count(&self, status: DepositStatus) -> usize {
        match status {
            DepositStatus::Held => self.held.len(),
            _ => self.all.iter().filter(|record| record.status == status).count(),
        }
    }

    /// Deposits of a vault in blocks above one, the last first.
    pub fn above(&self, vault: u16, block: u64) -> impl Iterator<Item = &DepositRecord> {
        let places = self.vault(vault).map_or(&[][..], |book| book.deposits.as_slice());
        let all = places.iter().rev().filter_map(|&place| self.all.get(place));
        all.take_while(move |record| record.block > block)
    }

    fn book(&mut self, vault: u16) -> &mut VaultBook {
        self.vaults.entry(vault).or_default()
    }

    /// Folds an event of deposits, or one of withdrawals that says something of a vault.
    pub(super) fn fold(&mut self, event: &Event, withdrawals: &WithdrawalView) {
        let time_s = (event.time_ns / 1_000_000_000).max(0) as u64;
        if let Some(told) = event.get::<event::Deposit>() {
            self.deposit(told, time_s);
        } else if let Some(told) = event.get::<event::DepositBlock>() {
            let book = self.book(told.vault);
            book.last_block = book.last_block.max(told.block);
            if let Some(record) = self.running.take().and_then(|place| self.all.get_mut(place)) {
                (record.tx_hash, record.block, record.block_time_s) =
                    (told.tx_hash, told.block, told.block_time_s);
            }
        } else if let Some(told) = event.get::<event::Token>() {
            let event::Token { chain_id, address, asset, decimals, paused, .. } = *told;
            let token =
                TokenRecord { chain_id, address, asset, decimals, paused, minimum: told.minimum.get() };
            self.tokens.insert((chain_id, address), token);
        } else if let Some(told) = event.get::<event::VaultSigner>() {
            self.book(told.vault).signer = told.signer;
        } else if let Some(told) = event.get::<event::ReleaseUndone>() {
            let book = self.book(told.vault);
            book.releases = book.releases.saturating_sub(1);
        } else if let Some(told) = event.get::<event::WithdrawalReleased>() {
            if let Some(record) = withdrawals.get(told.withdrawal) {
                self.book(record.vault).released(told.block);
            }
        } else if let Some(told) = event.get::<event::ReleaseAlarm>() {
            // An adoption has no block, and released nothing.
            if told.block != 0 {
                self.book(told.vault).released(told.block);
            }
        } else if let Some(told) = event.get::<event::ChainAdvanced>() {
            let mark = Mark { block: told.block, hash: told.hash, time_s: told.time_s };
            let marks = &mut self.book(told.vault).marks;
            if marks.len() == MARKS_MAX {
                marks.pop_front();
            }
            marks.push_back(mark);
        } else if let Some(told) = event.get::<event::VaultRewind>() {
            let is_done = told.stage == RewindStage::Done as u8;
            let book = self.book(told.vault);
            book.rewind = (!is_done).then_some(*told);
            if is_done {
                book.marks.retain(|mark| mark.block <= told.block);
                book.last_block = book.last_block.min(told.block);
            }
        }
    }

    fn deposit(&mut self, told: &event::Deposit, time_s: u64) {
        let (Some(status), Some(reason)) =
            (DepositStatus::from_code(told.status), HeldReason::from_code(told.reason))
        else {
            return;
        };
        let place = (told.vault, told.number);
        let known = self.held.remove(&place);
        let credited = |record: &mut DepositRecord| {
            (record.status, record.reason) = (status, reason);
            (record.amount, record.asset) = (told.amount.get(), Some(told.asset));
            record.credited_at_s = time_s;
        };
        match status {
            DepositStatus::Undone => {
                let place = self.book(told.vault).deposits.pop();
                if let Some(record) = place.and_then(|place| self.all.get_mut(place)) {
                    record.status = status;
                }
            }
            DepositStatus::Credited if known.is_some() => {
                if let Some(record) = known.and_then(|place| self.all.get_mut(place)) {
                    credited(record);
                }
            }
            DepositStatus::Credited | DepositStatus::Held => {
                let mut record = DepositRecord {
                    vault: told.vault,
                    number: told.number,
                    address: told.address,
                    token: told.token,
                    value: told.value.get() as u128,
                    amount: 0,
                    asset: None,
                    status,
                    reason,
                    tx_hash: [0; 32],
                    block: 0,
                    block_time_s: 0,
                    credited_at_s: 0,
                };
                if status == DepositStatus::Credited {
                    credited(&mut record);
                }
                self.running = Some(self.put(record));
            }
        }
    }

    fn put(&mut self, record: DepositRecord) -> usize {
        let place = self.all.len();
        if record.status == DepositStatus::Held {
            self.held.insert((record.vault, record.number), place);
        }
        if record.status != DepositStatus::Undone {
            let deposits = &mut self.book(record.vault).deposits;
            assert_eq!(record.number, deposits.len() as u64 + 1, "deposits are told in order");
            deposits.push(place);
        }
        self.by_address.entry(record.address).or_default().push(place);
        self.all.push(record);
        place
    }

    /// What follows for vaults from withdrawals that were folded before there was this view.
    pub(super) fn of(withdrawals: &WithdrawalView) -> DepositView {
        let mut view = DepositView::default();
        for (vault, releases) in withdrawals.releases_by_vault() {
            view.book(vault).releases = releases;
        }
        for (number, &VaultRecord { block, hash, time_s, .. }) in withdrawals.vaults().enumerate() {
            if block > 0 {
                view.book(number as u16).marks.push_back(Mark { block, hash, time_s });
            }
        }
        view
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.tokens.len());
        for token in self.tokens.values() {
            writer.u64(token.chain_id);
            writer.fixed(&token.address);
            writer.u64(token.asset.into());
            writer.fixed(&[token.decimals, token.paused]);
            writer.i128(token.minimum);
        }
        writer.count(self.vaults.len());
        for (number, book) in &self.vaults {
            writer.u64((*number).into());
            writer.fixed(&book.signer);
            writer.u64(book.releases);
            writer.u64(book.last_block);
            writer.count(usize::from(book.rewind.is_some()));
            if let Some(rewind) = &book.rewind {
                writer.fixed(&[rewind.stage]);
                writer.u64(rewind.block);
                writer.fixed(&rewind.hash);
                writer.u64(rewind.time_s);
                writer.fixed(&rewind.proposed_by);
                writer.fixed(&rewind.agreed_by);
            }
            writer.count(book.marks.len());
            for mark in &book.marks {
                writer.u64(mark.block);
                writer.fixed(&mark.hash);
                writer.u64(mark.time_s);
            }
        }
        writer.count(self.all.len());
        for record in self.all.iter() {
            writer.u64(record.vault.into());
            writer.u64(record.number);
            writer.fixed(&record.address);
            writer.fixed(&record.token);
            writer.i128(record.value as i128);
            writer.i128(record.amount);
            writer.count(usize::from(record.asset.is_some()));
            record.asset.iter().for_each(|asset| writer.u64((*asset).into()));
            writer.fixed(&[record.status as u8, record.reason as u8]);
            writer.fixed(&record.tx_hash);
            writer.u64(record.block);
            writer.u64(record.block_time_s);
            writer.u64(record.credited_at_s);
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<DepositView, LoadError> {
        let mut view = DepositView::default();
        for _ in 0..reader.count()? {
            let token = TokenRecord {
                chain_id: reader.u64()?,
                address: reader.fixed()?,
                asset: reader.uint("asset")?,
                decimals: reader.u8()?,
                paused: reader.u8()?,
                minimum: reader.i128()?,
            };
            view.tokens.insert((token.chain_id, token.address), token);
        }
        for _ in 0..reader.count()? {
            let number = reader.uint("vault")?;
            let (signer, releases, last_block) = (reader.fixed()?, reader.u64()?, reader.u64()?);
            let rewind = match reader.count()? {
                0 => None,
                _ => Some(event::VaultRewind {
                    vault: number,
                    stage: reader.u8()?,
                    reserved: [0; 5],
                    block: reader.u64()?,
                    hash: reader.fixed()?,
                    time_s: reader.u64()?,
                    proposed_by: reader.fixed()?,
                    agreed_by: reader.fixed()?,
                }),
            };
            let mut marks = VecDeque::new();
            for _ in 0..reader.count()? {
                let (block, hash, time_s) = (reader.u64()?, reader.fixed()?, reader.u64()?);
                marks.push_back(Mark { block, hash, time_s });
            }
            view.vaults.insert(
                number,
                VaultBook { signer, releases, last_block, rewind, marks, deposits: Vec::new() },
            );
        }
        for _ in 0..reader.count()? {
            let record = DepositRecord {
                vault: reader.uint("vault")?,
                number: reader.u64()?,
                address: reader.fixed()?,
                token: reader.fixed()?,
                value: reader.i128()? as u128,
                amount: reader.i128()?,
                asset: match reader.count()? {
                    0 => None,
                    _ => Some(reader.uint("asset")?),
                },
                status: reader.code("status", DepositStatus::from_code)?,
                reason: reader.code("reason", HeldReason::from_code)?,
                tx_hash: reader.fixed()?,
                block: reader.u64()?,
                block_time_s: reader.u64()?,
                credited_at_s: reader.u64()?,
            };
            view.put(record);
        }
        Ok(view)
    }
}
