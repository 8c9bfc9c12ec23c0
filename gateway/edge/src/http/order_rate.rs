//! Orders per account in fixed windows of ten seconds and a minute (`spot.md` 12, `perpetual.md` 3).
//!
//! The two dialects count apart. Shared by all workers: a shard's lock is held for one look-up.

use super::limits::{add, seconds_up, take};
use parking_lot::Mutex;
use ringside_config::Config;
use ringside_core::ids::AccountId;
use ringside_wire::fault::Fault;
use ringside_wire::refusal::Dialect;
use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

const SHARDS: usize = 16;
/// A shard drops accounts of earlier minutes when it has doubled since it last did, above this size.
const SWEEP_ABOVE: usize = 256;

/// The order rates of one process.
#[derive(Debug)]
pub struct OrderRates {
    per_ten_seconds: u32,
    per_minute: u32,
    shards: [Mutex<Shard>; SHARDS],
}

#[derive(Debug, Default)]
struct Shard {
    accounts: HashMap<(AccountId, bool), Windows>,
    sweep_at: usize,
}

#[derive(Debug, Default)]
struct Windows {
    ten_seconds: AtomicU64,
    minute: AtomicU64,
    /// Latest minute that anything was counted in.
    seen_minute: i64,
}

/// What a request counts towards the account's order rates (`spot.md` 12, `perpetual.md` 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderCount {
    /// In the ten-second window.
    pub ten_seconds: u32,
    /// In the minute window, which only the `/fapi` dialect limits.
    pub minute: u32,
}

impl OrderCount {
    /// Not an order.
    pub const NONE: OrderCount = OrderCount { ten_seconds: 0, minute: 0 };
    /// One order.
    pub const ONE: OrderCount = OrderCount { ten_seconds: 1, minute: 1 };
}

/// Orders of an account in the running windows, these included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// In the ten-second window.
    pub ten_seconds: u32,
    /// In the minute.
    pub minute: u32,
}

impl OrderRates {
    /// Rates as configured.
    pub fn new(config: &Config) -> OrderRates {
        OrderRates {
            per_ten_seconds: config.orders_per_ten_seconds,
            per_minute: config.orders_per_minute,
            shards: Default::default(),
        }
    }

    /// Most orders in ten seconds and in a minute of an account whose own rates are these, 0 where it has none.
    pub fn limits(&self, own: [u32; 2]) -> [u32; 2] {
        let of = |own: u32, shipped: u32| if own == 0 { shipped } else { own };
        [of(own[0], self.per_ten_seconds), of(own[1], self.per_minute)]
    }

    /// Counts orders of an account, with its own rates; refused ones are not counted. The ten-second window is judged first; the
    /// spot dialect limits no other.
    pub fn count(
        &self,
        (account, own): (AccountId, [u32; 2]),
        dialect: Dialect,
        orders: OrderCount,
        now_ms: i64,
    ) -> Result<Counted, Fault> {
        let [per_ten_seconds, per_minute] = self.limits(own);
        let (ten_seconds, minute) = windows_of(now_ms);
        let mut shard = self.shard(account);
        shard.sweep(minute);
        let windows = shard.accounts.entry((account, dialect == Dialect::Fapi)).or_default();
        windows.seen_minute = windows.seen_minute.max(minute);
        let refused = |limit, window_s: u32| {
            let window_ms = i64::from(window_s) * 1_000;
            let retry_after_s = seconds_up(window_ms - now_ms.rem_euclid(window_ms));
            Err(Fault::TooManyOrders { limit, window_s, retry_after_s })
        };
        let counted = add(&windows.ten_seconds, ten_seconds, orders.ten_seconds);
        if counted > per_ten_seconds {
            take(&windows.ten_seconds, ten_seconds, orders.ten_seconds);
            return refused(per_ten_seconds, 10);
        }
        let counted_minute = add(&windows.minute, minute, orders.minute);
        if dialect == Dialect::Fapi && counted_minute > per_minute {
            take(&windows.ten_seconds, ten_seconds, orders.ten_seconds);
            take(&windows.minute, minute, orders.minute);
            return refused(per_minute, 60);
        }
        Ok(Counted { ten_seconds: counted, minute: counted_minute })
    }

    /// Gives orders back that failed for the exchange's own reasons.
    pub fn give_back(&self, account: AccountId, dialect: Dialect, orders: OrderCount, now_ms: i64) {
        let (ten_seconds, minute) = windows_of(now_ms);
        if let Some(windows) = self.shard(account).accounts.get(&(account, dialect == Dialect::Fapi)) {
            take(&windows.ten_seconds, ten_seconds, orders.ten_seconds);
            take(&windows.minute, minute, orders.minute);
        }
    }

    fn shard(&self, account: AccountId) -> parking_lot::MutexGuard<'_, Shard> {
        self.shards[account as usize % SHARDS].lock()
    }
}

impl Shard {
    fn sweep(&mut self, minute: i64) {
        if self.accounts.len() >= self.sweep_at.max(SWEEP_ABOVE) {
            self.accounts.retain(|_, windows| windows.seen_minute >= minute);
            self.sweep_at = self.accounts.len() * 2;
        }
    }
}

fn windows_of(now_ms: i64) -> (i64, i64) {
    (now_ms.div_euclid(10_000), now_ms.div_euclid(60_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A minute's start.
    const T0: i64 = 1_700_000_040_000;

    fn rates() -> OrderRates {
        OrderRates::new(&Config { orders_per_ten_seconds: 3, orders_per_minute: 5, ..Config::default() })
    }

    #[test]
    fn ten_second_windows_are_aligned_and_refused_orders_do_not_count() {
        let rates = rates();
        let count = |now_ms| rates.count((7, [0; 2]), Dialect::Spot, OrderCount::ONE, now_ms);
        for n in 1..=3 {
            assert_eq!(count(T0 + 9_000).map(|counted| counted.ten_seconds), Ok(n));
        }
        let refused = Err(Fault::TooManyOrders { limit: 3, window_s: 10, retry_after_s: 1 });
        assert_eq!((count(T0 + 9_001), count(T0 + 9_999)), (refused, refused));
        for n in 1..=3 {
            assert_eq!(count(T0 + 10_000).map(|counted| counted.ten_seconds), Ok(n));
        }
        // Spot has no limit per minute.
        assert!(count(T0 + 20_000).is_ok());
        // Another account has its own.
        assert!(rates.count((8, [0; 2]), Dialect::Spot, OrderCount::ONE, T0 + 10_000).is_ok());
    }

    #[test]
    fn an_account_may_have_rates_of_its_own() {
        let rates = rates();
        let count = |account, own| rates.count((account, own), Dialect::Fapi, OrderCount::ONE, T0);
        for _ in 0..7 {
            assert!(count(1, [8, 7]).is_ok());
        }
        assert!(matches!(count(1, [8, 7]), Err(Fault::TooManyOrders { limit: 7, window_s: 60, .. })));
        assert!(count(2, [1, 0]).is_ok());
        assert!(matches!(count(2, [1, 0]), Err(Fault::TooManyOrders { limit: 1, window_s: 10, .. })));
        assert_eq!(rates.limits([0, 9]), [3, 9]);
    }

    #[test]
    fn the_other_dialect_counts_apart_and_by_the_minute_too() {
        let rates = rates();
        let batch = OrderCount { ten_seconds: 3, minute: 1 };
        let count = |orders, now_ms| rates.count((7, [0; 2]), Dialect::Fapi, orders, now_ms);
        assert_eq!(count(batch, T0), Ok(Counted { ten_seconds: 3, minute: 1 }));
        assert!(matches!(count(batch, T0), Err(Fault::TooManyOrders { window_s: 10, .. })));
        assert!(rates.count((7, [0; 2]), Dialect::Spot, OrderCount::ONE, T0).is_ok());
        for at in [10_000, 20_000, 30_000, 40_000] {
            assert!(count(OrderCount::ONE, T0 + at).is_ok());
        }
        let refused = Err(Fault::TooManyOrders { limit: 5, window_s: 60, retry_after_s: 10 });
        assert_eq!(count(OrderCount::ONE, T0 + 50_000), refused);
        assert!(count(OrderCount::ONE, T0 + 60_000).is_ok());
    }

    #[test]
    fn a_batch_that_is_refused_takes_no_room_in_either_window() {
        let rates = rates();
        let count = |ten_seconds, minute, now_ms| {
            rates.count((7, [0; 2]), Dialect::Fapi, OrderCount { ten_seconds, minute }, now_ms)
        };
        // More than ten seconds take: the rest of them is there still.
        assert!(count(2, 4, T0).is_ok());
        assert!(matches!(count(2, 1, T0), Err(Fault::TooManyOrders { window_s: 10, .. })));
        assert_eq!(count(1, 0, T0), Ok(Counted { ten_seconds: 3, minute: 4 }));
        // More than the minute takes.
        assert!(matches!(count(3, 2, T0 + 10_000), Err(Fault::TooManyOrders { window_s: 60, .. })));
        assert_eq!(count(3, 1, T0 + 10_000), Ok(Counted { ten_seconds: 3, minute: 5 }));
    }

    #[test]
    fn who_is_counted_in_this_minute_is_not_forgotten() {
        let rates = rates();
        // All of one shard, which has to let go of somebody or grow.
        for account in [0; 3].into_iter().chain((1..50_000).map(|account| account * SHARDS as u32)) {
            assert!(rates.count((account, [0; 2]), Dialect::Spot, OrderCount::ONE, T0).is_ok());
        }
        let refused = rates.count((0, [0; 2]), Dialect::Spot, OrderCount::ONE, T0);
        assert!(matches!(refused, Err(Fault::TooManyOrders { .. })), "{refused:?}");
    }

    #[test]
    fn what_is_given_back_can_be_spent_again() {
        let rates = rates();
        for _ in 0..10 {
            assert!(rates.count((7, [0; 2]), Dialect::Spot, OrderCount::ONE, T0).is_ok());
            rates.give_back(7, Dialect::Spot, OrderCount::ONE, T0);
        }
    }

    #[test]
    fn accounts_of_earlier_minutes_are_forgotten() {
        let rates = rates();
        for account in 0..100_000 {
            let _ =
                rates.count((account, [0; 2]), Dialect::Spot, OrderCount::ONE, T0 + i64::from(account) * 100);
        }
        let kept: usize = rates.shards.iter().map(|shard| shard.lock().accounts.len()).sum();
        assert!(kept < SHARDS * SWEEP_ABOVE * 2, "{kept}");
    }
}
