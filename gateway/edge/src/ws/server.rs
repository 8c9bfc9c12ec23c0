//! The upgrade of a request to `/ws` or `/stream` (`perpetual-stream.md` 1): after its answer the connection belongs to a
//! session on the same thread. What every upgrade needs is here; the row of `/ws-fapi` is in `gateway/src/ws_request`.

use super::session::Session;
use super::stream::key;
use super::stream::subscriptions::{Opening, weight_of_names};
use super::wire::{self, Socket};
use crate::route::{Answer, Call, Error, Handler, Method, Query, Response, Route, StatusCode};
use crate::worker::Worker;
use bytes::Bytes;
use hyper::header::{
    CONNECTION, HeaderValue, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use ringside_commands::ingress::EngineState;
use ringside_dialect::fapi;
use ringside_dialect::spot::refusal::{self, Refusal};
use ringside_streams::sessions::Connection;
use std::rc::Rc;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

/// The row.
pub static ROUTES: &[Route] = &[
    Route {
        tag: "websocket",
        summary: "Upgrade to the WebSocket protocol: JSON text frames, channels of market data and of an account, which can be gone \
                  on with after a reconnect; cancel on disconnect",
        refusals: &[&[UPGRADE_REQUIRED, refusal::ENGINE_DISABLED, refusal::ENGINE_RESTARTING]],
        ..Route::new(Method::Get, "/ws", Handler::Now(upgrade))
    },
    stream("/ws/{*names}"),
    stream("/stream"),
    // Of the split of 2026: existing clients ask for one or the other, every stream is on all.
    stream("/public/ws"),
    stream("/public/ws/{*names}"),
    stream("/public/stream"),
    stream("/market/ws"),
    stream("/market/ws/{*names}"),
    stream("/market/stream"),
    stream("/private/ws"),
    stream("/private/ws/{*names}"),
    stream("/private/stream"),
];

/// A path of the stream protocol.
const fn stream(path: &'static str) -> Route {
    Route {
        is_api: false,
        tag: "websocket",
        summary: "Upgrade to the WebSocket protocol, with the streams that the address names",
        ..Route::new(Method::Get, path, Handler::Now(upgrade))
    }
}

/// A GET of a path of the WebSocket protocol that asks for no upgrade.
pub const UPGRADE_REQUIRED: Refusal = Refusal { status: 426, error: "upgrade required" };

fn upgrade(call: &Call) -> Answer {
    check_shown(call)?;
    let opening = opening(call)?;
    let client = call.client.clone();
    hand_over(call, |socket, worker, connection| {
        Session::new(socket, worker, client, connection, opening).run()
    })
}

/// Refuses where nothing is shown, here or as another host did it.
fn check_shown(call: &Call) -> Result<(), Error> {
    match call.phase {
        EngineState::Mirror => Ok(()),
        _ => check_phase(call),
    }
}

/// Refuses where the engine takes no commands.
pub fn check_phase(call: &Call) -> Result<(), Error> {
    match call.phase {
        EngineState::Running | EngineState::Carrying => Ok(()),
        EngineState::Restarting => Err(refusal::ENGINE_RESTARTING.into()),
        EngineState::Disabled | EngineState::Halted | EngineState::Mirror => {
            Err(refusal::ENGINE_DISABLED.into())
        }
    }
}

/// Answers 101 and gives the connection to a session, unless the request asks for no upgrade.
pub fn hand_over<F: Future<Output = ()>>(
    call: &Call,
    serve: impl FnOnce(Socket, Rc<Worker>, Connection) -> F + 'static,
) -> Answer {
    let Some((accept, upgrade)) = accept_key(call).zip(call.upgrade.take()) else {
        return Ok(Response::from(Error::from(UPGRADE_REQUIRED))
            .with_header(UPGRADE, HeaderValue::from_static("websocket"))
            .with_header(CONNECTION, HeaderValue::from_static("upgrade, close"))
            .with_header(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13")));
    };
    let worker = call.worker.clone();
    let connection = worker.sessions.register();
    tokio::task::spawn_local(async move {
        match upgrade.await {
            Ok(upgraded) => serve(wire::open(upgraded).await, worker, connection).await,
            Err(error) => tracing::debug!(%error, "an upgrade was broken off"),
        }
    });
    Ok(Response::new(StatusCode::SWITCHING_PROTOCOLS, HeaderValue::from_static("text/plain"), Bytes::new())
        .with_header(UPGRADE, HeaderValue::from_static("websocket"))
        .with_header(CONNECTION, HeaderValue::from_static("upgrade"))
        .with_header(SEC_WEBSOCKET_ACCEPT, accept))
}

/// What the address asks for. A listen key that is no one's refuses the upgrade.
fn opening(call: &Call) -> Result<Opening, Error> {
    let path = call.route.path;
    let query = call.query();
    let is_combined = path.ends_with("/stream");
    let names = if path.ends_with("{*names}") {
        call.path_param(0)
    } else {
        query.get("streams").filter(|_| is_combined).unwrap_or_default()
    };
    let names: Vec<String> = names.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    // Names in an address cost what they cost in a frame.
    let charged =
        call.worker.shared.edge.limits.charge_frame(&call.client, weight_of_names(names.len()), call.now_ms);
    charged.map_err(|fault| fault.error(call.route.dialect))?;
    let events = query.get("events").filter(|events| !events.is_empty());
    let events = events.map(|events| events.split('/').map(Box::from).collect());
    let user = query.get("listenKey").map(|key| (key.into_owned(), events));
    let mut keys = names.iter().filter(|name| key::is_key(name)).chain(user.as_ref().map(|(key, _)| key));
    if keys.any(|key| key::find(&call.worker, key).is_none()) {
        let refused = fapi::refusal::LISTEN_KEY;
        return Err(Error::fapi(StatusCode::UNAUTHORIZED, refused.code, refused.msg));
    }
    let (is_resuming, from) = resuming(query)?;
    Ok(Opening { names, is_combined, user, is_resuming, from })
}

/// Whether events of listen keys are to have numbers, and the number to go on behind.
fn resuming(query: Query<'_>) -> Result<(bool, Option<u64>), Error> {
    let is_resuming = match query.get("resume").as_deref() {
        None | Some("") | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(fapi::refusal::not_valid("resume").into()),
    };
    let from = query.get("from").filter(|from| is_resuming && !from.is_empty());
    let from = from.map(|from| from.parse().map_err(|_| fapi::refusal::not_valid("from"))).transpose()?;
    Ok((is_resuming, from))
}

/// The value of `Sec-WebSocket-Accept`, if the request asks for this protocol (RFC 6455, 4.2.1).
fn accept_key(call: &Call) -> Option<HeaderValue> {
    let has = |name, word: &str| {
        let values = call.head.headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        let mut words = values.flat_map(|value| value.split(','));
        words.any(|sent| sent.trim().eq_ignore_ascii_case(word))
    };
    let key = call.head.headers.get(SEC_WEBSOCKET_KEY)?;
    // 16 bytes as base64.
    let is_key = key.len() == 24 && key.as_bytes().ends_with(b"==");
    let is_asked =
        has(CONNECTION, "upgrade") && has(UPGRADE, "websocket") && has(SEC_WEBSOCKET_VERSION, "13") && is_key;
    let accept = derive_accept_key(key.as_bytes());
    is_asked.then(|| HeaderValue::from_str(&accept).ok()).flatten()
}
