//! The rolling 24 hours of each market: exact, by the second.
//!
//! A market's row is refreshed by each of its trades, and all rows together with the first command of each minute; in
//! between it stands still, since views have no clock. The window of a row is `[close - 86400, close]`, both ends
//! inclusive, in whole seconds: trades are summed per second, and a second leaves the window whole.

use super::codec::{LoadError, Reader, Writer};
use super::day::{Bucket, DAY_MS, Ticker24h, Window};
use super::time::seconds;
use ringside_core::event::{self, Event};
use ringside_core::ids::{MarketId, Sequence};
use ringside_core::money::{Price, notional};

/// Seconds between refreshes of all rows.
const REFRESH_S: i64 = 60;
/// A step of the window.
const SECOND_MS: i64 = 1_000;

/// One market's row as its last refresh left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticker {
    /// Figures of the window.
    pub day: Ticker24h,
    /// Last second of the window: when the row was refreshed.
    pub close_time_s: i64,
}

impl Ticker {
    /// First second of the window.
    pub const fn open_time_s(&self) -> i64 {
        self.close_time_s - DAY_MS / SECOND_MS
    }
}

/// The trades of one market's window.
#[derive(Clone, Debug)]
struct Market {
    /// What is shown.
    row: Ticker,
    window: Window<i128>,
}

/// The rows of all markets.
#[derive(Clone, Debug, Default)]
pub struct TickerView {
    /// Indexed by market; grows at the first trade of a market.
    markets: Vec<Option<Market>>,
    /// When all rows were refreshed last, or could have been: start of a minute.
    refreshed_s: i64,
    /// The command of the last refresh of all rows, and of the last trade with the row that this trade found. Notes for
    /// listeners, never saved.
    refreshed_by: Sequence,
    traded_by: Sequence,
    before: Option<(MarketId, Ticker)>,
}

impl TickerView {
    /// The row of a market; `None` before its first trade.
    pub fn get(&self, market: MarketId) -> Option<&Ticker> {
        self.markets.get(market as usize)?.as_ref().map(|market| &market.row)
    }

    /// Whether the command of `sequence` refreshed all rows, be there trades or not, if it was the last one folded.
    pub fn is_refreshed_by(&self, sequence: Sequence) -> bool {
        sequence == self.refreshed_by
    }

    /// The row of a market after each trade of `command` there, in order. `command` is the last one folded; the last
    /// row given is [`TickerView::get`].
    pub fn updates(&self, market: MarketId, command: &[Event]) -> impl Iterator<Item = Ticker> {
        let is_last = command.first().is_some_and(|event| event.sequence == self.traded_by);
        let before = self.before.filter(|(traded, _)| is_last && *traded == market);
        before.into_iter().flat_map(move |(_, mut row)| {
            command.iter().filter_map(move |event| {
                let trade = event.get::<event::Trade>()?;
                row.day.trade(trade.price, trade.quantity, notional(trade.price, trade.quantity));
                Some(row)
            })
        })
    }

    /// Takes in a trade.
    pub(super) fn traded(&mut self, event: &Event, trade: &event::Trade) {
        let (index, now_s) = (trade.market as usize, seconds(event.time_ns));
        if index >= self.markets.len() {
            self.markets.resize_with(index + 1, || None);
        }
        let market = self.markets[index].get_or_insert_with(|| Market::new(trade.price, now_s));
        market.refresh(now_s);
        if self.traded_by != event.sequence {
            self.traded_by = event.sequence;
            self.before = Some((trade.market, market.row));
        }
        let value = notional(trade.price, trade.quantity);
        market.window.put(&Bucket::of(now_s * SECOND_MS, trade.price, trade.quantity, value, 0));
        market.row.day.trade(trade.price, trade.quantity, value);
    }

    /// Takes in the end of a command: the first of a minute refreshes all rows.
    #[inline]
    pub(super) fn done(&mut self, event: &Event) {
        // Far more commands than minutes pass here: no division.
        if event.time_ns >= (self.refreshed_s + REFRESH_S).saturating_mul(1_000_000_000) {
            let now_s = seconds(event.time_ns);
            self.refreshed_s = now_s - now_s.rem_euclid(REFRESH_S);
            self.refreshed_by = event.sequence;
            self.markets.iter_mut().flatten().for_each(|market| market.refresh(now_s));
        }
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.markets.len());
        for market in &self.markets {
            match market {
                None => writer.fixed(&[0]),
                Some(market) => {
                    writer.fixed(&[1]);
                    market.save(writer);
                }
            }
        }
    }

    /// `time_ns` is the time of the last command folded before the save.
    pub(super) fn load(reader: &mut Reader<'_>, time_ns: i64) -> Result<TickerView, LoadError> {
        let now_s = seconds(time_ns);
        let mut view =
            TickerView { refreshed_s: now_s - now_s.rem_euclid(REFRESH_S), ..TickerView::default() };
        for _ in 0..reader.count()? {
            view.markets.push(match reader.u8()? {
                0 => None,
                1 => Some(Market::load(reader, now_s)?),
                _ => return Err(reader.bad("ticker")),
            });
        }
        Ok(view)
    }
}

impl Market {
    fn new(last_price: Price, close_time_s: i64) -> Market {
        let row = Ticker { day: Ticker24h::quiet(last_price, 0), close_time_s };
        Market { row, window: Window::new(SECOND_MS) }
    }

    /// Moves the window on to `now_s`, which is never earlier than where it stands.
    fn refresh(&mut self, now_s: i64) {
        self.window.advance(now_s * SECOND_MS);
        let quiet = Ticker24h::quiet(self.row.day.close, 0);
        self.row = Ticker { day: self.window.day(quiet, now_s * SECOND_MS), close_time_s: now_s };
    }

    fn save(&self, writer: &mut Writer<'_>) {
        writer.i64(self.row.close_time_s);
        writer.i64(self.row.day.close);
        let seconds = self.window.buckets();
        writer.count(seconds.len());
        let mut last = 0;
        for second in seconds {
            writer.i64((second.start_ms - last) / SECOND_MS);
            writer.i64(second.open);
            writer.i64(second.high - second.open);
            writer.i64(second.low - second.open);
            writer.i128(second.volume);
            writer.i128(second.value);
            writer.u64(second.count);
            last = second.start_ms;
        }
    }

    fn load(reader: &mut Reader<'_>, now_s: i64) -> Result<Market, LoadError> {
        let close_time_s = reader.i64()?;
        if !(0..=now_s).contains(&close_time_s) {
            return Err(reader.bad("time"));
        }
        let mut market = Market::new(reader.i64()?, close_time_s);
        let mut last = market.row.open_time_s() - 1;
        let mut sums = (0i128, 0u64);
        let mut seconds = Vec::new();
        for index in 0..reader.count()? {
            let before = if index == 0 { 0 } else { last };
            let second: i64 = reader.i64()?.checked_add(before).ok_or_else(|| reader.bad("second"))?;
            let open = reader.i64()?;
            let mut price = || open.checked_add(reader.i64()?).ok_or_else(|| reader.bad("price"));
            let (high, low) = (price()?, price()?);
            let (volume, value, count) = (reader.i128()?, reader.i128()?, reader.u64()?);
            if second <= last || second > close_time_s || !(low..=high).contains(&open) {
                return Err(reader.bad("second"));
            }
            let volumes = sums.0.checked_add(volume).ok_or_else(|| reader.bad("volume"))?;
            sums = (volumes, sums.1.checked_add(count).ok_or_else(|| reader.bad("count"))?);
            let (start_ms, first) = (second * SECOND_MS, 0);
            seconds.push(Bucket { start_ms, open, high, low, volume, value, count, first, last: first });
            last = second;
        }
        market.window = Window::of(SECOND_MS, SECOND_MS, &seconds).ok_or_else(|| reader.bad("window"))?;
        market.refresh(close_time_s);
        Ok(market)
    }
}
