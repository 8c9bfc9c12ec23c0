//! A small model of the venue's half: balances, withdrawals, nonces, as `spot.md` 10 has them; and the port through which the
//! watcher tells it. Panics at what must be impossible.

use crate::world::{CHAIN_ID, Submission, TOKEN, VAULT, World};
use ringside_core::ids::Address;
use ringside_gateway::chain::{
    FinalBlock, FinalRelease, Issued, Local, Release, ReleaseKey, Told, WatchPort,
};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Seconds from a request to its deadline.
pub(crate) const LIFETIME_S: u64 = 600;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Signed,
    Confirmed,
    Expired,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Withdrawal {
    pub(crate) submission: Submission,
    pub(crate) status: Status,
}

/// What survives a crash, and what a backup is a copy of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) available: BTreeMap<Address, u128>,
    pub(crate) withdrawals: Vec<Withdrawal>,
    /// Releases that are final, by account.
    released: BTreeMap<Address, u64>,
    pub(crate) cursor: Option<FinalBlock>,
    pub(crate) time_s: u64,
    pub(crate) is_paused: bool,
    pub(crate) alarms: u32,
}

impl Ledger {
    pub(crate) fn new(accounts: &[Address], each: u128, time_s: u64) -> Ledger {
        let available = accounts.iter().map(|account| (*account, each)).collect();
        Ledger { available, time_s, ..Ledger::default() }
    }

    fn open(&mut self, account: &Address, nonce: u64) -> Option<&mut Withdrawal> {
        self.withdrawals.iter_mut().find(|withdrawal| {
            withdrawal.status == Status::Signed
                && withdrawal.submission.account == *account
                && withdrawal.submission.nonce == nonce
        })
    }

    pub(crate) fn open_count(&self) -> usize {
        self.withdrawals.iter().filter(|withdrawal| withdrawal.status == Status::Signed).count()
    }

    /// Takes an amount and the smallest free nonce; what the signer is to sign.
    pub(crate) fn request(&mut self, account: Address, value: u128) -> Option<Release> {
        let available = self.available.get_mut(&account)?;
        *available = available.checked_sub(value)?;
        let mut nonce = self.released.get(&account).copied().unwrap_or(0);
        while self.open(&account, nonce).is_some() {
            nonce += 1;
        }
        let deadline_s = self.time_s + LIFETIME_S;
        let submission = Submission { account, value, nonce, deadline_s };
        self.withdrawals.push(Withdrawal { submission, status: Status::Signed });
        Some(Release {
            key: ReleaseKey { chain_id: CHAIN_ID, vault: VAULT, account, nonce },
            vault_name: "SpotVault".to_owned(),
            token: TOKEN,
            value,
            deadline_s,
            requested_at_s: self.time_s,
            withdrawal: self.withdrawals.len() as u64,
        })
    }

    /// After an older copy was restored: takes in what the signer has signed since.
    pub(crate) fn adopt(&mut self, issued: &[Issued]) {
        for Issued { release, .. } in issued {
            let submission = Submission {
                account: release.key.account,
                value: release.value,
                nonce: release.key.nonce,
                deadline_s: release.deadline_s,
            };
            if self.withdrawals.iter().any(|known| known.submission == submission) {
                continue;
            }
            let available = self.available.get_mut(&submission.account).unwrap();
            *available =
                available.checked_sub(submission.value).expect("the copy has what was not taken yet");
            self.withdrawals.push(Withdrawal { submission, status: Status::Signed });
            self.time_s = self.time_s.max(release.requested_at_s);
        }
    }
}

/// The port to a ledger, which may be busy. What it is told is compared with the world.
pub(crate) struct ModelPort {
    pub(crate) ledger: Rc<RefCell<Ledger>>,
    pub(crate) world: Rc<RefCell<World>>,
    /// Whether the next fact is not taken.
    pub(crate) is_busy: Rc<dyn Fn() -> bool>,
    /// Depth below which a told block must lie.
    pub(crate) confirmations: u64,
}

impl ModelPort {
    fn assert_final(&self, number: u64) {
        let head = self.world.borrow().head().number;
        assert!(number + self.confirmations <= head, "block {number} was told at {head}");
    }
}

impl WatchPort for ModelPort {
    fn cursor(&self, _: u64, _: &Address) -> Option<FinalBlock> {
        self.ledger.borrow().cursor
    }

    fn release(&self, release: FinalRelease) -> Local<'_, Told> {
        if (self.is_busy)() {
            return Box::pin(async { Told::Later });
        }
        self.assert_final(release.block);
        assert_eq!((release.key.chain_id, release.key.vault), (CHAIN_ID, VAULT));
        let block = self.world.borrow().canonical[release.block as usize].clone();
        let truly = block
            .paid
            .iter()
            .find(|paid| paid.account == release.key.account && paid.nonce == release.key.nonce);
        let truly = truly.expect("what is told has happened");
        assert_eq!((truly.value, TOKEN, block.time_s), (release.value, release.token, release.block_time_s));
        assert_eq!(crate::world::tx_hash(truly), release.tx_hash);
        let mut ledger = self.ledger.borrow_mut();
        let released = ledger.released.entry(release.key.account).or_default();
        if release.key.nonce < *released {
            return Box::pin(async { Told::Known });
        }
        assert_eq!(release.key.nonce, *released, "releases of an account come in order");
        *released += 1;
        match ledger.open(&release.key.account, release.key.nonce) {
            Some(found) if found.submission.value == release.value => found.status = Status::Confirmed,
            _ => {
                ledger.alarms += 1;
                return Box::pin(async { Told::Alarm });
            }
        }
        Box::pin(async { Told::Taken })
    }

    fn advance(&self, block: FinalBlock) -> Local<'_, Told> {
        if (self.is_busy)() {
            return Box::pin(async { Told::Later });
        }
        self.assert_final(block.block);
        let truly = &self.world.borrow().canonical[block.block as usize];
        assert_eq!((truly.hash, truly.time_s), (block.hash, block.time_s));
        let ledger = &mut *self.ledger.borrow_mut();
        assert!(ledger.cursor.is_none_or(|cursor| cursor.block < block.block));
        ledger.cursor = Some(block);
        ledger.time_s = ledger.time_s.max(block.time_s);
        for withdrawal in &mut ledger.withdrawals {
            let Submission { account, value, deadline_s, .. } = withdrawal.submission;
            if withdrawal.status == Status::Signed && block.time_s > deadline_s {
                withdrawal.status = Status::Expired;
                *ledger.available.get_mut(&account).unwrap() += value;
            }
        }
        Box::pin(async { Told::Taken })
    }

    fn pause(&self, is_paused: bool) -> Local<'_, Told> {
        self.ledger.borrow_mut().is_paused = is_paused;
        Box::pin(async { Told::Taken })
    }

    fn seen(&self, _: ReleaseKey, _: [u8; 32], _: u64) {}
}
