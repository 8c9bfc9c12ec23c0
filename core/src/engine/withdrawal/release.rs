//! What the chain says, and what follows: a release that was paid, one that must be impossible, a final block past deadlines;
//! and what operators decide where the chain's word and ours differ (`durability.md` 2.8).

use super::super::{Engine, Outcome};
use super::{tell, tell_expired};
use crate::command::{AdvanceChain, EXPIRIES_MAX, Ledger, RecordRelease, SettleWithdrawal, WithdrawalStatus};
use crate::emit::Emitter;
use crate::event::{self, AlarmReason, Sink};
use crate::reject::Reject;
use crate::withdrawal::{Proposal, Withdrawal};

impl Engine {
    /// See [`RecordRelease`].
    pub(super) fn record_release<S: Sink>(
        &mut self,
        release: &RecordRelease,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let vault = self.withdrawals.vault(release.chain_id, &release.vault).ok_or(Reject::VaultNotFound)?;
        let place = (vault, release.account);
        let released = self.withdrawals.seats.get(&place).map_or(0, |seat| seat.released);
        if release.nonce < released {
            return Err(Reject::AlreadyReleased);
        }
        if release.nonce > released {
            return Err(Reject::ReleaseOutOfOrder);
        }
        let seat = self.withdrawals.seats.entry(place).or_default();
        let holder = seat.holder(release.nonce);
        seat.released += 1;
        let found = holder.and_then(|id| self.withdrawals.get(id)).copied();
        let reason = match found {
            None => AlarmReason::Unknown,
            Some(found) if found.status == WithdrawalStatus::Void => AlarmReason::Returned,
            Some(found) if found.token != release.token || self.value_of(&found) != release.value.get() => {
                AlarmReason::Mismatch
            }
            Some(found) => return Ok(self.confirm(&found, release, emitter)),
        };
        match found {
            Some(found) if reason == AlarmReason::Returned => {
                self.withdrawals.remove(&release.account, found.id);
            }
            Some(found) => self.withdrawals.dispute(found.id),
            None => {}
        }
        self.raise(
            event::ReleaseAlarm {
                vault,
                reason: reason as u8,
                reserved: [0; 5],
                account: release.account,
                reserved_2: 0,
                nonce: release.nonce,
                value: release.value,
                tx_hash: release.tx_hash,
                block: release.block,
            },
            emitter,
        );
        let found = found.map_or((0, 0), |found| (found.id, found.account));
        Ok(Outcome { order: found.0, account: found.1, ..Outcome::default() })
    }

    /// The vault has paid what was signed.
    fn confirm<S: Sink>(
        &mut self,
        found: &Withdrawal,
        release: &RecordRelease,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        self.pay(found, emitter);
        emitter.emit(event::WithdrawalReleased {
            withdrawal: found.id,
            tx_hash: release.tx_hash,
            block: release.block,
            block_time_s: release.block_time_s,
        });
        Outcome { order: found.id, account: found.account, ..Outcome::default() }
    }

    /// The amount is gone for good.
    fn pay<S: Sink>(&mut self, found: &Withdrawal, emitter: &mut Emitter<'_, S>) {
        self.withdrawals.remove(self.accounts.address(found.account), found.id);
        if found.ledger == Ledger::Spot {
            self.balances.get_mut(found.account, found.asset).pay_frozen(found.amount);
            // What balances add up to.
            self.assets[found.asset as usize].credited -= found.amount;
            self.tell_balance(found.account, found.asset, emitter);
        }
        emitter.emit(tell(&Withdrawal { status: WithdrawalStatus::Confirmed, ..*found }, false));
    }

    /// See [`SettleWithdrawal`].
    pub(super) fn settle_withdrawal<S: Sink>(
        &mut self,
        told: &SettleWithdrawal,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        if told.operator == [0; 16] || told.is_paid > 1 {
            return Err(Reject::Malformed);
        }
        let found = *self.withdrawals.get(told.withdrawal).ok_or(Reject::WithdrawalNotFound)?;
        if !found.is_disputed {
            return Err(Reject::WithdrawalStateDiffers);
        }
        let own = Proposal { operator: told.operator, is_paid: told.is_paid == 1 };
        let known = self.withdrawals.proposal(found.id);
        let agreed = known.filter(|known| known.is_paid == own.is_paid && known.operator != own.operator);
        let judged = event::WithdrawalJudged {
            withdrawal: found.id,
            proposed_by: agreed.map_or(own.operator, |proposal| proposal.operator),
            agreed_by: agreed.map_or([0; 16], |_| own.operator),
            is_paid: own.is_paid.into(),
            is_settled: agreed.is_some().into(),
            reserved: [0; 6],
        };
        match agreed {
            None => self.withdrawals.propose(found.id, own),
            Some(_) if own.is_paid => self.pay(&found, emitter),
            Some(_) => {
                let back = self.forget_expired(&[found]);
                self.move_amounts(&back, None, emitter);
                tell_expired(&[found], emitter);
            }
        }
        emitter.emit(judged);
        Ok(Outcome { order: found.id, account: found.account, ..Outcome::default() })
    }

    /// See [`AdvanceChain`].
    pub(super) fn advance_chain<S: Sink>(
        &mut self,
        advance: &AdvanceChain,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let AdvanceChain { chain_id, block, hash, time_s, .. } = *advance;
        let number = self.withdrawals.vault(chain_id, &advance.vault).ok_or(Reject::VaultNotFound)?;
        let vault = &mut self.withdrawals.vaults[number as usize];
        if block <= vault.block || time_s < vault.time_s {
            return Err(Reject::ChainBehind);
        }
        (vault.block, vault.hash, vault.time_s) = (block, hash, time_s);
        let due = self.withdrawals.due(number, time_s, EXPIRIES_MAX);
        let expired: Vec<Withdrawal> =
            due.into_iter().filter_map(|id| self.withdrawals.get(id).copied()).collect();
        let back = self.forget_expired(&expired);
        self.move_amounts(&back, None, emitter);
        tell_expired(&expired, emitter);
        emitter.emit(event::ChainAdvanced { vault: number, reserved: [0; 6], block, hash, time_s });
        Ok(Outcome::default())
    }
}
