//! What a kind of market asks of an account before an order enters, and does with its money after.
//!
//! Each kind answers the calls of [`Risk`] and of [`crate::matching::Settlement`]; the matching loop and the flow of a
//! command (`engine/place.rs`) are written against these alone.

pub(crate) mod spot;

use crate::book::Orders;
use crate::ids::AccountId;
use crate::matching::Settlement;
use crate::money::Quantity;
use crate::order::{Incoming, Order};
use crate::reject::Reject;

/// A market kind's dealings with one arriving order or one order's end.
pub(crate) trait Risk: Settlement {
    /// Whether the account can afford the order. Of a replaced order, `replaced` is what it gives back first.
    fn check(&self, order: &Incoming, replaced: Option<&Order>) -> Result<(), Reject>;
    /// Nothing refuses the order of `account` any more: its state is about to change.
    fn begin(&mut self, account: AccountId);
    /// Gives back what is still reserved for an order that leaves the book without trading, or for the quantity by
    /// which it shrinks.
    fn release(&mut self, order: &Order, quantity: Quantity);
    /// Enters a resting order into its account's list.
    fn arrive(&mut self, orders: &mut Orders, slot: u32);
    /// Closes the account of the arriving order's fills, and reserves what rests.
    fn close(&mut self, order: &Incoming, resting: Quantity);
}
