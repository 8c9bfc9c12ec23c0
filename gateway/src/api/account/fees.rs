//! The fee schedule, and where the caller stands in it (`account.md` 3).

use super::{OF_VIEWS, get, views};
use crate::api::{Call, Error, Route, now};
use ringside_auth::access::{Auth, Permission};
use ringside_dialect::account::fees;
use ringside_wire::account::own::FeeInfo;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[Route {
    named_refusals: &[OF_VIEWS],
    ..get(
        "/account/fee-info",
        Auth::Optional(Permission::Read),
        "Fee schedule; with a credential also tier, volumes and discounts of the account",
        &[],
        now!(info),
    )
}];

fn info(call: &Call) -> Result<FeeInfo, Error> {
    let account = call.identity.map(|identity| identity.account);
    Ok(fees::info(views(call)?.perpetuals(), account, call.now_ms))
}
