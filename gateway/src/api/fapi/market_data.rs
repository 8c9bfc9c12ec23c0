//! Public market data (`perpetual.md` 5 and 6).

use super::{by_symbol, market, one_or_all, optional_market, params, row, views};
use crate::api::{Answer, Auth, Call, Handler, Method, Query, Response, Route, Weight};
use crate::dialect::fapi::params::Params;
use crate::dialect::fapi::{encode, refusal, text};
use crate::view::perpetual::market::{MarketTrade, PerpetualMarket};
use crate::view::perpetual::series::{CandleQuery, INTERVALS, Source};
use ringside_core::command::PerpetualParameter;
use serde_json::{Value, json};

const fn get(path: &'static str, weight: u32, summary: &'static str, handle: fn(&Call) -> Answer) -> Route {
    row(Method::Get, path, Auth::None, weight, summary, Handler::Now(handle))
}

const fn klines(path: &'static str, summary: &'static str, handle: fn(&Call) -> Answer) -> Route {
    Route { weight: Weight::ByQuery(kline_weight), ..get(path, 1, summary, handle) }
}

/// Rows.
pub static ROUTES: &[Route] = &[
    get("/fapi/v1/ping", 1, "Whether it is there", |_| Ok(Response::json("{}"))),
    get("/fapi/v1/time", 1, "Server time", |call| Ok(Response::of(&json!({ "serverTime": call.now_ms })))),
    get("/fapi/v1/exchangeInfo", 1, "Symbols, filters and limits", exchange_info),
    Route { weight: Weight::ByQuery(depth_weight), ..get("/fapi/v1/depth", 2, "Levels of a book", depth) },
    get("/fapi/v1/trades", 5, "Newest trades", |call| trades(call, 500, 1000, false)),
    get("/fapi/v1/historicalTrades", 20, "Trades from an id on", |call| trades(call, 100, 500, true)),
    get("/fapi/v1/aggTrades", 20, "Trades of one taker at one price, joined", aggregates),
    klines("/fapi/v1/klines", "Candles", |call| candles(call, "symbol", Source::Trades)),
    klines("/fapi/v1/continuousKlines", "Candles of a pair", |call| candles(call, "pair", Source::Trades)),
    klines("/fapi/v1/indexPriceKlines", "Candles of the index", |call| candles(call, "pair", Source::Index)),
    klines("/fapi/v1/markPriceKlines", "Candles of the mark", |call| candles(call, "symbol", Source::Mark)),
    klines("/fapi/v1/premiumIndexKlines", "Candles of the premium", |call| {
        candles(call, "symbol", Source::Premium)
    }),
    by_symbol(get("/fapi/v1/premiumIndex", 1, "Mark, index and funding", premium_index), |query| {
        with(query, 1, 10)
    }),
    get("/fapi/v1/fundingRate", 0, "Funding rates settled", funding_rate),
    get("/fapi/v1/fundingInfo", 0, "Bounds of funding rates", funding_info),
    by_symbol(get("/fapi/v1/ticker/24hr", 1, "The rolling day", ticker), |query| with(query, 1, 40)),
    by_symbol(get("/fapi/v1/ticker/price", 1, "Last prices", price), |query| with(query, 1, 2)),
    by_symbol(get("/fapi/v2/ticker/price", 1, "Last prices", price), |query| with(query, 1, 2)),
    by_symbol(get("/fapi/v1/ticker/bookTicker", 2, "Best levels", book_ticker), |query| with(query, 2, 5)),
    get("/fapi/v1/openInterest", 1, "Open interest", open_interest),
    get("/fapi/v1/constituents", 2, "Sources of an index", constituents),
    by_symbol(get("/fapi/v1/assetIndex", 1, "Index of the margin asset", asset_index), |query| {
        with(query, 1, 10)
    }),
    get("/futures/data/{name}", 1, "Statistics: none", |_| Ok(Response::json("[]"))),
];

pub(super) fn with(query: Query<'_>, with: u32, without: u32) -> u32 {
    if query.get("symbol").is_some_and(|symbol| !symbol.is_empty()) { with } else { without }
}

fn limit_of(query: Query<'_>, default: u32) -> u32 {
    query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(default)
}

fn depth_weight(query: Query<'_>) -> u32 {
    match limit_of(query, 500) {
        0..=50 => 2,
        51..=100 => 5,
        101..=500 => 10,
        _ => 20,
    }
}

fn kline_weight(query: Query<'_>) -> u32 {
    match limit_of(query, 500) {
        0..=99 => 1,
        100..=499 => 2,
        500..=1000 => 5,
        _ => 10,
    }
}

/// The limiters as exchangeInfo shows them.
pub(super) fn order_limits(call: &Call) -> [Value; 2] {
    let config = &call.worker.config;
    [
        json!({ "rateLimitType": "ORDERS", "interval": "MINUTE", "intervalNum": 1, "limit": config.orders_per_minute }),
        json!({ "rateLimitType": "ORDERS", "interval": "SECOND", "intervalNum": 10, "limit": config.orders_per_ten_seconds }),
    ]
}

fn exchange_info(call: &Call) -> Answer {
    let views = views(call)?;
    let [minute, seconds] = order_limits(call);
    let weight = json!({
        "rateLimitType": "REQUEST_WEIGHT", "interval": "MINUTE", "intervalNum": 1, "limit": call.worker.config.weight_per_minute,
    });
    let symbols: Vec<Value> = views.perpetuals().markets().all().iter().map(encode::symbol).collect();
    Ok(Response::of(&json!({
        "timezone": "UTC",
        "serverTime": call.now_ms,
        "futuresType": "U_MARGINED",
        "rateLimits": [weight, minute, seconds],
        "exchangeFilters": [],
        "assets": [{ "asset": "USDT", "marginAvailable": true, "autoAssetExchange": "0" }],
        "symbols": symbols,
    })))
}

fn depth(call: &Call) -> Answer {
    let params = params(call)?;
    let sent = params.get("limit").unwrap_or("500");
    params.text("symbol")?;
    let limit = match sent {
        "5" | "10" | "20" | "50" | "100" | "500" | "1000" => sent.parse().unwrap_or(500),
        _ => return Err(refusal::depth_limit(sent).into()),
    };
    let views = views(call)?;
    let market = market(&views, &params)?;
    let book = views.perpetuals().book(market.market);
    Ok(Response::of(&encode::depth(market, book, limit, call.now_ms)))
}

fn trades(call: &Call, default: usize, max: usize, has_from: bool) -> Answer {
    let params = params(call)?;
    params.text("symbol")?;
    let limit = params.limit(default, max)?;
    let from = if has_from { params.integer("fromId")? } else { None };
    let views = views(call)?;
    let market = market(&views, &params)?;
    let first = match from {
        Some(from) => market.trades.partition_point(|trade| trade.trade < from.unsigned_abs()),
        None => market.trades.len().saturating_sub(limit),
    };
    let rows: Vec<Value> =
        market.trades.range(first..).take(limit).map(|trade| encode::trade(market, trade)).collect();
    Ok(Response::of(&rows))
}

fn aggregates(call: &Call) -> Answer {
    const HOUR_MS: i64 = 3_600_000;
    let params = params(call)?;
    params.text("symbol")?;
    let limit = params.limit(500, 1000)?;
    let from = params.integer("fromId")?;
    let (start, end) = params.times()?;
    let is_too_long = matches!((start, end), (Some(start), Some(end)) if end - start > HOUR_MS);
    if is_too_long || (from.is_some() && (start.is_some() || end.is_some())) {
        return Err(refusal::COMBINATION.into());
    }
    let views = views(call)?;
    let market = market(&views, &params)?;
    let all: Vec<&MarketTrade> = market.trades.iter().collect();
    // A row counts by its first trade's time.
    let first = match (from, start) {
        (Some(from), _) => all.partition_point(|trade| trade.aggregate < from.unsigned_abs()),
        (None, Some(start)) => all.partition_point(|trade| trade.aggregate_ms < start),
        (None, None) => 0,
    };
    let last = end.map_or(all.len(), |end| all.partition_point(|trade| trade.aggregate_ms <= end));
    let rows: Vec<&[&MarketTrade]> =
        all[first.min(last)..last].chunk_by(|one, next| one.aggregate == next.aggregate).collect();
    let is_oldest = from.is_some() || start.is_some();
    let skipped = if is_oldest { 0 } else { rows.len().saturating_sub(limit) };
    let rows: Vec<Value> =
        rows[skipped..].iter().take(limit).map(|trades| encode::aggregate(market, trades)).collect();
    Ok(Response::of(&rows))
}

fn candles(call: &Call, name: &str, source: Source) -> Answer {
    let params = params(call)?;
    let symbol = params.text(name)?;
    if name == "pair" && source == Source::Trades && params.text("contractType")? != "PERPETUAL" {
        return Err(refusal::not_valid("contractType").into());
    }
    let interval = params.text("interval")?;
    let limit = params.limit(500, 1500)?;
    let (start_ms, end_ms) = params.times()?;
    let views = views(call)?;
    let market = views.perpetuals().markets().by_symbol(symbol).ok_or(refusal::SYMBOL)?;
    let interval = INTERVALS.iter().find(|(name, _)| *name == interval).ok_or(refusal::INTERVAL)?.1;
    let query = CandleQuery { source, market: market.market, interval, start_ms, end_ms, limit };
    let rows: Vec<Value> = views
        .perpetuals()
        .series()
        .candles(&query, call.now_ms)
        .iter()
        .map(|candle| {
            let close_ms = interval.step(candle.open_ms, 1) - 1;
            match source {
                Source::Trades => encode::candle(market, candle, close_ms),
                _ => encode::sampled(candle, close_ms),
            }
        })
        .collect();
    Ok(Response::of(&rows))
}

fn premium_index(call: &Call) -> Answer {
    let params = params(call)?;
    one_or_all(&*views(call)?, &params, |market| encode::premium_index(market, call.now_ms))
}

fn funding_rate(call: &Call) -> Answer {
    let params = params(call)?;
    let limit = params.limit(100, 1000)?;
    let (start, end) = params.times()?;
    let views = views(call)?;
    let chosen = optional_market(&views, &params)?;
    let mut rows: Vec<(i64, &PerpetualMarket, _)> = Vec::new();
    for market in views.perpetuals().markets().all() {
        if chosen.is_some_and(|chosen| chosen.market != market.market) {
            continue;
        }
        let (start, end) = (start.unwrap_or(i64::MIN), end.unwrap_or(i64::MAX));
        let settled = market.fundings.iter().filter(|settled| (start..=end).contains(&settled.funding_ms));
        rows.extend(settled.map(|settled| (settled.funding_ms, market, settled)));
    }
    rows.sort_by_key(|(time, market, _)| (*time, market.market));
    let is_windowed = start.is_some() || end.is_some();
    let skipped = if is_windowed { 0 } else { rows.len().saturating_sub(limit) };
    let rows: Vec<Value> = rows[skipped..]
        .iter()
        .take(limit)
        .map(|(time, market, settled)| {
            json!({
                "symbol": market.symbol(),
                "fundingRate": text::exact8(settled.rate),
                "fundingTime": time,
                "markPrice": text::exact8(settled.mark),
            })
        })
        .collect();
    Ok(Response::of(&rows))
}

fn funding_info(call: &Call) -> Answer {
    let views = views(call)?;
    let rows: Vec<Value> = views
        .perpetuals()
        .markets()
        .all()
        .iter()
        .map(|market| {
            let cap = market.setting(PerpetualParameter::FundingCap);
            json!({
                "symbol": market.symbol(),
                "adjustedFundingRateCap": text::exact8(cap),
                "adjustedFundingRateFloor": text::exact8(-cap),
                "fundingIntervalHours": market.setting(PerpetualParameter::FundingIntervalHours),
                "disclaimer": false,
            })
        })
        .collect();
    Ok(Response::of(&rows))
}

fn ticker(call: &Call) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    one_or_all(&views, &params, |market| {
        encode::ticker(market, &views.perpetuals().day(market, call.now_ms), call.now_ms)
    })
}

fn price(call: &Call) -> Answer {
    let params = params(call)?;
    one_or_all(&*views(call)?, &params, |market| {
        let last = market.last_trade();
        json!({
            "symbol": market.symbol(),
            "price": text::fixed(last.map_or(0, |last| last.price.into()), text::decimals(market.tick())),
            "time": last.map_or(call.now_ms, |last| last.time_ms),
        })
    })
}

fn book_ticker(call: &Call) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    one_or_all(&views, &params, |market| encode::book_ticker(market, views.perpetuals().book(market.market)))
}

fn open_interest(call: &Call) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    let market = market(&views, &params)?;
    Ok(Response::of(&json!({
        "symbol": market.symbol(),
        "openInterest": text::fixed(market.open_interest, text::decimals(market.lot())),
        "time": call.now_ms,
    })))
}

fn constituents(call: &Call) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    let market = market(&views, &params)?;
    let live: Vec<_> = market.sources.iter().filter(|source| source.weight > 0).collect();
    let total: i128 = live.iter().map(|source| i128::from(source.weight)).sum();
    let rows: Vec<Value> = live
        .iter()
        .map(|source| {
            json!({
                "exchange": format!("source-{}", source.source),
                "symbol": market.symbol(),
                "price": text::units8(source.price),
                "weight": text::fixed(i128::from(source.weight) * 100_000_000 / total.max(1), 8),
            })
        })
        .collect();
    Ok(Response::of(&json!({ "symbol": market.symbol(), "time": call.now_ms, "constituents": rows })))
}

fn asset_index(call: &Call) -> Answer {
    let params: Params<'_> = params(call)?;
    let row = json!({
        "symbol": "USDTUSD",
        "time": call.now_ms,
        "index": "1.00000000",
        "bidBuffer": "0.00000000",
        "askBuffer": "0.00000000",
        "bidRate": "1.00000000",
        "askRate": "1.00000000",
        "autoExchangeBidBuffer": "0.00000000",
        "autoExchangeAskBuffer": "0.00000000",
        "autoExchangeBidRate": "1.00000000",
        "autoExchangeAskRate": "1.00000000",
    });
    match params.get("symbol") {
        None => Ok(Response::of(&json!([row]))),
        Some(symbol) if symbol.eq_ignore_ascii_case("USDTUSD") => Ok(Response::of(&row)),
        Some(_) => Err(refusal::SYMBOL.into()),
    }
}
