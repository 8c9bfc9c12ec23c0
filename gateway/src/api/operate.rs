//! How an operator's request becomes commands: a note of who, from where and why, and behind it what is asked for. Both are handed
//! over together or not at all, so that nothing is done that is not in the audit log, and both are in the journal.

use super::Call;
use crate::ingress::{Priority, Reply, Unavailable};
use ringside_core::command::{Body, Command, OperatorNote};
use ringside_core::ids::{Address, Symbol};
use std::net::IpAddr;

/// Who acts, where more than one person has the key: up to 16 visible characters.
pub const OPERATOR: &str = "x-operator";
/// Who it is without that header.
const NAMELESS: &str = "admin";

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
    /// What exactly, in short; what is beyond 32 bytes is cut, the command itself has all of it.
    pub detail: String,
    /// Why, as sent; beyond 64 bytes it is cut.
    pub reason: Option<&'a str>,
}

/// Notes an action, carries it out, and waits for its reply.
pub async fn operate<B: Body>(call: &Call, action: Action<'_>, body: B) -> Result<Reply, Unavailable> {
    let name = call.header(OPERATOR).filter(|name| !name.trim().is_empty()).unwrap_or(NAMELESS);
    let ip = match call.ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped(),
        IpAddr::V6(ip) => ip,
    };
    let note = OperatorNote {
        operator: cut(name),
        ip: ip.octets(),
        subject: match action.subject {
            Subject::Account(address) => address,
            Subject::Market(symbol) => symbol,
            Subject::Venue => [0; 20],
        },
        action: B::KIND as u16,
        reserved: 0,
        reason: cut(action.reason.unwrap_or("")),
        detail: cut(&action.detail),
    };
    call.worker.ingress.submit_both(Command::new(note), Command::new(body), Priority::Internal).await
}

/// Text padded with zeros; what does not fit goes, whole characters at a time.
pub fn cut<const N: usize>(text: &str) -> [u8; N] {
    let mut end = text.len().min(N);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut field = [0; N];
    field[..end].copy_from_slice(&text.as_bytes()[..end]);
    field
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut::<4>("abc"), *b"abc\0");
        assert_eq!(cut::<4>("abcde"), *b"abcd");
        assert_eq!(cut::<4>("ab\u{20ac}"), *b"ab\0\0");
    }
}
