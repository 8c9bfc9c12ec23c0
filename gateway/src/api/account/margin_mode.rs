//! The margin mode of an account: crossed or isolated, in one market or in all (`account.md` 8). Signed clients are told of it at
//! `/fapi`, and cannot change it there.

use super::{OF_ENGINE, OF_VIEWS, get, unavailable, views};
use crate::api::docs::{Field, SYMBOL_SENT, Shape};
use crate::api::{Call, Error, Method, Route, later, now};
use ringside_auth::access::Auth;
use ringside_commands::ingress::Priority;
use ringside_core::command::{Command, SetMarginMode};
use ringside_core::ids::ALL_MARKETS;
use ringside_dialect::account::mode::{Body, of_mode, shown};
use ringside_dialect::account::refusal;
use ringside_wire::account::own::{MarginModeSet, MarginModes};
use ringside_wire::fault::Denied;
use ringside_wire::futures::words::MarginType;
use ringside_wire::name::Market;
use ringside_wire::refusal::Dialect;

const PATH: &str = "/api/v1/account/margin-mode";
const LOGIN: Auth = Auth::JwtOnly(Denied::LoginOnly);
/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[OF_VIEWS],
        ..get(
            PATH,
            LOGIN,
            "Margin modes: of markets that are listed later, and of each market",
            &[],
            now!(read),
        )
    },
    Route {
        dialect: Dialect::Account,
        auth: LOGIN,
        tag: "account",
        summary: "Set the margin mode of one market, or of all and of those listed later",
        body: Shape::Object(&[
            Field::optional("margin_mode", Shape::Text, "CROSSED, CROSS or ISOLATED, either case"),
            Field::optional("mode", Shape::Text, "The same; margin_mode counts where both are sent"),
            Field::optional("symbol", SYMBOL_SENT, "Any case; default: all markets"),
        ]),
        named_refusals: &[
            &[
                refusal::INVALID_PARAMETER,
                refusal::SYMBOL_NOT_FOUND,
                refusal::OPEN_ORDERS_EXIST,
                refusal::POSITION_EXISTS,
            ],
            OF_ENGINE,
        ],
        ..Route::of(Method::Post, PATH, later!(set))
    },
];

fn read(call: &Call) -> Result<MarginModes, Error> {
    let views = views(call)?;
    Ok(shown(views.perpetuals(), call.account()))
}

async fn set(call: Call) -> Result<MarginModeSet, Error> {
    let asked = call.json::<Body<'_>>()?.read()?;
    let market = match &asked.symbol {
        None => ALL_MARKETS,
        Some(symbol) => {
            let views = views(&call)?;
            views.perpetuals().markets().by_symbol(symbol).ok_or(refusal::SYMBOL_NOT_FOUND)?.market
        }
    };
    let command = SetMarginMode { account: call.account(), market, mode: asked.mode as u32, reserved: 0 };
    let reply = call.worker.ingress.submit(Command::new(command), Priority::Cancel).await;
    match reply.map_err(unavailable)?.done.rejected() {
        None => {}
        Some(reject) => return Err(of_mode(reject).into()),
    }
    let views = views(&call)?;
    let markets = views.perpetuals().markets().all().iter();
    let set = markets.filter(|known| market == ALL_MARKETS || known.market == market);
    let symbols = set.map(|known| Market(known.symbol)).collect();
    Ok(MarginModeSet { margin_mode: MarginType::of(asked.mode), symbols })
}
