//! Book and matching alone, for benchmarks: the engine's own book, queues, index and loop, with a settlement that
//! moves no money, keeps no accounts and writes no events. It checks nothing that an engine would check first.

use crate::book::pool::NONE;
use crate::book::{Book, Mutation, Orders};
use crate::command::{OrderType, SelfTradePrevention, Side, TimeInForce};
use crate::hash_seed::HashSeed;
use crate::ids::OrderId;
use crate::matching::{Fill, Meeting, Settlement, Taker, sweep};
use crate::memory::Pages;
use crate::money::{Price, Quantity};
use crate::order::{Incoming, Order};
use crate::prefetch::{Hint, prefetch};

/// A book whose orders get ids 1, 2, 3 and so on.
pub struct BareBook {
    book: Book,
    orders: Orders,
    last_order: OrderId,
}

/// Every meeting is a fill, told to a function of (maker, taker, price, quantity).
struct Bare<F>(F);

impl<F: FnMut(OrderId, OrderId, Price, Quantity)> Settlement for Bare<F> {
    #[inline(always)]
    fn meet(&mut self, _: &Taker, _: &Order) -> Option<Meeting> {
        Some(Meeting::Fill(Quantity::MAX))
    }

    #[inline(always)]
    fn fill(&mut self, taker: &Taker, maker: &Order, _: u32, fill: Fill) {
        (self.0)(maker.id, taker.order, fill.price, fill.quantity);
    }

    #[inline(always)]
    fn expire(&mut self, _: &Order, _: u32) {}

    #[inline(always)]
    fn leave(&mut self, orders: &mut Orders, slot: u32) {
        orders.end(orders.pool.get(slot).id, slot);
    }

    #[inline(always)]
    fn mutated(&mut self, _: Mutation) {}
}

impl BareBook {
    /// An empty book for prices that are multiples of `tick`, with memory for `capacity` resting orders.
    pub fn new(tick: Price, capacity: usize, pages: Pages) -> BareBook {
        let seed = HashSeed::default();
        BareBook { book: Book::new(tick, &seed), orders: Orders::new(capacity, pages, &seed), last_order: 0 }
    }

    /// A limit order; `fill` hears of each fill: (maker, taker, price, quantity). What is left rests, or ends.
    #[inline(always)]
    pub fn place(
        &mut self,
        side: Side,
        price: Price,
        quantity: Quantity,
        rests: bool,
        fill: impl FnMut(OrderId, OrderId, Price, Quantity),
    ) -> OrderId {
        self.last_order = self.last_order.wrapping_add(1);
        let id = self.last_order;
        let steps = self.book.steps(price);
        let remaining = self.sweep(id, side, steps, quantity, fill);
        if rests && remaining > 0 {
            let key = self.book.side(side).key(steps);
            let record = incoming(side, price).record(id, quantity, remaining, 0, NONE);
            self.book.rest_new(&mut self.orders, record, key);
        }
        id
    }

    /// Takes an order out and enters it again as a new arrival with the same id; `false` where it does not rest.
    #[inline(always)]
    pub fn replace(
        &mut self,
        order: OrderId,
        price: Price,
        quantity: Quantity,
        fill: impl FnMut(OrderId, OrderId, Price, Quantity),
    ) -> bool {
        let slot = self.orders.find(order);
        if slot == NONE {
            return false;
        }
        let side = self.orders.pool.get(slot).traits.side();
        self.book.take_out(&mut self.orders, slot);
        let steps = self.book.steps(price);
        let remaining = self.sweep(order, side, steps, quantity, fill);
        if remaining > 0 {
            let key = self.book.side(side).key(steps);
            let record = incoming(side, price).record(order, quantity, remaining, 0, NONE);
            self.book.queue(&mut self.orders, slot, record, key);
        } else {
            self.orders.end(order, slot);
        }
        true
    }

    /// Ends a resting order; `false` where it does not rest.
    #[inline(always)]
    pub fn cancel(&mut self, order: OrderId) -> bool {
        let slot = self.orders.find(order);
        if slot == NONE {
            return false;
        }
        self.book.end(&mut self.orders, order, slot);
        true
    }

    /// Trades an order at a price of so many steps; what is left of it.
    #[inline(always)]
    fn sweep(
        &mut self,
        id: OrderId,
        side: Side,
        steps: u64,
        quantity: Quantity,
        fill: impl FnMut(OrderId, OrderId, Price, Quantity),
    ) -> Quantity {
        let opposite = self.book.side(side.opposite());
        let limit = opposite.key(steps);
        if opposite.best() > limit {
            return quantity;
        }
        let mut taker = Taker { order: id, account: 0, side, limit, remaining: quantity, ending: None };
        sweep(&mut self.book, &mut self.orders, &mut taker, &mut Bare(fill));
        taker.remaining
    }

    /// Whether hints are worth their time.
    #[inline]
    pub fn wants_hints(&self) -> bool {
        self.orders.want_hints()
    }

    /// Hints that an order of this side and price comes soon.
    #[inline]
    pub fn prefetch_price(&self, side: Side, price: Price) {
        let levels = &self.orders.levels;
        prefetch(levels.get(self.book.hint(levels, side, price)));
    }

    /// Hints that a command about this order comes soon.
    #[inline]
    pub fn prefetch_order(&self, order: OrderId, hint: Hint) {
        self.orders.prefetch(order, hint);
    }

    /// Best price of a side.
    pub fn best(&self, side: Side) -> Option<Price> {
        self.book.best(&self.orders, side)
    }

    /// Levels of a side with the sum of what is open, best first.
    pub fn depth(&self, side: Side) -> impl Iterator<Item = (Price, i128)> + '_ {
        self.book.depth(&self.orders, side)
    }
}

#[inline(always)]
fn incoming(side: Side, price: Price) -> Incoming {
    Incoming {
        account: 0,
        market: 0,
        side,
        order_type: OrderType::Limit,
        time_in_force: TimeInForce::GoodTillCancel,
        self_trade: SelfTradePrevention::None,
        price,
        quantity: 0,
        quote_quantity: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trades_by_price_then_time() {
        let mut book = BareBook::new(10, 0, Pages::Small);
        let none = |_, _, _, _| panic!("nothing trades");
        book.place(Side::Sell, 100, 5, true, none);
        book.place(Side::Sell, 90, 5, true, none);
        book.place(Side::Sell, 90, 5, true, none);
        assert!(book.replace(2, 90, 4, none));
        let mut fills = Vec::new();
        book.place(Side::Buy, 90, 12, true, |maker, taker, price, quantity| {
            fills.push((maker, taker, price, quantity));
        });
        assert_eq!(fills, [(3, 4, 90, 5), (2, 4, 90, 4)]);
        assert_eq!(book.depth(Side::Buy).collect::<Vec<_>>(), [(90, 3)]);
        assert_eq!(book.best(Side::Sell), Some(100));
        assert!(book.cancel(1) && !book.cancel(1) && !book.replace(3, 1, 1, none));
        assert_eq!(book.best(Side::Sell), None);
    }
}
