//! How an operator's request becomes commands: notes of who, from where and why, and behind them what is asked for. All are handed
//! over together or not at all, so that nothing is done that is not in the audit log, and all are in the journal.
//!
//! What two operators must want waits for the second one ([`for_two`]), and is then carried out as any other request.

use super::docs::{Field, Param, Shape};
use super::{Call, Error, Handler, Response, StatusCode, Written};
use hyper::Request;
use ringside_auth::access::{Acting, Operator};
use ringside_commands::ingress::{Priority, Reply, Unavailable};
use ringside_core::command::{Body, Command, Kind, OperatorNote};
use ringside_core::ids::{Address, Symbol, text};
use ringside_core::reject::Reject;
use ringside_dialect::account::audit::PARTS_MAX;
use ringside_dialect::account::refusal;
use ringside_edge::http::response::JSON;
use ringside_edge::worker::approvals::{APPROVALS_MAX, Proposal};
use ringside_wire::address::address_text;
use serde_json::json;
use std::cell::Cell;

/// The header of who acts, for a row.
pub const BY: Param = Param::header(
    "X-Operator",
    Shape::Text,
    "Who acts, where the key is not the operator's own: at most 16 characters",
);
/// Why something is done, for a row.
pub const REASON: Field = Field::optional("reason", Shape::Text, "Why, for the audit log: at most 256 bytes");
/// The same where nothing is done without it.
pub const REASON_NEEDED: Field = Field::new("reason", Shape::Text, "Why, for the audit log: 1 to 256 bytes");
/// Who acts, where the key is not the operator's own: up to 16 visible characters.
const OPERATOR: &str = "x-operator";
/// Who it is without that header.
const NAMELESS: &str = "admin";
/// Longest reason that an action may have.
pub const REASON_LEN_MAX: usize = 256;
/// Room for the reason in one note, and for the detail.
const REASON_LEN: usize = 64;
const DETAIL_LEN: usize = 32;

const _: () =
    assert!(REASON_LEN_MAX < REASON_LEN * PARTS_MAX, "characters are not torn, so that a part may have gaps");

/// What an action is about.
#[derive(Clone, Copy, Debug)]
pub enum Subject {
    /// A wallet.
    Account(Address),
    /// A market, by its padded name.
    Market(Symbol),
    /// The venue.
    Venue,
}

/// What is noted of an action beside who does it.
pub struct Action<'a> {
    /// On what.
    pub subject: Subject,
    /// What exactly: everything that was asked for.
    pub detail: String,
    /// Why, as sent.
    pub reason: &'a str,
}

/// Notes an action, carries it out, and waits for its reply.
pub async fn operate<B: Body>(call: &Call, action: Action<'_>, body: B) -> Result<Reply, Unavailable> {
    operate_after(call, action, Vec::new(), body).await
}

/// The same where other commands come first, which do nothing that anybody sees; the reply is to the last.
pub async fn operate_after<B: Body>(
    call: &Call,
    action: Action<'_>,
    mut before: Vec<Command>,
    body: B,
) -> Result<Reply, Unavailable> {
    before.extend(notes(call, &action, B::KIND));
    let reply = call.worker.ingress.submit_after(&before, Command::new(body), Priority::Internal).await;
    log(call, &action, B::KIND, &reply);
    reply
}

/// Notes an action that was done and is no command.
pub async fn note(call: &Call, action: Action<'_>) -> Result<Reply, Unavailable> {
    let notes = notes(call, &action, Kind::OperatorNote);
    let end = OperatorNote { part: OperatorNote::END, ..*notes[0].body::<OperatorNote>() };
    let end = OperatorNote { reason: [0; REASON_LEN], detail: [0; DETAIL_LEN], ..end };
    let reply = call.worker.ingress.submit_after(&notes, Command::new(end), Priority::Internal).await;
    log(call, &action, Kind::OperatorNote, &reply);
    reply
}

/// Says an action in the log as well, with what came of it, for whoever reads that and not the audit log.
fn log(call: &Call, action: &Action<'_>, kind: Kind, reply: &Result<Reply, Unavailable>) {
    let (by, is_proven) = who(call);
    let subject = match action.subject {
        Subject::Account(address) => address_text(&address),
        Subject::Market(symbol) => text(&symbol).to_owned(),
        Subject::Venue => String::new(),
    };
    let outcome = match reply {
        Ok(reply) => match Reject::from_code(reply.done.reject) {
            None => "done".to_owned(),
            Some(reject) => format!("{reject:?}"),
        },
        Err(unavailable) => format!("{unavailable:?}"),
    };
    tracing::info!(
        by,
        is_proven,
        ip = %call.noted_ip().to_canonical(),
        kind = ?kind,
        subject,
        detail = %action.detail,
        reason = action.reason,
        outcome,
        "an operator acts"
    );
}

/// Who acts, and whether a key of their own proves it.
pub fn who(call: &Call) -> (&str, bool) {
    let sent = || call.header(OPERATOR).map(str::trim).filter(|name| !name.is_empty());
    match call.acting() {
        Acting::Shared => (sent().unwrap_or(NAMELESS), false),
        Acting::Own(operator) | Acting::Two(operator, _) => (&operator.name, true),
    }
}

fn notes(call: &Call, action: &Action<'_>, kind: Kind) -> Vec<Command> {
    let mut detail = action.detail.clone();
    if let Acting::Two(_, second) = call.acting() {
        detail.push_str(" approved_by=");
        detail.push_str(&second.name);
    }
    let (operator, is_proven) = who(call);
    let note = OperatorNote {
        operator: cut(operator),
        ip: call.noted_ip().octets(),
        subject: match action.subject {
            Subject::Account(address) => address,
            Subject::Market(symbol) => symbol,
            Subject::Venue => [0; 20],
        },
        action: kind as u16,
        part: 0,
        proven: is_proven.into(),
        reason: [0; REASON_LEN],
        detail: [0; DETAIL_LEN],
    };
    parts(note, action.reason, &detail)
}

/// Who asks by a key of their own, where nothing less will do: the key that all share proves nobody.
pub fn own(call: &Call) -> Result<&Operator, Error> {
    match call.acting() {
        Acting::Own(operator) | Acting::Two(operator, _) => Ok(operator),
        Acting::Shared => Err(refusal::FORBIDDEN.into()),
    }
}

/// Has two operators want an action. `None`: both do, so carry it out. Otherwise it is kept for another operator, who has it carried
/// out by POST /admin/approvals/{id}: the row's handler runs again then, with the same body, and comes here again.
pub fn for_two(call: &Call, action: &Action<'_>) -> Result<Option<Response>, Error> {
    if let Acting::Two(..) = call.acting() {
        return Ok(None);
    }
    let operator = own(call)?;
    let (route, path_params, ip, client) =
        (call.route, call.path_params.clone(), call.ip, call.client.clone());
    let (uri, body) = (call.head.uri.clone(), call.body.clone());
    let method = call.head.method.clone();
    let proposal = Proposal {
        method: route.method.name(),
        path: uri.path().to_owned(),
        detail: action.detail.clone(),
        reason: action.reason.to_owned(),
        operator: operator.clone(),
        carry_out: Box::new(move |worker, acting, now_ms| {
            let (mut head, ()) = Request::new(()).into_parts();
            (head.method, head.uri) = (method, uri);
            let acting = Some(Box::new(acting));
            let upgrade = Cell::new(None);
            let (identity, phase) = (None, worker.shared.phase.get());
            let call = Call {
                route,
                worker,
                head,
                body,
                identity,
                acting,
                ip,
                client,
                now_ms,
                phase,
                path_params,
                upgrade,
            };
            match route.handler {
                Handler::Now(answer) => Box::pin(async move { answer(&call) }),
                Handler::Later(answer) => answer(call),
            }
        }),
    };
    let kept = call.worker.shared.edge.approvals.add(proposal, call.now_ms).map_err(|_| refusal::INTERNAL)?;
    let Some(waiting) = kept else {
        let text = format!("{APPROVALS_MAX} requests wait for a second operator already");
        return Err(refusal::BUSY.saying(text).into());
    };
    let (id, by, path) = (&waiting.id, &operator.name, call.head.uri.path());
    tracing::info!(%id, %by, ip = %call.noted_ip().to_canonical(), path, detail = %action.detail, "waits for a second operator");
    let body = json!({ "approval_id": waiting.id, "expires_at": waiting.expires_ms }).to_string();
    Ok(Some(Response::new(StatusCode::ACCEPTED, JSON, body.into())))
}

/// What an action of two operators is answered: what was done, or that it waits ([`for_two`]).
pub enum ForTwo<T> {
    /// Both want it.
    Done(T),
    /// One does.
    Waits(Response),
}

impl<T: Written> Written for ForTwo<T> {
    type Body = T::Body;

    fn response(self) -> Response {
        match self {
            ForTwo::Done(body) => body.response(),
            ForTwo::Waits(response) => response,
        }
    }
}

/// As many notes as the texts need, at least one and at most [`PARTS_MAX`].
fn parts(note: OperatorNote, mut reason: &str, mut detail: &str) -> Vec<Command> {
    let mut notes = Vec::with_capacity(1);
    for part in 0..PARTS_MAX as u8 {
        let note = OperatorNote { part, reason: take(&mut reason), detail: take(&mut detail), ..note };
        notes.push(Command::new(note));
        if reason.is_empty() && detail.is_empty() {
            break;
        }
    }
    notes
}

/// The first `N` bytes of a text at most, whole characters, padded with zeros; the text goes on behind them.
fn take<const N: usize>(text: &mut &str) -> [u8; N] {
    let (first, rest) = text.split_at(text.floor_char_boundary(N));
    *text = rest;
    let mut field = [0; N];
    field[..first.len()].copy_from_slice(first.as_bytes());
    field
}

/// Text padded with zeros; what does not fit goes, whole characters at a time.
pub fn cut<const N: usize>(mut text: &str) -> [u8; N] {
    take(&mut text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zerocopy::FromZeros;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut::<4>("abc"), *b"abc\0");
        assert_eq!(cut::<4>("abcde"), *b"abcd");
        assert_eq!(cut::<4>("ab\u{20ac}"), *b"ab\0\0");
    }

    #[test]
    fn long_texts_take_as_many_notes_as_they_need() {
        let reason = "\u{20ac}".repeat(REASON_LEN_MAX / 3);
        let detail = "0123456789".repeat(7);
        for (reason, detail, count) in
            [("", "", 1), ("short", &detail[..32], 1), ("", &detail, 3), (reason.as_str(), "x", 5)]
        {
            let notes = parts(OperatorNote::new_zeroed(), reason, detail);
            let notes: Vec<&OperatorNote> = notes.iter().map(Command::body).collect();
            assert_eq!(notes.len(), count);
            assert!(notes.iter().enumerate().all(|(at, note)| usize::from(note.part) == at));
            assert_eq!(notes.iter().map(|note| text(&note.reason)).collect::<String>(), reason);
            assert_eq!(notes.iter().map(|note| text(&note.detail)).collect::<String>(), detail);
        }
    }
}
