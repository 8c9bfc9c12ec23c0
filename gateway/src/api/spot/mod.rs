//! Routes of the spot venue (`spot.md` 5 to 10): rows and handlers. What words mean is the dialect's; what can be read,
//! the views'.

pub mod admin;
pub mod deposit;
pub mod health;
pub mod market_data;
pub mod order;
pub mod place;
pub mod replay;
pub(in crate::api) mod shape;
pub mod trade;
pub mod transfer;
pub mod withdrawal;

use super::{Call, Error};
use parking_lot::RwLockReadGuard;
use ringside_commands::ingress::EngineState;
use ringside_core::ids::MarketId;
use ringside_dialect::spot::refusal::{self, Refusal};
use ringside_edge::unavailable::spot as unavailable;
use ringside_views::Views;
use ringside_views::archive::OWN_KEPT_MS;
use ringside_views::archive::readers::Unreadable;
use ringside_views::kept::List;
use ringside_views::market::MarketRecord;
use ringside_views::time::TimeRange;

/// So much of what is no token is shown, characters: more than the name of one has.
const TOKEN_SHOWN: usize = 32;

/// Refusals of what reads the views.
const OF_VIEWS: &[Refusal] = &[refusal::ENGINE_DISABLED, refusal::ENGINE_RESTARTING];
/// Refusals of what reads the archive as well.
const OF_HISTORY: &[Refusal] =
    &[refusal::ENGINE_DISABLED, refusal::ENGINE_RESTARTING, refusal::ENGINE_BUSY, refusal::DB_ERROR];
/// Refusals of what hands a command to the engine.
pub(super) const OF_ENGINE: &[Refusal] = &[
    refusal::ENGINE_DISABLED,
    refusal::ENGINE_RESTARTING,
    refusal::ENGINE_BUSY,
    refusal::DB_ERROR,
    refusal::INTERNAL,
];

/// History that cannot be read now.
fn from_archive(reason: Unreadable) -> Error {
    match reason {
        Unreadable::Busy => {
            Error::from(refusal::ENGINE_BUSY).with_message("too many readers of history; retry with backoff")
        }
        Unreadable::Failed => Error::from(refusal::DB_ERROR).with_message("history cannot be read"),
    }
}

/// Refuses a time that is sent and from which on an operator has removed own rows; without one, what is there is all that is asked for.
async fn check_kept(
    call: &Call,
    list: List,
    market: Option<MarketId>,
    times: TimeRange,
) -> Result<(), Error> {
    let start = *times.milliseconds().start();
    if times.start_s == TimeRange::ALL.start_s || start >= call.now_ms - OWN_KEPT_MS {
        return Ok(());
    }
    let removed = call.worker.shared.history.removed(list, call.account(), market).await;
    match removed.map_err(from_archive)?.filter(|removed| start <= removed.time_ms) {
        Some(removed) => {
            let message =
                format!("own rows through {} are kept elsewhere", removed.time_ms.div_euclid(1_000));
            Err(Error::from(refusal::INVALID_RANGE).with_message(message))
        }
        None => Ok(()),
    }
}

/// Refuses while the views do not show the state: before and during recovery. Views of a halted engine are true, if old.
fn check_views(call: &Call) -> Result<(), Error> {
    match call.phase {
        EngineState::Running | EngineState::Halted | EngineState::Mirror | EngineState::Carrying => Ok(()),
        EngineState::Restarting => Err(refusal::ENGINE_RESTARTING.into()),
        EngineState::Disabled => Err(refusal::ENGINE_DISABLED.into()),
    }
}

/// The views, once they show the state.
pub(super) fn views(call: &Call) -> Result<RwLockReadGuard<'_, Views>, Error> {
    check_views(call)?;
    Ok(call.worker.shared.views.read())
}

/// Of a token that is none; what is sent in its place may be as long as a body, and the answer is kept where there is a key.
fn unsupported(token: &str) -> Error {
    let named: String = token.chars().take(TOKEN_SHOWN).collect();
    Error::from(refusal::UNSUPPORTED_TOKEN).with_text(format!("{}{named}", refusal::UNSUPPORTED_TOKEN.error))
}

/// The market of a symbol sent with a read.
fn market(call: &Call, symbol: &str) -> Result<MarketRecord, Error> {
    check_views(call)?;
    let market = call.worker.markets.with(|markets| markets.by_symbol(symbol).copied());
    Ok(market.ok_or(refusal::MARKET_NOT_FOUND)?)
}

/// The market that a list is narrowed to: none when no symbol was sent; `Err` for a symbol that no market has, which
/// leaves the list empty.
fn market_filter(call: &Call) -> Result<Option<MarketRecord>, UnknownSymbol> {
    match call.query().get("symbol") {
        None => Ok(None),
        Some(symbol) => {
            let market = call.worker.markets.with(|markets| markets.by_symbol(&symbol).copied());
            market.map(Some).ok_or(UnknownSymbol)
        }
    }
}

struct UnknownSymbol;
