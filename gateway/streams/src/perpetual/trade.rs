//! `@trade` and channel `trades`: each trade of the book.

use super::{At, Start, Stream};
use ringside_core::command::Side;
use ringside_core::event::{Event, PerpetualTrade};
use ringside_wire::futures::stream::TradeEvent;

pub(crate) fn begin(_: &Start) -> Box<dyn Stream> {
    Box::new(Trades)
}

struct Trades;

impl Stream for Trades {
    fn event(&mut self, event: &Event, at: &mut At<'_, '_>) {
        let Some(trade) = event.get::<PerpetualTrade>().filter(|trade| trade.is_in_book()) else { return };
        let label = at.label();
        at.tell(&TradeEvent {
            event_time: at.now_ms,
            time: at.time_ms,
            symbol: label.symbol(),
            trade: trade.trade,
            price: label.steps.price(trade.price),
            quantity: label.steps.quantity(trade.quantity),
            kind: "MARKET",
            is_buyer_maker: trade.taker_side == Side::Sell as u8,
        });
    }
}
