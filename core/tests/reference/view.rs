//! Looking at the state, and telling what of it changed.

use super::output::Output;
use super::{Balances, Market, Reference, Resting};
use ringside_core::command::{MarketStatus, Side};
use ringside_core::event;
use ringside_core::ids::{AccountId, AssetId, FEE_ACCOUNT, MarketId, OrderId};
use ringside_core::money::{Amount, Price};
use ringside_core::reject::Reject;

impl Reference {
    pub(super) fn known_account(&self, account: AccountId) -> Result<(), Reject> {
        if (account as usize) < self.accounts.len() { Ok(()) } else { Err(Reject::AccountNotFound) }
    }

    pub(super) fn known_market(&self, market: MarketId) -> Result<&Market, Reject> {
        self.markets.get(market as usize).ok_or(Reject::MarketNotFound)
    }

    pub(super) fn trading_market(&self, market: MarketId) -> Result<&Market, Reject> {
        let market = self.known_market(market)?;
        match market.status {
            MarketStatus::Listed => Ok(market),
            MarketStatus::Halted => Err(Reject::MarketHalted),
            MarketStatus::Delisted => Err(Reject::MarketDelisted),
        }
    }

    pub(super) fn own_order(&self, account: AccountId, order: OrderId) -> Result<Resting, Reject> {
        self.known_account(account)?;
        let order = self.orders.get(&order).ok_or(Reject::OrderNotFound)?;
        if order.account == account { Ok(order.clone()) } else { Err(Reject::NotOwner) }
    }

    /// The resting orders of a side, best price first, then oldest arrival.
    pub fn side(&self, market: MarketId, side: Side) -> Vec<&Resting> {
        let mut orders: Vec<&Resting> =
            self.orders.values().filter(|order| order.market == market && order.side == side).collect();
        orders.sort_by_key(|order| {
            let rank = if side == Side::Buy { -order.price } else { order.price };
            (rank, order.arrival)
        });
        orders
    }

    /// Best price of a side.
    pub fn best(&self, market: MarketId, side: Side) -> Option<Price> {
        let prices = self.orders.values().filter(|order| order.market == market && order.side == side);
        let prices = prices.map(|order| order.price);
        if side == Side::Buy { prices.max() } else { prices.min() }
    }

    pub(super) fn level_total(&self, market: MarketId, side: Side, price: Price) -> Amount {
        let here = |order: &&Resting| order.market == market && order.side == side && order.price == price;
        self.orders.values().filter(here).map(|order| Amount::from(order.open)).sum()
    }

    /// (available, frozen) of one account in one asset; zeros for a row that does not exist.
    pub fn balance(&self, account: AccountId, asset: AssetId) -> (Amount, Amount) {
        let owned = self.owned.get(&(account, asset)).copied().unwrap_or(0);
        let holds = |order: &&Resting| order.account == account && self.held_asset(order) == asset;
        let frozen: Amount = self.orders.values().filter(holds).map(Resting::reservation).sum();
        assert!(owned >= frozen, "account {account} owns {owned} of asset {asset}, orders hold {frozen}");
        (owned - frozen, frozen)
    }

    /// Every row that was ever more than zero.
    pub fn balances(&self) -> Balances {
        let mut all: Balances = self.owned.iter().map(|(&row, &owned)| (row, (owned, 0))).collect();
        for order in self.orders.values() {
            let row =
                all.get_mut(&(order.account, self.held_asset(order))).expect("an order holds what is owned");
            row.0 -= order.reservation();
            row.1 += order.reservation();
        }
        all
    }

    pub(super) fn held_asset(&self, order: &Resting) -> AssetId {
        let market = &self.markets[order.market as usize];
        if order.side == Side::Buy { market.quote } else { market.base }
    }

    /// Counts a mutation of a level and tells its total.
    pub(super) fn mutated(&mut self, market: MarketId, side: Side, price: Price, output: &mut Output) {
        self.markets[market as usize].update += 1;
        output.depth(event::Depth {
            update: self.markets[market as usize].update,
            price,
            total: self.level_total(market, side, price).into(),
            market,
            side: side as u8,
            reserved: [0; 3],
        });
    }

    /// Tells the balances in a market's two assets of those whose values differ from `before`.
    pub(super) fn tell_balances(
        &self,
        market: MarketId,
        acting: Option<AccountId>,
        touched: &[AccountId],
        before: &Balances,
        output: &mut Output,
    ) {
        let mut accounts: Vec<AccountId> = acting.into_iter().collect();
        for &account in touched.iter().filter(|&&account| account != FEE_ACCOUNT).chain(&[FEE_ACCOUNT]) {
            if !accounts.contains(&account) {
                accounts.push(account);
            }
        }
        let Market { base, quote, .. } = self.markets[market as usize];
        let after = self.balances();
        for account in accounts {
            let row = |rows: &Balances, asset| rows.get(&(account, asset)).copied().unwrap_or((0, 0));
            let base_changed = row(before, base) != row(&after, base);
            let quote_changed = row(before, quote) != row(&after, quote);
            if base_changed || quote_changed {
                output.balances(event::Balances {
                    account,
                    base,
                    quote,
                    changed: u64::from(base_changed) | u64::from(quote_changed) << 1,
                    base_available: row(&after, base).0.into(),
                    base_frozen: row(&after, base).1.into(),
                    quote_available: row(&after, quote).0.into(),
                    quote_frozen: row(&after, quote).1.into(),
                });
            }
        }
    }

    pub(super) fn tell_market(&self, id: MarketId, output: &mut Output) {
        let market = &self.markets[id as usize];
        output.fact(event::Market {
            market: id,
            base: market.base,
            quote: market.quote,
            tick: market.tick,
            lot: market.lot,
            min_notional: market.min_notional.into(),
            maker_fee: market.maker_fee,
            taker_fee: market.taker_fee,
            max_open_orders: market.max_open_orders,
            symbol: market.symbol,
            kind: market.kind,
            status: market.status as u8,
            reserved: [0; 6],
        });
    }
}
