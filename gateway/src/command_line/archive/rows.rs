//! Rows of a day as lines of CSV, in the columns of the public dumps that people know: those of USD-M futures with a line of names and
//! milliseconds, those of spot without one and in microseconds. Prices and quantities are spelled as the API spells them.

use super::day::Day;
use anyhow::Result;
use ringside_core::command::{PerpetualParameter, Side};
use ringside_core::ids::{AccountId, MarketId};
use ringside_dialect::fapi::encode;
use ringside_persist::archive::{ALL_FACETS, ArchiveReader, EntriesAsked};
use ringside_views::archive::pages::row_of;
use ringside_views::archive::rows::list_of;
use ringside_views::candle::{ClosedCandle, INTERVALS};
use ringside_views::history::TradeRecord;
use ringside_views::kept::List;
use ringside_views::kline;
use ringside_views::log::Row;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::rows::{FundingRecord, MarketTrade};
use ringside_views::perpetual::series::{self, Source};
use ringside_wire::number::{Amount, Total, Units};
use serde::Serialize;
use serde_json::Value;
use std::io::Write;

/// Rows read at a time.
const ROWS: usize = 4_096;
const MINUTE_MS: i64 = 60_000;

/// What is exported of a market.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Trades,
    AggregateTrades,
    Klines,
    FundingRates,
}

/// A market, with what its numbers are spelled by.
#[derive(Clone, Copy)]
pub(super) enum Market<'a> {
    Spot { market: MarketId, symbol: &'a str },
    Perpetual(&'a PerpetualMarket),
}

impl<'a> Market<'a> {
    pub(super) fn id(self) -> MarketId {
        match self {
            Market::Spot { market, .. } => market,
            Market::Perpetual(market) => market.market,
        }
    }

    pub(super) fn symbol(self) -> &'a str {
        match self {
            Market::Spot { symbol, .. } => symbol,
            Market::Perpetual(market) => market.symbol(),
        }
    }

    pub(super) fn kinds(self) -> &'static [Kind] {
        match self {
            Market::Spot { .. } => &[Kind::Trades, Kind::Klines],
            Market::Perpetual(_) => &[Kind::Trades, Kind::AggregateTrades, Kind::Klines, Kind::FundingRates],
        }
    }

    /// The list of its public trades.
    pub(super) fn trades(self) -> u16 {
        match self {
            Market::Spot { .. } => List::SpotTrades as u16,
            Market::Perpetual(_) => List::Trades as u16,
        }
    }

    /// Folder and name of a day's file, without an ending.
    pub(super) fn file(self, kind: Kind, day: Day) -> (String, String) {
        let symbol = self.symbol();
        let (folder, name) = match kind {
            Kind::Trades => (format!("trades/{symbol}"), "trades"),
            Kind::AggregateTrades => (format!("aggTrades/{symbol}"), "aggTrades"),
            Kind::Klines => (format!("klines/{symbol}/1m"), "1m"),
            Kind::FundingRates => (format!("fundingRate/{symbol}"), "fundingRate"),
        };
        let venue = match self {
            Market::Spot { .. } => "spot",
            Market::Perpetual(_) => "futures/um",
        };
        (format!("data/{venue}/daily/{folder}"), format!("{symbol}-{name}-{day}"))
    }
}

/// Everything of a list of everyone's in a market: `times` and `ids` bound it.
pub(super) fn all(list: u16, market: MarketId) -> EntriesAsked {
    all_of(list, 0, market)
}

/// The same of an account's list.
pub(super) fn all_of(list: u16, owner: AccountId, market: MarketId) -> EntriesAsked {
    EntriesAsked {
        list: list_of(list),
        owner,
        market: Some(market),
        tag: 0,
        facets: ALL_FACETS,
        ids: 0..=u64::MAX,
        times: i64::MIN..=i64::MAX,
        through: u64::MAX,
        is_oldest: true,
        limit: 1,
        work: usize::MAX,
    }
}

/// The first row that is asked for.
pub(super) fn first<T: Row>(reader: &mut dyn ArchiveReader, asked: &EntriesAsked) -> Result<Option<T>> {
    let mut entries = Vec::new();
    reader.entries(&EntriesAsked { limit: 1, ..asked.clone() }, &mut entries)?;
    Ok(entries.first().map(row_of).transpose()?)
}

/// Gives every row of a day of a list of everyone's, oldest first.
fn each<T: Row>(
    reader: &mut dyn ArchiveReader,
    list: u16,
    market: MarketId,
    day: Day,
    take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    each_of(reader, all(list, market), day, take)
}

/// The same of any list.
pub(super) fn each_of<T: Row>(
    reader: &mut dyn ArchiveReader,
    all: EntriesAsked,
    day: Day,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let mut asked = EntriesAsked { times: day.times(), limit: ROWS, ..all };
    let mut entries = Vec::new();
    loop {
        entries.clear();
        reader.entries(&asked, &mut entries)?;
        for entry in &entries {
            take(row_of(entry)?)?;
        }
        match entries.last() {
            Some(last) if entries.len() == ROWS => asked.ids = last.id + 1..=u64::MAX,
            _ => return Ok(()),
        }
    }
}

/// Writes the lines of a day; how many rows those were.
pub(super) fn write(
    reader: &mut dyn ArchiveReader,
    market: Market<'_>,
    kind: Kind,
    day: Day,
    out: &mut dyn Write,
) -> Result<u64> {
    let mut lines = Lines::new(out);
    match market {
        Market::Spot { market, .. } => spot(reader, market, kind, day, &mut lines)?,
        Market::Perpetual(market) => perpetual(reader, market, kind, day, &mut lines)?,
    }
    Ok(lines.count)
}

/// Writes lines, after the line of names where there is one.
pub(super) struct Lines<'a> {
    out: &'a mut dyn Write,
    pub(super) count: u64,
}

impl<'a> Lines<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Lines<'a> {
        Lines { out, count: 0 }
    }

    pub(super) fn add(&mut self, names: &str, line: &str) -> Result<()> {
        if self.count == 0 && !names.is_empty() {
            writeln!(self.out, "{names}")?;
        }
        self.count += 1;
        Ok(writeln!(self.out, "{line}")?)
    }
}

fn spot(
    reader: &mut dyn ArchiveReader,
    market: MarketId,
    kind: Kind,
    day: Day,
    lines: &mut Lines<'_>,
) -> Result<()> {
    match kind {
        Kind::Trades => each(reader, List::SpotTrades as u16, market, day, |trade: TradeRecord| {
            // Of two numbers of 8 decimals.
            let quote = i128::from(trade.price) * i128::from(trade.quantity) * 100;
            let is_buyer_maker = trade.taker_side == Side::Sell as u32;
            let line = format!(
                "{},{},{},{},{},{is_buyer_maker},true",
                trade.trade,
                Units(trade.price),
                Units(trade.quantity),
                Amount(quote),
                trade.time_ns / 1_000,
            );
            lines.add("", &line)
        }),
        Kind::Klines => each(reader, kline::list_of(0), market, day, |row: ClosedCandle<i128>| {
            let candle = row.candle;
            let open_us = candle.open_ms * 1_000;
            // What takers bought is not counted on this side.
            let line = format!(
                "{open_us},{},{},{},{},{},{},{},{},,,0",
                Units(candle.open),
                Units(candle.high),
                Units(candle.low),
                Units(candle.close),
                Total(candle.volume),
                open_us + MINUTE_MS * 1_000 - 1,
                Amount(candle.value),
                candle.count,
            );
            lines.add("", &line)
        }),
        Kind::AggregateTrades | Kind::FundingRates => Ok(()),
    }
}

/// A value as the API spells it; nothing for what is null or absent. Names and reasons that clients and operators give may have
/// anything in them.
fn spelled(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains(['"', ',', '\n', '\r']) => {
            format!("\"{}\"", text.replace('"', "\"\""))
        }
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// Members of an answer of the API, spelled as there.
pub(super) fn members(value: &impl Serialize, names: &[&str]) -> Result<String> {
    let value = serde_json::to_value(value)?;
    let members = match &value {
        Value::Array(values) => values.iter().map(spelled).collect::<Vec<_>>(),
        object => names.iter().map(|name| spelled(&object[*name])).collect(),
    };
    Ok(members.join(","))
}

fn perpetual(
    reader: &mut dyn ArchiveReader,
    market: &PerpetualMarket,
    kind: Kind,
    day: Day,
    lines: &mut Lines<'_>,
) -> Result<()> {
    let (id, trades) = (market.market, List::Trades as u16);
    match kind {
        Kind::Trades => each(reader, trades, id, day, |trade: MarketTrade| {
            let line = members(
                &encode::trade(market, &trade),
                &["id", "price", "qty", "quoteQty", "time", "isBuyerMaker"],
            )?;
            lines.add("id,price,qty,quote_qty,time,is_buyer_maker", &line)
        }),
        Kind::AggregateTrades => {
            let mut joined: Vec<MarketTrade> = Vec::new();
            let mut close = |joined: &mut Vec<MarketTrade>| -> Result<()> {
                // A row belongs to the day of its first trade.
                if joined.first().is_some_and(|first| day.times().contains(&first.aggregate_ms)) {
                    let row = encode::aggregate(market, joined);
                    let line = members(&row, &["a", "p", "q", "f", "l", "T", "m"])?;
                    lines.add(
                        "agg_trade_id,price,quantity,first_trade_id,last_trade_id,transact_time,is_buyer_maker",
                        &line,
                    )?;
                }
                joined.clear();
                Ok(())
            };
            let mut take = |trade: MarketTrade| {
                if joined.first().is_some_and(|first| first.aggregate != trade.aggregate) {
                    close(&mut joined)?;
                }
                joined.push(trade);
                Ok(())
            };
            each(reader, trades, id, day, &mut take)?;
            // The last row may go on after midnight.
            let tomorrow = day.next().begin_ms;
            let mut asked = EntriesAsked { times: tomorrow..=i64::MAX, ..all(trades, id) };
            while let Some(trade) = first::<MarketTrade>(reader, &asked)? {
                if trade.aggregate_ms >= tomorrow {
                    break;
                }
                asked.ids = trade.trade + 1..=u64::MAX;
                take(trade)?;
            }
            close(&mut joined)
        }
        Kind::Klines => {
            let list = series::list_of(Source::Trades, INTERVALS[0].1);
            each(reader, list, id, day, |row: ClosedCandle<i64>| {
                let candle = encode::candle(market, &row.candle, row.candle.open_ms + MINUTE_MS - 1);
                lines.add(
                    "open_time,open,high,low,close,volume,close_time,quote_volume,count,taker_buy_volume,\
                     taker_buy_quote_volume,ignore",
                    &members(&candle, &[])?,
                )
            })
        }
        Kind::FundingRates => each(reader, List::Fundings as u16, id, day, |row: FundingRecord| {
            let hours = market.setting(PerpetualParameter::FundingIntervalHours);
            let rate = Units(row.told.rate);
            lines.add(
                "calc_time,funding_interval_hours,last_funding_rate",
                &format!("{},{hours},{rate}", row.told.funding_ms),
            )
        }),
    }
}
