//! Perpetual markets for anyone, and what the outside says of them (`account.md` 9).

use super::{OF_VIEWS, get, views};
use crate::api::docs::{Param, SYMBOL_SENT};
use crate::api::{Call, Error, Route, now};
use ringside_auth::access::Auth;
use ringside_core::ids::text;
use ringside_dialect::account::{market, refusal};
use ringside_dialect::fapi::encode;
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::account::venue::{self, ExternalTicker};
use ringside_wire::name::Market;
use ringside_wire::number::Units;

/// Oldest quote that is shown.
const QUOTE_AGE_MS: i64 = 60_000;
const SYMBOL: Param = Param::path("symbol", SYMBOL_SENT, "Name of the market, any case");
const OF_ONE: &[refusal::Refusal] = &[refusal::SYMBOL_NOT_FOUND, refusal::UNAVAILABLE];

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[OF_VIEWS],
        ..get("/api/v1/markets", Auth::None, "Perpetual markets", &[], now!(all))
    },
    Route {
        named_refusals: &[OF_ONE],
        ..get(
            "/api/v1/markets/{symbol}",
            Auth::None,
            "One perpetual market",
            &[SYMBOL],
            now!(|call| one(call, |views, found| market::market(views, found, call.now_ms))),
        )
    },
    Route {
        named_refusals: &[OF_ONE],
        ..get(
            "/api/v1/markets/{symbol}/brackets",
            Auth::None,
            "Margin brackets of a perpetual market",
            &[SYMBOL],
            now!(|call| one(call, |_, found| encode::brackets(found))),
        )
    },
    Route {
        named_refusals: &[OF_ONE, &[refusal::EXTERNAL_UNAVAILABLE]],
        ..get(
            "/external/markets/{symbol}/ticker",
            Auth::None,
            "The newest quote of the first outside source of a perpetual market",
            &[SYMBOL],
            now!(external),
        )
    },
];

fn all(call: &Call) -> Result<Vec<venue::PerpetualMarket>, Error> {
    let views = views(call)?;
    let perpetuals = views.perpetuals();
    let rows = perpetuals.markets().all().iter().map(|found| market::market(perpetuals, found, call.now_ms));
    Ok(rows.collect())
}

fn one<T>(call: &Call, show: impl Fn(&Perpetuals, &PerpetualMarket) -> T) -> Result<T, Error> {
    let views = views(call)?;
    let found = views.perpetuals().markets().by_symbol(&call.path_param(0));
    Ok(show(views.perpetuals(), found.ok_or(refusal::SYMBOL_NOT_FOUND)?))
}

fn external(call: &Call) -> Result<ExternalTicker, Error> {
    let symbol = {
        let views = views(call)?;
        let found = views.perpetuals().markets().by_symbol(&call.path_param(0));
        found.ok_or(refusal::SYMBOL_NOT_FOUND)?.symbol
    };
    let feeds = call.worker.shared.feeds.all();
    let quote = call.worker.shared.quotes.of(feeds.iter().map(|entry| &entry.feed), text(&symbol));
    let quote = quote.filter(|quote| call.now_ms - quote.time_ms <= QUOTE_AGE_MS);
    let quote = quote.ok_or_else(|| Error::from(refusal::EXTERNAL_UNAVAILABLE))?;
    Ok(ExternalTicker {
        symbol: Market(symbol),
        source: quote.source,
        last_price: Units(quote.last),
        bid_price: Units(quote.bid),
        ask_price: Units(quote.ask),
        volume_24h: Units(quote.volume),
        ts: quote.time_ms,
    })
}
