//! Public histories: trades, candles, funding rates (`perpetual.md` 6).

use super::market_data::limit_of;
use super::shape;
use super::{
    by_query, from_archive, get, market, name_of, of_funding, optional_market, params, views, within,
};
use crate::api::docs::Param;
use crate::api::{Answers, Call, Error, Query, Route, later};
use ringside_auth::access::Auth;
use ringside_core::ids::MarketId;
use ringside_dialect::fapi::{encode, refusal};
use ringside_views::candle::{self, INTERVALS};
use ringside_views::log::Page;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::rows::{FundingRecord, MarketTrade};
use ringside_views::perpetual::series::{CandleQuery, Source};
use ringside_wire::futures::market::{Candle, FundingRate, FuturesAggregateTrade, FuturesTrade};
use ringside_wire::number::{Exact, Fixed, Name, SignedExact, SignedFixed};

const fn klines(
    path: &'static str,
    summary: &'static str,
    params: &'static [Param],
    answers: Answers,
) -> Route {
    by_query(get(path, Auth::None, 1, summary, params, answers), kline_weight)
}

/// Trades of one row of joined ones: more than a tenth of a second can bring.
const JOINED_MAX: usize = 1_000_000;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    get(
        "/fapi/v1/trades",
        Auth::None,
        5,
        "Newest trades",
        &[shape::SYMBOL, shape::LIMIT],
        later!(|call| trades(call, 500, 1000, false)),
    ),
    get(
        "/fapi/v1/historicalTrades",
        Auth::None,
        20,
        "Trades from an id on",
        &[shape::SYMBOL, shape::LIMIT, shape::FROM_ID],
        later!(|call| trades(call, 100, 500, true)),
    ),
    get(
        "/fapi/v1/aggTrades",
        Auth::None,
        20,
        "Trades of one taker at one price, joined",
        &[shape::SYMBOL, shape::FROM_ID, shape::START, shape::END, shape::LIMIT],
        later!(aggregates),
    ),
    klines(
        "/fapi/v1/klines",
        "Candles",
        &[shape::SYMBOL, shape::INTERVAL, shape::START, shape::END, shape::LIMIT],
        later!(|call| trade_candles(call, "symbol")),
    ),
    klines(
        "/fapi/v1/continuousKlines",
        "Candles of a pair",
        &[shape::PAIR, shape::CONTRACT, shape::INTERVAL, shape::START, shape::END, shape::LIMIT],
        later!(|call| trade_candles(call, "pair")),
    ),
    klines(
        "/fapi/v1/indexPriceKlines",
        "Candles of the index",
        &[shape::PAIR, shape::INTERVAL, shape::START, shape::END, shape::LIMIT],
        later!(|call| sampled(call, "pair", Source::Index, Fixed)),
    ),
    klines(
        "/fapi/v1/markPriceKlines",
        "Candles of the mark",
        &[shape::SYMBOL, shape::INTERVAL, shape::START, shape::END, shape::LIMIT],
        later!(|call| sampled(call, "symbol", Source::Mark, Fixed)),
    ),
    klines(
        "/fapi/v1/premiumIndexKlines",
        "Candles of the premium",
        &[shape::SYMBOL, shape::INTERVAL, shape::START, shape::END, shape::LIMIT],
        later!(|call| sampled(call, "symbol", Source::Premium, SignedFixed)),
    ),
    of_funding(get(
        "/fapi/v1/fundingRate",
        Auth::None,
        0,
        "Funding rates settled",
        &[shape::OF_SYMBOL, shape::START, shape::END, shape::LIMIT],
        later!(funding),
    )),
];

fn kline_weight(query: Query<'_>) -> u32 {
    match limit_of(query, 500) {
        0..=99 => 1,
        100..=499 => 2,
        500..=1000 => 5,
        _ => 10,
    }
}

async fn trades(call: Call, default: usize, max: usize, has_from: bool) -> Result<Vec<FuturesTrade>, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let limit = params.limit(default, max)?;
    let from = if has_from { params.integer("fromId")? } else { None };
    let market = { market(&*views(&call)?, &params)?.market };
    let page = Page::new(0, Some(market), limit);
    let page = match from {
        Some(from) => page.from_id(from.unsigned_abs()),
        None => page,
    };
    let rows: Vec<MarketTrade> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    if let Some(from) = from.map(i64::unsigned_abs)
        && rows.first().is_none_or(|first| first.trade > from)
    {
        check_kept(&call, market, "fromId", |oldest| from >= oldest.trade).await?;
    }
    let views = views(&call)?;
    let market = views.perpetuals().markets().get(market).ok_or(refusal::INTERNAL)?;
    Ok(rows.iter().map(|trade| encode::trade(market, trade)).collect())
}

/// Refuses what begins before the oldest trade, where an operator has removed those before it: a shorter answer would look like a whole
/// one.
async fn check_kept(
    call: &Call,
    market: MarketId,
    name: &str,
    is_kept: impl Fn(&MarketTrade) -> bool,
) -> Result<(), Error> {
    let page = Page::new(0, Some(market), 1).oldest(true);
    let oldest: Vec<MarketTrade> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    match oldest.first() {
        // Rows of joined trades are numbered from 1 on without gaps.
        Some(oldest) if oldest.aggregate > 1 && !is_kept(oldest) => {
            Err(refusal::removed(name, oldest.trade, oldest.time_ms).into())
        }
        _ => Ok(()),
    }
}

async fn aggregates(call: Call) -> Result<Vec<FuturesAggregateTrade>, Error> {
    const HOUR_MS: i64 = 3_600_000;
    let params = params(&call)?;
    params.text("symbol")?;
    let limit = params.limit(500, 1000)?;
    let from = params.integer("fromId")?;
    params.check_times()?;
    let market = { market(&*views(&call)?, &params)?.market };
    let (start, end) = params.times()?;
    let is_too_long = matches!((start, end), (Some(start), Some(end)) if end - start > HOUR_MS);
    if is_too_long || (from.is_some() && (start.is_some() || end.is_some())) {
        return Err(refusal::COMBINATION.into());
    }
    let history = &call.worker.shared.history;
    let page = Page::new(0, Some(market), limit);
    let page = match (from, start) {
        (Some(from), _) => {
            // Rows are numbered from 1 on without gaps.
            let first = Page::new(0, Some(market), 1).tagged(from.unsigned_abs().max(1)).oldest(true);
            let first: Vec<MarketTrade> = history.page(&first).await.map_err(from_archive)?;
            let Some(first) = first.first() else {
                check_kept(&call, market, "fromId", |oldest| from.unsigned_abs() >= oldest.aggregate).await?;
                return Ok(Vec::new());
            };
            page.from_id(first.trade)
        }
        (None, _) => within(page, &params, start.unwrap_or(i64::MIN)..=end.unwrap_or(i64::MAX)),
    };
    // A row counts by its first trade's time: one that began before may be met.
    let wider = Page { limit: limit + 1, ..page };
    let mut rows = history.joined_trades(&wider).await.map_err(from_archive)?;
    rows.retain(|row| row[0].aggregate_ms >= start.unwrap_or(i64::MIN));
    if let Some(start) = start
        && rows.first().is_none_or(|first| first[0].aggregate_ms > start)
    {
        check_kept(&call, market, "startTime", |oldest| start >= oldest.time_ms).await?;
    }
    if wider.is_oldest {
        rows.truncate(limit);
    } else {
        rows.drain(..rows.len().saturating_sub(limit));
    }
    // One that ends after has all of its trades.
    if end.is_some()
        && let Some(last) = rows.last_mut()
    {
        let whole = Page::new(0, Some(market), JOINED_MAX).tagged(last[0].aggregate).oldest(true);
        *last = history.page(&whole).await.map_err(from_archive)?;
    }
    let views = views(&call)?;
    let market = views.perpetuals().markets().get(market).ok_or(refusal::INTERNAL)?;
    Ok(rows.iter().map(|trades| encode::aggregate(market, trades)).collect())
}

/// The one kind of contract.
const CONTRACT: &str = "PERPETUAL";

async fn trade_candles(call: Call, name: &'static str) -> Result<Vec<Candle<Fixed>>, Error> {
    candles(call, name, Source::Trades, encode::candle).await
}

/// Candles of samples, whose prices `value` makes of steps of 10^-8 and decimals.
async fn sampled<P>(
    call: Call,
    name: &'static str,
    source: Source,
    value: fn(i128, usize) -> P,
) -> Result<Vec<Candle<P>>, Error> {
    candles(call, name, source, |_, candle, close_ms| encode::sampled(candle, close_ms, value)).await
}

async fn candles<P>(
    call: Call,
    name: &'static str,
    source: Source,
    show: impl Fn(&PerpetualMarket, &candle::Candle<i64>, i64) -> Candle<P>,
) -> Result<Vec<Candle<P>>, Error> {
    let params = params(&call)?;
    let symbol = params.text(name)?;
    let is_continuous = name == "pair" && source == Source::Trades;
    let contract = if is_continuous { params.text("contractType")? } else { CONTRACT };
    let interval = params.text("interval")?;
    let limit = params.limit(500, 1500)?;
    params.check_times()?;
    let market = {
        let views = views(&call)?;
        views.perpetuals().markets().by_symbol(symbol).ok_or(refusal::SYMBOL)?.market
    };
    if contract != CONTRACT {
        return Err(refusal::not_valid("contractType").into());
    }
    let interval = INTERVALS.iter().find(|(name, _)| *name == interval).ok_or(refusal::INTERVAL)?.1;
    let (start_ms, end_ms) = params.times()?;
    let query = CandleQuery { source, market, interval, start_ms, end_ms, limit };
    let history = &call.worker.shared.history;
    let candles = history.perpetual_candles(query, call.now_ms).await.map_err(from_archive)?;
    let views = views(&call)?;
    let market = views.perpetuals().markets().get(market).ok_or(refusal::INTERNAL)?;
    let rows = candles.iter().map(|candle| show(market, candle, interval.step(candle.open_ms, 1) - 1));
    Ok(rows.collect())
}

async fn funding(call: Call) -> Result<Vec<FundingRate>, Error> {
    let params = params(&call)?;
    let limit = params.limit(100, 1000)?;
    params.check_times()?;
    let chosen = { optional_market(&*views(&call)?, &params)?.map(|market| market.market) };
    let (start, end) = params.times()?;
    let times = start.unwrap_or(i64::MIN)..=end.unwrap_or(i64::MAX);
    let page = within(Page::new(0, chosen, limit), &params, times);
    let rows: Vec<FundingRecord> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    let views = views(&call)?;
    let rows = rows.iter().map(|FundingRecord { told }| FundingRate {
        symbol: Name(name_of(&views, told.market)),
        funding_rate: SignedExact(told.rate),
        funding_time: told.funding_ms,
        mark_price: Exact(told.mark),
    });
    Ok(rows.collect())
}
