//! Routes outside `/fapi` that are about accounts, and those of operators (`account.md`): rows and handlers. What words mean is the
//! dialect's; what can be read, the views'; what has happened, the history's.

pub mod approval;
pub mod chain;
pub mod clock;
pub mod cluster;
pub mod dispute;
pub mod faucet;
pub mod feed;
pub mod fees;
pub mod history;
pub mod limit;
pub mod listing;
pub mod margin_mode;
pub mod market;
pub mod operator;
pub mod order;
pub mod overview;
pub mod proof;
pub mod referral;
pub mod token;
pub mod treasury;
pub mod withdrawal;

use super::docs::Param;
use super::operate::REASON_LEN_MAX;
use super::{Answers, Call, Error, Method, Query, Route};
use parking_lot::RwLockReadGuard;
use ringside_auth::access::Auth;
use ringside_commands::ingress::EngineState;
use ringside_core::ids::{MarketId, Symbol};
use ringside_dialect::account::params::typed;
use ringside_dialect::account::refusal::{self, Refusal};
use ringside_dialect::fapi;
use ringside_edge::unavailable::account as unavailable;
use ringside_views::Views;
use ringside_views::archive::readers::Unreadable;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::order::OrderRecord;
use ringside_wire::futures::order::FuturesOrder;
use ringside_wire::refusal::Dialect;
use serde_json::value::RawValue;

/// Names of a market's states.
const STATES: &[&str] = fapi::words::TradingState::ALL;
/// Refusals of what reads the views.
const OF_VIEWS: &[Refusal] = &[refusal::UNAVAILABLE];
/// Refusals of what reads the archive as well.
const OF_HISTORY: &[Refusal] = &[refusal::UNAVAILABLE, refusal::BUSY, refusal::INTERNAL];
/// Refusals of what hands a command to the engine.
const OF_ENGINE: &[Refusal] = &[refusal::UNAVAILABLE, refusal::BUSY, refusal::UNKNOWN];

/// A GET of this dialect.
const fn get(
    path: &'static str,
    auth: Auth,
    summary: &'static str,
    params: &'static [Param],
    answers: Answers,
) -> Route {
    Route {
        dialect: Dialect::Account,
        auth,
        tag: "account",
        summary,
        params,
        ..Route::of(Method::Get, path, answers)
    }
}

/// A row of operators.
const fn admin(method: Method, path: &'static str, summary: &'static str, answers: Answers) -> Route {
    Route {
        dialect: Dialect::Account,
        auth: Auth::Admin,
        tag: "admin",
        summary,
        ..Route::of(method, path, answers)
    }
}

/// The views, once they show the state. Hold them for bounded work only.
fn views(call: &Call) -> Result<RwLockReadGuard<'_, Views>, Error> {
    match call.phase {
        EngineState::Running | EngineState::Halted | EngineState::Mirror | EngineState::Carrying => {
            Ok(call.worker.shared.views.read())
        }
        EngineState::Restarting | EngineState::Disabled => Err(refusal::UNAVAILABLE.into()),
    }
}

/// The market of a symbol that may be sent.
fn market_of<'v>(views: &'v Views, query: Query<'_>) -> Result<Option<&'v PerpetualMarket>, Error> {
    let Some(symbol) = query.get("symbol") else { return Ok(None) };
    let market = views.perpetuals().markets().by_symbol(&symbol);
    Ok(Some(market.ok_or(refusal::SYMBOL_NOT_FOUND)?))
}

/// Orders as they are shown.
fn order_list<'a>(
    call: &Call,
    orders: impl Iterator<Item = &'a OrderRecord>,
) -> Result<Vec<FuturesOrder>, Error> {
    let views = views(call)?;
    Ok(orders.map(|order| shown(&views, order)).collect())
}

/// An order as it is shown.
fn shown(views: &Views, order: &OrderRecord) -> FuturesOrder {
    fapi::order::shown(order, name_of(views, order.told.market), false)
}

/// The name of a market that may be gone.
fn name_of(views: &Views, market: MarketId) -> Symbol {
    views.perpetuals().markets().get(market).map_or([0; _], |market| market.symbol)
}

/// No answer of the archive.
fn from_archive(reason: Unreadable) -> Error {
    match reason {
        Unreadable::Busy => refusal::BUSY.into(),
        Unreadable::Failed => refusal::INTERNAL.into(),
    }
}

/// Why something is done, where it is said.
fn reason(sent: Option<&RawValue>) -> Result<String, Error> {
    let reason: String = typed("reason", sent)?.unwrap_or_default();
    reason_of(&reason)?;
    Ok(reason)
}

/// The same where nothing is done without it.
fn needed_reason(sent: Option<&RawValue>) -> Result<String, Error> {
    let reason = reason(sent)?;
    if reason.trim().is_empty() {
        let text = format!("reason: 1 to {REASON_LEN_MAX} bytes");
        return Err(refusal::INVALID_PARAMETER.saying(text).into());
    }
    Ok(reason)
}

/// A reason that is short enough.
fn reason_of(reason: &str) -> Result<(), Error> {
    if reason.len() > REASON_LEN_MAX {
        return Err(refusal::INVALID_PARAMETER
            .saying(format!("reason: at most {REASON_LEN_MAX} bytes"))
            .into());
    }
    Ok(())
}
