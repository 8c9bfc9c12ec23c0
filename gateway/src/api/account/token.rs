//! Tokens of the chain as operators keep them (`spot.md` 10.1): one is added with its contract and decimals, for good; its least
//! withdrawal and its pauses change. Each step is a command behind a note in the audit log.

use super::{OF_ENGINE, OF_VIEWS, admin, reason, unavailable, views};
use crate::api::docs::{ADDRESS_SENT, Field, Param, Shape, TOKEN};
use crate::api::operate::{Action, REASON, Subject, operate};
use crate::api::{Call, Error, Method, Route, later, now};
use ringside_chain::provider::ProviderFault;
use ringside_chain::token::TokenFault;
use ringside_core::command::{DECIMALS_MAX, SetToken, token_pause};
use ringside_core::ids::{AssetName, padded, text as name_of};
use ringside_core::money::{AMOUNT_UNIT, Amount};
use ringside_core::reject::Reject;
use ringside_dialect::account::params::{member, number, typed};
use ringside_dialect::account::refusal::{self, Refused};
use ringside_dialect::body;
use ringside_dialect::fapi::text;
use ringside_views::Views;
use ringside_views::deposit::TokenRecord;
use ringside_wire::account::Items;
use ringside_wire::account::chain::ChainToken;
use ringside_wire::address::{address_text, parse_address};
use ringside_wire::name::{Address, Token};
use ringside_wire::number as written;
use serde_json::value::RawValue;

const CHANGES: [Field; 4] = [
    Field::optional(
        "min_withdrawal",
        Shape::DecimalInput,
        "Above 0, no finer than the token; 1 where it is added",
    ),
    Field::optional("deposits_paused", Shape::Boolean, ""),
    Field::optional("withdrawals_paused", Shape::Boolean, ""),
    REASON,
];
const ADDED: Shape = Shape::Object(&[
    Field::new("symbol", TOKEN, "1 to 10 of A to Z and 0 to 9"),
    Field::new("address", ADDRESS_SENT, "The contract"),
    Field::new("decimals", Shape::Integer, "Of its base unit, 0 to 18"),
    CHANGES[0],
    CHANGES[1],
    CHANGES[2],
    CHANGES[3],
]);

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[OF_VIEWS],
        ..admin(Method::Get, "/admin/tokens", "Tokens that can be deposited and withdrawn", now!(list))
    },
    add("/admin/tokens"),
    // The same below the address of the spot venue, which its clients know.
    add("/api/v1/admin/tokens"),
    Route {
        params: &[Param::path("symbol", TOKEN, "Its name")],
        body: Shape::Object(&CHANGES),
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::NOT_FOUND], OF_ENGINE],
        ..admin(
            Method::Patch,
            "/admin/tokens/{symbol}",
            "Change a token's least withdrawal, or pause its deposits and withdrawals",
            later!(change),
        )
    },
];

const fn add(path: &'static str) -> Route {
    Route {
        body: ADDED,
        named_refusals: &[
            &[refusal::INVALID_PARAMETER, refusal::TOKEN_EXISTS, refusal::CHAIN_ERROR],
            OF_ENGINE,
        ],
        ..admin(
            Method::Post,
            path,
            "Add a token of the chain; contract and decimals are for good",
            later!(carry_out),
        )
    }
}

body! {
    TokenBody { symbol, address, decimals, min_withdrawal, deposits_paused, withdrawals_paused, reason }
}

/// What of a token changes.
struct Changes {
    minimum: Amount,
    paused: u8,
}

impl TokenBody<'_> {
    /// What is asked for, beside what is now.
    fn changes(&self, decimals: u8, now: &Changes) -> Result<Changes, Refused> {
        let steps = 10i128.pow(u32::from(DECIMALS_MAX - decimals));
        let minimum = match member(self.min_withdrawal) {
            None => now.minimum,
            Some(raw) => {
                let minimum = number(raw).map(|minimum| minimum.0);
                let minimum = minimum.filter(|minimum| *minimum > 0 && minimum % steps == 0);
                minimum.ok_or_else(|| {
                    wants("min_withdrawal", format!("above 0, with at most {decimals} decimals"))
                })?
            }
        };
        let mut paused = now.paused;
        for (name, raw, bit) in [
            ("deposits_paused", self.deposits_paused, token_pause::DEPOSITS),
            ("withdrawals_paused", self.withdrawals_paused, token_pause::WITHDRAWALS),
        ] {
            let wanted = typed::<bool>(name, raw).map_err(|_| wants(name, "true or false"))?;
            paused = wanted.map_or(paused, |wanted| paused & !bit | if wanted { bit } else { 0 });
        }
        Ok(Changes { minimum, paused })
    }
}

/// A member that is not what it must be, with what that is.
fn wants(name: &str, what: impl std::fmt::Display) -> Refused {
    refusal::INVALID_PARAMETER.saying(format!("{name}: {what}"))
}

fn list(call: &Call) -> Result<Items<ChainToken>, Error> {
    let views = views(call)?;
    Ok(Items { items: views.deposits().tokens().map(|token| shown(&views, token)).collect() })
}

fn shown(views: &Views, token: &TokenRecord) -> ChainToken {
    let name = views.markets().asset_name(token.asset).and_then(padded);
    ChainToken {
        symbol: Token(name.unwrap_or_default()),
        chain_id: token.chain_id,
        address: Address(token.address),
        decimals: token.decimals,
        min_withdrawal: written::Amount(token.minimum),
        deposits_paused: token.paused & token_pause::DEPOSITS != 0,
        withdrawals_paused: token.paused & token_pause::WITHDRAWALS != 0,
    }
}

async fn carry_out(call: Call) -> Result<ChainToken, Error> {
    let body: TokenBody<'_> = call.json()?;
    let of = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let is_name = |name: &String| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    };
    let asset: Option<AssetName> = of(body.symbol).filter(is_name).and_then(|name| padded(&name));
    let asset = asset.ok_or_else(|| wants("symbol", "1 to 10 of A to Z and 0 to 9"))?;
    let token = of(body.address).and_then(|text| parse_address(&text)).filter(|token| *token != [0; 20]);
    let token = token.ok_or_else(|| wants("address", "a contract: 0x and 40 hex digits, not all zero"))?;
    let decimals =
        body.decimals.and_then(|raw| raw.get().parse::<u8>().ok()).filter(|own| *own <= DECIMALS_MAX);
    let decimals = decimals.ok_or_else(|| wants("decimals", "a whole number from 0 to 18"))?;
    let now = Changes { minimum: AMOUNT_UNIT, paused: 0 };
    let changes = body.changes(decimals, &now)?;
    let reason = reason(body.reason)?;
    check_contract(&call, &token, decimals).await?;
    set(&call, token, asset, decimals, &changes, &reason).await
}

async fn change(call: Call) -> Result<ChainToken, Error> {
    let body: TokenBody<'_> = call.json()?;
    let symbol = call.path_param(0);
    let (token, asset) = {
        let views = views(&call)?;
        let asset = views.markets().asset(&symbol).ok_or(refusal::NOT_FOUND)?;
        let known = views.deposits().token_of(call.worker.config.chain_id, asset);
        (*known.ok_or(refusal::NOT_FOUND)?, padded(&symbol).ok_or(refusal::NOT_FOUND)?)
    };
    for (name, raw) in [("symbol", body.symbol), ("address", body.address), ("decimals", body.decimals)] {
        if raw.is_some() {
            return Err(wants(name, "is for good").into());
        }
    }
    let now = Changes { minimum: token.minimum, paused: token.paused };
    let changes = body.changes(token.decimals, &now)?;
    set(&call, token.address, asset, token.decimals, &changes, &reason(body.reason)?).await
}

/// What the chain says of a contract, where there is a node to ask: an address without code, or other decimals, would be for good.
async fn check_contract(call: &Call, token: &[u8; 20], decimals: u8) -> Result<(), Error> {
    let Some(tokens) = &call.worker.tokens else { return Ok(()) };
    match tokens.check(token, decimals).await {
        Ok(()) => Ok(()),
        Err(TokenFault::NoCode) => Err(wants("address", "there is no contract at it").into()),
        Err(TokenFault::NoToken) => Err(wants("address", "its contract is no token").into()),
        Err(TokenFault::Decimals(own)) => Err(wants("decimals", format!("the contract has {own}")).into()),
        Err(TokenFault::Node(ProviderFault::Refused { .. })) => {
            Err(wants("address", "its contract is no token").into())
        }
        Err(TokenFault::Node(_)) => Err(refusal::CHAIN_ERROR.into()),
    }
}

async fn set(
    call: &Call,
    token: [u8; 20],
    asset: AssetName,
    decimals: u8,
    changes: &Changes,
    reason: &str,
) -> Result<ChainToken, Error> {
    let chain_id = call.worker.config.chain_id;
    let Changes { minimum, paused } = *changes;
    let detail = format!(
        "{} {} decimals={decimals} min={} paused={paused}",
        name_of(&asset),
        address_text(&token),
        text::amount(minimum)
    );
    let action = Action { subject: Subject::Venue, detail, reason };
    let command = SetToken { chain_id, token, asset, decimals, paused, minimum: minimum.into() };
    let reply = operate(call, action, command).await.map_err(unavailable)?;
    match reply.done.rejected() {
        None => {
            let views = views(call)?;
            let token = views.deposits().token(chain_id, &token).ok_or(refusal::INTERNAL)?;
            Ok(shown(&views, token))
        }
        Some(Reject::TokenExists) => Err(refusal::TOKEN_EXISTS.into()),
        Some(Reject::ParameterOutOfRange) => {
            Err(wants("symbol", "there are as many tokens as there may be").into())
        }
        Some(_) => Err(refusal::INTERNAL.into()),
    }
}
