//! What the administrator does: list, change and close markets, credit balances. Each is one command.

use super::{shape, unavailable};
use crate::api::docs::{Field, Param, SYMBOL_SENT, Shape};
use crate::api::operate::{Action, REASON, Subject, operate};
use crate::api::{Call, Error, Method, Route, later};
use ringside_auth::access::Auth;
use ringside_config::Config;
use ringside_core::command::{Body, MarketStatus, SetMarketStatus};
use ringside_core::ids::text;
use ringside_core::reject::Reject;
use ringside_dialect::spot::admin::{
    self, CreditBody, INVALID_REASON, INVALID_TOKEN, ListBody, StatusBody, UpdateBody,
};
use ringside_dialect::spot::refusal::{self, Refusal};
use ringside_views::market::MarketRecord;
use ringside_wire::account::{DONE, Done};
use ringside_wire::name::Market;
use ringside_wire::number::Amount;
use ringside_wire::spot::words::SpotMarketStatus;
use ringside_wire::spot::{MarketDone, StatusDone};
use std::time::Duration;

/// How long the answer to a delisting waits for the last order to end, and how often it looks. A million orders take seconds.
const DELISTING_PATIENCE: Duration = Duration::from_secs(30);
const DELISTING_LOOK: Duration = Duration::from_millis(5);

const ID: Param = Param::path("id", SYMBOL_SENT, "Name of the market, any case");
/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        auth: Auth::Admin,
        tag: "admin",
        summary: "List a market",
        body: shape::LIST_MARKET,
        refusals: &[
            admin::OF_NAMES,
            admin::OF_RULES,
            &[INVALID_REASON, refusal::MARKET_EXISTS],
            super::OF_ENGINE,
        ],
        ..Route::of(Method::Post, "/api/v1/admin/spot/markets", later!(list_market))
    },
    Route {
        auth: Auth::Admin,
        tag: "admin",
        summary: "Change entry rules or fees of a market; open orders are not judged again",
        params: &[ID],
        body: shape::UPDATE_MARKET,
        refusals: &[admin::OF_RULES, &[INVALID_REASON, refusal::MARKET_NOT_FOUND], super::OF_ENGINE],
        ..Route::of(Method::Patch, "/api/v1/admin/spot/markets/{id}", later!(update_market))
    },
    Route {
        auth: Auth::Admin,
        tag: "admin",
        summary: "Halt, list again or delist a market; delisting cancels its orders and is final",
        params: &[ID],
        body: Shape::Object(&[Field::new("status", shape::MARKET_STATUS, ""), REASON]),
        refusals: &[
            &[refusal::INVALID_STATUS, INVALID_REASON, refusal::MARKET_NOT_FOUND, refusal::MARKET_DELISTED],
            super::OF_ENGINE,
        ],
        ..Route::of(Method::Patch, "/api/v1/admin/spot/markets/{id}/status", later!(set_status))
    },
    Route {
        auth: Auth::Admin,
        precondition: Some(is_test_deployment),
        tag: "admin",
        summary: "Raise an available balance; test deployments only",
        body: shape::CREDIT,
        refusals: &[&[refusal::DISABLED], admin::OF_CREDIT, super::OF_ENGINE],
        ..Route::of(Method::Post, "/api/v1/admin/spot/balances/credit", later!(credit))
    },
];

fn is_test_deployment(config: &Config) -> Result<(), Error> {
    if config.test_deployment { Ok(()) } else { Err(refusal::DISABLED.into()) }
}

/// A refused member with what it may be (`spot.md` 5).
fn explained(refusal: Refusal, body: &Shape) -> Error {
    let error = Error::from(refusal);
    let name = refusal.error.strip_prefix("invalid ").unwrap_or_default();
    match body {
        Shape::Object(fields) => match fields.iter().find(|field| field.name == name) {
            Some(field) => error.with_message(format!("{name}: {}", field.doc)),
            None => error,
        },
        _ => error,
    }
}

async fn list_market(call: Call) -> Result<MarketDone, Error> {
    let body: ListBody<'_> = call.json()?;
    let list = body.command().map_err(|refusal| explained(refusal, &shape::LIST_MARKET))?;
    let reason = body.reason()?;
    let action = Action {
        subject: Subject::Market(list.symbol),
        detail: admin::detail_of_list(&list),
        reason: &reason,
    };
    submit(&call, action, list).await?;
    Ok(MarketDone { ok: true, id: Market(list.symbol) })
}

async fn update_market(call: Call) -> Result<MarketDone, Error> {
    let body: UpdateBody<'_> = call.json()?;
    let market = market(&call)?;
    let update = body.command(market.market).map_err(|refusal| explained(refusal, &shape::UPDATE_MARKET))?;
    let reason = body.reason()?;
    if update.mask != 0 {
        let detail = admin::detail_of_update(&update);
        let action = Action { subject: Subject::Market(market.symbol), detail, reason: &reason };
        submit(&call, action, update).await?;
    }
    Ok(MarketDone { ok: true, id: Market(market.symbol) })
}

async fn set_status(call: Call) -> Result<StatusDone, Error> {
    let body: StatusBody<'_> = call.json()?;
    let market = market(&call)?;
    let status = body.status()?;
    let (detail, reason) = (SpotMarketStatus::of(status).text().to_owned(), body.reason()?);
    let command = SetMarketStatus { market: market.market, status: status as u8, reserved: [0; 3] };
    let action = Action { subject: Subject::Market(market.symbol), detail, reason: &reason };
    submit(&call, action, command).await?;
    let status = if status == MarketStatus::Delisted { delisted(&call, &market).await? } else { status };
    let done = MarketDone { ok: true, id: Market(market.symbol) };
    Ok(StatusDone { done, status: SpotMarketStatus::of(status) })
}

/// The status of a market whose orders end by and by (`risk.md` 19): delisted once none is left, which is waited for.
async fn delisted(call: &Call, market: &MarketRecord) -> Result<MarketStatus, Error> {
    let begin = tokio::time::Instant::now();
    loop {
        let status = super::market(call, market.symbol())?.status;
        if status == MarketStatus::Delisted || begin.elapsed() > DELISTING_PATIENCE {
            return Ok(status);
        }
        tokio::time::sleep(DELISTING_LOOK).await;
    }
}

async fn credit(call: Call) -> Result<Done, Error> {
    let body: CreditBody<'_> = call.json()?;
    let credit = body.command().map_err(|refusal| explained(refusal, &shape::CREDIT))?;
    let reason = body.reason()?;
    let is_foreign = call.worker.markets.with(|markets| {
        let asset = markets.asset(text(&credit.asset));
        asset.is_some_and(|asset| !markets.is_token(asset))
    });
    if is_foreign {
        return Err(INVALID_TOKEN.into());
    }
    let action = Action {
        subject: Subject::Account(credit.address),
        detail: format!("{} {}", Amount(credit.amount.get()), text(&credit.asset)),
        reason: &reason,
    };
    let reply = operate(&call, action, credit).await.map_err(unavailable)?;
    match reply.done.rejected() {
        None => Ok(DONE),
        // The engine's word for an asset that it does not have.
        Some(Reject::MarketNotFound) => Err(INVALID_TOKEN.into()),
        Some(reject) => Err(refusal::of_reject(reject).into()),
    }
}

/// Carries out a command; `Err` also when the engine refuses it.
async fn submit<B: Body>(call: &Call, action: Action<'_>, body: B) -> Result<(), Error> {
    let reply = operate(call, action, body).await.map_err(unavailable)?;
    match reply.done.rejected() {
        None => Ok(()),
        Some(reject) => Err(refusal::of_reject(reject).into()),
    }
}

/// The market that the path names.
fn market(call: &Call) -> Result<MarketRecord, Error> {
    super::market(call, &call.path_param(0))
}
