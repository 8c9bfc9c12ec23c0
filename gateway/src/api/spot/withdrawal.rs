//! Withdrawals to the chain: of DF, and of tokens that an operator has added (`spot.md` 10, 10.1).

use super::replay::{self, Begin, IDEMPOTENCY_KEY, begin, is_known, not_handed_over, replayed};
use super::{unavailable, views};
use crate::api::docs::{Field, Param, Shape, TOKEN, UUID_SENT};
use crate::api::withdrawal::{self, Fault, NoId, Token};
use crate::api::{Answer, Call, Error, Handler, Method, Response, Route, answer as shape_of, now};
use ringside_auth::access::Auth;
use ringside_chain::withdrawal_signing::NotSigned;
use ringside_core::command::Ledger;
use ringside_core::reject::Reject;
use ringside_dialect::spot::decode;
use ringside_dialect::spot::refusal::{self, Refusal};
use ringside_dialect::spot::withdrawal::{WithdrawBody, status};
use ringside_edge::worker::idempotency_cache::Keyed;
use ringside_wire::fault::Denied;
use ringside_wire::number::Amount;
use ringside_wire::spot::chain::{Withdrawal, WithdrawalAuthorization};

/// Scope of the keys of this route. Stands in hashes that the journal holds.
const SCOPE: &str = "POST /spot/withdraw/request";
const STATUSES: Shape = Shape::OneOf(&["signed", "confirmed", "expired"]);

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        auth: Auth::JwtOnly(Denied::Withdraw),
        tag: "withdrawals",
        summary: "Reserve an amount and get the signature that the vault pays for",
        params: &[replay::HEADER],
        body: Shape::Object(&[
            Field::new("token", TOKEN, "DF, or one that was added"),
            Field::new(
                "amount",
                Shape::DecimalInput,
                "At least 1 DF, or the token's own minimum; no finer than the token",
            ),
        ]),
        response: shape_of::<WithdrawalAuthorization>(),
        refusals: &[
            &[
                refusal::SUBSYSTEM_DISABLED,
                refusal::UNSUPPORTED_TOKEN,
                refusal::INVALID_AMOUNT,
                refusal::AMOUNT_BELOW_MINIMUM,
                refusal::INVALID_USER_ADDRESS,
                refusal::INSUFFICIENT_AVAILABLE,
                refusal::SIGN_FAILED,
                refusal::SIGNER_UNAVAILABLE,
                refusal::WITHDRAWALS_PAUSED,
                refusal::INVALID_IDEMPOTENCY_KEY,
                refusal::TOO_MANY_IDEMPOTENCY_KEYS,
                refusal::TOO_MANY_WITHDRAWALS,
                refusal::IDEMPOTENCY_CONFLICT,
            ],
            super::OF_ENGINE,
        ],
        ..Route::new(
            Method::Post,
            "/api/v1/spot/withdraw/request",
            Handler::Later(|call| Box::pin(request(call))),
        )
    },
    Route {
        auth: Auth::JwtOnly(Denied::Withdraw),
        tag: "withdrawals",
        summary: "Own withdrawals, newest first",
        params: &[
            Param::optional("status", STATUSES, "One status only"),
            Param::optional("before", UUID_SENT, "Older ones than this only: the last id of the page before"),
            Param::optional("limit", Shape::Integer, "Default 50, clamped to 1..200"),
        ],
        refusals: &[&[refusal::INVALID_STATUS, refusal::INVALID_ID, refusal::INVALID_LIMIT], super::OF_VIEWS],
        ..Route::of(Method::Get, "/api/v1/spot/withdrawals", now!(list))
    },
    Route {
        auth: Auth::JwtOnly(Denied::Withdraw),
        tag: "withdrawals",
        summary: "One of the own withdrawals",
        params: &[Param::path("id", UUID_SENT, "Its id")],
        refusals: &[&[refusal::NOT_FOUND], super::OF_VIEWS],
        ..Route::of(Method::Get, "/api/v1/spot/withdrawals/{id}", now!(one))
    },
];

async fn request(call: Call) -> Answer {
    // Judged before the body: what this deployment does not have it does not read.
    let own = withdrawal::own_token(&call, Ledger::Spot);
    if own.and_then(|own| withdrawal::command(&call, Ledger::Spot, &own, 0, (0, 0))).is_none() {
        return Err(refusal::SUBSYSTEM_DISABLED.into());
    }
    let body: WithdrawBody<'_> = call.json()?;
    let Some(key) = call.head.headers.get(IDEMPOTENCY_KEY) else {
        check_limit(&call)?;
        return answer(&call, &body, carry_out(&call, &body, (0, 0)).await?);
    };
    let (keyed, claim) = match begin(&call, SCOPE, key)? {
        Begin::Fresh(keyed, claim) => (keyed, claim),
        Begin::Answered(answer) => return Ok(answer),
    };
    loop {
        let tried = Keyed { key: withdrawal::key_of_try(&call, keyed.account, keyed.key), ..keyed };
        if !is_known(&call, tried) {
            check_limit(&call)?;
        }
        match carry_out(&call, &body, (tried.key, tried.body)).await {
            // Just now.
            Ok(Err(Fault::Returned)) => {}
            // The first try may wait for its signature still.
            Ok(Err(Fault::Replayed(Ok(first)))) => {
                return answer(&call, &body, withdrawal::signed(&call, first).await).map(replayed);
            }
            Ok(Err(Fault::Replayed(Err(reject)))) => {
                return Ok(replayed(Response::from(Error::from(refusal::of_withdrawal(reject)))));
            }
            Ok(outcome) => return answer(&call, &body, outcome),
            Err(error) => return Err(not_handed_over(&call, tried, claim, error)),
        }
    }
}

fn check_limit(call: &Call) -> Result<(), Error> {
    match withdrawal::is_over_limit(call) {
        false => Ok(()),
        true => Err(Error::from(refusal::TOO_MANY_WITHDRAWALS)
            .with_message("too many withdrawals were asked for in 24 hours")
            .with_retry_after(withdrawal::RETRY_AFTER_S)),
    }
}

/// Checks of the body in the order of `spot.md` 3, then the engine and the signer; `Err` is what never reached the engine.
async fn carry_out(
    call: &Call,
    body: &WithdrawBody<'_>,
    keyed: (u64, u64),
) -> Result<Result<Response, Fault>, Error> {
    let token = body.token();
    let found = withdrawal::spot_token(call, &*views(call)?, &token);
    let found = found.ok_or_else(|| super::unsupported(&token))?;
    let amount = match body.amount().ok_or(refusal::INVALID_AMOUNT)? {
        // The engine has no word for none at all.
        0 => return Err(below_minimum(&found)),
        amount => amount,
    };
    let command =
        withdrawal::command(call, Ledger::Spot, &found, amount, keyed).ok_or(refusal::SUBSYSTEM_DISABLED)?;
    Ok(match withdrawal::request(call, command).await {
        Err(Fault::Refused(Reject::AmountBelowMinimum)) => return Err(below_minimum(&found)),
        Err(Fault::Refused(Reject::InvalidAmount)) => {
            let bound = format!("amount: above 0, with at most {} decimals", found.decimals);
            return Err(Error::from(refusal::INVALID_AMOUNT).with_message(bound));
        }
        outcome => outcome,
    })
}

fn below_minimum(token: &Token) -> Error {
    let text = format!("amount below minimum {}", Amount(token.minimum));
    Error::from(refusal::AMOUNT_BELOW_MINIMUM).with_text(text)
}

fn answer(call: &Call, body: &WithdrawBody<'_>, outcome: Result<Response, Fault>) -> Answer {
    outcome.map_err(|fault| match fault {
        Fault::Refused(Reject::MarketNotFound) => super::unsupported(&body.token()),
        Fault::Refused(Reject::TokenPaused) => {
            Error::from(refusal::WITHDRAWALS_PAUSED).with_message("withdrawals of this token are paused")
        }
        Fault::Refused(Reject::WithdrawalsPaused) => {
            let reason =
                views(call).ok().and_then(|views| views.withdrawals().pause_reason().map(str::to_owned));
            Error::from(refusal::WITHDRAWALS_PAUSED).with_message(reason.unwrap_or_default())
        }
        Fault::Refused(reject) | Fault::Replayed(Err(reject)) => refusal::of_withdrawal(reject).into(),
        Fault::NotSigned(NotSigned::Refused) => told_back(refusal::SIGN_FAILED),
        Fault::NotSigned(NotSigned::Unavailable) => told_back(refusal::SIGNER_UNAVAILABLE),
        Fault::Replayed(Ok(_)) | Fault::Returned => refusal::INTERNAL.into(),
        Fault::Unavailable(fault) => unavailable(fault),
    })
}

fn told_back(refusal: Refusal) -> Error {
    Error::from(refusal).with_message("the amount is available again")
}

fn list(call: &Call) -> Result<Vec<Withdrawal>, Error> {
    let query = call.query();
    let status = match query.get("status") {
        None => None,
        Some(word) => Some(status(&word).ok_or(refusal::INVALID_STATUS)?),
    };
    let before = withdrawal::before(call).map_err(|NoId| refusal::INVALID_ID)?;
    let limit = decode::limit(query.get("limit").as_deref(), 50, 200)?;
    Ok(withdrawal::list(call, &*views(call)?, Ledger::Spot, status, before, limit))
}

fn one(call: &Call) -> Result<Withdrawal, Error> {
    Ok(withdrawal::one(call, &*views(call)?, Ledger::Spot).ok_or(refusal::NOT_FOUND)?)
}
