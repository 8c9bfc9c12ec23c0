//! What is particular to market orders: their checks, how a buy's quote turns into lots, and how it ends.

use crate::command::OrderStatus;
use crate::market::Rules;
use crate::money::{Amount, MAX_ENTRY, Price, Quantity, checked_notional, notional};
use crate::reject::Reject;

/// A sell: the quantity is in range, on the lot, and worth enough at `reference`: the best bid, else the last price,
/// else there is nothing to judge by. `spot.md` 7.
pub(crate) fn check_sell(rules: &Rules, quantity: Quantity, reference: Option<Price>) -> Result<(), Reject> {
    if !(1..=MAX_ENTRY).contains(&quantity) {
        return Err(Reject::InvalidQuantity);
    }
    if !rules.lot.divides(quantity) {
        return Err(Reject::InvalidLot);
    }
    // A product beyond the range of an amount is above any minimum.
    match reference.and_then(|price| checked_notional(price, quantity)) {
        Some(worth) if worth < rules.min_notional => Err(Reject::BelowMinNotional),
        _ => Ok(()),
    }
}

/// A buy: the quote is in range and enough.
pub(crate) fn check_buy(rules: &Rules, quote_quantity: Amount) -> Result<(), Reject> {
    if quote_quantity <= 0 {
        return Err(Reject::InvalidQuoteQuantity);
    }
    if quote_quantity < rules.min_notional {
        return Err(Reject::BelowMinNotional);
    }
    Ok(())
}

/// Quote that a market buy has left to spend.
#[derive(Clone, Copy)]
pub(crate) struct Budget {
    rest: Amount,
    lot: Quantity,
}

impl Budget {
    pub(crate) fn new(quote: Amount, lot: Quantity) -> Budget {
        debug_assert!(quote >= 0 && lot > 0);
        Budget { rest: quote, lot }
    }

    /// The most that it may buy in all: what a quantity holds, in whole lots.
    pub(crate) fn most(lot: Quantity) -> Quantity {
        MAX_ENTRY - MAX_ENTRY % lot
    }

    /// How much of an ask it buys: floor(rest / (ask x lot)) lots, at most what is open. `spot.md` 8.
    pub(crate) fn buys(&self, price: Price, open: Quantity) -> Quantity {
        let Some(cost) = checked_notional(price, self.lot) else { return 0 };
        // Enough for the whole ask and a lot more: no need to divide.
        let whole = checked_notional(price, open).and_then(|whole| whole.checked_add(cost));
        if whole.is_some_and(|whole| self.rest >= whole) {
            return open;
        }
        // lots x lot is at most rest / price, so it fits.
        let lots = self.rest as u128 / cost as u128;
        (lots * self.lot as u128).min(open as u128) as Quantity
    }

    /// Pays for a fill that `buys` allowed.
    pub(crate) fn spend(&mut self, price: Price, quantity: Quantity) {
        self.rest -= notional(price, quantity);
        debug_assert!(self.rest >= 0);
    }

    /// How a market buy that bought something ended: filled when less than a lot at `price` is left, `price` being
    /// the best ask left, or the last fill's when none is. `spot.md` 8.
    pub(crate) fn status(&self, price: Price) -> OrderStatus {
        match checked_notional(price, self.lot) {
            Some(cost) if self.rest >= cost => OrderStatus::Canceled,
            _ => OrderStatus::Filled,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::money::{AMOUNT_UNIT, UNIT};

    #[test]
    fn lots_of_the_example() {
        // spot.md 8: 5 USDT at 0.2103, lot 0.1: 237 lots.
        let mut budget = Budget::new(5 * AMOUNT_UNIT, UNIT / 10);
        assert_eq!(budget.buys(21_030_000, 50 * UNIT), 2_370_000_000);
        budget.spend(21_030_000, 2_370_000_000);
        assert_eq!(budget.buys(21_030_000, 50 * UNIT), 0);
        assert_eq!(budget.status(21_030_000), OrderStatus::Filled);
        assert_eq!(budget.status(1_000_000), OrderStatus::Canceled);
        // The far ends of the range.
        let budget = Budget::new(i128::MAX, 1);
        assert_eq!(budget.buys(1, MAX_ENTRY), MAX_ENTRY);
        assert_eq!(Budget::new(i128::MAX, MAX_ENTRY).buys(MAX_ENTRY, MAX_ENTRY), 0);
    }
}
