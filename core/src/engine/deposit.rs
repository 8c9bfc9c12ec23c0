//! Deposits: what a vault took in, under one number after the other, becomes somebody's (`spot.md` 10.1).
//!
//! What holds after every command: a number of a vault is taken once and after all before it; what it brought is either in its
//! account's available balance or held; and what the chain has undone counts once when it comes again. So nothing that is
//! restored, told again or moved by the chain is credited twice, and nothing that was left out goes unseen.
//!
//! The commands are here; what becomes of what a replaced signer signed, and the way back where final blocks were replaced, are in
//! `deposit/`.

mod observe;
mod rewind;

use super::admin::is_name;
use super::{Engine, Outcome};
use crate::command::{
    Command, CreditHeldDeposit, DECIMALS_MAX, DepositStatus, HeldReason, Kind, RecordDeposit, SetToken,
    token_pause,
};
use crate::deposit::{Held, TOKENS_MAX, Token};
use crate::emit::Emitter;
use crate::event::{self, Sink};
use crate::ids::{Address, AssetId};
use crate::money::Amount;
use crate::reject::Reject;

/// A deposit of a vault.
#[derive(Clone, Copy)]
struct Place {
    vault: u16,
    number: u64,
}

impl Engine {
    /// Carries out a command of deposits.
    pub(super) fn deposit_command<S: Sink>(
        &mut self,
        kind: Kind,
        command: &Command,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let answer = match kind {
            Kind::RecordDeposit => self.record_deposit(command.body(), emitter),
            Kind::SetToken => self.set_token(command.body(), emitter),
            Kind::ObserveVault => self.observe_vault(command.body(), emitter),
            Kind::CreditHeldDeposit => self.credit_held(command.body(), emitter),
            Kind::RewindVault => self.rewind_vault(command.body(), emitter),
            Kind::UndoEvent => self.undo_event(command.body(), emitter),
            _ => Err(Reject::Malformed),
        };
        answer.unwrap_or_else(|reject| Outcome::default().refused(reject))
    }

    /// See [`RecordDeposit`].
    fn record_deposit<S: Sink>(
        &mut self,
        told: &RecordDeposit,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let vault = self.withdrawals.vault(told.chain_id, &told.vault).ok_or(Reject::VaultNotFound)?;
        let last = self.deposits.vault(vault).deposits;
        if told.number <= last {
            return Err(Reject::AlreadyDeposited);
        }
        if told.number != last + 1 {
            return Err(Reject::DepositOutOfOrder);
        }
        self.deposits.vaults.entry(vault).or_default().deposits = told.number;
        let place = Place { vault, number: told.number };
        let held = Held { account: told.account, token: told.token, value: told.value.get() as u128 };
        let outcome = match self.judge_deposit(told.chain_id, &held) {
            Ok((asset, amount)) => self.credit_deposit(place, &held, asset, amount, emitter),
            Err(reason) => {
                self.deposits.held.insert((vault, told.number), held);
                emitter.emit(tell(place, &held, DepositStatus::Held, reason));
                Outcome::default()
            }
        };
        emitter.emit(event::DepositBlock {
            number: told.number,
            tx_hash: told.tx_hash,
            block: told.block,
            block_time_s: told.block_time_s,
            vault,
            reserved: [0; 6],
        });
        Ok(outcome)
    }

    /// See [`CreditHeldDeposit`].
    fn credit_held<S: Sink>(
        &mut self,
        told: &CreditHeldDeposit,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let vault = self.withdrawals.vault(told.chain_id, &told.vault).ok_or(Reject::VaultNotFound)?;
        let held = *self.deposits.held.get(&(vault, told.number)).ok_or(Reject::DepositNotFound)?;
        let (asset, amount) = self.judge_deposit(told.chain_id, &held).map_err(|reason| match reason {
            HeldReason::TokenUnknown => Reject::TokenNotFound,
            HeldReason::TokenPaused => Reject::TokenPaused,
            HeldReason::None | HeldReason::OutOfRange | HeldReason::Nobody => Reject::InvalidAmount,
        })?;
        self.deposits.held.remove(&(vault, told.number));
        let place = Place { vault, number: told.number };
        Ok(self.credit_deposit(place, &held, asset, amount, emitter))
    }

    /// Of what a deposit is, and how much in amount steps; or what holds it.
    fn judge_deposit(&self, chain_id: u64, held: &Held) -> Result<(AssetId, Amount), HeldReason> {
        if held.account == Address::default() {
            return Err(HeldReason::Nobody);
        }
        let token = self.deposits.tokens.get(&(chain_id, held.token)).ok_or(HeldReason::TokenUnknown)?;
        let amount = Amount::try_from(held.value).ok().and_then(|value| value.checked_mul(token.steps()));
        let credited = self.assets[token.asset as usize].credited;
        let amount = amount.filter(|amount| *amount > 0 && credited.checked_add(*amount).is_some());
        let amount = amount.ok_or(HeldReason::OutOfRange)?;
        if token.paused & token_pause::DEPOSITS != 0 {
            return Err(HeldReason::TokenPaused);
        }
        Ok((token.asset, amount))
    }

    fn credit_deposit<S: Sink>(
        &mut self,
        place: Place,
        held: &Held,
        asset: AssetId,
        amount: Amount,
        emitter: &mut Emitter<'_, S>,
    ) -> Outcome {
        let (account, is_new) = self.accounts.find_or_make(held.account);
        let amount = amount - self.deposits.claimed(account, asset, amount);
        self.assets[asset as usize].credited += amount;
        self.balances.get_mut(account, asset).receive(amount);
        self.tell_balance(account, asset, emitter);
        if is_new {
            emitter.emit(event::AccountCreated { address: held.account, account });
        }
        let told = tell(place, held, DepositStatus::Credited, HeldReason::None);
        emitter.emit(event::Deposit { amount: amount.into(), account, asset, ..told });
        Outcome { account, ..Outcome::default() }
    }

    /// See [`SetToken`].
    fn set_token<S: Sink>(
        &mut self,
        told: &SetToken,
        emitter: &mut Emitter<'_, S>,
    ) -> Result<Outcome, Reject> {
        let SetToken { chain_id, token: address, asset: name, decimals, paused, minimum } = *told;
        let minimum = minimum.get();
        let is_sound = chain_id != 0
            && address != Address::default()
            && is_name(&name, 1)
            && decimals <= DECIMALS_MAX
            && paused & !token_pause::ALL == 0
            && minimum > 0
            && minimum % 10i128.pow(u32::from(DECIMALS_MAX - decimals)) == 0;
        if !is_sound {
            return Err(Reject::Malformed);
        }
        let asset = self.asset(&name);
        let token = match self.deposits.tokens.get(&(chain_id, address)) {
            Some(known) if Some(known.asset) == asset && known.decimals == decimals => {
                Token { paused, minimum, ..*known }
            }
            Some(_) => return Err(Reject::TokenExists),
            None if asset.is_some_and(|asset| self.deposits.contract(chain_id, asset).is_some()) => {
                return Err(Reject::TokenExists);
            }
            None if self.deposits.tokens.len() == TOKENS_MAX
                || self.assets.len() >= AssetId::MAX as usize - 2 =>
            {
                return Err(Reject::ParameterOutOfRange);
            }
            None => Token { asset: self.find_or_make_asset(name, emitter), decimals, paused, minimum },
        };
        self.deposits.tokens.insert((chain_id, address), token);
        emitter.emit(event::Token {
            chain_id,
            address,
            asset: token.asset,
            decimals,
            paused,
            minimum: told.minimum,
        });
        Ok(Outcome::default())
    }
}

/// A deposit that credits nothing.
fn tell(place: Place, held: &Held, status: DepositStatus, reason: HeldReason) -> event::Deposit {
    event::Deposit {
        number: place.number,
        amount: 0.into(),
        value: (held.value as i128).into(),
        token: held.token,
        address: held.account,
        account: 0,
        asset: 0,
        vault: place.vault,
        status: status as u8,
        reason: reason as u8,
        reserved: [0; 6],
    }
}
