//! Withdrawals of perpetual margin to the chain (`account.md` 7). The switch that pauses them is an operator's.

use super::{OF_ENGINE, OF_VIEWS, get, unavailable, views};
use crate::api::docs::{Field, Param, Shape, UUID_SENT};
use crate::api::withdrawal::{self, Fault, NoId};
use crate::api::{Answer, Call, Error, Handler, Method, Route, answer, now};
use ringside_auth::access::Auth;
use ringside_core::command::Ledger;
use ringside_core::reject::Reject;
use ringside_dialect::account::params::limit;
use ringside_dialect::account::refusal::{self, Refused, invalid};
use ringside_dialect::spot::withdrawal::{WithdrawBody, status};
use ringside_views::Views;
use ringside_wire::fault::Denied;
use ringside_wire::refusal::Dialect;
use ringside_wire::spot::chain::{Withdrawal, WithdrawalAuthorization};

const TOKEN: &str = withdrawal::asset_of(Ledger::Perpetual);
const STATUSES: Shape = Shape::OneOf(&["signed", "confirmed", "expired"]);
const LOGIN: Auth = Auth::JwtOnly(Denied::Withdraw);

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        dialect: Dialect::Account,
        auth: LOGIN,
        tag: "account",
        summary: "Take USDT out of the perpetual margin and get the signature that the vault pays for",
        body: Shape::Object(&[
            Field::new("token", Shape::OneOf(&[TOKEN]), ""),
            Field::new("amount", Shape::DecimalInput, "At least 10, at most 6 decimals"),
        ]),
        response: answer::<WithdrawalAuthorization>(),
        named_refusals: &[
            &[
                refusal::WITHDRAWALS_PAUSED,
                refusal::WITHDRAWALS_UNAVAILABLE,
                refusal::UNSUPPORTED_TOKEN,
                refusal::INVALID_PARAMETER,
                refusal::AMOUNT_TOO_SMALL,
                refusal::INSUFFICIENT_BALANCE,
                refusal::TOO_MANY_WITHDRAWALS,
                refusal::SIGNER_UNAVAILABLE,
            ],
            OF_ENGINE,
        ],
        ..Route::new(Method::Post, "/withdraw/request", Handler::Later(|call| Box::pin(request(call))))
    },
    Route {
        named_refusals: &[&[refusal::INVALID_PARAMETER], OF_VIEWS],
        ..get(
            "/withdraw/requests",
            LOGIN,
            "Own withdrawals of perpetual margin, newest first",
            &[
                Param::optional("status", STATUSES, "One status only"),
                Param::optional(
                    "before",
                    UUID_SENT,
                    "Older ones than this only: the last id of the page before",
                ),
                Param::optional("limit", Shape::Integer, "Default 50, clamped to 1..200"),
            ],
            now!(list),
        )
    },
    Route {
        named_refusals: &[&[refusal::NOT_FOUND], OF_VIEWS],
        ..get(
            "/withdraw/requests/{id}",
            LOGIN,
            "One of the own withdrawals of perpetual margin",
            &[Param::path("id", UUID_SENT, "Its id")],
            now!(one),
        )
    },
];

async fn request(call: Call) -> Answer {
    // Judged before the body (`account.md` 7).
    {
        let views = views(&call)?;
        if is_paused(&views) {
            let reason = views.withdrawals().pause_reason();
            let reason = reason.map(|reason| format!("{}: {reason}", refusal::WITHDRAWALS_PAUSED.message));
            let refused = reason.map(|reason| refusal::WITHDRAWALS_PAUSED.saying(reason));
            return Err(refused.unwrap_or_else(|| refusal::WITHDRAWALS_PAUSED.into()).into());
        }
    }
    let token = withdrawal::own_token(&call, Ledger::Perpetual);
    if token.and_then(|token| withdrawal::command(&call, Ledger::Perpetual, &token, 0, (0, 0))).is_none() {
        return Err(refusal::WITHDRAWALS_UNAVAILABLE.into());
    }
    let body: WithdrawBody<'_> = call.json()?;
    if body.token() != TOKEN {
        return Err(refusal::UNSUPPORTED_TOKEN.into());
    }
    let amount = match body.amount().ok_or_else(|| invalid("amount"))? {
        // The engine has no word for none at all.
        0 => return Err(refusal::AMOUNT_TOO_SMALL.into()),
        amount => amount,
    };
    if withdrawal::is_over_limit(&call) {
        return Err(Error::from(refusal::TOO_MANY_WITHDRAWALS).with_retry_after(withdrawal::RETRY_AFTER_S));
    }
    let command =
        token.and_then(|token| withdrawal::command(&call, Ledger::Perpetual, &token, amount, (0, 0)));
    let command = command.ok_or(refusal::UNAVAILABLE)?;
    withdrawal::request(&call, command).await.map_err(|fault| match fault {
        Fault::Refused(reject) | Fault::Replayed(Err(reject)) => of_withdrawal(reject).into(),
        Fault::NotSigned(_) => refusal::SIGNER_UNAVAILABLE.into(),
        Fault::Replayed(Ok(_)) | Fault::Returned => refusal::INTERNAL.into(),
        Fault::Unavailable(fault) => unavailable(fault),
    })
}

fn is_paused(views: &Views) -> bool {
    views.withdrawals().paused() != 0 || views.perpetuals().pools().deficit != 0
}

fn of_withdrawal(reject: Reject) -> Refused {
    match reject {
        Reject::WithdrawalsPaused => refusal::WITHDRAWALS_PAUSED.into(),
        Reject::TokenPaused => refusal::WITHDRAWALS_PAUSED.saying("withdrawals of this token are paused"),
        Reject::MarketNotFound => refusal::UNSUPPORTED_TOKEN.into(),
        Reject::InvalidAmount => invalid("amount"),
        Reject::AmountBelowMinimum => refusal::AMOUNT_TOO_SMALL.into(),
        Reject::CrossInsufficient => refusal::INSUFFICIENT_BALANCE.into(),
        Reject::NonceHeld => refusal::SIGNER_UNAVAILABLE.into(),
        _ => refusal::INTERNAL.into(),
    }
}

fn list(call: &Call) -> Result<Vec<Withdrawal>, Error> {
    let query = call.query();
    let status = match query.get("status") {
        None => None,
        Some(word) => Some(status(&word).ok_or_else(|| invalid("status"))?),
    };
    let before = withdrawal::before(call).map_err(|NoId| invalid("before"))?;
    let limit = limit(query.get("limit").as_deref(), 50, 200)?;
    Ok(withdrawal::list(call, &*views(call)?, Ledger::Perpetual, status, before, limit))
}

fn one(call: &Call) -> Result<Withdrawal, Error> {
    Ok(withdrawal::one(call, &*views(call)?, Ledger::Perpetual).ok_or(refusal::NOT_FOUND)?)
}
