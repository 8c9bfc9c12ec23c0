//! The most frequent trade, carried out at once: a new order that the first order it meets fills whole. Three accounts at
//! most, one level, one trade, events in order as they are made; it decides and says what [`Engine::trade`] would, which
//! carries out every other trade.

use super::emit::Emitter;
use super::place::outcome_of;
use super::{Engine, Outcome};
use crate::command::{Command, MarketKind, OrderStatus};
use crate::event::{self, Sink};
use crate::ids::{FEE_ACCOUNT, OrderId};
use crate::market::Market;
use crate::order::{Incoming, Order};
use crate::risk::spot::{SpotPurse, Terms};

impl Engine {
    /// Carries out an order that nothing refuses any more and that the best price of the other side is good enough for,
    /// with all its events; `false`, with nothing done, where this is not its trade. An order sized in quote is not, nor one
    /// that meets its own account, nor one of or against the fee account, whose balances would change twice.
    #[inline(always)]
    pub(super) fn fill_at_once<S: Sink>(
        &mut self,
        command: &Command,
        order: &Incoming,
        id: OrderId,
        emitter: &mut Emitter<'_, S>,
    ) -> bool {
        let Engine { orders, balances, markets, .. } = self;
        let Market { rules, book, seats, trades, last_price } = &mut markets[order.market as usize];
        // Another kind of market would settle otherwise.
        let MarketKind::Spot = rules.kind;
        let side = order.side;
        let slot = orders.levels.get(book.side(side.opposite()).best_level()).head;
        let Order { id: maker_order, remaining, price, account: maker, traits, .. } = *orders.pool.get(slot);
        let quantity = order.quantity;
        if remaining < quantity
            || order.is_quote_sized()
            || maker == order.account
            || maker == FEE_ACCOUNT
            || order.account == FEE_ACCOUNT
        {
            return false;
        }
        let terms = Terms::new(rules, side, traits.maker_fee(), price, quantity);
        let mutation = book.fill(orders, slot, quantity);
        let is_maker_filled = remaining == quantity;
        if is_maker_filled {
            seats.unlink(orders, slot);
            orders.end(maker_order, slot);
        }
        *trades += 1;
        *last_price = price;
        emitter.emit(event::Trade {
            trade: *trades,
            maker_order,
            taker_order: id,
            price,
            quantity,
            maker_fee: terms.maker_fee.into(),
            taker_fee: terms.taker_fee.into(),
            maker_account: maker,
            taker_account: order.account,
            market: rules.id,
            taker_side: side as u8,
            maker_filled: u8::from(is_maker_filled),
            reserved: 0,
        });
        let mut event = order.event(id, OrderStatus::Filled);
        event.filled = quantity;
        emitter.emit(event);
        emitter.depth(rules.id, mutation);
        emitter.emit(SpotPurse::new(rules, balances, order.account).take(side, &terms));
        emitter.emit(SpotPurse::new(rules, balances, maker).make(side, &terms));
        if terms.maker_fee != 0 || terms.taker_fee != 0 {
            emitter.emit(SpotPurse::new(rules, balances, FEE_ACCOUNT).collect(side, &terms));
        }
        let outcome =
            Outcome { order: id, market: Some(order.market), update: mutation.update, ..outcome_of(command) };
        emitter.emit(outcome.done(command));
        true
    }
}
