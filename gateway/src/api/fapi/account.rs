//! Balances, positions and configuration of an account (`perpetual.md` 9).

use super::adl::ranking;
use super::market_data::with;
use super::shape;
use super::{READ, by_symbol, later, market, optional_market, params, row, views};
use crate::api::docs::Param;
use crate::api::{Answer, Call, Handler, Method, Response, Route};
use crate::dialect::fapi::margin::{self, Figures, Held};
use crate::dialect::fapi::{encode, fees, text, words};
use serde_json::{Value, json};

const fn get(
    path: &'static str,
    weight: u32,
    summary: &'static str,
    params: &'static [Param],
    handle: fn(&Call) -> Answer,
) -> Route {
    row(Method::Get, path, READ, weight, summary, params, Handler::Now(handle))
}

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    get("/fapi/v1/balance", 5, "Balance", &[], |call| balance(call, true)),
    get("/fapi/v2/balance", 5, "Balance", &[], |call| balance(call, false)),
    get("/fapi/v3/balance", 5, "Balance", &[], |call| balance(call, false)),
    get("/fapi/v1/account", 5, "Account with every symbol", &[], |call| account(call, 1)),
    get("/fapi/v2/account", 5, "Account with every symbol", &[], |call| account(call, 2)),
    get("/fapi/v3/account", 5, "Account with what is held", &[], |call| account(call, 3)),
    get("/fapi/v1/positionRisk", 5, "Positions of every symbol", &[shape::OF_SYMBOL], positions),
    get("/fapi/v2/positionRisk", 5, "Positions of every symbol", &[shape::OF_SYMBOL], positions),
    later("/fapi/v3/positionRisk", READ, 5, "Positions held", &[shape::OF_SYMBOL], |call| {
        Box::pin(positions_held(call))
    }),
    get("/fapi/v1/accountConfig", 5, "Configuration of the account", &[], configuration),
    get("/fapi/v1/symbolConfig", 5, "Configuration by symbol", &[shape::OF_SYMBOL], symbols),
    get("/fapi/v1/leverageBracket", 1, "Brackets", &[shape::OF_SYMBOL], brackets),
    get("/fapi/v1/commissionRate", 20, "Fee rates", &[shape::SYMBOL], rates),
    by_symbol(
        get("/fapi/v1/apiTradingStatus", 1, "Restrictions: none", &[shape::OF_SYMBOL], restrictions),
        |query| with(query, 1, 10),
    ),
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
    let views = views(call)?;
    let figures = margin::figures(views.perpetuals(), call.account());
    Ok(Response::of(&encode::account(&figures, views.perpetuals().orders(), version)))
}

/// Rows of the symbol that is sent, or of all.
fn rows(call: &Call, show: impl Fn(&Held<'_>) -> Value) -> Answer {
    let params = params(call)?;
    let views = views(call)?;
    let market = optional_market(&views, &params)?.map(|market| market.market);
    let figures = margin::figures(views.perpetuals(), call.account());
    let held = figures.held.iter().filter(|held| market.is_none_or(|market| held.market.market == market));
    Ok(Response::of(&held.map(show).collect::<Vec<_>>()))
}

fn positions(call: &Call) -> Answer {
    rows(call, encode::position_risk)
}

async fn positions_held(call: Call) -> Answer {
    let ranking = ranking(&call).await?;
    let params = params(&call)?;
    let views = views(&call)?;
    let market = optional_market(&views, &params)?.map(|market| market.market);
    let account = call.account();
    let figures = margin::figures(views.perpetuals(), account);
    let touched = figures.touched(views.perpetuals().orders());
    let rows: Vec<Value> = touched
        .filter(|held| market.is_none_or(|market| held.market.market == market))
        .map(|held| {
            let quantile = ranking.quantile(held.market.market, account);
            encode::position_risk_3(held, quantile.into())
        })
        .collect();
    Ok(Response::of(&rows))
}

fn restrictions(call: &Call) -> Answer {
    let params = params(call)?;
    optional_market(&*views(call)?, &params)?;
    Ok(Response::of(&json!({ "indicators": {}, "updateTime": call.now_ms })))
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
        json!({
            "symbol": held.market.symbol(),
            "marginType": words::margin_type(encode::mode(held)),
            "isAutoAddMargin": false,
            "leverage": held.leverage,
            "maxNotionalValue": (held.exposure_max / 1_000_000).to_string(),
        })
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
    let fees = fees::of(views.perpetuals(), &account, call.now_ms);
    Ok(Response::of(&json!({
        "symbol": market.symbol(),
        "makerCommissionRate": text::units8(fees.maker),
        "takerCommissionRate": text::units8(fees.taker),
    })))
}
