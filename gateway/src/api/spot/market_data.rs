//! What anybody may read: markets, depth, trades, candles, rolling 24 hours.

use super::{from_archive, market, shape};
use crate::api::docs::{Param, SYMBOL_SENT, Shape};
use crate::api::{Call, Error, Method, Query, Route, Weight, later, now};
use ringside_commands::ingress::EngineState;
use ringside_core::command::MarketStatus;
use ringside_dialect::spot::refusal::Refusal;
use ringside_dialect::spot::{decode, encode, refusal};
use ringside_views::kline::SPOT_INTERVALS;
use ringside_wire::futures::market::OneOrAll;
use ringside_wire::spot::{SpotDepth, SpotKline, SpotMarket, SpotTicker, SpotTrade};
use std::borrow::Cow;

const SYMBOL: Param = Param::query("symbol", SYMBOL_SENT, "Name of the market, any case");
const LIMIT: Param = Param::optional("limit", Shape::Integer, "Default 50, clamped to 1..1000");

/// Refusals of what is asked of one market.
const OF_SYMBOL: &[Refusal] = &[refusal::SYMBOL_REQUIRED, refusal::INVALID_LIMIT, refusal::MARKET_NOT_FOUND];

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        tag: "market data",
        summary: "All markets, delisted ones included, by id",
        refusals: &[super::OF_VIEWS],
        ..Route::of(Method::Get, "/api/v1/spot/markets", now!(markets))
    },
    Route {
        weight: Weight::ByQuery(depth_weight),
        tag: "market data",
        summary: "Price levels with their totals, best first",
        params: &[SYMBOL, LIMIT],
        refusals: &[OF_SYMBOL, super::OF_VIEWS],
        ..Route::of(Method::Get, "/api/v1/spot/depth", now!(depth))
    },
    Route {
        tag: "market data",
        summary: "Public trades, newest first",
        params: &[SYMBOL, LIMIT],
        refusals: &[OF_SYMBOL, super::OF_HISTORY],
        ..Route::of(Method::Get, "/api/v1/spot/trades", later!(trades))
    },
    Route {
        tag: "market data",
        summary: "Candles, oldest first: with start_time the first ones from there on, else the newest",
        params: &[
            SYMBOL,
            Param::query("interval", shape::INTERVAL, "Length of a candle; 4h and 1d are those of UTC"),
            Param::optional("limit", Shape::Integer, "Default 500, clamped to 1..1000"),
            Param::optional("start_time", Shape::Integer, "open_time at this second or later"),
            Param::optional("end_time", Shape::Integer, "open_time at this second or earlier"),
        ],
        refusals: &[OF_SYMBOL, &[refusal::INVALID_INTERVAL, refusal::INVALID_RANGE], super::OF_HISTORY],
        ..Route::of(Method::Get, "/api/v1/spot/klines", later!(klines))
    },
    Route {
        tag: "market data",
        summary: "Rolling 24 hours: of one market, or of all that are not delisted and have traded",
        params: &[Param::optional("symbol", SYMBOL_SENT, "One market only")],
        refusals: &[&[refusal::TICKER_NOT_FOUND], super::OF_VIEWS],
        ..Route::of(Method::Get, "/api/v1/spot/ticker/24hr", now!(ticker))
    },
];

fn markets(call: &Call) -> Result<Vec<SpotMarket>, Error> {
    super::check_views(call)?;
    Ok(call.worker.markets.with(|markets| markets.in_order_of_symbol().map(encode::market).collect()))
}

/// `spot.md` 12: 1, above 100 levels 5.
fn depth_weight(query: Query<'_>) -> u32 {
    match decode::limit(query.get("limit").as_deref(), 50, 1000) {
        Ok(101..) => 5,
        _ => 1,
    }
}

fn depth(call: &Call) -> Result<SpotDepth<'static>, Error> {
    let (symbol, limit) = symbol_and_limit(call)?;
    if call.phase == EngineState::Halted {
        return Err(refusal::ENGINE_DISABLED.into());
    }
    let market = market(call, &symbol)?;
    let (update_id, bids, asks) = {
        let views = super::views(call)?;
        views.depth().book(market.market).map_or_else(Default::default, |book| {
            let bids: Vec<_> = book.bids().take(limit).collect();
            let asks: Vec<_> = book.asks().take(limit).collect();
            (book.update_id(), bids, asks)
        })
    };
    Ok(encode::depth(&market, update_id, bids, asks))
}

async fn trades(call: Call) -> Result<Vec<SpotTrade>, Error> {
    let (symbol, limit) = symbol_and_limit(&call)?;
    let market = market(&call, &symbol)?;
    let trades = call.worker.shared.history.trades(market.market, limit).await.map_err(from_archive)?;
    Ok(trades.iter().map(|trade| encode::trade(trade, &market)).collect())
}

async fn klines(call: Call) -> Result<Vec<SpotKline>, Error> {
    let query = call.query();
    let symbol = query.get("symbol").filter(|symbol| !symbol.is_empty()).ok_or(refusal::SYMBOL_REQUIRED)?;
    let interval = query.get("interval");
    let interval = SPOT_INTERVALS.iter().position(|(name, _)| interval.as_deref() == Some(*name));
    let interval = interval.ok_or(refusal::INVALID_INTERVAL)?;
    let limit = decode::limit(query.get("limit").as_deref(), 500, 1000)?;
    let opens = decode::time_range(query.get("start_time").as_deref(), query.get("end_time").as_deref())?;
    let market = market(&call, &symbol)?;
    let history = &call.worker.shared.history;
    let klines = history.klines(market.market, interval, opens, limit).await.map_err(from_archive)?;
    Ok(klines.iter().map(|kline| encode::kline(kline, interval)).collect())
}

fn ticker(call: &Call) -> Result<OneOrAll<SpotTicker>, Error> {
    super::check_views(call)?;
    if let Some(symbol) = call.query().get("symbol") {
        let market = call.worker.markets.with(|markets| markets.by_symbol(&symbol).copied());
        let market = market.ok_or(refusal::TICKER_NOT_FOUND)?;
        let row = super::views(call)?.tickers().get(market.market).copied();
        return Ok(OneOrAll::One(encode::ticker(&row.ok_or(refusal::TICKER_NOT_FOUND)?, &market)));
    }
    let views = super::views(call)?;
    let markets = views.markets().in_order_of_symbol();
    let markets = markets.filter(|market| market.status != MarketStatus::Delisted);
    let rows = markets.filter_map(|market| Some(encode::ticker(views.tickers().get(market.market)?, market)));
    Ok(OneOrAll::All(rows.collect()))
}

fn symbol_and_limit(call: &Call) -> Result<(Cow<'_, str>, usize), Error> {
    let query = call.query();
    let symbol = query.get("symbol").filter(|symbol| !symbol.is_empty()).ok_or(refusal::SYMBOL_REQUIRED)?;
    let limit = decode::limit(query.get("limit").as_deref(), 50, 1000)?;
    Ok((symbol, limit))
}
