//! Balances, positions and configuration of an account (`perpetual.md` 9).

use super::adl::ranking;
use super::market_data::with;
use super::shape;
use super::{READ, by_symbol, get, market, optional_market, params, views};
use crate::api::{Call, Error, Route, later, now};
use ringside_dialect::fapi::margin::{self, Held};
use ringside_dialect::fapi::{encode, fees, text};
use ringside_wire::futures::account::{
    AccountConfig, CommissionRate, FuturesAccount, FuturesAccountV2, FuturesBalance, FuturesBalanceV1,
    FuturesBrackets, FuturesPosition, FuturesPositionV2, SymbolConfig, TradingStatus,
};
use ringside_wire::futures::market::{Empty, OneOrAll};
use ringside_wire::number::{Name, SignedUnits};

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    get("/fapi/v1/balance", READ, 5, "Balance", &[], now!(balance_1)),
    get("/fapi/v2/balance", READ, 5, "Balance", &[], now!(balance)),
    get("/fapi/v3/balance", READ, 5, "Balance", &[], now!(balance)),
    get("/fapi/v1/account", READ, 5, "Account with every symbol", &[], now!(account)),
    get("/fapi/v2/account", READ, 5, "Account with every symbol", &[], now!(account)),
    get("/fapi/v3/account", READ, 5, "Account with what is held", &[], now!(account_3)),
    get("/fapi/v1/positionRisk", READ, 5, "Positions of every symbol", &[shape::OF_SYMBOL], now!(positions)),
    get("/fapi/v2/positionRisk", READ, 5, "Positions of every symbol", &[shape::OF_SYMBOL], now!(positions)),
    get("/fapi/v3/positionRisk", READ, 5, "Positions held", &[shape::OF_SYMBOL], later!(positions_held)),
    get("/fapi/v1/accountConfig", READ, 5, "Configuration of the account", &[], now!(configuration)),
    get("/fapi/v1/symbolConfig", READ, 5, "Configuration by symbol", &[shape::OF_SYMBOL], now!(symbols)),
    get("/fapi/v1/leverageBracket", READ, 1, "Brackets", &[shape::OF_SYMBOL], now!(brackets)),
    get("/fapi/v1/commissionRate", READ, 20, "Fee rates", &[shape::SYMBOL], now!(rates)),
    by_symbol(
        get(
            "/fapi/v1/apiTradingStatus",
            READ,
            1,
            "Restrictions: none",
            &[shape::OF_SYMBOL],
            now!(restrictions),
        ),
        |query| with(query, 1, 10),
    ),
];

fn balance(call: &Call) -> Result<[FuturesBalance; 1], Error> {
    params(call)?;
    let views = views(call)?;
    let figures = margin::figures(views.perpetuals(), call.account());
    Ok([encode::balance(&figures, text::alias(call.account()))])
}

fn balance_1(call: &Call) -> Result<[FuturesBalanceV1; 1], Error> {
    let [balance] = balance(call)?;
    Ok([FuturesBalanceV1 { withdraw_available: balance.max_withdraw_amount, balance }])
}

fn account(call: &Call) -> Result<FuturesAccountV2, Error> {
    params(call)?;
    let views = views(call)?;
    let figures = margin::figures(views.perpetuals(), call.account());
    Ok(encode::account(&figures, views.perpetuals().orders()))
}

fn account_3(call: &Call) -> Result<FuturesAccount, Error> {
    params(call)?;
    let views = views(call)?;
    let figures = margin::figures(views.perpetuals(), call.account());
    Ok(encode::account_3(&figures, views.perpetuals().orders()))
}

/// Rows of the symbol that is sent, or of all.
fn rows<T>(call: &Call, show: impl Fn(&Held<'_>) -> T) -> Result<Vec<T>, Error> {
    let params = params(call)?;
    let views = views(call)?;
    let market = optional_market(&views, &params)?.map(|market| market.market);
    let figures = margin::figures(views.perpetuals(), call.account());
    let held = figures.held.iter().filter(|held| market.is_none_or(|market| held.market.market == market));
    Ok(held.map(show).collect())
}

fn positions(call: &Call) -> Result<Vec<FuturesPositionV2>, Error> {
    rows(call, encode::position_risk)
}

async fn positions_held(call: Call) -> Result<Vec<FuturesPosition>, Error> {
    let ranking = ranking(&call).await?;
    let params = params(&call)?;
    let views = views(&call)?;
    let market = optional_market(&views, &params)?.map(|market| market.market);
    let account = call.account();
    let figures = margin::figures(views.perpetuals(), account);
    let touched = figures.touched(views.perpetuals().orders());
    let rows = touched
        .filter(|held| market.is_none_or(|market| held.market.market == market))
        .map(|held| encode::position_risk_3(held, ranking.quantile(held.market.market, account)));
    Ok(rows.collect())
}

fn restrictions(call: &Call) -> Result<TradingStatus, Error> {
    let params = params(call)?;
    optional_market(&*views(call)?, &params)?;
    Ok(TradingStatus { indicators: Empty {}, update_time: call.now_ms })
}

fn configuration(call: &Call) -> Result<AccountConfig, Error> {
    params(call)?;
    let account = views(call)?.perpetuals().accounts().get(call.account());
    Ok(AccountConfig {
        fee_tier: account.tier,
        can_trade: account.terms.trading_enabled == 1,
        can_deposit: true,
        can_withdraw: true,
        dual_side_position: false,
        update_time: 0,
        multi_assets_margin: false,
        trade_group_id: account.terms.trade_group,
    })
}

fn symbols(call: &Call) -> Result<Vec<SymbolConfig>, Error> {
    rows(call, |held| SymbolConfig {
        symbol: Name(held.market.symbol),
        margin_type: encode::margin_type(held),
        is_auto_add_margin: false,
        leverage: held.leverage,
        max_notional_value: encode::exposure_max(held),
    })
}

fn brackets(call: &Call) -> Result<OneOrAll<FuturesBrackets>, Error> {
    let params = params(call)?;
    super::one_or_all(&*views(call)?, &params, encode::brackets)
}

fn rates(call: &Call) -> Result<CommissionRate, Error> {
    let params = params(call)?;
    let views = views(call)?;
    let market = market(&views, &params)?;
    let account = views.perpetuals().accounts().get(call.account());
    let fees = fees::of(views.perpetuals(), &account, call.now_ms);
    Ok(CommissionRate {
        symbol: Name(market.symbol),
        maker_commission_rate: SignedUnits(fees.maker),
        taker_commission_rate: SignedUnits(fees.taker),
    })
}
