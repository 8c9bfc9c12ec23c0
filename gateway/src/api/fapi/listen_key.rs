//! Keys of user streams (`perpetual.md` 10). They wait for the disk on a thread of their own, never on the worker's.

use super::{params, row};
use crate::api::{Call, Error, Means, Method, Route, later};
use ringside_auth::Authenticator;
use ringside_auth::access::Auth;
use ringside_auth::key::ApiKey;
use ringside_auth::listen_key::{ENDLESS, ListenKey, ListenKeyError, ListenKeys};
use ringside_core::ids::AccountId;
use ringside_dialect::fapi::refusal;
use ringside_wire::fault::Fault;
use ringside_wire::futures::FuturesListenKey;
use ringside_wire::futures::market::Empty;
use ringside_wire::refusal::Dialect;
use std::sync::Arc;

const PATH: &str = "/fapi/v1/listenKey";

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    row(Method::Post, PATH, Auth::Stream, 1, "Begin a user stream", &[], later!(obtain)),
    row(Method::Put, PATH, Auth::Stream, 1, "Keep a user stream alive", &[], later!(renew)),
    row(Method::Delete, PATH, Auth::Stream, 1, "End a user stream", &[], later!(end)),
];

async fn obtain(call: Call) -> Result<FuturesListenKey, Error> {
    let key = told(&call, |keys, account, until_ms, now_ms| keys.obtain(account, until_ms, now_ms).map(Some));
    Ok(shown(&*key.await?.ok_or(refusal::INTERNAL)?))
}

async fn renew(call: Call) -> Result<FuturesListenKey, Error> {
    let key = told(&call, |keys, account, until_ms, now_ms| keys.renew(account, until_ms, now_ms));
    Ok(shown(&*key.await?.ok_or(refusal::LISTEN_KEY)?))
}

async fn end(call: Call) -> Result<Empty, Error> {
    let (account, now_ms) = (call.account(), call.now_ms);
    on_disk(&call, move |auth| Ok(auth.listen_keys.end(account, now_ms)?)).await?;
    Ok(Empty {})
}

/// A listen key that is told to an API key, and ends with that one. One that ended while it was made or renewed takes it along: whoever
/// ended it may have looked for a listen key before.
async fn told(
    call: &Call,
    change: impl FnOnce(&ListenKeys, AccountId, i64, i64) -> Result<Option<Arc<ListenKey>>, ListenKeyError>
    + Send
    + 'static,
) -> Result<Option<Arc<ListenKey>>, Error> {
    let (account, now_ms, ip) = (call.account(), call.now_ms, call.ip);
    let by = call.identity.as_ref().map(|identity| identity.means);
    on_disk(call, move |auth| {
        let api_key = || {
            let is_it = |key: &Arc<ApiKey>| by == Some(Means::ApiKey { id: key.id() });
            let known = auth.keys.list(account).into_iter().find(is_it);
            known.filter(|key| key.is_usable(ip, now_ms / 1_000)).ok_or(Failed::NoApiKey)
        };
        let until_ms = api_key()?.expires_at_s().map_or(ENDLESS, |at| at.saturating_mul(1_000));
        let key = change(&auth.listen_keys, account, until_ms, now_ms)?;
        if let Err(gone) = api_key() {
            auth.listen_keys.end(account, now_ms)?;
            return Err(gone);
        }
        Ok(key)
    })
    .await
}

/// Why nothing is told.
enum Failed {
    /// The API key that asks is no longer good.
    NoApiKey,
    /// The file.
    Keys(ListenKeyError),
}

impl From<ListenKeyError> for Failed {
    fn from(error: ListenKeyError) -> Failed {
        Failed::Keys(error)
    }
}

fn shown(key: &ListenKey) -> FuturesListenKey {
    FuturesListenKey { listen_key: key.text().to_string() }
}

/// Runs a change where waiting for the disk delays nobody else. Once begun it ends, whether or not the client waits.
async fn on_disk<T: Send + 'static>(
    call: &Call,
    change: impl FnOnce(&Authenticator) -> Result<T, Failed> + Send + 'static,
) -> Result<T, Error> {
    params(call)?;
    let shared = call.worker.shared.clone();
    let changed = tokio::task::spawn_blocking(move || change(&shared.edge.auth)).await;
    match changed {
        Ok(Ok(changed)) => Ok(changed),
        Ok(Err(Failed::NoApiKey)) => Err(Fault::Unauthorized.error(Dialect::Fapi)),
        Ok(Err(Failed::Keys(error))) => {
            tracing::error!(%error, "a listen key could not be read or kept");
            Err(refusal::NOT_HANDED_OVER.into())
        }
        Err(_) => Err(refusal::INTERNAL.into()),
    }
}
