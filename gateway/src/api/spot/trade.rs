//! What an account has: its fills and its balances.

use super::{UnknownSymbol, check_views, market_filter, shape, views};
use crate::api::docs::{Param, Shape, TOKEN};
use crate::api::{Answer, Call, Handler, Method, Response, Route};
use crate::auth::access::{Auth, Permission};
use crate::dialect::spot::{decode, encode, refusal};
use ringside_views::history::FillQuery;

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
        response: Shape::List(&shape::OWN_TRADE),
        refusals: &[&[refusal::INVALID_LIMIT, refusal::INVALID_RANGE], super::OF_HISTORY],
        ..Route::new(Method::Get, "/api/v1/spot/trades/me", Handler::Later(|call| Box::pin(own_trades(call))))
    },
    Route {
        auth: Auth::Account(Permission::Read),
        tag: "account",
        summary: "Balances of every known token, by token",
        params: &[Param::optional("token", TOKEN, "One token only")],
        response: Shape::List(&shape::BALANCE),
        refusals: &[&[refusal::UNSUPPORTED_TOKEN], super::OF_VIEWS],
        ..Route::new(Method::Get, "/api/v1/spot/balances", Handler::Now(balances))
    },
];

async fn own_trades(call: Call) -> Answer {
    let query = call.query();
    let limit = decode::limit(query.get("limit").as_deref(), 50, 200)?;
    let time = decode::time_range(query.get("start").as_deref(), query.get("end").as_deref())?;
    check_views(&call)?;
    let market = match market_filter(&call) {
        Ok(market) => market.map(|market| market.market),
        Err(UnknownSymbol) => return Ok(Response::json("[]")),
    };
    let query = FillQuery { account: call.account(), market, time, limit };
    let fills = call.worker.shared.history.fills(query).await?;
    let mut out = Vec::with_capacity(2 + fills.len() * encode::TRADE_LEN);
    call.worker.markets.with(|markets| {
        let rows = fills.iter().filter_map(|fill| Some((fill, markets.get(fill.market)?)));
        encode::list(&mut out, rows, |out, (fill, market)| encode::fill(out, fill, market));
    });
    Ok(Response::json(out))
}

fn balances(call: &Call) -> Answer {
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
        let mut out = Vec::with_capacity(2 + assets.len() * encode::TRADE_LEN);
        encode::list(&mut out, assets, |out, (asset, name)| {
            encode::balance(out, name, &row(asset).unwrap_or_default());
        });
        Ok(Response::json(out))
    })
}
