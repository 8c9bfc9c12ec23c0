//! Limits of single accounts (`account.md` 13): set by operators, shown to the account. The engine keeps and applies those of open
//! orders and notionals; it keeps order rates, which the edge applies. And the addresses that are banned now.

use super::{OF_ENGINE, OF_VIEWS, admin, get, reason, unavailable, views};
use crate::api::docs::{ADDRESS_SENT, Field, Param, SYMBOL_SENT, Shape};
use crate::api::operate::{Action, BY, REASON, Subject, operate};
use crate::api::{Call, Error, Method, Route, later, now};
use ringside_auth::access::{Auth, Permission};
use ringside_core::command::{OWN_OPEN_ORDERS_MAX, OWN_RATE_MAX, SetAccountLimits};
use ringside_core::ids::ALL_MARKETS;
use ringside_dialect::account::limits::{self, LimitsBody};
use ringside_dialect::account::refusal::{self, invalid};
use ringside_wire::account::operator::Ban;
use ringside_wire::account::own::Limits;
use ringside_wire::account::{DONE, Done};
use ringside_wire::address::parse_address;

const COUNT: Shape = Shape::Nullable(&Shape::Integer);
const MONEY: Shape = Shape::Nullable(&Shape::DecimalInput);
/// Bans that one answer shows.
const BANS_MAX: usize = 1_000;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        params: &[Param::path("address", ADDRESS_SENT, "The wallet's address"), BY],
        body: Shape::Object(&[
            Field::optional("symbol", SYMBOL_SENT, "One market, any case; default: all of them"),
            Field::optional(
                "ledger",
                Shape::OneOf(&["perpetual", "spot"]),
                "Which symbol it is; default perpetual",
            ),
            Field::optional("open_orders", COUNT, "Most open orders in a market: 1 to 20000"),
            Field::optional("order_rate_10s", COUNT, "Orders in ten seconds, of all markets: 1 to 1000000"),
            Field::optional("order_rate_1m", COUNT, "Orders in a minute, of all markets: 1 to 1000000"),
            Field::optional(
                "max_position_notional",
                MONEY,
                "Of position and open orders of a side, beside brackets",
            ),
            Field::optional("max_order_notional", MONEY, "Of one order, in place of the market's"),
            REASON,
        ]),
        named_refusals: &[
            &[refusal::INVALID_PARAMETER, refusal::NOT_FOUND, refusal::SYMBOL_NOT_FOUND],
            OF_ENGINE,
        ],
        ..admin(
            Method::Patch,
            "/admin/accounts/{address}/limits",
            "Give an account limits of its own, in one market or in all; null takes one away",
            later!(set),
        )
    },
    Route {
        named_refusals: &[OF_VIEWS],
        ..get(
            "/api/v1/account/limits",
            Auth::Account(Permission::Read),
            "What the account may do at most, in every market",
            &[],
            now!(show),
        )
    },
    admin(
        Method::Get,
        "/admin/bans",
        "Addresses that are banned now, those whose bans end last first: at most 1000; a restart ends all bans",
        now!(bans),
    ),
];

async fn set(call: Call) -> Result<Done, Error> {
    let address = parse_address(&call.path_param(0)).ok_or_else(|| invalid("address"))?;
    let body: LimitsBody<'_> = call.json()?;
    let (account, market) = {
        let views = views(&call)?;
        let account = views.accounts().of_address(&address).ok_or(refusal::NOT_FOUND)?;
        let market = match body.market()? {
            None => ALL_MARKETS,
            Some((symbol, true)) => {
                let market = views.markets().by_symbol(&symbol).ok_or(refusal::SYMBOL_NOT_FOUND)?;
                market.market
            }
            Some((symbol, false)) => {
                let found = views.perpetuals().markets().by_symbol(&symbol);
                found.ok_or(refusal::SYMBOL_NOT_FOUND)?.market
            }
        };
        (account, market)
    };
    let command: SetAccountLimits = body.command(account, market, (OWN_OPEN_ORDERS_MAX, OWN_RATE_MAX))?;
    let reason = reason(body.get("reason"))?;
    let action =
        Action { subject: Subject::Account(address), detail: body.detail(&command)?, reason: &reason };
    let reply = operate(&call, action, command).await.map_err(unavailable)?;
    match reply.done.rejected() {
        None => Ok(DONE),
        Some(reject) => Err(refusal::of_operator(reject).into()),
    }
}

fn show(call: &Call) -> Result<Limits, Error> {
    let views = views(call)?;
    let account = call.account();
    let own = call.worker.markets.order_rates(account);
    let rates = call.worker.shared.edge.order_rates.limits(own);
    Ok(limits::shown(&views, account, rates))
}

fn bans(call: &Call) -> Result<Vec<Ban>, Error> {
    Ok(call.worker.shared.edge.limits.bans(call.now_ms, BANS_MAX))
}
