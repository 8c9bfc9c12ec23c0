//! What a command left changed: final values of everything that may change, compared with those before it.

use super::Model;
use super::arithmetic::narrow;
use super::margin::Bucket;
use crate::support::table::Table;
use ringside_core::command::{Side, order_flag};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, MarketId, OrderId};

/// Everything that is told as a final value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    pub positions: Table<(MarketId, AccountId), event::PerpetualPosition>,
    pub exposures: Table<(MarketId, AccountId), event::PerpetualExposure>,
    pub wallets: Table<AccountId, i64>,
    pub pools: Option<event::PerpetualPools>,
}

fn exposure(
    (market, account): (MarketId, AccountId),
    [buys, sells]: [Bucket; 2],
) -> event::PerpetualExposure {
    event::PerpetualExposure {
        account,
        market,
        buy_quantity: narrow(buys.quantity),
        buy_reference: narrow(buys.reference),
        buy_open_loss: narrow(buys.open_loss),
        buy_fee_reserve: narrow(buys.fee_reserve),
        sell_quantity: narrow(sells.quantity),
        sell_reference: narrow(sells.reference),
        sell_open_loss: narrow(sells.open_loss),
        sell_fee_reserve: narrow(sells.fee_reserve),
    }
}

impl Model {
    /// The buckets of every account in a market, in one pass.
    fn exposures(&self) -> Table<(MarketId, AccountId), [Bucket; 2]> {
        let mut all: Table<(MarketId, AccountId), [Bucket; 2]> = Table::default();
        for order in self.orders.values() {
            let bucket = order.bucket();
            if bucket.quantity > 0 {
                let key = (order.market, order.account);
                let mut buckets = all.get(&key).copied().unwrap_or_default();
                buckets[order.side as usize].add(bucket);
                all.insert(key, buckets);
            }
        }
        all
    }

    /// As everything stands.
    pub fn told(&self) -> Told {
        let mut told = Told::default();
        let exposures = self.exposures();
        for market in &self.markets {
            for account in 0..self.accounts.len() as AccountId {
                let key = (market.id, account);
                let position = self.position(account, market.id);
                told.positions.insert(
                    key,
                    event::PerpetualPosition {
                        account,
                        market: market.id,
                        quantity: narrow(position.quantity),
                        cost: narrow(position.cost),
                        isolated_wallet: narrow(position.isolated_wallet),
                        open_fees: narrow(position.open_fees),
                        realised: narrow(position.realised),
                        leverage: self.leverage(market.id, &position) as u32,
                        mode: position.mode as u32,
                    },
                );
                let buckets = exposures.get(&key).copied().unwrap_or_default();
                told.exposures.insert(key, exposure(key, buckets));
            }
        }
        for (account, terms) in self.accounts.iter().enumerate() {
            told.wallets.insert(account as AccountId, narrow(terms.wallet));
        }
        told.pools = Some(event::PerpetualPools {
            fees: narrow(self.fees),
            affiliates: narrow(self.affiliates),
            deposits: narrow(self.deposits),
            deficit: self.deficit.into(),
        });
        told
    }

    /// An order's fact is about to lower its account's order margin. Where an earlier fact of the command has changed that, it
    /// is told first.
    pub(super) fn will_rebook(&mut self, id: OrderId) {
        let order = &self.orders[&id];
        let key = (order.market, order.account);
        if !order.rests() || order.has(order_flag::REDUCE_ONLY) {
            return;
        }
        if self.rebooked.get(&key).is_some_and(|&facts| facts < self.output.facts().len()) {
            let [buys, sells] = self.buckets(key.1, key.0);
            let now = exposure(key, [buys, sells]);
            if self.before.exposures.get(&key) != Some(&now) {
                self.before.exposures.insert(key, now);
                self.output.fact(now);
            }
        }
        self.rebooked.insert(key, self.output.facts().len());
    }

    /// An order's fact has changed its account's order margin, or the one told before it.
    pub(super) fn note_rebooked(&mut self, id: OrderId) {
        let order = &self.orders[&id];
        if !order.has(order_flag::REDUCE_ONLY) {
            self.rebooked.insert((order.market, order.account), self.output.facts().len());
        }
    }

    /// Events of everything that differs from before the command.
    pub(super) fn changes(&self, before: &Told, after: &Told) -> Vec<Event> {
        let mut events = Vec::new();
        for (key, position) in after.positions.iter() {
            let fresh = || event::PerpetualPosition {
                account: key.1,
                market: key.0,
                quantity: 0,
                cost: 0,
                isolated_wallet: 0,
                open_fees: 0,
                realised: 0,
                leverage: position.leverage,
                // A new account begins in cross mode; in a new market everybody's is as its account's.
                mode: before.wallets.get(&key.1).map_or(0, |_| position.mode),
            };
            let old = before.positions.get(key).copied().unwrap_or_else(fresh);
            if old != *position {
                events.push(Event::new(0, 0, 0, *position));
            }
            let exposure = &after.exposures[key];
            let is_empty = |exposure: &event::PerpetualExposure| {
                exposure.buy_quantity == 0 && exposure.sell_quantity == 0
            };
            let same = match before.exposures.get(key) {
                Some(old) => old == exposure,
                None => is_empty(exposure),
            };
            if !same {
                events.push(Event::new(0, 0, 0, *exposure));
            }
        }
        for (&account, &wallet) in after.wallets.iter() {
            if before.wallets.get(&account).copied().unwrap_or(0) != wallet {
                events.push(Event::new(0, 0, 0, event::PerpetualWallet { account, reserved: 0, wallet }));
            }
        }
        if let (Some(old), Some(new)) = (before.pools, after.pools)
            && old != new
        {
            events.push(Event::new(0, 0, 0, new));
        }
        events
    }

    /// Orders in the book of one side, best price first, then oldest arrival.
    pub fn side(&self, market: MarketId, side: Side) -> Vec<&super::Order> {
        let mut orders: Vec<&super::Order> = self
            .orders
            .values()
            .filter(|order| order.rests() && order.market == market && order.side == side)
            .collect();
        orders
            .sort_by_key(|order| (if side == Side::Buy { -order.price } else { order.price }, order.arrival));
        orders
    }

    /// Price and total of each level of a side, best first.
    pub fn levels(&self, market: MarketId, side: Side) -> Vec<(i128, i128)> {
        let mut levels: Vec<(i128, i128)> = Vec::new();
        for order in self.side(market, side) {
            match levels.last_mut() {
                Some(level) if level.0 == order.price => level.1 += order.open,
                _ => levels.push((order.price, order.open)),
            }
        }
        levels
    }

    /// Best price of a side.
    pub fn best(&self, market: MarketId, side: Side) -> Option<i128> {
        let prices = self
            .orders
            .values()
            .filter(|order| order.rests() && order.market == market && order.side == side)
            .map(|order| order.price);
        if side == Side::Buy { prices.max() } else { prices.min() }
    }

    /// Counts a mutation of a level and tells its total.
    pub(super) fn mutated(&mut self, market: MarketId, side: Side, price: i128) {
        let total: i128 = self
            .orders
            .values()
            .filter(|o| o.rests() && o.market == market && o.side == side && o.price == price)
            .map(|order| order.open)
            .sum();
        let book = self.market_mut(market);
        book.update += 1;
        let update = book.update;
        self.output.depth(event::Depth {
            update,
            price: narrow(price),
            total: total.into(),
            market,
            side: side as u8,
            reserved: [0; 3],
        });
    }
}
