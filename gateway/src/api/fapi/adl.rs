//! Places in the auto-deleveraging order, as accounts ask for their own (`perpetual.md` 9), and how near a market is to it.

use super::{READ, get, one_or_all, optional_market, params, shape, views};
use crate::api::{Call, Error, Route, later};
use ringside_auth::access::Auth;
use ringside_core::ids::FEE_ACCOUNT;
use ringside_core::risk::perpetual::takeover::Fund;
use ringside_dialect::fapi::margin;
use ringside_edge::worker::adl_ranking::{Ranking, Risk};
use ringside_wire::futures::account::{AdlQuantile, Quantiles};
use ringside_wire::futures::market::{AdlRisk, FuturesAdlRisk, OneOrAll};
use ringside_wire::number::Name;
use std::sync::Arc;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    get(
        "/fapi/v1/adlQuantile",
        READ,
        5,
        "Places in the auto-deleveraging order",
        &[shape::OF_SYMBOL],
        later!(quantiles),
    ),
    get(
        "/fapi/v1/symbolAdlRisk",
        Auth::None,
        1,
        "How near a market is to auto-deleveraging: whether the insurance fund could take over a whole side (low), the largest \
         position (medium), or not even that (high)",
        &[shape::OF_SYMBOL],
        later!(risks),
    ),
];

/// The ranking for a request.
pub(super) async fn ranking(call: &Call) -> Result<Arc<Ranking>, Error> {
    drop(views(call)?);
    Ok(call.worker.shared.ranks.get(&call.worker.shared.views, call.now_ms).await)
}

async fn quantiles(call: Call) -> Result<Vec<AdlQuantile>, Error> {
    let params = params(&call)?;
    let chosen = { optional_market(&*views(&call)?, &params)?.map(|market| market.market) };
    let ranking = ranking(&call).await?;
    let views = views(&call)?;
    let account = views.perpetuals().accounts().get(call.account());
    let rows = views
        .perpetuals()
        .markets()
        .all()
        .iter()
        .filter(|market| chosen.is_none_or(|chosen| market.market == chosen))
        .filter_map(|market| {
            let quantity = account.holding(market.market).position.quantity;
            let quantile = ranking.quantile(market.market, call.account());
            let of = |is_it: bool| if is_it { quantile } else { 0 };
            (quantity != 0).then(|| AdlQuantile {
                symbol: Name(market.symbol),
                adl_quantile: Quantiles { long: of(quantity > 0), short: of(quantity < 0), both: quantile },
            })
        });
    Ok(rows.collect())
}

async fn risks(call: Call) -> Result<OneOrAll<FuturesAdlRisk>, Error> {
    let params = params(&call)?;
    optional_market(&*views(&call)?, &params)?;
    let ranking = ranking(&call).await?;
    let views = views(&call)?;
    let fund = margin::figures(views.perpetuals(), FEE_ACCOUNT);
    let fund =
        Fund { equity: fund.wallet + fund.unrealised, notional: fund.total(|held| held.notional.abs()) };
    one_or_all(&views, &params, |market| {
        let adl_risk = match ranking.risk(market.market, fund) {
            Risk::Low => AdlRisk::Low,
            Risk::Medium => AdlRisk::Medium,
            Risk::High => AdlRisk::High,
        };
        FuturesAdlRisk { symbol: Name(market.symbol), adl_risk, update_time: ranking.at_ms() }
    })
}
