//! The archive: history that has left memory, as entries of lists, kept without bound in a store of its own, outside the path of
//! any command.
//!
//! The follower feeds it, because it replays the durable journal anyway. Rows are committed together with a [`Mark`], the
//! sequence up to which they are complete, so that the store and its mark can never disagree. What is promised:
//!
//! - It may lag, it never loses: a snapshot at sequence S is written only after the archive holds everything through S and
//!   that is on the disk. After any crash the newest usable snapshot is thus at or before the mark, the replay that starts
//!   there gives every later row again, and rows at or before the mark are passed over.
//! - It never runs ahead: only what the journal holds durably is replayed into it.
//! - A row never changes once it is in. Every query names the sequence `through` which rows are wanted, so that a reader
//!   that holds the later rows in memory joins the two without doubles or holes, however far the archive has come by then.
//! - Every entry has a version, and those of earlier ones are read. A store of an earlier build is brought to what is written today when
//!   its writer is opened, all or nothing, and says so ([`Upgrade`]).
//! - A store that was lost, or is older than every snapshot kept, is filled again by replaying what is kept of the journal
//!   before anything is served. Where the journal no longer reaches back to its mark the start is refused
//!   ([`ArchiveError::Behind`]), because a history with a hole would look like a whole one; and so it is where another version
//!   of the engine has decided what is missing ([`ArchiveError::OtherEngine`]), because this one would make another history.
//!
//! The traits are the seam: routes and folds name rows and queries of [`row`], never SQL. [`sqlite`] is the embedded store;
//! a database server can take its place by the same three traits. [`user_log`] is beside it and no history: what clients that come
//! back are told again. Not here: what an event means (the gateway's views).

pub mod before;
pub mod row;
pub mod sqlite;
pub mod user_log;

use before::Before;
use ringside_core::ids::{AccountId, MarketId, Sequence};
use row::{Entry, List};
use std::error::Error;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// How far an archive has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Every row of this command and all before it is in; 0: nothing is.
    pub sequence: Sequence,
    /// Time of the last command that ended at or before it, nanoseconds of the UNIX epoch. Together with the sequence it
    /// tells this history from another one that went a different way.
    pub time_ns: i64,
}

/// Which entries are asked for. Ids and times rise together, so that either bounds a stretch.
#[derive(Clone, Debug)]
pub struct EntriesAsked {
    /// Of which history.
    pub list: List,
    /// Account id.
    pub owner: AccountId,
    /// In one market only; without, those of all markets are merged.
    pub market: Option<MarketId>,
    /// With this tag only; 0 for any.
    pub tag: u64,
    /// Of these facets only, a bit for each; [`ALL_FACETS`] for any.
    pub facets: u32,
    /// Ids, both ends included.
    pub ids: RangeInclusive<u64>,
    /// UNIX milliseconds, both ends included.
    pub times: RangeInclusive<i64>,
    /// Only entries of this sequence or before.
    pub through: Sequence,
    /// Whether the oldest are wanted; else the newest.
    pub is_oldest: bool,
    /// At most how many.
    pub limit: usize,
    /// How much to look at before giving up for now, in entries that are looked into and packs that are passed by. Always
    /// exceeded by what a millisecond holds, so that whoever goes on comes to an end.
    pub work: usize,
}

impl EntriesAsked {
    /// Has what is asked for begin at a time that an answer named to go on from.
    pub fn go_on_from(&mut self, time_ms: i64) {
        self.times = match self.is_oldest {
            true => time_ms..=*self.times.end(),
            false => *self.times.start()..=time_ms,
        };
    }
}

/// Every facet.
pub const ALL_FACETS: u32 = u32::MAX;
/// How many facets a list may have.
pub const FACETS_MAX: u8 = 32;

/// What a record is filtered by: a number below [`FACETS_MAX`], from the version of its list and its bytes; `None` for bytes that
/// are no record. Stored beside the packs: what a record's facet is never changes.
pub type FacetOf = fn(u16, &[u8]) -> Option<u8>;

/// Makes entries of a row that was of no list.
pub type EntriesOf = fn(&Before, &mut Vec<Entry>);

/// What became of a look at entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looked {
    /// The time to go on from, where the work was used up: every entry asked for that comes before it was given, no other.
    pub rest: Option<i64>,
    /// Entries of the list that were looked at or passed by, wanted or not.
    pub rows: u64,
}

/// What was passed over: whole milliseconds, from the end asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Entries asked for among them.
    pub wanted: u64,
    /// Entries of the list among them, wanted or not.
    pub rows: u64,
    /// The first time that was not passed; nothing where all were.
    pub next: Option<i64>,
    /// Whether it ended because more would have been too many, and not for want of work.
    pub is_full: bool,
}

/// Through where entries of a list were removed from an archive, after they had been exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Removed {
    /// The largest id among them.
    pub id: u64,
    /// The latest time among them, UNIX milliseconds.
    pub time_ms: i64,
}

/// A store that can be written by one and read by many. Share it in an `Arc`.
pub trait Archive: Send + Sync {
    /// The one writer.
    ///
    /// Errors: the store cannot be opened, or is not the history of `journal_id`.
    fn writer(&self, journal_id: [u8; 16]) -> Result<Box<dyn ArchiveWriter>, ArchiveError>;

    /// A reader for one thread. There must have been a writer before, which makes what is missing.
    fn reader(&self) -> Result<Box<dyn ArchiveReader>, ArchiveError>;

    /// Where the store is, in words for operators.
    fn place(&self) -> String;
}

/// Takes rows in.
pub trait ArchiveWriter: Send {
    /// How far the rows reach.
    fn mark(&self) -> Mark;

    /// Commits the rows of all commands after the present mark through `mark`, in the order of the events, all or nothing. With `is_durable` everything
    /// that was ever committed is on the disk when this returns; without it a power failure may take whole commits back,
    /// the newest first.
    ///
    /// Errors: the store's; nothing was taken in then and the call can be repeated.
    fn commit(&mut self, entries: &[Entry], mark: Mark, is_durable: bool) -> Result<(), ArchiveError>;
}

/// Answers queries. All lists are appended to `rows`.
pub trait ArchiveReader: Send {
    /// How far the rows reach.
    fn mark(&mut self) -> Result<Mark, ArchiveError>;

    /// How many rows there are of all kinds. Slow on large stores: for tests and figures.
    fn rows(&mut self) -> Result<u64, ArchiveError>;

    /// Entries, by time and id: ascending where the oldest are asked for, else descending.
    fn entries(&mut self, asked: &EntriesAsked, rows: &mut Vec<Entry>) -> Result<Looked, ArchiveError>;

    /// Passes over entries from the end asked for, whatever the limit says: as far as they, and of the times `beside` those that
    /// are passed with them, are `most` at most. `beside` ascends and lies within what is asked for. Almost as far, that is: it
    /// stops before the first pack that might be one too many. What is passed is counted, not read.
    fn pass_entries(
        &mut self,
        asked: &EntriesAsked,
        beside: &[i64],
        most: u64,
    ) -> Result<Passed, ArchiveError>;

    /// Through where entries of an owner's list were removed, in a market or in any; nothing where none were.
    fn removed(
        &mut self,
        list: u16,
        owner: AccountId,
        market: Option<MarketId>,
    ) -> Result<Option<Removed>, ArchiveError>;
}

/// Something of an archive that is brought to the version that is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// What: `format`, or the name of a list.
    pub what: &'static str,
    /// From which version.
    pub from: i64,
    /// To which version.
    pub to: i64,
    /// Rows that were written anew, and how long it took; nothing while it is only about to begin.
    pub done: Option<(u64, Duration)>,
}

/// Why the archive cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The store refused an operation.
    #[error("archive: cannot {operation} {place}: {cause}")]
    Store {
        /// Which operation.
        operation: &'static str,
        /// Where the store is.
        place: String,
        /// What it said.
        cause: Box<dyn Error + Send + Sync>,
    },
    /// There is no room.
    #[error("archive: there is no room for history at {place}: {cause}")]
    Full {
        /// Where the store is.
        place: String,
        /// What it said.
        cause: Box<dyn Error + Send + Sync>,
    },
    /// The store was taken away, or another put in its place.
    #[error("archive: {place} is no longer where it was: history that is written from here on would be gone")]
    Gone {
        /// Where the store was.
        place: String,
    },
    /// Written in a form that this version does not know.
    #[error(
        "archive: {place} has format {found}, this version reads {known}. Take it away to have it made anew as far as the \
         journal reaches"
    )]
    Format {
        /// Where the store is.
        place: String,
        /// What it says.
        found: i64,
        /// What this version writes.
        known: i64,
    },
    /// The history of another journal.
    #[error(
        "archive: {place} holds the history of another journal ({found}) than this one ({known}). Put back the archive that \
         belongs to the journal, or take this one away, to have it made anew as far as the journal reaches"
    )]
    Foreign {
        /// Where the store is.
        place: String,
        /// Id in the store.
        found: String,
        /// Id of the journal.
        known: String,
    },
    /// The archive knows what the journal does not.
    #[error(
        "archive: it holds history through sequence {mark}, yet {reason}. The journal, or a part of it, is not the one \
         that this history was made of: put back the journal that belongs to it"
    )]
    Ahead {
        /// The archive's mark.
        mark: Sequence,
        /// How that is known.
        reason: String,
    },
    /// Rows are missing that can no longer be made.
    #[error(
        "archive: history of the commands from {from} to {to} is missing: the archive is complete only through {mark}, and \
         what is kept of the journal and its snapshots can be replayed from {} on only. Nothing is served, because lists \
         would be short without saying so. Put back a copy of the archive that is complete through {to} or later; what \
         follows is filled in from the journal", .to + 1, from = .mark + 1
    )]
    Behind {
        /// The archive's mark.
        mark: Sequence,
        /// The last command that cannot be replayed.
        to: Sequence,
    },
    /// Rows are missing that this version of the engine cannot make.
    #[error(
        "archive: it is complete only through {mark}, and of the commands from there to {to} some were decided by engine \
         version {found}, this is version {own}, which would make another history of them. Put back a copy of the archive that \
         is complete through {to} or later. Where version {own} has never run on this journal, version {found} started once \
         fills in what is missing"
    )]
    OtherEngine {
        /// The archive's mark.
        mark: Sequence,
        /// The last command that is known to be in a snapshot.
        to: Sequence,
        /// Version of the segment that holds the first such command.
        found: u32,
        /// Version of this binary.
        own: u32,
    },
    /// A row in the store is not one.
    #[error("archive: {what} in {place} cannot be read: {reason}")]
    Row {
        /// Which kind of row.
        what: &'static str,
        /// Where the store is.
        place: String,
        /// What is wrong.
        reason: String,
    },
    /// The folder of an embedded store.
    #[error("archive: cannot make folder {path}: {cause}")]
    Folder {
        /// Path of the file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
}

impl ArchiveError {
    /// Whether it means "no room": worth trying again.
    pub fn is_full(&self) -> bool {
        matches!(self, ArchiveError::Full { .. })
    }
}
