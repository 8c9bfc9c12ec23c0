//! Cancel and read orders. Only the engine decides what a cancel does; the views tell who owns what before and after.

use super::{UnknownSymbol, from_archive, market_filter, shape, unavailable, views};
use crate::api::docs::{Param, Shape, UUID_SENT};
use crate::api::{Call, Error, Method, Route, later};
use ringside_auth::access::{Auth, Permission};
use ringside_commands::ingress::Priority;
use ringside_core::command::{CancelAll, CancelOrder, Command};
use ringside_core::ids::{ALL_MARKETS, OrderId};
use ringside_dialect::spot::id::{self, ParsedUuid};
use ringside_dialect::spot::{decode, encode, refusal};
use ringside_views::history::OrderQuery;
use ringside_views::kept::List;
use ringside_views::order::OrderRecord;
use ringside_wire::spot::{Canceled, SpotOrder};

const ID: Param = Param::path("id", UUID_SENT, "UUID of the order");
const SYMBOL: Param = Param::optional("symbol", Shape::Text, "One market only");

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        auth: Auth::Account(Permission::Trade),
        tag: "orders",
        summary: "Cancel an order",
        params: &[ID],
        refusals: &[&[refusal::INVALID_ID, refusal::ORDER_NOT_FOUND, refusal::FORBIDDEN], super::OF_ENGINE],
        ..Route::of(Method::Delete, "/api/v1/spot/orders/{id}", later!(cancel))
    },
    Route {
        auth: Auth::Account(Permission::Trade),
        tag: "orders",
        summary: "Cancel all open orders, or those of one market",
        params: &[SYMBOL],
        refusals: &[super::OF_ENGINE],
        ..Route::of(Method::Delete, "/api/v1/spot/orders", later!(cancel_all))
    },
    Route {
        auth: Auth::Account(Permission::Read),
        tag: "orders",
        summary: "One order",
        params: &[ID],
        refusals: &[&[refusal::ORDER_NOT_FOUND, refusal::INTERNAL], super::OF_HISTORY],
        ..Route::of(Method::Get, "/api/v1/spot/orders/{id}", later!(one))
    },
    Route {
        auth: Auth::Account(Permission::Read),
        tag: "orders",
        summary: "Orders, newest first",
        params: &[
            SYMBOL,
            Param::optional("status", shape::ORDER_STATUS, "One status only"),
            Param::optional("start", Shape::Integer, "Placed at this second or later"),
            Param::optional("end", Shape::Integer, "Placed at this second or earlier"),
            Param::optional("limit", Shape::Integer, "Default 50, clamped to 1..200"),
        ],
        refusals: &[
            &[refusal::INVALID_LIMIT, refusal::INVALID_STATUS, refusal::INVALID_RANGE],
            super::OF_HISTORY,
        ],
        ..Route::of(Method::Get, "/api/v1/spot/orders", later!(list))
    },
];

async fn cancel(call: Call) -> Result<SpotOrder, Error> {
    let order = match id::parse(&call.path_param(0)) {
        None => return Err(refusal::INVALID_ID.into()),
        Some(ParsedUuid::Foreign) => None,
        Some(ParsedUuid::Order(order)) => Some(order),
    };
    let account = call.account();
    // Whose it is is judged first.
    let order = order.ok_or(refusal::ORDER_NOT_FOUND)?;
    super::check_views(&call)?;
    let owner = call
        .worker
        .shared
        .history
        .owner(order)
        .await
        .map_err(from_archive)?
        .ok_or(refusal::ORDER_NOT_FOUND)?;
    if owner != account {
        return Err(refusal::FORBIDDEN.into());
    }
    let present = find(&call, Some(order)).await?.ok_or(refusal::ORDER_NOT_FOUND)?;
    if !present.status.is_resting() {
        return Err(refusal::ORDER_NOT_FOUND.into());
    }
    let command = Command::new(CancelOrder { account, reserved: 0, order: present.order });
    let reply = call.worker.ingress.submit(command, Priority::Cancel).await.map_err(unavailable)?;
    if let Some(reject) = reply.done.rejected() {
        return Err(refusal::of_reject(reject).into());
    }
    let canceled = find(&call, Some(order)).await?.ok_or(refusal::INTERNAL)?;
    encode_one(&call, &canceled)
}

async fn cancel_all(call: Call) -> Result<Canceled, Error> {
    let account = call.account();
    super::check_views(&call)?;
    let market = match market_filter(&call) {
        Ok(None) => ALL_MARKETS,
        Ok(Some(market)) => market.market,
        Err(UnknownSymbol) => return Ok(Canceled { canceled: Vec::new() }),
    };
    let command = Command::new(CancelAll { account, market });
    let reply = call.worker.ingress.submit(command, Priority::Cancel).await.map_err(unavailable)?;
    if let Some(reject) = reply.done.rejected() {
        return Err(refusal::of_reject(reject).into());
    }
    let mut canceled: Vec<Option<OrderRecord>> = {
        let views = views(&call)?;
        reply.orders().iter().map(|order| views.order(account, order.order)).collect()
    };
    // They ended a moment ago, so that none of them is forgotten, unless that moment was very long.
    for (order, found) in reply.orders().iter().zip(&mut canceled).filter(|(_, found)| found.is_none()) {
        *found = find(&call, Some(order.order)).await?;
    }
    let canceled: Vec<OrderRecord> = canceled.into_iter().flatten().collect();
    Ok(Canceled { canceled: encode_list(&call, &canceled) })
}

async fn one(call: Call) -> Result<SpotOrder, Error> {
    let order = match id::parse(&call.path_param(0)) {
        Some(ParsedUuid::Order(order)) => Some(order),
        Some(ParsedUuid::Foreign) | None => None,
    };
    let order = find(&call, order).await?;
    encode_one(&call, &order.ok_or(refusal::ORDER_NOT_FOUND)?)
}

async fn list(call: Call) -> Result<Vec<SpotOrder>, Error> {
    let query = call.query();
    let limit = decode::limit(query.get("limit").as_deref(), 50, 200)?;
    let status = decode::order_status(query.get("status").as_deref())?;
    let created = decode::time_range(query.get("start").as_deref(), query.get("end").as_deref())?;
    super::check_views(&call)?;
    let market = match market_filter(&call) {
        Ok(market) => market.map(|market| market.market),
        Err(UnknownSymbol) => return Ok(Vec::new()),
    };
    super::check_kept(&call, List::SpotOrders, market, created).await?;
    let query = OrderQuery { account: call.account(), market, status, created, limit };
    let orders = call.worker.shared.history.orders(query).await.map_err(from_archive)?;
    Ok(encode_list(&call, &orders))
}

/// The account's order of an id as it is now, however long ago it ended; `None` also for no id.
async fn find(call: &Call, order: Option<OrderId>) -> Result<Option<OrderRecord>, Error> {
    super::check_views(call)?;
    match order {
        Some(order) => {
            Ok(call.worker.shared.history.order(call.account(), order).await.map_err(from_archive)?)
        }
        None => Ok(None),
    }
}

fn encode_one(call: &Call, order: &OrderRecord) -> Result<SpotOrder, Error> {
    call.worker.markets.with(|markets| {
        let market = markets.get(order.market).ok_or(refusal::INTERNAL)?;
        Ok(encode::order(order, market))
    })
}

/// An array of orders. Markets are never removed, so none of them is missing.
fn encode_list(call: &Call, orders: &[OrderRecord]) -> Vec<SpotOrder> {
    call.worker.markets.with(|markets| {
        let shown = |order: &OrderRecord| Some(encode::order(order, markets.get(order.market)?));
        orders.iter().filter_map(shown).collect()
    })
}
