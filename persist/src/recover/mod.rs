//! The way back to a running engine, and what shortens it.
//!
//! - [`recovery`]: from a directory to a running engine. [`skip`]: passing over a command that stops it.
//! - [`snapshot_store`], [`follower`], [`retention`]: snapshots, who writes them, what they make superfluous.
//! - [`side`]: what stands beside the commands, found and changed while no engine runs.
//! - [`backup`]: copies, and a journal made of them again. [`machine`]: what all this needs of engine and views.

pub mod backup;
pub mod follower;
pub mod machine;
pub mod recovery;
pub mod retention;
pub mod side;
pub mod skip;
pub mod snapshot_store;
