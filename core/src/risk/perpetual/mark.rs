//! The mark price (`risk.md` 10): the index and the average basis of the book, which is clamped.
//!
//! The last trade is no input of it.

use super::impact::mid;
use super::units::{floor_div, floor_of, narrow};
use crate::money::{Price, Rate};

/// Samples that are averaged, one a second.
pub(crate) const BASIS_SAMPLES: usize = 30;
/// How many times the last sample stands in where the book has no impact price.
pub(crate) const BASIS_REPEATS: u32 = 30;

/// The last samples of the basis: middle of the impact prices - index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Basis {
    samples: [Price; BASIS_SAMPLES],
    /// Where the next sample goes.
    next: u32,
    count: u32,
    /// How many times in a row the last sample was repeated.
    repeats: u32,
}

impl Basis {
    /// Takes the sample of a second. Without both impact prices it is the last one again, and 0 after
    /// [`BASIS_REPEATS`] of these.
    pub(crate) fn sample(&mut self, index: Price, bid: Option<Price>, ask: Option<Price>) {
        let fresh = bid.zip(ask).and_then(|(bid, ask)| mid(bid, ask)?.checked_sub(index));
        let sample = match fresh {
            Some(sample) => {
                self.repeats = 0;
                sample
            }
            None => {
                self.repeats = self.repeats.saturating_add(1);
                if self.repeats <= BASIS_REPEATS { self.last() } else { 0 }
            }
        };
        if let Some(slot) = self.samples.get_mut(self.next as usize) {
            *slot = sample;
        }
        self.next = (self.next + 1) % BASIS_SAMPLES as u32;
        self.count = (self.count + 1).min(BASIS_SAMPLES as u32);
    }

    /// The last sample, 0 before the first.
    fn last(&self) -> Price {
        let at = (self.next as usize + BASIS_SAMPLES - 1) % BASIS_SAMPLES;
        self.samples.get(at).copied().unwrap_or(0)
    }

    /// `MA`, down; 0 without a sample.
    pub(crate) fn average(&self) -> Price {
        if self.count == 0 {
            return 0;
        }
        // Slots not used yet are 0.
        let sum: i128 = self.samples.iter().copied().map(i128::from).sum();
        narrow(floor_div(sum, self.count.into())).unwrap_or(0)
    }

    /// Its samples, oldest first, and how many of the last were repeats: what a snapshot keeps.
    pub(crate) fn parts(&self) -> (impl Iterator<Item = Price> + '_, u32) {
        let start = (self.next + BASIS_SAMPLES as u32 - self.count) as usize;
        let samples = (0..self.count as usize).map(move |at| self.samples[(start + at) % BASIS_SAMPLES]);
        (samples, self.repeats)
    }

    /// From what [`Basis::parts`] gave. `None` where there are more samples than it holds.
    pub(crate) fn from_parts(samples: &[Price], repeats: u32) -> Option<Basis> {
        let mut basis = Basis { repeats, count: samples.len() as u32, ..Basis::default() };
        basis.samples.get_mut(..samples.len())?.copy_from_slice(samples);
        basis.next = basis.count % BASIS_SAMPLES as u32;
        Some(basis)
    }
}

/// A mark price and how it came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) price: Price,
    /// `c`: how far it may be from the index.
    pub(crate) width: Price,
    /// Whether the basis was further.
    pub(crate) is_clamped: bool,
}

/// The mark of an index and an average basis, which counts up to `clamp` of the index.
#[inline]
pub(crate) fn mark(index: Price, basis: Price, clamp: Rate) -> Option<Mark> {
    let width = floor_of(index, clamp)?;
    if width < 0 {
        return None;
    }
    let clamped = basis.clamp(-width, width);
    Some(Mark { price: index.checked_add(clamped)?, width, is_clamped: clamped != basis })
}

#[cfg(test)]
mod tests {
    use super::super::bracket::{tests::bitcoin, widest_clamp};
    use super::super::order_margin::margin;
    use super::super::position::Position;
    use super::super::units::{notional, value};
    use super::*;
    use crate::command::Side;
    use crate::money::{RATE_ONE, UNIT};
    use proptest::prelude::*;

    #[test]
    fn the_basis_is_an_average_of_the_last_thirty() {
        let mut basis = Basis::default();
        assert_eq!(basis.average(), 0);
        basis.sample(100, Some(101), Some(104));
        assert_eq!(basis.average(), 2, "(101 + 104) / 2 down, - 100");
        basis.sample(100, Some(99), Some(100));
        assert_eq!(basis.average(), 0, "1 / 2 down");
        basis.sample(100, Some(98), Some(98));
        assert_eq!(basis.average(), -1, "-1 / 3 down");
        for _ in 0..30 {
            basis.sample(100, Some(110), Some(110));
        }
        assert_eq!(basis.average(), 10, "the first three have left");
    }

    #[test]
    fn a_missing_side_repeats_the_last_sample_thirty_times() {
        let mut basis = Basis::default();
        basis.sample(100, Some(160), None);
        assert_eq!(basis.average(), 0, "nothing to repeat");
        basis.sample(100, Some(160), Some(160));
        for _ in 0..30 {
            basis.sample(100, None, Some(160));
        }
        assert_eq!(basis.average(), 60);
        basis.sample(100, None, Some(160));
        assert_eq!(basis.average(), 58, "29 x 60 / 30");
        basis.sample(100, Some(160), Some(160));
        basis.sample(100, None, Some(160));
        assert_eq!(basis.average(), 58, "28 + 2 of 30: a new sample is repeated again");
    }

    #[test]
    fn a_basis_comes_back_from_its_parts() {
        let mut basis = Basis::default();
        for step in 0..75 {
            let (samples, repeats) = basis.parts();
            let samples: Vec<_> = samples.collect();
            let mut loaded = Basis::from_parts(&samples, repeats).unwrap();
            let mut live = basis;
            for more in 0..40 {
                let bid = (more % 7 != 0).then_some(100 + step + more);
                assert_eq!(live.average(), loaded.average());
                live.sample(100, bid, Some(200));
                loaded.sample(100, bid, Some(200));
            }
            basis.sample(100, (step % 3 != 0).then_some(step), Some(200));
        }
        assert_eq!(Basis::from_parts(&[0; 31], 0), None);
    }

    /// What is left of equity over maintenance margin where a position of `lots`, opened at `index` with the margin of
    /// the largest leverage that its size allows and nothing else, is judged at `price`.
    fn spare(side: Side, lots: i64, index: Price, price: Price) -> i64 {
        let brackets = bitcoin();
        let worth = value(index, lots * 100_000).unwrap();
        let position = Position::default().fill(side, lots * 100_000, worth).unwrap().position;
        let wallet = margin(worth, brackets.of(worth).leverage_max).unwrap();
        let maintenance = brackets.maintenance(notional(position.quantity, price).unwrap()).unwrap();
        wallet + position.unrealised(price).unwrap() - maintenance
    }

    /// In ten-thousandths of the index: near it, or anywhere.
    fn book_price() -> impl Strategy<Value = Option<i64>> {
        prop::option::weighted(0.9, prop_oneof![9_900i64..10_100, 1i64..50_000])
    }

    /// `V-35` and `V-35b` of `risk.md` 10, and that the bound cannot be wider.
    #[test]
    fn v35_a_short_at_the_upper_end_of_the_band_keeps_its_maintenance_margin() {
        let index = 60_000 * UNIT;
        let clamp = widest_clamp(&bitcoin()).unwrap();
        let top = mark(index, Price::MAX, clamp).unwrap().price;
        assert_eq!(top, 6_023_880_540_000);
        for (lots, equity, maintenance) in [(800, 192_955_680, 192_764_178), (833, 200_915_101, 200_894_625)]
        {
            let worth = value(index, lots * 100_000).unwrap();
            let short = Position::default().fill(Side::Sell, lots * 100_000, worth).unwrap().position;
            assert_eq!(margin(worth, 125).unwrap() + short.unrealised(top).unwrap(), equity);
            assert_eq!(bitcoin().maintenance_at(short.quantity, top), Some(maintenance));
            assert_eq!(spare(Side::Sell, lots, index, top), equity - maintenance);
        }
        // What was once the bound lets go of both.
        let once = mark(index, Price::MAX, 400_000).unwrap().price;
        assert!(spare(Side::Sell, 800, index, once) < 0 && spare(Side::Sell, 833, index, once) < 0);
        let bottom = mark(index, -Price::MAX, clamp).unwrap().price;
        assert!(spare(Side::Buy, 833, index, bottom) > 0);
    }

    proptest! {
        /// `risk.md` 21, property 7: the mark stays in its band for any book, and a position of any size opened at the
        /// largest leverage at the index survives any book at constant index, long and short.
        #[test]
        fn no_book_moves_the_mark_out_of_its_band(
            index in 1_000i64..10_000_000,
            books in prop::collection::vec((book_price(), book_price()), 1..80),
            part in 1i64..=1_000,
        ) {
            let index = index * UNIT / 10;
            // In the last bracket there is no leverage beyond its cap.
            let last = bitcoin().rows().last().unwrap().cap;
            let share = if part <= 500 { bitcoin().first().cap * 2 * part / 1_000 } else { last / 1_000 * part };
            let lots = share / value(index, 100_000).unwrap();
            let clamp = widest_clamp(&bitcoin()).unwrap();
            let mut basis = Basis::default();
            for (bid, ask) in books {
                let price = |parts: i64| index / 10_000 * parts;
                basis.sample(index, bid.map(price), ask.map(price));
                let at = mark(index, basis.average(), clamp).unwrap().price;
                let drift = i128::from(at - index).abs() * i128::from(RATE_ONE);
                prop_assert!(drift <= i128::from(index) * i128::from(clamp));

                if lots == 0 {
                    continue;
                }
                prop_assert!(spare(Side::Buy, lots, index, at) >= -2, "but for micros of rounding");
                prop_assert!(spare(Side::Sell, lots, index, at) >= -2, "but for micros of rounding");
            }
        }
    }
}
