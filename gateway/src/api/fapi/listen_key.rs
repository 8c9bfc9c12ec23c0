//! Keys of user streams (`perpetual.md` 10). They wait for the disk on a thread of their own, never on the worker's.

use super::{params, row};
use crate::api::{Answer, Call, Error, Handler, Method, Response, Route};
use crate::auth::access::Auth;
use crate::auth::listen_key::{ListenKey, ListenKeyError, ListenKeys};
use crate::dialect::fapi::refusal;
use ringside_core::ids::AccountId;
use serde_json::json;

const PATH: &str = "/fapi/v1/listenKey";

/// Rows.
pub static ROUTES: &[Route] = &[
    row(
        Method::Post,
        PATH,
        Auth::Stream,
        1,
        "Begin a user stream",
        &[],
        Handler::Later(|call| Box::pin(obtain(call))),
    ),
    row(
        Method::Put,
        PATH,
        Auth::Stream,
        1,
        "Keep a user stream alive",
        &[],
        Handler::Later(|call| Box::pin(renew(call))),
    ),
    row(
        Method::Delete,
        PATH,
        Auth::Stream,
        1,
        "End a user stream",
        &[],
        Handler::Later(|call| Box::pin(end(call))),
    ),
];

async fn obtain(call: Call) -> Answer {
    let key = on_disk(&call, |keys, account, now_ms| keys.obtain(account, now_ms)).await?;
    Ok(shown(&key))
}

async fn renew(call: Call) -> Answer {
    let key = on_disk(&call, |keys, account, now_ms| keys.renew(account, now_ms)).await?;
    Ok(shown(&*key.ok_or(refusal::LISTEN_KEY)?))
}

async fn end(call: Call) -> Answer {
    on_disk(&call, |keys, account, now_ms| keys.end(account, now_ms)).await?;
    Ok(Response::json("{}"))
}

fn shown(key: &ListenKey) -> Response {
    Response::of(&json!({ "listenKey": key.text() }))
}

/// Runs a change where waiting for the disk delays nobody else. Once begun it ends, whether or not the client waits.
async fn on_disk<T: Send + 'static>(
    call: &Call,
    change: impl FnOnce(&ListenKeys, AccountId, i64) -> Result<T, ListenKeyError> + Send + 'static,
) -> Result<T, Error> {
    params(call)?;
    let (shared, account, now_ms) = (call.worker.shared.clone(), call.account(), call.now_ms);
    let changed =
        tokio::task::spawn_blocking(move || change(&shared.edge.auth.listen_keys, account, now_ms)).await;
    match changed {
        Ok(Ok(changed)) => Ok(changed),
        Ok(Err(error)) => {
            tracing::error!(%error, "a listen key could not be read or kept");
            Err(refusal::NOT_HANDED_OVER.into())
        }
        Err(_) => Err(refusal::INTERNAL.into()),
    }
}
