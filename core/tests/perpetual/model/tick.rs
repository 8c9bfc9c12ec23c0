//! Time passes: the steps of `risk.md` 19, symbols ascending inside each.

use super::Model;
use super::orders::reason;
use ringside_core::command::{PerpetualTimeInForce, order_flag};
use ringside_core::ids::{ALL_MARKETS, AccountId, MarketId, OrderId};

impl Model {
    pub(super) fn tick(&mut self) {
        let markets: Vec<MarketId> = self.markets.iter().map(|market| market.id).collect();
        self.dates_until = Some(self.now_ms());
        self.run_dates();
        self.look_for_remainders();
        for &market in &markets {
            self.move_prices(market);
        }
        self.run_triggers();
        let second = self.now_ms().div_euclid(1000);
        let mut new_seconds = Vec::new();
        for &market in &markets {
            if self.market(market).second != Some(second) {
                new_seconds.push(market);
            }
            self.fund_market(market);
            self.market_mut(market).second = Some(second);
        }
        self.scan();
        self.note_fund();
        if !new_seconds.is_empty() && self.units > 0 {
            self.unwind_fund(&new_seconds);
            self.run_triggers();
            self.scan();
        }

        self.roll_hours();
        for &market in &markets {
            self.judge_band_clock(market);
            self.judge_state(market);
            self.tell_prices(market);
        }
        self.settle_down();
    }

    /// Orders of accounts whose connections are lost, before anything else.
    pub(super) fn end_lost(&mut self, lost: &[(AccountId, MarketId)]) {
        for &(account, market) in lost {
            let only = (market != ALL_MARKETS).then_some(market);
            for id in self.open_orders(account, only) {
                // One may have ended with another.
                if self.orders.contains_key(&id) {
                    self.cancel_order(id);
                }
            }
        }
    }

    /// What the last tick lets expire, as far as there are units.
    pub(super) fn run_dates(&mut self) {
        if let Some(until) = self.dates_until
            && self.expire_dates(until)
            && self.run_countdowns(until)
        {
            self.dates_until = None;
        }
    }

    /// Orders whose date has come, the earliest first. Whether there were units enough.
    fn expire_dates(&mut self, now: i64) -> bool {
        let mut due: Vec<(i64, OrderId)> = self
            .orders
            .values()
            .filter(|order| {
                order.time_in_force == PerpetualTimeInForce::GoodTillDate && now >= order.good_till
            })
            .map(|order| (order.good_till, order.id))
            .collect();
        due.sort_unstable();
        for (_, id) in due {
            if !self.take_unit() {
                return false;
            }
            self.expire_order(id, reason::NONE);
        }
        true
    }

    /// Timers that ran out. Whether there were units enough.
    fn run_countdowns(&mut self, now: i64) -> bool {
        let mut due = Vec::new();
        for (account, terms) in self.accounts.iter().enumerate() {
            for (&market, timer) in &terms.countdowns {
                if now >= timer.deadline_ms {
                    due.push((timer.deadline_ms, account as AccountId, market, timer.keep_reduce_only));
                }
            }
        }
        due.sort_unstable();
        for (_, account, market, keep) in due {
            if !self.take_unit() {
                return false;
            }
            self.account_mut(account).countdowns.remove(&market);
            let only = (market != ALL_MARKETS).then_some(market);
            for id in self.open_orders(account, only) {
                let Some(order) = self.orders.get(&id) else { continue };
                let kept = order.has(order_flag::REDUCE_ONLY) || order.has(order_flag::CLOSE_POSITION);
                if !(keep && kept) {
                    self.cancel_order(id);
                }
            }
        }
        true
    }
}
