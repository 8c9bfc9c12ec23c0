//! `@forceOrder`: each second the largest order of a liquidation that is over, by what of it was filled, then by what was to be.

use super::{At, Due, Start, Stream};
use ringside_core::event::{Event, Execution, PerpetualOrder, PerpetualTrade, TradeCause};
use ringside_core::ids::OrderId;
use ringside_core::money::{Money, Quantity};
use ringside_core::risk::perpetual::units::average_price;
use ringside_dialect::fapi::words::OrderSide;
use ringside_views::perpetual::is_liquidation;
use ringside_wire::futures::stream::{ForcedEvent, ForcedOrder};
use ringside_wire::number::Units;

pub(crate) fn begin(_: &Start) -> Box<dyn Stream> {
    Box::new(Liquidations::default())
}

#[derive(Default)]
struct Liquidations {
    running: Option<Running>,
    /// With the value that was filled.
    largest: Option<(Money, ForcedOrder)>,
}

struct Running {
    order: OrderId,
    filled: Quantity,
    value: Money,
    forced: ForcedOrder,
}

impl Stream for Liquidations {
    fn event(&mut self, event: &Event, at: &mut At<'_, '_>) {
        if let Some(trade) = event.get::<PerpetualTrade>() {
            self.traded(trade);
        } else if let Some(order) = event.get::<PerpetualOrder>().filter(|order| is_liquidation(order)) {
            self.ordered(order, at);
        }
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn beat(&mut self, due: &Due, at: &mut At<'_, '_>) {
        if !due.has(1_000) {
            return;
        }
        // A liquidation is one command, so whatever runs is over.
        self.end("EXPIRED");
        if let Some((_, order)) = self.largest.take() {
            at.tell(&ForcedEvent { event_time: at.now_ms, order });
        }
    }
}

impl Liquidations {
    fn ordered(&mut self, order: &PerpetualOrder, at: &At<'_, '_>) {
        if order.execution != Execution::New as u8 {
            if self.running.as_ref().is_some_and(|running| running.order == order.order) {
                self.end("EXPIRED");
            }
            return;
        }
        if self.running.is_some() {
            // Of somebody who takes over what it has left.
            return;
        }
        let forced = ForcedOrder {
            symbol: at.label().symbol(),
            side: OrderSide::of_code(order.side).text(),
            order_type: "LIMIT",
            time_in_force: "IOC",
            quantity: Units(order.quantity),
            price: Units(order.price),
            average: Units(0),
            status: "NEW",
            last: Units(0),
            filled: Units(0),
            time: at.time_ms,
        };
        self.running = Some(Running { order: order.order, filled: 0, value: 0, forced });
    }

    fn traded(&mut self, trade: &PerpetualTrade) {
        let Some(running) = self.running.as_mut().filter(|running| running.order == trade.taker_order) else {
            return;
        };
        running.filled += trade.quantity;
        running.value += trade.value;
        running.forced.last = Units(trade.quantity);
        running.forced.filled = Units(running.filled);
        if trade.cause == TradeCause::Settlement as u8 {
            // Nobody is liquidated.
            self.running = None;
            return;
        }
        if trade.flags & 2 != 0 {
            self.end("FILLED");
        }
    }

    /// The running order is over.
    fn end(&mut self, status: &'static str) {
        let Some(Running { filled, value, forced, .. }) = self.running.take() else { return };
        let size = |value: Money, order: &ForcedOrder| (value, order.quantity.0);
        if self.largest.as_ref().is_none_or(|(most, order)| size(*most, order) < size(value, &forced)) {
            let average = Units(average_price(value, filled));
            self.largest = Some((value, ForcedOrder { average, status, ..forced }));
        }
    }
}
