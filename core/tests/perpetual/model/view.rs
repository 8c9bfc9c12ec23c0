//! Final values of everything that may change, as they are told and as they stand.

use super::arithmetic::narrow;
use super::margin::Bucket;
use super::{FUND, Model};
use crate::support::table::Table;
use ringside_core::command::{Side, order_flag};
use ringside_core::event::{self, Event};
use ringside_core::ids::{AccountId, MarketId};

/// Everything that is told as a final value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Told {
    pub positions: Table<(MarketId, AccountId), event::PerpetualPosition>,
    pub exposures: Table<(MarketId, AccountId), event::PerpetualExposure>,
    pub wallets: Table<AccountId, i64>,
}

impl Told {
    /// Takes what a command told.
    pub fn take(&mut self, events: &[Event]) {
        for event in events {
            if let Some(position) = event.get::<event::PerpetualPosition>() {
                self.positions.insert((position.market, position.account), *position);
            } else if let Some(exposure) = event.get::<event::PerpetualExposure>() {
                self.exposures.insert((exposure.market, exposure.account), *exposure);
            } else if let Some(wallet) = event.get::<event::PerpetualWallet>() {
                self.wallets.insert(wallet.account, wallet.wallet);
            }
        }
    }

    /// What was told last is what stands: of what was never told, nothing.
    pub fn compare(&self, now: &Told) -> Result<(), String> {
        for (key, position) in now.positions.iter() {
            let untold = event::PerpetualPosition {
                quantity: 0,
                cost: 0,
                isolated_wallet: 0,
                open_fees: 0,
                realised: 0,
                ..*position
            };
            // A leverage that nobody set may follow the market's brackets.
            let told = self.positions.get(key).copied().unwrap_or(untold);
            let told = event::PerpetualPosition { leverage: position.leverage, ..told };
            if told != *position {
                return Err(format!("told was {told:?}, it is {position:?}"));
            }
            let exposure = now.exposures[key];
            let told = self.exposures.get(key).copied();
            let told = told.unwrap_or(self::exposure(*key, Default::default()));
            if told != exposure {
                return Err(format!("told was {told:?}, it is {exposure:?}"));
            }
        }
        for (account, &wallet) in now.wallets.iter() {
            let told = self.wallets.get(account).copied().unwrap_or(0);
            if told != wallet {
                return Err(format!("of the wallet of {account} {told} was told, it is {wallet}"));
            }
        }
        Ok(())
    }
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
        told
    }

    /// Tells what an account holds in a market.
    pub(super) fn tell_position(&mut self, account: AccountId, market: MarketId) {
        let position = self.position(account, market);
        self.output.fact(event::PerpetualPosition {
            account,
            market,
            quantity: narrow(position.quantity),
            cost: narrow(position.cost),
            isolated_wallet: narrow(position.isolated_wallet),
            open_fees: narrow(position.open_fees),
            realised: narrow(position.realised),
            leverage: self.leverage(market, &position) as u32,
            mode: position.mode as u32,
        });
    }

    /// Tells a cross wallet, but the fund's, which the end of the command tells.
    pub(super) fn tell_wallet(&mut self, account: AccountId) {
        if account != FUND {
            let wallet = narrow(self.account(account).wallet);
            self.output.fact(event::PerpetualWallet { account, reserved: 0, wallet });
        }
    }

    /// Tells the order margin of the owner of an order that counts in it.
    pub(super) fn tell_exposure(&mut self, order: &super::Order) {
        if !order.has(order_flag::REDUCE_ONLY) {
            let buckets = self.buckets(order.account, order.market);
            self.output.fact(exposure((order.market, order.account), buckets));
        }
    }

    /// An account may come to trade with the order that arrives: as it is now.
    pub(super) fn meet_party(&mut self, account: AccountId, market: MarketId) {
        if self.parties.iter().all(|party| party.0 != account) {
            let (position, wallet) = (self.position(account, market), self.account(account).wallet);
            self.parties.push((account, position, wallet));
        }
    }

    /// The arriving order pauses or is done: tells its last level, and what it made of those who traded.
    pub(super) fn tell_pass(&mut self, market: MarketId) {
        self.tell_level();
        for (account, position, wallet) in std::mem::take(&mut self.parties) {
            if self.position(account, market) != position {
                self.tell_position(account, market);
            }
            if self.account(account).wallet != wallet {
                self.tell_wallet(account);
            }
        }
    }

    /// The level that the arriving order was at.
    pub(super) fn tell_level(&mut self) {
        if let Some(level) = self.level.take() {
            self.output.fact(level);
        }
    }

    /// What is told at the end of a command: the fund's wallet and the pools, as they are.
    pub(super) fn sums(&self) -> (event::PerpetualWallet, event::PerpetualPools) {
        let pools = event::PerpetualPools {
            fees: narrow(self.fees),
            affiliates: narrow(self.affiliates),
            deposits: narrow(self.deposits),
            deficit: self.deficit.into(),
        };
        let wallet = narrow(self.accounts.first().map_or(0, |fund| fund.wallet));
        (event::PerpetualWallet { account: FUND, reserved: 0, wallet }, pools)
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
        let level = event::Depth {
            update,
            price: narrow(price),
            total: total.into(),
            market,
            side: side as u8,
            reserved: [0; 3],
        };
        if self.is_matching {
            self.level = Some(level);
        } else {
            self.output.fact(level);
        }
    }
}
