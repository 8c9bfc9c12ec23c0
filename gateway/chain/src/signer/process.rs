//! A signer as a process of its own: questions come over a Unix socket, one line of JSON each.
//!
//! One connection is served at a time, to its end, and the next one only then: what a client sent before it went away is
//! answered, or rather done, before its successor is heard. So a `find` that knows nothing is a promise that nothing is on
//! its way. The socket is its owner's alone; whoever may open it may ask for signatures, and gets new ones for accounts whose login
//! tokens it has, within the signer's own caps. Lines that were read hold tokens: they are wiped.

use super::shape::{Question, Reply};
use crate::{Signer, SignerFault};
use std::fs::Permissions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use zeroize::Zeroizing;

/// Longest question, in bytes.
const QUESTION_LEN_MAX: u64 = 16 << 10;

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
pub fn serve(listener: &UnixListener, signer: &mut dyn Signer) -> io::Result<std::convert::Infallible> {
    loop {
        let (stream, _) = listener.accept()?;
        if let Err(error) = converse(stream, signer) {
            tracing::warn!(%error, "a connection of the signer ended");
        }
    }
}

/// Answers one client until it goes.
fn converse(stream: UnixStream, signer: &mut dyn Signer) -> io::Result<()> {
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
        let mut reply = serde_json::to_vec(&answer(question, signer)).map_err(io::Error::other)?;
        reply.push(b'\n');
        // A client that is gone has not heard the answer; what it asked for is done all the same.
        out.write_all(&reply)?;
    }
}

fn answer(question: Question, signer: &mut dyn Signer) -> Reply {
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
    };
    answer.unwrap_or_else(|fault| match fault {
        SignerFault::Refused(reason) => Reply::Refused(reason),
        SignerFault::Unauthorized(reason) => Reply::Unauthorized(reason),
        SignerFault::Unreachable(reason) | SignerFault::Unknown(reason) => Reply::Unknown(reason),
    })
}
