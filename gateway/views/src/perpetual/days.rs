//! The rolling days of perpetual markets, exact to the millisecond.

use super::super::codec::{LoadError, Reader, Writer};
use super::super::day::{Bucket, Ticker24h, Window};
use super::Perpetuals;
use super::market::PerpetualMarket;
use super::place;
use ringside_core::event;

/// Milliseconds of a step.
const STEP_MS: i64 = 1;

impl Perpetuals {
    /// The rolling day of a market that ends now.
    pub fn day(&self, market: &PerpetualMarket, now_ms: i64) -> Ticker24h {
        let last = market.last_trade();
        let (close, last_quantity) = last.map_or((0, 0), |last| (last.price, last.quantity));
        let quiet = Ticker24h::quiet(close, last_quantity);
        self.days.0.get(place(market.market)).map_or(quiet, |window| window.day(quiet, now_ms))
    }
}

/// The windows of all markets.
#[derive(Clone, Debug, Default)]
pub(super) struct Days(Vec<Window<i64>>);

impl Days {
    pub(super) fn traded(&mut self, trade: &event::PerpetualTrade, time_ms: i64) {
        let index = place(trade.market);
        if index >= self.0.len() {
            self.0.resize_with(index + 1, || Window::new(STEP_MS));
        }
        let window = &mut self.0[index];
        window.advance(time_ms);
        window.put(&Bucket::of(time_ms, trade.price, trade.quantity, trade.value, trade.trade));
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
            writer.i64(window.step_ms());
            writer.records(window.buckets().iter());
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>) -> Result<Days, LoadError> {
        let mut days = Days::default();
        for _ in 0..reader.count()? {
            let (step_ms, buckets) = (reader.i64()?, reader.records()?);
            days.0.push(Window::of(STEP_MS, step_ms, &buckets).ok_or_else(|| reader.bad("window"))?);
        }
        Ok(days)
    }
}
