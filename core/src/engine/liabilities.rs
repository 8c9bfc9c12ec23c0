//! What the ledgers owe, account by account and in the venue's own pools: what a proof of reserves is made of (`spot.md` 10.1).
//!
//! Made anew from every account, as [`super::proof`] does, on a machine whose time nobody waits for: the follower's.

use super::Engine;
use crate::command::Ledger;
use crate::ids::{AccountId, Address, AssetId, AssetName, FEE_ACCOUNT};
use crate::money::{AMOUNT_PER_MICRO, AMOUNT_PER_PRODUCT, Amount};
use crate::perpetual::State;
use crate::risk::perpetual::units::product;
use std::collections::BTreeMap;

/// What is owed to one account in one asset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Liability {
    /// Account id.
    pub account: AccountId,
    /// Available and in open orders.
    pub spot: Amount,
    /// In withdrawals that were neither paid nor given back, of both ledgers.
    pub in_flight: Amount,
    /// Margin equity at the marks, exact: cross and isolated wallets and the unrealised profit of all positions. May be below zero.
    pub perpetual: Amount,
}

impl Liability {
    /// All of it. Equity below zero takes nothing from the rest: it is no debt that could be collected from there.
    pub fn owed(&self) -> Amount {
        self.spot + self.in_flight + self.perpetual.max(0)
    }
}

/// What is owed in one asset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssetLiabilities {
    /// Asset id.
    pub asset: AssetId,
    /// Its name.
    pub name: AssetName,
    /// Whether it is what perpetual wallets are of.
    pub is_margin: bool,
    /// To accounts, ascending; those that are owed nothing are left out.
    pub accounts: Vec<Liability>,
    /// Equity of the insurance fund; may be below zero.
    pub funds: Amount,
    /// Fees of both ledgers, and what is to be paid out of them to affiliates.
    pub fees: Amount,
    /// Deposits that are final and not credited yet, because their token is paused.
    pub held_deposits: Amount,
}

impl Engine {
    /// What is owed in every asset, by number; `None` where a sum leaves the range of amounts, which no invariant lets it.
    pub fn liabilities(&self) -> Option<Vec<AssetLiabilities>> {
        let mut in_flight: BTreeMap<(AssetId, AccountId), [Amount; 2]> = BTreeMap::new();
        for found in self.withdrawals.iter().filter(|found| found.status.holds_amount()) {
            in_flight.entry((found.asset, found.account)).or_default()[found.ledger as usize] += found.amount;
        }
        let mut all = Vec::with_capacity(self.assets.len());
        let count = self.accounts.count();
        for (asset, known) in (0..).zip(&self.assets) {
            let perpetual = self.perpetual.as_ref().filter(|_| self.margin_asset() == Some(asset));
            let row = |account| -> Option<Liability> {
                let balance = self.balances.get(account, asset);
                let [frozen, taken] = in_flight.get(&(asset, account)).copied().unwrap_or_default();
                Some(Liability {
                    account,
                    // A spot balance keeps frozen what its withdrawals have.
                    spot: balance.available.checked_add(balance.frozen)?.checked_sub(frozen)?,
                    in_flight: frozen.checked_add(taken)?,
                    perpetual: perpetual
                        .map_or(Some(0), |perpetual| perpetual.state.exact_equity(account))?,
                })
            };
            let mut accounts = Vec::new();
            let mut take = |account| -> Option<()> {
                let row = row(account)?;
                if account != FEE_ACCOUNT && (row.owed() != 0 || row.perpetual != 0) {
                    accounts.push(row);
                }
                Some(())
            };
            match perpetual {
                Some(_) => (0..count).try_for_each(&mut take)?,
                None => self.balances.iter(asset, count).try_for_each(|(account, _)| take(account))?,
            }
            let own = row(FEE_ACCOUNT)?;
            let ledger = perpetual.map_or(Some(0), |perpetual| {
                perpetual.state.ledger.fees.checked_add(perpetual.state.ledger.affiliates)
            })?;
            let fees = own.spot.checked_add(own.in_flight)?;
            all.push(AssetLiabilities {
                asset,
                name: known.name,
                is_margin: perpetual.is_some(),
                accounts,
                funds: own.perpetual,
                fees: fees.checked_add(Amount::from(ledger) * AMOUNT_PER_MICRO)?,
                held_deposits: self.held_in(asset)?,
            });
        }
        Some(all)
    }

    /// Deposits of known tokens that are somebody's and wait for their credit.
    fn held_in(&self, asset: AssetId) -> Option<Amount> {
        let mut sum: Amount = 0;
        for (&(vault, _), held) in &self.deposits.held {
            let chain_id = self.withdrawals.vaults.get(usize::from(vault))?.chain_id;
            let token = self.deposits.tokens.get(&(chain_id, held.token));
            let token = token.filter(|token| token.asset == asset && held.account != Address::default());
            let amount = token.zip(Amount::try_from(held.value).ok());
            // What is out of range is nothing that could ever be credited.
            let amount = amount.and_then(|(token, value)| value.checked_mul(token.steps()));
            sum = sum.checked_add(amount.unwrap_or(0))?;
        }
        Some(sum)
    }
}

impl State {
    /// Cross and isolated wallets and unrealised profit at the marks, without a rounding.
    fn exact_equity(&self, account: AccountId) -> Option<Amount> {
        let mut equity = Amount::from(self.wallet(account)) * AMOUNT_PER_MICRO;
        for index in self.markets_of(account) {
            let holding = self.holding(account, index);
            let own = Amount::from(holding.isolated) - Amount::from(holding.cost);
            let worth =
                product(self.mark(index), holding.quantity).checked_mul(AMOUNT_PER_PRODUCT as Amount)?;
            equity = equity.checked_add(own * AMOUNT_PER_MICRO)?.checked_add(worth)?;
        }
        Some(equity)
    }
}

const _: () = assert!(Ledger::Spot as usize == 0 && Ledger::Perpetual as usize == 1);
