//! What waits for a second operator (`account.md` 13): seen, agreed to, or taken back. What is agreed to is carried out at once, in the
//! name of both.

use super::{OF_ENGINE, get};
use crate::api::docs::{Field, Param, Shape};
use crate::api::operate::own;
use crate::api::{Answer, Call, Error, Handler, Method, Response, Route};
use crate::auth::access::Auth;
use crate::dialect::Dialect;
use crate::dialect::account::refusal;
use crate::worker::approvals::{Denial, Waiting};
use serde_json::{Value, json};

const ID: Param = Param::path("id", Shape::Pattern("^[0-9a-f]{16}$"), "Of the request that waits");
const WAITING: Shape = Shape::Named(
    "Approval",
    &[
        Field::new("approval_id", Shape::Text, "16 hex digits"),
        Field::new("method", Shape::Text, "Of the request"),
        Field::new("path", Shape::Text, "Of the request"),
        Field::new("detail", Shape::Text, "Everything that it asks for, as the audit log will have it"),
        Field::new("reason", Shape::Text, ""),
        Field::new("proposed_by", Shape::Text, "The operator who asked"),
        Field::new("created_at", Shape::Integer, "UNIX milliseconds"),
        Field::new("expires_at", Shape::Integer, "UNIX milliseconds: 15 minutes later, or at a restart"),
    ],
);

const fn row(method: Method, summary: &'static str, response: Shape, handler: Handler) -> Route {
    Route {
        dialect: Dialect::Account,
        auth: Auth::Admin,
        tag: "admin",
        summary,
        params: &[ID],
        response,
        ..Route::new(method, "/admin/approvals/{id}", handler)
    }
}

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        tag: "admin",
        ..get(
            "/admin/approvals",
            Auth::Admin,
            "Requests that wait for a second operator, oldest first",
            &[],
            Shape::Object(&[Field::new("items", Shape::List(&WAITING), "")]),
            Handler::Now(list),
        )
    },
    Route {
        // What the request itself is refused with, as what it is about may have changed.
        named_refusals: &[
            &[
                refusal::NOT_FOUND,
                refusal::FORBIDDEN,
                refusal::INVALID_PARAMETER,
                refusal::INSUFFICIENT_BALANCE,
                refusal::WITHDRAWALS_PAUSED,
            ],
            OF_ENGINE,
        ],
        ..row(
            Method::Post,
            "Agree to another operator's request: it is carried out now, once, whatever comes of it",
            Shape::Any,
            Handler::Later(|call| Box::pin(agree(call))),
        )
    },
    Route {
        named_refusals: &[&[refusal::NOT_FOUND, refusal::FORBIDDEN]],
        ..row(
            Method::Delete,
            "Take a request back that waits",
            Shape::Object(&[Field::new("ok", Shape::Boolean, "true")]),
            Handler::Now(take_back),
        )
    },
];

fn list(call: &Call) -> Answer {
    let waiting = call.worker.shared.edge.approvals.list(call.now_ms);
    let items: Vec<Value> = waiting.iter().map(shown).collect();
    Ok(Response::of(&json!({ "items": items })))
}

fn shown(waiting: &Waiting) -> Value {
    json!({
        "approval_id": waiting.id,
        "method": waiting.method,
        "path": waiting.path,
        "detail": waiting.detail,
        "reason": waiting.reason,
        "proposed_by": waiting.proposed_by,
        "created_at": waiting.created_ms,
        "expires_at": waiting.expires_ms,
    })
}

fn unknown() -> Error {
    let text = "no request of this id waits: it is 15 minutes old, a restart forgot it, or it is settled";
    refusal::NOT_FOUND.saying(text).into()
}

async fn agree(call: Call) -> Answer {
    let second = own(&call)?.clone();
    let edge = &call.worker.shared.edge;
    let id = call.path_param(0);
    let agreed = edge.approvals.agree(&id, &second, |first| edge.auth.is_operator(first), call.now_ms);
    let (acting, carry_out) = agreed.map_err(|denial| match denial {
        Denial::Unknown => unknown(),
        Denial::Own => {
            refusal::FORBIDDEN.saying("another operator must agree than the one who asked for it").into()
        }
        Denial::Removed => {
            let text = "the operator who asked for it has that key no more, so it is forgotten; ask anew";
            Error::from(refusal::FORBIDDEN.saying(text))
        }
    })?;
    tracing::info!(%id, by = %second.name, ip = %call.noted_ip().to_canonical(), "agreed to");
    carry_out(call.worker.clone(), acting, call.now_ms).await
}

fn take_back(call: &Call) -> Answer {
    let operator = own(call)?;
    let id = call.path_param(0);
    if !call.worker.shared.edge.approvals.take_back(&id, call.now_ms) {
        return Err(unknown());
    }
    tracing::info!(%id, by = %operator.name, ip = %call.noted_ip().to_canonical(), "taken back");
    Ok(Response::json("{\"ok\":true}"))
}
