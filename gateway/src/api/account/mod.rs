//! Routes outside `/fapi` that are about accounts, and those of operators (`account.md`): rows and handlers. What words mean is the
//! dialect's; what can be read, the views'; what has happened, the history's.

pub mod approval;
pub mod chain;
pub mod clock;
pub mod dispute;
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
pub mod shape;
pub mod token;
pub mod treasury;
pub mod withdrawal;

use super::docs::{Field, Param, Shape};
use super::operate::REASON_LEN_MAX;
use super::{Answer, Call, Error, Handler, Method, Query, Response, Route, StatusCode};
use crate::auth::access::Auth;
use crate::dialect::Dialect;
use crate::dialect::account::params::typed;
use crate::dialect::account::refusal::{self, Refusal, Refused};
use crate::dialect::fapi;
use crate::ingress::{Phase, Unavailable};
use parking_lot::RwLockReadGuard;
use ringside_views::Views;
use ringside_views::archive::readers::Unreadable;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_views::perpetual::order::OrderRecord;
use serde_json::value::RawValue;

impl From<Refused> for Error {
    fn from(Refused { refusal, message }: Refused) -> Error {
        let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Error::named(status, refusal.code).with_message(message)
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Error {
        Refused::from(refusal).into()
    }
}

/// Names of a market's states.
const STATES: &[&str] = &["TRADING", "POST_ONLY", "REDUCE_ONLY", "CANCEL_ONLY", "HALTED", "CLOSED"];
/// The answer where there is nothing to say.
const OK: Shape = Shape::Object(&[Field::new("ok", Shape::Boolean, "true")]);
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
    response: Shape,
    handler: Handler,
) -> Route {
    Route {
        dialect: Dialect::Account,
        auth,
        tag: "account",
        summary,
        params,
        response,
        ..Route::new(Method::Get, path, handler)
    }
}

/// The views, once they show the state. Hold them for bounded work only.
fn views(call: &Call) -> Result<RwLockReadGuard<'_, Views>, Error> {
    match call.worker.ingress.phase() {
        Phase::Running | Phase::Halted => Ok(call.worker.shared.views.read()),
        Phase::Restarting | Phase::Disabled => Err(refusal::UNAVAILABLE.into()),
    }
}

/// The market of a symbol that may be sent.
fn market_of<'v>(views: &'v Views, query: Query<'_>) -> Result<Option<&'v PerpetualMarket>, Error> {
    let Some(symbol) = query.get("symbol") else { return Ok(None) };
    let market = views.perpetuals().markets().by_symbol(&symbol);
    Ok(Some(market.ok_or(refusal::SYMBOL_NOT_FOUND)?))
}

/// Orders as they are shown.
fn order_list<'a>(call: &Call, orders: impl Iterator<Item = &'a OrderRecord>) -> Answer {
    let views = views(call)?;
    let show = |order: &OrderRecord| {
        let market = views.perpetuals().markets().get(order.told.market);
        fapi::order::shown(order, market.map_or([0; 20], |market| market.symbol), false)
    };
    Ok(Response::of(&orders.map(show).collect::<Vec<_>>()))
}

/// No reply, as this dialect answers it.
fn unavailable(unavailable: Unavailable) -> Error {
    match unavailable {
        Unavailable::Unknown => refusal::UNKNOWN.into(),
        Unavailable::Busy => refusal::BUSY.into(),
        Unavailable::Disabled | Unavailable::Restarting | Unavailable::Halted => refusal::UNAVAILABLE.into(),
    }
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
