//! What an operator does on the perpetual side (`account.md` 13): credits, index prices, states of symbols. Each is one command.

use crate::api::docs::{Field, Param, Shape};
use crate::api::{Answer, Auth, Call, Error, Handler, Method, Response, Route};
use crate::auth::parse_address;
use crate::config::Config;
use crate::dialect::decimal;
use crate::dialect::fapi::params::Decimal;
use crate::dialect::fapi::words;
use crate::dialect::spot::refusal as spot;
use crate::ingress::Priority;
use ringside_core::command::{Body, Command, CreditPerpetual, SetManualPrice, SetPerpetualState};
use ringside_core::ids::{MarketId, padded};
use ringside_core::reject::Reject;

const INVALID_ADDRESS: spot::Refusal = spot::Refusal { status: 400, error: "invalid address" };
const OK: Shape = Shape::Object(&[Field::new("ok", Shape::Boolean, "true")]);

/// Rows.
pub static ROUTES: &[Route] = &[
    Route {
        auth: Auth::Admin,
        is_api: false,
        precondition: Some(is_test_deployment),
        tag: "admin",
        summary: "Credit a perpetual wallet; test deployments only",
        body: Shape::Object(&[
            Field::new("user_address", Shape::Text, "The wallet's address"),
            Field::new("amount", Shape::DecimalInput, "Of the margin asset, at most 6 decimals"),
            Field::optional("reason", Shape::Text, "Audit note, at most 64 bytes"),
        ]),
        response: OK,
        ..Route::new(Method::Post, "/admin/perpetual/credit", Handler::Later(|call| Box::pin(credit(call))))
    },
    Route {
        auth: Auth::Admin,
        is_api: false,
        precondition: Some(is_test_deployment),
        tag: "admin",
        summary: "Pin the index of a perpetual market; test deployments only",
        body: Shape::Object(&[
            Field::new("symbol", Shape::Text, "Name of the market"),
            Field::optional("price", Shape::DecimalInput, "The index; null or absent frees it"),
        ]),
        response: OK,
        ..Route::new(Method::Post, "/admin/perpetual/index-price", Handler::Later(|call| Box::pin(pin(call))))
    },
    Route {
        auth: Auth::Admin,
        is_api: false,
        tag: "admin",
        summary: "Set the state of a perpetual market; CLOSED settles it and is final",
        params: &[Param::path("symbol", Shape::Text, "Name of the market, any case")],
        body: Shape::Object(&[Field::new(
            "state",
            Shape::OneOf(&["TRADING", "POST_ONLY", "REDUCE_ONLY", "CANCEL_ONLY", "HALTED", "CLOSED"]),
            "",
        )]),
        response: OK,
        ..Route::new(
            Method::Patch,
            "/admin/perpetual/symbols/{symbol}",
            Handler::Later(|call| Box::pin(set_state(call))),
        )
    },
];

fn is_test_deployment(config: &Config) -> Result<(), Error> {
    if config.test_deployment { Ok(()) } else { Err(spot::DISABLED.into()) }
}

#[derive(serde::Deserialize)]
struct CreditBody<'a> {
    #[serde(borrow, default)]
    user_address: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    amount: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    reason: Option<std::borrow::Cow<'a, str>>,
}

#[derive(serde::Deserialize)]
struct PriceBody<'a> {
    #[serde(borrow, default)]
    symbol: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    price: Option<&'a serde_json::value::RawValue>,
}

#[derive(serde::Deserialize)]
struct StateBody<'a> {
    #[serde(borrow, default)]
    state: Option<std::borrow::Cow<'a, str>>,
}

/// A decimal sent as text or as a number.
fn number(raw: &serde_json::value::RawValue) -> Option<Decimal> {
    decimal::parse_amount(raw.get().trim_matches('"').as_bytes()).map(Decimal)
}

async fn credit(call: Call) -> Answer {
    let body: CreditBody<'_> = call.json()?;
    let address = body.user_address.as_deref().and_then(parse_address).ok_or(INVALID_ADDRESS)?;
    let amount = body.amount.and_then(number).and_then(Decimal::micros).filter(|amount| *amount > 0);
    let reason = padded(body.reason.as_deref().unwrap_or("")).ok_or(spot::INVALID_AMOUNT)?;
    let command =
        CreditPerpetual { address, reserved: 0, amount: amount.ok_or(spot::INVALID_AMOUNT)?, reason };
    carry_out(&call, command).await
}

async fn pin(call: Call) -> Answer {
    let body: PriceBody<'_> = call.json()?;
    let market = market(&call, body.symbol.as_deref().unwrap_or(""))?;
    let price = match body.price {
        None => 0,
        Some(raw) => number(raw)
            .and_then(|price| price.price().ok())
            .filter(|price| *price > 0)
            .ok_or(spot::INVALID_PRICE)?,
    };
    carry_out(&call, SetManualPrice { market, reserved: 0, price }).await
}

async fn set_state(call: Call) -> Answer {
    let body: StateBody<'_> = call.json()?;
    let market = market(&call, &call.path_param(0))?;
    let state = body.state.as_deref().and_then(words::parse_state).ok_or(spot::INVALID_STATUS)?;
    carry_out(&call, SetPerpetualState { market, state: state as u8, reserved: [0; 3] }).await
}

fn market(call: &Call, symbol: &str) -> Result<MarketId, Error> {
    let views = call.worker.shared.views.read();
    let market = views.perpetuals().markets().by_symbol(symbol);
    Ok(market.ok_or(spot::MARKET_NOT_FOUND)?.market)
}

async fn carry_out<B: Body>(call: &Call, body: B) -> Answer {
    let reply = call.worker.ingress.submit(Command::new(body), Priority::Internal).await?;
    match reply.done.rejected() {
        None => Ok(Response::json("{\"ok\":true}")),
        Some(Reject::MarketNotFound) => Err(spot::MARKET_NOT_FOUND.into()),
        Some(Reject::MarketDelisted) => Err(spot::MARKET_DELISTED.into()),
        // The market never had a mark price: it cannot open.
        Some(Reject::NoMarkPrice) => Err(spot::MARKET_HALTED.into()),
        Some(_) => Err(spot::INVALID_AMOUNT.into()),
    }
}
