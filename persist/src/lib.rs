//! What outlives the process: the journal of commands, snapshots, and the way back to a running engine.
//!
//! What is promised of a command whose reply went out:
//!
//! | What happens | Mode `written` | Mode `durable` (default) |
//! |---|---|---|
//! | the process dies (kill -9, panic, out of memory) | kept | kept |
//! | power fails, the kernel dies | may be lost, with all after it; never a hole | kept |
//! | the last write is torn | cut at the first bad record | cut; nothing acknowledged was in it |
//! | bits rot under the durable mark | recovery refuses and names segment, offset and sequence | same |
//! | a write or sync fails | no acknowledgement from then on, the process ends | same |
//! | the disk is full | new orders are refused, cancels go on, resumes by itself | same |
//! | the only disk is lost, or lies about its cache | lost | lost |
//!
//! Rot inside the very last batch before a power failure, or the last two where full batches follow each other, looks like a
//! torn write; 5 ms after the last command a seal attests it. What of it can be told is announced ([`read::tail::Cut`]).
//!
//! - [`mod@format`]: the bytes of a record and of a segment. [`storage`]: file operations, real ones and a double that breaks.
//! - [`write`]: commands onto the disk. [`read`]: journals read back, looked through and judged.
//! - [`mirror`]: a second host that holds the same files. [`quorum`]: several that agree on them.
//! - [`recover`]: from a directory to a running engine; snapshots, the second engine that writes them, copies.
//! - [`archive`]: history that has left memory, behind one trait; the embedded store.
//! - [`config`], [`error`]: settings, and why it stopped. [`turns`]: what its threads ask of the scheduler.
//!
//! Not here: matching, the order of commands, replies, clocks (times come with the commands).

pub mod archive;
pub mod config;
pub mod error;
pub mod format;
pub mod mirror;
pub mod quorum;
pub mod read;
pub mod recover;
pub mod storage;
pub mod turns;
pub mod write;
