//! Index, impact prices, basis and mark (`risk.md` 10), the state in force, the dynamic band (16).

use super::arithmetic::{E8, E10, ceil_div, clamp, floor_div, narrow};
use super::{Market, Model};
use ringside_core::command::{PerpetualState, Side, WorkingType};
use ringside_core::event::{self, IndexState, PerpetualPrice};
use ringside_core::ids::MarketId;
use std::collections::BTreeMap;

/// How many samples the basis is a mean of.
const BASIS_SAMPLES: usize = 30;
/// How often a sample is repeated for want of an impact price.
const REPEATS: u32 = 30;

/// A source's part of an index.
#[derive(Clone, Copy, Debug)]
struct Fresh {
    price: i128,
    source: u32,
    weight: i128,
}

/// Index of fresh values: weighted median, clamp, weighted mean.
fn index_of(mut fresh: Vec<Fresh>, clamp8: i128) -> i128 {
    fresh.sort_by_key(|value| (value.price, value.source));
    let total: i128 = fresh.iter().map(|value| value.weight).sum();
    let mut sum = 0;
    let mut median = None;
    for (at, value) in fresh.iter().enumerate() {
        sum += value.weight;
        if 2 * sum > total {
            median = Some(value.price);
            break;
        }
        if 2 * sum == total {
            median = Some(floor_div(value.price + fresh[at + 1].price, 2));
            break;
        }
    }
    let median = median.expect("weights are above 0");
    let width = floor_div(median * clamp8, E8);
    let weighted: i128 =
        fresh.iter().map(|value| value.weight * clamp(value.price, median - width, median + width)).sum();
    floor_div(weighted, total)
}

/// Impact price of levels, best first, of a market with that lot: what a notional is worth there on average.
fn impact_of(
    side: Side,
    levels: impl IntoIterator<Item = (i128, i128)>,
    lot: i128,
    mut missing: i128,
) -> Option<i128> {
    let (mut sum, mut quantity) = (0, 0);
    for (price, total) in levels {
        // Value of one lot at this price; a level's last part of a lot counts with it.
        let part = total.min(ceil_div(missing * E10, price * lot) * lot);
        sum += price * part;
        quantity += part;
        missing -= floor_div(price * part, E10);
        if missing <= 0 {
            break;
        }
    }
    if missing > 0 {
        return None;
    }
    Some(if side == Side::Buy { floor_div(sum, quantity) } else { ceil_div(sum, quantity) })
}

impl Model {
    /// Impact price of a side of a perpetual book, `None` where it is too thin.
    pub fn impact(&self, market: MarketId, side: Side) -> Option<i128> {
        let at = self.market(market);
        impact_of(side, self.levels(market, side), at.parameters[&2], at.parameters[&21])
    }

    /// What the own spot market gives as the index of a market: the middle of its impact prices, if they are within 2 %.
    fn spot_index(&self, market: MarketId) -> Option<i128> {
        let at = self.market(market);
        let spot = usize::try_from(at.parameters[&28]).ok()?;
        let lot = i128::from(self.spot.markets.get(spot)?.lot);
        let impact = |side: Side| {
            let mut levels: BTreeMap<i128, i128> = BTreeMap::new();
            for order in self.spot.orders.values() {
                if order.market as usize == spot && order.side == side {
                    *levels.entry(i128::from(order.price)).or_default() += i128::from(order.open);
                }
            }
            let mut levels: Vec<(i128, i128)> = levels.into_iter().collect();
            if side == Side::Buy {
                levels.reverse();
            }
            impact_of(side, levels, lot, at.parameters[&21])
        };
        let (bid, ask) = (impact(Side::Buy)?, impact(Side::Sell)?);
        ((ask - bid) * 50 <= bid).then(|| floor_div(bid + ask, 2))
    }

    /// Step 3 of a tick, for one market.
    pub(super) fn move_prices(&mut self, market: MarketId) {
        if self.market(market).set_state == PerpetualState::Closed {
            return;
        }
        let second = self.now_ms().div_euclid(1000);
        let was_suspended = self.is_market_suspended(market);
        self.take_index(market);
        if self.market(market).index_state.is_none() {
            return;
        }
        self.sample_basis(market);
        let at = self.market_mut(market);
        let count = at.basis_samples.len() as i128;
        at.basis = if count == 0 { 0 } else { floor_div(at.basis_samples.iter().sum(), count) };
        let width = floor_div(at.index * at.parameters[&17], E8);
        let basis = clamp(at.basis, -width, width);
        at.clamped = basis != at.basis;
        let mark = at.index + basis;
        let moved = mark != at.mark;
        at.mark = mark;
        if at.second != Some(second) {
            at.mark_samples.entry(second).or_insert(mark);
            at.mark_samples.retain(|&of, _| of > second - 601);
        }
        if moved {
            self.watch(market, WorkingType::MarkPrice, mark);
            if self.market(market).last_price.is_none() {
                self.watch(market, WorkingType::ContractPrice, mark);
            }
            self.suspect_holders(market);
        }
        if was_suspended && !self.is_market_suspended(market) {
            self.suspect_holders(market);
        }
    }

    pub(super) fn suspect_holders(&mut self, market: MarketId) {
        for account in 0..self.accounts.len() as u32 {
            if self.position(account, market).quantity != 0 {
                self.suspects.insert(account);
            }
        }
    }

    /// Whether no scope with a position in a market may be liquidated.
    pub fn is_market_suspended(&self, market: MarketId) -> bool {
        matches!(self.market(market).index_state, None | Some(IndexState::Stale))
            || matches!(self.state(market), PerpetualState::Halted | PerpetualState::Closed)
    }

    pub(super) fn open_interest(&self, market: MarketId) -> i128 {
        let of_market = self.positions.iter().filter(|((_, of), _)| *of == market);
        of_market.map(|(_, position)| position.quantity.max(0)).sum()
    }

    /// A market's share of two trillion quote, in quantity steps times price steps.
    fn share(&self) -> i128 {
        2_000_000_000_000 * 1_000_000 * E10 / self.markets.len() as i128
    }

    /// Whether all long positions of a market are worth no more at a price than its share.
    pub(super) fn can_value(&self, market: MarketId, price: i128) -> bool {
        self.open_interest(market).checked_mul(price).is_some_and(|value| value <= self.share())
    }

    /// The lowest price at which they are worth more, if it is one.
    pub fn too_high(&self, market: MarketId) -> Option<i64> {
        let price = self.share().checked_div(self.open_interest(market))? + 1;
        i64::try_from(price).ok().filter(|&price| price <= 100_000_000_000_000_000)
    }

    fn take_index(&mut self, market: MarketId) {
        let now = self.now_ms();
        let own_spot = self.spot_index(market);
        let at = self.market(market);
        let stale_after = at.parameters[&19] as i64;
        let fresh: Vec<Fresh> = at
            .sources
            .iter()
            .filter_map(|(&source, of)| {
                let (price, time) = of.last?;
                let stale_after = if of.stale_ms == 0 { stale_after } else { of.stale_ms };
                (now - time <= stale_after).then_some(Fresh { price, source, weight: of.weight })
            })
            .collect();
        let count = fresh.len() as i128;
        let found = if let Some(price) = at.manual {
            Some((IndexState::Manual, price))
        } else if count > 0 {
            let state = if count >= at.parameters[&20] { IndexState::Live } else { IndexState::Single };
            Some((state, index_of(fresh, at.parameters[&18])))
        } else {
            own_spot.map(|index| (IndexState::Spot, index))
        };
        let last = at.index;
        let found = found.filter(|&(_, index)| index <= last || self.can_value(market, index));
        let at = self.market_mut(market);
        let (state, index) = if let Some(found) = found {
            found
        } else if at.index_state.is_none() {
            return;
        } else {
            let lost = *at.index_lost_ms.get_or_insert(now);
            let held = now - lost <= 60_000;
            (if held { IndexState::Held } else { IndexState::Stale }, at.index)
        };
        if !matches!(state, IndexState::Held | IndexState::Stale) {
            at.index_lost_ms = None;
        }
        at.index_state = Some(state);
        at.index = index;
        let second = now.div_euclid(1000);
        if at.second != Some(second) {
            at.index_samples.entry(second).or_insert(index);
            at.index_samples.retain(|&of, _| of > second - 1800);
        }
    }

    /// Once per second.
    fn sample_basis(&mut self, market: MarketId) {
        let second = self.now_ms().div_euclid(1000);
        if self.market(market).second == Some(second) {
            return;
        }
        let (bid, ask) = (self.impact(market, Side::Buy), self.impact(market, Side::Sell));
        let at = self.market_mut(market);
        (at.impact_bid, at.impact_ask) = (bid, ask);
        let sample = match (bid, ask) {
            (Some(bid), Some(ask)) => {
                at.basis_repeats = 0;
                floor_div(bid + ask, 2) - at.index
            }
            _ => {
                at.basis_repeats += 1;
                if at.basis_repeats > REPEATS { 0 } else { at.basis_samples.last().copied().unwrap_or(0) }
            }
        };
        at.basis_samples.push(sample);
        if at.basis_samples.len() > BASIS_SAMPLES {
            at.basis_samples.remove(0);
        }
    }

    /// Tells prices that differ from those told last.
    pub(super) fn tell_prices(&mut self, market: MarketId) {
        let funding_rate = self.estimated_funding(market);
        let at = self.market_mut(market);
        let Some(state) = at.index_state else { return };
        if at.set_state == PerpetualState::Closed {
            return;
        }
        let told = PerpetualPrice {
            market,
            index_state: state as u8,
            clamped: at.clamped.into(),
            reserved: 0,
            index: narrow(at.index),
            mark: narrow(at.mark),
            basis: narrow(at.basis),
            impact_bid: narrow(at.impact_bid.unwrap_or(0)),
            impact_ask: narrow(at.impact_ask.unwrap_or(0)),
            funding_rate: narrow(funding_rate),
            next_funding_ms: at.next_funding_ms,
        };
        if at.told_price != Some(told) {
            at.told_price = Some(told);
            self.output.fact(told);
        }
    }

    /// The state in force: the strictest of what was set, what the index asks and the pause of the band. One of them may forbid to match
    /// and another to open.
    pub fn state(&self, market: MarketId) -> PerpetualState {
        let at = self.market(market);
        let by_index = match at.index_state {
            _ if at.index_halts => PerpetualState::Halted,
            Some(IndexState::Stale) => PerpetualState::ReduceOnly,
            _ => PerpetualState::Trading,
        };
        let by_band =
            if at.pause_until_ms.is_some() { PerpetualState::PostOnly } else { PerpetualState::Trading };
        let asked = [at.set_state, by_index, by_band];
        let strictest = asked.into_iter().max_by_key(|&state| state as u8).expect("three");
        if strictest == PerpetualState::ReduceOnly && asked.contains(&PerpetualState::PostOnly) {
            return PerpetualState::CancelOnly;
        }
        strictest
    }

    /// Tells the state in force where it changed.
    pub(super) fn tell_state(&mut self, market: MarketId) {
        let state = self.state(market);
        let at = self.market_mut(market);
        if at.told_state != state && at.closing.is_none() {
            at.told_state = state;
            let set = at.set_state as u8;
            self.output.fact(event::PerpetualStateChanged {
                market,
                state: state as u8,
                set,
                reserved: 0,
                settlement_price: 0,
            });
        }
    }

    /// The mark `dynRefS` ago: the last before, else the oldest known, else the mark.
    pub(super) fn band_reference(&self, at: &Market) -> i128 {
        let then = self.now_ms().div_euclid(1000) - at.parameters[&27] as i64;
        let samples = &at.mark_samples;
        let before = samples.range(..=then).next_back().or_else(|| samples.iter().next());
        before.map_or(at.mark, |(_, &mark)| mark)
    }

    /// The dynamic band's clock: it binds as long as the best price stays beyond it.
    pub(super) fn judge_band_clock(&mut self, market: MarketId) {
        let now = self.now_ms();
        let at = self.market_mut(market);
        if at.pause_until_ms.is_some_and(|until| now >= until) {
            at.pause_until_ms = None;
            at.mark_samples.clear();
            at.mark_samples.insert(now.div_euclid(1000), at.mark);
        }
        for side in [Side::Buy, Side::Sell] {
            let Some(since) = self.market(market).band_since_ms[side as usize] else { continue };
            let best = self.best(market, side.opposite());
            if !best.is_some_and(|best| self.is_beyond_band(market, best)) {
                self.market_mut(market).band_since_ms[side as usize] = None;
            } else if now - since >= 15_000 {
                let at = self.market_mut(market);
                at.band_since_ms = [None; 2];
                at.pause_until_ms = Some(now + 30_000);
            }
        }
    }

    /// How long the index was lost, and the state in force.
    pub(super) fn judge_state(&mut self, market: MarketId) {
        let now = self.now_ms();
        let was_suspended = self.is_market_suspended(market);
        let at = self.market_mut(market);
        at.index_halts = at.index_state == Some(IndexState::Stale)
            && at.index_lost_ms.is_some_and(|lost| now - lost > 600_000);
        if was_suspended && !self.is_market_suspended(market) {
            self.suspect_holders(market);
        }
        self.tell_state(market);
    }
}
