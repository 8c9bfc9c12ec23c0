//! A signer that is a process of its own, asked over its socket.

use super::shape::{Asked, Question, ReleaseText, Reply};
use crate::{Consent, Issued, Lead, Release, ReleaseKey, SignedRelease, Signer, SignerFault};
use ringside_core::ids::Address;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;
use zeroize::Zeroizing;

/// Longest answer, in bytes: a thousand entries of the log.
const REPLY_LEN_MAX: u64 = 4 << 20;

/// The venue's end.
#[derive(Debug)]
pub struct RemoteSigner {
    path: PathBuf,
    address: Address,
    patience: Duration,
    /// Kept while it works; whose signatures it gives was asked when it was made.
    connection: Option<BufReader<UnixStream>>,
    /// What is said first on each.
    lead: Option<Lead>,
}

impl RemoteSigner {
    /// A signer at a socket, which must sign for `address`. It need not be there yet.
    pub fn new(path: &Path, address: Address, patience: Duration) -> RemoteSigner {
        RemoteSigner { path: path.to_owned(), address, patience, connection: None, lead: None }
    }

    /// The same, asked by whoever leads so.
    pub fn asked_by(self, lead: Option<Lead>) -> RemoteSigner {
        RemoteSigner { lead, ..self }
    }

    fn ask(&mut self, question: &Question) -> Result<Reply, SignerFault> {
        let mut connection = match self.connection.take() {
            Some(connection) if is_open(&connection) => connection,
            _ => self.connect()?,
        };
        // From here on the question may have arrived.
        let reply =
            exchange(&mut connection, question).map_err(|error| SignerFault::Unknown(error.to_string()))?;
        self.connection = Some(connection);
        Ok(reply)
    }

    fn connect(&self) -> Result<BufReader<UnixStream>, SignerFault> {
        let mut connection = connect(&self.path, self.patience).map_err(unreachable)?;
        if let Some(lead) = self.lead {
            match exchange(&mut connection, &Question::Lead(lead)).map_err(unreachable)? {
                Reply::Heard => {}
                reply => return Err(unexpected(reply)),
            }
        }
        match exchange(&mut connection, &Question::Address).map_err(unreachable)? {
            Reply::Address(address) if address == self.address => Ok(connection),
            Reply::Address(address) => Err(SignerFault::Unreachable(format!(
                "it signs for {}, not for {}",
                const_hex::encode_prefixed(address),
                const_hex::encode_prefixed(self.address)
            ))),
            reply => Err(unexpected(reply)),
        }
    }

    fn entries(&mut self, question: &Question) -> Result<Vec<Issued>, SignerFault> {
        match self.ask(question)? {
            Reply::Issued(entries) => Ok(entries.into_iter().map(Into::into).collect()),
            reply => Err(unexpected(reply)),
        }
    }
}

impl Signer for RemoteSigner {
    fn sign_release(
        &mut self,
        release: &Release,
        consent: Option<&Consent>,
    ) -> Result<SignedRelease, SignerFault> {
        let asked = Asked { release: ReleaseText(release.clone()), token: consent.cloned() };
        match self.ask(&Question::Sign(asked))? {
            Reply::Signed(signed) => {
                let signed = SignedRelease::from(signed);
                // What another key signed would be refused by the vault; better to know it now.
                if signed.is_of(release, &self.address) {
                    Ok(signed)
                } else {
                    Err(SignerFault::Unknown("its signature is not of what was asked".to_owned()))
                }
            }
            reply => Err(unexpected(reply)),
        }
    }

    fn find(&mut self, key: &ReleaseKey) -> Result<Option<Issued>, SignerFault> {
        Ok(self.entries(&Question::Find((*key).into()))?.pop())
    }

    fn issued(&mut self, from: u64) -> Result<Vec<Issued>, SignerFault> {
        self.entries(&Question::Issued(from))
    }

    fn address(&self) -> Address {
        self.address
    }
}

fn unreachable(error: io::Error) -> SignerFault {
    SignerFault::Unreachable(error.to_string())
}

fn unexpected(reply: Reply) -> SignerFault {
    match reply {
        Reply::Refused(reason) => SignerFault::Refused(reason),
        Reply::Unauthorized(reason) => SignerFault::Unauthorized(reason),
        Reply::Unknown(reason) => SignerFault::Unknown(reason),
        _ => SignerFault::Unknown("it answered something else".to_owned()),
    }
}

fn connect(path: &Path, patience: Duration) -> io::Result<BufReader<UnixStream>> {
    let stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(patience))?;
    stream.set_write_timeout(Some(patience))?;
    Ok(BufReader::new(stream))
}

/// Whether nothing but silence waits at the other end. A signer that was started anew is met on a connection of its own, so
/// that what was never sent to it counts as not sent.
fn is_open(connection: &BufReader<UnixStream>) -> bool {
    let stream = connection.get_ref();
    if stream.set_nonblocking(true).is_err() {
        return false;
    }
    let is_silent =
        matches!((&mut &*stream).read(&mut [0]), Err(error) if error.kind() == io::ErrorKind::WouldBlock);
    stream.set_nonblocking(false).is_ok() && is_silent
}

fn exchange(connection: &mut BufReader<UnixStream>, question: &Question) -> io::Result<Reply> {
    let mut line = Zeroizing::new(serde_json::to_vec(question).map_err(io::Error::other)?);
    line.push(b'\n');
    connection.get_mut().write_all(&line)?;
    let mut reply = Vec::new();
    connection.by_ref().take(REPLY_LEN_MAX).read_until(b'\n', &mut reply)?;
    if reply.last() != Some(&b'\n') {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "its answer was cut"));
    }
    serde_json::from_slice(&reply).map_err(io::Error::other)
}
