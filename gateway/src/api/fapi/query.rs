//! Orders, fills and amendments of an account (`perpetual.md` 8).

use super::market_data::{order_limits, with};
use super::{READ, by_symbol, market, optional_market, params, row, views};
use crate::api::{Answer, Call, Error, Handler, Method, Response, Route};
use crate::dialect::fapi::params::Params;
use crate::dialect::fapi::{encode, refusal, text};
use crate::view::Views;
use crate::view::perpetual::order::OrderRecord;
use ringside_core::ids::AccountId;
use serde_json::{Value, json};

const fn get(path: &'static str, weight: u32, summary: &'static str, handle: fn(&Call) -> Answer) -> Route {
    row(Method::Get, path, READ, weight, summary, Handler::Now(handle))
}

/// Rows.
pub static ROUTES: &[Route] = &[
    get("/fapi/v1/order", 1, "One order", |call| one(call, false)),
    get("/fapi/v1/openOrder", 1, "One open order", |call| one(call, true)),
    by_symbol(get("/fapi/v1/openOrders", 1, "Open orders", open), |query| with(query, 1, 40)),
    get("/fapi/v1/allOrders", 5, "Orders of a symbol", all),
    get("/fapi/v1/userTrades", 5, "Fills of a symbol", fills),
    get("/fapi/v1/orderAmendment", 1, "Modifications of an order", amendments),
    by_symbol(get("/fapi/v1/forceOrders", 20, "Orders of liquidations", forced), |query| with(query, 20, 50)),
    get("/fapi/v1/rateLimit/order", 1, "Order limits", |call| Ok(Response::of(&order_limits(call)))),
];

/// The order that is asked for, whatever its status.
fn find<'v>(views: &'v Views, params: &Params<'_>, account: AccountId) -> Result<&'v OrderRecord, Error> {
    params.text("symbol")?;
    let order = params.integer("orderId")?;
    let name = params.get("origClientOrderId");
    if order.is_none() && name.is_none() {
        return Err(refusal::ORDER_NAME.into());
    }
    let market = market(views, params)?.market;
    let orders = views.perpetuals().orders();
    let found = match order {
        Some(order) => orders.get(order.unsigned_abs()),
        None => orders.named(account, market, name.unwrap_or("")),
    };
    let is_it = |order: &&OrderRecord| {
        order.told.account == account && order.told.market == market && !order.is_of_service()
    };
    Ok(found.filter(is_it).ok_or(refusal::NO_SUCH_ORDER)?)
}

fn show(views: &Views, call: &Call, order: &OrderRecord) -> Value {
    let symbol = views.perpetuals().markets().get(order.told.market).map_or("", |market| market.symbol());
    encode::order(order, symbol, call.is_compatible())
}

fn one(call: &Call, is_open: bool) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    let order = find(&views, &params, call.account())?;
    if is_open && !order.is_open() {
        return Err(refusal::NO_SUCH_ORDER.into());
    }
    Ok(Response::of(&show(&views, call, order)))
}

fn open(call: &Call) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    let market = optional_market(&views, &params)?.map(|market| market.market);
    let rows: Vec<Value> = views
        .perpetuals()
        .orders()
        .open_of(call.account())
        .filter(|order| market.is_none_or(|market| order.told.market == market) && !order.is_of_service())
        .map(|order| show(&views, call, order))
        .collect();
    Ok(Response::of(&rows))
}

fn all(call: &Call) -> Answer {
    let params = params(call)?;
    params.text("symbol")?;
    let from = params.integer("orderId")?;
    let (start, end) = params.window(7, call.now_ms)?;
    let limit = params.limit(500, 1000)?;
    let views = views(call)?;
    let market = market(&views, &params)?.market;
    let orders = views.perpetuals().orders();
    let account = call.account();
    let mut rows: Vec<&OrderRecord> = orders
        .open_of(account)
        .chain(orders.ended_of(account))
        .filter(|order| order.told.market == market && !order.is_of_service())
        .filter(|order| match from {
            Some(from) => order.told.order >= from.unsigned_abs(),
            None => (start..=end).contains(&order.created_ms),
        })
        .collect();
    rows.sort_unstable_by_key(|order| order.told.order);
    let rows = cut(&rows, limit, from.is_some());
    Ok(Response::of(&rows.iter().map(|order| show(&views, call, order)).collect::<Vec<_>>()))
}

/// The oldest or the newest `limit` of rows that stand oldest first.
fn cut<T>(rows: &[T], limit: usize, is_oldest: bool) -> &[T] {
    if is_oldest { &rows[..rows.len().min(limit)] } else { &rows[rows.len().saturating_sub(limit)..] }
}

fn fills(call: &Call) -> Answer {
    let params = params(call)?;
    params.text("symbol")?;
    let order = params.integer("orderId")?;
    let from = params.integer("fromId")?;
    if from.is_some() && (params.get("startTime").is_some() || params.get("endTime").is_some()) {
        return Err(refusal::COMBINATION.into());
    }
    let (start, end) = params.window(7, call.now_ms)?;
    let limit = params.limit(500, 1000)?;
    let views = views(call)?;
    let market = market(&views, &params)?;
    let rows: Vec<_> = views
        .perpetuals()
        .fills()
        .of_account(call.account())
        .filter(|fill| fill.market == market.market)
        .filter(|fill| order.is_none_or(|order| fill.order == order.unsigned_abs()))
        .filter(|fill| match from {
            Some(from) => fill.trade >= from.unsigned_abs(),
            None => (start..=end).contains(&fill.time_ms),
        })
        .collect();
    let rows = cut(&rows, limit, from.is_some());
    Ok(Response::of(&rows.iter().map(|fill| encode::fill(fill, market.symbol())).collect::<Vec<_>>()))
}

fn amendments(call: &Call) -> Answer {
    let params = params(call)?;
    let (start, end) = params.times()?;
    let limit = params.limit(50, 100)?;
    let views = views(call)?;
    let order = find(&views, &params, call.account())?;
    let market = market(&views, &params)?;
    let window = start.unwrap_or(0)..=end.unwrap_or(i64::MAX);
    let rows: Vec<_> = views
        .perpetuals()
        .amendments()
        .of_account(call.account())
        .filter(|row| row.told.order == order.told.order && window.contains(&row.time_ms))
        .collect();
    let rows: Vec<Value> = cut(&rows, limit, false)
        .iter()
        .map(|row| {
            let told = &row.told;
            json!({
                // An order has at most 10,000 of them.
                "amendmentId": told.order * 16_384 + u64::from(told.count),
                "symbol": market.symbol(),
                "pair": market.symbol(),
                "orderId": told.order,
                "clientOrderId": order.client_order(),
                "time": row.time_ms,
                "amendment": {
                    "price": { "before": text::units8(told.price_before), "after": text::units8(told.price_after) },
                    "origQty": { "before": text::units8(told.quantity_before), "after": text::units8(told.quantity_after) },
                    "count": told.count,
                },
            })
        })
        .collect();
    Ok(Response::of(&rows))
}

fn forced(call: &Call) -> Answer {
    let params = params(call)?;
    let close_type = params.get("autoCloseType");
    if !matches!(close_type, None | Some("LIQUIDATION" | "ADL")) {
        return Err(refusal::not_valid("autoCloseType").into());
    }
    let (start, end) = params.window(90, call.now_ms)?;
    let start = if params.times()? == (None, None) { call.now_ms - 7 * 86_400_000 } else { start };
    let limit = params.limit(50, 100)?;
    let views = views(call)?;
    let market = optional_market(&views, &params)?.map(|market| market.market);
    let is_wanted = |order: &&OrderRecord| {
        let name = order.client_order();
        let (is_liquidation, is_adl) = (name.starts_with("autoclose-"), name.starts_with("adl_autoclose"));
        match close_type {
            None => is_liquidation || is_adl,
            Some("ADL") => is_adl,
            Some(_) => is_liquidation,
        }
    };
    let rows: Vec<_> = views
        .perpetuals()
        .orders()
        .ended_of(call.account())
        .filter(|order| market.is_none_or(|market| order.told.market == market))
        .filter(|order| (start..=end).contains(&order.created_ms))
        .filter(is_wanted)
        .collect();
    Ok(Response::of(
        &cut(&rows, limit, false).iter().map(|order| show(&views, call, order)).collect::<Vec<_>>(),
    ))
}
