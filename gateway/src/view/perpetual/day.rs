//! The rolling day of a market: the last 24 hours as candles of minutes tell them, so the window moves by whole minutes.

use super::Perpetuals;
use super::market::PerpetualMarket;
use ringside_core::money::{Price, Quantity, RATE_ONE};
use ringside_core::risk::perpetual::units::{PRODUCTS_PER_MICRO, half_even_div};

/// Length of the window.
pub const DAY_MS: i64 = 86_400_000;

/// Figures of the window. Without a trade in it, prices are the last price; 0 where there never was one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Day {
    /// Price of the first trade.
    pub open: Price,
    /// Highest.
    pub high: Price,
    /// Lowest.
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

impl Day {
    /// `close - open`.
    pub fn change(&self) -> Price {
        self.close - self.open
    }

    /// The change in percent of the open, 10^-8, halves to even.
    pub fn change_percent(&self) -> i128 {
        let part = i128::from(self.change()) * i128::from(RATE_ONE) * 100;
        if self.open == 0 { 0 } else { half_even_div(part, self.open.into()) }
    }

    /// The mean price weighted by quantity, halves to even.
    pub fn weighted(&self) -> i128 {
        let products = self.value * PRODUCTS_PER_MICRO;
        if self.volume == 0 { self.close.into() } else { half_even_div(products, self.volume) }
    }
}

impl Perpetuals {
    /// The rolling day of a market that ends now.
    pub fn day(&self, market: &PerpetualMarket, now_ms: i64) -> Day {
        let last = market.last_trade();
        let close = last.map_or(0, |last| last.price);
        let last_quantity = last.map_or(0, |last| last.quantity);
        let (open, high, low) = (close, close, close);
        let mut day = Day { open, high, low, close, last_quantity, volume: 0, value: 0, count: 0, ids: None };
        for candle in self.series.minutes_since(market.market, now_ms - DAY_MS, now_ms) {
            if day.count == 0 {
                (day.open, day.high, day.low) = (candle.open, candle.high, candle.low);
            }
            day.high = day.high.max(candle.high);
            day.low = day.low.min(candle.low);
            day.volume += i128::from(candle.volume);
            day.value += i128::from(candle.value);
            day.count += candle.count;
            day.ids = Some((day.ids.map_or(candle.first, |(first, _)| first), candle.last));
        }
        day
    }
}
