//! Leverage, margin and the modes that stay as they are (`perpetual.md` 9).

use super::{READ, SUCCESS, TRADE, carry_out, market, optional_market, params, row, shape, submit, views};
use crate::api::{Call, Error, Method, Route, later, now};
use ringside_commands::ingress::Priority;
use ringside_core::command::{
    AdjustIsolatedMargin, MarginMode, SetLeverage, SetPerpetualAccount, account_mask,
};
use ringside_core::reject::Reject;
use ringside_dialect::fapi::params::integer;
use ringside_dialect::fapi::{refusal, reject};
use ringside_wire::futures::FuturesSuccess;
use ringside_wire::futures::account::{
    AssetsMode, FeeBurn, LeverageSet, MarginAdjusted, MarginTypeShown, PositionMode,
};
use ringside_wire::futures::words::MarginType;
use ringside_wire::number::{Name, SignedWhole};

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    row(
        Method::Post,
        "/fapi/v1/leverage",
        TRADE,
        1,
        "Set leverage",
        &[shape::SYMBOL, shape::LEVERAGE],
        later!(set_leverage),
    ),
    row(
        Method::Get,
        "/fapi/v1/marginType",
        READ,
        1,
        "Margin type of this name space",
        &[shape::OF_SYMBOL],
        now!(margin_type),
    ),
    row(
        Method::Post,
        "/fapi/v1/marginType",
        TRADE,
        1,
        "Confirm the margin type",
        &[shape::OF_SYMBOL, shape::MARGIN_TYPE],
        now!(set_margin_type),
    ),
    row(Method::Get, "/fapi/v1/positionSide/dual", READ, 30, "Position mode", &[], now!(position_mode)),
    row(
        Method::Post,
        "/fapi/v1/positionSide/dual",
        TRADE,
        1,
        "Confirm the position mode",
        &[shape::DUAL],
        now!(|call| confirm(call, "dualSidePosition")),
    ),
    row(Method::Get, "/fapi/v1/multiAssetsMargin", READ, 30, "Multi-assets mode", &[], now!(assets_mode)),
    row(
        Method::Post,
        "/fapi/v1/multiAssetsMargin",
        TRADE,
        1,
        "Confirm the multi-assets mode",
        &[shape::MULTI],
        now!(|call| confirm(call, "multiAssetsMargin")),
    ),
    row(
        Method::Post,
        "/fapi/v1/positionMargin",
        TRADE,
        1,
        "Add to or take from an isolated position",
        &[shape::SYMBOL, shape::AMOUNT, shape::MARGIN_KIND, shape::POSITION_SIDE],
        later!(adjust),
    ),
    row(Method::Get, "/fapi/v1/feeBurn", READ, 30, "Whether fees are discounted", &[], now!(fee_burn)),
    row(
        Method::Post,
        "/fapi/v1/feeBurn",
        TRADE,
        1,
        "Switch the discount of fees",
        &[shape::FEE_BURN],
        later!(set_fee_burn),
    ),
];

async fn set_leverage(call: Call) -> Result<LeverageSet, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let sent = params.text("leverage")?;
    let market = { market(&*views(&call)?, &params)?.market };
    let invalid = || refusal::leverage(sent);
    let leverage = integer(sent).and_then(|value| u32::try_from(value).ok()).ok_or_else(invalid)?;
    let command = SetLeverage { account: call.account(), market, leverage, reserved: 0 };
    let reply = submit(&call, command, Priority::Cancel).await?;
    match reply.done.rejected() {
        None => {}
        Some(Reject::InvalidLeverage) => return Err(invalid().into()),
        Some(reject) => return Err(reject::of_reject(reject).into()),
    }
    let views = views(&call)?;
    let market = views.perpetuals().markets().get(market).ok_or(refusal::INTERNAL)?;
    let greatest = market.table().map_or(0, |brackets| brackets.exposure_max(leverage));
    let max_notional_value = SignedWhole(greatest / 1_000_000);
    Ok(LeverageSet { leverage, max_notional_value, symbol: Name(market.symbol) })
}

fn margin_type(call: &Call) -> Result<MarginTypeShown, Error> {
    let params = params(call)?;
    let symbol = optional_market(&*views(call)?, &params)?.map(|market| Name(market.symbol));
    Ok(MarginTypeShown { margin_type: MarginType::of(MarginMode::Cross), symbol })
}

fn set_margin_type(call: &Call) -> Result<FuturesSuccess, Error> {
    let params = params(call)?;
    let sent = params.text("marginType")?;
    optional_market(&*views(call)?, &params)?;
    match sent {
        "CROSSED" => Ok(SUCCESS),
        "ISOLATED" => Err(refusal::ISOLATED.into()),
        _ => Err(refusal::not_valid("marginType").into()),
    }
}

fn position_mode(call: &Call) -> Result<PositionMode, Error> {
    params(call).map(|_| PositionMode { dual_side_position: false })
}

fn assets_mode(call: &Call) -> Result<AssetsMode, Error> {
    params(call).map(|_| AssetsMode { multi_assets_margin: false })
}

/// A mode that can only stay off.
fn confirm(call: &Call, name: &'static str) -> Result<FuturesSuccess, Error> {
    let params = params(call)?;
    params.text(name)?;
    match (params.boolean(name)?, name) {
        (Some(true), "multiAssetsMargin") => Err(refusal::MULTI_ASSETS.into()),
        (Some(true), _) => Err(refusal::HEDGE.into()),
        _ => Ok(SUCCESS),
    }
}

async fn adjust(call: Call) -> Result<MarginAdjusted, Error> {
    let params = params(&call)?;
    params.text("symbol")?;
    let amount = params.decimal("amount")?.ok_or_else(|| refusal::mandatory("amount"))?;
    let kind = params.mandatory_integer("type")?;
    let market = { market(&*views(&call)?, &params)?.market };
    match params.get("positionSide") {
        None | Some("BOTH") => {}
        Some("LONG" | "SHORT") => return Err(refusal::POSITION_SIDE_MODE.into()),
        Some(_) => return Err(refusal::POSITION_SIDE.into()),
    }
    if !matches!(kind, 1 | 2) {
        return Err(refusal::not_valid("type").into());
    }
    let micros = amount.micros_to_compare().ok_or(refusal::PRECISION)?;
    let amount_sent = micros as f64 / 1e6;
    let command = AdjustIsolatedMargin {
        account: call.account(),
        market,
        amount: if kind == 1 { micros } else { -micros },
    };
    carry_out(&call, command).await?;
    let msg = "Successfully modify position margin.";
    Ok(MarginAdjusted { amount: amount_sent, code: 200, msg, r#type: kind })
}

fn fee_burn(call: &Call) -> Result<FeeBurn, Error> {
    params(call)?;
    let account = views(call)?.perpetuals().accounts().get(call.account());
    Ok(FeeBurn { fee_burn: account.terms.fee_burn == 1 })
}

async fn set_fee_burn(call: Call) -> Result<FuturesSuccess, Error> {
    let params = params(&call)?;
    params.text("feeBurn")?;
    let is_on = params.boolean("feeBurn")?.unwrap_or(false);
    let command = SetPerpetualAccount {
        account: call.account(),
        mask: account_mask::FEE_BURN,
        fee_burn: is_on.into(),
        ..zerocopy::FromZeros::new_zeroed()
    };
    carry_out(&call, command).await?;
    Ok(SUCCESS)
}
