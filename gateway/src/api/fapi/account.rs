//! Balances, positions, configuration and income of an account (`perpetual.md` 9).

use super::{READ, market, optional_market, params, row, views};
use crate::api::{Answer, Call, Handler, Method, Response, Route};
use crate::dialect::fapi::margin::{self, Figures, Held};
use crate::dialect::fapi::{encode, refusal, text, words};
use crate::view::perpetual::rows::IncomeKind;
use serde_json::{Value, json};

const fn get(path: &'static str, weight: u32, summary: &'static str, handle: fn(&Call) -> Answer) -> Route {
    row(Method::Get, path, READ, weight, summary, Handler::Now(handle))
}

/// Rows.
pub static ROUTES: &[Route] = &[
    get("/fapi/v1/balance", 5, "Balance", |call| balance(call, true)),
    get("/fapi/v2/balance", 5, "Balance", |call| balance(call, false)),
    get("/fapi/v3/balance", 5, "Balance", |call| balance(call, false)),
    get("/fapi/v1/account", 5, "Account with every symbol", |call| account(call, 1)),
    get("/fapi/v2/account", 5, "Account with every symbol", |call| account(call, 2)),
    get("/fapi/v3/account", 5, "Account with what is held", |call| account(call, 3)),
    get("/fapi/v1/positionRisk", 5, "Positions of every symbol", positions),
    get("/fapi/v2/positionRisk", 5, "Positions of every symbol", positions),
    get("/fapi/v3/positionRisk", 5, "Positions held", positions_held),
    get("/fapi/v1/accountConfig", 5, "Configuration of the account", configuration),
    get("/fapi/v1/symbolConfig", 5, "Configuration by symbol", symbols),
    get("/fapi/v1/leverageBracket", 1, "Brackets", brackets),
    get("/fapi/v1/commissionRate", 20, "Fee rates", rates),
    get("/fapi/v1/income", 30, "Changes of the wallet", income),
    get("/fapi/v1/apiTradingStatus", 1, "Restrictions: none", |call| {
        Ok(Response::of(&json!({ "indicators": {}, "updateTime": call.now_ms })))
    }),
];

fn with_figures(call: &Call, show: impl FnOnce(&Figures<'_>) -> Answer) -> Answer {
    let views = views(call)?;
    show(&margin::figures(views.perpetuals(), call.account()))
}

fn balance(call: &Call, is_first_version: bool) -> Answer {
    params(call)?;
    with_figures(call, |figures| {
        Ok(Response::of(&json!([encode::balance(figures, &text::alias(call.account()), is_first_version)])))
    })
}

fn account(call: &Call, version: u32) -> Answer {
    params(call)?;
    with_figures(call, |figures| Ok(Response::of(&encode::account(figures, version))))
}

/// Rows of the symbol that is sent, or of all.
fn rows(call: &Call, show: impl Fn(&Held<'_>) -> Option<Value>) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    let market = optional_market(&views, &params)?.map(|market| market.market);
    let figures = margin::figures(views.perpetuals(), call.account());
    let held = figures.held.iter().filter(|held| market.is_none_or(|market| held.market.market == market));
    Ok(Response::of(&held.filter_map(show).collect::<Vec<_>>()))
}

fn positions(call: &Call) -> Answer {
    rows(call, |held| Some(encode::position_risk(held)))
}

fn positions_held(call: &Call) -> Answer {
    // Places in the auto-deleveraging order are not computed here yet: nobody is shown nearer to it than others.
    rows(call, |held| held.is_touched().then(|| encode::position_risk_3(held, 0)))
}

fn configuration(call: &Call) -> Answer {
    params(call)?;
    with_figures(call, |figures| {
        let terms = &figures.account.terms;
        Ok(Response::of(&json!({
            "feeTier": figures.account.tier,
            "canTrade": terms.trading_enabled == 1,
            "canDeposit": true,
            "canWithdraw": true,
            "dualSidePosition": false,
            "updateTime": 0,
            "multiAssetsMargin": false,
            "tradeGroupId": terms.trade_group,
        })))
    })
}

fn symbols(call: &Call) -> Answer {
    rows(call, |held| {
        Some(json!({
            "symbol": held.market.symbol(),
            "marginType": words::margin_type(encode::mode(held)),
            "isAutoAddMargin": false,
            "leverage": held.leverage,
            "maxNotionalValue": (held.exposure_max / 1_000_000).to_string(),
        }))
    })
}

fn brackets(call: &Call) -> Answer {
    let params = params(call)?;
    super::one_or_all(&*views(call)?, &params, encode::brackets)
}

fn rates(call: &Call) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    let market = market(&views, &params)?;
    let account = views.perpetuals().accounts().get(call.account());
    let (maker, taker) = margin::rates(views.perpetuals(), &account, call.now_ms);
    Ok(Response::of(&json!({
        "symbol": market.symbol(),
        "makerCommissionRate": text::units8(maker),
        "takerCommissionRate": text::units8(taker),
    })))
}

fn income(call: &Call) -> Answer {
    const DAY_MS: i64 = 86_400_000;
    let params = params(call)?;
    let (start, end) = params.times()?;
    let page = params.integer("page")?.unwrap_or(1);
    let page =
        usize::try_from(page).ok().filter(|page| *page >= 1).ok_or_else(|| refusal::not_valid("page"))?;
    let limit = params.limit(100, 1000)?;
    let kind = match params.get("incomeType") {
        None => None,
        // Rewards of affiliates are paid out nowhere yet, so there are none to show.
        Some("REFERRAL_KICKBACK") => Some(u32::MAX),
        Some(word) => {
            let kind = IncomeKind::ALL.into_iter().find(|kind| encode::income_type(*kind) == word);
            Some(kind.ok_or_else(|| refusal::not_valid("incomeType"))? as u32)
        }
    };
    let views = views(call)?;
    let chosen = optional_market(&views, &params)?.map(|market| market.market);
    let oldest = call.now_ms - 92 * DAY_MS;
    let from = match (start, end) {
        (None, None) => call.now_ms - 7 * DAY_MS,
        (start, _) => start.unwrap_or(oldest).max(oldest),
    };
    let to = end.unwrap_or(i64::MAX);
    let rows: Vec<Value> = views
        .perpetuals()
        .income()
        .of_account(call.account())
        .filter(|row| chosen.is_none_or(|market| row.market == market))
        .filter(|row| kind.is_none_or(|kind| row.kind == kind) && (from..=to).contains(&row.time_ms))
        .skip(limit.saturating_mul(page - 1))
        .take(limit)
        .map(|row| {
            let market = views.perpetuals().markets().get(row.market);
            encode::income(row, market.map_or("", |market| market.symbol()))
        })
        .collect();
    Ok(Response::of(&rows))
}
