//! `@aggTrade`: trades of one taker side at one price, as REST numbers them.
//!
//! A row is told when another follows it, or when its time and some grace are over by the clock. Trades that join it even
//! later, because the journal kept them that long, are told as one more event of the same number.

use super::{At, Due, Start, Stream};
use ringside_core::event::{Event, PerpetualTrade};
use ringside_core::ids::TradeId;
use ringside_core::money::Price;
use ringside_wire::futures::stream::AggregateEvent;
use std::collections::VecDeque;

/// How long trades join one row, milliseconds.
const AGGREGATE_MS: i64 = 100;
/// How much longer a row is kept for trades that were stamped in its time and are still on their way through the gate.
const GRACE_MS: i64 = 50;

pub(crate) fn begin(_: &Start) -> Box<dyn Stream> {
    Box::new(Rows::default())
}

#[derive(Default)]
struct Rows {
    rows: VecDeque<Aggregate>,
    /// The last trade that was told.
    told: TradeId,
}

struct Aggregate {
    aggregate: u64,
    price: Price,
    quantity: i128,
    first: TradeId,
    last: TradeId,
    /// When the first was, UNIX milliseconds.
    time_ms: i64,
    is_buyer_maker: bool,
}

impl Stream for Rows {
    fn event(&mut self, event: &Event, at: &mut At<'_, '_>) {
        let Some(trade) = event.get::<PerpetualTrade>().filter(|trade| trade.is_in_book()) else { return };
        let trades = at.views.perpetuals().trades();
        let Some(own) = trades.get(0, trade.market, trade.trade) else { return };
        if let Some(row) = self.rows.back_mut().filter(|row| row.aggregate == own.aggregate) {
            row.quantity += i128::from(own.quantity);
            row.last = own.trade;
            return;
        }
        // Trades of the row from before somebody listened belong to it as well.
        let before = trades.before(0, trade.market, own.trade);
        let before = before.take_while(|other| other.aggregate == own.aggregate && other.trade > self.told);
        let mut row = Aggregate {
            aggregate: own.aggregate,
            price: own.price,
            quantity: own.quantity.into(),
            first: own.trade,
            last: own.trade,
            time_ms: own.aggregate_ms,
            is_buyer_maker: own.is_buyer_maker == 1,
        };
        for other in before {
            row.first = other.trade;
            row.quantity += i128::from(other.quantity);
        }
        self.rows.push_back(row);
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn beat(&mut self, due: &Due, at: &mut At<'_, '_>) {
        if !due.has(100) {
            return;
        }
        while let Some(row) = self.take(at.now_ms) {
            let label = at.label();
            let quantity = label.steps.quantity(row.quantity);
            at.tell(&AggregateEvent {
                event_time: at.now_ms,
                symbol: label.symbol(),
                aggregate: row.aggregate,
                price: label.steps.price(row.price),
                quantity,
                normal_quantity: quantity,
                first: row.first,
                last: row.last,
                time: row.time_ms,
                is_buyer_maker: row.is_buyer_maker,
            });
        }
    }
}

impl Rows {
    /// Takes the next row that is over.
    fn take(&mut self, now_ms: i64) -> Option<Aggregate> {
        let row = self.rows.front()?;
        if self.rows.len() == 1 && now_ms - row.time_ms < AGGREGATE_MS + GRACE_MS {
            return None;
        }
        self.told = row.last;
        self.rows.pop_front()
    }
}
