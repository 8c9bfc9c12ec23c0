//! Funding (`risk.md` 11): premium samples, the rate of an interval, and what a position pays or receives.

use super::units::{floor_micros, floor_rate, narrow, product, trunc_div};
use crate::money::{Money, Price, Quantity, RATE_ONE, Rate};

/// Time between premium samples, in seconds.
pub(crate) const SAMPLE_S: u64 = 5;
/// The hours that interest and damping are stated for.
const RATE_HOURS: i128 = 8;

/// `P`: how far the impact prices are on one side of the index, toward zero. An impact price that is not there adds
/// nothing. `index` > 0.
#[inline]
pub fn premium(index: Price, bid: Option<Price>, ask: Option<Price>) -> Option<Rate> {
    if index <= 0 {
        return None;
    }
    let index = i128::from(index);
    let above = bid.map_or(0, |bid| (i128::from(bid) - index).max(0));
    let below = ask.map_or(0, |ask| (index - i128::from(ask)).max(0));
    narrow(trunc_div((above - below) * i128::from(RATE_ONE), index))
}

/// The premium samples of the running interval: the n-th counts n times.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct Premiums {
    /// Samples so far.
    pub(crate) count: u32,
    /// Sum of sample x number.
    pub(crate) weighted: i128,
}

impl Premiums {
    /// With one more sample.
    #[inline]
    pub(crate) fn with(self, premium: Rate) -> Option<Premiums> {
        let count = self.count.checked_add(1)?;
        // 2^32 x 2^63, 2^32 times.
        Some(Premiums {
            count,
            weighted: self.weighted.checked_add(i128::from(premium) * i128::from(count))?,
        })
    }

    /// `Pavg`, toward zero; 0 without a sample.
    pub(crate) fn average(&self) -> Option<Rate> {
        let count = i128::from(self.count);
        if count == 0 {
            return Some(0);
        }
        narrow(trunc_div(self.weighted, count * (count + 1) / 2))
    }

    /// Whether more than half of the samples of an interval are missing: its rate is then 0.
    pub(crate) const fn is_short(&self, interval_hours: u32) -> bool {
        let expected = interval_hours as u64 * 3_600 / SAMPLE_S;
        (self.count as u64) * 2 < expected
    }
}

/// What an administrator sets.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub(crate) struct FundingRules {
    /// Length of an interval, > 0.
    pub(crate) interval_hours: u32,
    /// Interest of 8 hours.
    pub(crate) interest: Rate,
    /// How far the premium is damped toward the interest, >= 0, of 8 hours.
    pub(crate) damping: Rate,
    /// Largest rate of a settlement, >= 0.
    pub(crate) cap: Rate,
}

impl FundingRules {
    /// `F`: the rate of one settlement, toward zero.
    pub(crate) fn rate(&self, average: Rate) -> Option<Rate> {
        if self.damping < 0 || self.cap < 0 {
            return None;
        }
        let pull = self.interest.checked_sub(average)?.clamp(-self.damping, self.damping);
        let of_eight = i128::from(average) + i128::from(pull);
        let rate = trunc_div(of_eight * i128::from(self.interval_hours), RATE_HOURS);
        narrow(rate.clamp(-i128::from(self.cap), self.cap.into()))
    }
}

/// What a wallet changes by at a settlement: a payment is rounded up, a receipt down, so both are the same division.
#[inline]
pub(crate) fn payment(quantity: Quantity, mark: Price, rate: Rate) -> Option<Money> {
    let owed = product(mark, quantity).checked_mul(rate.into())?;
    // By products of a micro, then by 1.0: down twice is down once, and neither is a division of 128 bits.
    narrow(floor_rate(floor_micros(owed.checked_neg()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::UNIT;
    use proptest::prelude::*;

    const INDEX: Price = 6_005_667_500_000;
    const LOT: Quantity = 100_000;
    const RULES: FundingRules =
        FundingRules { interval_hours: 1, interest: 10_000, damping: 50_000, cap: 300_000 };

    #[test]
    fn v_17_the_premium_of_an_impact_bid_above_the_index() {
        assert_eq!(premium(INDEX, Some(60_150 * UNIT), Some(60_160 * UNIT)), Some(155_394));
        assert_eq!(premium(INDEX, Some(60_150 * UNIT), None), Some(155_394));
        assert_eq!(
            premium(INDEX, Some(60_000 * UNIT), Some(60_060 * UNIT)),
            Some(0),
            "the index is between them"
        );
        assert_eq!(premium(INDEX, None, Some(5_996_335_000_000)), Some(-155_394), "toward zero");
        assert_eq!(premium(0, None, None), None);
    }

    #[test]
    fn v_18_what_the_positions_pay_and_receive() {
        assert_eq!(RULES.interest - 120_000, -110_000, "damped to -50,000");
        let eight_hours = FundingRules { interval_hours: 8, ..RULES };
        assert_eq!(eight_hours.rate(120_000), Some(70_000));
        let rate = RULES.rate(120_000).unwrap();
        assert_eq!(rate, 8_750);
        let mark = 6_013_667_500_000;
        let changes = [500, -300, -200].map(|lots| payment(lots * LOT, mark, rate).unwrap());
        assert_eq!(changes, [-2_630_980, 1_578_587, 1_052_391]);
        assert_eq!(-changes.iter().sum::<i64>(), 2);
    }

    #[test]
    fn later_samples_are_heavier() {
        let premiums =
            [100, 200, -600].iter().try_fold(Premiums::default(), |sum, &next| sum.with(next)).unwrap();
        // (100 + 400 - 1,800) / 6
        assert_eq!(premiums.average(), Some(-216));
        assert_eq!(Premiums::default().average(), Some(0));
        assert!(Premiums { count: 359, weighted: 0 }.is_short(1));
        assert!(!Premiums { count: 360, weighted: 0 }.is_short(1));
    }

    #[test]
    fn rates_are_damped_and_capped() {
        assert_eq!(RULES.rate(10_000), Some(1_250), "at the interest");
        assert_eq!(RULES.rate(-30_000), Some(1_250), "within the damping");
        assert_eq!(RULES.rate(-100_000), Some(-6_250));
        assert_eq!(RULES.rate(-100_001), Some(-6_250), "toward zero");
        assert_eq!(RULES.rate(10_000_000), Some(300_000));
        assert_eq!(RULES.rate(-10_000_000), Some(-300_000));
        assert_eq!(FundingRules { cap: -1, ..RULES }.rate(0), None);
    }

    proptest! {
        /// `risk.md` 21, property 8, and I-10: what is paid and not received is less than a micro per position, and
        /// the receiving side never pays.
        #[test]
        fn funding_leaves_less_than_a_micro_per_position(
            mut lots in prop::collection::vec(-1_000_000i64..1_000_000, 1..20),
            mark in 1i64..1_000_000_000_000_000,
            rate in -300_000i64..=300_000,
        ) {
            // Longs and shorts are equal.
            lots.push(-lots.iter().sum::<i64>());
            lots.retain(|&lots| lots != 0);
            let mut residue = 0i128;
            for &lots in &lots {
                let change = payment(lots * LOT, mark, rate).unwrap();
                residue -= i128::from(change);
                let pays = (lots > 0) == (rate > 0) && rate != 0;
                prop_assert!(if pays { change < 0 } else { change >= 0 }, "{} {} {}", lots, rate, change);
            }
            prop_assert!(residue >= 0 && residue < lots.len().max(1) as i128);
        }
    }
}
