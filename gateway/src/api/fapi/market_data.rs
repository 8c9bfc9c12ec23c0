//! Public market data as it stands (`perpetual.md` 5 and 6). What has happened: `series.rs`.

use super::{by_symbol, market, of_funding, one_or_all, optional_market, params, row, shape, views};
use crate::api::docs::Param;
use crate::api::{Answer, Call, Handler, Method, Query, Response, Route, Weight};
use crate::auth::access::Auth;
use crate::dialect::fapi::params::Params;
use crate::dialect::fapi::{encode, margin, refusal, text};
use ringside_core::command::PerpetualParameter;
use ringside_core::ids::FEE_ACCOUNT;
use ringside_views::perpetual::market::PerpetualMarket;
use serde_json::{Value, json};

const fn get(
    path: &'static str,
    weight: u32,
    summary: &'static str,
    params: &'static [Param],
    handle: fn(&Call) -> Answer,
) -> Route {
    row(Method::Get, path, Auth::None, weight, summary, params, Handler::Now(handle))
}

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    get("/fapi/v1/ping", 1, "Whether it is there", &[], ping),
    get("/fapi/v1/time", 1, "Server time", &[], time),
    get("/fapi/v1/exchangeInfo", 1, "Symbols, filters and limits", &[], exchange_info),
    Route {
        weight: Weight::ByQuery(depth_weight),
        ..get("/fapi/v1/depth", 2, "Levels of a book", &[shape::SYMBOL, shape::DEPTH_LIMIT], depth)
    },
    get(
        "/fapi/v1/rpiDepth",
        20,
        "Levels of a book and of retail price improvement, of which there is none",
        &[shape::SYMBOL, shape::IMPROVED_LIMIT],
        improved_depth,
    ),
    by_symbol(
        get("/fapi/v1/premiumIndex", 1, "Mark, index and funding", &[shape::OF_SYMBOL], premium_index),
        |query| with(query, 1, 10),
    ),
    of_funding(get("/fapi/v1/fundingInfo", 0, "Bounds of funding rates", &[], funding_info)),
    by_symbol(get("/fapi/v1/ticker/24hr", 1, "The rolling day", &[shape::OF_SYMBOL], ticker), |query| {
        with(query, 1, 40)
    }),
    by_symbol(get("/fapi/v1/ticker/price", 1, "Last prices", &[shape::OF_SYMBOL], price), |query| {
        with(query, 1, 2)
    }),
    by_symbol(get("/fapi/v2/ticker/price", 1, "Last prices", &[shape::OF_SYMBOL], price), |query| {
        with(query, 1, 2)
    }),
    by_symbol(
        get("/fapi/v1/ticker/bookTicker", 2, "Best levels", &[shape::OF_SYMBOL], book_ticker),
        |query| with(query, 2, 5),
    ),
    get("/fapi/v1/openInterest", 1, "Open interest", &[shape::SYMBOL], open_interest),
    get("/fapi/v1/constituents", 2, "Sources of an index", &[shape::SYMBOL], constituents),
    by_symbol(
        get("/fapi/v1/assetIndex", 1, "Index of the margin asset", &[shape::OF_ASSET], asset_index),
        |query| with(query, 1, 10),
    ),
    get("/fapi/v1/insuranceBalance", 1, "The insurance fund", &[shape::OF_SYMBOL], insurance),
    get("/fapi/v1/indexInfo", 1, "Composite indices: none", &[shape::OF_SYMBOL], index_info),
    get("/fapi/v1/tradingSchedule", 5, "Sessions of markets that close: none", &[], schedule),
    get("/futures/data/{name}", 1, "Statistics: none", &[shape::STATISTIC], |_| Ok(Response::json("[]"))),
    // What clients of several venues ask of the others before they come here (`clients.md` 4 and 9).
    get("/api/v3/ping", 1, "Whether it is there, for clients of several venues", &[], ping),
    get("/api/v3/time", 1, "Server time, for clients of several venues", &[], time),
    get("/sapi/v1/system/status", 1, "Whether it is there, for clients of several venues", &[], |_| {
        Ok(Response::json(r#"{"status":0,"msg":"normal"}"#))
    }),
    get("/sapi/v1/capital/config/getall", 1, "Coins of another venue: none", &[], |_| {
        Ok(Response::json("[]"))
    }),
    get("/sapi/v1/margin/allPairs", 1, "Pairs of another venue: none", &[], |_| Ok(Response::json("[]"))),
];

pub(super) fn with(query: Query<'_>, with: u32, without: u32) -> u32 {
    if query.get("symbol").is_some_and(|symbol| !symbol.is_empty()) { with } else { without }
}

pub(super) fn limit_of(query: Query<'_>, default: u32) -> u32 {
    query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(default)
}

fn ping(call: &Call) -> Answer {
    params(call)?;
    Ok(Response::json("{}"))
}

fn time(call: &Call) -> Answer {
    params(call)?;
    Ok(Response::of(&json!({ "serverTime": call.now_ms })))
}

fn depth_weight(query: Query<'_>) -> u32 {
    match limit_of(query, 500) {
        0..=50 => 2,
        51..=100 => 5,
        101..=500 => 10,
        _ => 20,
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
    params(call)?;
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
    levels(call, 500, &[5, 10, 20, 50, 100, 500, 1000])
}

/// Beside its orders a book there has those of retail price improvement; here there are none.
fn improved_depth(call: &Call) -> Answer {
    levels(call, 1000, &[1000])
}

fn levels(call: &Call, default: i64, allowed: &[usize]) -> Answer {
    let params = params(call)?;
    params.text("symbol")?;
    let limit = params.integer("limit")?.unwrap_or(default);
    let limit = match usize::try_from(limit) {
        Ok(sent) if allowed.contains(&sent) => sent,
        Ok(0..1000) => return Err(refusal::depth_limit(limit).into()),
        _ => return Err(refusal::not_valid("limit").into()),
    };
    let views = views(call)?;
    let market = market(&views, &params)?;
    let book = views.perpetuals().book(market.market);
    Ok(Response::of(&encode::depth(market, book, limit, call.now_ms)))
}

fn premium_index(call: &Call) -> Answer {
    let params = params(call)?;
    one_or_all(&*views(call)?, &params, |market| encode::premium_index(market, call.now_ms))
}

fn funding_info(call: &Call) -> Answer {
    params(call)?;
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
                "updateTime": market.funding_set_ms,
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

/// One fund stands for every market.
fn insurance(call: &Call) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    let chosen = optional_market(&views, &params)?;
    let perpetuals = views.perpetuals();
    let fund = margin::figures(perpetuals, FEE_ACCOUNT);
    let markets = perpetuals.markets().all();
    let mut assets: Vec<&str> = markets.iter().map(PerpetualMarket::quote).collect();
    assets.dedup();
    let balance = |asset: &str| json!({ "asset": asset, "marginBalance": text::money(fund.wallet + fund.unrealised), "updateTime": call.now_ms });
    let group = json!({
        "symbols": markets.iter().map(PerpetualMarket::symbol).collect::<Vec<_>>(),
        "assets": assets.into_iter().map(balance).collect::<Vec<_>>(),
    });
    Ok(Response::of(&if chosen.is_some() { group } else { json!([group]) }))
}

fn index_info(call: &Call) -> Answer {
    match params(call)?.get("symbol") {
        None => Ok(Response::json("[]")),
        Some(_) => Err(refusal::SYMBOL.into()),
    }
}

/// The kinds of underlyings that have sessions; no market here is of one.
fn schedule(call: &Call) -> Answer {
    const KINDS: [&str; 6] = ["EQUITY", "COMMODITY", "KR_EQUITY", "HK_EQUITY", "CN_EQUITY", "FX"];
    params(call)?;
    let none: serde_json::Map<String, Value> =
        KINDS.iter().map(|kind| ((*kind).to_owned(), json!({ "sessions": [] }))).collect();
    Ok(Response::of(&json!({ "updateTime": call.now_ms, "marketSchedules": none })))
}
