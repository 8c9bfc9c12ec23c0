//! Placements with an idempotency key (`perpetual.md` 8): carried out once, and answered again with what the first was answered.

use super::views;
use crate::api::spot::replay::{Full, IDEMPOTENCY_KEY, check_room, replayed};
use crate::api::{Call, Error, Response, Written};
use ringside_core::command::PlacePerpetual;
use ringside_core::reject::Reject;
use ringside_dialect::fapi::params::Params;
use ringside_dialect::fapi::refusal;
use ringside_dialect::spot::decode::is_idempotency_key;
use ringside_edge::worker::idempotency_cache::Keyed;
use ringside_views::idempotency::Outcome;

/// The parameter; in a batch each element has its own.
const KEY: &str = "idempotencyKey";
/// What says nothing of which order is placed.
const ASIDE: &[&str] = &["timestamp", "recvWindow", "signature", KEY];

/// Gives a command the key that it was sent with. `route` is where keys are told apart; a header is of a request with one order.
pub(super) fn put(
    call: &Call,
    params: &Params<'_>,
    route: &str,
    has_header: bool,
    command: &mut PlacePerpetual,
) -> Result<(), Error> {
    let header = call.head.headers.get(IDEMPOTENCY_KEY).filter(|_| has_header);
    let key = match (params.get(KEY), header) {
        (Some(key), _) => key,
        (None, Some(header)) => header.to_str().map_err(|_| refusal::not_valid(KEY))?,
        (None, None) => return Ok(()),
    };
    if !is_idempotency_key(key) {
        return Err(refusal::not_valid(KEY).into());
    }
    let keyed = Keyed::new(call.account(), route, key, &params.canonical(ASIDE));
    check_room(call, keyed).map_err(|full| match full {
        Full::Account(limit) => refusal::too_many_keys(limit),
        Full::Venue => refusal::THROTTLED,
    })?;
    (command.idempotency_key, command.idempotency_body) = (keyed.key, keyed.body);
    Ok(())
}

/// What the first request with a command's key came to, where the engine refused the command for its key.
pub(super) fn first(
    call: &Call,
    command: &PlacePerpetual,
    reject: Option<Reject>,
) -> Result<Option<Outcome>, Error> {
    match reject {
        Some(Reject::IdempotencyReplay) => {
            let views = views(call)?;
            let outcome = views.idempotency().outcome(command.account, command.idempotency_key);
            outcome.map(Some).ok_or_else(|| refusal::INTERNAL.into())
        }
        Some(Reject::IdempotencyConflict) => Err(refusal::key_of_another().into()),
        _ => Ok(None),
    }
}

/// An answer, marked where it is that of a first request.
pub(super) fn marked<T>(answer: Result<T, Error>, is_replayed: bool) -> Result<Marked<T>, Error> {
    match is_replayed {
        true => Ok(Marked::Replayed(answer)),
        false => answer.map(Marked::New),
    }
}

/// What a request with a key came to.
pub(super) enum Marked<T> {
    /// It was the first.
    New(T),
    /// What the first came to.
    Replayed(Result<T, Error>),
}

impl<T: Written> Written for Marked<T> {
    type Body = T::Body;

    fn response(self) -> Response {
        match self {
            Marked::New(body) => body.response(),
            Marked::Replayed(answer) => replayed(answer.map_or_else(Response::from, T::response)),
        }
    }
}
