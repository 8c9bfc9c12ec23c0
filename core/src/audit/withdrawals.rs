//! Withdrawals as they are told: each goes only ways that exist, and of those of the perpetual ledger the amounts leave
//! their wallets and come back exactly once.

use crate::command::{Kind, Ledger, WithdrawalStatus as Status};
use crate::engine::Engine;
use crate::event::{Done, Posting, PostingReason, RECONFIRMED_LATER, Withdrawal};
use crate::ids::{AccountId, WithdrawalId};
use std::collections::BTreeMap;

/// Amount steps of a micro.
const STEPS_PER_MICRO: i128 = 1_000_000_000_000;

/// A withdrawal that has not ended.
#[derive(Clone, Copy)]
struct Open {
    account: AccountId,
    ledger: Ledger,
    status: Status,
    amount: i128,
}

/// See the module.
#[derive(Default)]
pub(super) struct Withdrawals {
    open: BTreeMap<WithdrawalId, Open>,
    /// What the running command's withdrawals take from wallets, less what its postings say; in amount steps.
    due: BTreeMap<AccountId, i128>,
    /// How many withdrawals the running command told.
    told: u32,
}

impl Withdrawals {
    pub(super) fn of(engine: &Engine) -> Withdrawals {
        let open = engine.withdrawals().map(|found| {
            let (account, ledger, status) = (found.account, found.ledger, found.status);
            (found.withdrawal, Open { account, ledger, status, amount: found.amount })
        });
        Withdrawals { open: open.collect(), ..Withdrawals::default() }
    }

    pub(super) fn told(&mut self, told: &Withdrawal) -> Result<(), String> {
        let (Some(ledger), Some(status)) = (Ledger::from_code(told.ledger), Status::from_code(told.status))
        else {
            return Err("neither ledger nor status".into());
        };
        let now = Open { account: told.account, ledger, status, amount: told.amount.get() };
        let before = self.open.remove(&told.withdrawal);
        let is_same = before.is_none_or(|before| {
            (before.account, before.ledger, before.amount) == (now.account, now.ledger, now.amount)
        });
        let moved = match (before.map(|before| before.status), status) {
            (None, Status::Requested) => -1,
            (None, Status::Signed) if told.is_adopted == 1 => -1,
            // What it took was gone for good, and is on its way again.
            (None, Status::Signed) if told.is_adopted == RECONFIRMED_LATER => 0,
            (Some(Status::Requested | Status::Signed), Status::Signed) => 0,
            (Some(Status::Requested | Status::Signed), Status::Confirmed) => 0,
            (Some(Status::Requested | Status::Signed), Status::Expired) => 1,
            (Some(Status::Requested), Status::Returned | Status::Void) => 1,
            (Some(Status::Void), Status::Returned) => 0,
            (before, _) => return Err(format!("it was {before:?}")),
        };
        if !is_same || now.amount <= 0 {
            return Err("another account, ledger or amount than before".into());
        }
        if status.holds_amount() || status == Status::Void {
            self.open.insert(told.withdrawal, now);
        }
        if ledger == Ledger::Perpetual {
            *self.due.entry(now.account).or_default() += moved * now.amount;
        }
        self.told += 1;
        Ok(())
    }

    pub(super) fn posted(&mut self, posting: &Posting) {
        if posting.reason == PostingReason::Transfer as u8 {
            *self.due.entry(posting.account).or_default() -= i128::from(posting.amount) * STEPS_PER_MICRO;
        }
    }

    /// The end of a command.
    pub(super) fn done(&mut self, done: &Done) -> Result<(), String> {
        let due = std::mem::take(&mut self.due);
        let told = std::mem::take(&mut self.told);
        let is_withdrawal = (Kind::RequestWithdrawal as u16..=Kind::SettleWithdrawal as u16)
            .contains(&done.command)
            || [Kind::ObserveVault as u16, Kind::UndoEvent as u16].contains(&done.command);
        if !is_withdrawal {
            return if told == 0 { Ok(()) } else { Err("a withdrawal that no command asked for".into()) };
        }
        match due.iter().find(|(_, due)| **due != 0) {
            None => Ok(()),
            Some((account, due)) => {
                Err(format!("withdrawals and postings of account {account} differ by {due}"))
            }
        }
    }
}
