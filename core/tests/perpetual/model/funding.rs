//! Premium samples and funding (`risk.md` 11).

use super::arithmetic::{E8, E10, ceil_div, clamp, floor_div, narrow, trunc, value_down};
use super::fees::HOUR_MS;
use super::{FUND, Hour, Model};
use ringside_core::command::{MarginMode, PerpetualState, Side};
use ringside_core::event::{self, IndexState, PostingReason};
use ringside_core::ids::{AccountId, MarketId};
use std::collections::BTreeMap;

/// Later samples weigh more.
fn average(premiums: &[i128]) -> i128 {
    let weighted: i128 = premiums.iter().enumerate().map(|(at, premium)| (at as i128 + 1) * premium).sum();
    let count = premiums.len() as i128;
    if count == 0 { 0 } else { trunc(weighted, count * (count + 1) / 2) }
}

impl Model {
    /// F of the samples so far.
    pub fn estimated_funding(&self, market: MarketId) -> i128 {
        let at = self.market(market);
        let average = average(&at.premiums);
        let (interest, damp, cap) = (at.parameters[&23], at.parameters[&24], at.parameters[&25]);
        let eight_hours = average + clamp(interest - average, -damp, damp);
        clamp(trunc(eight_hours * at.parameters[&22], 8), -cap, cap)
    }

    /// Step 5 of a tick, for one market: a sample, then the hour that is due, then what is unpaid.
    pub(super) fn fund_market(&mut self, market: MarketId) {
        self.sample_premium(market);
        let at = self.market(market);
        let is_due = self.now_ms() >= at.next_funding_ms && at.set_state != PerpetualState::Closed;
        if is_due && at.hour.is_none() {
            self.fix_funding(market);
        }
        self.pay_hours();
        self.close_markets();
    }

    fn sample_premium(&mut self, market: MarketId) {
        let slot = self.now_ms().div_euclid(5000);
        let at = self.market(market);
        let known = !matches!(at.index_state, Some(IndexState::Held | IndexState::Stale));
        if at.premium_slot == Some(slot) || at.index_state.is_none() || at.set_state == PerpetualState::Closed
        {
            return;
        }
        let (bid, ask) = (self.impact(market, Side::Buy), self.impact(market, Side::Sell));
        let at = self.market_mut(market);
        at.premium_slot = Some(slot);
        if !known {
            return;
        }
        let index = at.index;
        let above = bid.map_or(0, |bid| (bid - index).max(0));
        let below = ask.map_or(0, |ask| (index - ask).max(0));
        at.premiums.push(trunc((above - below) * E8, index));
    }

    fn fix_funding(&mut self, market: MarketId) {
        let now = self.now_ms();
        let at = self.market(market);
        let interval = at.parameters[&22] as i64 * HOUR_MS;
        let funding_ms = at.next_funding_ms;
        let expected = interval / 5000;
        let sparse = (at.premiums.len() as i64) * 2 < expected;
        let rate = if sparse { 0 } else { self.estimated_funding(market) };
        let mark = at.mark;
        let halted = self.state(market) == PerpetualState::Halted;
        let at = self.market_mut(market);
        at.premiums.clear();
        at.next_funding_ms = (now.div_euclid(interval) + 1) * interval;
        if halted || mark == 0 {
            return;
        }
        let mut unpaid = BTreeMap::new();
        for account in 0..self.accounts.len() as AccountId {
            let position = self.position(account, market);
            if position.quantity != 0 {
                let product = position.quantity * mark * rate;
                // Above 0 it pays, up; below 0 it receives, down.
                let amount =
                    if product > 0 { -ceil_div(product, E10 * E8) } else { floor_div(-product, E10 * E8) };
                unpaid.insert(account, amount);
            }
        }
        let positions = unpaid.len();
        self.output.fact(event::FundingSettled {
            market,
            sparse: sparse.into(),
            rate: narrow(rate),
            mark: narrow(mark),
            funding_ms,
            residue: 0,
            positions: positions as u64,
        });
        let at = self.market_mut(market);
        at.hour = (rate != 0 && positions != 0).then_some(Hour { mark, positions, unpaid, received: 0 });
    }

    /// Pays what is unpaid, a unit for each position: markets ascending, accounts ascending in each.
    pub(super) fn pay_hours(&mut self) {
        let ids: Vec<MarketId> = self.markets.iter().map(|market| market.id).collect();
        for market in ids {
            while let Some(hour) = &self.market(market).hour {
                let Some(&account) = hour.unpaid.keys().next() else {
                    self.end_hour(market);
                    break;
                };
                if !self.take_unit() {
                    return;
                }
                self.pay_hour(account, market);
            }
        }
    }

    /// An account is about to do something, or to have something done to it: it pays, and closes, first.
    pub(super) fn settle_first(&mut self, account: AccountId) {
        self.pay_first(account);
        self.close_first(account);
    }

    /// Whether it has an hour to pay, or something to close.
    pub(super) fn is_behind(&self, account: AccountId) -> bool {
        self.markets.iter().any(|market| {
            market.hour.as_ref().is_some_and(|hour| hour.unpaid.contains_key(&account))
                || (market.closing.is_some() && self.position(account, market.id).quantity != 0)
        })
    }

    /// It pays every hour that is fixed.
    pub(super) fn pay_first(&mut self, account: AccountId) {
        let ids: Vec<MarketId> = self.markets.iter().map(|market| market.id).collect();
        ids.into_iter().for_each(|market| self.pay_hour(account, market));
    }

    /// What unpaid hours take from a cross wallet.
    pub(super) fn owes(&self, account: AccountId) -> i128 {
        let hours =
            self.markets.iter().filter(|market| self.position(account, market.id).mode == MarginMode::Cross);
        let owed = |market: &super::Market| market.hour.as_ref()?.unpaid.get(&account).copied();
        -hours.filter_map(owed).sum::<i128>().min(0)
    }

    /// One position pays what it has not paid.
    fn pay_hour(&mut self, account: AccountId, market: MarketId) {
        let Some(hour) = &mut self.market_mut(market).hour else { return };
        let mark = hour.mark;
        let Some(amount) = hour.unpaid.remove(&account).filter(|&amount| amount != 0) else { return };
        hour.received += amount;
        self.pay(account, market, amount, PostingReason::FundingFee);
        // Never below zero (`risk.md` 3): out of its profit, and the fund pays the rest.
        let position = self.position(account, market);
        let lacking = -position.isolated_wallet;
        if lacking > 0 {
            let profit = value_down(position.quantity, mark) - position.cost;
            let realised = lacking.min(profit.min(10i128.pow(15) - position.cost).max(0));
            if realised > 0 {
                let held = self.positions.get_mut(account, market).expect("it has a position");
                held.isolated_wallet += realised;
                held.cost += realised;
                held.realised += realised;
                let (reason, mode) = (PostingReason::RealisedProfit, MarginMode::Isolated);
                self.tell_posting(account, market, realised, reason, mode, 0);
                self.tell_position(account, market);
            }
            if realised < lacking {
                let held = self.positions.get_mut(account, market).expect("it has a position");
                held.isolated_wallet = 0;
                self.cover(account, market, lacking - realised);
                self.tell_position(account, market);
            }
        }
    }

    /// All have paid: what is left is the fund's.
    fn end_hour(&mut self, market: MarketId) {
        let hour = self.market_mut(market).hour.take().expect("an hour");
        let (residue, positions) = (-hour.received, hour.positions as i128);
        assert!((0..positions).contains(&residue), "I-10: residue {residue} of {positions}");
        if residue != 0 {
            self.pay(FUND, market, residue, PostingReason::FundingResidue);
        }
    }
}
