//! Bounds of prices (`risk.md` 16): at acceptance, of market orders, and the dynamic band around an earlier mark.

use super::units::{ceil_to_step, floor_to_step};
use crate::command::Side;
use crate::money::{Price, RATE_ONE, Rate};

/// The last price that an order of a side may have: `multiplier` of the mark, down to a tick for a buy, up for a sell.
#[inline]
pub fn bound(side: Side, mark: Price, multiplier: Rate, tick: Price) -> Option<Price> {
    let product = i128::from(mark) * i128::from(multiplier);
    match side {
        Side::Buy => floor_to_step(product, RATE_ONE.into(), tick),
        Side::Sell => ceil_to_step(product, RATE_ONE.into(), tick),
    }
}

/// The limit price that a market order trades up to: `range` from the mark.
#[inline]
pub fn market_limit(side: Side, mark: Price, range: Rate, tick: Price) -> Option<Price> {
    bound(side, mark, multiplier(side, range)?, tick)
}

/// 1.0 and a range for a buy, less the range for a sell.
const fn multiplier(side: Side, range: Rate) -> Option<Rate> {
    match side {
        Side::Buy => RATE_ONE.checked_add(range),
        Side::Sell => RATE_ONE.checked_sub(range),
    }
}

/// Whether a price is not beyond a bound of its side.
#[inline]
pub const fn is_within(side: Side, price: Price, bound: Price) -> bool {
    match side {
        Side::Buy => price <= bound,
        Side::Sell => price >= bound,
    }
}

/// Where aggressors may trade: both ends included, neither on a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub(crate) low: Price,
    pub(crate) high: Price,
}

impl Band {
    /// Around a reference.
    pub(crate) fn new(reference: Price, range: Rate) -> Option<Band> {
        Some(Band {
            low: bound(Side::Sell, reference, multiplier(Side::Sell, range)?, 1)?,
            high: bound(Side::Buy, reference, multiplier(Side::Buy, range)?, 1)?,
        })
    }

    /// Whether a trade may be at a price, whichever side the aggressor is.
    #[inline]
    pub(crate) const fn admits(&self, price: Price) -> bool {
        self.low <= price && price <= self.high
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::UNIT;

    const TICK: Price = 10_000_000;

    #[test]
    fn v_25_limit_prices_stay_within_five_percent() {
        let mark = 60_000 * UNIT;
        let (up, down) = (105_000_000, 95_000_000);
        assert_eq!(bound(Side::Buy, mark, up, TICK), Some(63_000 * UNIT));
        assert_eq!(bound(Side::Sell, mark, down, TICK), Some(57_000 * UNIT));
        assert!(is_within(Side::Buy, 63_000 * UNIT, 63_000 * UNIT));
        assert!(!is_within(Side::Buy, 63_000 * UNIT + TICK, 63_000 * UNIT));
        assert!(is_within(Side::Sell, 57_000 * UNIT, 57_000 * UNIT));
        assert!(!is_within(Side::Sell, 57_000 * UNIT - TICK, 57_000 * UNIT));
        // Off the grid: down for a buy, up for a sell.
        assert_eq!(bound(Side::Buy, mark + 1, up, TICK), Some(63_000 * UNIT));
        assert_eq!(bound(Side::Sell, mark + 1, down, TICK), Some(57_000 * UNIT + TICK));
    }

    #[test]
    fn market_orders_trade_up_to_a_bound() {
        let mark = 60_000 * UNIT + 7;
        assert_eq!(market_limit(Side::Buy, mark, 5_000_000, TICK), Some(63_000 * UNIT));
        assert_eq!(market_limit(Side::Sell, mark, 5_000_000, TICK), Some(57_000 * UNIT + TICK));
        assert_eq!(market_limit(Side::Buy, i64::MAX, 5_000_000, TICK), None);
    }

    #[test]
    fn the_dynamic_band_includes_its_ends() {
        let band = Band::new(1_005, 10_000_000).unwrap();
        assert_eq!(band, Band { low: 905, high: 1_105 });
        assert!(band.admits(905) && band.admits(1_105));
        assert!(!band.admits(904) && !band.admits(1_106));
    }
}
