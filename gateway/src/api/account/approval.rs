//! What waits for a second operator (`account.md` 13): seen, agreed to, or taken back. What is agreed to is carried out at once, in the
//! name of both.

use super::{OF_ENGINE, admin};
use crate::api::docs::{Param, Shape};
use crate::api::operate::own;
use crate::api::{Answer, Answers, Call, Error, Handler, Method, Route, now};
use ringside_dialect::account::refusal;
use ringside_edge::worker::approvals::{Denial, Waiting};
use ringside_wire::account::operator::Approval;
use ringside_wire::account::{DONE, Done, Items};

const ID: Param = Param::path("id", Shape::Pattern("^[0-9a-f]{16}$"), "Of the request that waits");
const fn row(method: Method, summary: &'static str, answers: Answers) -> Route {
    Route { params: &[ID], ..admin(method, "/admin/approvals/{id}", summary, answers) }
}

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    admin(
        Method::Get,
        "/admin/approvals",
        "Requests that wait for a second operator, oldest first",
        now!(list),
    ),
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
            Answers { response: Shape::Any, handler: Handler::Later(|call| Box::pin(agree(call))) },
        )
    },
    Route {
        named_refusals: &[&[refusal::NOT_FOUND, refusal::FORBIDDEN]],
        ..row(Method::Delete, "Take a request back that waits", now!(take_back))
    },
];

fn list(call: &Call) -> Result<Items<Approval>, Error> {
    let waiting = call.worker.shared.edge.approvals.list(call.now_ms);
    Ok(Items { items: waiting.iter().map(shown).collect() })
}

fn shown(waiting: &Waiting) -> Approval {
    let Waiting { id, method, path, detail, reason, proposed_by, created_ms, expires_ms } = waiting.clone();
    Approval {
        approval_id: id,
        method,
        path,
        detail,
        reason,
        proposed_by,
        created_at: created_ms,
        expires_at: expires_ms,
    }
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

fn take_back(call: &Call) -> Result<Done, Error> {
    let operator = own(call)?;
    let id = call.path_param(0);
    if !call.worker.shared.edge.approvals.take_back(&id, call.now_ms) {
        return Err(unknown());
    }
    tracing::info!(%id, by = %operator.name, ip = %call.noted_ip().to_canonical(), "taken back");
    Ok(DONE)
}
