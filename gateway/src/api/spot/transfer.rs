//! Transfers between the spot and the perpetual ledger (`spot.md` 9). Both ledgers change in one command.

use super::replay::{self, Begin, IDEMPOTENCY_KEY, begin, not_handed_over, replayed};
use super::{check_views, from_archive, unavailable};
use crate::api::docs::{Field, Param, Shape};
use crate::api::{Answer, Call, Error, Handler, Method, Response, Route, answer, later};
use ringside_auth::access::{Auth, Permission};
use ringside_commands::ingress::Priority;
use ringside_core::command::{Command, TransferOnce};
use ringside_core::reject::Reject;
use ringside_dialect::spot::transfer::{
    DIRECTIONS, Fault, INVALID_DIRECTION, TOKEN, TransferBody, is_to_perpetual, of_reject, transfer,
};
use ringside_dialect::spot::{decode, refusal};
use ringside_edge::worker::idempotency_cache::Keyed;
use ringside_views::log::Page;
use ringside_views::perpetual::rows::TransferRecord;
use ringside_wire::spot::Transfer;

/// Scope of the keys of this route. Stands in hashes that the journal holds.
const SCOPE: &str = "POST /spot/transfer";

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        auth: Auth::Account(Permission::Trade),
        tag: "account",
        summary: "Move USDT between the spot wallet and the perpetual margin",
        params: &[replay::HEADER],
        body: Shape::Object(&[
            Field::new("direction", Shape::OneOf(DIRECTIONS), ""),
            Field::new("token", Shape::OneOf(&[TOKEN]), ""),
            Field::new("amount", Shape::DecimalInput, "Above 0, at most 6 decimals"),
        ]),
        response: answer::<Transfer>(),
        refusals: &[
            &[
                INVALID_DIRECTION,
                refusal::UNSUPPORTED_TOKEN,
                refusal::INVALID_AMOUNT,
                refusal::of_reject(Reject::InsufficientBalance),
                refusal::INVALID_IDEMPOTENCY_KEY,
                refusal::TOO_MANY_IDEMPOTENCY_KEYS,
                refusal::IDEMPOTENCY_CONFLICT,
                refusal::DISABLED,
                refusal::WITHDRAWALS_PAUSED,
            ],
            super::OF_ENGINE,
        ],
        ..Route::new(Method::Post, "/api/v1/spot/transfer", Handler::Later(|call| Box::pin(request(call))))
    },
    Route {
        auth: Auth::Account(Permission::Read),
        tag: "account",
        summary: "Own transfers, newest first",
        params: &[
            Param::optional("direction", Shape::OneOf(DIRECTIONS), "One direction only"),
            Param::optional("limit", Shape::Integer, "Default 50, clamped to 1..200"),
        ],
        refusals: &[&[INVALID_DIRECTION, refusal::INVALID_LIMIT], super::OF_HISTORY],
        ..Route::of(Method::Get, "/api/v1/spot/transfers", later!(list))
    },
];

fn amount_of(call: &Call, body: &TransferBody<'_>) -> Result<i64, Error> {
    let amount = body.micros().map_err(|fault| match fault {
        Fault::Refused(refusal) => refusal.into(),
        Fault::Token(token) => super::unsupported(&token),
    })?;
    // Without a perpetual market there is no other ledger: nothing is handed over.
    if super::views(call)?.perpetuals().markets().all().is_empty() {
        return Err(refusal::DISABLED.into());
    }
    Ok(amount)
}

async fn request(call: Call) -> Answer {
    let body: TransferBody<'_> = call.json()?;
    let Some(key) = call.head.headers.get(IDEMPOTENCY_KEY) else {
        return carry_out(&call, amount_of(&call, &body)?, None).await;
    };
    let (keyed, claim) = match begin(&call, SCOPE, key)? {
        Begin::Fresh(keyed, claim) => (keyed, claim),
        Begin::Answered(first) => return Ok(first),
    };
    match amount_of(&call, &body) {
        Ok(amount) => carry_out(&call, amount, Some(keyed)).await,
        Err(error) => Err(not_handed_over(&call, keyed, claim, error)),
    }
}

async fn carry_out(call: &Call, amount: i64, keyed: Option<Keyed>) -> Answer {
    let account = call.account();
    let (idempotency_key, idempotency_body) = keyed.map_or((0, 0), |keyed| (keyed.key, keyed.body));
    let command = TransferOnce { account, reserved: 0, amount, idempotency_key, idempotency_body };
    let reply =
        call.worker.ingress.submit(Command::new(command), Priority::Cancel).await.map_err(unavailable)?;
    let show = |reject: Option<Reject>, number: u64, time_ns: i64| match reject {
        Some(reject) => Err(Error::from(of_reject(reject))),
        None => {
            let time_ms = time_ns.div_euclid(1_000_000);
            let row = TransferRecord { number, amount, time_ms, account, reserved: 0 };
            Ok(Response::of(&transfer(&row)))
        }
    };
    match reply.done.rejected() {
        Some(Reject::IdempotencyReplay) => {
            let outcome = {
                let views = call.worker.shared.views.read();
                views.idempotency().outcome(account, idempotency_key)
            };
            let first = outcome.ok_or(refusal::INTERNAL)?;
            let answered = show(first.reject, first.sequence, first.time_ns);
            Ok(replayed(answered.unwrap_or_else(Response::from)))
        }
        reject => show(reject, reply.sequence, reply.time_ns),
    }
}

async fn list(call: Call) -> Result<Vec<Transfer>, Error> {
    let query = call.query();
    let limit = decode::limit(query.get("limit").as_deref(), 50, 200)?;
    let tag = match query.get("direction") {
        None => 0,
        Some(word) => match is_to_perpetual(&word).ok_or(INVALID_DIRECTION)? {
            true => 1,
            false => 2,
        },
    };
    check_views(&call)?;
    let page = Page::new(call.account(), Some(0), limit).tagged(tag);
    let rows: Vec<TransferRecord> = call.worker.shared.history.page(&page).await.map_err(from_archive)?;
    Ok(rows.iter().rev().map(transfer).collect())
}
