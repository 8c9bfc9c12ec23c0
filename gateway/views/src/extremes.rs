//! Highest and lowest price of a window of time that moves on.

use ringside_core::money::Price;
use std::collections::VecDeque;

/// Of each time the prices that no later one reaches, so that the first is the extreme of all. One stands for a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Extremes {
    /// Falling.
    highs: VecDeque<(i64, Price)>,
    /// Rising.
    lows: VecDeque<(i64, Price)>,
}

impl Extremes {
    /// Takes in the prices of a time that is no earlier than those before.
    pub(super) fn put(&mut self, at: i64, high: Price, low: Price) {
        put(&mut self.highs, at, high, |other| other <= high);
        put(&mut self.lows, at, low, |other| other >= low);
    }

    /// Lets go of what lies before a time.
    pub(super) fn advance(&mut self, start: i64) {
        for prices in [&mut self.highs, &mut self.lows] {
            while prices.front().is_some_and(|(at, _)| *at < start) {
                prices.pop_front();
            }
        }
    }

    /// The highest and the lowest from a time on; `None` where there is no price.
    pub(super) fn since(&self, start: i64) -> Option<(Price, Price)> {
        let first = |prices: &VecDeque<(i64, Price)>| {
            prices.get(prices.partition_point(|(at, _)| *at < start)).map(|(_, price)| *price)
        };
        first(&self.highs).zip(first(&self.lows))
    }
}

fn put(prices: &mut VecDeque<(i64, Price)>, at: i64, price: Price, is_passed: impl Fn(Price) -> bool) {
    while prices.back().is_some_and(|(_, other)| is_passed(*other)) {
        prices.pop_back();
    }
    if prices.back().is_none_or(|(other, _)| *other != at) {
        prices.push_back((at, price));
    }
}
