//! Commands onto the disk.
//!
//! - [`encoder`]: commands into batches. [`journal`]: the agent that writes them, with threads that flush and one that makes
//!   segments ahead of need. `copy`: a journal that another host wrote. [`side`]: entries beside the commands, handed over and told of.
//!   [`status`]: how it fares. `settled`: who is told.

pub(crate) mod append;
pub(crate) mod copy;
pub mod encoder;
pub(crate) mod flusher;
pub mod journal;
pub(crate) mod segment_pool;
pub(crate) mod settled;
pub mod side;
pub mod status;
