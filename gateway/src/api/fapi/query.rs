//! Orders of an account: one, the open ones, all, those of liquidations, and how they were modified (`perpetual.md` 8).

use super::market_data::{order_limits, with};
use super::shape;
use super::{
    READ, by_symbol, check_own, check_window, from_archive, get, market, name_of, optional_market, params,
    views, within,
};
use crate::api::{Call, Error, Route, later, now};
use ringside_core::ids::MarketId;
use ringside_dialect::fapi::params::Params;
use ringside_dialect::fapi::{order, place, refusal};
use ringside_views::Views;
use ringside_views::kept::List;
use ringside_views::log::Page;
use ringside_views::perpetual::order::{Forced, ForcedRecord, OrderRecord};
use ringside_views::perpetual::rows::AmendRecord;
use ringside_wire::futures::order::{Amendment, Change, FuturesAmendment, FuturesOrder};
use ringside_wire::number::{Name, Units};

const DAY_MS: i64 = 86_400_000;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    get(
        "/fapi/v1/order",
        READ,
        1,
        "One order",
        &[shape::SYMBOL, shape::ORDER_ID, shape::CLIENT_ID],
        later!(one),
    ),
    get(
        "/fapi/v1/openOrder",
        READ,
        1,
        "One open order",
        &[shape::SYMBOL, shape::ORDER_ID, shape::CLIENT_ID],
        now!(open_one),
    ),
    by_symbol(get("/fapi/v1/openOrders", READ, 1, "Open orders", &[shape::OF_SYMBOL], now!(open)), |query| {
        with(query, 1, 40)
    }),
    get(
        "/fapi/v1/allOrders",
        READ,
        5,
        "Orders of a symbol",
        &[shape::SYMBOL, shape::ORDER_ID, shape::START, shape::END, shape::LIMIT],
        later!(all),
    ),
    get(
        "/fapi/v1/orderAmendment",
        READ,
        1,
        "Modifications of an order",
        &[shape::SYMBOL, shape::ORDER_ID, shape::CLIENT_ID, shape::START, shape::END, shape::LIMIT],
        later!(amendments),
    ),
    by_symbol(
        get(
            "/fapi/v1/forceOrders",
            READ,
            20,
            "Orders of liquidations",
            &[shape::OF_SYMBOL, shape::CLOSE_TYPE, shape::START, shape::END, shape::LIMIT],
            later!(forced),
        ),
        |query| with(query, 20, 50),
    ),
    get(
        "/fapi/v1/rateLimit/order",
        READ,
        1,
        "Order limits",
        &[],
        now!(|call| params(call).map(|_| order_limits(call))),
    ),
];

/// Id or name of the order that is asked for.
fn asked_for<'p>(params: &'p Params<'_>) -> Result<(Option<u64>, &'p str), Error> {
    params.text("symbol")?;
    let order = params.integer("orderId")?.map(i64::unsigned_abs);
    match (order, params.get("origClientOrderId")) {
        (None, None) => Err(refusal::ORDER_NAME.into()),
        (order, name) => Ok((order, name.unwrap_or(""))),
    }
}

/// The order that is asked for, whatever its status.
async fn find(call: &Call, params: &Params<'_>) -> Result<OrderRecord, Error> {
    let (order, name) = asked_for(params)?;
    let market = { market(&*views(call)?, params)?.market };
    let history = &call.worker.shared.history;
    let found = match order {
        Some(order) => history.perpetual_order(call.account(), market, order, false).await,
        None => {
            let name = place::lookup_name(name);
            history.perpetual_order_named(call.account(), market, name, false).await
        }
    };
    Ok(found.map_err(from_archive)?.ok_or(refusal::NO_SUCH_ORDER)?)
}

fn show(views: &Views, call: &Call, order: &OrderRecord) -> FuturesOrder {
    order::shown(order, name_of(views, order.told.market), call.is_compatible())
}

/// An answer of orders.
fn list<'o>(call: &Call, orders: impl Iterator<Item = &'o OrderRecord>) -> Result<Vec<FuturesOrder>, Error> {
    let views = views(call)?;
    Ok(orders.map(|order| show(&views, call, order)).collect())
}

async fn one(call: Call) -> Result<FuturesOrder, Error> {
    let params = params(&call)?;
    let order = find(&call, &params).await?;
    let views = views(&call)?;
    Ok(show(&views, &call, &order))
}

fn open_one(call: &Call) -> Result<FuturesOrder, Error> {
    let params = params(call)?;
    let (order, name) = asked_for(&params)?;
    let views = views(call)?;
    let market = market(&views, &params)?.market;
    let orders = views.perpetuals().orders();
    let account = call.account();
    let found = match order {
        Some(order) => orders.open(order).filter(|open| {
            open.told.account == account && open.told.market == market && !open.is_of_service()
        }),
        None => orders.open_named(account, market, name, false),
    };
    Ok(show(&views, call, found.ok_or(refusal::NO_SUCH_ORDER)?))
}

fn open(call: &Call) -> Result<Vec<FuturesOrder>, Error> {
    let params = params(call)?;
    let views = views(call)?;
    let market = optional_market(&views, &params)?.map(|market| market.market);
    let rows = views
        .perpetuals()
        .orders()
        .open_of(call.account())
        .filter(|order| market.is_none_or(|market| order.told.market == market) && !order.is_of_service())
        .map(|order| show(&views, call, order));
    Ok(rows.collect())
}

async fn all(call: Call) -> Result<Vec<FuturesOrder>, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let from = params.integer("orderId")?;
    params.check_times()?;
    let limit = params.limit(500, 1000)?;
    let market = { market(&*views(&call)?, &params)?.market };
    let (start, end) = params.window(7, call.now_ms)?;
    let page = Page::new(call.account(), Some(market), limit);
    let page = match from {
        Some(from) => page.from_id(from.unsigned_abs()),
        None => within(page, &params, start..=end),
    };
    let rows = call.worker.shared.history.perpetual_orders(&page, false).await.map_err(from_archive)?;
    check_orders(&call, List::Orders, market, (&params, "orderId", from), start, rows.first()).await?;
    list(&call, rows.iter())
}

/// Refuses orders from one on, or of a window, of which an operator has removed some.
pub(super) async fn check_orders(
    call: &Call,
    list: List,
    market: MarketId,
    (params, name, from): (&Params<'_>, &str, Option<i64>),
    start: i64,
    first: Option<&OrderRecord>,
) -> Result<(), Error> {
    match from.map(i64::unsigned_abs) {
        Some(from) if first.is_none_or(|first| first.told.order > from) => {
            check_own(call, list, market, name, |removed| from <= removed.id).await
        }
        Some(_) => Ok(()),
        None => check_window(call, list, market, params, start).await,
    }
}

async fn amendments(call: Call) -> Result<Vec<FuturesAmendment>, Error> {
    let params = params(&call)?;
    params.check_times()?;
    let limit = params.limit(50, 100)?;
    asked_for(&params)?;
    market(&*views(&call)?, &params)?;
    let (start, end) = params.times()?;
    let order = find(&call, &params).await?;
    let page = Page::new(call.account(), Some(order.told.market), limit).tagged(order.told.order);
    let page = within(page, &params, start.unwrap_or(0)..=end.unwrap_or(i64::MAX));
    let rows: Vec<AmendRecord> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    let views = views(&call)?;
    let market = views.perpetuals().markets().get(order.told.market).ok_or(refusal::INTERNAL)?;
    let change = |before, after| Change { before: Units(before), after: Units(after) };
    let rows = rows.iter().map(|row| {
        let told = &row.told;
        FuturesAmendment {
            // An order has at most 10,000 of them.
            amendment_id: told.order * 16_384 + u64::from(told.count),
            symbol: Name(market.symbol),
            pair: Name(market.symbol),
            order_id: told.order,
            client_order_id: Name(order.client_order),
            time: row.time_ms,
            amendment: Amendment {
                price: change(told.price_before, told.price_after),
                orig_qty: change(told.quantity_before, told.quantity_after),
                count: told.count,
            },
        }
    });
    Ok(rows.collect())
}

async fn forced(call: Call) -> Result<Vec<FuturesOrder>, Error> {
    let params = params(&call)?;
    params.check_times()?;
    let limit = params.limit(50, 100)?;
    let market = { optional_market(&*views(&call)?, &params)?.map(|market| market.market) };
    let tag = match params.get("autoCloseType") {
        None => 0,
        Some("LIQUIDATION") => Forced::Liquidation as u64,
        Some("ADL") => Forced::Deleveraging as u64,
        Some(_) => return Err(refusal::not_valid("autoCloseType").into()),
    };
    let (start, end) = params.window(90, call.now_ms)?;
    let start = match params.times()? {
        (None, None) => call.now_ms - 7 * DAY_MS,
        _ => start.max(call.now_ms - 90 * DAY_MS),
    };
    let page = within(Page::new(call.account(), market, limit).tagged(tag), &params, start..=end);
    let rows: Vec<ForcedRecord> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    list(&call, rows.iter().map(|row| &row.0))
}
