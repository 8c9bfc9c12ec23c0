//! Several hosts that agree: the journal is the log of a consensus (`raft`), one sealed batch an entry.
//!
//! - [`node`]: one member. [`vote`]: what it may not forget. `log`: its journal, as the consensus sees it. [`link`]: between a leader's
//!   journaller and the consensus. `lease`: until when a leader shows what it has. [`frame`]: what members say to each other.
//!   [`install`]: a journal that is fetched whole. [`members`]: who they are. [`divergence`]: whose engine is wrong.
//!
//! What is acknowledged is on the disks of more than half of the members. All journals are the same files, byte for byte, as far as
//! they are agreed on.
//!
//! Not here: sockets, encryption, clocks (`gateway/mirror`); engines, which read the journal as far as it is agreed on.

pub mod divergence;
pub mod frame;
pub mod install;
mod lease;
pub mod link;
mod log;
pub mod members;
pub mod node;
pub mod vote;

pub use raft::eraftpb::Message;
