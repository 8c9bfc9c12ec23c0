//! The conditional-order service (`perpetual.md` 11): the same engine, orders with routes of their own until they fire.

use super::keyed::{self, Marked};
use super::market_data::with;
use super::order::{ALL_CANCELED, ONE, generated_name, priority_of};
use super::query::check_orders;
use super::shape;
use super::{
    READ, TRADE, by_symbol, carry_out, from_archive, get, market, name_of, optional_market, params, row,
    shown, submit, views, within,
};
use crate::api::{Call, Error, Method, Route, later, now};
use ringside_commands::ingress::Priority;
use ringside_core::command::{CancelAllPerpetual, CancelPerpetual, order_class};
use ringside_core::ids::MarketId;
use ringside_core::reject::Reject;
use ringside_dialect::fapi::params::Params;
use ringside_dialect::fapi::place::{self, Names};
use ringside_dialect::fapi::{algo, refusal};
use ringside_views::kept::List;
use ringside_views::log::Page;
use ringside_views::perpetual::order::OrderRecord;
use ringside_wire::futures::FuturesSuccess;
use ringside_wire::futures::order::{ConditionalCanceled, FuturesConditionalOrder};
use ringside_wire::number::{Name, Whole};

/// Most rows that a page may lie behind: pages are counted, so that a far one has to be walked to.
const DEPTH_MAX: usize = 100_000;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        orders: ONE,
        ..row(
            Method::Post,
            "/fapi/v1/algoOrder",
            TRADE,
            0,
            "Place a conditional order",
            shape::ALGO_PLACED,
            later!(place_order),
        )
    },
    row(
        Method::Delete,
        "/fapi/v1/algoOrder",
        TRADE,
        1,
        "Cancel a conditional order",
        &[shape::ALGO_ID, shape::ALGO_CLIENT_ID],
        later!(cancel),
    ),
    get(
        "/fapi/v1/algoOrder",
        READ,
        1,
        "One conditional order",
        &[shape::ALGO_ID, shape::ALGO_CLIENT_ID],
        later!(one),
    ),
    by_symbol(
        get(
            "/fapi/v1/openAlgoOrders",
            READ,
            1,
            "Open conditional orders",
            &[shape::OF_SYMBOL, shape::OF_ALGO_TYPE, shape::ALGO_ID],
            now!(open),
        ),
        |query| with(query, 1, 40),
    ),
    get(
        "/fapi/v1/allAlgoOrders",
        READ,
        5,
        "Conditional orders of a symbol",
        &[shape::SYMBOL, shape::ALGO_ID, shape::START, shape::END, shape::PAGE, shape::LIMIT],
        later!(all),
    ),
    row(
        Method::Delete,
        "/fapi/v1/algoOpenOrders",
        TRADE,
        1,
        "Cancel all conditional orders of a symbol",
        &[shape::SYMBOL],
        later!(cancel_all),
    ),
];

fn check_type(params: &Params<'_>, is_mandatory: bool) -> Result<(), Error> {
    match params.get("algoType") {
        Some("CONDITIONAL") => Ok(()),
        None if is_mandatory => Err(refusal::mandatory("algoType").into()),
        None => Ok(()),
        Some(_) => Err(refusal::not_valid("algoType").into()),
    }
}

async fn place_order(call: Call) -> Result<Marked<FuturesConditionalOrder>, Error> {
    let params = params(&call)?;
    check_type(&params, true)?;
    let mut command = {
        let views = views(&call)?;
        let markets = views.perpetuals().markets();
        place::place(&params, markets, call.account(), Names::Service, generated_name()?)?
    };
    keyed::put(&call, &params, "/fapi/v1/algoOrder", true, &mut command)?;
    let reply = submit(&call, command, priority_of(&params)).await?;
    let first = keyed::first(&call, &command, reply.done.rejected())?;
    let (reject, placed) = match &first {
        Some(first) => (first.reject, first.perpetual.as_ref()),
        None => (reply.done.rejected(), reply.perpetual.as_deref()),
    };
    let views = shown(&call);
    let market = views.perpetuals().markets().get(command.market).ok_or(refusal::INTERNAL)?;
    let answer = match (reject, placed) {
        (Some(reject), _) => {
            let most = place::notional_max(views.perpetuals(), command.account, market);
            Err(place::explain(reject, &command, (market, most), params.get("leverage")).into())
        }
        (None, Some(placed)) => Ok(algo::order(placed, None, market.symbol)),
        (None, None) => Err(refusal::INTERNAL.into()),
    };
    keyed::marked(answer, first.is_some())
}

/// `algoId`, or `clientAlgoId`.
fn asked_for<'p>(params: &'p Params<'_>) -> Result<(Option<u64>, &'p str), Error> {
    let order = params.integer("algoId")?.map(i64::unsigned_abs);
    match (order, params.get("clientAlgoId")) {
        (None, None) => Err(refusal::ALGO_NAME.into()),
        (order, name) => Ok((order, name.unwrap_or(""))),
    }
}

/// The open order that is asked for; it is not said in which market.
fn open_one(call: &Call, order: Option<u64>, name: &str) -> Result<Option<OrderRecord>, Error> {
    let views = views(call)?;
    let mut open = views.perpetuals().orders().open_of(call.account());
    let found = open.find(|open| {
        open.is_of_service()
            && match order {
                Some(order) => open.told.order == order,
                None => open.client_order() == name,
            }
    });
    Ok(found.copied())
}

async fn cancel(call: Call) -> Result<ConditionalCanceled, Error> {
    let params = params(&call)?;
    let (order, name) = asked_for(&params)?;
    let open = open_one(&call, order, name)?.ok_or(refusal::UNKNOWN_ORDER)?;
    let command = CancelPerpetual {
        account: call.account(),
        market: open.told.market,
        order: open.told.order,
        client_order: [0; 36],
        classes: order_class::CONDITIONAL_SERVICE,
    };
    let reply = submit(&call, command, Priority::Cancel).await?;
    match reply.done.rejected() {
        None => Ok(ConditionalCanceled {
            algo_id: open.told.order,
            client_algo_id: Name(open.client_order),
            code: Whole(200),
            msg: "success",
        }),
        Some(Reject::OrderNotFound) => Err(refusal::UNKNOWN_ORDER.into()),
        Some(reject) => Err(ringside_dialect::fapi::reject::of_reject(reject).into()),
    }
}

async fn cancel_all(call: Call) -> Result<FuturesSuccess, Error> {
    let params = params(&call)?;
    let market = { market(&*views(&call)?, &params)?.market };
    let classes = order_class::CONDITIONAL_SERVICE;
    carry_out(&call, CancelAllPerpetual { account: call.account(), market, classes, reserved: 0 }).await?;
    Ok(ALL_CANCELED)
}

/// Orders with what they became.
async fn show(call: &Call, orders: &[OrderRecord]) -> Result<Vec<FuturesConditionalOrder>, Error> {
    let became = call.worker.shared.history.became(orders).await.map_err(from_archive)?;
    let views = views(call)?;
    Ok(orders
        .iter()
        .map(|order| {
            let became = became.iter().find(|became| became.told.order == order.counterpart);
            algo::order(order, became, name_of(&views, order.told.market))
        })
        .collect())
}

async fn one(call: Call) -> Result<FuturesConditionalOrder, Error> {
    let params = params(&call)?;
    let (order, name) = asked_for(&params)?;
    let mut found = open_one(&call, order, name)?;
    if found.is_none() {
        let markets: Vec<MarketId> =
            views(&call)?.perpetuals().markets().all().iter().map(|market| market.market).collect();
        let history = &call.worker.shared.history;
        let account = call.account();
        for market in markets {
            let ended = match order {
                Some(order) => history.perpetual_order(account, market, order, true).await,
                None => history.perpetual_order_named(account, market, place::lookup_name(name), true).await,
            };
            // Of several with one name the newest counts.
            let ended = ended.map_err(from_archive)?;
            found = found.max_by_order(ended);
        }
    }
    let found = found.ok_or(refusal::NO_SUCH_ORDER)?;
    Ok(show(&call, &[found]).await?.pop().ok_or(refusal::INTERNAL)?)
}

trait Newer: Sized {
    /// The newer of two orders.
    fn max_by_order(self, other: Self) -> Self;
}

impl Newer for Option<OrderRecord> {
    fn max_by_order(self, other: Self) -> Self {
        [self, other].into_iter().flatten().max_by_key(|order| order.told.order)
    }
}

fn open(call: &Call) -> Result<Vec<FuturesConditionalOrder>, Error> {
    let params = params(call)?;
    let order = params.integer("algoId")?.map(i64::unsigned_abs);
    let views = views(call)?;
    let market = optional_market(&views, &params)?.map(|market| market.market);
    check_type(&params, false)?;
    let orders = views.perpetuals().orders();
    let rows = orders
        .open_of(call.account())
        .filter(|open| open.is_of_service() && market.is_none_or(|market| open.told.market == market))
        .filter(|open| order.is_none_or(|order| open.told.order == order))
        .map(|open| algo::order(open, None, name_of(&views, open.told.market)));
    Ok(rows.collect())
}

async fn all(call: Call) -> Result<Vec<FuturesConditionalOrder>, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let from = params.integer("algoId")?;
    params.check_times()?;
    let limit = params.limit(500, 1000)?;
    let number = usize::try_from(params.integer("page")?.unwrap_or(1)).unwrap_or(0);
    let depth = limit.saturating_mul(number);
    if number == 0 || depth > DEPTH_MAX {
        return Err(refusal::not_valid("page").into());
    }
    let market = { market(&*views(&call)?, &params)?.market };
    let (start, end) = params.window(7, call.now_ms)?;
    let page = Page::new(call.account(), Some(market), depth);
    let page = match from {
        Some(from) => page.from_id(from.unsigned_abs()),
        None => within(page, &params, start..=end),
    };
    let history = &call.worker.shared.history;
    let mut rows = history.perpetual_orders(&page, true).await.map_err(from_archive)?;
    let asked = (&params, "algoId", from);
    check_orders(&call, List::ServiceOrders, market, asked, start, rows.first()).await?;
    // Pages follow each other from the end that is shown first.
    let passed = (depth - limit).min(rows.len());
    if page.is_oldest {
        rows.drain(..passed);
    } else {
        rows.truncate(rows.len() - passed);
        rows.drain(..rows.len().saturating_sub(limit));
    }
    show(&call, &rows).await
}
