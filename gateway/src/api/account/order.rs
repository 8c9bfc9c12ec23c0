//! Open orders, and what an order would do before it is sent (`account.md` 2 and 5).

use super::{OF_VIEWS, get, market_of, order_list, views};
use crate::api::docs::{Field, Param, SYMBOL_SENT, Shape};
use crate::api::{Call, Error, Method, Route, now};
use ringside_auth::access::{Auth, Permission};
use ringside_dialect::account::preview::{Body, preview};
use ringside_dialect::account::refusal::{self, Refusal};
use ringside_wire::account::own::OrderPreview;
use ringside_wire::futures::order::FuturesOrder;
use ringside_wire::refusal::Dialect;

const READ: Auth = Auth::Account(Permission::Read);
const SYMBOL: Param = Param::optional("symbol", SYMBOL_SENT, "One market only");
const OF_PREVIEW: &[Refusal] = &[
    refusal::INVALID_PARAMETER,
    refusal::SYMBOL_NOT_FOUND,
    refusal::FILTER_FAILURE,
    refusal::INSUFFICIENT_LIQUIDITY,
    refusal::SLIPPAGE_EXCEEDED,
];

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[&[refusal::SYMBOL_NOT_FOUND], OF_VIEWS],
        ..get("/orders/open", READ, "Open perpetual orders, oldest first", &[SYMBOL], now!(open))
    },
    Route {
        dialect: Dialect::Account,
        auth: READ,
        tag: "account",
        summary: "What a perpetual order would do now; nothing is stored",
        body: Shape::Object(&[
            Field::new("symbol", SYMBOL_SENT, "Any case"),
            Field::new("side", Shape::Text, "BUY or SELL, either case"),
            Field::new("type", Shape::Text, "LIMIT or MARKET, either case"),
            Field::new("quantity", Shape::DecimalInput, "Floored to the step"),
            Field::optional("price", Shape::DecimalInput, "Of a limit order"),
            Field::optional(
                "leverage",
                Shape::Either(&[Shape::Integer, Shape::Text]),
                "Default: the stored one",
            ),
            Field::optional("reduce_only", Shape::Boolean, ""),
            Field::optional("max_slippage", Shape::DecimalInput, "Fraction, 0 to 1; default 0.01"),
        ]),
        named_refusals: &[OF_PREVIEW, OF_VIEWS],
        ..Route::of(Method::Post, "/orders/preview", now!(judge))
    },
];

fn open(call: &Call) -> Result<Vec<FuturesOrder>, Error> {
    let market = { market_of(&*views(call)?, call.query())?.map(|market| market.market) };
    let rows: Vec<_> = views(call)?
        .perpetuals()
        .orders()
        .open_of(call.account())
        .filter(|order| market.is_none_or(|market| order.told.market == market) && !order.is_of_service())
        .copied()
        .collect();
    order_list(call, rows.iter())
}

fn judge(call: &Call) -> Result<OrderPreview, Error> {
    let body: Body<'_> = call.json()?;
    let asked = body.read()?;
    let views = views(call)?;
    let perpetuals = views.perpetuals();
    let market = perpetuals.markets().by_symbol(&asked.symbol).ok_or(refusal::SYMBOL_NOT_FOUND)?;
    Ok(preview(perpetuals, market, call.account(), &asked, call.now_ms)?)
}
