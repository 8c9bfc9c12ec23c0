//! Time passes: the steps of `risk.md` 19, markets ascending inside each.

use super::commit::reason;
use crate::command::{PerpetualParameter, PerpetualState, Side, order_flag};
use crate::event::{PerpetualPrice, PerpetualStateChanged};
use crate::ids::{AccountId, FEE_ACCOUNT, MarketId};
use crate::money::{Money, Price};
use crate::perpetual::market::{BAND_BINDS_MS, BAND_PAUSE_MS};
use crate::perpetual::triggers::counted;
use crate::perpetual::{Perpetual, State, id_of};
use crate::risk::perpetual::funding::premium;
use crate::risk::perpetual::impact::impact_price;
use crate::risk::perpetual::index::{IndexState, Inputs, Quote, SOURCES_MAX, average, is_fresh};
use crate::risk::perpetual::mark::mark;
use crate::risk::perpetual::window::Window;
use std::ops::Range;

impl Perpetual {
    /// A tick. `spot` is what the own spot market gives as the index of a market.
    pub(crate) fn tick(&mut self, spot: impl Fn(i64, Money) -> Option<Price>) {
        self.state.work.dates_ms = self.state.now_ms;
        self.run_dates();
        self.finish_remainders();
        for index in 0..self.books.len() {
            self.move_prices(index, &spot);
        }
        self.run_triggers();
        let mut new_seconds = 0u128;
        for index in 0..self.books.len() {
            new_seconds |= u128::from(self.state.is_new_second(index)) << index;
            self.sample_premium(index);
            self.state.fix_funding(index);
            self.state.pay_hours();
            self.close_markets();
            self.state.rank_few_payers(index);
            let now_s = self.state.now_ms / 1_000;
            self.state.symbols[index].sampled.0 = now_s;
        }
        self.scan_liquidations();
        let fund = self.state.cross(FEE_ACCOUNT).equity;
        self.state.peak.record(self.state.now_ms as u64, fund);
        // A second in which something waits until its end goes without.
        if new_seconds != 0 && self.state.work.left > 0 {
            self.unwind(new_seconds);
            self.run_triggers();
            self.scan_liquidations();
        }
        self.state.roll_hours();
        for index in 0..self.books.len() {
            self.judge_band(index);
            self.state.judge_state(index);
            self.state.tell_prices(index);
        }
    }

    /// What the last tick let expire: dates, then countdowns, as far as there are units.
    pub(super) fn run_dates(&mut self) {
        let until_ms = self.state.work.dates_ms;
        if self.expire_dates(until_ms) && self.run_countdowns(until_ms) {
            self.state.work.dates_ms = 0;
        }
    }

    /// Good-till dates that have come, the earliest first, of those the least id. Whether there were units enough.
    fn expire_dates(&mut self, until_ms: i64) -> bool {
        while let Some((date, id)) = self.state.dates.orders.take(until_ms) {
            let Some(slot) = self.state.order_index.find(id) else { continue };
            if !self.state.work.take() {
                self.state.dates.orders.put_back(date, id);
                return false;
            }
            self.expire(slot, reason::NONE);
        }
        true
    }

    /// Countdowns that have run out, by deadline, account, market. Whether there were units enough.
    fn run_countdowns(&mut self, until_ms: i64) -> bool {
        while let Some((deadline, number)) = self.state.dates.countdowns.take(until_ms) {
            let (account, market) = counted(number);
            let (markets, keeps) = if market == u32::MAX {
                let record = self.state.accounts.get_mut(account);
                if record.countdown_ms != deadline {
                    continue;
                }
                if !self.state.work.take() {
                    self.state.dates.countdowns.put_back(deadline, number);
                    return false;
                }
                record.countdown_ms = 0;
                (0..self.books.len(), record.countdown_keeps != 0)
            } else {
                let index = market as usize;
                let holding = self.state.holdings[index].get_mut(account);
                if holding.countdown_ms != deadline {
                    continue;
                }
                if !self.state.work.take() {
                    self.state.dates.countdowns.put_back(deadline, number);
                    return false;
                }
                holding.countdown_ms = 0;
                (index..index + 1, holding.countdown_keeps != 0)
            };
            self.state.dates.countdowns.fired();
            self.end_counted(account, markets, keeps);
        }
        true
    }

    /// Ends the orders of an account in some markets because a time is over.
    fn end_counted(&mut self, account: AccountId, markets: Range<usize>, keeps: bool) {
        for index in markets {
            self.end_all(account, index, Perpetual::end_canceled, |details| {
                !(keeps && details.is(order_flag::REDUCE_ONLY | order_flag::CLOSE_POSITION))
            });
        }
    }

    /// Ends the orders of accounts whose connections are lost, as countdowns over the same markets do.
    pub(super) fn end_of_lost(&mut self, lost: &[(AccountId, MarketId)]) {
        for &(account, market) in lost {
            // One that is of the other side has none here.
            if let Ok(markets) = self.state.range(market) {
                self.end_counted(account, markets, false);
            }
        }
    }

    /// Index, basis, mark.
    fn move_prices(&mut self, index: usize, spot: &impl Fn(i64, Money) -> Option<Price>) {
        if self.state.symbols[index].set == PerpetualState::Closed {
            return;
        }
        let now_ms = self.state.now_ms;
        let is_new_second = self.state.is_new_second(index);
        let markets = self.state.symbols.len();
        let symbol = &mut self.state.symbols[index];
        let mut quotes = [Quote::default(); SOURCES_MAX];
        let mut fresh = 0;
        let stale_ms = symbol.get(PerpetualParameter::SourceStaleMs) as u64;
        for source in &symbol.sources {
            let stale_ms = if source.stale_ms == 0 { stale_ms } else { source.stale_ms.into() };
            if source.price > 0 && is_fresh(source.at_ms as u64, now_ms as u64, stale_ms) {
                quotes[fresh] = Quote { price: source.price, source: source.id, weight: source.weight };
                fresh += 1;
            }
        }
        let clamp = symbol.get(PerpetualParameter::SourceClamp);
        let impact = symbol.get(PerpetualParameter::ImpactNotional);
        let inputs = Inputs {
            average: average(&quotes[..fresh], clamp).map(|average| average.index),
            fresh_count: fresh as u32,
            sources_min: symbol.get(PerpetualParameter::MinSources) as u32,
            spot: spot(symbol.get(PerpetualParameter::SpotMarket), impact),
            manual: (symbol.manual != 0).then_some(symbol.manual),
        };
        let was_suspended = symbol.is_suspended();
        let next = symbol.index.next(&inputs, now_ms as u64);
        // A price at which what is open cannot be valued counts as none (`risk.md` 1).
        symbol.index = if next.price <= symbol.index.price || symbol.may_be_valued_at(next.price, markets) {
            next
        } else {
            symbol.index.next(&Inputs::default(), now_ms as u64)
        };
        if symbol.index.price == 0 {
            return;
        }
        let lot = symbol.lot.value();
        let [bid, ask] = [Side::Buy, Side::Sell]
            .map(|side| impact_price(side, self.books[index].depth(&self.orders, side), impact, lot));
        let symbol = &mut self.state.symbols[index];
        if is_new_second {
            symbol.basis.sample(symbol.index.price, bid, ask);
            (symbol.prices.bid, symbol.prices.ask) = (bid.unwrap_or(0), ask.unwrap_or(0));
            symbol.indexes.record((now_ms / 1_000) as u64, symbol.index.price);
        }
        let basis = symbol.basis.average();
        let clamp = symbol.get(PerpetualParameter::MarkClamp);
        let Some(new) = mark(symbol.index.price, basis, clamp).filter(|mark| mark.price > 0) else { return };
        let before = symbol.prices.mark;
        symbol.prices.mark = new.price;
        (symbol.prices.basis, symbol.prices.clamped) = (basis, new.is_clamped);
        if is_new_second {
            symbol.marks.record((now_ms / 1_000) as u64, new.price);
        }
        symbol.refresh_bounds();
        let resumes = was_suspended && !symbol.is_suspended();
        if new.price != before {
            self.mark_moved(index, new.price);
        }
        if resumes {
            self.state.recheck_deferred();
        }
    }

    /// What a new mark has looked at again.
    fn mark_moved(&mut self, index: usize, mark: Price) {
        let symbol = &mut self.state.symbols[index];
        symbol.mark_range.add(mark);
        if symbol.last_price == 0 {
            symbol.contract_range.add(mark);
        }
        self.state.moved |= 1 << index;
        self.state.work.stirred |= 1 << index;
        self.state.follow_mark(index);
        self.state.alert |= 1 << index;
        self.state.rankings.forget();
    }

    /// The premium sample of a five-second.
    fn sample_premium(&mut self, index: usize) {
        let symbol = &self.state.symbols[index];
        let five = self.state.now_ms / 5_000;
        let is_known = !matches!(symbol.index.state, IndexState::Held | IndexState::Stale);
        if five == symbol.sampled.1 || symbol.set == PerpetualState::Closed || symbol.index.price == 0 {
            return;
        }
        let (impact, lot) = (symbol.get(PerpetualParameter::ImpactNotional), symbol.lot.value());
        let [bid, ask] = [Side::Buy, Side::Sell]
            .map(|side| impact_price(side, self.books[index].depth(&self.orders, side), impact, lot));
        let symbol = &mut self.state.symbols[index];
        symbol.sampled.1 = five;
        if is_known {
            let sample =
                premium(symbol.index.price, bid, ask).and_then(|sample| symbol.premiums.with(sample));
            symbol.premiums = sample.unwrap_or(symbol.premiums);
        }
    }

    /// Starts and ends the pause of the dynamic band.
    fn judge_band(&mut self, index: usize) {
        let now_ms = self.state.now_ms;
        let symbol = &mut self.state.symbols[index];
        if symbol.pause_ms != 0 && now_ms >= symbol.pause_ms {
            symbol.pause_ms = 0;
            symbol.marks = Window::new();
            symbol.marks.record((now_ms / 1_000) as u64, symbol.prices.mark);
            symbol.refresh_bounds();
        }
        let Some(band) = symbol.dynamic_band(now_ms) else { return };
        for side in [Side::Buy, Side::Sell] {
            let best = self.books[index].best(&self.orders, side.opposite());
            let symbol = &mut self.state.symbols[index];
            let since = symbol.binds_ms[side as usize];
            if since == 0 {
                continue;
            }
            if best.is_none_or(|best| band.admits(best)) {
                symbol.binds_ms[side as usize] = 0;
            } else if now_ms - since >= BAND_BINDS_MS {
                symbol.binds_ms = [0; 2];
                symbol.pause_ms = now_ms + BAND_PAUSE_MS;
            }
        }
    }
}

impl State {
    fn is_new_second(&self, index: usize) -> bool {
        self.now_ms / 1_000 != self.symbols[index].sampled.0
    }

    /// Lets the state in force follow the index, and tells it where it changed.
    fn judge_state(&mut self, index: usize) {
        let now_ms = self.now_ms as u64;
        let symbol = &mut self.symbols[index];
        let was_suspended = symbol.is_suspended();
        symbol.recover(self.now_ms);
        symbol.index_halts = symbol.index.price != 0 && symbol.index.is_halting(now_ms);
        let state = symbol.state();
        let is_new = state != symbol.told;
        if was_suspended && !symbol.is_suspended() {
            self.recheck_deferred();
        }
        if is_new {
            self.tell_state(index);
        }
    }

    /// Tells the state in force; not of a market that closes, which is told when it has.
    pub(crate) fn tell_state(&mut self, index: usize) {
        let symbol = &mut self.symbols[index];
        if symbol.closing.is_some() {
            return;
        }
        symbol.told = symbol.state();
        let event = PerpetualStateChanged {
            market: id_of(index),
            state: symbol.told as u8,
            set: symbol.set as u8,
            reserved: 0,
            settlement_price: 0,
        };
        self.writer.emit(event);
    }

    /// Tells prices that differ from the last ones told.
    fn tell_prices(&mut self, index: usize) {
        let symbol = &mut self.symbols[index];
        if symbol.index.price == 0 || symbol.set == PerpetualState::Closed {
            return;
        }
        let event = PerpetualPrice {
            market: id_of(index),
            index_state: symbol.index.state as u8,
            clamped: u8::from(symbol.prices.clamped),
            reserved: 0,
            index: symbol.index.price,
            mark: symbol.prices.mark,
            basis: symbol.prices.basis,
            impact_bid: symbol.prices.bid,
            impact_ask: symbol.prices.ask,
            funding_rate: symbol.estimated_rate(),
            next_funding_ms: symbol.next_funding_ms,
        };
        if symbol.price_told != Some(event) {
            symbol.price_told = Some(event);
            self.writer.emit(event);
        }
    }
}
