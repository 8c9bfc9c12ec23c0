//! Open interest as it was, under both names that clients ask for it by.

use super::{from_archive, later, market, params, shape, views, within};
use crate::api::docs::{Field, Param, Shape, decimal, integer, text as words};
use crate::api::{Answer, Call, Response, Route};
use crate::auth::access::Auth;
use crate::dialect::fapi::{refusal, text};
use ringside_views::log::Page;
use ringside_views::perpetual::interest::{InterestRecord, PERIODS};
use serde_json::{Value, json};

const PERIOD: Param = Param::query(
    "period",
    Shape::OneOf(&["5m", "15m", "30m", "1h", "2h", "4h", "6h", "12h", "1d"]),
    "From one sample to the next",
);
const SAMPLE: &[Field] =
    &[decimal("sumOpenInterest"), decimal("sumOpenInterestValue"), words("symbol"), integer("timestamp")];

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[of("/fapi/v1/openInterestHist"), of("/futures/data/openInterestHist")];

const fn of(path: &'static str) -> Route {
    Route {
        response: Shape::List(&Shape::Object(SAMPLE)),
        ..later(
            path,
            Auth::None,
            1,
            "Open interest, sampled",
            &[shape::SYMBOL, PERIOD, shape::START, shape::END, shape::LIMIT],
            |call| Box::pin(samples(call)),
        )
    }
}

async fn samples(call: Call) -> Answer {
    let params = params(&call)?;
    params.text("symbol")?;
    let period = params.text("period")?;
    let (start, end) = (params.integer("startTime")?, params.integer("endTime")?);
    let limit = params.limit(30, 500)?;
    let market = { market(&*views(&call)?, &params)?.market };
    let period = PERIODS.into_iter().find(|(name, ..)| *name == period);
    let (_, _, classes) = period.ok_or_else(|| refusal::not_valid("period"))?;
    params.check_times()?;
    let page = Page::new(0, Some(market), limit).faceted(classes);
    let page = within(page, &params, start.unwrap_or(i64::MIN)..=end.unwrap_or(i64::MAX));
    let rows: Vec<InterestRecord> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    let views = views(&call)?;
    let market = views.perpetuals().markets().get(market);
    let (symbol, lot) = market.map_or(("", 1), |market| (market.symbol(), market.lot()));
    let show = |row: &InterestRecord| {
        json!({
            "symbol": symbol,
            "sumOpenInterest": text::fixed(row.quantity, text::decimals(lot)),
            "sumOpenInterestValue": text::fixed(row.value * 100, 8),
            "timestamp": row.time_ms,
        })
    };
    Ok(Response::of(&rows.iter().map(show).collect::<Vec<Value>>()))
}
