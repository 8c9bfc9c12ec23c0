//! What an operator does on the perpetual side (`account.md` 13): credits, index prices, states of symbols, terms of accounts,
//! the proof of all ledgers. Each is one command.

use crate::api::docs::{ADDRESS_SENT, Field, Param, Shape};
use crate::api::{Answer, Auth, Call, Error, Handler, Method, Response, Route};
use crate::auth::parse_address;
use crate::config::Config;
use crate::dialect::decimal;
use crate::dialect::fapi::params::Decimal;
use crate::dialect::fapi::{text, words};
use crate::dialect::spot::refusal as spot;
use crate::ingress::Priority;
use crate::view::Views;
use crate::view::ledger::LedgerProof;
use ringside_core::command::{
    Body, Command, CreditPerpetual, ProveLedger, SetManualPrice, SetPerpetualAccount, SetPerpetualState,
    account_mask,
};
use ringside_core::ids::{MarketId, padded};
use ringside_core::reject::Reject;
use serde_json::{Value, json};

const INVALID_ADDRESS: spot::Refusal = spot::Refusal { status: 400, error: "invalid address" };
const INVALID_PROMOTION: spot::Refusal = spot::Refusal { status: 400, error: "invalid promotion" };
const INVALID_TRADE_GROUP: spot::Refusal = spot::Refusal { status: 400, error: "invalid trade group" };
const OK: Shape = Shape::Object(&[Field::new("ok", Shape::Boolean, "true")]);

/// Rows.
pub static ROUTES: &[Route] = &[
    Route {
        auth: Auth::Admin,
        is_api: false,
        precondition: Some(is_test_deployment),
        tag: "admin",
        summary: "Credit a perpetual wallet; test deployments only",
        body: Shape::Object(&[
            Field::new("user_address", Shape::Text, "The wallet's address"),
            Field::new("amount", Shape::DecimalInput, "Of the margin asset, at most 6 decimals"),
            Field::optional("reason", Shape::Text, "Audit note, at most 64 bytes"),
        ]),
        response: OK,
        ..Route::new(Method::Post, "/admin/perpetual/credit", Handler::Later(|call| Box::pin(credit(call))))
    },
    Route {
        auth: Auth::Admin,
        is_api: false,
        precondition: Some(is_test_deployment),
        tag: "admin",
        summary: "Pin the index of a perpetual market; test deployments only",
        body: Shape::Object(&[
            Field::new("symbol", Shape::Text, "Name of the market"),
            Field::optional("price", Shape::DecimalInput, "The index; null or absent frees it"),
        ]),
        response: OK,
        ..Route::new(Method::Post, "/admin/perpetual/index-price", Handler::Later(|call| Box::pin(pin(call))))
    },
    Route {
        auth: Auth::Admin,
        is_api: false,
        tag: "admin",
        summary: "Set the state of a perpetual market; CLOSED settles it and is final",
        params: &[Param::path("symbol", Shape::Text, "Name of the market, any case")],
        body: Shape::Object(&[Field::new(
            "state",
            Shape::OneOf(&["TRADING", "POST_ONLY", "REDUCE_ONLY", "CANCEL_ONLY", "HALTED", "CLOSED"]),
            "",
        )]),
        response: OK,
        ..Route::new(
            Method::Patch,
            "/admin/perpetual/symbols/{symbol}",
            Handler::Later(|call| Box::pin(set_state(call))),
        )
    },
    Route {
        auth: Auth::Admin,
        is_api: false,
        tag: "admin",
        summary: "Change the trade group, the promotion or the permission to trade of an account",
        params: &[Param::path("address", ADDRESS_SENT, "The wallet's address")],
        body: Shape::Object(&[
            Field::optional("trade_group_id", Shape::Integer, "-1 for none"),
            Field::optional("promo_bps", Shape::Integer, "With promo_expires_at"),
            Field::optional("promo_expires_at", Shape::Integer, "UNIX milliseconds"),
            Field::optional("trading_enabled", Shape::Boolean, "false refuses placements"),
        ]),
        response: OK,
        ..Route::new(
            Method::Patch,
            "/admin/accounts/{address}",
            Handler::Later(|call| Box::pin(set_account(call))),
        )
    },
    Route {
        auth: Auth::Admin,
        is_api: false,
        tag: "admin",
        summary: "Add every ledger up: both sides of each asset, with the sequence and the hash of that state",
        response: Shape::Any,
        ..Route::new(Method::Get, "/admin/ledger/proof", Handler::Later(|call| Box::pin(prove(call))))
    },
];

fn is_test_deployment(config: &Config) -> Result<(), Error> {
    if config.test_deployment { Ok(()) } else { Err(spot::DISABLED.into()) }
}

#[derive(serde::Deserialize)]
struct CreditBody<'a> {
    #[serde(borrow, default)]
    user_address: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    amount: Option<&'a serde_json::value::RawValue>,
    #[serde(borrow, default)]
    reason: Option<std::borrow::Cow<'a, str>>,
}

#[derive(serde::Deserialize)]
struct PriceBody<'a> {
    #[serde(borrow, default)]
    symbol: Option<std::borrow::Cow<'a, str>>,
    #[serde(borrow, default)]
    price: Option<&'a serde_json::value::RawValue>,
}

#[derive(serde::Deserialize)]
struct StateBody<'a> {
    #[serde(borrow, default)]
    state: Option<std::borrow::Cow<'a, str>>,
}

#[derive(serde::Deserialize)]
struct AccountBody {
    #[serde(default)]
    trade_group_id: Option<i64>,
    #[serde(default)]
    promo_bps: Option<u32>,
    #[serde(default)]
    promo_expires_at: Option<i64>,
    #[serde(default)]
    trading_enabled: Option<bool>,
}

/// A decimal sent as text or as a number.
fn number(raw: &serde_json::value::RawValue) -> Option<Decimal> {
    decimal::parse_amount(raw.get().trim_matches('"').as_bytes()).map(Decimal)
}

async fn credit(call: Call) -> Answer {
    let body: CreditBody<'_> = call.json()?;
    let address = body.user_address.as_deref().and_then(parse_address).ok_or(INVALID_ADDRESS)?;
    let amount = body.amount.and_then(number).and_then(Decimal::micros).filter(|amount| *amount > 0);
    let reason = padded(body.reason.as_deref().unwrap_or("")).ok_or(spot::INVALID_AMOUNT)?;
    let command =
        CreditPerpetual { address, reserved: 0, amount: amount.ok_or(spot::INVALID_AMOUNT)?, reason };
    carry_out(&call, command).await
}

async fn pin(call: Call) -> Answer {
    let body: PriceBody<'_> = call.json()?;
    let market = market(&call, body.symbol.as_deref().unwrap_or(""))?;
    let price = match body.price {
        None => 0,
        Some(raw) => number(raw)
            .and_then(|price| price.price().ok())
            .filter(|price| *price > 0)
            .ok_or(spot::INVALID_PRICE)?,
    };
    carry_out(&call, SetManualPrice { market, reserved: 0, price }).await
}

async fn set_state(call: Call) -> Answer {
    let body: StateBody<'_> = call.json()?;
    let market = market(&call, &call.path_param(0))?;
    let state = body.state.as_deref().and_then(words::parse_state).ok_or(spot::INVALID_STATUS)?;
    carry_out(&call, SetPerpetualState { market, state: state as u8, reserved: [0; 3] }).await
}

async fn set_account(call: Call) -> Answer {
    let address = parse_address(&call.path_param(0)).ok_or(INVALID_ADDRESS)?;
    let body: AccountBody = call.json()?;
    let account = {
        let views = call.worker.shared.views.read();
        views.accounts().of_address(&address).ok_or(INVALID_ADDRESS)?
    };
    let promotion = match (body.promo_bps, body.promo_expires_at) {
        (None, None) => None,
        (Some(bps), Some(until_ms)) if bps <= 10_000 && until_ms >= 0 => Some((bps, until_ms)),
        _ => return Err(INVALID_PROMOTION.into()),
    };
    let bit = |is_sent: bool, bit: u32| if is_sent { bit } else { 0 };
    let (promo_bps, promo_until_ms) = promotion.unwrap_or_default();
    let command = SetPerpetualAccount {
        account,
        mask: bit(body.trade_group_id.is_some(), account_mask::TRADE_GROUP)
            | bit(body.trading_enabled.is_some(), account_mask::TRADING)
            | bit(promotion.is_some(), account_mask::PROMO),
        trade_group: body.trade_group_id.unwrap_or(-1),
        trading_enabled: u32::from(body.trading_enabled.unwrap_or(true)),
        promo_bps,
        promo_until_ms,
        ..zerocopy::FromZeros::new_zeroed()
    };
    carry_out(&call, command).await
}

/// A command, so that the sums are of one state, which the journal leads to again: whoever doubts them replays to the
/// sequence and compares the hash. It walks the whole state on the matcher.
async fn prove(call: Call) -> Answer {
    call.worker.ingress.submit(Command::new(ProveLedger {}), Priority::Internal).await?;
    let views = call.worker.shared.views.read();
    // Another one may have come since: then it is newer, and as good.
    Ok(Response::of(&shown(views.ledger().last(), &views)))
}

fn shown(proof: &LedgerProof, views: &Views) -> Value {
    const MICRO: i128 = 1_000_000_000_000;
    let name = |asset| views.markets().asset_name(asset).unwrap_or("").to_owned();
    let row = |asset, ledger: &str, left: i128, right: i128, terms: Value| {
        json!({
            "asset": name(asset),
            "ledger": ledger,
            "left": text::amount(left),
            "right": text::amount(right),
            "equal": left == right,
            "terms": terms,
        })
    };
    let mut rows: Vec<Value> = Vec::new();
    for spot in &proof.spot {
        let (available, frozen, credited) = (spot.available.get(), spot.frozen.get(), spot.credited.get());
        let terms = json!({
            "available": text::amount(available),
            "frozen": text::amount(frozen),
            "credited": text::amount(credited),
        });
        rows.push(row(spot.asset, "spot", available + frozen, credited, terms));
    }
    if let Some(told) = &proof.perpetual {
        let (wallets, isolated, costs) = (told.wallets.get(), told.isolated.get(), told.costs.get());
        let [fund, fees, affiliates, deposits] =
            [told.fund, told.fees, told.affiliates, told.deposits].map(i128::from);
        let left = wallets + isolated + fund + fees + affiliates - costs;
        let money = |micros: i128| text::amount(micros * MICRO);
        let terms = json!({
            "wallets": money(wallets),
            "isolated_wallets": money(isolated),
            "insurance_fund": money(fund),
            "fee_pool": money(fees),
            "affiliate_payable": money(affiliates),
            "position_costs": money(costs),
            "net_transfers": money(deposits),
        });
        rows.push(row(told.asset, "perpetual", left * MICRO, deposits * MICRO, terms));
    }
    json!({
        "sequence": proof.sequence,
        "time": proof.time_ns.div_euclid(1_000_000),
        "state_hash": const_hex::encode(proof.state_hash),
        "ledgers": rows,
    })
}

fn market(call: &Call, symbol: &str) -> Result<MarketId, Error> {
    let views = call.worker.shared.views.read();
    let market = views.perpetuals().markets().by_symbol(symbol);
    Ok(market.ok_or(spot::MARKET_NOT_FOUND)?.market)
}

async fn carry_out<B: Body>(call: &Call, body: B) -> Answer {
    let reply = call.worker.ingress.submit(Command::new(body), Priority::Internal).await?;
    match reply.done.rejected() {
        None => Ok(Response::json("{\"ok\":true}")),
        Some(Reject::MarketNotFound) => Err(spot::MARKET_NOT_FOUND.into()),
        Some(Reject::MarketDelisted) => Err(spot::MARKET_DELISTED.into()),
        // The market never had a mark price: it cannot open.
        Some(Reject::NoMarkPrice) => Err(spot::MARKET_HALTED.into()),
        // Of all these commands only that of an account has a form to go wrong.
        Some(Reject::Malformed) => Err(INVALID_TRADE_GROUP.into()),
        Some(_) => Err(spot::INVALID_AMOUNT.into()),
    }
}
