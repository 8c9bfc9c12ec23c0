//! What an account has: its fills and its balances.

use super::{UnknownSymbol, check_views, from_archive, market_filter, views};
use crate::api::docs::{Param, Shape, TOKEN};
use crate::api::{Call, Error, Method, Route, later, now};
use ringside_auth::access::{Auth, Permission};
use ringside_core::ids::padded;
use ringside_dialect::spot::{decode, encode, refusal};
use ringside_views::history::{FillQuery, FillRecord};
use ringside_views::kept::List;
use ringside_wire::spot::{SpotBalance, SpotOwnTrade};

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        auth: Auth::Account(Permission::Read),
        tag: "account",
        summary: "Own trades, newest first",
        params: &[
            Param::optional("symbol", Shape::Text, "One market only"),
            Param::optional("start", Shape::Integer, "Traded at this second or later"),
            Param::optional("end", Shape::Integer, "Traded at this second or earlier"),
            Param::optional("limit", Shape::Integer, "Default 50, clamped to 1..200"),
        ],
        refusals: &[&[refusal::INVALID_LIMIT, refusal::INVALID_RANGE], super::OF_HISTORY],
        ..Route::of(Method::Get, "/api/v1/spot/trades/me", later!(own_trades))
    },
    Route {
        auth: Auth::Account(Permission::Read),
        tag: "account",
        summary: "Balances of every known token, by token",
        params: &[Param::optional("token", TOKEN, "One token only")],
        refusals: &[&[refusal::UNSUPPORTED_TOKEN], super::OF_VIEWS],
        ..Route::of(Method::Get, "/api/v1/spot/balances", now!(balances))
    },
];

async fn own_trades(call: Call) -> Result<Vec<SpotOwnTrade>, Error> {
    let query = call.query();
    let limit = decode::limit(query.get("limit").as_deref(), 50, 200)?;
    let time = decode::time_range(query.get("start").as_deref(), query.get("end").as_deref())?;
    check_views(&call)?;
    let market = match market_filter(&call) {
        Ok(market) => market.map(|market| market.market),
        Err(UnknownSymbol) => return Ok(Vec::new()),
    };
    super::check_kept(&call, List::SpotFills, market, time).await?;
    let query = FillQuery { account: call.account(), market, time, limit };
    let fills = call.worker.shared.history.fills(query).await.map_err(from_archive)?;
    Ok(call.worker.markets.with(|markets| {
        let shown = |fill: &FillRecord| Some(encode::fill(fill, markets.get(fill.market)?));
        fills.iter().filter_map(shown).collect()
    }))
}

fn balances(call: &Call) -> Result<Vec<SpotBalance>, Error> {
    check_views(call)?;
    let token = call.query().get("token");
    call.worker.markets.with(|markets| {
        let rows = views(call)?.balances().rows(call.account()).to_vec();
        let row = |asset| rows.iter().find(|row| row.asset == asset).copied();
        let mut assets = markets.assets_by_name();
        assets.retain(|&(asset, _)| markets.is_token(asset) || row(asset).is_some());
        if let Some(token) = token {
            assets.retain(|(_, name)| *name == token);
            if assets.is_empty() {
                return Err(super::unsupported(&token));
            }
        }
        let shown = |(asset, name)| Some(encode::balance(padded(name)?, &row(asset).unwrap_or_default()));
        Ok(assets.into_iter().filter_map(shown).collect())
    })
}
