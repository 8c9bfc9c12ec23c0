//! Why the exchange does not start, or had to stop.

use ringside_auth::AuthError;
use ringside_auth::secret::SecretError;
use ringside_core::ring::RingError;
use ringside_edge::server::router::RouterError;
use ringside_persist::archive::ArchiveError;
use ringside_persist::error::PersistError;
use ringside_views::archive::readers::ReadersError;
use std::io;
use std::net::SocketAddr;

/// Why the exchange does not start, or had to stop.
#[derive(Debug, thiserror::Error)]
pub enum BootError {
    /// The data folder.
    #[error("cannot use data folder {path}: {cause}")]
    Folder {
        /// Path of the file.
        path: std::path::PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// A venue's history without its journal: a new one would begin with no accounts and no balances.
    #[error(
        "there is no journal in {journal}, yet {archive} holds the history of one through sequence {through}. Put the journal \
         back: is its disk mounted, is this the right data folder? To begin anew, take the archive away as well"
    )]
    JournalGone {
        /// Where it should be.
        journal: std::path::PathBuf,
        /// Where the history is.
        archive: std::path::PathBuf,
        /// How far it reaches.
        through: u64,
    },
    /// Keys and secrets.
    #[error(transparent)]
    Auth(#[from] AuthError),
    /// Two rows of one path.
    #[error(transparent)]
    Router(#[from] RouterError),
    /// The address.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// Address of the socket.
        address: SocketAddr,
        /// What the system said.
        cause: io::Error,
    },
    /// Journal or recovery.
    #[error(transparent)]
    Persist(#[from] PersistError),
    /// The signer of withdrawals.
    #[error("signer: {0}")]
    Signer(#[from] ringside_chain::parts::PartsError),
    /// History.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The threads that read history.
    #[error(transparent)]
    Readers(#[from] ReadersError),
    /// A ring.
    #[error(transparent)]
    Ring(#[from] RingError),
    /// The feeds that operators changed.
    #[error(transparent)]
    Feeds(SecretError),
    /// The key of this side, or the address for mirrors.
    #[error("mirror: {0}")]
    Mirror(io::Error),
    /// It was elected, and others were before its engine ran.
    #[error("this member leads the cluster no more")]
    Lost,
    /// A thread.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A thread of the server.
    #[error("{0}")]
    Server(String),
    /// Its engine told something else than those of the others: what it goes on to tell may be wrong.
    #[error("nothing more is answered here: {0}")]
    Diverged(String),
    /// The journal failed while running; what was acknowledged is safe, nothing more was.
    #[error("the journal has failed and nothing more is acknowledged: {0}")]
    Journal(String),
}

impl BootError {
    /// What the process says to whoever started it.
    pub fn exit_code(&self) -> u8 {
        match self {
            BootError::Journal(_) | BootError::Diverged(_) => ringside_persist::error::EXIT_JOURNAL as u8,
            _ => 1,
        }
    }
}
