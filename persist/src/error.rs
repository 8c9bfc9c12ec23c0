//! Why the journal or a recovery stopped. Each text says what was found where and what an operator can do.
//!
//! None of these is an answer to a client; the gateway ends the process on them or refuses to start.

use crate::archive::ArchiveError;
use crate::format::record::Flaw;
use ringside_core::ids::Sequence;
use std::io;

/// Exit status of a process that stops because the journal failed.
pub const EXIT_JOURNAL: i32 = 70;

/// What a fold of events may fail with when it loads its part of a snapshot.
pub type FoldError = Box<dyn std::error::Error + Send + Sync>;

/// Everything that can go wrong here.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PersistError {
    /// The operating system refused a file operation.
    #[error("journal: {operation} of {file} failed: {source}")]
    Io {
        /// Which operation.
        operation: &'static str,
        /// On which file.
        file: String,
        /// What it said.
        source: io::Error,
    },
    /// An earlier operation failed; nothing is tried again.
    #[error("journal: stopped by an earlier error; restart to read back what the disk really holds")]
    Stopped,
    /// The settings contradict each other.
    #[error("journal: setting {setting}: {reason}")]
    Setting {
        /// Name of the setting.
        setting: &'static str,
        /// Why not.
        reason: String,
    },
    /// The directory is on a file system that cannot keep the promise.
    #[error(
        "journal: {directory} is on {file_system}; only ext4 and XFS are known to keep an allocated, zero-written \
         file in place. Choose another directory, or set `any_file_system` to try things out where a loss does no harm"
    )]
    FileSystem {
        /// Which directory.
        directory: String,
        /// Its file system, as the kernel names it.
        file_system: String,
    },
    /// Another process holds the directory.
    #[error("journal: {directory} is in use by another process")]
    Locked {
        /// Which directory.
        directory: String,
    },
    /// Bytes that were durable are not what was written. Never skipped, never cut.
    #[error(
        "journal: damage in segment {segment} at byte {offset}: the record of sequence {sequence} cannot be read \
         ({flaw}), yet {durable_mark} proves that it was durable. Restore the segment from a copy, or start from a \
         snapshot taken after it"
    )]
    Rot {
        /// File of the segment.
        segment: String,
        /// Byte in it at which the bad record starts.
        offset: u64,
        /// Sequence that the record had, or would have had.
        sequence: Sequence,
        /// What is wrong with it.
        flaw: Flaw,
        /// How it is known to be damage and not a torn write.
        durable_mark: String,
    },
    /// Neither copy of a segment's header can be read, or the header contradicts its neighbours.
    #[error("journal: the header of segment {segment} is damaged: {reason}")]
    SegmentHeader {
        /// File of the segment.
        segment: String,
        /// What is wrong.
        reason: String,
    },
    /// Segments that must be there are not.
    #[error("journal: {reason}")]
    Missing {
        /// What is missing, and how that is known.
        reason: String,
    },
    /// A mirror's folder where a leader's is wanted, or the other way round.
    #[error("journal: {reason}")]
    Mirror {
        /// What it is, and what can be done.
        reason: String,
    },
    /// What a member of a cluster cannot do, or nobody else in its folder.
    #[error("cluster: {reason}")]
    Member {
        /// What it is, and what can be done.
        reason: String,
    },
    /// A file that must stay was taken away, or another put in its place.
    #[error(
        "journal: {file} is no longer where it was: it was removed, moved or replaced while the exchange ran. What is \
         acknowledged from here on would be gone, so nothing is. Put back what was taken, or restore a copy"
    )]
    Gone {
        /// Name of the file.
        file: String,
    },
    /// A valid record this version cannot read.
    #[error(
        "journal: segment {segment} at byte {offset}: sequence {sequence} has type {kind:#06x} of schema {schema}, \
         which this version does not know. Start the version that wrote it"
    )]
    UnknownRecord {
        /// File of the segment.
        segment: String,
        /// Byte in it.
        offset: u64,
        /// Its sequence.
        sequence: Sequence,
        /// Its type.
        kind: u16,
        /// Its schema.
        schema: u16,
    },
    /// Commands after the newest usable snapshot were decided by another version of the engine.
    #[error(
        "recovery: commands from {sequence} on were decided by engine version {found}, this is version {own}. \
         Start the old version once and let it shut down: it leaves a snapshot that this version can start from"
    )]
    EngineVersion {
        /// First command that cannot be replayed here.
        sequence: Sequence,
        /// Version of the segment that holds it.
        found: u32,
        /// Version of this binary.
        own: u32,
    },
    /// A later version of the engine has written here.
    #[error(
        "recovery: {segment} was written by engine version {found}, this is version {own}: an older build does not go on \
         with what a newer one wrote. Start the newer one, or restore a copy from before it"
    )]
    LaterEngine {
        /// File of the segment.
        segment: String,
        /// Version that it names.
        found: u32,
        /// Version of this binary.
        own: u32,
    },
    /// A command makes the engine panic.
    #[error(
        "recovery: the command of sequence {sequence} stops the engine: {message}. Nothing after it was applied. \
         If two operators decide to pass over it, `ringside skip` records that and the next start goes on"
    )]
    Poisoned {
        /// Which command.
        sequence: Sequence,
        /// What the panic said.
        message: String,
    },
    /// Replay does not reach the state that the live engine had.
    #[error("recovery: state differs from the recorded one at checkpoint {checkpoint}: {detail}")]
    Diverged {
        /// Sequence of the checkpoint.
        checkpoint: Sequence,
        /// Both hashes.
        detail: String,
    },
    /// The state reached by replay, or what was told on the way, breaks a rule that can never be broken.
    #[error("the state at {sequence} cannot be: {reason}")]
    Invariant {
        /// The last command.
        sequence: Sequence,
        /// Which rule.
        reason: String,
    },
    /// A snapshot that was asked for by name cannot be used.
    #[error("snapshot {file}: {reason}")]
    Snapshot {
        /// Which file.
        file: String,
        /// What is wrong.
        reason: String,
    },
    /// History.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// A request to pass over a command is not in order.
    #[error("skip: {reason}")]
    Skip {
        /// Why not.
        reason: String,
    },
}

impl PersistError {
    /// Names the operation and file of an I/O error.
    pub fn io(operation: &'static str, file: &str) -> impl FnOnce(io::Error) -> PersistError {
        move |source| PersistError::Io { operation, file: file.to_string(), source }
    }

    /// Whether a file is missing that nobody but this process may take away.
    pub fn is_gone(&self) -> bool {
        match self {
            PersistError::Gone { .. } | PersistError::Archive(ArchiveError::Gone { .. }) => true,
            PersistError::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }

    /// Whether the process or the system has no descriptor left, which says nothing of the disk.
    pub fn lacks_descriptors(&self) -> bool {
        let PersistError::Io { source, .. } = self else { return false };
        source.raw_os_error().is_some_and(|number| [libc::EMFILE, libc::ENFILE].contains(&number))
    }

    /// Whether it means "no room": ENOSPC or a quota.
    pub fn is_full(&self) -> bool {
        match self {
            PersistError::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            PersistError::Archive(error) => error.is_full(),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_descriptors_is_none_of_room() {
        let error = |number| PersistError::io("create", "000001.spare")(io::Error::from_raw_os_error(number));
        for (number, is_full, lacks_descriptors) in [
            (libc::EMFILE, false, true),
            (libc::ENFILE, false, true),
            (libc::ENOSPC, true, false),
            (libc::EDQUOT, true, false),
            (libc::EIO, false, false),
        ] {
            let error = error(number);
            assert_eq!((error.is_full(), error.lacks_descriptors()), (is_full, lacks_descriptors), "{error}");
        }
    }
}
