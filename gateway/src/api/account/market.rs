//! Perpetual markets for anyone, and what the outside says of them (`account.md` 9).

use super::{OF_VIEWS, get, shape, views};
use crate::api::docs::{Param, SYMBOL_SENT, Shape};
use crate::api::{Answer, Call, Error, Handler, Response, Route};
use crate::auth::access::Auth;
use crate::dialect::account::{market, refusal};
use crate::dialect::fapi::{encode, text};
use ringside_views::perpetual::Perpetuals;
use ringside_views::perpetual::market::PerpetualMarket;
use serde_json::{Value, json};

/// Oldest quote that is shown.
const QUOTE_AGE_MS: i64 = 60_000;
const SYMBOL: Param = Param::path("symbol", SYMBOL_SENT, "Name of the market, any case");
const OF_ONE: &[refusal::Refusal] = &[refusal::SYMBOL_NOT_FOUND, refusal::UNAVAILABLE];

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[OF_VIEWS],
        ..get(
            "/api/v1/markets",
            Auth::None,
            "Perpetual markets",
            &[],
            Shape::List(&shape::MARKET),
            Handler::Now(all),
        )
    },
    Route {
        named_refusals: &[OF_ONE],
        ..get(
            "/api/v1/markets/{symbol}",
            Auth::None,
            "One perpetual market",
            &[SYMBOL],
            shape::MARKET,
            Handler::Now(|call| one(call, |views, found| market::market(views, found, call.now_ms))),
        )
    },
    Route {
        named_refusals: &[OF_ONE],
        ..get(
            "/api/v1/markets/{symbol}/brackets",
            Auth::None,
            "Margin brackets of a perpetual market",
            &[SYMBOL],
            shape::BRACKETS,
            Handler::Now(|call| one(call, |_, found| json!(encode::brackets(found)))),
        )
    },
    Route {
        named_refusals: &[OF_ONE, &[refusal::EXTERNAL_UNAVAILABLE]],
        ..get(
            "/external/markets/{symbol}/ticker",
            Auth::None,
            "The newest quote of the first outside source of a perpetual market",
            &[SYMBOL],
            shape::EXTERNAL,
            Handler::Now(external),
        )
    },
];

fn all(call: &Call) -> Answer {
    let views = views(call)?;
    let perpetuals = views.perpetuals();
    let rows = perpetuals.markets().all().iter().map(|found| market::market(perpetuals, found, call.now_ms));
    Ok(Response::of(&rows.collect::<Vec<_>>()))
}

fn one(call: &Call, show: impl Fn(&Perpetuals, &PerpetualMarket) -> Value) -> Answer {
    let views = views(call)?;
    let found = views.perpetuals().markets().by_symbol(&call.path_param(0));
    Ok(Response::of(&show(views.perpetuals(), found.ok_or(refusal::SYMBOL_NOT_FOUND)?)))
}

fn external(call: &Call) -> Answer {
    let symbol = {
        let views = views(call)?;
        let found = views.perpetuals().markets().by_symbol(&call.path_param(0));
        found.ok_or(refusal::SYMBOL_NOT_FOUND)?.symbol().to_owned()
    };
    let feeds = call.worker.shared.feeds.all();
    let quote = call.worker.shared.quotes.of(feeds.iter().map(|entry| &entry.feed), &symbol);
    let quote = quote.filter(|quote| call.now_ms - quote.time_ms <= QUOTE_AGE_MS);
    let quote = quote.ok_or_else(|| Error::from(refusal::EXTERNAL_UNAVAILABLE))?;
    Ok(Response::of(&json!({
        "symbol": symbol,
        "source": quote.source,
        "last_price": text::units8(quote.last),
        "bid_price": text::units8(quote.bid),
        "ask_price": text::units8(quote.ask),
        "volume_24h": text::units8(quote.volume),
        "ts": quote.time_ms,
    })))
}
