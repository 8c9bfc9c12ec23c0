//! `@ticker`, `@miniTicker` and channel `ticker`: the rolling day each second, after a trade or as trades leave its window.

use super::{At, Due, Label, Start, Stream};
use crate::snapshot::{self, Moment, Snapshot};
use crate::topic::Topic;
use ringside_core::event::{Event, PerpetualTrade};
use ringside_views::day::{DAY_MS, Ticker24h};
use ringside_wire::futures::stream::{DayEvent, MiniDayEvent};
use ringside_wire::number::SignedFixed;

const MINUTE_MS: i64 = 60_000;

pub(crate) fn begin(_: &Start) -> Box<dyn Stream> {
    Box::new(Rolling::default())
}

pub(crate) fn begin_mini(_: &Start) -> Box<dyn Stream> {
    Box::new(Rolling { is_mini: true, ..Rolling::default() })
}

/// Shown to a new subscriber.
pub(crate) fn snapshot(moment: &Moment<'_>, topic: Topic) -> Option<Snapshot> {
    snapshot::of_market(moment, topic, |market| {
        let day = moment.views.perpetuals().day(market, moment.now_ms);
        Some(event(&Label::of(market), &day, moment.now_ms))
    })
}

fn event(label: &Label, day: &Ticker24h, now_ms: i64) -> DayEvent {
    let steps = label.steps;
    let id = |id: Option<u64>| id.map_or(-1, u64::cast_signed);
    let change = steps.price(day.change());
    DayEvent {
        event_time: now_ms,
        symbol: label.symbol(),
        change: SignedFixed(change.0, change.1),
        change_percent: SignedFixed(day.change_percent(2), 2),
        weighted: steps.price_of(|decimals| day.weighted(decimals)),
        close: steps.price(day.close),
        last_quantity: steps.quantity(day.last_quantity),
        open: steps.price(day.open),
        high: steps.price(day.high),
        low: steps.price(day.low),
        volume: steps.quantity(day.volume),
        value: steps.value(day.value),
        open_time: now_ms - DAY_MS,
        close_time: now_ms,
        first: id(day.ids.map(|(first, _)| first)),
        last: id(day.ids.map(|(_, last)| last)),
        count: day.count,
    }
}

/// As it was told last.
#[derive(Default)]
struct Rolling {
    is_mini: bool,
    is_dirty: bool,
    minute: i64,
    last: Option<Ticker24h>,
}

impl Rolling {
    /// The day, if it is not as it was told last.
    fn changed(&mut self, at: &At<'_, '_>) -> Option<Ticker24h> {
        let minute = at.now_ms.div_euclid(MINUTE_MS);
        let has_traded = std::mem::take(&mut self.is_dirty);
        if std::mem::replace(&mut self.minute, minute) == minute && !has_traded {
            return None;
        }
        let day = at.views.perpetuals().day(at.listed()?, at.now_ms);
        // Without a day to compare with, only a trade is news.
        let is_news = self.last.replace(day).map_or(has_traded, |last| last != day);
        is_news.then_some(day)
    }
}

impl Stream for Rolling {
    fn event(&mut self, event: &Event, _: &mut At<'_, '_>) {
        self.is_dirty |= event.get::<PerpetualTrade>().is_some_and(PerpetualTrade::is_in_book);
    }

    fn is_timed(&self) -> bool {
        true
    }

    fn beat(&mut self, due: &Due, at: &mut At<'_, '_>) {
        if !due.has(1_000) {
            return;
        }
        let Some(day) = self.changed(at) else { return };
        let label = at.label();
        if !self.is_mini {
            at.tell(&event(&label, &day, at.now_ms));
            return;
        }
        at.tell(&MiniDayEvent {
            event_time: at.now_ms,
            symbol: label.symbol(),
            close: label.steps.price(day.close),
            open: label.steps.price(day.open),
            high: label.steps.price(day.high),
            low: label.steps.price(day.low),
            volume: label.steps.quantity(day.volume),
            value: label.steps.value(day.value),
        });
    }
}
