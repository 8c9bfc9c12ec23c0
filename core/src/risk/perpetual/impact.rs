//! Impact prices (`risk.md` 10): the average price at which a fixed notional would trade against one side of a book.
//!
//! The walk is over levels that the caller offers, best first; how many it offers bounds the work.

use super::units::{PRODUCTS_PER_MICRO, ceil_div, floor_div, narrow, product};
use crate::command::Side;
use crate::money::{Money, Price, Quantity};

/// Average price of `products`, the sum of price x quantity, over `quantity` > 0: down for bids, up for asks, so that
/// it is never better than what was there.
#[inline]
pub fn average_price(side: Side, products: i128, quantity: i128) -> Option<Price> {
    if quantity <= 0 {
        return None;
    }
    narrow(match side {
        Side::Buy => floor_div(products, quantity),
        Side::Sell => ceil_div(products, quantity),
    })
}

/// The impact price of a side for `notional`: from each level whole lots, as many as the notional still missing needs.
/// `None` where the levels are too thin.
pub fn impact_price(
    side: Side,
    levels: impl IntoIterator<Item = (Price, i128)>,
    notional: Money,
    lot: Quantity,
) -> Option<Price> {
    let mut missing = i128::from(notional) * PRODUCTS_PER_MICRO;
    let (mut products, mut quantity) = (0i128, 0i128);
    for (price, open) in levels {
        let lot_products = product(price, lot);
        if lot_products <= 0 {
            return None;
        }
        let taken = open.min(ceil_div(missing, lot_products).checked_mul(lot.into())?);
        let taken_products = taken.checked_mul(price.into())?;
        products = products.checked_add(taken_products)?;
        quantity = quantity.checked_add(taken)?;
        missing = missing.checked_sub(taken_products)?;
        if missing <= 0 {
            return average_price(side, products, quantity);
        }
    }
    None
}

/// Between both impact prices, down.
#[inline]
pub fn mid(bid: Price, ask: Price) -> Option<Price> {
    narrow(floor_div(i128::from(bid) + i128::from(ask), 2))
}

/// The index that a spot market gives: the middle of its impact prices, where both are there and the ask is at most
/// 2 % above the bid.
pub fn spot_index(bid: Option<Price>, ask: Option<Price>) -> Option<Price> {
    let (bid, ask) = (bid?, ask?);
    let is_close = (i128::from(ask) - i128::from(bid)) * 50 <= i128::from(bid);
    if is_close { mid(bid, ask) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::{MONEY_UNIT, UNIT};

    const LOT: Quantity = 100_000;

    fn level(price: i64, lots: i128) -> (Price, i128) {
        (price * UNIT, lots * i128::from(LOT))
    }

    #[test]
    fn v_16_the_impact_bid_of_three_levels() {
        let bids = [level(60_190, 200), level(60_150, 100), level(60_100, 500)];
        let price = impact_price(Side::Buy, bids, 25_000 * MONEY_UNIT, LOT);
        assert_eq!(price, Some(6_015_528_846_153));
        let sum: i128 =
            [(60_190, 200), (60_150, 100), (60_100, 116)].iter().map(|(price, lots)| price * lots).sum();
        assert_eq!(sum, 25_024_600, "25,024.6 in thousandths");
        assert_eq!(
            impact_price(Side::Sell, bids, 25_000 * MONEY_UNIT, LOT),
            Some(6_015_528_846_154),
            "up for asks"
        );
    }

    #[test]
    fn a_thin_side_has_no_impact_price() {
        let bids = [level(60_190, 200), level(60_150, 100)];
        assert_eq!(impact_price(Side::Buy, bids, 25_000 * MONEY_UNIT, LOT), None);
        assert_eq!(impact_price(Side::Buy, [], 25_000 * MONEY_UNIT, LOT), None);
        let exact = [level(60_000, 500)];
        assert_eq!(impact_price(Side::Buy, exact, 30_000 * MONEY_UNIT, LOT), Some(60_000 * UNIT));
        assert_eq!(impact_price(Side::Buy, exact, 30_000 * MONEY_UNIT + 1, LOT), None);
    }

    #[test]
    fn a_spot_market_gives_an_index_where_it_is_tight() {
        assert_eq!(spot_index(Some(100), Some(102)), Some(101));
        assert_eq!(spot_index(Some(100), Some(103)), None);
        assert_eq!(spot_index(Some(101), Some(102)), Some(101));
        assert_eq!(spot_index(None, Some(102)), None);
        assert_eq!(spot_index(Some(100), None), None);
    }
}
