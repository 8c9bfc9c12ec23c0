//! A signer as a process of its own: questions come over a Unix socket, one line of JSON each.
//!
//! Connections take turns: one is served to its end, and the next one only then. What a client sent before it went away is answered, or
//! rather done, before its successor is heard. So a `find` that knows nothing is a promise that nothing is on its way. A leader does not
//! wait for those that led before it, which may have stopped with a connection open: it ends theirs, and what they have sent and was
//! not heard yet is not done. The socket is its owner's alone; whoever may open it may ask for signatures, and gets new ones for accounts
//! whose login tokens it has, within the signer's own caps. Lines that were read hold tokens: they are wiped.

use super::LocalSigner;
use super::shape::{Question, Reply};
use crate::{Lead, Signer, SignerFault};
use parking_lot::{Condvar, Mutex};
use ringside_core::agent::abort_on_panic;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fs::Permissions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Longest question, in bytes.
const QUESTION_LEN_MAX: u64 = 16 << 10;
/// Connections at a time; further ones are closed.
pub const CONNECTIONS_MAX: usize = 64;

/// Binds the socket, which must not be another live signer's. A file left by one that was killed is replaced.
pub fn bind(path: &Path) -> io::Result<UnixListener> {
    if path.exists() {
        if UnixStream::connect(path).is_ok() {
            return Err(io::Error::new(io::ErrorKind::AddrInUse, "another signer listens there"));
        }
        std::fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    std::fs::set_permissions(path, Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Serves for ever.
pub fn serve(listener: &UnixListener, signer: LocalSigner) -> io::Result<Infallible> {
    let waiting = Waiting { signer, line: VecDeque::new() };
    let turns = Arc::new(Turns { waiting: Mutex::new(waiting), turned: Condvar::new() });
    let mut number = 0;
    loop {
        let (stream, _) = listener.accept()?;
        let line = &mut turns.waiting.lock().line;
        if line.len() >= CONNECTIONS_MAX {
            tracing::warn!(CONNECTIONS_MAX, "a connection of the signer is one too many");
            continue;
        }
        line.push_back(Client { number, lead: None, stream: stream.try_clone()? });
        let turns = turns.clone();
        std::thread::Builder::new().name("client".to_owned()).spawn(move || {
            // What is in memory may no longer be what is in the log.
            abort_on_panic("client");
            if let Err(error) = turns.converse(number, stream) {
                tracing::warn!(%error, "a connection of the signer ended");
            }
            turns.leave(number);
        })?;
        number += 1;
    }
}

struct Turns {
    waiting: Mutex<Waiting>,
    turned: Condvar,
}

struct Waiting {
    signer: LocalSigner,
    /// In the order in which they came; the first is served.
    line: VecDeque<Client>,
}

struct Client {
    number: u64,
    /// Who it said it is.
    lead: Option<Lead>,
    stream: UnixStream,
}

impl Turns {
    /// Answers one client until it goes.
    fn converse(&self, number: u64, stream: UnixStream) -> io::Result<()> {
        let mut out = stream.try_clone()?;
        let mut lines = BufReader::new(stream);
        loop {
            // At its full size from the start: one that grew would leave pieces behind.
            let mut line = Zeroizing::new(Vec::with_capacity(QUESTION_LEN_MAX as usize));
            let len = lines.by_ref().take(QUESTION_LEN_MAX).read_until(b'\n', &mut line)?;
            if len == 0 {
                return Ok(());
            }
            if line.last() != Some(&b'\n') {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a question was cut or is too long"));
            }
            let question = serde_json::from_slice(&line).map_err(io::Error::other)?;
            let mut reply = serde_json::to_vec(&self.reply(number, question)?).map_err(io::Error::other)?;
            reply.push(b'\n');
            // A client that is gone has not heard the answer; what it asked for is done all the same.
            out.write_all(&reply)?;
        }
    }

    fn reply(&self, number: u64, question: Question) -> io::Result<Reply> {
        let mut waiting = self.waiting.lock();
        if let Question::Lead(lead) = question {
            if let Err(fault) = waiting.signer.hear(lead) {
                // Nothing that it asks is heard.
                waiting.remove(number);
                self.turned.notify_all();
                return Ok(refusal(fault));
            }
            waiting.end_former(number, lead);
            self.turned.notify_all();
        }
        loop {
            match waiting.line.iter().position(|client| client.number == number) {
                Some(0) => return Ok(answer(question, &mut waiting.signer)),
                Some(_) => self.turned.wait(&mut waiting),
                None => return Err(io::Error::other("a later leader asks instead")),
            }
        }
    }

    fn leave(&self, number: u64) {
        self.waiting.lock().remove(number);
        self.turned.notify_all();
    }
}

impl Waiting {
    fn remove(&mut self, number: u64) {
        self.line.retain(|client| client.number != number);
    }

    /// Ends the connections of those that led before `lead`, which asks by `number`.
    fn end_former(&mut self, number: u64, lead: Lead) {
        self.line.retain_mut(|client| {
            if client.number == number {
                client.lead = Some(lead);
            }
            let is_over = client.lead.is_some_and(|other| other.is_before(&lead));
            if is_over {
                // It may be closed already.
                let _ = client.stream.shutdown(Shutdown::Both);
            }
            !is_over
        });
    }
}

fn answer(question: Question, signer: &mut LocalSigner) -> Reply {
    let answer = match question {
        Question::Sign(asked) => {
            let signed = signer.sign_release(&asked.release.0, asked.token.as_ref());
            signed.map(|signed| Reply::Signed(signed.into()))
        }
        Question::Find(key) => {
            signer.find(&key.into()).map(|found| Reply::Issued(found.into_iter().map(Into::into).collect()))
        }
        Question::Issued(from) => {
            signer.issued(from).map(|found| Reply::Issued(found.into_iter().map(Into::into).collect()))
        }
        Question::Address => Ok(Reply::Address(signer.address())),
        Question::Lead(_) => Ok(Reply::Heard),
    };
    answer.unwrap_or_else(refusal)
}

fn refusal(fault: SignerFault) -> Reply {
    match fault {
        SignerFault::Refused(reason) => Reply::Refused(reason),
        SignerFault::Unauthorized(reason) => Reply::Unauthorized(reason),
        SignerFault::Unreachable(reason) | SignerFault::Unknown(reason) => Reply::Unknown(reason),
    }
}
