//! `@bookTicker`: the best bid and ask, whenever a command changes them.

use super::{At, Changed, Start, Stream};
use ringside_core::command::Side;
use ringside_core::event::Depth;
use ringside_core::money::Price;
use ringside_views::depth::Book;
use ringside_wire::futures::stream::BestEvent;

pub(crate) fn begin(_: &Start) -> Box<dyn Stream> {
    Box::new(Best::default())
}

/// Price and total of the best bid and ask.
type Tops = [Option<(Price, i128)>; 2];

#[derive(Default)]
struct Best {
    /// As told last.
    last: Option<Tops>,
}

impl Stream for Best {
    fn levels(&mut self, changed: &Changed<'_>, at: &mut At<'_, '_>) {
        let book = at.book();
        let tops = book.map_or([None; 2], |book| [book.bids().next(), book.asks().next()]);
        let is_news = match self.last.replace(tops) {
            Some(last) => last != tops,
            None => changed.levels().any(|depth| reaches(depth, &tops)),
        };
        if !is_news {
            return;
        }
        let (label, update) = (at.label(), book.map_or(0, Book::update_id));
        // An empty side is 0 in the decimals of the other: clients take the precision of both from the text.
        let [(bid, bids), (ask, asks)] = tops.map(Option::unwrap_or_default);
        at.tell(&BestEvent {
            update,
            event_time: at.now_ms,
            time: at.time_ms,
            symbol: label.symbol(),
            bid: label.steps.price(bid),
            bid_quantity: label.steps.quantity(bids),
            ask: label.steps.price(ask),
            ask_quantity: label.steps.quantity(asks),
        });
    }
}

/// Whether a level that changed is the best one, or was better.
fn reaches(depth: &Depth, [bid, ask]: &Tops) -> bool {
    if depth.side == Side::Buy as u8 {
        bid.is_none_or(|(price, _)| depth.price >= price)
    } else {
        ask.is_none_or(|(price, _)| depth.price <= price)
    }
}
