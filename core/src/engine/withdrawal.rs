//! Withdrawals: a chain of commands from the request to what the chain made of it (`spot.md` 10, `durability.md` 2.8).
//!
//! What holds after every command: an amount is either its account's, or held by exactly one withdrawal, or paid; a nonce
//! is held by at most one withdrawal; and nothing that may still be paid is given back. The last needs the chain's word: only
//! a final block past the deadline, with every release up to it told, lets a withdrawal expire.

use super::emit::Emitter;
use super::idempotency::{Use, Verdict};
use super::{Engine, Outcome};
use crate::command::{
    AdoptWithdrawal, AdvanceChain, Command, EXPIRIES_MAX, Kind, LIFETIME_MAX_S, Ledger, PauseWithdrawals,
    RecordRelease, RecordSignature, RequestWithdrawal, ReturnWithdrawal, SettleWithdrawal, VaultName,
    WithdrawalStatus, pause,
};
use crate::event::{self, AlarmReason, Sink};
use crate::ids::{AccountId, Address, AssetId, AssetName, FEE_ACCOUNT, WithdrawalId, padded};
use crate::money::{Amount, Money};
use crate::reject::Reject;
use crate::withdrawal::{Proposal, VAULTS_MAX, Vault, Withdrawal, minimum, steps_of_unit};

/// Most that withdrawals of the perpetual ledger may have taken together, in amount steps: what comes back always fits.
const IN_FLIGHT_MAX: Amount = 1_000_000_000_000 * crate::money::AMOUNT_UNIT;

/// A request or an adoption whose fields are sound.
struct Judged {
    ledger: Ledger,
    asset: AssetId,
    amount: Amount,
}

impl Engine {
    /// Carries out a command of withdrawals.
    pub(super) fn withdrawal_command<S: Sink>(
        &mut self,
        kind: Kind,
        command: &Command,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let answer = match kind {
            Kind::RequestWithdrawal => return self.request_withdrawal(command.body(), emitter),
            Kind::RecordSignature => self.record_signature(command.body(), emitter),
            Kind::ReturnWithdrawal => self.return_withdrawal(command.body(), emitter),
            Kind::RecordRelease => self.record_release(command.body(), emitter),
            Kind::AdvanceChain => self.advance_chain(command.body(), emitter),
            Kind::PauseWithdrawals => self.pause_withdrawals(command.body(), emitter),
            Kind::AdoptWithdrawal => self.adopt_withdrawal(command.body(), emitter),
            Kind::SettleWithdrawal => self.settle_withdrawal(command.body(), emitter),
            _ => Err(Reject::Malformed),
        };
        answer.unwrap_or_else(|reject| Outcome::default().refused(reject))
    }

    /// See [`RequestWithdrawal`].
    fn request_withdrawal<S: Sink>(
        &mut self,
        request: &RequestWithdrawal,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let (account, idempotency_key) = (request.account, request.idempotency_key);
        let outcome = Outcome { account, idempotency_key, ..Outcome::default() };
        if idempotency_key != 0 {
            let new = Use {
                account,
                key: idempotency_key,
                body: request.idempotency_body,
                sequence: self.sequence,
                time_ns: self.time.ns(),
            };
            match self.idempotency.admit(new) {
                Verdict::Fresh => {}
                Verdict::Replay(first) => {
                    return Outcome { replayed: first, ..outcome.refused(Reject::IdempotencyReplay) };
                }
                Verdict::Conflict => return outcome.refused(Reject::IdempotencyConflict),
            }
        }
        let judged = match self.judge_request(request) {
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
        let judged = self.judge_amount(ledger, &request.asset, request.amount.get())?;
        if judged.amount < minimum(ledger) {
            return Err(Reject::AmountBelowMinimum);
        }
        if account == FEE_ACCOUNT || !self.accounts.exists(account) {
            return Err(Reject::AccountNotFound);
        }
        self.judge_balance(account, &judged)?;
        if paused & !pause::OPERATOR != 0 {
            return Err(Reject::WithdrawalsPaused);
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

    fn judge_vault(&self, chain_id: u64, address: &Address, name: &VaultName) -> Result<(), Reject> {
        let text = crate::ids::text(name);
        let is_name = !text.is_empty() && padded(text) == Some(*name);
        let known = self.withdrawals.vault(chain_id, address);
        let agrees = known.is_none_or(|vault| self.withdrawals.vaults[vault as usize].name == *name);
        let fits = known.is_some() || self.withdrawals.vaults.len() < VAULTS_MAX;
        if chain_id != 0 && is_name && agrees && fits { Ok(()) } else { Err(Reject::Malformed) }
    }

    fn judge_amount(&self, ledger: Ledger, asset: &AssetName, amount: Amount) -> Result<Judged, Reject> {
        let asset = self.asset(asset).ok_or(Reject::MarketNotFound)?;
        let is_sound = amount > 0 && amount % steps_of_unit(ledger) == 0;
        if ledger == Ledger::Perpetual {
            if self.margin_asset() != Some(asset) {
                return Err(Reject::MarketNotFound);
            }
            // Nothing near the end of its range is ever in flight, so that the sum cannot overflow.
            if amount > IN_FLIGHT_MAX || self.withdrawals.perpetual_in_flight() + amount > IN_FLIGHT_MAX {
                return Err(Reject::InvalidAmount);
            }
        }
        if is_sound { Ok(Judged { ledger, asset, amount }) } else { Err(Reject::InvalidAmount) }
    }

    fn judge_balance(&self, account: AccountId, judged: &Judged) -> Result<(), Reject> {
        match judged.ledger {
            Ledger::Spot if self.balances.get(account, judged.asset).available < judged.amount => {
                Err(Reject::InsufficientBalance)
            }
            Ledger::Perpetual if !self.can_withdraw(account, micros(judged.amount)) => {
                Err(Reject::CrossInsufficient)
            }
            _ => Ok(()),
        }
    }

    fn find_or_open_vault(
        &mut self,
        chain_id: u64,
        address: Address,
        name: VaultName,
    ) -> (u16, Option<event::VaultOpened>) {
        if let Some(vault) = self.withdrawals.vault(chain_id, &address) {
            return (vault, None);
        }
        let vault = self.withdrawals.vaults.len() as u16;
        self.withdrawals.vaults.push(Vault { chain_id, address, name, block: 0, hash: [0; 32], time_s: 0 });
        let opened = event::VaultOpened { vault, reserved: [0; 6], chain_id, address, reserved_2: 0, name };
        (vault, Some(opened))
    }

    /// Takes amounts from their accounts and gives others back; the first events of the command. What is taken was found to
    /// be there once what comes back is.
    fn move_amounts<S: Sink>(
        &mut self,
        back: &[Withdrawal],
        taken: Option<&Withdrawal>,
        emitter: &mut Emitter<'_, S>,
    ) {
        let of_perpetual = |withdrawal: &&Withdrawal| withdrawal.ledger == Ledger::Perpetual;
        let coming = back.iter().filter(of_perpetual).map(|back| (back.account, micros(back.amount)));
        let leaving = taken.into_iter().filter(of_perpetual);
        let leaving = leaving.map(|taken| (taken.account, -micros(taken.amount)));
        let moves: Vec<(AccountId, Money)> = coming.chain(leaving).collect();
        self.move_deposits(&moves, emitter);
        for back in back.iter().filter(|back| back.ledger == Ledger::Spot) {
            self.balances.get_mut(back.account, back.asset).unfreeze(back.amount);
            self.tell_balance(back.account, back.asset, emitter);
        }
        if let Some(taken) = taken.filter(|taken| taken.ledger == Ledger::Spot) {
            self.balances.get_mut(taken.account, taken.asset).freeze(taken.amount);
            self.tell_balance(taken.account, taken.asset, emitter);
        }
    }

    /// See [`RecordSignature`].
    fn record_signature<S: Sink>(
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
    fn return_withdrawal<S: Sink>(
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

    /// See [`RecordRelease`].
    fn record_release<S: Sink>(
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
            Some(found) if found.token != release.token || found.value() != release.value.get() => {
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
    fn settle_withdrawal<S: Sink>(
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
    fn advance_chain<S: Sink>(
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

    /// Forgets withdrawals whose deadline is past on the chain; those whose amounts go back.
    fn forget_expired(&mut self, expired: &[Withdrawal]) -> Vec<Withdrawal> {
        for found in expired {
            self.withdrawals.remove(self.accounts.address(found.account), found.id);
        }
        expired.iter().filter(|found| found.status.holds_amount()).copied().collect()
    }

    /// See [`PauseWithdrawals`].
    fn pause_withdrawals<S: Sink>(
        &mut self,
        told: &PauseWithdrawals,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        if (told.mask | told.paused) & !pause::ALL != 0 {
            return Err(Reject::Malformed);
        }
        let paused = (self.withdrawals.paused & !told.mask) | (told.paused & told.mask);
        self.withdrawals.paused = paused;
        emitter.emit(event::WithdrawalsPaused { paused, reserved: 0, reason: told.reason });
        Ok(Outcome::default())
    }

    /// See [`AdoptWithdrawal`].
    fn adopt_withdrawal<S: Sink>(
        &mut self,
        adopt: &AdoptWithdrawal,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let AdoptWithdrawal { address, chain_id, nonce, deadline_s, requested_at_s, .. } = *adopt;
        let ledger = Ledger::from_code(adopt.ledger).ok_or(Reject::Malformed)?;
        self.judge_vault(chain_id, &adopt.vault, &adopt.vault_name)?;
        if requested_at_s >= deadline_s || address == Address::default() {
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
        let judged = self.judge_amount(ledger, &adopt.asset, amount)?;
        let account = self.accounts.find(&address).filter(|&account| account != FEE_ACCOUNT);
        // A nonce is issued again only after its holder has expired or was never signed: the history that is lost knew that.
        let is_gone =
            |held: &Withdrawal| held.deadline_s < requested_at_s || held.status != WithdrawalStatus::Signed;
        let expired = holder.filter(|held| is_gone(held) && !held.is_disputed);
        let (vault, opened) = self.find_or_open_vault(chain_id, adopt.vault, adopt.vault_name);
        let reason = match account {
            _ if holder.is_some() && expired.is_none() => AlarmReason::Conflict,
            Some(account) if self.affords(account, &judged, expired.as_ref()) => {
                let withdrawal = Withdrawal {
                    id: self.withdrawals.next,
                    account,
                    asset: judged.asset,
                    vault,
                    ledger,
                    // Its user may hold the signature: whatever the signer answers now, the amount stays taken.
                    status: WithdrawalStatus::Signed,
                    is_disputed: false,
                    amount,
                    token: adopt.token,
                    nonce,
                    requested_at_s,
                    deadline_s,
                };
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
        self.raise(
            event::ReleaseAlarm {
                vault,
                reason: reason as u8,
                reserved: [0; 5],
                account: address,
                reserved_2: 0,
                nonce,
                value: adopt.amount,
                tx_hash: [0; 32],
                block: 0,
            },
            emitter,
        );
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

    /// Tells an alarm, and pauses withdrawals until an operator has looked.
    fn raise<S: Sink>(&mut self, alarm: event::ReleaseAlarm, emitter: &mut Emitter<'_, S>) {
        self.withdrawals.paused |= pause::ALARM;
        emitter.emit(alarm);
        let reason = padded("a release that must be impossible").unwrap_or([0; 64]);
        emitter.emit(event::WithdrawalsPaused { paused: self.withdrawals.paused, reserved: 0, reason });
    }
}

/// An amount of the perpetual ledger, which is in whole micros and bounded.
fn micros(amount: Amount) -> Money {
    (amount / steps_of_unit(Ledger::Perpetual)) as Money
}

fn tell_expired<S: Sink>(expired: &[Withdrawal], emitter: &mut Emitter<'_, S>) {
    for found in expired {
        // Of a void one the amount is back already; it is its nonce that is free now.
        let status =
            if found.status.holds_amount() { WithdrawalStatus::Expired } else { WithdrawalStatus::Returned };
        emitter.emit(tell(&Withdrawal { status, ..*found }, false));
    }
}

fn tell(withdrawal: &Withdrawal, is_adopted: bool) -> event::Withdrawal {
    event::Withdrawal {
        withdrawal: withdrawal.id,
        account: withdrawal.account,
        asset: withdrawal.asset,
        vault: withdrawal.vault,
        amount: withdrawal.amount.into(),
        token: withdrawal.token,
        ledger: withdrawal.ledger as u8,
        status: withdrawal.status as u8,
        is_adopted: is_adopted.into(),
        reserved: 0,
        nonce: withdrawal.nonce,
        requested_at_s: withdrawal.requested_at_s,
        deadline_s: withdrawal.deadline_s,
    }
}
