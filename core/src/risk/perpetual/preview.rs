//! What an order would do before it is sent (`risk.md` 16).

use super::units::{ceil_div, narrow};
use crate::money::Price;

/// Slippage 1.0: slippages are in steps of 10^-6.
pub const SLIPPAGE_ONE: i64 = 1_000_000;

/// How far the average price of a walk is from the best price, the first opposite level, up. Both > 0.
pub fn slippage(average: Price, best: Price) -> Option<i64> {
    if best <= 0 {
        return None;
    }
    let distance = i128::from(average.abs_diff(best));
    narrow(ceil_div(distance * i128::from(SLIPPAGE_ONE), best.into()))
}

#[cfg(test)]
mod tests {
    use super::super::impact::average_price;
    use super::super::units::product;
    use super::*;
    use crate::command::Side;
    use crate::money::UNIT;

    #[test]
    fn v_26_the_slippage_of_a_walk() {
        let fills = [(60_010 * UNIT, 10_000_000), (60_020 * UNIT, 10_000_000), (60_100 * UNIT, 10_000_000)];
        let products = fills.iter().map(|&(price, quantity)| product(price, quantity)).sum();
        let average = average_price(Side::Sell, products, 30_000_000).unwrap();
        assert_eq!(average, 6_004_333_333_334);
        assert_eq!(slippage(average, 60_010 * UNIT), Some(556));
    }

    #[test]
    fn a_walk_of_one_level_slips_nothing() {
        assert_eq!(slippage(100, 100), Some(0));
        assert_eq!(slippage(99, 100), Some(10_000), "a sell below the best bid");
        assert_eq!(slippage(100, 0), None);
    }
}
