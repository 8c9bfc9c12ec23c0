//! Candles of the perpetual side: of trades, of mark and index, of the premium, in every interval of `perpetual.md` 1.
//!
//! Mark and index are sampled each second and the premium every five, as the engine samples them: what stands after the first
//! tick of a step is its sample. So a candle begins with what stood at its start, whenever that was told.
//!
//! Only candles in which something happened are kept; those between repeat the close and are made when they are read. Here
//! stand the newest of each series; what is older is in the archive, which a reader adds ([`fill`]).

use super::super::candle::{Candle, ClosedCandle, INTERVALS, Interval};
use super::super::codec::{LoadError, Reader, Writer};
use super::super::kept::FIRST_CANDLES;
use super::super::log::{Key, Retention, Row};
use ringside_core::command::Side;
use ringside_core::event;
use ringside_core::ids::{FIRST_PERPETUAL, MarketId, Sequence};
use std::collections::VecDeque;

/// Candles of each series that are kept beside those not archived yet: more than one answer can hold.
const CANDLES: usize = 2_000;
const SECOND_MS: i64 = 1_000;

/// What candles are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Trades.
    Trades = 0,
    /// Samples of the mark.
    Mark = 1,
    /// Samples of the index.
    Index = 2,
    /// Samples of the premium, 10^-8.
    Premium = 3,
}

const SOURCES: usize = 4;

impl Source {
    /// Time between samples, which are taken at whole multiples of it (`risk.md` 10, 11).
    const fn step_ms(self) -> i64 {
        match self {
            Source::Trades | Source::Mark | Source::Index => SECOND_MS,
            Source::Premium => 5 * SECOND_MS,
        }
    }
}

/// Which candles are asked for.
#[derive(Clone, Copy, Debug)]
pub struct CandleQuery {
    /// Of what.
    pub source: Source,
    /// Market id.
    pub market: MarketId,
    /// How long.
    pub interval: Interval,
    /// Least start, UNIX milliseconds; without it the newest are meant.
    pub start_ms: Option<i64>,
    /// Greatest start.
    pub end_ms: Option<i64>,
    /// How many at most.
    pub limit: usize,
}

impl Row for ClosedCandle<i64> {
    fn key(&self) -> Key {
        let open_ms = self.candle.open_ms;
        Key { owner: 0, market: self.market, id: open_ms.unsigned_abs(), time_ms: open_ms, tag: 0 }
    }
}

/// Number of the list of a series in the archive.
pub fn list_of(source: Source, interval: Interval) -> u16 {
    FIRST_CANDLES + (source as usize * INTERVALS.len() + index_of(interval)) as u16
}

fn index_of(interval: Interval) -> usize {
    INTERVALS.iter().position(|(_, known)| *known == interval).unwrap_or(0)
}

/// Candles of all markets.
#[derive(Clone, Debug)]
pub struct Series {
    /// Indexed by market, source and interval; each candle with the command that changed it last.
    slots: Vec<VecDeque<(Sequence, Candle<i64>)>>,
    keep: Retention,
    archived: Sequence,
    /// Candles that the running command closed, where none are kept.
    closed: Vec<ClosedCandle<i64>>,
}

fn slot(market: MarketId, source: Source, interval: usize) -> usize {
    ((market - FIRST_PERPETUAL) as usize * SOURCES + source as usize) * INTERVALS.len() + interval
}

/// What a query needs that is older than what is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Older {
    /// Start of the first candle wanted.
    pub first_ms: i64,
    /// Start of the first candle kept; `i64::MAX` where there is none.
    pub kept_ms: i64,
}

impl Series {
    pub(super) fn new(keep: Retention) -> Series {
        Series { slots: Vec::new(), keep, archived: 0, closed: Vec::new() }
    }

    fn candle(&mut self, slot: usize, sequence: Sequence, open_ms: i64, value: i64) -> &mut Candle<i64> {
        if slot >= self.slots.len() {
            self.slots.resize_with(slot + 1, VecDeque::new);
        }
        let candles = &mut self.slots[slot];
        if candles.back().is_none_or(|(_, last)| last.open_ms < open_ms) {
            match self.keep {
                Retention::All => {}
                // The first is over since the second began, or earlier.
                Retention::Window(_) => {
                    while candles.len() >= CANDLES
                        && candles.get(1).is_some_and(|(changed, _)| *changed <= self.archived)
                    {
                        candles.pop_front();
                    }
                }
                Retention::Nothing => {
                    let series = SOURCES * INTERVALS.len();
                    self.closed.extend(candles.drain(..).map(|(_, candle)| ClosedCandle {
                        candle,
                        market: FIRST_PERPETUAL + (slot / series) as MarketId,
                        list: u32::from(FIRST_CANDLES) + (slot % series) as u32,
                    }));
                }
            }
            candles.push_back((sequence, Candle::flat(open_ms, value)));
        }
        let (changed, candle) = candles.back_mut().expect("one was put in if there was none");
        *changed = sequence;
        candle
    }

    /// Takes what stands as the sample of the running step, if that has none yet.
    pub(super) fn sample(
        &mut self,
        source: Source,
        market: MarketId,
        value: i64,
        sequence: Sequence,
        time_ms: i64,
    ) {
        let number = time_ms.div_euclid(source.step_ms()).unsigned_abs();
        if self.newest(source, market, INTERVALS[0].1).is_some_and(|newest| newest.last >= number) {
            return;
        }
        self.put(source, market, value, sequence, time_ms, |candle| {
            candle.count += 1;
            candle.last = number;
        });
    }

    /// Takes a value that was told between samples.
    pub(super) fn told(
        &mut self,
        source: Source,
        market: MarketId,
        value: i64,
        sequence: Sequence,
        time_ms: i64,
    ) {
        self.put(source, market, value, sequence, time_ms, |_| {});
    }

    fn put(
        &mut self,
        source: Source,
        market: MarketId,
        value: i64,
        sequence: Sequence,
        time_ms: i64,
        note: impl Fn(&mut Candle<i64>),
    ) {
        for (index, (_, interval)) in INTERVALS.iter().enumerate() {
            let slot = slot(market, source, index);
            let candle = self.candle(slot, sequence, interval.open(time_ms), value);
            candle.put(value);
            note(candle);
        }
    }

    pub(super) fn traded(&mut self, trade: &event::PerpetualTrade, sequence: Sequence, time_ms: i64) {
        for (index, (_, interval)) in INTERVALS.iter().enumerate() {
            let slot = slot(trade.market, Source::Trades, index);
            let candle = self.candle(slot, sequence, interval.open(time_ms), trade.price);
            candle.trade(trade.price, trade.quantity, trade.value);
            if trade.taker_side == Side::Buy as u8 {
                candle.taker_volume = candle.taker_volume.saturating_add(trade.quantity);
                candle.taker_value = candle.taker_value.saturating_add(trade.value);
            }
            if candle.first == 0 {
                candle.first = trade.trade;
            }
            candle.last = trade.trade;
        }
    }

    /// The newest candle of a series.
    pub fn newest(&self, source: Source, market: MarketId, interval: Interval) -> Option<&Candle<i64>> {
        self.slots.get(slot(market, source, index_of(interval)))?.back().map(|(_, candle)| candle)
    }

    /// The candles kept that answer a query, oldest first, and what it needs beside them.
    pub fn kept(&self, query: &CandleQuery, now_ms: i64) -> (Vec<Candle<i64>>, Option<Older>) {
        let slot = self.slots.get(slot(query.market, query.source, index_of(query.interval)));
        let candles = slot.into_iter().flatten().map(|(_, candle)| candle);
        let kept_ms = slot.and_then(|slot| slot.front()).map_or(i64::MAX, |(_, first)| first.open_ms);
        let first_ms = query.first_ms(now_ms);
        let older =
            (first_ms < kept_ms && self.keep != Retention::All).then_some(Older { first_ms, kept_ms });
        // The one before the first says where a quiet stretch stands.
        let from = slot.map_or(0, |slot| {
            slot.partition_point(|(_, candle)| candle.open_ms <= first_ms).saturating_sub(1)
        });
        (candles.skip(from).copied().collect(), older)
    }

    /// The candles asked for of what is kept, oldest first, up to the one that holds `now_ms`.
    pub fn candles(&self, query: &CandleQuery, now_ms: i64) -> Vec<Candle<i64>> {
        fill(query, now_ms, &self.kept(query, now_ms).0)
    }

    pub(crate) fn forget(&mut self, archived: Sequence) {
        self.archived = archived;
    }

    /// Takes out what the running command closed.
    pub(crate) fn take_closed(&mut self) -> std::vec::Drain<'_, ClosedCandle<i64>> {
        self.closed.drain(..)
    }

    /// The candle of an interval (a place in [`INTERVALS`]) that starts at a time: one without trades repeats the close before
    /// it; `None` before the first trade.
    pub fn candle_at(
        &self,
        market: MarketId,
        source: Source,
        interval: usize,
        open_ms: i64,
    ) -> Option<Candle<i64>> {
        let kept = self.slots.get(slot(market, source, interval))?;
        let end = kept.partition_point(|(_, candle)| candle.open_ms <= open_ms);
        let (_, last) = kept.get(end.checked_sub(1)?)?;
        Some(if last.open_ms == open_ms { *last } else { Candle::flat(open_ms, last.close) })
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.slots.len());
        for candles in &self.slots {
            writer.count(candles.len());
            for (changed, candle) in candles {
                writer.u64(*changed);
                writer.record(candle);
            }
        }
    }

    pub(super) fn load(reader: &mut Reader<'_>, keep: Retention) -> Result<Series, LoadError> {
        let mut series = Series::new(keep);
        for _ in 0..reader.count()? {
            let count = reader.count()?;
            let candle = |_| Ok((reader.u64()?, reader.record()?));
            series.slots.push((0..count).map(candle).collect::<Result<_, LoadError>>()?);
        }
        Ok(series)
    }
}

impl CandleQuery {
    /// Start of the candle that the answer ends with, where the series reaches so far.
    fn newest_ms(&self, now_ms: i64) -> i64 {
        self.interval.open(now_ms.min(self.end_ms.unwrap_or(i64::MAX)))
    }

    /// Start of the candle that the answer begins with, where the series is as old.
    pub fn first_ms(&self, now_ms: i64) -> i64 {
        match self.start_ms {
            Some(start) => {
                let open = self.interval.open(start);
                if open < start { self.interval.step(open, 1) } else { open }
            }
            None => self.interval.step(self.newest_ms(now_ms), 1 - self.limit as i64),
        }
    }
}

/// The answer to a query from the candles of its stretch in which something happened and, if there is one, the last before it;
/// oldest first, up to the one that holds `now_ms`.
pub fn fill(query: &CandleQuery, now_ms: i64, known: &[Candle<i64>]) -> Vec<Candle<i64>> {
    let Some(oldest) = known.first() else { return Vec::new() };
    let newest = query.newest_ms(now_ms.max(oldest.open_ms));
    let mut open_ms = query.first_ms(now_ms.max(oldest.open_ms)).max(oldest.open_ms);
    let mut next = known.partition_point(|candle| candle.open_ms < open_ms);
    let mut candles = Vec::new();
    while open_ms <= newest && candles.len() < query.limit {
        match known.get(next).filter(|candle| candle.open_ms == open_ms) {
            Some(candle) => {
                candles.push(*candle);
                next += 1;
            }
            // One stands before, since the first is not after this.
            None => candles.push(Candle::flat(open_ms, known[next - 1].close)),
        }
        open_ms = query.interval.step(open_ms, 1);
    }
    candles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_candles_repeat_the_close() {
        let mut series = Series::new(Retention::All);
        let market = FIRST_PERPETUAL + 1;
        series.sample(Source::Mark, market, 10, 1, 60_000);
        series.sample(Source::Mark, market, 7, 2, 61_000);
        series.sample(Source::Mark, market, 9, 3, 240_000);
        let query = CandleQuery {
            source: Source::Mark,
            market,
            interval: INTERVALS[0].1,
            start_ms: None,
            end_ms: None,
            limit: 500,
        };
        let shown = |query: CandleQuery, now_ms| -> Vec<_> {
            let candles = series.candles(&query, now_ms);
            candles
                .iter()
                .map(|candle| (candle.open_ms / 60_000, candle.open, candle.low, candle.close, candle.count))
                .collect()
        };
        assert_eq!(
            shown(query, 310_000),
            [(1, 10, 7, 7, 2), (2, 7, 7, 7, 0), (3, 7, 7, 7, 0), (4, 9, 9, 9, 1), (5, 9, 9, 9, 0)]
        );
        assert_eq!(shown(CandleQuery { limit: 2, ..query }, 310_000), [(4, 9, 9, 9, 1), (5, 9, 9, 9, 0)]);
        assert_eq!(
            shown(CandleQuery { limit: 1, start_ms: Some(60_001), ..query }, 310_000),
            [(2, 7, 7, 7, 0)]
        );
        assert_eq!(shown(CandleQuery { end_ms: Some(119_999), ..query }, 310_000), [(1, 10, 7, 7, 2)]);
        assert_eq!(shown(CandleQuery { start_ms: Some(900_000), ..query }, 310_000), []);
        assert_eq!(shown(CandleQuery { market: FIRST_PERPETUAL, ..query }, 310_000), []);
    }

    #[test]
    fn a_step_has_one_sample_and_what_is_told_between_counts_for_the_range() {
        let mut series = Series::new(Retention::All);
        let market = FIRST_PERPETUAL;
        for (is_told, value, time_ms) in [
            (true, 10, 60_004),
            (false, 10, 60_004),
            (false, 10, 60_999),
            (true, 30, 61_000),
            (false, 30, 61_000),
            (true, 5, 61_500),
            (false, 5, 61_500),
            (true, 20, 61_600),
            (false, 20, 120_000),
        ] {
            let take = if is_told { Series::told } else { Series::sample };
            take(&mut series, Source::Index, market, value, 1, time_ms);
        }
        let shown = |interval: usize| {
            let candle = series.newest(Source::Index, market, INTERVALS[interval].1).unwrap();
            (candle.open, candle.high, candle.low, candle.close, candle.count)
        };
        assert_eq!((shown(0), shown(1)), ((20, 20, 20, 20, 1), (10, 30, 5, 20, 3)));
    }

    #[test]
    fn the_premium_is_sampled_every_five_seconds() {
        let mut series = Series::new(Retention::All);
        for (value, time_ms) in
            [(1, 60_000), (2, 61_000), (3, 64_999), (-4, 65_000), (5, 69_999), (6, 75_001)]
        {
            series.sample(Source::Premium, FIRST_PERPETUAL, value, 1, time_ms);
        }
        let candle = series.newest(Source::Premium, FIRST_PERPETUAL, INTERVALS[0].1).unwrap();
        assert_eq!((candle.open, candle.high, candle.low, candle.close, candle.count), (1, 6, -4, 6, 3));
    }
}
