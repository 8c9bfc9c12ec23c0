//! Requests with an idempotency key: taken once, and answered again with what the first was answered.

use super::check_views;
use crate::api::docs::{Param, Shape};
use crate::api::{Call, Error, Response, StatusCode};
use hyper::header::{HeaderName, HeaderValue};
use ringside_dialect::spot::decode::is_idempotency_key;
use ringside_dialect::spot::refusal;
use ringside_edge::http::response::JSON;
use ringside_edge::worker::idempotency_cache::{Claim, Keyed, Known};

const DAY_MS: i64 = 24 * 3600 * 1000;
/// Names the request; a retry with the same name is answered, not carried out.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const IDEMPOTENCY_REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The header as rows describe it.
pub const HEADER: Param = Param::header(
    "Idempotency-Key",
    Shape::Pattern("^[A-Za-z0-9_-]{1,64}$"),
    "1 to 64 of [A-Za-z0-9_-]; a retry within 24 hours gets the stored answer and Idempotency-Replayed: true",
);

/// How a request with a key goes on.
pub enum Begin<'a> {
    /// Nothing is known of the key in this process; it runs until the claim is dropped.
    Fresh(Keyed, Claim<'a>),
    /// It was refused before, without the engine.
    Answered(Response),
}

/// Takes the key of a request to `route`, or says why not: it is malformed, or another request has it.
pub fn begin<'a>(call: &'a Call, route: &str, key: &HeaderValue) -> Result<Begin<'a>, Error> {
    let key =
        key.to_str().ok().filter(|key| is_idempotency_key(key)).ok_or(refusal::INVALID_IDEMPOTENCY_KEY)?;
    let keyed = Keyed::new(call.account(), route, key, &call.body);
    match call.worker.shared.idempotency_cache.claim(keyed) {
        Known::Fresh(claim) => {
            check_room(call, keyed).map_err(|full| match full {
                Full::Account(limit) => {
                    let text = format!(
                        "the limit is {limit} idempotency keys in 24 hours; a request without one is taken"
                    );
                    Error::from(refusal::TOO_MANY_IDEMPOTENCY_KEYS).with_message(text).with_retry_after(60)
                }
                Full::Venue => {
                    let text = "no more idempotency keys are taken for now; a request without one is";
                    Error::from(refusal::ENGINE_BUSY).with_message(text)
                }
            })?;
            Ok(Begin::Fresh(keyed, claim))
        }
        Known::Conflict => Err(refusal::IDEMPOTENCY_CONFLICT.into()),
        Known::Refused(status, body) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_REQUEST);
            Ok(Begin::Answered(replayed(Response::new(status, JSON, body))))
        }
    }
}

/// Why no key more is taken.
pub enum Full {
    /// The account has as many as it may have: so many.
    Account(usize),
    /// All together have.
    Venue,
}

/// Whether one key more can be kept, for a key that the engine does not know yet. Counted are those whose commands are done, so
/// that a few more than the limit may come in at once.
pub fn check_room(call: &Call, keyed: Keyed) -> Result<(), Full> {
    let views = call.worker.shared.views.read();
    let (known, config) = (views.idempotency(), &call.worker.config);
    let is_full = known.len_of(keyed.account) >= config.idempotency_keys_per_account;
    if (!is_full && known.len() < config.idempotency_keys)
        || known.time_ns(keyed.account, keyed.key).is_some()
    {
        return Ok(());
    }
    Err(if is_full { Full::Account(config.idempotency_keys_per_account) } else { Full::Venue })
}

/// What a request is answered that never reached the engine. The engine never takes a body that fails here, so one that it
/// took with this key was another; else a retry gets the same answer. Before the views show the state nobody knows which of the two
/// it is: the key is left as it is.
pub fn not_handed_over(call: &Call, keyed: Keyed, claim: Claim<'_>, error: Error) -> Error {
    // That the exchange is not ready says nothing of the body.
    if !error.status.is_client_error() || check_views(call).is_err() {
        return error;
    }
    if is_known(call, keyed) {
        return refusal::IDEMPOTENCY_CONFLICT.into();
    }
    claim.refused(error.status.as_u16(), error.body());
    error
}

/// The answer of the first try, marked as such.
pub fn replayed(response: Response) -> Response {
    response.with_header(IDEMPOTENCY_REPLAYED, HeaderValue::from_static("true"))
}

/// Whether the engine took a command with this key in the last 24 hours.
pub fn is_known(call: &Call, keyed: Keyed) -> bool {
    let views = call.worker.shared.views.read();
    let time_ns = views.idempotency().time_ns(keyed.account, keyed.key);
    time_ns.is_some_and(|time_ns| call.now_ms - time_ns / 1_000_000 < DAY_MS)
}
