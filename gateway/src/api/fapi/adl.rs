//! Places in the auto-deleveraging order, as accounts ask for their own (`perpetual.md` 9).

use super::{READ, later, optional_market, params, shape, views};
use crate::api::{Answer, Call, Error, Response, Route};
use crate::worker::ranking::Ranking;
use serde_json::{Value, json};
use std::sync::Arc;

/// Rows.
pub static ROUTES: &[Route] = &[later(
    "/fapi/v1/adlQuantile",
    READ,
    5,
    "Places in the auto-deleveraging order",
    &[shape::OF_SYMBOL],
    |call| Box::pin(quantiles(call)),
)];

/// The ranking for a request.
pub(super) async fn ranking(call: &Call) -> Result<Arc<Ranking>, Error> {
    drop(views(call)?);
    Ok(call.worker.shared.ranks.get(&call.worker.shared.views, call.now_ms).await)
}

async fn quantiles(call: Call) -> Answer {
    let params = params(&call)?;
    let chosen = { optional_market(&*views(&call)?, &params)?.map(|market| market.market) };
    let ranking = ranking(&call).await?;
    let views = views(&call)?;
    let account = views.perpetuals().accounts().get(call.account());
    let rows: Vec<Value> = views
        .perpetuals()
        .markets()
        .all()
        .iter()
        .filter(|market| chosen.is_none_or(|chosen| market.market == chosen))
        .filter_map(|market| {
            let quantity = account.holding(market.market).position.quantity;
            let quantile = ranking.quantile(market.market, call.account());
            let of = |is_it: bool| if is_it { quantile } else { 0 };
            (quantity != 0).then(|| {
                json!({
                    "symbol": market.symbol(),
                    "adlQuantile": { "LONG": of(quantity > 0), "SHORT": of(quantity < 0), "BOTH": quantile },
                })
            })
        })
        .collect();
    Ok(Response::of(&rows))
}
