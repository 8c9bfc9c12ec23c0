//! Candles of six intervals per market, folded from trades.
//!
//! A candle exists where its interval saw a trade; intervals are counted from the UNIX epoch, so 4 h and 1 d are those of
//! UTC. The newest [`KEPT`] candles of each market and interval are held here; older ones are the archive's business.
//! There is no clock: an interval is over when a command of a later time has been folded.

use super::codec::{LoadError, Reader, Writer};
use super::log::{FIRST_SPOT_CANDLES, Key, Row};
use super::time::{TimeRange, seconds};
use ringside_core::event::{self, Event};
use ringside_core::ids::{MarketId, Sequence};
use ringside_core::money::{Amount, Price, Quantity, notional};
use std::collections::VecDeque;

/// Candles held per market and interval: what one request may ask for, and half as much again.
pub const KEPT: usize = 1500;

/// Seconds of the shortest interval, of which all others are multiples.
const MINUTE_S: i64 = 60;

/// Length of a candle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Interval {
    /// 1 m.
    OneMinute,
    /// 5 m.
    FiveMinutes,
    /// 15 m.
    QuarterHour,
    /// 1 h.
    OneHour,
    /// 4 h.
    FourHours,
    /// 1 d.
    OneDay,
}

impl Interval {
    /// Every interval, shortest first; the place of each is its number.
    pub const ALL: [Interval; 6] = [
        Interval::OneMinute,
        Interval::FiveMinutes,
        Interval::QuarterHour,
        Interval::OneHour,
        Interval::FourHours,
        Interval::OneDay,
    ];

    /// The list of its candles that are over.
    pub const fn list(self) -> u16 {
        FIRST_SPOT_CANDLES + self as u16
    }

    /// That of a length in seconds.
    pub fn of_seconds(seconds: u32) -> Option<Interval> {
        Interval::ALL.into_iter().find(|interval| interval.seconds() == i64::from(seconds))
    }

    /// Its length.
    pub const fn seconds(self) -> i64 {
        MINUTE_S
            * match self {
                Interval::OneMinute => 1,
                Interval::FiveMinutes => 5,
                Interval::QuarterHour => 15,
                Interval::OneHour => 60,
                Interval::FourHours => 240,
                Interval::OneDay => 1440,
            }
    }

    /// The first second of the interval that a time is in.
    pub const fn open_time_s(self, time_ns: i64) -> i64 {
        let second = time_ns.div_euclid(1_000_000_000);
        second - second.rem_euclid(self.seconds())
    }
}

/// One candle. 80 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kline {
    /// First second of its interval, a multiple of the interval's length.
    pub open_time_s: i64,
    /// Price of its first trade.
    pub open: Price,
    /// Highest price.
    pub high: Price,
    /// Lowest price.
    pub low: Price,
    /// Price of its last trade.
    pub close: Price,
    /// Base traded, in steps of 10^-8; a sum of many quantities can exceed 64 bits.
    pub volume: i128,
    /// Quote traded; what the same money does again and again has no bound, and the largest amount stands for more.
    pub quote_volume: Amount,
    /// How many trades.
    pub trade_count: u64,
}

impl Kline {
    /// The candle that a first trade opens.
    fn open(open_time_s: i64, price: Price, quantity: Quantity) -> Kline {
        let (volume, quote_volume, trade_count) = (0, 0, 0);
        let (open, high, low, close) = (price, price, price, price);
        let mut kline = Kline { open_time_s, open, high, low, close, volume, quote_volume, trade_count };
        kline.take(price, quantity);
        kline
    }

    /// Takes in one more trade of its interval.
    fn take(&mut self, price: Price, quantity: Quantity) {
        self.high = self.high.max(price);
        self.low = self.low.min(price);
        self.close = price;
        self.volume += i128::from(quantity);
        self.quote_volume = self.quote_volume.saturating_add(notional(price, quantity));
        self.trade_count += 1;
    }

    /// Its last second.
    pub const fn close_time_s(&self, interval: Interval) -> i64 {
        self.open_time_s + interval.seconds() - 1
    }

    /// Whether its interval is over at a time.
    pub const fn is_closed(&self, interval: Interval, time_ns: i64) -> bool {
        interval.open_time_s(time_ns) > self.open_time_s
    }

    fn save(&self, writer: &mut Writer<'_>) {
        writer.i64(self.open);
        [self.high, self.low, self.close].iter().for_each(|price| writer.i64(price - self.open));
        writer.i128(self.volume);
        writer.i128(self.quote_volume);
        writer.u64(self.trade_count);
    }

    fn load(reader: &mut Reader<'_>, open_time_s: i64) -> Result<Kline, LoadError> {
        let open = reader.i64()?;
        let price =
            |reader: &mut Reader<'_>| open.checked_add(reader.i64()?).ok_or_else(|| reader.bad("price"));
        Ok(Kline {
            open_time_s,
            open,
            high: price(reader)?,
            low: price(reader)?,
            close: price(reader)?,
            volume: reader.i128()?,
            quote_volume: reader.i128()?,
            trade_count: reader.u64()?,
        })
    }
}

/// A candle whose interval has just ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClosedKline {
    /// Market id.
    pub market: MarketId,
    /// Its length.
    pub interval: Interval,
    /// The candle, final.
    pub kline: Kline,
}

/// A candle that is over as a row of its list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KlineRow {
    /// The candle.
    pub kline: Kline,
    /// Market id.
    pub market: MarketId,
    /// Its length.
    pub interval_s: u32,
}

impl Row for KlineRow {
    fn key(&self) -> Key {
        let open_s = self.kline.open_time_s;
        let id = u64::try_from(open_s).unwrap_or(0);
        Key { owner: 0, market: self.market, id, time_ms: open_s.saturating_mul(1_000), tag: 0 }
    }
}

impl ClosedKline {
    /// As its list has it.
    pub fn row(&self) -> KlineRow {
        let interval_s = u32::try_from(self.interval.seconds()).expect("no interval is longer than a day");
        KlineRow { kline: self.kline, market: self.market, interval_s }
    }
}

/// The candles of one market and interval, oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Series {
    klines: VecDeque<Kline>,
    /// How many older ones are no longer held.
    dropped: u64,
}

/// The candles of all markets.
#[derive(Clone, Debug, Default)]
pub struct KlineView {
    /// Indexed by market, then by interval; grows at the first trade of a market.
    markets: Vec<[Series; 6]>,
    /// Start of the minute that the last event was in: until it is left, nothing can close.
    minute_s: i64,
    /// What the command of `sequence` closed and which candles its trades found; notes for listeners, never saved.
    sequence: Sequence,
    closed: Vec<ClosedKline>,
    before: Option<(MarketId, [Option<Kline>; 6])>,
}

impl KlineView {
    /// The newest candle; `None` before the first trade. It may be over: see [`Kline::is_closed`].
    pub fn latest(&self, market: MarketId, interval: Interval) -> Option<Kline> {
        self.series(market, interval)?.klines.back().copied()
    }

    /// Candles that open within `opens`, oldest first, at most `limit`: the oldest of them when the range says where to
    /// start, else the newest. Looks only at what is held here.
    pub fn page(&self, market: MarketId, interval: Interval, opens: &TimeRange, limit: usize) -> Vec<Kline> {
        let Some(series) = self.series(market, interval) else { return Vec::new() };
        let klines = &series.klines;
        let first = klines.partition_point(|kline| kline.open_time_s < opens.start_s);
        let end = klines.partition_point(|kline| kline.open_time_s <= opens.end_s).max(first);
        let kept = match opens.start_s {
            i64::MIN => end.saturating_sub(limit).max(first)..end,
            _ => first..end.min(first.saturating_add(limit)),
        };
        klines.range(kept).copied().collect()
    }

    /// Start of the oldest candle held when older ones existed: from there on, what is held is complete. `None` while
    /// nothing has been dropped.
    pub fn held_since_s(&self, market: MarketId, interval: Interval) -> Option<i64> {
        let series = self.series(market, interval).filter(|series| series.dropped > 0)?;
        series.klines.front().map(|kline| kline.open_time_s)
    }

    /// The candles that the command of `sequence` closed, by market and interval, if it was the last one folded.
    /// Each candle closes once: with the first command of a time behind its interval.
    pub fn closed_by(&self, sequence: Sequence) -> &[ClosedKline] {
        if sequence == self.sequence { &self.closed } else { &[] }
    }

    /// The candle of an interval after each trade of `command` in a market, in order. `command` is the last one folded;
    /// the last candle given is [`KlineView::latest`].
    pub fn updates(
        &self,
        market: MarketId,
        interval: Interval,
        command: &[Event],
    ) -> impl Iterator<Item = Kline> {
        let is_last = command.first().is_some_and(|event| event.sequence == self.sequence);
        let before = self.before.filter(|(traded, _)| is_last && *traded == market);
        let mut kline = before.and_then(|(_, klines)| klines[interval as usize]);
        let command = if before.is_some() { command } else { &[] };
        command.iter().filter_map(move |event| {
            let trade = event.get::<event::Trade>()?;
            let next = after(kline, interval, event.time_ns, trade);
            kline = Some(next);
            Some(next)
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
            self.before = Some((trade.market, market.each_ref().map(|series| series.klines.back().copied())));
        }
        for (series, interval) in market.iter_mut().zip(Interval::ALL) {
            let klines = &mut series.klines;
            let kline = after(klines.back().copied(), interval, event.time_ns, trade);
            match klines.back_mut() {
                Some(last) if last.open_time_s == kline.open_time_s => *last = kline,
                _ => klines.push_back(kline),
            }
            if klines.len() > KEPT {
                klines.pop_front();
                series.dropped += 1;
            }
        }
    }

    /// Takes in the time of an event: notes the candles that are over.
    #[inline]
    pub(super) fn advance(&mut self, event: &Event) {
        // Far more commands than minutes pass here: no division.
        if event.time_ns >= (self.minute_s + MINUTE_S).saturating_mul(1_000_000_000) {
            self.close(event);
        }
    }

    #[cold]
    fn close(&mut self, event: &Event) {
        note(&mut self.sequence, event.sequence, &mut self.closed, &mut self.before);
        let minute_s = Interval::OneMinute.open_time_s(event.time_ns);
        for (market, series) in (0..).zip(&self.markets) {
            for (series, interval) in series.iter().zip(Interval::ALL) {
                let Some(kline) = series.klines.back() else { continue };
                let end_s = kline.open_time_s + interval.seconds();
                if self.minute_s < end_s && end_s <= minute_s {
                    self.closed.push(ClosedKline { market, interval, kline: *kline });
                }
            }
        }
        self.minute_s = minute_s;
    }

    fn series(&self, market: MarketId, interval: Interval) -> Option<&Series> {
        self.markets.get(market as usize).map(|market| &market[interval as usize])
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.markets.len());
        for series in self.markets.iter().flatten() {
            writer.u64(series.dropped);
            writer.count(series.klines.len());
            // Open times ascend, so their differences are short.
            let mut last = 0;
            for kline in &series.klines {
                writer.i64(kline.open_time_s - last);
                kline.save(writer);
                last = kline.open_time_s;
            }
        }
    }

    /// `time_ns` is the time of the last command folded before the save.
    pub(super) fn load(reader: &mut Reader<'_>, time_ns: i64) -> Result<KlineView, LoadError> {
        let mut view =
            KlineView { minute_s: Interval::OneMinute.open_time_s(time_ns), ..KlineView::default() };
        for _ in 0..reader.count()? {
            let mut market: [Series; 6] = Default::default();
            for (series, interval) in market.iter_mut().zip(Interval::ALL) {
                series.dropped = reader.u64()?;
                let mut last = i64::MIN;
                for _ in 0..reader.count()? {
                    let open_time_s = last.max(0).checked_add(reader.i64()?);
                    let opens = |second: &i64| *second > last && second % interval.seconds() == 0;
                    last = open_time_s.filter(opens).ok_or_else(|| reader.bad("open time"))?;
                    series.klines.push_back(Kline::load(reader, last)?);
                }
                if series.klines.len() > KEPT || last > seconds(time_ns) {
                    return Err(reader.bad("candle"));
                }
            }
            view.markets.push(market);
        }
        Ok(view)
    }
}

/// The candle that holds a trade, given the newest one so far.
fn after(newest: Option<Kline>, interval: Interval, time_ns: i64, trade: &event::Trade) -> Kline {
    let open_time_s = interval.open_time_s(time_ns);
    match newest {
        Some(mut kline) if kline.open_time_s == open_time_s => {
            kline.take(trade.price, trade.quantity);
            kline
        }
        _ => Kline::open(open_time_s, trade.price, trade.quantity),
    }
}

/// Starts the notes of a command, unless they are begun.
fn note<B>(of: &mut Sequence, sequence: Sequence, closed: &mut Vec<ClosedKline>, before: &mut Option<B>) {
    if *of != sequence {
        *of = sequence;
        closed.clear();
        *before = None;
    }
}
