//! The price-time loop, the same for every market, and the walk that looks at what it would do.
//!
//! It knows queues and quantities. What a fill costs, who may trade and what an order's end gives back is asked of
//! a [`Settlement`]; it moves no money and writes no event.

use crate::book::pool::NONE;
use crate::book::{Book, Mutation, Orders};
use crate::command::Side;
use crate::ids::{AccountId, OrderId};
use crate::money::{Price, Quantity};
use crate::order::Order;
use std::hint::select_unpredictable;

/// What a meeting of the arriving order with a resting one comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meeting {
    /// They trade, at most this much (> 0).
    Fill(Quantity),
    /// The resting order ends; the arriving one goes on.
    ExpireMaker,
    /// The arriving order stops here.
    StopTaker(Ending),
    /// Both.
    ExpireBoth(Ending),
}

/// Why an arriving order stopped before its limit or its quantity did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It met an order of its own account.
    SelfTrade,
    /// What it has left to spend buys nothing more.
    Spent,
}

/// An arriving order, as far as the loop knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taker {
    pub(crate) order: OrderId,
    pub(crate) account: AccountId,
    pub(crate) side: Side,
    /// Last key of the other side that it may trade at.
    pub(crate) limit: u64,
    /// Still to trade.
    pub(crate) remaining: Quantity,
    /// Set when it was stopped.
    pub(crate) ending: Option<Ending>,
}

/// One fill of a resting order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fill {
    pub(crate) price: Price,
    pub(crate) quantity: Quantity,
    /// Nothing of the maker is left.
    pub(crate) is_maker_filled: bool,
}

/// What a kind of market does with the meetings of orders.
pub(crate) trait Settlement {
    /// Judges a meeting before anything changes; `None`: the arriving order is at its end, before this one, though nothing stopped it.
    fn meet(&mut self, taker: &Taker, maker: &Order) -> Option<Meeting>;
    /// Settles a fill. `maker` shows what it was before it.
    fn fill(&mut self, taker: &Taker, maker: &Order, slot: u32, fill: Fill);
    /// A resting order comes next if the arriving one goes on: what it will touch may begin to load. No effect on state
    /// or results.
    fn soon(&self, _maker: &Order) {}
    /// A resting order ends by a rule, with what `maker` shows still open.
    fn expire(&mut self, maker: &Order, slot: u32);
    /// A resting order is forgotten, filled or expired: it leaves every table, and gives its slot back.
    fn leave(&mut self, orders: &mut Orders, slot: u32);
    /// A level has changed, and the loop is done with it for now.
    fn mutated(&mut self, mutation: Mutation);
}

/// Trades `taker` against the book until it is filled, stopped, or out of prices within its limit.
#[inline]
pub(crate) fn sweep<S: Settlement>(
    book: &mut Book,
    orders: &mut Orders,
    taker: &mut Taker,
    settlement: &mut S,
) {
    let which = taker.side.opposite();
    let mut update = book.update;
    let side = book.side_mut(which);
    let mut is_more = true;
    while side.best() <= taker.limit && taker.remaining > 0 && taker.ending.is_none() && is_more {
        let handle = side.best_level();
        let level = *orders.levels.get(handle);
        let (mut slot, mut total) = (level.head, level.total);
        let before = update;
        while slot != NONE && taker.remaining > 0 && taker.ending.is_none() {
            let Order { remaining, next, .. } = *orders.pool.get(slot);
            if remaining < taker.remaining {
                settlement.soon(orders.pool.get(next));
            }
            let maker = orders.pool.get_mut(slot);
            let expires = match settlement.meet(taker, maker) {
                None => {
                    is_more = false;
                    break;
                }
                Some(Meeting::Fill(most)) => {
                    let quantity = taker.remaining.min(maker.remaining).min(most);
                    debug_assert!(quantity > 0);
                    let is_maker_filled = quantity == maker.remaining;
                    let fill = Fill { price: level.price, quantity, is_maker_filled };
                    settlement.fill(taker, maker, slot, fill);
                    update = update.wrapping_add(1);
                    // No more than either has left, and the level's total is no less than the maker's.
                    taker.remaining = taker.remaining.wrapping_sub(quantity);
                    maker.remaining = maker.remaining.wrapping_sub(quantity);
                    total = total.wrapping_sub(i128::from(quantity));
                    if is_maker_filled {
                        let next = maker.next;
                        settlement.leave(orders, slot);
                        slot = next;
                    }
                    continue;
                }
                Some(Meeting::ExpireMaker) => true,
                Some(Meeting::ExpireBoth(ending)) => {
                    taker.ending = Some(ending);
                    true
                }
                Some(Meeting::StopTaker(ending)) => {
                    taker.ending = Some(ending);
                    false
                }
            };
            if expires {
                settlement.expire(maker, slot);
                update += 1;
                total -= i128::from(maker.remaining);
                let next = maker.next;
                settlement.leave(orders, slot);
                slot = next;
            }
        }
        if update != before {
            orders.pool.get_mut(slot).previous = NONE;
            let level = orders.levels.get_mut(handle);
            level.head = slot;
            level.tail = select_unpredictable(slot == NONE, NONE, level.tail);
            level.total = total;
            settlement.mutated(Mutation { side: which, price: level.price, total, update });
            side.leave(&mut orders.levels, handle, slot == NONE);
        }
    }
    book.update = update;
}

/// What a walk does at a resting order.
pub(crate) enum Step {
    On,
    Stop,
}

/// Shows `visit` the resting orders, each with its slot, that an order of `taker_side` with `limit` would meet, in the order it would meet
/// them, until it stops.
#[inline(always)]
pub(crate) fn walk(
    book: &Book,
    orders: &Orders,
    taker_side: Side,
    limit: u64,
    mut visit: impl FnMut(u32, &Order) -> Step,
) {
    let side = book.side(taker_side.opposite());
    if side.best() > limit {
        return;
    }
    let mut next = Some(side.best_level());
    while let Some(handle) = next {
        let level = orders.levels.get(handle);
        if book.key(taker_side.opposite(), level.price) > limit {
            return;
        }
        let mut slot = level.head;
        while slot != NONE {
            let order = orders.pool.get(slot);
            if let Step::Stop = visit(slot, order) {
                return;
            }
            slot = order.next;
        }
        next = side.after(&orders.levels, handle);
    }
}
