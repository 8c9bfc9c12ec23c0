//! `@kline_…`, `@continuousKline_…` and channel `kline`: the running candle every 250 ms, and each that is over once.

use super::{At, Due, Label, Start, Stream};
use crate::snapshot::{self, Moment, Snapshot};
use crate::topic::{Kind, Topic};
use ringside_core::event::{Event, PerpetualTrade};
use ringside_views::Views;
use ringside_views::candle::INTERVALS;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::series::Source;
use ringside_wire::futures::stream::{CandleEvent, EventCandle, PairCandleEvent};

/// Closed candles told at once when time jumps.
const CLOSED_MAX: usize = 1_000;

pub(crate) fn begin(start: &Start) -> Box<dyn Stream> {
    let interval = usize::from(start.topic.detail);
    let open_ms = INTERVALS[interval].1.open(start.time_ms);
    Box::new(Running { is_pair: start.topic.kind == Kind::PairCandle, interval, open_ms, is_dirty: false })
}

/// Shown to a new subscriber: the running candle; none before the first trade.
pub(crate) fn snapshot(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot::of_market(moment, topic, |market| {
        let time_ms = moment.views.time_ns().div_euclid(1_000_000);
        let symbol = Label::of(market).symbol();
        let candle = candle(moment.views, market, (topic.detail.into(), time_ms), false)?;
        Some(CandleEvent {
            event_time: moment.now_ms,
            symbol,
            candle: EventCandle { symbol: Some(symbol), ..candle },
        })
    })
}

/// The candle of a market that holds a time; `None` before the first trade.
fn candle(
    views: &Views,
    market: &PerpetualMarket,
    (interval, time_ms): (usize, i64),
    is_closed: bool,
) -> Option<EventCandle> {
    let (word, length) = *INTERVALS.get(interval)?;
    let series = views.perpetuals().series();
    let candle = series.candle_at(market.market, Source::Trades, interval, length.open(time_ms))?;
    let steps = Label::of(market).steps;
    let id = |id: u64| if candle.count > 0 { id.cast_signed() } else { -1 };
    Some(EventCandle {
        open_time: candle.open_ms,
        close_time: length.step(candle.open_ms, 1) - 1,
        symbol: None,
        interval: word,
        first: id(candle.first),
        last: id(candle.last),
        open: steps.price(candle.open),
        close: steps.price(candle.close),
        high: steps.price(candle.high),
        low: steps.price(candle.low),
        volume: steps.quantity(candle.volume),
        count: candle.count,
        is_closed,
        value: steps.value(candle.value),
        taker_volume: steps.quantity(candle.taker_volume),
        taker_value: steps.value(candle.taker_value),
        ignored: "0",
    })
}

struct Running {
    is_pair: bool,
    interval: usize,
    open_ms: i64,
    /// It changed since it was told.
    is_dirty: bool,
}

impl Running {
    fn speak(&self, is_closed: bool, now_ms: i64, at: &mut At<'_, '_>) {
        let Some(market) = at.listed() else { return };
        let Some(candle) = candle(at.views, market, (self.interval, self.open_ms), is_closed) else { return };
        let (event_time, symbol) = (now_ms, at.label().symbol());
        if self.is_pair {
            at.tell(&PairCandleEvent { event_time, pair: symbol, contract_type: "PERPETUAL", candle });
        } else {
            let candle = EventCandle { symbol: Some(symbol), ..candle };
            at.tell(&CandleEvent { event_time, symbol, candle });
        }
    }
}

impl Stream for Running {
    fn event(&mut self, event: &Event, _: &mut At<'_, '_>) {
        self.is_dirty |= event.get::<PerpetualTrade>().is_some_and(PerpetualTrade::is_in_book);
    }

    fn closes_ms(&self) -> i64 {
        INTERVALS[self.interval].1.step(self.open_ms, 1)
    }

    fn close(&mut self, at: &mut At<'_, '_>) {
        for _ in 0..CLOSED_MAX {
            if self.closes_ms() > at.time_ms {
                break;
            }
            self.speak(true, at.time_ms, at);
            self.open_ms = self.closes_ms();
            self.is_dirty = false;
        }
        self.open_ms = INTERVALS[self.interval].1.open(at.time_ms);
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn beat(&mut self, due: &Due, at: &mut At<'_, '_>) {
        // One that is over by the clock is told closed, by the command that closes it.
        if due.has(250) && self.closes_ms() > at.now_ms && std::mem::take(&mut self.is_dirty) {
            self.speak(false, at.now_ms, at);
        }
    }
}
