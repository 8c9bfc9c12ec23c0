//! No reply of the engine, as each API answers it.

use ringside_commands::ingress::Unavailable;
use ringside_dialect::{account, fapi, spot};
use ringside_wire::refusal::{Dialect, Error};

/// No reply, as a dialect answers it.
pub fn unavailable(unavailable: Unavailable, dialect: Dialect) -> Error {
    match dialect {
        Dialect::Spot => spot(unavailable),
        Dialect::Fapi => fapi(unavailable),
        Dialect::Account => account(unavailable),
    }
}

/// The same of the spot venue.
pub fn spot(unavailable: Unavailable) -> Error {
    match unavailable {
        Unavailable::Disabled | Unavailable::Halted => spot::refusal::ENGINE_DISABLED.into(),
        Unavailable::Mirror => Error::from(spot::refusal::ENGINE_DISABLED)
            .with_message("this host follows another and takes no commands: send it to the one that leads"),
        Unavailable::Restarting => spot::refusal::ENGINE_RESTARTING.into(),
        Unavailable::Busy => {
            Error::from(spot::refusal::ENGINE_BUSY).with_message("nothing was done; retry with backoff")
        }
        Unavailable::Unknown => Error::from(spot::refusal::DB_ERROR)
            .with_message("the outcome is unknown; query orders and balances before retrying")
            .with_unknown_outcome(),
    }
}

/// The same of `/fapi`.
pub fn fapi(unavailable: Unavailable) -> Error {
    match unavailable {
        Unavailable::Unknown => Error::from(fapi::refusal::UNKNOWN).with_unknown_outcome(),
        Unavailable::Busy => fapi::refusal::NOT_HANDED_OVER.into(),
        Unavailable::Disabled | Unavailable::Restarting | Unavailable::Halted | Unavailable::Mirror => {
            fapi::refusal::UNAVAILABLE.into()
        }
    }
}

/// The same of the routes of accounts.
pub fn account(unavailable: Unavailable) -> Error {
    match unavailable {
        Unavailable::Unknown => Error::from(account::refusal::UNKNOWN).with_unknown_outcome(),
        Unavailable::Busy => account::refusal::BUSY.into(),
        Unavailable::Disabled | Unavailable::Restarting | Unavailable::Halted => {
            account::refusal::UNAVAILABLE.into()
        }
        Unavailable::Mirror => account::refusal::UNAVAILABLE
            .saying("this host follows another and takes no commands: send it to the one that leads")
            .into(),
    }
}
