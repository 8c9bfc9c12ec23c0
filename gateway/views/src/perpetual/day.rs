//! The rolling day of each market: the trades of the last 86,400,000 milliseconds, exact to the millisecond.
//!
//! Trades of one millisecond are one bucket. Where a day brings too many of them, neighbours join until they fit, so that memory
//! has a bound: the window then moves by that step. Sums are kept as trades come and go; whoever reads takes off what has left
//! since.

use super::super::codec::{LoadError, Reader, Writer};
use super::super::extremes::Extremes;
use super::Perpetuals;
use super::market::PerpetualMarket;
use super::place;
use ringside_core::event;
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
    /// Quantity of that trade.
    pub last_quantity: Quantity,
    /// Base traded, 10^-8.
    pub volume: i128,
    /// Micro-quote.
    pub value: i128,
    /// How many trades.
    pub count: u64,
    /// First trade and last.
    pub ids: Option<(u64, u64)>,
}

impl Ticker24h {
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

impl Perpetuals {
    /// The rolling day of a market that ends now.
    pub fn day(&self, market: &PerpetualMarket, now_ms: i64) -> Ticker24h {
        let last = market.last_trade();
        let (close, last_quantity) = last.map_or((0, 0), |last| (last.price, last.quantity));
        let quiet = Ticker24h {
            open: close,
            high: close,
            low: close,
            close,
            last_quantity,
            volume: 0,
            value: 0,
            count: 0,
            ids: None,
        };
        self.days.0.get(place(market.market)).map_or(quiet, |window| window.day(quiet, now_ms))
    }
}

/// Trades of one step of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// UNIX milliseconds.
    pub start_ms: i64,
    /// Price of the first trade.
    pub open: Price,
    /// Highest price, 10^-8.
    pub high: Price,
    /// Lowest price, 10^-8.
    pub low: Price,
    /// Base traded, 10^-8.
    pub volume: i64,
    /// Micro-quote.
    pub value: i64,
    /// How many trades.
    pub count: u64,
    /// First trade.
    pub first: u64,
    /// Last trade.
    pub last: u64,
}

impl Bucket {
    /// Takes in a later one.
    fn join(&mut self, later: &Bucket) {
        self.high = self.high.max(later.high);
        self.low = self.low.min(later.low);
        self.volume = self.volume.saturating_add(later.volume);
        self.value = self.value.saturating_add(later.value);
        self.count += later.count;
        self.last = later.last;
    }
}

/// One market's window.
#[derive(Clone, Debug)]
struct Window {
    /// Oldest first.
    buckets: VecDeque<Bucket>,
    step_ms: i64,
    volume: i128,
    value: i128,
    count: u64,
    extremes: Extremes,
}

impl Window {
    fn new() -> Window {
        Window {
            buckets: VecDeque::new(),
            step_ms: 1,
            volume: 0,
            value: 0,
            count: 0,
            extremes: Extremes::default(),
        }
    }

    /// Takes in what is later than all before it, or of the newest step, and keeps the number of buckets in bounds.
    fn put(&mut self, bucket: &Bucket) {
        self.append(bucket);
        if self.buckets.len() > BUCKETS {
            let joined = std::mem::take(&mut self.buckets);
            *self = Window { step_ms: self.step_ms * 2, ..Window::new() };
            joined.iter().for_each(|bucket| self.append(bucket));
        } else if self.step_ms > 1 && self.buckets.len() < BUCKETS / 8 {
            self.step_ms /= 2;
        }
    }

    fn append(&mut self, bucket: &Bucket) {
        let start_ms = bucket.start_ms - bucket.start_ms.rem_euclid(self.step_ms);
        self.volume += i128::from(bucket.volume);
        self.value += i128::from(bucket.value);
        self.count += bucket.count;
        match self.buckets.back_mut().filter(|last| last.start_ms >= start_ms) {
            Some(last) => last.join(bucket),
            None => self.buckets.push_back(Bucket { start_ms, ..*bucket }),
        }
        let start_ms = self.buckets.back().map_or(start_ms, |last| last.start_ms);
        self.extremes.put(start_ms, bucket.high, bucket.low);
    }

    /// Lets go of what lies before the day that ends now.
    fn advance(&mut self, now_ms: i64) {
        let start_ms = now_ms - DAY_MS;
        while let Some(old) = self.buckets.front().filter(|bucket| bucket.start_ms < start_ms) {
            self.volume -= i128::from(old.volume);
            self.value -= i128::from(old.value);
            self.count -= old.count;
            self.buckets.pop_front();
        }
        self.extremes.advance(start_ms);
    }

    fn day(&self, quiet: Ticker24h, now_ms: i64) -> Ticker24h {
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
            ids: Some((first.first, last.last)),
            ..quiet
        };
        for old in self.buckets.range(..gone) {
            day.volume -= i128::from(old.volume);
            day.value -= i128::from(old.value);
            day.count -= old.count;
        }
        day
    }
}

/// The windows of all markets.
#[derive(Clone, Debug, Default)]
pub struct Days(Vec<Window>);

impl Days {
    pub(super) fn traded(&mut self, trade: &event::PerpetualTrade, time_ms: i64) {
        let index = place(trade.market);
        if index >= self.0.len() {
            self.0.resize_with(index + 1, Window::new);
        }
        let window = &mut self.0[index];
        window.advance(time_ms);
        window.put(&Bucket {
            start_ms: time_ms,
            open: trade.price,
            high: trade.price,
            low: trade.price,
            volume: trade.quantity,
            value: trade.value,
            count: 1,
            first: trade.trade,
            last: trade.trade,
        });
    }

    /// Time passes, also where nobody trades.
    pub(super) fn advance(&mut self, index: usize, time_ms: i64) {
        if let Some(window) = self.0.get_mut(index) {
            window.advance(time_ms);
        }
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.0.len());
        for window in &self.0 {
            writer.i64(window.step_ms);
            writer.records(window.buckets.iter());
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<Days, LoadError> {
        let mut days = Days::default();
        for _ in 0..reader.count()? {
            let step_ms = reader.i64()?;
            if !(1..=DAY_MS).contains(&step_ms) {
                return Err(reader.bad("step"));
            }
            let buckets: Vec<Bucket> = reader.records()?;
            if buckets.len() > BUCKETS || !buckets.is_sorted_by_key(|bucket| bucket.start_ms) {
                return Err(reader.bad("window"));
            }
            let mut window = Window::new();
            // Each as it was: a step is for those that come.
            buckets.iter().for_each(|bucket| window.append(bucket));
            window.step_ms = step_ms;
            days.0.push(window);
        }
        Ok(days)
    }
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

    fn bucket(id: u64, start_ms: i64, price: Price) -> Bucket {
        let (open, high, low) = (price, price, price);
        Bucket { start_ms, open, high, low, volume: 3, value: price * 3, count: 1, first: id, last: id }
    }

    /// The same, looking at every trade.
    fn naive(trades: &[Bucket], now_ms: i64) -> Ticker24h {
        let within: Vec<&Bucket> = trades.iter().filter(|trade| trade.start_ms >= now_ms - DAY_MS).collect();
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
        let (mut window, mut trades) = (Window::new(), Vec::new());
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
        let mut bytes = Vec::new();
        Days(vec![window.clone()]).save(&mut Writer(&mut bytes));
        let loaded = Days::load(&mut Reader::new(&bytes)).expect("it was saved");
        assert_eq!(loaded.0[0].day(QUIET, now_ms), window.day(QUIET, now_ms));
    }

    #[test]
    fn a_busy_day_has_a_bound() {
        let mut window = Window::new();
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
