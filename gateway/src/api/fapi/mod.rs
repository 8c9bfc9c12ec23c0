//! Routes of the perpetual venue (`perpetual.md`): rows and handlers. What words mean is the dialect's; what can be read, the
//! views'; what has happened, the history's.

pub mod account;
pub mod adl;
pub mod algo;
pub mod history;
pub mod interest;
mod keyed;
pub mod leverage;
pub mod listen_key;
pub mod market_data;
pub mod order;
pub mod query;
pub mod series;
pub mod shape;

use super::docs::Param;
use super::{Answers, Call, Error, Method, Query, Route, Weight};
use parking_lot::RwLockReadGuard;
use ringside_auth::access::{Auth, Permission};
use ringside_commands::ingress::{EngineState, Priority, Reply, Unavailable};
use ringside_core::command::{Body, Command};
use ringside_core::ids::{MarketId, Symbol};
use ringside_dialect::fapi::params::Params;
use ringside_dialect::fapi::refusal;
use ringside_dialect::fapi::reject;
use ringside_edge::unavailable::fapi as unavailable;
use ringside_views::Views;
use ringside_views::archive::readers::Unreadable;
use ringside_views::archive::{OWN_KEPT_MS, Removed};
use ringside_views::kept::List;
use ringside_views::log::Page;
use ringside_views::perpetual::market::PerpetualMarket;
use ringside_wire::futures::FuturesSuccess;
use ringside_wire::futures::market::OneOrAll;
use ringside_wire::refusal::Dialect;
use std::ops::RangeInclusive;

/// A row of this dialect.
const fn row(
    method: Method,
    path: &'static str,
    auth: Auth,
    weight: u32,
    summary: &'static str,
    params: &'static [Param],
    Answers { response, handler }: Answers,
) -> Route {
    Route {
        dialect: Dialect::Fapi,
        auth,
        weight: Weight::Fixed(weight),
        tag: "perpetual",
        summary,
        params,
        response,
        ..Route::new(method, path, handler)
    }
}

/// A row that reads.
const fn get(
    path: &'static str,
    auth: Auth,
    weight: u32,
    summary: &'static str,
    params: &'static [Param],
    answers: Answers,
) -> Route {
    row(Method::Get, path, auth, weight, summary, params, answers)
}

/// A row whose weight depends on what is sent.
const fn by_query(row: Route, weight: fn(Query<'_>) -> u32) -> Route {
    Route { weight: Weight::ByQuery(weight), ..row }
}

/// A row that the limiter of funding routes counts.
const fn of_funding(row: Route) -> Route {
    Route { is_of_funding: true, ..row }
}

/// A row whose weight depends on whether a symbol is sent.
const fn by_symbol(row: Route, weight: fn(Query<'_>) -> u32) -> Route {
    by_query(row, weight)
}

/// Who reads an account.
const READ: Auth = Auth::Signed(Permission::Read);
/// Who trades.
const TRADE: Auth = Auth::Signed(Permission::Trade);

/// Parameters of a request.
pub(crate) fn params(call: &Call) -> Result<Params<'_>, Error> {
    let form = call.form().map_err(|fault| fault.error(Dialect::Fapi))?;
    Ok(Params::read(call.head.uri.query().unwrap_or(""), form)?)
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

/// The views behind a reply, whose command they show: it was carried out, also where the lead or its lease has ended since, and a refusal
/// now would say that nothing was done.
fn shown(call: &Call) -> RwLockReadGuard<'_, Views> {
    call.worker.shared.views.read()
}

/// The market of a mandatory symbol.
fn market<'v>(views: &'v Views, params: &Params<'_>) -> Result<&'v PerpetualMarket, Error> {
    let symbol = params.text("symbol")?;
    Ok(views.perpetuals().markets().by_symbol(symbol).ok_or(refusal::SYMBOL)?)
}

/// The market of a symbol that may be sent.
fn optional_market<'v>(views: &'v Views, params: &Params<'_>) -> Result<Option<&'v PerpetualMarket>, Error> {
    match params.get("symbol") {
        None => Ok(None),
        Some(_) => market(views, params).map(Some),
    }
}

/// A page of rows of a time: the oldest where a lower bound was sent, else the newest (`perpetual.md` 8, "Which end"), so that a
/// loop from the last row's time on sees each once.
fn within(page: Page, params: &Params<'_>, times: RangeInclusive<i64>) -> Page {
    page.within(times).oldest(params.get("startTime").is_some())
}

/// Refuses what begins among own rows that an operator has exported and removed: a shorter answer would look like a whole one.
async fn check_own(
    call: &Call,
    list: List,
    market: MarketId,
    name: &str,
    is_among: impl Fn(&Removed) -> bool,
) -> Result<(), Error> {
    let removed = call.worker.shared.history.removed(list, call.account(), Some(market)).await;
    match removed.map_err(from_archive)?.filter(is_among) {
        Some(removed) => Err(refusal::removed_own(name, removed.time_ms).into()),
        None => Ok(()),
    }
}

/// The same of a window that was sent. What is younger than all that may be removed is not looked at.
async fn check_window(
    call: &Call,
    list: List,
    market: MarketId,
    params: &Params<'_>,
    start: i64,
) -> Result<(), Error> {
    let sent = ["startTime", "endTime"].into_iter().find(|name| params.get(name).is_some());
    match sent.filter(|_| start < call.now_ms - OWN_KEPT_MS) {
        Some(name) => check_own(call, list, market, name, |removed| start <= removed.time_ms).await,
        None => Ok(()),
    }
}

/// One object with a symbol, an array of all without.
fn one_or_all<T>(
    views: &Views,
    params: &Params<'_>,
    show: impl Fn(&PerpetualMarket) -> T,
) -> Result<OneOrAll<T>, Error> {
    Ok(match optional_market(views, params)? {
        Some(market) => OneOrAll::One(show(market)),
        None => OneOrAll::All(views.perpetuals().markets().all().iter().map(show).collect()),
    })
}

/// No answer of the archive.
fn from_archive(reason: Unreadable) -> Error {
    match reason {
        Unreadable::Busy => refusal::NOT_HANDED_OVER.into(),
        Unreadable::Failed => refusal::INTERNAL.into(),
    }
}

/// Hands a command over at once; the future waits for the reply, which may be a refusal of the engine's.
fn submit<B: Body>(call: &Call, body: B, priority: Priority) -> impl Future<Output = Result<Reply, Error>> {
    let submission = call.worker.ingress.submit(Command::new(body), priority);
    async move {
        submission.await.map_err(|reason| match reason {
            // The rows that the protection is for say so again where the ring fills up after they were judged.
            Unavailable::Busy if priority == Priority::Order && call.route.protection.is_some() => {
                refusal::THROTTLED.into()
            }
            reason => unavailable(reason),
        })
    }
}

/// Carries a command out: a refusal of the engine's is the dialect's.
async fn carry_out<B: Body>(call: &Call, body: B) -> Result<Reply, Error> {
    let reply = submit(call, body, Priority::Cancel).await?;
    match reply.done.rejected() {
        None => Ok(reply),
        Some(reject) => Err(reject::of_reject(reject).into()),
    }
}

/// The answer where there is nothing to say.
const fn success(msg: &'static str) -> FuturesSuccess {
    FuturesSuccess { code: 200, msg }
}

/// What is changed where nothing else is asked for.
const SUCCESS: FuturesSuccess = success("success");

/// The name of a market that may be gone.
fn name_of(views: &Views, market: MarketId) -> Symbol {
    views.perpetuals().markets().get(market).map_or([0; _], |market| market.symbol)
}
