//! How an operator's request becomes commands: notes of who, from where and why, and behind them what is asked for. All are handed
//! over together or not at all, so that nothing is done that is not in the audit log, and all are in the journal.

use super::Call;
use crate::dialect::account::audit::PARTS_MAX;
use crate::ingress::{Priority, Reply, Unavailable};
use ringside_core::command::{Body, Command, OperatorNote};
use ringside_core::ids::{Address, Symbol};
use std::net::IpAddr;

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
    let own = own_name(call);
    let ip = match call.ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let note = OperatorNote {
        operator: cut(name(call).unwrap_or(NAMELESS)),
        ip: ip.octets(),
        subject: match action.subject {
            Subject::Account(address) => address,
            Subject::Market(symbol) => symbol,
            Subject::Venue => [0; 20],
        },
        action: B::KIND as u16,
        part: 0,
        proven: own.is_some().into(),
        reason: [0; REASON_LEN],
        detail: [0; DETAIL_LEN],
    };
    let notes = parts(note, action.reason, &action.detail);
    call.worker.ingress.submit_after(&notes, Command::new(body), Priority::Internal).await
}

/// Who acts: whose own key it is, else what the header says.
pub fn name(call: &Call) -> Option<&str> {
    own_name(call).or_else(|| call.header(OPERATOR).map(str::trim).filter(|name| !name.is_empty()))
}

fn own_name(call: &Call) -> Option<&str> {
    call.worker.shared.edge.auth.operator(&call.head.headers)
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
    use ringside_core::ids::text;
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
