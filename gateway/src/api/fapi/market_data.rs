//! Public market data as it stands (`perpetual.md` 5 and 6). What has happened: `series.rs`.

use super::{by_symbol, get, market, of_funding, one_or_all, optional_market, params, shape, views};
use crate::api::docs::Param;
use crate::api::{Answers, Call, Error, Query, Route, Weight, now};
use ringside_auth::access::Auth;
use ringside_core::command::PerpetualParameter;
use ringside_core::ids::FEE_ACCOUNT;
use ringside_core::money::UNIT;
use ringside_dialect::fapi::encode::Steps;
use ringside_dialect::fapi::params::Params;
use ringside_dialect::fapi::{encode, margin, refusal, text};
use ringside_wire::futures::market::{
    Constituent, Constituents, Depth, Empty, ExchangeInfo, FundBalance, FundingBounds, FuturesAssetIndex,
    FuturesBest, FuturesDay, FuturesInsuranceFund, FuturesLastPrice, FuturesPremiumIndex, MarginAsset,
    OneOrAll, OpenInterest, Schedules, TradingSchedule,
};
use ringside_wire::futures::order::FuturesRateLimit;
use ringside_wire::futures::{ServerTime, SystemStatus};
use ringside_wire::number::{Exact, Fixed, Name, SignedExact, SignedFixed, SignedMoney, SignedUnits, Units};
use serde_json::Value;

/// The answer where there is nothing of what is asked for.
const NONE: Result<Vec<Value>, Error> = Ok(Vec::new());

const fn public(
    path: &'static str,
    weight: u32,
    summary: &'static str,
    params: &'static [Param],
    answers: Answers,
) -> Route {
    get(path, Auth::None, weight, summary, params, answers)
}

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    public("/fapi/v1/ping", 1, "Whether it is there", &[], now!(ping)),
    public("/fapi/v1/time", 1, "Server time", &[], now!(time)),
    public("/fapi/v1/exchangeInfo", 1, "Symbols, filters and limits", &[], now!(exchange_info)),
    Route {
        weight: Weight::ByQuery(depth_weight),
        ..public("/fapi/v1/depth", 2, "Levels of a book", &[shape::SYMBOL, shape::DEPTH_LIMIT], now!(depth))
    },
    public(
        "/fapi/v1/rpiDepth",
        20,
        "Levels of a book and of retail price improvement, of which there is none",
        &[shape::SYMBOL, shape::IMPROVED_LIMIT],
        now!(improved_depth),
    ),
    by_symbol(
        public(
            "/fapi/v1/premiumIndex",
            1,
            "Mark, index and funding",
            &[shape::OF_SYMBOL],
            now!(premium_index),
        ),
        |query| with(query, 1, 10),
    ),
    of_funding(public("/fapi/v1/fundingInfo", 0, "Bounds of funding rates", &[], now!(funding_info))),
    by_symbol(
        public("/fapi/v1/ticker/24hr", 1, "The rolling day", &[shape::OF_SYMBOL], now!(ticker)),
        |query| with(query, 1, 40),
    ),
    by_symbol(public("/fapi/v1/ticker/price", 1, "Last prices", &[shape::OF_SYMBOL], now!(price)), |query| {
        with(query, 1, 2)
    }),
    by_symbol(public("/fapi/v2/ticker/price", 1, "Last prices", &[shape::OF_SYMBOL], now!(price)), |query| {
        with(query, 1, 2)
    }),
    by_symbol(
        public("/fapi/v1/ticker/bookTicker", 2, "Best levels", &[shape::OF_SYMBOL], now!(book_ticker)),
        |query| with(query, 2, 5),
    ),
    public("/fapi/v1/openInterest", 1, "Open interest", &[shape::SYMBOL], now!(open_interest)),
    public("/fapi/v1/constituents", 2, "Sources of an index", &[shape::SYMBOL], now!(constituents)),
    by_symbol(
        public("/fapi/v1/assetIndex", 1, "Index of the margin asset", &[shape::OF_ASSET], now!(asset_index)),
        |query| with(query, 1, 10),
    ),
    public("/fapi/v1/insuranceBalance", 1, "The insurance fund", &[shape::OF_SYMBOL], now!(insurance)),
    public("/fapi/v1/indexInfo", 1, "Composite indices: none", &[shape::OF_SYMBOL], now!(index_info)),
    public("/fapi/v1/tradingSchedule", 5, "Sessions of markets that close: none", &[], now!(schedule)),
    public("/futures/data/{name}", 1, "Statistics: none", &[shape::STATISTIC], now!(|_| NONE)),
    // What clients of several venues ask of the others before they come here (`clients.md` 4 and 9).
    public("/api/v3/ping", 1, "Whether it is there, for clients of several venues", &[], now!(ping)),
    public("/api/v3/time", 1, "Server time, for clients of several venues", &[], now!(time)),
    public(
        "/sapi/v1/system/status",
        1,
        "Whether it is there, for clients of several venues",
        &[],
        now!(|_| Ok(SystemStatus { status: 0, msg: "normal" })),
    ),
    public("/sapi/v1/capital/config/getall", 1, "Coins of another venue: none", &[], now!(|_| NONE)),
    public("/sapi/v1/margin/allPairs", 1, "Pairs of another venue: none", &[], now!(|_| NONE)),
];

pub(super) fn with(query: Query<'_>, with: u32, without: u32) -> u32 {
    if query.get("symbol").is_some_and(|symbol| !symbol.is_empty()) { with } else { without }
}

pub(super) fn limit_of(query: Query<'_>, default: u32) -> u32 {
    query.get("limit").and_then(|limit| limit.parse().ok()).unwrap_or(default)
}

fn ping(call: &Call) -> Result<Empty, Error> {
    params(call).map(|_| Empty {})
}

fn time(call: &Call) -> Result<ServerTime, Error> {
    params(call).map(|_| ServerTime { server_time: call.now_ms })
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
pub(super) fn order_limits(call: &Call) -> [FuturesRateLimit; 2] {
    let config = &call.worker.config;
    [
        FuturesRateLimit {
            rate_limit_type: "ORDERS",
            interval: "MINUTE",
            interval_num: 1,
            limit: config.orders_per_minute,
        },
        FuturesRateLimit {
            rate_limit_type: "ORDERS",
            interval: "SECOND",
            interval_num: 10,
            limit: config.orders_per_ten_seconds,
        },
    ]
}

fn exchange_info(call: &Call) -> Result<ExchangeInfo, Error> {
    params(call)?;
    let views = views(call)?;
    let [minute, seconds] = order_limits(call);
    let weight = FuturesRateLimit {
        rate_limit_type: "REQUEST_WEIGHT",
        interval: "MINUTE",
        interval_num: 1,
        limit: call.worker.config.weight_per_minute,
    };
    Ok(ExchangeInfo {
        timezone: "UTC",
        server_time: call.now_ms,
        futures_type: "U_MARGINED",
        rate_limits: [weight, minute, seconds],
        exchange_filters: Vec::new(),
        assets: [MarginAsset {
            asset: encode::USDT,
            margin_available: true,
            auto_asset_exchange: SignedUnits(0),
        }],
        symbols: views.perpetuals().markets().all().iter().map(encode::symbol).collect(),
    })
}

fn depth(call: &Call) -> Result<Depth, Error> {
    levels(call, 500, &[5, 10, 20, 50, 100, 500, 1000])
}

/// Beside its orders a book there has those of retail price improvement; here there are none.
fn improved_depth(call: &Call) -> Result<Depth, Error> {
    levels(call, 1000, &[1000])
}

fn levels(call: &Call, default: i64, allowed: &[usize]) -> Result<Depth, Error> {
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
    Ok(encode::depth(market, book, limit, call.now_ms))
}

fn premium_index(call: &Call) -> Result<OneOrAll<FuturesPremiumIndex>, Error> {
    let params = params(call)?;
    one_or_all(&*views(call)?, &params, |market| encode::premium_index(market, call.now_ms))
}

fn funding_info(call: &Call) -> Result<Vec<FundingBounds>, Error> {
    params(call)?;
    let views = views(call)?;
    let rows = views.perpetuals().markets().all().iter().map(|market| {
        let cap = market.setting(PerpetualParameter::FundingCap);
        FundingBounds {
            symbol: Name(market.symbol),
            adjusted_funding_rate_cap: SignedExact(cap),
            adjusted_funding_rate_floor: SignedExact(-cap),
            funding_interval_hours: market.setting(PerpetualParameter::FundingIntervalHours),
            disclaimer: false,
            update_time: market.funding_set_ms,
        }
    });
    Ok(rows.collect())
}

fn ticker(call: &Call) -> Result<OneOrAll<FuturesDay>, Error> {
    let params = params(call)?;
    let views = views(call)?;
    one_or_all(&views, &params, |market| {
        encode::ticker(market, &views.perpetuals().day(market, call.now_ms), call.now_ms)
    })
}

fn price(call: &Call) -> Result<OneOrAll<FuturesLastPrice>, Error> {
    let params = params(call)?;
    one_or_all(&*views(call)?, &params, |market| {
        let last = market.last_trade();
        FuturesLastPrice {
            symbol: Name(market.symbol),
            price: Steps::of(market).price(last.map_or(0, |last| last.price)),
            time: last.map_or(call.now_ms, |last| last.time_ms),
        }
    })
}

fn book_ticker(call: &Call) -> Result<OneOrAll<FuturesBest>, Error> {
    let params = params(call)?;
    let views = views(call)?;
    one_or_all(&views, &params, |market| encode::book_ticker(market, views.perpetuals().book(market.market)))
}

fn open_interest(call: &Call) -> Result<OpenInterest, Error> {
    let params = params(call)?;
    let views = views(call)?;
    let market = market(&views, &params)?;
    Ok(OpenInterest {
        symbol: Name(market.symbol),
        open_interest: SignedFixed(market.open_interest, text::decimals(market.lot())),
        time: call.now_ms,
    })
}

fn constituents(call: &Call) -> Result<Constituents, Error> {
    let params = params(call)?;
    let views = views(call)?;
    let market = market(&views, &params)?;
    let live: Vec<_> = market.sources.iter().filter(|source| source.weight > 0).collect();
    let total: i128 = live.iter().map(|source| i128::from(source.weight)).sum();
    let symbol = Name(market.symbol);
    let rows = live.iter().map(|source| Constituent {
        exchange: format!("source-{}", source.source),
        symbol,
        price: Units(source.price),
        weight: Fixed(i128::from(source.weight) * 100_000_000 / total.max(1), 8),
    });
    Ok(Constituents { symbol, time: call.now_ms, constituents: rows.collect() })
}

fn asset_index(call: &Call) -> Result<OneOrAll<FuturesAssetIndex>, Error> {
    let params: Params<'_> = params(call)?;
    let row = FuturesAssetIndex {
        symbol: "USDTUSD",
        time: call.now_ms,
        index: Exact(UNIT),
        bid_buffer: Exact(0),
        ask_buffer: Exact(0),
        bid_rate: SignedExact(UNIT),
        ask_rate: SignedExact(UNIT),
        auto_exchange_bid_buffer: SignedExact(0),
        auto_exchange_ask_buffer: SignedExact(0),
        auto_exchange_bid_rate: SignedExact(UNIT),
        auto_exchange_ask_rate: SignedExact(UNIT),
    };
    match params.get("symbol") {
        None => Ok(OneOrAll::All(vec![row])),
        Some(symbol) if symbol.eq_ignore_ascii_case("USDTUSD") => Ok(OneOrAll::One(row)),
        Some(_) => Err(refusal::SYMBOL.into()),
    }
}

/// One fund stands for every market.
fn insurance(call: &Call) -> Result<OneOrAll<FuturesInsuranceFund>, Error> {
    let params = params(call)?;
    let views = views(call)?;
    let chosen = optional_market(&views, &params)?;
    let perpetuals = views.perpetuals();
    let fund = margin::figures(perpetuals, FEE_ACCOUNT);
    let markets = perpetuals.markets().all();
    let mut assets: Vec<_> = markets.iter().map(|market| market.quote).collect();
    assets.dedup();
    let balance = |asset| FundBalance {
        asset: Name(asset),
        margin_balance: SignedMoney(fund.wallet + fund.unrealised),
        update_time: call.now_ms,
    };
    let group = FuturesInsuranceFund {
        symbols: markets.iter().map(|market| Name(market.symbol)).collect(),
        assets: assets.into_iter().map(balance).collect(),
    };
    Ok(if chosen.is_some() { OneOrAll::One(group) } else { OneOrAll::All(vec![group]) })
}

fn index_info(call: &Call) -> Result<Vec<Value>, Error> {
    match params(call)?.get("symbol") {
        None => NONE,
        Some(_) => Err(refusal::SYMBOL.into()),
    }
}

/// No market here is of an underlying that has sessions.
fn schedule(call: &Call) -> Result<TradingSchedule, Error> {
    params(call).map(|_| TradingSchedule { update_time: call.now_ms, market_schedules: Schedules::default() })
}
