//! Open interest as it was, under both names that clients ask for it by.

use super::{from_archive, get, market, name_of, params, shape, views, within};
use crate::api::docs::{Param, Shape};
use crate::api::{Call, Error, Route, later};
use ringside_auth::access::Auth;
use ringside_dialect::fapi::{refusal, text};
use ringside_views::log::Page;
use ringside_views::perpetual::interest::{InterestRecord, PERIODS, classes};
use ringside_wire::futures::market::InterestSample;
use ringside_wire::number::{Name, SignedFixed};

const PERIOD: Param = Param::query("period", Shape::OneOf(&NAMES), "From one sample to the next");
const NAMES: [&str; PERIODS.len()] = {
    let mut names = [""; PERIODS.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = PERIODS[at].0;
        at += 1;
    }
    names
};

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[of("/fapi/v1/openInterestHist"), of("/futures/data/openInterestHist")];

const fn of(path: &'static str) -> Route {
    get(
        path,
        Auth::None,
        1,
        "Open interest, sampled",
        &[shape::SYMBOL, PERIOD, shape::START, shape::END, shape::LIMIT],
        later!(samples),
    )
}

async fn samples(call: Call) -> Result<Vec<InterestSample>, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let period = params.text("period")?;
    params.check_times()?;
    let limit = params.limit(30, 500)?;
    let (market, decimals) = {
        let views = views(&call)?;
        let market = market(&views, &params)?;
        (market.market, text::decimals(market.lot()))
    };
    let classes = classes(period).ok_or_else(|| refusal::not_valid("period"))?;
    let (start, end) = params.times()?;
    let page = Page::new(0, Some(market), limit).faceted(classes);
    let page = within(page, &params, start.unwrap_or(i64::MIN)..=end.unwrap_or(i64::MAX));
    let rows: Vec<InterestRecord> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    let views = views(&call)?;
    let show = |row: &InterestRecord| InterestSample {
        symbol: Name(name_of(&views, row.market)),
        sum_open_interest: SignedFixed(row.quantity, decimals),
        // Micros in steps of 10^-8.
        sum_open_interest_value: SignedFixed(row.value.saturating_mul(100), 8),
        timestamp: row.time_ms,
    };
    Ok(rows.iter().map(show).collect())
}
