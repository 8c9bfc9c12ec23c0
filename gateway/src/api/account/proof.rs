//! Proof of reserves (`spot.md` 10.1): the newest for everybody, an account's own leaves, and what two operators accept to be missing.
//! How a leaf is checked: `scripts/proof.py`.

use super::{OF_ENGINE, OF_VIEWS, get, needed_reason, unavailable, views};
use crate::api::docs::{ADDRESS, DECIMAL_OR_NULL, Field, SIGNED, Shape, TOKEN};
use crate::api::operate::{Action, REASON_NEEDED, Subject, for_two, operate, own};
use crate::api::{Answer, Call, Error, Handler, Method, Response, Route};
use crate::auth::access::{Auth, Permission};
use crate::dialect::Dialect;
use crate::dialect::account::params::{member, number, typed};
use crate::dialect::account::refusal::{self, invalid};
use crate::dialect::address::address_text;
use crate::dialect::fapi::text;
use crate::proof::tree::Step;
use crate::proof::{Own, Proof, ProvenToken, ProvenVault};
use ringside_core::command::{PauseWithdrawals, pause};
use ringside_core::ids::{self, padded};
use ringside_core::money::Amount;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use std::sync::Arc;

const HASH: Shape = Shape::Pattern("^[0-9a-f]{64}$");
const SEQUENCE: Field =
    Field::new("sequence", Shape::Integer, "The command after which everything is as shown");
const BLOCK: Field =
    Field::new("block", Shape::Nullable(&Shape::Integer), "The final block; null where there is no vault");
const ROOT: Field = Field::new(
    "root",
    HASH,
    "SHA-256 of 02, sequence, block (8 bytes each), state hash, and of each token its name (10 bytes), accounts (16), root, owed, \
     unbacked and held (16 each, with a sign, -1 for null)",
);
const VAULT: Shape = Shape::Object(&[
    Field::new("vault_address", ADDRESS, ""),
    Field::new("block", Shape::Integer, "The final block as of which it was asked what it holds"),
    Field::new("block_hash", Shape::Text, ""),
]);
const PROVEN: Shape = Shape::Object(&[
    Field::new("token", TOKEN, ""),
    Field::new(
        "owed",
        SIGNED,
        "What all ledgers owe: accounts, negative_equity, funds, fees and held_deposits",
    ),
    Field::new("accounts", Shape::Decimal, "The sum of all leaves: spot, perpetual and in_flight"),
    Field::new("spot", Shape::Decimal, "Spot balances, open orders included"),
    Field::new("perpetual", Shape::Decimal, "Margin equity at the marks, of accounts that have any"),
    Field::new("in_flight", Shape::Decimal, "In withdrawals that were neither paid nor given back"),
    Field::new("negative_equity", SIGNED, "Margin equity of accounts below zero, in no leaf"),
    Field::new("funds", SIGNED, "The insurance fund"),
    Field::new("fees", Shape::Decimal, "Fees of both ledgers, and what affiliates are to be paid"),
    Field::new("held_deposits", Shape::Decimal, "Deposits that wait for their credit"),
    Field::new("held", DECIMAL_OR_NULL, "What the vaults hold; null where there is no vault"),
    Field::new("unbacked", SIGNED, "Credited out of nothing, as test deployments may"),
    Field::new("missing", Shape::Decimal, "owed less unbacked less held, where that is above 0"),
    Field::new("root", HASH, "Of the token's tree; 64 zeros where it has no leaf"),
]);
/// A proof as everybody sees it.
pub const PROOF: &[Field] = &[
    SEQUENCE,
    Field::new("time", Shape::Integer, "Of that command, UNIX milliseconds"),
    Field::new("state_hash", Shape::Text, "Of the whole state; the journal leads to it again"),
    BLOCK,
    Field::new("vaults", Shape::List(&VAULT), "The one in use first; none: nothing is held that is known"),
    ROOT,
    Field::new("tokens", Shape::List(&PROVEN), ""),
];
const STEP: Shape = Shape::Object(&[
    Field::new("side", Shape::OneOf(&["left", "right"]), "Which of the two the neighbour is"),
    Field::new("hash", HASH, ""),
    Field::new("sum", Shape::Decimal, ""),
]);
const LEAF: Shape = Shape::Object(&[
    Field::new("token", TOKEN, ""),
    Field::new("account", ADDRESS, ""),
    Field::new("amount", Shape::Decimal, "What the account is owed of it, on both ledgers"),
    Field::new("salt", HASH, "The account's alone, another one in every proof"),
    Field::new(
        "leaf",
        HASH,
        "SHA-256 of 00, salt, account (20 bytes), token (10, padded with zeros) and amount (16, steps of 10^-18)",
    ),
    Field::new(
        "path",
        Shape::List(&STEP),
        "Up to the token's root; a node is SHA-256 of 01 and of hash and sum (16 bytes) of its left and of its right",
    ),
    Field::new("root", HASH, "Of the token's tree"),
    Field::new("sum", Shape::Decimal, "Of all its leaves"),
]);

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[OF_VIEWS],
        ..get(
            "/api/v1/proof",
            Auth::None,
            "Proof of reserves: what all ledgers owe beside what the vault holds, as of one final block",
            &[],
            Shape::Object(PROOF),
            Handler::Now(show),
        )
    },
    Route {
        named_refusals: &[OF_VIEWS],
        ..get(
            "/api/v1/proof/me",
            Auth::Account(Permission::Read),
            "The account's own leaves in the newest proof of reserves, and the way from each to the root",
            &[],
            Shape::Object(&[
                SEQUENCE,
                BLOCK,
                ROOT,
                Field::new(
                    "leaves",
                    Shape::List(&LEAF),
                    "One for each token of which the account is owed anything",
                ),
            ]),
            Handler::Now(show_own),
        )
    },
    Route {
        dialect: Dialect::Account,
        auth: Auth::Admin,
        tag: "admin",
        summary: "Accept that so much of a token is missing until nothing is: withdrawals go on. Two operators decide; a restart forgets \
                  it",
        body: Shape::Object(&[
            Field::new("token", TOKEN, ""),
            Field::new(
                "amount",
                Shape::DecimalInput,
                "At least what is missing now; more than that pauses again",
            ),
            REASON_NEEDED,
        ]),
        response: Shape::Object(&[
            Field::new("ok", Shape::Boolean, "true"),
            Field::new("token", TOKEN, ""),
            Field::new("amount", Shape::Decimal, ""),
        ]),
        is_for_two: true,
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::NOT_FOUND, refusal::FORBIDDEN], OF_ENGINE],
        ..Route::new(Method::Post, "/admin/proof/accept", Handler::Later(|call| Box::pin(accept(call))))
    },
];

/// The newest proof.
fn newest(call: &Call) -> Result<Arc<Proof>, Error> {
    let newest = call.worker.shared.proofs.newest();
    newest.ok_or_else(|| refusal::UNAVAILABLE.saying("no proof of reserves was made since the start").into())
}

fn show(call: &Call) -> Answer {
    Ok(Response::of(&shown(&*newest(call)?)))
}

/// As everybody sees it.
pub fn shown(proof: &Proof) -> Value {
    let vaults: Vec<Value> = proof.vaults.iter().map(vault).collect();
    let tokens: Vec<Value> = proof.tokens.iter().map(token).collect();
    json!({
        "sequence": proof.sequence,
        "time": proof.time_ns.div_euclid(1_000_000),
        "state_hash": const_hex::encode(proof.state_hash),
        "block": block(proof),
        "vaults": vaults,
        "root": const_hex::encode(proof.root),
        "tokens": tokens,
    })
}

fn block(proof: &Proof) -> Option<u64> {
    proof.vaults.first().map(|vault| vault.block)
}

fn vault(vault: &ProvenVault) -> Value {
    json!({
        "vault_address": address_text(&vault.address),
        "block": vault.block,
        "block_hash": const_hex::encode_prefixed(vault.hash),
    })
}

fn token(token: &ProvenToken) -> Value {
    let root = token.root();
    json!({
        "token": ids::text(&token.name),
        "owed": text::amount(token.owed()),
        "accounts": sum(root.sum),
        "spot": text::amount(token.spot),
        "perpetual": text::amount(token.perpetual),
        "in_flight": text::amount(token.in_flight),
        "negative_equity": text::amount(token.negative_equity),
        "funds": text::amount(token.funds),
        "fees": text::amount(token.fees),
        "held_deposits": text::amount(token.held_deposits),
        "held": token.held.map(text::amount),
        "unbacked": text::amount(token.unbacked),
        "missing": text::amount(token.missing()),
        "root": const_hex::encode(root.hash),
    })
}

/// Sums of leaves are sums of amounts, which were added up in their range.
fn sum(sum: u128) -> String {
    text::amount(Amount::try_from(sum).unwrap_or(Amount::MAX))
}

fn show_own(call: &Call) -> Answer {
    let address = views(call)?.accounts().address(call.account()).copied().ok_or(refusal::UNAVAILABLE)?;
    let proof = newest(call)?;
    let leaves: Vec<Value> = proof.own(call.account(), address).iter().map(leaf).collect();
    Ok(Response::of(&json!({
        "sequence": proof.sequence,
        "block": block(&proof),
        "root": const_hex::encode(proof.root),
        "leaves": leaves,
    })))
}

fn leaf(own: &Own<'_>) -> Value {
    let Own { token, leaf, path } = own;
    let step = |step: &Step| {
        json!({
            "side": if step.is_left { "left" } else { "right" },
            "hash": const_hex::encode(step.node.hash),
            "sum": sum(step.node.sum),
        })
    };
    json!({
        "token": ids::text(&leaf.token),
        "account": address_text(&leaf.account),
        "amount": sum(leaf.amount),
        "salt": const_hex::encode(leaf.salt),
        "leaf": const_hex::encode(leaf.node().hash),
        "path": path.iter().map(step).collect::<Vec<_>>(),
        "root": const_hex::encode(token.root().hash),
        "sum": sum(token.root().sum),
    })
}

#[derive(serde::Deserialize)]
struct AcceptBody<'a> {
    #[serde(borrow)]
    token: Option<&'a RawValue>,
    #[serde(borrow)]
    amount: Option<&'a RawValue>,
    #[serde(borrow)]
    reason: Option<&'a RawValue>,
}

async fn accept(call: Call) -> Answer {
    own(&call)?;
    let body: AcceptBody<'_> = call.json()?;
    let token: String = typed("token", body.token)?.ok_or_else(|| invalid("token"))?;
    let name = padded(&token).filter(|_| !token.is_empty()).ok_or_else(|| invalid("token"))?;
    let amount = member(body.amount).and_then(number).map(|amount| amount.0).filter(|amount| *amount > 0);
    let amount = amount.ok_or_else(|| invalid("amount"))?;
    let reason = needed_reason(body.reason)?;
    let missing = {
        let proof = newest(&call)?;
        let of_token = proof.tokens.iter().find(|known| known.name == name).map(ProvenToken::missing);
        of_token.filter(|missing| *missing > 0)
    };
    let missing =
        missing.ok_or_else(|| refusal::NOT_FOUND.saying(format!("nothing is missing of {token}")))?;
    if amount < missing {
        let text = format!("amount: {} {token} are missing", text::amount(missing));
        return Err(refusal::INVALID_PARAMETER.saying(text).into());
    }
    let amount_text = text::amount(amount);
    let detail = format!("{amount_text} {token} may be missing");
    let action = Action { subject: Subject::Venue, detail, reason: &reason };
    if let Some(waiting) = for_two(&call, &action)? {
        return Ok(waiting);
    }
    // What else is missing pauses again at once.
    let told = PauseWithdrawals { mask: pause::RESERVES, paused: 0, reason: [0; 64] };
    operate(&call, action, told).await.map_err(unavailable)?;
    call.worker.shared.proofs.accept(name, amount);
    Ok(Response::of(&json!({ "ok": true, "token": token, "amount": amount_text })))
}
