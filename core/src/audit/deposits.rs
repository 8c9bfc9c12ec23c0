//! Deposits as they are told: of each vault one number after the other, each credited once and with what arrived, in steps of the
//! token; what is held is credited at most once; and what the chain undid is made good by what comes next.

use crate::command::{DECIMALS_MAX, DepositStatus, Kind};
use crate::engine::Engine;
use crate::event::{Deposit, Done, Token, VaultOpened};
use crate::ids::{AccountId, Address, AssetId};
use std::collections::{BTreeMap, BTreeSet};

/// See the module.
#[derive(Default)]
pub(super) struct Deposits {
    /// Chain of each vault.
    chains: Vec<u64>,
    /// The last number of each vault.
    last: BTreeMap<u16, u64>,
    held: BTreeSet<(u16, u64)>,
    /// Asset and decimals, by chain and contract.
    tokens: BTreeMap<(u64, Address), (AssetId, u8)>,
    claims: BTreeMap<(AccountId, AssetId), i128>,
    /// How many deposits the running command told.
    told: u32,
}

impl Deposits {
    pub(super) fn of(engine: &Engine) -> Deposits {
        let state = engine.deposit_state();
        let tokens = state.tokens.iter().map(|(&at, token)| (at, (token.asset, token.decimals)));
        Deposits {
            chains: engine.vault_chains().collect(),
            last: state.vaults.iter().map(|(&vault, book)| (vault, book.deposits)).collect(),
            held: state.held.keys().copied().collect(),
            tokens: tokens.collect(),
            claims: state.claims.clone(),
            told: 0,
        }
    }

    pub(super) fn opened(&mut self, told: &VaultOpened) -> Result<(), String> {
        self.chains.push(told.chain_id);
        if self.chains.len() == usize::from(told.vault) + 1 {
            Ok(())
        } else {
            Err("a vault out of order".into())
        }
    }

    pub(super) fn token(&mut self, told: &Token) -> Result<(), String> {
        let now = (told.asset, told.decimals);
        match self.tokens.insert((told.chain_id, told.address), now) {
            Some(before) if before != now => {
                Err(format!("it was asset {} with {} decimals", before.0, before.1))
            }
            _ if told.decimals > DECIMALS_MAX => Err("finer than an amount".into()),
            _ => Ok(()),
        }
    }

    pub(super) fn told(&mut self, told: &Deposit) -> Result<(), String> {
        self.told += 1;
        let place = (told.vault, told.number);
        let last = self.last.entry(told.vault).or_default();
        let status = DepositStatus::from_code(told.status).ok_or("no status")?;
        let is_next = told.number == *last + 1;
        match status {
            DepositStatus::Held if is_next => {
                *last += 1;
                self.held.insert(place);
                if told.amount.get() == 0 { Ok(()) } else { Err("held, and credited".into()) }
            }
            DepositStatus::Credited if is_next || self.held.remove(&place) => {
                *last = (*last).max(told.number);
                self.credited(told)
            }
            DepositStatus::Undone if told.number == *last && told.number > 0 => {
                *last -= 1;
                if !self.held.remove(&place) && told.amount.get() > 0 {
                    *self.claims.entry((told.account, told.asset)).or_default() += told.amount.get();
                }
                Ok(())
            }
            _ => Err(format!("the last was {last}")),
        }
    }

    fn credited(&mut self, told: &Deposit) -> Result<(), String> {
        let chain_id = self.chains.get(usize::from(told.vault)).ok_or("no such vault")?;
        let (asset, decimals) = self.tokens.get(&(*chain_id, told.token)).ok_or("no such token")?;
        let arrived = told.value.get() * 10i128.pow(u32::from(DECIMALS_MAX - decimals));
        let claim = self.claims.entry((told.account, told.asset)).or_default();
        let paid = arrived.min(*claim);
        *claim -= paid;
        if *asset == told.asset && arrived > 0 && told.amount.get() == arrived - paid {
            Ok(())
        } else {
            Err(format!("{arrived} of asset {asset} arrived, {paid} of it for what was credited before"))
        }
    }

    /// The end of a command.
    pub(super) fn done(&mut self, done: &Done) -> Result<(), String> {
        let told = std::mem::take(&mut self.told);
        let kinds = [Kind::RecordDeposit, Kind::CreditHeldDeposit, Kind::UndoEvent];
        let is_of_one = kinds.iter().any(|kind| *kind as u16 == done.command);
        if told == 0 || (told == 1 && is_of_one) {
            Ok(())
        } else {
            Err("a deposit that no command told".into())
        }
    }
}
