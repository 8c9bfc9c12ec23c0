//! Values of the last seconds: the index samples that a settlement averages, and the mark of some minutes ago.

use super::units::{floor_div, narrow};
use crate::money::Price;

/// One value per second, > 0, of the last `SECONDS`. The first that is told of a second stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Window<const SECONDS: usize> {
    /// By second modulo the count of slots; 0 where none was told.
    values: [Price; SECONDS],
    sum: i128,
    count: u32,
    /// The last second that something was told of.
    second: u64,
    /// The first second of the window that a value was told of; 0 where none was.
    oldest: u64,
}

impl<const SECONDS: usize> Window<SECONDS> {
    /// Nothing was told yet.
    pub(crate) const fn new() -> Self {
        Window { values: [0; SECONDS], sum: 0, count: 0, second: 0, oldest: 0 }
    }

    /// Tells the value of a second, which never goes back.
    pub(crate) fn record(&mut self, second: u64, value: Price) {
        self.advance(second);
        let Some(slot) = self.values.get_mut(slot::<SECONDS>(second)) else { return };
        if second == self.second && *slot == 0 && value > 0 {
            *slot = value;
            self.sum += i128::from(value);
            if self.count == 0 {
                self.oldest = second;
            }
            self.count += 1;
        }
    }

    /// Lets time pass: what is `SECONDS` old leaves.
    pub(crate) fn advance(&mut self, second: u64) {
        let passed = second.saturating_sub(self.second).min(SECONDS as u64);
        for gone in 0..passed {
            if let Some(value) = self.values.get_mut(slot::<SECONDS>(second - gone)) {
                self.count -= u32::from(*value != 0);
                self.sum -= i128::from(*value);
                *value = 0;
            }
        }
        self.second = self.second.max(second);
        if self.count == 0 {
            self.oldest = 0;
        } else {
            // Each second is passed over once in the life of a window.
            self.oldest = self.oldest.max(self.first());
            while self.value(self.oldest).is_none() {
                self.oldest += 1;
            }
        }
    }

    /// The mean of what is in the window of the last second told of, down; `None` where that is nothing.
    pub(crate) fn mean(&self) -> Option<Price> {
        if self.count == 0 {
            return None;
        }
        narrow(floor_div(self.sum, self.count.into()))
    }

    /// The value of a second; where none was told of it, the last before it; where none is that old, the oldest.
    pub(crate) fn at(&self, second: u64) -> Option<Price> {
        if self.count == 0 {
            return None;
        }
        if second <= self.oldest {
            return self.value(self.oldest);
        }
        // Nearly always the second itself.
        (self.oldest..=self.second.min(second)).rev().find_map(|second| self.value(second))
    }

    /// What was told of a second of the window.
    fn value(&self, second: u64) -> Option<Price> {
        self.values.get(slot::<SECONDS>(second)).copied().filter(|value| *value != 0)
    }

    /// What it knows, as (second, value), oldest first: what a snapshot keeps.
    pub(crate) fn recorded(&self) -> impl Iterator<Item = (u64, Price)> + '_ {
        (self.first()..=self.second).filter_map(move |second| {
            let value = self.values.get(slot::<SECONDS>(second)).copied()?;
            (value != 0).then_some((second, value))
        })
    }

    /// The first second of the window.
    const fn first(&self) -> u64 {
        self.second.saturating_add(1).saturating_sub(SECONDS as u64)
    }
}

const fn slot<const SECONDS: usize>(second: u64) -> usize {
    (second % SECONDS as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_over_what_was_told_in_the_window() {
        let mut window = Window::<4>::new();
        assert_eq!(window.mean(), None);
        window.record(10, 100);
        window.record(10, 999);
        window.record(11, 201);
        assert_eq!(window.mean(), Some(150), "150.5 down");
        window.record(13, 0);
        assert_eq!(window.mean(), Some(150));
        window.record(14, 300);
        assert_eq!(window.mean(), Some(250), "201 and 300: second 10 is 4 old");
        window.advance(17);
        assert_eq!(window.mean(), Some(300));
        window.advance(1_000_000);
        assert_eq!(window.mean(), None);
        window.record(5, 1);
        assert_eq!(window.mean(), None, "time never goes back");
    }

    #[test]
    fn a_value_of_some_time_ago_is_the_last_before_it() {
        let mut window = Window::<300>::new();
        assert_eq!(window.at(5), None);
        for second in [1_000, 1_001, 1_005, 1_006] {
            window.record(second, second as i64);
        }
        assert_eq!(window.at(1_001), Some(1_001));
        assert_eq!(window.at(1_004), Some(1_001));
        assert_eq!(window.at(9_999), Some(1_006));
        assert_eq!(window.at(7), Some(1_000), "none is so old");
        let mut gaps = Window::<8>::new();
        for second in [10, 15, 16] {
            gaps.record(second, second as i64);
        }
        assert_eq!([gaps.at(9), gaps.at(14), gaps.at(15)], [Some(10), Some(10), Some(15)]);
        gaps.advance(19);
        assert_eq!([gaps.at(9), gaps.at(14), gaps.at(99)], [Some(15), Some(15), Some(16)], "10 has left");
        gaps.advance(99);
        assert_eq!(gaps.at(99), None);
        let mut again = Window::<300>::new();
        for (second, value) in window.recorded() {
            again.record(second, value);
        }
        assert_eq!(again, window);
    }
}
