//! What a kind of market asks of an account before an order enters, and does with its money after.
//!
//! Each kind answers the calls of [`Purse`] for orders that enter and end, and of [`Settlement`] while an order trades;
//! the matching loop and the flow of a command (`engine/place.rs`, `engine/end.rs`) are written against these alone.

pub mod perpetual;
pub(crate) mod spot;

use crate::command::Side;
use crate::event::Payload;
#[cfg(doc)]
use crate::matching::Settlement;
use crate::money::{Amount, Price, Quantity};
use crate::order::{Incoming, Order};
use crate::reject::Reject;

/// What one account has in one market, looked up once and held while a command deals with it.
pub(crate) trait Purse {
    /// The event that tells what it has.
    type Report: Payload;

    /// What a resting order of `quantity` reserves.
    fn reservation(side: Side, price: Price, quantity: Quantity) -> Amount;
    /// What the order needs, if that is there: a limit order, which is worth `worth` of quote, needs what it reserves if
    /// it rests whole. `returned` is what an order that it replaces gives back.
    fn check(&self, order: &Incoming, worth: Amount, returned: Amount) -> Result<Amount, Reject>;
    /// Reserves for a resting order what [`Purse::reservation`] says; tells what it then has.
    fn reserve(&mut self, side: Side, amount: Amount) -> Self::Report;
    /// Gives back what was reserved; tells what it then has.
    fn release(&mut self, side: Side, amount: Amount) -> Self::Report;
}

/// What an order reserves for what is open of it.
#[inline(always)]
pub(crate) fn reservation_of<P: Purse>(_: &P, order: &Order, quantity: Quantity) -> Amount {
    P::reservation(order.traits.side(), order.price, quantity)
}
