//! Withdrawals: a chain of commands from the request to what the chain made of it (`spot.md` 10, `durability.md` 2.8).
//!
//! What holds after every command: an amount is either its account's, or held by exactly one withdrawal, or paid; a nonce
//! is held by at most one withdrawal; and nothing that may still be paid is given back. The last needs the chain's word: only
//! a final block past the deadline, with every release up to it told, lets a withdrawal expire.
//!
//! Here stands which command goes where and what all of them share: how amounts move, vaults, alarms. The commands are in
//! `withdrawal/`, in the order in which a withdrawal meets them.

mod adopt;
mod release;
mod request;

use super::{Engine, Outcome};
use crate::command::{Command, Kind, Ledger, PauseWithdrawals, VaultName, WithdrawalStatus, pause};
use crate::emit::Emitter;
use crate::event::{self, Sink};
use crate::ids::{AccountId, Address, AssetId, AssetName, padded};
use crate::money::{Amount, Money};
use crate::reject::Reject;
use crate::withdrawal::{VAULTS_MAX, Vault, Withdrawal, steps_of_unit};

/// Most that withdrawals of the perpetual ledger may have taken together, in amount steps: what comes back always fits.
const IN_FLIGHT_MAX: Amount = 1_000_000_000_000 * crate::money::AMOUNT_UNIT;

/// A request or an adoption whose fields are sound.
pub(super) struct Judged {
    ledger: Ledger,
    pub(super) asset: AssetId,
    pub(super) amount: Amount,
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

    pub(super) fn judge_vault(
        &self,
        chain_id: u64,
        address: &Address,
        name: &VaultName,
    ) -> Result<(), Reject> {
        let text = crate::ids::text(name);
        let is_name = !text.is_empty() && padded(text) == Some(*name);
        let known = self.withdrawals.vault(chain_id, address);
        let agrees = known.is_none_or(|vault| self.withdrawals.vaults[vault as usize].name == *name);
        let fits = known.is_some() || self.withdrawals.vaults.len() < VAULTS_MAX;
        if chain_id != 0 && is_name && agrees && fits { Ok(()) } else { Err(Reject::Malformed) }
    }

    /// Judges asset and amount of something that goes to a chain as a token.
    pub(super) fn judge_amount(
        &self,
        ledger: Ledger,
        asset: &AssetName,
        amount: Amount,
        chain_id: u64,
        token: &Address,
    ) -> Result<Judged, Reject> {
        let asset = self.asset(asset).ok_or(Reject::MarketNotFound)?;
        if self.deposits.tokens.get(&(chain_id, *token)).is_some_and(|known| known.asset != asset) {
            return Err(Reject::Malformed);
        }
        let is_sound = amount > 0
            && amount % steps_of_unit(ledger) == 0
            && amount % self.deposits.steps_of(chain_id, token, ledger) == 0;
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

    /// What the typed message of a withdrawal says, in base units of its token.
    fn value_of(&self, withdrawal: &Withdrawal) -> Amount {
        let chain_id = self.withdrawals.vaults[withdrawal.vault as usize].chain_id;
        withdrawal.amount / self.deposits.steps_of(chain_id, &withdrawal.token, withdrawal.ledger)
    }

    pub(super) fn find_or_open_vault(
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
    pub(super) fn move_amounts<S: Sink>(
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

    /// Forgets withdrawals whose deadline is past on the chain; those whose amounts go back.
    pub(super) fn forget_expired(&mut self, expired: &[Withdrawal]) -> Vec<Withdrawal> {
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

pub(super) fn tell_expired<S: Sink>(expired: &[Withdrawal], emitter: &mut Emitter<'_, S>) {
    for found in expired {
        // Of a void one the amount is back already; it is its nonce that is free now.
        let status =
            if found.status.holds_amount() { WithdrawalStatus::Expired } else { WithdrawalStatus::Returned };
        emitter.emit(tell(&Withdrawal { status, ..*found }, false));
    }
}

pub(super) fn tell(withdrawal: &Withdrawal, is_adopted: bool) -> event::Withdrawal {
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
