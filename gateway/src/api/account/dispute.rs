//! Withdrawals for whose nonce the vault paid something else than was signed: what they are, and how two operators settle one.
//! Both steps are commands behind notes in the audit log. What made the vault pay it is not for the exchange to find out.

use super::{OF_ENGINE, OF_VIEWS, admin, reason, unavailable, views};
use crate::api::docs::{Field, Param, Shape, UUID_SENT};
use crate::api::operate::{Action, REASON_NEEDED, Subject, cut, operate, own};
use crate::api::{Call, Error, Method, Route, later, now};
use const_hex::encode_prefixed;
use ringside_core::command::SettleWithdrawal;
use ringside_core::event::{ReleaseAlarm, WithdrawalJudged};
use ringside_core::ids;
use ringside_dialect::account::params::typed;
use ringside_dialect::account::refusal::{self, invalid};
use ringside_dialect::body;
use ringside_dialect::spot::id::{ParsedUuid, order_uuid_text, parse};
use ringside_views::Views;
use ringside_views::withdrawal::WithdrawalRecord;
use ringside_wire::account::Items;
use ringside_wire::account::chain::{Dispute, DisputeOutcome, DisputeProposal, DisputeSettled, PaidInstead};
use ringside_wire::name::Address;
use ringside_wire::number::Amount;

const OUTCOMES: Shape = Shape::OneOf(&["paid", "returned"]);
/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[OF_VIEWS],
        ..admin(
            Method::Get,
            "/admin/withdrawals/disputed",
            "Withdrawals for whose nonce the vault paid something else, oldest first",
            now!(list),
        )
    },
    Route {
        params: &[Param::path("id", UUID_SENT, "Of the withdrawal")],
        body: Shape::Object(&[
            Field::new(
                "outcome",
                OUTCOMES,
                "paid: what the vault paid counts, the amount is gone; returned: it goes back",
            ),
            REASON_NEEDED,
        ]),
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::NOT_FOUND, refusal::FORBIDDEN], OF_ENGINE],
        ..admin(
            Method::Post,
            "/admin/withdrawals/disputed/{id}",
            "Settle a disputed withdrawal: the first operator proposes, another who says the same carries it out, each by a \
                  key of their own",
            later!(settle),
        )
    },
];

body! {
    SettleBody { outcome, reason }
}

fn list(call: &Call) -> Result<Items<Dispute>, Error> {
    let views = views(call)?;
    let disputed = views.withdrawals().disputed(views.accounts());
    Ok(Items { items: disputed.filter_map(|(record, alarm)| shown(&views, record, alarm)).collect() })
}

fn shown(views: &Views, record: &WithdrawalRecord, paid: &ReleaseAlarm) -> Option<Dispute> {
    let proposed = views.withdrawals().judged(record.withdrawal).map(|judged| DisputeProposal {
        outcome: outcome(judged),
        by: ids::text(&judged.proposed_by).to_owned(),
    });
    Some(Dispute {
        id: order_uuid_text(record.withdrawal),
        user_address: Address(*views.accounts().address(record.account)?),
        token: views.markets().asset_name(record.asset).unwrap_or("").to_owned(),
        amount: Amount(record.amount),
        nonce: record.nonce,
        requested_at: record.requested_at_s,
        paid: PaidInstead {
            value: (paid.value.get() as u128).to_string(),
            tx_hash: encode_prefixed(paid.tx_hash),
            block_number: paid.block,
        },
        proposed,
    })
}

async fn settle(call: Call) -> Result<DisputeSettled, Error> {
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
    Ok(DisputeSettled {
        settled: judged.is_settled == 1,
        outcome: outcome(judged),
        proposed_by: ids::text(&judged.proposed_by).to_owned(),
        agreed_by: (judged.is_settled == 1).then(|| ids::text(&judged.agreed_by).to_owned()),
    })
}

fn outcome(judged: &WithdrawalJudged) -> DisputeOutcome {
    if judged.is_paid == 1 { DisputeOutcome::Paid } else { DisputeOutcome::Returned }
}
