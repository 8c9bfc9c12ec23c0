//! The members of the cluster that this host is one of: who they are and how far each is, and that an operator has them changed.

use super::{OF_ENGINE, admin, reason, unavailable};
use crate::api::docs::{Field, Shape};
use crate::api::operate::{Action, BY, REASON, Subject, note};
use crate::api::{Answers, Call, Error, Method, Route, later, now};
use ringside_config::is_host_and_port;
use ringside_core::engine::ENGINE_VERSION;
use ringside_dialect::account::params::typed;
use ringside_dialect::account::refusal::{self, invalid};
use ringside_dialect::body;
use ringside_edge::worker::cluster::{Change, Control, Seen, Sight};
use ringside_mirror::keys::Fingerprint;
use ringside_mirror::members::Member;
use ringside_wire::account::operator::{Cluster, ClusterMember};
use std::sync::Arc;

const WHICH: Field = Field::new("member", Shape::Integer, "Its number");
const OF_CHANGE: &[refusal::Refusal] =
    &[refusal::INVALID_PARAMETER, refusal::NOT_FOUND, refusal::CLUSTER_UNCHANGED];

/// Rows of the routing table that this file answers.
pub static ROUTES: &[Route] = &[
    Route {
        named_refusals: &[&[refusal::NOT_FOUND]],
        ..admin(
            Method::Get,
            "/admin/cluster",
            "The members of the cluster, as this one sees them; what each has the leader knows",
            now!(show),
        )
    },
    Route {
        params: &[BY],
        body: Shape::Object(&[
            Field::new("member", Shape::Integer, "A number that was never a member's, above all others"),
            Field::new("address", Shape::Text, "Host and port at which it listens for the others"),
            Field::new("key", Shape::Text, "What `ringside mirror-key` shows there"),
            REASON,
        ]),
        named_refusals: &[OF_CHANGE, OF_ENGINE],
        ..admin(
            Method::Post,
            "/admin/cluster/add",
            "Take one more member in; it votes once it is less than a second behind",
            later!(add),
        )
    },
    of_member(
        "/admin/cluster/remove",
        "Have a member be none any more; its number is not given again",
        later!(remove),
    ),
    of_member(
        "/admin/cluster/transfer",
        "Have another member lead, once what is under way is answered",
        later!(transfer),
    ),
];

/// What an operator does with a member that there is.
const fn of_member(path: &'static str, summary: &'static str, answers: Answers) -> Route {
    Route {
        params: &[BY],
        body: Shape::Object(&[WHICH, REASON]),
        named_refusals: &[OF_CHANGE, OF_ENGINE],
        ..admin(Method::Post, path, summary, answers)
    }
}

fn sight(call: &Call) -> Result<(Arc<Control>, Sight), Error> {
    let control = call.worker.shared.cluster.get().cloned();
    let found = control.and_then(|control| control.sight().map(|sight| (control, sight)));
    found.ok_or_else(|| refusal::NOT_FOUND.saying("this host is of no cluster").into())
}

fn show(call: &Call) -> Result<Cluster, Error> {
    let (_, sight) = sight(call)?;
    Ok(shown(&sight))
}

fn shown(sight: &Sight) -> Cluster {
    let member = |seen: &Seen| ClusterMember {
        member: seen.member.id,
        address: seen.member.address.clone(),
        key: seen.member.key.to_string(),
        votes: seen.is_voter,
        leads: Some(seen.member.id) == sight.leader,
        connected: seen.is_connected,
        answers: seen.standing.map(|(_, is_heard, _)| is_heard),
        batch: seen.standing.map(|(has, ..)| has),
        behind: seen.standing.map(|(has, ..)| sight.batches.1.saturating_sub(has)),
        fetches: seen.standing.map(|(.., is_fetching)| is_fetching),
    };
    Cluster {
        member: sight.me,
        term: sight.term,
        leader: sight.leader,
        batch: sight.batches.0,
        agreed: sight.batches.1,
        engine_version: ENGINE_VERSION,
        members: sight.members.iter().map(member).collect(),
    }
}

body! {
    AddBody { member, address, key, reason }
}

body! {
    MemberBody { member, reason }
}

async fn add(call: Call) -> Result<Cluster, Error> {
    let body: AddBody<'_> = call.json()?;
    let text = |name: &str, raw| -> Result<String, Error> {
        Ok(typed::<String>(name, raw)?.filter(|text| !text.is_empty()).ok_or_else(|| invalid(name))?)
    };
    let id: u64 = typed("member", body.member)?.ok_or_else(|| invalid("member"))?;
    let address = text("address", body.address)?;
    let key: Fingerprint = text("key", body.key)?.parse().map_err(|_| invalid("key"))?;
    if !is_host_and_port(&address) {
        return Err(invalid("address").into());
    }
    let detail = format!("add {id}@{address}");
    change(&call, Change::Add(Member { id, address, key }), detail, &reason(body.reason)?).await
}

async fn remove(call: Call) -> Result<Cluster, Error> {
    let body: MemberBody<'_> = call.json()?;
    let id: u64 = typed("member", body.member)?.ok_or_else(|| invalid("member"))?;
    change(&call, Change::Remove(id), format!("remove {id}"), &reason(body.reason)?).await
}

async fn transfer(call: Call) -> Result<Cluster, Error> {
    let body: MemberBody<'_> = call.json()?;
    let id: u64 = typed("member", body.member)?.ok_or_else(|| invalid("member"))?;
    change(&call, Change::Transfer(id), format!("transfer {id}"), &reason(body.reason)?).await
}

/// Notes a change, and has it made.
async fn change(call: &Call, change: Change, detail: String, reason: &str) -> Result<Cluster, Error> {
    let (control, _) = sight(call)?;
    let detail = format!("cluster {detail}");
    note(call, Action { subject: Subject::Venue, detail, reason }).await.map_err(unavailable)?;
    let gone = || Error::from(refusal::UNKNOWN).with_unknown_outcome();
    let answered = control.ask(change).ok_or(refusal::UNAVAILABLE)?;
    match answered.await.map_err(|_| gone())? {
        Ok(()) => sight(call).map(|(_, sight)| shown(&sight)),
        Err(reason) => Err(refusal::CLUSTER_UNCHANGED.saying(reason).into()),
    }
}
