//! One market: its rules, its book, and where each account stands in it.

use crate::account::Sparse;
use crate::book::Book;
use crate::book::Orders;
use crate::book::grid::Step;
use crate::book::pool::NONE;
use crate::command::{MarketKind, MarketStatus, Side};
use crate::config::EngineConfig;
use crate::event;
use crate::ids::{AccountId, AssetId, MarketId, OrderId, Symbol, TradeId};
use crate::memory::Pages;
use crate::money::{Amount, FeeRate, Price};
use crate::order::Order;
use std::hint::select_unpredictable;
use std::ops::{Deref, DerefMut};
use zerocopy::FromZeros;

/// What an administrator sets. Tick and lot judge what enters; they are never the unit of storage.
#[derive(Clone, Copy)]
pub(crate) struct Rules {
    pub(crate) id: MarketId,
    pub(crate) base: AssetId,
    pub(crate) quote: AssetId,
    pub(crate) kind: MarketKind,
    pub(crate) status: MarketStatus,
    /// It is halted until its last order is canceled, then delisted.
    pub(crate) delists: bool,
    pub(crate) tick: Step,
    pub(crate) lot: Step,
    /// > 0
    pub(crate) min_notional: Amount,
    pub(crate) maker_fee: FeeRate,
    pub(crate) taker_fee: FeeRate,
    pub(crate) max_open_orders: u32,
    pub(crate) symbol: Symbol,
}

/// See the module.
pub(crate) struct Market {
    pub(crate) rules: Rules,
    pub(crate) book: Book,
    pub(crate) by_account: OrdersByAccount,
    /// Trades so far; the id of the last one.
    pub(crate) trades: TradeId,
    /// Price of the last trade, 0 before the first.
    pub(crate) last_price: Price,
}

impl Market {
    /// A market in which nothing has happened yet.
    pub(crate) fn new(rules: Rules, config: &EngineConfig) -> Market {
        Market {
            rules,
            book: Book::new(rules.tick.value(), &config.hash_seed),
            by_account: OrdersByAccount::new(config.accounts, config.pages),
            trades: 0,
            last_price: 0,
        }
    }

    /// As an event.
    pub(crate) fn event(&self) -> event::Market {
        let rules = &self.rules;
        event::Market {
            market: rules.id,
            base: rules.base,
            quote: rules.quote,
            tick: rules.tick.value(),
            lot: rules.lot.value(),
            min_notional: rules.min_notional.into(),
            maker_fee: rules.maker_fee,
            taker_fee: rules.taker_fee,
            max_open_orders: rules.max_open_orders,
            symbol: rules.symbol,
            kind: rules.kind as u8,
            status: rules.status as u8,
            reserved: [0; 6],
        }
    }
}

/// Open orders of an account in a market: how many, and a list of them by age through their records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromZeros)]
#[repr(C)]
pub(crate) struct OpenOrders {
    /// Open orders, by [`Side`].
    pub(crate) open: [u32; 2],
    /// The oldest open order.
    pub(crate) oldest: u32,
    /// The youngest.
    pub(crate) youngest: u32,
}

impl OpenOrders {
    /// Open orders of both sides.
    #[inline(always)]
    pub(crate) fn open_orders(&self) -> u32 {
        // There are fewer than 2^32 resting orders.
        self.open[0].wrapping_add(self.open[1])
    }

    /// Open orders of one side.
    #[inline(always)]
    pub(crate) fn open(&self, side: Side) -> u32 {
        self.open[side as usize & 1]
    }

    /// Makes an order the youngest; its record says so already.
    #[inline(always)]
    pub(crate) fn link(&mut self, orders: &mut Orders, slot: u32, side: Side) {
        let older = self.youngest;
        let open = &mut self.open[side as usize & 1];
        *open = open.wrapping_add(1);
        self.youngest = slot;
        self.oldest = select_unpredictable(older == NONE, slot, self.oldest);
        orders.pool.get_mut(older).younger = slot;
    }

    /// Makes an order the youngest; its record need not say so yet.
    #[inline(always)]
    pub(crate) fn append(&mut self, orders: &mut Orders, slot: u32) {
        let order = orders.pool.get_mut(slot);
        order.older = self.youngest;
        let side = order.traits.side();
        self.link(orders, slot, side);
    }

    /// Takes an order out of the list.
    #[inline(always)]
    pub(crate) fn unlink(&mut self, orders: &mut Orders, slot: u32) {
        let slab = orders.pool.slab();
        let Order { older, younger, traits, .. } = slab[slot as usize];
        let open = &mut self.open[traits.side() as usize & 1];
        debug_assert!(*open > 0);
        *open = open.wrapping_sub(1);
        self.youngest = select_unpredictable(younger == NONE, older, self.youngest);
        self.oldest = select_unpredictable(older == NONE, younger, self.oldest);
        slab[older as usize].younger = younger;
        slab[younger as usize].older = older;
    }

    /// Checks the list of an account, and that `find` gives each order's slot; the count of orders on it.
    pub(crate) fn check(
        &self,
        orders: &Orders,
        find: impl Fn(OrderId) -> u32,
        (market, account): (MarketId, AccountId),
    ) -> Result<usize, String> {
        let (mut open, mut older, mut slot, mut last) = ([0u32; 2], NONE, self.oldest, 0);
        while slot != NONE {
            let order = orders.pool.get(slot);
            if order.account != account
                || order.market != market
                || order.older != older
                || order.id <= last
                || find(order.id) != slot
            {
                return Err(format!("order {} is not as the list of account {account} says", order.id));
            }
            open[match order.traits.side() {
                Side::Buy => 0,
                Side::Sell => 1,
            }] += 1;
            last = order.id;
            (older, slot) = (slot, order.younger);
        }
        if open != self.open || older != self.youngest {
            return Err(format!("counts of account {account} in market {market} are wrong"));
        }
        Ok(self.open_orders() as usize)
    }
}

/// Where an account stands in a spot market: its open orders.
#[derive(Clone, Copy, Default, FromZeros)]
#[repr(C, align(32))]
pub(crate) struct AccountOrders {
    orders: OpenOrders,
    /// Where the running command noted the account's balances, if that note is this account's and market's.
    pub(crate) note: u32,
    unused: [u32; 3],
}

const _: () = assert!(size_of::<AccountOrders>() == 32);

impl Deref for AccountOrders {
    type Target = OpenOrders;

    #[inline(always)]
    fn deref(&self) -> &OpenOrders {
        &self.orders
    }
}

impl DerefMut for AccountOrders {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut OpenOrders {
        &mut self.orders
    }
}

/// Seats of a market by account.
pub(crate) struct OrdersByAccount {
    by_account: Sparse<AccountOrders, 1024>,
}

impl OrdersByAccount {
    /// No seat taken; memory for `accounts`.
    pub(crate) fn new(accounts: usize, pages: Pages) -> OrdersByAccount {
        OrdersByAccount { by_account: Sparse::new(accounts, pages) }
    }

    #[inline(always)]
    pub(crate) fn get(&self, account: AccountId) -> AccountOrders {
        *self.by_account.get(account)
    }

    #[inline(always)]
    pub(crate) fn get_mut(&mut self, account: AccountId) -> &mut AccountOrders {
        self.by_account.get_mut(account)
    }

    /// Where a seat is, for a prefetch hint.
    #[inline(always)]
    pub(crate) fn place(&self, account: AccountId) -> &AccountOrders {
        self.by_account.get(account)
    }

    /// Enters an order as its account's youngest; its record need not say so yet.
    pub(crate) fn link(&mut self, orders: &mut Orders, slot: u32) {
        let account = orders.pool.get(slot).account;
        self.by_account.get_mut(account).append(orders, slot);
    }

    /// Forgets an order that was taken out of its book: it leaves its account's list, and gives its slot back.
    #[inline(always)]
    pub(crate) fn end(&mut self, orders: &mut Orders, slot: u32) {
        let Order { id, account, .. } = *orders.pool.get(slot);
        self.by_account.get_mut(account).unlink(orders, slot);
        orders.end(id, slot);
    }

    /// Checks every list, and that `find` gives each order's slot; the count of orders on them.
    pub(crate) fn check(
        &self,
        orders: &Orders,
        find: impl Fn(OrderId) -> u32,
        (market, accounts): (MarketId, u32),
    ) -> Result<usize, String> {
        let mut count = 0;
        for (account, seat) in self.by_account.iter(accounts) {
            count += seat.check(orders, &find, (market, account))?;
        }
        Ok(count)
    }
}
