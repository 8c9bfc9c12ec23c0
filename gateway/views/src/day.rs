//! The rolling day of a market: the trades of the last 86,400,000 milliseconds, exact to the step of its window.
//!
//! Trades of one step are one bucket. Where a day brings too many of them, neighbours join until they fit, so that memory
//! has a bound: the window then moves by that step. Sums are kept as trades come and go; whoever reads takes off what has left
//! since.

use super::candle::Sum;
use super::extremes::Extremes;
use crate::stored::{layouts, stored};
use ringside_core::money::{Price, Quantity, RATE_ONE};
use ringside_core::risk::perpetual::units::{PRODUCTS_PER_MICRO, half_even_div};
use std::collections::VecDeque;

/// Length of the window.
pub const DAY_MS: i64 = 86_400_000;
/// Buckets of a market at most.
const BUCKETS: usize = 100_000;

/// Figures of the window. Without a trade in it, prices are the last price; 0 where there never was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticker24h {
    /// Price of the first trade.
    pub open: Price,
    /// Highest price, 10^-8.
    pub high: Price,
    /// Lowest price, 10^-8.
    pub low: Price,
    /// The last price, also of a trade before the window.
    pub close: Price,
    /// Quantity of that trade; spot does not keep it.
    pub last_quantity: Quantity,
    /// Base traded, 10^-8.
    pub volume: i128,
    /// Quote traded: micro-quote of a perpetual market, an amount of spot.
    pub value: i128,
    /// How many trades.
    pub count: u64,
    /// First trade and last; spot does not keep them.
    pub ids: Option<(u64, u64)>,
}

impl Ticker24h {
    /// A day without a trade.
    pub fn quiet(close: Price, last_quantity: Quantity) -> Ticker24h {
        let (open, high, low) = (close, close, close);
        Ticker24h { open, high, low, close, last_quantity, volume: 0, value: 0, count: 0, ids: None }
    }

    /// Takes in a trade of its end.
    pub(super) fn trade(&mut self, price: Price, quantity: Quantity, value: i128) {
        if self.count == 0 {
            (self.open, self.high, self.low) = (price, price, price);
        }
        self.close = price;
        self.high = self.high.max(price);
        self.low = self.low.min(price);
        self.volume = self.volume.plus(quantity.into());
        self.value = self.value.plus(value);
        self.count += 1;
    }

    /// `close - open`.
    pub fn change(&self) -> Price {
        self.close - self.open
    }

    /// The change in percent of the open, 10^-8, with so many decimals.
    pub fn change_percent(&self, decimals: usize) -> i128 {
        let part = i128::from(self.change()) * i128::from(RATE_ONE) * 100;
        if self.open == 0 { 0 } else { rounded(part, self.open.into(), decimals) }
    }

    /// The mean price weighted by quantity, with so many decimals.
    pub fn weighted(&self, decimals: usize) -> i128 {
        let products = self.value * PRODUCTS_PER_MICRO;
        if self.volume == 0 { self.close.into() } else { rounded(products, self.volume, decimals) }
    }
}

/// A quotient, 10^-8, rounded to what is shown of it: halves to even.
fn rounded(dividend: i128, divisor: i128, decimals: usize) -> i128 {
    let step = 10_i128.pow(8_u32.saturating_sub(decimals as u32));
    half_even_div(dividend, divisor * step) * step
}

/// Trades of one step of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket<S> {
    /// UNIX milliseconds.
    pub start_ms: i64,
    /// Price of the first trade.
    pub open: Price,
    /// Highest price, 10^-8.
    pub high: Price,
    /// Lowest price, 10^-8.
    pub low: Price,
    /// Base traded, 10^-8.
    pub volume: S,
    /// Quote traded.
    pub value: S,
    /// How many trades.
    pub count: u64,
    /// First trade, 0 where that is not kept.
    pub first: u64,
    /// Last trade, 0 where that is not kept.
    pub last: u64,
}

impl<S: Sum> Bucket<S> {
    /// Of one trade.
    pub(super) fn of(start_ms: i64, price: Price, quantity: Quantity, value: S, id: u64) -> Bucket<S> {
        let (open, high, low, first, last) = (price, price, price, id, id);
        Bucket { start_ms, open, high, low, volume: quantity.into(), value, count: 1, first, last }
    }

    /// Takes in a later one.
    fn join(&mut self, later: &Bucket<S>) {
        self.high = self.high.max(later.high);
        self.low = self.low.min(later.low);
        self.volume = self.volume.plus(later.volume);
        self.value = self.value.plus(later.value);
        self.count += later.count;
        self.last = later.last;
    }
}

/// One market's window.
#[derive(Clone, Debug)]
pub(super) struct Window<S> {
    /// Oldest first.
    buckets: VecDeque<Bucket<S>>,
    least_ms: i64,
    step_ms: i64,
    volume: i128,
    value: i128,
    count: u64,
    extremes: Extremes,
}

impl<S: Sum> Window<S> {
    /// Whose steps are of so many milliseconds at least.
    pub(super) fn new(least_ms: i64) -> Window<S> {
        Window {
            buckets: VecDeque::new(),
            least_ms,
            step_ms: least_ms,
            volume: 0,
            value: 0,
            count: 0,
            extremes: Extremes::default(),
        }
    }

    /// As it was, its buckets and their step; `None` for what no window can be.
    pub(super) fn of(least_ms: i64, step_ms: i64, buckets: &[Bucket<S>]) -> Option<Window<S>> {
        let is_one = (least_ms..=DAY_MS).contains(&step_ms)
            && buckets.len() <= BUCKETS
            && buckets.is_sorted_by_key(|bucket| bucket.start_ms);
        if !is_one {
            return None;
        }
        let mut window = Window::new(least_ms);
        // Each as it was: a step is for those that come.
        buckets.iter().for_each(|bucket| window.append(bucket));
        window.step_ms = step_ms;
        Some(window)
    }

    pub(super) fn step_ms(&self) -> i64 {
        self.step_ms
    }

    pub(super) fn buckets(&self) -> &VecDeque<Bucket<S>> {
        &self.buckets
    }

    /// Takes in what is later than all before it, or of the newest step, and keeps the number of buckets in bounds.
    pub(super) fn put(&mut self, bucket: &Bucket<S>) {
        self.append(bucket);
        if self.buckets.len() > BUCKETS {
            let joined = std::mem::take(&mut self.buckets);
            *self = Window { step_ms: self.step_ms * 2, ..Window::new(self.least_ms) };
            joined.iter().for_each(|bucket| self.append(bucket));
        } else if self.step_ms > self.least_ms && self.buckets.len() < BUCKETS / 8 {
            self.step_ms /= 2;
        }
    }

    fn append(&mut self, bucket: &Bucket<S>) {
        let start_ms = bucket.start_ms - bucket.start_ms.rem_euclid(self.step_ms);
        self.volume = self.volume.plus(bucket.volume.into());
        self.value = self.value.plus(bucket.value.into());
        self.count += bucket.count;
        match self.buckets.back_mut().filter(|last| last.start_ms >= start_ms) {
            Some(last) => last.join(bucket),
            None => self.buckets.push_back(Bucket { start_ms, ..*bucket }),
        }
        let start_ms = self.buckets.back().map_or(start_ms, |last| last.start_ms);
        self.extremes.put(start_ms, bucket.high, bucket.low);
    }

    /// Lets go of what lies before the day that ends now.
    pub(super) fn advance(&mut self, now_ms: i64) {
        let start_ms = now_ms - DAY_MS;
        let (held, was_full) = (self.buckets.len(), self.value == i128::MAX);
        while let Some(old) = self.buckets.front().filter(|bucket| bucket.start_ms < start_ms) {
            self.volume -= old.volume.into();
            self.value -= old.value.into();
            self.count -= old.count;
            self.buckets.pop_front();
        }
        if self.buckets.len() == held {
            return;
        }
        if was_full {
            // How much more it stood for is not known.
            self.value = self.buckets.iter().fold(0, |sum, bucket| sum.plus(bucket.value.into()));
        }
        self.extremes.advance(start_ms);
    }

    /// The day that ends now; what a quiet one is like says the prices where nobody traded.
    pub(super) fn day(&self, quiet: Ticker24h, now_ms: i64) -> Ticker24h {
        let start_ms = now_ms - DAY_MS;
        let gone = self.buckets.partition_point(|bucket| bucket.start_ms < start_ms);
        let (Some(first), Some(last)) = (self.buckets.get(gone), self.buckets.back()) else { return quiet };
        let (high, low) = self.extremes.since(start_ms).unwrap_or((quiet.high, quiet.low));
        let mut day = Ticker24h {
            open: first.open,
            high,
            low,
            volume: self.volume,
            value: self.value,
            count: self.count,
            ids: (last.last > 0).then_some((first.first, last.last)),
            ..quiet
        };
        for old in self.buckets.range(..gone) {
            day.volume -= old.volume.into();
            day.value -= old.value.into();
            day.count -= old.count;
        }
        day
    }
}

layouts! {
    /// Trades of one step of a rolling day.
    BucketV1 of Bucket<i64> {
        start_ms: i64, open: i64, high: i64, low: i64, volume: i64, value: i64, count: u64, first: u64, last: u64,
    }
}

stored! {
    Bucket<i64> as Buckets: BucketV1;
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUIET: Ticker24h = Ticker24h {
        open: 7,
        high: 7,
        low: 7,
        close: 7,
        last_quantity: 0,
        volume: 0,
        value: 0,
        count: 0,
        ids: None,
    };

    fn bucket(id: u64, start_ms: i64, price: Price) -> Bucket<i64> {
        Bucket::of(start_ms, price, 3, price * 3, id)
    }

    /// The same, looking at every trade.
    fn naive(trades: &[Bucket<i64>], now_ms: i64) -> Ticker24h {
        let within: Vec<&Bucket<i64>> =
            trades.iter().filter(|trade| trade.start_ms >= now_ms - DAY_MS).collect();
        let (Some(first), Some(last)) = (within.first(), within.last()) else { return QUIET };
        Ticker24h {
            open: first.open,
            high: within.iter().map(|trade| trade.high).max().unwrap_or(0),
            low: within.iter().map(|trade| trade.low).min().unwrap_or(0),
            volume: within.iter().map(|trade| i128::from(trade.volume)).sum(),
            value: within.iter().map(|trade| i128::from(trade.value)).sum(),
            count: within.len() as u64,
            ids: Some((first.first, last.last)),
            ..QUIET
        }
    }

    #[test]
    fn what_is_shown_is_rounded_and_not_cut() {
        // As another exchange showed them: -1.138 (-1.13766), 78027.43 (78027.42873).
        let day = Ticker24h {
            open: 7_780_000_000_000,
            close: 7_691_490_000_000,
            volume: 16_992_402_000_000,
            value: 13_258_734_360_380_000,
            ..QUIET
        };
        assert_eq!([day.change_percent(3), day.change_percent(2)], [-113_800_000, -114_000_000]);
        assert_eq!([day.weighted(2), day.weighted(1)], [7_802_743_000_000, 7_802_740_000_000]);
        let percent = |close: Price| Ticker24h { open: 800_000, close, ..QUIET }.change_percent(2);
        assert_eq!([800_039, 800_040, 800_041].map(percent), [0, 0, 1_000_000]);
        assert_eq!([800_120, 799_880, 799_960].map(percent), [2_000_000, -2_000_000, 0]);
        assert_eq!((QUIET.change_percent(2), QUIET.weighted(2)), (0, 7));
    }

    #[test]
    fn it_is_that_of_every_trade_to_the_millisecond() {
        let (mut window, mut trades) = (Window::new(1), Vec::new());
        let (mut now_ms, mut seed) = (1_700_000_000_000_i64, 12_345_u64);
        for id in 1..=4_000 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let random = (seed >> 33) as i64;
            now_ms += [0, 0, 1, 977, 400_000][(random % 5) as usize];
            let trade = bucket(id, now_ms, 100 + random / 5 % 50);
            window.advance(now_ms);
            window.put(&trade);
            trades.push(trade);
            for later in [0, 1, 13_000_000, 86_399_999, 86_400_000, 86_400_001] {
                assert_eq!(window.day(QUIET, now_ms + later), naive(&trades, now_ms + later), "{id} {later}");
            }
        }
        let kept = window.buckets().iter().copied().collect::<Vec<_>>();
        let loaded = Window::of(1, window.step_ms(), &kept).expect("it was one");
        assert_eq!(loaded.day(QUIET, now_ms), window.day(QUIET, now_ms));
        assert!(Window::of(1, 0, &kept).is_none() && Window::of(1, DAY_MS + 1, &kept).is_none());
        assert!(Window::of(1, 1, &kept.iter().rev().copied().collect::<Vec<_>>()).is_none());
    }

    #[test]
    fn a_busy_day_has_a_bound() {
        let mut window = Window::new(1);
        let trades = 3 * BUCKETS as u64;
        (1..=trades)
            .for_each(|id| window.put(&bucket(id, 1_700_000_000_000 + id as i64, 100 + id as i64 % 9)));
        assert!(window.buckets.len() <= BUCKETS && window.step_ms > 1, "{}", window.step_ms);
        let now_ms = 1_700_000_000_000 + trades as i64;
        let day = window.day(QUIET, now_ms);
        assert_eq!((day.count, day.high, day.low, day.ids), (trades, 108, 100, Some((1, trades))));
        // What leaves, leaves by steps.
        let half = window.day(QUIET, now_ms + DAY_MS - trades as i64 / 2);
        let late = (trades / 2).abs_diff(half.count);
        assert!(late <= window.step_ms as u64, "{late}");
        window.advance(now_ms + DAY_MS + 1);
        assert_eq!((window.count, window.volume, window.value), (0, 0, 0));
    }
}
