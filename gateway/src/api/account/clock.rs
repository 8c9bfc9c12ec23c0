//! How far the machine's clock is from engine time, and that an operator accepts it (`account.md` 13, `durability.md` row 10).

use super::{OF_ENGINE, admin, reason, unavailable};
use crate::api::docs::{Field, Shape};
use crate::api::operate::{Action, BY, REASON, Subject, note};
use crate::api::{Call, Error, Method, Route, later, now};
use ringside_dialect::account::params::typed;
use ringside_dialect::account::refusal::{self, invalid};
use ringside_dialect::body;
use ringside_wire::account::operator::Clock;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    admin(
        Method::Get,
        "/admin/clock",
        "How far the machine's clock is from engine time",
        now!(|call| Ok(shown(call))),
    ),
    Route {
        params: &[BY],
        body: Shape::Object(&[
            Field::new(
                "distance_ms",
                Shape::Integer,
                "That of GET /admin/clock, to the second, so that nobody accepts another",
            ),
            REASON,
        ]),
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::DISTANCE_CHANGED], OF_ENGINE],
        ..admin(
            Method::Post,
            "/admin/clock/accept",
            "Accept how far the machine's clock is from engine time: orders are taken, while engine time comes nearer \
                  by a tenth of what passes; until they agree, or the next start",
            later!(accept),
        )
    },
];

fn shown(call: &Call) -> Clock {
    let agreement = &call.worker.shared.agreement;
    Clock {
        distance_ms: agreement.distance_ns() / 1_000_000,
        accepted_ms: agreement.accepted_ns() / 1_000_000,
        agrees: agreement.holds(),
    }
}

body! {
    AcceptBody { distance_ms, reason }
}

async fn accept(call: Call) -> Result<Clock, Error> {
    let body: AcceptBody<'_> = call.json()?;
    let distance_ms: i64 = typed("distance_ms", body.distance_ms)?.ok_or_else(|| invalid("distance_ms"))?;
    let reason = reason(body.reason)?;
    let (agreement, distance_ns) = (&call.worker.shared.agreement, distance_ms.saturating_mul(1_000_000));
    let changed =
        |now_ns| refusal::DISTANCE_CHANGED.saying(format!("distance_ms: it is {} now", now_ns / 1_000_000));
    agreement.judge(distance_ns).map_err(changed)?;
    let detail = format!("distance_ms={distance_ms}");
    note(&call, Action { subject: Subject::Venue, detail, reason: &reason }).await.map_err(unavailable)?;
    agreement.accept(distance_ns).map_err(changed)?;
    Ok(shown(&call))
}
