//! What is particular to limit orders: the checks of price, quantity and notional.

use super::Incoming;
use crate::market::Rules;
use crate::money::{Amount, MAX_ENTRY, Price, Quantity, checked_notional};
use crate::reject::Reject;

/// Price and quantity are in range, on tick and lot, and together worth enough; their product. `filled` is
/// what a replaced order has traded already. `spot.md` 3, 7.
#[inline(always)]
pub(crate) fn check(rules: &Rules, order: &Incoming, filled: Quantity) -> Result<Amount, Reject> {
    check_range(order.price, order.quantity, MAX_ENTRY - filled)?;
    if !rules.tick.divides(order.price) {
        return Err(Reject::InvalidTick);
    }
    if !rules.lot.divides(order.quantity) {
        return Err(Reject::InvalidLot);
    }
    let notional = checked_notional(order.price, order.quantity).ok_or(Reject::InvalidQuantity)?;
    if notional < rules.min_notional {
        return Err(Reject::BelowMinNotional);
    }
    Ok(notional)
}

#[inline(always)]
fn check_range(price: Price, quantity: Quantity, most: Quantity) -> Result<(), Reject> {
    if !(1..=MAX_ENTRY).contains(&price) {
        return Err(Reject::InvalidPrice);
    }
    if !(1..=most).contains(&quantity) {
        return Err(Reject::InvalidQuantity);
    }
    Ok(())
}
