//! The faucet of a test deployment: whoever is logged in may have test money, so that a newcomer can trade at once.

use super::operator::is_test_deployment;
use super::{OF_ENGINE, unavailable};
use crate::api::docs::Shape;
use crate::api::{Call, Error, Method, Route, Weight, later};
use ringside_auth::access::Auth;
use ringside_commands::ingress::Priority;
use ringside_core::command::{Command, Credit, CreditPerpetual};
use ringside_core::ids::{Address, padded};
use ringside_core::money::{AMOUNT_UNIT, MONEY_UNIT};
use ringside_core::reject::Reject;
use ringside_dialect::account::refusal;
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

/// What gives a wallet test money once. A deployment may have no such token, or no perpetual markets: it is then given the rest.
pub fn gift(address: Address) -> Vec<Command> {
    let reason = padded("faucet").expect("a short word");
    let amount = (i128::from(WHOLE) * AMOUNT_UNIT).into();
    let credit = |token| {
        let asset = padded(token).expect("a short name");
        Command::new(Credit { address, asset, reserved: 0, amount, reason })
    };
    let margin = CreditPerpetual { address, reserved: 0, amount: WHOLE * MONEY_UNIT, reason };
    TOKENS.into_iter().map(credit).chain([Command::new(margin)]).collect()
}

async fn give(call: Call) -> Result<Done, Error> {
    let address = call.identity.as_ref().ok_or(refusal::INTERNAL)?.address;
    for command in gift(address) {
        let reply = call.worker.ingress.submit(command, Priority::Order).await.map_err(unavailable)?;
        match reply.done.rejected() {
            None | Some(Reject::MarketNotFound) => {}
            Some(_) => return Err(refusal::INTERNAL.into()),
        }
    }
    Ok(DONE)
}
