//! Withdrawals for whose nonce the vault paid something else than was signed: what they are, and how two operators settle one.
//! Both steps are commands behind notes in the audit log. What made the vault pay it is not for the exchange to find out.

use super::{OF_ENGINE, OF_VIEWS, get, reason, unavailable, views};
use crate::api::docs::{Field, Param, Shape, UUID_SENT};
use crate::api::operate::{Action, REASON_NEEDED, Subject, cut, operate, own};
use crate::api::{Answer, Call, Handler, Method, Response, Route};
use crate::auth::access::Auth;
use crate::dialect::Dialect;
use crate::dialect::account::params::typed;
use crate::dialect::account::refusal::{self, invalid};
use crate::dialect::address::address_text;
use crate::dialect::fapi::text;
use crate::dialect::spot::id::{ParsedUuid, order_uuid_text, parse};
use const_hex::encode_prefixed;
use ringside_core::command::SettleWithdrawal;
use ringside_core::event::{ReleaseAlarm, WithdrawalJudged};
use ringside_core::ids;
use ringside_views::Views;
use ringside_views::withdrawal::WithdrawalRecord;
use serde_json::value::RawValue;
use serde_json::{Value, json};

const OUTCOMES: Shape = Shape::OneOf(&["paid", "returned"]);
const PROPOSAL: Shape =
    Shape::Object(&[Field::new("outcome", OUTCOMES, ""), Field::new("by", Shape::Text, "")]);
const PAID: Shape = Shape::Object(&[
    Field::new("value", Shape::Text, "Base units of whatever token it was"),
    Field::new("tx_hash", Shape::Text, ""),
    Field::new("block_number", Shape::Integer, ""),
]);
const DISPUTE: Shape = Shape::Named(
    "Dispute",
    &[
        Field::new("id", Shape::Text, "Of the withdrawal"),
        Field::new("user_address", Shape::Text, ""),
        Field::new("token", Shape::Text, ""),
        Field::new("amount", Shape::Text, "What is frozen"),
        Field::new("nonce", Shape::Integer, ""),
        Field::new("requested_at", Shape::Integer, "UNIX seconds"),
        Field::new("paid", PAID, "What the vault paid for the nonce"),
        Field::new("proposed", Shape::Nullable(&PROPOSAL), "What one operator wants, until another agrees"),
    ],
);

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        tag: "admin",
        named_refusals: &[OF_VIEWS],
        ..get(
            "/admin/withdrawals/disputed",
            Auth::Admin,
            "Withdrawals for whose nonce the vault paid something else, oldest first",
            &[],
            Shape::Object(&[Field::new("items", Shape::List(&DISPUTE), "")]),
            Handler::Now(list),
        )
    },
    Route {
        dialect: Dialect::Account,
        auth: Auth::Admin,
        tag: "admin",
        summary: "Settle a disputed withdrawal: the first operator proposes, another who says the same carries it out, each by a \
                  key of their own",
        params: &[Param::path("id", UUID_SENT, "Of the withdrawal")],
        body: Shape::Object(&[
            Field::new(
                "outcome",
                OUTCOMES,
                "paid: what the vault paid counts, the amount is gone; returned: it goes back",
            ),
            REASON_NEEDED,
        ]),
        response: Shape::Object(&[
            Field::new("settled", Shape::Boolean, "false: it is proposed"),
            Field::new("outcome", OUTCOMES, ""),
            Field::new("proposed_by", Shape::Text, ""),
            Field::new("agreed_by", Shape::Nullable(&Shape::Text), "null while it is proposed"),
        ]),
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::NOT_FOUND, refusal::FORBIDDEN], OF_ENGINE],
        ..Route::new(
            Method::Post,
            "/admin/withdrawals/disputed/{id}",
            Handler::Later(|call| Box::pin(settle(call))),
        )
    },
];

#[derive(serde::Deserialize)]
struct SettleBody<'a> {
    #[serde(borrow)]
    outcome: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
}

fn list(call: &Call) -> Answer {
    let views = views(call)?;
    let disputed = views.withdrawals().disputed(views.accounts());
    let items: Vec<Value> = disputed.filter_map(|(record, alarm)| shown(&views, record, alarm)).collect();
    Ok(Response::of(&json!({ "items": items })))
}

fn shown(views: &Views, record: &WithdrawalRecord, paid: &ReleaseAlarm) -> Option<Value> {
    let proposed = views
        .withdrawals()
        .judged(record.withdrawal)
        .map(|judged| json!({ "outcome": outcome(judged), "by": ids::text(&judged.proposed_by) }));
    Some(json!({
        "id": order_uuid_text(record.withdrawal),
        "user_address": address_text(views.accounts().address(record.account)?),
        "token": views.markets().asset_name(record.asset),
        "amount": text::amount(record.amount),
        "nonce": record.nonce,
        "requested_at": record.requested_at_s,
        "paid": {
            "value": (paid.value.get() as u128).to_string(),
            "tx_hash": encode_prefixed(paid.tx_hash),
            "block_number": paid.block,
        },
        "proposed": proposed,
    }))
}

async fn settle(call: Call) -> Answer {
    // Two people decide, so each is proven here; and each has a reason.
    let operator = cut(&own(&call)?.name);
    let body: SettleBody<'_> = call.json()?;
    let is_paid = match typed::<String>("outcome", body.outcome)?.as_deref() {
        Some("paid") => true,
        Some("returned") => false,
        _ => return Err(invalid("outcome").into()),
    };
    let reason = reason(body.reason)?;
    if reason.trim().is_empty() {
        return Err(invalid("reason").into());
    }
    let ParsedUuid::Order(withdrawal) = parse(&call.path_param(0)).ok_or(refusal::NOT_FOUND)? else {
        return Err(refusal::NOT_FOUND.into());
    };
    let account = {
        let views = views(&call)?;
        let mut disputed = views.withdrawals().disputed(views.accounts());
        let found = disputed.find(|(record, _)| record.withdrawal == withdrawal);
        let account = found.map(|(_, alarm)| alarm.account).ok_or(refusal::NOT_FOUND)?;
        let proposed = views.withdrawals().judged(withdrawal).filter(|judged| {
            judged.is_settled == 0 && judged.is_paid == u8::from(is_paid) && judged.proposed_by != operator
        });
        if let Some(judged) = proposed {
            let name = ids::text(&judged.proposed_by);
            // Whose key was taken away since, or who never had one, is not one of two.
            if !call.worker.shared.edge.auth.has_operator(name) {
                let text = format!(
                    "{name}, who proposed it, has no key: propose the other outcome, then this one, to stand in"
                );
                return Err(refusal::FORBIDDEN.saying(text).into());
            }
        }
        account
    };
    let action = Action {
        subject: Subject::Account(account),
        detail: format!("withdrawal {withdrawal} {}", if is_paid { "paid" } else { "returned" }),
        reason: &reason,
    };
    let command = SettleWithdrawal { withdrawal, operator, is_paid: is_paid.into() };
    let reply = operate(&call, action, command).await.map_err(unavailable)?;
    if reply.done.rejected().is_some() {
        return Err(refusal::NOT_FOUND.into());
    }
    let views = views(&call)?;
    // Of another operator's command since, this tells what it came to.
    let judged = views.withdrawals().judged(withdrawal).ok_or(refusal::INTERNAL)?;
    let agreed_by = (judged.is_settled == 1).then(|| ids::text(&judged.agreed_by));
    Ok(Response::of(&json!({
        "settled": judged.is_settled == 1,
        "outcome": outcome(judged),
        "proposed_by": ids::text(&judged.proposed_by),
        "agreed_by": agreed_by,
    })))
}

fn outcome(judged: &WithdrawalJudged) -> &'static str {
    if judged.is_paid == 1 { "paid" } else { "returned" }
}
