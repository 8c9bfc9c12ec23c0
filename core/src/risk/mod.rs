//! What a kind of market asks of an account before an order enters, and does with its money after.
//!
//! Each kind answers the calls of [`Risk`], and of [`Settlement`] while an order trades; the matching loop and the flow
//! of a command (`engine/place.rs`, `engine/end.rs`) are written against these alone.

pub(crate) mod spot;

use crate::command::Side;
use crate::engine::emit::Emitter;
use crate::event::Sink;
use crate::ids::AccountId;
#[cfg(doc)]
use crate::matching::Settlement;
use crate::money::{Amount, Price, Quantity};
use crate::order::{Incoming, Order};
use crate::reject::Reject;

/// A market kind's dealings with the accounts of orders that do not trade.
pub(crate) trait Risk {
    /// What a resting order of `quantity` reserves.
    fn reservation(side: Side, price: Price, quantity: Quantity) -> Amount;
    /// Whether the account can afford the order, which is worth `worth` of quote if it is a limit order. `returned` is
    /// what an order that it replaces gives back.
    fn check(&self, order: &Incoming, worth: Amount, returned: Amount) -> Result<(), Reject>;
    /// Reserves for a resting order what [`Risk::reservation`] says.
    fn reserve(&mut self, account: AccountId, side: Side, amount: Amount);
    /// Gives back what was reserved.
    fn release(&mut self, account: AccountId, side: Side, amount: Amount);
    /// Tells what the account has, after its reservations of one side changed.
    fn report<S: Sink>(&self, account: AccountId, side: Side, emitter: &mut Emitter<'_, S>);
}

/// What an order reserves for what is open of it.
#[inline(always)]
pub(crate) fn reservation_of<R: Risk>(_: &R, order: &Order, quantity: Quantity) -> Amount {
    R::reservation(order.traits.side(), order.price, quantity)
}
