//! What every login needs, over HTTP and in a frame: its weight, and the account of who signed.

use crate::unavailable;
use crate::worker::Worker;
use ringside_commands::ingress::Priority;
use ringside_core::command::{Command, CreateAccount};
use ringside_core::ids::{AccountId, Address};
use ringside_wire::fault::Fault;
use ringside_wire::refusal::{Dialect, Error};

/// What a login costs, over HTTP and in a frame: to find out who signed takes longer than anything else that is asked.
pub const LOGIN_WEIGHT: u32 = 5;

/// The account of a wallet, made by the engine where there is none.
pub async fn account_of(worker: &Worker, address: Address) -> Result<AccountId, Error> {
    let known = worker.shared.views.read().accounts().of_address(&address);
    if let Some(account) = known {
        return Ok(account);
    }
    let create = Command::new(CreateAccount { address, reserved: 0 });
    let reply = worker.ingress.submit(create, Priority::Internal).await.map_err(unavailable::spot)?;
    match reply.done.rejected() {
        None => Ok(reply.done.account),
        Some(reject) => Err(internal(format!("an account was refused: {reject:?}"))),
    }
}

/// 500 `internal`; the cause goes to the log alone.
pub fn internal(cause: impl std::fmt::Display) -> Error {
    tracing::error!(%cause, "login failed");
    Fault::Internal.error(Dialect::Spot)
}
