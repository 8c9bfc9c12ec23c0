//! Withdrawals of a history that is lost, found in the signer's log: their amounts are taken again, so that nothing that may
//! be paid is anybody's (`durability.md` 2.8).

use super::super::{Engine, Outcome};
use super::{Judged, tell, tell_expired};
use crate::command::{AdoptWithdrawal, Ledger, WithdrawalStatus};
use crate::emit::Emitter;
use crate::event::{self, AlarmReason, Sink};
use crate::ids::{AccountId, Address, AssetId, FEE_ACCOUNT, WithdrawalId};
use crate::reject::Reject;
use crate::withdrawal::Withdrawal;

/// A signed release as a withdrawal of `account`.
fn adopted(
    adopt: &AdoptWithdrawal,
    id: WithdrawalId,
    account: AccountId,
    (asset, ledger): (AssetId, Ledger),
    vault: u16,
) -> Withdrawal {
    Withdrawal {
        id,
        account,
        asset,
        vault,
        ledger,
        // Its user may hold the signature: whatever the signer answers now, the amount stays taken.
        status: WithdrawalStatus::Signed,
        is_disputed: false,
        amount: adopt.amount.get(),
        token: adopt.token,
        nonce: adopt.nonce,
        requested_at_s: adopt.requested_at_s,
        deadline_s: adopt.deadline_s,
    }
}

/// A signed release that nothing stands for.
fn unpaid(adopt: &AdoptWithdrawal, vault: u16, reason: AlarmReason) -> event::ReleaseAlarm {
    event::ReleaseAlarm {
        vault,
        reason: reason as u8,
        reserved: [0; 5],
        account: adopt.address,
        reserved_2: 0,
        nonce: adopt.nonce,
        value: adopt.amount,
        tx_hash: [0; 32],
        block: 0,
    }
}

impl Engine {
    /// See [`AdoptWithdrawal`].
    pub(super) fn adopt_withdrawal<S: Sink>(
        &mut self,
        adopt: &AdoptWithdrawal,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let AdoptWithdrawal { address, chain_id, nonce, deadline_s, requested_at_s, .. } = *adopt;
        let ledger = Ledger::from_code(adopt.ledger).ok_or(Reject::Malformed)?;
        self.judge_vault(chain_id, &adopt.vault, &adopt.vault_name)?;
        if requested_at_s >= deadline_s || address == Address::default() || adopt.is_of_new_signer > 1 {
            return Err(Reject::Malformed);
        }
        let known = self.withdrawals.vault(chain_id, &adopt.vault);
        let seat = known.and_then(|vault| self.withdrawals.seats.get(&(vault, address)));
        if seat.is_some_and(|seat| nonce < seat.released) {
            return Err(Reject::AlreadyReleased);
        }
        if known.is_some_and(|vault| self.withdrawals.vaults[vault as usize].time_s > deadline_s) {
            return Err(Reject::WithdrawalExpired);
        }
        let holder =
            seat.and_then(|seat| seat.holder(nonce)).and_then(|id| self.withdrawals.get(id)).copied();
        let amount = adopt.amount.get();
        if let Some(held) = holder.filter(|held| held.deadline_s == deadline_s && held.amount == amount) {
            return self.find_signed(&held, emitter);
        }
        let judged = self.judge_amount(ledger, &adopt.asset, amount, chain_id, &adopt.token)?;
        let account = self.accounts.find(&address).filter(|&account| account != FEE_ACCOUNT);
        // A nonce is issued again only after its holder has expired or was never signed: the history that is lost knew that.
        let is_gone = |held: &Withdrawal| {
            held.deadline_s < requested_at_s
                || held.status != WithdrawalStatus::Signed
                || adopt.is_of_new_signer == 1
        };
        let expired = holder.filter(|held| is_gone(held) && !held.is_disputed);
        let (vault, opened) = self.find_or_open_vault(chain_id, adopt.vault, adopt.vault_name);
        let reason = match account {
            _ if holder.is_some() && expired.is_none() => AlarmReason::Conflict,
            Some(account) if self.affords(account, &judged, expired.as_ref()) => {
                let id = self.withdrawals.next;
                let withdrawal = adopted(adopt, id, account, (judged.asset, ledger), vault);
                self.withdrawals.next += 1;
                let expired = expired.as_slice();
                let back = self.forget_expired(expired);
                self.withdrawals.insert(address, withdrawal);
                self.move_amounts(&back, Some(&withdrawal), emitter);
                opened.into_iter().for_each(|opened| emitter.emit(opened));
                tell_expired(expired, emitter);
                emitter.emit(tell(&withdrawal, true));
                return Ok(Outcome { order: withdrawal.id, account, ..Outcome::default() });
            }
            _ => AlarmReason::Short,
        };
        opened.into_iter().for_each(|opened| emitter.emit(opened));
        self.raise(unpaid(adopt, vault, reason), emitter);
        Ok(Outcome { account: account.unwrap_or(0), ..Outcome::default() })
    }

    /// One that is known is found in the signer's log. Where it waits for its signature, its user may hold that already, by a
    /// history that is lost: it counts as signed from now on.
    fn find_signed<S: Sink>(
        &mut self,
        held: &Withdrawal,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        if held.status != WithdrawalStatus::Requested {
            return Err(Reject::WithdrawalStateDiffers);
        }
        self.withdrawals.set_status(held.id, WithdrawalStatus::Signed);
        emitter.emit(tell(&Withdrawal { status: WithdrawalStatus::Signed, ..*held }, false));
        Ok(Outcome { order: held.id, account: held.account, ..Outcome::default() })
    }

    /// Whether an account can pay what is adopted once `expired` has given its amount back.
    fn affords(&self, account: AccountId, judged: &Judged, expired: Option<&Withdrawal>) -> bool {
        let back = expired.filter(|expired| {
            expired.status.holds_amount() && expired.ledger == judged.ledger && expired.asset == judged.asset
        });
        let rest = Judged { amount: judged.amount - back.map_or(0, |back| back.amount), ..*judged };
        rest.amount <= 0 || self.judge_balance(account, &rest).is_ok()
    }
}
