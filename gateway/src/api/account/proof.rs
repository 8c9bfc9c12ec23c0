//! Proof of reserves (`spot.md` 10.1): the newest for everybody, an account's own leaves, and what two operators accept to be missing.
//! How a leaf is checked: `scripts/proof.py`.

use super::{OF_ENGINE, OF_VIEWS, admin, get, needed_reason, unavailable, views};
use crate::api::docs::{Field, Shape, TOKEN};
use crate::api::operate::{Action, ForTwo, REASON_NEEDED, Subject, for_two, operate, own};
use crate::api::{Call, Error, Method, Route, later, now};
use ringside_auth::access::{Auth, Permission};
use ringside_chain::proof::tree::Step;
use ringside_chain::proof::{Own, Proof, ProvenToken, ProvenVault};
use ringside_core::command::{PauseWithdrawals, pause};
use ringside_core::ids::padded;
use ringside_dialect::account::params::{member, number, typed};
use ringside_dialect::account::refusal::{self, invalid};
use ringside_dialect::body;
use ringside_wire::account::proof::{
    Leaf, MissingAccepted, OwnLeaves, ProofSide, ProofStep, Reserves, ReservesOfToken, ReservesVault,
};
use ringside_wire::name::{Address, Hash, Token};
use ringside_wire::number::{Amount, SignedAmount};
use std::sync::Arc;

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[OF_VIEWS],
        ..get(
            "/api/v1/proof",
            Auth::None,
            "Proof of reserves: what all ledgers owe beside what the vault holds, as of one final block",
            &[],
            now!(show),
        )
    },
    Route {
        named_refusals: &[OF_VIEWS],
        ..get(
            "/api/v1/proof/me",
            Auth::Account(Permission::Read),
            "The account's own leaves in the newest proof of reserves, and the way from each to the root",
            &[],
            now!(show_own),
        )
    },
    Route {
        body: Shape::Object(&[
            Field::new("token", TOKEN, ""),
            Field::new(
                "amount",
                Shape::DecimalInput,
                "At least what is missing now; more than that pauses again",
            ),
            REASON_NEEDED,
        ]),
        is_for_two: true,
        named_refusals: &[&[refusal::INVALID_PARAMETER, refusal::NOT_FOUND, refusal::FORBIDDEN], OF_ENGINE],
        ..admin(
            Method::Post,
            "/admin/proof/accept",
            "Accept that so much of a token is missing until nothing is: withdrawals go on. Two operators decide; a restart forgets \
                  it",
            later!(accept),
        )
    },
];

/// The newest proof.
fn newest(call: &Call) -> Result<Arc<Proof>, Error> {
    let newest = call.worker.shared.proofs.newest();
    newest.ok_or_else(|| refusal::UNAVAILABLE.saying("no proof of reserves was made since the start").into())
}

fn show(call: &Call) -> Result<Reserves, Error> {
    Ok(shown(&*newest(call)?))
}

/// As everybody sees it.
pub fn shown(proof: &Proof) -> Reserves {
    Reserves {
        sequence: proof.sequence,
        time: proof.time_ns.div_euclid(1_000_000),
        state_hash: const_hex::encode(proof.state_hash),
        block: block(proof),
        vaults: proof.vaults.iter().map(vault).collect(),
        root: Hash(proof.root),
        tokens: proof.tokens.iter().map(token).collect(),
    }
}

fn block(proof: &Proof) -> Option<u64> {
    proof.vaults.first().map(|vault| vault.block)
}

fn vault(vault: &ProvenVault) -> ReservesVault {
    ReservesVault {
        vault_address: Address(vault.address),
        block: vault.block,
        block_hash: const_hex::encode_prefixed(vault.hash),
    }
}

fn token(token: &ProvenToken) -> ReservesOfToken {
    let root = token.root();
    ReservesOfToken {
        token: Token(token.name),
        owed: SignedAmount(token.owed()),
        accounts: sum(root.sum),
        spot: Amount(token.spot),
        perpetual: Amount(token.perpetual),
        in_flight: Amount(token.in_flight),
        negative_equity: SignedAmount(token.negative_equity),
        funds: SignedAmount(token.funds),
        fees: Amount(token.fees),
        held_deposits: Amount(token.held_deposits),
        held: token.held.map(Amount),
        unbacked: SignedAmount(token.unbacked),
        missing: Amount(token.missing()),
        root: Hash(root.hash),
    }
}

/// Sums of leaves are sums of amounts, which were added up in their range.
fn sum(sum: u128) -> Amount {
    Amount(i128::try_from(sum).unwrap_or(i128::MAX))
}

fn show_own(call: &Call) -> Result<OwnLeaves, Error> {
    let address = views(call)?.accounts().address(call.account()).copied().ok_or(refusal::UNAVAILABLE)?;
    let proof = newest(call)?;
    Ok(OwnLeaves {
        sequence: proof.sequence,
        block: block(&proof),
        root: Hash(proof.root),
        leaves: proof.own(call.account(), address).iter().map(leaf).collect(),
    })
}

fn leaf(own: &Own<'_>) -> Leaf {
    let Own { token, leaf, path } = own;
    let step = |step: &Step| ProofStep {
        side: if step.is_left { ProofSide::Left } else { ProofSide::Right },
        hash: Hash(step.node.hash),
        sum: sum(step.node.sum),
    };
    Leaf {
        token: Token(leaf.token),
        account: Address(leaf.account),
        amount: sum(leaf.amount),
        salt: Hash(leaf.salt),
        leaf: Hash(leaf.node().hash),
        path: path.iter().map(step).collect(),
        root: Hash(token.root().hash),
        sum: sum(token.root().sum),
    }
}

body! {
    AcceptBody { token, amount, reason }
}

async fn accept(call: Call) -> Result<ForTwo<MissingAccepted>, Error> {
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
        let text = format!("amount: {} {token} are missing", Amount(missing));
        return Err(refusal::INVALID_PARAMETER.saying(text).into());
    }
    let detail = format!("{} {token} may be missing", Amount(amount));
    let action = Action { subject: Subject::Venue, detail, reason: &reason };
    if let Some(waiting) = for_two(&call, &action)? {
        return Ok(ForTwo::Waits(waiting));
    }
    // What else is missing pauses again at once.
    let told = PauseWithdrawals { mask: pause::RESERVES, paused: 0, reason: [0; 64] };
    operate(&call, action, told).await.map_err(unavailable)?;
    call.worker.shared.proofs.accept(name, amount);
    Ok(ForTwo::Done(MissingAccepted { ok: true, token: Token(name), amount: Amount(amount) }))
}
