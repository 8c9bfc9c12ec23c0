//! The rolling 24 hours of each market: exact, by the second.
//!
//! A market's row is refreshed by each of its trades, and all rows together with the first command of each minute; in
//! between it stands still, since views have no clock. The window of a row is `[close - 86400, close]`, both ends
//! inclusive, in whole seconds: trades are summed per second, and a second leaves the window whole.

use super::codec::{LoadError, Reader, Writer};
use super::extremes::Extremes;
use super::time::seconds;
use ringside_core::event::{self, Event};
use ringside_core::ids::{MarketId, Sequence};
use ringside_core::money::{Amount, Price, Quantity, notional};
use std::collections::VecDeque;

/// Length of the window.
pub const WINDOW_S: i64 = 86_400;

/// Seconds between refreshes of all rows.
const REFRESH_S: i64 = 60;

/// One market's row as its last refresh left it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticker {
    /// Price of the newest trade, inside the window or not.
    pub last_price: Price,
    /// Price of the first trade of the window; the last price when there is none.
    pub open_price: Price,
    /// Highest price of the window; the last price when it saw no trade.
    pub high: Price,
    /// Lowest price of the window; the last price when it saw no trade.
    pub low: Price,
    /// Base traded in the window, in steps of 10^-8; may exceed 64 bits.
    pub volume: i128,
    /// Quote traded in the window; what the same money does again and again has no bound, and the largest amount stands for
    /// more.
    pub quote_volume: Amount,
    /// Trades in the window.
    pub trade_count: u64,
    /// Last second of the window: when the row was refreshed.
    pub close_time_s: i64,
}

impl Ticker {
    /// First second of the window.
    pub const fn open_time_s(&self) -> i64 {
        self.close_time_s - WINDOW_S
    }

    /// A window without trades.
    fn empty(last_price: Price, close_time_s: i64) -> Ticker {
        Ticker {
            last_price,
            open_price: last_price,
            high: last_price,
            low: last_price,
            volume: 0,
            quote_volume: 0,
            trade_count: 0,
            close_time_s,
        }
    }

    /// Takes in a trade of the window's last second.
    fn take(&mut self, price: Price, quantity: Quantity) {
        if self.trade_count == 0 {
            (self.open_price, self.high, self.low) = (price, price, price);
        }
        self.last_price = price;
        self.high = self.high.max(price);
        self.low = self.low.min(price);
        self.volume += i128::from(quantity);
        self.quote_volume = self.quote_volume.saturating_add(notional(price, quantity));
        self.trade_count += 1;
    }
}

/// The trades of one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Second {
    second: i64,
    first: Price,
    high: Price,
    low: Price,
    volume: i128,
    quote_volume: Amount,
    trade_count: u64,
}

/// The trades of one market's window.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Window {
    /// What is shown.
    row: Ticker,
    /// Seconds with trades, oldest first; none older than the row's window.
    seconds: VecDeque<Second>,
    extremes: Extremes,
}

/// The rows of all markets.
#[derive(Clone, Debug, Default)]
pub struct TickerView {
    /// Indexed by market; grows at the first trade of a market.
    markets: Vec<Option<Window>>,
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
        self.markets.get(market as usize)?.as_ref().map(|window| &window.row)
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
                row.take(trade.price, trade.quantity);
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
        let window = self.markets[index].get_or_insert_with(|| Window::new(trade.price, now_s));
        window.refresh(now_s);
        if self.traded_by != event.sequence {
            self.traded_by = event.sequence;
            self.before = Some((trade.market, window.row));
        }
        window.take(trade.price, trade.quantity);
    }

    /// Takes in the end of a command: the first of a minute refreshes all rows.
    #[inline]
    pub(super) fn done(&mut self, event: &Event) {
        // Far more commands than minutes pass here: no division.
        if event.time_ns >= (self.refreshed_s + REFRESH_S).saturating_mul(1_000_000_000) {
            let now_s = seconds(event.time_ns);
            self.refreshed_s = now_s - now_s.rem_euclid(REFRESH_S);
            self.refreshed_by = event.sequence;
            self.markets.iter_mut().flatten().for_each(|window| window.refresh(now_s));
        }
    }

    pub(super) fn save(&self, writer: &mut Writer<'_>) {
        writer.count(self.markets.len());
        for window in &self.markets {
            match window {
                None => writer.fixed(&[0]),
                Some(window) => {
                    writer.fixed(&[1]);
                    window.save(writer);
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
                1 => Some(Window::load(reader, now_s)?),
                _ => return Err(reader.bad("ticker")),
            });
        }
        Ok(view)
    }
}

impl Window {
    fn new(last_price: Price, now_s: i64) -> Window {
        Window {
            row: Ticker::empty(last_price, now_s),
            seconds: VecDeque::new(),
            extremes: Extremes::default(),
        }
    }

    /// Moves the window on to `now_s`, which is never earlier than where it stands.
    fn refresh(&mut self, now_s: i64) {
        let row = &mut self.row;
        row.close_time_s = now_s;
        let open_time_s = row.open_time_s();
        let mut is_changed = false;
        while let Some(old) = self.seconds.front().filter(|second| second.second < open_time_s) {
            row.volume -= old.volume;
            if row.quote_volume != Amount::MAX {
                row.quote_volume -= old.quote_volume;
            }
            row.trade_count -= old.trade_count;
            self.seconds.pop_front();
            is_changed = true;
        }
        if !is_changed {
            return;
        }
        self.extremes.advance(open_time_s);
        let Some(first) = self.seconds.front() else {
            *row = Ticker::empty(row.last_price, now_s);
            return;
        };
        row.open_price = first.first;
        if row.quote_volume == Amount::MAX {
            // How much more it stood for is not known.
            let volumes = self.seconds.iter().map(|second| second.quote_volume);
            row.quote_volume = volumes.fold(0, Amount::saturating_add);
        }
        let extremes = self.extremes.since(open_time_s);
        (row.high, row.low) = extremes.expect("the newest second is always among them");
    }

    /// Takes in a trade of the second that the window was just moved on to.
    fn take(&mut self, price: Price, quantity: Quantity) {
        let now_s = self.row.close_time_s;
        self.row.take(price, quantity);
        let (volume, quote_volume) = (i128::from(quantity), notional(price, quantity));
        match self.seconds.back_mut() {
            Some(second) if second.second == now_s => {
                second.high = second.high.max(price);
                second.low = second.low.min(price);
                second.volume += volume;
                second.quote_volume = second.quote_volume.saturating_add(quote_volume);
                second.trade_count += 1;
            }
            _ => self.seconds.push_back(Second {
                second: now_s,
                first: price,
                high: price,
                low: price,
                volume,
                quote_volume,
                trade_count: 1,
            }),
        }
        self.extremes.put(now_s, price, price);
    }

    fn save(&self, writer: &mut Writer<'_>) {
        writer.i64(self.row.close_time_s);
        writer.i64(self.row.last_price);
        writer.count(self.seconds.len());
        let mut last = 0;
        for second in &self.seconds {
            writer.i64(second.second - last);
            writer.i64(second.first);
            writer.i64(second.high - second.first);
            writer.i64(second.low - second.first);
            writer.i128(second.volume);
            writer.i128(second.quote_volume);
            writer.u64(second.trade_count);
            last = second.second;
        }
    }

    fn load(reader: &mut Reader<'_>, now_s: i64) -> Result<Window, LoadError> {
        let close_time_s = reader.i64()?;
        if !(0..=now_s).contains(&close_time_s) {
            return Err(reader.bad("time"));
        }
        let mut window = Window::new(reader.i64()?, close_time_s);
        let row = &mut window.row;
        let mut last = 0;
        for index in 0..reader.count()? {
            let second = reader.i64()?;
            let second: i64 = second.checked_add(last).ok_or_else(|| reader.bad("second"))?;
            let first = reader.i64()?;
            let mut price = || first.checked_add(reader.i64()?).ok_or_else(|| reader.bad("price"));
            let (high, low) = (price()?, price()?);
            let (volume, quote_volume, trade_count) = (reader.i128()?, reader.i128()?, reader.u64()?);
            let follows = (index == 0 && second >= row.open_time_s()) || (index > 0 && second > last);
            if !follows || second > close_time_s || !(low..=high).contains(&first) {
                return Err(reader.bad("second"));
            }
            if index == 0 {
                (row.open_price, row.high, row.low) = (first, high, low);
            }
            row.high = row.high.max(high);
            row.low = row.low.min(low);
            row.volume = row.volume.checked_add(volume).ok_or_else(|| reader.bad("volume"))?;
            row.quote_volume = row.quote_volume.saturating_add(quote_volume);
            row.trade_count = row.trade_count.checked_add(trade_count).ok_or_else(|| reader.bad("count"))?;
            window.extremes.put(second, high, low);
            window.seconds.push_back(Second { second, first, high, low, volume, quote_volume, trade_count });
            last = second;
        }
        Ok(window)
    }
}
