//! Limits that accounts have of their own, beside what markets say (`account.md` 13).

use super::account::{HotAccount, LIMITED};
use super::market::Symbol;
use super::{State, id_of};
use crate::command::{PerpetualParameter as P, SetAccountLimits, limit_mask as mask};
use crate::event::AccountLimits;
use crate::ids::{ALL_MARKETS, AccountId, FEE_ACCOUNT, MarketId};
use crate::money::Money;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Of an account in a market, or over all; 0 where it has none of that kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnLimits {
    pub(crate) open_orders: u32,
    pub(crate) order_rate_10s: u32,
    pub(crate) order_rate_1m: u32,
    pub(crate) position: Money,
    pub(crate) order: Money,
}

impl OwnLimits {
    /// With what a command names in it.
    pub(crate) fn with(self, set: &SetAccountLimits) -> OwnLimits {
        let of = |bit: u32, new: u32, old: u32| if set.mask & bit != 0 { new } else { old };
        let worth = |bit: u32, new: Money, old: Money| if set.mask & bit != 0 { new } else { old };
        OwnLimits {
            open_orders: of(mask::OPEN_ORDERS, set.open_orders, self.open_orders),
            order_rate_10s: of(mask::RATE_10S, set.order_rate_10s, self.order_rate_10s),
            order_rate_1m: of(mask::RATE_1M, set.order_rate_1m, self.order_rate_1m),
            position: worth(mask::POSITION, set.max_position_notional, self.position),
            order: worth(mask::ORDER, set.max_order_notional, self.order),
        }
    }

    /// As an event.
    pub(crate) fn event(self, account: AccountId, market: MarketId) -> AccountLimits {
        AccountLimits {
            account,
            market,
            open_orders: self.open_orders,
            order_rate_10s: self.order_rate_10s,
            order_rate_1m: self.order_rate_1m,
            reserved: 0,
            max_position_notional: self.position,
            max_order_notional: self.order,
        }
    }
}

/// All of them, by account and market.
#[derive(Debug, Default)]
pub(crate) struct Limits(BTreeMap<(AccountId, MarketId), OwnLimits>);

impl Limits {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As they were set, ascending.
    pub(crate) fn all(&self) -> impl ExactSizeIterator<Item = (AccountId, MarketId, OwnLimits)> {
        self.0.iter().map(|(&(account, market), limits)| (account, market, *limits))
    }

    /// As they were set.
    pub(crate) fn of(&self, account: AccountId, market: MarketId) -> OwnLimits {
        self.0.get(&(account, market)).copied().unwrap_or_default()
    }

    /// Puts one; whether the account has any then.
    pub(crate) fn put(&mut self, account: AccountId, market: MarketId, limits: OwnLimits) -> bool {
        if limits == OwnLimits::default() {
            self.0.remove(&(account, market));
        } else {
            self.0.insert((account, market), limits);
        }
        let of_account = (Bound::Included((account, 0)), Bound::Included((account, ALL_MARKETS)));
        self.0.range(of_account).next().is_some()
    }

    /// What counts in a market: its own first, then that over all.
    #[cold]
    fn in_force<T: Copy + Default + PartialEq>(
        &self,
        account: AccountId,
        market: MarketId,
        kind: impl Fn(&OwnLimits) -> T,
    ) -> Option<T> {
        let limit = |market| kind(&self.of(account, market));
        [market, ALL_MARKETS].map(limit).into_iter().find(|limit| *limit != T::default())
    }

    /// Most open orders in a market, where the account has a limit of its own.
    pub(crate) fn open_orders(&self, account: AccountId, market: MarketId) -> Option<u32> {
        self.in_force(account, market, |limits| limits.open_orders)
    }
}

impl State {
    /// Most open orders of an account in a market.
    #[inline(always)]
    pub(crate) fn open_orders_max(
        &self,
        account: AccountId,
        (index, symbol): (usize, &Symbol),
        record: &HotAccount,
    ) -> i64 {
        let shipped = symbol.get(P::MaxOpenOrders);
        if record.terms & LIMITED == 0 {
            return shipped;
        }
        self.limits.open_orders(account, id_of(index)).map_or(shipped, i64::from)
    }

    /// Largest notional of an order of an account in a market.
    #[inline(always)]
    pub(crate) fn order_notional_max(
        &self,
        account: AccountId,
        (index, symbol): (usize, &Symbol),
        record: &HotAccount,
    ) -> Money {
        let shipped = symbol.get(P::MaxNotional);
        if record.terms & LIMITED == 0 {
            return shipped;
        }
        self.limits.in_force(account, id_of(index), |limits| limits.order).unwrap_or(shipped)
    }

    /// Largest notional that an order may bring position and orders of its side to, brackets apart.
    #[inline(always)]
    pub(crate) fn position_notional_max(
        &self,
        account: AccountId,
        index: usize,
        record: &HotAccount,
    ) -> Money {
        if record.terms & LIMITED == 0 {
            return Money::MAX;
        }
        self.limits.in_force(account, id_of(index), |limits| limits.position).unwrap_or(Money::MAX)
    }

    /// Keeps what was judged, and tells it.
    pub(crate) fn set_limits(&mut self, set: &SetAccountLimits) {
        let (account, market) = (set.account, set.market);
        let limits = self.limits.of(account, market).with(set);
        self.put_limits(account, market, limits);
        self.writer.emit(limits.event(account, market));
    }

    /// Keeps limits of an account that there is.
    pub(crate) fn put_limits(&mut self, account: AccountId, market: MarketId, limits: OwnLimits) {
        debug_assert!(account != FEE_ACCOUNT);
        let has_limits = self.limits.put(account, market, limits);
        let terms = &mut self.accounts.get_mut(account).terms;
        *terms = if has_limits { *terms | LIMITED } else { *terms & !LIMITED };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_market_counts_before_all_and_nothing_is_kept_of_nothing() {
        let mut limits = Limits::default();
        let set = |open_orders| OwnLimits { open_orders, ..OwnLimits::default() };
        assert!(limits.put(7, ALL_MARKETS, set(900)));
        assert!(limits.put(7, 3, OwnLimits { open_orders: 5, order: 11, ..OwnLimits::default() }));
        assert_eq!((limits.open_orders(7, 3), limits.open_orders(7, 4)), (Some(5), Some(900)));
        assert_eq!(limits.open_orders(8, 3), None);
        assert_eq!(limits.in_force(7, 4, |limits| limits.order), None);
        assert!(limits.put(7, ALL_MARKETS, set(0)));
        assert_eq!(limits.open_orders(7, 4), None);
        assert!(!limits.put(7, 3, set(0)) && limits.is_empty());
    }

    #[test]
    fn what_the_mask_leaves_out_stays() {
        let before = OwnLimits { open_orders: 1, order_rate_10s: 2, order_rate_1m: 3, position: 4, order: 5 };
        let mut set = SetAccountLimits {
            account: 1,
            market: ALL_MARKETS,
            mask: mask::RATE_1M | mask::ORDER,
            open_orders: 91,
            order_rate_10s: 92,
            order_rate_1m: 93,
            max_position_notional: 94,
            max_order_notional: 95,
        };
        assert_eq!(before.with(&set), OwnLimits { order_rate_1m: 93, order: 95, ..before });
        set.mask = mask::ALL & !set.mask;
        let expected = OwnLimits { open_orders: 91, order_rate_10s: 92, position: 94, ..before };
        assert_eq!(before.with(&set), expected);
    }
}
