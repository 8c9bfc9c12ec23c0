//! The files of one member for another, which is too far behind for messages: on a connection of its own, so that no heartbeat waits
//! for it. What is read and written on disks is read and written on threads that may wait.
//!
//! ```text
//!  wants: FETCH ──▶            ──▶ mirror HELLO ──▶
//!  gives:       ◀── BEAT .. HELLO ◀──            ◀── BESIDE .. WELCOME SNAPSHOT BEGIN RECORDS ..
//! ```

use super::line::{Ended, connect, disagreement, read, refused, write};
use super::{Agreement, Member, Own, SETTING};
use crate::keys::Identity;
use crate::stream::{self, BEAT, PAUSES};
use crate::tls;
use ringside_persist::error::PersistError;
use ringside_persist::mirror::frame as mirror;
use ringside_persist::mirror::sink::SinkError;
use ringside_persist::mirror::source::{Feed, FeedError};
use ringside_persist::quorum::frame::{FrameKind, put_beat, put_fetch, put_hello};
use ringside_persist::quorum::install::Fetch;
use ringside_persist::storage::Storage;
use ringside_persist::turns;
use ringside_persist::write::status::Position;
use std::any::Any;
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::spawn_blocking;
use tokio_rustls::TlsConnector;
use tokio_util::sync::CancellationToken;

/// What a member gives to one that wants everything up to this batch at least; or why it does not.
pub type Give = dyn Fn(u64) -> Result<Given, String> + Send + Sync;

/// Files that a member gives.
pub struct Given {
    /// Where the journal lies.
    pub storage: Arc<dyn Storage>,
    /// Up to where it is agreed on.
    pub position: Position,
    /// The last command there.
    pub sequence: u64,
    /// Bytes of the segments to come.
    pub segment_len: u64,
    /// What is kept beside the journal, of no later command: a file of whole blocks, which goes first.
    pub beside: Option<File>,
    /// Let go of once it is over.
    pub held: Box<dyn Any + Send>,
}

/// What comes of a step.
enum Step {
    More,
    Idle,
    Over(String),
}

/// A member's files on their way.
struct Giving {
    given: Given,
    hello: mirror::Head,
    /// How much of the file beside the journal is sent.
    at: u64,
    feed: Option<Feed>,
}

impl Giving {
    /// Appends the next frames.
    fn next(&mut self, cluster: [u8; 16], out: &mut Vec<u8>) -> io::Result<Step> {
        if let Some(file) = &self.given.beside {
            let len = file.metadata()?.len();
            if self.at < len {
                let mut piece = vec![0; (len - self.at).min(mirror::PAYLOAD_MAX as u64) as usize];
                file.read_exact_at(&mut piece, self.at)?;
                mirror::put_beside(cluster, self.at, len, &piece, out);
                self.at += piece.len() as u64;
                return Ok(Step::More);
            }
        }
        let Some(feed) = &mut self.feed else {
            let Given { storage, position, sequence, segment_len, .. } = &self.given;
            return match Feed::of_files(storage.clone(), *position, *sequence, &self.hello, *segment_len, out)
            {
                Ok(feed) => {
                    self.feed = Some(feed);
                    Ok(Step::More)
                }
                Err(FeedError::Refused(text)) => Ok(Step::Over(text)),
                Err(error) => Err(io::Error::other(error)),
            };
        };
        if feed.next(out).map_err(io::Error::other)? {
            return Ok(Step::More);
        }
        feed.beat(out);
        Ok(Step::Idle)
    }
}

/// Gives member `id`, whose first words were heard, the files.
pub(super) async fn give(
    own: &Own,
    id: u64,
    wanted: u64,
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
) -> Result<Infallible, Ended> {
    let cluster = own.agreement.cluster;
    let (mut out, mut payload) = (Vec::new(), Vec::new());
    let give = own.hear.give.clone();
    let mut asked = spawn_blocking(move || give(wanted));
    let given = loop {
        tokio::select! {
            given = &mut asked => break given.map_err(io::Error::other)?.map_err(Ended::Refused)?,
            () = tokio::time::sleep(BEAT) => {
                put_beat(cluster, own.me, id, &mut out);
                write(to, &mut out).await?;
            }
        }
    };
    put_hello(&own.agreement, own.me, id, &mut out);
    write(to, &mut out).await?;
    let hello = stream::read(from, &mut payload).await?;
    if hello.kind() != Ok(mirror::FrameKind::Hello) {
        return Err(Ended::Gone(io::Error::other("it does not begin as a mirror does")));
    }
    tracing::info!(member = id, sequence = given.sequence, "a member is given the files");
    let mut giving = Giving { given, hello, at: 0, feed: None };
    let says = async {
        loop {
            let mut bytes = std::mem::take(&mut out);
            let stepped = spawn_blocking(move || {
                turns::give_way();
                let step = giving.next(cluster, &mut bytes);
                (giving, bytes, step)
            });
            let step;
            (giving, out, step) = stepped.await.map_err(io::Error::other)?;
            write(to, &mut out).await?;
            match step? {
                Step::More => {}
                Step::Idle => tokio::time::sleep(BEAT).await,
                Step::Over(text) => return Err::<Infallible, _>(io::Error::other(text)),
            }
        }
    };
    let hears = async {
        // It says nothing more unless it refuses what it gets, and closes once it has all.
        loop {
            match stream::read(from, &mut payload).await {
                Ok(head) if head.kind() == Ok(mirror::FrameKind::Refused) => {
                    return io::Error::other(String::from_utf8_lossy(&payload).into_owned());
                }
                Ok(_) => return io::Error::other("it says what one that fetches does not say"),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return io::Error::other("it has what it wanted, or is gone");
                }
                // It is silent as long as it is given something.
                Err(error) if error.to_string() == stream::SILENT => {}
                Err(error) => return error,
            }
        }
    };
    tokio::select! {
        Err(error) = says => Err(Ended::Gone(error)),
        error = hears => Err(Ended::Gone(error)),
    }
}

/// Who wants the files, and which.
pub struct Wanted<'a> {
    /// Its number.
    pub me: u64,
    /// Its key.
    pub identity: &'a Identity,
    /// What members have alike.
    pub agreement: Agreement,
    /// The batch that they have to reach at least.
    pub index: u64,
    /// Where what is kept beside the journal goes.
    pub beside: &'a Path,
}

/// Why files do not come from one member.
enum Broken {
    /// Another may have them; what has come stays.
    Io(io::Error),
    /// What has come does not go on there.
    Unfit(String),
    /// The disk here.
    Disk(PersistError),
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Broken {
        Broken::Io(error)
    }
}

/// Fetches everything from one of `sources`, in turn, as often as it takes; `None` where it was cancelled before. `begin` makes what
/// it is written to. On the thread that calls it, which gives way to others from then on.
///
/// Errors: the disk; TLS has nothing to work with.
pub fn fetch(
    wanted: &Wanted<'_>,
    sources: impl Fn() -> Vec<Member>,
    begin: impl Fn() -> Result<Fetch, PersistError>,
    cancelled: &CancellationToken,
) -> Result<Option<Fetch>, PersistError> {
    turns::give_way();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(PersistError::io("start", "a connection to another member"))?;
    let mut begun: Option<Fetch> = None;
    let mut said = String::new();
    loop {
        for source in sources() {
            if cancelled.is_cancelled() {
                return Ok(None);
            }
            let mut fetch = match begun.take() {
                Some(begun) => begun,
                None => begin()?,
            };
            let ended = runtime.block_on(async {
                tokio::select! {
                    ended = take(wanted, &source, &mut fetch) => Some(ended),
                    () = cancelled.cancelled() => None,
                }
            });
            let reason = match ended {
                None => return Ok(None),
                Some(Ok(())) => return Ok(Some(fetch)),
                Some(Err(Broken::Disk(error))) => return Err(error),
                Some(Err(Broken::Unfit(text))) => text,
                Some(Err(Broken::Io(error))) => {
                    begun = Some(fetch);
                    error.to_string()
                }
            };
            // Said once, not at every attempt.
            if said != reason {
                tracing::warn!(member = source.id, %reason, "the files do not come from a member");
                said = reason;
            }
        }
        let pause = async {
            tokio::select! {
                () = tokio::time::sleep(PAUSES[1]) => {}
                () = cancelled.cancelled() => {}
            }
        };
        runtime.block_on(pause);
        if cancelled.is_cancelled() {
            return Ok(None);
        }
    }
}

async fn take(wanted: &Wanted<'_>, source: &Member, fetch: &mut Fetch) -> Result<(), Broken> {
    let Wanted { me, identity, agreement, index, beside } = wanted;
    let connector = tls::client(identity, &[source.key], SETTING).map_err(io::Error::other)?;
    let stream = connect(&source.address, &TlsConnector::from(connector)).await?;
    let (mut from, mut to) = tokio::io::split(stream);
    let (mut out, mut payload) = (Vec::new(), Vec::new());
    put_fetch(agreement, *me, source.id, *index, &mut out);
    write(&mut to, &mut out).await?;
    loop {
        let head = read(&mut from, &mut payload).await;
        let head = head.map_err(|error| refused(error, *me, &identity.fingerprint()))?;
        match head.kind() {
            // It gets ready.
            Ok(FrameKind::Beat) => {}
            _ => match disagreement(*me, agreement, source.id, &head, &payload)? {
                Some(text) => return Err(Broken::Io(io::Error::other(text))),
                None => break,
            },
        }
    }
    fetch.hello().put(&[], &mut out);
    write(&mut to, &mut out).await?;
    tracing::info!(member = source.id, address = source.address, "the files of a member are fetched");
    let mut file: Option<(File, u64)> = None;
    loop {
        let head = stream::read(&mut from, &mut payload).await?;
        match head.kind() {
            Ok(mirror::FrameKind::Beside) => {
                let is_next = head.offset == file.as_ref().map_or(0, |(_, at)| *at);
                if !is_next || !mirror::is_beside_sound(&head, &payload) {
                    return Err(Broken::Unfit("a piece of a file is not the next, or damaged".to_owned()));
                }
                let disk =
                    |cause: io::Error| Broken::Disk(PersistError::io("write", "a fetched file")(cause));
                let (file, at) = match &mut file {
                    Some(file) => file,
                    none => {
                        let mut options = File::options();
                        options.write(true).create(true).truncate(true).mode(0o600);
                        none.insert((options.open(beside).map_err(disk)?, 0))
                    }
                };
                file.write_all_at(&payload, *at).map_err(disk)?;
                *at += payload.len() as u64;
                if *at == head.chain {
                    file.sync_all().map_err(disk)?;
                }
            }
            _ => match fetch.take(&head, &payload) {
                Ok(true) => return Ok(()),
                Ok(false) if head.kind() == Ok(mirror::FrameKind::Beat) => {
                    return Err(Broken::Unfit("it has no more, and what has come is not enough".to_owned()));
                }
                Ok(false) => {}
                Err(SinkError::Persist(error)) => return Err(Broken::Disk(error)),
                Err(error) => {
                    mirror::put_refusal(agreement.cluster, &error.to_string(), &mut out);
                    // It may be gone.
                    let _ = write(&mut to, &mut out).await;
                    return Err(Broken::Unfit(error.to_string()));
                }
            },
        }
    }
}
