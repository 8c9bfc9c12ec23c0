//! What the chain's side waits for, as operators see it: why withdrawals are paused, deposits that are held, and final blocks that
//! were replaced, with everything that was counted above the block that is kept. Going back to that block is decided by two
//! operators, as disputes are; the watch then takes all of it back and reads on from there.

use super::{OF_ENGINE, OF_VIEWS, get, reason, unavailable, views};
use crate::api::docs::{ADDRESS, Field, Shape};
use crate::api::operate::{Action, REASON_NEEDED, Subject, cut, operate, own};
use crate::api::{Answer, Call, Handler, Method, Response, Route};
use crate::auth::access::Auth;
use crate::chain::Replaced;
use crate::dialect::Dialect;
use crate::dialect::account::params::typed;
use crate::dialect::account::refusal::{self, invalid};
use crate::dialect::address::{address_text, parse_address};
use crate::dialect::fapi::text;
use crate::dialect::spot::id::order_uuid_text;
use const_hex::encode_prefixed;
use ringside_core::command::{HeldReason, RewindVault, pause};
use ringside_core::event::RewindStage;
use ringside_core::ids;
use ringside_views::Views;
use ringside_views::deposit::{DepositRecord, VaultBook};
use serde_json::value::RawValue;
use serde_json::{Value, json};

const EVENT: Shape = Shape::Any;
const REPLACED: Shape = Shape::Object(&[
    Field::new("last_block", Shape::Integer, "The last that was final"),
    Field::new(
        "kept_block",
        Shape::Integer,
        "The newest final block that is still there; 0: go back to the begin",
    ),
    Field::new("kept_hash", Shape::Text, ""),
    Field::new("withdrawals", Shape::List(&EVENT), "Confirmed above it; they are on their way again then"),
    Field::new(
        "deposits",
        Shape::List(&EVENT),
        "Credited above it; they stay so, and count once when mined again",
    ),
    Field::new("proposed_by", Shape::Nullable(&Shape::Text), "Who wants to go back, until another agrees"),
]);
const VAULT: Shape = Shape::Object(&[
    Field::new("vault_address", ADDRESS, ""),
    Field::new("block", Shape::Integer, "The last final block"),
    Field::new("deposits", Shape::Integer, "Taken so far"),
    Field::new("releases", Shape::Integer, "Taken so far"),
    Field::new("signer", ADDRESS, "Whose signatures it pays for, as far as is final"),
    Field::new("replaced", Shape::Nullable(&REPLACED), "Where final blocks were replaced"),
]);

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        tag: "admin",
        named_refusals: &[OF_VIEWS],
        ..get(
            "/admin/chain",
            Auth::Admin,
            "What the chain's side waits for, and why withdrawals are paused",
            &[],
            Shape::Object(&[
                Field::new("paused", Shape::List(&Shape::Text), "operator, chain, alarm, vault, reserves"),
                Field::new("reason", Shape::Nullable(&Shape::Text), ""),
                Field::new("vaults", Shape::List(&VAULT), ""),
                Field::new("held_deposits", Shape::List(&EVENT), "Nobody's until what holds them is gone"),
            ]),
            Handler::Now(show),
        )
    },
    Route {
        dialect: Dialect::Account,
        auth: Auth::Admin,
        tag: "admin",
        summary: "Go back to the final block that is kept: the first operator proposes, another who says the same carries it \
                  out, each by a key of their own",
        body: Shape::Object(&[
            Field::new("vault_address", ADDRESS, ""),
            Field::new(
                "block",
                Shape::Integer,
                "kept_block of GET /admin/chain, so that nobody decides on another",
            ),
            REASON_NEEDED,
        ]),
        response: Shape::Object(&[
            Field::new("agreed", Shape::Boolean, "false: it is proposed"),
            Field::new("proposed_by", Shape::Text, ""),
            Field::new("agreed_by", Shape::Nullable(&Shape::Text), "null while it is proposed"),
        ]),
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::NOT_FOUND, refusal::FORBIDDEN], OF_ENGINE],
        ..Route::new(Method::Post, "/admin/chain/rewind", Handler::Later(|call| Box::pin(rewind(call))))
    },
];

fn show(call: &Call) -> Answer {
    let views = views(call)?;
    let bits = views.withdrawals().paused();
    let paused: Vec<_> =
        pause::WORDS.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| word).collect();
    let all = call.worker.shared.seen.replaced();
    let vaults: Vec<Value> = (0..)
        .zip(views.withdrawals().vaults())
        .map(|(number, vault)| {
            let book = views.deposits().vault(number).cloned().unwrap_or_default();
            let is_it = |of: &&Replaced| (of.chain_id, of.vault) == (vault.chain_id, vault.address);
            json!({
                "chain_id": vault.chain_id,
                "vault_address": address_text(&vault.address),
                "block": vault.block,
                "deposits": book.deposits(),
                "releases": book.releases,
                "signer": address_text(&book.signer),
                "replaced": all.iter().find(is_it).map(|of| replaced(&views, number, &book, of)),
            })
        })
        .collect();
    let held: Vec<Value> = views.deposits().held().map(|record| held(&views, record)).collect();
    Ok(Response::of(&json!({
        "paused": paused, "reason": views.withdrawals().pause_reason(), "vaults": vaults, "held_deposits": held,
    })))
}

fn held(views: &Views, record: &DepositRecord) -> Value {
    let reason = match record.reason {
        HeldReason::None => "none",
        HeldReason::TokenUnknown => "token_unknown",
        HeldReason::TokenPaused => "token_paused",
        HeldReason::OutOfRange => "out_of_range",
        HeldReason::Nobody => "nobody",
    };
    let mut shown = deposit(record);
    shown["reason"] = json!(reason);
    let vault = views.withdrawals().vault(record.vault);
    shown["vault_address"] = json!(vault.map(|vault| address_text(&vault.address)));
    shown
}

fn deposit(record: &DepositRecord) -> Value {
    json!({
        "number": record.number,
        "user_address": address_text(&record.address),
        "token_address": address_text(&record.token),
        "value": record.value.to_string(),
        "amount": text::amount(record.amount),
        "tx_hash": encode_prefixed(record.tx_hash),
        "block_number": record.block,
    })
}

fn replaced(views: &Views, number: u16, book: &VaultBook, of: &Replaced) -> Value {
    let withdrawals: Vec<Value> = views
        .withdrawals()
        .confirmed_above(number, of.kept.block)
        .iter()
        .map(|record| {
            json!({
                "id": order_uuid_text(record.withdrawal),
                "user_address": views.accounts().address(record.account).map(address_text),
                "token": views.markets().asset_name(record.asset),
                "amount": text::amount(record.amount),
                "nonce": record.nonce,
                "tx_hash": record.release.map(|release| encode_prefixed(release.tx_hash)),
                "block_number": record.release.map(|release| release.block),
            })
        })
        .collect();
    let deposits: Vec<Value> = views.deposits().above(number, of.kept.block).map(deposit).collect();
    let proposed = book.rewind.filter(|told| told.block == of.kept.block);
    json!({
        "last_block": of.last,
        "kept_block": of.kept.block,
        "kept_hash": encode_prefixed(of.kept.hash),
        "withdrawals": withdrawals,
        "deposits": deposits,
        "proposed_by": proposed.map(|told| ids::text(&told.proposed_by).to_owned()),
    })
}

#[derive(serde::Deserialize)]
struct RewindBody<'a> {
    #[serde(borrow)]
    vault_address: Option<&'a RawValue>,
    #[serde(borrow)]
    block: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
}

async fn rewind(call: Call) -> Answer {
    // Two people decide, so each is proven here; and each has a reason.
    let operator = cut(&own(&call)?.name);
    let body: RewindBody<'_> = call.json()?;
    let vault = typed::<String>("vault_address", body.vault_address)?.and_then(|text| parse_address(&text));
    let vault = vault.ok_or_else(|| invalid("vault_address"))?;
    let block: u64 = typed("block", body.block)?.ok_or_else(|| invalid("block"))?;
    let reason = reason(body.reason)?;
    if reason.trim().is_empty() {
        return Err(invalid("reason").into());
    }
    let all = call.worker.shared.seen.replaced();
    let found = all.iter().find(|of| of.vault == vault).ok_or(refusal::NOT_FOUND)?;
    let kept = found.kept;
    if kept.block != block {
        let message = format!("block: {} is the newest final block that is still there", kept.block);
        return Err(refusal::INVALID_PARAMETER.saying(message).into());
    }
    let to = |block, hash, time_s| RewindVault {
        chain_id: found.chain_id,
        vault,
        reserved: 0,
        block,
        hash,
        time_s,
        operator,
    };
    let action = || Action {
        subject: Subject::Venue,
        detail: format!("vault {} back to block {block}", address_text(&vault)),
        reason: &reason,
    };
    let (number, last) = {
        let views = views(&call)?;
        let number = views.withdrawals().vault_number(found.chain_id, &vault).ok_or(refusal::NOT_FOUND)?;
        let last = *views.withdrawals().vault(number).ok_or(refusal::NOT_FOUND)?;
        let has_key = |name: &[u8; 16]| call.worker.shared.edge.auth.has_operator(ids::text(name));
        let told = views.deposits().vault(number).and_then(|book| book.rewind);
        let proposed = told.filter(|told| (told.stage, told.block) == (RewindStage::Proposed as u8, block));
        let is_nobodys = proposed.is_some_and(|told| !has_key(&told.proposed_by));
        (number, is_nobodys.then_some(last))
    };
    // Whose key was taken away since is not one of two: who asks now proposes it anew. A proposal to stay where it is takes
    // the place of the former one.
    if let Some(last) = last {
        let stay = to(last.block, last.hash, last.time_s);
        operate(&call, action(), stay).await.map_err(unavailable)?;
    }
    let (action, command) = (action(), to(block, kept.hash, kept.time_s));
    let reply = operate(&call, action, command).await.map_err(unavailable)?;
    if reply.done.rejected().is_some() {
        return Err(refusal::NOT_FOUND.into());
    }
    let views = views(&call)?;
    let told = views.deposits().vault(number).and_then(|book| book.rewind);
    // It may be carried out by now.
    let is_agreed = told.is_none_or(|told| told.stage != RewindStage::Proposed as u8);
    let proposed_by = told.map_or(operator, |told| told.proposed_by);
    let agreed_by = is_agreed.then(|| told.map_or(operator, |told| told.agreed_by));
    Ok(Response::of(&json!({
        "agreed": is_agreed,
        "proposed_by": ids::text(&proposed_by),
        "agreed_by": agreed_by.map(|agreed_by| ids::text(&agreed_by).to_owned()),
    })))
}
