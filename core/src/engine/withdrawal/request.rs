//! From the request to the signature, or back: what an account asks for, what is checked before an amount is taken, what the
//! signer answers (`spot.md` 10). What the chain makes of a signature is in `release.rs`.

use super::super::idempotency::{Use, Verdict};
use super::super::{Engine, Outcome};
use super::{Judged, tell};
use crate::command::{
    LIFETIME_MAX_S, Ledger, RecordSignature, RequestWithdrawal, ReturnWithdrawal, WithdrawalStatus, pause,
    token_pause,
};
use crate::emit::Emitter;
use crate::event::{self, Sink};
use crate::ids::{FEE_ACCOUNT, WithdrawalId};
use crate::reject::Reject;
use crate::withdrawal::{Withdrawal, minimum};

impl Engine {
    /// See [`RequestWithdrawal`].
    pub(super) fn request_withdrawal<S: Sink>(
        &mut self,
        request: &RequestWithdrawal,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let (account, idempotency_key) = (request.account, request.idempotency_key);
        let outcome = Outcome { account, idempotency_key, ..Outcome::default() };
        let new = (idempotency_key != 0).then(|| Use {
            account,
            key: idempotency_key,
            body: request.idempotency_body,
            sequence: self.sequence,
            time_ns: self.time.ns(),
        });
        match new.map_or(Verdict::Fresh, |new| self.idempotency.look_up(&new)) {
            Verdict::Fresh => {}
            Verdict::Replay(first) => {
                return Outcome { replayed: first, ..outcome.refused(Reject::IdempotencyReplay) };
            }
            Verdict::Conflict => return outcome.refused(Reject::IdempotencyConflict),
        }
        let judged = self.judge_request(request);
        if let Some(new) = new
            && !judged.as_ref().is_err_and(|reject| reject.is_temporary())
        {
            self.idempotency.remember(new);
        }
        let judged = match judged {
            Ok(judged) => judged,
            Err(reject) => return outcome.refused(reject),
        };
        let (vault, opened) = self.find_or_open_vault(request.chain_id, request.vault, request.vault_name);
        // A final block may be ahead of this machine's clock; a deadline that it is past already would be worth nothing.
        let now_s = (self.time.ns() / 1_000_000_000) as u64;
        let requested_at_s = now_s.max(self.withdrawals.vaults[vault as usize].time_s);
        let address = *self.accounts.address(account);
        let seat = self.withdrawals.seats.entry((vault, address)).or_default();
        let withdrawal = Withdrawal {
            id: self.withdrawals.next,
            account,
            asset: judged.asset,
            vault,
            ledger: judged.ledger,
            status: WithdrawalStatus::Requested,
            is_disputed: false,
            amount: judged.amount,
            token: request.token,
            nonce: seat.next_nonce(),
            requested_at_s,
            deadline_s: requested_at_s + u64::from(request.lifetime_s),
        };
        self.withdrawals.next += 1;
        self.withdrawals.insert(address, withdrawal);
        self.move_amounts(&[], Some(&withdrawal), emitter);
        if let Some(opened) = opened {
            emitter.emit(opened);
        }
        emitter.emit(tell(&withdrawal, false));
        Outcome { order: withdrawal.id, ..outcome }
    }

    /// The checks of a request, in their order.
    fn judge_request(&self, request: &RequestWithdrawal) -> Result<Judged, Reject> {
        let RequestWithdrawal { account, chain_id, vault, vault_name, lifetime_s, .. } = *request;
        let ledger = Ledger::from_code(request.ledger).ok_or(Reject::Malformed)?;
        if !(1..=LIFETIME_MAX_S).contains(&lifetime_s) {
            return Err(Reject::Malformed);
        }
        self.judge_vault(chain_id, &vault, &vault_name)?;
        let paused = self.withdrawals.paused;
        if ledger == Ledger::Perpetual && (paused != 0 || self.is_in_deficit()) {
            return Err(Reject::WithdrawalsPaused);
        }
        let judged =
            self.judge_amount(ledger, &request.asset, request.amount.get(), chain_id, &request.token)?;
        let token = self.deposits.tokens.get(&(chain_id, request.token));
        let least = token.filter(|_| ledger == Ledger::Spot).map_or(minimum(ledger), |token| token.minimum);
        if judged.amount < least {
            return Err(Reject::AmountBelowMinimum);
        }
        if account == FEE_ACCOUNT || !self.accounts.exists(account) {
            return Err(Reject::AccountNotFound);
        }
        self.judge_balance(account, &judged)?;
        if paused & !pause::OPERATOR != 0 {
            return Err(Reject::WithdrawalsPaused);
        }
        if token.is_some_and(|token| token.paused & token_pause::WITHDRAWALS != 0) {
            return Err(Reject::TokenPaused);
        }
        let place = self.withdrawals.vault(chain_id, &vault);
        let seat =
            place.and_then(|vault| self.withdrawals.seats.get(&(vault, *self.accounts.address(account))));
        let is_void = |&(_, id): &(u64, WithdrawalId)| {
            self.withdrawals.get(id).is_some_and(|held| held.status == WithdrawalStatus::Void)
        };
        // Whatever comes after a nonce that may have been signed for nobody could not be submitted.
        if seat.is_some_and(|seat| seat.held.iter().any(is_void)) {
            return Err(Reject::NonceHeld);
        }
        Ok(judged)
    }

    /// See [`RecordSignature`].
    pub(super) fn record_signature<S: Sink>(
        &mut self,
        record: &RecordSignature,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let found = self.withdrawals.get(record.withdrawal).ok_or(Reject::WithdrawalNotFound)?;
        if !found.status.holds_amount() {
            return Err(Reject::WithdrawalStateDiffers);
        }
        let signed = self.withdrawals.set_status(record.withdrawal, WithdrawalStatus::Signed);
        let signed = signed.ok_or(Reject::WithdrawalNotFound)?;
        emitter.emit(tell(&signed, false));
        emitter.emit(event::WithdrawalSigned {
            withdrawal: signed.id,
            signature: record.signature,
            reserved: [0; 7],
        });
        Ok(Outcome { order: signed.id, account: signed.account, ..Outcome::default() })
    }

    /// See [`ReturnWithdrawal`].
    pub(super) fn return_withdrawal<S: Sink>(
        &mut self,
        told: &ReturnWithdrawal,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        if told.holds_nonce > 1 {
            return Err(Reject::Malformed);
        }
        let found = *self.withdrawals.get(told.withdrawal).ok_or(Reject::WithdrawalNotFound)?;
        let is_freed = told.holds_nonce == 0;
        match found.status {
            WithdrawalStatus::Requested => self.move_amounts(&[found], None, emitter),
            WithdrawalStatus::Void if is_freed => {}
            _ => return Err(Reject::WithdrawalStateDiffers),
        }
        let status = if is_freed { WithdrawalStatus::Returned } else { WithdrawalStatus::Void };
        if is_freed {
            self.withdrawals.remove(self.accounts.address(found.account), found.id);
        } else {
            self.withdrawals.set_status(found.id, status);
        }
        emitter.emit(tell(&Withdrawal { status, ..found }, false));
        Ok(Outcome { order: found.id, account: found.account, ..Outcome::default() })
    }
}
