//! What is gathered for the next event of one topic of one market.

use super::super::stream_name;
use super::super::topic::{Kind, Topic};
use super::depth::Gathered;
use crate::dialect::fapi::stream::{Aggregate, Forced, Level};
use ringside_core::event;
use ringside_core::ids::{MarketId, OrderId, TradeId};
use ringside_core::risk::perpetual::units::average_price;
use ringside_views::Views;
use ringside_views::perpetual::day::Day;
use ringside_views::perpetual::is_liquidation;
use ringside_views::perpetual::series::INTERVALS;
use std::collections::VecDeque;

/// How long trades join one row, milliseconds.
const AGGREGATE_MS: i64 = 100;
/// How much longer a row is kept for trades that were stamped in its time and are still on their way through the gate.
const GRACE_MS: i64 = 50;
const MINUTE_MS: i64 = 60_000;

/// A topic that someone listens to, as one market has to do with it.
pub(super) struct Live {
    /// Stream and market.
    pub topic: Topic,
    /// Of the hub.
    pub birth: u64,
    /// What waits.
    pub state: State,
}

/// What is gathered.
pub(super) enum State {
    /// Nothing: its events go out with their commands.
    Plain,
    /// The best levels told last.
    Best { last: Option<[Option<Level>; 2]> },
    /// Levels that changed.
    Diff { gathered: Gathered, speed_ms: i64 },
    /// The mutation told last, of so many levels.
    Top { before: u64, speed_ms: i64, levels: usize },
    /// The mutation told last.
    Book { sent: u64 },
    /// Rows of trades.
    Aggregates(Rows),
    /// Start of the candle that runs, and whether it changed since it was told.
    Candle { open_ms: i64, is_dirty: bool },
    /// The rolling day.
    Day(Rolling),
    /// Orders of liquidations.
    Forced(Liquidations),
}

impl Live {
    /// Behind the mutation `update` of the book and the command of this time.
    pub(super) fn new(topic: Topic, birth: u64, update: u64, time_ms: i64) -> Live {
        let speed_ms = stream_name::speed_of(topic).1;
        let state = match topic.kind {
            Kind::BestPrice => State::Best { last: None },
            Kind::DepthDiff => State::Diff { gathered: Gathered::behind(update), speed_ms },
            Kind::DepthTop => State::Top { before: update, speed_ms, levels: stream_name::levels_of(topic) },
            Kind::OrderBook => State::Book { sent: update },
            Kind::AggregateTrade => State::Aggregates(Rows::default()),
            Kind::Candle | Kind::PairCandle => {
                let (_, interval) = INTERVALS[usize::from(topic.detail)];
                State::Candle { open_ms: interval.open(time_ms), is_dirty: false }
            }
            Kind::MiniDay | Kind::Day => State::Day(Rolling::default()),
            Kind::ForcedOrder => State::Forced(Liquidations::default()),
            _ => State::Plain,
        };
        Live { topic, birth, state }
    }

    /// Whether its events wait for the clock.
    pub(super) fn is_timed(&self) -> bool {
        match &self.state {
            State::Plain | State::Best { .. } => false,
            State::Diff { speed_ms, .. } | State::Top { speed_ms, .. } => *speed_ms > 0,
            _ => true,
        }
    }

    /// When its candle is over.
    pub(super) fn closes_ms(&self) -> i64 {
        match &self.state {
            State::Candle { open_ms, .. } => closes_ms(self.topic, *open_ms),
            _ => i64::MAX,
        }
    }

    /// A trade of the market, which the views show if it was made in the book.
    pub(super) fn traded(&mut self, trade: &event::PerpetualTrade, views: &Views) {
        match &mut self.state {
            State::Forced(orders) => orders.traded(trade),
            _ if !trade.is_in_book() => {}
            State::Candle { is_dirty, .. } => *is_dirty = true,
            State::Day(rolling) => rolling.is_dirty = true,
            State::Aggregates(rows) => rows.traded(trade, views),
            _ => {}
        }
    }

    /// An order of the market.
    pub(super) fn ordered(&mut self, order: &event::PerpetualOrder, time_ms: i64) {
        if let State::Forced(orders) = &mut self.state
            && is_liquidation(order)
        {
            orders.ordered(order, time_ms);
        }
    }
}

/// When the candle of a topic that began then is over.
pub(super) fn closes_ms(topic: Topic, open_ms: i64) -> i64 {
    INTERVALS[usize::from(topic.detail)].1.step(open_ms, 1)
}

/// Rows of trades of one taker side at one price, as REST numbers them.
///
/// A row is told when another follows it, or when its time and some grace are over by the clock. Trades that join it even
/// later, because the journal kept them that long, are told as one more event of the same number.
#[derive(Default)]
pub(super) struct Rows {
    rows: VecDeque<Aggregate>,
    /// The last trade that was told.
    told: TradeId,
}

impl Rows {
    fn traded(&mut self, trade: &event::PerpetualTrade, views: &Views) {
        let trades = views.perpetuals().trades();
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

    /// Takes the next row that is over.
    pub(super) fn take(&mut self, now_ms: i64) -> Option<Aggregate> {
        let row = self.rows.front()?;
        if self.rows.len() == 1 && now_ms - row.time_ms < AGGREGATE_MS + GRACE_MS {
            return None;
        }
        self.told = row.last;
        self.rows.pop_front()
    }
}

/// The rolling day as it was told last.
#[derive(Default)]
pub(super) struct Rolling {
    is_dirty: bool,
    minute: i64,
    last: Option<Day>,
}

impl Rolling {
    /// The day, if it is not as it was told last: after a trade, or as trades leave the window.
    pub(super) fn changed(&mut self, views: &Views, market: MarketId, now_ms: i64) -> Option<Day> {
        let minute = now_ms.div_euclid(MINUTE_MS);
        let has_traded = std::mem::take(&mut self.is_dirty);
        if std::mem::replace(&mut self.minute, minute) == minute && !has_traded {
            return None;
        }
        let market = views.perpetuals().markets().get(market)?;
        let day = views.perpetuals().day(market, now_ms);
        // Without a day to compare with, only a trade is news.
        let is_news = self.last.replace(day).map_or(has_traded, |last| last != day);
        is_news.then_some(day)
    }
}

/// Orders of liquidations: the largest that is over and not told.
#[derive(Default)]
pub(super) struct Liquidations {
    running: Option<Running>,
    /// By what of it was filled, then by what was to be.
    largest: Option<((i64, i64), Forced)>,
}

struct Running {
    order: OrderId,
    value: i64,
    forced: Forced,
}

impl Liquidations {
    fn ordered(&mut self, order: &event::PerpetualOrder, time_ms: i64) {
        if order.execution == event::Execution::New as u8 {
            if self.running.is_some() {
                // Of somebody who takes over what it has left.
                return;
            }
            let forced = Forced {
                side: order.side,
                quantity: order.quantity,
                price: order.price,
                average: 0,
                status: "NEW",
                last: 0,
                filled: 0,
                time_ms,
            };
            self.running = Some(Running { order: order.order, value: 0, forced });
        } else if self.running.as_ref().is_some_and(|running| running.order == order.order) {
            self.end("EXPIRED");
        }
    }

    fn traded(&mut self, trade: &event::PerpetualTrade) {
        let Some(running) = self.running.as_mut().filter(|running| running.order == trade.taker_order) else {
            return;
        };
        running.forced.last = trade.quantity;
        running.forced.filled += trade.quantity;
        running.value += trade.value;
        if trade.cause == event::TradeCause::Settlement as u8 {
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
        let Some(Running { value, forced, .. }) = self.running.take() else { return };
        let size = (value, forced.quantity);
        if self.largest.as_ref().is_none_or(|(largest, _)| *largest < size) {
            self.largest =
                Some((size, Forced { average: average_price(value, forced.filled), status, ..forced }));
        }
    }

    /// Takes the largest.
    pub(super) fn take(&mut self) -> Option<Forced> {
        // A liquidation is one command, so whatever runs is over.
        self.end("EXPIRED");
        self.largest.take().map(|(_, forced)| forced)
    }
}
