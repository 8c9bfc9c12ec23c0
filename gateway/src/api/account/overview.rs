//! What an account holds: positions, and both ledgers together (`account.md` 2 and 6).

use super::{OF_VIEWS, get, market_of, views};
use crate::api::docs::{Param, SYMBOL_SENT};
use crate::api::{Call, Error, Route, later, now};
use ringside_auth::access::{Auth, Permission};
use ringside_dialect::account::{overview, refusal};
use ringside_dialect::fapi::{encode, margin};
use ringside_wire::account::own::UnifiedAccount;
use ringside_wire::address::address_text;
use ringside_wire::futures::account::FuturesPosition;
use ringside_wire::futures::words::PositionMargin;
use ringside_wire::number::Whole;

const READ: Auth = Auth::Account(Permission::Read);
const SYMBOL: Param = Param::optional("symbol", SYMBOL_SENT, "One market only");

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[&[refusal::SYMBOL_NOT_FOUND], OF_VIEWS],
        ..get("/positions/active", READ, "Open positions", &[SYMBOL], later!(positions))
    },
    Route {
        named_refusals: &[OF_VIEWS],
        ..get(
            "/unified/account",
            READ,
            "Perpetual margin and spot balances of the account together",
            &[],
            now!(unified),
        )
    },
];

async fn positions(call: Call) -> Result<Vec<FuturesPosition>, Error> {
    drop(views(&call)?);
    let ranking = call.worker.shared.ranks.get(&call.worker.shared.views, call.now_ms).await;
    let views = views(&call)?;
    let market = market_of(&views, call.query())?.map(|market| market.market);
    let figures = margin::figures(views.perpetuals(), call.account());
    let rows = figures
        .held
        .iter()
        .filter(|held| held.holding.position.quantity != 0)
        .filter(|held| market.is_none_or(|market| held.market.market == market))
        .map(|held| {
            let quantile = ranking.quantile(held.market.market, call.account());
            FuturesPosition {
                leverage: Some(Whole(held.leverage.into())),
                margin_type: Some(PositionMargin::of(encode::mode(held))),
                ..encode::position_risk_3(held, quantile)
            }
        });
    Ok(rows.collect())
}

fn unified(call: &Call) -> Result<UnifiedAccount, Error> {
    let views = views(call)?;
    let address = call.identity.map_or_else(String::new, |identity| address_text(&identity.address));
    Ok(overview::unified(&views, call.account(), address, call.now_ms))
}
