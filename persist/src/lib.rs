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
//! torn write; 5 ms after the last command a seal vouches for it. What of it can be told is announced ([`tail::Cut`]).
//!
//! - [`checksum`], [`record`], [`segment`]: the bytes of a frame and of a file.
//! - [`storage`]: file operations, real ones and a double that breaks.
//! - [`encoder`], [`journal`]: commands into batches; the agent that writes them. [`status`]: how it fares. [`turns`]: what its
//!   threads ask of the scheduler.
//! - [`survey`], [`replay`], [`tail`]: what lies in a directory; one segment read; where the journal ends, and why.
//! - [`recovery`]: from a directory to a running engine. [`skip`]: passing over a command that stops it.
//! - [`snapshot_store`], [`follower`], [`retention`]: snapshots, who writes them, what they make superfluous.
//! - [`archive`]: history that has left memory, behind one trait; the embedded store.
//! - [`verify`], [`look`]: look, write nothing. [`backup`]: copies, and a journal made of them again. [`machine`]: what all this needs of engine and views.
//!
//! Not here: matching, the order of commands, replies, clocks (times come with the commands).

mod append;
pub mod archive;
pub mod backup;
pub mod checksum;
pub mod config;
pub mod encoder;
pub mod error;
mod flusher;
pub mod follower;
pub mod journal;
pub mod look;
pub mod machine;
pub mod record;
pub mod recovery;
pub mod replay;
pub mod retention;
pub mod segment;
pub mod skip;
pub mod snapshot_store;
pub mod status;
pub mod storage;
mod sums;
mod supply;
pub mod survey;
pub mod tail;
pub mod turns;
pub mod verify;
