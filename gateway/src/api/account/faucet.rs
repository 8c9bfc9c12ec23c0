//! The faucet of a test deployment: whoever is logged in may have test money, so that a newcomer can trade at once.

use super::operator::is_test_deployment;
use super::{OF_ENGINE, unavailable};
use crate::api::docs::Shape;
use crate::api::{Call, Error, Method, Route, Weight, later};
use crate::dialect::account::refusal;
use ringside_auth::access::Auth;
use ringside_commands::ingress::Priority;
use ringside_core::command::{Body, Command, Credit, CreditPerpetual};
use ringside_core::ids::padded;
use ringside_core::money::AMOUNT_UNIT;
use ringside_core::reject::Reject;
use ringside_wire::account::{DONE, Done};
use ringside_wire::fault::Denied;
use ringside_wire::refusal::Dialect;

/// What each call gives, in whole units: of perpetual margin, and of every token that spot begins with.
const WHOLE: i64 = 10_000;
const TOKENS: [&str; 2] = ["DF", "USDT"];
/// So many calls a minute an address has, less whatever else it asks: the journal is not to be filled by it.
const WEIGHT: u32 = 100;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[Route {
    dialect: Dialect::Account,
    auth: Auth::JwtOnly(Denied::LoginOnly),
    weight: Weight::Fixed(WEIGHT),
    precondition: Some(is_test_deployment),
    tag: "account",
    summary: "Test money: 10000 USDT of margin, 10000 USDT and 10000 DF of spot; test deployments only",
    body: Shape::Nothing,
    named_refusals: &[&[refusal::DISABLED, refusal::INTERNAL], OF_ENGINE],
    ..Route::of(Method::Post, "/api/v1/faucet", later!(give))
}];

async fn give(call: Call) -> Result<Done, Error> {
    let address = call.identity.as_ref().ok_or(refusal::INTERNAL)?.address;
    let reason = padded("faucet").ok_or(refusal::INTERNAL)?;
    let amount = i128::from(WHOLE) * AMOUNT_UNIT;
    for token in TOKENS {
        let asset = padded(token).ok_or(refusal::INTERNAL)?;
        submit(&call, Credit { address, asset, reserved: 0, amount: amount.into(), reason }).await?;
    }
    submit(&call, CreditPerpetual { address, reserved: 0, amount: WHOLE * 1_000_000, reason }).await?;
    Ok(DONE)
}

async fn submit<B: Body>(call: &Call, body: B) -> Result<(), Error> {
    let reply = call.worker.ingress.submit(Command::new(body), Priority::Order).await.map_err(unavailable)?;
    match reply.done.rejected() {
        // A deployment may have no such token, or no perpetual markets.
        None | Some(Reject::MarketNotFound) => Ok(()),
        Some(_) => Err(refusal::INTERNAL.into()),
    }
}
