//! Looking at the state without changing it: for tests and recovery checks. Clients read views instead.

use super::{Divergence, Engine};
use crate::book::pool::NONE;
use crate::command::{Ledger, Side, WithdrawalStatus};
use crate::ids::{AccountId, Address, AssetId, AssetName, MarketId, OrderId, Sequence, Symbol, WithdrawalId};
use crate::money::{Amount, Price, Quantity};
use crate::risk::Purse;
use crate::risk::spot::SpotPurse;
use std::collections::BTreeMap;

/// Events of a settlement beside those of positions, and of what its tick finds besides.
const EVENTS_BESIDE: usize = 4_096;

/// A resting order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resting {
    /// Order id.
    pub order: OrderId,
    /// Account id.
    pub account: AccountId,
    /// Market id.
    pub market: MarketId,
    /// On which side.
    pub side: Side,
    /// At what price.
    pub price: Price,
    /// As ordered: filled + open.
    pub quantity: Quantity,
    /// Not traded yet, > 0.
    pub open: Quantity,
}

/// A withdrawal that has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingWithdrawal {
    /// Withdrawal id.
    pub withdrawal: WithdrawalId,
    /// Account id.
    pub account: AccountId,
    /// Of what.
    pub asset: AssetId,
    /// From where.
    pub ledger: Ledger,
    /// Requested, Signed or Void.
    pub status: WithdrawalStatus,
    /// How much.
    pub amount: Amount,
    /// The vault's counter at which it can be submitted.
    pub nonce: u64,
    /// UNIX seconds.
    pub requested_at_s: u64,
    /// UNIX seconds.
    pub deadline_s: u64,
    /// The vault paid something else for its nonce; operators decide.
    pub is_disputed: bool,
}

impl Engine {
    /// Sequence of the last command, 0 at genesis.
    pub fn sequence(&self) -> Sequence {
        self.sequence
    }

    /// The largest time of any command so far, nanoseconds of the UNIX epoch, at least 0.
    pub fn time_ns(&self) -> i64 {
        self.time.ns()
    }

    /// The epoch that sources belong to, 0 before the first.
    pub fn epoch(&self) -> u32 {
        self.sources.epoch()
    }

    /// Set once a `VerifyHash` did not match. The process must stop then.
    pub fn diverged(&self) -> Option<Divergence> {
        self.divergence
    }

    /// Count of accounts, the fee account included.
    pub fn accounts(&self) -> u32 {
        self.accounts.count()
    }

    /// Address of an account.
    pub fn address(&self, account: AccountId) -> Option<Address> {
        self.accounts.exists(account).then(|| *self.accounts.address(account))
    }

    /// The account of an address.
    pub fn account(&self, address: &Address) -> Option<AccountId> {
        self.accounts.find(address)
    }

    /// Count of assets.
    pub fn assets(&self) -> usize {
        self.assets.len()
    }

    /// The asset of a name.
    pub fn asset(&self, name: &AssetName) -> Option<AssetId> {
        self.assets.iter().position(|asset| asset.name == *name).map(|place| place as AssetId)
    }

    /// Count of markets, delisted ones included.
    pub fn markets(&self) -> usize {
        self.markets.len()
    }

    /// The market of a symbol.
    pub fn market(&self, symbol: &Symbol) -> Option<MarketId> {
        self.markets.iter().position(|market| market.rules.symbol == *symbol).map(|place| place as MarketId)
    }

    /// The market as an event would show it.
    pub fn market_event(&self, market: MarketId) -> Option<crate::event::Market> {
        self.markets.get(market as usize).map(|market| market.event())
    }

    /// (available, frozen) of an account; `None` where account or asset do not exist.
    pub fn balance(&self, account: AccountId, asset: AssetId) -> Option<(Amount, Amount)> {
        if !self.accounts.exists(account) || asset as usize >= self.assets.len() {
            return None;
        }
        let balance = self.balances.get(account, asset);
        Some((balance.available, balance.frozen))
    }

    /// Levels of a side with the sum of what is open, best first, at most `limit`. Empty for an unknown market.
    pub fn depth(&self, market: MarketId, side: Side, limit: usize) -> Vec<(Price, i128)> {
        self.markets
            .get(market as usize)
            .map_or_else(Vec::new, |market| market.book.depth(&self.orders, side).take(limit).collect())
    }

    /// Update id of a market's book.
    pub fn update(&self, market: MarketId) -> Option<u64> {
        self.markets.get(market as usize).map(|market| market.book.update)
    }

    /// Price of a market's last trade.
    pub fn last_price(&self, market: MarketId) -> Option<Price> {
        self.markets.get(market as usize).map(|market| market.last_price).filter(|&price| price != 0)
    }

    /// Orders of a side, best price first, oldest first. Empty for an unknown market.
    pub fn resting(&self, market: MarketId, side: Side) -> impl Iterator<Item = Resting> + '_ {
        self.markets
            .get(market as usize)
            .into_iter()
            .flat_map(move |market| market.book.slots(&self.orders, side))
            .map(|slot| self.show(slot))
    }

    /// Open orders of an account in a market, oldest first.
    pub fn open_orders(&self, account: AccountId, market: MarketId) -> impl Iterator<Item = Resting> + '_ {
        let mut slot =
            self.markets.get(market as usize).map_or(NONE, |market| market.by_account.get(account).oldest);
        std::iter::from_fn(move || {
            let found = slot;
            (found != NONE).then(|| {
                slot = self.orders.pool.get(found).younger;
                self.show(found)
            })
        })
    }

    /// A resting order.
    pub fn order(&self, order: OrderId) -> Option<Resting> {
        let slot = self.orders.find(order);
        (slot != NONE).then(|| self.show(slot))
    }

    fn show(&self, slot: u32) -> Resting {
        let order = self.orders.pool.get(slot);
        Resting {
            order: order.id,
            account: order.account,
            market: order.market,
            side: order.traits.side(),
            price: order.price,
            quantity: order.quantity,
            open: order.remaining,
        }
    }

    /// Withdrawals that have not ended, by number.
    pub fn withdrawals(&self) -> impl Iterator<Item = PendingWithdrawal> + '_ {
        self.withdrawals.iter().map(|found| PendingWithdrawal {
            withdrawal: found.id,
            account: found.account,
            asset: found.asset,
            ledger: found.ledger,
            status: found.status,
            amount: found.amount,
            nonce: found.nonce,
            requested_at_s: found.requested_at_s,
            deadline_s: found.deadline_s,
            is_disputed: found.is_disputed,
        })
    }

    /// What withdrawals of the perpetual ledger have taken and neither paid nor given back.
    pub fn perpetual_in_flight(&self) -> Amount {
        self.withdrawals.perpetual_in_flight()
    }

    /// Releases of an address that a vault is known to have made.
    pub fn released(&self, chain_id: u64, vault: &Address, address: Address) -> u64 {
        let vault = self.withdrawals.vault(chain_id, vault);
        let seat = vault.and_then(|vault| self.withdrawals.seats.get(&(vault, address)));
        seat.map_or(0, |seat| seat.released)
    }

    /// The last final block of a vault that was told: its number and timestamp.
    pub fn chain_cursor(&self, chain_id: u64, vault: &Address) -> Option<(u64, u64)> {
        let vault = self.withdrawals.vault(chain_id, vault)?;
        let vault = &self.withdrawals.vaults[vault as usize];
        Some((vault.block, vault.time_s))
    }

    /// The chain of each vault, by its number.
    pub(crate) fn vault_chains(&self) -> impl Iterator<Item = u64> + '_ {
        self.withdrawals.vaults.iter().map(|vault| vault.chain_id)
    }

    /// Deposits of a vault that were taken: the number of the last.
    pub fn deposits(&self, chain_id: u64, vault: &Address) -> u64 {
        let vault = self.withdrawals.vault(chain_id, vault);
        vault.map_or(0, |vault| self.deposits.vault(vault).deposits)
    }

    /// Whose signatures a vault is known to pay for; zeros while nobody is.
    pub fn vault_signer(&self, chain_id: u64, vault: &Address) -> Address {
        let vault = self.withdrawals.vault(chain_id, vault);
        vault.map_or([0; 20], |vault| self.deposits.vault(vault).signer)
    }

    /// Numbers of a vault's deposits that are held.
    pub fn held_deposits(&self, chain_id: u64, vault: &Address) -> impl Iterator<Item = u64> + '_ {
        let vault = self.withdrawals.vault(chain_id, vault);
        let held = self.deposits.held.keys().filter(move |(of, _)| Some(*of) == vault);
        held.map(|&(_, number)| number)
    }

    /// What an account was credited for deposits that the chain has undone, and that were not deposited again.
    pub fn deposit_claim(&self, account: AccountId, asset: AssetId) -> Amount {
        self.deposits.claims.get(&(account, asset)).copied().unwrap_or(0)
    }

    /// Deposits that are held, claims and tokens: what an auditor starts from.
    pub(crate) fn deposit_state(&self) -> &crate::deposit::Deposits {
        &self.deposits
    }

    /// Bits of [`crate::command::pause`] in force.
    pub fn withdrawals_paused(&self) -> u32 {
        self.withdrawals.paused
    }

    /// Room for the events of the longest command: the match of an order is whole, and may meet every account.
    pub fn events_at_most(&self) -> usize {
        2 * self.config.accounts + EVENTS_BESIDE
    }

    /// Walks everything: books, links, totals, counts, reservations, and each asset's sum. Slow; names the first fault.
    pub fn check_invariants(&self) -> Result<(), String> {
        let (mut resting, mut leaves) = (0, 0);
        for market in &self.markets {
            let find = |id| self.orders.find(id);
            let (in_book, found) =
                market.book.check(&self.orders, find).map_err(|fault| in_market(market.rules.id, fault))?;
            let listed = market
                .by_account
                .check(&self.orders, find, (market.rules.id, self.accounts.count()))
                .map_err(|fault| in_market(market.rules.id, fault))?;
            if in_book != listed {
                return Err(in_market(market.rules.id, format!("{in_book} in the book, {listed} on lists")));
            }
            resting += in_book;
            leaves += found;
        }
        let (indexed, slots) = (self.orders.index.len(), self.orders.pool.count()?);
        if indexed != resting || slots != resting {
            return Err(format!("{resting} rest, {indexed} are indexed, {slots} hold slots"));
        }
        if self.orders.levels.used() != leaves {
            return Err(format!("{} leaves are used, books have {leaves}", self.orders.levels.used()));
        }
        self.check_money()?;
        self.withdrawals
            .check(|account| self.accounts.exists(account).then(|| *self.accounts.address(account)))?;
        self.deposits.check(self.withdrawals.vaults.len())?;
        self.perpetual.as_ref().map_or(Ok(()), |perpetual| perpetual.check(self.accounts.count()))
    }

    /// Frozen is the sum of reservations and of withdrawals on their way, nothing is negative, and each asset's balances add up to its credits.
    fn check_money(&self) -> Result<(), String> {
        let mut reserved: BTreeMap<(AssetId, AccountId), Amount> = BTreeMap::new();
        for market in &self.markets {
            for side in [Side::Buy, Side::Sell] {
                let asset = match side {
                    Side::Buy => market.rules.quote,
                    Side::Sell => market.rules.base,
                };
                for slot in market.book.slots(&self.orders, side) {
                    let order = self.orders.pool.get(slot);
                    *reserved.entry((asset, order.account)).or_default() +=
                        SpotPurse::reservation(side, order.price, order.remaining);
                }
            }
        }
        for withdrawal in self.withdrawals.iter().filter(|withdrawal| withdrawal.status.holds_amount()) {
            if withdrawal.ledger == Ledger::Spot {
                *reserved.entry((withdrawal.asset, withdrawal.account)).or_default() += withdrawal.amount;
            }
        }
        for (number, asset) in self.assets.iter().enumerate() {
            let mut sum = 0;
            for (account, balance) in self.balances.iter(number as AssetId, self.accounts.count()) {
                let expected = reserved.remove(&(number as AssetId, account)).unwrap_or(0);
                if balance.frozen != expected {
                    return Err(format!(
                        "account {account} has {} of asset {number} frozen, its orders and withdrawals reserve {expected}",
                        balance.frozen
                    ));
                }
                if balance.available < 0 || !self.accounts.exists(account) {
                    return Err(format!("account {account} holds {} of asset {number}", balance.available));
                }
                sum += balance.available + balance.frozen;
            }
            if sum != asset.credited {
                return Err(format!("asset {number}: {sum} held, {} credited", asset.credited));
            }
        }
        match reserved.pop_first() {
            None => Ok(()),
            Some(((asset, account), _)) => Err(format!(
                "account {account} has orders or withdrawals but nothing of asset {asset} frozen"
            )),
        }
    }
}

fn in_market(market: MarketId, fault: String) -> String {
    format!("market {market}: {fault}")
}
