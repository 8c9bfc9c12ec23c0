//! Several hosts that agree: the journal is the log of a consensus (`raft`), one sealed batch an entry.
//!
//! Not here: sockets, encryption, clocks (`gateway/mirror`).

pub mod frame;

pub use raft::eraftpb::Message;
