//! Candles of spot markets, folded from trades, in some of the intervals there are.
//!
//! A candle exists where its interval saw a trade. The newest [`KEPT`] candles of each market and interval are held here; older
//! ones are the archive's business. There is no clock: an interval is over when a command of a later time has been folded.

use super::candle::{Candle, ClosedCandle, INTERVALS, Interval};
use super::codec::{LoadError, Reader, Writer};
use super::kept::FIRST_SPOT_CANDLES;
use super::log::{Key, Row};
use super::time::{TimeRange, milliseconds};
use crate::stored::{Sum, layouts, stored};
use ringside_core::event::{self, Event};
use ringside_core::ids::{MarketId, Sequence};
use ringside_core::money::notional;
use std::collections::VecDeque;

/// Candles held per market and interval: what one request may ask for, and half as much again.
pub const KEPT: usize = 1500;

/// The shortest interval, of which all others are multiples.
const MINUTE_MS: i64 = 60_000;
const LENGTHS: usize = 6;

/// Intervals of spot, shortest first: names and lengths. A place among them names one elsewhere.
pub const SPOT_INTERVALS: [(&str, Interval); LENGTHS] =
    [INTERVALS[0], INTERVALS[2], INTERVALS[3], INTERVALS[5], INTERVALS[7], INTERVALS[11]];

/// A candle of a spot market.
pub type SpotCandle = Candle<i128>;

/// Number of the list of an interval in the archive.
pub const fn list_of(interval: usize) -> u16 {
    FIRST_SPOT_CANDLES + interval as u16
}

/// Seconds of an interval.
pub fn seconds_of(interval: usize) -> u32 {
    u32::try_from(SPOT_INTERVALS[interval].1.step(0, 1) / 1_000).expect("none is longer than a day")
}

/// A candle that is over as a row of its list.
impl ClosedCandle<i128> {
    /// Its interval.
    pub fn interval(&self) -> usize {
        (self.list - u32::from(FIRST_SPOT_CANDLES)) as usize
    }

    /// With an interval of so many seconds; `None` where there is none of that length.
    pub fn of_seconds(candle: SpotCandle, market: MarketId, seconds: u32) -> Option<ClosedCandle<i128>> {
        let interval = (0..LENGTHS).find(|interval| seconds_of(*interval) == seconds)?;
        Some(ClosedCandle { candle, market, list: list_of(interval).into() })
    }
}

impl Row for ClosedCandle<i128> {
    fn key(&self) -> Key {
        let open_ms = self.candle.open_ms;
        let id = u64::try_from(open_ms / 1_000).unwrap_or(0);
        Key { owner: 0, market: self.market, id, time_ms: open_ms, tag: 0 }
    }
}

/// The candles of one market and interval, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Series {
    candles: VecDeque<SpotCandle>,
    /// How many older ones are no longer held.
    dropped: u64,
}

/// The candles of all markets.
#[derive(Clone, Debug, Default)]
pub struct KlineView {
    /// Indexed by market, then by interval; grows at the first trade of a market.
    markets: Vec<[Series; LENGTHS]>,
    /// Start of the minute that the last event was in: until it is left, nothing can close.
    minute_ms: i64,
    /// What the command of `sequence` closed and which candles its trades found; notes for listeners, never saved.
    sequence: Sequence,
    closed: Vec<ClosedCandle<i128>>,
    before: Option<(MarketId, [Option<SpotCandle>; LENGTHS])>,
}

impl KlineView {
    /// The newest candle; `None` before the first trade. It may be over: see [`Candle::is_over`].
    pub fn latest(&self, market: MarketId, interval: usize) -> Option<SpotCandle> {
        self.series(market, interval)?.candles.back().copied()
    }

    /// Candles that open within `opens`, oldest first, at most `limit`: the oldest of them when the range says where to
    /// start, else the newest. Looks only at what is held here.
    pub fn page(
        &self,
        market: MarketId,
        interval: usize,
        opens: &TimeRange,
        limit: usize,
    ) -> Vec<SpotCandle> {
        let Some(Series { candles, .. }) = self.series(market, interval) else { return Vec::new() };
        let times = opens.milliseconds();
        let first = candles.partition_point(|candle| candle.open_ms < *times.start());
        let end = candles.partition_point(|candle| candle.open_ms <= *times.end()).max(first);
        let kept = match opens.start_s {
            i64::MIN => end.saturating_sub(limit).max(first)..end,
            _ => first..end.min(first.saturating_add(limit)),
        };
        candles.range(kept).copied().collect()
    }

    /// Start of the oldest candle held when older ones existed, UNIX seconds: from there on, what is held is complete. `None`
    /// while nothing has been dropped.
    pub fn held_since_s(&self, market: MarketId, interval: usize) -> Option<i64> {
        let series = self.series(market, interval).filter(|series| series.dropped > 0)?;
        series.candles.front().map(|candle| candle.open_ms / 1_000)
    }

    /// The candles that the command of `sequence` closed, by market and interval, if it was the last one folded.
    /// Each candle closes once: with the first command of a time behind its interval.
    pub fn closed_by(&self, sequence: Sequence) -> &[ClosedCandle<i128>] {
        if sequence == self.sequence { &self.closed } else { &[] }
    }

    /// The candle of an interval after each trade of `command` in a market, in order. `command` is the last one folded;
    /// the last candle given is [`KlineView::latest`].
    pub fn updates(
        &self,
        market: MarketId,
        interval: usize,
        command: &[Event],
    ) -> impl Iterator<Item = SpotCandle> {
        let is_last = command.first().is_some_and(|event| event.sequence == self.sequence);
        let before = self.before.filter(|(traded, _)| is_last && *traded == market);
        let mut candle = before.and_then(|(_, candles)| candles[interval]);
        let command = if before.is_some() { command } else { &[] };
        command.iter().filter_map(move |event| {
            let trade = event.get::<event::Trade>()?;
            candle = Some(after(candle, SPOT_INTERVALS[interval].1, event.time_ns, trade));
            candle
        })
    }

    /// Takes in a trade.
    pub(super) fn traded(&mut self, event: &Event, trade: &event::Trade) {
        self.advance(event);
        let index = trade.market as usize;
        if index >= self.markets.len() {
            self.markets.resize_with(index + 1, Default::default);
        }
        let market = &mut self.markets[index];
        if self.sequence != event.sequence || self.before.is_none() {
            note(&mut self.sequence, event.sequence, &mut self.closed, &mut self.before);
            self.before =
                Some((trade.market, market.each_ref().map(|series| series.candles.back().copied())));
        }
        for (Series { candles, dropped }, (_, interval)) in market.iter_mut().zip(SPOT_INTERVALS) {
            let candle = after(candles.back().copied(), interval, event.time_ns, trade);
            match candles.back_mut() {
                Some(last) if last.open_ms == candle.open_ms => *last = candle,
                _ => candles.push_back(candle),
            }
            if candles.len() > KEPT {
                candles.pop_front();
                *dropped += 1;
            }
        }
    }

    /// Takes in the time of an event: notes the candles that are over.
    #[inline]
    pub(super) fn advance(&mut self, event: &Event) {
        // Far more commands than minutes pass here: no division.
        if event.time_ns >= (self.minute_ms + MINUTE_MS).saturating_mul(1_000_000) {
            self.close(event);
        }
    }

    #[cold]
    fn close(&mut self, event: &Event) {
        note(&mut self.sequence, event.sequence, &mut self.closed, &mut self.before);
        let minute_ms = minute_of(event.time_ns);
        for (market, series) in (0..).zip(&self.markets) {
            for (place, (series, (_, interval))) in series.iter().zip(SPOT_INTERVALS).enumerate() {
                let Some(candle) = series.candles.back() else { continue };
                let end_ms = interval.step(candle.open_ms, 1);
                if self.minute_ms < end_ms && end_ms <= minute_ms {
                    let list = list_of(place).into();
                    self.closed.push(ClosedCandle { candle: *candle, market, list });
                }
            }
        }
        self.minute_ms = minute_ms;
    }

    fn series(&self, market: MarketId, interval: usize) -> Option<&Series> {
        self.markets.get(market as usize)?.get(interval)
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.markets.len());
        for series in self.markets.iter().flatten() {
            writer.u64(series.dropped);
            writer.count(series.candles.len());
            // Open times ascend, so their differences are short.
            let mut last = 0;
            for candle in &series.candles {
                writer.i64((candle.open_ms - last) / 1_000);
                save(candle, writer);
                last = candle.open_ms;
            }
        }
    }

    /// `time_ns` is the time of the last command folded before the save.
    pub(super) fn load(reader: &mut Reader<'_>, time_ns: i64) -> Result<KlineView, LoadError> {
        let mut view = KlineView { minute_ms: minute_of(time_ns), ..KlineView::default() };
        for _ in 0..reader.count()? {
            let mut market: [Series; LENGTHS] = Default::default();
            for (series, (_, interval)) in market.iter_mut().zip(SPOT_INTERVALS) {
                series.dropped = reader.u64()?;
                let mut last = i64::MIN;
                for _ in 0..reader.count()? {
                    let later_ms = reader.i64()?.checked_mul(1_000);
                    let open_ms = later_ms.and_then(|later_ms| last.max(0).checked_add(later_ms));
                    let opens = |open_ms: &i64| *open_ms > last && interval.open(*open_ms) == *open_ms;
                    last = open_ms.filter(opens).ok_or_else(|| reader.bad("open time"))?;
                    series.candles.push_back(load(reader, last)?);
                }
                if series.candles.len() > KEPT || last > milliseconds(time_ns) {
                    return Err(reader.bad("candle"));
                }
            }
            view.markets.push(market);
        }
        Ok(view)
    }
}

fn save(candle: &SpotCandle, writer: &mut Writer<'_>) {
    writer.i64(candle.open);
    [candle.high, candle.low, candle.close].iter().for_each(|price| writer.i64(price - candle.open));
    writer.i128(candle.volume);
    writer.i128(candle.value);
    writer.u64(candle.count);
}

fn load(reader: &mut Reader<'_>, open_ms: i64) -> Result<SpotCandle, LoadError> {
    let open = reader.i64()?;
    let price = |reader: &mut Reader<'_>| open.checked_add(reader.i64()?).ok_or_else(|| reader.bad("price"));
    Ok(Candle {
        high: price(reader)?,
        low: price(reader)?,
        close: price(reader)?,
        volume: reader.i128()?,
        value: reader.i128()?,
        count: reader.u64()?,
        ..Candle::flat(open_ms, open)
    })
}

fn minute_of(time_ns: i64) -> i64 {
    SPOT_INTERVALS[0].1.open(milliseconds(time_ns))
}

/// The candle that holds a trade, given the newest one so far.
fn after(newest: Option<SpotCandle>, interval: Interval, time_ns: i64, trade: &event::Trade) -> SpotCandle {
    let open_ms = interval.open(milliseconds(time_ns));
    let newest = newest.filter(|candle| candle.open_ms == open_ms);
    let mut candle = newest.unwrap_or_else(|| Candle::flat(open_ms, trade.price));
    candle.trade(trade.price, trade.quantity, notional(trade.price, trade.quantity));
    candle
}

/// Starts the notes of a command, unless they are begun.
fn note<B>(
    of: &mut Sequence,
    sequence: Sequence,
    closed: &mut Vec<ClosedCandle<i128>>,
    before: &mut Option<B>,
) {
    if *of != sequence {
        *of = sequence;
        closed.clear();
        *before = None;
    }
}

/// A candle in whole seconds.
#[derive(Clone, Copy)]
pub(crate) struct Kline {
    open_time_s: i64,
    open: i64,
    high: i64,
    low: i64,
    close: i64,
    volume: i128,
    quote_volume: i128,
    trade_count: u64,
}

/// A candle that is over, with the length of its interval.
#[derive(Clone, Copy)]
pub(crate) struct KlineRow {
    kline: Kline,
    market: u32,
    interval_s: u32,
}

impl From<ClosedCandle<i128>> for KlineRow {
    fn from(closed: ClosedCandle<i128>) -> KlineRow {
        let Candle { open_ms, open, high, low, close, volume, value, count, .. } = closed.candle;
        let (open_time_s, quote_volume, trade_count) = (open_ms / 1_000, value, count);
        let kline = Kline { open_time_s, open, high, low, close, volume, quote_volume, trade_count };
        KlineRow { kline, market: closed.market, interval_s: seconds_of(closed.interval()) }
    }
}

/// There are not all lengths.
impl TryFrom<KlineRow> for ClosedCandle<i128> {
    type Error = ();

    fn try_from(row: KlineRow) -> Result<ClosedCandle<i128>, ()> {
        let Kline { open_time_s, open, high, low, close, volume, quote_volume, trade_count } = row.kline;
        let open_ms = open_time_s.checked_mul(1_000).ok_or(())?;
        let candle: SpotCandle = Candle {
            high,
            low,
            close,
            volume,
            value: quote_volume,
            count: trade_count,
            ..Candle::flat(open_ms, open)
        };
        ClosedCandle::of_seconds(candle, row.market, row.interval_s).ok_or(())
    }
}

layouts! {
    /// A candle.
    KlineV1 of Kline {
        open_time_s: i64, open: i64, high: i64, low: i64, close: i64, volume: Sum, quote_volume: Sum, trade_count: u64,
    }

    /// A candle that is over.
    KlineRowV1 of KlineRow { kline: KlineV1, market: u32, interval_s: u32 }
}

stored! {
    ClosedCandle<i128> as SpotCandles: KlineRowV1;
}
