//! The way back where the chain replaced blocks that were final: two operators agree on the block that is still there, what
//! stood above it is taken back event by event, and the watch goes on from that block.
//!
//! Nobody loses by it: a withdrawal that was confirmed is on its way again, and is paid or expires; a deposit that was credited
//! stays so, and when it is mined again it is not credited again.

use super::super::{Engine, Outcome};
use super::{Place, tell};
use crate::command::{DepositStatus, HeldReason, Ledger, RewindVault, UndoEvent, WithdrawalStatus};
use crate::deposit::{Held, Rewind};
use crate::emit::Emitter;
use crate::event::{self, RewindStage, Sink};
use crate::ids::FEE_ACCOUNT;
use crate::reject::Reject;
use crate::withdrawal::Withdrawal;

impl Engine {
    /// See [`RewindVault`].
    pub(super) fn rewind_vault<S: Sink>(
        &mut self,
        told: &RewindVault,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let RewindVault { chain_id, block, hash, time_s, operator, .. } = *told;
        let vault = self.withdrawals.vault(chain_id, &told.vault).ok_or(Reject::VaultNotFound)?;
        let last = self.withdrawals.vaults[vault as usize];
        if block > last.block || (block == last.block && hash != last.hash) || time_s > last.time_s {
            return Err(Reject::Malformed);
        }
        let is_it = |known: &Rewind| (known.block, known.hash, known.time_s) == (block, hash, time_s);
        let known = self.deposits.vault(vault).rewind.filter(is_it);
        let (rewind, stage) = if operator == [0; 16] {
            (known.filter(Rewind::is_agreed).ok_or(Reject::NotRewinding)?, RewindStage::Done)
        } else {
            match known {
                Some(known) if known.is_agreed() => (known, RewindStage::Agreed),
                Some(known) if known.proposed_by != operator => {
                    (Rewind { agreed_by: operator, ..known }, RewindStage::Agreed)
                }
                _ => {
                    let (proposed_by, agreed_by) = (operator, [0; 16]);
                    (Rewind { block, hash, time_s, proposed_by, agreed_by }, RewindStage::Proposed)
                }
            }
        };
        let book = self.deposits.vaults.entry(vault).or_default();
        book.rewind = (stage != RewindStage::Done).then_some(rewind);
        if stage == RewindStage::Done {
            let vault = &mut self.withdrawals.vaults[vault as usize];
            (vault.block, vault.hash, vault.time_s) = (block, hash, time_s);
        }
        self.forget_empty_book(vault);
        emitter.emit(event::VaultRewind {
            vault,
            stage: stage as u8,
            reserved: [0; 5],
            block,
            hash,
            time_s,
            proposed_by: rewind.proposed_by,
            agreed_by: rewind.agreed_by,
        });
        Ok(Outcome::default())
    }

    /// A book that says nothing is as none.
    fn forget_empty_book(&mut self, vault: u16) {
        if self.deposits.vault(vault) == crate::deposit::VaultBook::default() {
            self.deposits.vaults.remove(&vault);
        }
    }

    /// See [`UndoEvent`].
    pub(super) fn undo_event<S: Sink>(
        &mut self,
        undo: &UndoEvent,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let vault = self.withdrawals.vault(undo.chain_id, &undo.vault).ok_or(Reject::VaultNotFound)?;
        let agreed = self.deposits.vault(vault).rewind.filter(Rewind::is_agreed);
        if agreed.is_none_or(|rewind| undo.block <= rewind.block) {
            return Err(Reject::NotRewinding);
        }
        match undo.is_deposit {
            0 => self.undo_release(vault, undo, emitter),
            1 => self.undo_deposit(vault, undo, emitter),
            _ => Err(Reject::Malformed),
        }
    }

    fn undo_deposit<S: Sink>(
        &mut self,
        vault: u16,
        undo: &UndoEvent,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let last = self.deposits.vault(vault).deposits;
        if undo.number == 0 || undo.number != last {
            return Err(Reject::Malformed);
        }
        let place = Place { vault, number: undo.number };
        if let Some(held) = self.deposits.held.remove(&(vault, undo.number)) {
            self.deposits.vaults.entry(vault).or_default().deposits -= 1;
            emitter.emit(tell(place, &held, DepositStatus::Undone, HeldReason::None));
            return Ok(Outcome::default());
        }
        let account = self.accounts.find(&undo.account).ok_or(Reject::AccountNotFound)?;
        let asset = self.asset(&undo.asset).ok_or(Reject::MarketNotFound)?;
        let amount = undo.amount.get();
        let claim = self.deposits.claims.get(&(account, asset)).copied().unwrap_or(0);
        // What was paid by an earlier claim whole credited nothing.
        let claim = claim.checked_add(amount).filter(|_| amount >= 0).ok_or(Reject::InvalidAmount)?;
        if claim > self.assets[asset as usize].credited {
            return Err(Reject::InvalidAmount);
        }
        if claim > 0 {
            self.deposits.claims.insert((account, asset), claim);
        }
        self.deposits.vaults.entry(vault).or_default().deposits -= 1;
        let held = Held { account: undo.account, token: undo.token, value: 0 };
        let told = tell(place, &held, DepositStatus::Undone, HeldReason::None);
        emitter.emit(event::Deposit { amount: undo.amount, account, asset, ..told });
        Ok(Outcome { account, ..Outcome::default() })
    }

    fn undo_release<S: Sink>(
        &mut self,
        vault: u16,
        undo: &UndoEvent,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let seat = self.withdrawals.seats.get(&(vault, undo.account));
        let is_last = seat.is_some_and(|seat| undo.number.checked_add(1) == Some(seat.released));
        let is_held = seat.is_some_and(|seat| seat.holder(undo.number).is_some());
        if !is_last {
            return Err(Reject::Malformed);
        }
        // Disputed, or of nobody: nothing was confirmed by it.
        if undo.withdrawal == 0 || is_held {
            if let Some(id) = seat.and_then(|seat| seat.holder(undo.number)) {
                self.withdrawals.reopen(id);
            }
            self.step_back(vault, undo);
            emitter.emit(tell_undone(vault, undo));
            return Ok(Outcome::default());
        }
        let ledger = Ledger::from_code(undo.ledger).ok_or(Reject::Malformed)?;
        let account = self.accounts.find(&undo.account).filter(|&account| account != FEE_ACCOUNT);
        let account = account.ok_or(Reject::AccountNotFound)?;
        let judged = self.judge_amount(ledger, &undo.asset, undo.amount.get(), undo.chain_id, &undo.token)?;
        let is_known =
            undo.withdrawal < self.withdrawals.next && self.withdrawals.get(undo.withdrawal).is_none();
        if !is_known || undo.requested_at_s >= undo.deadline_s {
            return Err(Reject::WithdrawalStateDiffers);
        }
        if ledger == Ledger::Spot {
            let credited = &mut self.assets[judged.asset as usize].credited;
            *credited = credited.checked_add(judged.amount).ok_or(Reject::InvalidAmount)?;
            self.balances.get_mut(account, judged.asset).receive_frozen(judged.amount);
        }
        self.step_back(vault, undo);
        let withdrawal = Withdrawal {
            id: undo.withdrawal,
            account,
            asset: judged.asset,
            vault,
            ledger,
            status: WithdrawalStatus::Signed,
            is_disputed: false,
            amount: judged.amount,
            token: undo.token,
            nonce: undo.number,
            requested_at_s: undo.requested_at_s,
            deadline_s: undo.deadline_s,
        };
        self.withdrawals.insert(undo.account, withdrawal);
        if ledger == Ledger::Spot {
            self.tell_balance(account, judged.asset, emitter);
        }
        let told = super::super::withdrawal::tell(&withdrawal, false);
        emitter.emit(event::Withdrawal { is_adopted: event::RECONFIRMED_LATER, ..told });
        emitter.emit(tell_undone(vault, undo));
        Ok(Outcome { order: withdrawal.id, account, ..Outcome::default() })
    }

    fn step_back(&mut self, vault: u16, undo: &UndoEvent) {
        if let Some(seat) = self.withdrawals.seats.get_mut(&(vault, undo.account)) {
            seat.released -= 1;
        }
    }
}

fn tell_undone(vault: u16, undo: &UndoEvent) -> event::ReleaseUndone {
    event::ReleaseUndone { vault, reserved: [0; 2], account: undo.account, nonce: undo.number }
}
