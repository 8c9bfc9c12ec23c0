//! The statements of `risk.md` 20, recomputed from the whole state after every command.

use super::{FUND, Model, Stage};
use ringside_core::command::{MarginMode, Side, order_flag};
use ringside_core::event::{Event, PerpetualTrade, TradeCause};
use ringside_core::ids::{AccountId, OrderId};
use std::collections::BTreeMap;

/// What is remembered from command to command to judge I-12 and I-13.
#[derive(Clone, Default)]
pub struct Audit {
    /// Executed quantity of orders by what their trades say.
    executed: BTreeMap<OrderId, i128>,
}

/// Wallets of those who stand apart: no position, no order.
pub type Apart = Vec<(AccountId, i128)>;

macro_rules! holds {
    ($what:expr, $($text:tt)*) => {
        if !$what {
            return Err(format!($($text)*));
        }
    };
}

impl Model {
    /// Accounts that nobody's liquidation may touch.
    pub(super) fn apart(&self) -> Apart {
        let mut stands: Vec<bool> = vec![true; self.accounts.len()];
        stands[FUND as usize] = false;
        for (key, position) in self.positions.iter() {
            stands[key.0 as usize] &= position.quantity == 0;
        }
        for order in self.orders.values() {
            stands[order.account as usize] = false;
        }
        // Who was deleveraged may have to give some of that back.
        let shared = self.sharing.iter().flat_map(|sharing| &sharing.asked);
        for (account, _) in self.brought.iter().chain(shared) {
            stands[*account as usize] = false;
        }
        let apart = stands.iter().enumerate().filter(|&(_, &stands)| stands);
        apart.map(|(account, _)| (account as AccountId, self.accounts[account].wallet)).collect()
    }

    /// I-13, around a scan.
    pub(super) fn untouched(&self, apart: &Apart) -> bool {
        apart.iter().all(|&(account, wallet)| self.account(account).wallet == wallet || wallet < 0)
    }

    /// I-1 to I-3 and I-6 to I-9; I-4, I-10, I-11 and I-13 are asserted where they arise, I-5 has no cache to differ from.
    pub fn check(&self) -> Result<(), String> {
        let wallets: i128 = self.accounts.iter().map(|account| account.wallet).sum();
        let isolated: i128 = self.positions.values().map(|position| position.isolated_wallet).sum();
        let costs: i128 = self.positions.values().map(|position| position.cost).sum();
        let received = self.markets.iter().filter_map(|market| Some(market.hour.as_ref()?.received));
        let left = self.markets.iter().filter_map(|market| Some(-market.closing.as_ref()?.paid));
        let collected = left.sum::<i128>() - received.sum::<i128>();
        let sum = wallets + isolated + self.fees + self.affiliates - costs + collected;
        holds!(sum == self.deposits, "I-1: {sum} is not DEP {}", self.deposits);
        for market in &self.markets {
            let of = || self.positions.iter().filter(|(key, _)| key.1 == market.id);
            let quantities: i128 = of().map(|(_, position)| position.quantity).sum();
            holds!(
                quantities == 0 || market.closing.is_some(),
                "I-2: market {} has {quantities} too much",
                market.id
            );
            for (key, position) in of() {
                holds!(position.quantity != 0 || position.cost == 0, "I-3: {key:?} {position:?}");
                holds!(position.isolated_wallet >= 0, "I-8: {key:?} {position:?}");
                let empty = position.quantity == 0 || position.mode == MarginMode::Cross;
                holds!(
                    !empty || position.isolated_wallet == 0,
                    "margin of no position: {key:?} {position:?}"
                );
            }
            if let (Some(bid), Some(ask)) =
                (self.best(market.id, Side::Buy), self.best(market.id, Side::Sell))
            {
                holds!(bid < ask, "I-6: market {} is crossed, {bid} over {ask}", market.id);
            }
        }
        for order in self.orders.values() {
            holds!(order.stage != Stage::Arriving, "an order is still arriving: {order:?}");
            if order.stage == Stage::Resting {
                holds!(order.open > 0, "I-6: {order:?}");
                let is_sought = self.market(order.market).looked_at.is_some_and(|next| order.account >= next);
                holds!(is_sought || !self.is_remainder(order), "less than a lot is left: {order:?}");
                holds!(order.quantity >= order.filled + order.open, "I-12: {order:?}");
                if order.has(order_flag::REDUCE_ONLY) && !self.untrimmed.contains(&order.market) {
                    let most = self.reducible(order.account, order.market, order.side);
                    holds!(order.open <= most, "I-7: {order:?} may reduce {most}");
                }
            }
        }
        holds!(self.fees >= 0 && self.affiliates >= 0, "I-8: FEE {} REF {}", self.fees, self.affiliates);
        for account in 1..self.accounts.len() as AccountId {
            let holds_cross = self.holds(account, None);
            let wallet = self.account(account).wallet;
            holds!(wallet >= 0 || holds_cross, "I-8: account {account} owes {wallet}");
            for scope in self.scopes(account) {
                let (equity, maintenance) =
                    (self.scope_equity(account, scope), self.scope_maintenance(account, scope));
                // Who is left over for the next command rests below.
                holds!(
                    equity >= maintenance || self.is_suspended(account, scope) || self.backlog(),
                    "I-9: account {account} {scope:?} has {equity} of {maintenance}"
                );
            }
        }
        let goes_on = self.paused.into_iter().collect::<Vec<_>>();
        holds!(self.liquidating == goes_on, "I-9: {:?} rest in liquidation", self.liquidating);
        let fund = (self.account(FUND).wallet, self.cross_equity(FUND));
        holds!(self.deficit || (fund.0 >= 0 && fund.1 >= 0), "I-8: the fund has {fund:?}");
        Ok(())
    }

    /// I-2 and I-12 by the events alone: trades say the same of buyers and sellers, and of each order.
    pub(super) fn audit(&mut self, events: &[Event]) -> Result<(), String> {
        for trade in events.iter().filter_map(Event::get::<PerpetualTrade>) {
            let quantity = i128::from(trade.quantity);
            let is_settled = trade.cause == TradeCause::Settlement as u8;
            let is_in_book = trade.cause <= TradeCause::Liquidation as u8;
            holds!(quantity > 0 && (trade.price > 0 || !is_in_book), "an empty trade: {trade:?}");
            for order in [trade.maker_order, trade.taker_order].into_iter().skip(usize::from(is_settled)) {
                *self.audit.executed.entry(order).or_default() += quantity;
            }
        }
        for order in self.orders.values() {
            let executed = self.audit.executed.get(&order.id).copied().unwrap_or(0);
            holds!(executed == order.filled, "I-12: {order:?} executed {executed}");
        }
        self.audit.executed.retain(|id, _| self.orders.contains_key(id));
        Ok(())
    }
}
