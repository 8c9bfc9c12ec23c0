//! Every setting of journal, snapshots and recovery, with its default. Reads no files or environment: the gateway
//! fills it in.

use crate::error::PersistError;
use crate::format::segment::DATA_START;
use crate::storage::BLOCK_LEN;
use ringside_core::gate::GateMode;
use ringside_core::ids::Sequence;
use std::path::PathBuf;
use std::time::Duration;

/// The number that stands for a mode in segment headers.
pub fn mode_code(mode: GateMode) -> u16 {
    match mode {
        GateMode::Written => 1,
        GateMode::Durable => 2,
    }
}

/// The mode that a number stands for.
pub(crate) fn mode_of(code: u16) -> Option<GateMode> {
    [GateMode::Written, GateMode::Durable].into_iter().find(|mode| mode_code(*mode) == code)
}

/// Name of a mode in headers, health answers and settings.
pub fn mode_name(code: u16) -> &'static str {
    match code {
        1 => "written",
        2 => "durable",
        _ => "unknown",
    }
}

/// How bytes reach a segment. All write the same bytes; [`crate::storage`] holds the measurements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Store into the mapped file, then fdatasync.
    Mapped,
    /// pwrite into the page cache, then fdatasync.
    Buffered,
    /// pwrite past the page cache, durable when it returns (`O_DIRECT | O_DSYNC`): every error is seen where it
    /// happens.
    Direct,
}

/// What a leader of a cluster begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// Its number, which is the epoch.
    pub number: u32,
    /// Number of the last batch in the log.
    pub index: u64,
}

/// The settings. `PersistConfig::new` gives the defaults.
#[derive(Clone, Debug)]
pub struct PersistConfig {
    /// Where segments and snapshots lie.
    pub directory: PathBuf,
    /// What a reply waits for; see the table in [`crate`].
    pub mode: GateMode,
    /// How bytes reach a segment; `None`: direct where replies wait for the disk, mapped where they do not.
    pub method: Option<Method>,
    /// A flush that takes longer holds new orders off until it is done.
    pub shed_after: Duration,
    /// Bytes of a segment: a multiple of 4096, from 16 KiB to 4 GiB.
    pub segment_len: u64,
    /// Most bytes of one batch: a multiple of 4096, at most 1 MiB.
    pub batch_len: usize,
    /// Segments kept allocated ahead, at least 1. The last is kept for cancels and internal commands. Made anew once half of
    /// them are gone.
    pub spares: usize,
    /// With nothing to write for this long, a seal attests the last batch. It takes a block, so that a stream slower than this writes
    /// two for a command.
    pub idle_seal: Duration,
    /// In mode `written`: most time that bytes stay in the page cache only.
    pub sync_interval: Duration,
    /// Batches up to this many bytes are written by the journaller's own thread (no hand-over, lowest latency);
    /// longer ones by a thread of their own while the journaller encodes the next. 0: never by its own thread, for
    /// journallers that share a thread with other agents and must not block.
    pub inline_len: usize,
    /// A snapshot after so many commands ...
    pub snapshot_commands: u64,
    /// ... or so much time, whichever is first.
    pub snapshot_interval: Duration,
    /// Snapshots kept; segments since the oldest of them stay.
    pub snapshots_kept: usize,
    /// Bytes of the journal that the follower may be behind while commands come fast; 0: it follows at once.
    pub follower_lag: u64,
    /// Take any file system. For tests: what the promise rests on is then not checked.
    pub any_file_system: bool,
    /// A sequence that somebody outside knows was acknowledged (a standby, a gateway). A journal that ends before
    /// it is damaged, not torn.
    pub durable_mark: Option<Sequence>,
    /// Id of a journal that does not exist yet; `None`: drawn at random. For tests that compare bytes.
    pub journal_id: Option<[u8; 16]>,
    /// The term of the cluster in which this start leads; `None`: it is alone.
    pub term: Option<Term>,
    /// Time of this start, nanoseconds of the UNIX epoch, for the command that opens the epoch.
    pub opened_at_ns: i64,
}

impl PersistConfig {
    /// The defaults, in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> PersistConfig {
        PersistConfig {
            directory: directory.into(),
            mode: GateMode::Durable,
            method: None,
            shed_after: Duration::from_millis(250),
            segment_len: 64 << 20,
            batch_len: 1 << 20,
            spares: 2,
            idle_seal: Duration::from_millis(100),
            sync_interval: Duration::from_millis(100),
            inline_len: 64 << 10,
            snapshot_commands: 5_000_000,
            snapshot_interval: Duration::from_secs(300),
            snapshots_kept: 3,
            follower_lag: 0,
            any_file_system: false,
            durable_mark: None,
            journal_id: None,
            term: None,
            opened_at_ns: 0,
        }
    }

    /// The method in force.
    pub fn method(&self) -> Method {
        self.method.unwrap_or(match self.mode {
            GateMode::Written => Method::Mapped,
            GateMode::Durable => Method::Direct,
        })
    }

    /// Whether the numbers make sense together.
    pub fn check(&self) -> Result<(), PersistError> {
        let refuse =
            |setting, reason: &str| Err(PersistError::Setting { setting, reason: reason.to_string() });
        let block = BLOCK_LEN as u64;
        if !self.segment_len.is_multiple_of(block)
            || !(DATA_START + 2 * block..=1 << 32).contains(&self.segment_len)
        {
            return refuse("segment_len", "must be a multiple of 4096 from 16 KiB to 4 GiB");
        }
        if !self.batch_len.is_multiple_of(BLOCK_LEN) || !(BLOCK_LEN..=1 << 20).contains(&self.batch_len) {
            return refuse("batch_len", "must be a multiple of 4096, at most 1 MiB");
        }
        if self.spares == 0 {
            return refuse("spares", "must be at least 1");
        }
        if self.snapshots_kept == 0 {
            return refuse("snapshots_kept", "must be at least 1");
        }
        if self.mode == GateMode::Written && self.method == Some(Method::Direct) {
            return refuse(
                "method",
                "direct writes wait for the disk; mode `written` takes mapped or buffered",
            );
        }
        Ok(())
    }
}
