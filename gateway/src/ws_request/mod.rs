//! Requests over a WebSocket, `/ws-fapi/v1`: what `/fapi` answers over HTTP, asked in frames (`clients.md` 9).
//!
//! ```text
//! {"id": 7, "method": "order.place", "params": {..., "apiKey": "..", "timestamp": .., "signature": ".."}}
//! {"id": 7, "status": 200, "result": {...}, "rateLimits": [...]}
//! {"id": 7, "status": 400, "error": {"code": -1102, "msg": "..."}, "rateLimits": [...]}
//! ```
//! A method is another name of a route ([`methods`]): the frame's parameters become the query of a request to it, which passes
//! everything that a request over HTTP passes, in the same order ([`ringside_edge::server::caller`]), and has the same handler. So there is
//! nothing to keep in step: limits and refusals are the route's, and both ways count in the same windows.
//!
//! | Rule | |
//! |---|---|
//! | `id` | must be sent: integer (of at most 40 characters), string or null; it comes back as it was sent. Reusing one is the client's affair |
//! | `params` | object, or absent; null values are not sent. Values are strings, numbers or booleans; at most 100 |
//! | key | parameter `apiKey`, in place of the header of existing clients (`perpetual.md` 2) |
//! | signature | HMAC-SHA256 over all parameters but itself, `apiKey` among them, sorted by name and joined as in a query; values raw or percent-encoded, booleans as JSON or as Python writes them |
//! | `cancelOnDisconnect.arm` | TRADE, weight 10; `graceTime` in ms, 0 to 60,000 (else -1102, -1130), `symbol` (else all; unknown -1121): the loss of this connection cancels the account's open orders after that time, as with `cancel_on_disconnect` of the other sockets ([`ringside_edge::ws`]). Result {enabled, graceTime, symbol} |
//! | `cancelOnDisconnect.disarm` | TRADE, weight 10; `symbol`: no connection's loss does any more |
//! | `session.logon` | refused with -4056, as by the original for keys of this kind: each request is signed by itself |
//! | `returnRateLimits` | parameter of the address or of a request: `true` or `false`, else 400: whether answers say `rateLimits`; they do unless told otherwise |
//! | several at once | as many as [`session::RUNNING_MAX`], answered as they finish; commands reach the engine in the order of the frames |
//! | limits | messages of 64 KiB, `websocket_requests_per_second`, else the connection is closed once what was read is answered. The upgrade weighs 5 |
//!
//! `/openapi.json` says beside each route by which methods it is asked.
//!
//! A frame that is none is answered with an error and costs a weight of 1; nothing else comes of it. Pings and the life of a
//! day are those of the other sockets ([`ringside_edge::ws::wire`]). User data is pushed on the streams' sockets, not here.

pub mod frame;
pub mod methods;
pub mod session;

use ringside_dialect::spot::refusal::{self, Refusal};
use ringside_edge::route::docs::{Param, Shape};
use ringside_edge::route::{Answer, Call, Error, Handler, Method, Route, Weight};
use ringside_edge::ws::server::{UPGRADE_REQUIRED, check_phase, hand_over};
use session::Session;

/// The row.
pub static ROUTES: &[Route] = &[Route {
    tag: "websocket",
    summary: "Upgrade to the WebSocket protocol: requests of the perpetual venue in JSON text frames {id, method, params}, each \
              the same as a request to its route",
    weight: Weight::Fixed(5),
    params: &[Param::optional(
        "returnRateLimits",
        Shape::Boolean,
        "Whether answers say how much of the limits is used",
    )],
    refusals: &[&[SHOWS_LIMITS, UPGRADE_REQUIRED, refusal::ENGINE_DISABLED, refusal::ENGINE_RESTARTING]],
    ..Route::new(Method::Get, "/ws-fapi/v1", Handler::Now(upgrade))
}];

const SHOWS_LIMITS: Refusal = Refusal { status: 400, error: "returnRateLimits must be true or false" };

fn upgrade(call: &Call) -> Answer {
    check_phase(call)?;
    let shows_limits = shows_limits(call)?;
    let (who, now_ms) = ((call.ip, call.client.clone()), call.now_ms);
    hand_over(call, move |socket, worker, connection| {
        Session::new(socket, worker, connection, who, now_ms, shows_limits).run()
    })
}

/// What the address says of it: once, a boolean in any case; true where it is silent.
fn shows_limits(call: &Call) -> Result<bool, Error> {
    let mut sent =
        call.query().pairs().filter(|(name, _)| name == "returnRateLimits").map(|(_, value)| value);
    match (sent.next(), sent.next()) {
        (None, _) => Ok(true),
        (Some(value), None) if value.eq_ignore_ascii_case("true") => Ok(true),
        (Some(value), None) if value.eq_ignore_ascii_case("false") => Ok(false),
        _ => Err(SHOWS_LIMITS.into()),
    }
}
