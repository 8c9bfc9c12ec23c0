//! Time passes: the steps of `risk.md` 19, symbols ascending inside each.

use super::Model;
use super::orders::reason;
use ringside_core::command::{PerpetualTimeInForce, order_flag};
use ringside_core::ids::{ALL_MARKETS, AccountId, MarketId, OrderId};

impl Model {
    pub(super) fn tick(&mut self) {
        let markets: Vec<MarketId> = self.markets.iter().map(|market| market.id).collect();
        self.expire_dates();
        self.run_countdowns();
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
        if !new_seconds.is_empty() {
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

    /// Orders whose date has come.
    fn expire_dates(&mut self) {
        let now = self.now_ms();
        let due: Vec<OrderId> = self
            .orders
            .values()
            .filter(|order| {
                order.time_in_force == PerpetualTimeInForce::GoodTillDate && now >= order.good_till
            })
            .map(|order| order.id)
            .collect();
        for id in due {
            if self.orders.contains_key(&id) {
                self.expire_order(id, reason::NONE);
            }
        }
    }

    /// Timers that ran out.
    fn run_countdowns(&mut self) {
        let now = self.now_ms();
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
    }
}
